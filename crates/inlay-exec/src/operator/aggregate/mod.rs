//! Hash aggregation: GROUP BY, DISTINCT, and aggregates over everything.
//!
//! [`HashAggregate::new`] makes the shared state; [`HashAggregate::sink`] ends the pipeline below and
//! [`HashAggregate::source`] begins the one above. The source outputs the groups, then the aggregates.
//!
//! ```text
//! batch --programs--> keys, arguments --table--> group numbers --accumulators--> states      (each worker by itself)
//!
//! most values of a key     a value's place in their range is its group; output in parallel, merged place by place
//! few groups               merged by one thread when the input ends, but for accumulators that keep their rows
//! keys that index arrays   the groups of all workers become those of the first by their codes; distinct rows by ranges of groups
//! many groups, kept rows   each worker's groups are spread over partitions, which are merged and output in parallel
//! keys that ascend         groups need no table, however many, and are merged only where two workers' stretches of keys meet
//! more than fit a cache    the worker starts again with an empty table (rows fell into groups: a run is kept), or from
//!                          then on only partitions its rows (most rows were groups of their own)
//! no memory left           rows that accumulators keep go to files, by the same partitions; if that is not enough, the worker
//!                          keeps its groups and writes rows to files from then on. A partition that does not fit into memory
//!                          when it is merged is split again; a group that does not is computed alone, slot by slot: distinct
//!                          values by their hash, quantiles by reading its rows several times, ordered rows sorted in files
//! ```
//! - `spec`: expressions compiled, accumulators shared between aggregates.
//! - `table`, `domain`, `ascending`, `encode`, `packed`, `generic`: from keys to dense group numbers.
//! - `state`, `distinct`, `codes`, `scattered`: groups with accumulators and distinct rows. `kept`: rows of accumulators in files.
//! - `spans`, `partition`, `merge`, `part`, `distinct_rows`: from the workers' states to the result.
//!
//! Source: Leis et al., "Morsel-Driven Parallelism", SIGMOD 2014, section 4.4; it departs from it in the array and
//! packed tables, and in partitioning rows instead of groups when pre-aggregation does not pay.

mod ascending;
mod codes;
mod distinct;
mod distinct_rows;
mod domain;
mod encode;
mod generic;
mod joined;
mod kept;
mod merge;
mod packed;
mod part;
mod partition;
mod row_set;
mod scattered;
mod spans;
mod spec;
mod state;
mod table;
#[cfg(test)]
mod tests;

use crate::context::ExecContext;
use crate::expression::Layout;
use crate::pipeline::{DynSink, DynSource, Flow, Handout, Morsel, Sink, Source};
use crate::spill::{SpillFile, SpillPartitions, WORKING_MEMORY, is_refusal};
use inlay_sql::plan::{AggregateExpr, Expr};
use inlay_types::{Batch, Error, LogicalType, MemoryBudget, Reservation, Result, VECTOR_SIZE, limits};
use kept::KeptSpill;
use merge::{Collected, Merged};
use parking_lot::Mutex;
use partition::{By, ROW_PARTITIONS, RowSpill, Rows};
pub use row_set::RowSet;
use spec::{SharedSpec, Spec};
use state::{Scratch, State};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
pub(super) use table::{GroupTable, TableHints};

/// The values that a column has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyDomain {
    /// Integers in memory (`Value::as_stored_i128`): the least and the largest.
    Range(i128, i128),
    /// About so many distinct strings.
    Strings(u64),
}

