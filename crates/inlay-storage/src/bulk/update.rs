//! Changing many rows in parallel: their new values are collected by row group, and row groups of which many rows change
//! get new columns while the statement still runs.
//!
//! ```text
//! push: ids, values --> by row group: rows and values --too much for all--> new columns, in the file
//!                                                   \--at the end-------> new columns of most, values of a few rows
//! ```
//! Rows may come in any order. Where those of a row group come together, as from a scan, its columns are encoded once.

use super::SEAL_COPIES;
use super::open::OpenColumn;
use crate::column::Column;
use crate::interrupted::check_interrupt;
use crate::row_set::{RowSet, RowSetBuilder};
use crate::segment::Segment;
use crate::table::{REWRITTEN_MIN, Rewritten, Table, TableSnapshot};
use inlay_types::{Error, LogicalType, Reservation, Result, Vector, VectorBuilder};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Values that may wait, whatever the limit.
const WAITING_MAX: u64 = 64 << 20;
/// The part of the memory limit that they may take.
const LIMIT_PART: u64 = 4;
/// Below this limit new columns are made one row group at a time, for each takes several times its size meanwhile.
const TIGHT: u64 = 512 << 20;

/// An update in progress, shared by its workers. Dropping it without [`BulkUpdate::commit`] leaves the table unchanged.
#[derive(Debug)]
pub struct BulkUpdate {
    table: Arc<Table>,
    snapshot: Arc<TableSnapshot>,
    columns: Vec<usize>,
    waiting_max: usize,
    /// Held while new columns are made, if memory is tight.
    turn: Option<Mutex<()>>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// By number.
    groups: BTreeMap<usize, Group>,
    /// Bytes that wait in all groups.
    waiting: usize,
    ids: RowSetBuilder,
}

#[derive(Debug, Default)]
struct Group {
    waiting: Waiting,
    /// Its new columns, as of what does not wait.
    columns: Option<Vec<Arc<Column>>>,
    /// Whether somebody is making new columns.
    is_taken: bool,
}

/// New values that are not in columns yet.
#[derive(Debug, Default)]
struct Waiting {
    rows: Vec<u32>,
    values: Vec<OpenColumn>,
    reservation: Option<Reservation>,
}

/// What is to become new columns of a row group.
struct Taken {
    index: usize,
    waiting: Waiting,
    /// Its columns so far, if they are new ones.
    before: Option<Vec<Arc<Column>>>,
}

impl Waiting {
    fn memory_size(&self) -> usize {
        4 * self.rows.capacity() + self.values.iter().map(OpenColumn::memory_size).sum::<usize>()
    }

    /// Where the values of the rows are, ascending by row; `None` if they are so already.
    fn order(&self) -> Option<Vec<u32>> {
        if self.rows.is_sorted_by(|left, right| left < right) {
            return None;
        }
        let mut order: Vec<u32> = (0..self.rows.len() as u32).collect();
        order.sort_by_key(|place| self.rows[*place as usize]);
        order.dedup_by_key(|place| self.rows[*place as usize]);
        Some(order)
    }

    /// The rows, ascending, and their values.
    fn take(&mut self) -> (Vec<u32>, Vec<Vector>) {
        let order = self.order();
        let (rows, values) = (std::mem::take(&mut self.rows), self.values.iter_mut().map(OpenColumn::take));
        match order {
            None => (rows, values.collect()),
            Some(order) => {
                let values = values.map(|values| values.take(&order)).collect();
                (order.iter().map(|place| rows[*place as usize]).collect(), values)
            }
        }
    }
}

impl BulkUpdate {
    /// An update of columns of a table that are in no key; see [`BulkUpdate::is_possible`].
    pub fn new(table: Arc<Table>, columns: Vec<usize>) -> Self {
        let snapshot = table.snapshot();
        let waiting_max = (table.budget().limit() / LIMIT_PART).min(WAITING_MAX) as usize;
        let turn = (table.budget().limit() < TIGHT).then(Mutex::default);
        Self { table, snapshot, columns, waiting_max, turn, state: Mutex::default() }
    }

