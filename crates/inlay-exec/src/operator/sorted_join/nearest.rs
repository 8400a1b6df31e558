//! The nearest partner: build rows in groups of equal keys, each group in the order of the inequality's side.
//!
//! ```text
//! number of the keys --index--> group    starts[group] .. starts[group + 1]    places: [ word | row ]
//! ```
//! The number is the keys' slot, or their hash where they have none (see [`SlotEncoding`]); of a group found by a hash the
//! first row's keys are compared. So a probe row looks at a line of the index, one of `starts`, and a few of its own group's
//! places, however many keys there are, and nothing is compared key by key while rows are sorted.
//!
//! The word of a value is in the order of values; where different ones may have the same, the values settle it.
//! Rows with a NULL key or value are in no group. Equal rows of a group lie in the order of the build side.

use crate::ExecContext;
use crate::operator::hash_join::build::{KeyForm, hash_chunk};
use crate::operator::hash_join::index::direct::DirectIndex;
use crate::operator::hash_join::index::hashed::HashIndex;
use crate::operator::hash_join::index::{Index, Runs};
use crate::operator::hash_join::keys::{KeyRange, SlotEncoding, is_narrow_integer, is_word};
use crate::operator::order::{KeyColumn, Order, compare_across, fill, sort_rows, write_rank_words};
use inlay_kernels::equal::retain_equal;
use inlay_sql::plan::CompareOp;
use inlay_types::{Bitmap, Buffer, Heap, LogicalType, Reservation, Result, Vector};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// A build row in its group.
#[derive(Clone, Copy, Default)]
struct Place {
    word: u64,
    row: u32,
}

/// Of so many places the first is a top: a search of many places goes through the tops, which stay in the cache, and then
/// through a KiB.
const TOP_STEP: usize = 64;

/// Bytes per row while rows are sorted: numbers and words, prefixes with their rows twice, and places.
const BUILD_ROW_BYTES: usize = 160;

/// The groups have one 32-bit word per slot up to so many slots per group, and up to so many in any case.
const DIRECT_SLOTS_PER_GROUP: u64 = 8;
const DIRECT_SLOTS_FREE: u64 = 1 << 12;

/// See the module documentation.
pub(super) struct Nearest {
    /// Absent without keys: then all rows are one group.
    groups: Option<Groups>,
    /// The first place of each group, and the end of the last.
    starts: Vec<u32>,
    places: Vec<Place>,
    tops: Vec<Place>,
    /// What settles equal words, if anything has to.
    values: Option<Vector>,
    _reserved: Reservation,
}

/// From keys to groups.
struct Groups {
    form: KeyForm,
    index: Index,
}

/// A worker's scratch.
#[derive(Default)]
pub(super) struct NearestState {
    narrow: Vec<u32>,
    wide: Vec<u64>,
    runs: Runs,
    words: Vec<u64>,
    firsts: Vec<u32>,
    kept: Vec<u32>,
}

