//! From memory to pages and back: what changed is written, what is needed is read.
//!
//! A flush first writes all new pages and only then makes note of them: when a page cannot be written, the set is what it
//! was, and the pages written so far belong to nobody.

use super::directory::Directory;
use super::page::{self, Child, LOWER, PagePtr, PageStore, Root, UPPER};
use super::subtree::Subtree;
use super::{Art, Group, Place, Slot, no_such_part};
use crate::interrupted::check_interrupt;
use inlay_types::{Error, MemoryBudget, Result};
use std::collections::HashSet;
use std::sync::{Arc, OnceLock};

/// What a flush did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flushed {
    /// The page to open the index from.
    pub root: PagePtr,
    /// Pages that are new.
    pub written: Vec<PagePtr>,
    /// Pages that the new root does not reach any more, but the one before did.
    pub unused: Vec<PagePtr>,
}

/// Pages that are written but not yet noted.
#[derive(Debug)]
pub struct Writes {
    root: PagePtr,
    slots: Vec<(Place, PagePtr)>,
    /// `None`: the group's only slot is the root now.
    groups: Vec<(usize, Option<PagePtr>)>,
    top: Option<PagePtr>,
    written: Vec<PagePtr>,
}

impl Art {
    /// The set whose first page is `root`. Reads that page alone.
    pub fn open(root: PagePtr, store: Arc<dyn PageStore>, budget: MemoryBudget) -> Result<Self> {
        let mut top = None;
        let groups = match page::read_root(&store.read(root)?, &budget)? {
            Root::Entries(tree) => {
                let slot = Slot { page: Some(root), dirty: false, ..Slot::of_tree(*tree) };
                Directory::new(Group { dirty: false, ..Group::of_slots(Directory::new(slot)) })
            }
            Root::Lower(children) => {
                let len = page::total_len(&children).ok_or_else(too_many)?;
                let slots = OnceLock::from(slots_of(children));
                Directory::new(Group { slots, page: Some(root), len, dirty: false })
            }
            Root::Upper(children) => {
                page::total_len(&children).ok_or_else(too_many)?;
                top = Some(root);
                let group =
                    |c: Child| Group { slots: OnceLock::new(), page: Some(c.page), len: c.len, dirty: false };
                children.map(group)
            }
        };
        let len = groups.iter().map(|(_, group)| group.len).sum();
        let (store, retired, loose) = (Some(store), Vec::new(), HashSet::new());
        Ok(Self { groups, len, budget, store, page: top, retired, loose, dirty: false })
    }

    /// Writes what changed since the last flush.
    pub fn flush(&mut self, store: &Arc<dyn PageStore>) -> Result<Flushed> {
        let writes = self.write_changes(store)?;
        Ok(self.note_writes(writes, store))
    }

    /// Whether something changed since the last flush.
    pub fn is_dirty(&self) -> bool {
        self.dirty
    }

    /// The first half of a flush: readers may go on meanwhile, writers not before [`Art::note_writes`]. Pages that did not
    /// change are moved if the store packs them.
    pub fn write_changes(&self, store: &Arc<dyn PageStore>) -> Result<Writes> {
        let mut writer = Writer { store: &**store, written: Vec::new() };
        let (mut slots, mut groups) = (Vec::new(), Vec::new());
        let mut top_children = Vec::with_capacity(self.groups.len());
        let mut only_root = None;
        for (index, (fence, group)) in self.groups.iter().enumerate() {
            let clean = group.page.filter(|_| !group.dirty);
            let page = match clean {
                Some(page) if !writer.store.is_packing() => page,
                _ => {
                    let count_before = slots.len();
                    let children = self.write_slots(index, &mut slots, &mut writer)?;
                    // As long as its children stay, so does a page that is as it was.
                    let kept = clean.filter(|_| slots.len() == count_before);
                    if let (None, [only], 1) = (kept, children.as_slice(), self.groups.len()) {
                        only_root = Some(only.1.page);
                        groups.push((index, None));
                        break;
                    }
                    let new = match kept {
                        Some(page) => writer.moved(page)?,
                        None => Some(writer.write(&page::write_children(LOWER, children.into_iter()))?),
                    };
                    groups.extend(new.map(|page| (index, Some(page))));
                    new.or(kept).ok_or_else(no_such_part)?
                }
            };
            top_children.push((fence, Child { page, len: group.len }));
        }
        let mut top = None;
        let root = match (only_root, top_children.as_slice(), self.page) {
            (Some(root), ..) => root,
            (None, [only], _) => only.1.page,
            (None, _, Some(page)) if groups.is_empty() => *top.insert(writer.moved(page)?.unwrap_or(page)),
            (None, ..) => *top.insert(writer.write(&page::write_children(UPPER, top_children.into_iter()))?),
        };
        Ok(Writes { root, slots, groups, top, written: writer.written })
    }

