//! A set that changes: a bit for each row, for conditions that combine many sets and keep none of the results.
//!
//! [`Places`] look for their smallest form whenever two are combined, which takes longer than to combine them; here words are
//! changed where they are.

use super::chunk::{CHUNK, words_of};
use super::{Places, words};
use inlay_types::{Error, Result, simd};

/// Marked rows of so many.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marks {
    rows: u32,
    words: Vec<u64>,
}

impl Marks {
    /// No row is marked.
    pub fn none(rows: u32) -> Self {
        Self { rows, words: vec![0; words_of(rows as usize)] }
    }

    /// All rows are.
    pub fn all(rows: u32) -> Self {
        let mut marks = Self::none(rows);
        marks.invert();
        marks
    }

    /// How many rows there are, marked or not.
    pub fn rows(&self) -> u32 {
        self.rows
    }

    /// How many are marked.
    pub fn count(&self) -> u32 {
        words::count(&self.words)
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|word| *word == 0)
    }

    /// Whether a row is.
    pub fn contains(&self, row: u32) -> bool {
        row < self.rows && self.words[row as usize / 64] >> (row % 64) & 1 != 0
    }

    /// Takes all marks away.
    pub fn clear(&mut self) {
        self.words.fill(0);
    }

    /// Marks the rows that were not, and no others.
    pub fn invert(&mut self) {
        words::not(&mut self.words);
        if let (1.., Some(last)) = (self.rows % 64, self.words.last_mut()) {
            *last &= (1 << (self.rows % 64)) - 1;
        }
    }

    fn expect_rows(&self, rows: u32) -> Result<()> {
        if self.rows == rows {
            return Ok(());
        }
        Err(Error::internal(format!("marks of {} rows and a set of {rows}", self.rows)))
    }

    /// Marks the rows of a set.
    pub fn add(&mut self, set: &Places) -> Result<()> {
        self.expect_rows(set.rows)?;
        set.set_in(&mut self.words)
    }

    /// Leaves the rows of a set unmarked.
    pub fn remove(&mut self, set: &Places) -> Result<()> {
        self.expect_rows(set.rows)?;
        let parts = self.words.chunks_mut(CHUNK / 64);
        set.chunks.iter().zip(parts).for_each(|(chunk, words)| chunk.clear_in(words));
        Ok(())
    }

    /// Leaves all rows but those of a set unmarked.
    pub fn keep(&mut self, set: &Places) -> Result<()> {
        self.expect_rows(set.rows)?;
        let parts = self.words.chunks_mut(CHUNK / 64);
        set.chunks.iter().zip(parts).for_each(|(chunk, words)| chunk.keep_in(words));
        Ok(())
    }

    /// Marks what others have marked, too.
    pub fn add_marked(&mut self, other: &Self) -> Result<()> {
        self.expect_rows(other.rows)?;
        words::or(&mut self.words, &other.words);
        Ok(())
    }

    /// Keeps the marks that others have, too.
    pub fn keep_marked(&mut self, other: &Self) -> Result<()> {
        self.expect_rows(other.rows)?;
        words::and(&mut self.words, &other.words);
        Ok(())
    }

    /// Takes the marks away whose bits are set, lowest first; words that are missing have none.
    pub fn remove_words(&mut self, words: &[u64]) {
        words::and_not(&mut self.words, words);
    }

    /// How many rows of a set are marked.
    pub fn count_in(&self, set: &Places) -> Result<u32> {
        self.expect_rows(set.rows)?;
        let parts = self.words.chunks(CHUNK / 64);
        Ok(set.chunks.iter().zip(parts).map(|(chunk, words)| chunk.count_in(words)).sum())
    }

    /// Fills `out` with the marked rows, ascending.
    pub fn write_to(&self, out: &mut Vec<u32>) {
        simd::positions(&self.words, self.rows as usize, out);
    }
}
