//! `inlay_functions()`: the functions of the registry, those in FROM, and macros.

use super::gather::{Gather, optional, text, texts};
use super::system_table;
use super::tables::FUNCTION_NAMES;
use super::views::macros_of_system;
use inlay_catalog::bare_name;
use inlay_functions::manual;
use inlay_functions::manual::parameters::parameter_names;
use inlay_kernels::external::FunctionDefinition;
use inlay_kernels::function::Volatility;
use inlay_sql::parser::{parse_functions, parse_macro};
use inlay_storage::store::DefinitionKind;
use inlay_types::{LogicalType, Value};
use std::sync::Arc;

/// What a signature such as `f(INTEGER, start, ...) -> BIGINT` says.
struct Parts {
    parameters: Vec<String>,
    types: Vec<String>,
    /// The type of the arguments that `...` stands for.
    varargs: Option<String>,
    returns: Option<String>,
}

fn parts_of(signature: &str) -> Parts {
    let (call, returns) = match signature.rsplit_once(" -> ") {
        Some((call, returns)) => (call, Some(returns.to_string())),
        None => (signature, None),
    };
    let inner = call.split_once('(').map_or("", |(_, rest)| rest.strip_suffix(')').unwrap_or(rest));
    // Brackets that open before an argument say that it may be left out.
    let optional = inner.matches(", [").count();
    let inner = inner.strip_suffix(&"]".repeat(optional)).unwrap_or(inner).replace(", [", ", ");
    let mut items: Vec<String> = Vec::new();
    let mut depth = 0i32;
    for piece in inner.split(',') {
        match items.last_mut() {
            // A comma inside of a type's brackets.
            Some(last) if depth > 0 => *last = format!("{last},{piece}"),
            _ => items.push(piece.trim().to_string()),
        }
        depth += piece.matches(['(', '[']).count() as i32 - piece.matches([')', ']']).count() as i32;
    }
    items.retain(|item| !item.is_empty());
    let repeats = items.last().is_some_and(|item| item == "...");
    items.truncate(items.len() - usize::from(repeats));
    // Types are written in capitals, what has any type by its role.
    let is_type = |item: &str| item.starts_with(|c: char| c.is_ascii_uppercase());
    let ty = |item: &String| if is_type(item) { item.clone() } else { "ANY".to_string() };
    let name = |(index, item): (usize, &String)| {
        if is_type(item) || item == "any" { format!("col{index}") } else { item.clone() }
    };
    Parts {
        parameters: items.iter().enumerate().map(name).collect(),
        types: items.iter().map(ty).collect(),
        varargs: items.last().filter(|_| repeats).map(ty),
        returns,
    }
}

/// The names that calls can give so many arguments, if there are some; else what stands in their places in the signature.
fn named(function: &str, kind: &str, places: Vec<String>) -> Vec<String> {
    if kind == manual::Kind::Table.name() || places.is_empty() {
        return places;
    }
    let mut lists = parameter_names(function).map(|names| names.map(str::to_string).collect::<Vec<_>>());
    lists.find(|names| names.len() == places.len()).unwrap_or(places)
}

system_table! {
    FunctionRow = "functions" by functions {
        database_name: Text,
        database_oid: Text,
        schema_name: Text,
        function_name: Text,
        alias_of: Text,
        function_type: Text,
        description: Text,
        comment: Text,
        return_type: Text,
        parameters: Texts,
        parameter_types: Texts,
        varargs: Text,
        macro_definition: Text,
        has_side_effects: Truth,
        internal: Truth,
        extension_name: Text,
        function_oid: Big,
        examples: Texts,
        stability: Text,
        categories: Texts,
        signature: Text,
    }
}

/// See the module documentation.
fn functions(gather: &Gather<'_>) -> Vec<FunctionRow> {
    let mut rows = Rows::default();
    rows.add_manual();
    rows.add_in_from(gather);
    for (kind, shown) in [(DefinitionKind::Macro, "macro"), (DefinitionKind::TableMacro, "table_macro")] {
        rows.add_macros(gather, kind, shown);
    }
    rows.add_stored(gather);
    for external in gather.names.database.functions_of_host().all_own() {
        let definition = &external.definition;
        rows.add(system(), &definition.name, None, definition.kind.name(), about_external(definition));
    }
    rows.0
}

/// Where the functions of the engine are.
fn system() -> [Value; 3] {
    [text("system"), text("0"), text("main")]
}

/// The rows so far; the number of each is its function's.
#[derive(Default)]
struct Rows(Vec<FunctionRow>);

impl Rows {
    fn add(&mut self, place: [Value; 3], name: &str, alias_of: Option<&str>, kind: &str, about: About) {
        let parts = parts_of(&about.signature);
        let side_effects = about.stability == "VOLATILE";
        let oid = Value::BigInt(self.0.len() as i64 + 1);
        let [database, database_oid, schema] = place;
        self.0.push(FunctionRow {
            database_name: database,
            database_oid,
            schema_name: schema,
            function_name: text(name),
            alias_of: optional(alias_of.map(str::to_string)),
            function_type: text(kind),
            description: optional(about.description),
            comment: optional(about.comment),
            return_type: optional(parts.returns),
            parameters: texts(about.parameters.unwrap_or_else(|| named(name, kind, parts.parameters))),
            parameter_types: match about.types {
                Some(values) => Value::List { element: Arc::new(LogicalType::Varchar), values },
                None => texts(parts.types),
            },
            varargs: optional(parts.varargs),
            macro_definition: optional(about.definition),
            has_side_effects: if kind.ends_with("macro") {
                Value::Null
            } else {
                Value::Boolean(side_effects)
            },
            internal: Value::Boolean(about.internal),
            extension_name: Value::Null,
            function_oid: oid,
            examples: texts(about.example.into_iter().collect()),
            stability: text(about.stability),
            categories: texts(about.category.into_iter().collect()),
            signature: text(about.signature),
        });
    }

