//! Values by their rank among rows that are read several times: how quantiles are found where the rows do not fit into
//! memory.
//!
//! Pivots part the order into buckets: values below the first pivot, equal to it, between it and the second one, and so on.
//! A pass counts the values of every bucket, and keeps a random sample of those that may hold a wanted rank. A rank is found
//! when its bucket is that of a pivot, or was kept as a whole. The next pass has pivots around the estimated places of the
//! ranks that are left, taken from the sample of the bucket that holds them.
//!
//! Invariants
//! - Buckets with odd numbers are those of pivots, and pivots ascend.
//! - At least every second pass takes a value away from each bucket that holds a wanted rank: its sample lies strictly
//!   between its pivots, and gives at least one more. Random samples make the buckets smaller by a factor.
//!
//! Called by `passes`. Source: Floyd and Rivest, "Expected time bounds for selection", CACM 18 (1975); they sample too, but
//! move values instead of reading them again.

use super::order::order_bytes;
use inlay_types::hash::hash_u64;
use inlay_types::{Error, LogicalType, Result};
use std::borrow::Borrow;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

/// Keys that are kept at a time.
pub(super) const CAPACITY: usize = 1 << 15;
/// Bytes of a key beyond which fewer are kept.
const KEY_SIZE: usize = 32;
/// Standard deviations of a rank's place in a sample that are looked at on each side.
const DEVIATIONS: f64 = 3.0;
/// A bucket is parted into as many if its sample does not tell the place of a rank any better.
const PARTS: usize = 8;
/// Up to as many pivots are compared one by one.
const FEW: usize = 16;

/// What is selected. No two keys that differ are equal in the order.
pub(super) trait Key: ToOwned {
    fn order(&self, other: &Self, ty: &LogicalType) -> Ordering;
    /// Bytes held by one.
    fn size(&self) -> usize;
    /// The number of the bucket that it belongs to.
    #[inline]
    fn bucket(&self, pivots: &[Self::Owned], ty: &LogicalType) -> usize {
        let below = pivots.partition_point(|pivot| pivot.borrow().order(self, ty).is_lt());
        let is_equal = pivots.get(below).is_some_and(|pivot| pivot.borrow().order(self, ty).is_eq());
        2 * below + usize::from(is_equal)
    }
}

impl Key for i128 {
    #[inline]
    fn order(&self, other: &Self, _ty: &LogicalType) -> Ordering {
        self.cmp(other)
    }

    fn size(&self) -> usize {
        size_of::<Self>()
    }

    #[inline]
    fn bucket(&self, pivots: &[Self], _ty: &LogicalType) -> usize {
        // Without branches: they would be mispredicted every second time.
        if pivots.len() <= FEW {
            return pivots.iter().map(|pivot| usize::from(pivot < self) + usize::from(pivot <= self)).sum();
        }
        let below = pivots.partition_point(|pivot| pivot < self);
        2 * below + usize::from(pivots.get(below) == Some(self))
    }
}

impl Key for [u8] {
    fn order(&self, other: &Self, ty: &LogicalType) -> Ordering {
        order_distinct(ty, self, other)
    }

    fn size(&self) -> usize {
        size_of::<Vec<u8>>() + self.len()
    }
}

/// The order of values that are carried as views, in which only equal bytes are equal: as of lists with 0.0 and -0.0.
pub(super) fn order_distinct(ty: &LogicalType, a: &[u8], b: &[u8]) -> Ordering {
    match ty {
        LogicalType::Varchar | LogicalType::Blob => a.cmp(b),
        nested => order_bytes(nested, a, b).then_with(|| a.cmp(b)),
    }
}

/// Values between two pivots, or equal to one.
struct Bucket<O> {
    count: usize,
    /// A random sample of `limit` values, all values as long as there are no more; sorted at the end of a pass.
    kept: Vec<O>,
    limit: usize,
    /// Bytes of `kept`, and most of them.
    size: usize,
    size_max: usize,
    /// If nothing is kept, what lies here of the sample of an earlier pass.
    earlier: Vec<O>,
}

