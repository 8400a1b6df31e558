//! Groups with their accumulators, and how rows and other groups get into them.

use super::codes::{self, Fields, Seen};
use super::distinct::DistinctRows;
use super::scattered;
use super::spec::{InputSet, SharedSpec, Slot, SlotKind, Spec};
use super::table::{GroupTable, Recoding, TableHints};
use crate::context::ExecContext;
use crate::expression::{FilterState, ProgramState};
use crate::spill::count_or_work;
use inlay_kernels::aggregate::{Column, GroupIds, GroupedAccumulator};
use inlay_types::limits::{self, Tally};
use inlay_types::{Batch, LogicalType, Result, VECTOR_SIZE, Vector};
use parking_lot::Mutex;

/// Scratch of one worker.
pub struct Scratch {
    pub(super) programs: Vec<ProgramState>,
    filters: Vec<Option<FilterState>>,
    pub(super) group_program: ProgramState,
    groups: Vec<u32>,
    /// The rows that a FILTER let through.
    pub(super) selection: Vec<u32>,
    selected_groups: Vec<u32>,
}

impl Scratch {
    pub(super) fn new(spec: &Spec) -> Self {
        Self {
            programs: spec.sets.iter().map(|set| set.program.state()).collect(),
            filters: spec.sets.iter().map(|set| set.filter.as_ref().map(|filter| filter.state())).collect(),
            group_program: spec.group_program.state(),
            groups: Vec::new(),
            selection: Vec::new(),
            selected_groups: Vec::new(),
        }
    }

    /// The expressions of a set with a FILTER on the rows that it lets through, which `selection` has then.
    pub(super) fn eval_filtered(&mut self, spec: &Spec, set: usize, batch: &Batch) -> Result<Vec<Vector>> {
        let InputSet { filter: Some(filter), program, .. } = &spec.sets[set] else { return Ok(Vec::new()) };
        self.selection.clear();
        if let Some(state) = &mut self.filters[set] {
            filter.select(state, batch, &mut self.selection)?;
        }
        let len = self.selection.len();
        if len == 0 {
            return Ok(Vec::new());
        }
        let all = len == batch.len();
        let needed = program.inputs().iter().map(|&input| batch.column(input));
        let taken: Vec<Vector> =
            needed.map(|column| if all { column.clone() } else { column.take(&self.selection) }).collect();
        let columns: Vec<&Vector> = taken.iter().collect();
        program.eval_all_on(&mut self.programs[set], &columns, len)
    }
}

/// Groups, their accumulators and their distinct rows.
pub(super) struct State {
    spec: SharedSpec,
    pub(super) table: GroupTable,
    pub(super) accumulators: Vec<Box<dyn GroupedAccumulator>>,
    /// One for each list of arguments.
    pub(super) distincts: Vec<DistinctRows>,
    /// Rows consumed.
    pub(super) rows: u64,
    /// Rows come once for each list of distinct arguments: this is the turn of the one with this number. What is not
    /// distinct takes the rows of the first turn.
    pub(super) turn: Option<usize>,
}

impl State {
    pub(super) fn new(spec: &SharedSpec, hints: TableHints) -> Result<Self> {
        let small = hints.small;
        let distinct = |set: &super::spec::DistinctSet| {
            let types: Vec<LogicalType> =
                std::iter::once(LogicalType::UInteger).chain(set.types.iter().cloned()).collect();
            let ranges = vec![spec.group_types.is_empty().then_some((0, 0))];
            DistinctRows::new(types, TableHints { ranges, small, ..TableHints::default() })
        };
        let mut state = Self {
            spec: SharedSpec::clone(spec),
            table: GroupTable::new(&spec.group_types, hints),
            accumulators: spec.accumulators()?,
            distincts: spec.distincts.iter().map(distinct).collect(),
            rows: 0,
            turn: None,
        };
        if spec.group_types.is_empty() {
            state.resize(1);
        }
        Ok(state)
    }

    /// Number of groups.
    pub(super) fn len(&self) -> usize {
        if self.spec.group_types.is_empty() { 1 } else { self.table.len() }
    }

    /// Bytes held.
    pub(super) fn memory_size(&self) -> usize {
        self.accumulated_size()
            + self.table.memory_size()
            + self.distincts.iter().map(DistinctRows::memory_size).sum::<usize>()
    }

    /// Bytes held by accumulators.
    pub(super) fn accumulated_size(&self) -> usize {
        self.accumulators.iter().map(|accumulator| accumulator.memory_size()).sum()
    }

