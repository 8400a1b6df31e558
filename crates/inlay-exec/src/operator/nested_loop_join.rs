//! Joins without equalities, of every kind: each probe row meets each build row.
//!
//! Conditions are evaluated on blocks of pairs that hold one row of one side, as constants, and many rows of the other,
//! as they lie; nothing is gathered before a pair has matched. The side with fewer rows (of the probe batch and the
//! stored rows) gives the constants.

use super::hash_join::core::{Core, CoreState, ProbeKind, columns_read};
use super::hash_join::pairs::{PairFilter, PairFilterState, PairTruth, PairTruthState, Truth, truth_at};
use super::hash_join::rows::{BuildRows, Collected, Collection};
use super::hash_join::{JoinOptions, JoinOuterScan, JoinParts};
use crate::ExecContext;
use crate::pipeline::{Flow, LocalState, Operator, Push, Sink};
use inlay_sql::plan::JoinKind;
use inlay_types::{Batch, Error, MemoryBudget, Result, VECTOR_SIZE};
use std::collections::HashMap;
use std::sync::Arc;

/// A nested-loop join: its plan and its stored rows.
struct NestedLoopJoin {
    core: Core,
    filter: Option<PairFilter>,
    /// For Mark joins with conditions.
    truth: Option<PairTruth>,
    collection: Collection,
    budget: MemoryBudget,
}

impl AsRef<Core> for NestedLoopJoin {
    fn as_ref(&self) -> &Core {
        &self.core
    }
}

/// Plans a nested-loop join; `options.keys` are empty.
pub fn plan_nested_loop_join(options: &JoinOptions, context: &ExecContext) -> Result<JoinParts> {
    let read = columns_read(options.conditions.iter());
    let core = Core::new(options, &read, &HashMap::new())?;
    let is_mark = matches!(options.kind, JoinKind::Mark(_)) && !options.conditions.is_empty();
    let join = Arc::new(NestedLoopJoin {
        truth: if is_mark { Some(PairTruth::new(options.conditions.clone(), &core)?) } else { None },
        filter: if is_mark { None } else { PairFilter::new(&options.conditions, &core)? },
        collection: Collection::default(),
        budget: context.budget.clone(),
        core,
    });
    Ok(JoinParts {
        probe_emits: join.core.kind != ProbeKind::Track,
        outer: join.core.outer.map(|_| Arc::new(JoinOuterScan::new(Arc::clone(&join))) as _),
        build: Arc::new(NestedLoopBuild(Arc::clone(&join))),
        probe: Arc::new(NestedLoopProbe(join)),
    })
}

/// The sink of the build side's pipeline.
struct NestedLoopBuild(Arc<NestedLoopJoin>);

fn wrong_state() -> Error {
    Error::internal("a nested-loop join got the state of another operator")
}

impl Sink for NestedLoopBuild {
    fn local(&self) -> LocalState {
        Box::new(Collected::new(&self.0.budget))
    }

    fn start_morsel(&self, number: usize, local: &mut LocalState) {
        if let Some(local) = local.downcast_mut::<Collected>() {
            local.start_morsel(number);
        }
    }

    fn consume(&self, input: Batch, local: &mut LocalState) -> Result<Flow> {
        let local = local.downcast_mut::<Collected>().ok_or_else(wrong_state)?;
        let columns = self.0.core.stored.iter().map(|index| input.column(*index).clone()).collect();
        local.push(columns, input.len(), false)?;
        Ok(Flow::More)
    }

    fn combine(&self, local: LocalState) -> Result<()> {
        self.0.collection.add(*local.downcast::<Collected>().map_err(|_| wrong_state())?);
        Ok(())
    }

    fn finalize(&self, context: &ExecContext) -> Result<()> {
        let join = &*self.0;
        let chunks = join.collection.take()?;
        let reserved = chunks.reserve_columns(context)?;
        let columns = chunks.columns(context, 0, &join.core.stored_types(), true)?;
        let total = chunks.total;
        drop(chunks);
        join.core.set_rows(BuildRows::new(context, columns, total, join.core.track, reserved, 0)?)
    }
}

/// The operator of the probe side's pipeline.
struct NestedLoopProbe(Arc<NestedLoopJoin>);

struct ProbeLocal {
    core: CoreState,
    filter: Option<PairFilterState>,
    truth: Option<PairTruthState>,
    probe_rows: Vec<u32>,
    build_rows: Vec<u32>,
}

