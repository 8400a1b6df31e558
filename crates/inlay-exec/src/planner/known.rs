//! `SELECT count(*), max(x) FROM 'a.parquet'`: what a source knows of all its rows without reading them.

use super::{Fragment, NodeNumber, Planner};
use inlay_catalog::TableSource;
use inlay_kernels::function::AggregateKind;
use inlay_sql::plan::{AggregateExpr, Expr, Plan, ScanColumn};
use inlay_types::{Result, Value};

impl Planner<'_> {
    /// The one row of an aggregation without groups, if the source below knows all of it.
    pub(super) fn lower_known(&mut self, node: NodeNumber, plan: &Plan) -> Result<Option<Fragment>> {
        let Plan::Aggregate { input, groups, aggregates } = plan else { return Ok(None) };
        let Plan::Source { source, columns, filters } = &**input else { return Ok(None) };
        if !groups.is_empty() || !filters.is_empty() || aggregates.is_empty() {
            return Ok(None);
        }
        let values = aggregates.iter().map(|(_, aggregate)| known(&**source, columns, aggregate));
        let Some(row) = values.collect::<Option<Vec<Expr>>>() else { return Ok(None) };
        // The source is a node of the plan, though not of what runs.
        self.next_node += 1;
        let made: Vec<_> = aggregates.iter().map(|(id, _)| *id).collect();
        self.lower_values(node, &made, &[row]).map(Some)
    }
}

/// The value of an aggregate over all rows of a source.
fn known(source: &dyn TableSource, columns: &[ScanColumn], aggregate: &AggregateExpr) -> Option<Expr> {
    if aggregate.filter.is_some() || !aggregate.order_by.is_empty() {
        return None;
    }
    let function = &aggregate.function;
    let greatest = match function.kind {
        AggregateKind::CountStar => {
            let rows = i64::try_from(source.known_row_count()?).ok()?;
            return Some(Expr::Literal { value: Value::BigInt(rows), ty: function.return_type.clone() });
        }
        AggregateKind::Min => false,
        AggregateKind::Max => true,
        _ => return None,
    };
    let [Expr::Column { id, .. }] = aggregate.args.as_slice() else { return None };
    let column = columns.iter().find(|column| column.id == *id)?;
    let value = source.known_extreme(column.index, greatest)?;
    let ty = function.return_type.clone();
    (value.is_null() || value.logical_type() == ty).then_some(Expr::Literal { value, ty })
}
