//! INSERT without ON CONFLICT and RETURNING streams into the table; see [`super::conflict`] for the others.

use super::checks::Checks;
use super::writer::RowWriter;
use crate::change::load;
use crate::execute::Run;
use crate::result::QueryResult;
use inlay_sql::plan::statement::{Insert, OnConflict};
use inlay_types::Result;

impl Run<'_> {
    /// Carries out INSERT.
    pub(crate) fn insert(&self, insert: Insert) -> Result<QueryResult> {
        let mut writer = RowWriter::new(self, &insert.database)?;
        let result = self.insert_with(&mut writer, insert)?;
        writer.finish()?;
        Ok(result)
    }

    /// INSERT as a part of the writer's statement.
    pub(super) fn insert_with(&self, writer: &mut RowWriter<'_>, insert: Insert) -> Result<QueryResult> {
        if insert.on_conflict != OnConflict::Fail || insert.returning.is_some() {
            return self.insert_rows(writer, insert);
        }
        let query = self.optimized(insert.query)?;
        let table = writer.transaction.table_to_write(insert.table.table.id())?;
        let checks = Checks::of_rows(&insert.checks, table.schema())?;
        writer.will_write(&table);
        let first = table.next_row_id();
        let count = load::append(&table, query, checks, &self.context())?;
        writer.appended(&table, first)?;
        Ok(QueryResult::changed(count))
    }
}
