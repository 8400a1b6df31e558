//! Sets of row ids: a list while they are few, about a bit per row of the table at most when they are many.
//!
//! ```text
//! chunk number = id / 65,536  ->  up to 4,096 rows: their places, ascending; more: a bit per place
//! ```
//! As roaring bitmaps (Chambi, Lemire, Kaser, Godin 2016), without their lists of runs: what a set saves of a list of eight
//! bytes per row is enough. Sets are immutable and cheap to copy; [`RowSetBuilder`] makes them from ids in any order.
//!
//! Invariants
//! - Ids are not negative. Chunks ascend and none is empty.
//! - A chunk has bits exactly if it has more than [`FEW_MAX`] rows; a set has chunks exactly if it has more than
//!   [`LIST_MAX`] rows. So equal sets look alike.

use crate::bytes::{ByteReader, ByteWriter};
use inlay_types::{Error, Result};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::{Deref, Range};
use std::sync::Arc;

#[cfg(test)]
mod tests;

/// Ids of one chunk.
const CHUNK: i64 = 1 << 16;
const WORDS: usize = CHUNK as usize / 64;
/// From here on bits are shorter than places.
const FEW_MAX: usize = 4_096;
/// Up to this many ids are a list.
const LIST_MAX: usize = 4_096;

/// Ids of rows, each once, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowSet(Form);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Form {
    List(List),
    Chunks(Arc<Chunks>),
}

/// Few ids, ascending. One takes no memory of its own: changes by key are of one row.
#[derive(Clone, Debug)]
enum List {
    One([i64; 1]),
    Others(Option<Arc<[i64]>>),
}

impl Deref for List {
    type Target = [i64];

    fn deref(&self) -> &[i64] {
        match self {
            Self::One(id) => id,
            Self::Others(ids) => ids.as_deref().unwrap_or_default(),
        }
    }
}

impl From<&[i64]> for List {
    fn from(ids: &[i64]) -> Self {
        match *ids {
            [] => Self::Others(None),
            [id] => Self::One([id]),
            _ => Self::Others(Some(ids.into())),
        }
    }
}

impl PartialEq for List {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for List {}

#[derive(Debug, PartialEq, Eq)]
struct Chunks {
    by_number: BTreeMap<i64, Chunk>,
    len: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Chunk {
    Few(Vec<u16>),
    Many { words: Box<[u64; WORDS]>, count: usize },
}

impl Chunk {
    fn len(&self) -> usize {
        match self {
            Self::Few(places) => places.len(),
            Self::Many { count, .. } => *count,
        }
    }

    fn add(&mut self, place: u16) {
        match self {
            Self::Few(places) => {
                if places.last().is_none_or(|last| *last < place) {
                    places.push(place);
                } else if let Err(at) = places.binary_search(&place) {
                    places.insert(at, place);
                }
                if places.len() > FEW_MAX {
                    let mut words = Box::new([0; WORDS]);
                    places.iter().for_each(|place| words[*place as usize / 64] |= 1 << (place % 64));
                    *self = Self::Many { words, count: places.len() };
                }
            }
            Self::Many { words, count } => {
                let (word, bit) = (&mut words[place as usize / 64], 1u64 << (place % 64));
                *count += usize::from(*word & bit == 0);
                *word |= bit;
            }
        }
    }

    fn contains(&self, place: u16) -> bool {
        match self {
            Self::Few(places) => places.binary_search(&place).is_ok(),
            Self::Many { words, .. } => words[place as usize / 64] & 1 << (place % 64) != 0,
        }
    }

    fn intersects(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Many { words: left, .. }, Self::Many { words: right, .. }) => {
                left.iter().zip(right.iter()).any(|(left, right)| left & right != 0)
            }
            (Self::Few(few), other) | (other, Self::Few(few)) => {
                few.iter().any(|place| other.contains(*place))
            }
        }
    }

    /// Shows the places inside a range, ascending.
    fn for_each(&self, places: Range<u32>, mut visit: impl FnMut(u32)) {
        match self {
            Self::Few(few) => {
                let from = few.partition_point(|place| u32::from(*place) < places.start);
                let inside = few[from..].iter().map(|place| u32::from(*place));
                inside.take_while(|place| *place < places.end).for_each(visit);
            }
            Self::Many { words, .. } => {
                let numbers = places.start as usize / 64..(places.end as usize).div_ceil(64);
                for number in numbers {
                    let mut word = words[number];
                    while word != 0 {
                        let place = (number * 64) as u32 + word.trailing_zeros();
                        if places.contains(&place) {
                            visit(place);
                        }
                        word &= word - 1;
                    }
                }
            }
        }
    }

