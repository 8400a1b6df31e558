//! Pipelines: a source, streaming operators, and a sink that breaks the flow.
//!
//! The driver (one loop per worker) asks the source for a morsel, pushes each of its batches through the operators
//! into the sink, and at the end combines the worker's state into the sink. When all workers are done, `finalize`
//! runs once, on one thread; it may run parallel work through [`ExecContext::parallel`]. A pipeline starts only
//! after those that it depends on are final, so operators may read what other sinks have built.
//!
//! Batches within a morsel arrive in order, on one worker. Morsels are numbered from 0 in the order of the rows, so a
//! sink that must keep the input's order sorts by morsel number ([`Sink::start_morsel`]).
//!
//! A stage is a [`Source`], [`Operator`] or [`Sink`] with a type for what a worker has there. Pipelines hold stages of any such type
//! as [`DynSource`], [`DynOperator`] and [`DynSink`], which every stage is by itself: that states go to the stages that made them
//! is looked at there, once, and an error if it is not so.

use crate::context::ExecContext;
use inlay_types::{Batch, Error, Result};
use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

/// State of one worker in one operator, source or sink, of the type that it has there.
pub struct LocalState(Box<dyn Any + Send>);

impl LocalState {
    fn new<T: Send + 'static>(state: T) -> Self {
        Self(Box::new(state))
    }

    /// The state of a stage of type `S`.
    fn of<S: ?Sized, T: 'static>(&mut self) -> Result<&mut T> {
        self.0.downcast_mut().ok_or_else(wrong_state::<S>)
    }

    fn into<S: ?Sized, T: 'static>(self) -> Result<T> {
        self.0.downcast().map(|state| *state).map_err(|_| wrong_state::<S>())
    }
}

fn wrong_state<S: ?Sized>() -> Error {
    Error::internal(format!("{} got the state of another stage", std::any::type_name::<S>()))
}

/// Whether the receiver wants more rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Go on.
    More,
    /// Enough: the whole pipeline may stop.
    Done,
}

/// Where batches go next.
pub type Push<'a> = &'a mut dyn FnMut(Batch) -> Result<Flow>;

/// What a source did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Morsel {
    /// The morsel of this number was pushed completely (or the receiver said [`Flow::Done`]).
    Pushed,
    /// There are no more morsels.
    Exhausted,
}

/// How a sink would have its morsels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Handout {
    /// Begun in the order of rows, because it may have enough before the end, or hands rows on meanwhile.
    #[default]
    InOrder,
    /// In any order: a worker may keep what lies together.
    Apart,
    /// In order, and few long ones, as far as they keep all workers busy: rows of a morsel are joined at some cost.
    Long,
}

/// Makes rows.
pub trait Source: Send + Sync {
    /// What a worker has here.
    type Local: Send + 'static;

    /// How the sink would have its morsels. Called before `start`.
    fn prefer(&self, _handout: Handout) {}

    /// Called once, when the pipelines before are final. Returns how many morsels there are at most, which bounds the
    /// number of workers; 1 keeps the query on the calling thread.
    fn start(&self, context: &ExecContext) -> Result<usize>;

    /// A worker's state.
    fn local(&self) -> Self::Local;

    /// Takes the next morsel and pushes its batches. `begin` is called with the morsel's number before the first push.
    fn run_morsel(
        &self,
        local: &mut Self::Local,
        begin: &mut dyn FnMut(usize),
        push: &mut dyn FnMut(Batch) -> Result<Flow>,
    ) -> Result<Morsel>;

    /// Functions of the host that it called, for EXPLAIN ANALYZE.
    fn calls(&self) -> Vec<CallMeasure> {
        Vec::new()
    }

    /// Rows of a stored table that it looked at, whether or not its filters let them pass.
    fn scanned(&self) -> Option<u64> {
        None
    }
}

/// Turns batches into batches. Output batches have 1 to [`inlay_types::VECTOR_SIZE`] rows.
pub trait Operator: Send + Sync {
    /// What a worker has here.
    type Local: Send + 'static;

    /// A worker's state.
    fn local(&self) -> Self::Local;

