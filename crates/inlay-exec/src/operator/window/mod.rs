//! Window functions: values of each row computed from the rows around it.
//!
//! One operator computes all functions of one PARTITION BY and ORDER BY (a stage); functions of other orders are stages of
//! their own, one behind the other. Rows and operands are collected by the workers, put into whole columns and sorted
//! ([`crate::operator::order`]); what functions need to know of all rows is prepared (prefix sums, segment trees; [`aggregate`]), and the
//! values are made while the rows are read again, a batch at a time, by all workers. Everything after the sort works on
//! ranges of rows and not on partitions, so one large partition and many small ones are equally parallel.
//!
//! The rows come out in the order of the stage; rows that tie are in the order of the input, whatever the number of
//! workers. Where no function asks for an order they may all be ([`unsorted`]).
//!
//! A worker that is refused memory hands its rows to an ordinary [`Sort`], which spills. Sorted rows are then read as a
//! stream, and some partitions at a time go the same way as above: fewer when memory is refused. A partition that does
//! not fit by itself is written to a file and read from the front ([`long`]).

mod aggregate;
mod anew;
mod counted;
mod frames;
mod long;
mod modes;
mod picked;
mod ranked;
mod sliding;
mod spec;
mod tree;
mod unsorted;
mod values;

pub(crate) use spec::{fits_any_order, same_stage};

use crate::concat::concat_columns;
use crate::context::ExecContext;
use crate::expression::{Layout, ProgramState};
use crate::operator::leaders::{Collected, Leaders};
use crate::operator::order::{self, KeyColumn, Order};
use crate::operator::sort::{Sort, SortOptions};
use crate::pipeline::{Flow, Handout, Morsel, Sink, Source};
use crate::spill::{SpillFile, SpilledRows, WORKING_MEMORY, is_refusal, rows_size};
use frames::{Chunk, RangeKeys};
use inlay_kernels::WindowKind;
use inlay_sql::plan::window::WindowCallee;
use inlay_sql::plan::{ColumnId, Expr, SortKey, WindowExpr};
use inlay_types::{Batch, Error, LogicalType, Reservation, Result, VECTOR_SIZE, Vector};
use long::Long;
use parking_lot::Mutex;
use spec::{Function, Operand, Spec};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use unsorted::Partitions;

/// Rows per morsel of the output.
const MORSEL_ROWS: usize = 16 * VECTOR_SIZE;
/// Rows that are read from a sort at once, at least.
const STREAM_ROWS: usize = 1 << 16;
/// Rows of an operand that one task computes.
const BLOCK_ROWS: usize = 1 << 16;
/// Fewer rows than this are sorted with those that no one wants.
const REDUCED_ROWS: u64 = 1 << 15;
/// Bytes per row for sorting, and per row and function for what is prepared.
const ORDER_BYTES: u64 = 72;
const FUNCTION_BYTES: u64 = 32;
/// Bytes per column of a batch besides its values.
const COLUMN_BYTES: usize = 128;

/// A stage in memory: whole partitions, in order, with what is prepared for their functions.
pub(super) struct Part {
    /// Stored columns of all rows, in the order of the input.
    columns: Vec<Vector>,
    len: usize,
    order: Order,
    /// For small work inside of a task.
    serial: ExecContext,
}

impl Part {
    fn type_of(&self, column: usize) -> LogicalType {
        self.columns[column].logical_type()
    }

    /// An operand's values at the places `from .. from + len`, flat.
    fn operand(&self, operand: &Operand, from: usize, len: usize) -> Result<Vector> {
        match operand {
            Operand::Constant(value, ty) => Ok(Vector::constant(ty.clone(), value, len)?.flatten()),
            Operand::Column(column) => Ok(match &self.order.rows {
                None => self.columns[*column].slice(from, len).flatten(),
                Some(rows) => self.columns[*column].take(&rows[from..from + len]).flatten(),
            }),
        }
    }

    /// An operand's values at places, flat.
    fn at(&self, operand: &Operand, places: &[u32]) -> Result<Vector> {
        match operand {
            Operand::Constant(value, ty) => Ok(Vector::constant(ty.clone(), value, places.len())?.flatten()),
            Operand::Column(column) => Ok(match &self.order.rows {
                None => self.columns[*column].take(places).flatten(),
                Some(rows) => {
                    let rows: Vec<u32> = places.iter().map(|&place| rows[place as usize]).collect();
                    self.columns[*column].take(&rows).flatten()
                }
            }),
        }
    }

