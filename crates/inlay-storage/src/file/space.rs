//! Which blocks are free, which will be, and which belong to transactions that are not in the file yet.
//!
//! Invariants
//! - `free`, `pending` and the objects in use do not overlap, and fill `2..end`.
//! - No two free extents touch, and none ends at `end` after [`Space::trim`].

use super::StoredObject;
use crate::bytes::{ByteReader, ByteWriter};
use inlay_types::{Error, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Weak;

/// Blocks before the first object: the headers.
pub(super) const FIRST_BLOCK: u64 = 2;
const ENTRY_SIZE: usize = 24;

#[derive(Debug, Default)]
pub(super) struct Space {
    free: BTreeMap<u64, u64>,
    by_count: BTreeSet<(u64, u64)>,
    pending: Vec<Pending>,
    /// First block -> blocks, and the LSN that commits the object if there is one yet.
    held: BTreeMap<u64, (u64, Option<u64>)>,
    end: u64,
    /// Whether objects go to the first free blocks they fit in, and not to where they leave the least.
    packs: bool,
}

/// Blocks that the root of `generation` no longer needs.
#[derive(Debug)]
struct Pending {
    block: u64,
    count: u64,
    generation: u64,
    handle: Weak<StoredObject>,
}

/// How the blocks of a file are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpaceUse {
    /// Blocks of the file, with two for the headers.
    pub block_count: u64,
    /// Blocks that may be written.
    pub free_count: u64,
    /// Blocks that are free as soon as nobody reads an older state.
    pub pending_count: u64,
    /// Number of runs of free blocks.
    pub free_extents: u64,
    /// Blocks in the longest of them.
    pub largest_free: u64,
}

impl SpaceUse {
    /// Blocks with objects or headers.
    pub fn used_count(&self) -> u64 {
        self.block_count - self.free_count - self.pending_count
    }
}

impl Space {
    pub(super) fn new(end: u64) -> Self {
        Self { end, ..Self::default() }
    }

    pub(super) fn end(&self) -> u64 {
        self.end
    }

    /// From now on, objects go to the front of the file, or again to where they fit best.
    pub(super) fn set_packing(&mut self, packs: bool) {
        self.packs = packs;
    }

    /// Extents of objects that no root refers to yet.
    pub(super) fn held(&self) -> impl Iterator<Item = (u64, u64)> {
        self.held.iter().map(|(block, (count, _))| (*block, *count))
    }

    /// Takes `count` blocks: the smallest free extent they fit in, else the end of the file.
    pub(super) fn allocate(&mut self, count: u64) -> u64 {
        if let Some(block) = self.packs.then(|| self.allocate_below(count, u64::MAX)).flatten() {
            return block;
        }
        match self.by_count.range((count, 0)..).next().copied() {
            Some((_, block)) => {
                self.take(block, block, count);
                block
            }
            None => {
                let block = self.end;
                self.end += count;
                block
            }
        }
    }

    /// Takes the first `count` free blocks that end at or before `limit`.
    pub(super) fn allocate_below(&mut self, count: u64, limit: u64) -> Option<u64> {
        let fits = |(block, free): &(&u64, &u64)| **free >= count && **block + count <= limit;
        let block = *self.free.range(..limit).find(fits)?.0;
        self.take(block, block, count);
        Some(block)
    }

    /// Cuts `count` blocks at `block` out of the free extent that begins at `extent`.
    fn take(&mut self, extent: u64, block: u64, count: u64) {
        // Two writers of one block lose data; an error in its place loses a statement.
        let len = self.free.remove(&extent).expect("the extent is free: the caller has just found it");
        self.by_count.remove(&(len, extent));
        if block > extent {
            self.put(extent, block - extent);
        }
        if extent + len > block + count {
            self.put(block + count, extent + len - block - count);
        }
    }

    fn put(&mut self, block: u64, count: u64) {
        self.free.insert(block, count);
        self.by_count.insert((count, block));
    }

    /// Gives blocks back.
    pub(super) fn release(&mut self, mut block: u64, mut count: u64) {
        if let Some((&before, &len)) = self.free.range(..block).next_back()
            && before + len == block
        {
            self.take(before, before, len);
            (block, count) = (before, len + count);
        }
        if let Some(&len) = self.free.get(&(block + count)) {
            self.take(block + count, block + count, len);
            count += len;
        }
        self.put(block, count);
    }

    /// Makes the last free extent the end of the file.
    pub(super) fn trim(&mut self) {
        if let Some((&block, &count)) = self.free.iter().next_back()
            && block + count == self.end
        {
            self.take(block, block, count);
            self.end = block;
        }
    }

    /// Takes these very blocks, which must be free, pending from before the file was opened, or beyond the end.
    pub(super) fn claim(&mut self, block: u64, count: u64) -> Result<()> {
        let end = block + count;
        let mut covered: u64 = end.saturating_sub(self.end.max(block));
        let overlap = |from: u64, len: u64| end.min(from + len).saturating_sub(block.max(from));
        covered += self.free.range(..end).rev().map(|(from, len)| overlap(*from, *len)).sum::<u64>();
        let unread = |item: &&mut Pending| item.handle.strong_count() == 0;
        covered +=
            self.pending.iter_mut().filter(unread).map(|item| overlap(item.block, item.count)).sum::<u64>();
        if covered != count {
            return Err(Error::corrupt(format!(
                "blocks {block} to {} are in use by something else",
                end - 1
            )));
        }
        if end > self.end {
            let old = std::mem::replace(&mut self.end, end);
            self.release(old, end - old);
        }
        let mut rest = Vec::new();
        for item in std::mem::take(&mut self.pending) {
            if overlap(item.block, item.count) == 0 {
                rest.push(item);
                continue;
            }
            for (from, to) in [(item.block, block), (end, item.block + item.count)] {
                if from < to {
                    let handle = Weak::new();
                    rest.push(Pending { block: from, count: to - from, generation: item.generation, handle });
                }
            }
        }
        self.pending = rest;
        let inside: Vec<(u64, u64)> = self.free.range(..end).map(|(from, len)| (*from, *len)).collect();
        for (from, len) in inside.into_iter().filter(|(from, len)| from + len > block) {
            let start = from.max(block);
            self.take(from, start, end.min(from + len) - start);
        }
        Ok(())
    }

