//! ALTER TYPE of an ENUM, which reaches the columns of the type.
//!
//! A column keeps the words of its type, not the type's name. So those of the type are found by their words; where another type
//! has the same words, nobody can tell whose a column is.

use super::Binder;
use super::altering::Altering;
use super::build::Build;
use super::objects::{enum_labels, enum_text};
use crate::parser::ast::object::TypeChange;
use crate::parser::ast::{BinaryOp, Expr, ExprKind, ObjectName};
use crate::plan::object::ObjectStatement;
use crate::plan::statement::AlterTable;
use inlay_catalog::{CatalogEntry, Definition, DefinitionKind, TEMPORARY, TableEntry, bare_name};
use inlay_types::{EnumType, Error, Field, LogicalType, Result};
use std::sync::Arc;

/// A word that has another spelling from now on.
type Renamed<'a> = Option<(&'a String, &'a String)>;

impl Binder<'_> {
    pub(super) fn alter_type(&mut self, name: &ObjectName, change: &TypeChange) -> Result<ObjectStatement> {
        let (database, definition) = self.definition(DefinitionKind::Type, name)?;
        let refuse = |message: String| Err(self.at(Error::invalid_argument(message), name.pos()));
        let Some(old) = enum_labels(&definition.sql) else {
            return refuse(format!("type \"{name}\" is no ENUM: it has no values"));
        };
        let (mut labels, mut renamed) = (old.clone(), None);
        match change {
            TypeChange::AddValue { value, if_not_exists, neighbour } => {
                if labels.contains(value) {
                    if !if_not_exists {
                        return refuse(format!("type \"{name}\" has the value '{value}' already"));
                    }
                } else {
                    let at = match neighbour {
                        None => labels.len(),
                        Some((label, before)) => match labels.iter().position(|known| known == label) {
                            Some(index) => index + usize::from(!before),
                            None => return refuse(format!("type \"{name}\" has no value '{label}'")),
                        },
                    };
                    labels.insert(at, value.clone());
                }
            }
            TypeChange::RenameValue { from, to } => {
                if labels.contains(to) {
                    return refuse(format!("type \"{name}\" has the value '{to}' already"));
                }
                match labels.iter_mut().find(|label| *label == from) {
                    Some(label) => label.clone_from(to),
                    None => return refuse(format!("type \"{name}\" has no value '{from}'")),
                }
                renamed = Some((from, to));
            }
        }
        let sql = Some(enum_text(&labels));
        let altered = match labels == old {
            true => Vec::new(),
            false => self.with_words((&database, &definition), (old, labels), renamed, name)?,
        };
        let (name, kind) = (definition.name.clone(), DefinitionKind::Type);
        Ok(ObjectStatement::Redefine { database, kind, new_name: name.clone(), name, sql, altered })
    }

    /// The tables with columns of these words, which get others.
    fn with_words(
        &mut self,
        (database, definition): (&str, &Definition),
        (old, new): (Vec<String>, Vec<String>),
        renamed: Renamed<'_>,
        name: &ObjectName,
    ) -> Result<Vec<AlterTable>> {
        let of = |labels: &[String]| Ok(LogicalType::Enum(Arc::new(EnumType::new(labels.to_vec())?)));
        let (old_type, new_type) = (of(&old)?, of(&new)?);
        let mut altered = Vec::new();
        let is_of_type = |ty: &LogicalType| ty.has_part(&|part| *part == old_type);
        for (_, entry) in self.context.catalog.entries(TEMPORARY) {
            let CatalogEntry::Table(entry) = entry else { continue };
            if let Some(column) = entry.table.schema().columns.iter().find(|column| is_of_type(&column.ty)) {
                let table = bare_name(&entry.name);
                let message =
                    format!("temporary table \"{table}\" has the column \"{}\" of this type", column.name);
                return Err(self.at(Error::bind(message).with_hint("drop the table first"), name.pos()));
            }
        }
        for (_, entry) in self.context.catalog.entries(database) {
            let CatalogEntry::Table(entry) = entry else { continue };
            if !entry.table.schema().columns.iter().any(|column| is_of_type(&column.ty)) {
                continue;
            }
            let others = self.context.catalog.definitions(DefinitionKind::Type, database);
            let twin = others.iter().find(|other| {
                other.name != definition.name && enum_labels(&other.sql).as_ref() == Some(&old)
            });
            if let Some(twin) = twin {
                let message = format!(
                    "types \"{}\" and \"{}\" have the same values, so that it is not known which of them table \"{}\" has columns of",
                    bare_name(&definition.name),
                    bare_name(&twin.name),
                    bare_name(&entry.name)
                );
                let hint = "ALTER TABLE ... ALTER COLUMN ... TYPE ENUM(...) gives a column other values";
                return Err(self.at(Error::bind(message).with_hint(hint), name.pos()));
            }
            let table = bare_name(&entry.name).to_string();
            let retyped = self.table_with_words(database, entry, (&old_type, &new_type), renamed, name);
            altered.push(
                retyped.map_err(|error| error.with_hint(format!("table \"{table}\" has that column")))?,
            );
        }
        Ok(altered)
    }

    fn table_with_words(
        &mut self,
        database: &str,
        entry: Arc<TableEntry>,
        (old, new): (&LogicalType, &LogicalType),
        renamed: Renamed<'_>,
        name: &ObjectName,
    ) -> Result<AlterTable> {
        let mut altering = Altering::new(database.to_string(), entry);
        if let Some((from, _)) = renamed {
            self.refuse_words_of_texts(&altering, from, name)?;
        }
        altering.indexed = self.context.catalog.unique_indexes(&altering.database, &altering.table);
        for index in 0..altering.schema.columns.len() {
            let column = &mut altering.schema.columns[index];
            if !column.ty.has_part(&|part| part == old) {
                continue;
            }
            let mut using = None;
            if let Some((from, to)) = renamed {
                if column.ty != *old {
                    let message = format!(
                        "RENAME VALUE does not reach into column \"{}\" of type {}",
                        column.name, column.ty
                    );
                    return Err(self.at(Error::bind(message), name.pos()));
                }
                let quoted = |label: &str| format!("'{}'", label.replace('\'', "''"));
                if column.default.as_ref() == Some(&quoted(from)) {
                    column.default = Some(quoted(to));
                }
                using = Some(spelled_anew(Build(name.pos()), &column.name, from, to));
            }
            let ty = with_part(&column.ty, old, new);
            self.set_type(&mut altering, index, ty, using.as_ref(), name.pos())?;
        }
        self.finish_alter(altering)
    }

    /// A word that a CHECK or a default computes with is in a text, where nobody knows whether it is this one.
    fn refuse_words_of_texts(&self, altering: &Altering, from: &str, name: &ObjectName) -> Result<()> {
        let word = format!("'{}'", from.replace('\'', "''"));
        let check = altering.schema.checks.iter().find(|check| check.condition.contains(&word));
        let is_computed = |text: &String| *text != word && text.contains(&word);
        let mut columns = altering.schema.columns.iter();
        let column = columns.find(|column| column.default.as_ref().is_some_and(is_computed));
        let place = match (check, column) {
            (Some(check), _) => format!("constraint \"{}\"", check.name),
            (None, Some(column)) => format!("the default of column \"{}\"", column.name),
            (None, None) => return Ok(()),
        };
        let message = format!("{place} names the value {word}, which would be another one");
        Err(self
            .at(Error::bind(message).with_hint("drop it first, and add it with the new word"), name.pos()))
    }
}

