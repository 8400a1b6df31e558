//! Aggregates over whole partitions whose keys are few numbers: rows stay where they are, and each knows its partition.
//!
//! Nothing is sorted, and no column is gathered: parts of the rows are added up beside each other, partition by partition, and
//! a row reads its partition's value. How many parts there are depends on the rows alone, so that sums of floats do, too.
//! Few rows, whose order costs nothing, are sorted as ever.

use super::Part;
use super::aggregate::{add_places, counted, grows, inputs, truths};
use super::spec::{Function, Spec};
use crate::context::ExecContext;
use crate::operator::order::{self, KeyColumn};
use inlay_kernels::aggregate::GroupIds;
use inlay_kernels::function::AggregateFunction;
use inlay_sql::plan::window::WindowCallee;
use inlay_types::{Error, Result, VECTOR_SIZE, Vector};
use parking_lot::Mutex;

/// Fewer rows are sorted.
const ROWS_MIN: usize = 1 << 16;
/// Rows per partition at least, so that partitions fit into caches where rows do not.
const ROWS_PER_PARTITION: usize = 8;
/// Bits of a partition's number, and parts of the rows, at most.
const BITS_MAX: u32 = 24;
const PARTS_MAX: usize = 16;

/// The partition of each row, and how many there are.
pub(super) struct Partitions {
    pub(super) of_rows: Vec<u32>,
    pub(super) count: usize,
}

/// Whether the functions of a stage ask for no order.
fn is_possible(spec: &Spec) -> bool {
    let is_plain = |function: &Function| {
        let WindowCallee::Aggregate(aggregate) = &function.callee else { return false };
        let kind = aggregate.kind;
        let is_plain = !kind.is_order_sensitive() && !grows(kind) && function.arg_order.is_empty();
        is_plain && function.frame.is_whole() && !(function.distinct && kind.is_distinct_sensitive())
    };
    let has_order = spec.keys.len() > spec.partition_count;
    spec.partition_count > 0 && !has_order && spec.functions.iter().all(is_plain)
}

/// The partitions of rows, if their functions can do without an order and they are few.
pub(super) fn partitions(
    context: &ExecContext,
    spec: &Spec,
    keys: &[KeyColumn<'_>],
    len: usize,
) -> Result<Option<Partitions>> {
    if len < ROWS_MIN || !is_possible(spec) {
        return Ok(None);
    }
    let Some(of_rows) = order::numbers(context, keys, len, BITS_MAX)? else { return Ok(None) };
    let count = of_rows.iter().max().map_or(0, |last| *last as usize + 1);
    Ok((count.saturating_mul(ROWS_PER_PARTITION) <= len).then_some(Partitions { of_rows, count }))
}

/// The value of each partition; numbers that no row has have any.
pub(super) fn values(
    context: &ExecContext,
    part: &Part,
    function: &Function,
    callee: &AggregateFunction,
    partitions: &Partitions,
) -> Result<Vector> {
    let mask = match &function.filter {
        None => None,
        Some(filter) => Some(truths(context, part, filter)?),
    };
    let inputs = inputs(function, callee);
    let parts = (part.len / (2 * partitions.count.max(1))).clamp(1, PARTS_MAX);
    let rows = part.len.div_ceil(parts);
    let states: Vec<Mutex<Option<_>>> = (0..parts).map(|_| Mutex::new(None)).collect();
    context.parallel(parts, |index| {
        let (from, to) = ((index * rows).min(part.len), part.len.min((index + 1) * rows));
        let mut state = counted(part, function, callee)?;
        state.resize(partitions.count);
        for start in (from..to).step_by(VECTOR_SIZE) {
            let rows = start..to.min(start + VECTOR_SIZE);
            let Some(mask) = &mask else {
                let args = inputs.iter().map(|input| part.operand(input, start, rows.len()));
                let args = args.collect::<Result<Vec<_>>>()?;
                let groups = GroupIds::new(&partitions.of_rows[rows], partitions.count);
                state.update(&args.iter().collect::<Vec<_>>(), groups)?;
                continue;
            };
            let places: Vec<u32> = rows.filter(|&place| mask[place]).map(|place| place as u32).collect();
            let groups: Vec<u32> = places.iter().map(|&place| partitions.of_rows[place as usize]).collect();
            add_places(part, &inputs, &mut state, &places, &groups, partitions.count)?;
        }
        *states[index].lock() = Some(state);
        Ok(())
    })?;
    let all: Vec<u32> = (0..partitions.count as u32).collect();
    let mut states = states.into_iter().filter_map(Mutex::into_inner);
    let mut whole = states.next().ok_or_else(|| Error::internal("a window stage without parts"))?;
    for state in states {
        context.interrupt.check()?;
        whole.merge_whole(&state, &all, &all)?;
    }
    Ok(whole.finish(0, partitions.count)?.flatten())
}
