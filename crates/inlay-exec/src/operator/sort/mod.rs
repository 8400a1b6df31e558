//! ORDER BY, top-N and limits per group.
//!
//! Workers collect rows, and all are sorted together when the input ends ([`super::order`]). Ties are broken by the place in
//! the input, so the sort is stable and answers do not depend on the number of workers.
//!
//! With a limit, a worker drops rows that cannot be among the first, sorts its own into a run, by normalised keys ([`key`]),
//! and the runs are merged. A worker that is refused memory writes what it has as a sorted run and goes on with nothing;
//! runs are then merged as a stream while the result is read ([`merge`]), which is also the way when the runs do not fit into
//! memory twice.

pub(crate) mod key;
mod merge;

use crate::concat::{concat_batches, concat_columns};
use crate::context::ExecContext;
use crate::expression::{Layout, Program, ProgramState};
use crate::operator::order::{self, KeyColumn, Order};
use crate::pipeline::{Flow, Handout, Morsel, Sink, Source};
use crate::spill::{SpillFile, SpilledRows, WORKING_MEMORY, is_refusal, rows_size};
use inlay_sql::plan::SortKey;
use inlay_types::{
    Batch, Error, LogicalType, MemoryBudget, Reservation, Result, VECTOR_SIZE, Vector, VectorBuilder,
};
use key::{KeyColumns, KeyOrder};
use merge::Merge;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// What the planner says of a sort.
pub struct SortOptions {
    /// Which column is at which position of the input's batches.
    pub layout: Layout,
    /// Types of the input's columns.
    pub types: Vec<LogicalType>,
    /// Keys, most significant first.
    pub keys: Vec<SortKey>,
    /// At most this many rows (per group, if there are groups).
    pub limit: Option<u64>,
    /// Rows left out at the beginning (of each group).
    pub offset: u64,
    /// The first so many keys form groups, to each of which limit and offset apply.
    pub group_keys: usize,
}

/// The shared state of one sort: sink below, source above.
pub struct Sort {
    keys: Program,
    order: KeyOrder,
    types: Vec<LogicalType>,
    limit: Option<u64>,
    offset: u64,
    group_keys: usize,
    /// Rows to be sorted together.
    collected: Mutex<Vec<Collected>>,
    /// Rows of workers that sorted theirs.
    runs: Mutex<Vec<Run>>,
    spilled: Mutex<Vec<SpilledRows>>,
    file: Arc<SpillFile>,
    sorted: OnceLock<Sorted>,
    next: AtomicUsize,
    budget: MemoryBudget,
}

/// Rows of one worker, sorted.
struct Run {
    rows: Batch,
    keys: KeyColumns,
    /// Positions in `rows`, in order.
    order: Vec<u32>,
    /// Per row of `rows`: its place in the input.
    places: Vec<u64>,
    _memory: Option<Reservation>,
}

enum Sorted {
    Rows { rows: Batch, order: Vec<u32>, _memory: Vec<Reservation> },
    Merging(Mutex<Merge>),
}

/// Rows of one worker, as they came.
struct Collected {
    batches: Vec<Batch>,
    keys: Vec<Batch>,
    /// Per row its place in the input.
    places: Vec<u64>,
    memory: Reservation,
    /// What sorting them takes.
    bytes: u64,
}

/// What a worker has.
pub struct Local {
    state: ProgramState,
    collected: Collected,
    morsel: usize,
    row_in_morsel: u64,
    /// With a limit: the worst row that may still be among the first, once that many were seen.
    bound: Option<key::Bound>,
    /// Whether rows were left out, so that those that are there do not lie as in the input.
    was_cut: bool,
}

