//! Groups of several states whose keys index arrays become those of the first: codes of keys are compared, not keys.
//!
//! Distinct rows that can be codes are scattered by ranges of these groups, each range is a part of the result, and its
//! distinct rows are found when it is read. Rows of the first state, whose groups keep their numbers, are scattered while a
//! worker joins the others' groups.

use super::codes::{self, Code, Feeder, Fields, Target};
use super::distinct::DistinctRows;
use super::merge::{PARTITION_GROUPS, push_rows};
use super::scattered::{Scattered, Shares};
use super::spec::SharedSpec;
use super::state::State;
use super::table::Recoding;
use crate::context::ExecContext;
use crate::spill::resize_or_work;
use inlay_kernels::aggregate::{Column, GroupedAccumulator};
use inlay_types::{Batch, Error, Result, VECTOR_SIZE};
use parking_lot::Mutex;
use std::sync::{Arc, OnceLock};

/// More groups than this are merged by all workers.
const GROUPS_MAX: usize = 1 << 17;
/// Parts that the result is read in, at most, if the groups of all states are the same.
const PARTS_MAX: usize = 1 << 10;
/// Numbers of parts have no more bits.
const PARTS_BITS_MAX: u32 = 15;
/// Parts are output together, at most so many and a vector of groups, if there are at least so many morsels.
const MORSEL_PARTS_MAX: usize = 4;
const MORSELS_MIN: usize = 32;

/// The groups of all states. See the module documentation.
pub(super) struct Joined {
    /// Keys, and what is not distinct.
    state: State,
    /// For each list of distinct rows, the codes of all states.
    lists: Vec<List>,
    /// Parts are of `2^shift` groups.
    shift: u32,
}

enum List {
    /// Numbers of groups are small within a part.
    Short(Arc<Fields>, Vec<Scattered<u32>>),
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

/// The states, whose groups are added to the first by whoever needs that first.
struct Joining<'a> {
    states: Mutex<Vec<State>>,
    recodings: &'a [Recoding],
    /// Which groups of the first those of each state are.
    maps: OnceLock<Vec<Vec<u32>>>,
}

impl Joining<'_> {
    /// Which groups those of each state are, if it is known.
    fn known(&self) -> Option<&[Vec<u32>]> {
        self.maps.get().map(Vec::as_slice)
    }

    /// Which groups those of each state are: joins the states, or waits for who does.
    fn maps(&self) -> Result<&[Vec<u32>]> {
        let mut states = self.states.lock();
        if self.maps.get().is_none()
            && let Some((first, others)) = states.split_first_mut()
        {
            let mut maps = vec![(0..first.len() as u32).collect()];
            for (other, recoding) in others.iter().zip(self.recodings) {
                maps.push(first.join(other, recoding)?);
            }
            self.maps.set(maps).map_err(|_| Error::internal("states were joined twice"))?;
        }
        self.known().ok_or_else(|| Error::internal("no states were joined"))
    }
}

impl Joined {
    /// Of states whose lists of distinct rows can all be codes with these fields.
    pub(super) fn new(
        mut states: Vec<State>,
        recodings: &[Recoding],
        fields: &[Arc<Fields>],
        context: &ExecContext,
    ) -> Result<Self> {
        let (shift, parts) = (Self::shift(&states), Self::parts(&states));
        let mut distincts: Vec<Vec<DistinctRows>> =
            states.iter_mut().map(|state| std::mem::take(&mut state.distincts)).collect();
        let joining = Joining { states: Mutex::new(states), recodings, maps: OnceLock::new() };
        let mut lists = Vec::with_capacity(fields.len());
        for (index, fields) in fields.iter().enumerate() {
            let rows: Vec<&[Column]> = distincts.iter().map(|lists| lists[index].columns()).collect();
            let of = (&rows[..], &joining, (shift, parts));
            let shared = Arc::clone(fields);
            lists.push(match fields.are_narrow() {
                true if fields.are_short(1 << shift) => List::Short(shared, scatter(fields, of, context)?),
                true => List::Narrow(shared, scatter(fields, of, context)?),
                false => List::Wide(shared, scatter(fields, of, context)?),
            });
        }
        joining.maps()?;
        let mut state = joining.states.into_inner().swap_remove(0);
        state.distincts = distincts.swap_remove(0);
        state.distincts.iter_mut().for_each(DistinctRows::clear);
        Ok(Self { state, lists, shift })
    }

    /// How many parts the distinct rows of some states are scattered over, at most: some groups are of several states.
    pub(super) fn parts(states: &[State]) -> usize {
        let groups: usize = states.iter().map(State::len).sum();
        groups.div_ceil(1 << Self::shift(states)).max(1)
    }

    /// Parts of about as many rows as a set in a core's cache has.
    fn shift(states: &[State]) -> u32 {
        // Most groups are of all states.
        let groups = states.iter().map(State::len).max().unwrap_or(0);
        let rows: usize = states.iter().flat_map(|state| &state.distincts).map(DistinctRows::len).sum();
        let wanted = codes::parts_of(rows).max(groups / PARTITION_GROUPS).clamp(2, PARTS_MAX);
        let all: usize = states.iter().map(State::len).sum();
        groups.div_ceil(wanted).max(all >> PARTS_BITS_MAX).next_power_of_two().trailing_zeros()
    }

