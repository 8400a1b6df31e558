//! The functions that a driver manager calls. What they may rely on says [`crate::arguments`].

#![expect(unsafe_code, reason = "ADBC's functions in C")]

use crate::arguments::{give, give_option, given, inside, null, on, on_session, put, take_out, text};
use crate::bound::Bound;
use crate::connection::ConnectionHandle;
use crate::database::DatabaseHandle;
use crate::failure::guard;
use crate::ffi::{
    AdbcDriver, AdbcError, AdbcStatusCode, DRIVER_1_0_0_SIZE, Handle, VERSION_1_0_0, VERSION_1_1_0,
};
use crate::metadata::{self, Depth, Wanted};
use crate::statement::StatementHandle;
use crate::statistics::{self, Asked};
use inlay::types::arrow::{
    ArrowArray, ArrowArrayStream, ArrowSchema, Exporter, StreamReader, StringLayout, stream,
};
use inlay::{Error, QueryResult};
use std::ffi::{c_char, c_int, c_void};
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
        statement_get_parameter_schema: Some(statement_get_parameter_schema),
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
        connection_get_statistics: Some(connection_get_statistics),
        connection_get_statistic_names: Some(connection_get_statistic_names),
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

fn stream_of(result: QueryResult) -> ArrowArrayStream {
    let exporter = Exporter::new(result.names(), result.types()).with_strings(StringLayout::Utf8);
    let rows = 0..result.row_count();
    let array = result.arrow_array(&exporter, rows);
    stream::export(move || exporter.schema().requiring(&metadata::REQUIRED), std::iter::once(array))
}

// Databases.

unsafe extern "C" fn database_new(database: *mut Handle, error: *mut AdbcError) -> AdbcStatusCode {
    // SAFETY: the arguments are as `arguments` says.
    guard(error, || unsafe { put(database, DatabaseHandle::default()) })
}

unsafe extern "C" fn database_set_option(
    database: *mut Handle,
    name: *const c_char,
    value: *const c_char,
    error: *mut AdbcError,
) -> AdbcStatusCode {
    // SAFETY: the arguments are as `arguments` says.
    unsafe {
        on::<DatabaseHandle>(database, error, |database| {
            database.set_option(given("the option", name)?, text("the value", value)?)
        })
    }
}

unsafe extern "C" fn database_get_option(
    database: *mut Handle,
    name: *const c_char,
    value: *mut c_char,
    length: *mut usize,
    error: *mut AdbcError,
) -> AdbcStatusCode {
    // SAFETY: the arguments are as `arguments` says.
    unsafe {
        on::<DatabaseHandle>(database, error, |database| {
            give_option(&database.option(given("the option", name)?)?, value, length)
        })
    }
}

unsafe extern "C" fn database_init(database: *mut Handle, error: *mut AdbcError) -> AdbcStatusCode {
    // SAFETY: the arguments are as `arguments` says.
    unsafe { on::<DatabaseHandle>(database, error, DatabaseHandle::open) }
}

unsafe extern "C" fn database_release(database: *mut Handle, error: *mut AdbcError) -> AdbcStatusCode {
    // SAFETY: the arguments are as `arguments` says.
    guard(error, || unsafe { take_out::<DatabaseHandle>(database) }.map(drop))
}

// Connections.

unsafe extern "C" fn connection_new(connection: *mut Handle, error: *mut AdbcError) -> AdbcStatusCode {
    // SAFETY: the arguments are as `arguments` says.
    guard(error, || unsafe { put(connection, ConnectionHandle::default()) })
}

unsafe extern "C" fn connection_set_option(
    connection: *mut Handle,
    name: *const c_char,
    value: *const c_char,
    error: *mut AdbcError,
) -> AdbcStatusCode {
    // SAFETY: the arguments are as `arguments` says.
    unsafe {
        on::<ConnectionHandle>(connection, error, |connection| {
            connection.set_option(given("the option", name)?, given("the value", value)?)
        })
    }
}

unsafe extern "C" fn connection_get_option(
    connection: *mut Handle,
    name: *const c_char,
    value: *mut c_char,
    length: *mut usize,
    error: *mut AdbcError,
) -> AdbcStatusCode {
    // SAFETY: the arguments are as `arguments` says.
    unsafe {
        on_session(connection, error, |session| {
            give_option(&session.option(given("the option", name)?)?, value, length)
        })
    }
}

