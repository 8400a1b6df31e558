//! What is left of a large result when its first rows are there: rows that are computed when they are asked for.
//!
//! A query waits only if nobody can tell: its functions give the same whenever they are called, and what it reads is as
//! of the statement's snapshot, or a file. Any other query is carried out to its end.

use crate::host::{Host, asking, caught};
use crate::result::QueryResult;
use crate::table_rows::Lent;
use inlay_exec::{ExecContext, RowStream};
use inlay_kernels::AggregateFunction;
use inlay_kernels::external::External;
use inlay_sql::plan::statement::Query;
use inlay_sql::plan::{Expr, Plan};
use inlay_sql::with_statement_stack;
use inlay_types::arrow::{ArrowArray, Exporter, StringLayout};
use inlay_types::limits;
use inlay_types::{Batch, Error, Interrupt, Interrupts, MemoryBudget, Reservation, Result};
use parking_lot::Mutex;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

/// Bytes of the batches of one part.
const PART_BYTES: usize = 4 << 20;

/// How a statement delivers a large result.
#[derive(Clone, Copy)]
pub(crate) struct Streaming<'a> {
    /// So many bytes of rows come at once.
    pub first_bytes: usize,
    /// Where the rest is put.
    pub rest: &'a Mutex<Option<Rest>>,
}

impl Streaming<'_> {
    /// Errors of the rest are in this statement.
    pub fn name_text(&self, sql: &str) {
        if let Some(rest) = &mut *self.rest.lock() {
            rest.text = sql.to_string();
        }
    }
}

/// Rows that another process computes.
pub(crate) trait Elsewhere: Send {
    /// About so many bytes of them, and how many bytes they are; none at the end.
    fn next_part(&mut self, bytes_wanted: usize, interrupt: &Interrupt) -> Result<(Vec<Batch>, u64)>;
}

/// What computes rows.
enum Source {
    Query(Box<RowStream>),
    Elsewhere(Box<dyn Elsewhere>),
}

impl Source {
    fn next_part(&mut self, bytes_wanted: usize, interrupt: Interrupt) -> Result<(Vec<Batch>, u64)> {
        match self {
            Self::Query(stream) => {
                stream.set_interrupt(interrupt);
                stream.next_part(bytes_wanted)
            }
            Self::Elsewhere(rows) => rows.next_part(bytes_wanted, &interrupt),
        }
    }
}

/// The rows behind those of a [`QueryResult`]. It holds what the query holds until it is read or dropped.
pub struct Rest {
    header: QueryResult,
    /// The statement, for errors.
    text: String,
    rows: Arc<PendingRows>,
    budget: MemoryBudget,
    /// Of the query, whose operators have it as well: each call that reads takes it up again.
    interrupt: Interrupt,
}

/// A call that reads rows.
pub(crate) struct Reading {
    /// How many interrupts there had been when it began.
    since: u64,
    /// Who is asked meanwhile whether to end.
    host: Option<Arc<dyn Host>>,
}

/// A query that waits.
pub(crate) struct PendingRows {
    /// Empty when the database was closed.
    stream: Mutex<Option<Source>>,
    is_detached: AtomicBool,
}

impl PendingRows {
    /// Lets go of the query if that was asked while it was read.
    fn settle(&self) {
        if self.is_detached.load(Ordering::Acquire)
            && let Some(mut stream) = self.stream.try_lock()
        {
            let stream = stream.take();
            drop(stream);
        }
    }
}

impl Lent for PendingRows {
    /// Does not wait for who reads: a function that the query calls may be the one that closes the database.
    fn detach(&self) {
        self.is_detached.store(true, Ordering::Release);
        self.settle();
    }
}

impl Rest {
    /// `header` has the names and types of the rows.
    pub(crate) fn new(stream: RowStream, header: QueryResult, context: &ExecContext) -> Self {
        Self::of(Source::Query(Box::new(stream)), header, context.budget.clone(), context.interrupt.clone())
    }

    /// The same of rows that another process computes.
    pub(crate) fn elsewhere(
        rows: Box<dyn Elsewhere>,
        header: QueryResult,
        budget: MemoryBudget,
        interrupt: Interrupt,
    ) -> Self {
        Self::of(Source::Elsewhere(rows), header, budget, interrupt)
    }

