//! The pairs of a group in the order of their values, as `histogram` shows them.

use super::counts::{CHECK_ROWS, Counts, Pace};
use crate::aggregate::order::Item;
use inlay_types::limits;
use inlay_types::{Interval, LogicalType, PhysicalType, Result};
use std::cmp::Ordering;

/// The pairs of a group by value, least first. No two of them have equal values.
pub(super) fn by_value(counts: &Counts, pairs: &[u32]) -> Result<Vec<u32>> {
    let values = &counts.values;
    let wide = |pair: u32| {
        let (low, high) = values.words(pair as usize);
        u128::from(high) << 64 | u128::from(low)
    };
    match values.physical_type() {
        PhysicalType::I128 => by_key(pairs, |pair| wide(pair) as i128),
        PhysicalType::U128 => by_key(pairs, wide),
        PhysicalType::Interval => by_key(pairs, |pair| {
            let (low, high) = values.words(pair as usize);
            Interval { months: low as i32, days: (low >> 32) as i32, micros: high as i64 }.order_key()
        }),
        PhysicalType::View => match values.logical_type() {
            LogicalType::Varchar | LogicalType::Blob => {
                let entries = pairs.iter().map(|&pair| (prefix_of(values.bytes(pair as usize)), pair));
                let rest = |pair: u32| values.bytes(pair as usize);
                let compare =
                    |a: &(u64, u32), b: &(u64, u32)| a.0.cmp(&b.0).then_with(|| rest(a.1).cmp(rest(b.1)));
                Ok(sort(entries.collect(), compare)?.into_iter().map(|(_, pair)| pair).collect())
            }
            _ => {
                let item = |pair: u32| Item::of_column(values, pair as usize);
                sort(pairs.to_vec(), |&a, &b| counts.comparator.compare(item(a), item(b)))
            }
        },
        carrier => by_key(pairs, |pair| rank_of(carrier, values.words(pair as usize).0)),
    }
}

/// An integer in the order of values that have at most 8 bytes.
fn rank_of(carrier: PhysicalType, word: u64) -> u64 {
    const SIGN: u64 = 1 << 63;
    let signed = |value: i64| value as u64 ^ SIGN;
    let float = |value: f64| {
        // -0.0 is 0.0, and NaN is above all numbers.
        let bits = if value.is_nan() { f64::NAN.abs().to_bits() } else { (value + 0.0).to_bits() };
        if bits & SIGN == 0 { bits | SIGN } else { !bits }
    };
    match carrier {
        PhysicalType::I8 => signed(i64::from(word as i8)),
        PhysicalType::I16 => signed(i64::from(word as i16)),
        PhysicalType::I32 => signed(i64::from(word as i32)),
        PhysicalType::I64 => signed(word as i64),
        PhysicalType::F32 => float(f64::from(f32::from_bits(word as u32))),
        PhysicalType::F64 => float(f64::from_bits(word)),
        _ => word,
    }
}

/// The first bytes of a text, in its order.
fn prefix_of(bytes: &[u8]) -> u64 {
    let mut first = [0; 8];
    let len = bytes.len().min(8);
    first[..len].copy_from_slice(&bytes[..len]);
    u64::from_be_bytes(first)
}

fn by_key<K: Ord + Copy>(pairs: &[u32], key: impl Fn(u32) -> K) -> Result<Vec<u32>> {
    let entries = pairs.iter().map(|&pair| (key(pair), pair)).collect();
    Ok(sort(entries, |a: &(K, u32), b| a.0.cmp(&b.0))?.into_iter().map(|(_, pair)| pair).collect())
}

/// Sorts, and stops when the statement does: runs are sorted, and then merged.
pub(super) fn sort<T: Copy>(mut items: Vec<T>, compare: impl Fn(&T, &T) -> Ordering) -> Result<Vec<T>> {
    if items.len() <= CHECK_ROWS {
        items.sort_unstable_by(compare);
        return Ok(items);
    }
    for run in items.chunks_mut(CHECK_ROWS) {
        limits::check()?;
        run.sort_unstable_by(&compare);
    }
    let mut width = CHECK_ROWS;
    let mut merged = Vec::with_capacity(items.len());
    while width < items.len() {
        for both in items.chunks(2 * width) {
            let (left, right) = both.split_at(width.min(both.len()));
            merge(left, right, &mut merged, &compare)?;
        }
        std::mem::swap(&mut items, &mut merged);
        merged.clear();
        width *= 2;
    }
    Ok(items)
}

fn merge<T: Copy>(
    mut left: &[T],
    mut right: &[T],
    merged: &mut Vec<T>,
    compare: impl Fn(&T, &T) -> Ordering,
) -> Result<()> {
    let mut pace = Pace::default();
    while let ([a, left_rest @ ..], [b, right_rest @ ..]) = (left, right) {
        pace.add(1)?;
        if compare(b, a).is_lt() {
            merged.push(*b);
            right = right_rest;
        } else {
            merged.push(*a);
            left = left_rest;
        }
    }
    merged.extend_from_slice(left);
    merged.extend_from_slice(right);
    Ok(())
}
