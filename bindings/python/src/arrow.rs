//! The Arrow PyCapsule interface, both ways: `__arrow_c_stream__`.
//! Source: <https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html>.

use crate::errors::unwrapped;
use inlay::QueryResult;
use inlay::types::arrow::{ArrowArrayStream, Exporter, StreamReader, StringLayout};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyCapsuleMethods};
use std::ffi::CStr;
use std::sync::{Mutex, PoisonError};

const STREAM: &CStr = c"arrow_array_stream";

/// Rows of a delivered record batch, about.
const CHUNK_ROWS: usize = 1 << 17;

/// A result that Arrow libraries read.
#[pyclass(frozen, module = "inlay")]
pub struct ArrowStream {
    /// Gone when it was handed out as a whole.
    result: Mutex<Option<QueryResult>>,
    strings: StringLayout,
    /// Whether the consumer wants all rows, and not one record batch after the other.
    whole: bool,
    chunk_rows: usize,
}

impl ArrowStream {
    /// A stream of the result's rows, of which record batches are made one after the other.
    fn lazy(result: QueryResult, strings: StringLayout, chunk_rows: usize) -> Self {
        Self { result: Mutex::new(Some(result)), strings, whole: false, chunk_rows }
    }

    /// A stream of the result's rows for a consumer that keeps them all.
    fn whole(result: QueryResult, strings: StringLayout) -> Self {
        Self { result: Mutex::new(Some(result)), strings, whole: true, chunk_rows: CHUNK_ROWS }
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
        let mut result = self.result.lock().unwrap_or_else(PoisonError::into_inner);
        // Its memory goes back while the rows are converted.
        let found = if self.whole { result.take() } else { result.clone() };
        drop(result);
        let found = found.ok_or_else(|| PyRuntimeError::new_err("these rows were handed out already"))?;
        match self.whole {
            true => export_all(py, found, self.strings),
            false => export_chunks(py, found, self.strings, self.chunk_rows),
        }
    }
}

/// The rows as a stream in a capsule; each record batch is converted when it is asked for.
pub fn export(py: Python<'_>, result: QueryResult, strings: StringLayout) -> PyResult<Bound<'_, PyCapsule>> {
    export_chunks(py, result, strings, CHUNK_ROWS)
}

fn export_chunks(
    py: Python<'_>,
    result: QueryResult,
    strings: StringLayout,
    chunk_rows: usize,
) -> PyResult<Bound<'_, PyCapsule>> {
    let exporter = Exporter::new(result.names(), result.types()).with_strings(strings);
    let chunks = result.chunks(chunk_rows).into_iter().filter(|rows| !rows.is_empty());
    let convert = exporter.clone();
    let arrays = chunks.map(move |rows| result.arrow_array(&convert, rows));
    PyCapsule::new_with_value(py, exporter.stream_arrays(arrays), STREAM)
}

/// The rows as a stream in a capsule, all of them converted now by all workers.
fn export_all(py: Python<'_>, result: QueryResult, strings: StringLayout) -> PyResult<Bound<'_, PyCapsule>> {
    let exporter = Exporter::new(result.names(), result.types()).with_strings(strings);
    let arrays = unwrapped(py, py.detach(|| result.into_arrow_arrays(&exporter, CHUNK_ROWS)))?;
    PyCapsule::new_with_value(py, exporter.stream_arrays(arrays.into_iter().map(Ok)), STREAM)
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
    let stream = Bound::new(py, ArrowStream::whole(result, StringLayout::Utf8))?;
    py.import("pyarrow")?.getattr("table")?.call1((stream,))
}

/// The only column of a result, of texts, as a `pyarrow.ChunkedArray` of `large_string`, which pandas holds texts in.
pub fn large_texts<'py>(py: Python<'py>, column: QueryResult) -> PyResult<Bound<'py, PyAny>> {
    let stream = Bound::new(py, ArrowStream::whole(column, StringLayout::LargeUtf8))?;
    py.import("pyarrow")?.getattr("table")?.call1((stream,))?.call_method1("column", (0,))
}

/// A `pyarrow.RecordBatchReader`.
pub fn reader<'py>(
    py: Python<'py>,
    result: QueryResult,
    rows_per_batch: Option<usize>,
) -> PyResult<Bound<'py, PyAny>> {
    let rows = rows_per_batch.unwrap_or(CHUNK_ROWS).max(1);
    let stream = Bound::new(py, ArrowStream::lazy(result, StringLayout::Utf8, rows))?;
    py.import("pyarrow")?.getattr("RecordBatchReader")?.call_method1("from_stream", (stream,))
}

/// A `polars.DataFrame`.
pub fn polars<'py>(py: Python<'py>, result: QueryResult) -> PyResult<Bound<'py, PyAny>> {
    let stream = Bound::new(py, ArrowStream::whole(result, StringLayout::View))?;
    py.import("polars")?.getattr("DataFrame")?.call1((stream,))
}
