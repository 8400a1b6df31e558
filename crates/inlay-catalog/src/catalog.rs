//! The catalog: names to tables, views, indexes and table functions.

use crate::source::{TableFunction, TableSource};
use inlay_storage::store::IndexKind;
use inlay_storage::{Table, TableSchema};
use inlay_types::{Candidates, Error, MemoryBudget, Result};
use parking_lot::RwLock;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A table by name.
#[derive(Debug)]
pub struct TableEntry {
    /// Name as created.
    pub name: String,
    /// Its rows.
    pub table: Arc<Table>,
}

impl TableEntry {
    /// Whether both stand for one table: entries are made anew at each look into a catalog.
    pub fn is_same(&self, other: &TableEntry) -> bool {
        Arc::ptr_eq(&self.table, &other.table)
    }
}

/// A view: the text of a query, bound anew at each use.
#[derive(Debug)]
pub struct ViewEntry {
    /// Name as created.
    pub name: String,
    /// Column aliases; empty when none were given.
    pub aliases: Vec<String>,
    /// Text of the query.
    pub sql: String,
}

/// An index by name. Tables in memory answer without it; it is kept so that scripts run.
#[derive(Debug, Clone)]
pub struct IndexEntry {
    /// Name as created.
    pub name: String,
    /// Name of its table.
    pub table: String,
    /// Positions of its columns.
    pub columns: Vec<usize>,
    /// UNIQUE.
    pub unique: bool,
    /// USING.
    pub kind: IndexKind,
}

/// What a table name in a query stands for.
#[derive(Clone, Debug)]
pub enum CatalogEntry {
    /// A stored table.
    Table(Arc<TableEntry>),
    /// A view.
    View(Arc<ViewEntry>),
    /// An object of the host, registered under a name.
    Registered(Arc<dyn TableSource>),
}

#[derive(Default)]
struct Names {
    entries: HashMap<String, CatalogEntry>,
    indexes: HashMap<String, IndexEntry>,
}

/// All names of a database.
pub struct Catalog {
    names: RwLock<Names>,
    functions: HashMap<&'static str, Arc<dyn TableFunction>>,
    version: AtomicU64,
    budget: MemoryBudget,
}

impl Catalog {
    /// An empty catalog whose tables take their memory from `budget`.
    pub fn new(functions: Vec<Arc<dyn TableFunction>>, budget: MemoryBudget) -> Self {
        let functions = functions.into_iter().map(|f| (f.name(), f)).collect();
        Self { names: RwLock::default(), functions, version: AtomicU64::new(0), budget }
    }

    /// Grows with every change; a bound plan is valid as long as it stays the same.
    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// What `name` stands for.
    pub fn get(&self, name: &str) -> Option<CatalogEntry> {
        self.names.read().entries.get(&key(name)).cloned()
    }

    /// The stored table `name`, or an error that lists near names.
    pub fn table(&self, name: &str) -> Result<Arc<TableEntry>> {
        match self.get(name) {
            Some(CatalogEntry::Table(table)) => Ok(table),
            Some(_) => Err(Error::bind(format!("\"{name}\" is not a table"))),
            None => Err(self.undefined(name)),
        }
    }

    /// The error for an unknown table name, with near names.
    pub fn undefined(&self, name: &str) -> Error {
        let names = self.names.read();
        let known = names.entries.keys().map(String::as_str);
        Error::UndefinedTable { name: name.to_string(), candidates: Candidates::of(name, known) }
    }

    /// The table function `name`.
    pub fn table_function(&self, name: &str) -> Option<Arc<dyn TableFunction>> {
        self.functions.get(name.to_lowercase().as_str()).cloned()
    }

