//! Schemas, macros, types, materialised views, comments, prepared statements, variables: see
//! [`crate::plan::object::ObjectStatement`].

use super::build::Build;
use super::coerce::concrete;
use super::object::{PUBLIC, undefined};
use super::scope::same_name;
use super::{Binder, with_stack};
use crate::parser::ast::object::{self as ast, Commented, DroppedKind, RenamedKind, TypeBody};
use crate::parser::ast::{Expr, ExprKind, Ident, ObjectName, OnCommit, OnExisting, QueryBody};
use crate::parser::{parse_functions, parse_macro};
use crate::plan;
use crate::plan::object::{Define, ObjectStatement};
use crate::plan::statement::{CreateTable, Drop, DroppedObject, ObjectKind as Kind};
use inlay_catalog::{
    CatalogEntry, ColumnSchema, Definition, DefinitionKind, MAIN, SYSTEM, SYSTEM_SCHEMAS, TEMPORARY,
    TableEntry, TableSchema, bare_name, near_names, qualified, schema_of,
};
use inlay_types::{Error, Result};
use std::sync::Arc;

impl Binder<'_> {
    pub(super) fn object_statement(&mut self, statement: &ast::ObjectStatement) -> Result<plan::Statement> {
        use ast::ObjectStatement as S;
        let bound = match statement {
            S::CreateSchema { name, on_existing } => self.create_schema(name, *on_existing)?,
            S::CreateMacro { name, temporary, on_existing, overloads, text } => {
                let (database, key) = self.new_name(name, *temporary)?;
                self.ask_function_name(name.last(), name.pos())?;
                let kind = match overloads.first().map(|overload| &overload.body) {
                    Some(ast::MacroBody::Table(_)) => DefinitionKind::TableMacro,
                    _ => DefinitionKind::Macro,
                };
                let is_taken =
                    self.context.catalog.definition(DefinitionKind::Function, Some(&database), &key);
                if kind == DefinitionKind::Macro && is_taken.is_some() {
                    let error = Error::Duplicate { kind: "function", name: name.last().to_string() };
                    return Err(self.at(error, name.pos()));
                }
                self.check_macro(&database, &key, overloads, text)?;
                define(database, kind, key, text.clone(), *on_existing)
            }
            S::CreateFunction(function) => self.create_function(function)?,
            S::CreateType { name, temporary, on_existing, body } => {
                self.create_type(name, *temporary, *on_existing, body)?
            }
            S::CreateMaterializedView { name, on_existing, columns, query, query_text, with_data } => {
                let (database, key) = self.new_name(name, false)?;
                let bound = self.query(query)?;
                if let Some(surplus) = columns.get(bound.output.len()) {
                    let (names, width) = (columns.len(), bound.output.len());
                    let message = format!("view \"{name}\" has {width} columns, {names} names are given");
                    return Err(self.at(Error::bind(message), surplus.pos));
                }
                let mut schema = TableSchema::new(key, Vec::new());
                for (index, column) in bound.output.iter().enumerate() {
                    let name = columns.get(index).map_or(&column.name, |given| &given.value);
                    schema
                        .columns
                        .push(ColumnSchema::new(name.clone(), concrete(self.columns.ty(column.id))));
                }
                super::define::unique_names(schema.columns.iter_mut().map(|column| &mut column.name));
                let query = with_data.then(|| self.finish(bound)).transpose()?;
                ObjectStatement::CreateMaterializedView {
                    table: Box::new(CreateTable {
                        database,
                        schema,
                        temporary: false,
                        on_commit: OnCommit::PreserveRows,
                        or_replace: *on_existing == OnExisting::Replace,
                        if_not_exists: *on_existing == OnExisting::Keep,
                        query,
                        sequences: Vec::new(),
                        indexes: Vec::new(),
                        comment: None,
                        comments: Vec::new(),
                    }),
                    sql: query_text.clone(),
                }
            }
            S::Role(role) => return self.role_statement(role),
            S::CreateTrigger(create) => self.new_trigger(create)?,
            S::DropTrigger { name, table, if_exists } => self.dropped_trigger(name, table, *if_exists)?,
            S::Refresh { name, with_data } => self.refresh(name, *with_data)?,
            S::Drop { kind, names, arguments, if_exists, cascade } => {
                return self.drop_definitions(*kind, names, arguments, *if_exists, *cascade);
            }
            S::Comment { on: Commented::Schema, name, .. } if self.is_main_schema(name)? => {
                return self.notice("no effect: the schema main has no comment");
            }
            S::Comment { on, name, text } => self.comment(*on, name, text.clone())?,
            S::Rename { kind, name, if_exists, new_name } => {
                return self.rename_object(*kind, name, *if_exists, new_name);
            }
            S::SetSchema { kind, name, if_exists, schema } => {
                return self.move_object(*kind, name, *if_exists, schema);
            }
            S::AlterType { name, change } => self.alter_type(name, change)?,
            S::Prepare { name, types, statement } => ObjectStatement::Prepare {
                name: name.value.to_lowercase(),
                types: types.iter().map(|ty| self.known_type(ty, name.pos)).collect::<Result<_>>()?,
                statement: statement.clone(),
            },
            S::Execute { name, arguments, named } => {
                let place = "an argument of EXECUTE";
                let arguments = arguments.iter().map(|argument| self.constant(argument, place));
                let arguments = arguments.collect::<Result<_>>()?;
                let named =
                    named.iter().map(|(name, value)| Ok((name.value.clone(), self.constant(value, place)?)));
                let named = named.collect::<Result<_>>()?;
                ObjectStatement::Execute { name: name.value.to_lowercase(), arguments, named }
            }
            S::Deallocate { name } => {
                ObjectStatement::Deallocate { name: name.as_ref().map(|name| name.value.to_lowercase()) }
            }
            S::SetVariable { name, value } => {
                let name = name.value.to_lowercase();
                match value {
                    Some(value) if with_stack(|| has_query(value)) => {
                        let build = Build(value.pos);
                        let select = build.select(vec![build.item(value.clone(), name.clone())], Vec::new());
                        let bound = self.query(&build.query(QueryBody::Select(Box::new(select))))?;
                        let query = Some(Box::new(self.finish(bound)?));
                        ObjectStatement::SetVariable { name, value: None, query }
                    }
                    _ => {
                        let value =
                            value.as_ref().map(|value| self.constant(value, "the value of a variable"));
                        ObjectStatement::SetVariable { name, value: value.transpose()?, query: None }
                    }
                }
            }
        };
        Ok(plan::Statement::Object(Box::new(bound)))
    }

    fn create_schema(&mut self, name: &ObjectName, on_existing: OnExisting) -> Result<ObjectStatement> {
        let (database, schema) = self.schema_name(name)?;
        if schema.contains('.') || schema.is_empty() {
            let message = format!("a schema cannot be called \"{schema}\": its name has no points");
            return Err(self.at(Error::bind(message), name.pos()));
        }
        let reserved = [MAIN, TEMPORARY, SYSTEM].iter().chain(&SYSTEM_SCHEMAS);
        if reserved.clone().any(|reserved| same_name(reserved, &schema)) {
            if on_existing == OnExisting::Keep {
                // It is there.
                let schema = DefinitionKind::Schema;
                return Ok(define(database, schema, MAIN.to_string(), String::new(), on_existing));
            }
            return Err(self.at(Error::Duplicate { kind: "schema", name: schema }, name.pos()));
        }
        if on_existing == OnExisting::Replace {
            self.check_empty(
                &database,
                &schema,
                name,
                "DROP SCHEMA ... CASCADE drops them, and then it can be made",
            )?;
        }
        Ok(define(database, DefinitionKind::Schema, schema, String::new(), on_existing))
    }

    /// Database and name of a schema, `schema` or `database.schema`.
    pub(super) fn schema_name(&self, name: &ObjectName) -> Result<(String, String)> {
        match name.parts.as_slice() {
            [schema] => Ok((self.current_database(), schema.value.clone())),
            [database, schema] => Ok((self.known_database(database)?, schema.value.clone())),
            _ => Err(self
                .at(Error::bind(format!("{name}: a schema is named schema or database.schema")), name.pos())),
        }
    }

    fn create_type(
        &mut self,
        name: &ObjectName,
        temporary: bool,
        on_existing: OnExisting,
        body: &TypeBody,
    ) -> Result<ObjectStatement> {
        let (database, key) = self.new_name(name, temporary)?;
        let (sql, labels) = match body {
            TypeBody::Enum(labels) => {
                let mut seen = std::collections::HashSet::with_capacity(labels.len());
                for label in labels {
                    if !seen.insert(label) {
                        let message = "an ENUM has each label once";
                        let hint = format!("'{label}' is there twice");
                        return Err(self.at(Error::invalid_argument(message).with_hint(hint), name.pos()));
                    }
                }
                (enum_text(labels), None)
            }
            TypeBody::EnumQuery(query) => {
                let bound = self.query(query)?;
                if bound.output.len() != 1 {
                    let message = "the query of an ENUM gives one column: its labels";
                    return Err(self.at(Error::bind(message), name.pos()));
                }
                (String::new(), Some(self.finish(bound)?))
            }
            // What the names in it mean now is kept, so that it depends on no other type.
            TypeBody::Alias(ty, text) => {
                let known = self.known_type(ty, name.pos())?;
                (if known == *ty { text.clone() } else { known.to_string() }, None)
            }
        };
        let ObjectStatement::Define(mut bound) =
            define(database, DefinitionKind::Type, key, sql, on_existing)
        else {
            return Err(Error::internal("a type that is no definition"));
        };
        bound.labels = labels;
        Ok(ObjectStatement::Define(bound))
    }

    /// A definition that a statement names, or the error with near names.
    pub(super) fn definition(
        &self,
        kind: DefinitionKind,
        name: &ObjectName,
    ) -> Result<(String, Arc<Definition>)> {
        let catalog = self.context.catalog;
        let found = self.looked_up(name, |database, key| catalog.definition(kind, database, key))?;
        found.ok_or_else(|| {
            let known = catalog.definitions(kind, &self.current_database());
            let near = near_names(name.last(), known.iter().map(|known| known.name.as_str()));
            let error = Error::bind(undefined(kind.name(), &name.to_string(), &near));
            let of_host = catalog.host_function_names().iter().any(|known| same_name(known, name.last()));
            let is_callable = matches!(kind, DefinitionKind::Macro | DefinitionKind::Function);
            self.at(
                match of_host && is_callable {
                    true => error.with_hint("a function of this name belongs to the program, which takes it back by remove_function"),
                    false => error,
                },
                name.pos(),
            )
        })
    }

    /// The same, where FUNCTION is another word for MACRO.
    pub(super) fn macro_or_function(
        &self,
        kind: DefinitionKind,
        name: &ObjectName,
    ) -> Result<(String, Arc<Definition>)> {
        let found = self.definition(kind, name);
        match found {
            Err(_) if kind == DefinitionKind::Macro => {
                self.definition(DefinitionKind::Function, name).or(found)
            }
            found => found,
        }
    }

    /// The table of a materialised view, and its query.
    pub(super) fn materialized_view(
        &self,
        name: &ObjectName,
    ) -> Result<(String, Arc<TableEntry>, Arc<Definition>)> {
        let (database, definition) = self.definition(DefinitionKind::MaterializedView, name)?;
        match self.context.catalog.resolve(Some(&database), &definition.name) {
            Some((_, CatalogEntry::Table(entry))) => Ok((database, entry, definition)),
            _ => Err(Error::internal(format!("materialized view \"{name}\" has no rows"))),
        }
    }

    /// Whether a table is that of a materialised view.
    pub(super) fn is_materialized(&self, database: &str, table: &TableEntry) -> bool {
        let kind = DefinitionKind::MaterializedView;
        self.context.catalog.definition(kind, Some(database), &table.name).is_some()
    }

    fn refresh(&mut self, name: &ObjectName, with_data: bool) -> Result<ObjectStatement> {
        let (database, table, definition) = self.materialized_view(name)?;
        let query = if with_data {
            let entry = inlay_catalog::ViewEntry {
                name: definition.name.clone(),
                aliases: Vec::new(),
                sql: definition.sql.clone(),
            };
            let bound = self.view(&database, &entry, name.pos())?;
            let own = super::change::insertable(table.table.schema());
            if bound.output.len() != own.len() {
                let message = format!(
                    "materialized view \"{name}\" has {} columns, and its query gives {} by now",
                    own.len(),
                    bound.output.len()
                );
                let hint = "create it anew";
                return Err(self.at(Error::bind(message).with_hint(hint), name.pos()));
            }
            // Its rows would be made to fit, and not be those of the query.
            let columns = own.iter().map(|index| &table.table.schema().columns[*index]);
            for (column, given) in columns.zip(&bound.output) {
                let ty = concrete(self.columns.ty(given.id));
                if ty != column.ty {
                    let message = format!(
                        "column \"{}\" of materialized view \"{name}\" is of type {}, and its query gives {ty} by now",
                        column.name, column.ty
                    );
                    return Err(self.at(Error::bind(message).with_hint("create it anew"), name.pos()));
                }
            }
            let bound = self.insert_query(&database, &table, &own, bound, name.pos())?;
            Some(self.finish(bound)?)
        } else {
            None
        };
        Ok(ObjectStatement::Refresh { database, table, query })
    }

    fn drop_definitions(
        &mut self,
        kind: DroppedKind,
        names: &[ObjectName],
        arguments: &[Option<usize>],
        if_exists: bool,
        cascade: bool,
    ) -> Result<plan::Statement> {
        let mut dropped = Drop { objects: Vec::new(), altered: Vec::new() };
        for (index, name) in names.iter().enumerate() {
            match kind {
                DroppedKind::Schema => self.drop_schema(name, if_exists, cascade, &mut dropped)?,
                DroppedKind::MaterializedView => match self.materialized_view(name) {
                    Ok((database, table, _)) => {
                        let name = table.name.clone();
                        dropped.objects.push(DroppedObject { database, kind: Kind::Table, name });
                    }
                    Err(_) if if_exists => {}
                    Err(error) => return Err(error),
                },
                DroppedKind::Macro | DroppedKind::TableMacro | DroppedKind::Type => {
                    let own = match kind {
                        DroppedKind::Macro => DefinitionKind::Macro,
                        DroppedKind::TableMacro => DefinitionKind::TableMacro,
                        _ => DefinitionKind::Type,
                    };
                    let mut found = self.definition(own, name);
                    if let (Err(_), DroppedKind::Macro) = (&found, kind) {
                        let function = self.definition(DefinitionKind::Function, name);
                        found =
                            function.or_else(|_| self.definition(DefinitionKind::TableMacro, name)).or(found);
                    }
                    match found {
                        Ok((database, definition)) => {
                            if own == DefinitionKind::Type {
                                self.check_unused(&database, &definition, name)?;
                            }
                            if let Some(count) = arguments.get(index).copied().flatten()
                                && let Err(error) = check_overload(&definition, count)
                            {
                                if if_exists {
                                    continue;
                                }
                                return Err(self.at(error, name.pos()));
                            }
                            let kind = Kind::Definition(definition.kind);
                            let name = definition.name.clone();
                            dropped.objects.push(DroppedObject { database, kind, name });
                        }
                        Err(_) if if_exists => {}
                        Err(error) => return Err(error),
                    }
                }
            }
        }
        Ok(plan::Statement::Drop(Box::new(dropped)))
    }

    /// Fails if an expression that a table is kept by names a type that is about to go. Columns have types of their own,
    /// whatever becomes of the name.
    fn check_unused(&self, database: &str, definition: &Definition, name: &ObjectName) -> Result<()> {
        let word = bare_name(&definition.name);
        for (_, entry) in self.context.catalog.entries(database) {
            let CatalogEntry::Table(entry) = entry else { continue };
            let schema = entry.table.schema();
            let of_columns = schema.columns.iter().flat_map(|column| {
                let computed = column.origin.computation().map(std::borrow::Cow::into_owned);
                let of = |what: &str| format!("{what} \"{}\"", column.name);
                let kind = if column.is_hidden() { of("an index on") } else { of("generated column") };
                let computed = computed.map(|text| (kind, text));
                computed
                    .into_iter()
                    .chain(column.default.clone().map(|text| (of("the default of column"), text)))
            });
            let checks = schema.checks.iter();
            let checks = checks.map(|check| (format!("CHECK \"{}\"", check.name), check.condition.clone()));
            if let Some((user, _)) = of_columns.chain(checks).find(|(_, text)| has_word(text, word)) {
                let message =
                    format!("type \"{word}\" is used by {user} of table \"{}\"", bare_name(&schema.name));
                let hint = "drop that first";
                return Err(self.at(Error::bind(message).with_hint(hint), name.pos()));
            }
        }
        Ok(())
    }

    fn drop_schema(
        &mut self,
        name: &ObjectName,
        if_exists: bool,
        cascade: bool,
        dropped: &mut Drop,
    ) -> Result<()> {
        let (database, schema) = match self.schema_name(name) {
            Err(_) if if_exists => return Ok(()),
            found => found?,
        };
        if same_name(&schema, MAIN) || SYSTEM_SCHEMAS.iter().any(|known| same_name(known, &schema)) {
            let message = format!("schema \"{schema}\" belongs to the database and cannot be dropped");
            return Err(self.at(Error::bind(message), name.pos()));
        }
        if !self.context.catalog.has_schema(&database, &schema) {
            if if_exists {
                return Ok(());
            }
            let known = self.schema_names(&database);
            let near = near_names(&schema, known.iter().map(String::as_str));
            return Err(self.at(Error::bind(undefined("schema", &schema, &near)), name.pos()));
        }
        if !cascade {
            self.check_empty(&database, &schema, name, "DROP SCHEMA ... CASCADE drops them, too")?;
        }
        let contents = self.contents(&database, &schema);
        dropped.objects.extend(contents.iter().cloned());
        for object in contents.iter().filter(|object| object.kind == Kind::Table) {
            self.drop_table(object, name, true, dropped)?;
        }
        let kind = Kind::Definition(DefinitionKind::Schema);
        dropped.objects.push(DroppedObject { database, kind, name: schema });
        Ok(())
    }

    /// An error if a schema holds anything.
    fn check_empty(&self, database: &str, schema: &str, name: &ObjectName, hint: &'static str) -> Result<()> {
        let contents = self.contents(database, schema);
        let Some(first) = contents.first() else { return Ok(()) };
        let others = match contents.len() - 1 {
            0 => String::new(),
            1 => " and another object".to_string(),
            count => format!(" and {count} other objects"),
        };
        let message = format!("schema \"{schema}\" holds \"{}\"{others}", first.name);
        Err(self.at(Error::bind(message).with_hint(hint), name.pos()))
    }

    /// All objects in a schema, those first that others of them may need last.
    fn contents(&self, database: &str, schema: &str) -> Vec<DroppedObject> {
        let catalog = self.context.catalog;
        let mut found = Vec::new();
        let mut add = |kind: Kind, name: &str| {
            if same_name(schema_of(name), schema) {
                found.push(DroppedObject { database: database.to_string(), kind, name: name.to_string() });
            }
        };
        for (_, entry) in catalog.entries(database) {
            match entry {
                CatalogEntry::Table(table) => add(Kind::Table, &table.name),
                CatalogEntry::View(view) => add(Kind::View, &view.name),
                CatalogEntry::Registered(_) => {}
            }
        }
        for sequence in catalog.sequences(database) {
            add(Kind::Sequence, &sequence.schema().name);
        }
        let kinds = [
            DefinitionKind::Macro,
            DefinitionKind::TableMacro,
            DefinitionKind::Function,
            DefinitionKind::Type,
        ];
        for kind in kinds {
            for definition in catalog.definitions(kind, database) {
                add(Kind::Definition(kind), &definition.name);
            }
        }
        found
    }

    /// Whether a name is that of the schema which names without one mean.
    fn is_main_schema(&self, name: &ObjectName) -> Result<bool> {
        let (database, schema) = self.schema_name(name)?;
        let is_public = same_name(&schema, PUBLIC) && !self.context.catalog.has_schema(&database, &schema);
        Ok(same_name(&schema, MAIN) || is_public)
    }

    pub(super) fn schema_definition(
        &self,
        database: &str,
        name: &ObjectName,
    ) -> Result<(String, Arc<Definition>)> {
        let found = self.context.catalog.definition(DefinitionKind::Schema, Some(database), name.last());
        found.ok_or_else(|| {
            let known = self.schema_names(database);
            let near = near_names(name.last(), known.iter().map(String::as_str));
            self.at(Error::bind(undefined("schema", name.last(), &near)), name.pos())
        })
    }

    pub(super) fn known_relation(&self, name: &ObjectName) -> Result<(String, CatalogEntry)> {
        self.object(name)?.ok_or_else(|| self.at(self.undefined_object(name), name.pos()))
    }

    pub(super) fn wrong<T>(&self, name: &ObjectName, what: &str) -> Result<T> {
        Err(self.at(Error::bind(format!("\"{name}\" is {what}")), name.pos()))
    }

    fn rename_object(
        &mut self,
        kind: RenamedKind,
        name: &ObjectName,
        if_exists: bool,
        new_name: &Ident,
    ) -> Result<plan::Statement> {
        let nothing = || plan::Statement::Drop(Box::new(Drop { objects: Vec::new(), altered: Vec::new() }));
        let own = match kind {
            RenamedKind::MaterializedView => {
                let found = self.materialized_view(name);
                let (database, table) = match found {
                    Ok((database, table, _)) => (database, table),
                    Err(_) if if_exists => return Ok(nothing()),
                    Err(error) => return Err(error),
                };
                return self.rename_entry(database, table, new_name);
            }
            RenamedKind::Index => {
                let catalog = self.context.catalog;
                let found = self.looked_up(name, |database, key| catalog.index(database, key))?;
                let Some((database, index)) = found else {
                    if if_exists {
                        return Ok(nothing());
                    }
                    let message = undefined("index", &name.to_string(), &[]);
                    return Err(self.at(Error::bind(message), name.pos()));
                };
                let key = qualified(schema_of(&index.name), &new_name.value);
                let bound = ObjectStatement::RenameIndex { database, name: index.name, new_name: key };
                return Ok(plan::Statement::Object(Box::new(bound)));
            }
            RenamedKind::Schema => {
                let error = Error::unsupported("ALTER SCHEMA ... RENAME")
                    .with_hint("make another schema and move the objects with ALTER ... SET SCHEMA");
                return Err(self.at(error, name.pos()));
            }
            RenamedKind::Type => DefinitionKind::Type,
            RenamedKind::Macro => DefinitionKind::Macro,
            RenamedKind::TableMacro => DefinitionKind::TableMacro,
            RenamedKind::Table | RenamedKind::View | RenamedKind::Sequence => {
                return Err(Error::internal("a rename of another module"));
            }
        };
        let (database, definition) = match self.macro_or_function(own, name) {
            Ok(found) => found,
            Err(_) if if_exists => return Ok(nothing()),
            Err(error) => return Err(error),
        };
        let key = qualified(schema_of(&definition.name), &new_name.value);
        self.redefine(database, &definition, key, None, new_name)
    }

    fn redefine(
        &self,
        database: String,
        definition: &Definition,
        new_name: String,
        sql: Option<String>,
        written: &Ident,
    ) -> Result<plan::Statement> {
        let catalog = self.context.catalog;
        let is_taken = catalog.definition(definition.kind, Some(&database), &new_name).is_some();
        if is_taken && !same_name(&new_name, &definition.name) {
            let error = Error::Duplicate { kind: definition.kind.name(), name: written.value.clone() };
            return Err(self.at(error, written.pos));
        }
        let (kind, name) = (definition.kind, definition.name.clone());
        let altered = Vec::new();
        let bound = ObjectStatement::Redefine { database, kind, name, new_name, sql, altered };
        Ok(plan::Statement::Object(Box::new(bound)))
    }

    fn move_object(
        &mut self,
        kind: RenamedKind,
        name: &ObjectName,
        if_exists: bool,
        schema: &Ident,
    ) -> Result<plan::Statement> {
        let nothing = || plan::Statement::Drop(Box::new(Drop { objects: Vec::new(), altered: Vec::new() }));
        let key_in = |binder: &Self, database: &str, old: &str| -> Result<String> {
            if !binder.context.catalog.has_schema(database, &schema.value) {
                let known = binder.schema_names(database);
                let near = near_names(&schema.value, known.iter().map(String::as_str));
                let message = undefined("schema", &schema.value, &near);
                return Err(binder.at(Error::bind(message), schema.pos));
            }
            Ok(qualified(&schema.value, inlay_catalog::bare_name(old)))
        };
        let missing_is_fine = |error: Error| if if_exists { Ok(nothing()) } else { Err(error) };
        match kind {
            RenamedKind::Table | RenamedKind::MaterializedView => match self.object(name)? {
                Some((database, CatalogEntry::Table(entry))) => {
                    let key = key_in(self, &database, &entry.name)?;
                    self.move_entry(database, entry, &key, schema)
                }
                Some(_) => self.wrong(name, "not a table"),
                None => missing_is_fine(self.at(self.undefined_object(name), name.pos())),
            },
            RenamedKind::View => match self.object(name)? {
                Some((database, CatalogEntry::View(view))) => {
                    let new_name = key_in(self, &database, &view.name)?;
                    self.check_free(&database, &new_name, schema)?;
                    Ok(plan::Statement::RenameView { database, name: view.name.clone(), new_name })
                }
                Some(_) => self.wrong(name, "not a view"),
                None => missing_is_fine(self.at(self.undefined_object(name), name.pos())),
            },
            RenamedKind::Sequence => match self.sequence(name) {
                Ok((database, sequence)) => {
                    let mut sequence = sequence.schema();
                    let old = sequence.name.clone();
                    sequence.name = key_in(self, &database, &old)?;
                    Ok(plan::Statement::AlterSequence { database, name: old, sequence, restart: None })
                }
                Err(error) => missing_is_fine(error),
            },
            RenamedKind::Type | RenamedKind::Macro | RenamedKind::TableMacro => {
                let own = match kind {
                    RenamedKind::Type => DefinitionKind::Type,
                    RenamedKind::Macro => DefinitionKind::Macro,
                    _ => DefinitionKind::TableMacro,
                };
                match self.macro_or_function(own, name) {
                    Ok((database, definition)) => {
                        let key = key_in(self, &database, &definition.name)?;
                        self.redefine(database, &definition, key, None, schema)
                    }
                    Err(error) => missing_is_fine(error),
                }
            }
            RenamedKind::Schema | RenamedKind::Index => {
                self.wrong(name, "in no schema of its own, so SET SCHEMA does not go with it")
            }
        }
    }
}

