//! Accumulators: the state of an aggregate function for many groups at once, column by column.
//!
//! [`create`] makes the accumulator of a function. Group numbers count from 0; [`GroupedAccumulator::resize`] adds
//! groups, [`GroupedAccumulator::update`] adds rows, [`GroupedAccumulator::merge`] adds the groups of another accumulator
//! of the same function, and [`GroupedAccumulator::finish`] makes result columns. NULL arguments are skipped; a
//! group without values gives NULL (counts give 0). Overflow is an error.
//!
//! Callers: hash aggregation (which shares sums and counts between `sum`, `avg` and `count`, see [`NullCount`] and
//! [`average`]) and window functions.

mod average;
pub mod bins;
pub mod bit_strings;
mod bits;
mod by_rank;
mod collect;
mod column;
mod count;
pub mod digest;
pub mod doubles;
pub mod downsample;
mod extreme;
mod few;
mod fold;
mod foremost;
mod fractions;
pub mod frequency;
mod groups;
pub mod host;
mod hyperloglog;
mod joined;
pub mod json;
pub mod list;
pub mod moments;
mod order;
mod ordered;
mod packing;
mod passes;
pub mod pick;
mod prefix;
pub mod quantile;
pub mod reservoir;
#[cfg(test)]
mod samples;
mod selection;
pub mod several;
mod sorting;
mod strings;
mod sum;
pub mod temporal;
#[cfg(test)]
mod tests;

pub use average::{average, count_of, quotient, sum_of};
pub use by_rank::{ByRank, RankedFrames};
pub use collect::{KeptColumn, KeptRows, KeptRowsMut};
pub use column::Column;
pub use count::NullCount;
pub use groups::GroupIds;
pub use ordered::{OrderKey, Ordered};
pub use strings::StringHeap;

use crate::function::{AggregateFunction, AggregateKind};
use inlay_types::{Result, Vector};
use std::any::Any;

/// The states of one aggregate function for all groups.
pub trait GroupedAccumulator: Send + Sync {
    /// Makes room for groups `0 .. groups`; never fewer than before. With `every_group_has_row` in [`create`], the next
    /// update or merge has a row of each group that is new.
    fn resize(&mut self, groups: usize);

    /// The rows of the updates that follow belong to this morsel; those of one morsel come in their order. Functions that depend
    /// on the order of rows go by it.
    fn start_morsel(&mut self, _number: u32) {}

    /// Adds rows: row `i` of `args` (at least `groups.len()` rows each, of any kind) to group `groups.ids()[i]`.
    fn update(&mut self, args: &[&Vector], groups: GroupIds<'_>) -> Result<()>;

    /// Adds the first `len` rows to one group.
    fn update_one(&mut self, args: &[&Vector], len: usize, group: u32) -> Result<()> {
        let ids = vec![group; len];
        self.update(args, GroupIds::new(&ids, group as usize + 1))
    }

    /// No row will be added, and several workers will merge groups of this accumulator into others: what all of them need is
    /// made now, not by the first while the others wait.
    fn prepare_merge(&self) {}

    /// Adds group `source[i]` of `other`, an accumulator made for the same function, to group `target[i]`.
    /// No target is named twice.
    fn merge(&mut self, other: &dyn GroupedAccumulator, source: &[u32], target: &[u32]) -> Result<()>;

    /// The rows, if all that is kept of groups is made of some. They may be put into a file, forgotten, and come back later, those
    /// of a morsel in the order that they were in.
    fn kept(&self) -> Option<KeptRows<'_>> {
        None
    }

    /// Adds rows of [`Self::kept`] again. They are arguments of the function if nothing else is said.
    fn restore(&mut self, columns: &[&Vector], groups: GroupIds<'_>) -> Result<()> {
        self.update(columns, groups)
    }

