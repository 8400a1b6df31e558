//! What a statement is: one list, from which everything that depends on it is read. A new kind of statement has to say here what
//! its tag is, what it may change, and whether it only reads.

use inlay_sql::parser::ast::object::{DroppedKind, ObjectStatement, RenamedKind};
use inlay_sql::parser::ast::role::{GrantObject, RoleStatement};
use inlay_sql::parser::ast::{ObjectKind, StatementKind};

/// What a statement may do to what others see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandClass {
    /// It gives rows and changes nothing.
    Query,
    /// It changes rows.
    Change,
    /// It changes what there is: tables, views, functions, comments.
    Definition,
    /// It begins or ends a transaction, or a part of one.
    Transaction,
    /// It changes what the session, or its database, is set to.
    Session,
    /// It does something with files or whole databases.
    Maintenance,
}

macro_rules! commands {
    ($($name:ident = $tag:literal, $family:literal, $class:ident;)+) => {
        /// What kind of statement an answer is of.
        ///
        /// ```
        /// # fn main() -> inlay::Result<()> {
        /// use inlay::{Command, CommandClass};
        /// let connection = inlay::Database::open_in_memory()?.connect();
        /// let answer = connection.execute("CREATE TABLE t AS SELECT 1 AS a")?;
        /// assert_eq!((answer.command().tag(), answer.command().class()), ("CREATE TABLE", CommandClass::Definition));
        /// let answer = connection.execute("INSERT INTO t VALUES (2), (3)")?;
        /// assert_eq!((answer.command(), answer.changed_rows()), (Command::Insert, Some(2)));
        /// # Ok(())
        /// # }
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Command {
            $(
                #[doc = concat!("The statement `", $tag, "`.")]
                $name,
            )+
        }

        impl Command {
            /// Its words, as PostgreSQL tells a client what was done: `CREATE TABLE`.
            pub const fn tag(self) -> &'static str {
                match self {
                    $(Self::$name => $tag,)+
                }
            }

            /// The kind as DuckDB's package calls it: `CREATE`.
            pub const fn family(self) -> &'static str {
                match self {
                    $(Self::$name => $family,)+
                }
            }

            /// What it may change.
            pub const fn class(self) -> CommandClass {
                match self {
                    $(Self::$name => CommandClass::$class,)+
                }
            }
        }
    };
}

