//! `first`, `last`, `any_value`, `arg_min`, `arg_max` and their kin: one row's value is kept per group.

use super::column::Column;
use super::order::{Comparator, Item, order_words};
use super::{GroupIds, GroupedAccumulator, flat, same_kind};
use crate::function::{AggregateFunction, AggregateKind};
use inlay_types::{Error, LogicalType, Result, Vector};
use std::any::Any;
use std::cmp::Ordering;

/// When a row replaces what a group holds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rule {
    /// The first row, NULL or not.
    First,
    /// The last row, NULL or not.
    Last,
    /// The first value that is not NULL.
    AnyValue,
    /// The row with the least second argument.
    Least(Nulls),
    /// The row with the greatest second argument.
    Greatest(Nulls),
}

/// Which rows `arg_min` and `arg_max` look at.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Nulls {
    /// Those where neither argument is NULL.
    Skipped,
    /// Those where the second argument is not NULL.
    Kept,
    /// All; where the second argument is NULL only if there is no other.
    Last,
}

/// Strings of less than this many bytes are not compacted.
const COMPACT_MIN: usize = 1 << 18;

struct Pick {
    values: Column,
    /// The second arguments of the rows kept.
    keys: Option<(Column, Comparator)>,
    /// In the place of `keys` where these have words and rows with NULLs are skipped: the words of the rows kept, better ones lower.
    words: Option<Vec<u64>>,
    taken: Vec<bool>,
    /// The morsels of the rows kept.
    morsels: Vec<u32>,
    morsel: u32,
    rule: Rule,
    /// The strings' size from which those that were replaced are dropped.
    compact_at: usize,
}

fn boxed(function: &AggregateFunction, rule: Rule) -> Result<Box<dyn GroupedAccumulator>> {
    let skips_nulls = matches!(rule, Rule::Least(Nulls::Skipped) | Rule::Greatest(Nulls::Skipped));
    let words_of = |ty: &LogicalType| order_words(&Vector::empty(ty.clone()), false);
    let words = if skips_nulls { words_of(&function.arg_types[1]) } else { None };
    let has_keys = words.is_none() && matches!(rule, Rule::Least(_) | Rule::Greatest(_));
    let keys = has_keys.then(|| {
        let ty = &function.arg_types[1];
        (Column::new(ty.clone()), Comparator::new(ty))
    });
    let values = Column::new(function.arg_types[0].clone());
    Ok(Box::new(Pick {
        values,
        keys,
        words,
        taken: Vec::new(),
        morsels: Vec::new(),
        morsel: 0,
        rule,
        compact_at: COMPACT_MIN,
    }))
}

pub(super) fn create(function: &AggregateFunction) -> Result<Box<dyn GroupedAccumulator>> {
    let rule = match function.kind {
        AggregateKind::First => Rule::First,
        AggregateKind::ArgMin => Rule::Least(Nulls::Skipped),
        AggregateKind::ArgMax => Rule::Greatest(Nulls::Skipped),
        _ => Rule::AnyValue,
    };
    boxed(function, rule)
}

/// `last`.
pub fn last(function: &AggregateFunction, _total: bool) -> Result<Box<dyn GroupedAccumulator>> {
    boxed(function, Rule::Last)
}

/// `arg_min_null`.
pub fn arg_min_null(f: &AggregateFunction, _total: bool) -> Result<Box<dyn GroupedAccumulator>> {
    boxed(f, Rule::Least(Nulls::Kept))
}

/// `arg_max_null`.
pub fn arg_max_null(f: &AggregateFunction, _total: bool) -> Result<Box<dyn GroupedAccumulator>> {
    boxed(f, Rule::Greatest(Nulls::Kept))
}

/// `arg_min_nulls_last`.
pub fn arg_min_nulls_last(f: &AggregateFunction, _total: bool) -> Result<Box<dyn GroupedAccumulator>> {
    boxed(f, Rule::Least(Nulls::Last))
}

/// `arg_max_nulls_last`.
pub fn arg_max_nulls_last(f: &AggregateFunction, _total: bool) -> Result<Box<dyn GroupedAccumulator>> {
    boxed(f, Rule::Greatest(Nulls::Last))
}

