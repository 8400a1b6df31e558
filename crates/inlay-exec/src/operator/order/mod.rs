//! Rows in memory in order: normalised keys, a parallel sort, and where partitions and peers begin. ORDER BY and window
//! functions sort in this way.
//!
//! As many keys as fit are packed into an integer per row ([`codes`]), each in as few bits as its values need: two BIGINT
//! keys of ordinary ranges are one 64-bit number. Rows are dealt into buckets by samples of these numbers, and the buckets
//! are sorted in parallel; rows with equal numbers are compared by the keys that did not fit, then by their place, so that
//! the order does not depend on the number of workers.

mod alphabet;
mod codes;
mod normal;
mod ties;

use crate::context::{ExecContext, PARALLEL_ROWS_MIN};
use codes::{Encoded, encode};
use inlay_types::{Interval, PhysicalType, Result, Vector, nested};
pub(super) use normal::{Normal, normalise, order_f64, rank_words, write_rank_words};
use parking_lot::Mutex;
use std::cmp::Ordering;
use ties::{TIES_MIN, Texts};

/// Buckets per sort at most, rows per bucket at least, and rows per sample of a bucket's bounds.
const BUCKETS: usize = 64;
const BUCKET_ROWS_MIN: usize = 1 << 10;
const SAMPLES: usize = 64;
const ROWS_PER_SAMPLE: usize = 64;

/// The order of rows, and what belongs together in it.
#[derive(Debug, Default)]
pub(super) struct Order {
    /// The row at each place; `None`: as they are.
    pub(super) rows: Option<Vec<u32>>,
    /// Places where partitions begin, ascending, and the number of rows at the end.
    pub(super) partitions: Vec<u32>,
    /// Places where rows with other keys begin, likewise.
    pub(super) peers: Vec<u32>,
}

/// A key of all rows.
pub(super) struct KeyColumn<'a> {
    pub(super) vector: &'a Vector,
    pub(super) descending: bool,
    pub(super) nulls_first: bool,
}

impl KeyColumn<'_> {
    pub(super) fn compare(&self, left: u32, right: u32) -> Ordering {
        let (left, right) = (left as usize, right as usize);
        let nulls = match (self.vector.is_null(left), self.vector.is_null(right)) {
            (true, true) => return Ordering::Equal,
            (true, false) => self.nulls_first,
            (false, true) => !self.nulls_first,
            (false, false) => {
                let order = compare_values(self.vector, left, right);
                return if self.descending { order.reverse() } else { order };
            }
        };
        if nulls { Ordering::Less } else { Ordering::Greater }
    }
}

/// A vector as a key needs it: no constant, and no dictionary with more values than pay to be put in order.
pub(super) fn sortable(vector: Vector) -> Vector {
    let is_large = vector.as_dictionary().is_some_and(|known| known.values().len() * 4 > vector.len());
    if is_large || vector.is_constant() { vector.flatten() } else { vector }
}

/// Order of two values of a flat vector or a dictionary, neither NULL.
pub(super) fn compare_values(vector: &Vector, left: usize, right: usize) -> Ordering {
    compare_across(vector, left, vector, right)
}

