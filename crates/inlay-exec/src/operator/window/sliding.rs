//! The ranks of the rows of a short frame, in order, while it moves: from one frame to the next few ranks go and few come.
//!
//! Where they lie is found by halves, and those between move by one place. As long as a frame is some cache lines, this is much less
//! than the walks through all levels of [`super::ranked`] that find one rank.

/// Rows of a frame at most.
const ROWS_MAX: u32 = 1 << 11;

/// Ranks that go or come at each frame at most, on average.
const MOVES_MAX: usize = 8;

/// How many ranks go and come between two frames, if the next one is not before the other.
fn moves((begin, end): (u32, u32), next: (u32, u32)) -> Option<usize> {
    let is_forward = begin <= next.0 && next.0 <= end && end <= next.1;
    is_forward.then(|| (next.0 - begin + next.1 - end) as usize)
}

/// Whether frames are short and each is near the one before.
pub(super) fn is_sliding(frames: impl Iterator<Item = (u32, u32)>) -> bool {
    let (mut last, mut count, mut moved) = ((0, 0), 0, 0usize);
    for frame in frames {
        let len = frame.1 - frame.0;
        if len > ROWS_MAX {
            return false;
        }
        moved += moves(last, frame).unwrap_or(2 * len as usize).min(2 * len as usize);
        count += 1;
        last = frame;
    }
    moved <= MOVES_MAX * count + 2 * ROWS_MAX as usize
}

/// The ranks of one frame in order.
pub(super) struct SlidingRanks<'a> {
    /// The ranks of all rows.
    ranks: &'a [u32],
    frame: (u32, u32),
    sorted: Vec<u32>,
}

impl<'a> SlidingRanks<'a> {
    pub(super) fn new(ranks: &'a [u32]) -> Self {
        Self { ranks, frame: (0, 0), sorted: Vec::new() }
    }

    /// The rank at `index` in the order of a frame that has more rows.
    pub(super) fn nth(&mut self, frame: (u32, u32), index: u32) -> u32 {
        if frame != self.frame {
            self.move_to(frame);
        }
        self.sorted[index as usize]
    }

    fn move_to(&mut self, frame: (u32, u32)) {
        let (former, ranks) = (std::mem::replace(&mut self.frame, frame), self.ranks);
        let between = |from: u32, to: u32| &ranks[from as usize..to as usize];
        let len = (frame.1 - frame.0) as usize;
        if moves(former, frame).is_none_or(|moves| moves > len / 2) {
            self.sorted.clear();
            self.sorted.extend_from_slice(between(frame.0, frame.1));
            return self.sorted.sort_unstable();
        }
        let (gone, come) = (between(former.0, frame.0), between(former.1, frame.1));
        let both = gone.len().min(come.len());
        gone.iter().zip(come).for_each(|(&gone, &come)| self.replace(gone, come));
        for &rank in &gone[both..] {
            let place = self.place(rank);
            self.sorted.remove(place);
        }
        for &rank in &come[both..] {
            let place = self.place(rank);
            self.sorted.insert(place, rank);
        }
    }

    /// How many ranks are less.
    fn place(&self, rank: u32) -> usize {
        self.sorted.partition_point(|own| *own < rank)
    }

    fn replace(&mut self, gone: u32, come: u32) {
        let (from, to) = (self.place(gone), self.place(come));
        // What lies behind the one that goes comes one place nearer.
        if from < to {
            self.sorted.copy_within(from + 1..to, from);
            self.sorted[to - 1] = come;
        } else {
            self.sorted.copy_within(to..from, to + 1);
            self.sorted[to] = come;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_of_moving_frames_are_in_order() {
        let len = 300u32;
        let ranks: Vec<u32> = (0..len).map(|row| row * 7 % 300 * 1009 % 300_007).collect();
        let bounds = |step: u32, width: u32| {
            (0..len).map(move |row| {
                let end = (row * step / 2).min(len);
                (end.saturating_sub(width), end)
            })
        };
        let backward = (0..len).rev().map(|row| (row, (row + 9).min(len)));
        let jumping = (0..len).map(|row| (row * 37 % 250, row * 37 % 250 + row % 50));
        let frames = [1, 2, 5]
            .into_iter()
            .flat_map(|step| [0, 1, 2, 7, 100].into_iter().flat_map(move |width| bounds(step, width)));
        let mut sliding = SlidingRanks::new(&ranks);
        for (begin, end) in frames.chain(backward).chain(jumping) {
            let mut expected = ranks[begin as usize..end as usize].to_vec();
            expected.sort_unstable();
            for (index, rank) in expected.into_iter().enumerate() {
                assert_eq!(sliding.nth((begin, end), index as u32), rank, "{begin}..{end} at {index}");
            }
        }
    }

    #[test]
    fn frames_that_jump_or_are_long_do_not_slide() {
        assert!(is_sliding((0..10_000).map(|row| (row, row + 100))));
        assert!(is_sliding((0..10_000).map(|row| (row / 50 * 50, row + 1))));
        assert!(!is_sliding((0..10_000).map(|row| (row, row + 5000))));
        assert!(!is_sliding((0..10_000).map(|row| (row * 7919 % 10_000, row * 7919 % 10_000 + 500))));
        assert!(is_sliding(std::iter::empty()));
    }
}
