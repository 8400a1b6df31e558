//! Rows of a query into a table: all of them or none.
//!
//! Literal rows go to the table's open tail; everything else streams from the query's pipelines into row groups that
//! the workers encode, so that the rows never lie in memory twice. Morsel numbers keep the order of the rows.

use crate::change::checks::Checks;
use inlay_exec::ExecContext;
use inlay_exec::expression::ProgramState;
use inlay_exec::pipeline::{Flow, Handout, Sink};
use inlay_sql::plan::Plan;
use inlay_sql::plan::statement::Query;
use inlay_storage::{BulkAppender, BulkLoad, ROW_GROUP_SIZE, Table};
use inlay_types::{Batch, Result};
use std::sync::Arc;

/// Runs an optimised query and appends its rows, which must pass the checks. Returns their number.
pub(crate) fn append(table: &Arc<Table>, query: Query, checks: Checks, context: &ExecContext) -> Result<u64> {
    if is_literal(&query.plan) {
        let batches = inlay_exec::execute(&query, context)?;
        batches.iter().try_for_each(|batch| checks.check_all(batch))?;
        table.append(&batches)?;
        return Ok(batches.iter().map(|batch| batch.len() as u64).sum());
    }
    let load = BulkLoad::new(Arc::clone(table));
    let sink_load = load.clone();
    inlay_exec::execute_into(&query, context, |positions| {
        Arc::new(LoadSink { load: sink_load, positions, checks })
    })?;
    load.commit()
}

/// Adds rows in hand to a load, with numbers from `first` on; row groups are encoded in parallel.
pub(crate) fn push_rows(load: &BulkLoad, first: u64, rows: &Batch, context: &ExecContext) -> Result<()> {
    context.parallel(rows.len().div_ceil(ROW_GROUP_SIZE), |piece| {
        let start = piece * ROW_GROUP_SIZE;
        let mut appender = load.appender(first + piece as u64);
        appender.push(&rows.slice(start, ROW_GROUP_SIZE.min(rows.len() - start)))?;
        appender.finish()
    })
}

/// VALUES, perhaps with projections above.
pub(crate) fn is_literal(plan: &Plan) -> bool {
    match plan {
        Plan::Values { .. } => true,
        Plan::Source { source, filters, .. } => filters.is_empty() && source.is_literal(),
        Plan::Project { input, .. } => is_literal(input),
        _ => false,
    }
}

/// The end of the query's last pipeline: one appender per morsel.
struct LoadSink {
    load: BulkLoad,
    positions: Vec<usize>,
    checks: Checks,
}

struct Local {
    number: usize,
    checks: Vec<ProgramState>,
    appender: Option<BulkAppender>,
}

impl Sink for LoadSink {
    type Local = Local;

    fn local(&self) -> Local {
        Local { number: 0, checks: self.checks.states(), appender: None }
    }

    /// Rows of short morsels are copied once more, to be joined into row groups.
    fn handout(&self) -> Handout {
        Handout::Long
    }

    fn start_morsel(&self, number: usize, local: &mut Local) {
        local.number = number;
    }

    fn consume(&self, input: Batch, local: &mut Local) -> Result<Flow> {
        let columns = self.positions.iter().map(|&position| input.column(position).clone()).collect();
        let batch = Batch::new(columns, input.len());
        self.checks.check(&mut local.checks, &batch)?;
        local.appender.get_or_insert_with(|| self.load.appender(local.number as u64)).push(&batch)?;
        Ok(Flow::More)
    }

    fn end_morsel(&self, local: &mut Local) -> Result<Flow> {
        if let Some(appender) = local.appender.take() {
            appender.finish()?;
        }
        Ok(Flow::More)
    }

    fn combine(&self, mut local: Local) -> Result<()> {
        match local.appender.take() {
            Some(appender) => appender.finish(),
            None => Ok(()),
        }
    }

    fn finalize(&self, _context: &ExecContext) -> Result<()> {
        Ok(())
    }
}
