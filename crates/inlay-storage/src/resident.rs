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
use crate::table::TableSnapshot;
use inlay_types::arrow::{FlatColumn, PreparedColumn, StringLayout};
use inlay_types::host::{self, HostForm};
use inlay_types::pages::{Layout, NewPages, PagePool, Pages};
use inlay_types::{MemoryBudget, Reclaim, Reservation, Result, VECTOR_SIZE, Vector};
use parking_lot::Mutex;
use std::any::Any;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

/// What is resident of a database. See the module documentation.
#[derive(Debug)]
pub struct Residents {
    pool: PagePool,
    budget: MemoryBudget,
    /// Columns with forms. Locked before the forms of a column.
    listed: Mutex<Listed>,
    /// Counts exports.
    clock: AtomicU64,
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
pub(crate) struct KeptForms {
    forms: Vec<(Form, Memory)>,
    /// When it was last exported; [`STAYS`] for a pinned table.
    used: u64,
    /// Whether it is listed, or about to be.
    is_listed: bool,
}

#[derive(Debug, Default)]
struct Listed {
    columns: Vec<Weak<Column>>,
    /// Those with layouts of whole columns.
    snapshots: Vec<Weak<TableSnapshot>>,
    /// Entries when those of columns that are gone were last dropped.
    swept: usize,
}

impl Listed {
    fn enter(&mut self, column: &Arc<Column>) {
        self.columns.push(Arc::downgrade(column));
        if self.columns.len() > 2 * self.swept + 1024 {
            self.columns.retain(|column| column.strong_count() > 0);
            self.swept = self.columns.len();
        }
    }
}

/// What was found out about whole columns of a snapshot, so that the next export of one takes the same time for any
/// number of row groups.
#[derive(Debug, Default)]
pub(crate) struct WholeColumns(Mutex<Whole>);

#[derive(Debug, Default)]
struct Whole {
    layouts: Vec<WholeColumn>,
    /// By column.
    null_counts: HashMap<usize, usize>,
}

#[derive(Debug)]
struct WholeColumn {
    column: usize,
    form: HostForm,
    layout: Arc<Layout>,
    /// When it was last exported.
    used: u64,
}

/// Later than any export.
const STAYS: u64 = u64::MAX;

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
        self.forms.iter().find(|(kept, _)| *kept == form).map(|(_, memory)| memory)
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
            self.forms.push((form, memory));
        }
    }

    /// Forgets what no array shows. Returns the bytes given back.
    fn drop_unused(&mut self) -> u64 {
        let mut freed = 0;
        self.forms.retain(|(_, memory)| {
            freed += if memory.is_shown() { 0 } else { memory.bytes() };
            memory.is_shown()
        });
        freed
    }

    /// The forms and the bytes of each.
    pub fn sizes(&self) -> Vec<(Form, u64)> {
        self.forms.iter().map(|(form, memory)| (*form, memory.bytes())).collect()
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
            listed: Mutex::default(),
            clock: AtomicU64::default(),
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
    pub fn request<'a>(
        &'a self,
        table: u64,
        columns: &'a [&'a Arc<Column>],
        form: HostForm,
    ) -> Option<Request<'a>> {
        let used = self.tick(table);
        let mut known = Vec::with_capacity(columns.len());
        let mut missing = Vec::new();
        for column in columns {
            let mut forms = column.forms().lock();
            forms.used = used;
            known.push(forms.pages(form));
            if known.last().is_some_and(Option::is_none) {
                missing.push(*column);
            }
        }
        let fills = if missing.is_empty() { Vec::new() } else { self.allocate(table, &missing, form)? };
        Some(Request { residents: self, columns, known, missing, fills, form, used })
    }

    /// Pages for some columns, unless there is no room.
    fn allocate(&self, table: u64, columns: &[&Arc<Column>], form: HostForm) -> Option<Vec<Fill>> {
        let size_of = |column: &&Arc<Column>| column.len() * form.width(&column.logical_type());
        let sizes: Vec<usize> = columns.iter().map(size_of).collect();
        let total = sizes.iter().map(|&size| size as u64).sum();
        if !self.is_pinned(table) && !self.make_room(total) {
            return None;
        }
        let mut reservations = Vec::with_capacity(sizes.len());
        for &size in &sizes {
            reservations.push(self.budget.reserve(size as u64).ok()?);
        }
        let pages = self.pool.allocate(&sizes)?;
        let fill = |(pages, reservation)| Fill {
            pages: Mutex::new(Some(pages)),
            held: Mutex::new(Some(self.hold(reservation))),
        };
        Some(pages.into_iter().zip(reservations).map(fill).collect())
    }

    /// What is exported now of a table was exported then.
    fn tick(&self, table: u64) -> u64 {
        if self.is_pinned(table) { STAYS } else { self.clock.fetch_add(1, Ordering::Relaxed) }
    }

    /// Lets a column keep a form from now on.
    fn keep(&self, column: &Arc<Column>, form: Form, memory: Memory, used: u64) {
        let mut forms = column.forms().lock();
        forms.used = used;
        forms.keep(form, memory);
        let is_new = !std::mem::replace(&mut forms.is_listed, true);
        drop(forms);
        if is_new {
            self.listed.lock().enter(column);
        }
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
        let used = self.tick(table);
        {
            let mut forms = column.forms().lock();
            forms.used = used;
            if let Some(kept) = forms.arrow(layout) {
                return Ok(PreparedColumn::Flat(kept));
            }
        }
        let segment = column.segment_to_scan()?;
        let values = segment.scan(0, column.len())?;
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
        self.keep(column, Form::Arrow(layout), Memory::Arrow(flat.clone(), held), used);
        Ok(PreparedColumn::Flat(flat))
    }

    /// How all rows of a column of a snapshot are shown, if that was kept; this is an export.
    pub fn layout(&self, snapshot: &TableSnapshot, column: usize, form: HostForm) -> Option<Arc<Layout>> {
        let used = self.clock.fetch_add(1, Ordering::Relaxed);
        let mut whole = snapshot.whole_columns().0.lock();
        let found = whole.layouts.iter_mut().find(|known| known.column == column && known.form == form)?;
        found.used = used;
        Some(Arc::clone(&found.layout))
    }

    /// Keeps how all rows of a column are shown, until the snapshot is gone or memory is short.
    pub fn keep_layout(
        &self,
        snapshot: &Arc<TableSnapshot>,
        column: usize,
        form: HostForm,
        layout: &Arc<Layout>,
    ) {
        let used = self.clock.fetch_add(1, Ordering::Relaxed);
        let mut whole = snapshot.whole_columns().0.lock();
        let is_new = whole.layouts.is_empty();
        if whole.layouts.iter().all(|known| known.column != column || known.form != form) {
            whole.layouts.push(WholeColumn { column, form, layout: Arc::clone(layout), used });
        }
        drop(whole);
        if is_new {
            let snapshots = &mut self.listed.lock().snapshots;
            snapshots.retain(|snapshot| snapshot.strong_count() > 0);
            snapshots.push(Arc::downgrade(snapshot));
        }
    }

    /// Notes that a column of a table was exported just now, so that it is among the last to go; or that its table is
    /// pinned, or no longer.
    pub fn note_use(&self, table: u64, column: &Column) {
        column.forms().lock().used = self.tick(table);
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

    /// Drops the least recently exported. Never waits: who holds a lock may be who asks.
    fn drop_oldest(&self, bytes: u64) -> u64 {
        let Some(mut listed) = self.listed.try_lock() else { return 0 };
        listed
            .snapshots
            .retain(|snapshot| snapshot.upgrade().is_some_and(|snapshot| !forget_layouts(&snapshot)));
        let mut columns: Vec<(u64, Arc<Column>)> = Vec::new();
        listed.columns.retain(|column| {
            let Some(column) = column.upgrade() else { return false };
            let used = column.forms().try_lock().map_or(STAYS, |forms| forms.used);
            if used != STAYS {
                columns.push((used, column));
            }
            true
        });
        columns.sort_unstable_by_key(|(used, _)| *used);
        let mut freed = 0;
        let mut emptied = HashSet::new();
        for (_, column) in &columns {
            if freed >= bytes {
                break;
            }
            let Some(mut forms) = column.forms().try_lock() else { continue };
            freed += forms.drop_unused();
            if forms.forms.is_empty() {
                forms.is_listed = false;
                emptied.insert(Arc::as_ptr(column));
            }
        }
        if !emptied.is_empty() {
            listed.columns.retain(|column| !emptied.contains(&Weak::as_ptr(column)));
        }
        drop(listed);
        freed
    }
}