unsafe extern "C" fn connection_init(
    connection: *mut Handle,
    database: *mut Handle,
    error: *mut AdbcError,
) -> AdbcStatusCode {
    // SAFETY: the arguments are as `arguments` says.
    unsafe { on::<ConnectionHandle>(connection, error, |connection| connection.open(inside(database)?)) }
}

unsafe extern "C" fn connection_release(connection: *mut Handle, error: *mut AdbcError) -> AdbcStatusCode {
    // SAFETY: the arguments are as `arguments` says.
    guard(error, || unsafe { take_out::<ConnectionHandle>(connection) }?.close())
}

unsafe extern "C" fn connection_commit(connection: *mut Handle, error: *mut AdbcError) -> AdbcStatusCode {
    // SAFETY: the arguments are as `arguments` says.
    unsafe { on_session(connection, error, |session| session.end(true)) }
}

unsafe extern "C" fn connection_rollback(connection: *mut Handle, error: *mut AdbcError) -> AdbcStatusCode {
    // SAFETY: the arguments are as `arguments` says.
    unsafe { on_session(connection, error, |session| session.end(false)) }
}

unsafe extern "C" fn connection_cancel(connection: *mut Handle, error: *mut AdbcError) -> AdbcStatusCode {
    // SAFETY: the arguments are as `arguments` says.
    unsafe {
        on_session(connection, error, |session| {
            session.engine.interrupt();
            Ok(())
        })
    }
}

unsafe extern "C" fn connection_get_info(
    connection: *mut Handle,
    codes: *const u32,
    count: usize,
    out: *mut ArrowArrayStream,
    error: *mut AdbcError,
) -> AdbcStatusCode {
    // SAFETY: the arguments are as `arguments` says; `codes` is NULL or has `count` numbers.
    unsafe {
        on_session(connection, error, |_| {
            let codes = (!codes.is_null()).then(|| std::slice::from_raw_parts(codes, count));
            give(out, metadata::info(codes)?)
        })
    }
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
    // SAFETY: the arguments are as `arguments` says; `table_types` is NULL or has texts before a NULL.
    unsafe {
        on_session(connection, error, |session| {
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
            give(out, stream_of(metadata::objects(&session.engine, Depth::of(depth)?, &wanted)?))
        })
    }
}

unsafe extern "C" fn connection_get_table_schema(
    connection: *mut Handle,
    catalog: *const c_char,
    schema: *const c_char,
    table: *const c_char,
    out: *mut ArrowSchema,
    error: *mut AdbcError,
) -> AdbcStatusCode {
    // SAFETY: the arguments are as `arguments` says.
    unsafe {
        on_session(connection, error, |session| {
            let (catalog, schema) = (text("the catalog", catalog)?, text("the schema", schema)?);
            let table = given("the table", table)?;
            give(out, metadata::table_schema(&session.engine, catalog, schema, table)?)
        })
    }
}

unsafe extern "C" fn connection_get_table_types(
    connection: *mut Handle,
    out: *mut ArrowArrayStream,
    error: *mut AdbcError,
) -> AdbcStatusCode {
    // SAFETY: the arguments are as `arguments` says.
    unsafe {
        on_session(connection, error, |session| give(out, stream_of(metadata::table_types(&session.engine)?)))
    }
}

unsafe extern "C" fn connection_get_statistics(
    connection: *mut Handle,
    catalog: *const c_char,
    schema: *const c_char,
    table: *const c_char,
    approximate: c_char,
    out: *mut ArrowArrayStream,
    error: *mut AdbcError,
) -> AdbcStatusCode {
    // SAFETY: the arguments are as `arguments` says.
    unsafe {
        on_session(connection, error, |session| {
            let asked = Asked {
                catalog: text("the catalog", catalog)?,
                schema: text("the schema", schema)?,
                table: text("the table", table)?,
                approximate: approximate != 0,
            };
            give(out, statistics::statistics(&session, &asked)?)
        })
    }
}

unsafe extern "C" fn connection_get_statistic_names(
    connection: *mut Handle,
    out: *mut ArrowArrayStream,
    error: *mut AdbcError,
) -> AdbcStatusCode {
    // SAFETY: the arguments are as `arguments` says.
    unsafe { on_session(connection, error, |_| give(out, statistics::names())) }
}

// Statements.

unsafe extern "C" fn statement_new(
    connection: *mut Handle,
    statement: *mut Handle,
    error: *mut AdbcError,
) -> AdbcStatusCode {
    // SAFETY: the arguments are as `arguments` says.
    unsafe {
        on::<ConnectionHandle>(connection, error, |connection| {
            put(statement, StatementHandle::new(connection)?)
        })
    }
}

