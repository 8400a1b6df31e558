//! One 32-bit word per slot, for small ranges of keys.
//!
//! ```text
//! unique     heads[slot]    row + 1, or 0
//! otherwise  starts[slot]   first place; starts[slot + 1] is behind the last; rows[place]
//! ```
//! Behind the last slot stands one that is empty; slots outside of the range (and [`NO_SLOT_32`]) read that one.

use super::super::keys::NO_SLOT_32;
use super::{PairWriter, RowWriter, Runs};
use crate::dispatch::multiversion;

/// See the module documentation.
pub(crate) enum DirectIndex {
    /// At most one row per slot; with `members` only, one of several.
    Unique {
        /// Row + 1, or 0.
        heads: Vec<u32>,
    },
    /// Several rows per slot.
    Runs {
        /// First places.
        starts: Vec<u32>,
        /// Rows by place; absent if they are in the order of the slots.
        rows: Option<Vec<u32>>,
    },
}

impl DirectIndex {
    /// Indexes rows by their slots, each below `domain`. With `members`, rows of equal slots need not all be found.
    pub fn build(slots: &[u32], domain: usize, members: bool, ascending: bool) -> Self {
        let mut heads = vec![0u32; domain + 1];
        let mut repeated = false;
        for (row, &slot) in slots.iter().enumerate() {
            let head = &mut heads[slot as usize];
            if *head != 0 && !members {
                repeated = true;
                break;
            }
            *head = row as u32 + 1;
        }
        if !repeated {
            return Self::Unique { heads };
        }
        let (starts, rows) = super::group_by_slot(slots.iter().copied(), slots.len(), domain, ascending);
        Self::Runs { starts, rows }
    }

    pub fn is_unique(&self) -> bool {
        matches!(self, Self::Unique { .. })
    }

    /// Turns places into rows.
    pub fn resolve(&self, places: &mut [u32]) {
        if let Self::Runs { rows: Some(rows), .. } = self {
            places.iter_mut().for_each(|place| *place = rows[*place as usize]);
        }
    }

    pub fn memory_size(&self) -> usize {
        match self {
            Self::Unique { heads } => heads.len() * 4,
            Self::Runs { starts, rows } => (starts.len() + rows.as_ref().map_or(0, Vec::len)) * 4,
        }
    }

    /// The bits of the slots that have rows, 64 per word.
    pub fn bits(&self) -> Vec<u64> {
        let mut words = Vec::new();
        match self {
            Self::Unique { heads } => {
                let slots = &heads[..heads.len() - 1];
                set_words((slots, &vec![0; slots.len()]), &mut words);
            }
            Self::Runs { starts, .. } => set_words((&starts[..starts.len() - 1], &starts[1..]), &mut words),
        }
        words
    }

    pub fn find_unique(&self, slots: &[u32], probe_rows: &mut Vec<u32>, build_rows: &mut Vec<u32>) {
        debug_assert!(self.is_unique(), "one row was asked for where there are several");
        if let Self::Unique { heads } = self {
            find_unique(heads, slots, probe_rows, build_rows);
        }
    }

    pub fn find_members(&self, slots: &[u32], probe_rows: &mut Vec<u32>) {
        match self {
            Self::Unique { heads } => find_members(heads, slots, probe_rows),
            Self::Runs { starts, .. } => {
                let has_rows =
                    |slot: u32| slot != NO_SLOT_32 && starts[slot as usize] != starts[slot as usize + 1];
                probe_rows.extend((0..slots.len() as u32).filter(|&row| has_rows(slots[row as usize])));
            }
        }
    }

    pub fn find_runs(&self, slots: &[u32], runs: &mut Runs) {
        match self {
            Self::Unique { heads } => {
                find_unique(heads, slots, &mut runs.rows, &mut runs.starts);
                runs.counts.resize(runs.rows.len(), 1);
            }
            Self::Runs { starts, .. } => find_runs(starts, slots, runs),
        }
    }
}

multiversion! {
    /// A bit for each pair of numbers that differ.
    fn set_words[](pairs: (&[u32], &[u32]), words: &mut Vec<u64>) {
        let word = |(left, right): (&[u32], &[u32])| {
            let differ = left.iter().zip(right).enumerate();
            differ.fold(0, |word, (bit, (left, right))| word | u64::from(left != right) << bit)
        };
        words.extend(pairs.0.chunks(64).zip(pairs.1.chunks(64)).map(word));
    }
}

multiversion! {
    fn find_unique[](heads: &[u32], slots: &[u32], probe_rows: &mut Vec<u32>, build_rows: &mut Vec<u32>) {
        let last = heads.len() - 1;
        let mut found = PairWriter::new(probe_rows, build_rows, slots.len());
        for (row, &slot) in slots.iter().enumerate() {
            // SAFETY: `last` is the position of the last head.
            let head = unsafe { *heads.get_unchecked((slot as usize).min(last)) };
            found.put(row as u32, head.wrapping_sub(1), head != 0);
        }
        found.finish();
    }
}

multiversion! {
    fn find_members[](heads: &[u32], slots: &[u32], probe_rows: &mut Vec<u32>) {
        let last = heads.len() - 1;
        let mut found = RowWriter::new(probe_rows, slots.len());
        for (row, &slot) in slots.iter().enumerate() {
            // SAFETY: `last` is the position of the last head.
            let head = unsafe { *heads.get_unchecked((slot as usize).min(last)) };
            found.put(row as u32, head != 0);
        }
        found.finish();
    }
}

/// `starts` has two more entries than there are slots, so the last one is empty.
fn find_runs(starts: &[u32], slots: &[u32], runs: &mut Runs) {
    let last = starts.len() - 2;
    for (row, &slot) in slots.iter().enumerate() {
        let slot = (slot as usize).min(last);
        let (start, end) = (starts[slot], starts[slot + 1]);
        if start != end {
            runs.rows.push(row as u32);
            runs.starts.push(start);
            runs.counts.push(end - start);
        }
    }
}
