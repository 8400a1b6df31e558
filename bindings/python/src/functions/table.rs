//! Table functions in Python: values and a table in, rows out.
//!
//! A table is handed over as a dictionary of arrays, an Arrow table or a data frame, as the function's `arguments` say. What
//! it gives, `inlay._udtf.pieces` takes apart into columns, piece by piece for generators; each column is then
//! taken over as a scalar function's result is.
//!
//! - [`Whole`]: a call with a whole table, whose rows are a list. [`ByRow`]: the same for values of each row.
//! - [`Parts`]: a function that is called with each part, or an object of a class that is told one part after the other.

use super::calls::{self, Call};
use super::results::{Failure, Given, Per};
use super::{PythonFunction, Style, arguments, guarded, guarded_alone};
use crate::errors::exception;
use inlay::current_limits;
use inlay::external::{
    ExternalAggregate, ExternalFunction, ExternalStates, ExternalStream, ExternalTable, FunctionDefinition,
    Granularity, GroupedRows, Kept, StreamState, TableArgument, Takes,
};
use inlay::types::nested::{pack_lists, pack_struct, unpack_lists, unpack_struct};
use inlay::types::{Batch, Error, Interrupt, LogicalType, Reservation, Result, Vector, VectorBuilder};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};
use std::sync::Arc;

type Outcome<T> = std::result::Result<T, Failure>;

/// A table function in Python.
#[derive(Clone, Debug)]
pub struct PythonTable {
    function: Arc<PythonFunction>,
    takes: Takes,
    /// It is a class, of which each table has an object.
    is_class: bool,
    /// Which of its parameters are tables.
    table_parameters: Arc<[bool]>,
    /// Says which columns there are, if they are not declared.
    schema: Option<Arc<Py<PyAny>>>,
    names: Vec<String>,
    /// Stand for the columns in messages.
    columns: Arc<Vec<PythonFunction>>,
}

/// Fails if what a function is does not go with what is declared of it.
pub fn fits(definition: &FunctionDefinition, is_class: bool, has_schema: bool) -> Result<()> {
    let refuse =
        |what: &str| Err(Error::invalid_argument(format!("function \"{}\" {what}", definition.name)));
    if is_class && definition.granularity == Granularity::Chunk {
        return refuse(
            "is a class, which is given one part after the other; that is no function of any parts (LANGUAGE \
             PYTHON_MAP, blocking=False)",
        );
    }
    if is_class && !definition.parameters.iter().any(|parameter| parameter.is_table) {
        return refuse("is a class, which is given a table; it needs a parameter that is a TABLE");
    }
    match (definition.table_columns().is_empty(), has_schema) {
        (true, false) => refuse(
            "needs columns; RETURNS TABLE (x DOUBLE, ...) declares them, and a function schema(...) in its body \
             computes them",
        ),
        (false, true) => refuse("declares columns and has a function schema; one of both says what it gives"),
        _ => Ok(()),
    }
}

impl PythonTable {
    /// A function that gives these columns, or those that `schema` says.
    pub fn new(
        function: PythonFunction,
        columns: &[(String, LogicalType)],
        definition: &FunctionDefinition,
        is_class: bool,
        schema: Option<Py<PyAny>>,
    ) -> Self {
        let takes = match definition.granularity {
            Granularity::Column => Takes::Whole,
            Granularity::Chunk => Takes::Parts,
        };
        let takes = if is_class { Takes::Stream } else { takes };
        let schema = schema.map(Arc::new);
        let table = Self {
            function: Arc::new(function),
            takes,
            is_class,
            table_parameters: definition.parameters.iter().map(|parameter| parameter.is_table).collect(),
            schema,
            names: Vec::new(),
            columns: Arc::default(),
        };
        table.with(columns)
    }

    fn with(&self, columns: &[(String, LogicalType)]) -> Self {
        let column = |ty: &LogicalType| self.function.column(ty);
        Self {
            names: columns.iter().map(|(name, _)| name.clone()).collect(),
            columns: Arc::new(columns.iter().map(|(_, ty)| column(ty)).collect()),
            ..self.clone()
        }
    }

