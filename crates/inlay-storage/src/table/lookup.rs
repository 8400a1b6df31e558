//! Rows by values of indexed columns.
//!
//! An index says which rows may qualify; deleted rows are left out here, values are compared by who asks, or here for
//! [`Table::find_by_columns`]. An index that does not exist yet is built for a lookup only if the table is large and zone maps leave
//! more than a few vectors to look at ([`super::narrow`]).

use super::keys::same;
use super::narrow::{at_its_place, few_with};
use super::rows::by_group;
use super::{Table, TableSnapshot};
use crate::index::{Direction, Index};
use crate::predicate::{Cmp, SegmentPredicate};
use crate::schema::Deferral;
use inlay_types::{Error, Result, Value, Vector};
use std::ops::Bound;
use std::sync::Arc;

/// A lookup in a smaller table builds no index.
const ROWS_WORTH_BUILDING: usize = 10_000;
/// What an index takes about, to tell whether trying to make one is of any use.
const INDEX_BYTES_PER_ROW: u64 = 40;
/// Combinations of values that are looked up one by one.
const POINTS_MAX: usize = 1_000;
/// Of several values that are looked for at their places, those that may lie elsewhere or nowhere.
const MISSED_MAX: usize = 16;
/// Rows that an index may give whatever the size of the table.
const ROWS_FEW: usize = 2_048;
/// Part of a table's rows that an index may give.
const FEW_PART: usize = 100;

/// What conditions ask of an index.
struct Plan<'a> {
    columns: Vec<usize>,
    /// Values for each of the first columns.
    points: Vec<&'a [Value]>,
    /// A range of the column behind these.
    range: Option<(Bound<&'a Value>, Bound<&'a Value>)>,
}

impl Plan<'_> {
    /// How well the index serves: all columns, then more columns, then points before ranges.
    fn rank(&self) -> (bool, usize, bool) {
        (self.points.len() == self.columns.len(), self.points.len(), self.range.is_some())
    }
}

