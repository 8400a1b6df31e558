//! Files cut into blocks of whole records, one block after the other.
//!
//! Cutting needs the text before the cut (a newline may be quoted), so it is done by one worker at a time, under the
//! scan's lock. It is cheap: without quotes in a block only its last newline is looked for.

use super::dialect::Dialect;
use super::index::last_record_end;
use super::options::CsvOptions;
use crate::input::{Input, InputFile};
use inlay_types::{Error, Result, limits};
use parking_lot::Mutex;
use std::sync::Arc;

/// Bytes read at once.
const BLOCK_SIZE: usize = 2 << 20;
/// Least and most that `buffer_size` makes of it.
const BLOCK_SIZES: std::ops::RangeInclusive<usize> = 1..=16 << 20;
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
    /// Lines in front of it, if they are counted.
    pub lines: u64,
    /// The text; ends in a newline.
    pub bytes: Vec<u8>,
    /// Whether it is the first of its file.
    pub is_first: bool,
}

/// Reads files block by block.
#[derive(Debug)]
pub(super) struct BlockReader {
    files: Arc<[InputFile]>,
    dialect: Dialect,
    block_size: usize,
    /// Lines at the start of a file that are no records.
    skip: u64,
    /// Whether blocks tell their lines.
    counts_lines: bool,
    next_file: usize,
    open: Option<OpenFile>,
    pool: BlockPool,
}

/// How much is read at once and left out at the start.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReadSizes {
    pub buffer_size: Option<usize>,
    pub skip: u64,
}

/// From so many bytes on, memory for a record is asked for before it is read on.
const LONG_RECORD: usize = 8 << 20;

impl ReadSizes {
    pub fn of(options: &CsvOptions) -> Self {
        Self { buffer_size: options.buffer_size, skip: options.skip }
    }
}

#[derive(Debug)]
struct OpenFile {
    input: Input,
    offset: u64,
    lines: u64,
    /// Text behind the last whole record.
    rest: Vec<u8>,
    is_first: bool,
}

/// Length of a byte order mark; an error for what is no text at all.
pub(super) fn check_beginning(path: &str, bytes: &[u8]) -> Result<usize> {
    let other = |what: &str, fix: &str| {
        Error::MalformedFile { path: path.to_string(), line: None, message: what.to_string() }
            .with_hint(fix.to_string())
    };
    match bytes {
        [0xef, 0xbb, 0xbf, ..] => Ok(3),
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => Err(other("the file is UTF-16", "use encoding = 'utf-16'")),
        [b'P', b'A', b'R', b'1', ..] => Err(other("the file is a Parquet file", "use read_parquet")),
        [b'A', b'R', b'R', b'O', b'W', b'1', ..] => Err(other("the file is an Arrow file", "use read_arrow")),
        [b'P', b'K', 3, 4, ..] => {
            Err(other("the file is an Excel workbook or a ZIP archive", "use read_xlsx, or unpack it"))
        }
        _ => Ok(0),
    }
}

impl OpenFile {
    /// Passes the byte order mark and the lines that are skipped.
    fn begin(&mut self, path: &str, skip: u64, newline: u8) -> Result<()> {
        while self.rest.len() < 8 && self.input.fill(BLOCK_SIZE, &mut self.rest)? > 0 {}
        let mark = check_beginning(path, &self.rest)?;
        self.pass(mark);
        while self.lines < skip {
            match memchr::memchr(newline, &self.rest) {
                Some(end) => {
                    self.pass(end + 1);
                    self.lines += 1;
                }
                None => {
                    self.pass(self.rest.len());
                    if self.input.fill(BLOCK_SIZE, &mut self.rest)? == 0 {
                        return Ok(());
                    }
                }
            }
        }
        Ok(())
    }

    fn pass(&mut self, size: usize) {
        self.rest.drain(..size);
        self.offset += size as u64;
    }
}

impl BlockReader {
    /// A reader of files in order.
    pub fn new(
        files: Arc<[InputFile]>,
        dialect: Dialect,
        options: &ReadSizes,
        counts_lines: bool,
        pool: BlockPool,
    ) -> Self {
        let block_size = options
            .buffer_size
            .map_or(BLOCK_SIZE, |size| size.clamp(*BLOCK_SIZES.start(), *BLOCK_SIZES.end()));
        Self { files, dialect, block_size, skip: options.skip, counts_lines, next_file: 0, open: None, pool }
    }

