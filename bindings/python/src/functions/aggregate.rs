//! Aggregates in Python: functions that are given groups, and classes that are given rows.
//!
//! What a callable is, `inlay._udf.aggregate` says. A function that knows `aggr_group` is called once for many groups;
//! another one for each group. A class is made once for each group; one with `merge` is given rows in parts, on all workers.

use super::results::{Failure, Given, Per};
use super::workers::{Request, Spec, Workers};
use super::{PythonFunction, guarded};
use inlay::external::{ExternalAggregate, ExternalStates, GroupedRows, Kept};
use inlay::types::{Error, Interrupt, LogicalType, Result, Vector, VectorBuilder};
use inlay::{current_limits, with_limits};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use std::any::Any;
use std::sync::Arc;

/// Calls between two looks at the interrupt flag.
const CALLS_BETWEEN_LOOKS: usize = 256;
/// Rows that another worker process is asked about at least.
const PART_ROWS_MIN: usize = 1 << 10;
/// What a state is taken to hold, of which Python tells nothing.
const STATE_BYTES: usize = 256;

/// What is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A function of the rows of one group.
    Group,
    /// A function of the rows of many groups and their numbers.
    Numbered,
    /// A class that is given all rows of a group at once.
    Class,
    /// A class that is given rows in parts.
    Merging,
}

impl Form {
    /// The word for it in `inlay._udf.aggregate`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Group => "group",
            Self::Numbered => "numbered",
            Self::Class => "class",
            Self::Merging => "merging",
        }
    }

    /// By the words of `inlay._udf.aggregate`.
    pub fn of(word: &str) -> Result<Self> {
        match word {
            "group" => Ok(Self::Group),
            "numbered" => Ok(Self::Numbered),
            "class" => Ok(Self::Class),
            "merging" => Ok(Self::Merging),
            other => Err(Error::internal(format!("an aggregate cannot be a \"{other}\""))),
        }
    }
}

/// An aggregate in Python.
#[derive(Debug)]
pub struct PythonAggregate {
    pub function: Arc<PythonFunction>,
    pub form: Form,
}

type Outcome<T> = std::result::Result<T, Failure>;

impl ExternalAggregate for PythonAggregate {
    fn call(&self, rows: GroupedRows<'_>) -> Result<Vector> {
        if let Some(remote) = &self.function.remote
            && let Some(workers) = remote.takes(&self.function)
        {
            return self.called_there(remote.spec(&self.function)?, workers, rows);
        }
        guarded(&self.function.name, |py, interrupt| self.called(py, rows, interrupt))
    }

    fn states(&self) -> Option<Box<dyn ExternalStates>> {
        let states = || States { function: Arc::clone(&self.function), states: Vec::new(), count: 0 };
        // States live where they are told rows: those of worker processes see all rows of a group at once.
        let merges = self.form == Form::Merging && self.function.remote.is_none();
        merges.then(|| Box::new(states()) as Box<dyn ExternalStates>)
    }

    fn queries(&self) -> bool {
        self.function.queries
    }
}

impl PythonAggregate {
    /// The values of groups, on this thread.
    pub fn called(&self, py: Python<'_>, rows: GroupedRows<'_>, interrupt: &Interrupt) -> Outcome<Vector> {
        match self.form {
            Form::Numbered => self.called_for_all(py, rows),
            Form::Group | Form::Class | Form::Merging => self.called_by_group(py, rows, interrupt),
        }
    }

    /// The values of groups from worker processes, which have some of them each.
    fn called_there(&self, spec: &Spec, workers: &Workers, rows: GroupedRows<'_>) -> Result<Vector> {
        let parts = parts_of(rows, workers.count());
        let limits = current_limits();
        let call = |(args, ends): &(Vec<Vector>, Vec<u32>)| {
            let interrupt = limits.as_ref().map_or_else(Interrupt::new, |limits| limits.interrupt.clone());
            let len = ends.last().map_or(0, |&end| end as usize);
            let work = || workers.call(spec, Request { args, len, ends: Some(ends) }, &interrupt);
            match limits.clone() {
                Some(limits) => with_limits(limits, work),
                None => work(),
            }
        };
        let values = std::thread::scope(|scope| {
            // Threads that wait for their workers; the first part is this thread's.
            let others: Vec<_> = parts
                .iter()
                .skip(1)
                .map(|part| std::thread::Builder::new().spawn_scoped(scope, || call(part)))
                .collect();
            let first = parts.first().map(&call);
            let joined = others.into_iter().map(|other| {
                let other = other.map_err(|error| Error::external(error.to_string()))?;
                other.join().unwrap_or_else(|_| Err(Error::internal("a call in a worker process panicked")))
            });
            first.into_iter().chain(joined).collect::<Result<Vec<_>>>()
        })?;
        let mut all = VectorBuilder::new(self.function.returns.clone(), rows.groups());
        values.iter().for_each(|part| all.append(&part.flatten()));
        Ok(all.finish())
    }

    fn called_for_all(&self, py: Python<'_>, rows: GroupedRows<'_>) -> Outcome<Vector> {
        let mut numbers: Vec<i64> = Vec::with_capacity(rows.rows());
        for group in 0..rows.groups() {
            numbers.resize(rows.rows_of(group).end, group as i64);
        }
        let mut args = rows.args.to_vec();
        args.push(Vector::from_values(LogicalType::BigInt, &numbers));
        let all = self.function.arguments(py, &args, rows.rows(), &Kept::new())?;
        let last = all.len() - 1;
        let keywords = PyDict::new(py);
        keywords.set_item("aggr_group", all.get_item(last)?)?;
        let value = self.function.callable.bind(py).call(all.get_slice(0, last), Some(&keywords))?;
        drop((all, keywords));
        let given = Given { function: &self.function, args: &[], len: rows.groups(), value, per: Per::Group };
        given.into_vector(py)
    }

