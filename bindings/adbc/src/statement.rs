//! `AdbcStatement`: a query, or a table that bound rows are loaded into.

use crate::bound::{Bound, nothing_bound};
use crate::connection::{ConnectionHandle, Session, truth};
use crate::failure::{Failure, Outcome};
use inlay::types::arrow::export::schema_of;
use inlay::types::arrow::ffi::FLAG_NULLABLE;
use inlay::types::arrow::{ArrowArrayStream, ArrowSchema, Exporter, StringLayout};
use inlay::types::{Batch, LogicalType, Vector};
use inlay::{Cursor, Entered, Extent, Host, ParameterShape, Parameters, QueryResult, Tables, sql};
use parking_lot::Mutex;
use std::sync::Arc;

const TARGET_TABLE: &str = "adbc.ingest.target_table";
const TARGET_CATALOG: &str = "adbc.ingest.target_catalog";
const TARGET_SCHEMA: &str = "adbc.ingest.target_db_schema";
const MODE: &str = "adbc.ingest.mode";
const MODE_PREFIX: &str = "adbc.ingest.mode.";
const TEMPORARY: &str = "adbc.ingest.temporary";
const BIND_BY_NAME: &str = "adbc.statement.bind_by_name";

/// What rows to load are called in SQL.
const LOADED: &str = "adbc rows";

/// What the handle of a statement points to.
pub struct StatementHandle {
    session: Arc<Session>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    sql: Option<String>,
    bound: Option<Bound>,
    by_name: bool,
    target: Target,
}

/// Where bound rows go.
#[derive(Default)]
struct Target {
    table: Option<String>,
    catalog: Option<String>,
    schema: Option<String>,
    mode: Mode,
    temporary: bool,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Mode {
    #[default]
    Create,
    Append,
    Replace,
    CreateAppend,
}

impl Mode {
    const NAMES: [(&'static str, Self); 4] = [
        ("create", Self::Create),
        ("append", Self::Append),
        ("replace", Self::Replace),
        ("create_append", Self::CreateAppend),
    ];

    fn of(value: &str) -> Outcome<Self> {
        let name = value.strip_prefix(MODE_PREFIX).unwrap_or(value);
        let found = Self::NAMES.iter().find(|(known, _)| *known == name);
        found.map(|(_, mode)| *mode).ok_or_else(|| {
            let known: Vec<String> =
                Self::NAMES.iter().map(|(name, _)| format!("\"{MODE_PREFIX}{name}\"")).collect();
            Failure::argument(format!("{MODE} = \"{value}\": expected one of {}", known.join(", ")))
        })
    }

    fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, mode)| *mode == self).map_or("", |(name, _)| name)
    }
}

/// What a run gave.
pub enum Answer {
    /// Of one run.
    One(Box<Cursor>),
    /// Of a run for each bound row, one behind the other.
    Many(Rows),
}

/// Rows of several runs, as columns of one type each.
pub struct Rows {
    exporter: Exporter,
    batches: Vec<Batch>,
}

/// Who statements of a call ask: an interrupt since it began ends it, also between its phases.
fn called(entered: Entered, tables: Tables) -> Arc<dyn Host> {
    Arc::new(tables.since(entered))
}

impl StatementHandle {
    /// A statement of an open connection.
    pub fn new(connection: &ConnectionHandle) -> Outcome<Self> {
        Ok(Self { session: connection.session()?, state: Mutex::default() })
    }

    /// Sets the text to run, in place of what was to be run or loaded.
    pub fn set_sql(&self, sql: &str) {
        let mut state = self.state.lock();
        state.sql = Some(sql.to_string());
        state.bound = None;
        state.target.table = None;
    }

    /// Binds rows, in place of those bound before.
    pub fn bind(&self, bound: Bound) {
        self.state.lock().bound = Some(bound);
    }

    /// Sets an option; no value takes it back.
    pub fn set_option(&self, name: &str, value: Option<&str>) -> Outcome<()> {
        let mut state = self.state.lock();
        let text = value.filter(|value| !value.is_empty()).map(str::to_string);
        match name {
            TARGET_TABLE => {
                state.target.table = text;
                state.sql = None;
            }
            TARGET_CATALOG => state.target.catalog = text,
            TARGET_SCHEMA => state.target.schema = text,
            MODE => state.target.mode = value.map_or(Ok(Mode::default()), Mode::of)?,
            TEMPORARY => state.target.temporary = value.is_some_and(|value| value == "true"),
            BIND_BY_NAME => state.by_name = truth(name, value.unwrap_or("false"))?,
            _ => return Err(Failure::no_option(name)),
        }
        Ok(())
    }

