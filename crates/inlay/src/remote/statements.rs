//! Statements that change a database at a server: sent as text where all of it is there, else its rows are computed here and appended.

use crate::execute::{Run, output_names, output_types};
use crate::result::QueryResult;
use crate::settings;
use crate::text::same_name;
use crate::transactions::{RemoteSession, Take};
use inlay_catalog::{DefinitionKind, qualified};
use inlay_protocol::types::WireColumn;
use inlay_sql::binder::Databases;
use inlay_sql::parser::{ast, called_names, table_names, without_qualifier};
use inlay_sql::plan::statement::Query;
use inlay_sql::plan::{Expr, Place, Plan, Statement, display};
use inlay_types::sql_text as sql;
use inlay_types::{Error, LogicalType, Result};
use std::sync::Arc;

/// Functions that mean the same at a server, though rows may be made of them.
const PLAIN_FUNCTIONS: [&str; 5] = ["range", "generate_series", "repeat", "repeat_row", "unnest"];
/// What gives values of the session here.
const VARIABLE: &str = "getvariable";
/// Settings that say what a text means.
const MEANING: [&str; 5] =
    ["timezone", "integer_division", "default_collation", "default_null_order", "default_order"];
/// Bytes of rows that are computed before they are sent.
const PART_BYTES: usize = 4 << 20;

/// What becomes of a statement about a server.
enum Sending<'s> {
    /// All of it is there.
    Text(&'s ast::Statement),
    /// Rows of this side for a table there.
    Rows { table: &'s ast::ObjectName, query: Box<ast::Query>, into: Into<'s> },
}

