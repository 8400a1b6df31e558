//! Shared, 64-byte aligned memory for values.
//!
//! A [`Buffer`] is a range of an allocation that several vectors may share. It is read-only while
//! shared; the sole owner may write. Memory of a host (Arrow, NumPy) is a buffer as well: its owner is
//! kept alive, and nobody writes to it.
//!
//! All `unsafe` of the value layout is here: an allocation, and the view of bytes as numbers, which is
//! sound because every [`Native`] type accepts every bit pattern.

#![expect(unsafe_code, reason = "shared memory of any owner, as values")]

use crate::Reservation;
use crate::value::Interval;
use crate::view::View;
use std::alloc::{Layout, alloc, alloc_zeroed, dealloc, handle_alloc_error};
use std::any::Any;
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, PoisonError};

/// Alignment of every allocation, that of a cache line and of an AVX-512 register.
pub const ALIGNMENT: usize = 64;

/// A plain value that lies in buffers.
///
/// # Safety
/// Every bit pattern is a valid value, there is no padding, and alignment is at most 16.
pub unsafe trait Native: Copy + Default + Send + Sync + 'static {}

macro_rules! native {
    ($($t:ty),*) => { $(
        // SAFETY: a plain number (or a `repr(C)` pair of plain numbers without padding).
        unsafe impl Native for $t {}
    )* };
}
native!(i8, i16, i32, i64, i128, u8, u16, u32, u64, u128, f32, f64, View, Interval);

/// Bytes of a page of memory.
const PAGE: usize = 4096;

/// Bytes of the cache lines, at least one, that so many bytes take.
fn lines(size_bytes: usize) -> usize {
    size_bytes.next_multiple_of(ALIGNMENT).max(ALIGNMENT)
}

struct Allocation {
    start: NonNull<u8>,
    layout: Layout,
    /// The bytes from the start that were written: whole cache lines.
    written: usize,
}

// SAFETY: plain memory; access is governed by `Buffer`, which writes only as the sole owner.
unsafe impl Send for Allocation {}
// SAFETY: as above.
unsafe impl Sync for Allocation {}

impl Allocation {
    fn new(size_bytes: usize) -> Self {
        let layout = Self::layout(size_bytes);
        // SAFETY: the size is not zero.
        let start = unsafe { alloc_zeroed(layout) };
        let Some(start) = NonNull::new(start) else { handle_alloc_error(layout) };
        Self { start, layout, written: layout.size() }
    }

    /// A copy of `bytes`; what the last cache line has behind them is zero.
    fn copy_of(bytes: &[u8]) -> Self {
        let mut new = Self::unwritten(bytes.len());
        // SAFETY: the allocation is at least as long as `bytes`, and new.
        unsafe { new.start.as_ptr().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        // SAFETY: all of `bytes` was written.
        unsafe { new.end(bytes.len()) };
        new
    }

    /// Memory that has to be written before it is read.
    fn unwritten(size_bytes: usize) -> Self {
        let layout = Self::layout(size_bytes);
        // SAFETY: the size is not zero.
        let start = unsafe { alloc(layout) };
        let Some(start) = NonNull::new(start) else { handle_alloc_error(layout) };
        Self { start, layout, written: 0 }
    }

    /// Writes zeros from `size_bytes` to the end of the cache line.
    ///
    /// # Safety
    /// All bytes before were written, and the memory was allocated for at least so many.
    unsafe fn end(&mut self, size_bytes: usize) {
        self.written = lines(size_bytes);
        // SAFETY: whole cache lines were allocated.
        unsafe { self.start.as_ptr().add(size_bytes).write_bytes(0, self.written - size_bytes) };
    }

    /// Whole cache lines, at least one, or whole pages: allocators have blocks of these at hand, where cache lines have to be
    /// looked for in larger blocks.
    fn layout(size_bytes: usize) -> Layout {
        let size = lines(size_bytes);
        let (size, alignment) = match size > PAGE / 2 {
            true => (size.next_multiple_of(PAGE), PAGE),
            false => (size, ALIGNMENT),
        };
        let Ok(layout) = Layout::from_size_align(size, alignment) else {
            handle_alloc_error(Layout::new::<u8>());
        };
        layout
    }
}

/// Memory that is not written yet, to become a [`Buffer`].
pub struct NewBuffer {
    allocation: Allocation,
    size: usize,
}

impl NewBuffer {
    /// Memory of `size_bytes`.
    pub fn new(size_bytes: usize) -> Self {
        Self { allocation: Allocation::unwritten(size_bytes), size: size_bytes }
    }

