//! Which rows each row's value is computed from: partitions, peers and frames of a stretch of rows in order.

#![expect(clippy::needless_range_loop, reason = "a row is a place in several columns at once")]

use super::Part;
use super::spec::{Bound, FrameSpec, Operand};
use crate::context::ExecContext;
use crate::operator::order::{Normal, normalise};
use inlay_sql::plan::window::{FrameExclusion, FrameUnits};
use inlay_types::{Error, Result, Vector};

/// Per row of a stretch: the partition and the peers it belongs to, as places `begin .. end`.
pub(super) struct Chunk {
    pub(super) from: usize,
    pub(super) len: usize,
    pub(super) partition: Vec<u32>,
    pub(super) partition_begin: Vec<u32>,
    pub(super) partition_end: Vec<u32>,
    pub(super) peer: Vec<u32>,
    pub(super) peer_begin: Vec<u32>,
    pub(super) peer_end: Vec<u32>,
}

/// Number, begin and end of what each of the places `from .. from + len` belongs to.
fn spread(starts: &[u32], from: usize, len: usize) -> [Vec<u32>; 3] {
    let mut index = starts.partition_point(|&start| start as usize <= from) - 1;
    let mut out = [Vec::with_capacity(len), Vec::with_capacity(len), Vec::with_capacity(len)];
    let mut place = from;
    while place < from + len {
        let (begin, end) = (starts[index], starts[index + 1]);
        let count = (end as usize).min(from + len) - place;
        for (values, value) in out.iter_mut().zip([index as u32, begin, end]) {
            values.resize(values.len() + count, value);
        }
        place += count;
        index += 1;
    }
    out
}

impl Chunk {
    pub(super) fn new(part: &Part, from: usize, len: usize) -> Self {
        let [partition, partition_begin, partition_end] = spread(&part.order.partitions, from, len);
        let [peer, peer_begin, peer_end] = spread(&part.order.peers, from, len);
        Self { from, len, partition, partition_begin, partition_end, peer, peer_begin, peer_end }
    }

    /// Rows that are not sorted, of which nothing but the partition is asked.
    pub(super) fn unsorted(partitions: &[u32], from: usize, len: usize) -> Self {
        let partition = partitions[from..from + len].to_vec();
        let [partition_begin, partition_end, peer, peer_begin, peer_end] = [const { Vec::new() }; 5];
        Self { from, len, partition, partition_begin, partition_end, peer, peer_begin, peer_end }
    }

    fn place(&self, row: usize) -> u32 {
        (self.from + row) as u32
    }
}

/// Per row: the places `begin .. end`.
#[derive(Clone, Debug, Default)]
pub(super) struct Ranges {
    pub(super) begin: Vec<u32>,
    pub(super) end: Vec<u32>,
}

/// Sort keys as integers in the order of places, for RANGE with offsets.
pub(super) struct RangeKeys {
    keys: Vec<u128>,
    vector: Vector,
    descending: bool,
    nulls_first: bool,
}

fn widened(normal: Normal) -> Vec<u128> {
    match normal {
        Normal::Narrow(values) => values.into_iter().map(u128::from).collect(),
        Normal::Wide(values) => values,
    }
}

impl RangeKeys {
    pub(super) fn new(
        context: &ExecContext,
        vector: Vector,
        descending: bool,
        nulls_first: bool,
    ) -> Result<Self> {
        let mut keys = Self::normalised(context, &vector)?;
        if descending {
            keys.iter_mut().for_each(|key| *key = !*key);
        }
        Ok(Self { keys, vector, descending, nulls_first })
    }

    fn normalised(context: &ExecContext, vector: &Vector) -> Result<Vec<u128>> {
        let normal = normalise(context, vector)?;
        normal.map(widened).ok_or_else(|| {
            Error::unsupported(format!("RANGE with an offset from values of type {}", vector.logical_type()))
        })
    }

    /// The places of a partition whose keys are not NULL.
    fn filled(&self, begin: usize, end: usize) -> (usize, usize) {
        if self.vector.validity().is_none() || begin == end {
            return (begin, end);
        }
        let is_null = |place: usize| self.vector.is_null(place);
        let split = |test: &dyn Fn(usize) -> bool| {
            let (mut low, mut high) = (begin, end);
            while low < high {
                let middle = low + (high - low) / 2;
                if test(middle) { low = middle + 1 } else { high = middle }
            }
            low
        };
        if self.nulls_first { (split(&is_null), end) } else { (begin, split(&|place| !is_null(place))) }
    }

