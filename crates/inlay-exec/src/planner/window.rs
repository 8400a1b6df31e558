//! Lowers window functions: one stage per PARTITION BY and ORDER BY.

use super::{Fragment, Needed, NodeNumber, Planner, with_expressions};
use crate::operator::leaders::Leaders;
use crate::operator::window::{Window, WindowOptions, fits_any_order, same_stage};
use crate::pipeline::DynSink;
use inlay_kernels::WindowKind;
use inlay_sql::plan::window::WindowCallee;
use inlay_sql::plan::{ColumnId, CompareOp, Expr, Plan, WindowExpr};
use inlay_types::{Result, Value};
use std::sync::Arc;

type Made<'p> = (ColumnId, &'p WindowExpr);

/// Functions by stage. The stage of the first function is the last, so that the rows come out in its order.
fn stages(windows: &[(ColumnId, WindowExpr)]) -> Vec<Vec<Made<'_>>> {
    let mut stages: Vec<Vec<Made<'_>>> = Vec::new();
    let made = |(id, window): &'_ (ColumnId, WindowExpr)| -> Option<ColumnId> {
        (!fits_any_order(window)).then_some(*id)
    };
    let (fixed, free): (Vec<_>, Vec<_>) = windows.iter().partition(|window| made(window).is_some());
    for (id, window) in fixed {
        match stages.iter_mut().find(|stage| stage.iter().any(|(_, known)| same_stage(known, window))) {
            Some(stage) => stage.push((*id, window)),
            None => stages.push(vec![(*id, window)]),
        }
    }
    for (id, window) in free {
        let partition =
            |stage: &&mut Vec<Made<'_>>| stage.iter().any(|(_, known)| known.partition == window.partition);
        match stages.iter_mut().find(partition) {
            Some(stage) => stage.push((*id, window)),
            None => stages.push(vec![(*id, window)]),
        }
    }
    stages.reverse();
    stages
}

/// How many first rows of each partition a filter above lets through, if a rank bounds them. No function may depend on the
/// rows behind those.
fn wanted_rows(stage: &[Made<'_>], predicates: &[Expr]) -> Option<u64> {
    let counts = |kind| matches!(kind, WindowKind::RowNumber | WindowKind::Rank | WindowKind::DenseRank);
    let kind = |window: &WindowExpr| match &window.function {
        WindowCallee::Window(function) => Some(function.kind).filter(|kind| counts(*kind)),
        WindowCallee::Aggregate(_) => None,
    };
    if !stage.iter().all(|(_, window)| kind(window).is_some()) {
        return None;
    }
    let bound = |(id, window): &Made<'_>| {
        // As many rows as one likes share a dense rank.
        let is_count = kind(window) != Some(WindowKind::DenseRank);
        predicates.iter().filter(|_| is_count).filter_map(|predicate| upper_bound(predicate, *id)).min()
    };
    stage.iter().filter_map(bound).min()
}

/// The largest number of a column that a predicate lets through.
fn upper_bound(predicate: &Expr, id: ColumnId) -> Option<u64> {
    let is_column = |expr: &Expr| matches!(expr, Expr::Column { id: found, .. } if *found == id);
    let number = |expr: &Expr| match expr {
        Expr::Literal { value: Value::BigInt(number), .. } => Some(u64::try_from(*number).unwrap_or(0)),
        _ => None,
    };
    match predicate {
        Expr::Compare { op, left, right } => {
            let (op, number) = match (is_column(left), is_column(right)) {
                (true, _) => (*op, number(right)?),
                (_, true) => (op.flipped(), number(left)?),
                _ => return None,
            };
            match op {
                CompareOp::Eq | CompareOp::LtEq => Some(number),
                CompareOp::Lt => Some(number.saturating_sub(1)),
                _ => None,
            }
        }
        Expr::InList { input, list } if is_column(input) => {
            list.iter().map(number).collect::<Option<Vec<u64>>>()?.into_iter().max()
        }
        Expr::And(conjuncts) => conjuncts.iter().filter_map(|conjunct| upper_bound(conjunct, id)).min(),
        _ => None,
    }
}

impl Planner<'_> {
    /// `predicates` are those of a filter right above.
    pub(super) fn lower_window(
        &mut self,
        node: NodeNumber,
        input: &Plan,
        windows: &[(ColumnId, WindowExpr)],
        needed: &Needed,
        predicates: &[Expr],
    ) -> Result<Fragment> {
        let made: Vec<&(ColumnId, WindowExpr)> =
            windows.iter().filter(|(id, window)| needed.contains(id) || window.is_volatile()).collect();
        let windows: Vec<(ColumnId, WindowExpr)> = made.into_iter().cloned().collect();
        let passed: Needed =
            needed.iter().copied().filter(|id| !windows.iter().any(|(made, _)| made == id)).collect();
        let below = with_expressions(&passed, windows.iter().flat_map(|(_, window)| window.expressions()));
        let mut windows = windows;
        let input_node = self.next_node;
        let fragment = self.lower(input, &below, &[])?;
        let exprs = windows.iter_mut().flat_map(|(_, window)| window.expressions_mut());
        let mut fragment = self.hoist(fragment, exprs.map(|expr| (expr, None)), node)?;
        let stages = stages(&windows);
        let mut shared_leaders = None;
        if let [stage] = &stages[..]
            && let Some(rows) = wanted_rows(stage, predicates)
            && let Some((_, window)) = stage.first()
            && let Some(key) = window.order.first()
            && let Some(leaders) = self.leaders(&fragment, input_node, &window.partition, key, rows)?
        {
            let leaders = shared_leaders.insert(Arc::new(leaders));
            fragment.push_shared(Arc::<Leaders>::clone(leaders), node);
        }
        for stage in stages {
            let options = WindowOptions {
                layout: fragment.layout(),
                types: self.types(&fragment.columns),
                windows: stage.iter().map(|(_, window)| (*window).clone()).collect(),
                leaders: shared_leaders.take(),
            };
            let mut columns = fragment.columns.clone();
            columns.extend(stage.iter().map(|(id, _)| *id));
            let window = Window::new(options, self.context)?;
            self.close(fragment, Arc::clone(&window) as Arc<dyn DynSink>, node);
            fragment = Fragment::new(window, columns, node);
        }
        Ok(fragment)
    }
}
