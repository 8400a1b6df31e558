//! `count(*)`, `count(x)`, and the number of NULLs.

use super::groups::{LANE_GROUPS, for_null, in_lanes, scatter};
use super::{GroupIds, GroupedAccumulator, same_kind};
use crate::function::{AggregateFunction, AggregateKind};
use inlay_types::multiversion;
use inlay_types::{LogicalType, Result, Vector};
use std::any::Any;

/// Counts rows, or those whose first argument is not NULL.
struct Count {
    counts: Vec<i64>,
    values_only: bool,
}

pub(super) fn create(function: &AggregateFunction) -> Box<dyn GroupedAccumulator> {
    let values_only = function.kind == AggregateKind::Count && !function.arg_types.is_empty();
    Box::new(Count { counts: Vec::new(), values_only })
}

/// Below this many groups rows are counted per group, without stores that wait for each other.
const FEW_GROUPS: usize = 6;

pub(super) fn count_rows(counts: &mut [i64], groups: GroupIds<'_>) {
    if groups.count() <= FEW_GROUPS {
        for (group, count) in counts[..groups.count()].iter_mut().enumerate() {
            *count += i64::from(count_equal(groups.ids(), group as u32));
        }
    } else if groups.count() <= LANE_GROUPS {
        let lanes = in_lanes(groups, groups.ids(), |count: &mut u32, _| *count += 1);
        for (group, count) in counts[..groups.count()].iter_mut().enumerate() {
            *count += lanes.iter().map(|lane| i64::from(lane[group])).sum::<i64>();
        }
    } else {
        scatter(counts, groups, groups.ids(), |count, _| *count += 1);
    }
}

multiversion! {
    fn count_equal[](ids: &[u32], group: u32) -> u32 {
        ids.iter().map(|&id| u32::from(id == group)).sum()
    }
}

impl GroupedAccumulator for Count {
    fn resize(&mut self, groups: usize) {
        self.counts.resize(groups, 0);
    }

    fn update(&mut self, args: &[&Vector], groups: GroupIds<'_>) -> Result<()> {
        match args.first().filter(|arg| self.values_only && arg.validity().is_some()) {
            None => count_rows(&mut self.counts, groups),
            Some(arg) => {
                for (row, &group) in groups.ids().iter().enumerate() {
                    self.counts[group as usize] += i64::from(!arg.is_null(row));
                }
            }
        }
        Ok(())
    }

    fn update_one(&mut self, args: &[&Vector], len: usize, group: u32) -> Result<()> {
        let nulls = args.first().filter(|_| self.values_only).map_or(0, |arg| nulls_below(arg, len));
        self.counts[group as usize] += (len - nulls) as i64;
        Ok(())
    }

    fn merge(&mut self, other: &dyn GroupedAccumulator, source: &[u32], target: &[u32]) -> Result<()> {
        let other = same_kind::<Self>(other)?;
        for (&from, &to) in source.iter().zip(target) {
            self.counts[to as usize] += other.counts[from as usize];
        }
        Ok(())
    }

    fn finish(&self, from: usize, len: usize) -> Result<Vector> {
        Ok(Vector::from_values(LogicalType::BigInt, &self.counts[from..from + len]))
    }

    fn memory_size(&self) -> usize {
        self.counts.capacity() * 8
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// Number of NULLs in the first `len` rows.
fn nulls_below(arg: &Vector, len: usize) -> usize {
    if arg.validity().is_none() {
        return 0;
    }
    if arg.len() == len { arg.null_count() } else { arg.slice(0, len).null_count() }
}

/// Counts NULLs: `count(x)` is the number of rows less that of NULLs. Batches without NULLs cost nothing, and no
/// memory is held until the first NULL.
#[derive(Debug, Default)]
pub struct NullCount {
    nulls: Vec<i64>,
    groups: usize,
}

impl NullCount {
    /// No groups.
    pub fn boxed() -> Box<dyn GroupedAccumulator> {
        Box::new(Self::default())
    }

    fn counts(&mut self) -> &mut [i64] {
        self.nulls.resize(self.groups, 0);
        &mut self.nulls
    }
}

impl GroupedAccumulator for NullCount {
    fn resize(&mut self, groups: usize) {
        self.groups = groups;
    }

    fn update(&mut self, args: &[&Vector], groups: GroupIds<'_>) -> Result<()> {
        if args[0].validity().is_some() {
            let counts = self.counts();
            match args[0].validity().filter(|_| !args[0].is_constant()) {
                Some(validity) => {
                    for_null(validity, groups.len(), |row| counts[groups.ids()[row] as usize] += 1)
                }
                None if args[0].is_constant_null() => count_rows(counts, groups),
                None => {}
            }
        }
        Ok(())
    }

    fn update_one(&mut self, args: &[&Vector], len: usize, group: u32) -> Result<()> {
        let nulls = nulls_below(args[0], len);
        if nulls > 0 {
            self.counts()[group as usize] += nulls as i64;
        }
        Ok(())
    }

    fn merge(&mut self, other: &dyn GroupedAccumulator, source: &[u32], target: &[u32]) -> Result<()> {
        let other = same_kind::<Self>(other)?;
        if other.nulls.is_empty() {
            return Ok(());
        }
        let counts = self.counts();
        for (&from, &to) in source.iter().zip(target) {
            counts[to as usize] += other.nulls.get(from as usize).copied().unwrap_or(0);
        }
        Ok(())
    }

    fn finish(&self, from: usize, len: usize) -> Result<Vector> {
        let counts: Vec<i64> = (from..from + len).map(|g| self.nulls.get(g).copied().unwrap_or(0)).collect();
        Ok(Vector::from_values(LogicalType::BigInt, &counts))
    }

    fn memory_size(&self) -> usize {
        self.nulls.capacity() * 8
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
