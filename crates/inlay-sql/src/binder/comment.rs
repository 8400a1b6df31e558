//! COMMENT ON: what is commented is looked up, and so are columns of views.

use super::Binder;
use super::object::undefined;
use super::scope::same_name;
use crate::parser::ast::object::Commented;
use crate::parser::ast::{Ident, ObjectName};
use crate::plan::object::{CommentTarget, ObjectStatement};
use inlay_catalog::{CatalogEntry, DefinitionKind, ViewEntry};
use inlay_types::{Candidates, Error, Result};

impl Binder<'_> {
    pub(super) fn comment(
        &mut self,
        on: Commented,
        name: &ObjectName,
        text: Option<String>,
    ) -> Result<ObjectStatement> {
        let mut column = None;
        let (database, target) = match on {
            Commented::Table | Commented::View => {
                let (database, entry) = self.known_relation(name)?;
                let key = match (entry, on) {
                    (CatalogEntry::Table(table), Commented::Table) => table.name.clone(),
                    (CatalogEntry::View(view), Commented::View) => view.name.clone(),
                    (CatalogEntry::View(_), _) => return self.wrong(name, "a view; use COMMENT ON VIEW"),
                    (CatalogEntry::Registered(source), _) if source.is_of_file() => {
                        return Err(self.at(super::object::file_only_read(name), name.pos()));
                    }
                    _ => return self.wrong(name, "a table; use COMMENT ON TABLE"),
                };
                (database, CommentTarget::Relation(key))
            }
            Commented::MaterializedView => {
                let (database, table, _) = self.materialized_view(name)?;
                (database, CommentTarget::Relation(table.name.clone()))
            }
            Commented::Column => {
                let mut table = name.clone();
                let Some(last) = table.parts.pop().filter(|_| !table.parts.is_empty()) else {
                    return Err(self.at(Error::bind("COMMENT ON COLUMN takes table.column"), name.pos()));
                };
                let (database, entry) = self.known_relation(&table)?;
                let key = match entry {
                    CatalogEntry::Table(entry) => {
                        let schema = entry.table.schema();
                        let index = self.column_index(schema, &last, &table)?;
                        column = Some(schema.columns[index].name.clone());
                        entry.name.clone()
                    }
                    CatalogEntry::View(view) => {
                        column = Some(self.view_column(&database, &view, last)?);
                        view.name.clone()
                    }
                    CatalogEntry::Registered(_) => return self.wrong(&table, "an object of the host"),
                };
                (database, CommentTarget::Relation(key))
            }
            Commented::Sequence => {
                let (database, sequence) = self.sequence(name)?;
                (database, CommentTarget::Relation(sequence.schema().name))
            }
            Commented::Index => {
                let catalog = self.context.catalog;
                let found = self.looked_up(name, |database, key| catalog.index(database, key))?;
                let Some((database, index)) = found else {
                    let message = undefined("index", &name.to_string(), &[]);
                    return Err(self.at(Error::bind(message), name.pos()));
                };
                (database, CommentTarget::Index(index.name))
            }
            Commented::Schema => {
                let (database, schema) = self.schema_name(name)?;
                let name =
                    ObjectName { parts: vec![Ident { value: schema, pos: name.pos() }], is_string: false };
                let (_, definition) = self.schema_definition(&database, &name)?;
                (database, CommentTarget::Definition(DefinitionKind::Schema, definition.name.clone()))
            }
            Commented::Type | Commented::Macro | Commented::TableMacro => {
                let kind = match on {
                    Commented::Type => DefinitionKind::Type,
                    Commented::Macro => DefinitionKind::Macro,
                    _ => DefinitionKind::TableMacro,
                };
                let (database, definition) = self.macro_or_function(kind, name)?;
                (database, CommentTarget::Definition(definition.kind, definition.name.clone()))
            }
            Commented::Database => {
                let ident = Ident { value: name.last().to_string(), pos: name.pos() };
                (self.known_database(&ident)?, CommentTarget::Database)
            }
        };
        Ok(ObjectStatement::Comment { database, on: target, column, text })
    }

    /// The name of a view's column. A view that cannot be read any more is taken at the word.
    fn view_column(&mut self, database: &str, view: &ViewEntry, written: Ident) -> Result<String> {
        let Ok(columns) = super::view_columns(self.context, database, &view.name) else {
            return Ok(written.value);
        };
        let known = || columns.iter().map(|(name, _)| name.as_str());
        if let Some(found) = known().find(|name| same_name(name, &written.value)) {
            return Ok(found.to_string());
        }
        let name = format!("{}.{}", inlay_catalog::bare_name(&view.name), written.value);
        let candidates = Candidates::of(&written.value, known());
        Err(self.at(Error::UndefinedColumn { name, candidates }, written.pos))
    }
}
