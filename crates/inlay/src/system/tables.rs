//! The rows of each system table.

use super::constraints::{constraints, key_columns};
use super::functions::functions;
use super::gather::{Gather, Seen, list, number, numeric, optional, small, text, type_oid};
use super::types::{labels, types};
use super::{Rows, SystemTable, resident, secrets};
use crate::settings;
use crate::text::{self as sql, constraint_keys};
use inlay_catalog::{TableSchema, bare_name};
use inlay_storage::Origin;
use inlay_storage::store::{DefinitionKind, Object};
use inlay_types::{Value, keywords};
use std::sync::LazyLock;

/// Every system table.
pub(super) const TABLES: &[SystemTable] = &[
    SystemTable {
        name: "databases",
        columns: &[
            ("database_name", 't'),
            ("database_oid", 'i'),
            ("path", 't'),
            ("comment", 't'),
            ("internal", 'b'),
            ("type", 't'),
            ("readonly", 'b'),
        ],
        rows: databases,
    },
    SystemTable {
        name: "schemas",
        columns: &[
            ("oid", 'i'),
            ("database_name", 't'),
            ("database_oid", 'i'),
            ("schema_name", 't'),
            ("comment", 't'),
            ("internal", 'b'),
            ("sql", 't'),
        ],
        rows: schemas,
    },
    SystemTable {
        name: "tables",
        columns: &[
            ("database_name", 't'),
            ("database_oid", 'i'),
            ("schema_name", 't'),
            ("schema_oid", 'i'),
            ("table_name", 't'),
            ("table_oid", 'i'),
            ("comment", 't'),
            ("internal", 'b'),
            ("temporary", 'b'),
            ("has_primary_key", 'b'),
            ("estimated_size", 'i'),
            ("column_count", 'i'),
            ("index_count", 'i'),
            ("check_constraint_count", 'i'),
            ("sql", 't'),
            ("is_materialized_view", 'b'),
        ],
        rows: tables,
    },
    SystemTable {
        name: "columns",
        columns: &[
            ("database_name", 't'),
            ("database_oid", 'i'),
            ("schema_name", 't'),
            ("schema_oid", 'i'),
            ("table_name", 't'),
            ("table_oid", 'i'),
            ("column_name", 't'),
            ("column_index", 'n'),
            ("comment", 't'),
            ("internal", 'b'),
            ("column_default", 't'),
            ("is_nullable", 'b'),
            ("data_type", 't'),
            ("data_type_id", 'i'),
            ("character_maximum_length", 'n'),
            ("numeric_precision", 'n'),
            ("numeric_precision_radix", 'n'),
            ("numeric_scale", 'n'),
            ("is_generated", 'b'),
            ("generation_expression", 't'),
            ("identity_generation", 't'),
        ],
        rows: columns,
    },
    SystemTable {
        name: "views",
        columns: &[
            ("database_name", 't'),
            ("database_oid", 'i'),
            ("schema_name", 't'),
            ("schema_oid", 'i'),
            ("view_name", 't'),
            ("view_oid", 'i'),
            ("comment", 't'),
            ("internal", 'b'),
            ("temporary", 'b'),
            ("column_count", 'i'),
            ("sql", 't'),
            ("definition", 't'),
        ],
        rows: views,
    },
    SystemTable {
        name: "indexes",
        columns: &[
            ("database_name", 't'),
            ("database_oid", 'i'),
            ("schema_name", 't'),
            ("schema_oid", 'i'),
            ("index_name", 't'),
            ("index_oid", 'i'),
            ("table_name", 't'),
            ("table_oid", 'i'),
            ("comment", 't'),
            ("is_unique", 'b'),
            ("is_primary", 'b'),
            ("expressions", 't'),
            ("sql", 't'),
        ],
        rows: indexes,
    },
    SystemTable { name: "resident", columns: resident::COLUMNS, rows: resident::resident },
    SystemTable { name: "secrets", columns: secrets::COLUMNS, rows: secrets::secrets },
    SystemTable {
        name: "constraints",
        columns: &[
            ("database_name", 't'),
            ("database_oid", 'i'),
            ("schema_name", 't'),
            ("schema_oid", 'i'),
            ("table_name", 't'),
            ("table_oid", 'i'),
            ("constraint_index", 'i'),
            ("constraint_type", 't'),
            ("constraint_text", 't'),
            ("expression", 't'),
            ("constraint_column_indexes", 't'),
            ("constraint_column_names", 't'),
            ("constraint_name", 't'),
            ("referenced_table", 't'),
            ("referenced_column_names", 't'),
            ("constraint_oid", 'i'),
            ("update_rule", 't'),
            ("delete_rule", 't'),
            ("unique_constraint_name", 't'),
            ("is_deferrable", 'b'),
            ("initially_deferred", 'b'),
            ("referenced_column_indexes", 't'),
        ],
        rows: constraints,
    },
    SystemTable {
        // One row per column of a key: what information_schema.key_column_usage shows.
        name: "key_columns",
        columns: &[
            ("database_name", 't'),
            ("schema_name", 't'),
            ("table_name", 't'),
            ("constraint_name", 't'),
            ("constraint_type", 't'),
            ("column_name", 't'),
            ("ordinal_position", 'i'),
            ("referenced_table", 't'),
            ("referenced_column", 't'),
        ],
        rows: key_columns,
    },
    SystemTable {
        name: "types",
        columns: &[
            ("database_name", 't'),
            ("database_oid", 'i'),
            ("schema_name", 't'),
            ("schema_oid", 'i'),
            ("type_oid", 'i'),
            ("type_name", 't'),
            ("type_size", 'i'),
            ("logical_type", 't'),
            ("type_category", 't'),
            ("comment", 't'),
            ("internal", 'b'),
            ("labels", 't'),
        ],
        rows: types,
    },
    SystemTable {
        name: "sequences",
        columns: &[
            ("database_name", 't'),
            ("database_oid", 'i'),
            ("schema_name", 't'),
            ("schema_oid", 'i'),
            ("sequence_name", 't'),
            ("sequence_oid", 'i'),
            ("comment", 't'),
            ("temporary", 'b'),
            ("start_value", 'i'),
            ("min_value", 'i'),
            ("max_value", 'i'),
            ("increment_by", 'i'),
            ("cycle", 'b'),
            ("last_value", 'i'),
            ("sql", 't'),
        ],
        rows: sequences,
    },
    SystemTable {
        name: "functions",
        columns: &[
            ("database_name", 't'),
            ("database_oid", 't'),
            ("schema_name", 't'),
            ("function_name", 't'),
            ("alias_of", 't'),
            ("function_type", 't'),
            ("description", 't'),
            ("comment", 't'),
            ("return_type", 't'),
            ("parameters", 'l'),
            ("parameter_types", 'l'),
            ("varargs", 't'),
            ("macro_definition", 't'),
            ("has_side_effects", 'b'),
            ("internal", 'b'),
            ("extension_name", 't'),
            ("function_oid", 'i'),
            ("examples", 'l'),
            ("stability", 't'),
            ("categories", 'l'),
            ("signature", 't'),
        ],
        rows: functions,
    },
    SystemTable {
        name: "settings",
        columns: &[("name", 't'), ("value", 't'), ("description", 't'), ("input_type", 't'), ("scope", 't')],
        rows: all_settings,
    },
    SystemTable {
        name: "keywords",
        columns: &[("keyword_name", 't'), ("keyword_category", 't')],
        rows: keywords,
    },
    SystemTable { name: "collations", columns: &[("collname", 't')], rows: collations },
    SystemTable {
        name: "memory",
        columns: &[("tag", 't'), ("memory_usage_bytes", 'i'), ("temporary_storage_bytes", 'i')],
        rows: memory,
    },
    SystemTable {
        name: "resources",
        columns: &[
            ("mode", 't'),
            ("threads", 'i'),
            ("workers", 'i'),
            ("processors", 'f'),
            ("processors_of_others", 'f'),
            ("cpu_pressure", 'f'),
            ("memory_limit", 'i'),
            ("memory_used", 'i'),
            ("memory_available", 'i'),
            ("memory_pressure", 'f'),
            ("memory_is_short", 'b'),
        ],
        rows: resources,
    },
    SystemTable {
        name: "variables",
        columns: &[("name", 't'), ("value", 't'), ("type", 't')],
        rows: variables,
    },
    SystemTable {
        name: "prepared_statements",
        columns: &[("name", 't'), ("statement", 't')],
        rows: prepared,
    },
    SystemTable {
        name: "comments",
        columns: &[("object_oid", 'i'), ("column_name", 't'), ("comment", 't')],
        rows: comments,
    },
    SystemTable {
        name: "enum_labels",
        columns: &[("type_oid", 'i'), ("position", 'n'), ("label", 't')],
        rows: labels,
    },
    SystemTable {
        name: "dependencies",
        columns: &[
            ("classid", 'i'),
            ("objid", 'i'),
            ("objsubid", 'n'),
            ("refclassid", 'i'),
            ("refobjid", 'i'),
            ("refobjsubid", 'n'),
            ("deptype", 't'),
        ],
        rows: dependencies,
    },
    SystemTable {
        name: "extensions",
        columns: &[
            ("extension_name", 't'),
            ("loaded", 'b'),
            ("installed", 'b'),
            ("install_path", 't'),
            ("description", 't'),
        ],
        rows: |_| Vec::new(),
    },
    SystemTable { name: "temporary_files", columns: &[("path", 't'), ("size", 'i')], rows: temporary_files },
    SystemTable {
        name: "file_space",
        columns: &[
            ("database_name", 't'),
            ("block_size", 'i'),
            ("total_blocks", 'i'),
            ("used_blocks", 'i'),
            ("free_blocks", 'i'),
            ("wal_bytes", 'i'),
        ],
        rows: file_space,
    },
];