    /// The places of its values; bytes beyond the last whole value are left out.
    pub fn places<T: Native>(&mut self) -> &mut [MaybeUninit<T>] {
        // SAFETY: in bounds (rounded down), aligned to 64 bytes, and borrowed as long as the slice is.
        unsafe {
            std::slice::from_raw_parts_mut(self.allocation.start.as_ptr().cast(), self.size / size_of::<T>())
        }
    }

    /// The buffer.
    ///
    /// # Safety
    /// All of its bytes were written.
    pub unsafe fn written(self) -> Buffer {
        let Self { mut allocation, size } = self;
        // SAFETY: the caller wrote all bytes.
        unsafe { allocation.end(size) };
        Buffer { start: allocation.start, size, owner: Arc::new(Owner::Ours(allocation)) }
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout in `new`.
        unsafe { dealloc(self.start.as_ptr(), self.layout) }
    }
}

/// Bytes as values of `T`; bytes beyond the last whole value are left out.
///
/// Panics when the memory is not aligned for `T`.
pub fn values_of_mut<T: Native>(bytes: &mut [u8]) -> &mut [T] {
    assert!(
        (bytes.as_ptr() as usize).is_multiple_of(align_of::<T>()),
        "memory is not aligned for its values"
    );
    // SAFETY: aligned (checked), in bounds (rounded down), and every bit pattern is a `T`.
    unsafe { std::slice::from_raw_parts_mut(bytes.as_mut_ptr().cast(), bytes.len() / size_of::<T>()) }
}

enum Owner {
    Ours(Allocation),
    /// Kept alive only.
    Foreign(Box<dyn Any + Send + Sync>),
    /// Of another buffer, and counted in a budget until it is gone or somebody else's.
    Held(Buffer, Mutex<Option<Reservation>>),
}

/// A range of shared memory. Cloning and slicing share it.
pub struct Buffer {
    start: NonNull<u8>,
    size: usize,
    owner: Arc<Owner>,
}

// SAFETY: memory is written only through `&mut self` of the sole owner.
unsafe impl Send for Buffer {}
// SAFETY: as above.
unsafe impl Sync for Buffer {}

impl Clone for Buffer {
    fn clone(&self) -> Self {
        Self { start: self.start, size: self.size, owner: Arc::clone(&self.owner) }
    }
}

impl std::fmt::Debug for Buffer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Buffer({} bytes)", self.size)
    }
}

impl Default for Buffer {
    fn default() -> Self {
        Self::zeroed(0)
    }
}

impl Buffer {
    /// `size_bytes` zero bytes.
    pub fn zeroed(size_bytes: usize) -> Self {
        let allocation = Allocation::new(size_bytes);
        Self { start: allocation.start, size: size_bytes, owner: Arc::new(Owner::Ours(allocation)) }
    }

    /// A copy of `values`.
    pub fn copy_of<T: Native>(values: &[T]) -> Self {
        let size = size_of_val(values);
        // SAFETY: a `T` is plain bytes without padding.
        let bytes = unsafe { std::slice::from_raw_parts(values.as_ptr().cast::<u8>(), size) };
        let allocation = Allocation::copy_of(bytes);
        Self { start: allocation.start, size, owner: Arc::new(Owner::Ours(allocation)) }
    }

    /// The memory of a `Vec`, without copying. Alignment is that of `T`.
    pub fn from_vec<T: Native>(values: Vec<T>) -> Self {
        let size = size_of_val(values.as_slice());
        let start = NonNull::from(values.as_slice()).cast::<u8>();
        Self { start, size, owner: Arc::new(Owner::Foreign(Box::new(values))) }
    }

    /// The `Vec` that [`Buffer::from_vec`] was given, if it was one of `T` and nobody else shares it.
    pub fn into_vec<T: Native>(self) -> Option<Vec<T>> {
        match Arc::try_unwrap(self.owner).ok()? {
            Owner::Foreign(values) => values.downcast::<Vec<T>>().ok().map(|values| *values),
            Owner::Ours(_) | Owner::Held(..) => None,
        }
    }

