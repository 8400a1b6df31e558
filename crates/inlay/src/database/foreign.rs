//! Databases of other systems, which ATTACH reads and nobody changes.
//!
//! A [`ForeignKind`] is brought by the program that opens a database, so that who does not need it has not to link it. It gives a
//! [`ForeignDatabase`]: definitions, which are a database in memory whose tables have no rows, so that the catalog, constraints and
//! COPY FROM DATABASE find them where they look for them anyway; and a [`ForeignSnapshot`] per transaction, which has the rows.

use super::{Attached, Database, is_memory};
use crate::text::same_name;
use inlay_catalog::access::{Access, Door};
use inlay_catalog::{TableFunction, TableSource, TypeNames};
use inlay_storage::store::Store;
use inlay_types::{Error, Interrupt, MemoryBudget, Result, Value};
use parking_lot::Mutex;
use std::fmt::Debug;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Bytes of a file by which its kind is known.
const FIRST_BYTES: usize = 64;

/// A kind of files that ATTACH reads.
pub trait ForeignKind: Send + Sync + Debug {
    /// What TYPE says.
    fn name(&self) -> &'static str;
    /// The table function that reads one table of a file.
    fn scan_function(&self) -> &'static str;
    /// Whether a file that begins so is one.
    fn is_one(&self, first: &[u8]) -> bool;
    /// What is appended to the name of a file that begins so for those that are written beside it, though it is only read.
    fn companions(&self, first: &[u8]) -> &'static [&'static str];
    /// Opens a file. `only` is the table that is wanted, if it is one.
    fn open(&self, file: ForeignFile, only: Option<&str>) -> Result<Arc<dyn ForeignDatabase>>;
}

/// A file that is opened.
#[derive(Clone, Debug)]
pub struct ForeignFile {
    /// Where it is.
    pub path: PathBuf,
    /// As the statement wrote it.
    pub name: String,
    /// Links on the way to it are refused, for what it is was decided by its name.
    pub no_links: bool,
    /// All columns are texts.
    pub all_varchar: bool,
    /// Memory of the database.
    pub budget: MemoryBudget,
    /// Of the statement that opens it.
    pub interrupt: Interrupt,
}

/// An attached file.
pub trait ForeignDatabase: Send + Sync + Debug {
    /// Its tables, keys, indexes and views, as far as they can be said here, without rows.
    fn definitions(&self) -> &Database;
    /// What could not be said, one remark each.
    fn left_out(&self) -> &[String];
    /// What a transaction sees of it.
    fn begin(&self) -> Arc<dyn ForeignSnapshot>;
    /// Problems of the file.
    fn verify(&self, interrupt: &Interrupt) -> Result<Vec<String>>;
}

/// What a transaction sees of a file.
pub trait ForeignSnapshot: Send + Sync {
    /// A table or view of the file.
    fn table(&self, name: &str) -> Result<Option<Arc<dyn TableSource>>>;
    /// Tables and views that the definitions have not.
    fn others(&self) -> Vec<String>;
    /// The transaction has ended: nothing is locked from here on.
    fn end(&self);
}

impl Database {
    /// Lets ATTACH read files of another system.
    pub fn register_foreign(&self, kind: Arc<dyn ForeignKind>) {
        let mut kinds = self.0.foreign_kinds.write();
        if !kinds.iter().any(|known| known.name() == kind.name()) {
            kinds.push(kind);
        }
    }

    /// The kind of files that TYPE names.
    fn foreign_kind(&self, name: &str) -> Result<Arc<dyn ForeignKind>> {
        let kinds = self.0.foreign_kinds.read();
        if let Some(kind) = kinds.iter().find(|kind| same_name(kind.name(), name)) {
            return Ok(Arc::clone(kind));
        }
        let known: Vec<&str> = std::iter::once("inlay").chain(kinds.iter().map(|kind| kind.name())).collect();
        let alternative = if same_name(name, "sqlite") {
            "this library is built without the reader of SQLite's files, which the Python package and the shell have"
                .to_string()
        } else {
            format!("TYPE is one of {}", known.join(", "))
        };
        Err(Error::Unsupported {
            feature: format!("ATTACH with TYPE {name}"),
            alternative: Some(alternative),
        })
    }

    /// The kind of a file, by what TYPE says or by how it begins; nothing of one of our own.
    pub(crate) fn kind_of(&self, named: Option<&str>, path: &str) -> Result<Option<Arc<dyn ForeignKind>>> {
        if let Some(name) = named {
            return self.foreign_kind(name).map(Some);
        }
        if is_memory(path) || !self.0.is_on_real_disk || self.0.foreign_kinds.read().is_empty() {
            return Ok(None);
        }
        let Some(first) = first_bytes(self.settings().files().access(), path)? else { return Ok(None) };
        Ok(self.0.foreign_kinds.read().iter().find(|kind| kind.is_one(&first)).cloned())
    }

    /// Attaches a file of another system.
    pub(crate) fn attach_foreign(
        &self,
        kind: &dyn ForeignKind,
        name: &str,
        path: &str,
        all_varchar: bool,
        interrupt: &Interrupt,
    ) -> Result<()> {
        let foreign = self.open_foreign(kind, path, None, all_varchar, interrupt)?;
        let store = Arc::clone(&foreign.definitions().main().store);
        let path = Some(self.path_of(path));
        self.add(Attached { name: name.to_string(), path, store, foreign: Some(foreign), remote: None })
    }

