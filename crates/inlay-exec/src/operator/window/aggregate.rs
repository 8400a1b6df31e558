//! Aggregates over frames: which way is taken, what is prepared, and the values of a stretch of rows.
//!
//! - A frame that is the whole partition: one state per partition, made in parallel over ranges of rows.
//! - Counts, and sums and averages of integers and decimals: differences of prefix sums, which are exact, for any frame.
//! - Sums and averages of floating-point numbers: running sums where frames begin with the partition, else a segment tree.
//! - Minimum and maximum: running, or a segment tree of places.
//! - Quantiles: rows by their rank, from ranks in order or a wavelet matrix. Counts of different values: from one, too.
//! - The most frequent value: running, or counted while frames move.
//! - Other aggregates: a segment tree of states. Those that keep their rows anyway (texts, ORDER BY inside, modes of frames with
//!   gaps), and DISTINCT in a frame that moves: each different frame anew.

use super::anew::{self, Anew};
use super::counted::Counted;
use super::frames::{Chunk, Ranges};
use super::modes::Modes;
use super::ranked::{DistinctTree, Frames, RankTree};
use super::spec::{Function, Operand};
use super::tree::{self, BestKeys, BestTree, FloatTree, NONE, SEGMENT_ROWS, StateTree};
use super::{BLOCK_ROWS, Part};
use crate::concat::concat;
use crate::context::ExecContext;
use crate::operator::order::{KeyColumn, normalise, sort};
use inlay_kernels::aggregate::{
    GroupIds, GroupedAccumulator, KeptColumn, OrderKey, Ordered, average, create, sum_of,
};
use inlay_kernels::function::{AggregateFunction, AggregateKind};
use inlay_sql::plan::window::FrameExclusion;
use inlay_types::{Bitmap, Buffer, Error, Heap, LogicalType, PhysicalType, Result, VECTOR_SIZE, Vector};
use parking_lot::Mutex;

type Accumulator = Box<dyn GroupedAccumulator>;

/// How an aggregate's values are found.
pub(super) enum Method {
    /// One value per partition.
    Whole(Vector),
    Count(Counts),
    Sum(Sums, Counts),
    /// Running sums that begin anew with each partition.
    RunningFloats(Vec<f64>, Counts),
    Floats(FloatTree, Counts),
    /// Places of the best value so far in the partition.
    RunningBest(Vec<u32>),
    Best(BestTree),
    States(StateTree, Option<Vec<bool>>),
    /// Made of the rows that have certain ranks in a frame.
    ByRank(ByRank),
    /// Counts of different values.
    Distinct(DistinctTree),
    /// Places of the most frequent values.
    Modes(Modes),
    /// Computed anew for each frame.
    Anew(Anew),
}

/// How many rows before each place count; `None`: all.
pub(super) struct Counts(Option<Vec<u32>>);

/// Exact sums of all rows before each place.
pub(super) enum Sums {
    Narrow(Vec<i64>),
    Wide(Vec<i128>),
}

/// Rows by their rank, the arguments of all rows, and what makes results of them.
pub(super) struct ByRank {
    tree: RankTree,
    args: Vec<Vector>,
    function: Accumulator,
}

impl Counts {
    fn new(counted: Option<&[bool]>) -> Self {
        Self(counted.map(|counted| {
            let mut total = 0u32;
            let running = counted.iter().map(|&counts| {
                total += u32::from(counts);
                total
            });
            std::iter::once(0).chain(running).collect()
        }))
    }

    fn of(&self, begin: u32, end: u32) -> i64 {
        match &self.0 {
            None => i64::from(end - begin),
            Some(before) => i64::from(before[end as usize]) - i64::from(before[begin as usize]),
        }
    }
}

/// Whether a state grows with its rows, so that merging states costs as much as adding rows: it keeps rows, texts or counts of
/// values.
pub(super) fn grows(kind: AggregateKind) -> bool {
    if matches!(kind, AggregateKind::Declared(_)) {
        return kind.is_order_sensitive();
    }
    matches!(kind, AggregateKind::StringAgg | AggregateKind::Mode)
}

