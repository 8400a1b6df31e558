//! The transactions of a statement, or of everything between BEGIN and COMMIT: one for each database that is used, begun
//! when it is first looked at. Only one of them may change anything, for two files cannot be committed at once.

pub(crate) use crate::database::remote::{RemoteSession, Take};
use crate::database::{Database, ForeignSnapshot, ForeignSnapshots};
use crate::text::same_name;
pub(crate) use inlay_catalog::TEMPORARY;
use inlay_catalog::{MAIN, Sequence, SequenceSchema};
use inlay_formats::SessionFiles;
use inlay_sql::plan::statement::{self as plan, OnCommit, TransactionModes};
use inlay_storage::ForeignKey;
use inlay_storage::store::{Isolation, Object, ObjectId, Store, Transaction, TransactionOptions};
use inlay_types::sql_text::ident;
use inlay_types::{Error, MemoryBudget, Result};
use parking_lot::Mutex;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// What outlives a transaction and that all transactions of a session share.
#[derive(Clone, Default)]
pub(crate) struct SessionNames {
    /// USE.
    pub current: Option<String>,
    /// SET search_path: schemas of the current database, searched before `main`.
    pub schemas: Vec<String>,
    /// Temporary tables.
    pub temporary: Option<Arc<Store>>,
    /// The last value of each sequence.
    pub sequences: Arc<Mutex<HashMap<ObjectId, i64>>>,
    /// The last value of any sequence: `lastval`.
    pub last_value: Arc<Mutex<Option<i64>>>,
    /// Lines that readers of files left out, and pipes.
    pub files: Arc<SessionFiles>,
    /// Temporary tables that COMMIT drops or empties.
    pub on_commit: Arc<Mutex<Vec<(ObjectId, OnCommit)>>>,
}

/// See the module documentation.
pub(crate) struct Transactions {
    options: TransactionOptions,
    session: Mutex<SessionNames>,
    begun: Mutex<Vec<(String, Arc<Transaction>)>>,
    /// The savepoints there are, oldest first. A transaction that is begun later has them, too.
    savepoints: Mutex<Vec<String>>,
    /// Foreign keys to be checked at COMMIT, each once: database, table, name.
    deferred: Mutex<BTreeSet<(String, ObjectId, String)>>,
    /// What it sees of databases of other systems.
    foreign: ForeignSnapshots,
    /// What it does at servers, by the names of the databases.
    remotes: Mutex<Vec<Arc<RemoteSession>>>,
}

impl Transactions {
    /// No transaction yet.
    pub fn new(options: TransactionOptions, session: &SessionNames) -> Self {
        let session = Mutex::new(session.clone());
        let (begun, savepoints) = (Mutex::default(), Mutex::default());
        let (deferred, foreign) = (Mutex::default(), ForeignSnapshots::default());
        Self { options, session, begun, savepoints, deferred, foreign, remotes: Mutex::default() }
    }

    /// Leaves a foreign key of a table to COMMIT.
    pub fn defer(&self, database: &str, table: ObjectId, key: &str) {
        self.deferred.lock().insert((database.to_string(), table, key.to_string()));
    }

    /// The foreign keys that were left to COMMIT.
    pub fn deferred(&self) -> Vec<(String, ObjectId, String)> {
        self.deferred.lock().iter().cloned().collect()
    }

    /// Notes what COMMIT does to a temporary table.
    pub fn note_on_commit(&self, table: ObjectId, on_commit: OnCommit) {
        if on_commit != OnCommit::PreserveRows {
            self.session.lock().on_commit.lock().push((table, on_commit));
        }
    }

    /// Drops and empties the temporary tables that said so. Those that are there no more, once this is committed.
    fn end_temporary(&self, database: &Database) -> Result<Vec<ObjectId>> {
        let noted = Arc::clone(&self.session.lock().on_commit);
        let noted = noted.lock();
        if noted.is_empty() || self.options.read_only {
            return Ok(Vec::new());
        }
        let noted = noted.clone();
        let transaction = self.of(database, TEMPORARY)?;
        // Some were dropped, or never committed.
        let is_there = |(table, _): &(ObjectId, OnCommit)| transaction.state().table(*table).is_ok();
        let (noted, gone): (Vec<_>, Vec<_>) = noted.into_iter().partition(is_there);
        let mut gone: Vec<ObjectId> = gone.into_iter().map(|(table, _)| table).collect();
        check_references(&transaction, &noted)?;
        for (id, on_commit) in noted {
            match on_commit {
                OnCommit::PreserveRows => {}
                OnCommit::Drop => {
                    transaction.drop_object(id)?;
                    gone.push(id);
                }
                OnCommit::DeleteRows => {
                    if transaction.state().table(id)?.snapshot().row_count() > 0 {
                        transaction.table_to_write(id)?.truncate();
                    }
                }
            }
        }
        Ok(gone)
    }

