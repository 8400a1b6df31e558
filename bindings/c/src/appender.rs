//! Rows into a table: value by value, or as arrays of columns.

use crate::array;
use crate::bind::decimal_of;
use crate::calendar::{inlay_date, inlay_time, inlay_timestamp};
use crate::connection::{self, Session, inlay_connection};
use crate::failure::{ErrorOut, guard, inlay_status, plain};
use crate::kinds::{INLAY_TYPE_NULL, id_of, inlay_array, inlay_decimal, inlay_interval, inlay_type_id};
use crate::pointers::{Freed, Handle, Items, Made, Out, Text, free, given, here, make, null, owned, put_if};
use inlay::types::Vector;
use inlay::{Appender, ColumnSource, Error, Result, Value};
use parking_lot::Mutex;
use std::ffi::c_char;
use std::sync::Arc;

/// Collects rows for a table. They are in it when the appender is flushed or closed, or by themselves when there are many.
pub struct inlay_appender {
    process: u32,
    session: Arc<Session>,
    appender: Mutex<Option<Appender>>,
}

owned!(inlay_appender);

impl inlay_appender {
    fn with<T>(&self, work: impl FnOnce(&mut Appender) -> Result<T>) -> Result<T> {
        let mut appender = self.appender.lock();
        work(
            appender
                .as_mut()
                .ok_or_else(|| Error::Closed { message: "the appender is closed".to_string() })?,
        )
    }
}

/// The parts of a table's name.
fn name<'a>(schema: &Text<'a>, table: &Text<'a>) -> Result<Vec<&'a str>> {
    Ok(schema.optional("schema")?.into_iter().chain([table.get("table")?]).collect())
}

/// Puts arrays into a table, all of their rows or none, one for each of its columns in order: no text of SQL is made, none is read.
/// schema may be NULL. Values are converted to the types of the columns. appended, which may be NULL, is set to how many rows there were.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_append(
    connection: Handle<'_, inlay_connection>,
    schema: Text<'_>,
    table: Text<'_>,
    arrays: Items<'_, inlay_array>,
    array_count: usize,
    appended: Out<'_, u64>,
    error: ErrorOut<'_>,
) -> inlay_status {
    guard(error, || {
        let call = connection::enter(connection)?;
        let columns = array::vectors(arrays.get(array_count, "arrays")?)?;
        let named = columns.into_iter().enumerate().map(|(index, column)| (format!("column{index}"), column));
        let source = ColumnSource::new("appended arrays", named.collect::<Vec<(String, Vector)>>())?;
        let table = name(&schema, &table)?;
        let count = call.connection().append(table, Arc::new(source), false, call.host())?;
        put_if(appended, count)
    })
}

/// An appender for a table; schema may be NULL. To be ended by inlay_appender_close, or given up by inlay_appender_free.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_appender_new(
    connection: Handle<'_, inlay_connection>,
    schema: Text<'_>,
    table: Text<'_>,
    appender: Out<'_, Made<inlay_appender>>,
    error: ErrorOut<'_>,
) -> inlay_status {
    guard(error, || {
        make(appender, "appender", || {
            let session = Arc::clone(connection::of(connection)?);
            let appender = session.enter().connection().appender(name(&schema, &table)?, None)?;
            Ok(inlay_appender { process: here(), session, appender: Mutex::new(Some(appender)) })
        })
    })
}

/// How many columns a row has.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_appender_column_count(appender: Handle<'_, inlay_appender>) -> usize {
    plain(0, || appender?.with(|appender| Ok(appender.types().len())).ok())
}

/// The type of a column, from 0; INLAY_TYPE_NULL if there is none.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_appender_column_type(
    appender: Handle<'_, inlay_appender>,
    column: usize,
) -> inlay_type_id {
    plain(INLAY_TYPE_NULL, || appender?.with(|appender| Ok(appender.types().get(column).map(id_of))).ok()?)
}

/// Adds the next value of a row.
fn push(
    appender: Handle<'_, inlay_appender>,
    error: ErrorOut<'_>,
    value: impl FnOnce() -> Result<Value>,
) -> inlay_status {
    guard(error, || {
        let (appender, value) = (given(appender, "appender")?, value()?);
        appender.with(|appender| appender.push(value))
    })
}

