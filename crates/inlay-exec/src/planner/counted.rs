//! `SELECT region, count(*) FROM t WHERE type = 'house' GROUP BY region`: what indexes by value know without a look at a column.
//!
//! An aggregation of a scan in which nothing but indexed columns occurs reads [`SetCounts`] instead of the scan: rows of values
//! with their number, which `count` then adds up. Whether a row group has sets changes no answer, so the plan is the same.

use super::{Fragment, NodeNumber, Planner};
use crate::expression::{Filter, Layout};
use crate::operator::aggregate::{AggregateOptions, HashAggregate};
use crate::operator::set_counts::{SetCounts, SetCountsOptions};
use crate::operator::table_scan::{ScanFilters, TableScanOptions, condition_of, split_filters};
use inlay_catalog::TableEntry;
use inlay_kernels::AggregateKind;
use inlay_kernels::function::AggregateFunction;
use inlay_sql::plan::{AggregateExpr, ColumnId, Expr, Plan, ScanColumn};
use inlay_storage::TableSnapshot;
use inlay_storage::value_sets::Condition;
use inlay_types::{LogicalType, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What an aggregate is over counted values.
enum Counted {
    /// The sum of the rows.
    Rows,
    /// The sum of the rows where the column at this place is not NULL.
    Present(usize),
    /// What it is over rows.
    Same,
}

/// An aggregation as counts.
struct Shape {
    /// The columns whose values are wanted.
    values: Vec<ScanColumn>,
    aggregates: Vec<Counted>,
    condition: Condition,
    filters: ScanFilters,
}

impl Planner<'_> {
    /// The aggregation by indexes by value, if they can and most row groups have sets.
    pub(super) fn lower_counted(&mut self, node: NodeNumber, plan: &Plan) -> Result<Option<Fragment>> {
        let Plan::Aggregate { input, groups, aggregates } = plan else { return Ok(None) };
        let Plan::Scan { table, columns, fields, filters, row_id: None } = &**input else { return Ok(None) };
        if !self.context.by_value
            || !fields.is_empty()
            || filters.iter().any(Expr::calls_external)
            || columns.iter().any(|column| column.key_at.is_some())
        {
            return Ok(None);
        }
        let by_value = table.table.columns_by_value();
        let Some(shape) = shape(&by_value, columns, filters, groups, aggregates)? else { return Ok(None) };
        let snapshot = table.table.snapshot();
        if !self.has_sets(table, &snapshot, &shape)? {
            return Ok(None);
        }
        self.next_node += 1;
        let fragment = self.counts(node + 1, table, columns, snapshot, &shape, groups.is_empty())?;
        let width = shape.values.len();
        let counted =
            aggregates.iter().zip(&shape.aggregates).map(|((_, aggregate), counted)| match counted {
                Counted::Rows => sum_of(self.columns.expr(fragment.columns[width])),
                Counted::Present(place) => sum_of(self.columns.expr(fragment.columns[width + 1 + *place])),
                Counted::Same => aggregate.clone(),
            });
        let options = AggregateOptions {
            layout: fragment.layout(),
            groups: groups.iter().map(|(_, expr)| expr.clone()).collect(),
            aggregates: counted.collect(),
            key_domains: Vec::new(),
            estimated_rows: None,
            estimated_groups: self.expected_rows(node),
            groups_wanted: None,
            context: self.context.clone(),
        };
        let aggregate = HashAggregate::new(options)?;
        self.close(fragment, aggregate.sink(), node);
        let made = groups.iter().map(|(id, _)| *id).chain(aggregates.iter().map(|(id, _)| *id)).collect();
        Ok(Some(Fragment::new(aggregate.source(), made, node)))
    }

    /// Whether most row groups have the sets that are needed. They are asked for, so that later queries find them.
    fn has_sets(&self, table: &TableEntry, snapshot: &TableSnapshot, shape: &Shape) -> Result<bool> {
        let mut needed = shape.condition.columns();
        needed.extend(shape.values.iter().map(|column| column.index));
        needed.sort_unstable();
        needed.dedup();
        let groups = snapshot.row_groups();
        let with_sets = AtomicUsize::new(0);
        self.context.parallel(groups.len().div_ceil(TASK_GROUPS), |task| {
            let from = task * TASK_GROUPS;
            for group in &groups[from..(from + TASK_GROUPS).min(groups.len())] {
                let mut has_all = true;
                for column in &needed {
                    has_all &= table.table.value_sets_or_ask(group, *column)?.is_some();
                }
                with_sets.fetch_add(usize::from(has_all), Ordering::Relaxed);
            }
            Ok(())
        })?;
        Ok(with_sets.into_inner() * 2 > groups.len())
    }

    /// The source of values and numbers: of rows, then of the rows where each counted column is not NULL.
    fn counts(
        &mut self,
        node: NodeNumber,
        table: &Arc<TableEntry>,
        columns: &[ScanColumn],
        snapshot: Arc<TableSnapshot>,
        shape: &Shape,
        is_total: bool,
    ) -> Result<Fragment> {
        let position =
            |id: ColumnId| columns.iter().find(|column| column.id == id).map(|column| column.index);
        let of_conditions = shape.filters.columns.iter();
        let column_filters =
            of_conditions.filter_map(|(id, predicate)| Some((position(*id)?, predicate.clone()))).collect();
        let mut residual_ids: Vec<ColumnId> = shape.filters.residual.iter().flat_map(Expr::columns).collect();
        residual_ids.sort_unstable();
        residual_ids.dedup();
        let counted: Vec<usize> = (0..shape.values.len()).collect();
        let ids = shape.values.iter().map(|column| column.id);
        let types = ids.clone().map(|id| self.columns.ty(id)).collect();
        let numbers: Vec<ColumnId> =
            (0..=counted.len()).map(|_| self.columns.add("rows", LogicalType::BigInt)).collect();
        let scan = TableScanOptions {
            table: Arc::clone(&table.table),
            snapshot,
            columns: shape.values.iter().map(|column| column.index).collect(),
            fields: Vec::new(),
            row_ids: false,
            column_filters,
            dynamic_filters: Vec::new(),
            residual: Filter::compile(&shape.filters.residual, &Layout(residual_ids.clone()))?,
            residual_columns: residual_ids.iter().filter_map(|id| position(*id)).collect(),
            by_value: self.by_value(table, &shape.filters.residual, columns)?,
            groups: None,
        };
        let output = ids.chain(numbers).collect();
        let condition = shape.condition.clone();
        let options = SetCountsOptions { scan, condition, counted, types, is_total };
        Ok(Fragment::new(Arc::new(SetCounts::new(options)), output, node))
    }
}

