//! Aggregates that fold values of one carrier into a small state per group.

use super::groups::{Seen, for_valid, scatter, scatter_valid};
use super::{GroupIds, GroupedAccumulator, flat, same_kind};
use inlay_types::{Buffer, Heap, LogicalType, Native, Result, Vector};
use std::any::Any;

/// How values fold. All functions are inlined into the loops.
pub(super) trait Fold: Send + Sync + 'static {
    /// Carrier of the argument.
    type Input: Native;
    /// State of a group.
    type State: Copy + Send + Sync + 'static;
    /// Carrier of the result.
    type Output: Native;
    /// The state of an empty group.
    fn empty() -> Self::State;
    /// Adds a value.
    fn add(state: &mut Self::State, value: Self::Input);
    /// Adds a state.
    fn merge(state: &mut Self::State, other: &Self::State);
    /// The result of a group that is not empty.
    fn result(state: &Self::State) -> Self::Output;
}

/// The accumulator of a [`Fold`].
pub(super) struct Folding<F: Fold> {
    states: Vec<F::State>,
    seen: Seen,
    ty: LogicalType,
}

impl<F: Fold> Folding<F> {
    pub(super) fn boxed(ty: LogicalType, every_group_has_row: bool) -> Box<dyn GroupedAccumulator> {
        Box::new(Self { states: Vec::new(), seen: Seen::new(every_group_has_row), ty })
    }
}

impl<F: Fold> GroupedAccumulator for Folding<F> {
    fn resize(&mut self, groups: usize) {
        self.states.resize(groups, F::empty());
        self.seen.resize(groups);
    }

    fn update(&mut self, args: &[&Vector], groups: GroupIds<'_>) -> Result<()> {
        let arg = flat(args[0]);
        let values = arg.values::<F::Input>();
        match arg.validity() {
            None => scatter(&mut self.states, groups, values, |state, value| F::add(state, value)),
            Some(validity) => {
                scatter_valid(&mut self.states, groups, values, validity, |state, value| {
                    F::add(state, value)
                });
            }
        }
        self.seen.mark_valid(groups, arg.validity());
        Ok(())
    }

    fn update_one(&mut self, args: &[&Vector], len: usize, group: u32) -> Result<()> {
        let arg = flat(args[0]);
        let values = &arg.values::<F::Input>()[..len];
        let mut state = F::empty();
        let mut any = false;
        match arg.validity() {
            None => {
                values.iter().for_each(|&value| F::add(&mut state, value));
                any = len > 0;
            }
            Some(validity) => for_valid(validity, len, |row| {
                F::add(&mut state, values[row]);
                any = true;
            }),
        }
        if any {
            F::merge(&mut self.states[group as usize], &state);
            self.seen.mark(group as usize);
        }
        Ok(())
    }

    fn merge(&mut self, other: &dyn GroupedAccumulator, source: &[u32], target: &[u32]) -> Result<()> {
        let other = same_kind::<Self>(other)?;
        for (&from, &to) in source.iter().zip(target) {
            if other.seen.get(from as usize) {
                F::merge(&mut self.states[to as usize], &other.states[from as usize]);
            }
        }
        self.seen.merge(&other.seen, source, target);
        Ok(())
    }

    fn finish(&self, from: usize, len: usize) -> Result<Vector> {
        let states = &self.states[from..from + len];
        let values: Vec<F::Output> = states.iter().map(F::result).collect();
        Ok(Vector::flat(
            self.ty.clone(),
            len,
            Buffer::copy_of(&values),
            self.seen.validity(from, len),
            Heap::default(),
        ))
    }

    fn memory_size(&self) -> usize {
        self.states.capacity() * size_of::<F::State>() + self.seen.memory_size()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
