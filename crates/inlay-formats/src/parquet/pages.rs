//! The bytes of a column in a row group, as the parquet crate's page reader takes them.
//!
//! A column of moderate size is read by one call when its first page is wanted, for each call costs a request where the
//! file lies behind a network; larger ones are read page by page.
//!
//! A page's header says how large the page is once it is unpacked, which the crate allocates without asking: up to 2 GiB, whatever
//! there is of it. So headers are looked at here first, and memory is asked for.

use crate::ranges::RangeSource;
use bytes::{Buf, Bytes};
use inlay_types::{Error, limits};
use parking_lot::Mutex;
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::reader::{ChunkReader, Length};
use std::io::Read;
use std::sync::{Arc, OnceLock};

/// Largest column of a row group that is read at once. On disk, too: page by page, columns of text took 1.7 times the page faults.
const WHOLE_SIZE_MAX: u64 = 16 << 20;
/// Bytes read for a page's header.
const HEADER_SIZE: usize = 512;

/// A file, or the range of it that a column takes.
pub(super) struct Chunk {
    source: Arc<dyn RangeSource>,
    /// Where the column lies if it is read at once, and its bytes when they were read.
    whole: Option<(u64, usize, OnceLock<Bytes>)>,
    refusal: Refusal,
}

/// Why reading ended where the file is not to blame; shared with who hears of it through the crate.
#[derive(Clone, Default)]
pub(super) struct Refusal(Arc<Mutex<Option<Error>>>);

impl Refusal {
    /// What memory was refused with, or else the other error.
    pub fn or(&self, other: impl FnOnce() -> Error) -> Error {
        self.0.lock().take().unwrap_or_else(other)
    }
}

impl Chunk {
    /// A whole file, of which ranges are read as they are asked for.
    pub fn file(source: &Arc<dyn RangeSource>) -> Self {
        Self { source: Arc::clone(source), whole: None, refusal: Refusal::default() }
    }

    /// A column of a row group.
    pub fn column(source: &Arc<dyn RangeSource>, column: &ColumnChunkMetaData) -> Self {
        let range = Self::range_at_once(source.as_ref(), column);
        let whole = range.map(|(start, size)| (start, size, OnceLock::new()));
        Self { source: Arc::clone(source), whole, refusal: Refusal::default() }
    }

    /// Where it is said why reading ended.
    pub fn refusal(&self) -> Refusal {
        self.refusal.clone()
    }

    /// Asks for the memory of the page whose header begins here.
    fn ask(&self, header: &[u8]) -> Result<()> {
        let asked = limits::hold(unpacked_size(header).unwrap_or(0));
        asked.map(drop).map_err(|refused| {
            *self.refusal.0.lock() = Some(refused);
            ParquetError::General("there is no memory for a page".to_string())
        })
    }

    /// Where a column lies in a file, if it is read at once.
    pub fn range_at_once(source: &dyn RangeSource, column: &ColumnChunkMetaData) -> Option<(u64, usize)> {
        // `byte_range` fails on what only damaged files say.
        let start = column.dictionary_page_offset().unwrap_or_else(|| column.data_page_offset());
        let (start, size) = (u64::try_from(start).ok()?, u64::try_from(column.compressed_size()).ok()?);
        let fits = size <= WHOLE_SIZE_MAX && start.saturating_add(size) <= source.size();
        fits.then_some((start, size as usize))
    }

    /// Bytes that are held when a column is read at once, 0 when it is read page by page.
    pub fn size_at_once(source: &dyn RangeSource, column: &ColumnChunkMetaData) -> u64 {
        Self::range_at_once(source, column).map_or(0, |(_, size)| size as u64)
    }

    fn read(&self, start: u64, len: usize) -> Result<Bytes> {
        let failed = |error| ParquetError::External(Box::new(error));
        if let Some((first, size, bytes)) = &self.whole
            && let Some(from) = start.checked_sub(*first)
            && from.saturating_add(len as u64) <= *size as u64
        {
            let all = match bytes.get() {
                Some(all) => all,
                None => {
                    let read = self.source.read(*first, *size).map_err(failed)?;
                    bytes.get_or_init(|| read)
                }
            };
            return Ok(all.slice(from as usize..from as usize + len));
        }
        self.source.read(start, len).map_err(failed)
    }
}

impl Length for Chunk {
    fn len(&self) -> u64 {
        self.source.size()
    }
}

impl ChunkReader for Chunk {
    type T = Box<dyn Read>;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        if let Some((first, size, _)) = &self.whole
            && start >= *first
            && start <= *first + *size as u64
        {
            let rest = (*first + *size as u64 - start) as usize;
            let bytes = self.read(start, rest)?;
            self.ask(&bytes)?;
            return Ok(Box::new(bytes.reader()));
        }
        let size = usize::try_from(self.len().saturating_sub(start)).unwrap_or(usize::MAX).min(HEADER_SIZE);
        let bytes = if size == 0 { Bytes::new() } else { self.read(start, size)? };
        self.ask(&bytes)?;
        Ok(Box::new(Reader { source: Arc::clone(&self.source), at: start + size as u64, bytes }))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        self.read(start, length)
    }
}

/// Bytes of a page once it is unpacked, as its header says: the second of its fields in Thrift's compact protocol, of which the
/// first is the kind of the page. `None` if these are no such fields, which is the crate's to say.
fn unpacked_size(header: &[u8]) -> Option<usize> {
    /// A field of 32 bits that follows the one before.
    const NEXT_I32: u8 = 0x15;
    let mut bytes = header.iter().copied();
    let mut field = || {
        let mut word = 0u64;
        bytes.next().filter(|head| *head == NEXT_I32)?;
        for shift in (0..35).step_by(7) {
            let byte = bytes.next()?;
            word |= u64::from(byte & 0x7F) << shift;
            if byte < 0x80 {
                // Zigzag.
                return Some((word >> 1) as i64 ^ -((word & 1) as i64));
            }
        }
        None
    };
    field()?;
    usize::try_from(field()?).ok()
}

/// Reads on from a place, a little at a time: what is read so are headers.
struct Reader {
    source: Arc<dyn RangeSource>,
    at: u64,
    bytes: Bytes,
}

impl Read for Reader {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        if self.bytes.is_empty() {
            let rest = self.source.size().saturating_sub(self.at);
            let size = usize::try_from(rest).unwrap_or(usize::MAX).min(HEADER_SIZE.max(out.len()));
            if size == 0 {
                return Ok(0);
            }
            self.bytes = self.source.read(self.at, size)?;
            self.at += size as u64;
        }
        let len = out.len().min(self.bytes.len());
        self.bytes.copy_to_slice(&mut out[..len]);
        Ok(len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_say_how_large_pages_are() {
        // A data page of 2,147,483,647 bytes that takes 100.
        let header = [0x15, 0x00, 0x15, 0xFE, 0xFF, 0xFF, 0xFF, 0x0F, 0x15, 0xC8, 0x01];
        assert_eq!(unpacked_size(&header), Some(i32::MAX as usize));
        assert_eq!(unpacked_size(&[0x15, 0x04, 0x15, 0x20]), Some(16));
        assert_eq!(unpacked_size(&[0x15, 0x04, 0x15, 0x01]), None);
        let cut = |len: usize| unpacked_size(&header[..len]);
        assert!((0..header.len()).all(|len| cut(len).is_none_or(|size| size == i32::MAX as usize)));
        assert_eq!(unpacked_size(b"PAR1"), None);
    }
}
