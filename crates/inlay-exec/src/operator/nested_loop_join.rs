//! Joins without equalities, of every kind: each probe row meets each build row.
//!
//! Conditions are evaluated on blocks of pairs that hold one row of one side, as constants, and many rows of the other,
//! as they lie; nothing is gathered before a pair has matched. The side with fewer rows (of the probe batch and the
//! stored rows) gives the constants.
//!
//! Where memory is refused, the stored rows go to files, which are read once for each probe batch. That cannot be where
//! the join tells which stored rows found a partner.

use super::hash_join::core::{Core, CoreState, ProbeKind, columns_read};
use super::hash_join::pairs::{PairFilter, PairFilterState, PairTruth, PairTruthState, Truth, truth_at};
use super::hash_join::rows::{BuildRows, Collected, Collection};
use super::hash_join::{JoinOptions, JoinOuterScan, JoinParts};
use crate::ExecContext;
use crate::pipeline::{Flow, Handout, Operator, Push, Sink};
use crate::spill::{SpillFile, SpilledRows, is_refusal};
use inlay_sql::plan::JoinKind;
use inlay_types::{Batch, Error, Result, VECTOR_SIZE, Vector};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

/// A nested-loop join: its plan and its stored rows.
struct NestedLoopJoin {
    core: Core,
    filter: Option<PairFilter>,
    /// For Mark joins with conditions.
    truth: Option<PairTruth>,
    collection: Collection,
    /// Stored rows that are in files.
    spilled: Mutex<Vec<SpilledRows>>,
    /// The same, complete.
    files: OnceLock<Vec<SpilledRows>>,
    /// Where they go.
    file: Option<Arc<SpillFile>>,
    context: ExecContext,
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
        spilled: Mutex::default(),
        files: OnceLock::new(),
        file: if core.track || core.stored.is_empty() { None } else { Some(SpillFile::new(context)) },
        context: context.clone(),
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

impl Sink for NestedLoopBuild {
    type Local = BuildLocal;

    fn local(&self) -> BuildLocal {
        BuildLocal { collected: Collected::new(&self.0.context.budget), written: None }
    }

    fn handout(&self) -> Handout {
        Handout::Apart
    }

    fn start_morsel(&self, number: usize, local: &mut BuildLocal) {
        local.collected.start_morsel(number);
    }

    fn consume(&self, input: Batch, local: &mut BuildLocal) -> Result<Flow> {
        let columns: Vec<Vector> =
            self.0.core.stored.iter().map(|index| input.column(*index).clone()).collect();
        if let Some(written) = &mut local.written {
            write(written, &columns, input.len())?;
            return Ok(Flow::More);
        }
        match (local.collected.push(columns, input.len(), false), &self.0.file) {
            (Err(error), Some(file)) if is_refusal(&error) => {
                let mut written = SpilledRows::new(file, &self.0.core.stored_types());
                for chunk in local.collected.take().0 {
                    write(&mut written, &chunk.columns, chunk.len)?;
                }
                local.written = Some(written);
            }
            (pushed, _) => pushed?,
        }
        Ok(Flow::More)
    }

    fn combine(&self, local: BuildLocal) -> Result<()> {
        self.0.collection.add(local.collected);
        self.0.spilled.lock().extend(local.written);
        Ok(())
    }

    fn finalize(&self, context: &ExecContext) -> Result<()> {
        let join = &*self.0;
        let mut chunks = join.collection.take()?;
        let mut files = std::mem::take(&mut *join.spilled.lock());
        let reserved = match (chunks.reserve_columns(context), &join.file) {
            (reserved @ Ok(_), _) if files.is_empty() => reserved?,
            (Err(error), None) => return Err(error),
            (Err(error), Some(_)) if !is_refusal(&error) => return Err(error),
            (_, file) => {
                if let Some(file) = file {
                    let mut written = SpilledRows::new(file, &join.core.stored_types());
                    for chunk in chunks.into_rows().0 {
                        write(&mut written, &chunk.columns, chunk.len)?;
                    }
                    files.push(written);
                }
                chunks = join.collection.take()?;
                chunks.reserve_columns(context)?
            }
        };
        join.files.set(files).map_err(|_| Error::internal("a nested-loop join was built twice"))?;
        let columns = chunks.columns(context, 0, &join.core.stored_types(), true)?;
        let total = chunks.total;
        drop(chunks);
        join.core.set_rows(BuildRows::new(context, columns, total, join.core.track, reserved, 0)?)
    }
}

/// The operator of the probe side's pipeline.
struct NestedLoopProbe(Arc<NestedLoopJoin>);

/// What a worker has of the build side.
struct BuildLocal {
    collected: Collected,
    /// All its rows, once memory was refused.
    written: Option<SpilledRows>,
}

/// Writes rows in batches.
fn write(written: &mut SpilledRows, columns: &[Vector], len: usize) -> Result<()> {
    let mut from = 0;
    while from < len {
        let count = VECTOR_SIZE.min(len - from);
        let part: Vec<Vector> = columns.iter().map(|column| column.slice(from, count)).collect();
        written.push(&part, count)?;
        from += count;
    }
    Ok(())
}

struct ProbeLocal {
    core: CoreState,
    filter: Option<PairFilterState>,
    truth: Option<PairTruthState>,
    probe_rows: Vec<u32>,
    build_rows: Vec<u32>,
}

impl Operator for NestedLoopProbe {
    type Local = ProbeLocal;

    fn local(&self) -> ProbeLocal {
        ProbeLocal {
            core: self.0.core.state(),
            filter: self.0.filter.as_ref().map(PairFilter::state),
            truth: self.0.truth.as_ref().map(PairTruth::state),
            probe_rows: Vec::new(),
            build_rows: Vec::new(),
        }
    }

    fn process(&self, input: Batch, local: &mut ProbeLocal, push: Push<'_>) -> Result<Flow> {
        self.0.probe(&input, local, push)
    }

    fn flush(&self, local: &mut ProbeLocal, push: Push<'_>) -> Result<Flow> {
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
        let files =
            self.files.get().ok_or_else(|| Error::internal("a join was probed before it was built"))?;
        if rows.len == 0 && files.is_empty() && self.core.drops_unmatched() {
            return Ok(Flow::Done);
        }
        self.core.begin(&mut local.core, batch.len());
        if self.pairs(batch, rows, local, push)? == Flow::Done {
            return Ok(Flow::Done);
        }
        for file in files {
            let mut reader = file.reader();
            self.core.flush(&mut local.core, push)?;
            while let Some(stored) = reader.next()? {
                let (len, reserved) = (stored.len(), self.context.budget.reserve(0)?);
                let rows = BuildRows::new(&self.context, stored.into_columns(), len, false, reserved, 0)?;
                let flow = self.pairs(batch, &rows, local, push)?;
                let held = self.core.flush_with(&rows, &mut local.core, push)?;
                if flow == Flow::Done || held == Flow::Done {
                    return Ok(Flow::Done);
                }
            }
        }
        self.core.finish(&mut local.core, batch, push)
    }

    /// The pairs of a probe batch and stored rows.
    fn pairs(&self, batch: &Batch, rows: &BuildRows, local: &mut ProbeLocal, push: Push<'_>) -> Result<Flow> {
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
        Ok(Flow::More)
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
        self.core.take_pairs_with(rows, &mut local.core, batch, &local.probe_rows, &local.build_rows, push)
    }
}