/// With a limit, collected rows are cut back to the first ones when there are this many more: soon where few are kept, for
/// the worst of those keeps most others out.
const TOP_N_SLACK: usize = 16 * VECTOR_SIZE;
const SMALL_SLACK: usize = VECTOR_SIZE;
/// So many rows are kept with a limit that sorting all together, by all workers, is faster than keeping the first of each.
const MANY_ROWS: usize = 32 * VECTOR_SIZE;
/// So many rows are few: texts of theirs are copied, so that memory of the input is not held for the sake of them.
const FEW_ROWS: usize = 4 * VECTOR_SIZE;

impl Sort {
    /// Compiles the keys.
    pub fn new(options: SortOptions, context: &ExecContext) -> Result<Arc<Self>> {
        let exprs: Vec<_> = options.keys.iter().map(|k| k.expr.clone()).collect();
        Ok(Arc::new(Self {
            keys: Program::compile_many(&exprs, &options.layout)?,
            order: KeyOrder::new(&options.keys),
            types: options.types,
            limit: options.limit,
            offset: options.offset,
            group_keys: options.group_keys,
            collected: Mutex::default(),
            runs: Mutex::default(),
            spilled: Mutex::default(),
            file: SpillFile::new(context),
            sorted: OnceLock::new(),
            next: AtomicUsize::new(0),
            budget: context.budget.yielding(),
        }))
    }

    /// Rows that a worker must keep, if that is bounded.
    fn keep(&self) -> Option<usize> {
        if self.group_keys > 0 {
            return None;
        }
        let keep = self.limit?.saturating_add(self.offset);
        usize::try_from(keep).ok().filter(|keep| *keep < u32::MAX as usize)
    }

    /// Whether few rows are kept.
    fn keeps_few(&self) -> bool {
        self.keep().is_some_and(|keep| keep <= FEW_ROWS)
    }

    /// Sorts what a worker has collected, which is empty then.
    fn sort_run(&self, collected: &mut Collected) -> Result<Option<Run>> {
        let Collected { batches, keys, places, memory, .. } =
            std::mem::replace(collected, Collected::new(&self.budget)?);
        if batches.is_empty() {
            return Ok(None);
        }
        check_count(places.len())?;
        let rows = concat_batches(&self.types, &batches);
        let key_batch = concat_batches(&self.keys.types(), &keys);
        drop((batches, keys));
        let keys = KeyColumns::new(&self.order, key_batch);
        let mut order = keys.sorted_rows(&self.order, &places)?;
        if let Some(keep) = self.keep() {
            order.truncate(keep);
        }
        let mut memory = memory;
        // The batches that were collected are gone. This is less than before, or little.
        let held = batch_size(&rows) + batch_size(keys.batch()) + 12 * rows.len();
        let _ = memory.resize(held as u64);
        Ok(Some(Run { rows, keys, order, places, _memory: Some(memory) }))
    }

    /// Sorts what the workers have collected together.
    fn sort_all(&self, collected: Vec<Collected>, context: &ExecContext) -> Result<Sorted> {
        let count = collected.iter().map(|part| part.places.len()).sum();
        check_count(count)?;
        let mut batches = Vec::new();
        let mut memory = Vec::with_capacity(collected.len());
        for part in collected {
            let mut at = 0;
            for (rows, keys) in part.batches.into_iter().zip(part.keys) {
                if let Some(place) = part.places.get(at) {
                    at += rows.len();
                    batches.push((*place, rows, keys));
                }
            }
            memory.push(part.memory);
        }
        // A batch is a stretch of the input: in this order, rows have the order of the input.
        batches.sort_unstable_by_key(|(place, ..)| *place);
        let (rows, keys): (Vec<Batch>, Vec<Batch>) =
            batches.into_iter().map(|(_, rows, keys)| (rows, keys)).unzip();
        let keys = joined(context, &self.keys.types(), keys)?;
        let keys: Vec<Vector> = keys.into_iter().map(order::sortable).collect();
        let columns: Vec<KeyColumn<'_>> = self.order.columns(&keys).collect();
        let order = order::sort_rows(context, &columns, self.group_keys, count)?;
        drop(columns);
        drop(keys);
        let rows = Batch::new(joined(context, &self.types, rows)?, count);
        // Only rows and their order are left.
        let share = (batch_size(&rows) + 4 * count).div_ceil(memory.len().max(1));
        memory.iter_mut().for_each(|part| drop(part.resize(share as u64)));
        Ok(Sorted::Rows { rows, order: self.cut_sorted(order), _memory: memory })
    }

