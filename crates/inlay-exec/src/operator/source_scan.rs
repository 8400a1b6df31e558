//! Scans of anything that is not a stored table: files, host data frames, `range()`.

use crate::context::ExecContext;
use crate::expression::{Filter, FilterState};
use crate::pipeline::{Flow, Morsel, Source};
use inlay_catalog::{ScanRequest, SourceFilter, SourceScan, TableSource};
use inlay_types::{Batch, Error, Result};
use parking_lot::Mutex;
use std::sync::Arc;

/// What a source may use of the conjuncts of its scan; see [`ScanRequest`].
#[derive(Default)]
pub struct SourceHints {
    /// Conjuncts over one column.
    pub filters: Vec<SourceFilter>,
    /// Disjunctions of such.
    pub any_of: Vec<Vec<Vec<SourceFilter>>>,
}

/// Pulls tasks of a [`TableSource`] and filters their batches.
pub struct TableSourceScan {
    source: Arc<dyn TableSource>,
    columns: Vec<usize>,
    hints: SourceHints,
    filter: Filter,
    running: Mutex<Option<(Arc<dyn SourceScan>, usize)>>,
}

impl TableSourceScan {
    /// Reads `columns` (positions in the source's schema); `filter` is over the batches read, `hints` are for the source.
    pub fn new(
        source: Arc<dyn TableSource>,
        columns: Vec<usize>,
        hints: SourceHints,
        filter: Filter,
    ) -> Self {
        Self { source, columns, hints, filter, running: Mutex::new(None) }
    }
}

/// What a worker has.
pub struct Local {
    state: FilterState,
    selection: Vec<u32>,
}

impl Source for TableSourceScan {
    type Local = Local;

    fn start(&self, context: &ExecContext) -> Result<usize> {
        let request = ScanRequest {
            columns: self.columns.clone(),
            filters: self.hints.filters.clone(),
            any_of: self.hints.any_of.clone(),
            budget: context.budget.clone(),
            interrupt: context.interrupt.clone(),
        };
        *self.running.lock() = Some((Arc::from(self.source.scan(request)?), 0));
        let rows = self.source.row_count_estimate().unwrap_or(u64::MAX);
        // A source that fits into one batch is read by the calling thread alone.
        Ok(if rows <= inlay_types::VECTOR_SIZE as u64 { 1 } else { usize::MAX })
    }

    fn local(&self) -> Local {
        Local { state: self.filter.state(), selection: Vec::new() }
    }

    fn run_morsel(
        &self,
        local: &mut Local,
        begin: &mut dyn FnMut(usize),
        push: &mut dyn FnMut(Batch) -> Result<Flow>,
    ) -> Result<Morsel> {
        let (task, number) = {
            let mut running = self.running.lock();
            let (scan, number) =
                running.as_mut().ok_or_else(|| Error::internal("a source was read before its start"))?;
            *number += 1;
            (scan.next_task()?, *number - 1)
        };
        let Some(task) = task else { return Ok(Morsel::Exhausted) };
        begin(number);
        for batch in task {
            let batch = batch?;
            if batch.is_empty() {
                continue;
            }
            let flow = if self.filter.is_empty() {
                push(batch)?
            } else {
                self.filter.select(&mut local.state, &batch, &mut local.selection)?;
                match local.selection.len() {
                    0 => Flow::More,
                    all if all == batch.len() => push(batch)?,
                    _ => push(batch.take(&local.selection))?,
                }
            };
            if flow == Flow::Done {
                break;
            }
        }
        Ok(Morsel::Pushed)
    }
}
