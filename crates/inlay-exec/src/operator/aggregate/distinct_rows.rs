//! Distinct rows of several states: of few groups with many rows, which are split by hash, each part aggregated by itself, and
//! the accumulators merged; and whether rows can be codes.

use super::codes::{self, Code, Feeder, Fields, Target};
use super::generic::hash_groups;
use super::partition::Partitioned;
use super::scattered::{self, Scattered, Shares};
use super::spec::SharedSpec;
use super::state::{Fed, State, feed_distinct, merge_distinct_rows};
use super::table::{GroupTable, TableHints};
use crate::context::ExecContext;
use crate::spill::count_or_work;
use inlay_kernels::aggregate::Column;
use inlay_types::limits::Tally;
use inlay_types::{Reservation, Result};
use parking_lot::Mutex;
use std::sync::Arc;

/// Parallel tasks for distinct rows.
const DISTINCT_PARTITIONS: usize = 16;

/// Merges the distinct rows with number `index` of all states into `target`; `maps` say which group there one of theirs is.
pub(super) fn merge(
    spec: &SharedSpec,
    states: &[State],
    maps: &[Vec<u32>],
    index: usize,
    target: &mut State,
    context: &ExecContext,
) -> Result<()> {
    let rows = states.iter().map(|state| state.distincts[index].len()).sum();
    if let Some(fields) = State::fields(spec, states, index, target.len(), context)?
        && let Some(_memory) = scattered::reserve(&fields, (rows, states.len() * parts_of(rows)), context)?
    {
        let lists: Vec<_> = states.iter().map(|state| state.distincts[index].columns()).collect();
        let of = (&fields, &lists[..], maps);
        return match fields.are_narrow() {
            true => merge_codes::<u64>(spec, of, index, target, context),
            false => merge_codes::<u128>(spec, of, index, target, context),
        };
    }
    let orders: Vec<Mutex<Partitioned>> = states.iter().map(|_| Mutex::default()).collect();
    context.parallel(states.len(), |task| {
        let table = &states[task].distincts[index];
        let hashes = hash_groups(&table.columns()[1..], 0, table.len());
        *orders[task].lock() = Partitioned::by_hashes(&hashes, DISTINCT_PARTITIONS);
        Ok(())
    })?;
    let orders: Vec<Partitioned> = orders.into_iter().map(Mutex::into_inner).collect();
    let groups = target.len();
    let parts: Mutex<Vec<Fed>> = Mutex::default();
    context.parallel(DISTINCT_PARTITIONS, |task| {
        let types: Vec<_> = states[0].distincts[index].columns().iter().map(|c| c.logical_type()).collect();
        let ranges = vec![Some((0, groups.saturating_sub(1) as u64))];
        let rows = orders.iter().map(|order| order.items(task).len() as u64).sum();
        let hints = TableHints { ranges, rows: Some(rows), groups: Some(rows), ..TableHints::default() };
        let (mut table, mut found) = (GroupTable::new(&types, hints), Vec::new());
        let (mut of_table, mut tally) = (Tally::default(), Tally::default());
        for ((state, map), order) in states.iter().zip(maps).zip(&orders) {
            let rename = |group: u32| map[group as usize];
            merge_distinct_rows(state.distincts[index].columns(), order.items(task), rename, |keys, len| {
                count_or_work(&mut of_table, 5 * table.memory_size() / 2)?;
                table.find_or_create(keys, len, &mut found)
            })?;
        }
        let mut accumulators = spec.accumulators()?;
        accumulators.iter_mut().for_each(|accumulator| accumulator.resize(groups));
        let rows = (table.columns(), groups);
        feed_distinct((&spec.slots, index), &mut accumulators, rows, &mut tally)?;
        parts.lock().push((accumulators, tally));
        Ok(())
    })?;
    target.merge_accumulators(index, parts.into_inner())
}

/// Parts that so many rows of all states are scattered over.
fn parts_of(rows: usize) -> usize {
    codes::parts_of(rows).max(DISTINCT_PARTITIONS)
}

/// The same of rows that can be codes.
fn merge_codes<K: Code>(
    spec: &SharedSpec,
    (fields, lists, maps): (&Fields, &[&[Column]], &[Vec<u32>]),
    index: usize,
    target: &mut State,
    context: &ExecContext,
) -> Result<()> {
    let shares = Shares::new(lists.iter().map(|list| list[0].len()).collect());
    let parts = parts_of(shares.rows());
    let scattered = Scattered::<K>::all(context, &shares, parts, |task, scattered| {
        while let Some((list, rows)) = shares.take(task) {
            scattered.append_by_hash(fields, lists[list], rows, |group| maps[list][group as usize])?;
        }
        Ok(())
    })?;
    let groups = target.len();
    let fed: Mutex<Vec<Fed>> = Mutex::default();
    context.parallel(DISTINCT_PARTITIONS, |task| {
        let mut accumulators = spec.accumulators()?;
        accumulators.iter_mut().for_each(|accumulator| accumulator.resize(groups));
        let (mut feeder, mut tally) = (Feeder::new(fields, &spec.slots, index), Tally::default());
        for part in (task..parts).step_by(DISTINCT_PARTITIONS) {
            let codes: Vec<_> = scattered.iter().map(|codes| (codes.part(part), None)).collect();
            let target = Target::all(&mut accumulators, groups);
            feeder.feed(&codes, target, &mut |bytes| count_or_work(&mut tally, bytes))?;
        }
        fed.lock().push((accumulators, tally));
        Ok(())
    })?;
    target.merge_accumulators(index, fed.into_inner())
}

/// For each list of distinct arguments, where codes of its rows have what, if they can be codes and there is memory for them
/// in so many partitions, which is added to `reservations`.
pub(super) fn fields_of(
    spec: &SharedSpec,
    states: &[State],
    partitions: usize,
    context: &ExecContext,
    reservations: &mut Vec<Reservation>,
) -> Result<Vec<Option<Arc<Fields>>>> {
    let groups: usize = states.iter().map(State::len).sum();
    let mut all = vec![None; spec.distincts.len()];
    for (index, of_list) in all.iter_mut().enumerate() {
        let Some(fields) = State::fields(spec, states, index, groups, context)? else { continue };
        let rows = states.iter().map(|state| state.distincts[index].len()).sum();
        if let Some(memory) = scattered::reserve(&fields, (rows, states.len() * partitions), context)? {
            reservations.push(memory);
            *of_list = Some(Arc::new(fields));
        }
    }
    Ok(all)
}