/// Names of all functions of this module, for hints.
pub(super) static FUNCTION_NAMES: LazyLock<Vec<String>> = LazyLock::new(|| {
    let names = |table: &SystemTable| [format!("inlay_{}", table.name), format!("duckdb_{}", table.name)];
    TABLES.iter().flat_map(names).collect()
});

fn databases(gather: &Gather<'_>) -> Rows {
    let mut rows: Rows = Vec::new();
    for seen in gather.databases() {
        let comment = optional(crate::text::comment_on(&seen.state, None, None));
        let internal = Value::Boolean(seen.is_temporary());
        let (path, read_only) = (optional(seen.path.clone()), Value::Boolean(seen.is_read_only));
        rows.push(vec![text(&seen.name), seen.oid(), path, comment, internal, text("inlay"), read_only]);
    }
    let (null, yes, no) = (Value::Null, Value::Boolean(true), Value::Boolean(false));
    rows.push(vec![text("system"), Value::BigInt(0), null.clone(), null, yes, text("inlay"), no]);
    rows
}

fn schemas(gather: &Gather<'_>) -> Rows {
    let mut rows = Vec::new();
    let row = |seen: &Seen, schema: &str, internal: bool| {
        let definition = seen.state.definition(DefinitionKind::Schema, schema);
        let made = definition.map(|_| format!("CREATE SCHEMA {};", sql::quoted(schema)));
        vec![
            Value::BigInt(seen.schema_oid(schema)),
            text(&seen.name),
            seen.oid(),
            text(schema),
            definition.map_or(Value::Null, |definition| seen.comment(definition.id, None)),
            Value::Boolean(internal),
            optional(made),
        ]
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

fn tables(gather: &Gather<'_>) -> Rows {
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
        let mut row = seen.place(&schema.name);
        row.extend([
            text(bare_name(&schema.name)),
            Value::BigInt(seen.object_oid(id)),
            seen.comment(id, None),
            Value::Boolean(false),
            Value::Boolean(seen.is_temporary()),
            Value::Boolean(!schema.primary_key.is_empty()),
            number(table.row_count()),
            number(schema.visible().count()),
            number(seen.state.indexes_of(id).count() + schema.all_keys().len()),
            number(schema.checks.len()),
            text(made),
            Value::Boolean(view.is_some()),
        ]);
        rows.push(row);
    }
    rows
}

fn columns(gather: &Gather<'_>) -> Rows {
    let mut rows = Vec::new();
    for seen in gather.databases() {
        for object in seen.objects() {
            let (id, oid) = (object.id(), Value::BigInt(seen.object_oid(object.id())));
            let head = || {
                let mut row = seen.place(object.name());
                row.extend([text(bare_name(object.name())), oid.clone()]);
                row
            };
            match object {
                Object::Table(_) => {
                    let Some(table) = gather.table(&seen, id) else { continue };
                    for (index, (_, column)) in table.schema().visible().enumerate() {
                        let (expression, identity) = match &column.origin {
                            Origin::Computed(expression) => (Some(expression.clone()), None),
                            Origin::IdentityAlways => (None, Some("ALWAYS".to_string())),
                            Origin::IdentityByDefault => (None, Some("BY DEFAULT".to_string())),
                            Origin::Given | Origin::Indexed(_) => (None, None),
                        };
                        let mut row = head();
                        row.extend([
                            text(&column.name),
                            small(index + 1),
                            seen.comment(id, Some(&column.name)),
                            Value::Boolean(false),
                            optional(column.default.clone()),
                            Value::Boolean(!column.not_null),
                            text(column.ty.to_string()),
                            Value::BigInt(type_oid(&column.ty)),
                            Value::Null,
                        ]);
                        row.extend(numeric(&column.ty));
                        row.extend([
                            Value::Boolean(expression.is_some()),
                            optional(expression),
                            optional(identity),
                        ]);
                        rows.push(row);
                    }
                }
                Object::View(view) => {
                    for (index, (name, ty)) in
                        gather.names.view_columns(&seen.name, &view.name).into_iter().enumerate()
                    {
                        let mut row = head();
                        row.extend([
                            text(&name),
                            small(index + 1),
                            seen.comment(id, Some(&name)),
                            Value::Boolean(false),
                            Value::Null,
                            Value::Boolean(true),
                            text(ty.to_string()),
                            Value::BigInt(type_oid(&ty)),
                            Value::Null,
                        ]);
                        row.extend(numeric(&ty));
                        row.extend([Value::Boolean(false), Value::Null, Value::Null]);
                        rows.push(row);
                    }
                }
                Object::Sequence(_) | Object::Index(_) | Object::Definition(_) => {}
            }
        }
    }
    rows
}

fn views(gather: &Gather<'_>) -> Rows {
    let mut rows = Vec::new();
    for seen in gather.databases() {
        for object in seen.objects() {
            let Object::View(view) = object else { continue };
            let mut row = seen.place(&view.name);
            row.extend([
                text(bare_name(&view.name)),
                Value::BigInt(seen.object_oid(view.id)),
                seen.comment(view.id, None),
                Value::Boolean(false),
                Value::Boolean(seen.is_temporary()),
                number(gather.names.view_columns(&seen.name, &view.name).len()),
                text(sql::create_view(view) + ";"),
                text(&view.sql),
            ]);
            rows.push(row);
        }
    }
    for (schema, name, definition) in super::all_views() {
        let mut row = gather.system_place(schema);
        row.extend([
            text(name),
            Value::Null,
            Value::Null,
            Value::Boolean(true),
            Value::Boolean(false),
            Value::Null,
            Value::Null,
            text(definition),
        ]);
        rows.push(row);
    }
    rows
}

fn indexes(gather: &Gather<'_>) -> Rows {
    let mut rows = Vec::new();
    for seen in gather.databases() {
        for object in seen.objects() {
            let Object::Index(index) = object else { continue };
            let Some(table) = gather.table(&seen, index.table) else { continue };
            let schema = table.schema();
            let columns = index.columns.iter().filter_map(|&column| schema.columns.get(column));
            let mut row = seen.place(&index.name);
            row.extend([
                text(bare_name(&index.name)),
                Value::BigInt(seen.object_oid(index.id)),
                text(bare_name(&schema.name)),
                Value::BigInt(seen.object_oid(index.table)),
                seen.comment(index.id, None),
                Value::Boolean(index.unique),
                Value::Boolean(false),
                text(list(columns.map(|column| match &column.origin {
                    Origin::Indexed(indexed) => indexed.expression.clone(),
                    _ => column.name.clone(),
                }))),
                text(sql::create_index(index, schema) + ";"),
            ]);
            rows.push(row);
        }
    }
    rows
}

fn sequences(gather: &Gather<'_>) -> Rows {
    let mut rows = Vec::new();
    for seen in gather.databases() {
        for object in seen.objects() {
            let Object::Sequence(sequence) = object else { continue };
            let options = &sequence.options;
            let mut row = seen.place(&sequence.name);
            row.extend([
                text(bare_name(&sequence.name)),
                Value::BigInt(seen.object_oid(sequence.id)),
                seen.comment(sequence.id, None),
                Value::Boolean(seen.is_temporary()),
                Value::BigInt(options.start),
                Value::BigInt(options.min),
                Value::BigInt(options.max),
                Value::BigInt(options.increment),
                Value::Boolean(options.cycle),
                sequence.counter().last.map_or(Value::Null, Value::BigInt),
                text(sql::create_sequence(sequence) + ";"),
            ]);
            rows.push(row);
        }
    }
    rows
}

fn all_settings(gather: &Gather<'_>) -> Rows {
    let row = |setting: &settings::Setting| {
        let value = gather.names.setting(setting.name);
        let ty = value.as_ref().map_or_else(|| "VARCHAR".to_string(), |v| v.logical_type().to_string());
        let scope = if setting.scope == settings::Scope::Database { "GLOBAL" } else { "LOCAL" };
        vec![
            text(setting.name),
            optional(value.map(|value| value.to_string())),
            text(setting.description),
            text(ty),
            text(scope),
        ]
    };
    settings::SETTINGS.iter().map(row).collect()
}

/// The words of the language, in lower case.
pub fn keyword_names() -> impl Iterator<Item = &'static str> {
    keywords::all().map(|(word, _)| word)
}