    fn of(source: Source, header: QueryResult, budget: MemoryBudget, interrupt: Interrupt) -> Self {
        let (stream, is_detached) = (Mutex::new(Some(source)), AtomicBool::new(false));
        let rows = Arc::new(PendingRows { stream, is_detached });
        Self { header, text: String::new(), rows, budget, interrupt }
    }

    /// That a call begins to read rows, or began when its host says so. An interrupt while the rows waited ends it, too.
    pub(crate) fn reading(&self, host: Option<&Arc<dyn Host>>) -> Reading {
        let settled = self.interrupt.session().map_or(0, Interrupts::settled);
        let entered = host.and_then(|host| host.entered());
        let since = entered.map_or(settled, |entered| entered.0.min(settled));
        Reading { since, host: host.cloned() }
    }

    /// What ends the call besides the query, which does not run all the time.
    pub(crate) fn interrupt(&self, reading: &Reading) -> Interrupt {
        asking(self.interrupt.beside(reading.since), reading.host.as_ref())
    }

    /// Fails if the call was interrupted. Asked while its first rows are read: that it has more to do is known here alone.
    pub(crate) fn check(&self, interrupt: &Interrupt) -> Result<()> {
        self.told(interrupt.check())
    }

    /// An outcome as an error of the statement; what an interrupt ended once it does not end again.
    fn told<T>(&self, outcome: Result<T>) -> Result<T> {
        if let (Err(Error::Interrupted), Some(session)) = (&outcome, self.interrupt.session()) {
            session.settle();
        }
        outcome.map_err(|error| error.in_text(&self.text))
    }

    /// What the database lets go of when it closes.
    pub(crate) fn lent(&self) -> Weak<dyn Lent> {
        Arc::<PendingRows>::downgrade(&self.rows)
    }

    /// Some more rows; `None` when there are no more. `host` is asked meanwhile whether to end.
    pub fn next(&self, host: Option<&Arc<dyn Host>>) -> Result<Option<QueryResult>> {
        self.next_within(&self.reading(host))
    }

    /// Some more rows for a call; `None` when there are no more.
    fn next_within(&self, reading: &Reading) -> Result<Option<QueryResult>> {
        let (batches, _) = self.read(reading, PART_BYTES)?;
        Ok((!batches.is_empty()).then(|| self.header.with_batches(batches)))
    }

    /// The rows of `before` and all that are left, which stay counted for as long as they are there.
    pub fn join(self, before: QueryResult, host: Option<&Arc<dyn Host>>) -> Result<QueryResult> {
        let (mut batches, mut held) = (before.into_batches()?, None);
        let reading = self.reading(host);
        loop {
            let (more, _) = self.read_reserved(&reading, PART_BYTES, &mut held)?;
            if more.is_empty() {
                return Ok(self.header.with_batches(batches).holding(held));
            }
            batches.extend(more);
        }
    }

    /// Computes all that is left, and keeps none of it.
    pub fn run_to_end(self, host: Option<&Arc<dyn Host>>) -> Result<()> {
        let reading = self.reading(host);
        while self.next_within(&reading)?.is_some() {}
        Ok(())
    }

    /// Some more batches and their bytes, which `held` is for from now on; none at the end.
    pub(crate) fn read_reserved(
        &self,
        reading: &Reading,
        bytes_wanted: usize,
        held: &mut Option<Reservation>,
    ) -> Result<(Vec<Batch>, usize)> {
        let (batches, bytes) = self.read(reading, bytes_wanted)?;
        match held {
            None => *held = Some(self.budget.reserve(bytes)?),
            Some(held) => held.resize(held.bytes() + bytes)?,
        }
        Ok((batches, bytes as usize))
    }

    fn read(&self, reading: &Reading, bytes_wanted: usize) -> Result<(Vec<Batch>, u64)> {
        let part = self.read_part(reading, bytes_wanted);
        self.rows.settle();
        part
    }

    fn read_part(&self, reading: &Reading, bytes_wanted: usize) -> Result<(Vec<Batch>, u64)> {
        let mut rows = match self.rows.stream.try_lock() {
            Some(rows) => rows,
            // A function that this query calls is the one that reads: that never ends.
            None if limits::current().is_some() => {
                return Err(Error::TransactionState {
                    message: "a function cannot fetch rows of the query that calls it".to_string(),
                }
                .with_hint("connection.cursor() gives another connection for queries inside of functions"));
            }
            None => self.rows.stream.lock(),
        };
        let Some(stream) = &mut *rows else {
            return Err(Error::Closed {
                message: "the database was closed before all rows of this result were read".to_string(),
            }
            .with_hint("fetch them first"));
        };
        let interrupt = asking(self.interrupt.taken_up(reading.since), reading.host.as_ref());
        let part = caught(|| with_statement_stack(|| stream.next_part(bytes_wanted, interrupt)));
        self.told(part)
    }
}

