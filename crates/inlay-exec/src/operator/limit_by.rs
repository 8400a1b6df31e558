//! LIMIT and OFFSET by numbers that another plan computes: percentages of the rows, results of subqueries.
//!
//! The numbers are computed first, so that whoever collects the rows has enough as soon as with constant ones. Only a share of
//! the rows has to wait for all of them.

use super::materialize::{BufferScan, RowBuffer};
use crate::context::ExecContext;
use crate::pipeline::{Flow, Morsel, Source};
use inlay_types::{Batch, Error, Result, Value};
use parking_lot::Mutex;
use std::sync::{Arc, OnceLock};

/// The rows between two computed numbers.
pub struct ComputedRange {
    context: ExecContext,
    counts: BufferScan,
    /// Whether there is a limit, and whether it is a percentage.
    limit: Option<bool>,
    has_offset: bool,
    /// The one row of counts.
    values: OnceLock<Vec<Value>>,
    /// Taken by who reads it.
    reading: Mutex<()>,
}

impl ComputedRange {
    /// `counts` has one row, from which this is read once it is filled: the limit (BIGINT, or DOUBLE for a percentage) and the
    /// offset (BIGINT), as far as there are such.
    pub fn new(
        context: &ExecContext,
        counts: (Arc<RowBuffer>, Vec<usize>),
        limit: Option<bool>,
        has_offset: bool,
    ) -> Self {
        let counts = BufferScan::new(vec![counts]);
        let (values, reading) = (OnceLock::new(), Mutex::new(()));
        Self { context: context.clone(), counts, limit, has_offset, values, reading }
    }

    fn values(&self) -> Result<&[Value]> {
        if let Some(values) = self.values.get() {
            return Ok(values);
        }
        let _reading = self.reading.lock();
        let mut values = Vec::new();
        let mut read = |batch: Batch| {
            if !batch.is_empty() {
                values = batch.columns().iter().map(|column| column.get(0)).collect();
            }
            Ok(Flow::More)
        };
        self.counts.start(&self.context)?;
        while self.counts.run_morsel(&mut (), &mut |_| {}, &mut read)? == Morsel::Pushed {}
        Ok(self.values.get_or_init(|| values))
    }

    fn offset(&self) -> Result<u64> {
        let value = self.values()?.get(usize::from(self.limit.is_some())).filter(|_| self.has_offset);
        Ok(value.map_or(Ok(None), |value| count_of(value, "OFFSET"))?.unwrap_or(0))
    }

    /// How many rows are wanted at most, those that are left out among them.
    pub fn rows_wanted(&self) -> Result<u64> {
        match (self.limit, self.values()?.first()) {
            (Some(false), Some(value)) => {
                let limit = count_of(value, "LIMIT")?;
                let offset = self.offset()?;
                Ok(limit.map_or(u64::MAX, |limit| limit.saturating_add(offset)))
            }
            _ => Ok(u64::MAX),
        }
    }

    /// The first row wanted and the one behind the last, of so many.
    fn range(&self, rows: u64) -> Result<(u64, u64)> {
        let offset = self.offset()?;
        match (self.limit, self.values()?.first()) {
            (Some(true), Some(value)) if !value.is_null() => {
                let share = value
                    .as_f64()
                    .ok_or_else(|| Error::internal(format!("{value} as the number of a LIMIT in percent")))?;
                if !(0.0..=100.0).contains(&share) {
                    return Err(Error::out_of_range(format!("LIMIT {share}%: expected 0 to 100 percent")));
                }
                let limit = (rows as f64 * share / 100.0).floor() as u64;
                Ok((offset, offset.saturating_add(limit)))
            }
            _ => Ok((offset, self.rows_wanted()?)),
        }
    }
}

/// The rows of a buffer within a range, in one morsel.
pub struct LimitedScan {
    context: ExecContext,
    rows: Arc<RowBuffer>,
    columns: usize,
    range: Arc<ComputedRange>,
    /// The first row wanted and the one behind the last, until the morsel is taken.
    wanted: Mutex<Option<(u64, u64)>>,
}

impl LimitedScan {
    /// Reads all `columns` of `rows`.
    pub fn new(
        context: &ExecContext,
        (rows, columns): (Arc<RowBuffer>, usize),
        range: Arc<ComputedRange>,
    ) -> Self {
        Self { context: context.clone(), rows, columns, range, wanted: Mutex::default() }
    }

    fn scan(&self) -> BufferScan {
        BufferScan::new(vec![(Arc::clone(&self.rows), (0..self.columns).collect())])
    }
}

fn count_of(value: &Value, place: &str) -> Result<Option<u64>> {
    match value {
        Value::BigInt(count) => match u64::try_from(*count) {
            Ok(count) => Ok(Some(count)),
            Err(_) => Err(Error::out_of_range(format!("{place} {count} is negative"))),
        },
        _ => Ok(None),
    }
}

impl Source for LimitedScan {
    type Local = ();

    fn start(&self, _context: &ExecContext) -> Result<usize> {
        *self.wanted.lock() = Some(self.range.range(self.rows.len()?)?);
        Ok(1)
    }

    fn local(&self) {}

    fn run_morsel(
        &self,
        _local: &mut (),
        begin: &mut dyn FnMut(usize),
        push: &mut dyn FnMut(Batch) -> Result<Flow>,
    ) -> Result<Morsel> {
        let Some((from, to)) = self.wanted.lock().take() else { return Ok(Morsel::Exhausted) };
        begin(0);
        let scan = self.scan();
        scan.start(&self.context)?;
        let (mut position, mut is_done) = (0u64, false);
        let mut cut = |batch: Batch| {
            let end = position + batch.len() as u64;
            let (first, last) = (from.max(position), to.min(end));
            let start = position;
            position = end;
            if first < last {
                let part = batch.slice((first - start) as usize, (last - first) as usize);
                is_done |= push(part)? == Flow::Done;
            }
            is_done |= end >= to;
            Ok(if is_done { Flow::Done } else { Flow::More })
        };
        loop {
            self.context.interrupt.check()?;
            if scan.run_morsel(&mut (), &mut |_| {}, &mut cut)? == Morsel::Exhausted {
                break;
            }
        }
        Ok(Morsel::Pushed)
    }
}