impl Rule {
    /// Whether a key in this order to the one kept is better.
    fn prefers(self, order: Ordering) -> bool {
        match self {
            Self::Least(_) => order.is_lt(),
            Self::Greatest(_) => order.is_gt(),
            Self::First | Self::Last | Self::AnyValue => false,
        }
    }
}

impl Pick {
    fn compact(&mut self) {
        let keys = |pick: &Self| pick.keys.as_ref().map_or(0, |(keys, _)| keys.heap_size());
        if self.values.heap_size() + keys(self) > self.compact_at {
            self.values.compact();
            if let Some((keys, _)) = &mut self.keys {
                keys.compact();
            }
            self.compact_at = COMPACT_MIN.max(2 * (self.values.heap_size() + keys(self)));
        }
    }

    /// Takes each row, one after the other, but where a group has one of a later morsel.
    fn take_last(&mut self, values: &Vector, groups: &[u32]) {
        let (taken, morsels, morsel) = (&mut self.taken, &mut self.morsels, self.morsel);
        let mut is_wanted = |group: &u32| {
            let group = *group as usize;
            let wanted = !taken[group] || morsel >= morsels[group];
            if wanted {
                (taken[group], morsels[group]) = (true, morsel);
            }
            wanted
        };
        let rows: Vec<u32> =
            (0..).zip(groups).filter(|(_, group)| is_wanted(group)).map(|(row, _)| row).collect();
        self.values.set_rows(groups, values, &rows);
        self.compact();
    }

    /// The order of a row's key to that of a group; NULL is the worst. `None` without keys.
    fn order(&self, group: usize, key: Item<'_>, key_is_null: bool) -> Option<Ordering> {
        let (keys, comparator) = self.keys.as_ref()?;
        let worst = if self.rule.prefers(Ordering::Greater) { Ordering::Less } else { Ordering::Greater };
        Some(match (key_is_null, keys.is_null(group)) {
            (true, true) => Ordering::Equal,
            (true, false) => worst,
            (false, true) => worst.reverse(),
            (false, false) => comparator.compare(key, Item::of_column(keys, group)),
        })
    }

    fn wants(&self, group: usize, args: &[std::borrow::Cow<'_, Vector>], row: usize) -> bool {
        let taken = self.taken[group];
        // Rows of a morsel come in their order, but morsels may not.
        let is_earlier = taken && self.morsel < self.morsels[group];
        match self.rule {
            Rule::First => !taken || is_earlier,
            Rule::Last => !is_earlier,
            Rule::AnyValue => (!taken || is_earlier) && !args[0].is_null(row),
            Rule::Least(nulls) | Rule::Greatest(nulls) => {
                let key_is_null = args[1].is_null(row);
                let is_skipped = match nulls {
                    Nulls::Skipped => key_is_null || args[0].is_null(row),
                    Nulls::Kept => key_is_null,
                    Nulls::Last => false,
                };
                if is_skipped {
                    return false;
                }
                let order = || self.order(group, Item::of_vector(&args[1], row), key_is_null);
                let is_better = |order: Ordering| self.rule.prefers(order) || (is_earlier && order.is_eq());
                !taken || order().is_some_and(is_better)
            }
        }
    }
}

impl GroupedAccumulator for Pick {
    fn resize(&mut self, groups: usize) {
        self.values.resize_nulls(groups);
        if let Some((keys, _)) = &mut self.keys {
            keys.resize_nulls(groups);
        }
        if let Some(words) = &mut self.words {
            words.resize(groups, 0);
        }
        self.taken.resize(groups, false);
        self.morsels.resize(groups, 0);
    }

    fn start_morsel(&mut self, number: u32) {
        self.morsel = number;
    }