    /// The first place of `begin .. end` whose key is not before (`after`: is behind) `bound`; `hint` is near it.
    fn search(&self, bound: u128, after: bool, begin: usize, end: usize, hint: usize) -> usize {
        let before = |place: usize| if after { self.keys[place] <= bound } else { self.keys[place] < bound };
        let hint = hint.clamp(begin, end);
        let (mut low, mut high, mut step) = (hint, hint, 1);
        if hint < end && before(hint) {
            while high < end && before(high) {
                low = high + 1;
                high = (high + step).min(end);
                step *= 2;
            }
        } else {
            while low > begin && !before(low - 1) {
                high = low - 1;
                low = low.saturating_sub(step).max(begin);
                step *= 2;
            }
            // `low - 1` is before the bound, or `low` is the begin.
        }
        while low < high {
            let middle = low + (high - low) / 2;
            if before(middle) { low = middle + 1 } else { high = middle }
        }
        low
    }
}

/// An offset of ROWS or GROUPS per row.
fn offsets(part: &Part, chunk: &Chunk, operand: &Operand, name: &str) -> Result<Vec<u64>> {
    let vector = part.operand(operand, chunk.from, chunk.len)?;
    let values = vector.values::<i64>();
    let mut offsets = Vec::with_capacity(chunk.len);
    for row in 0..chunk.len {
        if vector.is_null(row) {
            return Err(Error::invalid_argument(format!("the offset of {name} in a window's frame is NULL")));
        }
        let value = u64::try_from(values[row]).map_err(|_| {
            Error::invalid_argument(format!(
                "the offset of {name} in a window's frame is negative: {}",
                values[row]
            ))
        })?;
        offsets.push(value);
    }
    Ok(offsets)
}

fn clipped(value: u64, least: u32, most: u32) -> u32 {
    u32::try_from(value).map_or(most, |value| value.clamp(least, most))
}

/// The frames of a stretch, before exclusion.
pub(super) fn frames(
    part: &Part,
    chunk: &Chunk,
    frame: &FrameSpec,
    keys: Option<&RangeKeys>,
) -> Result<Ranges> {
    let begin = match (&frame.start, frame.units) {
        (Bound::UnboundedPreceding, _) => chunk.partition_begin.clone(),
        (Bound::UnboundedFollowing, _) => chunk.partition_end.clone(),
        (Bound::CurrentRow, FrameUnits::Rows) => (0..chunk.len).map(|row| chunk.place(row)).collect(),
        (Bound::CurrentRow, _) => chunk.peer_begin.clone(),
        (Bound::Preceding(offset), FrameUnits::Range) => {
            searched(part, chunk, offset, keys, Search { is_end: false, preceding: true })?
        }
        (Bound::Following(offset), FrameUnits::Range) => {
            searched(part, chunk, offset, keys, Search { is_end: false, preceding: false })?
        }
        (Bound::Preceding(offset), units) => moved(part, chunk, offset, units, false, true)?,
        (Bound::Following(offset), units) => moved(part, chunk, offset, units, false, false)?,
    };
    let mut end = match (&frame.end, frame.units) {
        (Bound::UnboundedFollowing, _) => chunk.partition_end.clone(),
        (Bound::UnboundedPreceding, _) => chunk.partition_begin.clone(),
        (Bound::CurrentRow, FrameUnits::Rows) => (0..chunk.len).map(|row| chunk.place(row) + 1).collect(),
        (Bound::CurrentRow, _) => chunk.peer_end.clone(),
        (Bound::Preceding(offset), FrameUnits::Range) => {
            searched(part, chunk, offset, keys, Search { is_end: true, preceding: true })?
        }
        (Bound::Following(offset), FrameUnits::Range) => {
            searched(part, chunk, offset, keys, Search { is_end: true, preceding: false })?
        }
        (Bound::Preceding(offset), units) => moved(part, chunk, offset, units, true, true)?,
        (Bound::Following(offset), units) => moved(part, chunk, offset, units, true, false)?,
    };
    end.iter_mut().zip(&begin).for_each(|(end, &begin)| *end = begin.max(*end));
    Ok(Ranges { begin, end })
}

