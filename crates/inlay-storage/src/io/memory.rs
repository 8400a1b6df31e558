//! Files in memory: a database that is gone with its last handle, and fast tests.

use super::locks::LockTable;
use super::{Disk, DiskFile, FileIdentity, LockKind, OpenMode};
use parking_lot::{Mutex, RwLock};
use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A disk in memory. Clones are the same disk.
#[derive(Clone, Debug, Default)]
pub struct MemoryDisk {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    names: Mutex<BTreeMap<PathBuf, Stored>>,
    locks: Mutex<LockTable>,
    next: AtomicU64,
}

#[derive(Clone, Debug)]
struct Stored {
    inode: u64,
    bytes: Arc<RwLock<Vec<u8>>>,
}

impl MemoryDisk {
    /// An empty disk.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Disk for MemoryDisk {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn DiskFile>> {
        let mut names = self.shared.names.lock();
        let number = || self.shared.next.fetch_add(1, Ordering::Relaxed);
        let stored = match (names.get(path), mode) {
            (Some(stored), _) => stored.clone(),
            (None, OpenMode::ReadOnly | OpenMode::ReadWrite) => return Err(ErrorKind::NotFound.into()),
            (None, OpenMode::Create | OpenMode::Truncate) => {
                let stored = Stored { inode: number(), bytes: Arc::default() };
                names.insert(path.to_path_buf(), stored.clone());
                stored
            }
        };
        if mode == OpenMode::Truncate {
            stored.bytes.write().clear();
        }
        let writable = mode != OpenMode::ReadOnly;
        Ok(Arc::new(MemoryFile { shared: self.shared.clone(), stored, holder: number(), writable }))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.shared.names.lock().remove(path).map(|_| ()).ok_or_else(|| ErrorKind::NotFound.into())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut names = self.shared.names.lock();
        let stored = names.remove(from).ok_or(ErrorKind::NotFound)?;
        names.insert(to.to_path_buf(), stored);
        Ok(())
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        Ok(self.shared.names.lock().contains_key(path))
    }

    fn sync_directory(&self, _of: &Path) -> io::Result<()> {
        Ok(())
    }

    fn identity(&self, path: &Path) -> io::Result<Option<FileIdentity>> {
        let device = Arc::as_ptr(&self.shared) as u64;
        Ok(self.shared.names.lock().get(path).map(|stored| FileIdentity { device, inode: stored.inode }))
    }

    fn random(&self) -> u64 {
        super::real::random()
    }
}

#[derive(Debug)]
struct MemoryFile {
    shared: Arc<Shared>,
    stored: Stored,
    holder: u64,
    writable: bool,
}

impl MemoryFile {
    fn expect_writable(&self) -> io::Result<()> {
        if self.writable { Ok(()) } else { Err(ErrorKind::PermissionDenied.into()) }
    }
}

impl DiskFile for MemoryFile {
    fn identity(&self) -> FileIdentity {
        FileIdentity { device: Arc::as_ptr(&self.shared) as u64, inode: self.stored.inode }
    }

    fn size(&self) -> io::Result<u64> {
        Ok(self.stored.bytes.read().len() as u64)
    }

    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        let stored = self.stored.bytes.read();
        let from = usize::try_from(offset).map_err(|_| ErrorKind::UnexpectedEof)?;
        let to = from.checked_add(bytes.len()).ok_or(ErrorKind::UnexpectedEof)?;
        bytes.copy_from_slice(stored.get(from..to).ok_or(ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.expect_writable()?;
        let mut stored = self.stored.bytes.write();
        let from = usize::try_from(offset).map_err(|_| ErrorKind::StorageFull)?;
        let to = from.checked_add(bytes.len()).ok_or(ErrorKind::StorageFull)?;
        if stored.len() < to {
            let more = to - stored.len();
            stored.try_reserve(more).map_err(|_| ErrorKind::StorageFull)?;
            stored.resize(to, 0);
        }
        stored[from..to].copy_from_slice(bytes);
        Ok(())
    }

    fn set_size(&self, size: u64) -> io::Result<()> {
        self.expect_writable()?;
        let mut stored = self.stored.bytes.write();
        let size = usize::try_from(size).map_err(|_| ErrorKind::StorageFull)?;
        let more = size.saturating_sub(stored.len());
        stored.try_reserve(more).map_err(|_| ErrorKind::StorageFull)?;
        stored.resize(size, 0);
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn try_lock(&self, byte: u64, kind: LockKind) -> io::Result<bool> {
        Ok(self.shared.locks.lock().try_lock(self.stored.inode, self.holder, byte, kind))
    }

    fn unlock(&self, byte: u64) -> io::Result<()> {
        self.shared.locks.lock().unlock(self.stored.inode, self.holder, byte);
        Ok(())
    }

    fn is_locked(&self, bytes: Range<u64>) -> io::Result<bool> {
        Ok(self.shared.locks.lock().is_locked(self.stored.inode, self.holder, &bytes))
    }
}

impl Drop for MemoryFile {
    fn drop(&mut self) {
        self.shared.locks.lock().release(self.holder);
    }
}
