//! `quantile_cont`, `quantile_disc`, `median` and `mad`: all values of a group are kept and looked at in order at the end.
//!
//! For `n` values in order, the continuous quantile of `q` lies at position `q * (n - 1)`, between two values if need be;
//! the discrete one is the first value that at least `q * n` values are not above. Negative fractions count from the
//! largest value. `mad` is the median of the distances to the median.
//!
//! Results are made of what gives values by rank ([`Ranked`]): the kept values, or what `passes` has found of values that
//! are read again. Both give the same: values that differ have an order, also if they are equal in SQL.

use super::bits::unsupported;
use super::by_rank::{ByRank, FrameValues, RankedFrames};
use super::collect::{GroupRows, KeptRows, KeptRowsMut};
use super::column::Column;
use super::fractions::Parameter;
use super::order::order_floats;
use super::packing::{Results, is_list};
use super::passes::{Keyed, Known, QuantilePasses};
use super::selection::{self, order_distinct};
use super::{GroupIds, GroupedAccumulator, Passes, same_kind};
use crate::function::AggregateFunction;
use inlay_types::datetime::is_finite_timestamp;
use inlay_types::limits;
use inlay_types::{Interval, LogicalType, Native, PhysicalType, Result, Vector};
use std::any::Any;
use std::cmp::Ordering;
use std::ops::Range;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Continuous,
    Discrete,
    Deviation,
}

pub(super) struct Quantiles {
    values: Column,
    rows: GroupRows,
    parameter: Parameter,
    mode: Mode,
    function: AggregateFunction,
}

/// `quantile_cont` and `median`.
pub fn continuous(f: &AggregateFunction, _total: bool) -> Result<Box<dyn GroupedAccumulator>> {
    create(f, Mode::Continuous)
}

/// `quantile_disc`.
pub fn discrete(f: &AggregateFunction, _total: bool) -> Result<Box<dyn GroupedAccumulator>> {
    create(f, Mode::Discrete)
}

/// `mad`.
pub fn deviation(f: &AggregateFunction, _total: bool) -> Result<Box<dyn GroupedAccumulator>> {
    create(f, Mode::Deviation)
}

fn create(function: &AggregateFunction, mode: Mode) -> Result<Box<dyn GroupedAccumulator>> {
    Ok(Box::new(Quantiles::new(function, mode, Parameter::default())))
}

/// A carrier whose values are in order.
pub(super) trait Sortable: Native {
    fn order(&self, other: &Self) -> Ordering;
}

/// A carrier with values between any two.
trait Interpolated: Sortable {
    /// `low + (high - low) * weight`; integers are rounded, or cut off.
    fn between(low: Self, high: Self, weight: f64, rounds: bool) -> Self;
    /// `|self - other|`.
    fn distance(self, other: Self) -> Self;
}

macro_rules! sortable {
    ($($t:ty),*) => { $(
        impl Sortable for $t {
            #[inline]
            fn order(&self, other: &Self) -> Ordering {
                self.cmp(other)
            }
        }
    )* };
}
sortable!(i8, i16, i32, i64, i128, u8, u16, u32, u64, u128);
impl Sortable for f32 {
    fn order(&self, other: &Self) -> Ordering {
        order_floats(f64::from(*self), f64::from(*other))
    }
}
impl Sortable for f64 {
    fn order(&self, other: &Self) -> Ordering {
        order_floats(*self, *other)
    }
}
impl Sortable for Interval {
    fn order(&self, other: &Self) -> Ordering {
        let order = self.order_key().cmp(&other.order_key());
        order.then_with(|| (self.months, self.days).cmp(&(other.months, other.days)))
    }
}

/// `low + delta * weight` of integers, without losing digits of `low`.
fn between_integers(low: i128, delta: i128, weight: f64, rounds: bool) -> i128 {
    let part = delta as f64 * weight;
    if rounds {
        return low.saturating_add(part.round() as i128).min(low.saturating_add(delta));
    }
    // 0.3 of three steps is a little less than 0.9 of one: what is as good as a whole number is not cut off.
    let near = (part - part.round()).abs() <= ((delta as f64).abs() * 1e-9).min(1e-3);
    let part = if near { part.round() } else { part };
    let value = low.saturating_add(part.floor() as i128).min(low.saturating_add(delta));
    // Cut off towards zero.
    if value < 0 && part.fract() != 0.0 { value + 1 } else { value }
}

