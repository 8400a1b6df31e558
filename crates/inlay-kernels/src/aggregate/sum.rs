//! `sum`: exact for integers and decimals, plain for floats.
//!
//! Integers of up to 64 bits are added in `i64` without a check per row. A bound on the magnitude of every state
//! is kept instead: each batch raises it by its largest magnitude times its rows. Before the bound could leave `i64`, all
//! states are moved to `i128` (spilled) and the bound starts again; when that happens so often that moving costs
//! more than adding, rows are added to `i128` directly.

use super::bits::unsupported;
use super::groups::{LANE_GROUPS, Seen, for_valid, in_lanes, scatter, scatter_valid};
use super::{GroupIds, GroupedAccumulator, flat, same_kind};
use crate::function::AggregateFunction;
use inlay_types::multiversion;
use inlay_types::{Bitmap, Buffer, Error, Heap, LogicalType, Native, PhysicalType, Result, Vector};
use std::any::Any;
use std::marker::PhantomData;

/// A carrier whose values fit into `i64`.
trait Addend: Native {
    /// `|value| < 2^BITS`; 64: to be measured.
    const BITS: u32;
    fn widen(self) -> i64;
}
macro_rules! addend {
    ($($t:ty: $bits:expr),*) => { $(
        impl Addend for $t {
            const BITS: u32 = $bits;
            #[inline(always)]
            fn widen(self) -> i64 {
                self as i64
            }
        }
    )* };
}
addend!(i8: 8, i16: 16, i32: 32, i64: 64, u8: 8, u16: 16, u32: 32);

/// A carrier of more than 63 bits.
trait Wide: Native {
    fn widen(self) -> Option<i128>;
}
impl Wide for i128 {
    fn widen(self) -> Option<i128> {
        Some(self)
    }
}
impl Wide for u64 {
    fn widen(self) -> Option<i128> {
        Some(i128::from(self))
    }
}
impl Wide for u128 {
    fn widen(self) -> Option<i128> {
        i128::try_from(self).ok()
    }
}

pub(super) fn create(function: &AggregateFunction, total: bool) -> Result<Box<dyn GroupedAccumulator>> {
    let ty = function.return_type.clone();
    Ok(match function.arg_types[0].physical() {
        PhysicalType::I8 => Sum::<i8>::boxed(ty, total),
        PhysicalType::I16 => Sum::<i16>::boxed(ty, total),
        PhysicalType::I32 => Sum::<i32>::boxed(ty, total),
        PhysicalType::I64 => Sum::<i64>::boxed(ty, total),
        PhysicalType::U8 | PhysicalType::Bool => Sum::<u8>::boxed(ty, total),
        PhysicalType::U16 => Sum::<u16>::boxed(ty, total),
        PhysicalType::U32 => Sum::<u32>::boxed(ty, total),
        PhysicalType::U64 => SumWide::<u64>::boxed(ty, total),
        PhysicalType::I128 => SumWide::<i128>::boxed(ty, total),
        PhysicalType::U128 => SumWide::<u128>::boxed(ty, total),
        PhysicalType::F32 => SumFloat::<f32>::boxed(ty, total),
        PhysicalType::F64 => SumFloat::<f64>::boxed(ty, total),
        PhysicalType::View | PhysicalType::Interval => return Err(unsupported(function)),
    })
}

/// Rows are summed per group below this many groups, without stores that wait for each other.
const FEW_GROUPS: usize = 6;

multiversion! {
    /// The bits of the largest magnitude: `|value| <= 2^result`, at most 63.
    fn magnitude_bits[T: Addend](values: &[T]) -> u32 {
        let mut bits = 0u64;
        for &value in values {
            let value = value.widen();
            bits |= (value ^ (value >> 63)) as u64;
        }
        64 - bits.leading_zeros()
    }
}

multiversion! {
    fn sum_all[T: Addend](values: &[T]) -> i64 {
        values.iter().fold(0i64, |sum, &value| sum.wrapping_add(value.widen()))
    }
}

multiversion! {
    fn sum_matching[T: Addend](ids: &[u32], values: &[T], group: u32) -> i64 {
        let mut sum = 0i64;
        for (&id, &value) in ids.iter().zip(values) {
            sum = sum.wrapping_add(if id == group { value.widen() } else { 0 });
        }
        sum
    }
}

