//! TABLESAMPLE and USING SAMPLE: rows chosen at random, the same ones for the same seed whatever the workers.
//!
//! Each row draws a number from a generator that is seeded by its morsel. Bernoulli keeps the rows, system the vectors
//! whose number is below the share. A reservoir keeps the rows with the smallest numbers: each worker drops those that
//! cannot be among them while it collects, and the rest is chosen at the end.

use super::materialize::{Materialize, RowBuffer};
use crate::context::ExecContext;
use crate::pipeline::{Flow, Sink};
use inlay_sql::plan::{Sample, SampleMethod, SampleSize};
use inlay_types::{Batch, Reservation, Result};
use parking_lot::Mutex;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

/// A worker of a reservoir looks at what to drop when it holds this many rows more than it wants.
const SURPLUS_ROWS: usize = 1 << 16;

/// Collects a sample into a [`RowBuffer`].
pub struct SampleRows {
    method: SampleMethod,
    size: SampleSize,
    seed: u64,
    rows: Materialize,
    context: ExecContext,
    reservoir: Mutex<Reservoir>,
}

/// What the workers of a reservoir have kept.
#[derive(Default)]
struct Reservoir {
    rows: Vec<Kept>,
    seen: u64,
    reservations: Vec<Reservation>,
}

/// Rows of one batch with their numbers.
struct Kept {
    morsel: usize,
    /// The batch's place within its morsel.
    place: usize,
    batch: Batch,
    numbers: Vec<u64>,
}

/// What a worker has.
pub struct Local {
    inner: <Materialize as Sink>::Local,
    random: Random,
    morsel: usize,
    place: usize,
    kept: Vec<Kept>,
    count: usize,
    seen: u64,
    reservation: Option<Reservation>,
}

