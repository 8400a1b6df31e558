//! Hash joins whose build side does not fit into memory.
//!
//! ```text
//! build refused    build rows, and then all probe rows, go to files, partitioned by bits of the keys' hashes
//! probe through    each partition is a hash join of its own: its build rows are read and indexed, its probe rows look up
//! too large        the partition is split by further bits; rows of one key are taken in blocks, each against all probe rows
//! ```
//! Partitions are joined where the join hands on what only its end decides: by the outer scan, if there is one, else as
//! the probe's rest. What must be known of all partitions (whether there are build rows, and NULLs among their keys) is
//! kept aside, as are build rows with NULL keys, which find no partner.
//!
//! Source: Kitsuregawa et al., Application of Hash to Data Base Machine (1983): the GRACE join.

use super::HashJoin;
use super::build::{Known, hash_chunk};
use super::core::ProbeKind;
use super::keys::KeyRange;
use super::outer::JoinOuterScan;
use super::rows::{BuildRows, Chunk, Collected};
use crate::ExecContext;
use crate::pipeline::{DynSource, Flow, LocalState, Morsel, Push, Source};
use crate::spill::{Selection, SpillFile, SpillPartitions, SpilledRows, is_refusal};
use inlay_types::{Batch, Error, LogicalType, MemoryBudget, Result, VECTOR_SIZE, Vector};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// Partitions of the whole join.
const PARTITIONS: usize = 32;
/// Parts of a partition that was too large.
const PARTS: usize = 16;
/// How often partitions are split.
const DEPTH_MAX: u32 = 4;

/// Build sides of up to this many bytes stay in memory even if it is refused: the probe side would have to be written.
pub(super) const SMALL_BUILD: u64 = if cfg!(test) { 2 << 10 } else { 4 << 20 };

/// The partition of a hash at a depth. Indexes use the upper bits, and the lowest as tags.
fn part_of(hash: u64, depth: u32) -> usize {
    match depth {
        0 => (hash >> 8) as usize % PARTITIONS,
        deeper => (hash >> (13 + 4 * (deeper - 1))) as usize % PARTS,
    }
}

/// The rows of a join that went to files.
pub(super) struct JoinSpill {
    /// Stored columns, and behind them the keys.
    build: SpillPartitions,
    /// The same for rows with a NULL key that are kept.
    nulls: SpillPartitions,
    /// Whole rows of the probe side.
    probe: SpillPartitions,
    rows: AtomicUsize,
    null_rows: AtomicUsize,
    built: OnceLock<Built>,
}

struct Built {
    parts: Vec<SpilledRows>,
    nulls: Vec<SpilledRows>,
    known: Known,
}

impl JoinSpill {
    fn new(join: &HashJoin) -> Self {
        let file = SpillFile::new(&join.context);
        let types = join.build_types();
        Self {
            build: SpillPartitions::new(&file, &types, PARTITIONS),
            nulls: SpillPartitions::new(&file, &types, 1),
            probe: SpillPartitions::new(&SpillFile::new(&join.context), &join.core.probe.types, PARTITIONS),
            rows: AtomicUsize::new(0),
            null_rows: AtomicUsize::new(0),
            built: OnceLock::new(),
        }
    }

    /// Writes what a worker has collected.
    pub(super) fn add(&self, join: &HashJoin, collected: &mut Collected) -> Result<()> {
        let (chunks, nulls, dropped) = collected.take();
        self.add_chunks(join, chunks, nulls, dropped)
    }

    /// Writes build rows, and counts those that were dropped because of a NULL key.
    pub(super) fn add_chunks(
        &self,
        join: &HashJoin,
        chunks: Vec<Chunk>,
        nulls: Vec<Chunk>,
        dropped: usize,
    ) -> Result<()> {
        let (mut hashes, mut selection) = (Vec::new(), Selection::new(PARTITIONS));
        // Each batch is gone when it is written.
        for chunk in chunks {
            hash_chunk(&chunk.columns[join.core.stored.len()..], &mut hashes);
            selection.fill(chunk.len, |row| part_of(hashes[row], 0));
            self.build.append(&chunk.columns, &selection)?;
            self.rows.fetch_add(chunk.len, Ordering::Relaxed);
        }
        for chunk in nulls {
            let all: Vec<u32> = (0..chunk.len as u32).collect();
            self.nulls.append_to(0, &chunk.columns, &all)?;
            self.null_rows.fetch_add(chunk.len, Ordering::Relaxed);
        }
        self.null_rows.fetch_add(dropped, Ordering::Relaxed);
        Ok(())
    }

