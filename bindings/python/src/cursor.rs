//! One result and how far its rows were fetched.

use crate::arrow;
use crate::errors::unwrapped;
use crate::host::{self, PythonHost, hosted};
use crate::numpy::{self, Decimals, Delivered, Strings, Wanted};
use crate::pending::{self, PendingColumns};
use crate::rows::{self, ObjectCache, Shown};
use inlay::types::{Batch, LogicalType};
use inlay::{Delivery, HostForm, QueryResult, Rest, ResultKind};
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyDict, PyList, PyTuple};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

/// A result that is fetched row by row, or as whole columns.
pub struct Cursor {
    /// Without rows.
    header: QueryResult,
    /// The session's time zone, if moments are among the columns.
    zone: Option<String>,
    /// Absent if not all rows were computed when the statement was executed.
    row_count: Option<usize>,
    state: Mutex<State>,
    /// The arrays of all rows that were left when the first was asked for.
    columns: Mutex<Option<Py<PyDict>>>,
}

struct State {
    /// The rows that are there.
    result: QueryResult,
    /// Those behind them.
    rest: Option<Remainder>,
    /// The next row.
    row: usize,
    /// Rows that lie together, the next one among them, and the first of them.
    part: Option<(usize, Batch)>,
    caches: Vec<ObjectCache>,
}

/// Rows that were not fetched yet: those that are there, and those behind them.
pub struct Unread {
    pub first: QueryResult,
    pub rest: Option<Remainder>,
}

impl From<QueryResult> for Unread {
    fn from(first: QueryResult) -> Self {
        Self { first, rest: None }
    }
}

impl Unread {
    /// Computes the rows, of which none is kept.
    pub fn run_to_end(self, py: Python<'_>) -> PyResult<()> {
        if let Some(rest) = self.rest {
            while rest.next(py)?.is_some() {}
        }
        Ok(())
    }

    /// Brings all rows into the host's memory without the GIL; Ctrl-C ends it.
    pub fn delivered<T: Send>(
        self,
        py: Python<'_>,
        work: impl FnOnce(Delivery) -> inlay::Result<T> + Send,
    ) -> PyResult<T> {
        let Self { first, rest } = self;
        let host = match &rest {
            Some(rest) => PythonHost::later(&rest.connection, &rest.host).answered(),
            None => PythonHost::watching(),
        };
        // The connection keeps the database open.
        let (rest, _connection) = rest.map(|rest| (rest.rest, rest.connection)).unzip();
        hosted(py, &host, |host| work(Delivery::new(first, rest, host)))
    }
}

/// Rows of a result that are computed when they are fetched.
pub struct Remainder {
    rest: Rest,
    connection: inlay::Connection,
    /// Of the statement.
    host: Arc<PythonHost>,
}

impl Remainder {
    /// What is left of the answer of a connection's statement.
    pub fn new(rest: Rest, connection: inlay::Connection, host: Arc<PythonHost>) -> Self {
        Self { rest, connection, host }
    }

    /// Some more rows; `None` when there are no more.
    fn next(&self, py: Python<'_>) -> PyResult<Option<QueryResult>> {
        hosted(py, &PythonHost::later(&self.connection, &self.host), |host| self.rest.next(Some(host)))
    }

    /// The rest alone, for readers on other threads: signals are not looked at.
    pub fn into_rest(self) -> Rest {
        self.rest
    }

    /// The connection, which keeps the database open.
    pub fn connection(&self) -> inlay::Connection {
        self.connection.clone()
    }
}

impl Cursor {
    /// At the first row; `zone` names the session's time zone, if it matters.
    pub fn new(result: QueryResult, rest: Option<Remainder>, zone: Option<String>) -> Self {
        let header = result.without_rows();
        let row_count = rest.is_none().then(|| result.row_count());
        let state = State { result, rest, row: 0, part: None, caches: Vec::new() };
        Self { header, zone, row_count, state: Mutex::new(state), columns: Mutex::default() }
    }

    fn state(&self, py: Python<'_>) -> PyResult<MutexGuard<'_, State>> {
        match self.state.try_lock() {
            Ok(state) => Ok(state),
            Err(TryLockError::Poisoned(state)) => Ok(state.into_inner()),
            // A function that the query calls is the one that fetches: that never ends.
            Err(TryLockError::WouldBlock) if inlay::current_limits().is_some() => unwrapped(
                py,
                Err(inlay::Error::TransactionState {
                    message: "a function cannot fetch rows of the query that calls it; \
                              connection.cursor() gives another connection for queries inside of functions"
                        .to_string(),
                }),
            ),
            // Conversions may run Python code, so the lock is never waited for with the GIL.
            Err(TryLockError::WouldBlock) => {
                Ok(self.state.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner))
            }
        }
    }

