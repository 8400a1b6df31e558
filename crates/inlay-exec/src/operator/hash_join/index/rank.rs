//! A bitmap of the slots that have rows, with the number of set bits before each word: two bits per slot.
//!
//! ```text
//! words[slot / 64]   [ bits: u64 | set bits before: u64 ]
//! rank               set bits before the slot: its number among the slots that have rows
//! unique             place = rank
//! otherwise          places starts[rank] .. starts[rank + 1]
//! ```
//! A million keys of a range of six millions take 1.5 MB and stay in the second-level cache, where an array of rows
//! would take 24 MB. Behind the last word stands an empty one; slots outside of the range read that one.

use super::super::dispatch::multiversion;
use super::{PairWriter, RowWriter, Runs};
use crate::ExecContext;
use inlay_types::Result;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

/// See the module documentation.
pub(crate) struct RankIndex {
    words: Vec<[u64; 2]>,
    /// First places by rank, if slots have several rows.
    starts: Option<Vec<u32>>,
    /// Rows by place; absent if they are in the order of the slots.
    rows: Option<Vec<u32>>,
}

/// Below this many rows nothing is done in parallel.
const PARALLEL_ROWS: usize = 1 << 16;

impl RankIndex {
    /// Indexes rows by their slots, each below `domain`. With `members`, only membership will be asked for.
    pub fn build(
        context: &ExecContext,
        slots: &[u32],
        domain: usize,
        members: bool,
        ascending: bool,
    ) -> Result<Self> {
        let mut words = vec![[0u64; 2]; domain.div_ceil(64) + 1];
        if ascending && slots.len() > PARALLEL_ROWS {
            set_bits_ascending(context, slots, &mut words)?;
        } else {
            for &slot in slots {
                words[slot as usize / 64][0] |= 1 << (slot % 64);
            }
        }
        let mut rank = 0;
        for word in &mut words {
            word[1] = rank;
            rank += u64::from(word[0].count_ones());
        }
        let mut index = Self { words, starts: None, rows: None };
        let distinct = rank as usize;
        if members {
            return Ok(index);
        }
        if distinct == slots.len() {
            if !ascending {
                index.rows = Some(index.rows_by_rank(context, slots)?);
            }
            return Ok(index);
        }
        let ranks = slots.iter().map(|slot| index.rank(*slot) as u32);
        let (starts, rows) = super::group_by_slot(ranks, slots.len(), distinct, ascending);
        (index.starts, index.rows) = (Some(starts), rows);
        Ok(index)
    }

    fn rows_by_rank(&self, context: &ExecContext, slots: &[u32]) -> Result<Vec<u32>> {
        if slots.len() <= PARALLEL_ROWS {
            let mut rows = vec![0u32; slots.len()];
            for (row, &slot) in slots.iter().enumerate() {
                rows[self.rank(slot)] = row as u32;
            }
            return Ok(rows);
        }
        let rows: Vec<AtomicU32> = std::iter::repeat_with(|| AtomicU32::new(0)).take(slots.len()).collect();
        context.parallel(slots.len().div_ceil(PARALLEL_ROWS), |task| {
            let from = task * PARALLEL_ROWS;
            let part = &slots[from..slots.len().min(from + PARALLEL_ROWS)];
            place_rows(&self.words, part, from as u32, &rows);
            Ok(())
        })?;
        Ok(rows.into_iter().map(AtomicU32::into_inner).collect())
    }

    #[inline(always)]
    fn rank(&self, slot: u32) -> usize {
        let [bits, before] = self.words[slot as usize / 64];
        rank_in(bits, before, slot) as usize
    }

    pub fn is_unique(&self) -> bool {
        self.starts.is_none()
    }

    /// Turns places into rows.
    pub fn resolve(&self, places: &mut [u32]) {
        if let Some(rows) = &self.rows {
            places.iter_mut().for_each(|place| *place = rows[*place as usize]);
        }
    }

    /// The bits of the slots that have rows, 64 per word.
    pub fn bits(&self) -> impl Iterator<Item = u64> {
        self.words[..self.words.len() - 1].iter().map(|word| word[0])
    }

