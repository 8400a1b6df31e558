//! Drops rows that cannot be among the first of their group: below `row_number() OVER (...) <= 3`, and below a LIMIT of
//! each group.
//!
//! Each worker remembers the best values of the first sort key that it has seen of each group, as many as rows are wanted.
//! A row that is behind all of them has so many rows before it, whatever the other keys say. Ties stay: who is first is
//! decided above, and rows only go early. Where hardly any row goes, or memory is short, the worker stops looking.
//!
//! Rows that came before their betters are still there. Who collects what was let through has [`Leaders::reduce`] look at it
//! again: then few more than are wanted stay.

use super::aggregate::{GroupTable, KeyDomain, TableHints};
use super::order::rank_words;
use crate::concat::concat_batches;
use crate::context::ExecContext;
use crate::dispatch::prefetch;
use crate::expression::{Layout, Program, ProgramState};
use crate::pipeline::{Flow, Operator, Push};
use inlay_sql::plan::{Expr, SortKey};
use inlay_types::{Batch, Error, LogicalType, Reservation, Result, VECTOR_SIZE, Vector};
use std::collections::BTreeMap;

/// More wanted rows per group than this cost more than they save.
const ROWS_MAX: u64 = 128;
/// Bytes that a worker remembers at most.
const BYTES_MAX: usize = 64 << 20;
/// Rows after which a worker asks itself whether it is of use: many, since nothing goes before there are more rows of a group
/// than are wanted.
const JUDGED_ROWS: u64 = 1 << 19;

/// The words of so many rows further on are asked for before they are needed.
const AHEAD: usize = 16;

/// The shared part: what the rows are told apart and judged by.
pub struct Leaders {
    /// Computes the groups' keys, then the sort key.
    program: Program,
    types: Vec<LogicalType>,
    hints: TableHints,
    /// Bytes of the words of all places of a domain.
    places_size: u64,
    descending: bool,
    nulls_first: bool,
    rows: usize,
    context: ExecContext,
}

/// The best words of each group.
struct Best {
    table: GroupTable,
    /// Words wanted of each group.
    rows: usize,
    /// Per group a heap of `rows` words, the worst on top; `u64::MAX` where none is yet.
    words: Vec<u64>,
}

/// What a worker has.
pub struct Local {
    state: ProgramState,
    best: Best,
    memory: Reservation,
    groups: Vec<u32>,
    selection: Vec<u32>,
    /// Rows seen in all, and since the worker judged itself last: rows, dropped ones, and groups before.
    seen: u64,
    period: (u64, u64, usize),
}

impl Best {
    /// No words. Places of a domain are reserved all at once; without memory for them, or a domain, nothing is known of keys,
    /// as an array for a wide range would be larger than what is remembered.
    fn new(leaders: &Leaders, memory: &mut Reservation) -> Self {
        let has_places = leaders.hints.domain && memory.resize(leaders.places_size).is_ok();
        let hints = if has_places { leaders.hints.clone() } else { TableHints::default() };
        Self { table: GroupTable::new(&leaders.types, hints), rows: leaders.rows, words: Vec::new() }
    }

    /// Enters words of rows with these keys; `groups` is where they are, `selection` gets those that may be wanted. `false` if
    /// nothing was entered since groups would have to be numbered anew.
    fn enter(
        &mut self,
        keys: Vec<Vector>,
        words: &[u64],
        groups: &mut Vec<u32>,
        selection: &mut Vec<u32>,
    ) -> Result<bool> {
        if !self.table.has_domain() || !self.table.find_in_domain(&keys, words.len(), groups) {
            if self.table.has_domain() {
                self.table.leave_domain();
                if !self.words.is_empty() {
                    return Ok(false);
                }
            }
            self.table.find_or_create(keys, words.len(), groups)?;
        }
        self.words.resize(self.table.len() * self.rows, u64::MAX);
        selection.clear();
        selection.resize(words.len(), 0);
        let mut count = 0;
        for (row, (&group, &word)) in groups.iter().zip(words).enumerate() {
            if let Some(&later) = groups.get(row + AHEAD) {
                prefetch(&self.words, later as usize * self.rows);
            }
            let group = group as usize;
            let worst = self.words[group * self.rows];
            // Overwritten by the next row if this one is behind. `count` is at most `row`.
            selection[count] = row as u32;
            count += usize::from(word <= worst);
            if word < worst {
                let heap = &mut self.words[group * self.rows..(group + 1) * self.rows];
                heap[0] = word;
                sink(heap);
            }
        }
        selection.truncate(count);
        Ok(true)
    }