    fn row_type(&self) -> LogicalType {
        LogicalType::structure(
            self.names.iter().cloned().zip(self.columns.iter().map(|column| column.returns.clone())),
        )
    }

    /// The pieces of what a call gave.
    fn pieces<'py>(&self, py: Python<'py>, given: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let pieces = py.import("inlay._udtf")?.getattr("pieces")?;
        pieces.call1((&self.function.name, given, self.names.clone()))
    }

    /// The columns of a piece, unless it has no rows.
    fn piece(&self, py: Python<'_>, piece: &Bound<'_, PyAny>) -> Outcome<Option<Batch>> {
        let (len, columns): (usize, Vec<Bound<'_, PyAny>>) = piece.extract()?;
        if len == 0 {
            return Ok(None);
        }
        let mut vectors = Vec::with_capacity(columns.len());
        for (function, value) in self.columns.iter().zip(columns) {
            let given = Given { function, args: &[], len, value, per: Per::Row };
            vectors.push(given.into_vector(py)?.flatten());
        }
        Ok(Some(Batch::new(vectors, len)))
    }

    /// Appends the rows that a call gave; returns their number.
    fn append(
        &self,
        py: Python<'_>,
        given: &Bound<'_, PyAny>,
        interrupt: &Interrupt,
        all: &mut Rows,
    ) -> Outcome<usize> {
        let mut count = 0;
        for piece in self.pieces(py, given)?.try_iter()? {
            interrupt.check()?;
            let Some(batch) = self.piece(py, &piece?)? else { continue };
            let children: Vec<&Vector> = batch.columns().iter().collect();
            all.append(&pack_struct(&all.row_type, &children, batch.len(), None)?)?;
            count += batch.len();
        }
        Ok(count)
    }

    fn style_name(&self) -> &'static str {
        match self.function.style {
            Style::Numpy(..) | Style::Rows => "numpy",
            Style::Arrow => "arrow",
            Style::Pandas => "pandas",
            Style::Polars => "polars",
        }
    }

    /// A table as an argument.
    fn table<'py>(
        &self,
        py: Python<'py>,
        columns: &[(String, LogicalType)],
        vectors: &[Vector],
        len: usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        let arrays = self.function.arguments(py, vectors, len, &Kept::new())?;
        let names: Vec<&str> = columns.iter().map(|(name, _)| name.as_str()).collect();
        let maker = py.import("inlay._udtf")?.getattr("table_argument")?;
        maker.call1((self.style_name(), names, arrays))
    }

    /// The arguments of a call for each row; a table is the list of its rows.
    fn values(&self, py: Python<'_>, args: &[Vector], len: usize) -> Outcome<Vec<Vec<Py<PyAny>>>> {
        if !self.table_parameters.contains(&true) {
            let columns = arguments::lists(py, args, len)?;
            let row = |row: usize| columns.iter().map(|list| Ok(list.get_item(row)?.unbind())).collect();
            return (0..len).map(row).collect();
        }
        let is_table = |index: usize| self.table_parameters.get(index).is_some_and(|is_table| *is_table);
        let values_of = |row: usize| {
            let values = args.iter().enumerate().map(|(index, arg)| -> Outcome<Py<PyAny>> {
                if is_table(index) {
                    Ok(self.table_of_rows(py, &arg.slice(row, 1).flatten())?.unbind())
                } else {
                    Ok(object(py, &arg.get(row))?.unbind())
                }
            });
            values.collect()
        };
        (0..len).map(values_of).collect()
    }

    fn table_of_rows<'py>(&self, py: Python<'py>, list: &Vector) -> Outcome<Bound<'py, PyAny>> {
        let (rows, _) = unpack_lists(list)?;
        let LogicalType::Struct(fields) = rows.ty() else {
            return Err(Error::internal("a table that is no list of rows").into());
        };
        let columns: Vec<(String, LogicalType)> =
            fields.iter().map(|field| (field.name.to_string(), field.ty.clone())).collect();
        Ok(self.table(py, &columns, &unpack_struct(&rows)?, rows.len())?)
    }

    /// The arguments of a call; `vectors` are the columns of its tables.
    fn arguments<'py>(
        &self,
        py: Python<'py>,
        arguments: &[TableArgument],
        vectors: &[Vector],
        len: usize,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let mut first = 0;
        let mut made: Vec<Bound<'py, PyAny>> = Vec::with_capacity(arguments.len());
        for argument in arguments {
            match argument {
                TableArgument::Value(value) => made.push(object(py, value)?),
                TableArgument::Table(columns) => {
                    let own = &vectors[first..first + columns.len()];
                    first += columns.len();
                    made.push(self.table(py, columns, own, len)?);
                }
                TableArgument::Columns(columns) => {
                    let own = &vectors[first..first + columns.len()];
                    first += columns.len();
                    made.extend(self.function.arguments(py, own, len, &Kept::new())?);
                }
            }
        }
        PyTuple::new(py, made)
    }
}

