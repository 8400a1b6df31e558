//! CREATE TABLE.

use super::object::set_comment;
use crate::change::checks::Checks;
use crate::change::load;
use crate::change::writer::RowWriter;
use crate::execute::Run;
use crate::result::QueryResult;
use inlay_sql::plan::statement::{CreateTable, NewIndex};
use inlay_storage::store::{IndexDefinition, Object};
use inlay_types::Result;
use std::sync::Arc;

impl Run<'_> {
    /// Carries out CREATE TABLE.
    pub(crate) fn create_table(&mut self, create: CreateTable) -> Result<QueryResult> {
        let transaction = self.home_of(&create.database, create.temporary)?;
        let name = create.schema.name.clone();
        if !self.may_create(&transaction, "table", &name, create.or_replace, create.if_not_exists)? {
            return Ok(QueryResult::done());
        }
        let table = Arc::new(transaction.new_table(create.schema));
        let count = match create.query {
            Some(query) => {
                let checks = Checks::default();
                Some(load::append(&table, self.optimized(query)?, checks, &self.context())?)
            }
            None => None,
        };
        self.replace(&transaction, &name)?;
        transaction.enter_created(&table);
        self.transactions.note_on_commit(table.id(), create.on_commit);
        self.bind_targets(&transaction, &name, table.schema().foreign_keys.iter())?;
        for index in create.indexes {
            let id = transaction.take_id();
            let NewIndex { name, columns, unique, kind, comment } = index;
            let index = IndexDefinition { id, name, table: table.id(), columns, unique, kind };
            transaction.put(Object::Index(Arc::new(index)))?;
            if comment.is_some() {
                set_comment(&transaction, Some(id), None, comment)?;
            }
        }
        if create.comment.is_some() {
            set_comment(&transaction, Some(table.id()), None, create.comment)?;
        }
        for (column, text) in create.comments {
            set_comment(&transaction, Some(table.id()), Some(&column), Some(text))?;
        }
        for sequence in create.sequences {
            self.put_sequence(&transaction, sequence)?;
        }
        if count.is_some() && !table.schema().foreign_keys.is_empty() {
            let mut writer = RowWriter::new(self, &create.database)?;
            writer.appended(&table, 0)?;
            writer.finish()?;
        }
        Ok(count.map_or_else(QueryResult::done, QueryResult::changed))
    }
}
