//! `min(x, n)`, `max(x, n)`, `arg_min(x, by, n)` and `arg_max(x, by, n)`: the first n values of a group in an order.
//!
//! Rows are collected; whenever they have doubled, those that can no longer be among the first n are dropped.

use super::collect::GroupRows;
use super::column::Column;
use super::fractions::Parameter;
use super::order::{Comparator, Item};
use super::packing::offsets;
use super::{GroupIds, GroupedAccumulator, same_kind};
use crate::function::AggregateFunction;
use inlay_types::nested::pack_lists;
use inlay_types::{Bitmap, Error, Result, Vector};
use std::any::Any;

/// Fewer rows than this are not looked through for rows to drop.
const PRUNE_MIN: usize = 1 << 16;
/// Most values that may be asked for, as in DuckDB.
const COUNT_MAX: usize = 999_999;

struct Several {
    values: Column,
    /// What `arg_min` and `arg_max` order by.
    keys: Option<Column>,
    comparator: Comparator,
    greatest: bool,
    /// Whether rows with NULLs count, those whose key is NULL behind all others.
    nulls_last: bool,
    count: Parameter,
    rows: GroupRows,
    groups: usize,
    prune_at: usize,
    function: AggregateFunction,
}

fn boxed(function: &AggregateFunction, by: bool, greatest: bool) -> Box<Several> {
    let types = &function.arg_types;
    Box::new(Several {
        values: Column::new(types[0].clone()),
        keys: by.then(|| Column::new(types[1].clone())),
        comparator: Comparator::new(&types[usize::from(by)]),
        greatest,
        nulls_last: false,
        count: Parameter::default(),
        rows: GroupRows::default(),
        groups: 0,
        prune_at: PRUNE_MIN,
        function: function.clone(),
    })
}

/// `min` with a count.
pub fn min(f: &AggregateFunction, _total: bool) -> Result<Box<dyn GroupedAccumulator>> {
    Ok(boxed(f, false, false))
}

/// `max` with a count.
pub fn max(f: &AggregateFunction, _total: bool) -> Result<Box<dyn GroupedAccumulator>> {
    Ok(boxed(f, false, true))
}

/// `arg_min` with a count.
pub fn arg_min(f: &AggregateFunction, _total: bool) -> Result<Box<dyn GroupedAccumulator>> {
    Ok(boxed(f, true, false))
}

/// `arg_max` with a count.
pub fn arg_max(f: &AggregateFunction, _total: bool) -> Result<Box<dyn GroupedAccumulator>> {
    Ok(boxed(f, true, true))
}

/// `arg_min_nulls_last` with a count.
pub fn arg_min_nulls_last(f: &AggregateFunction, _total: bool) -> Result<Box<dyn GroupedAccumulator>> {
    Ok(Box::new(Several { nulls_last: true, ..*boxed(f, true, false) }))
}

/// `arg_max_nulls_last` with a count.
pub fn arg_max_nulls_last(f: &AggregateFunction, _total: bool) -> Result<Box<dyn GroupedAccumulator>> {
    Ok(Box::new(Several { nulls_last: true, ..*boxed(f, true, true) }))
}

impl Several {
    fn n(&self) -> Result<usize> {
        self.count.count(&self.function.name, COUNT_MAX)
    }

    /// The first `n` rows of a group, in order; of equal ones those that came first.
    fn first(&self, group: usize, n: usize) -> Vec<u32> {
        let order = self.keys.as_ref().unwrap_or(&self.values);
        let item = |row: u32| Item::of_column(order, row as usize);
        let compare = |&(a, place): &(u32, u32), &(b, other): &(u32, u32)| {
            let by_value = match (order.is_null(a as usize), order.is_null(b as usize)) {
                (false, false) if self.greatest => self.comparator.compare(item(b), item(a)),
                (false, false) => self.comparator.compare(item(a), item(b)),
                (a_is_null, b_is_null) => a_is_null.cmp(&b_is_null),
            };
            by_value.then(place.cmp(&other))
        };
        let mut rows: Vec<(u32, u32)> = self.rows.rows(group as u32).iter().copied().zip(0..).collect();
        // Most rows are not among the first ones and need no order among themselves.
        if n > 0 && n < rows.len() {
            rows.select_nth_unstable_by(n - 1, compare);
        }
        rows.truncate(n);
        rows.sort_unstable_by(compare);
        rows.into_iter().map(|(row, _)| row).collect()
    }

