//! A connection to a file, and what SQLite's errors mean.

use inlay::types::{Error, Interrupt, Result};
use inlay::{ForeignFile, Value};
use parking_lot::Mutex;
use rusqlite::config::DbConfig;
use rusqlite::ffi;
use rusqlite::{Connection, OpenFlags};
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a file is waited for that another program writes; and for how long of it without a look at the interrupt.
const BUSY_MAX: Duration = Duration::from_secs(5);
const BUSY_STEP: Duration = Duration::from_millis(50);
/// Steps of SQLite's machine between two looks at the interrupt.
const STEPS: i32 = 4096;

/// Whose interrupt is looked at while SQLite works.
#[derive(Clone, Default)]
pub struct Watch(Arc<Mutex<Option<Interrupt>>>);

impl Watch {
    /// Looks at this one from now on.
    pub fn set(&self, interrupt: &Interrupt) {
        *self.0.lock() = Some(interrupt.clone());
    }

    fn is_set(&self) -> bool {
        // To look may run code of the host.
        let interrupt = self.0.lock().clone();
        interrupt.is_some_and(|interrupt| interrupt.is_set())
    }
}

/// Opens a file to read it.
pub fn open(file: &ForeignFile) -> Result<(Connection, Watch)> {
    if !file.path.exists() {
        let missing = io::Error::new(io::ErrorKind::NotFound, "there is no such file");
        return Err(Error::io("cannot open", file.name.as_str(), &missing));
    }
    let mut flags =
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_EXRESCODE;
    if file.no_links {
        flags |= OpenFlags::SQLITE_OPEN_NOFOLLOW;
    }
    let opened = || -> rusqlite::Result<(Connection, Watch)> {
        let mut connection = Connection::open_with_flags(&file.path, flags)?;
        connection.busy_timeout(BUSY_STEP)?;
        // A file may be hostile: what it defines calls no function with effects, and lies about sizes are found.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
        connection.execute_batch("PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0")?;
        let watch = Watch::default();
        let watched = watch.clone();
        connection.progress_handler(STEPS, Some(move || watched.is_set()))?;
        Ok((connection, watch))
    };
    opened().map_err(|error| failed(file, &error))
}

/// Begins to read: from now on the file is as it is, until ROLLBACK. Waits for a program that writes it.
pub fn begin(connection: &Connection, file: &ForeignFile, interrupt: &Interrupt) -> Result<i64> {
    let started = Instant::now();
    loop {
        let begun = connection
            .execute_batch("BEGIN")
            .and_then(|()| connection.query_row("PRAGMA schema_version", [], |row| row.get(0)));
        match begun {
            Ok(version) => return Ok(version),
            Err(error) => {
                let _ = connection.execute_batch("ROLLBACK");
                interrupt.check()?;
                if !is_busy(&error) || started.elapsed() > BUSY_MAX {
                    return Err(failed(file, &error));
                }
            }
        }
    }
}

fn is_busy(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseBusy)
}

/// What an error of SQLite's is here.
pub fn failed(file: &ForeignFile, error: &rusqlite::Error) -> Error {
    match error {
        rusqlite::Error::SqliteFailure(code, message) => {
            let message = message.clone().unwrap_or_else(|| code.to_string());
            of_code(file, code.extended_code, &message)
        }
        other => Error::external(format!("SQLite cannot read \"{}\": {other}", file.name)),
    }
}

/// As [`failed`], of a code and a message.
pub fn of_code(file: &ForeignFile, code: i32, message: &str) -> Error {
    let name = &file.name;
    match (code, code & 0xff) {
        (ffi::SQLITE_READONLY_ROLLBACK | ffi::SQLITE_READONLY_RECOVERY, _) => Error::Locked {
            message: format!(
                "\"{name}\" was left in the middle of a transaction, and only a program that writes it can undo that"
            ),
        }
        .with_hint(format!("open it once with SQLite: sqlite3 \"{name}\" .tables")),
        (_, ffi::SQLITE_BUSY | ffi::SQLITE_LOCKED) => Error::Locked {
            message: format!("\"{name}\" is locked by a program that writes it"),
        },
        (_, ffi::SQLITE_NOTADB) => Error::corrupt(format!("\"{name}\" is no file of SQLite, or is encrypted")),
        (_, ffi::SQLITE_CORRUPT) => Error::corrupt(format!("\"{name}\" is damaged: {message}")),
        (_, ffi::SQLITE_INTERRUPT) => Error::Interrupted,
        (_, ffi::SQLITE_CANTOPEN | ffi::SQLITE_IOERR | ffi::SQLITE_PERM | ffi::SQLITE_READONLY) => {
            Error::io("cannot read", name.as_str(), &io::Error::other(message.to_string()))
        }
        _ => Error::external(format!("SQLite cannot read \"{name}\": {message}")),
    }
}

/// A name as SQL of both systems.
pub fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A value as SQLite's SQL, if it is a whole number.
pub fn whole(value: &Value) -> Option<i64> {
    value.as_i128().and_then(|value| i64::try_from(value).ok())
}