    /// There will be so many more rows, at most: what keeps them makes room for no more than that.
    fn expect_rows(&mut self, rows: usize) {
        if let Some(kept) = self.kept_mut() {
            kept.make_room(rows);
        }
    }

    /// Forgets the rows of [`Self::kept`], but not parameters that are the same for all rows.
    fn forget_kept(&mut self) {
        if let Some(kept) = self.kept_mut() {
            kept.forget();
        }
    }

    /// The rows of [`Self::kept`] where they lie, if nothing else has to change with them.
    fn kept_mut(&mut self) -> Option<KeptRowsMut<'_>> {
        None
    }

    /// The results of groups `from .. from + len`.
    fn finish(&self, from: usize, len: usize) -> Result<Vector>;

    /// What finds the result of one group by reading its rows several times, if the function can; parameters are as known
    /// here or learnt from the rows.
    fn passes(&self) -> Option<Box<dyn Passes>> {
        None
    }

    /// What makes results of rows that are found by their rank, if the function's results are made of few of them.
    fn by_rank(&self) -> Option<&dyn ByRank> {
        None
    }

    /// Bytes held.
    fn memory_size(&self) -> usize;

    /// For `merge`.
    fn as_any(&self) -> &dyn Any;
}

/// The result of one group whose rows are read several times instead of kept.
pub trait Passes: Send {
    /// Adds the first `len` rows of the arguments, as for [`GroupedAccumulator::update`]. Each pass has the same rows, in any
    /// order.
    fn add(&mut self, args: &[&Vector], len: usize) -> Result<()>;

    /// All rows of a pass were added: the result, a vector of one row, or `None` if the rows are needed once more.
    fn end(&mut self) -> Result<Option<Vector>>;
}

/// The accumulator of `function`. `every_group_has_row`: groups are added only together with a row of theirs, so that
/// without NULLs no group is empty (not so without GROUP BY, or behind a filter).
pub fn create(
    function: &AggregateFunction,
    every_group_has_row: bool,
) -> Result<Box<dyn GroupedAccumulator>> {
    let total = every_group_has_row;
    match function.kind {
        AggregateKind::CountStar | AggregateKind::Count => Ok(count::create(function)),
        AggregateKind::Sum => sum::create(function, total),
        AggregateKind::Avg => average::create(function, total),
        AggregateKind::Min => extreme::create(function, total, false),
        AggregateKind::Max => extreme::create(function, total, true),
        AggregateKind::First | AggregateKind::AnyValue | AggregateKind::ArgMin | AggregateKind::ArgMax => {
            pick::create(function)
        }
        AggregateKind::BoolAnd
        | AggregateKind::BoolOr
        | AggregateKind::BitAnd
        | AggregateKind::BitOr
        | AggregateKind::BitXor
        | AggregateKind::Product => bits::create(function, total),
        AggregateKind::StddevSamp
        | AggregateKind::StddevPop
        | AggregateKind::VarSamp
        | AggregateKind::VarPop
        | AggregateKind::Corr
        | AggregateKind::CovarPop
        | AggregateKind::CovarSamp => moments::create(function),
        AggregateKind::StringAgg => joined::create(function),
        AggregateKind::Mode => Ok(frequency::mode(function)),
        AggregateKind::ApproxCountDistinct => Ok(hyperloglog::create()),
        AggregateKind::Declared(rules) => (rules.create)(function, total),
    }
}

/// `other` as the accumulator type of the one it is merged into.
fn same_kind<A: 'static>(other: &dyn GroupedAccumulator) -> Result<&A> {
    let other = other.as_any().downcast_ref::<A>();
    other.ok_or_else(|| inlay_types::Error::internal("accumulators of different functions were merged"))
}

/// The flat form of an argument.
fn flat(arg: &Vector) -> std::borrow::Cow<'_, Vector> {
    if arg.is_flat() { std::borrow::Cow::Borrowed(arg) } else { std::borrow::Cow::Owned(arg.flatten()) }
}
