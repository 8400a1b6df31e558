//! Literal rows: VALUES, and the single row below `SELECT 1`.

use crate::context::ExecContext;
use crate::pipeline::{Flow, Morsel, Source};
use inlay_types::{Batch, Result, VECTOR_SIZE};
use std::sync::atomic::{AtomicBool, Ordering};

/// Pushes the rows of one batch of any length.
pub struct Values {
    rows: Batch,
    taken: AtomicBool,
}

impl Values {
    /// A source of these rows.
    pub fn new(rows: Batch) -> Self {
        Self { rows, taken: AtomicBool::new(false) }
    }
}

impl Source for Values {
    type Local = ();

    fn start(&self, _context: &ExecContext) -> Result<usize> {
        self.taken.store(false, Ordering::Relaxed);
        Ok(usize::from(!self.rows.is_empty()))
    }

    fn local(&self) {}

    fn run_morsel(
        &self,
        _local: &mut (),
        begin: &mut dyn FnMut(usize),
        push: &mut dyn FnMut(Batch) -> Result<Flow>,
    ) -> Result<Morsel> {
        if self.taken.swap(true, Ordering::Relaxed) || self.rows.is_empty() {
            return Ok(Morsel::Exhausted);
        }
        begin(0);
        if self.rows.len() <= VECTOR_SIZE {
            push(self.rows.clone())?;
            return Ok(Morsel::Pushed);
        }
        for offset in (0..self.rows.len()).step_by(VECTOR_SIZE) {
            let len = VECTOR_SIZE.min(self.rows.len() - offset);
            if push(self.rows.slice(offset, len))? == Flow::Done {
                break;
            }
        }
        Ok(Morsel::Pushed)
    }
}
