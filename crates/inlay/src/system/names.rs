//! What names mean to a statement: tables and views of its transactions, then what the host registered.

use super as system;
use crate::database::Database;
use crate::host::{Host, HostScope, HostTable};
use crate::session::Prepared;
use crate::settings::{self, SessionSettings};
use crate::text::{comment_on, same_name};
use crate::transactions::{TEMPORARY, Transactions};
use inlay_catalog::access::Door;
use inlay_catalog::{
    CatalogEntry, Definition, DefinitionKind, IndexEntry, MAIN, SYSTEM, Sequence, TableEntry, TableFunction,
    TableSource, ViewEntry, qualified,
};
use inlay_kernels::external::External;
use inlay_kernels::resolve::ResolveOptions;
use inlay_sql::binder::{self, BindContext, Databases};
use inlay_storage::store::{IndexDefinition, Object, ObjectId, State, Transaction, name_key};
use inlay_types::{Error, Interrupt, LogicalType, Result, Value};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Names as one statement sees them.
pub(crate) struct Names<'a> {
    pub database: &'a Database,
    pub transactions: &'a Transactions,
    /// Whose names they are.
    pub session: u64,
    /// Who asks, if he is no superuser and there is a database at a server, which not everybody may use.
    pub asker: Option<String>,
    /// Host objects found for this statement, by the name it used.
    pub found: &'a [(String, HostTable)],
    /// Who gave objects with the statement, whose names hide all others.
    pub giver: Option<&'a dyn Host>,
    /// SET VARIABLE, by lower-case name.
    pub variables: &'a HashMap<String, Value>,
    /// PREPARE, by lower-case name.
    pub prepared: &'a HashMap<String, Arc<Prepared>>,
    /// Settings of the session.
    pub settings: SessionSettings,
    /// Whether a view is bound for its columns: then those of views are not asked for.
    pub binds_view: AtomicBool,
    /// Whether something was asked for that no change of the current database's state tells of: the value of a setting or variable,
    /// a file, another database, what the host registered.
    pub asked: AtomicBool,
    /// Whether all names were asked for, those that the host registered among them.
    pub listed: AtomicBool,
    /// Sequences that were looked up by name, with their databases.
    pub sequences_named: Mutex<Vec<(String, ObjectId)>>,
    /// The first thing that went wrong while looking: reading a damaged file, for one.
    pub failure: Mutex<Option<Error>>,
}

