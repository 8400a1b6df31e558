//! Running a function of values over vectors: shapes, NULLs and failures in one place.
//!
//! A fallible operation returns its (wrapped) result and whether it is wrong. Loops never branch on that: they gather
//! the flags and only when one is set look for the row, skipping rows that are NULL. Arguments that are all constant
//! give a constant; dictionaries are flattened, except by [`predicate`], which asks once per distinct value.

use inlay_types::multiversion;
use inlay_types::{Bitmap, Error, LogicalType, Native, Result, Vector, VectorKind, View};
use std::borrow::Cow;

/// The vector itself, or its flat form if it is a dictionary.
#[inline]
pub fn undictionary(vector: &Vector) -> Cow<'_, Vector> {
    if vector.as_dictionary().is_some() { Cow::Owned(vector.flatten()) } else { Cow::Borrowed(vector) }
}

/// The and of the arguments' validities as `len` bits; absent when no row is NULL.
#[inline(never)]
pub fn joint_validity(args: &[&Vector], len: usize) -> Option<Bitmap> {
    let mut joint: Option<Bitmap> = None;
    for arg in args {
        let Some(validity) = arg.validity() else { continue };
        if arg.is_constant() {
            if !validity.get(0) {
                return Some(Bitmap::filled(len, false));
            }
            continue;
        }
        let own = if validity.len() == len { validity.clone() } else { validity.slice(0, len) };
        joint = Some(joint.map_or(own.clone(), |other| other.and(&own)));
    }
    joint
}

/// Makes `out` a constant of row 0 of `one`, a flat vector, `len` rows long.
pub fn make_constant(one: &Vector, len: usize, out: &mut Vector) -> Result<()> {
    *out = one.repeated(0, len);
    Ok(())
}

/// Whether some argument is NULL in all rows; then `out` becomes `len` NULLs of type `ty`.
#[inline(never)]
pub fn null_argument(args: &[&Vector], ty: &LogicalType, len: usize, out: &mut Vector) -> bool {
    let found = args.iter().any(|arg| arg.is_constant_null());
    if found {
        *out = Vector::nulls(ty.clone(), len);
    }
    found
}

/// `out = f(input)` without failures.
pub fn map<A: Native, O: Native>(
    input: &Vector,
    ty: &LogicalType,
    len: usize,
    out: &mut Vector,
    f: impl Fn(A) -> O + Copy,
) -> Result<()> {
    if null_argument(&[input], ty, len, out) {
        return Ok(());
    }
    let input = undictionary(input);
    let rows = if input.is_constant() { 1 } else { len };
    out.reset_flat(ty, rows);
    for (target, &value) in out.values_mut::<O>().iter_mut().zip(input.values::<A>()) {
        *target = f(value);
    }
    finish(&[&input], rows, len, out)
}

/// Like [`map`], compiled for the CPU's level; for operations that the CPU has instructions for.
pub fn map_wide<A: Native, O: Native>(
    input: &Vector,
    ty: &LogicalType,
    len: usize,
    out: &mut Vector,
    f: impl Fn(A) -> O + Copy,
) -> Result<()> {
    if null_argument(&[input], ty, len, out) {
        return Ok(());
    }
    let input = undictionary(input);
    let rows = if input.is_constant() { 1 } else { len };
    out.reset_flat(ty, rows);
    map_loop(input.values::<A>(), out.values_mut::<O>(), |a| (f(a), false));
    finish(&[&input], rows, len, out)
}

/// `out = f(input)`, where the flag says that the value is wrong; `error` explains.
pub fn try_map<A: Native, O: Native>(
    input: &Vector,
    ty: &LogicalType,
    len: usize,
    out: &mut Vector,
    f: impl Fn(A) -> (O, bool) + Copy,
    error: impl Fn(A) -> Error,
) -> Result<()> {
    if null_argument(&[input], ty, len, out) {
        return Ok(());
    }
    let input = undictionary(input);
    let rows = if input.is_constant() { 1 } else { len };
    out.reset_flat(ty, rows);
    let values = input.values::<A>();
    if map_plain(values, out.values_mut::<O>(), f) {
        for (row, &value) in values[..rows].iter().enumerate() {
            if f(value).1 && !input.is_null(row) {
                return Err(error(value));
            }
        }
    }
    finish(&[&input], rows, len, out)
}

