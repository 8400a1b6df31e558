//! Three-valued logic on BOOLEAN vectors.
//!
//! Bytes are combined as they are; with NULLs, a known FALSE (for AND) or TRUE (for OR) wins over an unknown side.

use crate::compare::{ByteScratch, retain_rows, select_bytes};
use inlay_types::multiversion;
use inlay_types::simd::pack_bits;
use inlay_types::{Bitmap, Error, LogicalType, Result, Value, Vector, VectorKind};

/// `left AND right`, three-valued.
pub fn and(left: &Vector, right: &Vector, len: usize, out: &mut Vector) -> Result<()> {
    junction::<true>(left, right, len, out)
}

/// `left OR right`, three-valued.
pub fn or(left: &Vector, right: &Vector, len: usize, out: &mut Vector) -> Result<()> {
    junction::<false>(left, right, len, out)
}

/// `NOT input`; NULL stays NULL.
pub fn not(input: &Vector, len: usize, out: &mut Vector) -> Result<()> {
    check(input)?;
    match input.kind() {
        VectorKind::Constant => {
            let value = constant_of(input).map_or(Value::Null, |b| Value::Boolean(!b));
            *out = Vector::constant(LogicalType::Boolean, &value, len)?;
        }
        VectorKind::Dictionary(_) => return not(&input.flatten(), len, out),
        VectorKind::Flat => {
            out.reset_flat(&LogicalType::Boolean, len);
            for (target, source) in out.values_mut::<u8>().iter_mut().zip(input.values::<u8>()) {
                *target = (source ^ 1) & 1;
            }
            out.set_validity(input.validity().cloned());
        }
    }
    Ok(())
}

/// `input IS NULL`, for vectors of any type; never NULL.
pub fn is_null(input: &Vector, len: usize, out: &mut Vector) -> Result<()> {
    if input.is_constant() || input.validity().is_none() {
        *out = Vector::constant(LogicalType::Boolean, &Value::Boolean(input.is_constant_null()), len)?;
        return Ok(());
    }
    out.reset_flat(&LogicalType::Boolean, len);
    let words = input.validity().map(Bitmap::words).unwrap_or_default();
    for (row, target) in out.values_mut::<u8>().iter_mut().enumerate() {
        *target = (!(words[row / 64] >> (row % 64)) & 1) as u8;
    }
    Ok(())
}

/// Clears `out` and fills it with the rows (all `len`, or those of `selection`) where a BOOLEAN vector is TRUE, in order.
pub fn select_true(input: &Vector, len: usize, selection: Option<&[u32]>, out: &mut Vec<u32>) {
    out.clear();
    match input.kind() {
        VectorKind::Constant => {
            if constant_of(input) == Some(true) {
                match selection {
                    Some(rows) => out.extend_from_slice(rows),
                    None => out.extend(0..len as u32),
                }
            }
        }
        VectorKind::Dictionary(_) => select_true(&input.flatten(), len, selection, out),
        VectorKind::Flat => {
            let bytes = &input.values::<u8>()[..len];
            let Some(rows) = selection else { return select_bytes(bytes, [input.validity(), None], out) };
            let Some(validity) = input.validity() else { return retain_rows(bytes, rows, out) };
            let mut valid = ByteScratch::new(len);
            let valid = valid.slice(len);
            for &row in rows {
                valid[row as usize] = bytes[row as usize] & u8::from(validity.get(row as usize));
            }
            retain_rows(valid, rows, out);
        }
    }
}

fn check(input: &Vector) -> Result<()> {
    match input.logical_type() {
        LogicalType::Boolean => Ok(()),
        other => Err(Error::internal(format!("logic on a vector of {other}"))),
    }
}

fn constant_of(input: &Vector) -> Option<bool> {
    (!input.is_null(0)).then(|| input.values::<u8>()[0] != 0)
}

fn junction<const AND: bool>(left: &Vector, right: &Vector, len: usize, out: &mut Vector) -> Result<()> {
    check(left)?;
    check(right)?;
    if left.is_constant() && (!right.is_constant() || constant_of(left) != Some(!AND)) {
        return with_constant::<AND>(constant_of(left), right, len, out);
    }
    if right.is_constant() {
        return with_constant::<AND>(constant_of(right), left, len, out);
    }
    if left.as_dictionary().is_some() {
        return junction::<AND>(&left.flatten(), right, len, out);
    }
    if right.as_dictionary().is_some() {
        return junction::<AND>(left, &right.flatten(), len, out);
    }
    let (l, r) = (&left.values::<u8>()[..len], &right.values::<u8>()[..len]);
    out.reset_flat(&LogicalType::Boolean, len);
    join_bytes(l, r, u8::from(AND), out.values_mut::<u8>());
    if left.validity().is_some() || right.validity().is_some() {
        out.set_validity(Some(joint_validity::<AND>((l, left.validity()), (r, right.validity()), len)));
    }
    Ok(())
}

