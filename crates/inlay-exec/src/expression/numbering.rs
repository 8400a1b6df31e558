//! Which subexpressions a program computes already.
//!
//! Equal expressions have equal operators over the same operands, so that each node is compared with few others and never
//! with a tree, however large the expression is.

use super::Layout;
use super::program::Operand;
use inlay_kernels::Cmp;
use inlay_kernels::function::ScalarFunction;
use inlay_sql::plan::{ColumnId, Lambda};
use inlay_types::{LogicalType, Result, Value};
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

/// What a step does, apart from its arguments.
#[derive(PartialEq)]
pub(super) enum Operator {
    Call(Arc<ScalarFunction>),
    Cast(LogicalType, bool),
    Compare(Cmp),
    And,
    Or,
    Not,
    IsNull,
    Case(LogicalType),
    Coalesce(LogicalType),
    Lambda(Box<Lambda>),
}

impl Operator {
    /// Names of operators tell most of them apart.
    fn name(&self) -> Cow<'static, str> {
        match self {
            Self::Call(function) => function.name.clone(),
            Self::Cast(..) => "cast".into(),
            Self::Compare(_) => "compare".into(),
            Self::And => "and".into(),
            Self::Or => "or".into(),
            Self::Not => "not".into(),
            Self::IsNull => "is null".into(),
            Self::Case(_) => "case".into(),
            Self::Coalesce(_) => "coalesce".into(),
            Self::Lambda(_) => "lambda".into(),
        }
    }
}

/// What steps of the same meaning have in common: the operator's name and the operands.
type Key = (Cow<'static, str>, Vec<Operand>);

/// The operands that are there, by what they are the value of.
#[derive(Default)]
pub(super) struct Known {
    columns: HashMap<ColumnId, Operand>,
    /// Positions of the layout's columns, made when the first is asked for.
    positions: HashMap<ColumnId, usize>,
    literals: HashMap<String, Operand>,
    steps: HashMap<Key, Vec<(Operator, Operand)>>,
}

impl Known {
    pub(super) fn column(&self, id: ColumnId) -> Option<Operand> {
        self.columns.get(&id).copied()
    }

    pub(super) fn add_column(&mut self, id: ColumnId, operand: Operand) {
        self.columns.insert(id, operand);
    }

    /// The position of a column that the plan promises to be there.
    pub(super) fn position(&mut self, layout: &Layout, id: ColumnId) -> Result<usize> {
        if self.positions.is_empty() {
            // The first of several equal ones counts.
            for (position, id) in layout.0.iter().enumerate().rev() {
                self.positions.insert(*id, position);
            }
        }
        self.positions.get(&id).map_or_else(|| layout.require(id), |position| Ok(*position))
    }

    pub(super) fn literal(&self, value: &Value, ty: &LogicalType) -> Option<Operand> {
        self.literals.get(&shown(value, ty)).copied()
    }

    pub(super) fn add_literal(&mut self, value: &Value, ty: &LogicalType, operand: Operand) {
        self.literals.insert(shown(value, ty), operand);
    }

    pub(super) fn step(&self, operator: &Operator, args: &[Operand]) -> Option<Operand> {
        let same = self.steps.get(&(operator.name(), args.to_vec()))?;
        same.iter().find(|(known, _)| known == operator).map(|(_, operand)| *operand)
    }

    pub(super) fn add_step(&mut self, operator: Operator, args: Vec<Operand>, operand: Operand) {
        self.steps.entry((operator.name(), args)).or_default().push((operator, operand));
    }
}

/// A text that no other value of any type has: the type tells 1 from 1::BIGINT, and -0.0 is shown with its sign.
fn shown(value: &Value, ty: &LogicalType) -> String {
    format!("{ty} {value:?}")
}
