//! Columns as plain arrays of C: one type each, a value that stands for NULL, and a test for it.
//!
//! The form of MonetDBLite: a typed pointer that a program loops over. Where the column's values lie like that, they are not copied.

use crate::calendar::{inlay_date, inlay_time, inlay_timestamp};
use crate::column::{Pointers, chunk_of, of_chunk, validity_of};
use crate::failure::{ErrorOut, guard, inlay_status};
use crate::kinds::{
    INLAY_TYPE_BIGINT, INLAY_TYPE_BLOB, INLAY_TYPE_BOOLEAN, INLAY_TYPE_DATE, INLAY_TYPE_DOUBLE,
    INLAY_TYPE_INTEGER, INLAY_TYPE_REAL, INLAY_TYPE_SMALLINT, INLAY_TYPE_TIME, INLAY_TYPE_TIMESTAMP,
    INLAY_TYPE_TINYINT, INLAY_TYPE_VARCHAR, digits_of, id_of, inlay_bytes, inlay_type_id,
};
use crate::pointers::{Handle, Out, put};
use crate::result::{self, inlay_result};
use inlay::types::{LogicalType, Native, Vector};
use inlay::{Error, HostForm, QueryResult, Result, Value, cast};
use std::any::Any;
use std::ffi::c_char;
use std::ptr;
use std::sync::Arc;

/// A column in such a form, and what keeps its memory.
pub struct Plain {
    /// The address of the first value.
    data: usize,
    count: usize,
    validity: Option<Vec<u64>>,
    _owner: Box<dyn Any + Send + Sync>,
}

impl Plain {
    fn new<T: Send + Sync + 'static>(
        data: *const T,
        count: usize,
        validity: Option<Vec<u64>>,
        owner: impl Any + Send + Sync,
    ) -> Self {
        Self { data: data as usize, count, validity, _owner: Box::new(owner) }
    }

    fn of_vec<T: Send + Sync + 'static>(values: Vec<T>, validity: Option<Vec<u64>>) -> Self {
        Self::new(values.as_ptr(), values.len(), validity, values)
    }

    fn validity(&self) -> *const u64 {
        self.validity.as_ref().map_or(ptr::null(), Vec::as_ptr)
    }
}

/// A column of all rows in a form, made once.
fn plain_column(
    result: Handle<'_, inlay_result>,
    column: usize,
    form: inlay_type_id,
) -> Result<(Arc<Plain>, inlay_type_id, f64)> {
    let result = result::of(result)?;
    result.check_column(column)?;
    let whole = result.whole()?;
    let ty = &whole.rows.types()[column];
    let (id, scale) = (id_of(ty), 10f64.powi(i32::from(digits_of(ty).1)));
    if let Some(known) = whole.plains.lock().get(&(column, form)) {
        return Ok((Arc::clone(known), id, scale));
    }
    let made = Arc::new(made(&whole.rows, column, form)?);
    // Who was faster has the one that stays.
    let kept = Arc::clone(whole.plains.lock().entry((column, form)).or_insert(made));
    Ok((kept, id, scale))
}