    pub fn memory_size(&self) -> usize {
        let places = self.starts.as_ref().map_or(0, Vec::len) + self.rows.as_ref().map_or(0, Vec::len);
        self.words.len() * 16 + places * 4
    }

    pub fn find_unique(&self, slots: &[u32], probe_rows: &mut Vec<u32>, build_rows: &mut Vec<u32>) {
        find_ranks(&self.words, slots, probe_rows, build_rows);
        self.resolve(build_rows);
    }

    pub fn find_members(&self, slots: &[u32], probe_rows: &mut Vec<u32>) {
        find_members(&self.words, slots, probe_rows);
    }

    pub fn find_runs(&self, slots: &[u32], runs: &mut Runs) {
        find_ranks(&self.words, slots, &mut runs.rows, &mut runs.starts);
        match &self.starts {
            None => runs.counts.resize(runs.rows.len(), 1),
            Some(starts) => {
                for start in &mut runs.starts {
                    let rank = *start as usize;
                    *start = starts[rank];
                    runs.counts.push(starts[rank + 1] - starts[rank]);
                }
            }
        }
    }
}

#[inline(always)]
fn rank_in(bits: u64, before: u64, slot: u32) -> u32 {
    before as u32 + (bits & ((1u64 << (slot % 64)) - 1)).count_ones()
}

/// Sets bits for ascending slots: each task owns a range of words and the rows that fall into it.
fn set_bits_ascending(context: &ExecContext, slots: &[u32], words: &mut [[u64; 2]]) -> Result<()> {
    let count = slots.len().div_ceil(PARALLEL_ROWS);
    let mut tasks = Vec::with_capacity(count);
    let (mut rest, mut word_from, mut row_from) = (words, 0usize, 0usize);
    for task in 1..=count {
        // The task ends before the word of the row at its nominal end.
        let word_to =
            slots.get(task * PARALLEL_ROWS).map_or(word_from + rest.len(), |slot| *slot as usize / 64);
        let row_to = row_from + slots[row_from..].partition_point(|slot| (*slot as usize / 64) < word_to);
        let (own, behind) = rest.split_at_mut(word_to - word_from);
        tasks.push(Mutex::new((own, word_from, &slots[row_from..row_to])));
        (rest, word_from, row_from) = (behind, word_to, row_to);
    }
    context.parallel(tasks.len(), |task| {
        let mut task = tasks[task].lock();
        let (words, word_from, slots) = &mut *task;
        for &slot in *slots {
            words[slot as usize / 64 - *word_from][0] |= 1 << (slot % 64);
        }
        Ok(())
    })
}

multiversion! {
    fn place_rows[](words: &[[u64; 2]], slots: &[u32], first_row: u32, rows: &[AtomicU32]) {
        for (row, &slot) in slots.iter().enumerate() {
            let [bits, before] = words[slot as usize / 64];
            // Slots are distinct, so no two tasks write one place.
            rows[rank_in(bits, before, slot) as usize].store(first_row + row as u32, Ordering::Relaxed);
        }
    }
}

multiversion! {
    fn find_ranks[](words: &[[u64; 2]], slots: &[u32], probe_rows: &mut Vec<u32>, ranks: &mut Vec<u32>) {
        let last = words.len() - 1;
        let mut found = PairWriter::new(probe_rows, ranks, slots.len());
        for (row, &slot) in slots.iter().enumerate() {
            // SAFETY: `last` is the position of the last word.
            let [bits, before] = unsafe { *words.get_unchecked((slot as usize / 64).min(last)) };
            found.put(row as u32, rank_in(bits, before, slot), bits >> (slot % 64) & 1 == 1);
        }
        found.finish();
    }
}

multiversion! {
    fn find_members[](words: &[[u64; 2]], slots: &[u32], probe_rows: &mut Vec<u32>) {
        let last = words.len() - 1;
        let mut found = RowWriter::new(probe_rows, slots.len());
        for (row, &slot) in slots.iter().enumerate() {
            // SAFETY: `last` is the position of the last word.
            let [bits, _] = unsafe { *words.get_unchecked((slot as usize / 64).min(last)) };
            found.put(row as u32, bits >> (slot % 64) & 1 == 1);
        }
        found.finish();
    }
}