struct Preparing<'a> {
    context: &'a ExecContext,
    part: &'a Part,
    function: &'a Function,
    aggregate: &'a AggregateFunction,
}

pub(super) fn prepare(
    context: &ExecContext,
    part: &Part,
    function: &Function,
    aggregate: &AggregateFunction,
) -> Result<Method> {
    Preparing { context, part, function, aggregate }.method()
}

/// The operands of updates: arguments, then keys of an order inside the call.
pub(super) fn inputs(function: &Function, aggregate: &AggregateFunction) -> Vec<Operand> {
    let keys = function.arg_order.iter().map(|key| Operand::Column(key.column));
    let keys = keys.filter(|_| aggregate.kind.is_order_sensitive());
    function.args.iter().cloned().chain(keys).collect()
}

pub(super) fn is_ordered(function: &Function, aggregate: &AggregateFunction) -> bool {
    !function.arg_order.is_empty() && aggregate.kind.is_order_sensitive()
}

/// A state without groups; `type_of` gives the types of stored columns.
pub(super) fn state(
    type_of: impl Fn(usize) -> LogicalType,
    function: &Function,
    aggregate: &AggregateFunction,
) -> Result<Accumulator> {
    if !is_ordered(function, aggregate) {
        return create(aggregate, false);
    }
    let types: Vec<LogicalType> = function.arg_order.iter().map(|key| type_of(key.column)).collect();
    let keys = function.arg_order.iter();
    let keys = keys.map(|key| OrderKey { descending: key.descending, nulls_first: key.nulls_first });
    Ok(Ordered::boxed(aggregate, &types, keys.collect()))
}

/// States without groups for the rows of a part, which ask for their memory.
pub(super) fn counted(part: &Part, function: &Function, aggregate: &AggregateFunction) -> Result<Counted> {
    let states = state(|column| part.type_of(column), function, aggregate)?;
    Counted::new(states, &part.serial.budget)
}

/// Adds the rows at `places` to the groups `ids`, all below `groups`.
pub(super) fn add_places(
    part: &Part,
    inputs: &[Operand],
    state: &mut Counted,
    places: &[u32],
    ids: &[u32],
    groups: usize,
) -> Result<()> {
    for (places, ids) in places.chunks(VECTOR_SIZE).zip(ids.chunks(VECTOR_SIZE)) {
        let args = inputs.iter().map(|operand| part.at(operand, places)).collect::<Result<Vec<_>>>()?;
        state.update(&args.iter().collect::<Vec<_>>(), GroupIds::new(ids, groups))?;
    }
    Ok(())
}

/// Adds the rows `from .. to` to the groups that `group` says, in order; rows outside of the mask are left out.
#[expect(clippy::too_many_arguments, reason = "two callers, for partitions and for nodes of trees")]
fn add_stretch(
    part: &Part,
    inputs: &[Operand],
    state: &mut Counted,
    mask: Option<&[bool]>,
    from: usize,
    to: usize,
    groups: usize,
    group: &mut dyn FnMut(usize) -> u32,
) -> Result<()> {
    let mut start = from;
    while start < to {
        let len = VECTOR_SIZE.min(to - start);
        let ids: Vec<u32> = (start..start + len).map(&mut *group).collect();
        match mask {
            None => {
                let args = inputs.iter().map(|o| part.operand(o, start, len)).collect::<Result<Vec<_>>>()?;
                state.update(&args.iter().collect::<Vec<_>>(), GroupIds::new(&ids, groups))?;
            }
            Some(mask) => {
                let places: Vec<u32> =
                    (start..start + len).filter(|&place| mask[place]).map(|place| place as u32).collect();
                let ids: Vec<u32> = places.iter().map(|&place| ids[place as usize - start]).collect();
                add_places(part, inputs, state, &places, &ids, groups)?;
            }
        }
        start += len;
    }
    Ok(())
}

/// The rows for which a condition is TRUE.
pub(super) fn truths(context: &ExecContext, part: &Part, condition: &Operand) -> Result<Vec<bool>> {
    let vector = part.sorted(context, condition)?;
    let values = vector.values::<u8>();
    Ok((0..part.len).map(|place| values[place] != 0 && !vector.is_null(place)).collect())
}

