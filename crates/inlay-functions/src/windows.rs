//! The table of window functions: names, types and results. What they compute is in `inlay-exec`'s window operator;
//! aggregates are window functions as well, and are declared in [`crate::aggregates`].

use inlay_kernels::function::{WindowFunction, WindowKind};
use inlay_kernels::resolve::ArgType;
use inlay_types::LogicalType;
use inlay_types::LogicalType::{BigInt, Double};

/// A window function as declared.
#[derive(Clone, Copy)]
pub struct Window {
    /// Canonical lower-case name.
    pub name: &'static str,
    /// Other names.
    pub aliases: &'static [&'static str],
    /// As shown in messages and the manual.
    pub signature: &'static str,
    /// One line: what it gives.
    pub description: &'static str,
    /// A call with its FROM and what it gives, for the manual; see [`crate::manual::Example`].
    pub example: &'static str,
    pub(crate) kind: WindowKind,
}

impl Window {
    pub(crate) fn is_called(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name) || self.aliases.iter().any(|a| a.eq_ignore_ascii_case(name))
    }

    /// The function for these arguments, if they fit.
    pub(crate) fn resolve(&self, args: &[ArgType]) -> Option<WindowFunction> {
        let (arg_types, return_type) = match self.kind {
            WindowKind::RowNumber | WindowKind::Rank | WindowKind::DenseRank => {
                (args.is_empty().then(Vec::new)?, BigInt)
            }
            WindowKind::PercentRank | WindowKind::CumeDist => (args.is_empty().then(Vec::new)?, Double),
            WindowKind::Ntile => match args {
                [count] if is_count(count) => (vec![BigInt], BigInt),
                _ => return None,
            },
            WindowKind::Lag | WindowKind::Lead => {
                let ty = concrete(&args.first()?.ty);
                match args {
                    [_] => (vec![ty.clone()], ty),
                    [_, offset] if is_count(offset) => (vec![ty.clone(), BigInt], ty),
                    [_, offset, _] if is_count(offset) => (vec![ty.clone(), BigInt, ty.clone()], ty),
                    _ => return None,
                }
            }
            WindowKind::FirstValue | WindowKind::LastValue => match args {
                [arg] => (vec![concrete(&arg.ty)], concrete(&arg.ty)),
                _ => return None,
            },
            WindowKind::NthValue => match args {
                [arg, place] if is_count(place) => (vec![concrete(&arg.ty), BigInt], concrete(&arg.ty)),
                _ => return None,
            },
            WindowKind::Fill => match args {
                [arg] if is_continuous(&arg.ty) => (vec![concrete(&arg.ty)], concrete(&arg.ty)),
                _ => return None,
            },
        };
        Some(WindowFunction { name: self.name, kind: self.kind, arg_types, return_type })
    }
}

/// The type of a bare NULL as an argument is INTEGER.
fn concrete(ty: &LogicalType) -> LogicalType {
    if *ty == LogicalType::Null { LogicalType::Integer } else { ty.clone() }
}

fn is_count(arg: &ArgType) -> bool {
    arg.ty.is_integer() || arg.ty == LogicalType::Null || (arg.is_literal && arg.ty == LogicalType::Varchar)
}

/// Whether there are values between two values of a type: what `fill` can interpolate.
pub fn is_continuous(ty: &LogicalType) -> bool {
    ty.is_numeric() || matches!(ty, LogicalType::Null) || (ty.is_temporal() && *ty != LogicalType::Interval)
}

/// All window functions that are no aggregates.
pub fn all() -> impl Iterator<Item = &'static Window> {
    WINDOWS.iter()
}

const fn window(
    kind: WindowKind,
    name: &'static str,
    aliases: &'static [&'static str],
    signature: &'static str,
    description: &'static str,
    example: &'static str,
) -> Window {
    Window { name, aliases, signature, description, example, kind }
}