    /// Says that the rows of one worker, or of one of many, will be added.
    pub(super) fn is_of_worker(&mut self, is_one_of_many: bool) {
        if is_one_of_many || !self.spec.is_order_sensitive() {
            self.distincts.iter_mut().for_each(|distinct| distinct.may_list(is_one_of_many));
        }
    }

    /// No rows will be added; see [`GroupTable::seal`].
    pub(super) fn seal(&mut self, keep_array: bool) {
        self.table.seal(keep_array);
        self.distincts.iter_mut().for_each(|distinct| distinct.seal());
    }

    fn resize(&mut self, groups: usize) {
        self.accumulators.iter_mut().for_each(|accumulator| accumulator.resize(groups));
    }

    /// The batches that follow belong to this morsel.
    pub(super) fn start_morsel(&mut self, number: u32) {
        self.accumulators.iter_mut().for_each(|accumulator| accumulator.start_morsel(number));
    }

    /// Whether the keys of a batch do not ascend, as those before did.
    pub(super) fn breaks_order(&self, batch: &Batch, scratch: &mut Scratch) -> Result<bool> {
        let keys = self.spec.group_program.eval_all(&mut scratch.group_program, batch)?;
        Ok(!self.table.goes_on(keys))
    }

    /// Adds the rows of a batch.
    pub(super) fn consume(&mut self, batch: &Batch, scratch: &mut Scratch) -> Result<()> {
        self.consume_hashed(batch, None, scratch)
    }

    /// The same where hashes of the keys may be known.
    pub(super) fn consume_hashed(
        &mut self,
        batch: &Batch,
        hashes: Option<&[u64]>,
        scratch: &mut Scratch,
    ) -> Result<()> {
        self.rows += batch.len() as u64;
        // The specification is borrowed anew: a clone of what all workers share would be contended.
        for index in 0..self.spec.sets.len() {
            let set = &self.spec.sets[index];
            if set.filter.is_none() {
                let mut values = set.program.eval_all(&mut scratch.programs[index], batch)?;
                let keys: Vec<Vector> = values.iter().take(self.spec.group_types.len()).cloned().collect();
                if !keys.is_empty() {
                    self.find_groups(keys, (batch.len(), hashes), &values, &mut scratch.groups)?;
                }
                let groups = std::mem::take(&mut scratch.groups);
                let outcome = self.update(index, &values, &groups, batch.len());
                values.clear();
                scratch.groups = groups;
                outcome?;
                continue;
            }
            let values = scratch.eval_filtered(&self.spec, index, batch)?;
            let len = scratch.selection.len();
            if len == 0 {
                continue;
            }
            let mut groups = std::mem::take(&mut scratch.selected_groups);
            groups.clear();
            if !self.spec.group_types.is_empty() {
                groups.extend(scratch.selection.iter().map(|&row| scratch.groups[row as usize]));
            }
            let outcome = self.update(index, &values, &groups, len);
            scratch.selected_groups = groups;
            outcome?;
        }
        Ok(())
    }

    /// The group of each row of set 0, whose expressions have these values; accumulators get room for all.
    fn find_groups(
        &mut self,
        keys: Vec<Vector>,
        (len, hashes): (usize, Option<&[u64]>),
        values: &[Vector],
        groups: &mut Vec<u32>,
    ) -> Result<()> {
        let mut found = false;
        if self.table.has_domain() {
            // Which groups are without a value could not be told from those without a row.
            let functions =
                self.spec.slots.iter().filter(|slot| slot.set == 0 && slot.kind != SlotKind::Nulls);
            let has_nulls = functions.flat_map(|slot| &slot.args).any(|&arg| values[arg].null_count() > 0);
            found = !has_nulls && self.table.find_in_domain(&keys, len, groups);
            if !found {
                self.leave_domain()?;
            }
        }
        if !found {
            self.table.find_or_create_hashed(keys, (len, hashes), groups)?;
        }
        let count = self.table.len();
        self.resize(count);
        Ok(())
    }

    /// Numbers the groups without those that have no row, if they are places of a domain.
    pub(super) fn leave_domain(&mut self) -> Result<()> {
        if self.table.domain().is_none() {
            self.table.leave_domain();
            return Ok(());
        }
        let places = self.table.leave_domain();
        let targets: Vec<u32> = (0..places.len() as u32).collect();
        let numbered = self.spec.accumulators()?;
        let before = std::mem::replace(&mut self.accumulators, numbered);
        for (accumulator, before) in self.accumulators.iter_mut().zip(&before) {
            accumulator.resize(places.len());
            accumulator.merge(&**before, &places, &targets)?;
        }
        Ok(())
    }