    fn first(&self) -> u32 {
        self.end(
            |words| words.iter().position(|word| *word != 0),
            |places| places.first(),
            |word| word.trailing_zeros(),
        )
    }

    fn last(&self) -> u32 {
        self.end(
            |words| words.iter().rposition(|word| *word != 0),
            |places| places.last(),
            |word| 63 - word.leading_zeros(),
        )
    }

    fn end(
        &self,
        word_of: impl Fn(&[u64; WORDS]) -> Option<usize>,
        place_of: impl Fn(&[u16]) -> Option<&u16>,
        bit_of: impl Fn(u64) -> u32,
    ) -> u32 {
        match self {
            Self::Few(places) => place_of(places).map_or(0, |place| u32::from(*place)),
            Self::Many { words, .. } => {
                word_of(words).map_or(0, |number| (number * 64) as u32 + bit_of(words[number]))
            }
        }
    }
}

impl Default for RowSet {
    fn default() -> Self {
        Self(Form::List(List::Others(None)))
    }
}

impl From<&[i64]> for RowSet {
    /// Of ids in any order.
    fn from(ids: &[i64]) -> Self {
        if ids.len() <= LIST_MAX && ids.is_sorted_by(|left, right| left < right) {
            return Self(Form::List(ids.into()));
        }
        let mut builder = RowSetBuilder::default();
        builder.add(ids);
        builder.finish()
    }
}

impl RowSet {
    /// How many there are.
    pub fn len(&self) -> usize {
        match &self.0 {
            Form::List(ids) => ids.len(),
            Form::Chunks(chunks) => chunks.len,
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The smallest.
    pub fn first(&self) -> Option<i64> {
        match &self.0 {
            Form::List(ids) => ids.first().copied(),
            Form::Chunks(chunks) => {
                let (number, chunk) = chunks.by_number.first_key_value()?;
                Some(number * CHUNK + i64::from(chunk.first()))
            }
        }
    }

    /// The largest.
    pub fn last(&self) -> Option<i64> {
        match &self.0 {
            Form::List(ids) => ids.last().copied(),
            Form::Chunks(chunks) => {
                let (number, chunk) = chunks.by_number.last_key_value()?;
                Some(number * CHUNK + i64::from(chunk.last()))
            }
        }
    }

    /// Whether a row is in it.
    pub fn contains(&self, id: i64) -> bool {
        match &self.0 {
            Form::List(ids) => ids.binary_search(&id).is_ok(),
            Form::Chunks(chunks) => {
                chunks.by_number.get(&number_of(id)).is_some_and(|chunk| chunk.contains(place_of(id)))
            }
        }
    }

    /// Whether a row is in both.
    pub fn intersects(&self, other: &RowSet) -> bool {
        match (&self.0, &other.0) {
            (Form::List(left), Form::List(right)) => intersect(left, right),
            (Form::List(list), Form::Chunks(_)) => list.iter().any(|id| other.contains(*id)),
            (Form::Chunks(_), Form::List(list)) => list.iter().any(|id| self.contains(*id)),
            (Form::Chunks(left), Form::Chunks(right)) => left.by_number.iter().any(|(number, chunk)| {
                right.by_number.get(number).is_some_and(|other| chunk.intersects(other))
            }),
        }
    }

    /// The ids, if they are few enough to be a list.
    pub fn as_list(&self) -> Option<&[i64]> {
        match &self.0 {
            Form::List(ids) => Some(ids),
            Form::Chunks(_) => None,
        }
    }

    /// All ids, ascending. Takes eight bytes for each if they are many; see [`RowSet::parts`].
    pub fn ids(&self) -> Cow<'_, [i64]> {
        match &self.0 {
            Form::List(ids) => Cow::Borrowed(ids),
            Form::Chunks(chunks) => {
                let mut ids = Vec::with_capacity(chunks.len);
                self.parts().for_each(|part| ids.extend_from_slice(&part));
                Cow::Owned(ids)
            }
        }
    }

    /// All ids, ascending, in lists of at most 65,536.
    pub fn parts(&self) -> impl Iterator<Item = Cow<'_, [i64]>> {
        let (list, chunks) = match &self.0 {
            Form::List(ids) => (Some(Cow::Borrowed(&**ids)).filter(|ids| !ids.is_empty()), None),
            Form::Chunks(chunks) => (None, Some(chunks.by_number.iter())),
        };
        list.into_iter().chain(chunks.into_iter().flatten().map(|(number, chunk)| {
            let mut ids = Vec::with_capacity(chunk.len());
            chunk.for_each(0..CHUNK as u32, |place| ids.push(number * CHUNK + i64::from(place)));
            Cow::Owned(ids)
        }))
    }

