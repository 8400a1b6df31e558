//! Carries out one statement: bind, optimise, run, and change what it changes.
//!
//! Every statement runs in transactions: those that BEGIN opened, or its own, which are committed when it is done and
//! tried again when another connection got in the way. Each statement changes all it should or nothing.
//!
//! - `change`: INSERT, UPDATE, DELETE, MERGE. `define`: CREATE, ALTER, DROP. `maintain`: files.

pub(crate) mod cluster;
mod copy_to;
mod explain;
mod profile;

use crate::command::{Command, CommandClass};
use crate::database::Database;
use crate::host::{Host, HostScope, HostTable, Parameters};
use crate::reads;
use crate::rest::{Rest, Streaming, may_wait};
use crate::result::{OneRow, QueryResult, ResultKind};
use crate::session::{Deferrals, NOBODY, OpenTransaction, Session, Text};
use crate::settings;
use crate::system::names::Names;
use crate::table_rows::TableRows;
use crate::text::same_name;
use crate::transactions::{ModesExt, Transactions};
use crate::triggers::Triggering;
use inlay_catalog::access::Door;
use inlay_catalog::{DefinitionKind, MAIN};
use inlay_exec::{Analysis, ExecContext, Workers};
use inlay_formats::remote::secrets::Secret;
use inlay_kernels::resolve::{Ids, ResolveOptions};
use inlay_sql::binder::{self, BindContext, Slots};
use inlay_sql::optimizer::{self, HandOver, OptimizerContext};
use inlay_sql::parser::ast;
use inlay_sql::plan::statement::{Query, TransactionModes};
use inlay_sql::plan::{Plan, Statement};
use inlay_storage::store::Transaction;
use inlay_types::limits::{self, Limits};
use inlay_types::{Batch, Error, Interrupt, LogicalType, Result, Value};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Rows of host objects that one statement may name; more is a loop.
const HOST_TABLES_MAX: usize = 64;
/// How long a statement of its own is tried again when others get in the way.
const RETRY_MAX: Duration = Duration::from_secs(5);
/// Pauses between tries; they double.
const RETRY_PAUSE_MIN: Duration = Duration::from_micros(50);
const RETRY_PAUSE_MAX: Duration = Duration::from_millis(5);

/// One statement being carried out.
pub(crate) struct Run<'a> {
    pub database: &'a Database,
    pub session: &'a mut Session,
    pub given: Given<'a>,
    pub transactions: Arc<Transactions>,
    /// Whether what is read is noted, to be checked at commit.
    pub notes_reads: bool,
    /// Where EXPLAIN ANALYZE has noted what its statement does.
    pub measured: Option<Arc<Mutex<Analysis>>>,
}

/// What a statement is given besides its text.
#[derive(Clone, Copy)]
pub(crate) struct Given<'a> {
    pub parameters: &'a Parameters,
    pub host: Option<&'a dyn Host>,
    pub interrupt: &'a Interrupt,
    /// What becomes of large results; without it, all rows come at once.
    pub streaming: Option<Streaming<'a>>,
    /// The text that the statement is, with its plans.
    pub text: Option<&'a Text>,
}

/// Carries out a parsed statement.
pub(crate) fn statement(
    database: &Database,
    session: &mut Session,
    statement: &ast::Statement,
    given: Given<'_>,
) -> Result<QueryResult> {
    if let Some(nested) = &session.nested {
        nested.check(statement)?;
    }
    session.query = database.next_id();
    session.triggers = Triggering::default();
    session.note_rights(database)?;
    let limits = Limits::new(database.budget().clone(), given.interrupt.clone());
    limits::with(limits, || retried(database, session, statement, given))
}

/// Which of its objects a host may give for names that nothing else has.
pub(crate) fn host_scope(database: &Database, session: &Session) -> HostScope {
    let is_on = |name: &str| {
        let value = settings::get(name, database.settings(), &session.settings);
        value.is_some_and(|value| value.to_string().eq_ignore_ascii_case("true"))
    };
    let sees_variables =
        session.who.is_none() && database.settings().access().ask(Door::HostVariables).is_ok();
    match (sees_variables && is_on("python_enable_replacements"), is_on("python_scan_all_frames")) {
        (false, _) => HostScope::Given,
        (true, false) => HostScope::Caller,
        (true, true) => HostScope::Everywhere,
    }
}

