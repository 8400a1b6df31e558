//! Groups of several states whose keys index arrays become those of the first: codes of keys are compared, not keys.
//!
//! Distinct rows that can be codes are scattered by ranges of these groups, each range is a part of the result, and its
//! distinct rows are found when it is read.

use super::codes::{self, Code, Feeder, Fields, Scattered};
use super::distinct::DistinctRows;
use super::merge::{PARTITION_GROUPS, push_rows};
use super::spec::SharedSpec;
use super::state::State;
use super::table::Recoding;
use crate::context::ExecContext;
use crate::spill::resize_or_work;
use inlay_kernels::aggregate::GroupedAccumulator;
use inlay_types::{Batch, Error, Result};
use std::sync::Arc;

/// More groups than this are merged by all workers.
const GROUPS_MAX: usize = 1 << 17;
/// Parts that the result is read in, at most.
const PARTS_MAX: usize = 1 << 10;

/// The groups of all states. See the module documentation.
pub(super) struct Joined {
    /// Keys, and what is not distinct.
    state: State,
    /// For each list of distinct rows, the codes of each state.
    lists: Vec<List>,
    /// Parts are of `2^shift` groups.
    shift: u32,
}

enum List {
    Narrow(Arc<Fields>, Vec<Scattered<u64>>),
    Wide(Arc<Fields>, Vec<Scattered<u128>>),
}

/// How the codes of all states but the first become its codes; `None` if there are too many groups, or their keys do not index
/// arrays of one kind.
pub(super) fn recodings(states: &mut [State]) -> Option<Vec<Recoding>> {
    let total: usize = states.iter().map(State::len).sum();
    let (first, others) = states.split_first_mut()?;
    // A single integer is better merged by ranges.
    if total > GROUPS_MAX || first.table.direct_range().is_some() {
        return None;
    }
    others.iter().map(|other| first.table.recoding(&other.table)).collect()
}

/// Adds the groups of all states, and what is not distinct, to the first; returns which groups there those of each state are.
pub(super) fn join(states: &mut [State], recodings: &[Recoding]) -> Result<Vec<Vec<u32>>> {
    let Some((first, others)) = states.split_first_mut() else { return Ok(Vec::new()) };
    let mut maps = vec![(0..first.len() as u32).collect()];
    for (other, recoding) in others.iter().zip(recodings) {
        maps.push(first.join(other, recoding)?);
    }
    Ok(maps)
}

impl Joined {
    /// Of joined states, whose lists of distinct rows can all be codes with these fields.
    pub(super) fn new(
        mut states: Vec<State>,
        maps: &[Vec<u32>],
        fields: &[Arc<Fields>],
        context: &ExecContext,
    ) -> Result<Self> {
        let Some(groups) = states.first().map(State::len) else {
            return Err(Error::internal("no states were joined"));
        };
        let shift = Self::shift(&states, groups);
        let of = (&states[..], maps, shift);
        let mut lists = Vec::with_capacity(fields.len());
        for (index, fields) in fields.iter().enumerate() {
            lists.push(match fields.are_narrow() {
                true => List::Narrow(Arc::clone(fields), scatter(fields, of, index, context)?),
                false => List::Wide(Arc::clone(fields), scatter(fields, of, index, context)?),
            });
        }
        let mut state = states.swap_remove(0);
        state.distincts.iter_mut().for_each(DistinctRows::clear);
        Ok(Self { state, lists, shift })
    }

    /// How many parts the distinct rows of some states would be scattered over.
    pub(super) fn parts(states: &[State]) -> usize {
        let groups = states.iter().map(State::len).max().unwrap_or(0);
        groups.div_ceil(1 << Self::shift(states, groups)).max(1)
    }

    /// Parts of about as many rows as a set in a core's cache has.
    fn shift(states: &[State], groups: usize) -> u32 {
        let rows: usize = states.iter().flat_map(|state| &state.distincts).map(DistinctRows::len).sum();
        let wanted = codes::parts_of(rows).max(groups / PARTITION_GROUPS).clamp(2, PARTS_MAX);
        groups.div_ceil(wanted).next_power_of_two().trailing_zeros()
    }

    /// How many parts can be output independently; at least one.
    pub(super) fn morsels(&self) -> usize {
        self.state.len().div_ceil(1 << self.shift).max(1)
    }

    /// Outputs a part until `push` has enough.
    pub(super) fn output(
        &self,
        spec: &SharedSpec,
        part: usize,
        context: &ExecContext,
        push: &mut dyn FnMut(Batch) -> Result<bool>,
    ) -> Result<()> {
        let from = part << self.shift;
        let len = (self.state.len() - from).min(1 << self.shift);
        let own = match self.lists.is_empty() {
            true => None,
            false => Some(self.with_distinct(spec, part, (from, len), context)?),
        };
        // Accumulators, and which of their groups is the first of the part.
        let (accumulators, first) =
            own.as_ref().map_or((&self.state.accumulators, from), |accumulators| (accumulators, 0));
        let keys = self.state.table.columns();
        push_rows(len, push, |at, len| {
            let mut columns: Vec<_> = keys.iter().map(|key| key.to_vector(from + at, len)).collect();
            columns.extend(spec.finish(accumulators, first + at, len)?);
            Ok(Batch::new(columns, len))
        })
        .map(|_| ())
    }

    /// Accumulators of a part of `len` groups from `from` on, with what its distinct rows give.
    fn with_distinct(
        &self,
        spec: &SharedSpec,
        part: usize,
        (from, len): (usize, usize),
        context: &ExecContext,
    ) -> Result<Vec<Box<dyn GroupedAccumulator>>> {
        let mut accumulators = spec.accumulators()?;
        accumulators.iter_mut().for_each(|accumulator| accumulator.resize(len));
        let ranks: Vec<u32> = (0..len as u32).collect();
        let groups: Vec<u32> = ranks.iter().map(|rank| from as u32 + rank).collect();
        spec.merge_plain(&mut accumulators, &self.state.accumulators, (&groups, &ranks))?;
        let mut reservation = context.budget.reserve(0)?;
        let mut memory = |bytes: usize| resize_or_work(&mut reservation, bytes as u64);
        for (index, list) in self.lists.iter().enumerate() {
            let into = (&mut accumulators[..], len);
            match list {
                List::Narrow(fields, codes) => {
                    let parts: Vec<_> = codes.iter().map(|codes| (codes.part(part), None)).collect();
                    Feeder::new(fields, &spec.slots, index).feed(&parts, into, &mut memory)?;
                }
                List::Wide(fields, codes) => {
                    let parts: Vec<_> = codes.iter().map(|codes| (codes.part(part), None)).collect();
                    Feeder::new(fields, &spec.slots, index).feed(&parts, into, &mut memory)?;
                }
            }
        }
        Ok(accumulators)
    }
}

/// The codes of the distinct rows with number `index` of each state, by ranges of `2^shift` groups.
fn scatter<K: Code>(
    fields: &Fields,
    (states, maps, shift): (&[State], &[Vec<u32>], u32),
    index: usize,
    context: &ExecContext,
) -> Result<Vec<Scattered<K>>> {
    let parts = states[0].len().div_ceil(1 << shift).max(1);
    Scattered::all(context, states.len(), |number| {
        let (list, map) = (states[number].distincts[index].columns(), &maps[number]);
        let place = |group: u32| ((group >> shift) as usize, group & ((1 << shift) - 1));
        match number {
            0 => Scattered::by_group(fields, list, parts, place),
            _ => Scattered::by_group(fields, list, parts, |group| place(map[group as usize])),
        }
    })
}
