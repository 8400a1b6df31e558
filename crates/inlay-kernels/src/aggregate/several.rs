//! `min(x, n)`, `max(x, n)`, `arg_min(x, by, n)` and `arg_max(x, by, n)`: the first n values of a group in an order.
//!
//! Rows are collected; whenever they have doubled, those that can no longer be among the first n are dropped. From then on rows
//! behind the last one of their group are not collected at all. Both look at words in the order of the keys ([`order_words`]), where
//! keys have some.
//!
//! A few rows of each group that are told apart by words lie in order in one piece of memory, and a row that is not among them is
//! looked at once: [`super::few`].

use super::collect::{Added, GroupRows};
use super::column::Column;
use super::few::{FEW_MAX, Few};
use super::fractions::Parameter;
use super::order::{Comparator, Item, order_words};
use super::packing::offsets;
use super::{GroupIds, GroupedAccumulator, same_kind};
use crate::function::AggregateFunction;
use inlay_types::nested::pack_lists;
use inlay_types::{Bitmap, Error, Result, Vector};
use std::any::Any;

/// Fewer rows than this are not looked through for rows to drop.
const PRUNE_MIN: usize = 1 << 14;
/// Most values that may be asked for, as in DuckDB.
const COUNT_MAX: usize = 999_999;

struct Several {
    values: Column,
    /// What `arg_min` and `arg_max` order by.
    keys: Option<Column>,
    comparator: Comparator,
    /// Words of the keys, the first ones lowest; `None` where keys have none.
    words: Option<Vec<u64>>,
    /// By group, the word of the last of its first n rows, if it has as many.
    bounds: Vec<u64>,
    greatest: bool,
    /// Whether rows with NULLs count, those whose key is NULL behind all others.
    nulls_last: bool,
    count: Parameter,
    rows: GroupRows,
    groups: usize,
    prune_at: usize,
    function: AggregateFunction,
    /// The first rows of each group where there are few; then nothing is in `keys`, `words` and `rows`.
    few: Option<Few>,
    morsel: u32,
}

