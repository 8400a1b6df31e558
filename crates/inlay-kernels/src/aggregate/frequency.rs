//! `mode`, `entropy`, `histogram` and `approx_top_k`: how often each distinct value of a group occurs.
//!
//! All groups share one hash table of pairs of group and value, so memory follows the number of distinct pairs and not that
//! of rows: [`counts`]. Here are the results that are made of them.

mod counts;
mod slots;
mod sorted;
#[cfg(test)]
mod tests;

use super::bins::{self, Bins};
use super::collect::KeptRows;
use super::fractions::Parameter;
use super::order::Item;
use super::packing::{Results, offsets};
use super::{GroupIds, GroupedAccumulator, same_kind};
use crate::function::AggregateFunction;
use counts::{CHECK_ROWS, Counts, Pace};
use inlay_types::limits;
use inlay_types::nested::{Parts, pack_maps, write};
use inlay_types::{
    Bitmap, Error, LogicalType, PhysicalType, Result, VECTOR_SIZE, Value, Vector, VectorBuilder,
};
use std::any::Any;
use std::cmp::Reverse;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Question {
    Mode,
    Entropy,
    Top,
    Histogram,
    /// Of bins; whether they are single values.
    Bins {
        exact: bool,
    },
    Bits,
}

struct Frequency {
    counts: Counts,
    question: Question,
    parameter: Parameter,
    second: Parameter,
    function: AggregateFunction,
}

pub(super) fn mode(function: &AggregateFunction) -> Box<dyn GroupedAccumulator> {
    boxed(function, Question::Mode)
}

/// `entropy`.
pub fn entropy(f: &AggregateFunction, _total: bool) -> Result<Box<dyn GroupedAccumulator>> {
    Ok(boxed(f, Question::Entropy))
}

/// `histogram` of all values.
pub fn histogram(f: &AggregateFunction, _total: bool) -> Result<Box<dyn GroupedAccumulator>> {
    Ok(boxed(f, Question::Histogram))
}

/// `histogram` of bins.
pub fn bins(f: &AggregateFunction, _total: bool) -> Result<Box<dyn GroupedAccumulator>> {
    Ok(boxed(f, Question::Bins { exact: false }))
}

/// `histogram_exact`.
pub fn exact_bins(f: &AggregateFunction, _total: bool) -> Result<Box<dyn GroupedAccumulator>> {
    Ok(boxed(f, Question::Bins { exact: true }))
}

/// `bitstring_agg`.
pub fn bitstring(f: &AggregateFunction, _total: bool) -> Result<Box<dyn GroupedAccumulator>> {
    Ok(boxed(f, Question::Bits))
}

/// `approx_top_k`.
pub fn top(f: &AggregateFunction, _total: bool) -> Result<Box<dyn GroupedAccumulator>> {
    Ok(boxed(f, Question::Top))
}

fn boxed(function: &AggregateFunction, question: Question) -> Box<dyn GroupedAccumulator> {
    let (counts, parameter) = (Counts::new(function), Parameter::default());
    let second = Parameter::default();
    Box::new(Frequency { counts, question, parameter, second, function: function.clone() })
}

/// Most values that `approx_top_k` gives.
const TOP_MAX: usize = 1_000_000;

impl Frequency {
    fn entropies(&self, from: usize, len: usize) -> Result<Vector> {
        let mut pace = Pace::default();
        let values: Result<Vec<f64>> =
            (from..from + len).map(|group| Ok(self.entropy(group, &mut pace)?.max(0.0) + 0.0)).collect();
        Ok(Vector::from_values(LogicalType::Double, &values?))
    }

    fn entropy(&self, group: usize, pace: &mut Pace) -> Result<f64> {
        /// Counts below this are mostly many, and a logarithm is slow.
        const SMALL: u64 = 64;
        let (pairs, counts) = (self.pairs(group), &self.counts.counts);
        let mut total = 0.0;
        for part in pairs.chunks(CHECK_ROWS) {
            pace.add(part.len())?;
            total = part.iter().fold(total, |total, &pair| total + counts[pair as usize] as f64);
        }
        let term = |count: u64| count as f64 / total * (total / count as f64).log2();
        let known = if pairs.len() < 1024 { 0 } else { SMALL };
        let terms: Vec<f64> = (0..known).map(term).collect();
        let mut sum = 0.0;
        for part in pairs.chunks(CHECK_ROWS) {
            pace.add(part.len())?;
            for &pair in part {
                let count = counts[pair as usize];
                sum += if count < known { terms[count as usize] } else { term(count) };
            }
        }
        Ok(sum)
    }

    fn pairs(&self, group: usize) -> &[u32] {
        self.counts.pairs(group)
    }

