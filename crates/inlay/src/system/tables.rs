//! The list of all system tables, and the rows of those about objects.

use super::gather::{Gather, Seen, list, number, numeric, optional, small, text, type_oid};
use super::{
    SystemTable, constraints, functions, machine, resident, roles, secrets, system_table, triggers, types,
};
use crate::text::{self as sql, constraint_keys};
use inlay_catalog::{ColumnSchema, TableSchema, bare_name};
use inlay_storage::store::{DefinitionKind, IndexKind, Object};
use inlay_storage::{Origin, Table};
use inlay_types::{LogicalType, Value};
use std::sync::LazyLock;

/// Every system table.
pub(super) const TABLES: &[SystemTable] = &[
    Database::TABLE,
    Schema::TABLE,
    TableRow::TABLE,
    ColumnRow::TABLE,
    ViewRow::TABLE,
    IndexRow::TABLE,
    triggers::TriggerRow::TABLE,
    resident::Resident::TABLE,
    secrets::SecretRow::TABLE,
    constraints::ConstraintRow::TABLE,
    constraints::KeyColumn::TABLE,
    types::TypeRow::TABLE,
    SequenceRow::TABLE,
    functions::FunctionRow::TABLE,
    machine::SettingRow::TABLE,
    machine::MetricRow::TABLE,
    machine::Keyword::TABLE,
    machine::Collation::TABLE,
    machine::Memory::TABLE,
    machine::Resources::TABLE,
    machine::Variable::TABLE,
    machine::Prepared::TABLE,
    CommentRow::TABLE,
    types::Label::TABLE,
    Dependency::TABLE,
    Extension::TABLE,
    machine::TemporaryFile::TABLE,
    machine::FileSpace::TABLE,
    roles::RoleRow::TABLE,
    roles::MemberRow::TABLE,
    roles::ClosureRow::TABLE,
    roles::PrivilegeRow::TABLE,
];

/// Names of all functions of this module, for hints.
pub(super) static FUNCTION_NAMES: LazyLock<Vec<String>> = LazyLock::new(|| {
    let names = |table: &SystemTable| [format!("inlay_{}", table.name), format!("duckdb_{}", table.name)];
    TABLES.iter().flat_map(names).collect()
});

system_table! {
    Database = "databases" by databases {
        database_name: Text,
        database_oid: Big,
        path: Text,
        comment: Text,
        internal: Truth,
        kind as "type": Text,
        readonly: Truth,
    }
}

fn databases(gather: &Gather<'_>) -> Vec<Database> {
    let mut rows = Vec::new();
    for seen in gather.databases() {
        let comment = optional(crate::text::comment_on(&seen.state, None, None));
        let internal = Value::Boolean(seen.is_temporary());
        let (path, read_only) = (optional(seen.path.clone()), Value::Boolean(seen.is_read_only));
        rows.push(Database {
            database_name: text(&seen.name),
            database_oid: seen.oid(),
            path,
            comment,
            internal,
            kind: text("inlay"),
            readonly: read_only,
        });
    }
    let (null, yes, no) = (Value::Null, Value::Boolean(true), Value::Boolean(false));
    rows.push(Database {
        database_name: text("system"),
        database_oid: Value::BigInt(0),
        path: null.clone(),
        comment: null,
        internal: yes,
        kind: text("inlay"),
        readonly: no,
    });
    rows
}

system_table! {
    Schema = "schemas" by schemas {
        oid: Big,
        database_name: Text,
        database_oid: Big,
        schema_name: Text,
        comment: Text,
        internal: Truth,
        sql: Text,
    }
}

fn schemas(gather: &Gather<'_>) -> Vec<Schema> {
    let mut rows = Vec::new();
    let row = |seen: &Seen, schema: &str, internal: bool| {
        let definition = seen.state.definition(DefinitionKind::Schema, schema);
        let made = definition.map(|_| format!("CREATE SCHEMA {};", sql::quoted(schema)));
        Schema {
            oid: Value::BigInt(seen.schema_oid(schema)),
            database_name: text(&seen.name),
            database_oid: seen.oid(),
            schema_name: text(schema),
            comment: definition.map_or(Value::Null, |definition| seen.comment(definition.id, None)),
            internal: Value::Boolean(internal),
            sql: optional(made),
        }
    };
    for seen in gather.databases() {
        let internal = seen.is_temporary();
        rows.extend(seen.schemas().iter().map(|schema| row(&seen, schema, internal)));
        for schema in ["information_schema", "pg_catalog"] {
            rows.push(row(&seen, schema, true));
        }
    }
    rows
}

