//! Table functions of the host that are given their table in parts, and whose rows go on before all of it was seen.
//!
//! - [`PartsCall`]: any rows by themselves. An operator; every worker calls the function on its own chunks.
//! - [`OrderedCall`]: one part after the other. An operator of one worker ([`Alone`]): rows are gathered to chunks, which
//!   end where the keys of PARTITION BY change, as the table does. The last chunk and the end of the table come when
//!   all rows were processed ([`Operator::rest`]).
//! - [`Made`]: what is still to be given and taken, as a source: the end of an ordered call, or a call without a table. A
//!   morsel has few rows, so that whoever reads them can stop.
//!
//! What the function gives is cut into batches. Of memory there are a chunk, which is reserved, and what the function holds.
//!
//! Made by `planner::table_call` alone.

use super::apply::ChunkRows;
use crate::concat::concat_shared;
use crate::context::ExecContext;
use crate::expression::{Program, ProgramState};
use crate::pipeline::{CallMeasure, DynSource, Flow, Handout, LocalState, Morsel, Operator, Push, Source};
use inlay_kernels::external::{StreamState, TableCall};
use inlay_types::{
    Batch, Interrupt, LogicalType, MemoryBudget, Reservation, Result, VECTOR_SIZE, Value, Vector,
};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Pieces of what a function gives that are a morsel, at most.
const MORSEL_PIECES: usize = 64;
/// A morsel has about as many rows as a batch, times two for each one before up to this power: whoever wants few is given few.
const MORSEL_BATCHES_LOG_MAX: usize = 5;

/// What all operators of a call know, and what is measured of it.
pub struct CallOptions {
    /// The function.
    pub call: Arc<TableCall>,
    /// Which of its columns are handed on, in order.
    pub wanted: Vec<usize>,
    /// Whether a column behind these numbers the rows of a table.
    pub ordinality: bool,
    budget: MemoryBudget,
    interrupt: Interrupt,
    calls: AtomicU64,
    rows: AtomicU64,
    nanos: AtomicU64,
}

impl CallOptions {
    /// A call of one query.
    pub fn new(call: &Arc<TableCall>, wanted: Vec<usize>, ordinality: bool, context: &ExecContext) -> Self {
        Self {
            call: Arc::clone(call),
            wanted,
            ordinality,
            budget: context.budget.clone(),
            interrupt: context.interrupt.clone(),
            calls: AtomicU64::new(0),
            rows: AtomicU64::new(0),
            nanos: AtomicU64::new(0),
        }
    }

    fn measured(&self) -> Vec<CallMeasure> {
        vec![CallMeasure {
            name: self.call.external.definition.name.clone(),
            calls: self.calls.load(Ordering::Relaxed),
            rows: self.rows.load(Ordering::Relaxed),
            time: Duration::from_nanos(self.nanos.load(Ordering::Relaxed)),
        }]
    }

    fn timed<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let started = Instant::now();
        let outcome = work();
        self.nanos.fetch_add(started.elapsed().as_nanos() as u64, Ordering::Relaxed);
        outcome
    }

    fn give(&self, state: &mut dyn StreamState, chunk: &Chunk) -> Result<()> {
        let columns: Vec<Vector> =
            chunk.columns.iter().zip(&self.call.arg_types).map(|(pieces, ty)| joined(pieces, ty)).collect();
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.rows.fetch_add(chunk.rows as u64, Ordering::Relaxed);
        self.timed(|| state.give(&columns, chunk.rows))
    }

    /// The next rows that the function made, which has `numbered` before them.
    fn next(&self, state: &mut dyn StreamState, numbered: &mut i64) -> Result<Option<Batch>> {
        self.interrupt.check()?;
        let Some(batch) = self.timed(|| state.next())? else { return Ok(None) };
        let len = batch.len();
        let mut columns: Vec<Vector> = self.wanted.iter().map(|&index| batch.column(index).clone()).collect();
        if self.ordinality {
            let numbers: Vec<i64> = (*numbered + 1..=*numbered + len as i64).collect();
            columns.push(Vector::from_values(LogicalType::BigInt, &numbers));
        }
        *numbered += len as i64;
        Ok(Some(Batch::new(columns, len)))
    }

    /// Pushes all that the function made of what it was given.
    fn push_made(&self, state: &mut dyn StreamState, numbered: &mut i64, push: Push<'_>) -> Result<Flow> {
        while let Some(batch) = self.next(state, numbered)? {
            if in_batches(&batch, push)? == Flow::Done {
                return Ok(Flow::Done);
            }
        }
        Ok(Flow::More)
    }
}

