//! Bound statements: what the facade carries out.
//!
//! Every name is resolved: a statement carries the database it is about and the entries it changes. What it says in
//! terms of expressions is bound, in one of two forms:
//! - A [`Query`] has a plan of its own and columns of its own.
//! - A row expression is evaluated by the facade on batches of rows it has in hand. It reads column `i` of such a batch
//!   as `ColumnId(i)`; each use says what the batch consists of. Row expressions hold no subqueries.

use super::{ColumnId, Columns, Estimates, Expr, HeldRows, Plan};
pub use crate::parser::ast::{Drawing, OnCommit};
use inlay_catalog::{ColumnSchema, DefinitionKind, SequenceSchema, TableEntry, TableSchema};
use inlay_storage::store::IndexKind;
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
    /// What a cluster would be given instead.
    Cluster,
    /// For other programs.
    Drawn(Drawing),
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
    /// CREATE TABLE.
    CreateTable(Box<CreateTable>),
    /// CREATE VIEW.
    CreateView {
        /// Of which database.
        database: String,
        /// Name.
        name: String,
        /// Column aliases; empty when none are given.
        aliases: Vec<String>,
        /// Text of the query; names in it without a database mean `database`.
        sql: String,
        /// TEMP: it is gone with the connection and written to no file.
        temporary: bool,
        /// OR REPLACE.
        or_replace: bool,
        /// IF NOT EXISTS.
        if_not_exists: bool,
    },
    /// CREATE INDEX.
    CreateIndex(Box<CreateIndex>),
    /// CREATE SEQUENCE.
    CreateSequence {
        /// Of which database.
        database: String,
        /// Name and options.
        sequence: SequenceSchema,
        /// TEMP: it is gone with the connection and written to no file.
        temporary: bool,
        /// OR REPLACE.
        or_replace: bool,
        /// IF NOT EXISTS.
        if_not_exists: bool,
    },
    /// Schemas, macros, types, materialised views, comments, prepared statements, variables.
    Object(Box<super::object::ObjectStatement>),
    /// DROP of any number of things.
    Drop(Box<Drop>),
    /// WITH of which a part changes data.
    Changing {
        /// The parts, in order.
        parts: Vec<ChangingPart>,
        /// What stands behind them.
        statement: Box<Statement>,
    },
    /// ALTER TABLE.
    AlterTable(Box<AlterTable>),
    /// ALTER VIEW ... RENAME TO.
    RenameView {
        /// Of which database.
        database: String,
        /// Its name until now.
        name: String,
        /// Its new name.
        new_name: String,
    },
    /// ALTER SEQUENCE.
    AlterSequence {
        /// Of which database.
        database: String,
        /// Its name until now.
        name: String,
        /// Name and options from now on.
        sequence: SequenceSchema,
        /// RESTART: the value that `nextval` gives next.
        restart: Option<i64>,
    },
    /// INSERT, and COPY FROM.
    Insert(Box<Insert>),
    /// DELETE.
    Delete(Box<Delete>),
    /// UPDATE.
    Update(Box<Update>),
    /// MERGE.
    Merge(Box<Merge>),
    /// TRUNCATE.
    Truncate {
        /// Of which database.
        database: String,
        /// The tables, those that CASCADE reaches included.
        tables: Vec<Arc<TableEntry>>,
        /// RESTART IDENTITY: names of the sequences of their columns, which start again.
        restarted: Vec<String>,
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
    /// CREATE SECRET.
    CreateSecret {
        /// Its name; without one it is that of its type.
        name: Option<String>,
        /// What it says, by lower-case names.
        options: Vec<(String, Value)>,
        /// OR REPLACE.
        or_replace: bool,
        /// IF NOT EXISTS.
        if_not_exists: bool,
    },
    /// DROP SECRET.
    DropSecret {
        /// Its name.
        name: String,
        /// IF EXISTS.
        if_exists: bool,
    },
    /// BEGIN, START TRANSACTION.
    Begin(TransactionModes),
    /// COMMIT
    Commit,
    /// ROLLBACK
    Rollback,
    /// SET TRANSACTION, or with `session` SET SESSION CHARACTERISTICS AS TRANSACTION.
    SetTransaction {
        /// What is said; the rest stays.
        modes: TransactionModes,
        /// For the transactions to come instead of the open one.
        session: bool,
    },
    /// SET CONSTRAINTS; without names all.
    SetConstraints {
        /// Names of constraints.
        names: Vec<String>,
        /// Until COMMIT, rather than at the end of each statement.
        deferred: bool,
    },
    /// SAVEPOINT; names are as written and compare without regard to case.
    Savepoint(String),
    /// ROLLBACK TO SAVEPOINT
    RollbackTo(String),
    /// RELEASE SAVEPOINT
    Release(String),
    /// CHECKPOINT
    Checkpoint {
        /// Which database.
        database: String,
        /// FORCE: transactions in the way are ended.
        force: bool,
    },
    /// A statement that has nothing to do here: statistics are always kept, extensions are built in.
    Nothing(&'static str),
    /// VACUUM
    Vacuum {
        /// Which database.
        database: String,
        /// This table alone.
        table: Option<Arc<TableEntry>>,
        /// VACUUM ANALYZE: statistics are made anew.
        analyze: bool,
    },
    /// PRAGMA verify
    Verify(VerifyTarget),
    /// ATTACH
    Attach(Attach),
    /// DETACH
    Detach {
        /// The database's name; it is attached unless `if_exists` is set.
        name: String,
        /// IF EXISTS.
        if_exists: bool,
    },
    /// USE: the database that names without one mean from now on.
    Use {
        /// The database's name.
        database: String,
        /// The schema, `main` unless one was named.
        schema: Option<String>,
    },
    /// EXPORT DATABASE
    ExportDatabase {
        /// Which database.
        database: String,
        /// Directory, made if it is missing.
        directory: String,
        /// Format of the files of rows.
        format: ExportFormat,
        /// Other options of the files by lower-case name, as of COPY.
        options: Vec<(String, Value)>,
    },
    /// IMPORT DATABASE
    ImportDatabase {
        /// Into which database.
        database: String,
        /// The directory that EXPORT DATABASE made.
        directory: String,
    },
    /// COPY FROM DATABASE
    CopyDatabase {
        /// Which database.
        source: String,
        /// Into which database.
        target: String,
        /// Whether its definitions are copied.
        schema: bool,
        /// Whether its rows are copied.
        rows: bool,
    },
}

/// CREATE TABLE.
#[derive(Clone, Debug)]
pub struct CreateTable {
    /// Of which database.
    pub database: String,
    /// Name, columns and constraints.
    pub schema: TableSchema,
    /// TEMP: it is gone with the connection and written to no file.
    pub temporary: bool,
    /// What COMMIT does to it, if it is temporary.
    pub on_commit: OnCommit,
    /// OR REPLACE.
    pub or_replace: bool,
    /// IF NOT EXISTS.
    pub if_not_exists: bool,
    /// AS query.
    pub query: Option<Query>,
    /// Sequences of its identity and SERIAL columns, to be made with it; each names its column as owner.
    pub sequences: Vec<SequenceSchema>,
    /// Indexes that it gets with it; the keys of unique ones are in the schema.
    pub indexes: Vec<NewIndex>,
    /// The comment on it.
    pub comment: Option<String>,
    /// Comments on its columns, by name.
    pub comments: Vec<(String, String)>,
}

/// An index of a table that is being made.
#[derive(Clone, Debug)]
pub struct NewIndex {
    /// Its name.
    pub name: String,
    /// Positions of its columns.
    pub columns: Vec<usize>,
    /// UNIQUE.
    pub unique: bool,
    /// USING.
    pub kind: IndexKind,
    /// COMMENT ON INDEX.
    pub comment: Option<String>,
}

/// What has a name of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectKind {
    /// A table.
    Table,
    /// A view.
    View,
    /// An index.
    Index,
    /// A sequence.
    Sequence,
    /// A schema, macro or type.
    Definition(DefinitionKind),
}

