//! Functions of ENUMs: most look at the type of their argument only.

use crate::registry::{Function, Overloads};
use inlay_kernels::function::kernel;
use inlay_kernels::resolve::{ArgType, ResolveOptions, Resolved};
use inlay_types::LogicalType::{self, UInteger, USmallInt, UTinyInt, Varchar};
use inlay_types::{EnumType, PhysicalType, Result, Value, Vector};
use std::sync::Arc;

/// See the module documentation.
pub(super) static FUNCTIONS: &[Function] = &[
    Function::new(
        "enum_first",
        Overloads::Typed { shown: &["enum_first(ENUM) -> VARCHAR"], resolve: resolve_first },
        "the first value of an ENUM's type",
        "enum_first('b'::ENUM('a', 'b')) = 'a'",
    )
    .special_nulls(),
    Function::new(
        "enum_last",
        Overloads::Typed { shown: &["enum_last(ENUM) -> VARCHAR"], resolve: resolve_last },
        "the last value of an ENUM's type",
        "enum_last('a'::ENUM('a', 'b')) = 'b'",
    )
    .special_nulls(),
    Function::new(
        "enum_range",
        Overloads::Typed { shown: &["enum_range(ENUM) -> VARCHAR[]"], resolve: resolve_range },
        "all values of an ENUM's type, in order",
        "enum_range('a'::ENUM('a', 'b')) = '[a, b]'",
    )
    .special_nulls(),
    Function::new(
        "enum_range_boundary",
        Overloads::Typed {
            shown: &["enum_range_boundary(ENUM, ENUM) -> VARCHAR[]"],
            resolve: resolve_boundary,
        },
        "the values of an ENUM's type from one to another; NULL is the first or the last one",
        "enum_range_boundary('b'::ENUM('a', 'b', 'c'), NULL) = '[b, c]'",
    )
    .special_nulls(),
    Function::new(
        "enum_code",
        Overloads::Typed {
            shown: &[
                "enum_code(ENUM) -> UTINYINT",
                "enum_code(ENUM) -> USMALLINT",
                "enum_code(ENUM) -> UINTEGER",
            ],
            resolve: resolve_code,
        },
        "the position of a value in its ENUM, from 0",
        "enum_code('b'::ENUM('a', 'b')) = 1",
    ),
];

fn enum_of(arg: &ArgType) -> Option<&Arc<EnumType>> {
    if let LogicalType::Enum(labels) = &arg.ty { Some(labels) } else { None }
}

fn text(label: Option<&str>) -> Value {
    label.map_or(Value::Null, |label| Value::Varchar(label.to_string()))
}

fn list(labels: &[Arc<str>]) -> Value {
    let values = labels.iter().map(|label| Value::Varchar(label.to_string())).collect();
    Value::List { element: Arc::new(Varchar), values }
}

/// A function of the argument's type alone.
fn constant(arg: &ArgType, return_type: LogicalType, value: Value) -> Resolved {
    let ty = return_type.clone();
    let kernel = kernel(move |_, len, out| {
        *out = Vector::constant(ty.clone(), &value, len)?;
        Ok(())
    });
    Resolved::infallible(vec![arg.ty.clone()], return_type, kernel)
}

fn resolve_first(args: &[ArgType], _: &ResolveOptions) -> Option<Resolved> {
    let [arg] = args else { return None };
    let labels = enum_of(arg)?;
    Some(constant(arg, Varchar, text(labels.get(0))))
}

fn resolve_last(args: &[ArgType], _: &ResolveOptions) -> Option<Resolved> {
    let [arg] = args else { return None };
    let labels = enum_of(arg)?;
    Some(constant(arg, Varchar, text(labels.values().last().map(|label| &**label))))
}

fn resolve_range(args: &[ArgType], _: &ResolveOptions) -> Option<Resolved> {
    let [arg] = args else { return None };
    let labels = enum_of(arg)?;
    Some(constant(arg, LogicalType::list(Varchar), list(labels.values())))
}

fn resolve_boundary(args: &[ArgType], _: &ResolveOptions) -> Option<Resolved> {
    let [first, last] = args else { return None };
    let labels = Arc::clone(enum_of(first).or_else(|| enum_of(last))?);
    let ty = LogicalType::Enum(Arc::clone(&labels));
    if args.iter().any(|arg| arg.ty != ty && arg.ty != LogicalType::Null) {
        return None;
    }
    let result = LogicalType::list(Varchar);
    let returned = result.clone();
    let kernel = kernel(move |args: &[&Vector], len, out: &mut Vector| -> Result<()> {
        let position = |arg: &Vector, row: usize, otherwise: usize| match arg.get(row) {
            Value::Null => otherwise,
            label => labels.position(&label.to_string()).map_or(otherwise, |position| position as usize),
        };
        let all = labels.values();
        let rows = (0..len).map(|row| {
            let from = position(args[0], row, 0);
            let to = position(args[1], row, all.len().saturating_sub(1));
            list(all.get(from..to + 1).unwrap_or_default())
        });
        *out = Vector::from_sql_values(returned.clone(), &rows.collect::<Vec<_>>())?;
        Ok(())
    });
    Some(Resolved::infallible(vec![ty.clone(), ty], result, kernel))
}

fn resolve_code(args: &[ArgType], _: &ResolveOptions) -> Option<Resolved> {
    let [arg] = args else { return None };
    enum_of(arg)?;
    let ty = match arg.ty.physical() {
        PhysicalType::U8 => UTinyInt,
        PhysicalType::U16 => USmallInt,
        _ => UInteger,
    };
    let code = ty.clone();
    let kernel = kernel(move |args: &[&Vector], _, out: &mut Vector| -> Result<()> {
        *out = args[0].flatten().reinterpret(code.clone());
        Ok(())
    });
    Some(Resolved::infallible(vec![arg.ty.clone()], ty, kernel))
}