    /// Appends those inside a range, counted from its start.
    pub fn rows_within(&self, range: Range<i64>, out: &mut Vec<u32>) {
        match &self.0 {
            Form::List(ids) => {
                let from = ids.partition_point(|id| *id < range.start);
                let inside = ids[from..].iter().take_while(|id| **id < range.end);
                out.extend(inside.map(|id| (id - range.start) as u32));
            }
            Form::Chunks(chunks) => {
                if range.is_empty() {
                    return;
                }
                for (number, chunk) in
                    chunks.by_number.range(number_of(range.start)..=number_of(range.end - 1))
                {
                    let base = number * CHUNK;
                    let from = (range.start - base).max(0) as u32;
                    let to = (range.end - base).min(CHUNK) as u32;
                    chunk
                        .for_each(from..to, |place| out.push((base + i64::from(place) - range.start) as u32));
                }
            }
        }
    }

    /// Those smaller than `end`.
    pub fn below(&self, end: i64) -> Cow<'_, RowSet> {
        if self.last().is_none_or(|last| last < end) {
            return Cow::Borrowed(self);
        }
        let mut builder = RowSetBuilder::default();
        self.parts().for_each(|part| builder.add(&part[..part.partition_point(|id| *id < end)]));
        Cow::Owned(builder.finish())
    }

    /// The same, but those from `from` on higher by `shift`.
    pub fn shifted(&self, from: i64, shift: i64) -> RowSet {
        if shift == 0 || self.last().is_none_or(|last| last < from) {
            return self.clone();
        }
        let mut builder = RowSetBuilder::default();
        for part in self.parts() {
            let moved: Vec<i64> = part.iter().map(|&id| if id >= from { id + shift } else { id }).collect();
            builder.add(&moved);
        }
        builder.finish()
    }

    /// Those that are in one of two sets.
    pub fn union(&self, other: &RowSet) -> RowSet {
        if self.is_empty() {
            return other.clone();
        }
        let mut builder = RowSetBuilder::default();
        builder.add_set(self);
        builder.add_set(other);
        builder.finish()
    }

    /// Writes a set that has chunks: their count, then of each its number less that before, how many rows, and places or bits.
    pub(crate) fn write(&self, out: &mut ByteWriter) {
        let mut builder = RowSetBuilder::default();
        let chunks = match &self.0 {
            Form::Chunks(chunks) => &chunks.by_number,
            Form::List(ids) => {
                builder.add_to_chunks(ids);
                &builder.chunks
            }
        };
        out.count(chunks.len());
        let mut before = 0;
        for (number, chunk) in chunks {
            out.count((number - before) as usize);
            before = *number;
            out.count(chunk.len());
            match chunk {
                Chunk::Few(places) => places.iter().for_each(|place| out.raw(&place.to_le_bytes())),
                Chunk::Many { words, .. } => words.iter().for_each(|word| out.u64(*word)),
            }
        }
    }

    /// What [`RowSet::write`] wrote.
    pub(crate) fn read(from: &mut ByteReader<'_>) -> Result<Self> {
        let mut builder = RowSetBuilder::default();
        let mut number = 0i64;
        for position in 0..from.count_of(4)? {
            let step = i64::try_from(from.count()?).ok().filter(|step| *step > 0 || position == 0);
            number = step
                .and_then(|step| number.checked_add(step))
                .filter(|number| *number < i64::MAX / CHUNK)
                .ok_or_else(|| Error::corrupt("row ids that do not ascend"))?;
            builder.chunks.insert(number, read_chunk(from)?);
        }
        Ok(builder.finish())
    }
}