    /// Processes one batch, pushing any number of batches.
    fn process(&self, input: Batch, local: &mut Self::Local, push: Push<'_>) -> Result<Flow>;

    /// Pushes what is held back; called at the end of each morsel, so that order by morsel is kept.
    fn flush(&self, _local: &mut Self::Local, _push: Push<'_>) -> Result<Flow> {
        Ok(Flow::More)
    }

    /// Rows that only come when all workers have processed everything: of partitions that did not fit into memory. They
    /// take the same way as the others, in morsels of their own. Called once.
    fn rest(&self, _context: &ExecContext) -> Result<Option<Arc<dyn DynSource>>> {
        Ok(None)
    }

    /// Functions of the host that it called, for EXPLAIN ANALYZE.
    fn calls(&self) -> Vec<CallMeasure> {
        Vec::new()
    }
}

/// What calls of one function of the host came to.
#[derive(Clone, Debug)]
pub struct CallMeasure {
    /// The function.
    pub name: String,
    /// How often it was called.
    pub calls: u64,
    /// Rows that it was asked about.
    pub rows: u64,
    /// How long that took, summed over workers.
    pub time: Duration,
}

/// Takes all rows.
pub trait Sink: Send + Sync {
    /// What a worker has here.
    type Local: Send + 'static;

    /// A worker's state.
    fn local(&self) -> Self::Local;

    /// How sources should hand out morsels.
    fn handout(&self) -> Handout {
        Handout::InOrder
    }

    /// The batches that follow belong to this morsel.
    fn start_morsel(&self, _number: usize, _local: &mut Self::Local) {}

    /// Takes a batch.
    fn consume(&self, input: Batch, local: &mut Self::Local) -> Result<Flow>;

    /// All batches of this worker's current morsel were consumed.
    fn end_morsel(&self, _local: &mut Self::Local) -> Result<Flow> {
        Ok(Flow::More)
    }

    /// Merges a worker's state; called once per worker.
    fn combine(&self, local: Self::Local) -> Result<()>;

    /// Called once, when every worker has combined.
    fn finalize(&self, context: &ExecContext) -> Result<()>;
}

/// A [`Source`] whose state is of any type.
pub trait DynSource: Send + Sync {
    /// See [`Source::prefer`].
    fn prefer(&self, handout: Handout);
    /// See [`Source::start`].
    fn start(&self, context: &ExecContext) -> Result<usize>;
    /// See [`Source::local`].
    fn local(&self) -> LocalState;
    /// See [`Source::run_morsel`].
    fn run_morsel(
        &self,
        local: &mut LocalState,
        begin: &mut dyn FnMut(usize),
        push: &mut dyn FnMut(Batch) -> Result<Flow>,
    ) -> Result<Morsel>;
    /// See [`Source::calls`].
    fn calls(&self) -> Vec<CallMeasure>;
    /// See [`Source::scanned`].
    fn scanned(&self) -> Option<u64>;
}

impl<S: Source> DynSource for S {
    fn prefer(&self, handout: Handout) {
        Source::prefer(self, handout);
    }

    fn start(&self, context: &ExecContext) -> Result<usize> {
        Source::start(self, context)
    }

    fn local(&self) -> LocalState {
        LocalState::new(Source::local(self))
    }

    fn run_morsel(
        &self,
        local: &mut LocalState,
        begin: &mut dyn FnMut(usize),
        push: &mut dyn FnMut(Batch) -> Result<Flow>,
    ) -> Result<Morsel> {
        Source::run_morsel(self, local.of::<S, S::Local>()?, begin, push)
    }

    fn calls(&self) -> Vec<CallMeasure> {
        Source::calls(self)
    }

