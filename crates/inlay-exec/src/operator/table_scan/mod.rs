//! Scans of stored tables: filters on the encoded form first, other columns for the surviving rows only.
//!
//! A morsel is a range of a row group, or, where an index says that few rows of the table can qualify, those of a group. Row groups that a zone map excludes are left out when the scan starts, which is
//! after the pipelines whose joins send filters sideways. Within a morsel every column filter narrows the list of
//! surviving positions; then conditions over several columns run on gathered values; then the wanted columns are
//! gathered, in full batches.
//!
//! Fields of structs are numbered behind the columns of the table, and are as columns to all of this; [`fields`] says where their rows
//! are.

mod fields;
mod morsels;
mod pushdown;
mod read_ahead;
mod sets;

pub use fields::FieldSource;
pub use pushdown::{ScanFilters, column_predicate, split_filters};
pub use sets::{ByValue, condition_of};

use crate::context::ExecContext;
use crate::dynamic_filter::DynamicFilter;
use crate::expression::{Filter, FilterState};
use crate::pipeline::{Flow, Handout, Morsel, Source};
use fields::{Part, Prepared};
use inlay_storage::{Prune, RowGroup, SegmentPredicate, Table, TableSnapshot};
use inlay_types::{Batch, Error, LogicalType, Result, VECTOR_SIZE, Vector};
use morsels::{MORSEL_ROWS, Morsels, Span};
use parking_lot::Mutex;
use read_ahead::ReadAhead;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// Where long morsels are preferred, one is a row group if each worker then has this many.
const LONG_MORSELS_MIN: usize = 4;
/// Row groups that one task asks whether they may have rows.
const PRUNED_GROUPS: usize = 32;
/// The same where a predicate is compared with the texts of dictionaries.
const PRUNED_GROUPS_OF_TEXTS: usize = 8;
/// Predicates of this [`cost`] or more are.
const TEXTS_COST: u32 = 3;

/// What the planner says of a scan.
pub struct TableScanOptions {
    /// The table, for its indexes.
    pub table: Arc<Table>,
    /// The rows, as of the beginning of the statement.
    pub snapshot: Arc<TableSnapshot>,
    /// Positions of the wanted columns in the table, in output order.
    pub columns: Vec<usize>,
    /// Fields of structs, whose positions follow those of the table's columns.
    pub fields: Vec<FieldSource>,
    /// Whether a last column with the rows' ids is wanted.
    pub row_ids: bool,
    /// Conditions over single columns (positions in the table).
    pub column_filters: Vec<(usize, SegmentPredicate)>,
    /// Filters that joins will publish.
    pub dynamic_filters: Vec<ScanSlot>,
    /// Other conditions, over batches of `residual_columns`.
    pub residual: Filter,
    /// Positions in the table of the columns that `residual` reads, in its layout's order.
    pub residual_columns: Vec<usize>,
    /// What indexes by value may decide.
    pub by_value: ByValue,
    /// Only these row groups, if that is said; for each whether.
    pub groups: Option<Vec<bool>>,
}

/// Where a join above will publish a filter on a column.
#[derive(Clone)]
pub struct ScanSlot {
    /// Position in the table.
    pub column: usize,
    /// The slot.
    pub filter: DynamicFilter,
    /// Whether the join relies on it: it is then applied even where it lets nearly everything through.
    pub required: bool,
}

/// A running scan.
pub struct TableScan {
    options: TableScanOptions,
    started: OnceLock<Started>,
    handout: Mutex<Handout>,
    /// Rows of the morsels that were taken.
    scanned: AtomicU64,
}

struct Started {
    filters: Vec<ScanFilter>,
    morsels: Morsels,
    /// For a scan of which something is not in memory yet.
    read_ahead: Option<ReadAhead>,
}

struct ScanFilter {
    column: usize,
    predicate: SegmentPredicate,
    /// See [`cost`].
    cost: u32,
    /// May be dropped when it lets nearly everything through.
    optional: bool,
}

