//! Functions of numbers.

use super::columns::Column;
use crate::registry::{Function, Overloads, Signature};
use inlay_kernels::apply::{map, map_wide, per_row, try_map, try_zip_plain, zip_simple};
use inlay_kernels::function::kernel;
use inlay_kernels::resolve::{ArgType, ResolveOptions, Resolved};
use inlay_types::LogicalType::{BigInt, Boolean, Double, HugeInt, Integer, Real, TinyInt, Varchar};
use inlay_types::{Error, LogicalType, PhysicalType, Result, Vector};
use std::sync::Arc;

/// DOUBLE of DOUBLE.
macro_rules! double {
    ($f:expr) => {
        Overloads::Fixed(&[Signature::new(&[Double], Double, |args, len, out| {
            map(args[0], &Double, len, out, $f)
        })])
    };
}

/// The same for what the CPU has instructions for.
macro_rules! double_wide {
    ($f:expr) => {
        Overloads::Fixed(&[Signature::new(&[Double], Double, |args, len, out| {
            map_wide(args[0], &Double, len, out, $f)
        })])
    };
}

/// BOOLEAN of REAL or DOUBLE.
macro_rules! float_test {
    ($f:ident) => {
        Overloads::Fixed(&[
            Signature::new(&[Double], Boolean, |args, len, out| {
                map(args[0], &Boolean, len, out, |v: f64| u8::from(v.$f()))
            }),
            Signature::new(&[Real], Boolean, |args, len, out| {
                map(args[0], &Boolean, len, out, |v: f32| u8::from(v.$f()))
            }),
        ])
    };
}

