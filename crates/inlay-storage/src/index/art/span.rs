//! Short byte strings of a subtree: what nodes and leaves have of their keys.
//!
//! Up to [`INLINE_SIZE`] bytes lie in the span itself, longer ones in the subtree's heap. A part of a long span is a
//! span on the same bytes, so cutting never copies more than an inline span. Bytes that no span uses any more stay
//! until the subtree is made anew (when it is split, vacuumed or read again).

use inlay_types::{Reservation, Result};

/// Longest span without a place in the heap.
pub const INLINE_SIZE: usize = 12;

/// The bytes of the long spans of a subtree.
#[derive(Debug, Default)]
pub struct Heap {
    bytes: Vec<u8>,
}

impl Heap {
    /// Makes sure that a span of `size` bytes does not allocate.
    #[inline]
    pub fn make_room(&mut self, size: usize, reservation: &mut Reservation) -> Result<()> {
        let (len, capacity) = (self.bytes.len(), self.bytes.capacity());
        if size <= INLINE_SIZE || capacity - len >= size {
            return Ok(());
        }
        let more = size.max(capacity / 2);
        reservation.grow((len + more - capacity) as u64)?;
        self.bytes.reserve_exact(more);
        Ok(())
    }
}

/// A byte string of less than 2^28 bytes; see the module documentation.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    /// The length in the low 28 bits, a mark of the owner above.
    len: u32,
    /// The bytes, or where in the heap they start (little-endian, 4 bytes).
    inline: [u8; INLINE_SIZE],
}

const _: () = assert!(size_of::<Span>() == 16);
const MARK_SHIFT: u32 = 28;

impl Span {
    /// No bytes.
    pub const EMPTY: Span = Span { len: 0, inline: [0; INLINE_SIZE] };

    /// A span of `bytes`, after [`Heap::make_room`].
    #[inline]
    pub fn new(bytes: &[u8], heap: &mut Heap) -> Self {
        if bytes.len() <= INLINE_SIZE {
            return Self::short(bytes);
        }
        let start = heap.bytes.len() as u32;
        heap.bytes.extend_from_slice(bytes);
        Self::long(start, bytes.len())
    }

    #[inline]
    fn short(bytes: &[u8]) -> Self {
        let mut inline = [0; INLINE_SIZE];
        inline[..bytes.len()].copy_from_slice(bytes);
        Self { len: bytes.len() as u32, inline }
    }

    fn long(start: u32, len: usize) -> Self {
        let mut inline = [0; INLINE_SIZE];
        inline[..4].copy_from_slice(&start.to_le_bytes());
        Self { len: len as u32, inline }
    }

    fn start(&self) -> usize {
        u32::from_le_bytes([self.inline[0], self.inline[1], self.inline[2], self.inline[3]]) as usize
    }

    #[inline]
    pub fn len(&self) -> usize {
        (self.len & ((1 << MARK_SHIFT) - 1)) as usize
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What [`Span::with_mark`] set; 0 at first.
    #[inline]
    pub fn mark(&self) -> usize {
        (self.len >> MARK_SHIFT) as usize
    }

    /// The same bytes with a number below 16 beside them.
    #[inline]
    pub fn with_mark(self, mark: usize) -> Self {
        Self { len: self.len() as u32 | (mark as u32) << MARK_SHIFT, ..self }
    }

    #[inline]
    pub fn bytes<'a>(&'a self, heap: &'a Heap) -> &'a [u8] {
        let len = self.len();
        if len <= INLINE_SIZE { &self.inline[..len] } else { &heap.bytes[self.start()..self.start() + len] }
    }

    /// The bytes from `from` to `to`.
    pub fn part(&self, from: usize, to: usize, heap: &Heap) -> Self {
        if to - from > INLINE_SIZE {
            return Self::long((self.start() + from) as u32, to - from);
        }
        Self::short(&self.bytes(heap)[from..to])
    }
}

/// Number of bytes at the front that are the same.
#[inline]
pub fn common_prefix(left: &[u8], right: &[u8]) -> usize {
    let len = left.len().min(right.len());
    let (left, right) = (&left[..len], &right[..len]);
    let mut common = 0;
    while let (Some(a), Some(b)) = (left[common..].first_chunk::<8>(), right[common..].first_chunk::<8>()) {
        let differing = u64::from_le_bytes(*a) ^ u64::from_le_bytes(*b);
        if differing != 0 {
            return common + differing.trailing_zeros() as usize / 8;
        }
        common += 8;
    }
    while common < len && left[common] == right[common] {
        common += 1;
    }
    common
}
