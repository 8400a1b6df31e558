//! Rows that accumulators keep (those of medians, lists, ordered aggregates and of a host), in files when there is no memory for
//! them.
//!
//! Groups, and what else is accumulated, stay in memory: a state gives its rows away and goes on. Each slot has rows of its own:
//! keys, the arguments that are kept, and the morsel if the order counts. They lie in partitions by the hash of the keys, as
//! all that is merged later.

use super::partition::{Path, for_morsels, hash_keys, partition_of};
use super::spec::{SlotKind, Spec};
use super::state::State;
use crate::context::ExecContext;
use crate::expression::Layout;
use crate::operator::sort::{Sort, SortOptions};
use crate::pipeline::{Flow, Morsel, Sink, Source};
use crate::spill::{
    Selection, SpillFile, SpillPartitions, SpilledRows, is_refusal, resize_or_work, rows_size,
};
use inlay_kernels::aggregate::{self, GroupIds, GroupedAccumulator, OrderKey, Passes};
use inlay_kernels::function::AggregateFunction;
use inlay_sql::plan::{ColumnId, Expr, SortKey};
use inlay_types::{Batch, Error, LogicalType, Reservation, Result, VECTOR_SIZE, Vector};
use parking_lot::Mutex;
use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Where states put their rows.
pub(super) struct KeptSpill {
    /// By slot; none for one that keeps no rows.
    slots: Vec<Option<SpillPartitions>>,
    count: usize,
    /// Bytes, about, that were taken from slots whose results are made of all rows of a group.
    whole: AtomicU64,
}

/// The results of what is kept in fewer bytes are small.
const OUTPUT_MIN: usize = 4 << 20;
/// Partitions of even groups have no more than this part of all.
const MERGED_SHARE: usize = 16;

/// So many times the limit: what is kept for a result takes up to twice its rows.
const HOPELESS: u64 = 2;

/// The same when all are there: by slot, then by partition; nothing for a slot that keeps none.
pub(super) type KeptFiles = Vec<Vec<SpilledRows>>;

impl KeptSpill {
    /// `count` partitions.
    pub(super) fn new(spec: &Spec, count: usize, context: &ExecContext) -> Self {
        let file = SpillFile::new(context);
        let partitions = |kept: &Option<Vec<LogicalType>>| {
            let order = spec.is_order_sensitive().then_some(LogicalType::UInteger);
            let types: Vec<_> =
                spec.group_types.iter().cloned().chain(kept.as_ref()?.iter().cloned()).chain(order).collect();
            Some(SpillPartitions::new(&file, &types, count))
        };
        Self { slots: spec.kept.iter().map(partitions).collect(), count, whole: AtomicU64::new(0) }
    }

    /// Takes the rows that a state keeps.
    pub(super) fn drain(&self, spec: &Spec, state: &mut State) -> Result<()> {
        let mut selection = Selection::new(self.count);
        let (mut hashes, mut rows) = (Vec::new(), Vec::new());
        for (slot, target) in self.slots.iter().enumerate() {
            let (Some(target), Some(kept)) = (target, state.accumulators[slot].kept()) else { continue };
            for (number, groups) in kept.groups().chunks(VECTOR_SIZE).enumerate() {
                let from = number * VECTOR_SIZE;
                let keys: Vec<Vector> =
                    state.table.columns().iter().map(|column| column.gather(groups)).collect();
                hash_keys(&keys, groups.len(), &mut hashes);
                rows.clear();
                rows.extend(keys);
                rows.extend(kept.columns().iter().map(|column| column.to_vector(from, groups.len())));
                if spec.is_order_sensitive() {
                    let morsels = kept.morsels(from as u32, (from + groups.len()) as u32);
                    rows.push(Vector::from_values(LogicalType::UInteger, &morsels));
                }
                selection.fill(groups.len(), |row| partition_of(hashes[row], self.count));
                target.append(&rows, &selection)?;
            }
            if spec.whole[slot] {
                let bytes = state.accumulators[slot].memory_size() as u64;
                self.whole.fetch_add(bytes, Ordering::Relaxed);
            }
            state.accumulators[slot].forget_kept();
        }
        Ok(())
    }

    /// Whether a result of all rows that were taken cannot fit into the memory that there is, wherever they lie until then.
    pub(super) fn is_hopeless(&self, spec: &Spec, context: &ExecContext) -> bool {
        let most = context.budget.limit().saturating_mul(HOPELESS);
        spec.group_types.is_empty() && self.whole.load(Ordering::Relaxed) > most
    }

