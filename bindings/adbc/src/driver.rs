//! The functions that a driver manager calls.
//!
//! What all of them may rely on, as `adbc.h` promises: a handle is NULL or initialised memory that no other call uses
//! except Cancel, texts are NULL or end in NUL, outputs are NULL or memory for their struct, and all live during the call.

use crate::bound::Bound;
use crate::connection::ConnectionHandle;
use crate::database::DatabaseHandle;
use crate::failure::{Failure, Outcome, guard};
use crate::ffi::{
    AdbcDriver, AdbcError, AdbcStatusCode, DRIVER_1_0_0_SIZE, Handle, VERSION_1_0_0, VERSION_1_1_0,
};
use crate::metadata::{self, Depth, Wanted};
use crate::statement::StatementHandle;
use inlay::types::arrow::{ArrowArray, ArrowArrayStream, ArrowSchema, Exporter, StreamReader, StringLayout};
use inlay::{Error, QueryResult};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;

/// Fills the table of functions of a driver manager, for `AdbcDriverInitFunc`.
///
/// # Safety
/// `driver` is NULL or memory for the `AdbcDriver` of that version, `error` NULL or an initialised error.
pub unsafe fn init(version: c_int, driver: *mut c_void, error: *mut AdbcError) -> AdbcStatusCode {
    guard(error, || {
        let size = match version {
            VERSION_1_0_0 => DRIVER_1_0_0_SIZE,
            VERSION_1_1_0 => size_of::<AdbcDriver>(),
            _ => return Err(Error::unsupported(format!("version {version} of ADBC")).into()),
        };
        if driver.is_null() {
            return Err(null("driver"));
        }
        let table = table();
        // SAFETY: not NULL, and memory for as much of the table as this version has, as the caller promises.
        unsafe { ptr::copy_nonoverlapping((&raw const table).cast::<u8>(), driver.cast(), size) };
        Ok(())
    })
}

fn table() -> AdbcDriver {
    AdbcDriver {
        private_data: ptr::null_mut(),
        private_manager: ptr::null_mut(),
        release: Some(release_driver),
        database_init: Some(database_init),
        database_new: Some(database_new),
        database_set_option: Some(database_set_option),
        database_release: Some(database_release),
        connection_commit: Some(connection_commit),
        connection_get_info: Some(connection_get_info),
        connection_get_objects: Some(connection_get_objects),
        connection_get_table_schema: Some(connection_get_table_schema),
        connection_get_table_types: Some(connection_get_table_types),
        connection_init: Some(connection_init),
        connection_new: Some(connection_new),
        connection_set_option: Some(connection_set_option),
        connection_read_partition: None,
        connection_release: Some(connection_release),
        connection_rollback: Some(connection_rollback),
        statement_bind: Some(statement_bind),
        statement_bind_stream: Some(statement_bind_stream),
        statement_execute_query: Some(statement_execute_query),
        statement_execute_partitions: None,
        statement_get_parameter_schema: None,
        statement_new: Some(statement_new),
        statement_prepare: Some(statement_prepare),
        statement_release: Some(statement_release),
        statement_set_option: Some(statement_set_option),
        statement_set_sql_query: Some(statement_set_sql_query),
        statement_set_substrait_plan: None,
        error_get_detail_count: None,
        error_get_detail: None,
        error_from_array_stream: None,
        database_get_option: Some(database_get_option),
        database_get_option_bytes: None,
        database_get_option_double: None,
        database_get_option_int: None,
        database_set_option_bytes: None,
        database_set_option_double: None,
        database_set_option_int: None,
        connection_cancel: Some(connection_cancel),
        connection_get_option: Some(connection_get_option),
        connection_get_option_bytes: None,
        connection_get_option_double: None,
        connection_get_option_int: None,
        connection_get_statistics: None,
        connection_get_statistic_names: None,
        connection_set_option_bytes: None,
        connection_set_option_double: None,
        connection_set_option_int: None,
        statement_cancel: Some(statement_cancel),
        statement_execute_schema: Some(statement_execute_schema),
        statement_get_option: Some(statement_get_option),
        statement_get_option_bytes: None,
        statement_get_option_double: None,
        statement_get_option_int: None,
        statement_set_option_bytes: None,
        statement_set_option_double: None,
        statement_set_option_int: None,
    }
}

