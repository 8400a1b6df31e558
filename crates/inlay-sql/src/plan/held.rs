//! Rows that a part of a statement makes for the parts behind it: what a statement in WITH returns.

use inlay_catalog::{ScanRequest, SourceColumn, SourceScan, SourceTask, TableSource};
use inlay_types::{Batch, Error, Result};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// Batches that are one morsel.
const BATCHES_PER_TASK: usize = 64;

/// A place for rows: named by the binder, filled when the statement runs, read by what was bound to it.
#[derive(Debug)]
pub struct HeldRows {
    name: String,
    columns: Vec<SourceColumn>,
    rows: OnceLock<Arc<[Batch]>>,
    is_read: AtomicBool,
    /// Written in the statement itself.
    is_literal: bool,
}

impl HeldRows {
    /// A place without rows yet.
    pub fn new(name: String, columns: Vec<SourceColumn>) -> Self {
        Self { name, columns, rows: OnceLock::new(), is_read: AtomicBool::new(false), is_literal: false }
    }

    /// Rows that are written in the statement, in batches.
    pub fn of_literals(columns: Vec<SourceColumn>, rows: Vec<Batch>) -> Self {
        let rows = OnceLock::from(Arc::from(rows));
        Self { name: "VALUES".into(), columns, rows, is_read: AtomicBool::new(true), is_literal: true }
    }

    /// What it is called in the statement.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Notes that the statement reads it.
    pub fn note_read(&self) {
        self.is_read.store(true, Ordering::Relaxed);
    }

    /// Whether the statement reads it.
    pub fn is_read(&self) -> bool {
        self.is_read.load(Ordering::Relaxed)
    }

    /// Puts the rows in, once.
    pub fn fill(&self, rows: &[Batch]) -> Result<()> {
        self.rows.set(rows.into()).map_err(|_| Error::internal("rows that a statement holds were made twice"))
    }
}

impl TableSource for HeldRows {
    fn description(&self) -> String {
        format!("rows of {}", self.name)
    }

    fn columns(&self) -> &[SourceColumn] {
        &self.columns
    }

    fn row_count_estimate(&self) -> Option<u64> {
        self.rows.get().map(|rows| rows.iter().map(|batch| batch.len() as u64).sum())
    }

    fn may_wait(&self) -> bool {
        self.is_literal
    }

    fn is_literal(&self) -> bool {
        self.is_literal
    }

    fn scan(&self, request: ScanRequest) -> Result<Box<dyn SourceScan>> {
        let Some(rows) = self.rows.get() else {
            return Err(Error::internal(format!("the rows of {} are not there yet", self.name)));
        };
        // Rows that are written keep their order, also where a sequence numbers them.
        let per_task = if self.is_literal { rows.len().max(1) } else { BATCHES_PER_TASK };
        let next = AtomicUsize::new(0);
        Ok(Box::new(HeldScan { rows: Arc::clone(rows), columns: request.columns, per_task, next }))
    }
}

struct HeldScan {
    rows: Arc<[Batch]>,
    columns: Vec<usize>,
    /// Batches that are one morsel.
    per_task: usize,
    next: AtomicUsize,
}

impl SourceScan for HeldScan {
    fn next_task(&self) -> Result<Option<SourceTask>> {
        let start = self.next.fetch_add(self.per_task, Ordering::Relaxed);
        if start >= self.rows.len() {
            return Ok(None);
        }
        let end = self.rows.len().min(start + self.per_task);
        let column = |batch: &Batch, index: usize| batch.column(index).clone();
        let wanted = |batch: &Batch| {
            Batch::new(self.columns.iter().map(|&index| column(batch, index)).collect(), batch.len())
        };
        let batches: Vec<Result<Batch>> =
            self.rows[start..end].iter().map(|batch| Ok(wanted(batch))).collect();
        Ok(Some(Box::new(batches.into_iter())))
    }
}
