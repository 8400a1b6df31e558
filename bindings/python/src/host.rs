//! What the engine asks while a statement runs: pending signals, tables that came with the statement, and Python
//! variables that a query names as tables. Draws the progress bar on the way.

use crate::errors::{exception, exception_with, plain, unwrapped};
use crate::register::{self, Table};
use inlay::settings::HostSettings;
use inlay::types::{Error, Result};
use inlay::{Connection, Entered, Host, HostScope, HostTable, ProgressWatch, Zone};
use parking_lot::Mutex;
use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyDict, PyList, PyString};
use std::cell::{Cell, RefCell};
use std::ffi::CString;
use std::marker::PhantomData;
use std::sync::{Arc, MutexGuard, PoisonError, TryLockError};

/// The Python side of one statement.
pub struct PythonHost {
    raised: Mutex<Option<PyErr>>,
    /// What is to be known of statements that succeed.
    notes: Mutex<Vec<String>>,
    /// Tables by name: those that came with the statement, then those that were found on the way.
    tables: Mutex<Vec<(String, HostTable)>>,
    /// How many of them came with it.
    given: usize,
    /// What is told if a name stays unknown.
    seen: Mutex<Vec<Seen>>,
    bar: Option<Bar>,
    /// Of the session.
    settings: HostSettings,
    /// The host of the statement, when its rows are computed later: operators may still ask it.
    statement: Option<Arc<PythonHost>>,
    /// The call that it runs in.
    call: Option<Call>,
    /// Whether all rows of an answer are going to be in memory.
    is_answered: bool,
}

/// What helps where an answer does not fit.
const LARGE: &str = "a large answer comes in parts by fetch_record_batch(), or goes to a file by COPY";

/// A call of a connection that this thread is in. It holds from the call's entry on: an interrupt that comes while arguments or rows are
/// converted, and no statement runs, ends the call as well.
#[derive(Clone)]
struct Call {
    connection: Connection,
    entered: Entered,
}

thread_local! {
    static CALL: RefCell<Option<Call>> = const { RefCell::new(None) };
    /// Objects that were converted since the last pause.
    static CONVERTED: Cell<u32> = const { Cell::new(0) };
}

/// Until it is dropped, this thread is in a call of a connection.
#[must_use]
pub struct InCall {
    earlier: Option<Call>,
    /// Of the thread.
    _here: PhantomData<*const ()>,
}

impl InCall {
    /// Enters a call. One within another call of the connection began when that did.
    pub fn of(connection: &Connection) -> Self {
        let call = Self::within(connection);
        let call =
            call.unwrap_or_else(|| Call { connection: connection.clone(), entered: connection.enter() });
        let earlier = CALL.with(|current| current.borrow_mut().replace(call));
        Self { earlier, _here: PhantomData }
    }

    fn current() -> Option<Call> {
        CALL.with(|current| current.borrow().clone())
    }

    /// The call of this connection that the thread is in.
    fn within(connection: &Connection) -> Option<Call> {
        Self::current().filter(|call| call.connection.is_same(connection))
    }
}

impl Drop for InCall {
    fn drop(&mut self) {
        let earlier = self.earlier.take();
        let ended = CALL.with(|current| std::mem::replace(&mut *current.borrow_mut(), earlier));
        // It may be the last handle of the connection, whose end runs code of its own.
        drop(ended);
    }
}

/// What was seen of a variable that may explain an error.
struct Seen {
    /// The name that the error is about.
    name: String,
    is_column: bool,
    hint: String,
}

/// When and how a statement's progress is shown.
struct Bar {
    watch: ProgressWatch,
    /// `inlay._progress.Bar`, once it is drawn.
    drawn: Mutex<Option<Py<PyAny>>>,
}

impl PythonHost {
    /// A host for one statement of a connection, and the tables that come with it.
    pub fn new(connection: &Connection, tables: Vec<(String, HostTable)>) -> Arc<Self> {
        let (raised, given) = (Mutex::default(), tables.len());
        let bar = Bar::of(connection);
        let (notes, tables) = (Mutex::default(), Mutex::new(tables));
        let (seen, settings) = (Mutex::default(), connection.host_settings().clone());
        let call = InCall::within(connection);
        Arc::new(Self {
            raised,
            notes,
            given,
            tables,
            bar,
            settings,
            seen,
            statement: None,
            call,
            is_answered: false,
        })
    }

    /// A host for rows that are computed after their statement.
    pub fn later(connection: &Connection, statement: &Arc<PythonHost>) -> Arc<Self> {
        let (raised, tables, statement) = (Mutex::default(), Mutex::default(), Some(Arc::clone(statement)));
        let (notes, seen) = (Mutex::default(), Mutex::default());
        let (bar, settings) = (Bar::of(connection), connection.host_settings().clone());
        let call = InCall::within(connection);
        Arc::new(Self {
            raised,
            notes,
            given: 0,
            tables,
            bar,
            settings,
            seen,
            statement,
            call,
            is_answered: false,
        })
    }

