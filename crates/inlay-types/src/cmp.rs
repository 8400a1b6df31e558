//! The comparison operators, as predicates, conditions and indexes name them.

/// A comparison operator.
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
    /// `IS DISTINCT FROM`: NULL is a value like others; never NULL.
    Distinct,
    /// `IS NOT DISTINCT FROM`
    NotDistinct,
}

impl Cmp {
    /// The operator with sides exchanged.
    pub fn flipped(self) -> Self {
        match self {
            Self::Lt => Self::Gt,
            Self::LtEq => Self::GtEq,
            Self::Gt => Self::Lt,
            Self::GtEq => Self::LtEq,
            same @ (Self::Eq | Self::NotEq | Self::Distinct | Self::NotDistinct) => same,
        }
    }
}