    /// Whether columns of a table can be updated in this way.
    pub fn is_possible(table: &Table, columns: &[usize]) -> bool {
        table.can_rewrite(columns)
    }

    /// The table.
    pub fn table(&self) -> &Arc<Table> {
        &self.table
    }

    /// Gives rows new values; column `i` of `values` is for column `i` of the update. No row comes twice.
    pub fn push(&self, ids: &[i64], values: &[Vector]) -> Result<()> {
        let checked = self.columns.iter().zip(values);
        let values = checked.map(|(&column, values)| self.table.checked_column(column, values));
        let values = values.collect::<Result<Vec<Vector>>>()?;
        let mut state = self.state.lock();
        state.ids.add(ids);
        let mut from = 0;
        while from < ids.len() {
            let index = self.snapshot.group_of(ids[from]);
            let index = index.ok_or_else(|| Error::internal("an update of a row that is not there"))?;
            let range = self.snapshot.row_groups()[index].row_ids();
            let len = ids[from..].iter().take_while(|id| range.contains(id)).count();
            let new = || self.columns.iter().map(|column| self.open_column(*column)).collect();
            let waiting = &mut state.groups.entry(index).or_default().waiting;
            if waiting.values.is_empty() {
                waiting.values = new();
            }
            let before = waiting.memory_size();
            waiting.rows.extend(ids[from..from + len].iter().map(|id| (id - range.start) as u32));
            waiting.values.iter_mut().zip(&values).for_each(|(open, new)| open.append(new, from, len));
            let after = waiting.memory_size();
            match &mut waiting.reservation {
                Some(reservation) => reservation.resize(after as u64)?,
                none => *none = Some(self.table.budget().reserve(after as u64)?),
            }
            state.waiting = (state.waiting + after).saturating_sub(before);
            from += len;
        }
        let due =
            if state.waiting > self.waiting_max { largest(&state, self.waiting_max / 2) } else { Vec::new() };
        let taken: Vec<Taken> = due.into_iter().filter_map(|index| take(&mut state, index)).collect();
        drop(state);
        taken.into_iter().try_for_each(|taken| self.rewrite(taken))
    }

    fn open_column(&self, column: usize) -> OpenColumn {
        OpenColumn::new(self.table.schema().columns[column].ty.clone())
    }

    /// The row groups that get new columns at the end.
    pub fn due(&self) -> Vec<usize> {
        let state = self.state.lock();
        let is_due = |group: &Group| {
            !group.waiting.rows.is_empty()
                && (group.columns.is_some() || group.waiting.rows.len() > REWRITTEN_MIN)
        };
        state.groups.iter().filter(|(_, group)| is_due(group)).map(|(index, _)| *index).collect()
    }

    /// Makes the new columns of a row group that is due.
    pub fn finish(&self, index: usize) -> Result<()> {
        let taken = take(&mut self.state.lock(), index);
        taken.map_or(Ok(()), |taken| self.rewrite(taken))
    }

    /// The rows that change.
    pub fn rows(&self) -> RowSet {
        self.state.lock().ids.set()
    }