    /// Looks for signals only, while rows are converted.
    pub fn watching() -> Arc<Self> {
        Arc::new(Self {
            raised: Mutex::default(),
            notes: Mutex::default(),
            given: 0,
            tables: Mutex::default(),
            bar: None,
            settings: HostSettings::default(),
            seen: Mutex::default(),
            statement: None,
            call: InCall::current(),
            is_answered: true,
        })
    }

    /// The same for who keeps all rows.
    pub fn answered(self: Arc<Self>) -> Arc<Self> {
        let mut host = self;
        if let Some(host) = Arc::get_mut(&mut host) {
            host.is_answered = true;
        }
        host
    }

    /// The exception behind the engine's error, if it came from Python: KeyboardInterrupt, or what a conversion raised.
    pub fn take_raised(&self) -> Option<PyErr> {
        let raised = self.raised.lock().take();
        raised.or_else(|| self.statement.as_ref()?.take_raised())
    }

    /// What was seen in Python that explains an error.
    fn explained(&self, error: &Error) -> Option<String> {
        let (name, is_column) = match error.root() {
            Error::OutOfMemory { .. } if self.is_answered => return Some(LARGE.to_string()),
            Error::UndefinedTable { name, .. } => (name, false),
            Error::UndefinedColumn { name, .. } => (name, true),
            _ => return None,
        };
        // A column may be qualified.
        let last = if is_column { name.rsplit('.').next().unwrap_or(name) } else { name };
        let seen = self.seen.lock();
        let found = seen.iter().find(|one| one.is_column == is_column && one.name.eq_ignore_ascii_case(last));
        found.map(|one| one.hint.clone())
    }

    /// Tables that were found in Python, by the name that the statement has for them.
    pub fn found(&self) -> Vec<(String, HostTable)> {
        self.tables.lock()[self.given..].to_vec()
    }

    /// Removes the progress bar.
    pub fn finish(&self, py: Python<'_>) {
        let bar = self.bar.as_ref().and_then(|bar| bar.drawn.lock().take());
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
        let object = match variable(py, name, everywhere)? {
            Variable::Table(object) => object,
            Variable::Other(object) => {
                let hint =
                    py.import("inlay._tables")?.getattr("no_table")?.call1((name, object))?.extract()?;
                self.seen.lock().push(Seen { name: name.to_string(), is_column: false, hint });
                return Ok(None);
            }
            Variable::None => return Ok(None),
        };
        // Others may run code of their own for it: a relation has its columns as attributes.
        let module = plain(&object.get_type().module()?);
        if module.split('.').next() == Some("pandas") && object.hasattr("index")? {
            let index = object.getattr("index")?.getattr("names")?;
            let hints = py.import("inlay._tables")?.getattr("index_hints")?.call1((name, index))?;
            let hints: Vec<(String, String)> = hints.extract()?;
            let seen = |(name, hint)| Seen { name, is_column: true, hint };
            self.seen.lock().extend(hints.into_iter().map(seen));
        }
        if let Some((sql, tables)) = register::query_of(py, &object)? {
            self.tables.lock().extend(tables);
            return Ok(Some(HostTable::Query(sql)));
        }
        Ok(Some(HostTable::Rows(register::source(py, name, &object, &self.settings)?)))
    }
}

/// Lets signals be handled and other threads run, now and then while objects are made. Ends the call if it was interrupted.
pub fn pause(py: Python<'_>) -> PyResult<()> {
    py.detach(|| ());
    py.check_signals()?;
    match InCall::current() {
        Some(call) => unwrapped(py, call.connection.check_since(call.entered)),
        None => Ok(()),
    }
}

/// Objects that are converted between two pauses.
const CONVERTED_MAX: u32 = 1 << 12;

