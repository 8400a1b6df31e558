//! The abstract syntax tree of Inlay's SQL: what a statement says, before any name is looked up.
//!
//! Produced by [`crate::parser`] alone and consumed by [`crate::binder`] alone, so that the crate that
//! reads text can be replaced without touching anything behind it. Every node that an error may point at
//! carries a [`Pos`]. Depth is bounded: the parser refuses deeper trees (see `parser::guard`), so plain
//! recursion over an `Expr` or a `Query` cannot exhaust the stack.

use inlay_types::LogicalType;
use std::sync::Arc;

/// A place in the SQL text; line and column count from 1, and line 0 means "unknown".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pos {
    /// Line, counted from 1.
    pub line: u32,
    /// Column in characters, counted from 1.
    pub column: u32,
}

/// A name as written, without its quotes. Names compare case-insensitively, quoted or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ident {
    /// The name.
    pub value: String,
    /// Where it stands.
    pub pos: Pos,
}

/// A name with up to two qualifiers: `table`, `schema.table`, `catalog.schema.table`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectName {
    /// The parts, outermost first; never empty.
    pub parts: Vec<Ident>,
    /// Written as a string, `FROM 'file.parquet'`.
    pub is_string: bool,
}

impl ObjectName {
    /// The last part: the object's own name.
    pub fn last(&self) -> &str {
        self.parts.last().map_or("", |part| part.value.as_str())
    }

    /// Where the name starts.
    pub fn pos(&self) -> Pos {
        self.parts.first().map_or(Pos::default(), |part| part.pos)
    }
}

impl std::fmt::Display for ObjectName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (index, part) in self.parts.iter().enumerate() {
            if index > 0 {
                f.write_str(".")?;
            }
            f.write_str(&part.value)?;
        }
        Ok(())
    }
}

/// One statement with the text it came from.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    /// What it says.
    pub kind: StatementKind,
    /// The whole text given to the parser; positions count in it.
    pub sql: Arc<str>,
    /// The bytes of `sql` that are this statement, without the semicolon.
    pub range: (usize, usize),
    /// Positional parameters it needs (`?` or the largest `$n`).
    pub parameter_count: usize,
    /// Named parameters (`$name`) in order of first use.
    pub parameter_names: Vec<String>,
}

impl Statement {
    /// The statement's own text.
    pub fn text(&self) -> &str {
        self.sql.get(self.range.0..self.range.1).unwrap_or(&self.sql)
    }
}

/// What a statement does.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "variants and fields are named after the SQL they stand for")]
pub enum StatementKind {
    Query(Box<Query>),
    CreateTable(Box<CreateTable>),
    CreateView(Box<CreateView>),
    CreateIndex {
        name: Option<ObjectName>,
        table: ObjectName,
        columns: Vec<Expr>,
        unique: bool,
        if_not_exists: bool,
    },
    CreateSequence(Box<CreateSequence>),
    Drop {
        kind: ObjectKind,
        names: Vec<ObjectName>,
        if_exists: bool,
        cascade: bool,
    },
    AlterTable {
        table: ObjectName,
        if_exists: bool,
        actions: Vec<AlterAction>,
    },
    /// `ALTER VIEW name RENAME TO new_name`.
    RenameView {
        name: ObjectName,
        if_exists: bool,
        new_name: Ident,
    },
    AlterSequence(Box<AlterSequence>),
    /// `WITH` in front of INSERT, UPDATE, DELETE or MERGE: a query of which only the CTEs count.
    With {
        with: Box<Query>,
        statement: Box<Statement>,
    },
    Insert(Box<Insert>),
    Update(Box<Update>),
    Delete(Box<Delete>),
    Merge(Box<Merge>),
    Truncate {
        tables: Vec<ObjectName>,
        restart_identity: bool,
        cascade: bool,
    },
    Copy(Box<Copy>),
    /// `CALL f(args)`.
    Call(FunctionCall),
    /// `SET name = value` (`None` for `RESET name`).
    Set {
        name: Ident,
        value: Option<Expr>,
    },
    /// `PRAGMA name`, `PRAGMA name(args)`; `PRAGMA name = value` is a `Set`.
    Pragma {
        name: Ident,
        arguments: Vec<Expr>,
    },
    Explain {
        statement: Box<Statement>,
        analyze: bool,
        format: ExplainFormat,
    },
    Begin(TransactionModes),
    Commit,
    Rollback,
    /// `SET TRANSACTION`, or with `session` `SET SESSION CHARACTERISTICS AS TRANSACTION`.
    SetTransaction {
        modes: TransactionModes,
        session: bool,
    },
    Savepoint(Ident),
    RollbackTo(Ident),
    Release(Ident),
    ShowTables {
        of: Option<ObjectName>,
    },
    ShowDatabases,
    /// `SHOW setting`.
    Show {
        name: Ident,
    },
    /// `DESCRIBE query` and, as `FROM table`, `DESCRIBE table`.
    Describe(Box<Query>),
    /// `SUMMARIZE query`.
    Summarize(Box<Query>),
    /// `SHOW ALL TABLES`.
    ShowAllTables,
    /// `[FORCE] CHECKPOINT [database]`.
    Checkpoint {
        database: Option<Ident>,
        force: bool,
    },
    /// `ANALYZE [table]`.
    Analyze {
        table: Option<ObjectName>,
    },
    /// `LOAD` and `INSTALL` of what is built in.
    Load,
    /// `VACUUM [ANALYZE] [table]`.
    Vacuum {
        table: Option<ObjectName>,
        analyze: bool,
    },
    Attach {
        path: String,
        path_pos: Pos,
        alias: Option<Ident>,
        if_not_exists: bool,
        options: Vec<CopyOption>,
    },
    Detach {
        name: Ident,
        if_exists: bool,
    },
    Use(ObjectName),
    ExportDatabase {
        database: Option<Ident>,
        directory: String,
        options: Vec<CopyOption>,
    },
    ImportDatabase {
        directory: String,
    },
    /// Schemas, macros, types, materialised views, comments, prepared statements, variables.
    Object(Box<ObjectStatement>),
}

