//! Segment trees: aggregates of any range of rows from few partial results.
//!
//! Each node sums up 16 nodes below it. [`FloatTree`] and [`BestTree`] hold plain values; [`StateTree`] holds the states
//! of any aggregate whose states merge, and answers a stretch of frames at once, so that states are merged by columns.
//! States are merged from left to right, so that aggregates that depend on the order of rows are right, too.
//!
//! Source: Leis, Kundhikanjana, Kemper, Neumann, "Efficient Processing of Window Functions", VLDB 2015.

use super::counted::Counted;
use super::frames::Ranges;
use crate::operator::order::{Normal, compare_values};
use inlay_types::{Result, Vector};
use std::cmp::Ordering;

/// Children of a node.
const FANOUT: usize = 16;
/// Levels above the rows whose nodes are kept by segment, so that segments are built in parallel.
const SEGMENT_LEVELS: usize = 4;
/// Rows of a segment.
pub(super) const SEGMENT_ROWS: usize = FANOUT.pow(SEGMENT_LEVELS as u32);

/// Sums of floating-point numbers. Nothing is ever subtracted.
pub(super) struct FloatTree {
    /// The values in order, 0 where nothing counts, and the sums above.
    levels: Vec<Vec<f64>>,
}

/// Adds the rows of `(frame, begin, end)` to the states of their frames.
pub(super) type AddRows<'a> = dyn FnMut(&mut Counted, &[(u32, usize, usize)]) -> Result<()> + 'a;

impl FloatTree {
    pub(super) fn new(values: Vec<f64>) -> Self {
        let mut levels = vec![values];
        while let Some(last) = levels.last().filter(|last| last.len() > FANOUT) {
            let above = last.chunks(FANOUT).map(|chunk| chunk.iter().sum()).collect();
            levels.push(above);
        }
        Self { levels }
    }

    /// The sum of the places `begin .. end`.
    pub(super) fn sum(&self, begin: u32, end: u32) -> f64 {
        let (mut low, mut high) = (begin as usize, end as usize);
        let mut sum = 0.0;
        for (level, values) in self.levels.iter().enumerate() {
            if high - low < 2 * FANOUT || level + 1 == self.levels.len() {
                return values[low..high].iter().fold(sum, |sum, value| sum + value);
            }
            let (up, down) = (low.next_multiple_of(FANOUT), high / FANOUT * FANOUT);
            sum = values[low..up].iter().chain(&values[down..high]).fold(sum, |sum, value| sum + value);
            (low, high) = (up / FANOUT, down / FANOUT);
        }
        sum
    }
}

/// No row.
pub(super) const NONE: u32 = u32::MAX;

/// What rows are compared by.
pub(super) enum BestKeys {
    /// The least is best.
    Narrow(Vec<u64>),
    /// The least is best.
    Wide(Vec<u128>),
    /// Texts: the least, or the greatest.
    Texts(Vector, bool),
}

impl BestKeys {
    pub(super) fn new(normal: Normal, greatest: bool) -> Self {
        match normal {
            Normal::Narrow(mut keys) => {
                if greatest {
                    keys.iter_mut().for_each(|key| *key = !*key);
                }
                Self::Narrow(keys)
            }
            Normal::Wide(mut keys) => {
                if greatest {
                    keys.iter_mut().for_each(|key| *key = !*key);
                }
                Self::Wide(keys)
            }
        }
    }

    /// The better of two places, the first if they are equal. Either may be none.
    #[inline]
    pub(super) fn best(&self, first: u32, second: u32) -> u32 {
        if first == NONE || second == NONE {
            return first.min(second);
        }
        let (a, b) = (first as usize, second as usize);
        let second_wins = match self {
            Self::Narrow(keys) => keys[b] < keys[a],
            Self::Wide(keys) => keys[b] < keys[a],
            Self::Texts(vector, greatest) => {
                let wanted = if *greatest { Ordering::Greater } else { Ordering::Less };
                compare_values(vector, b, a) == wanted
            }
        };
        if second_wins { second } else { first }
    }
}

/// Places of the least or greatest values.
pub(super) struct BestTree {
    pub(super) keys: BestKeys,
    /// The places of the rows that count, and the best above them.
    levels: Vec<Vec<u32>>,
}

impl BestTree {
    /// `places`: each its own place, or none where nothing counts.
    pub(super) fn new(keys: BestKeys, places: Vec<u32>) -> Self {
        let mut levels = vec![places];
        while let Some(last) = levels.last().filter(|last| last.len() > FANOUT) {
            let best = |chunk: &[u32]| chunk.iter().fold(NONE, |a, &b| keys.best(a, b));
            let above = last.chunks(FANOUT).map(best).collect();
            levels.push(above);
        }
        Self { keys, levels }
    }

    /// The best of the places `begin .. end`.
    pub(super) fn best(&self, begin: u32, end: u32) -> u32 {
        let (mut low, mut high) = (begin as usize, end as usize);
        let (mut left, mut right) = (NONE, NONE);
        for (level, places) in self.levels.iter().enumerate() {
            let fold = |best: u32, places: &[u32]| places.iter().fold(best, |a, &b| self.keys.best(a, b));
            if high - low < 2 * FANOUT || level + 1 == self.levels.len() {
                left = fold(left, &places[low..high]);
                break;
            }
            let (up, down) = (low.next_multiple_of(FANOUT), high / FANOUT * FANOUT);
            left = fold(left, &places[low..up]);
            right = self.keys.best(fold(NONE, &places[down..high]), right);
            (low, high) = (up / FANOUT, down / FANOUT);
        }
        self.keys.best(left, right)
    }
}

