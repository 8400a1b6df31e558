//! UPDATE.

use super::checks::Checks;
use super::rows::{integers, joined};
use super::writer::RowWriter;
use crate::execute::{Run, output_types};
use crate::result::QueryResult;
use inlay_exec::ExecContext;
use inlay_exec::expression::ProgramState;
use inlay_exec::pipeline::{Flow, Handout, Sink};
use inlay_sql::plan::statement::Update;
use inlay_storage::BulkUpdate;
use inlay_types::{Batch, Result, Vector};
use std::sync::Arc;

impl Run<'_> {
    /// Carries out UPDATE.
    pub(crate) fn update(&self, update: Update) -> Result<QueryResult> {
        let mut writer = RowWriter::new(self, &update.database)?;
        let table = &update.table.table;
        // What no key has nothing refers to.
        let result = if update.returning.is_none() && BulkUpdate::is_possible(table, &update.set) {
            self.update_in_bulk(&mut writer, update)?
        } else {
            self.update_with(&mut writer, update)?
        };
        writer.finish()?;
        Ok(result)
    }

    /// UPDATE whose rows are changed while they are found.
    fn update_in_bulk(&self, writer: &mut RowWriter<'_>, update: Update) -> Result<QueryResult> {
        let query = self.optimized(update.query)?;
        let table = writer.transaction.table_to_write(update.table.table.id())?;
        let numbers: Vec<usize> = update.set.iter().chain(&update.kept).copied().collect();
        let checks = Checks::new(&update.checks, table.schema(), &numbers)?;
        let bulk = Arc::new(BulkUpdate::new(table, update.set.clone()));
        let (sink_bulk, set_count) = (Arc::clone(&bulk), update.set.len());
        inlay_exec::execute_into(&query, &self.context(), |positions| {
            Arc::new(UpdateSink { bulk: sink_bulk, positions, set_count, checks })
        })?;
        Ok(QueryResult::changed(writer.update_in_bulk(&bulk, &update.set)?))
    }

    /// UPDATE as a part of the writer's statement.
    pub(super) fn update_with(&self, writer: &mut RowWriter<'_>, update: Update) -> Result<QueryResult> {
        let (query, batches) = self.batches(update.query)?;
        let rows = joined(&batches, &output_types(&query))?;
        let len = rows.len();
        let mut columns = rows.into_columns();
        let ids = integers(&columns.remove(0));
        let numbers: Vec<usize> = update.set.iter().chain(&update.kept).copied().collect();
        let rows = Batch::new(columns, len);
        Checks::new(&update.checks, update.table.table.schema(), &numbers)?.check_all(&rows)?;
        let values = Batch::new(rows.columns()[..update.set.len()].to_vec(), len);
        let count = writer.update(update.table.table.id(), &ids, &update.set, &values)?;
        match update.returning {
            Some(returning) => self.returned(returning, numbers, &rows),
            None => Ok(QueryResult::changed(count)),
        }
    }
}

/// The end of the query's last pipeline: row ids, and the new values that they get.
struct UpdateSink {
    bulk: Arc<BulkUpdate>,
    positions: Vec<usize>,
    /// So many columns behind the row id are new values.
    set_count: usize,
    checks: Checks,
}

impl Sink for UpdateSink {
    type Local = Vec<ProgramState>;

    fn local(&self) -> Vec<ProgramState> {
        self.checks.states()
    }

    /// The rows of a row group that come together are encoded together.
    fn handout(&self) -> Handout {
        Handout::Long
    }

    fn consume(&self, input: Batch, local: &mut Vec<ProgramState>) -> Result<Flow> {
        let columns: Vec<Vector> =
            self.positions[1..].iter().map(|&position| input.column(position).clone()).collect();
        let rows = Batch::new(columns, input.len());
        self.checks.check(local, &rows)?;
        let ids = input.column(self.positions[0]).flatten();
        self.bulk.push(ids.values::<i64>(), &rows.columns()[..self.set_count])?;
        Ok(Flow::More)
    }

    fn combine(&self, _local: Vec<ProgramState>) -> Result<()> {
        Ok(())
    }

    fn finalize(&self, context: &ExecContext) -> Result<()> {
        let due = self.bulk.due();
        context.parallel(due.len(), |index| self.bulk.finish(due[index]))
    }
}
