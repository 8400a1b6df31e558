//! More functions of numbers: those of floats that the standard library lacks, counts, names for operators.

use super::columns::Column;
use crate::registry::{Function, Overloads, Signature};
use inlay_kernels::apply::{map, per_row, try_zip_plain, zip_simple};
use inlay_types::LogicalType::{BigInt, Boolean, Double, HugeInt, Integer, Real, SmallInt, TinyInt};
use inlay_types::{Error, Result, Vector};
use std::f64::consts::PI;

/// DOUBLE of DOUBLE.
macro_rules! double {
    ($f:expr) => {
        Overloads::Fixed(&[Signature::new(&[Double], Double, |args, len, out| {
            map(args[0], &Double, len, out, $f)
        })])
    };
}

macro_rules! bit_count {
    ($ty:expr, $t:ty) => {
        Signature::new(&[$ty], TinyInt, |args, len, out| {
            map(args[0], &TinyInt, len, out, |v: $t| v.count_ones() as i8)
        })
    };
}

/// See the module documentation.
pub(super) static FUNCTIONS: &[Function] = &[
    Function::new("acosh", double!(|v: f64| v.acosh()), "inverse hyperbolic cosine", "acosh(1) = 0.0"),
    Function::new("asinh", double!(|v: f64| v.asinh()), "inverse hyperbolic sine", "asinh(0) = 0.0"),
    Function::new("atanh", double!(|v: f64| v.atanh()), "inverse hyperbolic tangent", "atanh(0) = 0.0"),
    Function::new("gamma", double!(gamma), "factorial of the number less 1, for any number", "gamma(5) = 24.0"),
    Function::new("lgamma", double!(log_gamma), "natural logarithm of gamma's magnitude", "lgamma(2) = 0.0"),
    Function::new(
        "nextafter",
        Overloads::Fixed(&[
            Signature::new(&[Double, Double], Double, |args, len, out| {
                zip_simple(args, &Double, len, out, next_double)
            }),
            Signature::new(&[Real, Real], Real, |args, len, out| {
                zip_simple(args, &Real, len, out, next_real)
            }),
        ]),
        "the next float from the first towards the second",
        "nextafter(1::DOUBLE, 2::DOUBLE) = 1.0000000000000002::DOUBLE",
    ),
    Function::new(
        "signbit",
        Overloads::Fixed(&[
            Signature::new(&[Double], Boolean, |args, len, out| {
                map(args[0], &Boolean, len, out, |v: f64| u8::from(v.is_sign_negative()))
            }),
            Signature::new(&[Real], Boolean, |args, len, out| {
                map(args[0], &Boolean, len, out, |v: f32| u8::from(v.is_sign_negative()))
            }),
        ]),
        "whether a float has a minus sign, as -0.0 has",
        "signbit(-0.5::DOUBLE) = true",
    ),
    Function::new(
        "fdiv",
        Overloads::Fixed(&[Signature::new(&[Double, Double], Double, |args, len, out| {
            zip_simple(args, &Double, len, out, |a: f64, b: f64| (a / b).floor())
        })]),
        "quotient of floats, rounded down",
        "fdiv(5, 2) = 2.0",
    ),
    Function::new(
        "fmod",
        Overloads::Fixed(&[Signature::new(&[Double, Double], Double, |args, len, out| {
            zip_simple(args, &Double, len, out, |a: f64, b: f64| a - b * (a / b).floor())
        })]),
        "remainder of floats",
        "fmod(5.5, 2) = 1.5",
    ),
    Function::new(
        "bit_count",
        Overloads::Fixed(&[
            bit_count!(TinyInt, i8),
            bit_count!(SmallInt, i16),
            bit_count!(Integer, i32),
            bit_count!(BigInt, i64),
            // 128 ones are more than TINYINT holds.
            Signature::new(&[HugeInt], SmallInt, |args, len, out| {
                map(args[0], &SmallInt, len, out, |v: i128| v.count_ones() as i16)
            }),
        ]),
        "number of bits that are set",
        "bit_count(31) = 5",
    ),
    Function::new(
        "binom",
        Overloads::Fixed(&[Signature::new(&[Integer, Integer], HugeInt, |args, len, out| {
            let error = |n: i32, k: i32| {
                Error::out_of_range(format!("binom({n}, {k}) is out of range for HUGEINT, or {n} is negative"))
            };
            try_zip_plain(args, &HugeInt, len, out, binomial, error)
        })]),
        "ways to choose k of n things",
        "binom(5, 2) = 10",
    )
    .fallible(),
    Function::new(
        "width_bucket",
        Overloads::Fixed(&[Signature::new(&[Double, Double, Double, Integer], Integer, width_bucket)]),
        "the bucket of equal width in which a number lies, from 1; 0 below the first, count + 1 above the last",
        "width_bucket(5.35, 0.024, 10.06, 5) = 3",
    )
    .fallible(),
];

