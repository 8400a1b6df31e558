//! Random numbers. A session has one sequence of them, which `setseed` begins anew: with one thread the same
//! statements then give the same numbers.

use inlay_types::hash::hash_u64;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};

/// The step of SplitMix64.
pub const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

/// A session's sequence of random numbers (SplitMix64).
#[derive(Debug)]
pub struct Randomness {
    state: AtomicU64,
    /// What numbers of more than 64 bits have besides.
    salt: AtomicU64,
}

impl Default for Randomness {
    /// Seeded by the keys of a hash map, which are the standard library's randomness.
    fn default() -> Self {
        let seed = || AtomicU64::new(RandomState::new().build_hasher().finish());
        Self { state: seed(), salt: seed() }
    }
}

impl PartialEq for Randomness {
    /// What a function resolves to does not depend on it.
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

impl Randomness {
    /// Begins the sequence that belongs to a seed.
    pub fn seed(&self, seed: f64) {
        let seed = hash_u64(seed.to_bits());
        self.state.store(seed, Ordering::Relaxed);
        self.salt.store(hash_u64(seed), Ordering::Relaxed);
    }

    /// Where the next `count` numbers begin.
    pub fn take(&self, count: usize) -> u64 {
        self.state.fetch_add(STEP.wrapping_mul(count as u64), Ordering::Relaxed)
    }

    /// 64 random bits.
    pub fn bits(&self) -> u64 {
        mixed(self.take(1))
    }

    /// 128 random bits.
    pub fn wide_bits(&self) -> u128 {
        let bits = self.bits();
        u128::from(bits) << 64 | u128::from(hash_u64(bits ^ self.salt.load(Ordering::Relaxed)))
    }

    /// So many times 128 random bits.
    pub fn take_wide(&self, count: usize) -> impl Iterator<Item = u128> {
        let (from, salt) = (self.take(count), self.salt.load(Ordering::Relaxed));
        (0..count as u64).map(move |index| {
            let bits = mixed(from.wrapping_add(STEP.wrapping_mul(index)));
            u128::from(bits) << 64 | u128::from(hash_u64(bits ^ salt))
        })
    }

    /// A number from 0 to below 1.
    pub fn unit(&self) -> f64 {
        unit(self.take(1))
    }

    /// A number from 0 to below `end`.
    pub fn below(&self, end: usize) -> usize {
        ((u128::from(self.bits()) * end as u128) >> 64) as usize
    }
}

/// SplitMix64's output function.
pub fn mixed(state: u64) -> u64 {
    let mut z = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// The same as a number from 0 to below 1.
pub fn unit(state: u64) -> f64 {
    (mixed(state) >> 11) as f64 / (1u64 << 53) as f64
}
