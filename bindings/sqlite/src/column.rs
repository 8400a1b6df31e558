//! Columns of statements, and the values of the row that a statement is at.

use crate::compile::Output;
use crate::failure::export;
use crate::statement::S;
use crate::value::{NULL, sqlite3_value};
use std::ffi::{CString, c_char, c_int, c_void};
use std::ptr;

/// What is known of a column.
fn text(statement: S<'_>, column: c_int, what: impl FnOnce(&Output) -> Option<&CString>) -> *const c_char {
    let (Some(statement), Ok(column)) = (statement, usize::try_from(column)) else { return ptr::null() };
    let Some(inner) = statement.look() else { return ptr::null() };
    inner.compiled.columns.get(column).and_then(what).map_or(ptr::null(), |text| text.as_ptr())
}

/// As [`text`], in UTF-16. The texts stay as long as the statement.
fn wide(statement: S<'_>, column: c_int, what: impl FnOnce(&Output) -> Option<&CString>) -> *const c_void {
    let (Some(handle), Ok(column)) = (statement, usize::try_from(column)) else { return ptr::null() };
    let Some(mut inner) = handle.look() else { return ptr::null() };
    let Some(text) =
        inner.compiled.columns.get(column).and_then(what).map(|text| text.to_string_lossy().into_owned())
    else {
        return ptr::null();
    };
    inner.wide.push(Some(crate::pointers::to_utf16(&text)));
    inner.wide.last().and_then(Option::as_ref).map_or(ptr::null(), |wide| wide.as_ptr().cast())
}

/// What `work` makes of the value of a column; of NULL if there is none.
fn value<T>(statement: S<'_>, column: c_int, otherwise: T, work: impl FnOnce(&sqlite3_value) -> T) -> T {
    let Some(statement) = statement else { return otherwise };
    let Some(inner) = statement.look() else { return otherwise };
    let found =
        usize::try_from(column).ok().filter(|_| inner.has_row).and_then(|column| inner.row.get(column));
    work(found.unwrap_or(&inner.none))
}

export! {
    /// Columns that a statement gives.
    fn sqlite3_column_count(statement: S<'_>) -> c_int [0] {
        statement.map_or(0, crate::statement::sqlite3_stmt::column_count)
    }

    /// Columns of the row that the statement is at.
    fn sqlite3_data_count(statement: S<'_>) -> c_int [0] {
        let Some(statement) = statement else { return 0 };
        let Some(inner) = statement.look() else { return 0 };
        if inner.has_row { inner.row.len() as c_int } else { 0 }
    }

    /// The name of a column.
    fn sqlite3_column_name(statement: S<'_>, column: c_int) -> *const c_char [ptr::null()] {
        text(statement, column, |column| Some(&column.name))
    }

    /// The name of a column.
    fn sqlite3_column_name16(statement: S<'_>, column: c_int) -> *const c_void [ptr::null()] {
        wide(statement, column, |column| Some(&column.name))
    }

    /// The words of a column's type, if it is one of a table.
    fn sqlite3_column_decltype(statement: S<'_>, column: c_int) -> *const c_char [ptr::null()] {
        text(statement, column, |column| column.declared.as_ref())
    }

    /// The words of a column's type.
    fn sqlite3_column_decltype16(statement: S<'_>, column: c_int) -> *const c_void [ptr::null()] {
        wide(statement, column, |column| column.declared.as_ref())
    }

    /// The database of a column that is one of a table.
    fn sqlite3_column_database_name(statement: S<'_>, column: c_int) -> *const c_char [ptr::null()] {
        let is_of_table = !text(statement, column, |column| column.table.as_ref()).is_null();
        if is_of_table { c"main".as_ptr() } else { ptr::null() }
    }

    /// The table of a column that is one of a table.
    fn sqlite3_column_table_name(statement: S<'_>, column: c_int) -> *const c_char [ptr::null()] {
        text(statement, column, |column| column.table.as_ref())
    }

    /// The table of a column.
    fn sqlite3_column_table_name16(statement: S<'_>, column: c_int) -> *const c_void [ptr::null()] {
        wide(statement, column, |column| column.table.as_ref())
    }

    /// The column of a table that a column is.
    fn sqlite3_column_origin_name(statement: S<'_>, column: c_int) -> *const c_char [ptr::null()] {
        text(statement, column, |column| column.origin.as_ref())
    }

    /// The column of a table that a column is.
    fn sqlite3_column_origin_name16(statement: S<'_>, column: c_int) -> *const c_void [ptr::null()] {
        wide(statement, column, |column| column.origin.as_ref())
    }

    /// The kind of a value.
    fn sqlite3_column_type(statement: S<'_>, column: c_int) -> c_int [NULL] {
        value(statement, column, NULL, |value| value.cell.kind())
    }

    /// A value as an integer.
    fn sqlite3_column_int(statement: S<'_>, column: c_int) -> c_int [0] {
        value(statement, column, 0, |value| value.cell.integer() as c_int)
    }

    /// A value as an integer.
    fn sqlite3_column_int64(statement: S<'_>, column: c_int) -> i64 [0] {
        value(statement, column, 0, |value| value.cell.integer())
    }

    /// A value as a number.
    fn sqlite3_column_double(statement: S<'_>, column: c_int) -> f64 [0.0] {
        value(statement, column, 0.0, |value| value.cell.real_value())
    }

    /// A value as text, which stays until the next step.
    fn sqlite3_column_text(statement: S<'_>, column: c_int) -> *const c_char [ptr::null()] {
        value(statement, column, ptr::null(), sqlite3_value::c_text)
    }

    /// A value as UTF-16, which stays until the next step.
    fn sqlite3_column_text16(statement: S<'_>, column: c_int) -> *const c_void [ptr::null()] {
        value(statement, column, ptr::null(), sqlite3_value::wide)
    }

    /// A value as bytes, which stay until the next step.
    fn sqlite3_column_blob(statement: S<'_>, column: c_int) -> *const c_void [ptr::null()] {
        value(statement, column, ptr::null(), sqlite3_value::blob)
    }

    /// The bytes of a value.
    fn sqlite3_column_bytes(statement: S<'_>, column: c_int) -> c_int [0] {
        value(statement, column, 0, sqlite3_value::bytes)
    }

    /// The bytes of a value as UTF-16.
    fn sqlite3_column_bytes16(statement: S<'_>, column: c_int) -> c_int [0] {
        value(statement, column, 0, sqlite3_value::wide_bytes)
    }

    /// A value itself, which stays until the next step.
    fn sqlite3_column_value(statement: S<'_>, column: c_int) -> *mut sqlite3_value [ptr::null_mut()] {
        value(statement, column, ptr::null_mut(), |value| ptr::from_ref(value).cast_mut())
    }
}