    /// Whether a row with this word, which was entered, may be wanted after all that came.
    fn wants(&self, group: u32, word: u64) -> bool {
        word <= self.words[group as usize * self.rows]
    }

    fn memory_size(&self) -> usize {
        self.table.memory_size() + self.words.capacity() * 8
    }
}

impl Leaders {
    /// Looks for the first `rows` rows of each of `groups` by `key`; `None` where that is not worth it.
    pub fn new(
        layout: &Layout,
        groups: &[Expr],
        key: &SortKey,
        rows: u64,
        (domains, input_rows): (&[Option<KeyDomain>], Option<u64>),
        context: &ExecContext,
    ) -> Result<Option<Self>> {
        if groups.is_empty() || rows > ROWS_MAX || !has_words(&key.expr.ty()) {
            return Ok(None);
        }
        let types: Vec<LogicalType> = groups.iter().map(Expr::ty).collect();
        // As many groups as values is what a domain is best at.
        let values = match domains {
            [Some(KeyDomain::Range(low, high))] => {
                high.checked_sub(*low).and_then(|range| u64::try_from(range).ok())
            }
            _ => None,
        };
        let mut hints = TableHints::of(&types, domains, (input_rows, values), 1);
        let places_size = values.map_or(u64::MAX, |values| values.saturating_mul(8 * rows.max(1) + 1));
        hints.domain &= places_size < BYTES_MAX as u64;
        let exprs: Vec<Expr> = groups.iter().chain([&key.expr]).cloned().collect();
        Ok(Some(Self {
            program: Program::compile_many(&exprs, layout)?,
            types,
            hints,
            places_size,
            descending: key.descending,
            nulls_first: key.nulls_first,
            rows: rows.max(1) as usize,
            context: context.alone(),
        }))
    }

    fn new_local(&self) -> Result<Local> {
        let mut memory = self.context.budget.yielding().reserve(0)?;
        Ok(Local {
            state: self.program.state(),
            best: Best::new(self, &mut memory),
            memory,
            groups: Vec::new(),
            selection: Vec::new(),
            seen: 0,
            period: (0, 0, 0),
        })
    }

