//! `inlay.connect` and `inlay.Connection`.

use crate::appender::Appender;
use crate::arrow;
use crate::cursor::{self, Cursor, Holder, Unread};
use crate::errors::{misuse, unwrapped};
use crate::filesystem;
use crate::functions;
use crate::host::{self, InCall, PythonHost, hosted};
use crate::numpy::Decimals;
use crate::parameters::{self, Given};
use crate::pending::PendingColumns;
use crate::prepared::Prepared;
use crate::register;
use crate::result::Answer;
use inlay::sql::{self, Part};
use inlay::{Database, Extent, ParameterShape, Parameters, QueryResult, ResultKind, Value};
use pyo3::exceptions::{PyKeyError, PyUserWarning};
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyCapsule, PyDict, PyList, PyString, PyTuple};
use std::borrow::Cow;
use std::ffi::CString;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

#[doc = doc!("connect")]
#[pyfunction]
#[pyo3(signature = (database = None, read_only = false, config = None, *, allow_python = None, sandbox = None, decimal = None))]
pub fn connect(
    py: Python<'_>,
    database: Option<&Bound<'_, PyAny>>,
    read_only: bool,
    config: Option<&Bound<'_, PyDict>>,
    allow_python: Option<bool>,
    sandbox: Option<bool>,
    decimal: Option<String>,
) -> PyResult<Py<Connection>> {
    let path = match database.filter(|path| !path.is_none()) {
        Some(path) => py.import("os")?.getattr("fsdecode")?.call1((path,))?.extract()?,
        None => ":memory:".to_string(),
    };
    if path == ":default:" {
        if read_only || decimal.is_some() || config.is_some_and(|config| !config.is_empty()) {
            let message =
                "\":default:\" is the default connection, which is open: it takes no read_only and no config";
            return Err(misuse(py, message));
        }
        return Ok(py.import("inlay")?.getattr("default_connection")?.call0()?.extract()?);
    }
    let mut settings: Vec<(String, Value)> = Vec::new();
    for item in config.into_iter().flat_map(|config| config.items()) {
        let (name, value): (String, Bound<'_, PyAny>) = item.extract()?;
        settings.push((name, parameters::value(py, &value)?));
    }
    let said = [
        ("allow_python", allow_python.map(Value::Boolean)),
        ("sandbox", sandbox.map(Value::Boolean)),
        ("decimal", decimal.map(Value::Varchar)),
    ];
    for (name, value) in said.into_iter().filter_map(|(name, value)| Some((name, value?))) {
        settings.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        settings.push((name.to_string(), value));
    }
    if read_only {
        settings.push(("access_mode".to_string(), Value::Varchar("read_only".to_string())));
    }
    // Opening may replay a log.
    let (database, note) = unwrapped(py, py.detach(|| Database::open_noting(&path, &settings)))?;
    for warning in database.warning().into_iter().chain(note.as_deref()) {
        PyErr::warn(py, &py.get_type::<PyUserWarning>(), &CString::new(warning)?, 1)?;
    }
    functions::install(&database);
    #[cfg(feature = "sqlite")]
    inlay_sqlite_files::SqliteFiles::install(&database);
    Py::new(py, Connection::new(database.connect(), None))
}

/// Puts what is committed into the files, when the interpreter ends.
#[pyfunction]
pub fn _checkpoint_all(py: Python<'_>) {
    py.detach(Database::checkpoint_all);
}

/// Schema and name, parameters, whether others may follow, what it is called with, declaration, text.
type StoredFunctionFields = ((String, String), Vec<String>, bool, String, String, String);

// `execute` returns another handle of the same session that holds this statement's answer, so that threads which share a
// connection do not fetch each other's rows.
#[doc = doc!("Connection")]
#[pyclass(frozen, weakref, module = "inlay")]
pub struct Connection {
    pub engine: inlay::Connection,
    last: Mutex<Option<Arc<Cursor>>>,
    /// The session's columns that were fetched and not read yet.
    pending: PendingColumns,
    /// How many rows `fetchmany` gives unless it is told.
    arraysize: Arc<AtomicUsize>,
}

impl Connection {
    /// A handle of a session, with an answer of it.
    pub fn new(engine: inlay::Connection, last: Option<Arc<Cursor>>) -> Self {
        let arraysize = Arc::new(AtomicUsize::new(1));
        Self { engine, last: Mutex::new(last), pending: PendingColumns::default(), arraysize }
    }

    /// Another handle of the same session.
    fn handle(&self, cursor: Arc<Cursor>) -> Self {
        Self {
            engine: self.engine.clone(),
            last: Mutex::new(Some(cursor)),
            pending: self.pending.clone(),
            arraysize: Arc::clone(&self.arraysize),
        }
    }

    fn holder(&self) -> Holder<'_> {
        Holder { pending: &self.pending, connection: &self.engine }
    }

    /// Rows of this connection.
    pub fn rows_of(&self, rows: QueryResult) -> Answer {
        Answer::new(rows, self.engine.clone(), self.pending.clone())
    }

    fn set_last(&self, py: Python<'_>, cursor: Option<Arc<Cursor>>) {
        let mut last = self.last.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        let earlier = std::mem::replace(&mut *last, cursor);
        drop(last);
        drop(earlier);
    }

    fn cursor_of_last(&self, py: Python<'_>) -> PyResult<Arc<Cursor>> {
        let last = self.last.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner).clone();
        self.check_open(py)?;
        match last {
            Some(cursor) => Ok(cursor),
            None => Err(misuse(py, "there is no result to fetch from; call execute() first")),
        }
    }

    fn unread(&self, py: Python<'_>) -> PyResult<Unread> {
        self.cursor_of_last(py)?.take(py)
    }

    fn run(&self, py: Python<'_>, query: &str, parameters: &Parameters) -> PyResult<QueryResult> {
        let host = PythonHost::new(&self.engine, Vec::new());
        hosted(py, &host, |host| self.engine.execute_with(query, parameters, Some(host)))
    }

    /// Runs statements, of which the last may be a query whose rows are computed while they are fetched.
    fn begin_reading(
        &self,
        py: Python<'_>,
        host: &Arc<PythonHost>,
        query: &str,
        extent: Extent,
        parameters: &Parameters,
    ) -> PyResult<Arc<Cursor>> {
        let rows = hosted(py, host, |host| self.engine.stream_extent(query, extent, parameters, Some(host)))?;
        Ok(Arc::new(Cursor::new(rows, Some(Arc::clone(host)))))
    }

    /// What types the parameters of a statement become, if that matters. Of a script, and of a text that is wrong, that is not known.
    fn wanted(
        &self,
        py: Python<'_>,
        host: &Arc<PythonHost>,
        query: &str,
        matters: bool,
    ) -> Vec<ParameterShape> {
        if !matters {
            return Vec::new();
        }
        let shape = hosted(py, host, |host| self.engine.prepare(query)?.describe(Some(host)));
        shape.map_or_else(|_| Vec::new(), |shape| shape.parameters)
    }

    pub fn reading(&self, rows: QueryResult) -> Arc<Cursor> {
        Arc::new(Cursor::new(inlay::Cursor::new(self.engine.clone(), rows, None), None))
    }

    /// Another handle, with this answer, which is also the session's last.
    pub fn answer(&self, py: Python<'_>, cursor: Arc<Cursor>) -> Connection {
        self.set_last(py, Some(Arc::clone(&cursor)));
        self.handle(cursor)
    }
}

