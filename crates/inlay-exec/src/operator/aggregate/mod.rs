//! Hash aggregation: GROUP BY, DISTINCT, and aggregates over everything.
//!
//! [`HashAggregate::new`] makes the shared state; [`HashAggregate::sink`] ends the pipeline below and
//! [`HashAggregate::source`] begins the one above. The source outputs the groups, then the aggregates.

use crate::context::ExecContext;
use crate::expression::Layout;
use crate::pipeline::{Flow, LocalState, Morsel, Sink, Source};
use inlay_sql::plan::{AggregateExpr, Expr};
use inlay_types::{Batch, Error, Result};
use std::sync::Arc;

/// What the planner knows of an aggregation.
#[derive(Clone)]
pub struct AggregateOptions {
    /// Which column is at which position of the input's batches.
    pub layout: Layout,
    /// Grouping expressions; none for exactly one output row.
    pub groups: Vec<Expr>,
    /// Aggregates; none for DISTINCT.
    pub aggregates: Vec<AggregateExpr>,
    /// Per group: least and largest value in memory (`Value::as_stored_i128`) of keys carried as integers, where statistics
    /// know them. A hint only: values outside are grouped correctly. May be shorter than `groups`.
    pub key_ranges: Vec<Option<(i128, i128)>>,
    /// Expected input rows.
    pub estimated_rows: Option<u64>,
    /// Expected groups.
    pub estimated_groups: Option<u64>,
    /// Workers, limits and interrupt of the query.
    pub context: ExecContext,
}

/// The shared state of one aggregation.
pub struct HashAggregate {
    _options: AggregateOptions,
}

impl HashAggregate {
    /// Compiles the expressions.
    pub fn new(options: AggregateOptions) -> Result<Arc<Self>> {
        Ok(Arc::new(Self { _options: options }))
    }

    /// The end of the pipeline below.
    pub fn sink(self: &Arc<Self>) -> Arc<dyn Sink> {
        Arc::clone(self) as Arc<dyn Sink>
    }

    /// The beginning of the pipeline above: groups, then aggregates. It can be run once.
    pub fn source(self: &Arc<Self>) -> Arc<dyn Source> {
        Arc::clone(self) as Arc<dyn Source>
    }
}

impl Sink for HashAggregate {
    fn local(&self) -> LocalState {
        Box::new(())
    }

    fn consume(&self, _input: Batch, _local: &mut LocalState) -> Result<Flow> {
        Err(Error::internal("aggregation is being written"))
    }

    fn combine(&self, _local: LocalState) -> Result<()> {
        Ok(())
    }

    fn finalize(&self, _context: &ExecContext) -> Result<()> {
        Ok(())
    }
}

impl Source for HashAggregate {
    fn start(&self, _context: &ExecContext) -> Result<usize> {
        Ok(0)
    }

    fn local(&self) -> LocalState {
        Box::new(())
    }

    fn run_morsel(
        &self,
        _local: &mut LocalState,
        _begin: &mut dyn FnMut(usize),
        _push: &mut dyn FnMut(Batch) -> Result<Flow>,
    ) -> Result<Morsel> {
        Ok(Morsel::Exhausted)
    }
}
