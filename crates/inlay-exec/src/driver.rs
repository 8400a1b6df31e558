//! Runs pipelines: one loop per worker, from source to sink.
//!
//! Pipelines run in the order in which they were planned, each with all workers; a pipeline's inputs were planned
//! before it. [`Flow::Done`] from anywhere ends the worker's morsel and keeps all workers from starting another;
//! morsels under way are finished, because they may come earlier in the order of rows.
//!
//! When the source is exhausted, each operator in turn may have rows that it held back ([`Operator::rest`]), which then
//! are the source for the operators behind it.

use crate::context::ExecContext;
use crate::pipeline::{Flow, LocalState, Morsel, Operator, Pipeline, Sink, Source};
use crate::profile::{PipelineProfile, Stage};
use crate::progress::QueryProgress;
use inlay_types::{Batch, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Runs one pipeline to its end. With a profile, counts rows and time of each stage.
pub fn run(pipeline: &Pipeline, context: &ExecContext, profile: Option<&PipelineProfile>) -> Result<()> {
    run_counted(pipeline, context, profile, None)
}

/// Runs one pipeline to its end and counts the morsels of its source.
pub fn run_counted(
    pipeline: &Pipeline,
    context: &ExecContext,
    profile: Option<&PipelineProfile>,
    counter: Option<&QueryProgress>,
) -> Result<()> {
    let progress = Progress { done: AtomicBool::new(false), morsels: AtomicUsize::new(0) };
    let whole =
        Stretch { source: &*pipeline.source, operators: &pipeline.operators, first: 0, base: 0, counter };
    whole.run(pipeline, context, &progress, profile)?;
    for (index, operator) in pipeline.operators.iter().enumerate() {
        if progress.done.load(Ordering::Relaxed) {
            break;
        }
        if let Some(rest) = operator.rest(context)? {
            let (first, base) = (index + 1, progress.morsels.load(Ordering::Relaxed));
            let operators = &pipeline.operators[first..];
            Stretch { source: &*rest, operators, first, base, counter: None }
                .run(pipeline, context, &progress, profile)?;
        }
    }
    context.interrupt.check()?;
    match profile {
        None => pipeline.sink.finalize(context),
        Some(profile) => profile.timed_finalize(|| pipeline.sink.finalize(context)),
    }
}

/// What the workers of a pipeline tell each other.
struct Progress {
    /// Nobody wants more.
    done: AtomicBool,
    /// The morsels begun have numbers below this.
    morsels: AtomicUsize,
}

/// A pipeline, or what is behind an operator that has rows left.
struct Stretch<'a> {
    source: &'a dyn Source,
    operators: &'a [Arc<dyn Operator>],
    /// The source's number among the stages.
    first: usize,
    /// Added to the source's morsel numbers.
    base: usize,
    /// Told of each morsel.
    counter: Option<&'a QueryProgress>,
}

impl Stretch<'_> {
    fn run(
        &self,
        pipeline: &Pipeline,
        context: &ExecContext,
        progress: &Progress,
        profile: Option<&PipelineProfile>,
    ) -> Result<()> {
        let morsels = self.source.start(context)?;
        let workers = context.threads.min(morsels).max(1);
        if let Some(counter) = self.counter {
            counter.expect_morsels(morsels);
        }
        if morsels == 0 {
            return Ok(());
        }
        context.pool.parallel(context.threads, workers, |_| {
            context.limited(|| work(self, pipeline, context, progress, profile))
        })
    }
}

/// One worker's loop.
fn work(
    stretch: &Stretch<'_>,
    pipeline: &Pipeline,
    context: &ExecContext,
    progress: &Progress,
    profile: Option<&PipelineProfile>,
) -> Result<()> {
    let (operators, done) = (stretch.operators, &progress.done);
    let mut source_local = stretch.source.local();
    let mut locals: Vec<LocalState> = operators.iter().map(|operator| operator.local()).collect();
    let sink_local = std::cell::RefCell::new(pipeline.sink.local());
    let mut stages = profile.map(|p| vec![Stage::default(); p.stage_count()]);
    while !done.load(Ordering::Relaxed) {
        context.interrupt.check()?;
        let mut flow = Flow::More;
        let started = std::time::Instant::now();
        let mut downstream = 0;
        let morsel = stretch.source.run_morsel(
            &mut source_local,
            &mut |number| {
                if let Some(counter) = stretch.counter {
                    counter.take_morsel();
                }
                let number = stretch.base + number;
                progress.morsels.fetch_max(number + 1, Ordering::Relaxed);
                pipeline.sink.start_morsel(number, &mut sink_local.borrow_mut());
            },
            &mut |batch| {
                let mut push = |batch: Batch| {
                    let mut sink_local = sink_local.borrow_mut();
                    let mut chain = Chain { sink: &*pipeline.sink, sink_local: &mut sink_local, spent: 0 };
                    if let Some(stages) = &mut stages {
                        stages[stretch.first].rows += batch.len() as u64;
                    }
                    let later = stages.as_mut().map(|s| &mut s[stretch.first + 1..]);
                    flow = chain.push(operators, &mut locals, later, batch)?;
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
        if let Some(stages) = &mut stages {
            stages[stretch.first].nanos += (started.elapsed().as_nanos() as u64).saturating_sub(downstream);
        }
        if morsel == Morsel::Exhausted {
            break;
        }
        let mut sink_local = sink_local.borrow_mut();
        for index in 0..operators.len() {
            let (before, after) = locals.split_at_mut(index + 1);
            let mut chain = Chain { sink: &*pipeline.sink, sink_local: &mut sink_local, spent: 0 };
            let (rest, stage) = (&operators[index + 1..], stretch.first + index + 1);
            let stages = &mut stages;
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
        if pipeline.sink.end_morsel(&mut sink_local)? == Flow::Done {
            flow = Flow::Done;
        }
        if flow == Flow::Done {
            done.store(true, Ordering::Relaxed);
        }
    }
    if let (Some(profile), Some(stages)) = (profile, stages) {
        profile.add(&stages);
    }
    pipeline.sink.combine(sink_local.into_inner())
}

/// The end of the chain that a batch is pushed through.
struct Chain<'a> {
    sink: &'a dyn Sink,
    sink_local: &'a mut LocalState,
    /// Nanoseconds spent below the caller; measured only with stages.
    spent: u64,
}

impl Chain<'_> {
    fn push(
        &mut self,
        operators: &[Arc<dyn Operator>],
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
                self.sink.consume(batch, self.sink_local)?
            }
        };
        let total = started.elapsed().as_nanos() as u64;
        stage.nanos += total.saturating_sub(below);
        self.spent = total;
        Ok(flow)
    }

    fn push_plain(
        &mut self,
        operators: &[Arc<dyn Operator>],
        locals: &mut [LocalState],
        batch: Batch,
    ) -> Result<Flow> {
        match (operators.split_first(), locals.split_first_mut()) {
            (Some((operator, rest)), Some((local, locals))) => {
                operator.process(batch, local, &mut |output| self.push_plain(rest, locals, output))
            }
            _ => self.sink.consume(batch, self.sink_local),
        }
    }
}
