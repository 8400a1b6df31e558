//! Slots with their rows spread over parts, each of a range of slots: what is built of one part stays in a core's cache, and
//! parts are built by different workers.

use crate::ExecContext;
use inlay_types::Result;
use parking_lot::Mutex;

/// Bytes that are touched at random while a part is built, about: a share of a core's second-level cache.
const PART_BYTES: usize = 1 << 17;
/// So many parts are written to at once at most.
const PARTS_MAX: usize = 1 << 9;
/// Parts per worker at least, where there are several.
const PARTS_PER_WORKER: usize = 4;
/// Parts begin with a word of bits.
const SHIFT_MIN: u32 = u64::BITS.trailing_zeros();

/// See the module documentation.
pub(super) struct Spread {
    /// Slots of a part are equal but for so many lower bits.
    shift: u32,
    /// What each of some ranges of rows has.
    ranges: Vec<Pairs>,
    parts: usize,
}

/// Slots (upper half) and rows, part by part.
#[derive(Default)]
struct Pairs {
    pairs: Vec<u64>,
    offsets: Vec<u32>,
}

impl Spread {
    /// Bytes per row.
    pub(super) const ROW_BYTES: usize = size_of::<u64>();

    /// Rows `0, 1, ..` with their slots, each below `domain`.
    pub(super) fn new(context: &ExecContext, slots: &[u32], domain: usize) -> Result<Self> {
        let workers = context.workers.count();
        let touched = slots.len() * 2 * size_of::<u32>() + domain / 4;
        let least = if workers > 1 { workers * PARTS_PER_WORKER } else { 1 };
        let wanted = (touched / PART_BYTES).max(least).next_power_of_two().min(PARTS_MAX);
        let last = domain.saturating_sub(1) as u64;
        let shift = (u64::BITS - last.leading_zeros()).saturating_sub(wanted.trailing_zeros()).max(SHIFT_MIN);
        let parts = (last >> shift) as usize + 1;
        let rows = slots.len().div_ceil(workers.max(1)).max(1);
        let ranges: Vec<Mutex<Pairs>> = slots.chunks(rows).map(|_| Mutex::default()).collect();
        context.parallel(ranges.len(), |range| {
            let part = &slots[range * rows..slots.len().min((range + 1) * rows)];
            *ranges[range].lock() = Pairs::new(part, (range * rows) as u32, shift, parts);
            Ok(())
        })?;
        Ok(Self { shift, ranges: ranges.into_iter().map(Mutex::into_inner).collect(), parts })
    }

    pub(super) fn parts(&self) -> usize {
        self.parts
    }

    /// How many slots a part has, a multiple of 64; the last part may have fewer.
    pub(super) fn slots_per_part(&self) -> usize {
        1 << self.shift
    }

    /// How many rows a part has.
    pub(super) fn rows_in(&self, part: usize) -> usize {
        self.ranges.iter().map(|range| range.part(part).len()).sum()
    }

    /// Calls `each` with the slots and rows of a part, rows ascending.
    #[inline(always)]
    pub(super) fn each(&self, part: usize, mut each: impl FnMut(u32, u32)) {
        for range in &self.ranges {
            range.part(part).iter().for_each(|pair| each((pair >> u32::BITS) as u32, *pair as u32));
        }
    }
}

impl Pairs {
    fn new(slots: &[u32], first_row: u32, shift: u32, parts: usize) -> Self {
        let mut offsets = vec![0u32; parts + 1];
        slots.iter().for_each(|slot| offsets[(slot >> shift) as usize + 1] += 1);
        (0..parts).for_each(|part| offsets[part + 1] += offsets[part]);
        let (mut next, mut pairs) = (offsets.clone(), vec![0; slots.len()]);
        for (row, &slot) in slots.iter().enumerate() {
            let place = &mut next[(slot >> shift) as usize];
            pairs[*place as usize] = u64::from(slot) << u32::BITS | u64::from(first_row + row as u32);
            *place += 1;
        }
        Self { pairs, offsets }
    }

    fn part(&self, part: usize) -> &[u64] {
        &self.pairs[self.offsets[part] as usize..self.offsets[part + 1] as usize]
    }
}
