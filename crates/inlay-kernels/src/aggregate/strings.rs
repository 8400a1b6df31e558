//! Strings that belong to groups: a growing heap whose views stay valid while it grows.
//!
//! A value that many rows have (a constant, a document or a model that was joined to them) is stored once: [`Repeated`] knows
//! which bytes of a source were stored, and the heap compares long values with those that it stored last.

use inlay_types::append::push_short;
use inlay_types::view::{INLINE_LIMIT, prefetch};
use inlay_types::{Buffer, Heap, View};

/// A heap buffer is closed once it holds this many bytes.
const CHUNK_SIZE: usize = 1 << 20;

/// Bytes from which on a value is compared with others, rather than stored again.
const LONG: usize = 512;
/// So many long values are compared with, and looked up by their place.
const RECENT: usize = 4;

/// A growing heap of strings, readable while it grows.
#[derive(Debug, Default)]
pub struct StringHeap {
    closed: Vec<Buffer>,
    open: Vec<u8>,
    closed_size: usize,
    /// Views of the long values that were stored last.
    recent: Vec<View>,
    stored_long: usize,
}

/// What was stored of one source, by the place of its bytes there.
#[derive(Debug, Default)]
pub struct Repeated {
    /// The source's view and the heap's of the value before.
    last: Option<(View, View)>,
    /// Those of long values.
    long: Vec<(View, View)>,
    seen_long: usize,
}

impl Repeated {
    /// The heap's view of the bytes that a view of the source is of, if they were stored a short while ago.
    #[inline]
    fn stored(&self, view: &View) -> Option<View> {
        let is_same = |known: &&(View, View)| known.0.is_same_place(view);
        match self.last.as_ref().filter(is_same) {
            None if view.len() >= LONG => self.long.iter().find(is_same).map(|known| known.1),
            found => found.map(|known| known.1),
        }
    }

    #[inline]
    fn note(&mut self, view: &View, stored: View) {
        self.last = Some((*view, stored));
        if view.len() >= LONG {
            put(&mut self.long, &mut self.seen_long, (*view, stored));
        }
    }
}

/// Puts an item into a ring of [`RECENT`].
fn put<T>(ring: &mut Vec<T>, count: &mut usize, item: T) {
    if ring.len() < RECENT {
        ring.push(item);
    } else {
        ring[*count % RECENT] = item;
    }
    *count += 1;
}

impl StringHeap {
    /// Stores `bytes` and returns their view.
    #[inline]
    pub fn push(&mut self, bytes: &[u8]) -> View {
        if bytes.len() <= INLINE_LIMIT {
            return View::inline(bytes);
        }
        if bytes.len() >= LONG { self.push_long(bytes) } else { self.store(bytes) }
    }

    /// Stores a long value, unless it is one of the last ones.
    fn push_long(&mut self, bytes: &[u8]) -> View {
        if let Some(view) = self.recent.iter().find(|view| self.bytes(view) == bytes) {
            return *view;
        }
        let view = self.store(bytes);
        put(&mut self.recent, &mut self.stored_long, view);
        view
    }

    fn store(&mut self, bytes: &[u8]) -> View {
        if self.open.len() + bytes.len() > CHUNK_SIZE && !self.open.is_empty() {
            let full = std::mem::take(&mut self.open);
            self.closed_size += full.len();
            self.closed.push(Buffer::from_vec(full));
            self.open.reserve(CHUNK_SIZE.max(bytes.len()));
        }
        let offset = self.open.len() as u32;
        push_short(&mut self.open, bytes);
        View::new(bytes, self.closed.len() as u32, offset)
    }

    /// Stores the string of a view into `heap`.
    #[inline]
    pub fn push_view(&mut self, view: &View, heap: &[Buffer]) -> View {
        if view.is_inline() { *view } else { self.push(view.bytes(heap)) }
    }

    /// Stores the string of a view of a source, whose bytes `of` gives, once for all views of the same place.
    #[inline]
    pub fn push_repeated<'a>(
        &mut self,
        view: &'a View,
        repeated: &mut Repeated,
        of: impl FnOnce(&'a View) -> &'a [u8],
    ) -> View {
        if view.is_inline() {
            return *view;
        }
        if let Some(stored) = repeated.stored(view) {
            return stored;
        }
        let stored = self.push(of(view));
        repeated.note(view, stored);
        stored
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

#[cfg(test)]
mod tests {
    use super::*;

    fn heap_of(values: &[Vec<u8>]) -> (Vec<View>, StringHeap) {
        let mut heap = StringHeap::default();
        (values.iter().map(|bytes| heap.push(bytes)).collect(), heap)
    }

    #[test]
    fn a_long_value_is_stored_once_and_read_everywhere() {
        let long: Vec<Vec<u8>> = (0..3u8).map(|letter| vec![letter; 100_000]).collect();
        // Rows of one batch after the other: models that alternate, from heaps of their own.
        let mut heap = StringHeap::default();
        let mut views = Vec::new();
        for _ in 0..50 {
            let (source, own) = heap_of(&long);
            let mut repeated = Repeated::default();
            for row in 0..100 {
                let view = &source[row % 3];
                views.push((row % 3, heap.push_repeated(view, &mut repeated, |view| own.bytes(view))));
            }
        }
        assert!(heap.size() < 3 << 20, "{} bytes", heap.size());
        assert!(views.iter().all(|(number, view)| heap.bytes(view) == long[*number]));
    }

    #[test]
    fn values_that_look_alike_stay_apart() {
        // Of one length and with the same beginning, more of them than are remembered.
        let values: Vec<Vec<u8>> = (0..20u8)
            .map(|last| [vec![7; LONG], vec![last]].concat())
            .chain([b"a text of some length".to_vec(), b"short".to_vec(), Vec::new()])
            .collect();
        let (source, own) = heap_of(&values);
        let (mut heap, mut repeated) = (StringHeap::default(), Repeated::default());
        let order: Vec<usize> = (0..400).map(|row| row * row % values.len()).collect();
        let views: Vec<View> = order
            .iter()
            .map(|&value| heap.push_repeated(&source[value], &mut repeated, |view| own.bytes(view)))
            .collect();
        for (&value, view) in order.iter().zip(&views) {
            assert_eq!(heap.bytes(view), values[value]);
        }
    }
}