/// Whether a word cannot be a name without quotes.
pub fn is_reserved(word: &str) -> bool {
    keywords::is_reserved(word)
}

fn keywords(_: &Gather<'_>) -> Rows {
    keywords::all().map(|(word, category)| vec![text(word), text(category.name())]).collect()
}

fn collations(_: &Gather<'_>) -> Rows {
    let steps = ["icu_noaccent", "nfc", "noaccent", "nocase"];
    let mut names: Vec<&str> = inlay_functions::LOCALES.iter().copied().chain(steps).collect();
    names.sort_unstable();
    names.into_iter().map(|name| vec![text(name)]).collect()
}

fn memory(gather: &Gather<'_>) -> Rows {
    let used = gather.names.database.budget().used();
    vec![vec![text("DATABASE"), number(used), Value::BigInt(0)]]
}

/// What queries may use now, and what adaptive mode saw of the machine when it was last asked.
fn resources(gather: &Gather<'_>) -> Rows {
    let database = &gather.names.database;
    let (settings, budget) = (database.settings(), database.budget());
    let seen = settings.seen();
    let share = |of: fn(&crate::resources::Seen) -> f64| {
        seen.as_ref().map_or(Value::Null, |seen| Value::Double((of(seen) * 100.0).round() / 100.0))
    };
    vec![vec![
        text(settings.mode_name()),
        number(settings.pool().threads()),
        number(settings.pool().allowed()),
        share(|seen| seen.sample.processors),
        share(|seen| seen.others),
        share(|seen| seen.sample.cpu_pressure),
        number(budget.limit()),
        number(budget.used()),
        seen.map_or(Value::Null, |seen| number(seen.sample.memory_available)),
        share(|seen| seen.sample.memory_pressure),
        seen.map_or(Value::Null, |seen| Value::Boolean(seen.is_short)),
    ]]
}

