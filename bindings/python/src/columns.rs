//! Columns of Arrow, Polars and pandas beside others in a dictionary or list: they keep their types, by way of Arrow.

use crate::arrow;
use crate::errors::unwrapped;
use crate::register::{Nan, enum_of, values_of};
use inlay::types::arrow::ArrowRecords;
use inlay::types::{Error, LogicalType, Result, Vector, VectorBuilder};
use inlay::{DeferredColumn, SourceValues, Value, cast};
use pyo3::prelude::*;
use std::ops::Range;
use std::sync::Arc;

/// The column of a dictionary: what `inlay._tables.arrow_column` has as Arrow's, or what NumPy makes of it.
pub fn column_of(
    py: Python<'_>,
    column: &str,
    values: &Bound<'_, PyAny>,
    nan: Nan,
) -> PyResult<SourceValues> {
    if values.get_type().is(&py.import("numpy")?.getattr("ndarray")?) {
        return values_of(py, column, values, nan);
    }
    let made = py.import("inlay._tables")?.getattr("arrow_column")?.call1((column, values))?;
    type Made<'py> = (Option<Bound<'py, PyAny>>, Bound<'py, PyAny>, Option<Vec<String>>, bool);
    let (columns, array, words, has_infinity): Made<'_> = made.extract()?;
    match columns {
        Some(columns) => {
            let column = Parts::read(py, &columns, enum_of(py, words)?, has_infinity)?;
            Ok(SourceValues::Deferred(Arc::new(column)))
        }
        None => values_of(py, column, &array, nan),
    }
}

/// The only value of a table of one, which is a scalar of pyarrow.
pub fn scalar(py: Python<'_>, table: &Bound<'_, PyAny>) -> PyResult<Value> {
    let values = unwrapped(py, Parts::read(py, table, None, true)?.values(0..1))?;
    Ok(values.get(0))
}

/// The first column of record batches.
struct Parts {
    records: Vec<ArrowRecords>,
    ty: LogicalType,
    /// Whether the batches have texts, of which the type is an ENUM.
    is_enum: bool,
    len: usize,
}

impl Parts {
    fn read(
        py: Python<'_>,
        object: &Bound<'_, PyAny>,
        words: Option<LogicalType>,
        has_infinity: bool,
    ) -> PyResult<Self> {
        let mut stream = arrow::import(py, object)?;
        stream = if has_infinity { stream } else { stream.without_infinity() };
        let read = py.detach(|| -> Result<Self> {
            let records = stream.by_ref().collect::<Result<Vec<_>>>()?;
            let field = stream.field().children.first();
            let field = field.ok_or_else(|| Error::internal("a column came as a table without columns"))?;
            let ty = match &words {
                Some(words) => words.clone(),
                None => field.logical_type()?,
            };
            let len = records.iter().map(ArrowRecords::len).sum();
            Ok(Self { records, ty, is_enum: words.is_some(), len })
        });
        unwrapped(py, read)
    }

    fn part(&self, records: &ArrowRecords, from: usize, len: usize) -> Result<Vector> {
        let column = records.columns().first();
        let column = column.ok_or_else(|| Error::internal("a record batch without its column"))?;
        let vector = column.vector(from, len)?;
        if !self.is_enum {
            return Ok(vector);
        }
        let mut words = Vector::empty(self.ty.clone());
        cast(&vector, &self.ty, false, &mut words)?;
        Ok(words)
    }
}

impl DeferredColumn for Parts {
    fn ty(&self) -> LogicalType {
        self.ty.clone()
    }

    fn len(&self) -> usize {
        self.len
    }

    fn values(&self, rows: Range<usize>) -> Result<Vector> {
        let (mut start, mut parts) = (0, Vec::new());
        for records in &self.records {
            let (from, to) = (rows.start.max(start), rows.end.min(start + records.len()));
            if from < to {
                parts.push(self.part(records, from - start, to - from)?);
            }
            start += records.len();
        }
        if parts.len() == 1 {
            return Ok(parts.remove(0));
        }
        let mut builder = VectorBuilder::new(self.ty.clone(), rows.len());
        parts.iter().for_each(|part| builder.append(&part.flatten()));
        Ok(builder.finish())
    }
}