impl Preparing<'_> {
    fn method(&self) -> Result<Method> {
        let (function, aggregate) = (self.function, self.aggregate);
        let mut mask = match &function.filter {
            None => None,
            Some(filter) => Some(truths(self.context, self.part, filter)?),
        };
        let distinct =
            function.distinct && aggregate.kind.is_distinct_sensitive() && !function.args.is_empty();
        if distinct {
            let before = self.before(mask.as_deref())?;
            if aggregate.kind == AggregateKind::Count
                && !function.frame.is_running()
                && matches!(function.frame.exclude, FrameExclusion::NoOthers)
                && let [argument] = function.args.as_slice()
            {
                let values = self.part.sorted(self.context, argument)?;
                let counts =
                    |place: usize| !values.is_null(place) && mask.as_ref().is_none_or(|mask| mask[place]);
                let before: Vec<u32> =
                    before.iter().map(|&before| if before == NONE { 0 } else { before + 1 }).collect();
                return Ok(Method::Distinct(DistinctTree::new(&before, counts)?));
            }
            if !function.frame.is_running() {
                return Ok(Method::Anew(Anew { mask, before: Some(before) }));
            }
            // Frames that begin with the partition have the first of equal rows.
            let mask = mask.get_or_insert_with(|| vec![true; self.part.len]);
            mask.iter_mut().zip(&before).for_each(|(counts, &before)| *counts &= before == NONE);
        }
        if function.frame.is_whole() {
            return self.whole(mask.as_deref()).map(Method::Whole);
        }
        if let Some(by_rank) = self.ranks(mask.as_deref())? {
            return Ok(Method::ByRank(by_rank));
        }
        if let Some(method) = self.modes(mask.as_deref())? {
            return Ok(method);
        }
        if is_ordered(function, aggregate) || grows(aggregate.kind) || self.keeps_rows()? {
            return Ok(Method::Anew(Anew { mask, before: None }));
        }
        if aggregate.kind == AggregateKind::CountStar {
            return Ok(Method::Count(Counts::new(mask.as_deref())));
        }
        if let Some(method) = self.columnar(mask.as_deref())? {
            return Ok(method);
        }
        let tree = self.states(mask.as_deref())?;
        Ok(Method::States(tree, mask))
    }

    /// The ranks of the rows that a quantile counts.
    fn ranks(&self, mask: Option<&[bool]>) -> Result<Option<ByRank>> {
        let (part, context) = (self.part, self.context);
        let function = state(|column| part.type_of(column), self.function, self.aggregate)?;
        let Some(by_rank) = function.by_rank() else { return Ok(None) };
        let mut args = Vec::new();
        for argument in &self.function.args {
            args.push(part.sorted(context, argument)?.flatten());
        }
        let Some(values) = args.first() else { return Ok(None) };
        let counts = |place: &u32| {
            let place = *place as usize;
            !values.is_null(place) && mask.is_none_or(|mask| mask[place])
        };
        let all = 0..part.len as u32;
        let places = match rank_keys(values) {
            Some(keys) => {
                let key = KeyColumn { vector: &keys, descending: false, nulls_first: false };
                let order = sort(context, &[key], 1, part.len)?;
                order.rows.unwrap_or_else(|| all.collect()).into_iter().filter(counts).collect()
            }
            None => {
                let mut places: Vec<u32> = all.filter(counts).collect();
                by_rank.order(values, &mut places);
                places
            }
        };
        let tree = RankTree::new(places, part.len);
        Ok(Some(ByRank { tree, args, function }))
    }

    /// Whether a state is nothing but its rows.
    fn keeps_rows(&self) -> Result<bool> {
        let state = state(|column| self.part.type_of(column), self.function, self.aggregate)?;
        let is_value = |column: &KeptColumn<'_>| matches!(column, KeptColumn::Values(_));
        Ok(state.kept().is_some_and(|kept| kept.columns().iter().all(is_value)))
    }

    /// The ways of the most frequent value.
    fn modes(&self, mask: Option<&[bool]>) -> Result<Option<Method>> {
        let function = self.function;
        let ([argument], AggregateKind::Mode, FrameExclusion::NoOthers) =
            (function.args.as_slice(), self.aggregate.kind, &function.frame.exclude)
        else {
            return Ok(None);
        };
        if is_ordered(function, self.aggregate) {
            return Ok(None);
        }
        let before = self.before(mask)?;
        let values = self.part.sorted(self.context, argument)?;
        let counts = |place: usize| !values.is_null(place) && mask.is_none_or(|mask| mask[place]);
        let modes = Modes::new(&before, counts);
        Ok(Some(match function.frame.is_running() {
            true => Method::RunningBest(modes.running(&self.part.order.partitions)),
            false => Method::Modes(modes),
        }))
    }

    /// The ways of functions that pass over NULLs and have plain columns for states.
    fn columnar(&self, mask: Option<&[bool]>) -> Result<Option<Method>> {
        use AggregateKind as K;
        let (aggregate, running) = (self.aggregate, self.function.frame.is_running());
        let kind = aggregate.kind;
        let (K::Count | K::Sum | K::Avg | K::Min | K::Max, [argument]) =
            (kind, self.function.args.as_slice())
        else {
            return Ok(None);
        };
        let vector = self.part.sorted(self.context, argument)?;
        let counted: Option<Vec<bool>> = match (vector.validity(), mask) {
            (None, None) => None,
            (None, Some(mask)) => Some(mask.to_vec()),
            (Some(validity), mask) => Some(
                (0..self.part.len)
                    .map(|place| validity.get(place) && mask.is_none_or(|mask| mask[place]))
                    .collect(),
            ),
        };
        let counted = counted.as_deref();
        let counts = || Counts::new(counted);
        let is_float = matches!(vector.physical_type(), PhysicalType::F32 | PhysicalType::F64);
        Ok(match kind {
            K::Count => Some(Method::Count(counts())),
            K::Sum | K::Avg if is_float => {
                let values = floats(&vector, counted);
                Some(if running {
                    Method::RunningFloats(self.running_sums(&values), counts())
                } else {
                    Method::Floats(FloatTree::new(values), counts())
                })
            }
            K::Sum | K::Avg => {
                let carried = kind == K::Avg || aggregate.return_type.physical() == PhysicalType::I128;
                let sums = if carried { sums(&vector, counted) } else { None };
                sums.map(|sums| Method::Sum(sums, counts()))
            }
            _ => {
                let greatest = kind == K::Max;
                let keys = if vector.physical_type() == PhysicalType::View {
                    Some(BestKeys::Texts(vector, greatest))
                } else {
                    normalise(self.context, &vector)?.map(|normal| BestKeys::new(normal, greatest))
                };
                let Some(keys) = keys else { return Ok(None) };
                let counts = |place: u32| counted.is_none_or(|counted| counted[place as usize]);
                let own = |place: u32| if counts(place) { place } else { NONE };
                let places: Vec<u32> = (0..self.part.len as u32).map(own).collect();
                Some(if running {
                    Method::RunningBest(self.running_best(&keys, places))
                } else {
                    Method::Best(BestTree::new(keys, places))
                })
            }
        })
    }

    fn running_sums(&self, values: &[f64]) -> Vec<f64> {
        let mut sums = Vec::with_capacity(values.len());
        for bounds in self.part.order.partitions.windows(2) {
            let mut sum = 0.0;
            sums.extend(values[bounds[0] as usize..bounds[1] as usize].iter().map(|value| {
                sum += value;
                sum
            }));
        }
        sums
    }

    fn running_best(&self, keys: &BestKeys, mut places: Vec<u32>) -> Vec<u32> {
        for bounds in self.part.order.partitions.windows(2) {
            let mut best = NONE;
            for place in &mut places[bounds[0] as usize..bounds[1] as usize] {
                best = keys.best(best, *place);
                *place = best;
            }
        }
        places
    }

    /// Per row: the place of the row before, in its partition, that has the same arguments and counts.
    fn before(&self, mask: Option<&[bool]>) -> Result<Vec<u32>> {
        let part = self.part;
        let mut columns = Vec::new();
        for argument in &self.function.args {
            columns.push(part.sorted(self.context, argument)?);
        }
        let partitions: Vec<u32> = part
            .order
            .partitions
            .windows(2)
            .enumerate()
            .flat_map(|(number, bounds)| std::iter::repeat_n(number as u32, (bounds[1] - bounds[0]) as usize))
            .collect();
        columns.push(Vector::from_values(LogicalType::UInteger, &partitions));
        if let Some(mask) = mask {
            let counted: Vec<u8> = mask.iter().map(|&counts| u8::from(counts)).collect();
            columns.push(Vector::from_values(LogicalType::Boolean, &counted));
        }
        let keys: Vec<KeyColumn<'_>> = columns
            .iter()
            .map(|vector| KeyColumn { vector, descending: false, nulls_first: false })
            .collect();
        let order = sort(self.context, &keys, keys.len(), part.len)?;
        let mut before = vec![NONE; part.len];
        let Some(rows) = &order.rows else { return Ok(before) };
        for bounds in order.peers.windows(2) {
            for pair in rows[bounds[0] as usize..bounds[1] as usize].windows(2) {
                before[pair[1] as usize] = pair[0];
            }
        }
        Ok(before)
    }

    /// The value of each partition.
    fn whole(&self, mask: Option<&[bool]>) -> Result<Vector> {
        let (part, function, aggregate) = (self.part, self.function, self.aggregate);
        let starts = &part.order.partitions;
        let inputs = inputs(function, aggregate);
        let blocks = part.len.div_ceil(BLOCK_ROWS);
        // Partitions of a block: from the one of its first row to the one of its last.
        let span = |block: usize| {
            let (from, to) = (block * BLOCK_ROWS, part.len.min((block + 1) * BLOCK_ROWS));
            let first = starts.partition_point(|&start| start as usize <= from) - 1;
            let last = starts.partition_point(|&start| (start as usize) < to) - 1;
            (from, to, first, last)
        };
        let states: Vec<Mutex<Option<Counted>>> = (0..blocks).map(|_| Mutex::new(None)).collect();
        self.context.parallel(blocks, |block| {
            let (from, to, first, last) = span(block);
            let mut state = counted(part, function, aggregate)?;
            let groups = last - first + 1;
            state.resize(groups);
            let mut partition = first;
            let mut group = |place: usize| {
                while starts[partition + 1] as usize <= place {
                    partition += 1;
                }
                (partition - first) as u32
            };
            add_stretch(part, &inputs, &mut state, mask, from, to, groups, &mut group)?;
            *states[block].lock() = Some(state);
            Ok(())
        })?;
        let ty = aggregate.return_type.clone();
        let mut pieces = Vec::new();
        // The state of the partition that goes on in the next block.
        let mut open: Option<Counted> = None;
        for (block, own) in states.into_iter().enumerate() {
            let (_, to, first, last) = span(block);
            let Some(own) = own.into_inner() else { continue };
            let continues = starts[last + 1] as usize > to;
            let (mut low, high) = (0, last - first + usize::from(!continues));
            if let Some(mut carried) = open.take() {
                carried.merge_whole(&own, &[0], &[0])?;
                if continues && last == first {
                    open = Some(carried);
                    continue;
                }
                pieces.push(carried.finish(0, 1)?);
                low = 1;
            }
            if low < high {
                pieces.push(own.finish(low, high - low)?);
            }
            if continues {
                let mut carried = counted(part, function, aggregate)?;
                carried.resize(1);
                carried.merge_whole(&own, &[(last - first) as u32], &[0])?;
                open = Some(carried);
            }
        }
        if pieces.is_empty() {
            return Ok(Vector::empty(ty));
        }
        let pieces: Vec<Vector> = pieces.iter().map(Vector::flatten).collect();
        Ok(concat(ty, &pieces))
    }

    fn states(&self, mask: Option<&[bool]>) -> Result<StateTree> {
        let (part, function, aggregate) = (self.part, self.function, self.aggregate);
        let inputs = inputs(function, aggregate);
        let make = || counted(part, function, aggregate);
        let count = part.len.div_ceil(SEGMENT_ROWS);
        let segments: Vec<Mutex<Vec<Counted>>> = (0..count).map(|_| Mutex::default()).collect();
        self.context.parallel(count, |index| {
            let (from, to) = (index * SEGMENT_ROWS, part.len.min((index + 1) * SEGMENT_ROWS));
            let groups = (to - from).div_ceil(16);
            let mut first = make()?;
            first.resize(groups);
            let mut group = |place: usize| tree::node_of(place - from);
            add_stretch(part, &inputs, &mut first, mask, from, to, groups, &mut group)?;
            *segments[index].lock() = tree::segment(first, to - from, &make)?;
            Ok(())
        })?;
        StateTree::new(segments.into_iter().map(Mutex::into_inner).collect(), &make)
    }
}