    /// An operand's values in order, flat.
    fn sorted(&self, context: &ExecContext, operand: &Operand) -> Result<Vector> {
        let (Operand::Column(column), Some(_)) = (operand, &self.order.rows) else {
            return self.operand(operand, 0, self.len);
        };
        let blocks = self.len.div_ceil(BLOCK_ROWS);
        let pieces: Vec<Mutex<Option<Vector>>> = (0..blocks).map(|_| Mutex::new(None)).collect();
        context.parallel(blocks, |block| {
            let from = block * BLOCK_ROWS;
            *pieces[block].lock() = Some(self.operand(operand, from, BLOCK_ROWS.min(self.len - from))?);
            Ok(())
        })?;
        let pieces: Vec<Vector> = pieces.into_iter().filter_map(Mutex::into_inner).collect();
        let ty = self.columns[*column].logical_type().clone();
        let whole = concat_columns(context, std::slice::from_ref(&ty), &[pieces.iter().collect()])?;
        whole
            .into_iter()
            .next()
            .ok_or_else(|| Error::internal("a column of window functions was not put together"))
    }
}

/// What is known of a function besides the rows.
enum Prepared {
    Values(WindowKind, values::Picks),
    Picked(WindowKind, picked::Ranks),
    Aggregate(aggregate::Method),
}

/// A part with its functions prepared.
struct Stage {
    part: Part,
    functions: Vec<(Prepared, Option<RangeKeys>)>,
    /// Where rows are not sorted.
    partitions: Option<Partitions>,
    _memory: Option<Reservation>,
}

/// What the planner says of a stage.
pub struct WindowOptions {
    /// Which column is at which position of the input's batches.
    pub layout: Layout,
    /// Types of the input's columns.
    pub types: Vec<LogicalType>,
    /// Functions of one stage.
    pub windows: Vec<WindowExpr>,
    /// What drops rows that no one wants on their way here.
    pub leaders: Option<Arc<Leaders>>,
}

/// The shared state of one stage: sink below, source above. The batches of the source have the input's columns and then
/// the values of the functions.
pub struct Window {
    spec: Spec,
    context: ExecContext,
    leaders: Option<Arc<Leaders>>,
    collected: Mutex<Collected>,
    reservations: Mutex<Vec<Reservation>>,
    /// Takes the rows when memory is refused.
    sort: Arc<Sort>,
    spilled: Mutex<bool>,
    stage: OnceLock<Stage>,
    next: AtomicUsize,
    stream: Mutex<Stream>,
}

/// Sorted rows on their way from a sort.
struct Stream {
    batches: Vec<Batch>,
    rows: usize,
    exhausted: bool,
    morsels: usize,
    /// The partition that comes before `batches` and does not fit into memory.
    long: Option<Long>,
}

/// What is read from a sort at once: whole partitions, or rows of one with their values.
enum Streamed {
    Stage(Box<Stage>),
    Rows(Vec<Batch>),
}

/// What a worker has.
pub struct Local {
    state: ProgramState,
    morsel: usize,
    batches: Collected,
    /// Of the batches.
    bytes: u64,
    rows: u64,
    memory: Option<Reservation>,
    /// The sort's state, once rows go there.
    sort: Option<<Sort as Sink>::Local>,
}

impl Local {
    fn add(&mut self, batch: &Batch) {
        self.rows += batch.len() as u64;
        self.bytes += batch_size(batch);
    }
}

/// Bytes of a batch, with what each column takes besides its values.
fn batch_size(batch: &Batch) -> u64 {
    (rows_size(batch.columns(), batch.len()) + batch.columns().len() * COLUMN_BYTES) as u64
}

