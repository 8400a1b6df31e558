//! What every join does with pairs of matching rows, however it found them.
//!
//! The seven kinds, seen from the probe side:
//!
//! | kind | built on the right | built on the left |
//! |---|---|---|
//! | Inner | pairs | pairs |
//! | Left | pairs, then probe rows without | pairs; the rest by the outer scan |
//! | Full | pairs, then probe rows without; the rest by the outer scan | same |
//! | Semi, Anti | probe rows with, without | marks build rows; all by the outer scan |
//! | Mark | every probe row with its truth value | - |
//! | Single | as Left; a second partner is an error | - |

use super::options::{JoinOptions, JoinSide};
use super::output::{Output, OutputColumn, OutputState};
use super::rows::BuildRows;
use crate::pipeline::{Flow, Push};
use inlay_sql::plan::{ColumnId, Expr, JoinKind};
use inlay_types::{Batch, Bitmap, Error, LogicalType, Result, Vector};
use std::collections::HashMap;
use std::sync::OnceLock;

/// What the probe does with its rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProbeKind {
    /// Hands on pairs.
    Inner,
    /// Pairs, and probe rows without partner.
    Outer,
    /// Outer, with at most one partner.
    Single,
    /// Probe rows with a partner.
    Semi,
    /// Probe rows without.
    Anti,
    /// Probe rows with a truth value.
    Mark,
    /// Nothing; build rows remember that they have a partner.
    Track,
}

/// The part of a join that does not depend on how partners are found.
pub(crate) struct Core {
    /// What the probe does.
    pub kind: ProbeKind,
    /// Build rows remember whether they have a partner.
    pub track: bool,
    /// The outer scan hands on the build rows that have (`true`) or do not have a partner.
    pub outer: Option<bool>,
    /// The stored side.
    pub build: JoinSide,
    /// The streaming side.
    pub probe: JoinSide,
    /// Positions, in the build side's batches, of the columns that are stored.
    pub stored: Vec<usize>,
    /// The output.
    pub output: Output,
    /// The stored rows, once the build is final.
    pub rows: OnceLock<BuildRows>,
}

/// A worker's state for [`Core`].
pub(crate) struct CoreState {
    /// Held-back output.
    pub output: OutputState,
    /// Per row of the current probe batch: it has a partner.
    pub hit: Vec<u8>,
    /// Per row of the current probe batch: for some partner the conditions are NULL. For Mark joins.
    pub unknown: Vec<u8>,
    rows: Vec<u32>,
    no_rows: Vec<u32>,
}

impl Core {
    /// Resolves kinds, sides and output. `read` lists columns that are read beside the output; of pairs in `same`, the
    /// build column always equals the probe column.
    pub fn new(options: &JoinOptions, read: &[ColumnId], same: &HashMap<ColumnId, ColumnId>) -> Result<Self> {
        let left = options.build_left;
        let (kind, outer, mark) = match options.kind {
            JoinKind::Inner => (ProbeKind::Inner, None, None),
            JoinKind::Left if left => (ProbeKind::Inner, Some(false), None),
            JoinKind::Left => (ProbeKind::Outer, None, None),
            JoinKind::Full => (ProbeKind::Outer, Some(false), None),
            JoinKind::Semi if left => (ProbeKind::Track, Some(true), None),
            JoinKind::Semi => (ProbeKind::Semi, None, None),
            JoinKind::Anti if left => (ProbeKind::Track, Some(false), None),
            JoinKind::Anti => (ProbeKind::Anti, None, None),
            JoinKind::Mark(_) | JoinKind::Single if left => {
                return Err(Error::internal(
                    "a mark or single join was planned with its left input as build side",
                ));
            }
            JoinKind::Mark(mark) => (ProbeKind::Mark, None, Some(mark)),
            JoinKind::Single => (ProbeKind::Single, None, None),
        };
        let (build, probe) = match left {
            true => (options.left.clone(), options.right.clone()),
            false => (options.right.clone(), options.left.clone()),
        };
        let same = |id: &ColumnId| match (kind, outer) {
            (ProbeKind::Inner, None) => same.get(id).copied().unwrap_or(*id),
            _ => *id,
        };
        let output_ids: Vec<ColumnId> = options.output.iter().map(same).collect();
        let mut stored: Vec<usize> =
            output_ids.iter().chain(read).filter_map(|id| build.position(*id)).collect();
        stored.sort_unstable();
        stored.dedup();
        let mut output = Output { columns: Vec::new(), types: Vec::new() };
        for id in &output_ids {
            let place = build.position(*id).and_then(|position| stored.binary_search(&position).ok());
            let (column, ty) = match (probe.position(*id), place) {
                (Some(position), _) => (OutputColumn::Probe(position), probe.types[position].clone()),
                (None, Some(place)) => (OutputColumn::Build(place), build.types[stored[place]].clone()),
                (None, None) if mark == Some(*id) => (OutputColumn::Mark, LogicalType::Boolean),
                (None, None) => {
                    return Err(Error::internal(format!("column {id} is in no input of its join")));
                }
            };
            output.columns.push(column);
            output.types.push(ty);
        }
        Ok(Self { kind, track: outer.is_some(), outer, build, probe, stored, output, rows: OnceLock::new() })
    }

    /// Types of the stored columns.
    pub fn stored_types(&self) -> Vec<LogicalType> {
        self.stored.iter().map(|position| self.build.types[*position].clone()).collect()
    }

