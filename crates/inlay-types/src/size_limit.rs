//! Files that the process may not make larger than it is allowed to (`ulimit -f`).
//!
//! A write beyond that limit would end the host by a signal (SIGXFSZ) unless the host ignores it. So the limit is looked at
//! before, and such a write fails like one on a full disk.

#![expect(unsafe_code, reason = "limits of the process by calls of the system")]

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Fails if this process may not have a file that ends at `end`, in bytes.
#[cfg(unix)]
pub fn check_file_size(end: u64) -> io::Result<()> {
    // SAFETY: `rlimit` is a C struct of integers, for which all zeroes is a value.
    let mut limit: libc::rlimit = unsafe { std::mem::zeroed() };
    // SAFETY: `limit` outlives the call, which writes one `rlimit` and keeps no pointer to it.
    let known = unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &raw mut limit) } == 0;
    #[allow(
        clippy::useless_conversion,
        clippy::unnecessary_fallible_conversions,
        reason = "its width differs between systems"
    )]
    let largest = u64::try_from(limit.rlim_cur).unwrap_or(u64::MAX);
    if known && limit.rlim_cur != libc::RLIM_INFINITY && end > largest {
        return Err(io::Error::from_raw_os_error(libc::EFBIG));
    }
    Ok(())
}

/// Fails if this process may not have a file that ends at `end`, in bytes: elsewhere there is no such limit.
#[cfg(not(unix))]
pub fn check_file_size(_end: u64) -> io::Result<()> {
    Ok(())
}

/// A file that is written from its start to its end.
#[derive(Debug)]
pub struct OutputFile {
    file: File,
    /// Counts bytes.
    written: Arc<AtomicU64>,
}

impl OutputFile {
    /// Writes to this file from now on.
    pub fn new(file: File) -> Self {
        Self::counted(file, Arc::default())
    }

    /// The same; `written` counts the bytes.
    pub fn counted(file: File, written: Arc<AtomicU64>) -> Self {
        Self { file, written }
    }

    /// Whoever writes behind what is there without asking where that is, as into a pipe, has no limit here.
    fn check(&mut self, size: usize) -> io::Result<()> {
        match self.file.stream_position() {
            Ok(position) => check_file_size(position.saturating_add(size as u64)),
            Err(_) => Ok(()),
        }
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.check(bytes.len())?;
        let count = self.file.write(bytes)?;
        self.written.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Seek for OutputFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}
