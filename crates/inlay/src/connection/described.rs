//! What the last statement of a text gives, without running it: for hosts whose relations run when they are read.

use super::{Connection, Extent};
use crate::execute::{self, Given};
use crate::host::{Host, Parameters, check_parameter_count};
use crate::result::QueryResult;
use crate::session::{Session, Text};
use inlay_kernels::zone::Zone;
use inlay_sql::parser::ast;
use inlay_types::sql_text as sql;
use inlay_types::{Error, Interrupt, LogicalType, Result, Value};
use std::sync::Arc;
use std::time::Duration;

/// The last statement of a text, the others of which were run.
#[derive(Clone, Debug)]
pub struct Described {
    /// Its own text.
    pub sql: String,
    /// Names and types of its columns, if it is a query that changes nothing.
    pub columns: Option<Vec<(String, LogicalType)>>,
}

impl Connection {
    /// Runs all statements of `sql` but the last one, and binds that one if it is a query.
    pub fn describe_with(
        &self,
        sql: &str,
        extent: Extent,
        parameters: &Parameters,
        host: Option<&Arc<dyn Host>>,
    ) -> Result<Described> {
        self.guarded(
            |session, interrupt| self.described(session, interrupt, (sql, extent), parameters, host),
            host,
        )
    }

    fn described(
        &self,
        session: &mut Session,
        interrupt: &Interrupt,
        (sql, extent): (&str, Extent),
        parameters: &Parameters,
        host: Option<&Arc<dyn Host>>,
    ) -> Result<Described> {
        let text = session.texts.get(sql, &self.0.budget)?;
        extent.check(&text)?;
        self.runs(super::Running::new(&text));
        let Some((last, first)) = text.statements.split_last() else {
            return Ok(Described { sql: String::new(), columns: None });
        };
        let host = host.map(|host| &**host);
        for statement in first {
            let parameters = &Parameters::default();
            self.run(session, statement, Given { parameters, host, interrupt, streaming: None, text: None })?;
        }
        check_parameter_count(last, parameters)?;
        let given = Given { parameters, host, interrupt, streaming: None, text: None };
        let columns = match &self.0.far {
            Some(far) if matches!(last.kind, ast::StatementKind::Query(_)) => {
                far.shape(last, given, &self.means(session)?)?.1
            }
            Some(_) => None,
            None => execute::described(&self.database()?, session, last, given)?,
        };
        Ok(Described { sql: last.text().trim().to_string(), columns })
    }

    /// As [`Connection::describe_with`], of the table that the statement `insert` puts rows into: who may do that need not see any.
    pub(super) fn describe_target(
        &self,
        query: &str,
        insert: &str,
        host: Option<&Arc<dyn Host>>,
    ) -> Result<Described> {
        let none = Parameters::default();
        self.guarded(
            |session, interrupt| {
                if session.who.is_some() {
                    session.is_unasked = true;
                    let given =
                        Given { parameters: &none, host: None, interrupt, streaming: None, text: None };
                    // What is no table may be the name of a file, which nobody reads unasked.
                    session.is_unasked = self.puts_into_table(session, insert, given)?;
                }
                self.described(session, interrupt, (query, Extent::Statement), &none, host)
            },
            host,
        )
    }

    /// Whether a statement is an INSERT into a table that there is.
    fn puts_into_table(&self, session: &mut Session, insert: &str, given: Given<'_>) -> Result<bool> {
        let text = Text::parse(insert, false, &self.0.budget)?;
        let [statement] = &*text.statements else { return Ok(false) };
        let mut statement = statement.clone();
        let ast::StatementKind::Insert(insert) = &mut statement.kind else { return Ok(false) };
        insert.columns.clear();
        (insert.by_name, insert.source, insert.on_conflict, insert.returning) = (false, None, None, None);
        Ok(execute::shape(&self.database()?, session, &statement, given).is_ok())
    }

