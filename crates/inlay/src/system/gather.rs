//! The databases as a statement sees them, and what is said of each object.

use super::names::Names;
use crate::text::comment_on;
use inlay_catalog::{MAIN, SYSTEM, TEMPORARY, schema_of};
use inlay_storage::Table;
use inlay_storage::store::{DefinitionKind, Object, ObjectId, State};
use inlay_types::{LogicalType, Value};
use std::sync::Arc;

/// Numbers of objects of users begin here, as in PostgreSQL; smaller ones are those of the system.
const OID_BASE: i64 = 16_384;
/// Numbers of databases lie apart by this, so that no two objects share one.
const DATABASE_STRIDE: i64 = 1 << 32;
/// PostgreSQL's numbers of the schemas that every database has.
const MAIN_OID: i64 = 2200;
const CATALOG_OID: i64 = 11;
const INFORMATION_OID: i64 = 13_000;

pub(super) fn text(text: impl Into<String>) -> Value {
    Value::Varchar(text.into())
}

pub(super) fn number(number: impl TryInto<i64>) -> Value {
    number.try_into().map_or(Value::Null, Value::BigInt)
}

pub(super) fn small(number: impl TryInto<i32>) -> Value {
    number.try_into().map_or(Value::Null, Value::Integer)
}

pub(super) fn optional(value: Option<String>) -> Value {
    value.map_or(Value::Null, Value::Varchar)
}

/// Texts as a list is shown.
pub(super) fn list<T: AsRef<str>>(items: impl IntoIterator<Item = T>) -> String {
    let items: Vec<String> = items.into_iter().map(|item| item.as_ref().to_string()).collect();
    format!("[{}]", items.join(", "))
}

/// A list of texts.
pub(super) fn texts(items: Vec<String>) -> Value {
    let values = items.into_iter().map(Value::Varchar).collect();
    Value::List { element: Arc::new(inlay_types::LogicalType::Varchar), values }
}

/// A database as the statement sees it.
pub(super) struct Seen {
    pub name: String,
    pub number: i64,
    pub path: Option<String>,
    pub is_read_only: bool,
    pub state: Arc<State>,
}

impl Seen {
    pub fn is_temporary(&self) -> bool {
        self.name == TEMPORARY
    }

    pub fn oid(&self) -> Value {
        Value::BigInt(self.number)
    }

    pub fn object_oid(&self, id: ObjectId) -> i64 {
        OID_BASE + self.number * DATABASE_STRIDE + i64::try_from(id).unwrap_or(DATABASE_STRIDE)
    }

    pub fn schema_oid(&self, schema: &str) -> i64 {
        match schema.to_lowercase().as_str() {
            MAIN => MAIN_OID + self.number * DATABASE_STRIDE,
            "pg_catalog" => CATALOG_OID,
            "information_schema" => INFORMATION_OID,
            _ => {
                let found = self.state.definition(DefinitionKind::Schema, schema);
                found.map_or(MAIN_OID, |definition| self.object_oid(definition.id))
            }
        }
    }

    /// Database, its number, schema, its number: what most tables begin with.
    pub fn place(&self, key: &str) -> [Value; 4] {
        let schema = schema_of(key);
        [text(&self.name), self.oid(), text(schema), Value::BigInt(self.schema_oid(schema))]
    }

    pub fn comment(&self, id: ObjectId, column: Option<&str>) -> Value {
        optional(comment_on(&self.state, Some(id), column))
    }

    /// Its objects in the order they were made.
    pub fn objects(&self) -> Vec<&Object> {
        let mut objects: Vec<&Object> = self.state.objects().collect();
        objects.sort_by_key(|object| object.id());
        objects
    }

    /// Names of its schemas.
    pub fn schemas(&self) -> Vec<String> {
        let own = self.state.definitions(DefinitionKind::Schema);
        std::iter::once(MAIN.to_string()).chain(own.iter().map(|schema| schema.name.clone())).collect()
    }
}

/// Where rows come from.
pub(super) struct Gather<'a> {
    pub names: &'a Names<'a>,
}

