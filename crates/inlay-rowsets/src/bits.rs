//! Numbers in as many bits as they need: Elias's gamma code, and Rice's for numbers about a known size.
//!
//! ```text
//! gamma, n from 1:  floor(log2 n) zeros | 1 | the bits of n below its first        2 floor(log2 n) + 1 bits
//! Rice, n from 0:   n >> k zeros | 1 | the low k bits of n                         (n >> k) + 1 + k bits
//! ```
//! Bits fill bytes from the lowest on. A reader trusts nothing: what is not there is an error.

use inlay_types::{Error, Result};

/// Bits that one look at the bytes always shows, if there are as many.
const SEEN: u32 = 57;
/// Largest number of low bits of [`BitWriter::rice`].
pub(crate) const RICE_MAX: u32 = 16;

/// Appends bits.
#[derive(Debug, Default)]
pub(crate) struct BitWriter {
    bytes: Vec<u8>,
    pending: u64,
    /// Bits of `pending`, fewer than eight between calls.
    held: u32,
}

impl BitWriter {
    /// Up to 56 bits.
    fn put(&mut self, bits: u64, count: u32) {
        self.pending |= bits << self.held;
        self.held += count;
        while self.held >= 8 {
            self.bytes.push(self.pending as u8);
            self.pending >>= 8;
            self.held -= 8;
        }
    }

    /// One bit.
    pub fn bit(&mut self, bit: bool) {
        self.put(u64::from(bit), 1);
    }

    fn zeros(&mut self, mut count: u32) {
        while count > 0 {
            let now = count.min(32);
            self.put(0, now);
            count -= now;
        }
    }

    /// A number from 1 on.
    pub fn gamma(&mut self, number: u32) {
        let below = number.max(1).ilog2();
        self.zeros(below);
        self.put(1, 1);
        self.put(u64::from(number) & ((1 << below) - 1), below);
    }

    /// A number, `low` of whose bits are written as they are.
    pub fn rice(&mut self, number: u32, low: u32) {
        self.zeros(number >> low);
        self.put(1, 1);
        self.put(u64::from(number) & ((1 << low) - 1), low);
    }

    /// The bytes; the last one is filled up with zeros.
    pub fn finish(mut self) -> Vec<u8> {
        if self.held > 0 {
            self.bytes.push(self.pending as u8);
        }
        self.bytes
    }
}

/// How many low bits make the numbers shortest in Rice's code, and how many bits they take then.
pub(crate) fn best_rice(numbers: impl Iterator<Item = u32> + Clone) -> (u32, usize) {
    let (count, sum) =
        numbers.clone().fold((0usize, 0u64), |(n, sum), number| (n + 1, sum + u64::from(number)));
    let mean = sum / (count.max(1) as u64);
    let near = (mean.max(1).ilog2()).min(RICE_MAX);
    let cost = |low: u32| {
        let bits = numbers.clone().map(|number| (number >> low) as usize + 1).sum::<usize>();
        (low, bits + count * low as usize)
    };
    let tried = (near.saturating_sub(1)..=(near + 1).min(RICE_MAX)).map(cost);
    tried.min_by_key(|(_, bits)| *bits).unwrap_or((0, 0))
}

/// Takes bits that [`BitWriter`] wrote.
#[derive(Debug)]
pub(crate) struct BitReader<'a> {
    bytes: &'a [u8],
    /// Bits taken.
    at: usize,
}

fn too_short() -> Error {
    Error::corrupt("a set of rows that ends within a number")
}

