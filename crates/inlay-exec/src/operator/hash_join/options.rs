//! What the planner says of a join, for the hash join and the nested-loop join alike.

use crate::dynamic_filter::DynamicFilter;
use crate::expression::Layout;
use crate::pipeline::{DynOperator, DynSink, DynSource, Flow, Sink};
use inlay_sql::plan::{ColumnId, CompareOp, Expr, JoinKind};
use inlay_types::{Batch, LogicalType, Result};
use std::sync::Arc;

/// One input of a join: the columns of its batches, in order.
#[derive(Clone, Debug, Default)]
pub struct JoinSide {
    /// Which columns.
    pub columns: Vec<ColumnId>,
    /// Their types.
    pub types: Vec<LogicalType>,
}

impl JoinSide {
    /// Which column is at which position.
    pub fn layout(&self) -> Layout {
        Layout(self.columns.clone())
    }

    /// The position of a column.
    pub fn position(&self, id: ColumnId) -> Option<usize> {
        self.columns.iter().position(|other| *other == id)
    }
}

/// An equality between an expression over the left input and one over the right, of the same type.
#[derive(Clone, Debug)]
pub struct JoinKey {
    /// Over the left input.
    pub left: Expr,
    /// Over the right input.
    pub right: Expr,
    /// `IS NOT DISTINCT FROM`: NULL matches NULL.
    pub null_equal: bool,
    /// Where to publish a filter on this key of the probe side.
    pub filter: Option<DynamicFilter>,
}

/// Everything about a join. See [`JoinKind`] for what each kind hands on; `left` is the side that is kept.
#[derive(Clone, Debug)]
pub struct JoinOptions {
    /// The kind.
    pub kind: JoinKind,
    /// The left input is stored and the right one streams past it; otherwise the right one is stored.
    /// Not for Mark and Single joins.
    pub build_left: bool,
    /// The left input.
    pub left: JoinSide,
    /// The right input.
    pub right: JoinSide,
    /// Equalities; none for a nested-loop join.
    pub keys: Vec<JoinKey>,
    /// Any other conjuncts, over both inputs.
    pub conditions: Vec<Expr>,
    /// The columns to hand on, in order: any of the left and right columns, and the mark.
    pub output: Vec<ColumnId>,
    /// Every probe row has passed the scan that reads this join's dynamic filters. If the filter turns out to be exact,
    /// the probe of a semi join has nothing left to do.
    pub filters_applied: bool,
}

/// The parts of a join, to be put into pipelines.
#[derive(Clone)]
pub struct JoinParts {
    /// Ends the build side's pipeline.
    pub build: Arc<dyn DynSink>,
    /// Stands in the probe side's pipeline, which depends on the build side's.
    pub probe: Arc<dyn DynOperator>,
    /// Makes the rows that only the end of the probe side's pipeline decides: those of the build side without partner
    /// (Full; Left built on the left), or with or without one (Semi and Anti built on the left). Its pipeline depends
    /// on the probe side's, and its batches go where the probe's go.
    pub outer: Option<Arc<dyn DynSource>>,
    /// Whether the probe hands on rows. If not (Semi and Anti built on the left), the probe side's pipeline ends
    /// behind it, in a [`Discard`], and only `outer` makes rows.
    pub probe_emits: bool,
}

/// Splits conjuncts into equalities between the sides, which a hash join can use, and the rest. Slots for filters are
/// empty.
pub fn split_conditions(
    conditions: Vec<Expr>,
    left: &[ColumnId],
    right: &[ColumnId],
) -> (Vec<JoinKey>, Vec<Expr>) {
    let (mut keys, mut rest) = (Vec::new(), Vec::new());
    for condition in conditions {
        match as_key(&condition, left, right) {
            Some(key) => keys.push(key),
            None => rest.push(condition),
        }
    }
    (keys, rest)
}

fn as_key(condition: &Expr, left: &[ColumnId], right: &[ColumnId]) -> Option<JoinKey> {
    let Expr::Compare { op, left: one, right: other } = condition else { return None };
    let null_equal = match op {
        CompareOp::Eq => false,
        CompareOp::NotDistinct => true,
        CompareOp::NotEq
        | CompareOp::Lt
        | CompareOp::LtEq
        | CompareOp::Gt
        | CompareOp::GtEq
        | CompareOp::Distinct => return None,
    };
    if !one.is_deterministic() || !other.is_deterministic() {
        return None;
    }
    let reads_only = |expr: &Expr, side: &[ColumnId]| {
        let columns = expr.columns();
        !columns.is_empty() && columns.iter().all(|id| side.contains(id))
    };
    let key = |l: &Expr, r: &Expr| JoinKey { left: l.clone(), right: r.clone(), null_equal, filter: None };
    if reads_only(one, left) && reads_only(other, right) {
        Some(key(one, other))
    } else if reads_only(one, right) && reads_only(other, left) {
        Some(key(other, one))
    } else {
        None
    }
}

/// A sink that forgets its rows: the end of a probe pipeline whose join hands on build rows only.
#[derive(Clone, Copy, Debug, Default)]
pub struct Discard;

impl Sink for Discard {
    type Local = ();

    fn local(&self) {}

    fn consume(&self, _input: Batch, _local: &mut ()) -> Result<Flow> {
        Ok(Flow::More)
    }

    fn combine(&self, (): ()) -> Result<()> {
        Ok(())
    }

    fn finalize(&self, _context: &crate::ExecContext) -> Result<()> {
        Ok(())
    }
}
