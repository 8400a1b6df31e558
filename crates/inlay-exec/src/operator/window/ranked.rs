//! Quantiles of any frame: a wavelet matrix over the ranks of the rows that count.
//!
//! Each level has a bit of every rank, the highest first, and puts rows whose bit is 0 before the others. How many of a frame
//! have the bit 0 tells in which half the wanted rank lies, and where the frame's rows are on the next level. A rank of a
//! frame is found in as many steps as ranks have bits, however long the frame is: computing each frame anew would take time
//! by the square. Short frames that move have their ranks in order instead ([`super::sliding`]); levels are made when a frame
//! asks for them.
//!
//! Source: Claude, Navarro, Ordóñez, "The wavelet matrix", Information Systems 2015.

use super::frames::Ranges;
use super::sliding::{SlidingRanks, is_sliding};
use inlay_kernels::aggregate::RankedFrames;
use inlay_types::{Result, limits};
use parking_lot::Mutex;
use std::cell::RefCell;
use std::sync::OnceLock;

/// A frame without some of its rows is of so many ranges at most.
const RANGES_MAX: usize = 3;

/// The rows of ranges.
fn count(ranges: &[(u32, u32)]) -> u32 {
    ranges.iter().map(|(begin, end)| end - begin).sum()
}

/// A bit of each row's rank.
struct Level {
    words: Vec<u64>,
    /// Bits that are 1 before each word.
    before: Vec<u32>,
    /// Bits that are 0.
    zeros: u32,
}

impl Level {
    /// The level of some ranks, of which bit `bit` is taken, and their order on the next one.
    fn of(ranks: &[u32], bit: u32) -> (Self, Vec<u32>) {
        let mut words = vec![0u64; ranks.len() / 64 + 1];
        for (place, rank) in ranks.iter().enumerate() {
            words[place / 64] |= u64::from(rank >> bit & 1) << (place % 64);
        }
        let mut ones = 0;
        let before = words.iter().map(|word| {
            let own = ones;
            ones += word.count_ones();
            own
        });
        let before = before.collect();
        let is_zero = |rank: &u32| rank >> bit & 1 == 0;
        let mut next: Vec<u32> = ranks.iter().copied().filter(is_zero).collect();
        let zeros = next.len() as u32;
        next.extend(ranks.iter().copied().filter(|rank| !is_zero(rank)));
        (Self { words, before, zeros }, next)
    }

    /// Bits that are 1 before `place`.
    fn ones(&self, place: u32) -> u32 {
        let (word, bit) = (place as usize / 64, place % 64);
        self.before[word] + (self.words[word] & ((1 << bit) - 1)).count_ones()
    }
}

/// Rows in the order of a frame's clause, which are asked for by their rank.
pub(super) struct RankTree {
    /// Made by the first who asks.
    levels: OnceLock<Vec<Level>>,
    making: Mutex<()>,
    /// The rank of each row that counts.
    ranks: Vec<u32>,
    /// The row of each rank.
    places: Vec<u32>,
    /// How many rows count before each place.
    counted: Vec<u32>,
}

impl RankTree {
    /// `places`: the rows that count by their rank, of `len` rows.
    pub(super) fn new(places: Vec<u32>, len: usize) -> Self {
        let mut rank_of = vec![u32::MAX; len];
        for (rank, &place) in places.iter().enumerate() {
            rank_of[place as usize] = rank as u32;
        }
        let mut counted = Vec::with_capacity(len + 1);
        let mut count = 0;
        counted.push(0);
        counted.extend(rank_of.iter().map(|&rank| {
            count += u32::from(rank != u32::MAX);
            count
        }));
        let ranks = rank_of.into_iter().filter(|&rank| rank != u32::MAX).collect();
        Self { levels: OnceLock::new(), making: Mutex::new(()), ranks, places, counted }
    }

    /// Bits of a rank.
    fn bits(&self) -> u32 {
        u32::BITS - (self.places.len() as u32).saturating_sub(1).leading_zeros()
    }

    fn levels(&self) -> Result<&[Level]> {
        let _one_at_a_time = if self.levels.get().is_none() { Some(self.making.lock()) } else { None };
        if let Some(levels) = self.levels.get() {
            return Ok(levels);
        }
        let mut levels = Vec::with_capacity(self.bits() as usize);
        let mut ranks = self.ranks.clone();
        for bit in (0..self.bits()).rev() {
            limits::check()?;
            let (level, next) = Level::of(&ranks, bit);
            levels.push(level);
            ranks = next;
        }
        Ok(self.levels.get_or_init(|| levels))
    }

