//! The rows of the system table of triggers.

use super::gather::{Gather, text};
use super::system_table;
use crate::text as sql;
use crate::triggers::{read_trigger, trigger_name};
use inlay_catalog::bare_name;
use inlay_sql::parser::ast::trigger::{CreateTrigger, TriggerEvent};
use inlay_storage::store::DefinitionKind;
use inlay_types::{LogicalType, Value};
use std::sync::Arc;

system_table! {
    TriggerRow = "triggers" by triggers {
        database_name: Text,
        database_oid: Big,
        schema_name: Text,
        schema_oid: Big,
        trigger_name: Text,
        trigger_oid: Big,
        table_name: Text,
        table_oid: Big,
        action_timing: Text,
        event_manipulation: Text,
        columns: Texts,
        for_each: Text,
        comment: Text,
        temporary: Truth,
        sql: Text,
    }
}

fn triggers(gather: &Gather<'_>) -> Vec<TriggerRow> {
    let mut rows = Vec::new();
    for seen in gather.databases() {
        for definition in seen.state.definitions(DefinitionKind::Trigger) {
            let Some(table) = definition.owner.and_then(|table| seen.state.object(table)) else { continue };
            let Ok(create) = read_trigger(definition) else { continue };
            let [database_name, database_oid, schema_name, schema_oid] = seen.place(table.name());
            rows.push(TriggerRow {
                database_name,
                database_oid,
                schema_name,
                schema_oid,
                trigger_name: text(trigger_name(definition)),
                trigger_oid: Value::BigInt(seen.object_oid(definition.id)),
                table_name: text(bare_name(table.name())),
                table_oid: Value::BigInt(seen.object_oid(table.id())),
                action_timing: text(create.timing.word()),
                event_manipulation: text(words(&create)),
                columns: columns(&create),
                for_each: text(if create.per_row { "ROW" } else { "STATEMENT" }),
                comment: seen.comment(definition.id, None),
                temporary: Value::Boolean(seen.is_temporary()),
                sql: text(create.text(&sql::name(table.name())) + ";"),
            });
        }
    }
    rows
}

fn words(create: &CreateTrigger) -> String {
    create.events.iter().map(TriggerEvent::word).collect::<Vec<_>>().join(" OR ")
}

fn columns(create: &CreateTrigger) -> Value {
    let names = create.events.iter().flat_map(|event| match event {
        TriggerEvent::Update(columns) => columns.as_slice(),
        TriggerEvent::Insert | TriggerEvent::Delete => &[],
    });
    let values = names.map(|name| Value::Varchar(name.value.clone())).collect();
    Value::List { element: Arc::new(LogicalType::Varchar), values }
}