/// What workers put the values of a quantile in order by, if they do: the values, or for floats integers that tell 0.0 from
/// -0.0.
fn rank_keys(vector: &Vector) -> Option<Vector> {
    use LogicalType as T;
    match vector.ty() {
        T::TinyInt | T::SmallInt | T::Integer | T::BigInt | T::HugeInt => Some(vector.clone()),
        T::UTinyInt | T::USmallInt | T::UInteger | T::UBigInt => Some(vector.clone()),
        T::Date | T::Timestamp | T::TimestampTz | T::Time | T::Decimal { .. } => Some(vector.clone()),
        T::Double => {
            let key = |value: &f64| {
                let bits = if value.is_nan() { f64::NAN.abs() } else { *value }.to_bits() as i64;
                bits ^ ((bits >> 63) as u64 >> 1) as i64
            };
            let keys: Vec<i64> = vector.values::<f64>().iter().map(key).collect();
            let mut keys = Vector::from_values(T::BigInt, &keys);
            keys.set_validity(vector.validity().cloned());
            Some(keys)
        }
        _ => None,
    }
}

/// The values as DOUBLE, 0 where nothing counts.
fn floats(vector: &Vector, counted: Option<&[bool]>) -> Vec<f64> {
    let counts = |place: usize| counted.is_none_or(|counted| counted[place]);
    if vector.physical_type() == PhysicalType::F32 {
        let values = vector.values::<f32>().iter().enumerate();
        values.map(|(place, &value)| if counts(place) { f64::from(value) } else { 0.0 }).collect()
    } else {
        let values = vector.values::<f64>().iter().enumerate();
        values.map(|(place, &value)| if counts(place) { value } else { 0.0 }).collect()
    }
}