    /// Cuts what a worker has collected back to the rows that may be among the first.
    fn shrink(&self, local: &mut Local) -> Result<()> {
        let Some(run) = self.sort_run(&mut local.collected)? else { return Ok(()) };
        local.was_cut = true;
        if let (Some(keep), Some(last)) = (self.keep(), run.order.last())
            && run.order.len() == keep
        {
            local.bound = Some(run.keys.bound(*last as usize, run.places[*last as usize]));
        }
        let first = |batch: &Batch| {
            let first = batch.take(&run.order);
            if self.keeps_few() { copied(&first) } else { first }
        };
        let collected = &mut local.collected;
        collected.places = run.order.iter().map(|&row| run.places[row as usize]).collect();
        collected.batches = vec![first(&run.rows)];
        collected.keys = vec![first(run.keys.batch())];
        drop(run);
        collected.bytes = sort_size(&collected.batches[0], &collected.keys[0]);
        self.reserve(collected)
    }

    /// Reserves what the collected rows take, or writes them as a run.
    fn reserve(&self, collected: &mut Collected) -> Result<()> {
        match collected.memory.resize(collected.bytes) {
            Ok(()) => Ok(()),
            Err(error) if !is_refusal(&error) => Err(error),
            Err(_) if collected.bytes <= WORKING_MEMORY => Ok(()),
            Err(_) => {
                if let Some(run) = self.sort_run(collected)? {
                    let written = run.write(self)?;
                    self.spilled.lock().push(written);
                }
                Ok(())
            }
        }
    }

    /// Merges the workers' runs.
    fn merge(&self, mut runs: Vec<Run>, context: &ExecContext) -> Result<Sorted> {
        if runs.len() == 1
            && let Some(run) = runs.pop()
        {
            let order = self.cut(&run.keys, run.order);
            return Ok(Sorted::Rows { rows: run.rows, order, _memory: run._memory.into_iter().collect() });
        }
        let whole_keys = self.group_keys > 0 || self.offset > 0;
        let copied = |run: &Run| {
            batch_size(&run.rows)
                + if whole_keys { batch_size(run.keys.batch()) } else { 0 }
                + 4 * run.order.len()
        };
        let bytes: usize = runs.iter().map(copied).sum();
        let memory = match self.budget.reserve(bytes as u64) {
            Err(error) if is_refusal(&error) => return self.merge_files(runs),
            memory => memory?,
        };
        let mut order: Vec<u32> = Vec::new();
        let mut bases = Vec::with_capacity(runs.len());
        let mut base = 0u32;
        for run in &runs {
            bases.push(base);
            base += run.rows.len() as u32;
        }
        let total: usize = runs.iter().map(|run| run.order.len()).sum();
        let wanted = self.keep().map_or(total, |keep| keep.min(total));
        let mut heads = vec![0usize; runs.len()];
        order.reserve(wanted);
        while order.len() < wanted {
            if order.len().is_multiple_of(1 << 16) {
                context.interrupt.check()?;
            }
            let mut best: Option<usize> = None;
            for index in 0..runs.len() {
                if heads[index] < runs[index].order.len() {
                    let better =
                        best.is_none_or(|b| self.before(&runs[index], heads[index], &runs[b], heads[b]));
                    best = if better { Some(index) } else { best };
                }
            }
            let Some(index) = best else { break };
            order.push(bases[index] + runs[index].order[heads[index]]);
            heads[index] += 1;
        }
        let rows: Vec<Batch> = runs.iter().map(|run| run.rows.clone()).collect();
        let keys: Vec<Batch> = runs.iter().map(|run| run.keys.batch().clone()).collect();
        drop(runs);
        let rows = concat_batches(&self.types, &rows);
        let order = if whole_keys {
            let keys = KeyColumns::new(&self.order, concat_batches(&self.keys.types(), &keys));
            self.cut(&keys, order)
        } else {
            order
        };
        Ok(Sorted::Rows { rows, order, _memory: vec![memory] })
    }