/// DROP. Every object exists; those that do not, with IF EXISTS, are left out. In order: first `altered`, then `objects`.
#[derive(Clone, Debug)]
pub struct Drop {
    /// What goes: the named objects, and the sequences that belong to dropped tables.
    pub objects: Vec<DroppedObject>,
    /// CASCADE: tables that stay and lose foreign keys to dropped tables, or defaults that use dropped sequences.
    pub altered: Vec<AlteredSchema>,
}

/// A thing that DROP drops.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DroppedObject {
    /// Of which database.
    pub database: String,
    /// What it is.
    pub kind: ObjectKind,
    /// Its name.
    pub name: String,
}

/// A table whose schema changes in words only: no row is touched.
#[derive(Clone, Debug)]
pub struct AlteredSchema {
    /// Of which database.
    pub database: String,
    /// The table.
    pub table: Arc<TableEntry>,
    /// Its schema from now on: as many columns, of the same types.
    pub schema: TableSchema,
}

/// ALTER TABLE: the table as it will be, and how its rows get there.
#[derive(Clone, Debug)]
pub struct AlterTable {
    /// Of which database.
    pub database: String,
    /// The table.
    pub table: Arc<TableEntry>,
    /// Its schema from now on; another name in it renames the table.
    pub schema: TableSchema,
    /// Where each column of `schema` comes from.
    pub columns: Vec<ColumnSource>,
    /// Which column of the old table each column of `schema` is, whatever its values are made of; absent for new ones.
    pub origins: Vec<Option<usize>>,
    /// What must hold for the rows there are, besides the keys of `schema`.
    pub verify: Verification,
    /// Other tables whose foreign keys name what was renamed or dropped.
    pub altered: Vec<AlteredSchema>,
    /// Sequences of a new identity or SERIAL column, to be made before.
    pub created_sequences: Vec<SequenceSchema>,
    /// Sequences of the same database that go with a column or its default.
    pub dropped_sequences: Vec<String>,
    /// Owned sequences that name another table or column as owner from now on.
    pub altered_sequences: Vec<SequenceSchema>,
}