/// The live rows among an index's candidates that have these values, ascending.
fn rows_among(
    candidates: Vec<i64>,
    snapshot: &TableSnapshot,
    columns: &[usize],
    values: &[Value],
) -> Result<Vec<i64>> {
    let mut found = Vec::new();
    for id in candidates {
        if has_values(snapshot, id, columns, values)? {
            found.push(id);
        }
    }
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

impl Table {
    /// Ids of the rows that have these values in these columns, ascending, by the index; `None` if no index on these columns is
    /// worth having. NULL equals nothing.
    #[cfg(test)]
    pub fn find_rows(&self, columns: &[usize], values: &[Value]) -> Result<Option<Vec<i64>>> {
        let snapshot = self.snapshot();
        let Some(index) = self.index_for(&snapshot, columns, true)? else { return Ok(None) };
        if values.iter().any(Value::is_null) {
            return Ok(Some(Vec::new()));
        }
        rows_among(index.candidates(values)?, &snapshot, columns, values).map(Some)
    }

    /// Ids of the live rows of a version of this table that have these values, without NULLs, in the columns of a key,
    /// ascending; the key's index is made if it is needed and there is none. `None` if there is no memory for it.
    pub fn find_by_columns(
        &self,
        snapshot: &TableSnapshot,
        columns: &[usize],
        values: &[Value],
    ) -> Result<Option<Vec<i64>>> {
        // Even where there is an index, which is a walk through memory.
        if self.is_unique_column(columns)
            && let Some(id) = at_its_place(snapshot, columns[0], &values[0])?
        {
            return Ok(Some(vec![id]));
        }
        if let Some(index) = self.key_index(snapshot, columns, false)? {
            return rows_among(index.candidates(values)?, snapshot, columns, values).map(Some);
        }
        let candidates = match few_with(snapshot, columns[0], &values[0])? {
            Some(few) => few,
            None => match self.key_index(snapshot, columns, true)? {
                Some(index) => index.candidates(values)?,
                None => return Ok(None),
            },
        };
        rows_among(candidates, snapshot, columns, values).map(Some)
    }

    /// As [`Table::find_by_columns`], of the rows that have one of several keys; `keys` has a vector for each of `columns`.
    pub fn find_by_keys(
        &self,
        snapshot: &TableSnapshot,
        columns: &[usize],
        keys: &[Vector],
    ) -> Result<Option<Vec<i64>>> {
        let found = self.find_with_keys(snapshot, columns, keys)?;
        Ok(found.map(|found| found.into_iter().map(|(id, _)| id).collect()))
    }

    /// The same, each row with the position of a key that it has.
    pub fn find_with_keys(
        &self,
        snapshot: &TableSnapshot,
        columns: &[usize],
        keys: &[Vector],
    ) -> Result<Option<Vec<(i64, u32)>>> {
        let few = match self.key_index(snapshot, columns, false)? {
            Some(index) => Some(index.candidates_many(keys)?),
            None => few_with_each(snapshot, columns[0], &keys[0], self.is_unique_column(columns))?,
        };
        let few = match few {
            Some(few) => few,
            None => match self.key_index(snapshot, columns, true)? {
                Some(index) => index.candidates_many(keys)?,
                None => return Ok(None),
            },
        };
        let mut candidates: Vec<(i64, u32)> = few.into_iter().map(|(position, id)| (id, position)).collect();
        candidates.sort_unstable();
        let mut found: Vec<(i64, u32)> = Vec::with_capacity(candidates.len());
        for (number, run) in by_group(snapshot, &candidates, |candidate| candidate.0) {
            let group = &snapshot.row_groups()[number];
            let segments = columns.iter().map(|column| group.segment(*column)).collect::<Result<Vec<_>>>()?;
            for &(id, position) in run {
                let row = (id - group.row_id_start()) as usize;
                let has_key = || {
                    let mut pairs = segments.iter().zip(keys);
                    pairs.all(|(segment, key)| same(&segment.get(row), &key.get(position as usize)))
                };
                let is_known = found.last().is_some_and(|(last, _)| *last == id);
                if !is_known && !group.is_deleted(row) && has_key() {
                    found.push((id, position));
                }
            }
        }
        Ok(Some(found))
    }

    /// Whether columns are one that is a key, in which no two live rows of a version have one value, not even until COMMIT.
    fn is_unique_column(&self, columns: &[usize]) -> bool {
        let is_key = columns.len() == 1 && self.keys.iter().any(|key| **key == *columns);
        is_key && self.schema.deferral(columns) == Deferral::Never
    }

    /// The index of a key, if there is one or it is made; `None` without memory for it.
    fn key_index(
        &self,
        snapshot: &TableSnapshot,
        columns: &[usize],
        build: bool,
    ) -> Result<Option<Arc<Index>>> {
        let writer = self.locked();
        match self.indexes.index(columns, &self.wanting(&writer, snapshot), build) {
            Err(Error::OutOfMemory { .. }) => Ok(None),
            index => index,
        }
    }

    /// Frees about so many bytes of the indexes; a table without a file keeps them. Returns how many.
    pub fn write_indexes_away(&self, wanted: u64) -> Result<u64> {
        self.indexes.write_away(wanted)
    }

    /// Row id of the live row whose key (columns of `schema().all_keys()[key]`) equals `values`.
    #[cfg(test)]
    pub(super) fn find_by_key(&self, key: usize, values: &[Value]) -> Result<Option<i64>> {
        if values.iter().any(Value::is_null) {
            return Ok(None);
        }
        let (snapshot, columns) = (self.snapshot(), &self.keys[key]);
        if let Some(ids) = self.find_by_columns(&snapshot, columns, values)? {
            return Ok(ids.first().copied());
        }
        // Says why there is none.
        self.indexes.index(columns, &self.wanting(&self.locked(), &snapshot), true)?;
        Err(Error::internal("a key without an index"))
    }

    /// Ids, ascending, of the live rows of a version of this table among which are all that satisfy conditions on columns;
    /// `None` if no index narrows them down to few. No index is built for `passing` conditions, which come and go
    /// with the data of other tables, nor that of a key for less than whole keys.
    pub fn few_candidates(
        &self,
        snapshot: &TableSnapshot,
        conditions: &[(usize, SegmentPredicate)],
        passing: &[(usize, SegmentPredicate)],
    ) -> Result<Option<Vec<i64>>> {
        if conditions.is_empty() && passing.is_empty() {
            return Ok(None);
        }
        let all = [conditions, passing].concat();
        let limit = ROWS_FEW.max(snapshot.row_count() / FEW_PART);
        for (conditions, may_build) in [(conditions, true), (&all[..], false)] {
            let index_columns = self.index_columns();
            let mut plans: Vec<Plan<'_>> =
                index_columns.into_iter().filter_map(|columns| plan(columns, conditions)).collect();
            plans.sort_by_key(|plan| std::cmp::Reverse(plan.rank()));
            for plan in plans {
                let is_whole = plan.points.len() == plan.columns.len();
                let mut index = self.index_for(snapshot, &plan.columns, false)?;
                if index.is_none() && may_build && (is_whole || !self.keys.contains(&plan.columns)) {
                    if let Some(ids) = self.few_by_zones(snapshot, &plan)? {
                        return Ok(Some(ids));
                    }
                    index = self.index_for(snapshot, &plan.columns, true)?;
                }
                if let Some(index) = index
                    && let Some(mut ids) = candidates(&index, &plan, limit)?
                {
                    ids.sort_unstable();
                    ids.dedup();
                    return Ok(Some(snapshot.live_ids(&ids)));
                }
            }
            if passing.is_empty() {
                break;
            }
        }
        Ok(None)
    }

    /// Makes the indexes that were asked for, so that no lookup has to: of large tables, and as far as memory goes.
    pub fn build_indexes(&self) -> Result<()> {
        let snapshot = self.snapshot();
        let bytes = snapshot.row_count() as u64 * INDEX_BYTES_PER_ROW;
        if self.budget.used().saturating_add(bytes) > self.budget.limit() {
            return Ok(());
        }
        for columns in self.indexes.secondary() {
            self.index_for(&snapshot, &columns, true)?;
        }
        Ok(())
    }

    /// Columns of all indexes, each list once.
    fn index_columns(&self) -> Vec<Vec<usize>> {
        let width = self.schema.columns.len();
        let mut all = self.keys.to_vec();
        for columns in self.indexes.secondary() {
            if !all.contains(&columns) && columns.iter().all(|column| *column < width) {
                all.push(columns);
            }
        }
        all
    }

    /// What zone maps find of the first column's only value, or of several of a key of numbers that count rows; `None` if
    /// that is more than a few vectors.
    fn few_by_zones(&self, snapshot: &TableSnapshot, plan: &Plan<'_>) -> Result<Option<Vec<i64>>> {
        let values = match plan.points.first() {
            Some([value]) if !value.is_null() => return few_with(snapshot, plan.columns[0], value),
            Some(values) if self.is_unique_column(&plan.columns) => *values,
            _ => return Ok(None),
        };
        let (mut found, mut missed) = (Vec::with_capacity(values.len()), 0);
        for value in values.iter().filter(|value| !value.is_null()) {
            if let Some(id) = at_its_place(snapshot, plan.columns[0], value)? {
                found.push(id);
                continue;
            }
            missed += 1;
            match few_with(snapshot, plan.columns[0], value)? {
                Some(few) if missed <= MISSED_MAX => found.extend(few),
                _ => return Ok(None),
            }
        }
        found.sort_unstable();
        found.dedup();
        Ok(Some(found))
    }

    fn index_for(
        &self,
        snapshot: &TableSnapshot,
        columns: &[usize],
        may_build: bool,
    ) -> Result<Option<Arc<Index>>> {
        if !self.index_columns().iter().any(|known| known == columns) {
            return Ok(None);
        }
        let writer = self.locked();
        let build = may_build && snapshot.row_count() > ROWS_WORTH_BUILDING;
        match self.indexes.index(columns, &self.wanting(&writer, snapshot), build) {
            // Without memory for an index there are other ways to the rows.
            Err(Error::OutOfMemory { .. }) => Ok(None),
            found => found,
        }
    }
}

/// What zone maps find of several values of a column, by their positions; `None` if that is more than a few vectors each.
fn few_with_each(
    snapshot: &TableSnapshot,
    column: usize,
    values: &Vector,
    are_unique: bool,
) -> Result<Option<Vec<(u32, i64)>>> {
    if values.len() > POINTS_MAX {
        return Ok(None);
    }
    let mut found = Vec::with_capacity(values.len());
    for position in (0..values.len()).filter(|position| !values.is_null(*position)) {
        let value = values.get(position);
        if are_unique && let Some(id) = at_its_place(snapshot, column, &value)? {
            found.push((position as u32, id));
            continue;
        }
        match few_with(snapshot, column, &value)? {
            Some(few) => found.extend(few.into_iter().map(|id| (position as u32, id))),
            None => return Ok(None),
        }
    }
    Ok(Some(found))
}

/// What conditions ask of an index on these columns; `None` if it does not help.
fn plan(columns: Vec<usize>, conditions: &[(usize, SegmentPredicate)]) -> Option<Plan<'_>> {
    let (mut points, mut count) = (Vec::new(), 1usize);
    let mut range = None;
    for column in &columns {
        let on_column = || conditions.iter().filter(|(c, _)| c == column).map(|(_, predicate)| predicate);
        let values = on_column().filter_map(values_of).min_by_key(|values| values.len());
        match values.filter(|values| count.saturating_mul(values.len()) <= POINTS_MAX) {
            Some(values) => {
                count *= values.len();
                points.push(values);
            }
            None => {
                range = on_column().find_map(range_of);
                break;
            }
        }
    }
    (!points.is_empty() || range.is_some()).then_some(Plan { columns, points, range })
}