    /// How they are begun.
    pub fn options(&self) -> TransactionOptions {
        self.options
    }

    /// What they promise each other, by its name in SQL.
    pub fn isolation_text(&self) -> &'static str {
        match self.options.isolation {
            Isolation::Serializable => "serializable",
            Isolation::Snapshot => "repeatable read",
        }
    }

    /// Takes over what the session says by now.
    pub fn set_session(&self, session: &SessionNames) {
        *self.session.lock() = session.clone();
    }

    /// The database that names without one mean.
    pub fn current(&self, database: &Database) -> String {
        self.session.lock().catalog(database)
    }

    /// The schema that new objects without one go to.
    pub fn current_schema(&self) -> String {
        self.session.lock().schemas.first().cloned().unwrap_or_else(|| MAIN.to_string())
    }

    /// The schemas that SET search_path gave, as text.
    pub fn search_path_text(&self) -> String {
        self.session.lock().schemas.join(",")
    }

    /// Databases and schemas in which names without them are looked up, in order.
    pub fn search_path(&self, database: &Database) -> Vec<(String, String)> {
        let current = self.current(database);
        let session = self.session.lock();
        let mut path = Vec::with_capacity(3);
        if session.temporary.is_some() {
            path.push((TEMPORARY.to_string(), MAIN.to_string()));
        }
        let others = session.schemas.iter().filter(|schema| !same_name(schema, MAIN));
        path.extend(others.map(|schema| (current.clone(), schema.clone())));
        path.push((current, MAIN.to_string()));
        path
    }

    /// Whether a database can be looked at: temporary objects are in one that is made with the first of them.
    pub fn is_there(&self, database: &Database, name: &str) -> bool {
        match same_name(name, TEMPORARY) {
            true => self.session.lock().temporary.is_some(),
            false => database.attached(name).is_some(),
        }
    }

    /// Whether the session has temporary objects.
    pub fn has_temporary(&self) -> bool {
        self.session.lock().temporary.is_some()
    }

    /// The transaction on a database.
    pub fn of(&self, database: &Database, name: &str) -> Result<Arc<Transaction>> {
        let mut begun = self.begun.lock();
        if let Some((_, transaction)) = begun.iter().find(|(known, _)| same_name(known, name)) {
            return Ok(Arc::clone(transaction));
        }
        let temporary = self.session.lock().temporary.clone();
        let store = match (temporary, database.attached(name)) {
            (Some(temporary), _) if same_name(name, TEMPORARY) => temporary,
            (_, Some(attached)) => attached.store,
            (_, None) => return Err(Error::bind(format!("database \"{name}\" does not exist"))),
        };
        let transaction = Arc::new(store.begin(self.options)?);
        self.savepoints.lock().iter().for_each(|name| transaction.savepoint(name));
        begun.push((name.to_string(), Arc::clone(&transaction)));
        Ok(transaction)
    }

    /// What it sees of a database, if that is of another system.
    pub fn foreign(&self, database: &Database, name: &str) -> Option<Arc<dyn ForeignSnapshot>> {
        self.foreign.of(database, name)
    }

    /// What it does at the server of a database, if that is at one.
    pub fn remote(&self, database: &Database, name: &str) -> Option<Arc<RemoteSession>> {
        let remote = database.remote(name)?;
        let mut remotes = self.remotes.lock();
        if let Some(known) = remotes.iter().find(|known| Arc::ptr_eq(&known.database, &remote)) {
            return Some(Arc::clone(known));
        }
        let savepoints = self.savepoints.lock().clone();
        let session = RemoteSession::new(remote, self.options.read_only, savepoints);
        remotes.push(Arc::clone(&session));
        Some(session)
    }

    /// Fails unless who asks may use a database at a server: who attached it, and superusers.
    pub fn may_use_remote(&self, session: &RemoteSession, asker: Option<&str>) -> Result<()> {
        match asker {
            Some(asker) if session.database.owner.as_deref() != Some(asker) => {
                let name = &session.database.name;
                let message =
                    format!("user \"{asker}\" may not use database \"{name}\", which somebody else attached");
                Err(Error::Forbidden { message }.with_hint("ATTACH it under another name"))
            }
            _ => Ok(()),
        }
    }

    /// The transaction is about to change a database at a server.
    pub fn will_change_remote(&self, session: &RemoteSession) -> Result<()> {
        let name = &session.database.name;
        let here = self.begun.lock().iter().find_map(|(other, transaction)| {
            (transaction.has_changes() && !same_name(other, TEMPORARY)).then(|| other.clone())
        });
        match here.or_else(|| self.remote_changed(name)) {
            Some(other) => Err(changes_one(&other, name)),
            None => session.will_change(),
        }
    }

    /// Another database at a server that was changed.
    fn remote_changed(&self, name: &str) -> Option<String> {
        let remotes = self.remotes.lock();
        let is_other =
            |known: &&Arc<RemoteSession>| known.has_changes() && !same_name(&known.database.name, name);
        remotes.iter().find(is_other).map(|known| known.database.name.clone())
    }

    /// Says the same to all servers that were asked something.
    fn control(&self, text: &str, name: &str) -> Result<()> {
        let remotes = self.remotes.lock().clone();
        remotes.iter().try_for_each(|remote| remote.control(&format!("{text} {}", ident(name))))
    }

    /// The transaction on a database that is about to change.
    pub fn to_change(&self, database: &Database, name: &str) -> Result<Arc<Transaction>> {
        if database.foreign(name).is_some() {
            return Err(ForeignSnapshots::refusal(name));
        }
        if let Some(remote) = database.remote(name) {
            let feature = format!("this statement about \"{}\", which is at a server,", remote.name);
            let alternative = Some(format!("connect to {} to run it", remote.shown()));
            return Err(Error::Unsupported { feature, alternative });
        }
        if let Some(other) = self.remote_changed(name).filter(|_| !same_name(name, TEMPORARY)) {
            return Err(changes_one(&other, name));
        }
        let transaction = self.of(database, name)?;
        transaction.check_writable()?;
        let begun = self.begun.lock();
        let changed = |(other, transaction): &&(String, Arc<Transaction>)| {
            !same_name(other, name) && !same_name(other, TEMPORARY) && transaction.has_changes()
        };
        if let Some((other, _)) = begun.iter().find(changed).filter(|_| !same_name(name, TEMPORARY)) {
            return Err(changes_one(other, name));
        }
        Ok(transaction)
    }

    /// All that were begun.
    pub fn all(&self) -> Vec<Arc<Transaction>> {
        self.begun.lock().iter().map(|(_, transaction)| Arc::clone(transaction)).collect()
    }

    /// A sequence for this session.
    pub fn sequence(
        &self,
        transaction: &Arc<Transaction>,
        sequence: &Arc<inlay_storage::store::Sequence>,
    ) -> Arc<dyn Sequence> {
        let session = self.session.lock();
        Arc::new(SessionSequence {
            transaction: Arc::clone(transaction),
            sequence: Arc::clone(sequence),
            last: Arc::clone(&session.sequences),
            last_of_any: Arc::clone(&session.last_value),
        })
    }

    /// What the session remembers of the files it reads.
    pub fn files(&self) -> Arc<SessionFiles> {
        Arc::clone(&self.session.lock().files)
    }

    /// What tells the last value of any sequence in this session.
    pub fn last_value(&self) -> Arc<dyn Fn() -> Option<i64> + Send + Sync> {
        let last = Arc::clone(&self.session.lock().last_value);
        Arc::new(move || *last.lock())
    }

    /// Commits them, and makes a checkpoint where the log has grown long.
    pub fn commit(&self, database: &Database) -> Result<()> {
        let gone = self.end_temporary(database)?;
        let mut begun = self.begun.lock();
        let (temporary, others): (Vec<_>, Vec<_>) =
            begun.iter().partition(|(name, _)| same_name(name, TEMPORARY));
        // What can fail first: a server, where at most one of all databases was changed.
        let remotes = std::mem::take(&mut *self.remotes.lock());
        remotes.iter().try_for_each(|remote| remote.commit())?;
        let mut changed = Vec::new();
        for (_, transaction) in others.iter().chain(&temporary) {
            let has_changes = transaction.has_changes();
            transaction.commit()?;
            if has_changes {
                changed.push(Arc::clone(transaction.store()));
            }
        }
        // A checkpoint gives back only what no transaction sees.
        begun.clear();
        self.foreign.end();
        drop(begun);
        if !gone.is_empty() {
            self.session.lock().on_commit.lock().retain(|(table, _)| !gone.contains(table));
        }
        self.savepoints.lock().clear();
        for store in changed {
            // The commit is durable whatever becomes of the checkpoint; the next one tries again.
            let _ = store.checkpoint_if_due();
        }
        Ok(())
    }

    /// Ends all that were begun and changed nothing: they see no old state any more.
    pub fn end_unchanged(&self) {
        self.begun.lock().retain(|(_, transaction)| transaction.has_changes());
        self.remotes.lock().retain(|remote| remote.has_changes());
        self.foreign.end();
    }

    /// Runs a statement: if it fails, what it did is undone.
    pub fn statement<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let before = self.all();
        before.iter().for_each(|transaction| transaction.savepoint(""));
        let outcome = work();
        let mut begun = self.begun.lock();
        if outcome.is_err() {
            begun.truncate(before.len());
        }
        for transaction in &before {
            if outcome.is_err() {
                transaction.rollback_to("")?;
            }
            transaction.release("")?;
        }
        outcome
    }

    /// Begins a savepoint.
    pub fn savepoint(&self, name: &str) -> Result<()> {
        self.control("SAVEPOINT", name)?;
        self.savepoints.lock().push(name.to_string());
        self.all().iter().for_each(|transaction| transaction.savepoint(name));
        Ok(())
    }

    /// Undoes what was done since a savepoint.
    pub fn rollback_to(&self, name: &str) -> Result<()> {
        let position = self.savepoint_position(name)?;
        self.control("ROLLBACK TO SAVEPOINT", name)?;
        self.savepoints.lock().truncate(position + 1);
        self.all().iter().try_for_each(|transaction| transaction.rollback_to(name))
    }

    /// Forgets a savepoint.
    pub fn release(&self, name: &str) -> Result<()> {
        let position = self.savepoint_position(name)?;
        self.control("RELEASE SAVEPOINT", name)?;
        self.savepoints.lock().truncate(position);
        self.all().iter().try_for_each(|transaction| transaction.release(name))
    }

    /// The newest savepoint of a name.
    fn savepoint_position(&self, name: &str) -> Result<usize> {
        let position = self.savepoints.lock().iter().rposition(|known| same_name(known, name));
        position.ok_or_else(|| Error::TransactionState {
            message: format!("savepoint \"{name}\" does not exist"),
        })
    }
}