commands! {
    Empty = "", "INVALID", Query;
    Select = "SELECT", "SELECT", Query;
    Show = "SHOW", "SELECT", Query;
    Describe = "DESCRIBE", "SELECT", Query;
    Summarize = "SUMMARIZE", "SELECT", Query;
    Explain = "EXPLAIN", "EXPLAIN", Query;
    Insert = "INSERT", "INSERT", Change;
    Update = "UPDATE", "UPDATE", Change;
    Delete = "DELETE", "DELETE", Change;
    Merge = "MERGE", "MERGE_INTO", Change;
    Truncate = "TRUNCATE TABLE", "DELETE", Change;
    Copy = "COPY", "COPY", Change;
    CreateTable = "CREATE TABLE", "CREATE", Definition;
    CreateView = "CREATE VIEW", "CREATE", Definition;
    CreateMaterializedView = "CREATE MATERIALIZED VIEW", "CREATE", Definition;
    CreateIndex = "CREATE INDEX", "CREATE", Definition;
    CreateSequence = "CREATE SEQUENCE", "CREATE", Definition;
    CreateSchema = "CREATE SCHEMA", "CREATE", Definition;
    CreateType = "CREATE TYPE", "CREATE", Definition;
    CreateMacro = "CREATE MACRO", "CREATE", Definition;
    CreateFunction = "CREATE FUNCTION", "CREATE", Definition;
    CreateTrigger = "CREATE TRIGGER", "CREATE", Definition;
    CreateSecret = "CREATE SECRET", "CREATE", Session;
    DropTable = "DROP TABLE", "DROP", Definition;
    DropView = "DROP VIEW", "DROP", Definition;
    DropMaterializedView = "DROP MATERIALIZED VIEW", "DROP", Definition;
    DropIndex = "DROP INDEX", "DROP", Definition;
    DropSequence = "DROP SEQUENCE", "DROP", Definition;
    DropSchema = "DROP SCHEMA", "DROP", Definition;
    DropType = "DROP TYPE", "DROP", Definition;
    DropMacro = "DROP MACRO", "DROP", Definition;
    DropTrigger = "DROP TRIGGER", "DROP", Definition;
    DropSecret = "DROP SECRET", "DROP", Session;
    AlterTable = "ALTER TABLE", "ALTER", Definition;
    AlterView = "ALTER VIEW", "ALTER", Definition;
    AlterMaterializedView = "ALTER MATERIALIZED VIEW", "ALTER", Definition;
    AlterIndex = "ALTER INDEX", "ALTER", Definition;
    AlterSequence = "ALTER SEQUENCE", "ALTER", Definition;
    AlterSchema = "ALTER SCHEMA", "ALTER", Definition;
    AlterType = "ALTER TYPE", "ALTER", Definition;
    AlterMacro = "ALTER MACRO", "ALTER", Definition;
    CreateRole = "CREATE ROLE", "CREATE", Definition;
    AlterRole = "ALTER ROLE", "ALTER", Definition;
    DropRole = "DROP ROLE", "DROP", Definition;
    Grant = "GRANT", "ALTER", Definition;
    Revoke = "REVOKE", "ALTER", Definition;
    GrantRole = "GRANT ROLE", "ALTER", Definition;
    RevokeRole = "REVOKE ROLE", "ALTER", Definition;
    ReassignOwned = "REASSIGN OWNED", "ALTER", Definition;
    DropOwned = "DROP OWNED", "DROP", Definition;
    CreateToken = "CREATE TOKEN", "CREATE", Definition;
    DropToken = "DROP TOKEN", "DROP", Definition;
    Comment = "COMMENT", "ALTER", Definition;
    Refresh = "REFRESH MATERIALIZED VIEW", "CALL", Change;
    Begin = "BEGIN", "TRANSACTION", Transaction;
    Commit = "COMMIT", "TRANSACTION", Transaction;
    Rollback = "ROLLBACK", "TRANSACTION", Transaction;
    Savepoint = "SAVEPOINT", "TRANSACTION", Transaction;
    RollbackTo = "ROLLBACK", "TRANSACTION", Transaction;
    Release = "RELEASE", "TRANSACTION", Transaction;
    SetTransaction = "SET", "TRANSACTION", Transaction;
    SetConstraints = "SET CONSTRAINTS", "SET", Transaction;
    Set = "SET", "SET", Session;
    Reset = "RESET", "SET", Session;
    SetVariable = "SET VARIABLE", "SET", Session;
    Use = "USE", "SET", Session;
    Pragma = "PRAGMA", "PRAGMA", Session;
    Prepare = "PREPARE", "PREPARE", Session;
    Execute = "EXECUTE", "EXECUTE", Change;
    Deallocate = "DEALLOCATE", "DROP", Session;
    Load = "LOAD", "LOAD", Session;
    Call = "CALL", "CALL", Maintenance;
    Checkpoint = "CHECKPOINT", "CALL", Maintenance;
    Analyze = "ANALYZE", "VACUUM", Maintenance;
    Vacuum = "VACUUM", "VACUUM", Maintenance;
    Attach = "ATTACH", "ATTACH", Maintenance;
    Detach = "DETACH", "DETACH", Maintenance;
    ExportDatabase = "EXPORT DATABASE", "EXPORT", Maintenance;
    ImportDatabase = "IMPORT DATABASE", "PRAGMA", Maintenance;
    CopyDatabase = "COPY DATABASE", "COPY_DATABASE", Maintenance;
}

