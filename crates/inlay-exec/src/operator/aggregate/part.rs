//! Partitions of groups and rows: each is merged and output by itself, by whichever worker takes it.
//!
//! One that does not fit into memory is split and output part by part, so often; a group that does not is computed while no other
//! worker holds memory of partitions.

use super::codes::{self, Feeder, Fields, Target};
use super::kept::{self, KeptFiles, KeptSpill};
use super::merge::{PARTITION_GROUPS, consume_file, hold, output_groups};
use super::partition::{
    By, Path, ROW_PARTITIONS, RowSpill, Rows, Run, SPLIT_PARTS, Spread, for_morsels, input_batch,
};
use super::scattered;
use super::spec::SharedSpec;
use super::state::{Scratch, State};
use super::table::TableHints;
use crate::context::ExecContext;
use crate::spill::{SpillFile, SpillPartitions, SpilledRows, is_refusal, resize_or_work};
use inlay_types::{Batch, Reservation, Result, Vector};
use parking_lot::{RwLock, RwLockReadGuard};
use std::time::Duration;

/// Groups and rows by partition.
pub(super) struct Partitions {
    pub(super) runs: Vec<Run>,
    pub(super) rows: Vec<Rows>,
    pub(super) spilled: Vec<SpilledRows>,
    pub(super) kept: KeptFiles,
    pub(super) count: usize,
    pub(super) spread: Spread,
    /// Shared by all who merge partitions; who needs all memory for a group waits for the others.
    pub(super) gate: RwLock<()>,
}

impl Partitions {
    /// Merges and outputs the groups of a partition; `false` if `push` has enough.
    pub(super) fn output(
        &self,
        spec: &SharedSpec,
        number: usize,
        context: &ExecContext,
        scratch: &mut Scratch,
        push: &mut dyn FnMut(Batch) -> Result<bool>,
    ) -> Result<bool> {
        let (spilled, kept) = (self.spilled.get(number), kept::of_partition(&self.kept, number));
        let part = Part { of: self, number, path: Path::default(), spilled, kept };
        let mut turn = Turn::new(&self.gate, context)?;
        part.output(spec, context, scratch, &mut turn, push)
    }
}

/// A partition, or a part of one that was too large.
struct Part<'a> {
    of: &'a Partitions,
    number: usize,
    path: Path,
    spilled: Option<&'a SpilledRows>,
    /// Rows that accumulators had kept, by slot.
    kept: Vec<Vec<&'a SpilledRows>>,
}

/// A worker's turn to merge partitions: with others, or alone.
struct Turn<'a> {
    gate: &'a RwLock<()>,
    shared: Option<RwLockReadGuard<'a, ()>>,
}

/// So long a worker waits before it looks whether the query was cancelled.
const WAIT: Duration = Duration::from_millis(20);

impl<'a> Turn<'a> {
    fn new(gate: &'a RwLock<()>, context: &ExecContext) -> Result<Self> {
        let mut turn = Self { gate, shared: None };
        turn.share(context)?;
        Ok(turn)
    }

    fn share(&mut self, context: &ExecContext) -> Result<()> {
        while self.shared.is_none() {
            context.interrupt.check()?;
            self.shared = self.gate.try_read_for(WAIT);
        }
        Ok(())
    }

    /// Runs `work` while no other worker holds memory of partitions.
    fn alone<T>(&mut self, context: &ExecContext, work: impl FnOnce() -> Result<T>) -> Result<T> {
        self.shared = None;
        let alone = loop {
            context.interrupt.check()?;
            if let Some(alone) = self.gate.try_write_for(WAIT) {
                break alone;
            }
        };
        let result = work()?;
        drop(alone);
        self.share(context)?;
        Ok(result)
    }
}

/// Bytes that a state may hold before memory is asked for again: hash tables and columns double when they are full, and the
/// old ones are there until all is moved.
fn grown(state: &State) -> u64 {
    let size = state.memory_size() as u64;
    2 * size + size / 2
}

/// Looks at a state every few batches.
fn looking(mut look: impl FnMut(&State) -> Result<()>) -> impl FnMut(&State) -> Result<()> {
    let mut batches = 0;
    move |state| {
        batches += 1;
        if usize::is_multiple_of(batches, CHECK_INTERVAL) { look(state) } else { Ok(()) }
    }
}