/// The rows of `first` and those behind them as Arrow struct arrays of at most about `rows` rows, each computed and
/// converted when it is asked for.
pub fn arrow_arrays(
    first: QueryResult,
    rest: Option<Rest>,
    exporter: &Exporter,
    rows: usize,
) -> impl Iterator<Item = Result<ArrowArray>> + Send + use<> {
    let exporter = exporter.clone();
    let mut rest = rest;
    let more = std::iter::from_fn(move || {
        let part = rest.as_ref()?.next(None);
        // After an error there is nothing.
        if part.is_err() {
            rest = None;
        }
        part.transpose()
    });
    let chunks = std::iter::once(Ok(first)).chain(more).flat_map(move |part| match part {
        Ok(part) => {
            let chunks = part.chunks(rows).into_iter().filter(|rows| !rows.is_empty());
            chunks.map(|rows| Ok((part.clone(), rows))).collect::<Vec<_>>()
        }
        Err(error) => vec![Err(error)],
    });
    chunks.flat_map(move |chunk| match chunk {
        Ok((part, rows)) => arrays_of(&part, &exporter, rows),
        Err(error) => vec![Err(error)],
    })
}

/// Rows as one array, or as several where their texts are more than offsets of 32 bits reach.
fn arrays_of(part: &QueryResult, exporter: &Exporter, rows: Range<usize>) -> Vec<Result<ArrowArray>> {
    match part.arrow_array(exporter, rows.clone()) {
        Err(Error::OutOfRange { .. }) if rows.len() > 1 && exporter.strings() == StringLayout::Utf8 => {
            let middle = rows.start + rows.len() / 2;
            let mut arrays = arrays_of(part, exporter, rows.start..middle);
            // Another error than that one is there again.
            if arrays.last().is_some_and(Result::is_ok) {
                arrays.extend(arrays_of(part, exporter, middle..rows.end));
            }
            arrays
        }
        array => vec![array],
    }
}

/// Whether a query may be carried out later: nobody can tell from its answer, nor from what it leaves behind.
pub(crate) fn may_wait(query: &Query) -> bool {
    may_plan_wait(&query.plan)
}

/// Whether an operator calls functions that read what the statement reads, which they can while it runs.
fn queries(plan: &Plan) -> bool {
    let aggregates: Vec<&AggregateFunction> = match plan {
        Plan::Aggregate { aggregates, .. } => {
            aggregates.iter().map(|(_, aggregate)| &*aggregate.function).collect()
        }
        Plan::Window { windows, .. } => {
            windows.iter().filter_map(|(_, window)| window.function.aggregate()).collect()
        }
        _ => Vec::new(),
    };
    let queries = |external: &External| external.callee().queries();
    if let Plan::TableCall { call, .. } = plan {
        return queries(&call.external);
    }
    aggregates.into_iter().filter_map(|aggregate| aggregate.external.as_deref()).any(queries)
        || plan.expressions().into_iter().any(|expr| expr.calls(&queries))
}

fn may_plan_wait(plan: &Plan) -> bool {
    let own = match plan {
        Plan::Source { source, .. } => source.may_wait(),
        Plan::Scan { .. }
        | Plan::Values { .. }
        | Plan::Project { .. }
        | Plan::Filter { .. }
        | Plan::Join { .. }
        | Plan::OrderedJoin { .. }
        | Plan::DependentJoin { .. }
        | Plan::Aggregate { .. }
        | Plan::Window { .. }
        | Plan::Unnest { .. }
        | Plan::TableCall { .. }
        | Plan::Sort { .. }
        | Plan::Limit { .. }
        | Plan::GroupLimit { .. }
        | Plan::SetOp { .. }
        | Plan::With { .. }
        | Plan::LimitBy { .. }
        | Plan::Sample { .. }
        | Plan::Recursive { .. }
        | Plan::SharedScan { .. } => true,
    } && !queries(plan);
    own && plan.expressions().into_iter().all(Expr::is_deterministic)
        && plan.inputs().into_iter().all(may_plan_wait)
}