impl Window {
    /// Compiles a stage.
    pub fn new(options: WindowOptions, context: &ExecContext) -> Result<Arc<Self>> {
        let spec = Spec::compile(&options.layout, &options.types, &options.windows)?;
        let ids: Vec<ColumnId> = (0..spec.types.len() as u32).map(ColumnId).collect();
        let keys = spec.keys.iter().map(|key| SortKey {
            expr: Expr::Column { id: ids[key.column], ty: spec.types[key.column].clone() },
            descending: key.descending,
            nulls_first: key.nulls_first,
        });
        let sort = SortOptions {
            layout: Layout(ids.clone()),
            types: spec.types.clone(),
            keys: keys.collect(),
            limit: None,
            offset: 0,
            group_keys: 0,
        };
        let sort = Sort::new(sort, context)?;
        let stream = Stream { batches: Vec::new(), rows: 0, exhausted: false, morsels: 0, long: None };
        Ok(Arc::new(Self {
            spec,
            context: context.clone(),
            leaders: options.leaders,
            collected: Mutex::default(),
            reservations: Mutex::default(),
            sort,
            spilled: Mutex::new(false),
            stage: OnceLock::new(),
            next: AtomicUsize::new(0),
            stream: Mutex::new(stream),
        }))
    }

    /// Bytes that so many rows of so many bytes take until the end.
    fn needed(&self, bytes: u64, rows: u64) -> u64 {
        2 * bytes + rows * (ORDER_BYTES + FUNCTION_BYTES * self.spec.functions.len() as u64)
    }

    /// Reserves what the rows take while they are collected: where most of them go again, just that, else all that they will.
    fn reserve(&self, local: &mut Local, all: bool) -> Result<()> {
        let few = self.leaders.is_some() && !all;
        let bytes = if few { local.bytes } else { self.needed(local.bytes, local.rows) };
        match &mut local.memory {
            Some(memory) => memory.resize(bytes),
            None => self.context.budget.yielding().reserve(bytes).map(|memory| local.memory = Some(memory)),
        }
    }

    /// Removes rows that no one will want; whether that was worth it.
    fn reduce(&self, local: &mut Local) -> Result<bool> {
        let Some(leaders) = &self.leaders else { return Ok(false) };
        leaders.reduce(&mut local.batches)?;
        let before = local.rows;
        (local.rows, local.bytes) = (0, 0);
        let batches = std::mem::take(&mut local.batches);
        batches.values().flatten().for_each(|batch| local.add(batch));
        local.batches = batches;
        Ok(local.rows < before / 4 * 3)
    }

    /// Gives the rows collected so far to the sort.
    fn hand_over(&self, local: &mut Local) -> Result<()> {
        *self.spilled.lock() = true;
        let sort = local.sort.get_or_insert_with(|| Sink::local(&*self.sort));
        for (morsel, batches) in std::mem::take(&mut local.batches) {
            self.sort.start_morsel(morsel, sort);
            for batch in batches {
                local.bytes = local.bytes.saturating_sub(batch_size(&batch));
                self.sort.consume(batch, sort)?;
            }
            // The sort needs what these rows had; what was refused a moment ago is among the rest.
            let _ = local.memory.as_mut().map(|memory| memory.resize(local.bytes.min(memory.bytes())));
        }
        (local.bytes, local.rows, local.memory) = (0, 0, None);
        Ok(())
    }

    /// Gives all rows that are not there yet to the sort, which then begins to hand them out.
    fn sort_all(&self, collected: Collected, context: &ExecContext) -> Result<()> {
        let mut sort = Sink::local(&*self.sort);
        for (morsel, batches) in collected {
            self.sort.start_morsel(morsel, &mut sort);
            for batch in batches {
                self.sort.consume(batch, &mut sort)?;
            }
        }
        self.sort.combine(sort)?;
        self.sort.finalize(context)
    }

    /// Whole columns of some batches.
    fn columns(&self, context: &ExecContext, batches: &[Batch]) -> Result<Vec<Vector>> {
        let pieces: Vec<Vec<&Vector>> = (0..self.spec.types.len())
            .map(|column| batches.iter().map(|batch| batch.column(column)).collect())
            .collect();
        let columns = concat_columns(context, &self.spec.types, &pieces)?;
        Ok(columns.into_iter().map(order::sortable).collect())
    }

