//! Aggregates of a host: what is called, and what calls are given.
//!
//! An aggregate is called with all rows of many groups, or it keeps states of its own that rows are added to and that are
//! merged. [`External::as_aggregate`] makes either an aggregate function of SQL; the accumulator that calls it is
//! `aggregate::host`.
//!
//! What always holds
//! - Rows of a group lie behind each other, groups have at least one row each, and arguments are flat.
//! - A group without rows is NULL and nobody is called for it. So it does not matter how a query is unnested.
//! - An aggregate that gives NULL for NULL ([`NullHandling::Propagate`]) is never shown a row with a NULL.

use super::{Callee, External};
use crate::aggregate::host;
use crate::function::{AggregateFunction, AggregateKind, NullHandling};
use inlay_types::{Error, LogicalType, Result, Vector};
use std::any::Any;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// Rows of several groups.
#[derive(Clone, Copy)]
pub struct GroupedRows<'a> {
    /// The arguments; those of a group lie behind each other.
    pub args: &'a [Vector],
    /// Where the rows of each group end; each group has some.
    pub ends: &'a [u32],
}

impl GroupedRows<'_> {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.ends.last().map_or(0, |&end| end as usize)
    }

    /// Number of groups.
    pub fn groups(&self) -> usize {
        self.ends.len()
    }

    /// The rows of a group.
    pub fn rows_of(&self, group: usize) -> Range<usize> {
        let from = group.checked_sub(1).map_or(0, |before| self.ends[before]);
        from as usize..self.ends[group] as usize
    }
}

/// An aggregate that can be called. By several threads at once.
pub trait ExternalAggregate: Any + Send + Sync + fmt::Debug {
    /// One value for each group.
    fn call(&self, rows: GroupedRows<'_>) -> Result<Vector>;

    /// No states yet, if the aggregate need not see all rows of a group at once.
    fn states(&self) -> Option<Box<dyn ExternalStates>>;

    /// See [`Callee::queries`].
    fn queries(&self) -> bool {
        false
    }
}

/// States that an aggregate keeps of groups, by number.
pub trait ExternalStates: Send + Sync {
    /// Adds the rows of part `i` to the state `states[i]`; one that is not there is made. No state is named twice.
    fn update(&mut self, rows: GroupedRows<'_>, states: &[u32]) -> Result<()>;

    /// Adds state `source[i]` of another of the same aggregate, which stays as it is, to state `target[i]`. No target is
    /// named twice; what is no state in `other` adds nothing.
    fn merge(&mut self, other: &dyn ExternalStates, source: &[u32], target: &[u32]) -> Result<()>;

    /// Whether there is such a state.
    fn has(&self, state: u32) -> bool;

    /// The values of states that are there, which stay as they are.
    fn finish(&self, states: &[u32]) -> Result<Vector>;

    /// Bytes held, as far as the host can tell.
    fn memory_size(&self) -> usize;

    /// For `merge`.
    fn as_any(&self) -> &dyn Any;
}

impl External {
    /// It as an aggregate function of SQL for arguments of these types. `has_order`: the call has an ORDER BY, so that the
    /// rows of a group must come in one piece.
    pub fn as_aggregate(self: &Arc<Self>, arg_types: Vec<LogicalType>, has_order: bool) -> AggregateFunction {
        let merges = match &self.callee {
            Callee::Aggregate(aggregate) => !has_order && aggregate.states().is_some(),
            Callee::Scalar(_) | Callee::Table(_) => false,
        };
        AggregateFunction {
            name: self.definition.name.clone().into(),
            kind: AggregateKind::Declared(if merges { &host::MERGED } else { &host::GATHERED }),
            arg_types,
            return_type: self.definition.returns.clone(),
            external: Some(Arc::clone(self)),
        }
    }

    /// The aggregate that is called.
    pub fn aggregate(&self) -> Result<&Arc<dyn ExternalAggregate>> {
        match &self.callee {
            Callee::Aggregate(aggregate) => Ok(aggregate),
            Callee::Scalar(_) | Callee::Table(_) => Err(Error::internal(format!(
                "function \"{}\" was called as an aggregate",
                self.definition.name
            ))),
        }
    }

    /// Whether rows with a NULL are passed over.
    pub fn skips_nulls(&self) -> bool {
        self.definition.null_handling == NullHandling::Propagate
    }

    /// Fails unless there is a value of the declared type for each group.
    pub fn check_values(&self, values: Vector, groups: usize) -> Result<Vector> {
        let (name, returns) = (&self.definition.name, &self.definition.returns);
        if values.len() != groups || values.ty() != returns {
            return Err(Error::external(format!(
                "aggregate \"{name}\" gave {} values of {}, not {returns} for {groups} groups",
                values.len(),
                values.ty()
            )));
        }
        Ok(values)
    }
}