/// Prefix sums of integers of at most 64 bits, which cannot overflow.
fn sums(vector: &Vector, counted: Option<&[bool]>) -> Option<Sums> {
    macro_rules! of {
        ($t:ty) => {{
            let values = vector.values::<$t>();
            let counts = |place: usize| counted.is_none_or(|counted| counted[place]);
            let counting = values.iter().enumerate().filter(|(place, _)| counts(*place));
            let largest = counting.map(|(_, &value)| i128::from(value).unsigned_abs()).max().unwrap_or(0);
            let fits = largest.saturating_mul(values.len() as u128) < 1 << 62;
            if fits {
                let mut sum = 0i64;
                let running = values.iter().enumerate().map(|(place, &value)| {
                    sum += if counts(place) { i128::from(value) as i64 } else { 0 };
                    sum
                });
                Sums::Narrow(std::iter::once(0).chain(running).collect())
            } else {
                let mut sum = 0i128;
                let running = values.iter().enumerate().map(|(place, &value)| {
                    sum += if counts(place) { i128::from(value) } else { 0 };
                    sum
                });
                Sums::Wide(std::iter::once(0).chain(running).collect())
            }
        }};
    }
    Some(match vector.physical_type() {
        PhysicalType::Bool | PhysicalType::U8 => of!(u8),
        PhysicalType::U16 => of!(u16),
        PhysicalType::U32 => of!(u32),
        PhysicalType::U64 => of!(u64),
        PhysicalType::I8 => of!(i8),
        PhysicalType::I16 => of!(i16),
        PhysicalType::I32 => of!(i32),
        PhysicalType::I64 => of!(i64),
        _ => return None,
    })
}

