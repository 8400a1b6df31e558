//! Bytes of the log: its header, records, and the sectors that carry them. docs/format.md says why it is so.
//!
//! ```text
//! bytes 0..4096            header, twice (at 0 and 2048)
//! then sectors of 512      [ mark: 8 | 504 bytes of the stream of records ]
//! record, a multiple of 8  [ record header: 56 | body | zeroes ]
//! ```
//! Positions are counted in the stream. Invariants
//! - Behind the end of the stream the file has zeroes or ends.
//! - Every piece of a record that lies in one sector has at least 8 bytes of which none is zero: the mark of the
//!   sector, or the marker the record begins with. So a piece with at most one byte that is not zero never reached the
//!   disk; one flipped byte cannot make a piece look like that.

use crate::bytes::{ByteReader, ByteWriter};
use crate::io::DiskFile;
use inlay_types::{Error, Result};
use std::io;
use twox_hash::XxHash3_64;

pub(super) const SECTOR: u64 = 512;
pub(super) const MARK: u64 = 8;
const CARRIED: u64 = SECTOR - MARK;
/// Bytes before the first sector.
pub(super) const START: u64 = 4096;
const HEADER_SIZE: usize = 512;
const HEADER_OFFSETS: [usize; 2] = [0, 2048];
const MAGIC: [u8; 16] = *b"Inlay log\n\0\0\0\0\0\0";
pub(super) const LOG_VERSION: u32 = 1;
const HEADER_SEED: u64 = 0x6C6F_675F_6865_6164;
pub(super) const RECORD_HEADER: u64 = 56;
const BODY_SIZE_MAX: u64 = 1 << 40;

/// What a log says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LogHeader {
    pub database_id: u128,
    pub salt: u64,
    /// The first record has the next number.
    pub start_lsn: u64,
    /// The number of the state of the file that it was made for; 0 in logs that were made before there was one.
    pub base: u64,
}

/// What was found where the header should be.
pub(super) enum FoundHeader {
    Valid(LogHeader),
    Damaged,
    Newer(u32),
}

impl LogHeader {
    pub(super) fn to_bytes(self) -> Vec<u8> {
        let mut bytes = vec![0; START as usize];
        for (copy, offset) in HEADER_OFFSETS.into_iter().enumerate() {
            let mut writer = ByteWriter::new();
            writer.raw(&MAGIC);
            writer.u32(LOG_VERSION);
            writer.u32(0);
            writer.u128(self.database_id);
            writer.u64(self.salt);
            writer.u64(self.start_lsn);
            writer.u64(self.base);
            let mut header = writer.finish();
            header.resize(HEADER_SIZE - 8, 0);
            let sum = XxHash3_64::oneshot_with_seed(HEADER_SEED + copy as u64, &header);
            header.extend_from_slice(&sum.to_le_bytes());
            bytes[offset..offset + HEADER_SIZE].copy_from_slice(&header);
        }
        bytes
    }

    /// The header, from whichever copy is intact.
    pub(super) fn find(bytes: &[u8]) -> Result<FoundHeader> {
        for (copy, offset) in HEADER_OFFSETS.into_iter().enumerate() {
            let Some(header) = bytes.get(offset..offset + HEADER_SIZE) else { continue };
            let (checked, sum) = header.split_at(HEADER_SIZE - 8);
            if sum != XxHash3_64::oneshot_with_seed(HEADER_SEED + copy as u64, checked).to_le_bytes() {
                continue;
            }
            let mut reader = ByteReader::new(checked);
            if reader.raw(16)? != MAGIC {
                continue;
            }
            let (version, _) = (reader.u32()?, reader.u32()?);
            if version > LOG_VERSION {
                return Ok(FoundHeader::Newer(version));
            }
            let (database_id, salt, start_lsn) = (reader.u128()?, reader.u64()?, reader.u64()?);
            let base = reader.u64()?;
            return Ok(FoundHeader::Valid(LogHeader { database_id, salt, start_lsn, base }));
        }
        Ok(FoundHeader::Damaged)
    }

    /// Whether a file of so few bytes may be a log whose creation was interrupted, and not somebody's file.
    pub(super) fn may_begin_with(bytes: &[u8]) -> bool {
        let size = bytes.len().min(MAGIC.len());
        bytes[..size] == MAGIC[..size] || bytes.iter().all(|&byte| byte == 0)
    }

    /// What each sector begins with.
    fn mark(&self) -> [u8; 8] {
        without_zeroes(XxHash3_64::oneshot_with_seed(self.salt, b"sector"))
    }

    /// What each record begins with.
    fn marker(&self) -> [u8; 8] {
        without_zeroes(XxHash3_64::oneshot_with_seed(self.salt, b"record"))
    }

    /// The chain of checksums begins with that of the header.
    pub(super) fn first_checksum(&self) -> u64 {
        XxHash3_64::oneshot_with_seed(self.salt ^ self.start_lsn, &self.database_id.to_le_bytes())
    }
}

fn without_zeroes(number: u64) -> [u8; 8] {
    number.to_le_bytes().map(|byte| if byte == 0 { 0x5A } else { byte })
}

/// What stands before the body of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RecordHeader {
    pub lsn: u64,
    /// Every record up to this one was durable when this one was made.
    pub durable_lsn: u64,
    pub size: u64,
    pub previous: u64,
    pub body_checksum: u64,
    /// Over all of the above; the next record repeats it as `previous`.
    pub checksum: u64,
}