/// Row groups that one task asks for their sets.
const TASK_GROUPS: usize = 64;

/// What an aggregation is over counted values; `None` if something in it is not of indexed columns, or is no count.
fn shape(
    by_value: &[usize],
    columns: &[ScanColumn],
    filters: &[Expr],
    groups: &[(ColumnId, Expr)],
    aggregates: &[(ColumnId, AggregateExpr)],
) -> Result<Option<Shape>> {
    if by_value.is_empty()
        || groups.is_empty() && filters.is_empty() && !aggregates.iter().any(|(_, a)| !a.args.is_empty())
    {
        return Ok(None);
    }
    let indexed = |id: ColumnId| {
        let column = columns.iter().find(|column| column.id == id)?;
        by_value.contains(&column.index).then_some(*column)
    };
    let mut values: Vec<ScanColumn> = Vec::new();
    let mut place_of = |expr: &Expr| {
        let Expr::Column { id, .. } = expr else { return None };
        let column = indexed(*id)?;
        let known = values.iter().position(|known| known.id == *id);
        if known.is_none() {
            values.push(column);
        }
        Some(known.unwrap_or(values.len() - 1))
    };
    if groups.iter().any(|(_, expr)| place_of(expr).is_none()) {
        return Ok(None);
    }
    let counted = aggregates.iter().map(|(_, aggregate)| counted(aggregate, &mut place_of));
    let Some(aggregates) = counted.collect::<Option<Vec<Counted>>>() else { return Ok(None) };
    let split = split_filters(filters)?;
    let mut parts = Vec::with_capacity(filters.len());
    for (id, predicate) in &split.columns {
        let Some(column) = indexed(*id) else { return Ok(None) };
        parts.push(Condition::Column(column.index, predicate.clone()));
    }
    for expr in &split.residual {
        match condition_of(expr, &|id| indexed(id).map(|column| column.index))? {
            Some(condition) => parts.push(condition),
            None => return Ok(None),
        }
    }
    let condition = if parts.len() == 1 { parts.remove(0) } else { Condition::All(parts) };
    Ok(Some(Shape { values, aggregates, condition, filters: split }))
}

/// What an aggregate is over counted values, where `place_of` finds indexed columns.
fn counted(aggregate: &AggregateExpr, place_of: &mut dyn FnMut(&Expr) -> Option<usize>) -> Option<Counted> {
    let function = &aggregate.function;
    if aggregate.filter.is_some() || !aggregate.order_by.is_empty() || function.external.is_some() {
        return None;
    }
    match (function.kind, aggregate.args.as_slice()) {
        (AggregateKind::CountStar, []) => Some(Counted::Rows),
        (AggregateKind::Count, [arg]) if !aggregate.distinct => place_of(arg).map(Counted::Present),
        (AggregateKind::Count | AggregateKind::Min | AggregateKind::Max, [arg]) => {
            place_of(arg).map(|_| Counted::Same)
        }
        (_, _) => None,
    }
}

/// The sum of numbers of rows, which is never NULL where there are any.
fn sum_of(numbers: Expr) -> AggregateExpr {
    let function = AggregateFunction {
        name: "sum".into(),
        kind: AggregateKind::Sum,
        arg_types: vec![LogicalType::BigInt],
        return_type: LogicalType::BigInt,
        external: None,
    };
    AggregateExpr {
        function: Arc::new(function),
        args: vec![numbers],
        distinct: false,
        filter: None,
        order_by: Vec::new(),
    }
}
