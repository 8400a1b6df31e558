//! Carries out one statement: bind, optimise, run, and change what it changes.
//!
//! Reads see the catalog of the session: the database's, or the private fork of an open transaction. A statement that
//! changes something holds the database's writer's turn from before it is bound until it is done, unless it works on a
//! fork, which nobody else sees. Each statement changes all it should or nothing.

use crate::connection::{Host, Parameters, Session};
use crate::database::Database;
use crate::freeze;
use crate::load;
use crate::procedure;
use crate::result::{QueryResult, ResultKind};
use crate::settings;
use inlay_catalog::{Catalog, IndexEntry, TableEntry, TableSchema, TableSource, ViewEntry};
use inlay_exec::{Analysis, ExecContext};
use inlay_kernels::registry::ResolveOptions;
use inlay_sql::binder::{self, BindContext};
use inlay_sql::optimizer;
use inlay_sql::parser::ast;
use inlay_sql::plan::statement::{ExplainFormat, Query};
use inlay_sql::plan::{Statement, display};
use inlay_types::{Batch, Error, Interrupt, LogicalType, Result, Value};
use std::sync::Arc;
use std::time::Duration;

/// Rows of host objects that one statement may name; more is a loop.
const HOST_TABLES_MAX: usize = 64;

/// One statement being carried out.
pub(crate) struct Run<'a> {
    pub database: &'a Database,
    pub session: &'a mut Session,
    pub parameters: &'a Parameters,
    pub host: Option<&'a dyn Host>,
    pub interrupt: &'a Interrupt,
}

