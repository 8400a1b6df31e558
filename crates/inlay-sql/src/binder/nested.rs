//! Fields, subscripts and slices: what they mean depends on the type of what they stand behind.

use super::Binder;
use super::coerce::arg_type;
use super::scope::Resolved;
use crate::parser::ast::{Expr as Expression, ExprKind, FunctionCall, Ident, Pos};
use crate::parser::nested::{SLICE, SUBSCRIPT};
use crate::plan::Expr;
use inlay_functions::registry::resolve_scalar;
use inlay_kernels::resolve::ArgType;
use inlay_types::{Candidates, Error, LogicalType, Result, Value};
use std::sync::Arc;

/// Functions whose arguments may have names: those of fields.
const NAMED: &[&str] = &["struct_pack", "struct_insert", "struct_update", "union_value", "remap_struct"];

/// The field of a field ... of a value.
pub(super) fn fields_behind(binder: &Binder<'_>, value: Expr, names: &[Ident]) -> Result<Expr> {
    names.iter().try_fold(value, |value, name| binder.field(value, name))
}

impl Binder<'_> {
    /// `column.field.field`, when no table has the name in front.
    pub(super) fn field_of_column(&mut self, parts: &[Ident]) -> Result<Option<Expr>> {
        for count in (1..parts.len()).rev() {
            let value = match self.resolve(&parts[..count]) {
                Ok(Resolved::Column(id)) => self.column(id),
                Ok(Resolved::Entry(index)) => self.entry(index)?,
                Err(_) => continue,
            };
            return fields_behind(self, value, &parts[count..]).map(Some);
        }
        Ok(None)
    }

    /// The field `name` of a struct, union, map or JSON object.
    pub(super) fn field(&self, value: Expr, name: &Ident) -> Result<Expr> {
        let ty = value.ty();
        let key = Expr::literal(Value::Varchar(name.value.clone()));
        let function = match &ty {
            LogicalType::Struct(fields) => {
                if !fields.iter().any(|field| field.name.eq_ignore_ascii_case(&name.value)) {
                    let names = fields.iter().map(|field| &*field.name).filter(|name| !name.is_empty());
                    let error = Error::UndefinedColumn {
                        name: name.value.clone(),
                        candidates: Candidates::of(&name.value, names),
                    };
                    return Err(self.at(error, name.pos));
                }
                "struct_extract"
            }
            LogicalType::Union(_) => "union_extract",
            LogicalType::Map(_) => "map_extract_value",
            LogicalType::Json => "->",
            _ => {
                let message = format!(
                    "there is no field \"{}\" in a value of type {ty}: it is no struct, union, map or JSON",
                    name.value
                );
                return Err(self.at(Error::type_mismatch(message), name.pos));
            }
        };
        let part = self.call(function, vec![value, key], name.pos)?;
        if ty == LogicalType::Json && part.ty() != LogicalType::Json {
            return Ok(self.cast_of(part, LogicalType::Json, false, name.pos));
        }
        Ok(part)
    }

    /// The value of a call that goes by the type of its first argument, or whose arguments have names.
    pub(super) fn nested_call(&mut self, name: &str, call: &FunctionCall, pos: Pos) -> Result<Option<Expr>> {
        if NAMED.contains(&name) {
            return self.call_with_names(name, call, pos).map(Some);
        }
        let is_access = matches!(name, SUBSCRIPT | SLICE | "struct_extract" | "array_extract");
        if !is_access || call.arguments.len() < 2 || !call.named.is_empty() {
            return Ok(None);
        }
        let mut args = self.exprs(&call.arguments)?;
        let text = match &args[1] {
            Expr::Literal { value: Value::Varchar(text), .. } => Some(text.clone()),
            _ => None,
        };
        let function = match (name, &args[0].ty(), text) {
            (SLICE, ..) => "list_slice",
            (_, LogicalType::Map(_), _) if name == SUBSCRIPT => "map_extract_value",
            (_, LogicalType::Struct(_) | LogicalType::Union(_) | LogicalType::Json, Some(text)) => {
                let name = Ident { value: text, pos: call.arguments[1].pos };
                let first = args.swap_remove(0);
                return self.field(first, &name).map(Some);
            }
            (_, LogicalType::Struct(_), _) => "struct_extract",
            (_, LogicalType::Json, _) => "->",
            (SUBSCRIPT | "array_extract", ..) => "list_extract",
            (_, LogicalType::Null, _) => return Ok(Some(Expr::literal(Value::Null))),
            (_, _, Some(text)) => {
                let name = Ident { value: text, pos: call.arguments[1].pos };
                let first = args.swap_remove(0);
                return self.field(first, &name).map(Some);
            }
            _ => "struct_extract",
        };
        self.call(function, args, pos).map(Some)
    }

    fn call_with_names(&mut self, name: &str, call: &FunctionCall, pos: Pos) -> Result<Expr> {
        let mut args = self.exprs(&call.arguments)?;
        // A column that stands there by itself gives its field its name.
        let own_name = |argument: &Expression| match &argument.kind {
            ExprKind::Column(parts) if name == "struct_pack" => {
                parts.last().map(|part| Arc::from(part.value.as_str()))
            }
            _ => None,
        };
        let mut names: Vec<Option<Arc<str>>> = call.arguments.iter().map(own_name).collect();
        for (name, value) in &call.named {
            args.push(self.expr(value)?);
            names.push(Some(Arc::from(name.value.as_str())));
        }
        let typed = |(arg, name): (&Expr, Option<Arc<str>>)| ArgType { name, ..arg_type(arg) };
        let types: Vec<ArgType> = args.iter().zip(names).map(typed).collect();
        let function = self.placed(resolve_scalar(name, &types, &self.context.options), pos)?;
        let args =
            args.into_iter().zip(&function.arg_types).map(|(arg, ty)| self.cast_to(arg, ty.clone(), pos));
        Ok(Expr::Call { args: args.collect::<Result<_>>()?, function, place: self.place(pos) })
    }
}