unsafe extern "C" fn release_driver(_driver: *mut AdbcDriver, error: *mut AdbcError) -> AdbcStatusCode {
    // The table holds nothing of ours.
    guard(error, || Ok(()))
}

// What the arguments are.

fn null(what: &str) -> Failure {
    Failure::argument(format!("{what} is a NULL pointer"))
}

/// What a handle points to.
///
/// # Safety
/// `handle` is as the module says, and was given to a function of the same kind of handle only.
unsafe fn inside<'a, T>(handle: *mut Handle) -> Outcome<&'a T> {
    // SAFETY: NULL or initialised, as the caller promises.
    let handle = unsafe { handle.as_ref() }.ok_or_else(|| null("the handle"))?;
    // SAFETY: NULL, or a box that `put` made of a `T` and `take_out` has not freed.
    let inside = unsafe { handle.private_data.cast::<T>().as_ref() };
    inside.ok_or_else(|| Failure::state("the handle is not initialised, or was released"))
}

/// Lets a handle point to `value`.
///
/// # Safety
/// `handle` is as the module says.
unsafe fn put<T>(handle: *mut Handle, value: T) -> Outcome<()> {
    // SAFETY: NULL or initialised, as the caller promises.
    let handle = unsafe { handle.as_mut() }.ok_or_else(|| null("the handle"))?;
    if !handle.private_data.is_null() {
        return Err(Failure::state("the handle is in use already"));
    }
    handle.private_data = Box::into_raw(Box::new(value)).cast();
    Ok(())
}

/// What a handle pointed to; it points nowhere afterwards.
///
/// # Safety
/// As for [`inside`].
unsafe fn take_out<T>(handle: *mut Handle) -> Outcome<Box<T>> {
    // SAFETY: as the caller promises.
    unsafe { inside::<T>(handle) }?;
    // SAFETY: not NULL, or `inside` had failed.
    let data = std::mem::replace(unsafe { &mut (*handle).private_data }, ptr::null_mut());
    // SAFETY: a box that `put` made; the handle has let go of it.
    Ok(unsafe { Box::from_raw(data.cast::<T>()) })
}

/// A text; `None` when it is NULL.
///
/// # Safety
/// `text` is as the module says.
unsafe fn text<'a>(what: &str, text: *const c_char) -> Outcome<Option<&'a str>> {
    if text.is_null() {
        return Ok(None);
    }
    // SAFETY: not NULL, and ends in NUL, as the caller promises.
    let bytes = unsafe { CStr::from_ptr(text) };
    bytes.to_str().map(Some).map_err(|_| Failure::argument(format!("{what} is not UTF-8")))
}

/// A text that must not be NULL.
///
/// # Safety
/// As for [`text`].
unsafe fn given<'a>(what: &str, pointer: *const c_char) -> Outcome<&'a str> {
    // SAFETY: as the caller promises.
    unsafe { text(what, pointer) }?.ok_or_else(|| null(what))
}

/// Writes an output.
///
/// # Safety
/// `out` is NULL or memory for a `T`, whose old contents nobody owns.
unsafe fn give<T>(out: *mut T, value: T) -> Outcome<()> {
    if out.is_null() {
        return Err(null("the output"));
    }
    // SAFETY: not NULL, and memory for a `T`, as the caller promises.
    unsafe { ptr::write(out, value) };
    Ok(())
}

/// Writes the value of an option with its NUL, if it fits, and its size.
///
/// # Safety
/// `value` is NULL or memory for `*length` bytes, `length` NULL or initialised.
unsafe fn give_option(option: &str, value: *mut c_char, length: *mut usize) -> Outcome<()> {
    // SAFETY: NULL or initialised, as the caller promises.
    let length = unsafe { length.as_mut() }.ok_or_else(|| null("the length"))?;
    let size = option.len() + 1;
    if *length >= size && !value.is_null() {
        // SAFETY: memory for that many bytes, as the caller promises.
        unsafe {
            ptr::copy_nonoverlapping(option.as_ptr(), value.cast(), option.len());
            *value.add(option.len()) = 0;
        }
    }
    *length = size;
    Ok(())
}

