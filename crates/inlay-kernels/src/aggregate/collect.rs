//! Aggregates that keep their rows: what they share, and aggregates with ORDER BY.

use super::column::Column;
use super::{GroupIds, GroupedAccumulator, create, same_kind};
use crate::function::AggregateFunction;
use inlay_types::{LogicalType, Result, Value, Vector};
use std::any::Any;
use std::cmp::Ordering;
use std::ops::Range;
use std::sync::OnceLock;

/// Rows in the order of arrival, and which belong to a group.
#[derive(Debug, Default)]
pub(super) struct GroupRows {
    groups: Vec<u32>,
    /// Where the rows of another morsel begin, and which.
    runs: Vec<(u32, u32)>,
    morsel: u32,
    /// Rows of other workers lie among them: not in the order of morsels.
    is_mixed: bool,
    /// Row numbers by group, and where each group begins; made at the first question.
    index: OnceLock<(Vec<u32>, Vec<u32>)>,
}

impl GroupRows {
    /// See [`GroupedAccumulator::start_morsel`].
    pub(super) fn start_morsel(&mut self, number: u32) {
        self.morsel = number;
    }

    pub(super) fn push(&mut self, groups: impl IntoIterator<Item = u32>) {
        self.index.take();
        if self.runs.last().map_or(self.morsel != 0, |(_, morsel)| *morsel != self.morsel) {
            self.runs.push((self.groups.len() as u32, self.morsel));
        }
        self.groups.extend(groups);
    }

    /// Appends the values of `arg` that are not NULL to `values`, and their groups to the rows.
    pub(super) fn collect(&mut self, values: &mut Column, arg: &Vector, groups: GroupIds<'_>) {
        let rows: Vec<u32> = (0..groups.len() as u32).filter(|&row| !arg.is_null(row as usize)).collect();
        values.append(arg, &rows);
        self.push(rows.iter().map(|&row| groups.ids()[row as usize]));
    }

    /// The rows that came together with `row`, and their morsel.
    fn run_of(&self, row: u32) -> (Range<u32>, u32) {
        let after = self.runs.partition_point(|(start, _)| *start <= row);
        let end = self.runs.get(after).map_or(self.groups.len() as u32, |(start, _)| *start);
        let (start, morsel) = after.checked_sub(1).map_or((0, 0), |run| self.runs[run]);
        (start..end, morsel)
    }

    /// All rows, run by run, in the order of the input.
    fn runs_in_order(&self) -> Vec<Range<u32>> {
        let mut runs = Vec::with_capacity(self.runs.len() + 1);
        let mut from = 0;
        while (from as usize) < self.groups.len() {
            let run = self.run_of(from);
            from = run.0.end;
            runs.push(run);
        }
        if self.is_mixed {
            runs.sort_by_key(|(_, morsel)| *morsel);
        }
        runs.into_iter().map(|(rows, _)| rows).collect()
    }

    /// The rows of `group`, in the order of the input.
    pub(super) fn rows(&self, group: u32) -> &[u32] {
        let (offsets, rows) = self.index.get_or_init(|| self.make_index());
        match offsets.get(group as usize + 1) {
            Some(&end) => &rows[offsets[group as usize] as usize..end as usize],
            None => &[],
        }
    }

    /// One more than the largest group with rows.
    pub(super) fn group_count(&self) -> usize {
        self.groups.iter().max().map_or(0, |&group| group as usize + 1)
    }

    fn make_index(&self) -> (Vec<u32>, Vec<u32>) {
        let count = self.group_count();
        if count == 1 && !self.is_mixed {
            let len = self.groups.len() as u32;
            return (vec![0, len], (0..len).collect());
        }
        let mut offsets = vec![0u32; count + 1];
        self.groups.iter().for_each(|&g| offsets[g as usize + 1] += 1);
        (0..count).for_each(|g| offsets[g + 1] += offsets[g]);
        let mut next = offsets.clone();
        let mut rows = vec![0u32; self.groups.len()];
        for row in self.runs_in_order().into_iter().flatten() {
            let place = &mut next[self.groups[row as usize] as usize];
            rows[*place as usize] = row;
            *place += 1;
        }
        (offsets, rows)
    }

    /// Adds the rows of `other`'s groups `source` as rows of `target`; returns them in the order added.
    pub(super) fn merge(&mut self, other: &GroupRows, source: &[u32], target: &[u32]) -> Vec<u32> {
        let mut added = Vec::new();
        let own_morsel = self.morsel;
        self.is_mixed |= !other.runs.is_empty() || !self.runs.is_empty();
        for (&from, &to) in source.iter().zip(target) {
            let rows = other.rows(from);
            added.extend_from_slice(rows);
            if other.runs.is_empty() {
                self.morsel = 0;
                self.push(std::iter::repeat_n(to, rows.len()));
                continue;
            }
            let mut rest = rows;
            while let Some(&first) = rest.first() {
                let (run, morsel) = other.run_of(first);
                let len = rest.iter().take_while(|row| run.contains(row)).count();
                self.morsel = morsel;
                self.push(std::iter::repeat_n(to, len));
                rest = &rest[len..];
            }
        }
        self.morsel = own_morsel;
        added
    }

    pub(super) fn memory_size(&self) -> usize {
        self.groups.capacity() * 4 * if self.index.get().is_some() { 2 } else { 1 } + self.runs.capacity() * 8
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