    /// Those of the manual, a row for each signature under each of their names.
    fn add_manual(&mut self) {
        for entry in manual::all() {
            let kind = match entry.kind {
                manual::Kind::Operator => "scalar",
                other => other.name(),
            };
            let stability = stability_of(entry.volatility);
            let example = (!entry.example.call.is_empty()).then(|| entry.example.call.to_string());
            for signature in &entry.signatures {
                let about = || About {
                    signature: signature.clone(),
                    description: Some(entry.description.to_string()),
                    example: example.clone(),
                    stability: stability.to_string(),
                    category: Some(entry.category.name().to_string()),
                    internal: true,
                    ..About::default()
                };
                self.add(system(), entry.name, None, kind, about());
                for alias in entry.aliases {
                    self.add(system(), alias, Some(entry.name), kind, about());
                }
            }
        }
    }

    /// Functions in FROM that the manual does not have.
    fn add_in_from(&mut self, gather: &Gather<'_>) {
        let known: Vec<&str> = manual::all().map(|entry| entry.name).collect();
        let mut in_from: Vec<&str> = gather.names.database.functions().keys().copied().collect();
        in_from.extend(FUNCTION_NAMES.iter().map(String::as_str));
        in_from.retain(|name| !known.contains(name));
        in_from.sort_unstable();
        for name in in_from {
            let about = About { signature: format!("{name}()"), internal: true, ..About::default() };
            self.add(system(), name, None, "table", about);
        }
    }

    /// Macros of the system, and those of each database.
    fn add_macros(&mut self, gather: &Gather<'_>, kind: DefinitionKind, shown: &str) {
        for (name, sql) in macros_of_system(kind) {
            self.add_macro(system(), name, sql, shown, None);
        }
        for seen in gather.databases() {
            for definition in seen.state.definitions(kind) {
                let schema = inlay_catalog::schema_of(&definition.name);
                let place = [text(&seen.name), text(seen.number.to_string()), text(schema)];
                let comment = crate::text::comment_on(&seen.state, Some(definition.id), None);
                self.add_macro(place, bare_name(&definition.name), &definition.sql, shown, Some(comment));
            }
        }
    }

    /// The overloads of a macro. `comment` is what is said of it by one who made it; the system's are nobody's.
    fn add_macro(
        &mut self,
        place: [Value; 3],
        name: &str,
        sql: &str,
        kind: &str,
        comment: Option<Option<String>>,
    ) {
        let internal = comment.is_none();
        for overload in parse_macro(sql).unwrap_or_default() {
            let names: Vec<String> =
                overload.parameters.iter().map(|parameter| parameter.name.value.clone()).collect();
            let types = overload.parameters.iter().map(|parameter| match &parameter.data_type {
                Some(ty) => text(ty.to_string()),
                None => Value::Null,
            });
            let about = About {
                signature: format!("{name}({})", names.join(", ")),
                parameters: Some(names),
                types: Some(types.collect()),
                comment: comment.clone().flatten(),
                definition: Some(overload.text.clone()),
                internal,
                ..About::default()
            };
            self.add(place.clone(), name, None, kind, about);
        }
    }

    /// Functions of the host that are kept in databases.
    fn add_stored(&mut self, gather: &Gather<'_>) {
        for seen in gather.databases() {
            for definition in seen.state.definitions(DefinitionKind::Function) {
                let schema = inlay_catalog::schema_of(&definition.name);
                let name = bare_name(&definition.name);
                for overload in parse_functions(name, &definition.sql).unwrap_or_default() {
                    let place = [text(&seen.name), text(seen.number.to_string()), text(schema)];
                    self.add(place, name, None, overload.kind.name(), about_external(&overload));
                }
            }
        }
    }
}

fn about_external(definition: &FunctionDefinition) -> About {
    let mut parameters: Vec<String> = definition.parameters.iter().map(|p| p.name.clone()).collect();
    if definition.is_variadic {
        parameters.push("args".to_string());
    }
    About {
        signature: definition.signature().replace('*', "..."),
        parameters: Some(parameters),
        definition: (!definition.body.is_empty()).then(|| definition.body.clone()),
        stability: stability_of(definition.volatility).to_string(),
        ..About::default()
    }
}

fn stability_of(volatility: Volatility) -> &'static str {
    match volatility {
        Volatility::Immutable => "CONSISTENT",
        Volatility::Stable => "STABLE",
        Volatility::Volatile => "VOLATILE",
    }
}

/// What is said of a function.
#[derive(Default)]
struct About {
    signature: String,
    parameters: Option<Vec<String>>,
    /// Those of a macro, which may have none.
    types: Option<Vec<Value>>,
    comment: Option<String>,
    category: Option<String>,
    description: Option<String>,
    example: Option<String>,
    definition: Option<String>,
    stability: String,
    internal: bool,
}