    /// Writes the runs that are still in memory, for those above need memory now, and merges all as a stream.
    fn merge_files(&self, runs: Vec<Run>) -> Result<Sorted> {
        let mut all = std::mem::take(&mut *self.spilled.lock());
        for run in runs {
            all.push(run.write(self)?);
        }
        Ok(Sorted::Merging(Mutex::new(Merge::new(self, all)?)))
    }

    fn before(&self, left: &Run, left_head: usize, right: &Run, right_head: usize) -> bool {
        let (l, r) = (left.order[left_head] as usize, right.order[right_head] as usize);
        left.keys
            .compare(&self.order, l, &right.keys, r)
            .then_with(|| left.places[l].cmp(&right.places[r]))
            .is_lt()
    }

    /// Applies offset and limit to rows that were sorted together.
    fn cut_sorted(&self, order: Order) -> Vec<u32> {
        let (from, to) = self.places();
        let rows = order.rows.unwrap_or_else(|| (0..order.partitions.last().copied().unwrap_or(0)).collect());
        if (from, to) == (0, u64::MAX) {
            return rows;
        }
        let mut kept = Vec::new();
        for group in order.partitions.windows(2) {
            let group = &rows[group[0] as usize..group[1] as usize];
            let to = to.min(group.len() as u64) as usize;
            kept.extend_from_slice(&group[(from as usize).min(to)..to]);
        }
        kept
    }

    /// The places, of all rows or in each group, of rows that are wanted.
    fn places(&self) -> (u64, u64) {
        (self.offset, self.limit.map_or(u64::MAX, |limit| limit.saturating_add(self.offset)))
    }

    /// Applies offset and limit, to all rows or to each group.
    fn cut(&self, keys: &KeyColumns, order: Vec<u32>) -> Vec<u32> {
        let (from, to) = self.places();
        if self.group_keys == 0 {
            let to = to.min(order.len() as u64) as usize;
            let from = (from as usize).min(to);
            return if (from, to) == (0, order.len()) { order } else { order[from..to].to_vec() };
        }
        let mut kept = Vec::new();
        let mut place = 0u64;
        for (index, &row) in order.iter().enumerate() {
            let same =
                index > 0 && keys.same_prefix(order[index - 1] as usize, row as usize, self.group_keys);
            place = if same { place + 1 } else { 0 };
            if place >= from && place < to {
                kept.push(row);
            }
        }
        kept
    }
}

impl Collected {
    fn new(budget: &MemoryBudget) -> Result<Self> {
        let memory = budget.reserve(0)?;
        Ok(Self { batches: Vec::new(), keys: Vec::new(), places: Vec::new(), memory, bytes: 0 })
    }
}

fn check_count(rows: usize) -> Result<()> {
    match rows > u32::MAX as usize {
        true => Err(Error::unsupported("sorting more than 4,294,967,295 rows")),
        false => Ok(()),
    }
}

/// The columns of batches, which are gone then.
fn joined(context: &ExecContext, types: &[LogicalType], batches: Vec<Batch>) -> Result<Vec<Vector>> {
    let pieces = |column: usize| batches.iter().map(|batch| batch.column(column)).collect();
    let columns: Vec<Vec<&Vector>> = (0..types.len()).map(pieces).collect();
    let joined = concat_columns(context, types, &columns)?;
    drop(columns);
    context.discard(batches)?;
    Ok(joined)
}

