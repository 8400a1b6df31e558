//! Conjuncts over one column that segments evaluate on their encoded form.
//!
//! NULL never satisfies a predicate, except [`SegmentPredicate::IsNull`]. Constants are of the column's type.
//! Floats order as in ORDER BY: NaN equals NaN and lies above everything, -0.0 equals 0.0.

use crate::{BloomFilter, KeyBitmap};
use inlay_types::{Result, Value, Vector};
use std::fmt;
use std::sync::Arc;

/// A comparison, column on the left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cmp {
    /// `=`
    Eq,
    /// `<>`
    NotEq,
    /// `<`
    Lt,
    /// `<=`
    LtEq,
    /// `>`
    Gt,
    /// `>=`
    GtEq,
}

impl Cmp {
    /// The same operator of the kernels; `None` for IS [NOT] DISTINCT FROM.
    pub fn from_kernel(op: inlay_types::Cmp) -> Option<Self> {
        Some(match op {
            inlay_types::Cmp::Eq => Self::Eq,
            inlay_types::Cmp::NotEq => Self::NotEq,
            inlay_types::Cmp::Lt => Self::Lt,
            inlay_types::Cmp::LtEq => Self::LtEq,
            inlay_types::Cmp::Gt => Self::Gt,
            inlay_types::Cmp::GtEq => Self::GtEq,
            inlay_types::Cmp::Distinct | inlay_types::Cmp::NotDistinct => return None,
        })
    }

    /// The comparison with its sides exchanged.
    pub fn flipped(self) -> Self {
        match self {
            Self::Eq => Self::Eq,
            Self::NotEq => Self::NotEq,
            Self::Lt => Self::Gt,
            Self::LtEq => Self::GtEq,
            Self::Gt => Self::Lt,
            Self::GtEq => Self::LtEq,
        }
    }

    /// Whether an ordering of column and constant satisfies the comparison.
    pub fn holds(self, ordering: std::cmp::Ordering) -> bool {
        match self {
            Self::Eq => ordering.is_eq(),
            Self::NotEq => ordering.is_ne(),
            Self::Lt => ordering.is_lt(),
            Self::LtEq => ordering.is_le(),
            Self::Gt => ordering.is_gt(),
            Self::GtEq => ordering.is_ge(),
        }
    }
}

/// Any other condition over one column, such as LIKE or a function call compared with a constant.
pub trait VectorPredicate: Send + Sync + fmt::Debug {
    /// Appends the positions in `input` (ascending) of the rows that satisfy the condition. Rows that are NULL
    /// may or may not be named; they are left out afterwards.
    fn select(&self, input: &Vector, out: &mut Vec<u32>) -> Result<()>;
}

/// A condition over one column. See the module documentation.
#[derive(Clone, Debug)]
pub enum SegmentPredicate {
    /// Compared with a constant.
    Compare(Cmp, Value),
    /// Between two constants.
    Between {
        /// Lower bound.
        low: Value,
        /// Whether `low` itself qualifies.
        low_inclusive: bool,
        /// Upper bound.
        high: Value,
        /// Whether `high` itself qualifies.
        high_inclusive: bool,
    },
    /// Equal to one of several constants; NULLs among them match nothing.
    In(Vec<Value>),
    /// Is NULL.
    IsNull,
    /// Is not NULL.
    IsNotNull,
    /// Stored integer is in an exact set; made by the build side of a hash join.
    KeyBitmap(Arc<KeyBitmap>),
    /// Hash may be in a set; made by the build side of a hash join. Lets through some that are not.
    Bloom(Arc<BloomFilter>),
    /// Anything else, run once per distinct value of a dictionary, else on decoded vectors.
    Generic(Arc<dyn VectorPredicate>),
}

/// What a zone map says of a predicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prune {
    /// No row qualifies.
    None,
    /// Every row qualifies.
    All,
    /// Rows must be looked at.
    Some,
}
