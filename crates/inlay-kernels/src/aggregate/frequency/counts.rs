//! Pairs of group and value, and how often each occurs.
//!
//! Rows are counted batch by batch: first the pair of each is found, then the new pairs are added at once, then all are
//! counted. A pair keeps the value that was seen first, also where equal values are written differently.

use super::slots::{Found, Slots};
use crate::aggregate::collect::{GroupRows, KeptRows};
use crate::aggregate::column::Column;
use crate::aggregate::order::{Comparator, Item};
use crate::aggregate::{GroupIds, flat};
use crate::function::AggregateFunction;
use inlay_types::hash;
use inlay_types::limits;
use inlay_types::view::prefetch;
use inlay_types::{Error, LogicalType, PhysicalType, Result, VECTOR_SIZE, Vector};

/// Rows between two looks at whether the statement was cancelled.
pub(super) const CHECK_ROWS: usize = 1 << 15;

/// Asks every [`CHECK_ROWS`] rows whether the statement goes on.
#[derive(Default)]
pub(super) struct Pace {
    rows: usize,
}

impl Pace {
    pub(super) fn add(&mut self, rows: usize) -> Result<()> {
        self.rows += rows;
        if self.rows < CHECK_ROWS {
            return Ok(());
        }
        self.rows = 0;
        limits::check()
    }
}

/// Pairs of group and value, and how often each occurs.
pub(super) struct Counts {
    pub(super) values: Column,
    groups: GroupRows,
    /// All groups are below.
    group_bound: u32,
    pub(super) counts: Vec<u64>,
    /// When each was seen first: morsel, then row.
    pub(super) firsts: Vec<u64>,
    /// The largest of these.
    latest: u64,
    slots: Slots,
    /// Values have at most 8 bytes.
    are_words: bool,
    pub(super) comparator: Comparator,
    /// Values are equal only if their bytes are.
    has_exact_bytes: bool,
    morsel: u32,
    rows: u32,
    found: Found,
}

/// How often rows count.
enum Weights<'a> {
    /// Once; they come after so many rows of the morsel.
    One { morsel: u32, rows: u32 },
    /// As said, and when they were seen first.
    Given { counts: &'a [u64], firsts: &'a [u64] },
}

impl Counts {
    pub(super) fn new(function: &AggregateFunction) -> Self {
        let ty = &function.arg_types[0];
        let carrier = ty.physical();
        let is_text = matches!(ty, LogicalType::Varchar | LogicalType::Blob);
        Self {
            values: Column::new(ty.clone()),
            groups: GroupRows::default(),
            group_bound: 0,
            counts: Vec::new(),
            firsts: Vec::new(),
            latest: 0,
            slots: Slots::default(),
            are_words: carrier.size() <= 8,
            comparator: Comparator::new(ty),
            has_exact_bytes: is_text || matches!(carrier, PhysicalType::I128 | PhysicalType::U128),
            morsel: 0,
            rows: 0,
            found: Found::default(),
        }
    }

    pub(super) fn start_morsel(&mut self, number: u32) {
        self.morsel = number;
    }

    /// The pairs of a group, in the order that they were added in.
    pub(super) fn pairs(&self, group: usize) -> &[u32] {
        self.groups.rows(group as u32)
    }

    /// The group of each pair, where so many groups are at least half of all.
    pub(super) fn groups_if_most(&self, from: usize, len: usize) -> Option<&[u32]> {
        let asked = (self.group_bound as usize).saturating_sub(from).min(len);
        (asked >= self.group_bound as usize / 2).then(|| self.groups_of_pairs())
    }

    pub(super) fn prepare_merge(&self) {
        self.groups.prepare();
    }

