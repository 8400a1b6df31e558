//! Files cut into blocks of whole records, one block after the other.
//!
//! Cutting needs the text before the cut (a newline may be quoted), so it is done by one worker at a time, under the
//! scan's lock. It is cheap: without quotes in a block only its last newline is looked for.

use super::dialect::Dialect;
use super::index::last_record_end;
use inlay_types::{Error, Result};
use parking_lot::Mutex;
use std::fs::File;
use std::io::Read;
use std::sync::Arc;

/// Bytes read at once.
const BLOCK_SIZE: usize = 2 << 20;
/// Longest record; an unclosed quote is found before a file fills the memory.
const RECORD_SIZE_MAX: usize = 256 << 20;

/// Memory of blocks for use by later ones.
pub(super) type BlockPool = Arc<Mutex<Vec<Vec<u8>>>>;

/// Whole records of a file.
#[derive(Debug)]
pub(super) struct Block {
    /// Which file.
    pub file: usize,
    /// Where in the file the bytes begin.
    pub offset: u64,
    /// The text; ends in a newline.
    pub bytes: Vec<u8>,
    /// Whether it is the first of its file.
    pub is_first: bool,
}

/// Reads files block by block.
#[derive(Debug)]
pub(super) struct BlockReader {
    files: Arc<[String]>,
    dialect: Dialect,
    next_file: usize,
    open: Option<OpenFile>,
    pool: BlockPool,
}

#[derive(Debug)]
struct OpenFile {
    file: File,
    offset: u64,
    /// Text behind the last whole record.
    rest: Vec<u8>,
    is_first: bool,
}

/// Opens a file; folders are errors.
pub(crate) fn open(path: &str) -> Result<File> {
    let file = File::open(path).map_err(|e| Error::io("cannot open", path, &e))?;
    let metadata = file.metadata().map_err(|e| Error::io("cannot open", path, &e))?;
    if metadata.is_dir() {
        let error = std::io::Error::new(std::io::ErrorKind::IsADirectory, "is a folder, not a file");
        return Err(Error::io("cannot read", path, &error));
    }
    #[cfg(unix)]
    if std::os::unix::fs::FileTypeExt::is_fifo(&metadata.file_type()) {
        // Types are found out before rows are read, and what went through a pipe does not come again.
        let message =
            format!("'{path}' is a pipe, which is read only once; write it to a file, or redirect one");
        return Err(Error::invalid_argument(message));
    }
    Ok(file)
}

/// Length of a byte order mark; an error for what is no UTF-8 text at all.
pub(super) fn check_beginning(path: &str, bytes: &[u8]) -> Result<usize> {
    let other = |what: &str, fix: &str| Error::MalformedFile {
        path: path.to_string(),
        line: None,
        message: format!("{what}; {fix}"),
    };
    match bytes {
        [0xef, 0xbb, 0xbf, ..] => Ok(3),
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => Err(other("the file is UTF-16", "convert it to UTF-8")),
        [0x1f, 0x8b, ..] => Err(other("the file is compressed by gzip", "unpack it before reading it")),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => {
            Err(other("the file is compressed by zstd", "unpack it before reading it"))
        }
        [b'P', b'A', b'R', b'1', ..] => Err(other("the file is a Parquet file", "use read_parquet")),
        _ => Ok(0),
    }
}

impl BlockReader {
    /// A reader of files in order.
    pub fn new(files: Arc<[String]>, dialect: Dialect, pool: BlockPool) -> Self {
        Self { files, dialect, next_file: 0, open: None, pool }
    }

    /// The next block, or `None` at the end of the last file.
    pub fn next_block(&mut self) -> Result<Option<Block>> {
        loop {
            if self.open.is_none() {
                let Some(path) = self.files.get(self.next_file) else { return Ok(None) };
                self.next_file += 1;
                self.open = Some(OpenFile { file: open(path)?, offset: 0, rest: Vec::new(), is_first: true });
            }
            let mut bytes = self.pool.lock().pop().unwrap_or_default();
            bytes.clear();
            if let Some(block) = self.read_block(bytes)? {
                return Ok(Some(block));
            }
        }
    }

    fn read_block(&mut self, mut bytes: Vec<u8>) -> Result<Option<Block>> {
        let index = self.next_file - 1;
        let path = &self.files[index];
        let Some(open) = self.open.as_mut() else { return Ok(None) };
        bytes.append(&mut open.rest);
        let (offset, is_first) = (open.offset, open.is_first);
        let end = loop {
            let limit = BLOCK_SIZE as u64;
            let read = (&open.file).take(limit).read_to_end(&mut bytes);
            let read = read.map_err(|e| Error::io("cannot read", path, &e))?;
            if read == 0 {
                self.open = None;
                if bytes.is_empty() {
                    return Ok(None);
                }
                if bytes.last() != Some(&self.dialect.newline) {
                    bytes.push(self.dialect.newline);
                }
                return Ok(Some(Block { file: index, offset, bytes, is_first }));
            }
            if let Some(end) = last_record_end(&bytes, &self.dialect) {
                break end;
            }
            if bytes.len() > RECORD_SIZE_MAX {
                let message = "a record is longer than 256 MiB; is a quote not closed? (see the options quote and escape)";
                return Err(Error::MalformedFile {
                    path: path.clone(),
                    line: None,
                    message: message.to_string(),
                });
            }
        };
        open.rest.extend_from_slice(&bytes[end..]);
        bytes.truncate(end);
        open.offset += end as u64;
        open.is_first = false;
        Ok(Some(Block { file: index, offset, bytes, is_first }))
    }
}

/// The line, counted from 1, of a position in a file; `None` when it cannot be read again.
pub(super) fn line_of(path: &str, position: u64, newline: u8) -> Option<u64> {
    let mut file = File::open(path).ok()?.take(position);
    let (mut buffer, mut lines) = (vec![0; 1 << 16], 1);
    loop {
        let read = file.read(&mut buffer).ok()?;
        if read == 0 {
            return Some(lines);
        }
        lines += memchr::memchr_iter(newline, &buffer[..read]).count() as u64;
    }
}
