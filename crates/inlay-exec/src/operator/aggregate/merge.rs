//! From the workers' states to the result: small states are merged at once, large ones partition by partition, in
//! parallel and only when the result is read.

use super::distinct::DistinctRows;
use super::distinct_rows;
use super::domain;
use super::joined::{self, Joined};
use super::kept::{self, KeptFiles, KeptSpill};
use super::part::Partitions;
use super::partition::{
    By, Partitioned, ROW_PARTITIONS, RowSpill, Rows, Run, Spread, for_morsels, input_batch,
};
use super::spans::{self, Span};
use super::spec::SharedSpec;
use super::state::{Scratch, State};
use super::table::TableHints;
use crate::context::ExecContext;
use crate::spill::{SpillFile, SpillPartitions, SpilledRows, is_refusal, resize_or_work};
use inlay_types::{Batch, Reservation, Result, VECTOR_SIZE, Vector, limits};
use parking_lot::{Mutex, RwLock};
use std::sync::OnceLock;

/// What the workers hand in.
#[derive(Default)]
pub(super) struct Collected {
    pub(super) states: Vec<State>,
    pub(super) rows: Vec<Rows>,
    /// Rows in a file, by partition; empty if nothing was written.
    pub(super) spilled: Vec<SpilledRows>,
    /// Rows that accumulators had kept, in files by partition.
    pub(super) kept: KeptFiles,
    pub(super) reservations: Vec<Reservation>,
}

impl Collected {
    /// Has what was merged into one state counted, where that is more than there was before.
    pub(super) fn count(&mut self, merged: &Merged, context: &ExecContext) -> Result<()> {
        let Merged::Single(state) = merged else { return Ok(()) };
        let counted: u64 = self.reservations.iter().map(Reservation::bytes).sum();
        let Some(more) = (state.memory_size() as u64).checked_sub(counted) else { return Ok(()) };
        let mut memory = context.budget.reserve(0)?;
        match memory.resize(more) {
            Err(error) if !is_refusal(&error) => return Err(error),
            Ok(()) => self.reservations.push(memory),
            Err(_) => {}
        }
        Ok(())
    }

    /// Gives back what was reserved beyond the states.
    pub(super) fn release(&mut self) {
        // With the order of their groups and distinct rows by partition, and the places of groups with distinct rows.
        let orders = |state: &State| {
            let places = if state.distincts.is_empty() { 0 } else { 8 * state.len() };
            let distinct: usize = state.distincts.iter().map(DistinctRows::len).sum();
            4 * (state.len() + distinct) + places
        };
        let size: usize = self.states.iter().map(|state| state.memory_size() + orders(state)).sum();
        let Some(mut kept) = self.reservations.pop() else { return };
        self.reservations.clear();
        // All of it was reserved a moment ago, but for what grew at the end.
        let _ = kept.resize(size as u64);
        self.reservations.push(kept);
    }
}

/// The result, ready to be read by several workers.
pub(super) enum Merged {
    /// One state has all groups.
    Single(Box<State>),
    /// The groups of all states are places of one domain, of so many.
    Domain(Vec<State>, usize),
    /// The groups of all states are those of one, which lacks distinct rows.
    Joined(Box<Joined>),
    /// These groups of these states.
    Spans(Vec<State>, Vec<Span>),
    /// Groups are merged partition by partition.
    Partitions(Box<Partitions>),
}

/// Fewer groups than this in all are merged by one thread.
const SMALL: usize = 1 << 13;
/// Groups per partition, about what fits into a core's cache.
pub(super) const PARTITION_GROUPS: usize = 1 << 14;
/// Accumulators keep their rows if they hold so many bytes, and so many for each group.
const KEPT_MIN: usize = 4 << 20;
const KEPT_GROUP_MIN: usize = 1 << 9;
/// Of such, bytes per partition, and the most partitions.
const PARTITION_KEPT: usize = 1 << 20;
const KEPT_PARTITIONS_MAX: usize = 1 << 6;
/// Values of a key, for each group, up to which parts of a range are worth an array.
const SPARSE_MAX: u64 = 16;
/// Groups of a single state that a worker outputs at once.
const MORSEL_GROUPS: usize = 1 << 14;
/// More distinct rows than this are merged in parallel.
const SMALL_DISTINCT: usize = 1 << 15;
/// The same of groups with more distinct rows each.
const DISTINCT_MANY: usize = 8;

