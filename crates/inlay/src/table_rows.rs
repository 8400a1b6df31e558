//! Rows of a stored table that a query delivers as they are: nothing is read before the host asks, and whole columns are
//! mapped instead of copied.
//!
//! `FROM t`, `SELECT b, a FROM t`, `FROM t LIMIT 10 OFFSET 5` are such queries, for tables that are large enough and have
//! no deleted rows. The rows are those of the statement's snapshot for as long as the database is open; arrays that were
//! handed out stay longer.

use inlay_exec::Workers;
use inlay_sql::plan::statement::Query;
use inlay_sql::plan::{ColumnId, Expr, Plan, ScanColumn};
use inlay_storage::resident::{self, Residents};
use inlay_storage::{Column, Table, TableSnapshot};
use inlay_types::arrow::{Exporter, PreparedColumn, StringLayout};
use inlay_types::datetime::{MICROS_PER_DAY, is_finite_timestamp};
use inlay_types::host::{HostForm, MIDNIGHT_DAYS_MAX};
use inlay_types::nested::StructRows;
use inlay_types::pages::{Layout, Part};
use inlay_types::{Batch, Buffer, Error, Interrupt, LogicalType, Result, Value, Vector};
use parking_lot::Mutex;
use std::ops::Range;
use std::sync::Arc;

/// Fewer rows are delivered as the executor delivers rows.
const ROWS_MIN: usize = 1 << 14;

/// What converts and keeps columns.
/// Rows of a result that need the database.
pub(crate) trait Lent: Send + Sync {
    /// Lets go of the database, because it closes.
    fn detach(&self);
}

#[derive(Clone)]
pub(crate) struct Lender {
    pub residents: Arc<Residents>,
    pub workers: Workers,
}

/// Columns of a snapshot of a table. See the module documentation.
pub(crate) struct TableRows {
    /// Absent when the database was closed.
    snapshot: Mutex<Option<Arc<TableSnapshot>>>,
    /// Positions in the table.
    columns: Vec<usize>,
    types: Vec<LogicalType>,
    table: u64,
    lender: Lender,
}

impl Lent for TableRows {
    fn detach(&self) {
        *self.snapshot.lock() = None;
    }
}

impl TableRows {
    /// The rows of a query that delivers a table as it is, and which of its rows; `None` for any other query.
    pub fn of(query: &Query, lender: impl FnOnce() -> Lender) -> Option<(Self, Range<usize>)> {
        let Scan { table, columns, range } = scan_of(&query.plan)?;
        let snapshot = table.snapshot();
        let count = snapshot.row_count();
        let rows = range.start.min(count)..range.end.min(count);
        if count as u64 != snapshot.total_rows() || rows.len() < ROWS_MIN {
            return None;
        }
        let mut positions = Vec::with_capacity(query.output.len());
        for (id, _) in &query.output {
            let source = source_of(&query.plan, *id)?;
            positions.push(columns.iter().find(|column| column.id == source)?.index);
        }
        let types = query.output.iter().map(|(id, _)| query.columns.ty(*id)).collect();
        Some((Self::new(snapshot, positions, types, table.id(), lender()), rows))
    }

    fn new(
        snapshot: Arc<TableSnapshot>,
        columns: Vec<usize>,
        types: Vec<LogicalType>,
        table: u64,
        lender: Lender,
    ) -> Self {
        Self { snapshot: Mutex::new(Some(snapshot)), columns, types, table, lender }
    }

    /// Some of the columns.
    pub fn project(&self, columns: &[usize]) -> Self {
        Self {
            snapshot: Mutex::new(self.snapshot.lock().clone()),
            columns: columns.iter().map(|&index| self.columns[index]).collect(),
            types: columns.iter().map(|&index| self.types[index].clone()).collect(),
            table: self.table,
            lender: self.lender.clone(),
        }
    }

    /// All columns of a table, in the order of its definition.
    pub fn of_table(table: &Table, lender: Lender) -> Self {
        let (columns, types) =
            table.schema().visible().map(|(index, column)| (index, column.ty.clone())).unzip();
        Self::new(table.snapshot(), columns, types, table.id(), lender)
    }

