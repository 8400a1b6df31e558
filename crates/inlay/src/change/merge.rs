//! MERGE: each joined row takes the first clause that is for it; then all rows change at once.

use super::checks::Checks;
use super::rows::{integers, joined, layout, selected, stacked, values_of, with_values};
use super::writer::{RowWriter, types_of};
use crate::execute::{Run, output_types};
use crate::result::QueryResult;
use inlay_catalog::Table;
use inlay_sql::plan::statement::{Merge, MergeAction, MergeClause, MergeKind};
use inlay_storage::RowSet;
use inlay_types::{Batch, Error, LogicalType, Result, Value, Vector, limits};

/// Rows that one kind of action is about.
struct Part {
    /// The rows as they are now; deleted ones as they were.
    rows: Batch,
    /// Positions of the joined rows that they come from.
    places: Vec<u32>,
}

impl Part {
    fn none(types: &[LogicalType]) -> Self {
        let none = types.iter().map(|ty| Vector::empty(ty.clone())).collect();
        Self { rows: Batch::new(none, 0), places: Vec::new() }
    }

    fn add(&mut self, rows: &Batch, places: Vec<u32>, types: &[LogicalType]) -> Result<()> {
        self.rows = stacked(&self.rows, rows, types)?;
        self.places.extend(places);
        Ok(())
    }
}

/// What MERGE does to which rows.
struct Work {
    deleted: Part,
    updated: Part,
    inserted: Part,
    /// Columns that any UPDATE sets.
    set: Vec<usize>,
}

impl Run<'_> {
    /// Carries out MERGE.
    pub(crate) fn merge(&self, merge: Merge) -> Result<QueryResult> {
        let mut writer = RowWriter::new(self, &merge.database)?;
        let result = self.merge_with(&mut writer, merge)?;
        writer.finish()?;
        Ok(result)
    }

    /// MERGE as a part of the writer's statement.
    pub(super) fn merge_with(&self, writer: &mut RowWriter<'_>, merge: Merge) -> Result<QueryResult> {
        let (query, batches) = self.batches(merge.query)?;
        let joined_rows = joined(&batches, &output_types(&query))?;
        let table = &merge.table.table;
        let types = types_of(table);
        let mut work = sort(&joined_rows, &merge.clauses, &types)?;
        let checks = Checks::of_rows(&merge.checks, table.schema())?;
        checks.check_all(&work.updated.rows)?;
        checks.check_all(&work.inserted.rows)?;

        let row_ids = joined_rows.column(Merge::ROW_ID);
        let ids = |part: &Part| integers(&row_ids.take(&part.places));
        let (deleted, updated) = (ids(&work.deleted), ids(&work.updated));
        check_once(table, &deleted, &updated)?;
        writer.delete(table.id(), &RowSet::from(&deleted[..]))?;
        if !updated.is_empty() && !work.set.is_empty() {
            let values = super::rows::columns_of(&work.updated.rows, &work.set);
            writer.update(table.id(), &updated, &work.set, &Batch::new(values, updated.len()))?;
        }
        writer.insert(table.id(), &work.inserted.rows)?;
        let count = work.deleted.places.len() + work.updated.places.len() + work.inserted.places.len();
        match merge.returning {
            None => Ok(QueryResult::changed(count as u64)),
            Some(returning) => self.returned(returning, 0..=types.len(), &answer(&mut work, &types)?),
        }
    }
}

/// Gives each joined row its clause and evaluates what it says.
fn sort(rows: &Batch, clauses: &[MergeClause], types: &[LogicalType]) -> Result<Work> {
    let mut work = Work {
        deleted: Part::none(types),
        updated: Part::none(types),
        inserted: Part::none(types),
        set: Vec::new(),
    };
    let layout = layout(0..rows.columns().len());
    let mut kinds = kinds_of(rows);
    for clause in clauses {
        let candidates: Vec<u32> =
            (0..rows.len() as u32).filter(|&row| kinds[row as usize] == Some(clause.kind)).collect();
        // The rows of a clause are copied, and those that meet its condition.
        let width: usize = rows.columns().iter().map(|column| column.physical_type().size()).sum();
        let _held = limits::hold(candidates.len().saturating_mul(2 * width))?;
        let candidate_rows = rows.take(&candidates);
        let hits = selected(clause.condition.as_ref(), &layout, &candidate_rows)?;
        if hits.is_empty() {
            continue;
        }
        let places: Vec<u32> = hits.iter().map(|&hit| candidates[hit as usize]).collect();
        places.iter().for_each(|&place| kinds[place as usize] = None);
        let taken = candidate_rows.take(&hits);
        let columns = &taken.columns()[Merge::TARGET_COLUMNS..Merge::TARGET_COLUMNS + types.len()];
        let target = Batch::new(columns.to_vec(), taken.len());
        match &clause.action {
            MergeAction::Nothing => {}
            MergeAction::Delete => work.deleted.add(&target, places, types)?,
            MergeAction::Update { set, values } => {
                let values = values_of(values, &layout, &taken)?;
                work.updated.add(&with_values(&target, set, &values), places, types)?;
                work.set.extend(set);
            }
            MergeAction::Insert { values } => {
                work.inserted.add(&values_of(values, &layout, &taken)?, places, types)?;
            }
        }
    }
    work.set.sort_unstable();
    work.set.dedup();
    Ok(work)
}

/// Which clauses are for each joined row.
fn kinds_of(rows: &Batch) -> Vec<Option<MergeKind>> {
    let (row_ids, has_source) =
        (rows.column(Merge::ROW_ID).flatten(), rows.column(Merge::HAS_SOURCE).flatten());
    let kind = |row| match (has_source.is_null(row), row_ids.is_null(row)) {
        (false, false) => Some(MergeKind::Matched),
        (false, true) => Some(MergeKind::NotMatched),
        (true, false) => Some(MergeKind::NotMatchedBySource),
        (true, true) => None,
    };
    (0..rows.len()).map(kind).collect()
}

/// Fails if a row of the target would change twice.
fn check_once(table: &Table, deleted: &[i64], updated: &[i64]) -> Result<()> {
    let mut ids: Vec<i64> = deleted.iter().chain(updated).copied().collect();
    ids.sort_unstable();
    let count = ids.len();
    ids.dedup();
    if ids.len() == count {
        return Ok(());
    }
    let name = &table.schema().name;
    Err(Error::Cardinality {
        message: format!("MERGE would change a row of table \"{name}\" twice: several source rows match it"),
    }
    .with_hint("make them distinct"))
}

/// The changed rows in the order of the joined ones, with the action as their last column.
fn answer(work: &mut Work, types: &[LogicalType]) -> Result<Batch> {
    let mut types = types.to_vec();
    types.push(LogicalType::Varchar);
    let (mut parts, mut places) = (Vec::new(), Vec::new());
    for (part, action) in [(&work.deleted, "DELETE"), (&work.updated, "UPDATE"), (&work.inserted, "INSERT")] {
        let action = Vector::constant(LogicalType::Varchar, &Value::Varchar(action.into()), part.rows.len())?;
        let columns = part.rows.columns().iter().cloned().chain(std::iter::once(action)).collect();
        parts.push(Batch::new(columns, part.rows.len()));
        places.extend_from_slice(&part.places);
    }
    let mut order: Vec<u32> = (0..places.len() as u32).collect();
    order.sort_by_key(|&row| places[row as usize]);
    Ok(joined(&parts, &types)?.take(&order))
}