/// Declares a function for each type of a value: its name, what it is given of the value, and the value. `header.py` writes this out as the
/// compiler does.
macro_rules! append_functions {
    ($($(#[$doc:meta])* $function:ident($($argument:ident: $type:ty),*) $value:expr;)*) => {$(
        $(#[$doc])*
        #[unsafe(no_mangle)]
        pub extern "C" fn $function(
            appender: Handle<'_, inlay_appender>,
            $($argument: $type,)*
            error: ErrorOut<'_>,
        ) -> inlay_status {
            push(appender, error, || $value)
        }
    )*};
}

append_functions! {
    /// Adds NULL as the next value of a row.
    inlay_append_null() Ok(Value::Null);
    /// Adds the next value of a row. Values of all these functions are converted to the type of the column.
    inlay_append_bool(value: bool) Ok(value.into());
    /// Adds a whole number as the next value of a row.
    inlay_append_int32(value: i32) Ok(value.into());
    /// Adds a whole number as the next value of a row.
    inlay_append_int64(value: i64) Ok(value.into());
    /// Adds a whole number as the next value of a row.
    inlay_append_uint64(value: u64) Ok(value.into());
    /// Adds a number as the next value of a row.
    inlay_append_double(value: f64) Ok(value.into());
    /// Adds a decimal as the next value of a row.
    inlay_append_decimal(value: inlay_decimal) decimal_of(value);
    /// Adds a text of so many bytes, which are copied, as the next value of a row.
    inlay_append_text(text: Items<'_, c_char>, size: usize) Ok(text.text(size, "the text")?.into());
    /// Adds so many bytes, which are copied, as the next value of a row.
    inlay_append_blob(data: Items<'_, c_char>, size: usize) Ok(data.bytes(size, "data")?.into());
    /// Adds a day as the next value of a row.
    inlay_append_date(value: inlay_date) value.value();
    /// Adds a time as the next value of a row.
    inlay_append_time(value: inlay_time) value.value();
    /// Adds a moment as the next value of a row.
    inlay_append_timestamp(value: inlay_timestamp) value.value();
    /// Adds an interval as the next value of a row.
    inlay_append_interval(value: inlay_interval) Ok(Value::Interval(value.into()));
}

/// Ends a row. After an error the row is not there.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_appender_end_row(
    appender: Handle<'_, inlay_appender>,
    error: ErrorOut<'_>,
) -> inlay_status {
    guard(error, || {
        let appender = given(appender, "appender")?;
        let call = appender.session.enter();
        appender.with(|appender| appender.end_row(call.host()))
    })
}

/// Adds the rows of arrays, one for each column.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_appender_columns(
    appender: Handle<'_, inlay_appender>,
    arrays: Items<'_, inlay_array>,
    array_count: usize,
    error: ErrorOut<'_>,
) -> inlay_status {
    guard(error, || {
        let appender = given(appender, "appender")?;
        let call = appender.session.enter();
        let columns = array::vectors(arrays.get(array_count, "arrays")?)?;
        appender.with(|appender| appender.push_columns(&columns, call.host()))
    })
}

/// Puts what is collected into the table: all of it, or nothing, and then it is not collected any more.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_appender_flush(
    appender: Handle<'_, inlay_appender>,
    error: ErrorOut<'_>,
) -> inlay_status {
    guard(error, || {
        let appender = given(appender, "appender")?;
        let call = appender.session.enter();
        appender.with(|appender| appender.flush(call.host()))
    })
}

/// Flushes the appender and frees it, whatever came of that. appended, which may be NULL, is set to the rows that went into the table.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_appender_close(
    appender: Freed<'_, inlay_appender>,
    appended: Out<'_, u64>,
    error: ErrorOut<'_>,
) -> inlay_status {
    guard(error, || {
        let place = appender.ok_or_else(|| null("appender"))?;
        let closing = place.as_ref().ok_or_else(|| null("appender"))?;
        let (session, own) = (Arc::clone(&closing.session), closing.process == here());
        let outcome = if own { closing.appender.lock().take() } else { None };
        free(Some(place));
        let message = || Error::Closed { message: "the appender is closed".to_string() };
        let count = outcome.ok_or_else(message)?.close(session.enter().host())?;
        put_if(appended, count)
    })
}

/// Frees an appender; what was not flushed is forgotten.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_appender_free(appender: Freed<'_, inlay_appender>) {
    free(appender);
}
