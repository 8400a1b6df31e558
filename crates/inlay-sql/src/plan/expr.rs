//! Bound expressions: every name resolved, every type known, every implicit cast explicit.

use super::{ColumnId, ConstantList, Lambda, LambdaKind};
use inlay_kernels::external::External;
use inlay_kernels::function::{AggregateFunction, ScalarFunction, Volatility};
use inlay_types::{LogicalType, Value};
use std::collections::HashMap;
use std::sync::Arc;

/// The function by which the binder notes the collation that a text is compared by. It gives the text as it is.
pub const COLLATE: &str = "collate";

/// Comparison of two values of one type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CompareOp {
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

impl CompareOp {
    /// The operator with sides exchanged.
    pub fn flipped(self) -> Self {
        match self {
            Self::Lt => Self::Gt,
            Self::LtEq => Self::GtEq,
            Self::Gt => Self::Lt,
            Self::GtEq => Self::LtEq,
            same => same,
        }
    }

    /// The operator that is TRUE where this is FALSE.
    pub fn negated(self) -> Self {
        match self {
            Self::Eq => Self::NotEq,
            Self::NotEq => Self::Eq,
            Self::Lt => Self::GtEq,
            Self::LtEq => Self::Gt,
            Self::Gt => Self::LtEq,
            Self::GtEq => Self::Lt,
            Self::Distinct => Self::NotDistinct,
            Self::NotDistinct => Self::Distinct,
        }
    }

    /// As written in SQL.
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Eq => "=",
            Self::NotEq => "<>",
            Self::Lt => "<",
            Self::LtEq => "<=",
            Self::Gt => ">",
            Self::GtEq => ">=",
            Self::Distinct => "IS DISTINCT FROM",
            Self::NotDistinct => "IS NOT DISTINCT FROM",
        }
    }
}

/// Where an expression stands in the text of the statement, for errors that it ends with. All places are equal: what
/// differs in its place only is the same expression.
#[derive(Clone, Copy, Debug, Default)]
pub struct Place {
    /// Line, counted from 1; 0 means "unknown", as in the text of a view.
    pub line: u32,
    /// Column in characters, counted from 1.
    pub column: u32,
}

impl PartialEq for Place {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

/// A bound scalar expression.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// The value of a column.
    Column {
        /// Which.
        id: ColumnId,
        /// Its type.
        ty: LogicalType,
    },
    /// A constant. `ty` matters for NULL; otherwise it is the value's.
    Literal {
        /// The value.
        value: Value,
        /// Its type.
        ty: LogicalType,
    },
    /// A function or arithmetic operator; arguments have exactly its `arg_types`.
    Call {
        /// Which.
        function: Arc<ScalarFunction>,
        /// Arguments.
        args: Vec<Expr>,
        /// Where it is written.
        place: Place,
    },
    /// Conversion; with `or_null`, what cannot be converted becomes NULL (TRY_CAST).
    Cast {
        /// What is converted.
        input: Box<Expr>,
        /// To which type.
        ty: LogicalType,
        /// TRY_CAST.
        or_null: bool,
        /// Where it is written, or what is converted.
        place: Place,
    },
    /// Comparison of two expressions of the same type.
    Compare {
        /// Which.
        op: CompareOp,
        /// Left side.
        left: Box<Expr>,
        /// Right side.
        right: Box<Expr>,
    },
    /// Three-valued conjunction of two or more.
    And(Vec<Expr>),
    /// Three-valued disjunction of two or more.
    Or(Vec<Expr>),
    /// Three-valued negation.
    Not(Box<Expr>),
    /// `IS NULL`; wrap in [`Expr::Not`] for `IS NOT NULL`.
    IsNull(Box<Expr>),
    /// `input IN (list)`, three-valued; all of one type.
    InList {
        /// What is looked for.
        input: Box<Expr>,
        /// In which values.
        list: Vec<Expr>,
    },
    /// `input IN (constants)`, three-valued, for many constants; of the input's type.
    InConstants {
        /// What is looked for.
        input: Box<Expr>,
        /// In which values.
        list: Arc<ConstantList>,
    },
    /// The value of the first branch whose condition is TRUE. Later branches are not evaluated for its rows.
    Case {
        /// `(condition, value)`
        branches: Vec<(Expr, Expr)>,
        /// The value where no condition is TRUE.
        otherwise: Box<Expr>,
        /// Type of all values.
        ty: LogicalType,
    },
    /// The first argument that is not NULL; later ones are not evaluated for its rows.
    Coalesce {
        /// Arguments of one type.
        args: Vec<Expr>,
        /// Their type.
        ty: LogicalType,
    },
    /// A function over the elements of a list.
    Lambda(Box<Lambda>),
}

