//! Conjuncts evaluated one after the other, each on the rows that are left.

use super::program::{Program, ProgramState};
use super::{Layout, kernel_comparison};
use inlay_kernels::{Cmp, boolean, select_compare};
use inlay_sql::plan::Expr;
use inlay_types::{Batch, Result, Vector};

enum Conjunct {
    /// Both sides are computed and compared without making a BOOLEAN vector.
    Compare { op: Cmp, sides: Program },
    /// Any other condition.
    Other(Program),
}

impl Conjunct {
    fn program(&self) -> &Program {
        match self {
            Self::Compare { sides, .. } => sides,
            Self::Other(program) => program,
        }
    }
}

/// A compiled list of conjuncts.
pub struct Filter {
    conjuncts: Vec<Conjunct>,
}

/// Scratch of one worker for one filter.
pub struct FilterState {
    programs: Vec<ProgramState>,
    selection: Vec<u32>,
    hits: Vec<u32>,
}

impl Filter {
    /// Compiles conjuncts for batches of `layout`. An empty list lets every row pass.
    pub fn compile(predicates: &[Expr], layout: &Layout) -> Result<Self> {
        let conjuncts = predicates.iter().map(|p| compile_conjunct(p, layout)).collect::<Result<_>>()?;
        Ok(Self { conjuncts })
    }

    /// Whether every row passes.
    pub fn is_empty(&self) -> bool {
        self.conjuncts.is_empty()
    }

    /// Positions, in the batch, of all columns read.
    pub fn inputs(&self) -> Vec<usize> {
        let mut all: Vec<usize> = self.conjuncts.iter().flat_map(|c| c.program().inputs()).copied().collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Scratch for one worker.
    pub fn state(&self) -> FilterState {
        let programs = self.conjuncts.iter().map(|c| c.program().state()).collect();
        FilterState { programs, selection: Vec::new(), hits: Vec::new() }
    }

    /// Replaces `out` by the positions of the rows for which all conjuncts are TRUE, ascending.
    pub fn select(&self, state: &mut FilterState, batch: &Batch, out: &mut Vec<u32>) -> Result<()> {
        out.clear();
        let len = batch.len();
        if self.conjuncts.is_empty() {
            out.extend(0..len as u32);
            return Ok(());
        }
        let mut selected = false;
        for (conjunct, program_state) in self.conjuncts.iter().zip(&mut state.programs) {
            state.hits.clear();
            if !selected {
                let columns: Vec<&Vector> =
                    conjunct.program().inputs().iter().map(|&i| batch.column(i)).collect();
                select_rows(conjunct, program_state, &columns, len, &mut state.hits)?;
                selected = true;
            } else {
                let taken: Vec<Vector> = conjunct
                    .program()
                    .inputs()
                    .iter()
                    .map(|&i| batch.column(i).take(&state.selection))
                    .collect();
                let columns: Vec<&Vector> = taken.iter().collect();
                select_rows(conjunct, program_state, &columns, state.selection.len(), &mut state.hits)?;
                for hit in &mut state.hits {
                    *hit = state.selection[*hit as usize];
                }
            }
            std::mem::swap(&mut state.selection, &mut state.hits);
            if state.selection.is_empty() {
                return Ok(());
            }
        }
        out.extend_from_slice(&state.selection);
        Ok(())
    }
}

fn compile_conjunct(predicate: &Expr, layout: &Layout) -> Result<Conjunct> {
    if let Expr::Compare { op, left, right } = predicate {
        let sides = Program::compile_many(&[(**left).clone(), (**right).clone()], layout)?;
        return Ok(Conjunct::Compare { op: kernel_comparison(*op), sides });
    }
    Ok(Conjunct::Other(Program::compile(predicate, layout)?))
}

fn select_rows(
    conjunct: &Conjunct,
    state: &mut ProgramState,
    columns: &[&Vector],
    len: usize,
    hits: &mut Vec<u32>,
) -> Result<()> {
    match conjunct {
        Conjunct::Compare { op, sides } => {
            let values = sides.eval_all_on(state, columns, len)?;
            select_compare(*op, &values[0], &values[1], len, None, hits)
        }
        Conjunct::Other(program) => {
            let truth = program.eval_on(state, columns, len)?;
            boolean::select_true(&truth, len, None, hits);
            Ok(())
        }
    }
}
