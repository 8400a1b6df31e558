//! Leaves of a plan: tables, sources, literal rows.

use super::{Fragment, Incoming, Needed, NodeNumber, Planner};
use crate::expression::{Filter, Layout, Program};
use crate::operator::aggregate::KeyDomain;
use crate::operator::source_scan::{SourceHints, TableSourceScan};
use crate::operator::table_scan::{
    ByValue, FieldSource, ScanSlot, TableScan, TableScanOptions, condition_of, split_filters,
};
use crate::operator::values::Values;
use inlay_catalog::{SourceFilter, TableEntry, TableSource};
use inlay_sql::plan::{ColumnId, Expr, ScanColumn, ScanField};
use inlay_storage::SegmentPredicate;
use inlay_types::{Batch, Error, Result, Value, VectorBuilder};
use std::sync::Arc;

impl Planner<'_> {
    #[expect(clippy::too_many_arguments, reason = "the parts of one plan node")]
    pub(super) fn lower_scan(
        &mut self,
        node: NodeNumber,
        table: &Arc<TableEntry>,
        (columns, fields): (&[ScanColumn], &[ScanField]),
        filters: &[Expr],
        row_id: Option<ColumnId>,
        needed: &Needed,
        incoming: &[Incoming],
    ) -> Result<Fragment> {
        // Fields are numbered behind the columns of the table.
        let width = table.table.schema().columns.len();
        let find = |id: ColumnId| {
            let column = columns.iter().find(|c| c.id == id).map(|c| c.index);
            column.or_else(|| fields.iter().position(|f| f.id == id).map(|place| width + place))
        };
        let position =
            |id| find(id).ok_or_else(|| Error::internal(format!("column {id} is not of this scan")));
        let snapshot = table.table.snapshot();
        for column in columns {
            let is_key = match column.key_at {
                Some(version) if version != snapshot.version() => snapshot.ascends(column.index)?,
                _ => true,
            };
            let is_full = column.full_at.is_none_or(|version| {
                let mut groups = snapshot.row_groups().iter();
                version == snapshot.version()
                    || groups.all(|group| group.column(column.index).null_count() == 0)
            });
            if !(is_key && is_full) {
                return Err(Error::internal(format!(
                    "table {} changed after its query was planned",
                    table.name
                )));
            }
        }
        let statistics = table.table.statistics()?;
        for column in columns {
            let known = &statistics.columns[column.index];
            let bounds = (known.min.as_ref(), known.max.as_ref());
            if let (Some(min), Some(max)) = bounds
                && let (Some(min), Some(max)) = (min.as_stored_i128(), max.as_stored_i128())
            {
                self.domains.insert(column.id, KeyDomain::Range(min, max));
            } else if table.table.schema().columns[column.index].ty.is_view() {
                self.domains.insert(column.id, KeyDomain::Strings(known.distinct_count as u64));
            }
        }
        let split = split_filters(filters)?;
        let mut residual_ids: Vec<ColumnId> = split.residual.iter().flat_map(Expr::columns).collect();
        residual_ids.sort_unstable();
        residual_ids.dedup();
        let handed = columns.iter().map(|c| c.id).chain(fields.iter().map(|f| f.id));
        let wanted: Vec<ColumnId> = handed.filter(|id| needed.contains(id)).collect();
        let row_id = row_id.filter(|id| needed.contains(id));
        let mut dynamic_filters = Vec::new();
        for filter in incoming {
            if let Some(column) = find(filter.column) {
                filter.attached.set(true);
                dynamic_filters.push(ScanSlot {
                    column,
                    filter: filter.filter.clone(),
                    required: filter.required,
                });
            }
        }
        let by_value = self.by_value(table, &split.residual, columns)?;
        let options = TableScanOptions {
            table: Arc::clone(&table.table),
            snapshot,
            columns: wanted.iter().map(|id| position(*id)).collect::<Result<_>>()?,
            fields: fields
                .iter()
                .map(|f| FieldSource { column: f.index, path: Arc::clone(&f.path), ty: f.expr.ty() })
                .collect(),
            row_ids: row_id.is_some(),
            column_filters: split
                .columns
                .into_iter()
                .map(|(id, predicate)| Ok((position(id)?, predicate)))
                .collect::<Result<_>>()?,
            dynamic_filters,
            residual: Filter::compile(&split.residual, &Layout(residual_ids.clone()))?,
            residual_columns: residual_ids.iter().map(|id| position(*id)).collect::<Result<_>>()?,
            by_value,
            groups: None,
        };
        let output = wanted.into_iter().chain(row_id).collect();
        Ok(Fragment::new(Arc::new(TableScan::new(options)), output, node))
    }

    /// What indexes by value may decide of a scan.
    pub(super) fn by_value(
        &self,
        table: &TableEntry,
        residual: &[Expr],
        columns: &[ScanColumn],
    ) -> Result<ByValue> {
        if !self.context.by_value {
            return Ok(ByValue::default());
        }
        let indexed = table.table.columns_by_value();
        let mut by_value = ByValue::default();
        let position = |id: ColumnId| {
            let column = columns.iter().find(|column| column.id == id)?;
            indexed.contains(&column.index).then_some(column.index)
        };
        if !indexed.is_empty() {
            for expr in residual {
                by_value.conditions.extend(condition_of(expr, &position)?);
            }
        }
        by_value.columns = indexed;
        Ok(by_value)
    }

    pub(super) fn lower_source(
        &mut self,
        node: NodeNumber,
        source: &Arc<dyn TableSource>,
        columns: &[ScanColumn],
        filters: &[Expr],
        needed: &Needed,
    ) -> Result<Fragment> {
        let filtered = super::with_expressions(needed, filters.iter());
        let read: Vec<ScanColumn> = columns.iter().copied().filter(|c| filtered.contains(&c.id)).collect();
        let layout = Layout(read.iter().map(|c| c.id).collect());
        let hints = hints(filters, &read)?;
        let filter = Filter::compile(filters, &layout)?;
        let positions = read.iter().map(|c| c.index).collect();
        let scan = TableSourceScan::new(Arc::clone(source), positions, hints, filter);
        Ok(Fragment::new(Arc::new(scan), layout.0, node))
    }

    pub(super) fn lower_values(
        &mut self,
        node: NodeNumber,
        columns: &[ColumnId],
        rows: &[Vec<Expr>],
    ) -> Result<Fragment> {
        let mut builders: Vec<VectorBuilder> =
            columns.iter().map(|id| VectorBuilder::new(self.columns.ty(*id), rows.len())).collect();
        for row in rows {
            for (expr, builder) in row.iter().zip(&mut builders) {
                builder.push(&constant_value(expr)?)?;
            }
        }
        let vectors = builders.into_iter().map(VectorBuilder::finish).collect();
        let batch = Batch::new(vectors, rows.len());
        Ok(Fragment::new(Arc::new(Values::new(batch)), columns.to_vec(), node))
    }
}

