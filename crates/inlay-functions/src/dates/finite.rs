//! Infinite dates and timestamps: the loops that give NULL for them, and the functions that ask for them.

use crate::registry::{Function, Overloads, Signature};
use inlay_kernels::apply::{map, undictionary};
use inlay_types::LogicalType::{Boolean, Date, Timestamp, TimestampTz};
use inlay_types::datetime::{any_infinite_date, any_infinite_timestamp, is_finite_date, is_finite_timestamp};
use inlay_types::{Bitmap, LogicalType, Native, PhysicalType, Result, Vector};

/// See the module documentation.
pub(crate) static FUNCTIONS: &[Function] = &[
    Function::new(
        "isfinite",
        Overloads::Fixed(&[
            Signature::new(&[Date], Boolean, |args, len, out| {
                map(args[0], &Boolean, len, out, |days: i32| u8::from(is_finite_date(days)))
            }),
            Signature::new(&[Timestamp], Boolean, is_finite_moment),
            Signature::new(&[TimestampTz], Boolean, is_finite_moment),
            Signature::new(&[LogicalType::Real], Boolean, |args, len, out| {
                map(args[0], &Boolean, len, out, |x: f32| u8::from(x.is_finite()))
            }),
            Signature::new(&[LogicalType::Double], Boolean, |args, len, out| {
                map(args[0], &Boolean, len, out, |x: f64| u8::from(x.is_finite()))
            }),
        ]),
        "whether a number, date or timestamp is neither infinite nor NaN",
        "isfinite(DATE 'infinity') = false",
    ),
    Function::new(
        "isinf",
        Overloads::Fixed(&[
            Signature::new(&[Date], Boolean, |args, len, out| {
                map(args[0], &Boolean, len, out, |days: i32| u8::from(!is_finite_date(days)))
            }),
            Signature::new(&[Timestamp], Boolean, is_infinite_moment),
            Signature::new(&[TimestampTz], Boolean, is_infinite_moment),
            Signature::new(&[LogicalType::Real], Boolean, |args, len, out| {
                map(args[0], &Boolean, len, out, |x: f32| u8::from(x.is_infinite()))
            }),
            Signature::new(&[LogicalType::Double], Boolean, |args, len, out| {
                map(args[0], &Boolean, len, out, |x: f64| u8::from(x.is_infinite()))
            }),
        ]),
        "whether a number, date or timestamp is infinite",
        "isinf(DATE '-infinity')",
    ),
];

fn is_finite_moment(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    map(args[0], &Boolean, len, out, |at: i64| u8::from(is_finite_timestamp(at)))
}

fn is_infinite_moment(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    map(args[0], &Boolean, len, out, |at: i64| u8::from(!is_finite_timestamp(at)))
}

/// `out = f(input)` of a DATE or TIMESTAMP vector; NULL where it is infinite.
pub(super) fn map_finite<A: Native, O: Native>(
    input: &Vector,
    ty: &LogicalType,
    len: usize,
    out: &mut Vector,
    f: impl Fn(A) -> O + Copy,
) -> Result<()> {
    let input = undictionary(input);
    map(&input, ty, len, out, f)?;
    hide_infinite(&[&input], len, out);
    Ok(())
}

/// Rows of `out` become NULL where one of `args` is an infinite date or timestamp. `out` may be a constant only if all
/// arguments are.
pub(super) fn hide_infinite(args: &[&Vector], len: usize, out: &mut Vector) {
    for arg in args {
        let ty = arg.logical_type();
        let is_temporal = ty == Date || ty.is_timestamp();
        if !is_temporal || arg.is_constant_null() {
            continue;
        }
        let arg = undictionary(arg);
        let rows = if arg.is_constant() { 1 } else { len };
        let infinite = |row: usize| match arg.physical_type() {
            PhysicalType::I32 => !is_finite_date(arg.values::<i32>()[row]),
            _ => !is_finite_timestamp(arg.values::<i64>()[row]),
        };
        if !any_infinite(&arg, rows) {
            continue;
        }
        if arg.is_constant() || out.is_constant() {
            *out = Vector::nulls(out.logical_type(), len);
            return;
        }
        let mut validity = out.validity().cloned().unwrap_or_else(|| Bitmap::filled(len, true));
        for row in (0..rows).filter(|row| infinite(*row)) {
            validity.set(row, false);
        }
        out.set_validity(Some(validity));
    }
}

fn any_infinite(arg: &Vector, rows: usize) -> bool {
    match arg.physical_type() {
        PhysicalType::I32 => any_infinite_date(&arg.values::<i32>()[..rows]),
        _ => any_infinite_timestamp(&arg.values::<i64>()[..rows]),
    }
}
