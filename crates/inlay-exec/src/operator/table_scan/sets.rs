//! Filters by indexes by value: which rows of a row group are left, without a look at its columns.
//!
//! Sets are taken for a filter if they are fewer bytes than the codes that the filter would be compared with; a row group whose
//! column has none is filtered as if there were no index.

use super::{Local, RowGroup, Started, TableScan, column_predicate};
use inlay_rowsets::Places;
use inlay_sql::plan::{ColumnId, Expr};
use inlay_storage::ValueSets;
use inlay_storage::value_sets::Condition;
use inlay_types::Result;
use std::sync::Arc;

/// What indexes by value may decide of a scan.
#[derive(Default)]
pub struct ByValue {
    /// Columns that one is on, by their positions in the table.
    pub columns: Vec<usize>,
    /// Conditions over several of them that are among the other conditions of the scan, too.
    pub conditions: Vec<Condition>,
}

impl ByValue {
    /// Whether there is no index.
    pub fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }
}

/// An expression as a condition that sets can answer; `None` if it is something else.
pub fn condition_of(expr: &Expr, position: &dyn Fn(ColumnId) -> Option<usize>) -> Result<Option<Condition>> {
    let parts = |parts: &[Expr]| -> Result<Option<Vec<Condition>>> {
        parts.iter().map(|part| condition_of(part, position)).collect()
    };
    Ok(match expr {
        Expr::And(list) => parts(list)?.map(Condition::All),
        Expr::Or(list) => parts(list)?.map(Condition::Any),
        other => column_predicate(other)?
            .and_then(|(column, predicate)| Some(Condition::Column(position(column)?, predicate))),
    })
}

impl TableScan {
    /// Notes the rows that are left, if indexes say something of the row group, and returns which filters that decides.
    pub(super) fn find_by_value(
        &self,
        started: &Started,
        local: &mut Local,
        group: &RowGroup,
    ) -> Result<Vec<bool>> {
        let by_value = &self.options.by_value;
        let mut is_decided = vec![false; started.filters.len()];
        let mut found: Option<Places> = None;
        for (filter, is_decided) in started.filters.iter().zip(&mut is_decided) {
            if !by_value.columns.contains(&filter.column) {
                continue;
            }
            let Some(sets) = self.options.table.value_sets_or_ask(group, filter.column)? else { continue };
            if let Some(rows) = sets.matching_within(&filter.predicate, group.len())? {
                *is_decided = true;
                narrow(&mut found, rows)?;
            }
        }
        for condition in &by_value.conditions {
            let sets = self.sets_of(group, condition)?;
            let of = |column: usize| sets.iter().find(|(of, _)| *of == column).map(|(_, sets)| &**sets);
            if let Some(rows) = condition.found(group.len() as u32, &of)?.rows {
                narrow(&mut found, rows)?;
            }
        }
        let Some(mut rows) = found else { return Ok(is_decided) };
        if let Some(deleted) = group.deleted() {
            rows = rows.and_not(&Places::from_words(deleted.words(), rows.rows()))?;
        }
        if rows.is_empty() {
            // Nothing else has to be looked at.
            is_decided.fill(true);
        }
        let mut listed = Vec::with_capacity(rows.count() as usize);
        rows.append_to(&mut listed);
        local.found = Some(listed);
        Ok(is_decided)
    }

    fn sets_of(&self, group: &RowGroup, condition: &Condition) -> Result<Vec<(usize, Arc<ValueSets>)>> {
        let mut sets = Vec::new();
        for column in condition.columns() {
            if !sets.iter().any(|(known, _)| *known == column)
                && let Some(found) = self.options.table.value_sets_or_ask(group, column)?
            {
                sets.push((column, found));
            }
        }
        Ok(sets)
    }
}

fn narrow(found: &mut Option<Places>, rows: Places) -> Result<()> {
    *found = Some(match found.take() {
        Some(before) => before.and(&rows)?,
        None => rows,
    });
    Ok(())
}
