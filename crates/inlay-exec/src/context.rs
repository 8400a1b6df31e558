//! What every part of a running query shares.

use crate::progress::QueryProgress;
use crate::run::Analysis;
use crate::spill::TempSpace;
use crate::team::Workers;
use inlay_types::limits::{self, Limits};
use inlay_types::{Interrupt, MemoryBudget, Result};
use parking_lot::Mutex;
use std::any::Any;
use std::sync::Arc;

/// Workers, limits and the interrupt flag of one query.
#[derive(Clone)]
pub struct ExecContext {
    /// Who works, the calling thread among them.
    pub workers: Workers,
    /// Checked at least once per morsel by the driver, and inside long loops by operators.
    pub interrupt: Interrupt,
    /// Whatever grows with data is reserved here.
    pub budget: MemoryBudget,
    /// Where rows go that do not fit into the budget.
    pub temp: Arc<TempSpace>,
    /// Most rows that a source hands on at a time; [`inlay_types::VECTOR_SIZE`] but in tests.
    pub batch_rows: usize,
    /// How far the query is.
    pub progress: Arc<QueryProgress>,
    /// Where each operator's rows and time are noted, of all queries that are run with it; nowhere unless somebody asks.
    pub measured: Option<Arc<Mutex<Analysis>>>,
    /// Whether indexes by value are used.
    pub by_value: bool,
    /// See [`Limits::statement`].
    pub statement: Option<Arc<dyn Any + Send + Sync>>,
}

/// So few rows are not worth waking a worker.
pub(crate) const PARALLEL_ROWS_MIN: usize = 1 << 14;
const TASK_ROWS_MIN: usize = 1 << 12;
const TASK_ROWS_MAX: usize = 1 << 16;
/// So few items are not worth waking a worker to drop them.
const DISCARDED_MIN: usize = 64;

impl ExecContext {
    /// Runs `work(task)` for each task below `count` on the workers and the calling thread, and returns the first error.
    /// Checks the interrupt flag before each task.
    pub fn parallel(&self, count: usize, work: impl Fn(usize) -> Result<()> + Sync) -> Result<()> {
        self.workers.parallel(count, |task| {
            self.interrupt.check()?;
            self.limited(|| work(task))
        })
    }

    /// Into tasks of how many rows work on `rows` rows is cut: a few for each worker, but none that is small.
    pub(crate) fn task_rows(&self, rows: usize) -> usize {
        if rows <= PARALLEL_ROWS_MIN {
            return PARALLEL_ROWS_MIN;
        }
        rows.div_ceil(self.workers.count() * 4).clamp(TASK_ROWS_MIN, TASK_ROWS_MAX)
    }

    /// Drops items, by all workers if they are many: to free what others have allocated takes a while.
    pub(crate) fn discard<T: Send>(&self, mut items: Vec<T>) -> Result<()> {
        let share = items.len().div_ceil(self.workers.count()).max(DISCARDED_MIN);
        let mut shares = Vec::new();
        while items.len() > share {
            shares.push(Mutex::new(items.split_off(items.len() - share)));
        }
        shares.push(Mutex::new(items));
        self.parallel(shares.len(), |number| {
            std::mem::take(&mut *shares[number].lock());
            Ok(())
        })
    }

    /// So many workers, and no limit of memory.
    #[cfg(test)]
    pub(crate) fn for_tests(threads: usize) -> Self {
        Self {
            workers: Workers::new(threads),
            interrupt: Interrupt::new(),
            budget: MemoryBudget::unlimited(),
            temp: Arc::default(),
            batch_rows: inlay_types::VECTOR_SIZE,
            progress: Arc::default(),
            measured: None,
            statement: None,
            by_value: true,
        }
    }

    /// The same, for the calling thread alone.
    pub(crate) fn alone(&self) -> Self {
        Self { workers: self.workers.alone(), ..self.clone() }
    }

    /// Runs `work` on this thread; kernels below it know what they may use.
    pub(crate) fn limited<R>(&self, work: impl FnOnce() -> R) -> R {
        let statement = self.statement.clone();
        limits::with(
            Limits { budget: self.budget.clone(), interrupt: self.interrupt.clone(), statement },
            work,
        )
    }
}
