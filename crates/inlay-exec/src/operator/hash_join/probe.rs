//! Probe side of the hash join.
//!
//! A batch's keys become slots or hashes, all are looked up, and then only rows that found something are touched. With
//! a unique index and no further conditions a row has at most one partner and that is the end of it; otherwise runs of
//! candidates are unrolled into blocks of pairs, which conditions thin out before they are handed on.

use super::HashJoin;
use super::build::{JoinIndex, KeyForm};
use super::coded::CodedKeys;
use super::core::{CoreState, ProbeKind};
use super::gather::NO_ROW;
use super::index::{Index, PairWriter, Runs};
use super::keys::KeyStates;
use super::mark::MarkState;
use super::pairs::{PairFilterState, keep};
use super::rows::BuildRows;
use super::spill::{Scratch, SpilledJoin};
use crate::ExecContext;
use crate::pipeline::{DynSource, Flow, Operator, Push};
use inlay_kernels::equal::retain_equal;
use inlay_types::{Batch, Result, VECTOR_SIZE, Vector};
use std::sync::Arc;

/// The operator of the probe side's pipeline.
pub(crate) struct JoinProbe(pub(crate) Arc<HashJoin>);

pub(crate) struct ProbeLocal {
    keys: KeyStates,
    pub core: CoreState,
    filter: Option<PairFilterState>,
    pub mark: Option<MarkState>,
    narrow: Vec<u32>,
    pub wide: Vec<u64>,
    pub coded: CodedKeys,
    runs: Runs,
    pub probe_rows: Vec<u32>,
    pub build_rows: Vec<u32>,
    kept: Vec<u32>,
    spill: Scratch,
}

impl Operator for JoinProbe {
    type Local = ProbeLocal;

    fn local(&self) -> ProbeLocal {
        self.0.probe_local()
    }

    fn process(&self, input: Batch, local: &mut ProbeLocal, push: Push<'_>) -> Result<Flow> {
        self.0.probe(&input, local, push)
    }

    fn flush(&self, local: &mut ProbeLocal, push: Push<'_>) -> Result<Flow> {
        match self.0.spill.get() {
            Some(_) => Ok(Flow::More),
            None => self.0.core.flush(&mut local.core, push),
        }
    }

    fn rest(&self, _context: &ExecContext) -> Result<Option<Arc<dyn DynSource>>> {
        let spilled = self.0.spill.get().is_some() && self.0.core.outer.is_none();
        Ok(spilled.then(|| Arc::new(SpilledJoin::new(&self.0)) as _))
    }
}

impl HashJoin {
    pub(super) fn probe_local(&self) -> ProbeLocal {
        ProbeLocal {
            keys: self.probe_keys.states(),
            core: self.core.state(),
            filter: self.pair_filter.as_ref().map(|filter| filter.state()),
            mark: self.mark.as_ref().map(|mark| mark.state()),
            narrow: Vec::new(),
            wide: Vec::new(),
            coded: CodedKeys::default(),
            runs: Runs::default(),
            probe_rows: Vec::new(),
            build_rows: Vec::new(),
            kept: Vec::new(),
            spill: Scratch::default(),
        }
    }

    pub(super) fn probe(&self, batch: &Batch, local: &mut ProbeLocal, push: Push<'_>) -> Result<Flow> {
        if let Some(spill) = self.spill.get() {
            let keys = self.probe_keys.eval(&mut local.keys, batch)?;
            spill.probe(self, batch, &keys, &mut local.spill)?;
            return Ok(Flow::More);
        }
        let (index, rows) = (self.index()?, self.core.rows()?);
        if matches!(index.index, Index::Empty) && self.core.drops_unmatched() {
            return Ok(Flow::Done);
        }
        if index.exact_filter && self.filters_applied && self.core.kind == ProbeKind::Semi {
            local.probe_rows.clear();
            local.probe_rows.extend(0..batch.len() as u32);
            return self.core.emit_probe_rows(&mut local.core, batch, &local.probe_rows, push);
        }
        let keys = self.probe_keys.eval(&mut local.keys, batch)?;
        if self.find_coded(index, &keys, local) {
            return match self.core.kind {
                ProbeKind::Semi | ProbeKind::Anti => self.members(batch, local, push),
                _ => self.unique(batch, rows, local, push),
            };
        }
        let slots = index.form.encode(&keys, &mut local.narrow, &mut local.wide);
        if self.pair_filter.is_none() && !matches!(index.form, KeyForm::Hashes(_)) {
            let found = match self.core.kind {
                _ if matches!(index.index, Index::Empty) => false,
                ProbeKind::Semi | ProbeKind::Anti => {
                    index.index.find_members(&slots, &mut local.probe_rows);
                    return self.members(batch, local, push);
                }
                ProbeKind::Inner | ProbeKind::Outer | ProbeKind::Single | ProbeKind::Track => {
                    index.index.is_unique()
                }
                ProbeKind::Mark => false,
            };
            if found {
                index.index.find_unique(&slots, &mut local.probe_rows, &mut local.build_rows);
                return self.unique(batch, rows, local, push);
            }
        }
        self.core.begin(&mut local.core, batch.len());
        if self.core.kind == ProbeKind::Mark && self.pair_filter.is_none() && self.members_only {
            index.index.find_members(&slots, &mut local.probe_rows);
            local.probe_rows.iter().for_each(|row| local.core.hit[*row as usize] = 1);
        } else {
            index.index.find_runs(&slots, &mut local.runs);
            if self.unroll(batch, index, rows, &keys, local, push)? == Flow::Done {
                return Ok(Flow::Done);
            }
        }
        if self.core.kind == ProbeKind::Mark {
            self.find_unknown(batch, index, rows, &keys, local)?;
        }
        self.core.finish(&mut local.core, batch, push)
    }

