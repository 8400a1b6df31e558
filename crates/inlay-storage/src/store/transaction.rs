//! A transaction: a private state that starts as the newest committed one, and a record of what it read and did.
//!
//! Readers never block and are never blocked: each has a state of its own, whose tables never change. A table is forked
//! when it is first written to. [`Transaction::commit`](super::commit) checks what the transaction read and wrote
//! against what was committed since it began, and does its changes again to the newest state.

use super::Store;
use super::object::{IndexDefinition, Object, ObjectId, Sequence, TableSlot};
use super::state::State;
use crate::row_set::RowSet;
use crate::schema::TableSchema;
use crate::table::{Alteration, Mark, Table};
use inlay_types::{Batch, Error, Result};
use parking_lot::Mutex;
use std::any::Any;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Rows that a transaction has read, as a condition on a table's rows.
pub trait RowPredicate: Send + Sync {
    /// Whether any of the rows (all columns of the table, in order) satisfies it.
    fn matches_any(&self, rows: &Batch) -> Result<bool>;

    /// Takes over what another condition says, if both are of a kind that is kept together, so that many lookups by one statement
    /// cost little memory each. Whether it did.
    fn absorb(&self, _other: &mut dyn Any) -> bool {
        false
    }
}

/// A condition is kept with an earlier one only if that is among the last so many.
const ABSORBED_WITHIN: usize = 4;

/// What a transaction promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Isolation {
    /// As if it ran alone: what it read is checked at commit.
    #[default]
    Serializable,
    /// It reads one moment, and nobody else changes the rows it changes.
    Snapshot,
}

/// How to begin a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct TransactionOptions {
    /// Changes are refused.
    pub read_only: bool,
    /// What it promises.
    pub isolation: Isolation,
}

/// A transaction. Dropping it without committing undoes it; after a commit, failed or not, it does nothing any more.
pub struct Transaction {
    pub(super) store: Arc<Store>,
    pub(super) number: u64,
    pub(super) base: Arc<State>,
    pub(super) options: TransactionOptions,
    pub(super) inner: Mutex<Inner>,
    /// Whether it was committed, or tried to.
    pub(super) is_over: AtomicBool,
}

/// What a transaction has done so far.
pub(super) struct Inner {
    /// What it sees.
    pub view: Arc<State>,
    /// Its own versions of tables.
    pub tables: HashMap<ObjectId, Arc<Table>>,
    /// Schemas that its new tables were created with.
    pub created: HashMap<ObjectId, Arc<TableSchema>>,
    /// Objects that are not tables and that it made or changed.
    pub definitions: BTreeSet<ObjectId>,
    /// Objects that were there before and that it dropped.
    pub dropped: BTreeSet<ObjectId>,
    /// Sequences that it took values of.
    pub sequences: BTreeSet<ObjectId>,
    /// Objects that what it defined refers to.
    pub references: BTreeSet<ObjectId>,
    /// What it read, by table; absent is all of it.
    pub reads: Vec<(ObjectId, Option<Arc<dyn RowPredicate>>)>,
    savepoints: Vec<(String, Saved)>,
}

/// What rolling back to a savepoint restores. Reads stay: they happened.
struct Saved {
    view: Arc<State>,
    tables: Vec<(ObjectId, Arc<Table>, Mark)>,
    created: HashMap<ObjectId, Arc<TableSchema>>,
    definitions: BTreeSet<ObjectId>,
    dropped: BTreeSet<ObjectId>,
}

impl Transaction {
    pub(super) fn new(store: Arc<Store>, number: u64, base: Arc<State>, options: TransactionOptions) -> Self {
        let inner = Inner {
            view: Arc::clone(&base),
            tables: HashMap::new(),
            created: HashMap::new(),
            definitions: BTreeSet::new(),
            dropped: BTreeSet::new(),
            sequences: BTreeSet::new(),
            references: BTreeSet::new(),
            reads: Vec::new(),
            savepoints: Vec::new(),
        };
        Self { store, number, base, options, inner: Mutex::new(inner), is_over: AtomicBool::new(false) }
    }