    /// The value of an option.
    pub fn option(&self, name: &str) -> Outcome<String> {
        let state = self.state.lock();
        let target = &state.target;
        let found = match name {
            TARGET_TABLE => target.table.clone(),
            TARGET_CATALOG => target.catalog.clone(),
            TARGET_SCHEMA => target.schema.clone(),
            MODE => Some(format!("{MODE_PREFIX}{}", target.mode.name())),
            TEMPORARY => Some(target.temporary.to_string()),
            BIND_BY_NAME => Some(state.by_name.to_string()),
            _ => None,
        };
        found.ok_or_else(|| Failure::not_set(name))
    }

    /// Reads what is to be run; statements are kept parsed by the connection.
    pub fn prepare(&self) -> Outcome<()> {
        self.session.engine.script(self.state.lock().text()?)?;
        Ok(())
    }

    /// Ends what runs on the connection.
    pub fn cancel(&self) {
        self.session.engine.interrupt();
    }

    /// Runs the statement once for each bound row, or loads the bound rows.
    pub fn execute(&self) -> Outcome<Answer> {
        let entered = self.session.engine.enter();
        let mut state = self.state.lock();
        let bound = state.bound.take();
        match &state.target.table {
            Some(table) => {
                let bound = bound.ok_or_else(nothing_bound)?;
                Ok(self.whole(state.target.load(table, &self.session, &bound, entered)?))
            }
            None => self.run(state.text()?, bound, state.by_name, entered),
        }
    }

    fn run(&self, sql: &str, bound: Option<Bound>, by_name: bool, entered: Entered) -> Outcome<Answer> {
        let engine = &self.session.engine;
        let sets = match &bound {
            Some(bound) => bound.parameters(by_name, engine.limits_since(entered)?)?,
            None => vec![Parameters::default()],
        };
        let host = called(entered, Tables::default());
        match &sets[..] {
            [parameters] => Ok(Answer::One(Box::new(engine.stream(sql, parameters, Some(&host))?))),
            sets => match engine.prepare(sql)?.describe(Some(&host))?.columns {
                Some(columns) => self.run_each(sql, sets, columns, &host),
                None => Ok(self.whole(engine.execute_many(sql, sets, Some(&host))?)),
            },
        }
    }

    /// Runs a statement that gives rows once for each of several sets of parameters.
    fn run_each(
        &self,
        sql: &str,
        sets: &[Parameters],
        columns: Vec<(String, LogicalType)>,
        host: &Arc<dyn Host>,
    ) -> Outcome<Answer> {
        let engine = &self.session.engine;
        let answers = atomically(&self.session, || {
            let run = |parameters| Ok(engine.execute_one(sql, parameters, Some(host))?);
            sets.iter().map(run).collect::<Outcome<Vec<QueryResult>>>()
        })?;
        let (names, types): (Vec<String>, Vec<LogicalType>) = columns.into_iter().unzip();
        let types =
            types.into_iter().enumerate().map(|(index, ty)| Ok(common_type(&answers, index)?.unwrap_or(ty)));
        let types = types.collect::<Outcome<Vec<LogicalType>>>()?;
        let mut batches = Vec::new();
        for answer in &answers {
            for batch in answer.batches() {
                let batch = batch?;
                let columns = batch.columns().iter().zip(&types).map(|(column, ty)| as_type(column, ty));
                batches.push(Batch::new(columns.collect::<inlay::Result<Vec<Vector>>>()?, batch.len()));
            }
        }
        let exporter = Exporter::new(&names, &types).with_strings(StringLayout::Utf8);
        Ok(Answer::Many(Rows { exporter, batches }))
    }

    fn whole(&self, rows: QueryResult) -> Answer {
        Answer::One(Box::new(Cursor::new(self.session.engine.clone(), rows, None)))
    }

    /// What a run would give, without running it.
    pub fn schema(&self) -> Outcome<ArrowSchema> {
        let state = self.state.lock();
        let engine = &self.session.engine;
        let limits = engine.limits_since(engine.enter())?;
        let sets = state.bound.as_ref().map(|bound| bound.parameters(state.by_name, limits)).transpose()?;
        let parameters = sets.and_then(|sets| sets.into_iter().next()).unwrap_or_default();
        let described = engine.describe_with(state.text()?, Extent::Script, &parameters, None)?;
        let (names, types): (Vec<_>, Vec<_>) = described.columns.unwrap_or_default().into_iter().unzip();
        Ok(Exporter::new(&names, &types).with_strings(StringLayout::Utf8).schema())
    }
}

impl StatementHandle {
    /// The parameters of the statement, by position and by name, with the types that it converts them to where those are known.
    pub fn parameter_schema(&self) -> Outcome<ArrowSchema> {
        let state = self.state.lock();
        let statements = sql::statements(state.text()?)?;
        let parameters = match statements.last() {
            Some(last) => self.session.engine.prepare(&last.sql)?.describe(None)?.parameters,
            None => Vec::new(),
        };
        let field = |parameter: &ParameterShape| {
            // Those by position have no names.
            let name = parameter.name.clone().unwrap_or_default();
            match &parameter.ty {
                Some(ty) => Exporter::new(&[name], std::slice::from_ref(ty)).column_schema(0),
                None => schema_of("n", &name, FLAG_NULLABLE, Vec::new(), None),
            }
        };
        Ok(schema_of("+s", "", 0, parameters.iter().map(field).collect(), None))
    }
}