/// Files that queries of this process have open; where the system lets them be without a name, their directory.
fn temporary_files(gather: &Gather<'_>) -> Rows {
    let temp = gather.names.database.settings().temp();
    let used = temp.used();
    if used == 0 {
        Vec::new()
    } else {
        vec![vec![text(temp.directory().display().to_string()), number(used)]]
    }
}

fn file_space(gather: &Gather<'_>) -> Rows {
    let mut rows = Vec::new();
    for seen in gather.databases().iter().filter(|seen| !seen.is_temporary()) {
        let Some(attached) = gather.names.database.attached(&seen.name) else { continue };
        let mut row = vec![text(&seen.name)];
        match attached.store.space() {
            Some((space, log)) => row.extend([
                number(inlay_storage::file::BLOCK_SIZE),
                number(space.block_count),
                number(space.used_count()),
                number(space.free_count + space.pending_count),
                number(log),
            ]),
            None => row.extend([0; 5].map(Value::BigInt)),
        }
        rows.push(row);
    }
    rows
}

fn variables(gather: &Gather<'_>) -> Rows {
    let mut all: Vec<_> = gather.names.variables.iter().collect();
    all.sort_by(|left, right| left.0.cmp(right.0));
    let row = |(name, value): (&String, &Value)| {
        vec![text(name), text(value.to_string()), text(value.logical_type().to_string())]
    };
    all.into_iter().map(row).collect()
}

