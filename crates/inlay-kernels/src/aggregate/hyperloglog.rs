//! `approx_count_distinct`: HyperLogLog with 2^10 registers (standard error 3.3 %) per group; groups of few values
//! keep hashes instead.
//!
//! Source: Flajolet et al. 2007; small counts by linear counting.

use super::{GroupIds, GroupedAccumulator, same_kind};
use inlay_types::hash;
use inlay_types::{LogicalType, Result, Vector};
use std::any::Any;

const BITS: u32 = 10;
const REGISTERS: usize = 1 << BITS;
/// Hashes kept before registers are made.
const SPARSE_MAX: usize = 64;

enum Sketch {
    Sparse(Vec<u64>),
    Dense(Box<[u8; REGISTERS]>),
}

impl Sketch {
    fn add(&mut self, hash: u64) {
        match self {
            Self::Sparse(hashes) => {
                if hashes.contains(&hash) {
                    return;
                }
                hashes.push(hash);
                if hashes.len() > SPARSE_MAX {
                    let mut registers = Box::new([0u8; REGISTERS]);
                    hashes.iter().for_each(|&hash| record(&mut registers, hash));
                    *self = Self::Dense(registers);
                }
            }
            Self::Dense(registers) => record(registers, hash),
        }
    }

    fn merge(&mut self, other: &Sketch) {
        match other {
            Self::Sparse(hashes) => hashes.iter().for_each(|&hash| self.add(hash)),
            Self::Dense(theirs) => {
                if let Self::Sparse(hashes) = self {
                    let mut registers = theirs.clone();
                    hashes.iter().for_each(|&hash| record(&mut registers, hash));
                    *self = Self::Dense(registers);
                } else if let Self::Dense(ours) = self {
                    ours.iter_mut().zip(theirs.iter()).for_each(|(a, &b)| *a = (*a).max(b));
                }
            }
        }
    }

    fn estimate(&self) -> i64 {
        let registers = match self {
            Self::Sparse(hashes) => return hashes.len() as i64,
            Self::Dense(registers) => registers,
        };
        let count = REGISTERS as f64;
        let sum: f64 = registers.iter().map(|&register| 0.5f64.powi(i32::from(register))).sum();
        let raw = 0.7213 / (1.0 + 1.079 / count) * count * count / sum;
        let empty = registers.iter().filter(|&&register| register == 0).count();
        let estimate =
            if raw <= 2.5 * count && empty > 0 { count * (count / empty as f64).ln() } else { raw };
        estimate.round() as i64
    }
}

fn record(registers: &mut [u8; REGISTERS], hash: u64) {
    let index = (hash >> (64 - BITS)) as usize;
    let rank = (hash << BITS | 1 << (BITS - 1)).leading_zeros() as u8 + 1;
    registers[index] = registers[index].max(rank);
}

struct HyperLogLog {
    sketches: Vec<Sketch>,
    hashes: Vec<u64>,
}

pub(super) fn create() -> Box<dyn GroupedAccumulator> {
    Box::new(HyperLogLog { sketches: Vec::new(), hashes: Vec::new() })
}

impl GroupedAccumulator for HyperLogLog {
    fn resize(&mut self, groups: usize) {
        self.sketches.resize_with(groups, || Sketch::Sparse(Vec::new()));
    }

    fn update(&mut self, args: &[&Vector], groups: GroupIds<'_>) -> Result<()> {
        self.hashes.resize(groups.len(), 0);
        hash::hash(args[0], groups.len(), &mut self.hashes);
        for (row, &group) in groups.ids().iter().enumerate() {
            if !args[0].is_null(row) {
                self.sketches[group as usize].add(self.hashes[row]);
            }
        }
        Ok(())
    }

    fn merge(&mut self, other: &dyn GroupedAccumulator, source: &[u32], target: &[u32]) -> Result<()> {
        let other = same_kind::<Self>(other)?;
        for (&from, &to) in source.iter().zip(target) {
            self.sketches[to as usize].merge(&other.sketches[from as usize]);
        }
        Ok(())
    }

    fn finish(&self, from: usize, len: usize) -> Result<Vector> {
        let counts: Vec<i64> = self.sketches[from..from + len].iter().map(Sketch::estimate).collect();
        Ok(Vector::from_values(LogicalType::BigInt, &counts))
    }

    fn memory_size(&self) -> usize {
        let sketch = |sketch: &Sketch| match sketch {
            Sketch::Sparse(hashes) => hashes.capacity() * 8,
            Sketch::Dense(_) => REGISTERS,
        };
        self.sketches.capacity() * size_of::<Sketch>() + self.sketches.iter().map(sketch).sum::<usize>()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