/// The SQL of an argument: a text, or a statement that `extract_statements` gave.
fn sql_of<'a>(query: &'a Bound<'_, PyAny>) -> PyResult<Cow<'a, str>> {
    match query.cast::<PyString>() {
        Ok(text) => parameters::text_of(text),
        Err(error) => match query.getattr("query") {
            Ok(text) => text.extract().map(Cow::Owned),
            Err(_) => Err(error.into()),
        },
    }
}

#[pymethods]
impl Connection {
    #[doc = doc!("Connection.execute")]
    #[pyo3(signature = (query, parameters = None))]
    fn execute(
        &self,
        py: Python<'_>,
        query: &Bound<'_, PyAny>,
        parameters: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Connection> {
        let _call = InCall::of(&self.engine);
        let query = sql_of(query)?;
        let given = Given::read(py, parameters)?;
        let host = PythonHost::new(&self.engine, Vec::new());
        let wanted = self.wanted(py, &host, &query, given.is_mixed());
        let parameters = given.for_types(py, &wanted)?;
        let cursor = self.begin_reading(py, &host, &query, Extent::Script, &parameters)?;
        Ok(self.answer(py, cursor))
    }

    #[doc = doc!("Connection.prepare")]
    fn prepare(slf: PyRef<'_, Self>, py: Python<'_>, query: &Bound<'_, PyAny>) -> PyResult<Prepared> {
        let (engine, query) = (slf.engine.clone(), sql_of(query)?);
        let prepared = unwrapped(py, py.detach(|| engine.prepare(&query)))?;
        Ok(Prepared { connection: slf.into(), prepared })
    }

    #[doc = doc!("Connection.executemany")]
    #[pyo3(signature = (query, parameters))]
    fn executemany(
        &self,
        py: Python<'_>,
        query: &Bound<'_, PyAny>,
        parameters: &Bound<'_, PyAny>,
    ) -> PyResult<Connection> {
        let _call = InCall::of(&self.engine);
        let query = sql_of(query)?;
        let sets = parameters.try_iter()?.map(|set| Given::read(py, Some(&set?)));
        let sets = sets.collect::<PyResult<Vec<_>>>()?;
        let host = PythonHost::new(&self.engine, Vec::new());
        let wanted = self.wanted(py, &host, &query, sets.iter().any(Given::is_mixed));
        let sets = sets.into_iter().map(|set| set.for_types(py, &wanted)).collect::<PyResult<Vec<_>>>()?;
        let result = hosted(py, &host, |host| self.engine.execute_many(&query, &sets, Some(host)))?;
        Ok(self.answer(py, self.reading(result)))
    }

    /// Gives the text of a statement, its columns and types if it is a query that changes nothing, and the tables that it
    /// found in Python. Of a script, it runs all statements but the last one, which is described; otherwise a second
    /// statement is an error.
    #[pyo3(signature = (query, tables, is_script = false))]
    #[expect(clippy::type_complexity, reason = "a tuple for Python")]
    fn _describe<'py>(
        &self,
        py: Python<'py>,
        query: &str,
        tables: &Bound<'py, PyDict>,
        is_script: bool,
    ) -> PyResult<(String, Option<(Vec<String>, Vec<String>)>, Bound<'py, PyDict>)> {
        let _call = InCall::of(&self.engine);
        let host = PythonHost::new(&self.engine, host::tables_of(Some(tables))?);
        let parameters = Parameters::default();
        let extent = if is_script { Extent::Script } else { Extent::Statement };
        let described =
            hosted(py, &host, |host| self.engine.describe_with(query, extent, &parameters, Some(host)))?;
        let columns = described
            .columns
            .map(|columns| columns.into_iter().map(|(name, ty)| (name, ty.to_string())).unzip());
        Ok((described.sql, columns, host::dictionary_of(py, host.found())?))
    }

