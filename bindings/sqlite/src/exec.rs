//! Statements in one call, and what is known of a table's column.

use crate::connection::{of, sqlite3};
use crate::failure::{ERROR, MISMATCH, MISUSE, NOMEM, OK, Outcome, export, failed};
use crate::memory::{copied, sqlite3_free, sqlite3_malloc64};
use crate::pointers::{Handle, bytes_of, put, text_of};
use crate::statement::execute;
use std::ffi::{c_char, c_int, c_void};
use std::ptr;

type Callback = unsafe extern "C" fn(*mut c_void, c_int, *mut *mut c_char, *mut *mut c_char) -> c_int;

/// The text of statements; an empty one for NULL.
fn checked_text<'a>(sql: *const c_char) -> Outcome<&'a str> {
    std::str::from_utf8(bytes_of(sql).unwrap_or_default())
        .map_err(|_| failed(MISMATCH, crate::value::NOT_UTF8))
}

export! {
    /// Runs all statements of a text, and gives rows to a function.
    fn sqlite3_exec(connection: Handle<'_, sqlite3>, sql: *const c_char, callback: Option<Callback>, data: *mut c_void, message: *mut *mut c_char) -> c_int [NOMEM] {
        put(message, ptr::null_mut());
        let Some(db) = of(connection) else { return MISUSE };
        let code = db.checked(|| {
            let text = checked_text(sql)?;
            execute(db, text, &mut |columns, row| {
                let Some(callback) = callback else { return true };
                let mut names: Vec<*mut c_char> = columns.iter().map(|column| column.name.as_ptr().cast_mut()).collect();
                let mut values: Vec<*mut c_char> = row.iter().map(|value| value.c_text().cast_mut()).collect();
                // SAFETY: the program's function, called as it was declared; the texts live until it returns.
                unsafe { callback(data, values.len() as c_int, values.as_mut_ptr(), names.as_mut_ptr()) == 0 }
            })
        });
        if code != OK && !message.is_null() {
            put(message, copied(db.message().as_bytes()).cast());
        }
        code
    }

    /// Runs a text, and gives all rows as an array of texts, names of columns first.
    fn sqlite3_get_table(connection: Handle<'_, sqlite3>, sql: *const c_char, result: *mut *mut *mut c_char, rows: *mut c_int, columns: *mut c_int, message: *mut *mut c_char) -> c_int [NOMEM] {
        put(message, ptr::null_mut());
        put(result, ptr::null_mut());
        put(rows, 0);
        put(columns, 0);
        let Some(db) = of(connection) else { return MISUSE };
        let mut cells: Vec<Option<Vec<u8>>> = Vec::new();
        let (mut width, mut count) = (0, 0);
        let code = db.checked(|| {
            let mut differs = false;
            execute(db, checked_text(sql)?, &mut |columns, row| {
                if count == 0 {
                    width = columns.len();
                    cells.extend(columns.iter().map(|column| Some(column.name.as_bytes().to_vec())));
                }
                differs |= columns.len() != width;
                cells.extend(row.iter().map(|value| value.cell.text()));
                count += 1;
                !differs
            })
            .map_err(|failure| match differs {
                true => failed(ERROR, "sqlite3_get_table() called with two or more incompatible queries"),
                false => failure,
            })
        });
        if code != OK {
            if !message.is_null() {
                put(message, copied(db.message().as_bytes()).cast());
            }
            return code;
        }
        let size = size_of::<*mut c_char>();
        let memory: *mut *mut c_char = sqlite3_malloc64(((cells.len() + 1) * size) as u64).cast();
        if memory.is_null() {
            return NOMEM;
        }
        put(memory, cells.len() as *mut c_char);
        for (index, cell) in cells.iter().enumerate() {
            let text = cell.as_ref().map_or(ptr::null_mut(), |cell| copied(cell).cast());
            put(memory.wrapping_add(index + 1), text);
        }
        put(result, memory.wrapping_add(1));
        put(rows, count);
        put(columns, width as c_int);
        OK
    }

    /// Frees what sqlite3_get_table gave.
    fn sqlite3_free_table(result: *mut *mut c_char) -> () [()] {
        if result.is_null() {
            return;
        }
        let memory = result.wrapping_sub(1);
        let count = crate::pointers::pointers_of(memory, 1).first().map_or(0, |count| *count as usize);
        for text in crate::pointers::pointers_of(result, count) {
            sqlite3_free(text.cast());
        }
        sqlite3_free(memory.cast());
    }

    /// What is known of a column of a table.
    fn sqlite3_table_column_metadata(connection: Handle<'_, sqlite3>, schema: *const c_char, table: *const c_char, column: *const c_char, declared: *mut *const c_char, collation: *mut *const c_char, not_null: *mut c_int, key: *mut c_int, automatic: *mut c_int) -> c_int [ERROR] {
        let (Some(db), Some(name)) = (of(connection), text_of(table)) else { return MISUSE };
        db.checked(|| {
            let schema = text_of(schema);
            let wanted = text_of(column);
            let missing = || match &wanted {
                Some(column) => failed(ERROR, format!("no such table column: {name}.{column}")),
                None => failed(ERROR, format!("no such table: {name}")),
            };
            let found = db.table(schema.as_deref(), &name)?.filter(|table| !table.is_view).ok_or_else(missing)?;
            let Some(wanted) = &wanted else { return Ok(()) };
            let rowid = found.rowid.filter(|_| matches!(wanted.to_lowercase().as_str(), "rowid" | "oid" | "_rowid_"));
            let position = found.position(wanted).or(rowid).ok_or_else(missing)?;
            let column = &found.columns[position];
            let keep = |text: &str| db.messages().keep(text).0;
            put(declared, column.declared.as_deref().map_or(ptr::null(), keep));
            put(collation, column.collation.as_deref().map_or(c"BINARY".as_ptr(), keep));
            put(not_null, c_int::from(column.not_null));
            put(key, c_int::from(column.key > 0));
            put(automatic, c_int::from(found.autoincrement && found.rowid == Some(position)));
            Ok(())
        })
    }
}