fn create_table_text(schema: &TableSchema, mut keys: Vec<Vec<usize>>) -> String {
    keys.retain(|key| *key != schema.primary_key);
    sql::create_table(schema, &keys, &schema.foreign_keys, &|_| None) + ";"
}

system_table! {
    TableRow = "tables" by tables {
        database_name: Text,
        database_oid: Big,
        schema_name: Text,
        schema_oid: Big,
        table_name: Text,
        table_oid: Big,
        comment: Text,
        internal: Truth,
        temporary: Truth,
        has_primary_key: Truth,
        estimated_size: Big,
        column_count: Big,
        index_count: Big,
        check_constraint_count: Big,
        sql: Text,
        is_materialized_view: Truth,
    }
}

fn tables(gather: &Gather<'_>) -> Vec<TableRow> {
    let mut rows = Vec::new();
    for (seen, id, table) in gather.tables() {
        let schema = table.schema();
        let view = seen.state.definition(DefinitionKind::MaterializedView, &schema.name);
        let made = match view {
            Some(view) => {
                format!("CREATE MATERIALIZED VIEW {} AS {};", sql::name(&schema.name), view.sql)
            }
            None => {
                let indexes = seen.state.indexes_of(id).map(|index| &**index);
                create_table_text(schema, constraint_keys(schema, indexes))
            }
        };
        let [database_name, database_oid, schema_name, schema_oid] = seen.place(&schema.name);
        rows.push(TableRow {
            database_name,
            database_oid,
            schema_name,
            schema_oid,
            table_name: text(bare_name(&schema.name)),
            table_oid: Value::BigInt(seen.object_oid(id)),
            comment: seen.comment(id, None),
            internal: Value::Boolean(false),
            temporary: Value::Boolean(seen.is_temporary()),
            has_primary_key: Value::Boolean(!schema.primary_key.is_empty()),
            estimated_size: number(table.row_count()),
            column_count: number(schema.visible().count()),
            index_count: number(seen.state.indexes_of(id).count() + schema.all_keys().len()),
            check_constraint_count: number(schema.checks.len()),
            sql: text(made),
            is_materialized_view: Value::Boolean(view.is_some()),
        });
    }
    rows
}

system_table! {
    ColumnRow = "columns" by columns {
        database_name: Text,
        database_oid: Big,
        schema_name: Text,
        schema_oid: Big,
        table_name: Text,
        table_oid: Big,
        column_name: Text,
        column_index: Small,
        comment: Text,
        internal: Truth,
        column_default: Text,
        is_nullable: Truth,
        data_type: Text,
        data_type_id: Big,
        character_maximum_length: Small,
        numeric_precision: Small,
        numeric_precision_radix: Small,
        numeric_scale: Small,
        is_generated: Truth,
        generation_expression: Text,
        identity_generation: Text,
    }
}

fn columns(gather: &Gather<'_>) -> Vec<ColumnRow> {
    let mut rows = Vec::new();
    for seen in gather.databases() {
        for object in seen.objects() {
            match object {
                Object::Table(_) => {
                    let Some(table) = gather.table(&seen, object.id()) else { continue };
                    for (index, (_, column)) in table.schema().visible().enumerate() {
                        rows.push(stored_column(&seen, object, index, column));
                    }
                }
                Object::View(view) => {
                    let columns = gather.names.view_columns(&seen.name, &view.name).into_iter().enumerate();
                    rows.extend(
                        columns.map(|(index, (name, ty))| column_of(&seen, object, (index, &name, &ty))),
                    );
                }
                Object::Sequence(_) | Object::Index(_) | Object::Definition(_) => {}
            }
        }
    }
    rows
}

fn stored_column(seen: &Seen, object: &Object, index: usize, column: &ColumnSchema) -> ColumnRow {
    let (expression, identity) = match &column.origin {
        Origin::Computed(expression) => (Some(expression.clone()), None),
        Origin::IdentityAlways => (None, Some("ALWAYS".to_string())),
        Origin::IdentityByDefault => (None, Some("BY DEFAULT".to_string())),
        Origin::Given | Origin::Indexed(_) => (None, None),
    };
    ColumnRow {
        column_default: optional(column.default.clone()),
        is_nullable: Value::Boolean(!column.not_null),
        is_generated: Value::Boolean(expression.is_some()),
        generation_expression: optional(expression),
        identity_generation: optional(identity),
        ..column_of(seen, object, (index, &column.name, &column.ty))
    }
}

