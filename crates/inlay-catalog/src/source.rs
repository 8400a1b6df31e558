//! Anything that can be scanned besides stored tables: files, host data frames, `range()`.
//!
//! A [`TableFunction`] is found by name while binding and turns its arguments into a [`TableSource`], whose
//! schema the binder uses. A running query calls [`TableSource::scan`] once and pulls tasks from the
//! [`SourceScan`] with all its workers; each task is a morsel, an iterator of batches.

use inlay_storage::SegmentPredicate;
use inlay_types::{Batch, Interrupt, LogicalType, MemoryBudget, Result, Value};
use std::fmt;
use std::sync::Arc;

/// Name and type of a source's column.
#[derive(Clone, Debug, PartialEq)]
pub struct SourceColumn {
    /// Name.
    pub name: String,
    /// Type.
    pub ty: LogicalType,
}

/// A conjunct over one column that a source may use to skip rows. It need not: the engine filters again.
#[derive(Clone, Debug)]
pub struct SourceFilter {
    /// Position of the column in the source's schema.
    pub column: usize,
    /// What its value must satisfy.
    pub predicate: SegmentPredicate,
}

/// What a query wants of a source.
#[derive(Clone, Debug)]
pub struct ScanRequest {
    /// Positions of the wanted columns, in the order of the batches' columns. May be empty (`count(*)`).
    pub columns: Vec<usize>,
    /// Conjuncts that may be used to skip.
    pub filters: Vec<SourceFilter>,
    /// Disjunctions that may be used as well: of each, a row satisfies all filters of at least one list.
    pub any_of: Vec<Vec<Vec<SourceFilter>>>,
    /// The budget for what the scan holds.
    pub budget: MemoryBudget,
    /// Checked at least once per batch by long reads.
    pub interrupt: Interrupt,
}

/// One morsel: batches of at most [`inlay_types::VECTOR_SIZE`] rows, in order.
pub type SourceTask = Box<dyn Iterator<Item = Result<Batch>> + Send>;

/// Files as another engine is told of them.
#[derive(Clone, Debug, PartialEq)]
pub struct ClusterFiles {
    /// `parquet` or `csv`.
    pub format: &'static str,
    /// Their paths, in order.
    pub paths: Vec<String>,
    /// What their reader is told: the names of Spark's options and their values.
    pub options: Vec<(&'static str, String)>,
}

/// A table of a database at a server.
#[derive(Clone, Debug, PartialEq)]
pub struct RemoteTable {
    /// The name that the database has here.
    pub database: String,
    /// The table as SQL names it there.
    pub table: String,
}

/// A running scan, shared by all workers.
pub trait SourceScan: Send + Sync {
    /// The next morsel, or `None` when there are no more. Called by several workers at once.
    fn next_task(&self) -> Result<Option<SourceTask>>;
}

/// A bound source of rows.
pub trait TableSource: Send + Sync + fmt::Debug {
    /// For EXPLAIN: function and arguments, such as `read_csv('a.csv')`.
    fn description(&self) -> String;
    /// The columns.
    fn columns(&self) -> &[SourceColumn];
    /// Number of rows, if known or guessable.
    fn row_count_estimate(&self) -> Option<u64>;
    /// Whether it is a table of an attached file of another system, which is only read.
    fn is_of_file(&self) -> bool {
        false
    }
    /// Whether the rows are written in the statement.
    fn is_literal(&self) -> bool {
        false
    }
    /// The files that another engine can read by itself to the same rows; `None` if only this process gives the rows.
    fn cluster_files(&self) -> Option<ClusterFiles> {
        None
    }
    /// The table at a server that it is; `None` if it is anything else.
    fn remote(&self) -> Option<RemoteTable> {
        None
    }
    /// The same rows with these columns of it alone; `None` if that saves nothing.
    fn narrowed(&self, _columns: &[usize]) -> Option<Arc<dyn TableSource>> {
        None
    }
    /// First value, step and number of the rows of a series of integers.
    fn integer_series(&self) -> Option<(i64, i64, u64)> {
        None
    }
    /// Whether rows may be read when the statement that names the source is over: not if the host may change them
    /// meanwhile, if reading leaves notes, or if it needs what only the thread of the statement has.
    fn may_wait(&self) -> bool {
        false
    }
    /// Number of rows, if that is known for certain without reading them.
    fn known_row_count(&self) -> Option<u64> {
        None
    }
    /// The least or greatest value of a column, NULL if there is none, if that is known for certain without reading the column.
    fn known_extreme(&self, _column: usize, _greatest: bool) -> Option<Value> {
        None
    }
    /// Starts a scan.
    fn scan(&self, request: ScanRequest) -> Result<Box<dyn SourceScan>>;
}

/// A function in FROM.
pub trait TableFunction: Send + Sync {
    /// Lower-case name.
    fn name(&self) -> &'static str;
    /// Checks the arguments and finds the schema (this may open files). `types` reads types that arguments name.
    fn bind(
        &self,
        args: &[Value],
        named: &[(String, Value)],
        types: &TypeNames<'_>,
    ) -> Result<Arc<dyn TableSource>>;

    /// Columns that the folders of files say (`year=2024/a.csv`), not the files themselves.
    fn folder_columns(
        &self,
        _args: &[Value],
        _named: &[(String, Value)],
        _types: &TypeNames<'_>,
    ) -> Result<Vec<String>> {
        Ok(Vec::new())
    }
}

/// The type that a text names, as SQL writes it: also one that the database knows by CREATE TYPE.
pub type TypeNames<'a> = dyn Fn(&str) -> Result<LogicalType> + 'a;