/// Forgets how whole columns are shown, which keeps their pages, but for those that arrays show. Returns whether that
/// is all.
fn forget_layouts(snapshot: &TableSnapshot) -> bool {
    let Some(mut whole) = snapshot.whole_columns().0.try_lock() else { return false };
    whole.layouts.retain(|known| {
        for group in snapshot.row_groups() {
            if let Some(mut forms) = group.column(known.column).forms().try_lock() {
                forms.used = forms.used.max(known.used);
            }
        }
        Arc::strong_count(&known.layout) > 1
    });
    whole.layouts.is_empty()
}

/// Number of NULLs of a column in all rows of a snapshot.
pub fn null_count(snapshot: &TableSnapshot, column: usize) -> usize {
    let count = || snapshot.row_groups().iter().map(|group| group.column(column).null_count()).sum();
    *snapshot.whole_columns().0.lock().null_counts.entry(column).or_insert_with(count)
}

impl Reclaim for Residents {
    fn reclaim(&self, bytes: u64) -> u64 {
        self.drop_oldest(bytes)
    }
}

/// Columns that are becoming resident: [`Request::fill`] each task, on any thread, then [`Request::finish`].
pub struct Request<'a> {
    residents: &'a Residents,
    columns: &'a [&'a Arc<Column>],
    known: Vec<Option<Arc<Pages>>>,
    missing: Vec<&'a Arc<Column>>,
    fills: Vec<Fill>,
    form: HostForm,
    used: u64,
}

struct Fill {
    pages: Mutex<Option<NewPages>>,
    held: Mutex<Option<Held>>,
}

impl Request<'_> {
    /// How many columns are to be filled.
    pub fn tasks(&self) -> usize {
        self.fills.len()
    }

    /// Converts the values of one column.
    pub fn fill(&self, task: usize) -> Result<()> {
        match self.fills[task].pages.lock().as_mut() {
            Some(pages) => {
                let column = self.missing[task];
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
                let memory = Memory::Pages(Arc::clone(&pages));
                self.residents.keep(column, Form::Host(self.form), memory, self.used);
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
        segment.scan_into(rows.start + index * VECTOR_SIZE, target.len() / width, &mut values)?;
        host::write(&values, form, target);
    }
    Ok(())
}