impl Expr {
    /// A literal of the value's own type.
    pub fn literal(value: Value) -> Self {
        let ty = value.logical_type();
        Self::Literal { value, ty }
    }

    /// TRUE or FALSE.
    pub fn boolean(value: bool) -> Self {
        Self::literal(Value::Boolean(value))
    }

    /// A comparison.
    pub fn compare(op: CompareOp, left: Expr, right: Expr) -> Self {
        Self::Compare { op, left: Box::new(left), right: Box::new(right) }
    }

    /// The conjunction of any number of conjuncts.
    pub fn and(mut conjuncts: Vec<Expr>) -> Self {
        match conjuncts.len() {
            0 => Self::boolean(true),
            1 => conjuncts.swap_remove(0),
            _ => Self::And(conjuncts),
        }
    }

    /// The type of the value.
    pub fn ty(&self) -> LogicalType {
        match self {
            Self::Column { ty, .. }
            | Self::Literal { ty, .. }
            | Self::Cast { ty, .. }
            | Self::Case { ty, .. }
            | Self::Coalesce { ty, .. } => ty.clone(),
            Self::Call { function, .. } => function.return_type.clone(),
            Self::Lambda(lambda) => lambda.ty.clone(),
            Self::Compare { .. }
            | Self::And(_)
            | Self::Or(_)
            | Self::Not(_)
            | Self::IsNull(_)
            | Self::InList { .. }
            | Self::InConstants { .. } => LogicalType::Boolean,
        }
    }

    /// Direct subexpressions, left to right.
    pub fn children(&self) -> Vec<&Expr> {
        match self {
            Self::Column { .. } | Self::Literal { .. } => Vec::new(),
            Self::Call { args, .. } | Self::Coalesce { args, .. } | Self::And(args) | Self::Or(args) => {
                args.iter().collect()
            }
            Self::Lambda(lambda) => lambda.args.iter().collect(),
            Self::Cast { input, .. }
            | Self::Not(input)
            | Self::IsNull(input)
            | Self::InConstants { input, .. } => vec![input],
            Self::Compare { left, right, .. } => vec![left, right],
            Self::InList { input, list } => std::iter::once(&**input).chain(list).collect(),
            Self::Case { branches, otherwise, .. } => {
                branches.iter().flat_map(|(c, v)| [c, v]).chain([&**otherwise]).collect()
            }
        }
    }

    /// Direct subexpressions, left to right, for rewriting.
    pub fn children_mut(&mut self) -> Vec<&mut Expr> {
        match self {
            Self::Column { .. } | Self::Literal { .. } => Vec::new(),
            Self::Call { args, .. } | Self::Coalesce { args, .. } | Self::And(args) | Self::Or(args) => {
                args.iter_mut().collect()
            }
            Self::Lambda(lambda) => lambda.args.iter_mut().collect(),
            Self::Cast { input, .. }
            | Self::Not(input)
            | Self::IsNull(input)
            | Self::InConstants { input, .. } => vec![input],
            Self::Compare { left, right, .. } => vec![left, right],
            Self::InList { input, list } => std::iter::once(&mut **input).chain(list).collect(),
            Self::Case { branches, otherwise, .. } => {
                branches.iter_mut().flat_map(|(c, v)| [c, v]).chain([&mut **otherwise]).collect()
            }
        }
    }

    /// Whether it is made of more than `most` expressions, those in the bodies of lambdas included.
    pub fn has_more_nodes(&self, most: usize) -> bool {
        let (mut left, mut count) = (vec![self], 0);
        while let Some(next) = left.pop() {
            count += 1;
            if count > most {
                return true;
            }
            if let Self::Lambda(lambda) = next {
                left.push(&lambda.body);
            }
            left.extend(next.children());
        }
        false
    }

    /// Adds the ids of all columns read to `out`, with repetitions.
    pub fn collect_columns(&self, out: &mut Vec<ColumnId>) {
        if let Self::Column { id, .. } = self {
            out.push(*id);
        }
        for child in self.children() {
            child.collect_columns(out);
        }
    }

