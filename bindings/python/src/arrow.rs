//! The Arrow PyCapsule interface, both ways: `__arrow_c_stream__`.
//! Source: <https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html>.

use crate::errors::unwrapped;
use inlay::QueryResult;
use inlay::types::arrow::{ArrowArrayStream, Exporter, StreamReader, StringLayout};
use inlay::types::{Batch, VECTOR_SIZE};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyCapsuleMethods};
use std::ffi::CStr;
use std::ops::Range;

const STREAM: &CStr = c"arrow_array_stream";

/// Rows of a delivered record batch, about.
const CHUNK_ROWS: usize = 1 << 17;

/// A result that Arrow libraries read.
#[pyclass(frozen, module = "inlay")]
pub struct ArrowStream {
    result: QueryResult,
    strings: StringLayout,
}

impl ArrowStream {
    /// A stream of the result's rows.
    pub fn new(result: QueryResult, strings: StringLayout) -> Self {
        Self { result, strings }
    }
}

#[pymethods]
impl ArrowStream {
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // A request for another schema may be ignored, says the interface.
        let _ = requested_schema;
        export(py, self.result.clone(), self.strings)
    }
}

/// The rows as a stream in a capsule.
pub fn export(py: Python<'_>, result: QueryResult, strings: StringLayout) -> PyResult<Bound<'_, PyCapsule>> {
    let exporter = Exporter::new(result.names(), result.types()).with_strings(strings);
    let ranges = result.chunks(CHUNK_ROWS).into_iter();
    let stream = exporter.stream(Chunks { result, ranges });
    PyCapsule::new_with_value(py, stream, STREAM)
}

/// Joins the batches of one chunk after the other.
struct Chunks {
    result: QueryResult,
    ranges: std::vec::IntoIter<Range<usize>>,
}

impl Iterator for Chunks {
    type Item = inlay::Result<Batch>;

    fn next(&mut self) -> Option<Self::Item> {
        let range = self.ranges.next()?;
        if let [batch] = &self.result.batches()[range.clone()] {
            debug_assert!(batch.len() <= VECTOR_SIZE);
            return Some(Ok(batch.clone()));
        }
        let len = self.result.batches()[range.clone()].iter().map(Batch::len).sum();
        if len == 0 {
            return None;
        }
        let columns = (0..self.result.types().len()).map(|index| self.result.column_of(index, range.clone()));
        Some(columns.collect::<inlay::Result<Vec<_>>>().map(|columns| Batch::new(columns, len)))
    }
}

/// The stream of an object that has `__arrow_c_stream__`.
pub fn import(py: Python<'_>, object: &Bound<'_, PyAny>) -> PyResult<StreamReader> {
    let capsule = object.call_method0("__arrow_c_stream__")?;
    let capsule = capsule.cast::<PyCapsule>()?;
    let pointer = capsule.pointer_checked(Some(STREAM))?.cast::<ArrowArrayStream>();
    // SAFETY: a capsule of this name holds a stream, says the interface; it was made for us, and we hold the GIL while
    // the stream is moved out of it.
    let reader = unsafe { StreamReader::take(pointer.as_ptr()) };
    unwrapped(py, reader)
}

/// A `pyarrow.Table`; strings as `string`, because few of pyarrow's functions take views.
pub fn table<'py>(py: Python<'py>, result: QueryResult) -> PyResult<Bound<'py, PyAny>> {
    let stream = Bound::new(py, ArrowStream::new(result, StringLayout::Utf8))?;
    py.import("pyarrow")?.getattr("table")?.call1((stream,))
}

/// A `pyarrow.RecordBatchReader`.
pub fn reader<'py>(py: Python<'py>, result: QueryResult) -> PyResult<Bound<'py, PyAny>> {
    let stream = Bound::new(py, ArrowStream::new(result, StringLayout::Utf8))?;
    py.import("pyarrow")?.getattr("RecordBatchReader")?.call_method1("from_stream", (stream,))
}

/// A `polars.DataFrame`.
pub fn polars<'py>(py: Python<'py>, result: QueryResult) -> PyResult<Bound<'py, PyAny>> {
    let stream = Bound::new(py, ArrowStream::new(result, StringLayout::View))?;
    py.import("polars")?.getattr("DataFrame")?.call1((stream,))
}
