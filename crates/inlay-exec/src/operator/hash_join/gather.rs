//! Gathering rows of vectors into memory that is used again batch after batch.
//!
//! Row numbers are checked against the source once per call, by their maximum; the loops then run without checks.

use crate::dispatch::multiversion;
use inlay_types::pick::pick;
use inlay_types::{Bitmap, Buffer, Native, Vector, VectorKind, View};

/// Stands for "no row" where rows may be missing: the gathered value is NULL.
pub(crate) const NO_ROW: u32 = u32::MAX;

/// The rows at `rows` of `source`, sharing heaps and dictionaries; values lie in `memory` if nobody else holds it.
///
/// Panics when a row is not below the length of `source`.
pub(crate) fn gather(source: &Vector, rows: &[u32], memory: &mut Buffer) -> Vector {
    if source.is_constant() {
        return source.take(rows);
    }
    gather_checked(source, rows, memory, source.validity().map(|v| v.gather(rows)), false)
}

/// As [`gather`], but [`NO_ROW`] gives NULL.
pub(crate) fn gather_nullable(source: &Vector, rows: &[u32], memory: &mut Buffer) -> Vector {
    if !rows.contains(&NO_ROW) {
        return gather(source, rows, memory);
    }
    if source.is_empty() || source.is_constant_null() {
        return Vector::nulls(source.logical_type(), rows.len());
    }
    let flat;
    let source = if source.is_constant() {
        flat = source.flatten();
        &flat
    } else {
        source
    };
    assert!(max_row(rows) <= source.len(), "row outside of vector");
    let validity = match source.validity().map(Bitmap::words) {
        None => {
            let mut words = vec![0; rows.len().div_ceil(64)];
            present(rows, &mut words);
            Bitmap::from_words(words, rows.len())
        }
        Some(words) => {
            let valid = |row: u32| row != NO_ROW && words[row as usize / 64] >> (row % 64) & 1 == 1;
            Bitmap::from_fn(rows.len(), |i| valid(rows[i]))
        }
    };
    gather_checked(source, rows, memory, Some(validity), true)
}

/// The largest row plus one, where [`NO_ROW`] counts as 0.
fn max_row(rows: &[u32]) -> usize {
    rows.iter().fold(0u32, |max, row| max.max(row.wrapping_add(1))) as usize
}

/// Rows are below the length, or [`NO_ROW`] where rows may be `missing`; `source` is flat or a dictionary and not empty unless
/// `rows` is.
fn gather_checked(
    source: &Vector,
    rows: &[u32],
    memory: &mut Buffer,
    validity: Option<Bitmap>,
    missing: bool,
) -> Vector {
    let ty = source.logical_type();
    match source.kind() {
        VectorKind::Dictionary(dictionary) => {
            gather_values::<u32>(source.codes(), rows, memory, missing);
            Vector::dictionary(dictionary.clone(), memory.clone(), rows.len(), validity)
        }
        VectorKind::Flat | VectorKind::Constant => {
            let len = source.len();
            match ty.physical().size() {
                1 => gather_values(&source.data().typed::<u8>()[..len], rows, memory, missing),
                2 => gather_values(&source.data().typed::<u16>()[..len], rows, memory, missing),
                4 => gather_values(&source.data().typed::<u32>()[..len], rows, memory, missing),
                8 => gather_values(&source.data().typed::<u64>()[..len], rows, memory, missing),
                // Two words, for numbers as for views.
                _ => gather_values(&source.data().typed::<View>()[..len], rows, memory, missing),
            }
            Vector::flat(ty, rows.len(), memory.clone(), validity, source.heap().clone())
        }
    }
}

fn gather_values<T: Native>(source: &[T], rows: &[u32], memory: &mut Buffer, missing: bool) {
    memory.reset(rows.len() * size_of::<T>());
    let target = memory.make_mut::<T>();
    if missing { gather_present(source, rows, target) } else { pick(source, 0, rows, target) }
}

multiversion! {
    /// Notes which rows are not [`NO_ROW`], 64 in a word.
    fn present[](rows: &[u32], words: &mut [u64]) {
        for (rows, word) in rows.chunks(64).zip(words) {
            *word = rows.iter().enumerate().fold(0, |word, (bit, row)| word | u64::from(*row != NO_ROW) << bit);
        }
    }
}

multiversion! {
    /// `target[i] = source[rows[i]]`; NO_ROW gives `source[0]`.
    fn gather_present[T: Native](source: &[T], rows: &[u32], target: &mut [T]) {
        assert!(max_row(rows) <= source.len() && (rows.is_empty() || !source.is_empty()), "row outside of vector");
        for (value, &row) in target.iter_mut().zip(rows) {
            let row = if row == NO_ROW { 0 } else { row as usize };
            // SAFETY: every row but NO_ROW is below the length, checked above; 0 is, as the source is not empty.
            *value = unsafe { *source.get_unchecked(row) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use inlay_types::{LogicalType, Value};

    #[test]
    fn missing_rows_are_null_and_memory_is_used_again() {
        let source = [Value::Integer(5), Value::Null, Value::Integer(7)];
        let source = Vector::from_sql_values(LogicalType::Integer, &source).unwrap();
        let mut memory = Buffer::default();
        let found = gather_nullable(&source, &[2, NO_ROW, 1, 0], &mut memory);
        let values: Vec<Value> = (0..4).map(|i| found.get(i)).collect();
        assert_eq!(values, [Value::Integer(7), Value::Null, Value::Null, Value::Integer(5)]);
        let place = memory.as_ptr();
        drop(found);
        assert_eq!(gather(&source, &[0, 0], &mut memory).get(1), Value::Integer(5));
        assert_eq!(memory.as_ptr(), place);
        let nothing = gather_nullable(&Vector::empty(LogicalType::Varchar), &[NO_ROW], &mut memory);
        assert!(nothing.is_null(0));
    }
}