/// Files are read so many batches at a time between looks at the memory.
const CHECK_INTERVAL: usize = 4;

impl Part<'_> {
    /// Merges and outputs the groups; if they do not fit into memory, part by part. `false` if `push` has enough.
    fn output(
        &self,
        spec: &SharedSpec,
        context: &ExecContext,
        scratch: &mut Scratch,
        turn: &mut Turn<'_>,
        push: &mut dyn FnMut(Batch) -> Result<bool>,
    ) -> Result<bool> {
        let mut state = State::new(spec, self.hints(spec))?;
        let splits = self.path.depth < Path::DEPTH_MAX;
        let budget = if splits { context.budget.yielding() } else { context.budget.clone() };
        let mut reservation = budget.reserve(0)?;
        match self.merge(spec, &mut state, &mut reservation, context, scratch) {
            Ok(()) => output_groups(&state, 0, state.len(), push),
            // A single group cannot be split; but the first split also makes tables small.
            Err(error) if is_refusal(&error) && splits && (self.path.depth == 0 || state.len() > 1) => {
                drop((state, reservation));
                self.split(spec, context, scratch, turn, push)
            }
            // But its distinct rows can, and rows that accumulators keep may lie in files.
            Err(error)
                if is_refusal(&error)
                    && self.path.depth > 0
                    && (!spec.distincts.is_empty() || spec.keeps_rows()) =>
            {
                drop((state, reservation));
                turn.alone(context, || self.output_alone(spec, context, scratch, push))
            }
            Err(error) => Err(error),
        }
    }

    /// As [`Part::output`], for few groups with many rows: for each list of distinct arguments, rows are split by their hash, each
    /// share is aggregated by itself, and the accumulators are merged; rows that accumulators keep are gathered slot by slot.
    fn output_alone(
        &self,
        spec: &SharedSpec,
        context: &ExecContext,
        scratch: &mut Scratch,
        push: &mut dyn FnMut(Batch) -> Result<bool>,
    ) -> Result<bool> {
        let small = || TableHints { small: true, ..TableHints::default() };
        let mut whole = State::new(spec, small())?;
        let mut memory = context.budget.reserve(0)?;
        let own = KeptSpill::new(spec, 1, context);
        for run in &self.of.runs {
            run.merge_plain(&mut whole, self.number, self.path)?;
            hold(spec, &mut whole, &own, &mut memory, grown)?;
        }
        if let (true, Some(file)) = (spec.distincts.is_empty(), self.spilled) {
            consume_file(file, &mut whole, (spec, &own), scratch, &mut memory)?;
        }
        for turn in 0..spec.distincts.len() {
            let files = self.spread(spec, By::Distinct(turn), None, context, scratch)?;
            for share in 0..ROW_PARTITIONS {
                context.interrupt.check()?;
                let mut state = State::new(spec, small())?;
                state.turn = Some(turn);
                let mut reservation = context.budget.reserve(0)?;
                for run in &self.of.runs {
                    let part = (self.number, self.path);
                    {
                        let mut check =
                            looking(|state| resize_or_work(&mut reservation, state.memory_size() as u64));
                        run.merge_share(&mut state, part, turn, (share, ROW_PARTITIONS), &mut check)?;
                    }
                    resize_or_work(&mut reservation, state.memory_size() as u64)?;
                }
                if let Some(file) = files.get(share) {
                    consume_file(file, &mut state, (spec, &own), scratch, &mut reservation)?;
                }
                state.finish_distinct()?;
                whole.merge_turn(&state, turn)?;
                hold(spec, &mut whole, &own, &mut memory, |state| state.memory_size() as u64)?;
            }
        }
        whole.finish_distinct()?;
        own.drain(spec, &mut whole)?;
        let own = own.finish()?;
        let files = kept::joined(&self.kept, &own);
        if whole.len() == 1 {
            kept::gather(spec, &mut whole, (&files, None), context, &mut memory)?;
        }
        if whole.len() == 1 || files.iter().all(Vec::is_empty) {
            return output_groups(&whole, 0, whole.len(), push);
        }
        for group in 0..whole.len() as u32 {
            let mut one = State::new(spec, small())?;
            one.add_groups(&whole, &[group])?;
            one.merge_group(0, &whole, group as usize)?;
            let mut reservation = context.budget.reserve(0)?;
            let mut pick = |batch: Batch| whole.rows_of(group, batch);
            kept::gather(spec, &mut one, (&files, Some(&mut pick)), context, &mut reservation)?;
            if !output_groups(&one, 0, 1, push)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Writes the rows that are not aggregated yet to files of their own.
    fn spread(
        &self,
        spec: &SharedSpec,
        by: By,
        path: Option<Path>,
        context: &ExecContext,
        scratch: &mut Scratch,
    ) -> Result<Vec<SpilledRows>> {
        let file = SpillFile::new(context);
        let (mut target, mut spill) = (None, RowSpill::default());
        let parts = if path.is_some() { SPLIT_PARTS } else { ROW_PARTITIONS };
        self.for_rows(context, |columns, len, _| {
            let target = target.get_or_insert_with(|| {
                let types: Vec<_> = columns.iter().map(Vector::logical_type).collect();
                SpillPartitions::new(&file, &types, parts)
            });
            let input = input_batch(spec, &columns, len);
            spill.append(target, (path, by), spec, (&input, &columns), scratch)
        })?;
        target.map_or_else(|| Ok(Vec::new()), |target| target.finish())
    }

    fn hints(&self, spec: &SharedSpec) -> TableHints {
        let small = self.path.depth > 0;
        let (ranges, strings) = (spec.hints.ranges.clone(), spec.hints.strings.clone());
        let mut hints = TableHints { ranges, strings, small, unordered: true, ..TableHints::default() };
        match self.of.spread {
            Spread::Range { min, shift } => {
                let part = 1u64 << shift;
                hints.ranges = vec![Some((min.wrapping_add(part * self.number as u64), part - 1))];
                hints.rows = Some(part);
            }
            Spread::Hash => {
                let groups: usize = self.of.runs.iter().map(|run| run.groups_in(self.number)).sum();
                let rows: usize = self.of.rows.iter().map(|rows| rows.rows_in(self.number)).sum();
                hints.groups = Some((groups + rows) as u64);
                hints.rows = Some((groups + rows).max(PARTITION_GROUPS) as u64);
            }
        }
        hints
    }

    fn merge(
        &self,
        spec: &SharedSpec,
        state: &mut State,
        reservation: &mut Reservation,
        context: &ExecContext,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let mut targets = Vec::with_capacity(self.of.runs.len());
        for run in &self.of.runs {
            context.interrupt.check()?;
            {
                let mut check = looking(|state| resize_or_work(reservation, grown(state)));
                match self.path.depth {
                    0 => targets.push(run.merge_into(state, self.number, &mut check)?),
                    _ => run.merge_part(state, self.number, self.path, &mut check)?,
                }
            }
            resize_or_work(reservation, grown(state))?;
        }
        if self.path.depth == 0 {
            for index in 0..spec.distincts.len() {
                self.merge_codes(spec, (state, index), &targets, reservation)?;
            }
        }
        self.restore(spec, state, reservation, context)?;
        let mut count = 0;
        self.for_rows(context, |columns, len, hashes| {
            for_morsels(spec, columns, len, |morsel, rows| {
                morsel.into_iter().for_each(|morsel| state.start_morsel(morsel));
                state.consume_hashed(&input_batch(spec, rows.columns(), rows.len()), hashes, scratch)
            })?;
            count += 1;
            if !usize::is_multiple_of(count, CHECK_INTERVAL) {
                return Ok(());
            }
            resize_or_work(reservation, self.wanted(spec, state))
        })?;
        resize_or_work(reservation, state.memory_size() as u64)?;
        state.finish_distinct()?;
        kept::reserve_output(spec, state, reservation)
    }

    /// Adds rows that accumulators had kept.
    fn restore(
        &self,
        spec: &SharedSpec,
        state: &mut State,
        reservation: &mut Reservation,
        context: &ExecContext,
    ) -> Result<()> {
        for (slot, file) in
            self.kept.iter().enumerate().flat_map(|(slot, files)| files.iter().map(move |file| (slot, file)))
        {
            let rows = file.rows() + self.spilled.map_or(0, SpilledRows::rows);
            state.accumulators[slot].expect_rows(usize::try_from(rows).unwrap_or(usize::MAX));
            kept::restore(spec, slot, file, state, |state| {
                context.interrupt.check()?;
                resize_or_work(reservation, self.wanted(spec, state))
            })?;
        }
        Ok(())
    }

    /// As [`grown`], where accumulators have room for all rows that they keep.
    fn wanted(&self, spec: &SharedSpec, state: &State) -> u64 {
        match self.kept.iter().all(Vec::is_empty) {
            true => grown(state),
            false => grown(state) - kept::kept_size(spec, state) as u64 * 3 / 2,
        }
    }

    /// Adds the distinct rows of a list that are codes; `targets` are the groups of each run's.
    fn merge_codes(
        &self,
        spec: &SharedSpec,
        (state, index): (&mut State, usize),
        targets: &[Vec<u32>],
        reservation: &mut Reservation,
    ) -> Result<()> {
        let (number, held) = (self.number, grown(state));
        let mut memory = |bytes: usize| resize_or_work(reservation, held + bytes as u64);
        let narrow = self.codes_of(targets, |run| run.narrow(index, number));
        let wide = self.codes_of(targets, |run| run.wide(index, number));
        let groups = state.len();
        let into = Target::all(&mut state.accumulators, groups);
        if let Some((fields, lists)) = narrow {
            Feeder::new(fields, &spec.slots, index).feed(&lists, into, &mut memory)
        } else if let Some((fields, lists)) = wide {
            Feeder::new(fields, &spec.slots, index).feed(&lists, into, &mut memory)
        } else {
            Ok(())
        }
    }

    /// Where codes have what, and those of each run with the groups that its groups are, if they are others.
    fn codes_of<'a, K>(
        &'a self,
        targets: &'a [Vec<u32>],
        of_run: impl Fn(&'a Run) -> Option<(&'a Fields, scattered::Part<'a, K>)>,
    ) -> Option<(&'a Fields, Vec<codes::Renamed<'a, K>>)> {
        let (mut all, mut lists) = (None, Vec::with_capacity(targets.len()));
        for (run, targets) in self.of.runs.iter().zip(targets) {
            let (fields, codes) = of_run(run)?;
            // The groups of the first run keep their numbers.
            let is_same = targets.iter().zip(0..).all(|(&target, group)| target == group);
            lists.push((codes, (!is_same).then_some(&targets[..])));
            all = Some(fields);
        }
        Some((all?, lists))
    }

    /// Calls `each` with the needed columns of rows that are not aggregated yet, and the hashes of their keys, if they are known.
    fn for_rows(
        &self,
        context: &ExecContext,
        mut each: impl FnMut(Vec<Vector>, usize, Option<&[u64]>) -> Result<()>,
    ) -> Result<()> {
        // Parts have all their rows in files.
        let in_memory = if self.path.depth == 0 { &self.of.rows[..] } else { &[] };
        for rows in in_memory {
            context.interrupt.check()?;
            rows.for_partition(self.number, &mut each)?;
        }
        if let Some(spilled) = self.spilled {
            let mut reader = spilled.reader();
            while let Some(batch) = reader.next()? {
                let len = batch.len();
                each(batch.into_columns(), len, None)?;
            }
        }
        Ok(())
    }

    fn split(
        &self,
        spec: &SharedSpec,
        context: &ExecContext,
        scratch: &mut Scratch,
        turn: &mut Turn<'_>,
        push: &mut dyn FnMut(Batch) -> Result<bool>,
    ) -> Result<bool> {
        let parts = self.spread(spec, By::Groups, Some(self.path), context, scratch)?;
        let kept_parts = kept::split(spec, &self.kept, (self.path, SPLIT_PARTS), context)?;
        for number in 0..SPLIT_PARTS {
            let (path, spilled) = (self.path.part(number), parts.get(number));
            let kept = kept::of_partition(&kept_parts, number);
            let part = Part { of: self.of, number: self.number, path, spilled, kept };
            if !part.output(spec, context, scratch, turn, push)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