impl<O> Bucket<O> {
    fn new(limit: usize) -> Self {
        let mut bucket =
            Self { count: 0, kept: Vec::new(), limit: 0, size: 0, size_max: 0, earlier: Vec::new() };
        bucket.set_limit(limit);
        bucket
    }

    fn set_limit(&mut self, limit: usize) {
        (self.limit, self.size_max) = (limit, limit * KEY_SIZE);
    }

    fn is_complete(&self) -> bool {
        self.kept.len() == self.count
    }

    fn keep<K: Key<Owned = O> + ?Sized>(&mut self, key: &K, random: &mut Random)
    where
        O: Borrow<K>,
    {
        if self.kept.len() < self.limit {
            self.kept.push(key.to_owned());
        } else {
            let place = random.below(self.count);
            let Some(kept) = self.kept.get_mut(place) else { return };
            self.size -= (*kept).borrow().size();
            *kept = key.to_owned();
        }
        self.size += key.size();
        while self.size > self.size_max && self.kept.len() > 1 {
            // Half of them, whichever they are: to drop just enough would spare small values.
            self.limit = self.kept.len() / 2;
            while self.kept.len() > self.limit {
                let dropped = self.kept.swap_remove(random.below(self.kept.len()));
                self.size -= dropped.borrow().size();
            }
        }
    }

    /// What is known of the values between the bucket's pivots.
    fn into_sample(self) -> Vec<O> {
        if self.limit > 0 { self.kept } else { self.earlier }
    }
}

/// The same numbers in every run.
struct Random(u64);

impl Random {
    #[inline]
    fn below(&mut self, count: usize) -> usize {
        self.0 += 1;
        ((u128::from(hash_u64(self.0)) * count as u128) >> 64) as usize
    }
}

/// A selection of ranks, which count from 0. After each pass: [`Selection::end_pass`], [`Selection::find`] for every rank,
/// and [`Selection::plan`] if some were not found.
pub(super) struct Selection<K: Key + ?Sized> {
    ty: LogicalType,
    capacity: usize,
    pivots: Vec<K::Owned>,
    buckets: Vec<Bucket<K::Owned>>,
    found: BTreeMap<usize, K::Owned>,
    count: Option<usize>,
    random: Random,
}

