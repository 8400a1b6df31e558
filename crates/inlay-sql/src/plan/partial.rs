//! Aggregates in two steps: partial results of parts of a group, and what becomes one of them.
//!
//! `sum`, `min` and their like are made of partial results by aggregating those; a `count` is the sum of counts, and an `avg` a sum and
//! a count until the end.

use super::{AggregateExpr, ColumnId, Columns, Expr, Place, Plan};
use inlay_functions::registry::resolve_aggregate;
use inlay_kernels::AggregateKind;
use inlay_kernels::aggregate::quotient;
use inlay_kernels::resolve::ArgType;
use inlay_types::{LogicalType, Result, Value};
use std::sync::Arc;

/// Aggregates and the columns that they make.
pub(crate) type Aggregates = Vec<(ColumnId, AggregateExpr)>;

/// An `avg` and the columns of its parts.
pub(crate) struct Average {
    id: ColumnId,
    sum: ColumnId,
    count: ColumnId,
}

/// What makes an aggregate of partial ones.
pub(crate) struct Merge {
    name: &'static str,
    /// No partial result is zero, not NULL.
    is_count: bool,
}

/// How partial results of an aggregate become one, if they do.
pub(crate) fn merge_of(aggregate: &AggregateExpr) -> Option<Merge> {
    use AggregateKind as K;
    let (name, counts_duplicates) = match aggregate.function.kind {
        K::Count | K::CountStar | K::Sum => ("sum", true),
        K::Min => ("min", false),
        K::Max => ("max", false),
        K::BoolAnd => ("bool_and", false),
        K::BoolOr => ("bool_or", false),
        K::BitAnd => ("bit_and", false),
        K::BitOr => ("bit_or", false),
        K::BitXor => ("bit_xor", true),
        _ => return None,
    };
    if aggregate.distinct && counts_duplicates {
        return None;
    }
    let is_count = matches!(aggregate.function.kind, K::Count | K::CountStar);
    let ty = aggregate.function.return_type.clone();
    let merged = resolve_aggregate(name, &[ArgType::of(ty.clone())]).ok()?;
    (is_count || (merged.return_type == ty && merged.arg_types == [ty.clone()]))
        .then_some(Merge { name, is_count })
}

/// Whether an aggregate can be made of partial results, an `avg` by its parts.
pub(crate) fn can_merge(aggregate: &AggregateExpr) -> bool {
    let function = &aggregate.function;
    match function.kind {
        AggregateKind::Avg => {
            let args: Vec<ArgType> = function.arg_types.iter().cloned().map(ArgType::of).collect();
            let sum = resolve_aggregate("sum", &args);
            !aggregate.distinct && sum.is_ok_and(|sum| quotient(sum.return_type).is_some())
        }
        _ => merge_of(aggregate).is_some(),
    }
}

impl Merge {
    /// The aggregate of the partial results that `read` gives, and its column: `id`, but that a count needs an expression
    /// around it to be 0 over nothing, which makes `id` of that column and goes to `counts`.
    pub(crate) fn again(
        &self,
        read: Expr,
        id: ColumnId,
        columns: &mut Columns,
        counts: &mut Vec<(ColumnId, Expr)>,
    ) -> Result<(ColumnId, AggregateExpr)> {
        let function = Arc::new(resolve_aggregate(self.name, &[ArgType::of(read.ty())])?);
        let mut made = id;
        if self.is_count {
            made = columns.add("sum", function.return_type.clone());
            let number = Expr::Cast {
                input: Box::new(columns.expr(made)),
                ty: LogicalType::BigInt,
                or_null: false,
                place: Place::default(),
            };
            let args = vec![number, Expr::literal(Value::BigInt(0))];
            counts.push((id, Expr::Coalesce { args, ty: LogicalType::BigInt }));
        }
        let args = vec![read];
        Ok((made, AggregateExpr { function, args, distinct: false, filter: None, order_by: Vec::new() }))
    }
}

/// Each `avg` as a sum and a count, if then all aggregates can be made of partial results.
pub(crate) fn split_averages(
    aggregates: Aggregates,
    columns: &mut Columns,
) -> Result<(Aggregates, Vec<Average>)> {
    let mut parts: Aggregates = Vec::with_capacity(aggregates.len() + 1);
    let mut averages = Vec::new();
    for (id, aggregate) in &aggregates {
        if aggregate.function.kind != AggregateKind::Avg || aggregate.distinct {
            parts.push((*id, aggregate.clone()));
            continue;
        }
        let mut part = |name: &'static str| -> Result<ColumnId> {
            let args = [ArgType::of(aggregate.function.arg_types[0].clone())];
            let function = Arc::new(resolve_aggregate(name, &args)?);
            let made = columns.add(name, function.return_type.clone());
            parts.push((made, AggregateExpr { function, ..aggregate.clone() }));
            Ok(made)
        };
        averages.push(Average { id: *id, sum: part("sum")?, count: part("count")? });
    }
    let fit = averages.iter().all(|average| quotient(columns.ty(average.sum)).is_some());
    if averages.is_empty() || !fit || parts.iter().any(|(_, part)| merge_of(part).is_none()) {
        return Ok((aggregates, Vec::new()));
    }
    Ok((parts, averages))
}

/// Puts averages in the place of their sums and counts.
pub(crate) fn join_averages(plan: Plan, averages: &[Average], columns: &Columns) -> Plan {
    if averages.is_empty() {
        return plan;
    }
    let is_part = |id: &ColumnId| averages.iter().any(|a| a.sum == *id || a.count == *id);
    let others = plan.output().into_iter().filter(|id| !is_part(id)).map(|id| (id, columns.expr(id)));
    let mut items: Vec<(ColumnId, Expr)> = others.collect();
    items.extend(averages.iter().filter_map(|average| {
        let function = Arc::new(quotient(columns.ty(average.sum))?);
        let args = vec![columns.expr(average.sum), columns.expr(average.count)];
        Some((average.id, Expr::Call { function, args, place: Place::default() }))
    }));
    plan.project(items)
}
