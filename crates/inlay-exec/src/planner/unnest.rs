//! Lowers UNNEST to a streaming operator.

use super::{Fragment, Incoming, Needed, NodeNumber, Planner, with_expressions};
use crate::expression::Program;
use crate::operator::unnest::{Unnest, UnnestOptions};
use inlay_sql::plan::{ColumnId, Expr, Plan};
use inlay_types::{Error, LogicalType, Result};

impl Planner<'_> {
    pub(super) fn lower_unnest(
        &mut self,
        node: NodeNumber,
        plan: &Plan,
        needed: &Needed,
        incoming: &[Incoming],
        any_order: bool,
    ) -> Result<Fragment> {
        let Plan::Unnest { input, lists, ordinality, keep_empty } = plan else {
            return Err(Error::internal("not an Unnest"));
        };
        let ordinality = ordinality.filter(|id| needed.contains(id));
        let is_made = |id: &ColumnId| lists.iter().any(|(made, _)| made == id) || ordinality == Some(*id);
        let kept: Needed = needed.iter().copied().filter(|id| !is_made(id)).collect();
        let below = with_expressions(&kept, lists.iter().map(|(_, list)| list));
        // A filter on a column that only passes through removes whole rows of the input.
        let passed: Vec<Incoming> =
            incoming.iter().filter(|filter| !is_made(&filter.column)).cloned().collect();
        let mut fragment = self.lower(input, &below, &passed)?;
        let layout = fragment.layout();
        let elements: Vec<LogicalType> = lists.iter().map(|(id, _)| self.columns.ty(*id)).collect();
        let (mut exprs, mut elements_made) = (Vec::new(), Vec::new());
        for ((_, list), element) in lists.iter().zip(&elements) {
            let made = elements_of(list, element);
            elements_made.push(made.map(<[Expr]>::len));
            exprs.extend_from_slice(made.unwrap_or(std::slice::from_ref(list)));
        }
        let kept: Vec<ColumnId> = fragment.columns.iter().copied().filter(|id| kept.contains(id)).collect();
        let made: Vec<usize> = (0..lists.len()).filter(|index| needed.contains(&lists[*index].0)).collect();
        let options = UnnestOptions {
            lists: Program::compile_many(&exprs, &layout)?,
            elements_made,
            elements,
            passed: kept.iter().map(|id| layout.require(*id)).collect::<Result<_>>()?,
            made: made.clone(),
            ordinality: ordinality.is_some(),
            keep_empty: *keep_empty,
            any_order,
        };
        let operator = Unnest::new(options, self.context.budget.clone(), self.context.interrupt.clone());
        fragment.push(operator, node);
        fragment.columns = kept;
        fragment.columns.extend(made.iter().map(|index| lists[*index].0).chain(ordinality));
        Ok(fragment)
    }
}

/// The expressions that a list is made of, which then need not be made to be taken apart; `None` of any other list.
fn elements_of<'a>(list: &'a Expr, element: &LogicalType) -> Option<&'a [Expr]> {
    let Expr::Call { function, args, .. } = list else { return None };
    let is_made = function.name == "list_value" && !args.is_empty();
    (is_made && args.iter().all(|arg| arg.ty() == *element)).then_some(args)
}
