//! HyperLogLog: how many distinct values a column has, within about 3 %, in one KiB.
//!
//! Sketches of segments are made when they are encoded and merged per table. NULLs are not counted.
//! Sources: Flajolet et al. (2007); the estimator without bias tables is that of Ertl, "New cardinality
//! estimation algorithms for HyperLogLog sketches" (2017), algorithm 6.

use crate::simd::{self, LaneRange, Lanes};
use inlay_types::{Error, Result, VECTOR_SIZE};

const PRECISION: u32 = 10;
const REGISTERS: usize = 1 << PRECISION;
/// Largest value of a register: the rank of a hash whose remaining bits are all zero.
const RANK_MAX: usize = 64 - PRECISION as usize + 1;

/// So many hashes are sifted at once, from this rank of all registers on.
const SIFTED: usize = 1 << 9;
const SIFTED_RANK_MIN: u8 = 2;

/// A hash mixed once more, as those made for hash tables need not be good in every bit: the number of the register below, and
/// above it the bits that have a rank.
#[inline(always)]
pub(crate) fn mix(hash: u64) -> u64 {
    (hash ^ (hash >> 29)).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(PRECISION)
}

/// A sketch of a set of 64-bit hashes.
#[derive(Clone)]
pub struct HyperLogLog {
    registers: Box<[u8; REGISTERS]>,
}

impl Default for HyperLogLog {
    fn default() -> Self {
        Self { registers: Box::new([0; REGISTERS]) }
    }
}

impl std::fmt::Debug for HyperLogLog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "HyperLogLog({:.0})", self.estimate())
    }
}

impl HyperLogLog {
    /// Size of a sketch in memory.
    pub const SIZE_BYTES: usize = REGISTERS;

    /// The sketch in bytes.
    pub fn registers(&self) -> &[u8] {
        &self.registers[..]
    }

    /// The sketch of these registers.
    pub fn from_registers(registers: &[u8]) -> Result<Self> {
        let registers = <[u8; REGISTERS]>::try_from(registers);
        match registers.ok().filter(|all| all.iter().all(|rank| usize::from(*rank) <= RANK_MAX)) {
            Some(registers) => Ok(Self { registers: Box::new(registers) }),
            None => Err(Error::corrupt("registers of no sketch")),
        }
    }

    /// Adds a hash.
    #[inline]
    pub fn insert(&mut self, hash: u64) {
        self.insert_mixed(mix(hash));
    }

    #[inline]
    fn insert_mixed(&mut self, mixed: u64) {
        let register = &mut self.registers[mixed as usize % REGISTERS];
        let rest = mixed >> PRECISION << PRECISION | 1 << (PRECISION - 1);
        // A rank is one more than the zeros in front. Few are larger than those before.
        if rest >> 1 >> (63 - (*register).min(63)) == 0 {
            *register = rest.leading_zeros() as u8 + 1;
        }
    }

    /// Adds hashes. When all registers are above some rank, hashes of up to that rank are sifted out, many at once.
    pub fn insert_all(&mut self, hashes: &[u64]) {
        for hashes in hashes.chunks(VECTOR_SIZE) {
            let least = self.registers.iter().fold(u8::MAX, |least, rank| least.min(*rank));
            if least < SIFTED_RANK_MIN {
                hashes.iter().for_each(|hash| self.insert(*hash));
            } else {
                hashes.chunks(SIFTED).for_each(|hashes| self.insert_sifted(hashes, least));
            }
        }
    }

    /// Adds up to [`SIFTED`] hashes, when no register is below `least`.
    fn insert_sifted(&mut self, hashes: &[u64], least: u8) {
        let (mut mixed, mut passing) = ([0; SIFTED], [u64::MAX; SIFTED / 64]);
        let (mixed, passing) = (&mut mixed[..hashes.len()], &mut passing[..hashes.len().div_ceil(64)]);
        simd::mix_hashes(hashes, mixed);
        let zeros_in_front = LaneRange { low: 0, span: u64::MAX >> least, negate: false };
        simd::and_range(Lanes::U64(mixed), zeros_in_front, passing);
        for (word, mixed) in passing.iter().zip(mixed.chunks(64)) {
            let mut left = *word;
            while left != 0 {
                // Bits behind the last hash are not looked at.
                let Some(mixed) = mixed.get(left.trailing_zeros() as usize) else { break };
                self.insert_mixed(*mixed);
                left &= left - 1;
            }
        }
    }

    /// Adds everything that `other` has seen.
    pub fn merge(&mut self, other: &HyperLogLog) {
        for (register, &more) in self.registers.iter_mut().zip(other.registers.iter()) {
            *register = (*register).max(more);
        }
    }

    /// The estimated number of distinct hashes.
    pub fn estimate(&self) -> f64 {
        let mut counts = [0u32; RANK_MAX + 1];
        for &register in self.registers.iter() {
            counts[usize::from(register).min(RANK_MAX)] += 1;
        }
        let m = REGISTERS as f64;
        let mut z = m * tau((m - f64::from(counts[RANK_MAX])) / m);
        for &count in counts[1..RANK_MAX].iter().rev() {
            z = 0.5 * (z + f64::from(count));
        }
        z += m * sigma(f64::from(counts[0]) / m);
        m * m / (2.0 * std::f64::consts::LN_2 * z)
    }
}

fn sigma(mut x: f64) -> f64 {
    if x == 1.0 {
        return f64::INFINITY;
    }
    let (mut y, mut z) = (1.0, x);
    loop {
        x *= x;
        let before = z;
        z += x * y;
        y += y;
        if z == before {
            return z;
        }
    }
}

fn tau(mut x: f64) -> f64 {
    if x == 0.0 || x == 1.0 {
        return 0.0;
    }
    let (mut y, mut z) = (1.0, 1.0 - x);
    loop {
        x = x.sqrt();
        let before = z;
        y *= 0.5;
        z -= (1.0 - x) * (1.0 - x) * y;
        if z == before {
            return z / 3.0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use inlay_types::hash::hash_u64;

    #[test]
    fn estimates_are_near_for_few_and_many() {
        for count in [0u64, 1, 10, 500, 2_000, 50_000, 1_000_000] {
            let (mut left, mut right) = (HyperLogLog::default(), HyperLogLog::default());
            (0..count)
                .for_each(|v| if v % 2 == 0 { left.insert(hash_u64(v)) } else { right.insert(hash_u64(v)) });
            (0..count / 2).for_each(|v| right.insert(hash_u64(v)));
            left.merge(&right);
            let estimate = left.estimate();
            let error = (estimate - count as f64).abs() / (count as f64).max(1.0);
            assert!(error < 0.1, "{count} estimated as {estimate}");
        }
    }

    #[test]
    fn many_hashes_are_added_as_one_by_one() {
        for count in [0u64, 1, 63, 65, 5_000, 100_001] {
            let hashes: Vec<u64> = (0..count).map(|v| hash_u64(v % 90_000)).chain([0, u64::MAX]).collect();
            let (mut single, mut all) = (HyperLogLog::default(), HyperLogLog::default());
            hashes.iter().for_each(|hash| single.insert(*hash));
            hashes.chunks(2_001).for_each(|hashes| all.insert_all(hashes));
            assert_eq!(single.registers(), all.registers(), "{count} hashes");
        }
    }
}