/// Names and types of what a query gives that changes nothing; `None` for other statements.
pub(crate) fn described(
    database: &Database,
    session: &mut Session,
    statement: &ast::Statement,
    given: Given<'_>,
) -> Result<Option<Vec<(String, LogicalType)>>> {
    if !matches!(statement.kind, ast::StatementKind::Query(_)) {
        return Ok(None);
    }
    session.query = database.next_id();
    let limits = Limits::new(database.budget().clone(), given.interrupt.clone());
    limits::with(limits, || {
        let transactions = match &session.transaction {
            Some(open) => Arc::clone(&open.transactions),
            None => Arc::new(Transactions::new(session.settings.modes.options()?, &session.names)),
        };
        let mut run = Run { database, session, given, transactions, notes_reads: false, measured: None };
        run.calling(|run| {
            let Statement::Query(query) = run.bind(statement)? else { return Ok(None) };
            let types = output_types(&query);
            Ok(Some(query.output.into_iter().map(|(_, name)| name).zip(types).collect()))
        })
    })
}

/// What a statement wants of its parameters, and what it gives: types where they are known, names and types of its columns if it
/// gives rows. Nothing is run.
pub(crate) fn shape(
    database: &Database,
    session: &mut Session,
    statement: &ast::Statement,
    given: Given<'_>,
) -> Result<(Vec<Option<LogicalType>>, Option<Columns>)> {
    let count = given.parameters.positional.len() + given.parameters.named.len();
    let is_bound = matches!(Command::of(&statement.kind).class(), CommandClass::Query | CommandClass::Change);
    if !is_bound || matches!(statement.kind, ast::StatementKind::Object(_) | ast::StatementKind::Copy(_)) {
        return Ok((vec![None; count], None));
    }
    session.query = database.next_id();
    let limits = Limits::new(database.budget().clone(), given.interrupt.clone());
    limits::with(limits, || {
        let transactions = match &session.transaction {
            Some(open) => Arc::clone(&open.transactions),
            None => Arc::new(Transactions::new(session.settings.modes.options()?, &session.names)),
        };
        let mut run = Run { database, session, given, transactions, notes_reads: false, measured: None };
        run.calling(|run| {
            let probed = |parameters: Vec<bool>| {
                let slots = Slots::probing(parameters);
                run.bind_as(statement, Some(&slots)).ok().map(|_| slots.into_wanted())
            };
            let one = |index: usize| {
                let types = probed((0..count).map(|other| other == index).collect());
                types.and_then(|mut types| types.swap_remove(index))
            };
            let types = match count {
                0 => Vec::new(),
                // Where one stands in a place that takes constants only, the others may still be looked at.
                _ => probed(vec![true; count]).unwrap_or_else(|| (0..count).map(one).collect()),
            };
            Ok((types, columns_of(run.bind(statement)?)))
        })
    })
}

type Columns = Vec<(String, LogicalType)>;

/// Names and types of what a statement gives, if it gives rows.
fn columns_of(statement: Statement) -> Option<Columns> {
    if let Some(returning) = statement.returning() {
        return Some(returning.items.iter().map(|(name, expr)| (name.clone(), expr.ty())).collect());
    }
    match statement {
        Statement::Query(query) => {
            let types = output_types(&query);
            Some(query.output.into_iter().map(|(_, name)| name).zip(types).collect())
        }
        Statement::Changing { statement, .. } => columns_of(*statement),
        Statement::Explain { .. } => Some(vec![("plan".to_string(), LogicalType::Varchar)]),
        _ => None,
    }
}

