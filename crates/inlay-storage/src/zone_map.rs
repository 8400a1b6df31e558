//! The range of a segment's values, which decides whether a scan has to look at them.

use inlay_types::Value;

/// Smallest and largest value of a segment.
#[derive(Clone, Debug, PartialEq)]
pub struct ZoneMap {
    /// Smallest value that is not NULL; absent if there is none. Floats: NaN counts as largest.
    pub min: Option<Value>,
    /// Largest value that is not NULL.
    pub max: Option<Value>,
    /// Whether some value is NULL.
    pub has_null: bool,
    /// Whether some value is not NULL.
    pub has_value: bool,
}