/// Where a column of an altered table comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum ColumnSource {
    /// From the column at this position, unchanged.
    Kept(usize),
    /// From this row expression over the old table's columns.
    Computed(Expr),
}

/// Constraints that are new to an altered table. Positions are those of the new schema.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verification {
    /// Columns that must not be NULL.
    pub not_null: Vec<usize>,
    /// Keys whose values must differ.
    pub keys: Vec<Vec<usize>>,
    /// Conditions; row expressions over the new table's columns.
    pub checks: Vec<BoundCheck>,
    /// Positions in `schema.foreign_keys` whose targets must exist.
    pub foreign_keys: Vec<usize>,
}

/// A CHECK constraint. A row violates it if the condition is FALSE; NULL passes.
#[derive(Clone, Debug, PartialEq)]
pub struct BoundCheck {
    /// Its name.
    pub name: String,
    /// SQL text of the condition, for messages.
    pub text: String,
    /// The condition: a row expression over the table's columns.
    pub condition: Expr,
}

/// RETURNING: named row expressions over the columns of the changed row (of the deleted one for DELETE).
#[derive(Clone, Debug, PartialEq)]
pub struct Returning {
    /// The columns of the answer.
    pub items: Vec<(String, Expr)>,
}

/// INSERT. The query's output has one column per table column, in the table's order and types: defaults, identities,
/// generated columns and casts are in the plan.
#[derive(Clone, Debug)]
pub struct Insert {
    /// Of which database.
    pub database: String,
    /// Into which table.
    pub table: Arc<TableEntry>,
    /// The rows.
    pub query: Query,
    /// What happens to a row whose key is there.
    pub on_conflict: OnConflict,
    /// CHECK constraints of the table, for new rows and for rows that ON CONFLICT changes.
    pub checks: Vec<BoundCheck>,
    /// RETURNING.
    pub returning: Option<Returning>,
}