fn boxed(function: &AggregateFunction, by: bool, greatest: bool) -> Box<Several> {
    let types = &function.arg_types;
    Box::new(Several {
        values: Column::new(types[0].clone()),
        keys: by.then(|| Column::new(types[1].clone())),
        comparator: Comparator::new(&types[usize::from(by)]),
        words: order_words(&Vector::empty(types[usize::from(by)].clone()), greatest),
        bounds: Vec::new(),
        greatest,
        nulls_last: false,
        count: Parameter::default(),
        rows: GroupRows::default(),
        groups: 0,
        prune_at: PRUNE_MIN,
        function: function.clone(),
        few: None,
        morsel: 0,
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
    Ok(Box::new(Several { nulls_last: true, words: None, ..*boxed(f, true, false) }))
}

/// `arg_max_nulls_last` with a count.
pub fn arg_max_nulls_last(f: &AggregateFunction, _total: bool) -> Result<Box<dyn GroupedAccumulator>> {
    Ok(Box::new(Several { nulls_last: true, words: None, ..*boxed(f, true, true) }))
}

impl Several {
    fn n(&self) -> Result<usize> {
        self.count.count(&self.function.name, COUNT_MAX)
    }

    /// The first `n` rows of a group, in order; of equal ones those that came first.
    fn first(&self, group: usize, n: usize) -> Vec<u32> {
        if let Some(words) = &self.words {
            let rows = self.rows.rows(group as u32).iter();
            let mut rows: Vec<(u64, u32, u32)> =
                rows.zip(0..).map(|(&row, place)| (words[row as usize], place, row)).collect();
            if n > 0 && n < rows.len() {
                rows.select_nth_unstable(n - 1);
            }
            rows.truncate(n);
            rows.sort_unstable();
            return rows.into_iter().map(|(.., row)| row).collect();
        }
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

    /// Keeps few rows of each group in order, if few are asked for and nothing is kept yet.
    fn begin(&mut self) {
        if let (None, Some(_), 0, Ok(n @ 1..=FEW_MAX)) = (&self.few, &self.words, self.values.len(), self.n())
        {
            self.few = Some(Few::new(n));
        }
    }

    /// Drops values of rows that are no longer among the first of their groups.
    fn compact(&mut self) {
        let Some(few) = &mut self.few else { return };
        if self.values.len() > PRUNE_MIN + 2 * few.live() {
            let kept = few.renumbered(self.values.len());
            let mut smaller = Column::new(self.values.logical_type());
            smaller.append_column(&self.values, &kept);
            self.values = smaller;
        }
    }

    /// Drops rows that are not among the first of their groups.
    fn prune(&mut self) -> Result<()> {
        if self.values.len() < self.prune_at {
            return Ok(());
        }
        let n = self.n()?;
        let mut kept: Vec<u32> = Vec::new();
        self.bounds.clear();
        for group in 0..self.groups {
            let first = self.first(group, n);
            let last = self.words.as_ref().zip(first.last().filter(|_| first.len() == n));
            self.bounds.push(last.map_or(u64::MAX, |(words, &row)| words[row as usize]));
            kept.extend(first);
        }
        if let Some(words) = &mut self.words {
            *words = kept.iter().map(|&row| words[row as usize]).collect();
        }
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
        self.morsel = number;
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
        let may_be_null = |arg: &&Vector| {
            arg.as_dictionary().is_some() || arg.validity().is_some() || arg.is_constant_null()
        };
        let has_nulls = args.iter().any(may_be_null);
        let mut rows: Vec<u32> = (0..groups.len() as u32).collect();
        if has_nulls && !self.nulls_last {
            rows.retain(|&row| !is_null(row));
        }
        self.begin();
        if let Some(few) = &mut self.few {
            let order = args[usize::from(self.keys.is_some())].flatten();
            let words = order_words(&order, self.greatest);
            let words = words.ok_or_else(|| Error::internal("keys lost their order"))?;
            few.resize(self.groups.max(groups.ids().iter().max().map_or(0, |&group| group as usize + 1)));
            let mut next = self.values.len() as u32;
            rows.retain(|&row| {
                let is_first = few.offer(groups.ids()[row as usize], words[row as usize], self.morsel, next);
                next += u32::from(is_first);
                is_first
            });
            self.values.append(args[0], &rows);
            self.compact();
            return Ok(());
        }
        if let Some(words) = &mut self.words {
            let own = order_words(&args[usize::from(self.keys.is_some())].flatten(), self.greatest);
            let own = own.ok_or_else(|| Error::internal("keys lost their order"))?;
            if !self.bounds.is_empty() {
                // Of equal rows those that came first count: they may come from another morsel.
                let bound = |row: u32| self.bounds.get(groups.ids()[row as usize] as usize);
                rows.retain(|&row| bound(row).is_none_or(|bound| own[row as usize] <= *bound));
            }
            words.extend(rows.iter().map(|&row| own[row as usize]));
        }
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
        if other.few.is_some() {
            self.begin();
        }
        if let (Some(few), Some(theirs)) = (&mut self.few, &other.few) {
            few.resize(self.groups.max(target.iter().max().map_or(0, |&group| group as usize + 1)));
            let kept = few.merge(theirs, source, target, self.values.len() as u32);
            self.values.append_column(&other.values, &kept);
            self.compact();
            return Ok(());
        }
        let added = self.rows.merge(&other.rows, source, target);
        self.values.append_added(&other.values, &added);
        if let (Some(keys), Some(theirs)) = (&mut self.keys, &other.keys) {
            keys.append_added(theirs, &added);
        }
        if let (Some(words), Some(theirs)) = (&mut self.words, &other.words) {
            match &added {
                Added::All => words.extend_from_slice(theirs),
                Added::Rows(rows) => words.extend(rows.iter().map(|&row| theirs[row as usize])),
            }
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
            match &self.few {
                Some(few) => rows.extend(few.rows(group)),
                None => rows.extend(self.first(group, n)),
            }
            ends.push(rows.len());
        }
        let empty = |group: usize| ends[group] == ends[group + 1];
        let validity = (0..len).any(empty).then(|| Bitmap::from_fn(len, |group| !empty(group)));
        let values = self.values.gather(&rows);
        pack_lists(&self.function.return_type, &values, &offsets(&ends)?, validity.as_ref())
    }

    fn memory_size(&self) -> usize {
        let keys = self.keys.as_ref().map_or(0, Column::memory_size);
        let words =
            (self.words.as_ref().map_or(0, Vec::capacity) + self.bounds.capacity()) * size_of::<u64>();
        let few = self.few.as_ref().map_or(0, Few::memory_size);
        self.values.memory_size() + keys + words + few + self.rows.memory_size()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
