//! `mode` over frames: the most frequent value, of equally frequent ones the first.
//!
//! Where frames begin with the partition, each row's answer follows from the one before it. Frames that move are counted once: rows
//! that come are added, and those that go are taken away, so that the work is that of the rows and not that of all frames.

use super::frames::Ranges;
use super::tree::NONE;
use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};

/// Which rows have the same value, by place.
pub(super) struct Modes {
    /// The first place of the partition with the value of a row; [`NONE`] where nothing counts.
    values: Vec<u32>,
    /// The next place with the same value.
    next: Vec<u32>,
}

/// Bytes that a value of a frame takes while it is counted.
const VALUE_BYTES: usize = 96;

/// How often a value is there: more, and then an earlier first place, is better.
type Rank = (Reverse<u32>, u32);

/// The values of one frame.
#[derive(Default)]
struct Frame {
    begin: u32,
    end: u32,
    counts: HashMap<u32, Rank>,
    /// Ranks, and the values that have them.
    order: BTreeSet<(Rank, u32)>,
}

impl Modes {
    /// `before`: the place before each with the same value in the same partition.
    pub(super) fn new(before: &[u32], counts: impl Fn(usize) -> bool) -> Self {
        let (mut values, mut next) = (vec![NONE; before.len()], vec![NONE; before.len()]);
        for (place, &before) in before.iter().enumerate().filter(|(place, _)| counts(*place)) {
            if before == NONE {
                values[place] = place as u32;
            } else {
                values[place] = values[before as usize];
                next[before as usize] = place as u32;
            }
        }
        Self { values, next }
    }

    /// The first place of the most frequent value from the beginning of each partition to each place.
    pub(super) fn running(&self, partitions: &[u32]) -> Vec<u32> {
        let mut counts = vec![0u32; self.values.len()];
        let mut best = vec![NONE; self.values.len()];
        for bounds in partitions.windows(2) {
            let mut known = NONE;
            let partition = bounds[0] as usize..bounds[1] as usize;
            for (best, &value) in best[partition.clone()].iter_mut().zip(&self.values[partition]) {
                if value != NONE {
                    counts[value as usize] += 1;
                    let rank = |value: u32| (Reverse(counts[value as usize]), value);
                    if known == NONE || rank(value) < rank(known) {
                        known = value;
                    }
                }
                *best = known;
            }
        }
        best
    }

    /// The first place of the most frequent value of each frame.
    pub(super) fn of(&self, frames: &Ranges) -> Vec<u32> {
        let mut frame = Frame::default();
        let bounds = frames.begin.iter().zip(&frames.end);
        bounds
            .map(|(&begin, &end)| {
                self.advance(&mut frame, begin, end.max(begin));
                frame.order.first().map_or(NONE, |((_, first), _)| *first)
            })
            .collect()
    }

    /// Bytes that it takes to count frames.
    pub(super) fn counting_size(&self, frames: &Ranges) -> usize {
        let sizes = frames.begin.iter().zip(&frames.end).map(|(begin, end)| end.saturating_sub(*begin));
        sizes.max().map_or(0, |longest| longest as usize * VALUE_BYTES)
    }

    fn advance(&self, frame: &mut Frame, begin: u32, end: u32) {
        if begin < frame.begin || end < frame.end || begin >= frame.end {
            *frame = Frame { begin, end: begin, ..Frame::default() };
        }
        for place in frame.end..end {
            self.add(frame, place);
        }
        for place in frame.begin..begin {
            self.take_away(frame, place);
        }
        (frame.begin, frame.end) = (begin, end);
    }

    fn add(&self, frame: &mut Frame, place: u32) {
        let value = self.values[place as usize];
        if value == NONE {
            return;
        }
        let known = frame.counts.get(&value).copied();
        if let Some(rank) = known {
            frame.order.remove(&(rank, value));
        }
        let (Reverse(count), first) = known.unwrap_or((Reverse(0), place));
        frame.put(value, (Reverse(count + 1), first));
    }

    /// Takes the first row of a frame away.
    fn take_away(&self, frame: &mut Frame, place: u32) {
        let value = self.values[place as usize];
        let Some(rank) = frame.counts.remove(&value) else { return };
        frame.order.remove(&(rank, value));
        let (Reverse(count), _) = rank;
        if count > 1 {
            frame.put(value, (Reverse(count - 1), self.next[place as usize]));
        }
    }

    /// Bytes held.
    pub(super) fn memory_size(&self) -> usize {
        (self.values.len() + self.next.len()) * size_of::<u32>()
    }
}

impl Frame {
    fn put(&mut self, value: u32, rank: Rank) {
        self.counts.insert(value, rank);
        self.order.insert((rank, value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is counted anew for each frame is found, for frames that move in any way.
    #[test]
    fn modes_are_those_of_each_frame_alone() {
        const COUNT: u32 = 300;
        let mut random = 88_172_645_463_325_252u64;
        let mut draw = |below: u32| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            (random % u64::from(below)) as u32
        };
        for distinct in [1, 3, 40, 1000] {
            let values: Vec<Option<u32>> =
                (0..COUNT).map(|_| (draw(9) > 0).then(|| draw(distinct))).collect();
            let partitions = [0, 100, 101, COUNT];
            let partition =
                |place: usize| partitions.iter().filter(|start| **start as usize <= place).count();
            let before: Vec<u32> = (0..values.len())
                .map(|place| {
                    let same = |other: &usize| {
                        values[*other] == values[place] && partition(*other) == partition(place)
                    };
                    (0..place).rev().find(same).map_or(NONE, |other| other as u32)
                })
                .collect();
            let modes = Modes::new(&before, |place| values[place].is_some());
            let expected = |begin: u32, end: u32| {
                let places = (begin..end).filter(|place| values[*place as usize].is_some());
                let count = |place: u32| {
                    (begin..end).filter(|o| values[*o as usize] == values[place as usize]).count()
                };
                places.min_by_key(|&place| (Reverse(count(place)), place)).unwrap_or(NONE)
            };
            let mut frames = Ranges::default();
            for place in 101..COUNT {
                let (begin, end) = match place % 50 {
                    // Now and then anywhere, else on.
                    0 => (101 + draw(COUNT - 101), 101 + draw(COUNT - 100)),
                    _ => (place.saturating_sub(20).max(101), (place + draw(3)).min(COUNT)),
                };
                frames.begin.push(begin);
                frames.end.push(end);
            }
            let wanted: Vec<u32> =
                frames.begin.iter().zip(&frames.end).map(|(&begin, &end)| expected(begin, end)).collect();
            assert_eq!(modes.of(&frames), wanted, "{distinct} values");
            let running: Vec<u32> = (0..COUNT)
                .map(|place| {
                    let begin = partitions.iter().copied().filter(|start| *start <= place).max();
                    expected(begin.unwrap_or(0), place + 1)
                })
                .collect();
            assert_eq!(modes.running(&partitions), running, "{distinct} values");
        }
    }
}