/// Makes states without groups.
pub(super) type Make<'a> = &'a (dyn Fn() -> Result<Counted> + Sync);

/// States of an aggregate.
pub(super) struct StateTree {
    /// Per segment the levels 1 to [`SEGMENT_LEVELS`]; the last has one state.
    segments: Vec<Vec<Counted>>,
    /// The levels above.
    top: Vec<Counted>,
}

/// Merges children into parents, the first child of all first.
fn raise(below: &Counted, count: usize, make: Make<'_>) -> Result<Counted> {
    let mut above = make()?;
    above.resize(count.div_ceil(FANOUT));
    for child in 0..FANOUT.min(count) {
        let source: Vec<u32> = (child..count).step_by(FANOUT).map(|node| node as u32).collect();
        let target: Vec<u32> = source.iter().map(|node| node / FANOUT as u32).collect();
        above.merge(below, &source, &target)?;
    }
    above.settle()?;
    Ok(above)
}

/// The levels of a segment whose first level is made already.
pub(super) fn segment(mut first: Counted, rows: usize, make: Make<'_>) -> Result<Vec<Counted>> {
    first.settle()?;
    let mut levels = vec![first];
    let mut count = rows.div_ceil(FANOUT);
    while levels.len() < SEGMENT_LEVELS {
        let next = match levels.last() {
            Some(last) => raise(last, count, make)?,
            None => break,
        };
        levels.push(next);
        count = count.div_ceil(FANOUT);
    }
    Ok(levels)
}

/// The node of the first level that a row of a segment belongs to.
pub(super) fn node_of(row: usize) -> u32 {
    (row / FANOUT) as u32
}

impl StateTree {
    pub(super) fn new(segments: Vec<Vec<Counted>>, make: Make<'_>) -> Result<Self> {
        let mut top: Vec<Counted> = Vec::new();
        let mut count = segments.len();
        while count > 1 {
            let next = match top.last() {
                Some(last) => raise(last, count, make)?,
                None => {
                    let mut next = make()?;
                    next.resize(count.div_ceil(FANOUT));
                    for (index, segment) in segments.iter().enumerate() {
                        if let Some(root) = segment.last() {
                            next.merge(root, &[0], &[(index / FANOUT) as u32])?;
                        }
                    }
                    next.settle()?;
                    next
                }
            };
            top.push(next);
            count = count.div_ceil(FANOUT);
        }
        Ok(Self { segments, top })
    }

    /// Adds the rows of each frame to the state of its number. `add_rows` adds single rows: `(frame, begin, end)`.
    pub(super) fn query(
        &self,
        frames: &Ranges,
        states: &mut Counted,
        add_rows: &mut AddRows<'_>,
    ) -> Result<()> {
        let highest = SEGMENT_LEVELS + self.top.len();
        let mut left: Vec<Vec<(u32, usize, usize)>> = vec![Vec::new(); highest + 1];
        let mut right = left.clone();
        for (frame, (&begin, &end)) in frames.begin.iter().zip(&frames.end).enumerate() {
            let (mut low, mut high, mut level) = (begin as usize, end as usize, 0);
            while low < high {
                if high - low < 2 * FANOUT || level == highest {
                    left[level].push((frame as u32, low, high));
                    break;
                }
                let (up, down) = (low.next_multiple_of(FANOUT), high / FANOUT * FANOUT);
                if low < up {
                    left[level].push((frame as u32, low, up));
                }
                if down < high {
                    right[level].push((frame as u32, down, high));
                }
                (low, high, level) = (up / FANOUT, down / FANOUT, level + 1);
            }
        }
        let forth = left.iter().enumerate();
        for (level, nodes) in forth.chain(right.iter().enumerate().rev()) {
            match level {
                _ if nodes.is_empty() => {}
                0 => add_rows(states, nodes)?,
                level => self.add_nodes(level, nodes, states)?,
            }
        }
        Ok(())
    }

    fn add_nodes(&self, level: usize, nodes: &[(u32, usize, usize)], states: &mut Counted) -> Result<()> {
        let longest = nodes.iter().map(|(_, begin, end)| end - begin).max().unwrap_or(0);
        let (mut source, mut target) = (Vec::new(), Vec::new());
        for step in 0..longest {
            let mut current = usize::MAX;
            for &(frame, begin, end) in nodes {
                let node = begin + step;
                if node >= end {
                    continue;
                }
                let per_segment = SEGMENT_ROWS / FANOUT.pow(level.min(SEGMENT_LEVELS) as u32);
                let (segment, own) = if level <= SEGMENT_LEVELS {
                    (node / per_segment, node % per_segment)
                } else {
                    (0, node)
                };
                if segment != current {
                    self.merge(level, current, &mut source, &mut target, states)?;
                    current = segment;
                }
                source.push(own as u32);
                target.push(frame);
            }
            self.merge(level, current, &mut source, &mut target, states)?;
        }
        Ok(())
    }

    fn merge(
        &self,
        level: usize,
        segment: usize,
        source: &mut Vec<u32>,
        target: &mut Vec<u32>,
        states: &mut Counted,
    ) -> Result<()> {
        if !source.is_empty() {
            let nodes = match level.checked_sub(SEGMENT_LEVELS + 1) {
                Some(top) => &self.top[top],
                None => &self.segments[segment][level - 1],
            };
            states.merge(nodes, source, target)?;
            source.clear();
            target.clear();
        }
        Ok(())
    }
}