    /// The ranges of a frame, counted in rows that count.
    fn ranges(&self, frame: &[(u32, u32)]) -> [(u32, u32); RANGES_MAX] {
        let place = |place: u32| self.counted[place as usize];
        let mut ranges = [(0, 0); RANGES_MAX];
        for (range, &(begin, end)) in ranges.iter_mut().zip(frame) {
            *range = (place(begin), place(end.max(begin)));
        }
        ranges
    }

    /// The rank at `index` among those of `ranges`, which are more.
    fn nth(levels: &[Level], ranges: &mut [(u32, u32)], mut index: u32) -> u32 {
        let mut rank = 0;
        let mut ones = [(0, 0); RANGES_MAX];
        let ones = &mut ones[..ranges.len()];
        for level in levels {
            for ((begin, end), ones) in ranges.iter().zip(&mut *ones) {
                *ones = (level.ones(*begin), level.ones(*end));
            }
            let zeros = count(ranges) - count(ones);
            let is_one = index >= zeros;
            rank = rank << 1 | u32::from(is_one);
            for (range, (begin, end)) in ranges.iter_mut().zip(&*ones) {
                *range = if is_one {
                    (level.zeros + begin, level.zeros + end)
                } else {
                    (range.0 - begin, range.1 - end)
                };
            }
            index -= if is_one { zeros } else { 0 };
        }
        rank
    }

    /// How many rows of a range, counted in rows that count, have a rank below `limit`.
    fn below(&self, (mut begin, mut end): (u32, u32), limit: u32) -> Result<u32> {
        if limit as usize >= self.places.len() {
            return Ok(end - begin);
        }
        let (levels, mut found) = (self.levels()?, 0);
        for (level, bit) in levels.iter().zip((0..levels.len()).rev()) {
            let (ones_begin, ones_end) = (level.ones(begin), level.ones(end));
            if limit >> bit & 1 == 1 {
                found += (end - begin) - (ones_end - ones_begin);
                (begin, end) = (level.zeros + ones_begin, level.zeros + ones_end);
            } else {
                (begin, end) = (begin - ones_begin, end - ones_end);
            }
        }
        Ok(found)
    }

    /// Bytes held, levels among them whether they are there or not.
    pub(super) fn memory_size(&self) -> usize {
        let level = (self.ranks.len() / 64 + 1) * 12;
        level * self.bits() as usize + (self.places.len() + self.counted.len() + self.ranks.len()) * 4
    }
}

/// How many different values frames have: as many as rows that have no row with the same value before them in the frame.
///
/// The ranks are those of the places of the rows before: of a frame's rows, those whose row before lies before the frame count.
pub(super) struct DistinctTree {
    tree: RankTree,
    /// By rank, 1 more than the place of the row before; 0 where there is none.
    before: Vec<u32>,
}

impl DistinctTree {
    /// `before`: by row, 1 more than the place of the row before with the same value, or 0. `counts`: whether a row does.
    pub(super) fn new(before: &[u32], counts: impl Fn(usize) -> bool) -> Result<Self> {
        let mut places: Vec<u32> = (0..before.len() as u32).filter(|&place| counts(place as usize)).collect();
        places.sort_unstable_by_key(|&place| (before[place as usize], place));
        let by_rank = places.iter().map(|&place| before[place as usize]).collect();
        let tree = RankTree::new(places, before.len());
        tree.levels()?;
        Ok(Self { tree, before: by_rank })
    }

    /// The number of different values in a frame of one range.
    pub(super) fn count(&self, begin: u32, end: u32) -> Result<i64> {
        let first = self.before.partition_point(|before| *before <= begin) as u32;
        let place = |place: u32| self.tree.counted[place as usize];
        self.tree.below((place(begin), place(end.max(begin))), first).map(i64::from)
    }

    /// Bytes held.
    pub(super) fn memory_size(&self) -> usize {
        self.tree.memory_size() + self.before.len() * 4
    }
}

/// Frames whose rows are found by their rank.
pub(super) struct Frames<'a> {
    tree: &'a RankTree,
    /// How many ranges each frame has.
    parts: usize,
    ranges: Vec<[(u32, u32); RANGES_MAX]>,
    by: By<'a>,
}

