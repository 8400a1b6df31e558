//! The abstract syntax tree of Inlay's SQL: what a statement says, before any name is looked up.
//!
//! Produced by [`crate::parser`] alone and consumed by [`crate::binder`] alone, so that the crate that
//! reads text can be replaced without touching anything behind it. Every node that an error may point at
//! carries a [`Pos`]. Depth is bounded: the parser refuses deeper trees (see `parser::guard`), so plain
//! recursion over an `Expr` or a `Query` cannot exhaust the stack.

use std::sync::Arc;

mod change;
mod constants;
mod expr;
pub mod object;
mod query;
pub mod role;
mod table;
pub mod trigger;

pub use change::*;
pub use constants::Constants;
pub(crate) use constants::advance;
pub use expr::*;
pub use query::*;
pub use table::*;

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
    CreateIndex(Box<CreateIndex>),
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
    /// `WITH` of which a part changes data.
    ChangingWith(Box<ChangingWith>),
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
    /// `SET CONSTRAINTS`; without names all.
    SetConstraints {
        names: Vec<Ident>,
        deferred: bool,
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
    /// `ANALYZE [table [(columns)]]`.
    Analyze {
        table: Option<ObjectName>,
        columns: Vec<Ident>,
    },
    /// `CREATE SECRET`.
    CreateSecret {
        name: Option<Ident>,
        options: Vec<CopyOption>,
        or_replace: bool,
        if_not_exists: bool,
    },
    /// `DROP SECRET`.
    DropSecret {
        name: Ident,
        if_exists: bool,
    },
    /// `LOAD` and `INSTALL` of what is built in.
    Load,
    /// `ALTER ... OWNER TO role` of what has no owner here.
    Owner,
    /// A statement of another system that cannot matter here, with what is to be said about that.
    Notice(&'static str),
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
    /// `COPY FROM DATABASE source TO target`: definitions, rows, or both.
    CopyDatabase {
        source: Ident,
        target: Ident,
        schema: bool,
        rows: bool,
    },
    /// Schemas, macros, types, materialised views, comments, prepared statements, variables.
    Object(Box<ObjectStatement>),
}

pub use crate::plan::statement::{Isolation, TransactionModes};
pub use object::ObjectStatement;

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
    /// What a cluster would be given.
    Cluster,
    /// For other programs.
    Drawn(Drawing),
}

/// A form of plans that other programs show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drawing {
    /// YAML.
    Yaml,
    /// A page.
    Html,
    /// The language of `dot`.
    Graphviz,
    /// A flowchart in Markdown.
    Mermaid,
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
