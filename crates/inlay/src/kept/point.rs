//! A kept plan at work: finds rows by an index, looks at them, and does with them what the statement says.

use super::access::{Access, Operand, value_of};
use super::values_of;
use crate::change::checks::Checks;
use crate::change::writer::RowWriter;
use crate::execute::Run;
use crate::result::{OneRow, QueryResult};
use inlay_exec::expression::{Filter, Program};
use inlay_sql::binder::Slot;
use inlay_sql::plan::Expr;
use inlay_sql::plan::statement::Returning;
use inlay_storage::store::{Object, ObjectId, RowPredicate, State};
use inlay_storage::{RowGroup, RowSet, Table, TableSnapshot};
use inlay_types::{Batch, Error, LogicalType, Result, VECTOR_SIZE, Value, Vector, VectorBuilder};
use parking_lot::Mutex;
use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Up to this many rows are read value by value.
const ONE_BY_ONE_MAX: usize = 32;

/// See the module documentation. The batches that filters and the program read have the columns of the table, row ids if
/// they are read, and the values of the slots.
pub(super) struct Point {
    pub table: ObjectId,
    /// How rows are found; without it there is one, which is written in the statement.
    pub access: Option<Access>,
    /// Positions in the table of the columns that are read, and their types.
    pub columns: Vec<usize>,
    pub types: Vec<LogicalType>,
    pub has_row_id: bool,
    /// Whether anything of a row that its key found is looked at but its id.
    pub looks_at_rows: bool,
    /// Whether foreign keys refer to the table.
    pub is_referred_to: bool,
    pub slots: Vec<Slot>,
    /// Numbers of those that have values; first the `read_count` that `rest` or the program read.
    pub used: Vec<usize>,
    pub read_count: usize,
    /// All conditions, and those that the access leaves.
    pub all: Filter,
    pub rest: Filter,
    /// Of a change but the row id, which is the first.
    pub outputs: Vec<Output>,
    /// Makes what is neither a column nor a value.
    pub program: Option<Program>,
    /// Whether all of a row that its key finds, or that is written out, is columns and values as they are.
    pub is_by_values: bool,
    /// Whether it inserts one row, and nothing but the row itself can refuse it: then it is done or not done without a savepoint.
    pub is_alone: bool,
    /// The only row that a SELECT without parameters gives.
    pub constant: Option<Arc<OneRow>>,
    pub action: Action,
}

/// Where the value of an output is.
pub(super) enum Output {
    /// In the batch.
    Column(usize),
    /// The same for all rows and runs, as one row and as a value.
    Literal(Vector, Value),
    /// The same for all rows of a run.
    Operand(Operand, LogicalType),
    /// Among the results of the program.
    Computed(usize),
}

impl Output {
    /// Of an expression that is put to those that the program computes.
    pub fn computed(expr: Expr, computed: &mut Vec<Expr>) -> Self {
        computed.push(expr);
        Self::Computed(computed.len() - 1)
    }
}

/// What is done with the rows; see [`inlay_sql::plan::statement`].
pub(super) enum Action {
    Select { names: Arc<[String]>, types: Arc<[LogicalType]> },
    Insert { checks: Checks, returning: Option<Returning> },
    Update { set: Vec<usize>, numbers: Vec<usize>, checks: Checks, returning: Option<Returning> },
    Delete { kept: Vec<usize>, returning: Option<Returning> },
}

/// Values by the numbers of slots.
pub(super) type Values = Vec<Option<Value>>;

/// Rows that were found: their ids, and the batch of what is read of them.
struct Found {
    ids: Vec<i64>,
    batch: Batch,
}

/// The rows that the runs of a statement read, as a condition that commit checks.
struct ReadRows {
    point: Arc<Point>,
    /// Values of the slots, run by run.
    values: Mutex<Values>,
}

/// What one run read.
struct Read {
    point: Arc<Point>,
    values: Values,
}