impl Gather<'_> {
    /// Every database that is there, temporary objects last.
    pub fn databases(&self) -> Vec<Seen> {
        let names = self.names;
        let mut all: Vec<String> = names.database.database_names();
        if names.transactions.is_there(names.database, TEMPORARY) {
            all.push(TEMPORARY.to_string());
        }
        let seen = |(index, name): (usize, String)| {
            let attached = names.database.attached(&name);
            Some(Seen {
                state: names.transaction(&name)?.state(),
                number: index as i64 + 1,
                path: attached.as_ref().and_then(|a| a.path.as_ref()).map(|path| path.display().to_string()),
                is_read_only: attached.is_some_and(|attached| attached.is_read_only()),
                name,
            })
        };
        all.into_iter().enumerate().filter_map(seen).collect()
    }

    /// Database, its number, schema, its number, of a table of the system.
    pub fn system_place(&self, schema: &str) -> [Value; 4] {
        let oid = match schema {
            "pg_catalog" => CATALOG_OID,
            "information_schema" => INFORMATION_OID,
            _ => MAIN_OID,
        };
        [text(SYSTEM), Value::BigInt(0), text(schema), Value::BigInt(oid)]
    }

    /// Every table of every database, with its number. One that cannot be read is left out, and the statement fails.
    pub fn tables(&self) -> Vec<(Arc<Seen>, ObjectId, Arc<Table>)> {
        let mut all = Vec::new();
        for seen in self.databases().into_iter().map(Arc::new) {
            for object in seen.objects().into_iter().filter(|object| matches!(object, Object::Table(_))) {
                if let Some(table) = self.table(&seen, object.id()) {
                    all.push((Arc::clone(&seen), object.id(), table));
                }
            }
        }
        all
    }

    /// Tables, with what has to be read for them; one that cannot be read is left out, and the statement fails.
    pub fn table(&self, seen: &Seen, id: ObjectId) -> Option<Arc<Table>> {
        // An index of no table, which a file of an earlier version may have, is no reason to fail.
        let Some(Object::Table(_)) = seen.state.object(id) else { return None };
        self.names.noted(seen.state.table(id))
    }
}

/// PostgreSQL's number of a type; of an array, that of the array's type.
pub(super) fn type_oid(ty: &LogicalType) -> i64 {
    match ty {
        LogicalType::List(element) | LogicalType::Array(element, _) if !element.is_nested() => {
            array_oid(type_oid(element))
        }
        ty if ty.is_nested() => JSON_OID,
        ty => scalar_oid(ty),
    }
}

/// Nested deeper than an array of scalars is JSON to PostgreSQL's clients.
const JSON_OID: i64 = 114;

/// Numbers of types and of the arrays of them; others are arrays of texts.
const ARRAYS: &[(i64, i64)] = &[
    (16, 1000),
    (17, 1001),
    (20, 1016),
    (21, 1005),
    (23, 1007),
    (114, 199),
    (700, 1021),
    (701, 1022),
    (1043, 1015),
    (1082, 1182),
    (1083, 1183),
    (1114, 1115),
    (1184, 1185),
    (1186, 1187),
    (1266, 1270),
    (1560, 1561),
    (1700, 1231),
    (2950, 2951),
];

fn array_oid(element: i64) -> i64 {
    ARRAYS.iter().find(|(known, _)| *known == element).map_or(1009, |(_, array)| *array)
}

fn scalar_oid(ty: &LogicalType) -> i64 {
    match ty.to_string().as_str() {
        "BOOLEAN" => 16,
        "BLOB" => 17,
        "BIGINT" | "UINTEGER" => 20,
        "SMALLINT" | "UTINYINT" | "TINYINT" => 21,
        "INTEGER" | "USMALLINT" => 23,
        "VARCHAR" => 1043,
        "REAL" | "FLOAT" => 700,
        "DOUBLE" => 701,
        "DATE" => 1082,
        "TIME" => 1083,
        "TIMESTAMP" | "TIMESTAMP_S" | "TIMESTAMP_MS" | "TIMESTAMP_NS" => 1114,
        "TIMESTAMP WITH TIME ZONE" => 1184,
        "TIME WITH TIME ZONE" => 1266,
        "INTERVAL" => 1186,
        "UUID" => 2950,
        "BIT" => 1560,
        "JSON" => 114,
        name if name.starts_with("DECIMAL") || name.ends_with("HUGEINT") || name == "UBIGINT" => 1700,
        _ => 25,
    }
}

/// Precision, radix and scale of a number's type.
pub(super) fn numeric(ty: &LogicalType) -> [Value; 3] {
    let name = ty.to_string();
    let of =
        |precision: i32, radix: i32| [Value::Integer(precision), Value::Integer(radix), Value::Integer(0)];
    match name.as_str() {
        "TINYINT" | "UTINYINT" => of(8, 2),
        "SMALLINT" | "USMALLINT" => of(16, 2),
        "INTEGER" | "UINTEGER" => of(32, 2),
        "BIGINT" | "UBIGINT" => of(64, 2),
        "HUGEINT" | "UHUGEINT" => of(128, 2),
        "REAL" | "FLOAT" => of(24, 2),
        "DOUBLE" => of(53, 2),
        _ => {
            let Some(inner) = name.strip_prefix("DECIMAL(").and_then(|rest| rest.strip_suffix(')')) else {
                return [Value::Null, Value::Null, Value::Null];
            };
            let mut parts = inner.split(',').map(|part| part.trim().parse::<i32>().unwrap_or(0));
            let (precision, scale) = (parts.next().unwrap_or(0), parts.next().unwrap_or(0));
            [Value::Integer(precision), Value::Integer(10), Value::Integer(scale)]
        }
    }
}