    /// Whether probe rows without partner leave no trace, so that they may be filtered out early.
    pub fn drops_unmatched(&self) -> bool {
        matches!(self.kind, ProbeKind::Inner | ProbeKind::Semi | ProbeKind::Track)
    }

    /// A worker's state.
    pub fn state(&self) -> CoreState {
        CoreState {
            output: self.output.state(),
            hit: Vec::new(),
            unknown: Vec::new(),
            rows: Vec::new(),
            no_rows: Vec::new(),
        }
    }

    /// The stored rows; an error if the build is not final.
    pub fn rows(&self) -> Result<&BuildRows> {
        self.rows.get().ok_or_else(|| Error::internal("a join's probe side ran before its build side"))
    }

    /// Publishes the stored rows.
    pub fn set_rows(&self, rows: BuildRows) -> Result<()> {
        self.rows.set(rows).map_err(|_| Error::internal("a join was built twice"))
    }

    /// A new probe batch.
    pub fn begin(&self, state: &mut CoreState, len: usize) {
        state.hit.clear();
        state.hit.resize(len, 0);
        if self.kind == ProbeKind::Mark {
            state.unknown.clear();
            state.unknown.resize(len, 0);
        }
    }

    /// Takes pairs that satisfy all conditions; any number of times per batch.
    pub fn take_pairs(
        &self,
        state: &mut CoreState,
        batch: &Batch,
        probe_rows: &[u32],
        build_rows: &[u32],
        push: Push<'_>,
    ) -> Result<Flow> {
        self.take_pairs_with(self.rows()?, state, batch, probe_rows, build_rows, push)
    }

    /// The same with other stored rows than those of the join. What is held back of them is handed on by
    /// [`Core::flush_with`] before others come.
    pub fn take_pairs_with(
        &self,
        build: &BuildRows,
        state: &mut CoreState,
        batch: &Batch,
        probe_rows: &[u32],
        build_rows: &[u32],
        push: Push<'_>,
    ) -> Result<Flow> {
        if self.track {
            build.set_matched(build_rows);
        }
        match self.kind {
            ProbeKind::Inner => {
                self.output.emit(&mut state.output, build, batch, probe_rows, build_rows, push)
            }
            ProbeKind::Outer => {
                probe_rows.iter().for_each(|row| state.hit[*row as usize] = 1);
                self.output.emit(&mut state.output, build, batch, probe_rows, build_rows, push)
            }
            ProbeKind::Single => {
                for &row in probe_rows {
                    if std::mem::replace(&mut state.hit[row as usize], 1) == 1 {
                        return Err(Error::SubqueryRows);
                    }
                }
                self.output.emit(&mut state.output, build, batch, probe_rows, build_rows, push)
            }
            ProbeKind::Semi | ProbeKind::Anti | ProbeKind::Mark => {
                probe_rows.iter().for_each(|row| state.hit[*row as usize] = 1);
                Ok(Flow::More)
            }
            ProbeKind::Track => Ok(Flow::More),
        }
    }

    /// All pairs of the batch were taken.
    pub fn finish(&self, state: &mut CoreState, batch: &Batch, push: Push<'_>) -> Result<Flow> {
        let wanted = match self.kind {
            ProbeKind::Inner | ProbeKind::Track => return Ok(Flow::More),
            ProbeKind::Mark => {
                return self.output.emit_marked(batch, &mark(&state.hit, &state.unknown), push);
            }
            ProbeKind::Outer | ProbeKind::Single | ProbeKind::Anti => 0,
            ProbeKind::Semi => 1,
        };
        let mut rows = std::mem::take(&mut state.rows);
        rows.clear();
        rows.extend((0..batch.len() as u32).filter(|row| state.hit[*row as usize] == wanted));
        Output::no_rows(rows.len(), &mut state.no_rows);
        let no_rows = std::mem::take(&mut state.no_rows);
        let flow = self.output.emit(&mut state.output, self.rows()?, batch, &rows, &no_rows, push);
        (state.rows, state.no_rows) = (rows, no_rows);
        flow
    }

    /// Hands on what is held back.
    pub fn flush(&self, state: &mut CoreState, push: Push<'_>) -> Result<Flow> {
        self.flush_with(self.rows()?, state, push)
    }

    /// Hands on what is held back of these stored rows.
    pub fn flush_with(&self, rows: &BuildRows, state: &mut CoreState, push: Push<'_>) -> Result<Flow> {
        self.output.flush(&mut state.output, rows, push)
    }

    /// Hands on probe rows alone, for Semi and Anti joins.
    pub fn emit_probe_rows(
        &self,
        state: &mut CoreState,
        batch: &Batch,
        rows: &[u32],
        push: Push<'_>,
    ) -> Result<Flow> {
        self.output.emit(&mut state.output, self.rows()?, batch, rows, &[], push)
    }
}

/// Columns that expressions read.
pub(crate) fn columns_read<'a>(exprs: impl Iterator<Item = &'a Expr>) -> Vec<ColumnId> {
    let mut ids = Vec::new();
    exprs.for_each(|expr| expr.collect_columns(&mut ids));
    ids.sort_unstable();
    ids.dedup();
    ids
}

/// TRUE where `hit`, else NULL where `unknown`, else FALSE.
pub(crate) fn mark(hit: &[u8], unknown: &[u8]) -> Vector {
    let mut vector = Vector::from_values(LogicalType::Boolean, hit);
    let is_null = |row: usize| unknown[row] == 1 && hit[row] == 0;
    if (0..hit.len()).any(is_null) {
        vector.set_validity(Some(Bitmap::from_fn(hit.len(), |row| !is_null(row))));
    }
    vector
}