fn in_batches(batch: &Batch, push: Push<'_>) -> Result<Flow> {
    for from in (0..batch.len()).step_by(VECTOR_SIZE) {
        if push(batch.slice(from, VECTOR_SIZE.min(batch.len() - from)))? == Flow::Done {
            return Ok(Flow::Done);
        }
    }
    Ok(Flow::More)
}

fn joined(pieces: &[Vector], ty: &LogicalType) -> Vector {
    concat_shared(ty.clone(), pieces).flatten()
}

/// Rows that wait to be given.
#[derive(Default)]
struct Chunk {
    columns: Vec<Vec<Vector>>,
    rows: usize,
    bytes: u64,
    reservation: Option<Reservation>,
}

impl Chunk {
    /// Adds rows; whether the memory for more is granted.
    fn add(&mut self, columns: Vec<Vector>, len: usize, budget: &MemoryBudget) -> bool {
        let size = |column: &Vector| if column.is_constant() { 16 } else { column.data().size() };
        // Once as they are, once gathered.
        self.bytes += 2 * columns.iter().map(size).sum::<usize>() as u64;
        self.columns.resize_with(columns.len(), Vec::new);
        self.columns.iter_mut().zip(columns).for_each(|(pieces, column)| pieces.push(column));
        self.rows += len;
        match &mut self.reservation {
            Some(held) => held.resize(self.bytes).is_ok(),
            None => budget.reserve(self.bytes).map(|held| self.reservation = Some(held)).is_ok(),
        }
    }
}

/// Calls on any rows.
pub struct PartsCall {
    options: CallOptions,
    args: Program,
}

/// What a worker has.
pub struct PartsLocal {
    args: ProgramState,
    state: Option<Box<dyn StreamState>>,
    chunk: Chunk,
    target: ChunkRows,
}

impl PartsCall {
    /// `args` computes what the function is given.
    pub fn new(options: CallOptions, args: Program) -> Self {
        Self { options, args }
    }

    fn emit(&self, local: &mut PartsLocal, push: Push<'_>) -> Result<Flow> {
        let chunk = std::mem::take(&mut local.chunk);
        if chunk.rows == 0 {
            return Ok(Flow::More);
        }
        let state = &mut **local.state.get_or_insert_with(|| self.options.call.stream.begin());
        let started = Instant::now();
        self.options.give(state, &chunk)?;
        let flow = self.options.push_made(state, &mut 0, push)?;
        local.target.adapt(chunk.rows, started.elapsed());
        Ok(flow)
    }
}

impl Operator for PartsCall {
    type Local = PartsLocal;

    fn local(&self) -> PartsLocal {
        PartsLocal {
            args: self.args.state(),
            state: None,
            chunk: Chunk::default(),
            target: ChunkRows::default(),
        }
    }

    fn process(&self, input: Batch, local: &mut PartsLocal, push: Push<'_>) -> Result<Flow> {
        let columns = self.args.eval_all(&mut local.args, &input)?;
        let is_granted = local.chunk.add(columns, input.len(), &self.options.budget);
        if is_granted && local.chunk.rows < local.target.rows() {
            return Ok(Flow::More);
        }
        self.emit(local, push)
    }

    fn flush(&self, local: &mut PartsLocal, push: Push<'_>) -> Result<Flow> {
        self.emit(local, push)
    }

    fn calls(&self) -> Vec<CallMeasure> {
        self.options.measured()
    }
}

/// Calls on one part after the other.
pub struct OrderedCall {
    options: Arc<CallOptions>,
    args: Program,
    keys: Program,
    key_count: usize,
    table: Mutex<Table>,
}

