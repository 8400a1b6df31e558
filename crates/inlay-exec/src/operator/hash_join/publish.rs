//! Filters that the finished build side sends to the scans of the probe side.
//!
//! A key that is carried as an integer gets a range, if every value in it occurs, else an exact bitmap, if that is of
//! reasonable size; other keys get a list of values, if there are few, else a Bloom filter. The index often holds the
//! bitmap already.

use super::HashJoin;
use super::build::{JoinIndex, KeyForm};
use super::index::Index;
use super::keys::{KeyRange, NO_SLOT, SlotEncoding};
use super::rows::Chunks;
use crate::ExecContext;
use crate::context::PARALLEL_ROWS_MIN;
use crate::spill::SpilledRows;
use inlay_storage::{BloomFilter, KeyBitmap, SegmentPredicate};
use inlay_types::hash::hash;
use inlay_types::{LogicalType, Result, Value, Vector};
use parking_lot::Mutex;
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Filters of at most so many bytes are made whether or not memory is refused.
const FILTER_SIZE_FREE: u64 = 64 << 10;
/// Largest bitmap in bytes that is always made.
const BITMAP_SIZE_FREE: u64 = 4 << 20;
/// Larger bitmaps may have this many bytes per row.
const BITMAP_BYTES_PER_ROW: u64 = 8;
/// Bloom filters are made for at most this many rows.
const BLOOM_ROWS_MAX: usize = 4 << 20;
/// They are made by as many workers as have so many rows each, but not by more than a few.
const BLOOM_ROWS_EACH: usize = 1 << 16;
const BLOOM_WORKERS_MAX: usize = 4;
/// Lists of values have at most this many.
const LIST_MAX: usize = 16;
/// And none of more bytes than these, as they are copied.
const LISTED_SIZE_MAX: usize = 1 << 12;

/// What was published.
pub(crate) struct Published {
    /// A probe row has a partner exactly if it passes the filters.
    pub exact: bool,
}

/// Fills the slots of a join's keys, each a task.
pub(crate) fn publish(
    join: &HashJoin,
    context: &ExecContext,
    chunks: &Chunks,
    ranges: &[KeyRange],
    index: &JoinIndex,
) -> Result<Published> {
    if !join.core.drops_unmatched() {
        return Ok(Published { exact: false });
    }
    let side = Side { join, context, chunks, index };
    let exact = AtomicBool::new(join.filters.len() == 1 && join.pair_filter.is_none());
    let fill = |key: usize| {
        let Some(slot) = &join.filters[key] else {
            exact.store(false, Ordering::Relaxed);
            return Ok(());
        };
        let (predicates, is_exact) = side.filters(key, ranges[key]);
        if !is_exact || predicates.is_empty() {
            exact.store(false, Ordering::Relaxed);
        }
        if !predicates.is_empty() {
            slot.publish(predicates);
        }
        Ok(())
    };
    if chunks.found > PARALLEL_ROWS_MIN {
        context.parallel(join.filters.len(), fill)?;
    } else {
        context.interrupt.check()?;
        (0..join.filters.len()).try_for_each(fill)?;
    }
    Ok(Published { exact: exact.into_inner() })
}

/// A build side in memory, with its index.
struct Side<'a> {
    join: &'a HashJoin,
    context: &'a ExecContext,
    chunks: &'a Chunks,
    index: &'a JoinIndex,
}

