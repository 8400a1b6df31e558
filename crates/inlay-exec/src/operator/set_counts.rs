//! How many rows have which values, from indexes by value: no column is looked at.
//!
//! ```text
//! row group with sets:  values of the columns | rows that have them | of these, rows in which a counted column is not NULL
//! any other row group:  its rows, each once, as a scan gives them
//! ```
//! Whoever aggregates adds the numbers up. One column: the counts of its values, or of what is left of them behind the
//! condition and the deleted rows. Several, if there are no groups: each for itself, the others NULL. If there are: depth first, a
//! branch without rows is cut. Without columns it is one number. Whatever takes longer than to count codes is left to the scan,
//! which many groups do (docs/decisions/0035).

use super::table_scan::{Local as ScanLocal, TableScan, TableScanOptions};
use crate::context::ExecContext;
use crate::pipeline::{Flow, Morsel, Source};
use inlay_rowsets::{Marks, Places};
use inlay_storage::value_sets::{Condition, SetsOf};
use inlay_storage::{RowGroup, ValueSets};
use inlay_types::{Batch, Error, LogicalType, Result, VECTOR_SIZE, Value, Vector, VectorBuilder};
use parking_lot::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// What a condition may take by sets, as a share of the row group's rows; more is left to the scan.
const EFFORT_SHARE: usize = 8;
/// The values of one column are counted by sets if that takes so many operations for each row that the condition leaves: a scan
/// gathers and looks up each.
const EFFORT_PER_ROW: usize = 8;
/// The groups of several columns if it takes one for so many rows: they are counted in arrays by codes.
const ROWS_PER_EFFORT: usize = 2;
/// What is little enough whatever there are for rows.
const EFFORT_MIN: usize = 1_024;
/// What it takes to give a group to whoever aggregates.
const GROUP_EFFORT: usize = 64;
/// Row groups that one task counts: some microseconds each.
const TASK_GROUPS: usize = 64;

/// What the planner says of it.
pub struct SetCountsOptions {
    /// The scan of the row groups that sets do not answer; `columns` are those whose values are wanted.
    pub scan: TableScanOptions,
    /// Which rows count.
    pub condition: Condition,
    /// Of the columns, by their places, those whose rows without NULL are counted, too.
    pub counted: Vec<usize>,
    /// Types of the columns.
    pub types: Vec<LogicalType>,
    /// Whether there are no groups: then somebody wants a row even if nothing is counted, and each column counts for itself.
    pub is_total: bool,
}

/// See the module documentation.
pub struct SetCounts {
    options: Mutex<Option<SetCountsOptions>>,
    counted: Vec<usize>,
    started: OnceLock<Started>,
    next: AtomicUsize,
}

/// Counts of some row groups, and which of these are left to the scan.
type Part = (Batch, Vec<bool>);

struct Started {
    made: Vec<Batch>,
    rest: TableScan,
}

impl SetCounts {
    /// One that has not started.
    pub fn new(options: SetCountsOptions) -> Self {
        let counted = options.counted.clone();
        Self {
            options: Mutex::new(Some(options)),
            counted,
            started: OnceLock::new(),
            next: AtomicUsize::new(0),
        }
    }

    fn started(&self) -> Result<&Started> {
        self.started.get().ok_or_else(|| Error::internal("counts were read before their start"))
    }
}

impl Source for SetCounts {
    type Local = Option<ScanLocal>;

    fn start(&self, context: &ExecContext) -> Result<usize> {
        let Some(mut options) = self.options.lock().take() else {
            return Err(Error::internal("counts were started twice"));
        };
        let groups = options.scan.snapshot.row_groups();
        let parts: Vec<&[Arc<RowGroup>]> = groups.chunks(TASK_GROUPS).collect();
        let done: Vec<Mutex<Option<Part>>> = parts.iter().map(|_| Mutex::default()).collect();
        context.parallel(parts.len(), |part| {
            *done[part].lock() = Some(count(&options, parts[part])?);
            Ok(())
        })?;
        let (mut made, mut is_left) = (Vec::with_capacity(done.len() + 1), Vec::with_capacity(groups.len()));
        for part in done {
            let Some((batch, left)) = part.into_inner() else {
                return Err(Error::internal("a part not counted"));
            };
            made.push(batch);
            is_left.extend(left);
        }
        if options.is_total {
            let mut nothing = Counts::new(&options);
            nothing.push_total(0)?;
            made.push(nothing.finish());
        }
        made.retain(|batch| !batch.is_empty());
        options.scan.groups = Some(is_left);
        let rest = TableScan::new(options.scan);
        let count = made.len() + rest.start(context)?;
        self.started.set(Started { made, rest }).map_err(|_| Error::internal("counts were started twice"))?;
        Ok(count)
    }

    fn local(&self) -> Self::Local {
        self.started.get().map(|started| started.rest.local())
    }

