//! What a session is set to, as hosts ask and say it without SQL: the current catalog and schema, how transactions are begun, and
//! whether statements commit by themselves.

use super::Connection;
use crate::execute::Given;
use crate::host::Parameters;
use crate::session::Text;
use inlay_catalog::MAIN;
use inlay_sql::plan::statement::Isolation;
use inlay_types::sql_text as sql;
use inlay_types::{Error, Result};

impl Connection {
    /// The database that names without one mean.
    ///
    /// ```
    /// # fn main() -> inlay::Result<()> {
    /// let connection = inlay::Database::open_in_memory()?.connect();
    /// connection.execute("CREATE SCHEMA mine; ATTACH ':memory:' AS other")?;
    /// assert_eq!((connection.catalog()?, connection.schema()?), ("memory".to_string(), "main".to_string()));
    /// connection.set_schema("mine")?;
    /// assert_eq!(connection.schema()?, "mine");
    /// connection.set_catalog("other")?;
    /// assert_eq!((connection.catalog()?, connection.schema()?), ("other".to_string(), "main".to_string()));
    /// # Ok(())
    /// # }
    /// ```
    pub fn catalog(&self) -> Result<String> {
        if self.0.far.is_some() {
            return Ok(self.execute("SELECT current_database()")?.value(0, 0)?.to_string());
        }
        self.guarded(|session, _| Ok(session.names.catalog(&self.database()?)), None)
    }

    /// Makes names without a database mean this one, as USE does.
    pub fn set_catalog(&self, name: &str) -> Result<()> {
        self.steer(|_| Ok(format!("USE {}", sql::ident(name))))
    }

    /// The schema that new objects without one go to.
    pub fn schema(&self) -> Result<String> {
        if self.0.far.is_some() {
            return Ok(self.execute("SELECT current_schema()")?.value(0, 0)?.to_string());
        }
        let first = |schemas: &[String]| schemas.first().cloned().unwrap_or_else(|| MAIN.to_string());
        self.guarded(|session, _| Ok(first(&session.names.schemas)), None)
    }

    /// Makes this schema of the current database the one that names without one are looked up in first.
    pub fn set_schema(&self, name: &str) -> Result<()> {
        self.steer(|catalog| Ok(format!("USE {}", sql::path([catalog, name]))))
    }

    /// How later transactions see each other; `None` is the default, serializable.
    ///
    /// ```
    /// # fn main() -> inlay::Result<()> {
    /// use inlay::Isolation;
    /// let connection = inlay::Database::open_in_memory()?.connect();
    /// connection.set_isolation(Some(Isolation::Snapshot))?;
    /// connection.set_read_only(true)?;
    /// assert_eq!((connection.isolation()?, connection.is_read_only()?), (Some(Isolation::Snapshot), true));
    /// assert_eq!(connection.execute("CREATE TABLE t (a INTEGER)").unwrap_err().kind(), inlay::ErrorKind::ReadOnly);
    /// # Ok(())
    /// # }
    /// ```
    pub fn isolation(&self) -> Result<Option<Isolation>> {
        self.guarded(|session, _| Ok(session.settings.modes.isolation), None)
    }

    /// Says how later transactions see each other.
    pub fn set_isolation(&self, level: Option<Isolation>) -> Result<()> {
        let instead = "BEGIN TRANSACTION ISOLATION LEVEL ... says it of one transaction";
        self.database()?.check_here("an isolation level for all transactions", instead)?;
        self.guarded(
            |session, _| {
                session.settings.modes.isolation = level;
                Ok(())
            },
            None,
        )
    }

    /// Whether later transactions only read.
    pub fn is_read_only(&self) -> Result<bool> {
        self.guarded(|session, _| Ok(session.settings.modes.read_only.unwrap_or(false)), None)
    }

    /// Says whether later transactions only read.
    pub fn set_read_only(&self, is_read_only: bool) -> Result<()> {
        let instead = "BEGIN TRANSACTION READ ONLY says it of one transaction";
        self.database()?.check_here("a promise to read only", instead)?;
        self.guarded(
            |session, _| {
                session.settings.modes.read_only = Some(is_read_only);
                Ok(())
            },
            None,
        )
    }

    /// Whether each statement outside of a transaction commits by itself.
    ///
    /// ```
    /// # fn main() -> inlay::Result<()> {
    /// let connection = inlay::Database::open_in_memory()?.connect();
    /// connection.set_autocommit(false)?;
    /// connection.execute("CREATE TABLE t (a INTEGER)")?;
    /// assert!(connection.in_transaction() && connection.rollback()?);
    /// assert!(connection.execute("FROM t").is_err());
    /// # Ok(())
    /// # }
    /// ```
    pub fn autocommit(&self) -> Result<bool> {
        self.guarded(|session, _| Ok(!session.begins_transactions), None)
    }

    /// Says whether each statement commits by itself. If not, the first one that reads or changes something begins a transaction,
    /// until [`Connection::commit`] or [`Connection::rollback`]. One that is open is committed when this is switched on.
    pub fn set_autocommit(&self, is_on: bool) -> Result<()> {
        self.guarded(
            |session, interrupt| {
                if is_on && session.begins_transactions && self.is_begun(session) {
                    let text = Text::parse("COMMIT", false, &self.0.budget)?;
                    let parameters = &Parameters::default();
                    let given = Given { parameters, host: None, interrupt, streaming: None, text: None };
                    self.run_text(session, &text, given)?;
                }
                session.begins_transactions = !is_on;
                Ok(())
            },
            None,
        )
    }

    /// Runs a USE, whose text may depend on the current catalog.
    fn steer(&self, sql: impl FnOnce(&str) -> Result<String>) -> Result<()> {
        if self.0.far.is_some() {
            return self.execute(&sql(&self.catalog()?)?).map(drop);
        }
        self.guarded(
            |session, interrupt| {
                if session.nested.is_some() {
                    let message = "a query inside of a function has the names of the statement that calls it";
                    return Err(Error::ReadOnly { message: message.to_string() });
                }
                let sql = sql(&session.names.catalog(&self.database()?))?;
                let text = Text::parse(&sql, false, &self.0.budget)?;
                let parameters = &Parameters::default();
                let given = Given { parameters, host: None, interrupt, streaming: None, text: None };
                self.run_text(session, &text, given).map(drop)
            },
            None,
        )
    }
}
