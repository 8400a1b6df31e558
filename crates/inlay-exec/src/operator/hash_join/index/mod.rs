//! From slots or hashes to rows of the build side: three structures with one face.
//!
//! | index | for | a probe touches |
//! |---|---|---|
//! | [`direct::DirectIndex`] | few slots | one 32-bit word |
//! | [`rank::RankIndex`] | many slots, not much sparser than the rows | 16 bytes per 64 slots; misses end there |
//! | [`hashed::HashIndex`] | everything else, and hashes of several keys | a directory word with tag bits; misses mostly end there |
//!
//! An index maps a slot to a run of places; place `p` stands for build row `rows[p]`, or for row `p` itself if the build
//! side came in the order of the slots (as clustered keys do). If all keys are distinct, or only membership matters, a
//! probe finds at most one place.

#![expect(unsafe_code, reason = "the directory is written by all workers")]

pub(crate) mod direct;
pub(crate) mod hashed;
pub(crate) mod rank;
mod spread;

use direct::DirectIndex;
use hashed::HashIndex;
use rank::RankIndex;

/// An index over the build side's rows.
pub(crate) enum Index {
    /// No rows.
    Empty,
    /// See [`DirectIndex`].
    Direct(DirectIndex),
    /// See [`RankIndex`].
    Rank(RankIndex),
    /// See [`HashIndex`].
    Hash(HashIndex),
}

/// Slots or hashes of a probe batch, in the form that the index takes.
pub(crate) enum Slots<'a> {
    /// For [`Index::Direct`] and [`Index::Rank`].
    Narrow(&'a [u32]),
    /// For [`Index::Hash`].
    Wide(&'a [u64]),
}

/// What a lookup found: `rows[i]` of the probe batch has the places `starts[i] .. starts[i] + counts[i]`.
#[derive(Default)]
pub(crate) struct Runs {
    /// Probe rows with at least one place, ascending.
    pub rows: Vec<u32>,
    /// The first place of each.
    pub starts: Vec<u32>,
    /// How many places each has.
    pub counts: Vec<u32>,
}

impl Runs {
    /// Forgets everything.
    pub fn clear(&mut self) {
        self.rows.clear();
        self.starts.clear();
        self.counts.clear();
    }
}

impl Index {
    /// Whether every slot has at most one place.
    pub fn is_unique(&self) -> bool {
        match self {
            Self::Empty => true,
            Self::Direct(index) => index.is_unique(),
            Self::Rank(index) => index.is_unique(),
            Self::Hash(index) => index.is_unique(),
        }
    }

    /// Turns places into rows.
    pub fn resolve(&self, places: &mut [u32]) {
        match self {
            Self::Empty => {}
            Self::Direct(index) => index.resolve(places),
            Self::Rank(index) => index.resolve(places),
            Self::Hash(index) => index.resolve(places),
        }
    }

    /// For a unique index: probe rows that have a partner, ascending, and the build row of each.
    pub fn find_unique(&self, slots: &Slots<'_>, probe_rows: &mut Vec<u32>, build_rows: &mut Vec<u32>) {
        probe_rows.clear();
        build_rows.clear();
        match (self, slots) {
            (Self::Direct(index), Slots::Narrow(slots)) => index.find_unique(slots, probe_rows, build_rows),
            (Self::Rank(index), Slots::Narrow(slots)) => index.find_unique(slots, probe_rows, build_rows),
            (Self::Hash(index), Slots::Wide(slots)) => index.find_unique(slots, probe_rows, build_rows),
            (Self::Empty | Self::Direct(_) | Self::Rank(_) | Self::Hash(_), _) => self.expect_no_rows(),
        }
    }

    /// Probe rows that have a place, ascending.
    pub fn find_members(&self, slots: &Slots<'_>, probe_rows: &mut Vec<u32>) {
        probe_rows.clear();
        match (self, slots) {
            (Self::Direct(index), Slots::Narrow(slots)) => index.find_members(slots, probe_rows),
            (Self::Rank(index), Slots::Narrow(slots)) => index.find_members(slots, probe_rows),
            (Self::Hash(index), Slots::Wide(slots)) => index.find_members(slots, probe_rows),
            (Self::Empty | Self::Direct(_) | Self::Rank(_) | Self::Hash(_), _) => self.expect_no_rows(),
        }
    }

    /// Probe rows that have places, with their runs.
    pub fn find_runs(&self, slots: &Slots<'_>, runs: &mut Runs) {
        runs.clear();
        match (self, slots) {
            (Self::Direct(index), Slots::Narrow(slots)) => index.find_runs(slots, runs),
            (Self::Rank(index), Slots::Narrow(slots)) => index.find_runs(slots, runs),
            (Self::Hash(index), Slots::Wide(slots)) => index.find_runs(slots, runs),
            (Self::Empty | Self::Direct(_) | Self::Rank(_) | Self::Hash(_), _) => self.expect_no_rows(),
        }
    }

    /// The table encodes slots for the index it has, so only the empty one is asked for slots of another form.
    fn expect_no_rows(&self) {
        debug_assert!(matches!(self, Self::Empty), "slots of another index");
    }

    /// Bytes held.
    pub fn memory_size(&self) -> usize {
        match self {
            Self::Empty => 0,
            Self::Direct(index) => index.memory_size(),
            Self::Rank(index) => index.memory_size(),
            Self::Hash(index) => index.memory_size(),
        }
    }
}

/// Writes the pairs that a compacting loop keeps: room for all is made once, then each pair is written and the count
/// raised only if it is kept, without a branch.
pub(crate) struct PairWriter<'a> {
    first: &'a mut Vec<u32>,
    second: &'a mut Vec<u32>,
    count: usize,
    room: usize,
}