    /// A reader of one file, to look at it.
    pub fn of_one(file: InputFile, dialect: &Dialect, options: &CsvOptions) -> Self {
        Self::new([file].into(), dialect.clone(), &ReadSizes::of(options), false, Arc::default())
    }

    /// The next block, or `None` at the end of the last file.
    pub fn next_block(&mut self) -> Result<Option<Block>> {
        self.next_with(InputFile::read)
    }

    /// As [`Self::next_block`], of files that are read again.
    pub fn look_at_block(&mut self) -> Result<Option<Block>> {
        self.next_with(InputFile::look)
    }

    fn next_with(&mut self, open: impl Fn(&InputFile) -> Result<Input>) -> Result<Option<Block>> {
        loop {
            if self.open.is_none() {
                let Some(file) = self.files.get(self.next_file) else { return Ok(None) };
                let mut opened =
                    OpenFile { input: open(file)?, offset: 0, lines: 0, rest: Vec::new(), is_first: true };
                opened.begin(&file.path, self.skip, self.dialect.newline)?;
                self.next_file += 1;
                self.open = Some(opened);
            }
            let mut bytes = self.pool.lock().pop().unwrap_or_default();
            bytes.clear();
            if let Some(block) = self.read_block(bytes)? {
                return Ok(Some(block));
            }
        }
    }

    fn read_block(&mut self, mut bytes: Vec<u8>) -> Result<Option<Block>> {
        let file = self.next_file - 1;
        let open =
            self.open.as_mut().ok_or_else(|| Error::internal("a block of a CSV file that is not open"))?;
        bytes.append(&mut open.rest);
        let (offset, lines, is_first) = (open.offset, open.lines, open.is_first);
        let (mut looked_at, mut _held) = (0, None);
        let end = loop {
            if bytes.len() > LONG_RECORD && bytes.len() + self.block_size > bytes.capacity() {
                // Where it is, and where it moves to.
                _held = None;
                _held = limits::hold(bytes.capacity() + 2 * bytes.len() + self.block_size)?;
                let more = bytes.len() + self.block_size;
                limits::grow_counted(&mut bytes, more)?;
            }
            if open.input.fill(self.block_size, &mut bytes)? == 0 {
                self.open = None;
                if bytes.is_empty() {
                    return Ok(None);
                }
                if bytes.last() != Some(&self.dialect.newline) {
                    bytes.push(self.dialect.newline);
                }
                return Ok(Some(Block { file, offset, lines, bytes, is_first }));
            }
            // A record of many blocks is not looked at from its beginning with each of them.
            if bytes.len() < looked_at * 2 && looked_at < RECORD_SIZE_MAX {
                continue;
            }
            if let Some(end) = last_record_end(&bytes, &self.dialect)
                && (!is_first || self.dialect.holds_record(&bytes[..end]))
            {
                break end;
            }
            looked_at = bytes.len();
            if bytes.len() > RECORD_SIZE_MAX {
                let message = "a record is longer than 256 MiB";
                let hint = "is a quote not closed? (see the options quote and escape)";
                return Err(Error::MalformedFile {
                    path: self.files[file].path.clone(),
                    line: None,
                    message: message.to_string(),
                }
                .with_hint(hint));
            }
        };
        open.rest.extend_from_slice(&bytes[end..]);
        bytes.truncate(end);
        open.offset += end as u64;
        open.is_first = false;
        if self.counts_lines {
            open.lines += memchr::memchr_iter(self.dialect.newline, &bytes).count() as u64;
        }
        Ok(Some(Block { file, offset, lines, bytes, is_first }))
    }
}

/// The line, counted from 1, of a position in a file; `None` when it cannot be read again.
pub(super) fn line_of(file: &InputFile, position: u64, newline: u8) -> Option<u64> {
    if !file.is_rereadable() {
        return None;
    }
    let mut input = file.look().ok()?;
    let (mut buffer, mut left, mut lines) = (Vec::with_capacity(1 << 16), position, 1);
    while left > 0 {
        buffer.clear();
        let read = input.fill(1 << 16, &mut buffer).ok()?;
        if read == 0 {
            break;
        }
        let within = usize::try_from(left).unwrap_or(usize::MAX).min(read);
        lines += memchr::memchr_iter(newline, &buffer[..within]).count() as u64;
        left -= within as u64;
    }
    Some(lines)
}
