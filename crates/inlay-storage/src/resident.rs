//! Columns in the form that hosts have them in, resident on pages that arrays map instead of copying.
//!
//! The first export of a column converts it, row group by row group, onto pages of a [`PagePool`]; each [`Column`] keeps
//! the pages of its rows. Every later export only maps them. As columns never change, neither do arrays: an UPDATE makes
//! other columns for the row groups that it touches, and only those are converted again. Arrow takes row groups one by one,
//! so its buffers are kept as they are, for those that had to be converted.
//!
//! What is kept is reserved from the database's budget as long as the cache or an array has it, and bounded: before
//! more than the limit is kept, or memory runs out elsewhere, forms that no array shows are dropped, least recently
//! exported first. Those of pinned tables stay.
//!
//! Called by the facade; the workers that convert are its own.

use crate::column::Column;
use inlay_kernels::host::{self, HostForm};
use inlay_types::arrow::{FlatColumn, PreparedColumn, StringLayout};
use inlay_types::pages::{NewPages, PagePool, Pages};
use inlay_types::{MemoryBudget, Reclaim, Reservation, Result, VECTOR_SIZE, Vector};
use parking_lot::Mutex;
use std::any::Any;
use std::collections::HashSet;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

/// What is resident of a database. See the module documentation.
#[derive(Debug)]
pub struct Residents {
    pool: PagePool,
    budget: MemoryBudget,
    /// Columns with forms that may be dropped, least recently exported first.
    order: Mutex<Vec<Weak<Column>>>,
    /// Bytes that may be kept.
    limit: AtomicU64,
    /// Bytes on pages now.
    held: Arc<AtomicU64>,
    /// Tables whose columns stay, by number.
    pinned: Mutex<HashSet<u64>>,
}

/// What of a column is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Values on pages, for arrays over many row groups.
    Host(HostForm),
    /// The buffers of an Arrow array of the row group.
    Arrow(StringLayout),
}

/// What one column is kept as.
#[derive(Debug, Default)]
pub(crate) struct KeptForms(Vec<(Form, Memory)>);

#[derive(Debug)]
enum Memory {
    Pages(Arc<Pages>),
    /// The first is over the second.
    Arrow(FlatColumn, Arc<Held>),
}

impl Memory {
    fn bytes(&self) -> u64 {
        match self {
            Self::Pages(pages) => pages.size() as u64,
            Self::Arrow(_, held) => held.bytes,
        }
    }

    /// Whether an array shows it.
    fn is_shown(&self) -> bool {
        match self {
            Self::Pages(pages) => Arc::strong_count(pages) > 1,
            Self::Arrow(_, held) => Arc::strong_count(held) > 2,
        }
    }
}

impl KeptForms {
    fn get(&self, form: Form) -> Option<&Memory> {
        self.0.iter().find(|(kept, _)| *kept == form).map(|(_, memory)| memory)
    }

    fn pages(&self, form: HostForm) -> Option<Arc<Pages>> {
        match self.get(Form::Host(form)) {
            Some(Memory::Pages(pages)) => Some(Arc::clone(pages)),
            _ => None,
        }
    }

    fn arrow(&self, layout: StringLayout) -> Option<FlatColumn> {
        match self.get(Form::Arrow(layout)) {
            Some(Memory::Arrow(column, _)) => Some(column.clone()),
            _ => None,
        }
    }

    /// Keeps a form unless it is kept already.
    fn keep(&mut self, form: Form, memory: Memory) {
        if self.get(form).is_none() {
            self.0.push((form, memory));
        }
    }

    /// Forgets what no array shows. Returns the bytes given back.
    fn drop_unused(&mut self) -> u64 {
        let mut freed = 0;
        self.0.retain(|(_, memory)| {
            freed += if memory.is_shown() { 0 } else { memory.bytes() };
            memory.is_shown()
        });
        freed
    }

    /// The forms and the bytes of each.
    pub fn sizes(&self) -> Vec<(Form, u64)> {
        self.0.iter().map(|(form, memory)| (*form, memory.bytes())).collect()
    }
}

