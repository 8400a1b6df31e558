//! `AdbcConnection`: a session, and whether each statement commits by itself.

use crate::database::DatabaseHandle;
use crate::failure::{Failure, Outcome};
use crate::metadata::quoted;
use inlay::{Connection, Host, Parameters, QueryResult};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

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
    autocommit: AtomicBool,
}

impl ConnectionHandle {
    /// Opens a session of a database.
    pub fn open(&self, database: &DatabaseHandle) -> Outcome<()> {
        let mut state = self.0.lock();
        if state.session.is_some() {
            return Err(Failure::state("the connection is open already"));
        }
        let session = Session { engine: database.opened()?.connect(), autocommit: AtomicBool::new(true) };
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
    /// Runs SQL in the transaction that ADBC's rules say: the open one, or a new one unless statements commit by
    /// themselves.
    pub fn run(
        &self,
        sql: &str,
        parameters: &Parameters,
        host: Option<&Arc<dyn Host>>,
    ) -> Outcome<QueryResult> {
        self.begin_if_needed()?;
        Ok(self.engine.execute_with(sql, parameters, host)?)
    }

    /// Opens a transaction unless one is open or statements commit by themselves.
    pub fn begin_if_needed(&self) -> Outcome<()> {
        if !self.autocommit.load(Ordering::Acquire) && !self.engine.in_transaction() {
            self.engine.execute("BEGIN")?;
        }
        Ok(())
    }

    /// Ends the transaction by `COMMIT` or `ROLLBACK`; the next statement begins another.
    pub fn end(&self, how: &str) -> Outcome<()> {
        if self.autocommit.load(Ordering::Acquire) {
            let message = format!("{how}: statements commit by themselves while {AUTOCOMMIT} is \"true\"");
            return Err(Failure::state(message));
        }
        if self.engine.in_transaction() {
            self.engine.execute(how)?;
        }
        Ok(())
    }

    fn set_option(&self, name: &str, value: &str) -> Outcome<()> {
        match name {
            AUTOCOMMIT => {
                let on = truth(name, value)?;
                if on && !self.autocommit.load(Ordering::Acquire) {
                    self.end("COMMIT")?;
                }
                self.autocommit.store(on, Ordering::Release);
            }
            CATALOG => drop(self.engine.execute(&format!("USE {}", quoted(value)))?),
            SCHEMA => {
                let catalog = self.option(CATALOG)?;
                self.engine.execute(&format!("USE {}.{}", quoted(&catalog), quoted(value)))?;
            }
            READ_ONLY => {
                let mode = if truth(name, value)? { "ONLY" } else { "WRITE" };
                let sql = format!("SET SESSION CHARACTERISTICS AS TRANSACTION READ {mode}");
                self.engine.execute(&sql)?;
            }
            ISOLATION => {
                let level = value.strip_prefix(ISOLATION_LEVEL).unwrap_or(value);
                let level = match level {
                    // What every transaction has at least.
                    "default" | "snapshot" => "REPEATABLE READ".to_string(),
                    "linearizable" => {
                        return Err(Failure::argument(format!("{name} = \"{value}\": no such level")));
                    }
                    level => level.replace('_', " ").to_uppercase(),
                };
                let sql = format!("SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL {level}");
                self.engine.execute(&sql)?;
            }
            _ => return Err(Failure::no_option(name)),
        }
        Ok(())
    }

    /// The value of an option.
    pub fn option(&self, name: &str) -> Outcome<String> {
        let sql = match name {
            AUTOCOMMIT => return Ok(self.autocommit.load(Ordering::Acquire).to_string()),
            CATALOG => "SELECT current_database()",
            SCHEMA => "SELECT current_schema()",
            _ => return Err(Failure::not_set(name)),
        };
        Ok(self.engine.execute(sql)?.value(0, 0)?.to_string())
    }
}
