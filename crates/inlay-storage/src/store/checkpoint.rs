//! Checkpoint: puts the newest state into the file, after which the log can be shortened.
//!
//! Nothing that the last checkpoint refers to is overwritten, so a crash at any moment leaves either the old state with
//! a long log or the new one with a short one. Tables that did not change keep their directories, and segments that did
//! not change stay where they are. Readers and writers go on meanwhile; what commits after the checkpoint began stays in
//! the log.
//!
//! ```text
//! catalog: version u8 = 1 | next object number | table count | tables | definition count | definitions
//! table: number | name | directory ptr
//! ```

use super::Store;
use super::directory::{StoredTable, TableWrites, write_table};
use super::object::{Object, ObjectId, TableSlot};
use super::state::State;
use crate::bytes::{ByteReader, ByteWriter};
use crate::file::{
    FORMAT_VERSION, FORMAT_VERSION_BITMAP, LogMark, ObjectKind, ObjectPtr, Root, StoredObject,
};
use crate::home::{Home, Stored};
use crate::io::Leads;
use crate::table::{IndexHandle, Table, object_ptr};
use inlay_types::{Error, Result};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

#[cfg(test)]
mod sets_tests;
#[cfg(test)]
mod tests;

const VERSION: u8 = 1;

/// What the file holds.
#[derive(Debug, Default)]
pub(super) struct Checkpointed {
    pub lsn: u64,
    pub catalog: Option<Arc<StoredObject>>,
    pub tables: HashMap<ObjectId, InFile>,
    /// What checkpoints did to indexes that then failed.
    pub unpublished: TableWrites,
}

/// A version of a table as the file holds it.
#[derive(Debug)]
pub(super) struct InFile {
    pub slot: Arc<TableSlot>,
    pub directory: Arc<StoredObject>,
    /// Absent for a table that was there when the file was opened.
    pub statistics: Option<Arc<StoredObject>>,
}

impl InFile {
    /// Whether the file has this version, and all of its indexes as they are. A checkpoint that failed after it had written
    /// an index leaves a directory that refers to pages which are about to be given back.
    fn is_up_to_date(&self, slot: &Arc<TableSlot>, by_value: &[usize], unpublished: &TableWrites) -> bool {
        let has_new_index = |table: &Arc<Table>| {
            let is_new = |handle: &Arc<IndexHandle>| !handle.is_published() || unpublished.has_index(handle);
            table.index_handles().iter().any(is_new)
        };
        Arc::ptr_eq(&self.slot, slot)
            && !slot.loaded().is_some_and(has_new_index)
            && !self.has_sets_to_write(by_value)
            && !self.can_get_statistics()
    }

    /// Whether the file is to have other sets of its values, where these columns are to have some.
    fn has_sets_to_write(&self, by_value: &[usize]) -> bool {
        self.slot.loaded().is_some_and(|table| table.has_value_sets_to_write(by_value))
    }

    /// The version of the format that the directory needs, in a file whose header says `now`.
    fn format(&self, now: u32) -> u32 {
        match self.slot.loaded() {
            Some(table) if table.has_value_sets_in_file() => FORMAT_VERSION_BITMAP,
            Some(_) => FORMAT_VERSION,
            // Nobody has looked.
            None => now,
        }
    }

    /// Whether there is something to write although nothing was changed.
    fn lacks_something(&self, by_value: &[usize]) -> bool {
        self.can_get_statistics() || self.has_sets_to_write(by_value)
    }

    /// Whether the file has no statistics of the table, and they could be made. A table that was not read since the file
    /// was opened is left as it is: nobody has waited for its segments yet.
    fn can_get_statistics(&self) -> bool {
        let lacking = self.slot.loaded().filter(|table| table.lacks_statistics());
        lacking.is_some_and(|table| table.statistics().is_ok())
    }