impl Run<'_> {
    /// Carries out a parsed statement.
    pub fn statement(mut self, statement: &ast::Statement) -> Result<QueryResult> {
        let changes = changes_database(&statement.kind) && self.session.transaction.is_none();
        let database = self.database;
        let _turn = if changes { Some(database.write_turn(self.interrupt)?) } else { None };
        let mut bound = self.bind(statement)?;
        freeze::statement(&mut bound);
        self.bound(bound)
    }

    /// Binds; table names that nothing has are looked for in the host.
    fn bind(&self, statement: &ast::Statement) -> Result<Statement> {
        let catalog = self.session.catalog(self.database);
        let mut outcome = self.bind_in(catalog, statement);
        let Some(host) = self.host else { return outcome };
        let mut found: Vec<(String, Arc<dyn TableSource>)> = Vec::new();
        while let Err(error) = &outcome {
            let Error::UndefinedTable { name, .. } = error.root() else { break };
            let name = name.clone();
            if found.len() == HOST_TABLES_MAX || found.iter().any(|(known, _)| *known == name) {
                break;
            }
            let Some(source) = host.find_table(&name)? else { break };
            found.push((name, source));
            outcome = self.bind_in(&catalog.overlaid(&found), statement);
        }
        outcome
    }

    pub(crate) fn bind_in(&self, catalog: &Catalog, statement: &ast::Statement) -> Result<Statement> {
        let session = self.session.settings;
        let setting = |name: &str| settings::get(name, self.database.settings(), &session);
        let context = BindContext {
            catalog,
            parameters: &self.parameters.positional,
            named_parameters: &self.parameters.named,
            options: ResolveOptions { integer_division: session.integer_division },
            default_nulls_first: session.default_nulls_first,
            setting: &setting,
        };
        binder::bind(statement, &context)
    }

    fn bound(&mut self, statement: Statement) -> Result<QueryResult> {
        match statement {
            Statement::Query(query) => self.query(query),
            Statement::Explain { statement, analyze, format } => self.explain(*statement, analyze, format),
            Statement::CreateTable { schema, or_replace, if_not_exists, query } => {
                self.create_table(schema, or_replace, if_not_exists, query)
            }
            Statement::CreateView { name, aliases, sql, or_replace, if_not_exists } => {
                self.catalog().create_view(ViewEntry { name, aliases, sql }, or_replace, if_not_exists)?;
                Ok(QueryResult::done())
            }
            Statement::DropTable { name, if_exists } => {
                self.catalog().drop_table(&name, if_exists)?;
                Ok(QueryResult::done())
            }
            Statement::DropView { name, if_exists } => {
                self.catalog().drop_view(&name, if_exists)?;
                Ok(QueryResult::done())
            }
            Statement::Insert { table, query } => self.insert(&table, query),
            Statement::Delete { table, query } => self.delete(&table, query),
            Statement::Update { table, set, query } => self.update(&table, &set, query),
            Statement::CopyTo { query, path, options } => self.copy_to(query, &path, &options),
            Statement::Call { name, args, named } => procedure::call(self, &name, &args, &named),
            Statement::Set { name, value } => {
                settings::set(&name, value.as_ref(), self.database.settings(), &mut self.session.settings)?;
                Ok(QueryResult::done())
            }
            Statement::Begin => self.begin(),
            Statement::Commit => self.commit(),
            Statement::Rollback => self.rollback(),
            Statement::CreateIndex { name, table, columns, unique, if_not_exists } => {
                let table = table.name.clone();
                self.create_index(IndexEntry { name, table, columns, unique }, if_not_exists)
            }
            Statement::DropIndex { name, if_exists } => self.drop_index(&name, if_exists),
        }
    }

    /// The catalog that the statement reads and changes.
    pub fn catalog(&self) -> &Arc<Catalog> {
        self.session.catalog(self.database)
    }

    /// What a running query needs.
    pub fn context(&self) -> ExecContext {
        ExecContext {
            pool: Arc::clone(self.database.pool()),
            threads: self.database.settings().threads(),
            interrupt: self.interrupt.clone(),
            budget: self.database.budget().clone(),
        }
    }

    fn batches(&self, query: Query) -> Result<(Query, Vec<Batch>)> {
        let query = optimizer::optimize(query)?;
        let batches = inlay_exec::execute(&query, &self.context())?;
        Ok((query, batches))
    }

    fn query(&self, query: Query) -> Result<QueryResult> {
        let (query, batches) = self.batches(query)?;
        let types = output_types(&query);
        let names = query.output.into_iter().map(|(_, name)| name).collect();
        let workers = (Arc::clone(self.database.pool()), self.database.settings().threads());
        Ok(QueryResult::rows(names, types, batches, Some(workers)))
    }

    fn create_table(
        &self,
        schema: TableSchema,
        or_replace: bool,
        if_not_exists: bool,
        query: Option<Query>,
    ) -> Result<QueryResult> {
        let catalog = self.catalog();
        let Some(query) = query else {
            catalog.create_table(schema, or_replace, if_not_exists)?;
            return Ok(QueryResult::done());
        };
        let taken = catalog.get(&schema.name).is_some();
        if taken && if_not_exists {
            return Ok(QueryResult::done());
        }
        if taken && !or_replace {
            return Err(Error::Duplicate { kind: "table", name: schema.name });
        }
        let table = Arc::new(inlay_catalog::Table::new(schema, catalog.budget().clone()));
        let count = load::append(&table, optimizer::optimize(query)?, &self.context())?;
        catalog.insert_table(table, or_replace, if_not_exists)?;
        Ok(QueryResult::changed(count))
    }

    fn insert(&self, table: &TableEntry, query: Query) -> Result<QueryResult> {
        let count = load::append(&table.table, optimizer::optimize(query)?, &self.context())?;
        Ok(QueryResult::changed(count))
    }

    fn delete(&self, table: &TableEntry, query: Query) -> Result<QueryResult> {
        let (_, batches) = self.batches(query)?;
        Ok(QueryResult::changed(table.table.delete(&row_ids(&batches))?))
    }

    fn update(&self, table: &TableEntry, set: &[usize], query: Query) -> Result<QueryResult> {
        let (_, batches) = self.batches(query)?;
        let ids = row_ids(&batches);
        let values = |batch: Batch| {
            let len = batch.len();
            Batch::new(batch.into_columns().split_off(1), len)
        };
        let values: Vec<Batch> = batches.into_iter().map(values).collect();
        Ok(QueryResult::changed(table.table.update(&ids, set, &values)?))
    }

    fn copy_to(&self, query: Query, path: &str, options: &[(String, Value)]) -> Result<QueryResult> {
        let names: Vec<String> = query.output.iter().map(|(_, name)| name.clone()).collect();
        let (query, batches) = self.batches(query)?;
        let mut writer = inlay_formats::open_writer(path, &names, &output_types(&query), options)?;
        for batch in &batches {
            self.interrupt.check()?;
            writer.write(batch)?;
        }
        Ok(QueryResult::changed(writer.finish()?))
    }

    fn explain(&mut self, statement: Statement, analyze: bool, format: ExplainFormat) -> Result<QueryResult> {
        let Some(query) = explained_query(&statement) else {
            let text = format!("{statement:?}");
            let head = text.split([' ', '(', '{']).next().unwrap_or_default().to_string();
            return QueryResult::lines("plan", std::iter::once(head));
        };
        let query = optimizer::optimize(query.clone())?;
        let analysis = if analyze { Some(inlay_exec::analyze(&query, &self.context())?) } else { None };
        let annotate = |node: usize| measures(analysis.as_ref(), node);
        match format {
            ExplainFormat::Text => {
                let text = display::text(&query, &annotate);
                let total =
                    analysis.as_ref().map(|a| format!("total {}, {} rows", duration_text(a.total), a.rows));
                QueryResult::lines("plan", text.lines().map(str::to_string).chain(total))
            }
            ExplainFormat::Json => {
                QueryResult::lines("plan", std::iter::once(display::json(&query, &annotate)))
            }
        }
    }

    fn begin(&mut self) -> Result<QueryResult> {
        if self.session.transaction.is_some() {
            return Err(transaction_state("a transaction is open already; COMMIT or ROLLBACK it first"));
        }
        // With the writer's turn nobody is halfway through a change of several tables.
        let _turn = self.database.write_turn(self.interrupt)?;
        self.session.transaction = Some(self.database.catalog().fork());
        Ok(QueryResult::done())
    }

    fn commit(&mut self) -> Result<QueryResult> {
        let Some(transaction) = self.session.transaction.take() else {
            return Err(transaction_state("no transaction is open; BEGIN opens one"));
        };
        let _turn = self.database.write_turn(self.interrupt)?;
        transaction.publish(self.database.catalog())?;
        Ok(QueryResult::done())
    }

    fn rollback(&mut self) -> Result<QueryResult> {
        match self.session.transaction.take() {
            Some(_) => Ok(QueryResult::done()),
            None => Err(transaction_state("no transaction is open; BEGIN opens one")),
        }
    }
}

