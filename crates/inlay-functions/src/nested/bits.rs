//! Functions and operators of BIT strings.

use super::is_integer;
use super::rows::{Args, Output, each_known};
use crate::registry::Function;
use inlay_kernels::function::kernel;
use inlay_kernels::resolve::{ArgType, Resolved};
use inlay_types::LogicalType::{self, BigInt, Bit, Integer, Varchar};
use inlay_types::{Error, Result, bit};

/// See the module documentation.
pub(crate) static FUNCTIONS: &[Function] = &[
    Function::typed(
        "&",
        &["BIT & BIT"],
        |args, _| both(args, |a, b| a & b),
        "bits that both have",
        "'0101'::BIT & '0011'::BIT = '0001'",
    )
    .special_nulls(),
    Function::typed(
        "|",
        &["BIT | BIT"],
        |args, _| both(args, |a, b| a | b),
        "bits that one of both has",
        "'0101'::BIT | '0011'::BIT = '0111'",
    )
    .special_nulls(),
    Function::typed(
        "xor",
        &["xor(BIT, BIT) -> BIT"],
        |args, _| both(args, |a, b| a ^ b),
        "bits that only one of both has",
        "xor('0101'::BIT, '0011'::BIT) = '0110'",
    )
    .special_nulls(),
    Function::typed(
        "~",
        &["~ BIT"],
        |args, _| {
            one(args, Bit, |bits, out| {
                out.push(Some(&bit::from_bits(bit::len(bits), |at| !bit::get(bits, at))))
            })
        },
        "all bits turned round",
        "~ '0101'::BIT = '1010'",
    )
    .special_nulls(),
    Function::typed(
        "<<",
        &["BIT << BIGINT"],
        |args, _| shifted(args, 1),
        "bits moved to the left",
        "'0101'::BIT << 1 = '1010'",
    )
    .special_nulls(),
    Function::typed(
        ">>",
        &["BIT >> BIGINT"],
        |args, _| shifted(args, -1),
        "bits moved to the right",
        "'0101'::BIT >> 1 = '0010'",
    )
    .special_nulls(),
    Function::typed(
        "bit_count",
        &["bit_count(BIT) -> BIGINT"],
        |args, _| {
            one(args, BigInt, |bits, out| {
                out.push_int((0..bit::len(bits)).filter(|at| bit::get(bits, *at)).count() as i64)
            })
        },
        "number of bits that are set",
        "bit_count('0101'::BIT) = 2",
    )
    .special_nulls(),
    Function::typed(
        "bit_length",
        &["bit_length(BIT) -> BIGINT"],
        |args, _| one(args, BigInt, |bits, out| out.push_int(bit::len(bits) as i64)),
        "number of bits",
        "bit_length('0101'::BIT) = 4",
    )
    .special_nulls()
    .aliases(&["length", "len"]),
    Function::typed(
        "octet_length",
        &["octet_length(BIT) -> BIGINT"],
        |args, _| one(args, BigInt, |bits, out| out.push_int(bit::len(bits).div_ceil(8) as i64)),
        "number of bytes that the bits take",
        "octet_length('0101'::BIT) = 1",
    )
    .special_nulls(),
    Function::typed(
        "get_bit",
        &["get_bit(BIT, index) -> INTEGER"],
        |args, _| indexed(args, &[Bit, BigInt], Integer, get),
        "a bit by its index from the left, from 0",
        "get_bit('0110'::BIT, 2) = 1",
    )
    .special_nulls(),
    Function::typed(
        "set_bit",
        &["set_bit(BIT, index, value) -> BIT"],
        |args, _| indexed(args, &[Bit, BigInt, BigInt], Bit, set),
        "the bits with one of them set or cleared",
        "set_bit('0110'::BIT, 2, 0) = '0100'",
    )
    .special_nulls(),
    Function::typed(
        "bit_position",
        &["bit_position(BIT, BIT) -> INTEGER"],
        |args, _| resolve_position(args),
        "where bits occur first in others, from 1; 0 if nowhere",
        "bit_position('010'::BIT, '1110101'::BIT) = 4",
    )
    .special_nulls(),
    Function::typed(
        "bitstring",
        &["bitstring(BIT, length) -> BIT", "bitstring(VARCHAR, length) -> BIT"],
        |args, _| resolve_padded(args),
        "bits filled with zeros on the left up to a length",
        "bitstring('1010'::BIT, 7) = '0001010'",
    )
    .special_nulls(),
];

fn is_bits(arg: &ArgType) -> bool {
    arg.ty == Bit || (arg.is_literal && matches!(arg.ty, Varchar | LogicalType::Null))
}

fn one(args: &[ArgType], returns: LogicalType, f: fn(&[u8], &mut Output) -> Result<()>) -> Option<Resolved> {
    let [arg] = args else { return None };
    if arg.ty != Bit {
        return None;
    }
    let ty = returns.clone();
    let kernel = kernel(move |args, len, out| {
        each_known(args, &ty, len, out, |args, row, out| f(args.get(0, row).unwrap_or_default(), out))
    });
    Some(Resolved::infallible(vec![Bit], returns, kernel))
}