fn stream_of(result: QueryResult) -> ArrowArrayStream {
    let exporter = Exporter::new(result.names(), result.types()).with_strings(StringLayout::Utf8);
    let rows = 0..result.row_count();
    let array = result.arrow_array(&exporter, rows);
    exporter.stream_arrays(std::iter::once(array))
}

// Databases.

unsafe extern "C" fn database_new(database: *mut Handle, error: *mut AdbcError) -> AdbcStatusCode {
    // SAFETY: the arguments are as the module says.
    guard(error, || unsafe { put(database, DatabaseHandle::default()) })
}

unsafe extern "C" fn database_set_option(
    database: *mut Handle,
    name: *const c_char,
    value: *const c_char,
    error: *mut AdbcError,
) -> AdbcStatusCode {
    // SAFETY: the arguments are as the module says.
    guard(error, || unsafe {
        inside::<DatabaseHandle>(database)?.set_option(given("the option", name)?, text("the value", value)?)
    })
}

unsafe extern "C" fn database_get_option(
    database: *mut Handle,
    name: *const c_char,
    value: *mut c_char,
    length: *mut usize,
    error: *mut AdbcError,
) -> AdbcStatusCode {
    // SAFETY: the arguments are as the module says.
    guard(error, || unsafe {
        let option = inside::<DatabaseHandle>(database)?.option(given("the option", name)?)?;
        give_option(&option, value, length)
    })
}

unsafe extern "C" fn database_init(database: *mut Handle, error: *mut AdbcError) -> AdbcStatusCode {
    // SAFETY: the arguments are as the module says.
    guard(error, || unsafe { inside::<DatabaseHandle>(database) }?.open())
}

unsafe extern "C" fn database_release(database: *mut Handle, error: *mut AdbcError) -> AdbcStatusCode {
    // SAFETY: the arguments are as the module says.
    guard(error, || unsafe { take_out::<DatabaseHandle>(database) }.map(drop))
}

// Connections.

unsafe extern "C" fn connection_new(connection: *mut Handle, error: *mut AdbcError) -> AdbcStatusCode {
    // SAFETY: the arguments are as the module says.
    guard(error, || unsafe { put(connection, ConnectionHandle::default()) })
}

unsafe extern "C" fn connection_set_option(
    connection: *mut Handle,
    name: *const c_char,
    value: *const c_char,
    error: *mut AdbcError,
) -> AdbcStatusCode {
    // SAFETY: the arguments are as the module says.
    guard(error, || unsafe {
        inside::<ConnectionHandle>(connection)?
            .set_option(given("the option", name)?, given("the value", value)?)
    })
}

unsafe extern "C" fn connection_get_option(
    connection: *mut Handle,
    name: *const c_char,
    value: *mut c_char,
    length: *mut usize,
    error: *mut AdbcError,
) -> AdbcStatusCode {
    // SAFETY: the arguments are as the module says.
    guard(error, || unsafe {
        let session = inside::<ConnectionHandle>(connection)?.session()?;
        give_option(&session.option(given("the option", name)?)?, value, length)
    })
}

unsafe extern "C" fn connection_init(
    connection: *mut Handle,
    database: *mut Handle,
    error: *mut AdbcError,
) -> AdbcStatusCode {
    // SAFETY: the arguments are as the module says.
    guard(error, || unsafe {
        inside::<ConnectionHandle>(connection)?.open(inside::<DatabaseHandle>(database)?)
    })
}

unsafe extern "C" fn connection_release(connection: *mut Handle, error: *mut AdbcError) -> AdbcStatusCode {
    // SAFETY: the arguments are as the module says.
    guard(error, || {
        let connection = unsafe { take_out::<ConnectionHandle>(connection) }?;
        connection.close();
        Ok(())
    })
}

