//! Unions: a value under a tag.

use super::rows::{each, each_known};
use super::{explained, literal_text, no_such_name, structs};
use crate::registry::Function;
use inlay_kernels::function::kernel;
use inlay_kernels::resolve::{ArgType, Resolved};
use inlay_types::logical_type::EnumType;
use inlay_types::nested::read::union_parts;
use inlay_types::{Error, LogicalType, Result};
use std::sync::Arc;

/// See the module documentation.
pub(crate) static FUNCTIONS: &[Function] = &[
    explained(
        "union_value",
        &["union_value(name := any) -> UNION"],
        |args, _| resolve_value(args),
        "a union of one member",
        "union_value(k := 'hello') = 'hello'",
    ),
    explained(
        "union_extract",
        &["union_extract(UNION, name) -> any"],
        |args, _| resolve_extract(args),
        "the value if it is of the member named, else NULL",
        "union_extract(union_value(k := 'hello'), 'k') = 'hello'",
    ),
    Function::typed(
        "union_tag",
        &["union_tag(UNION) -> ENUM"],
        |args, _| resolve_tag(args),
        "the name of the member that is held",
        "union_tag(union_value(k := 'hello')) = 'k'",
    )
    .special_nulls(),
];

fn resolve_value(args: &[ArgType]) -> Result<Option<Resolved>> {
    let fields = structs::named_fields("union_value", args)?;
    let [member] = &fields[..] else {
        return Err(Error::bind("union_value takes one named argument: union_value(a := 1)"));
    };
    let types = vec![member.ty.clone()];
    let ty = LogicalType::Union(fields.into());
    ty.check_depth()?;
    let returns = ty.clone();
    let kernel = kernel(move |args, len, out| {
        each(args, &ty, len, out, |args, row, out| {
            let value = args.get(0, row);
            out.push_with(|out| {
                out.extend_from_slice(&[0, u8::from(value.is_some())]);
                out.extend_from_slice(value.unwrap_or_default());
                Ok(())
            })
        })
    });
    Ok(Some(Resolved::infallible(types, returns, kernel)))
}

/// The member of a union whose name is given; also `u.name`.
pub(super) fn resolve_extract(args: &[ArgType]) -> Result<Option<Resolved>> {
    let [source, key] = args else { return Ok(None) };
    let LogicalType::Union(members) = &source.ty else { return Ok(None) };
    let Some(name) = literal_text(key) else {
        return Err(Error::bind("which member of a union is meant has to be a literal"));
    };
    let found = members.iter().position(|member| member.name.eq_ignore_ascii_case(name));
    let index = found.ok_or_else(|| no_such_name("member", name, members))?;
    let ty = members[index].ty.clone();
    let returns = ty.clone();
    let kernel = kernel(move |args, len, out| {
        each_known(args, &ty, len, out, |args, row, out| {
            let (tag, value) = union_parts(args.get(0, row).unwrap_or_default());
            out.push(value.filter(|_| usize::from(tag) == index))
        })
    });
    let types = args.iter().map(|arg| arg.ty.clone()).collect();
    Ok(Some(Resolved::infallible(types, returns, kernel)))
}

fn resolve_tag(args: &[ArgType]) -> Option<Resolved> {
    let [source] = args else { return None };
    let LogicalType::Union(members) = &source.ty else { return None };
    let names = EnumType::new(members.iter().map(|member| Arc::clone(&member.name))).ok()?;
    let ty = LogicalType::Enum(Arc::new(names));
    let returns = ty.clone();
    let kernel = kernel(move |args, len, out| {
        each_known(args, &ty, len, out, |args, row, out| {
            let (tag, _) = union_parts(args.get(0, row).unwrap_or_default());
            out.push(Some(&[tag]))
        })
    });
    Some(Resolved::infallible(vec![source.ty.clone()], returns, kernel))
}
