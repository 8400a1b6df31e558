//! What a statement delivers.

mod one_row;

use crate::columns::{self, Crew};
use crate::command::{Command, CommandClass};
use crate::table_rows::TableRows;
use inlay_exec::Workers;
use inlay_types::arrow::{ArrowArray, Exporter, PreparedColumn};
use inlay_types::host::{self, HostForm};
use inlay_types::nested::StructRows;
use inlay_types::{
    Batch, Buffer, Error, FromValue, Interrupt, LogicalType, Reservation, Result, Value, Vector, allocator,
};
pub(crate) use one_row::OneRow;
use std::ops::Range;
use std::sync::{Arc, LazyLock};

/// What kind of answer a result is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResultKind {
    /// Rows of a query.
    Rows,
    /// A statement changed this many rows; they are also delivered as a row with the column `Count`.
    Changed(u64),
    /// A statement without an answer.
    Done,
}

/// Names, types and rows. Cloning shares the rows.
///
/// Rows lie in parts, one behind the other. They are in memory and belong to the result, unless the query delivers a
/// table as it is: then a part is read when it is asked for, which may fail, and the database must still be open.
#[derive(Clone)]
pub struct QueryResult {
    names: Arc<[String]>,
    types: Arc<[LogicalType]>,
    source: Source,
    /// Of the source, those that are delivered.
    rows: Range<usize>,
    /// The first row of each part of the source, and the number of rows behind the last.
    starts: Arc<[usize]>,
    kind: ResultKind,
    /// What was done.
    command: Command,
    workers: Option<Workers>,
    /// Ends conversions of whole columns.
    interrupt: Option<Box<Interrupt>>,
    /// For the rows, if they were asked of the budget: given back with the last who has them.
    held: Option<Arc<Reservation>>,
}

/// A column on its way to the host.
#[derive(Clone)]
pub enum HostColumn {
    /// Values, and one byte for each row that says whether it is NULL, if any is.
    Values {
        /// The form asked for; days instead of midnights where some do not fit.
        form: HostForm,
        /// Whether it is known that [`host::misfit`] finds nothing.
        is_finite: bool,
        /// Memory that only the host has.
        data: Buffer,
        /// As [`HostForm::Nulls`].
        nulls: Option<Buffer>,
    },
    /// A result of this column only.
    Rows(QueryResult),
}

#[derive(Clone)]
enum Source {
    Row(Arc<OneRow>),
    Batches(Arc<Vec<Batch>>),
    Table(Arc<TableRows>),
}

/// What results of one row and of none share.
static NO_BATCHES: LazyLock<Arc<Vec<Batch>>> = LazyLock::new(Arc::default);
static NO_STARTS: LazyLock<Arc<[usize]>> = LazyLock::new(|| Arc::from([0]));
static ONE_START: LazyLock<Arc<[usize]>> = LazyLock::new(|| Arc::from([0, 1]));

/// A row of a result.
#[derive(Clone, Debug, PartialEq)]
pub struct Row(Vec<Value>);

impl Row {
    /// A row of a batch.
    pub(crate) fn of(batch: &Batch, row: usize) -> Self {
        Self(batch.columns().iter().map(|column| column.get(row)).collect())
    }

    /// A row of these values.
    pub(crate) fn of_values(values: &[Value]) -> Self {
        Self(values.to_vec())
    }

    /// A value as one of Rust's: `row.get::<i64>(0)?`, `row.get::<Option<String>>(1)?`.
    pub fn get<T: FromValue>(&self, column: usize) -> Result<T> {
        let value = self.0.get(column).ok_or_else(|| {
            Error::invalid_argument(format!("there is no column {column} in a row of {}", self.0.len()))
        })?;
        T::from_value(value)
    }

    /// All values, in the order of the columns.
    pub fn values(&self) -> &[Value] {
        &self.0
    }
}

impl QueryResult {
    /// Rows of a query. `workers`: who joins long columns.
    pub(crate) fn of_rows(
        names: Vec<String>,
        types: Vec<LogicalType>,
        batches: Vec<Batch>,
        workers: Option<Workers>,
    ) -> Self {
        let mut end = 0;
        let ends = batches.iter().map(|batch| {
            end += batch.len();
            end
        });
        let starts: Vec<usize> = std::iter::once(0).chain(ends).collect();
        let (source, starts) = (Source::Batches(Arc::new(batches)), starts.into());
        Self::of_source(names.into(), types.into(), source, starts, workers)
    }