/// What the planner knows of an aggregation.
#[derive(Clone)]
pub struct AggregateOptions {
    /// Which column is at which position of the input's batches.
    pub layout: Layout,
    /// Grouping expressions; none for exactly one output row.
    pub groups: Vec<Expr>,
    /// Aggregates; none for DISTINCT.
    pub aggregates: Vec<AggregateExpr>,
    /// Per group what statistics know of its values. A hint only: others are grouped correctly. May be shorter than `groups`.
    pub key_domains: Vec<Option<KeyDomain>>,
    /// Expected input rows.
    pub estimated_rows: Option<u64>,
    /// Expected groups.
    pub estimated_groups: Option<u64>,
    /// So many groups are enough, whichever they are; of DISTINCT alone, as aggregates need all rows of a group.
    pub groups_wanted: Option<u64>,
    /// Workers, limits and interrupt of the query.
    pub context: ExecContext,
}

/// The shared state of one aggregation.
pub struct HashAggregate {
    spec: SharedSpec,
    context: ExecContext,
    /// A worker's table is looked at when it has this many groups.
    groups_max: usize,
    /// A worker with so many groups ends the pipeline.
    groups_wanted: usize,
    collected: Mutex<Collected>,
    /// Rows of all workers that are refused memory.
    spill: OnceLock<SpillPartitions>,
    /// Rows that accumulators had kept.
    kept: OnceLock<KeptSpill>,
    merged: OnceLock<Merged>,
    next_morsel: AtomicUsize,
}

/// Groups in a worker's table before it is looked at.
const GROUPS_MAX: usize = 1 << 17;
/// The same when statistics promise that rows fall into groups of many rows.
const GROUPS_MAX_DENSE: usize = 1 << 20;
/// Rows per group from which pre-aggregation pays.
const REDUCTION_MIN: u64 = 2;
/// Memory and table size are looked at every so many batches.
const CHECK_INTERVAL: u32 = 8;
/// The same by bytes of texts.
const UNSEEN_MAX: usize = 1 << 20;

impl HashAggregate {
    /// Compiles the expressions.
    pub fn new(mut options: AggregateOptions) -> Result<Arc<Self>> {
        if let Some(wanted) = options.groups_wanted {
            // Few rows are expected to be looked at: no room for all that there might be.
            let most = wanted.saturating_add(VECTOR_SIZE as u64);
            options.estimated_groups = Some(options.estimated_groups.map_or(most, |groups| groups.min(most)));
            options.key_domains.clear();
        }
        let dense = match (options.estimated_rows, options.estimated_groups) {
            (Some(rows), Some(groups)) => groups <= GROUPS_MAX_DENSE as u64 && rows / groups.max(1) >= 8,
            _ => false,
        };
        Self::with_groups_max(options, if dense { GROUPS_MAX_DENSE } else { GROUPS_MAX })
    }

    fn with_groups_max(options: AggregateOptions, groups_max: usize) -> Result<Arc<Self>> {
        Ok(Arc::new(Self {
            spec: Arc::new(Spec::compile(&options)?),
            context: options.context,
            groups_max,
            groups_wanted: options.groups_wanted.map_or(usize::MAX, |wanted| wanted as usize),
            collected: Mutex::default(),
            spill: OnceLock::new(),
            kept: OnceLock::new(),
            merged: OnceLock::new(),
            next_morsel: AtomicUsize::new(0),
        }))
    }

    /// What workers reserve from: where rows can go to files instead, they leave some to others.
    fn worker_budget(&self) -> MemoryBudget {
        let budget = &self.context.budget;
        if self.can_spill() { budget.yielding() } else { budget.clone() }
    }

    fn can_spill(&self) -> bool {
        spilled_inputs(&self.spec).is_some() || self.spec.keeps_rows()
    }

    fn kept(&self) -> &KeptSpill {
        self.kept.get_or_init(|| KeptSpill::new(&self.spec, ROW_PARTITIONS, &self.context))
    }

    fn worker_state(&self, hints: TableHints) -> Result<State> {
        let mut state = State::new(&self.spec, hints)?;
        state.is_of_worker(self.context.workers.count() > 1);
        Ok(state)
    }

    /// The end of the pipeline below.
    pub fn sink(self: &Arc<Self>) -> Arc<dyn DynSink> {
        Arc::clone(self) as Arc<dyn DynSink>
    }

