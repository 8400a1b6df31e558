//! Commit: checks a transaction against what was committed since it began, does its changes again to the newest state,
//! logs them, and publishes the next state once the log is durable.
//!
//! The check is backward and optimistic. A transaction fails, with an error that says to retry, if somebody changed a
//! row that it changes (first committer wins), took a name that it takes, or, under SERIALIZABLE, changed the outcome
//! of something it read: predicates are evaluated on the rows that were written since, before and after ("precision
//! locking": Neumann, Muehlbauer, Kemper, SIGMOD 2015). So transactions are serial in the order of their commits, and
//! those that only read are serial at the moment they began.
//!
//! Definitions that refer to each other are kept together likewise: a transaction notes the objects that what it defines
//! refers to (an index its table, a default its sequence, anything its schema), and fails if one of them was dropped or
//! changed meanwhile; and so does one that drops or changes what somebody else has begun to refer to.

use super::history::{Committed, Delta};
use super::intents::row_conflict;
use super::object::{IndexKind, Object, ObjectId};
use super::state::{State, name_key};
use super::transaction::{Inner, Transaction};
use super::{Commits, Store, Unsure, log};
use crate::file::{FORMAT_VERSION, FORMAT_VERSION_FIELDS, FORMAT_VERSION_MAX};
use crate::row_set::RowSet;
use crate::table::{Change, ColumnSource, Piece, Table, Touched};
use inlay_types::{Error, Result};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A transaction's work on top of the newest state.
pub(super) struct Rebased {
    pub state: State,
    pub record: log::Record,
    pub deltas: HashMap<ObjectId, Delta>,
    pub references: BTreeSet<ObjectId>,
}

impl Transaction {
    /// Makes what the transaction did permanent and visible, all of it or, with an error, nothing.
    pub fn commit(&self) -> Result<()> {
        let inner = self.inner.lock();
        if !inner.has_changes() || self.is_over.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        self.check_writable()?;
        self.store.check_names()?;
        self.store.raise_format(&inner)?;
        self.store.sync_written_segments(&inner)?;
        let mut commits = self.store.commits.lock();
        self.store.retreat(&mut commits)?;
        self.check_reads(&inner, &commits)?;
        let rebased = self.rebase(&inner, &commits)?;
        let state = self.store.log_and_install(&mut commits, rebased)?;
        drop(commits);
        drop(inner);
        // From here on the commit itself stands in the way of others.
        self.store.intents.release(self.number);
        self.store.make_durable(state)
    }

    /// Serialisability: nothing that was read has another outcome now.
    fn check_reads(&self, inner: &Inner, commits: &Commits) -> Result<()> {
        for committed in commits.history.since(self.base.lsn) {
            for (table, predicate) in &inner.reads {
                let Some(delta) = committed.tables.get(table) else { continue };
                if delta.affects(predicate.as_deref())? {
                    let name = delta.name();
                    let message = format!("rows of table \"{name}\" that this transaction read have changed");
                    return Err(Error::Conflict { message });
                }
            }
        }
        Ok(())
    }

    fn rebase(&self, inner: &Inner, commits: &Commits) -> Result<Rebased> {
        let tip = &commits.tip;
        let is_current = tip.lsn == self.base.lsn;
        let mut state = State::clone(if is_current { &inner.view } else { tip });
        if !is_current {
            self.check_names(inner, tip)?;
            self.check_references(inner, commits)?;
            inner.dropped.iter().for_each(|id| drop(state.remove(*id)));
        }
        let mut record =
            log::Record { dropped: inner.dropped.iter().copied().collect(), ..Default::default() };
        let mut deltas = HashMap::new();
        for (id, own) in &inner.tables {
            let schema = inner.created.get(id);
            if schema.is_none() && !own.is_changed() {
                // Nobody who began before has to see another version of it.
                if let Some(unchanged) = tip.object(*id) {
                    state.put(unchanged.clone());
                }
                continue;
            }
            own.check_settled()?;
            own.check_deferrable_keys(0, &|_| true)?;
            let (table, changes) = match schema {
                Some(_) => (Arc::clone(own), own.changes()),
                None => self.rebase_table(own, commits)?,
            };
            if let Some(schema) = schema {
                record.created.push((*id, Arc::clone(schema)));
            } else if let Some(Object::Table(before)) = tip.object(*id) {
                deltas.insert(*id, Delta::new(before.table()?, Arc::clone(&table), &changes));
            }
            table.forget_changes();
            record.tables.push((*id, changes));
            state.put_table(table);
        }
        for id in &inner.definitions {
            if let Some(object) = inner.view.object(*id) {
                record.definitions.push(object.clone());
                state.put(object.clone());
            }
        }
        let dropped = inner.dropped.iter().filter_map(|id| tip.object(*id));
        dropped.for_each(|object| forget_index(object, &state));
        for id in &inner.sequences {
            if let Some(Object::Sequence(sequence)) = state.object(*id) {
                record.sequences.push((*id, sequence.counter()));
            }
        }
        Ok(Rebased { state, record, deltas, references: inner.references.clone() })
    }

