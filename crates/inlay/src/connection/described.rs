//! What the last statement of a text gives, without running it: for hosts whose relations run when they are read.

use super::{Connection, Extent};
use crate::execute::{self, Given};
use crate::host::{Host, Parameters, check_parameter_count};
use inlay_kernels::zone::Zone;
use inlay_sql::parser::ast;
use inlay_types::sql_text as sql;
use inlay_types::{LogicalType, Result, Value};
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
            |session, interrupt| {
                let text = session.texts.get(sql, &self.0.budget)?;
                extent.check(&text)?;
                self.runs(super::Running::new(&text));
                let Some((last, first)) = text.statements.split_last() else {
                    return Ok(Described { sql: String::new(), columns: None });
                };
                let host = host.map(|host| &**host);
                for statement in first {
                    let parameters = &Parameters::default();
                    self.run(
                        session,
                        statement,
                        Given { parameters, host, interrupt, streaming: None, text: None },
                    )?;
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
            },
            host,
        )
    }

    /// As [`Connection::describe_with`], whatever may be read: who may put rows into a table need not see any.
    pub(super) fn describe_unasked(&self, sql: &str, host: Option<&Arc<dyn Host>>) -> Result<Described> {
        let unasked = |is_unasked: bool| {
            self.guarded(
                |session, _| {
                    session.is_unasked = is_unasked;
                    Ok(())
                },
                host,
            )
        };
        unasked(true)?;
        let described = self.describe_with(sql, Extent::Statement, &Parameters::default(), host);
        unasked(false)?;
        described
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
