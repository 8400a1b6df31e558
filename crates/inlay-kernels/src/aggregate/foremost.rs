//! `first`, `last` and `any_value` with ORDER BY: the foremost row of each group is kept, not all of them.
//!
//! `last` is the first row in the reverse order. A row is compared with its group's by the first keys' prefixes, and nearly all
//! rows are behind by that. Of a batch's rows only those that are ahead at its end are copied: where rows come in
//! order, every row is ahead of those before.

use super::column::Column;
use super::order::{Comparator, Item};
use super::ordered::OrderKey;
use super::prefix::{has_complete_prefix, write_prefixes};
use super::{GroupIds, GroupedAccumulator, flat, same_kind};
use crate::function::{AggregateFunction, AggregateKind};
use inlay_types::{Error, LogicalType, Result, Vector};
use std::any::Any;
use std::borrow::Cow;
use std::cell::OnceCell;
use std::cmp::Ordering;

/// Strings of less than this many bytes are not compacted.
const COMPACT_MIN: usize = 1 << 18;

/// No row of the batch.
const NONE: u32 = u32::MAX;

struct Foremost {
    values: Column,
    /// At least one.
    keys: Vec<Key>,
    taken: Vec<bool>,
    /// The morsels of the rows kept.
    morsels: Vec<u32>,
    morsel: u32,
    /// During an update: the batch's row that is to replace the group's. What is kept of the first key is its prefix already.
    pending: Vec<u32>,
    skips_nulls: bool,
    /// Of equal rows the last is ahead.
    prefers_later: bool,
    /// The strings' size from which those that were replaced are dropped.
    compact_at: usize,
}

/// One key of the rows kept.
struct Key {
    order: OrderKey,
    /// The greatest while there is no row.
    prefixes: Vec<u64>,
    nulls: Vec<bool>,
    /// The values, if prefixes do not tell them apart.
    values: Option<(Column, Comparator)>,
}

/// One key of a batch; what is seldom needed is made when it is.
struct BatchKey<'a> {
    vector: &'a Vector,
    len: usize,
    order: OrderKey,
    flat: OnceCell<Cow<'a, Vector>>,
    prefixes: OnceCell<Vec<u64>>,
}

/// The accumulator of a function that needs one row of each group, if this is one.
pub(super) fn create(
    function: &AggregateFunction,
    key_types: &[LogicalType],
    keys: &[OrderKey],
) -> Option<Box<dyn GroupedAccumulator>> {
    let (skips_nulls, prefers_later) = match function.kind {
        AggregateKind::First => (false, false),
        AggregateKind::AnyValue => (true, false),
        AggregateKind::Declared(rules) if rules.name == "last" => (false, true),
        _ => return None,
    };
    let (values, false) = (function.arg_types.first()?, keys.is_empty()) else { return None };
    let key = |(ty, &order): (&LogicalType, &OrderKey)| Key {
        order: if prefers_later { order.reversed() } else { order },
        prefixes: Vec::new(),
        nulls: Vec::new(),
        values: (!has_complete_prefix(ty.physical())).then(|| (Column::new(ty.clone()), Comparator::new(ty))),
    };
    Some(Box::new(Foremost {
        values: Column::new(values.clone()),
        keys: key_types.iter().zip(keys).map(key).collect(),
        taken: Vec::new(),
        morsels: Vec::new(),
        morsel: 0,
        pending: Vec::new(),
        skips_nulls,
        prefers_later,
        compact_at: COMPACT_MIN,
    }))
}

impl<'a> BatchKey<'a> {
    fn new(vector: &'a Vector, len: usize, order: OrderKey) -> Self {
        Self { vector, len, order, flat: OnceCell::new(), prefixes: OnceCell::new() }
    }

    fn flat(&self) -> &Vector {
        self.flat.get_or_init(|| flat(self.vector))
    }

    fn prefixes(&self) -> &[u64] {
        self.prefixes.get_or_init(|| {
            let mut prefixes = Vec::with_capacity(self.len);
            write_prefixes(self.flat(), self.len, self.order, &mut prefixes);
            prefixes
        })
    }
}