    /// As [`Connection::describe_with`] for one query of the program's own, whatever the session's role may read: nothing of `sql` may be
    /// the role's.
    pub fn describe_unasked(&self, sql: &str, host: Option<&Arc<dyn Host>>) -> Result<Described> {
        let query = (sql, Extent::Statement);
        self.guarded(
            |session, interrupt| {
                session.is_unasked = true;
                self.described(session, interrupt, query, &Parameters::default(), host)
            },
            host,
        )
    }

    /// The rows of one query of the program's own, whatever the session's role may read: nothing of `sql` may be the role's.
    ///
    /// ```
    /// # fn main() -> inlay::Result<()> {
    /// let database = inlay::Database::open_in_memory()?;
    /// database.connect().execute("CREATE TABLE t AS SELECT 7 AS a; CREATE USER ann")?;
    /// let ann = database.connect_as("ann")?;
    /// assert!(ann.execute("FROM t").is_err());
    /// assert_eq!(ann.query_unasked("FROM t", None)?.value(0, 0)?.to_string(), "7");
    /// assert!(ann.execute("FROM t").is_err());
    /// # Ok(())
    /// # }
    /// ```
    pub fn query_unasked(&self, sql: &str, host: Option<&Arc<dyn Host>>) -> Result<QueryResult> {
        self.guarded(
            |session, interrupt| {
                // Not among the session's texts, which keep plans for whoever sends them again.
                let text = Text::parse(sql, false, &self.0.budget)?;
                Extent::Statement.check(&text)?;
                self.runs(super::Running::new(&text));
                let is_query =
                    |statement: &ast::Statement| matches!(statement.kind, ast::StatementKind::Query(_));
                let Some(query) = text.statements.first().filter(|statement| is_query(statement)) else {
                    return Err(Error::invalid_argument("only a query is run without asking"));
                };
                session.is_unasked = true;
                let (host, parameters) = (host.map(|host| &**host), &Parameters::default());
                self.run(session, query, Given { parameters, host, interrupt, streaming: None, text: None })
            },
            host,
        )
    }

    /// Gives a setting of the session or its database a value, as SET does.
    ///
    /// ```
    /// # fn main() -> inlay::Result<()> {
    /// let connection = inlay::Database::open_in_memory()?.connect();
    /// connection.set("threads", &2.into(), None)?;
    /// assert_eq!(connection.get("threads", None)?.map(|value| value.to_string()), Some("2".to_string()));
    /// assert!(connection.get("no such setting", None).is_err());
    /// # Ok(())
    /// # }
    /// ```
    pub fn set(&self, name: &str, value: &Value, host: Option<&Arc<dyn Host>>) -> Result<()> {
        let set = format!("SET {} = {}", sql::ident(name), value.to_sql());
        self.execute_one(&set, &Parameters::default(), host).map(drop)
    }

    /// The value of a setting, `None` where it has none. Waits for a statement that runs; see [`Connection::setting`].
    pub fn get(&self, name: &str, host: Option<&Arc<dyn Host>>) -> Result<Option<Value>> {
        let get = format!("SELECT current_setting({})", sql::literal(name));
        let answer = self.execute_one(&get, &Parameters::default(), host)?;
        let value = answer.value(0, 0)?;
        Ok((!value.is_null()).then_some(value))
    }

    /// After how long a statement's progress is to be shown, if it is; `None` also while a statement runs.
    pub fn progress_bar_after(&self) -> Option<Duration> {
        self.0.session.try_lock()?.settings.progress_bar_after()
    }

    /// The time zone in which the session shows and reads moments. Waits for a statement that runs.
    pub fn time_zone(&self) -> Result<Arc<Zone>> {
        self.guarded(|session, _| Ok(session.settings.time_zone()), None)
    }

    /// The value of a setting of the session or its database; `None` also while a statement runs.
    pub fn setting(&self, name: &str) -> Option<Value> {
        let session = self.0.session.try_lock()?;
        crate::settings::get(name, self.database().ok()?.settings(), &session.settings)
    }
}
