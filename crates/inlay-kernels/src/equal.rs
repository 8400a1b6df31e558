//! Equality of gathered pairs of rows, for hash tables: nothing is materialised.

use crate::compare::SqlOrd;
use inlay_types::{Interval, PhysicalType, Vector, VectorKind};
use std::borrow::Cow;

/// Keeps of `matches` (positions into `left_rows` and `right_rows`) those `i` whose rows
/// `left[left_rows[i]]` and `right[right_rows[i]]` are equal, in order; both vectors have one type.
/// NULL equals NULL if `nulls_equal`, else nothing.
pub fn retain_equal(
    left: &Vector,
    left_rows: &[u32],
    right: &Vector,
    right_rows: &[u32],
    nulls_equal: bool,
    matches: &mut Vec<u32>,
) {
    debug_assert_eq!(left.physical_type(), right.physical_type());
    let (left, left_at) = physical(left, left_rows);
    let (right, right_at) = physical(right, right_rows);
    let nulls = Nulls { left: left.0, left_rows, right: right.0, right_rows, nulls_equal };
    let nulls = if left.0.validity().is_none() && right.0.validity().is_none() { None } else { Some(nulls) };
    let pairs = Pairs { left: left.1, left_at: &left_at, right: right.1, right_at: &right_at, nulls };
    match left.1.physical_type() {
        PhysicalType::Bool | PhysicalType::I8 | PhysicalType::U8 => pairs.retain::<u8>(matches),
        PhysicalType::I16 | PhysicalType::U16 => pairs.retain::<u16>(matches),
        PhysicalType::I32 | PhysicalType::U32 => pairs.retain::<u32>(matches),
        PhysicalType::I64 | PhysicalType::U64 => pairs.retain::<u64>(matches),
        PhysicalType::I128 | PhysicalType::U128 => pairs.retain::<u128>(matches),
        PhysicalType::F32 => pairs.retain::<f32>(matches),
        PhysicalType::F64 => pairs.retain::<f64>(matches),
        PhysicalType::Interval => pairs.retain::<Interval>(matches),
        PhysicalType::View => pairs.retain_views(matches),
    }
}

/// The vector (for validity) and the flat or constant vector of its values, with the positions of `rows` in the latter.
fn physical<'a>(vector: &'a Vector, rows: &'a [u32]) -> ((&'a Vector, &'a Vector), Cow<'a, [u32]>) {
    match vector.kind() {
        VectorKind::Flat => ((vector, vector), Cow::Borrowed(rows)),
        VectorKind::Constant => ((vector, vector), Cow::Owned(vec![0; rows.len()])),
        VectorKind::Dictionary(dictionary) => {
            let codes = vector.codes();
            let at = rows.iter().map(|&row| codes[row as usize]).collect();
            ((vector, dictionary.values()), Cow::Owned(at))
        }
    }
}

struct Nulls<'a> {
    left: &'a Vector,
    left_rows: &'a [u32],
    right: &'a Vector,
    right_rows: &'a [u32],
    nulls_equal: bool,
}

impl Nulls<'_> {
    /// The answer for pair `i` if a side is NULL.
    fn answer(&self, i: usize) -> Option<bool> {
        let l = self.left.is_null(self.left_rows[i] as usize);
        let r = self.right.is_null(self.right_rows[i] as usize);
        (l || r).then_some(l && r && self.nulls_equal)
    }
}

struct Pairs<'a> {
    left: &'a Vector,
    left_at: &'a [u32],
    right: &'a Vector,
    right_at: &'a [u32],
    nulls: Option<Nulls<'a>>,
}

impl Pairs<'_> {
    fn retain<T: SqlOrd>(&self, matches: &mut Vec<u32>) {
        let (l, r) = (self.left.values::<T>(), self.right.values::<T>());
        self.retain_if(matches, |a, b| l[a].equal(r[b]));
    }

    fn retain_views(&self, matches: &mut Vec<u32>) {
        let (l, r) = (self.left.views(), self.right.views());
        let (l_heap, r_heap) = (self.left.heap().buffers(), self.right.heap().buffers());
        self.retain_if(matches, |a, b| l[a].equals(l_heap, &r[b], r_heap));
    }

    #[inline(always)]
    fn retain_if(&self, matches: &mut Vec<u32>, equal: impl Fn(usize, usize) -> bool) {
        let mut count = 0;
        for at in 0..matches.len() {
            let pair = matches[at];
            let i = pair as usize;
            let values_equal = || equal(self.left_at[i] as usize, self.right_at[i] as usize);
            let keep = match &self.nulls {
                None => values_equal(),
                Some(nulls) => nulls.answer(i).unwrap_or_else(values_equal),
            };
            matches[count] = pair;
            count += usize::from(keep);
        }
        matches.truncate(count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use inlay_types::{LogicalType, Value};

    #[test]
    fn pairs_are_kept_when_equal_and_nulls_as_asked() {
        let values = [Value::Integer(1), Value::Null, Value::Integer(3)];
        let flat = Vector::from_sql_values(LogicalType::Integer, &values).unwrap();
        let one = Vector::constant(LogicalType::Integer, &Value::Integer(1), 3).unwrap();
        let mut matches = vec![0, 1, 2, 3];
        retain_equal(&flat, &[0, 1, 2, 1], &flat, &[0, 1, 0, 2], true, &mut matches);
        assert_eq!(matches, [0, 1]);
        let mut matches = vec![0, 1, 2, 3];
        retain_equal(&flat, &[0, 1, 2, 1], &flat, &[0, 1, 0, 2], false, &mut matches);
        assert_eq!(matches, [0]);
        let mut matches = vec![0, 1, 2];
        retain_equal(&flat, &[0, 1, 2], &one, &[0, 1, 2], false, &mut matches);
        assert_eq!(matches, [0]);
    }
}