fn define(
    database: String,
    kind: DefinitionKind,
    name: String,
    sql: String,
    on_existing: OnExisting,
) -> ObjectStatement {
    ObjectStatement::Define(Define {
        temporary: same_name(&database, TEMPORARY),
        database,
        kind,
        name,
        sql,
        labels: None,
        or_replace: on_existing == OnExisting::Replace,
        if_not_exists: on_existing == OnExisting::Keep,
    })
}

/// An ENUM of labels as text.
pub fn enum_text(labels: &[String]) -> String {
    let quoted = labels.iter().map(|label| format!("'{}'", label.replace('\'', "''")));
    format!("ENUM({})", quoted.collect::<Vec<_>>().join(", "))
}

/// The labels of an ENUM that [`enum_text`] wrote.
pub fn enum_labels(text: &str) -> Option<Vec<String>> {
    let inner = text.strip_prefix("ENUM(")?.strip_suffix(')')?;
    let mut labels = Vec::new();
    let mut rest = inner.trim();
    while let Some(quoted) = rest.strip_prefix('\'') {
        let mut label = String::new();
        let mut characters = quoted.char_indices().peekable();
        let end = loop {
            match characters.next()? {
                (_, '\'') if characters.peek().is_some_and(|(_, next)| *next == '\'') => {
                    characters.next();
                    label.push('\'');
                }
                (index, '\'') => break index + 1,
                (_, other) => label.push(other),
            }
        };
        labels.push(label);
        rest = quoted[end..].trim_start().trim_start_matches(',').trim_start();
    }
    rest.is_empty().then_some(labels)
}

