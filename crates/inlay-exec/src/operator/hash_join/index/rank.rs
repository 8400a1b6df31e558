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

use super::spread::Spread;
use super::{PairWriter, RowWriter, Runs};
use crate::ExecContext;
use crate::context::PARALLEL_ROWS_MIN;
use crate::dispatch::multiversion;
use inlay_types::Result;
use parking_lot::Mutex;
use std::ops::Range;

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
/// A worker alone does not spread fewer rows than this: what they touch is in its cache.
const SPREAD_ROWS_MIN: usize = 1 << 16;
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
        if ascending {
            return Self::build_ascending(context, slots, words, members);
        }
        let workers = context.workers.count();
        let many = slots.len() > PARALLEL_ROWS_MIN;
        let is_large = slots.len() > if workers > 1 { PARALLEL_ROWS_MIN } else { SPREAD_ROWS_MIN };
        // Without memory for that, it takes longer.
        if is_large
            && !members
            && let Ok(_room) = context.budget.reserve((slots.len() * Spread::ROW_BYTES) as u64)
        {
            return Self::build_spread(context, slots, &Spread::new(context, slots, domain)?, words);
        }
        if many && workers > 1 {
            set_bits(context, slots, &mut words)?;
        } else {
            for &slot in slots {
                words[slot as usize / 64][0] |= 1 << (slot % 64);
            }
        }
        if members {
            return Ok(Self { words, starts: None, rows: None });
        }
        let distinct = count_before(&mut words) as usize;
        let mut index = Self { words, starts: None, rows: None };
        let ranks = slots.iter().map(|slot| index.rank(*slot) as u32);
        let (starts, rows) = super::group_by_slot(ranks, slots.len(), distinct, false);
        index.starts = (distinct < slots.len()).then_some(starts);
        index.rows = rows;
        Ok(index)
    }

    /// Of rows in the order of their slots: each part has a range of words and the rows that fall into it.
    fn build_ascending(
        context: &ExecContext,
        slots: &[u32],
        mut words: Vec<[u64; 2]>,
        members: bool,
    ) -> Result<Self> {
        let mut parts = ascending_parts(context, slots, &mut words);
        context.parallel(parts.len(), |number| {
            parts[number].lock().set_bits(members);
            Ok(())
        })?;
        if members {
            drop(parts);
            return Ok(Self { words, starts: None, rows: None });
        }
        let distinct: usize = parts.iter_mut().map(|part| part.get_mut().distinct).sum();
        let is_unique = distinct == slots.len();
        let mut starts = vec![0u32; if is_unique { 0 } else { distinct + 1 }];
        let (mut rest, mut rank) = (&mut starts[..], 0);
        for part in &mut parts {
            let part = part.get_mut();
            part.first_rank = rank;
            (part.starts, rest) = rest.split_at_mut(if is_unique { 0 } else { part.distinct });
            rank += part.distinct;
        }
        if let [end] = rest {
            *end = slots.len() as u32;
        }
        context.parallel(parts.len(), |number| {
            parts[number].lock().finish();
            Ok(())
        })?;
        drop(parts);
        Ok(Self { words, starts: (!is_unique).then_some(starts), rows: None })
    }

    /// Of rows in any order: bits, ranks and places part by part.
    fn build_spread(
        context: &ExecContext,
        slots: &[u32],
        spread: &Spread,
        mut words: Vec<[u64; 2]>,
    ) -> Result<Self> {
        let per_part = spread.slots_per_part() / 64;
        let mut parts: Vec<Mutex<Part<'_>>> = Vec::with_capacity(spread.parts());
        parts.extend(words.chunks_mut(per_part).take(spread.parts()).map(Part::new).map(Mutex::new));
        context.parallel(parts.len(), |number| {
            parts[number].lock().set_bits(spread, number);
            Ok(())
        })?;
        let distinct: usize = parts.iter_mut().map(|part| part.get_mut().distinct).sum();
        let is_unique = distinct == slots.len();
        let mut starts = vec![0u32; if is_unique { 0 } else { distinct + 1 }];
        let mut rows = vec![0u32; slots.len()];
        let (mut rest_starts, mut rest_rows) = (&mut starts[..], &mut rows[..]);
        let (mut rank, mut place) = (0, 0);
        for (number, part) in parts.iter_mut().enumerate() {
            let part = part.get_mut();
            (part.first_rank, part.first_place) = (rank, place);
            let count = spread.rows_in(number);
            (part.starts, rest_starts) = rest_starts.split_at_mut(if is_unique { 0 } else { part.distinct });
            (part.rows, rest_rows) = rest_rows.split_at_mut(count);
            (rank, place) = (rank + part.distinct, place + count as u32);
        }
        if let [end] = rest_starts {
            *end = place;
        }
        context.parallel(parts.len(), |number| {
            let part = &mut *parts[number].lock();
            if is_unique {
                part.place_unique(spread, number)
            } else {
                part.place(spread, number)
            }
            Ok(())
        })?;
        drop(parts);
        if let Some(last) = words.last_mut() {
            *last = [0, distinct as u64];
        }
        Ok(Self { words, starts: (!is_unique).then_some(starts), rows: Some(rows) })
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

/// The words, first places and rows of a part of the slots.
struct Part<'a> {
    words: &'a mut [[u64; 2]],
    distinct: usize,
    first_rank: usize,
    first_place: u32,
    starts: &'a mut [u32],
    rows: &'a mut [u32],
}