/// What a worker has.
pub struct Local {
    /// See [`Morsels::take`].
    kept: Option<usize>,
    /// Row group that `prepared` and `parts` are for.
    group: Option<usize>,
    /// The rows of the row group by position, as far as they were needed.
    parts: Vec<Option<Part>>,
    /// Per filter.
    prepared: Vec<Prepared>,
    /// What each filter was good for so far.
    tallies: Vec<Tally>,
    /// Which filter is applied when: of equally cheap ones, that which let the fewest rows pass so far first.
    order: Vec<usize>,
    selection: Vec<u32>,
    narrowed: Vec<u32>,
    positions: Vec<u32>,
    /// Rows of the row group that indexes by value leave; deleted ones are not among them.
    found: Option<Vec<u32>>,
    /// The memory of the former `found`.
    listed: Vec<u32>,
    residual: FilterState,
}

impl Local {
    fn sort_filters(&mut self, started: &Started) {
        if self.order.len() < 2 {
            return;
        }
        let passing = |index: usize| self.tallies[index].passing();
        let cost = |index: usize| started.filters[index].cost;
        self.order.sort_by(|&a, &b| cost(a).cmp(&cost(b)).then_with(|| passing(a).total_cmp(&passing(b))));
    }
}

/// The rows that met a filter and that passed, of which old ones count less and less.
#[derive(Clone, Copy, Default)]
struct Tally {
    seen: u64,
    passed: u64,
    /// Morsels that do without the filter.
    rests: u32,
}

impl Tally {
    /// An optional filter is judged whenever this many rows met it, rests when more than this share of them passed, and
    /// is tried again after so many morsels: values may be clustered.
    const JUDGED_ROWS: u64 = 1 << 12;
    const PASSING_MAX: f64 = 0.9;
    const RESTED_MORSELS: u32 = 15;

    /// The share of rows that is expected to pass.
    fn passing(&self) -> f64 {
        if self.seen == 0 { 0.5 } else { self.passed as f64 / self.seen as f64 }
    }

    /// Whether the next morsel is to do without the filter.
    fn rests(&mut self) -> bool {
        if self.rests > 0 {
            self.rests -= 1;
            return true;
        }
        false
    }

    fn count(&mut self, seen: usize, passed: usize, optional: bool) {
        self.seen += seen as u64;
        self.passed += passed as u64;
        if self.seen < Self::JUDGED_ROWS {
            return;
        }
        if optional && self.passing() > Self::PASSING_MAX {
            self.rests = Self::RESTED_MORSELS;
        }
        self.seen /= 2;
        self.passed /= 2;
    }
}

impl TableScan {
    /// A scan that has not started.
    pub fn new(options: TableScanOptions) -> Self {
        Self { options, started: OnceLock::new(), handout: Mutex::default(), scanned: AtomicU64::new(0) }
    }

    /// The rows that an index gives, if they are few.
    fn plan_lookup(&self, filters: &[ScanFilter]) -> Result<Option<Vec<Span>>> {
        let options = &self.options;
        if options.groups.is_some() {
            return Ok(None);
        }
        let slots = options.dynamic_filters.iter();
        let dynamic: Vec<(usize, SegmentPredicate)> = slots
            .flat_map(|slot| {
                slot.filter.predicates().iter().map(|predicate| (slot.column, predicate.clone()))
            })
            .collect();
        let snapshot = &options.snapshot;
        // Indexes are on columns.
        let of_columns = |filters: &[(usize, SegmentPredicate)]| -> Vec<(usize, SegmentPredicate)> {
            filters.iter().filter(|(column, _)| self.field(*column).is_none()).cloned().collect()
        };
        let (fixed, dynamic) = (of_columns(&options.column_filters), of_columns(&dynamic));
        let found = options.table.few_candidates(snapshot, &fixed, &dynamic)?;
        let Some(ids) = found else { return Ok(None) };
        let mut spans: Vec<Span> = Vec::new();
        let mut next = 0;
        for (index, group) in snapshot.row_groups().iter().enumerate() {
            let count = ids[next..].partition_point(|id| *id < group.row_ids().end);
            let start = group.row_id_start();
            let rows: Vec<u32> = ids[next..next + count].iter().map(|id| (id - start) as u32).collect();
            next += count;
            if !rows.is_empty() {
                let is_absent = self.is_absent(filters, group);
                spans.push(Span { group: index, start: 0, end: group.len(), listed: Some(rows), is_absent });
            }
        }
        Ok(Some(spans))
    }

