//! What the engine asks while a statement runs: pending signals, tables that came with the statement, and Python
//! variables that a query names as tables. Draws the progress bar on the way.

use crate::errors::exception;
use crate::register::{self, Table};
use inlay::types::{Error, Result};
use inlay::{Connection, Host, HostScope, HostTable};
use parking_lot::Mutex;
use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};
use std::ffi::CString;
use std::sync::Arc;
use std::time::{Duration, Instant};

const REDRAWN_AFTER: Duration = Duration::from_millis(100);

/// The Python side of one statement.
pub struct PythonHost {
    raised: Mutex<Option<PyErr>>,
    /// What is to be known of statements that succeed.
    notes: Mutex<Vec<String>>,
    /// Tables by name: those that came with the statement, then those that were found on the way.
    tables: Mutex<Vec<(String, HostTable)>>,
    /// How many of them came with it.
    given: usize,
    bar: Option<Bar>,
    /// The host of the statement, when its rows are computed later: operators may still ask it.
    statement: Option<Arc<PythonHost>>,
}

/// When and how a statement's progress is shown.
struct Bar {
    connection: Connection,
    shown_after: Duration,
    started: Instant,
    state: Mutex<Drawn>,
}

#[derive(Default)]
struct Drawn {
    at: Option<Instant>,
    /// `inlay._progress.Bar`.
    bar: Option<Py<PyAny>>,
}

impl PythonHost {
    /// A host for one statement of a connection, and the tables that come with it.
    pub fn new(connection: &Connection, tables: Vec<(String, HostTable)>) -> Arc<Self> {
        let (raised, given) = (Mutex::default(), tables.len());
        let bar = Bar::of(connection);
        let (notes, tables) = (Mutex::default(), Mutex::new(tables));
        Arc::new(Self { raised, notes, given, tables, bar, statement: None })
    }

    /// A host for rows that are computed after their statement.
    pub fn later(connection: &Connection, statement: &Arc<PythonHost>) -> Arc<Self> {
        let (raised, tables, statement) = (Mutex::default(), Mutex::default(), Some(Arc::clone(statement)));
        let notes = Mutex::default();
        Arc::new(Self { raised, notes, given: 0, tables, bar: Bar::of(connection), statement })
    }

    /// Looks for signals only, while rows are converted.
    pub fn watching() -> Arc<Self> {
        Arc::new(Self {
            raised: Mutex::default(),
            notes: Mutex::default(),
            given: 0,
            tables: Mutex::default(),
            bar: None,
            statement: None,
        })
    }

    /// The exception behind the engine's error, if it came from Python: KeyboardInterrupt, or what a conversion raised.
    pub fn take_raised(&self) -> Option<PyErr> {
        let raised = self.raised.lock().take();
        raised.or_else(|| self.statement.as_ref()?.take_raised())
    }

    /// Tables that were found in Python, by the name that the statement has for them.
    pub fn found(&self) -> Vec<(String, HostTable)> {
        self.tables.lock()[self.given..].to_vec()
    }

    /// Removes the progress bar.
    pub fn finish(&self, py: Python<'_>) {
        let bar = self.bar.as_ref().and_then(|bar| bar.state.lock().bar.take());
        if let Some(bar) = bar {
            // A terminal that went away is no reason to lose the answer.
            let _ = bar.call_method0(py, "close");
        }
    }

    fn keep(&self, error: PyErr) -> Error {
        *self.raised.lock() = Some(error);
        Error::Interrupted
    }

    fn of_variable(&self, py: Python<'_>, name: &str, everywhere: bool) -> PyResult<Option<HostTable>> {
        let Some(object) = variable(py, name, everywhere)? else { return Ok(None) };
        if let Some((sql, tables)) = register::query_of(py, &object)? {
            self.tables.lock().extend(tables);
            return Ok(Some(HostTable::Query(sql)));
        }
        Ok(Some(HostTable::Rows(register::source(py, name, &object)?)))
    }
}

/// Lets signals be handled and other threads run, now and then while objects are made.
pub fn pause(py: Python<'_>) -> PyResult<()> {
    py.detach(|| ());
    py.check_signals()
}

impl Host for PythonHost {
    fn find_table(&self, name: &str, scope: HostScope) -> Result<Option<HostTable>> {
        let known = |(known, _): &&(String, HostTable)| known.eq_ignore_ascii_case(name);
        if let Some((_, table)) = self.tables.lock().iter().find(known) {
            return Ok(Some(table.clone()));
        }
        if scope == HostScope::Given {
            return Ok(None);
        }
        let everywhere = scope == HostScope::Everywhere;
        let found = Python::attach(|py| self.of_variable(py, name, everywhere)).map_err(|e| self.keep(e))?;
        self.tables.lock().extend(found.iter().map(|table| (name.to_string(), table.clone())));
        Ok(found)
    }

    fn gives_tables(&self) -> bool {
        self.given > 0
    }

    fn note(&self, message: &str) {
        self.notes.lock().push(message.to_string());
    }

    fn is_interrupted(&self) -> bool {
        Python::attach(|py| {
            let drawn = self.bar.as_ref().map_or(Ok(()), |bar| bar.draw(py));
            match drawn.and_then(|()| py.check_signals()) {
                Ok(()) => false,
                Err(error) => {
                    self.keep(error);
                    true
                }
            }
        })
    }
}

