//! Transactions without SQL: each call looks at the session's state and changes it in one step, whatever other threads do with the
//! session meanwhile.

use super::Connection;
use crate::execute::Given;
use crate::host::Parameters;
use crate::session::Text;
use inlay_types::{Result, limits};
use std::sync::atomic::{AtomicU64, Ordering};

/// Savepoints of blocks have names that no other block has.
static BLOCKS: AtomicU64 = AtomicU64::new(0);

/// A part of a program that happens as a whole or not at all: a transaction, or a savepoint where one is open already.
///
/// ```
/// # fn main() -> inlay::Result<()> {
/// let connection = inlay::Database::open_in_memory()?.connect();
/// connection.execute("CREATE TABLE t (a INTEGER)")?;
/// let outer = connection.transaction()?;
/// connection.execute("INSERT INTO t VALUES (1)")?;
/// let inner = connection.transaction()?;
/// connection.execute("INSERT INTO t VALUES (2)")?;
/// inner.rollback()?;
/// outer.commit()?;
/// assert_eq!(connection.execute("SELECT sum(a) FROM t")?.value(0, 0)?.to_string(), "1");
/// # Ok(())
/// # }
/// ```
#[must_use = "a transaction that is dropped is rolled back"]
#[derive(Debug)]
pub struct Transaction {
    connection: Connection,
    /// If it is one.
    savepoint: Option<String>,
    is_over: bool,
}

impl Connection {
    /// Opens a transaction, as BEGIN does; an error if one is open.
    pub fn begin(&self) -> Result<()> {
        self.control(|_| Some("BEGIN".to_string())).map(drop)
    }

    /// Commits the open transaction. Returns whether one was open.
    pub fn commit(&self) -> Result<bool> {
        self.end("COMMIT")
    }

    /// Undoes the open transaction. Returns whether one was open.
    pub fn rollback(&self) -> Result<bool> {
        self.end("ROLLBACK")
    }

    fn end(&self, how: &str) -> Result<bool> {
        // Inside of a function whose statement runs here: where no transaction is open, there is nothing to wait for.
        if limits::current().is_some() && self.0.session.is_locked() && !self.in_transaction() {
            return self.check_closed().map(|()| false);
        }
        self.control(|is_open| is_open.then(|| how.to_string()))
    }

    /// Begins a transaction, or a savepoint in the open one. It is rolled back when it is dropped without [`Transaction::commit`].
    pub fn transaction(&self) -> Result<Transaction> {
        let mut savepoint = None;
        self.control(|is_open| {
            if !is_open {
                return Some("BEGIN".to_string());
            }
            let name = format!("inlay_block_{}", BLOCKS.fetch_add(1, Ordering::Relaxed));
            let sql = format!("SAVEPOINT {name}");
            savepoint = Some(name);
            Some(sql)
        })?;
        Ok(Transaction { connection: self.clone(), savepoint, is_over: false })
    }

    /// Runs what `sql` says for a session that has a transaction or none, under one lock. Returns whether there was something.
    fn control(&self, sql: impl FnOnce(bool) -> Option<String>) -> Result<bool> {
        self.guarded(
            |session, interrupt| {
                let Some(sql) = sql(self.is_begun(session)) else { return Ok(false) };
                let text = Text::parse(&sql, false, &self.0.budget)?;
                let parameters = &Parameters::default();
                let given = Given { parameters, host: None, interrupt, streaming: None, text: None };
                self.run_text(session, &text, given)?;
                Ok(true)
            },
            None,
        )
    }
}

impl Transaction {
    /// Keeps what was done.
    pub fn commit(mut self) -> Result<()> {
        self.end(true)
    }

    /// Undoes what was done.
    pub fn rollback(mut self) -> Result<()> {
        self.end(false)
    }

    /// Leaves it as it is, for SQL to end it.
    pub fn leave_open(mut self) {
        self.is_over = true;
    }

    /// The program may have ended the transaction, or closed the connection.
    fn end(&mut self, keeps: bool) -> Result<()> {
        if std::mem::replace(&mut self.is_over, true) || self.connection.is_closed() {
            return Ok(());
        }
        let savepoint = self.savepoint.take();
        let end = |is_open: bool| {
            is_open.then(|| match (savepoint, keeps) {
                (None, true) => "COMMIT".to_string(),
                (None, false) => "ROLLBACK".to_string(),
                (Some(name), true) => format!("RELEASE SAVEPOINT {name}"),
                (Some(name), false) => format!("ROLLBACK TO SAVEPOINT {name}; RELEASE SAVEPOINT {name}"),
            })
        };
        self.connection.control(end).map(drop)
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        // There is nobody to tell; what failed here was not kept either.
        let _ = self.end(false);
    }
}
