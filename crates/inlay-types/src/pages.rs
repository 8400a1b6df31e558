//! Memory that hosts are given without a copy: pages of an unnamed file, which any number of ranges of addresses show.
//!
//! ```text
//! pool (memfd)   | pages A | pages B |   hole   | pages C |
//! mapping        | pages A | pages B | pages C |             private: who writes gets a copy of the page
//! ```
//! A column lies in pieces, one for each row group. [`Layout`] lays one range of addresses over them without moving a byte,
//! in time that depends on the number of pieces only. What a host writes there stays in its own range.
//!
//! Invariants
//! - [`Pages`] never change after [`NewPages::finish`]. Offsets in the file are never used again; dropped pages leave a
//!   hole, which costs nothing.
//! - What was there when the process was forked is given back with its whole file only: the other process may show it.
//!
//! Where the system has no memfd, or refuses, there are no pages, and the caller copies.
//!
//! Source: Schuhknecht, Dittrich, Linden, "RUMA has it: rewired user-space memory access is possible!", PVLDB 2016.

#![expect(unsafe_code, reason = "mapped pages as a buffer")]

use crate::{Buffer, Native, buffer, overhead};
use std::any::Any;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use system::PoolFile;

mod growing;
pub use growing::Growing;
pub(crate) use system::page_size;

/// Where pages come from; clones share it. Takes a file descriptor with the first pages, until pool and pages are gone.
#[derive(Clone, Debug, Default)]
pub struct PagePool(Arc<Mutex<State>>);

#[derive(Debug, Default)]
enum State {
    #[default]
    Unused,
    /// The system has no such memory.
    Absent,
    Open {
        file: Arc<PoolFile>,
        end: u64,
    },
}

/// Some bytes on pages of their own; immutable.
pub struct Pages {
    file: Arc<PoolFile>,
    offset: u64,
    size: usize,
    /// Whatever goes with the pages, such as the reservation of their memory.
    _with: Option<Box<dyn Any + Send + Sync>>,
}

/// Pages that are being filled.
pub struct NewPages {
    pages: Pages,
    window: system::Window,
}

impl PagePool {
    /// A pool without pages.
    pub fn new() -> Self {
        Self::default()
    }

    /// Zeroed pages for pieces of these sizes in bytes, one behind the other, each from the start of a page; `None` when
    /// the system has none.
    pub fn allocate(&self, sizes: &[usize]) -> Option<Vec<NewPages>> {
        let page = system::page_size();
        let room: u64 = sizes.iter().map(|size| size.next_multiple_of(page) as u64).sum();
        let (file, mut offset) = self.extend(room)?;
        let mut pieces = Vec::with_capacity(sizes.len());
        for &size in sizes {
            let pages = Pages { file: Arc::clone(&file), offset, size, _with: None };
            overhead::add_pages(size);
            let window = system::Window::writable(&file, offset, size)?;
            pieces.push(NewPages { pages, window });
            offset += size.next_multiple_of(page) as u64;
        }
        Some(pieces)
    }

    /// The file, and where `room` more bytes begin in it.
    fn extend(&self, room: u64) -> Option<(Arc<PoolFile>, u64)> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !matches!(&*state, State::Open { file, .. } if file.is_ours()) && !matches!(*state, State::Absent)
        {
            *state = match PoolFile::create() {
                Some(file) => State::Open { file: Arc::new(file), end: 0 },
                None => State::Absent,
            };
        }
        let State::Open { file, end } = &mut *state else { return None };
        let offset = *end;
        if !file.grow(offset.checked_add(room)?) {
            return None;
        }
        *end = offset + room;
        Some((Arc::clone(file), offset))
    }
}

impl NewPages {
    /// The bytes as values of `T`.
    pub fn typed_mut<T: Native>(&mut self) -> &mut [T] {
        buffer::values_of_mut(self.window.bytes_mut())
    }

    /// The bytes.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        self.window.bytes_mut()
    }

    /// The pages, which never change from now on; `with` is dropped with them.
    pub fn finish(self, with: Option<Box<dyn Any + Send + Sync>>) -> Arc<Pages> {
        let Self { mut pages, window } = self;
        drop(window);
        pages._with = with;
        Arc::new(pages)
    }
}

impl Pages {
    /// Size in bytes.
    pub fn size(&self) -> usize {
        self.size
    }

    fn copy_to(&self, bytes: Range<usize>, target: &mut [u8]) -> Option<()> {
        let window = system::Window::readable(&self.file, self.offset, self.size)?;
        target.copy_from_slice(window.bytes().get(bytes)?);
        Some(())
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        overhead::remove_pages(self.size);
        self.file.release(self.offset, self.size);
    }
}

impl std::fmt::Debug for Pages {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Pages({} bytes)", self.size)
    }
}

/// One part of a mapping: bytes of some pages.
pub type Part = (Arc<Pages>, Range<usize>);