impl Key {
    /// The order of a row of a batch to another of it or, if that is `NONE`, to the one kept for `group`.
    #[inline]
    fn compare(&self, batch: &BatchKey<'_>, row: usize, other: u32, group: usize) -> Ordering {
        let prefixes = batch.prefixes();
        let (prefix, null) = match other {
            NONE => (self.prefixes[group], self.nulls[group]),
            other => (prefixes[other as usize], batch.vector.is_null(other as usize)),
        };
        self.settle((prefixes[row], batch.vector.is_null(row)), (prefix, null), |comparator, values| {
            let other = match other {
                NONE => Item::of_column(values, group),
                other => Item::of_vector(batch.flat(), other as usize),
            };
            comparator.compare(Item::of_vector(batch.flat(), row), other)
        })
    }

    /// The order of two keys with these prefixes, which are NULL or not; `compare` compares values.
    #[inline]
    fn settle(
        &self,
        (left, left_null): (u64, bool),
        (right, right_null): (u64, bool),
        compare: impl FnOnce(&Comparator, &Column) -> Ordering,
    ) -> Ordering {
        let values = || {
            let values = self.values.as_ref();
            values.map_or(Ordering::Equal, |(column, comparator)| {
                self.order.directed(compare(comparator, column))
            })
        };
        left.cmp(&right).then_with(|| self.order.order_of_nulls(left_null, right_null).unwrap_or_else(values))
    }

    fn set(&mut self, group: usize, batch: &BatchKey<'_>, row: usize) {
        self.prefixes[group] = batch.prefixes()[row];
        self.nulls[group] = batch.vector.is_null(row);
        if let Some((column, _)) = &mut self.values {
            column.set(group, batch.vector, row);
        }
    }

    fn heap_size(&self) -> usize {
        self.values.as_ref().map_or(0, |(column, _)| column.heap_size())
    }
}

impl Foremost {
    /// Takes note of a row whose first key's prefix is not behind that of its group, if it is ahead.
    #[inline]
    fn consider(
        &mut self,
        batch: &[BatchKey<'_>],
        value: &Vector,
        row: usize,
        group: usize,
        touched: &mut Vec<u32>,
    ) {
        if self.skips_nulls && value.is_null(row) {
            return;
        }
        let pending = self.pending[group];
        // Rows of a morsel come in their order, but morsels may not.
        let is_later = self.morsel >= self.morsels[group];
        let is_ahead = !self.taken[group] || {
            let keys = self.keys.iter().zip(batch);
            let mut orders = keys.map(|(key, batch)| key.compare(batch, row, pending, group));
            match orders.find(|order| order.is_ne()) {
                Some(order) => order.is_lt(),
                None => is_later == self.prefers_later,
            }
        };
        if is_ahead {
            if pending == NONE {
                touched.push(group as u32);
            }
            self.pending[group] = row as u32;
            self.keys[0].prefixes[group] = batch[0].prefixes()[row];
            self.taken[group] = true;
            self.morsels[group] = self.morsel;
        }
    }

    /// Adds the first `len` rows to the groups of theirs.
    fn add(&mut self, args: &[&Vector], len: usize, group_of: impl Fn(usize) -> usize) -> Result<()> {
        let (value, keys) = args
            .split_first()
            .ok_or_else(|| Error::internal("the first value in an order was asked of none"))?;
        let keys = self.keys.iter().zip(keys);
        let batch: Vec<_> = keys.map(|(key, vector)| BatchKey::new(vector, len, key.order)).collect();
        let (prefixes, mut touched, mut from) = (batch[0].prefixes(), Vec::new(), 0);
        while let Some(row) = {
            let kept = &self.keys[0].prefixes[..];
            (from..len).find(|&row| prefixes[row] <= kept[group_of(row)])
        } {
            self.consider(&batch, value, row, group_of(row), &mut touched);
            from = row + 1;
        }
        for group in touched {
            let group = group as usize;
            let row = std::mem::replace(&mut self.pending[group], NONE) as usize;
            self.values.set(group, value, row);
            for (key, batch) in self.keys.iter_mut().zip(&batch) {
                key.set(group, batch, row);
            }
        }
        self.compact();
        Ok(())
    }

    fn compact(&mut self) {
        let size =
            |this: &Self| this.values.heap_size() + this.keys.iter().map(Key::heap_size).sum::<usize>();
        if size(self) > self.compact_at {
            self.values.compact();
            self.keys
                .iter_mut()
                .filter_map(|key| key.values.as_mut())
                .for_each(|(column, _)| column.compact());
            self.compact_at = COMPACT_MIN.max(2 * size(self));
        }
    }
}

impl GroupedAccumulator for Foremost {
    fn resize(&mut self, groups: usize) {
        self.values.resize_nulls(groups);
        for key in &mut self.keys {
            key.prefixes.resize(groups, u64::MAX);
            key.nulls.resize(groups, false);
            if let Some((column, _)) = &mut key.values {
                column.resize_nulls(groups);
            }
        }
        self.taken.resize(groups, false);
        self.morsels.resize(groups, 0);
        self.pending.resize(groups, NONE);
    }