impl<'a> Side<'a> {
    fn vectors(&self, key: usize) -> impl Iterator<Item = &'a Vector> {
        let position = self.join.core.stored.len() + key;
        self.chunks.chunks.iter().map(move |chunk| &chunk.columns[position])
    }

    /// Filters on a key, and whether they let exactly the keys of the build side through.
    fn filters(&self, key: usize, span: KeyRange) -> (Vec<SegmentPredicate>, bool) {
        if self.join.null_equal[key] && self.vectors(key).any(|vector| vector.null_count() > 0) {
            // NULL would have to pass, and never qualifies.
            return (Vec::new(), false);
        }
        if self.chunks.found == 0 {
            return (vec![SegmentPredicate::In(Vec::new())], true);
        }
        if is_integer(self.join, key) {
            if let Some(exact) = self.integers(key, span) {
                return (vec![exact], true);
            }
            let within = range(self.join.key_types[key].clone(), span);
            return (within.into_iter().chain(self.bloom(key)).collect(), false);
        }
        match self.list(key) {
            Some(list) => (vec![list], true),
            None => (self.bloom(key).into_iter().collect(), false),
        }
    }

    /// An exact filter on an integer key, if its range allows one.
    fn integers(&self, key: usize, span: KeyRange) -> Option<SegmentPredicate> {
        let size = span.span() / 8;
        if size > BITMAP_SIZE_FREE.max(self.chunks.found as u64 * BITMAP_BYTES_PER_ROW) {
            return None;
        }
        self.join.reserve_filter(self.context, size)?;
        let words = match (&self.index.form, &self.index.index) {
            (KeyForm::Narrow(encoding), Index::Rank(rank)) if encoding.single_min() == Some(span.min) => {
                rank.bits().collect()
            }
            (KeyForm::Narrow(encoding), Index::Direct(direct)) if encoding.single_min() == Some(span.min) => {
                let mut words = direct.bits();
                words.truncate(size as usize / 8 + 1);
                words
            }
            _ => {
                let mut words = vec![0u64; size as usize / 8 + 1];
                let (encoding, mut offsets) = (SlotEncoding::new(&[span], &[false])?, Vec::new());
                self.vectors(key).for_each(|vector| set_bits(vector, &encoding, &mut offsets, &mut words));
                words
            }
        };
        let bitmap = KeyBitmap::from_words(span.min, span.max, words);
        if self.chunks.found as u64 > span.span() && bitmap.count() as u64 == span.span() + 1 {
            // Every value of the range occurs.
            return range(self.join.key_types[key].clone(), span);
        }
        Some(SegmentPredicate::KeyBitmap(Arc::new(bitmap)))
    }

    /// The values, if there are few distinct ones.
    fn list(&self, key: usize) -> Option<SegmentPredicate> {
        if !self.join.key_types[key].is_view() {
            return None;
        }
        let mut seen: HashSet<Vec<u8>> = HashSet::new();
        let mut values = Vec::new();
        for vector in self.vectors(key) {
            let flat = vector.flatten();
            let heap = flat.heap().buffers();
            for (row, view) in flat.views().iter().enumerate() {
                if !flat.is_null(row) && !seen.contains(view.bytes(heap)) {
                    if values.len() == LIST_MAX || view.len() > LISTED_SIZE_MAX {
                        return None;
                    }
                    seen.insert(view.bytes(heap).to_vec());
                    values.push(flat.get(row));
                }
            }
        }
        Some(SegmentPredicate::In(values))
    }

    fn bloom(&self, key: usize) -> Option<SegmentPredicate> {
        if self.chunks.found > BLOOM_ROWS_MAX {
            return None;
        }
        let size = BloomFilter::size_for(self.chunks.found) as u64;
        self.join.reserve_filter(self.context, size)?;
        // Each of a few workers has a filter of its own first.
        let workers =
            self.context.workers.count().min(self.chunks.found / BLOOM_ROWS_EACH + 1).min(BLOOM_WORKERS_MAX);
        let more = self.context.budget.reserve(size * (workers as u64 - 1));
        let workers = if more.is_ok() { workers } else { 1 };
        let vectors: Vec<&Vector> = self.vectors(key).collect();
        let share = vectors.len().div_ceil(workers).max(1);
        let filters: Mutex<Option<BloomFilter>> = Mutex::default();
        let filled = self.context.parallel(vectors.len().div_ceil(share), |part| {
            let mut filter = BloomFilter::new(self.chunks.found);
            let mut hashes = Vec::new();
            for vector in vectors.iter().skip(part * share).take(share) {
                hashes.resize(vector.len(), 0);
                hash(vector, vector.len(), &mut hashes);
                hashes.iter().for_each(|hash| filter.insert(*hash));
            }
            let mut filters = filters.lock();
            match &mut *filters {
                Some(whole) => whole.union(&filter),
                None => *filters = Some(filter),
            }
            Ok(())
        });
        // Who is interrupted learns so elsewhere.
        filled.ok()?;
        let filter = filters.into_inner().unwrap_or_else(|| BloomFilter::new(self.chunks.found));
        Some(SegmentPredicate::Bloom(Arc::new(filter)))
    }
}

/// What is gathered about a key of build rows in files.
enum Gathered {
    Bitmap { encoding: SlotEncoding, words: Vec<u64> },
    Bloom(BloomFilter),
}

/// Largest filter in bytes that is made of build rows in files.
const SPILLED_SIZE_MAX: u64 = 32 << 20;

