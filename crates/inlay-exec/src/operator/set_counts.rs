//! How many rows have which values, from indexes by value: no column is looked at.
//!
//! ```text
//! row group with sets:  values of the columns | rows that have them | of these, rows in which a counted column is not NULL
//! any other row group:  its rows, each once, as a scan gives them
//! ```
//! Whoever aggregates adds the numbers up. One column: the counts of its values, or of what is left of them behind the
//! condition and the deleted rows. Several: depth first, a branch without rows is cut, and only while there are few groups, for
//! many are counted faster by codes (docs/decisions/0035). Without columns it is one number.

use super::table_scan::{Local as ScanLocal, TableScan, TableScanOptions};
use crate::context::ExecContext;
use crate::pipeline::{Flow, Morsel, Source};
use inlay_rowsets::Places;
use inlay_storage::value_sets::Condition;
use inlay_storage::{RowGroup, ValueSets};
use inlay_types::{Batch, Error, LogicalType, Result, VECTOR_SIZE, Value, Vector, VectorBuilder};
use parking_lot::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// So many groups of several columns are counted by sets; of more, the row group is scanned.
const GROUPS_MAX: usize = 64;
/// Row groups that one task counts.
const TASK_GROUPS: usize = 16;

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
    /// Whether somebody wants a row even if nothing is counted.
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
            nothing.push(&vec![Value::Null; options.types.len()], 0)?;
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

    /// The values of the only column, without NULL, and their rows.
    fn append(&mut self, values: &Vector, rows: &[i64]) {
        self.values.iter_mut().for_each(|builder| builder.append(values));
        self.present.iter_mut().for_each(|(_, present)| present.extend_from_slice(rows));
        self.rows.extend_from_slice(rows);
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

/// Adds the counts of a row group; `false` if sets do not give them.
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
        counts.push(&[], i64::from(sets.count_matching(predicate)?))?;
        return Ok(true);
    }
    let all = group.len() as u32;
    let found = options.condition.found(all, &of)?;
    let Some(mut rows) = found.rows.filter(|_| found.is_exact) else { return Ok(false) };
    if let Some(deleted) = group.deleted() {
        rows = rows.and_not(&Places::from_words(deleted.words(), all))?;
    }
    match of_values.as_slice() {
        [] => counts.push(&[], i64::from(rows.count()))?,
        [sets] => count_values(sets, &rows, counts)?,
        several => {
            let groups = several.iter().map(|sets| sets.len() + 1).fold(1usize, usize::saturating_mul);
            if groups > GROUPS_MAX {
                return Ok(false);
            }
            count_groups(several, &rows, &mut Vec::new(), counts)?;
        }
    }
    Ok(true)
}

/// Counts of the values of one column in some rows.
fn count_values(sets: &ValueSets, rows: &Places, counts: &mut Counts) -> Result<()> {
    let is_all = rows.count() == rows.rows();
    let count = |set: &Places| if is_all { Ok(set.count()) } else { set.count_and(rows) };
    let (mut numbers, mut found) = (Vec::new(), Vec::new());
    for number in 0..sets.len() {
        let rows = count(sets.set(number))?;
        if rows > 0 {
            numbers.push(number as u32);
            found.push(i64::from(rows));
        }
    }
    counts.append(&sets.values()?.take(&numbers), &found);
    let nulls = count(sets.nulls())?;
    if nulls > 0 { counts.push(&[Value::Null], i64::from(nulls)) } else { Ok(()) }
}

/// Counts of the combinations of values of several columns in some rows, which all have `known`.
fn count_groups(
    sets: &[Arc<ValueSets>],
    rows: &Places,
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
            let count = set.count_and(rows)?;
            if count > 0 {
                counts.push(known, i64::from(count))?;
            }
        } else {
            let rows = set.and(rows)?;
            if !rows.is_empty() {
                count_groups(others, &rows, known, counts)?;
            }
        }
        known.pop();
    }
    Ok(())
}
