//! Pipelines: a source, streaming operators, and a sink that breaks the flow.
//!
//! The driver (one loop per worker) asks the source for a morsel, pushes each of its batches through the operators
//! into the sink, and at the end combines the worker's state into the sink. When all workers are done, `finalize`
//! runs once, on one thread; it may run parallel work through [`ExecContext::parallel`]. A pipeline starts only
//! after those that it depends on are final, so operators may read what other sinks have built.
//!
//! Batches within a morsel arrive in order, on one worker. Morsels are numbered from 0 in the order of the rows, so a
//! sink that must keep the input's order sorts by morsel number ([`Sink::start_morsel`]).

use crate::context::ExecContext;
use inlay_types::{Batch, Result};
use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

/// State of one worker in one operator, source or sink.
pub type LocalState = Box<dyn Any + Send>;

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
    /// How the sink would have its morsels. Called before `start`.
    fn prefer(&self, _handout: Handout) {}

    /// Called once, when the pipelines before are final. Returns how many morsels there are at most, which bounds the
    /// number of workers; 1 keeps the query on the calling thread.
    fn start(&self, context: &ExecContext) -> Result<usize>;

    /// A worker's state.
    fn local(&self) -> LocalState;

    /// Takes the next morsel and pushes its batches. `begin` is called with the morsel's number before the first push.
    fn run_morsel(
        &self,
        local: &mut LocalState,
        begin: &mut dyn FnMut(usize),
        push: &mut dyn FnMut(Batch) -> Result<Flow>,
    ) -> Result<Morsel>;

    /// Functions of the host that it called, for EXPLAIN ANALYZE.
    fn calls(&self) -> Vec<CallMeasure> {
        Vec::new()
    }
}

/// Turns batches into batches. Output batches have 1 to [`inlay_types::VECTOR_SIZE`] rows.
pub trait Operator: Send + Sync {
    /// A worker's state.
    fn local(&self) -> LocalState;

    /// Processes one batch, pushing any number of batches.
    fn process(&self, input: Batch, local: &mut LocalState, push: Push<'_>) -> Result<Flow>;

    /// Pushes what is held back; called at the end of each morsel, so that order by morsel is kept.
    fn flush(&self, _local: &mut LocalState, _push: Push<'_>) -> Result<Flow> {
        Ok(Flow::More)
    }

    /// Rows that only come when all workers have processed everything: of partitions that did not fit into memory. They
    /// take the same way as the others, in morsels of their own. Called once.
    fn rest(&self, _context: &ExecContext) -> Result<Option<Arc<dyn Source>>> {
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
    /// A worker's state.
    fn local(&self) -> LocalState;

    /// How sources should hand out morsels.
    fn handout(&self) -> Handout {
        Handout::InOrder
    }

    /// The batches that follow belong to this morsel.
    fn start_morsel(&self, _number: usize, _local: &mut LocalState) {}

    /// Takes a batch.
    fn consume(&self, input: Batch, local: &mut LocalState) -> Result<Flow>;

    /// All batches of this worker's current morsel were consumed.
    fn end_morsel(&self, _local: &mut LocalState) -> Result<Flow> {
        Ok(Flow::More)
    }

    /// Merges a worker's state; called once per worker.
    fn combine(&self, local: LocalState) -> Result<()>;

    /// Called once, when every worker has combined.
    fn finalize(&self, context: &ExecContext) -> Result<()>;
}

/// A pipeline of a physical plan.
#[derive(Clone)]
pub struct Pipeline {
    /// For EXPLAIN and profiles: the logical operators' node numbers, source first; see `profile`.
    pub nodes: Vec<usize>,
    /// Where rows come from.
    pub source: Arc<dyn Source>,
    /// What happens to them, in order.
    pub operators: Vec<Arc<dyn Operator>>,
    /// Where they go.
    pub sink: Arc<dyn Sink>,
}