    /// `probe_rows` are those with a partner.
    fn members(&self, batch: &Batch, local: &mut ProbeLocal, push: Push<'_>) -> Result<Flow> {
        if self.core.kind == ProbeKind::Anti {
            let mut partners = local.probe_rows.iter().copied().peekable();
            local.build_rows.clear();
            local.build_rows.extend((0..batch.len() as u32).filter(|row| partners.next_if_eq(row).is_none()));
            std::mem::swap(&mut local.probe_rows, &mut local.build_rows);
        }
        self.core.emit_probe_rows(&mut local.core, batch, &local.probe_rows, push)
    }

    /// `probe_rows[i]` has the only partner `build_rows[i]`.
    fn unique(
        &self,
        batch: &Batch,
        rows: &BuildRows,
        local: &mut ProbeLocal,
        push: Push<'_>,
    ) -> Result<Flow> {
        if self.core.track {
            rows.set_matched(&local.build_rows);
        }
        match self.core.kind {
            ProbeKind::Inner => {}
            ProbeKind::Outer | ProbeKind::Single => {
                if local.probe_rows.len() < batch.len() {
                    local.kept.clear();
                    local.kept.resize(batch.len(), NO_ROW);
                    for (&probe, &build) in local.probe_rows.iter().zip(&local.build_rows) {
                        local.kept[probe as usize] = build;
                    }
                    std::mem::swap(&mut local.kept, &mut local.build_rows);
                    local.probe_rows.clear();
                    local.probe_rows.extend(0..batch.len() as u32);
                }
            }
            ProbeKind::Track | ProbeKind::Semi | ProbeKind::Anti | ProbeKind::Mark => return Ok(Flow::More),
        }
        let (output, state) = (&self.core.output, &mut local.core.output);
        output.emit(state, rows, batch, &local.probe_rows, &local.build_rows, push)
    }

    /// Unrolls the runs into blocks of pairs, and hands on those that satisfy all conditions.
    fn unroll(
        &self,
        batch: &Batch,
        index: &JoinIndex,
        rows: &BuildRows,
        keys: &[Vector],
        local: &mut ProbeLocal,
        push: Push<'_>,
    ) -> Result<Flow> {
        // For these kinds a second partner changes nothing.
        let first_only = matches!(self.core.kind, ProbeKind::Semi | ProbeKind::Anti | ProbeKind::Mark);
        let (mut run, mut offset) = (0, 0);
        while run < local.runs.rows.len() {
            let ProbeLocal { runs, core, probe_rows, build_rows, .. } = &mut *local;
            let mut pairs = PairWriter::new(probe_rows, build_rows, VECTOR_SIZE);
            while run < runs.rows.len() && pairs.left() > 0 {
                let (row, start, count) = (runs.rows[run], runs.starts[run], runs.counts[run]);
                if !(first_only && core.hit[row as usize] == 1) {
                    let taken = (pairs.left() as u32).min(count - offset);
                    (start + offset..start + offset + taken).for_each(|place| pairs.put(row, place, true));
                    offset += taken;
                    if offset < count {
                        break;
                    }
                }
                (run, offset) = (run + 1, 0);
            }
            pairs.finish();
            rows.interrupt.check()?;
            index.index.resolve(&mut local.build_rows);
            self.verify(index, keys, local);
            if self.core.kind == ProbeKind::Track {
                forget_matched(rows, &mut local.probe_rows, &mut local.build_rows);
            }
            self.check_conditions(batch, rows, local)?;
            let (probe_rows, build_rows) = (&local.probe_rows, &local.build_rows);
            if self.core.take_pairs(&mut local.core, batch, probe_rows, build_rows, push)? == Flow::Done {
                return Ok(Flow::Done);
            }
        }
        Ok(Flow::More)
    }

    /// Drops pairs whose keys only hash the same.
    pub(super) fn verify(&self, index: &JoinIndex, keys: &[Vector], local: &mut ProbeLocal) {
        let KeyForm::Hashes(stored) = &index.form else { return };
        local.kept.clear();
        local.kept.extend(0..local.probe_rows.len() as u32);
        for ((probe, build), null_equal) in keys.iter().zip(stored).zip(&self.null_equal) {
            retain_equal(probe, &local.probe_rows, build, &local.build_rows, *null_equal, &mut local.kept);
        }
        keep(&mut local.probe_rows, &local.kept);
        keep(&mut local.build_rows, &local.kept);
    }

    fn check_conditions(&self, batch: &Batch, rows: &BuildRows, local: &mut ProbeLocal) -> Result<()> {
        if let (Some(mark), Some(state)) = (&self.mark, &mut local.mark) {
            return mark.check(
                state,
                batch,
                rows,
                &mut local.core,
                &mut local.probe_rows,
                &mut local.build_rows,
            );
        }
        match (&self.pair_filter, &mut local.filter) {
            (Some(filter), Some(state)) => {
                filter.retain(state, batch, &rows.columns, &mut local.probe_rows, &mut local.build_rows)
            }
            _ => Ok(()),
        }
    }
}

/// Drops pairs whose build row has a partner already.
fn forget_matched(rows: &BuildRows, probe_rows: &mut Vec<u32>, build_rows: &mut Vec<u32>) {
    let mut kept = 0;
    for index in 0..build_rows.len() {
        if !rows.is_matched(build_rows[index]) {
            (probe_rows[kept], build_rows[kept]) = (probe_rows[index], build_rows[index]);
            kept += 1;
        }
    }
    probe_rows.truncate(kept);
    build_rows.truncate(kept);
}
