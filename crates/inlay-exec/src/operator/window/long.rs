//! A partition that does not fit into memory: its rows lie in a file, in order, and are read from the front.
//!
//! ```text
//! position   row_number, ranks, ntile, percent_rank, cume_dist     from counters, where peers end, and the number of rows
//! running    aggregates, first_value and others whose frames       one state, fed by a reader that is ahead of the rows by
//!            begin with the partition                              as much as frames reach behind them
//! near       lag, lead, and frames of ROWS between two offsets     as in memory, on the rows around a piece
//! ```
//! What depends on all rows in another way (DISTINCT, RANGE with offsets, medians of frames that grow) is not done: the
//! query runs out of memory, and says why.

use super::spec::{Bound, FrameSpec, Function, Key, Operand, Spec};
use super::{Chunk, Part, Prepared, RangeKeys, Window, aggregate, values};
use crate::operator::order::KeyColumn;
use crate::spill::{SpillReader, SpilledRows, WORKING_MEMORY, is_refusal, rows_size};
use inlay_kernels::WindowKind;
use inlay_kernels::aggregate::GroupedAccumulator;
use inlay_kernels::function::AggregateKind;
use inlay_sql::plan::window::{FrameExclusion, FrameUnits, WindowCallee};
use inlay_types::{Batch, Error, LogicalType, MemoryBudget, Reservation, Result, VECTOR_SIZE, Value, Vector};
use std::collections::VecDeque;

/// Rows of a piece, unless functions look further than that.
const PIECE_ROWS: u64 = 16 * VECTOR_SIZE as u64;

/// Bytes that the state of an aggregate of which only rules are known may have while its frame grows.
const DECLARED_SIZE_MAX: usize = 64 << 10;

/// How a function's values are found.
enum Way {
    Position(WindowKind),
    Running(Reach),
    /// `first_value`, `last_value` or `nth_value` of a frame that begins with the partition.
    Picked(Reach, Pick),
    /// Looks so many rows back and ahead.
    Near(u64, u64),
}

/// Where frames that begin with the partition end.
#[derive(Clone, Copy)]
enum Reach {
    /// So many rows behind the row.
    Rows(i64),
    /// With the row's last peer.
    Peers,
    /// With the partition.
    All,
}

#[derive(Clone, Copy)]
enum Pick {
    Last,
    /// Counted from 1.
    Nth(u64),
}

fn offset(operand: &Operand) -> Option<i64> {
    match operand {
        Operand::Constant(value, _) => i64::try_from(value.as_stored_i128()?).ok(),
        Operand::Column(_) => None,
    }
}

/// A bound of ROWS, as rows behind the row.
fn bound_of_rows(bound: &Bound) -> Option<i64> {
    match bound {
        Bound::CurrentRow => Some(0),
        Bound::Preceding(operand) => offset(operand).filter(|rows| *rows >= 0).map(|rows| -rows),
        Bound::Following(operand) => offset(operand).filter(|rows| *rows >= 0),
        Bound::UnboundedPreceding | Bound::UnboundedFollowing => None,
    }
}

fn reach(frame: &FrameSpec) -> Option<Reach> {
    if !frame.is_running() {
        return None;
    }
    match (frame.units, &frame.end) {
        (_, Bound::UnboundedFollowing) => Some(Reach::All),
        (FrameUnits::Rows, end) => bound_of_rows(end).map(Reach::Rows),
        (FrameUnits::Range | FrameUnits::Groups, Bound::CurrentRow) => Some(Reach::Peers),
        (FrameUnits::Range | FrameUnits::Groups, _) => None,
    }
}

/// How far a frame of ROWS between two offsets looks back and ahead.
fn near(frame: &FrameSpec) -> Option<Way> {
    let plain = matches!(frame.exclude, FrameExclusion::NoOthers | FrameExclusion::CurrentRow);
    if frame.units != FrameUnits::Rows || !plain {
        return None;
    }
    let (start, end) = (bound_of_rows(&frame.start)?, bound_of_rows(&frame.end)?);
    let back = start.min(end).min(0).unsigned_abs();
    Some(Way::Near(back, start.max(end).max(0).unsigned_abs()))
}