    /// Most frequent first; of equally frequent ones the one that came first.
    fn rank(&self, pair: u32) -> (Reverse<u64>, u64) {
        (Reverse(self.counts.counts[pair as usize]), self.counts.firsts[pair as usize])
    }

    /// The most frequent pair of each of some groups.
    fn winners(&self, from: usize, len: usize) -> Result<Vec<Option<u32>>> {
        let (mut pace, mut winners): (Pace, Vec<Option<u32>>) = (Pace::default(), vec![None; len]);
        let Some(groups) = self.counts.groups_if_most(from, len) else {
            for (group, winner) in (from..).zip(&mut winners) {
                for part in self.pairs(group).chunks(CHECK_ROWS) {
                    pace.add(part.len())?;
                    let all = winner.iter().chain(part).copied();
                    *winner = all.min_by_key(|&pair| self.rank(pair));
                }
            }
            return Ok(winners);
        };
        // Pairs lie in a row, and groups apart: one look at each pair is cheaper than the way from group to group.
        let mut best = vec![(Reverse(0), 0); len];
        for (part, groups) in (0..).step_by(CHECK_ROWS).zip(groups.chunks(CHECK_ROWS)) {
            pace.add(groups.len())?;
            for (pair, &group) in (part..).zip(groups) {
                let Some(place) = (group as usize).checked_sub(from).filter(|place| *place < len) else {
                    continue;
                };
                let rank = self.rank(pair);
                if winners[place].is_none() || rank < best[place] {
                    (best[place], winners[place]) = (rank, Some(pair));
                }
            }
        }
        Ok(winners)
    }

    fn modes(&self, from: usize, len: usize) -> Result<Vector> {
        let winners = self.winners(from, len)?;
        let ty = &self.function.return_type;
        let (values, is_null) = (&self.counts.values, |winner: &Option<u32>| winner.is_none());
        if ty.physical() == PhysicalType::View || winners.iter().all(is_null) {
            // Only the bytes of the winners are kept.
            let mut builder = VectorBuilder::new(ty.clone(), len);
            winners.iter().for_each(|winner| match winner {
                Some(pair) => builder.push_bytes(values.bytes(*pair as usize)),
                None => builder.push_null(),
            });
            return Ok(builder.finish());
        }
        let rows: Vec<u32> = winners.iter().map(|winner| winner.unwrap_or(0)).collect();
        let mut modes = values.gather(&rows);
        if winners.iter().any(is_null) {
            modes.set_validity(Some(Bitmap::from_fn(len, |row| winners[row].is_some())));
            modes.normalize_nulls();
        }
        Ok(modes.reinterpret(ty.clone()))
    }

    fn histograms(&self, from: usize, len: usize) -> Result<Vector> {
        /// Bytes that a pair takes in order, with its value and count, and both as parts.
        const PAIR: usize = 64;
        let counts = &self.counts;
        let ty = &self.function.return_type;
        let LogicalType::Map(types) = ty else {
            return Err(Error::internal(format!("histograms packed as {ty}")));
        };
        let mut builder = VectorBuilder::new(ty.clone(), len);
        let (mut pace, mut bytes) = (Pace::default(), Vec::new());
        for group in from..from + len {
            let pairs = self.pairs(group);
            if pairs.is_empty() {
                builder.push_null();
                continue;
            }
            pace.add(pairs.len())?;
            limits::need(pairs.len().saturating_mul(PAIR))?;
            let sorted = sorted::by_value(counts, pairs)?;
            let keys = Parts::new(&counts.values.gather(&sorted));
            let numbers: Vec<u64> = sorted.iter().map(|&pair| counts.counts[pair as usize]).collect();
            let numbers = Parts::new(&Vector::from_values(LogicalType::UBigInt, &numbers));
            bytes.clear();
            // Packing maps of any origin looks for equal keys, but those of a group are all different.
            let (key, number) = (|row| keys.get(row), |row| numbers.get(row));
            write::push_map(types, sorted.len(), key, number, &mut bytes)?;
            builder.push_bytes(&bytes);
        }
        Ok(builder.finish())
    }

    fn binned(&self, from: usize, len: usize, exact: bool) -> Result<Vector> {
        let counts = &self.counts;
        let bins = Bins::new(&self.function.arg_types[0], self.parameter.value(), exact)?;
        let (mut keys, mut numbers, mut ends) = (Vec::new(), Vec::new(), vec![0]);
        let mut pace = Pace::default();
        for group in from..from + len {
            let mut filled = vec![0u64; bins.len()];
            for &pair in self.pairs(group) {
                pace.add(1)?;
                filled[bins.of(Item::of_column(&counts.values, pair as usize))] +=
                    counts.counts[pair as usize];
            }
            if !self.pairs(group).is_empty() {
                // The bin for everything else is there only if something is in it.
                let shown = bins.len() - usize::from(filled.last() == Some(&0));
                keys.extend(0..shown as u32);
                numbers.extend_from_slice(&filled[..shown]);
            }
            ends.push(keys.len());
        }
        let empty = |group: usize| self.pairs(from + group).is_empty();
        let validity = (0..len).any(empty).then(|| Bitmap::from_fn(len, |group| !empty(group)));
        let numbers = Vector::from_values(LogicalType::UBigInt, &numbers);
        let keys = bins.keys.take(&keys);
        pack_maps(&self.function.return_type, &keys, &numbers, &offsets(&ends)?, validity.as_ref())
    }