/// A column of which no more is known than its place, name and type.
fn column_of(seen: &Seen, object: &Object, (index, name, ty): (usize, &str, &LogicalType)) -> ColumnRow {
    let [database_name, database_oid, schema_name, schema_oid] = seen.place(object.name());
    let [numeric_precision, numeric_precision_radix, numeric_scale] = numeric(ty);
    ColumnRow {
        database_name,
        database_oid,
        schema_name,
        schema_oid,
        table_name: text(bare_name(object.name())),
        table_oid: Value::BigInt(seen.object_oid(object.id())),
        column_name: text(name),
        column_index: small(index + 1),
        comment: seen.comment(object.id(), Some(name)),
        internal: Value::Boolean(false),
        column_default: Value::Null,
        is_nullable: Value::Boolean(true),
        data_type: text(ty.to_string()),
        data_type_id: Value::BigInt(type_oid(ty)),
        character_maximum_length: Value::Null,
        numeric_precision,
        numeric_precision_radix,
        numeric_scale,
        is_generated: Value::Boolean(false),
        generation_expression: Value::Null,
        identity_generation: Value::Null,
    }
}

system_table! {
    ViewRow = "views" by views {
        database_name: Text,
        database_oid: Big,
        schema_name: Text,
        schema_oid: Big,
        view_name: Text,
        view_oid: Big,
        comment: Text,
        internal: Truth,
        temporary: Truth,
        column_count: Big,
        sql: Text,
        definition: Text,
    }
}

fn views(gather: &Gather<'_>) -> Vec<ViewRow> {
    let mut rows = Vec::new();
    for seen in gather.databases() {
        for object in seen.objects() {
            let Object::View(view) = object else { continue };
            let [database_name, database_oid, schema_name, schema_oid] = seen.place(&view.name);
            rows.push(ViewRow {
                database_name,
                database_oid,
                schema_name,
                schema_oid,
                view_name: text(bare_name(&view.name)),
                view_oid: Value::BigInt(seen.object_oid(view.id)),
                comment: seen.comment(view.id, None),
                internal: Value::Boolean(false),
                temporary: Value::Boolean(seen.is_temporary()),
                column_count: number(gather.names.view_columns(&seen.name, &view.name).len()),
                sql: text(sql::create_view(view) + ";"),
                definition: text(&view.sql),
            });
        }
    }
    for (schema, name, definition) in super::all_views() {
        let [database_name, database_oid, schema_name, schema_oid] = gather.system_place(schema);
        rows.push(ViewRow {
            database_name,
            database_oid,
            schema_name,
            schema_oid,
            view_name: text(name),
            view_oid: Value::Null,
            comment: Value::Null,
            internal: Value::Boolean(true),
            temporary: Value::Boolean(false),
            column_count: Value::Null,
            sql: Value::Null,
            definition: text(definition),
        });
    }
    rows
}

system_table! {
    IndexRow = "indexes" by indexes {
        database_name: Text,
        database_oid: Big,
        schema_name: Text,
        schema_oid: Big,
        index_name: Text,
        index_oid: Big,
        table_name: Text,
        table_oid: Big,
        comment: Text,
        is_unique: Truth,
        is_primary: Truth,
        expressions: Text,
        sql: Text,
        column_numbers: Text,
        index_type: Text,
        row_groups: Big,
        memory_size: Big,
    }
}

/// Row groups that know the rows of each value of the columns of a bitmap index, and the bytes that these take.
fn value_sets(table: &Table, columns: &[usize]) -> (i64, i64) {
    let snapshot = table.snapshot();
    let (mut groups, mut bytes) = (0, 0);
    for group in snapshot.row_groups() {
        let sizes = columns.iter().filter_map(|column| group.columns().get(*column)?.value_sets_size());
        let sizes: Vec<u64> = sizes.collect();
        groups += i64::from(sizes.len() == columns.len());
        bytes += sizes.iter().sum::<u64>() as i64;
    }
    (groups, bytes)
}

fn indexes(gather: &Gather<'_>) -> Vec<IndexRow> {
    let mut rows = Vec::new();
    for seen in gather.databases() {
        for object in seen.objects() {
            let Object::Index(index) = object else { continue };
            let Some(table) = gather.table(&seen, index.table) else { continue };
            let schema = table.schema();
            let columns = index.columns.iter().filter_map(|&column| schema.columns.get(column));
            let [database_name, database_oid, schema_name, schema_oid] = seen.place(&index.name);
            let of_sets = match index.kind {
                IndexKind::Art => None,
                IndexKind::Bitmap => Some(value_sets(&table, &index.columns)),
            };
            rows.push(IndexRow {
                database_name,
                database_oid,
                schema_name,
                schema_oid,
                index_name: text(bare_name(&index.name)),
                index_oid: Value::BigInt(seen.object_oid(index.id)),
                table_name: text(bare_name(&schema.name)),
                table_oid: Value::BigInt(seen.object_oid(index.table)),
                comment: seen.comment(index.id, None),
                is_unique: Value::Boolean(index.unique),
                is_primary: Value::Boolean(false),
                expressions: text(list(columns.map(|column| match &column.origin {
                    Origin::Indexed(indexed) => indexed.expression.clone(),
                    _ => column.name.clone(),
                }))),
                sql: text(sql::create_index(index, schema) + ";"),
                column_numbers: text(list(
                    index.columns.iter().map(|&column| column_number(schema, column).to_string()),
                )),
                index_type: text(index.kind.name()),
                row_groups: of_sets.map_or(Value::Null, |(groups, _)| Value::BigInt(groups)),
                memory_size: of_sets.map_or(Value::Null, |(_, bytes)| Value::BigInt(bytes)),
            });
        }
    }
    rows
}