/// SplitMix64 (Steele, Lea, Flood 2014).
#[derive(Clone, Copy)]
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// From 0 to below 1.
    fn fraction(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

impl SampleRows {
    /// A sample as the plan says.
    pub fn new(context: &ExecContext, sample: Sample) -> Self {
        let default = match sample.size {
            SampleSize::Rows(_) => SampleMethod::Reservoir,
            SampleSize::Percent(_) => SampleMethod::System,
        };
        Self {
            method: sample.method.unwrap_or(default),
            size: sample.size,
            seed: sample.seed.unwrap_or_else(|| RandomState::new().hash_one(0u8)),
            rows: Materialize::new(context),
            context: context.clone(),
            reservoir: Mutex::default(),
        }
    }

    /// Where the rows will be.
    pub fn buffer(&self) -> Arc<RowBuffer> {
        self.rows.buffer()
    }

    /// How many of `seen` rows a reservoir keeps.
    fn wanted(&self, seen: u64) -> usize {
        let wanted = match self.size {
            SampleSize::Rows(rows) => rows.min(seen),
            SampleSize::Percent(share) => (seen as f64 * share / 100.0).round() as u64,
        };
        usize::try_from(wanted).unwrap_or(usize::MAX)
    }

    /// Drops the rows of a worker that cannot be in the reservoir.
    fn shrink(&self, local: &mut Local) -> Result<()> {
        // The worker's share of the whole is not known; a tenth more than its own is enough for so many rows.
        let wanted = match self.size {
            SampleSize::Rows(_) => self.wanted(local.seen),
            SampleSize::Percent(_) => (self.wanted(local.seen) as f64 * 1.1) as usize + SURPLUS_ROWS / 64,
        };
        if local.count > wanted.saturating_add(SURPLUS_ROWS) {
            keep_smallest(&mut local.kept, wanted);
            local.count = local.kept.iter().map(|kept| kept.numbers.len()).sum();
        }
        let bytes: usize = local.kept.iter().map(|kept| kept.numbers.len() * 8 + bytes_of(&kept.batch)).sum();
        match &mut local.reservation {
            None => local.reservation = Some(self.context.budget.reserve(bytes as u64)?),
            Some(held) => held.resize(bytes as u64)?,
        }
        Ok(())
    }
}

fn bytes_of(batch: &Batch) -> usize {
    batch.columns().iter().map(|column| if column.is_constant() { 16 } else { column.data().size() }).sum()
}

/// Keeps the `wanted` rows with the smallest numbers.
fn keep_smallest(kept: &mut Vec<Kept>, wanted: usize) {
    let mut numbers: Vec<u64> = kept.iter().flat_map(|kept| kept.numbers.iter().copied()).collect();
    if wanted >= numbers.len() {
        return;
    }
    let Some(last) = wanted.checked_sub(1) else {
        kept.clear();
        return;
    };
    let bound = *numbers.select_nth_unstable(last).1;
    for one in kept.iter_mut() {
        let rows: Vec<u32> =
            (0..one.numbers.len() as u32).filter(|row| one.numbers[*row as usize] <= bound).collect();
        if rows.len() < one.numbers.len() {
            one.batch = one.batch.take(&rows);
            one.numbers.retain(|number| *number <= bound);
        }
    }
    kept.retain(|one| !one.numbers.is_empty());
}

impl Sink for SampleRows {
    type Local = Local;

    fn local(&self) -> Local {
        Local {
            inner: self.rows.local(),
            random: Random(self.seed),
            morsel: 0,
            place: 0,
            kept: Vec::new(),
            count: 0,
            seen: 0,
            reservation: None,
        }
    }

    fn start_morsel(&self, number: usize, local: &mut Local) {
        let mut mix = Random(self.seed ^ (number as u64).rotate_left(32));
        local.random = Random(mix.next());
        (local.morsel, local.place) = (number, 0);
        self.rows.start_morsel(number, &mut local.inner);
    }

    fn consume(&self, input: Batch, local: &mut Local) -> Result<Flow> {
        let share = match self.size {
            SampleSize::Percent(share) => share / 100.0,
            SampleSize::Rows(_) => 1.0,
        };
        match self.method {
            SampleMethod::System => {
                if local.random.fraction() >= share {
                    return Ok(Flow::More);
                }
                self.rows.consume(input, &mut local.inner)
            }
            SampleMethod::Bernoulli => {
                let rows: Vec<u32> =
                    (0..input.len() as u32).filter(|_| local.random.fraction() < share).collect();
                if rows.is_empty() {
                    return Ok(Flow::More);
                }
                self.rows.consume(input.take(&rows), &mut local.inner)
            }
            SampleMethod::Reservoir => {
                let numbers: Vec<u64> = (0..input.len()).map(|_| local.random.next()).collect();
                local.seen += input.len() as u64;
                local.count += input.len();
                let (morsel, place) = (local.morsel, local.place);
                local.place += 1;
                local.kept.push(Kept { morsel, place, batch: input, numbers });
                if local.kept.len().is_multiple_of(16) {
                    self.shrink(local)?;
                }
                Ok(Flow::More)
            }
        }
    }

    fn end_morsel(&self, local: &mut Local) -> Result<Flow> {
        self.rows.end_morsel(&mut local.inner)
    }

    fn combine(&self, mut local: Local) -> Result<()> {
        self.shrink(&mut local)?;
        let Local { inner, kept, seen, reservation, .. } = local;
        let mut reservoir = self.reservoir.lock();
        reservoir.rows.extend(kept);
        reservoir.seen += seen;
        reservoir.reservations.extend(reservation);
        drop(reservoir);
        self.rows.combine(inner)
    }

    fn finalize(&self, context: &ExecContext) -> Result<()> {
        let Reservoir { mut rows, seen, reservations } = std::mem::take(&mut *self.reservoir.lock());
        if self.method == SampleMethod::Reservoir {
            keep_smallest(&mut rows, self.wanted(seen));
            rows.sort_by_key(|kept| (kept.morsel, kept.place));
            let mut local = self.rows.local();
            for kept in rows {
                self.rows.consume(kept.batch, &mut local)?;
            }
            self.rows.end_morsel(&mut local)?;
            self.rows.combine(local)?;
        }
        drop(reservations);
        self.rows.finalize(context)
    }
}