/// Order of values of two vectors of one type, flat or dictionaries, neither NULL.
pub(super) fn compare_across(left: &Vector, row: usize, right: &Vector, other: usize) -> Ordering {
    if let Some(dictionary) = left.as_dictionary() {
        return compare_across(dictionary.values(), left.codes()[row] as usize, right, other);
    }
    if let Some(dictionary) = right.as_dictionary() {
        return compare_across(left, row, dictionary.values(), right.codes()[other] as usize);
    }
    macro_rules! by {
        ($t:ty) => {
            left.values::<$t>()[row].cmp(&right.values::<$t>()[other])
        };
        ($t:ty, $key:expr) => {{
            let key = $key;
            key(left.values::<$t>()[row]).cmp(&key(right.values::<$t>()[other]))
        }};
    }
    match left.physical_type() {
        PhysicalType::View => {
            let (a, b) = (&left.views()[row], &right.views()[other]);
            let (heap, other_heap) = (left.heap().buffers(), right.heap().buffers());
            match left.ty().is_nested() {
                true => nested::compare(left.ty(), a.bytes(heap), b.bytes(other_heap)),
                false => a.compare(heap, b, other_heap),
            }
        }
        PhysicalType::Bool | PhysicalType::U8 => by!(u8),
        PhysicalType::I8 => by!(i8),
        PhysicalType::I16 => by!(i16),
        PhysicalType::I32 => by!(i32),
        PhysicalType::I64 => by!(i64),
        PhysicalType::U16 => by!(u16),
        PhysicalType::U32 => by!(u32),
        PhysicalType::U64 => by!(u64),
        PhysicalType::I128 => by!(i128),
        PhysicalType::U128 => by!(u128),
        PhysicalType::F32 => by!(f32, |v: f32| order_f64(f64::from(v))),
        PhysicalType::F64 => by!(f64, order_f64),
        PhysicalType::Interval => by!(Interval, |v: Interval| v.order_key()),
    }
}

/// `len` values, made in parallel by blocks.
pub(super) fn fill<T: Copy + Default + Send + Sync>(
    context: &ExecContext,
    len: usize,
    make: impl Fn(usize, &mut [T]) + Sync,
) -> Result<Vec<T>> {
    let mut values = vec![T::default(); len];
    let block_rows = context.task_rows(len);
    let parts: Vec<Mutex<&mut [T]>> = values.chunks_mut(block_rows).map(Mutex::new).collect();
    context.parallel(parts.len(), |block| {
        make(block * block_rows, &mut parts[block].lock());
        Ok(())
    })?;
    drop(parts);
    Ok(values)
}

/// Whether rows are to be told apart by an integer of this width.
trait Prefix: Copy + Ord + Default + Send + Sync {
    /// The same with a code in the bits from `shift` on, which are free.
    fn with(self, code: u128, shift: u32) -> Self;
    /// Eight bits from `shift` on.
    fn digit(self, shift: u32) -> usize;
    fn above(self, shift: u32) -> u128;
}

impl Prefix for u32 {
    #[inline(always)]
    fn with(self, code: u128, shift: u32) -> Self {
        self | (code as u32) << shift
    }
    #[inline(always)]
    fn digit(self, shift: u32) -> usize {
        (self >> shift & 0xFF) as usize
    }
    fn above(self, shift: u32) -> u128 {
        u128::from(self).checked_shr(shift).unwrap_or(0)
    }
}

impl Prefix for u64 {
    #[inline(always)]
    fn with(self, code: u128, shift: u32) -> Self {
        self | (code as u64) << shift
    }
    #[inline(always)]
    fn digit(self, shift: u32) -> usize {
        (self >> shift & 0xFF) as usize
    }
    fn above(self, shift: u32) -> u128 {
        u128::from(self).checked_shr(shift).unwrap_or(0)
    }
}

impl Prefix for u128 {
    #[inline(always)]
    fn with(self, code: u128, shift: u32) -> Self {
        self | code << shift
    }
    #[inline(always)]
    fn digit(self, shift: u32) -> usize {
        (self >> shift & 0xFF) as usize
    }
    fn above(self, shift: u32) -> u128 {
        self.checked_shr(shift).unwrap_or(0)
    }
}