fn way(function: &Function) -> Option<Way> {
    if let WindowCallee::Aggregate(callee) = &function.callee {
        let Some(reach) = reach(&function.frame) else { return near(&function.frame) };
        let distinct = function.distinct && callee.kind.is_distinct_sensitive() && !function.args.is_empty();
        let whole = matches!(reach, Reach::All);
        let grows = aggregate::is_ordered(function, callee) || aggregate::grows(callee.kind);
        return (!distinct && (whole || !grows)).then_some(Way::Running(reach));
    }
    let WindowCallee::Window(callee) = &function.callee else { return None };
    if !function.arg_order.is_empty() {
        return None;
    }
    match callee.kind {
        kind @ (WindowKind::RowNumber
        | WindowKind::Rank
        | WindowKind::DenseRank
        | WindowKind::PercentRank
        | WindowKind::CumeDist
        | WindowKind::Ntile) => Some(Way::Position(kind)),
        kind @ (WindowKind::Lag | WindowKind::Lead) if !function.ignore_nulls => {
            let rows = function.args.get(1).map_or(Some(1), offset)?;
            let ahead = if kind == WindowKind::Lead { i128::from(rows) } else { -i128::from(rows) };
            let far = u64::try_from(ahead.unsigned_abs()).ok()?;
            Some(if ahead < 0 { Way::Near(far, 0) } else { Way::Near(0, far) })
        }
        kind @ (WindowKind::FirstValue | WindowKind::LastValue | WindowKind::NthValue) => {
            let Some(reach) = reach(&function.frame) else { return near(&function.frame) };
            Some(Way::Picked(
                reach,
                match kind {
                    WindowKind::LastValue => Pick::Last,
                    WindowKind::FirstValue => Pick::Nth(1),
                    _ => {
                        Pick::Nth(u64::try_from(offset(function.args.get(1)?)?).ok().filter(|nth| *nth > 0)?)
                    }
                },
            ))
        }
        WindowKind::Lag | WindowKind::Lead | WindowKind::Fill => None,
    }
}

/// Whether the functions of a stage can be computed over a partition in a file.
pub(super) fn is_possible(spec: &Spec) -> bool {
    spec.functions.iter().all(|function| way(function).is_some())
}

/// Reads rows of a partition in order.
struct Cursor {
    reader: SpillReader,
    batch: Batch,
    /// The place of the batch's first row.
    start: u64,
}

impl Cursor {
    fn new(rows: &SpilledRows) -> Self {
        Self { reader: rows.reader(), batch: Batch::new(Vec::new(), 0), start: 0 }
    }

    /// The row of the batch that is at a place, at or behind the last one; `None` behind the end.
    fn row(&mut self, place: u64) -> Result<Option<usize>> {
        while place >= self.start + self.batch.len() as u64 {
            let Some(batch) = self.reader.next()? else { return Ok(None) };
            self.start += self.batch.len() as u64;
            let columns = batch.columns().iter().map(Vector::flatten).collect();
            self.batch = Batch::new(columns, batch.len());
        }
        Ok(Some((place - self.start) as usize))
    }

    /// Values of an operand for some rows of the batch.
    fn operand(&self, operand: &Operand, rows: &[u32]) -> Result<Vector> {
        match operand {
            Operand::Constant(value, ty) => Ok(Vector::constant(ty.clone(), value, rows.len())?.flatten()),
            Operand::Column(column) if rows.len() == self.batch.len() => {
                Ok(self.batch.column(*column).clone())
            }
            Operand::Column(column) => Ok(self.batch.column(*column).take(rows).flatten()),
        }
    }
}

/// Which peers a row has; rows are asked for in order.
struct Peers {
    cursor: Cursor,
    keys: Vec<Key>,
    size: u64,
    begin: u64,
    end: u64,
    /// Groups of peers up to this one.
    number: i64,
}