/// What the rows are put into.
enum Into<'s> {
    /// A table that is there, by these columns of it; by name, by those that the rows have.
    Table { columns: &'s [ast::Ident], by_name: bool },
    /// One that is made of them.
    New { columns: &'s [ast::ColumnDef], on_existing: ast::OnExisting },
}

impl Run<'_> {
    /// Carries out a statement that changes a database at a server; `None` for any other.
    pub(crate) fn sent(&mut self, statement: &ast::Statement) -> Result<Option<QueryResult>> {
        if !self.database.has_remote() {
            return Ok(None);
        }
        if let ast::StatementKind::Explain { statement: inner, analyze, .. } = &statement.kind {
            return self.explained_there(inner, *analyze);
        }
        let Some((session, sending)) = self.sending(statement)? else { return Ok(None) };
        self.transactions.will_change_remote(&session)?;
        let answer = match sending {
            Sending::Text(whole) => self.text_sent(&session, whole)?,
            Sending::Rows { table, query, into } => {
                let query = self.rows_for(statement, *query)?;
                self.rows_sent(&session, &self.key_of(&session, table), query, &into)?
            }
        };
        Ok(Some(answer))
    }

    /// Which server a statement changes, and how.
    fn sending<'s>(
        &self,
        statement: &'s ast::Statement,
    ) -> Result<Option<(Arc<RemoteSession>, Sending<'s>)>> {
        let mut changed = Vec::new();
        targets(&statement.kind, &mut changed);
        let Some(home) = changed.iter().find_map(|name| self.server_of(name)) else { return Ok(None) };
        let session = self.remote_session(&home)?;
        let is_there = |name: &&ast::ObjectName| {
            !name.is_string && self.server_of(name).is_some_and(|known| same_name(&known, &home))
        };
        if changed.iter().chain(&table_names(statement)).all(is_there) && !self.calls_here(statement)? {
            return Ok(Some((session, Sending::Text(statement))));
        }
        match rows_of(&statement.kind) {
            Some(sending) => Ok(Some((session, sending))),
            None => {
                let feature = format!(
                    "a statement that changes database \"{home}\" at a server and names tables or functions that are not there"
                );
                let alternative =
                    format!("copy the rows there first: CREATE TABLE {home}.copy AS SELECT ...");
                Err(Error::Unsupported { feature, alternative: Some(alternative) })
            }
        }
    }

    /// Whether a statement calls what gives rows or values of this side: files, the system, variables.
    fn calls_here(&self, statement: &ast::Statement) -> Result<bool> {
        let names = self.names(&[]);
        // A server may have others of the same name.
        let is_defined_here = |name: &str| {
            let kinds = [DefinitionKind::Macro, DefinitionKind::TableMacro, DefinitionKind::Function];
            !names.host_functions(name).is_empty()
                || kinds.iter().any(|kind| names.definition(*kind, None, name).is_some())
        };
        let is_here = |name: &String| {
            name == VARIABLE
                || is_defined_here(name)
                || !PLAIN_FUNCTIONS.contains(&name.as_str()) && names.table_function(name).is_some()
        };
        Ok(called_names(statement.text())?.iter().any(is_here))
    }

    /// The database at a server that a name is of.
    fn server_of(&self, name: &ast::ObjectName) -> Option<String> {
        let database = match name.parts.as_slice() {
            [database, _, ..] if self.database.remote(&database.value).is_some() => database.value.clone(),
            [_] | [_, _] => self.transactions.current(self.database),
            _ => return None,
        };
        self.database.remote(&database).map(|remote| remote.name.clone())
    }

    /// The session at the server of a database, if who asks may use it.
    fn remote_session(&self, name: &str) -> Result<Arc<RemoteSession>> {
        let session = self.transactions.remote(self.database, name);
        let session = session.ok_or_else(|| Error::bind(format!("database \"{name}\" does not exist")))?;
        self.transactions.may_use_remote(&session, self.asker()?.as_deref())?;
        Ok(session)
    }

    /// The name of a table there, as it is looked up.
    fn key_of(&self, session: &RemoteSession, name: &ast::ObjectName) -> String {
        let own = match name.parts.as_slice() {
            [database, rest @ ..]
                if !rest.is_empty() && same_name(&database.value, &session.database.name) =>
            {
                rest
            }
            all => all,
        };
        match own {
            [schema, table] => qualified(&schema.value, &table.value),
            other => other.last().map_or_else(String::new, |table| table.value.clone()),
        }
    }

    fn text_sent(&self, session: &RemoteSession, statement: &ast::Statement) -> Result<QueryResult> {
        let text = text_for(session, statement)?;
        // One alone is its own transaction there, which is tried again when others get in the way.
        let begins = self.session.transaction.is_some();
        session.tell(self.meaning(), begins, self.given.interrupt)?;
        let means = (self.database.budget(), self.given.interrupt, self.workers());
        session.run(&text, &statement.sql, self.given.parameters, begins, means)
    }

    /// The settings of this session by which the same text means the same at a server.
    fn meaning(&self) -> Vec<String> {
        let told = |name: &&str| {
            let value = settings::get(name, self.database.settings(), &self.session.settings)?;
            Some(format!("SET {name} = {}", sql::literal(&value.to_string())))
        };
        MEANING.iter().filter_map(told).collect()
    }

    /// The query that makes the rows of a statement.
    fn rows_for(&self, statement: &ast::Statement, query: ast::Query) -> Result<Query> {
        let kind = ast::StatementKind::Query(Box::new(query));
        let Statement::Query(query) = self.bind(&ast::Statement { kind, ..statement.clone() })? else {
            return Err(Error::internal("rows for a server that are no query"));
        };
        Ok(query)
    }

    fn rows_sent(
        &mut self,
        session: &RemoteSession,
        key: &str,
        query: Query,
        into: &Into<'_>,
    ) -> Result<QueryResult> {
        let interrupt = self.given.interrupt;
        let (names, query, create) = match into {
            Into::Table { columns, by_name } => {
                let found = session.table(key, interrupt)?.ok_or_else(|| Error::UndefinedTable {
                    name: format!("{}.{key}", session.database.name),
                    candidates: inlay_types::Candidates::of(key, std::iter::empty()),
                })?;
                let own = inlay_catalog::TableSource::columns(&*found);
                let wanted: Vec<String> = match (by_name, columns.is_empty()) {
                    (true, _) => output_names(&query),
                    (false, true) => own.iter().map(|column| column.name.clone()).collect(),
                    (false, false) => columns.iter().map(|column| column.value.clone()).collect(),
                };
                let mut types = Vec::with_capacity(wanted.len());
                for name in &wanted {
                    let column = own.iter().find(|column| same_name(&column.name, name));
                    types.push(column.ok_or_else(|| nothing_called(name, key))?.ty.clone());
                }
                let given = query.output.len();
                if given != wanted.len() {
                    let message =
                        format!("table {key} takes {} columns, and the rows have {given}", wanted.len());
                    return Err(Error::bind(message).with_hint("name the columns that the rows go to"));
                }
                (wanted, cast_to(query, &types), None)
            }
            Into::New { columns, on_existing } => {
                if *on_existing == ast::OnExisting::Keep && session.table(key, interrupt)?.is_some() {
                    return Ok(QueryResult::done());
                }
                let mut names = output_names(&query);
                if columns.len() > names.len() {
                    let message =
                        format!("{} columns are named, and the rows have {}", columns.len(), names.len());
                    return Err(Error::bind(message));
                }
                names.iter_mut().zip(*columns).for_each(|(name, column)| name.clone_from(&column.name.value));
                let word =
                    if *on_existing == ast::OnExisting::Replace { "CREATE OR REPLACE" } else { "CREATE" };
                let items = names.iter().zip(output_types(&query));
                let items: Vec<String> =
                    items.map(|(name, ty)| format!("{} {}", sql::ident(name), made_as(ty))).collect();
                let (schema, table) = inlay_catalog::split_name(key);
                let create = format!("{word} TABLE {} ({})", sql::path([schema, table]), items.join(", "));
                (names, query, Some(create))
            }
        };
        let columns =
            names.iter().zip(output_types(&query)).map(|(name, ty)| WireColumn::new(name.clone(), ty));
        let columns: Vec<WireColumn> = columns.collect();
        let query = self.optimized(query)?;
        let context = self.context();
        let mut stream = inlay_exec::stream(&query, &context)?;
        let mut all = |push: &mut Take<'_>| -> Result<()> {
            loop {
                let (batches, _) = stream.next_part(PART_BYTES)?;
                if batches.is_empty() {
                    return Ok(());
                }
                batches.into_iter().try_for_each(&mut *push)?;
            }
        };
        let rows = session.append(key, &names, columns, create.as_deref(), &mut all, interrupt)?;
        Ok(QueryResult::changed(rows))
    }

    fn explained_there(&mut self, statement: &ast::Statement, analyze: bool) -> Result<Option<QueryResult>> {
        let Some((session, sending)) = self.sending(statement)? else { return Ok(None) };
        if analyze {
            return Err(Error::unsupported(
                "EXPLAIN ANALYZE of a statement that changes a database at a server",
            ));
        }
        let name = &session.database.name;
        let lines = match sending {
            Sending::Text(whole) => vec![format!("Send to {name}: {}", text_for(&session, whole)?.trim())],
            Sending::Rows { table, query, .. } => {
                let query = self.optimized(self.rows_for(statement, *query)?)?;
                let plan = display::text(&query, &|_| Vec::new());
                let head = format!("Append to {} of {name}", self.key_of(&session, table));
                std::iter::once(head).chain(plan.lines().map(|line| format!("  {line}"))).collect()
            }
        };
        QueryResult::lines("plan", lines.into_iter()).map(Some)
    }
}