    /// Adds `len` rows of a set: to the slots that it feeds, and to its distinct rows.
    fn update(&mut self, set: usize, values: &[Vector], groups: &[u32], len: usize) -> Result<()> {
        let (spec, total) = (&self.spec, self.len());
        let ids = (!spec.group_types.is_empty()).then(|| GroupIds::new(groups, total));
        let mut args: Vec<&Vector> = Vec::new();
        for (slot, accumulator) in spec.slots.iter().zip(&mut self.accumulators) {
            let other_turn = self.turn.is_some_and(|turn| turn > 0);
            if slot.set != set || slot.distinct.is_some() || other_turn {
                continue;
            }
            args.clear();
            args.extend(slot.args.iter().map(|&arg| &values[arg]));
            match ids {
                Some(ids) => accumulator.update(&args, ids)?,
                None => accumulator.update_one(&args, len, 0)?,
            }
        }
        for (index, (distinct, table)) in spec.distincts.iter().zip(&mut self.distincts).enumerate() {
            if distinct.set == set && self.turn.is_none_or(|turn| turn == index) {
                if let ([arg], None) = (&distinct.args[..], ids) {
                    table.add_values(values[*arg].clone(), len)?;
                    continue;
                }
                let arguments = distinct.args.iter().map(|&arg| values[arg].clone());
                let keys = std::iter::once(group_column(groups, len)).chain(arguments).collect();
                table.add(keys, len)?;
            }
        }
        Ok(())
    }

    /// Adds the groups `source` of another state; returns which groups here they are. `hashes` has those of all of the
    /// other's keys, or is empty.
    pub(super) fn merge(&mut self, other: &State, source: &[u32], hashes: &[u64]) -> Result<Vec<u32>> {
        let mut targets = Vec::with_capacity(source.len());
        let (mut groups, mut known) = (Vec::new(), Vec::new());
        for part in source.chunks(VECTOR_SIZE) {
            if self.spec.group_types.is_empty() {
                groups.clear();
                groups.resize(part.len(), 0);
            } else {
                let keys = other.table.columns().iter().map(|column| column.gather(part)).collect();
                known.clear();
                if !hashes.is_empty() {
                    known.extend(part.iter().map(|group| hashes[*group as usize]));
                }
                let known = (!hashes.is_empty()).then_some(&known[..]);
                self.table.find_or_create_hashed(keys, (part.len(), known), &mut groups)?;
                let count = self.table.len();
                self.resize(count);
            }
            self.spec.merge_plain(&mut self.accumulators, &other.accumulators, (part, &groups))?;
            targets.extend_from_slice(&groups);
        }
        Ok(targets)
    }

    /// The group of each row with these keys, which is there already or has nothing but the keys.
    pub(super) fn find(&mut self, keys: Vec<Vector>, len: usize, groups: &mut Vec<u32>) -> Result<()> {
        if self.spec.group_types.is_empty() {
            groups.clear();
            groups.resize(len, 0);
            return Ok(());
        }
        self.table.find_or_create(keys, len, groups)?;
        let count = self.table.len();
        self.resize(count);
        Ok(())
    }

    /// The rows of a batch, whose first columns are keys, that belong to a group.
    pub(super) fn rows_of(&mut self, group: u32, batch: Batch) -> Result<Batch> {
        let mut groups = Vec::new();
        self.find(batch.columns()[..self.spec.group_types.len()].to_vec(), batch.len(), &mut groups)?;
        let rows: Vec<u32> = (0..batch.len() as u32).filter(|&row| groups[row as usize] == group).collect();
        Ok(batch.take(&rows))
    }

    /// Adds the groups of another state, and what is not distinct; see [`GroupTable::join`].
    pub(super) fn join(&mut self, other: &State, recoding: &Recoding) -> Result<Vec<u32>> {
        let groups = self.table.join(&other.table, recoding)?;
        let count = self.table.len();
        self.resize(count);
        let all: Vec<u32> = (0..groups.len() as u32).collect();
        self.spec.merge_plain(&mut self.accumulators, &other.accumulators, (&all, &groups))?;
        Ok(groups)
    }

