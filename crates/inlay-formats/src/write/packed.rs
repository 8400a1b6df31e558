//! A text file that is written, packed if the option `compression` or the ending of its path says so.

use super::{Target, made};
use crate::Parallel;
use crate::input::Compression;
use crate::option_text::{integer, text};
use inlay_types::limits;
use inlay_types::size_limit::OutputFile;
use inlay_types::{Batch, Error, Reservation, Result, Value};
use parking_lot::Mutex;
use std::io::{BufWriter, Write};

/// How a file is packed, and how well.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packing {
    compression: Compression,
    level: Option<i64>,
}

/// Where a writer's text goes.
enum Output {
    Plain(BufWriter<OutputFile>),
    Gzip(flate2::write::GzEncoder<BufWriter<OutputFile>>),
    Zstd(zstd::Encoder<'static, BufWriter<OutputFile>>),
}

impl std::fmt::Debug for Output {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Output")
    }
}

impl Packing {
    /// What the path says; options may say otherwise.
    pub fn of_path(path: &str) -> Self {
        Self { compression: Compression::of_path(path), level: None }
    }

    /// Takes an option; whether it is one about packing.
    pub fn set(&mut self, name: &str, value: &Value) -> Result<bool> {
        match name {
            "compression" => {
                let given = Compression::named(text(name, value)?)?;
                if given != Compression::Auto {
                    self.compression = given;
                }
            }
            "compression_level" => self.level = Some(integer(name, value)?),
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn level(self, range: std::ops::RangeInclusive<i64>, usual: i64) -> Result<i32> {
        let level = self.level.unwrap_or(usual);
        if !range.contains(&level) {
            let message =
                format!("compression_level is from {} to {}, not {level}", range.start(), range.end());
            return Err(Error::invalid_argument(message));
        }
        i32::try_from(level).map_err(|_| Error::invalid_argument("compression_level is out of range"))
    }

    /// A file that packs what is written to it.
    pub fn output(self, file: OutputFile, target: &Target) -> Result<TextFile> {
        let file = BufWriter::new(file);
        Ok(TextFile::new(match self.compression {
            Compression::Auto | Compression::None => Output::Plain(file),
            Compression::Gzip => {
                let level = u32::try_from(self.level(0..=9, 6)?).unwrap_or(6);
                Output::Gzip(flate2::write::GzEncoder::new(file, flate2::Compression::new(level)))
            }
            Compression::Zstd => {
                let encoder = zstd::Encoder::new(file, self.level(1..=22, 3)?);
                Output::Zstd(encoder.map_err(|error| target.error(&error))?)
            }
        }))
    }
}

/// A file of texts that several threads make: while they make some, one of them writes those before.
#[derive(Debug)]
pub(super) struct TextFile {
    output: Mutex<Output>,
    waiting: Vec<Text>,
}

/// A text that is counted while it waits.
#[derive(Debug, Default)]
struct Text {
    bytes: Vec<u8>,
    _held: [Option<Reservation>; 2],
}

/// Bytes of texts that all threads make at once, or this part of the budget; and into how many parts these are cut.
const MADE_AT_ONCE: u64 = 16 << 20;
const MADE_PART: u64 = 16;
const PARTS: usize = 8;

fn made_at_once() -> usize {
    let budget = limits::current().map(|limits| limits.budget.limit() / MADE_PART);
    budget.map_or(MADE_AT_ONCE, |part| part.min(MADE_AT_ONCE)) as usize
}

/// What the values of a batch take as texts, about: a value that many rows share is written for each.
fn size_of(batch: &Batch) -> usize {
    let size = |total: usize, column: &inlay_types::Vector| {
        total.saturating_add(column.text_size()).saturating_add(column.len().saturating_mul(8))
    };
    batch.columns().iter().fold(0, size)
}

/// The batches that have rows, in parts of about so many bytes, with their sizes.
fn parts_of(batches: &[Batch], part_size: usize) -> Vec<(Batch, usize)> {
    let mut parts = Vec::with_capacity(batches.len());
    for batch in batches {
        let (len, size) = (batch.len(), size_of(batch));
        if size <= part_size {
            parts.extend((len > 0).then(|| (batch.clone(), size)));
            continue;
        }
        let rows = (len / size.div_ceil(part_size)).max(1);
        for from in (0..len).step_by(rows) {
            let part = batch.slice(from, rows.min(len - from));
            let size = size_of(&part);
            parts.push((part, size));
        }
    }
    parts
}

impl TextFile {
    fn new(output: Output) -> Self {
        Self { output: Mutex::new(output), waiting: Vec::new() }
    }

    /// Bytes that were appended and not written yet, before they are packed.
    pub fn waiting(&self) -> u64 {
        self.waiting.iter().map(|text| text.bytes.len() as u64).sum()
    }

    /// Appends a text.
    pub fn push(&mut self, bytes: Vec<u8>) {
        self.waiting.push(Text { bytes, ..Text::default() });
    }

    /// Appends the texts that `make` gives for parts of the batches, which it is told the number of: few at a time, and what was made
    /// is written before more is.
    pub fn push_rows(
        &mut self,
        to: (Parallel<'_>, &Target),
        batches: &[Batch],
        make: impl Fn(usize, &Batch) -> Result<Vec<u8>> + Sync,
    ) -> Result<()> {
        let most = made_at_once();
        let (parts, mut from) = (parts_of(batches, (most / PARTS).max(1)), 0);
        while from < parts.len() {
            let mut size = 0usize;
            let fits = |(_, part): &&(Batch, usize)| {
                let is_first = size == 0;
                size = size.saturating_add(*part);
                is_first || size <= most
            };
            let some = &parts[from..from + parts[from..].iter().take_while(fits).count()];
            self.push_made(to, some.len(), |index| {
                let (part, size) = &some[index];
                // Before it is made, and what it is more.
                let asked = limits::hold(*size)?;
                let bytes = make(from + index, part)?;
                let more = limits::hold(bytes.len().saturating_sub(*size))?;
                Ok(Text { bytes, _held: [asked, more] })
            })?;
            from += some.len();
        }
        Ok(())
    }

    /// Appends the texts that `make` gives for the numbers below `count`.
    fn push_made(
        &mut self,
        (parallel, target): (Parallel<'_>, &Target),
        count: usize,
        make: impl Fn(usize) -> Result<Text> + Sync,
    ) -> Result<()> {
        let before = std::mem::take(&mut self.waiting);
        let output = &self.output;
        let mut texts = made(parallel, 1 + count, |index| match index.checked_sub(1) {
            Some(index) => make(index),
            None => {
                // The system may let writers wait for the disk.
                before.iter().try_for_each(|text| {
                    limits::check()?;
                    output.lock().write(&text.bytes).map_err(|error| target.error(&error))
                })?;
                Ok(Text::default())
            }
        })?;
        self.waiting = texts.split_off(1);
        Ok(())
    }

    /// Completes the file.
    pub fn finish(self) -> std::io::Result<()> {
        let mut output = self.output.into_inner();
        self.waiting.iter().try_for_each(|text| output.write(&text.bytes))?;
        output.finish()
    }
}

impl Output {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        match self {
            Self::Plain(file) => file.write_all(bytes),
            Self::Gzip(file) => file.write_all(bytes),
            Self::Zstd(file) => file.write_all(bytes),
        }
    }

    /// Writes what ends a packed file.
    fn finish(self) -> std::io::Result<()> {
        match self {
            Self::Plain(mut file) => file.flush(),
            Self::Gzip(file) => file.finish()?.flush(),
            Self::Zstd(file) => file.finish()?.flush(),
        }
    }
}