    /// Names of all table functions, for error messages.
    pub fn table_function_names(&self) -> Vec<&'static str> {
        self.functions.keys().copied().collect()
    }

    /// Every entry by name, ordered by name.
    pub fn entries(&self) -> Vec<(String, CatalogEntry)> {
        let names = self.names.read();
        let mut all: Vec<_> = names.entries.iter().map(|(name, e)| (name.clone(), e.clone())).collect();
        all.sort_by(|a, b| a.0.cmp(&b.0));
        all
    }

    /// Creates a table. Returns `None` when the name is taken and `if_not_exists` is set.
    pub fn create_table(
        &self,
        schema: TableSchema,
        or_replace: bool,
        if_not_exists: bool,
    ) -> Result<Option<Arc<TableEntry>>> {
        let name = schema.name.clone();
        let table = Arc::new(Table::new(schema, self.budget.clone()));
        let entry = Arc::new(TableEntry { name: name.clone(), table });
        let created =
            self.insert("table", &name, CatalogEntry::Table(Arc::clone(&entry)), or_replace, if_not_exists)?;
        Ok(created.then_some(entry))
    }

    /// Enters a table that was made and filled elsewhere. Returns whether it was entered.
    pub fn insert_table(&self, table: Arc<Table>, or_replace: bool, if_not_exists: bool) -> Result<bool> {
        let name = table.schema().name.clone();
        let entry = Arc::new(TableEntry { name: name.clone(), table });
        self.insert("table", &name, CatalogEntry::Table(entry), or_replace, if_not_exists)
    }

    /// Puts a table in the place of the stored one of its name; indexes stay.
    pub fn replace_table(&self, table: Arc<Table>) -> Result<()> {
        let name = table.schema().name.clone();
        self.table(&name)?;
        let entry = CatalogEntry::Table(Arc::new(TableEntry { name: name.clone(), table }));
        self.names.write().entries.insert(key(&name), entry);
        self.changed();
        Ok(())
    }

    /// The budget of the tables.
    pub fn budget(&self) -> &MemoryBudget {
        &self.budget
    }

    /// Creates a view. Returns whether it was created.
    pub fn create_view(&self, view: ViewEntry, or_replace: bool, if_not_exists: bool) -> Result<bool> {
        let name = view.name.clone();
        self.insert("view", &name, CatalogEntry::View(Arc::new(view)), or_replace, if_not_exists)
    }

    /// Registers a host's object; replaces an earlier registration of the name, but no table or view.
    pub fn register(&self, name: &str, source: Arc<dyn TableSource>) -> Result<()> {
        if matches!(self.get(name), Some(CatalogEntry::Table(_) | CatalogEntry::View(_))) {
            return Err(Error::Duplicate { kind: "table", name: name.to_string() });
        }
        self.insert("table", name, CatalogEntry::Registered(source), true, false).map(|_| ())
    }

    /// Forgets a registration. Returns whether there was one.
    pub fn unregister(&self, name: &str) -> bool {
        let mut names = self.names.write();
        let found = matches!(names.entries.get(&key(name)), Some(CatalogEntry::Registered(_)));
        if found {
            names.entries.remove(&key(name));
            self.changed();
        }
        found
    }

    fn insert(
        &self,
        kind: &'static str,
        name: &str,
        entry: CatalogEntry,
        or_replace: bool,
        if_not_exists: bool,
    ) -> Result<bool> {
        let mut names = self.names.write();
        if let Some(taken) = names.entries.get(&key(name)) {
            let taken_kind = if matches!(taken, CatalogEntry::View(_)) { "view" } else { "table" };
            if if_not_exists {
                return Ok(false);
            }
            if !or_replace || taken_kind != kind {
                return Err(Error::Duplicate { kind: taken_kind, name: name.to_string() });
            }
            names.indexes.retain(|_, index| key(&index.table) != key(name));
        }
        names.entries.insert(key(name), entry);
        self.changed();
        Ok(true)
    }

    /// Drops a table. Returns whether there was one.
    pub fn drop_table(&self, name: &str, if_exists: bool) -> Result<bool> {
        self.remove(name, if_exists, "table", "DROP VIEW", |e| matches!(e, CatalogEntry::Table(_)))
    }

    /// Drops a view. Returns whether there was one.
    pub fn drop_view(&self, name: &str, if_exists: bool) -> Result<bool> {
        self.remove(name, if_exists, "view", "DROP TABLE", |e| matches!(e, CatalogEntry::View(_)))
    }

    fn remove(
        &self,
        name: &str,
        if_exists: bool,
        kind: &str,
        other_statement: &str,
        fits: impl Fn(&CatalogEntry) -> bool,
    ) -> Result<bool> {
        let mut names = self.names.write();
        match names.entries.get(&key(name)) {
            Some(entry) if fits(entry) => {
                names.entries.remove(&key(name));
                names.indexes.retain(|_, index| key(&index.table) != key(name));
                self.changed();
                Ok(true)
            }
            Some(_) => Err(Error::bind(format!("\"{name}\" is not a {kind}"))
                .with_hint(format!("use {other_statement}"))),
            None if if_exists => Ok(false),
            None => {
                drop(names);
                Err(self.undefined(name))
            }
        }
    }

    /// The index `name`.
    pub fn index(&self, name: &str) -> Option<IndexEntry> {
        self.names.read().indexes.get(&key(name)).cloned()
    }

    /// Records an index. Returns whether it was created.
    pub fn create_index(&self, index: IndexEntry, if_not_exists: bool) -> Result<bool> {
        let mut names = self.names.write();
        if names.indexes.contains_key(&key(&index.name)) {
            if if_not_exists {
                return Ok(false);
            }
            return Err(Error::Duplicate { kind: "index", name: index.name });
        }
        names.indexes.insert(key(&index.name), index);
        self.changed();
        Ok(true)
    }

    /// Drops an index. Returns whether there was one.
    pub fn drop_index(&self, name: &str, if_exists: bool) -> Result<bool> {
        let found = self.names.write().indexes.remove(&key(name)).is_some();
        if !found && !if_exists {
            return Err(Error::bind(format!("index \"{name}\" does not exist")));
        }
        self.changed();
        Ok(found)
    }

    fn changed(&self) {
        self.version.fetch_add(1, Ordering::AcqRel);
    }
}

fn key(name: &str) -> String {
    name.to_lowercase()
}