    /// The database.
    pub fn store(&self) -> &Arc<Store> {
        &self.store
    }

    /// How it was begun.
    pub fn options(&self) -> TransactionOptions {
        self.options
    }

    /// Everything as it sees it now.
    pub fn state(&self) -> Arc<State> {
        Arc::clone(&self.inner.lock().view)
    }

    /// Whether it changed anything.
    pub fn has_changes(&self) -> bool {
        self.inner.lock().has_changes()
    }

    /// Its own versions of the tables that it changed.
    pub fn changed_tables(&self) -> Vec<Arc<Table>> {
        self.inner.lock().tables.values().filter(|table| table.is_changed()).cloned().collect()
    }

    /// Notes that it read the rows of a table that satisfy a condition; all of them without one.
    pub fn record_read(&self, table: ObjectId, predicate: Option<Arc<dyn RowPredicate>>) {
        if self.options.isolation == Isolation::Serializable && !self.options.read_only {
            self.note_read(table, predicate);
        }
    }

    /// As [`Transaction::record_read`], of a condition that an earlier one may absorb; it is made only if none does.
    pub fn record_alike(
        &self,
        table: ObjectId,
        condition: &mut dyn Any,
        make: impl FnOnce(&mut dyn Any) -> Option<Arc<dyn RowPredicate>>,
    ) {
        if self.options.isolation != Isolation::Serializable || self.options.read_only {
            return;
        }
        let is_absorbed = |(of, earlier): &(ObjectId, Option<Arc<dyn RowPredicate>>),
                           condition: &mut dyn Any| {
            *of == table && earlier.as_ref().is_some_and(|earlier| earlier.absorb(condition))
        };
        let absorbed = self
            .inner
            .lock()
            .reads
            .iter()
            .rev()
            .take(ABSORBED_WITHIN)
            .any(|read| is_absorbed(read, condition));
        if !absorbed {
            self.note_read(table, make(condition));
        }
    }

    /// Notes rows that a constraint or a conflict was looked up by, which must stay as they are at every isolation level; all
    /// of the table without a condition.
    pub fn record_dependency(&self, table: ObjectId, predicate: Option<Arc<dyn RowPredicate>>) {
        self.note_read(table, predicate);
    }

    /// A condition names columns by their positions in the table as it is here. Once this transaction has altered it, those are
    /// not the positions in what others commit, so that any change by them counts.
    fn note_read(&self, table: ObjectId, predicate: Option<Arc<dyn RowPredicate>>) {
        let mut inner = self.inner.lock();
        let is_altered = inner.tables.get(&table).is_some_and(|own| match self.base.object(table) {
            Some(Object::Table(slot)) => !slot.loaded().is_some_and(|base| own.has_schema_of(base)),
            _ => false,
        });
        inner.reads.push((table, predicate.filter(|_| !is_altered)));
    }

    /// Notes an object that something it defines refers to: neither may be committed without the other.
    pub fn refer_to(&self, object: ObjectId) {
        self.inner.lock().references.insert(object);
    }

    /// Its own version of a table, which it may write to.
    pub fn table_to_write(&self, id: ObjectId) -> Result<Arc<Table>> {
        self.check_writable()?;
        let mut inner = self.inner.lock();
        if let Some(table) = inner.tables.get(&id) {
            return Ok(Arc::clone(table));
        }
        if !inner.created.contains_key(&id) {
            // Keeps row ids as they are while it works.
            self.store.intents.claim(self.number, id, &RowSet::default())?;
        }
        let fork = Arc::new(inner.view.table(id)?.fork());
        inner.enter_table(Arc::clone(&fork));
        Ok(fork)
    }

    /// Fails early if one of the rows was changed by a transaction that committed since this one began
    /// or that is still open; from then on, others that change them fail.
    pub fn claim_rows(&self, table: ObjectId, ids: &RowSet) -> Result<()> {
        if ids.is_empty() || self.inner.lock().created.contains_key(&table) {
            return Ok(());
        }
        let base_end = match self.base.object(table) {
            Some(Object::Table(slot)) => slot.table()?.next_row_id(),
            _ => return Ok(()),
        };
        let shared = ids.below(base_end);
        self.store.check_committed_since(self.base.lsn, table, &shared)?;
        self.store.intents.claim(self.number, table, &shared)
    }