    /// Words in the order of the sort key, equal ones included; NULLs are as far out as the outmost value.
    fn words(&self, column: &Vector) -> Result<Vec<u64>> {
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

    /// The groups' keys of some rows, and their words.
    fn keys_and_words(&self, state: &mut ProgramState, input: &Batch) -> Result<(Vec<Vector>, Vec<u64>)> {
        let mut columns = self.program.eval_all(state, input)?;
        let key = columns.pop().ok_or_else(|| Error::internal("leaders without a sort key"))?;
        let words = self.words(&key)?;
        Ok((columns, words))
    }

    /// Fills `selection` with the rows that may be wanted; `false` if that can be told no longer.
    fn select(&self, local: &mut Local, input: &Batch) -> Result<bool> {
        let (keys, words) = self.keys_and_words(&mut local.state, input)?;
        if !local.best.enter(keys, &words, &mut local.groups, &mut local.selection)? {
            return Ok(false);
        }
        let (seen, kept) = (input.len() as u64, local.selection.len() as u64);
        local.seen += seen;
        local.period.0 += seen;
        local.period.1 += seen - kept;
        Ok(true)
    }

    /// Whether to go on: memory is there, and rows are dropped, or will be once there are more of each group.
    fn is_of_use(&self, local: &mut Local) -> bool {
        let bytes = local.best.memory_size();
        if bytes > BYTES_MAX || local.memory.resize(bytes as u64).is_err() {
            return false;
        }
        let (rows, dropped, groups_before) = local.period;
        if rows < JUDGED_ROWS {
            return true;
        }
        let groups = local.best.table.len();
        local.period = (0, 0, groups);
        // Nearly all rows are the first of their group, so that there are more groups than are remembered (those of a domain
        // are there from the start), or there were enough of each already.
        let mostly_new = !local.best.table.has_domain() && (groups - groups_before) as u64 > rows / 16 * 15;
        let had_enough = local.seen >= 8 * self.rows as u64 * groups as u64;
        dropped >= rows / 8 || !mostly_new && !had_enough
    }
}

/// Rows that were collected, by morsel.
pub(super) type Collected = BTreeMap<usize, Vec<Batch>>;

impl Leaders {
    /// Removes rows of batches that are behind enough others of these; the columns that were let through come first in them.
    /// Nothing is removed if memory is refused, or there are more groups than are worth it.
    pub(super) fn reduce(&self, collected: &mut Collected) -> Result<()> {
        let mut memory = self.context.budget.yielding().reserve(0)?;
        let (mut state, mut best) = (self.program.state(), Best::new(self, &mut memory));
        // Where each row's group is in the table: it is looked up once.
        let (mut places, mut groups, mut selection) = (Vec::new(), Vec::new(), Vec::new());
        for batch in collected.values().flatten() {
            self.context.interrupt.check()?;
            let (keys, words) = self.keys_and_words(&mut state, batch)?;
            if !best.enter(keys, &words, &mut groups, &mut selection)? {
                return Ok(());
            }
            places.extend_from_slice(&groups);
            let bytes = best.memory_size() + places.capacity() * 4;
            if best.memory_size() > BYTES_MAX || memory.resize(bytes as u64).is_err() {
                return Ok(());
            }
        }
        let mut at = 0;
        for batches in collected.values_mut() {
            self.context.interrupt.check()?;
            let mut stay = Vec::with_capacity(batches.len());
            for batch in std::mem::take(batches) {
                let (_, words) = self.keys_and_words(&mut state, &batch)?;
                let places = &places[at..at + batch.len()];
                at += batch.len();
                selection.clear();
                let wanted = places
                    .iter()
                    .zip(&words)
                    .enumerate()
                    .filter(|(_, (group, word))| best.wants(**group, **word));
                selection.extend(wanted.map(|(row, _)| row as u32));
                match selection.len() {
                    0 => {}
                    all if all == batch.len() => stay.push(batch),
                    _ => stay.push(batch.take(&selection)),
                }
            }
            *batches = joined(stay);
        }
        collected.retain(|_, batches| !batches.is_empty());
        Ok(())
    }
}

/// The same rows in fewer batches, of up to [`VECTOR_SIZE`] rows each.
fn joined(batches: Vec<Batch>) -> Vec<Batch> {
    let mut result = Vec::with_capacity(1);
    let mut batches = batches.into_iter().peekable();
    while let Some(first) = batches.next() {
        let (mut len, mut run) = (first.len(), vec![first]);
        while let Some(batch) = batches.next_if(|batch| len + batch.len() <= VECTOR_SIZE) {
            len += batch.len();
            run.push(batch);
        }
        result.push(match &run[..] {
            [one] => one.clone(),
            many => {
                let types: Vec<LogicalType> = many[0].columns().iter().map(Vector::logical_type).collect();
                concat_batches(&types, many)
            }
        });
    }
    result
}

/// Whether [`rank_words`] knows the type.
fn has_words(ty: &LogicalType) -> bool {
    !ty.is_view() || matches!(ty, LogicalType::Varchar | LogicalType::Blob)
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
    type Local = Option<Local>;

    fn local(&self) -> Option<Local> {
        // `None`, too, when the worker has stopped looking.
        self.new_local().ok()
    }

    fn process(&self, input: Batch, place: &mut Option<Local>, push: Push<'_>) -> Result<Flow> {
        let Some(local) = place else { return push(input) };
        if !self.select(local, &input)? {
            *place = None;
            return push(input);
        }
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
    use inlay_sql::plan::ColumnId;
    use inlay_types::Value;

    fn column(id: u32, ty: LogicalType) -> Expr {
        Expr::Column { id: ColumnId(id), ty }
    }

    /// 20,000 rows in nine morsels: a group, which may be NULL, a value with ties and NULLs, and the row's number.
    fn collected() -> Collected {
        let mut rows = (0..20_000u64).map(|row| {
            let random = row.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33;
            let group = if random % 90 == 0 { Value::Null } else { Value::Integer((random % 90) as i32) };
            let value = random / 90 % 300;
            let value = if value < 20 { Value::Null } else { Value::BigInt(value as i64) };
            vec![group, value, Value::BigInt(row as i64)]
        });
        let types = [LogicalType::Integer, LogicalType::BigInt, LogicalType::BigInt];
        let mut collected = Collected::new();
        for number in 0.. {
            let part: Vec<Vec<Value>> = rows.by_ref().take(700).collect();
            if part.is_empty() {
                return collected;
            }
            let of = |index: usize| {
                let values: Vec<Value> = part.iter().map(|row| row[index].clone()).collect();
                Vector::from_sql_values(types[index].clone(), &values).unwrap()
            };
            let batch = Batch::new((0..3).map(of).collect(), part.len());
            collected.entry(number / 3).or_default().push(batch);
        }
        collected
    }

    fn rows_of(collected: &Collected) -> Vec<(usize, Vec<Value>)> {
        let each =
            collected.iter().flat_map(|(morsel, batches)| batches.iter().map(move |batch| (*morsel, batch)));
        each.flat_map(|(morsel, batch)| {
            (0..batch.len()).map(move |row| (morsel, batch.columns().iter().map(|c| c.get(row)).collect()))
        })
        .collect()
    }

    #[test]
    fn what_is_collected_is_reduced_to_what_is_wanted_with_ties() {
        const WANTED: usize = 3;
        let layout = Layout((0..3).map(ColumnId).collect());
        let groups = [column(0, LogicalType::Integer)];
        for (descending, nulls_first) in [(false, false), (false, true), (true, false), (true, true)] {
            let key = SortKey { expr: column(1, LogicalType::BigInt), descending, nulls_first };
            let all = rows_of(&collected());
            // A row's place by its value alone: how many of its group come before it.
            let before = |a: &Value, b: &Value| match (a.is_null(), b.is_null()) {
                (true, true) => false,
                (true, false) => nulls_first,
                (false, true) => !nulls_first,
                _ if descending => a.as_stored_i128() > b.as_stored_i128(),
                _ => a.as_stored_i128() < b.as_stored_i128(),
            };
            let mut by_group: BTreeMap<String, Vec<&Value>> = BTreeMap::new();
            all.iter().for_each(|(_, row)| by_group.entry(row[0].to_string()).or_default().push(&row[1]));
            let wanted = |row: &[Value]| {
                by_group[&row[0].to_string()].iter().filter(|other| before(other, &row[1])).count() < WANTED
            };
            let expected: Vec<_> = all.iter().filter(|(_, row)| wanted(row)).cloned().collect();
            // Keys of a known range; of one that some are out of from the first batch on, or only later; of none.
            for range in [
                Some((0, 5000)),
                Some((40, 5000)),
                Some((i128::from(i32::MAX) - 9000, i128::from(i32::MAX))),
                None,
            ] {
                let domains = [range.map(|(low, high)| KeyDomain::Range(low, high))];
                let known = (&domains[..], Some(1 << 20));
                let context = ExecContext::for_tests(2);
                let leaders =
                    Leaders::new(&layout, &groups, &key, WANTED as u64, known, &context).unwrap().unwrap();
                assert_eq!(leaders.hints.domain, range.is_some());
                let mut rows = collected();
                leaders.reduce(&mut rows).unwrap();
                assert_eq!(rows_of(&rows), expected, "{descending} {nulls_first} {range:?}");
                assert!(rows.values().all(|batches| batches.len() == 1));
            }
            // A key that is out of the range it was promised to be in, when others have been entered.
            let known = (&[Some(KeyDomain::Range(0, 5000))][..], Some(1 << 20));
            let context = ExecContext::for_tests(2);
            let leaders = Leaders::new(&layout, &groups, &key, WANTED as u64, known, &context);
            let mut rows = collected();
            let stray = [Value::Integer(-1), Value::BigInt(3), Value::BigInt(0)];
            let stray = stray.map(|value| Vector::from_sql_values(value.logical_type(), &[value]).unwrap());
            rows.entry(9).or_default().push(Batch::new(stray.to_vec(), 1));
            let before = rows_of(&rows);
            leaders.unwrap().unwrap().reduce(&mut rows).unwrap();
            assert_eq!(rows_of(&rows), before);
        }
    }

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
            let mut heap = vec![u64::MAX; size];
            for value in &values {
                if *value < heap[0] {
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