/// Prepares the result.
pub(super) fn merge(spec: &SharedSpec, collected: &mut Collected, context: &ExecContext) -> Result<Merged> {
    let mut states = std::mem::take(&mut collected.states);
    let rows = std::mem::take(&mut collected.rows);
    let spilled = std::mem::take(&mut collected.spilled);
    let kept_files = std::mem::take(&mut collected.kept);
    let no_rows = rows.is_empty() && spilled.is_empty() && kept_files.is_empty();
    if spec.group_types.is_empty() && !no_rows {
        let (state, memory) = merge_alone(spec, states, (&spilled, &kept_files), context)?;
        collected.reservations.push(memory);
        return Ok(Merged::Single(Box::new(state)));
    }
    // Accumulators that keep their rows are merged by all workers, however few groups there are.
    let kept = kept_size(&states);
    let keep_rows = kept > 0;
    if no_rows
        && !keep_rows
        && let Some(places) = domain::places_of(&states)
    {
        return Ok(Merged::Domain(states, places));
    }
    for state in &mut states {
        state.leave_domain()?;
    }
    if no_rows && states.len() <= 1 {
        let mut state = match states.pop() {
            Some(state) => state,
            None => State::new(spec, spec.hints.clone())?,
        };
        state.finish_listed(context)?;
        state.finish_distinct()?;
        return Ok(Merged::Single(Box::new(state)));
    }
    let total: usize = states.iter().map(State::len).sum();
    // Distinct rows are merged by their own hash there, by that of groups below, of which one may have most.
    let distinct: usize = states.iter().flat_map(|state| &state.distincts).map(DistinctRows::len).sum();
    let are_few =
        (total <= SMALL && !keep_rows) || (total <= SMALL_DISTINCT && distinct / DISTINCT_MANY > total);
    if no_rows && (are_few || spec.group_types.is_empty()) {
        return Ok(Merged::Single(Box::new(merge_small(spec, states, context)?)));
    }
    if no_rows && let Some(spans) = spans::interleave(&mut states)? {
        let morsels = spans.into_iter().flat_map(|span| span.cut(MORSEL_GROUPS)).collect();
        return Ok(Merged::Spans(states, morsels));
    }
    if no_rows && !keep_rows {
        states = match merge_joined(spec, states, collected, context)? {
            Ok(merged) => return Ok(merged),
            Err(states) => states,
        };
    }
    let by_size = (kept / PARTITION_KEPT).min(KEPT_PARTITIONS_MAX);
    let partitions =
        |groups: usize| (groups / PARTITION_GROUPS).max(by_size).next_power_of_two().clamp(2, 1024);
    let spread = if no_rows { range_spread(&states, total, partitions(total)) } else { None };
    let (spread, count) = match spread {
        Some((spread, count)) => (spread, count),
        None if no_rows => (Spread::Hash, partitions(total + distinct)),
        None => (Spread::Hash, ROW_PARTITIONS),
    };
    let fields = match no_rows {
        true => distinct_rows::fields_of(spec, &states, count, context, &mut collected.reservations)?,
        false => vec![None; spec.distincts.len()],
    };
    let slots: Vec<Mutex<(Option<State>, Option<Run>)>> =
        states.into_iter().map(|state| Mutex::new((Some(state), None))).collect();
    context.parallel(slots.len(), |task| {
        let mut slot = slots[task].lock();
        if let Some(state) = slot.0.take() {
            slot.1 = Some(Run::new(state, spread, count, &fields)?);
        }
        Ok(())
    })?;
    let runs = slots.into_iter().filter_map(|slot| slot.into_inner().1).collect();
    let (kept, gate) = (kept_files, RwLock::default());
    Ok(Merged::Partitions(Box::new(Partitions { runs, rows, spilled, kept, count, spread, gate })))
}