    fn rewrite(&self, taken: Taken) -> Result<()> {
        let _turn = self.turn.as_ref().map(|turn| turn.lock());
        let Taken { index, mut waiting, before } = taken;
        let group = &self.snapshot.row_groups()[index];
        let budget = self.table.budget();
        let is_whole = waiting.rows.len() == group.len() && waiting.order().is_none();
        let mut columns = Vec::with_capacity(self.columns.len());
        let mut rest = if is_whole { (Vec::new(), Vec::new()) } else { waiting.take() };
        for (position, &column) in self.columns.iter().enumerate() {
            check_interrupt()?;
            // What encoding and compressing take meanwhile. If it is refused, caches gave what they had.
            let size = waiting.reservation.as_ref().map_or(0, Reservation::bytes) / self.columns.len() as u64;
            let _scratch = budget.reserve(SEAL_COPIES * size).ok();
            let segment = if is_whole {
                waiting.values[position].seal(budget)?
            } else {
                let base = before.as_ref().map_or(group.column(column), |columns| &columns[position]);
                let values = std::mem::replace(&mut rest.1[position], Vector::nulls(LogicalType::Null, 0));
                Segment::patched(&base.segment_to_scan()?, &rest.0, &values, budget)?
            };
            let column = Column::new(segment);
            if let Some(home) = self.table.home() {
                column.persist(home, self.table.id())?;
            }
            columns.push(column);
        }
        let mut state = self.state.lock();
        if let Some(group) = state.groups.get_mut(&index) {
            group.columns = Some(columns);
            group.is_taken = false;
        }
        Ok(())
    }

    /// Changes the rows of the table at once, or nothing. Returns their number.
    pub fn commit(&self) -> Result<u64> {
        for index in self.due() {
            self.finish(index)?;
        }
        let state = std::mem::take(&mut *self.state.lock());
        let all = state.ids.finish();
        let mut few: Vec<i64> = Vec::new();
        let types = self.columns.iter().map(|column| self.table.schema().columns[*column].ty.clone());
        let mut values: Vec<VectorBuilder> = types.map(|ty| VectorBuilder::new(ty, 0)).collect();
        let mut rewritten = RowSetBuilder::default();
        let mut groups = Vec::new();
        for (index, mut group) in state.groups {
            let old = &self.snapshot.row_groups()[index];
            let first_id = old.row_id_start();
            match group.columns {
                Some(columns) => {
                    let mut rows = Vec::new();
                    all.rows_within(old.row_ids(), &mut rows);
                    let ids: Vec<i64> = rows.iter().map(|row| first_id + i64::from(*row)).collect();
                    rewritten.add(&ids);
                    let before = self.columns.iter().map(|column| Arc::downgrade(old.column(*column)));
                    groups.push(Rewritten { first_id, columns, before: Some(before.collect()) });
                }
                None => {
                    let (rows, new) = group.waiting.take();
                    few.extend(rows.iter().map(|row| first_id + i64::from(*row)));
                    values.iter_mut().zip(&new).for_each(|(values, new)| values.append(new));
                }
            }
        }
        let values: Vec<Vector> = values.into_iter().map(VectorBuilder::finish).collect();
        self.table.update_bulk(&self.columns, (&few, &values), (&rewritten.finish(), &groups))?;
        Ok(all.len() as u64)
    }
}

/// The row groups of which most waits, so that the others wait for less than `rest` bytes.
fn largest(state: &State, rest: usize) -> Vec<usize> {
    let waits = |group: &&Group| !group.is_taken && !group.waiting.rows.is_empty();
    let mut sizes: Vec<(usize, usize)> = state
        .groups
        .iter()
        .filter(|(_, group)| waits(group))
        .map(|(index, group)| (group.waiting.memory_size(), *index))
        .collect();
    sizes.sort_unstable_by(|left, right| right.cmp(left));
    let mut left = state.waiting;
    let is_needed = |(size, index): (usize, usize)| {
        let is_needed = left > rest;
        left = left.saturating_sub(size);
        is_needed.then_some(index)
    };
    sizes.into_iter().map_while(is_needed).collect()
}

/// Takes what waits of a row group, for its new columns.
fn take(state: &mut State, index: usize) -> Option<Taken> {
    let group = state.groups.get_mut(&index).filter(|group| !group.is_taken)?;
    group.is_taken = true;
    let waiting = std::mem::take(&mut group.waiting);
    let before = group.columns.clone();
    state.waiting = state.waiting.saturating_sub(waiting.memory_size());
    Some(Taken { index, waiting, before })
}
