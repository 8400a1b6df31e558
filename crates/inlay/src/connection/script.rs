//! The statements of a text one after the other, each with an answer of its own.

use super::cursor::{Cursor, FIRST_BYTES};
use super::{Connection, Running};
use crate::command::Command;
use crate::execute::Given;
use crate::host::{Host, Parameters, check_parameter_count, in_order, takes_parameters};
use crate::rest::Streaming;
use crate::session::Text;
use inlay_types::Result;
use parking_lot::Mutex;
use std::sync::Arc;

/// A text whose statements are run one by one. Each is its own transaction, if none is open; what comes behind one that failed is
/// there to be run or left.
///
/// ```
/// # fn main() -> inlay::Result<()> {
/// let connection = inlay::Database::open_in_memory()?.connect();
/// let mut script = connection.script("CREATE TABLE t (a INTEGER); INSERT INTO t VALUES (1), (2); FROM t")?;
/// let mut tags = Vec::new();
/// while let Some(answer) = script.next(&Default::default(), None)? {
///     tags.push(answer.header().command_tag());
/// }
/// assert_eq!(tags, ["CREATE TABLE", "INSERT 0 2", "SELECT"]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Script {
    connection: Connection,
    text: Arc<Text>,
    next: usize,
}

impl Connection {
    /// Reads a text, whose statements are going to be run one by one.
    pub fn script(&self, sql: &str) -> Result<Script> {
        let text = self.guarded(|session, _| session.texts.get(sql, &self.0.budget), None)?;
        Ok(Script { connection: self.clone(), text, next: 0 })
    }
}

impl Script {
    /// How many statements there are.
    pub fn len(&self) -> usize {
        self.text.statements.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.text.statements.is_empty()
    }

    /// Whether the next statement is the last.
    pub fn is_last(&self) -> bool {
        self.next + 1 == self.len()
    }

    /// The text of the next statement, and what it is.
    pub fn peek(&self) -> Option<(&str, Command)> {
        let statement = self.text.statements.get(self.next)?;
        Some((statement.text().trim(), Command::of(&statement.kind)))
    }

    /// Leaves the next statement out.
    pub fn skip(&mut self) {
        self.next = self.text.statements.len().min(self.next + 1);
    }

    /// Runs the next statement; `None` behind the last. Parameters are for statements that have some.
    pub fn next(&mut self, parameters: &Parameters, host: Option<&Arc<dyn Host>>) -> Result<Option<Cursor>> {
        self.next_streaming(parameters, host, FIRST_BYTES)
    }

    /// As [`Script::next`], with about so many bytes of rows computed at once; the others when they are asked for.
    pub fn next_streaming(
        &mut self,
        parameters: &Parameters,
        host: Option<&Arc<dyn Host>>,
        first_bytes: usize,
    ) -> Result<Option<Cursor>> {
        let (text, index) = (Arc::clone(&self.text), self.next);
        let Some(statement) = text.statements.get(index) else { return Ok(None) };
        self.next += 1;
        let rest = Mutex::new(None);
        let connection = &self.connection;
        let streams = connection.0.nested.is_none();
        let streaming = streams.then_some(Streaming { first_bytes, rest: &rest });
        let first = connection.guarded(
            |session, interrupt| {
                connection.runs(Running::new(&text));
                let none = Parameters::default();
                let parameters = if takes_parameters(statement) { parameters } else { &none };
                let parameters = &*in_order(statement, parameters);
                check_parameter_count(statement, parameters)?;
                // A kept plan was made for what the names mean to others, and is of a text of one statement.
                let keeps = text.statements.len() == 1 && !host.is_some_and(|host| host.gives_tables());
                let (host, text) = (host.map(|host| &**host), keeps.then_some(&*text));
                let given = Given { parameters, host, interrupt, streaming, text };
                connection.run(session, statement, given)
            },
            host,
        )?;
        Ok(Some(Cursor::new(self.connection.clone(), first, rest.into_inner())))
    }
}

impl std::fmt::Debug for Script {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Script").field("statements", &self.len()).field("next", &self.next).finish()
    }
}