/// The values of a stretch of rows.
pub(super) fn eval(
    part: &Part,
    function: &Function,
    aggregate: &AggregateFunction,
    method: &Method,
    chunk: &Chunk,
    frames: &[Ranges],
) -> Result<Vector> {
    let of_frames = |row: usize, f: &dyn Fn(u32, u32) -> i64| -> i64 {
        frames.iter().map(|frame| f(frame.begin[row], frame.end[row])).sum()
    };
    let counted = |counts: &Counts| -> Vec<i64> {
        (0..chunk.len).map(|row| of_frames(row, &|begin, end| counts.of(begin, end))).collect()
    };
    match method {
        // One value of all rows is computed with once: it may be a list of all rows.
        Method::Whole(values) => match chunk.partition.first() {
            Some(&first) if chunk.partition.iter().all(|&partition| partition == first) => {
                Ok(values.repeated(first as usize, chunk.partition.len()))
            }
            _ => Ok(values.take(&chunk.partition)),
        },
        Method::Count(counts) => Ok(Vector::from_values(LogicalType::BigInt, &counted(counts))),
        Method::Sum(sums, counts) => {
            let counts = counted(counts);
            let sums: Vec<i128> = match sums {
                Sums::Narrow(sums) => {
                    let between = |begin: u32, end: u32| sums[end as usize] - sums[begin as usize];
                    (0..chunk.len).map(|row| i128::from(of_frames(row, &between))).collect()
                }
                Sums::Wide(sums) => {
                    let between = |row: usize, frame: &Ranges| {
                        sums[frame.end[row] as usize] - sums[frame.begin[row] as usize]
                    };
                    (0..chunk.len).map(|row| frames.iter().map(|frame| between(row, frame)).sum()).collect()
                }
            };
            if aggregate.kind == AggregateKind::Avg {
                let sums = Vector::from_values(sum_of(aggregate).return_type, &sums);
                return average(&sums, &Vector::from_values(LogicalType::BigInt, &counts));
            }
            Ok(nullable(aggregate, Buffer::from_vec(sums), &counts))
        }
        Method::RunningFloats(sums, counts) => {
            let sum = |row: usize| match frames.first().map(|frame| (frame.begin[row], frame.end[row])) {
                Some((begin, end)) if begin < end => sums[end as usize - 1],
                _ => 0.0,
            };
            float_values(aggregate, (0..chunk.len).map(sum).collect(), &counted(counts))
        }
        Method::Floats(tree, counts) => {
            let sum = |row: usize| {
                frames.iter().fold(0.0, |sum, frame| sum + tree.sum(frame.begin[row], frame.end[row]))
            };
            float_values(aggregate, (0..chunk.len).map(sum).collect(), &counted(counts))
        }
        Method::RunningBest(best) => {
            let place = |row: usize| match frames.first().map(|frame| (frame.begin[row], frame.end[row])) {
                Some((begin, end)) if begin < end => best[end as usize - 1],
                _ => NONE,
            };
            part.pick(&function.args[0], &(0..chunk.len).map(place).collect::<Vec<_>>())
        }
        Method::Best(tree) => {
            let place = |row: usize| {
                frames.iter().fold(NONE, |best, frame| {
                    tree.keys.best(best, tree.best(frame.begin[row], frame.end[row]))
                })
            };
            part.pick(&function.args[0], &(0..chunk.len).map(place).collect::<Vec<_>>())
        }
        Method::States(tree, mask) => from_states(part, function, aggregate, tree, mask.as_deref(), frames),
        Method::ByRank(by_rank) => from_ranks(aggregate, by_rank, frames),
        Method::Distinct(tree) => {
            let of_row = |row: usize| -> Result<i64> {
                frames.iter().map(|frame| tree.count(frame.begin[row], frame.end[row])).sum()
            };
            let counts = (0..chunk.len).map(of_row).collect::<Result<Vec<i64>>>()?;
            Ok(Vector::from_values(LogicalType::BigInt, &counts))
        }
        Method::Modes(modes) => {
            let Some(frame) = frames.first() else {
                return Err(Error::internal("the most frequent value without a frame"));
            };
            let size = modes.counting_size(frame);
            let _counted =
                if size > BLOCK_ROWS { Some(part.serial.budget.reserve(size as u64)?) } else { None };
            part.pick(&function.args[0], &modes.of(frame))
        }
        Method::Anew(anew) => anew::from_rows(part, function, aggregate, anew, frames),
    }
}