/// What finds ranks.
enum By<'a> {
    Levels(&'a [Level]),
    Sliding(RefCell<SlidingRanks<'a>>),
}

impl<'a> Frames<'a> {
    /// The frames of some rows, of which each is of a range of each of `ranges`.
    pub(super) fn new(tree: &'a RankTree, ranges: &[Ranges]) -> Result<Self> {
        let frames = ranges.first().map_or(0, |ranges| ranges.begin.len());
        let of = |frame: usize| {
            let mut own = [(0, 0); RANGES_MAX];
            let parts = ranges.iter().map(|ranges| (ranges.begin[frame], ranges.end[frame]));
            own.iter_mut().zip(parts).for_each(|(own, part)| *own = part);
            tree.ranges(&own)
        };
        let parts = ranges.len().min(RANGES_MAX);
        let ranges: Vec<_> = (0..frames).map(of).collect();
        let by = if parts == 1 && is_sliding(ranges.iter().map(|ranges| ranges[0])) {
            By::Sliding(RefCell::new(SlidingRanks::new(&tree.ranks)))
        } else {
            By::Levels(tree.levels()?)
        };
        Ok(Self { tree, parts, ranges, by })
    }
}

impl RankedFrames for Frames<'_> {
    fn frame_count(&self) -> usize {
        self.ranges.len()
    }

    fn row_count(&self, frame: usize) -> usize {
        count(&self.ranges[frame]) as usize
    }

    fn row(&self, frame: usize, rank: usize) -> u32 {
        let (mut ranges, index) = (self.ranges[frame], rank as u32);
        let rank = match &self.by {
            By::Levels(levels) => RankTree::nth(levels, &mut ranges[..self.parts], index),
            By::Sliding(sliding) => sliding.borrow_mut().nth(ranges[0], index),
        };
        self.tree.places[rank as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn different_values_of_any_frame_are_counted() {
        for len in [0usize, 1, 2, 3, 63, 64, 65, 150] {
            let value = |place: usize| place * 31 % 17;
            let counts = |place: usize| place % 5 != 3;
            let earlier = |place: usize| (0..place).rev().find(|&at| counts(at) && value(at) == value(place));
            let before: Vec<u32> =
                (0..len).map(|place| earlier(place).map_or(0, |at| at as u32 + 1)).collect();
            let tree = DistinctTree::new(&before, counts).unwrap();
            for begin in 0..=len {
                for end in begin..=len {
                    let values: std::collections::HashSet<usize> =
                        (begin..end).filter(|&place| counts(place)).map(value).collect();
                    assert_eq!(
                        tree.count(begin as u32, end as u32).unwrap(),
                        values.len() as i64,
                        "{begin}..{end} of {len}"
                    );
                }
            }
        }
    }

    #[test]
    fn rows_of_any_frame_are_found_in_the_order_of_their_values() {
        for len in [0usize, 1, 2, 3, 63, 64, 65, 200] {
            let value = |place: usize| place * 7919 % 101;
            let counts = |place: usize| place % 5 != 3;
            let mut places: Vec<u32> = (0..len as u32).filter(|&place| counts(place as usize)).collect();
            places.sort_by_key(|&place| (value(place as usize), place));
            let tree = RankTree::new(places.clone(), len);
            for begin in 0..=len {
                for end in (begin..=len).step_by(3) {
                    let hole = (begin + (end - begin) / 3, begin + (end - begin) / 2);
                    let frame = [(begin as u32, hole.0 as u32), (hole.1 as u32, end as u32)];
                    let within =
                        |place: &u32| frame.iter().any(|(begin, end)| (*begin..*end).contains(place));
                    let rows: Vec<u32> = places.iter().copied().filter(within).collect();
                    let ranges = frame.map(|(begin, end)| Ranges { begin: vec![begin], end: vec![end] });
                    let frames = Frames::new(&tree, &ranges).unwrap();
                    let found: Vec<u32> = (0..frames.row_count(0)).map(|rank| frames.row(0, rank)).collect();
                    assert_eq!(found, rows, "of {len}: {frame:?}");
                }
            }
        }
    }

    #[test]
    fn frames_that_slide_have_the_rows_of_those_found_by_levels() {
        let len = 700usize;
        let value = |place: usize| place * 7919 % 101;
        let mut places: Vec<u32> = (0..len as u32).filter(|place| place % 5 != 3).collect();
        places.sort_by_key(|&place| (value(place as usize), place));
        let tree = RankTree::new(places, len);
        for (before, behind) in [(0, 1), (9, 1), (99, 1), (50, 50), (3, 0), (1000, 1)] {
            let begin = (0..len as u32).map(|row| row.saturating_sub(before)).collect();
            let end = (0..len as u32).map(|row| (row + behind).min(len as u32)).collect();
            let frames = Frames::new(&tree, &[Ranges { begin, end }]).unwrap();
            assert!(matches!(frames.by, By::Sliding(_)));
            let levels = tree.levels().unwrap();
            for frame in 0..len {
                for rank in 0..frames.row_count(frame) {
                    let expected = RankTree::nth(levels, &mut { frames.ranges[frame] }[..1], rank as u32);
                    assert_eq!(frames.row(frame, rank), tree.places[expected as usize], "{frame} {rank}");
                }
            }
        }
    }
}
