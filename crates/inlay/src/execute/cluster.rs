//! A query for a cluster: its text in Spark's SQL, what that reads, and Inlay's own tables as files for it.
//!
//! A table is written once for each of its versions. Which version a file is of is known by the snapshot itself, of which a weak
//! reference is kept: numbers of versions begin anew in each transaction and database.

use super::{Given, Run};
use crate::database::Database;
use crate::result::QueryResult;
use crate::session::Session;
use crate::transactions::{ModesExt, Transactions};
use inlay_catalog::access::Door;
use inlay_catalog::{ClusterFiles, TableEntry, TableSource};
use inlay_formats::{Account, ColumnSource};
use inlay_kernels::external::External;
use inlay_spark::{HostCall, NamedFunction, NamedTable, Names, Origin, Refusal, Written, carrier};
use inlay_sql::optimizer;
use inlay_sql::parser::ast;
use inlay_sql::plan::statement::Query;
use inlay_sql::plan::{Columns, Estimates, Expr, Place, Plan, ScanColumn, Statement};
use inlay_storage::TableSnapshot;
use inlay_types::limits::{self, Limits};
use inlay_types::sql_text::ident;
use inlay_types::{Error, LogicalType, Result, Value, Vector};
use parking_lot::Mutex;
use std::path::Path;
use std::sync::{Arc, Weak};

/// Versions of tables that were given a name, and those of them whose files are there; functions that were.
#[derive(Debug, Default)]
pub struct Shipped {
    versions: Mutex<Vec<Version>>,
    functions: Mutex<Functions>,
}

/// Functions by what they are called with; those that are gone leave no name for others.
#[derive(Debug, Default)]
struct Functions {
    known: Vec<Sent>,
    count: usize,
}

#[derive(Debug)]
struct Sent {
    external: Weak<External>,
    arg_types: Vec<LogicalType>,
    constants: Vec<Option<Value>>,
    name: String,
}

#[derive(Debug)]
struct Version {
    snapshot: Weak<TableSnapshot>,
    name: String,
    is_written: bool,
}

impl Shipped {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The name of the table's version, which is new if nobody asked for it before.
    fn name(&self, table: &TableEntry) -> String {
        let snapshot = table.table.snapshot();
        let mut known = self.versions.lock();
        let found =
            known.iter().find(|version| std::ptr::eq(version.snapshot.as_ptr(), Arc::as_ptr(&snapshot)));
        if let Some(version) = found {
            return version.name.clone();
        }
        let name = format!("inlay_t{}", known.len());
        known.push(Version { snapshot: Arc::downgrade(&snapshot), name: name.clone(), is_written: false });
        name
    }

    fn is_written(&self, name: &str) -> bool {
        self.versions.lock().iter().any(|version| version.name == name && version.is_written)
    }

    fn note_written(&self, name: &str) {
        if let Some(version) = self.versions.lock().iter_mut().find(|version| version.name == name) {
            version.is_written = true;
        }
    }
}

impl Names for Shipped {
    fn stored(&self, table: &TableEntry) -> String {
        self.name(table)
    }

    fn function(&self, call: &HostCall) -> String {
        let mut functions = self.functions.lock();
        functions.known.retain(|sent| sent.external.strong_count() > 0);
        let is_same = |sent: &&Sent| {
            std::ptr::eq(sent.external.as_ptr(), Arc::as_ptr(&call.external))
                && sent.arg_types == call.arg_types
                && sent.constants == call.constants
        };
        if let Some(sent) = functions.known.iter().find(is_same) {
            return sent.name.clone();
        }
        let name = format!("inlay_f{}", functions.count);
        functions.count += 1;
        functions.known.push(Sent {
            external: Arc::downgrade(&call.external),
            arg_types: call.arg_types.clone(),
            constants: call.constants.clone(),
            name: name.clone(),
        });
        name
    }
}

