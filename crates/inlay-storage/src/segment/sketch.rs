//! The HyperLogLog sketch of a segment: over distinct values where the encoding knows them, else over all rows.

use super::scan::StoredWords;
use super::{Encoding, Segment};
use crate::hyperloglog::HyperLogLog;
use crate::simd::{self, Lane, Lanes};
use inlay_kernels::hash::{hash, hash_u64};
use inlay_types::{VECTOR_SIZE, Vector};

pub(super) fn sketch(segment: &Segment) -> HyperLogLog {
    let mut sketch = HyperLogLog::default();
    match &segment.encoding {
        Encoding::Constant(value) if segment.null_count == 0 && segment.len > 0 => {
            add_vector(&mut sketch, &value.slice(0, 1))
        }
        Encoding::Constant(_) => {}
        Encoding::Dictionary { dictionary, .. } => add_vector(&mut sketch, dictionary.values()),
        Encoding::Plain(_) | Encoding::Frame { .. } => add_rows(&mut sketch, segment),
        Encoding::Runs(runs) => return runs.values.sketch().clone(),
        Encoding::Patched(overlay) => return overlay.sketch(),
    }
    sketch
}

fn add_rows(sketch: &mut HyperLogLog, segment: &Segment) {
    let Some(words) = segment.stored_words() else {
        for index in 0..segment.len.div_ceil(VECTOR_SIZE) {
            let rows = segment.vector_rows(index);
            add_vector(sketch, &segment.scan(rows.start, rows.len()));
        }
        return;
    };
    match words.lanes {
        // Narrow lanes repeat a lot: the distinct ones are found first.
        Lanes::U8(lanes) => add_narrow::<u8, 4>(sketch, segment, lanes, words),
        Lanes::U16(lanes) => add_narrow::<u16, 1024>(sketch, segment, lanes, words),
        Lanes::U32(lanes) => add_wide(sketch, segment, lanes, words),
        Lanes::U64(lanes) => add_wide(sketch, segment, lanes, words),
    }
}

/// `WORDS` times 64 is the number of different lanes.
fn add_narrow<L: Lane, const WORDS: usize>(
    sketch: &mut HyperLogLog,
    segment: &Segment,
    lanes: &[L],
    words: StoredWords<'_>,
) {
    let mut seen = [0u64; WORDS];
    let mut see = |lane: L| {
        let lane = lane.to_u64() as usize;
        seen[lane / 64 % WORDS] |= 1 << (lane % 64);
    };
    match &segment.validity {
        None => lanes.iter().for_each(|lane| see(*lane)),
        Some(validity) => (0..lanes.len()).filter(|row| validity.get(*row)).for_each(|row| see(lanes[row])),
    }
    for (index, &word) in seen.iter().enumerate() {
        let mut left = word;
        while left != 0 {
            sketch.insert(hash_u64(words.of_lane.word(index as u64 * 64 + u64::from(left.trailing_zeros()))));
            left &= left - 1;
        }
    }
}

fn add_wide<L: Lane>(sketch: &mut HyperLogLog, segment: &Segment, lanes: &[L], words: StoredWords<'_>) {
    let mut hashes = [0; VECTOR_SIZE];
    for (index, lanes) in lanes.chunks(VECTOR_SIZE).enumerate() {
        let hashes = &mut hashes[..lanes.len()];
        simd::hash_lanes(lanes, words.of_lane, hashes);
        match &segment.validity {
            None => sketch.insert_all(hashes),
            Some(validity) => {
                let is_valid = |row: usize| validity.get(index * VECTOR_SIZE + row);
                let valid = hashes.iter().enumerate().filter(|(row, _)| is_valid(*row));
                valid.for_each(|(_, hash)| sketch.insert(*hash));
            }
        }
    }
}

/// Of a flat vector.
fn add_vector(sketch: &mut HyperLogLog, vector: &Vector) {
    let mut hashes = Vec::with_capacity(VECTOR_SIZE);
    for from in (0..vector.len()).step_by(VECTOR_SIZE) {
        let part = vector.slice(from, (vector.len() - from).min(VECTOR_SIZE));
        hashes.resize(part.len(), 0);
        hash(&part, part.len(), &mut hashes);
        if part.null_count() == 0 {
            sketch.insert_all(&hashes);
            continue;
        }
        let valid = hashes.iter().enumerate().filter(|(row, _)| !part.is_null(*row));
        valid.for_each(|(_, hash)| sketch.insert(*hash));
    }
}
