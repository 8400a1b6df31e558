//! Keeping a database in shape: compaction of tables and of the file, and by the submodules checks, copies and rescue.
//!
//! Tables are compacted by commits of their own, which the log replays; a table that an open transaction changes is left
//! for the next time. The file is compacted after a checkpoint: objects at its end are written once more into holes,
//! directories that refer to them too, and a second root is published for the same state, whereupon the end is cut off.
//! Readers that hold the old objects keep their blocks from being reused.

mod copy;
mod recover;
mod verify;

pub use recover::{Recovered, RecoveryReport};
pub(super) use verify::verify_root;

use super::Store;
use super::checkpoint::{Checkpointed, Tidy};
use super::directory::TableWrites;
use super::object::{Object, ObjectId};
use super::state::State;
use crate::column::Column;
use crate::file::ObjectKind;
use crate::home::{Home, Stored};
use crate::interrupted::check_interrupt;
use inlay_types::{Error, Result};
use std::cmp::Reverse;
use std::collections::HashSet;
use std::sync::Arc;

/// Fewer free blocks than this are not worth moving anything.
const FREE_MIN: u64 = 16;

impl Store {
    /// Compacts tables: those in which more than a quarter of the rows of a row group is deleted, or small row groups
    /// lie side by side; with `force`, all that have deleted rows. Tables that open transactions change are passed over.
    pub fn compact(&self, force: bool) -> Result<()> {
        self.check_writable()?;
        let tip = Arc::clone(&self.commits.lock().tip);
        let tables = tip.objects().filter(|object| matches!(object, Object::Table(_))).map(Object::id);
        let tables: Vec<ObjectId> = tables.collect();
        self.compact_tables(tables, force)?;
        let tip = Arc::clone(&self.commits.lock().tip);
        self.make_durable(tip)
    }

    /// Drops deleted rows everywhere, makes a checkpoint, and makes the file as small as it can be.
    pub fn vacuum(&self) -> Result<()> {
        if self.durable.is_none() {
            return self.compact(true);
        }
        self.checkpoint_and_tidy(Tidy::Thoroughly)
    }

    /// Before a checkpoint: compacts the tables that changed since the last one. The commits become durable with it.
    pub(super) fn compact_changed(&self, done: &Checkpointed, force: bool) -> Result<()> {
        let tip = Arc::clone(&self.commits.lock().tip);
        let has_changed = |object: &&Object| match object {
            Object::Table(slot) => {
                force || done.tables.get(&object.id()).is_none_or(|known| !Arc::ptr_eq(&known.slot, slot))
            }
            _ => false,
        };
        self.compact_tables(tip.objects().filter(has_changed).map(Object::id).collect(), force)
    }

