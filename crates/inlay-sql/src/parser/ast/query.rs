//! Queries and what they read from.

use super::{Expr, FunctionCall, Ident, ObjectName, Pos, StatementKind};

/// A query: a body with what applies to its whole result.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "fields are named after the SQL they stand for")]
pub struct Query {
    pub ctes: Vec<Cte>,
    pub recursive: bool,
    pub body: QueryBody,
    pub order_by: OrderBy,
    pub limit: Option<Expr>,
    /// `LIMIT n%`: of the rows.
    pub limit_percent: bool,
    /// `FETCH FIRST n ROWS WITH TIES`: rows that ORDER BY does not tell from the last one come, too.
    pub with_ties: bool,
    pub offset: Option<Expr>,
    /// `WITH RECURSIVE name USING KEY (columns)` of the CTE whose query it is.
    pub keys: Vec<Ident>,
}

impl Query {
    /// A query that is nothing but its body.
    pub fn of(body: QueryBody) -> Self {
        let order_by = OrderBy::Items(Vec::new());
        Self {
            ctes: Vec::new(),
            recursive: false,
            body,
            order_by,
            limit: None,
            limit_percent: false,
            with_ties: false,
            offset: None,
            keys: Vec::new(),
        }
    }
}

/// A common table expression.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "fields are named after the SQL they stand for")]
pub struct Cte {
    pub name: Ident,
    pub columns: Vec<Ident>,
    pub query: Box<Query>,
    /// `AS MATERIALIZED` or `AS NOT MATERIALIZED`, if written.
    pub materialized: Option<bool>,
}

/// The inside of a query.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "variants and fields are named after the SQL they stand for")]
pub enum QueryBody {
    Select(Box<Select>),
    Values {
        rows: Vec<Vec<Expr>>,
        pos: Pos,
    },
    SetOperation {
        kind: SetOperation,
        all: bool,
        by_name: bool,
        left: Box<QueryBody>,
        right: Box<QueryBody>,
    },
    /// A query in parentheses.
    Query(Box<Query>),
}

/// `UNION`, `INTERSECT`, `EXCEPT`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "named after the SQL they stand for")]
pub enum SetOperation {
    Union,
    Intersect,
    Except,
}

/// What `ORDER BY` says.
#[derive(Clone, Debug, PartialEq)]
pub enum OrderBy {
    /// Expressions, names or ordinals; empty when there is no ORDER BY.
    Items(Vec<OrderItem>),
    /// `ORDER BY ALL`.
    All(SortOrder),
}

/// One key of `ORDER BY`.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "fields are named after the SQL they stand for")]
pub struct OrderItem {
    pub expr: Expr,
    pub order: SortOrder,
}

/// Direction of a sort key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SortOrder {
    /// TRUE for `DESC`, FALSE for `ASC`, if written.
    pub descending: Option<bool>,
    /// `NULLS FIRST` or `NULLS LAST`, if written.
    pub nulls_first: Option<bool>,
}

/// `SELECT ... FROM ... WHERE ... GROUP BY ... HAVING`.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "fields are named after the SQL they stand for")]
pub struct Select {
    pub distinct: Distinct,
    pub items: Vec<SelectItem>,
    pub from: Vec<TableRef>,
    pub filter: Option<Expr>,
    pub group_by: GroupBy,
    pub having: Option<Expr>,
    /// `USING SAMPLE`: of the rows of FROM.
    pub sample: Option<Sample>,
    pub qualify: Option<Expr>,
    pub pos: Pos,
}

/// `DISTINCT` and its forms.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "named after the SQL they stand for")]
pub enum Distinct {
    No,
    Rows,
    On(Vec<Expr>),
}

/// What `GROUP BY` says.
#[derive(Clone, Debug, PartialEq)]
pub enum GroupBy {
    /// Expressions, aliases or ordinals; empty when there is no GROUP BY.
    Items(Vec<Expr>),
    /// GROUPING SETS, ROLLUP and CUBE multiplied out: which of the items each set groups by.
    Sets {
        /// Expressions, aliases or ordinals.
        items: Vec<Expr>,
        /// Positions in `items`.
        sets: Vec<Vec<usize>>,
    },
    /// `GROUP BY ALL`.
    All,
}

