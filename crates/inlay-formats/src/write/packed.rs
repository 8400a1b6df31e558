//! A text file that is written, packed if the option `compression` or the ending of its path says so.

use super::{Target, made};
use crate::Parallel;
use crate::input::Compression;
use crate::option_text::{integer, text};
use inlay_types::limits;
use inlay_types::size_limit::OutputFile;
use inlay_types::{Error, Result, Value};
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
    waiting: Vec<Vec<u8>>,
}

impl TextFile {
    fn new(output: Output) -> Self {
        Self { output: Mutex::new(output), waiting: Vec::new() }
    }

    /// Bytes that were appended and not written yet, before they are packed.
    pub fn waiting(&self) -> u64 {
        self.waiting.iter().map(|text| text.len() as u64).sum()
    }

    /// Appends a text.
    pub fn push(&mut self, text: Vec<u8>) {
        self.waiting.push(text);
    }

    /// Appends the texts that `make` gives for the numbers below `count`.
    pub fn push_made(
        &mut self,
        (parallel, target): (Parallel<'_>, &Target),
        count: usize,
        make: impl Fn(usize) -> Result<Vec<u8>> + Sync,
    ) -> Result<()> {
        let before = std::mem::take(&mut self.waiting);
        let output = &self.output;
        let mut texts = made(parallel, 1 + count, |index| match index.checked_sub(1) {
            Some(index) => make(index),
            None => {
                // The system may let writers wait for the disk.
                before.iter().try_for_each(|text| {
                    limits::check()?;
                    output.lock().write(text).map_err(|error| target.error(&error))
                })?;
                Ok(Vec::new())
            }
        })?;
        self.waiting = texts.split_off(1);
        Ok(())
    }

    /// Completes the file.
    pub fn finish(self) -> std::io::Result<()> {
        let mut output = self.output.into_inner();
        self.waiting.iter().try_for_each(|text| output.write(text))?;
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
