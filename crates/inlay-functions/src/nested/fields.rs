//! Structs changed and asked: fields added, replaced, joined, named and found.

use super::explained;
use super::rows::{Part, computed, each, each_known, finish};
use super::structs::{named_fields, pack};
use crate::registry::Function;
use inlay_kernels::coercion::common_argument_type;
use inlay_kernels::function::kernel;
use inlay_kernels::resolve::{ArgType, Resolved};
use inlay_types::LogicalType::{Boolean, Integer, Varchar};
use inlay_types::logical_type::Field;
use inlay_types::nested::read::StructLayout;
use inlay_types::nested::{extract_field, pack_struct};
use inlay_types::{Error, LogicalType, Result, Vector};
use std::sync::Arc;

/// See the module documentation.
pub(crate) static FUNCTIONS: &[Function] = &[
    explained(
        "struct_insert",
        &["struct_insert(STRUCT, name := any, ...) -> STRUCT"],
        |args, _| resolve_change(args, "struct_insert", false),
        "a struct with more fields",
        "struct_insert({'a': 1}, b := 2) = '{''a'': 1, ''b'': 2}'",
    ),
    explained(
        "struct_update",
        &["struct_update(STRUCT, name := any, ...) -> STRUCT"],
        |args, _| resolve_change(args, "struct_update", true),
        "a struct with other values of fields, or more fields",
        "struct_update({'a': 1}, a := 2) = '{''a'': 2}'",
    ),
    explained(
        "struct_concat",
        &["struct_concat(STRUCT, STRUCT, ...) -> STRUCT"],
        |args, _| resolve_concat(args),
        "the fields of all structs in one",
        "struct_concat({'i': 4}, {'s': 'x'}) = '{''i'': 4, ''s'': x}'",
    ),
    Function::typed(
        "struct_keys",
        &["struct_keys(STRUCT) -> VARCHAR[]"],
        |args, _| resolve_keys(args),
        "the names of the fields",
        "struct_keys({'a': 1, 'b': 2}) = '[a, b]'",
    )
    .special_nulls(),
    Function::typed(
        "struct_values",
        &["struct_values(STRUCT) -> STRUCT"],
        |args, _| resolve_values(args),
        "the fields without their names",
        "struct_values({'a': 1, 'b': 2}) = '(1, 2)'",
    )
    .special_nulls(),
    Function::typed(
        "struct_contains",
        &["struct_contains(STRUCT without names, any) -> BOOLEAN"],
        |args, _| resolve_find(args, Boolean),
        "whether a field of a row has a value",
        "struct_contains(row(3, 3, 0), 3) = true",
    )
    .special_nulls()
    .aliases(&["struct_has"]),
    Function::typed(
        "struct_position",
        &["struct_position(STRUCT without names, any) -> INTEGER"],
        |args, _| resolve_find(args, Integer),
        "the position from 1 of the first field of a row that has a value",
        "struct_position(row(3, 3, 0), 3) = 1",
    )
    .special_nulls()
    .aliases(&["struct_indexof"]),
];

fn fields_of(arg: &ArgType) -> Option<&Arc<[Field]>> {
    if let LogicalType::Struct(fields) = &arg.ty { Some(fields) } else { None }
}

/// Where a field of the result comes from: an argument, or a field of one.
#[derive(Clone, Copy)]
enum Source {
    Argument(usize),
    Field(usize, usize),
}

/// A struct of fields that lie in the arguments; NULL where the first one is.
fn gathered(args: &[ArgType], fields: Vec<Field>, sources: Vec<Source>) -> Option<Resolved> {
    let ty = pack(fields)?.return_type;
    let types = args.iter().map(|arg| arg.ty.clone()).collect();
    let returns = ty.clone();
    let kernel = kernel(move |args: &[&Vector], len: usize, out: &mut Vector| {
        let (rows, taken) = computed(args, len);
        let flat: Vec<Vector> = taken
            .iter()
            .map(|arg| if matches!(arg.ty(), LogicalType::Struct(_)) { arg.flatten() } else { arg.clone() })
            .collect();
        let part = |source: &Source| match *source {
            Source::Argument(arg) => Ok(flat[arg].clone()),
            Source::Field(arg, field) => extract_field(&flat[arg], field),
        };
        let parts = sources.iter().map(part).collect::<Result<Vec<Vector>>>()?;
        let validity = flat.first().and_then(Vector::validity);
        finish(pack_struct(&ty, &parts.iter().collect::<Vec<_>>(), rows, validity)?, rows, len, out)
    });
    Some(Resolved::infallible(types, returns, kernel))
}

