//! Files of which ranges are read, in any order and by several workers at once.

use bytes::{Buf, Bytes};
use inlay_types::{Error, Result};
use std::cell::RefCell;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::Arc;
use std::time::SystemTime;

/// Bytes that lie somewhere: in a file, or behind a network.
pub(crate) trait RangeSource: Send + Sync {
    /// Size in bytes.
    fn size(&self) -> u64;
    /// Bytes `start .. start + len`, all of them.
    fn read(&self, start: u64, len: usize) -> io::Result<Bytes>;
    /// When it was written last.
    fn modified(&self) -> Option<SystemTime> {
        None
    }
    /// Whether each read asks a server, so that few large ones are better than many.
    fn is_remote(&self) -> bool {
        false
    }
    /// Whether it may be read when the statement is over, on any thread, whatever that thread holds.
    fn may_wait(&self) -> bool {
        true
    }
    /// Several ranges at once.
    fn read_all(&self, ranges: &[(u64, usize)]) -> io::Result<Vec<Bytes>> {
        ranges.iter().map(|&(start, len)| self.read(start, len)).collect()
    }
}

/// A file on disk. Reads do not move a position that others would share.
#[derive(Debug)]
pub(crate) struct LocalFile {
    file: File,
    size: u64,
}

/// The file at `path`, which is open, for reading ranges.
pub(crate) fn local(path: &str, file: File) -> Result<Arc<dyn RangeSource>> {
    LocalFile::new(file)
        .map(|file| Arc::new(file) as Arc<dyn RangeSource>)
        .map_err(|e| Error::io("cannot open", path, &e))
}

impl LocalFile {
    /// A file that is open.
    pub fn new(file: File) -> io::Result<Self> {
        let size = file.metadata()?.len();
        Ok(Self { file, size })
    }
}

impl RangeSource for LocalFile {
    fn size(&self) -> u64 {
        self.size
    }

    fn read(&self, start: u64, len: usize) -> io::Result<Bytes> {
        check_range(self.size, start, len)?;
        let mut bytes = vec![0; len];
        read_exact_at(&self.file, &mut bytes, start)?;
        Ok(Bytes::from(bytes))
    }
}

/// A length from a damaged file is not believed before memory is asked for.
pub(crate) fn check_range(size: u64, start: u64, len: usize) -> io::Result<()> {
    if start.checked_add(len as u64).is_none_or(|end| end > size) {
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the file ends too early"));
    }
    Ok(())
}

#[cfg(unix)]
fn read_exact_at(file: &File, bytes: &mut [u8], start: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, start)
}

#[cfg(windows)]
fn read_exact_at(file: &File, mut bytes: &mut [u8], mut start: u64) -> io::Result<()> {
    use std::os::windows::fs::FileExt;
    while !bytes.is_empty() {
        match file.seek_read(bytes, start)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            read => {
                bytes = &mut bytes[read..];
                start += read as u64;
            }
        }
    }
    Ok(())
}

/// First and largest piece that [`Ranges`] asks for.
const PIECE_SIZE_MIN: usize = 256 << 10;
const PIECE_SIZE_MAX: usize = 8 << 20;

/// A position in a source, read on from: pieces grow while reading goes straight on.
pub(crate) struct Ranges {
    source: Arc<dyn RangeSource>,
    at: u64,
    /// What was read from `at` on.
    bytes: Bytes,
    piece: usize,
}

impl Ranges {
    /// The beginning of a source.
    pub fn new(source: Arc<dyn RangeSource>) -> Self {
        Self { source, at: 0, bytes: Bytes::new(), piece: PIECE_SIZE_MIN }
    }
}

impl Read for Ranges {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.bytes.is_empty() && !out.is_empty() {
            let rest = usize::try_from(self.source.size().saturating_sub(self.at)).unwrap_or(usize::MAX);
            if rest == 0 {
                return Ok(0);
            }
            self.bytes = self.source.read(self.at, rest.min(self.piece))?;
            self.piece = (2 * self.piece).min(PIECE_SIZE_MAX);
        }
        let len = out.len().min(self.bytes.len());
        self.bytes.copy_to_slice(&mut out[..len]);
        self.at += len as u64;
        Ok(len)
    }
}

impl Seek for Ranges {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let target = match to {
            SeekFrom::Start(target) => Some(target),
            SeekFrom::End(by) => self.source.size().checked_add_signed(by),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
        };
        let target = target.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        match target.checked_sub(self.at) {
            Some(ahead) if ahead <= self.bytes.len() as u64 => self.bytes.advance(ahead as usize),
            _ => {
                self.bytes = Bytes::new();
                self.piece = PIECE_SIZE_MIN;
            }
        }
        self.at = target;
        Ok(target)
    }
}