impl RecordHeader {
    /// Parses and verifies all that can be verified without the record before.
    pub(super) fn from_bytes(bytes: &[u8], log: &LogHeader) -> Option<Self> {
        let bytes = bytes.get(..RECORD_HEADER as usize)?;
        if !bytes.starts_with(&log.marker()) {
            return None;
        }
        let field = |at: usize| -> Option<u64> { ByteReader::new(bytes.get(at..)?).u64().ok() };
        let checksum = field(48)?;
        if checksum != XxHash3_64::oneshot_with_seed(log.salt, &bytes[..48]) {
            return None;
        }
        let (lsn, durable_lsn, size) = (field(8)?, field(16)?, field(24)?);
        let (previous, body_checksum) = (field(32)?, field(40)?);
        (size <= BODY_SIZE_MAX).then_some(Self { lsn, durable_lsn, size, previous, body_checksum, checksum })
    }

    /// Bytes of the whole record in the stream.
    pub(super) fn record_size(&self) -> u64 {
        (RECORD_HEADER + self.size).next_multiple_of(8)
    }
}

fn body_checksum(log: &LogHeader, lsn: u64, body: &[u8]) -> u64 {
    XxHash3_64::oneshot_with_seed(log.salt.rotate_left(17) ^ lsn, body)
}

/// The end of a stream of records, where the next one is chained to it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chain {
    pub log: LogHeader,
    pub position: u64,
    pub previous: u64,
    pub last_lsn: u64,
}

impl Chain {
    pub(super) fn new(log: LogHeader) -> Self {
        Self { log, position: 0, previous: log.first_checksum(), last_lsn: log.start_lsn }
    }

    /// Appends the next record to `stream`.
    pub(super) fn append(&mut self, body: &[u8], durable_lsn: u64, stream: &mut Vec<u8>) {
        let lsn = self.last_lsn + 1;
        let mut writer = ByteWriter::new();
        writer.raw(&self.log.marker());
        writer.u64(lsn);
        writer.u64(durable_lsn);
        writer.u64(body.len() as u64);
        writer.u64(self.previous);
        writer.u64(body_checksum(&self.log, lsn, body));
        let checksum = XxHash3_64::oneshot_with_seed(self.log.salt, writer.as_bytes());
        writer.u64(checksum);
        let from = stream.len();
        stream.extend_from_slice(writer.as_bytes());
        stream.extend_from_slice(body);
        let size = (stream.len() - from).next_multiple_of(8);
        stream.resize(from + size, 0);
        self.position += size as u64;
        self.previous = checksum;
        self.last_lsn = lsn;
    }
}

/// Where in the file a position of the stream is: that of the sector's mark if the sector begins there.
pub(super) fn offset_of(position: u64) -> u64 {
    let inside = position % CARRIED;
    START + position / CARRIED * SECTOR + if inside == 0 { 0 } else { MARK + inside }
}

/// Bytes of the stream as they are in the file, from [`offset_of`] their position.
pub(super) fn in_sectors(log: &LogHeader, mut position: u64, mut stream: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(stream.len() + stream.len() / 60 + 16);
    while !stream.is_empty() {
        let inside = position % CARRIED;
        if inside == 0 {
            bytes.extend_from_slice(&log.mark());
        }
        let (now, rest) = stream.split_at(stream.len().min((CARRIED - inside) as usize));
        bytes.extend_from_slice(now);
        position += now.len() as u64;
        stream = rest;
    }
    bytes
}

/// A part of the stream as it was read.
pub(super) struct Part {
    pub bytes: Vec<u8>,
    /// Some piece of it never reached the disk.
    pub is_lost: bool,
    /// The marks of its sectors are right.
    pub marks_fit: bool,
}

/// Reads `len` bytes of the stream; fewer if the file, of `size` bytes, ends.
pub(super) fn read_part(
    file: &dyn DiskFile,
    log: &LogHeader,
    size: u64,
    position: u64,
    len: u64,
) -> io::Result<Part> {
    let from = offset_of(position);
    let last = position + len - 1;
    let to = START + last / CARRIED * SECTOR + MARK + last % CARRIED + 1;
    let there = to.min(size.max(from));
    let mut raw = vec![0; (there - from) as usize];
    if !raw.is_empty() {
        file.read_at(&mut raw, from)?;
    }
    let mut part = Part { bytes: Vec::with_capacity(raw.len()), is_lost: there < to, marks_fit: true };
    let mut rest = &raw[..];
    let mut offset = from;
    while !rest.is_empty() {
        let in_sector = (SECTOR - (offset - START) % SECTOR) as usize;
        let (piece, after) = rest.split_at(rest.len().min(in_sector));
        part.is_lost |= is_blank(piece);
        if (offset - START).is_multiple_of(SECTOR) {
            let (mark, carried) = piece.split_at(piece.len().min(MARK as usize));
            part.marks_fit &= mark == log.mark();
            part.bytes.extend_from_slice(carried);
        } else {
            part.bytes.extend_from_slice(piece);
        }
        offset += piece.len() as u64;
        rest = after;
    }
    Ok(part)
}

/// Whether nothing was ever written here, but for at most one flipped byte.
pub(super) fn is_blank(piece: &[u8]) -> bool {
    piece.iter().filter(|&&byte| byte != 0).nth(1).is_none()
}

pub(super) fn body_fits(log: &LogHeader, header: &RecordHeader, body: &[u8]) -> bool {
    body_checksum(log, header.lsn, body) == header.body_checksum
}

pub(super) fn newer_version(name: &str, version: u32) -> Error {
    Error::Unsupported {
        feature: format!("the log \"{name}\" has version {version}, which"),
        alternative: Some(format!(
            "this version of Inlay knows versions up to {LOG_VERSION}; use a newer one"
        )),
    }
}
