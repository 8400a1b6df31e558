//! The files of the operating system.
//!
//! Locks are open file description locks where the system has them (Linux): they belong to one opening of a file, are
//! kept apart within a process, and vanish with it. Elsewhere the exclusive lock of the writer is a lock of the whole
//! file, and locks of readers are not known to the writer: a reader may then find that what it reads was overwritten,
//! which checksums turn into an error, never into wrong data.

#![expect(unsafe_code, reason = "locks and allocation of files by calls of the system")]

use super::{Disk, DiskFile, FileIdentity, LockKind, OpenMode};
use inlay_types::size_limit::check_file_size;
use std::fs::{File, OpenOptions};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

/// The operating system's files.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealDisk;

impl RealDisk {
    /// A file that was opened, by this path, in a way of its own.
    pub fn opened(file: File, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        let identity = identity_of(&file, path)?;
        Ok(Arc::new(RealFile { file, identity, opened: Arc::new(()) }))
    }
}

impl Disk for RealDisk {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn DiskFile>> {
        let file = OpenOptions::new()
            .read(true)
            .write(mode != OpenMode::ReadOnly)
            .create(matches!(mode, OpenMode::Create | OpenMode::Truncate))
            .truncate(mode == OpenMode::Truncate)
            .open(path)?;
        Self::opened(file, path)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        std::fs::remove_file(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        std::fs::rename(from, to)
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        path.try_exists()
    }

    fn sync_directory(&self, of: &Path) -> io::Result<()> {
        sync_directory(&directory_of(of))
    }

    fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        resolve(path)
    }

    fn identity(&self, path: &Path) -> io::Result<Option<FileIdentity>> {
        match identity(path) {
            Ok(identity) => Ok(Some(identity)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn random(&self) -> u64 {
        random()
    }
}

/// A random number: the standard library seeds its hash maps from the system's randomness, once for each thread, and
/// counts up from there; time and process separate threads that are copies of each other after a fork.
pub(super) fn random() -> u64 {
    let mut hasher = RandomState::new().build_hasher();
    hasher.write_u32(std::process::id());
    if let Ok(now) = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH) {
        hasher.write_u128(now.as_nanos());
    }
    hasher.finish()
}

fn directory_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
        _ => PathBuf::from("."),
    }
}

#[cfg(unix)]
fn sync_directory(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

/// Directories cannot be synced; NTFS keeps names in its own journal.
#[cfg(not(unix))]
fn sync_directory(_directory: &Path) -> io::Result<()> {
    Ok(())
}

/// Links that are followed one after the other before they are taken for a circle, as Linux does.
const LINKS_MAX: usize = 40;

fn resolve(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_path_buf();
    for _ in 0..LINKS_MAX {
        match path.canonicalize() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            found => return found,
        }
        // Nothing is there: the folder is resolved, and a link that leads nowhere yet is followed one step at a time.
        let folder = directory_of(&path).canonicalize()?;
        let name = path.file_name().ok_or(io::ErrorKind::NotFound)?;
        let here = folder.join(name);
        match std::fs::read_link(&here) {
            Ok(target) => path = folder.join(target),
            Err(_) => return Ok(here),
        }
    }
    Err(io::Error::other("too many links lead on from each other"))
}

#[cfg(unix)]
fn identity(path: &Path) -> io::Result<FileIdentity> {
    Ok(identity_in(&std::fs::metadata(path)?))
}

#[cfg(unix)]
fn identity_of(file: &File, _path: &Path) -> io::Result<FileIdentity> {
    Ok(identity_in(&file.metadata()?))
}

#[cfg(unix)]
fn identity_in(metadata: &std::fs::Metadata) -> FileIdentity {
    use std::os::unix::fs::MetadataExt;
    FileIdentity { device: metadata.dev(), inode: metadata.ino() }
}

/// Here a file is known by its name alone, which it cannot lose while it is open.
#[cfg(not(unix))]
fn identity_of(_file: &File, path: &Path) -> io::Result<FileIdentity> {
    identity(path)
}

