//! Tables that come with a statement, as a ready [`Host`].

use crate::host::{Entered, Host, HostScope, HostTable, PATIENCE};
use inlay_catalog::TableSource;
use inlay_types::Result;
use std::sync::Arc;
use std::time::Duration;

/// A list of tables by name, which a statement sees before anything else of these names. Upper and lower case are the same.
///
/// ```
/// # fn main() -> inlay::Result<()> {
/// use inlay::{ColumnSource, Host, Parameters, Tables, Value};
/// use std::sync::Arc;
/// let column = inlay::vector_of_values(vec![Value::from(40), Value::from(2)])?;
/// let rows = ColumnSource::new("my rows", vec![("a".to_string(), column)])?;
/// let host: Arc<dyn Host> = Arc::new(Tables::one("my rows", Arc::new(rows)));
/// let connection = inlay::Database::open_in_memory()?.connect();
/// let answer = connection.execute_with("SELECT sum(a) FROM \"my rows\"", &Parameters::default(), Some(&host))?;
/// assert_eq!(answer.value(0, 0)?.to_string(), "42");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct Tables {
    tables: Vec<(String, HostTable)>,
    entered: Option<Entered>,
}

impl Tables {
    /// These tables.
    pub fn new(tables: Vec<(String, HostTable)>) -> Self {
        Self { tables, entered: None }
    }

    /// One table of rows.
    pub fn one(name: impl Into<String>, rows: Arc<dyn TableSource>) -> Self {
        Self::new(vec![(name.into(), HostTable::Rows(rows))])
    }

    /// The same for a call that began then, see [`crate::Connection::enter`]: an interrupt since ends its statements, also between
    /// two of them.
    pub fn since(self, entered: Entered) -> Self {
        Self { entered: Some(entered), ..self }
    }

    /// Adds a table behind the others.
    pub fn push(&mut self, name: impl Into<String>, table: HostTable) {
        self.tables.push((name.into(), table));
    }

    /// The table of a name.
    pub fn get(&self, name: &str) -> Option<&HostTable> {
        self.tables.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, table)| table)
    }

    /// All of them, in their order.
    pub fn as_slice(&self) -> &[(String, HostTable)] {
        &self.tables
    }
}

impl Host for Tables {
    fn find_table(&self, name: &str, _scope: HostScope) -> Result<Option<HostTable>> {
        Ok(self.get(name).cloned())
    }

    fn gives_tables(&self) -> bool {
        !self.tables.is_empty()
    }

    fn is_interrupted(&self) -> bool {
        false
    }

    fn has_signals(&self) -> bool {
        false
    }

    fn entered(&self) -> Option<Entered> {
        self.entered
    }
}

/// A host with one more table in front of those that it has.
pub(crate) struct Over {
    name: String,
    table: HostTable,
    host: Option<Arc<dyn Host>>,
}

impl Over {
    /// A table in front of those of a host, if there is one.
    pub fn table(name: &str, table: HostTable, host: Option<&Arc<dyn Host>>) -> Arc<dyn Host> {
        Arc::new(Self { name: name.to_string(), table, host: host.cloned() })
    }
}

impl Host for Over {
    fn find_table(&self, name: &str, scope: HostScope) -> Result<Option<HostTable>> {
        if self.name.eq_ignore_ascii_case(name) {
            return Ok(Some(self.table.clone()));
        }
        self.host.as_ref().map_or(Ok(None), |host| host.find_table(name, scope))
    }

    fn gives_tables(&self) -> bool {
        true
    }

    fn is_interrupted(&self) -> bool {
        self.host.as_ref().is_some_and(|host| host.is_interrupted())
    }

    fn has_signals(&self) -> bool {
        self.host.as_ref().is_some_and(|host| host.has_signals())
    }

    fn patience(&self) -> Duration {
        self.host.as_ref().map_or(PATIENCE, |host| host.patience())
    }

    fn entered(&self) -> Option<Entered> {
        self.host.as_ref().and_then(|host| host.entered())
    }

    fn view_is_kept(&self, name: &str, sql: &str) {
        if let Some(host) = &self.host {
            host.view_is_kept(name, sql);
        }
    }

    fn note(&self, message: &str) {
        if let Some(host) = &self.host {
            host.note(message);
        }
    }
}