/// `CASE column::VARCHAR WHEN 'from' THEN 'to' ELSE column::VARCHAR END`
fn spelled_anew(build: Build, column: &str, from: &str, to: &str) -> Expr {
    let text = || build.cast(build.column(column), LogicalType::Varchar);
    let is_it = build.binary(BinaryOp::Equal, text(), build.text(from));
    build.expr(ExprKind::Case {
        operand: None,
        branches: vec![(is_it, build.text(to))],
        otherwise: Some(Box::new(text())),
    })
}

/// A type with another one in the place of a part.
fn with_part(ty: &LogicalType, old: &LogicalType, new: &LogicalType) -> LogicalType {
    let fields = |fields: &[Field]| -> Arc<[Field]> {
        fields.iter().map(|f| Field::new(Arc::clone(&f.name), with_part(&f.ty, old, new))).collect()
    };
    match ty {
        ty if ty == old => new.clone(),
        LogicalType::List(element) => LogicalType::list(with_part(element, old, new)),
        LogicalType::Array(element, size) => LogicalType::array(with_part(element, old, new), *size),
        LogicalType::Struct(own) => LogicalType::Struct(fields(own)),
        LogicalType::Union(own) => LogicalType::Union(fields(own)),
        LogicalType::Map(types) => {
            LogicalType::map(with_part(&types.0, old, new), with_part(&types.1, old, new))
        }
        other => other.clone(),
    }
}
