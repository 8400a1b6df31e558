//! The last pass: estimates for every operator of the finished plan.

use super::statistics::{Estimator, Relation};
use crate::plan::{Estimates, Plan};

/// Estimates for all operators of `plan`.
pub fn run(plan: &Plan, estimator: &mut Estimator) -> Estimates {
    let mut estimates = Estimates::default();
    visit(plan, estimator, &mut estimates);
    estimates
}

fn visit(plan: &Plan, estimator: &mut Estimator, estimates: &mut Estimates) -> Relation {
    let node = estimates.begin();
    let mut inputs = Vec::with_capacity(2);
    for (index, input) in plan.inputs().into_iter().enumerate() {
        let relation = visit(input, estimator, estimates);
        if index == 0 {
            estimator.note_shared(plan, &relation);
        }
        inputs.push(relation);
    }
    let relation = estimator.operator(plan, inputs);
    relation.columns.iter().for_each(|(id, estimate)| estimates.note_column(*id, estimate));
    estimates.end(node, relation.rows);
    relation
}