    /// The indexes that the file has of the version.
    pub fn indexes(&self) -> Result<Vec<Arc<IndexHandle>>> {
        let handles = match self.slot.table() {
            Ok(table) => table.index_handles(),
            // What a damaged directory refers to stays in use.
            Err(Error::Corrupt { .. }) => Vec::new(),
            Err(error) => return Err(error),
        };
        Ok(handles.into_iter().filter(|handle| handle.is_published()).collect())
    }

    /// Everything in the file that belongs to the version.
    /// Apart from the pages of indexes.
    pub fn objects(&self, home: &Arc<Home>) -> Result<Vec<Arc<StoredObject>>> {
        let mut objects = vec![Arc::clone(&self.directory)];
        let table = self.slot.table()?;
        let statistics = match &self.statistics {
            Some(statistics) => Some(Arc::clone(statistics)),
            None => statistics_of(home, &self.directory)?,
        };
        objects.extend(statistics);
        objects.extend(columns_in_file(&table).map(|stored| Arc::clone(stored.object())));
        Ok(objects)
    }
}

/// What the file has of the columns of a table: segments, and the sets of their values.
pub(super) fn columns_in_file(table: &Table) -> impl Iterator<Item = Stored> {
    let snapshot = table.snapshot();
    let columns: Vec<Stored> = snapshot
        .row_groups()
        .iter()
        .flat_map(|group| group.columns())
        .flat_map(|column| [column.stored(), column.sets_in_file()])
        .flatten()
        .collect();
    columns.into_iter()
}

/// The statistics that a directory refers to.
fn statistics_of(home: &Arc<Home>, directory: &Arc<StoredObject>) -> Result<Option<Arc<StoredObject>>> {
    let bytes = directory.read()?;
    let ptr = if directory.file.format() < FORMAT_VERSION {
        // Only all of it tells how it is to be read.
        StoredTable::new(home, Arc::clone(directory)).parts(0, &bytes)?.statistics
    } else {
        let mut from = ByteReader::new(&bytes);
        from.u8()?;
        crate::schema::TableSchema::read(&mut from)?;
        from.i64()?;
        ObjectPtr::read(&mut from)?
    };
    let file = Arc::clone(&directory.file);
    Ok(Some(Arc::new(StoredObject { file, ptr, kind: ObjectKind::Statistics })))
}

impl Home {
    pub(super) fn write(
        self: &Arc<Self>,
        kind: ObjectKind,
        owner: u64,
        payload: &[u8],
    ) -> Result<Arc<StoredObject>> {
        let ptr = self.file().write_object(kind, owner, payload)?;
        Ok(Arc::new(StoredObject { file: Arc::clone(self.file()), ptr, kind }))
    }
}

/// What a checkpoint compacts.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Tidy {
    /// No table.
    FileAlone,
    /// What has gaps enough.
    WhereWorthIt,
    /// Whatever has gaps.
    Thoroughly,
}

impl Store {
    /// Puts everything committed into the file. Does nothing for a database in memory.
    pub fn checkpoint(&self) -> Result<()> {
        self.checkpoint_and_tidy(Tidy::WhereWorthIt)
    }

    /// A checkpoint that moves no rows: open transactions that began before can change them.
    pub fn checkpoint_as_it_is(&self) -> Result<()> {
        self.checkpoint_and_tidy(Tidy::FileAlone)
    }