/// Carries out a statement, again if it is one of its own and another connection got in the way.
fn retried(
    database: &Database,
    session: &mut Session,
    statement: &ast::Statement,
    given: Given<'_>,
) -> Result<QueryResult> {
    if let Some(open) = &session.transaction {
        let transactions = Arc::clone(&open.transactions);
        return in_transaction(database, session, statement, given, transactions);
    }
    let notes_reads = Command::carried_out(&statement.kind).changes_database();
    let (start, mut pause) = (Instant::now(), RETRY_PAUSE_MIN);
    loop {
        let transactions = Arc::new(Transactions::new(session.settings.modes.options()?, &session.names));
        let transactions_of = Arc::clone(&transactions);
        let run =
            Run { database, session, given, transactions: transactions_of, notes_reads, measured: None };
        let outcome =
            run.statement(statement).and_then(|answer| transactions.commit(database).map(|()| answer));
        match outcome {
            Err(Error::Conflict { .. }) if start.elapsed() < RETRY_MAX => {
                drop(transactions);
                given.interrupt.check()?;
                std::thread::sleep(pause);
                pause = (pause * 2).min(RETRY_PAUSE_MAX);
            }
            outcome => return outcome,
        }
    }
}

fn in_transaction(
    database: &Database,
    session: &mut Session,
    statement: &ast::Statement,
    given: Given<'_>,
    transactions: Arc<Transactions>,
) -> Result<QueryResult> {
    let ends = matches!(statement.kind, ast::StatementKind::Commit | ast::StatementKind::Rollback);
    if let Some(reason) = session.transaction.as_ref().and_then(|open| open.doomed.as_ref()).filter(|_| !ends)
    {
        return Err(transaction_state(&format!("the transaction can only be rolled back, because {reason}")));
    }
    let is_change = Command::carried_out(&statement.kind).changes_database();
    let shared = Arc::clone(&transactions);
    let run = Run { database, session, given, transactions: shared, notes_reads: true, measured: None };
    let outcome = if is_change {
        match run.inserted_alone(statement) {
            Ok(None) => transactions.statement(|| run.statement(statement)),
            Ok(Some(answer)) => Ok(answer),
            Err(error) => Err(error),
        }
    } else {
        run.statement(statement)
    };
    if let (Err(error @ Error::Conflict { .. }), Some(open)) = (&outcome, &mut session.transaction) {
        open.doomed = Some(error.clone());
    }
    outcome
}