/// What EXCLUDE leaves out of a star.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Excluded {
    /// Columns of whichever table.
    pub names: Vec<Ident>,
    /// Columns of a table that is named: `t.c`.
    pub qualified: Vec<ObjectName>,
}

impl Excluded {
    /// Whether everything stays.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty() && self.qualified.is_empty()
    }

    /// Leaves out one more.
    pub fn push(&mut self, mut name: ObjectName) {
        match name.parts.len() {
            1 => self.names.extend(name.parts.pop()),
            _ => self.qualified.push(name),
        }
    }
}

/// An item behind `SELECT`.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "variants and fields are named after the SQL they stand for")]
pub enum SelectItem {
    Expr {
        expr: Expr,
        alias: Option<Ident>,
    },
    /// `*` or `t.*`.
    Star {
        qualifier: Option<ObjectName>,
        exclude: Excluded,
        replace: Vec<(Expr, Ident)>,
        rename: Vec<(Ident, Ident)>,
        pos: Pos,
    },
}

/// An item behind `FROM`.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "variants and fields are named after the SQL they stand for")]
pub enum TableRef {
    /// A table, view, CTE or file.
    Table {
        name: ObjectName,
        alias: Option<TableAlias>,
    },
    Function {
        call: FunctionCall,
        alias: Option<TableAlias>,
        lateral: bool,
        /// `WITH ORDINALITY`
        ordinality: bool,
    },
    Subquery {
        query: Box<Query>,
        alias: Option<TableAlias>,
        lateral: bool,
    },
    Join {
        left: Box<TableRef>,
        right: Box<TableRef>,
        kind: JoinKind,
        condition: JoinCondition,
        pos: Pos,
    },
    /// `table TABLESAMPLE ...`
    Sample {
        table: Box<TableRef>,
        sample: Sample,
    },
    Pivot(Box<Pivot>),
    Unpivot(Box<Unpivot>),
    /// `(DESCRIBE t)`, `(SUMMARIZE t)`, `(SHOW TABLES)`.
    Show {
        statement: Box<StatementKind>,
        alias: Option<TableAlias>,
    },
    /// What the binder has bound before, by its number; no parser makes it.
    Prepared(usize),
}

/// `PIVOT`.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "fields are named after the SQL they stand for")]
pub struct Pivot {
    pub source: TableRef,
    pub on: Vec<PivotColumn>,
    /// Aggregates with their aliases; none: `count(*)`.
    pub aggregates: Vec<SelectItem>,
    /// `None`: by all columns that are not used.
    pub group_by: Option<Vec<Expr>>,
    pub alias: Option<TableAlias>,
    pub pos: Pos,
}

/// What a PIVOT makes columns of.
#[derive(Clone, Debug, PartialEq)]
pub struct PivotColumn {
    /// Its values become columns.
    pub expr: Expr,
    /// `IN (..)`: these values only.
    pub values: Option<Vec<SelectItem>>,
    /// `IN (SELECT ..)`.
    pub query: Option<Box<Query>>,
}

/// `UNPIVOT`.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "fields are named after the SQL they stand for")]
pub struct Unpivot {
    pub source: TableRef,
    pub columns: Vec<UnpivotColumn>,
    /// The column of names.
    pub name: Ident,
    /// The columns of values.
    pub values: Vec<Ident>,
    pub include_nulls: bool,
    pub alias: Option<TableAlias>,
    pub pos: Pos,
}

/// What becomes one row.
#[derive(Clone, Debug, PartialEq)]
pub struct UnpivotColumn {
    /// One per column of values.
    pub exprs: Vec<Expr>,
    /// The name in the column of names.
    pub alias: Option<Ident>,
}

pub use crate::plan::{Sample, SampleMethod, SampleSize};

/// `AS t(a, b)`.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "fields are named after the SQL they stand for")]
pub struct TableAlias {
    pub name: Ident,
    pub columns: Vec<Ident>,
}

/// Kinds of join as written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "named after the SQL they stand for")]
pub enum JoinKind {
    Inner,
    Left,
    Right,
    Full,
    Cross,
    Semi,
    Anti,
    /// Row by row.
    Positional,
}

/// What a join compares.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "named after the SQL they stand for")]
pub enum JoinCondition {
    None,
    On(Expr),
    Using(Vec<Ident>),
    Natural,
    /// `ASOF`: of the partners by the inequality, the nearest.
    Asof(Box<JoinCondition>),
}