/// A bound of ROWS or GROUPS with an offset.
fn moved(
    part: &Part,
    chunk: &Chunk,
    offset: &Operand,
    units: FrameUnits,
    is_end: bool,
    preceding: bool,
) -> Result<Vec<u32>> {
    let name = match (units, preceding) {
        (FrameUnits::Groups, true) => "GROUPS PRECEDING",
        (FrameUnits::Groups, false) => "GROUPS FOLLOWING",
        (_, true) => "ROWS PRECEDING",
        (_, false) => "ROWS FOLLOWING",
    };
    let offsets = offsets(part, chunk, offset, name)?;
    let extra = u64::from(is_end);
    let peers = &part.order.peers;
    let rows = offsets.into_iter().enumerate();
    if units == FrameUnits::Rows {
        let place = |(row, offset): (usize, u64)| {
            let (begin, end) = (chunk.partition_begin[row], chunk.partition_end[row]);
            let at = u64::from(chunk.place(row)) + extra;
            if preceding {
                clipped(at.saturating_sub(offset), begin, end)
            } else {
                clipped(at.saturating_add(offset), begin, end)
            }
        };
        return Ok(rows.map(place).collect());
    }
    let place = |(row, offset): (usize, u64)| {
        let (begin, end) = (chunk.partition_begin[row], chunk.partition_end[row]);
        let group = u64::from(chunk.peer[row]) + extra;
        let moved = if preceding { group.checked_sub(offset) } else { group.checked_add(offset) };
        let found = moved.and_then(|group| peers.get(usize::try_from(group).ok()?));
        match found {
            Some(&place) => place.clamp(begin, end),
            None if preceding => begin,
            None => end,
        }
    };
    Ok(rows.map(place).collect())
}

#[derive(Clone, Copy)]
struct Search {
    is_end: bool,
    preceding: bool,
}

/// A bound of RANGE with an offset: where the sort key passes a value.
fn searched(
    part: &Part,
    chunk: &Chunk,
    bound: &Operand,
    keys: Option<&RangeKeys>,
    search: Search,
) -> Result<Vec<u32>> {
    let Some(keys) = keys else { return Err(Error::internal("a RANGE frame without its key")) };
    let vector = part.operand(bound, chunk.from, chunk.len)?;
    let bounds = RangeKeys::normalised(&part.serial, &vector)?;
    let mut places = Vec::with_capacity(chunk.len);
    let (mut filled, mut current, mut hint) = ((0, 0), u32::MAX, 0);
    for row in 0..chunk.len {
        let place = chunk.from + row;
        if keys.vector.is_null(place) {
            places.push(if search.is_end { chunk.peer_end[row] } else { chunk.peer_begin[row] });
            continue;
        }
        if vector.is_null(row) {
            return Err(Error::invalid_argument("the offset of RANGE in a window's frame is NULL"));
        }
        if current != chunk.partition[row] {
            current = chunk.partition[row];
            filled = keys.filled(chunk.partition_begin[row] as usize, chunk.partition_end[row] as usize);
            hint = place;
        }
        let bound = if keys.descending { !bounds[row] } else { bounds[row] };
        let own = keys.keys[place];
        let out_of_order = if search.preceding { bound > own } else { bound < own };
        if out_of_order {
            let word = if search.preceding { "PRECEDING" } else { "FOLLOWING" };
            return Err(Error::out_of_range(format!(
                "the offset of RANGE {word} in a window's frame is negative"
            )));
        }
        hint = keys.search(bound, search.is_end, filled.0, filled.1, hint);
        places.push(hint as u32);
    }
    Ok(places)
}

/// The frames less what is excluded: up to three ranges per row, ascending.
pub(super) fn without(chunk: &Chunk, frames: Ranges, exclude: FrameExclusion) -> Vec<Ranges> {
    let between = |low: &dyn Fn(usize) -> u32, high: &dyn Fn(usize) -> u32| {
        let mut part = Ranges::default();
        for row in 0..chunk.len {
            let begin = frames.begin[row].max(low(row));
            part.begin.push(begin);
            part.end.push(frames.end[row].min(high(row)).max(begin));
        }
        part
    };
    let first = |_: usize| 0;
    let last = |_: usize| u32::MAX;
    let own = |row: usize| chunk.place(row);
    let behind = |row: usize| chunk.place(row) + 1;
    let peers = |row: usize| chunk.peer_begin[row];
    let peers_end = |row: usize| chunk.peer_end[row];
    match exclude {
        FrameExclusion::NoOthers => vec![frames],
        FrameExclusion::CurrentRow => vec![between(&first, &own), between(&behind, &last)],
        FrameExclusion::Group => vec![between(&first, &peers), between(&peers_end, &last)],
        FrameExclusion::Ties => {
            vec![between(&first, &peers), between(&own, &behind), between(&peers_end, &last)]
        }
    }
}
