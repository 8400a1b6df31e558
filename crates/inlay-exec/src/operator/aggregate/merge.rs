//! From the workers' states to the result: small states are merged at once, large ones partition by partition, in
//! parallel and only when the result is read.

use super::partition::{Partitioned, ROW_PARTITIONS, Rows, Run, Spread};
use super::spec::SharedSpec;
use super::state::{Scratch, State, feed_distinct, merge_distinct_rows};
use super::table::{GroupTable, TableHints};
use crate::context::ExecContext;
use inlay_kernels::aggregate::GroupedAccumulator;
use inlay_types::{Batch, Reservation, Result, VECTOR_SIZE};
use parking_lot::Mutex;

/// What the workers hand in.
#[derive(Default)]
pub(super) struct Collected {
    pub(super) states: Vec<State>,
    pub(super) rows: Vec<Rows>,
    pub(super) reservations: Vec<Reservation>,
}

/// The result, ready to be read by several workers.
pub(super) enum Merged {
    /// One state has all groups.
    Single(Box<State>),
    /// Groups are merged partition by partition.
    Partitions { runs: Vec<Run>, rows: Vec<Rows>, count: usize, spread: Spread },
}

/// Fewer groups than this in all are merged by one thread.
const SMALL: usize = 1 << 13;
/// Groups per partition, about what fits into a core's cache.
const PARTITION_GROUPS: usize = 1 << 14;
/// Groups of a single state that a worker outputs at once.
const MORSEL_GROUPS: usize = 1 << 14;
/// More distinct rows than this are merged in parallel.
const SMALL_DISTINCT: usize = 1 << 15;
/// Parallel tasks for distinct rows.
const DISTINCT_PARTITIONS: usize = 16;

/// Prepares the result.
pub(super) fn merge(spec: &SharedSpec, collected: &mut Collected, context: &ExecContext) -> Result<Merged> {
    let mut states = std::mem::take(&mut collected.states);
    let rows = std::mem::take(&mut collected.rows);
    let total: usize = states.iter().map(State::len).sum();
    if rows.is_empty() && states.len() <= 1 {
        let mut state = match states.pop() {
            Some(state) => state,
            None => State::new(spec, spec.hints.clone())?,
        };
        state.finish_distinct()?;
        return Ok(Merged::Single(Box::new(state)));
    }
    if rows.is_empty() && (total <= SMALL || spec.group_types.is_empty()) {
        return Ok(Merged::Single(Box::new(merge_small(spec, states, context)?)));
    }
    let spread = if rows.is_empty() { range_spread(&states, total) } else { None };
    let (spread, count) = match spread {
        Some((spread, count)) => (spread, count),
        None if rows.is_empty() => {
            (Spread::Hash, (total / PARTITION_GROUPS).next_power_of_two().clamp(2, 1024))
        }
        None => (Spread::Hash, ROW_PARTITIONS),
    };
    let slots: Vec<Mutex<(Option<State>, Option<Run>)>> =
        states.into_iter().map(|state| Mutex::new((Some(state), None))).collect();
    context.parallel(slots.len(), |task| {
        let mut slot = slots[task].lock();
        if let Some(state) = slot.0.take() {
            slot.1 = Some(Run::new(state, spread, count));
        }
        Ok(())
    })?;
    let runs = slots.into_iter().filter_map(|slot| slot.into_inner().1).collect();
    Ok(Merged::Partitions { runs, rows, count, spread })
}

/// If all states index arrays by the same integer range: equal parts of that range.
fn range_spread(states: &[State], groups: usize) -> Option<(Spread, usize)> {
    let (min, range) = states.first()?.table.direct_range()?;
    if states.iter().any(|state| state.table.direct_range() != Some((min, range))) {
        return None;
    }
    let wanted = (groups / PARTITION_GROUPS).next_power_of_two().clamp(2, 1024) as u64;
    // `range + 1` values in parts of `2^shift`.
    let shift = (range / wanted).checked_add(1)?.next_power_of_two().trailing_zeros();
    Some((Spread::Range { min, shift }, (range >> shift) as usize + 1))
}

fn merge_small(spec: &SharedSpec, states: Vec<State>, context: &ExecContext) -> Result<State> {
    let mut target = State::new(spec, spec.hints.clone())?;
    let mut maps = Vec::with_capacity(states.len());
    for state in &states {
        context.interrupt.check()?;
        let all: Vec<u32> = (0..state.len() as u32).collect();
        maps.push(target.merge(state, &all)?);
    }
    for index in 0..spec.distincts.len() {
        let rows: usize = states.iter().map(|state| state.distincts[index].len()).sum();
        if rows > SMALL_DISTINCT {
            merge_distinct_parallel(spec, &states, &maps, index, &mut target, context)?;
            continue;
        }
        for (state, map) in states.iter().zip(&maps) {
            let all: Vec<u32> = (0..state.distincts[index].len() as u32).collect();
            target.merge_distinct(index, state, &all, |group| map[group as usize])?;
        }
    }
    target.finish_distinct()?;
    Ok(target)
}