/// What a source may use of the conjuncts over its columns.
fn hints(filters: &[Expr], columns: &[ScanColumn]) -> Result<SourceHints> {
    let mut hints = SourceHints { filters: column_filters(filters, columns)?, any_of: Vec::new() };
    for filter in filters {
        let Expr::Or(parts) = filter else { continue };
        let mut lists = Vec::with_capacity(parts.len());
        for part in parts {
            let conjuncts =
                if let Expr::And(conjuncts) = part { conjuncts } else { std::slice::from_ref(part) };
            let mut list = column_filters(conjuncts, columns)?;
            list.retain(|filter| !matches!(filter.predicate, SegmentPredicate::Generic(_)));
            lists.push(list);
        }
        if lists.iter().all(|list| !list.is_empty()) {
            hints.any_of.push(lists);
        }
    }
    Ok(hints)
}

fn column_filters(conjuncts: &[Expr], columns: &[ScanColumn]) -> Result<Vec<SourceFilter>> {
    let filter = |(id, predicate)| {
        let column = columns.iter().find(|column| column.id == id)?;
        Some(SourceFilter { column: column.index, predicate })
    };
    Ok(split_filters(conjuncts)?.columns.into_iter().filter_map(filter).collect())
}

/// The value of an expression without columns.
fn constant_value(expr: &Expr) -> Result<Value> {
    if let Expr::Literal { value, .. } = expr {
        return Ok(value.clone());
    }
    let program = Program::compile(expr, &Layout::default())?;
    Ok(program.eval(&mut program.state(), &Batch::new(Vec::new(), 1))?.get(0))
}
