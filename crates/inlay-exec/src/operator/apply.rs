//! Calls of the host's functions on many rows at a time.
//!
//! A call costs more than computing a batch, so batches are gathered into chunks whose size follows from how long calls
//! take; results go on as slices beside the batches they belong to. Slices that lie behind each other in a column of a table
//! are a chunk where they lie. Chunks end with morsels, so that order by morsel is kept, and when memory is refused.
//!
//! A call may give fewer values than it was given rows where nothing but its values is read behind it: what an aggregate
//! over all rows makes of pieces.
//!
//! A guarded call (one in a branch of CASE, AND, OR or COALESCE) is given only the rows that reach it; the value of the
//! others is NULL, and nobody looks at it. A function of whole columns is a source of its own behind all rows:
//! [`AppliedScan`].
//!
//! Made by `planner::hoist` alone.

mod apart;

use super::materialize::RowBuffer;
use crate::concat::concat_shared;
use crate::context::ExecContext;
use crate::expression::{Layout, Program, ProgramState};
use crate::pipeline::{CallMeasure, Flow, Morsel, Operator, Push, Source};
use inlay_kernels::external::{CallSite, External};
use inlay_kernels::select_true;
use inlay_sql::plan::Expr;
use inlay_types::{Batch, Bitmap, Error, LogicalType, MemoryBudget, Reservation, Result, Vector};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// Rows of the first chunk, and the least and the most of later ones.
const CHUNK_ROWS: usize = 1 << 14;
const CHUNK_ROWS_MIN: usize = 1 << 11;
const CHUNK_ROWS_MAX: usize = 1 << 18;
/// A call that takes less is worth more rows, one that takes longer fewer. What libraries do besides computing, such as
/// checking a matrix, takes a millisecond.
const CALL_TIME_MIN: Duration = Duration::from_millis(20);
const CALL_TIME_MAX: Duration = Duration::from_millis(100);

/// A call, and the rows that reach it.
pub struct Call {
    external: Arc<External>,
    site: CallSite,
    /// Arguments of which each call is given a single value: rows with another one are another call.
    apart: Vec<usize>,
    args: Program,
    guard: Option<Program>,
    calls: AtomicU64,
    rows: AtomicU64,
    nanos: AtomicU64,
}

struct CallState {
    args: ProgramState,
    guard: Option<ProgramState>,
}

impl Call {
    /// A call on batches of `layout`; `guard` is TRUE for the rows that reach it, and `constants` says which arguments are
    /// the same in all of them.
    pub fn new(
        external: &Arc<External>,
        args: &[Expr],
        constants: Vec<bool>,
        guard: Option<&Expr>,
        layout: &Layout,
    ) -> Result<Self> {
        Ok(Self {
            external: Arc::clone(external),
            site: CallSite::new(constants),
            apart: Vec::new(),
            args: Program::compile_many(args, layout)?,
            guard: guard.map(|guard| Program::compile(guard, layout)).transpose()?,
            calls: AtomicU64::new(0),
            rows: AtomicU64::new(0),
            nanos: AtomicU64::new(0),
        })
    }

    /// It, with arguments (texts or BLOBs) of which each call is given a single value.
    pub fn with_apart(mut self, apart: Vec<usize>) -> Self {
        self.apart = apart;
        self
    }

    /// It, where what follows reads nothing of the rows but its values, of which there may be fewer.
    pub fn taking_fewer(mut self) -> Self {
        self.site.takes_fewer = true;
        self
    }

    fn state(&self) -> CallState {
        CallState { args: self.args.state(), guard: self.guard.as_ref().map(Program::state) }
    }

    fn measured(&self) -> CallMeasure {
        CallMeasure {
            name: self.external.definition.name.clone(),
            calls: self.calls.load(Ordering::Relaxed),
            rows: self.rows.load(Ordering::Relaxed),
            time: Duration::from_nanos(self.nanos.load(Ordering::Relaxed)),
        }
    }