impl Names<'_> {
    pub fn transaction(&self, database: &str) -> Option<Arc<Transaction>> {
        if !same_name(database, TEMPORARY) && !same_name(database, &self.transactions.current(self.database))
        {
            self.note_asked();
        }
        if !self.transactions.is_there(self.database, database) {
            return None;
        }
        self.noted(self.transactions.of(self.database, database))
    }

    pub fn noted<T>(&self, outcome: Result<T>) -> Option<T> {
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
            Object::Sequence(_) | Object::Index(_) | Object::Definition(_) => return None,
        })
    }

    fn note_asked(&self) {
        self.asked.store(true, Ordering::Relaxed);
    }

    /// The value of a setting.
    pub fn setting(&self, name: &str) -> Option<Value> {
        self.note_asked();
        setting(self.database, self.transactions, &self.settings, name)
    }

    /// Names and types of the columns of a view; none of one that does not work any more.
    pub fn view_columns(&self, database: &str, key: &str) -> Vec<(String, LogicalType)> {
        if self.binds_view.swap(true, Ordering::Relaxed) {
            return Vec::new();
        }
        let setting = |name: &str| self.setting(name);
        let context = BindContext {
            catalog: self,
            parameters: &[],
            named_parameters: &[],
            options: ResolveOptions {
                dialect: self.settings.dialect,
                integer_division: self.settings.integer_division,
                zone: self.settings.time_zone(),
                bytea: self.settings.bytea(),
                now: None,
                ids: Default::default(),
                random: Arc::default(),
            },
            default_order: Default::default(),
            default_collation: None,
            setting: &setting,
            run: None,
            slots: None,
            rights: None,
        };
        let columns = binder::view_columns(&context, database, key).unwrap_or_default();
        self.binds_view.store(false, Ordering::Relaxed);
        columns
    }

    /// A table of a database of another system.
    fn foreign(&self, database: &str, key: &str) -> Option<CatalogEntry> {
        if let Some(remote) = self.transactions.remote(self.database, database) {
            self.note_asked();
            self.noted(self.transactions.may_use_remote(&remote, self.asker.as_deref()))?;
            let found = self.noted(remote.table(key, &interrupt()))??;
            return Some(CatalogEntry::Registered(found));
        }
        let snapshot = self.transactions.foreign(self.database, database)?;
        self.note_asked();
        self.noted(snapshot.table(inlay_catalog::bare_name(key)))?.map(CatalogEntry::Registered)
    }

    /// Tables and views of a database at a server, as far as they may be read.
    fn entries_there(&self, database: &str) -> Vec<(String, CatalogEntry)> {
        let Some(remote) = self.transactions.remote(self.database, database) else { return Vec::new() };
        if self.transactions.may_use_remote(&remote, self.asker.as_deref()).is_err() {
            return Vec::new();
        }
        let names = self.noted(remote.names(&interrupt())).unwrap_or_default().into_iter();
        let found = names.filter_map(|name| {
            let table = remote.table(&name, &interrupt()).ok()??;
            Some((name_key(&name), CatalogEntry::Registered(table as Arc<dyn TableSource>)))
        });
        found.collect()
    }

    /// What was found in the host.
    fn of_host(&self, name: &str) -> Option<CatalogEntry> {
        let (known, table) = self.found.iter().find(|(known, _)| same_name(known, name))?;
        Some(entry_of(known, table))
    }

    /// What the host gave with the statement.
    fn given(&self, name: &str) -> Option<CatalogEntry> {
        let table = self.noted(self.giver?.find_table(name, HostScope::Given))??;
        self.note_asked();
        Some(entry_of(name, &table))
    }

    /// Whether an object was given with the statement, or registered by the session itself.
    pub fn is_given(&self, name: &str) -> bool {
        self.found.iter().any(|(known, _)| same_name(known, name))
            || self.giver.is_some_and(|giver| matches!(giver.find_table(name, HostScope::Given), Ok(Some(_))))
            || self.database.is_registered_by(name, self.session)
    }

    /// Databases and what to look for in each, in order.
    fn searched(&self, database: Option<&str>, name: &str) -> Vec<(String, String)> {
        match database {
            Some(database) => vec![(database.to_string(), name.to_string())],
            None => {
                let path = self.transactions.search_path(self.database);
                path.into_iter().map(|(database, schema)| (database, qualified(&schema, name))).collect()
            }
        }
    }

    /// The first that `find` finds, with its database.
    fn first<T>(
        &self,
        database: Option<&str>,
        name: &str,
        find: impl Fn(&Arc<Transaction>, &State, &str) -> Option<T>,
    ) -> Option<(String, T)> {
        self.searched(database, name).into_iter().find_map(|(home, key)| {
            let transaction = self.transaction(&home)?;
            let found = find(&transaction, &transaction.state(), &key)?;
            Some((home, found))
        })
    }
}

