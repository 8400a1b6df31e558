//! Where the segments of a database live: its file, and the cache of those that are in memory too.
//!
//! [`Stored`] owns an object in the file. Until a commit or checkpoint refers to it, dropping the last handle gives
//! its blocks back at once; afterwards the checkpoint that no longer refers to it does ([`Home::retire`]).

use crate::column::Column;
use crate::file::{BlockFile, GenerationLock, ObjectKind, ObjectPtr, StoredObject};
use crate::segment::{Segment, SegmentMeta};
use crate::table::IndexHandle;
use inlay_types::{MemoryBudget, Reclaim, Result};
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

#[cfg(test)]
mod tests;

/// The file of a database and its cache.
#[derive(Debug)]
pub struct Home {
    file: Arc<BlockFile>,
    cache: Arc<SegmentCache>,
    budget: MemoryBudget,
    /// Keeps the blocks of the generation that is read from being used again by the process that writes.
    _generation: Option<Arc<GenerationLock>>,
}

impl Home {
    /// The home of a database in `file`, whose cache lives on `budget`.
    pub(crate) fn new(file: Arc<BlockFile>, budget: MemoryBudget) -> Arc<Self> {
        let cache = Arc::new(SegmentCache::default());
        let reclaim: Weak<dyn Reclaim> = Arc::downgrade(&(Arc::clone(&cache) as Arc<dyn Reclaim>));
        budget.add_reclaim(reclaim);
        let generation = file.generation_lock();
        Arc::new(Self { file, cache, budget, _generation: generation })
    }

    /// The home of what the newest header of a file that is only read refers to.
    pub(crate) fn at_newest_generation(&self) -> Arc<Self> {
        Arc::new(Self {
            file: Arc::clone(&self.file),
            cache: Arc::clone(&self.cache),
            budget: self.budget.clone(),
            _generation: self.file.generation_lock(),
        })
    }

    pub(crate) fn file(&self) -> &Arc<BlockFile> {
        &self.file
    }

    pub(crate) fn cache(&self) -> &SegmentCache {
        &self.cache
    }

    pub(crate) fn budget(&self) -> &MemoryBudget {
        &self.budget
    }

    /// Writes the image of a segment of a table, or of its sets, once more, before block `limit`; `None` if there is no room.
    pub(crate) fn store_below(
        self: &Arc<Self>,
        kind: ObjectKind,
        table: u64,
        image: &[u8],
        limit: u64,
    ) -> Result<Option<Stored>> {
        let ptr = self.file.write_object_below(kind, table, image, limit)?;
        Ok(ptr.map(|ptr| Stored::of_kind(self, kind, ptr, false)))
    }

    /// Writes the image of a segment of a table, which nothing refers to yet.
    pub(crate) fn store(self: &Arc<Self>, table: u64, image: &[u8]) -> Result<Stored> {
        self.store_as(ObjectKind::Segment, table, image)
    }

    /// Writes an object of a table, which nothing refers to yet.
    pub(crate) fn store_as(self: &Arc<Self>, kind: ObjectKind, table: u64, image: &[u8]) -> Result<Stored> {
        let ptr = self.file.write_held_object(kind, table, image)?;
        Ok(Stored::of_kind(self, kind, ptr, false))
    }
}

/// A segment in the file, or the sets of one.
#[derive(Clone, Debug)]
pub(crate) struct Stored(Arc<Owned>);

#[derive(Debug)]
struct Owned {
    home: Arc<Home>,
    object: Arc<StoredObject>,
    /// Whether a commit or checkpoint refers to it.
    is_referenced: AtomicBool,
}

impl Stored {
    pub fn new(home: &Arc<Home>, ptr: ObjectPtr, is_referenced: bool) -> Self {
        Self::of_kind(home, ObjectKind::Segment, ptr, is_referenced)
    }

    /// An object of a kind.
    pub fn of_kind(home: &Arc<Home>, kind: ObjectKind, ptr: ObjectPtr, is_referenced: bool) -> Self {
        let object = StoredObject { file: Arc::clone(&home.file), ptr, kind };
        let home = Arc::clone(home);
        Self(Arc::new(Owned {
            home,
            object: Arc::new(object),
            is_referenced: AtomicBool::new(is_referenced),
        }))
    }

    pub fn ptr(&self) -> ObjectPtr {
        self.0.object.ptr
    }

    pub fn object(&self) -> &Arc<StoredObject> {
        &self.0.object
    }

    /// Says that no root refers to the object, nor a commit: if the process ends, its blocks are free.
    pub fn hold(&self) {
        self.0.home.file.hold(self.ptr(), None);
    }