impl Peers {
    fn new(rows: &SpilledRows, keys: &[Key]) -> Self {
        let cursor = Cursor::new(rows);
        Self { cursor, keys: keys.to_vec(), size: rows.rows(), begin: 0, end: 0, number: 0 }
    }

    fn move_to(&mut self, place: u64) -> Result<()> {
        while self.end <= place {
            self.begin = self.end;
            self.end = self.next_start(self.begin + 1)?;
            self.number += 1;
        }
        Ok(())
    }

    /// The first place from `place` on whose row differs from the one before it.
    fn next_start(&mut self, place: u64) -> Result<u64> {
        if self.keys.is_empty() {
            return Ok(self.size);
        }
        let mut place = place;
        while place < self.size {
            let Some(before) = self.cursor.row(place - 1)? else { break };
            if before + 1 == self.cursor.batch.len() {
                let last = key_values(&self.keys, &self.cursor.batch, before);
                let Some(row) = self.cursor.row(place)? else { break };
                if last != key_values(&self.keys, &self.cursor.batch, row) {
                    return Ok(place);
                }
                place += 1;
                continue;
            }
            let columns = self.cursor.batch.columns();
            let keys: Vec<KeyColumn<'_>> = self.keys.iter().map(|key| key.of(columns)).collect();
            let differ =
                |row: &usize| keys.iter().any(|key| key.compare(*row as u32 - 1, *row as u32).is_ne());
            match (before + 1..self.cursor.batch.len()).find(differ) {
                Some(row) => return Ok(self.cursor.start + row as u64),
                None => place = self.cursor.start + self.cursor.batch.len() as u64,
            }
        }
        Ok(self.size)
    }
}

/// The keys of a row.
fn key_values(keys: &[Key], batch: &Batch, row: usize) -> Vec<Value> {
    keys.iter().map(|key| batch.column(key.column).get(row)).collect()
}

/// The state of a frame that begins with the partition and grows.
struct Running {
    reach: Reach,
    cursor: Cursor,
    /// Rows up to here are in.
    at: u64,
    kind: Growing,
    /// The frame's value.
    value: Value,
    ty: LogicalType,
    memory: Reservation,
    budget: MemoryBudget,
}

enum Growing {
    Aggregate {
        state: Box<dyn GroupedAccumulator>,
        inputs: Vec<Operand>,
        filter: Option<Operand>,
        /// A state that becomes larger keeps its rows: a value for each of them would take too long.
        size_max: usize,
    },
    Picked {
        argument: Operand,
        pick: Pick,
        ignore_nulls: bool,
        seen: u64,
    },
}

impl Running {
    /// Moves the frame's end.
    fn grow(&mut self, end: u64) -> Result<()> {
        while self.at < end {
            let Some(first) = self.cursor.row(self.at)? else { break };
            let count = (self.cursor.batch.len() - first).min((end - self.at) as usize);
            let rows: Vec<u32> = (first as u32..(first + count) as u32).collect();
            self.add(rows)?;
            self.at += count as u64;
        }
        if let Growing::Aggregate { state, .. } = &self.kind {
            self.value = state.finish(0, 1)?.get(0);
        }
        Ok(())
    }

