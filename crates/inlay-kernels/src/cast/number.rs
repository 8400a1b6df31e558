//! Loops between numeric types. They flag what is wrong; what that means is settled afterwards, row by row.

use super::settle;
use inlay_types::nearest::{EXACT_PRECISION, nearest_f64, power_of_ten};
use inlay_types::{LogicalType, Native, PhysicalType, Result, Vector, multiversion};

/// `out = f(input)` over a flat vector, where the flag says that a value cannot be converted.
pub(super) fn run<A: Native, O: Native>(
    input: &Vector,
    to: &LogicalType,
    or_null: bool,
    out: &mut Vector,
    f: impl Fn(A) -> (O, bool),
) -> Result<()> {
    out.reset_flat(to, input.len());
    let failed = convert(input.values::<A>(), out.values_mut::<O>(), &f);
    settle_flagged(input, or_null, out, failed, f)
}

/// Like [`run`], compiled for the CPU's level; for conversions that the CPU has instructions for.
pub(super) fn run_wide<A: Native, O: Native>(
    input: &Vector,
    to: &LogicalType,
    or_null: bool,
    out: &mut Vector,
    f: impl Fn(A) -> (O, bool) + Copy,
) -> Result<()> {
    out.reset_flat(to, input.len());
    let failed = convert_wide(input.values::<A>(), out.values_mut::<O>(), f);
    settle_flagged(input, or_null, out, failed, f)
}

#[inline(always)]
fn convert<A: Native, O: Native>(values: &[A], out: &mut [O], f: impl Fn(A) -> (O, bool)) -> bool {
    let mut failed = false;
    for (target, &value) in out.iter_mut().zip(values) {
        let (converted, wrong) = f(value);
        *target = converted;
        failed |= wrong;
    }
    failed
}

multiversion! {
    fn convert_wide[A: Native, O: Native, F: Fn(A) -> (O, bool)](values: &[A], out: &mut [O], f: F) -> bool {
        convert(values, out, f)
    }
}

fn settle_flagged<A: Native, O: Native>(
    input: &Vector,
    or_null: bool,
    out: &mut Vector,
    failed: bool,
    f: impl Fn(A) -> (O, bool),
) -> Result<()> {
    let values = input.values::<A>();
    let mut rows = Vec::new();
    if failed {
        rows.extend((0..values.len() as u32).filter(|&row| f(values[row as usize]).1));
    }
    settle(input, &rows, or_null, out)
}

/// Calls `$then!` with a carrier type.
macro_rules! with_carrier {
    ($physical:expr, $then:ident ! ( $($arg:tt)* )) => {
        match $physical {
            PhysicalType::Bool | PhysicalType::U8 => Some($then!(u8, $($arg)*)),
            PhysicalType::I8 => Some($then!(i8, $($arg)*)),
            PhysicalType::I16 => Some($then!(i16, $($arg)*)),
            PhysicalType::I32 => Some($then!(i32, $($arg)*)),
            PhysicalType::I64 => Some($then!(i64, $($arg)*)),
            PhysicalType::I128 => Some($then!(i128, $($arg)*)),
            PhysicalType::U16 => Some($then!(u16, $($arg)*)),
            PhysicalType::U32 => Some($then!(u32, $($arg)*)),
            PhysicalType::U64 => Some($then!(u64, $($arg)*)),
            _ => None,
        }
    };
}