    /// Drops rows that are not among the first of their groups.
    fn prune(&mut self) -> Result<()> {
        if self.values.len() < self.prune_at {
            return Ok(());
        }
        let n = self.n()?;
        let kept: Vec<u32> = (0..self.groups).flat_map(|group| self.first(group, n)).collect();
        let kept_of = |column: &Column| {
            let mut smaller = Column::new(column.logical_type());
            smaller.append_column(column, &kept);
            smaller
        };
        let values = kept_of(&self.values);
        self.values = values;
        self.keys = self.keys.as_ref().map(kept_of);
        self.rows = self.rows.picked(&kept);
        self.prune_at = PRUNE_MIN.max(2 * self.values.len());
        Ok(())
    }
}

impl GroupedAccumulator for Several {
    fn resize(&mut self, groups: usize) {
        self.groups = self.groups.max(groups);
    }

    fn start_morsel(&mut self, number: u32) {
        self.rows.start_morsel(number);
    }

    fn update(&mut self, args: &[&Vector], groups: GroupIds<'_>) -> Result<()> {
        let count = args.last().filter(|_| !groups.is_empty());
        if count.is_some_and(|count| count.is_null(0)) {
            let message = format!("{} was asked for NULL values", self.function.name);
            let hint = "ask for 1 or more";
            return Err(Error::invalid_argument(message).with_hint(hint));
        }
        self.count.learn(count, groups.len());
        let is_null =
            |row: u32| args[0].is_null(row as usize) || self.keys.is_some() && args[1].is_null(row as usize);
        let rows: Vec<u32> =
            (0..groups.len() as u32).filter(|&row| self.nulls_last || !is_null(row)).collect();
        self.values.append(args[0], &rows);
        if let Some(keys) = &mut self.keys {
            keys.append(args[1], &rows);
        }
        self.rows.push(rows.iter().map(|&row| groups.ids()[row as usize]));
        self.groups = self.groups.max(groups.ids().iter().max().map_or(0, |&group| group as usize + 1));
        self.prune()
    }

    fn merge(&mut self, other: &dyn GroupedAccumulator, source: &[u32], target: &[u32]) -> Result<()> {
        let other = same_kind::<Self>(other)?;
        self.count.merge(&other.count);
        let added = self.rows.merge(&other.rows, source, target);
        self.values.append_added(&other.values, &added);
        if let (Some(keys), Some(theirs)) = (&mut self.keys, &other.keys) {
            keys.append_added(theirs, &added);
        }
        self.groups = self.groups.max(target.iter().max().map_or(0, |&group| group as usize + 1));
        self.prune()
    }

    fn prepare_merge(&self) {
        self.rows.prepare();
    }

    fn finish(&self, from: usize, len: usize) -> Result<Vector> {
        let n = self.n()?;
        let (mut rows, mut ends) = (Vec::new(), vec![0]);
        for group in from..from + len {
            rows.extend(self.first(group, n));
            ends.push(rows.len());
        }
        let empty = |group: usize| ends[group] == ends[group + 1];
        let validity = (0..len).any(empty).then(|| Bitmap::from_fn(len, |group| !empty(group)));
        let values = self.values.gather(&rows);
        pack_lists(&self.function.return_type, &values, &offsets(&ends)?, validity.as_ref())
    }

    fn memory_size(&self) -> usize {
        let keys = self.keys.as_ref().map_or(0, Column::memory_size);
        self.values.memory_size() + keys + self.rows.memory_size()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