/// See the module documentation.
pub(super) static FUNCTIONS: &[Function] = &[
    Function::typed(
        "ceil",
        &["ceil(number)"],
        |args, _| whole(args, Rounding::Up),
        "the next whole number above",
        "ceil(1.2) = 2",
    )
    .aliases(&["ceiling"]),
    Function::typed(
        "floor",
        &["floor(number)"],
        |args, _| whole(args, Rounding::Down),
        "the next whole number below",
        "floor(1.7) = 1",
    ),
    Function::typed(
        "trunc",
        &["trunc(number)", "trunc(number, digits)"],
        |args, _| resolve_round(args, Rounding::Zero),
        "cut off behind a number of digits behind the point",
        "trunc(-1.79, 1) = -1.7",
    ),
    Function::typed(
        "round",
        &["round(number)", "round(number, digits)"],
        |args, _| resolve_round(args, Rounding::Nearest),
        "rounded to a number of digits behind the point, half away from zero",
        "round(2.345, 2) = 2.35",
    ),
    Function::typed(
        "round_even",
        &["round_even(number, digits)"],
        |args, _| resolve_round(args, Rounding::Even),
        "rounded to a number of digits behind the point, half to the even digit",
        "round_even(2.345, 2) = 2.34",
    )
    .aliases(&["roundbankers"]),
    Function::typed("sign", &["sign(number) -> TINYINT"], resolve_sign, "-1, 0 or 1", "sign(-3) = -1"),
    Function::new("sqrt", double_wide!(|v: f64| v.sqrt()), "square root; nan below 0", "sqrt(4) = 2.0"),
    Function::new("cbrt", double!(|v: f64| v.cbrt()), "cube root", "cbrt(27) = 3.0"),
    Function::new("exp", double!(|v: f64| v.exp()), "e to the power", "exp(1) = 2.718281828459045"),
    Function::new("ln", double!(|v: f64| v.ln()), "natural logarithm", "ln(1) = 0.0"),
    Function::new("log10", double!(|v: f64| v.log10()), "logarithm to base 10", "log10(100) = 2.0"),
    Function::new(
        "log",
        Overloads::Fixed(&[
            Signature::new(&[Double], Double, |args, len, out| {
                map(args[0], &Double, len, out, |v: f64| v.log10())
            }),
            Signature::new(&[Double, Double], Double, |args, len, out| {
                zip_simple(args, &Double, len, out, |base: f64, v: f64| v.ln() / base.ln())
            }),
        ]),
        "logarithm to base 10, or to the base given first",
        "log(2, 8) = 3.0",
    ),
    Function::new("log2", double!(|v: f64| v.log2()), "logarithm to base 2", "log2(8) = 3.0"),
    Function::new(
        "power",
        Overloads::Fixed(&[Signature::new(&[Double, Double], Double, |args, len, out| {
            zip_simple(args, &Double, len, out, |base: f64, exponent: f64| base.powf(exponent))
        })]),
        "a number to a power",
        "power(2, 10) = 1024.0",
    )
    .aliases(&["pow", "^", "**"]),
    Function::new("sin", double!(|v: f64| v.sin()), "sine", "sin(0) = 0.0"),
    Function::new("cos", double!(|v: f64| v.cos()), "cosine", "cos(0) = 1.0"),
    Function::new("tan", double!(|v: f64| v.tan()), "tangent", "tan(0) = 0.0"),
    Function::new("cot", double!(|v: f64| 1.0 / v.tan()), "cotangent", "cot(1) = 0.6420926159343306"),
    Function::new("asin", double!(|v: f64| v.asin()), "inverse sine", "asin(0) = 0.0"),
    Function::new("acos", double!(|v: f64| v.acos()), "inverse cosine", "acos(1) = 0.0"),
    Function::new("atan", double!(|v: f64| v.atan()), "inverse tangent", "atan(0) = 0.0"),
    Function::new(
        "atan2",
        Overloads::Fixed(&[Signature::new(&[Double, Double], Double, |args, len, out| {
            zip_simple(args, &Double, len, out, |y: f64, x: f64| y.atan2(x))
        })]),
        "angle of a point (y, x)",
        "atan2(0, 1) = 0.0",
    ),
    Function::new("sinh", double!(|v: f64| v.sinh()), "hyperbolic sine", "sinh(0) = 0.0"),
    Function::new("cosh", double!(|v: f64| v.cosh()), "hyperbolic cosine", "cosh(0) = 1.0"),
    Function::new("tanh", double!(|v: f64| v.tanh()), "hyperbolic tangent", "tanh(0) = 0.0"),
    Function::new(
        "degrees",
        double_wide!(|v: f64| v.to_degrees()),
        "radians as degrees",
        "degrees(pi()) = 180.0",
    ),
    Function::new(
        "radians",
        double_wide!(|v: f64| v.to_radians()),
        "degrees as radians",
        "radians(180) = 3.141592653589793",
    ),
    Function::new(
        "isnan",
        float_test!(is_nan),
        "whether a float is no number",
        "isnan('nan'::DOUBLE) = true",
    ),
    Function::new(
        "pi",
        Overloads::Fixed(&[Signature::new(&[], Double, |_, len, out| {
            *out = Vector::constant(Double, &inlay_types::Value::Double(std::f64::consts::PI), len)?;
            Ok(())
        })]),
        "the circle's number",
        "pi() = 3.141592653589793",
    ),
    Function::new(
        "even",
        double_wide!(|v: f64| {
            // Halves of whole numbers are exact.
            ((v.abs().ceil() * 0.5).ceil() * 2.0).copysign(v)
        }),
        "the next even number away from zero",
        "even(2.9) = 4.0",
    ),
    Function::new(
        "gcd",
        Overloads::Fixed(&[
            Signature::new(&[BigInt, BigInt], BigInt, |args, len, out| {
                let in_64_bits = |a: i64, b: i64| {
                    let (wide, failed) = divisor(i128::from(a), i128::from(b));
                    (wide as i64, failed || i64::try_from(wide).is_err())
                };
                let error = |a, b| overflow("BIGINT", "gcd", i128::from(a), i128::from(b));
                try_zip_plain(args, &BigInt, len, out, in_64_bits, error)
            }),
            Signature::new(&[HugeInt, HugeInt], HugeInt, |args, len, out| {
                try_zip_plain(args, &HugeInt, len, out, divisor, |a, b| overflow("HUGEINT", "gcd", a, b))
            }),
        ]),
        "greatest common divisor",
        "gcd(12, 18) = 6",
    )
    .aliases(&["greatest_common_divisor"])
    .fallible(),
    Function::new(
        "lcm",
        Overloads::Fixed(&[
            Signature::new(&[BigInt, BigInt], BigInt, |args, len, out| {
                let in_64_bits = |a: i64, b: i64| {
                    let (wide, failed) = multiple(i128::from(a), i128::from(b));
                    (wide as i64, failed || i64::try_from(wide).is_err())
                };
                let error = |a, b| overflow("BIGINT", "lcm", i128::from(a), i128::from(b));
                try_zip_plain(args, &BigInt, len, out, in_64_bits, error)
            }),
            Signature::new(&[HugeInt, HugeInt], HugeInt, |args, len, out| {
                try_zip_plain(args, &HugeInt, len, out, multiple, |a, b| overflow("HUGEINT", "lcm", a, b))
            }),
        ]),
        "least common multiple",
        "lcm(4, 6) = 12",
    )
    .aliases(&["least_common_multiple"])
    .fallible(),
    Function::new(
        "factorial",
        Overloads::Fixed(&[Signature::new(&[Integer], HugeInt, |args, len, out| {
            let product = |n: i32| {
                let product = usize::try_from(n).ok().and_then(|n| FACTORIALS.get(n));
                (product.copied().unwrap_or_default(), product.is_none())
            };
            let error = |n: i32| {
                Error::out_of_range(format!("factorial of {n} is out of range"))
                    .with_hint("0 to 33 is possible")
            };
            try_map(args[0], &HugeInt, len, out, product, error)
        })]),
        "product of the numbers up to one",
        "factorial(5) = 120",
    )
    .aliases(&["!"])
    .fallible(),
];

