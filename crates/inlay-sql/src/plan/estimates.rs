//! What the optimizer believes of a finished plan: rows per operator, values per column.
//!
//! Operators are numbered from 0 in preorder: an operator before its inputs, inputs as [`super::Plan::inputs`] lists them.
//! EXPLAIN shows the estimates; the executor sizes hash tables by them. No result depends on them.

use super::ColumnId;
use crate::optimizer::Reach;
use inlay_types::Value;
use std::collections::HashMap;

/// What is believed of a column.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ColumnEstimate {
    /// Distinct values, of the base table's column unless filters restrict this very column.
    pub distinct: f64,
    /// Smallest value in the base table; a bound for all rows of the statement.
    pub min: Option<Value>,
    /// Largest value in the base table; a bound for all rows of the statement.
    pub max: Option<Value>,
    /// Share of NULLs.
    pub null_fraction: f64,
    /// Where the values lie by what was seen of the rows, if that is narrower; no bound.
    pub reach: Option<Reach>,
}

/// Estimates for one plan. Empty until the plan was optimized.
#[derive(Clone, Debug, Default)]
pub struct Estimates {
    /// Rows by operator number.
    rows: Vec<f64>,
    /// Operators in the subtree of each, itself included.
    sizes: Vec<usize>,
    columns: HashMap<ColumnId, ColumnEstimate>,
}

impl Estimates {
    /// Expected rows of operator `node`, if it was estimated.
    pub fn rows(&self, node: usize) -> Option<f64> {
        self.rows.get(node).copied()
    }

    /// Numbers of the inputs of operator `node`, left to right.
    pub fn inputs(&self, node: usize) -> Vec<usize> {
        let end = node + self.sizes.get(node).copied().unwrap_or(1);
        let mut inputs = Vec::new();
        let mut next = node + 1;
        while next < end {
            inputs.push(next);
            next += self.sizes[next].max(1);
        }
        inputs
    }

    /// What is believed of a column where it is made.
    pub fn column(&self, id: ColumnId) -> Option<&ColumnEstimate> {
        self.columns.get(&id)
    }

    /// Begins operator number `rows.len()`; returns the number, for [`Self::end`].
    pub(crate) fn begin(&mut self) -> usize {
        self.rows.push(0.0);
        self.sizes.push(0);
        self.rows.len() - 1
    }

    /// Ends an operator behind all its inputs.
    pub(crate) fn end(&mut self, node: usize, rows: f64) {
        self.rows[node] = rows;
        self.sizes[node] = self.rows.len() - node;
    }

    /// Notes what is believed of a column; what was noted first stays.
    pub(crate) fn note_column(&mut self, id: ColumnId, estimate: &ColumnEstimate) {
        self.columns.entry(id).or_insert_with(|| estimate.clone());
    }
}