    /// Up to `limit` more rows.
    pub fn fetch(&self, py: Python<'_>, limit: usize) -> PyResult<Vec<Py<PyTuple>>> {
        let shown = Shown::exact(rows::zone(py, self.zone.as_deref())?);
        let mut state = self.state(py)?;
        let mut tuples = Vec::new();
        while tuples.len() < limit {
            if !tuples.is_empty() {
                host::pause(py)?;
            }
            let State { result, rest, row, part, caches } = &mut *state;
            if *row == result.row_count() {
                let Some(more) = rest.as_ref().map_or(Ok(None), |rest| rest.next(py))? else {
                    (*rest, *part) = (None, None);
                    break;
                };
                // Caches know dictionaries by where they lie.
                (*result, *row, *part) = (more, 0, None);
                caches.clear();
                continue;
            }
            let start = *row;
            let holds = |(first, batch): &(usize, Batch)| (*first..*first + batch.len()).contains(&start);
            if !part.as_ref().is_some_and(holds) {
                *part = Some(unwrapped(py, py.detach(|| result.part_at(start)))?);
            }
            let Some((first, batch)) = part else { break };
            let from = start - *first;
            let to = from + (batch.len() - from).min(limit - tuples.len());
            rows::tuples(py, &shown, batch, from..to, caches, &mut tuples)?;
            *row += to - from;
        }
        Ok(tuples)
    }

    /// One more row, or `None`.
    pub fn fetch_one(&self, py: Python<'_>) -> PyResult<Option<Py<PyTuple>>> {
        Ok(self.fetch(py, 1)?.pop())
    }

    /// All further rows as a list.
    pub fn fetch_list(&self, py: Python<'_>, limit: usize) -> PyResult<Py<PyList>> {
        Ok(PyList::new(py, self.fetch(py, limit)?)?.unbind())
    }

    /// Up to `limit` of the rows not fetched yet that lie together; none if there are none.
    pub fn take_some(&self, py: Python<'_>, limit: usize) -> PyResult<QueryResult> {
        let mut state = self.state(py)?;
        loop {
            let State { result, rest, row, part, caches } = &mut *state;
            if *row < result.row_count() || rest.is_none() {
                let to = result.row_count().min(row.saturating_add(limit));
                let rows = result.slice(*row..to);
                (*row, *part) = (to, None);
                return Ok(rows);
            }
            match rest.as_ref().map_or(Ok(None), |rest| rest.next(py))? {
                Some(more) => (*result, *row, *part) = (more, 0, None),
                None => *rest = None,
            }
            caches.clear();
        }
    }

    /// The rows not fetched yet; none are left afterwards.
    pub fn take(&self, py: Python<'_>) -> PyResult<Unread> {
        let mut state = self.state(py)?;
        let state = &mut *state;
        let result = std::mem::replace(&mut state.result, self.header.clone());
        let row = std::mem::take(&mut state.row);
        state.part = None;
        let first = if row == 0 { result } else { result.slice(row..result.row_count()) };
        Ok(Unread { first, rest: state.rest.take() })
    }

    /// The rows not fetched yet as arrays by name, which are kept; no rows are left afterwards.
    pub fn columns<'py>(&self, py: Python<'py>, holder: Holder<'_>) -> PyResult<Bound<'py, PyDict>> {
        let mut columns = self.columns.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        if let Some(columns) = &*columns {
            return Ok(columns.bind(py).clone());
        }
        let made = arrays(py, self.take(py)?, self.zone(), (None, None), holder)?;
        *columns = Some(made.clone().unbind());
        Ok(made)
    }

    /// The session's time zone.
    pub fn zone(&self) -> Option<&str> {
        self.zone.as_deref()
    }

    /// DB-API's description: name and type of each column; `None` for statements without rows.
    pub fn description(&self, py: Python<'_>) -> PyResult<Option<Py<PyList>>> {
        if self.header.kind() == ResultKind::Done {
            return Ok(None);
        }
        let columns = self.header.names().iter().zip(self.header.types());
        let entry = |(name, ty): (&String, &LogicalType)| {
            let unknown = || py.None();
            (name, ty.to_string(), unknown(), unknown(), unknown(), unknown(), unknown()).into_pyobject(py)
        };
        let entries = columns.map(entry).collect::<PyResult<Vec<_>>>()?;
        Ok(Some(PyList::new(py, entries)?.unbind()))
    }