    /// Definitions that refer to each other: what this transaction's refer to is as they were made for, and what it drops
    /// or changes is not referred to by anything that it does not know of.
    fn check_references(&self, inner: &Inner, commits: &Commits) -> Result<()> {
        let altered_since = |id: &ObjectId| {
            let deltas =
                commits.history.since(self.base.lsn).filter_map(|committed| committed.tables.get(id));
            deltas.into_iter().any(Delta::is_altered)
        };
        for id in &inner.references {
            // Its own objects are its own business.
            let Some(then) = self.base.object(*id) else { continue };
            let is_as_it_was = match (then, commits.tip.object(*id)) {
                (Object::Table(_), Some(Object::Table(_))) => !altered_since(id),
                (then, Some(now)) => then.is_same(now),
                (_, None) => false,
            };
            if !is_as_it_was {
                let (kind, name) = (then.kind(), then.name());
                let message = format!("{kind} \"{name}\" was changed or dropped by another connection");
                return Err(Error::Conflict { message });
            }
        }
        let altered = inner.tables.iter().filter(|(_, own)| is_altered(&own.changes())).map(|(id, _)| id);
        for id in inner.dropped.iter().chain(&inner.definitions).chain(altered) {
            let Some(object) = self.base.object(*id) else { continue };
            if commits.history.since(self.base.lsn).any(|committed| committed.references.contains(id)) {
                let (kind, name) = (object.kind(), object.name());
                let message =
                    format!("another connection has defined something that needs {kind} \"{name}\"");
                return Err(Error::Conflict { message });
            }
        }
        Ok(())
    }

    /// Names and definitions: nobody else took a name, or changed or dropped what this transaction changed.
    fn check_names(&self, inner: &Inner, tip: &State) -> Result<()> {
        let conflict = |name: &str| {
            let message =
                format!("\"{name}\" was changed by another connection since this transaction began");
            Err(Error::Conflict { message })
        };
        for id in inner.dropped.iter().chain(&inner.definitions) {
            let (then, now) = (self.base.object(*id), tip.object(*id));
            // A table may be dropped whatever became of its rows and columns, if it is still called so.
            let is_dropped = inner.dropped.contains(id);
            let same = match (then, now) {
                (None, None) => true,
                (Some(Object::Table(then)), Some(Object::Table(now))) if is_dropped => {
                    then.name() == now.name()
                }
                (Some(then), Some(now)) => then.is_same(now),
                _ => false,
            };
            if !same {
                return conflict(then.map_or("an object", Object::name));
            }
        }
        let own = inner.created.keys().chain(inner.tables.keys()).chain(&inner.definitions);
        for object in own.filter_map(|id| inner.view.object(*id)) {
            let taken = tip.named_like(object);
            let key = name_key(object.name());
            let is_free = taken.is_none_or(|taken| {
                taken.id() == object.id()
                    || inner.dropped.contains(&taken.id())
                    || inner.view.object(taken.id()).is_some_and(|own| {
                        // Renamed here; one that somebody else renamed has its old name in this view, too.
                        let then = self.base.object(own.id());
                        name_key(own.name()) != key
                            && then.is_some_and(|then| name_key(then.name()) != name_key(own.name()))
                    })
            });
            if !is_free {
                return conflict(object.name());
            }
        }
        Ok(())
    }