/// Adds values that, summed up, provably stay in `i64`.
fn add_narrow<T: Addend>(states: &mut [i64], groups: GroupIds<'_>, values: &[T]) {
    let values = &values[..groups.len()];
    if groups.count() <= FEW_GROUPS {
        for (group, state) in states[..groups.count()].iter_mut().enumerate() {
            *state += sum_matching(groups.ids(), values, group as u32);
        }
    } else if groups.count() <= LANE_GROUPS {
        let lanes = in_lanes(groups, values, |state: &mut i64, value| *state += value.widen());
        for (group, state) in states[..groups.count()].iter_mut().enumerate() {
            *state += lanes.iter().map(|lane| lane[group]).sum::<i64>();
        }
    } else {
        scatter(states, groups, values, |state, value| *state += value.widen());
    }
}

fn overflow(ty: &LogicalType) -> Error {
    Error::out_of_range(format!("sum is out of range of {ty}"))
        .with_hint("cast the argument to DOUBLE for an approximate sum")
}

/// The result column of exact sums.
fn finish_exact(
    ty: LogicalType,
    len: usize,
    validity: Option<Bitmap>,
    sum: impl Fn(usize) -> i128,
) -> Result<Vector> {
    let limit = match ty {
        LogicalType::Decimal { precision, .. } => 10i128.pow(u32::from(precision)) - 1,
        _ => i128::MAX,
    };
    let mut fits = true;
    let mut checked = |group: usize| {
        let sum = sum(group);
        fits &= (-limit..=limit).contains(&sum);
        sum
    };
    let data = match ty.physical() {
        PhysicalType::I128 => Buffer::from_vec((0..len).map(checked).collect()),
        PhysicalType::I64 => {
            let mut is_narrow = true;
            let mut narrow = |group| {
                let sum = checked(group);
                is_narrow &= i64::try_from(sum).is_ok();
                sum as i64
            };
            let values = Buffer::from_vec((0..len).map(&mut narrow).collect());
            fits &= is_narrow;
            values
        }
        PhysicalType::F64 => Buffer::from_vec((0..len).map(|group| checked(group) as f64).collect()),
        _ => return Err(Error::internal(format!("a sum of type {ty}"))),
    };
    if !fits {
        return Err(overflow(&ty));
    }
    let mut result = Vector::flat(ty, len, data, validity, Heap::default());
    if result.validity().is_some() {
        result.normalize_nulls();
    }
    Ok(result)
}

/// Exact sums of carriers of up to 64 bits.
struct Sum<T> {
    narrow: Vec<i64>,
    /// Spilled parts; absent groups are zero.
    wide: Vec<i128>,
    /// `|state| <= bound` for all of `narrow`.
    bound: u64,
    rows_since_spill: usize,
    /// Spilling costs more than adding 128 bits.
    wide_only: bool,
    seen: Seen,
    ty: LogicalType,
    input: PhantomData<T>,
}

impl<T: Addend> Sum<T> {
    fn boxed(ty: LogicalType, total: bool) -> Box<dyn GroupedAccumulator> {
        Box::new(Self {
            narrow: Vec::new(),
            wide: Vec::new(),
            bound: 0,
            rows_since_spill: 0,
            wide_only: false,
            seen: Seen::new(total),
            ty,
            input: PhantomData,
        })
    }

    /// Whether values of at most `bits` bits can be added narrowly to up to `rows` rows; raises the bound if so.
    fn admit(&mut self, bits: u32, rows: usize) -> bool {
        if self.wide_only || bits > 62 {
            return false;
        }
        let Some(batch) = (1u64 << bits).checked_mul(rows as u64).filter(|&b| b <= i64::MAX as u64) else {
            return false;
        };
        if self.bound.checked_add(batch).is_none_or(|bound| bound > i64::MAX as u64) {
            if self.rows_since_spill < self.narrow.len() {
                self.wide_only = true;
                return false;
            }
            self.spill();
        }
        self.bound += batch;
        self.rows_since_spill += rows;
        true
    }

    fn spill(&mut self) {
        self.wide.resize(self.narrow.len(), 0);
        for (wide, narrow) in self.wide.iter_mut().zip(&mut self.narrow) {
            *wide += i128::from(std::mem::take(narrow));
        }
        self.bound = 0;
        self.rows_since_spill = 0;
    }

    fn wide_mut(&mut self) -> &mut [i128] {
        if self.wide.len() < self.narrow.len() {
            self.wide.resize(self.narrow.len(), 0);
        }
        &mut self.wide
    }

    fn total(&self, group: usize) -> i128 {
        self.wide.get(group).copied().unwrap_or(0) + i128::from(self.narrow[group])
    }
}

fn measured_bits<T: Addend>(values: &[T], validity: Option<&Bitmap>) -> u32 {
    if T::BITS < 64 {
        return T::BITS;
    }
    match validity {
        None => magnitude_bits(values),
        Some(validity) => {
            let mut bits = 0;
            for_valid(validity, values.len(), |row| {
                let value = values[row].widen();
                bits |= (value ^ (value >> 63)) as u64;
            });
            64 - bits.leading_zeros()
        }
    }
}

