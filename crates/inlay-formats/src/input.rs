//! Bytes of a file as readers want them: unpacked and in UTF-8, a piece at a time.
//!
//! ```text
//! file or pipe  ->  gzip, zstd  ->  UTF-16, Latin-1  ->  UTF-8 text
//! ```
//! Memory is bounded by the piece that is asked for. Files that are no UTF-8 and compressed ones are told by what they begin
//! with, unless the user says what they are. A pipe is read once: what was looked at while a statement was bound is kept for
//! its scan.

use crate::files::{Files, First};
use crate::ranges::{self, RangeSource, Ranges};
use inlay_types::{Error, Result};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufReader, Chain, Cursor, Read};
use std::sync::{Arc, OnceLock};

/// How a file is packed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Compression {
    /// As its first bytes say.
    #[default]
    Auto,
    None,
    Gzip,
    Zstd,
}

impl Compression {
    /// The value of the option `compression`.
    pub fn named(name: &str) -> Result<Self> {
        Ok(match name.to_ascii_lowercase().as_str() {
            "auto" | "auto_detect" | "infer" => Self::Auto,
            "none" | "uncompressed" => Self::None,
            "gzip" | "gz" => Self::Gzip,
            "zstd" | "zst" => Self::Zstd,
            other => {
                let message = format!("parameter \"compression\" is auto, none, gzip or zstd, not '{other}'");
                return Err(Error::invalid_argument(message));
            }
        })
    }

    /// What the ending of a path says.
    pub fn of_path(path: &str) -> Self {
        let lower = path.to_ascii_lowercase();
        match () {
            () if lower.ends_with(".gz") => Self::Gzip,
            () if lower.ends_with(".zst") => Self::Zstd,
            () => Self::None,
        }
    }

    fn of_bytes(bytes: &[u8]) -> Self {
        match bytes {
            [0x1f, 0x8b, ..] => Self::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Self::Zstd,
            _ => Self::None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
            Self::Auto | Self::None => "none",
        }
    }
}

/// A path without the ending of a compressed file.
pub(crate) fn unpacked_name(path: &str) -> &str {
    let cut = path.len().saturating_sub(if Compression::of_path(path) == Compression::Gzip { 3 } else { 4 });
    if Compression::of_path(path) == Compression::None { path } else { path.get(..cut).unwrap_or(path) }
}

/// How the text of a file is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Encoding {
    /// UTF-8, or UTF-16 that begins with a byte order mark.
    #[default]
    Auto,
    Utf8,
    Utf16 {
        big_endian: bool,
    },
    Latin1,
    Windows1252,
}

impl Encoding {
    /// The value of the option `encoding`.
    pub fn named(name: &str) -> Result<Self> {
        let plain: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
        Ok(match plain.to_ascii_lowercase().as_str() {
            "utf8" => Self::Utf8,
            "utf16" | "utf16le" | "ucs2" => Self::Utf16 { big_endian: false },
            "utf16be" => Self::Utf16 { big_endian: true },
            "latin1" | "iso88591" | "l1" => Self::Latin1,
            "windows1252" | "cp1252" => Self::Windows1252,
            _ => {
                let message = format!(
                    "parameter \"encoding\" is utf-8, utf-16, utf-16-be, latin-1 or windows-1252, not '{name}'"
                );
                let hint = "convert the file, as with iconv";
                return Err(Error::invalid_argument(message).with_hint(hint));
            }
        })
    }
}

/// Pipes that statements have begun to look at, by path.
pub(crate) type Pipes = Arc<Mutex<HashMap<String, Arc<Mutex<Pipe>>>>>;

/// A pipe, and what was read of it so far.
#[derive(Debug)]
pub(crate) struct Pipe {
    file: Option<File>,
    seen: Vec<u8>,
}