    fn open_foreign(
        &self,
        kind: &dyn ForeignKind,
        path: &str,
        only: Option<&str>,
        all_varchar: bool,
        interrupt: &Interrupt,
    ) -> Result<Arc<dyn ForeignDatabase>> {
        let access = self.settings().files().access();
        access.ask(Door::Attach(path))?;
        let first = first_bytes(access, path)?.unwrap_or_default();
        for companion in kind.companions(&first) {
            access.ask(Door::Write(&format!("{path}{companion}")))?;
        }
        if !self.0.is_on_real_disk || self.settings().files().is_elsewhere(path) {
            let feature = format!("ATTACH of \"{path}\", which is no local file, as TYPE {}", kind.name());
            let alternative = Some("copy it to the disk first".to_string());
            return Err(Error::Unsupported { feature, alternative });
        }
        let file = ForeignFile {
            path: self.path_of(path),
            name: path.to_string(),
            no_links: !access.is_unrestricted(),
            all_varchar,
            budget: self.0.budget.clone(),
            interrupt: interrupt.clone(),
        };
        kind.open(file, only)
    }

    /// Whether a database of another system is attached.
    pub(crate) fn has_foreign(&self) -> bool {
        self.0.has_foreign.load(Ordering::Acquire)
    }

    /// The attached database of another system that has a name.
    pub(crate) fn foreign(&self, name: &str) -> Option<Arc<dyn ForeignDatabase>> {
        if !self.has_foreign() {
            return None;
        }
        self.attached(name)?.foreign
    }

    /// The table function that reads one table of a file of another system.
    pub(crate) fn foreign_function(&self, name: &str, all_varchar: bool) -> Option<Arc<dyn TableFunction>> {
        let kinds = self.0.foreign_kinds.read();
        let kind = kinds.iter().find(|kind| kind.scan_function() == name)?;
        Some(Arc::new(ScanFunction { database: self.clone(), kind: Arc::clone(kind), all_varchar }))
    }

    /// Names of such functions.
    pub(crate) fn foreign_functions(&self) -> Vec<&'static str> {
        self.0.foreign_kinds.read().iter().map(|kind| kind.scan_function()).collect()
    }
}

/// The first bytes of a file; nothing where there is none.
fn first_bytes(access: &Arc<Access>, path: &str) -> Result<Option<Vec<u8>>> {
    use inlay_catalog::access::How;
    use std::io::Read;
    // What is refused or cannot be read is said by who opens the file.
    let Ok(way) = access.way(Door::Read(path)) else { return Ok(None) };
    if !way.about().is_ok_and(|about| about.is_file()) {
        return Ok(None);
    }
    let mut first = Vec::new();
    let read = way.open(How::Read).and_then(|file| file.take(FIRST_BYTES as u64).read_to_end(&mut first));
    Ok(read.ok().map(|_| first))
}

/// `sqlite_scan('file.db', 'table')`: one table of a file that is not attached.
struct ScanFunction {
    database: Database,
    kind: Arc<dyn ForeignKind>,
    all_varchar: bool,
}

impl TableFunction for ScanFunction {
    fn name(&self) -> &'static str {
        self.kind.scan_function()
    }

    fn bind(
        &self,
        args: &[Value],
        named: &[(String, Value)],
        _: &TypeNames<'_>,
    ) -> Result<Arc<dyn TableSource>> {
        let ([Value::Varchar(path), Value::Varchar(table)], []) = (args, named) else {
            let name = self.name();
            let message = format!("{name} takes a file and a table: {name}('file.db', 'table')");
            return Err(Error::invalid_argument(message));
        };
        let interrupt = inlay_types::limits::current().map(|limits| limits.interrupt).unwrap_or_default();
        let foreign =
            self.database.open_foreign(&*self.kind, path, Some(table), self.all_varchar, &interrupt)?;
        foreign.begin().table(table)?.ok_or_else(|| Error::UndefinedTable {
            name: table.clone(),
            candidates: inlay_types::Candidates::of(table, std::iter::empty()),
        })
    }
}

impl Attached {
    /// A store of our own.
    pub(super) fn own(name: impl Into<String>, path: Option<PathBuf>, store: Arc<Store>) -> Self {
        Self { name: name.into(), path, store, foreign: None, remote: None }
    }

    /// Whether nothing in it can be changed.
    pub(crate) fn is_read_only(&self) -> bool {
        self.foreign.is_some()
            || self.remote.as_ref().is_some_and(|remote| remote.is_read_only)
            || self.store.is_read_only()
    }
}

/// What a transaction sees of databases of other systems, begun when one is first looked at.
#[derive(Default)]
pub(crate) struct ForeignSnapshots(Mutex<Vec<(String, Arc<dyn ForeignSnapshot>)>>);

impl ForeignSnapshots {
    /// What it sees of a database, if that is of another system.
    pub fn of(&self, database: &Database, name: &str) -> Option<Arc<dyn ForeignSnapshot>> {
        if !database.has_foreign() {
            return None;
        }
        let mut begun = self.0.lock();
        if let Some((_, snapshot)) = begun.iter().find(|(known, _)| same_name(known, name)) {
            return Some(Arc::clone(snapshot));
        }
        let snapshot = database.foreign(name)?.begin();
        begun.push((name.to_string(), Arc::clone(&snapshot)));
        Some(snapshot)
    }

    /// Lets go of them.
    pub fn end(&self) {
        std::mem::take(&mut *self.0.lock()).iter().for_each(|(_, snapshot)| snapshot.end());
    }

    /// Why a database of another system is not changed.
    pub fn refusal(name: &str) -> Error {
        Error::ReadOnly { message: format!("\"{name}\" is a file of another system, which is only read") }
            .with_hint("CREATE TABLE ... AS SELECT copies a table, COPY FROM DATABASE all of them")
    }
}

impl Drop for ForeignSnapshots {
    fn drop(&mut self) {
        self.end();
    }
}