fn changes_one(changed: &str, name: &str) -> Error {
    let hint = format!("this one has changed \"{changed}\", so COMMIT it before \"{name}\" is changed");
    Error::TransactionState { message: "a transaction changes one database".to_string() }.with_hint(hint)
}

/// What the words of BEGIN mean.
pub(crate) trait ModesExt {
    /// Every level is answered by itself or a stricter one.
    fn options(&self) -> Result<TransactionOptions>;
}

impl ModesExt for TransactionModes {
    fn options(&self) -> Result<TransactionOptions> {
        let isolation = match self.isolation {
            None | Some(plan::Isolation::Serializable) => Isolation::Serializable,
            Some(
                plan::Isolation::ReadUncommitted
                | plan::Isolation::ReadCommitted
                | plan::Isolation::RepeatableRead
                | plan::Isolation::Snapshot,
            ) => Isolation::Snapshot,
        };
        Ok(TransactionOptions { read_only: self.read_only.unwrap_or(false), isolation })
    }
}

impl SessionNames {
    /// The database that names without one mean.
    pub fn catalog(&self, database: &Database) -> String {
        let current = self.current.clone().filter(|name| database.attached(name).is_some());
        current.unwrap_or_else(|| database.main().name.clone())
    }

    /// The store of temporary tables, made when there is none.
    pub fn temporary(&mut self, budget: &MemoryBudget) -> Arc<Store> {
        Arc::clone(self.temporary.get_or_insert_with(|| Store::in_memory(budget.clone())))
    }
}

