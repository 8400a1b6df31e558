//! Predicates moved into the domain of one segment's encoding.
//!
//! Constants become codes, offsets or keys; conditions on dictionary values are evaluated once per value; what the
//! range of the segment decides alone becomes [`Test::Never`] or [`Test::NotNull`].

use super::order::{FloatKey, KeyRange, NAN_KEY};
use super::{Encoding, Segment};
use crate::predicate::{Cmp, Prune, SegmentPredicate, VectorPredicate};
use crate::simd::{FloatRange, LaneBits, LaneRange};
use crate::{BloomFilter, KeyBitmap};
use inlay_types::byte_set::ByteSet;
use inlay_types::{Error, PhysicalType, Result, VECTOR_SIZE, Value, Vector};
use std::sync::Arc;

/// A predicate made ready for one segment by [`Segment::prepare`]; only that segment may run it.
#[derive(Debug)]
pub struct PreparedPredicate {
    pub(super) test: Test,
}

/// Bits of a key bitmap that pruning looks at for one zone.
const BITS_LOOKED_AT_MAX: i64 = 1 << 17;

/// What is done per row. NULL rows qualify for `Null` and `Everything` alone.
#[derive(Debug)]
pub(super) enum Test {
    Never,
    Everything,
    NotNull,
    Null,
    /// Lanes in a range; `keys` is the range as keys, of the values that are not excluded by `negate`.
    Range {
        lanes: LaneRange,
        keys: KeyRange,
    },
    /// Lanes whose bit is set.
    Bits {
        low: u64,
        span: u64,
        first_bit: u64,
        words: BitWords,
        keys: KeyRange,
    },
    /// Lanes in a sorted list.
    OneOf {
        lanes: Vec<u64>,
        keys: KeyRange,
    },
    Doubles {
        range: FloatRange<f64>,
        keys: KeyRange,
    },
    Reals {
        range: FloatRange<f32>,
        keys: KeyRange,
    },
    /// HUGEINT and wide DECIMAL that are not carried by 64 bits.
    Wide {
        low: i128,
        high: i128,
        negate: bool,
    },
    WideBitmap(Arc<KeyBitmap>),
    /// Strings between bounds, each with whether it is included.
    Strings {
        low: Option<(Vec<u8>, bool)>,
        high: Option<(Vec<u8>, bool)>,
        negate: bool,
    },
    StringEq {
        text: Vec<u8>,
        negate: bool,
    },
    StringIn(ByteSet),
    Bloom(Arc<BloomFilter>),
    /// Value by value: rare types, and constants of another type than the column.
    Values(SegmentPredicate),
    Generic(Arc<dyn VectorPredicate>),
    /// A bit per run.
    Runs(Vec<u64>),
    /// For the base, and the changed rows that qualify.
    Patched {
        base: Box<PreparedPredicate>,
        hits: Vec<u32>,
    },
}

#[derive(Debug)]
pub(super) enum BitWords {
    Shared(Arc<KeyBitmap>),
    Own(Vec<u64>),
}

impl Test {
    /// The bits of [`Test::Bits`].
    pub fn lane_bits(&self) -> Option<LaneBits<'_>> {
        let Self::Bits { low, span, first_bit, words, .. } = self else { return None };
        let words = match words {
            BitWords::Shared(bitmap) => bitmap.words(),
            BitWords::Own(words) => words,
        };
        Some(LaneBits { low: *low, span: *span, first_bit: *first_bit, words })
    }
}