pub use super::object_ast::ObjectStatement;
pub use crate::plan::statement::{Isolation, TransactionModes};

/// What `DROP` drops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "named after the SQL they stand for")]
pub enum ObjectKind {
    Table,
    View,
    Index,
    Sequence,
}

/// The form of `EXPLAIN`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExplainFormat {
    /// A tree for people.
    Text,
    /// A document for tools.
    Json,
}

/// What to do when the name is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnExisting {
    /// Plain `CREATE`: an error.
    Fail,
    /// `IF NOT EXISTS`: nothing.
    Keep,
    /// `OR REPLACE`: the new one takes its place.
    Replace,
}

/// `CREATE TABLE`.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "fields are named after the SQL they stand for")]
pub struct CreateTable {
    pub name: ObjectName,
    pub temporary: bool,
    pub on_existing: OnExisting,
    pub columns: Vec<ColumnDef>,
    /// PRIMARY KEY, UNIQUE and CHECK, those of single columns included.
    pub constraints: Vec<TableConstraint>,
    /// `AS SELECT ...`; then `columns` is empty.
    pub query: Option<Box<Query>>,
}

/// A column of `CREATE TABLE` or `ADD COLUMN`.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "fields are named after the SQL they stand for")]
pub struct ColumnDef {
    pub name: Ident,
    pub data_type: LogicalType,
    pub not_null: bool,
    /// The expression with its text.
    pub default: Option<(Expr, String)>,
    pub origin: ColumnOrigin,
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

pub use inlay_storage::ReferenceAction;

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
    AddColumn { column: Box<ColumnDef>, constraints: Vec<TableConstraint>, if_not_exists: bool },
    DropColumn { name: Ident, if_exists: bool, cascade: bool },
    RenameColumn { name: Ident, new_name: Ident },
    RenameTable { new_name: Ident },
    SetType { name: Ident, data_type: LogicalType, using: Option<Expr> },
    SetNotNull(Ident),
    DropNotNull(Ident),
    SetDefault { name: Ident, default: (Expr, String) },
    DropDefault(Ident),
    AddConstraint(TableConstraint),
    DropConstraint { name: Ident, if_exists: bool, cascade: bool },
    DropPrimaryKey(Pos),
    RenameConstraint { name: Ident, new_name: Ident },
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
    /// `UPDATE SET *`: every column from the source's of the same name.
    UpdateAll,
    Insert {
        columns: Vec<Ident>,
        values: Vec<Expr>,
    },
    /// `INSERT *`: every column from the source's of the same name.
    InsertAll,
}

/// `COPY`.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "fields are named after the SQL they stand for")]
pub enum Copy {
    From { table: ObjectName, columns: Vec<Ident>, path: String, path_pos: Pos, options: Vec<CopyOption> },
    To { query: Box<Query>, path: String, path_pos: Pos, options: Vec<CopyOption> },
}

/// An option of `COPY`, such as `DELIMITER '|'` or plain `HEADER`.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "fields are named after the SQL they stand for")]
pub struct CopyOption {
    pub name: Ident,
    pub value: Option<Expr>,
}

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
        exclude: Vec<Ident>,
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
