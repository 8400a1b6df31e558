//! Statements about schemas, macros, types, materialised views, comments, prepared statements and variables.

use super::role::RoleStatement;
use super::trigger::CreateTrigger;
use super::{Expr, Ident, ObjectName, OnExisting, Pos, Query, Statement};
use inlay_kernels::external::FunctionDefinition;
use inlay_types::LogicalType;

/// See the module documentation.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "variants and fields are named after the SQL they stand for")]
pub enum ObjectStatement {
    CreateSchema {
        name: ObjectName,
        on_existing: OnExisting,
    },
    CreateMacro {
        name: ObjectName,
        temporary: bool,
        on_existing: OnExisting,
        overloads: Vec<MacroOverload>,
        /// What stands behind the name.
        text: String,
    },
    CreateFunction(Box<CreateFunction>),
    CreateType {
        name: ObjectName,
        temporary: bool,
        on_existing: OnExisting,
        body: TypeBody,
    },
    CreateMaterializedView {
        name: ObjectName,
        on_existing: OnExisting,
        columns: Vec<Ident>,
        query: Box<Query>,
        query_text: String,
        with_data: bool,
    },
    Refresh {
        name: ObjectName,
        with_data: bool,
    },
    Drop {
        kind: DroppedKind,
        names: Vec<ObjectName>,
        /// How many types stand in parentheses behind the name of a function.
        arguments: Vec<Option<usize>>,
        if_exists: bool,
        cascade: bool,
    },
    Comment {
        on: Commented,
        name: ObjectName,
        text: Option<String>,
    },
    Rename {
        kind: RenamedKind,
        name: ObjectName,
        if_exists: bool,
        new_name: Ident,
    },
    SetSchema {
        kind: RenamedKind,
        name: ObjectName,
        if_exists: bool,
        schema: Ident,
    },
    AlterType {
        name: ObjectName,
        change: TypeChange,
    },
    Prepare {
        name: Ident,
        types: Vec<LogicalType>,
        statement: Box<Statement>,
    },
    Execute {
        name: Ident,
        arguments: Vec<Expr>,
        named: Vec<(Ident, Expr)>,
    },
    CreateTrigger(Box<CreateTrigger>),
    DropTrigger {
        name: Ident,
        table: ObjectName,
        if_exists: bool,
    },
    /// Of roles and rights.
    Role(RoleStatement),
    /// Without a name all of them.
    Deallocate {
        name: Option<Ident>,
    },
    /// `SET VARIABLE name = value`; without a value `RESET VARIABLE`.
    SetVariable {
        name: Ident,
        value: Option<Expr>,
    },
}

/// `CREATE FUNCTION ... LANGUAGE`.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateFunction {
    /// Name.
    pub name: ObjectName,
    /// Whether it goes with the session.
    pub temporary: bool,
    /// What happens if there is one.
    pub on_existing: OnExisting,
    /// What it is; types may be names.
    pub definition: FunctionDefinition,
    /// The file that has the body.
    pub file: Option<String>,
}

/// `(a, b := 1) AS expression` or `(a) AS TABLE query`.
#[derive(Clone, Debug, PartialEq)]
pub struct MacroOverload {
    /// In order.
    pub parameters: Vec<MacroParameter>,
    /// Behind AS.
    pub body: MacroBody,
    /// Text of the body.
    pub text: String,
    /// Where it begins.
    pub pos: Pos,
}

/// A parameter of a macro.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "fields are named after the SQL they stand for")]
pub struct MacroParameter {
    pub name: Ident,
    pub data_type: Option<LogicalType>,
    pub default: Option<Expr>,
}

/// What a macro stands for.
#[derive(Clone, Debug, PartialEq)]
pub enum MacroBody {
    /// `AS expression`.
    Expression(Box<Expr>),
    /// `AS TABLE query`.
    Table(Box<Query>),
}

/// Behind `CREATE TYPE name AS`.
#[derive(Clone, Debug, PartialEq)]
pub enum TypeBody {
    /// `ENUM ('a', 'b')`.
    Enum(Vec<String>),
    /// `ENUM (SELECT ...)`.
    EnumQuery(Box<Query>),
    /// Another type, with its text.
    Alias(LogicalType, String),
}

/// What DROP drops besides tables, views, indexes and sequences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "named after the SQL they stand for")]
pub enum DroppedKind {
    Schema,
    /// `DROP MACRO`: a scalar one, or else a table macro.
    Macro,
    TableMacro,
    Type,
    MaterializedView,
}

/// What COMMENT is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "named after the SQL they stand for")]
pub enum Commented {
    Table,
    View,
    MaterializedView,
    Column,
    Index,
    Sequence,
    Schema,
    Type,
    Macro,
    TableMacro,
    Database,
}

/// What ALTER renames or moves besides tables and views, or moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "named after the SQL they stand for")]
pub enum RenamedKind {
    Table,
    View,
    MaterializedView,
    Sequence,
    Schema,
    Type,
    Macro,
    TableMacro,
    Index,
}

/// `ALTER TYPE`.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "fields are named after the SQL they stand for")]
pub enum TypeChange {
    AddValue { value: String, if_not_exists: bool, neighbour: Option<(String, bool)> },
    RenameValue { from: String, to: String },
}