    /// Columns that conditions look at, in their order, and all that are read, each once or more.
    fn columns_read(&self, filters: &[ScanFilter]) -> (Vec<usize>, Vec<usize>) {
        let first = filters.iter().map(|filter| filter.column);
        let first = first.chain(self.options.residual_columns.iter().copied());
        let rest = self.options.columns.iter().copied();
        (first.map(|at| self.stored(at)).collect(), rest.map(|at| self.stored(at)).collect())
    }

    /// Whether some column that is read of a row group is not in memory.
    fn is_absent(&self, filters: &[ScanFilter], group: &RowGroup) -> bool {
        let first = filters.iter().map(|filter| filter.column);
        let mut read =
            first.chain(self.options.residual_columns.iter().chain(&self.options.columns).copied());
        read.any(|column| group.column(self.stored(column)).is_absent())
    }

    /// Row groups that are not in memory are morsels as a whole: two workers in one would wait for each other's columns.
    fn plan_morsels(&self, filters: &[ScanFilter], context: &ExecContext) -> Result<Morsels> {
        let threads = context.workers.count();
        let groups = self.read_groups(filters, context)?;
        let mut handout = *self.handout.lock();
        if handout == Handout::Long && groups.len() < threads * LONG_MORSELS_MIN {
            handout = Handout::InOrder;
        }
        let has_enough = groups.len() >= threads;
        let mut spans: Vec<Span> = Vec::new();
        for (group, len) in groups {
            let is_absent = self.is_absent(filters, &self.options.snapshot.row_groups()[group]);
            let is_whole = handout == Handout::Long || has_enough && is_absent;
            let rows = if is_whole { len } else { MORSEL_ROWS };
            for start in (0..len).step_by(rows) {
                spans.push(Span { group, start, end: (start + rows).min(len), listed: None, is_absent });
            }
        }
        Ok(Morsels::new(spans, handout, threads))
    }

    /// The row groups that may have rows, and how many rows they have. Many are looked at by all workers.
    fn read_groups(&self, filters: &[ScanFilter], context: &ExecContext) -> Result<Vec<(usize, usize)>> {
        let groups = self.options.snapshot.row_groups();
        let chosen = self.options.groups.as_ref();
        let read = |group: &RowGroup| {
            let excluded = |f: &ScanFilter| self.prune(group, f) == Prune::None;
            group.live_count() > 0 && !filters.iter().any(excluded)
        };
        let note = |(is_read, group): (&mut bool, &Arc<RowGroup>)| *is_read = read(group);
        let mut is_read = vec![false; groups.len()];
        let are_texts = filters.iter().any(|filter| filter.cost >= TEXTS_COST);
        let at_once = if are_texts { PRUNED_GROUPS_OF_TEXTS } else { PRUNED_GROUPS };
        if groups.len() <= at_once {
            is_read.iter_mut().zip(groups).for_each(note);
        } else {
            let parts = is_read.chunks_mut(at_once).zip(groups.chunks(at_once));
            let parts: Vec<Mutex<_>> = parts.map(Mutex::new).collect();
            context.parallel(parts.len(), |part| {
                let (is_read, groups) = &mut *parts[part].lock();
                is_read.iter_mut().zip(*groups).for_each(note);
                Ok(())
            })?;
        }
        let is_chosen = |index: usize| chosen.is_none_or(|chosen| chosen[index]);
        let all = groups.iter().zip(is_read).enumerate();
        let all = all.filter(|(index, (_, is_read))| *is_read && is_chosen(*index));
        Ok(all.map(|(index, (group, _))| (index, group.len())).collect())
    }