impl<K: Key + ?Sized> Selection<K>
where
    K::Owned: Clone,
{
    /// A selection from values of `ty` before its first pass.
    pub(super) fn new(ty: LogicalType, capacity: usize) -> Self {
        let buckets = vec![Bucket::new(capacity)];
        let (pivots, found) = (Vec::new(), BTreeMap::new());
        Self { ty, capacity, pivots, buckets, found, count: None, random: Random(0) }
    }

    /// A selection from as many other values, of which these are a sample.
    pub(super) fn sampled(&self, sample: Vec<K::Owned>) -> Self {
        let mut selection = Self::new(self.ty.clone(), self.capacity);
        (selection.buckets[0].kept, selection.buckets[0].count) = (sample, self.count());
        selection.count = self.count;
        selection.sort();
        selection
    }

    /// Gives up what is no value found.
    pub(super) fn forget(&mut self) {
        (self.pivots, self.buckets) = (Vec::new(), Vec::new());
    }

    /// After the first pass, a sample of the values.
    pub(super) fn sample(&self) -> &[K::Owned] {
        self.buckets.first().map_or(&[], |bucket| &bucket.kept)
    }

    /// Adds a value in a pass.
    #[inline]
    pub(super) fn add(&mut self, key: &K) {
        let bucket = &mut self.buckets[key.bucket(&self.pivots, &self.ty)];
        bucket.count += 1;
        if bucket.limit > 0 {
            bucket.keep(key, &mut self.random);
        }
    }

    /// All values of a pass were added.
    pub(super) fn end_pass(&mut self) -> Result<()> {
        let count = self.buckets.iter().map(|bucket| bucket.count).sum();
        if self.count.is_some_and(|before| before != count) {
            return Err(Error::internal("the rows of two passes differ"));
        }
        self.count = Some(count);
        self.sort();
        Ok(())
    }

    fn sort(&mut self) {
        let order = |a: &K::Owned, b: &K::Owned| a.borrow().order(b.borrow(), &self.ty);
        self.buckets.iter_mut().for_each(|bucket| bucket.kept.sort_unstable_by(order));
    }

    /// The number of values.
    pub(super) fn count(&self) -> usize {
        self.count.unwrap_or(0)
    }

    /// The value at `rank` in order, if it was found in the passes so far.
    pub(super) fn find(&mut self, rank: usize) -> Option<&K> {
        if !self.found.contains_key(&rank) {
            let key = self.look_up(rank)?;
            self.found.insert(rank, key);
        }
        self.found.get(&rank).map(Borrow::borrow)
    }

    fn look_up(&self, mut rank: usize) -> Option<K::Owned> {
        for (number, bucket) in self.buckets.iter().enumerate() {
            match () {
                () if rank >= bucket.count => rank -= bucket.count,
                () if number % 2 == 1 => return self.pivots.get(number / 2).cloned(),
                () if bucket.is_complete() => return bucket.kept.get(rank).cloned(),
                () => return None,
            }
        }
        None
    }

    /// Prepares the next pass, which looks for ranks that were not found.
    pub(super) fn plan(&mut self, ranks: &[usize]) -> Result<()> {
        let ranks: BTreeSet<usize> = ranks.iter().copied().collect();
        let ranks: Vec<usize> = ranks.into_iter().collect();
        let buckets = std::mem::take(&mut self.buckets);
        let mut parted = Vec::new();
        let (mut rest, mut below) = (&ranks[..], 0);
        for (number, bucket) in buckets.into_iter().enumerate() {
            let (own, others) = rest.split_at(rest.partition_point(|rank| *rank < below + bucket.count));
            let places: Vec<usize> = own.iter().map(|rank| rank - below).collect();
            (rest, below) = (others, below + bucket.count);
            if !places.is_empty() {
                parted.push((number, bucket, places));
            }
        }
        let is_open = |(number, bucket, _): &(usize, Bucket<K::Owned>, Vec<usize>)| {
            number % 2 == 0 && !bucket.is_complete()
        };
        if parted.is_empty() || !rest.is_empty() || !parted.iter().all(is_open) {
            return Err(Error::internal("a rank was looked for that is known or does not exist"));
        }
        let mut plan = Plan::<K> { ty: &self.ty, pivots: Vec::new(), buckets: vec![Bucket::new(0)] };
        // Buckets of up to as many values are kept as a whole.
        let small = self.capacity / 4 / parted.len();
        let mut samples = Vec::new();
        for (number, bucket, places) in parted {
            let is_small = bucket.limit == 0 && bucket.count <= small;
            let count = bucket.count;
            let sample = bucket.into_sample();
            if number > 0 {
                plan.part(&self.pivots[number / 2 - 1]);
            }
            if is_small || sample.is_empty() {
                plan.keep(count as f64);
            } else {
                plan.narrow(&sample, count, &places);
            }
            if let Some(pivot) = self.pivots.get(number / 2) {
                plan.part(pivot);
            }
            samples.push(sample);
        }
        plan.share(self.capacity);
        let Plan { pivots, mut buckets, .. } = plan;
        for key in samples.into_iter().flatten() {
            let number = key.borrow().bucket(&pivots, &self.ty);
            if number % 2 == 0 && buckets[number].limit == 0 {
                buckets[number].earlier.push(key);
            }
        }
        (self.pivots, self.buckets) = (pivots, buckets);
        Ok(())
    }
}

impl Selection<i128> {
    /// Adds values in a pass.
    pub(super) fn add_all(&mut self, keys: &[i128]) {
        keys.iter().for_each(|key| self.add(key));
    }
}

/// The pivots and buckets of the next pass, in ascending order.
struct Plan<'a, K: Key + ?Sized> {
    ty: &'a LogicalType,
    pivots: Vec<K::Owned>,
    /// Until they are shared out, `limit` is 1 and `count` what is expected in buckets that are kept.
    buckets: Vec<Bucket<K::Owned>>,
}

