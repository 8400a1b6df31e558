//! SELECT lists: computes columns from columns.

use crate::expression::{PartRows, Program, ProgramState};
use crate::pipeline::{Flow, Operator, Push};
use inlay_types::{Batch, MemoryBudget, Result};

/// Replaces a batch's columns by the program's results.
pub struct Project {
    program: Program,
    budget: MemoryBudget,
}

/// What a worker has.
pub struct Local {
    state: ProgramState,
    part_rows: PartRows,
}

impl Project {
    /// Computes all expressions of `program`.
    pub fn new(program: Program, budget: MemoryBudget) -> Self {
        Self { program, budget }
    }
}

impl Operator for Project {
    type Local = Local;

    fn local(&self) -> Local {
        Local { state: self.program.state(), part_rows: PartRows::default() }
    }

    fn process(&self, input: Batch, local: &mut Local, push: Push<'_>) -> Result<Flow> {
        let Local { state, part_rows } = local;
        if !self.program.may_be_repeated() {
            let columns = self.program.eval_all(state, &input)?;
            return push(Batch::new(columns, input.len()));
        }
        let mut flow = Flow::More;
        part_rows.each(
            &input,
            &self.budget,
            |part| self.program.eval_all(state, part),
            |part, columns| {
                flow = push(Batch::new(columns, part.len()))?;
                Ok(flow == Flow::More)
            },
        )?;
        Ok(flow)
    }
}