/// Bytes that accumulators hold if they keep their rows, else 0.
fn kept_size(states: &[State]) -> usize {
    let size = states.iter().map(State::accumulated_size).sum();
    let groups: usize = states.iter().map(State::len).sum();
    if size >= KEPT_MIN.max(groups * KEPT_GROUP_MIN) { size } else { 0 }
}

/// Merges states whose keys index arrays, and whose distinct rows, if any, can be codes; gives others back.
fn merge_joined(
    spec: &SharedSpec,
    mut states: Vec<State>,
    collected: &mut Collected,
    context: &ExecContext,
) -> Result<std::result::Result<Merged, Vec<State>>> {
    let Some(recodings) = joined::recodings(&mut states) else { return Ok(Err(states)) };
    // What the others have is held twice until they are dropped.
    let others: usize = states.iter().skip(1).map(State::memory_size).sum();
    let _room = match context.budget.reserve(others as u64) {
        Ok(room) => room,
        Err(error) if is_refusal(&error) => return Ok(Err(states)),
        Err(error) => return Err(error),
    };
    let held = collected.reservations.len();
    let parts = Joined::parts(&states);
    let fields = distinct_rows::fields_of(spec, &states, parts, context, &mut collected.reservations)?;
    let fields: Option<Vec<_>> = fields.into_iter().collect();
    let Some(fields) = fields else {
        collected.reservations.truncate(held);
        return Ok(Err(states));
    };
    let joined = Joined::new(states, &recodings, &fields, context)?;
    Ok(Ok(Merged::Joined(Box::new(joined))))
}

/// If the groups of all states have one integer key that ascends or indexes an array: about so many equal parts of the range of
/// all.
fn range_spread(states: &[State], groups: usize, parts: usize) -> Option<(Spread, usize)> {
    let ranges: Vec<(u64, u64)> =
        states.iter().map(|state| state.table.direct_range()).collect::<Option<_>>()?;
    let any_ascends = states.iter().any(|state| state.table.is_ascending());
    let mut whole = *ranges.first()?;
    if any_ascends || ranges.iter().any(|range| *range != whole) {
        whole =
            range_of_all(&ranges).filter(|(_, range)| any_ascends && range / SPARSE_MAX <= groups as u64)?;
    }
    let (min, range) = whole;
    // `range + 1` values in parts of `2^shift`.
    let shift = (range / parts as u64).checked_add(1)?.next_power_of_two().trailing_zeros();
    Some((Spread::Range { min, shift }, (range >> shift) as usize + 1))
}

/// The least word and the range of all ranges of ordered words.
fn range_of_all(ranges: &[(u64, u64)]) -> Option<(u64, u64)> {
    let (mut low, mut high) = (i64::MAX, i64::MIN);
    for &(min, range) in ranges {
        let (first, last) = (min as i64, min.wrapping_add(range) as i64);
        if last < first {
            return None;
        }
        (low, high) = (low.min(first), high.max(last));
    }
    Some((low as u64, (high as u64).wrapping_sub(low as u64)))
}