impl<K: Key + ?Sized> Plan<'_, K>
where
    K::Owned: Clone,
{
    /// Adds a pivot, which is not below the last one.
    fn part(&mut self, pivot: &K::Owned) {
        if self.pivots.last().is_some_and(|last| last.borrow().order(pivot.borrow(), self.ty).is_eq()) {
            // Nothing lies in between.
            self.buckets.pop();
        } else {
            self.pivots.push(pivot.clone());
            self.buckets.push(Bucket::new(0));
        }
        self.buckets.push(Bucket::new(0));
    }

    /// What lies behind the last pivot is kept.
    fn keep(&mut self, expected: f64) {
        if let Some(bucket) = self.buckets.last_mut() {
            bucket.set_limit(1);
            bucket.count = expected as usize;
        }
    }

    /// Parts a bucket of `count` values, of which there is a sorted sample, and keeps the parts that probably have values at
    /// these places.
    fn narrow(&mut self, sample: &[K::Owned], count: usize, places: &[usize]) {
        let (windows, cuts) = windows(sample.len(), count, places);
        let mut windows = windows.into_iter().peekable();
        // Numbers in the sample: -1 is the pivot below it, and its length the pivot above.
        let mut from = -1;
        for to in cuts.into_iter().chain([sample.len() as i64]) {
            while windows.next_if(|(_, end)| *end <= from).is_some() {}
            if windows.peek().is_some_and(|(start, _)| *start <= from) {
                self.keep(count as f64 * (to - from) as f64 / (sample.len() + 1) as f64);
            }
            if let Some(pivot) = sample.get(to as usize) {
                self.part(pivot);
            }
            from = to;
        }
    }

    /// Shares the capacity: half of it evenly, as expectations of few values are rough, half by what is expected.
    fn share(&mut self, capacity: usize) {
        let kept = || self.buckets.iter().filter(|bucket| bucket.limit > 0);
        let (number, expected) = (kept().count(), kept().map(|bucket| bucket.count as f64).sum::<f64>());
        let half = capacity as f64 / 2.0;
        for bucket in &mut self.buckets {
            if bucket.limit > 0 {
                let share = half / number as f64 + half * bucket.count as f64 / expected.max(1.0);
                bucket.set_limit((share as usize).max(1));
            }
            bucket.count = 0;
        }
    }
}

