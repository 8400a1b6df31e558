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

use super::{PairWriter, RowWriter, Runs};
use crate::ExecContext;
use crate::context::PARALLEL_ROWS_MIN;
use crate::dispatch::multiversion;
use inlay_types::Result;
use parking_lot::Mutex;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

/// See the module documentation.
pub(crate) struct RankIndex {
    words: Vec<[u64; 2]>,
    /// First places by rank, if slots have several rows.
    starts: Option<Vec<u32>>,
    /// Rows by place; absent if they are in the order of the slots.
    rows: Option<Vec<u32>>,
}

/// Rows that are picked at once.
const PICKED_ROWS: usize = 1 << 11;
/// Each worker that owns slots looks at all rows, so there are no more of them than this.
const SHARES_MAX: usize = 16;

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
        let many = slots.len() > PARALLEL_ROWS_MIN;
        if ascending && many {
            set_bits_ascending(context, slots, &mut words)?;
        } else if many && context.workers.count() > 1 {
            set_bits(context, slots, &mut words)?;
        } else {
            for &slot in slots {
                words[slot as usize / 64][0] |= 1 << (slot % 64);
            }
        }
        let distinct = count_before(&mut words) as usize;
        let mut index = Self { words, starts: None, rows: None };
        if members {
            return Ok(index);
        }
        if distinct == slots.len() {
            if !ascending {
                index.rows = Some(index.rows_by_rank(context, slots)?);
            }
            return Ok(index);
        }
        if ascending {
            index.starts = Some(starts_of_ascending(slots, distinct));
            return Ok(index);
        }
        if many && context.workers.count() > 1 {
            let (starts, rows) = index.group_by_rank(context, slots, distinct)?;
            (index.starts, index.rows) = (Some(starts), Some(rows));
            return Ok(index);
        }
        let ranks = slots.iter().map(|slot| index.rank(*slot) as u32);
        let (starts, rows) = super::group_by_slot(ranks, slots.len(), distinct, false);
        (index.starts, index.rows) = (Some(starts), rows);
        Ok(index)
    }

    fn rows_by_rank(&self, context: &ExecContext, slots: &[u32]) -> Result<Vec<u32>> {
        if slots.len() <= PARALLEL_ROWS_MIN {
            let mut rows = vec![0u32; slots.len()];
            for (row, &slot) in slots.iter().enumerate() {
                rows[self.rank(slot)] = row as u32;
            }
            return Ok(rows);
        }
        let rows: Vec<AtomicU32> = std::iter::repeat_with(|| AtomicU32::new(0)).take(slots.len()).collect();
        let task_rows = context.task_rows(slots.len());
        context.parallel(slots.len().div_ceil(task_rows), |task| {
            let from = task * task_rows;
            let part = &slots[from..slots.len().min(from + task_rows)];
            place_rows(&self.words, part, from as u32, &rows);
            Ok(())
        })?;
        Ok(rows.into_iter().map(AtomicU32::into_inner).collect())
    }

    /// As [`super::group_by_slot`] by the slots' ranks, of which each task owns a range.
    fn group_by_rank(
        &self,
        context: &ExecContext,
        slots: &[u32],
        distinct: usize,
    ) -> Result<(Vec<u32>, Vec<u32>)> {
        let bounds = shares(self.words.len(), context.workers.count());
        let rank_of_word = |word: usize| self.words.get(word).map_or(distinct, |word| word[1] as usize);
        let mut starts = vec![0u32; distinct + 2];
        let (mut tasks, mut rest) = (Vec::with_capacity(bounds.len()), &mut starts[1..=distinct]);
        for words in &bounds {
            let (first, end) = (rank_of_word(words.start), rank_of_word(words.end));
            let (own, behind) = rest.split_at_mut(end - first);
            tasks.push(Mutex::new((own, first)));
            rest = behind;
        }
        let totals: Vec<AtomicU32> = bounds.iter().map(|_| AtomicU32::new(0)).collect();
        context.parallel(tasks.len(), |task| {
            let mut own = tasks[task].lock();
            let (counts, first) = &mut *own;
            let mut total = 0;
            each_inside(slots, &bounds[task], |_, slot| {
                counts[self.rank(slot) - *first] += 1;
                total += 1;
            });
            totals[task].store(total, Ordering::Relaxed);
            Ok(())
        })?;
        let mut rows = vec![0u32; slots.len()];
        let (mut places, mut rest, mut base) = (Vec::with_capacity(tasks.len()), &mut rows[..], 0);
        for total in totals {
            let total = total.into_inner();
            let (own, behind) = rest.split_at_mut(total as usize);
            places.push(Mutex::new((own, base)));
            (rest, base) = (behind, base + total);
        }
        context.parallel(tasks.len(), |task| {
            let (mut own, mut place) = (tasks[task].lock(), places[task].lock());
            let ((counts, first), (rows, base)) = (&mut *own, &mut *place);
            let mut next = *base;
            for count in counts.iter_mut() {
                next += std::mem::replace(count, next);
            }
            // A start moves to its slot's end, which is where the next slot starts.
            each_inside(slots, &bounds[task], |row, slot| {
                let next = &mut counts[self.rank(slot) - *first];
                rows[(*next - *base) as usize] = row;
                *next += 1;
            });
            Ok(())
        })?;
        drop((tasks, places));
        starts[distinct + 1] = slots.len() as u32;
        Ok((starts, rows))
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

/// `words` in as many ranges as there are workers, but not too many.
fn shares(words: usize, workers: usize) -> Vec<Range<usize>> {
    let share = words.div_ceil(workers.clamp(1, SHARES_MAX)).max(1);
    (0..words).step_by(share).map(|from| from..words.min(from + share)).collect()
}

/// Calls `each` with the rows whose slots are in a range of words, and with their slots. All are looked at, which is cheap
/// beside touching the words; those that are inside are picked first, by loops without branches that nobody can foresee.
#[inline(always)]
fn each_inside(slots: &[u32], words: &Range<usize>, mut each: impl FnMut(u32, u32)) {
    let mut inside = Vec::new();
    for (number, part) in slots.chunks(PICKED_ROWS).enumerate() {
        pick_inside(part, words.start as u32 * 64, (words.len() as u32).saturating_mul(64), &mut inside);
        for &row in &inside {
            each((number * PICKED_ROWS) as u32 + row, part[row as usize]);
        }
    }
}

multiversion! {
    /// Which slots are among `count` from `first` on.
    fn pick_inside[](slots: &[u32], first: u32, count: u32, inside: &mut Vec<u32>) {
        let mut picked = RowWriter::new(inside, slots.len());
        for (row, &slot) in slots.iter().enumerate() {
            picked.put(row as u32, slot.wrapping_sub(first) < count);
        }
        picked.finish();
    }
}

/// First places by rank of ascending slots, of which so many are distinct; behind them the number of rows.
fn starts_of_ascending(slots: &[u32], distinct: usize) -> Vec<u32> {
    let mut starts = Vec::new();
    let mut firsts = RowWriter::new(&mut starts, slots.len());
    let mut before = None;
    for (row, &slot) in slots.iter().enumerate() {
        firsts.put(row as u32, before != Some(slot));
        before = Some(slot);
    }
    firsts.finish();
    starts.truncate(distinct);
    starts.push(slots.len() as u32);
    starts.shrink_to_fit();
    starts
}

/// Sets bits for slots in any order: each task owns a range of words.
fn set_bits(context: &ExecContext, slots: &[u32], words: &mut [[u64; 2]]) -> Result<()> {
    let bounds = shares(words.len(), context.workers.count());
    let mut tasks = Vec::with_capacity(bounds.len());
    let mut rest = words;
    for range in &bounds {
        let (own, behind) = rest.split_at_mut(range.len());
        tasks.push(Mutex::new(own));
        rest = behind;
    }
    context.parallel(tasks.len(), |task| {
        let mut words = tasks[task].lock();
        each_inside(slots, &bounds[task], |_, slot| {
            words[slot as usize / 64 - bounds[task].start][0] |= 1 << (slot % 64);
        });
        Ok(())
    })
}

/// Sets bits for ascending slots: each task owns a range of words and the rows that fall into it.
fn set_bits_ascending(context: &ExecContext, slots: &[u32], words: &mut [[u64; 2]]) -> Result<()> {
    let task_rows = context.task_rows(slots.len());
    let count = slots.len().div_ceil(task_rows);
    let mut tasks = Vec::with_capacity(count);
    let (mut rest, mut word_from, mut row_from) = (words, 0usize, 0usize);
    for task in 1..=count {
        // The task ends before the word of the row at its nominal end.
        let word_to = slots.get(task * task_rows).map_or(word_from + rest.len(), |slot| *slot as usize / 64);
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
    /// Notes the number of set bits before each word; returns that of all.
    fn count_before[](words: &mut [[u64; 2]]) -> u64 {
        let mut rank = 0;
        for word in words {
            word[1] = rank;
            rank += u64::from(word[0].count_ones());
        }
        rank
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    /// However many workers build it, an index has the rows of each slot in their order.
    #[test]
    fn workers_build_the_index_of_one() {
        const DOMAIN: usize = 300_000;
        let len = 3 << 16;
        let spread = |row: u64| (row.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33) as usize;
        let twice: Vec<u32> = (0..len).map(|row| (spread(row) % DOMAIN) as u32).collect();
        let one: Vec<u32> = (0..len).map(|row| 7 * row as u32 % DOMAIN as u32).collect();
        let ends: Vec<u32> = (0..len).map(|row| if row % 2 == 0 { DOMAIN as u32 - 1 } else { 0 }).collect();
        for slots in [twice, one, ends] {
            let mut expected: Vec<Vec<u32>> = vec![Vec::new(); DOMAIN];
            slots.iter().enumerate().for_each(|(row, &slot)| expected[slot as usize].push(row as u32));
            for workers in [1, 2, 3, 7] {
                let index =
                    RankIndex::build(&ExecContext::for_tests(workers), &slots, DOMAIN, false, false).unwrap();
                assert_eq!(index.is_unique(), expected.iter().all(|rows| rows.len() <= 1));
                let (probes, mut runs): (Vec<u32>, _) = ((0..DOMAIN as u32).collect(), Runs::default());
                index.find_runs(&probes, &mut runs);
                let mut found: Vec<Vec<u32>> = vec![Vec::new(); DOMAIN];
                for ((slot, start), count) in runs.rows.iter().zip(&runs.starts).zip(&runs.counts) {
                    let mut places: Vec<u32> = (*start..start + count).collect();
                    index.resolve(&mut places);
                    found[*slot as usize] = places;
                }
                assert_eq!(found, expected, "{workers} workers");
            }
        }
    }
}
