//! Which log belongs to a database file.
//!
//! The database's id alone does not say it: copies of a file have the same id and go their own ways. So each log repeats
//! the number of the state that it was made for (its *base*), and the header of the file names the log by its salt as
//! soon as it has a transaction that the file lacks.

use super::Lsn;
use super::format::LogHeader;
use inlay_types::{Error, Result};
use std::path::Path;

/// What a database file says of its log.
#[derive(Clone, Debug, Default)]
pub struct Tie {
    /// The id of the database.
    pub database_id: u128,
    /// Every transaction up to this one is in the file.
    pub lsn: Lsn,
    /// The salt of the log that was in use when the header was written; 0 if the file does not say.
    pub salt: u64,
    /// A transaction that the log has; it must be there if it is beyond `lsn`.
    pub expected: Lsn,
    /// The number of the state that the header leads to.
    pub base: u64,
    /// The name of the file, for messages.
    pub file: String,
    /// The name that the log had when the header was written, if another one, for messages.
    pub log_was: Option<String>,
}

impl Tie {
    /// Of a file that says nothing of its log.
    pub fn of(database_id: u128, lsn: Lsn) -> Self {
        Self { database_id, lsn, ..Self::default() }
    }

    /// Whether the file lacks transactions that were acknowledged.
    pub fn needs_log(&self) -> bool {
        self.expected > self.lsn
    }

    /// Whether a log is the one that was written for this file as it is.
    pub(super) fn fits(&self, log: &LogHeader) -> bool {
        log.database_id == self.database_id
            && (self.salt == 0 || log.salt == self.salt || log.base == self.base)
    }

    /// Fails if a log that ends with this transaction lacks what the file says it has.
    pub(super) fn expect_end(&self, name: &str, last: Lsn) -> Result<()> {
        if last.max(self.lsn) >= self.expected {
            return Ok(());
        }
        let (file, expected) = (&self.file, self.expected);
        Err(Error::corrupt(format!(
            "the log \"{name}\" ends with transaction {last}, and \"{file}\" needs it up to transaction {expected}, which was \
             committed: it was cut, or is an old copy; {}",
            self.without()
        )))
    }

    /// The refusal to open the file without its log. `found` says what lies where it should be.
    pub(super) fn missing(&self, name: &str, found: &str) -> Error {
        let file = &self.file;
        let was = match &self.log_was {
            Some(was) => format!(" (it was written as \"{was}\")"),
            None => String::new(),
        };
        Error::corrupt(format!(
            "\"{file}\" has transactions that are in its log alone, and its log is not here: \"{name}\" {found}{was}. If the \
             file was moved or copied, put its log beside it under this name; if it has another name, open it by that one; \
             {}",
            self.without()
        ))
    }

    /// The refusal of a log with transactions that belongs to another file.
    pub(super) fn foreign(&self, name: &str, log: &LogHeader) -> Error {
        let file = &self.file;
        let whose = if log.database_id == self.database_id {
            "a copy of it that went another way, or as it was at another time".to_string()
        } else {
            format!("another database ({:032x}, not {:032x})", log.database_id, self.database_id)
        };
        let needs = match self.needs_log() {
            true => format!("; the log that \"{file}\" needs is missing: {}", self.without()),
            false => String::new(),
        };
        Error::corrupt(format!(
            "\"{name}\" lies beside \"{file}\" and is the log of {whose}. It has transactions, so it is neither replayed nor \
             replaced: give it back to its database, named like that with .wal behind it, or remove it if nobody needs \
             it{needs}"
        ))
    }

    /// The last way out.
    fn without(&self) -> String {
        format!("CALL recover('{}', 'new file') copies what there is without it", self.file)
    }
}

/// The refusal to make a new database beside a log with transactions.
pub(super) fn orphan(name: &str, file: &Path, log: &LogHeader) -> Error {
    let file = file.display();
    Error::invalid_argument(format!(
        "\"{file}\" would be a new database, but \"{name}\" beside it has transactions of another one ({:032x}). If that one \
         was moved, move its log along, named like it with .wal behind it; if it is gone, remove the log",
        log.database_id
    ))
}

/// The refusal to take a log that somebody else has open.
pub(super) fn in_use(name: &str) -> Error {
    Error::Locked {
        message: format!(
            "the log \"{name}\" is in use: its database was opened by this name and moved or replaced since. Close it \
             there, which puts everything into its file, and try again"
        ),
    }
}