macro_rules! interpolated_integer {
    ($($t:ty),*) => { $(
        impl Interpolated for $t {
            fn between(low: Self, high: Self, weight: f64, rounds: bool) -> Self {
                between_integers(low as i128, high as i128 - low as i128, weight, rounds) as Self
            }
            fn distance(self, other: Self) -> Self {
                self.saturating_sub(other).saturating_abs()
            }
        }
    )* };
}
interpolated_integer!(i16, i32, i64);
impl Interpolated for i128 {
    fn between(low: Self, high: Self, weight: f64, rounds: bool) -> Self {
        between_integers(low, high.saturating_sub(low), weight, rounds)
    }
    fn distance(self, other: Self) -> Self {
        self.saturating_sub(other).saturating_abs()
    }
}
// Shares are added: never the difference, which may be infinite. Digits are those of DuckDB.
impl Interpolated for f64 {
    fn between(low: Self, high: Self, weight: f64, _rounds: bool) -> Self {
        if low == high { low } else { low * (1.0 - weight) + high * weight }
    }
    fn distance(self, other: Self) -> Self {
        (self - other).abs()
    }
}
impl Interpolated for f32 {
    fn between(low: Self, high: Self, weight: f64, _rounds: bool) -> Self {
        f64::between(low.into(), high.into(), weight, true) as f32
    }
    fn distance(self, other: Self) -> Self {
        (self - other).abs()
    }
}
impl Interpolated for Interval {
    fn between(low: Self, high: Self, weight: f64, _rounds: bool) -> Self {
        let (low, high) = (low.order_key(), high.order_key());
        interval_of_micros(between_integers(low, high - low, weight, true))
    }
    fn distance(self, other: Self) -> Self {
        interval_of_micros((self.order_key() - other.order_key()).abs())
    }
}

pub(super) fn interval_of_micros(micros: i128) -> Interval {
    const DAY: i128 = 86_400_000_000;
    let days = (micros / DAY).clamp(i128::from(i32::MIN), i128::from(i32::MAX));
    Interval { months: 0, days: days as i32, micros: (micros - days * DAY) as i64 }
}

/// Positions of a fraction among `n > 0` values: between two of them, and the weight of the upper one.
fn position(fraction: f64, n: usize) -> (usize, usize, f64) {
    let last = n - 1;
    let exact = fraction.abs() * last as f64;
    let whole = exact.floor().clamp(0.0, last as f64);
    let part = (exact - whole).clamp(0.0, 1.0);
    let (first, is_between) = (whole as usize, part > 0.0 && (whole as usize) < last);
    match (fraction < 0.0, is_between) {
        (false, false) => (first, first, 0.0),
        (false, true) => (first, first + 1, part),
        (true, false) => (last - first, last - first, 0.0),
        (true, true) => (last - first - 1, last - first, 1.0 - part),
    }
}

/// The position of a discrete quantile among `n > 0` values.
fn discrete_position(fraction: f64, n: usize) -> usize {
    let below = (n as f64 - n as f64 * fraction.abs()).floor().clamp(0.0, n as f64) as usize;
    let index = (n - below).max(1) - 1;
    if fraction < 0.0 { n - 1 - index } else { index }
}

/// Puts the distances of values to another one into their place.
pub(super) type Distances<T> = fn(&mut [T], T);

/// The values of one group by their rank.
pub(super) trait Ranked<T> {
    /// The number of values, above 0.
    fn count(&self) -> usize;
    /// The value at `index` in order.
    fn nth(&mut self, index: usize) -> T;
    /// That and the next one; it is again that one if it is the last.
    fn pair(&mut self, index: usize) -> (T, T);
    /// Goes on with the distances of all values to `middle` in their place.
    fn replace(&mut self, distances: Distances<T>, middle: T);
}

impl<T: Sortable> Ranked<T> for Vec<T> {
    fn count(&self) -> usize {
        self.len()
    }