impl Point {
    /// Carries out the statement; `None`, and nothing is done, if it has to be done in the general way.
    pub fn run(
        self: &Arc<Self>,
        run: &Run<'_>,
        database: &str,
        state: &State,
    ) -> Result<Option<QueryResult>> {
        let Some(mut values) = self.values(run) else { return Ok(None) };
        let answer = match &self.action {
            Action::Select { names, types } => {
                if let Some(answer) = self.one_row(run, database, state, &mut values, (names, types))? {
                    run.session.kept_runs.fetch_add(1, Ordering::Relaxed);
                    return Ok(Some(answer));
                }
                let rows = match &self.access {
                    Some(_) => self.found(run, database, state, &values)?.map(|found| found.batch),
                    None => Some(self.batch(Vec::new(), &values, 1, self.read())?),
                };
                let Some(rows) = rows else { return Ok(None) };
                let Some(columns) = unless_defect(self.outputs(&rows, &values))? else { return Ok(None) };
                run.kept_rows(names, types, Batch::new(columns, rows.len()))
            }
            Action::Insert { checks, returning } => {
                let row = self.batch(Vec::new(), &values, 1, self.read())?;
                let Some(columns) = unless_defect(self.outputs(&row, &values))? else { return Ok(None) };
                let row = Batch::new(columns, 1);
                let mut writer = RowWriter::new(run, database)?;
                checks.check_all(&row)?;
                writer.insert(self.table, &row)?;
                writer.finish()?;
                match returning {
                    Some(returning) => run.returned(returning.clone(), 0..row.columns().len(), &row)?,
                    None => QueryResult::changed(1),
                }
            }
            Action::Update { set, numbers, checks, returning } => {
                let mut writer = self.writer(run, database)?;
                let Some(found) = self.found(run, database, state, &values)? else { return Ok(None) };
                let columns = unless_defect(self.outputs(&found.batch, &values))?;
                let Some(columns) = columns else { return Ok(None) };
                let rows = Batch::new(columns, found.ids.len());
                checks.check_all(&rows)?;
                let new = Batch::new(rows.columns()[..set.len()].to_vec(), rows.len());
                let count = match rows.is_empty() {
                    true => 0,
                    false => writer.update(self.table, &found.ids, set, &new)?,
                };
                writer.finish()?;
                match returning {
                    Some(returning) => run.returned(returning.clone(), numbers.iter().copied(), &rows)?,
                    None => QueryResult::changed(count),
                }
            }
            Action::Delete { kept, returning } => {
                let mut writer = self.writer(run, database)?;
                let Some(found) = self.found(run, database, state, &values)? else { return Ok(None) };
                let columns = unless_defect(self.outputs(&found.batch, &values))?;
                let Some(columns) = columns else { return Ok(None) };
                let rows = Batch::new(columns, found.ids.len());
                let count = match rows.is_empty() {
                    true => 0,
                    false => writer.delete(self.table, &RowSet::from(&found.ids[..]))?,
                };
                writer.finish()?;
                match returning {
                    Some(returning) => run.returned(returning.clone(), kept.iter().copied(), &rows)?,
                    None => QueryResult::changed(count),
                }
            }
        };
        run.session.kept_runs.fetch_add(1, Ordering::Relaxed);
        Ok(Some(answer))
    }

    fn writer<'r>(&self, run: &'r Run<'r>, database: &str) -> Result<RowWriter<'r>> {
        let writer = RowWriter::new(run, database)?;
        Ok(if self.is_referred_to { writer } else { writer.without_references_to(self.table) })
    }

    /// The values of the slots; `None` if one means something else in its place than the first one did.
    pub(super) fn values(&self, run: &Run<'_>) -> Option<Values> {
        let mut values = vec![None; self.slots.len()];
        for &number in &self.used {
            let slot = &self.slots[number];
            let given = &run.given.parameters;
            let value = match given.positional.get(slot.parameter) {
                Some(value) => value,
                None => values_of(given).nth(slot.parameter)?,
            };
            values[number] = Some(slot.fill(value)?);
        }
        Some(values)
    }