/// The text of a statement as it is sent: places in it are those of what its user wrote.
fn text_for(session: &RemoteSession, statement: &ast::Statement) -> Result<String> {
    let before = statement.sql.get(..statement.range.0).unwrap_or_default();
    let blank = |c: char| if c == '\n' { c } else { ' ' };
    let text = without_qualifier(statement.text(), &session.database.name)?;
    Ok(before.chars().map(blank).chain(text.chars()).collect())
}

fn nothing_called(column: &str, table: &str) -> Error {
    Error::bind(format!("table {table} has no column \"{column}\""))
}

/// A type that a column may have, of values that have none.
fn made_as(ty: LogicalType) -> LogicalType {
    if ty == LogicalType::Null { LogicalType::Integer } else { ty }
}

/// A query whose columns have other types.
fn cast_to(query: Query, types: &[LogicalType]) -> Query {
    let Query { plan, mut columns, output, estimates } = query;
    let (mut items, mut cast) = (Vec::new(), Vec::new());
    for ((id, name), ty) in output.into_iter().zip(types) {
        let input = columns.expr(id);
        let made = columns.add(name.clone(), ty.clone());
        let item = match input.ty() == *ty {
            true => input,
            false => {
                Expr::Cast { input: Box::new(input), ty: ty.clone(), or_null: false, place: Place::default() }
            }
        };
        items.push((made, item));
        cast.push((made, name));
    }
    let plan = Plan::Project { input: Box::new(plan), items };
    Query { plan, columns, output: cast, estimates }
}

