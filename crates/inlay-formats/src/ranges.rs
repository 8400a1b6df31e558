//! Files of which ranges are read, in any order and by several workers at once.

use bytes::Bytes;
use inlay_types::Result;
use std::fs::File;
use std::io;
use std::sync::Arc;

/// Bytes that lie somewhere: in a file, or behind a network.
pub(crate) trait RangeSource: Send + Sync {
    /// Size in bytes.
    fn size(&self) -> u64;
    /// Bytes `start .. start + len`, all of them.
    fn read(&self, start: u64, len: usize) -> io::Result<Bytes>;
}

/// A file on disk. Reads do not move a position that others would share.
#[derive(Debug)]
pub(crate) struct LocalFile {
    file: File,
    size: u64,
}

/// The file at `path` for reading ranges; folders are errors.
pub(crate) fn open(path: &str) -> Result<Arc<dyn RangeSource>> {
    let file = crate::input::open(path)?;
    let size = file.metadata().map_err(|e| inlay_types::Error::io("cannot open", path, &e))?.len();
    Ok(Arc::new(LocalFile { file, size }))
}

impl RangeSource for LocalFile {
    fn size(&self) -> u64 {
        self.size
    }

    fn read(&self, start: u64, len: usize) -> io::Result<Bytes> {
        // A length from a damaged file is not believed before memory is asked for.
        if start.checked_add(len as u64).is_none_or(|end| end > self.size) {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the file ends too early"));
        }
        let mut bytes = vec![0; len];
        read_exact_at(&self.file, &mut bytes, start)?;
        Ok(Bytes::from(bytes))
    }
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