fn made(rows: &QueryResult, column: usize, form: inlay_type_id) -> Result<Plain> {
    let ty = &rows.types()[column];
    let validity = validity_of(rows, column)?;
    match form {
        INLAY_TYPE_BOOLEAN => {
            let values = converted(rows, column, &LogicalType::Boolean)?;
            let bytes = values.values::<u8>();
            let value = |row: usize| if values.is_null(row) { i8::MIN } else { i8::from(bytes[row] != 0) };
            Ok(Plain::of_vec((0..values.len()).map(value).collect(), validity))
        }
        INLAY_TYPE_TINYINT => numbers::<i8>(rows, column, &LogicalType::TinyInt, validity),
        INLAY_TYPE_SMALLINT => numbers::<i16>(rows, column, &LogicalType::SmallInt, validity),
        INLAY_TYPE_INTEGER => numbers::<i32>(rows, column, &LogicalType::Integer, validity),
        INLAY_TYPE_BIGINT => numbers::<i64>(rows, column, &LogicalType::BigInt, validity),
        INLAY_TYPE_REAL => numbers::<f32>(rows, column, &LogicalType::Real, validity),
        INLAY_TYPE_DOUBLE if HostForm::Float64.fits(ty) => {
            let data = rows.host_column(column, HostForm::Float64)?;
            Ok(Plain::new(data.as_ptr(), rows.row_count(), validity, data))
        }
        INLAY_TYPE_DOUBLE => numbers::<f64>(rows, column, &LogicalType::Double, validity),
        INLAY_TYPE_VARCHAR => texts(rows, column, validity),
        INLAY_TYPE_BLOB => blobs(rows, column, validity),
        INLAY_TYPE_DATE | INLAY_TYPE_TIME | INLAY_TYPE_TIMESTAMP => moments(rows, column, form, validity),
        other => Err(Error::internal(format!("there is no plain form {other}"))),
    }
}

/// The column as one of another type, as one vector.
fn converted(rows: &QueryResult, column: usize, ty: &LogicalType) -> Result<Vector> {
    let values = rows.column(column)?;
    if values.ty() == ty {
        return Ok(values);
    }
    let mut converted = Vector::empty(ty.clone());
    cast(&values, ty, false, &mut converted)?;
    let mut converted = converted.flatten();
    converted.normalize_nulls();
    Ok(converted)
}

fn numbers<T: Native>(
    rows: &QueryResult,
    column: usize,
    ty: &LogicalType,
    validity: Option<Vec<u64>>,
) -> Result<Plain> {
    if rows.types()[column] == *ty {
        let data = rows.host_column(column, HostForm::Stored)?;
        return Ok(Plain::new(data.as_ptr(), rows.row_count(), validity, data));
    }
    let values = converted(rows, column, ty)?;
    Ok(Plain::new(values.values::<T>().as_ptr().cast::<u8>(), values.len(), validity, values))
}

/// Texts that end with NUL, one behind the other, and where each begins.
fn texts(rows: &QueryResult, column: usize, validity: Option<Vec<u64>>) -> Result<Plain> {
    let texts = converted(rows, column, &LogicalType::Varchar)?;
    let (views, heap) = (texts.views(), texts.heap().buffers());
    let mut bytes: Vec<u8> = Vec::with_capacity(texts.text_size() + texts.len());
    let mut starts: Vec<Option<usize>> = Vec::with_capacity(texts.len());
    for (row, view) in views.iter().enumerate().take(texts.len()) {
        if texts.is_null(row) {
            starts.push(None);
            continue;
        }
        starts.push(Some(bytes.len()));
        bytes.extend_from_slice(view.bytes(heap));
        bytes.push(0);
    }
    let place =
        |start: &Option<usize>| start.map_or(ptr::null(), |start| bytes[start..].as_ptr().cast::<c_char>());
    let places = Pointers(starts.iter().map(place).collect());
    Ok(Plain::new(places.0.as_ptr().cast::<u8>(), places.0.len(), validity, (bytes, places)))
}

fn blobs(rows: &QueryResult, column: usize, validity: Option<Vec<u64>>) -> Result<Plain> {
    let ty = &rows.types()[column];
    if !matches!(ty, LogicalType::Blob | LogicalType::Varchar | LogicalType::Json) {
        return Err(Error::type_mismatch(format!("a column of {ty} is no column of bytes")));
    }
    let prepared = of_chunk(&chunk_of(rows, column)?, 0)?;
    Ok(Plain::new(prepared.array.data.cast::<u8>(), prepared.array.count, validity, prepared))
}

