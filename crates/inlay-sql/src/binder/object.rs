//! Names of tables, views, indexes and sequences: `name`, `schema.name`, `database.name`, `database.schema.name`.

use super::Binder;
use super::scope::same_name;
use crate::parser::ast::{Ident, ObjectName, Pos};
use inlay_catalog::{
    CatalogEntry, DefinitionKind, MAIN, SYSTEM, SYSTEM_SCHEMAS, Sequence, TEMPORARY, TableEntry, near_names,
    qualified, schema_of,
};
use inlay_types::{Candidates, Error, Result};
use std::sync::Arc;

/// PostgreSQL's name of the schema that names without one mean; a schema of that name is another.
pub(super) const PUBLIC: &str = "public";

/// Where a name says that its object is.
#[derive(Clone, Debug, Default)]
pub(super) struct Place {
    pub(super) database: Option<String>,
    pub(super) schema: Option<String>,
}

/// Where the names of a stored text are looked up first.
#[derive(Clone, Debug)]
pub(super) struct Home {
    pub(super) database: String,
    pub(super) schema: String,
}

impl Home {
    /// The home of what is known by `key`.
    pub(super) fn of(database: &str, key: &str) -> Self {
        Self { database: database.to_string(), schema: schema_of(key).to_string() }
    }
}

/// A stored table and the database it is in.
#[derive(Clone)]
pub(super) struct Target {
    pub(super) database: String,
    pub(super) entry: Arc<TableEntry>,
}

