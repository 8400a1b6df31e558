//! CREATE INDEX and DROP INDEX.
//!
//! Tables in memory answer without indexes, so a plain index is only recorded. A unique one is a constraint, and a
//! table's constraints never change: the table is made anew with the key, which finds duplicates among its rows, and
//! again without it when the index is dropped. The caller holds the writer's turn or works on a fork.

use crate::execute::Run;
use crate::load;
use crate::result::QueryResult;
use inlay_catalog::{IndexEntry, Table, TableSchema};
use inlay_sql::plan::Statement;
use inlay_sql::{optimizer, parser};
use inlay_types::{Error, Result};
use std::sync::Arc;

impl Run<'_> {
    /// Carries out CREATE INDEX.
    pub(crate) fn create_index(&self, index: IndexEntry, if_not_exists: bool) -> Result<QueryResult> {
        let catalog = self.catalog();
        if index.unique && catalog.index(&index.name).is_none() {
            let mut schema = catalog.table(&index.table)?.table.schema().clone();
            schema.keys.push(index.columns.clone());
            self.rekey(schema)?;
        }
        catalog.create_index(index, if_not_exists)?;
        Ok(QueryResult::done())
    }

    /// Carries out DROP INDEX.
    pub(crate) fn drop_index(&self, name: &str, if_exists: bool) -> Result<QueryResult> {
        let catalog = self.catalog();
        if let Some(index) = catalog.index(name).filter(|index| index.unique) {
            let mut schema = catalog.table(&index.table)?.table.schema().clone();
            if let Some(position) = schema.keys.iter().rposition(|key| *key == index.columns) {
                schema.keys.remove(position);
                self.rekey(schema)?;
            }
        }
        catalog.drop_index(name, if_exists)?;
        Ok(QueryResult::done())
    }

    /// Makes the table of this name anew under another schema of the same columns.
    fn rekey(&self, schema: TableSchema) -> Result<()> {
        let catalog = self.catalog();
        let quoted = schema.name.replace('"', "\"\"");
        let select = parser::parse_statement(&format!("SELECT * FROM \"{quoted}\""))?;
        let Statement::Query(query) = self.bind_in(catalog, &select)? else {
            return Err(Error::internal("reading a table is no query"));
        };
        let table = Arc::new(Table::new(schema, catalog.budget().clone()));
        load::append(&table, optimizer::optimize(query)?, &self.context())?;
        catalog.replace_table(table)
    }
}
