//! Table functions in Python: values and a table in, rows out.
//!
//! A table is handed over as a dictionary of arrays, an Arrow table or a data frame, as the function's `arguments` say. What
//! it gives, `inlay._udtf.pieces` takes apart into columns, piece by piece for generators; each column is then
//! taken over as a scalar function's result is.

use super::results::{Failure, Given, Per};
use super::{PythonFunction, Style, arguments, guarded};
use inlay::current_limits;
use inlay::external::{ExternalAggregate, ExternalStates, ExternalTable, GroupedRows, Kept, TableArgument};
use inlay::types::nested::{pack_lists, pack_struct};
use inlay::types::{Interrupt, LogicalType, Reservation, Result, Vector, VectorBuilder};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::sync::Arc;

/// A table function in Python; what it gives has the columns `columns`, which stand for it in messages.
#[derive(Debug)]
pub struct PythonTable {
    pub function: Arc<PythonFunction>,
    pub names: Vec<String>,
    pub columns: Arc<Vec<PythonFunction>>,
}

impl ExternalTable for PythonTable {
    fn bind(&self, arguments: Vec<TableArgument>) -> Result<Arc<dyn ExternalAggregate>> {
        Ok(Arc::new(Call {
            function: Arc::clone(&self.function),
            names: self.names.clone(),
            columns: Arc::clone(&self.columns),
            arguments,
        }))
    }

    fn queries(&self) -> bool {
        self.function.queries
    }
}

/// Rows that calls gave, counted as memory of the statement: a generator may have no end.
struct Rows {
    rows: VectorBuilder,
    reservation: Option<Reservation>,
}

impl Rows {
    fn new(row_type: &LogicalType) -> Result<Self> {
        let reservation = current_limits().map(|limits| limits.budget.reserve(0)).transpose()?;
        Ok(Self { rows: VectorBuilder::new(row_type.clone(), 0), reservation })
    }

    fn append(&mut self, rows: &Vector) -> Result<()> {
        self.rows.append(rows);
        match &mut self.reservation {
            // The list that is made of them is as large.
            Some(reservation) => reservation.resize(2 * self.rows.memory_size() as u64),
            None => Ok(()),
        }
    }
}

/// A call with its arguments.
#[derive(Debug)]
struct Call {
    function: Arc<PythonFunction>,
    names: Vec<String>,
    columns: Arc<Vec<PythonFunction>>,
    arguments: Vec<TableArgument>,
}

type Outcome<T> = std::result::Result<T, Failure>;

impl ExternalAggregate for Call {
    fn call(&self, rows: GroupedRows<'_>) -> Result<Vector> {
        guarded(&self.function.name, |py, interrupt| {
            let row_type = LogicalType::structure(
                self.names.iter().cloned().zip(self.columns.iter().map(|column| column.returns.clone())),
            );
            let mut all = Rows::new(&row_type)?;
            let (mut offsets, mut count) = (vec![0u32], 0usize);
            for group in 0..rows.groups() {
                interrupt.check()?;
                let args = self.arguments_of_group(py, rows, group)?;
                let given = self.function.callable.bind(py).call1(args)?;
                count += self.append(py, &given, &row_type, interrupt, &mut all)?;
                let end = u32::try_from(count);
                offsets.push(end.map_err(|_| {
                    inlay::types::Error::out_of_range(format!(
                        "function \"{}\" gave more than 4,294,967,295 rows in one call",
                        self.function.name
                    ))
                })?);
            }
            Ok(pack_lists(&self.function.returns, &all.rows.finish(), &offsets, None)?)
        })
    }

    fn states(&self) -> Option<Box<dyn ExternalStates>> {
        None
    }

    fn queries(&self) -> bool {
        self.function.queries
    }
}

impl Call {
    fn arguments_of_group<'py>(
        &self,
        py: Python<'py>,
        rows: GroupedRows<'_>,
        group: usize,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let own = rows.rows_of(group);
        let mut first = 0;
        let mut made: Vec<Py<PyAny>> = Vec::with_capacity(self.arguments.len());
        for argument in &self.arguments {
            match argument {
                TableArgument::Value(value) if value.is_null() => made.push(py.None()),
                TableArgument::Value(value) => {
                    let vector = Vector::from_sql_values(value.logical_type(), std::slice::from_ref(value));
                    let vector = vector.map_err(|error| crate::errors::exception(py, &error))?;
                    let lists = arguments::lists(py, &[vector], 1)?;
                    let object = lists.first().map(|list| list.get_item(0)).transpose()?;
                    made.push(object.map_or_else(|| py.None(), Bound::unbind));
                }
                TableArgument::Table(columns) => {
                    let taken = &rows.args[first..first + columns.len()];
                    first += columns.len();
                    let slices: Vec<Vector> =
                        taken.iter().map(|arg| arg.slice(own.start, own.len())).collect();
                    let arrays = self.function.arguments(py, &slices, own.len(), &Kept::new())?;
                    let names: Vec<&str> = columns.iter().map(|(name, _)| name.as_str()).collect();
                    let maker = py.import("inlay._udtf")?.getattr("table_argument")?;
                    made.push(maker.call1((self.style_name(), names, arrays))?.unbind());
                }
            }
        }
        PyTuple::new(py, made)
    }

    fn style_name(&self) -> &'static str {
        match self.function.style {
            Style::Numpy(..) | Style::Rows => "numpy",
            Style::Arrow => "arrow",
            Style::Pandas => "pandas",
            Style::Polars => "polars",
        }
    }

    /// Appends the rows that a call gave; returns their number.
    fn append(
        &self,
        py: Python<'_>,
        given: &Bound<'_, PyAny>,
        row_type: &LogicalType,
        interrupt: &Interrupt,
        all: &mut Rows,
    ) -> Outcome<usize> {
        let pieces = py.import("inlay._udtf")?.getattr("pieces")?;
        let pieces = pieces.call1((&self.function.name, given, self.names.clone()))?;
        let mut count = 0;
        for piece in pieces.try_iter()? {
            interrupt.check()?;
            let (len, columns): (usize, Vec<Bound<'_, PyAny>>) = piece?.extract()?;
            if len == 0 {
                continue;
            }
            let mut vectors = Vec::with_capacity(columns.len());
            for (function, value) in self.columns.iter().zip(columns) {
                let given = Given { function, args: &[], len, value, per: Per::Row };
                vectors.push(given.into_vector(py)?.flatten());
            }
            let children: Vec<&Vector> = vectors.iter().collect();
            all.append(&pack_struct(row_type, &children, len, None)?)?;
            count += len;
        }
        Ok(count)
    }
}
