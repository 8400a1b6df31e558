//! Three-valued answers of Mark joins: `x IN (...)` with NULLs, several columns, and further conditions.
//!
//! A probe row without a partner is marked NULL if for some build row the conjunction of all conditions is NULL.
//! With a single key and nothing else that is decided by counting. Otherwise: candidates with equal keys are NULL where
//! the other conditions are; rows with a NULL key on either side are paired one by one with all rows that could make the
//! conjunction NULL. There are few of them almost always.

use super::HashJoin;
use super::build::JoinIndex;
use super::core::{Core, CoreState};
use super::pairs::{PairTruth, PairTruthState, Truth, keep, truth_at};
use super::probe::ProbeLocal;
use super::rows::BuildRows;
use inlay_sql::plan::Expr;
use inlay_types::{Batch, Result, VECTOR_SIZE, Vector};

/// Conditions of a Mark join that counting does not decide.
pub(crate) struct MarkConditions {
    /// All conditions, those on keys included.
    all: PairTruth,
    /// Conditions beside the keys.
    rest: Option<PairTruth>,
}

/// A worker's scratch for [`MarkConditions`].
pub(crate) struct MarkState {
    all: PairTruthState,
    rest: Option<PairTruthState>,
    kept: Vec<u32>,
}

impl MarkConditions {
    /// Compiles conditions on keys and others.
    pub fn new(keys: &[Expr], rest: &[Expr], core: &Core) -> Result<Self> {
        let all = PairTruth::new(keys.iter().chain(rest).cloned().collect(), core)?;
        let rest = if rest.is_empty() { None } else { Some(PairTruth::new(rest.to_vec(), core)?) };
        Ok(Self { all, rest })
    }

    /// A worker's scratch.
    pub fn state(&self) -> MarkState {
        MarkState { all: self.all.state(), rest: self.rest.as_ref().map(PairTruth::state), kept: Vec::new() }
    }

    /// Of pairs with equal keys, keeps those for which the other conditions are TRUE, and notes those that are NULL.
    pub fn check(
        &self,
        state: &mut MarkState,
        batch: &Batch,
        rows: &BuildRows,
        core: &mut CoreState,
        probe_rows: &mut Vec<u32>,
        build_rows: &mut Vec<u32>,
    ) -> Result<()> {
        let (Some(rest), Some(rest_state)) = (&self.rest, &mut state.rest) else { return Ok(()) };
        if probe_rows.is_empty() {
            return Ok(());
        }
        let truth = rest.of_pairs(rest_state, batch, &rows.columns, probe_rows, build_rows)?;
        state.kept.clear();
        for (pair, row) in probe_rows.iter().enumerate() {
            match truth_at(&truth, pair) {
                Truth::True => state.kept.push(pair as u32),
                Truth::Unknown => core.unknown[*row as usize] = 1,
                Truth::False => {}
            }
        }
        keep(probe_rows, &state.kept);
        keep(build_rows, &state.kept);
        Ok(())
    }

    /// Whether the conjunction is NULL for probe row `row` and some build row of `from ..`.
    fn is_unknown(
        &self,
        state: &mut MarkState,
        batch: &Batch,
        row: usize,
        rows: &BuildRows,
        from: usize,
    ) -> Result<bool> {
        let mut at = from;
        while at < rows.len {
            rows.interrupt.check()?;
            let len = VECTOR_SIZE.min(rows.len - at);
            let pairs = self.all.columns.one_probe_row(batch, row, &rows.columns, at, len)?;
            if self.all.of_batch(&mut state.all, &pairs)?.null_count() > 0 {
                return Ok(true);
            }
            at += len;
        }
        Ok(false)
    }
}

impl HashJoin {
    /// Notes which rows without partner are marked NULL.
    pub(super) fn find_unknown(
        &self,
        batch: &Batch,
        index: &JoinIndex,
        rows: &BuildRows,
        keys: &[Vector],
        local: &mut ProbeLocal,
    ) -> Result<()> {
        let strict: Vec<&Vector> = keys
            .iter()
            .zip(&self.null_equal)
            .filter(|(key, null_equal)| !**null_equal && key.validity().is_some())
            .map(|(key, _)| key)
            .collect();
        let is_null = |row: usize| strict.iter().any(|key| key.is_null(row));
        let state = &mut local.core;
        for row in 0..batch.len() {
            if state.hit[row] == 1 || state.unknown[row] == 1 {
                continue;
            }
            let null = is_null(row);
            let unknown = match (&self.mark, &mut local.mark) {
                (Some(mark), Some(mark_state)) => {
                    mark.is_unknown(mark_state, batch, row, rows, if null { 0 } else { index.found })?
                }
                _ if null => index.input_rows > 0,
                _ => index.has_null_keys,
            };
            state.unknown[row] = u8::from(unknown);
        }
        Ok(())
    }
}
