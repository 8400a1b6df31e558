//! Sorts rows of columns by several keys; what is equal stays in its order.
//!
//! Many rows whose keys are integers (or as good as: [`has_complete_prefix`]) are sorted digit by digit, from the last key to
//! the first. Others are sorted by the first key's prefixes, then by comparing values: in chunks, which are merged. A statement
//! that is cancelled stops within one step of either.

use super::column::Column;
use super::order::{Comparator, Item};
use super::ordered::OrderKey;
use super::prefix::{has_complete_prefix, is_text, prefix_of, text_prefix, write_prefixes};
use inlay_types::limits::check;
use inlay_types::{Result, VECTOR_SIZE};
use std::cmp::Ordering;

/// From how many rows on what is done.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    /// NULLs are parted from others, and prefixes made of many values at once.
    pub(super) parts_min: usize,
    /// Digits are sorted instead of prefixes.
    pub(super) digits_min: usize,
    /// Sorted at once.
    pub(super) chunk_max: usize,
    /// Read, or written, between two looks at the interrupt flag.
    pub(super) step: usize,
}

impl Default for Sizes {
    fn default() -> Self {
        // A comparison of long texts in distant places takes up to a microsecond.
        Self { parts_min: 32, digits_min: 256, chunk_max: 1 << 13, step: 1 << 16 }
    }
}

/// A row and its first key's prefix; the row's number, or its place among the rows to sort.
type Entry = (u64, u32);

/// What rows are sorted by.
pub(super) struct Sorter<'a> {
    pub(super) keys: &'a [OrderKey],
    pub(super) columns: &'a [Column],
    pub(super) comparators: &'a [Comparator],
    pub(super) sizes: Sizes,
}

