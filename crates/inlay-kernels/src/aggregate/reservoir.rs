//! `reservoir_quantile`: the discrete quantile of a random sample of each group.
//!
//! Every row gets a pseudo-random number; the rows with the smallest numbers are the sample. So samples of several workers
//! merge into a sample of all their rows.

use super::bits::unsupported;
use super::fractions::Parameter;
use super::packing::Results;
use super::quantile::Sortable;
use super::{GroupIds, GroupedAccumulator, flat, same_kind};
use crate::function::AggregateFunction;
use inlay_types::hash::hash_u64;
use inlay_types::{Error, Native, PhysicalType, Result, Vector};
use std::any::Any;
use std::collections::BinaryHeap;

/// Rows of a sample if the call does not say.
const SAMPLE_SIZE: usize = 8192;
/// Most rows of a sample.
const SAMPLE_MAX: i128 = 10_000_000;

/// The numbers of sampled rows, largest on top, with the bits of their values.
type Sample = BinaryHeap<(u64, u128)>;

struct Reservoir {
    samples: Vec<Sample>,
    fractions: Parameter,
    size: usize,
    /// Rows so far, and the morsel: what the random numbers are made of.
    rows: u64,
    function: AggregateFunction,
    held: usize,
}

/// `reservoir_quantile`.
pub fn create(function: &AggregateFunction, _total: bool) -> Result<Box<dyn GroupedAccumulator>> {
    if matches!(function.arg_types[0].physical(), PhysicalType::View | PhysicalType::Interval) {
        return Err(unsupported(function));
    }
    Ok(Box::new(Reservoir {
        samples: Vec::new(),
        fractions: Parameter::default(),
        size: SAMPLE_SIZE,
        rows: 0,
        function: function.clone(),
        held: 0,
    }))
}

fn keep(sample: &mut Sample, size: usize, number: u64, bits: u128) -> bool {
    if sample.len() < size {
        sample.push((number, bits));
        return true;
    }
    if let Some(mut top) = sample.peek_mut()
        && top.0 > number
    {
        *top = (number, bits);
    }
    false
}

/// Carriers as bits and back.
trait Bits: Sortable {
    fn to_bits(self) -> u128;
    fn of_bits(bits: u128) -> Self;
}
macro_rules! integer_bits {
    ($($t:ty),*) => { $(
        impl Bits for $t {
            fn to_bits(self) -> u128 {
                self as u128
            }
            fn of_bits(bits: u128) -> Self {
                bits as Self
            }
        }
    )* };
}
integer_bits!(i8, i16, i32, i64, i128, u8, u16, u32, u64, u128);
impl Bits for f32 {
    fn to_bits(self) -> u128 {
        u128::from(f32::to_bits(self))
    }
    fn of_bits(bits: u128) -> Self {
        f32::from_bits(bits as u32)
    }
}
impl Bits for f64 {
    fn to_bits(self) -> u128 {
        u128::from(f64::to_bits(self))
    }
    fn of_bits(bits: u128) -> Self {
        f64::from_bits(bits as u64)
    }
}

macro_rules! by_carrier {
    ($carrier:expr, $run:ident, $otherwise:expr) => {
        match $carrier {
            PhysicalType::Bool | PhysicalType::U8 => $run!(u8),
            PhysicalType::I8 => $run!(i8),
            PhysicalType::I16 => $run!(i16),
            PhysicalType::I32 => $run!(i32),
            PhysicalType::I64 => $run!(i64),
            PhysicalType::I128 => $run!(i128),
            PhysicalType::U16 => $run!(u16),
            PhysicalType::U32 => $run!(u32),
            PhysicalType::U64 => $run!(u64),
            PhysicalType::U128 => $run!(u128),
            PhysicalType::F32 => $run!(f32),
            PhysicalType::F64 => $run!(f64),
            // `create` refused these.
            PhysicalType::View | PhysicalType::Interval => $otherwise,
        }
    };
}

impl Reservoir {
    fn sample<T: Bits>(&mut self, values: &Vector, groups: GroupIds<'_>) {
        let numbers = values.values::<T>();
        for (row, &group) in groups.ids().iter().enumerate() {
            self.rows += 1;
            if !values.is_null(row) {
                let sample = &mut self.samples[group as usize];
                let added = keep(sample, self.size, hash_u64(self.rows), numbers[row].to_bits());
                self.held += usize::from(added);
            }
        }
    }

    fn quantiles<T: Bits + Native>(&self, fractions: &[f64], from: usize, len: usize) -> Result<Vector> {
        let mut results = Results::new(&self.function.return_type, len);
        for sample in &self.samples[from..from + len] {
            let mut values: Vec<T> = sample.iter().map(|&(_, bits)| T::of_bits(bits)).collect();
            if values.is_empty() {
                results.push_null();
                continue;
            }
            values.sort_unstable_by(T::order);
            for fraction in fractions {
                let index = ((values.len() - 1) as f64 * fraction) as usize;
                results.child().push_native(values[index.min(values.len() - 1)]);
            }
            results.end_row();
        }
        results.finish()
    }
}

impl GroupedAccumulator for Reservoir {
    fn resize(&mut self, groups: usize) {
        self.samples.resize_with(groups, Sample::default);
    }

    fn start_morsel(&mut self, number: u32) {
        // No two rows have the same number, even if rows of a morsel come in several turns.
        self.rows = self.rows.max(u64::from(number) << 32);
    }

    fn update(&mut self, args: &[&Vector], groups: GroupIds<'_>) -> Result<()> {
        self.fractions.learn(args.get(1), groups.len());
        if let Some(size) = args.get(2).filter(|size| !groups.is_empty() && !size.is_null(0)) {
            let given = size.get(0);
            let size = given.as_i128();
            let size = size.ok_or_else(|| Error::internal(format!("the size of a sample is {given}")))?;
            self.size = size.clamp(1, SAMPLE_MAX) as usize;
        }
        let values = flat(args[0]);
        macro_rules! sample {
            ($t:ty) => {
                self.sample::<$t>(&values, groups)
            };
        }
        by_carrier!(values.physical_type(), sample, {});
        Ok(())
    }

    fn merge(&mut self, other: &dyn GroupedAccumulator, source: &[u32], target: &[u32]) -> Result<()> {
        let other = same_kind::<Self>(other)?;
        self.fractions.merge(&other.fractions);
        if other.rows > 0 {
            self.size = other.size;
        }
        for (&from, &to) in source.iter().zip(target) {
            for &(number, bits) in &other.samples[from as usize] {
                let added = keep(&mut self.samples[to as usize], self.size, number, bits);
                self.held += usize::from(added);
            }
        }
        Ok(())
    }

    fn finish(&self, from: usize, len: usize) -> Result<Vector> {
        let fractions = self.fractions.fractions(&self.function.name, 0.0, 0.5)?;
        macro_rules! quantiles {
            ($t:ty) => {
                self.quantiles::<$t>(&fractions, from, len)
            };
        }
        by_carrier!(self.function.arg_types[0].physical(), quantiles, Err(unsupported(&self.function)))
    }

    fn memory_size(&self) -> usize {
        self.samples.capacity() * size_of::<Sample>() + self.held * 2 * size_of::<(u64, u128)>()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