impl<'a> PairWriter<'a> {
    /// Room for `room` pairs in two vectors, which are emptied.
    pub fn new(first: &'a mut Vec<u32>, second: &'a mut Vec<u32>, room: usize) -> Self {
        first.clear();
        second.clear();
        first.reserve(room + 1);
        second.reserve(room + 1);
        Self { first, second, count: 0, room }
    }

    /// Writes a pair and keeps it if `keep`. At most `room` calls.
    #[inline(always)]
    pub fn put(&mut self, first: u32, second: u32, keep: bool) {
        debug_assert!(self.count <= self.room);
        // SAFETY: room for `room + 1` pairs was reserved, and `count` rises by at most one in each of `room` calls.
        unsafe {
            self.first.as_mut_ptr().add(self.count).write(first);
            self.second.as_mut_ptr().add(self.count).write(second);
        }
        self.count += usize::from(keep);
    }

    /// How many more pairs may be kept, if all that were written were.
    #[inline(always)]
    pub fn left(&self) -> usize {
        self.room - self.count
    }

    /// Sets the lengths.
    pub fn finish(self) {
        assert!(self.count <= self.room, "more pairs than room");
        // SAFETY: `count` pairs were written, within what was reserved.
        unsafe {
            self.first.set_len(self.count);
            self.second.set_len(self.count);
        }
    }
}

/// As [`PairWriter`], for single values.
pub(crate) struct RowWriter<'a> {
    rows: &'a mut Vec<u32>,
    count: usize,
    room: usize,
}

impl<'a> RowWriter<'a> {
    /// Room for `room` values in a vector, which is emptied.
    pub fn new(rows: &'a mut Vec<u32>, room: usize) -> Self {
        rows.clear();
        rows.reserve(room + 1);
        Self { rows, count: 0, room }
    }

    /// Writes a value and keeps it if `keep`. At most `room` calls.
    #[inline(always)]
    pub fn put(&mut self, row: u32, keep: bool) {
        debug_assert!(self.count <= self.room);
        // SAFETY: room for `room + 1` values was reserved, and `count` rises by at most one in each of `room` calls.
        unsafe { self.rows.as_mut_ptr().add(self.count).write(row) };
        self.count += usize::from(keep);
    }

    /// Sets the length.
    pub fn finish(self) {
        assert!(self.count <= self.room, "more rows than room");
        // SAFETY: `count` values were written, within what was reserved.
        unsafe { self.rows.set_len(self.count) };
    }
}

/// Sorts rows by slot: the first place of each slot (with two more behind the last), and the rows by place, unless they
/// are `ascending` by slot, so that place and row are the same.
fn group_by_slot(
    slots: impl Iterator<Item = u32> + Clone,
    len: usize,
    domain: usize,
    ascending: bool,
) -> (Vec<u32>, Option<Vec<u32>>) {
    // Counts stand two places behind their slot; after summing up, `starts[slot + 1]` is where the slot's next row goes,
    // and when all rows are placed, where the next slot begins.
    let mut starts = vec![0u32; domain + 2];
    for slot in slots.clone() {
        debug_assert!((slot as usize) < domain, "slot {slot} of {domain}");
        if let Some(count) = starts.get_mut(slot as usize + 2) {
            *count += 1;
        }
    }
    let mut sum = 0;
    for start in &mut starts {
        sum += *start;
        *start = sum;
    }
    if ascending {
        starts.remove(0);
        starts.push(sum);
        return (starts, None);
    }
    let mut rows = vec![0u32; len];
    for (row, slot) in slots.enumerate() {
        let place = &mut starts[slot as usize + 1];
        rows[*place as usize] = row as u32;
        *place += 1;
    }
    (starts, Some(rows))
}