fn both(args: &[ArgType], f: fn(bool, bool) -> bool) -> Option<Resolved> {
    let [left, right] = args else { return None };
    if !(left.ty == Bit || right.ty == Bit) || !is_bits(left) || !is_bits(right) {
        return None;
    }
    let kernel = kernel(move |args, len, out| {
        each_known(args, &Bit, len, out, |args, row, out| {
            let (a, b) = (args.get(0, row).unwrap_or_default(), args.get(1, row).unwrap_or_default());
            let (count, other) = (bit::len(a), bit::len(b));
            if count != other {
                return Err(Error::invalid_argument(format!("bit strings of {count} and of {other} bits")));
            }
            out.push(Some(&bit::from_bits(count, |at| f(bit::get(a, at), bit::get(b, at)))))
        })
    });
    Some(Resolved::fallible(vec![Bit; 2], Bit, kernel))
}

fn shifted(args: &[ArgType], direction: i64) -> Option<Resolved> {
    let [bits, count] = args else { return None };
    if bits.ty != Bit || !is_integer(count) {
        return None;
    }
    let kernel = kernel(move |args, len, out| {
        each_known(args, &Bit, len, out, |args, row, out| {
            let bits = args.get(0, row).unwrap_or_default();
            let by = args.int(1, row).unwrap_or(0);
            if by < 0 {
                return Err(Error::out_of_range(format!("bits cannot be moved by {by}")));
            }
            let source =
                |at: usize| usize::try_from((at as i64).checked_add(by.checked_mul(direction)?)?).ok();
            let shifted = bit::from_bits(bit::len(bits), |at| {
                source(at).is_some_and(|at| at < bit::len(bits) && bit::get(bits, at))
            });
            out.push(Some(&shifted))
        })
    });
    Some(Resolved::fallible(vec![Bit, BigInt], Bit, kernel))
}

type Indexed = fn(&[u8], usize, &Args, usize, &mut Output) -> Result<()>;

/// A function of bits and an index into them.
fn indexed(args: &[ArgType], types: &[LogicalType], returns: LogicalType, f: Indexed) -> Option<Resolved> {
    if args.len() != types.len() || args[0].ty != Bit || !args[1..].iter().all(is_integer) {
        return None;
    }
    let ty = returns.clone();
    let kernel = kernel(move |args, len, out| {
        each_known(args, &ty, len, out, |args, row, out| {
            let bits = args.get(0, row).unwrap_or_default();
            let index = args.int(1, row).unwrap_or(0);
            let found = usize::try_from(index).ok().filter(|index| *index < bit::len(bits));
            let found = found.ok_or_else(|| {
                Error::out_of_range(format!("there is no bit {index} among {} bits", bit::len(bits)))
            })?;
            f(bits, found, args, row, out)
        })
    });
    Some(Resolved::fallible(types.to_vec(), returns, kernel))
}

fn get(bits: &[u8], index: usize, _: &Args, _: usize, out: &mut Output) -> Result<()> {
    out.push(Some(&i32::from(bit::get(bits, index)).to_le_bytes()))
}

fn set(bits: &[u8], index: usize, args: &Args, row: usize, out: &mut Output) -> Result<()> {
    let value = args.int(2, row).unwrap_or(0);
    if !(0..=1).contains(&value) {
        return Err(Error::invalid_argument(format!("a bit is 0 or 1, not {value}")));
    }
    let changed = |at: usize| if at == index { value == 1 } else { bit::get(bits, at) };
    out.push(Some(&bit::from_bits(bit::len(bits), changed)))
}

fn resolve_position(args: &[ArgType]) -> Option<Resolved> {
    let [part, whole] = args else { return None };
    if !(part.ty == Bit || whole.ty == Bit) || !is_bits(part) || !is_bits(whole) {
        return None;
    }
    let kernel = kernel(move |args, len, out| {
        each_known(args, &Integer, len, out, |args, row, out| {
            let (part, whole) = (args.get(0, row).unwrap_or_default(), args.get(1, row).unwrap_or_default());
            let (width, count) = (bit::len(part), bit::len(whole));
            let fits = |from: usize| (0..width).all(|at| bit::get(part, at) == bit::get(whole, from + at));
            let found = (0..(count + 1).saturating_sub(width)).find(|from| fits(*from));
            out.push(Some(&found.map_or(0, |from| from as i32 + 1).to_le_bytes()))
        })
    });
    Some(Resolved::infallible(vec![Bit; 2], Integer, kernel))
}

fn resolve_padded(args: &[ArgType]) -> Option<Resolved> {
    let [bits, size] = args else { return None };
    if !(bits.ty == Bit || bits.ty == Varchar) || !is_integer(size) {
        return None;
    }
    let kernel = kernel(move |args, len, out| {
        each_known(args, &Bit, len, out, |args, row, out| {
            let bits = args.get(0, row).unwrap_or_default();
            let (count, size) = (bit::len(bits), args.int(1, row).unwrap_or(0));
            let wanted = usize::try_from(size).ok().filter(|size| (count..=1 << 30).contains(size));
            let wanted = wanted
                .ok_or_else(|| Error::invalid_argument(format!("{count} bits do not fit into {size}")))?;
            let zeros = wanted - count;
            // The bits are copied into the result, which asks for its own.
            let _held = inlay_types::limits::hold(wanted.div_ceil(7))?;
            out.push(Some(&bit::from_bits(wanted, |at| at >= zeros && bit::get(bits, at - zeros))))
        })
    });
    Some(Resolved::fallible(vec![Bit, BigInt], Bit, kernel))
}
