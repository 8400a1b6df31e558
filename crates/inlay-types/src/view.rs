//! Strings and blobs as 16-byte views (Arrow's `Utf8View`, Umbra's "German strings").
//!
//! ```text
//! length <= 12:  [ length u32 | bytes, zero padded to 12              ]
//! length  > 12:  [ length u32 | first 4 bytes | buffer u32 | offset u32 ]
//! ```
//! `buffer` counts into the [`Heap`] beside the views. Comparing and hashing look at the first eight
//! bytes before they touch the heap.
//!
//! Invariant: a view in a vector points into that vector's heap; a NULL slot holds the empty view.
//! Source: Neumann, Freitag: Umbra (CIDR 2020).

#![expect(unsafe_code, reason = "texts in heaps whose bounds the views keep")]

use crate::Buffer;
use crate::append::push_short;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};

/// Longest string that lies in the view itself.
pub const INLINE_LIMIT: usize = 12;

/// A string's length, prefix and place. See the module documentation.
#[derive(Clone, Copy, Default, Debug)]
#[repr(C)]
pub struct View {
    /// Length in the low 32 bits, first four bytes above.
    pub head: u64,
    /// Bytes 4 to 11, or buffer number (low) and offset (high).
    pub tail: u64,
}

const _: () = assert!(size_of::<View>() == 16);

