//! Prefixes: integers in the order of sort keys as far as they go, so that most rows are told apart by one comparison.

use super::column::Column;
use super::groups::for_null;
use super::ordered::OrderKey;
use super::quantile::float_key;
use inlay_types::{LogicalType, PhysicalType, Vector, View};

/// Whether values with equal prefixes are equal.
pub(super) fn has_complete_prefix(carrier: PhysicalType) -> bool {
    !matches!(carrier, PhysicalType::I128 | PhysicalType::U128 | PhysicalType::Interval | PhysicalType::View)
}

/// Replaces `prefixes` by those of the first `len` rows of a flat vector, where the key puts them: a NULL has the least or the
/// greatest of all, which values may have, too.
pub(super) fn write_prefixes(vector: &Vector, len: usize, key: OrderKey, prefixes: &mut Vec<u64>) {
    prefixes.clear();
    macro_rules! write {
        ($bits:ty, $prefix:expr) => {{
            let prefix = $prefix;
            prefixes.extend(vector.values::<$bits>()[..len].iter().map(|bits| key.directed_prefix(prefix(bits))))
        }};
        // One loop for each carrier, which the compiler knows within.
        ($bits:ty; $($carrier:ident)*) => {
            match vector.physical_type() {
                $(PhysicalType::$carrier => {
                    write!($bits, |bits: &$bits| bits_prefix(PhysicalType::$carrier, u64::from(*bits), 0))
                })*
                _ => {}
            }
        };
    }
    match vector.physical_type() {
        PhysicalType::Bool | PhysicalType::U8 | PhysicalType::I8 => write!(u8; Bool U8 I8),
        PhysicalType::U16 | PhysicalType::I16 => write!(u16; U16 I16),
        PhysicalType::U32 | PhysicalType::I32 | PhysicalType::F32 => write!(u32; U32 I32 F32),
        PhysicalType::U64 | PhysicalType::I64 | PhysicalType::F64 => write!(u64; U64 I64 F64),
        carrier @ (PhysicalType::I128 | PhysicalType::U128) => {
            write!(View, |bits: &View| bits_prefix(carrier, bits.head, bits.tail))
        }
        PhysicalType::View if is_text(&vector.logical_type()) => {
            let buffers = vector.heap().buffers();
            write!(View, |view: &View| text_prefix(view.bytes(buffers)))
        }
        PhysicalType::View | PhysicalType::Interval => prefixes.resize(len, 0),
    }
    if let Some(validity) = vector.validity() {
        for_null(validity, len, |row| prefixes[row] = key.null_prefix());
    }
}

/// The prefix of one row, as [`write_prefixes`] makes it.
pub(super) fn prefix_of(column: &Column, row: usize, key: OrderKey) -> u64 {
    if column.is_null(row) {
        return key.null_prefix();
    }
    let (low, high) = column.words(row);
    key.directed_prefix(match column.physical_type() {
        PhysicalType::View if is_text(&column.logical_type()) => text_prefix(column.bytes(row)),
        carrier => bits_prefix(carrier, low, high),
    })
}

/// The prefix of a value with these bits, ascending.
#[inline(always)]
fn bits_prefix(carrier: PhysicalType, low: u64, high: u64) -> u64 {
    let signed = |value: i64| value as u64 ^ 1 << 63;
    // -0.0 is equal to 0.0.
    let float = |value: f64| signed(float_key(value + 0.0));
    match carrier {
        PhysicalType::Bool | PhysicalType::U8 | PhysicalType::U16 | PhysicalType::U32 | PhysicalType::U64 => {
            low
        }
        PhysicalType::I8 => signed(i64::from(low as i8)),
        PhysicalType::I16 => signed(i64::from(low as i16)),
        PhysicalType::I32 => signed(i64::from(low as i32)),
        PhysicalType::I64 => signed(low as i64),
        PhysicalType::F32 => float(f64::from(f32::from_bits(low as u32))),
        PhysicalType::F64 => float(f64::from_bits(low)),
        PhysicalType::I128 => signed(high as i64),
        PhysicalType::U128 => high,
        PhysicalType::View | PhysicalType::Interval => 0,
    }
}

/// Whether values are compared byte by byte.
pub(super) fn is_text(ty: &LogicalType) -> bool {
    matches!(ty, LogicalType::Varchar | LogicalType::Blob)
}

/// The prefix of a text, ascending.
pub(super) fn text_prefix(bytes: &[u8]) -> u64 {
    let mut first = [0; 8];
    let len = bytes.len().min(8);
    first[..len].copy_from_slice(&bytes[..len]);
    u64::from_be_bytes(first)
}