    /// Runs one statement with the tables that it names; the rows, or how many it changed, or `None`.
    fn _run<'py>(
        &self,
        py: Python<'py>,
        query: &str,
        tables: &Bound<'py, PyDict>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let _call = InCall::of(&self.engine);
        let host = PythonHost::new(&self.engine, host::tables_of(Some(tables))?).answered();
        let parameters = Parameters::default();
        let result = hosted(py, &host, |host| self.engine.execute_one(query, &parameters, Some(host)))?;
        match result.kind() {
            ResultKind::Rows => {
                let answer = self.rows_of(result);
                Ok(Some(Bound::new(py, answer)?.into_any()))
            }
            ResultKind::Changed(count) => Ok(Some(count.into_pyobject(py)?.into_any())),
            ResultKind::Done => Ok(None),
        }
    }

    /// Runs a query with the tables that it names; the rows are computed while they are fetched.
    fn _stream(&self, py: Python<'_>, query: &str, tables: &Bound<'_, PyDict>) -> PyResult<Connection> {
        let _call = InCall::of(&self.engine);
        let host = PythonHost::new(&self.engine, host::tables_of(Some(tables))?);
        let cursor = self.begin_reading(py, &host, query, Extent::Statement, &Parameters::default())?;
        Ok(self.handle(cursor))
    }

    /// An object as a table.
    fn _table(&self, py: Python<'_>, name: &str, object: &Bound<'_, PyAny>) -> PyResult<register::Table> {
        let _call = InCall::of(&self.engine);
        self.check_open(py)?;
        Ok(register::Table { source: register::source(py, name, object, self.engine.host_settings())? })
    }

    /// A value as SQL.
    #[staticmethod]
    fn _literal(py: Python<'_>, value: &Bound<'_, PyAny>) -> PyResult<String> {
        Ok(parameters::value(py, value)?.to_sql())
    }

    /// The statements of a text: SQL, kind, parameters, and the parts of the names of its tables.
    #[staticmethod]
    #[expect(clippy::type_complexity, reason = "tuples for Python")]
    fn _statements(
        py: Python<'_>,
        query: &str,
    ) -> PyResult<Vec<(String, &'static str, Vec<String>, Vec<Vec<String>>)>> {
        let found = unwrapped(py, py.detach(|| sql::statements(query)))?;
        Ok(found.into_iter().map(|one| (one.sql, one.command.family(), one.parameters, one.tables)).collect())
    }

    /// Fails unless a text is one part of a statement, and nothing else: `"expression"`, `"order"`, ...
    #[staticmethod]
    fn _check(py: Python<'_>, part: &str, text: &str) -> PyResult<()> {
        let known = Part::ALL.into_iter().find(|known| known.name() == part);
        let known = known.ok_or_else(|| misuse(py, format!("\"{part}\" is no part of a statement")))?;
        unwrapped(py, sql::check_part(known, text))
    }

    /// The name of a table as SQL writes it; see [`sql::table_path`].
    #[staticmethod]
    fn _quoted(py: Python<'_>, name: &str) -> PyResult<String> {
        unwrapped(py, sql::table_path(name))
    }

    /// The parameters of a text as they are written, and where each begins and ends, in characters.
    #[staticmethod]
    fn _placeholders(py: Python<'_>, query: &str) -> PyResult<Vec<(usize, usize, String)>> {
        let found = unwrapped(py, py.detach(|| sql::placeholders(query)))?;
        Ok(found.into_iter().map(|(range, written)| (range.start, range.end, written)).collect())
    }

    /// Words of the grammar, in lower case.
    #[staticmethod]
    fn _keywords() -> Vec<&'static str> {
        inlay::keyword_names().collect()
    }

    /// What was measured of the last query, if queries are.
    fn _profile(&self, py: Python<'_>, as_text: bool) -> PyResult<Option<String>> {
        let profile = unwrapped(py, py.detach(|| self.engine.profile()))?;
        Ok(profile.map(|profile| if as_text { profile.text() } else { profile.json() }))
    }

    /// Rows with the columns of `query`, which the statement `sql` takes from the table `source`.
    fn _appender(&self, py: Python<'_>, query: &str, sql: &str, source: &str) -> PyResult<Appender> {
        self.check_open(py)?;
        Appender::new(py, &self.engine, query, sql, source)
    }

    fn _create_function(
        &self,
        py: Python<'_>,
        declared: functions::Declared,
        function: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        self.check_open(py)?;
        functions::create(py, &unwrapped(py, self.engine.database())?, declared, function)
    }

    /// Functions that are kept in the database: schema, name, parameters, whether any may follow, what stands between
    /// name and text, text.
    fn _stored_functions(&self, py: Python<'_>) -> PyResult<Vec<StoredFunctionFields>> {
        self.check_open(py)?;
        let stored = unwrapped(py, self.engine.database().and_then(|database| database.stored_functions()))?;
        let fields = |stored: inlay::StoredFunction| {
            let definition = stored.definition;
            let parameters = definition.parameters.into_iter().map(|each| each.name).collect();
            let style = definition.options.into_iter().find(|(name, _)| name == "arguments");
            let style = style.map_or_else(|| "numpy".to_string(), |(_, style)| style);
            let place = (stored.schema, definition.name);
            (place, parameters, definition.is_variadic, style, stored.declaration, definition.body)
        };
        Ok(stored.into_iter().map(fields).collect())
    }

    #[doc = doc!("Connection.remove_function")]
    fn remove_function(slf: PyRef<'_, Self>, py: Python<'_>, name: &str) -> PyResult<Py<Self>> {
        slf.check_open(py)?;
        if !unwrapped(py, slf.engine.database())?.remove_function(name) {
            let message = format!(
                "there is no function \"{name}\" of create_function; DROP FUNCTION drops stored ones"
            );
            return Err(misuse(py, message));
        }
        Ok(slf.into())
    }

    #[doc = doc!("Connection.register_filesystem")]
    fn register_filesystem(&self, py: Python<'_>, filesystem: &Bound<'_, PyAny>) -> PyResult<()> {
        filesystem::register(py, &unwrapped(py, self.engine.database())?, filesystem)
    }

    #[doc = doc!("Connection.unregister_filesystem")]
    fn unregister_filesystem(&self, py: Python<'_>, name: &str) -> PyResult<()> {
        unwrapped(py, self.engine.database())?.unregister_files(name);
        Ok(())
    }

    #[doc = doc!("Connection.list_filesystems")]
    fn list_filesystems(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        Ok(unwrapped(py, self.engine.database())?.registered_files())
    }

    #[doc = doc!("Connection.filesystem_is_registered")]
    fn filesystem_is_registered(&self, py: Python<'_>, name: &str) -> PyResult<bool> {
        Ok(unwrapped(py, self.engine.database())?.has_files(name))
    }

    #[doc = doc!("Connection.complete")]
    fn complete(&self, py: Python<'_>) -> PyResult<()> {
        let _call = InCall::of(&self.engine);
        let last = self.last.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner).clone();
        last.map_or(Ok(()), |cursor| cursor.take(py)?.run_to_end(py))
    }

    #[doc = doc!("Connection.abort")]
    fn abort(&self, py: Python<'_>) -> PyResult<()> {
        let last = self.last.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner).clone();
        last.map_or(Ok(()), |cursor| cursor.take(py).map(drop))
    }

    /// The value of a setting as text; `None` also while a statement runs.
    fn _setting(&self, name: &str) -> Option<String> {
        self.engine.setting(name).map(|value| value.to_string())
    }

    #[doc = doc!("Connection.query_progress")]
    fn query_progress(&self, py: Python<'_>) -> PyResult<f64> {
        self.check_open(py)?;
        Ok(self.engine.progress().map_or(-1.0, |progress| progress.fraction * 100.0))
    }

    #[doc = doc!("Connection.__getitem__")]
    fn __getitem__<'py>(&self, py: Python<'py>, name: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let _call = InCall::of(&self.engine);
        let columns = self.cursor_of_last(py)?.columns(py, self.holder())?;
        match columns.contains(name)? {
            true => columns.as_any().get_item(name),
            false => {
                let known = columns.keys().str()?;
                Err(PyKeyError::new_err(format!("the answer has no column {}; it has {known}", name.repr()?)))
            }
        }
    }

    #[doc = doc!("Connection.keys")]
    fn keys<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let _call = InCall::of(&self.engine);
        Ok(self.cursor_of_last(py)?.columns(py, self.holder())?.keys())
    }

    #[doc = doc!("Connection.fetchone")]
    fn fetchone(&self, py: Python<'_>) -> PyResult<Option<Py<PyTuple>>> {
        let _call = InCall::of(&self.engine);
        self.cursor_of_last(py)?.fetch_one(py)
    }

    #[doc = doc!("Connection.fetchmany")]
    #[pyo3(signature = (size = None))]
    fn fetchmany(&self, py: Python<'_>, size: Option<usize>) -> PyResult<Py<PyList>> {
        let _call = InCall::of(&self.engine);
        let size = size.unwrap_or_else(|| self.arraysize.load(Ordering::Relaxed));
        self.cursor_of_last(py)?.fetch_list(py, size)
    }

    #[doc = doc!("Connection.arraysize")]
    #[getter]
    fn arraysize(&self) -> usize {
        self.arraysize.load(Ordering::Relaxed)
    }

    #[setter]
    fn set_arraysize(&self, size: usize) {
        self.arraysize.store(size, Ordering::Relaxed);
    }

    #[doc = doc!("Connection.setinputsizes")]
    fn setinputsizes(&self, _sizes: &Bound<'_, PyAny>) {}

    #[doc = doc!("Connection.setoutputsize")]
    #[pyo3(signature = (size, column = None))]
    fn setoutputsize(&self, size: &Bound<'_, PyAny>, column: Option<&Bound<'_, PyAny>>) {
        // Values are as long as they are.
        let _ = (size, column);
    }

    #[doc = doc!("Connection.fetchall")]
    fn fetchall(&self, py: Python<'_>) -> PyResult<Py<PyList>> {
        let _call = InCall::of(&self.engine);
        self.cursor_of_last(py)?.fetch_list(py, usize::MAX)
    }

    #[doc = doc!("Connection.fetchnumpy")]
    #[pyo3(signature = (decimal = None, strings = None))]
    fn fetchnumpy<'py>(
        &self,
        py: Python<'py>,
        decimal: Option<&str>,
        strings: Option<&str>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let _call = InCall::of(&self.engine);
        let cursor = self.cursor_of_last(py)?;
        cursor::arrays(py, cursor.take(py)?, cursor.zone(), (decimal, strings), self.holder())
    }

    #[doc = doc!("Connection.df")]
    #[pyo3(signature = (decimal = None))]
    fn df<'py>(&self, py: Python<'py>, decimal: Option<&str>) -> PyResult<Bound<'py, PyAny>> {
        let _call = InCall::of(&self.engine);
        let decimals = Decimals::of(py, decimal, self.engine.host_settings().decimals())?;
        let cursor = self.cursor_of_last(py)?;
        cursor::data_frame(py, cursor.take(py)?, cursor.zone(), decimals)
    }

    /// Up to `rows` more rows as a data frame, fewer where those that were computed together end.
    fn _df_part<'py>(&self, py: Python<'py>, rows: usize) -> PyResult<Bound<'py, PyAny>> {
        let _call = InCall::of(&self.engine);
        let decimals = Decimals::of(py, None, self.engine.host_settings().decimals())?;
        let cursor = self.cursor_of_last(py)?;
        cursor::data_frame(py, cursor.take_some(py, rows)?.into(), cursor.zone(), decimals)
    }

    #[doc = doc!("Connection.arrow")]
    fn arrow<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let _call = InCall::of(&self.engine);
        arrow::table(py, self.unread(py)?, arrow::layout_of(&self.engine))
    }

    #[doc = doc!("Connection.fetch_arrow_table")]
    fn fetch_arrow_table<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.arrow(py)
    }

    #[doc = doc!("Connection.fetch_record_batch")]
    #[pyo3(signature = (rows_per_batch = None))]
    fn fetch_record_batch<'py>(
        &self,
        py: Python<'py>,
        rows_per_batch: Option<usize>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let _call = InCall::of(&self.engine);
        arrow::reader(py, self.unread(py)?, rows_per_batch, arrow::layout_of(&self.engine))
    }

    #[doc = doc!("Connection.pl")]
    fn pl<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let _call = InCall::of(&self.engine);
        arrow::polars(py, self.unread(py)?)
    }

    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _call = InCall::of(&self.engine);
        let strings = arrow::layout_for(py, requested_schema.as_ref(), &self.engine)?;
        arrow::export(py, self.unread(py)?, strings)
    }

    #[doc = doc!("Connection.description")]
    #[getter]
    fn description(&self, py: Python<'_>) -> PyResult<Option<Py<PyList>>> {
        let last = self.last.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner).clone();
        last.map_or(Ok(None), |cursor| cursor.description(py))
    }

    #[doc = doc!("Connection.rowcount")]
    #[getter]
    fn rowcount(&self, py: Python<'_>) -> i64 {
        let last = self.last.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner).clone();
        last.map_or(-1, |cursor| cursor.row_count())
    }

    #[doc = doc!("Connection.in_transaction")]
    #[getter]
    fn in_transaction(&self, py: Python<'_>) -> bool {
        py.detach(|| self.engine.in_transaction())
    }

    #[doc = doc!("Connection.register")]
    fn register(
        slf: PyRef<'_, Self>,
        py: Python<'_>,
        name: &str,
        table: &Bound<'_, PyAny>,
    ) -> PyResult<Py<Self>> {
        let _call = InCall::of(&slf.engine);
        slf.check_open(py)?;
        register::register(py, &slf.engine, name, table)?;
        Ok(slf.into())
    }

    #[doc = doc!("Connection.unregister")]
    fn unregister(slf: PyRef<'_, Self>, py: Python<'_>, name: &str) -> PyResult<Py<Self>> {
        unwrapped(py, slf.engine.unregister(name))?;
        Ok(slf.into())
    }

    #[doc = doc!("Connection.append")]
    #[pyo3(signature = (table_name, data, by_name = false))]
    fn append(
        slf: PyRef<'_, Self>,
        py: Python<'_>,
        table_name: &str,
        data: &Bound<'_, PyAny>,
        by_name: bool,
    ) -> PyResult<Py<Self>> {
        let _call = InCall::of(&slf.engine);
        slf.check_open(py)?;
        let rows = register::source(py, inlay::APPENDED, data, slf.engine.host_settings())?;
        let table = unwrapped(py, sql::table_parts(table_name))?;
        let (engine, host) = (slf.engine.clone(), PythonHost::new(&slf.engine, Vec::new()));
        hosted(py, &host, |host| engine.append(&table, rows, by_name, Some(host)))?;
        Ok(slf.into())
    }

    #[doc = doc!("Connection.transaction")]
    fn transaction(slf: PyRef<'_, Self>) -> Transaction {
        Transaction { connection: slf.into(), blocks: Mutex::default() }
    }

    #[doc = doc!("Connection.checkpoint")]
    fn checkpoint(slf: PyRef<'_, Self>, py: Python<'_>) -> PyResult<Py<Self>> {
        slf.run(py, "CHECKPOINT", &Parameters::default())?;
        Ok(slf.into())
    }

    #[doc = doc!("Connection.backup")]
    fn backup(slf: PyRef<'_, Self>, py: Python<'_>, path: &Bound<'_, PyAny>) -> PyResult<Py<Self>> {
        let path: String = py.import("os")?.getattr("fsdecode")?.call1((path,))?.extract()?;
        let engine = slf.engine.clone();
        unwrapped(py, py.detach(|| engine.backup(&path)))?;
        Ok(slf.into())
    }

    #[doc = doc!("Connection.begin")]
    fn begin(slf: PyRef<'_, Self>, py: Python<'_>) -> PyResult<Py<Self>> {
        let engine = &slf.engine;
        unwrapped(py, py.detach(|| engine.begin()))?;
        Ok(slf.into())
    }

    #[doc = doc!("Connection.commit")]
    fn commit(slf: PyRef<'_, Self>, py: Python<'_>) -> PyResult<Py<Self>> {
        let engine = &slf.engine;
        unwrapped(py, py.detach(|| engine.commit()))?;
        Ok(slf.into())
    }

    #[doc = doc!("Connection.rollback")]
    fn rollback(slf: PyRef<'_, Self>, py: Python<'_>) -> PyResult<Py<Self>> {
        let engine = &slf.engine;
        unwrapped(py, py.detach(|| engine.rollback()))?;
        Ok(slf.into())
    }

    #[doc = doc!("Connection.cursor")]
    fn cursor(&self, py: Python<'_>) -> PyResult<Connection> {
        Ok(Connection::new(unwrapped(py, self.engine.cursor())?, None))
    }

    #[doc = doc!("Connection.duplicate")]
    fn duplicate(&self, py: Python<'_>) -> PyResult<Connection> {
        self.cursor(py)
    }

    #[doc = doc!("Connection.interrupt")]
    fn interrupt(&self, py: Python<'_>) -> PyResult<()> {
        self.check_open(py)?;
        self.engine.interrupt();
        Ok(())
    }

    #[doc = doc!("Connection.set_priority")]
    fn set_priority(&self, py: Python<'_>, priority: &str) -> PyResult<()> {
        let found = priority.parse();
        // Queries that run move over, which takes a lock.
        let engine = &self.engine;
        let found = unwrapped(py, found)?;
        py.detach(|| engine.set_priority(found));
        Ok(())
    }

    #[doc = doc!("Connection.close")]
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        if !self.engine.is_closed() {
            self.pending.settle(py)?;
        }
        let closed = py.detach(|| {
            let closed = self.engine.close();
            crate::allocator::release_free_memory();
            closed
        });
        unwrapped(py, closed)?;
        self.set_last(py, None);
        Ok(())
    }

    fn __enter__(slf: PyRef<'_, Self>) -> Py<Self> {
        slf.into()
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyTuple>) -> PyResult<()> {
        self.close(py)
    }

    fn __iter__(slf: PyRef<'_, Self>) -> Py<Self> {
        slf.into()
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Py<PyTuple>>> {
        self.fetchone(py)
    }

    fn __repr__(&self) -> String {
        match self.engine.database() {
            Ok(database) => format!("<inlay.Connection to {}, open>", database.name()),
            Err(_) => "<inlay.Connection, closed>".to_string(),
        }
    }
}

