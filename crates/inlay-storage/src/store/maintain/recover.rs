//! Rescue: puts everything intact in a damaged file into a new one, and says what is lost.
//!
//! As far as headers and catalog can be read they lead to everything else; otherwise the frames that objects begin with
//! do. A row group with a damaged segment is left out as a whole, so every row that is there is as it was. The log is
//! replayed up to the first transaction that cannot be.

use super::super::Store;
use super::super::directory::{INLINE_MAX, Parts, StoredTable};
use super::super::log::Record;
use super::super::object::{Object, ObjectId, TableSlot};
use super::super::open::{logged_path, resolved, tie_of, wal_path};
use super::super::state::State;
use super::copy::{NewFile, group_of};
use crate::column::Column;
use crate::file::{BlockFile, ObjectKind, ObjectPtr, Root, StoredObject, salvage};
use crate::home::Home;
use crate::hyperloglog::HyperLogLog;
use crate::io::Disk;
use crate::row_group::RowGroup;
use crate::schema::TableSchema;
use crate::statistics::StoredStatistics;
use crate::table::Table;
use crate::wal::{Poll, WalReader};
use inlay_types::{Batch, Error, MemoryBudget, Result, VectorBuilder};
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;

/// Memory that damaged segments are decoded in.
const MEMORY_MAX: u64 = 512 << 20;

/// What became of a damaged database.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecoveryReport {
    /// What became of each object.
    pub objects: Vec<Recovered>,
}

/// What became of one object of a damaged database.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recovered {
    /// Which one.
    pub object: String,
    /// What the new database has of it.
    pub recovered: String,
    /// What it has not; empty if that is nothing.
    pub lost: String,
}

impl RecoveryReport {
    fn add(&mut self, object: impl Into<String>, recovered: impl Into<String>, lost: impl Into<String>) {
        let (object, recovered, lost) = (object.into(), recovered.into(), lost.into());
        self.objects.push(Recovered { object, recovered, lost });
    }

    /// Whether nothing is lost.
    pub fn is_complete(&self) -> bool {
        self.objects.iter().all(|object| object.lost.is_empty())
    }
}

impl Store {
    /// Puts what is intact in the database file `damaged` and its log into a new file `target`.
    pub fn recover(disk: &Arc<dyn Disk>, damaged: &Path, target: &Path) -> Result<RecoveryReport> {
        let target = NewFile::beside(disk, target)?;
        let damaged = &resolved(disk, damaged)?;
        let mut rescue = Rescue::open(disk, damaged)?;
        let mut state = rescue.state()?;
        rescue.load_tables(&mut state)?;
        rescue.replay_log(disk, damaged, &mut state)?;
        let home = target.home()?;
        let mut copy = State::default();
        copy.lsn = state.lsn;
        let mut objects: Vec<&Object> = state.objects().collect();
        objects.sort_by_key(|object| object.id());
        for object in objects {
            match object {
                Object::Table(slot) => copy.put_table(Arc::new(rescue.table(&home, &*slot.table()?)?)),
                other => {
                    copy.put(other.clone());
                    rescue.report.add(format!("{} \"{}\"", other.kind(), other.name()), "definition", "");
                }
            }
        }
        let next_id = rescue.next_id.max(copy.next_id());
        Store::of_nothing(next_id).write_copy(&home, &copy)?;
        drop((copy, home));
        target.put_in_place()?;
        Ok(rescue.report)
    }
}

struct Rescue {
    home: Arc<Home>,
    /// Absent when the headers are damaged.
    root: Option<Root>,
    report: RecoveryReport,
    next_id: ObjectId,
    /// Found by their frames, when something had to be looked for: by owner, the newest last.
    salvaged: Option<HashMap<(ObjectKind, u64), Vec<ObjectPtr>>>,
    disk: Arc<dyn Disk>,
}

impl Rescue {
    fn open(disk: &Arc<dyn Disk>, path: &Path) -> Result<Self> {
        let mut report = RecoveryReport::default();
        let (file, root) = match BlockFile::open(&**disk, path, true) {
            Ok((file, root)) => (file, Some(root)),
            Err(error @ (Error::Corrupt { .. } | Error::InvalidArgument { .. })) => {
                report.add("headers", "", error.to_string());
                (BlockFile::open_damaged(&**disk, path)?, None)
            }
            Err(error) => return Err(error),
        };
        let home = Home::new(file, MemoryBudget::new(MEMORY_MAX));
        Ok(Self { home, root, report, next_id: 1, salvaged: None, disk: Arc::clone(disk) })
    }

