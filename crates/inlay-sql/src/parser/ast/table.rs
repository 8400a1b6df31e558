//! Statements that make and change tables, sequences and views.

use super::{Expr, Ident, ObjectName, OnExisting, Pos, Query};
use inlay_storage::store::IndexKind;
use inlay_types::LogicalType;

/// `CREATE TABLE`.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "fields are named after the SQL they stand for")]
pub struct CreateTable {
    /// Of the table; those of columns are with them.
    pub comment: Option<String>,
    pub name: ObjectName,
    pub temporary: bool,
    /// What COMMIT does to a temporary table.
    pub on_commit: OnCommit,
    pub on_existing: OnExisting,
    pub columns: Vec<ColumnDef>,
    /// `LIKE other`, in the order of the text.
    pub likes: Vec<TableLike>,
    /// PRIMARY KEY, UNIQUE and CHECK, those of single columns included.
    pub constraints: Vec<TableConstraint>,
    /// `AS SELECT ...`; `columns` then are names, of the first ones or all.
    pub query: Option<Box<Query>>,
}

/// `LIKE table [INCLUDING part | EXCLUDING part] ...` among the columns of `CREATE TABLE`.
#[derive(Clone, Debug, PartialEq)]
pub struct TableLike {
    /// Whose columns.
    pub table: ObjectName,
    /// How many columns of their own stand before them.
    pub behind: usize,
    /// What is taken besides the columns.
    pub parts: LikeParts,
}

/// What `LIKE` takes besides names, types, NOT NULL and collations of columns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "named after the SQL they stand for")]
pub struct LikeParts {
    pub comments: bool,
    pub constraints: bool,
    pub defaults: bool,
    pub generated: bool,
    pub identity: bool,
    pub indexes: bool,
}

/// `ON COMMIT` of a temporary table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "variants are named after the SQL they stand for")]
pub enum OnCommit {
    PreserveRows,
    DeleteRows,
    Drop,
}

/// A column of `CREATE TABLE` or `ADD COLUMN`.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "fields are named after the SQL they stand for")]
pub struct ColumnDef {
    pub name: Ident,
    /// NULL of a generated column is the type of its expression.
    pub data_type: LogicalType,
    pub not_null: bool,
    /// The expression with its text.
    pub default: Option<(Expr, String)>,
    pub origin: ColumnOrigin,
    pub collation: Option<String>,
    pub comment: Option<String>,
}

impl ColumnDef {
    /// Whether it says no more than a name.
    pub fn is_name_only(&self) -> bool {
        self.data_type == LogicalType::Null
            && !self.not_null
            && self.default.is_none()
            && self.origin == ColumnOrigin::Given
            && self.collation.is_none()
            && self.comment.is_none()
    }
}

/// How a column gets its values.
#[derive(Clone, Debug, PartialEq)]
pub enum ColumnOrigin {
    /// By INSERT, else by its default.
    Given,
    /// `GENERATED ALWAYS AS (expr)`, with the text of the expression.
    Computed(Expr, String),
    /// `GENERATED ... AS IDENTITY`.
    Identity {
        /// `ALWAYS`, not `BY DEFAULT`.
        always: bool,
        /// Of its sequence.
        options: SequenceOptions,
    },
    /// `SERIAL` and its siblings.
    Serial,
}

/// A constraint with its name, if one was given.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "fields are named after the SQL they stand for")]
pub struct TableConstraint {
    pub name: Option<Ident>,
    pub kind: ConstraintKind,
    pub deferral: Deferral,
    pub pos: Pos,
}

/// Kinds of constraint.
#[derive(Clone, Debug, PartialEq)]
pub enum ConstraintKind {
    /// `PRIMARY KEY (columns)`.
    PrimaryKey(Vec<Ident>),
    /// `UNIQUE (columns)`.
    Unique(Vec<Ident>),
    /// `CHECK (condition)` with its text.
    Check(Expr, String),
    /// `FOREIGN KEY (columns) REFERENCES table (referenced)`.
    ForeignKey {
        /// The columns that refer.
        columns: Vec<Ident>,
        /// The table referred to.
        table: ObjectName,
        /// The columns referred to; empty: the primary key.
        referenced: Vec<Ident>,
        /// `ON DELETE`.
        on_delete: ReferenceAction,
        /// `ON UPDATE`.
        on_update: ReferenceAction,
    },
}