/// What goes with memory that is kept, until the last array is gone.
#[derive(Debug)]
struct Held {
    _reservation: Reservation,
    bytes: u64,
    held: Arc<AtomicU64>,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.held.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

impl Residents {
    /// Nothing is resident yet; up to `limit` bytes of `budget` may be.
    pub fn new(budget: MemoryBudget, limit: u64) -> Arc<Self> {
        let residents = Arc::new(Self {
            pool: PagePool::new(),
            budget: budget.clone(),
            order: Mutex::default(),
            limit: AtomicU64::new(limit),
            held: Arc::default(),
            pinned: Mutex::default(),
        });
        let reclaim: Weak<dyn Reclaim> = Arc::downgrade(&(Arc::clone(&residents) as Arc<dyn Reclaim>));
        budget.add_reclaim(reclaim);
        residents
    }

    /// Changes how many bytes may be kept; what is more goes at once unless arrays show it.
    pub fn set_limit(&self, limit: u64) {
        self.limit.store(limit, Ordering::Relaxed);
        self.make_room(0);
    }

    /// Bytes on pages now, those included that only arrays have.
    pub fn held_bytes(&self) -> u64 {
        self.held.load(Ordering::Relaxed)
    }

    /// Whether the columns of a table stay once they are resident, whatever the limit; they still are reserved from the
    /// budget.
    pub fn is_pinned(&self, table: u64) -> bool {
        self.pinned.lock().contains(&table)
    }

    /// Lets the columns of a table stay from now on, or no longer.
    pub fn pin(&self, table: u64, pinned: bool) {
        let mut tables = self.pinned.lock();
        if pinned {
            tables.insert(table);
        } else {
            tables.remove(&table);
        }
    }

    /// The pages of some columns of a table in a form that fits their type; those that are not there are to be filled.
    /// `None` when there is no room.
    pub fn request(&self, table: u64, columns: &[Arc<Column>], form: HostForm) -> Option<Request> {
        let known: Vec<Option<Arc<Pages>>> =
            columns.iter().map(|column| column.forms().lock().pages(form)).collect();
        let size_of = |column: &Column| column.len() * form.width(&column.logical_type());
        let missing = || columns.iter().zip(&known).filter(|(_, pages)| pages.is_none());
        let sizes: Vec<usize> = missing().map(|(column, _)| size_of(column)).collect();
        let mut fills = Vec::with_capacity(sizes.len());
        if !sizes.is_empty() {
            let total = sizes.iter().map(|&size| size as u64).sum();
            if !self.is_pinned(table) && !self.make_room(total) {
                return None;
            }
            let mut reservations = Vec::with_capacity(sizes.len());
            for &size in &sizes {
                reservations.push(self.budget.reserve(size as u64).ok()?);
            }
            let pages = self.pool.allocate(&sizes)?;
            for (pages, reservation) in pages.into_iter().zip(reservations) {
                let held = self.hold(reservation);
                fills.push(Fill { pages: Mutex::new(Some(pages)), held: Mutex::new(Some(held)) });
            }
        }
        let missing = missing().map(|(column, _)| Arc::clone(column)).collect();
        Some(Request { columns: columns.to_vec(), known, missing, fills, form })
    }

    fn hold(&self, reservation: Reservation) -> Held {
        let bytes = reservation.bytes();
        self.held.fetch_add(bytes, Ordering::Relaxed);
        Held { _reservation: reservation, bytes, held: Arc::clone(&self.held) }
    }

    /// All rows of a column as an Arrow array: the one that is kept, or what `convert` makes of its values, which is kept
    /// if there is room. `None` for types with parts, which are not kept.
    pub fn arrow(
        &self,
        table: u64,
        column: &Arc<Column>,
        layout: StringLayout,
        convert: impl FnOnce(&Vector) -> Result<PreparedColumn>,
    ) -> Result<PreparedColumn> {
        if let Some(kept) = column.forms().lock().arrow(layout) {
            return Ok(PreparedColumn::Flat(kept));
        }
        let segment = column.segment_to_scan()?;
        let values = segment.scan(0, column.len());
        let flat = match convert(&values)? {
            PreparedColumn::Flat(flat) if !(segment.is_plain() && flat.shares_values_with(&values)) => flat,
            other => return Ok(other),
        };
        let size = flat.size() as u64;
        let has_room = self.is_pinned(table) || self.make_room(size);
        let Some(reservation) = has_room.then(|| self.budget.reserve(size).ok()).flatten() else {
            return Ok(PreparedColumn::Flat(flat));
        };
        let held = Arc::new(self.hold(reservation));
        let flat = flat.with(Arc::clone(&held) as Arc<dyn Any + Send + Sync>);
        column.forms().lock().keep(Form::Arrow(layout), Memory::Arrow(flat.clone(), held));
        Ok(PreparedColumn::Flat(flat))
    }

