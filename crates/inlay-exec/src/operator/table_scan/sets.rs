//! Filters by indexes by value: which rows of a row group are left, without a look at its columns.
//!
//! Sets are taken for a filter if it takes less to unite them than to compare codes, the filter with the fewest rows first: behind it
//! codes of few rows are left to be looked up. A row group whose column has none is filtered as if there were no index.

use super::{Local, RowGroup, Started, TableScan, column_predicate};
use inlay_rowsets::Marks;
use inlay_sql::plan::{ColumnId, Expr};
use inlay_storage::ValueSets;
use inlay_storage::value_sets::{Chosen, Condition};
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

/// Filters are found by sets if that takes at most this share of a row group's rows, as operations: comparing codes takes fewer.
const EFFORT_SHARE: usize = 8;
/// The same for filters of the rows that others left, for each of which a code is looked up; and of few rows.
const EFFORT_PER_ROW: usize = 2;
const EFFORT_MIN: usize = 1_024;
/// An optional filter that lets more than this share of the rows through is not worth a look.
const PASSING_MAX: f64 = 0.9;

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
        let mut found = self.narrow_by_filters(started, group, &mut is_decided)?;
        for condition in &by_value.conditions {
            let sets = self.sets_of(group, condition)?;
            let of = |column: usize| sets.iter().find(|(of, _)| *of == column).map(|(_, sets)| &**sets);
            if let Some(rows) = condition.found(group.len() as u32, &of, group.len() / EFFORT_SHARE)?.rows {
                match &mut found {
                    Some(found) => found.keep_marked(&rows)?,
                    None => found = Some(rows),
                }
            }
        }
        let Some(mut rows) = found else { return Ok(is_decided) };
        if let Some(deleted) = group.deleted() {
            rows.remove_words(deleted.words());
        }
        if rows.is_empty() {
            // Nothing else has to be looked at.
            is_decided.fill(true);
        }
        let mut listed = std::mem::take(&mut local.listed);
        rows.write_to(&mut listed);
        local.found = Some(listed);
        Ok(is_decided)
    }

    /// The rows that satisfy those filters that sets say quickly: the fewest rows first, until it is cheaper to look at codes of the rest.
    fn narrow_by_filters(
        &self,
        started: &Started,
        group: &RowGroup,
        is_decided: &mut [bool],
    ) -> Result<Option<Marks>> {
        let mut sets = Vec::with_capacity(started.filters.len());
        for (number, filter) in started.filters.iter().enumerate() {
            if self.options.by_value.columns.contains(&filter.column)
                && let Some(found) = self.options.table.value_sets_or_ask(group, filter.column)?
            {
                sets.push((number, found));
            }
        }
        let mut chosen: Vec<(usize, Chosen<'_>)> = Vec::with_capacity(sets.len());
        for (number, sets) in &sets {
            chosen.push((*number, sets.chosen(&started.filters[*number].predicate)?));
        }
        chosen.sort_by_key(|(_, chosen)| chosen.count());
        let few = group.len() / EFFORT_SHARE;
        let mut found: Option<Marks> = None;
        for (number, chosen) in chosen {
            let filter = &started.filters[number];
            let left = found.as_ref().map(|found| found.count() as usize);
            let effort_max = match left {
                Some(0) => break,
                _ if group.column(filter.column).is_absent() => usize::MAX,
                Some(left) => few.min(left * EFFORT_PER_ROW + EFFORT_MIN),
                None => few.max(EFFORT_MIN),
            };
            let passing = f64::from(chosen.count()) / group.len() as f64;
            if chosen.effort() > effort_max || filter.optional && passing > PASSING_MAX {
                continue;
            }
            match &mut found {
                Some(found) => chosen.narrow(found)?,
                None => found = Some(chosen.marks(group.len() as u32)?),
            }
            is_decided[number] = true;
        }
        Ok(found)
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