pub use inlay_storage::{Deferral, ReferenceAction};

/// `CREATE SEQUENCE`.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "fields are named after the SQL they stand for")]
pub struct CreateSequence {
    pub name: ObjectName,
    pub temporary: bool,
    pub on_existing: OnExisting,
    pub options: SequenceOptions,
}

/// Options of a sequence; `None` where nothing was said.
#[derive(Clone, Debug, Default, PartialEq)]
#[expect(missing_docs, reason = "fields are named after the SQL they stand for")]
pub struct SequenceOptions {
    pub pos: Pos,
    pub start: Option<i64>,
    pub increment: Option<i64>,
    /// `MINVALUE n`; `NO MINVALUE` is `Some(None)`.
    pub min: Option<Option<i64>>,
    pub max: Option<Option<i64>>,
    pub cycle: Option<bool>,
    /// `OWNED BY table.column`; `OWNED BY NONE` is `Some(None)`.
    pub owned_by: Option<Option<ObjectName>>,
}

/// `ALTER SEQUENCE`.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "fields are named after the SQL they stand for")]
pub struct AlterSequence {
    pub name: ObjectName,
    pub if_exists: bool,
    pub options: SequenceOptions,
    /// `RESTART [WITH n]`; without a number it is the start.
    pub restart: Option<Option<i64>>,
    pub rename: Option<Ident>,
}

/// An action of `ALTER TABLE`.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "variants and fields are named after the SQL they stand for")]
pub enum AlterAction {
    AddColumn {
        column: Box<ColumnDef>,
        constraints: Vec<TableConstraint>,
        if_not_exists: bool,
    },
    DropColumn {
        name: Ident,
        if_exists: bool,
        cascade: bool,
    },
    RenameColumn {
        name: Ident,
        new_name: Ident,
    },
    RenameTable {
        new_name: Ident,
    },
    SetType {
        name: Ident,
        data_type: LogicalType,
        using: Option<Expr>,
        collation: Option<String>,
    },
    SetNotNull(Ident),
    DropNotNull(Ident),
    SetDefault {
        name: Ident,
        default: (Expr, String),
    },
    DropDefault(Ident),
    /// `ALTER COLUMN c ADD GENERATED ALWAYS AS IDENTITY`
    AddIdentity {
        name: Ident,
        always: bool,
        options: SequenceOptions,
    },
    AddConstraint(TableConstraint),
    DropConstraint {
        name: Ident,
        if_exists: bool,
        cascade: bool,
    },
    DropPrimaryKey(Pos),
    RenameConstraint {
        name: Ident,
        new_name: Ident,
    },
    /// `ADD COLUMN s.f INTEGER` and its like: a column, and the names of fields that lead into it.
    Field {
        path: Vec<Ident>,
        change: Box<FieldChange>,
    },
}

/// What ALTER TABLE does to a field of a struct.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "variants and fields are named after the SQL they stand for")]
pub enum FieldChange {
    Add { data_type: LogicalType, default: Option<Expr>, if_not_exists: bool },
    Drop { if_exists: bool },
    Rename(Ident),
}

/// `CREATE VIEW`.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "fields are named after the SQL they stand for")]
pub struct CreateView {
    pub name: ObjectName,
    pub temporary: bool,
    pub on_existing: OnExisting,
    pub columns: Vec<Ident>,
    pub query: Box<Query>,
    /// The text of `query`, to be stored.
    pub query_text: String,
}

/// `CREATE [UNIQUE] INDEX [name] ON table (columns) [WHERE filter]`.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "fields are named after the SQL they stand for")]
pub struct CreateIndex {
    pub name: Option<ObjectName>,
    pub table: ObjectName,
    /// Columns and expressions with their text.
    pub columns: Vec<(Expr, String)>,
    pub filter: Option<(Expr, String)>,
    pub unique: bool,
    pub kind: IndexKind,
    pub if_not_exists: bool,
}
