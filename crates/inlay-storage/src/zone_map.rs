//! The range of a segment's values, which decides whether a scan has to look at them.

use inlay_types::{LogicalType, Value};

/// Smallest and largest value of a segment.
#[derive(Clone, Debug, PartialEq)]
pub struct ZoneMap {
    /// Smallest value that is not NULL; absent if there is none, or if the type has no bounds. Floats: NaN counts as largest.
    pub min: Option<Value>,
    /// Largest value that is not NULL.
    pub max: Option<Value>,
    /// Whether some value is NULL.
    pub has_null: bool,
    /// Whether some value is not NULL.
    pub has_value: bool,
}

/// Whether zone maps hold bounds of a type: those of nested values, documents and bits would be as large as these, and are
/// rarely asked for.
pub fn has_bounds(ty: &LogicalType) -> bool {
    !ty.is_nested() && !matches!(ty, LogicalType::Json | LogicalType::Bit)
}