/// The table, or the partition, that is being given.
#[derive(Default)]
struct Table {
    state: Option<Box<dyn StreamState>>,
    key: Vec<Value>,
    chunk: Chunk,
    target: ChunkRows,
    numbered: i64,
}

impl OrderedCall {
    /// `args` computes what the function is given, `keys` where another table begins; there are `key_count` of them.
    pub fn new(options: CallOptions, args: Program, keys: Program, key_count: usize) -> Self {
        Self { options: Arc::new(options), args, keys, key_count, table: Mutex::default() }
    }

    fn emit(&self, table: &mut Table, push: Push<'_>) -> Result<Flow> {
        let chunk = std::mem::take(&mut table.chunk);
        if chunk.rows == 0 {
            return Ok(Flow::More);
        }
        let Table { state, target, numbered, .. } = table;
        let state = &mut **state.get_or_insert_with(|| self.options.call.stream.begin());
        let started = Instant::now();
        self.options.give(state, &chunk)?;
        let flow = self.options.push_made(state, numbered, push)?;
        target.adapt(chunk.rows, started.elapsed());
        Ok(flow)
    }

    fn finish(&self, table: &mut Table, push: Push<'_>) -> Result<Flow> {
        if self.emit(table, push)? == Flow::Done {
            return Ok(Flow::Done);
        }
        let flow = match &mut table.state {
            Some(state) => {
                self.options.timed(|| state.finish())?;
                self.options.push_made(&mut **state, &mut table.numbered, push)?
            }
            None => Flow::More,
        };
        (table.state, table.numbered) = (None, 0);
        Ok(flow)
    }

    /// Gives rows of one table.
    fn add(&self, table: &mut Table, columns: Vec<Vector>, len: usize, push: Push<'_>) -> Result<Flow> {
        let is_granted = table.chunk.add(columns, len, &self.options.budget);
        if is_granted && table.chunk.rows < table.target.rows() {
            return Ok(Flow::More);
        }
        self.emit(table, push)
    }
}

/// What a worker has.
pub struct OrderedLocal {
    args: ProgramState,
    keys: ProgramState,
}

/// Whether two keys are of one partition: NULL and NaN are equal to themselves.
fn is_same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Double(a), Value::Double(b)) => a == b || a.is_nan() && b.is_nan(),
        (Value::Real(a), Value::Real(b)) => a == b || a.is_nan() && b.is_nan(),
        _ => a == b,
    }
}

/// Where rows begin whose keys are others than those of the row before.
fn runs_of(keys: &[Vector], len: usize) -> Vec<(usize, usize)> {
    let mut runs = Vec::new();
    let mut from = 0;
    for row in 1..=len {
        if row == len || keys.iter().any(|key| !is_same(&key.get(row), &key.get(row - 1))) {
            runs.push((from, row - from));
            from = row;
        }
    }
    runs
}

impl Operator for OrderedCall {
    type Local = OrderedLocal;

    fn local(&self) -> OrderedLocal {
        OrderedLocal { args: self.args.state(), keys: self.keys.state() }
    }

    fn process(&self, input: Batch, local: &mut OrderedLocal, push: Push<'_>) -> Result<Flow> {
        let columns = self.args.eval_all(&mut local.args, &input)?;
        let mut table = self.table.lock();
        if self.key_count == 0 {
            return self.add(&mut table, columns, input.len(), push);
        }
        let keys = self.keys.eval_all(&mut local.keys, &input)?;
        for (from, len) in runs_of(&keys, input.len()) {
            let key: Vec<Value> = keys.iter().map(|key| key.get(from)).collect();
            let goes_on =
                key.len() == table.key.len() && key.iter().zip(&table.key).all(|(a, b)| is_same(a, b));
            if !goes_on {
                if self.finish(&mut table, push)? == Flow::Done {
                    return Ok(Flow::Done);
                }
                table.key = key;
            }
            let own = columns.iter().map(|column| column.slice(from, len)).collect();
            if self.add(&mut table, own, len, push)? == Flow::Done {
                return Ok(Flow::Done);
            }
        }
        Ok(Flow::More)
    }

