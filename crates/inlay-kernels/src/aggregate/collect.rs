//! Aggregates that keep their rows: what they share, and aggregates with ORDER BY.

use super::column::Column;
use super::{GroupIds, GroupedAccumulator, create, same_kind};
use crate::function::AggregateFunction;
use inlay_types::{LogicalType, Result, Value, Vector};
use std::any::Any;
use std::cmp::Ordering;
use std::sync::OnceLock;

/// Rows in the order of arrival, and which belong to a group.
#[derive(Debug, Default)]
pub(super) struct GroupRows {
    groups: Vec<u32>,
    /// Row numbers by group, and where each group begins; made at the first question.
    index: OnceLock<(Vec<u32>, Vec<u32>)>,
}

impl GroupRows {
    pub(super) fn push(&mut self, groups: impl IntoIterator<Item = u32>) {
        self.index.take();
        self.groups.extend(groups);
    }

    /// The rows of `group`, in the order of arrival.
    pub(super) fn rows(&self, group: u32) -> &[u32] {
        let (offsets, rows) = self.index.get_or_init(|| {
            let count = self.groups.iter().max().map_or(0, |&g| g as usize + 1);
            let mut offsets = vec![0u32; count + 1];
            self.groups.iter().for_each(|&g| offsets[g as usize + 1] += 1);
            (0..count).for_each(|g| offsets[g + 1] += offsets[g]);
            let mut next = offsets.clone();
            let mut rows = vec![0u32; self.groups.len()];
            for (row, &group) in self.groups.iter().enumerate() {
                rows[next[group as usize] as usize] = row as u32;
                next[group as usize] += 1;
            }
            (offsets, rows)
        });
        match offsets.get(group as usize + 1) {
            Some(&end) => &rows[offsets[group as usize] as usize..end as usize],
            None => &[],
        }
    }

    /// Adds the rows of `other`'s groups `source` as rows of `target`; returns them in the order added.
    pub(super) fn merge(&mut self, other: &GroupRows, source: &[u32], target: &[u32]) -> Vec<u32> {
        let mut added = Vec::new();
        for (&from, &to) in source.iter().zip(target) {
            let rows = other.rows(from);
            added.extend_from_slice(rows);
            self.push(std::iter::repeat_n(to, rows.len()));
        }
        added
    }

    pub(super) fn memory_size(&self) -> usize {
        self.groups.capacity() * 4 * if self.index.get().is_some() { 2 } else { 1 }
    }
}

/// How one key of an aggregate's ORDER BY sorts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderKey {
    /// Largest first.
    pub descending: bool,
    /// NULLs before all values.
    pub nulls_first: bool,
}

/// An aggregate with ORDER BY: keeps all rows, and aggregates each group's in order at the end. The arguments of updates
/// are the function's, then the keys.
pub struct Ordered {
    function: AggregateFunction,
    keys: Vec<OrderKey>,
    columns: Vec<Column>,
    rows: GroupRows,
}

impl Ordered {
    /// No groups. `key_types` are those of the sort keys.
    pub fn boxed(
        function: &AggregateFunction,
        key_types: &[LogicalType],
        keys: Vec<OrderKey>,
    ) -> Box<dyn GroupedAccumulator> {
        let columns = function.arg_types.iter().chain(key_types).map(|ty| Column::new(ty.clone())).collect();
        Box::new(Self { function: function.clone(), keys, columns, rows: GroupRows::default() })
    }

    fn sorted(&self, group: u32) -> Vec<u32> {
        let rows = self.rows.rows(group);
        let first_key = self.function.arg_types.len();
        let keys: Vec<Vector> = self.columns[first_key..].iter().map(|column| column.gather(rows)).collect();
        let values: Vec<Vec<Value>> =
            (0..rows.len()).map(|row| keys.iter().map(|key| key.get(row)).collect()).collect();
        let mut order: Vec<usize> = (0..rows.len()).collect();
        order.sort_by(|&a, &b| self.compare(&values[a], &values[b]));
        order.into_iter().map(|index| rows[index]).collect()
    }

    fn compare(&self, left: &[Value], right: &[Value]) -> Ordering {
        let mut orders = self.keys.iter().zip(left.iter().zip(right)).map(|(key, (left, right))| {
            match (left.is_null(), right.is_null()) {
                (true, true) => Ordering::Equal,
                (true, false) if key.nulls_first => Ordering::Less,
                (true, false) => Ordering::Greater,
                (false, true) if key.nulls_first => Ordering::Greater,
                (false, true) => Ordering::Less,
                (false, false) if key.descending => right.total_cmp(left),
                (false, false) => left.total_cmp(right),
            }
        });
        orders.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    }
}

impl GroupedAccumulator for Ordered {
    fn resize(&mut self, _groups: usize) {}

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
            column.append_column(theirs, &added);
        }
        Ok(())
    }

    fn finish(&self, from: usize, len: usize) -> Result<Vector> {
        let mut inner = create(&self.function, false)?;
        inner.resize(len);
        for group in 0..len {
            let rows = self.sorted((from + group) as u32);
            for part in rows.chunks(inlay_types::VECTOR_SIZE) {
                let columns = &self.columns[..self.function.arg_types.len()];
                let args: Vec<Vector> = columns.iter().map(|column| column.gather(part)).collect();
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
