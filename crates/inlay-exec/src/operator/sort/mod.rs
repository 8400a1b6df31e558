//! ORDER BY, top-N and limits per group.
//!
//! Each worker collects its rows and sorts them into a run; `finalize` merges the runs. Rows are compared by normalised
//! keys ([`key`]); ties are broken by the place in the input, so the sort is stable and answers do not depend on the
//! number of workers. With a limit, a worker drops rows that cannot be among the first.

mod key;

use crate::concat::concat_batches;
use crate::context::ExecContext;
use crate::expression::{Layout, Program, ProgramState};
use crate::pipeline::{Flow, LocalState, Morsel, Sink, Source};
use inlay_sql::plan::SortKey;
use inlay_types::{Batch, Error, LogicalType, MemoryBudget, Reservation, Result, VECTOR_SIZE};
use key::{KeyColumns, KeyOrder};
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
    runs: Mutex<Vec<Run>>,
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

struct Sorted {
    rows: Batch,
    order: Vec<u32>,
    _memory: Option<Reservation>,
}

struct Local {
    state: ProgramState,
    batches: Vec<Batch>,
    keys: Vec<Batch>,
    places: Vec<u64>,
    morsel: usize,
    row_in_morsel: u64,
    memory: Reservation,
    /// With a limit: the worst row that may still be among the first, once that many were seen.
    bound: Option<key::Bound>,
}