/// A range of addresses in which the bytes of `parts` lie one behind the other; see [`Layout::map`].
pub fn map(parts: Vec<Part>) -> Option<Buffer> {
    Layout::new(parts)?.map()
}

/// Mappings that hosts may hold: the system gives a process 65,530, among them those of its allocator, which ends the process when it
/// gets none.
const MAPPINGS_MAX: usize = 32_000;

static MAPPINGS: AtomicUsize = AtomicUsize::new(0);

/// Some of them, until they are dropped.
struct Mappings(usize);

impl Mappings {
    fn of(count: usize) -> Option<Self> {
        let more = |held: usize| held.checked_add(count).filter(|held| *held <= MAPPINGS_MAX);
        MAPPINGS.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).ok().map(|_| Self(count))
    }
}

impl Drop for Mappings {
    fn drop(&mut self) {
        MAPPINGS.fetch_sub(self.0, Ordering::Relaxed);
    }
}

/// How a range of addresses shows parts one behind the other: worked out once, for any number of mappings.
///
/// A part is shown where its bytes and their place have the same position in a page; else, and at such a border, bytes
/// are copied.
pub struct Layout {
    parts: Vec<Part>,
    /// Bytes of the first page before the first part.
    lead: usize,
    /// Bytes of all parts.
    total: usize,
    shown: Vec<Shown>,
    copied: Vec<Copied>,
}

/// Pages of the file of a part that are shown at a place.
struct Shown {
    part: usize,
    offset: u64,
    place: Range<usize>,
}

/// Bytes of a part that are copied to a place.
struct Copied {
    part: usize,
    bytes: Range<usize>,
    place: Range<usize>,
}

impl Layout {
    /// `None` for bytes that a part does not have.
    pub fn new(parts: Vec<Part>) -> Option<Arc<Self>> {
        let page = system::page_size();
        let total: usize = parts.iter().map(|(_, bytes)| bytes.len()).sum();
        let lead = parts.first().map_or(0, |(_, bytes)| bytes.start % page);
        let (mut shown, mut copied) = (Vec::new(), Vec::new());
        let mut at = lead;
        for (part, (pages, bytes)) in parts.iter().enumerate() {
            if bytes.end > pages.size {
                return None;
            }
            let end = at + bytes.len();
            let fits = at % page == bytes.start % page && (part == 0 || at.is_multiple_of(page));
            let is_last = part + 1 == parts.len();
            let show_end = if is_last { end.next_multiple_of(page) } else { end - end % page };
            let start = at - at % page;
            let mut place = at..end;
            if fits && show_end > start {
                let offset = pages.offset + (bytes.start - bytes.start % page) as u64;
                let next = Shown { part, offset, place: start..show_end };
                match shown.last_mut() {
                    Some(before) if next.continues(before, &parts) => before.place.end = show_end,
                    _ => shown.push(next),
                }
                place = show_end.min(end)..end;
            }
            if !place.is_empty() {
                copied.push(Copied { part, bytes: bytes.end - place.len()..bytes.end, place });
            }
            at = end;
        }
        Some(Arc::new(Self { parts, lead, total, shown, copied }))
    }

    /// A range of addresses of its own. Whoever holds it alone may write: the pages do not change. `None` when the system
    /// refuses, or has given [so many](MAPPINGS_MAX).
    pub fn map(self: &Arc<Self>) -> Option<Buffer> {
        // What is around it, and each part.
        let mappings = Mappings::of(self.shown.len() + 1)?;
        let mut region = system::Region::reserve(self.lead + self.total)?;
        for shown in &self.shown {
            region.show(&self.parts[shown.part].0.file, shown.offset, shown.place.clone())?;
        }
        for copied in &self.copied {
            let target = region.bytes_mut(copied.place.clone());
            self.parts[copied.part].0.copy_to(copied.bytes.clone(), target)?;
        }
        let start = NonNull::new(region.address(self.lead))?;
        let owner = Box::new((region, Arc::clone(self), mappings));
        // SAFETY: the region is mapped until its owner drops it, all of it readable, and nobody writes to it but through
        // the buffer. Places of values are aligned: pages are, and parts begin at multiples of the width of their values.
        Some(unsafe { Buffer::foreign(start, self.total, owner) })
    }
}

impl std::fmt::Debug for Layout {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Layout({} parts, {} bytes)", self.parts.len(), self.total)
    }
}

impl Shown {
    fn continues(&self, before: &Self, parts: &[Part]) -> bool {
        Arc::ptr_eq(&parts[self.part].0.file, &parts[before.part].0.file)
            && before.place.end == self.place.start
            && before.offset + before.place.len() as u64 == self.offset
    }
}

#[cfg(target_os = "linux")]
#[path = "pages/linux.rs"]
mod system;
#[cfg(not(target_os = "linux"))]
#[path = "pages/absent.rs"]
mod system;

#[cfg(all(test, target_os = "linux"))]
#[path = "pages/tests.rs"]
mod tests;
