//! UPDATE.

use super::checks::Checks;
use super::rows::{integers, joined};
use super::writer::RowWriter;
use crate::execute::{Run, output_types};
use crate::result::QueryResult;
use inlay_sql::plan::statement::Update;
use inlay_types::{Batch, Result};

impl Run<'_> {
    /// Carries out UPDATE.
    pub(crate) fn update(&self, update: Update) -> Result<QueryResult> {
        let mut writer = RowWriter::new(self, &update.database)?;
        let result = self.update_with(&mut writer, update)?;
        writer.finish()?;
        Ok(result)
    }

    /// UPDATE as a part of the writer's statement.
    pub(super) fn update_with(&self, writer: &mut RowWriter<'_>, update: Update) -> Result<QueryResult> {
        let (query, batches) = self.batches(update.query)?;
        let rows = joined(&batches, &output_types(&query));
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
