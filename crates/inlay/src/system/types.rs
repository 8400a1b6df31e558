//! Rows of `inlay_types()` and of the labels of ENUMs.

use super::gather::{Gather, list, optional, small, text};
use super::system_table;
use inlay_catalog::bare_name;
use inlay_storage::store::DefinitionKind;
use inlay_types::Value;

/// Types that every database has: name, PostgreSQL's number, bytes, category.
const TYPES: &[(&str, i64, i64, &str)] = &[
    ("boolean", 16, 1, "BOOLEAN"),
    ("blob", 17, 16, ""),
    ("tinyint", 0, 1, "NUMERIC"),
    ("smallint", 21, 2, "NUMERIC"),
    ("integer", 23, 4, "NUMERIC"),
    ("bigint", 20, 8, "NUMERIC"),
    ("hugeint", 0, 16, "NUMERIC"),
    ("utinyint", 0, 1, "NUMERIC"),
    ("usmallint", 0, 2, "NUMERIC"),
    ("uinteger", 0, 4, "NUMERIC"),
    ("ubigint", 0, 8, "NUMERIC"),
    ("uhugeint", 0, 16, "NUMERIC"),
    ("float", 700, 4, "NUMERIC"),
    ("double", 701, 8, "NUMERIC"),
    ("decimal", 1700, 0, "NUMERIC"),
    ("varchar", 1043, 16, "STRING"),
    ("text", 25, 16, "STRING"),
    ("date", 1082, 4, "DATETIME"),
    ("time", 1083, 8, "DATETIME"),
    ("time with time zone", 1266, 8, "DATETIME"),
    ("timestamp", 1114, 8, "DATETIME"),
    ("timestamp with time zone", 1184, 8, "DATETIME"),
    ("interval", 1186, 16, "DATETIME"),
    ("uuid", 2950, 16, ""),
    ("json", 114, 16, "STRING"),
    ("bit", 1560, 16, ""),
];

system_table! {
    TypeRow = "types" by types {
        database_name: Text,
        database_oid: Big,
        schema_name: Text,
        schema_oid: Big,
        type_oid: Big,
        type_name: Text,
        type_size: Big,
        logical_type: Text,
        type_category: Text,
        comment: Text,
        internal: Truth,
        labels: Text,
    }
}

fn types(gather: &Gather<'_>) -> Vec<TypeRow> {
    let mut rows = Vec::new();
    for (name, oid, size, category) in TYPES {
        let [database_name, database_oid, schema_name, schema_oid] = gather.system_place("main");
        rows.push(TypeRow {
            database_name,
            database_oid,
            schema_name,
            schema_oid,
            type_oid: if *oid == 0 { Value::Null } else { Value::BigInt(*oid) },
            type_name: text(*name),
            type_size: Value::BigInt(*size),
            logical_type: text(name.to_uppercase()),
            type_category: if category.is_empty() { Value::Null } else { text(*category) },
            comment: Value::Null,
            internal: Value::Boolean(true),
            labels: Value::Null,
        });
    }
    for seen in gather.databases() {
        for definition in seen.state.definitions(DefinitionKind::Type) {
            let labels = inlay_sql::binder::enum_labels(&definition.sql);
            let [database_name, database_oid, schema_name, schema_oid] = seen.place(&definition.name);
            rows.push(TypeRow {
                database_name,
                database_oid,
                schema_name,
                schema_oid,
                type_oid: Value::BigInt(seen.object_oid(definition.id)),
                type_name: text(bare_name(&definition.name)),
                type_size: Value::Null,
                logical_type: text(if labels.is_some() {
                    "ENUM".to_string()
                } else {
                    definition.sql.to_uppercase()
                }),
                type_category: Value::Null,
                comment: seen.comment(definition.id, None),
                internal: Value::Boolean(false),
                labels: optional(labels.map(list)),
            });
        }
    }
    rows
}

system_table! {
    Label = "enum_labels" by labels {
        type_oid: Big,
        position: Small,
        label: Text,
    }
}

fn labels(gather: &Gather<'_>) -> Vec<Label> {
    let mut rows = Vec::new();
    for seen in gather.databases() {
        for definition in seen.state.definitions(DefinitionKind::Type) {
            let labels = inlay_sql::binder::enum_labels(&definition.sql).unwrap_or_default();
            let oid = Value::BigInt(seen.object_oid(definition.id));
            let row = |(index, label): (usize, String)| Label {
                type_oid: oid.clone(),
                position: small(index + 1),
                label: text(label),
            };
            rows.extend(labels.into_iter().enumerate().map(row));
        }
    }
    rows
}