fn values_of(predicate: &SegmentPredicate) -> Option<&[Value]> {
    match predicate {
        SegmentPredicate::Compare(Cmp::Eq, value) => Some(std::slice::from_ref(value)),
        SegmentPredicate::In(values) => Some(values),
        _ => None,
    }
}

fn range_of(predicate: &SegmentPredicate) -> Option<(Bound<&Value>, Bound<&Value>)> {
    let bound =
        |value, inclusive: bool| if inclusive { Bound::Included(value) } else { Bound::Excluded(value) };
    Some(match predicate {
        SegmentPredicate::Between { low, low_inclusive, high, high_inclusive } => {
            (bound(low, *low_inclusive), bound(high, *high_inclusive))
        }
        SegmentPredicate::Compare(Cmp::Gt, value) => (Bound::Excluded(value), Bound::Unbounded),
        SegmentPredicate::Compare(Cmp::GtEq, value) => (Bound::Included(value), Bound::Unbounded),
        SegmentPredicate::Compare(Cmp::Lt, value) => (Bound::Unbounded, Bound::Excluded(value)),
        SegmentPredicate::Compare(Cmp::LtEq, value) => (Bound::Unbounded, Bound::Included(value)),
        _ => return None,
    })
}

/// What an index has for a plan; `None` if that is more than `limit`.
fn candidates(index: &Index, plan: &Plan<'_>, limit: usize) -> Result<Option<Vec<i64>>> {
    let mut found = Vec::new();
    let mut choice = vec![0; plan.points.len()];
    if plan.points.iter().any(|values| values.is_empty()) {
        return Ok(Some(found));
    }
    loop {
        let prefix: Vec<Value> =
            plan.points.iter().zip(&choice).map(|(values, chosen)| values[*chosen].clone()).collect();
        if !prefix.iter().any(Value::is_null) {
            let (lower, upper) = bounds(&prefix, plan.range);
            // A value that the column's type does not have is no error here: whoever compares it says so.
            let Ok(mut cursor) = index.range(as_slice(&lower), as_slice(&upper), Direction::Forward) else {
                return Ok(None);
            };
            found.extend(index.next_candidates(&mut cursor, limit + 1 - found.len())?);
            if found.len() > limit {
                return Ok(None);
            }
        }
        // The next combination, like a counter.
        let Some(position) = choice.iter().zip(&plan.points).rposition(|(at, values)| at + 1 < values.len())
        else {
            return Ok(Some(found));
        };
        choice[position] += 1;
        choice[position + 1..].fill(0);
    }
}

