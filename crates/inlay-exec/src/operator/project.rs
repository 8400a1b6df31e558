//! SELECT lists: computes columns from columns.

use crate::expression::{Program, ProgramState};
use crate::pipeline::{Flow, LocalState, Operator, Push};
use inlay_types::{Batch, Error, Result};

/// Replaces a batch's columns by the program's results.
pub struct Project {
    program: Program,
}

impl Project {
    /// Computes all expressions of `program`.
    pub fn new(program: Program) -> Self {
        Self { program }
    }
}

impl Operator for Project {
    fn local(&self) -> LocalState {
        Box::new(self.program.state())
    }

    fn process(&self, input: Batch, local: &mut LocalState, push: Push<'_>) -> Result<Flow> {
        let state =
            local.downcast_mut::<ProgramState>().ok_or_else(|| Error::internal("projection state"))?;
        let columns = self.program.eval_all(state, &input)?;
        push(Batch::new(columns, input.len()))
    }
}