    /// The rows that satisfy the conditions; `None` if no index gives them, or something fails that is no defect.
    fn found(
        self: &Arc<Self>,
        run: &Run<'_>,
        database: &str,
        state: &State,
        values: &Values,
    ) -> Result<Option<Found>> {
        let (Some(access), Some(Object::Table(slot))) = (&self.access, state.object(self.table)) else {
            return Ok(None);
        };
        let looked_up = slot.table().and_then(|table| self.looked_up(access, &table, values));
        let Some(found) = unless_defect(looked_up)?.flatten() else { return Ok(None) };
        if run.notes_reads && !self.claims(&found) {
            self.note(run, database, values.clone())?;
        }
        Ok(Some(found))
    }

    /// Notes that the rows with these values were read.
    pub(super) fn note(self: &Arc<Self>, run: &Run<'_>, database: &str, values: Values) -> Result<()> {
        let made = |read: &mut dyn Any| {
            let read = read.downcast_mut::<Read>()?;
            let values = Mutex::new(std::mem::take(&mut read.values));
            Some(Arc::new(ReadRows { point: Arc::clone(&read.point), values }) as Arc<dyn RowPredicate>)
        };
        let mut read = Read { point: Arc::clone(self), values };
        run.transactions.of(run.database, database)?.record_alike(self.table, &mut read, made);
        Ok(())
    }

    /// Whether what was found is claimed as well, so that it need not be noted that it was read: the one row that has a
    /// key and is about to change. Nobody else can change that row, nor make another one with its key.
    fn claims(&self, found: &Found) -> bool {
        let changes = matches!(self.action, Action::Update { .. } | Action::Delete { .. });
        let by_key = self.access.as_ref().is_some_and(|access| access.key.is_some());
        changes && by_key && found.ids.len() == 1
    }

    fn looked_up(&self, access: &Access, table: &Table, values: &Values) -> Result<Option<Found>> {
        let snapshot = table.snapshot();
        let listed = |operands: &[Operand]| -> Result<Vec<Value>> {
            operands.iter().map(|operand| operand.value(values).cloned()).collect()
        };
        let by_key = match (&access.key, &access.keys) {
            (Some((columns, key)), _) => table.find_by_columns(&snapshot, columns, &listed(key)?)?,
            (None, Some((column, keys))) => {
                let ty = table.schema().columns[*column].ty.clone();
                let keys = Vector::from_sql_values(ty, &listed(keys)?)?;
                table.find_by_keys(&snapshot, &[*column], &[keys])?
            }
            (None, None) => None,
        };
        let (ids, filter, slots) = match by_key {
            Some(ids) if ids.len() > VECTOR_SIZE => return Ok(None),
            Some(ids) if !self.looks_at_rows => {
                let batch = Batch::new(Vec::new(), ids.len());
                return Ok(Some(Found { ids, batch }));
            }
            Some(ids) => (ids, &self.rest, self.read()),
            None => match table.few_candidates(&snapshot, &access.conditions(values)?, &[])? {
                Some(ids) if ids.len() <= VECTOR_SIZE => (ids, &self.all, &self.used[..]),
                _ => return Ok(None),
            },
        };
        let mut columns = self.fetched(&snapshot, &ids)?;
        if self.has_row_id {
            columns.push(Vector::from_values(LogicalType::BigInt, &ids));
        }
        let batch = self.batch(columns, values, ids.len(), slots)?;
        if filter.is_empty() || ids.is_empty() {
            return Ok(Some(Found { ids, batch }));
        }
        let mut kept = Vec::new();
        filter.select(&mut filter.state(), &batch, &mut kept)?;
        if kept.len() == ids.len() {
            return Ok(Some(Found { ids, batch }));
        }
        let ids = kept.iter().map(|row| ids[*row as usize]).collect();
        Ok(Some(Found { ids, batch: batch.take(&kept) }))
    }