    fn read_ahead(&self, filters: &[ScanFilter], morsels: &[Span], workers: usize) -> Option<ReadAhead> {
        let groups = self.options.snapshot.row_groups();
        let (first, rest) = self.columns_read(filters);
        let is_absent = morsels.iter().any(|span| span.is_absent);
        let read_ahead = is_absent.then(|| ReadAhead::new(first, rest, workers))?;
        read_ahead.begins(morsels, 0, &|group, column| groups[group].column(column).will_read());
        Some(read_ahead)
    }

    fn prepare(&self, started: &Started, local: &mut Local, span: &Span) -> Result<()> {
        let index = span.group;
        if local.group == Some(index) {
            return Ok(());
        }
        let group = &self.options.snapshot.row_groups()[index];
        local.group = None;
        local.prepared.clear();
        local.parts.clear();
        local.parts.resize_with(group.columns().len() + self.options.fields.len(), || None);
        if let Some(found) = local.found.take() {
            local.listed = found;
        }
        let is_decided = if self.options.by_value.is_empty() || span.listed.is_some() {
            Vec::new()
        } else {
            self.find_by_value(started, local, group)?
        };
        for (number, filter) in started.filters.iter().enumerate() {
            if is_decided.get(number) == Some(&true) {
                local.prepared.push(Prepared::Everything);
                continue;
            }
            let prepared = self.part(&mut local.parts, group, filter.column)?.prepare(&filter.predicate)?;
            local.prepared.push(prepared);
        }
        local.group = Some(index);
        Ok(())
    }

    /// Narrows the rows of a span. Returns whether `local.selection` holds the survivors; otherwise all
    /// rows survive.
    fn select(&self, started: &Started, local: &mut Local, group: &RowGroup, span: &Span) -> Result<bool> {
        let (start, end) = (span.start, span.end);
        let mut narrowed = false;
        if let Some(listed) = &span.listed {
            local.selection.clear();
            local.selection.extend_from_slice(listed);
            narrowed = true;
        } else if let Some(found) = &local.found {
            let place = |row: usize| found.partition_point(|found| (*found as usize) < row);
            local.selection.clear();
            local.selection.extend_from_slice(&found[place(start)..place(end)]);
            if local.selection.is_empty() {
                return Ok(true);
            }
            narrowed = true;
        } else if group.deleted().is_some() {
            local.selection.clear();
            group.live_rows(start..end, &mut local.selection);
            narrowed = true;
        }
        for place in 0..local.order.len() {
            let index = local.order[place];
            let filter = &started.filters[index];
            if matches!(local.prepared[index], Prepared::Everything) {
                continue;
            }
            if local.tallies[index].rests() {
                continue;
            }
            local.narrowed.clear();
            let selection = narrowed.then_some(local.selection.as_slice());
            let before = selection.map_or(end - start, <[u32]>::len);
            let (part, prepared) =
                (self.part(&mut local.parts, group, filter.column)?, &local.prepared[index]);
            let budget = self.options.table.budget();
            part.filter(prepared, &filter.predicate, start..end, selection, budget, &mut local.narrowed)?;
            local.tallies[index].count(before, local.narrowed.len(), filter.optional);
            if local.narrowed.len() == before {
                continue;
            }
            std::mem::swap(&mut local.selection, &mut local.narrowed);
            narrowed = true;
            if local.selection.is_empty() {
                return Ok(true);
            }
        }
        if !self.options.residual.is_empty() {
            self.select_residual(local, group, narrowed, start, end)?;
            narrowed = true;
        }
        Ok(narrowed)
    }