    fn run_morsel(
        &self,
        local: &mut Self::Local,
        begin: &mut dyn FnMut(usize),
        push: &mut dyn FnMut(Batch) -> Result<Flow>,
    ) -> Result<Morsel> {
        let started = self.started()?;
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        if let Some(batch) = started.made.get(number) {
            begin(number);
            for from in (0..batch.len()).step_by(VECTOR_SIZE) {
                if push(batch.slice(from, VECTOR_SIZE.min(batch.len() - from)))? == Flow::Done {
                    break;
                }
            }
            return Ok(Morsel::Pushed);
        }
        let local = local.get_or_insert_with(|| started.rest.local());
        let behind = started.made.len();
        started.rest.run_morsel(local, &mut |morsel| begin(behind + morsel), &mut |batch| {
            push(each_once(batch, &self.counted)?)
        })
    }
}

/// Rows of a scan, each of which counts once.
fn each_once(batch: Batch, counted: &[usize]) -> Result<Batch> {
    let len = batch.len();
    let mut columns = batch.into_columns();
    let mut numbers = vec![Vector::constant(LogicalType::BigInt, &Value::BigInt(1), len)?];
    for place in counted {
        let column = &columns[*place];
        let ones: Vec<i64> = (0..len).map(|row| i64::from(!column.is_null(row))).collect();
        numbers.push(Vector::from_values(LogicalType::BigInt, &ones));
    }
    columns.extend(numbers);
    Ok(Batch::new(columns, len))
}

/// Values and how many rows have them.
struct Counts {
    values: Vec<VectorBuilder>,
    rows: Vec<i64>,
    /// Of each counted column, the rows where it is not NULL.
    present: Vec<(usize, Vec<i64>)>,
}

impl Counts {
    fn new(options: &SetCountsOptions) -> Self {
        Self {
            values: options.types.iter().map(|ty| VectorBuilder::new(ty.clone(), 0)).collect(),
            rows: Vec::new(),
            present: options.counted.iter().map(|place| (*place, Vec::new())).collect(),
        }
    }

    fn push(&mut self, values: &[Value], rows: i64) -> Result<()> {
        for (builder, value) in self.values.iter_mut().zip(values) {
            builder.push(value)?;
        }
        for (place, present) in &mut self.present {
            present.push(if values[*place].is_null() { 0 } else { rows });
        }
        self.rows.push(rows);
        Ok(())
    }

    /// The values of the column at `place`, without NULL, and their rows. If there are others, these are NULL, and what counts rows
    /// whatever is in them is told them by [`Counts::push_total`].
    fn append(&mut self, place: usize, values: &Vector, rows: &[i64]) -> Result<()> {
        let is_only = self.values.len() == 1;
        let none = vec![0; rows.len()];
        for (column, builder) in self.values.iter_mut().enumerate() {
            if column == place {
                builder.append(values);
            } else {
                rows.iter().try_for_each(|_| builder.push(&Value::Null))?;
            }
        }
        for (column, present) in &mut self.present {
            present.extend_from_slice(if *column == place { rows } else { &none });
        }
        self.rows.extend_from_slice(if is_only { rows } else { &none });
        Ok(())
    }

    /// Rows that count whatever is in their columns.
    fn push_total(&mut self, rows: i64) -> Result<()> {
        self.push(&vec![Value::Null; self.values.len()], rows)
    }

    fn finish(self) -> Batch {
        let len = self.rows.len();
        let mut columns: Vec<Vector> = self.values.into_iter().map(VectorBuilder::finish).collect();
        let numbers = [self.rows].into_iter().chain(self.present.into_iter().map(|(_, rows)| rows));
        columns.extend(numbers.map(|numbers| Vector::from_values(LogicalType::BigInt, &numbers)));
        Batch::new(columns, len)
    }
}

fn count(options: &SetCountsOptions, groups: &[Arc<RowGroup>]) -> Result<Part> {
    let mut counts = Counts::new(options);
    let mut is_left = Vec::with_capacity(groups.len());
    for group in groups {
        is_left.push(group.live_count() > 0 && !count_group(options, group, &mut counts)?);
    }
    Ok((counts.finish(), is_left))
}