    /// Memory of somebody else, kept alive by `owner`; read-only.
    ///
    /// # Safety
    /// `start` points to `size_bytes` initialised bytes that stay valid and unchanged until `owner` is
    /// dropped, and is aligned to 16 bytes or to the width of the values that will be read from it.
    pub unsafe fn foreign(start: NonNull<u8>, size_bytes: usize, owner: Box<dyn Any + Send + Sync>) -> Self {
        Self { start, size: size_bytes, owner: Arc::new(Owner::Foreign(owner)) }
    }

    /// The same memory, for which `reservation` is kept until the last buffer that shares it is gone, or until
    /// [`Buffer::let_go`].
    pub fn holding(self, reservation: Reservation) -> Self {
        let (start, size) = (self.start, self.size);
        Self { start, size, owner: Arc::new(Owner::Held(self, Mutex::new(Some(reservation)))) }
    }

    /// The memory is the host's from now on, and no longer counted.
    pub fn let_go(&self) {
        if let Owner::Held(inner, reservation) = &*self.owner {
            drop(reservation.lock().unwrap_or_else(PoisonError::into_inner).take());
            inner.let_go();
        }
    }

    /// Size in bytes.
    #[inline]
    pub fn size(&self) -> usize {
        self.size
    }

    /// The address of the first byte.
    #[inline]
    pub fn as_ptr(&self) -> *const u8 {
        self.start.as_ptr()
    }

    /// The bytes.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: `start` is valid for `size` bytes while the owner lives, and all are initialised.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.size) }
    }

    /// The bytes as values of `T`; bytes beyond the last whole value are left out.
    ///
    /// Panics when the memory is not aligned for `T`, which constructors rule out.
    #[inline]
    pub fn typed<T: Native>(&self) -> &[T] {
        assert!(
            (self.start.as_ptr() as usize).is_multiple_of(align_of::<T>()),
            "buffer is not aligned for its values"
        );
        // SAFETY: aligned (checked), in bounds (rounded down), and every bit pattern is a `T`.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr().cast(), self.size / size_of::<T>()) }
    }

    /// Whether values of `T` can be read where this buffer lies.
    pub fn is_aligned_for<T: Native>(&self) -> bool {
        (self.start.as_ptr() as usize).is_multiple_of(align_of::<T>())
    }

    /// The values for writing; copied first when somebody else shares them or they are a host's.
    #[inline]
    pub fn make_mut<T: Native>(&mut self) -> &mut [T] {
        if !matches!(Arc::get_mut(&mut self.owner), Some(Owner::Ours(_))) {
            *self = Self::copy_of(self.typed::<T>());
        }
        assert!(self.is_aligned_for::<T>(), "buffer is not aligned for its values");
        // SAFETY: sole owner of our own allocation, as was looked at or is true of a copy. It is aligned to 64 bytes; slices of
        // it start at value boundaries (checked), and the bounds are rounded down.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr().cast(), self.size / size_of::<T>()) }
    }

    /// Makes this a writable buffer of `size_bytes`, keeping the memory when it is unshared and large
    /// enough. The contents are unspecified (but initialised).
    pub fn reset(&mut self, size_bytes: usize) {
        if let Some(Owner::Ours(allocation)) = Arc::get_mut(&mut self.owner)
            && allocation.written >= size_bytes
        {
            self.start = allocation.start;
            self.size = size_bytes;
            return;
        }
        *self = Self::zeroed(size_bytes);
    }

    /// Bytes `offset .. offset + size` of this buffer, shared.
    ///
    /// Panics when the range is not inside.
    pub fn slice(&self, offset: usize, size: usize) -> Self {
        assert!(offset.checked_add(size).is_some_and(|end| end <= self.size), "slice outside of buffer");
        // SAFETY: in bounds, checked above.
        let start = unsafe { self.start.add(offset) };
        Self { start, size, owner: Arc::clone(&self.owner) }
    }

    /// This buffer and `next` as one, if `next` begins in the same memory where this one ends.
    pub fn followed_by(&self, next: &Self) -> Option<Self> {
        let end = self.start.as_ptr().wrapping_add(self.size);
        // Buffers of one owner are parts of the one range that it was made for, so what lies between is valid.
        let is_adjacent = self.same_owner(next) && std::ptr::eq(end, next.start.as_ptr());
        is_adjacent.then(|| Self {
            start: self.start,
            size: self.size + next.size,
            owner: Arc::clone(&self.owner),
        })
    }

    /// Whether both share one allocation.
    pub fn same_owner(&self, other: &Buffer) -> bool {
        Arc::ptr_eq(&self.owner, &other.owner)
    }
}