impl Nearest {
    /// Of `total` build rows with these flat keys, and the flat values of the inequality's side.
    pub(super) fn new(context: &ExecContext, keys: Vec<Vector>, near: Vector, total: usize) -> Result<Self> {
        let mut reserved = context.budget.reserve((total * BUILD_ROW_BYTES) as u64)?;
        let validity = keys
            .iter()
            .fold(near.validity().cloned(), |all, key| Bitmap::and_optional(all.as_ref(), key.validity()));
        let valid = validity.as_ref().map_or(total, |validity| validity.slice(0, total).count_ones());
        let (order, numbers) = if keys.is_empty() {
            (sort_rows(context, &[ascending(&near)], 0, total)?, None)
        } else {
            let numbers = Numbers::new(context, &keys, total)?;
            (numbers.order(context, &keys, &near, validity, valid)?, Some(numbers))
        };
        context.interrupt.check()?;
        // NULLs come last.
        let rows = order.rows.unwrap_or_default();
        let mut starts = order.partitions;
        starts.truncate(starts.partition_point(|start| (*start as usize) < valid));
        let groups = numbers.map(|numbers| {
            let of_group = starts.iter().map(|start| numbers.all[rows[*start as usize] as usize]).collect();
            Groups::new(context, numbers.encoding, of_group, keys, &mut reserved)
        });
        let groups = groups.transpose()?;
        starts.push(valid as u32);
        let words = fill(context, total, |from, words| write_rank_words(&near, from, words))?;
        let places = fill(context, valid, |from, places: &mut [Place]| {
            for (place, &row) in places.iter_mut().zip(&rows[from..]) {
                *place = Place { word: words[row as usize], row };
            }
        })?;
        let tops: Vec<Place> = places.iter().step_by(TOP_STEP).copied().collect();
        let index_size = groups.as_ref().map_or(0, |groups| groups.index.memory_size());
        let held = (valid + tops.len()) * size_of::<Place>() + starts.len() * size_of::<u32>() + index_size;
        reserved.resize(held as u64)?;
        let values = (!is_word(near.physical_type())).then_some(near);
        Ok(Self { groups, starts, places, tops, values, _reserved: reserved })
    }

    /// Whether no row has a partner.
    pub(super) fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Of rows with these flat keys and values, those that have a partner by `value op build value`, ascending, and the nearest.
    pub(super) fn find(
        &self,
        op: CompareOp,
        (keys, near): (&[Vector], &Vector),
        state: &mut NearestState,
        probe_rows: &mut Vec<u32>,
        build_rows: &mut Vec<u32>,
    ) {
        probe_rows.clear();
        build_rows.clear();
        if self.is_empty() {
            return;
        }
        match &self.groups {
            Some(groups) => self.find_groups(groups, keys, state, probe_rows, build_rows),
            None => {
                probe_rows.extend(0..near.len() as u32);
                build_rows.resize(near.len(), 0);
            }
        }
        state.words.resize(near.len(), 0);
        state.words.truncate(near.len());
        write_rank_words(near, 0, &mut state.words);
        // Equal rows are before the place that is looked for, or behind it.
        let behind = matches!(op, CompareOp::GtEq | CompareOp::Lt);
        let words = &state.words[..];
        match &self.values {
            None if behind => {
                self.settle(op, near, probe_rows, build_rows, |place, row| place.word <= words[row])
            }
            None => self.settle(op, near, probe_rows, build_rows, |place, row| place.word < words[row]),
            Some(values) => self.settle(op, near, probe_rows, build_rows, |place, row| {
                let settled = || compare_across(values, place.row as usize, near, row);
                let order = place.word.cmp(&words[row]).then_with(settled);
                order.is_lt() || behind && order.is_eq()
            }),
        }
    }

    /// Probe rows that have a group, ascending, and the group of each.
    fn find_groups(
        &self,
        Groups { form, index }: &Groups,
        keys: &[Vector],
        state: &mut NearestState,
        probe_rows: &mut Vec<u32>,
        groups: &mut Vec<u32>,
    ) {
        let slots = form.encode(keys, &mut state.narrow, &mut state.wide);
        if index.is_unique() {
            index.find_unique(&slots, probe_rows, groups);
        } else {
            index.find_runs(&slots, &mut state.runs);
            let Runs { rows, starts, counts } = &state.runs;
            for ((&row, &start), &count) in rows.iter().zip(starts).zip(counts) {
                groups.extend(start..start + count);
                probe_rows.resize(groups.len(), row);
            }
            index.resolve(groups);
        }
        let KeyForm::Hashes(stored) = form else { return };
        let first = |group: &u32| self.places[self.starts[*group as usize] as usize].row;
        state.firsts.clear();
        state.firsts.extend(groups.iter().map(first));
        state.kept.clear();
        state.kept.extend(0..groups.len() as u32);
        for (probe, build) in keys.iter().zip(stored) {
            retain_equal(probe, probe_rows, build, &state.firsts, false, &mut state.kept);
        }
        for (to, &from) in state.kept.iter().enumerate() {
            (probe_rows[to], groups[to]) = (probe_rows[from as usize], groups[from as usize]);
        }
        probe_rows.truncate(state.kept.len());
        groups.truncate(state.kept.len());
    }