    fn bitstrings(&self, from: usize, len: usize) -> Result<Vector> {
        let mut builder = VectorBuilder::new(LogicalType::Bit, len);
        let mut pace = Pace::default();
        for group in from..from + len {
            let mut present: Vec<i128> = Vec::new();
            for part in self.pairs(group).chunks(VECTOR_SIZE) {
                pace.add(part.len())?;
                let values = self.counts.values.gather(part);
                for value in (0..part.len()).map(|row| values.get(row)).filter(|value| !value.is_null()) {
                    let number = value.as_i128().ok_or_else(|| {
                        Error::out_of_range(format!("bitstring_agg: {value} is above the largest HUGEINT"))
                    })?;
                    present.push(number);
                }
            }
            let bounds = if self.function.arg_types.len() == 1 {
                let bound = |bound: Option<&i128>| bound.map(|bound| Value::HugeInt(*bound));
                (bound(present.iter().min()), bound(present.iter().max()))
            } else {
                (self.parameter.value().cloned(), self.second.value().cloned())
            };
            match bounds {
                (Some(low), Some(high)) if !present.is_empty() => {
                    builder.push_bytes(&bins::bits(&low, &high, &present)?);
                }
                _ => builder.push_null(),
            }
        }
        Ok(builder.finish())
    }

    fn tops(&self, from: usize, len: usize) -> Result<Vector> {
        let k = self.parameter.count(&self.function.name, TOP_MAX)?;
        let mut results = Results::new(&self.function.return_type, len);
        let mut pace = Pace::default();
        for group in from..from + len {
            let pairs = self.pairs(group);
            if pairs.is_empty() {
                results.push_null();
                continue;
            }
            let mut best: Vec<((Reverse<u64>, u64), u32)> = Vec::new();
            for part in pairs.chunks(CHECK_ROWS.max(k)) {
                pace.add(part.len())?;
                best.extend(part.iter().map(|&pair| (self.rank(pair), pair)));
                if k < best.len() {
                    best.select_nth_unstable(k);
                    best.truncate(k);
                }
            }
            for part in sorted::sort(best, Ord::cmp)?.chunks(VECTOR_SIZE) {
                pace.add(part.len())?;
                let pairs: Vec<u32> = part.iter().map(|(_, pair)| *pair).collect();
                results.child().append(&self.counts.values.gather(&pairs));
            }
            results.end_row();
        }
        results.finish()
    }
}

impl GroupedAccumulator for Frequency {
    fn resize(&mut self, _groups: usize) {}

    fn start_morsel(&mut self, number: u32) {
        self.counts.start_morsel(number);
    }

    fn update(&mut self, args: &[&Vector], groups: GroupIds<'_>) -> Result<()> {
        self.parameter.learn(args.get(1), groups.len());
        self.second.learn(args.get(2), groups.len());
        self.counts.add(args[0], groups);
        Ok(())
    }

    fn merge(&mut self, other: &dyn GroupedAccumulator, source: &[u32], target: &[u32]) -> Result<()> {
        let other = same_kind::<Self>(other)?;
        self.parameter.merge(&other.parameter);
        self.second.merge(&other.second);
        self.counts.merge(&other.counts, source, target)
    }

    fn prepare_merge(&self) {
        self.counts.prepare_merge();
    }

    fn kept(&self) -> Option<KeptRows<'_>> {
        Some(self.counts.kept())
    }

    fn restore(&mut self, columns: &[&Vector], groups: GroupIds<'_>) -> Result<()> {
        self.counts.restore(columns, groups)
    }

    fn forget_kept(&mut self) {
        self.counts.forget();
    }

    fn finish(&self, from: usize, len: usize) -> Result<Vector> {
        match self.question {
            Question::Mode => self.modes(from, len),
            Question::Entropy => self.entropies(from, len),
            Question::Top => self.tops(from, len),
            Question::Histogram => self.histograms(from, len),
            Question::Bins { exact } => self.binned(from, len, exact),
            Question::Bits => self.bitstrings(from, len),
        }
    }

    fn memory_size(&self) -> usize {
        self.counts.memory_size()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
