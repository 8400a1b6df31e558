//! `pragma_storage_info('table')`: the segments of a table, with DuckDB's columns and the bytes they take.

use inlay_catalog::{MAIN, TableFunction, TableSource, TypeNames, bare_name, qualified};
use inlay_formats::ColumnSource;
use inlay_storage::Table;
use inlay_storage::store::{Object, State};
use inlay_types::{Candidates, Error, LogicalType, Result, Value, Vector};
use std::sync::Arc;

/// The function, over the databases that its statement sees.
pub(super) struct StorageInfo {
    /// Databases and schemas in which a name is looked up, in order.
    pub path: Vec<(String, String)>,
    /// Every database.
    pub states: Vec<(String, Arc<State>)>,
}

impl StorageInfo {
    pub const NAME: &'static str = "pragma_storage_info";

    pub fn table(&self, name: &str) -> Result<Arc<Table>> {
        let parts: Vec<&str> = name.split('.').map(|part| part.trim_matches('"')).collect();
        let mut places: Vec<(String, String)> = Vec::new();
        match parts.as_slice() {
            [table] => {
                let keyed =
                    |(database, schema): &(String, String)| (database.clone(), qualified(schema, table));
                places.extend(self.path.iter().map(keyed));
            }
            [first, table] => {
                places.extend(
                    self.path.iter().map(|(database, _)| (database.clone(), qualified(first, table))),
                );
                places.push(((*first).to_string(), qualified(MAIN, table)));
            }
            [database, schema, table] => places.push(((*database).to_string(), qualified(schema, table))),
            _ => {}
        }
        for (database, key) in places {
            let state = self.states.iter().find(|(known, _)| known.to_lowercase() == database.to_lowercase());
            let Some((_, state)) = state else { continue };
            if let Some(object @ Object::Table(_)) = state.relation(&key) {
                return state.table(object.id());
            }
        }
        Err(Error::UndefinedTable { name: name.to_string(), candidates: self.near(name) })
    }

    fn near(&self, name: &str) -> Candidates {
        let objects = self.states.iter().flat_map(|(_, state)| state.objects());
        let tables = objects.filter(|object| matches!(object, Object::Table(_)));
        let names: Vec<String> = tables.map(|table| bare_name(table.name()).to_string()).collect();
        Candidates::of(name, names.iter().map(String::as_str))
    }
}

impl TableFunction for StorageInfo {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn bind(
        &self,
        args: &[Value],
        named: &[(String, Value)],
        _: &TypeNames<'_>,
    ) -> Result<Arc<dyn TableSource>> {
        let ([Value::Varchar(name)], []) = (args, named) else {
            return Err(Error::invalid_argument("pragma_storage_info takes the name of a table: ('t')"));
        };
        let table = self.table(name)?;
        let (bigint, varchar, boolean) = (LogicalType::BigInt, LogicalType::Varchar, LogicalType::Boolean);
        let columns = [
            ("row_group_id", &bigint),
            ("column_name", &varchar),
            ("column_id", &bigint),
            ("column_path", &varchar),
            ("segment_id", &bigint),
            ("segment_type", &varchar),
            ("start", &bigint),
            ("count", &bigint),
            ("compression", &varchar),
            ("stats", &varchar),
            ("has_updates", &boolean),
            ("persistent", &boolean),
            ("block_id", &bigint),
            ("block_offset", &bigint),
            ("bytes", &bigint),
        ];
        let rows = rows_of(&table)?;
        let mut vectors = Vec::with_capacity(columns.len());
        for (index, (name, ty)) in columns.into_iter().enumerate() {
            let values: Vec<Value> = rows.iter().map(|row| row[index].clone()).collect();
            vectors.push((name.to_string(), Vector::from_sql_values(ty.clone(), &values)?));
        }
        Ok(Arc::new(ColumnSource::new(format!("{}('{name}')", Self::NAME), vectors)?))
    }
}

fn rows_of(table: &Table) -> Result<Vec<Vec<Value>>> {
    let number = |number: u64| i64::try_from(number).map_or(Value::Null, Value::BigInt);
    let text = |text: String| Value::Varchar(text);
    let mut rows = Vec::new();
    let mut start = 0;
    for (group_number, group) in table.snapshot().row_groups().iter().enumerate() {
        for (position, (index, schema)) in table.schema().visible().enumerate() {
            let column = group.column(index);
            let segment = column.segment_to_scan()?;
            let place = column.place();
            rows.push(vec![
                number(group_number as u64),
                text(schema.name.clone()),
                number(position as u64),
                text(format!("[{position}]")),
                number(0),
                text(column.logical_type().to_string()),
                number(start),
                number(column.len() as u64),
                text(segment.encoding_name().to_string()),
                text(stats(column)),
                Value::Boolean(segment.encoding_name() == "patched"),
                Value::Boolean(place.is_some()),
                place.map_or(Value::Null, |(block, _)| number(block)),
                Value::Null,
                number(place.map_or_else(|| segment.memory_size() as u64, |(_, size)| size)),
            ]);
        }
        start += group.len() as u64;
    }
    Ok(rows)
}

/// The zone map of a column of a row group.
fn stats(column: &inlay_storage::Column) -> String {
    let zone = column.zone_map();
    let bound = |name: &str, value: &Option<Value>| match value {
        Some(value) => format!("{name}: {value}, "),
        None => String::new(),
    };
    let nulls = column.null_count();
    format!("[{}{}nulls: {nulls}]", bound("min", &zone.min), bound("max", &zone.max))
}