/// Asks for the cache line of an address, which may be any.
#[inline(always)]
pub fn prefetch(address: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch never faults, whatever the address.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(address.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// At most [`INLINE_LIMIT`] bytes as a number, the first one lowest: two loads that may overlap, as a copy of so few bytes would be a
/// call.
#[inline(always)]
fn small_word(bytes: &[u8]) -> u128 {
    let behind = 8 * bytes.len().saturating_sub(4) as u32;
    match (bytes.first_chunk::<8>(), bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        (Some(first), _, Some(last)) => {
            u128::from(u64::from_le_bytes(*first)) | u128::from(u32::from_le_bytes(*last)) << behind
        }
        (None, Some(first), Some(last)) => {
            u128::from(u32::from_le_bytes(*first)) | u128::from(u32::from_le_bytes(*last)) << behind
        }
        _ => bytes.iter().rev().fold(0, |word, byte| word << 8 | u128::from(*byte)),
    }
}

impl View {
    /// Rows that bytes are asked for ahead of their use.
    pub const AHEAD: usize = 16;

    /// The view of the empty string.
    pub const EMPTY: View = View { head: 0, tail: 0 };

    /// A view of a string of at most [`INLINE_LIMIT`] bytes.
    ///
    /// Panics when it is longer.
    #[inline]
    pub fn inline(bytes: &[u8]) -> Self {
        assert!(bytes.len() <= INLINE_LIMIT, "string does not fit into its view");
        let raw = small_word(bytes) << 32 | bytes.len() as u128;
        Self { head: raw as u64, tail: (raw >> 64) as u64 }
    }

    /// The bytes of a string that lies in its view as a number, the first one lowest, zeros behind the last one.
    #[inline]
    pub fn short_word(&self) -> Option<u128> {
        self.is_inline().then(|| u128::from(self.tail) << 32 | u128::from(self.head >> 32))
    }

    /// The view of a string of `len` bytes, at most [`INLINE_LIMIT`], as [`Self::short_word`] gives them. What is behind them is cut.
    #[inline]
    pub fn of_short_word(word: u128, len: usize) -> Self {
        let len = len.min(INLINE_LIMIT);
        let raw = (word & ((1 << (8 * len)) - 1)) << 32 | len as u128;
        Self { head: raw as u64, tail: (raw >> 64) as u64 }
    }

    /// A view of `bytes`, which lie at `offset` of heap buffer `buffer` if they are longer than [`INLINE_LIMIT`].
    #[inline]
    pub fn new(bytes: &[u8], buffer: u32, offset: u32) -> Self {
        if bytes.len() <= INLINE_LIMIT {
            return Self::inline(bytes);
        }
        let prefix = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        Self {
            head: bytes.len() as u64 | u64::from(prefix) << 32,
            tail: u64::from(buffer) | u64::from(offset) << 32,
        }
    }

    /// Length in bytes.
    #[inline]
    pub fn len(&self) -> usize {
        self.head as u32 as usize
    }

    /// Whether the string is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.head as u32 == 0
    }

    /// Whether the bytes lie in the view.
    #[inline]
    pub fn is_inline(&self) -> bool {
        self.len() <= INLINE_LIMIT
    }

    /// Whether two views of one heap are of the same bytes outside of the views, at the same place.
    #[inline]
    pub fn is_same_place(&self, other: &Self) -> bool {
        !self.is_inline() && self.head == other.head && self.tail == other.tail
    }

    /// First four bytes, zero padded, as they lie in memory.
    #[inline]
    pub fn prefix(&self) -> [u8; 4] {
        ((self.head >> 32) as u32).to_le_bytes()
    }

    /// Number of the heap buffer; meaningful when not inline.
    #[inline]
    pub fn buffer(&self) -> u32 {
        self.tail as u32
    }

    /// Offset in the heap buffer; meaningful when not inline.
    #[inline]
    pub fn offset(&self) -> u32 {
        (self.tail >> 32) as u32
    }

    /// The same string with its buffer number raised by `base`; for joining heaps.
    #[inline]
    pub fn rebased(self, base: u32) -> Self {
        if self.is_inline() { self } else { Self { head: self.head, tail: self.tail + u64::from(base) } }
    }

    /// The bytes. `heap` is that of the vector which holds the view.
    ///
    /// Panics when the view does not point into `heap`.
    #[inline]
    pub fn bytes<'a>(&'a self, heap: &'a [Buffer]) -> &'a [u8] {
        let len = self.len();
        if len <= INLINE_LIMIT {
            // SAFETY: a view is 16 initialised bytes; 4 + len <= 16. (Little-endian layout, asserted below.)
            unsafe { std::slice::from_raw_parts((self as *const View).cast::<u8>().add(4), len) }
        } else {
            let offset = self.offset() as usize;
            &heap[self.buffer() as usize].bytes()[offset..offset + len]
        }
    }

    /// Asks for the bytes' cache line. Even where texts lie one behind the other, the CPU does not foresee those on the next page.
    #[inline(always)]
    pub fn prefetch(&self, heap: &[Buffer]) {
        if !self.is_inline()
            && let Some(buffer) = heap.get(self.buffer() as usize)
        {
            prefetch(buffer.bytes().as_ptr().wrapping_add(self.offset() as usize));
        }
    }

    /// Asks for the bytes of the view that is looked at a few rows after row `row`; called in loops over all rows.
    #[inline(always)]
    pub fn prefetch_ahead(views: &[View], row: usize, heap: &[Buffer]) {
        if let Some(ahead) = views.get(row + Self::AHEAD) {
            ahead.prefetch(heap);
        }
    }

    /// Whether two views hold the same bytes.
    #[inline]
    pub fn equals(&self, heap: &[Buffer], other: &View, other_heap: &[Buffer]) -> bool {
        if self.head != other.head {
            return false;
        }
        if self.is_inline() { self.tail == other.tail } else { self.bytes(heap) == other.bytes(other_heap) }
    }

    /// Byte-wise order of two views.
    #[inline]
    pub fn compare(&self, heap: &[Buffer], other: &View, other_heap: &[Buffer]) -> std::cmp::Ordering {
        let (left, right) = (u32::from_be_bytes(self.prefix()), u32::from_be_bytes(other.prefix()));
        left.cmp(&right).then_with(|| self.bytes(heap).cmp(other.bytes(other_heap)))
    }
}

#[cfg(target_endian = "big")]
compile_error!("views are laid out for little-endian machines");

/// The buffers that the views of a vector point into; shared, read-only. Numbers have one, too: none is shared where there are
/// no buffers, for all workers would count on it.
#[derive(Clone, Debug, Default)]
pub struct Heap(Option<Arc<Shared>>);

#[derive(Debug)]
struct Shared {
    buffers: Box<[Buffer]>,
    /// All bytes are ASCII.
    ascii: Fact,
    /// No line ends.
    one_line: Fact,
}

/// What all bytes of a heap have in common, or not. Found out, once, when enough was asked: a heap may be far larger than what
/// is looked at.
#[derive(Debug, Default)]
struct Fact {
    /// [`UNKNOWN`], [`NO`] or [`YES`].
    known: AtomicU8,
    /// Bytes that were looked at by those who did not know it.
    looked_at: AtomicUsize,
}

const UNKNOWN: u8 = 0;
const NO: u8 = 1;
const YES: u8 = 2;

/// A heap is looked through when those who would have known better looked at this share of it.
const LOOKED_AT_SHARE: usize = 8;

impl Fact {
    /// Whether it is known that `holds` is true of all buffers, for somebody who wants to know it of `bytes` bytes.
    fn is_known(&self, buffers: &[Buffer], bytes: usize, holds: impl Fn(&[u8]) -> bool) -> bool {
        let known = self.known.load(Ordering::Relaxed);
        if known != UNKNOWN {
            return known == YES;
        }
        let before = self.looked_at.fetch_add(bytes, Ordering::Relaxed);
        let enough = buffers.iter().map(Buffer::size).sum::<usize>() / LOOKED_AT_SHARE;
        // One of those who ask at the same time looks.
        if before > enough || before + bytes < enough {
            return false;
        }
        let all = buffers.iter().all(|buffer| holds(buffer.bytes()));
        self.known.store(if all { YES } else { NO }, Ordering::Relaxed);
        all
    }
}

impl Heap {
    /// A heap of these buffers.
    pub fn new(buffers: Vec<Buffer>) -> Self {
        let shared = |buffers: Vec<Buffer>| Shared {
            buffers: buffers.into(),
            ascii: Fact::default(),
            one_line: Fact::default(),
        };
        Self((!buffers.is_empty()).then(|| Arc::new(shared(buffers))))
    }

    /// The buffers in order.
    #[inline]
    pub fn buffers(&self) -> &[Buffer] {
        self.0.as_ref().map_or(&[], |shared| &shared.buffers)
    }

    /// Whether all bytes are known to be ASCII, so that those who want to know it of `bytes` bytes need not look at them.
    pub fn is_ascii(&self, bytes: usize) -> bool {
        self.0.as_ref().is_none_or(|shared| shared.ascii.is_known(&shared.buffers, bytes, <[u8]>::is_ascii))
    }

    /// The same of having no line feed.
    pub fn is_one_line(&self, bytes: usize) -> bool {
        let has_none = |text: &[u8]| !text.contains(&b'\n');
        self.0.as_ref().is_none_or(|shared| shared.one_line.is_known(&shared.buffers, bytes, has_none))
    }

    /// Whether both are the same list, so that views can be copied between them as they are.
    pub fn same(&self, other: &Heap) -> bool {
        match (&self.0, &other.0) {
            (Some(left), Some(right)) => Arc::ptr_eq(left, right),
            (left, right) => left.is_none() && right.is_none(),
        }
    }
}

/// Collects strings into views and heap buffers. Buffers are filled up to a size that keeps offsets in 32 bits.
#[derive(Debug, Default)]
pub struct HeapBuilder {
    done: Vec<Buffer>,
    open: Vec<u8>,
}

/// A heap buffer is closed once it holds this many bytes.
const HEAP_BUFFER_SIZE: usize = 1 << 20;

/// Nothing of unknown size is written behind so many bytes, since the buffer might have to move for it.
const NEARLY_FULL: usize = HEAP_BUFFER_SIZE - (1 << 12);

impl HeapBuilder {
    /// An empty heap.
    pub fn new() -> Self {
        Self::default()
    }

    /// Stores `bytes` and returns their view.
    #[inline]
    pub fn push(&mut self, bytes: &[u8]) -> View {
        if bytes.len() <= INLINE_LIMIT {
            return View::inline(bytes);
        }
        self.make_room(bytes.len());
        let offset = self.open.len() as u32;
        push_short(&mut self.open, bytes);
        View::new(bytes, self.done.len() as u32, offset)
    }

    /// Stores `bytes` and returns their view. Long ones stay where they are and leave an empty vector.
    #[inline]
    pub fn push_from(&mut self, bytes: &mut Vec<u8>) -> View {
        if bytes.len() < HEAP_BUFFER_SIZE / 4 {
            return self.push(bytes);
        }
        self.push_owned(std::mem::take(bytes))
    }

    fn push_owned(&mut self, bytes: Vec<u8>) -> View {
        if !self.open.is_empty() {
            self.close();
        }
        let view = View::new(&bytes, self.done.len() as u32, 0);
        self.open = bytes;
        self.close();
        view
    }

    /// Stores what `write` appends and returns its view. `write` finds other bytes in front of it, which it leaves alone.
    #[inline]
    pub fn push_with<E>(
        &mut self,
        write: impl FnOnce(&mut Vec<u8>) -> std::result::Result<(), E>,
    ) -> std::result::Result<View, E> {
        if self.open.len() > NEARLY_FULL {
            self.close();
        }
        if !self.done.is_empty() && self.open.capacity() == 0 {
            self.open.reserve_exact(HEAP_BUFFER_SIZE);
        }
        let offset = self.open.len();
        if let Err(error) = write(&mut self.open) {
            self.open.truncate(offset);
            return Err(error);
        }
        let view = View::new(&self.open[offset..], self.done.len() as u32, offset as u32);
        if view.is_inline() {
            self.open.truncate(offset);
        }
        Ok(view)
    }

    /// Stores `head` with `tail` behind it and returns the view of both.
    #[inline]
    pub fn push_pair(&mut self, head: &[u8], tail: &[u8]) -> View {
        let size = head.len() + tail.len();
        if size <= INLINE_LIMIT {
            let mut both = [0; INLINE_LIMIT];
            both[..head.len()].copy_from_slice(head);
            both[head.len()..size].copy_from_slice(tail);
            return View::inline(&both[..size]);
        }
        self.make_room(size);
        let offset = self.open.len();
        push_short(&mut self.open, head);
        push_short(&mut self.open, tail);
        View::new(&self.open[offset..], self.done.len() as u32, offset as u32)
    }

    fn close(&mut self) {
        let mut full = std::mem::take(&mut self.open);
        if full.capacity() - full.len() > full.capacity() / 16 {
            full.shrink_to_fit();
        }
        self.done.push(Buffer::from_vec(full));
    }

    /// Room for `bytes` more in the open buffer. Behind a full one, another full one is expected.
    #[inline]
    fn make_room(&mut self, bytes: usize) {
        if self.open.len() + bytes > HEAP_BUFFER_SIZE.max(self.open.capacity()) && !self.open.is_empty() {
            self.close();
        }
        if !self.done.is_empty() && self.open.capacity() == 0 {
            self.open.reserve_exact(HEAP_BUFFER_SIZE.max(bytes));
        }
    }

    /// Bytes stored.
    pub fn size(&self) -> usize {
        self.done.iter().map(Buffer::size).sum::<usize>() + self.open.len()
    }

    /// Bytes held, room for strings to come among them.
    pub fn memory_size(&self) -> usize {
        self.done.iter().map(Buffer::size).sum::<usize>() + self.open.capacity()
    }

    /// The heap of all strings stored.
    pub fn finish(mut self) -> Heap {
        if !self.open.is_empty() {
            self.close();
        }
        Heap::new(self.done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inline_views_hold_their_bytes_and_zeros() {
        for len in 0..=INLINE_LIMIT {
            let bytes: Vec<u8> = (0..len).map(|at| 0xF1 ^ (at * 31) as u8).collect();
            let view = View::inline(&bytes);
            let mut raw = [0; 16];
            raw[0] = len as u8;
            raw[4..4 + len].copy_from_slice(&bytes);
            let raw = u128::from_le_bytes(raw);
            assert_eq!((view.head, view.tail), (raw as u64, (raw >> 64) as u64), "{len} bytes");
            assert_eq!(view.short_word(), Some(raw >> 32));
            let cut = View::of_short_word(raw >> 32 | u128::MAX << (8 * len), len);
            assert_eq!((cut.head, cut.tail), (view.head, view.tail), "{len} bytes");
            assert_eq!(view.bytes(&[]), bytes);
        }
    }

    #[test]
    fn values_are_written_in_place() {
        let mut heap = HeapBuilder::new();
        let long = "a value of more than twelve bytes";
        let texts =
            ["", "short", long, "exactly12byt", &long.repeat(50_000), "another value behind a large one"];
        let mut views = Vec::new();
        for text in texts {
            let written = heap.push_with(|out| {
                out.extend_from_slice(text.as_bytes());
                Ok::<(), ()>(())
            });
            views.push(written.unwrap());
            let refused = heap.push_with(|out| {
                out.extend_from_slice(b"thrown away, whatever it is");
                Err(7)
            });
            assert_eq!(refused.unwrap_err(), 7);
        }
        let heap = heap.finish();
        for (view, text) in views.iter().zip(texts) {
            assert_eq!(view.bytes(heap.buffers()), text.as_bytes());
        }
    }
}
