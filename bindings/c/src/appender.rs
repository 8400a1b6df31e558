//! Rows into a table: value by value, or as arrays of columns.

use crate::array;
use crate::bind::decimal_of;
use crate::calendar::{inlay_date, inlay_time, inlay_timestamp};
use crate::connection::{self, Session, inlay_connection};
use crate::failure::{ErrorOut, guard, inlay_status, plain};
use crate::kinds::{INLAY_TYPE_NULL, id_of, inlay_array, inlay_decimal, inlay_interval, inlay_type_id};
use crate::pointers::{Freed, Handle, Items, Made, Out, Text, free, given, here, make, null, owned, put};
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
        let session = connection::of(connection)?;
        let columns = array::vectors(arrays.get(array_count, "arrays")?)?;
        let named = columns.into_iter().enumerate().map(|(index, column)| (format!("column{index}"), column));
        let source = ColumnSource::new("appended arrays", named.collect::<Vec<(String, Vector)>>())?;
        let host = session.host();
        let count =
            session.connection.append(name(&schema, &table)?, Arc::new(source), false, host.as_ref())?;
        match appended {
            None => Ok(()),
            place => put(place, count, "appended"),
        }
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
            let appender = session.connection.appender(name(&schema, &table)?, None)?;
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

/// Adds NULL as the next value of a row.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_append_null(
    appender: Handle<'_, inlay_appender>,
    error: ErrorOut<'_>,
) -> inlay_status {
    push(appender, error, || Ok(Value::Null))
}

/// Adds the next value of a row. Values of all these functions are converted to the type of the column.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_append_bool(
    appender: Handle<'_, inlay_appender>,
    value: bool,
    error: ErrorOut<'_>,
) -> inlay_status {
    push(appender, error, || Ok(value.into()))
}

/// Adds a whole number as the next value of a row.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_append_int32(
    appender: Handle<'_, inlay_appender>,
    value: i32,
    error: ErrorOut<'_>,
) -> inlay_status {
    push(appender, error, || Ok(value.into()))
}

/// Adds a whole number as the next value of a row.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_append_int64(
    appender: Handle<'_, inlay_appender>,
    value: i64,
    error: ErrorOut<'_>,
) -> inlay_status {
    push(appender, error, || Ok(value.into()))
}

/// Adds a whole number as the next value of a row.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_append_uint64(
    appender: Handle<'_, inlay_appender>,
    value: u64,
    error: ErrorOut<'_>,
) -> inlay_status {
    push(appender, error, || Ok(value.into()))
}

/// Adds a number as the next value of a row.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_append_double(
    appender: Handle<'_, inlay_appender>,
    value: f64,
    error: ErrorOut<'_>,
) -> inlay_status {
    push(appender, error, || Ok(value.into()))
}

/// Adds a decimal as the next value of a row.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_append_decimal(
    appender: Handle<'_, inlay_appender>,
    value: inlay_decimal,
    error: ErrorOut<'_>,
) -> inlay_status {
    push(appender, error, || decimal_of(value))
}

/// Adds a text of so many bytes, which are copied, as the next value of a row.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_append_text(
    appender: Handle<'_, inlay_appender>,
    text: Items<'_, c_char>,
    size: usize,
    error: ErrorOut<'_>,
) -> inlay_status {
    push(appender, error, || Ok(text.text(size, "the text")?.into()))
}

/// Adds so many bytes, which are copied, as the next value of a row.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_append_blob(
    appender: Handle<'_, inlay_appender>,
    data: Items<'_, c_char>,
    size: usize,
    error: ErrorOut<'_>,
) -> inlay_status {
    push(appender, error, || Ok(data.bytes(size, "data")?.into()))
}

/// Adds a day as the next value of a row.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_append_date(
    appender: Handle<'_, inlay_appender>,
    value: inlay_date,
    error: ErrorOut<'_>,
) -> inlay_status {
    push(appender, error, || value.value())
}

/// Adds a time as the next value of a row.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_append_time(
    appender: Handle<'_, inlay_appender>,
    value: inlay_time,
    error: ErrorOut<'_>,
) -> inlay_status {
    push(appender, error, || value.value())
}

/// Adds a moment as the next value of a row.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_append_timestamp(
    appender: Handle<'_, inlay_appender>,
    value: inlay_timestamp,
    error: ErrorOut<'_>,
) -> inlay_status {
    push(appender, error, || value.value())
}

/// Adds an interval as the next value of a row.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_append_interval(
    appender: Handle<'_, inlay_appender>,
    value: inlay_interval,
    error: ErrorOut<'_>,
) -> inlay_status {
    push(appender, error, || Ok(Value::Interval(value.into())))
}

/// Ends a row. After an error the row is not there.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_appender_end_row(
    appender: Handle<'_, inlay_appender>,
    error: ErrorOut<'_>,
) -> inlay_status {
    guard(error, || {
        let appender = given(appender, "appender")?;
        let host = appender.session.host();
        appender.with(|appender| appender.end_row(host.as_ref()))
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
        let columns = array::vectors(arrays.get(array_count, "arrays")?)?;
        let host = appender.session.host();
        appender.with(|appender| appender.push_columns(&columns, host.as_ref()))
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
        let host = appender.session.host();
        appender.with(|appender| appender.flush(host.as_ref()))
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
        let count = outcome.ok_or_else(message)?.close(session.host().as_ref())?;
        match appended {
            None => Ok(()),
            appended => put(appended, count, "appended"),
        }
    })
}

/// Frees an appender; what was not flushed is forgotten.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_appender_free(appender: Freed<'_, inlay_appender>) {
    free(appender);
}