    fn nth(&mut self, index: usize) -> T {
        *self.select_nth_unstable_by(index, T::order).1
    }

    fn pair(&mut self, index: usize) -> (T, T) {
        let (_, below, above) = self.select_nth_unstable_by(index, T::order);
        let below = *below;
        (below, above.iter().copied().min_by(T::order).unwrap_or(below))
    }

    fn replace(&mut self, distances: Distances<T>, middle: T) {
        distances(self, middle);
    }
}

/// The discrete quantile.
fn discrete_quantile<T>(values: &mut dyn Ranked<T>, fraction: f64) -> T {
    values.nth(discrete_position(fraction, values.count()))
}

/// The values that a continuous quantile lies between, and the weight of the upper one.
fn neighbours<T: Copy>(values: &mut dyn Ranked<T>, fraction: f64) -> (T, T, f64) {
    let (low, high, weight) = position(fraction, values.count());
    if high == low {
        let value = values.nth(low);
        return (value, value, 0.0);
    }
    let (low, high) = values.pair(low);
    (low, high, weight)
}

fn interpolate<T: Interpolated>(values: &mut dyn Ranked<T>, fraction: f64, rounds: bool) -> T {
    let (low, high, weight) = neighbours(values, fraction);
    if weight == 0.0 { low } else { T::between(low, high, weight, rounds) }
}

/// The same of moments: beside infinity there is nothing in between.
fn interpolate_moments(values: &mut dyn Ranked<i64>, fraction: f64) -> i64 {
    let (low, high, weight) = neighbours(values, fraction);
    match () {
        () if weight == 0.0 || !is_finite_timestamp(low) => low,
        () if !is_finite_timestamp(high) => high,
        () => i64::between(low, high, weight, true),
    }
}

/// The median of the distances to the median.
fn median_deviation<T: Interpolated>(values: &mut dyn Ranked<T>, rounds: bool) -> T {
    let median = interpolate(values, 0.5, rounds);
    let distances = |values: &mut [T], median: T| {
        values.iter_mut().for_each(|value| *value = value.distance(median));
    };
    values.replace(distances, median);
    interpolate(values, 0.5, rounds)
}

/// An integer that is in the order of floats, with -0.0 before 0.0, and above infinity NaN. Integers are told apart without
/// branches.
pub(super) fn float_key(value: f64) -> i64 {
    let value = if value.is_nan() { f64::NAN.abs() } else { value };
    flipped(value.to_bits() as i64)
}

/// Negative numbers the other way round; twice is what it was.
fn flipped(bits: i64) -> i64 {
    bits ^ ((bits >> 63) as u64 >> 1) as i64
}

/// The float with a key.
fn float_of(key: i64) -> f64 {
    f64::from_bits(flipped(key) as u64)
}

/// A carrier of floats, which are looked at by their keys.
trait Float: Interpolated + Into<f64> {
    /// The value, which was one of this type.
    fn narrow(value: f64) -> Self;
}
impl Float for f32 {
    fn narrow(value: f64) -> Self {
        value as f32
    }
}
impl Float for f64 {
    fn narrow(value: f64) -> Self {
        value
    }
}

/// The quantile of floats with these keys.
fn interpolate_floats<T: Float>(keys: &mut dyn Ranked<i64>, fraction: f64) -> T {
    let (low, high, weight) = neighbours(keys, fraction);
    let [low, high] = [low, high].map(|key| T::narrow(float_of(key)));
    if weight == 0.0 { low } else { T::between(low, high, weight, true) }
}

/// The median of the distances to the median of floats with these keys.
fn median_deviation_of_floats<T: Float>(keys: &mut dyn Ranked<i64>) -> T {
    let median: T = interpolate_floats(keys, 0.5);
    let distances = |keys: &mut [i64], median: i64| {
        let median = T::narrow(float_of(median));
        let distance = |key: i64| T::narrow(float_of(key)).distance(median);
        keys.iter_mut().for_each(|key| *key = float_key(distance(*key).into()));
    };
    keys.replace(distances, float_key(median.into()));
    interpolate_floats(keys, 0.5)
}

