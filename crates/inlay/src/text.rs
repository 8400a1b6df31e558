//! Definitions as SQL that makes them again.

use inlay_catalog::{ColumnSchema, TableSchema};
use inlay_sql::parser::{create_function_text, parse_functions};
use inlay_storage::store::{
    Definition, DefinitionKind, IndexDefinition, IndexKind, Sequence, SequenceOptions, State, View,
};
use inlay_storage::{ForeignKey, Origin, ReferenceAction};
use inlay_types::Result;
use std::fmt::Write;

/// A name that means itself whatever it consists of.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// The name of what is known by `key`, with its schema unless that is `main`.
pub(crate) fn name(key: &str) -> String {
    match inlay_catalog::split_name(key) {
        (schema, own) if same_name(schema, inlay_catalog::MAIN) => quoted(own),
        (schema, own) => format!("{}.{}", quoted(schema), quoted(own)),
    }
}

/// Names in parentheses.
pub(crate) fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    format!("({})", names.map(quoted).collect::<Vec<_>>().join(", "))
}

/// Text as a literal.
pub(crate) fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// CREATE TABLE. `keys` are the UNIQUE constraints, `foreign_keys` those that can be made with the table, and
/// `identity` gives the sequence of an identity column.
pub(crate) fn create_table(
    schema: &TableSchema,
    keys: &[Vec<usize>],
    foreign_keys: &[ForeignKey],
    identity: &dyn Fn(&ColumnSchema) -> Option<SequenceOptions>,
) -> String {
    let mut parts: Vec<String> = schema.visible().map(|(_, column)| column_text(column, identity)).collect();
    let names =
        |positions: &[usize]| list(positions.iter().map(|&index| schema.columns[index].name.as_str()));
    let given = |key: &[usize]| {
        let found = schema.key_names.iter().find(|(named, _)| named == key);
        found.map_or_else(String::new, |(_, name)| format!("CONSTRAINT {} ", quoted(name)))
    };
    if !schema.primary_key.is_empty() {
        let deferral = schema.deferral(&schema.primary_key).words();
        parts.push(format!(
            "{}PRIMARY KEY {}{deferral}",
            given(&schema.primary_key),
            names(&schema.primary_key)
        ));
    }
    let keys = keys.iter().filter(|key| schema.is_visible_key(key));
    parts.extend(
        keys.map(|key| format!("{}UNIQUE {}{}", given(key), names(key), schema.deferral(key).words())),
    );
    let check = |check: &inlay_storage::Check| {
        format!("CONSTRAINT {} CHECK ({})", quoted(&check.name), check.condition)
    };
    parts.extend(schema.checks.iter().map(check));
    parts.extend(foreign_keys.iter().map(|key| foreign_key(schema, key)));
    format!("CREATE TABLE {} (\n    {}\n)", name(&schema.name), parts.join(",\n    "))
}

fn column_text(column: &ColumnSchema, identity: &dyn Fn(&ColumnSchema) -> Option<SequenceOptions>) -> String {
    let mut text = format!("{} {}", quoted(&column.name), column.ty);
    if let Some(collation) = &column.collation {
        let _ = write!(text, " COLLATE {}", quoted(collation));
    }
    let kind = match &column.origin {
        Origin::Computed(expression) => {
            let _ = write!(text, " GENERATED ALWAYS AS ({expression}) STORED");
            None
        }
        Origin::IdentityAlways => Some("ALWAYS"),
        Origin::IdentityByDefault => Some("BY DEFAULT"),
        Origin::Given | Origin::Indexed(_) => {
            if let Some(default) = &column.default {
                let _ = write!(text, " DEFAULT {default}");
            }
            None
        }
    };
    if let Some(kind) = kind {
        let _ = write!(text, " GENERATED {kind} AS IDENTITY");
        if let Some(options) = identity(column) {
            let _ = write!(text, " ({})", sequence_options(&options));
        }
    }
    if column.not_null {
        text.push_str(" NOT NULL");
    }
    text
}

/// A foreign key as a constraint of its table.
pub(crate) fn foreign_key(schema: &TableSchema, key: &ForeignKey) -> String {
    let columns = list(key.columns.iter().map(|&index| schema.columns[index].name.as_str()));
    let referenced = list(key.referenced.iter().map(String::as_str));
    let mut text = format!(
        "CONSTRAINT {} FOREIGN KEY {columns} REFERENCES {} {referenced}",
        quoted(&key.name),
        name(&key.table)
    );
    for (event, action) in [("DELETE", key.on_delete), ("UPDATE", key.on_update)] {
        let words = match action {
            ReferenceAction::NoAction => continue,
            ReferenceAction::Restrict => "RESTRICT",
            ReferenceAction::Cascade => "CASCADE",
            ReferenceAction::SetNull => "SET NULL",
            ReferenceAction::SetDefault => "SET DEFAULT",
        };
        let _ = write!(text, " ON {event} {words}");
    }
    text.push_str(key.deferral.words());
    text
}

fn sequence_options(options: &SequenceOptions) -> String {
    let SequenceOptions { start, increment, min, max, cycle } = options;
    let cycle = if *cycle { " CYCLE" } else { "" };
    format!("START WITH {start} INCREMENT BY {increment} MINVALUE {min} MAXVALUE {max}{cycle}")
}

