//! Rows of a stage in order: normalised keys, a parallel sort, and where partitions and peers begin.
//!
//! As many keys as fit are packed into an integer per row, each in as few bits as its range needs: two BIGINT keys of
//! ordinary ranges are one 64-bit number. Rows are dealt into buckets by samples of these numbers, and the buckets are
//! sorted in parallel; rows with equal numbers are compared by the keys that did not fit, then by their place, so that
//! the order does not depend on the number of workers.

use super::spec::Key;
use crate::context::ExecContext;
use inlay_types::{Error, Interval, PhysicalType, Result, Vector, View, nested};
use parking_lot::Mutex;
use std::cmp::Ordering;

/// Rows that one task handles.
pub(super) const BLOCK_ROWS: usize = 1 << 16;
/// Fewer rows are sorted by one task.
const PARALLEL_ROWS_MIN: usize = 1 << 15;
/// Buckets per sort, and samples per bucket.
const BUCKETS: usize = 64;
const SAMPLES: usize = 64;

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

impl<'a> KeyColumn<'a> {
    pub(super) fn new(columns: &'a [Vector], key: Key) -> Self {
        Self { vector: &columns[key.column], descending: key.descending, nulls_first: key.nulls_first }
    }

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

/// Order of two values of a flat vector or a dictionary, neither NULL.
pub(super) fn compare_values(vector: &Vector, left: usize, right: usize) -> Ordering {
    if let Some(dictionary) = vector.as_dictionary() {
        let codes = vector.codes();
        return compare_values(dictionary.values(), codes[left] as usize, codes[right] as usize);
    }
    match vector.physical_type() {
        PhysicalType::View if vector.ty().is_nested() => {
            let (views, heap) = (vector.views(), vector.heap().buffers());
            nested::compare(vector.ty(), views[left].bytes(heap), views[right].bytes(heap))
        }
        PhysicalType::View => {
            let (views, heap) = (vector.views(), vector.heap().buffers());
            views[left].compare(heap, &views[right], heap)
        }
        PhysicalType::I128 => {
            let values = vector.values::<i128>();
            values[left].cmp(&values[right])
        }
        PhysicalType::U128 => {
            let values = vector.values::<u128>();
            values[left].cmp(&values[right])
        }
        PhysicalType::Interval => {
            let values = vector.values::<Interval>();
            values[left].order_key().cmp(&values[right].order_key())
        }
        _ => vector.get(left).total_cmp(&vector.get(right)),
    }
}

/// Values as integers in the order of values; what NULLs have is arbitrary.
pub(super) enum Normal {
    Narrow(Vec<u64>),
    Wide(Vec<u128>),
}

/// Normalises a flat vector of a fixed-width type; `None` for other types.
pub(super) fn normalise(context: &ExecContext, vector: &Vector) -> Result<Option<Normal>> {
    let narrow = |f: &(dyn Fn(usize) -> u64 + Sync)| {
        fill(context, vector.len(), |from, out: &mut [u64]| {
            for (i, out) in out.iter_mut().enumerate() {
                *out = f(from + i);
            }
        })
        .map(|values| Some(Normal::Narrow(values)))
    };
    let wide = |f: &(dyn Fn(usize) -> u128 + Sync)| {
        fill(context, vector.len(), |from, out: &mut [u128]| {
            for (i, out) in out.iter_mut().enumerate() {
                *out = f(from + i);
            }
        })
        .map(|values| Some(Normal::Wide(values)))
    };
    macro_rules! narrow {
        ($t:ty, $convert:expr) => {{
            let values = vector.values::<$t>();
            let convert = $convert;
            narrow(&|i| convert(values[i]))
        }};
    }
    match vector.physical_type() {
        PhysicalType::Bool | PhysicalType::U8 => narrow!(u8, u64::from),
        PhysicalType::U16 => narrow!(u16, u64::from),
        PhysicalType::U32 => narrow!(u32, u64::from),
        PhysicalType::U64 => narrow!(u64, |v: u64| v),
        PhysicalType::I8 => narrow!(i8, |v: i8| i64::from(v) as u64 ^ 1 << 63),
        PhysicalType::I16 => narrow!(i16, |v: i16| i64::from(v) as u64 ^ 1 << 63),
        PhysicalType::I32 => narrow!(i32, |v: i32| i64::from(v) as u64 ^ 1 << 63),
        PhysicalType::I64 => narrow!(i64, |v: i64| v as u64 ^ 1 << 63),
        PhysicalType::F32 => narrow!(f32, |v: f32| order_f64(f64::from(v))),
        PhysicalType::F64 => narrow!(f64, order_f64),
        PhysicalType::I128 => {
            let values = vector.values::<i128>();
            wide(&|i| values[i] as u128 ^ 1 << 127)
        }
        PhysicalType::U128 => {
            let values = vector.values::<u128>();
            wide(&|i| values[i])
        }
        PhysicalType::Interval => {
            let values = vector.values::<Interval>();
            wide(&|i| values[i].order_key() as u128 ^ 1 << 127)
        }
        _ => Ok(None),
    }
}

/// A word per value of a flat vector, in the order of values except that different ones may have the same: of texts the
/// first bytes, of wide numbers the upper half. What NULLs have is arbitrary.
///
/// An error for nested types, whose order is not that of their bytes.
pub(in crate::operator) fn rank_words(context: &ExecContext, vector: &Vector) -> Result<Vec<u64>> {
    Ok(match normalise(context, vector)? {
        Some(Normal::Narrow(words)) => words,
        Some(Normal::Wide(words)) => words.into_iter().map(|word| (word >> 64) as u64).collect(),
        None if vector.ty().is_view() && !vector.ty().is_nested() => {
            let heap = vector.heap().buffers();
            let word = |view: &View| {
                let bytes = view.bytes(heap);
                let mut first = [0; 8];
                let len = bytes.len().min(8);
                first[..len].copy_from_slice(&bytes[..len]);
                u64::from_be_bytes(first)
            };
            // The view of a NULL is empty.
            vector.views().iter().map(word).collect()
        }
        None => return Err(Error::internal(format!("words in the order of {}", vector.ty()))),
    })
}

/// NaN above everything, -0.0 as 0.0.
fn order_f64(value: f64) -> u64 {
    let value = if value.is_nan() {
        f64::NAN.abs()
    } else if value == 0.0 {
        0.0
    } else {
        value
    };
    let bits = value.to_bits();
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

/// `len` values, made in parallel by blocks.
pub(super) fn fill<T: Copy + Default + Send + Sync>(
    context: &ExecContext,
    len: usize,
    make: impl Fn(usize, &mut [T]) + Sync,
) -> Result<Vec<T>> {
    let mut values = vec![T::default(); len];
    let parts: Vec<Mutex<&mut [T]>> = values.chunks_mut(BLOCK_ROWS).map(Mutex::new).collect();
    context.parallel(parts.len(), |block| {
        make(block * BLOCK_ROWS, &mut parts[block].lock());
        Ok(())
    })?;
    drop(parts);
    Ok(values)
}

/// A key as bits of a row's number.
struct Encoded {
    codes: Codes,
    bits: u32,
    /// Whether the code decides the order completely.
    complete: bool,
}

enum Codes {
    Narrow {
        values: Vec<u64>,
        low: u64,
        high: u64,
    },
    Wide {
        values: Vec<u128>,
        low: u128,
        high: u128,
    },
    /// Ranks of a dictionary's values.
    Ranks {
        ranks: Vec<u32>,
        high: u32,
    },
    /// The first bytes of strings, and the length if it is complete.
    Bytes {
        count: usize,
        with_len: bool,
    },
    Nothing,
}

fn bits_of(range: u128) -> u32 {
    128 - range.leading_zeros()
}

fn encode(context: &ExecContext, key: &KeyColumn<'_>, free: u32) -> Result<Encoded> {
    let vector = key.vector;
    let nothing = Encoded { codes: Codes::Nothing, bits: 0, complete: false };
    // One more code for NULL.
    let extra = u128::from(vector.validity().is_some());
    let fitting = |codes: Codes, range: u128| {
        let bits = bits_of(range.saturating_add(extra));
        if bits <= free && range < u128::MAX - 1 {
            Encoded { codes, bits, complete: true }
        } else {
            Encoded { codes: Codes::Nothing, bits: 0, complete: false }
        }
    };
    if let Some(dictionary) = vector.as_dictionary() {
        let values = dictionary.values();
        let mut sorted: Vec<u32> = (0..values.len() as u32).collect();
        // NULLs of a dictionary vector are in its own validity.
        sorted.sort_unstable_by(|&a, &b| compare_values(values, a as usize, b as usize));
        let (mut ranks, mut rank) = (vec![0u32; values.len()], 0);
        for (index, &code) in sorted.iter().enumerate() {
            let is_new =
                index > 0 && compare_values(values, sorted[index - 1] as usize, code as usize).is_ne();
            rank += u32::from(is_new);
            ranks[code as usize] = rank;
        }
        return Ok(fitting(Codes::Ranks { ranks, high: rank }, u128::from(rank)));
    }
    if vector.ty().is_nested() {
        return Ok(nothing);
    }
    if vector.physical_type() == PhysicalType::View {
        let longest = vector.views().iter().map(|view| view.len()).max().unwrap_or(0);
        let with_len = longest <= 12;
        let count = longest.min(12);
        let bits = 8 * count as u32 + if with_len { 8 } else { 0 } + 2 * extra as u32;
        if bits <= free {
            return Ok(Encoded { codes: Codes::Bytes { count, with_len }, bits, complete: with_len });
        }
        let extra_bits = 2 * extra as u32;
        if free < 16 + extra_bits {
            return Ok(nothing);
        }
        let count = count.min(((free - extra_bits) / 8) as usize);
        let bits = 8 * count as u32 + extra_bits;
        return Ok(Encoded { codes: Codes::Bytes { count, with_len: false }, bits, complete: false });
    }
    Ok(match normalise(context, vector)? {
        None => nothing,
        Some(Normal::Narrow(values)) => {
            let (low, high) = valid_range(context, vector, &values, u64::MAX, 0)?;
            let range = u128::from(high.saturating_sub(low));
            fitting(Codes::Narrow { values, low, high }, range)
        }
        Some(Normal::Wide(values)) => {
            let (low, high) = valid_range(context, vector, &values, u128::MAX, 0)?;
            let range = high.saturating_sub(low);
            fitting(Codes::Wide { values, low, high }, range)
        }
    })
}

/// Least and largest value that is not NULL.
fn valid_range<T: Copy + Ord + Send + Sync>(
    context: &ExecContext,
    vector: &Vector,
    values: &[T],
    largest: T,
    least: T,
) -> Result<(T, T)> {
    let range = Mutex::new((largest, least));
    context.parallel(values.len().div_ceil(BLOCK_ROWS), |block| {
        let from = block * BLOCK_ROWS;
        let part = &values[from..values.len().min(from + BLOCK_ROWS)];
        let (mut low, mut high) = (largest, least);
        if vector.validity().is_none() {
            part.iter().for_each(|&v| (low, high) = (low.min(v), high.max(v)));
        } else {
            let valid = part.iter().enumerate().filter(|(i, _)| !vector.is_null(from + i));
            valid.for_each(|(_, &v)| (low, high) = (low.min(v), high.max(v)));
        }
        let mut range = range.lock();
        *range = (range.0.min(low), range.1.max(high));
        Ok(())
    })?;
    Ok(range.into_inner())
}

impl Encoded {
    /// The code of a row: values between those of NULL on either side.
    #[inline]
    fn code(&self, key: &KeyColumn<'_>, row: usize) -> u128 {
        let has_nulls = key.vector.validity().is_some();
        let is_null = has_nulls && key.vector.is_null(row);
        let (offset, range) = match &self.codes {
            Codes::Nothing => return 0,
            Codes::Narrow { values, low, high } => {
                (u128::from(values[row].wrapping_sub(*low)), u128::from(high.saturating_sub(*low)))
            }
            Codes::Wide { values, low, high } => (values[row].wrapping_sub(*low), high.saturating_sub(*low)),
            Codes::Ranks { ranks, high } => {
                (u128::from(ranks[key.vector.codes()[row] as usize]), u128::from(*high))
            }
            Codes::Bytes { count, with_len } => {
                let width = 8 * *count as u32 + if *with_len { 8 } else { 0 };
                let mask = if width == 0 { 0 } else { u128::MAX >> (128 - width) };
                let value = if is_null { 0 } else { leading_bytes(key.vector, row, *count, *with_len) };
                let value = if key.descending { !value & mask } else { value };
                // Two bits above tell NULLs in front, values, NULLs behind.
                let class = match (has_nulls, is_null, key.nulls_first) {
                    (false, ..) => 0,
                    (true, false, _) => 1,
                    (true, true, true) => 0,
                    (true, true, false) => 2,
                };
                return if is_null { class << width } else { value | class << width };
            }
        };
        if is_null {
            return if key.nulls_first { 0 } else { range + 1 };
        }
        let value = if key.descending { range - offset } else { offset };
        value + u128::from(has_nulls && key.nulls_first)
    }
}

fn leading_bytes(vector: &Vector, row: usize, count: usize, with_len: bool) -> u128 {
    let bytes = vector.views()[row].bytes(vector.heap().buffers());
    let mut head = [0u8; 16];
    let taken = bytes.len().min(count);
    head[16 - count..16 - count + taken].copy_from_slice(&bytes[..taken]);
    let value = u128::from_be_bytes(head);
    if with_len { value << 8 | bytes.len() as u128 } else { value }
}

/// Whether rows are to be told apart by an integer of this width.
trait Prefix: Copy + Ord + Default + Send + Sync {
    fn of(code: u128) -> Self;
    fn above(self, shift: u32) -> u128;
}

impl Prefix for u64 {
    fn of(code: u128) -> Self {
        code as u64
    }
    fn above(self, shift: u32) -> u128 {
        u128::from(self).checked_shr(shift).unwrap_or(0)
    }
}

impl Prefix for u128 {
    fn of(code: u128) -> Self {
        code
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
    if keys.is_empty() || len == 0 {
        let all = if len == 0 { vec![0] } else { vec![0, len as u32] };
        return Ok(Order { rows: None, partitions: all.clone(), peers: all });
    }
    let mut encoded: Vec<Encoded> = Vec::with_capacity(keys.len());
    let mut free = 128;
    for key in keys {
        let is_open = encoded.last().is_some_and(|last: &Encoded| !last.complete);
        let next = if is_open {
            Encoded { codes: Codes::Nothing, bits: 0, complete: false }
        } else {
            encode(context, key, free)?
        };
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
    let code = |row: usize| {
        let parts = keys.iter().zip(&encoded).zip(&shifts).filter(|((_, encoded), _)| encoded.bits > 0);
        parts.fold(0u128, |all, ((key, encoded), &shift)| all | encoded.code(key, row) << shift)
    };
    let sorter = Sorter { keys, open, partition_count, partition_shift: bits - partition_bits };
    if bits <= 64 {
        let prefixes = prefixes::<u64>(context, len, &code)?;
        drop(encoded);
        sorter.run(context, prefixes)
    } else {
        let prefixes = prefixes::<u128>(context, len, &code)?;
        drop(encoded);
        sorter.run(context, prefixes)
    }
}

fn prefixes<P: Prefix>(
    context: &ExecContext,
    len: usize,
    code: &(dyn Fn(usize) -> u128 + Sync),
) -> Result<Vec<P>> {
    fill(context, len, |from, out: &mut [P]| {
        for (i, out) in out.iter_mut().enumerate() {
            *out = P::of(code(from + i));
        }
    })
}

struct Sorter<'a> {
    keys: &'a [KeyColumn<'a>],
    /// The first key that is not completely in the prefix.
    open: usize,
    partition_count: usize,
    /// Bits of the prefix that are not of partition keys.
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

    fn same_peers<P: Prefix>(&self, left: (P, u32), right: (P, u32)) -> bool {
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

    fn sort_pairs<P: Prefix>(&self, mut pairs: Vec<(P, u32)>) -> Option<Sorted<P>> {
        if self.open == self.keys.len() {
            pairs.sort_unstable();
        } else {
            pairs.sort_unstable_by(|a, b| {
                a.0.cmp(&b.0)
                    .then_with(|| self.compare_open(a.1, b.1, self.open, self.keys.len()))
                    .then_with(|| a.1.cmp(&b.1))
            });
        }
        let (first, last) = (*pairs.first()?, *pairs.last()?);
        let (mut partitions, mut peers) = (Vec::new(), Vec::new());
        for (place, pair) in pairs.windows(2).enumerate() {
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
        let buckets = if len < PARALLEL_ROWS_MIN || context.workers.count() == 1 {
            let pairs = prefixes.iter().enumerate().map(|(row, &p)| (p, row as u32)).collect();
            vec![self.sort_pairs(pairs)]
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
        let count = BUCKETS * SAMPLES;
        let mut samples: Vec<P> =
            (0..count).map(|i| prefixes[(i as u64 * len as u64 / count as u64) as usize]).collect();
        samples.sort_unstable();
        let mut splitters: Vec<P> = samples.chunks(SAMPLES).skip(1).map(|chunk| chunk[0]).collect();
        splitters.dedup();
        let blocks = len.div_ceil(BLOCK_ROWS);
        type Buckets<P> = Vec<Vec<(P, u32)>>;
        let dealt: Vec<Mutex<Buckets<P>>> = (0..blocks).map(|_| Mutex::default()).collect();
        context.parallel(blocks, |block| {
            let from = block * BLOCK_ROWS;
            let part = &prefixes[from..len.min(from + BLOCK_ROWS)];
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
            *sorted[bucket].lock() = self.sort_pairs(pairs);
            Ok(())
        })?;
        Ok(sorted.into_iter().map(Mutex::into_inner).collect())
    }
}