fn moments(
    rows: &QueryResult,
    column: usize,
    form: inlay_type_id,
    validity: Option<Vec<u64>>,
) -> Result<Plain> {
    let ty = &rows.types()[column];
    let (is_date, is_moment) = (*ty == LogicalType::Date, ty.is_timestamp());
    let is_time = matches!(ty, LogicalType::Time | LogicalType::TimeTz);
    let fits = match form {
        INLAY_TYPE_TIME => is_time || is_moment,
        _ => is_date || is_moment,
    };
    if !fits {
        return Err(Error::type_mismatch(format!("a column of {ty} has no such days or times")));
    }
    let values = rows.column(column)?;
    let values = (0..values.len()).map(|row| values.get(row));
    Ok(match form {
        INLAY_TYPE_DATE => {
            let date = |value: Value| match value {
                Value::Null => inlay_date::NULL,
                value => inlay_timestamp::of_value(&value).date,
            };
            Plain::of_vec(values.map(date).collect(), validity)
        }
        INLAY_TYPE_TIME => {
            let time = |value: Value| value.clock().map_or(inlay_time::NULL, Into::into);
            Plain::of_vec(values.map(time).collect::<Vec<inlay_time>>(), validity)
        }
        _ => {
            let moment = |value: Value| match value {
                Value::Null => inlay_timestamp::NULL,
                value => inlay_timestamp::of_value(&value),
            };
            Plain::of_vec(values.map(moment).collect(), validity)
        }
    })
}

/// A column as booleans, 0 or 1; NULL is -128.
#[repr(C)]
pub struct inlay_bool_column {
    /// What type the column has.
    pub type_id: inlay_type_id,
    /// The values.
    pub data: *const i8,
    /// How many there are.
    pub count: usize,
    /// What stands where a value is NULL.
    pub null_value: i8,
    /// Of a DECIMAL: the power of ten that its whole numbers are divided by; else 1.
    pub scale: f64,
    /// Whether a value is NULL; see validity where one may be equal to null_value.
    pub is_null: Option<extern "C" fn(value: i8) -> bool>,
    /// As in inlay_array.
    pub validity: *const u64,
}

extern "C" fn is_null_bool(value: i8) -> bool {
    value == i8::MIN
}

/// A column of all rows as booleans, 0 or 1; NULL is -128. It belongs to the result; the program only reads it. An error if a value does not fit.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_column_bool(
    result: Handle<'_, inlay_result>,
    column: usize,
    values: Out<'_, inlay_bool_column>,
    error: ErrorOut<'_>,
) -> inlay_status {
    guard(error, || {
        let (plain, type_id, scale) = plain_column(result, column, INLAY_TYPE_BOOLEAN)?;
        let column = inlay_bool_column {
            type_id,
            data: plain.data as *const i8,
            count: plain.count,
            null_value: i8::MIN,
            scale,
            is_null: Some(is_null_bool),
            validity: plain.validity(),
        };
        put(values, column, "values")
    })
}

/// A column as int8_t; NULL is the least number.
#[repr(C)]
pub struct inlay_int8_column {
    /// What type the column has.
    pub type_id: inlay_type_id,
    /// The values.
    pub data: *const i8,
    /// How many there are.
    pub count: usize,
    /// What stands where a value is NULL.
    pub null_value: i8,
    /// Of a DECIMAL: the power of ten that its whole numbers are divided by; else 1.
    pub scale: f64,
    /// Whether a value is NULL; see validity where one may be equal to null_value.
    pub is_null: Option<extern "C" fn(value: i8) -> bool>,
    /// As in inlay_array.
    pub validity: *const u64,
}

extern "C" fn is_null_int8(value: i8) -> bool {
    value == i8::MIN
}

/// A column of all rows as int8_t; NULL is the least number. It belongs to the result; the program only reads it. An error if a value does not fit.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_column_int8(
    result: Handle<'_, inlay_result>,
    column: usize,
    values: Out<'_, inlay_int8_column>,
    error: ErrorOut<'_>,
) -> inlay_status {
    guard(error, || {
        let (plain, type_id, scale) = plain_column(result, column, INLAY_TYPE_TINYINT)?;
        let column = inlay_int8_column {
            type_id,
            data: plain.data as *const i8,
            count: plain.count,
            null_value: i8::MIN,
            scale,
            is_null: Some(is_null_int8),
            validity: plain.validity(),
        };
        put(values, column, "values")
    })
}