/// A sequence as a session uses it: values come from its transaction, and the last one is remembered.
#[derive(Debug)]
pub(crate) struct SessionSequence {
    pub transaction: Arc<Transaction>,
    pub sequence: Arc<inlay_storage::store::Sequence>,
    /// The last value of each sequence in this session.
    pub last: Arc<Mutex<std::collections::HashMap<ObjectId, i64>>>,
    /// The last value of any of them.
    pub last_of_any: Arc<Mutex<Option<i64>>>,
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
            *self.last_of_any.lock() = Some(*last);
        }
        Ok(())
    }

    fn set_value(&self, value: i64, is_called: bool) -> Result<()> {
        self.transaction.set_value(&self.sequence, value, is_called)?;
        if is_called {
            self.last.lock().insert(self.sequence.id, value);
            *self.last_of_any.lock() = Some(value);
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

/// Fails where a temporary table that stays refers to rows that COMMIT takes away.
fn check_references(transaction: &Transaction, noted: &[(ObjectId, OnCommit)]) -> Result<()> {
    let state = transaction.state();
    for object in state.objects() {
        let Object::Table(slot) = object else { continue };
        let child = slot.table()?;
        let own = noted.iter().find(|(id, _)| *id == child.id()).map(|(_, on_commit)| *on_commit);
        for (id, on_commit) in noted.iter().filter(|(id, _)| *id != child.id()) {
            let goes_too = own == Some(OnCommit::Drop) || own.is_some() && *on_commit == OnCommit::DeleteRows;
            let parent = state.table(*id)?.schema().name.clone();
            let refers = |key: &ForeignKey| same_name(&key.table, &parent);
            if !goes_too && child.schema().foreign_keys.iter().any(refers) {
                let message = format!(
                    "table \"{parent}\" is emptied or dropped by COMMIT, and table \"{}\" refers to it",
                    child.schema().name
                );
                return Err(Error::bind(message).with_hint("both need the same ON COMMIT"));
            }
        }
    }
    Ok(())
}