    /// A changed table on top of the newest version of it, and its changes with the ids they have there.
    fn rebase_table(&self, own: &Arc<Table>, commits: &Commits) -> Result<(Arc<Table>, Vec<Change>)> {
        let gone = || Error::Conflict {
            message: format!("table \"{}\" was dropped by another connection", own.schema().name),
        };
        let Some(Object::Table(live)) = commits.tip.object(own.id()) else { return Err(gone()) };
        let Some(Object::Table(base)) = self.base.object(own.id()) else { return Err(gone()) };
        let deltas =
            || commits.history.since(self.base.lsn).filter_map(|committed| committed.tables.get(&own.id()));
        if Arc::ptr_eq(live, base) || deltas().next().is_none() {
            return Ok((Arc::clone(own), own.changes()));
        }
        let changes = own.changes();
        let is_structural = changes.iter().any(Change::is_structural);
        let base_end = base.table()?.next_row_id();
        for delta in deltas() {
            if is_structural || delta.is_structural() {
                let message = format!("table \"{}\" was changed by another connection", own.schema().name);
                return Err(Error::Conflict { message });
            }
            for change in &changes {
                if let Touched::Rows(ids) = change.touched()
                    && delta.touches(&ids.below(base_end))
                {
                    return Err(row_conflict("was changed by another connection since it began"));
                }
            }
        }
        let table = live.table()?.fork();
        let shift = table.next_row_id() - base_end;
        // What is tried again is matched as it is, so it cannot have values that are shown to some only.
        let as_conflict = |error: Error| match error.without_values() {
            Error::Unique { message } => Error::Conflict { message },
            other => other,
        };
        for change in &changes {
            for change in change.shifted(base_end, shift)? {
                table.apply(&change).map_err(as_conflict)?;
            }
        }
        table.check_deferrable_keys(0, &|_| true).map_err(as_conflict)?;
        let changes = table.changes();
        Ok((Arc::new(table), changes))
    }
}

impl Store {
    /// Has the header of the file say that it has what the transaction defines, before the log does: versions that do not know
    /// it refuse the file by its number then, and take no log for a damaged one.
    fn raise_format(&self, inner: &Inner) -> Result<()> {
        let Some(durable) = &self.durable else { return Ok(()) };
        let file = durable.home.file();
        if file.format() >= FORMAT_VERSION_MAX {
            return Ok(());
        }
        let objects = inner.definitions.iter().filter_map(|id| inner.view.object(*id));
        let of_objects = objects.map(|object| object.format(FORMAT_VERSION));
        let has_fields = inner.tables.values().any(|table| table.is_changed() && table.has_fields());
        let of_tables = has_fields.then_some(FORMAT_VERSION_FIELDS);
        let needed = of_objects.chain(of_tables).max().unwrap_or(FORMAT_VERSION);
        if needed > FORMAT_VERSION && file.raise_format(needed) < needed {
            self.checkpoint_as_it_is()?;
        }
        Ok(())
    }

    /// Fails if a row or its table was changed by a commit after `lsn`.
    pub(super) fn check_committed_since(&self, lsn: u64, table: ObjectId, ids: &RowSet) -> Result<()> {
        let mut commits = self.commits.lock();
        // A commit that was taken back stands in nobody's way.
        self.retreat(&mut commits)?;
        if commits.tip.lsn == lsn {
            return Ok(());
        }
        let touched =
            commits.history.since(lsn).filter_map(|c| c.tables.get(&table)).any(|delta| delta.touches(ids));
        if touched { Err(row_conflict("was changed by another connection since it began")) } else { Ok(()) }
    }

    /// Lets go of what no open transaction has to be checked against. Whoever holds the commits now does it in a moment: those
    /// who had them end a transaction, or make a state visible, behind that.
    pub(super) fn tidy_history(&self) {
        let Some(mut commits) = self.commits.try_lock() else { return };
        let gone = self.forget_old_commits(&mut commits);
        drop(commits);
        drop(gone);
    }

    /// The same for who holds the commits. Returns versions of tables that may be dropped when they are given back.
    fn forget_old_commits(&self, commits: &mut Commits) -> Vec<Arc<Table>> {
        // A transaction begins under this lock, so none begins before what is visible now.
        let active = self.active.lock();
        let visible = self.visible.read().lsn;
        commits.history.tidy(&active, visible)
    }

