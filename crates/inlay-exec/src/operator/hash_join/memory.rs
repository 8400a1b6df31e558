//! Large arrays in huge pages, where the system has them for the asking: fewer page faults while an array is first
//! written, and fewer misses of the address translation while it is probed at random.

use inlay_types::Buffer;

/// Smaller arrays stay in ordinary pages.
const HUGE_SIZE_MIN: usize = 2 << 20;

/// `len` zeros.
pub(crate) fn zeroed<T: Zero>(len: usize) -> Vec<T> {
    let values = T::zeros(len);
    advise(values.as_ptr().cast(), size_of_val(values.as_slice()));
    values
}

/// A buffer of zero bytes.
pub(crate) fn zeroed_buffer(size_bytes: usize) -> Buffer {
    let buffer = Buffer::zeroed(size_bytes);
    advise(buffer.as_ptr(), size_bytes);
    buffer
}

/// Types whose arrays of zeros come from the allocator as they are, untouched.
pub(crate) trait Zero: Sized {
    /// `len` zeros.
    fn zeros(len: usize) -> Vec<Self>;
}

macro_rules! zero {
    ($($t:ty = $zero:expr),*) => { $(
        impl Zero for $t {
            fn zeros(len: usize) -> Vec<Self> {
                vec![$zero; len]
            }
        }
    )* };
}
zero!(u32 = 0, u64 = 0, [u64; 2] = [0; 2]);

#[cfg(target_os = "linux")]
fn advise(start: *const u8, size: usize) {
    const PAGE: usize = 4096;
    const MADV_HUGEPAGE: i32 = 14;
    unsafe extern "C" {
        fn madvise(address: *mut std::ffi::c_void, length: usize, advice: i32) -> i32;
    }
    if size < HUGE_SIZE_MIN {
        return;
    }
    let from = (start as usize).next_multiple_of(PAGE);
    let to = (start as usize + size) / PAGE * PAGE;
    // SAFETY: the advice changes how pages are backed, not what they hold, for whole pages of memory that is ours.
    // Failure means ordinary pages.
    unsafe { madvise(from as *mut std::ffi::c_void, to - from, MADV_HUGEPAGE) };
}

#[cfg(not(target_os = "linux"))]
fn advise(_start: *const u8, _size: usize) {}