#[doc = doc!("Transaction")]
#[pyclass(frozen, module = "inlay")]
pub struct Transaction {
    connection: Py<Connection>,
    /// Of each block that it was entered for, the innermost last.
    blocks: Mutex<Vec<inlay::Transaction>>,
}

impl Drop for Transaction {
    /// A block that was never left ends with its connection: ending it here could wait for a statement, with the GIL.
    fn drop(&mut self) {
        let blocks = self.blocks.get_mut().unwrap_or_else(PoisonError::into_inner);
        blocks.drain(..).for_each(inlay::Transaction::leave_open);
    }
}

#[pymethods]
impl Transaction {
    fn __enter__(&self, py: Python<'_>) -> PyResult<Py<Connection>> {
        let engine = &self.connection.get().engine;
        let block = unwrapped(py, py.detach(|| engine.transaction()))?;
        self.blocks.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner).push(block);
        Ok(self.connection.clone_ref(py))
    }

    #[pyo3(signature = (exception, *_more))]
    fn __exit__(
        &self,
        py: Python<'_>,
        exception: &Bound<'_, PyAny>,
        _more: &Bound<'_, PyTuple>,
    ) -> PyResult<()> {
        let block = self.blocks.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner).pop();
        let Some(block) = block else { return Ok(()) };
        let keeps = exception.is_none();
        unwrapped(py, py.detach(|| if keeps { block.commit() } else { block.rollback() }))
    }
}

impl Connection {
    fn check_open(&self, py: Python<'_>) -> PyResult<()> {
        unwrapped(py, self.engine.check_closed())
    }
}