    pub(super) fn kept(&self) -> KeptRows<'_> {
        KeptRows::new(&self.groups, [&self.values]).with_words([&self.counts[..], &self.firsts[..]])
    }

    /// Counts rows; NULLs do not count.
    pub(super) fn add(&mut self, vector: &Vector, groups: GroupIds<'_>) {
        let vector = flat(vector);
        let weights = Weights::One { morsel: self.morsel, rows: self.rows };
        if vector.validity().is_none() {
            self.count(&vector, None, groups.ids(), &weights);
        } else {
            let rows: Vec<u32> =
                (0..groups.len() as u32).filter(|&row| !vector.is_null(row as usize)).collect();
            let groups: Vec<u32> = rows.iter().map(|&row| groups.ids()[row as usize]).collect();
            self.count(&vector, Some(&rows), &groups, &weights);
        }
        self.rows = self.rows.saturating_add(u32::try_from(groups.len()).unwrap_or(u32::MAX));
    }

    /// Adds pairs that have their counts, and when they were seen first.
    pub(super) fn restore(&mut self, columns: &[&Vector], groups: GroupIds<'_>) -> Result<()> {
        let [values, counts, firsts] = columns else {
            return Err(Error::internal(format!(
                "pairs with counts were restored from {} columns",
                columns.len()
            )));
        };
        let [values, counts, firsts] = [values, counts, firsts].map(|column| flat(column));
        let (counts, firsts) = (counts.values::<u64>(), firsts.values::<u64>());
        self.ask(groups.len())?;
        for from in (0..groups.len()).step_by(CHECK_ROWS) {
            limits::check()?;
            let range = from..groups.len().min(from + CHECK_ROWS);
            let weights = Weights::Given { counts: &counts[range.clone()], firsts: &firsts[range.clone()] };
            let part = values.slice(from, range.len());
            self.count(&part, None, &groups.ids()[range], &weights);
        }
        Ok(())
    }

    /// Adds groups `source` of `other` to groups `target`.
    pub(super) fn merge(&mut self, other: &Self, source: &[u32], target: &[u32]) -> Result<()> {
        if self.counts.is_empty() && other.is_whole(source, target) {
            self.copy(other)?;
        } else if source.len() < other.group_bound as usize / 2 {
            let count = source.iter().map(|&from| other.groups.rows(from).len()).sum();
            let pairs = source.iter().zip(target).flat_map(|(&from, &to)| {
                let pairs = other.groups.rows(from);
                pairs.iter().map(move |&pair| (pair, to))
            });
            self.merge_pairs(other, count, pairs)?;
        } else {
            const NONE: u32 = u32::MAX;
            let mut targets = vec![NONE; other.group_bound as usize];
            for (&from, &to) in source.iter().zip(target) {
                if let Some(place) = targets.get_mut(from as usize) {
                    *place = to;
                }
            }
            let all = other.groups_of_pairs().iter().map(|&group| targets[group as usize]);
            let pairs = (0..).zip(all).filter(|(_, target)| *target != NONE);
            self.merge_pairs(other, other.counts.len(), pairs)?;
        }
        self.rows = self.rows.saturating_add(other.rows);
        Ok(())
    }

    /// Adds at most `count` pairs of `other`, each to a group.
    fn merge_pairs(
        &mut self,
        other: &Self,
        count: usize,
        mut pairs: impl Iterator<Item = (u32, u32)>,
    ) -> Result<()> {
        self.ask(count)?;
        self.slots.reserve(self.counts.len() + count);
        let mut pace = Pace::default();
        let (mut part, mut groups) = (Vec::new(), Vec::new());
        loop {
            part.clear();
            groups.clear();
            pairs.by_ref().take(VECTOR_SIZE).for_each(|(pair, group)| {
                part.push(pair);
                groups.push(group);
            });
            if part.is_empty() {
                return Ok(());
            }
            pace.add(part.len())?;
            let values = other.values.gather(&part);
            let counts: Vec<u64> = part.iter().map(|&pair| other.counts[pair as usize]).collect();
            let first = |&pair: &u32| later(other.firsts[pair as usize], self.rows);
            let firsts: Vec<u64> = part.iter().map(first).collect();
            self.count(&values, None, &groups, &Weights::Given { counts: &counts, firsts: &firsts });
        }
    }

    /// Asks for the places of so many more pairs.
    fn ask(&self, more: usize) -> Result<()> {
        limits::need(self.slots.growth(self.counts.len() + more))
    }

    /// Whether these are all groups, and each goes to one of its own number.
    fn is_whole(&self, source: &[u32], target: &[u32]) -> bool {
        let bound = self.group_bound;
        source.iter().filter(|&&group| group < bound).count() == bound as usize && source == target
    }

    /// Takes all pairs of `other`, where there are none.
    fn copy(&mut self, other: &Self) -> Result<()> {
        let len = other.counts.len();
        for from in (0..len).step_by(CHECK_ROWS) {
            limits::check()?;
            let to = len.min(from + CHECK_ROWS);
            let rows: Vec<u32> = (from as u32..to as u32).collect();
            self.values.append_column(&other.values, &rows);
            self.groups.push(other.groups_of_pairs()[from..to].iter().copied());
            self.counts.extend_from_slice(&other.counts[from..to]);
            self.firsts.extend(other.firsts[from..to].iter().map(|&first| later(first, self.rows)));
        }
        self.slots = other.slots.clone();
        self.group_bound = other.group_bound;
        self.latest = self.firsts.iter().max().map_or(0, |first| *first);
        Ok(())
    }

    fn groups_of_pairs(&self) -> &[u32] {
        KeptRows::new(&self.groups, []).groups()
    }

    /// Counts rows of a flat vector that are not NULL: those of `rows`, or the first ones; as many as groups.
    fn count(&mut self, vector: &Vector, rows: Option<&[u32]>, groups: &[u32], weights: &Weights<'_>) {
        let mut found = std::mem::take(&mut self.found);
        let next = self.counts.len();
        let place = |row: usize| rows.map_or(row, |rows| rows[row] as usize);
        let mut words = if self.are_words { words_of(vector) } else { hashes_of(vector) };
        if let Some(rows) = rows {
            words = rows.iter().map(|&row| words[row as usize]).collect();
        }
        words.truncate(groups.len());
        if self.are_words {
            self.slots.find(&words, groups, next, &mut found, None::<fn(usize)>, |_, _, _| true);
        } else {
            let (values, comparator, is_exact) = (&self.values, &self.comparator, self.has_exact_bytes);
            let approach = |pair: usize| {
                if pair < next {
                    prefetch(values.bytes(pair).as_ptr());
                }
            };
            self.slots.find(&words, groups, next, &mut found, Some(approach), |row, pair, fresh| {
                let value = || Item::of_vector(vector, place(row));
                match pair.checked_sub(next) {
                    Some(new) => {
                        let other = place(fresh[new] as usize);
                        comparator.equal(value(), Item::of_vector(vector, other))
                    }
                    None => {
                        values.equals(pair, vector, place(row))
                            || !is_exact && comparator.equal(value(), Item::of_column(values, pair))
                    }
                }
            });
        }
        if !found.fresh.is_empty() {
            self.add_pairs(vector, rows, groups, &found.fresh, weights);
        }
        self.add_counts(rows, &found.pairs, weights);
        self.found = found;
    }

    /// Adds the pairs of rows, which do not count yet.
    fn add_pairs(
        &mut self,
        vector: &Vector,
        rows: Option<&[u32]>,
        groups: &[u32],
        fresh: &[u32],
        weights: &Weights<'_>,
    ) {
        match rows {
            None => self.values.append(vector, fresh),
            Some(rows) => {
                let fresh: Vec<u32> = fresh.iter().map(|&row| rows[row as usize]).collect();
                self.values.append(vector, &fresh);
            }
        }
        self.groups.push(fresh.iter().map(|&row| groups[row as usize]));
        let bound = fresh.iter().map(|&row| groups[row as usize]).max().map_or(0, |group| group + 1);
        self.group_bound = self.group_bound.max(bound);
        self.counts.resize(self.counts.len() + fresh.len(), 0);
        self.firsts.extend(fresh.iter().map(|&row| weights.first(rows, row as usize)));
    }

    /// Counts rows whose pairs are known.
    fn add_counts(&mut self, rows: Option<&[u32]>, pairs: &[u32], weights: &Weights<'_>) {
        match weights {
            Weights::One { .. } => {
                pairs.iter().for_each(|&pair| self.counts[pair as usize] += 1);
                let Some(last) = pairs.len().checked_sub(1) else { return };
                // Mostly the rows come after all that were seen before.
                if weights.first(rows, 0) < self.latest {
                    for (row, &pair) in pairs.iter().enumerate() {
                        let first = &mut self.firsts[pair as usize];
                        *first = (*first).min(weights.first(rows, row));
                    }
                }
                self.latest = self.latest.max(weights.first(rows, last));
            }
            Weights::Given { counts, firsts } => {
                for ((&pair, &count), &new) in pairs.iter().zip(*counts).zip(*firsts) {
                    self.counts[pair as usize] += count;
                    let first = &mut self.firsts[pair as usize];
                    *first = (*first).min(new);
                    self.latest = self.latest.max(new);
                }
            }
        }
    }

    /// Forgets all pairs.
    pub(super) fn forget(&mut self) {
        self.values = Column::new(self.values.logical_type());
        self.groups.clear();
        (self.counts, self.firsts) = Default::default();
        (self.group_bound, self.latest) = (0, 0);
        self.slots = Slots::default();
    }

    pub(super) fn memory_size(&self) -> usize {
        let words = self.counts.capacity() + self.firsts.capacity();
        self.values.memory_size() + self.groups.memory_size() + words * 8 + self.slots.memory_size()
    }
}