    /// A checkpoint that compacts tables before and the file afterwards.
    pub(super) fn checkpoint_and_tidy(&self, tidy: Tidy) -> Result<()> {
        let Some(durable) = &self.durable else { return Ok(()) };
        self.check_writable()?;
        let mut done = self.checkpointed.lock();
        let thoroughly = tidy == Tidy::Thoroughly;
        if tidy != Tidy::FileAlone {
            self.compact_changed(&done, thoroughly)?;
        }
        let (state, logged, rewritten) = {
            let mut commits = self.commits.lock();
            self.retreat(&mut commits)?;
            let rewritten = std::mem::take(&mut commits.rewritten);
            (Arc::clone(&commits.tip), std::mem::take(&mut commits.logged), rewritten)
        };
        let file = durable.home.file();
        let is_old = file.format() < FORMAT_VERSION || file.wants_format();
        let lacks =
            |(id, in_file): (&ObjectId, &InFile)| in_file.lacks_something(&state.columns_by_value(*id));
        if state.lsn != done.lsn
            || is_old
            || done.tables.iter().any(lacks)
            || !done.unpublished.without_sets.is_empty()
        {
            if let Err(error) = self.make_durable(Arc::clone(&state)) {
                let mut commits = self.commits.lock();
                self.retreat(&mut commits)?;
                commits.logged.extend(logged.into_iter().filter(Stored::is_referenced));
                commits.rewritten += rewritten;
                return Err(error);
            }
            self.tidy_history();
            self.forget_sure(self.commits.lock());
            let mut writes = std::mem::take(&mut done.unpublished);
            match self.write_state(&durable.home, &done, &state, &logged, &HashSet::new(), &mut writes) {
                Ok(next) => *done = next,
                Err(error) => {
                    done.unpublished = writes;
                    let mut commits = self.commits.lock();
                    commits.logged.extend(logged);
                    commits.rewritten += rewritten;
                    return Err(error);
                }
            }
            drop(logged);
            durable.renew_log(state.lsn)?;
        } else if durable.wal.leads()? == Leads::Nowhere {
            durable.renew_log(state.lsn)?;
        }
        self.pack(&durable.home, &mut done, &state, thoroughly)?;
        drop(state);
        self.vacuum_indexes(&done)
    }

    /// Where the file has the pages of all indexes, as of the last checkpoint.
    pub fn index_pages(&self) -> Result<Vec<ObjectPtr>> {
        let done = self.checkpointed.lock();
        let mut pages = Vec::new();
        for in_file in done.tables.values() {
            for handle in in_file.indexes()? {
                pages.extend(handle.pages()?.into_iter().map(object_ptr));
            }
        }
        pages.extend(done.unpublished.pages()?);
        let mut seen = HashSet::new();
        pages.retain(|page| seen.insert(page.block));
        Ok(pages)
    }

    /// Takes stale entries out of the indexes that no older version of a table needs.
    fn vacuum_indexes(&self, done: &Checkpointed) -> Result<()> {
        self.tidy_history();
        let tables = done.tables.values().filter_map(|in_file| in_file.slot.loaded());
        tables.into_iter().try_for_each(|table| match table.vacuum_indexes() {
            // It can wait.
            Err(Error::OutOfMemory { .. }) => Ok(()),
            done => done,
        })
    }

