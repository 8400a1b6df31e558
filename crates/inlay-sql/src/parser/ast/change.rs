//! Statements that change and copy rows.

use super::{Expr, Ident, ObjectName, Pos, Query, SelectItem, Statement, TableRef};

/// `INSERT INTO`.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "fields are named after the SQL they stand for")]
pub struct Insert {
    pub table: ObjectName,
    pub alias: Option<Ident>,
    /// Empty when no column list was written.
    pub columns: Vec<Ident>,
    /// `BY NAME`: columns of the source go to the columns of their names.
    pub by_name: bool,
    /// `OVERRIDING SYSTEM VALUE`: identity columns may be given.
    pub overriding: Option<Overriding>,
    /// `None` is `DEFAULT VALUES`. An item `DEFAULT` of VALUES is [`ExprKind::Default`].
    pub source: Option<Box<Query>>,
    pub on_conflict: Option<OnConflict>,
    pub returning: Option<Vec<SelectItem>>,
}

/// What INSERT does with values for identity columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overriding {
    /// `OVERRIDING SYSTEM VALUE`: they are taken.
    System,
    /// `OVERRIDING USER VALUE`: they are passed over.
    User,
}

/// `ON CONFLICT`, and `OR REPLACE` or `OR IGNORE` in front of INTO.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "fields are named after the SQL they stand for")]
pub struct OnConflict {
    pub pos: Pos,
    pub target: ConflictTarget,
    pub action: ConflictAction,
}

/// Which conflict is meant.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "variants are named after the SQL they stand for")]
pub enum ConflictTarget {
    Any,
    Columns(Vec<Ident>),
    /// `(columns and expressions) [WHERE filter]`: a unique index on expressions, or a partial one.
    Index {
        keys: Vec<Expr>,
        filter: Option<Expr>,
    },
    Constraint(Ident),
}

/// What happens then.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "variants and fields are named after the SQL they stand for")]
pub enum ConflictAction {
    Nothing,
    Update {
        assignments: Vec<(Ident, Expr)>,
        filter: Option<Expr>,
    },
    /// `OR REPLACE`: every column that was given gets the new value.
    Replace,
}

/// `UPDATE`.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "fields are named after the SQL they stand for")]
pub struct Update {
    pub table: ObjectName,
    pub alias: Option<Ident>,
    pub assignments: Vec<(Ident, Expr)>,
    pub from: Vec<TableRef>,
    pub filter: Option<Expr>,
    pub returning: Option<Vec<SelectItem>>,
}

/// `DELETE FROM`.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "fields are named after the SQL they stand for")]
pub struct Delete {
    pub table: ObjectName,
    pub alias: Option<Ident>,
    pub using: Vec<TableRef>,
    pub filter: Option<Expr>,
    pub returning: Option<Vec<SelectItem>>,
}

/// `MERGE INTO`.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "fields are named after the SQL they stand for")]
pub struct Merge {
    pub table: ObjectName,
    pub alias: Option<Ident>,
    pub source: TableRef,
    pub on: Expr,
    pub clauses: Vec<MergeClause>,
    pub returning: Option<Vec<SelectItem>>,
}

/// `WHEN` of MERGE.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "fields are named after the SQL they stand for")]
pub struct MergeClause {
    pub pos: Pos,
    pub kind: MergeKind,
    pub condition: Option<Expr>,
    pub action: MergeAction,
}

pub use crate::plan::statement::MergeKind;

/// `THEN` of MERGE.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "variants and fields are named after the SQL they stand for")]
pub enum MergeAction {
    Nothing,
    Delete,
    Update {
        assignments: Vec<(Ident, Expr)>,
    },
    /// `UPDATE SET *`: every column from the source's; BY NAME, those of the same name.
    UpdateAll {
        by_name: bool,
    },
    /// Without values every column has its default.
    Insert {
        columns: Vec<Ident>,
        values: Vec<Expr>,
    },
    /// `INSERT *`: every column from the source's; BY NAME, those of the same name.
    InsertAll {
        by_name: bool,
    },
}

/// `COPY`.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "fields are named after the SQL they stand for")]
pub enum Copy {
    From { table: ObjectName, columns: Vec<Ident>, path: CopyPath, path_pos: Pos, options: Vec<CopyOption> },
    To { query: Box<Query>, path: CopyPath, path_pos: Pos, options: Vec<CopyOption> },
}

/// The file of `COPY`.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "variants are named after the SQL they stand for")]
pub enum CopyPath {
    Text(String),
    Parameter(Expr),
}

/// An option of `COPY`, such as `DELIMITER '|'` or plain `HEADER`.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "fields are named after the SQL they stand for")]
pub struct CopyOption {
    pub name: Ident,
    pub value: Option<Expr>,
}

/// `WITH [RECURSIVE] a AS (INSERT ... RETURNING ...), ... statement`.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "fields are named after the SQL they stand for")]
pub struct ChangingWith {
    pub recursive: bool,
    pub ctes: Vec<ChangingCte>,
    pub statement: Statement,
}

/// A part of a [`ChangingWith`]: a query or a statement that changes data.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "fields are named after the SQL they stand for")]
pub struct ChangingCte {
    pub name: Ident,
    pub columns: Vec<Ident>,
    pub statement: Statement,
}
