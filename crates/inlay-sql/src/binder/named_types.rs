//! Types that CREATE TYPE named: looked up when a statement is bound.
//!
//! The parser knows no catalog and leaves the name in the place of the type (see [`crate::parser::types::unresolved`]).

use super::Binder;
use super::objects::enum_labels;
use crate::parser::ast::{ExprKind, Ident, ObjectName, Pos, QueryBody, SelectItem, StatementKind};
use crate::parser::types::{near_types, unresolved_name};
use crate::parser::{parse_statement, parse_type};
use inlay_catalog::DefinitionKind;
use inlay_types::{EnumType, Error, Field, LogicalType, Result};
use std::sync::Arc;

/// How many names may stand for one another.
const ALIASES_MAX: usize = 64;

impl Binder<'_> {
    /// The type that a written one means.
    pub(super) fn known_type(&self, written: &LogicalType, pos: Pos) -> Result<LogicalType> {
        self.resolved_type(written, pos, ALIASES_MAX)
    }

    /// The type that a text names where no SQL stands, as in an option of a reader.
    pub(super) fn type_of_text(&self, text: &str) -> Result<LogicalType> {
        let pos = Pos { line: 1, column: 1 };
        let written = parse_type(text).map_err(Error::unplaced)?;
        self.known_type(&written, pos).map_err(Error::unplaced)
    }

    fn resolved_type(&self, written: &LogicalType, pos: Pos, fuel: usize) -> Result<LogicalType> {
        let fields = |fields: &Arc<[Field]>| {
            let field = |field: &Field| {
                Ok(Field::new(Arc::clone(&field.name), self.resolved_type(&field.ty, pos, fuel)?))
            };
            fields.iter().map(field).collect::<Result<Arc<[Field]>>>()
        };
        let ty = match written {
            LogicalType::Enum(_) => match unresolved_name(written) {
                Some(parts) => return self.type_named(&parts, pos, fuel),
                None => return Ok(written.clone()),
            },
            LogicalType::List(element) => LogicalType::list(self.resolved_type(element, pos, fuel)?),
            LogicalType::Array(element, size) => {
                LogicalType::array(self.resolved_type(element, pos, fuel)?, *size)
            }
            LogicalType::Map(types) => LogicalType::map(
                self.resolved_type(&types.0, pos, fuel)?,
                self.resolved_type(&types.1, pos, fuel)?,
            ),
            LogicalType::Struct(written) => LogicalType::Struct(fields(written)?),
            LogicalType::Union(written) => LogicalType::Union(fields(written)?),
            other => return Ok(other.clone()),
        };
        ty.check_depth()?;
        Ok(ty)
    }

    fn type_named(&self, parts: &[String], pos: Pos, fuel: usize) -> Result<LogicalType> {
        let ident = |part: &String| Ident { value: part.clone(), pos };
        let name = ObjectName { parts: parts.iter().map(ident).collect(), is_string: false };
        let found = self.definition(DefinitionKind::Type, &name);
        // A type of the engine, whose name is in quotes.
        if let ([one], Err(_)) = (parts, &found)
            && let Some(ty) = builtin_type(one)
        {
            return Ok(ty);
        }
        let (_, definition) = found.map_err(|error| match parts {
            [one] if !error.to_string().contains("did you mean") => match near_types(one) {
                near if near.is_empty() => error,
                near => self.at(
                    Error::bind(format!("type \"{one}\" does not exist")).with_hint(near.to_string()),
                    pos,
                ),
            },
            _ => error,
        })?;
        if let Some(labels) = enum_labels(&definition.sql) {
            return Ok(LogicalType::Enum(Arc::new(EnumType::new(labels)?)));
        }
        let Some(fuel) = fuel.checked_sub(1) else {
            return Err(self.at(Error::bind(format!("type \"{name}\" stands for itself")), pos));
        };
        let corrupt = || Error::internal(format!("the text of type \"{name}\" is no type"));
        let statement = parse_statement(&format!("SELECT CAST(NULL AS {})", definition.sql))?;
        let StatementKind::Query(query) = &statement.kind else { return Err(corrupt()) };
        let QueryBody::Select(select) = &query.body else { return Err(corrupt()) };
        match select.items.as_slice() {
            [SelectItem::Expr { expr, .. }] => match &expr.kind {
                ExprKind::Cast { data_type, .. } => self.resolved_type(data_type, pos, fuel),
                _ => Err(corrupt()),
            },
            _ => Err(corrupt()),
        }
    }
}

/// The type of the engine that a name is, whatever its case: `timestamp with time zone`.
fn builtin_type(name: &str) -> Option<LogicalType> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, ' ' | '_');
    let ty = name.chars().all(is_word).then(|| parse_type(name))?.ok()?;
    unresolved_name(&ty).is_none().then_some(ty)
}