/// Casts between integers, decimals and floats that have a loop; `None` for others (UHUGEINT, BOOLEAN targets).
pub(super) fn cast_numbers(
    input: &Vector,
    to: &LogicalType,
    or_null: bool,
    out: &mut Vector,
) -> Option<Result<()>> {
    let from = input.logical_type();
    match (from, to.clone()) {
        (LogicalType::Decimal { precision, scale }, LogicalType::Double) => {
            decimal_to_double(input, (precision, scale), or_null, out)
        }
        (LogicalType::Decimal { scale: from, .. }, LogicalType::Decimal { precision, scale }) => {
            decimal_to_decimal(input, from, (precision, scale), or_null, out)
        }
        (LogicalType::Decimal { scale, .. }, to) if to.is_integer() => {
            decimal_to_integer(input, scale, &to, or_null, out)
        }
        (LogicalType::Decimal { .. }, _) => None,
        (LogicalType::Double, LogicalType::Decimal { precision, scale }) => {
            double_to_decimal(input, (precision, scale), or_null, out)
        }
        (from, LogicalType::Decimal { precision, scale })
            if from.is_integer() || from == LogicalType::Boolean =>
        {
            integer_to_decimal(input, (precision, scale), or_null, out)
        }
        (from, to) if (from.is_integer() || from == LogicalType::Boolean) && to.is_integer() => {
            integer_to_integer(input, &to, or_null, out)
        }
        (from, LogicalType::Double) if from.is_integer() || from == LogicalType::Boolean => {
            macro_rules! convert {
                ($from:ty,) => {
                    run(input, to, or_null, out, |v: $from| (v as f64, false))
                };
            }
            with_carrier!(from.physical(), convert!())
        }
        (from, LogicalType::Real) if from.is_integer() || from == LogicalType::Boolean => {
            macro_rules! convert {
                ($from:ty,) => {
                    // Rounded twice, as single values are.
                    run(input, to, or_null, out, |v: $from| ((v as f64) as f32, false))
                };
            }
            with_carrier!(from.physical(), convert!())
        }
        (LogicalType::Real, LogicalType::Double) => {
            Some(run(input, to, or_null, out, |v: f32| (f64::from(v), false)))
        }
        (LogicalType::Double, LogicalType::Real) => Some(run(input, to, or_null, out, |v: f64| {
            let real = v as f32;
            (real, real.is_infinite() && v.is_finite())
        })),
        (LogicalType::Double, to) if to.is_integer() => float_to_integer::<f64>(input, &to, or_null, out),
        (LogicalType::Real, to) if to.is_integer() => float_to_integer::<f32>(input, &to, or_null, out),
        _ => None,
    }
}

fn integer_to_integer(
    input: &Vector,
    to: &LogicalType,
    or_null: bool,
    out: &mut Vector,
) -> Option<Result<()>> {
    macro_rules! from {
        ($from:ty,) => {
            with_carrier!(to.physical(), to!($from))
        };
    }
    macro_rules! to {
        ($to:ty, $from:ty) => {
            run(input, to, or_null, out, |v: $from| {
                let converted = v as $to;
                #[allow(unused_comparisons)]
                let wrong = converted as $from != v || (converted < 0) != (v < 0);
                (converted, wrong)
            })
        };
    }
    // What two columns of different widths mostly meet in.
    if (input.physical_type(), to.physical()) == (PhysicalType::I32, PhysicalType::I64) {
        return Some(run_wide(input, to, or_null, out, |v: i32| (i64::from(v), false)));
    }
    with_carrier!(input.physical_type(), from!())?
}

fn float_to_integer<F: Native + Into<f64>>(
    input: &Vector,
    to: &LogicalType,
    or_null: bool,
    out: &mut Vector,
) -> Option<Result<()>> {
    macro_rules! convert {
        ($to:ty,) => {{
            // Both bounds are powers of two, exact in a double; NaN is between none.
            let (low, high) = (<$to>::MIN as f64, 2f64.powi((<$to>::MAX as f64).log2().ceil() as i32));
            run_wide(input, to, or_null, out, move |v: F| {
                let rounded = v.into().round_ties_even();
                (rounded as $to, !(rounded >= low && rounded < high))
            })
        }};
    }
    with_carrier!(to.physical(), convert!())
}

fn decimal_to_double(
    input: &Vector,
    (precision, scale): (u8, u8),
    or_null: bool,
    out: &mut Vector,
) -> Option<Result<()>> {
    let divisor = power_of_ten(scale);
    let to = LogicalType::Double;
    Some(match input.physical_type() {
        PhysicalType::I16 => run(input, &to, or_null, out, |v: i16| (f64::from(v) / divisor, false)),
        PhysicalType::I32 => run(input, &to, or_null, out, |v: i32| (f64::from(v) / divisor, false)),
        PhysicalType::I64 if precision <= EXACT_PRECISION => {
            run(input, &to, or_null, out, |v: i64| (v as f64 / divisor, false))
        }
        PhysicalType::I64 => {
            run(input, &to, or_null, out, |v: i64| (nearest_f64(i128::from(v), scale), false))
        }
        _ => run(input, &to, or_null, out, |v: i128| (nearest_f64(v, scale), false)),
    })
}

/// Rounded half away from zero, as single values are. Decimals of 128 bits go value by value.
fn decimal_to_integer(
    input: &Vector,
    scale: u8,
    to: &LogicalType,
    or_null: bool,
    out: &mut Vector,
) -> Option<Result<()>> {
    let divisor = 10i64.checked_pow(u32::from(scale))?;
    macro_rules! to {
        ($to:ty, $from:ty) => {
            run(input, to, or_null, out, move |v: $from| {
                let wide = i64::from(v);
                let (quotient, rest) = (wide / divisor, wide % divisor);
                let away = i64::from(rest.abs() >= divisor / 2 && rest != 0);
                let whole = quotient + if wide < 0 { -away } else { away };
                let converted = whole as $to;
                #[allow(unused_comparisons)]
                let wrong = converted as i64 != whole || (converted < 0) != (whole < 0);
                (converted, wrong)
            })
        };
    }
    match input.physical_type() {
        PhysicalType::I16 => with_carrier!(to.physical(), to!(i16)),
        PhysicalType::I32 => with_carrier!(to.physical(), to!(i32)),
        PhysicalType::I64 => with_carrier!(to.physical(), to!(i64)),
        _ => None,
    }
}