    /// Brings all columns into the forms that hosts compute with, texts into Arrow's. Fails when there is no memory to
    /// keep them.
    pub fn make_resident(&self, interrupt: &Interrupt) -> Result<()> {
        let snapshot = self.snapshot()?;
        let rows = 0..snapshot.row_groups().iter().map(|group| group.len()).sum();
        let exporter = Exporter::new(&vec![String::new(); self.types.len()], &self.types)
            .with_strings(StringLayout::Utf8);
        for (index, ty) in self.types.iter().enumerate() {
            let Some(form) = HostForm::of(ty) else {
                let convert = |group| {
                    self.arrow(index, group, 0..snapshot.row_groups()[group].len(), &exporter).map(|_| ())
                };
                self.lender.workers.parallel(snapshot.row_groups().len(), convert)?;
                continue;
            };
            if self.layout(&self.pieces(&snapshot, index, &rows), form, form.width(ty), interrupt)?.is_none()
            {
                let bytes = (rows.len() * form.width(ty)) as u64;
                let message = format!("there is no memory to keep {bytes} bytes of a column resident");
                let hint = "raise memory_limit, or make fewer tables resident";
                return Err(Error::invalid_argument(message).with_hint(hint));
            }
            if self.null_count(index, &rows)? > 0 {
                self.layout(&self.pieces(&snapshot, index, &rows), HostForm::Nulls, 1, interrupt)?;
            }
        }
        Ok(())
    }

    /// The first row of each row group, and the number of rows behind the last.
    pub fn starts(&self) -> Result<Vec<usize>> {
        let snapshot = self.snapshot()?;
        let mut starts = vec![0];
        let mut end = 0;
        for group in snapshot.row_groups() {
            end += group.len();
            starts.push(end);
        }
        Ok(starts)
    }

    fn snapshot(&self) -> Result<Arc<TableSnapshot>> {
        let closed = || {
            Error::Closed {
                message: "the database was closed before the rows of this result were read".to_string(),
            }
            .with_hint("fetch them first")
        };
        self.snapshot.lock().clone().ok_or_else(closed)
    }

    /// Rows of one row group.
    pub fn part(&self, group: usize, rows: Range<usize>) -> Result<Batch> {
        let columns = (0..self.columns.len()).map(|index| self.part_of(index, group, rows.clone()));
        Ok(Batch::new(columns.collect::<Result<Vec<_>>>()?, rows.len()))
    }

    /// One column of rows of one row group.
    pub fn part_of(&self, index: usize, group: usize, rows: Range<usize>) -> Result<Vector> {
        let snapshot = self.snapshot()?;
        let segment = snapshot.row_groups()[group].segment_to_scan(self.columns[index])?;
        segment.scan(rows.start, rows.len())
    }

    /// The same of a column of structs, field by field.
    pub fn struct_rows(&self, index: usize, group: usize, rows: Range<usize>) -> Result<StructRows> {
        let snapshot = self.snapshot()?;
        let segment = snapshot.row_groups()[group].segment_to_scan(self.columns[index])?;
        segment.struct_rows(rows.start, rows.len())
    }

    /// One column of rows of one row group for Arrow; that of all its rows is converted only once if there is room.
    pub fn arrow(
        &self,
        index: usize,
        group: usize,
        rows: Range<usize>,
        exporter: &Exporter,
    ) -> Result<PreparedColumn> {
        let snapshot = self.snapshot()?;
        let column = snapshot.row_groups()[group].column(self.columns[index]);
        if matches!(self.types[index], LogicalType::Struct(_)) {
            return exporter.struct_column(index, &self.struct_rows(index, group, rows)?);
        }
        if rows != (0..column.len()) {
            return exporter.column(index, &self.part_of(index, group, rows)?);
        }
        if exporter.refuses_unshown_moments() && !has_finite_moments(column, &self.types[index]) {
            exporter.check_moments(index, &self.part_of(index, group, rows)?)?;
        }
        let convert = |values: &Vector| exporter.column(index, values);
        self.lender.residents.arrow(self.table, column, exporter.strings(), convert)
    }

