//! An ordered set of index entries (key and row id): radix trees over ranges of the keys, which are loaded from pages when
//! touched and written back when changed.
//!
//! ```text
//! Art -- fences --> Group (up to 512) -- fences --> Slot -- Subtree (radix tree, 16 to 32 KiB as a page)
//! ```
//! The tree is cut by ranges of entries and not at its nodes: the parts below neighbouring nodes of a radix tree differ in
//! size by factors of up to 256, ranges can be cut anywhere, and a split touches two pages. A search goes through two
//! lists of fences, where it mostly compares numbers, and then down one small radix tree.
//!
//! Invariants
//! - A slot has a tree in memory, or a page, or both; it is dirty when its page (if any) is not its tree. A group likewise,
//!   and a group with a dirty slot is dirty.
//! - Pages are never changed. `retired` are those that the last flushed root reaches and the next one will not; no root has
//!   reached those in `loose`, which were written so that their subtrees can go from memory.
//! - Readers share the tree and load what they need; whoever changes something holds it alone.
//!
//! Source: Leis et al., "The Adaptive Radix Tree", ICDE 2013; fences as in B-trees (Graefe, "Modern B-Tree
//! Techniques", 2011, section 4.2).

mod directory;
mod flush;
mod node;
mod page;
mod span;
mod subtree;
mod walk;

pub use flush::{Flushed, Writes};
pub use page::{PagePtr, PageStore};
pub use walk::{ByteRange, Direction};

use directory::{Directory, separator};
use inlay_types::{Error, MemoryBudget, Result};
use std::collections::HashSet;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use subtree::{Subtree, split_entry};

#[cfg(test)]
mod tests;

/// A subtree whose page is about to be larger than this is split.
/// Small in tests, so that a few thousand entries show every shape.
const PAGE_SIZE_MAX: usize = if cfg!(test) { 1 << 10 } else { 32 << 10 };
/// Neighbours whose pages together are smaller than this are joined by [`Art::retain`].
const PAGE_SIZE_MIN: usize = PAGE_SIZE_MAX / 2;
/// Slots in a group.
const GROUP_LEN_MAX: usize = if cfg!(test) { 8 } else { 512 };

/// When memory is refused, this part of the limit is freed by writing pages, and at most so many bytes: what is written early
/// may have to be written again.
const WRITTEN_PART: u64 = 16;
const WRITTEN_MAX: u64 = 64 << 20;
/// The part of the limit, up to as much, that is left to others where they need some: what a budget that yields leaves.
const LEFT_PART: u64 = 6;

/// See the module documentation.
pub struct Art {
    groups: Directory<Group>,
    len: u64,
    budget: MemoryBudget,
    store: Option<Arc<dyn PageStore>>,
    /// The page above the groups, if there are several.
    page: Option<PagePtr>,
    retired: Vec<PagePtr>,
    loose: HashSet<PagePtr>,
    dirty: bool,
}

/// Neighbouring slots.
struct Group {
    slots: OnceLock<Directory<Slot>>,
    page: Option<PagePtr>,
    len: u64,
    dirty: bool,
}

/// The place of a subtree.
#[derive(Default)]
struct Slot {
    tree: OnceLock<Box<Subtree>>,
    page: Option<PagePtr>,
    len: u64,
    dirty: bool,
    /// Used since the last eviction passed by.
    touched: AtomicBool,
}

/// Group and slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    group: usize,
    slot: usize,
}

/// A subtree to read: one that stays in memory, or one for which there was no room and that goes after use.
enum TreeRef<'a> {
    Kept(&'a Subtree),
    Passing(Box<Subtree>),
}

impl Deref for TreeRef<'_> {
    type Target = Subtree;
    fn deref(&self) -> &Subtree {
        match self {
            Self::Kept(tree) => tree,
            Self::Passing(tree) => tree,
        }
    }
}

/// Lookups one after the other: what lies where the one before did is found without reading a page again, although there
/// was no room to keep it.
pub struct Reader<'a> {
    art: &'a Art,
    last: Option<(Place, TreeRef<'a>)>,
}

