//! The last pass: estimates for every operator of the finished plan.

use super::statistics::{ColumnEstimate, Estimator, Relation};
use crate::plan::{ColumnId, Plan};
use std::collections::HashMap;

/// Estimates by operator. Operators are numbered from 0 in the order in which a walk meets them that visits an operator
/// before its inputs and inputs as [`Plan::inputs`] lists them.
#[derive(Clone, Debug, Default)]
pub struct Estimates {
    rows: Vec<f64>,
    /// Operators in the subtree of each, itself included.
    sizes: Vec<usize>,
    columns: HashMap<ColumnId, ColumnEstimate>,
}

impl Estimates {
    /// Number of the plan's root.
    pub const ROOT: usize = 0;

    /// Estimates for all operators of `plan`.
    pub fn of(plan: &Plan, estimator: &mut Estimator) -> Self {
        let mut estimates = Self::default();
        estimates.visit(plan, estimator);
        estimates
    }

    fn visit(&mut self, plan: &Plan, estimator: &mut Estimator) {
        let own = self.rows.len();
        self.rows.push(0.0);
        self.sizes.push(0);
        // A shared plan is estimated before what reads it, in either order of asking.
        let relation: Relation = estimator.relation(plan);
        self.rows[own] = relation.rows;
        self.columns.extend(relation.columns);
        for input in plan.inputs() {
            self.visit(input, estimator);
        }
        self.sizes[own] = self.rows.len() - own;
    }

    /// Expected rows of operator `node`.
    pub fn rows(&self, node: usize) -> f64 {
        self.rows.get(node).copied().unwrap_or(0.0)
    }

    /// Numbers of the inputs of operator `node`, left to right.
    pub fn inputs(&self, node: usize) -> Vec<usize> {
        let end = node + self.sizes.get(node).copied().unwrap_or(1);
        let mut inputs = Vec::new();
        let mut next = node + 1;
        while next < end {
            inputs.push(next);
            next += self.sizes[next];
        }
        inputs
    }

    /// What is believed of a column where it is last seen; minimum and maximum are those of the base table.
    pub fn column(&self, id: ColumnId) -> Option<&ColumnEstimate> {
        self.columns.get(&id)
    }
}
