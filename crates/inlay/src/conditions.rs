//! What a query asks of the rows of a host's table, in words that a host can hand on: comparisons of a column with constants.

use inlay_catalog::SourceFilter;
use inlay_storage::{Cmp, SegmentPredicate};
use inlay_types::Value;

/// How a column is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Comparison {
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
    /// `IN`, with any number of constants
    In,
    /// `IS NULL`, without a constant
    IsNull,
    /// `IS NOT NULL`, without a constant
    IsNotNull,
}

/// A condition that a row must satisfy.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition<'a> {
    /// The column's position among the source's.
    pub column: usize,
    /// How it is compared.
    pub comparison: Comparison,
    /// With what.
    pub constants: Vec<&'a Value>,
}

impl Comparison {
    /// As SQL writes it.
    pub const fn sql(self) -> &'static str {
        match self {
            Self::Eq => "=",
            Self::NotEq => "<>",
            Self::Lt => "<",
            Self::LtEq => "<=",
            Self::Gt => ">",
            Self::GtEq => ">=",
            Self::In => "IN",
            Self::IsNull => "IS NULL",
            Self::IsNotNull => "IS NOT NULL",
        }
    }

    fn of(cmp: Cmp) -> Self {
        match cmp {
            Cmp::Eq => Self::Eq,
            Cmp::NotEq => Self::NotEq,
            Cmp::Lt => Self::Lt,
            Cmp::LtEq => Self::LtEq,
            Cmp::Gt => Self::Gt,
            Cmp::GtEq => Self::GtEq,
        }
    }
}

/// The conditions that a filter is, all of which hold. Those that have no such form are left out: the engine filters again, so
/// that leaving a condition out is never wrong.
pub fn conditions(filter: &SourceFilter) -> Vec<Condition<'_>> {
    let condition = |comparison, constants| Condition { column: filter.column, comparison, constants };
    match &filter.predicate {
        SegmentPredicate::Compare(cmp, value) => vec![condition(Comparison::of(*cmp), vec![value])],
        SegmentPredicate::Between { low, low_inclusive, high, high_inclusive } => {
            let from = if *low_inclusive { Comparison::GtEq } else { Comparison::Gt };
            let to = if *high_inclusive { Comparison::LtEq } else { Comparison::Lt };
            vec![condition(from, vec![low]), condition(to, vec![high])]
        }
        SegmentPredicate::In(values) => {
            vec![condition(Comparison::In, values.iter().filter(|value| !value.is_null()).collect())]
        }
        SegmentPredicate::IsNull => vec![condition(Comparison::IsNull, Vec::new())],
        SegmentPredicate::IsNotNull => vec![condition(Comparison::IsNotNull, Vec::new())],
        SegmentPredicate::KeyBitmap(_) | SegmentPredicate::Bloom(_) | SegmentPredicate::Generic(_) => {
            Vec::new()
        }
    }
}