/// The names of what a statement makes, changes or drops.
fn targets<'s>(kind: &'s ast::StatementKind, out: &mut Vec<&'s ast::ObjectName>) {
    use ast::StatementKind as K;
    match kind {
        K::With { statement, .. } => targets(&statement.kind, out),
        K::ChangingWith(changing) => {
            changing.ctes.iter().for_each(|part| targets(&part.statement.kind, out));
            targets(&changing.statement.kind, out);
        }
        K::Insert(insert) => out.push(&insert.table),
        K::Update(update) => out.push(&update.table),
        K::Delete(delete) => out.push(&delete.table),
        K::Merge(merge) => out.push(&merge.table),
        K::Truncate { tables, .. } => out.extend(tables),
        K::CreateTable(create) if !create.temporary => out.push(&create.name),
        K::CreateView(create) if !create.temporary => out.push(&create.name),
        K::CreateIndex(create) => out.push(&create.table),
        K::CreateSequence(create) if !create.temporary => out.push(&create.name),
        K::Drop { names, .. } => out.extend(names),
        K::AlterTable { table, .. } => out.push(table),
        K::RenameView { name, .. } => out.push(name),
        K::Object(object) => match &**object {
            ast::ObjectStatement::Drop { names, .. } => out.extend(names),
            ast::ObjectStatement::Comment { name, .. } | ast::ObjectStatement::Rename { name, .. } => {
                out.push(name)
            }
            _ => {}
        },
        _ => {}
    }
}

/// A statement that puts rows into a table and does nothing else with them.
fn rows_of(kind: &ast::StatementKind) -> Option<Sending<'_>> {
    use ast::StatementKind as K;
    match kind {
        K::With { with, statement } => match rows_of(&statement.kind)? {
            Sending::Rows { table, mut query, into } => {
                query.ctes.splice(0..0, with.ctes.iter().cloned());
                query.recursive |= with.recursive;
                Some(Sending::Rows { table, query, into })
            }
            Sending::Text(_) => None,
        },
        K::Insert(insert) => {
            let is_plain =
                insert.on_conflict.is_none() && insert.returning.is_none() && insert.overriding.is_none();
            let query = insert.source.as_ref().filter(|_| is_plain)?;
            let into = Into::Table { columns: &insert.columns, by_name: insert.by_name };
            Some(Sending::Rows { table: &insert.table, query: query.clone(), into })
        }
        K::CreateTable(create) => {
            let query = create.query.as_ref()?;
            let into = Into::New { columns: &create.columns, on_existing: create.on_existing };
            Some(Sending::Rows { table: &create.name, query: query.clone(), into })
        }
        _ => None,
    }
}
