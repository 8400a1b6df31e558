//! Sets of places in a row group.
//!
//! ```text
//! Places: rows, count, a chunk per 65,536 rows -> List [u16] | Runs [first, last] | Bits [u64]
//! ```
//! A chunk has the form that takes least: two bytes for each place, four for each run of them, or a bit for each row. That is
//! Roaring's (Chambi, Lemire, Kaser, Godin 2016; Lemire, Ssi-Yan-Kai, Kaser 2016) for a fixed number of rows: NOT is defined, chunks
//! have numbers and no keys, the last one's bits end with the rows, and the form is the same whatever a set was made by.
//!
//! Invariants
//! - There are `rows.div_ceil(65536)` chunks, and no place from `rows` on.
//! - Each chunk has the smallest form ([`chunk::form`]), so equal sets are equal bytes.
//!
//! Two sets that are combined are about equally many rows; anything else is a defect of who asks, and an error.

mod chunk;
mod combine;
mod image;
mod marks;
#[cfg(test)]
pub(crate) mod tests;
mod words;

pub use marks::Marks;

use chunk::{CHUNK, Chunk, words_of};
use inlay_types::{Error, Result};

/// A set of places below a number of rows. See the module documentation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    rows: u32,
    count: u32,
    chunks: Vec<Chunk>,
}

/// Rows of the chunks of so many rows: all but the last are full.
fn chunk_rows(rows: u32) -> impl Iterator<Item = usize> {
    let rows = rows as usize;
    (0..rows.div_ceil(CHUNK)).map(move |number| (rows - number * CHUNK).min(CHUNK))
}

impl Places {
    fn of(rows: u32, chunks: Vec<Chunk>) -> Self {
        let count = chunks.iter().map(Chunk::count).sum();
        Self { rows, count, chunks }
    }

    /// No place of `rows`.
    pub fn none(rows: u32) -> Self {
        Self { rows, count: 0, chunks: chunk_rows(rows).map(|_| Chunk::none()).collect() }
    }

    /// Every place of `rows`.
    pub fn all(rows: u32) -> Self {
        Self { rows, count: rows, chunks: chunk_rows(rows).map(Chunk::all).collect() }
    }

    /// Of ascending places below `rows`.
    pub fn from_sorted(places: &[u32], rows: u32) -> Result<Self> {
        if !places.is_sorted_by(|left, right| left < right) || places.last().is_some_and(|last| *last >= rows)
        {
            return Err(Error::internal("places of a set that are out of order or behind its rows"));
        }
        let mut left = places;
        let mut short = Vec::new();
        let chunks = chunk_rows(rows).enumerate().map(|(number, rows)| {
            let here = left.partition_point(|place| *place as usize / CHUNK == number);
            short.clear();
            short.extend(left[..here].iter().map(|place| *place as u16));
            left = &left[here..];
            Chunk::of_list(&short, rows)
        });
        let chunks = chunks.collect();
        Ok(Self { rows, count: places.len() as u32, chunks })
    }

    /// Of a bit per row, lowest bit first; bits behind `rows` count for nothing, and words that are missing are zero.
    pub fn from_words(words: &[u64], rows: u32) -> Self {
        let chunks = chunk_rows(rows).enumerate().map(|(number, rows)| {
            let from = (number * CHUNK / 64).min(words.len());
            let given = &words[from..words.len().min(from + words_of(rows))];
            let mut own = vec![0; words_of(rows)].into_boxed_slice();
            own[..given.len()].copy_from_slice(given);
            if let (1.., Some(last)) = (rows % 64, own.last_mut()) {
                *last &= (1 << (rows % 64)) - 1;
            }
            Chunk::of_words(own, rows)
        });
        let chunks = chunks.collect();
        Self::of(rows, chunks)
    }

    /// How many rows the set is about.
    pub fn rows(&self) -> u32 {
        self.rows
    }

    /// How many places there are.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Whether a place is there.
    pub fn contains(&self, place: u32) -> bool {
        place < self.rows && self.chunks[place as usize / CHUNK].contains(place as u16)
    }

    /// The first place.
    pub fn first(&self) -> Option<u32> {
        let mut chunks = self.chunks.iter().enumerate();
        chunks.find_map(|(number, chunk)| Some((number * CHUNK) as u32 + u32::from(chunk.first()?)))
    }

    /// How many places are below one.
    pub fn rank(&self, place: u32) -> u32 {
        if place >= self.rows {
            return self.count;
        }
        let number = place as usize / CHUNK;
        let before: u32 = self.chunks[..number].iter().map(Chunk::count).sum();
        before + self.chunks[number].rank(place as u16)
    }