/// Few groups with many distinct rows: the rows are split by the hash of the arguments, each part is aggregated by itself,
/// and the accumulators are merged.
fn merge_distinct_parallel(
    spec: &SharedSpec,
    states: &[State],
    maps: &[Vec<u32>],
    index: usize,
    target: &mut State,
    context: &ExecContext,
) -> Result<()> {
    let orders: Vec<Mutex<Partitioned>> = states.iter().map(|_| Mutex::default()).collect();
    context.parallel(states.len(), |task| {
        let table = &states[task].distincts[index];
        let hashes = super::generic::hash_groups(&table.columns()[1..], 0, table.len());
        *orders[task].lock() = Partitioned::by_hashes(&hashes, DISTINCT_PARTITIONS);
        Ok(())
    })?;
    let orders: Vec<Partitioned> = orders.into_iter().map(Mutex::into_inner).collect();
    let groups = target.len();
    let parts: Mutex<Vec<Vec<Box<dyn GroupedAccumulator>>>> = Mutex::default();
    context.parallel(DISTINCT_PARTITIONS, |task| {
        let types: Vec<_> = states[0].distincts[index].columns().iter().map(|c| c.logical_type()).collect();
        let ranges = vec![Some((0, groups as u64))];
        let mut table = GroupTable::new(&types, TableHints { ranges, rows: None, groups: None });
        for ((state, map), order) in states.iter().zip(maps).zip(&orders) {
            let rename = |group: u32| map[group as usize];
            merge_distinct_rows(&mut table, &state.distincts[index], order.items(task), rename)?;
        }
        let mut accumulators = spec.accumulators()?;
        accumulators.iter_mut().for_each(|accumulator| accumulator.resize(groups));
        feed_distinct(&spec.slots, &mut accumulators, index, &table, groups)?;
        parts.lock().push(accumulators);
        Ok(())
    })?;
    let all: Vec<u32> = (0..groups as u32).collect();
    for part in parts.into_inner() {
        for ((slot, accumulator), theirs) in spec.slots.iter().zip(&mut target.accumulators).zip(&part) {
            if slot.distinct == Some(index) {
                accumulator.merge(&**theirs, &all, &all)?;
            }
        }
    }
    Ok(())
}

impl Merged {
    /// How many parts can be output independently; at least one.
    pub(super) fn morsels(&self) -> usize {
        match self {
            Self::Single(state) => state.len().div_ceil(MORSEL_GROUPS).max(1),
            Self::Partitions { count, .. } => *count,
        }
    }

    /// Outputs part `morsel` until `push` has enough.
    pub(super) fn output(
        &self,
        spec: &SharedSpec,
        morsel: usize,
        context: &ExecContext,
        scratch: &mut Scratch,
        push: &mut dyn FnMut(Batch) -> Result<bool>,
    ) -> Result<()> {
        match self {
            Self::Single(state) => {
                let from = morsel * MORSEL_GROUPS;
                output_groups(state, from, state.len().min(from + MORSEL_GROUPS), push)
            }
            Self::Partitions { runs, rows, spread, .. } => {
                let state = merge_partition(spec, runs, rows, *spread, morsel, context, scratch)?;
                let _reservation = context.budget.reserve(state.memory_size() as u64)?;
                output_groups(&state, 0, state.len(), push)
            }
        }
    }
}

fn merge_partition(
    spec: &SharedSpec,
    runs: &[Run],
    rows: &[Rows],
    spread: Spread,
    partition: usize,
    context: &ExecContext,
    scratch: &mut Scratch,
) -> Result<State> {
    let mut hints = TableHints { ranges: spec.hints.ranges.clone(), ..TableHints::default() };
    match spread {
        Spread::Range { min, shift } => {
            let part = 1u64 << shift;
            hints.ranges = vec![Some((min.wrapping_add(part * partition as u64), part - 1))];
            hints.rows = Some(part);
        }
        Spread::Hash => hints.rows = Some(PARTITION_GROUPS as u64),
    }
    let mut state = State::new(spec, hints)?;
    for run in runs {
        context.interrupt.check()?;
        run.merge_into(&mut state, partition)?;
    }
    if let Some(inputs) = &spec.inputs {
        for rows in rows {
            context.interrupt.check()?;
            rows.merge_into(spec, inputs, &mut state, partition, scratch)?;
        }
    }
    state.finish_distinct()?;
    Ok(state)
}

fn output_groups(
    state: &State,
    from: usize,
    to: usize,
    push: &mut dyn FnMut(Batch) -> Result<bool>,
) -> Result<()> {
    let mut from = from;
    while from < to {
        let len = (to - from).min(VECTOR_SIZE);
        if !push(state.output(from, len)?)? {
            return Ok(());
        }
        from += len;
    }
    Ok(())
}