/// The range of keys that begin with `prefix` and go on within `range`. NULLs, which are above all values, are outside.
fn bounds(
    prefix: &[Value],
    range: Option<(Bound<&Value>, Bound<&Value>)>,
) -> (Bound<Vec<Value>>, Bound<Vec<Value>>) {
    let Some((low, high)) = range else {
        return (Bound::Included(prefix.to_vec()), Bound::Included(prefix.to_vec()));
    };
    let with = |value: &Value| [prefix, std::slice::from_ref(value)].concat();
    let lower = match low {
        Bound::Unbounded => Bound::Included(prefix.to_vec()),
        bound => bound.map(with),
    };
    let upper = match high {
        Bound::Unbounded => Bound::Excluded(with(&Value::Null)),
        bound => bound.map(with),
    };
    (lower, upper)
}

fn as_slice(bound: &Bound<Vec<Value>>) -> Bound<&[Value]> {
    bound.as_ref().map(Vec::as_slice)
}

/// Whether a row is live and has these values.
fn has_values(snapshot: &TableSnapshot, id: i64, columns: &[usize], values: &[Value]) -> Result<bool> {
    let Some((group, row)) = snapshot.locate(id).filter(|(group, row)| !group.is_deleted(*row)) else {
        return Ok(false);
    };
    for (&column, value) in columns.iter().zip(values) {
        if !same(&group.segment(column)?.get(row), value) {
            return Ok(false);
        }
    }
    Ok(true)
}
