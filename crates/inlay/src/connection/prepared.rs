//! Statements that are parsed once and run many times.

use super::{Connection, Host, Parameters};
use crate::execute::Given;
use crate::kept::Text;
use crate::rest::{Rest, Streaming};
use crate::result::QueryResult;
use inlay_types::{Error, Result};
use parking_lot::Mutex;
use std::sync::Arc;

/// A statement of a connection, read once, with the plans that it was carried out by. Names are looked up when it runs.
#[derive(Clone)]
pub struct PreparedStatement {
    connection: Connection,
    text: Arc<Text>,
}

impl Connection {
    /// Reads a statement that is going to be repeated. What it names need not be there yet.
    pub fn prepare(&self, sql: &str) -> Result<PreparedStatement> {
        self.guarded(
            |_, _| {
                let text = Text::parse(sql, true)?;
                match &*text.statements {
                    [_] => Ok(PreparedStatement { connection: self.clone(), text }),
                    several => Err(Error::invalid_argument(format!(
                        "prepare takes exactly one statement, not {}",
                        several.len()
                    ))),
                }
            },
            None,
        )
    }
}

impl PreparedStatement {
    /// Its text.
    pub fn sql(&self) -> &str {
        &self.text.sql
    }

    /// How many values `?` and `$1`, `$2`, ... take.
    pub fn parameter_count(&self) -> usize {
        self.text.statements.first().map_or(0, |statement| statement.parameter_count)
    }

    /// Names of the parameters that have one, without the dollar.
    pub fn parameter_names(&self) -> &[String] {
        self.text.statements.first().map_or(&[], |statement| &statement.parameter_names)
    }

    /// The connection that it belongs to.
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Runs it.
    pub fn execute(&self, parameters: &Parameters) -> Result<QueryResult> {
        self.execute_with(parameters, None)
    }

    /// As [`Connection::execute_with`].
    pub fn execute_with(&self, parameters: &Parameters, host: Option<&Arc<dyn Host>>) -> Result<QueryResult> {
        self.run(parameters, host, None)
    }

    /// As [`Connection::stream_with`].
    pub fn stream_with(
        &self,
        parameters: &Parameters,
        host: Option<&Arc<dyn Host>>,
        first_bytes: usize,
    ) -> Result<(QueryResult, Option<Rest>)> {
        let rest = Mutex::new(None);
        let streaming = self.connection.0.nested.is_none().then_some(Streaming { first_bytes, rest: &rest });
        let first = self.run(parameters, host, streaming)?;
        Ok((first, rest.into_inner()))
    }

    /// As [`Connection::execute_many`].
    pub fn execute_many(&self, sets: &[Parameters], host: Option<&Arc<dyn Host>>) -> Result<QueryResult> {
        let parameters = &Parameters::default();
        self.connection.guarded(
            |session, interrupt| {
                let (host, text) = (host.map(|host| &**host), Some(&*self.text));
                let given = Given { parameters, host, interrupt, streaming: None, text };
                self.connection.run_many(session, &self.text, sets, given)
            },
            host,
        )
    }

    fn run(
        &self,
        parameters: &Parameters,
        host: Option<&Arc<dyn Host>>,
        streaming: Option<Streaming<'_>>,
    ) -> Result<QueryResult> {
        self.connection.guarded(
            |session, interrupt| {
                let host = host.map(|host| &**host);
                let given = Given { parameters, host, interrupt, streaming, text: None };
                self.connection.run_text(session, &self.text, given)
            },
            host,
        )
    }
}

impl std::fmt::Debug for PreparedStatement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("PreparedStatement").field(&self.sql()).finish()
    }
}