multiversion! {
    fn join_bytes[](left: &[u8], right: &[u8], and: u8, out: &mut [u8]) {
        if and == 1 {
            for ((out, &l), &r) in out.iter_mut().zip(left).zip(right) {
                *out = l & r & 1;
            }
        } else {
            for ((out, &l), &r) in out.iter_mut().zip(left).zip(right) {
                *out = (l | r) & 1;
            }
        }
    }
}

/// Rows that are known: both sides are, or one side is and decides.
fn joint_validity<const AND: bool>(
    left: (&[u8], Option<&Bitmap>),
    right: (&[u8], Option<&Bitmap>),
    len: usize,
) -> Bitmap {
    let count = len.div_ceil(64);
    let (mut l_bits, mut r_bits) = (vec![0u64; count], vec![0u64; count]);
    pack_bits(left.0, &mut l_bits);
    pack_bits(right.0, &mut r_bits);
    let valid = |validity: Option<&Bitmap>, index: usize| validity.map_or(u64::MAX, |v| v.words()[index]);
    let words = (0..count).map(|i| {
        let (l_valid, r_valid) = (valid(left.1, i), valid(right.1, i));
        let flip = if AND { u64::MAX } else { 0 };
        let decided = l_valid & (l_bits[i] ^ flip) | r_valid & (r_bits[i] ^ flip);
        l_valid & r_valid | decided
    });
    // Where the deciding side is known but the other is not, the byte is right whatever the unknown slot holds.
    Bitmap::from_words(words.collect(), len)
}

fn with_constant<const AND: bool>(
    constant: Option<bool>,
    other: &Vector,
    len: usize,
    out: &mut Vector,
) -> Result<()> {
    match constant {
        // The neutral side: the answer is the other one.
        Some(value) if value == AND => {
            *out = if other.len() == len { other.clone() } else { other.slice(0, len) }
        }
        // The deciding side.
        Some(value) => *out = Vector::constant(LogicalType::Boolean, &Value::Boolean(value), len)?,
        None if other.is_constant() => {
            let value = if constant_of(other) == Some(!AND) { Value::Boolean(!AND) } else { Value::Null };
            *out = Vector::constant(LogicalType::Boolean, &value, len)?;
        }
        None => {
            return junction::<AND>(
                &Vector::nulls(LogicalType::Boolean, len).flatten(),
                &other.flatten(),
                len,
                out,
            );
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Option<bool>; 3] = [Some(true), Some(false), None];

    fn value(b: Option<bool>) -> Value {
        b.map_or(Value::Null, Value::Boolean)
    }

    #[test]
    fn junctions_are_three_valued_for_every_pair_and_shape() {
        type Pair = (Option<bool>, Option<bool>);
        let pairs: Vec<Pair> = ALL.iter().flat_map(|&l| ALL.iter().map(move |&r| (l, r))).collect();
        let column = |side: fn(&Pair) -> Option<bool>| {
            let values: Vec<Value> = pairs.iter().map(|p| value(side(p))).collect();
            Vector::from_sql_values(LogicalType::Boolean, &values).unwrap()
        };
        let (left, right) = (column(|p| p.0), column(|p| p.1));
        let mut shapes = vec![(left.clone(), right.clone())];
        for constant in ALL {
            let constant = Vector::constant(LogicalType::Boolean, &value(constant), 9).unwrap();
            shapes.push((constant.clone(), right.clone()));
            shapes.push((left.clone(), constant.clone()));
            for other in ALL {
                let other = Vector::constant(LogicalType::Boolean, &value(other), 9).unwrap();
                shapes.push((constant.clone(), other));
            }
        }
        for (l, r) in shapes {
            let (mut both, mut any) =
                (Vector::empty(LogicalType::Boolean), Vector::empty(LogicalType::Boolean));
            and(&l, &r, 9, &mut both).unwrap();
            or(&l, &r, 9, &mut any).unwrap();
            for row in 0..9 {
                let sides = [l.get(row), r.get(row)];
                let has = |b: bool| sides.contains(&Value::Boolean(b));
                let null = sides.contains(&Value::Null);
                let expected = |winner: bool| match () {
                    () if has(winner) => Value::Boolean(winner),
                    () if null => Value::Null,
                    () => Value::Boolean(!winner),
                };
                assert_eq!(both.get(row), expected(false), "{sides:?}");
                assert_eq!(any.get(row), expected(true), "{sides:?}");
            }
        }
    }

    #[test]
    fn negation_null_tests_and_selection() {
        let values: Vec<Value> = ALL.iter().map(|&b| value(b)).collect();
        let input = Vector::from_sql_values(LogicalType::Boolean, &values).unwrap();
        let mut out = Vector::empty(LogicalType::Boolean);
        not(&input, 3, &mut out).unwrap();
        assert_eq!(
            [out.get(0), out.get(1), out.get(2)],
            [Value::Boolean(false), Value::Boolean(true), Value::Null]
        );
        is_null(&input, 3, &mut out).unwrap();
        assert_eq!(out.values::<u8>(), [0, 0, 1]);
        let mut rows = Vec::new();
        select_true(&input, 3, None, &mut rows);
        assert_eq!(rows, [0]);
        select_true(&input, 3, Some(&[0, 2]), &mut rows);
        assert_eq!(rows, [0]);
    }
}