/// A file to be read, perhaps several times, or a pipe.
#[derive(Clone)]
pub(crate) struct InputFile {
    pub path: String,
    pub compression: Compression,
    pub encoding: Encoding,
    pipe: Option<(Arc<Mutex<Pipe>>, Pipes)>,
    files: Arc<Files>,
    /// A file that is not on disk, from when it is opened on.
    remote: Arc<OnceLock<Arc<dyn RangeSource>>>,
}

impl InputFile {
    /// The file at `path`. It is opened if it is a pipe.
    pub fn new(
        files: &Arc<Files>,
        path: &str,
        (compression, encoding): (Compression, Encoding),
        pipes: &Pipes,
    ) -> Result<Self> {
        let mut pipe = None;
        if !files.is_elsewhere(path) && files.is_pipe(path)? {
            let mut known = pipes.lock();
            let found = match known.get(path) {
                Some(found) => Arc::clone(found),
                None => {
                    let file = files.open(path)?;
                    let made = Arc::new(Mutex::new(Pipe { file: Some(file), seen: Vec::new() }));
                    known.insert(path.to_string(), Arc::clone(&made));
                    made
                }
            };
            pipe = Some((found, Arc::clone(pipes)));
        }
        let (files, remote) = (Arc::clone(files), Arc::default());
        Ok(Self { path: path.to_string(), compression, encoding, pipe, files, remote })
    }

    /// The file that is not on disk, opened once.
    fn remote(&self) -> Result<&Arc<dyn RangeSource>> {
        if let Some(known) = self.remote.get() {
            return Ok(known);
        }
        let opened = self.files.ranges(&self.path, First::Beginning)?;
        Ok(self.remote.get_or_init(|| opened))
    }

    /// Bytes of the file on disk; unknown of a pipe.
    pub fn size(&self) -> Result<Option<u64>> {
        if self.pipe.is_some() {
            return Ok(None);
        }
        let size = if self.files.is_elsewhere(&self.path) {
            self.remote()?.size()
        } else {
            let metadata = self.files.open(&self.path)?.metadata();
            metadata.map_err(|e| Error::io("cannot read", &self.path, &e))?.len()
        };
        // Texts become about a fourth.
        let packed = Compression::of_path(&self.path) != Compression::None;
        Ok(Some(if packed { size * 4 } else { size }))
    }

    /// Whether it may be read when the statement is over.
    pub fn may_wait(&self) -> bool {
        self.files.may_wait(&self.path)
    }

    /// Whether it can be read again from its beginning.
    pub fn is_rereadable(&self) -> bool {
        self.pipe.is_none()
    }

    /// Reads from the beginning, to look at it.
    pub fn look(&self) -> Result<Input> {
        match &self.pipe {
            None if self.files.is_elsewhere(&self.path) => {
                Input::over(Box::new(Ranges::new(Arc::clone(self.remote()?))), self)
            }
            None => Input::over(Box::new(self.files.open(&self.path)?), self),
            Some((pipe, _)) => Input::over(
                Box::new(PipeReader { pipe: Arc::clone(pipe), path: self.path.clone(), at: 0 }),
                self,
            ),
        }
    }

    /// Reads from the beginning, all of it; once if it is a pipe.
    pub fn read(&self) -> Result<Input> {
        let Some((pipe, pipes)) = &self.pipe else { return self.look() };
        pipes.lock().remove(&self.path);
        let mut pipe = pipe.lock();
        let Some(file) = pipe.file.take() else { return Err(read_already(&self.path)) };
        let seen = std::mem::take(&mut pipe.seen);
        Input::over(Box::new(Cursor::new(seen).chain(file)), self)
    }
}

impl std::fmt::Debug for InputFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "InputFile({})", crate::remote::shown(&self.path))
    }
}

fn read_already(path: &str) -> Error {
    Error::invalid_argument(format!("'{path}' is a pipe, which is read only once"))
        .with_hint("write it to a file or table to read it again")
}

