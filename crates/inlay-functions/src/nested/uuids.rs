//! UUIDs: made, and what they say of themselves.

use super::rows::each_known;
use crate::registry::Function;
use inlay_kernels::function::Volatility;
use inlay_kernels::function::kernel;
use inlay_kernels::resolve::{ArgType, ResolveOptions, Resolved};
use inlay_types::LogicalType::{TimestampTz, UInteger, Uuid};
use inlay_types::{Buffer, Error, Heap, Vector};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// See the module documentation.
pub(crate) static FUNCTIONS: &[Function] = &[
    Function::typed(
        "uuid",
        &["uuid() -> UUID"],
        |args, options| resolve_new(args, options, 4),
        "a random UUID",
        "uuid_extract_version(uuid()) = 4",
    )
    .special_nulls()
    .aliases(&["gen_random_uuid", "uuidv4"])
    .volatile(Volatility::Volatile),
    Function::typed(
        "uuidv7",
        &["uuidv7() -> UUID"],
        |args, options| resolve_new(args, options, 7),
        "a UUID of the time of day and random bits, in the order in which they are made",
        "uuid_extract_version(uuidv7()) = 7",
    )
    .special_nulls()
    .volatile(Volatility::Volatile),
    Function::typed(
        "uuid_extract_version",
        &["uuid_extract_version(UUID) -> UINTEGER"],
        |args, _| resolve_version(args),
        "the version of a UUID",
        "uuid_extract_version('019482e4-1441-7aad-8127-eec99573b0a0'::UUID) = 7",
    )
    .special_nulls(),
    Function::typed(
        "uuid_extract_timestamp",
        &["uuid_extract_timestamp(UUID) -> TIMESTAMP WITH TIME ZONE"],
        |args, _| resolve_timestamp(args),
        "when a UUID of version 7 was made",
        "epoch_ms(uuid_extract_timestamp('019482e4-1441-7aad-8127-eec99573b0a0'::UUID)) = 1737362773057",
    )
    .special_nulls(),
];

/// The highest bit is flipped in memory, so that the order is that of the text.
const FLIP: u128 = 1 << 127;

fn uuid_in(bytes: &[u8]) -> u128 {
    bytes.first_chunk().map_or(0, |raw| u128::from_le_bytes(*raw)) ^ FLIP
}

fn resolve_new(args: &[ArgType], options: &ResolveOptions, version: u128) -> Option<Resolved> {
    if !args.is_empty() {
        return None;
    }
    let (random, counter) = (Arc::clone(&options.random), Arc::new(AtomicU64::new(0)));
    let kernel = kernel(move |_, len, out: &mut Vector| {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_millis());
        // All workers count on the same numbers: once a vector.
        let (first, random) = (counter.fetch_add(len as u64, Ordering::Relaxed), random.take_wide(len));
        let mut made = Vec::with_capacity(len);
        made.extend(random.zip(first..).map(|(bits, count)| {
            let mut uuid = bits;
            if version == 7 {
                // The counter behind the milliseconds keeps those of one call in order.
                let counted = u128::from(count) & 0xFFF;
                uuid = (now << 80) | (counted << 64) | (uuid & u128::from(u64::MAX));
            }
            uuid = uuid & !(0xF << 76) | version << 76;
            uuid = uuid & !(0b11 << 62) | 0b10 << 62;
            uuid ^ FLIP
        }));
        *out = Vector::flat(Uuid, len, Buffer::from_vec(made), None, Heap::default());
        Ok(())
    });
    Some(Resolved::infallible(Vec::new(), Uuid, kernel))
}

fn is_uuid(args: &[ArgType]) -> bool {
    matches!(args, [arg] if arg.ty == Uuid || arg.is_literal)
}

fn resolve_version(args: &[ArgType]) -> Option<Resolved> {
    if !is_uuid(args) {
        return None;
    }
    let kernel = kernel(|args, len, out| {
        each_known(args, &UInteger, len, out, |args, row, out| {
            let version = (uuid_in(args.get(0, row).unwrap_or_default()) >> 76) as u32 & 0xF;
            out.push(Some(&version.to_le_bytes()))
        })
    });
    Some(Resolved::infallible(vec![Uuid], UInteger, kernel))
}

fn resolve_timestamp(args: &[ArgType]) -> Option<Resolved> {
    if !is_uuid(args) {
        return None;
    }
    let kernel = kernel(|args, len, out| {
        each_known(args, &TimestampTz, len, out, |args, row, out| {
            let uuid = uuid_in(args.get(0, row).unwrap_or_default());
            if uuid >> 76 & 0xF != 7 {
                return Err(Error::invalid_argument("only UUIDs of version 7 say when they were made"));
            }
            out.push_int((uuid >> 80) as i64 * 1000)
        })
    });
    Some(Resolved::fallible(vec![Uuid], TimestampTz, kernel))
}
