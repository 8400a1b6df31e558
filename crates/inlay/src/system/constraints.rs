//! Rows of `inlay_constraints()` and `inlay_key_columns()`: what tables promise, each constraint once.

use super::gather::{Gather, Seen, list, number, optional, text};
use super::system_table;
use crate::text::{self as sql, constraint_keys};
use inlay_catalog::{TableSchema, bare_name};
use inlay_storage::Deferral;
use inlay_storage::store::ObjectId;
use inlay_types::Value;

/// A constraint of a table.
struct Constraint {
    kind: &'static str,
    text: String,
    expression: Option<String>,
    columns: Vec<usize>,
    name: String,
    referenced: Option<(String, Vec<String>, &'static str, &'static str)>,
    deferral: Deferral,
}

/// The keys of a table that constraints say.
fn keys_of(seen: &Seen, table: ObjectId, schema: &TableSchema) -> Vec<Vec<usize>> {
    constraint_keys(schema, seen.state.indexes_of(table).map(|index| &**index))
}

fn constraints_of(schema: &TableSchema, keys: Vec<Vec<usize>>) -> Vec<Constraint> {
    let mut all = Vec::new();
    let plain = |kind, text, columns: Vec<usize>, name| Constraint {
        kind,
        text,
        expression: None,
        columns,
        name,
        referenced: None,
        deferral: Deferral::Never,
    };
    let names = |columns: &[usize]| {
        columns.iter().map(|&column| schema.columns[column].name.as_str()).collect::<Vec<_>>()
    };
    let bare = bare_name(&schema.name);
    for key in keys {
        let listed = names(&key).join(", ");
        let name = inlay_sql::binder::key_name(schema, &key);
        let (kind, written) = if key == schema.primary_key {
            ("PRIMARY KEY", format!("PRIMARY KEY({listed})"))
        } else {
            ("UNIQUE", format!("UNIQUE({listed})"))
        };
        let deferral = schema.deferral(&key);
        all.push(Constraint { deferral, ..plain(kind, written, key, name) });
    }
    all.sort_by_key(|constraint| constraint.kind != "PRIMARY KEY");
    for check in &schema.checks {
        let mentioned = |column: &usize| sql::mentions(&check.condition, &schema.columns[*column].name);
        let columns = (0..schema.columns.len()).filter(mentioned).collect();
        let written = format!("CHECK({})", check.condition);
        let mut constraint = plain("CHECK", written, columns, check.name.clone());
        constraint.expression = Some(check.condition.clone());
        all.push(constraint);
    }
    for key in &schema.foreign_keys {
        let bare = bare_name(&key.table);
        let table = match inlay_catalog::schema_of(&key.table) {
            inlay_catalog::MAIN => bare.to_string(),
            schema => format!("{schema}.{bare}"),
        };
        let written = format!(
            "FOREIGN KEY ({}) REFERENCES {table}({})",
            names(&key.columns).join(", "),
            key.referenced.join(", ")
        );
        let mut constraint = plain("FOREIGN KEY", written, key.columns.clone(), key.name.clone());
        constraint.deferral = key.deferral;
        let rule = |action| match action {
            inlay_storage::ReferenceAction::NoAction => "NO ACTION",
            inlay_storage::ReferenceAction::Restrict => "RESTRICT",
            inlay_storage::ReferenceAction::Cascade => "CASCADE",
            inlay_storage::ReferenceAction::SetNull => "SET NULL",
            inlay_storage::ReferenceAction::SetDefault => "SET DEFAULT",
        };
        constraint.referenced =
            Some((key.table.clone(), key.referenced.clone(), rule(key.on_update), rule(key.on_delete)));
        all.push(constraint);
    }
    for (index, column) in schema.columns.iter().enumerate() {
        if column.not_null && !schema.primary_key.contains(&index) {
            let name = format!("{bare}_{}_not_null", column.name);
            all.push(plain("NOT NULL", "NOT NULL".to_string(), vec![index], name));
        }
    }
    all
}

/// The name of the key that a foreign key refers to.
fn referenced_key(gather: &Gather<'_>, seen: &Seen, table: &str, columns: &[String]) -> Option<String> {
    let id = seen.state.relation(table)?.id();
    let target = gather.table(seen, id)?;
    let schema = target.schema();
    let positions: Vec<usize> = columns.iter().filter_map(|column| schema.position(column)).collect();
    let is_it = |key: &&Vec<usize>| {
        key.len() == positions.len() && key.iter().all(|column| positions.contains(column))
    };
    schema.all_keys().iter().find(is_it).map(|key| inlay_sql::binder::key_name(schema, key))
}