/// Reads a pipe and keeps what it reads.
struct PipeReader {
    pipe: Arc<Mutex<Pipe>>,
    path: String,
    at: usize,
}

impl Read for PipeReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut pipe = self.pipe.lock();
        if self.at == pipe.seen.len() {
            let Pipe { file, seen } = &mut *pipe;
            let Some(file) = file else {
                return Err(io::Error::other(read_already(&self.path).to_string()));
            };
            let read = file.read(buffer)?;
            seen.extend_from_slice(&buffer[..read]);
            self.at += read;
            return Ok(read);
        }
        let read = buffer.len().min(pipe.seen.len() - self.at);
        buffer[..read].copy_from_slice(&pipe.seen[self.at..self.at + read]);
        self.at += read;
        Ok(read)
    }
}

type Bytes = Box<dyn Read + Send>;

/// A file that is being read, as UTF-8 if it is text.
pub(crate) struct Input {
    source: Source,
    path: String,
    compression: Compression,
    encoding: Encoding,
    /// Bytes of the file that make no character yet.
    raw: Vec<u8>,
    at_end: bool,
}

/// What was read to recognise the file, and the rest of it.
type Whole = Chain<Cursor<Vec<u8>>, Bytes>;

enum Source {
    Plain(Whole),
    Gzip(Box<flate2::read::MultiGzDecoder<BufReader<Whole>>>),
    Zstd(Box<zstd::Decoder<'static, BufReader<Whole>>>),
}

impl std::fmt::Debug for Input {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Input({})", self.path)
    }
}

/// Bytes of a compressed file read at once.
const PACKED_SIZE: usize = 256 << 10;

impl Input {
    fn over(mut bytes: Bytes, file: &InputFile) -> Result<Self> {
        let mut first = Vec::new();
        let read = (&mut bytes).take(4).read_to_end(&mut first);
        read.map_err(|e| {
            ranges::noted_failure().unwrap_or_else(|| Error::io("cannot read", &file.path, &e))
        })?;
        let found = Compression::of_bytes(&first);
        let compression = if file.compression == Compression::Auto { found } else { file.compression };
        let is_packed = compression != Compression::None;
        if is_packed && found != compression && !first.is_empty() {
            let message = format!(
                "the file is not compressed by {}; compression = 'auto' looks at how it begins",
                compression.name()
            );
            return Err(malformed(&file.path, message));
        }
        let compression = if first.is_empty() { Compression::None } else { compression };
        let all = Cursor::new(first).chain(bytes);
        let source = match compression {
            Compression::Gzip => {
                let buffered = BufReader::with_capacity(PACKED_SIZE, all);
                Source::Gzip(Box::new(flate2::read::MultiGzDecoder::new(buffered)))
            }
            Compression::Zstd => {
                let decoder = zstd::Decoder::with_buffer(BufReader::with_capacity(PACKED_SIZE, all));
                Source::Zstd(Box::new(decoder.map_err(|e| Error::io("cannot read", &file.path, &e))?))
            }
            Compression::Auto | Compression::None => Source::Plain(all),
        };
        let mut input = Self {
            source,
            path: file.path.clone(),
            compression,
            encoding: file.encoding,
            raw: Vec::new(),
            at_end: false,
        };
        if input.encoding != Encoding::Utf8 {
            input.look_at_mark()?;
        }
        Ok(input)
    }

    /// Finds out what is left open of the encoding by the mark at the beginning.
    fn look_at_mark(&mut self) -> Result<()> {
        let mut raw = Vec::new();
        self.read_raw(3, &mut raw)?;
        let mark = match raw.as_slice() {
            [0xff, 0xfe, ..] => Some(false),
            [0xfe, 0xff, ..] => Some(true),
            _ => None,
        };
        if let (Some(big_endian), Encoding::Auto | Encoding::Utf16 { .. }) = (mark, self.encoding) {
            self.encoding = Encoding::Utf16 { big_endian };
            raw.drain(..2);
        } else if self.encoding == Encoding::Auto {
            self.encoding = Encoding::Utf8;
        }
        self.raw = raw;
        Ok(())
    }