#[cfg(not(unix))]
fn identity(path: &Path) -> io::Result<FileIdentity> {
    let canonical = path.canonicalize()?;
    let mut hasher = std::hash::DefaultHasher::new();
    std::hash::Hash::hash(&canonical, &mut hasher);
    Ok(FileIdentity { device: 0, inode: hasher.finish() })
}

#[derive(Debug)]
struct RealFile {
    file: File,
    identity: FileIdentity,
    /// Dropped after the file, which is the order of these fields.
    opened: Arc<()>,
}

impl DiskFile for RealFile {
    fn identity(&self) -> FileIdentity {
        self.identity
    }

    fn opened(&self) -> Weak<()> {
        Arc::downgrade(&self.opened)
    }

    fn size(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    #[cfg(unix)]
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        std::os::unix::fs::FileExt::read_exact_at(&self.file, bytes, offset)
    }

    #[cfg(any(target_os = "linux", target_os = "android"))]
    fn will_read(&self, bytes: Range<u64>) {
        use std::os::fd::AsRawFd;
        let ends = (libc::off_t::try_from(bytes.start), libc::off_t::try_from(bytes.end));
        if let (Ok(start), Ok(end)) = ends {
            let (descriptor, len) = (self.file.as_raw_fd(), end.max(start) - start);
            // Advice may be refused; that does not matter.
            // SAFETY: the descriptor is open while `file` is borrowed, and no memory is touched.
            unsafe { libc::posix_fadvise(descriptor, start, len, libc::POSIX_FADV_WILLNEED) };
        }
    }

    #[cfg(unix)]
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        check_file_size(offset.saturating_add(bytes.len() as u64))?;
        std::os::unix::fs::FileExt::write_all_at(&self.file, bytes, offset)
    }

    #[cfg(windows)]
    fn read_at(&self, mut bytes: &mut [u8], mut offset: u64) -> io::Result<()> {
        while !bytes.is_empty() {
            match std::os::windows::fs::FileExt::seek_read(&self.file, bytes, offset)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                count => {
                    bytes = &mut bytes[count..];
                    offset += count as u64;
                }
            }
        }
        Ok(())
    }

    #[cfg(windows)]
    fn write_at(&self, mut bytes: &[u8], mut offset: u64) -> io::Result<()> {
        while !bytes.is_empty() {
            match std::os::windows::fs::FileExt::seek_write(&self.file, bytes, offset)? {
                0 => return Err(io::ErrorKind::WriteZero.into()),
                count => {
                    bytes = &bytes[count..];
                    offset += count as u64;
                }
            }
        }
        Ok(())
    }

    fn set_size(&self, size: u64) -> io::Result<()> {
        check_file_size(size)?;
        self.file.set_len(size)
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn try_lock(&self, byte: u64, kind: LockKind) -> io::Result<bool> {
        byte_locks::try_lock(&self.file, byte, kind)
    }

    fn unlock(&self, byte: u64) -> io::Result<()> {
        byte_locks::unlock(&self.file, byte)
    }

    fn is_locked(&self, bytes: Range<u64>) -> io::Result<bool> {
        byte_locks::is_locked(&self.file, bytes)
    }

    fn lock_holder(&self, byte: u64) -> Option<u32> {
        byte_locks::holder(&self.file, byte)
    }
}

/// Open file description locks, which `fcntl` gives and the standard library does not.
#[cfg(any(target_os = "linux", target_os = "android"))]
mod byte_locks {
    use super::LockKind;
    use std::ffi::OsStr;
    use std::fs::File;
    use std::io;
    use std::ops::Range;
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::MetadataExt;
    use std::path::Path;