    fn add(&mut self, mut rows: Vec<u32>) -> Result<()> {
        match &mut self.kind {
            Growing::Aggregate { state, inputs, filter, size_max } => {
                if let Some(filter) = filter {
                    let counts = self.cursor.operand(filter, &rows)?;
                    let mut at = 0;
                    rows.retain(|_| {
                        at += 1;
                        !counts.is_null(at - 1) && counts.values::<u8>()[at - 1] != 0
                    });
                }
                if rows.is_empty() {
                    return Ok(());
                }
                let args =
                    inputs.iter().map(|o| self.cursor.operand(o, &rows)).collect::<Result<Vec<_>>>()?;
                state.update_one(&args.iter().collect::<Vec<_>>(), rows.len(), 0)?;
                let size = state.memory_size();
                if size > *size_max {
                    let (used, limit) = (self.budget.used(), self.budget.limit());
                    let requested = 2 * size as u64;
                    return Err(super::indivisible(Error::OutOfMemory { requested, used, limit }));
                }
                crate::spill::resize_or_work(&mut self.memory, size as u64)
            }
            Growing::Picked { argument, pick, ignore_nulls, seen } => {
                let values = self.cursor.operand(argument, &rows)?;
                if *ignore_nulls {
                    let mut at = 0;
                    rows.retain(|_| {
                        at += 1;
                        !values.is_null(at - 1)
                    });
                }
                let first = self.cursor.start;
                let chosen = match *pick {
                    Pick::Last => rows.last(),
                    Pick::Nth(nth) => nth.checked_sub(*seen + 1).and_then(|at| rows.get(at as usize)),
                };
                *seen += rows.len() as u64;
                if let Some(&row) = chosen {
                    debug_assert!(first + u64::from(row) >= self.at);
                    self.value = self.cursor.operand(argument, &[row])?.get(0);
                }
                Ok(())
            }
        }
    }
}

/// A partition in a file, on its way out.
pub(super) struct Long {
    rows: SpilledRows,
    reader: SpillReader,
    /// Rows around the piece; the place of the first, and of the one behind the last.
    held: VecDeque<Batch>,
    held_from: u64,
    held_to: u64,
    /// The first row that was not handed out.
    at: u64,
    /// How far functions look back and ahead.
    back: u64,
    ahead: u64,
    peers: Option<Peers>,
    ways: Vec<Way>,
    running: Vec<Option<Running>>,
    memory: Reservation,
}

impl Long {
    /// Begins with the rows of a partition, in order.
    pub(super) fn new(window: &Window, rows: SpilledRows) -> Result<Self> {
        let spec = &window.spec;
        let ways: Vec<Way> = spec.functions.iter().filter_map(way).collect();
        let (mut back, mut ahead, mut needs_peers) = (0, 0, false);
        for way in &ways {
            match way {
                Way::Near(rows_back, rows_ahead) => {
                    (back, ahead) = (back.max(*rows_back), ahead.max(*rows_ahead))
                }
                Way::Position(WindowKind::RowNumber | WindowKind::Ntile) => {}
                Way::Position(_) | Way::Running(Reach::Peers) | Way::Picked(Reach::Peers, _) => {
                    needs_peers = true;
                }
                Way::Running(_) | Way::Picked(..) => {}
            }
        }
        let running = spec
            .functions
            .iter()
            .zip(&ways)
            .map(|(function, way)| Running::new(window, &rows, function, way));
        let running = running.collect::<Result<Vec<_>>>()?;
        let size = rows.rows();
        Ok(Self {
            reader: rows.reader(),
            held: VecDeque::new(),
            held_from: 0,
            held_to: 0,
            at: 0,
            back: back.min(size),
            ahead: ahead.min(size),
            peers: needs_peers.then(|| Peers::new(&rows, &spec.keys[spec.partition_count..])),
            ways,
            running,
            memory: window.context.budget.reserve(0)?,
            rows,
        })
    }

    /// The next rows with their values; none at the end.
    pub(super) fn next(&mut self, window: &Window) -> Result<Vec<Batch>> {
        let size = self.rows.rows();
        if self.at >= size {
            return Ok(Vec::new());
        }
        let end = self.hold(window, size)?;
        let context = window.context.alone();
        let batches: Vec<Batch> = self.held.iter().cloned().collect();
        let columns = window.columns(&context, &batches)?;
        let len = (self.held_to - self.held_from) as usize;
        let whole = vec![0, len as u32];
        let order = super::Order { rows: None, partitions: whole.clone(), peers: whole };
        let part = Part { columns, len, order, serial: context.clone() };
        let mut prepared = Vec::with_capacity(self.ways.len());
        for (function, way) in window.spec.functions.iter().zip(&self.ways) {
            let is_near = matches!(way, Way::Near(..));
            prepared.push(if is_near { Some(window.prepare(&context, &part, function)?) } else { None });
        }
        let mut out = Vec::new();
        while self.at < end {
            window.context.interrupt.check()?;
            let count = VECTOR_SIZE.min((end - self.at) as usize);
            out.push(self.batch(window, &part, &prepared, count)?);
            self.at += count as u64;
        }
        Ok(out)
    }