impl Reader<'_> {
    /// See [`Art::collect_prefix`].
    pub fn collect_prefix(&mut self, prefix: &[u8], out: &mut Vec<i64>) -> Result<()> {
        let art = self.art;
        let mut place = Some(art.find(prefix)?);
        while let Some(here) = place {
            let tree = match &mut self.last {
                Some((at, tree)) if *at == here => tree,
                last => &mut last.insert((here, art.tree(here)?)).1,
            };
            tree.collect_prefix(prefix, out);
            let begins = |next: &Place| art.fence(*next).is_some_and(|fence| fence.starts_with(prefix));
            place = art.behind(here)?.filter(begins);
        }
        Ok(())
    }
}

impl Slot {
    fn of_tree(tree: Subtree) -> Self {
        let len = tree.len() as u64;
        Self { tree: OnceLock::from(Box::new(tree)), len, dirty: true, ..Self::default() }
    }

    fn of_page(page: PagePtr, len: u64) -> Self {
        Self { page: Some(page), len, ..Self::default() }
    }
}

impl Group {
    fn of_slots(slots: Directory<Slot>) -> Self {
        let len = slots.iter().map(|(_, slot)| slot.len).sum();
        Self { slots: OnceLock::from(slots), page: None, len, dirty: true }
    }
}

impl Drop for Art {
    fn drop(&mut self) {
        if let Some(store) = &self.store {
            self.loose.drain().for_each(|page| store.discard(page));
        }
    }
}

impl std::fmt::Debug for Art {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Art")
            .field("len", &self.len)
            .field("groups", &self.groups.len())
            .finish_non_exhaustive()
    }
}

impl Art {
    /// An empty set that takes its memory from `budget`.
    pub fn new(budget: MemoryBudget) -> Result<Self> {
        let slot = Slot::of_tree(Subtree::new(&budget)?);
        let groups = Directory::new(Group::of_slots(Directory::new(slot)));
        Ok(Self {
            groups,
            len: 0,
            budget,
            store: None,
            page: None,
            retired: Vec::new(),
            loose: HashSet::new(),
            dirty: true,
        })
    }

    /// The same set, which may write pages to `store` when memory is refused.
    pub fn with_store(mut self, store: Arc<dyn PageStore>) -> Self {
        self.store.get_or_insert(store);
        self
    }

    /// Number of entries.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes of the subtrees in memory.
    pub fn memory_size(&self) -> u64 {
        let slots = self.groups.iter().filter_map(|(_, group)| group.slots.get()).flat_map(Directory::iter);
        slots.filter_map(|(_, slot)| slot.tree.get()).map(|tree| tree.memory_size()).sum()
    }

    /// Adds an entry: a key followed by the eight bytes of a row id, big-endian. Returns whether it is new. After an error
    /// the set is what it was.
    pub fn insert(&mut self, entry: &[u8]) -> Result<bool> {
        let (is_new, large) = self.put(entry)?;
        if let Some(place) = large {
            // Without memory for it the part is split later: parts are put in only when they are complete.
            let _ = self.split(place, entry);
        }
        Ok(is_new)
    }

    /// Adds an entry. Returns whether it is new, and where it is if the part there has become too large.
    fn put(&mut self, entry: &[u8]) -> Result<(bool, Option<Place>)> {
        let place = self.find(entry)?;
        let tree = self.tree_mut(place)?;
        let is_new = tree.insert(entry)?;
        let is_large = tree.page_size() > PAGE_SIZE_MAX && tree.len() > 1;
        if is_new {
            self.count_change(place, 1);
        }
        Ok((is_new, (is_new && is_large).then_some(place)))
    }

    /// Takes an entry out. Returns whether it was there.
    pub fn remove(&mut self, entry: &[u8]) -> Result<bool> {
        let place = self.find(entry)?;
        let was_there = self.tree_mut(place)?.remove(entry)?;
        if was_there {
            self.count_change(place, -1);
        }
        Ok(was_there)
    }

    /// Whether an entry is there.
    pub fn contains(&self, entry: &[u8]) -> Result<bool> {
        let place = self.find(entry)?;
        Ok(self.tree(place)?.contains(entry))
    }

    /// Appends the row ids of the entries that begin with `prefix`, in order.
    pub fn collect_prefix(&self, prefix: &[u8], out: &mut Vec<i64>) -> Result<()> {
        self.reader().collect_prefix(prefix, out)
    }

