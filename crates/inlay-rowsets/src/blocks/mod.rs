//! The code of OlapCalc: ascending words of 64 bits, each a block of 43 rows that has one at least.
//!
//! ```text
//! row r:  address floor(r / 43), bit r mod 43
//! word:   [ address: 21 bits | content: 43 bits ]         2^21 * 43 = 90,177,536 rows
//! ```
//! 64 = 3 * 21 + 1, so three addresses and a flag would fit into a word, too. Two lists are intersected by a merge on addresses with an
//! AND of contents, in which the next address is searched by doubling steps, halves and single steps ([`crate::search`]). [`packed`]
//! has the lists in fewer bits.
//!
//! Here to be measured: the engine's sets are [`crate::places`], and docs/decisions/0035 says by how much.

pub mod packed;
#[cfg(test)]
mod tests;

pub use packed::PackedBlocks;

use crate::search::advance;
use inlay_types::{Error, Result};

/// Bits of a block's content: rows of a block.
pub const CONTENT_BITS: u32 = 43;
/// Bits of a block's address.
pub const ADDRESS_BITS: u32 = 64 - CONTENT_BITS;
/// Rows that a list can be about.
pub const ROWS_MAX: u64 = (1 << ADDRESS_BITS) * CONTENT_BITS as u64;

const CONTENT: u64 = (1 << CONTENT_BITS) - 1;

/// Rows as words. See the module documentation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockList {
    words: Vec<u64>,
}

fn address(word: u64) -> u64 {
    word >> CONTENT_BITS
}

fn word_of(address: u64, content: u64) -> u64 {
    address << CONTENT_BITS | content
}

impl BlockList {
    /// Of ascending rows.
    pub fn from_sorted(rows: &[u32]) -> Result<Self> {
        if !rows.is_sorted_by(|left, right| left < right) {
            return Err(Error::internal("rows of a block list that are out of order"));
        }
        if let Some(last) = rows.last().filter(|last| u64::from(**last) >= ROWS_MAX) {
            return Err(Error::out_of_range(format!(
                "row {last} is not below {ROWS_MAX}, the rows that a block list can hold"
            )));
        }
        let mut words: Vec<u64> = Vec::new();
        for &row in rows {
            let (block, bit) = (u64::from(row / CONTENT_BITS), 1 << (row % CONTENT_BITS));
            match words.last_mut() {
                Some(last) if address(*last) == block => *last |= bit,
                Some(_) | None => words.push(word_of(block, bit)),
            }
        }
        words.shrink_to_fit();
        Ok(Self { words })
    }

    /// How many rows there are.
    pub fn count(&self) -> u64 {
        self.words.iter().map(|word| u64::from((word & CONTENT).count_ones())).sum()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Shows the pairs of words that have one address: positions jump on both sides.
    #[inline]
    fn matches(&self, other: &Self, mut visit: impl FnMut(u64, u64)) {
        let (mut at, mut beside) = (0, 0);
        while at < self.words.len() && beside < other.words.len() {
            let (own, theirs) = (self.words[at], other.words[beside]);
            if address(own) == address(theirs) {
                visit(address(own), own & theirs & CONTENT);
                at += 1;
                beside += 1;
            } else if own < theirs {
                at = advance(&self.words, at + 1, address(theirs), address);
            } else {
                beside = advance(&other.words, beside + 1, address(own), address);
            }
        }
    }

    /// Rows in both.
    pub fn and(&self, other: &Self) -> Self {
        let mut words = Vec::with_capacity(self.words.len().min(other.words.len()));
        self.matches(other, |address, content| {
            if content != 0 {
                words.push(word_of(address, content));
            }
        });
        Self { words }
    }

    /// How many rows are in both.
    pub fn count_and(&self, other: &Self) -> u64 {
        let mut count = 0;
        self.matches(other, |_, content| count += u64::from(content.count_ones()));
        count
    }

    /// Rows in one of the two.
    pub fn or(&self, other: &Self) -> Self {
        let mut words = Vec::with_capacity(self.words.len() + other.words.len());
        let (mut at, mut beside) = (0, 0);
        while let (Some(&own), Some(&theirs)) = (self.words.get(at), other.words.get(beside)) {
            let (here, there) = (address(own), address(theirs));
            words.push(match here.cmp(&there) {
                std::cmp::Ordering::Less => own,
                std::cmp::Ordering::Equal => own | theirs,
                std::cmp::Ordering::Greater => theirs,
            });
            at += usize::from(here <= there);
            beside += usize::from(there <= here);
        }
        words.extend_from_slice(&self.words[at..]);
        words.extend_from_slice(&other.words[beside..]);
        Self { words }
    }

    /// Shows the rows, ascending.
    #[inline]
    pub fn for_each(&self, mut visit: impl FnMut(u32)) {
        for &word in &self.words {
            let base = address(word) as u32 * CONTENT_BITS;
            let mut content = word & CONTENT;
            while content != 0 {
                visit(base + content.trailing_zeros());
                content &= content - 1;
            }
        }
    }

    /// Bytes in memory.
    pub fn memory_size(&self) -> usize {
        size_of::<Self>() + size_of_val(&self.words[..])
    }
}
