//! Drops rows that cannot be among the first of their group: below `row_number() OVER (...) <= 3`, and below a LIMIT of
//! each group.
//!
//! Each worker remembers the best values of the first sort key that it has seen of each group, as many as rows are wanted.
//! A row that is behind all of them has so many rows before it, whatever the other keys say. Ties stay: who is first is
//! decided above, and rows only go early. Where hardly any row goes, or memory is short, the worker stops looking.

use super::aggregate::{GroupTable, TableHints};
use super::order::rank_words;
use crate::context::ExecContext;
use crate::expression::{Layout, Program, ProgramState};
use crate::pipeline::{Flow, LocalState, Operator, Push};
use inlay_sql::plan::{Expr, SortKey};
use inlay_types::{Batch, Error, LogicalType, Reservation, Result};

/// More wanted rows per group than this cost more than they save.
const ROWS_MAX: u64 = 128;
/// Bytes that a worker remembers at most.
const BYTES_MAX: usize = 64 << 20;
/// Rows after which a worker asks itself whether it is of use: many, since nothing goes before there are more rows of a group
/// than are wanted.
const JUDGED_ROWS: u64 = 1 << 19;

/// The shared part: what the rows are told apart and judged by.
pub struct Leaders {
    /// Computes the groups' keys, then the sort key.
    program: Program,
    types: Vec<LogicalType>,
    descending: bool,
    nulls_first: bool,
    rows: usize,
    context: ExecContext,
}

struct Local {
    state: ProgramState,
    table: GroupTable,
    /// Per group a heap of `rows` words, the worst on top, and how many of them are taken.
    best: Vec<u64>,
    taken: Vec<u8>,
    memory: Reservation,
    groups: Vec<u32>,
    selection: Vec<u32>,
    /// Rows seen in all, and since the worker judged itself last: rows, dropped ones, and groups before.
    seen: u64,
    period: (u64, u64, usize),
}

impl Leaders {
    /// Looks for the first `rows` rows of each of `groups` by `key`; `None` where that is not worth it.
    pub fn new(
        layout: &Layout,
        groups: &[Expr],
        key: &SortKey,
        rows: u64,
        context: &ExecContext,
    ) -> Result<Option<Self>> {
        if groups.is_empty() || rows > ROWS_MAX || !has_words(&key.expr.ty()) {
            return Ok(None);
        }
        let exprs: Vec<Expr> = groups.iter().chain([&key.expr]).cloned().collect();
        Ok(Some(Self {
            program: Program::compile_many(&exprs, layout)?,
            types: groups.iter().map(Expr::ty).collect(),
            descending: key.descending,
            nulls_first: key.nulls_first,
            rows: rows.max(1) as usize,
            context: context.alone(),
        }))
    }

    fn new_local(&self) -> Result<Local> {
        Ok(Local {
            state: self.program.state(),
            table: GroupTable::new(&self.types, TableHints::default()),
            best: Vec::new(),
            taken: Vec::new(),
            memory: self.context.budget.yielding().reserve(0)?,
            groups: Vec::new(),
            selection: Vec::new(),
            seen: 0,
            period: (0, 0, 0),
        })
    }

    /// Words in the order of the sort key, equal ones included; NULLs are as far out as the outmost value.
    fn words(&self, column: &inlay_types::Vector) -> Result<Vec<u64>> {
        let flat = column.flatten();
        let mut words = rank_words(&self.context, &flat)?;
        if self.descending {
            words.iter_mut().for_each(|word| *word = !*word);
        }
        if flat.null_count() > 0 {
            let null = if self.nulls_first { 0 } else { u64::MAX };
            let nulls = words.iter_mut().enumerate().filter(|(row, _)| flat.is_null(*row));
            nulls.for_each(|(_, word)| *word = null);
        }
        Ok(words)
    }

