//! ALTER TABLE of a field of a struct, also of one in a list or map: the column gets a new type, and its values are made
//! anew from the fields of the old ones.
//!
//! As in DuckDB, a path goes through `element` into lists and through `key` and `value` into maps.

use super::Binder;
use super::build::Build;
use super::scope::same_name;
use crate::parser::ast::{Expr, ExprKind, FieldChange, Ident};
use inlay_types::{Candidates, Error, Field, LogicalType, Result};

/// Deepest path; types do not nest deeper either.
const PATH_MAX: usize = 100;

/// What a value becomes: its type, and the expression that makes it.
type Changed = (LogicalType, Expr);

impl Binder<'_> {
    /// `value` of type `ty` with a field added, dropped or renamed; `None` if IF EXISTS or IF NOT EXISTS leaves it as it is.
    pub(super) fn with_field_changed(
        &self,
        value: Expr,
        ty: &LogicalType,
        path: &[Ident],
        change: &FieldChange,
    ) -> Result<Option<Changed>> {
        let Some((name, rest)) = path.split_first() else { return Ok(None) };
        if rest.len() > PATH_MAX {
            return Err(self.at(Error::out_of_range("a path of fields is too long".to_string()), name.pos));
        }
        let build = Build(name.pos);
        let part_of = |part: &'static str| {
            if same_name(&name.value, part) && !rest.is_empty() {
                return Ok(());
            }
            let message = format!("a path goes into {ty} by \"{part}\" and the name of a field behind it");
            Err(self.at(Error::bind(message), name.pos))
        };
        match ty {
            LogicalType::Struct(fields) if rest.is_empty() => self.own_field(value, fields, name, change),
            LogicalType::Struct(fields) => {
                let index = self.field_index(fields, name)?;
                let part = self.part(value.clone(), &fields[index]);
                let Some((new, part)) = self.with_field_changed(part, &fields[index].ty, rest, change)?
                else {
                    return Ok(None);
                };
                let mut parts = self.parts(&value, fields);
                parts[index] = (Field::new(fields[index].name.clone(), new), part);
                Ok(Some(self.packed(value, parts, name)))
            }
            LogicalType::List(element) | LogicalType::Array(element, _) => {
                part_of("element")?;
                let parameter = build.ident(format!("(element {})", rest.len()));
                let item = build.column(parameter.value.clone());
                let Some((new, body)) = self.with_field_changed(item, element, rest, change)? else {
                    return Ok(None);
                };
                let new = match ty {
                    LogicalType::Array(_, size) => LogicalType::array(new, *size),
                    _ => LogicalType::list(new),
                };
                Ok(Some((new, transformed(build, value, parameter, body))))
            }
            LogicalType::Map(parts) => {
                let is_key = same_name(&name.value, "key");
                part_of(if is_key { "key" } else { "value" })?;
                let parameter = build.ident(format!("(entry {})", rest.len()));
                let entry = build.column(parameter.value.clone());
                let [key, own] = ["key", "value"]
                    .map(|part| build.call("struct_extract", vec![entry.clone(), build.text(part)]));
                let changed = if is_key {
                    self.with_field_changed(key, &parts.0, rest, change)?.map(|(ty, key)| (ty, key, own))
                } else {
                    self.with_field_changed(own, &parts.1, rest, change)?.map(|(ty, own)| (ty, key, own))
                };
                let Some((new, key, own)) = changed else { return Ok(None) };
                let new = if is_key {
                    LogicalType::map(new, parts.1.clone())
                } else {
                    LogicalType::map(parts.0.clone(), new)
                };
                let entries = build.call("map_entries", vec![value]);
                let body = structure(build, vec![("key".to_string(), key), ("value".to_string(), own)]);
                let entries = transformed(build, entries, parameter, body);
                Ok(Some((new, build.call("map_from_entries", vec![entries]))))
            }
            _ => {
                let message =
                    format!("there is no field \"{}\" in a value of type {ty}: it is no struct", name.value);
                Err(self.at(Error::type_mismatch(message), name.pos))
            }
        }
    }

    /// A struct with one of its own fields changed.
    fn own_field(
        &self,
        value: Expr,
        fields: &[Field],
        name: &Ident,
        change: &FieldChange,
    ) -> Result<Option<Changed>> {
        let build = Build(name.pos);
        let position = |name: &Ident| fields.iter().position(|field| same_name(&field.name, &name.value));
        let duplicate = |name: &Ident| {
            let error = Error::Duplicate { kind: "field", name: name.value.clone() };
            self.at(error, name.pos)
        };
        let mut parts = self.parts(&value, fields);
        match change {
            FieldChange::Add { if_not_exists, .. } if position(name).is_some() => {
                return if *if_not_exists { Ok(None) } else { Err(duplicate(name)) };
            }
            FieldChange::Add { data_type, default, .. } => {
                let ty = self.known_type(data_type, name.pos)?;
                let given = default.clone().unwrap_or_else(|| build.null());
                parts.push((Field::new(name.value.as_str(), ty.clone()), build.cast(given, ty)));
            }
            FieldChange::Drop { if_exists } => {
                if *if_exists && position(name).is_none() {
                    return Ok(None);
                }
                let index = self.field_index(fields, name)?;
                if fields.len() == 1 {
                    let message = format!("\"{}\" is the only field of its struct", name.value);
                    return Err(self.at(Error::bind(message), name.pos));
                }
                parts.remove(index);
            }
            FieldChange::Rename(new) => {
                let index = self.field_index(fields, name)?;
                if position(new).is_some_and(|other| other != index) {
                    return Err(duplicate(new));
                }
                parts[index].0.name = new.value.as_str().into();
            }
        }
        Ok(Some(self.packed(value, parts, name)))
    }

    fn field_index(&self, fields: &[Field], name: &Ident) -> Result<usize> {
        fields.iter().position(|field| same_name(&field.name, &name.value)).ok_or_else(|| {
            let names = fields.iter().map(|field| &*field.name).filter(|name| !name.is_empty());
            let candidates = Candidates::of(&name.value, names);
            self.at(Error::UndefinedColumn { name: name.value.clone(), candidates }, name.pos)
        })
    }

    /// The fields of a struct, each with the expression that takes it out.
    fn parts(&self, value: &Expr, fields: &[Field]) -> Vec<(Field, Expr)> {
        fields.iter().map(|field| (field.clone(), self.part(value.clone(), field))).collect()
    }

    fn part(&self, value: Expr, field: &Field) -> Expr {
        let build = Build(value.pos);
        build.call("struct_extract", vec![value, build.text(&*field.name)])
    }

    /// A struct of these fields where `value` is one.
    fn packed(&self, value: Expr, parts: Vec<(Field, Expr)>, name: &Ident) -> Changed {
        let build = Build(name.pos);
        let (fields, parts): (Vec<Field>, Vec<Expr>) = parts.into_iter().unzip();
        let named = fields.iter().zip(parts).map(|(field, part)| (field.name.to_string(), part)).collect();
        let made = build.expr(ExprKind::Case {
            operand: None,
            branches: vec![(build.is_not_null(value), structure(build, named))],
            otherwise: None,
        });
        (LogicalType::Struct(fields.into()), made)
    }
}