/// The groups that results are made of.
pub(super) enum Groups<'a> {
    /// Groups whose values are kept.
    Kept(Range<usize>),
    /// One, of which some values are known.
    Read(&'a mut Known),
    /// Frames of rows of a vector, found by their rank.
    Frames(&'a Vector, &'a dyn RankedFrames),
}

impl Groups<'_> {
    fn len(&self) -> usize {
        match self {
            Groups::Kept(groups) => groups.len(),
            Groups::Read(_) => 1,
            Groups::Frames(_, frames) => frames.frame_count(),
        }
    }
}

/// So many values of a group are read between looks at the interrupt; they fit a core's cache.
const VALUES_AT_ONCE: usize = 1 << 14;

impl Quantiles {
    fn new(function: &AggregateFunction, mode: Mode, parameter: Parameter) -> Self {
        let values = Column::new(function.arg_types[0].clone());
        Self { values, rows: GroupRows::default(), parameter, mode, function: function.clone() }
    }

    /// Passes that keep `capacity` values at a time.
    pub(super) fn read(&self, capacity: usize) -> QuantilePasses {
        let quantiles = Self::new(&self.function, self.mode, self.parameter.clone());
        let known = Known::new(&self.function.arg_types[0], capacity, self.mode == Mode::Deviation);
        QuantilePasses::new(quantiles, known)
    }

    /// Remembers the fractions.
    pub(super) fn learn(&mut self, argument: Option<&&Vector>, len: usize) {
        self.parameter.learn(argument, len);
    }

    fn name(&self) -> &str {
        &self.function.name
    }

    fn no_results(&self, capacity: usize) -> Results {
        let ty = &self.function.return_type;
        // One fraction of lists is no list of values.
        if *ty == self.function.arg_types[0] {
            Results::single(ty, capacity)
        } else {
            Results::new(ty, capacity)
        }
    }

    /// Calls `result` with the values of each group that has some, and each fraction.
    fn each<T: Keyed, R: Native>(
        &self,
        groups: Groups<'_>,
        fractions: &[f64],
        result: impl Fn(&mut dyn Ranked<T>, f64) -> R,
    ) -> Result<Vector> {
        self.each_key(groups, fractions, |value: T| value, result)
    }

    /// The same of floats, with their keys.
    fn each_float<T: Float, R: Native>(
        &self,
        groups: Groups<'_>,
        fractions: &[f64],
        result: impl Fn(&mut dyn Ranked<i64>, f64) -> R,
    ) -> Result<Vector> {
        self.each_key(groups, fractions, |value: T| float_key(value.into()), result)
    }

    /// Calls `each` with the values of a group, some at a time.
    fn for_values(&self, group: u32, mut each: impl FnMut(Vector)) -> Result<()> {
        if let Some(pieces) = self.rows.pieces(group) {
            for piece in pieces {
                for from in piece.clone().step_by(VALUES_AT_ONCE) {
                    limits::check()?;
                    let len = (piece.end - from).min(VALUES_AT_ONCE as u32);
                    each(self.values.to_vector(from as usize, len as usize));
                }
            }
            return Ok(());
        }
        for rows in self.rows.rows(group).chunks(VALUES_AT_ONCE) {
            if rows.len() == VALUES_AT_ONCE {
                limits::check()?;
            }
            each(self.values.gather(rows));
        }
        Ok(())
    }

    fn each_key<T: Native, K: Keyed, R: Native>(
        &self,
        groups: Groups<'_>,
        fractions: &[f64],
        key: impl Fn(T) -> K,
        result: impl Fn(&mut dyn Ranked<K>, f64) -> R,
    ) -> Result<Vector> {
        let mut results = self.no_results(groups.len());
        match groups {
            Groups::Kept(groups) => {
                let mut keys = Vec::new();
                for group in groups {
                    keys.clear();
                    self.for_values(group as u32, |values| {
                        keys.extend(values.values::<T>().iter().map(|value| key(*value)));
                    })?;
                    if keys.is_empty() {
                        results.push_null();
                        continue;
                    }
                    for &fraction in fractions {
                        results.child().push_native(result(&mut keys, fraction));
                    }
                    results.end_row();
                }
            }
            Groups::Frames(values, frames) => {
                let values = values.values::<T>();
                let value = |row: u32| key(values[row as usize]);
                for frame in 0..frames.frame_count() {
                    if frames.row_count(frame) == 0 {
                        results.push_null();
                        continue;
                    }
                    for &fraction in fractions {
                        let mut values = FrameValues::new(frames, frame, &value);
                        results.child().push_native(result(&mut values, fraction));
                    }
                    results.end_row();
                }
            }
            Groups::Read(known) if known.is_empty() => results.push_null(),
            Groups::Read(known) => {
                let found: Vec<R> = fractions.iter().map(|fraction| result(known, *fraction)).collect();
                if known.is_complete() {
                    found.iter().for_each(|value| results.child().push_native(*value));
                    results.end_row();
                } else {
                    results.push_null();
                }
            }
        }
        results.finish()
    }

