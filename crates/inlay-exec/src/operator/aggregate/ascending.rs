//! Groups of one integer key that ascends, as the key of a table that was written in its order does: a row's group is that
//! of the row before or the next one, and nothing is looked up.

use super::encode::{Word, with_words};
use inlay_kernels::aggregate::Column;
use inlay_types::{LogicalType, PhysicalType, Vector};

/// Whether words of a type are in the order of its values.
pub(super) fn is_ordered(ty: &LogicalType) -> bool {
    use PhysicalType::{I8, I16, I32, I64, U8, U16, U32};
    matches!(ty.physical(), I8 | I16 | I32 | I64 | U8 | U16 | U32)
}

/// The key of a group, as an ordered word.
pub(super) fn word_at(keys: &Column, group: usize) -> i64 {
    let (bits, _) = keys.words(group);
    match keys.physical_type() {
        PhysicalType::I8 => i64::from(bits as i8),
        PhysicalType::I16 => i64::from(bits as i16),
        PhysicalType::I32 => i64::from(bits as i32),
        _ => bits as i64,
    }
}

/// The last key, as an ordered word, once there is one.
pub(super) type Last = Option<i64>;

/// Whether the keys of a flat vector go on from `last` and never descend, and none is NULL.
pub(super) fn ascends(key: &Vector, last: Last) -> bool {
    fn of<T: Word>(values: &[T], last: Last) -> bool {
        let Some(first) = values.first() else { return true };
        let descents =
            values.windows(2).map(|pair| usize::from((pair[0].word() as i64) > pair[1].word() as i64));
        last.is_none_or(|last| last <= first.word() as i64) && descents.sum::<usize>() == 0
    }
    key.null_count() == 0 && with_words!(key, values, of(values, last), false)
}

/// Numbers the groups of keys that ascend: those of new keys are `next`, `next + 1`, ...; their rows are appended to `new_rows`.
pub(super) fn number(key: &Vector, last: &mut Last, next: u32, groups: &mut [u32], new_rows: &mut Vec<u32>) {
    fn of<T: Word>(values: &[T], last: &mut Last, next: u32, groups: &mut [u32], new_rows: &mut Vec<u32>) {
        let (Some(first), Some(end)) = (values.first(), values.last()) else { return };
        // The first of all keys differs from any before it.
        let mut before = last.unwrap_or(!(first.word() as i64));
        let start = new_rows.len();
        new_rows.resize(start + values.len(), 0);
        let places = &mut new_rows[start..];
        let mut count = 0;
        for (row, (value, group)) in values.iter().zip(groups).enumerate() {
            let word = value.word() as i64;
            // Overwritten by the next row if the key is an old one. `count` is at most `row`.
            places[count] = row as u32;
            count += usize::from(word != before);
            *group = next.wrapping_add(count as u32).wrapping_sub(1);
            before = word;
        }
        new_rows.truncate(start + count);
        *last = Some(end.word() as i64);
    }
    with_words!(key, values, of(values, last, next, groups, new_rows), ());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_go_on_from_batch_to_batch() {
        let (mut last, mut rows, mut groups) = (None, Vec::new(), [9; 6]);
        let key = |values: &[i32]| Vector::from_values(LogicalType::Integer, values);
        let first = key(&[-3, -3, 0, 0, 0, 7]);
        assert!(ascends(&first, last));
        number(&first, &mut last, 0, &mut groups, &mut rows);
        assert_eq!((groups, &rows[..], last), ([0, 0, 1, 1, 1, 2], &[0, 2, 5][..], Some(7)));
        rows.clear();
        let second = key(&[7, 7, 7, 7, 8, i32::MAX]);
        assert!(ascends(&second, last));
        number(&second, &mut last, 3, &mut groups, &mut rows);
        assert_eq!((groups, &rows[..]), ([2, 2, 2, 2, 3, 4], &[4, 5][..]));
        assert!(!ascends(&first, last) && !ascends(&key(&[1, 0]), None));
        let with_null = Vector::from_sql_values(LogicalType::Integer, &[inlay_types::Value::Null]).unwrap();
        assert!(!ascends(&with_null, None));
    }
}
