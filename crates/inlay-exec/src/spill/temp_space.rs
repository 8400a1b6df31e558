//! Where temporary files lie, and how many bytes they may have together.

use inlay_types::error::NO_SPACE;
use inlay_types::{Error, Result};
use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// A directory for temporary files with a limit; shared by all queries of a database.
#[derive(Debug)]
pub struct TempSpace {
    directory: PathBuf,
    limit: AtomicU64,
    used: AtomicU64,
    /// Bytes ever written.
    written: AtomicU64,
    names: AtomicU64,
    /// Writes that reach beyond so many bytes fail as if the disk were broken.
    #[cfg(test)]
    pub(crate) broken_at: AtomicU64,
}

impl Default for TempSpace {
    /// The system's directory for temporary files, without a limit.
    fn default() -> Self {
        Self::new(std::env::temp_dir(), None)
    }
}

impl TempSpace {
    /// Files lie in `directory`, which is made when first needed, and have at most `size_max` bytes together
    /// (the setting `max_temp_directory_size`).
    pub fn new(directory: impl Into<PathBuf>, size_max: Option<u64>) -> Self {
        Self {
            directory: directory.into(),
            limit: size_max.unwrap_or(u64::MAX).into(),
            used: 0.into(),
            written: 0.into(),
            names: 0.into(),
            #[cfg(test)]
            broken_at: u64::MAX.into(),
        }
    }

    /// Where files lie.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Bytes in files now.
    pub fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// Bytes written so far, those that are gone included.
    pub fn written(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }

    /// Most bytes that files may have together.
    pub fn limit(&self) -> u64 {
        self.limit.load(Ordering::Relaxed)
    }

    /// Changes the limit; what is there already stays.
    pub fn set_limit(&self, size_max: Option<u64>) {
        self.limit.store(size_max.unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// Counts bytes that are about to be written.
    pub(super) fn take(&self, bytes: u64) -> Result<()> {
        let limit = self.limit();
        let before = self.used.fetch_add(bytes, Ordering::Relaxed);
        #[cfg(test)]
        if before + bytes > self.broken_at.load(Ordering::Relaxed) {
            self.used.fetch_sub(bytes, Ordering::Relaxed);
            let broken = std::io::Error::other("the disk is broken");
            return Err(Error::io("cannot write", self.directory.display().to_string(), &broken));
        }
        if before.saturating_add(bytes) > limit {
            self.used.fetch_sub(bytes, Ordering::Relaxed);
            let path = format!("{}\" (max_temp_directory_size = \"{limit} bytes", self.directory.display());
            let reason = NO_SPACE;
            return Err(Error::DiskFull { action: "cannot write temporary files to", path, reason });
        }
        self.written.fetch_add(bytes, Ordering::Relaxed);
        Ok(())
    }

    /// Counts bytes that are gone.
    pub(super) fn give_back(&self, bytes: u64) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Makes a new file. Where the system allows it the file has no name any more, so that it is gone whatever happens;
    /// otherwise its path is returned, to be removed by the caller.
    pub(super) fn create(&self) -> Result<(File, Option<PathBuf>)> {
        std::fs::create_dir_all(&self.directory)
            .map_err(|e| Error::io("cannot create directory", self.directory.display().to_string(), &e))?;
        loop {
            let path = self.directory.join(self.next_name());
            let mut options = OpenOptions::new();
            options.read(true).write(true).create_new(true);
            #[cfg(unix)]
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
            match options.open(&path) {
                Ok(file) => {
                    let unnamed = cfg!(unix) && std::fs::remove_file(&path).is_ok();
                    return Ok((file, if unnamed { None } else { Some(path) }));
                }
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => {
                    return Err(Error::io("cannot create", path.display().to_string(), &error));
                }
            }
        }
    }

    fn next_name(&self) -> String {
        let number = self.names.fetch_add(1, Ordering::Relaxed);
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let nanos = now.map_or(0, |since| since.as_nanos() as u64);
        format!("inlay-{}-{nanos:x}-{number}.tmp", std::process::id())
    }
}
