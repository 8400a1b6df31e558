//! Functions of lists, arrays, structs, maps and unions, and of BIT and UUID, which are read alike.
//!
//! Arguments are read row by row as canonical bytes ([`rows`]): equal values have equal bytes, so that looking up, counting
//! and removing duplicates compare and hash bytes whatever the type.

pub(crate) mod bins;
pub(crate) mod bits;
mod elements;
mod entries;
pub(crate) mod extract;
pub(crate) mod fields;
pub(crate) mod folds;
mod integers;
pub(crate) mod joined;
pub(crate) mod lists;
pub(crate) mod map_parts;
pub(crate) mod maps;
pub(crate) mod paths;
pub(crate) mod rows;
pub(crate) mod search;
pub(crate) mod series;
pub(crate) mod sizes;
pub(crate) mod slice;
pub(crate) mod sort;
pub(crate) mod split;
pub(crate) mod structs;
pub(crate) mod unions;
pub(crate) mod uuids;
pub(crate) mod vectors;

use crate::registry::{Function, Overloads};
use inlay_kernels::coercion::{common_argument_type, common_choice_type};
use inlay_kernels::function::kernel;
use inlay_kernels::resolve::{ArgType, ResolveOptions, Resolved};
use inlay_types::{Error, LogicalType, Result};

/// A function by rules that explain what is wrong and that decides itself what NULL means.
const fn explained(
    name: &'static str,
    shown: &'static [&'static str],
    resolve: fn(&[ArgType], &ResolveOptions) -> Result<Option<Resolved>>,
    description: &'static str,
    example: &'static str,
) -> Function {
    Function::new(name, Overloads::Explained { shown, resolve }, description, example).special_nulls()
}

/// The type of the elements of a list or array.
fn element(ty: &LogicalType) -> Option<&LogicalType> {
    match ty {
        LogicalType::List(element) | LogicalType::Array(element, _) => Some(element),
        _ => None,
    }
}

/// The type of the elements of an argument that is a list, an array or NULL.
fn element_or_null(arg: &ArgType) -> Option<LogicalType> {
    if arg.ty == LogicalType::Null { Some(LogicalType::Null) } else { element(&arg.ty).cloned() }
}

/// How a list or array is taken whose elements become `wanted`: as it is when they are that already.
fn taken_as(arg: &ArgType, wanted: &LogicalType) -> LogicalType {
    if element(&arg.ty) == Some(wanted) { arg.ty.clone() } else { LogicalType::list(wanted.clone()) }
}

/// The type in which all arguments meet; `Null` when there are none or all are NULL.
fn meeting_type<'a>(args: impl IntoIterator<Item = &'a ArgType>) -> Option<LogicalType> {
    let mut args = args.into_iter();
    let Some(first) = args.next() else { return Some(LogicalType::Null) };
    let mut meeting = first.clone();
    for arg in args {
        let ty = common_choice_type(&meeting, arg)?;
        let is_literal = meeting.is_literal && arg.is_literal && ty == meeting.ty;
        meeting = ArgType { is_literal, ..ArgType::of(ty) };
    }
    Some(meeting.ty)
}

/// The type in which the elements of a list meet a value.
fn meeting_element(list: &ArgType, value: &ArgType) -> Option<LogicalType> {
    common_argument_type(&ArgType::of(element_or_null(list)?), value)
}

/// A number, or a literal that becomes one.
fn is_integer(arg: &ArgType) -> bool {
    arg.ty.is_integer() || arg.ty == LogicalType::Null || (arg.is_literal && arg.ty == LogicalType::Varchar)
}

fn is_text(arg: &ArgType) -> bool {
    matches!(arg.ty, LogicalType::Varchar | LogicalType::Json | LogicalType::Null)
}

/// The names of fields, for errors.
fn named<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ")
}

/// A function without arguments or of NULLs only: always the same value of no rows' business.
fn always_null(args: &[ArgType], ty: LogicalType) -> Resolved {
    let returns = ty.clone();
    let kernel = kernel(move |_, len, out| {
        *out = inlay_types::Vector::nulls(returns.clone(), len);
        Ok(())
    });
    Resolved::infallible(args.iter().map(|arg| arg.ty.clone()).collect(), ty, kernel)
}

/// The literal text of an argument, if it is one.
fn literal_text(arg: &ArgType) -> Option<&str> {
    arg.text.as_deref()
}

fn no_such_name(kind: &str, name: &str, names: &[inlay_types::logical_type::Field]) -> Error {
    Error::bind(format!("no {kind} is named \"{name}\""))
        .with_hint(format!("there are {}", named(names.iter().map(|field| &*field.name))))
}