    fn strings(&self, groups: Groups<'_>, fractions: &[f64]) -> Result<Vector> {
        let mut results = self.no_results(groups.len());
        let ty = &self.function.arg_types[0];
        match groups {
            Groups::Kept(groups) => {
                for group in groups {
                    let mut rows = self.rows.rows(group as u32).to_vec();
                    if rows.is_empty() {
                        results.push_null();
                        continue;
                    }
                    let bytes = |row: u32| self.values.bytes(row as usize);
                    for &fraction in fractions {
                        let index = discrete_position(fraction, rows.len());
                        let order = |a: &u32, b: &u32| order_distinct(ty, bytes(*a), bytes(*b));
                        let row = *rows.select_nth_unstable_by(index, order).1;
                        results.child().push_bytes(bytes(row));
                    }
                    results.end_row();
                }
            }
            Groups::Frames(values, frames) => {
                for frame in 0..frames.frame_count() {
                    let count = frames.row_count(frame);
                    if count == 0 {
                        results.push_null();
                        continue;
                    }
                    for &fraction in fractions {
                        let row = frames.row(frame, discrete_position(fraction, count));
                        results
                            .child()
                            .push_bytes(values.views()[row as usize].bytes(values.heap().buffers()));
                    }
                    results.end_row();
                }
            }
            Groups::Read(known) if known.is_empty() => results.push_null(),
            Groups::Read(known) => {
                let count = known.len();
                let bytes = |fraction: &f64| known.bytes(discrete_position(*fraction, count));
                let found: Vec<Vec<u8>> = fractions.iter().map(bytes).collect();
                if known.is_complete() {
                    found.iter().for_each(|bytes| results.child().push_bytes(bytes));
                    results.end_row();
                } else {
                    results.push_null();
                }
            }
        }
        results.finish()
    }

    fn discrete(&self, groups: Groups<'_>, fractions: &[f64]) -> Result<Vector> {
        macro_rules! of {
            ($t:ty) => {
                self.each(groups, fractions, discrete_quantile::<$t>)
            };
        }
        macro_rules! of_floats {
            ($t:ty) => {
                self.each_float::<$t, $t>(groups, fractions, |keys, fraction| {
                    Float::narrow(float_of(discrete_quantile(keys, fraction)))
                })
            };
        }
        match self.function.arg_types[0].physical() {
            PhysicalType::Bool | PhysicalType::U8 => of!(u8),
            PhysicalType::I8 => of!(i8),
            PhysicalType::I16 => of!(i16),
            PhysicalType::I32 => of!(i32),
            PhysicalType::I64 => of!(i64),
            PhysicalType::I128 => of!(i128),
            PhysicalType::U16 => of!(u16),
            PhysicalType::U32 => of!(u32),
            PhysicalType::U64 => of!(u64),
            PhysicalType::U128 => of!(u128),
            PhysicalType::F32 => of_floats!(f32),
            PhysicalType::F64 => of_floats!(f64),
            PhysicalType::Interval => of!(Interval),
            PhysicalType::View => self.strings(groups, fractions),
        }
    }