/// `out = f(left, right)`, where the flag says that the value is wrong; `error` explains. Compiled for the CPU's level if
/// results have 32 or 64 bits; for operations that vectorise.
pub fn try_zip<A: Native, B: Native, O: Native>(
    args: &[&Vector],
    ty: &LogicalType,
    len: usize,
    out: &mut Vector,
    f: impl Fn(A, B) -> (O, bool) + Copy,
    error: impl Fn(A, B) -> Error,
) -> Result<()> {
    zip_with::<A, B, O, true>(args, ty, len, out, f, error)
}

/// Like [`try_zip`], for operations that do not vectorise.
pub fn try_zip_plain<A: Native, B: Native, O: Native>(
    args: &[&Vector],
    ty: &LogicalType,
    len: usize,
    out: &mut Vector,
    f: impl Fn(A, B) -> (O, bool) + Copy,
    error: impl Fn(A, B) -> Error,
) -> Result<()> {
    zip_with::<A, B, O, false>(args, ty, len, out, f, error)
}

/// Both arguments without dictionaries, and how many rows to compute; `out` has room for them. `None`: all rows are NULL.
#[inline(never)]
fn begin<'a>(
    args: &[&'a Vector],
    ty: &LogicalType,
    len: usize,
    out: &mut Vector,
) -> Option<(Cow<'a, Vector>, Cow<'a, Vector>, usize)> {
    if null_argument(args, ty, len, out) {
        return None;
    }
    let (left, right) = (undictionary(args[0]), undictionary(args[1]));
    let rows = if left.is_constant() && right.is_constant() { 1 } else { len };
    out.reset_flat(ty, rows);
    Some((left, right, rows))
}

fn zip_with<A: Native, B: Native, O: Native, const VECTORISES: bool>(
    args: &[&Vector],
    ty: &LogicalType,
    len: usize,
    out: &mut Vector,
    f: impl Fn(A, B) -> (O, bool) + Copy,
    error: impl Fn(A, B) -> Error,
) -> Result<()> {
    let Some((left, right, rows)) = begin(args, ty, len, out) else { return Ok(()) };
    let (l, r) = (left.values::<A>(), right.values::<B>());
    let target = out.values_mut::<O>();
    // A constant, so that only one set of loops is compiled for a type.
    let failed = if const { VECTORISES && (size_of::<O>() == 4 || size_of::<O>() == 8) } {
        match (left.is_constant(), right.is_constant()) {
            (true, true) | (false, false) => zip_loop(l, r, target, f),
            (false, true) => map_loop(l, target, |a| f(a, r[0])),
            (true, false) => map_loop(r, target, |b| f(l[0], b)),
        }
    } else {
        zip_steps(l, r, target, f)
    };
    if failed {
        let (l_step, r_step) = (usize::from(!left.is_constant()), usize::from(!right.is_constant()));
        for row in 0..rows {
            let (a, b) = (l[row * l_step], r[row * r_step]);
            if f(a, b).1 && !left.is_null(row) && !right.is_null(row) {
                return Err(error(a, b));
            }
        }
    }
    finish(&[&left, &right], rows, len, out)
}

/// One loop for all shapes, for what does not vectorise: a constant is read again and again.
#[inline(always)]
fn zip_steps<A: Native, B: Native, O: Native>(
    left: &[A],
    right: &[B],
    out: &mut [O],
    f: impl Fn(A, B) -> (O, bool),
) -> bool {
    let (l_step, r_step) = (usize::from(left.len() > 1), usize::from(right.len() > 1));
    let mut failed = false;
    for (row, target) in out.iter_mut().enumerate() {
        let (value, wrong) = f(left[row * l_step], right[row * r_step]);
        *target = value;
        failed |= wrong;
    }
    failed
}

/// `out = f(left, right)` without failures.
pub fn zip<A: Native, B: Native, O: Native>(
    args: &[&Vector],
    ty: &LogicalType,
    len: usize,
    out: &mut Vector,
    f: impl Fn(A, B) -> O + Copy,
) -> Result<()> {
    try_zip(
        args,
        ty,
        len,
        out,
        |a: A, b: B| (f(a, b), false),
        |_, _| Error::internal("an operation failed that cannot"),
    )
}