    /// The values of all rows, batch by batch; a call that gives fewer has them in the first batches.
    fn compute(&self, state: &mut CallState, batches: &[Batch]) -> Result<Vec<Vector>> {
        let mut pieces: Vec<Vec<Vector>> = vec![Vec::with_capacity(batches.len()); self.site.constants.len()];
        let mut reached: Vec<Option<Vec<u32>>> = Vec::with_capacity(batches.len());
        let mut total = 0;
        for batch in batches {
            let rows = match (&self.guard, &mut state.guard) {
                (Some(guard), Some(state)) => Some(reaching(guard, state, batch)?),
                _ => None,
            };
            let rows = rows.filter(|rows| rows.len() < batch.len());
            let count = rows.as_ref().map_or(batch.len(), Vec::len);
            if count > 0 {
                let args = match &rows {
                    Some(rows) => self.args.eval_all(&mut state.args, &batch.take(rows))?,
                    None => self.args.eval_all(&mut state.args, batch)?,
                };
                pieces.iter_mut().zip(args).for_each(|(pieces, arg)| pieces.push(arg));
            }
            total += count;
            reached.push(rows);
        }
        let joined = |(pieces, is_constant): (&Vec<Vector>, &bool)| match pieces.first() {
            Some(first) if *is_constant => first.repeated(0, total),
            _ => join(pieces),
        };
        let args: Vec<Vector> = pieces.iter().zip(&self.site.constants).map(joined).collect();
        let values = if self.apart.is_empty() || total == 0 {
            self.measured_call(&args, &self.site, total)?
        } else {
            self.call_apart(&args, total)?
        };
        let mut from = 0;
        let of_batch = |(batch, rows): (&Batch, Option<Vec<u32>>)| {
            let count = rows.as_ref().map_or(batch.len(), Vec::len).min(values.len() - from);
            let own = values.slice(from, count);
            from += count;
            match rows {
                Some(rows) => scattered(&own, &rows, batch.len()),
                None => own,
            }
        };
        Ok(batches.iter().zip(reached).map(of_batch).collect())
    }

    fn measured_call(&self, args: &[Vector], site: &CallSite, len: usize) -> Result<Vector> {
        let started = Instant::now();
        let values = self.external.call(args, site, len)?;
        if len > 0 {
            self.calls.fetch_add(1, Ordering::Relaxed);
            self.rows.fetch_add(len as u64, Ordering::Relaxed);
            self.nanos.fetch_add(started.elapsed().as_nanos() as u64, Ordering::Relaxed);
        }
        Ok(values)
    }

    /// A call for each combination of the values that are given apart; the values of all rows, in their order.
    fn call_apart(&self, args: &[Vector], len: usize) -> Result<Vector> {
        let mut constants = self.site.constants.clone();
        self.apart.iter().for_each(|&arg| constants[arg] = true);
        let keys: Vec<&Vector> = self.apart.iter().map(|&arg| &args[arg]).collect();
        let groups = apart::groups(&keys, len);
        let mut pieces = Vec::with_capacity(groups.len());
        for rows in &groups {
            let of_rows = |(index, arg): (usize, &Vector)| match rows.first() {
                Some(&first) if self.apart.contains(&index) => arg.repeated(first as usize, rows.len()),
                _ if rows.len() == len => arg.clone(),
                _ => arg.take(rows),
            };
            let own: Vec<Vector> = args.iter().enumerate().map(of_rows).collect();
            // What the function keeps of a value is not for the next.
            let mut site = CallSite::new(constants.clone());
            site.takes_fewer = self.site.takes_fewer;
            pieces.push(self.measured_call(&own, &site, rows.len())?);
        }
        let values = join(&pieces);
        if groups.len() == 1 || values.len() < len {
            return Ok(values);
        }
        let mut places = vec![0u32; len];
        groups.iter().flatten().zip(0..).for_each(|(&row, place)| places[row as usize] = place);
        Ok(values.flatten().take(&places))
    }
}