    /// The rows of one batch.
    pub(crate) fn of_batch(
        names: Arc<[String]>,
        types: Arc<[LogicalType]>,
        batch: Batch,
        workers: Option<Workers>,
    ) -> Self {
        let (source, starts) = match batch.len() {
            0 => (Source::Batches(Arc::clone(&NO_BATCHES)), Arc::clone(&NO_STARTS)),
            1 => (Source::Batches(Arc::new(vec![batch])), Arc::clone(&ONE_START)),
            many => (Source::Batches(Arc::new(vec![batch])), Arc::from([0, many])),
        };
        Self::of_source(names, types, source, starts, workers)
    }

    /// One row, or none, of these names and types.
    pub(crate) fn of_row(
        names: Arc<[String]>,
        types: Arc<[LogicalType]>,
        row: Option<Arc<OneRow>>,
        workers: Option<Workers>,
    ) -> Self {
        let (source, starts) = match row {
            Some(row) => (Source::Row(row), Arc::clone(&ONE_START)),
            None => (Source::Batches(Arc::clone(&NO_BATCHES)), Arc::clone(&NO_STARTS)),
        };
        Self::of_source(names, types, source, starts, workers)
    }

    /// All rows of a source, whose parts begin at `starts`, the last of which is the end.
    fn of_source(
        names: Arc<[String]>,
        types: Arc<[LogicalType]>,
        source: Source,
        starts: Arc<[usize]>,
        workers: Option<Workers>,
    ) -> Self {
        Self {
            names,
            types,
            rows: 0..starts.last().copied().unwrap_or(0),
            source,
            starts,
            kind: ResultKind::Rows,
            command: Command::Empty,
            workers,
            interrupt: None,
            held: None,
        }
    }

    /// Some rows of a table as they are.
    pub(crate) fn of_table(
        names: Vec<String>,
        types: Vec<LogicalType>,
        table: Arc<TableRows>,
        rows: Range<usize>,
        workers: Workers,
    ) -> Result<Self> {
        let starts = table.starts()?.into();
        Ok(Self {
            names: names.into(),
            types: types.into(),
            source: Source::Table(table),
            rows,
            starts,
            kind: ResultKind::Rows,
            command: Command::Empty,
            workers: Some(workers),
            interrupt: None,
            held: None,
        })
    }

    /// The same rows, whose conversion as whole columns ends when `interrupt` says so.
    pub fn interrupted_by(self, interrupt: Interrupt) -> Self {
        Self { interrupt: Some(Box::new(interrupt)), ..self }
    }

    /// What ends conversions of whole columns; nothing unless somebody said so.
    fn interrupt(&self) -> Interrupt {
        self.interrupt.as_deref().cloned().unwrap_or_default()
    }

    /// The same rows, which stay counted for as long as somebody has some of them.
    pub(crate) fn holding(self, held: Option<Reservation>) -> Self {
        Self { held: held.map(Arc::new), ..self }
    }

    /// What was asked of the budget for the rows.
    pub(crate) fn held(&self) -> Option<Arc<Reservation>> {
        self.held.clone()
    }

    /// The answer of a statement without rows.
    pub(crate) fn done() -> Self {
        Self { kind: ResultKind::Done, ..Self::of_rows(Vec::new(), Vec::new(), Vec::new(), None) }
    }

    /// The answer of a statement that changed so many rows.
    pub fn changed(count: u64) -> Self {
        static NAMES: LazyLock<Arc<[String]>> = LazyLock::new(|| Arc::from(["Count".to_string()]));
        static TYPES: LazyLock<Arc<[LogicalType]>> = LazyLock::new(|| Arc::from([LogicalType::BigInt]));
        static ONE: LazyLock<Arc<OneRow>> = LazyLock::new(|| row_of(1));
        fn row_of(count: u64) -> Arc<OneRow> {
            Arc::new(OneRow::new(Arc::clone(&TYPES), Box::new([Value::BigInt(count.cast_signed())])))
        }
        let row = if count == 1 { Arc::clone(&ONE) } else { row_of(count) };
        let kind = ResultKind::Changed(count);
        Self { kind, ..Self::of_row(NAMES.clone(), TYPES.clone(), Some(row), None) }
    }