    /// Notes that all columns were exported, or that their table is pinned or no longer.
    pub fn note_all(&self) -> Result<()> {
        let snapshot = self.snapshot()?;
        for group in snapshot.row_groups() {
            for &index in &self.columns {
                self.lender.residents.note_use(self.table, group.column(index));
            }
        }
        Ok(())
    }

    /// Number of NULLs of a column in the row groups that have some of the rows.
    pub fn null_count(&self, index: usize, rows: &Range<usize>) -> Result<usize> {
        let snapshot = self.snapshot()?;
        if Self::is_whole(&snapshot, rows) {
            return Ok(resident::null_count(&snapshot, self.columns[index]));
        }
        Ok(self.pieces(&snapshot, index, rows).iter().map(|(column, _)| column.null_count()).sum())
    }

    /// Whether zone maps say that all dates and moments of a column are finite, and dates such that their microseconds have
    /// 64 bits; of other types, whether values need not be looked at.
    pub fn is_finite(&self, index: usize, rows: &Range<usize>) -> Result<bool> {
        let snapshot = self.snapshot()?;
        let pieces = self.pieces(&snapshot, index, rows);
        Ok(pieces.iter().all(|(column, _)| has_finite_moments(column, &self.types[index])))
    }

    fn is_whole(snapshot: &TableSnapshot, rows: &Range<usize>) -> bool {
        rows.start == 0 && rows.end as u64 >= snapshot.total_rows()
    }