impl<'a> Part<'a> {
    fn new(words: &'a mut [[u64; 2]]) -> Self {
        Self { words, distinct: 0, first_rank: 0, first_place: 0, starts: &mut [], rows: &mut [] }
    }

    fn set_bits(&mut self, spread: &Spread, number: usize) {
        let mask = spread.slots_per_part() as u32 - 1;
        spread.each(number, |slot, _| self.words[(slot & mask) as usize / 64][0] |= 1 << (slot % 64));
        self.distinct = count_before(self.words) as usize;
    }

    fn place_unique(&mut self, spread: &Spread, number: usize) {
        let mask = spread.slots_per_part() as u32 - 1;
        spread.each(number, |slot, row| {
            let [bits, before] = self.words[(slot & mask) as usize / 64];
            self.rows[rank_in(bits, before, slot) as usize] = row;
        });
        self.finish();
    }

    fn place(&mut self, spread: &Spread, number: usize) {
        let mask = spread.slots_per_part() as u32 - 1;
        let rank = |words: &[[u64; 2]], slot: u32| {
            let [bits, before] = words[(slot & mask) as usize / 64];
            rank_in(bits, before, slot) as usize
        };
        spread.each(number, |slot, _| self.starts[rank(self.words, slot)] += 1);
        let mut next = 0;
        for start in self.starts.iter_mut() {
            next += std::mem::replace(start, next);
        }
        spread.each(number, |slot, row| {
            let next = &mut self.starts[rank(self.words, slot)];
            self.rows[*next as usize] = row;
            *next += 1;
        });
        // Each start has moved to its slot's end, which is where the next slot starts.
        let mut before = 0;
        for start in self.starts.iter_mut() {
            before = std::mem::replace(start, before + self.first_place);
        }
        self.finish();
    }

    fn finish(&mut self) {
        self.words.iter_mut().for_each(|word| word[1] += self.first_rank as u64);
    }
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

/// A range of words, with the rows whose slots are in it, of slots that ascend.
struct AscendingPart<'a> {
    words: &'a mut [[u64; 2]],
    first_word: usize,
    slots: &'a [u32],
    first_row: usize,
    distinct: usize,
    first_rank: usize,
    /// Where the first row of each slot is written, unless slots have a row each.
    starts: &'a mut [u32],
}

/// Cuts words between those of two rows, about [`ExecContext::task_rows`] rows for each part.
fn ascending_parts<'a>(
    context: &ExecContext,
    slots: &'a [u32],
    words: &'a mut [[u64; 2]],
) -> Vec<Mutex<AscendingPart<'a>>> {
    let task_rows = context.task_rows(slots.len());
    let count = slots.len().div_ceil(task_rows);
    let mut parts = Vec::with_capacity(count);
    let (mut rest, mut first_word, mut first_row) = (words, 0usize, 0usize);
    for part in 1..=count {
        // The part ends before the word of the row at its nominal end.
        let word_to = slots.get(part * task_rows).map_or(first_word + rest.len(), |slot| *slot as usize / 64);
        let rows = slots[first_row..].partition_point(|slot| (*slot as usize / 64) < word_to);
        let (words, behind) = rest.split_at_mut(word_to - first_word);
        let slots = &slots[first_row..first_row + rows];
        let (distinct, first_rank, starts) = (0, 0, &mut [][..]);
        parts.push(Mutex::new(AscendingPart {
            words,
            first_word,
            slots,
            first_row,
            distinct,
            first_rank,
            starts,
        }));
        (rest, first_word, first_row) = (behind, word_to, first_row + rows);
    }
    parts
}

impl AscendingPart<'_> {
    fn set_bits(&mut self, members: bool) {
        for &slot in self.slots {
            self.words[slot as usize / 64 - self.first_word][0] |= 1 << (slot % 64);
        }
        if !members {
            self.distinct = count_before(self.words) as usize;
        }
    }

    /// Ranks and starts, when those of the parts before are counted.
    fn finish(&mut self) {
        self.words.iter_mut().for_each(|word| word[1] += self.first_rank as u64);
        if self.starts.is_empty() {
            return;
        }
        let (mut picked, mut before, mut at) = (Vec::new(), None, 0);
        for (number, slots) in self.slots.chunks(PICKED_ROWS).enumerate() {
            let mut firsts = RowWriter::new(&mut picked, slots.len());
            let first_row = self.first_row + number * PICKED_ROWS;
            for (row, &slot) in slots.iter().enumerate() {
                firsts.put((first_row + row) as u32, before != Some(slot));
                before = Some(slot);
            }
            firsts.finish();
            self.starts[at..at + picked.len()].copy_from_slice(&picked);
            at += picked.len();
        }
    }
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