    fn stage(&self, context: &ExecContext, batches: &[Batch], memory: Option<Reservation>) -> Result<Stage> {
        let len = batches.iter().map(Batch::len).sum();
        if len >= u32::MAX as usize {
            return Err(Error::unsupported("window functions over more than 4,294,967,294 rows"));
        }
        let columns = self.columns(context, batches)?;
        let keys: Vec<KeyColumn<'_>> = self.spec.keys.iter().map(|key| key.of(&columns)).collect();
        let partitions = unsorted::partitions(context, &self.spec, &keys, len)?;
        let order = match &partitions {
            Some(_) => Order::default(),
            None => order::sort(context, &keys, self.spec.partition_count, len)?,
        };
        drop(keys);
        let serial = context.alone();
        let part = Part { columns, len, order, serial };
        let mut functions = Vec::with_capacity(self.spec.functions.len());
        for function in &self.spec.functions {
            let prepared = if let Some(partitions) = &partitions
                && let WindowCallee::Aggregate(callee) = &function.callee
            {
                let values = unsorted::values(context, &part, function, callee, partitions)?;
                (Prepared::Aggregate(aggregate::Method::Whole(values)), None)
            } else {
                self.prepare(context, &part, function)?
            };
            functions.push(prepared);
        }
        let mut memory = memory;
        let extra: usize = functions.iter().map(|(prepared, _)| prepared.memory_size()).sum();
        match memory.as_mut().map_or(Ok(()), |memory| memory.grow(extra as u64)) {
            // Other workers have parts too; what this one takes to get on is little.
            Err(error) if is_refusal(&error) && extra as u64 <= WORKING_MEMORY => {}
            outcome => outcome?,
        }
        Ok(Stage { part, functions, partitions, _memory: memory })
    }

    fn prepare(
        &self,
        context: &ExecContext,
        part: &Part,
        function: &Function,
    ) -> Result<(Prepared, Option<RangeKeys>)> {
        let prepared = match &function.callee {
            WindowCallee::Aggregate(callee) => {
                Prepared::Aggregate(aggregate::prepare(context, part, function, callee)?)
            }
            WindowCallee::Window(callee) if !function.arg_order.is_empty() => {
                Prepared::Picked(callee.kind, picked::Ranks::new(context, part, function)?)
            }
            WindowCallee::Window(callee) => {
                let wants = function.ignore_nulls || callee.kind == WindowKind::Fill;
                let valid = match function.args.first().filter(|_| wants) {
                    None => None,
                    Some(argument) => {
                        let vector = part.sorted(context, argument)?;
                        let key = match function.args.get(1).filter(|_| callee.kind == WindowKind::Fill) {
                            None => None,
                            Some(key) => Some(part.sorted(context, key)?),
                        };
                        let is_valid = |place: &u32| {
                            let place = *place as usize;
                            !vector.is_null(place) && key.as_ref().is_none_or(|key| !key.is_null(place))
                        };
                        Some((0..part.len as u32).filter(is_valid).collect())
                    }
                };
                Prepared::Values(callee.kind, values::Picks { valid })
            }
        };
        let keys = match function.frame.range_key {
            Some(key) => {
                let vector = part.sorted(context, &Operand::Column(key.column))?;
                Some(RangeKeys::new(context, vector, key.descending, key.nulls_first)?)
            }
            None => None,
        };
        Ok((prepared, keys))
    }

    /// The rows at the places `from .. from + len` with their values.
    fn batch(&self, stage: &Stage, from: usize, len: usize) -> Result<Batch> {
        let part = &stage.part;
        let chunk = match &stage.partitions {
            Some(partitions) => Chunk::unsorted(&partitions.of_rows, from, len),
            None => Chunk::new(part, from, len),
        };
        let input = &part.columns[..self.spec.input_count];
        let mut columns: Vec<Vector> = match &part.order.rows {
            None => input.iter().map(|column| column.slice(from, len)).collect(),
            Some(rows) => input.iter().map(|column| column.take(&rows[from..from + len])).collect(),
        };
        for (function, (prepared, keys)) in self.spec.functions.iter().zip(&stage.functions) {
            columns.push(self.values(part, function, prepared, keys.as_ref(), &chunk)?);
        }
        Ok(Batch::new(columns, len))
    }