/// A column as int16_t; NULL is the least number.
#[repr(C)]
pub struct inlay_int16_column {
    /// What type the column has.
    pub type_id: inlay_type_id,
    /// The values.
    pub data: *const i16,
    /// How many there are.
    pub count: usize,
    /// What stands where a value is NULL.
    pub null_value: i16,
    /// Of a DECIMAL: the power of ten that its whole numbers are divided by; else 1.
    pub scale: f64,
    /// Whether a value is NULL; see validity where one may be equal to null_value.
    pub is_null: Option<extern "C" fn(value: i16) -> bool>,
    /// As in inlay_array.
    pub validity: *const u64,
}

extern "C" fn is_null_int16(value: i16) -> bool {
    value == i16::MIN
}

/// A column of all rows as int16_t; NULL is the least number. It belongs to the result; the program only reads it. An error if a value does not fit.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_column_int16(
    result: Handle<'_, inlay_result>,
    column: usize,
    values: Out<'_, inlay_int16_column>,
    error: ErrorOut<'_>,
) -> inlay_status {
    guard(error, || {
        let (plain, type_id, scale) = plain_column(result, column, INLAY_TYPE_SMALLINT)?;
        let column = inlay_int16_column {
            type_id,
            data: plain.data as *const i16,
            count: plain.count,
            null_value: i16::MIN,
            scale,
            is_null: Some(is_null_int16),
            validity: plain.validity(),
        };
        put(values, column, "values")
    })
}

/// A column as int32_t; NULL is the least number.
#[repr(C)]
pub struct inlay_int32_column {
    /// What type the column has.
    pub type_id: inlay_type_id,
    /// The values.
    pub data: *const i32,
    /// How many there are.
    pub count: usize,
    /// What stands where a value is NULL.
    pub null_value: i32,
    /// Of a DECIMAL: the power of ten that its whole numbers are divided by; else 1.
    pub scale: f64,
    /// Whether a value is NULL; see validity where one may be equal to null_value.
    pub is_null: Option<extern "C" fn(value: i32) -> bool>,
    /// As in inlay_array.
    pub validity: *const u64,
}

extern "C" fn is_null_int32(value: i32) -> bool {
    value == i32::MIN
}

/// A column of all rows as int32_t; NULL is the least number. It belongs to the result; the program only reads it. An error if a value does not fit.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_column_int32(
    result: Handle<'_, inlay_result>,
    column: usize,
    values: Out<'_, inlay_int32_column>,
    error: ErrorOut<'_>,
) -> inlay_status {
    guard(error, || {
        let (plain, type_id, scale) = plain_column(result, column, INLAY_TYPE_INTEGER)?;
        let column = inlay_int32_column {
            type_id,
            data: plain.data as *const i32,
            count: plain.count,
            null_value: i32::MIN,
            scale,
            is_null: Some(is_null_int32),
            validity: plain.validity(),
        };
        put(values, column, "values")
    })
}

/// A column as int64_t; NULL is the least number.
#[repr(C)]
pub struct inlay_int64_column {
    /// What type the column has.
    pub type_id: inlay_type_id,
    /// The values.
    pub data: *const i64,
    /// How many there are.
    pub count: usize,
    /// What stands where a value is NULL.
    pub null_value: i64,
    /// Of a DECIMAL: the power of ten that its whole numbers are divided by; else 1.
    pub scale: f64,
    /// Whether a value is NULL; see validity where one may be equal to null_value.
    pub is_null: Option<extern "C" fn(value: i64) -> bool>,
    /// As in inlay_array.
    pub validity: *const u64,
}