fn read_chunk(from: &mut ByteReader<'_>) -> Result<Chunk> {
    let count = from.count()?;
    let chunk = if count <= FEW_MAX {
        let places: Vec<u16> =
            from.raw(2 * count)?.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect();
        if !places.is_sorted_by(|left, right| left < right) {
            return Err(Error::corrupt("row ids that do not ascend"));
        }
        Chunk::Few(places)
    } else {
        let mut words = Box::new([0; WORDS]);
        for word in &mut *words {
            *word = from.u64()?;
        }
        let ones: u32 = words.iter().map(|word| word.count_ones()).sum();
        Chunk::Many { words, count: ones as usize }
    };
    match chunk.len() == count && count > 0 {
        true => Ok(chunk),
        false => Err(Error::corrupt(format!("{count} row ids that are {}", chunk.len()))),
    }
}

/// Collects row ids in any order, any number of times.
#[derive(Debug, Default)]
pub struct RowSetBuilder {
    /// Not sorted yet.
    list: Vec<i64>,
    chunks: BTreeMap<i64, Chunk>,
}

impl RowSetBuilder {
    /// Adds ids.
    pub fn add(&mut self, ids: &[i64]) {
        if self.chunks.is_empty() && self.list.len() + ids.len() <= LIST_MAX {
            self.list.extend_from_slice(ids);
            return;
        }
        let list = std::mem::take(&mut self.list);
        self.add_to_chunks(&list);
        self.add_to_chunks(ids);
    }

    /// Adds the ids of a range.
    pub fn add_range(&mut self, range: Range<i64>) {
        let mut from = range.start;
        while from < range.end {
            let to = range.end.min(from + LIST_MAX as i64);
            self.add(&(from..to).collect::<Vec<i64>>());
            from = to;
        }
    }

    /// Adds the ids of a set.
    pub fn add_set(&mut self, set: &RowSet) {
        match &set.0 {
            Form::List(ids) => self.add(ids),
            Form::Chunks(_) => set.parts().for_each(|part| self.add(&part)),
        }
    }

    fn add_to_chunks(&mut self, ids: &[i64]) {
        let mut rest = ids;
        while let Some(first) = rest.first() {
            let number = number_of(*first);
            let run = rest.iter().take_while(|id| number_of(**id) == number).count();
            let chunk = self.chunks.entry(number).or_insert_with(|| Chunk::Few(Vec::new()));
            rest[..run].iter().for_each(|id| chunk.add(place_of(*id)));
            rest = &rest[run..];
        }
    }

    /// Bytes that the set takes.
    pub fn memory_size(&self) -> usize {
        let chunk = |chunk: &Chunk| match chunk {
            Chunk::Few(places) => 2 * places.capacity(),
            Chunk::Many { .. } => 8 * WORDS,
        };
        8 * self.list.capacity()
            + self.chunks.values().map(|one| chunk(one) + size_of::<Chunk>()).sum::<usize>()
    }

    /// What was added so far, as a set.
    pub fn set(&self) -> RowSet {
        Self { list: self.list.clone(), chunks: self.chunks.clone() }.finish()
    }

    /// The set.
    pub fn finish(mut self) -> RowSet {
        if self.chunks.is_empty() {
            self.list.sort_unstable();
            self.list.dedup();
            return RowSet(Form::List(self.list[..].into()));
        }
        let list = std::mem::take(&mut self.list);
        self.add_to_chunks(&list);
        let len = self.chunks.values().map(Chunk::len).sum();
        let set = RowSet(Form::Chunks(Arc::new(Chunks { by_number: self.chunks, len })));
        if len > LIST_MAX { set } else { RowSet(Form::List((&*set.ids()).into())) }
    }
}

fn number_of(id: i64) -> i64 {
    id.div_euclid(CHUNK)
}

fn place_of(id: i64) -> u16 {
    id.rem_euclid(CHUNK) as u16
}

/// Whether two ascending lists share an element.
pub(crate) fn intersect(left: &[i64], right: &[i64]) -> bool {
    let (few, many) = if left.len() < right.len() { (left, right) } else { (right, left) };
    let (Some(first), Some(last)) = (few.first(), few.last()) else { return false };
    let from = many.partition_point(|id| id < first);
    let to = many.partition_point(|id| id <= last);
    let mut rest = &many[from..to];
    for id in few {
        let position = rest.partition_point(|other| other < id);
        if rest.get(position) == Some(id) {
            return true;
        }
        rest = &rest[position..];
    }
    false
}