    /// Fills `selection` with the rows that may be wanted.
    fn select(&self, local: &mut Local, input: &Batch) -> Result<()> {
        let mut columns = self.program.eval_all(&mut local.state, input)?;
        let key = columns.pop().ok_or_else(|| Error::internal("leaders without a sort key"))?;
        let words = self.words(&key)?;
        local.table.find_or_create(columns, input.len(), &mut local.groups)?;
        let groups = local.table.len();
        local.best.resize(groups * self.rows, 0);
        local.taken.resize(groups, 0);
        local.selection.clear();
        for (row, (&group, &word)) in local.groups.iter().zip(&words).enumerate() {
            let group = group as usize;
            let heap = &mut local.best[group * self.rows..(group + 1) * self.rows];
            let taken = &mut local.taken[group];
            if usize::from(*taken) < heap.len() {
                heap[usize::from(*taken)] = word;
                *taken += 1;
                rise(heap, usize::from(*taken) - 1);
            } else if word > heap[0] {
                continue;
            } else if word < heap[0] {
                heap[0] = word;
                sink(heap);
            }
            local.selection.push(row as u32);
        }
        let (seen, kept) = (input.len() as u64, local.selection.len() as u64);
        local.seen += seen;
        local.period.0 += seen;
        local.period.1 += seen - kept;
        Ok(())
    }

    /// Whether to go on: memory is there, and rows are dropped, or will be once there are more of each group.
    fn is_of_use(&self, local: &mut Local) -> bool {
        let bytes = local.table.memory_size() + local.best.len() * 8 + local.taken.len();
        if bytes > BYTES_MAX || local.memory.resize(bytes as u64).is_err() {
            return false;
        }
        let (rows, dropped, groups_before) = local.period;
        if rows < JUDGED_ROWS {
            return true;
        }
        let groups = local.table.len();
        local.period = (0, 0, groups);
        // Nearly all rows are the first of their group, so that there are more groups than are remembered, or there were
        // enough of each already.
        let mostly_new = (groups - groups_before) as u64 > rows / 16 * 15;
        let had_enough = local.seen >= 8 * self.rows as u64 * groups as u64;
        dropped >= rows / 8 || !mostly_new && !had_enough
    }
}

/// Whether [`rank_words`] knows the type.
fn has_words(ty: &LogicalType) -> bool {
    !ty.is_view() || matches!(ty, LogicalType::Varchar | LogicalType::Blob)
}

/// Moves a heap's element up to its place; the largest is on top.
fn rise(heap: &mut [u64], mut at: usize) {
    while at > 0 && heap[at] > heap[(at - 1) / 2] {
        heap.swap(at, (at - 1) / 2);
        at = (at - 1) / 2;
    }
}

/// Moves a heap's top down to its place.
fn sink(heap: &mut [u64]) {
    let mut at = 0;
    loop {
        let (left, right) = (2 * at + 1, 2 * at + 2);
        let mut largest = at;
        if left < heap.len() && heap[left] > heap[largest] {
            largest = left;
        }
        if right < heap.len() && heap[right] > heap[largest] {
            largest = right;
        }
        if largest == at {
            return;
        }
        heap.swap(at, largest);
        at = largest;
    }
}

impl Operator for Leaders {
    fn local(&self) -> LocalState {
        // `None`, too, when the worker has stopped looking.
        Box::new(self.new_local().ok())
    }

    fn process(&self, input: Batch, local: &mut LocalState, push: Push<'_>) -> Result<Flow> {
        let place = local.downcast_mut::<Option<Local>>().ok_or_else(|| Error::internal("leaders state"))?;
        let Some(local) = place else { return push(input) };
        self.select(local, &input)?;
        let output = match local.selection.len() {
            0 => None,
            all if all == input.len() => Some(input),
            _ => Some(input.take(&local.selection)),
        };
        if !self.is_of_use(local) {
            *place = None;
        }
        output.map_or(Ok(Flow::More), push)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_heap_keeps_the_smallest() {
        let mut state = 7u64;
        for size in 1..9 {
            let values: Vec<u64> = (0..100)
                .map(|_| {
                    state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
                    state >> 57
                })
                .collect();
            let mut heap = Vec::new();
            for value in &values {
                if heap.len() < size {
                    heap.push(*value);
                    let last = heap.len() - 1;
                    rise(&mut heap, last);
                } else if *value < heap[0] {
                    heap[0] = *value;
                    sink(&mut heap);
                }
            }
            let mut sorted = values;
            sorted.sort_unstable();
            heap.sort_unstable();
            assert_eq!(heap, sorted[..size]);
        }
    }
}