    /// Objects of a kind and owner that are intact, by their frames; the newest last.
    fn salvaged(&mut self) -> Result<&HashMap<(ObjectKind, u64), Vec<ObjectPtr>>> {
        if self.salvaged.is_none() {
            let mut found: HashMap<(ObjectKind, u64), Vec<(u64, ObjectPtr)>> = HashMap::new();
            salvage(&*self.disk, self.home.file().path(), &mut |object| {
                if matches!(object.kind, ObjectKind::Catalog | ObjectKind::Directory) {
                    found
                        .entry((object.kind, object.owner))
                        .or_default()
                        .push((object.generation, object.ptr));
                }
                Ok(())
            })?;
            let newest_last = |mut versions: Vec<(u64, ObjectPtr)>| {
                versions.sort_unstable();
                versions.into_iter().map(|(_, ptr)| ptr).collect()
            };
            let found = found.into_iter().map(|(key, versions)| (key, newest_last(versions)));
            self.salvaged = Some(found.collect());
        }
        self.salvaged.as_ref().ok_or_else(|| Error::internal("nothing was looked for"))
    }

    /// The newest catalog that can be read; without any, one of all tables that can be found.
    fn state(&mut self) -> Result<State> {
        if let Some(root) = self.root {
            match Store::read_catalog(&self.home, &root) {
                Ok((state, _, next_id)) => {
                    self.next_id = next_id;
                    return Ok(state);
                }
                Err(error) => self.report.add("catalog", "", error.to_string()),
            }
        }
        self.root = None;
        let catalogs = self.salvaged()?.get(&(ObjectKind::Catalog, 0)).cloned().unwrap_or_default();
        for catalog in catalogs.into_iter().rev() {
            let root = Root { lsn: 0, catalog, extra: 0 };
            if let Ok((state, _, next_id)) = Store::read_catalog(&self.home, &root) {
                self.next_id = next_id;
                let (found, lost) = ("the newest intact version", "what changed since, if anything did");
                self.report.add("catalog", found, lost);
                return Ok(state);
            }
        }
        self.report.add(
            "catalog",
            "tables, by their directories",
            "views, sequences, indexes and dropped names",
        );
        let tables: BTreeMap<u64, ObjectPtr> = self
            .salvaged()?
            .iter()
            .filter(|((kind, _), _)| *kind == ObjectKind::Directory)
            .filter_map(|((_, owner), versions)| Some((*owner, *versions.last()?)))
            .collect();
        let mut state = State::default();
        for (id, ptr) in tables {
            let Ok(table) = self.load(id, ptr) else { continue };
            let name = table.schema().name.clone();
            if state.relation(&name).is_some() {
                // Of two tables that had the name one after the other, the newer has it.
                self.report.add(format!("table \"{name}\""), "", "an older table of this name, or dropped");
                continue;
            }
            state.put_table(Arc::new(table));
        }
        Ok(state)
    }

    fn stored(&self, ptr: ObjectPtr) -> StoredTable {
        let file = Arc::clone(self.home.file());
        let directory = Arc::new(StoredObject { file, ptr, kind: ObjectKind::Directory });
        StoredTable::new(&self.home, directory)
    }

    /// A table by its directory, without its statistics.
    fn load(&self, id: ObjectId, ptr: ObjectPtr) -> Result<Table> {
        let stored = self.stored(ptr);
        let Parts { schema, next_row_id, groups, .. } = stored.parts(id, &stored.directory.read()?)?;
        let (home, statistics) = (Arc::clone(&self.home), Some(no_statistics(&schema)));
        Ok(Table::from_file(id, schema, home, groups, next_row_id, statistics, Vec::new()))
    }

    /// Makes every table one whose directory is in memory, or leaves it out.
    fn load_tables(&mut self, state: &mut State) -> Result<()> {
        let slots: Vec<(ObjectId, Arc<TableSlot>)> = state
            .objects()
            .filter_map(|object| match object {
                Object::Table(slot) => Some((object.id(), Arc::clone(slot))),
                _ => None,
            })
            .collect();
        for (id, slot) in slots {
            let error = match slot.table() {
                Ok(_) => continue,
                Err(error) => error,
            };
            // Perhaps only its statistics are damaged.
            let own = slot.directory().map(|directory| directory.ptr);
            let older = self.salvaged()?.get(&(ObjectKind::Directory, id)).cloned().unwrap_or_default();
            let candidates: Vec<ObjectPtr> = own.into_iter().chain(older.into_iter().rev()).collect();
            let found = candidates.into_iter().find_map(|ptr| Some((ptr, self.load(id, ptr).ok()?)));
            let place = format!("table \"{}\"", slot.name());
            match found {
                Some((ptr, table)) => {
                    if Some(ptr) != own {
                        let lost = format!("what changed since: {error}");
                        self.report.add(format!("{place}, directory"), "an older version", lost);
                    }
                    state.put_table(Arc::new(table));
                }
                None => {
                    state.remove(id);
                    self.report.add(place, "", format!("all of it: {error}"));
                }
            }
        }
        Ok(())
    }