    /// All build rows are there.
    pub(super) fn finish(&self) -> Result<()> {
        let (rows, nulls) = (self.rows.load(Ordering::Relaxed), self.null_rows.load(Ordering::Relaxed));
        let known = Known { input_rows: rows + nulls, has_null_keys: nulls > 0 };
        let built = Built { parts: self.build.finish()?, nulls: self.nulls.finish()?, known };
        self.built.set(built).map_err(|_| Error::internal("a join was built twice"))
    }

    /// The build rows, once they are all there.
    pub(super) fn build_parts(&self) -> Result<&[SpilledRows]> {
        Ok(&self.built()?.parts)
    }

    fn built(&self) -> Result<&Built> {
        self.built.get().ok_or_else(|| Error::internal("a join's probe side ran before its build side"))
    }

    /// Writes probe rows.
    pub(super) fn probe(
        &self,
        join: &HashJoin,
        batch: &Batch,
        keys: &[Vector],
        scratch: &mut Scratch,
    ) -> Result<()> {
        let (built, drops) = (self.built()?, join.core.drops_unmatched());
        hash_chunk(keys, &mut scratch.hashes);
        let hashes = &scratch.hashes;
        let selection = scratch.selection.get_or_insert_with(|| Selection::new(PARTITIONS));
        selection.fill(batch.len(), |row| part_of(hashes[row], 0));
        if drops {
            selection.retain(|part| built.parts[part].rows() > 0);
        }
        self.probe.append(batch.columns(), selection)
    }
}

/// A worker's scratch for writing probe rows.
#[derive(Default)]
pub(super) struct Scratch {
    hashes: Vec<u64>,
    selection: Option<Selection>,
}

impl HashJoin {
    /// Types of stored columns and keys.
    fn build_types(&self) -> Vec<LogicalType> {
        self.core.stored_types().into_iter().chain(self.key_types.iter().cloned()).collect()
    }

    /// What build rows are collected in: where they can go to files instead, they leave some memory to others.
    pub(super) fn collecting_budget(&self) -> MemoryBudget {
        let budget = &self.context.budget;
        if self.mark.is_some() { budget.clone() } else { budget.yielding() }
    }

    /// The files that rows go to from now on; `refused` if this join must be in memory: general marks compare rows
    /// with NULLs with all others.
    pub(super) fn start_spill(&self, refused: Error) -> Result<&JoinSpill> {
        if !is_refusal(&refused) || self.mark.is_some() {
            return Err(refused);
        }
        Ok(self.spill.get_or_init(|| JoinSpill::new(self)))
    }

    /// Reads build rows into a join of their own; with `always`, even if memory is refused.
    fn load(&self, build: &SpilledRows, known: Known, always: bool) -> Result<HashJoin> {
        let mut context = self.context.alone();
        if always || build.memory_size() <= SMALL_BUILD {
            context.budget = MemoryBudget::unlimited();
        } else {
            // The partners of other workers' rows need memory, too, and can do with nothing else.
            context.budget = context.budget.yielding();
            // Rows are laid out while they are still there as they came. What cannot fit is not read first.
            drop(context.budget.reserve(2 * build.memory_size())?);
        }
        let join = HashJoin::new(self.options.clone(), &context)?;
        let mut collected = Collected::new(&context.budget);
        let mut ranges = vec![KeyRange::EMPTY; self.key_types.len()];
        let mut reader = build.reader();
        while let Some(batch) = reader.next()? {
            let len = batch.len();
            let columns = batch.into_columns();
            for ((range, key), narrow) in
                ranges.iter_mut().zip(&columns[self.core.stored.len()..]).zip(&self.narrow)
            {
                if *narrow {
                    *range = range.union(KeyRange::of(key));
                }
            }
            collected.push(columns, len, false)?;
        }
        join.collection.add(collected);
        let chunks = join.collection.take()?;
        join.build_from(&context, &chunks, &ranges, Some(known))?;
        Ok(join)
    }

