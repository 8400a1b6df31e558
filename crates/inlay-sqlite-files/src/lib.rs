//! SQLite's files, for ATTACH, COPY FROM DATABASE and `sqlite_scan`.
//!
//! ```text
//! SqliteFiles      the kind of files, which a program gives to inlay::Database::register_foreign
//! file             a connection of SQLite's own library, what its errors mean
//! tables           what the file says of its tables; which type a column has
//! definitions      the same as tables, keys and indexes of a database in memory, without rows
//! attached         the file under a name: a transaction of SQLite for each of ours
//! scan             rows as batches
//! cursor           a statement that stays open between batches: all that is unsafe
//! ```
//! A file is only read, by SQLite itself: so its locks, journals, collations and views are what they are. What a transaction reads is
//! one moment, for all its cursors are on one connection, in one transaction of SQLite. Connections are kept until DETACH: to close a
//! file drops every lock that the process has on it, those of another copy of SQLite among them.
//!
//! Whoever links this links SQLite; `libinlay.so` and `libinlay_sqlite3.so` do not.

mod attached;
mod cursor;
mod definitions;
mod file;
mod scan;
mod tables;

use attached::Attached;
use inlay::{ForeignDatabase, ForeignFile, ForeignKind, Result};
use std::sync::Arc;

/// How SQLite's files begin.
const MAGIC: &[u8] = b"SQLite format 3\0";
/// Where a file says how it is read, and what it says if by a log.
const READ_VERSION: usize = 19;
const BY_LOG: u8 = 2;

/// The kind of SQLite's files.
#[derive(Clone, Copy, Debug, Default)]
pub struct SqliteFiles;

impl SqliteFiles {
    /// Lets ATTACH and `sqlite_scan` of a database read such files.
    pub fn install(database: &inlay::Database) {
        database.register_foreign(Arc::new(Self));
    }
}

impl ForeignKind for SqliteFiles {
    fn name(&self) -> &'static str {
        "sqlite"
    }

    fn scan_function(&self) -> &'static str {
        "sqlite_scan"
    }

    fn is_one(&self, first: &[u8]) -> bool {
        first.starts_with(MAGIC)
    }

    fn companions(&self, first: &[u8]) -> &'static [&'static str] {
        // Without a log, a reader writes nothing, and a journal that would have to be played back is an error.
        if first.get(READ_VERSION) == Some(&BY_LOG) { &["-wal", "-shm"] } else { &[] }
    }

    fn open(&self, file: ForeignFile, only: Option<&str>) -> Result<Arc<dyn ForeignDatabase>> {
        Ok(Arc::new(Attached::open(file, only)?))
    }
}