    /// Makes `state` the state of a file that holds `done`. `logged` are objects outside of `done` that may be given
    /// back; tables of `rewrite` get new directories even if they did not change.
    pub(super) fn write_state(
        &self,
        home: &Arc<Home>,
        done: &Checkpointed,
        state: &State,
        logged: &[Stored],
        rewrite: &HashSet<ObjectId>,
        writes: &mut TableWrites,
    ) -> Result<Checkpointed> {
        let mut written = Written { objects: Vec::new(), home };
        // The header says that everything has the newest format.
        let is_old = home.file().format() < FORMAT_VERSION;
        let mut tables = HashMap::new();
        for object in state.objects() {
            let Object::Table(slot) = object else { continue };
            let by_value = state.columns_by_value(object.id());
            let refers_to_lost_sets = writes.without_sets.contains(&object.id());
            let is_up_to_date =
                |known: &&InFile| !refers_to_lost_sets && known.is_up_to_date(slot, &by_value, writes);
            let known = done.tables.get(&object.id()).filter(is_up_to_date);
            let known = known.filter(|_| !is_old && !rewrite.contains(&object.id()));
            let in_file = match known {
                Some(known) => InFile {
                    slot: Arc::clone(slot),
                    directory: Arc::clone(&known.directory),
                    statistics: known.statistics.clone(),
                },
                None => {
                    let [directory, statistics] = write_table(home, &*slot.table()?, &by_value, writes)?;
                    written.objects.extend([Arc::clone(&directory), Arc::clone(&statistics)]);
                    InFile { slot: Arc::clone(slot), directory, statistics: Some(statistics) }
                }
            };
            tables.insert(object.id(), in_file);
        }
        let catalog = home.write(ObjectKind::Catalog, 0, &catalog_bytes(self, state, &tables))?;
        written.objects.push(Arc::clone(&catalog));
        let mut retired = retired(home, done, &tables, logged)?;
        retired.extend(retired_pages(home, done, &tables, writes)?);
        let root = Root { lsn: state.lsn, catalog: catalog.ptr, extra: 0 };
        let of_root =
            || tables.values().filter_map(|in_file| in_file.slot.loaded()).flat_map(|t| columns_in_file(t));
        of_root().for_each(|stored| stored.unhold());
        let of_tables = tables.values().map(|in_file| in_file.format(home.file().format()));
        let format = of_tables.fold(state.format(home.file().format()), u32::max);
        home.file()
            .publish_with_log(root, format, retired, &|| {
                // A copy that is written into another file has no log.
                let durable = self.durable.as_ref().filter(|durable| Arc::ptr_eq(&durable.home, home));
                durable.map_or(Ok(LogMark::default()), |durable| durable.log_mark_at(root.lsn))
            })
            .inspect_err(|_| of_root().for_each(|stored| stored.hold_again()))?;
        written.objects.clear();
        std::mem::take(writes).indexes.iter().for_each(|handle| handle.set_published());
        for (id, in_file) in &tables {
            let is_new =
                done.tables.get(id).is_none_or(|known| !Arc::ptr_eq(&known.directory, &in_file.directory));
            if let (true, Some(table)) = (is_new, in_file.slot.loaded()) {
                columns_in_file(table).for_each(|stored| stored.set_referenced());
                table.set_has_statistics();
            }
        }
        Ok(Checkpointed {
            lsn: state.lsn,
            catalog: Some(catalog),
            tables,
            unpublished: TableWrites::default(),
        })
    }

    /// Reads the catalog that a root refers to.
    pub(super) fn read_catalog(home: &Arc<Home>, root: &Root) -> Result<(State, Checkpointed, ObjectId)> {
        let mut state = State::default();
        state.lsn = root.lsn;
        if root.catalog.is_none() {
            return Ok((state, Checkpointed { lsn: root.lsn, ..Checkpointed::default() }, 1));
        }
        let file = home.file();
        let bytes = file.read_object(ObjectKind::Catalog, root.catalog)?;
        let mut from = ByteReader::new(&bytes);
        let catalog = StoredObject { file: Arc::clone(file), ptr: root.catalog, kind: ObjectKind::Catalog };
        let mut done =
            Checkpointed { lsn: root.lsn, catalog: Some(Arc::new(catalog)), ..Checkpointed::default() };
        let next_id = parse_catalog(&mut from, home, &mut state, &mut done)
            .map_err(|error| error.within(format!("{}, catalog", file.path().display())))?;
        Ok((state, done, next_id))
    }
}

fn parse_catalog(
    from: &mut ByteReader<'_>,
    home: &Arc<Home>,
    state: &mut State,
    done: &mut Checkpointed,
) -> Result<ObjectId> {
    match from.u8()? {
        VERSION => {}
        other => return Err(Error::corrupt(format!("version {other}"))),
    }
    let next_id = from.u64()?;
    for _ in 0..from.count_of(33)? {
        let (id, name) = (from.u64()?, from.text()?.to_string());
        let (file, ptr) = (Arc::clone(home.file()), ObjectPtr::read(from)?);
        let directory = Arc::new(StoredObject { file, ptr, kind: ObjectKind::Directory });
        let stored = StoredTable::new(home, Arc::clone(&directory));
        let slot = TableSlot::in_file(id, name, stored);
        state.put(Object::Table(Arc::clone(&slot)));
        done.tables.insert(id, InFile { slot, directory, statistics: None });
    }
    for _ in 0..from.count_of(9)? {
        state.put(Object::read_definition(from)?);
    }
    from.expect_end()?;
    Ok(next_id)
}