    /// DB-API's rowcount; -1 also where rows are still to be computed.
    pub fn row_count(&self) -> i64 {
        match self.header.kind() {
            ResultKind::Rows => self.row_count.map_or(-1, |count| count as i64),
            ResultKind::Changed(count) => count as i64,
            ResultKind::Done => -1,
        }
    }
}

/// The name of the time zone in which a session shows the moments of a result.
pub fn zone_of(result: &QueryResult, session: &inlay::Connection) -> Option<String> {
    let has_moments = |ty: &LogicalType| match ty {
        LogicalType::TimestampTz | LogicalType::TimeTz => true,
        ty => ty.is_nested() && ty.to_string().contains("WITH TIME ZONE"),
    };
    let has_moments = result.types().iter().any(has_moments);
    has_moments.then(|| session.setting("timezone")).flatten().map(|name| name.to_string())
}

/// What keeps columns that are not read yet: their session's list of them, and its connection.
#[derive(Clone, Copy)]
pub struct Holder<'a> {
    pub pending: &'a PendingColumns,
    pub connection: &'a inlay::Connection,
}

/// Columns of a result by name, which become NumPy arrays when they are looked at: decimals and texts as is said.
pub fn arrays<'py>(
    py: Python<'py>,
    rows: Unread,
    zone: Option<&str>,
    (decimal, strings): (Option<&str>, Option<&str>),
    holder: Holder<'_>,
) -> PyResult<Bound<'py, PyDict>> {
    let strings = Strings::of(py, strings)?;
    let decimals = Decimals::of(py, decimal, holder.connection.host_settings().decimals())?;
    if decimals == Decimals::Arrow {
        return Err(crate::errors::misuse(
            py,
            "decimal = 'arrow' is for data frames; NumPy has no such type: 'exact' gives objects",
        ));
    }
    let wanted = Wanted { dates: HostForm::Days, decimals, strings, zone: rows::zone(py, zone)? };
    let names = unique_names(rows.first.names());
    let columns = numpy::columns(py, rows, wanted, |_| false)?;
    pending::dictionary(py, names, columns, holder.pending, Some(holder.connection))
}

/// Names that a dictionary can tell apart: a repeated one gets a number.
pub fn unique_names(names: &[String]) -> Vec<String> {
    let mut unique: Vec<String> = Vec::with_capacity(names.len());
    for name in names {
        let mut candidate = name.clone();
        let mut number = 1;
        while unique.contains(&candidate) {
            candidate = format!("{name}_{number}");
            number += 1;
        }
        unique.push(candidate);
    }
    unique
}

/// A pandas data frame of a result. Texts, and decimals that stay exact, are Arrow's if pandas can hold them.
pub fn data_frame<'py>(
    py: Python<'py>,
    rows: Unread,
    zone: Option<&str>,
    decimals: Decimals,
) -> PyResult<Bound<'py, PyAny>> {
    let shown = rows::zone(py, zone)?;
    let zone = zone.filter(|_| shown.is_some()).unwrap_or("UTC");
    let wanted = Wanted { dates: HostForm::Midnights, decimals, strings: Strings::Objects, zone: shown };
    let frames = py.import("inlay._frames")?;
    let takes_arrow: bool = frames.getattr("takes_arrow")?.call0()?.extract()?;
    let stays = |ty: &LogicalType| match ty {
        LogicalType::Varchar | LogicalType::Json | LogicalType::Enum(_) => takes_arrow,
        LogicalType::Decimal { .. } if decimals == Decimals::Exact => takes_arrow,
        LogicalType::Decimal { .. } | LogicalType::HugeInt => decimals == Decimals::Arrow,
        _ => false,
    };
    let zones = PyDict::new(py);
    let names = unique_names(rows.first.names());
    for (name, ty) in names.iter().zip(rows.first.types()) {
        if *ty == LogicalType::TimestampTz {
            zones.set_item(name, zone)?;
        }
    }
    let columns = PyDict::new(py);
    for (name, column) in names.into_iter().zip(numpy::columns(py, rows, wanted, stays)?) {
        match column.converted(py, None)? {
            Delivered::Array(array) => columns.set_item(name, array)?,
            Delivered::Rows(rows) => columns.set_item(name, arrow::large_texts(py, rows)?)?,
        }
    }
    frames.getattr("data_frame")?.call1((columns, zones))
}
