//! One result and how far its rows were fetched.

use crate::arrow;
use crate::errors::unwrapped;
use crate::host::{self, PythonHost, hosted, locked};
use crate::numpy::{self, Decimals, Delivered, Strings, Wanted};
use crate::pending::{self, PendingColumns};
use crate::rows::{self, ObjectCache, Shown};
use inlay::types::LogicalType;
use inlay::{Delivery, HostForm, QueryResult, ResultKind};
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyDict, PyList, PyTuple};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A result that is fetched row by row, or as whole columns.
pub struct Cursor {
    /// Without rows.
    header: QueryResult,
    /// The session's time zone, if moments are among the columns.
    zone: Option<String>,
    row_count: Option<u64>,
    connection: inlay::Connection,
    /// Of the statement; rows that are computed later may still ask it.
    host: Option<Arc<PythonHost>>,
    state: Mutex<State>,
    /// The arrays of all rows that were left when the first was asked for.
    columns: Mutex<Option<Py<PyDict>>>,
}

struct State {
    rows: inlay::Cursor,
    /// Caches know dictionaries by where they lie, which is good until other rows have their memory.
    caches: Vec<ObjectCache>,
    turns: u64,
}

/// Rows that were not fetched yet, and the host of their statement.
pub struct Unread {
    pub rows: inlay::Unread,
    host: Option<Arc<PythonHost>>,
}

impl From<QueryResult> for Unread {
    fn from(first: QueryResult) -> Self {
        Self { rows: first.into(), host: None }
    }
}

impl Unread {
    /// Looks for signals; where rows are still computed, it is a host of theirs.
    fn watcher(&self) -> Arc<PythonHost> {
        match (self.rows.connection(), &self.host) {
            (Some(connection), Some(host)) => PythonHost::later(connection, host),
            _ => PythonHost::watching(),
        }
    }

    /// Computes the rows, of which none is kept.
    pub fn run_to_end(self, py: Python<'_>) -> PyResult<()> {
        hosted(py, &self.watcher(), |host| self.rows.run_to_end(Some(host)))
    }

    /// Brings all rows into the host's memory without the GIL; Ctrl-C ends it.
    pub fn delivered<T: Send>(
        self,
        py: Python<'_>,
        work: impl FnOnce(Delivery) -> inlay::Result<T> + Send,
    ) -> PyResult<T> {
        hosted(py, &self.watcher().answered(), |host| self.rows.delivered(host, work))
    }
}

impl Cursor {
    /// At the first row of an answer, whose moments are shown in the session's time zone.
    pub fn new(rows: inlay::Cursor, host: Option<Arc<PythonHost>>) -> Self {
        let zone = zone_of(rows.header(), rows.connection());
        Self::in_zone(rows, host, zone)
    }

    /// At the first row of an answer; `zone` names the session's time zone, if it matters.
    pub fn in_zone(rows: inlay::Cursor, host: Option<Arc<PythonHost>>, zone: Option<String>) -> Self {
        let (header, connection) = (rows.header().clone(), rows.connection().clone());
        let row_count = rows.row_count();
        // It has the tables of the statement, which rows that are there do not need.
        let host = host.filter(|_| !rows.is_complete());
        let state = Mutex::new(State { rows, caches: Vec::new(), turns: 0 });
        Self { header, zone, row_count, connection, host, state, columns: Mutex::default() }
    }

    fn state(&self, py: Python<'_>) -> PyResult<MutexGuard<'_, State>> {
        // A function that the query calls is the one that fetches: that never ends. Conversions may run Python code, so the
        // lock is never waited for with the GIL.
        locked(
            py,
            &self.state,
            "a function cannot fetch rows of the query that calls it; \
             connection.cursor() gives another connection for queries inside of functions",
        )
    }

    /// Up to `limit` more rows.
    pub fn fetch(&self, py: Python<'_>, limit: usize) -> PyResult<Vec<Py<PyTuple>>> {
        let shown = Shown::exact(rows::zone(py, self.zone.as_deref())?);
        let mut state = self.state(py)?;
        let State { rows, caches, turns } = &mut *state;
        if let Some(row) = rows.only_row().filter(|_| limit > 0)
            && let Some(tuple) = rows::plain_tuple(py, &shown, row)?
        {
            rows.skip(1);
            return Ok(vec![tuple]);
        }
        let mut tuples = Vec::new();
        while tuples.len() < limit {
            if !tuples.is_empty() {
                host::pause(py)?;
            }
            if !rows.is_at_hand() && !self.advance(py, rows)? {
                break;
            }
            if std::mem::replace(turns, rows.turns()) != *turns {
                caches.clear();
            }
            let next = unwrapped(py, rows.peek(None, limit - tuples.len()))?;
            let Some((batch, range)) = next else { break };
            let count = range.len();
            rows::tuples(py, &shown, batch, range, caches, &mut tuples)?;
            // What failed to become objects is there to be fetched again.
            rows.skip(count);
        }
        Ok(tuples)
    }

    /// Reads or computes the next rows without the GIL; whether there are some.
    fn advance(&self, py: Python<'_>, rows: &mut inlay::Cursor) -> PyResult<bool> {
        match &self.host {
            Some(host) if !rows.is_complete() => {
                let host = PythonHost::later(&self.connection, host);
                hosted(py, &host, |host| rows.advance(Some(host)))
            }
            _ => unwrapped(py, py.detach(|| rows.advance(None))),
        }
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
        let rows = &mut state.rows;
        match &self.host {
            Some(host) if !rows.is_complete() => {
                let host = PythonHost::later(&self.connection, host);
                hosted(py, &host, |host| rows.take_some(Some(host), limit))
            }
            _ => unwrapped(py, py.detach(|| rows.take_some(None, limit))),
        }
    }

    /// The rows not fetched yet; none are left afterwards.
    pub fn take(&self, py: Python<'_>) -> PyResult<Unread> {
        let rows = self.state(py)?.rows.take_rest();
        Ok(Unread { rows, host: self.host.clone() })
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
        self.row_count.map_or(-1, |count| count as i64)
    }
}

/// The name of the time zone in which a session shows the moments of a result.
pub fn zone_of(result: &QueryResult, session: &inlay::Connection) -> Option<String> {
    let has_moments = result.types().iter().any(LogicalType::has_zone);
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
    let names = rows.rows.first.unique_names();
    let columns = numpy::columns(py, rows, wanted, |_| false)?;
    pending::dictionary(py, names, columns, holder.pending, Some(holder.connection))
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
    let takes_dictionaries: bool = frames.getattr("takes_dictionaries")?.call0()?.extract()?;
    let stays = |ty: &LogicalType| match ty {
        LogicalType::Varchar | LogicalType::Json => takes_arrow,
        LogicalType::Enum(_) => takes_dictionaries,
        LogicalType::Decimal { .. } if decimals == Decimals::Exact => takes_arrow,
        LogicalType::Decimal { .. } | LogicalType::HugeInt => decimals == Decimals::Arrow,
        _ => false,
    };
    let zones = PyDict::new(py);
    let names = rows.rows.first.unique_names();
    for (name, ty) in names.iter().zip(rows.rows.first.types()) {
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