/// Those that are a HUGEINT.
const FACTORIALS: [i128; 34] = {
    let mut factorials = [1; 34];
    let mut n = 1;
    while n < factorials.len() {
        factorials[n] = factorials[n - 1] * n as i128;
        n += 1;
    }
    factorials
};

fn overflow(ty: &str, function: &str, a: i128, b: i128) -> Error {
    Error::out_of_range(format!("overflow in {ty} {function}: {function}({a}, {b})"))
}

fn divisor(a: i128, b: i128) -> (i128, bool) {
    let (mut a, mut b) = (a.unsigned_abs(), b.unsigned_abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    i128::try_from(a).map_or((0, true), |v| (v, false))
}

fn multiple(a: i128, b: i128) -> (i128, bool) {
    if a == 0 || b == 0 {
        return (0, false);
    }
    let (common, wrong) = divisor(a, b);
    match (a / common.max(1)).checked_mul(b).and_then(i128::checked_abs) {
        Some(multiple) if !wrong => (multiple, false),
        _ => (0, true),
    }
}

/// Which whole number.
#[derive(Clone, Copy, PartialEq)]
enum Rounding {
    Up,
    Down,
    Zero,
    /// Half away from zero.
    Nearest,
    /// Half to the even digit.
    Even,
}

impl Rounding {
    fn float(self, value: f64) -> f64 {
        match self {
            Self::Up => value.ceil(),
            Self::Down => value.floor(),
            Self::Zero => value.trunc(),
            Self::Nearest => value.round(),
            Self::Even => value.round_ties_even(),
        }
    }

    /// `value / power`, rounded.
    fn divide(self, value: i128, power: i128) -> i128 {
        let (quotient, rest) = (value / power, value % power);
        quotient
            + match self {
                Self::Up => i128::from(rest > 0),
                Self::Down => -i128::from(rest < 0),
                Self::Zero => 0,
                Self::Nearest if rest.abs() >= power - rest.abs() && rest != 0 => rest.signum(),
                Self::Nearest => 0,
                Self::Even if rest.abs() > power - rest.abs() => rest.signum(),
                Self::Even if rest.abs() == power - rest.abs() && quotient % 2 != 0 => rest.signum(),
                Self::Even => 0,
            }
    }
}

/// The type of one numeric argument; NULL and text literals count as DOUBLE.
fn one_number(arg: &ArgType) -> Option<LogicalType> {
    match &arg.ty {
        LogicalType::Null => Some(Double),
        Varchar if arg.is_literal => Some(Double),
        ty => ty.is_numeric().then(|| ty.clone()),
    }
}

/// ceil and floor: decimals lose their scale, integers become doubles (as in DuckDB), floats stay.
fn whole(args: &[ArgType], rounding: Rounding) -> Option<Resolved> {
    let [arg] = args else { return None };
    let ty = one_number(arg)?;
    match ty {
        LogicalType::Decimal { precision, scale } => {
            let returns = LogicalType::decimal(precision, 0);
            Some(Resolved::infallible(
                vec![ty.clone()],
                returns.clone(),
                rounded_decimal(ty, returns, rounding, scale, None),
            ))
        }
        Real => {
            let float = move |v: f32| rounding.float(f64::from(v)) as f32;
            let kernel = kernel(move |args, len, out| map(args[0], &Real, len, out, float));
            Some(Resolved::infallible(vec![Real], Real, kernel))
        }
        _ => {
            // Each is an instruction.
            macro_rules! each {
                ($f:path) => {
                    kernel(|args, len, out| map_wide(args[0], &Double, len, out, |v: f64| $f(v)))
                };
            }
            let kernel = match rounding {
                Rounding::Up => each!(f64::ceil),
                Rounding::Down => each!(f64::floor),
                Rounding::Zero => each!(f64::trunc),
                Rounding::Nearest => each!(f64::round),
                Rounding::Even => each!(f64::round_ties_even),
            };
            Some(Resolved::infallible(vec![Double], Double, kernel))
        }
    }
}

/// Divides decimals of type `from` by `10^digits`, rounding, and multiplies them by `scale_up`, if given.
fn rounded_decimal(
    from: LogicalType,
    to: LogicalType,
    rounding: Rounding,
    digits: u8,
    scale_up: Option<i128>,
) -> Arc<dyn inlay_kernels::function::ScalarKernel> {
    let power = 10i128.checked_pow(u32::from(digits)).unwrap_or(i128::MAX);
    let round = move |v: i128| rounding.divide(v, power) * scale_up.unwrap_or(1);
    macro_rules! each {
        ($t:ty) => {
            kernel(move |args, len, out| map(args[0], &to, len, out, move |v: $t| round(i128::from(v)) as $t))
        };
    }
    match from.physical() {
        PhysicalType::I16 => each!(i16),
        PhysicalType::I32 => each!(i32),
        PhysicalType::I64 => {
            let small =
                i64::try_from(power).ok().filter(|_| rounding == Rounding::Nearest && scale_up.is_none());
            match small {
                // Half away from zero in 64 bits: the common `round(decimal, n)`.
                Some(power) => kernel(move |args, len, out| {
                    map(args[0], &to, len, out, move |v: i64| {
                        let (quotient, rest) = (v / power, v % power);
                        let away = i64::from(rest.unsigned_abs() * 2 >= power.unsigned_abs() && rest != 0);
                        quotient + if v < 0 { -away } else { away }
                    })
                }),
                None => each!(i64),
            }
        }
        // All other types have room for the digit more that rounding up takes.
        _ if scale_up.is_some() => kernel(move |args, len, out| {
            let values = Column::<i128>::of(args[0]);
            per_row(args, &to, len, out, |row| within_38_digits(round(values.get(row))))
        }),
        _ => each!(i128),
    }
}

/// A rounded decimal, if the largest type has its digits.
fn within_38_digits(value: i128) -> Result<i128> {
    if value.unsigned_abs() < 10u128.pow(38) {
        return Ok(value);
    }
    Err(Error::out_of_range("a number that is rounded up has more than the 38 digits of a DECIMAL"))
}

/// `round(x)` and `round(x, digits)` and what differs in the rounding only.
fn resolve_round(args: &[ArgType], rounding: Rounding) -> Option<Resolved> {
    let (arg, digits) = match args {
        [arg] => (arg, None),
        [arg, digits] if digits.ty.is_integer() || digits.ty == LogicalType::Null => (arg, Some(digits)),
        _ => return None,
    };
    let ty = one_number(arg)?;
    let known = digits.map_or(Some(0), |d| d.integer.and_then(|n| i32::try_from(n).ok()));
    let mut arg_types = vec![ty.clone()];
    arg_types.extend(digits.map(|_| Integer));
    match ty {
        LogicalType::Decimal { precision, scale } => {
            let Some(known) = known else {
                // Not known yet: the scale stays, one digit more for rounding up.
                let returns = LogicalType::decimal((precision + 1).min(38), scale);
                arg_types[0] = returns.clone();
                let kernel = kernel(move |args, len, out| round_decimal(args, len, out, rounding));
                return Some(Resolved::fallible(arg_types, returns, kernel));
            };
            let kept = known.clamp(0, i32::from(scale)) as u8;
            let dropped = i32::from(scale).saturating_sub(known).clamp(0, 255) as u8;
            let scale_up = (known < 0).then(|| power_of_ten(known.unsigned_abs()).unwrap_or(0));
            let precision = if scale == 0 && known < 0 { (precision + 1).min(38) } else { precision };
            let returns = LogicalType::decimal(precision, kept);
            arg_types[0] = LogicalType::decimal(precision, scale);
            let kernel = rounded_decimal(arg_types[0].clone(), returns.clone(), rounding, dropped, scale_up);
            Some(Resolved {
                can_fail: scale_up.is_some() && precision == 38,
                ..Resolved::infallible(arg_types, returns, kernel)
            })
        }
        ty if ty.is_integer() => {
            let returns = ty.clone();
            let wide = kernel(move |args, len, out| round_integer(&ty, args, len, out, rounding));
            Some(Resolved::fallible(arg_types, returns, wide))
        }
        Real => {
            let kernel = kernel(move |args, len, out| {
                let values = Column::<f32>::of(args[0]);
                let digits = args.get(1).map(|d| Column::<i32>::of(d));
                per_row(args, &Real, len, out, |row| {
                    let digits = digits.as_ref().map_or(0, |d| d.get(row));
                    Ok(round_float(f64::from(values.get(row)), digits, rounding) as f32)
                })
            });
            Some(Resolved::infallible(arg_types, Real, kernel))
        }
        _ => {
            let kernel = kernel(move |args, len, out| match args.get(1) {
                None => map(args[0], &Double, len, out, |v: f64| rounding.float(v)),
                Some(_) => zip_simple(args, &Double, len, out, |v: f64, digits: i32| {
                    round_float(v, digits, rounding)
                }),
            });
            Some(Resolved::infallible(arg_types, Double, kernel))
        }
    }
}

fn power_of_ten(exponent: u32) -> Option<i128> {
    10i128.checked_pow(exponent)
}

fn round_float(value: f64, digits: i32, rounding: Rounding) -> f64 {
    if digits == 0 {
        return rounding.float(value);
    }
    // Multiplying by a power of ten and dividing by it again is DuckDB's way, too; infinities mean there is nothing to round.
    let power = 10f64.powi(digits.saturating_abs());
    let rounded = if digits > 0 {
        rounding.float(value * power) / power
    } else {
        rounding.float(value / power) * power
    };
    match rounded.is_finite() {
        true => rounded,
        false if digits > 0 || !value.is_finite() => value,
        false => 0.0,
    }
}

/// `round(decimal, n)` where `n` is not known before: the scale stays.
fn round_decimal(args: &[&Vector], len: usize, out: &mut Vector, rounding: Rounding) -> Result<()> {
    let ty = args[0].logical_type();
    let scale = i32::from(inlay_kernels::arithmetic::scale_of(ty.clone()));
    let digits = args.get(1).map(|d| Column::<i32>::of(d));
    let round = |v: i128, row: usize| {
        let dropped = scale.saturating_sub(digits.as_ref().map_or(0, |d| d.get(row)));
        if dropped <= 0 {
            return v;
        }
        power_of_ten(dropped.unsigned_abs()).map_or(0, |power| rounding.divide(v, power) * power)
    };
    match ty.physical() {
        PhysicalType::I16 => {
            let values = Column::<i16>::of(args[0]);
            per_row(args, &ty, len, out, |row| Ok(round(values.get(row).into(), row) as i16))
        }
        PhysicalType::I32 => {
            let values = Column::<i32>::of(args[0]);
            per_row(args, &ty, len, out, |row| Ok(round(values.get(row).into(), row) as i32))
        }
        PhysicalType::I64 => {
            let values = Column::<i64>::of(args[0]);
            per_row(args, &ty, len, out, |row| Ok(round(values.get(row).into(), row) as i64))
        }
        _ => {
            let values = Column::<i128>::of(args[0]);
            per_row(args, &ty, len, out, |row| within_38_digits(round(values.get(row), row)))
        }
    }
}

/// `round(integer, n)`: only negative `n` change anything.
fn round_integer(
    ty: &LogicalType,
    args: &[&Vector],
    len: usize,
    out: &mut Vector,
    rounding: Rounding,
) -> Result<()> {
    let Some(digits) = args.get(1).filter(|d| !d.is_constant_null()) else {
        *out = if args.len() == 1 { args[0].clone() } else { Vector::nulls(ty.clone(), len) };
        return Ok(());
    };
    let digits = Column::<i32>::of(digits);
    let mut builder = inlay_types::VectorBuilder::new(ty.clone(), len);
    for row in 0..len {
        let value = args[0].get(row);
        if value.is_null() || args[1].is_null(row) {
            builder.push_null();
            continue;
        }
        let places = digits.get(row);
        let Some(number) = value.as_i128().filter(|_| places < 0) else {
            builder.push(&value)?;
            continue;
        };
        let power = power_of_ten(places.saturating_neg().unsigned_abs());
        let rounded = power.map_or(0, |power| rounding.divide(number, power).saturating_mul(power));
        let rounded = inlay_types::Value::from_stored_i128(ty, rounded);
        builder
            .push(&rounded.ok_or_else(|| {
                Error::out_of_range(format!("rounding {number} is out of range for {ty}"))
            })?)?;
    }
    *out = builder.finish();
    Ok(())
}

fn resolve_sign(args: &[ArgType], _: &ResolveOptions) -> Option<Resolved> {
    let [arg] = args else { return None };
    let ty = one_number(arg)?;
    macro_rules! each {
        ($t:ty) => {
            kernel(|args, len, out| {
                #[allow(unused_comparisons)]
                map(args[0], &TinyInt, len, out, |v: $t| {
                    i8::from(v > <$t>::default()) - i8::from(v < <$t>::default())
                })
            })
        };
    }
    let kernel = match ty.physical() {
        PhysicalType::I8 => each!(i8),
        PhysicalType::I16 => each!(i16),
        PhysicalType::I32 => each!(i32),
        PhysicalType::I64 => each!(i64),
        PhysicalType::I128 => each!(i128),
        PhysicalType::U8 => each!(u8),
        PhysicalType::U16 => each!(u16),
        PhysicalType::U32 => each!(u32),
        PhysicalType::U64 => each!(u64),
        PhysicalType::U128 => each!(u128),
        PhysicalType::F32 => each!(f32),
        PhysicalType::F64 => each!(f64),
        PhysicalType::Bool | PhysicalType::View | PhysicalType::Interval => return None,
    };
    Some(Resolved::infallible(vec![ty], TinyInt, kernel))
}