/// Bytes that collecting and sorting rows takes: batches and their copies in one piece, and per row a prefix, what is
/// sorted, and its place.
fn sort_size(rows: &Batch, keys: &Batch) -> u64 {
    let sizes = rows_size(rows.columns(), rows.len()) + rows_size(keys.columns(), keys.len());
    (2 * sizes + 60 * rows.len()) as u64
}

/// Bytes of a batch in one piece, without strings, which are shared.
fn batch_size(batch: &Batch) -> usize {
    batch.columns().iter().map(|c| c.len() * c.physical_type().size()).sum::<usize>() + 16 * batch.len()
}

/// The rows without dictionaries, which would have to be merged.
fn flat(batch: &Batch) -> Batch {
    Batch::new(batch.columns().iter().map(Vector::flatten).collect(), batch.len())
}

/// The rows, with texts in memory of their own.
fn copied(batch: &Batch) -> Batch {
    let copy = |column: &Vector| {
        let mut builder = VectorBuilder::new(column.logical_type(), column.len());
        builder.append(column);
        builder.finish()
    };
    Batch::new(batch.columns().iter().map(copy).collect(), batch.len())
}

/// A worker's state, or why it could not be made.
fn state_of(local: &mut Result<Local>) -> Result<&mut Local> {
    local.as_mut().map_err(|error| error.clone())
}

impl Sink for Sort {
    /// Why it could not be made is told by the first `consume`, or by `combine`.
    type Local = Result<Local>;

    fn local(&self) -> Result<Local> {
        let (state, collected) = (self.keys.state(), Collected::new(&self.budget)?);
        Ok(Local { state, collected, morsel: 0, row_in_morsel: 0, bound: None, was_cut: false })
    }

    fn handout(&self) -> Handout {
        Handout::Apart
    }

    fn start_morsel(&self, number: usize, local: &mut Result<Local>) {
        if let Ok(local) = local {
            local.morsel = number;
            local.row_in_morsel = 0;
        }
    }

    fn consume(&self, input: Batch, local: &mut Result<Local>) -> Result<Flow> {
        let local = state_of(local)?;
        let keys = self.keys.eval_all(&mut local.state, &input)?;
        let key_batch = Batch::new(keys, input.len());
        // A place orders rows by morsel, then by position; a morsel has fewer than 2^32 rows.
        let first = (local.morsel as u64) << 32 | local.row_in_morsel;
        local.row_in_morsel += input.len() as u64;
        let (mut input, mut key_batch) = (input, key_batch);
        let collected = &mut local.collected;
        let mut chosen = false;
        match &local.bound {
            None => collected.places.extend((0..input.len() as u64).map(|row| first + row)),
            Some(bound) => {
                let keys = KeyColumns::new(&self.order, key_batch);
                let rows = bound.candidates(&self.order, &keys, first);
                if rows.is_empty() {
                    return Ok(Flow::More);
                }
                collected.places.extend(rows.iter().map(|&row| first + u64::from(row)));
                let is_all = rows.len() == input.len();
                key_batch = if is_all { keys.into_batch() } else { keys.batch().take(&rows) };
                input = if is_all { input } else { input.take(&rows) };
                chosen = !is_all;
            }
        }
        if self.keeps_few() && chosen {
            // The few rows that get here would keep all texts of their row groups in memory.
            (input, key_batch) = (copied(&input), copied(&key_batch));
        } else if self.keeps_few() {
            (input, key_batch) = (flat(&input), flat(&key_batch));
        }
        collected.bytes += sort_size(&input, &key_batch);
        collected.batches.push(input);
        collected.keys.push(key_batch);
        let slack = if self.keeps_few() { SMALL_SLACK } else { TOP_N_SLACK };
        if self.keep().is_some_and(|keep| collected.places.len() > keep.saturating_mul(2) + slack) {
            self.shrink(local)?;
        } else {
            self.reserve(collected)?;
        }
        Ok(Flow::More)
    }