    /// The beginning of the pipeline above: groups, then aggregates. It can be run once.
    pub fn source(self: &Arc<Self>) -> Arc<dyn DynSource> {
        Arc::clone(self) as Arc<dyn DynSource>
    }
}

/// What one worker has collected.
struct Worker {
    scratch: Scratch,
    state: State,
    /// States that grew too large for the cache.
    full: Vec<State>,
    full_size: usize,
    /// Rows that are partitioned instead of aggregated.
    rows: Option<Rows>,
    /// Keys do not ascend.
    unordered: bool,
    /// Rows are written to files.
    spills: bool,
    row_spill: RowSpill,
    reservation: Reservation,
    batches: u32,
    /// Bytes of texts since memory was asked for last.
    unseen: usize,
    morsel: u32,
}

/// A worker once it has seen a batch, and the morsel that it is at.
#[derive(Default)]
pub struct Local {
    worker: Option<Worker>,
    morsel: u32,
}

impl Worker {
    fn new(aggregate: &HashAggregate) -> Result<Self> {
        let spec = &aggregate.spec;
        let mut reservation = aggregate.worker_budget().reserve(0)?;
        // Places are there from the first row on.
        let domain = spec.places_size.is_some_and(|size| reservation.resize(size).is_ok());
        let hints = TableHints { domain, ..spec.hints.clone() };
        Ok(Self {
            scratch: Scratch::new(spec),
            state: aggregate.worker_state(hints)?,
            full: Vec::new(),
            full_size: 0,
            rows: None,
            unordered: false,
            spills: false,
            row_spill: RowSpill::default(),
            reservation,
            batches: 0,
            unseen: 0,
            morsel: 0,
        })
    }

    fn start_morsel(&mut self, number: u32) {
        self.morsel = number;
        self.state.start_morsel(number);
    }

    fn consume(&mut self, batch: &Batch, aggregate: &HashAggregate) -> Result<()> {
        if let (true, Some(target)) = (self.spills, aggregate.spill.get()) {
            let by = By::of(&aggregate.spec);
            let rows = (batch, self.morsel);
            return self.row_spill.append_input(target, by, &aggregate.spec, rows, &mut self.scratch);
        }
        match (&mut self.rows, &aggregate.spec.inputs) {
            (Some(rows), Some(inputs)) => rows.append(&aggregate.spec, inputs, batch, &mut self.scratch)?,
            _ => {
                // Many groups are not entered into a table because some come late.
                let table = &self.state.table;
                if table.is_ascending()
                    && table.len() > aggregate.groups_max
                    && self.state.breaks_order(batch, &mut self.scratch)?
                {
                    self.unordered = true;
                    self.seal(aggregate, true)?;
                }
                self.state.consume(batch, &mut self.scratch)?;
            }
        }
        self.batches += 1;
        // Groups' keys, and values that are kept, are copied: a batch of long texts is worth many others.
        self.unseen += batch.text_size();
        if self.batches.is_multiple_of(CHECK_INTERVAL) || self.unseen > UNSEEN_MAX {
            self.unseen = 0;
            self.check(batch, aggregate)?;
        }
        Ok(())
    }

    fn check(&mut self, batch: &Batch, aggregate: &HashAggregate) -> Result<()> {
        aggregate.context.interrupt.check()?;
        if self.rows.is_none()
            && self.state.table.len() > aggregate.groups_max
            && !self.state.table.needs_no_hashes()
        {
            let pays = self.state.rows / self.state.table.len() as u64 >= REDUCTION_MIN;
            let is_hashed = self.state.table.is_hashed();
            self.seal(aggregate, true)?;
            let ordered = aggregate.spec.is_order_sensitive();
            if let (false, false, Some(inputs)) = (pays, ordered, &aggregate.spec.inputs) {
                self.rows = Some(Rows::new(&input_types(inputs, batch), is_hashed));
            }
        }
        match self.reserve() {
            Err(error) if is_refusal(&error) => self.relieve(batch, aggregate, error),
            other => other,
        }
    }