    /// The columns that are read, of rows that exist.
    fn fetched(&self, snapshot: &TableSnapshot, ids: &[i64]) -> Result<Vec<Vector>> {
        if ids.len() < 2 || ids.len() > ONE_BY_ONE_MAX {
            return snapshot.fetch(ids, &self.columns, &self.types);
        }
        // Few rows lie in many row groups: values cost less than vectors of one row each.
        let row = |id: &i64| {
            let found = snapshot.locate(*id);
            found.ok_or_else(|| absent(*id))
        };
        let rows: Vec<(&Arc<RowGroup>, usize)> = ids.iter().map(row).collect::<Result<_>>()?;
        let column = |(column, ty): (&usize, &LogicalType)| {
            let mut builder = VectorBuilder::new(ty.clone(), rows.len());
            for (group, row) in &rows {
                builder.push(&group.segment(*column)?.get(*row))?;
            }
            Ok(builder.finish())
        };
        self.columns.iter().zip(&self.types).map(column).collect()
    }

    /// Rows with the values of some slots behind their columns.
    pub(super) fn batch(
        &self,
        mut columns: Vec<Vector>,
        values: &[Option<Value>],
        len: usize,
        slots: &[usize],
    ) -> Result<Batch> {
        for &number in slots {
            columns.push(Vector::constant(self.slots[number].ty.clone(), value_of(values, number)?, len)?);
        }
        Ok(Batch::new(columns, len))
    }

    pub(super) fn read(&self) -> &[usize] {
        &self.used[..self.read_count]
    }

    pub(super) fn outputs(&self, batch: &Batch, values: &Values) -> Result<Vec<Vector>> {
        let computed = match &self.program {
            Some(program) if batch.is_empty() => {
                program.types().into_iter().map(|ty| Vector::nulls(ty, 0)).collect()
            }
            Some(program) => program.eval_all(&mut program.state(), batch)?,
            None => Vec::new(),
        };
        let output = |output: &Output| match output {
            Output::Column(position) => Ok(batch.column(*position).clone()),
            Output::Literal(one, _) if batch.len() == 1 => Ok(one.clone()),
            Output::Literal(one, _) => Ok(one.repeated(0, batch.len())),
            Output::Operand(operand, ty) if batch.len() == 1 => {
                Vector::from_sql_values(ty.clone(), std::slice::from_ref(operand.value(values)?))
            }
            Output::Operand(operand, ty) => Vector::constant(ty.clone(), operand.value(values)?, batch.len()),
            Output::Computed(position) => Ok(computed[*position].clone()),
        };
        self.outputs.iter().map(output).collect()
    }
}

pub(super) fn absent(id: i64) -> Error {
    Error::internal(format!("an index has row {id}, which the table does not"))
}

/// What fails is done again, and told of, in the general way; but for a defect of ours, which might not show there.
pub(super) fn unless_defect<T>(outcome: Result<T>) -> Result<Option<T>> {
    match outcome {
        Err(error) if !matches!(error.root(), Error::Internal { .. }) => Ok(None),
        outcome => outcome.map(Some),
    }
}

impl RowPredicate for ReadRows {
    fn matches_any(&self, rows: &Batch) -> Result<bool> {
        let point = &self.point;
        let mut state = point.all.state();
        let mut selected = Vec::new();
        for start in (0..rows.len()).step_by(VECTOR_SIZE) {
            let len = VECTOR_SIZE.min(rows.len() - start);
            let mut columns: Vec<Vector> =
                point.columns.iter().map(|&column| rows.column(column).slice(start, len)).collect();
            if point.has_row_id {
                columns.push(Vector::nulls(LogicalType::BigInt, len));
            }
            let read = self.values.lock();
            let mut runs = read.chunks_exact(point.slots.len().max(1));
            // Without slots all runs read the same.
            let first = if point.slots.is_empty() { Some(&[][..]) } else { runs.next() };
            for values in first.into_iter().chain(runs) {
                // A condition that fails on a row might have failed in the transaction, too.
                let batch = point.batch(columns.clone(), values, len, &point.used)?;
                selected.clear();
                let outcome = point.all.select(&mut state, &batch, &mut selected);
                if outcome.is_err() || !selected.is_empty() {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    fn absorb(&self, other: &mut dyn Any) -> bool {
        let Some(other) = other.downcast_mut::<Read>() else { return false };
        if !Arc::ptr_eq(&self.point, &other.point) {
            return false;
        }
        let mut values = self.values.lock();
        // What is read again and again is noted once.
        if !values.ends_with(&other.values) {
            values.append(&mut other.values);
        }
        true
    }
}
