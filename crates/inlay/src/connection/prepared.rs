//! Statements that are parsed once and run many times.

use super::cursor::{Cursor, FIRST_BYTES};
use super::{Connection, Running};
use crate::command::Command;
use crate::execute::{self, Given};
use crate::host::{Host, Parameters};
use crate::rest::{Rest, Streaming};
use crate::result::QueryResult;
use crate::session::Text;
use inlay_types::{Error, LogicalType, Result, Value};
use parking_lot::Mutex;
use std::sync::Arc;

/// What a prepared statement takes and gives, as far as that is known without running it.
#[derive(Clone, Debug)]
pub struct StatementShape {
    /// What it is.
    pub command: Command,
    /// Its parameters, those by position first.
    pub parameters: Vec<ParameterShape>,
    /// Names and types of the columns that it gives; `None` if it gives no rows.
    pub columns: Option<Vec<(String, LogicalType)>>,
}

/// A parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct ParameterShape {
    /// Its name without the dollar, if it has one.
    pub name: Option<String>,
    /// The type that the statement converts it to; `None` where any will do.
    pub ty: Option<LogicalType>,
}

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
                let text = Text::parse(sql, true, &self.0.budget)?;
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

    /// What it is.
    pub fn command(&self) -> Command {
        self.text.statements.first().map_or(Command::Empty, |statement| Command::of(&statement.kind))
    }

    /// What it takes and gives, without running it or anything else.
    ///
    /// ```
    /// # fn main() -> inlay::Result<()> {
    /// use inlay::types::LogicalType;
    /// let connection = inlay::Database::open_in_memory()?.connect();
    /// connection.execute("CREATE TABLE t (id BIGINT, name VARCHAR)")?;
    /// let shape = connection.prepare("SELECT name, id + 1 AS next FROM t WHERE id = ? AND name LIKE $name")?.describe(None)?;
    /// let types: Vec<_> = shape.parameters.iter().map(|parameter| parameter.ty.clone()).collect();
    /// assert_eq!(types, [Some(LogicalType::BigInt), Some(LogicalType::Varchar)]);
    /// assert_eq!(shape.columns.unwrap()[1], ("next".to_string(), LogicalType::BigInt));
    /// # Ok(())
    /// # }
    /// ```
    pub fn describe(&self, host: Option<&Arc<dyn Host>>) -> Result<StatementShape> {
        let (count, names) = (self.parameter_count(), self.parameter_names());
        // What no value is known of is NULL.
        let named = names.iter().map(|name| (name.clone(), Value::Null)).collect();
        let parameters = &Parameters { positional: vec![Value::Null; count], named };
        let (types, columns) = self.connection.guarded(
            |session, interrupt| {
                let Some(statement) = self.text.statements.first() else { return Ok((Vec::new(), None)) };
                let host = host.map(|host| &**host);
                let given = Given { parameters, host, interrupt, streaming: None, text: None };
                match &self.connection.0.far {
                    Some(far) => far.shape(statement, given, &self.connection.means(session)?),
                    None => execute::shape(&self.connection.database()?, session, statement, given),
                }
            },
            host,
        )?;
        let unnamed = std::iter::repeat_n(None, count).chain(names.iter().cloned().map(Some));
        let types = types.into_iter().chain(std::iter::repeat(None));
        let parameters = unnamed.zip(types).map(|(name, ty)| ParameterShape { name, ty }).collect();
        Ok(StatementShape { command: self.command(), parameters, columns })
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

    /// As [`Connection::stream`].
    pub fn stream(&self, parameters: &Parameters, host: Option<&Arc<dyn Host>>) -> Result<Cursor> {
        let (first, rest) = self.stream_with(parameters, host, FIRST_BYTES)?;
        Ok(Cursor::new(self.connection.clone(), first, rest))
    }

    /// As [`Connection::execute_many`].
    pub fn execute_many(&self, sets: &[Parameters], host: Option<&Arc<dyn Host>>) -> Result<QueryResult> {
        let parameters = &Parameters::default();
        self.connection.guarded(
            |session, interrupt| {
                self.connection.runs(Running::new(&self.text));
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
                self.connection.runs(Running::new(&self.text));
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
