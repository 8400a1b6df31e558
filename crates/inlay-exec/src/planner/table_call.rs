//! Lowers table functions of the host that are given their table in parts.

use super::{Fragment, Needed, NodeNumber, Planner, with_expressions};
use crate::expression::Program;
use crate::operator::table_call::{Alone, CallOptions, Made, OrderedCall, PartsCall};
use inlay_sql::plan::{ColumnId, Expr, Plan};
use inlay_types::{Error, Result};
use std::sync::Arc;

impl Planner<'_> {
    pub(super) fn lower_table_call(
        &mut self,
        node: NodeNumber,
        plan: &Plan,
        needed: &Needed,
    ) -> Result<Fragment> {
        let Plan::TableCall { input, call, args, keys, columns, ordinality } = plan else {
            return Err(Error::internal("not a call of a table function"));
        };
        let ordinality = ordinality.filter(|id| needed.contains(id));
        let wanted: Vec<usize> =
            (0..columns.len()).filter(|index| needed.contains(&columns[*index])).collect();
        let made: Vec<ColumnId> = wanted.iter().map(|&index| columns[index]).chain(ordinality).collect();
        let options = CallOptions::new(call, wanted, ordinality.is_some(), self.context);
        let below = with_expressions(&Needed::new(), args.iter().chain(keys));
        let mut fragment = self.lower(input, &below, &[])?;
        if !call.has_table {
            // Its input is one row without columns, which nobody needs to read.
            return Ok(Fragment::new(Arc::new(Made::of_nothing(options)), made, node));
        }
        let mut exprs: Vec<Expr> = args.iter().chain(keys).cloned().collect();
        fragment = self.hoist(fragment, exprs.iter_mut().map(|expr| (expr, None)), node)?;
        let layout = fragment.layout();
        let (args, keys) = exprs.split_at(args.len());
        let args = Program::compile_many(args, &layout)?;
        if call.in_order || ordinality.is_some() {
            fragment.source = Arc::new(Alone(Arc::clone(&fragment.source)));
            let ordered = OrderedCall::new(options, args, Program::compile_many(keys, &layout)?, keys.len());
            fragment.push(ordered, node);
        } else {
            fragment.push(PartsCall::new(options, args), node);
        }
        fragment.columns = made;
        Ok(fragment)
    }
}