    fn continuous(&self, groups: Groups<'_>, fractions: &[f64]) -> Result<Vector> {
        let rounds = self.rounds();
        macro_rules! of {
            ($t:ty) => {
                self.each::<$t, $t>(groups, fractions, |values, fraction| {
                    interpolate(values, fraction, rounds)
                })
            };
        }
        match self.function.arg_types[0].physical() {
            PhysicalType::I16 => of!(i16),
            PhysicalType::I32 => of!(i32),
            PhysicalType::I64 if self.function.arg_types[0].is_timestamp() => {
                self.each(groups, fractions, interpolate_moments)
            }
            PhysicalType::I64 => of!(i64),
            PhysicalType::I128 => of!(i128),
            PhysicalType::F32 => self.each_float::<f32, f32>(groups, fractions, interpolate_floats),
            PhysicalType::F64 => self.each_float::<f64, f64>(groups, fractions, interpolate_floats),
            PhysicalType::Interval => of!(Interval),
            _ => Err(unsupported(&self.function)),
        }
    }

    fn deviations(&self, groups: Groups<'_>) -> Result<Vector> {
        let rounds = self.rounds();
        let once = [0.5];
        macro_rules! of {
            ($t:ty) => {
                self.each::<$t, $t>(groups, &once, |values, _| median_deviation(values, rounds))
            };
        }
        match self.function.arg_types[0].physical() {
            PhysicalType::I16 => of!(i16),
            PhysicalType::I32 => of!(i32),
            PhysicalType::I64 if self.function.return_type == LogicalType::Interval => {
                self.each(groups, &once, |values: &mut dyn Ranked<i64>, _| {
                    interval_of_micros(i128::from(median_deviation(values, rounds)))
                })
            }
            PhysicalType::I64 => of!(i64),
            PhysicalType::I128 => of!(i128),
            PhysicalType::F32 => {
                self.each_float::<f32, f32>(groups, &once, |keys, _| median_deviation_of_floats(keys))
            }
            PhysicalType::F64 => {
                self.each_float::<f64, f64>(groups, &once, |keys, _| median_deviation_of_floats(keys))
            }
            _ => Err(unsupported(&self.function)),
        }
    }

    /// Parts of decimals are cut off, parts of microseconds rounded.
    fn rounds(&self) -> bool {
        !matches!(self.function.arg_types[0], LogicalType::Decimal { .. })
    }

    /// The results of groups.
    pub(super) fn results(&self, groups: Groups<'_>) -> Result<Vector> {
        if self.mode == Mode::Deviation {
            return self.deviations(groups);
        }
        let fractions = self.parameter.fractions(self.name(), -1.0, 0.5)?;
        debug_assert!(fractions.len() == 1 || is_list(&self.function.return_type));
        match self.mode {
            Mode::Continuous => self.continuous(groups, &fractions),
            Mode::Discrete | Mode::Deviation => self.discrete(groups, &fractions),
        }
    }
}

impl GroupedAccumulator for Quantiles {
    fn resize(&mut self, _groups: usize) {}

    fn update(&mut self, args: &[&Vector], groups: GroupIds<'_>) -> Result<()> {
        self.parameter.learn(args.get(1), groups.len());
        self.rows.collect(&mut self.values, args[0], groups);
        Ok(())
    }

    fn merge(&mut self, other: &dyn GroupedAccumulator, source: &[u32], target: &[u32]) -> Result<()> {
        let other = same_kind::<Self>(other)?;
        self.parameter.merge(&other.parameter);
        let added = self.rows.merge(&other.rows, source, target);
        self.values.append_added(&other.values, &added);
        Ok(())
    }

    fn prepare_merge(&self) {
        self.rows.prepare();
    }

