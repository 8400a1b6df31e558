//! Lists of plain objects as vectors: each value goes straight to where it is to lie.
//!
//! Plain are `int`, `float`, `bool`, `str` and `bytes` themselves where the type is theirs and they fit, and None. With
//! anything else among them a list is for [`super::results`], which knows all types and tells what is wrong.

use inlay::types::{LogicalType, Native, Vector, VectorBuilder};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyFloat, PyInt, PyList, PyString};

/// Integers up to here are floats without a loss.
const EXACT_MAX: i64 = 1 << 53;

/// The items as values of `ty`; `None` where one of them is not plain.
pub fn vector(items: &Bound<'_, PyList>, ty: &LogicalType) -> Option<Vector> {
    use LogicalType as T;
    match ty {
        T::Boolean => {
            filled(items, ty, |item| item.cast_exact::<PyBool>().ok().map(|truth| u8::from(truth.is_true())))
        }
        T::TinyInt => filled(items, ty, |item| i8::try_from(integer(item)?).ok()),
        T::SmallInt => filled(items, ty, |item| i16::try_from(integer(item)?).ok()),
        T::Integer => filled(items, ty, |item| i32::try_from(integer(item)?).ok()),
        T::BigInt => filled(items, ty, integer),
        T::UTinyInt => filled(items, ty, |item| u8::try_from(integer(item)?).ok()),
        T::USmallInt => filled(items, ty, |item| u16::try_from(integer(item)?).ok()),
        T::UInteger => filled(items, ty, |item| u32::try_from(integer(item)?).ok()),
        T::Double => filled(items, ty, float),
        T::Varchar => built(items, ty, |item, builder| {
            let text = item.cast_exact::<PyString>().ok()?;
            builder.push_bytes(text.to_cow().ok()?.as_bytes());
            Some(())
        }),
        T::Blob => built(items, ty, |item, builder| {
            builder.push_bytes(item.cast_exact::<PyBytes>().ok()?.as_bytes());
            Some(())
        }),
        _ => None,
    }
}

fn filled<T: Native>(
    items: &Bound<'_, PyList>,
    ty: &LogicalType,
    value: impl Fn(&Bound<'_, PyAny>) -> Option<T>,
) -> Option<Vector> {
    built(items, ty, |item, builder| {
        builder.push_native(value(item)?);
        Some(())
    })
}

fn built(
    items: &Bound<'_, PyList>,
    ty: &LogicalType,
    push: impl Fn(&Bound<'_, PyAny>, &mut VectorBuilder) -> Option<()>,
) -> Option<Vector> {
    let mut builder = VectorBuilder::new(ty.clone(), items.len());
    for item in items.iter() {
        if item.is_none() {
            builder.push_null();
        } else {
            push(&item, &mut builder)?;
        }
    }
    Some(builder.finish())
}

fn integer(item: &Bound<'_, PyAny>) -> Option<i64> {
    item.cast_exact::<PyInt>().ok()?.extract().ok()
}

fn float(item: &Bound<'_, PyAny>) -> Option<f64> {
    match item.cast_exact::<PyFloat>() {
        Ok(number) => Some(number.value()),
        Err(_) => integer(item).filter(|number| number.abs() <= EXACT_MAX).map(|number| number as f64),
    }
}