/// Runs engine code without the GIL; exceptions raised by Python meanwhile come out as they were, and notes as warnings.
pub fn hosted<T: Send>(
    py: Python<'_>,
    python: &Arc<PythonHost>,
    work: impl FnOnce(&Arc<dyn Host>) -> inlay::Result<T> + Send,
) -> PyResult<T> {
    let host: Arc<dyn Host> = python.clone();
    let outcome = py.detach(|| work(&host));
    python.finish(py);
    let notes = std::mem::take(&mut *python.notes.lock());
    for note in notes {
        let note = CString::new(note)?;
        PyErr::warn(py, &py.get_type::<PyUserWarning>(), &note, 1)?;
    }
    outcome.map_err(|error| python.take_raised().unwrap_or_else(|| exception(py, &error)))
}

impl Bar {
    fn of(connection: &Connection) -> Option<Self> {
        let shown_after = connection.progress_bar_after()?;
        Some(Self {
            connection: connection.clone(),
            shown_after,
            started: Instant::now(),
            state: Mutex::default(),
        })
    }

    fn draw(&self, py: Python<'_>) -> PyResult<()> {
        if self.started.elapsed() < self.shown_after {
            return Ok(());
        }
        let Some(progress) = self.connection.progress() else { return Ok(()) };
        let mut state = self.state.lock();
        if state.at.is_some_and(|at| at.elapsed() < REDRAWN_AFTER) {
            return Ok(());
        }
        state.at = Some(Instant::now());
        if state.bar.is_none() {
            state.bar = Some(py.import("inlay._progress")?.getattr("Bar")?.call0()?.unbind());
        }
        let Some(bar) = state.bar.as_ref().map(|bar| bar.clone_ref(py)) else { return Ok(()) };
        drop(state);
        bar.call_method1(py, "show", (progress.fraction, self.started.elapsed().as_secs_f64())).map(|_| ())
    }
}

/// The tables of a dictionary that Python code keeps for a relation: [`Table`]s, and texts of queries.
pub fn tables_of(tables: Option<&Bound<'_, PyDict>>) -> PyResult<Vec<(String, HostTable)>> {
    let Some(tables) = tables else { return Ok(Vec::new()) };
    let table = |(name, table): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
        let table = match table.cast::<PyString>() {
            Ok(sql) => HostTable::Query(sql.to_string()),
            Err(_) => HostTable::Rows(Arc::clone(&table.cast::<Table>()?.get().source)),
        };
        Ok((name.extract()?, table))
    };
    tables.items().iter().map(|item| table(item.extract()?)).collect()
}

/// The other way round.
pub fn dictionary_of(py: Python<'_>, tables: Vec<(String, HostTable)>) -> PyResult<Bound<'_, PyDict>> {
    let dictionary = PyDict::new(py);
    for (name, table) in tables {
        match table {
            HostTable::Query(sql) => dictionary.set_item(name, sql)?,
            HostTable::Rows(source) => dictionary.set_item(name, Bound::new(py, Table { source })?)?,
        }
    }
    Ok(dictionary)
}

/// The variable `name` that the caller sees and that can be a table: in the locals, then the globals, of the innermost
/// frame outside of `inlay`; `everywhere`: of the frames around it, too.
fn variable<'py>(py: Python<'py>, name: &str, everywhere: bool) -> PyResult<Option<Bound<'py, PyAny>>> {
    let mut frame = match py.import("sys")?.getattr("_getframe")?.call1((0,)) {
        Ok(frame) => frame,
        // A thread without Python code has no variables.
        Err(_) => return Ok(None),
    };
    let mut is_first = true;
    while !frame.is_none() && (is_first || everywhere) {
        let globals = frame.getattr("f_globals")?;
        let module: Option<String> = globals.get_item("__name__").and_then(|name| name.extract()).ok();
        // Stored functions are nobody's module: see `inlay._udf`.
        let ours = |module: String| {
            (module == "inlay" || module.starts_with("inlay.")) && !module.starts_with("inlay.functions.")
        };
        let ours = module.is_some_and(ours);
        if !ours {
            is_first = false;
            for scope in [frame.getattr("f_locals")?, globals] {
                // What cannot be a table hides nothing: a module or function may have a table's name.
                if let Some(found) = lookup(&scope, name)?.filter(|found| register::is_table(found)) {
                    return Ok(Some(found));
                }
            }
        }
        frame = frame.getattr("f_back")?;
    }
    Ok(None)
}

/// Python tells upper from lower case, SQL does not: the exact name first, then one that differs in case only.
fn lookup<'py>(scope: &Bound<'py, PyAny>, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
    if scope.contains(name)? {
        return scope.get_item(name).map(Some);
    }
    // A list of the names, because other threads may add some meanwhile. Locals are no dict from Python 3.13 on.
    let names = match scope.cast::<PyDict>() {
        Ok(scope) => scope.keys(),
        Err(_) => scope.call_method0("keys")?.cast_into::<PyList>()?,
    };
    let same =
        |key: &Bound<'_, PyAny>| key.extract::<String>().is_ok_and(|key| key.eq_ignore_ascii_case(name));
    match names.iter().find(same) {
        Some(found) => scope.get_item(found).map(Some),
        None => Ok(None),
    }
}
