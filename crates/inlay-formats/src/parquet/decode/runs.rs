//! Parquet's hybrid of runs and bit-packed groups, which holds dictionary codes, definition levels and booleans.
//!
//! ```text
//! header (varint)   lowest bit 0: a run of header >> 1 times the value behind it, in whole bytes
//!                   lowest bit 1: header >> 1 groups of 8 values, bit-packed, least significant bit first
//! ```

use super::Damage;

/// Reads a hybrid from its beginning to its end.
#[derive(Debug, Default)]
pub(super) struct Runs {
    /// Bits per value, at most 32.
    width: u32,
    /// Where the next header lies.
    at: usize,
    /// Values left of the current run, and what they are; of packed groups, the bit where the next one begins.
    left: usize,
    current: Current,
}

#[derive(Clone, Copy, Debug, Default)]
enum Current {
    #[default]
    Nothing,
    Same(u32),
    Packed {
        bit: usize,
    },
}

impl Runs {
    /// A hybrid that begins at byte `at`.
    pub fn new(width: u32, at: usize) -> Result<Self, Damage> {
        if width > 32 {
            return Err(Damage("codes of more than 32 bits"));
        }
        Ok(Self { width, at, left: 0, current: Current::Nothing })
    }

    /// Finds the next run if the current one is used up.
    fn advance(&mut self, bytes: &[u8]) -> Result<(), Damage> {
        while self.left == 0 {
            let header = varint(bytes, &mut self.at)?;
            let count = usize::try_from(header >> 1).map_err(|_| Damage("a run that is too long"))?;
            if header & 1 == 0 {
                let width = (self.width as usize).div_ceil(8);
                let raw = bytes.get(self.at..self.at + width).ok_or(Damage("a run that is cut"))?;
                let value = raw.iter().rev().fold(0u32, |value, &byte| value << 8 | u32::from(byte));
                self.at += width;
                self.left = count;
                self.current = Current::Same(value);
            } else {
                let size = count.checked_mul(self.width as usize).ok_or(Damage("too many packed values"))?;
                let end = self.at.checked_add(size).ok_or(Damage("too many packed values"))?;
                self.current = Current::Packed { bit: self.at * 8 };
                // The last group may be cut where its values end.
                let there = end.min(bytes.len()) - self.at.min(bytes.len());
                let values = if self.width == 0 { usize::MAX } else { there * 8 / self.width as usize };
                self.left = values.min(count.checked_mul(8).ok_or(Damage("too many packed values"))?);
                self.at = end.min(bytes.len());
                if self.left == 0 && count > 0 {
                    return Err(Damage("packed values that are cut"));
                }
            }
        }
        Ok(())
    }

    /// Reads the next `out.len()` values.
    pub fn read(&mut self, bytes: &[u8], mut out: &mut [u32]) -> Result<(), Damage> {
        while !out.is_empty() {
            self.advance(bytes)?;
            let count = self.left.min(out.len());
            let (now, later) = out.split_at_mut(count);
            match &mut self.current {
                Current::Nothing => return Err(Damage("no values")),
                Current::Same(value) => now.fill(*value),
                Current::Packed { bit } => {
                    unpack(bytes, *bit, self.width, now);
                    *bit += count * self.width as usize;
                }
            }
            self.left -= count;
            out = later;
        }
        Ok(())
    }

    /// Passes over `count` values.
    pub fn skip(&mut self, bytes: &[u8], mut count: usize) -> Result<(), Damage> {
        while count > 0 {
            self.advance(bytes)?;
            let now = self.left.min(count);
            if let Current::Packed { bit } = &mut self.current {
                *bit += now * self.width as usize;
            }
            self.left -= now;
            count -= now;
        }
        Ok(())
    }

    /// Values that follow and are alike, with their value: at most `limit`, at least one. `None` where they are packed.
    pub fn alike(&mut self, bytes: &[u8], limit: usize) -> Result<Option<(u32, usize)>, Damage> {
        self.advance(bytes)?;
        let Current::Same(value) = self.current else { return Ok(None) };
        let count = self.left.min(limit);
        self.left -= count;
        Ok(Some((value, count)))
    }

    /// Packed values that follow, at most `limit`.
    pub fn packed(&self, limit: usize) -> usize {
        self.left.min(limit)
    }
}

/// Values of `width` bits from bit `bit` on; behind the end of `bytes` they are 0.
fn unpack(bytes: &[u8], bit: usize, width: u32, out: &mut [u32]) {
    if width == 0 {
        out.fill(0);
        return;
    }
    let mask = (1u64 << width) - 1;
    // A value and the bits before it in its first byte take at most 39 bits: eight bytes hold them.
    let safe = (bytes.len().saturating_sub(8) * 8).saturating_sub(bit) / width as usize;
    let (fast, slow) = out.split_at_mut(safe.min(out.len()));
    let mut at = bit;
    for value in fast.iter_mut() {
        let window = bytes.get(at / 8..at / 8 + 8).and_then(|raw| raw.first_chunk::<8>());
        *value = (u64::from_le_bytes(*window.unwrap_or(&[0; 8])) >> (at % 8) & mask) as u32;
        at += width as usize;
    }
    for value in slow {
        let mut raw = [0u8; 8];
        let rest = bytes.get(at / 8..).unwrap_or_default();
        let len = rest.len().min(8);
        raw[..len].copy_from_slice(&rest[..len]);
        *value = (u64::from_le_bytes(raw) >> (at % 8) & mask) as u32;
        at += width as usize;
    }
}

/// A number in groups of seven bits, least significant group first.
pub(super) fn varint(bytes: &[u8], at: &mut usize) -> Result<u64, Damage> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let byte = *bytes.get(*at).ok_or(Damage("a number that is cut"))?;
        *at += 1;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err(Damage("a number of more than 64 bits"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_and_packed_groups_come_out() {
        // A run of 5 times 3, then 8 packed values 0 ..= 7 of 3 bits.
        let bytes = [5 << 1, 3, 0b11, 0b1000_1000, 0b1100_0110, 0b1111_1010];
        for step in 1..=13 {
            let mut runs = Runs::new(3, 0).unwrap();
            let mut found = Vec::new();
            while found.len() < 13 {
                let mut out = vec![0; step.min(13 - found.len())];
                runs.read(&bytes, &mut out).unwrap();
                found.extend(out);
            }
            assert_eq!(found, [3, 3, 3, 3, 3, 0, 1, 2, 3, 4, 5, 6, 7], "step {step}");
            assert!(runs.read(&bytes, &mut [0]).is_err());
            let mut runs = Runs::new(3, 0).unwrap();
            runs.skip(&bytes, step - 1).unwrap();
            let mut out = [0];
            runs.read(&bytes, &mut out).unwrap();
            assert_eq!(out[0], found[step - 1]);
        }
    }

    #[test]
    fn what_is_cut_is_an_error() {
        for bytes in [&[][..], &[0x80], &[10], &[0b11], &[0xff; 11]] {
            assert!(Runs::new(9, 0).unwrap().read(bytes, &mut [0; 4]).is_err(), "{bytes:?}");
        }
        assert!(Runs::new(33, 0).is_err());
    }
}
