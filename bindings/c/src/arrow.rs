//! Arrow's C data interface: streams out of results, and streams of the program's as tables.

use crate::array;
use crate::connection::{self, inlay_connection};
use crate::failure::{ErrorOut, guard, inlay_status};
use crate::kinds::inlay_array;
use crate::pointers::{Handle, Items, Out, StreamIn, Text, null, put_if, text_at};
use crate::result::{self, inlay_result};
use inlay::types::Vector;
use inlay::types::arrow::{ArrowArrayStream, StreamReader, StringLayout};
use inlay::{ARROW_ROWS, ArrowStreamTable, ArrowTable, ColumnSource};
use std::ffi::c_char;
use std::sync::Arc;

/// The rows of a result that were not read as a stream of Arrow's C interface; the result has none afterwards, unless its columns or
/// values were asked for before. The stream belongs to the program, which calls its release; it keeps what it needs, whatever is
/// closed. Batches are computed when they are asked for.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_result_arrow_stream(
    result: Handle<'_, inlay_result>,
    stream: Out<'_, ArrowArrayStream>,
    error: ErrorOut<'_>,
) -> inlay_status {
    guard(error, || {
        let stream = stream.ok_or_else(|| null("stream"))?;
        stream.write(ArrowArrayStream::released());
        let unread = result::of(result)?.take()?;
        stream.write(unread.into_arrow_stream(StringLayout::Utf8, ARROW_ROWS));
        Ok(())
    })
}

/// Makes the rows of an Arrow stream a table under a name, for all connections of the database; it is read as a whole, and released.
/// A name that this connection gave before means the new rows.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_register_arrow(
    connection: Handle<'_, inlay_connection>,
    name: Text<'_>,
    stream: StreamIn,
    error: ErrorOut<'_>,
) -> inlay_status {
    guard(error, || {
        let mut stream = StreamReader::new(stream.take()?)?;
        let (call, name) = (connection::enter(connection)?, name.get("name")?);
        let limits = call.limits()?;
        let records = stream.by_ref().map(|records| limits.interrupt.check().and(records));
        let records = records.collect::<inlay::Result<Vec<_>>>()?;
        call.connection().register(name, Arc::new(ArrowTable::new(name, stream.field(), records)?))
    })
}

/// Makes arrays a table under a name, for all connections of the database. They are copied.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_register_arrays(
    connection: Handle<'_, inlay_connection>,
    name: Text<'_>,
    column_names: Items<'_, *const c_char>,
    arrays: Items<'_, inlay_array>,
    array_count: usize,
    error: ErrorOut<'_>,
) -> inlay_status {
    guard(error, || {
        let (call, name) = (connection::enter(connection)?, name.get("name")?);
        let names = column_names.get(array_count, "column_names")?;
        let vectors = array::vectors(arrays.get(array_count, "arrays")?)?;
        let column = |(&text, vector): (&*const c_char, Vector)| {
            let text = text_at(text, "a name of a column")?.ok_or_else(|| null("a name of a column"))?;
            Ok((text.to_string(), vector))
        };
        let columns = names.iter().zip(vectors).map(column).collect::<inlay::Result<Vec<_>>>()?;
        call.connection().register(name, Arc::new(ColumnSource::new(name, columns)?))
    })
}

/// Forgets a table that was registered. found, which may be NULL, is set to whether there was one.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_unregister(
    connection: Handle<'_, inlay_connection>,
    name: Text<'_>,
    found: Out<'_, bool>,
    error: ErrorOut<'_>,
) -> inlay_status {
    guard(error, || {
        let was_there = connection::enter(connection)?.connection().unregister(name.get("name")?)?;
        put_if(found, was_there)
    })
}

/// Puts the rows of an Arrow stream into a table, all of them or none; the stream is read and released. by_name says whether its columns
/// are found by their names, or are those of the table in order. schema and appended may be NULL.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_append_arrow(
    connection: Handle<'_, inlay_connection>,
    schema: Text<'_>,
    table: Text<'_>,
    stream: StreamIn,
    by_name: bool,
    appended: Out<'_, u64>,
    error: ErrorOut<'_>,
) -> inlay_status {
    guard(error, || {
        let rows = Arc::new(ArrowStreamTable::new("the Arrow stream", StreamReader::new(stream.take()?)?)?);
        let call = connection::enter(connection)?;
        let name: Vec<&str> = schema.optional("schema")?.into_iter().chain([table.get("table")?]).collect();
        let count = call.connection().append(name, rows, by_name, call.host())?;
        put_if(appended, count)
    })
}
