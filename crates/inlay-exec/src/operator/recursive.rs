//! WITH RECURSIVE: rounds of a step over the rows of the round before.
//!
//! A source with one morsel per round, taken by one worker: a round is computed when it is asked for, so that LIMIT
//! ends a recursion that would not end. Each round lowers and runs the step anew, with all workers; UNION drops the rows
//! that are in a table of all rows so far. USING KEY, the step sees the rows that the round before changed and, as
//! `recurring`, those of all keys; the latter are the answer, when no round changes any more. Without keys `recurring` has
//! the rows of all rounds so far.

use super::aggregate::RowSet;
use super::keyed_rows::KeyedRows;
use super::materialize::{BufferScan, Materialize, RowBuffer};
use crate::context::ExecContext;
use crate::driver;
use crate::pipeline::{DynOperator, Flow, LocalState, Morsel, Pipeline, Sink, Source};
use inlay_types::{Batch, Error, LogicalType, Reservation, Result, VECTOR_SIZE};
use parking_lot::Mutex;
use std::sync::{Arc, OnceLock};

/// The pipelines of one round, and where its rows will be. The arguments have the rows of the round before, and of all keys.
pub type Step = dyn Fn(&Arc<RowBuffer>, &Arc<RowBuffer>) -> Result<(Vec<Pipeline>, Arc<RowBuffer>, Vec<usize>)>
    + Send
    + Sync;

/// What the rounds of a step have in common that makes its rows of single rows of the round before. A round of few rows is run on the
/// thread that asks for it: a pipeline costs many times what its operators do.
pub struct RowByRow {
    /// Where the columns that the step reads lie in the rows of the round before.
    pub read: Vec<usize>,
    /// The operators.
    pub operators: Vec<Arc<dyn DynOperator>>,
    /// Their numbers, and that of the source.
    pub nodes: Vec<usize>,
    /// Where the columns of the step lie in what the operators make.
    pub made: Vec<usize>,
}

/// Known from the first round on, if the step is such a one.
pub type Alike = Arc<OnceLock<RowByRow>>;

/// Rows of a round that are computed without a pipeline, and bytes of their texts: pipelines hand on long ones a few at a time.
const ROWS_FEW: usize = VECTOR_SIZE;
const TEXT_LITTLE: usize = 1 << 16;

fn is_little(rows: &RowBuffer) -> Result<bool> {
    if rows.len()? > ROWS_FEW as u64 {
        return Ok(false);
    }
    // Few rows are in files where memory is short.
    let in_memory = rows.batches();
    Ok(in_memory.is_ok_and(|batches| batches.iter().map(Batch::text_size).sum::<usize>() <= TEXT_LITTLE))
}

/// Which rows are kept between rounds.
#[derive(Debug)]
pub enum Keep {
    /// Those of the round before.
    Round,
    /// Those of all rounds: the step reads them as `recurring`.
    AllRounds,
    /// USING KEY: the last row of each key, by the positions of its columns.
    Keys(Vec<usize>),
}

/// Makes the rows of all rounds.
pub struct Recursion {
    context: ExecContext,
    step: Box<Step>,
    alike: Alike,
    /// The first round: a buffer, and the positions of the columns in it.
    initial: (Arc<RowBuffer>, Vec<usize>),
    types: Vec<LogicalType>,
    /// Keep rows that came before.
    all: bool,
    keep: Keep,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    round: usize,
    /// The rows of the last round, with the columns in order.
    working: Option<Arc<RowBuffer>>,
    seen: Option<(RowSet, Reservation)>,
    /// The rows of all rounds, if the step reads them.
    rounds: Option<Arc<RowBuffer>>,
    /// What the operators of rounds of few rows have.
    locals: Vec<LocalState>,
}

impl Recursion {
    /// A recursion that begins with the rows of `initial`.
    pub fn new(
        context: &ExecContext,
        initial: (Arc<RowBuffer>, Vec<usize>),
        types: Vec<LogicalType>,
        all: bool,
        keep: Keep,
        (step, alike): (Box<Step>, Alike),
    ) -> Self {
        Self { context: context.clone(), step, alike, initial, types, all, keep, state: Mutex::default() }
    }