fn structure(build: Build, fields: Vec<(String, Expr)>) -> Expr {
    let mut call = build.function("struct_pack", Vec::new());
    call.named = fields.into_iter().map(|(name, value)| (build.ident(name), value)).collect();
    build.expr(ExprKind::Function(call))
}

fn transformed(build: Build, list: Expr, parameter: Ident, body: Expr) -> Expr {
    let lambda = build.expr(ExprKind::Lambda { params: vec![parameter], body: Box::new(body) });
    build.call("list_transform", vec![list, lambda])
}

/// The text of a default of type `ty`, so that the value it gives has a field under its new name.
///
/// Values are cast to the type of their column by the names of fields, so the old name has to be taken out of the value
/// that the text gives. Only once: the text may count a sequence.
pub(super) fn default_with_field_renamed(
    text: &str,
    ty: &LogicalType,
    path: &[Ident],
    new: &Ident,
) -> String {
    let value = quoted("(default)");
    let renamed = text_with_field_renamed(&value, ty, path, new);
    format!("list_transform([CAST(({text}) AS {ty})], lambda {value} : {renamed})[1]")
}

/// The text `value` of a value, made anew with a field renamed.
fn text_with_field_renamed(value: &str, ty: &LogicalType, path: &[Ident], new: &Ident) -> String {
    let Some((name, rest)) = path.split_first() else { return value.to_string() };
    let extracted = |name: &str| format!("struct_extract({value}, '{}')", name.replace('\'', "''"));
    let entry = quoted(&format!("(part {})", rest.len()));
    match ty {
        LogicalType::Struct(fields) => {
            let part = |field: &Field| {
                let part = extracted(&field.name);
                match same_name(&field.name, &name.value) {
                    false => format!("{} := {part}", quoted(&field.name)),
                    true if rest.is_empty() => format!("{} := {part}", quoted(&new.value)),
                    true => {
                        let part = text_with_field_renamed(&part, &field.ty, rest, new);
                        format!("{} := {part}", quoted(&field.name))
                    }
                }
            };
            let parts = fields.iter().map(part).collect::<Vec<_>>().join(", ");
            format!("CASE WHEN {value} IS NOT NULL THEN struct_pack({parts}) END")
        }
        LogicalType::List(element) | LogicalType::Array(element, _) => {
            let renamed = text_with_field_renamed(&entry, element, rest, new);
            format!("list_transform({value}, lambda {entry} : {renamed})")
        }
        LogicalType::Map(parts) => {
            let [mut key, mut own] =
                ["key", "value"].map(|part| format!("struct_extract({entry}, '{part}')"));
            match same_name(&name.value, "key") {
                true => key = text_with_field_renamed(&key, &parts.0, rest, new),
                false => own = text_with_field_renamed(&own, &parts.1, rest, new),
            }
            let pair = format!("struct_pack(\"key\" := {key}, \"value\" := {own})");
            format!("map_from_entries(list_transform(map_entries({value}), lambda {entry} : {pair}))")
        }
        // No path goes into other types.
        _ => value.to_string(),
    }
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