impl Operator for NestedLoopProbe {
    fn local(&self) -> LocalState {
        Box::new(ProbeLocal {
            core: self.0.core.state(),
            filter: self.0.filter.as_ref().map(PairFilter::state),
            truth: self.0.truth.as_ref().map(PairTruth::state),
            probe_rows: Vec::new(),
            build_rows: Vec::new(),
        })
    }

    fn process(&self, input: Batch, local: &mut LocalState, push: Push<'_>) -> Result<Flow> {
        let local = local.downcast_mut::<ProbeLocal>().ok_or_else(wrong_state)?;
        self.0.probe(&input, local, push)
    }

    fn flush(&self, local: &mut LocalState, push: Push<'_>) -> Result<Flow> {
        let local = local.downcast_mut::<ProbeLocal>().ok_or_else(wrong_state)?;
        self.0.core.flush(&mut local.core, push)
    }
}

/// One row of one side and several of the other.
#[derive(Clone, Copy)]
enum Block {
    /// A probe row with `len` build rows from `from` on.
    ProbeRow { row: usize, from: usize, len: usize },
    /// A build row with all probe rows.
    BuildRow { row: usize },
}

impl NestedLoopJoin {
    fn probe(&self, batch: &Batch, local: &mut ProbeLocal, push: Push<'_>) -> Result<Flow> {
        let rows = self.core.rows()?;
        if rows.len == 0 && self.core.drops_unmatched() {
            return Ok(Flow::Done);
        }
        self.core.begin(&mut local.core, batch.len());
        let first_only = matches!(self.core.kind, ProbeKind::Semi | ProbeKind::Anti | ProbeKind::Mark);
        if rows.len < batch.len() {
            for row in 0..rows.len {
                rows.interrupt.check()?;
                if self.core.kind == ProbeKind::Track && rows.is_matched(row as u32) {
                    continue;
                }
                if self.block(batch, rows, Block::BuildRow { row }, local, push)? == Flow::Done {
                    return Ok(Flow::Done);
                }
            }
        } else {
            for row in 0..batch.len() {
                let mut from = 0;
                while from < rows.len && !(first_only && local.core.hit[row] == 1) {
                    rows.interrupt.check()?;
                    let len = VECTOR_SIZE.min(rows.len - from);
                    if self.block(batch, rows, Block::ProbeRow { row, from, len }, local, push)? == Flow::Done
                    {
                        return Ok(Flow::Done);
                    }
                    from += len;
                }
            }
        }
        self.core.finish(&mut local.core, batch, push)
    }

    /// Evaluates the conditions on a block and takes the pairs that satisfy them.
    fn block(
        &self,
        batch: &Batch,
        rows: &BuildRows,
        block: Block,
        local: &mut ProbeLocal,
        push: Push<'_>,
    ) -> Result<Flow> {
        let len = match block {
            Block::ProbeRow { len, .. } => len,
            Block::BuildRow { .. } => batch.len(),
        };
        let pairs_of = |columns: &super::hash_join::pairs::PairColumns| match block {
            Block::ProbeRow { row, from, len } => columns.one_probe_row(batch, row, &rows.columns, from, len),
            Block::BuildRow { row } => columns.one_build_row(batch, &rows.columns, row),
        };
        let probe_row = |pair: u32| match block {
            Block::ProbeRow { row, .. } => row as u32,
            Block::BuildRow { .. } => pair,
        };
        local.probe_rows.clear();
        let positions = &mut local.build_rows;
        positions.clear();
        match (&self.filter, &mut local.filter, &self.truth, &mut local.truth) {
            (Some(filter), Some(state), ..) => {
                positions.extend_from_slice(filter.select(state, &pairs_of(&filter.columns)?)?);
            }
            (_, _, Some(truth), Some(state)) => {
                let values = truth.of_batch(state, &pairs_of(&truth.columns)?)?;
                for pair in 0..len {
                    match truth_at(&values, pair) {
                        Truth::True => positions.push(pair as u32),
                        Truth::Unknown => local.core.unknown[probe_row(pair as u32) as usize] = 1,
                        Truth::False => {}
                    }
                }
            }
            _ => positions.extend(0..len as u32),
        }
        local.probe_rows.extend(positions.iter().map(|pair| probe_row(*pair)));
        for position in positions.iter_mut() {
            *position = match block {
                Block::ProbeRow { from, .. } => from as u32 + *position,
                Block::BuildRow { row } => row as u32,
            };
        }
        self.core.take_pairs(&mut local.core, batch, &local.probe_rows, &local.build_rows, push)
    }
}
