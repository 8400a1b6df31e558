//! The Arrow PyCapsule interface, both ways: `__arrow_c_stream__`.
//! Source: <https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html>.

#![expect(unsafe_code, reason = "capsules of the Arrow C interface")]

use crate::cursor::Unread;
use crate::errors::{exception, unwrapped};
use inlay::QueryResult;
use inlay::types::LogicalType;
use inlay::types::arrow::{
    ArrowArray, ArrowArrayStream, ArrowField, ArrowRecords, ArrowSchema, Exporter, StreamReader, StringLayout,
};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyCapsule, PyCapsuleMethods};
use std::ffi::CStr;
use std::sync::{Mutex, PoisonError};

const STREAM: &CStr = c"arrow_array_stream";
/// An object may give the same capsule twice, and without a GIL to two threads at once.
static TAKING: Mutex<()> = Mutex::new(());

const ARRAY: &CStr = c"arrow_array";
const SCHEMA: &CStr = c"arrow_schema";

/// A result that Arrow libraries read.
#[pyclass(frozen, module = "inlay")]
pub struct ArrowStream {
    /// Gone when they were handed out.
    rows: Mutex<Option<Rows>>,
    strings: StringLayout,
    /// Whether a data frame is made, whose calendar has no infinity.
    is_frame: bool,
}

/// What a consumer wants.
enum Rows {
    /// All rows, to keep them.
    Whole(Unread),
    /// One record batch of about so many rows after the other.
    Chunks(Unread, usize),
}

impl ArrowStream {
    fn new(rows: Rows, strings: StringLayout) -> Self {
        Self { rows: Mutex::new(Some(rows)), strings, is_frame: false }
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
        // Memory goes back while the rows are converted.
        match self.rows.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(Rows::Whole(rows)) => export_all(py, rows, self.strings, self.is_frame),
            Some(Rows::Chunks(rows, chunk_rows)) => export_chunks(py, rows, self.strings, chunk_rows),
            None => Err(PyRuntimeError::new_err("these rows were handed out already")),
        }
    }
}

/// The rows as a stream in a capsule; each record batch is computed and converted when it is asked for.
pub fn export(py: Python<'_>, rows: Unread, strings: StringLayout) -> PyResult<Bound<'_, PyCapsule>> {
    export_chunks(py, rows, strings, inlay::ARROW_ROWS)
}

fn export_chunks(
    py: Python<'_>,
    rows: Unread,
    strings: StringLayout,
    chunk_rows: usize,
) -> PyResult<Bound<'_, PyCapsule>> {
    PyCapsule::new_with_value(py, rows.rows.into_arrow_stream(strings, chunk_rows), STREAM)
}

/// The rows as a stream in a capsule, all of them converted now by all workers.
fn export_all(
    py: Python<'_>,
    rows: Unread,
    strings: StringLayout,
    is_frame: bool,
) -> PyResult<Bound<'_, PyCapsule>> {
    let first = &rows.rows.first;
    let exporter = Exporter::new(first.names(), first.types()).with_strings(strings);
    let exporter = if is_frame { exporter.refusing_unshown_moments() } else { exporter };
    let arrays = rows.delivered(py, |delivery| delivery.into_arrow_arrays(&exporter, inlay::ARROW_ROWS))?;
    PyCapsule::new_with_value(py, exporter.stream_arrays(arrays.into_iter().map(Ok)), STREAM)
}

/// The stream of an object that has `__arrow_c_stream__`.
pub fn import(py: Python<'_>, object: &Bound<'_, PyAny>) -> PyResult<StreamReader> {
    let capsule = object.call_method0("__arrow_c_stream__")?;
    let capsule = capsule.cast::<PyCapsule>()?;
    let _taking = TAKING.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
    let pointer = capsule.pointer_checked(Some(STREAM))?.cast::<ArrowArrayStream>();
    // SAFETY: a capsule of this name holds a stream, says the interface; it was made for us, and nobody else
    // moves a stream out while we do.
    let reader = unsafe { StreamReader::take(pointer.as_ptr()) };
    unwrapped(py, reader)
}

/// The array of an object that has `__arrow_c_array__`, with its field.
pub fn import_array(py: Python<'_>, object: &Bound<'_, PyAny>) -> PyResult<(ArrowField, ArrowRecords)> {
    let (schema, array): (Bound<'_, PyAny>, Bound<'_, PyAny>) =
        object.call_method0("__arrow_c_array__")?.extract()?;
    let schema = schema.cast::<PyCapsule>()?.pointer_checked(Some(SCHEMA))?.cast::<ArrowSchema>();
    let array = array.cast::<PyCapsule>()?.pointer_checked(Some(ARRAY))?.cast::<ArrowArray>();
    // SAFETY: a capsule of this name holds a schema, says the interface, and it lives as long as the capsule, which is held here.
    let schema = unsafe { schema.as_ref() };
    if schema.release.is_none() {
        return Err(crate::errors::misuse(py, "an Arrow array came with a schema that was released already"));
    }
    let field = unwrapped(py, ArrowField::read(schema))?;
    let _taking = TAKING.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
    // SAFETY: a capsule of this name holds an array, says the interface; it was made for us, and this thread alone moves it out.
    let array = unwrapped(py, unsafe { ArrowArray::take(array.as_ptr()) })?;
    let records = unwrapped(py, ArrowRecords::import(array, &field))?;
    Ok((field, records))
}

