//! What kinds of statements do, in one place: who asks whether one may run inside of a function, has to be undone when it fails, or
//! makes kept plans useless, asks here.

use super::StatementKind;
use super::object::ObjectStatement;

/// What a statement does, as far as that can be told without a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatementTraits {
    /// It gives rows and does nothing else, so that a function may run it while another statement calls the function.
    pub reads: bool,
    /// It may change rows or definitions of a database: what it did is undone if it fails, and what it read is noted.
    pub changes_data: bool,
    /// Names, settings or variables of the session may mean something else afterwards: plans that were kept are made anew.
    pub changes_names: bool,
    /// The kind as DuckDB's package calls it.
    pub tag: &'static str,
}

impl StatementTraits {
    const fn reading(tag: &'static str) -> Self {
        Self { reads: true, changes_data: false, changes_names: false, tag }
    }

    const fn changing_rows(tag: &'static str) -> Self {
        Self { reads: false, changes_data: true, changes_names: false, tag }
    }

    const fn defining(tag: &'static str) -> Self {
        Self { reads: false, changes_data: true, changes_names: true, tag }
    }

    /// Of the session, or of databases as a whole.
    const fn setting(tag: &'static str) -> Self {
        Self { reads: false, changes_data: false, changes_names: true, tag }
    }

    /// Neither rows nor what names mean: transactions, files, where rows lie.
    const fn managing(tag: &'static str) -> Self {
        Self { reads: false, changes_data: false, changes_names: false, tag }
    }
}

impl StatementKind {
    /// What statements of this kind do.
    pub fn traits(&self) -> StatementTraits {
        use StatementTraits as Traits;
        match self {
            Self::Query(_)
            | Self::ShowTables { .. }
            | Self::ShowDatabases
            | Self::Show { .. }
            | Self::Describe(_)
            | Self::Summarize(_)
            | Self::ShowAllTables => Traits::reading("SELECT"),
            Self::CreateTable(_) | Self::CreateView(_) | Self::CreateIndex(_) | Self::CreateSequence(_) => {
                Traits::defining("CREATE")
            }
            Self::CreateSecret { .. } => Traits::setting("CREATE"),
            Self::Drop { .. } => Traits::defining("DROP"),
            Self::DropSecret { .. } => Traits::setting("DROP"),
            Self::AlterTable { .. } | Self::RenameView { .. } | Self::AlterSequence(_) => {
                Traits::defining("ALTER")
            }
            Self::With { statement, .. } => statement.kind.traits(),
            Self::ChangingWith(changing) => {
                let traits = changing.statement.kind.traits();
                Traits { reads: false, changes_data: true, ..traits }
            }
            Self::Insert(_) => Traits::changing_rows("INSERT"),
            Self::Update(_) => Traits::changing_rows("UPDATE"),
            Self::Delete(_) | Self::Truncate { .. } => Traits::changing_rows("DELETE"),
            Self::Merge(_) => Traits::changing_rows("MERGE_INTO"),
            Self::Copy(_) => Traits::changing_rows("COPY"),
            // Procedures make tables.
            Self::Call(_) => Traits::defining("CALL"),
            Self::Checkpoint { .. } => Traits::managing("CALL"),
            Self::Set { .. } | Self::Use(_) | Self::SetConstraints { .. } => Traits::setting("SET"),
            // Some of them are settings.
            Self::Pragma { .. } => Traits::setting("PRAGMA"),
            Self::ImportDatabase { .. } => Traits::defining("PRAGMA"),
            // The rows of a change are computed for ANALYZE, and not put in.
            Self::Explain { statement, .. } => {
                Traits { reads: statement.kind.traits().reads, ..Traits::managing("EXPLAIN") }
            }
            Self::Begin(_)
            | Self::Commit
            | Self::Rollback
            | Self::Savepoint(_)
            | Self::RollbackTo(_)
            | Self::Release(_) => Traits::managing("TRANSACTION"),
            Self::SetTransaction { .. } => Traits::setting("TRANSACTION"),
            // Plans are made by statistics.
            Self::Analyze { .. } | Self::Vacuum { .. } => Traits::setting("VACUUM"),
            Self::Load => Traits::managing("LOAD"),
            Self::Attach { .. } => Traits::setting("ATTACH"),
            Self::Detach { .. } => Traits::setting("DETACH"),
            Self::ExportDatabase { .. } => Traits::managing("EXPORT"),
            Self::CopyDatabase { .. } => Traits::defining("COPY_DATABASE"),
            Self::Object(object) => object.traits(),
        }
    }
}

impl ObjectStatement {
    fn traits(&self) -> StatementTraits {
        use StatementTraits as Traits;
        match self {
            Self::CreateSchema { .. }
            | Self::CreateMacro { .. }
            | Self::CreateFunction(_)
            | Self::CreateType { .. }
            | Self::CreateMaterializedView { .. } => Traits::defining("CREATE"),
            Self::Refresh { .. } => Traits::defining("CALL"),
            Self::Drop { .. } => Traits::defining("DROP"),
            Self::Comment { .. } | Self::Rename { .. } | Self::SetSchema { .. } | Self::AlterType { .. } => {
                Traits::defining("ALTER")
            }
            Self::Prepare { .. } => Traits::setting("PREPARE"),
            Self::Deallocate { .. } => Traits::setting("DROP"),
            // Whatever was prepared, but for what the session alone has: that counts when it is run.
            Self::Execute { .. } => Traits::changing_rows("EXECUTE"),
            Self::SetVariable { .. } => Traits::setting("SET"),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::parser::parse_statement;

    #[test]
    fn what_statements_do_is_told_from_their_kind() {
        let of = |sql: &str| {
            let traits = parse_statement(sql).unwrap_or_else(|error| panic!("{sql}: {error}")).kind.traits();
            (traits.reads, traits.changes_data, traits.changes_names, traits.tag)
        };
        for sql in [
            "SELECT 1",
            "SHOW TABLES",
            "SHOW DATABASES",
            "SHOW ALL TABLES",
            "SHOW threads",
            "DESCRIBE SELECT 1",
            "SUMMARIZE SELECT 1",
        ] {
            assert_eq!(of(sql), (true, false, false, "SELECT"), "{sql}");
        }
        assert_eq!(of("PRAGMA table_info('t')"), (false, false, true, "PRAGMA"));
        assert_eq!(of("EXPLAIN SELECT 1"), (true, false, false, "EXPLAIN"));
        assert_eq!(of("EXPLAIN ANALYZE DELETE FROM t"), (false, false, false, "EXPLAIN"));
        assert_eq!(of("INSERT INTO t VALUES (1)"), (false, true, false, "INSERT"));
        assert_eq!(of("WITH a AS (SELECT 1) DELETE FROM t"), (false, true, false, "DELETE"));
        assert_eq!(of("CREATE TABLE t(i INTEGER)"), (false, true, true, "CREATE"));
        assert_eq!(of("SET threads = 1"), (false, false, true, "SET"));
        assert_eq!(of("CHECKPOINT"), (false, false, false, "CALL"));
        assert_eq!(of("EXECUTE p"), (false, true, false, "EXECUTE"));
    }
}
