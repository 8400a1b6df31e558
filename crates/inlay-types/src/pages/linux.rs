//! Pages by memfd and mmap. All `unsafe` of mapped memory is here.

#![expect(unsafe_code, reason = "mappings by calls of the system")]

use crate::process::{fork_count, process_id};
use std::fs::File;
use std::ops::Range;
use std::os::fd::{AsRawFd, FromRawFd};
use std::ptr::{self, NonNull};
use std::sync::LazyLock;

/// The size of a page.
pub fn page_size() -> usize {
    static SIZE: LazyLock<usize> = LazyLock::new(|| {
        // SAFETY: asks for a number.
        let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
        usize::try_from(size).ok().filter(|size| size.is_power_of_two()).unwrap_or(4096)
    });
    *SIZE
}

/// The unnamed file. A child's arrays show pages of its parent's file.
#[derive(Debug)]
pub struct PoolFile {
    file: File,
    process: u32,
    forks: u64,
}

impl PoolFile {
    pub fn create() -> Option<Self> {
        let forks = fork_count();
        // SAFETY: the name is a C string; the result is a new descriptor or -1.
        let fd = unsafe { libc::memfd_create(c"inlay".as_ptr(), libc::MFD_CLOEXEC) };
        if fd < 0 {
            return None;
        }
        // SAFETY: the descriptor is open and nobody else's.
        let file = unsafe { File::from_raw_fd(fd) };
        Some(Self { file, process: process_id(), forks })
    }

    /// Whether this process made it and was not forked since, so that nobody else shows its pages.
    pub fn is_ours(&self) -> bool {
        self.process == process_id() && self.forks == fork_count()
    }

    pub fn grow(&self, size: u64) -> bool {
        // A limit of files counts for memory in a file as well.
        crate::size_limit::check_file_size(size).is_ok() && self.file.set_len(size).is_ok()
    }

    /// Gives the memory of some bytes back.
    pub fn release(&self, offset: u64, size: usize) {
        let (Ok(offset), Ok(size)) =
            (i64::try_from(offset), i64::try_from(size.next_multiple_of(page_size())))
        else {
            return;
        };
        if size > 0 && self.is_ours() {
            let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
            // SAFETY: a call on a descriptor of ours; nothing shows these bytes any more.
            unsafe { libc::fallocate(self.file.as_raw_fd(), mode, offset, size) };
        }
    }
}

/// Bytes of the file at an address of this process.
pub struct Window {
    start: NonNull<u8>,
    size: usize,
}

// SAFETY: plain memory, written through `&mut self` only.
unsafe impl Send for Window {}
// SAFETY: as above.
unsafe impl Sync for Window {}

impl Window {
    /// Shows bytes for writing, with memory behind all of them.
    pub fn writable(file: &PoolFile, offset: u64, size: usize) -> Option<Self> {
        if size > 0 {
            // Memory that is missing is an error here, where it would be a signal on first touch.
            let (offset, size) = (i64::try_from(offset).ok()?, i64::try_from(size).ok()?);
            // SAFETY: a call on a descriptor of ours.
            if unsafe { libc::fallocate(file.file.as_raw_fd(), 0, offset, size) } != 0 {
                return None;
            }
        }
        Self::new(file, offset, size, libc::PROT_READ | libc::PROT_WRITE)
    }

    pub fn readable(file: &PoolFile, offset: u64, size: usize) -> Option<Self> {
        Self::new(file, offset, size, libc::PROT_READ)
    }

    fn new(file: &PoolFile, offset: u64, size: usize, protection: i32) -> Option<Self> {
        if size == 0 {
            return Some(Self { start: NonNull::<u128>::dangling().cast(), size });
        }
        let fd = file.file.as_raw_fd();
        // SAFETY: a new mapping at an address that the system chooses.
        let start = unsafe {
            libc::mmap(ptr::null_mut(), size, protection, libc::MAP_SHARED, fd, i64::try_from(offset).ok()?)
        };
        (start != libc::MAP_FAILED).then(|| NonNull::new(start.cast()).map(|start| Self { start, size }))?
    }

    pub fn bytes(&self) -> &[u8] {
        // SAFETY: mapped for `size` bytes while this lives.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.size) }
    }

    /// For windows made by [`Window::writable`].
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, writable, and nobody else shows bytes that are being filled.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.size) }
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        if self.size > 0 {
            // SAFETY: this mapping is ours, and its last user.
            unsafe { libc::munmap(self.start.as_ptr().cast(), self.size) };
        }
    }
}

/// A range of addresses that is being put together: zeros, until pages are shown in it.
pub struct Region {
    start: NonNull<u8>,
    size: usize,
}

// SAFETY: plain memory, written through `&mut self` only.
unsafe impl Send for Region {}
// SAFETY: as above.
unsafe impl Sync for Region {}

impl Region {
    pub fn reserve(size: usize) -> Option<Self> {
        let size = size.max(1).next_multiple_of(page_size());
        let (protection, flags) = (
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
        );
        // SAFETY: a new mapping at an address that the system chooses.
        let start = unsafe { libc::mmap(ptr::null_mut(), size, protection, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return None;
        }
        NonNull::new(start.cast()).map(|start| Self { start, size })
    }

    /// Makes the range longer, by zeros, or shorter. It may move to another address, with its pages.
    pub fn resize(&mut self, size: usize) -> Option<()> {
        let size = size.max(1).next_multiple_of(page_size());
        // SAFETY: the region is ours; what pointed to it is gone, since it is borrowed for writing.
        let start =
            unsafe { libc::mremap(self.start.as_ptr().cast(), self.size, size, libc::MREMAP_MAYMOVE) };
        if start == libc::MAP_FAILED {
            return None;
        }
        (self.start, self.size) = (NonNull::new(start.cast())?, size);
        Some(())
    }

    /// Shows bytes of the file at a place; both begin at a page.
    pub fn show(&mut self, file: &PoolFile, offset: u64, place: Range<usize>) -> Option<()> {
        if place.end > self.size || place.is_empty() {
            return place.is_empty().then_some(());
        }
        let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_FIXED);
        // SAFETY: the place is inside of the region (checked), which is ours and which nobody reads yet.
        let shown = unsafe {
            let at = self.start.as_ptr().add(place.start).cast();
            let offset = i64::try_from(offset).ok()?;
            libc::mmap(at, place.len(), protection, flags, file.file.as_raw_fd(), offset)
        };
        (shown != libc::MAP_FAILED).then_some(())
    }

    pub fn bytes_mut(&mut self, place: Range<usize>) -> &mut [u8] {
        assert!(place.start <= place.end && place.end <= self.size, "place outside of region");
        // SAFETY: inside (checked), mapped and writable.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr().add(place.start), place.len()) }
    }

    /// The address of a byte.
    pub fn address(&self, at: usize) -> *mut u8 {
        assert!(at <= self.size, "place outside of region");
        // SAFETY: inside, or one behind the end.
        unsafe { self.start.as_ptr().add(at) }
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: the region is ours, and its last user.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.size) };
    }
}