impl<T: Addend> GroupedAccumulator for Sum<T> {
    fn resize(&mut self, groups: usize) {
        self.narrow.resize(groups, 0);
        self.seen.resize(groups);
    }

    fn update(&mut self, args: &[&Vector], groups: GroupIds<'_>) -> Result<()> {
        let arg = flat(args[0]);
        let values = &arg.values::<T>()[..groups.len()];
        let validity = arg.validity();
        let narrow = self.admit(measured_bits(values, validity), values.len());
        match (validity, narrow) {
            (None, true) => add_narrow(&mut self.narrow, groups, values),
            (None, false) => {
                scatter(self.wide_mut(), groups, values, |state, value| *state += i128::from(value.widen()));
            }
            (Some(validity), true) => {
                scatter_valid(&mut self.narrow, groups, values, validity, |state, value| {
                    *state += value.widen()
                });
            }
            (Some(validity), false) => {
                let states = self.wide_mut();
                scatter_valid(states, groups, values, validity, |state, value| {
                    *state += i128::from(value.widen());
                });
            }
        }
        self.seen.mark_valid(groups, validity);
        Ok(())
    }

    fn update_one(&mut self, args: &[&Vector], len: usize, group: u32) -> Result<()> {
        let arg = flat(args[0]);
        let values = &arg.values::<T>()[..len];
        let group = group as usize;
        let validity = arg.validity();
        let narrow = self.admit(measured_bits(values, validity), len);
        let mut count = len;
        match validity {
            None if narrow => self.narrow[group] += sum_all(values),
            None => {
                self.wide_mut()[group] += values.iter().map(|value| i128::from(value.widen())).sum::<i128>()
            }
            Some(validity) => {
                count = 0;
                let (mut sum, mut wide) = (0i64, 0i128);
                for_valid(validity, len, |row| {
                    let value = values[row].widen();
                    if narrow {
                        sum += value
                    } else {
                        wide += i128::from(value)
                    }
                    count += 1;
                });
                self.narrow[group] += sum;
                if wide != 0 {
                    self.wide_mut()[group] += wide;
                }
            }
        }
        if count > 0 {
            self.seen.mark(group);
        }
        Ok(())
    }

    fn merge(&mut self, other: &dyn GroupedAccumulator, source: &[u32], target: &[u32]) -> Result<()> {
        let other = same_kind::<Self>(other)?;
        let bound = self.bound.checked_add(other.bound).filter(|&bound| bound <= i64::MAX as u64);
        match bound.filter(|_| other.wide.is_empty()) {
            Some(bound) => {
                self.bound = bound;
                for (&from, &to) in source.iter().zip(target) {
                    self.narrow[to as usize] += other.narrow[from as usize];
                }
            }
            None => {
                let states = self.wide_mut();
                for (&from, &to) in source.iter().zip(target) {
                    states[to as usize] += other.total(from as usize);
                }
            }
        }
        self.seen.merge(&other.seen, source, target);
        Ok(())
    }

    fn finish(&self, from: usize, len: usize) -> Result<Vector> {
        finish_exact(self.ty.clone(), len, self.seen.validity(from, len), |i| self.total(from + i))
    }