    /// Takes the rows that all states keep; no more are added.
    pub(super) fn drain_all(
        &self,
        spec: &Spec,
        states: &mut Vec<State>,
        context: &ExecContext,
    ) -> Result<KeptFiles> {
        let slots: Vec<Mutex<State>> = states.drain(..).map(Mutex::new).collect();
        context.parallel(slots.len(), |task| self.drain(spec, &mut slots[task].lock()))?;
        states.extend(slots.into_iter().map(Mutex::into_inner));
        self.finish()
    }

    /// Adds rows of a file to the parts below `path` that they belong to.
    fn spread(&self, spec: &Spec, slot: usize, file: &SpilledRows, path: Path) -> Result<()> {
        let Some(target) = &self.slots[slot] else { return Ok(()) };
        let (mut reader, mut hashes) = (file.reader(), Vec::new());
        let mut selection = Selection::new(self.count);
        while let Some(batch) = reader.next()? {
            hash_keys(&batch.columns()[..spec.group_types.len()], batch.len(), &mut hashes);
            selection.fill(batch.len(), |row| path.next(hashes[row]));
            target.append(batch.columns(), &selection)?;
        }
        Ok(())
    }

    /// All rows; no more are added.
    pub(super) fn finish(&self) -> Result<KeptFiles> {
        let finish = |slot: &Option<SpillPartitions>| match slot {
            Some(partitions) => partitions.finish(),
            None => Ok(Vec::new()),
        };
        self.slots.iter().map(finish).collect()
    }
}

/// Bytes that the accumulators of a state hold whose rows can be put into files.
pub(super) fn kept_size(spec: &Spec, state: &State) -> usize {
    let keeps = spec.kept.iter().map(Option::is_some);
    state.accumulators.iter().zip(keeps).filter(|(_, keeps)| *keeps).map(|(a, _)| a.memory_size()).sum()
}

/// Whether to merge what accumulators of several states keep may take more memory than there is.
pub(super) fn is_tight(spec: &Spec, states: &[State], context: &ExecContext) -> Result<bool> {
    let all: usize = states.iter().map(|state| kept_size(spec, state)).sum();
    // Copies of all groups, which grow.
    let is_refused = |bytes: usize| match context.budget.reserve(bytes as u64 * 5 / 2) {
        Err(error) if is_refusal(&error) => Ok(true),
        other => other.map(|_| false),
    };
    if states.len() < 2 || !is_refused(all)? {
        return Ok(false);
    }
    // Each worker merges a partition, in which may be the largest group and some others.
    let largest: usize = states.iter().map(|state| largest_group(spec, state)).sum();
    let partition = (2 * largest + all / MERGED_SHARE).min(all);
    is_refused(partition * context.workers.count())
}

/// Sets a reservation to what a state takes while its results are output: what is kept of a group is put in order, and may be
/// its result.
pub(super) fn reserve_output(spec: &Spec, state: &State, reservation: &mut Reservation) -> Result<()> {
    let (size, kept) = (state.memory_size(), kept_size(spec, state));
    if kept < OUTPUT_MIN {
        return resize_or_work(reservation, size as u64);
    }
    // Which group is the largest is asked only where it matters.
    match reservation.resize((size + 2 * kept) as u64) {
        Err(error) if is_refusal(&error) => {
            resize_or_work(reservation, (size + 2 * largest_group(spec, state)) as u64)
        }
        other => other,
    }
}

/// Bytes that accumulators keep of the largest group of a state.
fn largest_group(spec: &Spec, state: &State) -> usize {
    let mut bytes = 0;
    for (accumulator, _) in state.accumulators.iter().zip(&spec.kept).filter(|(_, kept)| kept.is_some()) {
        let Some(kept) = accumulator.kept() else { continue };
        let mut counts = vec![0usize; state.len()];
        kept.groups().iter().for_each(|&group| counts[group as usize] += 1);
        let most = counts.iter().max().map_or(0, |most| *most);
        bytes +=
            (accumulator.memory_size() as f64 * most as f64 / kept.groups().len().max(1) as f64) as usize;
    }
    bytes
}

/// The files of one partition, by slot.
pub(super) fn of_partition(files: &KeptFiles, partition: usize) -> Vec<Vec<&SpilledRows>> {
    let has_rows = |file: &&SpilledRows| file.rows() > 0;
    files.iter().map(|slot| slot.get(partition).into_iter().filter(has_rows).collect()).collect()
}

/// The rows of a partition by the parts below `path`.
pub(super) fn split(
    spec: &Spec,
    files: &[Vec<&SpilledRows>],
    (path, parts): (Path, usize),
    context: &ExecContext,
) -> Result<KeptFiles> {
    let target = KeptSpill::new(spec, parts, context);
    for (slot, files) in files.iter().enumerate() {
        for file in files {
            target.spread(spec, slot, file, path)?;
        }
    }
    target.finish()
}