    fn select_residual(
        &self,
        local: &mut Local,
        group: &RowGroup,
        narrowed: bool,
        start: usize,
        end: usize,
    ) -> Result<()> {
        local.narrowed.clear();
        let total = if narrowed { local.selection.len() } else { end - start };
        for from in (0..total).step_by(VECTOR_SIZE) {
            let to = (from + VECTOR_SIZE).min(total);
            let rows =
                if narrowed { Rows::Listed(&local.selection[from..to]) } else { Rows::Range(start + from) };
            let mut columns = Vec::with_capacity(self.options.residual_columns.len());
            for &column in &self.options.residual_columns {
                columns.push(rows.read(self.part(&mut local.parts, group, column)?, to - from)?);
            }
            let batch = Batch::new(columns, to - from);
            self.options.residual.select(&mut local.residual, &batch, &mut local.positions)?;
            match rows {
                Rows::Listed(rows) => {
                    local.narrowed.extend(local.positions.iter().map(|&p| rows[p as usize]))
                }
                Rows::Range(first) => {
                    local.narrowed.extend(local.positions.iter().map(|&p| first as u32 + p))
                }
            }
        }
        std::mem::swap(&mut local.selection, &mut local.narrowed);
        Ok(())
    }

    /// The wanted columns of some rows of a group.
    fn read(
        &self,
        parts: &mut [Option<Part>],
        group: &RowGroup,
        rows: Rows<'_>,
        len: usize,
    ) -> Result<Batch> {
        let mut columns: Vec<Vector> = Vec::with_capacity(self.options.columns.len() + 1);
        for &column in &self.options.columns {
            columns.push(rows.read(self.part(parts, group, column)?, len)?);
        }
        if self.options.row_ids {
            let first = group.row_id_start();
            let ids: Vec<i64> = match rows {
                Rows::Listed(rows) => rows.iter().map(|&row| first + i64::from(row)).collect(),
                Rows::Range(start) => (0..len as i64).map(|row| first + start as i64 + row).collect(),
            };
            columns.push(Vector::from_values(LogicalType::BigInt, &ids));
        }
        Ok(Batch::new(columns, len))
    }
}

/// Rows of a row group to be read.
#[derive(Clone, Copy)]
enum Rows<'a> {
    /// These, ascending.
    Listed(&'a [u32]),
    /// Consecutive ones from here on.
    Range(usize),
}

impl Rows<'_> {
    fn read(self, part: &Part, len: usize) -> Result<Vector> {
        match self {
            Self::Range(start) => part.scan(start, len),
            Self::Listed(rows) if rows[len - 1] as usize - rows[0] as usize == len - 1 => {
                part.scan(rows[0] as usize, len)
            }
            Self::Listed(rows) => part.gather(rows),
        }
    }
}

/// Cheap filters run first.
fn cost(predicate: &SegmentPredicate, ty: LogicalType) -> u32 {
    match predicate {
        SegmentPredicate::IsNull | SegmentPredicate::IsNotNull => 0,
        SegmentPredicate::Compare(..) | SegmentPredicate::Between { .. } if !ty.is_view() => 1,
        SegmentPredicate::KeyBitmap(_) => 2,
        SegmentPredicate::Compare(..) | SegmentPredicate::Between { .. } | SegmentPredicate::In(_) => {
            TEXTS_COST
        }
        SegmentPredicate::Bloom(_) => 4,
        SegmentPredicate::Generic(_) => 5,
    }
}

impl Source for TableScan {
    type Local = Local;

    fn prefer(&self, handout: Handout) {
        *self.handout.lock() = handout;
    }