    /// The rows of the next round; `None` when there are none.
    fn next_round(&self, state: &mut State) -> Result<Option<Arc<RowBuffer>>> {
        self.context.interrupt.check()?;
        let (rows, positions) = match &state.working {
            None => (Arc::clone(&self.initial.0), self.initial.1.clone()),
            Some(working) if self.alike.get().is_some() && is_little(working)? => {
                let rows = self.context.limited(|| self.few_rows(working, &mut state.locals))?;
                (rows, (0..self.types.len()).collect())
            }
            Some(working) => {
                let recurring = state.rounds.as_ref().unwrap_or(working);
                let (pipelines, rows, positions) = (self.step)(working, recurring)?;
                for pipeline in pipelines {
                    driver::run(&pipeline, &self.context, None)?;
                }
                (rows, positions)
            }
        };
        let mut is_empty = true;
        let in_order = positions.iter().enumerate().all(|(index, position)| index == *position);
        let working = if self.all && in_order {
            is_empty = rows.is_empty()?;
            rows
        } else {
            self.copy(rows, positions, state, &mut is_empty)?
        };
        state.round += 1;
        if matches!(self.keep, Keep::AllRounds) {
            let earlier = state.rounds.take();
            state.rounds = Some(self.joined(earlier.into_iter().chain([Arc::clone(&working)]))?);
        }
        state.working = Some(Arc::clone(&working));
        Ok((!is_empty).then_some(working))
    }

    /// The rows of the round behind one of few rows, with their columns in order.
    fn few_rows(&self, working: &Arc<RowBuffer>, locals: &mut Vec<LocalState>) -> Result<Arc<RowBuffer>> {
        let Some(RowByRow { read, operators, made, .. }) = self.alike.get() else {
            return Err(not_recursive());
        };
        if locals.is_empty() {
            locals.extend(operators.iter().map(|operator| operator.local()));
        }
        let sink = Materialize::new(&self.context);
        let mut local = sink.local();
        let mut end = |batch: Batch| {
            let columns = made.iter().map(|position| batch.columns()[*position].clone()).collect();
            sink.consume(Batch::new(columns, batch.len()), &mut local)
        };
        let scan = BufferScan::new(vec![(Arc::clone(working), read.clone())]);
        scan.start(&self.context)?;
        let mut push = |batch| chained(operators, locals, batch, &mut end);
        while scan.run_morsel(&mut (), &mut |_| {}, &mut push)? != Morsel::Exhausted {
            self.context.interrupt.check()?;
        }
        for (index, operator) in operators.iter().enumerate() {
            let (before, behind) = locals.split_at_mut(index + 1);
            let mut push = |batch| chained(&operators[index + 1..], behind, batch, &mut end);
            operator.flush(&mut before[index], &mut push)?;
        }
        sink.end_morsel(&mut local)?;
        sink.combine(local)?;
        sink.finalize(&self.context)?;
        Ok(sink.buffer())
    }

    /// All rounds of a recursion USING KEY; the rows of all keys.
    fn keyed(&self, keys: &[usize]) -> Result<Arc<RowBuffer>> {
        let context = &self.context;
        let mut held = KeyedRows::new(keys.to_vec(), self.all, &context.budget, context.interrupt.clone())?;
        let (mut rows, mut positions) = (Arc::clone(&self.initial.0), self.initial.1.clone());
        loop {
            held.begin_round()?;
            let scan = BufferScan::new(vec![(rows, positions)]);
            scan.start(context)?;
            let mut push = |batch| held.insert(batch).map(|()| Flow::More);
            while scan.run_morsel(&mut (), &mut |_| {}, &mut push)? != Morsel::Exhausted {
                context.interrupt.check()?;
            }
            let recurring = self.buffer_of(held.rows())?;
            let working = self.buffer_of(held.changed())?;
            if working.is_empty()? {
                return Ok(recurring);
            }
            let pipelines;
            (pipelines, rows, positions) = (self.step)(&working, &recurring)?;
            for pipeline in pipelines {
                driver::run(&pipeline, context, None)?;
            }
        }
    }

    /// The rows of several buffers whose columns are in order.
    fn joined(&self, buffers: impl Iterator<Item = Arc<RowBuffer>>) -> Result<Arc<RowBuffer>> {
        let in_order: Vec<usize> = (0..self.types.len()).collect();
        let scan = BufferScan::new(buffers.map(|rows| (rows, in_order.clone())).collect());
        scan.start(&self.context)?;
        let sink = Materialize::new(&self.context);
        let mut local = sink.local();
        let mut push = |batch| sink.consume(batch, &mut local);
        while scan.run_morsel(&mut (), &mut |_| {}, &mut push)? != Morsel::Exhausted {
            self.context.interrupt.check()?;
        }
        sink.end_morsel(&mut local)?;
        sink.combine(local)?;
        sink.finalize(&self.context)?;
        Ok(sink.buffer())
    }