    fn kept(&self) -> Option<KeptRows<'_>> {
        Some(KeptRows::new(&self.rows, [&self.values]))
    }

    fn kept_mut(&mut self) -> Option<KeptRowsMut<'_>> {
        Some(KeptRowsMut::new(&mut self.rows, [&mut self.values]))
    }

    fn finish(&self, from: usize, len: usize) -> Result<Vector> {
        self.results(Groups::Kept(from..from + len))
    }

    fn passes(&self) -> Option<Box<dyn Passes>> {
        Some(Box::new(self.read(selection::CAPACITY)))
    }

    fn by_rank(&self) -> Option<&dyn ByRank> {
        Some(self)
    }

    fn memory_size(&self) -> usize {
        self.values.memory_size() + self.rows.memory_size()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl ByRank for Quantiles {
    fn order(&self, values: &Vector, rows: &mut [u32]) {
        macro_rules! of {
            ($t:ty, $key:expr) => {{
                let (values, key) = (values.values::<$t>(), $key);
                rows.sort_unstable_by(|a, b| key(values[*a as usize]).order(&key(values[*b as usize])));
            }};
        }
        match values.physical_type() {
            PhysicalType::Bool | PhysicalType::U8 => of!(u8, |value: u8| value),
            PhysicalType::I8 => of!(i8, |value: i8| value),
            PhysicalType::I16 => of!(i16, |value: i16| value),
            PhysicalType::I32 => of!(i32, |value: i32| value),
            PhysicalType::I64 => of!(i64, |value: i64| value),
            PhysicalType::I128 => of!(i128, |value: i128| value),
            PhysicalType::U16 => of!(u16, |value: u16| value),
            PhysicalType::U32 => of!(u32, |value: u32| value),
            PhysicalType::U64 => of!(u64, |value: u64| value),
            PhysicalType::U128 => of!(u128, |value: u128| value),
            PhysicalType::F32 => of!(f32, |value: f32| float_key(value.into())),
            PhysicalType::F64 => of!(f64, float_key),
            PhysicalType::Interval => of!(Interval, |value: Interval| value),
            PhysicalType::View => {
                let (ty, bytes) =
                    (values.ty(), |row: u32| values.views()[row as usize].bytes(values.heap().buffers()));
                rows.sort_unstable_by(|a, b| order_distinct(ty, bytes(*a), bytes(*b)));
            }
        }
    }

    fn results(&self, args: &[Vector], frames: &dyn RankedFrames) -> Result<Vector> {
        let Some(values) = args.first() else { return Err(unsupported(&self.function)) };
        let mut parameter = self.parameter.clone();
        parameter.learn(args.get(1).as_ref(), values.len());
        Self::new(&self.function, self.mode, parameter).results(Groups::Frames(values, frames))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_of_fractions() {
        assert_eq!(position(0.5, 3), (1, 1, 0.0));
        assert_eq!(position(0.5, 2), (0, 1, 0.5));
        assert_eq!(position(-0.25, 3), (1, 2, 0.5));
        assert_eq!(position(-1.0, 3), (0, 0, 0.0));
        assert_eq!(position(1.0, 1), (0, 0, 0.0));
        assert_eq!(
            (discrete_position(0.5, 3), discrete_position(0.5, 4), discrete_position(0.0, 4)),
            (1, 1, 0)
        );
        assert_eq!(
            (discrete_position(1.0, 4), discrete_position(-0.25, 3), discrete_position(-1.0, 3)),
            (3, 2, 0)
        );
    }

    #[test]
    fn keys_of_floats_are_in_their_order() {
        let floats = [f64::NEG_INFINITY, f64::MIN, -1.5, -5e-324, -0.0, 0.0, 5e-324, 2.0, f64::INFINITY];
        let keys: Vec<i64> = floats.iter().copied().chain([f64::NAN]).map(float_key).collect();
        assert!(keys.is_sorted_by(|a, b| a < b));
        assert_eq!(float_key(-f64::NAN), float_key(f64::NAN));
        assert!(
            floats.iter().zip(&keys).all(|(&value, &key)| float_of(key).to_bits() == value.to_bits())
                && float_of(keys[9]).is_nan()
        );
        let mut keys: Vec<i64> = [3.0, f64::NAN, -1.0, 0.5].map(float_key).to_vec();
        assert_eq!(interpolate_floats::<f64>(&mut keys, 0.5), 1.75);
        assert!(interpolate_floats::<f64>(&mut keys, 1.0).is_nan());
    }

    #[test]
    fn decimals_are_cut_off_and_times_rounded() {
        assert_eq!(i32::between(100, 103, 0.5, false), 101);
        assert_eq!(i32::between(-103, -100, 0.5, false), -101);
        assert_eq!(i64::between(1, 2, 0.5, true), 2);
        assert_eq!(i64::between(i64::MIN, i64::MAX, 1.0, true), i64::MAX);
    }
}
