//! Aggregates of a host: rows are gathered until a group is whole, or handed on to states of the host's in large pieces.
//!
//! - [`GATHERED`] keeps its rows as `list` does. At the end the host is called for many groups at once: blocks of groups
//!   that have about [`BLOCK_ROWS`] rows together, so that a call has enough of them and what it is given fits into memory.
//!   Blocks are computed when their first group is asked for, by different workers at the same time.
//! - [`MERGED`] keeps rows only until there are [`BUFFER_ROWS`] of them.
//!
//! Interface and rules: `external::aggregate`.

use super::collect::{GroupRows, KeptRows, KeptRowsMut};
use super::column::Column;
use super::{GroupIds, GroupedAccumulator, same_kind};
use crate::external::{External, ExternalStates, GroupedRows};
use crate::function::{AggregateFunction, AggregateRules};
use inlay_types::limits;
use inlay_types::{Bitmap, Error, LogicalType, Result, Vector, VectorBuilder};
use std::any::Any;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The host sees all rows of a group in one call.
pub static GATHERED: AggregateRules = AggregateRules::new("gathered by a host", gathered).ordered();
/// The host merges states.
pub static MERGED: AggregateRules = AggregateRules::new("merged by a host", merged);

/// Rows that the groups of one call have together, about.
const BLOCK_ROWS: usize = 1 << 17;
/// Fewest groups of a call, if there are so many.
const BLOCK_GROUPS_MIN: usize = inlay_types::VECTOR_SIZE;
/// Rows per group from which on they are added to states before these are merged; fewer are moved.
const MOVED_ROWS_MAX: usize = 32;
/// Rows that wait for a call that adds them to states.
const BUFFER_ROWS: usize = 1 << 15;

fn external_of(function: &AggregateFunction) -> Result<Arc<External>> {
    let external = function.external.clone();
    external.ok_or_else(|| Error::internal(format!("aggregate {} has no function of a host", function.name)))
}

fn gathered(function: &AggregateFunction, _total: bool) -> Result<Box<dyn GroupedAccumulator>> {
    let rows = Rows::new(function);
    Ok(Box::new(Gathered { external: external_of(function)?, rows, groups: 0, blocks: Mutex::default() }))
}

fn merged(function: &AggregateFunction, _total: bool) -> Result<Box<dyn GroupedAccumulator>> {
    let external = external_of(function)?;
    let states = external.aggregate()?.states();
    let states =
        states.ok_or_else(|| Error::internal(format!("aggregate {} has no states", function.name)))?;
    let types = function.arg_types.clone();
    let inner = Inner { states, buffer: Rows::new(function), groups: 0 };
    Ok(Box::new(Merged { external, types, inner: Mutex::new(inner) }))
}

/// What another thread left behind when it failed is not used any more.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Arguments of rows, with their groups.
struct Rows {
    columns: Vec<Column>,
    rows: GroupRows,
    len: usize,
}

impl Rows {
    fn new(function: &AggregateFunction) -> Self {
        Self::of(&function.arg_types)
    }

    fn of(types: &[LogicalType]) -> Self {
        let columns = types.iter().map(|ty| Column::new(ty.clone())).collect();
        Self { columns, rows: GroupRows::default(), len: 0 }
    }

    fn add(&mut self, args: &[&Vector], groups: GroupIds<'_>, skips_nulls: bool) {
        let is_shown = |row: &u32| !skips_nulls || !args.iter().any(|arg| arg.is_null(*row as usize));
        let rows: Vec<u32> = (0..groups.len() as u32).filter(is_shown).collect();
        for (column, arg) in self.columns.iter_mut().zip(args) {
            column.append(arg, &rows);
        }
        self.len += rows.len();
        self.rows.push(rows.iter().map(|&row| groups.ids()[row as usize]));
    }

    fn clear(&mut self) {
        KeptRowsMut::new(&mut self.rows, &mut self.columns).forget();
        self.len = 0;
    }