extern "C" fn is_null_int64(value: i64) -> bool {
    value == i64::MIN
}

/// A column of all rows as int64_t; NULL is the least number. It belongs to the result; the program only reads it. An error if a value does not fit.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_column_int64(
    result: Handle<'_, inlay_result>,
    column: usize,
    values: Out<'_, inlay_int64_column>,
    error: ErrorOut<'_>,
) -> inlay_status {
    guard(error, || {
        let (plain, type_id, scale) = plain_column(result, column, INLAY_TYPE_BIGINT)?;
        let column = inlay_int64_column {
            type_id,
            data: plain.data as *const i64,
            count: plain.count,
            null_value: i64::MIN,
            scale,
            is_null: Some(is_null_int64),
            validity: plain.validity(),
        };
        put(values, column, "values")
    })
}

/// A column as float; NULL is NaN.
#[repr(C)]
pub struct inlay_float_column {
    /// What type the column has.
    pub type_id: inlay_type_id,
    /// The values.
    pub data: *const f32,
    /// How many there are.
    pub count: usize,
    /// What stands where a value is NULL.
    pub null_value: f32,
    /// Of a DECIMAL: the power of ten that its whole numbers are divided by; else 1.
    pub scale: f64,
    /// Whether a value is NULL; see validity where one may be equal to null_value.
    pub is_null: Option<extern "C" fn(value: f32) -> bool>,
    /// As in inlay_array.
    pub validity: *const u64,
}

extern "C" fn is_null_float(value: f32) -> bool {
    value.is_nan()
}

/// A column of all rows as float; NULL is NaN. It belongs to the result; the program only reads it. An error if a value does not fit.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_column_float(
    result: Handle<'_, inlay_result>,
    column: usize,
    values: Out<'_, inlay_float_column>,
    error: ErrorOut<'_>,
) -> inlay_status {
    guard(error, || {
        let (plain, type_id, scale) = plain_column(result, column, INLAY_TYPE_REAL)?;
        let column = inlay_float_column {
            type_id,
            data: plain.data as *const f32,
            count: plain.count,
            null_value: f32::NAN,
            scale,
            is_null: Some(is_null_float),
            validity: plain.validity(),
        };
        put(values, column, "values")
    })
}

/// A column as double, of DECIMAL and 128 bits the nearest; NULL is NaN.
#[repr(C)]
pub struct inlay_double_column {
    /// What type the column has.
    pub type_id: inlay_type_id,
    /// The values.
    pub data: *const f64,
    /// How many there are.
    pub count: usize,
    /// What stands where a value is NULL.
    pub null_value: f64,
    /// Of a DECIMAL: the power of ten that its whole numbers are divided by; else 1.
    pub scale: f64,
    /// Whether a value is NULL; see validity where one may be equal to null_value.
    pub is_null: Option<extern "C" fn(value: f64) -> bool>,
    /// As in inlay_array.
    pub validity: *const u64,
}

extern "C" fn is_null_double(value: f64) -> bool {
    value.is_nan()
}

/// A column of all rows as double, of DECIMAL and 128 bits the nearest; NULL is NaN. It belongs to the result; the program only reads it. An error if a value does not fit.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_column_double(
    result: Handle<'_, inlay_result>,
    column: usize,
    values: Out<'_, inlay_double_column>,
    error: ErrorOut<'_>,
) -> inlay_status {
    guard(error, || {
        let (plain, type_id, scale) = plain_column(result, column, INLAY_TYPE_DOUBLE)?;
        let column = inlay_double_column {
            type_id,
            data: plain.data as *const f64,
            count: plain.count,
            null_value: f64::NAN,
            scale,
            is_null: Some(is_null_double),
            validity: plain.validity(),
        };
        put(values, column, "values")
    })
}

