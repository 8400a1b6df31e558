//! Random numbers that repeat from a seed (splitmix64).

/// A generator.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// A generator of its own for a place in a run: the same parts give the same numbers.
    pub fn of(parts: &[u64]) -> Self {
        let mut random = Self(0x9e37_79b9_7f4a_7c15);
        for part in parts {
            random.0 ^= part.wrapping_mul(0xff51_afd7_ed55_8ccd);
            random.next();
        }
        random
    }

    /// The next 64 bits.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    /// A number below `limit`; 0 when `limit` is.
    pub fn below(&mut self, limit: u64) -> u64 {
        if limit == 0 { 0 } else { self.next() % limit }
    }

    /// A number of `low..high`.
    pub fn between(&mut self, low: i64, high: i64) -> i64 {
        low + self.below((high - low).max(0) as u64) as i64
    }

    /// True once in `times` calls.
    pub fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }
}