/// A value as an argument.
fn object<'py>(py: Python<'py>, value: &inlay::Value) -> PyResult<Bound<'py, PyAny>> {
    if value.is_null() {
        return Ok(py.None().into_bound(py));
    }
    let vector = Vector::from_sql_values(value.logical_type(), std::slice::from_ref(value));
    let vector = vector.map_err(|error| exception(py, &error))?;
    match arguments::lists(py, &[vector], 1)?.first() {
        Some(list) => list.get_item(0),
        None => Ok(py.None().into_bound(py)),
    }
}

impl ExternalTable for PythonTable {
    fn takes(&self) -> Takes {
        self.takes
    }

    fn columns(
        &self,
        arguments: &[TableArgument],
    ) -> Result<(Vec<(String, LogicalType)>, Arc<dyn ExternalTable>)> {
        let name = &self.function.name;
        let Some(schema) = &self.schema else {
            return Err(Error::internal(format!("function \"{name}\" declares its columns")));
        };
        let found: Vec<(String, String)> = guarded(name, |py, _| {
            let mut args: Vec<Bound<'_, PyAny>> = Vec::with_capacity(arguments.len());
            for argument in arguments {
                match argument {
                    TableArgument::Value(value) => args.push(object(py, value)?),
                    TableArgument::Table(columns) => {
                        let types = PyDict::new(py);
                        for (name, ty) in columns {
                            types.set_item(name, ty.to_string())?;
                        }
                        args.push(types.into_any());
                    }
                    TableArgument::Columns(columns) => {
                        args.extend(
                            columns.iter().map(|(_, ty)| PyString::new(py, &ty.to_string()).into_any()),
                        );
                    }
                }
            }
            let given = schema.bind(py).call1(PyTuple::new(py, args)?)?;
            let columns = py.import("inlay._udtf")?.getattr("columns_of_schema")?;
            Ok(columns.call1((name, given))?.extract::<Vec<(String, String)>>()?)
        })?;
        let typed = |(column, ty): (String, String)| match inlay::sql::type_of(&ty) {
            Ok(ty) => Ok((column, ty)),
            Err(error) => Err(Error::external(format!(
                "the schema of function \"{name}\" gives column \"{column}\" the type {ty}: {error}"
            ))),
        };
        let columns = found.into_iter().map(typed).collect::<Result<Vec<_>>>()?;
        let table = Arc::new(self.with(&columns));
        Ok((columns, table))
    }

    fn bind(&self, arguments: Vec<TableArgument>) -> Result<Arc<dyn ExternalAggregate>> {
        Ok(Arc::new(Whole { table: self.clone(), arguments }))
    }

    fn stream(&self, arguments: Vec<TableArgument>) -> Result<Arc<dyn ExternalStream>> {
        Ok(Arc::new(Parts(Arc::new(Whole { table: self.clone(), arguments }))))
    }

