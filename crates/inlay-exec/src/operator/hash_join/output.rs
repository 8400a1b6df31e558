//! Makes the output batches of a join: probe columns, gathered build columns and the mark, in the wanted order.
//!
//! Small outputs are held back and joined, so that operators behind a selective join do not see batches of a few
//! rows. Of rows held back, build columns are gathered only when the batch is full.

use super::gather::{NO_ROW, gather, gather_nullable};
use super::rows::BuildRows;
use crate::concat::concat;
use crate::pipeline::{Flow, Push};
use inlay_types::{Batch, Buffer, LogicalType, Result, VECTOR_SIZE, Vector};

/// Outputs of at least this many rows are handed on at once.
const ENOUGH_ROWS: usize = VECTOR_SIZE / 2;

/// Where an output column comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OutputColumn {
    /// A column of the probe batch.
    Probe(usize),
    /// A stored column of the build side.
    Build(usize),
    /// TRUE, FALSE or NULL for each probe row.
    Mark,
}

/// The output of a join.
pub(crate) struct Output {
    /// The columns, in order.
    pub columns: Vec<OutputColumn>,
    /// Their types.
    pub types: Vec<LogicalType>,
}

/// A worker's scratch and held-back rows.
#[derive(Default)]
pub(crate) struct OutputState {
    memory: Vec<Buffer>,
    held: Held,
}

#[derive(Default)]
struct Held {
    len: usize,
    /// Per output column, pieces of probe columns.
    pieces: Vec<Vec<Vector>>,
    build_rows: Vec<u32>,
}

impl Output {
    /// A worker's scratch.
    pub fn state(&self) -> OutputState {
        OutputState { memory: vec![Buffer::default(); self.columns.len()], held: Held::default() }
    }

    fn reads_build(&self) -> bool {
        self.columns.iter().any(|column| matches!(column, OutputColumn::Build(_)))
    }

    /// Hands on pairs of a probe row and a build row, or [`NO_ROW`]; or, if no build columns are wanted, probe rows
    /// alone (`build_rows` is then ignored).
    pub fn emit(
        &self,
        state: &mut OutputState,
        build: &BuildRows,
        batch: &Batch,
        probe_rows: &[u32],
        build_rows: &[u32],
        push: Push<'_>,
    ) -> Result<Flow> {
        let len = probe_rows.len();
        if len == 0 {
            return Ok(Flow::More);
        }
        if state.held.len > 0
            && state.held.len + len > VECTOR_SIZE
            && self.flush(state, build, push)? == Flow::Done
        {
            return Ok(Flow::Done);
        }
        let all = len == batch.len() && probe_rows.iter().enumerate().all(|(i, row)| i as u32 == *row);
        if state.held.len == 0 && len >= ENOUGH_ROWS {
            let columns =
                self.columns.iter().zip(&mut state.memory).zip(&self.types).map(|((column, memory), ty)| {
                    match *column {
                        OutputColumn::Probe(index) if all => batch.column(index).clone(),
                        OutputColumn::Probe(index) => gather(batch.column(index), probe_rows, memory),
                        OutputColumn::Build(index) => {
                            gather_nullable(&build.columns[index], build_rows, memory)
                        }
                        OutputColumn::Mark => Vector::nulls(ty.clone(), len),
                    }
                });
            return push(Batch::new(columns.collect(), len));
        }
        self.hold(state, batch, probe_rows, build_rows, all);
        if state.held.len >= ENOUGH_ROWS { self.flush(state, build, push) } else { Ok(Flow::More) }
    }

    fn hold(
        &self,
        state: &mut OutputState,
        batch: &Batch,
        probe_rows: &[u32],
        build_rows: &[u32],
        all: bool,
    ) {
        let held = &mut state.held;
        held.pieces.resize_with(self.columns.len(), Vec::new);
        for (column, pieces) in self.columns.iter().zip(&mut held.pieces) {
            if let OutputColumn::Probe(index) = *column {
                let source = batch.column(index);
                // A copy, so that the operators before can use their memory again.
                pieces.push(if all { source.clone() } else { source.take(probe_rows) });
            }
        }
        held.len += probe_rows.len();
        if self.reads_build() {
            held.build_rows.extend_from_slice(build_rows);
        }
    }

    /// Hands on what is held back.
    pub fn flush(&self, state: &mut OutputState, build: &BuildRows, push: Push<'_>) -> Result<Flow> {
        let held = &mut state.held;
        if held.len == 0 {
            return Ok(Flow::More);
        }
        let mut columns = Vec::with_capacity(self.columns.len());
        for (index, column) in self.columns.iter().enumerate() {
            columns.push(match *column {
                OutputColumn::Probe(_) => {
                    let whole = concat(self.types[index].clone(), &held.pieces[index]);
                    held.pieces[index].clear();
                    whole
                }
                OutputColumn::Build(stored) => {
                    gather_nullable(&build.columns[stored], &held.build_rows, &mut state.memory[index])
                }
                OutputColumn::Mark => Vector::nulls(self.types[index].clone(), held.len),
            });
        }
        let len = std::mem::take(&mut held.len);
        held.build_rows.clear();
        push(Batch::new(columns, len))
    }

    /// Hands on a whole probe batch with its marks.
    pub fn emit_marked(&self, batch: &Batch, mark: &Vector, push: Push<'_>) -> Result<Flow> {
        let columns = self.columns.iter().zip(&self.types).map(|(column, ty)| match *column {
            OutputColumn::Probe(index) => batch.column(index).clone(),
            OutputColumn::Mark => mark.clone(),
            OutputColumn::Build(_) => Vector::nulls(ty.clone(), batch.len()),
        });
        push(Batch::new(columns.collect(), batch.len()))
    }

    /// Hands on build rows without probe rows, whose columns are NULL.
    pub fn emit_build(
        &self,
        state: &mut OutputState,
        build: &BuildRows,
        rows: &[u32],
        push: Push<'_>,
    ) -> Result<Flow> {
        let columns =
            self.columns.iter().zip(&mut state.memory).zip(&self.types).map(|((column, memory), ty)| {
                match *column {
                    OutputColumn::Build(index) => gather(&build.columns[index], rows, memory),
                    OutputColumn::Probe(_) | OutputColumn::Mark => Vector::nulls(ty.clone(), rows.len()),
                }
            });
        push(Batch::new(columns.collect(), rows.len()))
    }

    /// [`NO_ROW`] for `len` rows.
    pub fn no_rows(len: usize, rows: &mut Vec<u32>) {
        rows.clear();
        rows.resize(len, NO_ROW);
    }
}