impl<'a> BitReader<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Bits that are left.
    pub fn left(&self) -> usize {
        self.bytes.len() * 8 - self.at
    }

    /// The next [`SEEN`] bits, zeros behind the end.
    fn peek(&self) -> u64 {
        let from = self.at / 8;
        let word = match self.bytes.get(from..from + 8).and_then(|eight| eight.first_chunk::<8>()) {
            Some(eight) => u64::from_le_bytes(*eight),
            None => {
                let mut eight = [0; 8];
                let rest = &self.bytes[from.min(self.bytes.len())..];
                eight[..rest.len()].copy_from_slice(rest);
                u64::from_le_bytes(eight)
            }
        };
        word >> (self.at % 8)
    }

    /// Up to [`SEEN`] bits.
    pub fn take(&mut self, count: u32) -> Result<u64> {
        if self.left() < count as usize {
            return Err(too_short());
        }
        let bits = self.peek() & ((1u64 << count) - 1);
        self.at += count as usize;
        Ok(bits)
    }

    /// Zeros before the next one, which is taken, too.
    fn zeros(&mut self) -> Result<u32> {
        let mut count = 0;
        loop {
            let seen = self.left().min(SEEN as usize) as u32;
            let zeros = self.peek().trailing_zeros();
            if zeros < seen {
                self.at += zeros as usize + 1;
                return Ok(count + zeros);
            }
            if seen == 0 {
                return Err(too_short());
            }
            count += seen;
            self.at += seen as usize;
        }
    }

    /// What [`BitWriter::gamma`] wrote.
    pub fn gamma(&mut self) -> Result<u32> {
        let below = self.zeros()?;
        if below >= 32 {
            return Err(Error::corrupt("a number of a set of rows that no set can have"));
        }
        Ok((1 << below) | self.take(below)? as u32)
    }

    /// What [`BitWriter::rice`] wrote, if it is not above `most`.
    pub fn rice(&mut self, low: u32, most: u32) -> Result<u32> {
        let high = u64::from(self.zeros()?);
        let number = (high << low) | self.take(low)?;
        if number > u64::from(most) {
            return Err(Error::corrupt("a number of a set of rows that no set can have"));
        }
        Ok(number as u32)
    }

    /// Says that nothing is left but what fills the last byte.
    pub fn expect_end(mut self) -> Result<()> {
        let left = self.left();
        if left >= 8 || self.take(left as u32)? != 0 {
            return Err(Error::corrupt("bytes behind a set of rows"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_and_take_the_bits_that_they_should() {
        let numbers = [1u32, 2, 3, 4, 7, 8, 43, 255, 256, 65_535, 65_536, 2_097_151, u32::MAX >> 1, u32::MAX];
        for number in numbers {
            let mut writer = BitWriter::default();
            writer.gamma(number);
            let bytes = writer.finish();
            assert_eq!(bytes.len(), (2 * number.ilog2() as usize + 1).div_ceil(8));
            let mut reader = BitReader::new(&bytes);
            assert_eq!(reader.gamma().unwrap(), number);
            reader.expect_end().unwrap();
            assert!(BitReader::new(&bytes[..bytes.len() - 1]).gamma().is_err());
        }
        let mut writer = BitWriter::default();
        for number in 0..3_000u32 {
            writer.bit(number % 3 == 0);
            writer.gamma(number + 1);
            writer.rice(number, number % (RICE_MAX + 1));
        }
        let bytes = writer.finish();
        let mut reader = BitReader::new(&bytes);
        for number in 0..3_000u32 {
            assert_eq!(reader.take(1).unwrap() == 1, number % 3 == 0);
            assert_eq!(reader.gamma().unwrap(), number + 1);
            assert_eq!(reader.rice(number % (RICE_MAX + 1), 3_000).unwrap(), number);
        }
        reader.expect_end().unwrap();
        assert!(BitReader::new(&bytes).expect_end().is_err());
    }

    #[test]
    fn zeros_without_an_end_are_an_error() {
        assert!(BitReader::new(&[]).gamma().is_err());
        assert!(BitReader::new(&[0; 100]).gamma().is_err());
        assert!(BitReader::new(&[0; 100]).rice(3, 10).is_err());
        let mut long = vec![0; 5];
        long.push(1);
        assert!(BitReader::new(&long).gamma().is_err());
        assert!(BitReader::new(&long).rice(0, 39).is_err());
        assert_eq!(BitReader::new(&long).rice(0, 40).unwrap(), 40);
    }

    #[test]
    fn the_cost_of_rice_is_what_it_takes() {
        for step in [1u32, 3, 10, 300, 5_000] {
            let numbers: Vec<u32> = (0..500).map(|n| n * 7919 % (2 * step)).collect();
            let (low, bits) = best_rice(numbers.iter().copied());
            let mut writer = BitWriter::default();
            numbers.iter().for_each(|number| writer.rice(*number, low));
            assert_eq!(writer.finish().len(), bits.div_ceil(8));
        }
        assert_eq!(best_rice(std::iter::empty()), (0, 0));
    }
}