    /// Ids of all columns read, each once, ascending.
    pub fn columns(&self) -> Vec<ColumnId> {
        let mut ids = Vec::new();
        self.collect_columns(&mut ids);
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    /// Replaces every column that `map` names.
    pub fn substitute(&mut self, map: &HashMap<ColumnId, Expr>) {
        if let Self::Column { id, .. } = self {
            if let Some(replacement) = map.get(id) {
                *self = replacement.clone();
            }
            return;
        }
        for child in self.children_mut() {
            child.substitute(map);
        }
    }

    /// Whether each evaluation may give another value, or be noticed: it is evaluated once for each row that it is
    /// written for, no more and no less. Whoever copies, drops, moves, merges, shares or folds expressions asks this.
    pub fn is_volatile(&self) -> bool {
        let own = match self {
            Self::Call { function, .. } => function.volatility == Volatility::Volatile,
            Self::Lambda(lambda) => lambda.body.is_volatile(),
            Self::Column { .. }
            | Self::Literal { .. }
            | Self::Cast { .. }
            | Self::Compare { .. }
            | Self::And(_)
            | Self::Or(_)
            | Self::Not(_)
            | Self::IsNull(_)
            | Self::InList { .. }
            | Self::InConstants { .. }
            | Self::Case { .. }
            | Self::Coalesce { .. } => false,
        };
        own || self.children().into_iter().any(Expr::is_volatile)
    }

    /// Whether the value is the same each time it is computed in one statement.
    pub fn is_deterministic(&self) -> bool {
        !self.is_volatile()
    }

    /// Whether it calls a function of the host.
    pub fn calls_external(&self) -> bool {
        self.calls(&|_| true)
    }

    /// Whether it calls such a function of the host.
    pub fn calls(&self, wanted: &dyn Fn(&External) -> bool) -> bool {
        let own = match self {
            Self::Call { function, .. } => {
                function.external.as_ref().is_some_and(|external| wanted(external))
            }
            Self::Lambda(lambda) => lambda.body.calls(wanted),
            Self::Column { .. }
            | Self::Literal { .. }
            | Self::Cast { .. }
            | Self::Compare { .. }
            | Self::And(_)
            | Self::Or(_)
            | Self::Not(_)
            | Self::IsNull(_)
            | Self::InList { .. }
            | Self::InConstants { .. }
            | Self::Case { .. }
            | Self::Coalesce { .. } => false,
        };
        own || self.children().into_iter().any(|child| child.calls(wanted))
    }

    /// Whether evaluating it on some row may end the query with an error.
    pub fn can_fail(&self) -> bool {
        let own = match self {
            Self::Call { function, .. } => function.can_fail,
            Self::Lambda(lambda) => match lambda.kind {
                LambdaKind::Reduce => true,
                LambdaKind::Try => false,
                LambdaKind::Transform | LambdaKind::Filter | LambdaKind::Once => lambda.body.can_fail(),
            },
            Self::Cast { or_null, .. } => !or_null,
            Self::Column { .. }
            | Self::Literal { .. }
            | Self::Compare { .. }
            | Self::And(_)
            | Self::Or(_)
            | Self::Not(_)
            | Self::IsNull(_)
            | Self::InList { .. }
            | Self::InConstants { .. }
            | Self::Case { .. }
            | Self::Coalesce { .. } => false,
        };
        own || self.children().into_iter().any(Expr::can_fail)
    }
}

/// An aggregate over the rows of a group.
#[derive(Clone, Debug, PartialEq)]
pub struct AggregateExpr {
    /// Which.
    pub function: Arc<AggregateFunction>,
    /// Arguments, of exactly its `arg_types`.
    pub args: Vec<Expr>,
    /// Each distinct combination of arguments counts once.
    pub distinct: bool,
    /// Only rows for which this is TRUE count.
    pub filter: Option<Expr>,
    /// The order in which values are aggregated, for string_agg, first and the like.
    pub order_by: Vec<SortKey>,
}

impl AggregateExpr {
    /// As [`Expr::is_volatile`]: of what is aggregated, or of a function of the host.
    pub fn is_volatile(&self) -> bool {
        let external = self.function.external.as_ref();
        external.is_some_and(|external| external.definition.volatility == Volatility::Volatile)
            || self.expressions().into_iter().any(Expr::is_volatile)
    }

    /// Arguments, filter and sort keys.
    pub fn expressions(&self) -> Vec<&Expr> {
        self.args.iter().chain(&self.filter).chain(self.order_by.iter().map(|k| &k.expr)).collect()
    }

    /// Arguments, filter and sort keys, for rewriting.
    pub fn expressions_mut(&mut self) -> Vec<&mut Expr> {
        self.args
            .iter_mut()
            .chain(&mut self.filter)
            .chain(self.order_by.iter_mut().map(|k| &mut k.expr))
            .collect()
    }
}

/// One key of an ordering.
#[derive(Clone, Debug, PartialEq)]
pub struct SortKey {
    /// The key.
    pub expr: Expr,
    /// Largest first.
    pub descending: bool,
    /// NULLs before all values.
    pub nulls_first: bool,
}