    fn reserve(&mut self) -> Result<()> {
        let size = self.memory_size();
        // Merging the workers' groups takes memory, too. Tables and the values that aggregates keep become large; what is full
        // doubles, and the old one is there until all is moved.
        let doubled = self.state.memory_size() as u64;
        match self.reservation.resize(size + size / 2 + doubled) {
            Err(error) if is_refusal(&error) && size <= WORKING_MEMORY => Ok(()),
            other => other,
        }
    }

    fn memory_size(&self) -> u64 {
        let rows = self.rows.as_ref().map_or(0, Rows::memory_size);
        (self.state.memory_size() + self.full_size + rows) as u64
    }

    /// Starts again with an empty table.
    fn seal(&mut self, aggregate: &HashAggregate, keep_array: bool) -> Result<()> {
        let hints = TableHints { unordered: self.unordered, ..aggregate.spec.hints.clone() };
        let next = aggregate.worker_state(hints)?;
        let mut full = std::mem::replace(&mut self.state, next);
        self.state.start_morsel(self.morsel);
        full.leave_domain()?;
        full.seal(keep_array);
        self.full_size += full.memory_size();
        self.full.push(full);
        Ok(())
    }

    /// Memory was refused: rows that accumulators keep go to files. If there are none, or that is not enough, all rows do from now on.
    fn relieve(&mut self, batch: &Batch, aggregate: &HashAggregate, mut refused: Error) -> Result<()> {
        let spec = &aggregate.spec;
        if spec.keeps_rows() {
            for state in self.full.iter_mut().chain([&mut self.state]) {
                aggregate.kept().drain(spec, state)?;
            }
            self.full_size = self.full.iter().map(State::memory_size).sum();
            if aggregate.kept().is_hopeless(spec, &aggregate.context) {
                return Err(refused);
            }
            match self.reserve() {
                Err(error) if is_refusal(&error) => refused = error,
                other => return other,
            }
        }
        self.spill(batch, aggregate, refused)
    }

    /// Groups stay as they are, rows go to files from now on.
    fn spill(&mut self, batch: &Batch, aggregate: &HashAggregate, refused: Error) -> Result<()> {
        let Some(inputs) = spilled_inputs(&aggregate.spec) else { return Err(refused) };
        let mut types = input_types(inputs, batch);
        if aggregate.spec.is_order_sensitive() {
            types.push(LogicalType::UInteger);
        }
        let target = aggregate.spill.get_or_init(|| {
            SpillPartitions::new(&SpillFile::new(&aggregate.context), &types, ROW_PARTITIONS)
        });
        if self.state.rows > 0 {
            self.seal(aggregate, false)?;
        }
        if let Some(rows) = self.rows.take() {
            rows.write(target)?;
        }
        self.spills = true;
        // What grew since memory was asked for last was not reserved; it is little.
        let _ = self.reservation.resize(self.memory_size());
        Ok(())
    }
}

/// The columns that are written if rows go to files. Without groups they do only if distinct arguments are what takes
/// memory, by which they can be partitioned.
fn spilled_inputs(spec: &Spec) -> Option<&Vec<usize>> {
    let partitioned = !spec.group_types.is_empty() || !spec.distincts.is_empty();
    spec.inputs.as_ref().filter(|inputs| !inputs.is_empty() && partitioned)
}

fn input_types(inputs: &[usize], batch: &Batch) -> Vec<LogicalType> {
    inputs.iter().map(|&input| batch.column(input).logical_type()).collect()
}

impl Sink for HashAggregate {
    type Local = Local;

    fn local(&self) -> Local {
        Local::default()
    }

    fn handout(&self) -> Handout {
        Handout::Apart
    }