fn place_of(fields: &[Field], name: &str) -> Option<usize> {
    fields.iter().position(|field| field.name.eq_ignore_ascii_case(name))
}

fn resolve_change(args: &[ArgType], function: &str, replaces: bool) -> Result<Option<Resolved>> {
    let [first, others @ ..] = args else { return Ok(None) };
    let Some(own) = fields_of(first).filter(|_| !others.is_empty()) else { return Ok(None) };
    let mut fields = own.to_vec();
    let mut sources: Vec<Source> = (0..fields.len()).map(|field| Source::Field(0, field)).collect();
    for (index, added) in named_fields(function, others)?.into_iter().enumerate() {
        match place_of(&fields, &added.name) {
            Some(place) if replaces => {
                fields[place].ty = added.ty;
                sources[place] = Source::Argument(index + 1);
            }
            Some(_) => {
                return Err(Error::bind(format!("the struct already has a field named \"{}\"", added.name)));
            }
            None => {
                fields.push(added);
                sources.push(Source::Argument(index + 1));
            }
        }
    }
    Ok(gathered(args, fields, sources))
}

fn resolve_concat(args: &[ArgType]) -> Result<Option<Resolved>> {
    let (mut fields, mut sources): (Vec<Field>, Vec<Source>) = (Vec::new(), Vec::new());
    for (arg, source) in args.iter().enumerate() {
        let Some(own) = fields_of(source) else { return Ok(None) };
        for (index, field) in own.iter().enumerate() {
            if !field.name.is_empty() && place_of(&fields, &field.name).is_some() {
                return Err(Error::bind(format!("two structs have a field named \"{}\"", field.name)));
            }
            fields.push(field.clone());
            sources.push(Source::Field(arg, index));
        }
    }
    let unnamed = fields.iter().filter(|field| field.name.is_empty()).count();
    if unnamed != 0 && unnamed != fields.len() {
        return Err(Error::bind("structs with and without names cannot be put together"));
    }
    Ok(gathered(args, fields, sources))
}

/// The bytes do not tell the names of fields.
fn resolve_values(args: &[ArgType]) -> Option<Resolved> {
    let [source] = args else { return None };
    let unnamed = fields_of(source)?.iter().map(|field| Field::new("", field.ty.clone())).collect();
    let ty = pack(unnamed)?.return_type;
    let returns = ty.clone();
    let kernel = kernel(move |args: &[&Vector], _: usize, out: &mut Vector| {
        *out = args[0].clone().reinterpret(ty.clone());
        Ok(())
    });
    Some(Resolved::infallible(vec![source.ty.clone()], returns, kernel))
}

fn resolve_keys(args: &[ArgType]) -> Option<Resolved> {
    let [source] = args else { return None };
    let fields = Arc::clone(fields_of(source)?);
    let ty = LogicalType::list(Varchar);
    let returns = ty.clone();
    let kernel = kernel(move |args, len, out| {
        each_known(args, &ty, len, out, |_, _, out| {
            let names: Vec<Part<'_>> = fields.iter().map(|field| Some(field.name.as_bytes())).collect();
            out.push_list(&Varchar, &names)
        })
    });
    Some(Resolved::infallible(vec![source.ty.clone()], returns, kernel))
}

fn resolve_find(args: &[ArgType], returns: LogicalType) -> Option<Resolved> {
    let [source, value] = args else { return None };
    let fields = fields_of(source).filter(|_| source.ty.is_tuple())?;
    let meet = |value: ArgType, field: &Field| {
        let ty = common_argument_type(&value, &ArgType::of(field.ty.clone()))?;
        Some(ArgType::of(ty))
    };
    let wanted = fields.iter().try_fold(value.clone(), meet)?.ty;
    let taken: Vec<Field> = fields.iter().map(|_| Field::new("", wanted.clone())).collect();
    let (layout, count, ty) = (StructLayout::new(&taken), taken.len(), returns.clone());
    let types = vec![LogicalType::Struct(taken.into()), wanted];
    let kernel = kernel(move |args, len, out| {
        each(args, &ty, len, out, |args, row, out| {
            let Some(bytes) = args.get(0, row) else { return out.push(None) };
            // Whether one is unknown, nobody can tell; where the first of them lies, can be told.
            if ty == Boolean && args.get(1, row).is_none() {
                return out.push(None);
            }
            let found = (0..count).find(|&field| layout.field(bytes, field) == args.get(1, row));
            match found {
                _ if ty == Boolean => out.push_bool(found.is_some()),
                Some(field) => out.push(Some(&(field as i32 + 1).to_le_bytes())),
                None => out.push(None),
            }
        })
    });
    Some(Resolved::infallible(types, returns, kernel))
}
