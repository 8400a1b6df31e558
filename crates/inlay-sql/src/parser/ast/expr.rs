//! Expressions.

use super::{Constants, Ident, OrderItem, Pos, Query, SelectItem};
use inlay_types::LogicalType;
use std::sync::Arc;

/// An expression and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    /// What it says.
    pub kind: ExprKind,
    /// Its first token; for a binary operator the operator's.
    pub pos: Pos,
}

/// Kinds of expression.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "variants and fields are named after the SQL they stand for")]
pub enum ExprKind {
    Column(Vec<Ident>),
    /// A value that the binder has bound already, by its number; no text says it.
    Given(usize),
    Literal(Literal),
    Parameter(Parameter),
    Unary {
        op: UnaryOp,
        expr: Box<Expr>,
    },
    Binary {
        op: BinaryOp,
        left: Box<Expr>,
        right: Box<Expr>,
    },
    /// At least two; chains of AND are one node.
    And(Vec<Expr>),
    /// At least two; chains of OR are one node.
    Or(Vec<Expr>),
    Not(Box<Expr>),
    IsNull {
        expr: Box<Expr>,
        negated: bool,
    },
    /// `IS [NOT] TRUE/FALSE`; `IS UNKNOWN` is `IsNull`.
    IsBool {
        expr: Box<Expr>,
        value: bool,
        negated: bool,
    },
    InList {
        expr: Box<Expr>,
        list: Vec<Expr>,
        negated: bool,
    },
    InSubquery {
        expr: Box<Expr>,
        query: Box<Query>,
        negated: bool,
    },
    Between {
        expr: Box<Expr>,
        low: Box<Expr>,
        high: Box<Expr>,
        negated: bool,
    },
    Like {
        expr: Box<Expr>,
        pattern: Box<Expr>,
        escape: Option<Box<Expr>>,
        negated: bool,
        case_insensitive: bool,
    },
    /// `expr op ANY (query)`, `expr op ALL (query)`.
    Quantified {
        expr: Box<Expr>,
        op: BinaryOp,
        all: bool,
        query: Box<Query>,
    },
    Cast {
        expr: Box<Expr>,
        data_type: LogicalType,
        try_cast: bool,
    },
    Extract {
        field: Ident,
        expr: Box<Expr>,
    },
    Function(FunctionCall),
    /// A call with OVER.
    Window(Box<WindowCall>),
    Case {
        operand: Option<Box<Expr>>,
        branches: Vec<(Expr, Expr)>,
        otherwise: Option<Box<Expr>>,
    },
    Exists {
        query: Box<Query>,
        negated: bool,
    },
    Subquery(Box<Query>),
    /// One column of the row that a query gives, which others of `SET (a, b) = (SELECT x, y ...)` share.
    RowQuery {
        query: Arc<Query>,
        column: usize,
        /// How many columns it has to have.
        count: usize,
    },
    /// `(a, b)` or `ROW(a, b)`.
    Row(Vec<Expr>),
    /// `lambda x, y: body`.
    Lambda {
        params: Vec<Ident>,
        body: Box<Expr>,
    },
    /// `COLUMNS(..)`: one expression per column.
    Columns(Box<Columns>),
    /// `#1`: a column of FROM, counted from 1.
    Position(usize),
    Collate {
        expr: Box<Expr>,
        /// `NOCASE`, `NOCASE.NOACCENT`.
        collation: String,
    },
    /// `DEFAULT`, in INSERT and UPDATE.
    Default,
    /// Literals of the list that it is an item of; alone in a row of VALUES, rows of literals.
    Constants(Arc<Constants>),
}

/// `COLUMNS(..)`, and `* LIKE ..`.
#[derive(Clone, Debug, PartialEq)]
pub struct Columns {
    /// Which columns.
    pub selection: ColumnSelection,
    /// `*COLUMNS(..)`: all of them in one list of arguments.
    pub unpacked: bool,
    /// A star in front of LIKE; never behind the parser.
    pub bare: bool,
}

/// Which columns `COLUMNS(..)` stands for.
#[derive(Clone, Debug, PartialEq)]
pub enum ColumnSelection {
    /// Those of a [`SelectItem::Star`].
    Star(Box<SelectItem>),
    /// Those whose names a regular expression finds something in.
    Pattern(String),
    /// Those named.
    Names(Vec<Ident>),
    /// Those of a star for whose names, as the parameter, a condition holds.
    Where {
        /// A [`SelectItem::Star`].
        star: Box<SelectItem>,
        /// What the condition calls the name.
        parameter: Ident,
        /// The condition.
        condition: Box<Expr>,
    },
}