/// Values that are NULL where no row counts.
fn nullable(aggregate: &AggregateFunction, data: Buffer, counts: &[i64]) -> Vector {
    let validity = counts.contains(&0).then(|| Bitmap::from_fn(counts.len(), |row| counts[row] != 0));
    let has_nulls = validity.is_some();
    let ty = aggregate.return_type.clone();
    let mut vector = Vector::flat(ty, counts.len(), data, validity, Heap::default());
    if has_nulls {
        vector.normalize_nulls();
    }
    vector
}

fn float_values(aggregate: &AggregateFunction, sums: Vec<f64>, counts: &[i64]) -> Result<Vector> {
    if aggregate.kind == AggregateKind::Avg {
        let sums = Vector::from_values(LogicalType::Double, &sums);
        return average(&sums, &Vector::from_values(LogicalType::BigInt, counts));
    }
    Ok(nullable(aggregate, Buffer::from_vec(sums), counts))
}

/// Frames without repetitions beside each other, and which of them each row has.
pub(super) fn distinct_frames(frames: &[Ranges]) -> (Vec<Ranges>, Vec<u32>) {
    let len = frames.first().map_or(0, |frame| frame.begin.len());
    let mut kept: Vec<Ranges> = vec![Ranges::default(); frames.len()];
    let mut index = Vec::with_capacity(len);
    for row in 0..len {
        let same = row > 0
            && frames.iter().all(|frame| {
                (frame.begin[row], frame.end[row]) == (frame.begin[row - 1], frame.end[row - 1])
            });
        if !same {
            for (kept, frame) in kept.iter_mut().zip(frames) {
                kept.begin.push(frame.begin[row]);
                kept.end.push(frame.end[row]);
            }
        }
        index.push(kept.first().map_or(0, |kept| kept.begin.len() as u32 - 1));
    }
    (kept, index)
}