    /// Creates a table, whose name must be free.
    pub fn create_table(&self, schema: TableSchema) -> Result<Arc<Table>> {
        self.check_free(&schema.name, "table")?;
        let table = Arc::new(self.new_table(schema));
        self.enter_created(&table);
        Ok(table)
    }

    /// An empty table of this database that nobody knows yet; see [`Transaction::enter_created`].
    pub fn new_table(&self, schema: TableSchema) -> Table {
        let id = self.store.take_id();
        Table::create(id, schema, self.store.budget().clone(), self.store.home().cloned())
    }

    /// Enters a table that [`Transaction::new_table`] made. The name must be free.
    pub fn enter_created(&self, table: &Arc<Table>) {
        let mut inner = self.inner.lock();
        inner.created.insert(table.id(), Arc::new(table.schema().clone()));
        inner.enter_table(Arc::clone(table));
        inner.refer_to_schema_of(&table.schema().name);
    }

    /// Changes a table's schema, name or columns.
    pub fn alter_table(&self, id: ObjectId, alteration: Alteration) -> Result<Arc<Table>> {
        let table = self.table_to_write(id)?;
        if alteration.schema.name.to_lowercase() != table.schema().name.to_lowercase() {
            self.check_free(&alteration.schema.name, "table")?;
        }
        let is_renamed = alteration.schema.name != table.schema().name;
        let altered = Arc::new(table.altered(&Arc::new(alteration))?);
        let mut inner = self.inner.lock();
        inner.enter_table(Arc::clone(&altered));
        if is_renamed {
            inner.refer_to_schema_of(&altered.schema().name);
        }
        Ok(altered)
    }

    /// Enters anything but a table: new, or in the place of its earlier version.
    pub fn put(&self, object: Object) -> Result<()> {
        self.check_writable()?;
        let taken = self.state().named_like(&object).cloned();
        if let Some(taken) = taken.filter(|taken| taken.id() != object.id()) {
            return Err(Error::Duplicate { kind: taken.kind(), name: object.name().to_string() });
        }
        let mut inner = self.inner.lock();
        inner.definitions.insert(object.id());
        inner.references.extend(object.belongs_to());
        if object.is_in_schema() {
            inner.refer_to_schema_of(object.name());
        }
        Arc::make_mut(&mut inner.view).put(object);
        Ok(())
    }

    /// A number for a new object.
    pub fn take_id(&self) -> ObjectId {
        self.store.take_id()
    }

    /// Drops an object; of a table also its indexes and the sequences that it owns.
    pub fn drop_object(&self, id: ObjectId) -> Result<()> {
        self.check_writable()?;
        let belongs = |object: &&Object| object.belongs_to() == Some(id);
        let mut inner = self.inner.lock();
        let mut gone: Vec<ObjectId> = inner.view.objects().filter(belongs).map(Object::id).collect();
        gone.push(id);
        let view = Arc::make_mut(&mut inner.view);
        gone.iter().for_each(|id| drop(view.remove(*id)));
        for id in gone {
            inner.tables.remove(&id);
            inner.created.remove(&id);
            inner.definitions.remove(&id);
            if self.base.object(id).is_some() {
                inner.dropped.insert(id);
            }
        }
        Ok(())
    }

    /// The next value of a sequence.
    pub fn next_value(&self, sequence: &Sequence) -> Result<i64> {
        self.check_writable()?;
        let value = sequence.next()?;
        self.inner.lock().sequences.insert(sequence.id);
        Ok(value)
    }

    /// Moves a sequence, see [`Sequence::set`].
    pub fn set_value(&self, sequence: &Sequence, value: i64, is_called: bool) -> Result<()> {
        self.check_writable()?;
        sequence.set(value, is_called)?;
        self.inner.lock().sequences.insert(sequence.id);
        Ok(())
    }