fn has_query(expr: &Expr) -> bool {
    matches!(
        expr.kind,
        ExprKind::Subquery(_)
            | ExprKind::RowQuery { .. }
            | ExprKind::Exists { .. }
            | ExprKind::InSubquery { .. }
    ) || expr.children().into_iter().any(has_query)
}

/// Whether a text has a word.
fn has_word(text: &str, word: &str) -> bool {
    let (text, word) = (text.to_lowercase(), word.to_lowercase());
    text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|part| part == word)
}

/// Fails unless a macro or function that is to go takes so many arguments, and has no other overload, which would go with it.
fn check_overload(definition: &Definition, count: usize) -> Result<()> {
    let name = bare_name(&definition.name);
    let counts: Vec<usize> = if definition.kind == DefinitionKind::Function {
        parse_functions(name, &definition.sql)?.iter().map(|function| function.parameters.len()).collect()
    } else {
        parse_macro(&definition.sql)?.iter().map(|overload| overload.parameters.len()).collect()
    };
    if !counts.contains(&count) {
        let shown: Vec<String> = counts.iter().map(usize::to_string).collect();
        let message = format!("{name} takes {} arguments, not {count}", shown.join(" or "));
        return Err(Error::UndefinedFunction { message, candidates: Vec::new() });
    }
    if counts.len() > 1 {
        let message = format!("{name} has {} overloads, of which one alone cannot be dropped", counts.len());
        let hint = format!("DROP FUNCTION {name} drops all of them; CREATE OR REPLACE takes those that stay");
        return Err(Error::bind(message).with_hint(hint));
    }
    Ok(())
}
