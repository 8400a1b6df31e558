//! Running prepared predicates over rows: into a mask, or over a selection.

use super::prepare::{Test, hashes, value_holds, wrong_encoding};
use super::{Encoding, PreparedPredicate, Segment};
use crate::BloomFilter;
use crate::predicate::Prune;
use crate::simd::{self, Lane, Lanes, WordOfLane, with_lanes};
use inlay_types::byte_set::ByteSet;
use inlay_types::pick::pick;
use inlay_types::{Bitmap, Buffer, Result, VECTOR_SIZE, View};
use std::cmp::Ordering;
use std::ops::Range;

const VECTOR_WORDS: usize = VECTOR_SIZE / 64;

/// The rows of one vector that still qualify.
pub(super) struct Mask {
    pub words: [u64; VECTOR_WORDS],
    /// First row of the vector and number of rows.
    pub start: usize,
    pub len: usize,
}

impl Mask {
    /// Rows of vector `index` of a segment of `len` rows that are in `range`.
    fn new(index: usize, len: usize, range: &Range<usize>) -> Self {
        let start = index * VECTOR_SIZE;
        let len = VECTOR_SIZE.min(len - start);
        let (from, to) =
            (range.start.saturating_sub(start).min(len), range.end.saturating_sub(start).min(len));
        let mut words = [0; VECTOR_WORDS];
        for (position, word) in words.iter_mut().enumerate() {
            let (first, end) = (position * 64, position * 64 + 64);
            if from < end && to > first {
                let low = u64::MAX << from.saturating_sub(first);
                let high = if to >= end { u64::MAX } else { (1 << (to - first)) - 1 };
                *word = low & high;
            }
        }
        Self { words, start, len }
    }

    fn words(&mut self) -> &mut [u64] {
        &mut self.words[..self.len.div_ceil(64)]
    }

    /// Drops rows, counted from the first of the vector.
    pub fn clear(&mut self, rows: Range<usize>) {
        if rows.is_empty() {
            return;
        }
        let (first, last) = (rows.start / 64, (rows.end - 1) / 64);
        let below = !(u64::MAX << (rows.start % 64));
        let above = !(u64::MAX >> (63 - (rows.end - 1) % 64));
        if first == last {
            self.words[first] &= below | above;
        } else {
            self.words[first] &= below;
            self.words[first + 1..last].fill(0);
            self.words[last] &= above;
        }
    }

    /// Ands bits of a bitmap over the whole segment, or their complement.
    fn and(&mut self, bitmap: &Bitmap, negate: bool) {
        let first = self.start / 64;
        let flip = if negate { u64::MAX } else { 0 };
        for (word, more) in self.words().iter_mut().zip(&bitmap.words()[first..]) {
            *word &= more ^ flip;
        }
    }

    fn push_positions(&self, out: &mut Vec<u32>) {
        simd::push_positions(&self.words[..self.len.div_ceil(64)], self.start as u32, out);
    }
}

/// Where a row-by-row test takes its rows from, and where those that qualify go.
enum Target<'a> {
    Mask(&'a mut Mask),
    Rows(&'a [u32], &'a mut Vec<u32>),
}

impl Target<'_> {
    fn each(self, mut holds: impl FnMut(usize) -> bool) {
        match self {
            Self::Mask(mask) => {
                let start = mask.start;
                let len = mask.len;
                simd::and_each(len, mask.words(), |row| holds(start + row));
            }
            Self::Rows(rows, out) => simd::select(rows, out, holds),
        }
    }

    /// For tests that see many rows at once: `select` appends those rows (of the segment) that qualify.
    fn all(self, select: impl FnOnce(&[u32], &mut Vec<u32>) -> Result<()>) -> Result<()> {
        match self {
            Self::Rows(rows, out) => select(rows, out),
            Self::Mask(mask) => {
                let (mut rows, mut kept) = (Vec::new(), Vec::new());
                mask.push_positions(&mut rows);
                select(&rows, &mut kept)?;
                mask.words = [0; VECTOR_WORDS];
                for row in kept {
                    let row = row as usize - mask.start;
                    mask.words[row / 64] |= 1 << (row % 64);
                }
                Ok(())
            }
        }
    }
}

impl Segment {
    /// As [`Segment::filter`] with a predicate that was prepared for this segment.
    pub fn filter_prepared(
        &self,
        prepared: &PreparedPredicate,
        range: Range<usize>,
        selection: Option<&[u32]>,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        let range = range.start..range.end.min(self.len);
        let Some(rows) = selection else {
            for index in range.start / VECTOR_SIZE..range.end.div_ceil(VECTOR_SIZE) {
                let mut mask = Mask::new(index, self.len, &range);
                self.and_pruned(prepared, index, &mut mask)?;
                mask.push_positions(out);
            }
            return Ok(());
        };
        let from = rows.partition_point(|row| (*row as usize) < range.start);
        let to = rows.partition_point(|row| (*row as usize) < range.end);
        self.select_rows(prepared, &rows[from..to], out)
    }

