//! Runs pipelines: one loop per worker, from source to sink.
//!
//! Pipelines run in the order in which they were planned, each with all workers; a pipeline's inputs were planned
//! before it. [`Flow::Done`] from anywhere ends the worker's morsel and keeps all workers from starting another;
//! morsels under way are finished, because they may come earlier in the order of rows.
//!
//! When the source is exhausted, each operator in turn may have rows that it held back ([`Operator::rest`]), which then
//! are the source for the operators behind it.
//!
//! Workers come and go between morsels, as the pool has them: one that leaves puts what it had aside, and whoever comes
//! next goes on with it. In the same way a [`Drive`] can be left by all and gone on with later, by any threads; that is
//! how rows are computed while they are read.

use crate::context::ExecContext;
use crate::pipeline::{DynOperator, DynSink, DynSource, Flow, LocalState, Morsel, Pipeline};
use crate::pool::{After, Turn};
use crate::profile::{PipelineProfile, Stage};
use crate::progress::QueryProgress;
use inlay_types::{Batch, Result, limits};
use parking_lot::Mutex;
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Runs one pipeline to its end. With a profile, counts rows and time of each stage.
pub fn run(pipeline: &Pipeline, context: &ExecContext, profile: Option<&PipelineProfile>) -> Result<()> {
    run_observed(pipeline, context, Observers { profile, counter: None })
}

/// Runs one pipeline to its end.
pub fn run_observed(pipeline: &Pipeline, context: &ExecContext, observers: Observers<'_>) -> Result<()> {
    let mut drive = Drive::start(pipeline.clone(), context, observers.counter)?;
    while !drive.go(context, observers, &|| false)? {}
    drive.finish(context, observers.profile)
}

/// Who is told what a running pipeline does.
#[derive(Clone, Copy, Default)]
pub struct Observers<'a> {
    /// Rows and time of each stage.
    pub profile: Option<&'a PipelineProfile>,
    /// Morsels of the pipeline's source.
    pub counter: Option<&'a QueryProgress>,
}

/// A pipeline under way.
pub struct Drive {
    pipeline: Pipeline,
    /// The pipeline's source, or what an operator held back.
    source: Arc<dyn DynSource>,
    /// The source's number among the stages: operators from here on are behind it.
    first: usize,
    /// Added to the source's morsel numbers.
    base: usize,
    /// Workers that have something to do at most.
    workers_max: usize,
    /// What workers had that left.
    left: Mutex<Vec<Worker>>,
    /// The source has no more morsels.
    exhausted: AtomicBool,
    /// The operator that is asked next for rows that it held back.
    next_operator: usize,
    /// Nobody wants more.
    done: AtomicBool,
    /// The morsels begun have numbers below this.
    morsels: AtomicUsize,
}

/// What one worker has in every stage.
struct Worker {
    source: LocalState,
    operators: Vec<LocalState>,
    sink: RefCell<LocalState>,
    /// Measured only with a profile.
    stages: Option<Vec<Stage>>,
}

impl Drive {
    /// Starts the source; no row is read yet.
    pub fn start(pipeline: Pipeline, context: &ExecContext, counter: Option<&QueryProgress>) -> Result<Self> {
        let mut drive = Self {
            source: Arc::clone(&pipeline.source),
            pipeline,
            first: 0,
            base: 0,
            workers_max: 0,
            left: Mutex::default(),
            exhausted: AtomicBool::new(false),
            next_operator: 0,
            done: AtomicBool::new(false),
            morsels: AtomicUsize::new(0),
        };
        context.limited(|| drive.start_source(context, counter))?;
        Ok(drive)
    }

    fn start_source(&mut self, context: &ExecContext, counter: Option<&QueryProgress>) -> Result<()> {
        self.source.prefer(self.pipeline.sink.handout());
        let morsels = self.source.start(context)?;
        if let Some(counter) = counter {
            counter.expect_morsels(morsels);
        }
        self.workers_max = morsels;
        self.exhausted = AtomicBool::new(morsels == 0);
        Ok(())
    }

    /// Goes on until `pauses` says so, which is asked before each morsel, or until the sink has all rows. Returns
    /// whether it has.
    pub fn go(
        &mut self,
        context: &ExecContext,
        observers: Observers<'_>,
        pauses: &(dyn Fn() -> bool + Sync),
    ) -> Result<bool> {
        loop {
            let drive = &*self;
            if !drive.is_over() {
                context.workers.pool().together(&context.workers, drive.workers_max, |turn| {
                    context.limited(|| drive.work(turn, context, observers, pauses))
                })?;
            }
            if !self.is_over() {
                return Ok(false);
            }
            let left = std::mem::take(self.left.get_mut());
            self.combine_all(left, context, observers.profile)?;
            if !context.limited(|| self.next_source(context))? {
                return Ok(true);
            }
        }
    }