fn next_double(from: f64, to: f64) -> f64 {
    if from.is_nan() || to.is_nan() {
        return f64::NAN;
    }
    match from.partial_cmp(&to) {
        Some(std::cmp::Ordering::Less) => from.next_up(),
        Some(std::cmp::Ordering::Greater) => from.next_down(),
        _ => to,
    }
}

fn next_real(from: f32, to: f32) -> f32 {
    if from.is_nan() || to.is_nan() {
        return f32::NAN;
    }
    match from.partial_cmp(&to) {
        Some(std::cmp::Ordering::Less) => from.next_up(),
        Some(std::cmp::Ordering::Greater) => from.next_down(),
        _ => to,
    }
}

fn binomial(n: i32, k: i32) -> (i128, bool) {
    if n < 0 {
        return (0, true);
    }
    if k < 0 || k > n {
        return (0, false);
    }
    let mut ways = 1i128;
    for step in 1..=i128::from(k.min(n - k)) {
        match ways.checked_mul(i128::from(n) - step + 1) {
            Some(product) => ways = product / step,
            None => return (0, true),
        }
    }
    (ways, false)
}

fn width_bucket(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    let [x, low, high] = [0, 1, 2].map(|arg| Column::<f64>::of(args[arg]));
    let count = Column::<i32>::of(args[3]);
    per_row(args, &Integer, len, out, |row| {
        let (x, low, high, count) = (x.get(row), low.get(row), high.get(row), count.get(row));
        if count <= 0 || count == i32::MAX {
            return Err(Error::out_of_range(format!("width_bucket: the count is {count}"))
                .with_hint("it must be above 0"));
        }
        if x.is_nan() || !low.is_finite() || !high.is_finite() || low == high {
            let message = format!("width_bucket({x}, {low}, {high}): the bounds must be finite and differ");
            return Err(Error::out_of_range(message));
        }
        let share = (x - low) / (high - low);
        Ok(if share < 0.0 {
            0
        } else if share >= 1.0 {
            count + 1
        } else {
            (share * f64::from(count)) as i32 + 1
        })
    })
}

/// `(numerator, denominator)` coefficients of Lanczos' sum for g = 6.024680040776729583740234375 and 13 terms, as in Boost
/// and musl.
const LANCZOS: [(f64, f64); 13] = [
    (23_531_376_880.410_76, 0.0),
    (42_919_803_642.649_1, 39916800.0),
    (35_711_959_237.355_67, 120543840.0),
    (17_921_034_426.037_21, 150917976.0),
    (6_039_542_586.352_028, 105258076.0),
    (1_439_720_407.311_721_6, 45995730.0),
    (248_874_557.862_054_17, 13339535.0),
    (31_426_415.585_400_194, 2637558.0),
    (2_876_370.628_935_372_5, 357423.0),
    (186_056.265_395_223_48, 32670.0),
    (8_071.672_002_365_816, 1925.0),
    (210.824_277_751_579_36, 66.0),
    (2.506_628_274_631_000_2, 1.0),
];