    fn update(&mut self, args: &[&Vector], groups: GroupIds<'_>) -> Result<()> {
        let args: Vec<_> = args.iter().map(|arg| flat(arg)).collect();
        if let Some(words) = &mut self.words {
            let own = order_words(&args[1], matches!(self.rule, Rule::Greatest(_)));
            let own = own.ok_or_else(|| Error::internal("keys lost their order"))?;
            let may_be_null = args.iter().any(|arg| arg.validity().is_some());
            for (row, (&group, &word)) in groups.ids().iter().zip(&own).enumerate() {
                let group = group as usize;
                let is_worse = self.taken[group]
                    && (word > words[group] || word == words[group] && self.morsel >= self.morsels[group]);
                if is_worse || may_be_null && args.iter().any(|arg| arg.is_null(row)) {
                    continue;
                }
                self.values.set(group, &args[0], row);
                words[group] = word;
                self.taken[group] = true;
                self.morsels[group] = self.morsel;
            }
            self.compact();
            return Ok(());
        }
        if self.rule == Rule::Last {
            self.take_last(&args[0], groups.ids());
            return Ok(());
        }
        for (row, &group) in groups.ids().iter().enumerate() {
            let group = group as usize;
            if self.wants(group, &args, row) {
                self.values.set(group, &args[0], row);
                if let Some((keys, _)) = &mut self.keys {
                    keys.set(group, &args[1], row);
                }
                self.taken[group] = true;
                self.morsels[group] = self.morsel;
            }
        }
        self.compact();
        Ok(())
    }

    fn update_one(&mut self, args: &[&Vector], len: usize, group: u32) -> Result<()> {
        // Of all rows only one can be the last, or the first.
        let index = group as usize;
        let is_earlier = self.taken[index] && self.morsel < self.morsels[index];
        let is_first = !self.taken[index] || is_earlier;
        let row = match self.rule {
            Rule::First if !is_first || len == 0 => return Ok(()),
            Rule::First => 0,
            Rule::Last if is_earlier || len == 0 => return Ok(()),
            Rule::Last => len - 1,
            Rule::AnyValue if !is_first => return Ok(()),
            _ => {
                let ids = vec![group; len];
                return self.update(args, GroupIds::new(&ids, index + 1));
            }
        };
        self.values.set(index, args[0], row);
        self.taken[index] = true;
        self.morsels[index] = self.morsel;
        self.compact();
        Ok(())
    }

    fn merge(&mut self, other: &dyn GroupedAccumulator, source: &[u32], target: &[u32]) -> Result<()> {
        let other = same_kind::<Self>(other)?;
        for (&from, &to) in source.iter().zip(target) {
            let (from, to) = (from as usize, to as usize);
            if !other.taken[from] {
                continue;
            }
            let earlier = other.morsels[from] < self.morsels[to];
            if let (Some(ours), Some(theirs)) = (&mut self.words, &other.words) {
                let order = theirs[from].cmp(&ours[to]);
                if !self.taken[to] || order.is_lt() || earlier && order.is_eq() {
                    self.values.set_from(to, &other.values, from);
                    ours[to] = theirs[from];
                    self.taken[to] = true;
                    self.morsels[to] = other.morsels[from];
                }
                continue;
            }
            let order =
                other.keys.as_ref().filter(|_| self.taken[to]).and_then(|(theirs, _)| {
                    self.order(to, Item::of_column(theirs, from), theirs.is_null(from))
                });
            let wanted = !self.taken[to]
                || match order {
                    Some(Ordering::Equal) => earlier,
                    Some(order) => self.rule.prefers(order),
                    None if self.rule == Rule::Last => !earlier,
                    None => earlier,
                };
            if wanted {
                self.values.set_from(to, &other.values, from);
                if let (Some((ours, _)), Some((theirs, _))) = (&mut self.keys, &other.keys) {
                    ours.set_from(to, theirs, from);
                }
                self.taken[to] = true;
                self.morsels[to] = other.morsels[from];
            }
        }
        Ok(())
    }

    fn finish(&self, from: usize, len: usize) -> Result<Vector> {
        Ok(self.values.to_vector(from, len))
    }

    fn memory_size(&self) -> usize {
        self.values.memory_size()
            + self.keys.as_ref().map_or(0, |(keys, _)| keys.memory_size())
            + self.words.as_ref().map_or(0, Vec::capacity) * size_of::<u64>()
            + self.taken.capacity()
            + self.morsels.capacity() * 4
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