    /// Ands a predicate into the mask of vector `index` after looking at its zone map.
    pub(super) fn and_pruned(
        &self,
        prepared: &PreparedPredicate,
        index: usize,
        mask: &mut Mask,
    ) -> Result<()> {
        match (self.prune_vector(index, prepared), &self.encoding, &prepared.test) {
            (Prune::None, ..) => mask.words = [0; VECTOR_WORDS],
            (Prune::All, ..) => {}
            (Prune::Some, Encoding::Runs(runs), Test::Runs(holds)) => runs.and_mask(holds, mask),
            (Prune::Some, Encoding::Patched(overlay), Test::Patched { base, hits }) => {
                overlay.and_mask(base, hits, index, mask)?
            }
            (Prune::Some, _, test) => self.and_mask(test, mask)?,
        }
        Ok(())
    }

    fn and_mask(&self, test: &Test, mask: &mut Mask) -> Result<()> {
        let rows = mask.start..mask.start + mask.len;
        match (test, &self.validity) {
            (Test::Null, Some(validity)) => {
                mask.and(validity, true);
                return Ok(());
            }
            (Test::Null | Test::Everything | Test::Never, _) | (_, None) => {}
            (_, Some(validity)) => mask.and(validity, false),
        }
        let lanes = || self.lanes(rows.clone()).ok_or_else(wrong_encoding);
        match test {
            Test::Never => mask.words = [0; VECTOR_WORDS],
            // NULLs alone or none: `prepare` made anything else of it, or the validity decided.
            Test::Everything | Test::NotNull | Test::Null => {}
            Test::Range { lanes: range, .. } => simd::and_range(lanes()?, *range, mask.words()),
            Test::Bits { .. } => {
                let bits = test.lane_bits().ok_or_else(wrong_encoding)?;
                simd::and_bits(lanes()?, bits, mask.words());
            }
            Test::Doubles { range, .. } => {
                simd::and_doubles(&self.plain::<f64>()?[rows], *range, mask.words())
            }
            Test::Reals { range, .. } => simd::and_reals(&self.plain::<f32>()?[rows], *range, mask.words()),
            other => self.test_rows(other, Target::Mask(mask))?,
        }
        Ok(())
    }

    fn plain<T: inlay_types::Native>(&self) -> Result<&[T]> {
        match &self.encoding {
            Encoding::Plain(values) => Ok(values.values::<T>()),
            _ => Err(wrong_encoding()),
        }
    }

    /// Appends those of `rows` (ascending, inside the segment) that satisfy a prepared predicate.
    pub(super) fn select_rows(
        &self,
        prepared: &PreparedPredicate,
        rows: &[u32],
        out: &mut Vec<u32>,
    ) -> Result<()> {
        let test = &prepared.test;
        match (&self.encoding, test) {
            (Encoding::Runs(runs), Test::Runs(holds)) => {
                runs.select_rows(holds, rows, out);
                return Ok(());
            }
            (Encoding::Patched(overlay), Test::Patched { base, hits }) => {
                return overlay.select_rows(base, hits, rows, out);
            }
            _ => {}
        }
        let mut valid_rows = Vec::new();
        let rows = match (test, &self.validity) {
            (Test::Null, Some(validity)) => {
                simd::select(rows, out, |row| !validity.get(row));
                return Ok(());
            }
            (Test::Null | Test::Everything | Test::Never, _) | (_, None) => rows,
            (_, Some(validity)) => {
                simd::select(rows, &mut valid_rows, |row| validity.get(row));
                &valid_rows
            }
        };
        let lanes = || self.lanes(0..self.len).ok_or_else(wrong_encoding);
        match test {
            Test::Never => {}
            Test::Everything | Test::NotNull | Test::Null => out.extend_from_slice(rows),
            Test::Range { lanes: range, .. } => simd::select_range(lanes()?, *range, rows, out),
            Test::Bits { .. } => {
                let bits = test.lane_bits().ok_or_else(wrong_encoding)?;
                simd::select_bits(lanes()?, bits, rows, out);
            }
            Test::Doubles { range, .. } => {
                let values = self.plain::<f64>()?;
                simd::select(rows, out, |row| range.contains(values[row]));
            }
            Test::Reals { range, .. } => {
                let values = self.plain::<f32>()?;
                simd::select(rows, out, |row| range.contains(values[row]));
            }
            other => self.test_rows(other, Target::Rows(rows, out))?,
        }
        Ok(())
    }

