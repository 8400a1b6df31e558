//! CREATE INDEX, and what goes with an index. A unique one is a key of its table; expressions that indexes are on are
//! hidden columns of it.

use super::alter::move_indexes;
use crate::execute::Run;
use crate::result::QueryResult;
use crate::text::same_name;
use inlay_catalog::TableSchema;
use inlay_sql::plan::statement::{ColumnSource as Source, CreateIndex};
use inlay_storage::Deferral;
use inlay_storage::store::{IndexDefinition, IndexKind, Object, ObjectId, Transaction};
use inlay_storage::table::{Alteration, ColumnSource};
use inlay_types::{Error, Result};
use std::sync::Arc;

impl Run<'_> {
    /// Carries out CREATE INDEX.
    pub(crate) fn create_index(&mut self, create: CreateIndex) -> Result<QueryResult> {
        let CreateIndex { database, name, table, columns, added, unique, kind, if_not_exists } = create;
        let transaction = self.to_change(&database)?;
        if transaction.state().index(&name).is_some() {
            if if_not_exists {
                return Ok(QueryResult::done());
            }
            return Err(Error::Duplicate { kind: "index", name });
        }
        let id = table.table.id();
        if unique || !added.is_empty() {
            let old = transaction.state().table(id)?;
            let mut schema = old.schema().clone();
            let mut sources: Vec<ColumnSource> = (0..schema.columns.len()).map(ColumnSource::Kept).collect();
            for (column, value) in added {
                sources.push(self.column_source(&old, &Source::Computed(value), column.ty.clone())?);
                schema.columns.push(column);
            }
            if unique {
                schema.keys.push(columns.clone());
            }
            let made = transaction.alter_table(id, Alteration { schema, columns: sources });
            let because = |message: &str| format!("UNIQUE INDEX \"{name}\" cannot be made: {message}");
            made.map_err(|error| {
                let Error::Unique { message } = error.root() else { return error };
                Error::Unique { message: because(message) }.with_values(because(&error.message()))
            })?;
        }
        let index = IndexDefinition { id: transaction.take_id(), name, table: id, columns, unique, kind };
        let index = Arc::new(index);
        transaction.put(Object::Index(Arc::clone(&index)))?;
        let table = transaction.state().table(id)?;
        match kind {
            IndexKind::Art => table.build_indexes()?,
            IndexKind::Bitmap => table.build_value_sets(&index.columns)?,
        }
        Ok(QueryResult::done())
    }
}

/// Drops an index, and of its table the key and the columns that nothing else needs.
pub(super) fn drop_index(transaction: &Transaction, index: &IndexDefinition) -> Result<()> {
    if !matches!(transaction.state().object(index.table), Some(Object::Table(_))) {
        // A file written by an earlier version may have an index whose table was dropped beside it.
        return transaction.drop_object(index.id);
    }
    if index.unique {
        drop_key(transaction, index)?;
    }
    transaction.drop_object(index.id)?;
    drop_unused_columns(transaction, index.table)
}

/// Drops the hidden columns of a table that no index is on.
pub(super) fn drop_unused_columns(transaction: &Transaction, table: ObjectId) -> Result<()> {
    let old = transaction.state().table(table)?;
    let mut schema = old.schema().clone();
    let indexes = transaction.indexes_of(table);
    let is_unused = |position: &usize| {
        schema.columns[*position].is_hidden() && !indexes.iter().any(|index| index.columns.contains(position))
    };
    let unused: Vec<usize> = (0..schema.columns.len()).filter(is_unused).collect();
    if unused.is_empty() {
        return Ok(());
    }
    let mut kept: Vec<usize> = (0..schema.columns.len()).collect();
    for position in unused.into_iter().rev() {
        schema.remove_column(position);
        kept.remove(position);
    }
    let columns = kept.iter().copied().map(ColumnSource::Kept).collect();
    transaction.alter_table(table, Alteration { schema, columns })?;
    move_indexes(transaction, table, &kept.into_iter().map(Some).collect::<Vec<_>>())
}

/// Takes the key of a unique index from its table.
fn drop_key(transaction: &Transaction, index: &IndexDefinition) -> Result<()> {
    let state = transaction.state();
    let table = state.table(index.table)?;
    let mut schema = table.schema().clone();
    let Some(position) = schema.keys.iter().rposition(|key| *key == index.columns) else { return Ok(()) };
    schema.keys.remove(position);
    // Earlier versions had one key for an index and a constraint of the same columns.
    if index.columns == schema.primary_key && !schema.all_keys().contains(&index.columns) {
        schema.keys.push(index.columns.clone());
    }
    for object in state.objects() {
        let Object::Table(slot) = object else { continue };
        let child = slot.table()?;
        for key in &child.schema().foreign_keys {
            if same_name(&key.table, &schema.name) && !has_key(&schema, &key.referenced) {
                return Err(Error::bind(format!(
                    "index \"{}\" is needed by foreign key \"{}\" of table \"{}\"",
                    index.name,
                    key.name,
                    child.schema().name
                ))
                .with_hint("drop that first"));
            }
        }
    }
    transaction.alter_table(index.table, Alteration::of_schema(schema)).map(|_| ())
}

/// Whether columns, in any order, are a key that a foreign key may refer to.
fn has_key(schema: &TableSchema, names: &[String]) -> bool {
    schema.all_keys().iter().any(|key| {
        let is_named =
            |&column: &usize| names.iter().any(|name| same_name(name, &schema.columns[column].name));
        key.len() == names.len()
            && schema.is_visible_key(key)
            && schema.deferral(key) == Deferral::Never
            && key.iter().all(is_named)
    })
}