    /// Says that the root that is about to be published refers to the object, if none does yet.
    pub fn unhold(&self) {
        if !self.0.is_referenced.load(Ordering::Acquire) {
            self.0.home.file.unhold(self.ptr());
        }
    }

    /// Takes [`Stored::unhold`] back: the root was not published.
    pub fn hold_again(&self) {
        if !self.0.is_referenced.load(Ordering::Acquire) {
            self.hold();
        }
    }

    /// Says that the commit with this number refers to the object.
    pub fn set_committed(&self, lsn: u64) {
        self.0.home.file.hold(self.ptr(), Some(lsn));
        self.set_referenced();
    }

    /// Takes [`Stored::set_committed`] back: the commit did not happen.
    pub fn set_uncommitted(&self) {
        self.0.is_referenced.store(false, Ordering::Release);
        self.hold();
    }

    /// Whether a commit or a checkpoint refers to the object.
    pub fn is_referenced(&self) -> bool {
        self.0.is_referenced.load(Ordering::Acquire)
    }

    /// Says that a checkpoint refers to the object, and will be asked to give it back.
    pub fn set_referenced(&self) {
        self.0.is_referenced.store(true, Ordering::Release);
    }

    /// What segments that are read are counted in.
    pub fn budget(&self) -> &MemoryBudget {
        &self.0.home.budget
    }

    /// Says that the segment will be read soon.
    pub fn will_read(&self) {
        self.0.home.file.will_read(self.ptr());
    }

    /// Reads the segment.
    pub fn read(&self, meta: &SegmentMeta) -> Result<Segment> {
        self.read_within(meta, &self.0.home.budget)
    }

    /// Reads the segment, with memory from `budget`.
    pub fn read_within(&self, meta: &SegmentMeta, budget: &MemoryBudget) -> Result<Segment> {
        let home = &self.0.home;
        let image = home.file.read_object(ObjectKind::Segment, self.ptr())?;
        let place = || format!("{}, block {}", home.file.path().display(), self.ptr().block);
        let segment =
            Segment::from_bytes(meta.ty.clone(), &image, budget).map_err(|error| error.within(place()))?;
        if segment.len() != meta.len {
            let (found, wanted) = (segment.len(), meta.len);
            let message = format!("a segment of {found} rows where the table has {wanted}");
            return Err(inlay_types::Error::corrupt(message).within(place()));
        }
        Ok(segment)
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        if !self.is_referenced.load(Ordering::Acquire) {
            self.home.file.discard(self.object.ptr);
        }
    }
}

/// The columns that are both in memory and in the file, in the order of a clock's hand.
#[derive(Debug, Default)]
pub(crate) struct SegmentCache {
    ring: Mutex<Ring>,
    /// Their pages go when there are no segments to drop.
    indexes: Mutex<Vec<Weak<IndexHandle>>>,
}

#[derive(Debug, Default)]
struct Ring {
    columns: Vec<Weak<Column>>,
    hand: usize,
    /// Entries when those of columns that are gone were last dropped.
    swept: usize,
}

impl SegmentCache {
    /// Lets the cache drop a column's segment from now on.
    pub fn enter(&self, column: &Arc<Column>) {
        let mut ring = self.ring.lock();
        ring.columns.push(Arc::downgrade(column));
        if ring.columns.len() > 2 * ring.swept + 1024 {
            ring.columns.retain(|column| column.strong_count() > 0);
            (ring.swept, ring.hand) = (ring.columns.len(), 0);
        }
    }

    /// Lets the cache drop pages of an index from now on.
    pub fn enter_index(&self, index: &Arc<IndexHandle>) {
        let mut indexes = self.indexes.lock();
        indexes.retain(|index| index.strong_count() > 0);
        indexes.push(Arc::downgrade(index));
    }
}

impl Reclaim for SegmentCache {
    fn reclaim(&self, bytes: u64) -> u64 {
        // A thread that evicts already will be done in a moment; its yield is as good as ours.
        let mut ring = self.ring.lock();
        let mut freed = 0;
        // Twice around: the first time clears marks of use.
        for _ in 0..2 * ring.columns.len() {
            if freed >= bytes {
                break;
            }
            let hand = ring.hand % ring.columns.len();
            ring.hand = hand + 1;
            if let Some(column) = ring.columns[hand].upgrade() {
                freed += column.try_evict();
            }
        }
        drop(ring);
        let indexes = self.indexes.lock().clone();
        for index in indexes.iter().filter_map(Weak::upgrade) {
            if freed >= bytes {
                break;
            }
            freed += index.try_evict(bytes - freed);
        }
        freed
    }
}
