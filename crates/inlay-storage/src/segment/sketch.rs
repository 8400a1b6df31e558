//! The HyperLogLog sketch of a segment: over distinct values where the encoding knows them, else over all rows.

use super::scan::StoredWords;
use super::{Encoding, Segment};
use crate::hyperloglog::HyperLogLog;
use crate::simd::{self, Lane, Lanes};
use inlay_types::hash::{hash, hash_u64};
use inlay_types::{Bitmap, Result, VECTOR_SIZE, Vector};

pub(super) fn sketch(segment: &Segment) -> Result<HyperLogLog> {
    let mut sketch = HyperLogLog::default();
    match &segment.encoding {
        Encoding::Constant(value) if segment.null_count == 0 && segment.len > 0 => {
            add_vector(&mut sketch, &value.slice(0, 1))
        }
        Encoding::Constant(_) => {}
        Encoding::Dictionary { dictionary, .. } => add_vector(&mut sketch, dictionary.values()),
        Encoding::Plain(_) | Encoding::Frame { .. } | Encoding::Fields(_) => add_rows(&mut sketch, segment)?,
        Encoding::Runs(runs) => return Ok(runs.values.sketch()?.clone()),
        Encoding::Patched(overlay) => return overlay.sketch(),
    }
    Ok(sketch)
}

/// That of all rows of a column.
pub(super) fn of_rows(column: &Vector) -> HyperLogLog {
    let mut sketch = HyperLogLog::default();
    add_vector(&mut sketch, column);
    sketch
}

fn add_rows(sketch: &mut HyperLogLog, segment: &Segment) -> Result<()> {
    let Some(words) = segment.stored_words() else {
        for index in 0..segment.len.div_ceil(VECTOR_SIZE) {
            let rows = segment.vector_rows(index);
            add_vector(sketch, &segment.scan(rows.start, rows.len())?);
        }
        return Ok(());
    };
    match words.lanes {
        // Narrow lanes repeat a lot: the distinct ones are found first.
        Lanes::U8(lanes) => add_narrow::<u8, 4>(sketch, segment, lanes, words),
        Lanes::U16(lanes) => add_narrow::<u16, 1024>(sketch, segment, lanes, words),
        Lanes::U32(lanes) => add_wide(sketch, segment, lanes, words),
        Lanes::U64(lanes) => add_wide(sketch, segment, lanes, words),
    }
    Ok(())
}

/// `WORDS` times 64 is the number of different lanes.
fn add_narrow<L: Lane, const WORDS: usize>(
    sketch: &mut HyperLogLog,
    segment: &Segment,
    lanes: &[L],
    words: StoredWords<'_>,
) {
    let mut seen = [0u64; WORDS];
    let mut see = |lane: L, is_valid: u64| {
        let lane = lane.to_u64() as usize;
        seen[lane / 64 % WORDS] |= is_valid << (lane % 64);
    };
    match &segment.validity {
        None => lanes.iter().for_each(|lane| see(*lane, 1)),
        Some(validity) => {
            for (lanes, valid) in lanes.chunks(64).zip(validity.words()) {
                lanes.iter().enumerate().for_each(|(bit, lane)| see(*lane, valid >> bit & 1));
            }
        }
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
    let (mut hashes, mut memory) = ([0; VECTOR_SIZE], Vec::new());
    for (index, lanes) in lanes.chunks(VECTOR_SIZE).enumerate() {
        let hashes = &mut hashes[..lanes.len()];
        simd::hash_lanes(lanes, words.of_lane, hashes);
        let valid = segment.validity.as_ref().map(|validity| &validity.words()[index * VECTOR_SIZE / 64..]);
        insert_valid(sketch, hashes, valid, &mut memory);
    }
}

/// Adds the hashes of rows that are not NULL.
fn insert_valid(sketch: &mut HyperLogLog, hashes: &[u64], valid: Option<&[u64]>, memory: &mut Vec<u64>) {
    let Some(valid) = valid else { return sketch.insert_all(hashes) };
    memory.resize(hashes.len().max(memory.len()), 0);
    if let Some(hashes) = simd::without_nulls(hashes, &valid[..hashes.len().div_ceil(64)], memory) {
        sketch.insert_all(hashes);
    }
}

/// Of a flat vector.
fn add_vector(sketch: &mut HyperLogLog, vector: &Vector) {
    let (mut hashes, mut memory) = (Vec::with_capacity(VECTOR_SIZE), Vec::new());
    for from in (0..vector.len()).step_by(VECTOR_SIZE) {
        let part = vector.slice(from, (vector.len() - from).min(VECTOR_SIZE));
        hashes.resize(part.len(), 0);
        hash(&part, part.len(), &mut hashes);
        insert_valid(sketch, &hashes, part.validity().map(Bitmap::words), &mut memory);
    }
}