impl Run<'_> {
    pub(crate) fn statement(mut self, statement: &ast::Statement) -> Result<QueryResult> {
        let command = Command::of(&statement.kind);
        if Command::carried_out(&statement.kind).changes_names() {
            self.session.generation += 1;
        }
        let there = self.sent(statement).map_err(|error| error.in_text(&statement.sql))?;
        if let Some(answer) = there {
            return Ok(answer.of_command(command));
        }
        if let Some(text) = self.given.text
            && let Some(answer) = self.kept(text, statement).map_err(|error| error.in_text(&statement.sql))?
        {
            return Ok(answer.of_command(command));
        }
        let began = self.begin_profile();
        let outcome = self.calling(|run| {
            let bound = match run.bind(statement) {
                // Notes of lines that readers left out are no stored tables.
                Err(_) if run.drops_rejects(statement) => return Ok(QueryResult::done()),
                bound => bound?,
            };
            run.bound_noted(bound, began).map_err(|error| error.in_text(&statement.sql))
        });
        let answer = outcome?.of_command(command);
        if let Some(streaming) = self.given.streaming {
            streaming.name_text(&statement.sql);
        }
        began.map_or(Ok(()), |began| self.finish_profile(statement.text(), began))?;
        Ok(answer)
    }

    /// An INSERT of one row that is done or not done without a savepoint; `None` for anything else.
    fn inserted_alone(&self, statement: &ast::Statement) -> Result<Option<QueryResult>> {
        let Some(text) = self.given.text else { return Ok(None) };
        let answer = self.inserted(text, statement).map_err(|error| error.in_text(&statement.sql))?;
        Ok(answer.map(|answer| answer.of_command(Command::of(&statement.kind))))
    }

    /// `DROP TABLE reject_errors`.
    fn drops_rejects(&self, statement: &ast::Statement) -> bool {
        let ast::StatementKind::Drop { kind: ast::ObjectKind::Table, names, .. } = &statement.kind else {
            return false;
        };
        let [name] = names.as_slice() else { return false };
        name.parts.len() == 1 && self.transactions.files().drop_table(name.last())
    }

    /// Binds; table names that nothing has are looked for in the host.
    pub(crate) fn bind(&self, statement: &ast::Statement) -> Result<Statement> {
        self.bind_as(statement, None)
    }

    /// As [`Run::bind`]; parameters are bound as slots, if there are any.
    fn bind_as(&self, statement: &ast::Statement, slots: Option<&Slots>) -> Result<Statement> {
        let mut found: Vec<(String, HostTable)> = Vec::new();
        let mut outcome = self.bind_in(&found, statement, slots);
        let Some(host) = self.given.host.filter(|_| outcome.is_err()) else { return outcome };
        let scope = host_scope(self.database, self.session);
        while let Err(error) = &outcome {
            let Error::UndefinedTable { name, .. } = error.root() else { break };
            let name = name.clone();
            if found.len() == HOST_TABLES_MAX || found.iter().any(|(known, _)| *known == name) {
                break;
            }
            let Some(table) = host.find_table(&name, scope)? else { break };
            found.push((name, table));
            outcome = self.bind_in(&found, statement, slots);
        }
        outcome
    }

    /// Names as the statement sees them.
    pub(crate) fn names<'b>(&'b self, found: &'b [(String, HostTable)]) -> Names<'b> {
        Names {
            database: self.database,
            transactions: &self.transactions,
            session: self.session.id,
            asker: match self.database.has_remote() {
                true => self.asker().unwrap_or_else(|_| Some(NOBODY.to_string())),
                false => None,
            },
            found,
            giver: self.given.host.filter(|host| host.gives_tables()),
            variables: &self.session.variables,
            prepared: &self.session.prepared,
            settings: self.session.settings.clone(),
            binds_view: AtomicBool::new(false),
            asked: AtomicBool::new(false),
            listed: AtomicBool::new(false),
            sequences_named: Mutex::default(),
            failure: Mutex::new(None),
        }
    }

    /// Calls `work` with what binding needs.
    pub(crate) fn with_context<T>(
        &self,
        names: &Names<'_>,
        work: impl FnOnce(&BindContext<'_>) -> Result<T>,
    ) -> Result<T> {
        self.with_slots(names, None, work)
    }

    /// As [`Run::with_context`]; parameters are bound as slots, if there are any.
    pub(crate) fn with_slots<T>(
        &self,
        names: &Names<'_>,
        slots: Option<&Slots>,
        work: impl FnOnce(&BindContext<'_>) -> Result<T>,
    ) -> Result<T> {
        let session = &names.settings;
        let setting = |name: &str| names.setting(name);
        let asking = self.asking(names)?;
        let run = |query: Query| {
            names.asked.store(true, Ordering::Relaxed);
            let (_, batches) = self.batches(query)?;
            let rows = batches.iter().flat_map(|batch| (0..batch.len()).map(move |row| (batch, row)));
            let values =
                rows.map(|(batch, row)| batch.columns().iter().map(|column| column.get(row)).collect());
            Ok(values.collect())
        };
        work(&BindContext {
            catalog: names,
            parameters: &self.given.parameters.positional,
            named_parameters: &self.given.parameters.named,
            options: ResolveOptions {
                dialect: session.dialect,
                integer_division: session.integer_division,
                zone: session.time_zone(),
                bytea: session.bytea(),
                now: Some(self.now()),
                ids: self.ids(),
                random: Arc::clone(&self.session.random),
            },
            default_order: session.default_order,
            default_collation: session.default_collation.as_deref(),
            setting: &setting,
            run: Some(&run),
            slots,
            rights: asking.as_ref().map(|asking| asking as &dyn binder::Rights),
        })
    }

    pub(crate) fn ids(&self) -> Ids {
        let Session { id, query, transaction, .. } = &*self.session;
        let transaction = transaction.as_ref().map_or(*query, |open| open.id);
        Ids { connection: *id, transaction, query: *query }
    }

    /// When the transaction began, or the statement if it is one of its own.
    pub(crate) fn now(&self) -> i64 {
        let open = self.session.transaction.as_ref().map(|open| open.began);
        open.unwrap_or_else(inlay_kernels::zone::system_micros)
    }

    pub(crate) fn bind_in(
        &self,
        found: &[(String, HostTable)],
        statement: &ast::Statement,
        slots: Option<&Slots>,
    ) -> Result<Statement> {
        let names = self.names(found);
        let outcome = self.with_slots(&names, slots, |context| binder::bind(statement, context));
        if let Some(failure) = names.failure.into_inner() {
            return Err(failure);
        }
        if let Ok(Statement::CreateTable(_) | Statement::AlterTable(_)) = &outcome {
            // Their defaults go on naming these sequences.
            for (database, sequence) in names.sequences_named.into_inner() {
                self.transactions.of(self.database, &database)?.refer_to(sequence);
            }
        }
        outcome
    }

    /// The transaction on a database that the statement is about to change.
    pub(crate) fn to_change(&self, database: &str) -> Result<Arc<Transaction>> {
        self.transactions.to_change(self.database, database)
    }

    pub(crate) fn bound(&mut self, statement: Statement) -> Result<QueryResult> {
        self.owned(statement, Self::carried_out)
    }

    fn carried_out(&mut self, statement: Statement) -> Result<QueryResult> {
        match statement {
            Statement::Query(query) => self.answer(query),
            Statement::Explain { statement, analyze, format } => self.explain(*statement, analyze, format),
            Statement::CreateTable(create) => self.create_table(*create),
            Statement::CreateView { database, temporary, name, aliases, sql, or_replace, if_not_exists } => {
                self.create_view(&database, temporary, name, aliases, sql, or_replace, if_not_exists)
            }
            Statement::CreateIndex(create) => self.create_index(*create),
            Statement::CreateSequence { database, sequence, temporary, or_replace, if_not_exists } => {
                self.create_sequence(&database, sequence, temporary, or_replace, if_not_exists)
            }
            Statement::AlterTable(alter) => self.alter_table(*alter),
            Statement::RenameView { database, name, new_name } => {
                self.rename_view(&database, &name, new_name)
            }
            Statement::AlterSequence { .. } => self.alter_sequence(statement),
            Statement::Object(object) => self.object(*object),
            Statement::Drop(dropped) => self.drop_objects(*dropped),
            Statement::Changing { .. }
            | Statement::Insert(_)
            | Statement::Delete(_)
            | Statement::Update(_)
            | Statement::Merge(_) => self.with_triggers(statement, Self::change_rows),
            Statement::Truncate { database, tables, restarted } => {
                self.truncate(&database, &tables, &restarted)
            }
            Statement::CopyTo { query, path, options } => self.copy_to(query, &path, &options),
            Statement::Call { name, args, named } => self.call_procedure(&name, &args, &named),
            Statement::Set { name, value } => self.set(&name, value.as_ref()),
            Statement::CreateSecret { name, options, or_replace, if_not_exists } => {
                let secret = Secret::new(name.as_deref(), &options)?;
                let uses_host = secret.uses_host();
                self.database.settings().access().ask(Door::Secret { name: &secret.name, uses_host })?;
                self.database.settings().files().secrets().create(secret, or_replace, if_not_exists)?;
                Ok(QueryResult::done())
            }
            Statement::DropSecret { name, if_exists } => {
                let settings = self.database.settings();
                settings.access().ask(Door::Secret { name: &name, uses_host: false })?;
                settings.files().secrets().drop(&name, if_exists)?;
                Ok(QueryResult::done())
            }
            Statement::Begin(modes) => self.begin(modes),
            Statement::Commit => self.commit(),
            Statement::Rollback => self.rollback(),
            Statement::SetTransaction { modes, session } => self.set_transaction(modes, session),
            Statement::SetConstraints { names, deferred } => self.set_constraints(&names, deferred),
            Statement::Savepoint(name) => self.savepoint(|transactions| transactions.savepoint(&name)),
            Statement::RollbackTo(name) => self.savepoint(|transactions| transactions.rollback_to(&name)),
            Statement::Release(name) => self.savepoint(|transactions| transactions.release(&name)),
            Statement::Checkpoint { database, .. } => self.checkpoint(&database),
            Statement::Nothing(_) => Ok(QueryResult::done()),
            Statement::Vacuum { database, .. } => self.vacuum(&database),
            Statement::Verify(target) => self.verify(target),
            Statement::Attach(attach) => self.attach(attach),
            Statement::Detach { name, if_exists } => self.detach(&name, if_exists),
            Statement::Use { database, schema } => {
                self.session.names.current = Some(database);
                self.session.names.schemas = schema.into_iter().collect();
                self.transactions.set_session(&self.session.names);
                Ok(QueryResult::done())
            }
            Statement::ExportDatabase { database, directory, format, options } => {
                self.export_database(&database, &directory, format, &options)
            }
            Statement::CopyDatabase { source, target, schema, rows } => {
                self.copy_database(&source, target, schema, rows)
            }
            Statement::ImportDatabase { database, directory } => self.import_database(database, &directory),
        }
    }

    fn set(&mut self, name: &str, value: Option<&Value>) -> Result<QueryResult> {
        if matches!(name, "schema" | "search_path") {
            return self.set_search_path(value);
        }
        if settings::is_of_database(name) {
            self.ask_superuser(&format!("set {name}, which holds for everybody"))?;
        }
        settings::set(name, value, self.database.settings(), &mut self.session.settings)?;
        let options = self.database.settings().store_options();
        for store in self.database.stores() {
            store.set_synchronous(options.synchronous);
            store.set_checkpoint_threshold(options.checkpoint_threshold);
        }
        Ok(QueryResult::done())
    }

    /// SET search_path and SET schema: schemas of the current database in which names are looked up before `main`.
    fn set_search_path(&mut self, value: Option<&Value>) -> Result<QueryResult> {
        let text = value.map_or_else(String::new, Value::to_string);
        let current = self.transactions.current(self.database);
        let state = self.transactions.of(self.database, &current)?.state();
        let mut schemas = Vec::new();
        for part in text.split(',').map(|part| part.trim().trim_matches('"')).filter(|part| !part.is_empty())
        {
            let schema = part.strip_prefix(&format!("{current}.")).unwrap_or(part);
            let is_user = matches!(schema, "$user" | "public" | "pg_catalog" | "temp");
            if !same_name(schema, MAIN) && state.definition(DefinitionKind::Schema, schema).is_none() {
                if is_user {
                    continue;
                }
                let message = format!("schema \"{schema}\" does not exist");
                let hint = "CREATE SCHEMA makes it";
                return Err(Error::bind(message).with_hint(hint));
            }
            schemas.push(schema.to_string());
        }
        self.session.names.schemas = schemas;
        self.transactions.set_session(&self.session.names);
        Ok(QueryResult::done())
    }

    /// The session's workers.
    pub(crate) fn workers(&self) -> Workers {
        Workers::of(&self.session.team)
    }

    /// What a running query needs.
    pub fn context(&self) -> ExecContext {
        ExecContext {
            workers: self.workers(),
            interrupt: self.given.interrupt.clone(),
            budget: self.database.budget().clone(),
            temp: self.database.settings().temp(),
            batch_rows: self.session.settings.batch_rows(),
            progress: Arc::clone(&self.session.progress),
            measured: self.measured.clone(),
            by_value: !self.session.settings.value_indexes_off,
            statement: limits::current().and_then(|limits| limits.statement),
        }
    }

    /// Optimises a query.
    pub(crate) fn planned(&self, query: Query) -> Result<Query> {
        let enabled = !self.session.settings.optimizer_off;
        let hand_over = |plan: Plan, columns: &inlay_sql::plan::Columns| self.handed_over(plan, columns);
        let hand_over = self.database.has_remote().then(|| Box::new(hand_over) as Box<HandOver<'_>>);
        let trace = self.session.settings.profiles.then(|| self.pass_clock());
        optimizer::optimize_with(query, &mut OptimizerContext { enabled, trace, hand_over })
    }

    /// Optimises a query and notes what it is going to read.
    pub(crate) fn optimized(&self, query: Query) -> Result<Query> {
        let query = self.planned(query)?;
        self.note(&query)?;
        Ok(query)
    }

    /// Notes what an optimised query is going to read.
    fn note(&self, query: &Query) -> Result<()> {
        if self.notes_reads { reads::note(query, &self.transactions.all()) } else { Ok(()) }
    }

    /// Runs a query.
    pub(crate) fn batches(&self, query: Query) -> Result<(Query, Vec<Batch>)> {
        let query = self.optimized(query)?;
        let batches = inlay_exec::execute(&query, &self.context())?;
        Ok((query, batches))
    }

    /// Carries out a statement that is a query.
    fn answer(&self, query: Query) -> Result<QueryResult> {
        let query = self.optimized(query)?;
        if self.session.settings.profiles { self.profiled(query) } else { self.answer_optimized(&query) }
    }

    /// Carries out an optimised query that was kept.
    pub(crate) fn answer_kept(&self, query: &Query, sql: &str) -> Result<QueryResult> {
        self.note(query)?;
        let answer = self.answer_optimized(query)?;
        if let Some(streaming) = self.given.streaming {
            streaming.name_text(sql);
        }
        Ok(answer)
    }

    /// Runs an optimised query. Rows of a large table as they are stay there until they are asked for.
    fn answer_optimized(&self, query: &Query) -> Result<QueryResult> {
        let Some((table, rows)) = TableRows::of(query, || self.database.lender(self.workers())) else {
            return match self.given.streaming {
                // A query that waits for its reader must not run out of time.
                Some(streaming) if self.session.settings.timeout.is_none() => self.begun(query, streaming),
                _ => Ok(self.of_query(query, inlay_exec::execute(query, &self.context())?)),
            };
        };
        let table = Arc::new(table);
        let lent = Arc::downgrade(&table);
        self.database.lend(lent);
        let (names, types) = (output_names(query), output_types(query));
        QueryResult::of_table(names, types, table, rows, self.workers())
    }

    /// Runs a query until its first rows are there; what is left may wait.
    fn begun(&self, query: &Query, streaming: Streaming<'_>) -> Result<QueryResult> {
        let context = self.context();
        let mut stream = inlay_exec::stream(query, &context)?;
        // The first rows are not counted; they must not take the memory that others are denied.
        let first_bytes = (streaming.first_bytes as u64).min(context.budget.limit() / 4).max(1);
        let (batches, bytes) = stream.next_part(first_bytes as usize)?;
        if bytes < first_bytes {
            return Ok(self.of_query(query, batches));
        }
        let waits = may_wait(query);
        let first = self.of_query(query, batches);
        let rest = Rest::new(stream, first.without_rows(), &context);
        if !waits {
            return rest.join(first, None);
        }
        self.database.lend(rest.lent());
        *streaming.rest.lock() = Some(rest);
        Ok(first)
    }

    /// The answer of a kept plan.
    pub(crate) fn kept_rows(
        &self,
        names: &Arc<[String]>,
        types: &Arc<[LogicalType]>,
        rows: Batch,
    ) -> QueryResult {
        QueryResult::of_batch(Arc::clone(names), Arc::clone(types), rows, Some(self.workers()))
    }

    /// The answer of a kept plan that gives at most one row.
    pub(crate) fn kept_row(
        &self,
        names: &Arc<[String]>,
        types: &Arc<[LogicalType]>,
        row: Option<Arc<OneRow>>,
    ) -> QueryResult {
        QueryResult::of_row(Arc::clone(names), Arc::clone(types), row, Some(self.workers()))
    }

    /// Runs a query, whose rows are in memory then.
    pub(crate) fn query(&self, query: Query) -> Result<QueryResult> {
        let (query, batches) = self.batches(query)?;
        Ok(self.of_query(&query, batches))
    }

    pub(crate) fn of_query(&self, query: &Query, batches: Vec<Batch>) -> QueryResult {
        self.rows(output_names(query), output_types(query), batches)
    }

    /// An answer of rows.
    pub(crate) fn rows(
        &self,
        names: Vec<String>,
        types: Vec<LogicalType>,
        batches: Vec<Batch>,
    ) -> QueryResult {
        QueryResult::of_rows(names, types, batches, Some(self.workers()))
    }

    /// An error unless the statement may pass.
    pub(crate) fn ask(&self, door: Door<'_>) -> Result<()> {
        self.database.settings().files().ask(door)
    }

    fn begin(&mut self, modes: TransactionModes) -> Result<QueryResult> {
        if self.session.transaction.is_some() {
            return Err(
                transaction_state("a transaction is open already").with_hint("COMMIT or ROLLBACK it first")
            );
        }
        let said = self.session.settings.modes;
        let modes = TransactionModes {
            isolation: modes.isolation.or(said.isolation),
            read_only: modes.read_only.or(said.read_only),
        };
        let transactions = Transactions::new(modes.options()?, &self.session.names);
        // It sees what was committed before BEGIN, not before its first query.
        transactions.of(self.database, &transactions.current(self.database))?;
        let begun = OpenTransaction::new(transactions, self.session.query);
        self.session.transaction = Some(OpenTransaction { deferrals: Some(Deferrals::default()), ..begun });
        Ok(QueryResult::done())
    }

    fn commit(&mut self) -> Result<QueryResult> {
        let checked = match &self.session.transaction {
            None => return Err(transaction_state("no transaction is open").with_hint("BEGIN opens one")),
            Some(open) if open.doomed.is_some() => Ok(()),
            Some(_) => self.check_deferred(&|_, _| true),
        };
        let Some(open) = self.session.transaction.take() else { return Ok(QueryResult::done()) };
        if let Some(reason) = open.doomed {
            return Err(reason);
        }
        // What fails here is rolled back as a whole.
        checked?;
        open.transactions.commit(self.database)?;
        Ok(QueryResult::done())
    }

    fn rollback(&mut self) -> Result<QueryResult> {
        match self.session.transaction.take() {
            Some(_) => Ok(QueryResult::done()),
            None => Err(transaction_state("no transaction is open").with_hint("BEGIN opens one")),
        }
    }

    fn set_transaction(&mut self, modes: TransactionModes, session: bool) -> Result<QueryResult> {
        let merged = |said: TransactionModes| TransactionModes {
            isolation: modes.isolation.or(said.isolation),
            read_only: modes.read_only.or(said.read_only),
        };
        if session {
            self.session.settings.modes = merged(self.session.settings.modes);
            return Ok(QueryResult::done());
        }
        let Some(open) = &mut self.session.transaction else {
            return Err(
                transaction_state("SET TRANSACTION is for an open transaction").with_hint("BEGIN opens one")
            );
        };
        if open.transactions.all().iter().any(|transaction| transaction.has_changes()) {
            return Err(transaction_state(
                "SET TRANSACTION must come before the transaction changes anything",
            ));
        }
        let options = open.transactions.options();
        let said = merged(self.session.settings.modes).options()?;
        let options = inlay_storage::store::TransactionOptions {
            read_only: modes.read_only.unwrap_or(options.read_only),
            isolation: if modes.isolation.is_some() { said.isolation } else { options.isolation },
        };
        let transactions = Transactions::new(options, &self.session.names);
        transactions.of(self.database, &transactions.current(self.database))?;
        let deferrals = open.deferrals.take();
        *open = OpenTransaction { deferrals, ..OpenTransaction::new(transactions, open.id) };
        Ok(QueryResult::done())
    }

    fn savepoint(&mut self, work: impl FnOnce(&Transactions) -> Result<()>) -> Result<QueryResult> {
        match &self.session.transaction {
            Some(open) => work(&open.transactions).map(|()| QueryResult::done()),
            None => {
                Err(transaction_state("savepoints are for an open transaction").with_hint("BEGIN opens one"))
            }
        }
    }
}

fn transaction_state(message: &str) -> Error {
    Error::TransactionState { message: message.to_string() }
}

pub(crate) fn output_names(query: &Query) -> Vec<String> {
    query.output.iter().map(|(_, name)| name.clone()).collect()
}

pub(crate) fn output_types(query: &Query) -> Vec<LogicalType> {
    query.output.iter().map(|(id, _)| query.columns.ty(*id)).collect()
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