    fn merge(&mut self, other: &Self, source: &[u32], target: &[u32]) {
        let added = self.rows.merge(&other.rows, source, target);
        for (column, theirs) in self.columns.iter_mut().zip(&other.columns) {
            column.append_added(theirs, &added);
        }
        self.len = self.rows.len();
    }

    /// Calls `each` with the rows of those of the groups that have some, and the numbers of these groups.
    fn call<T>(
        &self,
        groups: impl Iterator<Item = u32>,
        each: impl FnOnce(GroupedRows<'_>, &[u32]) -> Result<T>,
    ) -> Result<T> {
        let (mut rows, mut ends, mut present) = (Vec::new(), Vec::new(), Vec::new());
        for group in groups {
            let own = self.rows.rows(group);
            if !own.is_empty() {
                rows.extend_from_slice(own);
                ends.push(rows.len() as u32);
                present.push(group);
            }
        }
        let share = rows.len() as u64 * self.memory_size() as u64 / self.len.max(1) as u64;
        let _reservation = limits::current().map(|limits| limits.budget.reserve(share)).transpose()?;
        let args: Vec<Vector> = self.columns.iter().map(|column| column.gather(&rows)).collect();
        each(GroupedRows { args: &args, ends: &ends }, &present)
    }

    fn memory_size(&self) -> usize {
        self.columns.iter().map(Column::memory_size).sum::<usize>() + self.rows.memory_size()
    }
}

/// Values of the groups `present`, of which `values` has one each, among groups `from .. from + len`.
fn spread(values: &Vector, present: &[u32], from: usize, len: usize) -> Vector {
    if present.len() == len {
        return values.flatten();
    }
    if present.is_empty() {
        return Vector::nulls(values.logical_type(), len);
    }
    let mut places = vec![0u32; len];
    let mut is_present = vec![false; len];
    for (place, &group) in present.iter().enumerate() {
        places[group as usize - from] = place as u32;
        is_present[group as usize - from] = true;
    }
    let mut all = values.flatten().take(&places);
    let shown = Bitmap::from_fn(len, |group| is_present[group]);
    let validity = Bitmap::and_optional(all.validity(), Some(&shown));
    all.set_validity(validity);
    all.normalize_nulls();
    all
}

/// Values of a block of groups, once they are computed.
type Block = Arc<Mutex<Option<Vector>>>;

struct Gathered {
    external: Arc<External>,
    rows: Rows,
    groups: usize,
    blocks: Mutex<HashMap<usize, Block>>,
}

impl Gathered {
    /// Groups of each block: a power of two, so that it is the same whoever asks.
    fn block_groups(&self) -> usize {
        let per_group = self.rows.len.div_ceil(self.groups.max(1)).max(1);
        (BLOCK_ROWS / per_group).max(1).next_power_of_two().max(BLOCK_GROUPS_MIN)
    }

    fn block(&self, number: usize, groups: usize) -> Result<Vector> {
        let block = Arc::clone(locked(&self.blocks).entry(number).or_default());
        // Whoever needs the same block waits.
        let mut block = locked(&block);
        if let Some(values) = &*block {
            return Ok(values.clone());
        }
        let (from, to) = (number * groups, self.groups.min((number + 1) * groups));
        let values = self.rows.call(from as u32..to as u32, |rows, present| {
            if present.is_empty() {
                return Ok(Vector::nulls(self.external.definition.returns.clone(), to - from));
            }
            let values = self.external.aggregate()?.call(rows)?;
            let values = self.external.check_values(values, present.len())?;
            Ok(spread(&values, present, from, to - from))
        })?;
        *block = Some(values.clone());
        Ok(values)
    }