/// The positions of columns in a table that a foreign key refers to, as those of its own columns are listed.
fn positions_in(gather: &Gather<'_>, seen: &Seen, table: &str, columns: &[String]) -> String {
    let target = seen.state.relation(table).and_then(|target| gather.table(seen, target.id()));
    let position = |column: &String| target.as_ref()?.schema().position(column);
    list(columns.iter().filter_map(position).map(|position| position.to_string()))
}

system_table! {
    ConstraintRow = "constraints" by constraints {
        database_name: Text,
        database_oid: Big,
        schema_name: Text,
        schema_oid: Big,
        table_name: Text,
        table_oid: Big,
        constraint_index: Big,
        constraint_type: Text,
        constraint_text: Text,
        expression: Text,
        constraint_column_indexes: Text,
        constraint_column_names: Text,
        constraint_name: Text,
        referenced_table: Text,
        referenced_column_names: Text,
        constraint_oid: Big,
        update_rule: Text,
        delete_rule: Text,
        unique_constraint_name: Text,
        is_deferrable: Truth,
        initially_deferred: Truth,
        referenced_column_indexes: Text,
    }
}

fn constraints(gather: &Gather<'_>) -> Vec<ConstraintRow> {
    let mut rows = Vec::new();
    for (seen, id, table) in gather.tables() {
        let schema = table.schema();
        let keys = keys_of(&seen, id, schema);
        for (index, constraint) in constraints_of(schema, keys).into_iter().enumerate() {
            let columns = &constraint.columns;
            let (target, referenced, on_update, on_delete) =
                constraint.referenced.clone().map_or((None, Vec::new(), None, None), |(t, c, u, d)| {
                    (Some(t), c, Some(u.to_string()), Some(d.to_string()))
                });
            let key = target.as_ref().and_then(|target| referenced_key(gather, &seen, target, &referenced));
            let target_positions =
                target.as_ref().map(|target| positions_in(gather, &seen, target, &referenced));
            let [database_name, database_oid, schema_name, schema_oid] = seen.place(&schema.name);
            rows.push(ConstraintRow {
                database_name,
                database_oid,
                schema_name,
                schema_oid,
                table_name: text(bare_name(&schema.name)),
                table_oid: Value::BigInt(seen.object_oid(id)),
                constraint_index: number(index),
                constraint_type: text(constraint.kind),
                constraint_text: text(constraint.text),
                expression: optional(constraint.expression),
                constraint_column_indexes: text(list(columns.iter().map(ToString::to_string))),
                constraint_column_names: text(list(
                    columns.iter().map(|&column| &schema.columns[column].name),
                )),
                constraint_name: text(constraint.name),
                referenced_table: optional(target.as_ref().map(|target| bare_name(target).to_string())),
                referenced_column_names: text(list(&referenced)), // Constraints have no numbers of their own: made from the table's.
                constraint_oid: Value::BigInt((seen.object_oid(id) << 12) + index as i64),
                update_rule: optional(on_update),
                delete_rule: optional(on_delete),
                unique_constraint_name: optional(key),
                is_deferrable: Value::Boolean(constraint.deferral != Deferral::Never),
                initially_deferred: Value::Boolean(constraint.deferral == Deferral::Deferred),
                referenced_column_indexes: optional(target_positions),
            });
        }
    }
    rows
}

system_table! {
    KeyColumn = "key_columns" by key_columns {
        database_name: Text,
        schema_name: Text,
        table_name: Text,
        constraint_name: Text,
        constraint_type: Text,
        column_name: Text,
        ordinal_position: Big,
        referenced_table: Text,
        referenced_column: Text,
    }
}

fn key_columns(gather: &Gather<'_>) -> Vec<KeyColumn> {
    let mut rows = Vec::new();
    for (seen, id, table) in gather.tables() {
        let schema = table.schema();
        for constraint in constraints_of(schema, keys_of(&seen, id, schema)) {
            if !matches!(constraint.kind, "PRIMARY KEY" | "UNIQUE" | "FOREIGN KEY") {
                continue;
            }
            for (index, &column) in constraint.columns.iter().enumerate() {
                let target = constraint.referenced.as_ref();
                rows.push(KeyColumn {
                    database_name: text(&seen.name),
                    schema_name: text(inlay_catalog::schema_of(&schema.name)),
                    table_name: text(bare_name(&schema.name)),
                    constraint_name: text(&constraint.name),
                    constraint_type: text(constraint.kind),
                    column_name: text(&schema.columns[column].name),
                    ordinal_position: number(index + 1),
                    referenced_table: optional(target.map(|target| bare_name(&target.0).to_string())),
                    referenced_column: optional(target.and_then(|target| target.1.get(index).cloned())),
                });
            }
        }
    }
    rows
}