    fn read_raw(&mut self, limit: usize, out: &mut Vec<u8>) -> Result<usize> {
        let limit = limit as u64;
        let read = match &mut self.source {
            Source::Plain(bytes) => bytes.take(limit).read_to_end(out),
            Source::Gzip(bytes) => bytes.take(limit).read_to_end(out),
            Source::Zstd(bytes) => bytes.take(limit).read_to_end(out),
        };
        read.map_err(|error| self.failure(&error))
    }

    fn failure(&self, error: &io::Error) -> Error {
        use io::ErrorKind::{InvalidData, InvalidInput, Other, UnexpectedEof};
        if let Some(known) = ranges::noted_failure() {
            return known;
        }
        let is_packed = self.compression != Compression::None;
        match error.kind() {
            UnexpectedEof if is_packed => malformed(
                &self.path,
                format!("the {} data ends too early; the file is incomplete", self.compression.name()),
            ),
            InvalidData | InvalidInput | Other if is_packed => {
                malformed(&self.path, format!("the {} data is damaged: {error}", self.compression.name()))
            }
            _ => Error::io("cannot read", &self.path, error),
        }
    }

    /// Appends up to about `limit` bytes to `out`; returns how many, 0 at the end.
    pub fn fill(&mut self, limit: usize, out: &mut Vec<u8>) -> Result<usize> {
        let before = out.len();
        if matches!(self.encoding, Encoding::Auto | Encoding::Utf8) {
            out.append(&mut self.raw);
            self.read_raw(limit, out)?;
            return Ok(out.len() - before);
        }
        while out.len() == before && !self.at_end {
            let mut raw = std::mem::take(&mut self.raw);
            let read = self.read_raw(limit, &mut raw)?;
            self.at_end = read == 0;
            self.decode(&raw, out)?;
        }
        Ok(out.len() - before)
    }

    /// Appends the characters of `raw`; what is none yet stays for the next time.
    fn decode(&mut self, raw: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let mut push = |c: char| out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
        match self.encoding {
            Encoding::Auto | Encoding::Utf8 => out.extend_from_slice(raw),
            Encoding::Latin1 => raw.iter().for_each(|&byte| push(char::from(byte))),
            Encoding::Windows1252 => raw.iter().for_each(|&byte| push(of_windows_1252(byte))),
            Encoding::Utf16 { big_endian } => {
                let (pairs, odd) = raw.split_at(raw.len() & !1);
                let mut units: Vec<u16> = pairs
                    .chunks_exact(2)
                    .map(|two| {
                        if big_endian {
                            u16::from_be_bytes([two[0], two[1]])
                        } else {
                            u16::from_le_bytes([two[0], two[1]])
                        }
                    })
                    .collect();
                let is_cut = !self.at_end && units.last().is_some_and(|last| (0xd800..0xdc00).contains(last));
                let mut kept = 0;
                if is_cut {
                    units.pop();
                    kept = 2;
                }
                let mut is_broken = self.at_end && !odd.is_empty();
                for unit in char::decode_utf16(units) {
                    match unit {
                        Ok(c) => push(c),
                        Err(_) => is_broken = true,
                    }
                }
                if is_broken {
                    let message = "the text is not UTF-16; give another encoding, as encoding = 'utf-8'";
                    return Err(malformed(&self.path, message.to_string()));
                }
                self.raw.extend_from_slice(&raw[pairs.len() - kept..]);
            }
        }
        Ok(())
    }
}

fn malformed(path: &str, message: String) -> Error {
    Error::MalformedFile { path: path.to_string(), line: None, message }
}