    /// Commits the compaction of a table, unless somebody has changed the table or is changing it. Returns whether it
    /// did. The new state is not visible yet.
    pub(super) fn commit_compaction(&self, id: ObjectId, all: bool) -> Result<bool> {
        let tip = {
            let mut commits = self.commits.lock();
            self.retreat(&mut commits)?;
            Arc::clone(&commits.tip)
        };
        let Some(Object::Table(slot)) = tip.object(id) else { return Ok(false) };
        let before = slot.table()?;
        let starts = before.compactable(all);
        if starts.is_empty() || self.intents.is_claimed(id) {
            return Ok(false);
        }
        let after = Arc::new(before.fork());
        after.compact_into(&starts, self.home())?;
        let changes = after.changes();
        let mut commits = self.commits.lock();
        let is_as_it_was = match commits.tip.object(id) {
            Some(Object::Table(now)) => Arc::ptr_eq(now, slot),
            _ => false,
        };
        if !is_as_it_was || self.intents.is_claimed(id) {
            return Ok(false);
        }
        after.forget_changes();
        let mut state = State::clone(&commits.tip);
        state.put_table(Arc::clone(&after));
        let record = log::Record { tables: vec![(id, changes.clone())], ..Default::default() };
        let deltas = HashMap::from([(id, Delta::new(before, after, &changes))]);
        let references = BTreeSet::new();
        self.log_and_install(&mut commits, Rebased { state, record, deltas, references })?;
        Ok(true)
    }

    /// Gives the commit its number, hands its record to the log, and makes it the newest state. It is not visible yet.
    fn log_and_install(&self, commits: &mut Commits, rebased: Rebased) -> Result<Arc<State>> {
        let Rebased { mut state, record, deltas, references } = rebased;
        state.epoch = commits.epoch;
        state.lsn = match &self.durable {
            Some(durable) => durable.wal.append_in(commits.epoch, &record.encode()?)?,
            None => commits.tip.lsn + 1,
        };
        let (mut objects, mut rewritten) = (Vec::new(), 0);
        for change in record.tables.iter().flat_map(|(_, changes)| changes) {
            let columns = stored_columns(change);
            if matches!(change, Change::Rewrite { .. }) {
                rewritten += columns.iter().map(|column| column.ptr().size).sum::<u64>();
            }
            objects.extend(columns.iter().filter(|column| !column.is_referenced()).cloned());
            columns.iter().for_each(|column| column.set_committed(state.lsn));
            commits.logged.extend(columns);
        }
        commits.rewritten += rewritten;
        let state = Arc::new(state);
        if self.durable.is_some() {
            commits.unsure.push_back(Unsure { state: Arc::clone(&state), objects, rewritten });
        }
        commits.tip = Arc::clone(&state);
        commits.history.push(Committed { lsn: state.lsn, tables: deltas, references });
        Ok(state)
    }
}

fn is_altered(changes: &[Change]) -> bool {
    changes.iter().any(|change| matches!(change, Change::Alter(_)))
}

/// Has no more lookups go through an index that was dropped, unless another one is on the same columns.
fn forget_index(object: &Object, state: &State) {
    let Object::Index(index) = object else { return };
    let Some(Object::Table(slot)) = state.object(index.table) else { return };
    let Some(table) = slot.loaded() else { return };
    let left = || state.indexes_of(index.table).filter(|other| other.kind == index.kind);
    match index.kind {
        IndexKind::Art if left().any(|other| other.columns == index.columns) => {}
        IndexKind::Art => table.remove_secondary_index(&index.columns),
        IndexKind::Bitmap => {
            table.set_value_indexes(left().flat_map(|other| other.columns.iter().copied()).collect())
        }
    }
}

/// The objects in the file that a change refers to.
pub(super) fn stored_columns(change: &Change) -> Vec<crate::home::Stored> {
    let columns: Vec<&Arc<crate::column::Column>> = match change {
        Change::Append { pieces, .. } => pieces
            .iter()
            .filter_map(|piece| match piece {
                Piece::Sealed(columns, _) => Some(columns),
                Piece::Raw(_) => None,
            })
            .flatten()
            .collect(),
        Change::Alter(alteration) => alteration
            .columns
            .iter()
            .filter_map(|source| match source {
                ColumnSource::Converted(groups) => Some(groups),
                ColumnSource::Kept(_) | ColumnSource::Filled(_) => None,
            })
            .flatten()
            .map(|(_, column)| column)
            .collect(),
        Change::Rewrite { groups, .. } => groups.iter().flat_map(|group| &group.columns).collect(),
        Change::Delete { .. } | Change::Update { .. } | Change::Truncate | Change::Compact { .. } => {
            Vec::new()
        }
    };
    columns.into_iter().filter_map(|column| column.stored()).collect()
}