/// Ranges of a source of which the first that is wanted brings the others along.
pub(crate) struct Together {
    source: Arc<dyn RangeSource>,
    ranges: Vec<(u64, usize)>,
    read: parking_lot::Mutex<Vec<Bytes>>,
}

impl Together {
    /// The source, with ranges that are going to be read.
    pub fn over(source: &Arc<dyn RangeSource>, ranges: Vec<(u64, usize)>) -> Arc<dyn RangeSource> {
        Arc::new(Self { source: Arc::clone(source), ranges, read: parking_lot::Mutex::default() })
    }
}

impl RangeSource for Together {
    fn size(&self) -> u64 {
        self.source.size()
    }

    fn is_remote(&self) -> bool {
        self.source.is_remote()
    }

    fn read(&self, start: u64, len: usize) -> io::Result<Bytes> {
        let end = start.saturating_add(len as u64);
        let within = |&(first, size): &(u64, usize)| first <= start && end <= first + size as u64;
        let Some(place) = self.ranges.iter().position(within) else { return self.source.read(start, len) };
        let mut read = self.read.lock();
        if read.is_empty() {
            *read = self.source.read_all(&self.ranges)?;
        }
        let from = (start - self.ranges[place].0) as usize;
        Ok(read[place].slice(from..from + len))
    }
}

thread_local! {
    static FAILURE: RefCell<Option<Error>> = const { RefCell::new(None) };
}

/// Notes why a read failed, for [`telling`], and gives the libraries in between something to pass on.
pub(crate) fn noted(error: Error) -> io::Error {
    let passed = io::Error::other(error.to_string());
    FAILURE.set(Some(error));
    passed
}

/// Why the last read on this thread failed, if that is known better than by what became of it.
pub(crate) fn noted_failure() -> Option<Error> {
    FAILURE.take()
}

/// Runs `call`, whose errors may be those of reads that went through other libraries as text; then the reason comes out.
pub(crate) fn telling<T>(call: impl FnOnce() -> Result<T>) -> Result<T> {
    FAILURE.take();
    call().map_err(|error| noted_failure().unwrap_or(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Counted(Vec<u8>, parking_lot::Mutex<Vec<(u64, usize)>>);

    impl RangeSource for Counted {
        fn size(&self) -> u64 {
            self.0.len() as u64
        }

        fn read(&self, start: u64, len: usize) -> io::Result<Bytes> {
            check_range(self.size(), start, len)?;
            self.1.lock().push((start, len));
            Ok(Bytes::copy_from_slice(&self.0[start as usize..start as usize + len]))
        }
    }

    fn source(size: usize) -> Arc<Counted> {
        let bytes = (0..size).map(|i| (i % 251) as u8).collect();
        Arc::new(Counted(bytes, parking_lot::Mutex::default()))
    }

    #[test]
    fn positions_read_what_ranges_hold() {
        let source = source(1 << 20);
        let mut reader = Ranges::new(Arc::clone(&source) as Arc<dyn RangeSource>);
        let mut all = Vec::new();
        reader.read_to_end(&mut all).unwrap();
        assert!(all == source.0 && source.1.lock().len() == 3, "pieces grow");
        let mut ten = [0; 10];
        assert_eq!(reader.seek(SeekFrom::End(-10)).unwrap(), (1 << 20) - 10);
        reader.read_exact(&mut ten).unwrap();
        assert_eq!(ten, source.0[(1 << 20) - 10..]);
        reader.seek(SeekFrom::Start(77)).unwrap();
        reader.seek(SeekFrom::Current(3)).unwrap();
        reader.read_exact(&mut ten).unwrap();
        assert_eq!(ten, source.0[80..90]);
        assert!(reader.seek(SeekFrom::Current(-1000)).is_err());
    }

    #[test]
    fn ranges_of_a_group_are_read_once() {
        let source = source(1000);
        let inner: Arc<dyn RangeSource> = Arc::clone(&source) as Arc<dyn RangeSource>;
        let group = Together::over(&inner, vec![(10, 20), (500, 100)]);
        for (start, len) in [(520, 5), (10, 20), (599, 1), (29, 1)] {
            let from = start as usize;
            assert_eq!(group.read(start, len).unwrap(), source.0[from..from + len]);
        }
        assert_eq!(*source.1.lock(), [(10, 20), (500, 100)]);
        assert_eq!(group.read(25, 10).unwrap(), source.0[25..35]);
        assert!(group.read(995, 10).is_err());
    }
}