impl Binder<'_> {
    /// What `name` says of the place of its object.
    pub(super) fn place_of(&self, name: &ObjectName) -> Result<Place> {
        let undefined = |ident: &Ident, message: String| Err(self.at(Error::bind(message), ident.pos));
        let in_database = |database: String| Ok(Place { database: Some(database), schema: None });
        match name.parts.as_slice() {
            [] | [_] => Ok(Place::default()),
            [only, _] => {
                let schema = only.value.clone();
                if let Some(database) = self.database_named(&schema) {
                    return in_database(database);
                }
                if same_name(&schema, TEMPORARY) {
                    return in_database(TEMPORARY.to_string());
                }
                if same_name(&schema, MAIN) {
                    return Ok(Place { database: None, schema: Some(MAIN.to_string()) });
                }
                if is_system_schema(&schema) {
                    return Ok(Place { database: Some(SYSTEM.to_string()), schema: Some(schema) });
                }
                let current = self.current_database();
                if self.context.catalog.has_schema(&current, &schema) {
                    return Ok(Place { database: Some(current), schema: Some(schema) });
                }
                // What PostgreSQL calls main, in its dumps above all.
                if same_name(&schema, PUBLIC) {
                    return Ok(Place { database: None, schema: Some(MAIN.to_string()) });
                }
                // A table that does not exist: what a user writes first is a table with a schema.
                let mut known = self.context.catalog.names();
                known.extend(self.schema_names(&current));
                let near = near_names(&schema, known.iter().map(String::as_str));
                undefined(only, no_database("database or schema", &schema, &near))
            }
            [database, schema, _] => {
                if is_system_schema(&schema.value) {
                    let schema = Some(schema.value.clone());
                    return Ok(Place { database: Some(SYSTEM.to_string()), schema });
                }
                let found = if same_name(&database.value, TEMPORARY) {
                    TEMPORARY.to_string()
                } else {
                    self.known_database(database)?
                };
                if !self.context.catalog.has_schema(&found, &schema.value) {
                    if same_name(&schema.value, PUBLIC) {
                        return Ok(Place { database: Some(found), schema: Some(MAIN.to_string()) });
                    }
                    let known = self.schema_names(&found);
                    let near = near_names(&schema.value, known.iter().map(String::as_str));
                    return undefined(schema, no_database("schema", &schema.value, &near));
                }
                Ok(Place { database: Some(found), schema: Some(schema.value.clone()) })
            }
            [first, ..] => undefined(first, format!("{name}: a name has three parts at most")),
        }
    }

    /// Names of the schemas of a database.
    pub(super) fn schema_names(&self, database: &str) -> Vec<String> {
        let own = self.context.catalog.definitions(DefinitionKind::Schema, database);
        std::iter::once(MAIN.to_string()).chain(own.iter().map(|schema| schema.name.clone())).collect()
    }

    /// The database that `name` says, if it says one.
    pub(super) fn database_of(&self, name: &ObjectName) -> Result<Option<String>> {
        Ok(self.place_of(name)?.database)
    }

    /// The database that a statement about `name` is about: what it says, or the current one.
    pub(super) fn database_for(&self, name: &ObjectName) -> Result<String> {
        Ok(self.database_of(name)?.unwrap_or_else(|| self.current_database()))
    }

    /// The database of a new object, and what the object will be known by there.
    pub(super) fn new_name(&self, name: &ObjectName, temporary: bool) -> Result<(String, String)> {
        let place = self.place_of(name)?;
        let refuse = |message: String| Err(self.at(Error::bind(message), name.pos()));
        if name.last().is_empty() {
            return refuse("a name has at least one letter".into());
        }
        if place.database.as_deref() == Some(SYSTEM) {
            return refuse(format!("{name}: the schemas of system tables cannot be changed"));
        }
        let is_temporary = place.database.as_deref() == Some(TEMPORARY);
        if temporary || is_temporary {
            if !is_temporary && name.parts.len() > 1 {
                return refuse(format!("{name}: temporary objects are in no schema but temp"));
            }
            return Ok((TEMPORARY.to_string(), qualified(MAIN, name.last())));
        }
        let (database, schema) = match (place.database, place.schema) {
            (Some(database), schema) => (database, schema.unwrap_or_else(|| MAIN.to_string())),
            (None, Some(schema)) => (self.current_database(), schema),
            (None, None) => (self.current_database(), self.context.catalog.current_schema()),
        };
        Ok((database, qualified(&schema, name.last())))
    }

    /// What names without a database mean first.
    pub(super) fn current_database(&self) -> String {
        match &self.stored_in {
            Some(home) => home.database.clone(),
            None => self.context.catalog.current(),
        }
    }

    /// Databases and names to look up for `name`, in order. Without a database it is a bare name, to be searched for.
    pub(super) fn lookups(&self, name: &ObjectName) -> Result<Vec<(Option<String>, String)>> {
        let place = self.place_of(name)?;
        let last = name.last();
        if let Some(database) = place.database {
            return Ok(vec![(Some(database), qualified(place.schema.as_deref().unwrap_or(MAIN), last))]);
        }
        let mut lookups = Vec::new();
        if let (Some(home), None) = (&self.stored_in, &place.schema) {
            lookups.push((Some(home.database.clone()), qualified(&home.schema, last)));
            if !same_name(&home.schema, MAIN) {
                lookups.push((Some(home.database.clone()), qualified(MAIN, last)));
            }
        }
        if place.schema.is_some() {
            // The schema main of the current database, or of temporary and system tables; no other schema's.
            let databases = [self.current_database(), TEMPORARY.to_string(), SYSTEM.to_string()];
            lookups.extend(databases.map(|database| (Some(database), qualified(MAIN, last))));
            return Ok(lookups);
        }
        lookups.push((None, last.to_string()));
        Ok(lookups)
    }

    /// The first that a lookup of `name` finds.
    pub(super) fn looked_up<T>(
        &self,
        name: &ObjectName,
        find: impl Fn(Option<&str>, &str) -> Option<T>,
    ) -> Result<Option<T>> {
        Ok(self.lookups(name)?.iter().find_map(|(database, key)| find(database.as_deref(), key)))
    }

    fn database_named(&self, name: &str) -> Option<String> {
        self.context.catalog.names().into_iter().find(|known| same_name(known, name))
    }

    /// The attached database `name`, or the error with near names.
    pub(super) fn known_database(&self, name: &Ident) -> Result<String> {
        self.database_named(&name.value).ok_or_else(|| {
            let known = self.context.catalog.names();
            let near = near_names(&name.value, known.iter().map(String::as_str));
            self.at(Error::bind(no_database("database", &name.value, &near)), name.pos)
        })
    }

    /// What a name stands for, and in which database.
    pub(super) fn object(&self, name: &ObjectName) -> Result<Option<(String, CatalogEntry)>> {
        self.looked_up(name, |database, key| self.context.catalog.resolve(database, key))
    }

    /// As [`Binder::object`]; with IF EXISTS there is none, either, where there is no schema or database of its name.
    pub(super) fn object_if(
        &self,
        name: &ObjectName,
        if_exists: bool,
    ) -> Result<Option<(String, CatalogEntry)>> {
        match self.object(name) {
            Err(_) if if_exists => Ok(None),
            found => found,
        }
    }

    /// The stored table a statement changes or refers to.
    pub(super) fn table(&self, name: &ObjectName) -> Result<Target> {
        match self.object(name)? {
            Some((database, CatalogEntry::Table(entry))) if self.is_materialized(&database, &entry) => {
                let message = format!("\"{name}\" is a materialized view");
                let hint = "REFRESH MATERIALIZED VIEW changes its rows";
                Err(self.at(Error::bind(message).with_hint(hint), name.pos()))
            }
            Some((database, CatalogEntry::Table(entry))) => Ok(Target { database, entry }),
            Some((_, CatalogEntry::Registered(source))) if source.is_of_file() => {
                Err(self.at(file_only_read(name), name.pos()))
            }
            Some(_) => Err(self.at(Error::bind(format!("\"{name}\" is not a table")), name.pos())),
            None => Err(self.at(self.undefined_object(name), name.pos())),
        }
    }

    /// As [`Binder::table`], and the rows of a materialized view, which nothing but REFRESH changes.
    pub(super) fn table_or_materialized(&self, name: &ObjectName) -> Result<Target> {
        match self.object(name)? {
            Some((database, CatalogEntry::Table(entry))) => Ok(Target { database, entry }),
            _ => self.table(name),
        }
    }

    /// The error for an unknown table or view, with near names.
    pub(super) fn undefined_object(&self, name: &ObjectName) -> Error {
        let database = self.database_for(name).unwrap_or_else(|_| self.context.catalog.current());
        let entries = self.context.catalog.entries(&database);
        let candidates = Candidates::of(name.last(), entries.iter().map(|(known, _)| known.as_str()));
        Error::UndefinedTable { name: name.to_string(), candidates }
    }

    /// A sequence and its database, or the error with near names.
    pub(super) fn sequence(&self, name: &ObjectName) -> Result<(String, Arc<dyn Sequence>)> {
        let catalog = self.context.catalog;
        let found = self.looked_up(name, |database, key| catalog.sequence(database, key))?;
        let home = self.database_for(name)?;
        found.ok_or_else(|| {
            let known = catalog.sequences(&home);
            let known: Vec<String> = known.iter().map(|sequence| sequence.schema().name).collect();
            let near = near_names(name.last(), known.iter().map(String::as_str));
            self.at(Error::bind(undefined("sequence", &name.to_string(), &near)), name.pos())
        })
    }
}

/// Why a table of an attached file of another system is not changed.
pub(super) fn file_only_read(name: &ObjectName) -> Error {
    Error::bind(format!("\"{name}\" is a table of another system's file, which is only read"))
        .with_hint("CREATE TABLE ... AS SELECT copies a table, COPY FROM DATABASE all of them")
}

/// `kind "name" does not exist`, with what may have been meant.
pub(super) fn undefined(kind: &str, name: &str, near: &[String]) -> String {
    let hint = if near.is_empty() { String::new() } else { format!("; did you mean {}?", near.join(" or ")) };
    format!("{kind} \"{name}\" does not exist{hint}")
}

fn no_database(kind: &str, name: &str, near: &[String]) -> String {
    undefined(kind, name, near)
}

fn is_system_schema(name: &str) -> bool {
    SYSTEM_SCHEMAS.iter().any(|schema| same_name(schema, name))
}

/// A name written as text, as in `nextval('main.s')`.
pub(super) fn object_name_of(text: &str, pos: Pos) -> ObjectName {
    let parts = text.split('.').map(|part| Ident { value: part.trim_matches('"').to_string(), pos });
    ObjectName { parts: parts.collect(), is_string: false }
}