/// What EXPLAIN ANALYZE shows of one node.
fn measures(analysis: Option<&Analysis>, node: usize) -> Vec<(&'static str, String)> {
    let Some(measure) = analysis.and_then(|analysis| analysis.nodes.get(&node)) else { return Vec::new() };
    vec![("rows", measure.rows.to_string()), ("time", duration_text(measure.time))]
}

fn duration_text(duration: Duration) -> String {
    format!("{:.3} ms", duration.as_secs_f64() * 1e3)
}

fn transaction_state(message: &str) -> Error {
    Error::TransactionState { message: message.to_string() }
}

fn output_types(query: &Query) -> Vec<LogicalType> {
    query.output.iter().map(|(id, _)| query.columns.ty(*id)).collect()
}

fn row_ids(batches: &[Batch]) -> Vec<i64> {
    batches.iter().flat_map(|batch| batch.column(0).flatten().values::<i64>().to_vec()).collect()
}

/// The query inside a statement that EXPLAIN shows.
fn explained_query(statement: &Statement) -> Option<&Query> {
    match statement {
        Statement::Query(query)
        | Statement::Insert { query, .. }
        | Statement::Delete { query, .. }
        | Statement::Update { query, .. }
        | Statement::CopyTo { query, .. } => Some(query),
        Statement::CreateTable { query, .. } => query.as_ref(),
        _ => None,
    }
}

/// Whether carrying out the statement changes rows or names. COMMIT takes its turn itself.
fn changes_database(kind: &ast::StatementKind) -> bool {
    use ast::StatementKind as Kind;
    match kind {
        Kind::CreateTable(_)
        | Kind::CreateView(_)
        | Kind::CreateIndex { .. }
        | Kind::Drop { .. }
        | Kind::Insert(_)
        | Kind::Update(_)
        | Kind::Delete(_)
        | Kind::Call(_) => true,
        Kind::Copy(copy) => matches!(**copy, ast::Copy::From { .. }),
        Kind::Query(_)
        | Kind::Set { .. }
        | Kind::Pragma { .. }
        | Kind::Explain { .. }
        | Kind::Begin
        | Kind::Commit
        | Kind::Rollback
        | Kind::ShowTables
        | Kind::Show { .. }
        | Kind::Describe(_)
        | Kind::Checkpoint => false,
    }
}

impl QueryResult {
    /// The answer of two statements that changed rows, one after the other; of other statements, the later.
    pub(crate) fn plus(self, next: QueryResult) -> QueryResult {
        match (self.kind(), next.kind()) {
            (ResultKind::Changed(first), ResultKind::Changed(second)) => QueryResult::changed(first + second),
            _ => next,
        }
    }
}
