//! Rows whose numbers are equal, told apart by the texts that did not fit into them.
//!
//! The next bytes of each text are fetched once and sorted beside the rows, and those of rows that are still equal after them, as
//! quicksort of texts goes on byte by byte (Bentley and Sedgewick, "Fast algorithms for sorting and searching strings",
//! 1997), here fourteen at a time. Comparing whole texts would fetch both for each comparison.

use super::KeyColumn;
use inlay_types::{Buffer, View};

/// Bytes of a text that are looked at in one step.
const STEP: usize = 14;

/// How far in front of the known bytes a text may end that is told by its length.
const FILLED_MAX: usize = 12;

/// Fewer rows are compared with one another.
pub(super) const TIES_MIN: usize = 6;

/// Texts in their order, without NULLs.
pub(super) struct Texts<'a> {
    views: &'a [View],
    heap: &'a [Buffer],
    descending: bool,
    /// Bytes of each text that are known to be equal where numbers are.
    known: usize,
}

impl<'a> Texts<'a> {
    /// The texts of a key, if they can be told apart here.
    pub(super) fn of(key: &KeyColumn<'a>, known: usize) -> Option<Self> {
        let vector = key.vector;
        let is_text = vector.is_flat() && vector.ty().is_view() && !vector.ty().is_nested();
        (is_text && vector.validity().is_none()).then(|| Self {
            views: vector.views(),
            heap: vector.heap().buffers(),
            descending: key.descending,
            known,
        })
    }

    /// The bytes of a row from `from` on, and how many there are: one more than [`STEP`] for more. Texts that end before
    /// come first, the shortest in front.
    #[inline]
    fn head(&self, row: u32, from: usize) -> u128 {
        let bytes = self.views[row as usize].bytes(self.heap);
        let mut head = [0u8; 16];
        match bytes.get(from..) {
            Some(rest) => {
                let count = rest.len().min(STEP);
                head[0] = u8::MAX;
                head[1..=count].copy_from_slice(&rest[..count]);
                head[STEP + 1] = rest.len().min(STEP + 1) as u8;
            }
            None => head[0] = bytes.len().saturating_sub(from.saturating_sub(FILLED_MAX)) as u8,
        }
        let head = u128::from_be_bytes(head);
        if self.descending { !head } else { head }
    }

    /// Whether a text ends within what a head has of it.
    fn is_complete(&self, head: u128) -> bool {
        let head = if self.descending { !head } else { head };
        usize::from(head as u8) <= STEP
    }

    /// Sorts rows whose texts begin alike, those with equal texts by `rest`.
    pub(super) fn sort(&self, rows: &mut [u32], rest: &dyn Fn(&mut [u32])) {
        let mut heads = Vec::with_capacity(rows.len());
        self.sort_from(self.known, rows, &mut heads, rest);
    }

    fn sort_from(
        &self,
        mut from: usize,
        rows: &mut [u32],
        heads: &mut Vec<(u128, u32)>,
        rest: &dyn Fn(&mut [u32]),
    ) {
        // All may have more bytes in common.
        let is_complete = loop {
            heads.clear();
            heads.extend(rows.iter().map(|&row| (self.head(row, from), row)));
            let first = heads[0].0;
            let is_complete = self.is_complete(first);
            if is_complete || heads.iter().any(|(head, _)| *head != first) {
                break is_complete && heads.iter().all(|(head, _)| *head == first);
            }
            from += STEP;
        };
        if is_complete {
            return rest(rows);
        }
        heads.sort_unstable();
        rows.iter_mut().zip(heads.iter()).for_each(|(row, (_, sorted))| *row = *sorted);
        let mut ties: Vec<(usize, usize, bool)> = Vec::new();
        let mut at = 0;
        for same in heads.chunk_by(|a, b| a.0 == b.0) {
            if same.len() > 1 {
                ties.push((at, at + same.len(), self.is_complete(same[0].0)));
            }
            at += same.len();
        }
        for (start, end, is_complete) in ties {
            let rows = &mut rows[start..end];
            if is_complete { rest(rows) } else { self.sort_from(from + STEP, rows, heads, rest) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use inlay_types::{LogicalType, Value, Vector};

    #[test]
    fn texts_that_end_before_come_first() {
        let texts = ["a", "a\0", "a\0\0", "a\0\0b", "a\0\0\0\0\0\0\0\0\0\0\0", "a\0\0\0\0\0\0\0\0\0\0\0x"];
        let values: Vec<Value> = texts.iter().map(|text| Value::Varchar((*text).into())).collect();
        let vector = Vector::from_sql_values(LogicalType::Varchar, &values).unwrap();
        let key = KeyColumn { vector: &vector, descending: false, nulls_first: false };
        let mut rows = vec![5, 2, 1, 4, 0];
        Texts::of(&key, 12).unwrap().sort(&mut rows, &|rows| rows.sort_unstable());
        assert_eq!(rows, [0, 1, 2, 4, 5]);
    }

    #[test]
    fn rows_are_in_the_order_of_their_texts_then_of_rows() {
        let long = "the same beginning of every text, longer than thirty bytes";
        let mut texts: Vec<String> = Vec::new();
        for number in 0..500u32 {
            let tail = number * 7919 % 61;
            texts.push(match number % 5 {
                0 => format!("{long}{tail}"),
                1 => format!("{long}{}", "x".repeat(tail as usize)),
                2 => long[..tail as usize % long.len()].to_string(),
                3 => format!("{long}{}\0", "x".repeat(tail as usize)),
                _ => format!("é{tail}"),
            });
        }
        let values: Vec<Value> = texts.iter().map(|text| Value::Varchar(text.clone())).collect();
        let vector = Vector::from_sql_values(LogicalType::Varchar, &values).unwrap();
        for descending in [false, true] {
            let key = KeyColumn { vector: &vector, descending, nulls_first: false };
            let mut rows: Vec<u32> = (0..500).collect();
            Texts::of(&key, 0).unwrap().sort(&mut rows, &|rows| rows.sort_unstable());
            let mut expected: Vec<u32> = (0..500).collect();
            expected.sort_by(|&a, &b| key.compare(a, b).then(a.cmp(&b)));
            assert_eq!(rows, expected, "descending: {descending}");
        }
    }
}
