//! Columns that were fetched, and become arrays when they are looked at.
//!
//! A column of a table as it is was not even read; one that was computed has its values where they are going to stay, or
//! the engine's vectors if it is to be objects. It is converted once, whoever asks first, and lets go of what it was made of.
//! `inlay._columns` has the dictionary around them.
//!
//! What was not read needs the database: a column keeps its connection until it is read, and `close()` reads what is left
//! of all columns that somebody still has ([`PendingColumns::settle`]).

use crate::errors::misuse;
use crate::host::InCall;
use crate::numpy::{Delivered, Unconverted};
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyDict, PyTuple};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread::ThreadId;
use std::time::Duration;

/// A column of a result that is a NumPy array as soon as somebody looks at it.
#[pyclass(frozen, module = "inlay")]
pub struct PendingColumn {
    column: Arc<Column>,
}

struct Column {
    state: Mutex<State>,
    /// The thread that converts it.
    converting: Mutex<Option<ThreadId>>,
}

enum State {
    Unread {
        column: Box<Unconverted>,
        connection: Option<inlay::Connection>,
    },
    /// What reading it at the end said.
    Failed(PyErr),
    Array(Py<PyAny>),
}

impl Column {
    fn array(&self, py: Python<'_>, stop: Option<&AtomicBool>) -> PyResult<Py<PyAny>> {
        let me = std::thread::current().id();
        if *self.converting.lock().unwrap_or_else(PoisonError::into_inner) == Some(me) {
            // A signal handler of this thread, say: waiting for ourselves would never end.
            return Err(misuse(py, "this column is being converted by the code around; look at it later"));
        }
        let mut state = self.state.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        let (column, connection) = match &*state {
            State::Array(array) => return Ok(array.clone_ref(py)),
            State::Failed(error) => return Err(error.clone_ref(py)),
            State::Unread { column, connection } => (column, connection),
        };
        *self.converting.lock().unwrap_or_else(PoisonError::into_inner) = Some(me);
        let _call = connection.as_ref().map(InCall::of);
        let converted = column.converted(py, stop);
        *self.converting.lock().unwrap_or_else(PoisonError::into_inner) = None;
        let array = match converted? {
            Delivered::Array(array) => array.unbind(),
            Delivered::Rows(_) => return Err(misuse(py, "this column is no array")),
        };
        let made_of = std::mem::replace(&mut *state, State::Array(array.clone_ref(py)));
        drop(state);
        drop(made_of);
        Ok(array)
    }

    /// Reads what is still in its table. Only what ends the program comes out; other errors wait for who looks.
    fn settle(&self, py: Python<'_>) -> PyResult<()> {
        let mut state = self.state.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        let State::Unread { column, connection } = &mut *state else { return Ok(()) };
        match column.read(py) {
            Ok(()) => *connection = None,
            Err(error) if error.is_instance_of::<PyException>(py) => *state = State::Failed(error),
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

#[pymethods]
impl PendingColumn {
    /// The array, the same for all who ask.
    fn array(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.column.array(py, None)
    }

    // Code in C may look into the memory of a dictionary without asking its methods, and finds this class instead of the
    // array. So it is what an array is.

    #[pyo3(signature = (*arguments, **options))]
    fn __array__<'py>(
        &self,
        py: Python<'py>,
        arguments: &Bound<'py, PyTuple>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.array(py)?.into_bound(py).getattr("__array__")?.call(arguments, options)
    }

    fn __getattr__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        self.array(py)?.into_bound(py).getattr(name)
    }

    fn __getitem__<'py>(&self, py: Python<'py>, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.array(py)?.into_bound(py).get_item(key)
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.array(py)?.bind(py).len()
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(self.array(py)?.into_bound(py).try_iter()?.into_any())
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(crate::errors::plain(&self.array(py)?.bind(py).repr()?))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.array(py)?.into_bound(py).call_method0("__reduce__")
    }
}

/// Columns of a session that somebody may still look at.
#[derive(Clone, Default)]
pub struct PendingColumns(Arc<Mutex<Vec<Weak<Column>>>>);

impl PendingColumns {
    /// A column as the object that stands for its array until it is made. `connection` keeps the rows.
    pub fn add(&self, column: Unconverted, connection: Option<&inlay::Connection>) -> PendingColumn {
        let is_unread = column.is_unread();
        let connection = connection.filter(|_| is_unread).cloned();
        let state = Mutex::new(State::Unread { column: Box::new(column), connection });
        let column = Arc::new(Column { state, converting: Mutex::default() });
        if is_unread {
            let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            all.retain(|column| column.strong_count() > 0);
            all.push(Arc::downgrade(&column));
        }
        PendingColumn { column }
    }

    /// Reads what is still in tables, because the database is going to be closed.
    pub fn settle(&self, py: Python<'_>) -> PyResult<()> {
        let all = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        all.iter().filter_map(Weak::upgrade).try_for_each(|column| column.settle(py))
    }
}

/// Converts columns, several at once: what needs no interpreter runs in parallel, on interpreters without a GIL all of it.
#[pyfunction]
pub fn _convert(py: Python<'_>, columns: Vec<Py<PendingColumn>>) -> PyResult<()> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let helpers = columns.len().min(cores).saturating_sub(1);
    if helpers == 0 {
        return columns.iter().try_for_each(|column| column.get().array(py).map(drop));
    }
    let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let failure: Mutex<Option<PyErr>> = Mutex::default();
    let fail = |error: PyErr| {
        // The first one counts: those behind may be its consequence.
        failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        stop.store(true, Ordering::Relaxed);
    };
    let work = || {
        Python::attach(|py| {
            while !stop.load(Ordering::Relaxed)
                && let Some(column) = columns.get(next.fetch_add(1, Ordering::Relaxed))
            {
                if let Err(error) = column.get().column.array(py, Some(&stop)) {
                    fail(error);
                }
            }
        });
    };
    py.detach(|| {
        std::thread::scope(|scope| {
            let helpers: Vec<_> = (0..helpers).map(|_| scope.spawn(work)).collect();
            work();
            // Signals are for this thread.
            while helpers.iter().any(|helper| !helper.is_finished()) {
                std::thread::sleep(Duration::from_millis(1));
                if let Err(error) = Python::attach(|py| py.check_signals()) {
                    fail(error);
                }
            }
        });
    });
    match failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(error) => Err(error),
        None => Ok(()),
    }
}

/// A dictionary of columns that become arrays when they are looked at: `inlay._columns.Columns`.
pub fn dictionary<'py>(
    py: Python<'py>,
    names: Vec<String>,
    columns: Vec<Unconverted>,
    pending: &PendingColumns,
    connection: Option<&inlay::Connection>,
) -> PyResult<Bound<'py, PyDict>> {
    let items = names.into_iter().zip(columns);
    let items = items.map(|(name, column)| Ok((name, Bound::new(py, pending.add(column, connection))?)));
    let items = items.collect::<PyResult<Vec<_>>>()?;
    let columns = py.import("inlay._columns")?.getattr("Columns")?.call1((items,))?;
    Ok(columns.cast_into::<PyDict>()?)
}

/// A dictionary as it looks from outside: the memory of one of ours may hold columns that were not converted yet.
pub fn looked_at<'py>(dict: &Bound<'py, PyDict>) -> PyResult<Bound<'py, PyDict>> {
    match dict.is_exact_instance_of::<PyDict>() {
        true => Ok(dict.clone()),
        false => {
            dict.call_method0("values")?;
            Ok(dict.clone())
        }
    }
}
