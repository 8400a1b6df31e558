//! Sums of one value plus several constants: `sum(x), sum(x + 1), sum(x + 2)` are one sum and one count.
//!
//! ```text
//! Aggregate: sum(x + 1), sum(x + 2)     ->     Project s + 1 * n, s + 2 * n
//!   t                                            Aggregate: s = sum(x), n = count(x)
//!                                                  t
//! ```
//! Of integers alone, whose sums are exact, and where the ranges of columns show that no `x + c` is out of the range of its type.

use super::ranges::Ranges;
use super::rewrite::{not_chosen, take, with_stack};
use crate::plan::{AggregateExpr, ColumnId, Columns, Expr, Place, Plan};
use inlay_functions::registry::{resolve_aggregate, resolve_scalar};
use inlay_kernels::AggregateKind;
use inlay_kernels::resolve::ArgType;
use inlay_types::{LogicalType, Result, Value};
use std::sync::Arc;

/// Fewer sums of one value are left as they are.
const SUMS_MIN: usize = 3;

/// A sum of `base + shift`.
struct Shifted {
    position: usize,
    base: Expr,
    shift: i128,
}

/// Makes shifted sums of all aggregations from sums that they share.
pub fn run(plan: &mut Plan, columns: &mut Columns) -> Result<()> {
    plan.inputs_mut().into_iter().try_for_each(|input| with_stack(|| run(input, columns)))?;
    let Plan::Aggregate { input, aggregates, .. } = plan else { return Ok(()) };
    if aggregates.len() < SUMS_MIN {
        return Ok(());
    }
    let ranges = Ranges::of(input);
    let found: Vec<Shifted> = aggregates
        .iter()
        .enumerate()
        .filter_map(|(position, (_, aggregate))| shifted(position, aggregate, &ranges))
        .collect();
    let mut bases: Vec<(Expr, Option<Expr>, Vec<Shifted>)> = Vec::new();
    for sum in found {
        let filter = aggregates[sum.position].1.filter.clone();
        match bases.iter_mut().find(|(base, known, _)| *base == sum.base && *known == filter) {
            Some((.., sums)) => sums.push(sum),
            None => bases.push((sum.base.clone(), filter, vec![sum])),
        }
    }
    bases.retain(|(.., sums)| sums.len() >= SUMS_MIN);
    if bases.is_empty() { Ok(()) } else { share(plan, bases, columns) }
}

/// A sum of an integer plus a constant, if that cannot be out of range.
fn shifted(position: usize, aggregate: &AggregateExpr, ranges: &Ranges) -> Option<Shifted> {
    let is_plain = aggregate.function.kind == AggregateKind::Sum
        && aggregate.function.return_type == LogicalType::HugeInt
        && !aggregate.distinct
        && aggregate.order_by.is_empty();
    let [arg] = &aggregate.args[..] else { return None };
    let Expr::Call { function, args, .. } = arg else { return None };
    let [left, right] = &args[..] else { return None };
    if !is_plain || !arg.ty().is_integer() || ranges.can_fail(arg) || aggregate.is_volatile() {
        return None;
    }
    let (base, shift) = match (&*function.name, literal(left), literal(right)) {
        ("+", None, Some(shift)) => (left, shift),
        ("+", Some(shift), None) => (right, shift),
        ("-", None, Some(shift)) => (left, -shift),
        _ => return None,
    };
    base.ty().is_integer().then(|| Shifted { position, base: base.clone(), shift })
}

fn literal(expr: &Expr) -> Option<i128> {
    match expr {
        Expr::Literal { value, ty } if ty.is_integer() => {
            value.as_stored_i128().filter(|value| i64::try_from(*value).is_ok())
        }
        _ => None,
    }
}

fn share(
    plan: &mut Plan,
    bases: Vec<(Expr, Option<Expr>, Vec<Shifted>)>,
    columns: &mut Columns,
) -> Result<()> {
    let Plan::Aggregate { input, groups, aggregates } = take(plan) else {
        return Err(not_chosen("shifted_sums"));
    };
    let mut items: Vec<(ColumnId, Expr)> = groups.iter().map(|(id, _)| (*id, columns.expr(*id))).collect();
    let mut kept: Vec<Option<(ColumnId, AggregateExpr)>> = aggregates.into_iter().map(Some).collect();
    let mut shared = Vec::new();
    for (base, filter, sums) in bases {
        let mut part = |name: &'static str| -> Result<Expr> {
            let function = Arc::new(resolve_aggregate(name, &[ArgType::of(base.ty())])?);
            let made = columns.add(name, function.return_type.clone());
            let (args, filter) = (vec![base.clone()], filter.clone());
            shared.push((
                made,
                AggregateExpr { function, args, distinct: false, filter, order_by: Vec::new() },
            ));
            Ok(columns.expr(made))
        };
        let (sum, count) = (part("sum")?, part("count")?);
        let count = Expr::Cast {
            input: Box::new(count),
            ty: LogicalType::HugeInt,
            or_null: false,
            place: Place::default(),
        };
        for Shifted { position, shift, .. } in sums {
            let Some((id, _)) = kept[position].take() else { continue };
            let shifts = huge("*", Expr::literal(Value::HugeInt(shift)), count.clone())?;
            items.push((id, huge("+", sum.clone(), shifts)?));
        }
    }
    let mut aggregates: Vec<(ColumnId, AggregateExpr)> = kept.into_iter().flatten().collect();
    items.extend(aggregates.iter().map(|(id, _)| (*id, columns.expr(*id))));
    aggregates.append(&mut shared);
    *plan = Plan::Aggregate { input, groups, aggregates }.project(items);
    Ok(())
}

/// An operator of two HUGEINTs.
fn huge(operator: &str, left: Expr, right: Expr) -> Result<Expr> {
    let types = [ArgType::of(LogicalType::HugeInt), ArgType::of(LogicalType::HugeInt)];
    let function = resolve_scalar(operator, &types, &Default::default())?;
    Ok(Expr::Call { function, args: vec![left, right], place: Place::default() })
}