    /// The columns of the row groups that have some of `rows`, and which of their rows.
    fn pieces<'a>(&self, snapshot: &'a TableSnapshot, index: usize, rows: &Range<usize>) -> Vec<Piece<'a>> {
        let mut pieces = Vec::with_capacity(snapshot.row_groups().len());
        let mut start = 0;
        for group in snapshot.row_groups() {
            let end = start + group.len();
            let (from, to) = (rows.start.clamp(start, end), rows.end.clamp(start, end));
            if from < to {
                pieces.push((group.column(self.columns[index]), from - start..to - start));
            }
            start = end;
        }
        pieces
    }

    /// Rows of a column in a form that fits its type, as memory that only the caller writes to: mapped if there is room
    /// to keep the form, converted for this call else.
    pub fn host(
        &self,
        index: usize,
        form: HostForm,
        rows: &Range<usize>,
        interrupt: &Interrupt,
    ) -> Result<Buffer> {
        let snapshot = self.snapshot()?;
        let residents = &self.lender.residents;
        let column = self.columns[index];
        let is_whole = Self::is_whole(&snapshot, rows);
        if let Some(layout) = is_whole.then(|| residents.layout(&snapshot, column, form)).flatten()
            && let Some(buffer) = layout.map()
        {
            return Ok(buffer);
        }
        let pieces = self.pieces(&snapshot, index, rows);
        let width = form.width(&self.types[index]);
        let Some(layout) = self.layout(&pieces, form, width, interrupt)? else {
            return self.converted(&pieces, form, width, interrupt);
        };
        if is_whole {
            residents.keep_layout(&snapshot, column, form, &layout);
        }
        layout.map().map_or_else(|| self.converted(&pieces, form, width, interrupt), Ok)
    }

    /// How the values of some rows are shown; `None` if there is no room to keep them.
    fn layout(
        &self,
        pieces: &[Piece<'_>],
        form: HostForm,
        width: usize,
        interrupt: &Interrupt,
    ) -> Result<Option<Arc<Layout>>> {
        let Lender { residents, workers } = &self.lender;
        let columns: Vec<&Arc<Column>> = pieces.iter().map(|(column, _)| *column).collect();
        let Some(request) = residents.request(self.table, &columns, form) else { return Ok(None) };
        match request.tasks() {
            0 => {}
            tasks => workers.parallel(tasks, |task| {
                interrupt.check()?;
                request.fill(task)
            })?,
        }
        let part = |(pages, (_, rows)): (_, &Piece<'_>)| (pages, rows.start * width..rows.end * width);
        let parts: Vec<Part> = request.finish().into_iter().zip(pieces).map(part).collect();
        Ok(Layout::new(parts))
    }

    fn converted(
        &self,
        pieces: &[Piece<'_>],
        form: HostForm,
        width: usize,
        interrupt: &Interrupt,
    ) -> Result<Buffer> {
        let count: usize = pieces.iter().map(|(_, rows)| rows.len()).sum();
        let mut buffer = Buffer::zeroed(count * width);
        let mut rest = buffer.make_mut::<u8>();
        let mut tasks = Vec::with_capacity(pieces.len());
        for (column, rows) in pieces {
            let (head, tail) = rest.split_at_mut(rows.len() * width);
            rest = tail;
            tasks.push(Mutex::new((column, rows, head)));
        }
        self.lender.workers.parallel(tasks.len(), |task| {
            interrupt.check()?;
            let mut task = tasks[task].lock();
            let (column, rows, target) = &mut *task;
            resident::convert(column, form, (*rows).clone(), target)
        })?;
        drop(tasks);
        Ok(buffer)
    }
}

/// See [`TableRows::is_finite`].
fn has_finite_moments(column: &Column, ty: &LogicalType) -> bool {
    let is_inside = |bound: &Value| match bound {
        Value::Date(days) => i64::from(*days).abs() <= MIDNIGHT_DAYS_MAX,
        Value::Time(micros) => *micros < MICROS_PER_DAY,
        Value::Timestamp(at)
        | Value::TimestampTz(at)
        | Value::TimestampS(at)
        | Value::TimestampMs(at)
        | Value::TimestampNs(at) => is_finite_timestamp(*at),
        _ => false,
    };
    match ty {
        LogicalType::Interval => false,
        LogicalType::Date
        | LogicalType::Time
        | LogicalType::Timestamp
        | LogicalType::TimestampTz
        | LogicalType::TimestampS
        | LogicalType::TimestampMs
        | LogicalType::TimestampNs => {
            let zone = column.zone_map();
            let bounds = [&zone.min, &zone.max];
            !zone.has_value || bounds.into_iter().all(|bound| bound.as_ref().is_some_and(is_inside))
        }
        _ => true,
    }
}

/// A row group's column, and which of its rows.
type Piece<'a> = (&'a Arc<Column>, Range<usize>);

/// A plan that reads a table and does nothing else.
struct Scan<'a> {
    table: &'a Table,
    columns: &'a [ScanColumn],
    range: Range<usize>,
}

fn scan_of(plan: &Plan) -> Option<Scan<'_>> {
    match plan {
        Plan::Scan { table, columns, fields, filters, row_id: None }
            if fields.is_empty() && filters.is_empty() =>
        {
            Some(Scan { table: &table.table, columns, range: 0..usize::MAX })
        }
        Plan::Project { input, items }
            if items.iter().all(|(_, expr)| matches!(expr, Expr::Column { .. })) =>
        {
            scan_of(input)
        }
        Plan::Limit { input, limit, offset } => {
            let scan = scan_of(input)?;
            let start = scan.range.start.saturating_add(usize::try_from(*offset).unwrap_or(usize::MAX));
            let count = limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
            let end = start.saturating_add(count).min(scan.range.end);
            Some(Scan { range: start.min(end)..end, ..scan })
        }
        _ => None,
    }
}

/// The column of the scan that a column of such a plan is.
fn source_of(plan: &Plan, id: ColumnId) -> Option<ColumnId> {
    match plan {
        Plan::Project { input, items } => match items.iter().find(|(made, _)| *made == id)? {
            (_, Expr::Column { id, .. }) => source_of(input, *id),
            _ => None,
        },
        Plan::Limit { input, .. } => source_of(input, id),
        _ => Some(id),
    }
}
