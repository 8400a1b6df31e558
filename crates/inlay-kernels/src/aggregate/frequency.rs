//! `mode`, `entropy`, `histogram` and `approx_top_k`: how often each distinct value of a group occurs.
//!
//! All groups share one hash table of pairs of group and value, so memory follows the number of distinct pairs and not that
//! of rows.

use super::bins::{self, Bins};
use super::collect::{GroupRows, KeptRows};
use super::column::Column;
use super::fractions::Parameter;
use super::order::{Comparator, Item};
use super::packing::{Results, offsets};
use super::{GroupIds, GroupedAccumulator, flat, same_kind};
use crate::function::AggregateFunction;
use crate::hash;
use inlay_types::nested::pack_maps;
use inlay_types::{Bitmap, LogicalType, PhysicalType, Result, Value, Vector, VectorBuilder};
use std::any::Any;
use std::cmp::Reverse;

/// Pairs of group and value, and how often each occurs.
pub(super) struct Counts {
    values: Column,
    groups: GroupRows,
    pair_groups: Vec<u32>,
    counts: Vec<u64>,
    /// When each was seen first: morsel, then row.
    firsts: Vec<u64>,
    hashes: Vec<u64>,
    /// Numbers of pairs plus 1, by hash; a power of two of them, at least twice as many as pairs.
    slots: Vec<u32>,
    comparator: Comparator,
    morsel: u32,
    rows: u32,
    scratch: Vec<u64>,
}

impl Counts {
    pub(super) fn new(function: &AggregateFunction) -> Self {
        let ty = &function.arg_types[0];
        Self {
            values: Column::new(ty.clone()),
            groups: GroupRows::default(),
            pair_groups: Vec::new(),
            counts: Vec::new(),
            firsts: Vec::new(),
            hashes: Vec::new(),
            slots: Vec::new(),
            comparator: Comparator::new(ty),
            morsel: 0,
            rows: 0,
            scratch: Vec::new(),
        }
    }

    fn add(&mut self, vector: &Vector, groups: GroupIds<'_>) {
        let vector = flat(vector);
        let mut hashes = std::mem::take(&mut self.scratch);
        hashes.resize(groups.len(), 0);
        hash::hash(&vector, groups.len(), &mut hashes);
        for (row, &group) in groups.ids().iter().enumerate() {
            self.rows = self.rows.saturating_add(1);
            if !vector.is_null(row) {
                let first = u64::from(self.morsel) << 32 | u64::from(self.rows);
                self.count(&vector, row, group, hash::combine(hashes[row], u64::from(group)), 1, first);
            }
        }
        self.scratch = hashes;
    }

    fn count(&mut self, vector: &Vector, row: usize, group: u32, hash: u64, count: u64, first: u64) {
        if self.slots.len() < 2 * (self.counts.len() + 1) {
            self.grow();
        }
        let mask = self.slots.len() - 1;
        let mut slot = hash as usize & mask;
        while let Some(pair) = (self.slots[slot] as usize).checked_sub(1) {
            let equal = || {
                let (value, own) = (Item::of_vector(vector, row), Item::of_column(&self.values, pair));
                self.comparator.equal(value, own)
            };
            if self.hashes[pair] == hash && self.pair_groups[pair] == group && equal() {
                self.counts[pair] += count;
                self.firsts[pair] = self.firsts[pair].min(first);
                return;
            }
            slot = (slot + 1) & mask;
        }
        self.slots[slot] = self.counts.len() as u32 + 1;
        self.values.append(vector, &[row as u32]);
        self.groups.push([group]);
        self.pair_groups.push(group);
        self.counts.push(count);
        self.firsts.push(first);
        self.hashes.push(hash);
    }

    fn grow(&mut self) {
        let size = (self.slots.len() * 2).max(64);
        self.slots.clear();
        self.slots.resize(size, 0);
        for (pair, &hash) in self.hashes.iter().enumerate() {
            let mut slot = hash as usize & (size - 1);
            while self.slots[slot] != 0 {
                slot = (slot + 1) & (size - 1);
            }
            self.slots[slot] = pair as u32 + 1;
        }
    }

