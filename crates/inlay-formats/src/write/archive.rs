//! ZIP archives that are written from front to back, as pipes are.
//!
//! What a member's size and checksum are is known when it is complete, and stands behind it. A large member is packed in parts, each by
//! itself, which threads share: parts of DEFLATE that end at a byte follow each other as one.
//!
//! Source: PKWARE, APPNOTE.TXT 6.3.10; RFC 1951.

use flate2::{Compress, Compression, Crc, FlushCompress, Status};
use inlay_types::limits;
use std::io::{self, Write};

/// Before a member, behind it, in the directory, and at its end.
const LOCAL: u32 = 0x0403_4b50;
const DESCRIPTOR: u32 = 0x0807_4b50;
const ENTRY: u32 = 0x0201_4b50;
const END: u32 = 0x0605_4b50;
/// Sizes follow, names are UTF-8; the version that can read it; DEFLATE; 1980-01-01, as there is no clock for what is the same each time.
const FLAGS: u16 = 1 << 3 | 1 << 11;
const VERSION: u16 = 20;
const DEFLATE: u16 = 8;
const DAY: u16 = 1 << 5 | 1;
/// A last part that is empty.
const LAST: [u8; 2] = [3, 0];
/// Bytes that are packed between two looks at the interrupt.
const STEP: usize = 1 << 18;

/// Some bytes of a member, packed.
pub(super) struct Packed {
    crc: Crc,
    bytes: Vec<u8>,
    unpacked: usize,
}

impl Packed {
    /// Packs bytes.
    pub(super) fn new(bytes: &[u8]) -> io::Result<Self> {
        let mut crc = Crc::new();
        let mut packer = Compress::new(Compression::fast(), false);
        let mut out: Vec<u8> = Vec::with_capacity(bytes.len() / 4 + 64);
        let mut steps = bytes.chunks(STEP).peekable();
        while let Some(step) = steps.next() {
            limits::check().map_err(io::Error::other)?;
            crc.update(step);
            let flush = if steps.peek().is_some() { FlushCompress::None } else { FlushCompress::Sync };
            push(&mut packer, step, flush, &mut out)?;
        }
        Ok(Self { crc, bytes: out, unpacked: bytes.len() })
    }
}

fn push(packer: &mut Compress, mut bytes: &[u8], flush: FlushCompress, out: &mut Vec<u8>) -> io::Result<()> {
    loop {
        out.reserve(bytes.len() / 4 + 64);
        let before = packer.total_in();
        let status = packer.compress_vec(bytes, out, flush).map_err(io::Error::other)?;
        bytes = bytes.get((packer.total_in() - before) as usize..).unwrap_or_default();
        // Room that is left says that there is nothing more to write.
        if bytes.is_empty() && (out.len() < out.capacity() || status == Status::BufError) {
            return Ok(());
        }
    }
}

/// A member, of which the sizes are known when it is complete.
struct Member {
    name: &'static str,
    offset: u32,
    crc: Crc,
    packed: u64,
    unpacked: u64,
}

/// An archive that is being written.
pub(super) struct Archive<W> {
    out: W,
    written: u64,
    members: Vec<Member>,
}

impl<W: Write> Archive<W> {
    /// Writes to `out`, from where it is.
    pub(super) fn new(out: W) -> Self {
        Self { out, written: 0, members: Vec::new() }
    }

    /// Begins a member.
    pub(super) fn begin(&mut self, name: &'static str) -> io::Result<()> {
        let offset = size(self.written)?;
        let mut header = Record::of(LOCAL);
        header.halves(&[VERSION, FLAGS, DEFLATE, 0, DAY]).words(&[0, 0, 0]);
        header.halves(&[name.len() as u16, 0]).bytes(name);
        self.members.push(Member { name, offset, crc: Crc::new(), packed: 0, unpacked: 0 });
        self.write(&header.0)
    }

    /// Adds bytes to the member that was begun last.
    pub(super) fn add(&mut self, part: &Packed) -> io::Result<()> {
        if let Some(member) = self.members.last_mut() {
            member.crc.combine(&part.crc);
            member.packed += part.bytes.len() as u64;
            member.unpacked += part.unpacked as u64;
        }
        self.write(&part.bytes)
    }

    /// Ends the member that was begun last.
    pub(super) fn end(&mut self) -> io::Result<()> {
        self.write(&LAST)?;
        let Some(member) = self.members.last_mut() else { return Ok(()) };
        member.packed += LAST.len() as u64;
        let mut record = Record::of(DESCRIPTOR);
        record.words(&[member.crc.sum(), size(member.packed)?, size(member.unpacked)?]);
        self.write(&record.0)
    }

    /// A whole member.
    pub(super) fn member(&mut self, name: &'static str, bytes: &[u8]) -> io::Result<()> {
        self.begin(name)?;
        self.add(&Packed::new(bytes)?)?;
        self.end()
    }

    /// Writes the directory.
    pub(super) fn finish(mut self) -> io::Result<()> {
        let (start, count) = (self.written, self.members.len() as u16);
        for member in std::mem::take(&mut self.members) {
            let mut record = Record::of(ENTRY);
            record.halves(&[VERSION, VERSION, FLAGS, DEFLATE, 0, DAY]);
            record.words(&[member.crc.sum(), size(member.packed)?, size(member.unpacked)?]);
            record.halves(&[member.name.len() as u16, 0, 0, 0, 0]).words(&[0, member.offset]);
            record.bytes(member.name);
            self.write(&record.0)?;
        }
        let mut end = Record::of(END);
        end.halves(&[0, 0, count, count]).words(&[size(self.written - start)?, size(start)?]).halves(&[0]);
        self.write(&end.0)?;
        self.out.flush()
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        for step in bytes.chunks(STEP) {
            limits::check().map_err(io::Error::other)?;
            self.out.write_all(step)?;
        }
        self.written += bytes.len() as u64;
        Ok(())
    }
}

/// A size as archives of the old kind have it, which is what spreadsheets read.
fn size(bytes: u64) -> io::Result<u32> {
    u32::try_from(bytes).map_err(|_| io::Error::new(io::ErrorKind::FileTooLarge, "it has more than 4 GiB"))
}

/// Numbers in the archive's byte order.
struct Record(Vec<u8>);

impl Record {
    fn of(signature: u32) -> Self {
        Self(signature.to_le_bytes().to_vec())
    }

    fn halves(&mut self, values: &[u16]) -> &mut Self {
        values.iter().for_each(|value| self.0.extend_from_slice(&value.to_le_bytes()));
        self
    }

    fn words(&mut self, values: &[u32]) -> &mut Self {
        values.iter().for_each(|value| self.0.extend_from_slice(&value.to_le_bytes()));
        self
    }

    fn bytes(&mut self, text: &str) -> &mut Self {
        self.0.extend_from_slice(text.as_bytes());
        self
    }
}
