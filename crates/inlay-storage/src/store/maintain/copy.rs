//! Copies of a database: a state and everything in it, written into a new file.

use super::super::Store;
use super::super::checkpoint::Checkpointed;
use super::super::directory::{INLINE_MAX, TableWrites};
use super::super::object::{Object, ObjectId};
use super::super::open::{resolved, wal_path};
use super::super::state::State;
use crate::column::Column;
use crate::file::BlockFile;
use crate::home::Home;
use crate::io::Disk;
use crate::row_group::RowGroup;
use crate::segment::Segment;
use crate::table::Table;
use inlay_types::{Error, MemoryBudget, Result};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Memory that a copy may use for what it has to decode.
const MEMORY_MAX: u64 = 256 << 20;

impl Store {
    /// Writes a copy of the newest committed state into the new file `path`, while the database is used and changed.
    /// The file appears under its name when it is complete and durable.
    pub fn backup(&self, disk: &Arc<dyn Disk>, path: &Path) -> Result<()> {
        if let Some(reader) = &self.reader {
            reader.follow(self)?;
        }
        let state = self.state();
        let target = NewFile::beside(disk, path)?;
        let home = target.home()?;
        let mut copy = State::default();
        copy.lsn = state.lsn;
        for object in state.objects() {
            match object {
                Object::Table(slot) => copy.put_table(Arc::new(copy_table(&home, &*slot.table()?)?)),
                other => copy.put(other.clone()),
            }
        }
        self.write_copy(&home, &copy)?;
        drop((copy, home));
        target.put_in_place()
    }

    /// Makes a state whose tables are all at `home` the state of its new file.
    pub(super) fn write_copy(&self, home: &Arc<Home>, state: &State) -> Result<()> {
        let (nothing, mut writes) = (Checkpointed::default(), TableWrites::default());
        self.write_state(home, &nothing, state, &[], &HashSet::new(), &mut writes).map(|_| ())
    }

    /// What writes copies when there is no database.
    pub(super) fn of_nothing(next_id: ObjectId) -> Self {
        let (state, checkpointed) = (State::default(), Checkpointed::default());
        Self::of(MemoryBudget::unlimited(), None, None, state, checkpointed, next_id)
    }
}

fn copy_table(home: &Arc<Home>, table: &Table) -> Result<Table> {
    let snapshot = table.snapshot();
    let mut groups = Vec::with_capacity(snapshot.row_groups().len());
    for group in snapshot.row_groups() {
        let columns = group.columns().iter().map(|column| copy_column(home, table.id(), column));
        groups.push(Arc::new(group_of(group, columns.collect::<Result<_>>()?)));
    }
    let statistics = table.statistics_to_store(&snapshot)?;
    let (schema, next_row_id) = (Arc::new(table.schema().clone()), table.next_row_id());
    Ok(Table::from_file(
        table.id(),
        schema,
        Arc::clone(home),
        groups,
        next_row_id,
        Some(statistics),
        Vec::new(),
    ))
}

/// A row group with the same rows in other columns.
pub(super) fn group_of(group: &RowGroup, columns: Vec<Arc<Column>>) -> RowGroup {
    let mut copy = RowGroup::new(columns, group.len(), group.row_id_start(), group.is_sealed());
    copy.set_deleted(group.deleted().cloned());
    copy
}

/// Copies the image of a column; what is in the file already is not decoded.
fn copy_column(home: &Arc<Home>, table: ObjectId, column: &Arc<Column>) -> Result<Arc<Column>> {
    let image = match column.stored() {
        Some(stored) => stored.object().read()?.into_vec(),
        None => column.segment()?.to_bytes()?,
    };
    let meta = column.meta().clone();
    if image.len() <= INLINE_MAX {
        let copy = Column::new(Segment::from_bytes(meta.ty, &image, home.budget())?);
        copy.set_in_statistics();
        return Ok(copy);
    }
    let copy = Column::in_file(meta, home.store(table, &image)?, true);
    home.cache().enter(&copy);
    Ok(copy)
}

/// A database file that is written beside the place it is for.
pub(super) struct NewFile {
    disk: Arc<dyn Disk>,
    path: PathBuf,
    partial: PathBuf,
    is_done: bool,
}

impl NewFile {
    /// A new file for `path`, where there must be none, or an empty one.
    pub fn beside(disk: &Arc<dyn Disk>, path: &Path) -> Result<Self> {
        let path = resolved(disk, path)?;
        let mut partial = path.as_os_str().to_owned();
        partial.push(format!(".{:08x}.partial", disk.random() as u32));
        let target = Self { disk: Arc::clone(disk), path, partial: partial.into(), is_done: false };
        target.expect_free()?;
        Ok(target)
    }

    fn expect_free(&self) -> Result<()> {
        for taken in [self.path.clone(), wal_path(&self.path)] {
            if is_taken(&self.disk, &taken)? {
                let name = taken.display();
                return Err(Error::invalid_argument(format!(
                    "\"{name}\" exists already and is not empty; remove it or choose another name"
                )));
            }
        }
        Ok(())
    }

    /// Creates it.
    pub fn home(&self) -> Result<Arc<Home>> {
        let file = BlockFile::create(&*self.disk, &self.partial)?;
        Ok(Home::new(file, MemoryBudget::new(MEMORY_MAX)))
    }

    /// Gives it its name, once it is complete.
    pub fn put_in_place(mut self) -> Result<()> {
        // Somebody may have made one meanwhile.
        self.expect_free()?;
        let name = self.path.display().to_string();
        self.disk
            .rename(&self.partial, &self.path)
            .and_then(|()| self.disk.sync_directory(&self.path))
            .map_err(|error| Error::io("cannot write", name, &error))?;
        self.is_done = true;
        Ok(())
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if !self.is_done {
            let _ = self.disk.remove(&self.partial);
        }
    }
}

fn is_taken(disk: &Arc<dyn Disk>, path: &Path) -> Result<bool> {
    let failed = |error: &std::io::Error| Error::io("cannot examine", path.display().to_string(), error);
    if !disk.exists(path).map_err(|error| failed(&error))? {
        return Ok(false);
    }
    let file = disk.open(path, crate::io::OpenMode::ReadOnly).map_err(|error| failed(&error))?;
    Ok(file.size().map_err(|error| failed(&error))? > 0)
}
