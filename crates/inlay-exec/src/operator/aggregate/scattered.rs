//! Codes of distinct rows by part, and how several workers scatter the rows of several lists.

use super::codes::{CHECKED_ROWS, Code, Fields};
use super::packed::prefetch;
use super::partition::partition_of;
use crate::context::ExecContext;
use crate::spill::is_refusal;
use inlay_kernels::aggregate::Column;
use inlay_types::limits;
use inlay_types::{Error, Reservation, Result, VECTOR_SIZE};
use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Codes of one part that lie side by side.
pub(super) const BLOCK: usize = 1 << 8;
const CACHE_LINE: usize = 64;
/// Rows that a worker takes at once.
const TAKEN_ROWS: usize = 8 * VECTOR_SIZE;

/// Codes by part, in blocks of one part each.
#[derive(Debug)]
pub(super) struct Scattered<K> {
    codes: Vec<K>,
    /// By part, its blocks.
    blocks: Vec<Vec<u32>>,
    /// By part, where its next code goes; the start of a block, if it needs another one.
    next: Vec<usize>,
}

impl<K: Code> Scattered<K> {
    /// No codes, and room for those of so many rows.
    pub(super) fn new(rows: usize, parts: usize) -> Self {
        let codes = Vec::with_capacity(rows + parts.min(rows) * BLOCK);
        Self { codes, blocks: vec![Vec::new(); parts], next: vec![0; parts] }
    }

    /// The rows of some lists in `parts` parts: `work` takes shares and adds their rows, in as many tasks as there are lists.
    /// What comes of a task has rows of any list.
    pub(super) fn all(
        context: &ExecContext,
        shares: &Shares,
        parts: usize,
        work: impl Fn(usize, &mut Self) -> Result<()> + Sync,
    ) -> Result<Vec<Self>> {
        let count = shares.lens.len();
        let scattered: Vec<OnceLock<Self>> = (0..count).map(|_| OnceLock::new()).collect();
        context.parallel(count, |task| {
            let mut own = Self::new(shares.expected(), parts);
            work(task, &mut own)?;
            scattered[task].set(own).map_err(|_| Error::internal("a list was scattered twice"))
        })?;
        Ok(scattered.into_iter().filter_map(OnceLock::into_inner).collect())
    }

    /// Adds rows of a list; `place` says in which part those of a group are, and which group it is there.
    pub(super) fn append_by_group(
        &mut self,
        fields: &Fields,
        list: &[Column],
        rows: Range<usize>,
        place: impl Fn(u32) -> (usize, u32),
    ) -> Result<()> {
        let (mut codes, mut numbers) = (Vec::with_capacity(VECTOR_SIZE), Vec::with_capacity(VECTOR_SIZE));
        for_chunks(rows, |from, len| {
            numbers.clear();
            let renamed = |group| {
                let (part, renamed) = place(group);
                numbers.push(part as u16);
                renamed
            };
            fields.encode(list, (from, len), renamed, &mut codes);
            self.append(&codes, &numbers);
        })
    }

    /// The same by the hashes of the codes.
    pub(super) fn append_by_hash(
        &mut self,
        fields: &Fields,
        list: &[Column],
        rows: Range<usize>,
        renamed: impl Fn(u32) -> u32,
    ) -> Result<()> {
        let parts = self.blocks.len();
        let (mut codes, mut numbers) = (Vec::with_capacity(VECTOR_SIZE), Vec::with_capacity(VECTOR_SIZE));
        for_chunks(rows, |from, len| {
            fields.encode(list, (from, len), &renamed, &mut codes);
            numbers.clear();
            numbers.extend(codes.iter().map(|code: &K| partition_of(code.hash(), parts) as u16));
            self.append(&codes, &numbers);
        })
    }

    /// Adds codes, each to its part.
    pub(super) fn append(&mut self, codes: &[K], parts: &[u16]) {
        for (&code, &part) in codes.iter().zip(parts) {
            let place = &mut self.next[part as usize];
            if place.is_multiple_of(BLOCK) {
                *place = self.codes.len();
                self.blocks[part as usize].push((*place / BLOCK) as u32);
                self.codes.resize(*place + BLOCK, K::default());
            }
            self.codes[*place] = code;
            *place += 1;
        }
    }

    /// The codes of a part.
    pub(super) fn part(&self, number: usize) -> Part<'_, K> {
        Part { codes: &self.codes, blocks: &self.blocks[number], end: self.next[number] }
    }
}

/// The codes of a part.
#[derive(Clone, Copy)]
pub(super) struct Part<'a, K> {
    codes: &'a [K],
    blocks: &'a [u32],
    /// Where those of the last block end.
    end: usize,
}

impl<'a, K: Code> Part<'a, K> {
    pub(super) fn len(&self) -> usize {
        let whole = self.blocks.len().saturating_sub(1);
        whole * BLOCK + self.blocks.last().map_or(0, |_| self.block(whole).len())
    }