    /// Tests without a loop over lanes. NULL rows are left out already.
    fn test_rows(&self, test: &Test, target: Target<'_>) -> Result<()> {
        match test {
            Test::OneOf { lanes: wanted, .. } => {
                let lanes = self.lanes(0..self.len).ok_or_else(wrong_encoding)?;
                with_lanes!(lanes, values => target.each(|row| wanted.binary_search(&values[row].to_u64()).is_ok()));
            }
            Test::Wide { low, high, negate } => {
                let values = self.plain::<i128>()?;
                target.each(|row| (*low <= values[row] && values[row] <= *high) != *negate);
            }
            Test::WideBitmap(bitmap) => {
                let values = self.plain::<i128>()?;
                target.each(|row| i64::try_from(values[row]).is_ok_and(|v| bitmap.contains(v)));
            }
            Test::Strings { .. } | Test::StringEq { .. } | Test::StringIn(_) => {
                self.test_strings(test, target)?
            }
            Test::Bloom(filter) => match self.stored_words() {
                Some(words) => {
                    with_lanes!(words.lanes, lanes => test_bloom(filter, words.of_lane, lanes, target))
                }
                None => target.all(|rows, out| {
                    let hashes = hashes(&self.gather(rows)?);
                    out.extend(
                        rows.iter()
                            .zip(hashes)
                            .filter(|(_, hash)| filter.contains(*hash))
                            .map(|(row, _)| *row),
                    );
                    Ok(())
                })?,
            },
            Test::Generic(generic) => target.all(|rows, out| {
                let mut kept = Vec::new();
                for rows in rows.chunks(VECTOR_SIZE) {
                    kept.clear();
                    generic.select(&self.gather(rows)?, &mut kept)?;
                    out.extend(kept.iter().map(|position| rows[*position as usize]));
                }
                Ok(())
            })?,
            Test::Values(predicate) => target.each(|row| value_holds(predicate, &self.get(row))),
            Test::Never
            | Test::Everything
            | Test::NotNull
            | Test::Null
            | Test::Range { .. }
            | Test::Bits { .. }
            | Test::Doubles { .. }
            | Test::Reals { .. }
            | Test::Runs(_)
            | Test::Patched { .. } => return Err(wrong_encoding()),
        }
        Ok(())
    }

    fn test_strings(&self, test: &Test, target: Target<'_>) -> Result<()> {
        let Encoding::Plain(values) = &self.encoding else { return Err(wrong_encoding()) };
        let (views, heap) = (values.views(), values.heap().buffers());
        match test {
            Test::StringEq { text, negate } => {
                let own_heap = [Buffer::copy_of(text)];
                let wanted = View::new(text, 0, 0);
                target.each(|row| views[row].equals(heap, &wanted, &own_heap) != *negate);
            }
            Test::StringIn(ByteSet::Few(wanted)) => {
                let own_heap: Vec<Buffer> = wanted.iter().map(|text| Buffer::copy_of(text)).collect();
                let wanted: Vec<View> =
                    wanted.iter().zip(0..).map(|(text, buffer)| View::new(text, buffer, 0)).collect();
                target.each(|row| wanted.iter().any(|one| views[row].equals(heap, one, &own_heap)));
            }
            Test::StringIn(ByteSet::Many(wanted)) => {
                let heads: std::collections::HashSet<u64> =
                    wanted.iter().map(|t| View::new(t, 0, 0).head).collect();
                target
                    .each(|row| heads.contains(&views[row].head) && wanted.contains(views[row].bytes(heap)));
            }
            Test::Strings { low, high, negate } => {
                let (low, high) = (low.as_ref().map(Bound::new), high.as_ref().map(Bound::new));
                target.each(|row| {
                    let above = low.as_ref().is_none_or(|b| {
                        let order = b.compare(&views[row], heap);
                        order.is_gt() || b.inclusive && order.is_eq()
                    });
                    let below = || {
                        high.as_ref().is_none_or(|b| {
                            let order = b.compare(&views[row], heap);
                            order.is_lt() || b.inclusive && order.is_eq()
                        })
                    };
                    (above && below()) != *negate
                });
            }
            _ => return Err(wrong_encoding()),
        }
        Ok(())
    }
}

/// Narrows by a Bloom filter over lanes, many rows at a time.
fn test_bloom<L: Lane>(filter: &BloomFilter, of_lane: WordOfLane, lanes: &[L], target: Target<'_>) {
    let mut holds = [0u8; VECTOR_SIZE];
    match target {
        Target::Mask(mask) => {
            let holds = &mut holds[..mask.len];
            simd::test_bloom(&lanes[mask.start..mask.start + mask.len], of_lane, filter.words(), holds);
            simd::and_bytes(holds, mask.words());
        }
        Target::Rows(rows, out) => {
            let mut taken = [L::default(); VECTOR_SIZE];
            for rows in rows.chunks(VECTOR_SIZE) {
                let (taken, holds) = (&mut taken[..rows.len()], &mut holds[..rows.len()]);
                pick(lanes, 0, rows, taken);
                simd::test_bloom(taken, of_lane, filter.words(), holds);
                let mut each = holds.iter();
                simd::select(rows, out, |_| each.next().is_some_and(|h| *h != 0));
            }
        }
    }
}

/// A string to compare views with.
struct Bound {
    view: View,
    heap: [Buffer; 1],
    inclusive: bool,
}

impl Bound {
    fn new((text, inclusive): &(Vec<u8>, bool)) -> Self {
        Self { view: View::new(text, 0, 0), heap: [Buffer::copy_of(text)], inclusive: *inclusive }
    }

    #[inline]
    fn compare(&self, view: &View, heap: &[Buffer]) -> Ordering {
        view.compare(heap, &self.view, &self.heap)
    }
}
