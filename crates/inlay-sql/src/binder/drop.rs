//! DROP: what goes, and what stays but loses a foreign key or a default.

use super::Binder;
use super::define::sequence_of_default;
use super::object::undefined;
use super::scope::same_name;
use crate::parser::ast::{ObjectKind, ObjectName};
use crate::plan;
use crate::plan::statement::{AlteredSchema, Drop, DroppedObject, ObjectKind as Kind};
use inlay_catalog::{CatalogEntry, TableEntry};
use inlay_storage::Origin;
use inlay_types::{Error, Result};
use std::sync::Arc;

impl Binder<'_> {
    pub(super) fn drop(
        &mut self,
        kind: ObjectKind,
        names: &[ObjectName],
        if_exists: bool,
        cascade: bool,
    ) -> Result<plan::Statement> {
        let mut dropped = Drop { objects: Vec::new(), altered: Vec::new() };
        let mut found = Vec::with_capacity(names.len());
        for name in names {
            let object = self.dropped_object(kind, name, if_exists)?;
            if let Some(object) = object.filter(|object| !dropped.objects.contains(object)) {
                dropped.objects.push(object.clone());
                found.push((object, name));
            }
        }
        for (object, name) in found {
            // What depends on it is not the business of who may not drop it.
            self.ask_owner((&object.database, object.kind, &object.name), name.pos())?;
            match object.kind {
                Kind::Table => self.drop_table(&object, name, cascade, &mut dropped)?,
                Kind::Sequence => self.drop_sequence(&object, name, cascade, &mut dropped)?,
                Kind::View | Kind::Index | Kind::Definition(_) => {}
            }
        }
        Ok(plan::Statement::Drop(Box::new(dropped)))
    }

    fn dropped_object(
        &self,
        kind: ObjectKind,
        name: &ObjectName,
        if_exists: bool,
    ) -> Result<Option<DroppedObject>> {
        let catalog = self.context.catalog;
        let object =
            |database, kind, name: &str| Some(DroppedObject { database, kind, name: name.to_string() });
        let wrong = |is: &str, statement: &str| {
            let message = format!("\"{name}\" is not a {is}");
            let hint = format!("use {statement}");
            Err(self.at(Error::bind(message).with_hint(hint), name.pos()))
        };
        let found = match kind {
            ObjectKind::Table | ObjectKind::View => match (self.object_if(name, if_exists)?, kind) {
                (Some((database, CatalogEntry::Table(entry))), _)
                    if self.is_materialized(&database, &entry) =>
                {
                    return wrong("table of its own", "DROP MATERIALIZED VIEW");
                }
                (Some((database, CatalogEntry::Table(entry))), ObjectKind::Table) => {
                    object(database, Kind::Table, &entry.name)
                }
                (Some((database, CatalogEntry::View(view))), ObjectKind::View) => {
                    object(database, Kind::View, &view.name)
                }
                (Some((_, CatalogEntry::Table(_))), _) => return wrong("view", "DROP TABLE"),
                (Some((_, CatalogEntry::View(_))), _) => return wrong("table", "DROP VIEW"),
                (Some((_, CatalogEntry::Registered(source))), _) if source.is_of_file() => {
                    return Err(self.at(super::object::file_only_read(name), name.pos()));
                }
                (Some((_, CatalogEntry::Registered(_))), _) => {
                    return wrong("stored table", "unregister");
                }
                (None, _) if if_exists => None,
                (None, _) => return Err(self.at(self.undefined_object(name), name.pos())),
            },
            ObjectKind::Index => match self.looked_up(name, |database, key| catalog.index(database, key)) {
                // Neither is a schema or a database there that it would be in.
                Err(_) if if_exists => None,
                Err(error) => return Err(error),
                Ok(Some((database, index))) => object(database, Kind::Index, &index.name),
                Ok(None) if if_exists => None,
                Ok(None) => {
                    return Err(self.at(Error::bind(undefined("index", &name.to_string(), &[])), name.pos()));
                }
            },
            ObjectKind::Sequence => match self.sequence(name) {
                Ok((database, sequence)) => object(database, Kind::Sequence, &sequence.schema().name),
                Err(_) if if_exists => None,
                Err(error) => return Err(error),
            },
        };
        Ok(found)
    }

    pub(super) fn drop_table(
        &self,
        object: &DroppedObject,
        name: &ObjectName,
        cascade: bool,
        dropped: &mut Drop,
    ) -> Result<()> {
        for (referring, index) in self.referring(&object.database, &object.name) {
            let goes = |other: &DroppedObject| {
                other.kind == Kind::Table
                    && same_name(&other.database, &object.database)
                    && same_name(&other.name, &referring.name)
            };
            if dropped.objects.iter().any(goes) {
                continue;
            }
            if !cascade {
                let key = &referring.table.schema().foreign_keys[index].name;
                let message = format!(
                    "table \"{}\" is referred to by foreign key \"{key}\" of table \"{}\"",
                    object.name, referring.name
                );
                let hint = "DROP TABLE ... CASCADE drops the foreign key, too";
                return Err(self.at(Error::bind(message).with_hint(hint), name.pos()));
            }
            let altered = altered_entry(&mut dropped.altered, &object.database, &referring);
            altered.schema.foreign_keys.retain(|key| !same_name(&key.table, &object.name));
        }
        for sequence in self.context.catalog.sequences(&object.database) {
            let schema = sequence.schema();
            if schema.owner.as_ref().is_some_and(|(table, _)| same_name(table, &object.name)) {
                let (database, kind) = (object.database.clone(), Kind::Sequence);
                dropped.objects.push(DroppedObject { database, kind, name: schema.name });
            }
        }
        Ok(())
    }

    fn drop_sequence(
        &self,
        object: &DroppedObject,
        name: &ObjectName,
        cascade: bool,
        dropped: &mut Drop,
    ) -> Result<()> {
        for (_, entry) in self.context.catalog.entries(&object.database) {
            let CatalogEntry::Table(entry) = entry else { continue };
            for (index, column) in entry.table.schema().columns.iter().enumerate() {
                let uses = sequence_of_default(column.default.as_deref())
                    .is_some_and(|sequence| same_name(&sequence, &object.name));
                if !uses {
                    continue;
                }
                if !cascade {
                    let message = format!(
                        "sequence \"{}\" gives column \"{}\" of table \"{}\" its values",
                        object.name, column.name, entry.name
                    );
                    let hint = "DROP SEQUENCE ... CASCADE drops the default, too";
                    return Err(self.at(Error::bind(message).with_hint(hint), name.pos()));
                }
                let altered = altered_entry(&mut dropped.altered, &object.database, &entry);
                altered.schema.columns[index].default = None;
                altered.schema.columns[index].origin = Origin::Given;
            }
        }
        Ok(())
    }
}

/// The entry of a table among those that change.
pub(super) fn altered_entry<'a>(
    altered: &'a mut Vec<AlteredSchema>,
    database: &str,
    table: &Arc<TableEntry>,
) -> &'a mut AlteredSchema {
    let index = altered.iter().position(|known| known.table.is_same(table)).unwrap_or_else(|| {
        let schema = table.table.schema().clone();
        altered.push(AlteredSchema { database: database.to_string(), table: Arc::clone(table), schema });
        altered.len() - 1
    });
    &mut altered[index]
}