/// A constant as written.
#[derive(Clone, Debug, PartialEq)]
pub enum Literal {
    /// `NULL`
    Null,
    /// `TRUE`, `FALSE`
    Boolean(bool),
    /// Digits with perhaps a point and an exponent, underscores removed.
    Number(String),
    /// `'text'`
    String(String),
    /// `x'00ff'`
    Blob(Vec<u8>),
    /// `DATE '...'`, `TIMESTAMP '...'`, `INTERVAL '3' MONTH` (as `3 month`) and other types before a string.
    Typed(LogicalType, String),
}

/// A place for a value given with the execution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Parameter {
    /// `?` or `$n`, counted from 1.
    Position(usize),
    /// `$name`, without the dollar.
    Name(String),
}

/// Operators with one operand, besides NOT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "named after the SQL they stand for")]
pub enum UnaryOp {
    Negate,
    Plus,
    BitNot,
}

/// Operators with two operands, besides AND and OR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "named after the SQL they stand for")]
pub enum BinaryOp {
    Add,
    Subtract,
    Multiply,
    Divide,
    IntegerDivide,
    Modulo,
    Power,
    Concat,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    DistinctFrom,
    NotDistinctFrom,
    BitAnd,
    BitOr,
    ShiftLeft,
    ShiftRight,
    RegexMatch,
    RegexNotMatch,
    StartsWith,
}

impl BinaryOp {
    /// As written in SQL.
    pub const fn symbol(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::IntegerDivide => "//",
            Self::Modulo => "%",
            Self::Power => "^",
            Self::Concat => "||",
            Self::Equal => "=",
            Self::NotEqual => "<>",
            Self::Less => "<",
            Self::LessEqual => "<=",
            Self::Greater => ">",
            Self::GreaterEqual => ">=",
            Self::DistinctFrom => "IS DISTINCT FROM",
            Self::NotDistinctFrom => "IS NOT DISTINCT FROM",
            Self::BitAnd => "&",
            Self::BitOr => "|",
            Self::ShiftLeft => "<<",
            Self::ShiftRight => ">>",
            Self::RegexMatch => "~",
            Self::RegexNotMatch => "!~",
            Self::StartsWith => "^@",
        }
    }

    /// Whether it compares two values.
    pub const fn is_comparison(self) -> bool {
        matches!(
            self,
            Self::Equal
                | Self::NotEqual
                | Self::Less
                | Self::LessEqual
                | Self::Greater
                | Self::GreaterEqual
                | Self::DistinctFrom
                | Self::NotDistinctFrom
        )
    }
}

/// A call of a scalar, aggregate or table function.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "fields are named after the SQL they stand for")]
pub struct FunctionCall {
    pub name: Ident,
    pub arguments: Vec<Expr>,
    /// `name := value`, in table functions.
    pub named: Vec<(Ident, Expr)>,
    /// `f(*)`.
    pub star: bool,
    pub distinct: bool,
    pub filter: Option<Box<Expr>>,
    /// `ORDER BY` inside the parentheses of an aggregate.
    pub order_by: Vec<OrderItem>,
}

impl Expr {
    /// The items of a row that is written out: `(a, b)` or `row(a, b)`.
    pub fn row_items(&self) -> Option<&[Expr]> {
        match &self.kind {
            ExprKind::Row(items) => Some(items),
            ExprKind::Function(call)
                if call.name.value.eq_ignore_ascii_case("row")
                    && call.named.is_empty()
                    && !call.star
                    && !call.distinct
                    && call.filter.is_none()
                    && call.order_by.is_empty() =>
            {
                Some(&call.arguments)
            }
            _ => None,
        }
    }
}

/// A call with OVER: of a window function or an aggregate.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "fields are named after the SQL they stand for")]
pub struct WindowCall {
    pub call: FunctionCall,
    /// `IGNORE NULLS` or `RESPECT NULLS`, if written.
    pub ignore_nulls: Option<bool>,
    pub over: WindowSpec,
}

/// What stands behind OVER; windows that it names are put in their places.
#[derive(Clone, Debug, Default, PartialEq)]
#[expect(missing_docs, reason = "fields are named after the SQL they stand for")]
pub struct WindowSpec {
    pub partition_by: Vec<Expr>,
    pub order_by: Vec<OrderItem>,
    pub frame: Option<WindowFrame>,
}

/// `ROWS BETWEEN ... AND ... EXCLUDE ...`.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "fields are named after the SQL they stand for")]
pub struct WindowFrame {
    pub units: FrameUnits,
    pub start: FrameBound,
    pub end: FrameBound,
    pub exclude: FrameExclusion,
}

/// A bound of a frame; offsets are expressions.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "named after the SQL they stand for")]
pub enum FrameBound {
    UnboundedPreceding,
    Preceding(Box<Expr>),
    CurrentRow,
    Following(Box<Expr>),
    UnboundedFollowing,
}

pub use crate::plan::window::{FrameExclusion, FrameUnits};