/// What INSERT does with a row whose key is there.
#[derive(Clone, Debug, PartialEq)]
pub enum OnConflict {
    /// It fails.
    Fail,
    /// ON CONFLICT DO NOTHING, OR IGNORE: the row is left out.
    Nothing {
        /// Columns of the key that counts, in its order; `None`: every key. Another key's conflict fails.
        key: Option<Vec<usize>>,
    },
    /// ON CONFLICT DO UPDATE, OR REPLACE: the row that is there changes. A second new row with the same key is an error.
    Update(ConflictUpdate),
}

/// The change that DO UPDATE makes. Its row expressions read the existing row's columns as `ColumnId(0..n)` and those of
/// the row that was to be inserted (`excluded`) as `ColumnId(n..2n)`.
#[derive(Clone, Debug, PartialEq)]
pub struct ConflictUpdate {
    /// Columns of the key that counts, in its order. Another key's conflict fails.
    pub key: Vec<usize>,
    /// Positions of the columns that change; generated columns that depend on them included.
    pub set: Vec<usize>,
    /// The new value of each column of `set`, of its type.
    pub values: Vec<Expr>,
    /// WHERE: rows for which it is not TRUE stay as they are, and are not returned.
    pub filter: Option<Expr>,
}

/// DELETE: the query's output is the row id, then the columns of `kept`.
#[derive(Clone, Debug)]
pub struct Delete {
    /// Of which database.
    pub database: String,
    /// From which table.
    pub table: Arc<TableEntry>,
    /// The rows that go, each once.
    pub query: Query,
    /// Positions of the columns behind the row id: those that RETURNING reads or foreign keys of other tables refer to.
    pub kept: Vec<usize>,
    /// RETURNING.
    pub returning: Option<Returning>,
}

/// UPDATE: the query's output is the row id, then the new value of each column of `set`, of the column's type, then the
/// columns of `kept` as they are.
#[derive(Clone, Debug)]
pub struct Update {
    /// Of which database.
    pub database: String,
    /// Of which table.
    pub table: Arc<TableEntry>,
    /// Positions of the columns that change; generated columns that depend on them included.
    pub set: Vec<usize>,
    /// Positions of columns that stay and that `checks`, `returning`, keys or foreign keys read together with `set`.
    pub kept: Vec<usize>,
    /// Row ids and values; each row once.
    pub query: Query,
    /// CHECK constraints that read a column of `set`.
    pub checks: Vec<BoundCheck>,
    /// RETURNING, over the row as it is now.
    pub returning: Option<Returning>,
}

/// MERGE. The query joins source and target; its output is the target's row id (BIGINT, NULL without a target row), TRUE
/// or NULL for whether there is a source row (BOOLEAN), all columns of the target, and then whatever the clauses read.
/// Row expressions of clauses read output column `i` as `ColumnId(i)`. Each joined row takes the first clause of its kind
/// whose condition is TRUE. A target row that two source rows would change is an error (cardinality violation).
#[derive(Clone, Debug)]
pub struct Merge {
    /// Of which database.
    pub database: String,
    /// The target.
    pub table: Arc<TableEntry>,
    /// The joined rows.
    pub query: Query,
    /// In the order written.
    pub clauses: Vec<MergeClause>,
    /// CHECK constraints, over the columns of the table.
    pub checks: Vec<BoundCheck>,
    /// RETURNING, over the columns of the table, then the action (`INSERT`, `UPDATE`, `DELETE`) as `ColumnId(n)`.
    pub returning: Option<Returning>,
}

impl Merge {
    /// Position of the target's row id in the query's output.
    pub const ROW_ID: usize = 0;
    /// Position of the column that is TRUE where there is a source row.
    pub const HAS_SOURCE: usize = 1;
    /// Position of the target's first column.
    pub const TARGET_COLUMNS: usize = 2;
}

/// A WHEN of MERGE.
#[derive(Clone, Debug, PartialEq)]
pub struct MergeClause {
    /// Which joined rows it is for.
    pub kind: MergeKind,
    /// AND condition.
    pub condition: Option<Expr>,
    /// THEN.
    pub action: MergeAction,
}

