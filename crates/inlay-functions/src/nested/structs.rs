//! `{'a': 1}` and `s.a`: structs from values, and their fields.

use super::rows::{computed, finish};
use super::{always_null, explained, literal_text, no_such_name};
use crate::columns::computed_rows;
use crate::registry::Function;
use inlay_kernels::function::kernel;
use inlay_kernels::resolve::{ArgType, ResolveOptions, Resolved};
use inlay_types::logical_type::{Field, MAX_FIELDS};
use inlay_types::nested::{extract_field, pack_struct};
use inlay_types::{Error, LogicalType, Result};

/// See the module documentation.
pub(crate) static FUNCTIONS: &[Function] = &[
    explained(
        "struct_pack",
        &["struct_pack(name := any, ...) -> STRUCT"],
        resolve_pack,
        "a struct of named values",
        "struct_pack(a := 1, b := 'x') = '{''a'': 1, ''b'': x}'",
    ),
    Function::typed(
        "row",
        &["row(any, ...) -> STRUCT"],
        |args, _| resolve_row(args),
        "a struct without names",
        "row(1, 'x') = '(1, x)'",
    )
    .special_nulls(),
    explained(
        "struct_extract",
        &["struct_extract(STRUCT, name) -> any", "struct_extract(STRUCT, position) -> any"],
        resolve_extract,
        "a field of a struct, by name, or by position from 1 if it has no names",
        "struct_extract({'a': 4, 'b': 5}, 'b') = 5",
    ),
    explained(
        "struct_extract_at",
        &["struct_extract_at(STRUCT, position) -> any"],
        |args, _| resolve_extract_at(args),
        "the field of a struct at a position from 1",
        "struct_extract_at({'a': 4, 'b': 5}, 1) = 4",
    ),
];

/// A struct of these fields from as many arguments.
pub(super) fn pack(fields: Vec<Field>) -> Option<Resolved> {
    if fields.is_empty() {
        return None;
    }
    let types = fields.iter().map(|field| field.ty.clone()).collect();
    let ty = LogicalType::Struct(fields.into());
    ty.check_depth().ok()?;
    let returns = ty.clone();
    let kernel = kernel(move |args, len, out| {
        let rows = computed_rows(args, len);
        finish(pack_struct(&ty, args, rows, None)?, rows, len, out)
    });
    Some(Resolved::infallible(types, returns, kernel))
}

/// Fields of named arguments; an error when a name is missing or occurs twice.
pub(super) fn named_fields(function: &str, args: &[ArgType]) -> Result<Vec<Field>> {
    if args.len() > MAX_FIELDS {
        let message = format!("{} arguments of {function} are above the limit of {MAX_FIELDS}", args.len());
        return Err(Error::out_of_range(message));
    }
    let mut fields: Vec<Field> = Vec::with_capacity(args.len());
    for arg in args {
        let Some(name) = &arg.name else {
            return Err(Error::bind(format!("{function} wants named arguments: {function}(a := 1)")));
        };
        if fields.iter().any(|field| field.name.eq_ignore_ascii_case(name)) {
            return Err(Error::bind(format!("{function} has two fields named \"{name}\"")));
        }
        fields.push(Field::new(name.clone(), arg.ty.clone()));
    }
    Ok(fields)
}

fn resolve_pack(args: &[ArgType], _: &ResolveOptions) -> Result<Option<Resolved>> {
    if args.is_empty() {
        return Err(Error::bind("a STRUCT has at least one field: {'a': 1}, struct_pack(a := 1)"));
    }
    Ok(pack(named_fields("struct_pack", args)?))
}

fn resolve_row(args: &[ArgType]) -> Option<Resolved> {
    pack(args.iter().map(|arg| Field::new("", arg.ty.clone())).collect())
}

/// `s.name`, or `s[1]` of a struct without names.
pub(super) fn resolve_extract(args: &[ArgType], _: &ResolveOptions) -> Result<Option<Resolved>> {
    let [source, key] = args else { return Ok(None) };
    if source.ty == LogicalType::Null {
        return Ok(Some(always_null(args, LogicalType::Null)));
    }
    if let LogicalType::Union(_) = &source.ty {
        return super::unions::resolve_extract(args);
    }
    let LogicalType::Struct(fields) = &source.ty else { return Ok(None) };
    if let Some(name) = literal_text(key) {
        let found = fields.iter().position(|field| *field.name == *name);
        let found = found.or_else(|| fields.iter().position(|field| field.name.eq_ignore_ascii_case(name)));
        let index = found.ok_or_else(|| no_such_name("field", name, fields))?;
        return Ok(Some(field_of(args, fields, index)));
    }
    if key.integer.is_some() && !source.ty.is_tuple() {
        return Err(Error::bind("the fields of this struct have names")
            .with_hint("a number picks one of a row without names"));
    }
    resolve_extract_at(args)
}

fn resolve_extract_at(args: &[ArgType]) -> Result<Option<Resolved>> {
    let [source, key] = args else { return Ok(None) };
    let LogicalType::Struct(fields) = &source.ty else { return Ok(None) };
    let Some(position) = key.integer else {
        return Err(Error::bind("which field of a struct is meant has to be a literal"));
    };
    let index = usize::try_from(position - 1).ok().filter(|index| *index < fields.len());
    let index = index.ok_or_else(|| {
        Error::bind(format!("there is no field {position} in a struct of {} fields", fields.len()))
    })?;
    Ok(Some(field_of(args, fields, index)))
}

fn field_of(args: &[ArgType], fields: &[Field], index: usize) -> Resolved {
    let kernel = kernel(move |args, len, out| {
        let (rows, taken) = computed(&args[..1], len);
        finish(extract_field(&taken[0], index)?, rows, len, out)
    });
    let types = args.iter().map(|arg| arg.ty.clone()).collect();
    Resolved::infallible(types, fields[index].ty.clone(), kernel)
}