fn from_states(
    part: &Part,
    function: &Function,
    aggregate: &AggregateFunction,
    tree: &StateTree,
    mask: Option<&[bool]>,
    frames: &[Ranges],
) -> Result<Vector> {
    let (frames, index) = distinct_frames(frames);
    let count = frames.first().map_or(0, |frame| frame.begin.len());
    let inputs = inputs(function, aggregate);
    let mut states = counted(part, function, aggregate)?;
    states.resize(count);
    let mut add_rows = |states: &mut Counted, rows: &[(u32, usize, usize)]| {
        let (mut places, mut ids) = (Vec::new(), Vec::new());
        for &(frame, begin, end) in rows {
            let counts = |place: &usize| mask.is_none_or(|mask| mask[*place]);
            places.extend((begin..end).filter(counts).map(|place| place as u32));
            ids.resize(places.len(), frame);
        }
        add_places(part, &inputs, states, &places, &ids, count)
    };
    for frame in &frames {
        tree.query(frame, &mut states, &mut add_rows)?;
    }
    Ok(states.finish(0, count)?.flatten().take(&index))
}

fn from_ranks(aggregate: &AggregateFunction, by_rank: &ByRank, frames: &[Ranges]) -> Result<Vector> {
    let (frames, index) = distinct_frames(frames);
    let Some(function) = by_rank.function.by_rank() else {
        return Err(Error::internal(format!("{} is not computed by ranks", aggregate.name)));
    };
    let values = function.results(&by_rank.args, &Frames::new(&by_rank.tree, &frames)?)?;
    Ok(values.flatten().take(&index))
}

impl Method {
    /// Bytes held.
    pub(super) fn memory_size(&self) -> usize {
        match self {
            Self::Distinct(tree) => tree.memory_size(),
            Self::Modes(modes) => modes.memory_size(),
            Self::ByRank(by_rank) => {
                by_rank.tree.memory_size() + by_rank.args.iter().map(Vector::memory_size).sum::<usize>()
            }
            _ => 0,
        }
    }
}
