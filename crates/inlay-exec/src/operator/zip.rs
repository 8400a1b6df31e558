//! POSITIONAL JOIN: the rows of two inputs side by side, in their order; the shorter one is filled up with NULLs.

use super::materialize::RowBuffer;
use crate::context::ExecContext;
use crate::pipeline::{Flow, Morsel, Source};
use inlay_types::{Batch, Interrupt, LogicalType, Result, VECTOR_SIZE, Value, Vector};
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// Reads two buffers that are in memory.
pub struct ZipScan {
    sides: [Side; 2],
    done: AtomicBool,
    interrupt: OnceLock<Interrupt>,
}

struct Side {
    buffer: Arc<RowBuffer>,
    types: Vec<LogicalType>,
}

/// A place in a buffer.
#[derive(Clone, Copy, Default)]
struct Place {
    batch: usize,
    row: usize,
}

impl Side {
    /// Rows from `place` to the end of its batch; 0 behind the last one.
    fn left_at(&self, place: &mut Place) -> Result<usize> {
        let batches = self.buffer.batches()?;
        while let Some(batch) = batches.get(place.batch) {
            if place.row < batch.len() {
                return Ok(batch.len() - place.row);
            }
            *place = Place { batch: place.batch + 1, row: 0 };
        }
        Ok(0)
    }

    /// `len` rows, or as many NULLs behind the end.
    fn take(&self, place: &mut Place, len: usize, columns: &mut Vec<Vector>) -> Result<()> {
        match self.buffer.batches()?.get(place.batch) {
            Some(batch) => {
                columns.extend(batch.columns().iter().map(|column| column.slice(place.row, len)));
                place.row += len;
            }
            None => {
                for ty in &self.types {
                    columns.push(Vector::constant(ty.clone(), &Value::Null, len)?);
                }
            }
        }
        Ok(())
    }
}

impl ZipScan {
    /// Of two buffers with columns of these types.
    pub fn new(left: (Arc<RowBuffer>, Vec<LogicalType>), right: (Arc<RowBuffer>, Vec<LogicalType>)) -> Self {
        let side = |(buffer, types)| Side { buffer, types };
        Self { sides: [side(left), side(right)], done: AtomicBool::new(false), interrupt: OnceLock::new() }
    }
}

impl Source for ZipScan {
    type Local = ();

    fn start(&self, context: &ExecContext) -> Result<usize> {
        self.done.store(false, Ordering::Relaxed);
        let _ = self.interrupt.set(context.interrupt.clone());
        Ok(1)
    }

    fn local(&self) {}

    fn run_morsel(
        &self,
        _local: &mut (),
        begin: &mut dyn FnMut(usize),
        push: &mut dyn FnMut(Batch) -> Result<Flow>,
    ) -> Result<Morsel> {
        if self.done.swap(true, Ordering::Relaxed) {
            return Ok(Morsel::Exhausted);
        }
        begin(0);
        let mut places = [Place::default(); 2];
        loop {
            if let Some(interrupt) = self.interrupt.get() {
                interrupt.check()?;
            }
            let lengths = [self.sides[0].left_at(&mut places[0])?, self.sides[1].left_at(&mut places[1])?];
            let open = lengths.into_iter().filter(|&len| len > 0).min();
            let Some(len) = open.map(|len| len.min(VECTOR_SIZE)) else { return Ok(Morsel::Pushed) };
            let mut columns = Vec::new();
            for (side, place) in self.sides.iter().zip(&mut places) {
                side.take(place, len, &mut columns)?;
            }
            if push(Batch::new(columns, len))? == Flow::Done {
                return Ok(Morsel::Pushed);
            }
        }
    }
}