    fn buffer_of(&self, batches: impl Iterator<Item = Batch>) -> Result<Arc<RowBuffer>> {
        let sink = Materialize::new(&self.context);
        let mut local = sink.local();
        for batch in batches {
            self.context.interrupt.check()?;
            sink.consume(batch, &mut local)?;
        }
        sink.end_morsel(&mut local)?;
        sink.combine(local)?;
        sink.finalize(&self.context)?;
        Ok(sink.buffer())
    }

    /// Rows with their columns in order, without those that came before unless they are kept.
    fn copy(
        &self,
        rows: Arc<RowBuffer>,
        positions: Vec<usize>,
        state: &mut State,
        is_empty: &mut bool,
    ) -> Result<Arc<RowBuffer>> {
        if !self.all && state.seen.is_none() {
            state.seen = Some((RowSet::new(&self.types), self.context.budget.reserve(0)?));
        }
        let sink = Materialize::new(&self.context);
        let mut local = sink.local();
        let scan = BufferScan::new(vec![(rows, positions)]);
        scan.start(&self.context)?;
        loop {
            self.context.interrupt.check()?;
            let mut push = |batch: Batch| {
                let batch = match &mut state.seen {
                    None => batch,
                    Some((seen, reservation)) => {
                        let new = seen.insert(batch.columns(), batch.len())?;
                        reservation.resize(seen.memory_size() as u64)?;
                        if new.len() == batch.len() { batch } else { batch.take(&new) }
                    }
                };
                if batch.is_empty() {
                    return Ok(Flow::More);
                }
                *is_empty = false;
                sink.consume(batch, &mut local)
            };
            if scan.run_morsel(&mut (), &mut |_| {}, &mut push)? == Morsel::Exhausted {
                break;
            }
        }
        sink.end_morsel(&mut local)?;
        sink.combine(local)?;
        sink.finalize(&self.context)?;
        Ok(sink.buffer())
    }
}

/// Pushes a batch through operators to their end.
fn chained(
    operators: &[Arc<dyn DynOperator>],
    locals: &mut [LocalState],
    batch: Batch,
    end: &mut dyn FnMut(Batch) -> Result<Flow>,
) -> Result<Flow> {
    match (operators, locals) {
        ([first, operators @ ..], [local, locals @ ..]) => {
            first.process(batch, local, &mut |batch| chained(operators, locals, batch, end))
        }
        ([], _) | (_, []) => end(batch),
    }
}

impl Source for Recursion {
    type Local = ();

    fn start(&self, _context: &ExecContext) -> Result<usize> {
        *self.state.lock() = State::default();
        Ok(1)
    }

    fn local(&self) {}

    fn run_morsel(
        &self,
        _local: &mut (),
        begin: &mut dyn FnMut(usize),
        push: &mut dyn FnMut(Batch) -> Result<Flow>,
    ) -> Result<Morsel> {
        let mut state = self.state.lock();
        let number = state.round;
        let next = match &self.keep {
            Keep::Round | Keep::AllRounds => self.next_round(&mut state)?,
            Keep::Keys(_) if number > 0 => None,
            Keep::Keys(keys) => {
                state.round = 1;
                Some(self.keyed(keys)?)
            }
        };
        let Some(rows) = next else { return Ok(Morsel::Exhausted) };
        drop(state);
        begin(number);
        let scan = BufferScan::new(vec![(rows, (0..self.types.len()).collect())]);
        scan.start(&self.context)?;
        let mut flow = Flow::More;
        while flow == Flow::More {
            let mut forward = |batch| {
                flow = push(batch)?;
                Ok(flow)
            };
            if scan.run_morsel(&mut (), &mut |_| {}, &mut forward)? == Morsel::Exhausted {
                break;
            }
        }
        Ok(Morsel::Pushed)
    }
}

/// The error of a plan whose recursion is not one.
pub fn not_recursive() -> Error {
    Error::internal("not a recursion")
}