    /// Notes that columns of a table were exported just now, so that they are the last to go.
    pub fn note_use(&self, table: u64, columns: &[Arc<Column>]) {
        let is_pinned = self.is_pinned(table);
        let noted: HashSet<*const Column> = columns.iter().map(Arc::as_ptr).collect();
        let mut order = self.order.lock();
        order.retain(|column| column.strong_count() > 0 && !noted.contains(&Weak::as_ptr(column)));
        if !is_pinned {
            order.extend(columns.iter().map(Arc::downgrade));
        }
    }

    /// Drops forms until `more` bytes may be kept. Returns whether they may.
    fn make_room(&self, more: u64) -> bool {
        let limit = self.limit.load(Ordering::Relaxed);
        let over = |held: u64| held.saturating_add(more).saturating_sub(limit);
        let short = over(self.held_bytes());
        short == 0
            || more <= limit && {
                self.drop_oldest(short);
                over(self.held_bytes()) == 0
            }
    }

    fn drop_oldest(&self, bytes: u64) -> u64 {
        let Some(mut order) = self.order.try_lock() else { return 0 };
        let mut freed = 0;
        let mut kept = Vec::new();
        let mut columns = std::mem::take(&mut *order).into_iter();
        while freed < bytes
            && let Some(weak) = columns.next()
        {
            let Some(column) = weak.upgrade() else { continue };
            // One that is being exported stays; this never waits.
            let Some(mut forms) = column.forms().try_lock() else {
                kept.push(weak);
                continue;
            };
            freed += forms.drop_unused();
            if !forms.0.is_empty() {
                kept.push(weak);
            }
        }
        kept.extend(columns);
        *order = kept;
        freed
    }
}

impl Reclaim for Residents {
    fn reclaim(&self, bytes: u64) -> u64 {
        self.drop_oldest(bytes)
    }
}

/// Columns that are becoming resident: [`Request::fill`] each task, on any thread, then [`Request::finish`].
pub struct Request {
    columns: Vec<Arc<Column>>,
    known: Vec<Option<Arc<Pages>>>,
    missing: Vec<Arc<Column>>,
    fills: Vec<Fill>,
    form: HostForm,
}

struct Fill {
    pages: Mutex<Option<NewPages>>,
    held: Mutex<Option<Held>>,
}

impl Request {
    /// How many columns are to be filled.
    pub fn tasks(&self) -> usize {
        self.fills.len()
    }

    /// Converts the values of one column.
    pub fn fill(&self, task: usize) -> Result<()> {
        match self.fills[task].pages.lock().as_mut() {
            Some(pages) => {
                let column = &self.missing[task];
                convert(column, self.form, 0..column.len(), pages.bytes_mut())
            }
            None => Ok(()),
        }
    }

    /// The pages of all columns in order, which the columns keep from now on.
    pub fn finish(self) -> Vec<Arc<Pages>> {
        let mut fills = self.fills.into_iter();
        let mut finished = Vec::with_capacity(self.columns.len());
        for (column, known) in self.columns.iter().zip(self.known) {
            let filled = || {
                let fill = fills.next()?;
                let held = fill.held.into_inner()?;
                let pages = fill.pages.into_inner()?.finish(Some(Box::new(held)));
                column.forms().lock().keep(Form::Host(self.form), Memory::Pages(Arc::clone(&pages)));
                Some(pages)
            };
            finished.extend(known.or_else(filled));
        }
        finished
    }
}

/// Writes some rows of a column in a host's form.
///
/// Panics when `target` has not exactly the room for them.
pub fn convert(column: &Column, form: HostForm, rows: Range<usize>, target: &mut [u8]) -> Result<()> {
    let segment = column.segment_to_scan()?;
    let width = form.width(&column.logical_type());
    let mut values = Vector::empty(column.logical_type());
    // Vector by vector, so that what is decoded is written on before it leaves the cache.
    for (index, target) in target.chunks_mut(VECTOR_SIZE * width).enumerate() {
        segment.scan_into(rows.start + index * VECTOR_SIZE, target.len() / width, &mut values);
        host::write(&values, form, target);
    }
    Ok(())
}
