//! A file that is attached, and what transactions see of it.

use crate::definitions::Definitions;
use crate::file::{self, Watch, failed};
use crate::scan::Scanned;
use crate::tables::{self, Kind, Table};
use inlay::types::{Error, Interrupt, Reservation, Result};
use inlay::{Database, ForeignDatabase, ForeignFile, ForeignSnapshot, TableSource};
use parking_lot::Mutex;
use rusqlite::Connection;
use std::fmt;
use std::sync::Arc;

/// Connections that nobody uses are kept, but no more than so many.
const IDLE_MAX: usize = 8;
/// Bytes of what is known of a table, for each of its text.
const DEFINITION_SIZE: usize = 16;

/// See the module documentation.
pub struct Attached {
    shared: Arc<Shared>,
    definitions: Definitions,
}

/// What all transactions share.
pub(crate) struct Shared {
    file: ForeignFile,
    tables: Vec<Mutex<Arc<Table>>>,
    /// What changes with the definitions of the file.
    version: i64,
    idle: Mutex<Vec<Arc<Link>>>,
    _held: Reservation,
}

/// A connection.
pub(crate) struct Link {
    pub connection: Mutex<Connection>,
    pub watch: Watch,
}

/// A transaction of SQLite, which ends with its last user.
pub(crate) struct Session {
    pub link: Arc<Link>,
    pub file: ForeignFile,
    shared: Arc<Shared>,
}

impl Attached {
    /// Opens a file and reads what is in it.
    pub fn open(file: ForeignFile, only: Option<&str>) -> Result<Self> {
        let (connection, watch) = file::open(&file)?;
        watch.set(&file.interrupt);
        let version = file::begin(&connection, &file, &file.interrupt)?;
        let (tables, mut remarks) = tables::tables(&connection, &file, only)?;
        let texts: usize = tables.iter().map(|table| table.sql.len()).sum();
        let held = file.budget.reserve((texts * DEFINITION_SIZE) as u64)?;
        let definitions = match only {
            None => Definitions::of(&connection, &file, &tables, &mut remarks)?,
            Some(_) => Definitions::none()?,
        };
        connection.execute_batch("ROLLBACK").map_err(|error| failed(&file, &error))?;
        let tables = tables.into_iter().map(|table| Mutex::new(Arc::new(table))).collect();
        let idle = Mutex::new(vec![Arc::new(Link { connection: Mutex::new(connection), watch })]);
        let shared = Arc::new(Shared { file, tables, version, idle, _held: held });
        Ok(Self { shared, definitions: definitions.with_remarks(remarks) })
    }
}

impl fmt::Debug for Attached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Attached({})", self.shared.file.name)
    }
}

impl ForeignDatabase for Attached {
    fn definitions(&self) -> &Database {
        &self.definitions.database
    }

    fn left_out(&self) -> &[String] {
        &self.definitions.left_out
    }

    fn begin(&self) -> Arc<dyn ForeignSnapshot> {
        Arc::new(Snapshot {
            begun: Arc::new(Begun { shared: Arc::clone(&self.shared), session: Mutex::default() }),
            others: self.definitions.others.clone(),
        })
    }

    fn verify(&self, interrupt: &Interrupt) -> Result<Vec<String>> {
        let session = self.shared.session(interrupt)?;
        let connection = session.link.connection.lock();
        let problems = || -> rusqlite::Result<Vec<String>> {
            let mut statement = connection.prepare("PRAGMA integrity_check")?;
            statement.query_map([], |row| row.get(0))?.collect()
        };
        match problems() {
            Ok(problems) => Ok(problems.into_iter().filter(|problem| problem != "ok").collect()),
            Err(error) => match failed(&self.shared.file, &error) {
                Error::Corrupt { message } => Ok(vec![message]),
                other => Err(other),
            },
        }
    }
}