    fn forget(&mut self) {
        self.blocks.get_mut().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

impl GroupedAccumulator for Gathered {
    fn resize(&mut self, groups: usize) {
        if groups > self.groups {
            self.forget();
            self.groups = groups;
        }
    }

    fn start_morsel(&mut self, number: u32) {
        self.rows.rows.start_morsel(number);
    }

    fn update(&mut self, args: &[&Vector], groups: GroupIds<'_>) -> Result<()> {
        self.forget();
        self.rows.add(args, groups, self.external.skips_nulls());
        Ok(())
    }

    fn merge(&mut self, other: &dyn GroupedAccumulator, source: &[u32], target: &[u32]) -> Result<()> {
        let other = same_kind::<Self>(other)?;
        self.forget();
        self.rows.merge(&other.rows, source, target);
        Ok(())
    }

    fn prepare_merge(&self) {
        self.rows.rows.prepare();
    }

    fn kept(&self) -> Option<KeptRows<'_>> {
        Some(KeptRows::new(&self.rows.rows, &self.rows.columns))
    }

    fn kept_mut(&mut self) -> Option<KeptRowsMut<'_>> {
        Some(KeptRowsMut::new(&mut self.rows.rows, &mut self.rows.columns))
    }

    fn forget_kept(&mut self) {
        self.forget();
        self.rows.clear();
    }

    fn finish(&self, from: usize, len: usize) -> Result<Vector> {
        let groups = self.block_groups();
        let mut builder = VectorBuilder::new(self.external.definition.returns.clone(), len);
        let mut at = from;
        while at < from + len {
            let number = at / groups;
            let to = (from + len).min((number + 1) * groups);
            let values = self.block(number, groups)?;
            let piece = values.slice(at - number * groups, to - at);
            if to - at == len {
                return Ok(piece);
            }
            builder.append(&piece);
            at = to;
        }
        Ok(builder.finish())
    }

    fn memory_size(&self) -> usize {
        self.rows.memory_size()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// States, and rows that are not added to them yet.
struct Inner {
    states: Box<dyn ExternalStates>,
    buffer: Rows,
    groups: usize,
}

impl Inner {
    fn flush(&mut self, types: &[LogicalType]) -> Result<()> {
        if self.buffer.len == 0 {
            return Ok(());
        }
        let buffer = std::mem::replace(&mut self.buffer, Rows::of(types));
        let groups = buffer.rows.group_count() as u32;
        buffer.call(0..groups, |rows, present| self.states.update(rows, present))
    }
}

struct Merged {
    external: Arc<External>,
    types: Vec<LogicalType>,
    inner: Mutex<Inner>,
}

impl Merged {
    fn inner_mut(&mut self) -> &mut Inner {
        self.inner.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    fn flush_if_large(&mut self) -> Result<()> {
        let types = self.types.clone();
        let inner = self.inner_mut();
        if inner.buffer.len < BUFFER_ROWS { Ok(()) } else { inner.flush(&types) }
    }
}

impl GroupedAccumulator for Merged {
    fn resize(&mut self, groups: usize) {
        let inner = self.inner_mut();
        inner.groups = inner.groups.max(groups);
    }

    fn update(&mut self, args: &[&Vector], groups: GroupIds<'_>) -> Result<()> {
        let skips_nulls = self.external.skips_nulls();
        self.inner_mut().buffer.add(args, groups, skips_nulls);
        self.flush_if_large()
    }

    fn merge(&mut self, other: &dyn GroupedAccumulator, source: &[u32], target: &[u32]) -> Result<()> {
        let other = same_kind::<Self>(other)?;
        let mut other = locked(&other.inner);
        if other.buffer.len > MOVED_ROWS_MAX * other.groups {
            other.flush(&self.types)?;
        }
        let inner = self.inner_mut();
        inner.states.merge(&*other.states, source, target)?;
        inner.buffer.merge(&other.buffer, source, target);
        self.flush_if_large()
    }

    fn finish(&self, from: usize, len: usize) -> Result<Vector> {
        let mut inner = locked(&self.inner);
        inner.flush(&self.types)?;
        let present: Vec<u32> =
            (from as u32..(from + len) as u32).filter(|&state| inner.states.has(state)).collect();
        if present.is_empty() {
            return Ok(Vector::nulls(self.external.definition.returns.clone(), len));
        }
        let values = self.external.check_values(inner.states.finish(&present)?, present.len())?;
        Ok(spread(&values, &present, from, len))
    }

    fn memory_size(&self) -> usize {
        let inner = locked(&self.inner);
        inner.states.memory_size() + inner.buffer.memory_size()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
