//! DROP. What else goes or changes was bound with it.

use super::index::drop_index;
use crate::execute::Run;
use crate::result::QueryResult;
use inlay_sql::plan::statement::{Drop, DroppedObject, ObjectKind};
use inlay_storage::store::Object;
use inlay_storage::table::Alteration;
use inlay_types::Result;

impl Run<'_> {
    /// Carries out DROP.
    pub(crate) fn drop_objects(&mut self, dropped: Drop) -> Result<QueryResult> {
        for altered in dropped.altered {
            let transaction = self.to_change(&altered.database)?;
            transaction.alter_table(altered.table.table.id(), Alteration::of_schema(altered.schema))?;
        }
        for DroppedObject { database, kind, name } in &dropped.objects {
            let transaction = self.to_change(database)?;
            // The state is not held on to: it would be copied whole for each object that goes.
            let object = match kind {
                ObjectKind::Index => transaction.state().index(name).cloned(),
                ObjectKind::Table | ObjectKind::View | ObjectKind::Sequence => {
                    transaction.state().relation(name).cloned()
                }
                ObjectKind::Definition(kind) => {
                    let id = transaction.state().definition(*kind, name).map(|definition| definition.id);
                    if let Some(id) = id {
                        transaction.drop_object(id)?;
                    }
                    continue;
                }
            };
            let Some(object) = object else { continue };
            match object {
                Object::Index(index) => drop_index(&transaction, &index)?,
                _ => transaction.drop_object(object.id())?,
            }
        }
        Ok(QueryResult::done())
    }
}
