//! DELETE.

use super::rows::{integers, joined};
use super::writer::RowWriter;
use crate::execute::{Run, output_types};
use crate::result::QueryResult;
use inlay_exec::ExecContext;
use inlay_exec::pipeline::{Flow, Sink};
use inlay_sql::plan::statement::{Delete, Query};
use inlay_storage::{RowSet, RowSetBuilder};
use inlay_types::{Batch, Result};
use parking_lot::Mutex;
use std::sync::Arc;

impl Run<'_> {
    /// Carries out DELETE.
    pub(crate) fn delete(&self, delete: Delete) -> Result<QueryResult> {
        let mut writer = RowWriter::new(self, &delete.database)?;
        let result = self.delete_with(&mut writer, delete)?;
        writer.finish()?;
        Ok(result)
    }

    /// DELETE as a part of the writer's statement.
    pub(super) fn delete_with(&self, writer: &mut RowWriter<'_>, delete: Delete) -> Result<QueryResult> {
        let table = delete.table.table.id();
        let Some(returning) = delete.returning else {
            let rows = self.row_set(delete.query)?;
            return Ok(QueryResult::changed(writer.delete(table, &rows)?));
        };
        let (query, batches) = self.batches(delete.query)?;
        let rows = joined(&batches, &output_types(&query))?;
        drop(batches);
        writer.delete(table, &RowSet::from(&integers(rows.column(0))[..]))?;
        let kept = Batch::new(rows.columns()[1..].to_vec(), rows.len());
        self.returned(returning, delete.kept, &kept)
    }

    /// The row ids that a query gives in its first column. There may be many.
    fn row_set(&self, query: Query) -> Result<RowSet> {
        let query = self.optimized(query)?;
        let rows: Arc<Mutex<RowSetBuilder>> = Arc::default();
        let all = Arc::clone(&rows);
        inlay_exec::execute_into(&query, &self.context(), |positions| {
            Arc::new(IdSink { position: positions[0], all })
        })?;
        Ok(std::mem::take(&mut *rows.lock()).finish())
    }
}

/// Collects row ids.
struct IdSink {
    position: usize,
    all: Arc<Mutex<RowSetBuilder>>,
}

impl Sink for IdSink {
    type Local = RowSetBuilder;

    fn local(&self) -> RowSetBuilder {
        RowSetBuilder::default()
    }

    fn consume(&self, input: Batch, local: &mut RowSetBuilder) -> Result<Flow> {
        local.add(input.column(self.position).flatten().values::<i64>());
        Ok(Flow::More)
    }

    fn combine(&self, mut local: RowSetBuilder) -> Result<()> {
        let part = std::mem::take(&mut local);
        let mut all = self.all.lock();
        if all.memory_size() == 0 {
            *all = part;
        } else {
            all.add_set(&part.finish());
        }
        Ok(())
    }

    fn finalize(&self, _context: &ExecContext) -> Result<()> {
        Ok(())
    }
}
