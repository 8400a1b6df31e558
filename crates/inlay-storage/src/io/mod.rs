//! Disks: the only way to files of a database and its log.
//!
//! [`RealDisk`] is the operating system. [`MemoryDisk`] keeps files in memory. [`SimulatedDisk`] is a disk whose every
//! call can fail and whose power can be cut, repeatable from a seed, for tests of this and other crates.
//!
//! What callers may rely on is little, and is the fault model of docs/format.md: a write is durable only after
//! [`DiskFile::sync`], a name only after [`Disk::sync_directory`]; before, any sector of 512 bytes may have any of its
//! versions; after a failed sync nothing is known.

mod locks;
mod memory;
mod place;
mod real;
mod simulated;
#[cfg(test)]
mod tests;

use std::fmt::Debug;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

pub use memory::MemoryDisk;
pub use place::{Leads, Place};
pub use real::RealDisk;
pub use simulated::{Fault, SimulatedDisk};

/// Locked by the process that writes a file: far beyond any data.
pub const WRITER_LOCK: u64 = (1 << 62) - 1;

/// Whether a write failed because there is no room for it, of whatever kind: nothing is broken, and it may succeed later.
pub fn is_full(error: &io::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge)
}

/// How a file is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenMode {
    /// It must exist and is only read.
    ReadOnly,
    /// It must exist.
    ReadWrite,
    /// It is created, empty, if it does not exist.
    Create,
    /// It is created, and emptied if it exists.
    Truncate,
}

/// What makes a file the same file under any name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileIdentity {
    /// The device, or the disk in memory.
    pub device: u64,
    /// The number of the file there.
    pub inode: u64,
}

/// Whether others may hold the same lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockKind {
    /// Together with other shared locks.
    Shared,
    /// Alone.
    Exclusive,
}

/// Names and files.
pub trait Disk: Send + Sync + Debug {
    /// Opens a file.
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn DiskFile>>;
    /// Removes a name.
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Gives a file another name, atomically replacing what had it.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Whether a name exists.
    fn exists(&self, path: &Path) -> io::Result<bool>;
    /// Makes creations, renames and removals in the directory of `of` durable.
    fn sync_directory(&self, of: &Path) -> io::Result<()>;
    /// The one name that a file has without links, dots and names relative to the current folder: whoever comes to a
    /// file comes to this name, but for hard links. The file need not exist; a link that leads nowhere means the file that
    /// would be created through it.
    fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        Ok(path.to_path_buf())
    }
    /// Which file a name means; `None` if it does not exist.
    fn identity(&self, path: &Path) -> io::Result<Option<FileIdentity>>;
    /// A random number, for ids and salts. Simulated disks give the same ones for the same seed.
    fn random(&self) -> u64;
}

/// An open file. Locks belong to this opening of it and are gone with it, also when its process is killed.
pub trait DiskFile: Send + Sync + Debug {
    /// Which file it is, whatever name it has by now.
    fn identity(&self) -> FileIdentity;
    /// What is alive until the file is closed, and its locks are gone. A disk of which other threads ask that has one.
    fn opened(&self) -> Weak<()> {
        Weak::new()
    }
    /// Size in bytes.
    fn size(&self) -> io::Result<u64>;
    /// Fills `bytes` from `offset`; `UnexpectedEof` if the file ends before.
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()>;
    /// Says that these bytes will be read soon, so that the disk may begin. Never waits for it, never fails.
    fn will_read(&self, _bytes: Range<u64>) {}
    /// Writes all of `bytes` at `offset`, extending the file as needed. On an error, any part may have been written.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;
    /// Cuts the file or extends it with zeroes.
    fn set_size(&self, size: u64) -> io::Result<()>;
    /// Makes contents and size durable.
    fn sync(&self) -> io::Result<()>;
    /// Takes a lock on one byte, which need not exist; `false` if another opening of the file holds one that conflicts.
    fn try_lock(&self, byte: u64, kind: LockKind) -> io::Result<bool>;
    /// Gives a lock back.
    fn unlock(&self, byte: u64) -> io::Result<()>;
    /// Whether another opening of the file, in any process, holds a lock on any of these bytes.
    fn is_locked(&self, bytes: Range<u64>) -> io::Result<bool>;
    /// The process of another opening of the file that holds a lock on a byte, where the system tells.
    fn lock_holder(&self, _byte: u64) -> Option<u32> {
        None
    }
}