/// The integer nearest to a float, halves away from zero: what [`f64::round`] gives, without a call.
#[inline(always)]
fn rounded(value: f64) -> f64 {
    // Beyond 2^52 all are whole. Below, the largest float under a half keeps what is less than half from reaching the next one.
    let moved = (value + 0.499_999_999_999_999_94_f64.copysign(value)) as i64 as f64;
    if value.abs() < 4_503_599_627_370_496.0 { moved } else { value }
}

fn double_to_decimal(
    input: &Vector,
    (precision, scale): (u8, u8),
    or_null: bool,
    out: &mut Vector,
) -> Option<Result<()>> {
    let to = LogicalType::decimal(precision, scale);
    let (power, limit) = (power_of_ten(scale), 10i64.checked_pow(u32::from(precision))?);
    macro_rules! to {
        ($to:ty) => {
            run(input, &to, or_null, out, move |v: f64| {
                let scaled = rounded(v * power);
                // Out of range saturates, beyond every limit; what is not a number is no 0.
                let whole = scaled as i64;
                (whole as $to, scaled.is_nan() || whole >= limit || whole <= -limit)
            })
        };
    }
    match to.physical() {
        PhysicalType::I16 => Some(to!(i16)),
        PhysicalType::I32 => Some(to!(i32)),
        PhysicalType::I64 => Some(to!(i64)),
        _ => None,
    }
}

fn integer_to_decimal(
    input: &Vector,
    (precision, scale): (u8, u8),
    or_null: bool,
    out: &mut Vector,
) -> Option<Result<()>> {
    let to = LogicalType::decimal(precision, scale);
    let power = 10i128.pow(u32::from(scale));
    let limit = 10i128.pow(u32::from(precision - scale));
    macro_rules! from {
        ($from:ty,) => {
            match to.physical() {
                PhysicalType::I16 => from!(@to $from, i16, i64),
                PhysicalType::I32 => from!(@to $from, i32, i64),
                PhysicalType::I64 => from!(@to $from, i64, i64),
                _ => from!(@to $from, i128, i128),
            }
        };
        (@to $from:ty, $to:ty, $wide:ty) => {{
            // `limit` and `power` fit: they are below the largest decimal of the carrier.
            let (power, limit) = (power as $wide, limit as $wide);
            run(input, &to, or_null, out, move |v: $from| {
                let wide = v as $wide;
                #[allow(unused_comparisons)]
                let wrong = (wide < 0) != (v < 0) || wide >= limit || wide <= -limit;
                (wide.wrapping_mul(power) as $to, wrong)
            })
        }};
    }
    // 128-bit sources go value by value: they may not fit into the wide type of the loop.
    if input.physical_type() == PhysicalType::I128 && to.physical() != PhysicalType::I128 {
        return None;
    }
    with_carrier!(input.physical_type(), from!())
}

fn decimal_to_decimal(
    input: &Vector,
    from_scale: u8,
    (precision, scale): (u8, u8),
    or_null: bool,
    out: &mut Vector,
) -> Option<Result<()>> {
    let to = LogicalType::decimal(precision, scale);
    if from_scale > scale {
        // Rounding divides; rare enough to go value by value, except in 64 bits.
        return (input.physical_type() == PhysicalType::I64 && to.physical() == PhysicalType::I64)
            .then(|| round_i64(input, from_scale - scale, &to, or_null, out));
    }
    let power = 10i128.checked_pow(u32::from(scale - from_scale))?;
    // A value below `limit` stays below `10^precision` when scaled up.
    let limit = 10i128.pow(u32::from(precision - (scale - from_scale)));
    macro_rules! pair {
        ($from:ty, $to:ty, $wide:ty) => {{
            let power = power as $wide;
            let limit = <$wide>::try_from(limit).unwrap_or(<$wide>::MAX);
            run(input, &to, or_null, out, move |v: $from| {
                let wide = v as $wide;
                (wide.wrapping_mul(power) as $to, wide >= limit || wide <= -limit)
            })
        }};
    }
    Some(match (input.physical_type(), to.physical()) {
        (PhysicalType::I16, PhysicalType::I16) => pair!(i16, i16, i64),
        (PhysicalType::I16, PhysicalType::I32) => pair!(i16, i32, i64),
        (PhysicalType::I16, PhysicalType::I64) => pair!(i16, i64, i64),
        (PhysicalType::I16, PhysicalType::I128) => pair!(i16, i128, i128),
        (PhysicalType::I32, PhysicalType::I16) => pair!(i32, i16, i64),
        (PhysicalType::I32, PhysicalType::I32) => pair!(i32, i32, i64),
        (PhysicalType::I32, PhysicalType::I64) => pair!(i32, i64, i64),
        (PhysicalType::I32, PhysicalType::I128) => pair!(i32, i128, i128),
        (PhysicalType::I64, PhysicalType::I16) => pair!(i64, i16, i64),
        (PhysicalType::I64, PhysicalType::I32) => pair!(i64, i32, i64),
        (PhysicalType::I64, PhysicalType::I64) => pair!(i64, i64, i64),
        (PhysicalType::I64, PhysicalType::I128) => pair!(i64, i128, i128),
        (_, PhysicalType::I16) => pair!(i128, i16, i128),
        (_, PhysicalType::I32) => pair!(i128, i32, i128),
        (_, PhysicalType::I64) => pair!(i128, i64, i128),
        _ => pair!(i128, i128, i128),
    })
}