    fn start_morsel(&self, number: usize, local: &mut Local) {
        local.morsel = u32::try_from(number).unwrap_or(u32::MAX);
        if let Some(worker) = &mut local.worker {
            worker.start_morsel(local.morsel);
        }
    }

    fn consume(&self, input: Batch, local: &mut Local) -> Result<Flow> {
        let worker = match &mut local.worker {
            Some(worker) => worker,
            None => {
                let worker = local.worker.insert(Worker::new(self)?);
                worker.start_morsel(local.morsel);
                worker
            }
        };
        worker.consume(&input, self)?;
        Ok(if worker.state.table.len() >= self.groups_wanted { Flow::Done } else { Flow::More })
    }

    fn combine(&self, local: Local) -> Result<()> {
        let Some(mut worker) = local.worker else { return Ok(()) };
        let size = worker.memory_size();
        match worker.reservation.resize(size) {
            // What grew within the few batches since memory was asked for last; the input is at its end.
            Err(error) if is_refusal(&error) && (self.can_spill() || size <= WORKING_MEMORY) => {}
            other => other?,
        }
        let mut collected = self.collected.lock();
        collected.states.extend(worker.full);
        if worker.state.rows > 0 {
            collected.states.push(worker.state);
        }
        collected.rows.extend(worker.rows);
        collected.reservations.push(worker.reservation);
        Ok(())
    }

    fn finalize(&self, context: &ExecContext) -> Result<()> {
        let mut collected = self.collected.lock();
        if let Some(target) = self.spill.get() {
            for rows in std::mem::take(&mut collected.rows) {
                rows.write(target)?;
            }
            collected.spilled = target.finish()?;
        }
        let was_short = self.spill.get().is_some() || self.kept.get().is_some();
        let keeps_rows = self.spec.keeps_rows();
        if keeps_rows && (was_short || kept::is_tight(&self.spec, &collected.states, context)?) {
            collected.kept = self.kept().drain_all(&self.spec, &mut collected.states, context)?;
        } else if keeps_rows && let [state] = &collected.states[..] {
            // What workers hold beyond the rows is for half of what the results take.
            match context.budget.reserve(kept::kept_size(&self.spec, state) as u64) {
                Ok(memory) => collected.reservations.push(memory),
                Err(error) if is_refusal(&error) => {
                    collected.kept = self.kept().drain_all(&self.spec, &mut collected.states, context)?;
                }
                Err(error) => return Err(error),
            }
        }
        if was_short || !collected.kept.is_empty() {
            collected.release();
        }
        let merged = limits::step(1, || merge::merge(&self.spec, &mut collected, context))?;
        collected.count(&merged, context)?;
        self.merged.set(merged).map_err(|_| Error::internal("an aggregation was finalized twice"))
    }
}

impl Source for HashAggregate {
    type Local = Scratch;

    fn start(&self, _context: &ExecContext) -> Result<usize> {
        Ok(self.merged()?.morsels())
    }

    fn local(&self) -> Scratch {
        Scratch::new(&self.spec)
    }

    fn run_morsel(
        &self,
        local: &mut Scratch,
        begin: &mut dyn FnMut(usize),
        push: &mut dyn FnMut(Batch) -> Result<Flow>,
    ) -> Result<Morsel> {
        let merged = self.merged()?;
        let morsel = self.next_morsel.fetch_add(1, Ordering::Relaxed);
        if morsel >= merged.morsels() {
            return Ok(Morsel::Exhausted);
        }
        begin(morsel);
        merged
            .output(&self.spec, morsel, &self.context, local, &mut |batch| Ok(push(batch)? == Flow::More))?;
        Ok(Morsel::Pushed)
    }
}

impl HashAggregate {
    fn merged(&self) -> Result<&Merged> {
        self.merged.get().ok_or_else(|| Error::internal("an aggregation was read before it was finalized"))
    }
}