    fn memory_size(&self) -> usize {
        self.narrow.capacity() * 8 + self.wide.capacity() * 16 + self.seen.memory_size()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// Exact sums of wider carriers; overflow is checked per row.
struct SumWide<T> {
    sums: Vec<i128>,
    seen: Seen,
    ty: LogicalType,
    input: PhantomData<T>,
}

impl<T: Wide> SumWide<T> {
    fn boxed(ty: LogicalType, total: bool) -> Box<dyn GroupedAccumulator> {
        Box::new(Self { sums: Vec::new(), seen: Seen::new(total), ty, input: PhantomData })
    }
}

impl<T: Wide> GroupedAccumulator for SumWide<T> {
    fn resize(&mut self, groups: usize) {
        self.sums.resize(groups, 0);
        self.seen.resize(groups);
    }

    fn update(&mut self, args: &[&Vector], groups: GroupIds<'_>) -> Result<()> {
        let arg = flat(args[0]);
        let values = arg.values::<T>();
        let mut fits = true;
        let add = |state: &mut i128, value: T| match value.widen().and_then(|v| state.checked_add(v)) {
            Some(sum) => *state = sum,
            None => fits = false,
        };
        match arg.validity() {
            None => scatter(&mut self.sums, groups, values, add),
            Some(validity) => scatter_valid(&mut self.sums, groups, values, validity, add),
        }
        self.seen.mark_valid(groups, arg.validity());
        if fits { Ok(()) } else { Err(overflow(&self.ty.clone())) }
    }

    fn merge(&mut self, other: &dyn GroupedAccumulator, source: &[u32], target: &[u32]) -> Result<()> {
        let other = same_kind::<Self>(other)?;
        for (&from, &to) in source.iter().zip(target) {
            let state = &mut self.sums[to as usize];
            *state =
                state.checked_add(other.sums[from as usize]).ok_or_else(|| overflow(&self.ty.clone()))?;
        }
        self.seen.merge(&other.seen, source, target);
        Ok(())
    }

    fn finish(&self, from: usize, len: usize) -> Result<Vector> {
        finish_exact(self.ty.clone(), len, self.seen.validity(from, len), |i| self.sums[from + i])
    }

    fn memory_size(&self) -> usize {
        self.sums.capacity() * 16 + self.seen.memory_size()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// Sums of floats, in `f64`.
struct SumFloat<T> {
    sums: Vec<f64>,
    seen: Seen,
    ty: LogicalType,
    input: PhantomData<T>,
}

impl<T: Native + Into<f64>> SumFloat<T> {
    fn boxed(ty: LogicalType, total: bool) -> Box<dyn GroupedAccumulator> {
        Box::new(Self { sums: Vec::new(), seen: Seen::new(total), ty, input: PhantomData })
    }
}

multiversion! {
    /// Eight partial sums, so that additions overlap.
    fn sum_floats[T: Native + Into<f64>](values: &[T]) -> f64 {
        let (chunks, rest) = values.as_chunks::<16>();
        let mut lanes = [0.0f64; 16];
        for chunk in chunks {
            for (lane, &value) in lanes.iter_mut().zip(chunk) {
                *lane += value.into();
            }
        }
        lanes.iter().sum::<f64>() + rest.iter().map(|&value| value.into()).sum::<f64>()
    }
}

fn add_floats<T: Native + Into<f64>>(states: &mut [f64], groups: GroupIds<'_>, values: &[T]) {
    if groups.count() > LANE_GROUPS {
        return scatter(states, groups, values, |state, value| *state += value.into());
    }
    let lanes = in_lanes(groups, values, |state: &mut f64, value| *state += value.into());
    for (group, state) in states[..groups.count()].iter_mut().enumerate() {
        *state += lanes.iter().map(|lane| lane[group]).sum::<f64>();
    }
}

impl<T: Native + Into<f64>> GroupedAccumulator for SumFloat<T> {
    fn resize(&mut self, groups: usize) {
        self.sums.resize(groups, 0.0);
        self.seen.resize(groups);
    }

    fn update(&mut self, args: &[&Vector], groups: GroupIds<'_>) -> Result<()> {
        let arg = flat(args[0]);
        let values = arg.values::<T>();
        match arg.validity() {
            None => add_floats(&mut self.sums, groups, values),
            Some(validity) => {
                scatter_valid(&mut self.sums, groups, values, validity, |state, value| {
                    *state += value.into()
                });
            }
        }
        self.seen.mark_valid(groups, arg.validity());
        Ok(())
    }

    fn update_one(&mut self, args: &[&Vector], len: usize, group: u32) -> Result<()> {
        let arg = flat(args[0]);
        let values = &arg.values::<T>()[..len];
        let mut count = len;
        let sum = match arg.validity() {
            None => sum_floats(values),
            Some(validity) => {
                count = 0;
                let mut sum = 0.0;
                for_valid(validity, len, |row| {
                    sum += values[row].into();
                    count += 1;
                });
                sum
            }
        };
        if count > 0 {
            self.sums[group as usize] += sum;
            self.seen.mark(group as usize);
        }
        Ok(())
    }

    fn merge(&mut self, other: &dyn GroupedAccumulator, source: &[u32], target: &[u32]) -> Result<()> {
        let other = same_kind::<Self>(other)?;
        for (&from, &to) in source.iter().zip(target) {
            self.sums[to as usize] += other.sums[from as usize];
        }
        self.seen.merge(&other.seen, source, target);
        Ok(())
    }

    fn finish(&self, from: usize, len: usize) -> Result<Vector> {
        let sums = &self.sums[from..from + len];
        let data = match self.ty.physical() {
            PhysicalType::F32 => Buffer::from_vec(sums.iter().map(|&sum| sum as f32).collect::<Vec<_>>()),
            _ => Buffer::copy_of(sums),
        };
        Ok(Vector::flat(self.ty.clone(), len, data, self.seen.validity(from, len), Heap::default()))
    }

    fn memory_size(&self) -> usize {
        self.sums.capacity() * 8 + self.seen.memory_size()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