    /// Does the transactions of the log again, as far as that can be.
    fn replay_log(&mut self, disk: &Arc<dyn Disk>, path: &Path, state: &mut State) -> Result<()> {
        if self.root.is_none() {
            if disk.exists(&wal_path(path)).unwrap_or(true) {
                self.report.add("log", "", "all of it: without headers nothing says where it goes on");
            }
            return Ok(());
        }
        let path = logged_path(disk, self.home.file(), path)?;
        let mut wal = WalReader::open(disk, Some(&wal_path(&path)), tie_of(self.home.file(), &path));
        let home = Arc::clone(&self.home);
        let mut count = 0u64;
        let end = wal.poll(&mut |lsn, body| {
            // On a copy, so that a transaction that fails half-way leaves nothing behind.
            let mut next = state.clone();
            Record::decode(body, &home)?.replay(&mut next, &mut HashMap::new(), &home)?;
            next.lsn = lsn;
            *state = next;
            count += 1;
            Ok(())
        });
        let lost = match end {
            Ok(Poll::UpTo(_)) => String::new(),
            Ok(Poll::Behind) => "the log begins after the newest state of the file".to_string(),
            Ok(Poll::Unfit(error)) => format!("later transactions: {error}"),
            Err(error) => format!("later transactions: {error}"),
        };
        if count > 0 || !lost.is_empty() {
            self.report.add("log", format!("{count} transactions"), lost);
        }
        Ok(())
    }

    /// A copy of a table without the row groups that are damaged.
    fn table(&mut self, home: &Arc<Home>, table: &Table) -> Result<Table> {
        let snapshot = table.snapshot();
        let mut groups = Vec::with_capacity(snapshot.row_groups().len());
        let (mut kept, mut lost, mut reasons) = (0, 0, Vec::new());
        for group in snapshot.row_groups() {
            match rescued(home, table, group) {
                Ok(group) => {
                    kept += group.live_count();
                    groups.push(Arc::new(group));
                }
                Err(error @ (Error::Corrupt { .. } | Error::Io { .. })) => {
                    lost += group.live_count();
                    reasons.push(error.to_string());
                }
                Err(error) => return Err(error),
            }
        }
        let lost = match lost {
            0 => String::new(),
            rows => format!("{rows} rows in {} row groups: {}", reasons.len(), reasons.join("; ")),
        };
        self.report.add(format!("table \"{}\"", table.schema().name), format!("{kept} rows"), lost);
        let statistics = Some(no_statistics(table.schema()));
        let (schema, next_row_id) = (Arc::new(table.schema().clone()), table.next_row_id());
        Ok(Table::from_file(
            table.id(),
            schema,
            Arc::clone(home),
            groups,
            next_row_id,
            statistics,
            Vec::new(),
        ))
    }
}

/// A row group whose segments were decoded and encoded again.
fn rescued(home: &Arc<Home>, table: &Table, group: &RowGroup) -> Result<RowGroup> {
    let mut columns = Vec::with_capacity(group.columns().len());
    for (index, column) in table.schema().columns.iter().enumerate() {
        let segment = group.segment(index).map_err(|error| {
            error.within(format!("column \"{}\", rows from {}", column.name, group.row_id_start()))
        })?;
        let copy = Column::of(segment);
        copy.persist_above(home, table.id(), INLINE_MAX)?;
        columns.push(copy);
    }
    for column in &columns {
        // Twice: the first call only notes that nobody asked for it since.
        column.try_evict();
        column.try_evict();
    }
    Ok(group_of(group, columns))
}

/// Statistics that know nothing.
fn no_statistics(schema: &TableSchema) -> StoredStatistics {
    let columns = &schema.columns;
    let sample = columns.iter().map(|column| VectorBuilder::new(column.ty.clone(), 0).finish()).collect();
    StoredStatistics {
        sketches: vec![HyperLogLog::default(); columns.len()],
        sample: Arc::new(Batch::new(sample, 0)),
        sampled_rows: 0,
    }
}
