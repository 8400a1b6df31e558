//! Rows of `inlay_types()` and of the labels of ENUMs.

use super::Rows;
use super::gather::{Gather, list, optional, small, text};
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
    ("timestamp", 1114, 8, "DATETIME"),
    ("timestamp with time zone", 1184, 8, "DATETIME"),
    ("interval", 1186, 16, "DATETIME"),
    ("uuid", 2950, 16, ""),
    ("json", 114, 16, "STRING"),
    ("bit", 1560, 16, ""),
];

pub(super) fn types(gather: &Gather<'_>) -> Rows {
    let mut rows = Vec::new();
    for (name, oid, size, category) in TYPES {
        let mut row = gather.system_place("main");
        row.extend([
            if *oid == 0 { Value::Null } else { Value::BigInt(*oid) },
            text(*name),
            Value::BigInt(*size),
            text(name.to_uppercase()),
            if category.is_empty() { Value::Null } else { text(*category) },
            Value::Null,
            Value::Boolean(true),
            Value::Null,
        ]);
        rows.push(row);
    }
    for seen in gather.databases() {
        for definition in seen.state.definitions(DefinitionKind::Type) {
            let labels = inlay_sql::binder::enum_labels(&definition.sql);
            let mut row = seen.place(&definition.name);
            row.extend([
                Value::BigInt(seen.object_oid(definition.id)),
                text(bare_name(&definition.name)),
                Value::Null,
                text(if labels.is_some() { "ENUM".to_string() } else { definition.sql.to_uppercase() }),
                Value::Null,
                seen.comment(definition.id, None),
                Value::Boolean(false),
                optional(labels.map(list)),
            ]);
            rows.push(row);
        }
    }
    rows
}

pub(super) fn labels(gather: &Gather<'_>) -> Rows {
    let mut rows = Vec::new();
    for seen in gather.databases() {
        for definition in seen.state.definitions(DefinitionKind::Type) {
            let labels = inlay_sql::binder::enum_labels(&definition.sql).unwrap_or_default();
            let oid = Value::BigInt(seen.object_oid(definition.id));
            let row = |(index, label): (usize, String)| vec![oid.clone(), small(index + 1), text(label)];
            rows.extend(labels.into_iter().enumerate().map(row));
        }
    }
    rows
}
