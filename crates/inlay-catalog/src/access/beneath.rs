//! Folders that are held open, and what is in them, by the calls that take a folder's handle and follow no link.

#![expect(unsafe_code, reason = "folders are opened beneath held ones by calls of the system")]

use super::way::How;
use inlay_storage::io::OpenMode;
use std::ffi::{CStr, CString, OsStr, OsString};
use std::fs::{File, Metadata};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

/// Handles that only stand for a place, where the system has them.
#[cfg(any(target_os = "linux", target_os = "android"))]
const PLACE: i32 = libc::O_PATH;
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const PLACE: i32 = libc::O_RDONLY | libc::O_NONBLOCK;

/// Folders inside of each other that are removed; more is an error.
const DEPTH_MAX: usize = 256;

/// A folder that is held open.
#[derive(Debug)]
pub(super) struct Folder(OwnedFd);

fn text(name: &OsStr) -> io::Result<CString> {
    CString::new(name.as_bytes())
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "the path holds a NUL byte"))
}

fn done(outcome: i32) -> io::Result<()> {
    if outcome == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

impl Folder {
    /// The folder at an absolute path without links; fails at the first link.
    pub fn at(path: &Path) -> io::Result<Self> {
        let mut names = path.iter();
        let root = names.next().filter(|root| *root == "/").ok_or(io::ErrorKind::InvalidInput)?;
        let root = text(root)?;
        let flags = PLACE | libc::O_DIRECTORY | libc::O_CLOEXEC;
        // SAFETY: `root` is a string that ends with NUL and outlives the call.
        let descriptor = unsafe { libc::open(root.as_ptr(), flags) };
        done(descriptor)?;
        // SAFETY: the call above opened it, and nobody else has it.
        let mut folder = Self(unsafe { OwnedFd::from_raw_fd(descriptor) });
        for name in names {
            folder = folder.child(name)?;
        }
        Ok(folder)
    }

    fn opened(&self, name: &OsStr, flags: i32) -> io::Result<OwnedFd> {
        let name = text(name)?;
        let flags = flags | libc::O_NOFOLLOW | libc::O_CLOEXEC | libc::O_NOCTTY;
        // SAFETY: the descriptor is open while `self` is borrowed, and `name` ends with NUL and outlives the call.
        let descriptor = unsafe { libc::openat(self.0.as_raw_fd(), name.as_ptr(), flags, 0o666) };
        done(descriptor)?;
        // SAFETY: the call above opened it, and nobody else has it.
        Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
    }

    /// The folder of a name in this one.
    pub fn child(&self, name: &OsStr) -> io::Result<Self> {
        self.opened(name, PLACE | libc::O_DIRECTORY).map(Self)
    }

    /// Opens a file in it.
    pub fn open(&self, name: &OsStr, how: How) -> io::Result<File> {
        let flags = match how {
            How::Read | How::Disk(OpenMode::ReadOnly) => libc::O_RDONLY,
            How::Append => libc::O_WRONLY | libc::O_APPEND,
            How::New => libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL,
            How::Whole => libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC,
            How::Disk(OpenMode::ReadWrite) => libc::O_RDWR,
            How::Disk(OpenMode::Create) => libc::O_RDWR | libc::O_CREAT,
            How::Disk(OpenMode::Truncate) => libc::O_RDWR | libc::O_CREAT | libc::O_TRUNC,
        };
        self.opened(name, flags).map(File::from)
    }

    /// What is known of a file or folder in it; of a link, that it is one.
    pub fn about(&self, name: &OsStr) -> io::Result<Metadata> {
        File::from(self.opened(name, PLACE)?).metadata()
    }

    /// Makes a folder in it.
    pub fn make(&self, name: &OsStr) -> io::Result<()> {
        let name = text(name)?;
        // SAFETY: the descriptor is open while `self` is borrowed, and `name` ends with NUL and outlives the call.
        done(unsafe { libc::mkdirat(self.0.as_raw_fd(), name.as_ptr(), 0o777) })
    }

    /// Moves a file of it into a folder, in place of what is there.
    pub fn rename(&self, name: &OsStr, to: &Self, new: &OsStr) -> io::Result<()> {
        let (name, new) = (text(name)?, text(new)?);
        let (from, to) = (self.0.as_raw_fd(), to.0.as_raw_fd());
        // SAFETY: both descriptors are open while they are borrowed, and the names end with NUL and outlive the call.
        done(unsafe { libc::renameat(from, name.as_ptr(), to, new.as_ptr()) })
    }

    fn unlink(&self, name: &OsStr, flags: i32) -> io::Result<()> {
        let name = text(name)?;
        // SAFETY: the descriptor is open while `self` is borrowed, and `name` ends with NUL and outlives the call.
        done(unsafe { libc::unlinkat(self.0.as_raw_fd(), name.as_ptr(), flags) })
    }

    /// Removes a file, or a link, of it.
    pub fn remove(&self, name: &OsStr) -> io::Result<()> {
        self.unlink(name, 0)
    }

    /// Removes a folder of it and all that is inside.
    pub fn remove_tree(&self, name: &OsStr) -> io::Result<()> {
        self.remove_within(name, DEPTH_MAX)
    }

    fn remove_within(&self, name: &OsStr, depth: usize) -> io::Result<()> {
        if depth == 0 {
            return Err(io::Error::other("folders lie too deep inside of each other to be removed"));
        }
        let folder = self.child(name)?;
        for inner in folder.names()? {
            if folder.about(&inner)?.is_dir() {
                folder.remove_within(&inner, depth - 1)?;
            } else {
                folder.remove(&inner)?;
            }
        }
        self.unlink(name, libc::AT_REMOVEDIR)
    }

    /// Names in it.
    pub fn names(&self) -> io::Result<Vec<OsString>> {
        let readable = self.opened(OsStr::new("."), libc::O_RDONLY | libc::O_DIRECTORY)?;
        let mut entries = Entries::of(readable)?;
        let mut names = Vec::new();
        while let Some(name) = entries.next()? {
            names.push(name);
        }
        Ok(names)
    }
}

/// The entries of a folder while they are read.
struct Entries(std::ptr::NonNull<libc::DIR>);

impl Entries {
    fn of(folder: OwnedFd) -> io::Result<Self> {
        let descriptor = folder.into_raw_fd();
        // SAFETY: the descriptor is open and owned; on success the stream owns it.
        let stream = unsafe { libc::fdopendir(descriptor) };
        match std::ptr::NonNull::new(stream) {
            Some(stream) => Ok(Self(stream)),
            None => {
                let error = io::Error::last_os_error();
                // SAFETY: the call failed, so that the descriptor is still ours alone.
                drop(unsafe { OwnedFd::from_raw_fd(descriptor) });
                Err(error)
            }
        }
    }

    /// The next name other than `.` and `..`.
    fn next(&mut self) -> io::Result<Option<OsString>> {
        loop {
            forget_error();
            // SAFETY: the stream is open while `self` is, and used by one thread at a time.
            let entry = unsafe { libc::readdir(self.0.as_ptr()) };
            if entry.is_null() {
                let error = io::Error::last_os_error();
                return if error.raw_os_error().is_none_or(|code| code == 0) { Ok(None) } else { Err(error) };
            }
            // SAFETY: the entry is valid until the next call, and its name ends with NUL.
            let name = unsafe { CStr::from_ptr((*entry).d_name.as_ptr()) }.to_bytes();
            if name != b"." && name != b".." {
                return Ok(Some(OsString::from_vec(name.to_vec())));
            }
        }
    }
}

impl Drop for Entries {
    fn drop(&mut self) {
        // SAFETY: the stream is open, and nobody uses it any more.
        unsafe { libc::closedir(self.0.as_ptr()) };
    }
}

/// The end of a folder and a failure are told apart by the thread's error number alone.
fn forget_error() {
    #[cfg(any(target_os = "linux", target_os = "dragonfly"))]
    // SAFETY: the pointer is to this thread's own number.
    unsafe {
        *libc::__errno_location() = 0;
    }
    #[cfg(any(target_os = "android", target_os = "netbsd", target_os = "openbsd"))]
    // SAFETY: the pointer is to this thread's own number.
    unsafe {
        *libc::__errno() = 0;
    }
    #[cfg(any(target_vendor = "apple", target_os = "freebsd"))]
    // SAFETY: the pointer is to this thread's own number.
    unsafe {
        *libc::__error() = 0;
    }
}