    /// For many lookups.
    pub fn reader(&self) -> Reader<'_> {
        Reader { art: self, last: None }
    }

    /// Calls `visit` with key and row id of the entries of a range in order, until it returns false.
    pub fn scan(
        &self,
        range: ByteRange<'_>,
        direction: Direction,
        visit: &mut dyn FnMut(&[u8], i64) -> bool,
    ) -> Result<()> {
        match direction {
            Direction::Forward => {
                let mut place = Some(self.find(range.low)?);
                while let Some(here) = place {
                    if !self.tree(here)?.walk(range, direction, visit) {
                        break;
                    }
                    place = self.behind(here)?;
                    let fence = place.and_then(|next| self.fence(next)).unwrap_or_default();
                    if range.high.is_some_and(|high| fence >= high) {
                        break;
                    }
                }
            }
            Direction::Backward => {
                let mut place = Some(match range.high {
                    Some(high) => self.find(high)?,
                    None => self.last_of(self.groups.len() - 1)?,
                });
                while let Some(here) = place {
                    if !self.tree(here)?.walk(range, direction, visit) {
                        break;
                    }
                    if self.fence(here).is_none_or(|fence| fence <= range.low) {
                        break;
                    }
                    place = self.before(here)?;
                }
            }
        }
        Ok(())
    }

    /// Keeps the entries that `keep` says, in the part of the set that `from` lies in; returns where the next part begins,
    /// and how many entries were dropped. `None`: this was the last part.
    pub fn retain(
        &mut self,
        from: &[u8],
        keep: &mut dyn FnMut(&[u8], i64) -> Result<bool>,
    ) -> Result<(Option<Vec<u8>>, u64)> {
        let place = self.find(from)?;
        let next = self.behind(place)?.and_then(|next| self.fence(next)).map(<[u8]>::to_vec);
        let tree = self.tree(place)?;
        let mut kept = Subtree::new(&self.budget)?;
        let mut dropped = 0;
        let mut failed = None;
        for_each_entry(&tree, |entry| {
            let (key, row_id) = key_and_row_id(entry);
            match keep(key, row_id) {
                Ok(true) => failed = kept.insert(entry).err(),
                Ok(false) => dropped += 1,
                Err(error) => failed = Some(error),
            }
            failed.is_none()
        });
        drop(tree);
        if let Some(error) = failed {
            return Err(error);
        }
        if dropped > 0 {
            let slot = self.slots_mut(place.group)?.get_mut(place.slot).ok_or_else(no_such_part)?;
            slot.tree = OnceLock::from(Box::new(kept));
            self.count_change(place, -dropped);
        }
        self.join_if_small(place)?;
        self.join_groups_if_small(place.group)?;
        Ok((next, dropped as u64))
    }

    /// Drops subtrees that can be read again from their pages until about `wanted` bytes are free, those first that were not
    /// used since the last time. Returns the bytes freed.
    pub fn evict(&mut self, wanted: u64) -> u64 {
        let mut freed = 0;
        if self.store.is_none() {
            return 0;
        }
        for spare_touched in [true, false] {
            for slots in self.groups.iter_mut().filter_map(|group| group.slots.get_mut()) {
                for slot in slots.iter_mut() {
                    if freed >= wanted {
                        return freed;
                    }
                    let touched = std::mem::take(slot.touched.get_mut());
                    if slot.dirty || slot.page.is_none() || (spare_touched && touched) {
                        continue;
                    }
                    freed += slot.tree.take().map_or(0, |tree| tree.memory_size());
                }
            }
        }
        freed
    }

    /// As [`Art::insert`]; if memory is refused, subtrees go to pages, from the front: of many entries in order, those that
    /// are done go first.
    pub fn insert_or_write(&mut self, entry: &[u8]) -> Result<bool> {
        let mut wanted = 0;
        loop {
            match self.put(entry) {
                // The part that the entry belongs to may go, too, and takes more than its insertion when it is read again.
                Err(Error::OutOfMemory { requested, used, limit }) => {
                    wanted = (2 * wanted).max(requested).max((limit / WRITTEN_PART).min(WRITTEN_MAX));
                    if self.write_away(wanted)? == 0 {
                        return Err(Error::OutOfMemory { requested, used, limit });
                    }
                }
                Ok((is_new, Some(place))) => {
                    // Each entry that comes to a part that was not split for want of memory would try again in vain.
                    if let Err(Error::OutOfMemory { requested, limit, .. }) = self.split(place, entry) {
                        self.write_away(requested.max((limit / WRITTEN_PART).min(WRITTEN_MAX)))?;
                        let _ = self.split(place, entry);
                    }
                    return Ok(is_new);
                }
                outcome => return outcome.map(|(is_new, _)| is_new),
            }
        }
    }

    /// Frees about `wanted` bytes: subtrees that can be read again go, and then others when they are written. Returns the
    /// bytes freed.
    pub fn write_away(&mut self, wanted: u64) -> Result<u64> {
        let mut freed = self.evict(wanted);
        let Some(store) = self.store.clone() else { return Ok(freed) };
        let mut replaced = Vec::new();
        for slots in self.groups.iter_mut().filter_map(|group| group.slots.get_mut()) {
            for slot in slots.iter_mut() {
                if freed >= wanted {
                    break;
                }
                let Some(tree) = slot.tree.get().filter(|tree| slot.dirty && tree.len() > 0) else {
                    continue;
                };
                let page = store.write_loose(&page::write_entries(tree))?;
                self.loose.insert(page);
                replaced.extend(slot.page.replace(page));
                slot.dirty = false;
                freed += slot.tree.take().map_or(0, |tree| tree.memory_size());
            }
        }
        for page in replaced {
            if self.loose.remove(&page) {
                store.discard(page);
            } else {
                self.retired.push(page);
            }
        }
        Ok(freed)
    }

    /// Frees so much that others find some memory, if subtrees can go to pages.
    pub fn leave_room(&mut self) -> Result<()> {
        let limit = self.budget.limit();
        let left = limit.saturating_sub(self.budget.used());
        let wanted = (limit / LEFT_PART).min(WRITTEN_MAX);
        if left < wanted {
            self.write_away(wanted - left)?;
        }
        Ok(())
    }

    /// Where an entry, or what begins with a prefix, starts to be.
    fn find(&self, key: &[u8]) -> Result<Place> {
        let group = self.groups.find(key);
        Ok(Place { group, slot: self.slots(group)?.find(key) })
    }

    fn slots(&self, group: usize) -> Result<&Directory<Slot>> {
        let part = self.groups.get(group).ok_or_else(no_such_part)?;
        if let Some(slots) = part.slots.get() {
            return Ok(slots);
        }
        let slots = self.read_group(group, part)?;
        Ok(part.slots.get_or_init(|| slots))
    }

    fn slots_mut(&mut self, group: usize) -> Result<&mut Directory<Slot>> {
        self.slots(group)?;
        self.groups.get_mut(group).and_then(|part| part.slots.get_mut()).ok_or_else(no_such_part)
    }

    fn slot(&self, place: Place) -> Result<&Slot> {
        self.slots(place.group)?.get(place.slot).ok_or_else(no_such_part)
    }

    fn tree(&self, place: Place) -> Result<TreeRef<'_>> {
        let slot = self.slot(place)?;
        if !slot.touched.load(Ordering::Relaxed) {
            slot.touched.store(true, Ordering::Relaxed);
        }
        if let Some(tree) = slot.tree.get() {
            return Ok(TreeRef::Kept(tree));
        }
        // What is kept only to be found again leaves memory to others.
        match self.read_slot(place, slot, &self.budget.yielding()) {
            // Two readers may have read it at once; one of the two stays.
            Ok(tree) => Ok(TreeRef::Kept(slot.tree.get_or_init(|| Box::new(tree)))),
            Err(Error::OutOfMemory { .. }) => {
                let tree = self.read_slot(place, slot, &MemoryBudget::unlimited())?;
                Ok(TreeRef::Passing(Box::new(tree)))
            }
            Err(error) => Err(error),
        }
    }

    fn tree_mut(&mut self, place: Place) -> Result<&mut Subtree> {
        let slot = self.slot(place)?;
        if slot.tree.get().is_none() {
            let tree = self.read_slot(place, slot, &self.budget)?;
            slot.tree.get_or_init(|| Box::new(tree));
        }
        let slots = self.groups.get_mut(place.group).and_then(|group| group.slots.get_mut());
        let slot = slots.and_then(|slots| slots.get_mut(place.slot));
        slot.and_then(|slot| slot.tree.get_mut()).map(|tree| &mut **tree).ok_or_else(no_such_part)
    }

    /// Counts entries that came or went, and notes that slot and group have changed.
    fn count_change(&mut self, place: Place, change: i64) {
        self.len = self.len.wrapping_add_signed(change);
        self.dirty = true;
        let group = self.groups.get_mut(place.group).expect("the entry came or went in a part of this group");
        group.len = group.len.wrapping_add_signed(change);
        group.dirty = true;
        if let Some(slot) = group.slots.get_mut().and_then(|slots| slots.get_mut(place.slot)) {
            slot.len = slot.len.wrapping_add_signed(change);
            slot.dirty = true;
        }
    }

    /// The group's page must be written again, though perhaps none of its slots'.
    fn note_parts_changed(&mut self, group: usize) {
        self.dirty = true;
        if let Some(group) = self.groups.get_mut(group) {
            group.dirty = true;
        }
    }

    /// The lower fence of a slot; the first slot of a group has that of the group.
    fn fence(&self, place: Place) -> Option<&[u8]> {
        if place.slot == 0 {
            return self.groups.fence(place.group);
        }
        self.groups.get(place.group)?.slots.get()?.fence(place.slot)
    }

    fn behind(&self, place: Place) -> Result<Option<Place>> {
        if place.slot + 1 < self.slots(place.group)?.len() {
            return Ok(Some(Place { slot: place.slot + 1, ..place }));
        }
        let group = place.group + 1;
        Ok((group < self.groups.len()).then_some(Place { group, slot: 0 }))
    }

    fn before(&self, place: Place) -> Result<Option<Place>> {
        match (place.slot.checked_sub(1), place.group.checked_sub(1)) {
            (Some(slot), _) => Ok(Some(Place { slot, ..place })),
            (None, Some(group)) => self.last_of(group).map(Some),
            (None, None) => Ok(None),
        }
    }

    fn last_of(&self, group: usize) -> Result<Place> {
        Ok(Place { group, slot: self.slots(group)?.len() - 1 })
    }

    /// Splits the subtree at `place`, where `entry` just came to.
    fn split(&mut self, place: Place, entry: &[u8]) -> Result<()> {
        let is_last = self.behind(place)?.is_none();
        let tree = self.tree_mut(place)?;
        if is_last && last_entry(tree).as_deref() == Some(entry) {
            return self.split_before_last(place, entry);
        }
        let tree = self.slot(place)?.tree.get().ok_or_else(no_such_part)?;
        let mut left = Subtree::new(&self.budget)?;
        let mut right = Subtree::new(&self.budget)?;
        let (mut fence, mut before, mut failed) = (None, Vec::new(), None);
        for_each_entry(tree, |here| {
            let side = if left.len() > 0 && left.page_size() >= tree.page_size() / 2 {
                fence.get_or_insert_with(|| separator(&before, here));
                &mut right
            } else {
                &mut left
            };
            failed = side.insert(here).err();
            before.clear();
            before.extend_from_slice(here);
            failed.is_none()
        });
        match (failed, fence) {
            (Some(error), _) => Err(error),
            (None, None) => Ok(()),
            (None, Some(fence)) => {
                let slot = self.slots_mut(place.group)?.get_mut(place.slot).ok_or_else(no_such_part)?;
                let page = slot.page.take();
                *slot = Slot::of_tree(left);
                self.retired.extend(page);
                self.add_part(place, fence, right)
            }
        }
    }

    /// Ascending entries fill a part and go on in the next one.
    fn split_before_last(&mut self, place: Place, entry: &[u8]) -> Result<()> {
        let mut right = Subtree::new(&self.budget)?;
        right.insert(entry)?;
        let tree = self.tree_mut(place)?;
        tree.remove(entry)?;
        let fence = separator(&last_entry(tree).unwrap_or_default(), entry);
        if let Some(slot) = self.slots_mut(place.group)?.get_mut(place.slot) {
            slot.len = slot.len.saturating_sub(1);
        }
        self.add_part(place, fence, right)
    }

    fn add_part(&mut self, place: Place, fence: Box<[u8]>, tree: Subtree) -> Result<()> {
        let slots = self.slots_mut(place.group)?;
        slots.insert_after(place.slot, fence, Slot::of_tree(tree));
        let len = slots.len();
        if len > GROUP_LEN_MAX {
            let is_last = place.group + 1 == self.groups.len() && place.slot + 2 == len;
            self.split_group(place.group, if is_last { len - 1 } else { len / 2 })?;
        }
        Ok(())
    }

    fn split_group(&mut self, group: usize, at: usize) -> Result<()> {
        let Some((fence, slots)) = self.slots_mut(group)?.split_off(at) else { return Ok(()) };
        let new = Group::of_slots(slots);
        if let Some(old) = self.groups.get_mut(group) {
            old.len = old.len.saturating_sub(new.len);
            old.dirty = true;
        }
        self.groups.insert_after(group, fence, new);
        Ok(())
    }

    /// Joins the slot with the one before it in its group if one page holds both; forgets it when it is empty.
    fn join_if_small(&mut self, place: Place) -> Result<()> {
        let Some(slot) = place.slot.checked_sub(1) else { return Ok(()) };
        let before = Place { slot, ..place };
        if self.slot(place)?.len == 0 {
            let page = self.slots_mut(place.group)?.remove(place.slot).and_then(|slot| slot.page);
            self.retired.extend(page);
            self.note_parts_changed(place.group);
            return Ok(());
        }
        let (Some(left), Some(right)) = (self.slot(before)?.tree.get(), self.slot(place)?.tree.get()) else {
            return Ok(());
        };
        if left.page_size() + right.page_size() > PAGE_SIZE_MIN {
            return Ok(());
        }
        let mut joined = Subtree::new(&self.budget)?;
        let mut failed = None;
        for tree in [left, right] {
            for_each_entry(tree, |entry| {
                failed = joined.insert(entry).err();
                failed.is_none()
            });
            if let Some(error) = failed {
                return Err(error);
            }
        }
        let slots = self.slots_mut(place.group)?;
        let page = slots.remove(place.slot).and_then(|slot| slot.page);
        let slot = slots.get_mut(before.slot).ok_or_else(no_such_part)?;
        let page_before = slot.page.take();
        *slot = Slot::of_tree(joined);
        self.retired.extend(page.into_iter().chain(page_before));
        self.note_parts_changed(place.group);
        Ok(())
    }

    /// Joins the group with the one before it if together they are small.
    fn join_groups_if_small(&mut self, group: usize) -> Result<()> {
        let Some(before) = group.checked_sub(1) else { return Ok(()) };
        let first_moved = self.slots(before)?.len();
        if first_moved + self.slots(group)?.len() > GROUP_LEN_MAX / 2 {
            return Ok(());
        }
        let fence = Box::from(self.groups.fence(group).unwrap_or_default());
        let Some(removed) = self.groups.remove(group) else { return Ok(()) };
        let left = self.groups.get_mut(before).ok_or_else(no_such_part)?;
        left.len += removed.len;
        left.dirty = true;
        self.dirty = true;
        self.retired.extend(removed.page);
        let slots = removed.slots.into_inner().ok_or_else(no_such_part)?;
        self.slots_mut(before)?.append(fence, slots);
        self.join_if_small(Place { group: before, slot: first_moved })
    }
}

const ALL: ByteRange<'static> = ByteRange { low: &[], high: None };

/// Calls `visit` with the entries of a tree, whole and in order, until it returns false.
fn for_each_entry(tree: &Subtree, mut visit: impl FnMut(&[u8]) -> bool) {
    let mut entry = Vec::new();
    tree.walk(ALL, Direction::Forward, &mut |key, row_id| {
        entry.clear();
        entry.extend_from_slice(key);
        entry.extend_from_slice(&row_id.to_be_bytes());
        visit(&entry)
    });
}

fn last_entry(tree: &Subtree) -> Option<Vec<u8>> {
    let mut last = None;
    tree.walk(ALL, Direction::Backward, &mut |key, row_id| {
        last = Some([key, &row_id.to_be_bytes()].concat());
        false
    });
    last
}

fn no_such_part() -> Error {
    Error::internal("an index part that does not exist")
}

/// Key and row id of an entry.
pub fn key_and_row_id(entry: &[u8]) -> (&[u8], i64) {
    let (key, row_id) = split_entry(entry);
    (key, row_id as i64)
}