impl Weights<'_> {
    /// When row `row` was seen first, which is number `row` of `rows` if there are some.
    #[inline]
    fn first(&self, rows: Option<&[u32]>, row: usize) -> u64 {
        match self {
            Self::One { morsel, rows: before } => {
                let place = rows.map_or(row as u32, |rows| rows[row]);
                u64::from(*morsel) << 32 | u64::from(before.saturating_add(1).saturating_add(place))
            }
            Self::Given { firsts, .. } => firsts[row],
        }
    }
}

/// When a row was first seen that came `rows` rows later within its morsel: where morsels are not told apart, what is
/// merged comes later.
fn later(first: u64, rows: u32) -> u64 {
    let row = (first as u32).saturating_add(rows);
    first >> 32 << 32 | u64::from(row)
}

fn hashes_of(vector: &Vector) -> Vec<u64> {
    let mut hashes = vec![0; vector.len()];
    hash::hash(vector, vector.len(), &mut hashes);
    hashes
}

/// Values of a flat vector that have at most 8 bytes, as words that are equal where the values are.
fn words_of(vector: &Vector) -> Vec<u64> {
    fn floats(values: impl Iterator<Item = f64>) -> Vec<u64> {
        let word = |value: f64| if value.is_nan() { f64::NAN.to_bits() } else { (value + 0.0).to_bits() };
        values.map(word).collect()
    }
    match vector.physical_type() {
        PhysicalType::F32 => floats(vector.values::<f32>().iter().map(|&value| f64::from(value))),
        PhysicalType::F64 => floats(vector.values::<f64>().iter().copied()),
        other => match other.size() {
            1 => vector.values::<u8>().iter().map(|&value| u64::from(value)).collect(),
            2 => vector.values::<u16>().iter().map(|&value| u64::from(value)).collect(),
            4 => vector.values::<u32>().iter().map(|&value| u64::from(value)).collect(),
            _ => vector.values::<u64>().to_vec(),
        },
    }
}
