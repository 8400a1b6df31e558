//! CREATE INDEX. A unique one is a key of the table.

use crate::execute::Run;
use crate::result::QueryResult;
use inlay_catalog::TableEntry;
use inlay_storage::store::{IndexDefinition, Object};
use inlay_storage::table::Alteration;
use inlay_types::{Error, Result};
use std::sync::Arc;

impl Run<'_> {
    /// Carries out CREATE INDEX.
    pub(crate) fn create_index(
        &mut self,
        database: &str,
        name: String,
        table: &TableEntry,
        columns: Vec<usize>,
        unique: bool,
        if_not_exists: bool,
    ) -> Result<QueryResult> {
        let transaction = self.to_change(database)?;
        if transaction.state().index(&name).is_some() {
            if if_not_exists {
                return Ok(QueryResult::done());
            }
            return Err(Error::Duplicate { kind: "index", name });
        }
        let id = table.table.id();
        if unique {
            let mut schema = table.table.schema().clone();
            schema.keys.push(columns.clone());
            let made = transaction.alter_table(id, Alteration::of_schema(schema));
            made.map_err(|error| match error {
                Error::Unique { message } => {
                    Error::Unique { message: format!("UNIQUE INDEX \"{name}\" cannot be made: {message}") }
                }
                other => other,
            })?;
        }
        let index = IndexDefinition { id: transaction.take_id(), name, table: id, columns, unique };
        transaction.put(Object::Index(Arc::new(index)))?;
        Ok(QueryResult::done())
    }
}
