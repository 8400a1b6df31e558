//! DELETE.

use super::rows::joined;
use super::writer::RowWriter;
use crate::execute::{Run, output_types, row_ids};
use crate::result::QueryResult;
use inlay_sql::plan::statement::Delete;
use inlay_types::{Batch, Result};

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
        let (query, batches) = self.batches(delete.query)?;
        let (table, ids) = (delete.table.table.id(), row_ids(&batches));
        let Some(returning) = delete.returning else {
            // There may be many ids.
            drop(batches);
            return Ok(QueryResult::changed(writer.delete(table, &ids)?));
        };
        writer.delete(table, &ids)?;
        let rows = joined(&batches, &output_types(&query));
        let kept = Batch::new(rows.columns()[1..].to_vec(), rows.len());
        self.returned(returning, delete.kept, &kept)
    }
}