/// The number of a column that an index is on, from 1; 0 if it is on what an expression gives.
fn column_number(schema: &TableSchema, column: usize) -> usize {
    match schema.columns.get(column).map(|column| &column.origin) {
        Some(Origin::Indexed(indexed)) => {
            schema.position(&indexed.expression).map_or(0, |position| position + 1)
        }
        Some(_) => column + 1,
        None => 0,
    }
}

system_table! {
    SequenceRow = "sequences" by sequences {
        database_name: Text,
        database_oid: Big,
        schema_name: Text,
        schema_oid: Big,
        sequence_name: Text,
        sequence_oid: Big,
        comment: Text,
        temporary: Truth,
        start_value: Big,
        min_value: Big,
        max_value: Big,
        increment_by: Big,
        cycle: Truth,
        last_value: Big,
        sql: Text,
    }
}

fn sequences(gather: &Gather<'_>) -> Vec<SequenceRow> {
    let mut rows = Vec::new();
    for seen in gather.databases() {
        for object in seen.objects() {
            let Object::Sequence(sequence) = object else { continue };
            let options = &sequence.options;
            let [database_name, database_oid, schema_name, schema_oid] = seen.place(&sequence.name);
            rows.push(SequenceRow {
                database_name,
                database_oid,
                schema_name,
                schema_oid,
                sequence_name: text(bare_name(&sequence.name)),
                sequence_oid: Value::BigInt(seen.object_oid(sequence.id)),
                comment: seen.comment(sequence.id, None),
                temporary: Value::Boolean(seen.is_temporary()),
                start_value: Value::BigInt(options.start),
                min_value: Value::BigInt(options.min),
                max_value: Value::BigInt(options.max),
                increment_by: Value::BigInt(options.increment),
                cycle: Value::Boolean(options.cycle),
                last_value: sequence.counter().last.map_or(Value::Null, Value::BigInt),
                sql: text(sql::create_sequence(sequence) + ";"),
            });
        }
    }
    rows
}

system_table! {
    CommentRow = "comments" by comments {
        object_oid: Big,
        column_name: Text,
        comment: Text,
    }
}

fn comments(gather: &Gather<'_>) -> Vec<CommentRow> {
    let mut rows = Vec::new();
    for seen in gather.databases() {
        for comment in seen.state.definitions(DefinitionKind::Comment) {
            let Some(owner) = comment.owner else { continue };
            let column = comment.name.split_once('.').map(|(_, column)| column.to_string());
            rows.push(CommentRow {
                object_oid: Value::BigInt(seen.object_oid(owner)),
                column_name: optional(column),
                comment: text(&comment.sql),
            });
        }
    }
    rows
}

system_table! {
    Dependency = "dependencies" by dependencies {
        classid: Big,
        objid: Big,
        objsubid: Small,
        refclassid: Big,
        refobjid: Big,
        refobjsubid: Small,
        deptype: Text,
    }
}

fn dependencies(gather: &Gather<'_>) -> Vec<Dependency> {
    let mut rows = Vec::new();
    for seen in gather.databases() {
        for object in seen.objects() {
            let Object::Index(index) = object else { continue };
            rows.push(Dependency {
                classid: Value::BigInt(0),
                objid: Value::BigInt(seen.object_oid(index.table)),
                objsubid: Value::Integer(0),
                refclassid: Value::BigInt(0),
                refobjid: Value::BigInt(seen.object_oid(index.id)),
                refobjsubid: Value::Integer(0),
                deptype: text("a"),
            });
        }
    }
    rows
}

system_table! {
    Extension = "extensions" by extensions {
        extension_name: Text,
        loaded: Truth,
        installed: Truth,
        install_path: Text,
        description: Text,
    }
}

/// None: what others have as extensions is built in.
fn extensions(_: &Gather<'_>) -> Vec<Extension> {
    Vec::new()
}