    fn start_morsel(&mut self, number: u32) {
        self.morsel = number;
    }

    fn update(&mut self, args: &[&Vector], groups: GroupIds<'_>) -> Result<()> {
        let ids = groups.ids();
        self.add(args, ids.len(), |row| ids[row] as usize)
    }

    fn update_one(&mut self, args: &[&Vector], len: usize, group: u32) -> Result<()> {
        self.add(args, len, |_| group as usize)
    }

    fn merge(&mut self, other: &dyn GroupedAccumulator, source: &[u32], target: &[u32]) -> Result<()> {
        let other = same_kind::<Self>(other)?;
        for (&from, &to) in source.iter().zip(target) {
            let (from, to) = (from as usize, to as usize);
            if !other.taken[from] {
                continue;
            }
            let is_ahead = !self.taken[to] || {
                let keys = self.keys.iter().zip(&other.keys);
                let mut orders = keys.map(|(ours, theirs)| {
                    let left = (theirs.prefixes[from], theirs.nulls[from]);
                    ours.settle(left, (ours.prefixes[to], ours.nulls[to]), |comparator, values| {
                        let theirs = theirs.values.as_ref();
                        theirs.map_or(Ordering::Equal, |(theirs, _)| {
                            comparator.compare(Item::of_column(theirs, from), Item::of_column(values, to))
                        })
                    })
                });
                match orders.find(|order| order.is_ne()) {
                    Some(order) => order.is_lt(),
                    None => (other.morsels[from] >= self.morsels[to]) == self.prefers_later,
                }
            };
            if is_ahead {
                self.values.set_from(to, &other.values, from);
                for (ours, theirs) in self.keys.iter_mut().zip(&other.keys) {
                    ours.prefixes[to] = theirs.prefixes[from];
                    ours.nulls[to] = theirs.nulls[from];
                    if let (Some((ours, _)), Some((theirs, _))) = (&mut ours.values, &theirs.values) {
                        ours.set_from(to, theirs, from);
                    }
                }
                self.taken[to] = true;
                self.morsels[to] = other.morsels[from];
            }
        }
        self.compact();
        Ok(())
    }

    fn finish(&self, from: usize, len: usize) -> Result<Vector> {
        Ok(self.values.to_vector(from, len))
    }

    fn memory_size(&self) -> usize {
        let key = |key: &Key| {
            let values = key.values.as_ref().map_or(0, |(column, _)| column.memory_size());
            key.prefixes.capacity() * 8 + key.nulls.capacity() + values
        };
        let groups = self.taken.capacity() + (self.morsels.capacity() + self.pending.capacity()) * 4;
        self.values.memory_size() + self.keys.iter().map(key).sum::<usize>() + groups
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
