//! Memory that two processes show: an unnamed file (memfd) and a mapping of it.
//!
//! Who makes a region writes to it and the other reads, never both at once: messages say whose turn it is. The file is
//! sealed against shrinking, so that a mapping stays valid whatever the other process does. All `unsafe` of shared
//! memory is here.

#![expect(unsafe_code, reason = "memory that worker processes share")]

use std::fs::File;
use std::io::{Error, Result};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr::{self, NonNull};

/// A mapped file.
pub struct Region {
    file: File,
    start: NonNull<u8>,
    size: usize,
    is_ours: bool,
}

// SAFETY: plain memory; it is written through `&mut self` alone.
unsafe impl Send for Region {}
// SAFETY: as above.
unsafe impl Sync for Region {}

impl Region {
    /// New memory of at least `size` bytes, all of them there.
    pub fn create(size: usize) -> Result<Self> {
        let size = size.max(1);
        // SAFETY: the name is a C string; the result is a new descriptor or -1.
        let fd = unsafe {
            libc::memfd_create(c"inlay-worker".as_ptr(), libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING)
        };
        if fd < 0 {
            return Err(Error::last_os_error());
        }
        // SAFETY: the descriptor is open and nobody else's.
        let file = unsafe { File::from_raw_fd(fd) };
        let length = i64::try_from(size).map_err(|_| Error::from_raw_os_error(libc::EFBIG))?;
        // Memory that is missing is an error here, where it would be a signal on first touch.
        // SAFETY: a call on a descriptor of ours.
        if unsafe { libc::fallocate(fd, 0, 0, length) } != 0 {
            return Err(Error::last_os_error());
        }
        // SAFETY: as above.
        if unsafe { libc::fcntl(fd, libc::F_ADD_SEALS, libc::F_SEAL_SHRINK | libc::F_SEAL_GROW) } != 0 {
            return Err(Error::last_os_error());
        }
        let start = mapped(&file, size, libc::PROT_READ | libc::PROT_WRITE)?;
        Ok(Self { file, start, size, is_ours: true })
    }

    /// Memory of the other process, for reading.
    pub fn open(fd: OwnedFd) -> Result<Self> {
        let file = File::from(fd);
        // SAFETY: asks about a descriptor of ours.
        let seals = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GET_SEALS) };
        if seals < 0 || seals & libc::F_SEAL_SHRINK == 0 {
            return Err(Error::other("the other process sent memory that may shrink"));
        }
        let size = usize::try_from(file.metadata()?.len()).map_err(Error::other)?;
        let start = mapped(&file, size, libc::PROT_READ)?;
        Ok(Self { file, start, size, is_ours: false })
    }

    /// What the other process is sent.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    pub fn size(&self) -> usize {
        self.size
    }

    pub fn start(&self) -> NonNull<u8> {
        self.start
    }

    pub fn bytes(&self) -> &[u8] {
        // SAFETY: mapped for `size` bytes while this lives, and the file does not shrink.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.size) }
    }

    /// The bytes of a region that this process made; none of another's.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        let size = if self.is_ours { self.size } else { 0 };
        // SAFETY: as above, and mapped for writing.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), size) }
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: mapped with this size, and nobody has a reference into it any more.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.size) };
    }
}

fn mapped(file: &File, size: usize, protection: i32) -> Result<NonNull<u8>> {
    // SAFETY: a new mapping at an address that the system chooses.
    let start =
        unsafe { libc::mmap(ptr::null_mut(), size, protection, libc::MAP_SHARED, file.as_raw_fd(), 0) };
    if start == libc::MAP_FAILED {
        return Err(Error::last_os_error());
    }
    NonNull::new(start.cast()).ok_or_else(|| Error::other("the system mapped memory at address 0"))
}