    /// The first of the places `start .. end` that is not before what is looked for.
    #[inline(always)]
    fn bound(&self, mut start: usize, mut end: usize, is_before: impl Fn(&Place) -> bool) -> usize {
        if end - start > 2 * TOP_STEP {
            let (first, last) = (start.div_ceil(TOP_STEP), end.div_ceil(TOP_STEP));
            let top = first + self.tops[first..last].partition_point(&is_before);
            end = end.min(top * TOP_STEP);
            start = start.max(top.saturating_sub(1) * TOP_STEP);
        }
        start + self.places[start..end].partition_point(is_before)
    }

    /// Puts the nearest row into the place of each group, and drops probe rows without one.
    fn settle(
        &self,
        op: CompareOp,
        near: &Vector,
        probe_rows: &mut Vec<u32>,
        found: &mut Vec<u32>,
        is_before: impl Fn(&Place, usize) -> bool,
    ) {
        let backwards = matches!(op, CompareOp::Gt | CompareOp::GtEq);
        let mut kept = 0;
        for index in 0..probe_rows.len() {
            let (row, group) = (probe_rows[index], found[index] as usize);
            if near.is_null(row as usize) {
                continue;
            }
            let (start, end) = (self.starts[group] as usize, self.starts[group + 1] as usize);
            let bound = self.bound(start, end, |place| is_before(place, row as usize));
            let nearest = if backwards { bound.checked_sub(1) } else { Some(bound) };
            if let Some(place) = nearest.filter(|at| (start..end).contains(at)).map(|at| &self.places[at]) {
                (probe_rows[kept], found[kept]) = (row, place.row);
                kept += 1;
            }
        }
        probe_rows.truncate(kept);
        found.truncate(kept);
    }
}

impl Groups {
    /// Of groups whose keys have these numbers; `keys` are those of the rows.
    fn new(
        context: &ExecContext,
        encoding: Option<SlotEncoding>,
        numbers: Vec<u64>,
        keys: Vec<Vector>,
        reserved: &mut Reservation,
    ) -> Result<Self> {
        let direct_max = (numbers.len() as u64 * DIRECT_SLOTS_PER_GROUP).max(DIRECT_SLOTS_FREE);
        if let Some(encoding) = encoding.as_ref().filter(|encoding| encoding.domain() <= direct_max) {
            let domain = encoding.domain() as usize;
            reserved.grow((domain * size_of::<u32>()) as u64)?;
            let slots: Vec<u32> = numbers.iter().map(|number| *number as u32).collect();
            let index = Index::Direct(DirectIndex::build(&slots, domain, false, true));
            return Ok(Self { form: KeyForm::Narrow(encoding.clone()), index });
        }
        reserved.grow(HashIndex::size_for(numbers.len()) as u64)?;
        let index = match numbers.is_empty() {
            true => Index::Empty,
            false => Index::Hash(HashIndex::build(context, &numbers, encoding.is_none())?),
        };
        Ok(Self { form: encoding.map_or(KeyForm::Hashes(keys), KeyForm::Wide), index })
    }
}

/// A number per row, by which rows with equal keys are put together.
struct Numbers {
    all: Vec<u64>,
    /// How keys become numbers; if absent, numbers are hashes.
    encoding: Option<SlotEncoding>,
}