    fn same_rows(&self, other: &Self) -> Result<()> {
        if self.rows != other.rows {
            return Err(Error::internal(format!("sets of {} and of {} rows", self.rows, other.rows)));
        }
        Ok(())
    }

    fn combine(&self, other: &Self, with: impl Fn(&Chunk, &Chunk, usize) -> Chunk) -> Result<Self> {
        self.same_rows(other)?;
        let pairs = self.chunks.iter().zip(&other.chunks).zip(chunk_rows(self.rows));
        Ok(Self::of(self.rows, pairs.map(|((left, right), rows)| with(left, right, rows)).collect()))
    }

    /// Places in both.
    pub fn and(&self, other: &Self) -> Result<Self> {
        self.combine(other, Chunk::and)
    }

    /// Places in one of the two.
    pub fn or(&self, other: &Self) -> Result<Self> {
        self.combine(other, Chunk::or)
    }

    /// Places that are not in the other.
    pub fn and_not(&self, other: &Self) -> Result<Self> {
        self.combine(other, Chunk::and_not)
    }

    /// Places of the rows that are not in the set.
    pub fn not(&self) -> Self {
        let chunks = self.chunks.iter().zip(chunk_rows(self.rows)).map(|(chunk, rows)| chunk.not(rows));
        Self { rows: self.rows, count: self.rows - self.count, chunks: chunks.collect() }
    }

    /// Places in any of the sets; each is gone through once, however many there are.
    pub fn any_of(sets: &[&Self], rows: u32) -> Result<Self> {
        if let Some(other) = sets.iter().find(|set| set.rows != rows) {
            return Err(Error::internal(format!("sets of {} and of {rows} rows", other.rows)));
        }
        if let [one] = sets {
            return Ok((*one).clone());
        }
        if let [one, other] = sets {
            return one.or(other);
        }
        let chunks = chunk_rows(rows).enumerate().map(|(number, rows)| {
            let mut words = vec![0; words_of(rows)].into_boxed_slice();
            sets.iter().for_each(|set| set.chunks[number].set_in(&mut words));
            Chunk::of_words(words, rows)
        });
        let chunks = chunks.collect();
        Ok(Self::of(rows, chunks))
    }

    /// How many places are in both, without the set of them.
    pub fn count_and(&self, other: &Self) -> Result<u32> {
        self.same_rows(other)?;
        Ok(self.chunks.iter().zip(&other.chunks).map(|(left, right)| left.count_and(right)).sum())
    }

    /// Whether a place is in both.
    pub fn intersects(&self, other: &Self) -> Result<bool> {
        self.same_rows(other)?;
        Ok(self.chunks.iter().zip(&other.chunks).any(|(left, right)| left.count_and(right) > 0))
    }

    /// Shows the places, ascending.
    #[inline]
    pub fn for_each(&self, mut visit: impl FnMut(u32)) {
        for (number, chunk) in self.chunks.iter().enumerate() {
            let base = (number * CHUNK) as u32;
            chunk.for_each(|place| visit(base + u32::from(place)));
        }
    }

    /// Appends the places, ascending.
    pub fn append_to(&self, out: &mut Vec<u32>) {
        out.reserve(self.count as usize);
        self.for_each(|place| out.push(place));
    }

    /// Sets the bits of the places in as many words as the rows need.
    pub fn set_in(&self, words: &mut [u64]) -> Result<()> {
        if words.len() != words_of(self.rows as usize) {
            return Err(Error::internal("words for another number of rows than a set has"));
        }
        for (chunk, words) in self.chunks.iter().zip(words.chunks_mut(CHUNK / 64)) {
            chunk.set_in(words);
        }
        Ok(())
    }

    /// What it takes to go through the set, about: an operation for each place of a list, or for some words.
    pub fn effort(&self) -> usize {
        self.chunks.iter().map(Chunk::effort).sum()
    }

    /// Bytes in memory.
    pub fn memory_size(&self) -> usize {
        size_of::<Self>()
            + self.chunks.iter().map(|chunk| size_of::<Chunk>() + chunk.heap_size()).sum::<usize>()
    }
}

/// A set that is made chunk by chunk.
#[derive(Debug, Default)]
pub(crate) struct Builder {
    chunks: Vec<Chunk>,
}

impl Builder {
    /// The ascending places of the next chunk, which has so many rows.
    pub fn push(&mut self, places: &[u16], rows: usize) {
        self.chunks.push(Chunk::of_list(places, rows));
    }

    pub fn finish(self, rows: u32) -> Places {
        Places::of(rows, self.chunks)
    }
}