/// Adds the counts of a row group; `false` if sets do not give them, or not faster than a scan.
fn count_group(options: &SetCountsOptions, group: &RowGroup, counts: &mut Counts) -> Result<bool> {
    let sets = |columns: &[usize]| -> Option<Vec<Arc<ValueSets>>> {
        columns.iter().map(|column| group.column(*column).value_sets()).collect()
    };
    let read = options.condition.columns();
    let Some((of_values, of_condition)) = sets(&options.scan.columns).zip(sets(&read)) else {
        return Ok(false);
    };
    let of = |column: usize| read.iter().position(|known| *known == column).map(|at| &*of_condition[at]);
    if let (Condition::Column(column, predicate), [], None) =
        (&options.condition, of_values.as_slice(), group.deleted())
        && let Some(sets) = of(*column)
    {
        let chosen = sets.chosen(predicate)?;
        if chosen.is_exact() {
            counts.push(&[], i64::from(chosen.count()))?;
        }
        return Ok(chosen.is_exact());
    }
    let Some(rows) = counted_rows(options, group, &of)? else { return Ok(false) };
    let all = rows.as_ref().map_or(group.len(), |rows| rows.count() as usize);
    let of_all_values = || of_values.iter().map(|sets| values_effort(sets)).sum::<usize>();
    match of_values.as_slice() {
        [] => counts.push(&[], all as i64)?,
        [sets] if rows.is_none() || of_all_values() <= all * EFFORT_PER_ROW + EFFORT_MIN => {
            count_values(sets, rows.as_ref(), 0, counts)?;
        }
        several if options.is_total && (rows.is_none() || of_all_values() <= all * EFFORT_PER_ROW) => {
            for (place, sets) in several.iter().enumerate() {
                count_values(sets, rows.as_ref(), place, counts)?;
            }
            counts.push_total(all as i64)?;
        }
        several if groups_effort(several, group.len()) <= all / ROWS_PER_EFFORT + EFFORT_MIN => {
            let rows = rows.unwrap_or_else(|| Marks::all(group.len() as u32));
            count_groups(several, &rows, &mut Vec::new(), counts)?;
        }
        [_, ..] => return Ok(false),
    }
    Ok(true)
}

/// The rows that count, where it is not all of them; `None` if sets do not say that quickly.
#[expect(clippy::option_option, reason = "what is not known, and all rows")]
fn counted_rows(
    options: &SetCountsOptions,
    group: &RowGroup,
    of: SetsOf<'_>,
) -> Result<Option<Option<Marks>>> {
    let rows = group.len() as u32;
    let is_open = matches!(&options.condition, Condition::All(parts) if parts.is_empty());
    let mut left = None;
    if !is_open {
        let is_absent = options.condition.columns().iter().any(|column| group.column(*column).is_absent());
        let effort_max = if is_absent { usize::MAX } else { (group.len() / EFFORT_SHARE).max(EFFORT_MIN) };
        let found = options.condition.found(rows, of, effort_max)?;
        let Some(found) = found.rows.filter(|_| found.is_exact) else { return Ok(None) };
        left = Some(found);
    }
    if let Some(deleted) = group.deleted() {
        left.get_or_insert_with(|| Marks::all(rows)).remove_words(deleted.words());
    }
    Ok(Some(left))
}

/// What it takes to count all values of a column.
fn values_effort(sets: &ValueSets) -> usize {
    (0..sets.len()).map(|number| sets.set(number).effort()).sum::<usize>() + sets.nulls().effort()
}

/// What it takes to count all combinations.
fn groups_effort(sets: &[Arc<ValueSets>], rows: usize) -> usize {
    let Some((first, others)) = sets.split_first() else { return GROUP_EFFORT };
    let count = first.len() + 1;
    // Below each value lies a copy of the marks.
    let copy = if others.is_empty() { 0 } else { rows / 64 };
    count
        .saturating_mul(copy.saturating_add(groups_effort(others, rows)))
        .saturating_add(values_effort(first))
}

/// Counts of the values of the column at `place` in some rows, or in all.
fn count_values(sets: &ValueSets, rows: Option<&Marks>, place: usize, counts: &mut Counts) -> Result<()> {
    let count = |set: &Places| rows.map_or(Ok(set.count()), |rows| rows.count_in(set));
    let (mut numbers, mut found) = (Vec::new(), Vec::new());
    for number in 0..sets.len() {
        let rows = count(sets.set(number))?;
        if rows > 0 {
            numbers.push(number as u32);
            found.push(i64::from(rows));
        }
    }
    counts.append(place, &sets.values()?.take(&numbers), &found)?;
    let nulls = count(sets.nulls())?;
    if nulls > 0 && counts.values.len() == 1 { counts.push(&[Value::Null], i64::from(nulls)) } else { Ok(()) }
}

/// Counts of the combinations of values of several columns in some rows, which all have `known`.
fn count_groups(
    sets: &[Arc<ValueSets>],
    rows: &Marks,
    known: &mut Vec<Value>,
    counts: &mut Counts,
) -> Result<()> {
    let Some((first, others)) = sets.split_first() else { return Ok(()) };
    for number in 0..=first.len() {
        let (value, set) = match number.checked_sub(1) {
            None => (Value::Null, first.nulls()),
            Some(number) => (first.value(number), first.set(number)),
        };
        known.push(value);
        if others.is_empty() {
            let count = rows.count_in(set)?;
            if count > 0 {
                counts.push(known, i64::from(count))?;
            }
        } else {
            let mut rows = rows.clone();
            rows.keep(set)?;
            if !rows.is_empty() {
                count_groups(others, &rows, known, counts)?;
            }
        }
        known.pop();
    }
    Ok(())
}