    /// Reads what the next piece needs, and drops what none does any more. Returns where the piece ends.
    fn hold(&mut self, window: &Window, size: u64) -> Result<u64> {
        let needed_from = self.at.saturating_sub(self.back);
        while let Some(first) = self.held.front()
            && self.held_from + first.len() as u64 <= needed_from
        {
            self.held_from += first.len() as u64;
            self.held.pop_front();
        }
        let mut end = size.min(self.at + PIECE_ROWS.max(self.back + self.ahead));
        // A first guess at how much may be held.
        let limit = window.context.budget.limit();
        let bytes_max = (limit / 16).max(WORKING_MEMORY);
        while self.held_to < size.min(end + self.ahead)
            && let Some(batch) = self.reader.next()?
        {
            self.held_to += batch.len() as u64;
            self.held.push_back(batch);
            let (bytes, held) = self.size();
            if self.held_to > self.at + self.ahead && window.needed(bytes, held) > bytes_max {
                end = end.min(self.held_to - self.ahead);
                break;
            }
        }
        let (bytes, held) = self.size();
        let needed = window.needed(bytes, held);
        match crate::spill::resize_or_work(&mut self.memory, needed) {
            Ok(()) => Ok(end),
            // Other workers have parts too, and get on.
            Err(error) if is_refusal(&error) && needed <= 2 * bytes_max => Ok(end),
            Err(error) => Err(super::indivisible(error)),
        }
    }

    /// Bytes and rows that are held.
    fn size(&self) -> (u64, u64) {
        let bytes: usize = self.held.iter().map(|batch| rows_size(batch.columns(), batch.len())).sum();
        (bytes as u64, self.held_to - self.held_from)
    }

    /// The next `count` rows.
    fn batch(
        &mut self,
        window: &Window,
        part: &Part,
        prepared: &[Option<(Prepared, Option<RangeKeys>)>],
        count: usize,
    ) -> Result<Batch> {
        let from = (self.at - self.held_from) as usize;
        let places = Places::new(self.at, count, self.rows.rows(), self.peers.as_mut())?;
        let chunk = Chunk::new(part, from, count);
        let input = &part.columns[..window.spec.input_count];
        let mut columns: Vec<Vector> = input.iter().map(|column| column.slice(from, count)).collect();
        for (index, function) in window.spec.functions.iter().enumerate() {
            columns.push(match (&self.ways[index], &mut self.running[index], &prepared[index]) {
                (Way::Position(kind), _, _) => places.values(*kind, function, part, from)?,
                (_, Some(running), _) => places.running(running)?,
                (_, _, Some((prepared, keys))) => {
                    window.values(part, function, prepared, keys.as_ref(), &chunk)?
                }
                (_, None, None) => return Err(Error::internal("a window function without a way")),
            });
        }
        Ok(Batch::new(columns, count))
    }
}