impl Sorter<'_> {
    /// The rows in order.
    pub(super) fn sort(&self, rows: &[u32]) -> Result<Vec<u32>> {
        let (Some(&key), Some(column)) = (self.keys.first(), self.columns.first()) else {
            return Ok(rows.to_vec());
        };
        if rows.len() < self.sizes.parts_min {
            return Ok(self.few(rows, key, column));
        }
        if self.are_all(rows, Ordering::is_le)? {
            return Ok(rows.to_vec());
        }
        if self.are_all(rows, Ordering::is_gt)? {
            return Ok(rows.iter().rev().copied().collect());
        }
        let is_complete = |column: &Column| has_complete_prefix(column.physical_type());
        if rows.len() >= self.sizes.digits_min && self.columns.iter().all(is_complete) {
            self.by_digits(rows)
        } else {
            self.by_prefixes(rows, key, column)
        }
    }

    fn few(&self, rows: &[u32], key: OrderKey, column: &Column) -> Vec<u32> {
        if rows.len() < 2 {
            return rows.to_vec();
        }
        let entry = |(place, row): (u32, &u32)| (prefix_of(column, *row as usize, key), place);
        let mut entries: Vec<Entry> = (0..).zip(rows).map(entry).collect();
        entries.sort_unstable_by(|a, b| {
            let row = |entry: &Entry| rows[entry.1 as usize] as usize;
            a.0.cmp(&b.0).then_with(|| self.compare(0, row(a), row(b)).then(a.1.cmp(&b.1)))
        });
        entries.iter().map(|entry| rows[entry.1 as usize]).collect()
    }

    /// Parts of what can be many, and between them a look at the interrupt flag.
    fn steps<'s, T>(&self, items: &'s [T]) -> impl Iterator<Item = Result<&'s [T]>> + use<'s, T> {
        items.chunks(self.sizes.step).map(|part| check().map(|()| part))
    }

    /// Whether this holds of the order of each row to the next.
    fn are_all(&self, rows: &[u32], holds: impl Fn(Ordering) -> bool) -> Result<bool> {
        for from in (0..rows.len()).step_by(self.sizes.step) {
            check()?;
            // The last row of a step is the first of the next.
            let part = &rows[from..rows.len().min(from + self.sizes.step + 1)];
            if !part.is_sorted_by(|a, b| holds(self.compare(0, *a as usize, *b as usize))) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Compares rows by the keys from number `first` on.
    fn compare(&self, first: usize, left: usize, right: usize) -> Ordering {
        let keys = self.keys.iter().zip(self.columns).zip(self.comparators);
        let mut orders = keys.skip(first).map(|((key, column), comparator)| {
            let order = key.order_of_nulls(column.is_null(left), column.is_null(right));
            order.unwrap_or_else(|| {
                let item = |row| Item::of_column(column, row);
                key.directed(comparator.compare(item(left), item(right)))
            })
        });
        orders.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    }

    /// Splits rows into those whose key number `key` comes first and those where it comes last, in their order: NULLs, and
    /// others with their prefixes. What goes with a row is `tag` of its place and its number.
    fn entries(
        &self,
        key: usize,
        rows: &[u32],
        tag: impl Fn(u32, u32) -> u32,
    ) -> Result<(Vec<Entry>, Vec<Entry>)> {
        let (order, column) = (self.keys[key], &self.columns[key]);
        let mut null_count = 0;
        for part in self.steps(rows) {
            null_count += part?.iter().filter(|row| column.is_null(**row as usize)).count();
        }
        let mut nulls = Vec::with_capacity(null_count);
        let mut others = Vec::with_capacity(rows.len() - null_count);
        let shared =
            if is_text(&column.logical_type()) { Some(self.shared_len(column, rows)?) } else { None };
        let mut prefixes = Vec::new();
        for (number, part) in rows.chunks(VECTOR_SIZE).enumerate() {
            if number % 64 == 63 {
                check()?;
            }
            if let Some(shared) = shared {
                let rest = |row: &u32| column.bytes(*row as usize).get(shared..).unwrap_or_default();
                prefixes.clear();
                prefixes.extend(part.iter().map(|row| order.directed_prefix(text_prefix(rest(row)))));
            } else {
                write_prefixes(&column.gather(part), part.len(), order, &mut prefixes);
            }
            let places = (number * VECTOR_SIZE) as u32..;
            for ((place, &row), &prefix) in places.zip(part).zip(&prefixes) {
                let is_null = null_count > 0 && column.is_null(row as usize);
                if is_null { &mut nulls } else { &mut others }.push((prefix, tag(place, row)));
            }
        }
        Ok(if order.nulls_first { (nulls, others) } else { (others, nulls) })
    }

    /// How many bytes all texts begin with: prefixes of what follows tell more of them apart.
    fn shared_len(&self, column: &Column, rows: &[u32]) -> Result<usize> {
        let mut shared: Option<&[u8]> = None;
        for part in self.steps(rows) {
            for row in part?.iter().filter(|row| !column.is_null(**row as usize)) {
                let bytes = column.bytes(*row as usize);
                let len = shared
                    .map_or(bytes.len(), |known| known.iter().zip(bytes).take_while(|(a, b)| a == b).count());
                if len == 0 {
                    return Ok(0);
                }
                shared = Some(&bytes[..len]);
            }
        }
        Ok(shared.map_or(0, <[u8]>::len))
    }

    fn by_digits(&self, rows: &[u32]) -> Result<Vec<u32>> {
        let mut rows = rows.to_vec();
        let mut buffer = Vec::new();
        for key in (0..self.keys.len()).rev() {
            let (mut first, mut second) = self.entries(key, &rows, |_, row| row)?;
            rows.clear();
            for part in [&mut first, &mut second] {
                self.sort_digits(part, &mut buffer)?;
                for part in self.steps(part) {
                    rows.extend(part?.iter().map(|(_, row)| *row));
                }
            }
        }
        Ok(rows)
    }

    /// Sorts by the bits that are not the same in all prefixes, eight at a time.
    fn sort_digits(&self, entries: &mut Vec<Entry>, buffer: &mut Vec<Entry>) -> Result<()> {
        let Some(&(one, _)) = entries.first() else { return Ok(()) };
        let mut rest = 0;
        for part in self.steps(entries) {
            rest |= part?.iter().fold(0, |bits, (prefix, _)| bits | (prefix ^ one));
        }
        if rest == 0 {
            return Ok(());
        }
        self.resize(buffer, entries.len())?;
        while rest != 0 {
            let shift = rest.trailing_zeros();
            let digit = |entry: &Entry| (entry.0 >> shift) as usize & 0xff;
            let mut next = [0u32; 256];
            for part in self.steps(entries) {
                part?.iter().for_each(|entry| next[digit(entry)] += 1);
            }
            let mut before = 0;
            for place in &mut next {
                (*place, before) = (before, before + *place);
            }
            for part in self.steps(entries) {
                for entry in part? {
                    let place = &mut next[digit(entry)];
                    buffer[*place as usize] = *entry;
                    *place += 1;
                }
            }
            std::mem::swap(entries, buffer);
            rest &= u64::MAX.checked_shl(shift + 8).unwrap_or(0);
        }
        Ok(())
    }

    /// Makes entries to overwrite; the system takes its time to find memory for many.
    fn resize(&self, entries: &mut Vec<Entry>, len: usize) -> Result<()> {
        entries.truncate(len);
        entries.reserve_exact(len - entries.len());
        while entries.len() < len {
            check()?;
            entries.resize(len.min(entries.len() + self.sizes.step), (0, 0));
        }
        Ok(())
    }

    fn by_prefixes(&self, rows: &[u32], key: OrderKey, column: &Column) -> Result<Vec<u32>> {
        let is_complete = has_complete_prefix(column.physical_type());
        let (first, second) = self.entries(0, rows, |place, _| place)?;
        let mut order = Vec::with_capacity(rows.len());
        let mut buffer = Vec::new();
        for (mut part, are_nulls) in [(first, key.nulls_first), (second, !key.nulls_first)] {
            let settled = usize::from(is_complete || are_nulls);
            self.sort_chunks(&mut part, &mut buffer, |a, b| {
                let row = |entry: &Entry| rows[entry.1 as usize] as usize;
                let rest = || self.compare(settled, row(a), row(b)).then(a.1.cmp(&b.1));
                a.0.cmp(&b.0).then_with(rest)
            })?;
            for part in self.steps(&part) {
                order.extend(part?.iter().map(|entry| rows[entry.1 as usize]));
            }
        }
        Ok(order)
    }

    /// Sorts entries of which no two are equal.
    fn sort_chunks(
        &self,
        entries: &mut Vec<Entry>,
        buffer: &mut Vec<Entry>,
        compare: impl Fn(&Entry, &Entry) -> Ordering,
    ) -> Result<()> {
        let mut sorted = self.sizes.chunk_max;
        for (number, chunk) in entries.chunks_mut(sorted).enumerate() {
            if number > 0 {
                check()?;
            }
            chunk.sort_unstable_by(&compare);
        }
        if sorted < entries.len() {
            self.resize(buffer, entries.len())?;
        }
        while sorted < entries.len() {
            for (pair, target) in entries.chunks(2 * sorted).zip(buffer.chunks_mut(2 * sorted)) {
                let (left, right) = pair.split_at(sorted.min(pair.len()));
                self.merge(left, right, target, &compare)?;
            }
            std::mem::swap(entries, buffer);
            sorted *= 2;
        }
        Ok(())
    }

    fn merge<'a>(
        &self,
        mut left: &'a [Entry],
        mut right: &'a [Entry],
        target: &mut [Entry],
        compare: impl Fn(&Entry, &Entry) -> Ordering,
    ) -> Result<()> {
        for part in target.chunks_mut(self.sizes.step) {
            check()?;
            for place in part {
                let from_left = match (left.first(), right.first()) {
                    (Some(a), Some(b)) => compare(a, b).is_lt(),
                    (a, _) => a.is_some(),
                };
                let source = if from_left { &mut left } else { &mut right };
                if let Some((entry, rest)) = source.split_first() {
                    (*place, *source) = (*entry, rest);
                }
            }
        }
        Ok(())
    }
}