/// The rows for which a guard is TRUE.
fn reaching(guard: &Program, state: &mut ProgramState, batch: &Batch) -> Result<Vec<u32>> {
    let truth = guard.eval(state, batch)?;
    let mut rows = Vec::new();
    select_true(&truth, batch.len(), None, &mut rows);
    Ok(rows)
}

/// Values put at their rows among `len`, the others being NULL.
fn scattered(values: &Vector, rows: &[u32], len: usize) -> Vector {
    if rows.is_empty() {
        return Vector::nulls(values.logical_type(), len);
    }
    let mut places = vec![0u32; len];
    let mut is_reached = Bitmap::filled(len, false);
    for (place, &row) in rows.iter().enumerate() {
        places[row as usize] = place as u32;
        is_reached.set(row as usize, true);
    }
    let mut spread = values.flatten().take(&places);
    let validity = Bitmap::and_optional(spread.validity(), Some(&is_reached));
    spread.set_validity(validity);
    spread.normalize_nulls();
    spread
}

/// One vector of all rows.
fn join(pieces: &[Vector]) -> Vector {
    let Some(first) = pieces.first() else { return Vector::empty(LogicalType::Null) };
    concat_shared(first.logical_type(), pieces)
}

/// Adds the values of calls to batches, as columns behind the others.
pub struct Apply {
    calls: Vec<Call>,
    budget: MemoryBudget,
}

impl Apply {
    /// Calls that do not read each other's values, nor take whole columns.
    pub fn new(calls: Vec<Call>, context: &ExecContext) -> Self {
        Self { calls, budget: context.budget.clone() }
    }

    fn emit(&self, local: &mut Local, push: Push<'_>) -> Result<Flow> {
        let batches = std::mem::take(&mut local.batches);
        let rows = std::mem::take(&mut local.rows);
        local.bytes = 0;
        if batches.is_empty() {
            return Ok(Flow::More);
        }
        let started = Instant::now();
        let applied = apply(&self.calls, &mut local.calls, batches)?;
        local.target.adapt(rows, started.elapsed());
        local.reservation = None;
        for batch in applied {
            if push(batch)? == Flow::Done {
                return Ok(Flow::Done);
            }
        }
        Ok(Flow::More)
    }
}

fn apply(calls: &[Call], states: &mut [CallState], batches: Vec<Batch>) -> Result<Vec<Batch>> {
    let mut columns: Vec<Vec<Vector>> = Vec::with_capacity(calls.len());
    for (call, state) in calls.iter().zip(states) {
        columns.push(call.compute(state, &batches)?);
    }
    let mut columns: Vec<_> = columns.into_iter().map(Vec::into_iter).collect();
    let with_values = |batch: Batch| {
        let own: Vec<Vector> = columns.iter_mut().filter_map(Iterator::next).collect();
        // Where values are fewer nobody reads the other columns, which are cut to stay as long.
        let len = own.iter().map(Vector::len).min().unwrap_or(batch.len());
        let batch = if len < batch.len() { batch.slice(0, len) } else { batch };
        let mut all = batch.into_columns();
        all.extend(own);
        Batch::new(all, len)
    };
    Ok(batches.into_iter().map(with_values).filter(|batch| !batch.is_empty()).collect())
}

/// A worker's chunk.
pub struct Local {
    calls: Vec<CallState>,
    batches: Vec<Batch>,
    rows: usize,
    bytes: u64,
    target: ChunkRows,
    reservation: Option<Reservation>,
}

impl Local {
    /// Whether the memory of one more batch, once gathered and once as values, is granted.
    fn reserve(&mut self, batch: &Batch, budget: &MemoryBudget) -> bool {
        let size = |column: &Vector| if column.is_constant() { 16 } else { column.data().size() };
        self.bytes += 2 * batch.columns().iter().map(size).sum::<usize>() as u64;
        let granted = match &mut self.reservation {
            Some(held) => held.resize(self.bytes),
            None => budget.reserve(self.bytes).map(|held| self.reservation = Some(held)),
        };
        granted.is_ok()
    }
}

