//! One value of a table, read and written in pieces.

use crate::connection::{Db, of, sqlite3};
use crate::failure::{ABORT, ERROR, MISMATCH, MISUSE, OK, Outcome, READONLY, export, failed};
use crate::lexer::ident;
use crate::pointers::{Handle, behind_mut, handle, put, release, slice_of, slice_to_write, text_of};
use crate::schema::qualified;
use crate::value::Cell;
use inlay::Value;
use std::ffi::{c_char, c_int, c_void};
use std::sync::Arc;

/// A value that is open.
pub struct sqlite3_blob {
    db: Arc<Db>,
    path: String,
    column: String,
    /// What a row's number is called.
    rowid: String,
    row: i64,
    bytes: Vec<u8>,
    is_text: bool,
    writes: bool,
    is_expired: bool,
}

impl sqlite3_blob {
    fn read(&mut self, row: i64) -> Outcome<()> {
        let sql = format!("SELECT {} FROM {} WHERE {} = $1", ident(&self.column), self.path, self.rowid);
        let rows = self.db.rows(&sql, vec![Value::BigInt(row)])?;
        let Some(value) = rows.first().and_then(|row| row.first()) else {
            return Err(failed(ERROR, format!("no such rowid: {row}")));
        };
        (self.bytes, self.is_text) = match Cell::of(value) {
            Cell::Blob(bytes) => (bytes, false),
            Cell::Text(text) => (text.into_bytes(), true),
            other => {
                let kind = match other {
                    Cell::Integer(_) => "integer",
                    Cell::Real(_) => "real",
                    Cell::Null | Cell::Text(_) | Cell::Blob(_) => "null",
                };
                return Err(failed(ERROR, format!("cannot open value of type {kind}")));
            }
        };
        self.row = row;
        Ok(())
    }

    /// Fails if the row is not what it was.
    fn check(&mut self) -> Outcome<()> {
        if self.is_expired {
            return Err(failed(ABORT, "query aborted"));
        }
        let sql = format!("SELECT {} FROM {} WHERE {} = $1", ident(&self.column), self.path, self.rowid);
        let rows = self.db.rows(&sql, vec![Value::BigInt(self.row)])?;
        let now = rows.first().and_then(|row| row.first()).and_then(|value| Cell::of(value).text());
        if now.as_deref() != Some(&self.bytes[..]) {
            self.is_expired = true;
            return Err(failed(ABORT, "query aborted"));
        }
        Ok(())
    }

    fn range(&self, offset: c_int, count: c_int) -> Outcome<std::ops::Range<usize>> {
        let bounds = usize::try_from(offset).ok().zip(usize::try_from(count).ok());
        let range = bounds
            .map(|(offset, count)| offset..offset + count)
            .filter(|range| range.end <= self.bytes.len());
        range.ok_or_else(|| failed(ERROR, "SQL logic error"))
    }

    fn write(&mut self, offset: c_int, given: &[u8]) -> Outcome<()> {
        let range = self.range(offset, c_int::try_from(given.len()).unwrap_or(c_int::MAX))?;
        if !self.writes {
            return Err(failed(READONLY, "attempt to write a readonly database"));
        }
        self.check()?;
        let mut bytes = self.bytes.clone();
        bytes[range].copy_from_slice(given);
        let value = if self.is_text {
            let text = String::from_utf8(bytes.clone());
            Cell::Text(text.map_err(|_| failed(MISMATCH, crate::value::NOT_UTF8))?)
        } else {
            Cell::Blob(bytes.clone())
        };
        let sql = format!("UPDATE {} SET {} = $1 WHERE {} = $2", self.path, ident(&self.column), self.rowid);
        self.db.rows(&sql, vec![value.value(), Value::BigInt(self.row)])?;
        self.bytes = bytes;
        Ok(())
    }
}

fn open(
    db: &Arc<Db>,
    schema: Option<String>,
    table: &str,
    column: &str,
    row: i64,
    writes: bool,
) -> Outcome<sqlite3_blob> {
    let found = db.table(schema.as_deref(), table)?;
    let shown = schema.as_ref().map_or_else(|| table.to_string(), |schema| format!("{schema}.{table}"));
    let Some(found) = found else { return Err(failed(ERROR, format!("no such table: {shown}"))) };
    if found.is_view {
        return Err(failed(ERROR, format!("cannot open view: {table}")));
    }
    let Some(known) = found.column(column) else {
        return Err(failed(ERROR, format!("no such column: \"{column}\"")));
    };
    let rowid = found.rowid_name().map_or_else(|| "rowid + 1".to_string(), ident);
    let mut blob = sqlite3_blob {
        db: Arc::clone(db),
        path: qualified(schema.as_deref(), &found.name),
        column: known.name.clone(),
        rowid,
        row,
        bytes: Vec::new(),
        is_text: false,
        writes,
        is_expired: false,
    };
    blob.read(row)?;
    Ok(blob)
}

type B = *mut sqlite3_blob;

export! {
    /// Opens the value of a column in a row.
    fn sqlite3_blob_open(connection: Handle<'_, sqlite3>, schema: *const c_char, table: *const c_char, column: *const c_char, row: i64, flags: c_int, place: *mut B) -> c_int [ERROR] {
        put(place, std::ptr::null_mut());
        let (Some(db), Some(table), Some(column)) = (of(connection), text_of(table), text_of(column)) else { return MISUSE };
        db.checked(|| {
            put(place, handle(open(db, text_of(schema), &table, &column, row, flags != 0)?));
            Ok(())
        })
    }

    /// Goes to the value of another row.
    fn sqlite3_blob_reopen(blob: B, row: i64) -> c_int [ERROR] {
        let Some(blob) = behind_mut(blob) else { return MISUSE };
        let db = Arc::clone(&blob.db);
        db.checked(|| blob.read(row).inspect_err(|_| blob.is_expired = true))
    }

    /// Closes a value.
    fn sqlite3_blob_close(blob: B) -> c_int [ERROR] {
        release(blob);
        OK
    }

    /// The bytes of a value.
    fn sqlite3_blob_bytes(blob: Handle<'_, sqlite3_blob>) -> c_int [0] {
        blob.map_or(0, |blob| if blob.is_expired { 0 } else { c_int::try_from(blob.bytes.len()).unwrap_or(c_int::MAX) })
    }

    /// Reads some bytes.
    fn sqlite3_blob_read(blob: B, place: *mut c_void, count: c_int, offset: c_int) -> c_int [ERROR] {
        let Some(blob) = behind_mut(blob) else { return MISUSE };
        let db = Arc::clone(&blob.db);
        db.checked(|| {
            let range = blob.range(offset, count)?;
            blob.check()?;
            slice_to_write(place, range.len()).copy_from_slice(&blob.bytes[range]);
            Ok(())
        })
    }

    /// Writes some bytes.
    fn sqlite3_blob_write(blob: B, data: *const c_void, count: c_int, offset: c_int) -> c_int [ERROR] {
        let Some(blob) = behind_mut(blob) else { return MISUSE };
        let db = Arc::clone(&blob.db);
        db.checked(|| blob.write(offset, slice_of(data, usize::try_from(count).unwrap_or(0))))
    }
}
