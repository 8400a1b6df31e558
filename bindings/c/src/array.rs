//! Arrays of the program's as vectors of ours: checked, and copied.

use crate::kinds::{
    INLAY_LAYOUT_DEFAULT, INLAY_LAYOUT_STRINGS, inlay_array, inlay_bytes, layout_of, type_of,
};
use crate::pointers::{bytes_at, items_at, text_at};
use inlay::types::datetime::{DATE_INFINITY, MICROS_PER_DAY, TIMESTAMP_INFINITY, is_timestamp};
use inlay::types::{Bitmap, Buffer, Heap, LogicalType, PhysicalType, Vector, VectorBuilder};
use inlay::{Error, Result, cast};
use std::ffi::c_char;

/// Columns of one length.
pub fn vectors(arrays: &[inlay_array]) -> Result<Vec<Vector>> {
    let count = arrays.first().map_or(0, |array| array.count);
    let vector = |(index, array): (usize, &inlay_array)| {
        if array.count != count {
            let message = format!("array {index} has {} values, the first array {count}", array.count);
            return Err(Error::invalid_argument(message));
        }
        vector_of(array).map_err(|error| Error::invalid_argument(format!("array {index}: {error}")))
    };
    arrays.iter().enumerate().map(vector).collect()
}

/// The values of an array.
pub fn vector_of(array: &inlay_array) -> Result<Vector> {
    let ty = type_of(array)?;
    let layout = array.layout;
    let is_text = matches!(ty, LogicalType::Varchar | LogicalType::Json);
    let fits = [INLAY_LAYOUT_DEFAULT, layout_of(&ty)].contains(&layout);
    if !(fits || is_text && layout == INLAY_LAYOUT_STRINGS) {
        return Err(Error::invalid_argument(format!("values of {ty} have no layout {layout}")));
    }
    let validity = validity_of(array)?;
    if ty == LogicalType::Null {
        return Ok(Vector::nulls(LogicalType::Integer, array.count).flatten());
    }
    match ty {
        LogicalType::Varchar if layout == INLAY_LAYOUT_STRINGS => strings(array, validity.as_ref()),
        LogicalType::Json if layout == INLAY_LAYOUT_STRINGS => json(&strings(array, validity.as_ref())?),
        LogicalType::Json => json(&texts(array, LogicalType::Varchar, validity.as_ref())?),
        LogicalType::Varchar | LogicalType::Blob => texts(array, ty, validity.as_ref()),
        ty => fixed(array, ty, validity),
    }
}

fn validity_of(array: &inlay_array) -> Result<Option<Bitmap>> {
    if array.validity.is_null() || array.count == 0 {
        return Ok(None);
    }
    let words: &[u64] = items_at(array.validity.cast(), array.count.div_ceil(64), "validity")?;
    Ok(Some(Bitmap::from_words(words.to_vec(), array.count)))
}

fn is_null(validity: Option<&Bitmap>, row: usize) -> bool {
    validity.is_some_and(|validity| !validity.get(row))
}

fn strings(array: &inlay_array, validity: Option<&Bitmap>) -> Result<Vector> {
    let pointers: &[*const c_char] = items_at(array.data, array.count, "data")?;
    let mut builder = VectorBuilder::new(LogicalType::Varchar, array.count);
    for (row, &pointer) in pointers.iter().enumerate() {
        match text_at(pointer, "a text").map_err(|error| in_row(row, &error))? {
            Some(text) if !is_null(validity, row) => builder.push_bytes(text.as_bytes()),
            _ => builder.push_null(),
        }
    }
    Ok(builder.finish())
}

fn texts(array: &inlay_array, ty: LogicalType, validity: Option<&Bitmap>) -> Result<Vector> {
    let places: &[inlay_bytes] = items_at(array.data, array.count, "data")?;
    let is_text = ty == LogicalType::Varchar;
    let mut builder = VectorBuilder::new(ty, array.count);
    for (row, place) in places.iter().enumerate() {
        if is_null(validity, row) {
            builder.push_null();
            continue;
        }
        let bytes =
            bytes_at(place.data.cast(), place.size, "a value").map_err(|error| in_row(row, &error))?;
        if is_text && std::str::from_utf8(bytes).is_err() {
            return Err(in_row(row, &Error::invalid_argument("a text is not valid UTF-8")));
        }
        builder.push_bytes(bytes);
    }
    Ok(builder.finish())
}

fn json(texts: &Vector) -> Result<Vector> {
    let mut checked = Vector::empty(LogicalType::Json);
    cast(texts, &LogicalType::Json, false, &mut checked)?;
    Ok(checked.flatten())
}

fn in_row(row: usize, error: &Error) -> Error {
    Error::invalid_argument(format!("row {row}: {error}"))
}

/// Values of fixed width, each of which is one of its type.
fn fixed(array: &inlay_array, ty: LogicalType, validity: Option<Bitmap>) -> Result<Vector> {
    let width = ty.physical().size();
    let size = array.count.checked_mul(width);
    let size = size.ok_or_else(|| Error::invalid_argument(format!("{} values are too many", array.count)))?;
    let bytes = bytes_at(array.data, size, "data")?;
    if ty.physical() == PhysicalType::Bool {
        let booleans: Vec<u8> = bytes.iter().map(|&byte| u8::from(byte != 0)).collect();
        return Ok(normalized(Vector::flat(
            ty,
            array.count,
            Buffer::copy_of(&booleans),
            validity,
            Heap::default(),
        )));
    }
    let vector = Vector::flat(ty, array.count, Buffer::copy_of(bytes), validity, Heap::default());
    check(&vector)?;
    Ok(normalized(vector))
}

fn normalized(mut vector: Vector) -> Vector {
    vector.normalize_nulls();
    vector
}

/// Fails if a number is none of its type's.
fn check(vector: &Vector) -> Result<()> {
    let is_fit: Box<dyn Fn(i128) -> bool> = match vector.ty() {
        LogicalType::Decimal { precision, .. } => {
            let end = 10u128.pow(u32::from(*precision));
            Box::new(move |number| number.unsigned_abs() < end)
        }
        LogicalType::Date => Box::new(|days| days >= -i128::from(DATE_INFINITY)),
        LogicalType::Time => Box::new(|micros| (0..=i128::from(MICROS_PER_DAY)).contains(&micros)),
        LogicalType::Timestamp | LogicalType::TimestampTz => Box::new(|at| {
            i64::try_from(at)
                .is_ok_and(|at| is_timestamp(at) || at == TIMESTAMP_INFINITY || at == -TIMESTAMP_INFINITY)
        }),
        LogicalType::TimestampS | LogicalType::TimestampMs | LogicalType::TimestampNs => {
            Box::new(|at| at >= -i128::from(TIMESTAMP_INFINITY))
        }
        _ => return Ok(()),
    };
    let wrong = (0..vector.len()).find(|&row| !vector.is_null(row) && !is_fit(vector.stored_i128(row)));
    let Some(row) = wrong else { return Ok(()) };
    let message = format!("the number {} is no {}", vector.stored_i128(row), vector.ty());
    Err(in_row(row, &Error::out_of_range(message)))
}