/// Like [`zip`], for operations that do not vectorise.
pub fn zip_simple<A: Native, B: Native, O: Native>(
    args: &[&Vector],
    ty: &LogicalType,
    len: usize,
    out: &mut Vector,
    f: impl Fn(A, B) -> O + Copy,
) -> Result<()> {
    try_zip_plain(
        args,
        ty,
        len,
        out,
        |a: A, b: B| (f(a, b), false),
        |_, _| Error::internal("an operation failed that cannot"),
    )
}

/// `out = f(row)` for any function of rows that are not NULL; other rows hold the default. Constant arguments give a
/// constant. For what is too dear for vectorising to matter.
pub fn per_row<O: Native>(
    args: &[&Vector],
    ty: &LogicalType,
    len: usize,
    out: &mut Vector,
    mut f: impl FnMut(usize) -> Result<O>,
) -> Result<()> {
    if null_argument(args, ty, len, out) {
        return Ok(());
    }
    let rows = if args.iter().all(|a| a.is_constant()) && !args.is_empty() { 1 } else { len };
    out.reset_flat(ty, rows);
    let validity = joint_validity(args, rows);
    for (row, target) in out.values_mut::<O>().iter_mut().enumerate() {
        *target = if validity.as_ref().is_none_or(|v| v.get(row)) { f(row)? } else { O::default() };
    }
    finish_with(validity, rows, len, out)
}

/// BOOLEAN `f(bytes)` of a VARCHAR or BLOB vector; once per distinct value of a dictionary not larger than the rows.
pub fn predicate(
    input: &Vector,
    len: usize,
    out: &mut Vector,
    mut f: impl FnMut(&[u8]) -> bool,
) -> Result<()> {
    if null_argument(&[input], &LogicalType::Boolean, len, out) {
        return Ok(());
    }
    let mut answer = |values: &Vector, target: &mut [u8]| {
        let (heap, views) = (values.heap().buffers(), values.views());
        for (row, (target, view)) in target.iter_mut().zip(views).enumerate() {
            View::prefetch_ahead(views, row, heap);
            *target = u8::from(f(view.bytes(heap)));
        }
    };
    let rows = if input.is_constant() { 1 } else { len };
    out.reset_flat(&LogicalType::Boolean, rows);
    match input.kind() {
        VectorKind::Dictionary(dictionary) if dictionary.values().len() <= len => {
            let mut table = crate::compare::ByteScratch::new(dictionary.values().len());
            let table = table.slice(dictionary.values().len());
            answer(dictionary.values(), table);
            for (target, &code) in out.values_mut::<u8>().iter_mut().zip(input.codes()) {
                *target = table[code as usize];
            }
        }
        VectorKind::Dictionary(_) => answer(&input.flatten(), out.values_mut::<u8>()),
        VectorKind::Flat | VectorKind::Constant => answer(input, out.values_mut::<u8>()),
    }
    finish(&[input], rows, len, out)
}

/// Sets the validity of `out`, which has `rows` rows, and makes it a constant if there are fewer than `len`.
#[inline(never)]
pub fn finish(args: &[&Vector], rows: usize, len: usize, out: &mut Vector) -> Result<()> {
    finish_with(joint_validity(args, rows), rows, len, out)
}

#[inline(never)]
fn finish_with(validity: Option<Bitmap>, rows: usize, len: usize, out: &mut Vector) -> Result<()> {
    out.set_validity(validity);
    if rows != len {
        let one = std::mem::replace(out, Vector::empty(LogicalType::Null));
        return make_constant(&one, len, out);
    }
    Ok(())
}

#[inline(always)]
fn map_plain<A: Native, O: Native, F: Fn(A) -> (O, bool)>(input: &[A], out: &mut [O], f: F) -> bool {
    let mut failed = false;
    for (out, &a) in out.iter_mut().zip(input) {
        let (value, wrong) = f(a);
        *out = value;
        failed |= wrong;
    }
    failed
}

multiversion! {
    fn map_loop[A: Native, O: Native, F: Fn(A) -> (O, bool)](input: &[A], out: &mut [O], f: F) -> bool {
        map_plain(input, out, f)
    }
}

multiversion! {
    fn zip_loop[A: Native, B: Native, O: Native, F: Fn(A, B) -> (O, bool)](
        left: &[A], right: &[B], out: &mut [O], f: F,
    ) -> bool {
        let mut failed = false;
        for ((out, &a), &b) in out.iter_mut().zip(left).zip(right) {
            let (value, wrong) = f(a, b);
            *out = value;
            failed |= wrong;
        }
        failed
    }
}