unsafe extern "C" fn connection_commit(connection: *mut Handle, error: *mut AdbcError) -> AdbcStatusCode {
    // SAFETY: the arguments are as the module says.
    guard(error, || unsafe { inside::<ConnectionHandle>(connection) }?.session()?.end("COMMIT"))
}

unsafe extern "C" fn connection_rollback(connection: *mut Handle, error: *mut AdbcError) -> AdbcStatusCode {
    // SAFETY: the arguments are as the module says.
    guard(error, || unsafe { inside::<ConnectionHandle>(connection) }?.session()?.end("ROLLBACK"))
}

unsafe extern "C" fn connection_cancel(connection: *mut Handle, error: *mut AdbcError) -> AdbcStatusCode {
    // SAFETY: the arguments are as the module says.
    guard(error, || {
        unsafe { inside::<ConnectionHandle>(connection) }?.session()?.engine.interrupt();
        Ok(())
    })
}

unsafe extern "C" fn connection_get_info(
    connection: *mut Handle,
    codes: *const u32,
    count: usize,
    out: *mut ArrowArrayStream,
    error: *mut AdbcError,
) -> AdbcStatusCode {
    // SAFETY: the arguments are as the module says; `codes` is NULL or has `count` numbers.
    guard(error, || unsafe {
        inside::<ConnectionHandle>(connection)?.session()?;
        let codes = (!codes.is_null()).then(|| std::slice::from_raw_parts(codes, count));
        give(out, metadata::info(codes)?)
    })
}

unsafe extern "C" fn connection_get_objects(
    connection: *mut Handle,
    depth: c_int,
    catalog: *const c_char,
    schema: *const c_char,
    table: *const c_char,
    table_types: *const *const c_char,
    column: *const c_char,
    out: *mut ArrowArrayStream,
    error: *mut AdbcError,
) -> AdbcStatusCode {
    // SAFETY: the arguments are as the module says; `table_types` is NULL or has texts before a NULL.
    guard(error, || unsafe {
        let mut types = Vec::new();
        let mut at = table_types;
        while !at.is_null()
            && let Some(name) = text("a table type", *at)?
        {
            types.push(name);
            at = at.add(1);
        }
        let wanted = Wanted {
            catalog: text("the catalog", catalog)?,
            schema: text("the schema", schema)?,
            table: text("the table", table)?,
            column: text("the column", column)?,
            table_types: (!table_types.is_null()).then_some(types),
        };
        let session = inside::<ConnectionHandle>(connection)?.session()?;
        give(out, stream_of(metadata::objects(&session.engine, Depth::of(depth)?, &wanted)?))
    })
}

unsafe extern "C" fn connection_get_table_schema(
    connection: *mut Handle,
    catalog: *const c_char,
    schema: *const c_char,
    table: *const c_char,
    out: *mut ArrowSchema,
    error: *mut AdbcError,
) -> AdbcStatusCode {
    // SAFETY: the arguments are as the module says.
    guard(error, || unsafe {
        let session = inside::<ConnectionHandle>(connection)?.session()?;
        let (catalog, schema) = (text("the catalog", catalog)?, text("the schema", schema)?);
        let table = given("the table", table)?;
        give(out, metadata::table_schema(&session.engine, catalog, schema, table)?)
    })
}

unsafe extern "C" fn connection_get_table_types(
    connection: *mut Handle,
    out: *mut ArrowArrayStream,
    error: *mut AdbcError,
) -> AdbcStatusCode {
    // SAFETY: the arguments are as the module says.
    guard(error, || unsafe {
        let session = inside::<ConnectionHandle>(connection)?.session()?;
        give(out, stream_of(metadata::table_types(&session.engine)?))
    })
}

// Statements.

unsafe extern "C" fn statement_new(
    connection: *mut Handle,
    statement: *mut Handle,
    error: *mut AdbcError,
) -> AdbcStatusCode {
    // SAFETY: the arguments are as the module says.
    guard(error, || unsafe { put(statement, StatementHandle::new(inside::<ConnectionHandle>(connection)?)?) })
}