    /// Whether no morsel is begun any more.
    fn is_over(&self) -> bool {
        self.exhausted.load(Ordering::Relaxed) || self.done.load(Ordering::Relaxed)
    }

    /// Hands over what workers had that left before the end.
    fn combine_all(
        &self,
        left: Vec<Worker>,
        context: &ExecContext,
        profile: Option<&PipelineProfile>,
    ) -> Result<()> {
        let left: Vec<Mutex<Option<Worker>>> =
            left.into_iter().map(|worker| Mutex::new(Some(worker))).collect();
        context.parallel(left.len(), |index| {
            let worker = left[index].lock().take();
            worker.map_or(Ok(()), |worker| self.combine(worker, profile))
        })
    }

    fn combine(&self, worker: Worker, profile: Option<&PipelineProfile>) -> Result<()> {
        if let (Some(profile), Some(stages)) = (profile, worker.stages) {
            profile.add(&stages);
        }
        self.pipeline.sink.combine(worker.sink.into_inner())
    }

    /// Takes what the next operator held back as the source; `false` when no operator held back anything.
    fn next_source(&mut self, context: &ExecContext) -> Result<bool> {
        while self.next_operator < self.pipeline.operators.len() && !self.done.load(Ordering::Relaxed) {
            let index = self.next_operator;
            self.next_operator += 1;
            if let Some(rest) = self.pipeline.operators[index].rest(context)? {
                self.source = rest;
                self.first = index + 1;
                self.base = self.morsels.load(Ordering::Relaxed);
                self.start_source(context, None)?;
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The sink has all rows.
    pub fn finish(self, context: &ExecContext, profile: Option<&PipelineProfile>) -> Result<()> {
        context.interrupt.check()?;
        context.limited(|| match profile {
            None => self.pipeline.sink.finalize(context),
            Some(profile) => profile.timed_finalize(|| self.pipeline.sink.finalize(context)),
        })
    }

    fn operators(&self) -> &[Arc<dyn DynOperator>] {
        &self.pipeline.operators[self.first..]
    }

    fn worker(&self, profile: Option<&PipelineProfile>) -> Worker {
        Worker {
            source: self.source.local(),
            operators: self.operators().iter().map(|operator| operator.local()).collect(),
            sink: RefCell::new(self.pipeline.sink.local()),
            stages: profile.map(|profile| vec![Stage::default(); profile.stage_count()]),
        }
    }

    /// One worker's loop.
    fn work(
        &self,
        turn: &Turn<'_>,
        context: &ExecContext,
        observers: Observers<'_>,
        pauses: &(dyn Fn() -> bool + Sync),
    ) -> Result<After> {
        let before = self.left.lock().pop();
        let mut worker = before.unwrap_or_else(|| self.worker(observers.profile));
        // What an operator held back is not counted again.
        let counter = observers.counter.filter(|_| self.first == 0);
        while !self.is_over() {
            let pauses = pauses();
            if pauses || turn.leaves() {
                self.left.lock().push(worker);
                return Ok(if pauses { After::Over } else { After::More });
            }
            context.interrupt.check()?;
            let Some(mut flow) = self.morsel(&mut worker, context, counter)? else {
                self.exhausted.store(true, Ordering::Relaxed);
                break;
            };
            if self.flush(&mut worker)? == Flow::Done {
                flow = Flow::Done;
            }
            if self.pipeline.sink.end_morsel(worker.sink.get_mut())? == Flow::Done {
                flow = Flow::Done;
            }
            if flow == Flow::Done {
                self.done.store(true, Ordering::Relaxed);
            }
        }
        self.combine(worker, observers.profile)?;
        Ok(After::Over)
    }

    /// Takes one morsel and pushes its batches; `None` when there are no more.
    fn morsel(
        &self,
        worker: &mut Worker,
        context: &ExecContext,
        counter: Option<&QueryProgress>,
    ) -> Result<Option<Flow>> {
        let Worker { source, operators: locals, sink: sink_local, stages } = worker;
        let mut flow = Flow::More;
        let started = std::time::Instant::now();
        let (mut downstream, mut begun) = (0, Ok(()));
        let morsel = self.source.run_morsel(
            source,
            &mut |number| {
                if let Some(counter) = counter {
                    counter.take_morsel();
                }
                let number = self.base + number;
                self.morsels.fetch_max(number + 1, Ordering::Relaxed);
                begun = self.pipeline.sink.start_morsel(number, &mut sink_local.borrow_mut());
            },
            &mut |batch| {
                let mut push = |batch: Batch| {
                    context.interrupt.check()?;
                    let mut sink_local = sink_local.borrow_mut();
                    let mut chain =
                        Chain { sink: &*self.pipeline.sink, sink_local: &mut sink_local, spent: 0 };
                    if let Some(stages) = stages {
                        stages[self.first].rows += batch.len() as u64;
                    }
                    let later = stages.as_mut().map(|s| &mut s[self.first + 1..]);
                    flow = chain.push(self.operators(), locals, later, batch)?;
                    downstream += chain.spent;
                    Ok(flow)
                };
                if batch.len() <= context.batch_rows {
                    return push(batch);
                }
                for from in (0..batch.len()).step_by(context.batch_rows) {
                    if push(batch.slice(from, context.batch_rows.min(batch.len() - from)))? == Flow::Done {
                        return Ok(Flow::Done);
                    }
                }
                Ok(Flow::More)
            },
        )?;
        begun?;
        if let Some(stages) = stages {
            stages[self.first].nanos += (started.elapsed().as_nanos() as u64).saturating_sub(downstream);
        }
        Ok((morsel == Morsel::Pushed).then_some(flow))
    }

    /// Pushes what the operators hold back of the morsel.
    fn flush(&self, worker: &mut Worker) -> Result<Flow> {
        let Worker { operators: locals, sink, stages, .. } = worker;
        let operators = self.operators();
        let mut flow = Flow::More;
        for index in 0..operators.len() {
            let (before, after) = locals.split_at_mut(index + 1);
            let mut chain = Chain { sink: &*self.pipeline.sink, sink_local: sink.get_mut(), spent: 0 };
            let (rest, stage) = (&operators[index + 1..], self.first + index + 1);
            let flushed = operators[index].flush(&mut before[index], &mut |batch| {
                let later = stages.as_mut().map(|s| {
                    s[stage].rows += batch.len() as u64;
                    &mut s[stage + 1..]
                });
                chain.push(rest, after, later, batch)
            })?;
            if flushed == Flow::Done {
                flow = Flow::Done;
            }
        }
        Ok(flow)
    }
}

/// The end of the chain that a batch is pushed through.
struct Chain<'a> {
    sink: &'a dyn DynSink,
    sink_local: &'a mut LocalState,
    /// Nanoseconds spent below the caller; measured only with stages.
    spent: u64,
}

impl Chain<'_> {
    fn push(
        &mut self,
        operators: &[Arc<dyn DynOperator>],
        locals: &mut [LocalState],
        stages: Option<&mut [Stage]>,
        batch: Batch,
    ) -> Result<Flow> {
        let Some(stages) = stages else { return self.push_plain(operators, locals, batch) };
        let started = std::time::Instant::now();
        let (stage, mut later) = match stages.split_first_mut() {
            Some(split) => split,
            None => return self.push_plain(operators, locals, batch),
        };
        let mut below = 0;
        let flow = match (operators.split_first(), locals.split_first_mut()) {
            (Some((operator, rest)), Some((local, locals))) => {
                operator.process(batch, local, &mut |output| {
                    stage.rows += output.len() as u64;
                    self.spent = 0;
                    let flow = self.push(rest, locals, Some(&mut later), output)?;
                    below += self.spent;
                    Ok(flow)
                })?
            }
            _ => {
                stage.rows += batch.len() as u64;
                self.consume(batch)?
            }
        };
        let total = started.elapsed().as_nanos() as u64;
        stage.nanos += total.saturating_sub(below);
        self.spent = total;
        Ok(flow)
    }

    fn push_plain(
        &mut self,
        operators: &[Arc<dyn DynOperator>],
        locals: &mut [LocalState],
        batch: Batch,
    ) -> Result<Flow> {
        match (operators.split_first(), locals.split_first_mut()) {
            (Some((operator, rest)), Some((local, locals))) => {
                operator.process(batch, local, &mut |output| self.push_plain(rest, locals, output))
            }
            _ => self.consume(batch),
        }
    }

    /// Hands rows to the sink, few at once where their texts are long: what a sink keeps it copies, and asks for memory afterwards.
    fn consume(&mut self, batch: Batch) -> Result<Flow> {
        let (rows, bytes) = (batch.len(), batch.text_size());
        if bytes <= CONSUMED_TEXT_MAX {
            return self.sink.consume(batch, self.sink_local);
        }
        if rows > 1 {
            let half = rows / 2;
            let flow = self.consume(batch.slice(0, half))?;
            return if flow == Flow::Done { Ok(flow) } else { self.consume(batch.slice(half, rows - half)) };
        }
        limits::check()?;
        self.sink.consume(batch, self.sink_local)
    }
}

/// Bytes of texts that a sink is given at once, unless they are one row's.
const CONSUMED_TEXT_MAX: usize = 1 << 20;
