//! Lambdas: functions applied to the elements of lists.

use super::{ColumnId, Expr};
use inlay_types::LogicalType;

/// What a lambda is applied for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LambdaKind {
    /// `list_transform`: the list of the body's values.
    Transform,
    /// `list_filter`: the elements for which the body is TRUE.
    Filter,
    /// `list_reduce`: the body's last value, where the first parameter is its value before.
    Reduce,
    /// `TRY`: the body itself, NULL where it fails. There is no list.
    Try,
    /// The body itself, which reads the values of its first arguments as often as it likes: each is computed once for a
    /// row. There is no list.
    Once,
}

impl LambdaKind {
    /// The function's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Transform => "list_transform",
            Self::Filter => "list_filter",
            Self::Reduce => "list_reduce",
            Self::Try => "try",
            Self::Once => "once",
        }
    }
}

/// A function over the elements of a list. What it reads of the row around it comes as arguments: `body` reads nothing but
/// `parameters` and `captured`, so that who looks for columns or replaces them need not look into it.
#[derive(Clone, Debug, PartialEq)]
pub struct Lambda {
    /// Which function.
    pub kind: LambdaKind,
    /// The list, or the values of [`LambdaKind::Once`]; the first value of a reduction if [`Self::has_initial`]; the value
    /// of each of `captured`.
    pub args: Vec<Expr>,
    /// Whether the second argument is what a reduction begins with, else it is the first element.
    pub has_initial: bool,
    /// The value so far (of a reduction), the element, its position from 1 if there is one more; the values of
    /// [`LambdaKind::Once`].
    pub parameters: Vec<ColumnId>,
    /// The columns that `body` reads of the row around it.
    pub captured: Vec<ColumnId>,
    /// The value for one element.
    pub body: Expr,
    /// Type of the result.
    pub ty: LogicalType,
}