fn round_i64(input: &Vector, digits: u8, to: &LogicalType, or_null: bool, out: &mut Vector) -> Result<()> {
    let divisor = 10i64.pow(u32::from(digits));
    let LogicalType::Decimal { precision, .. } = to else { return settle(input, &[], or_null, out) };
    let limit = 10i64.pow(u32::from(*precision));
    run(input, to, or_null, out, move |v: i64| {
        let (quotient, rest) = (v / divisor, v % divisor);
        let away = i64::from(rest.unsigned_abs() >= divisor.unsigned_abs() / 2 && rest != 0);
        let rounded = quotient + if v < 0 { -away } else { away };
        (rounded, rounded >= limit || rounded <= -limit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cast::{cast, cast_value};
    use inlay_types::Value;

    #[test]
    fn rounding_is_that_of_the_library() {
        let halves = (-20..20).map(|half| f64::from(half) / 2.0);
        let near = [
            0.499_999_999_999_999_94,
            0.5,
            1.5,
            2.5,
            4_503_599_627_370_495.5,
            1e15 + 0.5,
            1e300,
            f64::INFINITY,
        ];
        for value in halves.chain(near).chain(near.map(|value| -value)) {
            assert_eq!(rounded(value), value.round(), "{value}");
            let below = f64::from_bits(value.to_bits().wrapping_sub(1));
            assert!(rounded(below) == below.round() || below.is_nan(), "{below}");
        }
    }

    /// Loops give what single values do, NULL where those fail.
    #[test]
    fn loops_of_decimals_are_those_of_single_values() {
        let decimals = [
            0i64,
            1,
            49,
            50,
            51,
            149,
            150,
            -49,
            -50,
            -51,
            -150,
            12_749,
            12_750,
            999_999,
            -999_999,
            9_999_999_950,
        ];
        let decimal = |precision: u8| {
            let in_range =
                decimals.iter().filter(move |v| v.unsigned_abs() < 10u64.pow(u32::from(precision)));
            in_range.map(move |&v| Value::Decimal { unscaled: v.into(), precision, scale: 2 })
        };
        let doubles =
            [0.0, 0.125, -0.125, 1.005, 2.5, 99.995, -99.995, 1e9, 1e18, -1e300, f64::NAN, f64::INFINITY];
        let sources: Vec<Value> = [4, 9, 18].into_iter().flat_map(decimal).collect();
        let integers = [
            LogicalType::TinyInt,
            LogicalType::UInteger,
            LogicalType::Integer,
            LogicalType::BigInt,
            LogicalType::HugeInt,
        ];
        let targets =
            [(4, 2), (4, 4), (9, 0), (9, 3), (18, 2), (18, 17)].map(|(p, s)| LogicalType::decimal(p, s));
        let pairs = sources.iter().flat_map(|value| integers.iter().map(move |to| (value.clone(), to)));
        let others =
            doubles.iter().flat_map(|value| targets.iter().map(move |to| (Value::Double(*value), to)));
        for (value, to) in pairs.chain(others) {
            let input = Vector::from_sql_values(value.logical_type(), std::slice::from_ref(&value)).unwrap();
            let mut out = Vector::empty(to.clone());
            cast(&input, to, true, &mut out).unwrap();
            assert_eq!(out.get(0), cast_value(&value, to).unwrap_or(Value::Null), "{value} as {to}");
        }
    }
}