    /// Joins one partition.
    fn join_part(
        &self,
        build: &SpilledRows,
        probe: &SpilledRows,
        known: Known,
        depth: u32,
        push: Push<'_>,
    ) -> Result<Flow> {
        if build.rows() == 0 && self.core.drops_unmatched() || probe.rows() == 0 && self.core.outer.is_none()
        {
            return Ok(Flow::More);
        }
        match self.load(build, known, false) {
            Ok(join) => join.run_part(probe, push),
            Err(error) if !is_refusal(&error) => Err(error),
            Err(error) if depth < DEPTH_MAX => self.split_part(build, probe, known, depth, error, push),
            Err(error) => self.join_blocks(build, probe, known, error, push),
        }
    }

    /// Probes with all rows, and hands on what the end decides.
    fn run_part(&self, probe: &SpilledRows, push: Push<'_>) -> Result<Flow> {
        let mut local = self.probe_local();
        let mut reader = probe.reader();
        while let Some(batch) = reader.next()? {
            if self.probe(&batch, &mut local, push)? == Flow::Done {
                return Ok(Flow::Done);
            }
        }
        if self.core.flush(&mut local.core, push)? == Flow::Done {
            return Ok(Flow::Done);
        }
        let Some(wanted) = self.core.outer else { return Ok(Flow::More) };
        let (rows, mut at, mut found) = (self.core.rows()?, 0, Vec::with_capacity(VECTOR_SIZE));
        while at < rows.len {
            found.clear();
            while at < rows.len && found.len() < VECTOR_SIZE {
                if rows.is_matched(at as u32) == wanted {
                    found.push(at as u32);
                }
                at += 1;
            }
            let output = &mut local.core.output;
            if !found.is_empty() && self.core.output.emit_build(output, rows, &found, push)? == Flow::Done {
                return Ok(Flow::Done);
            }
        }
        Ok(Flow::More)
    }

    /// Splits a partition whose build rows do not fit, and joins the parts.
    fn split_part(
        &self,
        build: &SpilledRows,
        probe: &SpilledRows,
        known: Known,
        depth: u32,
        refused: Error,
        push: Push<'_>,
    ) -> Result<Flow> {
        let file = SpillFile::new(&self.context);
        let first_key = self.core.stored.len();
        let build_parts = split(&file, build, &self.build_types(), depth + 1, |batch, hashes| {
            hash_chunk(&batch.columns()[first_key..], hashes);
            Ok(())
        })?;
        if build_parts.iter().any(|part| part.rows() == build.rows()) {
            return self.join_blocks(build, probe, known, refused, push);
        }
        let mut keys = self.probe_keys.states();
        let probe_parts = split(&file, probe, &self.core.probe.types, depth + 1, |batch, hashes| {
            hash_chunk(&self.probe_keys.eval(&mut keys, batch)?, hashes);
            Ok(())
        })?;
        for (build, probe) in build_parts.iter().zip(&probe_parts) {
            if self.join_part(build, probe, known, depth + 1, push)? == Flow::Done {
                return Ok(Flow::Done);
            }
        }
        Ok(Flow::More)
    }

    /// Takes build rows in blocks that fit, each of which meets all probe rows. Not for kinds that must know all partners
    /// of a probe row at once.
    fn join_blocks(
        &self,
        build: &SpilledRows,
        probe: &SpilledRows,
        known: Known,
        refused: Error,
        push: Push<'_>,
    ) -> Result<Flow> {
        let Some((first, second)) = build.halves() else {
            // A single batch.
            return self.load(build, known, true)?.run_part(probe, push);
        };
        if !matches!(self.core.kind, ProbeKind::Inner | ProbeKind::Track) {
            return Err(refused);
        }
        match self.load(build, known, false) {
            Ok(join) => join.run_part(probe, push),
            Err(error) if is_refusal(&error) => {
                if self.join_blocks(&first, probe, known, error, push)? == Flow::Done {
                    return Ok(Flow::Done);
                }
                self.join_blocks(&second, probe, known, refused, push)
            }
            Err(error) => Err(error),
        }
    }