/// Bounds of a predicate: from and to, each with whether it is included. Absent: unbounded.
struct Bounds<'a> {
    low: Option<(&'a Value, bool)>,
    high: Option<(&'a Value, bool)>,
    negate: bool,
}

impl<'a> Bounds<'a> {
    /// Those of a comparison or BETWEEN; `None` for other predicates. Constants are not NULL.
    fn of(predicate: &'a SegmentPredicate) -> Option<Self> {
        Some(match predicate {
            SegmentPredicate::Compare(op, value) => {
                let (open, closed) = (Some((value, false)), Some((value, true)));
                match op {
                    Cmp::Eq => Self { low: closed, high: closed, negate: false },
                    Cmp::NotEq => Self { low: closed, high: closed, negate: true },
                    Cmp::Lt => Self { low: None, high: open, negate: false },
                    Cmp::LtEq => Self { low: None, high: closed, negate: false },
                    Cmp::Gt => Self { low: open, high: None, negate: false },
                    Cmp::GtEq => Self { low: closed, high: None, negate: false },
                }
            }
            SegmentPredicate::Between { low, low_inclusive, high, high_inclusive } => {
                Self { low: Some((low, *low_inclusive)), high: Some((high, *high_inclusive)), negate: false }
            }
            _ => return None,
        })
    }
}

impl Segment {
    /// A predicate made ready for this segment: constants in the encoded domain, dictionary values evaluated.
    pub fn prepare(&self, predicate: &SegmentPredicate) -> Result<PreparedPredicate> {
        let test = self.test(predicate)?;
        let test = match test {
            Test::NotNull if self.null_count == 0 => Test::Everything,
            Test::NotNull | Test::Range { .. } if self.null_count == self.len => Test::Never,
            Test::Null if self.null_count == 0 => Test::Never,
            Test::Null if self.null_count == self.len => Test::Everything,
            other => other,
        };
        Ok(PreparedPredicate { test })
    }

    fn test(&self, predicate: &SegmentPredicate) -> Result<Test> {
        match &self.encoding {
            Encoding::Runs(runs) => return runs.test(predicate),
            Encoding::Patched(overlay) => return overlay.test(predicate),
            _ => {}
        }
        match predicate {
            SegmentPredicate::IsNull => return Ok(Test::Null),
            SegmentPredicate::IsNotNull => return Ok(Test::NotNull),
            _ if self.null_count == self.len => return Ok(Test::Never),
            SegmentPredicate::Compare(_, value) if value.is_null() => return Ok(Test::Never),
            SegmentPredicate::Between { low, high, .. } if low.is_null() || high.is_null() => {
                return Ok(Test::Never);
            }
            _ => {}
        }
        if let SegmentPredicate::Bloom(filter) = predicate
            && self.is_outside(filter)
        {
            return Ok(Test::Never);
        }
        match &self.encoding {
            Encoding::Constant(value) => self.test_constant(value, predicate),
            Encoding::Dictionary { dictionary, .. } => self.test_dictionary(dictionary.values(), predicate),
            Encoding::Frame { .. } => self.test_integers(predicate),
            Encoding::Plain(_) => match self.ty.physical() {
                PhysicalType::F32 => Ok(self.test_reals(predicate)),
                PhysicalType::F64 => Ok(self.test_doubles(predicate)),
                PhysicalType::View => Ok(test_strings(predicate)),
                PhysicalType::U128 | PhysicalType::Interval => Ok(other_test(predicate)),
                _ => self.test_integers(predicate),
            },
            // Bytes that hold a field are not there to be compared.
            Encoding::Fields(_) => Ok(other_test(predicate)),
            Encoding::Runs(_) | Encoding::Patched(_) => Err(wrong_encoding()),
        }
    }

    /// Whether the filter's range is disjoint from the zone map.
    fn is_outside(&self, filter: &BloomFilter) -> bool {
        match (filter.range(), &self.zone_map.min, &self.zone_map.max) {
            (Some((low, high)), Some(min), Some(max)) => {
                low.total_cmp(max).is_gt() || high.total_cmp(min).is_lt()
            }
            _ => false,
        }
    }

    fn test_constant(&self, value: &Vector, predicate: &SegmentPredicate) -> Result<Test> {
        let one = value.slice(0, 1);
        let holds = match predicate {
            SegmentPredicate::Bloom(filter) => filter.contains(hashes(&one)[0]),
            SegmentPredicate::Generic(generic) => {
                let mut rows = Vec::new();
                generic.select(&one, &mut rows)?;
                !rows.is_empty()
            }
            other => value_holds(other, &value.get(0)),
        };
        Ok(if holds { Test::NotNull } else { Test::Never })
    }

    fn test_dictionary(&self, values: &Vector, predicate: &SegmentPredicate) -> Result<Test> {
        let count = values.len();
        if let Some(bounds) = Bounds::of(predicate) {
            // The first code not below, and the first code above.
            let first = bounds.low.map_or(0, |(low, inclusive)| {
                partition(count, |code| {
                    let order = values.get(code).total_cmp(low);
                    order.is_lt() || !inclusive && order.is_eq()
                })
            });
            let end = bounds.high.map_or(count, |(high, inclusive)| {
                partition(count, |code| {
                    let order = values.get(code).total_cmp(high);
                    order.is_lt() || inclusive && order.is_eq()
                })
            });
            return Ok(self.range_of_codes(first, end, count, bounds.negate));
        }
        let mut words = vec![0u64; count.div_ceil(64)];
        let mut add = |code: usize| words[code / 64] |= 1 << (code % 64);
        match predicate {
            SegmentPredicate::In(list) => {
                for wanted in list.iter().filter(|v| !v.is_null()) {
                    let code = partition(count, |code| values.get(code).total_cmp(wanted).is_lt());
                    // Several codes may compare equal (0.0 and -0.0).
                    (code..count).take_while(|c| values.get(*c).total_cmp(wanted).is_eq()).for_each(&mut add);
                }
            }
            SegmentPredicate::Bloom(filter) => {
                let hashes = hashes(values);
                (0..count).filter(|code| filter.contains(hashes[*code])).for_each(add);
            }
            SegmentPredicate::Generic(generic) => {
                let mut rows = Vec::new();
                for start in (0..count).step_by(VECTOR_SIZE) {
                    rows.clear();
                    generic.select(&values.slice(start, VECTOR_SIZE.min(count - start)), &mut rows)?;
                    rows.iter().for_each(|row| add(start + *row as usize));
                }
            }
            other => (0..count).filter(|code| value_holds(other, &values.get(*code))).for_each(add),
        }
        let set: usize = words.iter().map(|w| w.count_ones() as usize).sum();
        let Some(first) = words.iter().position(|w| *w != 0) else { return Ok(Test::Never) };
        let first = first * 64 + words[first].trailing_zeros() as usize;
        let is_set = |code: usize| words[code / 64] >> (code % 64) & 1 == 1;
        if (first..first + set).all(is_set) {
            return Ok(self.range_of_codes(first, first + set, count, false));
        }
        let keys = KeyRange { low: first as i64, high: count as i64 - 1 };
        Ok(Test::Bits { low: 0, span: count as u64 - 1, first_bit: 0, words: BitWords::Own(words), keys })
    }

    fn range_of_codes(&self, first: usize, end: usize, count: usize, negate: bool) -> Test {
        if first >= end {
            return if negate { Test::NotNull } else { Test::Never };
        }
        if first == 0 && end == count {
            return if negate { Test::Never } else { Test::NotNull };
        }
        Test::Range {
            lanes: LaneRange { low: first as u64, span: (end - 1 - first) as u64, negate },
            keys: KeyRange { low: first as i64, high: end as i64 - 1 },
        }
    }

    /// Smallest and largest integer of the segment.
    fn stored_range(&self) -> Option<(i128, i128)> {
        Some((self.zone_map.min.as_ref()?.as_stored_i128()?, self.zone_map.max.as_ref()?.as_stored_i128()?))
    }

    fn lane_of(&self, stored: i128) -> u64 {
        match &self.encoding {
            Encoding::Frame { base, .. } => (stored - base) as u64,
            _ => stored as u64 & self.width_mask(),
        }
    }

    /// Ones in the width of a plain integer.
    fn width_mask(&self) -> u64 {
        let size = self.ty.physical().size();
        if size >= 8 { u64::MAX } else { (1 << (8 * size)) - 1 }
    }

    fn key_of(&self, stored: i128) -> i64 {
        match (&self.encoding, self.ty.physical()) {
            (Encoding::Plain(_), PhysicalType::U64) => (stored as u64 ^ 1 << 63) as i64,
            (Encoding::Frame { base, .. }, _) => (stored - base) as i64,
            _ => stored as i64,
        }
    }

    /// Plain and frame-of-reference integers.
    fn test_integers(&self, predicate: &SegmentPredicate) -> Result<Test> {
        let Some((min, max)) = self.stored_range() else { return Ok(Test::Never) };
        let is_wide = self.ty.physical() == PhysicalType::I128 && matches!(self.encoding, Encoding::Plain(_));
        if let Some(bounds) = Bounds::of(predicate) {
            let number = |v: &Value| self.stored_constant(v);
            let low = match bounds.low {
                None => Some(min),
                Some((low, inclusive)) => number(low).map(|v| v.saturating_add(i128::from(!inclusive))),
            };
            let high = match bounds.high {
                None => Some(max),
                Some((high, inclusive)) => number(high).map(|v| v.saturating_sub(i128::from(!inclusive))),
            };
            let (Some(low), Some(high)) = (low, high) else { return Ok(Test::Values(predicate.clone())) };
            let (low, high, negate) = (low.max(min), high.min(max), bounds.negate);
            return Ok(if low > high {
                if negate { Test::NotNull } else { Test::Never }
            } else if low == min && high == max {
                if negate { Test::Never } else { Test::NotNull }
            } else if is_wide {
                Test::Wide { low, high, negate }
            } else {
                self.lane_range(low, high, negate)
            });
        }
        match predicate {
            SegmentPredicate::In(list) => Ok(self.test_integer_list(list, predicate, (min, max), is_wide)),
            SegmentPredicate::KeyBitmap(bitmap) => {
                let (low, high) = (i128::from(bitmap.min()).max(min), i128::from(bitmap.max()).min(max));
                if low > high || !bitmap.intersects(low as i64, high as i64) {
                    return Ok(Test::Never);
                }
                if is_wide {
                    return Ok(Test::WideBitmap(Arc::clone(bitmap)));
                }
                Ok(Test::Bits {
                    low: self.lane_of(low),
                    span: (high - low) as u64,
                    first_bit: (low - i128::from(bitmap.min())) as u64,
                    words: BitWords::Shared(Arc::clone(bitmap)),
                    keys: KeyRange { low: self.key_of(low), high: self.key_of(high) },
                })
            }
            other => Ok(other_test(other)),
        }
    }

    fn lane_range(&self, low: i128, high: i128, negate: bool) -> Test {
        Test::Range {
            lanes: LaneRange { low: self.lane_of(low), span: (high - low) as u64, negate },
            keys: KeyRange { low: self.key_of(low), high: self.key_of(high) },
        }
    }

    fn test_integer_list(
        &self,
        list: &[Value],
        predicate: &SegmentPredicate,
        (min, max): (i128, i128),
        is_wide: bool,
    ) -> Test {
        let wanted = list.iter().filter(|v| !v.is_null()).map(|v| self.stored_constant(v));
        let Some(mut wanted) = wanted.collect::<Option<Vec<i128>>>() else {
            return Test::Values(predicate.clone());
        };
        wanted.retain(|v| (min..=max).contains(v));
        wanted.sort_unstable();
        wanted.dedup();
        let (Some(&low), Some(&high)) = (wanted.first(), wanted.last()) else { return Test::Never };
        if is_wide {
            return if low == high {
                Test::Wide { low, high, negate: false }
            } else {
                Test::Values(predicate.clone())
            };
        }
        let span = (high - low) as u128;
        if span + 1 == wanted.len() as u128 {
            return self.lane_range(low, high, false);
        }
        let keys = KeyRange { low: self.key_of(low), high: self.key_of(high) };
        if span < 1 << 20 {
            let mut words = vec![0u64; span as usize / 64 + 1];
            for value in wanted {
                let bit = (value - low) as usize;
                words[bit / 64] |= 1 << (bit % 64);
            }
            let words = BitWords::Own(words);
            return Test::Bits { low: self.lane_of(low), span: span as u64, first_bit: 0, words, keys };
        }
        let mut lanes: Vec<u64> = wanted.iter().map(|v| self.lane_of(*v)).collect();
        lanes.sort_unstable();
        Test::OneOf { lanes, keys }
    }

    /// A constant in the domain of stored integers; `None` when its type is not the column's.
    fn stored_constant(&self, value: &Value) -> Option<i128> {
        use inlay_types::LogicalType::Decimal;
        let fits = match (value.logical_type(), self.ty.clone()) {
            (Decimal { scale: a, .. }, Decimal { scale: b, .. }) => a == b,
            (a, b) => a == b || a.is_integer() && b.is_integer(),
        };
        value.as_stored_i128().filter(|_| fits)
    }

    fn test_doubles(&self, predicate: &SegmentPredicate) -> Test {
        match float_range::<f64>(predicate, |v| if let Value::Double(v) = v { Some(*v) } else { None }) {
            Some((range, keys)) => Test::Doubles { range, keys },
            None => other_test(predicate),
        }
    }

    fn test_reals(&self, predicate: &SegmentPredicate) -> Test {
        match float_range::<f32>(predicate, |v| if let Value::Real(v) = v { Some(*v) } else { None }) {
            Some((range, keys)) => Test::Reals { range, keys },
            None => other_test(predicate),
        }
    }

    /// What the zone map of the segment says of a prepared predicate.
    pub fn prune_prepared(&self, prepared: &PreparedPredicate) -> Prune {
        match &prepared.test {
            Test::Never => Prune::None,
            Test::Everything => Prune::All,
            Test::NotNull if self.null_count == 0 => Prune::All,
            Test::Patched { base, hits } => match &self.encoding {
                Encoding::Patched(overlay) => overlay.prune(base, hits),
                _ => Prune::Some,
            },
            test => {
                let mut zones = self.vector_zones.iter().copied();
                let mut whole = KeyRange::EMPTY;
                zones.by_ref().filter(|z| !z.is_empty()).for_each(|z| {
                    whole.add(z.low);
                    whole.add(z.high);
                });
                if whole.is_empty() { Prune::Some } else { self.prune_zone(test, whole, self.null_count > 0) }
            }
        }
    }

    /// What the zone map of rows `VECTOR_SIZE * index ..` says of a prepared predicate.
    pub fn prune_vector(&self, index: usize, prepared: &PreparedPredicate) -> Prune {
        match &prepared.test {
            Test::Never => Prune::None,
            Test::Everything => Prune::All,
            Test::Patched { base, hits } => match &self.encoding {
                Encoding::Patched(overlay) => overlay.prune_vector(index, base, hits),
                _ => Prune::Some,
            },
            Test::Runs(holds) => match &self.encoding {
                Encoding::Runs(runs) => runs.prune_vector(self.vector_rows(index), holds),
                _ => Prune::Some,
            },
            test => match self.vector_zones.get(index) {
                Some(zone) if zone.is_empty() && !matches!(test, Test::Null | Test::NotNull) => Prune::None,
                Some(zone) if !zone.is_empty() => self.prune_zone(test, *zone, self.has_null(index)),
                _ => Prune::Some,
            },
        }
    }

    fn has_null(&self, index: usize) -> bool {
        let rows = self.vector_rows(index);
        self.validity.as_ref().is_some_and(|v| v.slice(rows.start, rows.len()).count_ones() < rows.len())
    }

    fn prune_zone(&self, test: &Test, zone: KeyRange, has_null: bool) -> Prune {
        let all = if has_null { Prune::Some } else { Prune::All };
        let (keys, negate, is_exact) = match test {
            Test::Range { lanes, keys } => (*keys, lanes.negate, true),
            Test::Doubles { range, keys } => (*keys, range.negate, true),
            Test::Reals { range, keys } => (*keys, range.negate, true),
            Test::Bits { keys, .. } | Test::OneOf { keys, .. } => (*keys, false, false),
            Test::NotNull => return all,
            _ => return Prune::Some,
        };
        if keys.is_empty() || keys.is_disjoint(zone) {
            return if negate { all } else { Prune::None };
        }
        if is_exact && keys.contains(zone) {
            return if negate { Prune::None } else { all };
        }
        if let Test::Bits { words: BitWords::Shared(bitmap), first_bit, keys, .. } = test {
            let from = zone.low.max(keys.low) - keys.low;
            let to = zone.high.min(keys.high) - keys.low;
            let start = bitmap.min() + *first_bit as i64;
            if to - from <= BITS_LOOKED_AT_MAX && !bitmap.intersects(start + from, start + to) {
                return Prune::None;
            }
        }
        Prune::Some
    }
}

fn float_range<F: FloatKey>(
    predicate: &SegmentPredicate,
    number: impl Fn(&Value) -> Option<F>,
) -> Option<(FloatRange<F>, KeyRange)> {
    let bounds = Bounds::of(predicate)?;
    let mut keys = KeyRange { low: i64::MIN, high: NAN_KEY };
    let mut is_empty = false;
    if let Some((low, inclusive)) = bounds.low {
        keys.low = number(low)?.key();
        if !inclusive {
            is_empty |= keys.low == NAN_KEY;
            // Above infinity comes NaN.
            keys.low = if keys.low == F::infinity().key() { NAN_KEY } else { keys.low.saturating_add(1) };
        }
    }
    if let Some((high, inclusive)) = bounds.high {
        keys.high = number(high)?.key();
        if !inclusive {
            // Below NaN comes infinity. Key -1 would be -0.0, which is as good as 0.0.
            keys.high = match keys.high {
                NAN_KEY => F::infinity().key(),
                0 => -2,
                key => key.saturating_sub(1),
            };
        }
    }
    if is_empty {
        keys = KeyRange::EMPTY;
    }
    let nan = keys.high == NAN_KEY && !keys.is_empty();
    let infinity = F::infinity().key();
    let lowest = infinity_negative::<F>();
    let (low, high) = (keys.low.max(lowest), keys.high.min(infinity));
    let (low, high) =
        if low > high { (F::infinity(), F::from_key(lowest)) } else { (F::from_key(low), F::from_key(high)) };
    Some((FloatRange { low, high, nan, negate: bounds.negate }, keys))
}

fn infinity_negative<F: FloatKey>() -> i64 {
    // Monotonic bits: the key of -x is the complement of the key of x.
    !F::infinity().key()
}

fn test_strings(predicate: &SegmentPredicate) -> Test {
    let text = |v: &Value| match v {
        Value::Varchar(text) => Some(text.clone().into_bytes()),
        Value::Blob(bytes) => Some(bytes.clone()),
        _ => None,
    };
    match predicate {
        SegmentPredicate::Compare(op @ (Cmp::Eq | Cmp::NotEq), value) => match text(value) {
            Some(text) => Test::StringEq { text, negate: *op == Cmp::NotEq },
            None => Test::Values(predicate.clone()),
        },
        SegmentPredicate::In(list) => {
            match list.iter().filter(|v| !v.is_null()).map(text).collect::<Option<ByteSet>>() {
                Some(set) if set.is_empty() => Test::Never,
                Some(set) => Test::StringIn(set),
                None => Test::Values(predicate.clone()),
            }
        }
        other => {
            let Some(bounds) = Bounds::of(other) else { return other_test(other) };
            let bound = |side: Option<(&Value, bool)>| match side {
                None => Some(None),
                Some((value, inclusive)) => text(value).map(|t| Some((t, inclusive))),
            };
            match (bound(bounds.low), bound(bounds.high)) {
                (Some(low), Some(high)) => Test::Strings { low, high, negate: bounds.negate },
                _ => Test::Values(predicate.clone()),
            }
        }
    }
}

/// The test of a predicate that no encoding helps with.
fn other_test(predicate: &SegmentPredicate) -> Test {
    match predicate {
        SegmentPredicate::Bloom(filter) => Test::Bloom(Arc::clone(filter)),
        SegmentPredicate::Generic(generic) => Test::Generic(Arc::clone(generic)),
        other => Test::Values(other.clone()),
    }
}

/// Number of leading codes for which `before` holds.
fn partition(count: usize, before: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = (low + high) / 2;
        if before(middle) { low = middle + 1 } else { high = middle }
    }
    low
}

