//! Bound statements about schemas, macros, types, materialised views, comments, prepared statements and variables.

use super::role::RoleStatement;
use super::statement::{AlterTable, CreateTable, Query};
use crate::parser::ast;
use inlay_catalog::{DefinitionKind, TableEntry};
use inlay_kernels::external::FunctionDefinition;
use inlay_types::{LogicalType, Value};
use std::sync::Arc;

/// See the module documentation.
#[derive(Clone, Debug)]
pub enum ObjectStatement {
    /// CREATE SCHEMA, MACRO and TYPE.
    Define(Define),
    /// CREATE FUNCTION ... LANGUAGE.
    DefineFunction(Box<DefineFunction>),
    /// CREATE MATERIALIZED VIEW: a table, and the query that fills it.
    CreateMaterializedView {
        /// The table with its rows.
        table: Box<CreateTable>,
        /// Text of the query.
        sql: String,
    },
    /// REFRESH MATERIALIZED VIEW.
    Refresh {
        /// Of which database.
        database: String,
        /// The table of the view.
        table: Arc<TableEntry>,
        /// Its rows from now on; none WITH NO DATA.
        query: Option<Query>,
    },
    /// COMMENT ON.
    Comment {
        /// Of which database.
        database: String,
        /// What it is on.
        on: CommentTarget,
        /// Of a column, its name.
        column: Option<String>,
        /// `None` takes it away.
        text: Option<String>,
    },
    /// ALTER of a definition: another name or text.
    Redefine {
        /// Of which database.
        database: String,
        /// What it is.
        kind: DefinitionKind,
        /// What it is known by until now.
        name: String,
        /// What it is known by from now on.
        new_name: String,
        /// Its text from now on, if that changes.
        sql: Option<String>,
        /// Tables whose columns change with it.
        altered: Vec<AlterTable>,
    },
    /// ALTER INDEX ... RENAME TO.
    RenameIndex {
        /// Of which database.
        database: String,
        /// What it is known by until now.
        name: String,
        /// What it is known by from now on.
        new_name: String,
    },
    /// CREATE TRIGGER.
    CreateTrigger(Box<NewTrigger>),
    /// DROP TRIGGER.
    DropTrigger(DroppedTrigger),
    /// PREPARE.
    Prepare {
        /// Name.
        name: String,
        /// Types of its positional parameters, as far as they were given.
        types: Vec<LogicalType>,
        /// The statement.
        statement: Box<ast::Statement>,
    },
    /// EXECUTE.
    Execute {
        /// Name.
        name: String,
        /// Values of positional parameters.
        arguments: Vec<Value>,
        /// Values of named parameters.
        named: Vec<(String, Value)>,
    },
    /// Of roles and rights.
    Role(RoleStatement),
    /// DEALLOCATE; without a name of all.
    Deallocate {
        /// Name.
        name: Option<String>,
    },
    /// SET VARIABLE and RESET VARIABLE.
    SetVariable {
        /// Lower-case name.
        name: String,
        /// Its value; `None` forgets it.
        value: Option<Value>,
        /// Instead of the value: a query that gives it.
        query: Option<Box<Query>>,
    },
}

/// A definition to be made.
#[derive(Clone, Debug)]
pub struct Define {
    /// Of which database.
    pub database: String,
    /// TEMP: it is gone with the connection and written to no file.
    pub temporary: bool,
    /// What it is.
    pub kind: DefinitionKind,
    /// What it is known by.
    pub name: String,
    /// Its text.
    pub sql: String,
    /// A query whose one column gives the text: the labels of an ENUM.
    pub labels: Option<Query>,
    /// OR REPLACE.
    pub or_replace: bool,
    /// IF NOT EXISTS.
    pub if_not_exists: bool,
}

/// A trigger to be made.
#[derive(Clone, Debug)]
pub struct NewTrigger {
    /// Of which database.
    pub database: String,
    /// Whose rows it watches.
    pub table: Arc<TableEntry>,
    /// What it is.
    pub create: ast::trigger::CreateTrigger,
    /// OR REPLACE.
    pub or_replace: bool,
    /// IF NOT EXISTS.
    pub if_not_exists: bool,
}

/// A trigger to be dropped.
#[derive(Clone, Debug)]
pub struct DroppedTrigger {
    /// Database and table; none where IF EXISTS found no table.
    pub target: Option<(String, Arc<TableEntry>)>,
    /// Its name.
    pub name: String,
    /// IF EXISTS.
    pub if_exists: bool,
}

/// What a comment is on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommentTarget {
    /// A table, view or sequence by name.
    Relation(String),
    /// An index by name.
    Index(String),
    /// A definition by kind and name.
    Definition(DefinitionKind, String),
    /// The database.
    Database,
}

impl ObjectStatement {
    /// In the words of SQL.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Define(_) | Self::DefineFunction(_) => "CREATE",
            Self::CreateMaterializedView { .. } => "CREATE MATERIALIZED VIEW",
            Self::Refresh { .. } => "REFRESH MATERIALIZED VIEW",
            Self::Comment { .. } => "COMMENT",
            Self::Redefine { .. } | Self::RenameIndex { .. } => "ALTER",
            Self::CreateTrigger(_) => "CREATE TRIGGER",
            Self::DropTrigger(_) => "DROP TRIGGER",
            Self::Prepare { .. } => "PREPARE",
            Self::Execute { .. } => "EXECUTE",
            Self::Role(role) => role.kind(),
            Self::Deallocate { .. } => "DEALLOCATE",
            Self::SetVariable { .. } => "SET VARIABLE",
        }
    }
}

/// CREATE FUNCTION ... LANGUAGE.
#[derive(Clone, Debug)]
pub struct DefineFunction {
    /// Of which database.
    pub database: String,
    /// Whether it goes with the session.
    pub temporary: bool,
    /// What it is known by.
    pub name: String,
    /// What it is.
    pub definition: FunctionDefinition,
    /// The file that has the body.
    pub file: Option<String>,
    /// OR REPLACE.
    pub or_replace: bool,
    /// IF NOT EXISTS.
    pub if_not_exists: bool,
}
