//! DROP. What else goes or changes was bound with it.

use crate::database::same_name;
use crate::execute::Run;
use crate::result::QueryResult;
use inlay_sql::plan::statement::{Drop, DroppedObject, ObjectKind};
use inlay_storage::TableSchema;
use inlay_storage::store::{IndexDefinition, Object, Transaction};
use inlay_storage::table::Alteration;
use inlay_types::{Error, Result};

impl Run<'_> {
    /// Carries out DROP.
    pub(crate) fn drop_objects(&mut self, dropped: Drop) -> Result<QueryResult> {
        for altered in dropped.altered {
            let transaction = self.to_change(&altered.database)?;
            transaction.alter_table(altered.table.table.id(), Alteration::of_schema(altered.schema))?;
        }
        for DroppedObject { database, kind, name } in &dropped.objects {
            let transaction = self.to_change(database)?;
            let state = transaction.state();
            let object = match kind {
                ObjectKind::Index => state.index(name),
                ObjectKind::Table | ObjectKind::View | ObjectKind::Sequence => state.relation(name),
                ObjectKind::Definition(kind) => {
                    if let Some(definition) = state.definition(*kind, name) {
                        transaction.drop_object(definition.id)?;
                    }
                    continue;
                }
            };
            let Some(object) = object else { continue };
            if let Object::Index(index) = object
                && index.unique
            {
                drop_key(&transaction, index)?;
            }
            transaction.drop_object(object.id())?;
        }
        Ok(QueryResult::done())
    }
}

/// Takes the key of a unique index from its table.
fn drop_key(transaction: &Transaction, index: &IndexDefinition) -> Result<()> {
    let state = transaction.state();
    let table = state.table(index.table)?;
    let mut schema = table.schema().clone();
    let Some(position) = schema.keys.iter().rposition(|key| *key == index.columns) else { return Ok(()) };
    schema.keys.remove(position);
    for object in state.objects() {
        let Object::Table(slot) = object else { continue };
        let child = slot.table()?;
        for key in &child.schema().foreign_keys {
            if same_name(&key.table, &schema.name) && !has_key(&schema, &key.referenced) {
                return Err(Error::bind(format!(
                    "index \"{}\" is needed by foreign key \"{}\" of table \"{}\"; drop that first",
                    index.name,
                    key.name,
                    child.schema().name
                )));
            }
        }
    }
    transaction.alter_table(index.table, Alteration::of_schema(schema)).map(|_| ())
}

/// Whether columns, in any order, are a key.
fn has_key(schema: &TableSchema, names: &[String]) -> bool {
    schema.all_keys().iter().any(|key| {
        let is_named =
            |&column: &usize| names.iter().any(|name| same_name(name, &schema.columns[column].name));
        key.len() == names.len() && key.iter().all(is_named)
    })
}