    /// Its blocks; the next one is asked for ahead.
    pub(super) fn blocks(self) -> impl Iterator<Item = &'a [K]> {
        (0..self.blocks.len()).map(move |number| {
            if let Some(next) = self.blocks.get(number + 1) {
                let next = &self.codes[*next as usize * BLOCK..][..BLOCK];
                next.iter().step_by(CACHE_LINE / size_of::<K>()).for_each(prefetch);
            }
            self.block(number)
        })
    }

    fn block(&self, number: usize) -> &'a [K] {
        let from = self.blocks[number] as usize * BLOCK;
        let is_last = number + 1 == self.blocks.len();
        &self.codes[from..if is_last { self.end } else { from + BLOCK }]
    }
}

/// The rows of several lists, of which workers take shares until none are left, so that nobody waits long for another.
pub(super) struct Shares {
    lens: Vec<usize>,
    /// By list, the first row that nobody has taken.
    next: Vec<AtomicUsize>,
}

impl Shares {
    /// Of lists that are so long.
    pub(super) fn new(lens: Vec<usize>) -> Self {
        let next = lens.iter().map(|_| AtomicUsize::new(0)).collect();
        Self { lens, next }
    }

    /// How many rows there are.
    pub(super) fn rows(&self) -> usize {
        self.lens.iter().sum()
    }

    /// Rows that one of as many workers as there are lists will take, or somewhat more.
    fn expected(&self) -> usize {
        let equal = self.rows() / self.lens.len().max(1);
        equal + equal / 8 + TAKEN_ROWS
    }

    /// Takes the next rows of a list.
    pub(super) fn take_of(&self, list: usize) -> Option<Range<usize>> {
        let (len, next) = (self.lens[list], &self.next[list]);
        if next.load(Ordering::Relaxed) >= len {
            return None;
        }
        let from = next.fetch_add(TAKEN_ROWS, Ordering::Relaxed);
        (from < len).then(|| from..len.min(from + TAKEN_ROWS))
    }

    /// Takes the next rows of list `first`, or if all were taken of one behind it, and then from the beginning.
    pub(super) fn take(&self, first: usize) -> Option<(usize, Range<usize>)> {
        let mut lists = (first..self.lens.len()).chain(0..first);
        lists.find_map(|list| Some((list, self.take_of(list)?)))
    }
}

/// Calls `each` with where chunks of some rows begin, and how many rows they have.
fn for_chunks(rows: Range<usize>, mut each: impl FnMut(usize, usize)) -> Result<()> {
    for (number, from) in rows.clone().step_by(VECTOR_SIZE).enumerate() {
        if (number * VECTOR_SIZE).is_multiple_of(CHECKED_ROWS) {
            limits::check()?;
        }
        each(from, (rows.end - from).min(VECTOR_SIZE));
    }
    Ok(())
}

/// Memory for scattering so many rows over so many parts, of all lists together; `None` if there is none.
pub(super) fn reserve(
    fields: &Fields,
    (rows, parts): (usize, usize),
    context: &ExecContext,
) -> Result<Option<Reservation>> {
    let size = if fields.are_narrow() { size_of::<u64>() } else { size_of::<u128>() };
    match context.budget.reserve(((rows + parts.min(rows) * BLOCK) * size) as u64) {
        Ok(memory) => Ok(Some(memory)),
        Err(error) if is_refusal(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_rows_are_taken_once_the_own_ones_first() {
        let lens = [3 * TAKEN_ROWS + 1, 0, TAKEN_ROWS];
        let shares = Shares::new(lens.to_vec());
        assert_eq!(shares.take_of(0), Some(0..TAKEN_ROWS));
        let mut taken = Vec::new();
        while let Some(share) = shares.take(1) {
            taken.push(share);
        }
        let expected = [
            (2, 0..TAKEN_ROWS),
            (0, TAKEN_ROWS..2 * TAKEN_ROWS),
            (0, 2 * TAKEN_ROWS..3 * TAKEN_ROWS),
            (0, 3 * TAKEN_ROWS..3 * TAKEN_ROWS + 1),
        ];
        assert_eq!(taken, expected);
        assert_eq!(shares.take(2), None);
        assert_eq!(Shares::new(Vec::new()).rows(), 0);
    }

    #[test]
    fn workers_together_scatter_every_row() -> Result<()> {
        let lens = [40_000, 3, 90_000];
        let shares = Shares::new(lens.to_vec());
        let all = Scattered::<u64>::all(&ExecContext::for_tests(3), &shares, 7, |task, scattered| {
            while let Some((list, rows)) = shares.take(task) {
                let codes: Vec<u64> = rows.map(|row| (list * 100_000 + row) as u64).collect();
                let parts: Vec<u16> = codes.iter().map(|code| (code % 7) as u16).collect();
                scattered.append(&codes, &parts);
            }
            Ok(())
        })?;
        for part in 0..7 {
            let parts = all.iter().map(|scattered| scattered.part(part));
            let mut found: Vec<u64> = parts.flat_map(|part| part.blocks().flatten().copied()).collect();
            found.sort_unstable();
            let rows = lens
                .iter()
                .enumerate()
                .flat_map(|(list, len)| (0..*len).map(move |row| list * 100_000 + row));
            let expected: Vec<u64> =
                rows.map(|code| code as u64).filter(|code| code % 7 == part as u64).collect();
            assert_eq!(found, expected);
        }
        Ok(())
    }
}