/// Where values at `places` (ascending) of `count` values lie in a sorted sample of them, from one number in the sample to
/// another; and the numbers of the values that become pivots, at least one.
fn windows(sample: usize, count: usize, places: &[usize]) -> (Vec<(i64, i64)>, BTreeSet<i64>) {
    let end = sample as i64;
    let mut windows: Vec<(i64, i64)> = Vec::new();
    let mut cuts = BTreeSet::new();
    for &place in places {
        let share = (place as f64 + 0.5) / count as f64;
        let middle = sample as f64 * share - 0.5;
        let margin = DEVIATIONS * (sample as f64 * share * (1.0 - share)).max(0.0).sqrt() + 1.0;
        let from = ((middle - margin).floor() as i64).max(-1);
        let to = ((middle + margin).ceil() as i64).min(end);
        let is_wide = (to - from) as usize * PARTS > sample;
        let step = if is_wide { sample.div_ceil(PARTS) } else { sample };
        cuts.extend((from..to).step_by(step.max(1)).chain([to]).filter(|cut| (0..end).contains(cut)));
        if is_wide {
            cuts.insert((middle.round() as i64).clamp(0, end - 1));
        }
        match windows.last_mut() {
            Some(last) if from <= last.1 => last.1 = last.1.max(to),
            _ => windows.push((from, to)),
        }
    }
    (windows, cuts)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Finds the ranks, and returns the number of passes.
    fn passes(keys: &[i128], capacity: usize, ranks: &[usize]) -> Result<usize> {
        let mut sorted = keys.to_vec();
        sorted.sort_unstable();
        let mut selection = Selection::<i128>::new(LogicalType::HugeInt, capacity);
        for pass in 1.. {
            selection.add_all(keys);
            selection.end_pass()?;
            let kept = || selection.buckets.iter().map(|bucket| bucket.kept.len());
            assert!(kept().sum::<usize>() <= capacity + ranks.len() * (PARTS + 3));
            let missing: Vec<usize> =
                ranks.iter().copied().filter(|rank| selection.find(*rank).is_none()).collect();
            if missing.is_empty() {
                let found: Vec<Option<&i128>> = ranks.iter().map(|rank| selection.found.get(rank)).collect();
                assert_eq!(found, ranks.iter().map(|rank| sorted.get(*rank)).collect::<Vec<_>>());
                return Ok(pass);
            }
            selection.plan(&missing)?;
        }
        Ok(0)
    }

    fn numbers(len: usize) -> Vec<i128> {
        let mut random = Random(7 << 32);
        (0..len).map(|_| random.below(usize::MAX) as i128).collect()
    }

    #[test]
    fn a_rank_is_found_in_a_few_passes() -> Result<()> {
        let keys = numbers(1_000_000);
        let mut sorted = keys.clone();
        sorted.sort_unstable();
        for keys in [&keys, &sorted] {
            for rank in [0, 1, 1000, 333_333, 500_000, 999_998, 999_999] {
                assert!(passes(keys, CAPACITY, &[rank])? <= 2, "rank {rank}");
                assert!(passes(keys, 2048, &[rank])? <= 4, "rank {rank}");
                assert!(passes(keys, 16, &[rank])? <= 14, "rank {rank}");
            }
        }
        assert_eq!(passes(&keys[..CAPACITY], CAPACITY, &[5, 70])?, 1);
        Ok(())
    }

    #[test]
    fn many_ranks_are_found_together() -> Result<()> {
        let keys = numbers(1_000_000);
        let ranks = |number: usize| -> Vec<usize> { (0..number).map(|i| i * (999_999 / number)).collect() };
        assert!(passes(&keys, CAPACITY, &ranks(10))? <= 3);
        assert!(passes(&keys, CAPACITY, &ranks(100))? <= 5);
        assert!(passes(&keys, CAPACITY, &ranks(2000))? <= 8);
        assert!(passes(&keys, 1, &ranks(5))? <= 60);
        Ok(())
    }

    /// A repeated value is a pivot, however few values are kept.
    #[test]
    fn repeated_values_are_found_by_their_count() -> Result<()> {
        let ends = |i: usize| if i < 3 { -1 } else { i128::from(i > 99_990) };
        let keys: Vec<i128> = (0..100_000).map(ends).collect();
        assert!(passes(&keys, 64, &[0, 2, 3, 50_000, 99_990, 99_991, 99_999])? <= 5);
        assert_eq!(passes(&vec![9; 100_000], 64, &[0, 77_777, 99_999])?, 2);
        Ok(())
    }

    #[test]
    fn long_keys_are_kept_by_their_bytes() -> Result<()> {
        let mut selection = Selection::<[u8]>::new(LogicalType::Blob, 64);
        let keys: Vec<Vec<u8>> = (0..500u32)
            .map(|i| [&i.wrapping_mul(0x9E37_79B9).to_be_bytes()[..], &[7; 1000]].concat())
            .collect();
        let mut sorted = keys.clone();
        sorted.sort_unstable();
        for pass in 1..=20 {
            keys.iter().for_each(|key| selection.add(key));
            selection.end_pass()?;
            let held =
                || selection.buckets.iter().flat_map(|bucket| &bucket.kept).map(Vec::len).sum::<usize>();
            assert!(held() <= 64 * KEY_SIZE + 1100 * (PARTS + 3), "{} bytes", held());
            if let Some(found) = selection.find(123) {
                assert_eq!(found, &sorted[123]);
                assert!(pass > 2);
                return Ok(());
            }
            selection.plan(&[123])?;
        }
        Err(Error::internal("not found in 20 passes"))
    }

    #[test]
    fn passes_over_other_rows_are_an_error() -> Result<()> {
        let mut selection = Selection::<i128>::new(LogicalType::HugeInt, 4);
        selection.add_all(&[1, 2, 3, 4, 5, 6]);
        selection.end_pass()?;
        assert!(selection.plan(&[6]).is_err());
        let mut selection = Selection::<i128>::new(LogicalType::HugeInt, 4);
        selection.add_all(&[1, 2, 3, 4, 5, 6]);
        selection.end_pass()?;
        selection.plan(&[3])?;
        selection.add_all(&[1, 2, 3, 4, 5]);
        assert!(selection.end_pass().is_err());
        Ok(())
    }
}
