//! What a text says, without a database: its statements one by one, for hosts that look at them before they run them.

use inlay_sql::parser::ast::object::ObjectStatement;
use inlay_sql::parser::ast::{Statement, StatementKind};
use inlay_sql::parser::{Part, parse_statements, parse_type, table_names};
use inlay_types::{LogicalType, Result};

/// One statement of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatementText {
    /// Its own text, without the semicolon.
    pub sql: String,
    /// What it does.
    pub kind: &'static str,
    /// Its parameters: numbers of those by position, then names without the dollar.
    pub parameters: Vec<String>,
    /// The parts of the names of tables, views and files that it reads or changes, in the order of the text.
    pub tables: Vec<Vec<String>>,
}

/// The statements of a text, of which nothing is looked up.
pub fn statements_of(sql: &str) -> Result<Vec<StatementText>> {
    inlay_sql::with_statement_stack(|| Ok(parse_statements(sql)?.iter().map(text_of).collect()))
}

/// The type that a text names, if it names none of a database.
pub fn type_of(text: &str) -> Result<LogicalType> {
    parse_type(text)
}

/// Fails unless a text is one part of a statement and nothing else: what then may be put into one, with a line break behind.
pub fn check_part(part: Part, text: &str) -> Result<()> {
    inlay_sql::with_statement_stack(|| inlay_sql::parser::check_part(part, text))
}

/// The parameters of a text, as they are written, with the range of its characters where each stands.
pub fn placeholders_of(sql: &str) -> Result<Vec<(std::ops::Range<usize>, String)>> {
    inlay_sql::with_statement_stack(|| inlay_sql::parser::placeholders(sql))
}

/// The parts of a name such as `main."a.b"`.
pub fn parts_of_name(text: &str) -> Result<Vec<String>> {
    inlay_sql::with_statement_stack(|| inlay_sql::parser::parse_name(text))
}

fn text_of(statement: &Statement) -> StatementText {
    let positions = (1..=statement.parameter_count).map(|number| number.to_string());
    let parts = |name: &inlay_sql::parser::ast::ObjectName| {
        name.parts.iter().map(|part| part.value.clone()).collect::<Vec<_>>()
    };
    StatementText {
        sql: statement.text().trim().to_string(),
        kind: kind_of(&statement.kind),
        parameters: positions.chain(statement.parameter_names.iter().cloned()).collect(),
        tables: table_names(statement).into_iter().map(parts).collect(),
    }
}

/// The kind as DuckDB's package calls it.
fn kind_of(kind: &StatementKind) -> &'static str {
    use StatementKind as Kind;
    match kind {
        Kind::Query(_)
        | Kind::ShowTables { .. }
        | Kind::ShowDatabases
        | Kind::Show { .. }
        | Kind::Describe(_)
        | Kind::Summarize(_)
        | Kind::ShowAllTables => "SELECT",
        Kind::CreateTable(_)
        | Kind::CreateView(_)
        | Kind::CreateIndex(_)
        | Kind::CreateSequence(_)
        | Kind::CreateSecret { .. } => "CREATE",
        Kind::Drop { .. } | Kind::DropSecret { .. } => "DROP",
        Kind::AlterTable { .. } | Kind::RenameView { .. } | Kind::AlterSequence(_) => "ALTER",
        Kind::With { statement, .. } => kind_of(&statement.kind),
        Kind::ChangingWith(changing) => kind_of(&changing.statement.kind),
        Kind::Insert(_) => "INSERT",
        Kind::Update(_) => "UPDATE",
        Kind::Delete(_) | Kind::Truncate { .. } => "DELETE",
        Kind::Merge(_) => "MERGE_INTO",
        Kind::Copy(_) => "COPY",
        Kind::Call(_) | Kind::Checkpoint { .. } => "CALL",
        Kind::Set { .. } | Kind::Use(_) | Kind::SetConstraints { .. } => "SET",
        Kind::Pragma { .. } | Kind::ImportDatabase { .. } => "PRAGMA",
        Kind::Explain { .. } => "EXPLAIN",
        Kind::Begin(_)
        | Kind::Commit
        | Kind::Rollback
        | Kind::SetTransaction { .. }
        | Kind::Savepoint(_)
        | Kind::RollbackTo(_)
        | Kind::Release(_) => "TRANSACTION",
        Kind::Analyze { .. } | Kind::Vacuum { .. } => "VACUUM",
        Kind::Load => "LOAD",
        Kind::Attach { .. } => "ATTACH",
        Kind::Detach { .. } => "DETACH",
        Kind::ExportDatabase { .. } => "EXPORT",
        Kind::CopyDatabase { .. } => "COPY_DATABASE",
        Kind::Object(object) => match **object {
            ObjectStatement::CreateSchema { .. }
            | ObjectStatement::CreateMacro { .. }
            | ObjectStatement::CreateFunction(_)
            | ObjectStatement::CreateType { .. }
            | ObjectStatement::CreateMaterializedView { .. } => "CREATE",
            ObjectStatement::Refresh { .. } => "CALL",
            ObjectStatement::Drop { .. } | ObjectStatement::Deallocate { .. } => "DROP",
            ObjectStatement::Comment { .. }
            | ObjectStatement::Rename { .. }
            | ObjectStatement::SetSchema { .. }
            | ObjectStatement::AlterType { .. } => "ALTER",
            ObjectStatement::Prepare { .. } => "PREPARE",
            ObjectStatement::Execute { .. } => "EXECUTE",
            ObjectStatement::SetVariable { .. } => "SET",
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_told_apart() {
        let found = statements_of("SELECT 1; INSERT INTO a.t VALUES (?, $name) ;; BEGIN").unwrap();
        let seen: Vec<(&str, &str)> = found.iter().map(|s| (s.kind, s.sql.as_str())).collect();
        let insert = "INSERT INTO a.t VALUES (?, $name)";
        assert_eq!(seen, [("SELECT", "SELECT 1"), ("INSERT", insert), ("TRANSACTION", "BEGIN")]);
        assert_eq!(found[1].parameters, ["1", "name"]);
        assert_eq!(found[1].tables, [["a", "t"]]);
        assert!(statements_of("SELEC 1").is_err() && statements_of("").unwrap().is_empty());
    }
}