/// A column as texts that end with NUL, of any type as SQL shows it; NULL is NULL.
#[repr(C)]
pub struct inlay_text_column {
    /// What type the column has.
    pub type_id: inlay_type_id,
    /// The values.
    pub data: *const *const c_char,
    /// How many there are.
    pub count: usize,
    /// What stands where a value is NULL.
    pub null_value: *const c_char,
    /// Of a DECIMAL: the power of ten that its whole numbers are divided by; else 1.
    pub scale: f64,
    /// Whether a value is NULL; see validity where one may be equal to null_value.
    pub is_null: Option<extern "C" fn(value: *const c_char) -> bool>,
    /// As in inlay_array.
    pub validity: *const u64,
}

extern "C" fn is_null_text(value: *const c_char) -> bool {
    value.is_null()
}

/// A column of all rows as texts that end with NUL, of any type as SQL shows it; NULL is NULL. It belongs to the result; the program only reads it. An error if a value does not fit.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_column_text(
    result: Handle<'_, inlay_result>,
    column: usize,
    values: Out<'_, inlay_text_column>,
    error: ErrorOut<'_>,
) -> inlay_status {
    guard(error, || {
        let (plain, type_id, scale) = plain_column(result, column, INLAY_TYPE_VARCHAR)?;
        let column = inlay_text_column {
            type_id,
            data: plain.data as *const *const c_char,
            count: plain.count,
            null_value: ptr::null(),
            scale,
            is_null: Some(is_null_text),
            validity: plain.validity(),
        };
        put(values, column, "values")
    })
}

/// A column as bytes, of BLOB, VARCHAR and JSON; NULL is NULL.
#[repr(C)]
pub struct inlay_blob_column {
    /// What type the column has.
    pub type_id: inlay_type_id,
    /// The values.
    pub data: *const inlay_bytes,
    /// How many there are.
    pub count: usize,
    /// What stands where a value is NULL.
    pub null_value: inlay_bytes,
    /// Of a DECIMAL: the power of ten that its whole numbers are divided by; else 1.
    pub scale: f64,
    /// Whether a value is NULL; see validity where one may be equal to null_value.
    pub is_null: Option<extern "C" fn(value: inlay_bytes) -> bool>,
    /// As in inlay_array.
    pub validity: *const u64,
}

extern "C" fn is_null_blob(value: inlay_bytes) -> bool {
    value.data.is_null()
}

/// A column of all rows as bytes, of BLOB, VARCHAR and JSON; NULL is NULL. It belongs to the result; the program only reads it. An error if a value does not fit.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_column_blob(
    result: Handle<'_, inlay_result>,
    column: usize,
    values: Out<'_, inlay_blob_column>,
    error: ErrorOut<'_>,
) -> inlay_status {
    guard(error, || {
        let (plain, type_id, scale) = plain_column(result, column, INLAY_TYPE_BLOB)?;
        let column = inlay_blob_column {
            type_id,
            data: plain.data as *const inlay_bytes,
            count: plain.count,
            null_value: inlay_bytes { data: ptr::null(), size: 0 },
            scale,
            is_null: Some(is_null_blob),
            validity: plain.validity(),
        };
        put(values, column, "values")
    })
}

/// A column as days taken apart, of DATE and TIMESTAMP.
#[repr(C)]
pub struct inlay_date_column {
    /// What type the column has.
    pub type_id: inlay_type_id,
    /// The values.
    pub data: *const inlay_date,
    /// How many there are.
    pub count: usize,
    /// What stands where a value is NULL.
    pub null_value: inlay_date,
    /// Of a DECIMAL: the power of ten that its whole numbers are divided by; else 1.
    pub scale: f64,
    /// Whether a value is NULL; see validity where one may be equal to null_value.
    pub is_null: Option<extern "C" fn(value: inlay_date) -> bool>,
    /// As in inlay_array.
    pub validity: *const u64,
}

extern "C" fn is_null_date(value: inlay_date) -> bool {
    value == inlay_date::NULL
}