impl Command {
    /// What a written statement is.
    pub(crate) fn of(kind: &StatementKind) -> Self {
        use StatementKind as Kind;
        match kind {
            Kind::Query(_) => Self::Select,
            Kind::ShowTables { .. } | Kind::ShowDatabases | Kind::Show { .. } | Kind::ShowAllTables => {
                Self::Show
            }
            Kind::Describe(_) => Self::Describe,
            Kind::Summarize(_) => Self::Summarize,
            Kind::Explain { .. } => Self::Explain,
            Kind::With { statement, .. } => Self::of(&statement.kind),
            Kind::ChangingWith(changing) => Self::of(&changing.statement.kind),
            Kind::Insert(_) => Self::Insert,
            Kind::Update(_) => Self::Update,
            Kind::Delete(_) => Self::Delete,
            Kind::Merge(_) => Self::Merge,
            Kind::Truncate { .. } => Self::Truncate,
            Kind::Copy(_) => Self::Copy,
            Kind::CreateTable(_) => Self::CreateTable,
            Kind::CreateView(_) => Self::CreateView,
            Kind::CreateIndex(_) => Self::CreateIndex,
            Kind::CreateSequence(_) => Self::CreateSequence,
            Kind::CreateSecret { .. } => Self::CreateSecret,
            Kind::DropSecret { .. } => Self::DropSecret,
            Kind::Drop { kind, .. } => match kind {
                ObjectKind::Table => Self::DropTable,
                ObjectKind::View => Self::DropView,
                ObjectKind::Index => Self::DropIndex,
                ObjectKind::Sequence => Self::DropSequence,
            },
            Kind::AlterTable { .. } => Self::AlterTable,
            Kind::RenameView { .. } => Self::AlterView,
            Kind::AlterSequence(_) => Self::AlterSequence,
            Kind::Call(_) => Self::Call,
            Kind::Checkpoint { .. } => Self::Checkpoint,
            Kind::Set { value: None, .. } => Self::Reset,
            Kind::Set { value: Some(_), .. } => Self::Set,
            Kind::Use(_) => Self::Use,
            Kind::SetConstraints { .. } => Self::SetConstraints,
            Kind::Pragma { .. } => Self::Pragma,
            Kind::Begin(_) => Self::Begin,
            Kind::Commit => Self::Commit,
            Kind::Rollback => Self::Rollback,
            Kind::SetTransaction { .. } => Self::SetTransaction,
            Kind::Savepoint(_) => Self::Savepoint,
            Kind::RollbackTo(_) => Self::RollbackTo,
            Kind::Release(_) => Self::Release,
            Kind::Analyze { .. } => Self::Analyze,
            Kind::Vacuum { .. } => Self::Vacuum,
            Kind::Load => Self::Load,
            Kind::Owner => Self::AlterTable,
            Kind::Notice(_) => Self::Select,
            Kind::Attach { .. } => Self::Attach,
            Kind::Detach { .. } => Self::Detach,
            Kind::ExportDatabase { .. } => Self::ExportDatabase,
            Kind::ImportDatabase { .. } => Self::ImportDatabase,
            Kind::CopyDatabase { .. } => Self::CopyDatabase,
            Kind::Object(object) => Self::of_object(object),
        }
    }

    fn of_object(object: &ObjectStatement) -> Self {
        match object {
            ObjectStatement::CreateSchema { .. } => Self::CreateSchema,
            ObjectStatement::CreateMacro { .. } => Self::CreateMacro,
            ObjectStatement::CreateFunction(_) => Self::CreateFunction,
            ObjectStatement::CreateType { .. } => Self::CreateType,
            ObjectStatement::CreateMaterializedView { .. } => Self::CreateMaterializedView,
            ObjectStatement::Refresh { .. } => Self::Refresh,
            ObjectStatement::Drop { kind, .. } => match kind {
                DroppedKind::Schema => Self::DropSchema,
                DroppedKind::Macro | DroppedKind::TableMacro => Self::DropMacro,
                DroppedKind::Type => Self::DropType,
                DroppedKind::MaterializedView => Self::DropMaterializedView,
            },
            ObjectStatement::CreateTrigger(_) => Self::CreateTrigger,
            ObjectStatement::DropTrigger { .. } => Self::DropTrigger,
            ObjectStatement::Comment { .. } => Self::Comment,
            ObjectStatement::Rename { kind, .. } | ObjectStatement::SetSchema { kind, .. } => match kind {
                RenamedKind::Table => Self::AlterTable,
                RenamedKind::View => Self::AlterView,
                RenamedKind::MaterializedView => Self::AlterMaterializedView,
                RenamedKind::Sequence => Self::AlterSequence,
                RenamedKind::Schema => Self::AlterSchema,
                RenamedKind::Type => Self::AlterType,
                RenamedKind::Macro | RenamedKind::TableMacro => Self::AlterMacro,
                RenamedKind::Index => Self::AlterIndex,
            },
            ObjectStatement::Role(role) => Self::of_role(role),
            ObjectStatement::AlterType { .. } => Self::AlterType,
            ObjectStatement::Prepare { .. } => Self::Prepare,
            ObjectStatement::Execute { .. } => Self::Execute,
            ObjectStatement::Deallocate { .. } => Self::Deallocate,
            ObjectStatement::SetVariable { .. } => Self::SetVariable,
        }
    }