/// g less one half.
const LANCZOS_SHIFT: f64 = 5.524_680_040_776_73;

fn lanczos_sum(x: f64) -> f64 {
    let (mut numerator, mut denominator) = (0.0, 0.0);
    if x < 8.0 {
        for (n, d) in LANCZOS.iter().rev() {
            numerator = numerator * x + n;
            denominator = denominator * x + d;
        }
    } else {
        for (n, d) in &LANCZOS {
            numerator = numerator / x + n;
            denominator = denominator / x + d;
        }
    }
    numerator / denominator
}

/// The gamma function, after musl's `tgamma`.
fn gamma(x: f64) -> f64 {
    if !x.is_finite() {
        return x + f64::INFINITY;
    }
    if x.abs() < f64::EPSILON / 4.0 {
        return 1.0 / x;
    }
    if x == x.floor() {
        if x < 0.0 {
            return f64::NAN;
        }
        if x <= 23.0 {
            return (1..x as u64).map(|n| n as f64).product();
        }
    }
    if x.abs() >= 184.0 {
        return if x < 0.0 { 0.0 } else { f64::INFINITY };
    }
    let magnitude = x.abs();
    let y = magnitude + LANCZOS_SHIFT;
    let error = if magnitude > LANCZOS_SHIFT {
        (y - magnitude) - LANCZOS_SHIFT
    } else {
        (y - LANCZOS_SHIFT) - magnitude
    };
    let mut z = magnitude - 0.5;
    let mut error = error;
    let mut result = lanczos_sum(magnitude) * (-y).exp();
    if x < 0.0 {
        result = -PI / ((PI * (magnitude % 2.0)).sin() * magnitude * result);
        (error, z) = (-error, -z);
    }
    result += error * (LANCZOS_SHIFT + 0.5) * result / y;
    let half_power = y.powf(0.5 * z);
    result * half_power * half_power
}

/// Logarithm of gamma's magnitude: of gamma itself where that is accurate, by Stirling's series above.
fn log_gamma(x: f64) -> f64 {
    if x.is_nan() {
        return x;
    }
    if x.is_infinite() || (x <= 0.0 && x == x.floor()) {
        return f64::INFINITY;
    }
    if x.abs() < 20.0 {
        return gamma(x).abs().ln();
    }
    if x < 0.0 {
        return PI.ln() - ((PI * (x.abs() % 2.0)).sin() * x).abs().ln() - log_gamma(-x);
    }
    let inverse = 1.0 / x;
    let square = inverse * inverse;
    let series = inverse
        * (1.0 / 12.0
            - square * (1.0 / 360.0 - square * (1.0 / 1260.0 - square * (1.0 / 1680.0 - square / 1188.0))));
    (x - 0.5) * x.ln() - x + 0.5 * (2.0 * PI).ln() + series
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gamma_is_accurate() {
        let near = |found: f64, expected: f64| {
            let scale = expected.abs().max(1.0);
            assert!((found - expected).abs() <= 4e-15 * scale, "{found} instead of {expected}");
        };
        near(gamma(5.5), 52.34277778455352);
        near(gamma(-0.5), -3.5449077018110318);
        near(gamma(0.1), 9.51350769866873);
        near(gamma(171.5) / 1e300, 9.4833675668248e307 / 1e300);
        assert_eq!((gamma(172.0), gamma(0.0)), (f64::INFINITY, f64::INFINITY));
        assert!(gamma(-1.0).is_nan());
        near(log_gamma(100.5), 361.4355404677776);
        near(log_gamma(-0.5), 1.2655121234846454);
        near(log_gamma(3.7), 1.428072326665388);
        near(log_gamma(0.1), 2.2527126517342055);
        near(log_gamma(20.5), 40.8315009745308);
    }
}