    pub(super) fn try_lock(file: &File, byte: u64, kind: LockKind) -> io::Result<bool> {
        let kind = match kind {
            LockKind::Shared => libc::F_RDLCK,
            LockKind::Exclusive => libc::F_WRLCK,
        };
        match control(file, libc::F_OFD_SETLK, kind, byte..byte + 1) {
            Ok(_) => Ok(true),
            Err(error) if matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EACCES)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    pub(super) fn unlock(file: &File, byte: u64) -> io::Result<()> {
        control(file, libc::F_OFD_SETLK, libc::F_UNLCK, byte..byte + 1).map(|_| ())
    }

    pub(super) fn is_locked(file: &File, bytes: Range<u64>) -> io::Result<bool> {
        if bytes.is_empty() {
            return Ok(false);
        }
        let found = control(file, libc::F_OFD_GETLK, libc::F_WRLCK, bytes)?;
        Ok(i32::from(found.l_type) != libc::F_UNLCK)
    }

    /// The locks are of open files, which the system does not ask a process for: their processes are looked for in `/proc`, as far as
    /// this one may look.
    pub(super) fn holder(file: &File, byte: u64) -> Option<u32> {
        let own = file.metadata().ok()?;
        let is_locked = |process: &Path, descriptor: &OsStr| {
            let same = std::fs::metadata(process.join("fd").join(descriptor));
            same.is_ok_and(|other| (other.dev(), other.ino()) == (own.dev(), own.ino()))
                && std::fs::read_to_string(process.join("fdinfo").join(descriptor))
                    .is_ok_and(|info| info.lines().any(|line| is_lock_of(line, byte)))
        };
        for process in std::fs::read_dir("/proc").ok()?.flatten() {
            let Some(id) = process.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
            let Ok(descriptors) = std::fs::read_dir(process.path().join("fd")) else { continue };
            if descriptors.flatten().any(|found| is_locked(&process.path(), &found.file_name())) {
                return Some(id);
            }
        }
        None
    }

    /// Whether a line on an open file is about a lock of the writer: `lock: 1: OFDLCK ADVISORY WRITE -1 08:01:77 5 5`.
    fn is_lock_of(line: &str, byte: u64) -> bool {
        let words: Vec<&str> = line.split_whitespace().collect();
        let ["lock:", _, "OFDLCK", _, "WRITE", _, _, first, last] = words[..] else { return false };
        let last = if last == "EOF" { Ok(u64::MAX) } else { last.parse() };
        first.parse().is_ok_and(|first: u64| first <= byte) && last.is_ok_and(|last| byte <= last)
    }

    fn control(file: &File, command: i32, kind: i32, bytes: Range<u64>) -> io::Result<libc::flock> {
        let too_far = |_| io::Error::from(io::ErrorKind::InvalidInput);
        // SAFETY: `flock` is a C struct of integers, for which all zeroes is a value.
        let mut lock: libc::flock = unsafe { std::mem::zeroed() };
        lock.l_type = kind as libc::c_short;
        lock.l_whence = libc::SEEK_SET as libc::c_short;
        lock.l_start = libc::off_t::try_from(bytes.start).map_err(too_far)?;
        lock.l_len = libc::off_t::try_from(bytes.end - bytes.start).map_err(too_far)?;
        // SAFETY: the descriptor is open while `file` is borrowed, and `lock` outlives the call, which reads and
        // writes one `flock` and keeps no pointer to it.
        let result = unsafe { libc::fcntl(file.as_raw_fd(), command, &raw mut lock) };
        if result == -1 { Err(io::Error::last_os_error()) } else { Ok(lock) }
    }
}

/// Whole-file locks of the standard library, for the writer only.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
mod byte_locks {
    use super::LockKind;
    use std::fs::{File, TryLockError};
    use std::io;
    use std::ops::Range;

    pub(super) fn try_lock(file: &File, _byte: u64, kind: LockKind) -> io::Result<bool> {
        if kind == LockKind::Shared {
            return Ok(true);
        }
        match file.try_lock() {
            Ok(()) => Ok(true),
            Err(TryLockError::WouldBlock) => Ok(false),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    pub(super) fn unlock(_file: &File, _byte: u64) -> io::Result<()> {
        Ok(())
    }

    pub(super) fn is_locked(_file: &File, _bytes: Range<u64>) -> io::Result<bool> {
        Ok(false)
    }

    pub(super) fn holder(_file: &File, _byte: u64) -> Option<u32> {
        None
    }
}
