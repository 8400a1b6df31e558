//! CREATE TRIGGER and DROP TRIGGER.

use super::text;
use crate::execute::Run;
use crate::result::QueryResult;
use crate::triggers::{trigger_key, trigger_name};
use inlay_sql::plan::object::{DroppedTrigger, NewTrigger};
use inlay_storage::store::{Definition, DefinitionKind, Object, ObjectId, State};
use inlay_types::{Error, Result};
use std::sync::Arc;

impl Run<'_> {
    pub(super) fn create_trigger(&mut self, new: NewTrigger) -> Result<QueryResult> {
        let NewTrigger { database, table, create, or_replace, if_not_exists } = new;
        let transaction = self.to_change(&database)?;
        let (table_id, kind) = (table.table.id(), DefinitionKind::Trigger);
        let name = trigger_key(table_id, &create.name.value);
        let taken = transaction.state().definition(kind, &name).map(|taken| taken.id);
        match taken {
            Some(_) if if_not_exists => return Ok(QueryResult::done()),
            Some(_) if !or_replace => {
                return Err(Error::Duplicate { kind: "trigger", name: create.name.value.clone() });
            }
            Some(taken) => transaction.drop_object(taken)?,
            None => {}
        }
        self.check_circle(&database, table_id, &create)?;
        let sql = create.text(&text::name(&table.name));
        let id = transaction.take_id();
        let definition = Definition { id, kind, name, owner: Some(table_id), sql };
        transaction.put(Object::Definition(Arc::new(definition)))?;
        Ok(QueryResult::done())
    }

    pub(super) fn drop_trigger(&mut self, dropped: &DroppedTrigger) -> Result<QueryResult> {
        let Some((database, table)) = &dropped.target else { return Ok(QueryResult::done()) };
        let transaction = self.to_change(database)?;
        let key = trigger_key(table.table.id(), &dropped.name);
        match transaction.state().definition(DefinitionKind::Trigger, &key).map(|found| found.id) {
            Some(id) => transaction.drop_object(id)?,
            None if dropped.if_exists => {}
            None => {
                return Err(undefined(&transaction.state(), table.table.id(), &table.name, &dropped.name));
            }
        }
        Ok(QueryResult::done())
    }
}

fn undefined(state: &State, table: ObjectId, table_name: &str, name: &str) -> Error {
    let known: Vec<&str> = state.triggers_of(table).into_iter().map(|known| trigger_name(known)).collect();
    let near = inlay_catalog::near_names(name, known.into_iter());
    let hint = if near.is_empty() { String::new() } else { format!("; did you mean {}?", near.join(" or ")) };
    let table = inlay_catalog::bare_name(table_name);
    Error::bind(format!("trigger \"{name}\" of table \"{table}\" does not exist{hint}"))
}