    /// A function's values for some rows of a part.
    fn values(
        &self,
        part: &Part,
        function: &Function,
        prepared: &Prepared,
        keys: Option<&RangeKeys>,
        chunk: &Chunk,
    ) -> Result<Vector> {
        let frames = if prepared.has_frames() {
            let frames = frames::frames(part, chunk, &function.frame, keys)?;
            frames::without(chunk, frames, function.frame.exclude)
        } else {
            Vec::new()
        };
        match (prepared, &function.callee) {
            (Prepared::Aggregate(method), WindowCallee::Aggregate(callee)) => {
                aggregate::eval(part, function, callee, method, chunk, &frames)
            }
            (Prepared::Values(kind, picks), _) => values::eval(part, function, *kind, picks, chunk, &frames),
            (Prepared::Picked(kind, ranks), _) => picked::eval(part, function, *kind, ranks, chunk, &frames),
            _ => Err(Error::internal("a window function was prepared as another")),
        }
    }

    /// Reads whole partitions from the sort, or some rows of one that does not fit into memory.
    fn next_part(&self) -> Result<Option<(usize, Streamed)>> {
        let mut stream = self.stream.lock();
        if let Some(rows) = self.next_rows(&mut stream)? {
            return Ok(Some(rows));
        }
        let mut memory = self.context.budget.reserve(0)?;
        let row_bytes = self.spec.types.iter().map(|ty| ty.physical().size() as u64).sum();
        // All workers together are content with an eighth of the memory.
        let per_row = self.needed(row_bytes, 1).max(1) * self.context.workers.count() as u64;
        let rows_wanted = (self.context.budget.limit() / (8 * per_row)).min(STREAM_ROWS as u64) as usize;
        let end = loop {
            self.context.interrupt.check()?;
            if stream.exhausted {
                break stream.rows;
            }
            if stream.rows >= rows_wanted
                && let Some(end) = self.last_start(&stream.batches)
            {
                break end;
            }
            self.pull(&mut stream)?;
            let bytes: usize =
                stream.batches.iter().map(|batch| rows_size(batch.columns(), batch.len())).sum();
            let needed = self.needed(bytes as u64, stream.rows as u64);
            match crate::spill::resize_or_work(&mut memory, needed) {
                // What is complete goes first, at the price of a few batches that are not accounted for.
                Err(error) if is_refusal(&error) => match self.last_start(&stream.batches) {
                    Some(end) => break end,
                    None => {
                        drop(memory);
                        self.begin_long(&mut stream, error)?;
                        return self.next_rows(&mut stream);
                    }
                },
                outcome => outcome?,
            }
        };
        if end == 0 {
            return Ok(None);
        }
        let (mut batches, mut rest, mut left) = (Vec::new(), Vec::new(), end);
        for batch in std::mem::take(&mut stream.batches) {
            let len = batch.len().min(left);
            if len > 0 {
                batches.push(batch.slice(0, len));
            }
            if len < batch.len() {
                rest.push(batch.slice(len, batch.len() - len));
            }
            left -= len;
        }
        stream.batches = rest;
        stream.rows -= end;
        stream.morsels += 1;
        let number = stream.morsels - 1;
        drop(stream);
        let context = self.context.alone();
        Ok(Some((number, Streamed::Stage(Box::new(self.stage(&context, &batches, Some(memory))?)))))
    }

    /// Reads some rows from the sort.
    fn pull(&self, stream: &mut Stream) -> Result<()> {
        let mut pulled = Vec::new();
        let morsel = self.sort.run_morsel(&mut (), &mut |_| {}, &mut |batch| {
            pulled.push(batch);
            Ok(Flow::More)
        });
        stream.exhausted = morsel? == Morsel::Exhausted;
        stream.rows += pulled.iter().map(Batch::len).sum::<usize>();
        stream.batches.append(&mut pulled);
        Ok(())
    }

