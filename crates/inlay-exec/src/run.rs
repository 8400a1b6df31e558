//! Running a query: lower, drive the pipelines, hand over the batches.

use crate::context::ExecContext;
use crate::driver::{self, Observers};
use crate::operator::materialize::RowBuffer;
use crate::pipeline::{CallMeasure, DynSink, Pipeline};
use crate::planner::{PhysicalPlan, Planner, RESULT_NODE};
use crate::profile::PipelineProfile;
use inlay_sql::plan::statement::Query;
use inlay_sql::plan::{ColumnId, Columns};
use inlay_types::{Batch, Error, Result};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What was measured of one plan node; time is summed over workers.
#[derive(Clone, Debug, Default)]
pub struct NodeMeasure {
    /// Rows handed on.
    pub rows: u64,
    /// Time spent in the node itself.
    pub time: Duration,
    /// Rows of a stored table that it looked at, if it scans one.
    pub scanned: Option<u64>,
    /// Functions of the host that it called.
    pub calls: Vec<CallMeasure>,
}

/// What EXPLAIN ANALYZE found out.
#[derive(Clone, Debug, Default)]
pub struct Analysis {
    /// By number of the plan node (preorder, the root is 0).
    pub nodes: BTreeMap<usize, NodeMeasure>,
    /// Wall-clock time of the whole query without parsing and optimising.
    pub total: Duration,
    /// Rows of the result.
    pub rows: u64,
}

impl Analysis {
    /// Adds what was measured of a pipeline that is through.
    pub(crate) fn add(&mut self, pipeline: &Pipeline, profile: &PipelineProfile) {
        let stages = profile.stages();
        let sink = stages.len() - 1;
        for (index, (stage, &node)) in stages.iter().zip(&pipeline.nodes).enumerate() {
            if node == RESULT_NODE {
                continue;
            }
            let measure = self.nodes.entry(node).or_default();
            measure.calls.extend(match index.checked_sub(1) {
                None => pipeline.source.calls(),
                Some(index) => pipeline.operators.get(index).map_or_else(Vec::new, |own| own.calls()),
            });
            if index == 0
                && let Some(scanned) = pipeline.source.scanned()
            {
                measure.scanned = Some(measure.scanned.unwrap_or(0) + scanned);
            }
            measure.time += Duration::from_nanos(stage.nanos);
            if index != sink {
                measure.rows = stage.rows;
            }
        }
    }
}

/// Runs an optimised query. Batches come in order and have the columns of `query.output`.
pub fn execute(query: &Query, context: &ExecContext) -> Result<Vec<Batch>> {
    let PhysicalPlan { pipelines, result, positions } = lower(query, context)?;
    // Each pipeline is dropped as soon as it is through, and with the last that uses it an operator's memory.
    drive(pipelines, query, context)?;
    deliver(result, &positions)
}

/// Runs an optimised query into a sink of the caller's. `make_sink` is told the position, in the sink's batches, of each
/// column of `query.output`.
pub fn execute_into(
    query: &Query,
    context: &ExecContext,
    make_sink: impl FnOnce(Vec<usize>) -> Arc<dyn DynSink>,
) -> Result<()> {
    let output: Vec<ColumnId> = query.output.iter().map(|(id, _)| *id).collect();
    let estimate = |node| query.estimates.rows(node);
    let planner = Planner::new(context, &query.columns, &estimate);
    drive(planner.plan_into(&query.plan, &output, make_sink)?, query, context)
}

/// Runs pipelines one after the other, and says how far they are.
fn drive(pipelines: Vec<Pipeline>, query: &Query, context: &ExecContext) -> Result<()> {
    announce(&pipelines, query, context);
    pipelines.into_iter().try_for_each(|pipeline| drive_one(&pipeline, query, context))
}

/// Says how much the pipelines are going to read.
pub(crate) fn announce(pipelines: &[Pipeline], query: &Query, context: &ExecContext) {
    let rows = pipelines.iter().map(|pipeline| expected_rows(pipeline, query));
    context.progress.start(rows.fold(0, u64::saturating_add));
}

/// Rows that a pipeline is expected to read.
pub(crate) fn expected_rows(pipeline: &Pipeline, query: &Query) -> u64 {
    let estimate = pipeline.nodes.first().and_then(|node| query.estimates.rows(*node));
    estimate.map_or(1, |rows| (rows as u64).max(1))
}

/// Runs one pipeline to its end.
pub(crate) fn drive_one(pipeline: &Pipeline, query: &Query, context: &ExecContext) -> Result<()> {
    context.progress.begin_pipeline(expected_rows(pipeline, query));
    let profile = context.measured.as_ref().map(|_| PipelineProfile::new(pipeline));
    let observers = Observers { profile: profile.as_ref(), counter: Some(&*context.progress) };
    driver::run_observed(pipeline, context, observers).map_err(|error| named(error, &query.columns))?;
    if let (Some(measured), Some(profile)) = (&context.measured, profile) {
        measured.lock().add(pipeline, &profile);
    }
    Ok(())
}

/// Runs an optimised query and measures its operators. The batches are those of [`execute`].
pub fn analyze(query: &Query, context: &ExecContext) -> Result<(Vec<Batch>, Analysis)> {
    let started = Instant::now();
    let PhysicalPlan { pipelines, result, positions } = lower(query, context)?;
    let mut analysis = Analysis::default();
    for pipeline in pipelines {
        let profile = PipelineProfile::new(&pipeline);
        driver::run(&pipeline, context, Some(&profile)).map_err(|error| named(error, &query.columns))?;
        analysis.add(&pipeline, &profile);
    }
    let batches = deliver(result, &positions)?;
    analysis.rows = batches.iter().map(|batch| batch.len() as u64).sum();
    analysis.total = started.elapsed();
    Ok((batches, analysis))
}

/// The error with the names of the columns of the row that it tells of.
pub(crate) fn named(error: Error, columns: &Columns) -> Error {
    let is_known = |id: u32| (id as usize) < columns.len();
    error.with_row_names(|id| is_known(id).then(|| columns.get(ColumnId(id)).name.clone()))
}

fn lower(query: &Query, context: &ExecContext) -> Result<PhysicalPlan> {
    let output: Vec<ColumnId> = query.output.iter().map(|(id, _)| *id).collect();
    Planner::new(context, &query.columns, &|node| query.estimates.rows(node)).plan(&query.plan, &output)
}

fn deliver(result: Arc<RowBuffer>, positions: &[usize]) -> Result<Vec<Batch>> {
    let given = |batch: Batch| {
        batch.let_go();
        picked(batch, positions)
    };
    Ok(result.into_batches()?.into_iter().map(given).collect())
}

/// The columns at `positions`, in this order.
pub(crate) fn picked(batch: Batch, positions: &[usize]) -> Batch {
    if positions.len() == batch.columns().len() && positions.iter().enumerate().all(|(i, p)| i == *p) {
        return batch;
    }
    let len = batch.len();
    Batch::new(positions.iter().map(|&p| batch.column(p).clone()).collect(), len)
}

#[cfg(test)]
mod tests;
