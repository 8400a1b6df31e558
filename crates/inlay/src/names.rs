//! What names mean to a statement: tables and views of its transactions, then what the host registered.

use crate::database::{Database, same_name};
use crate::transactions::Transactions;
use inlay_catalog::{
    CatalogEntry, IndexEntry, Sequence, SequenceSchema, TableEntry, TableFunction, TableSource, ViewEntry,
};
use inlay_sql::binder::Databases;
use inlay_storage::store::{Object, ObjectId, State, Transaction, name_key};
use inlay_types::{Error, Result};
use parking_lot::Mutex;
use std::sync::Arc;

/// Names as one statement sees them.
pub(crate) struct Names<'a> {
    pub database: &'a Database,
    pub transactions: &'a Transactions,
    /// Host objects found for this statement, by the name it used.
    pub found: &'a [(String, Arc<dyn TableSource>)],
    /// The first thing that went wrong while looking: reading a damaged file, for one.
    pub failure: Mutex<Option<Error>>,
}

impl Names<'_> {
    fn transaction(&self, database: &str) -> Option<Arc<Transaction>> {
        self.noted(self.transactions.of(self.database, database))
    }

    fn noted<T>(&self, outcome: Result<T>) -> Option<T> {
        outcome
            .inspect_err(|error| {
                self.failure.lock().get_or_insert_with(|| error.clone());
            })
            .ok()
    }

    fn entry(&self, state: &State, object: &Object) -> Option<CatalogEntry> {
        Some(match object {
            Object::Table(_) => {
                let table = self.noted(state.table(object.id()))?;
                CatalogEntry::Table(Arc::new(TableEntry { name: table.schema().name.clone(), table }))
            }
            Object::View(view) => CatalogEntry::View(Arc::new(ViewEntry {
                name: view.name.clone(),
                aliases: view.aliases.clone(),
                sql: view.sql.clone(),
            })),
            Object::Sequence(_) | Object::Index(_) => return None,
        })
    }

    /// Databases to look a name up in, in order.
    fn searched(&self, database: Option<&str>) -> Vec<String> {
        match database {
            Some(database) => vec![database.to_string()],
            None => self.transactions.search_path(self.database),
        }
    }
}

impl Databases for Names<'_> {
    fn current(&self) -> String {
        self.transactions.current(self.database)
    }

    fn names(&self) -> Vec<String> {
        self.database.database_names()
    }

    fn resolve(&self, database: Option<&str>, name: &str) -> Option<(String, CatalogEntry)> {
        for home in self.searched(database) {
            let state = self.transaction(&home)?.state();
            if let Some(entry) = state.relation(name).and_then(|object| self.entry(&state, object)) {
                return Some((home, entry));
            }
        }
        if database.is_some() {
            return None;
        }
        let found =
            self.found.iter().find(|(known, _)| same_name(known, name)).map(|(_, source)| Arc::clone(source));
        let source = self.database.registered(name).or(found)?;
        Some((self.current(), CatalogEntry::Registered(source)))
    }

    fn entries(&self, database: &str) -> Vec<(String, CatalogEntry)> {
        let Some(transaction) = self.transaction(database) else { return Vec::new() };
        let state = transaction.state();
        let mut all: Vec<(String, CatalogEntry)> = state
            .objects()
            .filter_map(|object| Some((name_key(object.name()), self.entry(&state, object)?)))
            .collect();
        if same_name(database, &self.current()) {
            let registered = self.database.all_registered().into_iter();
            all.extend(registered.map(|(name, source)| (name, CatalogEntry::Registered(source))));
        }
        all.sort_by(|left, right| left.0.cmp(&right.0));
        all
    }

    fn index(&self, database: Option<&str>, name: &str) -> Option<(String, IndexEntry)> {
        for home in self.searched(database) {
            let state = self.transaction(&home)?.state();
            if let Some(Object::Index(index)) = state.index(name) {
                let entry = IndexEntry {
                    name: index.name.clone(),
                    table: state
                        .object(index.table)
                        .map_or_else(String::new, |table| table.name().to_string()),
                    columns: index.columns.clone(),
                    unique: index.unique,
                };
                return Some((home, entry));
            }
        }
        None
    }

    fn sequence(&self, database: Option<&str>, name: &str) -> Option<(String, Arc<dyn Sequence>)> {
        for home in self.searched(database) {
            let transaction = self.transaction(&home)?;
            if let Some(Object::Sequence(sequence)) = transaction.state().relation(name) {
                let sequence = self.transactions.sequence(&transaction, sequence);
                return Some((home, sequence));
            }
        }
        None
    }

    fn sequences(&self, database: &str) -> Vec<Arc<dyn Sequence>> {
        let Some(transaction) = self.transaction(database) else { return Vec::new() };
        let state = transaction.state();
        let as_sequence = |object: &Object| match object {
            Object::Sequence(sequence) => Some(self.transactions.sequence(&transaction, sequence)),
            _ => None,
        };
        state.objects().filter_map(as_sequence).collect()
    }

    fn unique_keys(&self, database: &str, table: &TableEntry) -> Vec<Vec<usize>> {
        let _ = database;
        table.table.schema().all_keys()
    }

    fn table_function(&self, name: &str) -> Option<Arc<dyn TableFunction>> {
        self.database.functions().get(name.to_lowercase().as_str()).cloned()
    }

    fn table_function_names(&self) -> Vec<&'static str> {
        self.database.functions().keys().copied().collect()
    }
}

/// A sequence as a session uses it: values come from its transaction, and the last one is remembered.
#[derive(Debug)]
pub(crate) struct SessionSequence {
    pub transaction: Arc<Transaction>,
    pub sequence: Arc<inlay_storage::store::Sequence>,
    /// The last value of each sequence in this session.
    pub last: Arc<Mutex<std::collections::HashMap<ObjectId, i64>>>,
}

impl Sequence for SessionSequence {
    fn schema(&self) -> SequenceSchema {
        let (sequence, options) = (&self.sequence, self.sequence.options);
        let state = self.transaction.state();
        let owner = sequence.owner.as_ref().and_then(|(table, column)| {
            state.object(*table).map(|table| (table.name().to_string(), column.clone()))
        });
        SequenceSchema {
            name: sequence.name.clone(),
            start: options.start,
            increment: options.increment,
            min: options.min,
            max: options.max,
            cycle: options.cycle,
            owner,
        }
    }

    fn next_values(&self, count: usize, out: &mut Vec<i64>) -> Result<()> {
        for _ in 0..count {
            out.push(self.transaction.next_value(&self.sequence)?);
        }
        if let Some(last) = out.last().filter(|_| count > 0) {
            self.last.lock().insert(self.sequence.id, *last);
        }
        Ok(())
    }

    fn current_value(&self) -> Result<i64> {
        self.last.lock().get(&self.sequence.id).copied().ok_or_else(|| {
            let name = &self.sequence.name;
            Error::invalid_argument(format!(
                "currval of sequence \"{name}\" is not there before the first nextval of this connection"
            ))
        })
    }
}