/// A column of all rows as days taken apart, of DATE and TIMESTAMP. It belongs to the result; the program only reads it. An error if a value does not fit.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_column_date(
    result: Handle<'_, inlay_result>,
    column: usize,
    values: Out<'_, inlay_date_column>,
    error: ErrorOut<'_>,
) -> inlay_status {
    guard(error, || {
        let (plain, type_id, scale) = plain_column(result, column, INLAY_TYPE_DATE)?;
        let column = inlay_date_column {
            type_id,
            data: plain.data as *const inlay_date,
            count: plain.count,
            null_value: inlay_date::NULL,
            scale,
            is_null: Some(is_null_date),
            validity: plain.validity(),
        };
        put(values, column, "values")
    })
}

/// A column as times taken apart, of TIME and TIMESTAMP.
#[repr(C)]
pub struct inlay_time_column {
    /// What type the column has.
    pub type_id: inlay_type_id,
    /// The values.
    pub data: *const inlay_time,
    /// How many there are.
    pub count: usize,
    /// What stands where a value is NULL.
    pub null_value: inlay_time,
    /// Of a DECIMAL: the power of ten that its whole numbers are divided by; else 1.
    pub scale: f64,
    /// Whether a value is NULL; see validity where one may be equal to null_value.
    pub is_null: Option<extern "C" fn(value: inlay_time) -> bool>,
    /// As in inlay_array.
    pub validity: *const u64,
}

extern "C" fn is_null_time(value: inlay_time) -> bool {
    value == inlay_time::NULL
}

/// A column of all rows as times taken apart, of TIME and TIMESTAMP. It belongs to the result; the program only reads it. An error if a value does not fit.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_column_time(
    result: Handle<'_, inlay_result>,
    column: usize,
    values: Out<'_, inlay_time_column>,
    error: ErrorOut<'_>,
) -> inlay_status {
    guard(error, || {
        let (plain, type_id, scale) = plain_column(result, column, INLAY_TYPE_TIME)?;
        let column = inlay_time_column {
            type_id,
            data: plain.data as *const inlay_time,
            count: plain.count,
            null_value: inlay_time::NULL,
            scale,
            is_null: Some(is_null_time),
            validity: plain.validity(),
        };
        put(values, column, "values")
    })
}

/// A column as moments taken apart, of TIMESTAMP of any precision and DATE; in UTC those with a zone.
#[repr(C)]
pub struct inlay_timestamp_column {
    /// What type the column has.
    pub type_id: inlay_type_id,
    /// The values.
    pub data: *const inlay_timestamp,
    /// How many there are.
    pub count: usize,
    /// What stands where a value is NULL.
    pub null_value: inlay_timestamp,
    /// Of a DECIMAL: the power of ten that its whole numbers are divided by; else 1.
    pub scale: f64,
    /// Whether a value is NULL; see validity where one may be equal to null_value.
    pub is_null: Option<extern "C" fn(value: inlay_timestamp) -> bool>,
    /// As in inlay_array.
    pub validity: *const u64,
}

extern "C" fn is_null_timestamp(value: inlay_timestamp) -> bool {
    value == inlay_timestamp::NULL
}

/// A column of all rows as moments taken apart, of TIMESTAMP of any precision and DATE; in UTC those with a zone. It belongs to the result; the program only reads it. An error if a value does not fit.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_column_timestamp(
    result: Handle<'_, inlay_result>,
    column: usize,
    values: Out<'_, inlay_timestamp_column>,
    error: ErrorOut<'_>,
) -> inlay_status {
    guard(error, || {
        let (plain, type_id, scale) = plain_column(result, column, INLAY_TYPE_TIMESTAMP)?;
        let column = inlay_timestamp_column {
            type_id,
            data: plain.data as *const inlay_timestamp,
            count: plain.count,
            null_value: inlay_timestamp::NULL,
            scale,
            is_null: Some(is_null_timestamp),
            validity: plain.validity(),
        };
        put(values, column, "values")
    })
}