/// Fills the slots of a join whose build rows are in files, which are read for it: what it lets through is written next.
pub(crate) fn publish_spilled(
    join: &HashJoin,
    context: &ExecContext,
    parts: &[SpilledRows],
    ranges: &[KeyRange],
) -> Result<()> {
    let rows: u64 = parts.iter().map(SpilledRows::rows).sum();
    let mut gathered: Vec<(usize, Mutex<Gathered>)> = Vec::new();
    for (key, slot) in join.filters.iter().enumerate() {
        let open = slot.as_ref().is_some_and(|slot| slot.predicates().is_empty());
        if open && rows > 0 && join.core.drops_unmatched() && !join.null_equal[key] {
            gathered
                .extend(gather_of(join, context, key, ranges[key], rows).map(|how| (key, Mutex::new(how))));
        }
    }
    if gathered.is_empty() {
        return Ok(());
    }
    let first_key = join.core.stored.len();
    context.parallel(parts.len(), |part| {
        let (mut reader, mut numbers) = (parts[part].reader(), Vec::new());
        while let Some(batch) = reader.next()? {
            for (key, how) in &gathered {
                let vector = batch.column(first_key + key);
                match &mut *how.lock() {
                    Gathered::Bitmap { encoding, words } => set_bits(vector, encoding, &mut numbers, words),
                    Gathered::Bloom(filter) => {
                        numbers.resize(vector.len(), 0);
                        hash(vector, vector.len(), &mut numbers);
                        numbers.iter().for_each(|hash| filter.insert(*hash));
                    }
                }
            }
        }
        Ok(())
    })?;
    for (key, how) in gathered {
        let Some(slot) = &join.filters[key] else { continue };
        let span = ranges[key];
        let within = if is_integer(join, key) { range(join.key_types[key].clone(), span) } else { None };
        let filter = match how.into_inner() {
            Gathered::Bitmap { words, .. } => {
                SegmentPredicate::KeyBitmap(Arc::new(KeyBitmap::from_words(span.min, span.max, words)))
            }
            Gathered::Bloom(filter) => SegmentPredicate::Bloom(Arc::new(filter)),
        };
        slot.publish(within.into_iter().chain([filter]).collect());
    }
    Ok(())
}

/// Whether a key has a range.
fn is_integer(join: &HashJoin, key: usize) -> bool {
    join.narrow[key] && join.key_types[key] != LogicalType::UBigInt
}

impl HashJoin {
    /// Reserves what a filter takes as long as the join is there; `None` if there is no memory for one, which nobody needs. A
    /// small one saves a spilled join more than it takes.
    fn reserve_filter(&self, context: &ExecContext, size: u64) -> Option<()> {
        match context.budget.yielding().reserve(size) {
            Ok(memory) => self.filter_memory.lock().push(memory),
            Err(_) if size <= FILTER_SIZE_FREE => {}
            Err(_) => return None,
        }
        Some(())
    }
}

/// The filter that suits a key, empty, if there is memory for it.
fn gather_of(
    join: &HashJoin,
    context: &ExecContext,
    key: usize,
    span: KeyRange,
    rows: u64,
) -> Option<Gathered> {
    let size = span.span() / 8;
    if is_integer(join, key)
        && size <= BITMAP_SIZE_FREE.max(rows * BITMAP_BYTES_PER_ROW).min(SPILLED_SIZE_MAX)
    {
        let encoding = SlotEncoding::new(&[span], &[false])?;
        join.reserve_filter(context, size)?;
        return Some(Gathered::Bitmap { encoding, words: vec![0; size as usize / 8 + 1] });
    }
    if rows > BLOOM_ROWS_MAX as u64 {
        return None;
    }
    join.reserve_filter(context, BloomFilter::size_for(rows as usize) as u64)?;
    Some(Gathered::Bloom(BloomFilter::new(rows as usize)))
}

fn range(ty: LogicalType, range: KeyRange) -> Option<SegmentPredicate> {
    let low = Value::from_stored_i128(&ty, i128::from(range.min))?;
    let high = Value::from_stored_i128(&ty, i128::from(range.max))?;
    Some(SegmentPredicate::Between { low, low_inclusive: true, high, high_inclusive: true })
}

fn set_bits(vector: &Vector, encoding: &SlotEncoding, offsets: &mut Vec<u64>, words: &mut [u64]) {
    encoding.encode_64(std::slice::from_ref(vector), offsets);
    for &offset in offsets.iter() {
        if offset != NO_SLOT {
            words[offset as usize / 64] |= 1 << (offset % 64);
        }
    }
}