impl State {
    fn text(&self) -> Outcome<&str> {
        let missing = || Failure::state("there is nothing to run; call AdbcStatementSetSqlQuery first");
        match (&self.sql, &self.target.table) {
            (Some(sql), _) => Ok(sql),
            (None, Some(_)) => Ok(""),
            (None, None) => Err(missing()),
        }
    }
}

impl Target {
    /// The parts of the table's name. One that is not temporary is in the current schema unless another one is named: no temporary table of its
    /// name is meant.
    fn path(&self, table: &str, session: &Session) -> Outcome<Vec<String>> {
        let parts = |parts: &[&str]| parts.iter().map(|part| part.to_string()).collect();
        let place = (self.catalog.as_deref(), self.schema.as_deref());
        match (self.temporary, place) {
            (true, (None, None)) => Ok(parts(&["temp", table])),
            (true, _) => {
                let message = format!(
                    "{TEMPORARY} is set, and {TARGET_CATALOG} or {TARGET_SCHEMA}: a temporary table is in none of them"
                );
                Err(Failure::state(message))
            }
            (false, (None, None)) => {
                let engine = &session.engine;
                Ok(parts(&[&engine.catalog()?, &engine.schema()?, table]))
            }
            (false, (catalog, schema)) => {
                let given: Vec<&str> = [catalog, schema, Some(table)].into_iter().flatten().collect();
                Ok(parts(&given))
            }
        }
    }

    /// Loads rows in one transaction; columns of a table that exists are found by name.
    fn load(&self, table: &str, session: &Session, bound: &Bound, entered: Entered) -> Outcome<QueryResult> {
        let parts = self.path(table, session)?;
        let path = sql::path(&parts);
        let kind = if self.temporary { "TEMPORARY TABLE" } else { "TABLE" };
        let rows = sql::ident(LOADED);
        let create = |create: &str| format!("{create} {path} AS SELECT * FROM {rows}");
        let host = called(entered, Tables::one(LOADED, bound.table()));
        let run = |sql: &str| -> Outcome<QueryResult> {
            Ok(session.engine.execute_with(sql, &Parameters::default(), Some(&host))?)
        };
        let append = || -> Outcome<QueryResult> {
            Ok(QueryResult::changed(session.engine.append(&parts, bound.table(), true, Some(&host))?))
        };
        match self.mode {
            Mode::Create => run(&create(&format!("CREATE {kind}"))),
            Mode::Replace => run(&create(&format!("CREATE OR REPLACE {kind}"))),
            Mode::Append => append(),
            Mode::CreateAppend => {
                let columns = bound.table();
                let columns = columns.columns().iter();
                let columns = columns.map(|column| format!("{} {}", sql::ident(&column.name), column.ty));
                let columns = columns.collect::<Vec<_>>().join(", ");
                atomically(session, || {
                    run(&format!("CREATE {kind} IF NOT EXISTS {path} ({columns})"))?;
                    append()
                })
            }
        }
    }
}

/// Several statements, all or none of them; those of an open transaction that is not ours end with it.
fn atomically<T>(session: &Session, work: impl FnOnce() -> Outcome<T>) -> Outcome<T> {
    if !session.engine.autocommit()? {
        return work();
    }
    let block = session.engine.transaction()?;
    let value = work()?;
    block.commit()?;
    Ok(value)
}

impl Answer {
    /// Rows that the statement changed, or gave; -1 if neither, or if some are still to be computed.
    pub fn row_count(&self) -> i64 {
        match self {
            Self::One(cursor) => cursor.row_count().map_or(-1, |count| count as i64),
            // Of which run?
            Self::Many(_) => -1,
        }
    }

    /// The rows, each record batch of which is computed and converted when it is asked for.
    pub fn stream(self) -> ArrowArrayStream {
        match self {
            Self::One(cursor) => cursor.into_arrow_stream(StringLayout::Utf8),
            Self::Many(rows) => rows.exporter.stream(rows.batches.into_iter().map(Ok)),
        }
    }
}

/// The type of a column in the first answer that has a value there: a bare NULL could be of any.
fn common_type(answers: &[QueryResult], index: usize) -> Outcome<Option<LogicalType>> {
    for answer in answers {
        if answer.column(index)?.null_count() < answer.row_count() {
            return Ok(Some(answer.types()[index].clone()));
        }
    }
    Ok(None)
}

fn as_type(column: &Vector, ty: &LogicalType) -> inlay::Result<Vector> {
    if column.ty() == ty {
        return Ok(column.clone());
    }
    let mut converted = Vector::empty(ty.clone());
    inlay::cast(column, ty, false, &mut converted)?;
    Ok(converted)
}