    /// Writes the partition that begins in the stream, and that memory was refused for, to a file.
    fn begin_long(&self, stream: &mut Stream, refused: Error) -> Result<()> {
        if !long::is_possible(&self.spec) {
            return Err(indivisible(refused));
        }
        let mut rows = SpilledRows::new(&SpillFile::new(&self.context), &self.spec.types);
        let mut first: Option<Batch> = None;
        loop {
            self.context.interrupt.check()?;
            let mut batches = std::mem::take(&mut stream.batches).into_iter();
            stream.rows = 0;
            while let Some(batch) = batches.next() {
                let first = first.get_or_insert_with(|| batch.slice(0, 1));
                let own = partition_point(batch.len(), |row| self.same_partition(&batch, row, first, 0));
                if own > 0 {
                    rows.push(batch.slice(0, own).columns(), own)?;
                }
                if own < batch.len() {
                    stream.batches = vec![batch.slice(own, batch.len() - own)];
                    stream.batches.extend(batches);
                    stream.rows = stream.batches.iter().map(Batch::len).sum();
                    break;
                }
            }
            if stream.rows > 0 || stream.exhausted {
                break;
            }
            self.pull(stream)?;
        }
        stream.long = Some(Long::new(self, rows)?);
        Ok(())
    }

    /// The next rows of a partition in a file; `None` if there is none, or it is at its end.
    fn next_rows(&self, stream: &mut Stream) -> Result<Option<(usize, Streamed)>> {
        let Some(long) = &mut stream.long else { return Ok(None) };
        let batches = long.next(self)?;
        if batches.is_empty() {
            stream.long = None;
            return Ok(None);
        }
        stream.morsels += 1;
        Ok(Some((stream.morsels - 1, Streamed::Rows(batches))))
    }

    /// Whether two rows are of one partition.
    fn same_partition(&self, left: &Batch, left_row: usize, right: &Batch, right_row: usize) -> bool {
        self.spec.keys[..self.spec.partition_count].iter().all(|key| {
            let (left, right) = (left.column(key.column), right.column(key.column));
            match (left.is_null(left_row), right.is_null(right_row)) {
                (false, false) => left.get(left_row).total_cmp(&right.get(right_row)).is_eq(),
                (left, right) => left && right,
            }
        })
    }

    /// Where the last partition begins, if another is before it.
    fn last_start(&self, batches: &[Batch]) -> Option<usize> {
        let last = batches.last()?;
        let mut start: usize = batches.iter().map(Batch::len).sum();
        for batch in batches.iter().rev() {
            // Rows of the last partition are at the end of the batch.
            let is_before = |row| !self.same_partition(batch, row, last, last.len() - 1);
            let low = partition_point(batch.len(), is_before);
            start -= batch.len() - low;
            if low > 0 {
                return Some(start);
            }
        }
        None
    }
}

impl Prepared {
    fn has_frames(&self) -> bool {
        match self {
            Self::Values(kind, _) => {
                matches!(kind, WindowKind::FirstValue | WindowKind::LastValue | WindowKind::NthValue)
            }
            Self::Picked(..) => true,
            Self::Aggregate(method) => !matches!(method, aggregate::Method::Whole(_)),
        }
    }

    fn memory_size(&self) -> usize {
        match self {
            Self::Aggregate(method) => method.memory_size(),
            Self::Values(..) | Self::Picked(..) => 0,
        }
    }
}

/// The first of `0 .. len` for which `is_before` does not hold any more.
fn partition_point(len: usize, is_before: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, len);
    while low < high {
        let middle = low + (high - low) / 2;
        if is_before(middle) { low = middle + 1 } else { high = middle }
    }
    low
}

/// Says that memory was refused for a partition that cannot be computed in pieces.
fn indivisible(refused: Error) -> Error {
    refused.because(
        "a partition of window functions that does not fit into memory must have functions that can be \
                     computed from its first row to its last",
    )
}

impl Sink for Window {
    type Local = Local;

    fn local(&self) -> Local {
        Local {
            state: self.spec.program.state(),
            morsel: 0,
            batches: BTreeMap::new(),
            bytes: 0,
            rows: 0,
            memory: None,
            sort: None,
        }
    }

    fn handout(&self) -> Handout {
        Handout::Apart
    }

    fn start_morsel(&self, number: usize, local: &mut Local) {
        local.morsel = number;
        if let Some(sort) = &mut local.sort {
            self.sort.start_morsel(number, sort);
        }
    }