static WINDOWS: &[Window] = &[
    window(
        WindowKind::RowNumber,
        "row_number",
        &[],
        "row_number() -> BIGINT",
        "number of the row in its partition, from 1",
        "row_number() OVER (ORDER BY x) FROM (VALUES (5), (7), (7)) t(x) = '1, 2, 3'",
    ),
    window(
        WindowKind::Rank,
        "rank",
        &[],
        "rank() -> BIGINT",
        "number of the first row with the same sort keys: ranks with gaps",
        "rank() OVER (ORDER BY x) FROM (VALUES (5), (5), (7)) t(x) = '1, 1, 3'",
    ),
    window(
        WindowKind::DenseRank,
        "dense_rank",
        &["rank_dense"],
        "dense_rank() -> BIGINT",
        "number of different sort keys up to the row's: ranks without gaps",
        "dense_rank() OVER (ORDER BY x) FROM (VALUES (5), (5), (7)) t(x) = '1, 1, 2'",
    ),
    window(
        WindowKind::PercentRank,
        "percent_rank",
        &[],
        "percent_rank() -> DOUBLE",
        "rank as a share of the other rows: (rank - 1) / (rows - 1)",
        "percent_rank() OVER (ORDER BY x) FROM (VALUES (5), (6), (7)) t(x) = '0.0, 0.5, 1.0'",
    ),
    window(
        WindowKind::CumeDist,
        "cume_dist",
        &[],
        "cume_dist() -> DOUBLE",
        "share of the partition's rows up to the row and those with the same sort keys",
        "cume_dist() OVER (ORDER BY x) FROM (VALUES (5), (7)) t(x) = '0.5, 1.0'",
    ),
    window(
        WindowKind::Ntile,
        "ntile",
        &[],
        "ntile(count) -> BIGINT",
        "number of the row's part if the partition is cut into parts as equal as possible",
        "ntile(2) OVER (ORDER BY x) FROM (VALUES (5), (6), (7)) t(x) = '1, 1, 2'",
    ),
    window(
        WindowKind::Lag,
        "lag",
        &[],
        "lag(any, [offset, [default]]) -> any",
        "value of the row that stands `offset` (1) rows before, else the default (NULL)",
        "lag(x, 1, 0) OVER (ORDER BY x) FROM (VALUES (5), (6), (7)) t(x) = '0, 5, 6'",
    ),
    window(
        WindowKind::Lead,
        "lead",
        &[],
        "lead(any, [offset, [default]]) -> any",
        "value of the row that stands `offset` (1) rows behind, else the default (NULL)",
        "lead(x, 1, 0) OVER (ORDER BY x) FROM (VALUES (5), (6), (7)) t(x) = '6, 7, 0'",
    ),
    window(
        WindowKind::FirstValue,
        "first_value",
        &["first"],
        "first_value(any) -> any",
        "value of the frame's first row",
        "first_value(x) OVER (ORDER BY x) FROM (VALUES (5), (6), (7)) t(x) = '5, 5, 5'",
    ),
    window(
        WindowKind::LastValue,
        "last_value",
        &["last"],
        "last_value(any) -> any",
        "value of the frame's last row",
        "last_value(x) OVER (ORDER BY x) FROM (VALUES (5), (6), (7)) t(x) = '5, 6, 7'",
    ),
    window(
        WindowKind::NthValue,
        "nth_value",
        &[],
        "nth_value(any, place) -> any",
        "value of the frame's row at a place, from 1; NULL if the frame is shorter",
        "nth_value(x, 1) OVER (ORDER BY x) FROM (VALUES (5), (6), (7)) t(x) = '5, 5, 5'",
    ),
    window(
        WindowKind::Fill,
        "fill",
        &[],
        "fill(any) -> any",
        "the value, or, where it is NULL, one interpolated linearly between its neighbours by the sort key",
        "fill(y) OVER (ORDER BY x) FROM (VALUES (1, 10), (2, NULL), (3, 30)) t(x, y) = '10, 20, 30'",
    ),
];
