//! Which types convert to which without being asked, and the type two values meet in.

use inlay_types::LogicalType;

/// The type in which values of `a` and `b` meet (in CASE, UNION, comparisons), or `None`.
pub fn common_type(a: LogicalType, b: LogicalType) -> Option<LogicalType> {
    (a == b).then_some(a)
}

/// Whether a value of `from` becomes one of `to` without a CAST.
pub fn can_cast_implicitly(from: LogicalType, to: LogicalType) -> bool {
    from == to || from == LogicalType::Null
}