impl Databases for Names<'_> {
    fn current(&self) -> String {
        self.transactions.current(self.database)
    }

    fn names(&self) -> Vec<String> {
        self.listed.store(true, Ordering::Relaxed);
        self.database.database_names()
    }

    fn search_path(&self) -> Vec<(String, String)> {
        self.transactions.search_path(self.database)
    }

    fn variable(&self, name: &str) -> Option<Value> {
        self.note_asked();
        self.variables.get(&name.to_lowercase()).cloned()
    }

    fn current_schema(&self) -> String {
        // The first that is there, as in PostgreSQL: it may have been dropped.
        let schema = self.transactions.current_schema();
        if self.has_schema(&self.current(), &schema) { schema } else { MAIN.to_string() }
    }

    fn has_schema(&self, database: &str, schema: &str) -> bool {
        same_name(schema, MAIN)
            // Which there are is its server's to say.
            || self.database.remote(database).is_some()
            || self.transaction(database).is_some_and(|transaction| {
                transaction.state().definition(DefinitionKind::Schema, schema).is_some()
            })
    }

    fn definition(
        &self,
        kind: DefinitionKind,
        database: Option<&str>,
        name: &str,
    ) -> Option<(String, Arc<Definition>)> {
        let stored = self.first(database, name, |_, state, key| state.definition(kind, key).cloned());
        let is_system = database.is_none_or(|database| same_name(database, SYSTEM));
        stored.or_else(|| {
            let found = is_system.then(|| system::macro_named(kind, name)).flatten();
            found.map(|found| (SYSTEM.to_string(), found))
        })
    }

    fn definitions(&self, kind: DefinitionKind, database: &str) -> Vec<Arc<Definition>> {
        let Some(transaction) = self.transaction(database) else { return Vec::new() };
        transaction.state().definitions(kind).into_iter().cloned().collect()
    }

    fn stored_functions(&self, definition: &Definition) -> Result<Vec<Arc<External>>> {
        let name = inlay_catalog::bare_name(&definition.name);
        self.database.settings().access().ask(Door::StoredCode(name))?;
        self.database.functions_of_host().stored(definition)
    }

    fn host_functions(&self, name: &str) -> Vec<Arc<External>> {
        self.database.functions_of_host().own(name)
    }

    fn host_function_names(&self) -> Vec<String> {
        let all = self.database.functions_of_host().all_own();
        all.iter().map(|external| external.definition.name.clone()).collect()
    }

    fn resolve(&self, database: Option<&str>, name: &str) -> Option<(String, CatalogEntry)> {
        if database.is_none()
            && let Some(given) = self.given(name)
        {
            return Some((self.current(), given));
        }
        let stored = self.searched(database, name).into_iter().find_map(|(home, key)| {
            let found = self.foreign(&home, &key).or_else(|| {
                let state = self.transaction(&home)?.state();
                state.relation(&key).and_then(|object| self.entry(&state, object))
            })?;
            Some((home, found))
        });
        if stored.is_some() {
            return stored;
        }
        self.note_asked();
        if database.is_some_and(|database| same_name(database, SYSTEM)) {
            return system::entry(self, name);
        }
        if database.is_some_and(|database| !same_name(database, &self.current())) {
            return None;
        }
        let registered = self.database.registered(name, self.session).map(CatalogEntry::Registered);
        match registered.or_else(|| self.of_host(name)) {
            Some(entry) => Some((self.current(), entry)),
            None if database.is_none() => match self.transactions.files().table(name) {
                Some(table) => Some((TEMPORARY.to_string(), CatalogEntry::Registered(self.noted(table)?))),
                None => system::entry(self, name),
            },
            None => None,
        }
    }

    fn entries(&self, database: &str) -> Vec<(String, CatalogEntry)> {
        self.listed.store(true, Ordering::Relaxed);
        let Some(transaction) = self.transaction(database) else { return Vec::new() };
        let state = transaction.state();
        let mut all: Vec<(String, CatalogEntry)> = state
            .objects()
            .filter_map(|object| Some((name_key(object.name()), self.entry(&state, object)?)))
            .collect();
        if let Some(snapshot) = self.transactions.foreign(self.database, database) {
            let others = snapshot.others().into_iter();
            all.extend(others.filter_map(|name| Some((name_key(&name), self.foreign(database, &name)?))));
        }
        if same_name(database, &self.current()) {
            let registered = self.database.all_registered(self.session).into_iter();
            all.extend(registered.map(|(name, source)| (name, CatalogEntry::Registered(source))));
        }
        all.extend(self.entries_there(database));
        all.sort_by(|left, right| left.0.cmp(&right.0));
        all
    }

    fn index(&self, database: Option<&str>, name: &str) -> Option<(String, IndexEntry)> {
        self.first(database, name, |_, state, key| {
            let Some(Object::Index(index)) = state.index(key) else { return None };
            Some(IndexEntry {
                name: index.name.clone(),
                table: state.object(index.table).map_or_else(String::new, |table| table.name().to_string()),
                columns: index.columns.clone(),
                unique: index.unique,
                kind: index.kind,
            })
        })
    }

    fn sequence(&self, database: Option<&str>, name: &str) -> Option<(String, Arc<dyn Sequence>)> {
        let found = self.first(database, name, |transaction, state, key| match state.relation(key) {
            Some(Object::Sequence(sequence)) => {
                Some((sequence.id, self.transactions.sequence(transaction, sequence)))
            }
            _ => None,
        });
        let (home, (id, sequence)) = found?;
        self.sequences_named.lock().push((home.clone(), id));
        Some((home, sequence))
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

    fn last_value(&self) -> Option<Arc<dyn Fn() -> Option<i64> + Send + Sync>> {
        Some(self.transactions.last_value())
    }

    fn unique_keys(&self, database: &str, table: &TableEntry) -> Vec<Vec<usize>> {
        let _ = database;
        table.table.schema().all_keys()
    }

    fn indexes_of(&self, database: &str, table: &TableEntry) -> Vec<(IndexEntry, Option<String>)> {
        let Some(transaction) = self.transaction(database) else { return Vec::new() };
        let state = transaction.state();
        let indexes = transaction.indexes_of(table.table.id());
        let entry = |index: &IndexDefinition| IndexEntry {
            name: index.name.clone(),
            table: table.name.clone(),
            columns: index.columns.clone(),
            unique: index.unique,
            kind: index.kind,
        };
        indexes.iter().map(|index| (entry(index), comment_on(&state, Some(index.id), None))).collect()
    }

    fn column_comment(&self, database: &str, table: &TableEntry, column: &str) -> Option<String> {
        comment_on(&self.transaction(database)?.state(), Some(table.table.id()), Some(column))
    }

    fn table_function(&self, name: &str) -> Option<Arc<dyn TableFunction>> {
        self.note_asked();
        let lower = name.to_lowercase();
        // Readers of text files remember something for their session.
        let files = self.transactions.files();
        let own = inlay_formats::text_reader(&lower, self.database.settings().files(), &files)
            .or_else(|| self.database.functions().get(lower.as_str()).cloned())
            .or_else(|| self.database.foreign_function(&lower, self.settings.sqlite_all_varchar));
        own.or_else(|| system::function(self, name))
    }

    fn table_function_names(&self) -> Vec<&'static str> {
        let own = self.database.functions().keys().copied();
        own.chain(system::function_names()).chain(self.database.foreign_functions()).collect()
    }

    fn path_advice(&self, path: &str) -> Option<String> {
        self.note_asked();
        self.database.settings().files().advice(path)
    }
}

/// What ends the statement that looks for names.
fn interrupt() -> Interrupt {
    inlay_types::limits::current().map(|limits| limits.interrupt).unwrap_or_default()
}

/// An object of the host as a table or view.
fn entry_of(name: &str, table: &HostTable) -> CatalogEntry {
    match table {
        HostTable::Rows(source) => CatalogEntry::Registered(Arc::clone(source)),
        HostTable::Query(sql) => CatalogEntry::View(Arc::new(ViewEntry {
            name: name.to_string(),
            aliases: Vec::new(),
            sql: sql.clone(),
        })),
    }
}

/// The value of a setting of a database and a session.
pub(crate) fn setting(
    database: &Database,
    transactions: &Transactions,
    session: &SessionSettings,
    name: &str,
) -> Option<Value> {
    match name {
        "schema" => Some(Value::Varchar(transactions.current_schema())),
        "search_path" => Some(Value::Varchar(transactions.search_path_text())),
        "transaction_isolation" => Some(Value::Varchar(transactions.isolation_text().to_string())),
        "transaction_read_only" => {
            let is_read_only = transactions.options().read_only;
            Some(Value::Varchar(if is_read_only { "on" } else { "off" }.to_string()))
        }
        name => settings::get(name, database.settings(), session),
    }
}
