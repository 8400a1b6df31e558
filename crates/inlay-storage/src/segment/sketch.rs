//! The HyperLogLog sketch of a segment: over distinct values where the encoding knows them, else over all rows.

use super::{Encoding, Segment};
use crate::hyperloglog::HyperLogLog;
use crate::simd::Lanes;
use inlay_kernels::hash::{hash, hash_u64};
use inlay_types::{VECTOR_SIZE, Vector};

pub(super) fn sketch(segment: &Segment) -> HyperLogLog {
    let mut sketch = HyperLogLog::default();
    match &segment.encoding {
        Encoding::Constant(value) if segment.null_count == 0 && segment.len > 0 => add_vector(&mut sketch, &value.slice(0, 1)),
        Encoding::Constant(_) => {}
        Encoding::Dictionary { dictionary, .. } => add_vector(&mut sketch, dictionary.values()),
        Encoding::Plain(_) | Encoding::Frame { .. } => add_rows(&mut sketch, segment),
    }
    sketch
}

fn add_rows(sketch: &mut HyperLogLog, segment: &Segment) {
    let Some(word) = segment.stored_word() else {
        for index in 0..segment.len.div_ceil(VECTOR_SIZE) {
            let rows = segment.vector_rows(index);
            add_vector(sketch, &segment.scan(rows.start, rows.len()));
        }
        return;
    };
    let is_null = |row: usize| segment.validity.as_ref().is_some_and(|v| !v.get(row));
    // Narrow offsets repeat a lot: find the distinct ones first.
    let narrow = matches!(segment.lanes(0..segment.len), Some(Lanes::U8(_) | Lanes::U16(_)));
    if narrow && segment.len > 4096 {
        let first = word(0);
        let mut seen = vec![0u64; 2 << 10];
        let mut example = |row: usize| {
            let value = word(row);
            let place = (value.wrapping_sub(first) & 0xFFFF) as usize;
            let (index, bit) = (place / 64, 1u64 << (place % 64));
            if seen[index] & bit == 0 {
                seen[index] |= bit;
                sketch.insert(hash_u64(value));
            }
        };
        (0..segment.len).filter(|row| !is_null(*row)).for_each(&mut example);
        return;
    }
    (0..segment.len).filter(|row| !is_null(*row)).for_each(|row| sketch.insert(hash_u64(word(row))));
}

fn add_vector(sketch: &mut HyperLogLog, vector: &Vector) {
    let mut hashes = vec![0; vector.len()];
    hash(vector, vector.len(), &mut hashes);
    for (row, hash) in hashes.into_iter().enumerate() {
        if !vector.is_null(row) {
            sketch.insert(hash);
        }
    }
}
