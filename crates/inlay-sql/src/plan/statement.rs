//! Bound statements: what the facade carries out.

use super::{ColumnId, Columns, Estimates, Plan};
use inlay_catalog::{TableEntry, TableSchema};
use inlay_types::Value;
use std::sync::Arc;

/// A query: a plan, its columns, and which of them are delivered under which names.
#[derive(Clone, Debug)]
pub struct Query {
    /// The plan.
    pub plan: Plan,
    /// All columns of the plan.
    pub columns: Columns,
    /// Delivered columns in order, with the names the user sees.
    pub output: Vec<(ColumnId, String)>,
    /// Filled by the optimizer.
    pub estimates: Estimates,
}

/// How EXPLAIN answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExplainFormat {
    /// A tree of text.
    Text,
    /// JSON.
    Json,
}

/// A bound statement.
#[derive(Clone, Debug)]
pub enum Statement {
    /// SELECT, VALUES, FROM, SHOW, DESCRIBE.
    Query(Query),
    /// EXPLAIN of a statement; with `analyze` it is run.
    Explain {
        /// What is explained.
        statement: Box<Statement>,
        /// EXPLAIN ANALYZE.
        analyze: bool,
        /// Text or JSON.
        format: ExplainFormat,
    },
    /// CREATE TABLE, with the query of AS if there is one.
    CreateTable {
        /// Name and columns.
        schema: TableSchema,
        /// OR REPLACE.
        or_replace: bool,
        /// IF NOT EXISTS.
        if_not_exists: bool,
        /// AS query.
        query: Option<Query>,
    },
    /// CREATE VIEW; `sql` is the text of its query.
    CreateView {
        /// Name.
        name: String,
        /// Column aliases; empty when none are given.
        aliases: Vec<String>,
        /// Text of the query.
        sql: String,
        /// OR REPLACE.
        or_replace: bool,
        /// IF NOT EXISTS.
        if_not_exists: bool,
    },
    /// DROP TABLE.
    DropTable {
        /// Name.
        name: String,
        /// IF EXISTS.
        if_exists: bool,
    },
    /// DROP VIEW.
    DropView {
        /// Name.
        name: String,
        /// IF EXISTS.
        if_exists: bool,
    },
    /// INSERT. The query's output has one column per table column, in the table's order and types
    /// (defaults and casts are in the plan).
    Insert {
        /// Into which table.
        table: Arc<TableEntry>,
        /// The rows.
        query: Query,
    },
    /// DELETE: the query's single output column is the row id.
    Delete {
        /// From which table.
        table: Arc<TableEntry>,
        /// The rows that go.
        query: Query,
    },
    /// UPDATE: the query's output is the row id, then the new value of each column of `set`, of the column's type.
    Update {
        /// Of which table.
        table: Arc<TableEntry>,
        /// Positions of the columns that change.
        set: Vec<usize>,
        /// Row ids and new values.
        query: Query,
    },
    /// COPY table or query TO a file.
    CopyTo {
        /// The rows.
        query: Query,
        /// Path.
        path: String,
        /// Options by lower-case name.
        options: Vec<(String, Value)>,
    },
    /// CALL of a procedure (`tpch_dbgen`).
    Call {
        /// Lower-case name.
        name: String,
        /// Arguments by position.
        args: Vec<Value>,
        /// Arguments by name.
        named: Vec<(String, Value)>,
    },
    /// SET, or PRAGMA name = value.
    Set {
        /// Lower-case name.
        name: String,
        /// The value; `None` for RESET.
        value: Option<Value>,
    },
    /// BEGIN
    Begin,
    /// COMMIT
    Commit,
    /// ROLLBACK
    Rollback,
    /// A statement that changes nothing here (CREATE INDEX on a memory table is only recorded).
    CreateIndex {
        /// Name of the index.
        name: String,
        /// Its table.
        table: Arc<TableEntry>,
        /// Positions of its columns.
        columns: Vec<usize>,
        /// UNIQUE.
        unique: bool,
        /// IF NOT EXISTS.
        if_not_exists: bool,
    },
    /// DROP INDEX
    DropIndex {
        /// Name.
        name: String,
        /// IF EXISTS.
        if_exists: bool,
    },
}
