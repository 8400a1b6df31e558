//! Trigonometry in degrees, exact where schoolbooks are: `sind(30)` is 0.5 (PostgreSQL's functions and method).
//!
//! Angles are brought into the first quadrant; there results are scaled so that 30, 45 and 60 degrees come out exactly.

use crate::registry::{Function, Loop, Overloads, Signature};
use inlay_kernels::apply::{try_map, zip_simple};
use inlay_types::LogicalType::Double;
use inlay_types::{Error, Result, Vector};
use std::f64::consts::PI;

const fn of_degrees(
    name: &'static str,
    signatures: &'static [Signature; 1],
    description: &'static str,
    example: &'static str,
) -> Function {
    Function::new(name, Overloads::Fixed(signatures), description, example).fallible()
}

const fn one(f: Loop) -> Signature {
    Signature::new(&[Double], Double, f)
}

/// See the module documentation.
pub(super) static FUNCTIONS: &[Function] = &[
    of_degrees("sind", &[one(|a, n, o| angle(a, n, o, "sind", sind))], "sine of degrees", "sind(30) = 0.5"),
    of_degrees("cosd", &[one(|a, n, o| angle(a, n, o, "cosd", cosd))], "cosine of degrees", "cosd(60) = 0.5"),
    of_degrees(
        "tand",
        &[one(|a, n, o| angle(a, n, o, "tand", tand))],
        "tangent of degrees",
        "tand(45) = 1.0",
    ),
    of_degrees(
        "cotd",
        &[one(|a, n, o| angle(a, n, o, "cotd", |x| 1.0 / tand(x)))],
        "cotangent of degrees",
        "cotd(45) = 1.0",
    ),
    of_degrees(
        "asind",
        &[one(|a, n, o| ratio(a, n, o, "asind", asind))],
        "inverse sine in degrees",
        "asind(0.5) = 30.0",
    ),
    of_degrees(
        "acosd",
        &[one(|a, n, o| ratio(a, n, o, "acosd", acosd))],
        "inverse cosine in degrees",
        "acosd(0.5) = 60.0",
    ),
    of_degrees(
        "atand",
        &[one(|a, n, o| {
            inlay_kernels::apply::map(a[0], &Double, n, o, |x: f64| x.atan() / 1f64.atan() * 45.0)
        })],
        "inverse tangent in degrees",
        "atand(1) = 45.0",
    ),
    Function::new(
        "atan2d",
        Overloads::Fixed(&[Signature::new(&[Double, Double], Double, |args, len, out| {
            zip_simple(args, &Double, len, out, |y: f64, x: f64| y.atan2(x) / 1f64.atan() * 45.0)
        })]),
        "angle of a point (y, x) in degrees",
        "atan2d(1, 1) = 45.0",
    ),
];

fn angle(
    args: &[&Vector],
    len: usize,
    out: &mut Vector,
    name: &'static str,
    f: impl Fn(f64) -> f64,
) -> Result<()> {
    try_map(
        args[0],
        &Double,
        len,
        out,
        |x: f64| (f(x), x.is_infinite()),
        |x| Error::out_of_range(format!("{name}: {x} is no angle")),
    )
}

fn ratio(
    args: &[&Vector],
    len: usize,
    out: &mut Vector,
    name: &'static str,
    f: impl Fn(f64) -> f64,
) -> Result<()> {
    try_map(
        args[0],
        &Double,
        len,
        out,
        |x: f64| (f(x), x.abs() > 1.0),
        |x| Error::out_of_range(format!("{name}: {x} is not between -1 and 1")),
    )
}

fn radians(x: f64) -> f64 {
    x * (PI / 180.0)
}

/// Of 0 to 30 degrees.
fn small_sine(x: f64) -> f64 {
    radians(x).sin() / radians(30.0).sin() / 2.0
}

/// Of 0 to 60 degrees.
fn small_cosine(x: f64) -> f64 {
    1.0 - (1.0 - radians(x).cos()) / (1.0 - radians(60.0).cos()) / 2.0
}

/// Of 0 to 90 degrees.
fn quadrant_sine(x: f64) -> f64 {
    if x <= 30.0 { small_sine(x) } else { small_cosine(90.0 - x) }
}

fn sind(x: f64) -> f64 {
    let (x, sign) = if x < 0.0 { (-x, -1.0) } else { (x, 1.0) };
    let x = x % 360.0;
    let (x, sign) = if x > 180.0 { (360.0 - x, -sign) } else { (x, sign) };
    sign * quadrant_sine(if x > 90.0 { 180.0 - x } else { x })
}

fn cosd(x: f64) -> f64 {
    let x = x.abs() % 360.0;
    let x = if x > 180.0 { 360.0 - x } else { x };
    if x > 90.0 { -quadrant_sine(x - 90.0) } else { quadrant_sine(90.0 - x) }
}

fn tand(x: f64) -> f64 {
    sind(x) / cosd(x)
}

fn asind(x: f64) -> f64 {
    let size = x.abs();
    let angle = if size <= 0.5 {
        size.asin() / 0.5f64.asin() * 30.0
    } else {
        90.0 - size.acos() / 0.5f64.acos() * 60.0
    };
    angle.copysign(x)
}

fn acosd(x: f64) -> f64 {
    90.0 - asind(x)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_angles_are_exact() {
        for (x, sine) in [(0.0, 0.0), (30.0, 0.5), (90.0, 1.0), (150.0, 0.5), (210.0, -0.5), (-30.0, -0.5)] {
            assert_eq!((sind(x), cosd(90.0 - x)), (sine, sine), "{x}");
            assert_eq!(sind(x + 720.0), sine);
        }
        assert_eq!((tand(45.0), tand(135.0), acosd(-1.0), asind(-0.5)), (1.0, -1.0, 180.0, -30.0));
    }
}
