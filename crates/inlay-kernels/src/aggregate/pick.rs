//! `first`, `any_value`, `arg_min`, `arg_max`: one row's value is kept per group.

use super::column::Column;
use super::{GroupIds, GroupedAccumulator, same_kind};
use crate::function::{AggregateFunction, AggregateKind};
use inlay_types::{Result, Value, Vector};
use std::any::Any;
use std::cmp::Ordering;

/// When a row replaces what a group holds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rule {
    /// The first row, NULL or not.
    First,
    /// The first value that is not NULL.
    AnyValue,
    /// The row with the least second argument, of those where neither is NULL.
    Least,
    /// The row with the greatest second argument, of those where neither is NULL.
    Greatest,
}

struct Pick {
    values: Column,
    /// The second arguments of the rows kept.
    keys: Option<Column>,
    taken: Vec<bool>,
    rule: Rule,
}

pub(super) fn create(function: &AggregateFunction) -> Result<Box<dyn GroupedAccumulator>> {
    let rule = match function.kind {
        AggregateKind::First => Rule::First,
        AggregateKind::ArgMin => Rule::Least,
        AggregateKind::ArgMax => Rule::Greatest,
        _ => Rule::AnyValue,
    };
    let keys =
        matches!(rule, Rule::Least | Rule::Greatest).then(|| Column::new(function.arg_types[1].clone()));
    Ok(Box::new(Pick { values: Column::new(function.arg_types[0].clone()), keys, taken: Vec::new(), rule }))
}

/// The order of a vector's row against a kept key.
fn order(vector: &Vector, row: usize, kept: &Column, at: usize) -> Ordering {
    if vector.logical_type().is_view() {
        let view = match vector.as_dictionary() {
            Some(dictionary) => &dictionary.values().views()[vector.codes()[row] as usize],
            None => &vector.views()[if vector.is_constant() { 0 } else { row }],
        };
        return view.bytes(vector.heap().buffers()).cmp(kept.bytes(at));
    }
    let kept: Value = kept.to_vector(at, 1).get(0);
    vector.get(row).total_cmp(&kept)
}

impl Pick {
    fn wants(&self, group: usize, args: &[&Vector], row: usize) -> bool {
        match (self.rule, &self.keys) {
            (Rule::First, _) => !self.taken[group],
            (Rule::Least | Rule::Greatest, Some(keys)) => {
                if args[0].is_null(row) || args[1].is_null(row) {
                    return false;
                }
                let wanted = if self.rule == Rule::Least { Ordering::Less } else { Ordering::Greater };
                !self.taken[group] || order(args[1], row, keys, group) == wanted
            }
            _ => !self.taken[group] && !args[0].is_null(row),
        }
    }
}

impl GroupedAccumulator for Pick {
    fn resize(&mut self, groups: usize) {
        self.values.resize_nulls(groups);
        if let Some(keys) = &mut self.keys {
            keys.resize_nulls(groups);
        }
        self.taken.resize(groups, false);
    }

    fn update(&mut self, args: &[&Vector], groups: GroupIds<'_>) -> Result<()> {
        for (row, &group) in groups.ids().iter().enumerate() {
            let group = group as usize;
            if self.wants(group, args, row) {
                self.values.set(group, args[0], row);
                if let Some(keys) = &mut self.keys {
                    keys.set(group, args[1], row);
                }
                self.taken[group] = true;
            }
        }
        Ok(())
    }

    fn merge(&mut self, other: &dyn GroupedAccumulator, source: &[u32], target: &[u32]) -> Result<()> {
        let other = same_kind::<Self>(other)?;
        for (&from, &to) in source.iter().zip(target) {
            let (from, to) = (from as usize, to as usize);
            if !other.taken[from] {
                continue;
            }
            let wanted = !self.taken[to]
                || match (&self.keys, &other.keys) {
                    (Some(ours), Some(theirs)) => {
                        let order = order(&theirs.to_vector(from, 1), 0, ours, to);
                        order == if self.rule == Rule::Least { Ordering::Less } else { Ordering::Greater }
                    }
                    _ => false,
                };
            if wanted {
                self.values.set_from(to, &other.values, from);
                if let (Some(ours), Some(theirs)) = (&mut self.keys, &other.keys) {
                    ours.set_from(to, theirs, from);
                }
                self.taken[to] = true;
            }
        }
        Ok(())
    }

    fn finish(&self, from: usize, len: usize) -> Result<Vector> {
        Ok(self.values.to_vector(from, len))
    }

    fn memory_size(&self) -> usize {
        self.values.memory_size() + self.keys.as_ref().map_or(0, Column::memory_size) + self.taken.capacity()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