fn prepared(gather: &Gather<'_>) -> Rows {
    let mut all: Vec<_> = gather.names.prepared.iter().collect();
    all.sort_by(|left, right| left.0.cmp(right.0));
    all.into_iter().map(|(name, prepared)| vec![text(name), text(prepared.statement.text())]).collect()
}

fn comments(gather: &Gather<'_>) -> Rows {
    let mut rows = Vec::new();
    for seen in gather.databases() {
        for comment in seen.state.definitions(DefinitionKind::Comment) {
            let Some(owner) = comment.owner else { continue };
            let column = comment.name.split_once('.').map(|(_, column)| column.to_string());
            rows.push(vec![Value::BigInt(seen.object_oid(owner)), optional(column), text(&comment.sql)]);
        }
    }
    rows
}

fn dependencies(gather: &Gather<'_>) -> Rows {
    let mut rows = Vec::new();
    for seen in gather.databases() {
        for object in seen.objects() {
            let Object::Index(index) = object else { continue };
            rows.push(vec![
                Value::BigInt(0),
                Value::BigInt(seen.object_oid(index.table)),
                Value::Integer(0),
                Value::BigInt(0),
                Value::BigInt(seen.object_oid(index.id)),
                Value::Integer(0),
                text("a"),
            ]);
        }
    }
    rows
}