    fn combine(&self, mut local: Result<Local>) -> Result<()> {
        let local = state_of(&mut local)?;
        let sorts_all = self.keep().is_none_or(|keep| keep > MANY_ROWS && !local.was_cut);
        if sorts_all {
            let collected = std::mem::replace(&mut local.collected, Collected::new(&self.budget)?);
            self.collected.lock().push(collected);
        } else if let Some(run) = self.sort_run(&mut local.collected)? {
            self.runs.lock().push(run);
        }
        Ok(())
    }

    fn finalize(&self, context: &ExecContext) -> Result<()> {
        let mut runs = std::mem::take(&mut *self.runs.lock());
        let mut collected = std::mem::take(&mut *self.collected.lock());
        let is_spilled = !self.spilled.lock().is_empty();
        if is_spilled || !runs.is_empty() {
            for part in &mut collected {
                runs.extend(self.sort_run(part)?);
            }
        }
        let sorted = if is_spilled {
            self.merge_files(runs)?
        } else if !runs.is_empty() {
            self.merge(runs, context)?
        } else {
            self.sort_all(collected, context)?
        };
        self.sorted.set(sorted).map_err(|_| Error::internal("a sort was finished twice"))
    }
}

/// Rows per morsel of the sorted output.
const MORSEL_ROWS: usize = 16 * VECTOR_SIZE;
/// Fewer of a merged output whose rows are large, so that they are not all in memory again.
const MORSEL_BYTES: usize = 1 << 20;

fn not_sorted() -> Error {
    Error::internal("a sort was read before it was finalized")
}

impl Source for Sort {
    type Local = ();

    fn start(&self, _context: &ExecContext) -> Result<usize> {
        self.next.store(0, Ordering::Relaxed);
        Ok(match self.sorted.get() {
            None => return Err(not_sorted()),
            Some(Sorted::Rows { order, .. }) => order.len().div_ceil(MORSEL_ROWS),
            Some(Sorted::Merging(_)) => usize::MAX,
        })
    }

    fn local(&self) {}

    fn run_morsel(
        &self,
        _local: &mut (),
        begin: &mut dyn FnMut(usize),
        push: &mut dyn FnMut(Batch) -> Result<Flow>,
    ) -> Result<Morsel> {
        let sorted = self.sorted.get().ok_or_else(not_sorted)?;
        let (rows, order) = match sorted {
            Sorted::Rows { rows, order, .. } => (rows, order),
            Sorted::Merging(merge) => return self.merge_morsel(merge, begin, push),
        };
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let from = number.saturating_mul(MORSEL_ROWS);
        if from >= order.len() {
            return Ok(Morsel::Exhausted);
        }
        begin(number);
        let to = (from + MORSEL_ROWS).min(order.len());
        for part in order[from..to].chunks(VECTOR_SIZE) {
            if push(rows.take(part))? == Flow::Done {
                break;
            }
        }
        Ok(Morsel::Pushed)
    }
}

impl Sort {
    /// Merges some batches under the lock, and hands them on without it.
    fn merge_morsel(
        &self,
        merge: &Mutex<Merge>,
        begin: &mut dyn FnMut(usize),
        push: &mut dyn FnMut(Batch) -> Result<Flow>,
    ) -> Result<Morsel> {
        let (mut batches, mut rows, mut bytes) = (Vec::new(), 0, 0);
        let number = {
            let mut merge = merge.lock();
            while rows < MORSEL_ROWS && bytes < MORSEL_BYTES {
                let Some(batch) = merge.next(self)? else { break };
                if !batch.is_empty() {
                    rows += batch.len();
                    bytes += rows_size(batch.columns(), batch.len());
                    batches.push(batch);
                }
            }
            if batches.is_empty() {
                return Ok(Morsel::Exhausted);
            }
            merge.morsels += 1;
            merge.morsels - 1
        };
        begin(number);
        for batch in batches {
            if push(batch)? == Flow::Done {
                break;
            }
        }
        Ok(Morsel::Pushed)
    }
}

#[cfg(test)]
mod tests;