    fn compact_tables(&self, mut tables: Vec<ObjectId>, force: bool) -> Result<()> {
        tables.sort_unstable();
        for id in tables {
            match self.commit_compaction(id, force) {
                Ok(_) => {}
                // The rows are all there, deleted ones too: no reason not to write a checkpoint.
                Err(Error::OutOfMemory { .. } | Error::Corrupt { .. }) if !force => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// After a checkpoint: moves objects from the end of the file into holes, if there are enough of them.
    pub(super) fn pack(
        &self,
        home: &Arc<Home>,
        done: &mut Checkpointed,
        state: &State,
        thoroughly: bool,
    ) -> Result<()> {
        let file = home.file();
        // The tables of the last checkpoint are gone by now.
        file.shrink()?;
        let space = file.space();
        let is_worth_it = space.free_count >= FREE_MIN && space.free_count > space.block_count / 4;
        if space.free_count == 0 || !thoroughly && !is_worth_it {
            return Ok(());
        }
        file.set_packing(true);
        let outcome = self.move_down(home, done, state);
        file.set_packing(false);
        outcome
    }

    fn move_down(&self, home: &Arc<Home>, done: &mut Checkpointed, state: &State) -> Result<()> {
        // What is in use would end here if there were no holes.
        let limit = home.file().space().used_count();
        let mut moves = Moves::default();
        let mut rewrite = HashSet::new();
        for (id, column, stored) in behind(done, limit, &mut rewrite)? {
            check_interrupt()?;
            if stored.ptr().block_count() > home.file().space().largest_free {
                continue;
            }
            // A damaged segment stays where it is, for `recover`.
            let Ok(image) = stored.object().read() else { continue };
            if let Some(moved) = home.store_below(stored.object().kind, id, &image, stored.ptr().block)? {
                moves.make(&column, moved);
                rewrite.insert(id);
            }
        }
        let mut writes = std::mem::take(&mut done.unpublished);
        let is_catalog_behind = done.catalog.as_ref().is_some_and(|catalog| catalog.ptr.end() > limit);
        let outcome = move_pages(home, done, limit, &mut rewrite, &mut writes).and_then(|()| {
            if rewrite.is_empty() && !is_catalog_behind {
                return Ok(None);
            }
            self.write_state(home, done, state, &moves.given_up(), &rewrite, &mut writes).map(Some)
        });
        match outcome {
            Ok(Some(next)) => *done = next,
            Ok(None) => {
                done.unpublished = writes;
                return Ok(());
            }
            Err(error) => {
                done.unpublished = writes;
                return Err(error);
            }
        }
        moves.made.clear();
        // The handles of the old objects are gone only now.
        home.file().shrink()
    }
}

/// Columns with objects that end behind block `limit`, the last first; tables whose own objects do so are entered in
/// `rewrite`.
fn behind(
    done: &Checkpointed,
    limit: u64,
    rewrite: &mut HashSet<ObjectId>,
) -> Result<Vec<(ObjectId, Arc<Column>, Stored)>> {
    let mut found = Vec::new();
    for (id, in_file) in &done.tables {
        let table = match in_file.slot.table() {
            Ok(table) => table,
            // A damaged table is left as it is.
            Err(Error::Corrupt { .. }) => continue,
            Err(error) => return Err(error),
        };
        let own = [Some(&in_file.directory), in_file.statistics.as_ref()];
        if own.into_iter().flatten().any(|object| object.ptr.end() > limit) {
            rewrite.insert(*id);
        }
        let snapshot = table.snapshot();
        for column in snapshot.row_groups().iter().flat_map(|group| group.columns()) {
            let objects = [column.stored(), column.sets_in_file()].into_iter().flatten();
            let behind = objects.filter(|stored| stored.ptr().end() > limit);
            found.extend(behind.map(|stored| (*id, Arc::clone(column), stored)));
        }
    }
    found.sort_unstable_by_key(|(_, _, stored)| Reverse(stored.ptr().block));
    found.dedup_by_key(|(_, _, stored)| stored.ptr().block);
    Ok(found)
}

/// Moves pages of indexes that end behind block `limit`; their tables are entered in `rewrite`, as directories name the
/// first page.
fn move_pages(
    home: &Arc<Home>,
    done: &Checkpointed,
    limit: u64,
    rewrite: &mut HashSet<ObjectId>,
    writes: &mut TableWrites,
) -> Result<()> {
    for (id, in_file) in &done.tables {
        for handle in in_file.indexes()? {
            let flushed = match handle.flush_packed(home, *id, limit) {
                Ok(flushed) => flushed,
                // An index that cannot be read is left as it is.
                Err(Error::Corrupt { .. }) => continue,
                Err(error) => return Err(error),
            };
            if flushed.is_changed {
                rewrite.insert(*id);
                writes.unused.extend(flushed.unused);
                writes.indexes.push(handle);
            }
        }
    }
    Ok(())
}

/// Columns that were moved, and where they were: they go back unless the root that knows of it is published.
#[derive(Default)]
struct Moves {
    made: Vec<(Arc<Column>, Stored)>,
}

impl Moves {
    fn make(&mut self, column: &Arc<Column>, to: Stored) {
        if let Some(from) = put(column, to) {
            self.made.push((Arc::clone(column), from));
        }
    }

    fn given_up(&self) -> Vec<Stored> {
        self.made.iter().map(|(_, from)| from.clone()).collect()
    }
}

/// Tells a column where its segment is now, or the sets of its values. Returns where they were.
fn put(column: &Column, to: Stored) -> Option<Stored> {
    if to.object().kind == ObjectKind::ValueSets { column.put_sets_in_file(to) } else { column.move_to(to) }
}

impl Drop for Moves {
    fn drop(&mut self) {
        for (column, from) in self.made.drain(..) {
            put(&column, from);
        }
    }
}