unsafe extern "C" fn statement_release(statement: *mut Handle, error: *mut AdbcError) -> AdbcStatusCode {
    // SAFETY: the arguments are as `arguments` says.
    guard(error, || unsafe { take_out::<StatementHandle>(statement) }.map(drop))
}

unsafe extern "C" fn statement_set_sql_query(
    statement: *mut Handle,
    sql: *const c_char,
    error: *mut AdbcError,
) -> AdbcStatusCode {
    // SAFETY: the arguments are as `arguments` says.
    unsafe {
        on::<StatementHandle>(statement, error, |statement| {
            statement.set_sql(given("the query", sql)?);
            Ok(())
        })
    }
}

unsafe extern "C" fn statement_set_option(
    statement: *mut Handle,
    name: *const c_char,
    value: *const c_char,
    error: *mut AdbcError,
) -> AdbcStatusCode {
    // SAFETY: the arguments are as `arguments` says.
    unsafe {
        on::<StatementHandle>(statement, error, |statement| {
            statement.set_option(given("the option", name)?, text("the value", value)?)
        })
    }
}

unsafe extern "C" fn statement_get_option(
    statement: *mut Handle,
    name: *const c_char,
    value: *mut c_char,
    length: *mut usize,
    error: *mut AdbcError,
) -> AdbcStatusCode {
    // SAFETY: the arguments are as `arguments` says.
    unsafe {
        on::<StatementHandle>(statement, error, |statement| {
            give_option(&statement.option(given("the option", name)?)?, value, length)
        })
    }
}

unsafe extern "C" fn statement_prepare(statement: *mut Handle, error: *mut AdbcError) -> AdbcStatusCode {
    // SAFETY: the arguments are as `arguments` says.
    unsafe { on::<StatementHandle>(statement, error, StatementHandle::prepare) }
}

unsafe extern "C" fn statement_get_parameter_schema(
    statement: *mut Handle,
    out: *mut ArrowSchema,
    error: *mut AdbcError,
) -> AdbcStatusCode {
    // SAFETY: the arguments are as `arguments` says.
    unsafe { on::<StatementHandle>(statement, error, |statement| give(out, statement.parameter_schema()?)) }
}

unsafe extern "C" fn statement_bind(
    statement: *mut Handle,
    values: *mut ArrowArray,
    schema: *mut ArrowSchema,
    error: *mut AdbcError,
) -> AdbcStatusCode {
    // SAFETY: the arguments are as `arguments` says; both structs are ours from here on.
    unsafe {
        on::<StatementHandle>(statement, error, |statement| {
            let (values, schema) = (ArrowArray::take(values)?, ArrowSchema::take(schema)?);
            statement.bind(Bound::array(values, &schema)?);
            Ok(())
        })
    }
}

unsafe extern "C" fn statement_bind_stream(
    statement: *mut Handle,
    stream: *mut ArrowArrayStream,
    error: *mut AdbcError,
) -> AdbcStatusCode {
    // SAFETY: the arguments are as `arguments` says; the stream is ours from here on.
    unsafe {
        on::<StatementHandle>(statement, error, |statement| {
            statement.bind(Bound::stream(StreamReader::take(stream)?)?);
            Ok(())
        })
    }
}

unsafe extern "C" fn statement_execute_query(
    statement: *mut Handle,
    out: *mut ArrowArrayStream,
    rows_affected: *mut i64,
    error: *mut AdbcError,
) -> AdbcStatusCode {
    // SAFETY: the arguments are as `arguments` says.
    unsafe {
        on::<StatementHandle>(statement, error, |statement| {
            let answer = statement.execute()?;
            if let Some(rows_affected) = rows_affected.as_mut() {
                *rows_affected = answer.row_count();
            }
            // Who wants no rows passes NULL.
            if out.is_null() { Ok(()) } else { give(out, answer.stream()) }
        })
    }
}

unsafe extern "C" fn statement_execute_schema(
    statement: *mut Handle,
    out: *mut ArrowSchema,
    error: *mut AdbcError,
) -> AdbcStatusCode {
    // SAFETY: the arguments are as `arguments` says.
    unsafe { on::<StatementHandle>(statement, error, |statement| give(out, statement.schema()?)) }
}

unsafe extern "C" fn statement_cancel(statement: *mut Handle, error: *mut AdbcError) -> AdbcStatusCode {
    // SAFETY: the arguments are as `arguments` says.
    unsafe {
        on::<StatementHandle>(statement, error, |statement| {
            statement.cancel();
            Ok(())
        })
    }
}