/// Kernel hashes of a vector without NULLs.
pub(super) fn hashes(vector: &Vector) -> Vec<u64> {
    let mut hashes = vec![0; vector.len()];
    inlay_types::hash::hash(vector, vector.len(), &mut hashes);
    hashes
}

/// Whether one value satisfies a predicate that needs no vector; the definition that all tests agree with.
pub(super) fn value_holds(predicate: &SegmentPredicate, value: &Value) -> bool {
    match predicate {
        SegmentPredicate::IsNull => value.is_null(),
        _ if value.is_null() => false,
        SegmentPredicate::IsNotNull => true,
        SegmentPredicate::Compare(op, constant) => !constant.is_null() && op.holds(value.total_cmp(constant)),
        SegmentPredicate::Between { low, low_inclusive, high, high_inclusive } => {
            let (from, to) = (value.total_cmp(low), value.total_cmp(high));
            !low.is_null()
                && !high.is_null()
                && (from.is_gt() || *low_inclusive && from.is_eq())
                && (to.is_lt() || *high_inclusive && to.is_eq())
        }
        SegmentPredicate::In(list) => list.iter().any(|v| !v.is_null() && v.total_cmp(value).is_eq()),
        SegmentPredicate::KeyBitmap(set) => {
            value.as_stored_i128().and_then(|v| i64::try_from(v).ok()).is_some_and(|v| set.contains(v))
        }
        SegmentPredicate::Bloom(_) | SegmentPredicate::Generic(_) => true,
    }
}

/// For segments asked something that makes no sense for their type.
pub(super) fn wrong_encoding() -> Error {
    Error::internal("predicate was prepared for another segment")
}