    fn of_role(role: &RoleStatement) -> Self {
        match role {
            RoleStatement::Create { .. } => Self::CreateRole,
            RoleStatement::Alter { .. } | RoleStatement::Rename { .. } => Self::AlterRole,
            RoleStatement::Drop { .. } => Self::DropRole,
            RoleStatement::Grant(grant) if grant.is_granted => Self::Grant,
            RoleStatement::Grant(_) => Self::Revoke,
            RoleStatement::Members { is_granted: true, .. } => Self::GrantRole,
            RoleStatement::Members { .. } => Self::RevokeRole,
            RoleStatement::Owner { object, .. } => match object {
                GrantObject::Table => Self::AlterTable,
                GrantObject::Index => Self::AlterIndex,
                GrantObject::Sequence => Self::AlterSequence,
                GrantObject::Schema => Self::AlterSchema,
                GrantObject::Type => Self::AlterType,
                GrantObject::Function => Self::AlterMacro,
                GrantObject::Database => Self::Grant,
            },
            RoleStatement::SetRole { .. } => Self::Set,
            RoleStatement::Reassign { .. } => Self::ReassignOwned,
            RoleStatement::DropOwned { .. } => Self::DropOwned,
            RoleStatement::CreateToken { .. } => Self::CreateToken,
            RoleStatement::DropToken { .. } => Self::DropToken,
        }
    }

    /// The one that a statement carries out: of EXPLAIN ANALYZE, the one that it measures.
    pub(crate) fn carried_out(kind: &StatementKind) -> Self {
        match kind {
            StatementKind::Explain { statement, analyze: true, .. } => Self::carried_out(&statement.kind),
            // A query on top of changes is one.
            StatementKind::ChangingWith(changing) => match Self::carried_out(&changing.statement.kind) {
                own if own.class() == CommandClass::Query => Self::Update,
                own => own,
            },
            StatementKind::With { statement, .. } => Self::carried_out(&statement.kind),
            kind => Self::of(kind),
        }
    }

    /// Whether carrying it out may change rows or names: then it is undone as a whole if it fails in a transaction.
    pub(crate) const fn changes_database(self) -> bool {
        match self.class() {
            CommandClass::Change | CommandClass::Definition | CommandClass::Maintenance => true,
            CommandClass::Query | CommandClass::Transaction => false,
            CommandClass::Session => match self {
                Self::Set | Self::CreateSecret | Self::DropSecret | Self::Pragma | Self::Load => false,
                // Values of variables are those of queries, and what is prepared is bound.
                _ => true,
            },
        }
    }

    /// Whether names, settings or variables of the session may mean something else afterwards.
    pub(crate) const fn changes_names(self) -> bool {
        match self.class() {
            CommandClass::Query => false,
            // Its rows are another table from then on.
            CommandClass::Change => matches!(self, Self::Refresh),
            CommandClass::Definition | CommandClass::Session | CommandClass::Maintenance => true,
            CommandClass::Transaction => matches!(self, Self::SetTransaction | Self::SetConstraints),
        }
    }

    /// Whether a statement with autocommit off begins a transaction, if none is open.
    pub(crate) const fn needs_transaction(self) -> bool {
        match self.class() {
            CommandClass::Query | CommandClass::Change | CommandClass::Definition => {
                !matches!(self, Self::Empty)
            }
            CommandClass::Maintenance => {
                matches!(self, Self::Call | Self::ImportDatabase | Self::CopyDatabase)
            }
            CommandClass::Transaction => matches!(self, Self::Savepoint),
            CommandClass::Session => false,
        }
    }
}

/// Whether a statement only reads, and may run for a function that another one calls.
pub(crate) fn only_reads(kind: &StatementKind) -> bool {
    match kind {
        StatementKind::Explain { statement, .. } => only_reads(&statement.kind),
        kind => matches!(Command::carried_out(kind).class(), CommandClass::Query),
    }
}
