//! Hands on build rows that have, or do not have, a partner, when the probe side is through.

use super::core::{Core, CoreState};
use crate::ExecContext;
use crate::pipeline::{Flow, Morsel, Source};
use inlay_types::{Batch, Result, VECTOR_SIZE};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Build rows of one morsel.
const MORSEL_ROWS: usize = 8 * VECTOR_SIZE;

/// The source of the pipeline that follows the probe side's.
pub(crate) struct JoinOuterScan<T> {
    join: Arc<T>,
    next: AtomicUsize,
}

impl<T: AsRef<Core> + Send + Sync> JoinOuterScan<T> {
    /// A scan of a join's build rows.
    pub(crate) fn new(join: Arc<T>) -> Self {
        Self { join, next: AtomicUsize::new(0) }
    }
}

pub(crate) struct OuterLocal {
    core: CoreState,
    rows: Vec<u32>,
}

impl<T: AsRef<Core> + Send + Sync> Source for JoinOuterScan<T> {
    type Local = OuterLocal;

    fn start(&self, _context: &ExecContext) -> Result<usize> {
        let core: &Core = (*self.join).as_ref();
        Ok(core.rows()?.len.div_ceil(MORSEL_ROWS))
    }

    fn local(&self) -> OuterLocal {
        let core: &Core = (*self.join).as_ref();
        OuterLocal { core: core.state(), rows: Vec::new() }
    }

    fn run_morsel(
        &self,
        local: &mut OuterLocal,
        begin: &mut dyn FnMut(usize),
        push: &mut dyn FnMut(Batch) -> Result<Flow>,
    ) -> Result<Morsel> {
        let core: &Core = (*self.join).as_ref();
        let rows = core.rows()?;
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let from = number.saturating_mul(MORSEL_ROWS);
        if from >= rows.len {
            return Ok(Morsel::Exhausted);
        }
        begin(number);
        let wanted = core.outer == Some(true);
        let to = rows.len.min(from + MORSEL_ROWS);
        let mut at = from;
        while at < to {
            // Batches are filled up, so that few rows out of many do not come in small pieces.
            local.rows.clear();
            while at < to && local.rows.len() < VECTOR_SIZE {
                if rows.is_matched(at as u32) == wanted {
                    local.rows.push(at as u32);
                }
                at += 1;
            }
            if !local.rows.is_empty()
                && core.output.emit_build(&mut local.core.output, rows, &local.rows, push)? == Flow::Done
            {
                break;
            }
        }
        Ok(Morsel::Pushed)
    }
}