    /// Groups that are output at once, parts together.
    fn morsel_groups(&self) -> usize {
        let part = 1 << self.shift;
        let parts = self.state.len() / part;
        part * (VECTOR_SIZE / part).min(parts / MORSELS_MIN).clamp(1, MORSEL_PARTS_MAX)
    }

    /// How many morsels can be output independently; at least one.
    pub(super) fn morsels(&self) -> usize {
        self.state.len().div_ceil(self.morsel_groups()).max(1)
    }

    /// Outputs a morsel until `push` has enough.
    pub(super) fn output(
        &self,
        spec: &SharedSpec,
        morsel: usize,
        context: &ExecContext,
        push: &mut dyn FnMut(Batch) -> Result<bool>,
    ) -> Result<()> {
        let from = morsel * self.morsel_groups();
        let len = (self.state.len() - from).min(self.morsel_groups());
        let own = match self.lists.is_empty() {
            true => None,
            false => Some(self.with_distinct(spec, (from, len), context)?),
        };
        // Accumulators, and which of their groups is the first of the morsel.
        let (accumulators, first) =
            own.as_ref().map_or((&self.state.accumulators, from), |accumulators| (accumulators, 0));
        let keys = self.state.table.columns();
        push_rows(len, VECTOR_SIZE, push, |at, len| {
            let mut columns: Vec<_> = keys.iter().map(|key| key.to_vector(from + at, len)).collect();
            columns.extend(spec.finish(accumulators, first + at, len)?);
            Ok(Batch::new(columns, len))
        })
        .map(|_| ())
    }

    /// Accumulators of `len` groups from `from` on, with what their distinct rows give.
    fn with_distinct(
        &self,
        spec: &SharedSpec,
        (from, len): (usize, usize),
        context: &ExecContext,
    ) -> Result<Vec<Box<dyn GroupedAccumulator>>> {
        let mut accumulators = spec.accumulators()?;
        accumulators.iter_mut().for_each(|accumulator| accumulator.resize(len));
        let ranks: Vec<u32> = (0..len as u32).collect();
        let groups: Vec<u32> = ranks.iter().map(|rank| from as u32 + rank).collect();
        spec.merge_plain(&mut accumulators, &self.state.accumulators, (&groups, &ranks))?;
        for (index, list) in self.lists.iter().enumerate() {
            let into = (&mut accumulators[..], (from, len));
            match list {
                List::Short(fields, codes) => {
                    self.feed(codes, Feeder::new(fields, &spec.slots, index), into, context)?
                }
                List::Narrow(fields, codes) => {
                    self.feed(codes, Feeder::new(fields, &spec.slots, index), into, context)?
                }
                List::Wide(fields, codes) => {
                    self.feed(codes, Feeder::new(fields, &spec.slots, index), into, context)?
                }
            }
        }
        Ok(accumulators)
    }

    /// Feeds the codes of the parts that have groups `from .. from + len` to the accumulators of these.
    fn feed<K: Code>(
        &self,
        codes: &[Scattered<K>],
        mut feeder: Feeder<'_, K>,
        (accumulators, (from, len)): (&mut [Box<dyn GroupedAccumulator>], (usize, usize)),
        context: &ExecContext,
    ) -> Result<()> {
        let mut reservation = context.budget.reserve(0)?;
        for first in (0..len).step_by(1 << self.shift) {
            let part = (from + first) >> self.shift;
            let parts: Vec<_> = codes.iter().map(|codes| (codes.part(part), None)).collect();
            let target = Target { accumulators, groups: len, first: first as u32 };
            feeder.feed(&parts, target, &mut |bytes| resize_or_work(&mut reservation, bytes as u64))?;
        }
        Ok(())
    }
}

/// The codes of the distinct rows of all states, by ranges of `2^shift` groups.
fn scatter<K: Code>(
    fields: &Fields,
    (lists, joining, (shift, parts)): (&[&[Column]], &Joining<'_>, (u32, usize)),
    context: &ExecContext,
) -> Result<Vec<Scattered<K>>> {
    let shares = Shares::new(lists.iter().map(|list| list[0].len()).collect());
    let place = |group: u32| ((group >> shift) as usize, group & ((1 << shift) - 1));
    Scattered::all(context, &shares, parts, |task, scattered| {
        // The second begins with joining, the others with what does not wait for it.
        while task != 1
            && joining.known().is_none()
            && let Some(rows) = shares.take_of(0)
        {
            scattered.append_by_group(fields, lists[0], rows, place)?;
        }
        let maps = joining.maps()?;
        while let Some((list, rows)) = shares.take(task) {
            let map = &maps[list];
            match list {
                0 => scattered.append_by_group(fields, lists[0], rows, place)?,
                _ => scattered
                    .append_by_group(fields, lists[list], rows, |group| place(map[group as usize]))?,
            }
        }
        Ok(())
    })
}
