//! Strings that belong to groups: a growing heap whose views stay valid while it grows.

use inlay_types::view::{INLINE_LIMIT, prefetch};
use inlay_types::{Buffer, Heap, View};

/// A heap buffer is closed once it holds this many bytes.
const CHUNK_SIZE: usize = 1 << 20;

/// A growing heap of strings, readable while it grows.
#[derive(Debug, Default)]
pub struct StringHeap {
    closed: Vec<Buffer>,
    open: Vec<u8>,
    closed_size: usize,
}

impl StringHeap {
    /// Stores `bytes` and returns their view.
    #[inline]
    pub fn push(&mut self, bytes: &[u8]) -> View {
        if bytes.len() <= INLINE_LIMIT {
            return View::inline(bytes);
        }
        if self.open.len() + bytes.len() > CHUNK_SIZE && !self.open.is_empty() {
            let full = std::mem::take(&mut self.open);
            self.closed_size += full.len();
            self.closed.push(Buffer::from_vec(full));
            self.open.reserve(CHUNK_SIZE.max(bytes.len()));
        }
        let offset = self.open.len() as u32;
        self.open.extend_from_slice(bytes);
        View::new(bytes, self.closed.len() as u32, offset)
    }

    /// Stores the string of a view into `heap`.
    #[inline]
    pub fn push_view(&mut self, view: &View, heap: &[Buffer]) -> View {
        if view.is_inline() { *view } else { self.push(view.bytes(heap)) }
    }

    /// Asks for the bytes of a view made by this heap.
    #[inline(always)]
    pub fn prefetch(&self, view: &View) {
        if !view.is_inline() {
            let chunk = self.closed.get(view.buffer() as usize).map_or(&*self.open, Buffer::bytes);
            prefetch(chunk.as_ptr().wrapping_add(view.offset() as usize));
        }
    }

    /// The bytes of a view made by this heap.
    #[inline]
    pub fn bytes<'a>(&'a self, view: &'a View) -> &'a [u8] {
        if view.is_inline() {
            return view.bytes(&[]);
        }
        let (chunk, offset) = (view.buffer() as usize, view.offset() as usize);
        let chunk = self.closed.get(chunk).map_or(&*self.open, Buffer::bytes);
        &chunk[offset..offset + view.len()]
    }

    /// Whether a view made by this heap and a view into `heap` hold the same bytes.
    #[inline]
    pub fn equals(&self, own: &View, other: &View, heap: &[Buffer]) -> bool {
        if own.head != other.head {
            return false;
        }
        if own.is_inline() { own.tail == other.tail } else { self.bytes(own) == other.bytes(heap) }
    }

    /// Bytes stored.
    pub fn size(&self) -> usize {
        self.closed_size + self.open.capacity()
    }

    /// The heap for a vector of views. What is still open is copied.
    pub fn snapshot(&self) -> Heap {
        let mut buffers = self.closed.clone();
        if !self.open.is_empty() {
            buffers.push(Buffer::copy_of(&self.open));
        }
        Heap::new(buffers)
    }
}