    fn called_by_group(
        &self,
        py: Python<'_>,
        rows: GroupedRows<'_>,
        interrupt: &Interrupt,
    ) -> Outcome<Vector> {
        let callable = self.function.callable.bind(py);
        let values = PyList::empty(py);
        for group in 0..rows.groups() {
            look(interrupt, group)?;
            let args = self.function.arguments_of_group(py, rows, group)?;
            values.append(match self.form {
                Form::Group | Form::Numbered => callable.call1(args)?,
                Form::Class | Form::Merging => {
                    let state = callable.call0()?;
                    state.call_method1("update", args)?;
                    state.call_method0("finish")?
                }
            })?;
        }
        self.function.values_of_groups(py, values)
    }
}

/// Rows and ends of up to `count` parts, of whole groups and about as many rows.
fn parts_of(rows: GroupedRows<'_>, count: usize) -> Vec<(Vec<Vector>, Vec<u32>)> {
    let share = rows.rows().div_ceil(count.max(1)).max(PART_ROWS_MIN);
    let mut parts = Vec::with_capacity(count);
    let (mut from, mut group) = (0, 0);
    while group < rows.groups() {
        let first = group;
        while group < rows.groups() && (group == first || rows.rows_of(group).start < from + share) {
            group += 1;
        }
        let to = rows.rows_of(group - 1).end;
        let args = rows.args.iter().map(|arg| arg.slice(from, to - from)).collect();
        parts.push((args, rows.ends[first..group].iter().map(|end| end - from as u32).collect()));
        from = to;
    }
    parts
}

fn look(interrupt: &Interrupt, calls: usize) -> Result<()> {
    if calls.is_multiple_of(CALLS_BETWEEN_LOOKS) { interrupt.check() } else { Ok(()) }
}

impl PythonFunction {
    fn arguments_of_group<'py>(
        &self,
        py: Python<'py>,
        rows: GroupedRows<'_>,
        group: usize,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let own = rows.rows_of(group);
        let args: Vec<Vector> = rows.args.iter().map(|arg| arg.slice(own.start, own.len())).collect();
        self.arguments(py, &args, own.len(), &Kept::new())
    }

    /// The values that were given for one group after the other.
    fn values_of_groups(&self, py: Python<'_>, values: Bound<'_, PyList>) -> Outcome<Vector> {
        let plain = py.import("inlay._udf")?.getattr("values_of_groups")?.call1((values,))?;
        let len = plain.len()?;
        Given { function: self, args: &[], len, value: plain, per: Per::Group }.into_vector(py)
    }
}

/// Objects of a class, by the number of their group.
struct States {
    function: Arc<PythonFunction>,
    states: Vec<Option<Py<PyAny>>>,
    count: usize,
}

impl States {
    fn state<'py>(&mut self, py: Python<'py>, number: u32) -> PyResult<Bound<'py, PyAny>> {
        let number = number as usize;
        if self.states.len() <= number {
            self.states.resize_with(number + 1, || None);
        }
        if let Some(state) = &self.states[number] {
            return Ok(state.bind(py).clone());
        }
        let state = self.function.callable.bind(py).call0()?;
        self.states[number] = Some(state.clone().unbind());
        self.count += 1;
        Ok(state)
    }

    fn get(&self, number: u32) -> Option<&Py<PyAny>> {
        self.states.get(number as usize)?.as_ref()
    }
}

impl ExternalStates for States {
    fn update(&mut self, rows: GroupedRows<'_>, states: &[u32]) -> Result<()> {
        let function = Arc::clone(&self.function);
        guarded(&function.name, |py, interrupt| {
            for (group, &number) in states.iter().enumerate() {
                look(interrupt, group)?;
                let args = function.arguments_of_group(py, rows, group)?;
                self.state(py, number)?.call_method1("update", args)?;
            }
            Ok(())
        })
    }

    fn merge(&mut self, other: &dyn ExternalStates, source: &[u32], target: &[u32]) -> Result<()> {
        let Some(other) = other.as_any().downcast_ref::<Self>() else {
            return Err(Error::internal("states of different aggregates were merged"));
        };
        if other.count == 0 {
            return Ok(());
        }
        let function = Arc::clone(&self.function);
        guarded(&function.name, |py, interrupt| {
            for (merged, (&from, &to)) in source.iter().zip(target).enumerate() {
                look(interrupt, merged)?;
                if let Some(theirs) = other.get(from) {
                    self.state(py, to)?.call_method1("merge", (theirs.bind(py),))?;
                }
            }
            Ok(())
        })
    }

    fn has(&self, state: u32) -> bool {
        self.get(state).is_some()
    }

    fn finish(&self, states: &[u32]) -> Result<Vector> {
        guarded(&self.function.name, |py, interrupt| {
            let values = PyList::empty(py);
            for (index, state) in states.iter().filter_map(|&state| self.get(state)).enumerate() {
                look(interrupt, index)?;
                values.append(state.bind(py).call_method0("finish")?)?;
            }
            self.function.values_of_groups(py, values)
        })
    }

    fn memory_size(&self) -> usize {
        self.states.capacity() * size_of::<Option<Py<PyAny>>>() + self.count * STATE_BYTES
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