    /// Writes or moves slots of a group; returns all of them as children.
    fn write_slots(
        &self,
        group: usize,
        written: &mut Vec<(Place, PagePtr)>,
        writer: &mut Writer<'_>,
    ) -> Result<Vec<(&[u8], Child)>> {
        let slots = self.slots(group)?;
        let mut children = Vec::with_capacity(slots.len());
        for (index, (fence, slot)) in slots.iter().enumerate() {
            let clean = slot.page.filter(|_| !slot.dirty);
            let new = match clean {
                Some(page) => writer.moved(page)?,
                None => {
                    let tree = slot.tree.get().ok_or_else(no_such_part)?;
                    Some(writer.write(&page::write_entries(tree))?)
                }
            };
            written.extend(new.map(|page| (Place { group, slot: index }, page)));
            let page = new.or(clean).ok_or_else(no_such_part)?;
            children.push((fence, Child { page, len: slot.len }));
        }
        Ok(children)
    }

    /// The second half of a flush.
    pub fn note_writes(&mut self, writes: Writes, store: &Arc<dyn PageStore>) -> Flushed {
        let mut unused = std::mem::take(&mut self.retired);
        for (place, page) in writes.slots {
            let slots = self.groups.get_mut(place.group).and_then(|group| group.slots.get_mut());
            if let Some(slot) = slots.and_then(|slots| slots.get_mut(place.slot)) {
                unused.extend(slot.page.replace(page));
                slot.dirty = false;
            }
        }
        for (index, page) in writes.groups {
            if let Some(group) = self.groups.get_mut(index) {
                unused.extend(std::mem::replace(&mut group.page, page));
            }
        }
        self.groups.iter_mut().for_each(|group| group.dirty = false);
        if self.page != writes.top {
            unused.extend(std::mem::replace(&mut self.page, writes.top));
        }
        self.dirty = false;
        // Of the loose pages those are in use now that were not replaced.
        let mut loose = std::mem::take(&mut self.loose);
        unused.retain(|page| {
            let was_loose = loose.remove(page);
            if was_loose {
                store.discard(*page);
            }
            !was_loose
        });
        loose.into_iter().for_each(|page| store.adopt(page));
        // A store that packs does so once.
        if !store.is_packing() {
            self.store.get_or_insert_with(|| Arc::clone(store));
        }
        Flushed { root: writes.root, written: writes.written, unused }
    }

    /// All pages that the last flushed root reaches. Reads the pages above the entries.
    pub fn pages(&self) -> Result<Vec<PagePtr>> {
        let mut pages: Vec<PagePtr> = self.retired.iter().copied().chain(self.page).collect();
        for (index, (_, group)) in self.groups.iter().enumerate() {
            pages.extend(group.page);
            pages.extend(self.slots(index)?.iter().filter_map(|(_, slot)| slot.page));
        }
        pages.retain(|page| !self.loose.contains(page));
        Ok(pages)
    }

    /// Reads every page that is not in memory, and keeps none; fails at the first that is damaged.
    pub fn check_pages(&self) -> Result<()> {
        for group in 0..self.groups.len() {
            for (index, (_, slot)) in self.slots(group)?.iter().enumerate() {
                if slot.tree.get().is_none() {
                    self.read_slot(Place { group, slot: index }, slot, &self.budget)?;
                }
            }
        }
        Ok(())
    }

    pub(super) fn read_group(&self, index: usize, group: &Group) -> Result<Directory<Slot>> {
        let page = group.page.ok_or_else(no_such_part)?;
        let children = page::read_lower(&self.read(page)?, group.len)?;
        let low = self.groups.fence(index).unwrap_or_default();
        let high = self.groups.fence(index + 1);
        let first = children.fence(1).unwrap_or(low);
        let last = children.fence(children.len() - 1).unwrap_or_default();
        if first < low || high.is_some_and(|high| last >= high) {
            return Err(Error::corrupt("fences of an index page outside of its range"));
        }
        Ok(slots_of(children))
    }

    pub(super) fn read_slot(&self, place: Place, slot: &Slot, budget: &MemoryBudget) -> Result<Subtree> {
        let page = slot.page.ok_or_else(no_such_part)?;
        let low = self.fence(place).unwrap_or_default();
        let high = self.behind(place)?.and_then(|next| self.fence(next));
        page::read_entries(&self.read(page)?, budget, low, high, slot.len)
    }

    fn read(&self, page: PagePtr) -> Result<Vec<u8>> {
        let store = self.store.as_ref().ok_or_else(|| Error::internal("an index page without a store"))?;
        store.read(page)
    }
}

/// Where pages go, and those that went there.
struct Writer<'a> {
    store: &'a dyn PageStore,
    written: Vec<PagePtr>,
}

impl Writer<'_> {
    fn write(&mut self, bytes: &[u8]) -> Result<PagePtr> {
        check_interrupt()?;
        let page = self.store.write(bytes)?;
        self.written.push(page);
        Ok(page)
    }

    fn moved(&mut self, page: PagePtr) -> Result<Option<PagePtr>> {
        let new = if self.store.is_packing() { self.store.move_page(page)? } else { None };
        self.written.extend(new);
        Ok(new)
    }
}

fn slots_of(children: Directory<Child>) -> Directory<Slot> {
    children.map(|child| Slot::of_page(child.page, child.len))
}

fn too_many() -> Error {
    Error::corrupt("more index entries than there can be")
}