/// CREATE SEQUENCE.
pub(crate) fn create_sequence(sequence: &Sequence) -> String {
    format!("CREATE SEQUENCE {} {}", name(&sequence.name), sequence_options(&sequence.options))
}

/// CREATE INDEX.
pub(crate) fn create_index(index: &IndexDefinition, schema: &TableSchema) -> String {
    let unique = if index.unique { "UNIQUE " } else { "" };
    let columns = index.columns.iter().filter_map(|&column| schema.columns.get(column));
    let keys: Vec<String> = columns.clone().map(index_key).collect();
    let condition = columns.filter_map(condition_of).next();
    let condition = condition.map_or_else(String::new, |condition| format!(" WHERE {condition}"));
    let using = match index.kind {
        IndexKind::Art => "",
        IndexKind::Bitmap => "USING bitmap ",
    };
    format!(
        "CREATE {unique}INDEX {} ON {} {using}({}){condition}",
        quoted(inlay_catalog::bare_name(&index.name)),
        name(&schema.name),
        keys.join(", ")
    )
}

/// A key of an index: a column, or an expression in parentheses.
pub(crate) fn index_key(column: &ColumnSchema) -> String {
    match &column.origin {
        Origin::Indexed(indexed) if is_name(&indexed.expression) => indexed.expression.clone(),
        Origin::Indexed(indexed) => format!("({})", indexed.expression),
        _ => quoted(&column.name),
    }
}

/// Whether a text is a name and nothing else.
fn is_name(text: &str) -> bool {
    let quoted = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    match quoted {
        Some(inner) => !inner.contains('"'),
        None => text.chars().all(|c| c.is_alphanumeric() || c == '_'),
    }
}

/// The condition of a partial index, which one of its columns has.
pub(crate) fn condition_of(column: &ColumnSchema) -> Option<&String> {
    match &column.origin {
        Origin::Indexed(indexed) => indexed.condition.as_ref(),
        _ => None,
    }
}

/// CREATE VIEW.
pub(crate) fn create_view(view: &View) -> String {
    let aliases = if view.aliases.is_empty() {
        String::new()
    } else {
        format!(" {}", list(view.aliases.iter().map(String::as_str)))
    };
    format!("CREATE VIEW {}{aliases} AS {}", name(&view.name), view.sql)
}

/// CREATE SCHEMA, TYPE, MACRO or FUNCTION; of a function one for each overload.
pub(crate) fn create_definition(definition: &Definition) -> Result<String> {
    Ok(match definition.kind {
        DefinitionKind::Function => {
            let overloads = parse_functions(inlay_catalog::bare_name(&definition.name), &definition.sql)?;
            let create = |overload| create_function_text(&name(&definition.name), overload);
            overloads.iter().map(create).collect::<Vec<_>>().join(";\n")
        }
        DefinitionKind::Schema => format!("CREATE SCHEMA {}", quoted(&definition.name)),
        DefinitionKind::Type => format!("CREATE TYPE {} AS {}", name(&definition.name), definition.sql),
        _ => format!("CREATE MACRO {}{}", name(&definition.name), definition.sql),
    })
}

/// Whether a text has a word.
pub(crate) fn mentions(text: &str, word: &str) -> bool {
    let (text, word) = (text.to_lowercase(), word.to_lowercase());
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(&word).any(|(at, found)| {
        let before = text[..at].chars().next_back();
        let after = text[at + found.len()..].chars().next();
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}

/// Whether a name is among others.
pub(crate) fn is_one_of(names: &[String], name: &str) -> bool {
    names.iter().any(|known| same_name(known, name))
}

/// Whether two names are the same.
pub(crate) fn same_name(left: &str, right: &str) -> bool {
    left == right || left.to_lowercase() == right.to_lowercase()
}

/// The keys that constraints of a table say, without those of its unique indexes, which are in the schema beside them.
pub(crate) fn constraint_keys<'a>(
    schema: &TableSchema,
    indexes: impl Iterator<Item = &'a IndexDefinition>,
) -> Vec<Vec<usize>> {
    let mut keys = schema.keys.clone();
    for index in indexes.filter(|index| index.unique) {
        if let Some(position) = keys.iter().rposition(|key| *key == index.columns) {
            keys.remove(position);
        }
    }
    let marked = schema.columns.iter().enumerate().filter(|(_, column)| column.unique);
    let marked = marked.map(|(index, _)| vec![index]);
    for key in marked.chain([schema.primary_key.clone()]) {
        if !key.is_empty() && !keys.contains(&key) {
            keys.push(key);
        }
    }
    keys.retain(|key| schema.is_visible_key(key));
    keys
}

/// The comment on an object, or on a column of it.
pub(crate) fn comment_on(state: &State, owner: Option<u64>, column: Option<&str>) -> Option<String> {
    let found = state.definition(DefinitionKind::Comment, &comment_key(owner, column))?;
    Some(found.sql.clone())
}

/// What the comment on an object, or on a column of it, is known by.
pub(crate) fn comment_key(owner: Option<u64>, column: Option<&str>) -> String {
    match (owner, column) {
        (None, _) => "database".to_string(),
        (Some(owner), None) => format!("{owner}"),
        (Some(owner), Some(column)) => format!("{owner}.{column}"),
    }
}