/// How many rows a chunk is to have, by what calls took.
pub(super) struct ChunkRows(usize);

impl Default for ChunkRows {
    fn default() -> Self {
        Self(CHUNK_ROWS)
    }
}

impl ChunkRows {
    pub fn rows(&self) -> usize {
        self.0
    }

    pub fn adapt(&mut self, rows: usize, took: Duration) {
        if took < CALL_TIME_MIN && rows >= self.0 {
            self.0 = (self.0 * 2).min(CHUNK_ROWS_MAX);
        } else if took > CALL_TIME_MAX {
            self.0 = (self.0 / 2).max(CHUNK_ROWS_MIN);
        }
    }
}

impl Operator for Apply {
    type Local = Local;

    fn local(&self) -> Local {
        Local {
            calls: self.calls.iter().map(Call::state).collect(),
            batches: Vec::new(),
            rows: 0,
            bytes: 0,
            target: ChunkRows::default(),
            reservation: None,
        }
    }

    fn process(&self, input: Batch, local: &mut Local, push: Push<'_>) -> Result<Flow> {
        let is_granted = local.reserve(&input, &self.budget);
        local.rows += input.len();
        local.batches.push(input);
        if is_granted && local.rows < local.target.rows() { Ok(Flow::More) } else { self.emit(local, push) }
    }

    fn flush(&self, local: &mut Local, push: Push<'_>) -> Result<Flow> {
        self.emit(local, push)
    }

    fn calls(&self) -> Vec<CallMeasure> {
        self.calls.iter().map(Call::measured).collect()
    }
}

/// All rows of a buffer with the values of calls that take whole columns, each called once.
pub struct AppliedScan {
    rows: Arc<RowBuffer>,
    calls: Vec<Call>,
    applied: OnceLock<Vec<Batch>>,
    next: AtomicUsize,
}

/// Batches per morsel.
const MORSEL_BATCHES: usize = 16;

impl AppliedScan {
    /// Reads a buffer that is in memory.
    pub fn new(rows: Arc<RowBuffer>, calls: Vec<Call>) -> Self {
        Self { rows, calls, applied: OnceLock::new(), next: AtomicUsize::new(0) }
    }
}

impl Source for AppliedScan {
    type Local = ();

    fn start(&self, context: &ExecContext) -> Result<usize> {
        let batches = self.rows.batches()?.to_vec();
        let mut states: Vec<CallState> = self.calls.iter().map(Call::state).collect();
        // The gathered columns and the values.
        let size = |column: &Vector| if column.is_constant() { 16 } else { column.data().size() };
        let bytes: usize = batches.iter().flat_map(Batch::columns).map(size).sum();
        let _reserved = context.budget.reserve(bytes as u64).map_err(|error| {
            error.because(
                "a function that takes whole columns needs all rows in memory; PYTHON_MAP takes parts",
            )
        })?;
        let applied = context.limited(|| apply(&self.calls, &mut states, batches))?;
        let count = applied.len().div_ceil(MORSEL_BATCHES);
        self.applied.set(applied).map_err(|_| Error::internal("a source was started twice"))?;
        Ok(count)
    }

    fn local(&self) {}

    fn run_morsel(
        &self,
        _local: &mut (),
        begin: &mut dyn FnMut(usize),
        push: &mut dyn FnMut(Batch) -> Result<Flow>,
    ) -> Result<Morsel> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let batches =
            self.applied.get().ok_or_else(|| Error::internal("a source was read before its start"))?;
        let Some(own) = batches.get(number * MORSEL_BATCHES..).filter(|own| !own.is_empty()) else {
            return Ok(Morsel::Exhausted);
        };
        begin(number);
        for batch in own.iter().take(MORSEL_BATCHES) {
            if push(batch.clone())? == Flow::Done {
                break;
            }
        }
        Ok(Morsel::Pushed)
    }

    fn calls(&self) -> Vec<CallMeasure> {
        self.calls.iter().map(Call::measured).collect()
    }
}

#[cfg(test)]
mod tests;
