//! Block lists in fewer bits: gamma codes of what addresses grow by, and of the lengths of runs in contents.
//!
//! ```text
//! block: address less that of the block before, from 1 on | first bit | lengths of its runs of equal bits, 43 in all
//! ```
//! The first block's address counts from -1. A column is unpacked when a query needs it; one of few rows per value takes about 40 %
//! less, and several times as long.

use super::{ADDRESS_BITS, BlockList, CONTENT, CONTENT_BITS, address, word_of};
use crate::bits::{BitReader, BitWriter};
use inlay_types::{Error, Result, limits};

/// A packed list. See the module documentation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackedBlocks {
    blocks: u32,
    bytes: Box<[u8]>,
}

impl BlockList {
    /// The list in fewer bits.
    pub fn pack(&self) -> PackedBlocks {
        let mut writer = BitWriter::default();
        let mut next = 0;
        for &word in &self.words {
            writer.gamma((address(word) + 1 - next) as u32);
            next = address(word) + 1;
            pack_content(word & CONTENT, &mut writer);
        }
        PackedBlocks { blocks: self.words.len() as u32, bytes: writer.finish().into() }
    }
}

fn pack_content(content: u64, writer: &mut BitWriter) {
    let mut is_set = content & 1 != 0;
    writer.bit(is_set);
    let (mut left, mut bits) = (CONTENT_BITS, content);
    while left > 0 {
        let run = if is_set { bits.trailing_ones() } else { bits.trailing_zeros() }.min(left);
        writer.gamma(run);
        bits >>= run;
        left -= run;
        is_set = !is_set;
    }
}

fn unpack_content(reader: &mut BitReader<'_>) -> Result<u64> {
    let mut is_set = reader.take(1)? != 0;
    let (mut at, mut content) = (0, 0u64);
    while at < CONTENT_BITS {
        let run = reader.gamma()?;
        if run > CONTENT_BITS - at {
            return Err(Error::corrupt("a run of rows that is longer than its block"));
        }
        if is_set {
            content |= ((1 << run) - 1) << at;
        }
        at += run;
        is_set = !is_set;
    }
    if content == 0 {
        return Err(Error::corrupt("a block without rows"));
    }
    Ok(content)
}

impl PackedBlocks {
    /// The list as words. Memory is asked for where it is much.
    pub fn unpack(&self) -> Result<BlockList> {
        let mut reader = BitReader::new(&self.bytes);
        // A block takes three bits at least: of its address, its first bit and one run.
        if self.blocks as usize > reader.left() / 3 {
            return Err(Error::corrupt("a block list that ends too early"));
        }
        limits::need(self.blocks as usize * size_of::<u64>())?;
        let mut words = Vec::with_capacity(self.blocks as usize);
        let mut next = 0;
        for _ in 0..self.blocks {
            let address = next + u64::from(reader.gamma()?) - 1;
            if address >> ADDRESS_BITS != 0 {
                return Err(Error::corrupt("a block behind the last one that there can be"));
            }
            words.push(word_of(address, unpack_content(&mut reader)?));
            next = address + 1;
        }
        reader.expect_end()?;
        Ok(BlockList { words })
    }

    /// The number of blocks, and their bits: what [`PackedBlocks::from_bytes`] takes.
    pub fn as_bytes(&self) -> (u32, &[u8]) {
        (self.blocks, &self.bytes)
    }

    /// Of what [`PackedBlocks::as_bytes`] gave; looked at when it is unpacked.
    pub fn from_bytes(blocks: u32, bytes: &[u8]) -> Self {
        Self { blocks, bytes: bytes.into() }
    }

    /// Bytes in memory.
    pub fn memory_size(&self) -> usize {
        size_of::<Self>() + self.bytes.len()
    }
}