/// With a limit, collected rows are cut back to the first ones when there are this many more.
const TOP_N_SLACK: usize = 16 * VECTOR_SIZE;

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
            runs: Mutex::default(),
            sorted: OnceLock::new(),
            next: AtomicUsize::new(0),
            budget: context.budget.clone(),
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

    /// Sorts what a worker has collected.
    fn sort_run(&self, local: &mut Local) -> Result<Option<Run>> {
        if local.batches.is_empty() {
            return Ok(None);
        }
        if local.places.len() > u32::MAX as usize {
            return Err(Error::unsupported("sorting more than 4,294,967,295 rows"));
        }
        let rows = concat_batches(&self.types, &local.batches);
        let key_batch = concat_batches(&self.keys.types(), &local.keys);
        local.batches.clear();
        local.keys.clear();
        let places = std::mem::take(&mut local.places);
        let keys = KeyColumns::new(&self.order, key_batch);
        let mut order = keys.sorted_rows(&self.order, &places);
        if let Some(keep) = self.keep() {
            order.truncate(keep);
        }
        let memory = std::mem::replace(&mut local.memory, self.budget.reserve(0)?);
        Ok(Some(Run { rows, keys, order, places, _memory: Some(memory) }))
    }

    /// Cuts what a worker has collected back to the rows that may be among the first.
    fn shrink(&self, local: &mut Local) -> Result<()> {
        let Some(run) = self.sort_run(local)? else { return Ok(()) };
        if let (Some(keep), Some(last)) = (self.keep(), run.order.last())
            && run.order.len() == keep
        {
            local.bound = Some(run.keys.bound(*last as usize));
        }
        let bytes = batch_size(&run.rows);
        local.places = run.order.iter().map(|&row| run.places[row as usize]).collect();
        local.batches = vec![run.rows.take(&run.order)];
        local.keys = vec![run.keys.batch().take(&run.order)];
        local.memory.resize(bytes as u64 * run.order.len() as u64 / run.rows.len().max(1) as u64)
    }

    fn merge(&self, mut runs: Vec<Run>, context: &ExecContext) -> Result<Sorted> {
        if runs.len() == 1
            && let Some(run) = runs.pop()
        {
            let order = self.cut(&run.keys, run.order);
            return Ok(Sorted { rows: run.rows, order, _memory: run._memory });
        }
        let bytes: usize = runs.iter().map(|run| batch_size(&run.rows)).sum();
        let memory = self.budget.reserve(bytes as u64)?;
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
        let order = if self.group_keys > 0 || self.offset > 0 {
            let keys = KeyColumns::new(&self.order, concat_batches(&self.keys.types(), &keys));
            self.cut(&keys, order)
        } else {
            order
        };
        Ok(Sorted { rows, order, _memory: Some(memory) })
    }

    fn before(&self, left: &Run, left_head: usize, right: &Run, right_head: usize) -> bool {
        let (l, r) = (left.order[left_head] as usize, right.order[right_head] as usize);
        left.keys
            .compare(&self.order, l, &right.keys, r)
            .then_with(|| left.places[l].cmp(&right.places[r]))
            .is_lt()
    }

    /// Applies offset and limit, to all rows or to each group.
    fn cut(&self, keys: &KeyColumns, order: Vec<u32>) -> Vec<u32> {
        let (from, to) = (self.offset, self.limit.map_or(u64::MAX, |l| l.saturating_add(self.offset)));
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

fn batch_size(batch: &Batch) -> usize {
    batch.columns().iter().map(|c| c.len() * c.physical_type().size()).sum::<usize>() + 16 * batch.len()
}

impl Sink for Sort {
    fn local(&self) -> LocalState {
        let memory = self.budget.reserve(0);
        match memory {
            Ok(memory) => Box::new(Local {
                state: self.keys.state(),
                batches: Vec::new(),
                keys: Vec::new(),
                places: Vec::new(),
                morsel: 0,
                row_in_morsel: 0,
                memory,
                bound: None,
            }),
            Err(_) => Box::new(()), // Reported by the first `consume`.
        }
    }

    fn start_morsel(&self, number: usize, local: &mut LocalState) {
        if let Some(local) = local.downcast_mut::<Local>() {
            local.morsel = number;
            local.row_in_morsel = 0;
        }
    }

    fn consume(&self, input: Batch, local: &mut LocalState) -> Result<Flow> {
        let local = local.downcast_mut::<Local>().ok_or_else(|| Error::internal("sort state"))?;
        let keys = self.keys.eval_all(&mut local.state, &input)?;
        let key_batch = Batch::new(keys, input.len());
        // A place orders rows by morsel, then by position; a morsel has fewer than 2^32 rows.
        let first = (local.morsel as u64) << 32 | local.row_in_morsel;
        local.row_in_morsel += input.len() as u64;
        let candidates = local.bound.as_ref().map(|bound| bound.candidates(&self.order, &key_batch));
        match candidates {
            Some(rows) if rows.is_empty() => return Ok(Flow::More),
            Some(rows) if rows.len() < input.len() => {
                local.places.extend(rows.iter().map(|&row| first + u64::from(row)));
                local.memory.grow(batch_size(&input) as u64 * rows.len() as u64 / input.len() as u64)?;
                local.batches.push(input.take(&rows));
                local.keys.push(key_batch.take(&rows));
            }
            _ => {
                local.memory.grow(batch_size(&input) as u64)?;
                local.places.extend((0..input.len() as u64).map(|row| first + row));
                local.batches.push(input);
                local.keys.push(key_batch);
            }
        }
        if self.keep().is_some_and(|keep| local.places.len() > keep.saturating_mul(2) + TOP_N_SLACK) {
            self.shrink(local)?;
        }
        Ok(Flow::More)
    }

    fn combine(&self, mut local: LocalState) -> Result<()> {
        let local = local.downcast_mut::<Local>().ok_or_else(|| Error::internal("sort state"))?;
        if let Some(run) = self.sort_run(local)? {
            self.runs.lock().push(run);
        }
        Ok(())
    }

    fn finalize(&self, context: &ExecContext) -> Result<()> {
        let runs = std::mem::take(&mut *self.runs.lock());
        let sorted = if runs.is_empty() {
            Sorted { rows: concat_batches(&self.types, &[]), order: Vec::new(), _memory: None }
        } else {
            self.merge(runs, context)?
        };
        self.sorted.set(sorted).map_err(|_| Error::internal("a sort was finished twice"))
    }
}

/// Rows per morsel of the sorted output.
const MORSEL_ROWS: usize = 16 * VECTOR_SIZE;

impl Source for Sort {
    fn start(&self, _context: &ExecContext) -> Result<usize> {
        self.next.store(0, Ordering::Relaxed);
        Ok(self.sorted.get().map_or(0, |sorted| sorted.order.len().div_ceil(MORSEL_ROWS)))
    }

    fn local(&self) -> LocalState {
        Box::new(())
    }

    fn run_morsel(
        &self,
        _local: &mut LocalState,
        begin: &mut dyn FnMut(usize),
        push: &mut dyn FnMut(Batch) -> Result<Flow>,
    ) -> Result<Morsel> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let Some(sorted) = self.sorted.get() else { return Ok(Morsel::Exhausted) };
        let from = number.saturating_mul(MORSEL_ROWS);
        if from >= sorted.order.len() {
            return Ok(Morsel::Exhausted);
        }
        begin(number);
        let to = (from + MORSEL_ROWS).min(sorted.order.len());
        for rows in sorted.order[from..to].chunks(VECTOR_SIZE) {
            if push(sorted.rows.take(rows))? == Flow::Done {
                break;
            }
        }
        Ok(Morsel::Pushed)
    }
}

#[cfg(test)]
mod tests;