/// A pause if many objects were converted since the last one.
#[inline]
pub fn pace(py: Python<'_>) -> PyResult<()> {
    let converted = CONVERTED.get() + 1;
    if converted < CONVERTED_MAX {
        CONVERTED.set(converted);
        return Ok(());
    }
    CONVERTED.set(0);
    pause(py)
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

    fn view_is_kept(&self, name: &str, sql: &str) {
        let sql = sql.to_lowercase();
        let tables = self.tables.lock();
        let found = tables.iter().skip(self.given).map(|(variable, _)| variable);
        let named: Vec<&str> =
            found.filter(|variable| sql.contains(&variable.to_lowercase())).map(String::as_str).collect();
        if !named.is_empty() {
            self.notes.lock().push(format!(
                "view \"{name}\" is kept, but its rows are not: it reads the Python variable {}, and works only where one of \
                 this name is; CREATE TABLE ... AS keeps rows",
                named.join(", ")
            ));
        }
    }

    fn note(&self, message: &str) {
        self.notes.lock().push(message.to_string());
    }

    fn entered(&self) -> Option<Entered> {
        self.call.as_ref().map(|call| call.entered)
    }

    fn is_interrupted(&self) -> bool {
        // Rows that are there are converted without a statement.
        if self.call.as_ref().is_some_and(|call| call.connection.check_since(call.entered).is_err()) {
            return true;
        }
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
    outcome.map_err(|error| {
        python.take_raised().unwrap_or_else(|| match python.explained(&error) {
            Some(hint) => exception_with(py, &error, &hint),
            None => exception(py, &error),
        })
    })
}

impl Bar {
    fn of(connection: &Connection) -> Option<Self> {
        connection.watch_progress().map(|watch| Self { watch, drawn: Mutex::default() })
    }

    fn draw(&self, py: Python<'_>) -> PyResult<()> {
        let Some((progress, elapsed)) = self.watch.due() else { return Ok(()) };
        let known = self.drawn.lock().as_ref().map(|bar| bar.clone_ref(py));
        let bar = match known {
            Some(bar) => bar,
            None => py.import("inlay._progress")?.getattr("Bar")?.call0()?.unbind(),
        };
        *self.drawn.lock() = Some(bar.clone_ref(py));
        bar.call_method1(py, "show", (progress.fraction, elapsed.as_secs_f64())).map(|_| ())
    }
}

/// The lock of what statements use. A function that the statement calls which has it would wait for ever: that is an error, `busy`.
/// It is never waited for with the GIL.
pub fn locked<'a, T>(
    py: Python<'_>,
    mutex: &'a std::sync::Mutex<T>,
    busy: &str,
) -> PyResult<MutexGuard<'a, T>> {
    match mutex.try_lock() {
        Ok(guard) => Ok(guard),
        Err(TryLockError::Poisoned(guard)) => Ok(guard.into_inner()),
        Err(TryLockError::WouldBlock) if inlay::current_limits().is_some() => {
            Err(exception(py, &Error::TransactionState { message: busy.to_string() }))
        }
        Err(TryLockError::WouldBlock) => {
            Ok(mutex.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner))
        }
    }
}

/// The tables of a dictionary that Python code keeps for a relation: [`Table`]s, and texts of queries.
pub fn tables_of(tables: Option<&Bound<'_, PyDict>>) -> PyResult<Vec<(String, HostTable)>> {
    let Some(tables) = tables else { return Ok(Vec::new()) };
    let table = |(name, table): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
        let table = match table.cast::<PyString>() {
            Ok(sql) => HostTable::Query(plain(sql)),
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

/// The time zone that moments without one are of: that of the session whose call this thread is in, or works for.
pub fn zone() -> Arc<Zone> {
    let of_call = || InCall::current().map(|call| call.connection.host_settings().zone());
    inlay::calling_zone().or_else(of_call).unwrap_or_else(Zone::utc)
}

/// What a name is in Python.
enum Variable<'py> {
    Table(Bound<'py, PyAny>),
    /// It cannot be a table.
    Other(Bound<'py, PyAny>),
    None,
}

/// The variable `name` that the caller sees and that can be a table: in the locals, then the globals, of the innermost
/// frame outside of `inlay`; `everywhere`: of the frames around it, too. A comprehension sees what the function around it does.
fn variable<'py>(py: Python<'py>, name: &str, everywhere: bool) -> PyResult<Variable<'py>> {
    let mut frame = match py.import("sys")?.getattr("_getframe")?.call1((0,)) {
        Ok(frame) => frame,
        // A thread without Python code has no variables.
        Err(_) => return Ok(Variable::None),
    };
    let mut is_first = true;
    let mut other = Variable::None;
    while !frame.is_none() && (is_first || everywhere) {
        let globals = frame.getattr("f_globals")?;
        let module: Option<String> = globals.get_item("__name__").and_then(|name| name.extract()).ok();
        // Stored functions are nobody's module: see `inlay._udf`.
        let ours = |module: String| {
            (module == "inlay" || module.starts_with("inlay.")) && !module.starts_with("inlay.functions.")
        };
        let ours = module.is_some_and(ours);
        let outer = frame.getattr("f_back")?;
        if !ours {
            let is_inner = is_within(&frame, &outer)?;
            is_first = is_first && is_inner;
            let locals = frame.getattr("f_locals")?;
            let scopes = if is_inner { vec![locals] } else { vec![locals, globals] };
            for scope in scopes {
                // What cannot be a table hides nothing: a module or function may have a table's name.
                match lookup(&scope, name)? {
                    Some(found) if register::is_table(&found)? => return Ok(Variable::Table(found)),
                    Some(found) if matches!(other, Variable::None) => other = Variable::Other(found),
                    Some(_) | None => {}
                }
            }
        }
        frame = outer;
    }
    Ok(other)
}

/// Whether a frame is that of a comprehension, a generator expression or a lambda in the text of the function that `outer` runs. Up to
/// Python 3.11 comprehensions have frames of their own, in which variables that only SQL names are not.
fn is_within(frame: &Bound<'_, PyAny>, outer: &Bound<'_, PyAny>) -> PyResult<bool> {
    let code = frame.getattr("f_code")?;
    let name: String = code.getattr("co_name")?.extract()?;
    let is_expression =
        ["<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>", "<lambda>"].contains(&name.as_str());
    if !is_expression || outer.is_none() {
        return Ok(false);
    }
    for constant in outer.getattr("f_code")?.getattr("co_consts")?.try_iter()? {
        if constant?.is(&code) {
            return Ok(true);
        }
    }
    Ok(false)
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