    /// Notes that an object belongs to a transaction: free in every root before the one that covers `lsn`.
    pub(super) fn hold(&mut self, block: u64, count: u64, lsn: Option<u64>) {
        self.held.insert(block, (count, lsn));
    }

    /// Ends a hold, when the object is discarded.
    pub(super) fn unhold(&mut self, block: u64) {
        self.held.remove(&block);
    }

    /// Objects that a root which covers `lsn` contains are held no more.
    pub(super) fn unhold_to(&mut self, lsn: u64) {
        self.held.retain(|_, (_, commit)| commit.is_none_or(|commit| commit > lsn));
    }

    pub(super) fn retire(&mut self, block: u64, count: u64, generation: u64, handle: Weak<StoredObject>) {
        self.pending.push(Pending { block, count, generation, handle });
    }

    /// Oldest generation whose readers matter to pending blocks; `None` if no block is pending.
    pub(super) fn pending_generations(&self) -> Option<(u64, u64)> {
        let generations = || self.pending.iter().map(|item| item.generation);
        Some((generations().min()?, generations().max()?))
    }

    /// Frees what was retired by generations up to `generation` and is not in use by handles.
    pub(super) fn reclaim(&mut self, generation: u64) {
        let (free, rest) = std::mem::take(&mut self.pending)
            .into_iter()
            .partition::<Vec<_>, _>(|item| item.generation <= generation && item.handle.strong_count() == 0);
        self.pending = rest;
        for item in free {
            self.release(item.block, item.count);
        }
    }

    pub(super) fn usage(&self) -> SpaceUse {
        SpaceUse {
            block_count: self.end,
            free_count: self.free.values().sum(),
            pending_count: self.pending.iter().map(|item| item.count).sum(),
            free_extents: self.free.len() as u64,
            largest_free: self.by_count.iter().next_back().map_or(0, |(count, _)| *count),
        }
    }

    /// Free and pending extents in order.
    pub(super) fn unused(&self) -> Vec<(u64, u64)> {
        let pending = self.pending.iter().map(|item| (item.block, item.count));
        let mut all: Vec<_> = self.free.iter().map(|(a, b)| (*a, *b)).chain(pending).collect();
        all.sort_unstable();
        all
    }

    /// An upper bound of the payload size of the free list, with `more` extents to come.
    pub(super) fn list_size(&self, lsn: u64, more: usize) -> u64 {
        let held = self.held_after(lsn).count();
        ((self.free.len() + self.pending.len() + held + more + 2) * ENTRY_SIZE + 8) as u64
    }

    fn held_after(&self, lsn: u64) -> impl Iterator<Item = (u64, u64)> {
        let holds = move |commit: Option<u64>| commit.is_none_or(|commit| commit > lsn);
        self.held
            .iter()
            .filter(move |(_, (_, commit))| holds(*commit))
            .map(|(block, (count, _))| (*block, *count))
    }

    /// The free list as a root that covers `lsn` must have it: what is free, pending, retired by it, or held.
    pub(super) fn list(&self, lsn: u64, generation: u64, retired: &[(u64, u64)], size: u64) -> Vec<u8> {
        let mut entries: Vec<(u64, u64, u64)> = self.free.iter().map(|(a, b)| (*a, *b, 0)).collect();
        entries.extend(self.pending.iter().map(|item| (item.block, item.count, item.generation)));
        entries.extend(retired.iter().map(|(block, count)| (*block, *count, generation)));
        entries.extend(self.held_after(lsn).map(|(block, count)| (block, count, 0)));
        entries.sort_unstable();
        let mut writer = ByteWriter::new();
        writer.u64(entries.len() as u64);
        for (block, count, generation) in entries {
            writer.u64(block);
            writer.u64(count);
            writer.u64(generation);
        }
        let mut bytes = writer.finish();
        bytes.resize(bytes.len().max(size as usize), 0);
        bytes
    }

    /// The space of a file with a free list.
    pub(super) fn from_list(bytes: &[u8], end: u64) -> Result<Self> {
        let mut space = Self::new(end);
        let mut reader = ByteReader::new(bytes);
        let count = reader.u64()?;
        if count > (reader.remaining() / ENTRY_SIZE) as u64 {
            return Err(Error::corrupt("the free list is shorter than it says"));
        }
        let mut last = FIRST_BLOCK;
        for _ in 0..count {
            let (block, count, generation) = (reader.u64()?, reader.u64()?, reader.u64()?);
            let to = block.checked_add(count).filter(|to| *to <= end && count > 0 && block >= last);
            last =
                to.ok_or_else(|| Error::corrupt("the free list overlaps itself or the end of the file"))?;
            if generation == 0 {
                space.release(block, count);
            } else {
                space.retire(block, count, generation, Weak::new());
            }
        }
        Ok(space)
    }
}