/// Adds the rows of a file to a slot of a state, which has their groups.
pub(super) fn restore(
    spec: &Spec,
    slot: usize,
    file: &SpilledRows,
    state: &mut State,
    mut check: impl FnMut(&State) -> Result<()>,
) -> Result<()> {
    let (mut reader, mut groups, keys) = (file.reader(), Vec::new(), spec.group_types.len());
    while let Some(batch) = reader.next()? {
        let len = batch.len();
        for_morsels(spec, batch.into_columns(), len, |morsel, rows| {
            state.find(rows.columns()[..keys].to_vec(), rows.len(), &mut groups)?;
            let (args, ids) = (args_of(&rows, keys), GroupIds::new(&groups, state.len()));
            morsel.into_iter().for_each(|morsel| state.accumulators[slot].start_morsel(morsel));
            state.accumulators[slot].restore(&args, ids)
        })?;
        check(state)?;
    }
    Ok(())
}

/// The columns behind the keys.
fn args_of(rows: &Batch, keys: usize) -> Vec<&Vector> {
    rows.columns()[keys..].iter().collect()
}

/// The files of both, by slot: rows of a morsel in `files` came before those in `later`.
pub(super) fn joined<'a>(files: &[Vec<&'a SpilledRows>], later: &'a KeptFiles) -> Vec<Vec<&'a SpilledRows>> {
    let of_slot = |(slot, later): (usize, &'a Vec<SpilledRows>)| {
        let earlier = files.get(slot).into_iter().flatten().copied();
        earlier.chain(later).filter(|file| file.rows() > 0).collect()
    };
    later.iter().enumerate().map(of_slot).collect()
}

/// Leaves those rows of a batch that are wanted, if not all are.
pub(super) type Pick<'a> = Option<&'a mut dyn FnMut(Batch) -> Result<Batch>>;

/// Completes a state of one group, which keeps no rows, by its rows in files, one slot after the other. `reservation` has the
/// memory of the state.
pub(super) fn gather(
    spec: &Spec,
    state: &mut State,
    (files, mut pick): (&[Vec<&SpilledRows>], Pick<'_>),
    context: &ExecContext,
    reservation: &mut Reservation,
) -> Result<()> {
    // Rows of the state went to files a moment ago.
    resize_or_work(reservation, state.memory_size() as u64)?;
    for (slot, files) in files.iter().enumerate().filter(|(_, files)| !files.is_empty()) {
        let (held, of) = (state.memory_size() as u64, &spec.slots[slot]);
        let accumulator = std::mem::replace(&mut state.accumulators[slot], spec.accumulator(of)?);
        let mut memory = |bytes: usize| resize_or_work(reservation, held + bytes as u64);
        let pick = pick.as_mut().map(|pick| &mut **pick as _);
        let rows = Gathered { spec, files, pick };
        let result = match &of.kind {
            SlotKind::Ordered(function, types, keys) => {
                rows.sorted((function, types, keys), context, &mut memory)?
            }
            _ => match accumulator.passes() {
                Some(passes) => rows.read(passes, context)?,
                None => rows.added(accumulator, &mut memory)?,
            },
        };
        state.accumulators[slot] = Box::new(Finished(result));
        resize_or_work(reservation, state.memory_size() as u64)?;
    }
    Ok(())
}

/// The rows of one group that a slot keeps.
struct Gathered<'a> {
    spec: &'a Spec,
    files: &'a [&'a SpilledRows],
    pick: Pick<'a>,
}