fn catalog_bytes(store: &Store, state: &State, tables: &HashMap<ObjectId, InFile>) -> Vec<u8> {
    let mut out = ByteWriter::new();
    out.u8(VERSION);
    out.u64(store.next_id());
    let mut objects: Vec<&Object> = state.objects().collect();
    objects.sort_unstable_by_key(|object| object.id());
    out.count(tables.len());
    for object in &objects {
        if let Some(in_file) = tables.get(&object.id()) {
            out.u64(object.id());
            out.text(object.name());
            in_file.directory.ptr.write(&mut out);
        }
    }
    out.count(objects.len() - tables.len());
    for object in objects.iter().filter(|object| !tables.contains_key(&object.id())) {
        object.write_definition(&mut out);
    }
    out.finish()
}

/// What the file or the log referred to until now and the new tables do not.
fn retired(
    home: &Arc<Home>,
    done: &Checkpointed,
    tables: &HashMap<ObjectId, InFile>,
    logged: &[Stored],
) -> Result<Vec<Arc<StoredObject>>> {
    let mut kept = HashSet::new();
    let mut candidates: Vec<Arc<StoredObject>> = done.catalog.iter().cloned().collect();
    for (id, known) in &done.tables {
        match tables.get(id) {
            Some(now) if now.directory.ptr == known.directory.ptr => {}
            _ => candidates.extend(known.objects(home)?),
        }
    }
    candidates.extend(logged.iter().map(|stored| Arc::clone(stored.object())));
    if candidates.is_empty() {
        return Ok(Vec::new());
    }
    for in_file in tables.values() {
        kept.insert(in_file.directory.ptr.block);
        if let Some(table) = in_file.slot.loaded() {
            kept.extend(in_file.statistics.iter().map(|statistics| statistics.ptr.block));
            kept.extend(columns_in_file(table).map(|stored| stored.ptr().block));
        }
    }
    candidates.retain(|object| kept.insert(object.ptr.block));
    Ok(candidates)
}

/// The pages of indexes that the new tables do not have.
fn retired_pages(
    home: &Arc<Home>,
    done: &Checkpointed,
    tables: &HashMap<ObjectId, InFile>,
    writes: &TableWrites,
) -> Result<Vec<Arc<StoredObject>>> {
    let mut kept: HashSet<*const IndexHandle> = HashSet::new();
    for in_file in tables.values() {
        let handles = in_file.slot.loaded().map(|table| table.index_handles()).unwrap_or_default();
        kept.extend(handles.iter().map(Arc::as_ptr));
    }
    let mut retired = writes.unused.clone();
    let before = done
        .tables
        .iter()
        .filter(|(id, known)| tables.get(id).is_none_or(|now| now.directory.ptr != known.directory.ptr));
    let before: Vec<Vec<Arc<IndexHandle>>> =
        before.map(|(_, known)| known.indexes()).collect::<Result<_>>()?;
    for handle in before.into_iter().flatten().chain(writes.indexes.iter().cloned()) {
        if kept.insert(Arc::as_ptr(&handle)) {
            match handle.retire(home) {
                Ok(pages) => retired.extend(pages),
                // Of a damaged index the blocks that cannot be found stay in use.
                Err(Error::Corrupt { .. }) => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(retired)
}

/// Objects that are given back unless the checkpoint that wrote them is published.
struct Written<'a> {
    objects: Vec<Arc<StoredObject>>,
    home: &'a Arc<Home>,
}

impl Drop for Written<'_> {
    fn drop(&mut self) {
        for object in &self.objects {
            self.home.file().discard(object.ptr);
        }
    }
}