    /// One VARCHAR column with a row per text.
    pub(crate) fn lines(name: &str, lines: impl Iterator<Item = String>) -> Result<Self> {
        let values: Vec<Value> = lines.map(Value::Varchar).collect();
        let chunks = values.chunks(inlay_types::VECTOR_SIZE);
        let batch = |chunk: &[Value]| {
            let column = Vector::from_sql_values(LogicalType::Varchar, chunk)?;
            Ok(Batch::new(vec![column], chunk.len()))
        };
        let batches = chunks.map(batch).collect::<Result<Vec<Batch>>>()?;
        Ok(Self::of_rows(vec![name.to_string()], vec![LogicalType::Varchar], batches, None))
    }

    /// What kind of answer this is.
    pub fn kind(&self) -> ResultKind {
        self.kind
    }

    /// What was done.
    pub fn command(&self) -> Command {
        self.command
    }

    /// The answer of such a statement, unless it is known to be of another one: that which EXECUTE carried out.
    pub(crate) fn of_command(self, command: Command) -> Self {
        if self.command == Command::Empty { Self { command, ..self } } else { self }
    }

    /// How many rows were changed, by a statement that changes rows.
    pub fn changed_rows(&self) -> Option<u64> {
        match self.kind {
            ResultKind::Changed(count) => Some(count),
            ResultKind::Rows | ResultKind::Done => None,
        }
    }

    /// What was done, and to how many rows, as PostgreSQL tells a client: `INSERT 0 3`, `DELETE 1`, `SELECT 5`.
    pub fn command_tag(&self) -> String {
        let tag = self.command.tag();
        match (self.kind, self.command) {
            (ResultKind::Changed(count), Command::Insert) => format!("{tag} 0 {count}"),
            (ResultKind::Changed(count), _) if self.command.class() == CommandClass::Change => {
                format!("{tag} {count}")
            }
            (ResultKind::Rows, Command::Select) if self.row_count() > 0 => {
                format!("{tag} {}", self.row_count())
            }
            _ => tag.to_string(),
        }
    }