/// A table that a query for a cluster names.
#[derive(Clone, Debug)]
pub struct ClusterTable {
    /// Its name in the query.
    pub name: String,
    /// `parquet`, or another format of Spark's.
    pub format: &'static str,
    /// Its files.
    pub paths: Vec<String>,
    /// What Spark's reader is told.
    pub options: Vec<(&'static str, String)>,
    /// For people: which table it is.
    pub shown: String,
}

/// A function that a query for a cluster calls.
#[derive(Clone, Debug)]
pub struct ClusterFunction {
    /// Its name in the query.
    pub name: String,
    /// What is called.
    pub external: Arc<External>,
    /// What it is called with: types, those that carry them, and constants of the statement.
    pub arguments: Vec<(LogicalType, LogicalType, Option<Value>)>,
    /// The type of what it gives, and the one that carries it.
    pub returns: (LogicalType, LogicalType),
}

/// A query for a cluster.
#[derive(Clone, Debug)]
pub struct ClusterQuery {
    /// The text in Spark's SQL, if nothing is refused.
    pub text: String,
    /// The tables it names.
    pub tables: Vec<ClusterTable>,
    /// The functions that go along.
    pub functions: Vec<ClusterFunction>,
    /// Names of the columns it gives, their types, and those that Spark gives for them.
    pub columns: Vec<(String, LogicalType, LogicalType)>,
    /// What the cluster cannot be given, and where it stands.
    pub refused: Vec<String>,
}

/// Writes a query for a cluster, and the tables of ours that it reads into a folder, if one is given and nothing is refused.
pub(crate) fn for_cluster(
    database: &Database,
    session: &mut Session,
    statement: &ast::Statement,
    given: Given<'_>,
    shipped: &Shipped,
    folder: Option<&str>,
) -> Result<ClusterQuery> {
    running(database, session, given, |run| {
        let Statement::Query(query) = run.bind(statement)? else {
            return Err(Error::unsupported("a statement that is no query, on a cluster"));
        };
        run.query_for_cluster(query, shipped, folder)
    })
}

/// Makes rows of a part of a query.
pub type Fetch<'f> = &'f mut dyn FnMut(ClusterQuery) -> Result<Arc<dyn TableSource>>;

/// Runs a query here whose parts are fetched from a cluster; `None` where no part can be.
pub(crate) fn in_parts(
    database: &Database,
    session: &mut Session,
    statement: &ast::Statement,
    given: Given<'_>,
    shipped: &Shipped,
    folder: &str,
    fetch: Fetch<'_>,
) -> Result<Option<QueryResult>> {
    running(database, session, given, |run| {
        let Statement::Query(query) = run.bind(statement)? else { return Ok(None) };
        let mut query = optimizer::decorrelate(query)?;
        let mut part = |written| fetch(run.shipped_query(written, shipped, Some(folder))?);
        if inlay_spark::split(&mut query, shipped, &mut part)? == 0 {
            return Ok(None);
        }
        run.query(query).map(Some)
    })
}

/// Binds and runs as a statement does.
fn running<T>(
    database: &Database,
    session: &mut Session,
    given: Given<'_>,
    work: impl FnOnce(&mut Run<'_>) -> Result<T>,
) -> Result<T> {
    session.query = database.next_id();
    let limits = Limits::new(database.budget().clone(), given.interrupt.clone());
    limits::with(limits, || {
        let transactions = match &session.transaction {
            Some(open) => Arc::clone(&open.transactions),
            None => Arc::new(Transactions::new(session.settings.modes.options()?, &session.names)),
        };
        let mut run = Run { database, session, given, transactions, notes_reads: false, measured: None };
        run.calling(work)
    })
}

impl Run<'_> {
    fn query_for_cluster(
        &self,
        query: Query,
        shipped: &Shipped,
        folder: Option<&str>,
    ) -> Result<ClusterQuery> {
        let query = optimizer::decorrelate(query)?;
        self.shipped_query(inlay_spark::write(&query, shipped), shipped, folder)
    }

    /// A query with its tables in a folder, if one is given.
    fn shipped_query(
        &self,
        written: Written,
        shipped: &Shipped,
        folder: Option<&str>,
    ) -> Result<ClusterQuery> {
        let Written { text, tables, functions, columns, refused } = written;
        let ships = refused.is_empty();
        let mut named = Vec::with_capacity(tables.len());
        for table in tables {
            named.push(self.cluster_table(table, shipped, folder.filter(|_| ships))?);
        }
        let carried = |(name, ty): (String, LogicalType)| {
            let carrier = carrier(&ty).unwrap_or(LogicalType::Null);
            (name, ty, carrier)
        };
        Ok(ClusterQuery {
            text,
            tables: named,
            functions: functions.into_iter().map(cluster_function).collect(),
            columns: columns.into_iter().map(carried).collect(),
            refused: refused.iter().map(placed).collect(),
        })
    }

    fn cluster_table(
        &self,
        table: NamedTable,
        shipped: &Shipped,
        folder: Option<&str>,
    ) -> Result<ClusterTable> {
        let NamedTable { name, origin } = table;
        match origin {
            Origin::Files(source) => {
                let Some(ClusterFiles { format, paths, options }) = source.cluster_files() else {
                    return Err(Error::internal("files of a cluster have no paths"));
                };
                let paths = paths.into_iter().map(absolute).collect();
                Ok(ClusterTable { name, format, paths, options, shown: source.description() })
            }
            Origin::Stored(entry) => {
                let mut paths = Vec::new();
                if let Some(folder) = folder {
                    let path = format!("{}/{name}.parquet", folder.trim_end_matches('/'));
                    if !shipped.is_written(&name) {
                        self.ship(&entry, &path)?;
                        shipped.note_written(&name);
                    }
                    paths.push(absolute(path));
                }
                let rows = entry.table.row_count();
                let shown = format!("table {}, {rows} rows", entry.name);
                Ok(ClusterTable { name, format: "parquet", paths, options: Vec::new(), shown })
            }
        }
    }

    /// Writes a table as Parquet: column `i` as `c{i}`, in the type that carries its own. Columns whose types nothing carries are left
    /// out, as no query for a cluster reads them.
    fn ship(&self, entry: &Arc<TableEntry>, path: &str) -> Result<()> {
        self.ask(Door::Write(path))?;
        let mut columns = Columns::new();
        let (mut scanned, mut items, mut output) = (Vec::new(), Vec::new(), Vec::new());
        for (index, column) in entry.table.schema().columns.iter().enumerate() {
            let Ok(carried) = carrier(&column.ty) else { continue };
            if column.is_hidden() {
                continue;
            }
            let id = columns.add(column.name.clone(), column.ty.clone());
            let made = columns.add(format!("c{index}"), carried.clone());
            scanned.push(ScanColumn { id, index, key_at: None, full_at: None });
            let read = columns.expr(id);
            let item = if carried == column.ty {
                read
            } else {
                Expr::Cast { input: Box::new(read), ty: carried, or_null: false, place: Place::default() }
            };
            items.push((made, item));
            output.push((made, format!("c{index}")));
        }
        if output.is_empty() {
            // Rows without columns still are rows.
            let made = columns.add("c", LogicalType::Integer);
            items.push((made, Expr::literal(Value::Integer(1))));
            output.push((made, "c".to_string()));
        }
        let scan = Plan::Scan {
            table: Arc::clone(entry),
            columns: scanned,
            fields: Vec::new(),
            filters: Vec::new(),
            row_id: None,
        };
        let names: Vec<String> = output.iter().map(|(_, name)| name.clone()).collect();
        let query = Query { plan: scan.project(items), columns, output, estimates: Estimates::default() };
        let options = [("format".to_string(), Value::Varchar("parquet".to_string()))];
        self.write_file(query, path, &names, &options, &Arc::<Account>::default())?;
        Ok(())
    }

    /// EXPLAIN (ENGINE cluster): what the cluster would be given, and what is refused.
    pub(super) fn explain_cluster(&mut self, statement: Statement, analyze: bool) -> Result<QueryResult> {
        if analyze {
            return Err(Error::unsupported("EXPLAIN ANALYZE of a query on a cluster"));
        }
        let Statement::Query(query) = statement else {
            return QueryResult::lines(
                "plan",
                ["runs here: a statement that is no query".to_string()].into_iter(),
            );
        };
        let shipped = Shipped::new();
        let whole = self.query_for_cluster(query.clone(), &shipped, None)?;
        if whole.refused.is_empty() {
            let mut lines = vec!["runs on the cluster".to_string()];
            described(&whole, &mut lines);
            return QueryResult::lines("plan", lines.into_iter());
        }
        let mut parts = Vec::new();
        let mut rest = optimizer::decorrelate(query)?;
        inlay_spark::split(&mut rest, &shipped, &mut |written| {
            let part = self.shipped_query(written, &shipped, None)?;
            let nothing =
                part.columns.iter().map(|(name, _, carrier)| (name.clone(), Vector::empty(carrier.clone())));
            let rows = ColumnSource::new("rows of the cluster", nothing.collect())?;
            parts.push(part);
            Ok(Arc::new(rows))
        })?;
        let mut lines = Vec::new();
        if parts.is_empty() {
            lines.push("runs here, as the cluster is not given".to_string());
        } else {
            lines.push(format!("runs here over {} parts of the cluster, which is not given", parts.len()));
        }
        lines.extend(whole.refused.iter().map(|what| format!("  {what}")));
        for (number, part) in parts.iter().enumerate() {
            lines.push(format!("part {}, on the cluster", number + 1));
            described(part, &mut lines);
        }
        QueryResult::lines("plan", lines.into_iter())
    }
}

/// What is shipped, read, sent and moved for a query that can be sent, and its text.
fn described(query: &ClusterQuery, lines: &mut Vec<String>) {
    for table in &query.tables {
        let (verb, shown) = if table.shown.starts_with("table ") {
            ("ships once", table.shown.clone())
        } else {
            ("reads there", table.shown.clone())
        };
        lines.push(format!("{verb} {} = {shown}", table.name));
    }
    for function in &query.functions {
        lines.push(format!("sends {} = {}", function.name, function.external.definition.signature()));
    }
    lines.push(format!("moves back {} columns", query.columns.len()));
    lines.extend(query.text.lines().map(str::to_string));
}

fn cluster_function(function: NamedFunction) -> ClusterFunction {
    let NamedFunction { name, call, returns } = function;
    // What nothing carries was refused: such a query is not sent.
    let carried = |ty: LogicalType| {
        let carrier = carrier(&ty).unwrap_or(LogicalType::Null);
        (ty, carrier)
    };
    let arguments = call.arg_types.into_iter().zip(call.constants).map(|(ty, constant)| {
        let (ty, carrier) = carried(ty);
        (ty, carrier, constant)
    });
    ClusterFunction {
        name,
        external: call.external,
        arguments: arguments.collect(),
        returns: carried(returns),
    }
}

/// A refusal with its place.
fn placed(refusal: &Refusal) -> String {
    match refusal.place.line {
        0 => refusal.what.clone(),
        line => format!("{} (line {line}, column {})", refusal.what, refusal.place.column),
    }
}

/// A path that means the same to another process of this machine.
fn absolute(path: String) -> String {
    if path.contains("://") {
        return path;
    }
    std::path::absolute(Path::new(&path)).map_or(path, |path| path.to_string_lossy().into_owned())
}

impl ClusterQuery {
    /// The SELECT that makes rows of the cluster, in columns `o0`, `o1`, ... of `table`, the rows of the query: names and types.
    pub fn again(&self, table: &str) -> String {
        let item = |(position, (name, ty, _)): (usize, &(String, LogicalType, LogicalType))| {
            format!("CAST(o{position} AS {ty}) AS {}", ident(name))
        };
        let items: Vec<String> = self.columns.iter().enumerate().map(item).collect();
        format!("SELECT {} FROM {table}", items.join(", "))
    }

    /// Why the query cannot be given to a cluster, as an error.
    pub fn refusal(&self) -> Option<Error> {
        let first = self.refused.first()?;
        let others = match self.refused.len() - 1 {
            0 => String::new(),
            more => format!(", and {more} more, which EXPLAIN (ENGINE cluster) lists"),
        };
        let alternative = Some("without engine='cluster' it runs here".to_string());
        Some(Error::Unsupported { feature: format!("on a cluster: {first}{others}"), alternative })
    }
}
