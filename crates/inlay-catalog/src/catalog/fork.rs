//! Private copies of a catalog: for a transaction, and for names that only one statement knows.
//!
//! A fork shares rows with the catalog it was made of; changes of either do not show in the other. Publishing a fork
//! enters what it changed, all or nothing, and is a conflict if the catalog it was made of has changed the same names
//! since (first committer wins). Registered objects of the host belong to the database and are never published.

use super::{Catalog, CatalogEntry, Names, TableEntry, key};
use crate::source::TableSource;
use inlay_types::{Error, Result};
use parking_lot::RwLock;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// What a name stood for when the fork was made.
struct Origin {
    entry: CatalogEntry,
    /// The fork of a table, and its version then.
    fork: Option<(Arc<TableEntry>, u64)>,
}

/// A private catalog and what it was made of.
pub struct Fork {
    catalog: Arc<Catalog>,
    origins: HashMap<String, Origin>,
    index_names: HashSet<String>,
}

impl Catalog {
    /// A private copy of all names and rows, in time that depends on the number of names only.
    pub fn fork(&self) -> Fork {
        let names = self.names.read();
        let mut origins = HashMap::new();
        let mut copy = Names { entries: HashMap::new(), indexes: names.indexes.clone() };
        for (name, entry) in &names.entries {
            let fork = match entry {
                CatalogEntry::Table(live) => {
                    let table = live.table.fork();
                    let version = table.version();
                    Some((Arc::new(TableEntry { name: live.name.clone(), table: Arc::new(table) }), version))
                }
                CatalogEntry::View(_) | CatalogEntry::Registered(_) => None,
            };
            let own = fork
                .as_ref()
                .map_or_else(|| entry.clone(), |(table, _)| CatalogEntry::Table(Arc::clone(table)));
            copy.entries.insert(name.clone(), own);
            origins.insert(name.clone(), Origin { entry: entry.clone(), fork });
        }
        let index_names = copy.indexes.keys().cloned().collect();
        Fork { catalog: Arc::new(self.with_names(copy)), origins, index_names }
    }

    /// The same names and objects, and `extra` where a name is free.
    pub fn overlaid(&self, extra: &[(String, Arc<dyn TableSource>)]) -> Catalog {
        let names = self.names.read();
        let mut copy = Names { entries: names.entries.clone(), indexes: names.indexes.clone() };
        for (name, source) in extra {
            copy.entries.entry(key(name)).or_insert_with(|| CatalogEntry::Registered(Arc::clone(source)));
        }
        self.with_names(copy)
    }

    fn with_names(&self, names: Names) -> Catalog {
        Catalog {
            names: RwLock::new(names),
            functions: self.functions.clone(),
            version: AtomicU64::new(self.version()),
            budget: self.budget.clone(),
        }
    }
}

/// One change that publishing makes.
enum Change {
    Remove(String),
    Insert(String, CatalogEntry),
    Adopt(Arc<TableEntry>, Arc<TableEntry>),
}

impl Fork {
    /// The private catalog.
    pub fn catalog(&self) -> &Arc<Catalog> {
        &self.catalog
    }

    /// Enters the changes into `live`, the catalog that this was made of. No other writer is at work on it.
    pub fn publish(self, live: &Catalog) -> Result<()> {
        let own = self.catalog.names.read();
        let mut target = live.names.write();
        let mut changes = Vec::new();
        let names: HashSet<&String> = own.entries.keys().chain(self.origins.keys()).collect();
        for name in names {
            let change = match (self.origins.get(name), own.entries.get(name)) {
                (_, Some(CatalogEntry::Registered(_))) | (None, None) => None,
                (None, Some(created)) => {
                    let taken =
                        target.entries.get(name).is_some_and(|e| !matches!(e, CatalogEntry::Registered(_)));
                    if taken {
                        return Err(conflict(name));
                    }
                    Some(Change::Insert(name.clone(), created.clone()))
                }
                (Some(origin), None) => match origin.entry {
                    CatalogEntry::Registered(_) => None,
                    CatalogEntry::Table(_) | CatalogEntry::View(_) => {
                        origin.check_unchanged(name, &target)?;
                        Some(Change::Remove(name.clone()))
                    }
                },
                (Some(origin), Some(entry)) => origin.change_to(name, entry, &target)?,
            };
            changes.extend(change);
        }
        for change in changes {
            match change {
                Change::Remove(name) => drop(target.entries.remove(&name)),
                Change::Insert(name, entry) => drop(target.entries.insert(name, entry)),
                Change::Adopt(table, fork) => table.table.adopt(&fork.table),
            }
        }
        for name in self.index_names.iter().filter(|name| !own.indexes.contains_key(*name)) {
            target.indexes.remove(name);
        }
        for (name, index) in own.indexes.iter().filter(|(name, _)| !self.index_names.contains(*name)) {
            target.indexes.insert(name.clone(), index.clone());
        }
        live.changed();
        Ok(())
    }
}

impl Origin {
    /// A conflict if the live catalog no longer holds what the fork was made of.
    fn check_unchanged(&self, name: &str, live: &Names) -> Result<()> {
        let same = match (&self.entry, live.entries.get(name)) {
            (CatalogEntry::Table(then), Some(CatalogEntry::Table(now))) => {
                let version = self.fork.as_ref().map(|(_, version)| *version);
                Arc::ptr_eq(then, now) && Some(now.table.version()) == version
            }
            (CatalogEntry::View(then), Some(CatalogEntry::View(now))) => Arc::ptr_eq(then, now),
            _ => false,
        };
        if same { Ok(()) } else { Err(conflict(name)) }
    }

    /// The change that makes the live entry what the fork has under the same name.
    fn change_to(&self, name: &str, entry: &CatalogEntry, live: &Names) -> Result<Option<Change>> {
        if let (Some((fork, version)), CatalogEntry::Table(own)) = (&self.fork, entry)
            && Arc::ptr_eq(fork, own)
        {
            if own.table.version() == *version {
                return Ok(None);
            }
            self.check_unchanged(name, live)?;
            let CatalogEntry::Table(target) = &self.entry else { return Err(conflict(name)) };
            return Ok(Some(Change::Adopt(Arc::clone(target), Arc::clone(own))));
        }
        if let (CatalogEntry::View(then), CatalogEntry::View(own)) = (&self.entry, entry)
            && Arc::ptr_eq(then, own)
        {
            return Ok(None);
        }
        self.check_unchanged(name, live)?;
        Ok(Some(Change::Insert(name.to_string(), entry.clone())))
    }
}

fn conflict(name: &str) -> Error {
    Error::Conflict {
        message: format!("\"{name}\" was changed by another connection since this transaction began"),
    }
}