/// How pyarrow gets the strings of a session's results: as `string`, because few of its functions take others, unless
/// settings say so.
pub fn layout_of(session: &inlay::Connection) -> StringLayout {
    let is_on = |name: &str| {
        let value = session.setting(name).map(|value| value.to_string().to_lowercase());
        value.is_some_and(|value| matches!(value.as_str(), "true" | "on" | "1"))
    };
    match (is_on("produce_arrow_string_view"), is_on("arrow_large_buffer_size")) {
        (true, _) => StringLayout::View,
        (false, true) => StringLayout::LargeUtf8,
        (false, false) => StringLayout::Utf8,
    }
}

/// How a consumer wants strings that it asks for by a schema; else as [`layout_of`] says.
pub fn layout_for(
    py: Python<'_>,
    requested_schema: Option<&Bound<'_, PyAny>>,
    session: &inlay::Connection,
) -> PyResult<StringLayout> {
    let Some(capsule) = requested_schema.filter(|schema| !schema.is_none()) else {
        return Ok(layout_of(session));
    };
    let pointer = capsule.cast::<PyCapsule>()?.pointer_checked(Some(SCHEMA))?.cast::<ArrowSchema>();
    // SAFETY: a capsule of this name holds a schema, says the interface, and it lives as long as the capsule, which the
    // caller holds.
    let schema = unsafe { pointer.as_ref() };
    if schema.release.is_none() {
        return Ok(layout_of(session));
    }
    Ok(unwrapped(py, ArrowField::read(schema))?.strings().unwrap_or_else(|| layout_of(session)))
}

/// A `pyarrow.Table`.
pub fn table<'py>(py: Python<'py>, rows: Unread, strings: StringLayout) -> PyResult<Bound<'py, PyAny>> {
    let stream = Bound::new(py, ArrowStream::new(Rows::Whole(rows), strings))?;
    // `pyarrow.table` imports pandas, to see whether it was given a frame.
    let reader =
        py.import("pyarrow")?.getattr("RecordBatchReader")?.call_method1("from_stream", (stream,))?;
    reader.call_method0("read_all")
}

/// The only column of a result, of texts, as a `pyarrow.ChunkedArray` of `large_string`, which pandas holds texts in.
pub fn large_texts<'py>(py: Python<'py>, column: QueryResult) -> PyResult<Bound<'py, PyAny>> {
    let stream = Bound::new(py, ArrowStream::new(Rows::Whole(column.into()), StringLayout::LargeUtf8))?;
    py.import("pyarrow")?.getattr("table")?.call1((stream,))?.call_method1("column", (0,))
}

/// A `pyarrow.RecordBatchReader`, whose batches have `rows_per_batch` rows, but for the last one.
pub fn reader<'py>(
    py: Python<'py>,
    rows: Unread,
    rows_per_batch: Option<usize>,
    strings: StringLayout,
) -> PyResult<Bound<'py, PyAny>> {
    let rows = Rows::Chunks(rows, rows_per_batch.unwrap_or(inlay::ARROW_ROWS).max(1));
    let stream = Bound::new(py, ArrowStream::new(rows, strings))?;
    let reader =
        py.import("pyarrow")?.getattr("RecordBatchReader")?.call_method1("from_stream", (stream,))?;
    match rows_per_batch {
        Some(count) => py.import("inlay._tables")?.getattr("even_batches")?.call1((reader, count)),
        None => Ok(reader),
    }
}

/// What Polars has no type for in values of a type: it panics where it is given one.
pub fn unknown_to_polars(ty: &LogicalType) -> Option<&'static str> {
    if ty.has_part(&|part| *part == LogicalType::Interval) {
        return Some("INTERVAL");
    }
    ty.has_part(&|part| matches!(part, LogicalType::Union(_))).then_some("UNION")
}

/// A `polars.DataFrame`.
pub fn polars<'py>(py: Python<'py>, mut rows: Unread) -> PyResult<Bound<'py, PyAny>> {
    let first = &rows.rows.first;
    let mut columns = first.names().iter().zip(first.types());
    if let Some((name, ty, what)) = columns.find_map(|(name, ty)| Some((name, ty, unknown_to_polars(ty)?))) {
        let fix = match ty {
            LogicalType::Interval => format!("select epoch_us(\"{name}\"), or cast it to VARCHAR"),
            _ if what == "INTERVAL" => "cast it to VARCHAR".to_string(),
            _ => format!("select union_extract(\"{name}\", 'a member'), or cast it to VARCHAR"),
        };
        let error = inlay::Error::Unsupported {
            feature: format!("the {what} of \"{name}\" in a frame of Polars, which has no such type,"),
            alternative: Some(fix),
        };
        return Err(exception(py, &error));
    }
    // Columns of a frame have different names.
    let names = rows.rows.first.unique_names();
    rows.rows.first = rows.rows.first.with_names(names);
    let stream = ArrowStream { is_frame: true, ..ArrowStream::new(Rows::Whole(rows), StringLayout::View) };
    let stream = Bound::new(py, stream)?;
    py.import("polars")?.getattr("DataFrame")?.call1((stream,))
}