    /// The groups `source` of another state, of which nothing but the keys is added; returns which groups here they are.
    pub(super) fn add_groups(&mut self, other: &State, source: &[u32]) -> Result<Vec<u32>> {
        let (mut targets, mut groups) = (Vec::with_capacity(source.len()), Vec::new());
        for part in source.chunks(VECTOR_SIZE) {
            let keys = other.table.columns().iter().map(|column| column.gather(part)).collect();
            self.find(keys, part.len(), &mut groups)?;
            targets.extend_from_slice(&groups);
        }
        Ok(targets)
    }

    /// Adds what another state made of rows in the turn of a list of distinct arguments.
    pub(super) fn merge_turn(&mut self, other: &State, turn: usize) -> Result<()> {
        let spec = SharedSpec::clone(&self.spec);
        let all: Vec<u32> = (0..other.len() as u32).collect();
        let targets = if spec.group_types.is_empty() { vec![0] } else { self.add_groups(other, &all)? };
        let accumulators = self.accumulators.iter_mut().zip(&other.accumulators);
        for (slot, (whole, part)) in spec.slots.iter().zip(accumulators) {
            if slot.distinct.unwrap_or(0) == turn {
                whole.merge(&**part, &all, &targets)?;
            }
        }
        Ok(())
    }

    /// Adds what others made of the distinct rows with this number, with the same groups, and counted until now. What they hold
    /// here is counted to the end of the step.
    pub(super) fn merge_accumulators(&mut self, index: usize, parts: Vec<Fed>) -> Result<()> {
        let all: Vec<u32> = (0..self.len() as u32).collect();
        let mut tally = Tally::default();
        for (part, _counted) in parts {
            // What is full doubles, and the old place is there until all has moved.
            let theirs: usize = part.iter().map(|accumulator| accumulator.memory_size()).sum();
            count_or_work(&mut tally, 5 * self.accumulated_size() / 2 + 2 * theirs)?;
            let accumulators = self.accumulators.iter_mut().zip(&part);
            for (slot, (accumulator, theirs)) in self.spec.slots.iter().zip(accumulators) {
                if slot.distinct == Some(index) {
                    accumulator.merge(&**theirs, &all, &all)?;
                }
            }
        }
        count_or_work(&mut tally, self.accumulated_size())?;
        limits::keep(tally.finish());
        Ok(())
    }

    /// Adds one group of another state without distinct rows to one of this state.
    pub(super) fn merge_group(&mut self, group: usize, other: &State, source: usize) -> Result<()> {
        for (accumulator, theirs) in self.accumulators.iter_mut().zip(&other.accumulators) {
            accumulator.merge(&**theirs, &[source as u32], &[group as u32])?;
        }
        Ok(())
    }

    /// Adds distinct rows `rows` of another state; `target` says which group here one of theirs is.
    pub(super) fn merge_distinct(
        &mut self,
        index: usize,
        other: &State,
        rows: &[u32],
        target: impl Fn(u32) -> u32,
    ) -> Result<()> {
        let into = &mut self.distincts[index];
        merge_distinct_rows(other.distincts[index].columns(), rows, target, |keys, len| into.add(keys, len))
    }

    /// Adds `len` distinct rows: their groups and arguments.
    pub(super) fn add_distinct(
        &mut self,
        index: usize,
        groups: &[u32],
        args: Vec<Vector>,
        len: usize,
    ) -> Result<()> {
        if len == 0 {
            return Ok(());
        }
        let keys = std::iter::once(group_column(groups, len)).chain(args).collect();
        self.distincts[index].add(keys, len)
    }

    /// Where codes of the distinct rows with this number have what, if all states' can be codes.
    pub(super) fn fields(
        spec: &Spec,
        states: &[State],
        index: usize,
        groups: usize,
        context: &ExecContext,
    ) -> Result<Option<Fields>> {
        let types = &spec.distincts[index].types;
        if spec.is_order_sensitive() || !Fields::fit(types) {
            return Ok(None);
        }
        let seen = Mutex::new(vec![Seen::default(); types.len()]);
        context.parallel(states.len() * types.len(), |task| {
            let (state, arg) = (task / types.len(), task % types.len());
            let of_column = Seen::of(&states[state].distincts[index].columns()[arg + 1])?;
            let seen = &mut seen.lock()[arg];
            *seen = seen.and(of_column);
            Ok(())
        })?;
        Ok(Fields::new(types, &seen.into_inner(), groups))
    }