/// Characters of the bytes 0x80 to 0x9f; those without one stay as they are.
const WINDOWS_1252: [u16; 32] = [
    0x20ac, 0x81, 0x201a, 0x192, 0x201e, 0x2026, 0x2020, 0x2021, 0x2c6, 0x2030, 0x160, 0x2039, 0x152, 0x8d,
    0x17d, 0x8f, 0x90, 0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014, 0x2dc, 0x2122, 0x161, 0x203a,
    0x153, 0x9d, 0x17e, 0x178,
];

fn of_windows_1252(byte: u8) -> char {
    let code = match byte {
        0x80..=0x9f => u32::from(WINDOWS_1252[usize::from(byte - 0x80)]),
        other => u32::from(other),
    };
    char::from_u32(code).unwrap_or('\u{fffd}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn read_all(bytes: &[u8], compression: Compression, encoding: Encoding, step: usize) -> Result<Vec<u8>> {
        let file = InputFile::new(&Arc::default(), "x", (compression, encoding), &Pipes::default()).unwrap();
        let mut input = Input::over(Box::new(Cursor::new(bytes.to_vec())), &file)?;
        let mut out = Vec::new();
        while input.fill(step, &mut out)? > 0 {}
        Ok(out)
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn text_comes_out_however_it_is_packed_and_written() {
        let text = "a,é,😀\r\nü,€,z\n";
        let utf16: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> =
            "\u{feff}".encode_utf16().chain(text.encode_utf16()).flat_map(u16::to_be_bytes).collect();
        let members = [gzip(&text.as_bytes()[..5]), gzip(&text.as_bytes()[5..])].concat();
        let packed = zstd::encode_all(text.as_bytes(), 1).unwrap();
        for step in 1..9 {
            let read = |bytes: &[u8], encoding| read_all(bytes, Compression::Auto, encoding, step).unwrap();
            assert_eq!(read(text.as_bytes(), Encoding::Auto), text.as_bytes());
            assert_eq!(read(&utf16, Encoding::Utf16 { big_endian: false }), text.as_bytes());
            assert_eq!(read(&big, Encoding::Auto), text.as_bytes());
            assert_eq!(read(&members, Encoding::Auto), text.as_bytes());
            assert_eq!(read(&packed, Encoding::Auto), text.as_bytes());
            assert_eq!(read(&gzip(&big), Encoding::Auto), text.as_bytes());
            assert_eq!(read(b"\xe9\x80", Encoding::Latin1), "é\u{80}".as_bytes());
            assert_eq!(read(b"\xe9\x80", Encoding::Windows1252), "é€".as_bytes());
        }
        assert_eq!(read_all(b"", Compression::Gzip, Encoding::Auto, 9), Ok(Vec::new()));
    }

    #[test]
    fn what_is_damaged_is_an_error() {
        let text: Vec<u8> = (0..200_000u32).flat_map(|i| (i * 7919).to_le_bytes()).collect();
        for packed in [gzip(&text), zstd::encode_all(text.as_slice(), 3).unwrap()] {
            for cut in [5, 12, packed.len() / 2, packed.len() - 1] {
                let error = read_all(&packed[..cut], Compression::Auto, Encoding::Utf8, 1 << 16).unwrap_err();
                assert!(
                    error.to_string().contains("incomplete") || error.to_string().contains("damaged"),
                    "{error}"
                );
            }
        }
        let mut packed = gzip(&text);
        let middle = packed.len() / 2;
        packed[middle] ^= 0x55;
        let error = read_all(&packed, Compression::Auto, Encoding::Utf8, 1 << 16).unwrap_err();
        assert!(error.to_string().contains("damaged"), "{error}");
        let error = read_all(b"a,b\n", Compression::Gzip, Encoding::Utf8, 9).unwrap_err();
        assert!(error.to_string().contains("not compressed by gzip"), "{error}");
        let error =
            read_all(b"\x00\xd8\x00\x00", Compression::Auto, Encoding::Utf16 { big_endian: false }, 9);
        assert!(error.unwrap_err().to_string().contains("UTF-16"));
    }
}