/// Which joined rows a WHEN of MERGE is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeKind {
    /// MATCHED: both rows are there.
    Matched,
    /// NOT MATCHED [BY TARGET]: a source row alone.
    NotMatched,
    /// NOT MATCHED BY SOURCE: a target row alone.
    NotMatchedBySource,
}

/// THEN of MERGE.
#[derive(Clone, Debug, PartialEq)]
pub enum MergeAction {
    /// DO NOTHING
    Nothing,
    /// DELETE
    Delete,
    /// UPDATE SET
    Update {
        /// Positions of the columns that change; generated columns that depend on them included.
        set: Vec<usize>,
        /// The new value of each, of its type.
        values: Vec<Expr>,
    },
    /// INSERT
    Insert {
        /// The value of each column of the table, of its type.
        values: Vec<Expr>,
    },
}

/// What a transaction promises; `None` where nothing was said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TransactionModes {
    /// ISOLATION LEVEL.
    pub isolation: Option<Isolation>,
    /// READ ONLY (`true`) or READ WRITE.
    pub read_only: Option<bool>,
}

/// ISOLATION LEVEL as written; a level may be answered by a stricter one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isolation {
    /// READ UNCOMMITTED
    ReadUncommitted,
    /// READ COMMITTED
    ReadCommitted,
    /// REPEATABLE READ
    RepeatableRead,
    /// SNAPSHOT
    Snapshot,
    /// SERIALIZABLE
    Serializable,
}

/// What PRAGMA verify checks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VerifyTarget {
    /// An attached database.
    Database(String),
    /// A file that need not be attached.
    File(String),
}

/// ATTACH.
#[derive(Clone, Debug, PartialEq)]
pub struct Attach {
    /// Path of the file, or `:memory:`.
    pub path: String,
    /// The name given, or made from the file's name.
    pub name: String,
    /// IF NOT EXISTS.
    pub if_not_exists: bool,
    /// READ_ONLY; `None` where nothing was said.
    pub read_only: Option<bool>,
    /// TYPE in lower case, unless it says that the file is ours.
    pub kind: Option<String>,
}

impl Attach {
    /// Whether the database is at a server.
    pub fn is_remote(&self) -> bool {
        is_address(&self.path)
    }
}

/// Whether a path is the address of a server.
pub fn is_address(path: &str) -> bool {
    ["inlay://", "inlay+unix://"].iter().any(|start| path.starts_with(start))
}

/// Format of the files that EXPORT DATABASE writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportFormat {
    /// CSV
    Csv,
    /// JSON
    Json,
    /// Parquet
    Parquet,
    /// Arrow
    Arrow,
    /// Excel
    Xlsx,
}

impl ExportFormat {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Csv, Self::Json, Self::Parquet, Self::Arrow, Self::Xlsx];

    /// As COPY calls it, and files end.
    pub fn name(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Json => "json",
            Self::Parquet => "parquet",
            Self::Arrow => "arrow",
            Self::Xlsx => "xlsx",
        }
    }
}

impl Statement {
    /// The query inside, which EXPLAIN shows and which reads tables.
    pub fn query(&self) -> Option<&Query> {
        match self {
            Self::Query(query) | Self::CopyTo { query, .. } => Some(query),
            Self::CreateTable(create) => create.query.as_ref(),
            Self::Insert(insert) => Some(&insert.query),
            Self::Delete(delete) => Some(&delete.query),
            Self::Update(update) => Some(&update.query),
            Self::Merge(merge) => Some(&merge.query),
            Self::Explain { statement, .. } => statement.query(),
            _ => None,
        }
    }

    /// What RETURNING of a statement says.
    pub fn returning(&self) -> Option<&Returning> {
        match self {
            Self::Insert(insert) => insert.returning.as_ref(),
            Self::Delete(delete) => delete.returning.as_ref(),
            Self::Update(update) => update.returning.as_ref(),
            Self::Merge(merge) => merge.returning.as_ref(),
            _ => None,
        }
    }