fn merge_small(spec: &SharedSpec, states: Vec<State>, context: &ExecContext) -> Result<State> {
    // There are as many groups as there are, whatever was expected of the input.
    let groups: u64 = states.iter().map(|state| state.len() as u64).sum();
    let hints = TableHints { rows: Some(groups), groups: Some(groups), ..spec.hints.clone() };
    let mut states = states;
    if states.len() > 1 {
        // What the others hold is copied, and what is full doubles; it is counted to the end of the step.
        match limits::need(2 * states.iter().map(State::accumulated_size).sum::<usize>()) {
            Err(error) if !is_refusal(&error) => return Err(error),
            Ok(_) | Err(_) => {}
        }
    }
    let mut target = match spec.group_types.is_empty() && spec.distincts.is_empty() {
        // Without groups each has the same.
        true if !states.is_empty() => states.remove(0),
        _ => State::new(spec, hints)?,
    };
    let mut maps = Vec::with_capacity(states.len());
    for state in &states {
        context.interrupt.check()?;
        let all: Vec<u32> = (0..state.len() as u32).collect();
        maps.push(target.merge(state, &all, &[])?);
    }
    for index in 0..spec.distincts.len() {
        let rows: usize = states.iter().map(|state| state.distincts[index].len()).sum();
        if rows > SMALL_DISTINCT {
            distinct_rows::merge(spec, &states, &maps, index, &mut target, context)?;
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

/// No groups, and rows that did not fit into memory: distinct ones, or those that accumulators keep.
fn merge_alone(
    spec: &SharedSpec,
    states: Vec<State>,
    (spilled, kept): (&[SpilledRows], &KeptFiles),
    context: &ExecContext,
) -> Result<(State, Reservation)> {
    let mut memory = context.budget.reserve(0)?;
    let own = KeptSpill::new(spec, 1, context);
    let mut whole = match spilled.is_empty() {
        true => merge_small(spec, states, context)?,
        false => merge_distinct_files(spec, &states, spilled, &own, context)?,
    };
    hold(spec, &mut whole, &own, &mut memory, |state| state.memory_size() as u64)?;
    own.drain(spec, &mut whole)?;
    let own = own.finish()?;
    let others: Vec<Vec<&SpilledRows>> = kept.iter().map(|slot| slot.iter().collect()).collect();
    let files = kept::joined(&others, &own);
    kept::gather(spec, &mut whole, (&files, None), context, &mut memory)?;
    Ok((whole, memory))
}

/// Sets a reservation to what a state wants; if that is refused, rows that it keeps go to files.
pub(super) fn hold(
    spec: &SharedSpec,
    state: &mut State,
    own: &KeptSpill,
    reservation: &mut Reservation,
    wanted: impl Fn(&State) -> u64,
) -> Result<()> {
    match resize_or_work(reservation, wanted(state)) {
        Err(error) if is_refusal(&error) && spec.keeps_rows() => {
            own.drain(spec, state)?;
            resize_or_work(reservation, wanted(state))
        }
        other => other,
    }
}

/// For each list of distinct arguments, the rows in memory and in files are split by the hash of the arguments, each part is
/// aggregated by itself, and the accumulators are merged. Rows that they keep go to `own` if there is no memory for them.
fn merge_distinct_files(
    spec: &SharedSpec,
    states: &[State],
    spilled: &[SpilledRows],
    own: &KeptSpill,
    context: &ExecContext,
) -> Result<State> {
    let mut whole = State::new(spec, spec.hints.clone())?;
    for state in states {
        whole.merge(state, &[0], &[])?;
    }
    let memory = Mutex::new(context.budget.reserve(0)?);
    let target = Mutex::new(whole);
    for turn in 0..spec.distincts.len() {
        let again = if turn > 0 { Some(spread_again(spec, spilled, turn, context)?) } else { None };
        let spilled = again.as_deref().unwrap_or(spilled);
        let by_hash = |state: &State| {
            let table = &state.distincts[turn];
            let hashes = super::generic::hash_groups(&table.columns()[1..], 0, table.len());
            Partitioned::by_hashes(&hashes, spilled.len())
        };
        let orders: Vec<Partitioned> = states.iter().map(by_hash).collect();
        context.parallel(spilled.len(), |part| {
            let (mut state, mut scratch) = (State::new(spec, spec.hints.clone())?, Scratch::new(spec));
            state.turn = Some(turn);
            let mut reservation = context.budget.reserve(0)?;
            for (other, order) in states.iter().zip(&orders) {
                state.merge_distinct(turn, other, order.items(part), |_| 0)?;
                resize_or_work(&mut reservation, state.memory_size() as u64)?;
            }
            consume_file(&spilled[part], &mut state, (spec, own), &mut scratch, &mut reservation)?;
            state.finish_distinct()?;
            let mut target = target.lock();
            target.merge_turn(&state, turn)?;
            // Counts and sums are small, but not what other accumulators collect.
            hold(spec, &mut target, own, &mut memory.lock(), |state| state.memory_size() as u64)
        })?;
    }
    let mut whole = target.into_inner();
    whole.finish_distinct()?;
    Ok(whole)
}

/// Adds rows in a file to a state that has so much memory; rows that it keeps go to `own` if there is none for them.
pub(super) fn consume_file(
    file: &SpilledRows,
    state: &mut State,
    (spec, own): (&SharedSpec, &KeptSpill),
    scratch: &mut Scratch,
    reservation: &mut Reservation,
) -> Result<()> {
    let mut reader = file.reader();
    while let Some(batch) = reader.next()? {
        let len = batch.len();
        for_morsels(spec, batch.into_columns(), len, |morsel, rows| {
            morsel.into_iter().for_each(|morsel| state.start_morsel(morsel));
            state.consume(&input_batch(spec, rows.columns(), rows.len()), scratch)
        })?;
        hold(spec, state, own, reservation, |state| state.memory_size() as u64)?;
    }
    Ok(())
}

/// The same rows by the hash of other distinct arguments.
fn spread_again(
    spec: &SharedSpec,
    spilled: &[SpilledRows],
    turn: usize,
    context: &ExecContext,
) -> Result<Vec<SpilledRows>> {
    let file = SpillFile::new(context);
    let target: OnceLock<SpillPartitions> = OnceLock::new();
    context.parallel(spilled.len(), |part| {
        let (mut spill, mut scratch) = (RowSpill::default(), Scratch::new(spec));
        let mut reader = spilled[part].reader();
        while let Some(batch) = reader.next()? {
            let types: Vec<_> = batch.columns().iter().map(Vector::logical_type).collect();
            let target = target.get_or_init(|| SpillPartitions::new(&file, &types, spilled.len()));
            let input = input_batch(spec, batch.columns(), batch.len());
            let rows = (&input, batch.columns());
            spill.append(target, (None, By::Distinct(turn)), spec, rows, &mut scratch)?;
        }
        Ok(())
    })?;
    target.get().map_or_else(|| Ok(spilled.to_vec()), SpillPartitions::finish)
}

impl Merged {
    /// How many parts can be output independently; at least one.
    pub(super) fn morsels(&self) -> usize {
        match self {
            Self::Single(state) => state.len().div_ceil(MORSEL_GROUPS).max(1),
            Self::Domain(_, places) => places.div_ceil(MORSEL_GROUPS),
            Self::Joined(joined) => joined.morsels(),
            Self::Spans(_, spans) => spans.len(),
            Self::Partitions(partitions) => partitions.count,
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
                output_groups(state, from, state.len().min(from + MORSEL_GROUPS), push).map(|_| ())
            }
            Self::Domain(states, places) => {
                let from = morsel * MORSEL_GROUPS;
                domain::output(spec, states, from..(from + MORSEL_GROUPS).min(*places), push)
            }
            Self::Joined(joined) => joined.output(spec, morsel, context, push),
            Self::Spans(states, spans) => {
                let Span { state, groups } = &spans[morsel];
                output_groups(&states[*state], groups.start, groups.end, push).map(|_| ())
            }
            Self::Partitions(partitions) => {
                partitions.output(spec, morsel, context, scratch, push).map(|_| ())
            }
        }
    }
}

/// Outputs groups; `false` if `push` has enough.
pub(super) fn output_groups(
    state: &State,
    from: usize,
    to: usize,
    push: &mut dyn FnMut(Batch) -> Result<bool>,
) -> Result<bool> {
    push_rows(to.saturating_sub(from), batch_rows(state), push, |at, len| state.output(from + at, len))
}

/// Results are made of about so many bytes of what accumulators hold at once, if that is more than one group.
const OUTPUT_BYTES: usize = 4 << 20;

/// Groups that are output at once: fewer where much is kept of each.
fn batch_rows(state: &State) -> usize {
    let of_group = state.accumulated_size() / state.len().max(1);
    (OUTPUT_BYTES / of_group.max(1)).clamp(1, VECTOR_SIZE)
}

/// Pushes what `rows` makes of so many rows, `most` at a time; `false` if `push` has enough.
pub(super) fn push_rows(
    all: usize,
    most: usize,
    push: &mut dyn FnMut(Batch) -> Result<bool>,
    mut rows: impl FnMut(usize, usize) -> Result<Batch>,
) -> Result<bool> {
    for at in (0..all).step_by(most) {
        if !push(rows(at, (all - at).min(most))?)? {
            return Ok(false);
        }
    }
    Ok(true)
}
