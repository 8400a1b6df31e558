//! LIMIT and OFFSET by numbers that another plan computes: percentages of the rows, results of subqueries.

use super::materialize::{BufferScan, RowBuffer};
use crate::context::ExecContext;
use crate::pipeline::{Flow, LocalState, Morsel, Source};
use inlay_types::{Batch, Error, Result, Value};
use parking_lot::Mutex;
use std::sync::Arc;

/// The rows of a buffer between two numbers, in one morsel.
pub struct LimitedScan {
    context: ExecContext,
    rows: Arc<RowBuffer>,
    columns: usize,
    counts: BufferScan,
    /// Whether the counts have a limit, and whether it is a percentage.
    limit: Option<bool>,
    has_offset: bool,
    /// The first row wanted and the one behind the last, until the morsel is taken.
    range: Mutex<Option<(u64, u64)>>,
}

impl LimitedScan {
    /// Reads all `columns` of `rows`; `counts` has one row: the limit (BIGINT, or DOUBLE for a percentage) and the offset
    /// (BIGINT), as far as there are such.
    pub fn new(
        context: &ExecContext,
        (rows, columns): (Arc<RowBuffer>, usize),
        counts: (Arc<RowBuffer>, Vec<usize>),
        limit: Option<bool>,
        has_offset: bool,
    ) -> Self {
        let counts = BufferScan::new(vec![counts]);
        Self { context: context.clone(), rows, columns, counts, limit, has_offset, range: Mutex::default() }
    }

    /// The one row of counts.
    fn values(&self) -> Result<Vec<Value>> {
        let mut values = Vec::new();
        let mut local = self.counts.local();
        let mut read = |batch: Batch| {
            if !batch.is_empty() {
                values = batch.columns().iter().map(|column| column.get(0)).collect();
            }
            Ok(Flow::More)
        };
        self.counts.start(&self.context)?;
        while self.counts.run_morsel(&mut local, &mut |_| {}, &mut read)? == Morsel::Pushed {}
        Ok(values)
    }

    fn scan(&self) -> BufferScan {
        BufferScan::new(vec![(Arc::clone(&self.rows), (0..self.columns).collect())])
    }

    fn share(&self, share: f64) -> Result<u64> {
        if !(0.0..=100.0).contains(&share) {
            return Err(Error::out_of_range(format!("LIMIT {share}%: expected 0 to 100 percent")));
        }
        Ok((self.rows.len() as f64 * share / 100.0).floor() as u64)
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
    fn start(&self, _context: &ExecContext) -> Result<usize> {
        let mut values = self.values()?.into_iter();
        let limit = match self.limit {
            None => None,
            Some(is_percent) => match values.next().unwrap_or(Value::Null) {
                Value::Null => None,
                value if is_percent => Some(self.share(value.as_f64().unwrap_or(100.0))?),
                value => count_of(&value, "LIMIT")?,
            },
        };
        let offset = match self.has_offset {
            true => count_of(&values.next().unwrap_or(Value::Null), "OFFSET")?.unwrap_or(0),
            false => 0,
        };
        let end = limit.map_or(u64::MAX, |limit| offset.saturating_add(limit));
        *self.range.lock() = Some((offset, end));
        Ok(1)
    }

    fn local(&self) -> LocalState {
        Box::new(())
    }

    fn run_morsel(
        &self,
        _local: &mut LocalState,
        begin: &mut dyn FnMut(usize),
        push: &mut dyn FnMut(Batch) -> Result<Flow>,
    ) -> Result<Morsel> {
        let Some((from, to)) = self.range.lock().take() else { return Ok(Morsel::Exhausted) };
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
            if scan.run_morsel(&mut scan.local(), &mut |_| {}, &mut cut)? == Morsel::Exhausted {
                break;
            }
        }
        Ok(Morsel::Pushed)
    }
}