impl Running {
    fn new(window: &Window, rows: &SpilledRows, function: &Function, way: &Way) -> Result<Option<Self>> {
        let (reach, kind, ty) = match (way, &function.callee) {
            (Way::Running(reach), WindowCallee::Aggregate(callee)) => {
                let mut state =
                    aggregate::state(|column| window.spec.types[column].clone(), function, callee)?;
                state.resize(1);
                let inputs = aggregate::inputs(function, callee);
                let filter = function.filter.clone();
                let is_declared = matches!(callee.kind, AggregateKind::Declared(_));
                let size_max = match reach {
                    Reach::Rows(_) | Reach::Peers if is_declared => DECLARED_SIZE_MAX,
                    Reach::Rows(_) | Reach::Peers | Reach::All => usize::MAX,
                };
                (*reach, Growing::Aggregate { state, inputs, filter, size_max }, callee.return_type.clone())
            }
            (Way::Picked(reach, pick), _) => {
                let Some(argument) = function.args.first().cloned() else { return Ok(None) };
                let ty = match &argument {
                    Operand::Column(column) => window.spec.types[*column].clone(),
                    Operand::Constant(_, ty) => ty.clone(),
                };
                let ignore_nulls = function.ignore_nulls;
                (*reach, Growing::Picked { argument, pick: *pick, ignore_nulls, seen: 0 }, ty)
            }
            _ => return Ok(None),
        };
        let (cursor, budget) = (Cursor::new(rows), window.context.budget.clone());
        let memory = budget.reserve(0)?;
        let mut running = Self { reach, cursor, at: 0, kind, value: Value::Null, ty, memory, budget };
        // What an empty frame has.
        running.grow(0)?;
        Ok(Some(running))
    }
}

/// Where some rows are in their partition.
struct Places {
    from: u64,
    count: usize,
    size: u64,
    /// Begin, end and number of each row's peers; empty if nobody asks.
    peers: Vec<(u64, u64, i64)>,
}

impl Places {
    fn new(from: u64, count: usize, size: u64, peers: Option<&mut Peers>) -> Result<Self> {
        let mut all = Vec::new();
        if let Some(peers) = peers {
            for place in from..from + count as u64 {
                peers.move_to(place)?;
                all.push((peers.begin, peers.end, peers.number));
            }
        }
        Ok(Self { from, count, size, peers: all })
    }

    fn values(&self, kind: WindowKind, function: &Function, part: &Part, from: usize) -> Result<Vector> {
        let numbers = |number: &dyn Fn(usize) -> i64| {
            let values: Vec<i64> = (0..self.count).map(number).collect();
            Ok(Vector::from_values(LogicalType::BigInt, &values))
        };
        let shares = |share: &dyn Fn(usize) -> f64| {
            let values: Vec<f64> = (0..self.count).map(share).collect();
            Ok(Vector::from_values(LogicalType::Double, &values))
        };
        match kind {
            WindowKind::RowNumber => numbers(&|row| (self.from + row as u64) as i64 + 1),
            WindowKind::Rank => numbers(&|row| self.peers[row].0 as i64 + 1),
            WindowKind::DenseRank => numbers(&|row| self.peers[row].2),
            WindowKind::PercentRank if self.size == 1 => shares(&|_| 0.0),
            WindowKind::PercentRank => shares(&|row| self.peers[row].0 as f64 / (self.size - 1) as f64),
            WindowKind::CumeDist => shares(&|row| self.peers[row].1 as f64 / self.size as f64),
            WindowKind::Ntile => {
                let counts = part.operand(&function.args[0], from, self.count)?;
                values::ntile(&counts, |row| Ok(((self.from + row as u64) as i64, self.size as i64)))
            }
            WindowKind::Lag
            | WindowKind::Lead
            | WindowKind::FirstValue
            | WindowKind::LastValue
            | WindowKind::NthValue
            | WindowKind::Fill => Err(Error::internal("a window function that is no position")),
        }
    }

    fn running(&self, running: &mut Running) -> Result<Vector> {
        let mut values = Vec::with_capacity(self.count);
        for row in 0..self.count {
            let end = match running.reach {
                Reach::All => self.size,
                Reach::Peers => self.peers[row].1,
                Reach::Rows(behind) => {
                    let end = i128::from(self.from) + row as i128 + 1 + i128::from(behind);
                    end.clamp(0, i128::from(self.size)) as u64
                }
            };
            if end > running.at {
                running.grow(end)?;
            }
            values.push(running.value.clone());
        }
        Vector::from_sql_values(running.ty.clone(), &values)
    }
}