    fn by_row(&self) -> Arc<dyn ExternalFunction> {
        Arc::new(ByRow(self.clone()))
    }

    fn queries(&self) -> bool {
        self.function.queries
    }
}

/// Rows that calls gave, counted as memory of the statement: a generator may have no end.
struct Rows {
    row_type: LogicalType,
    rows: VectorBuilder,
    offsets: Vec<u32>,
    count: usize,
    reservation: Option<Reservation>,
}

impl Rows {
    fn new(table: &PythonTable) -> Result<Self> {
        let row_type = table.row_type();
        let reservation = current_limits().map(|limits| limits.budget.reserve(0)).transpose()?;
        let rows = VectorBuilder::new(row_type.clone(), 0);
        Ok(Self { row_type, rows, offsets: vec![0], count: 0, reservation })
    }

    fn append(&mut self, rows: &Vector) -> Result<()> {
        self.rows.append(rows);
        match &mut self.reservation {
            // The list that is made of them is as large.
            Some(reservation) => reservation.resize(2 * self.rows.memory_size() as u64),
            None => Ok(()),
        }
    }

    /// What a call gave ends here.
    fn end_list(&mut self, name: &str, count: usize) -> Result<()> {
        self.count += count;
        let end = u32::try_from(self.count).map_err(|_| {
            Error::out_of_range(format!("function \"{name}\" gave more than 4,294,967,295 rows in one call"))
        })?;
        self.offsets.push(end);
        Ok(())
    }

    fn into_lists(self) -> Result<Vector> {
        pack_lists(&LogicalType::list(self.row_type), &self.rows.finish(), &self.offsets, None)
    }
}

/// A call with its arguments, of which the table comes as a whole.
#[derive(Debug)]
struct Whole {
    table: PythonTable,
    arguments: Vec<TableArgument>,
}

impl ExternalAggregate for Whole {
    fn call(&self, rows: GroupedRows<'_>) -> Result<Vector> {
        let function = &self.table.function;
        guarded(&function.name, |py, interrupt| {
            let mut all = Rows::new(&self.table)?;
            for group in 0..rows.groups() {
                interrupt.check()?;
                let own = rows.rows_of(group);
                let columns: Vec<Vector> =
                    rows.args.iter().map(|arg| arg.slice(own.start, own.len())).collect();
                let args = self.table.arguments(py, &self.arguments, &columns, own.len())?;
                let given = function.callable.bind(py).call1(args)?;
                let count = self.table.append(py, &given, interrupt, &mut all)?;
                all.end_list(&function.name, count)?;
            }
            Ok(all.into_lists()?)
        })
    }

    fn states(&self) -> Option<Box<dyn ExternalStates>> {
        None
    }

    fn queries(&self) -> bool {
        self.table.function.queries
    }
}

/// Calls with the values of one row after the other.
#[derive(Debug)]
struct ByRow(PythonTable);

impl ExternalFunction for ByRow {
    fn call(&self, args: &[Vector], len: usize, _kept: &Kept) -> Result<Vector> {
        let Self(table) = self;
        let name = &table.function.name;
        guarded(name, |py, interrupt| {
            let mut all = Rows::new(table)?;
            for values in table.values(py, args, len)? {
                interrupt.check()?;
                let given = table.function.callable.bind(py).call1(PyTuple::new(py, values)?)?;
                let count = table.append(py, &given, interrupt, &mut all)?;
                all.end_list(name, count)?;
            }
            Ok(all.into_lists()?)
        })
    }

    fn queries(&self) -> bool {
        self.0.function.queries
    }
}

/// A call with its arguments, of which the table comes in parts.
#[derive(Debug)]
struct Parts(Arc<Whole>);

impl ExternalStream for Parts {
    fn begin(&self) -> Box<dyn StreamState> {
        Box::new(State {
            bound: Arc::clone(&self.0),
            call: Call::new(&self.0.table.function.name),
            object: None,
            pieces: None,
        })
    }
}

