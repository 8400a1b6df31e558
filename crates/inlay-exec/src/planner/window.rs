//! Lowers window functions: one stage per PARTITION BY and ORDER BY.

use super::{Fragment, Needed, NodeNumber, Planner, with_expressions};
use crate::operator::window::{Window, WindowOptions, fits_any_order, same_stage};
use crate::pipeline::Sink;
use inlay_sql::plan::{ColumnId, Plan, WindowExpr};
use inlay_types::Result;
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

impl Planner<'_> {
    pub(super) fn lower_window(
        &mut self,
        node: NodeNumber,
        input: &Plan,
        windows: &[(ColumnId, WindowExpr)],
        needed: &Needed,
    ) -> Result<Fragment> {
        let made: Vec<&(ColumnId, WindowExpr)> =
            windows.iter().filter(|(id, _)| needed.contains(id)).collect();
        let windows: Vec<(ColumnId, WindowExpr)> = made.into_iter().cloned().collect();
        let passed: Needed =
            needed.iter().copied().filter(|id| !windows.iter().any(|(made, _)| made == id)).collect();
        let below = with_expressions(&passed, windows.iter().flat_map(|(_, window)| window.expressions()));
        let mut fragment = self.lower(input, &below, &[])?;
        for stage in stages(&windows) {
            let options = WindowOptions {
                layout: fragment.layout(),
                types: self.types(&fragment.columns),
                windows: stage.iter().map(|(_, window)| (*window).clone()).collect(),
            };
            let mut columns = fragment.columns.clone();
            columns.extend(stage.iter().map(|(id, _)| *id));
            let window = Window::new(options, self.context)?;
            self.close(fragment, Arc::clone(&window) as Arc<dyn Sink>, node);
            fragment = Fragment::new(window, columns, node);
        }
        Ok(fragment)
    }
}
