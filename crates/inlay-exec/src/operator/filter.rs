//! WHERE and HAVING: rows for which all conjuncts are TRUE.

use crate::expression::{Filter, FilterState};
use crate::pipeline::{Flow, Operator, Push};
use inlay_types::{Batch, Result};

/// Drops rows.
pub struct FilterOperator {
    filter: Filter,
}

impl FilterOperator {
    /// Keeps the rows that pass `filter`.
    pub fn new(filter: Filter) -> Self {
        Self { filter }
    }
}

/// What a worker has.
pub struct Local {
    state: FilterState,
    selection: Vec<u32>,
}

impl Operator for FilterOperator {
    type Local = Local;

    fn local(&self) -> Local {
        Local { state: self.filter.state(), selection: Vec::new() }
    }

    fn process(&self, input: Batch, local: &mut Local, push: Push<'_>) -> Result<Flow> {
        self.filter.select(&mut local.state, &input, &mut local.selection)?;
        match local.selection.len() {
            0 => Ok(Flow::More),
            all if all == input.len() => push(input),
            _ => push(input.take(&local.selection)),
        }
    }
}