unsafe extern "C" fn statement_release(statement: *mut Handle, error: *mut AdbcError) -> AdbcStatusCode {
    // SAFETY: the arguments are as the module says.
    guard(error, || unsafe { take_out::<StatementHandle>(statement) }.map(drop))
}

unsafe extern "C" fn statement_set_sql_query(
    statement: *mut Handle,
    sql: *const c_char,
    error: *mut AdbcError,
) -> AdbcStatusCode {
    // SAFETY: the arguments are as the module says.
    guard(error, || unsafe {
        inside::<StatementHandle>(statement)?.set_sql(given("the query", sql)?);
        Ok(())
    })
}

unsafe extern "C" fn statement_set_option(
    statement: *mut Handle,
    name: *const c_char,
    value: *const c_char,
    error: *mut AdbcError,
) -> AdbcStatusCode {
    // SAFETY: the arguments are as the module says.
    guard(error, || unsafe {
        inside::<StatementHandle>(statement)?
            .set_option(given("the option", name)?, text("the value", value)?)
    })
}

unsafe extern "C" fn statement_get_option(
    statement: *mut Handle,
    name: *const c_char,
    value: *mut c_char,
    length: *mut usize,
    error: *mut AdbcError,
) -> AdbcStatusCode {
    // SAFETY: the arguments are as the module says.
    guard(error, || unsafe {
        let option = inside::<StatementHandle>(statement)?.option(given("the option", name)?)?;
        give_option(&option, value, length)
    })
}

unsafe extern "C" fn statement_prepare(statement: *mut Handle, error: *mut AdbcError) -> AdbcStatusCode {
    // SAFETY: the arguments are as the module says.
    guard(error, || unsafe { inside::<StatementHandle>(statement) }?.prepare())
}

unsafe extern "C" fn statement_bind(
    statement: *mut Handle,
    values: *mut ArrowArray,
    schema: *mut ArrowSchema,
    error: *mut AdbcError,
) -> AdbcStatusCode {
    // SAFETY: the arguments are as the module says; both structs are ours from here on.
    guard(error, || unsafe {
        let statement = inside::<StatementHandle>(statement)?;
        let (values, schema) = (ArrowArray::take(values)?, ArrowSchema::take(schema)?);
        statement.bind(Bound::array(values, &schema)?);
        Ok(())
    })
}

unsafe extern "C" fn statement_bind_stream(
    statement: *mut Handle,
    stream: *mut ArrowArrayStream,
    error: *mut AdbcError,
) -> AdbcStatusCode {
    // SAFETY: the arguments are as the module says; the stream is ours from here on.
    guard(error, || unsafe {
        let statement = inside::<StatementHandle>(statement)?;
        statement.bind(Bound::stream(StreamReader::take(stream)?)?);
        Ok(())
    })
}

unsafe extern "C" fn statement_execute_query(
    statement: *mut Handle,
    out: *mut ArrowArrayStream,
    rows_affected: *mut i64,
    error: *mut AdbcError,
) -> AdbcStatusCode {
    // SAFETY: the arguments are as the module says.
    guard(error, || unsafe {
        let answer = inside::<StatementHandle>(statement)?.execute()?;
        if let Some(rows_affected) = rows_affected.as_mut() {
            *rows_affected = answer.row_count();
        }
        // Who wants no rows passes NULL.
        if out.is_null() { Ok(()) } else { give(out, answer.stream()) }
    })
}

unsafe extern "C" fn statement_execute_schema(
    statement: *mut Handle,
    out: *mut ArrowSchema,
    error: *mut AdbcError,
) -> AdbcStatusCode {
    // SAFETY: the arguments are as the module says.
    guard(error, || unsafe { give(out, inside::<StatementHandle>(statement)?.schema()?) })
}

unsafe extern "C" fn statement_cancel(statement: *mut Handle, error: *mut AdbcError) -> AdbcStatusCode {
    // SAFETY: the arguments are as the module says.
    guard(error, || {
        unsafe { inside::<StatementHandle>(statement) }?.cancel();
        Ok(())
    })
}