    /// The table whose rows a statement changes, and its database.
    pub fn target(&self) -> Option<(&str, &Arc<TableEntry>)> {
        match self {
            Self::Insert(insert) => Some((&insert.database, &insert.table)),
            Self::Delete(delete) => Some((&delete.database, &delete.table)),
            Self::Update(update) => Some((&update.database, &update.table)),
            Self::Merge(merge) => Some((&merge.database, &merge.table)),
            _ => None,
        }
    }

    /// The query inside, to be changed.
    pub fn query_mut(&mut self) -> Option<&mut Query> {
        match self {
            Self::Query(query) | Self::CopyTo { query, .. } => Some(query),
            Self::CreateTable(create) => create.query.as_mut(),
            Self::Insert(insert) => Some(&mut insert.query),
            Self::Delete(delete) => Some(&mut delete.query),
            Self::Update(update) => Some(&mut update.query),
            Self::Merge(merge) => Some(&mut merge.query),
            Self::Explain { statement, .. } => statement.query_mut(),
            _ => None,
        }
    }

    /// What the statement is, in the words of SQL: what EXPLAIN shows of a statement without a query.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Query(_) => "SELECT",
            Self::Explain { .. } => "EXPLAIN",
            Self::CreateTable(_) => "CREATE TABLE",
            Self::CreateView { .. } => "CREATE VIEW",
            Self::CreateIndex(_) => "CREATE INDEX",
            Self::CreateSequence { .. } => "CREATE SEQUENCE",
            Self::Object(object) => object.kind(),
            Self::Drop(_) => "DROP",
            Self::Changing { .. } => "WITH",
            Self::AlterTable(_) => "ALTER TABLE",
            Self::RenameView { .. } => "ALTER VIEW",
            Self::AlterSequence { .. } => "ALTER SEQUENCE",
            Self::Insert(_) => "INSERT",
            Self::Delete(_) => "DELETE",
            Self::Update(_) => "UPDATE",
            Self::Merge(_) => "MERGE",
            Self::Truncate { .. } => "TRUNCATE",
            Self::CopyTo { .. } => "COPY",
            Self::Call { .. } => "CALL",
            Self::Set { .. } => "SET",
            Self::Begin(_) => "BEGIN",
            Self::Commit => "COMMIT",
            Self::Rollback => "ROLLBACK",
            Self::SetTransaction { .. } => "SET TRANSACTION",
            Self::SetConstraints { .. } => "SET CONSTRAINTS",
            Self::CreateSecret { .. } => "CREATE SECRET",
            Self::DropSecret { .. } => "DROP SECRET",
            Self::Savepoint(_) => "SAVEPOINT",
            Self::RollbackTo(_) => "ROLLBACK TO SAVEPOINT",
            Self::Release(_) => "RELEASE SAVEPOINT",
            Self::Checkpoint { .. } => "CHECKPOINT",
            Self::Vacuum { .. } => "VACUUM",
            Self::Nothing(kind) => kind,
            Self::Verify(_) => "PRAGMA verify",
            Self::Attach(_) => "ATTACH",
            Self::Detach { .. } => "DETACH",
            Self::Use { .. } => "USE",
            Self::ExportDatabase { .. } => "EXPORT DATABASE",
            Self::ImportDatabase { .. } => "IMPORT DATABASE",
            Self::CopyDatabase { .. } => "COPY FROM DATABASE",
        }
    }
}

/// A part of a WITH that changes data.
#[derive(Clone, Debug)]
pub struct ChangingPart {
    /// Where what it returns goes.
    pub rows: Arc<HeldRows>,
    /// What it does.
    pub statement: Statement,
}

/// CREATE INDEX.
#[derive(Clone, Debug)]
pub struct CreateIndex {
    /// Of which database.
    pub database: String,
    /// Name of the index.
    pub name: String,
    /// Its table.
    pub table: Arc<TableEntry>,
    /// Positions of its columns; `added` are those behind the columns of the table.
    pub columns: Vec<usize>,
    /// Hidden columns that the table gets, and their values over its rows.
    pub added: Vec<(ColumnSchema, Expr)>,
    /// UNIQUE.
    pub unique: bool,
    /// USING.
    pub kind: IndexKind,
    /// IF NOT EXISTS.
    pub if_not_exists: bool,
}