    fn rest(&self, _context: &ExecContext) -> Result<Option<Arc<dyn DynSource>>> {
        let Table { state, chunk, numbered, .. } = std::mem::take(&mut *self.table.lock());
        if state.is_none() && chunk.rows == 0 {
            return Ok(None);
        }
        let steps = [(chunk.rows > 0).then_some(Step::Give(chunk)), Some(Step::Finish)];
        let steps = steps.into_iter().flatten().collect();
        Ok(Some(Arc::new(Made::new(Arc::clone(&self.options), state, steps, numbered))))
    }

    fn calls(&self) -> Vec<CallMeasure> {
        self.options.measured()
    }
}

/// What is still to be done for a table.
enum Step {
    Give(Chunk),
    Finish,
}

/// The rows of what is left of a table, and of a call without one.
pub struct Made {
    options: Arc<CallOptions>,
    left: Mutex<Left>,
    morsels: AtomicUsize,
}

struct Left {
    state: Option<Box<dyn StreamState>>,
    steps: VecDeque<Step>,
    numbered: i64,
}

impl Made {
    fn new(
        options: Arc<CallOptions>,
        state: Option<Box<dyn StreamState>>,
        steps: VecDeque<Step>,
        numbered: i64,
    ) -> Self {
        let left = Mutex::new(Left { state, steps, numbered });
        Self { options, left, morsels: AtomicUsize::new(0) }
    }

    /// A call that is given no table.
    pub fn of_nothing(options: CallOptions) -> Self {
        let one = Chunk { rows: 1, ..Chunk::default() };
        Self::new(Arc::new(options), None, VecDeque::from([Step::Give(one)]), 0)
    }
}

impl Left {
    fn next(&mut self, options: &CallOptions) -> Result<Option<Batch>> {
        let state = &mut **self.state.get_or_insert_with(|| options.call.stream.begin());
        loop {
            if let Some(batch) = options.next(state, &mut self.numbered)? {
                return Ok(Some(batch));
            }
            match self.steps.pop_front() {
                Some(Step::Give(chunk)) => options.give(state, &chunk)?,
                Some(Step::Finish) => options.timed(|| state.finish())?,
                None => return Ok(None),
            }
        }
    }
}

impl Source for Made {
    type Local = ();

    fn start(&self, _context: &ExecContext) -> Result<usize> {
        Ok(1)
    }

    fn local(&self) {}

    fn run_morsel(
        &self,
        _local: &mut (),
        begin: &mut dyn FnMut(usize),
        push: &mut dyn FnMut(Batch) -> Result<Flow>,
    ) -> Result<Morsel> {
        let mut left = self.left.lock();
        let Some(mut batch) = left.next(&self.options)? else {
            left.state = None;
            return Ok(Morsel::Exhausted);
        };
        let number = self.morsels.fetch_add(1, Ordering::Relaxed);
        begin(number);
        let rows_max = VECTOR_SIZE << number.min(MORSEL_BATCHES_LOG_MAX);
        let (mut pieces, mut rows) = (1, 0);
        loop {
            rows += batch.len();
            if in_batches(&batch, push)? == Flow::Done || pieces >= MORSEL_PIECES || rows >= rows_max {
                return Ok(Morsel::Pushed);
            }
            match left.next(&self.options)? {
                Some(more) => batch = more,
                None => return Ok(Morsel::Pushed),
            }
            pieces += 1;
        }
    }

    fn calls(&self) -> Vec<CallMeasure> {
        self.options.measured()
    }
}

/// A source that one worker reads.
pub struct Alone(pub Arc<dyn DynSource>);

impl Source for Alone {
    type Local = LocalState;

    fn prefer(&self, handout: Handout) {
        self.0.prefer(handout);
    }

    fn start(&self, context: &ExecContext) -> Result<usize> {
        Ok(self.0.start(context)?.min(1))
    }

    fn local(&self) -> LocalState {
        self.0.local()
    }

    fn run_morsel(
        &self,
        local: &mut LocalState,
        begin: &mut dyn FnMut(usize),
        push: &mut dyn FnMut(Batch) -> Result<Flow>,
    ) -> Result<Morsel> {
        self.0.run_morsel(local, begin, push)
    }

    fn calls(&self) -> Vec<CallMeasure> {
        self.0.calls()
    }
}