impl Gathered<'_> {
    /// Calls `each` with all rows, some at a time.
    fn for_each(&mut self, mut each: impl FnMut(Batch) -> Result<()>) -> Result<()> {
        for file in self.files {
            let mut reader = file.reader();
            while let Some(batch) = reader.next()? {
                let batch = match &mut self.pick {
                    Some(pick) => pick(batch)?,
                    None => batch,
                };
                if !batch.is_empty() {
                    each(batch)?;
                }
            }
        }
        Ok(())
    }

    /// How many rows there are.
    fn count(&mut self) -> Result<usize> {
        if self.pick.is_none() {
            let rows: u64 = self.files.iter().map(|file| file.rows()).sum();
            return Ok(usize::try_from(rows).unwrap_or(usize::MAX));
        }
        let mut rows = 0;
        self.for_each(|batch| {
            rows += batch.len();
            Ok(())
        })?;
        Ok(rows)
    }

    /// The result of rows that are read until it is known.
    fn read(mut self, mut passes: Box<dyn Passes>, context: &ExecContext) -> Result<Vector> {
        let keys = self.spec.group_types.len();
        let morsel = usize::from(self.spec.is_order_sensitive());
        loop {
            self.for_each(|batch| {
                context.interrupt.check()?;
                let args = &batch.columns()[keys..batch.columns().len() - morsel];
                passes.add(&args.iter().collect::<Vec<_>>(), batch.len())
            })?;
            if let Some(result) = passes.end()? {
                return Ok(result);
            }
        }
    }

    /// The result of all rows, added to an accumulator that knows its parameters.
    fn added(
        mut self,
        mut accumulator: Box<dyn GroupedAccumulator>,
        memory: &mut dyn FnMut(usize) -> Result<()>,
    ) -> Result<Vector> {
        accumulator.expect_rows(self.count()?);
        let (spec, keys) = (self.spec, self.spec.group_types.len());
        self.for_each(|batch| {
            let len = batch.len();
            for_morsels(spec, batch.into_columns(), len, |morsel, rows| {
                morsel.into_iter().for_each(|morsel| accumulator.start_morsel(morsel));
                let ids = vec![0; rows.len()];
                accumulator.restore(&args_of(&rows, keys), GroupIds::new(&ids, 1))
            })?;
            memory(accumulator.memory_size())
        })?;
        // The result is made of the rows.
        memory(2 * accumulator.memory_size())?;
        accumulator.finish(0, 1)
    }

    /// The result of an ordered function: rows are sorted, in files if need be, and added in order.
    fn sorted(
        mut self,
        (function, types, keys): (&AggregateFunction, &[LogicalType], &[OrderKey]),
        context: &ExecContext,
        memory: &mut dyn FnMut(usize) -> Result<()>,
    ) -> Result<Vector> {
        let mut accumulator = aggregate::create(function, false)?;
        accumulator.resize(1);
        // What the result takes is not there for the sort.
        accumulator.expect_rows(self.count()?);
        memory(2 * accumulator.memory_size())?;
        let sort = sort_of(function, types, keys, context)?;
        let (mut local, first) = (Sink::local(&*sort), self.spec.group_types.len());
        self.for_each(|batch| {
            let len = batch.len();
            sort.consume(Batch::new(batch.columns()[first..].to_vec(), len), &mut local).map(|_| ())
        })?;
        sort.combine(local)?;
        sort.finalize(context)?;
        Source::start(&*sort, context)?;
        let mut add = |batch: Batch| {
            let args: Vec<&Vector> = batch.columns()[..function.arg_types.len()].iter().collect();
            accumulator.update_one(&args, batch.len(), 0)?;
            memory(2 * accumulator.memory_size())?;
            Ok(Flow::More)
        };
        while sort.run_morsel(&mut (), &mut |_| {}, &mut add)? == Morsel::Pushed {
            context.interrupt.check()?;
        }
        accumulator.finish(0, 1)
    }
}

/// A result of one group in place of the accumulator.
struct Finished(Vector);

impl GroupedAccumulator for Finished {
    fn resize(&mut self, _groups: usize) {}

    fn update(&mut self, _args: &[&Vector], _groups: GroupIds<'_>) -> Result<()> {
        Err(Error::internal("rows were added to a result"))
    }

    fn merge(&mut self, _other: &dyn GroupedAccumulator, _source: &[u32], _target: &[u32]) -> Result<()> {
        Err(Error::internal("groups were added to a result"))
    }

    fn finish(&self, from: usize, len: usize) -> Result<Vector> {
        Ok(self.0.slice(from, len))
    }

    fn memory_size(&self) -> usize {
        rows_size(std::slice::from_ref(&self.0), 1)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// Sorts arguments, keys and morsels; what is equal stays in the order of the input.
fn sort_of(
    function: &AggregateFunction,
    types: &[LogicalType],
    keys: &[OrderKey],
    context: &ExecContext,
) -> Result<Arc<Sort>> {
    let all: Vec<LogicalType> =
        function.arg_types.iter().chain(types).chain([&LogicalType::UInteger]).cloned().collect();
    let key = |at: usize, order: OrderKey| SortKey {
        expr: Expr::Column { id: ColumnId(at as u32), ty: all[at].clone() },
        descending: order.descending,
        nulls_first: order.nulls_first,
    };
    let first = function.arg_types.len();
    let by_morsel = key(first + types.len(), OrderKey { descending: false, nulls_first: false });
    let keys = keys.iter().enumerate().map(|(number, order)| key(first + number, *order));
    let options = SortOptions {
        layout: Layout((0..all.len() as u32).map(ColumnId).collect()),
        keys: keys.chain(Some(by_morsel)).collect(),
        types: all.clone(),
        limit: None,
        offset: 0,
        group_keys: 0,
    };
    Sort::new(options, context)
}
