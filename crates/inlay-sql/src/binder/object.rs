//! Names of tables, views, indexes and sequences: `name`, `main.name`, `database.name`, `database.main.name`.

use super::Binder;
use super::scope::same_name;
use crate::parser::ast::{Ident, ObjectName, Pos};
use inlay_catalog::{CatalogEntry, Sequence, TableEntry, near_names};
use inlay_types::{Error, Result};
use std::sync::Arc;

/// The one schema of a database.
const SCHEMA: &str = "main";

/// A stored table and the database it is in.
#[derive(Clone)]
pub(super) struct Target {
    pub(super) database: String,
    pub(super) entry: Arc<TableEntry>,
}

impl Binder<'_> {
    /// The database that `name` says, if it says one.
    pub(super) fn database_of(&self, name: &ObjectName) -> Result<Option<String>> {
        let undefined = |ident: &Ident, message: String| Err(self.at(Error::bind(message), ident.pos));
        match name.parts.as_slice() {
            [] | [_] => Ok(None),
            [only, _] => match self.database_named(&only.value) {
                Some(database) => Ok(Some(database)),
                None if same_name(&only.value, SCHEMA) => Ok(None),
                None => {
                    // A table that does not exist: what a user writes first is a table with a schema.
                    let known = self.context.catalog.names();
                    let near = near_names(&only.value, known.iter().map(String::as_str));
                    undefined(only, no_database("database or schema", &only.value, &near))
                }
            },
            [database, schema, _] => {
                let found = self.known_database(database)?;
                if same_name(&schema.value, SCHEMA) {
                    return Ok(Some(found));
                }
                undefined(
                    schema,
                    format!("schema \"{}\" does not exist; a database has one, \"main\"", schema.value),
                )
            }
            [first, ..] => undefined(first, format!("{name}: a name has three parts at most")),
        }
    }

    /// The database that a statement about `name` is about: what it says, or the current one.
    pub(super) fn database_for(&self, name: &ObjectName) -> Result<String> {
        Ok(self.database_of(name)?.unwrap_or_else(|| self.current_database()))
    }

    /// What names without a database mean first.
    pub(super) fn current_database(&self) -> String {
        self.stored_in.clone().unwrap_or_else(|| self.context.catalog.current())
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
        let database = self.database_of(name)?;
        let catalog = self.context.catalog;
        Ok(match (&database, &self.stored_in) {
            (Some(database), _) => catalog.resolve(Some(database), name.last()),
            (None, Some(home)) => {
                catalog.resolve(Some(home), name.last()).or_else(|| catalog.resolve(None, name.last()))
            }
            (None, None) => catalog.resolve(None, name.last()),
        })
    }

    /// The stored table a statement changes or refers to.
    pub(super) fn table(&self, name: &ObjectName) -> Result<Target> {
        match self.object(name)? {
            Some((database, CatalogEntry::Table(entry))) => Ok(Target { database, entry }),
            Some(_) => Err(self.at(Error::bind(format!("\"{name}\" is not a table")), name.pos())),
            None => Err(self.at(self.undefined_object(name), name.pos())),
        }
    }

    /// The error for an unknown table or view, with near names.
    pub(super) fn undefined_object(&self, name: &ObjectName) -> Error {
        let database = self.database_for(name).unwrap_or_else(|_| self.context.catalog.current());
        let entries = self.context.catalog.entries(&database);
        let candidates = near_names(name.last(), entries.iter().map(|(known, _)| known.as_str()));
        Error::UndefinedTable { name: name.to_string(), candidates }
    }

    /// A sequence and its database, or the error with near names.
    pub(super) fn sequence(&self, name: &ObjectName) -> Result<(String, Arc<dyn Sequence>)> {
        let database = self.database_of(name)?;
        let catalog = self.context.catalog;
        let home = database.as_deref().or(self.stored_in.as_deref());
        let found = catalog.sequence(home, name.last());
        found.ok_or_else(|| {
            let known = catalog.sequences(&home.map_or_else(|| catalog.current(), str::to_string));
            let known: Vec<String> = known.iter().map(|sequence| sequence.schema().name).collect();
            let near = near_names(name.last(), known.iter().map(String::as_str));
            self.at(Error::bind(undefined("sequence", &name.to_string(), &near)), name.pos())
        })
    }
}

/// `kind "name" does not exist`, with what may have been meant.
pub(super) fn undefined(kind: &str, name: &str, near: &[String]) -> String {
    let hint = if near.is_empty() { String::new() } else { format!("; did you mean {}?", near.join(" or ")) };
    format!("{kind} \"{name}\" does not exist{hint}")
}

fn no_database(kind: &str, name: &str, near: &[String]) -> String {
    undefined(kind, name, near)
}

/// A name written as text, as in `nextval('main.s')`.
pub(super) fn object_name_of(text: &str, pos: Pos) -> ObjectName {
    let parts = text.split('.').map(|part| Ident { value: part.trim_matches('"').to_string(), pos });
    ObjectName { parts: parts.collect(), is_string: false }
}