    /// Column names that differ from each other: a repeated one gets a number.
    ///
    /// ```
    /// # fn main() -> inlay::Result<()> {
    /// let connection = inlay::Database::open_in_memory()?.connect();
    /// assert_eq!(connection.execute("SELECT 1 AS a, 2 AS a, 3 AS a_1")?.unique_names(), ["a", "a_1", "a_1_1"]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn unique_names(&self) -> Vec<String> {
        let mut unique: Vec<String> = Vec::with_capacity(self.names.len());
        for name in &*self.names {
            let (mut candidate, mut number) = (name.clone(), 1);
            while unique.contains(&candidate) {
                candidate = format!("{name}_{number}");
                number += 1;
            }
            unique.push(candidate);
        }
        unique
    }

    /// Column names.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Column types.
    pub fn types(&self) -> &[LogicalType] {
        &self.types
    }

    /// Number of rows.
    pub fn row_count(&self) -> usize {
        self.rows.len()
    }

    /// Some of the rows, shared.
    ///
    /// Panics when the range is not inside.
    pub fn slice(&self, rows: Range<usize>) -> QueryResult {
        assert!(rows.start <= rows.end && rows.end <= self.row_count(), "rows outside of result");
        Self { rows: self.rows.start + rows.start..self.rows.start + rows.end, ..self.clone() }
    }

    /// Some of the columns, in any order.
    ///
    /// Panics when there is no such column.
    pub fn project(&self, columns: &[usize]) -> QueryResult {
        let pick = |batch: &Batch| {
            Batch::new(columns.iter().map(|&index| batch.column(index).clone()).collect(), batch.len())
        };
        let source = match &self.source {
            Source::Row(row) => Source::Row(Arc::new(row.project(columns))),
            Source::Batches(batches) => Source::Batches(Arc::new(batches.iter().map(pick).collect())),
            Source::Table(table) => Source::Table(Arc::new(table.project(columns))),
        };
        Self {
            names: columns.iter().map(|&index| self.names[index].clone()).collect(),
            types: columns.iter().map(|&index| self.types[index].clone()).collect(),
            source,
            ..self.clone()
        }
    }

    /// The same rows under other names, one for each column.
    pub fn with_names(self, names: Vec<String>) -> QueryResult {
        debug_assert_eq!(names.len(), self.types.len());
        Self { names: names.into(), ..self }
    }

    /// Whether these are rows of a table as it is, which are read when they are asked for.
    pub fn is_table(&self) -> bool {
        matches!(self.source, Source::Table(_))
    }

    /// The same rows, read from their table if they are still there.
    pub fn read_all(&self) -> Result<QueryResult> {
        match self.source {
            Source::Row(_) | Source::Batches(_) => Ok(self.clone()),
            Source::Table(_) => Ok(self.with_batches(self.batches().collect::<Result<_>>()?)),
        }
    }

    /// Names, types and kind, but no rows.
    pub fn without_rows(&self) -> QueryResult {
        Self {
            source: Source::Batches(Arc::clone(&NO_BATCHES)),
            rows: 0..0,
            starts: Arc::clone(&NO_STARTS),
            held: None,
            ..self.clone()
        }
    }

    /// Of a table as it is, each column in the form given for it, as [`QueryResult::host_column`], or its rows where none is
    /// given; `None` for others.
    pub(crate) fn table_columns(&self, forms: &[Option<HostForm>]) -> Result<Option<Vec<HostColumn>>> {
        let Source::Table(table) = &self.source else { return Ok(None) };
        let column = |(index, form): (usize, &Option<HostForm>)| {
            self.interrupt().check()?;
            let Some(form) = *form else {
                return Ok(HostColumn::Rows(self.project(&[index]).interrupted_by(Interrupt::new())));
            };
            let nulls = match self.may_have_nulls(index)? {
                true => Some(self.host_column(index, HostForm::Nulls)?),
                false => None,
            };
            let nulls = nulls.filter(|nulls| nulls.bytes().contains(&1));
            let is_finite = table.is_finite(index, &self.rows)?;
            if form == HostForm::Midnights && !is_finite {
                let data = self.host_column(index, HostForm::Days)?;
                // Zone maps may be wider than what is left of the values.
                if !host::fit_midnights(data.typed::<i64>()) {
                    return Ok(HostColumn::Values { form: HostForm::Days, is_finite, data, nulls });
                }
            }
            Ok(HostColumn::Values { form, is_finite, data: self.host_column(index, form)?, nulls })
        };
        forms.iter().enumerate().map(column).collect::<Result<_>>().map(Some)
    }

    /// The name and type of a column, with these rows.
    pub(crate) fn column_of(&self, index: usize, vectors: Vec<Vector>) -> Self {
        let batches = vectors.into_iter().map(|vector| {
            let len = vector.len();
            Batch::new(vec![vector], len)
        });
        let (name, ty) = (self.names[index].clone(), self.types[index].clone());
        Self::of_rows(vec![name], vec![ty], batches.collect(), self.workers.clone())
    }

    /// A result of these names and types with other rows.
    pub(crate) fn with_batches(&self, batches: Vec<Batch>) -> Self {
        Self::of_rows(self.names.to_vec(), self.types.to_vec(), batches, self.workers.clone())
    }

    /// The rows as batches; nobody else has them if nobody else had the result.
    pub(crate) fn into_batches(self) -> Result<Vec<Batch>> {
        let is_whole = self.rows == (0..self.starts.last().copied().unwrap_or(0));
        match self.source {
            Source::Batches(batches) if is_whole => {
                Ok(Arc::try_unwrap(batches).unwrap_or_else(|shared| shared.to_vec()))
            }
            _ => self.batches().collect(),
        }
    }

    /// Ranges of rows that lie together, in order; none is empty.
    pub fn parts(&self) -> impl Iterator<Item = Range<usize>> {
        self.source_parts().map(|(_, rows)| rows.start - self.rows.start..rows.end - self.rows.start)
    }

    /// Numbers of the source's parts that have some of the rows, and which.
    fn source_parts(&self) -> impl Iterator<Item = (usize, Range<usize>)> {
        let first = self.part_of(self.rows.start);
        let parts = self.starts.windows(2).enumerate().skip(first);
        let parts = parts.take_while(|(_, bounds)| bounds[0] < self.rows.end);
        let cut = |(part, bounds): (usize, &[usize])| {
            (part, bounds[0].max(self.rows.start)..bounds[1].min(self.rows.end))
        };
        parts.map(cut).filter(|(_, rows)| !rows.is_empty())
    }

    /// The part of the source that has a row.
    fn part_of(&self, row: usize) -> usize {
        self.starts.partition_point(|&start| start <= row).saturating_sub(1)
    }

    /// The rows of the part with row `row`, and the first of them.
    ///
    /// Panics when there is no such row.
    pub fn part_at(&self, row: usize) -> Result<(usize, Batch)> {
        assert!(row < self.row_count(), "row outside of result");
        let part = self.part_of(self.rows.start + row);
        let from = self.starts[part].max(self.rows.start);
        let to = self.starts[part + 1].min(self.rows.end);
        Ok((from - self.rows.start, self.read(part, from..to)?))
    }

    /// Some rows of one part of the source.
    fn read(&self, part: usize, rows: Range<usize>) -> Result<Batch> {
        let start = self.starts[part];
        match &self.source {
            Source::Row(row) => Ok(row.batch()?.slice(rows.start - start, rows.len())),
            Source::Batches(batches) if rows.len() == batches[part].len() => Ok(batches[part].clone()),
            Source::Batches(batches) => Ok(batches[part].slice(rows.start - start, rows.len())),
            Source::Table(table) => table.part(part, rows.start - start..rows.end - start),
        }
    }

    /// The rows in order, as batches of any length.
    pub fn batches(&self) -> impl Iterator<Item = Result<Batch>> {
        self.source_parts().map(|(part, rows)| self.read(part, rows))
    }

    /// The rows in order, value by value; for many rows [`QueryResult::batches`] is faster.
    pub fn rows(&self) -> impl Iterator<Item = Result<Row>> {
        self.batches().flat_map(|batch| {
            let (batch, failed) = match batch {
                Ok(batch) => (Some(batch), None),
                Err(error) => (None, Some(Err(error))),
            };
            let rows = batch.into_iter().flat_map(|batch| {
                (0..batch.len())
                    .map(move |row| Ok(Row(batch.columns().iter().map(|column| column.get(row)).collect())))
            });
            rows.chain(failed)
        })
    }

    /// One value.
    ///
    /// Panics when there is no such row or column.
    pub fn value(&self, row: usize, column: usize) -> Result<Value> {
        assert!(row < self.row_count(), "row outside of result");
        let row = self.rows.start + row;
        let part = self.part_of(row);
        match &self.source {
            Source::Row(one) => Ok(one.values()[column].clone()),
            Source::Batches(batches) => Ok(batches[part].column(column).get(row - self.starts[part])),
            Source::Table(table) => {
                let row = row - self.starts[part];
                Ok(table.part_of(column, part, row..row + 1)?.get(0))
            }
        }
    }

    /// The values of the only row, if it is at hand as values: they need not be made.
    pub fn only_row(&self) -> Option<&[Value]> {
        match &self.source {
            Source::Row(row) if self.rows.len() == 1 => Some(row.values()),
            Source::Row(_) | Source::Batches(_) | Source::Table(_) => None,
        }
    }

    /// Column `index` of all rows as one flat vector that nobody else holds, with the host's NA in NULL slots.
    pub fn column(&self, index: usize) -> Result<Vector> {
        let ty = self.type_of(index)?.clone();
        let parts = self.vectors(index)?;
        let parts: Vec<&Vector> = parts.iter().collect();
        self.with_crew(|crew| columns::join(ty, &parts, crew))
    }

    /// The vectors of a column, part by part.
    fn vectors(&self, index: usize) -> Result<Vec<Vector>> {
        let vector = |(part, rows): (usize, Range<usize>)| {
            let (from, len) = (rows.start - self.starts[part], rows.len());
            match &self.source {
                Source::Row(row) => Ok(row.batch()?.column(index).slice(from, len)),
                Source::Batches(batches) if len == batches[part].len() => {
                    Ok(batches[part].column(index).clone())
                }
                Source::Batches(batches) => Ok(batches[part].column(index).slice(from, len)),
                Source::Table(table) => table.part_of(index, part, from..from + len),
            }
        };
        self.source_parts().map(vector).collect()
    }

    /// Column `index` of all rows in a host's form, which has to fit its type, as memory that only the caller has and
    /// may write to. That of a table is mapped, not copied, where it can be.
    pub fn host_column(&self, index: usize, form: HostForm) -> Result<Buffer> {
        let ty = self.type_of(index)?;
        if !form.fits(ty) {
            return Err(Error::internal(format!("{ty} has no form {form:?}")));
        }
        match &self.source {
            Source::Table(table) => table.host(index, form, &self.rows, &self.interrupt()),
            Source::Row(_) | Source::Batches(_) => {
                let parts = self.vectors(index)?;
                let parts: Vec<&Vector> = parts.iter().collect();
                self.with_crew(|crew| columns::host(form.width(ty), form, &parts, crew))
            }
        }
    }

    pub(crate) fn with_crew<T>(&self, work: impl FnOnce(Crew<'_>) -> T) -> T {
        let interrupt = &self.interrupt();
        match &self.workers {
            Some(workers) => work(Crew { workers, interrupt }),
            None => work(Crew { workers: &Workers::new(1), interrupt }),
        }
    }

    /// Gives the memory of rows that were freed back to the system.
    pub(crate) fn give_back(&self) {
        match &self.workers {
            Some(workers) => workers.pool().give_back(),
            None => allocator::give_back(),
        }
    }

    /// Whether column `index` has NULLs; of a table, it may have none although this says so.
    pub fn may_have_nulls(&self, index: usize) -> Result<bool> {
        self.type_of(index)?;
        match &self.source {
            Source::Table(table) => Ok(table.null_count(index, &self.rows)? > 0),
            Source::Row(row) => Ok(self.row_count() > 0 && row.values()[index].is_null()),
            Source::Batches(_) => Ok(self.vectors(index)?.iter().any(|part| part.null_count() > 0)),
        }
    }

    /// Some of the rows as an Arrow struct array of an exporter of this result's schema.
    pub fn arrow_array(&self, exporter: &Exporter, rows: Range<usize>) -> Result<ArrowArray> {
        let part = self.slice(rows);
        let columns = (0..self.types.len()).map(|index| part.arrow_column(exporter, index));
        Ok(Exporter::assemble(columns.collect::<Result<_>>()?, part.row_count()))
    }

    /// Of a table as it is, all rows as Arrow struct arrays of about `rows` rows, converted by all workers; `None` for others.
    pub(crate) fn table_arrays(&self, exporter: &Exporter, rows: usize) -> Result<Option<Vec<ArrowArray>>> {
        let Source::Table(_) = &self.source else { return Ok(None) };
        let chunks: Vec<QueryResult> = self.chunks(rows).into_iter().map(|rows| self.slice(rows)).collect();
        let lens: Vec<usize> = chunks.iter().map(QueryResult::row_count).collect();
        let column = |chunk: usize, index: usize| chunks[chunk].arrow_column(exporter, index);
        self.with_crew(|crew| columns::arrow_arrays(&lens, self.types.len(), crew, column)).map(Some)
    }

    /// One column of all rows for Arrow.
    fn arrow_column(&self, exporter: &Exporter, index: usize) -> Result<PreparedColumn> {
        let mut parts = self.source_parts();
        match (&self.source, parts.next(), parts.next()) {
            (Source::Table(table), Some((part, rows)), None) => {
                let start = self.starts[part];
                table.arrow(index, part, rows.start - start..rows.end - start, exporter)
            }
            (_, Some(_), None) => exporter.column(index, &self.vectors(index)?[0]),
            (Source::Table(table), Some(_), Some(_))
                if matches!(self.types[index], LogicalType::Struct(_)) =>
            {
                let rows = |(part, rows): (usize, Range<usize>)| {
                    let start = self.starts[part];
                    table.struct_rows(index, part, rows.start - start..rows.end - start)
                };
                let parts = self.source_parts().map(rows).collect::<Result<Vec<_>>>()?;
                let parts: Vec<&StructRows> = parts.iter().collect();
                let joined = self.with_crew(|crew| {
                    let workers = crew.workers.alone();
                    columns::join_structs(&self.types[index], &parts, Crew { workers: &workers, ..crew })
                })?;
                exporter.struct_column(index, &joined)
            }
            _ => {
                let parts = self.vectors(index)?;
                let parts: Vec<&Vector> = parts.iter().collect();
                let joined = self.with_crew(|crew| {
                    let workers = crew.workers.alone();
                    columns::join(self.types[index].clone(), &parts, Crew { workers: &workers, ..crew })
                })?;
                exporter.column(index, &joined)
            }
        }
    }

    fn type_of(&self, index: usize) -> Result<&LogicalType> {
        self.types.get(index).ok_or_else(|| Error::invalid_argument(format!("no column {index}")))
    }

    /// Ranges of at most `rows` rows, in which parts are kept together; larger only where one part is. At least one range.
    pub fn chunks(&self, rows: usize) -> Vec<Range<usize>> {
        let mut ranges = Vec::new();
        let (mut start, mut end) = (0, 0);
        for part in self.parts() {
            if end > start && part.end - start > rows {
                ranges.push(start..end);
                start = end;
            }
            end = part.end;
        }
        if start < end || ranges.is_empty() {
            ranges.push(start..end);
        }
        ranges
    }
}

impl std::fmt::Debug for QueryResult {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "QueryResult({} rows of {:?})", self.row_count(), self.names)
    }
}
