//! Objects: byte strings in runs of blocks, the pointers to them and the frames they begin with.
//!
//! A pointer holds the checksum of what it points to, so whoever has a verified pointer can verify the object, and
//! everything below it. The frame says the same about the object without a pointer, for salvage.

use super::BLOCK_SIZE;
use crate::bytes::{ByteReader, ByteWriter};
use inlay_types::{Error, Result};
use std::fmt;
use twox_hash::XxHash3_64;

/// Bytes of the frame an object begins with.
pub(super) const FRAME_SIZE: usize = 64;
const FRAME_MAGIC: [u8; 8] = *b"\x91Inlay\xB7O";
const FRAME_SEED: u64 = 0x6672_616D_655F_3031;
const PAYLOAD_SEED: u64 = 0x7061_796C_6F61_6400;
/// The largest object; a larger size in a pointer is damage.
const OBJECT_SIZE_MAX: u64 = 1 << 40;

/// What an object is. The number is in the file and never changes its meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum ObjectKind {
    /// One encoded column of one row group.
    Segment = 1,
    /// Which segments a table has.
    Directory = 2,
    /// A part of an index.
    IndexPage = 3,
    /// What has a name; the root.
    Catalog = 4,
    /// Which blocks are free.
    FreeList = 5,
    /// What the optimizer knows of a table.
    Statistics = 6,
    /// Which rows of a row group are deleted.
    Deletions = 7,
    /// Values too large for where they belong.
    Overflow = 8,
    /// The rows of each value of one column of one row group.
    ValueSets = 9,
}

impl ObjectKind {
    /// The kind of a number.
    pub fn from_number(number: u8) -> Option<Self> {
        Some(match number {
            1 => Self::Segment,
            2 => Self::Directory,
            3 => Self::IndexPage,
            4 => Self::Catalog,
            5 => Self::FreeList,
            6 => Self::Statistics,
            7 => Self::Deletions,
            8 => Self::Overflow,
            9 => Self::ValueSets,
            _ => return None,
        })
    }
}

impl fmt::Display for ObjectKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Segment => "segment",
            Self::Directory => "table directory",
            Self::IndexPage => "index page",
            Self::Catalog => "catalog",
            Self::FreeList => "free list",
            Self::Statistics => "statistics",
            Self::Deletions => "deletions",
            Self::Overflow => "overflow",
            Self::ValueSets => "value sets",
        })
    }
}

/// Where an object is, and what it must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectPtr {
    /// Its first block.
    pub block: u64,
    /// Bytes of its payload.
    pub size: u64,
    /// Checksum of its payload, seeded by its kind.
    pub checksum: u64,
}

impl ObjectPtr {
    /// Points to nothing.
    pub const NONE: Self = Self { block: 0, size: 0, checksum: 0 };
    /// Bytes of a pointer in a file.
    pub const SIZE: usize = 24;

    /// Whether it points to nothing.
    pub fn is_none(&self) -> bool {
        *self == Self::NONE
    }

    /// Number of blocks the object takes.
    pub fn block_count(&self) -> u64 {
        blocks_for(self.size)
    }

    /// The block behind its last one.
    pub fn end(&self) -> u64 {
        self.block.saturating_add(self.block_count())
    }

    /// Appends the pointer.
    pub fn write(&self, writer: &mut ByteWriter) {
        writer.u64(self.block);
        writer.u64(self.size);
        writer.u64(self.checksum);
    }

    /// Takes a pointer; one that can point to no object is damage.
    pub fn read(reader: &mut ByteReader) -> Result<Self> {
        let ptr = Self { block: reader.u64()?, size: reader.u64()?, checksum: reader.u64()? };
        if ptr.is_none() { Ok(ptr) } else { ptr.check().map(|()| ptr) }
    }

    pub(super) fn check(&self) -> Result<()> {
        if self.block < 2 || self.block > u64::MAX / BLOCK_SIZE / 4 || self.size > OBJECT_SIZE_MAX {
            return Err(Error::corrupt(format!("a pointer to {} bytes at block {}", self.size, self.block)));
        }
        Ok(())
    }
}

/// The payload of an object that was read together with its frame.
#[derive(Debug)]
pub struct Payload {
    /// Frame and payload.
    object: Vec<u8>,
}

impl Payload {
    /// The payload of an object of at least a frame.
    pub(super) fn of(object: Vec<u8>) -> Self {
        Self { object }
    }

    /// The bytes on their own.
    pub fn into_vec(mut self) -> Vec<u8> {
        self.object.drain(..FRAME_SIZE);
        self.object
    }
}

impl std::ops::Deref for Payload {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.object.get(FRAME_SIZE..).unwrap_or_default()
    }
}

pub(super) fn blocks_for(payload_size: u64) -> u64 {
    payload_size.saturating_add(FRAME_SIZE as u64).div_ceil(BLOCK_SIZE)
}

/// The checksum of a payload.
pub(super) fn checksum(kind: ObjectKind, payload: &[u8]) -> u64 {
    XxHash3_64::oneshot_with_seed(PAYLOAD_SEED ^ kind as u64, payload)
}

/// What an object says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Frame {
    pub kind: ObjectKind,
    pub owner: u64,
    pub size: u64,
    pub generation: u64,
    pub block: u64,
    pub checksum: u64,
}

impl Frame {
    pub(super) fn to_bytes(self) -> Vec<u8> {
        let mut writer = ByteWriter::new();
        writer.raw(&FRAME_MAGIC);
        writer.u64(self.kind as u64);
        writer.u64(self.owner);
        writer.u64(self.size);
        writer.u64(self.generation);
        writer.u64(self.block);
        writer.u64(self.checksum);
        let sum = XxHash3_64::oneshot_with_seed(FRAME_SEED, writer.as_bytes());
        writer.u64(sum);
        writer.finish()
    }

    pub(super) fn is_at(bytes: &[u8]) -> bool {
        bytes.starts_with(&FRAME_MAGIC)
    }

    pub(super) fn from_bytes(bytes: &[u8; FRAME_SIZE]) -> Result<Self> {
        let mut reader = ByteReader::new(bytes);
        let magic = reader.raw(8)?;
        let kind = reader.u64()?;
        let frame = (reader.u64()?, reader.u64()?, reader.u64()?, reader.u64()?, reader.u64()?);
        if magic != FRAME_MAGIC {
            return Err(Error::corrupt("no object begins here"));
        }
        if reader.u64()? != XxHash3_64::oneshot_with_seed(FRAME_SEED, &bytes[..FRAME_SIZE - 8]) {
            return Err(Error::corrupt("the object's frame does not fit its checksum"));
        }
        let kind = u8::try_from(kind)
            .ok()
            .and_then(ObjectKind::from_number)
            .ok_or_else(|| Error::corrupt(format!("object kind {kind}")))?;
        let (owner, size, generation, block, checksum) = frame;
        Ok(Self { kind, owner, size, generation, block, checksum })
    }
}