    fn start(&self, context: &ExecContext) -> Result<usize> {
        let options = &self.options;
        let fixed =
            options.column_filters.iter().map(|(column, predicate)| (*column, predicate.clone(), false));
        let dynamic = options.dynamic_filters.iter().flat_map(|slot| {
            slot.filter.predicates().iter().map(|predicate| (slot.column, predicate.clone(), !slot.required))
        });
        let mut filters: Vec<ScanFilter> = fixed
            .chain(dynamic)
            .map(|(column, predicate, optional)| ScanFilter { column, predicate, cost: 0, optional })
            .collect();
        if let Some(group) = options.snapshot.row_groups().first() {
            for filter in &mut filters {
                let ty = match self.field(filter.column) {
                    Some(field) => field.ty.clone(),
                    None => group.column(filter.column).logical_type(),
                };
                filter.cost = cost(&filter.predicate, ty);
            }
            filters.sort_by_key(|filter| filter.cost);
        }
        let morsels = match self.plan_lookup(&filters)? {
            Some(spans) => Morsels::new(spans, Handout::InOrder, 1),
            None => self.plan_morsels(&filters, context)?,
        };
        let count = morsels.spans().len();
        let read_ahead = self.read_ahead(&filters, morsels.spans(), context.workers.count());
        self.started
            .set(Started { filters, morsels, read_ahead })
            .map_err(|_| Error::internal("a table scan was started twice"))?;
        Ok(count)
    }

    fn local(&self) -> Local {
        let filters = self.started.get().map_or(0, |s| s.filters.len());
        Local {
            kept: None,
            group: None,
            parts: Vec::new(),
            prepared: Vec::new(),
            tallies: vec![Tally::default(); filters],
            order: (0..filters).collect(),
            selection: Vec::new(),
            narrowed: Vec::new(),
            positions: Vec::new(),
            found: None,
            listed: Vec::new(),
            residual: self.options.residual.state(),
        }
    }

    fn run_morsel(
        &self,
        local: &mut Local,
        begin: &mut dyn FnMut(usize),
        push: &mut dyn FnMut(Batch) -> Result<Flow>,
    ) -> Result<Morsel> {
        let started =
            self.started.get().ok_or_else(|| Error::internal("a table scan was read before its start"))?;
        let Some(number) = started.morsels.take(&mut local.kept) else { return Ok(Morsel::Exhausted) };
        let span = &started.morsels.spans()[number];
        begin(number);
        self.scanned.fetch_add((span.end - span.start) as u64, Ordering::Relaxed);
        let groups = self.options.snapshot.row_groups();
        if let Some(read_ahead) = &started.read_ahead {
            let will_read = |group: usize, column: usize| groups[group].column(column).will_read();
            read_ahead.begins(started.morsels.spans(), number, &will_read);
        }
        self.prepare(started, local, span)?;
        let group = &groups[span.group];
        let narrowed = self.select(started, local, group, span)?;
        local.sort_filters(started);
        let total = if narrowed { local.selection.len() } else { span.end - span.start };
        if let Some(read_ahead) = &started.read_ahead {
            read_ahead.found(total > 0);
        }
        for from in (0..total).step_by(VECTOR_SIZE) {
            let to = (from + VECTOR_SIZE).min(total);
            let rows = if narrowed {
                Rows::Listed(&local.selection[from..to])
            } else {
                Rows::Range(span.start + from)
            };
            let batch = self.read(&mut local.parts, group, rows, to - from)?;
            if push(batch)? == Flow::Done {
                break;
            }
        }
        Ok(Morsel::Pushed)
    }

    fn scanned(&self) -> Option<u64> {
        Some(self.scanned.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Morsels of 8,192 rows, of which `passing` says how many pass; returns in which the filter is applied.
    fn applied(optional: bool, passing: impl Fn(usize) -> usize) -> Vec<usize> {
        let mut tally = Tally::default();
        let mut applied = Vec::new();
        for morsel in 0..40 {
            if !tally.rests() {
                applied.push(morsel);
                tally.count(8_192, passing(morsel), optional);
            }
        }
        applied
    }

    #[test]
    fn a_filter_that_lets_all_through_rests_and_is_tried_again() {
        assert_eq!(applied(true, |_| 8_192), [0, 16, 32]);
        let clustered = applied(true, |morsel| if morsel < 10 { 8_192 } else { 80 });
        assert_eq!(clustered, std::iter::once(0).chain(16..40).collect::<Vec<_>>());
    }

    #[test]
    fn filters_that_are_needed_or_useful_never_rest() {
        assert_eq!(applied(false, |_| 8_192).len(), 40);
        assert_eq!(applied(true, |_| 7_000).len(), 40);
    }
}
