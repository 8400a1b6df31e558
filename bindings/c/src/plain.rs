//! Columns as plain arrays of C: one type each, a value that stands for NULL, and a test for it.
//!
//! The form of MonetDBLite: a typed pointer that a program loops over. Where the column's values lie like that, they are not copied;
//! [`forms`](crate::forms) makes the others.

use crate::calendar::{inlay_date, inlay_time, inlay_timestamp};
use crate::failure::{ErrorOut, guard, inlay_status};
use crate::forms::{self, Plain};
use crate::kinds::{
    INLAY_TYPE_BIGINT, INLAY_TYPE_BLOB, INLAY_TYPE_BOOLEAN, INLAY_TYPE_DATE, INLAY_TYPE_DOUBLE,
    INLAY_TYPE_INTEGER, INLAY_TYPE_REAL, INLAY_TYPE_SMALLINT, INLAY_TYPE_TIME, INLAY_TYPE_TIMESTAMP,
    INLAY_TYPE_TINYINT, INLAY_TYPE_VARCHAR, digits_of, id_of, inlay_bytes, inlay_type_id,
};
use crate::pointers::{Handle, Out, put};
use crate::result::{self, inlay_result};
use inlay::Result;
use std::ffi::c_char;
use std::ptr;
use std::sync::Arc;

/// A column of all rows in a form, which is made once; the number of its type; and what a DECIMAL is divided by.
fn column_of(
    result: Handle<'_, inlay_result>,
    column: usize,
    form: inlay_type_id,
) -> Result<(Arc<Plain>, inlay_type_id, f64)> {
    let result = result::of(result)?;
    result.check_column(column)?;
    let call = result.enter();
    let (rows, plains) = (result.whole()?, &result.shown().plains);
    let ty = &rows.types()[column];
    let (id, scale) = (id_of(ty), 10f64.powi(i32::from(digits_of(ty).1)));
    if let Some(known) = plains.lock().get(&(column, form)) {
        return Ok((Arc::clone(known), id, scale));
    }
    let made = Arc::new(forms::made(rows, column, form, &call.limits()?)?);
    // Who was faster has the one that stays.
    let kept = Arc::clone(plains.lock().entry((column, form)).or_insert(made));
    Ok((kept, id, scale))
}

/// Declares the struct and the function of each form: what it is, their names, the type of a value, the form's number, what stands for
/// NULL, and the test for it. `header.py` writes this out as the compiler does.
macro_rules! plain_columns {
    ($($what:literal: $function:ident gives $column:ident of $value:ty, $form:ident, $null:expr, $is_null:expr;)*) => {$(
        #[doc = concat!("A column ", $what, ".")]
        #[repr(C)]
        pub struct $column {
            /// What type the column has.
            pub type_id: inlay_type_id,
            /// The values.
            pub data: *const $value,
            /// How many there are.
            pub count: usize,
            /// What stands where a value is NULL.
            pub null_value: $value,
            /// Of a DECIMAL: the power of ten that its whole numbers are divided by; else 1.
            pub scale: f64,
            /// Whether a value is NULL; see validity where one may be equal to null_value.
            pub is_null: Option<extern "C" fn(value: $value) -> bool>,
            /// As in inlay_array.
            pub validity: *const u64,
        }

        #[doc = concat!("A column of all rows ", $what, ". It belongs to the result; the program only reads it. An error if a value does not fit.")]
        #[unsafe(no_mangle)]
        pub extern "C" fn $function(
            result: Handle<'_, inlay_result>,
            column: usize,
            values: Out<'_, $column>,
            error: ErrorOut<'_>,
        ) -> inlay_status {
            extern "C" fn is_null(value: $value) -> bool {
                let test: fn($value) -> bool = $is_null;
                test(value)
            }
            guard(error, || {
                let (plain, type_id, scale) = column_of(result, column, $form)?;
                let column = $column {
                    type_id,
                    data: plain.data(),
                    count: plain.count(),
                    null_value: $null,
                    scale,
                    is_null: Some(is_null),
                    validity: plain.validity(),
                };
                put(values, column, "values")
            })
        }
    )*};
}

plain_columns! {
    "as booleans, 0 or 1; NULL is -128":
        inlay_column_bool gives inlay_bool_column of i8, INLAY_TYPE_BOOLEAN, i8::MIN, |value| value == i8::MIN;
    "as int8_t; NULL is the least number":
        inlay_column_int8 gives inlay_int8_column of i8, INLAY_TYPE_TINYINT, i8::MIN, |value| value == i8::MIN;
    "as int16_t; NULL is the least number":
        inlay_column_int16 gives inlay_int16_column of i16, INLAY_TYPE_SMALLINT, i16::MIN, |value| value == i16::MIN;
    "as int32_t; NULL is the least number":
        inlay_column_int32 gives inlay_int32_column of i32, INLAY_TYPE_INTEGER, i32::MIN, |value| value == i32::MIN;
    "as int64_t; NULL is the least number":
        inlay_column_int64 gives inlay_int64_column of i64, INLAY_TYPE_BIGINT, i64::MIN, |value| value == i64::MIN;
    "as float; NULL is NaN":
        inlay_column_float gives inlay_float_column of f32, INLAY_TYPE_REAL, f32::NAN, |value| value.is_nan();
    "as double, of DECIMAL and 128 bits the nearest; NULL is NaN":
        inlay_column_double gives inlay_double_column of f64, INLAY_TYPE_DOUBLE, f64::NAN, |value| value.is_nan();
    "as texts that end with NUL, of any type as SQL shows it; NULL is NULL":
        inlay_column_text gives inlay_text_column of *const c_char, INLAY_TYPE_VARCHAR, ptr::null(), |value| value.is_null();
    "as bytes, of BLOB, VARCHAR and JSON; NULL is NULL":
        inlay_column_blob gives inlay_blob_column of inlay_bytes, INLAY_TYPE_BLOB, inlay_bytes::NULL, |value| value.data.is_null();
    "as days taken apart, of DATE and TIMESTAMP":
        inlay_column_date gives inlay_date_column of inlay_date, INLAY_TYPE_DATE, inlay_date::NULL, |value| value == inlay_date::NULL;
    "as times taken apart, of TIME and TIMESTAMP":
        inlay_column_time gives inlay_time_column of inlay_time, INLAY_TYPE_TIME, inlay_time::NULL, |value| value == inlay_time::NULL;
    "as moments taken apart, of TIMESTAMP of any precision and DATE; in UTC those with a zone":
        inlay_column_timestamp gives inlay_timestamp_column of inlay_timestamp, INLAY_TYPE_TIMESTAMP, inlay_timestamp::NULL,
            |value| value == inlay_timestamp::NULL;
}