/// A table under way.
struct State {
    bound: Arc<Whole>,
    /// All that is done for the table is one call, whose queries may be read between its parts.
    call: Arc<Call>,
    /// Of a class.
    object: Option<Py<PyAny>>,
    /// An iterator over what is left of what was given last.
    pieces: Option<Py<PyAny>>,
}

impl State {
    /// Runs `work` as a part of the call.
    fn within<T>(&mut self, work: impl FnOnce(&mut Self, Python<'_>, &Interrupt) -> Outcome<T>) -> Result<T> {
        let (call, bound) = (Arc::clone(&self.call), Arc::clone(&self.bound));
        calls::within(&call, || {
            guarded_alone(&bound.table.function.name, |py, interrupt| work(self, py, interrupt))
        })
    }

    fn object<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        if let Some(object) = &self.object {
            return Ok(object.bind(py).clone());
        }
        let is_value = |argument: &&TableArgument| matches!(argument, TableArgument::Value(_));
        let values: Vec<TableArgument> = self.bound.arguments.iter().filter(is_value).cloned().collect();
        let args = self.bound.table.arguments(py, &values, &[], 1)?;
        let object = self.bound.table.function.callable.bind(py).call1(args)?;
        self.object = Some(object.clone().unbind());
        Ok(object)
    }

    fn take_apart(&mut self, py: Python<'_>, given: &Bound<'_, PyAny>) -> PyResult<()> {
        self.pieces = Some(self.bound.table.pieces(py, given)?.unbind());
        Ok(())
    }
}

impl StreamState for State {
    fn give(&mut self, columns: &[Vector], len: usize) -> Result<()> {
        self.within(|state, py, _| {
            let Whole { table, arguments } = &*Arc::clone(&state.bound);
            let given = if table.is_class {
                let is_table = |argument: &&TableArgument| !matches!(argument, TableArgument::Value(_));
                let tables: Vec<TableArgument> = arguments.iter().filter(is_table).cloned().collect();
                let args = table.arguments(py, &tables, columns, len)?;
                state.object(py)?.getattr("process")?.call1(args)?
            } else {
                table.function.callable.bind(py).call1(table.arguments(py, arguments, columns, len)?)?
            };
            Ok(state.take_apart(py, &given)?)
        })
    }

    fn finish(&mut self) -> Result<()> {
        if self.object.is_none() {
            return Ok(());
        }
        self.within(|state, py, _| {
            let object = state.object(py)?;
            if object.hasattr("finish")? {
                let given = object.call_method0("finish")?;
                state.take_apart(py, &given)?;
            }
            Ok(())
        })
    }

    fn next(&mut self) -> Result<Option<Batch>> {
        if self.pieces.is_none() {
            return Ok(None);
        }
        self.within(|state, py, interrupt| {
            let Some(pieces) = &state.pieces else { return Ok(None) };
            let mut pieces = pieces.bind(py).try_iter()?;
            loop {
                interrupt.check()?;
                let Some(piece) = pieces.next() else { break };
                if let Some(batch) = state.bound.table.piece(py, &piece?)? {
                    return Ok(Some(batch));
                }
            }
            state.pieces = None;
            Ok(None)
        })
    }
}

impl Drop for State {
    fn drop(&mut self) {
        if self.pieces.is_none() && self.object.is_none() {
            return;
        }
        // What a generator does at its end is a part of the call.
        let (pieces, object, call) = (self.pieces.take(), self.object.take(), Arc::clone(&self.call));
        calls::within(&call, || Python::attach(|_| drop((pieces, object))));
    }
}

impl PythonFunction {
    /// What stands for a column of it.
    fn column(&self, ty: &LogicalType) -> Self {
        Self {
            name: self.name.clone(),
            callable: Python::attach(|py| self.callable.clone_ref(py)),
            style: self.style,
            returns: ty.clone(),
            forgives: false,
            refuses_null: false,
            queries: false,
            remote: None,
            turns: super::Turns::default(),
        }
    }
}
