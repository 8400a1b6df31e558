//! Aggregates with ORDER BY.

use super::collect::{GroupRows, KeptRows, KeptRowsMut};
use super::column::Column;
use super::foremost;
use super::order::Comparator;
use super::sorting::{Sizes, Sorter};
use super::{GroupIds, GroupedAccumulator, create, same_kind};
use crate::function::AggregateFunction;
use inlay_types::limits::Tally;
use inlay_types::{LogicalType, Result, VECTOR_SIZE, Vector};
use std::any::Any;
use std::cmp::Ordering;

/// How one key of an aggregate's ORDER BY sorts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderKey {
    /// Largest first.
    pub descending: bool,
    /// NULLs before all values.
    pub nulls_first: bool,
}

impl OrderKey {
    /// The order that is the other way round.
    pub(super) fn reversed(self) -> Self {
        Self { descending: !self.descending, nulls_first: !self.nulls_first }
    }

    /// The order of two keys of which one is NULL, or both.
    pub(super) fn order_of_nulls(self, left: bool, right: bool) -> Option<Ordering> {
        match (left, right) {
            (false, false) => None,
            (true, true) => Some(Ordering::Equal),
            (true, false) if self.nulls_first => Some(Ordering::Less),
            (false, true) if !self.nulls_first => Some(Ordering::Less),
            (true, false) | (false, true) => Some(Ordering::Greater),
        }
    }

    /// The prefix of a key whose value has this one ascending.
    #[inline(always)]
    pub(super) fn directed_prefix(self, prefix: u64) -> u64 {
        if self.descending { !prefix } else { prefix }
    }

    /// The prefix of NULL.
    pub(super) fn null_prefix(self) -> u64 {
        if self.nulls_first { 0 } else { u64::MAX }
    }

    /// The order of two keys whose values are in this order.
    pub(super) fn directed(self, order: Ordering) -> Ordering {
        if self.descending { order.reverse() } else { order }
    }
}

/// An aggregate with ORDER BY: keeps all rows, and aggregates each group's in order at the end. The arguments of updates
/// are the function's, then the keys.
pub struct Ordered {
    function: AggregateFunction,
    keys: Vec<OrderKey>,
    comparators: Vec<Comparator>,
    columns: Vec<Column>,
    rows: GroupRows,
    sizes: Sizes,
}

impl Ordered {
    /// No groups. `key_types` are those of the sort keys. Where one row decides, no more of each group is kept.
    pub fn boxed(
        function: &AggregateFunction,
        key_types: &[LogicalType],
        keys: Vec<OrderKey>,
    ) -> Box<dyn GroupedAccumulator> {
        let foremost = foremost::create(function, key_types, &keys);
        foremost.unwrap_or_else(|| Self::sorting(function, key_types, keys, Sizes::default()))
    }

    /// The same, whatever the function is.
    pub(super) fn sorting(
        function: &AggregateFunction,
        key_types: &[LogicalType],
        keys: Vec<OrderKey>,
        sizes: Sizes,
    ) -> Box<dyn GroupedAccumulator> {
        let columns = function.arg_types.iter().chain(key_types).map(|ty| Column::new(ty.clone())).collect();
        let comparators = key_types.iter().map(Comparator::new).collect();
        let rows = GroupRows::default();
        Box::new(Self { function: function.clone(), keys, comparators, columns, rows, sizes })
    }
}

/// Rows that were added to the results since the statement was asked whether it goes on, and bytes since it was asked for memory.
#[derive(Default)]
struct Unasked(usize, usize);

impl Unasked {
    /// So many rows more; whether it is time to ask for memory.
    fn add(&mut self, rows: usize) -> Result<bool> {
        self.0 += rows;
        let is_time = self.0 >= 1 << 14;
        if is_time {
            self.0 = 0;
            inlay_types::limits::check()?;
        }
        Ok(is_time)
    }

    /// Texts that results may keep, and write.
    fn keep(&mut self, bytes: usize) -> Result<()> {
        self.1 += 2 * bytes;
        if self.1 >= 1 << 20 {
            inlay_types::limits::need(std::mem::take(&mut self.1))?;
        }
        Ok(())
    }
}

impl GroupedAccumulator for Ordered {
    fn resize(&mut self, _groups: usize) {}

    fn start_morsel(&mut self, number: u32) {
        self.rows.start_morsel(number);
    }

    fn update(&mut self, args: &[&Vector], groups: GroupIds<'_>) -> Result<()> {
        let all: Vec<u32> = (0..groups.len() as u32).collect();
        for (column, arg) in self.columns.iter_mut().zip(args) {
            column.append(arg, &all);
        }
        self.rows.push(groups.ids().iter().copied());
        Ok(())
    }

    fn merge(&mut self, other: &dyn GroupedAccumulator, source: &[u32], target: &[u32]) -> Result<()> {
        let other = same_kind::<Self>(other)?;
        let added = self.rows.merge(&other.rows, source, target);
        for (column, theirs) in self.columns.iter_mut().zip(&other.columns) {
            column.append_added(theirs, &added);
        }
        Ok(())
    }

    fn prepare_merge(&self) {
        self.rows.prepare();
    }

    fn kept(&self) -> Option<KeptRows<'_>> {
        Some(KeptRows::new(&self.rows, &self.columns))
    }

    fn kept_mut(&mut self) -> Option<KeptRowsMut<'_>> {
        Some(KeptRowsMut::new(&mut self.rows, &mut self.columns))
    }

    fn finish(&self, from: usize, len: usize) -> Result<Vector> {
        let mut inner = create(&self.function, false)?;
        inner.resize(len);
        let (arguments, keys) = self.columns.split_at(self.function.arg_types.len());
        let sorter =
            Sorter { keys: &self.keys, columns: keys, comparators: &self.comparators, sizes: self.sizes };
        let (mut unasked, mut tally) = (Unasked::default(), Tally::default());
        for group in 0..len {
            let rows = sorter.sort(self.rows.rows((from + group) as u32))?;
            for part in rows.chunks(VECTOR_SIZE) {
                if unasked.add(part.len())? {
                    // What is full doubles, and the old place is there until all has moved.
                    tally.to(5 * inner.memory_size() / 2)?;
                }
                let args: Vec<Vector> = arguments.iter().map(|column| column.gather(part)).collect();
                unasked.keep(args.iter().map(Vector::text_size).sum())?;
                inner.update_one(&args.iter().collect::<Vec<_>>(), part.len(), group as u32)?;
            }
        }
        inner.finish(0, len)
    }

    fn memory_size(&self) -> usize {
        self.columns.iter().map(Column::memory_size).sum::<usize>() + self.rows.memory_size()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
