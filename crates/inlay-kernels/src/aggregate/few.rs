//! The first few rows of each group by a word, in one piece of memory.
//!
//! Of equal words the rows that came first count: of the morsel with the lower number, then the one with the lower number of its
//! own. A morsel is of one worker, who sees its rows in order. Only [`super::several`] calls it, which keeps the rows' values.

/// Most rows of a group that are kept in order while they come.
pub(super) const FEW_MAX: usize = 8;

/// A row that is among the first of its group, in their order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    word: u64,
    morsel: u32,
    row: u32,
}

/// See the module documentation.
#[derive(Debug)]
pub(super) struct Few {
    n: usize,
    /// By group as many places, of which the first ones are taken, in order.
    entries: Vec<Entry>,
    /// By group how many.
    counts: Vec<u8>,
    live: usize,
}

impl Few {
    /// Of `n` rows a group, at most [`FEW_MAX`].
    pub(super) fn new(n: usize) -> Self {
        Self { n, entries: Vec::new(), counts: Vec::new(), live: 0 }
    }

    /// Makes room for so many groups.
    pub(super) fn resize(&mut self, groups: usize) {
        if groups > self.counts.len() {
            self.entries.resize(groups * self.n, Entry::default());
            self.counts.resize(groups, 0);
        }
    }

    /// How many rows are kept.
    pub(super) fn live(&self) -> usize {
        self.live
    }

    /// Keeps a row if it is among the first of its group so far; whether it is.
    #[inline]
    pub(super) fn offer(&mut self, group: u32, word: u64, morsel: u32, row: u32) -> bool {
        let (group, entry) = (group as usize, Entry { word, morsel, row });
        let entries = &mut self.entries[group * self.n..(group + 1) * self.n];
        let count = usize::from(self.counts[group]);
        let mut place = count;
        if count < self.n {
            self.counts[group] += 1;
            self.live += 1;
        } else if entries.last().is_some_and(|last| entry < *last) {
            place -= 1;
        } else {
            return false;
        }
        while let Some(before) = place.checked_sub(1)
            && entry < entries[before]
        {
            entries[place] = entries[before];
            place = before;
        }
        entries[place] = entry;
        true
    }

    /// The rows of a group, in order.
    pub(super) fn rows(&self, group: usize) -> impl Iterator<Item = u32> {
        let count = self.counts.get(group).map_or(0, |count| usize::from(*count));
        let from = if count == 0 { 0 } else { group * self.n };
        self.entries[from..from + count].iter().map(|entry| entry.row)
    }

    /// Offers the rows of another's groups `source` to `target`; those of them that are kept are numbered from `next` on, in the order
    /// of what is returned.
    pub(super) fn merge(&mut self, other: &Self, source: &[u32], target: &[u32], mut next: u32) -> Vec<u32> {
        let mut kept = Vec::new();
        for (&from, &to) in source.iter().zip(target) {
            let from = from as usize;
            let count = other.counts.get(from).map_or(0, |count| usize::from(*count));
            let start = if count == 0 { 0 } else { from * other.n };
            for entry in &other.entries[start..start + count] {
                // Those behind one that is not kept are not either.
                if !self.offer(to, entry.word, entry.morsel, next) {
                    break;
                }
                kept.push(entry.row);
                next += 1;
            }
        }
        kept
    }

    /// The rows that are kept, of so many, in their order, by which they are numbered from now on.
    pub(super) fn renumbered(&mut self, rows: usize) -> Vec<u32> {
        let mut numbers = vec![u32::MAX; rows];
        let counts = self.counts.iter().map(|count| usize::from(*count));
        let groups =
            || self.entries.chunks(self.n).zip(counts.clone()).flat_map(|(own, count)| &own[..count]);
        groups().for_each(|entry| numbers[entry.row as usize] = 0);
        let mut kept = Vec::with_capacity(self.live);
        for (row, number) in numbers.iter_mut().enumerate().filter(|(_, number)| **number == 0) {
            *number = kept.len() as u32;
            kept.push(row as u32);
        }
        for (own, &count) in self.entries.chunks_mut(self.n).zip(&self.counts) {
            own[..usize::from(count)].iter_mut().for_each(|entry| entry.row = numbers[entry.row as usize]);
        }
        kept
    }

    /// Bytes held.
    pub(super) fn memory_size(&self) -> usize {
        self.entries.capacity() * size_of::<Entry>() + self.counts.capacity()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first rows are those of a sort, however workers share the morsels and whenever rows are numbered anew.
    #[test]
    fn first_rows_are_those_of_a_sort() {
        let mut state = 7u64;
        let mut next = move |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for n in [1, 2, 3, FEW_MAX] {
            let rows: Vec<(u32, u64, u32)> =
                (0..2000).map(|at| (next(20) as u32, next(40), at / 100)).collect();
            let (mut workers, mut seen) = ([Few::new(n), Few::new(n)], [Vec::new(), Vec::new()]);
            for worker in &mut workers {
                worker.resize(20);
            }
            for (at, &(group, word, morsel)) in rows.iter().enumerate() {
                let worker = (morsel * 7 % 3 % 2) as usize;
                if workers[worker].offer(group, word, morsel, seen[worker].len() as u32) {
                    seen[worker].push(at);
                }
                if at % 500 == 499 {
                    let kept = workers[worker].renumbered(seen[worker].len());
                    seen[worker] = kept.iter().map(|&row| seen[worker][row as usize]).collect();
                    assert_eq!(seen[worker].len(), workers[worker].live());
                }
            }
            let ids: Vec<u32> = (0..20).collect();
            let ([mut one, other], [mut values, theirs]) = (workers, seen);
            let kept = one.merge(&other, &ids, &ids, values.len() as u32);
            values.extend(kept.iter().map(|&row| theirs[row as usize]));
            for group in 0..20 {
                let mut expected: Vec<(u64, usize)> =
                    (0..rows.len()).filter(|&at| rows[at].0 == group).map(|at| (rows[at].1, at)).collect();
                expected.sort_unstable();
                let found: Vec<usize> = one.rows(group as usize).map(|row| values[row as usize]).collect();
                assert_eq!(found, expected.iter().take(n).map(|(_, at)| *at).collect::<Vec<_>>());
            }
        }
    }
}