impl Numbers {
    fn new(context: &ExecContext, keys: &[Vector], total: usize) -> Result<Self> {
        let is_narrow = keys.iter().all(|key| is_narrow_integer(key.physical_type()));
        let ranges: Vec<KeyRange> = keys.iter().filter(|_| is_narrow).map(KeyRange::of).collect();
        let encoding = is_narrow.then(|| SlotEncoding::new(&ranges, &vec![false; keys.len()])).flatten();
        let all = fill(context, total, |from, numbers: &mut [u64]| {
            let keys: Vec<Vector> = keys.iter().map(|key| key.slice(from, numbers.len())).collect();
            let mut made = Vec::with_capacity(numbers.len());
            match &encoding {
                Some(encoding) => encoding.encode_64(&keys, &mut made),
                None => hash_chunk(&keys, &mut made),
            }
            numbers.copy_from_slice(&made);
        })?;
        Ok(Self { all, encoding })
    }

    /// Rows by their keys and then by `near`; the partitions have equal keys. Behind the first `valid` rows are those that are not.
    fn order(
        &self,
        context: &ExecContext,
        keys: &[Vector],
        near: &Vector,
        validity: Option<Bitmap>,
        valid: usize,
    ) -> Result<Order> {
        let total = self.all.len();
        let data = Buffer::copy_of(&self.all);
        let mut numbers = Vector::flat(LogicalType::UBigInt, total, data, validity, Heap::default());
        numbers.normalize_nulls();
        let order = sort_rows(context, &[ascending(&numbers), ascending(near)], 1, total)?;
        if self.encoding.is_some() || have_equal_keys(context, &order, keys, valid)? {
            return Ok(order);
        }
        // Different keys with one hash: as good as never.
        let columns = [&numbers].into_iter().chain(keys).chain([near]);
        let columns: Vec<KeyColumn<'_>> = columns.map(ascending).collect();
        sort_rows(context, &columns, keys.len() + 1, total)
    }
}

/// Whether the first `valid` rows have the keys of their partition's first row.
fn have_equal_keys(context: &ExecContext, order: &Order, keys: &[Vector], valid: usize) -> Result<bool> {
    let Some(rows) = &order.rows else { return Ok(true) };
    let block_rows = context.task_rows(valid);
    let differ = AtomicBool::new(false);
    context.parallel(valid.div_ceil(block_rows), |block| {
        let range = block * block_rows..valid.min((block + 1) * block_rows);
        let mut partition = order.partitions.partition_point(|start| *start as usize <= range.start);
        let mut firsts = Vec::with_capacity(range.len());
        for place in range.clone() {
            partition += usize::from(order.partitions[partition] as usize <= place);
            firsts.push(rows[order.partitions[partition - 1] as usize]);
        }
        let mut equal: Vec<u32> = (0..range.len() as u32).collect();
        for key in keys {
            retain_equal(key, &rows[range.clone()], key, &firsts, false, &mut equal);
        }
        if equal.len() < range.len() {
            differ.store(true, Relaxed);
        }
        Ok(())
    })?;
    Ok(!differ.into_inner())
}

fn ascending(vector: &Vector) -> KeyColumn<'_> {
    KeyColumn { vector, descending: false, nulls_first: false }
}

#[cfg(test)]
mod tests {
    use super::*;
    use inlay_types::Value;

    /// Texts have no slots, so hashes are what they are put together by.
    #[test]
    fn different_keys_with_one_hash_are_different_groups() -> Result<()> {
        let texts = ["b", "a", "b", "a", "c"].map(|text| Value::Varchar(text.into()));
        let keys = [Vector::from_sql_values(LogicalType::Varchar, &texts)?];
        let near = Vector::from_values(LogicalType::Integer, &[4, 3, 2, 1, 0]);
        let context = ExecContext::for_tests(2);
        let numbers = Numbers { all: vec![7; texts.len()], encoding: None };
        let validity = Some(Bitmap::from_fn(texts.len(), |row| row != 4));
        let order = numbers.order(&context, &keys, &near, validity, 4)?;
        assert_eq!(order.rows, Some(vec![3, 1, 2, 0, 4]));
        assert_eq!(order.partitions, [0, 2, 4, 5]);
        Ok(())
    }
}