/// Sorts rows `0 .. len` by `keys`, of which the first `partition_count` make partitions.
pub(super) fn sort(
    context: &ExecContext,
    keys: &[KeyColumn<'_>],
    partition_count: usize,
    len: usize,
) -> Result<Order> {
    sort_with(context, keys, partition_count, len, true)
}

/// The same without peers, which nobody asks for.
pub(super) fn sort_rows(
    context: &ExecContext,
    keys: &[KeyColumn<'_>],
    partition_count: usize,
    len: usize,
) -> Result<Order> {
    sort_with(context, keys, partition_count, len, false)
}

/// A number of at most so many bits per row, equal where all keys are; `None` if keys do not fit into them.
pub(super) fn numbers(
    context: &ExecContext,
    keys: &[KeyColumn<'_>],
    len: usize,
    bits_max: u32,
) -> Result<Option<Vec<u32>>> {
    let (mut encoded, mut shifts, mut bits) = (Vec::with_capacity(keys.len()), Vec::new(), 0);
    for key in keys {
        let next = encode(context, key, bits_max - bits)?;
        if !next.complete {
            return Ok(None);
        }
        shifts.push(bits);
        bits += next.bits;
        encoded.push(next);
    }
    prefixes::<u32>(context, len, keys, encoded, &shifts).map(Some)
}

fn sort_with(
    context: &ExecContext,
    keys: &[KeyColumn<'_>],
    partition_count: usize,
    len: usize,
    finds_peers: bool,
) -> Result<Order> {
    if keys.is_empty() || len == 0 {
        let all = if len == 0 { vec![0] } else { vec![0, len as u32] };
        return Ok(Order { rows: None, partitions: all.clone(), peers: all });
    }
    let mut encoded: Vec<Encoded> = Vec::with_capacity(keys.len());
    let mut free = 128;
    for key in keys {
        let is_open = encoded.last().is_some_and(|last: &Encoded| !last.complete);
        let next = if is_open { Encoded::nothing() } else { encode(context, key, free)? };
        free -= next.bits;
        encoded.push(next);
    }
    let bits = 128 - free;
    let open = encoded.iter().position(|key| !key.complete).unwrap_or(keys.len());
    let partition_bits: u32 = encoded[..partition_count].iter().map(|key| key.bits).sum();
    let mut shifts = Vec::with_capacity(keys.len());
    let mut shift = bits;
    for key in &encoded {
        shift -= key.bits;
        shifts.push(shift);
    }
    let known = encoded.get(open).map_or(0, Encoded::bytes_known);
    let sorter = Sorter {
        keys,
        open,
        known,
        finds_peers,
        partition_count,
        bits,
        partition_shift: bits - partition_bits,
    };
    // Rows are moved with their prefixes, several times: narrow ones are half as much.
    match bits {
        0..=32 => sorter.run(context, prefixes::<u32>(context, len, keys, encoded, &shifts)?),
        33..=64 => sorter.run(context, prefixes::<u64>(context, len, keys, encoded, &shifts)?),
        65.. => sorter.run(context, prefixes::<u128>(context, len, keys, encoded, &shifts)?),
    }
}

fn prefixes<P: Prefix>(
    context: &ExecContext,
    len: usize,
    keys: &[KeyColumn<'_>],
    encoded: Vec<Encoded>,
    shifts: &[u32],
) -> Result<Vec<P>> {
    fill(context, len, |from, out: &mut [P]| {
        for ((key, encoded), &shift) in keys.iter().zip(&encoded).zip(shifts) {
            if encoded.bits > 0 {
                encoded.add(key, from, shift, out);
            }
        }
    })
}

/// Pairs that are sorted by digits: so many that counting pays, and so few that as many more are little. Digits at most.
const BY_DIGITS: std::ops::RangeInclusive<usize> = 512..=1 << 20;
const DIGITS_MAX: u32 = 6;

/// Puts pairs, whose rows ascend, into the order of prefixes of `bits` bits, then rows.
fn sort_pairs<P: Prefix>(mut pairs: Vec<(P, u32)>, bits: u32) -> Vec<(P, u32)> {
    if !BY_DIGITS.contains(&pairs.len()) || bits.div_ceil(8) > DIGITS_MAX {
        pairs.sort_unstable();
        return pairs;
    }
    let mut other = vec![(P::default(), 0); pairs.len()];
    for shift in (0..bits).step_by(8) {
        let mut counts = [0u32; 256];
        pairs.iter().for_each(|(prefix, _)| counts[prefix.digit(shift)] += 1);
        if counts[pairs[0].0.digit(shift)] as usize == pairs.len() {
            continue;
        }
        let mut from = 0;
        let mut places = counts.map(|count| {
            from += count;
            from - count
        });
        for pair in &pairs {
            let place = &mut places[pair.0.digit(shift)];
            other[*place as usize] = *pair;
            *place += 1;
        }
        std::mem::swap(&mut pairs, &mut other);
    }
    pairs
}

struct Sorter<'a> {
    keys: &'a [KeyColumn<'a>],
    /// The first key that is not completely in the prefix, and how many bytes of it are, if it is a text.
    open: usize,
    known: usize,
    finds_peers: bool,
    partition_count: usize,
    /// Bits of the prefix, and those that are not of partition keys.
    bits: u32,
    partition_shift: u32,
}

/// Rows of a bucket in order.
struct Sorted<P> {
    rows: Vec<u32>,
    first: (P, u32),
    last: (P, u32),
    /// Places in the bucket, without the first.
    partitions: Vec<u32>,
    peers: Vec<u32>,
}

impl Sorter<'_> {
    fn compare_open(&self, left: u32, right: u32, from: usize, to: usize) -> Ordering {
        let orders = self.keys[from..to].iter().map(|key| key.compare(left, right));
        orders.into_iter().find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    }

    /// Sorts rows that are equal up to key `from`, and in the first `known` bytes of that, if it is a text.
    fn sort_ties(&self, rows: &mut [u32], from: usize, known: usize) {
        let texts = self.keys.get(from).filter(|_| rows.len() >= TIES_MIN);
        if let Some(texts) = texts.and_then(|key| Texts::of(key, known)) {
            return texts.sort(rows, &|rows| self.sort_ties(rows, from + 1, 0));
        }
        rows.sort_unstable_by(|&a, &b| {
            self.compare_open(a, b, from, self.keys.len()).then_with(|| a.cmp(&b))
        });
    }

    /// Whether rows are peers, or of one partition where nobody asks for peers.
    fn same_peers<P: Prefix>(&self, left: (P, u32), right: (P, u32)) -> bool {
        if !self.finds_peers {
            return self.same_partition(left, right);
        }
        left.0 == right.0 && self.compare_open(left.1, right.1, self.open, self.keys.len()).is_eq()
    }

    fn same_partition<P: Prefix>(&self, left: (P, u32), right: (P, u32)) -> bool {
        if self.partition_count == 0 {
            return true;
        }
        if self.open >= self.partition_count {
            return left.0.above(self.partition_shift) == right.0.above(self.partition_shift);
        }
        left.0.above(self.partition_shift) == right.0.above(self.partition_shift)
            && self.compare_open(left.1, right.1, self.open, self.partition_count).is_eq()
    }

    fn sorted<P: Prefix>(&self, pairs: Vec<(P, u32)>) -> Option<Sorted<P>> {
        let mut pairs = sort_pairs(pairs, self.bits);
        if self.open < self.keys.len() {
            // Only rows with equal prefixes are told apart by values, which lie elsewhere.
            for ties in pairs.chunk_by_mut(|a, b| a.0 == b.0).filter(|ties| ties.len() > 1) {
                let mut rows: Vec<u32> = ties.iter().map(|tie| tie.1).collect();
                self.sort_ties(&mut rows, self.open, self.known);
                ties.iter_mut().zip(rows).for_each(|(tie, row)| tie.1 = row);
            }
        }
        let (first, last) = (*pairs.first()?, *pairs.last()?);
        let (mut partitions, mut peers) = (Vec::new(), Vec::new());
        let pairs_looked_at = if self.finds_peers || self.partition_count > 0 { &pairs[..] } else { &[] };
        for (place, pair) in pairs_looked_at.windows(2).enumerate() {
            let (before, here) = (pair[0], pair[1]);
            if !self.same_peers(before, here) {
                peers.push(place as u32 + 1);
                if !self.same_partition(before, here) {
                    partitions.push(place as u32 + 1);
                }
            }
        }
        Some(Sorted { rows: pairs.into_iter().map(|(_, row)| row).collect(), first, last, partitions, peers })
    }

    fn run<P: Prefix>(&self, context: &ExecContext, prefixes: Vec<P>) -> Result<Order> {
        let len = prefixes.len();
        let buckets = if len <= PARALLEL_ROWS_MIN || context.workers.count() == 1 {
            let pairs = prefixes.iter().enumerate().map(|(row, &p)| (p, row as u32)).collect();
            vec![self.sorted(pairs)]
        } else {
            self.sort_buckets(context, &prefixes)?
        };
        drop(prefixes);
        let mut order = Order { rows: None, partitions: vec![0], peers: vec![0] };
        let mut rows = Vec::with_capacity(len);
        let mut last: Option<(P, u32)> = None;
        for bucket in buckets.into_iter().flatten() {
            let base = rows.len() as u32;
            if let Some(last) = last
                && !self.same_peers(last, bucket.first)
            {
                order.peers.push(base);
                if !self.same_partition(last, bucket.first) {
                    order.partitions.push(base);
                }
            }
            order.partitions.extend(bucket.partitions.iter().map(|place| base + place));
            order.peers.extend(bucket.peers.iter().map(|place| base + place));
            rows.extend_from_slice(&bucket.rows);
            last = Some(bucket.last);
        }
        order.partitions.push(len as u32);
        order.peers.push(len as u32);
        order.rows = Some(rows);
        Ok(order)
    }

    fn sort_buckets<P: Prefix>(
        &self,
        context: &ExecContext,
        prefixes: &[P],
    ) -> Result<Vec<Option<Sorted<P>>>> {
        let len = prefixes.len();
        let per_bucket = (len / BUCKETS / ROWS_PER_SAMPLE).clamp(1, SAMPLES);
        let count = (len / BUCKET_ROWS_MIN).clamp(1, BUCKETS) * per_bucket;
        let mut samples: Vec<P> =
            (0..count).map(|i| prefixes[(i as u64 * len as u64 / count as u64) as usize]).collect();
        samples.sort_unstable();
        let mut splitters: Vec<P> = samples.chunks(per_bucket).skip(1).map(|chunk| chunk[0]).collect();
        splitters.dedup();
        let block_rows = context.task_rows(len);
        let blocks = len.div_ceil(block_rows);
        type Buckets<P> = Vec<Vec<(P, u32)>>;
        let dealt: Vec<Mutex<Buckets<P>>> = (0..blocks).map(|_| Mutex::default()).collect();
        context.parallel(blocks, |block| {
            let from = block * block_rows;
            let part = &prefixes[from..len.min(from + block_rows)];
            let bucket_of: Vec<u8> =
                part.iter().map(|p| splitters.partition_point(|splitter| splitter <= p) as u8).collect();
            let mut sizes = vec![0usize; splitters.len() + 1];
            bucket_of.iter().for_each(|&bucket| sizes[usize::from(bucket)] += 1);
            let mut piles: Vec<Vec<(P, u32)>> = sizes.into_iter().map(Vec::with_capacity).collect();
            for (i, (&bucket, &prefix)) in bucket_of.iter().zip(part).enumerate() {
                piles[usize::from(bucket)].push((prefix, (from + i) as u32));
            }
            *dealt[block].lock() = piles;
            Ok(())
        })?;
        let sorted: Vec<Mutex<Option<Sorted<P>>>> = (0..=splitters.len()).map(|_| Mutex::new(None)).collect();
        context.parallel(sorted.len(), |bucket| {
            let piles: Vec<Vec<(P, u32)>> =
                dealt.iter().map(|block| std::mem::take(&mut block.lock()[bucket])).collect();
            let mut pairs = Vec::with_capacity(piles.iter().map(Vec::len).sum());
            piles.iter().for_each(|pile| pairs.extend_from_slice(pile));
            drop(piles);
            *sorted[bucket].lock() = self.sorted(pairs);
            Ok(())
        })?;
        Ok(sorted.into_iter().map(Mutex::into_inner).collect())
    }
}

#[cfg(test)]
mod tests;
