//! `AdbcConnection`: a session, and whether each statement commits by itself.

use crate::database::DatabaseHandle;
use crate::failure::{Failure, Outcome};
use inlay::{Connection, Isolation};
use parking_lot::Mutex;
use std::sync::Arc;

const AUTOCOMMIT: &str = "adbc.connection.autocommit";
const CATALOG: &str = "adbc.connection.catalog";
const SCHEMA: &str = "adbc.connection.db_schema";
const READ_ONLY: &str = "adbc.connection.readonly";
const ISOLATION: &str = "adbc.connection.transaction.isolation_level";
const ISOLATION_LEVEL: &str = "adbc.connection.transaction.isolation.";

/// What the handle of a connection points to.
#[derive(Default)]
pub struct ConnectionHandle(Mutex<State>);

#[derive(Default)]
struct State {
    /// Set before the connection was opened.
    options: Vec<(String, String)>,
    session: Option<Arc<Session>>,
}

/// An open connection, shared with its statements.
pub struct Session {
    pub engine: Connection,
}

impl ConnectionHandle {
    /// Opens a session of a database.
    pub fn open(&self, database: &DatabaseHandle) -> Outcome<()> {
        let mut state = self.0.lock();
        if state.session.is_some() {
            return Err(Failure::state("the connection is open already"));
        }
        let session = Session { engine: database.opened()?.connect() };
        for (name, value) in &state.options {
            session.set_option(name, value)?;
        }
        state.session = Some(Arc::new(session));
        Ok(())
    }

    /// The session, which must be open.
    pub fn session(&self) -> Outcome<Arc<Session>> {
        let session = self.0.lock().session.clone();
        session.ok_or_else(|| Failure::state("the connection is not open; call AdbcConnectionInit first"))
    }

    /// Sets an option now, or when the session is opened.
    pub fn set_option(&self, name: &str, value: &str) -> Outcome<()> {
        let session = {
            let mut state = self.0.lock();
            if state.session.is_none() {
                state.options.push((name.to_string(), value.to_string()));
            }
            state.session.clone()
        };
        session.map_or(Ok(()), |session| session.set_option(name, value))
    }

    /// Ends the session; an open transaction is undone.
    pub fn close(&self) -> Outcome<()> {
        let session = self.0.lock().session.take();
        session.map_or(Ok(()), |session| Ok(session.engine.close()?))
    }
}

/// An option that is on or off.
pub fn truth(name: &str, value: &str) -> Outcome<bool> {
    match value {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(Failure::argument(format!("{name} = \"{value}\": expected \"true\" or \"false\""))),
    }
}

impl Session {
    /// Keeps what the transaction did, or undoes it; the next statement begins another.
    pub fn end(&self, keeps: bool) -> Outcome<()> {
        if self.engine.autocommit()? {
            let how = if keeps { "COMMIT" } else { "ROLLBACK" };
            let message = format!("{how}: statements commit by themselves while {AUTOCOMMIT} is \"true\"");
            return Err(Failure::state(message));
        }
        if keeps {
            self.engine.commit()?
        } else {
            self.engine.rollback()?
        };
        Ok(())
    }

    fn set_option(&self, name: &str, value: &str) -> Outcome<()> {
        let engine = &self.engine;
        match name {
            AUTOCOMMIT => engine.set_autocommit(truth(name, value)?)?,
            CATALOG => engine.set_catalog(value)?,
            SCHEMA => engine.set_schema(value)?,
            READ_ONLY => engine.set_read_only(truth(name, value)?)?,
            ISOLATION => engine.set_isolation(Some(isolation(name, value)?))?,
            _ => return Err(Failure::no_option(name)),
        }
        Ok(())
    }

    /// The value of an option.
    pub fn option(&self, name: &str) -> Outcome<String> {
        match name {
            AUTOCOMMIT => Ok(self.engine.autocommit()?.to_string()),
            CATALOG => Ok(self.engine.catalog()?),
            SCHEMA => Ok(self.engine.schema()?),
            _ => Err(Failure::not_set(name)),
        }
    }
}

/// A level of isolation by ADBC's name for it.
fn isolation(name: &str, value: &str) -> Outcome<Isolation> {
    match value.strip_prefix(ISOLATION_LEVEL).unwrap_or(value) {
        "read_uncommitted" => Ok(Isolation::ReadUncommitted),
        "read_committed" => Ok(Isolation::ReadCommitted),
        // What every transaction has at least.
        "default" | "snapshot" | "repeatable_read" => Ok(Isolation::RepeatableRead),
        "serializable" => Ok(Isolation::Serializable),
        _ => Err(Failure::argument(format!("{name} = \"{value}\": no such level"))),
    }
}
