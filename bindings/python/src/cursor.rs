//! One result and how far its rows were fetched.

use crate::errors::unwrapped;
use crate::rows::{self, DictionaryCache};
use inlay::types::Batch;
use inlay::{QueryResult, ResultKind};
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyList, PyTuple};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A result that is fetched row by row, or as whole columns.
pub struct Cursor {
    result: QueryResult,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The next row.
    row: usize,
    /// Rows that lie together, the next one among them, and the first of them.
    part: Option<(usize, Batch)>,
    caches: Vec<DictionaryCache>,
}

impl Cursor {
    /// At the first row.
    pub fn new(result: QueryResult) -> Self {
        Self { result, state: Mutex::default() }
    }

    fn state(&self, py: Python<'_>) -> MutexGuard<'_, State> {
        // Conversions may run Python code, so the lock is never waited for with the GIL.
        self.state.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner)
    }

    /// Up to `limit` more rows.
    pub fn fetch(&self, py: Python<'_>, limit: usize) -> PyResult<Vec<Py<PyTuple>>> {
        let mut state = self.state(py);
        let mut tuples = Vec::new();
        let count = self.result.row_count();
        while tuples.len() < limit && state.row < count {
            let (row, State { part, caches, .. }) = (state.row, &mut *state);
            let holds = |(start, batch): &(usize, Batch)| (*start..*start + batch.len()).contains(&row);
            if !part.as_ref().is_some_and(holds) {
                *part = Some(unwrapped(py, py.detach(|| self.result.part_at(row)))?);
            }
            let Some((start, batch)) = part else { break };
            let from = row - *start;
            let to = from + (batch.len() - from).min(limit - tuples.len());
            rows::tuples(py, batch, from..to, caches, &mut tuples)?;
            state.row += to - from;
        }
        if state.row == count {
            state.part = None;
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

    /// The rows not fetched yet; none are left afterwards.
    pub fn take_rest(&self, py: Python<'_>) -> PyResult<QueryResult> {
        let mut state = self.state(py);
        let count = self.result.row_count();
        let rest = self.result.slice(state.row..count);
        (state.row, state.part) = (count, None);
        Ok(rest)
    }

    /// DB-API's description: name and type of each column; `None` for statements without rows.
    pub fn description(&self, py: Python<'_>) -> PyResult<Option<Py<PyList>>> {
        if self.result.kind() == ResultKind::Done {
            return Ok(None);
        }
        let columns = self.result.names().iter().zip(self.result.types());
        let entry = |(name, ty): (&String, &inlay::types::LogicalType)| {
            let unknown = || py.None();
            (name, ty.to_string(), unknown(), unknown(), unknown(), unknown(), unknown()).into_pyobject(py)
        };
        let entries = columns.map(entry).collect::<PyResult<Vec<_>>>()?;
        Ok(Some(PyList::new(py, entries)?.unbind()))
    }

    /// DB-API's rowcount.
    pub fn row_count(&self) -> i64 {
        match self.result.kind() {
            ResultKind::Rows => self.result.row_count() as i64,
            ResultKind::Changed(count) => count as i64,
            ResultKind::Done => -1,
        }
    }
}

/// Columns of a result as NumPy arrays by name.
pub fn arrays<'py>(py: Python<'py>, result: &QueryResult) -> PyResult<Bound<'py, pyo3::types::PyDict>> {
    let arrays = pyo3::types::PyDict::new(py);
    for (index, name) in unique_names(result.names()).into_iter().enumerate() {
        arrays.set_item(name, crate::numpy::column(py, result, index)?)?;
    }
    Ok(arrays)
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

/// A pandas data frame of a result.
pub fn data_frame<'py>(py: Python<'py>, result: &QueryResult) -> PyResult<Bound<'py, PyAny>> {
    let arrays = arrays(py, result)?;
    py.import("inlay._frames")?.getattr("data_frame")?.call1((arrays,))
}
