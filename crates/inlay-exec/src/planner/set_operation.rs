//! UNION, INTERSECT and EXCEPT.
//!
//! Both inputs are collected and read one after the other. UNION ALL is that; UNION groups it. INTERSECT and EXCEPT
//! group both inputs together, count the rows of each side by a tag column, and repeat groups as they say.

use super::{Fragment, Needed, NodeNumber, Planner};
use crate::expression::Program;
use crate::operator::aggregate::{AggregateOptions, HashAggregate};
use crate::operator::materialize::{BufferScan, Materialize};
use crate::operator::project::Project;
use crate::operator::set_operation::RepeatRows;
use inlay_kernels::function::{AggregateFunction, AggregateKind};
use inlay_sql::plan::{AggregateExpr, ColumnId, Expr, Plan, SetOpKind};
use inlay_types::{Error, LogicalType, Result, Value};
use std::sync::Arc;

impl Planner<'_> {
    pub(super) fn lower_set_operation(&mut self, node: NodeNumber, plan: &Plan) -> Result<Fragment> {
        let Plan::SetOp { kind, all, left, right, left_columns, right_columns, columns } = plan else {
            return Err(Error::internal("not a set operation"));
        };
        let counted = *kind != SetOpKind::Union;
        let mut buffers = Vec::new();
        for (input, input_columns, is_left) in [(left, left_columns, true), (right, right_columns, false)] {
            let needed: Needed = input_columns.iter().copied().collect();
            let mut fragment = self.lower(input, &needed, &[])?;
            let layout = fragment.layout();
            let mut positions =
                input_columns.iter().map(|id| layout.require(*id)).collect::<Result<Vec<_>>>()?;
            if counted {
                let mut exprs: Vec<Expr> = input_columns.iter().map(|id| self.columns.expr(*id)).collect();
                exprs.push(Expr::literal(Value::Boolean(is_left)));
                let program = Program::compile_many(&exprs, &layout)?;
                fragment.push(Project::new(program, self.context.budget.clone()), node);
                positions = (0..exprs.len()).collect();
            }
            let sink = Materialize::new(self.context);
            buffers.push((sink.buffer(), positions));
            self.close(fragment, Arc::new(sink), node);
        }
        let scan = Arc::new(BufferScan::new(buffers));
        if !counted {
            let union = Fragment::new(scan, columns.clone(), node);
            return if *all { Ok(union) } else { self.group_all(union, columns, Vec::new(), node) };
        }
        let tag = self.columns.add("is_left", LogicalType::Boolean);
        let tagged = Fragment::new(scan, columns.iter().copied().chain([tag]).collect(), node);
        let is_left = self.columns.expr(tag);
        let counts = vec![count_rows(is_left.clone()), count_rows(Expr::Not(Box::new(is_left)))];
        let mut grouped = self.group_all(tagged, columns, counts, node)?;
        grouped.push(RepeatRows::new(*kind, *all), node);
        grouped.columns.clone_from(columns);
        Ok(grouped)
    }

    fn group_all(
        &mut self,
        fragment: Fragment,
        columns: &[ColumnId],
        aggregates: Vec<AggregateExpr>,
        node: NodeNumber,
    ) -> Result<Fragment> {
        let options = AggregateOptions {
            layout: fragment.layout(),
            groups: columns.iter().map(|id| self.columns.expr(*id)).collect(),
            aggregates,
            key_domains: Vec::new(),
            estimated_rows: None,
            estimated_groups: None,
            groups_wanted: None,
            context: self.context.clone(),
        };
        let aggregate = HashAggregate::new(options)?;
        self.close(fragment, aggregate.sink(), node);
        Ok(Fragment::new(aggregate.source(), columns.to_vec(), node))
    }
}

/// `count(*) FILTER (WHERE condition)`
fn count_rows(condition: Expr) -> AggregateExpr {
    let function = AggregateFunction {
        name: "count".into(),
        kind: AggregateKind::CountStar,
        arg_types: Vec::new(),
        return_type: LogicalType::BigInt,
        external: None,
    };
    AggregateExpr {
        function: Arc::new(function),
        args: Vec::new(),
        distinct: false,
        filter: Some(condition),
        order_by: Vec::new(),
    }
}