    fn consume(&self, input: Batch, local: &mut Local) -> Result<Flow> {
        let len = input.len();
        let computed = self.spec.program.eval_all(&mut local.state, &input)?;
        let mut columns = input.into_columns();
        columns.extend(computed);
        let batch = Batch::new(columns, len);
        if let Some(sort) = &mut local.sort {
            return self.sort.consume(batch, sort);
        }
        local.add(&batch);
        local.batches.entry(local.morsel).or_default().push(batch);
        match self.reserve(local, false) {
            Err(error) if is_refusal(&error) => {
                if !self.reduce(local)? || self.reserve(local, false).is_err() {
                    self.hand_over(local)?;
                }
            }
            other => other?,
        }
        Ok(Flow::More)
    }

    fn combine(&self, mut local: Local) -> Result<()> {
        let local = &mut local;
        if local.sort.is_none() && self.leaders.is_some() {
            if local.rows >= REDUCED_ROWS {
                self.reduce(local)?;
            }
            match self.reserve(local, true) {
                Err(error) if is_refusal(&error) => self.hand_over(local)?,
                other => other?,
            }
        }
        if let Some(sort) = local.sort.take() {
            return self.sort.combine(sort);
        }
        let mut collected = self.collected.lock();
        for (morsel, mut batches) in std::mem::take(&mut local.batches) {
            collected.entry(morsel).or_default().append(&mut batches);
        }
        self.reservations.lock().extend(local.memory.take());
        Ok(())
    }

    fn finalize(&self, context: &ExecContext) -> Result<()> {
        let collected = std::mem::take(&mut *self.collected.lock());
        let mut reservations = std::mem::take(&mut *self.reservations.lock());
        if *self.spilled.lock() {
            // Some rows are with the sort, so all go there.
            drop(reservations);
            return self.sort_all(collected, context);
        }
        let batches: Vec<Batch> = collected.values().flatten().cloned().collect();
        let bytes = reservations.iter().map(Reservation::bytes).sum();
        let mut memory = reservations.pop();
        reservations.clear();
        if let Some(memory) = &mut memory {
            memory.resize(bytes)?;
        }
        let stage = match self.stage(context, &batches, memory) {
            // What is prepared does not fit; a part of it at a time may.
            Err(error) if is_refusal(&error) => {
                drop(batches);
                return self.sort_all(collected, context);
            }
            stage => stage?,
        };
        self.stage.set(stage).map_err(|_| Error::internal("a window was finished twice"))
    }
}

impl Source for Window {
    type Local = ();

    fn start(&self, context: &ExecContext) -> Result<usize> {
        self.next.store(0, Ordering::Relaxed);
        match self.stage.get() {
            Some(stage) => Ok(stage.part.len.div_ceil(MORSEL_ROWS)),
            None => self.sort.start(context).map(|_| usize::MAX),
        }
    }

    fn local(&self) {}

    fn run_morsel(
        &self,
        _local: &mut (),
        begin: &mut dyn FnMut(usize),
        push: &mut dyn FnMut(Batch) -> Result<Flow>,
    ) -> Result<Morsel> {
        let streamed;
        let (number, stage, from, to) = match self.stage.get() {
            Some(stage) => {
                let number = self.next.fetch_add(1, Ordering::Relaxed);
                let from = number.saturating_mul(MORSEL_ROWS);
                (number, stage, from, stage.part.len.min(from.saturating_add(MORSEL_ROWS)))
            }
            None => match self.next_part()? {
                None => return Ok(Morsel::Exhausted),
                Some((number, Streamed::Rows(batches))) => {
                    begin(number);
                    for batch in batches {
                        if push(batch)? == Flow::Done {
                            break;
                        }
                    }
                    return Ok(Morsel::Pushed);
                }
                Some((number, Streamed::Stage(stage))) => {
                    streamed = stage;
                    (number, &*streamed, 0, streamed.part.len)
                }
            },
        };
        if from >= to {
            return Ok(Morsel::Exhausted);
        }
        begin(number);
        let mut place = from;
        while place < to {
            self.context.interrupt.check()?;
            let len = VECTOR_SIZE.min(to - place);
            if push(self.batch(stage, place, len)?)? == Flow::Done {
                break;
            }
            place += len;
        }
        Ok(Morsel::Pushed)
    }
}