    /// Feeds the listed rows to their accumulators by their codes, where these can be and there is memory for them; called once,
    /// when there will be no more rows.
    pub(super) fn finish_listed(&mut self, context: &ExecContext) -> Result<()> {
        let spec = SharedSpec::clone(&self.spec);
        let groups = self.len();
        for index in 0..self.distincts.len() {
            if self.distincts[index].listed().is_none() {
                continue;
            }
            let Some(fields) = Self::fields(&spec, std::slice::from_ref(self), index, groups, context)?
            else {
                continue;
            };
            let Some(list) = self.distincts[index].listed() else { continue };
            let rows = list[0].len();
            let Some(_memory) = scattered::reserve(&fields, (rows, codes::parts_of(rows)), context)? else {
                continue;
            };
            let (of, into) = ((&spec.slots[..], index), (&mut self.accumulators[..], groups));
            if fields.are_narrow() {
                codes::feed_list::<u64>(&fields, of, list, into)?;
            } else {
                codes::feed_list::<u128>(&fields, of, list, into)?;
            }
            self.distincts[index].clear();
        }
        Ok(())
    }

    /// Feeds the distinct rows to their accumulators; called once, when there will be no more rows.
    pub(super) fn finish_distinct(&mut self) -> Result<()> {
        let spec = SharedSpec::clone(&self.spec);
        let total = self.len();
        let mut tally = Tally::default();
        for (index, distinct) in self.distincts.iter_mut().enumerate() {
            limits::step(1, || {
                distinct.find_distinct()?;
                let rows = distinct.columns();
                feed_distinct((&spec.slots, index), &mut self.accumulators, (rows, total), &mut tally)
            })?;
        }
        self.distincts = Vec::new();
        count_or_work(&mut tally, self.accumulated_size())?;
        limits::keep(tally.finish());
        Ok(())
    }

    /// The rows of groups `from .. from + len`, as output.
    pub(super) fn output(&self, from: usize, len: usize) -> Result<Batch> {
        let mut columns: Vec<Vector> =
            self.table.columns().iter().map(|column| column.to_vector(from, len)).collect();
        columns.extend(limits::step(len, || self.spec.finish(&self.accumulators, from, len))?);
        Ok(Batch::new(columns, len))
    }
}

/// Adds distinct rows elsewhere, with their groups renamed.
pub(super) fn merge_distinct_rows(
    from: &[Column],
    rows: &[u32],
    target: impl Fn(u32) -> u32,
    mut add: impl FnMut(Vec<Vector>, usize) -> Result<()>,
) -> Result<()> {
    for part in rows.chunks(VECTOR_SIZE) {
        let mut keys: Vec<Vector> = from.iter().map(|column| column.gather(part)).collect();
        let renamed: Vec<u32> = keys[0].values::<u32>().iter().map(|&group| target(group)).collect();
        keys[0] = Vector::from_values(LogicalType::UInteger, &renamed);
        add(keys, part.len())?;
    }
    Ok(())
}

/// Accumulators that were fed a part of the distinct rows, and what they hold.
pub(super) type Fed = (Vec<Box<dyn GroupedAccumulator>>, Tally);

/// Feeds distinct rows to the accumulators of the slots that want them, which are counted while they grow.
pub(super) fn feed_distinct(
    (slots, index): (&[Slot], usize),
    accumulators: &mut [Box<dyn GroupedAccumulator>],
    (rows, groups): (&[Column], usize),
    tally: &mut Tally,
) -> Result<()> {
    let (mut from, all) = (0, rows.first().map_or(0, Column::len));
    let mut asked = 0;
    while from < all {
        let len = (all - from).min(VECTOR_SIZE);
        if from >= asked {
            // To ask may take as long as there are groups.
            asked = from + VECTOR_SIZE.max(groups / 8);
            let held: usize = accumulators.iter().map(|accumulator| accumulator.memory_size()).sum();
            count_or_work(tally, 5 * held / 2)?;
        }
        let columns: Vec<Vector> = rows.iter().map(|column| column.to_vector(from, len)).collect();
        let ids = GroupIds::new(columns[0].values::<u32>(), groups);
        for (slot, accumulator) in slots.iter().zip(accumulators.iter_mut()) {
            if slot.distinct != Some(index) {
                continue;
            }
            let args: Vec<&Vector> = match slot.kind {
                SlotKind::Rows => Vec::new(),
                _ => slot.args.iter().map(|&arg| &columns[arg + 1]).collect(),
            };
            accumulator.update(&args, ids)?;
        }
        from += len;
    }
    Ok(())
}

fn group_column(groups: &[u32], len: usize) -> Vector {
    if groups.is_empty() {
        return Vector::from_values(LogicalType::UInteger, &vec![0u32; len]);
    }
    Vector::from_values(LogicalType::UInteger, groups)
}