    fn merge(&mut self, other: &Self, source: &[u32], target: &[u32]) {
        for (&from, &to) in source.iter().zip(target) {
            let pairs = other.groups.rows(from);
            for part in pairs.chunks(inlay_types::VECTOR_SIZE) {
                let values = other.values.gather(part);
                let mut hashes = std::mem::take(&mut self.scratch);
                hashes.resize(part.len(), 0);
                hash::hash(&values, part.len(), &mut hashes);
                for (row, &pair) in part.iter().enumerate() {
                    let hash = hash::combine(hashes[row], u64::from(to));
                    let pair = pair as usize;
                    let first = later(other.firsts[pair], self.rows);
                    self.count(&values, row, to, hash, other.counts[pair], first);
                }
                self.scratch = hashes;
            }
        }
        self.rows = self.rows.saturating_add(other.rows);
    }

    /// Adds pairs that have their counts, and when they were seen first.
    fn restore(&mut self, columns: &[&Vector], groups: GroupIds<'_>) {
        let [values, counts, firsts] = columns else { return };
        let [values, counts, firsts] = [values, counts, firsts].map(|column| flat(column));
        let (counts, firsts) = (counts.values::<u64>(), firsts.values::<u64>());
        let mut hashes = std::mem::take(&mut self.scratch);
        hashes.resize(groups.len(), 0);
        hash::hash(&values, groups.len(), &mut hashes);
        for (row, &group) in groups.ids().iter().enumerate() {
            let hash = hash::combine(hashes[row], u64::from(group));
            self.count(&values, row, group, hash, counts[row], firsts[row]);
        }
        self.scratch = hashes;
    }

    fn forget(&mut self) {
        self.values = Column::new(self.values.logical_type());
        self.groups.clear();
        (self.pair_groups, self.counts, self.firsts) = Default::default();
        (self.hashes, self.slots) = Default::default();
    }

    fn memory_size(&self) -> usize {
        let per_pair = self.counts.capacity() * 8 + self.firsts.capacity() * 8 + self.hashes.capacity() * 8;
        self.values.memory_size()
            + self.groups.memory_size()
            + per_pair
            + self.pair_groups.capacity() * 4
            + self.slots.capacity() * 4
    }
}

/// When a row was first seen that came `rows` rows later within its morsel: where morsels are not told apart, what is
/// merged comes later.
fn later(first: u64, rows: u32) -> u64 {
    let row = (first as u32).saturating_add(rows);
    first >> 32 << 32 | u64::from(row)
}

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

pub(crate) fn entropy(f: &AggregateFunction, _total: bool) -> Result<Box<dyn GroupedAccumulator>> {
    Ok(boxed(f, Question::Entropy))
}

pub(crate) fn histogram(f: &AggregateFunction, _total: bool) -> Result<Box<dyn GroupedAccumulator>> {
    Ok(boxed(f, Question::Histogram))
}

pub(crate) fn bins(f: &AggregateFunction, _total: bool) -> Result<Box<dyn GroupedAccumulator>> {
    Ok(boxed(f, Question::Bins { exact: false }))
}

pub(crate) fn exact_bins(f: &AggregateFunction, _total: bool) -> Result<Box<dyn GroupedAccumulator>> {
    Ok(boxed(f, Question::Bins { exact: true }))
}

pub(crate) fn bitstring(f: &AggregateFunction, _total: bool) -> Result<Box<dyn GroupedAccumulator>> {
    Ok(boxed(f, Question::Bits))
}