    /// The indexes of a table.
    pub fn indexes_of(&self, table: ObjectId) -> Vec<Arc<IndexDefinition>> {
        self.state().indexes_of(table).cloned().collect()
    }

    /// Begins a savepoint.
    pub fn savepoint(&self, name: &str) {
        let mut inner = self.inner.lock();
        let saved = inner.saved();
        inner.savepoints.push((name.to_string(), saved));
    }

    /// Forgets a savepoint and those after it; what was done since stays.
    pub fn release(&self, name: &str) -> Result<()> {
        let mut inner = self.inner.lock();
        let position = inner.savepoint_position(name)?;
        inner.savepoints.truncate(position);
        Ok(())
    }

    /// Undoes what was done since a savepoint, which stays.
    pub fn rollback_to(&self, name: &str) -> Result<()> {
        let mut inner = self.inner.lock();
        let position = inner.savepoint_position(name)?;
        inner.savepoints.truncate(position + 1);
        inner.restore_last();
        Ok(())
    }

    /// Runs a statement: if it fails, what it did is undone, and the transaction goes on.
    pub fn statement<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        self.savepoint("");
        let outcome = work();
        let mut inner = self.inner.lock();
        if outcome.is_err() {
            inner.restore_last();
        }
        inner.savepoints.pop();
        outcome
    }

    fn check_free(&self, name: &str, _kind: &'static str) -> Result<()> {
        match self.state().relation(name) {
            Some(taken) => Err(Error::Duplicate { kind: taken.kind(), name: name.to_string() }),
            None => Ok(()),
        }
    }

    /// Fails where nothing may be changed.
    pub fn check_writable(&self) -> Result<()> {
        if self.options.read_only {
            let message =
                "the transaction is READ ONLY; ROLLBACK it and BEGIN one that may write".to_string();
            return Err(Error::ReadOnly { message });
        }
        self.store.check_writable()
    }
}

impl std::fmt::Debug for Transaction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Transaction({} after {})", self.number, self.base.lsn)
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        self.store.end(self.number, self.base.lsn);
    }
}

impl Inner {
    fn enter_table(&mut self, table: Arc<Table>) {
        Arc::make_mut(&mut self.view).put(Object::Table(TableSlot::new(Arc::clone(&table))));
        self.tables.insert(table.id(), table);
    }

    /// Notes the schema that an object of this name is in.
    fn refer_to_schema_of(&mut self, name: &str) {
        let schema = self.view.schema_of(name).map(|schema| schema.id);
        self.references.extend(schema);
    }

    pub fn has_changes(&self) -> bool {
        !self.created.is_empty()
            || !self.definitions.is_empty()
            || !self.dropped.is_empty()
            || !self.sequences.is_empty()
            || self.tables.values().any(|table| table.is_changed())
    }

    fn savepoint_position(&self, name: &str) -> Result<usize> {
        let found =
            self.savepoints.iter().rposition(|(known, _)| known.to_lowercase() == name.to_lowercase());
        found.ok_or_else(|| Error::TransactionState {
            message: format!("savepoint \"{name}\" does not exist"),
        })
    }

    fn saved(&self) -> Saved {
        let marked = |(id, table): (&ObjectId, &Arc<Table>)| (*id, Arc::clone(table), table.mark());
        Saved {
            view: Arc::clone(&self.view),
            tables: self.tables.iter().map(marked).collect(),
            created: self.created.clone(),
            definitions: self.definitions.clone(),
            dropped: self.dropped.clone(),
        }
    }

    /// Makes everything as it was at the last savepoint.
    fn restore_last(&mut self) {
        let Some((_, saved)) = self.savepoints.last() else { return };
        self.view = Arc::clone(&saved.view);
        self.created = saved.created.clone();
        self.definitions = saved.definitions.clone();
        self.dropped = saved.dropped.clone();
        self.tables = saved
            .tables
            .iter()
            .map(|(id, table, mark)| {
                table.rewind(mark);
                (*id, Arc::clone(table))
            })
            .collect();
    }
}