    fn scanned(&self) -> Option<u64> {
        Source::scanned(self)
    }
}

/// An [`Operator`] whose state is of any type.
pub trait DynOperator: Send + Sync {
    /// See [`Operator::local`].
    fn local(&self) -> LocalState;
    /// See [`Operator::process`].
    fn process(&self, input: Batch, local: &mut LocalState, push: Push<'_>) -> Result<Flow>;
    /// See [`Operator::flush`].
    fn flush(&self, local: &mut LocalState, push: Push<'_>) -> Result<Flow>;
    /// See [`Operator::rest`].
    fn rest(&self, context: &ExecContext) -> Result<Option<Arc<dyn DynSource>>>;
    /// See [`Operator::calls`].
    fn calls(&self) -> Vec<CallMeasure>;
}

impl<O: Operator> DynOperator for O {
    fn local(&self) -> LocalState {
        LocalState::new(Operator::local(self))
    }

    fn process(&self, input: Batch, local: &mut LocalState, push: Push<'_>) -> Result<Flow> {
        Operator::process(self, input, local.of::<O, O::Local>()?, push)
    }

    fn flush(&self, local: &mut LocalState, push: Push<'_>) -> Result<Flow> {
        Operator::flush(self, local.of::<O, O::Local>()?, push)
    }

    fn rest(&self, context: &ExecContext) -> Result<Option<Arc<dyn DynSource>>> {
        Operator::rest(self, context)
    }

    fn calls(&self) -> Vec<CallMeasure> {
        Operator::calls(self)
    }
}

/// A [`Sink`] whose state is of any type.
pub trait DynSink: Send + Sync {
    /// See [`Sink::local`].
    fn local(&self) -> LocalState;
    /// See [`Sink::handout`].
    fn handout(&self) -> Handout;
    /// See [`Sink::start_morsel`].
    fn start_morsel(&self, number: usize, local: &mut LocalState) -> Result<()>;
    /// See [`Sink::consume`].
    fn consume(&self, input: Batch, local: &mut LocalState) -> Result<Flow>;
    /// See [`Sink::end_morsel`].
    fn end_morsel(&self, local: &mut LocalState) -> Result<Flow>;
    /// See [`Sink::combine`].
    fn combine(&self, local: LocalState) -> Result<()>;
    /// See [`Sink::finalize`].
    fn finalize(&self, context: &ExecContext) -> Result<()>;
}

impl<S: Sink> DynSink for S {
    fn local(&self) -> LocalState {
        LocalState::new(Sink::local(self))
    }

    fn handout(&self) -> Handout {
        Sink::handout(self)
    }

    fn start_morsel(&self, number: usize, local: &mut LocalState) -> Result<()> {
        Sink::start_morsel(self, number, local.of::<S, S::Local>()?);
        Ok(())
    }

    fn consume(&self, input: Batch, local: &mut LocalState) -> Result<Flow> {
        Sink::consume(self, input, local.of::<S, S::Local>()?)
    }

    fn end_morsel(&self, local: &mut LocalState) -> Result<Flow> {
        Sink::end_morsel(self, local.of::<S, S::Local>()?)
    }

    fn combine(&self, local: LocalState) -> Result<()> {
        Sink::combine(self, local.into::<S, S::Local>()?)
    }

    fn finalize(&self, context: &ExecContext) -> Result<()> {
        Sink::finalize(self, context)
    }
}

/// A pipeline of a physical plan.
#[derive(Clone)]
pub struct Pipeline {
    /// For EXPLAIN and profiles: the logical operators' node numbers, source first; see `profile`.
    pub nodes: Vec<usize>,
    /// Where rows come from.
    pub source: Arc<dyn DynSource>,
    /// What happens to them, in order.
    pub operators: Vec<Arc<dyn DynOperator>>,
    /// Where they go.
    pub sink: Arc<dyn DynSink>,
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Counts;
    struct Names;

    impl Sink for Counts {
        type Local = usize;

        fn local(&self) -> usize {
            0
        }

        fn consume(&self, input: Batch, local: &mut usize) -> Result<Flow> {
            *local += input.len();
            Ok(Flow::More)
        }

        fn combine(&self, _local: usize) -> Result<()> {
            Ok(())
        }

        fn finalize(&self, _context: &ExecContext) -> Result<()> {
            Ok(())
        }
    }

    impl Sink for Names {
        type Local = String;

        fn local(&self) -> String {
            String::new()
        }

        fn consume(&self, _input: Batch, _local: &mut String) -> Result<Flow> {
            Ok(Flow::More)
        }

        fn combine(&self, _local: String) -> Result<()> {
            Ok(())
        }

        fn finalize(&self, _context: &ExecContext) -> Result<()> {
            Ok(())
        }
    }

    #[test]
    fn the_state_of_another_stage_is_an_error_that_names_the_stage() {
        let (counts, names): (&dyn DynSink, &dyn DynSink) = (&Counts, &Names);
        let rows = || Batch::new(Vec::new(), 3);
        assert_eq!(counts.consume(rows(), &mut counts.local()), Ok(Flow::More));
        let errors = [
            counts.start_morsel(0, &mut names.local()).unwrap_err(),
            counts.consume(rows(), &mut names.local()).unwrap_err(),
            counts.end_morsel(&mut names.local()).unwrap_err(),
            counts.combine(names.local()).unwrap_err(),
        ];
        for error in errors {
            assert!(matches!(&error, Error::Internal { message } if message.contains("Counts")), "{error}");
        }
    }
}