pub(crate) fn top(f: &AggregateFunction, _total: bool) -> Result<Box<dyn GroupedAccumulator>> {
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
    fn entropies(&self, from: usize, len: usize) -> Vector {
        let entropy = |group: usize| {
            let counts: Vec<f64> =
                self.pairs(group).iter().map(|&pair| self.counts.counts[pair as usize] as f64).collect();
            let total: f64 = counts.iter().sum();
            counts.iter().map(|&count| count / total * (total / count).log2()).sum::<f64>()
        };
        let values: Vec<f64> = (from..from + len).map(|group| entropy(group).max(0.0) + 0.0).collect();
        Vector::from_values(LogicalType::Double, &values)
    }

    fn pairs(&self, group: usize) -> &[u32] {
        self.counts.groups.rows(group as u32)
    }

    /// Most frequent first; of equally frequent ones the one that came first.
    fn rank(&self, pair: u32) -> (Reverse<u64>, u64) {
        (Reverse(self.counts.counts[pair as usize]), self.counts.firsts[pair as usize])
    }

    fn push(&self, builder: &mut VectorBuilder, pair: u32) {
        if self.function.arg_types[0].physical() == PhysicalType::View {
            builder.push_bytes(self.counts.values.bytes(pair as usize));
        } else {
            builder.append(&self.counts.values.gather(&[pair]));
        }
    }

    fn modes(&self, from: usize, len: usize) -> Vector {
        let mut builder = VectorBuilder::new(self.function.return_type.clone(), len);
        for group in from..from + len {
            match self.pairs(group).iter().min_by_key(|&&pair| self.rank(pair)) {
                Some(&pair) => self.push(&mut builder, pair),
                None => builder.push_null(),
            }
        }
        builder.finish()
    }

    fn histograms(&self, from: usize, len: usize) -> Result<Vector> {
        let counts = &self.counts;
        let (mut all, mut ends) = (Vec::new(), vec![0]);
        for group in from..from + len {
            let mut pairs = self.pairs(group).to_vec();
            let item = |pair: u32| Item::of_column(&counts.values, pair as usize);
            pairs.sort_by(|&a, &b| counts.comparator.compare(item(a), item(b)));
            all.extend(pairs);
            ends.push(all.len());
        }
        let empty = |group: usize| ends[group] == ends[group + 1];
        let validity = (0..len).any(empty).then(|| Bitmap::from_fn(len, |group| !empty(group)));
        let numbers: Vec<u64> = all.iter().map(|&pair| counts.counts[pair as usize]).collect();
        let numbers = Vector::from_values(LogicalType::UBigInt, &numbers);
        let keys = counts.values.gather(&all);
        pack_maps(&self.function.return_type, &keys, &numbers, &offsets(&ends)?, validity.as_ref())
    }

    fn binned(&self, from: usize, len: usize, exact: bool) -> Result<Vector> {
        let counts = &self.counts;
        let bins = Bins::new(&self.function.arg_types[0], self.parameter.value(), exact)?;
        let (mut keys, mut numbers, mut ends) = (Vec::new(), Vec::new(), vec![0]);
        for group in from..from + len {
            let mut filled = vec![0u64; bins.len()];
            for &pair in self.pairs(group) {
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
        for group in from..from + len {
            let pairs = self.pairs(group);
            let values = self.counts.values.gather(pairs);
            let present: Vec<i128> = (0..pairs.len()).filter_map(|row| values.get(row).as_i128()).collect();
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
        for group in from..from + len {
            let mut pairs = self.pairs(group).to_vec();
            if pairs.is_empty() {
                results.push_null();
                continue;
            }
            pairs.sort_by_cached_key(|&pair| self.rank(pair));
            pairs.iter().take(k).for_each(|&pair| self.push(results.child(), pair));
            results.end_row();
        }
        results.finish()
    }
}

impl GroupedAccumulator for Frequency {
    fn resize(&mut self, _groups: usize) {}

    fn start_morsel(&mut self, number: u32) {
        self.counts.morsel = number;
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
        self.counts.merge(&other.counts, source, target);
        Ok(())
    }

    fn kept(&self) -> Option<KeptRows<'_>> {
        let counts = &self.counts;
        let kept = KeptRows::new(&counts.groups, [&counts.values]);
        Some(kept.with_words([&counts.counts[..], &counts.firsts[..]]))
    }

    fn restore(&mut self, columns: &[&Vector], groups: GroupIds<'_>) -> Result<()> {
        self.counts.restore(columns, groups);
        Ok(())
    }

    fn forget_kept(&mut self) {
        self.counts.forget();
    }

    fn finish(&self, from: usize, len: usize) -> Result<Vector> {
        match self.question {
            Question::Mode => Ok(self.modes(from, len)),
            Question::Entropy => Ok(self.entropies(from, len)),
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