    /// Hands on build rows with NULL keys.
    fn emit_nulls(&self, nulls: &SpilledRows, push: Push<'_>) -> Result<Flow> {
        let mut state = self.core.state();
        let mut reader = nulls.reader();
        while let Some(batch) = reader.next()? {
            let len = batch.len();
            let all: Vec<u32> = (0..len as u32).collect();
            let mut columns = batch.into_columns();
            columns.truncate(self.core.stored.len());
            let nothing = MemoryBudget::unlimited().reserve(0)?;
            let rows = BuildRows::new(&self.context, columns, len, false, nothing, 0)?;
            if self.core.output.emit_build(&mut state.output, &rows, &all, push)? == Flow::Done {
                return Ok(Flow::Done);
            }
        }
        Ok(Flow::More)
    }
}

/// Spreads rows over the partitions of a depth; `hash` hashes the keys of a batch.
fn split(
    file: &Arc<SpillFile>,
    rows: &SpilledRows,
    types: &[LogicalType],
    depth: u32,
    mut hash: impl FnMut(&Batch, &mut Vec<u64>) -> Result<()>,
) -> Result<Vec<SpilledRows>> {
    let parts = SpillPartitions::new(file, types, PARTS);
    let (mut hashes, mut selection) = (Vec::new(), Selection::new(PARTS));
    let mut reader = rows.reader();
    while let Some(batch) = reader.next()? {
        hash(&batch, &mut hashes)?;
        selection.fill(batch.len(), |row| part_of(hashes[row], depth));
        parts.append(batch.columns(), &selection)?;
    }
    parts.finish()
}

/// Joins partitions, one per morsel; the last morsel has the build rows with NULL keys.
pub(super) struct SpilledJoin {
    join: Arc<HashJoin>,
    probe: OnceLock<Vec<SpilledRows>>,
    next: AtomicUsize,
}

impl SpilledJoin {
    pub(super) fn new(join: &Arc<HashJoin>) -> Self {
        Self { join: Arc::clone(join), probe: OnceLock::new(), next: AtomicUsize::new(0) }
    }

    fn spill(&self) -> Result<&JoinSpill> {
        self.join.spill.get().ok_or_else(|| Error::internal("a join in memory was read from files"))
    }
}

impl Source for SpilledJoin {
    type Local = ();

    fn start(&self, _context: &ExecContext) -> Result<usize> {
        let probe = self.spill()?.probe.finish()?;
        self.probe.set(probe).map_err(|_| Error::internal("a join's files were read twice"))?;
        Ok(PARTITIONS + 1)
    }

    fn local(&self) {}

    fn run_morsel(
        &self,
        _local: &mut (),
        begin: &mut dyn FnMut(usize),
        push: &mut dyn FnMut(Batch) -> Result<Flow>,
    ) -> Result<Morsel> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        if number > PARTITIONS {
            return Ok(Morsel::Exhausted);
        }
        begin(number);
        let built = self.spill()?.built()?;
        match (number, self.probe.get()) {
            (PARTITIONS, _) if self.join.core.outer == Some(false) => {
                for nulls in &built.nulls {
                    self.join.emit_nulls(nulls, push)?;
                }
            }
            (PARTITIONS, _) | (_, None) => {}
            (_, Some(probe)) => {
                self.join.join_part(&built.parts[number], &probe[number], built.known, 0, push)?;
            }
        }
        Ok(Morsel::Pushed)
    }
}

/// The outer scan of a join that may be in files, where it makes all rows.
pub(super) struct HashJoinOuter {
    join: Arc<HashJoin>,
    scan: JoinOuterScan<HashJoin>,
    spilled: SpilledJoin,
}

impl HashJoinOuter {
    pub(super) fn new(join: &Arc<HashJoin>) -> Self {
        let (scan, spilled) = (JoinOuterScan::new(Arc::clone(join)), SpilledJoin::new(join));
        Self { join: Arc::clone(join), scan, spilled }
    }

    fn source(&self) -> &dyn DynSource {
        if self.join.spill.get().is_some() { &self.spilled } else { &self.scan }
    }
}

impl Source for HashJoinOuter {
    type Local = LocalState;

    fn start(&self, context: &ExecContext) -> Result<usize> {
        self.source().start(context)
    }

    fn local(&self) -> LocalState {
        self.source().local()
    }

    fn run_morsel(
        &self,
        local: &mut LocalState,
        begin: &mut dyn FnMut(usize),
        push: &mut dyn FnMut(Batch) -> Result<Flow>,
    ) -> Result<Morsel> {
        self.source().run_morsel(local, begin, push)
    }
}