impl Shared {
    /// A new transaction.
    fn session(self: &Arc<Self>, interrupt: &Interrupt) -> Result<Arc<Session>> {
        let idle = self.idle.lock().pop();
        let link = match idle {
            Some(link) => link,
            None => {
                let (connection, watch) = file::open(&self.file)?;
                Arc::new(Link { connection: Mutex::new(connection), watch })
            }
        };
        link.watch.set(interrupt);
        let version = file::begin(&link.connection.lock(), &self.file, interrupt)?;
        let session = Session { link, file: self.file.clone(), shared: Arc::clone(self) };
        if version != self.version {
            let name = &self.file.name;
            return Err(Error::invalid_argument(format!(
                "the tables of \"{name}\" changed since it was attached"
            ))
            .with_hint("DETACH and ATTACH it again"));
        }
        Ok(Arc::new(session))
    }
}

impl Drop for Session {
    /// To close a file would drop locks that another copy of SQLite has on it: connections are kept.
    fn drop(&mut self) {
        self.link.watch.set(&Interrupt::default());
        let is_over = self.link.connection.lock().execute_batch("ROLLBACK").is_ok();
        let mut idle = self.shared.idle.lock();
        if is_over && idle.len() < IDLE_MAX {
            idle.push(Arc::clone(&self.link));
        }
    }
}

/// What the tables of a transaction have in common: a transaction of SQLite, begun when one of them is read.
pub(crate) struct Begun {
    shared: Arc<Shared>,
    /// Whether the transaction has ended, and what was begun for it.
    session: Mutex<(bool, Option<Arc<Session>>)>,
}

impl Begun {
    /// The transaction of SQLite. A plan that outlives ours has one of its own.
    pub fn session(&self, interrupt: &Interrupt) -> Result<Arc<Session>> {
        let mut begun = self.session.lock();
        if let Some(session) = &begun.1 {
            return Ok(Arc::clone(session));
        }
        let session = self.shared.session(interrupt)?;
        if !begun.0 {
            begun.1 = Some(Arc::clone(&session));
        }
        Ok(session)
    }
}

/// What a transaction sees.
struct Snapshot {
    begun: Arc<Begun>,
    others: Arc<[String]>,
}

impl ForeignSnapshot for Snapshot {
    fn table(&self, name: &str) -> Result<Option<Arc<dyn TableSource>>> {
        let shared = &self.begun.shared;
        let found = shared.tables.iter().find(|table| table.lock().name.eq_ignore_ascii_case(name));
        let Some(slot) = found else { return Ok(None) };
        let table = Arc::clone(&slot.lock());
        let table = match table.kind {
            Kind::View if !shared.file.all_varchar => self.typed(slot, table)?,
            Kind::Table | Kind::View | Kind::Virtual => table,
        };
        Ok(Some(Arc::new(Scanned::new(table, Arc::clone(&self.begun), shared.file.name.clone()))))
    }

    fn others(&self) -> Vec<String> {
        self.others.to_vec()
    }

    fn end(&self) {
        let session = {
            let mut begun = self.begun.session.lock();
            begun.0 = true;
            begun.1.take()
        };
        drop(session);
    }
}

impl Snapshot {
    /// A view whose columns have types by its first rows, where none are declared. They are found out once.
    fn typed(&self, slot: &Mutex<Arc<Table>>, table: Arc<Table>) -> Result<Arc<Table>> {
        if table.is_typed {
            return Ok(table);
        }
        let interrupt = inlay::current_limits().map(|limits| limits.interrupt).unwrap_or_default();
        let session = self.begun.session(&interrupt)?;
        let mut typed = Table::clone(&table);
        let connection = session.link.connection.lock();
        session.link.watch.set(&interrupt);
        tables::by_rows(&connection, &mut typed).map_err(|error| failed(&session.file, &error))?;
        drop(connection);
        let typed = Arc::new(typed);
        *slot.lock() = Arc::clone(&typed);
        Ok(typed)
    }
}
