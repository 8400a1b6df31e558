//! DELTA_BINARY_PACKED: integers as differences, bit-packed in blocks with a width of their own.
//!
//! ```text
//! block size, miniblocks per block, number of values, first value      varints, the last zigzag
//! per block: smallest difference (zigzag), a width per miniblock, the packed differences less the smallest
//! ```

use super::Damage;
use super::runs::varint;

/// Most values of a block that are believed.
const BLOCK_MAX: u64 = 1 << 20;

/// Reads the integers from the first to the last, a miniblock at a time.
#[derive(Debug)]
pub(super) struct Delta {
    at: usize,
    /// Values that are not handed out, and not decoded yet.
    left: u64,
    mini_size: usize,
    minis: usize,
    /// Widths of the miniblocks of the current block that are not decoded yet, in reverse.
    widths: Vec<u8>,
    smallest: i64,
    last: i64,
    ready: Vec<i64>,
    next: usize,
}

impl Delta {
    /// Reads the header at the beginning of `bytes`.
    pub fn new(bytes: &[u8]) -> Result<Self, Damage> {
        let mut at = 0;
        let block = varint(bytes, &mut at)?;
        let minis = varint(bytes, &mut at)?;
        let left = varint(bytes, &mut at)?;
        let first = zigzag(varint(bytes, &mut at)?);
        if block == 0 || block > BLOCK_MAX || minis == 0 || minis > block || !block.is_multiple_of(minis) {
            return Err(Damage("differences in blocks of an impossible size"));
        }
        let ready = if left == 0 { Vec::new() } else { vec![first] };
        Ok(Self {
            at,
            left: left.saturating_sub(1),
            mini_size: (block / minis) as usize,
            minis: minis as usize,
            widths: Vec::new(),
            smallest: 0,
            last: first,
            ready,
            next: 0,
        })
    }

    fn decode_miniblock(&mut self, bytes: &[u8]) -> Result<(), Damage> {
        if self.left == 0 {
            return Err(Damage("fewer values than it says"));
        }
        if self.widths.is_empty() {
            self.smallest = zigzag(varint(bytes, &mut self.at)?);
            let widths =
                bytes.get(self.at..self.at + self.minis).ok_or(Damage("differences that are cut"))?;
            self.widths = widths.iter().rev().copied().collect();
            self.at += self.minis;
        }
        let width = u32::from(self.widths.pop().unwrap_or(0));
        if width > 64 {
            return Err(Damage("differences of more than 64 bits"));
        }
        let count = usize::try_from(self.left).unwrap_or(usize::MAX).min(self.mini_size);
        let size = (self.mini_size * width as usize).div_ceil(8);
        let needed = (count * width as usize).div_ceil(8);
        let packed = bytes.get(self.at..self.at + needed).ok_or(Damage("differences that are cut"))?;
        self.ready.clear();
        self.next = 0;
        for index in 0..count {
            let difference = bits_at(packed, index * width as usize, width) as i64;
            self.last = self.last.wrapping_add(self.smallest).wrapping_add(difference);
            self.ready.push(self.last);
        }
        self.at += size;
        self.left -= count as u64;
        Ok(())
    }

    /// Up to `limit` of the values that follow, at least one.
    pub fn take(&mut self, bytes: &[u8], limit: usize) -> Result<&[i64], Damage> {
        if self.next == self.ready.len() {
            self.decode_miniblock(bytes)?;
        }
        let from = self.next;
        self.next = self.ready.len().min(from + limit);
        Ok(&self.ready[from..self.next])
    }
}

fn zigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

/// `width` bits from bit `bit` on.
fn bits_at(bytes: &[u8], bit: usize, width: u32) -> u64 {
    let mut raw = [0u8; 16];
    let rest = bytes.get(bit / 8..).unwrap_or_default();
    let len = rest.len().min(16);
    raw[..len].copy_from_slice(&rest[..len]);
    let value = (u128::from_le_bytes(raw) >> (bit % 8)) as u64;
    if width == 64 { value } else { value & ((1 << width) - 1) }
}
