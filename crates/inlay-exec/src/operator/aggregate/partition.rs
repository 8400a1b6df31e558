//! Partitions: rows that are not aggregated yet, and groups in the order of their partitions.
//!
//! Equal keys are always in the same partition, so partitions are merged independently of each other.

use super::codes::{Code, Fields};
use super::distinct::DistinctRows;
use super::scattered::{self, Scattered};
use super::spec::Spec;
use super::state::{Scratch, State};
use crate::spill::{Selection, SpillPartitions};
use inlay_kernels::aggregate::Column;
use inlay_types::hash;
use inlay_types::{Batch, LogicalType, Result, VECTOR_SIZE, Value, Vector};
use std::sync::Arc;

/// Partitions when rows are partitioned, a power of two.
pub(super) const ROW_PARTITIONS: usize = 64;

/// Parts that a partition is split into if it is too large.
pub(super) const SPLIT_PARTS: usize = 16;

/// A part of a part of a partition: those items whose hashes have these bits in the middle, where neither partitions nor
/// hash tables look.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Path {
    pub(super) depth: u32,
    bits: u64,
}

impl Path {
    const SHIFT: u32 = 32;
    const BITS: u32 = SPLIT_PARTS.trailing_zeros();
    /// Splitting ends here: what is too large then has many rows of few groups.
    pub(super) const DEPTH_MAX: u32 = 4;

    pub(super) fn part(self, number: usize) -> Self {
        Self { depth: self.depth + 1, bits: self.bits | (number as u64) << (self.depth * Self::BITS) }
    }

    fn has(self, hash: u64) -> bool {
        hash >> Self::SHIFT & ((1 << (self.depth * Self::BITS)) - 1) == self.bits
    }

    /// The part below this one that a hash belongs to.
    pub(super) fn next(self, hash: u64) -> usize {
        (hash >> (Self::SHIFT + self.depth * Self::BITS)) as usize % SPLIT_PARTS
    }
}

/// Which partition of `count` (a power of two) a hash belongs to. Hash tables use the lower bits.
#[inline]
pub(super) fn partition_of(hash: u64, count: usize) -> usize {
    ((u128::from(hash) * count as u128) >> 64) as usize
}

/// Items in the order of their partitions.
#[derive(Debug, Default)]
pub(super) struct Partitioned {
    order: Vec<u32>,
    offsets: Vec<u32>,
}

impl Partitioned {
    fn new(partitions: &[u16], count: usize) -> Self {
        let mut offsets = vec![0u32; count + 1];
        partitions.iter().for_each(|&partition| offsets[partition as usize + 1] += 1);
        (0..count).for_each(|p| offsets[p + 1] += offsets[p]);
        let mut next = offsets.clone();
        let mut order = vec![0u32; partitions.len()];
        for (item, &partition) in partitions.iter().enumerate() {
            let place = &mut next[partition as usize];
            order[*place as usize] = item as u32;
            *place += 1;
        }
        Self { order, offsets }
    }

    /// By the given hashes.
    pub(super) fn by_hashes(hashes: &[u64], count: usize) -> Self {
        let partitions: Vec<u16> = hashes.iter().map(|&hash| partition_of(hash, count) as u16).collect();
        Self::new(&partitions, count)
    }

    /// The items of a partition.
    pub(super) fn items(&self, partition: usize) -> &[u32] {
        &self.order[self.offsets[partition] as usize..self.offsets[partition + 1] as usize]
    }
}

/// How groups are spread over partitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spread {
    /// By the hash of their keys.
    Hash,
    /// By ranges of `2^shift` values of their only key, from `min` on.
    Range { min: u64, shift: u32 },
}

/// The distinct rows of a list by partition.
enum DistinctParts {
    /// Rows of the state.
    Rows(Partitioned),
    /// Codes, whose groups are ranks within a partition; the state has no rows any more.
    Narrow(Arc<Fields>, Scattered<u64>),
    Wide(Arc<Fields>, Scattered<u128>),
}

/// Where groups are: their partitions and their ranks there, a word each.
#[derive(Default)]
struct Places(Vec<u64>);

impl Places {
    fn new(groups: &Partitioned, count: usize) -> Self {
        let mut places = vec![0; groups.order.len()];
        for partition in 0..count {
            for (&group, rank) in groups.items(partition).iter().zip(0u64..) {
                places[group as usize] = (partition as u64) << u32::BITS | rank;
            }
        }
        Self(places)
    }

    #[inline(always)]
    fn of(&self, group: u32) -> (usize, u32) {
        let place = self.0[group as usize];
        ((place >> u32::BITS) as usize, place as u32)
    }
}

/// A state whose groups are spread over partitions.
pub(super) struct Run {
    pub(super) state: State,
    groups: Partitioned,
    /// Hashes of the keys of all groups, if they were dear.
    hashes: Vec<u64>,
    /// Of groups with distinct rows.
    places: Places,
    distincts: Vec<DistinctParts>,
}

impl Run {
    /// Lists of distinct rows with fields become codes.
    pub(super) fn new(
        mut state: State,
        spread: Spread,
        count: usize,
        fields: &[Option<Arc<Fields>>],
    ) -> Result<Self> {
        let mut hashes = Vec::new();
        let partitions: Vec<u16> = match spread {
            Spread::Hash => {
                let all = state.table.take_hashes();
                let partitions = all.iter().map(|&hash| partition_of(hash, count) as u16).collect();
                // Texts are found by them, however the workers did.
                if state.table.is_hashed()
                    || state.table.columns().iter().any(|key| key.logical_type().is_view())
                {
                    hashes = all;
                }
                partitions
            }
            Spread::Range { min, shift } => range_partitions(&state.table.columns()[0], min, shift),
        };
        state.accumulators.iter().for_each(|accumulator| accumulator.prepare_merge());
        let groups = Partitioned::new(&partitions, count);
        let places = match state.distincts.is_empty() {
            true => Places::default(),
            false => Places::new(&groups, count),
        };
        let mut distincts = Vec::with_capacity(state.distincts.len());
        for (rows, fields) in state.distincts.iter_mut().zip(fields) {
            distincts.push(DistinctParts::new(rows, fields.as_ref(), &places, count)?);
        }
        Ok(Self { groups, hashes, places, distincts, state })
    }

    /// How many groups a partition has.
    pub(super) fn groups_in(&self, partition: usize) -> usize {
        self.groups.items(partition).len()
    }

    /// Adds this run's groups of a part of a partition to `target`, without distinct rows that are codes; returns which groups
    /// there they are. `check` looks at the memory of the target while distinct rows are added.
    pub(super) fn merge_into(
        &self,
        target: &mut State,
        partition: usize,
        check: &mut dyn FnMut(&State) -> Result<()>,
    ) -> Result<Vec<u32>> {
        let targets = target.merge(&self.state, self.groups.items(partition), &self.hashes)?;
        for (index, distinct) in self.distincts.iter().enumerate() {
            if matches!(distinct, DistinctParts::Rows(_)) {
                self.for_distinct(partition, index, |ranks, args, len| {
                    let groups: Vec<u32> = ranks.iter().map(|&rank| targets[rank as usize]).collect();
                    target.add_distinct(index, &groups, args, len)?;
                    check(target)
                })?;
            }
        }
        Ok(targets)
    }

    /// Where the codes of a list of distinct rows have what, if they are of 64 bits, and those of a partition.
    pub(super) fn narrow(
        &self,
        index: usize,
        partition: usize,
    ) -> Option<(&Fields, scattered::Part<'_, u64>)> {
        match &self.distincts[index] {
            DistinctParts::Narrow(fields, codes) => Some((fields, codes.part(partition))),
            DistinctParts::Rows(_) | DistinctParts::Wide(..) => None,
        }
    }

    /// The same of 128 bits.
    pub(super) fn wide(
        &self,
        index: usize,
        partition: usize,
    ) -> Option<(&Fields, scattered::Part<'_, u128>)> {
        match &self.distincts[index] {
            DistinctParts::Wide(fields, codes) => Some((fields, codes.part(partition))),
            DistinctParts::Rows(_) | DistinctParts::Narrow(..) => None,
        }
    }

    /// Calls `each` with the distinct rows of a list in a partition, some at a time: the ranks of their groups in the partition,
    /// the arguments, and how many.
    fn for_distinct(
        &self,
        partition: usize,
        index: usize,
        mut each: impl FnMut(&[u32], Vec<Vector>, usize) -> Result<()>,
    ) -> Result<()> {
        let mut ranks = Vec::new();
        match &self.distincts[index] {
            DistinctParts::Rows(order) => {
                let columns = self.state.distincts[index].columns();
                for rows in order.items(partition).chunks(VECTOR_SIZE) {
                    let groups = columns[0].gather(rows);
                    ranks.clear();
                    ranks.extend(groups.values::<u32>().iter().map(|&group| self.places.of(group).1));
                    let args = columns[1..].iter().map(|column| column.gather(rows)).collect();
                    each(&ranks, args, rows.len())?;
                }
                Ok(())
            }
            DistinctParts::Narrow(fields, codes) => fields.for_rows(codes.part(partition), each),
            DistinctParts::Wide(fields, codes) => fields.for_rows(codes.part(partition), each),
        }
    }

    /// The groups of a part of a partition, and where each group of the partition is among them.
    fn part_of(&self, partition: usize, path: Path) -> (Vec<u32>, Vec<u32>) {
        let (items, columns) = (self.groups.items(partition), self.state.table.columns());
        let (mut kept, mut places) = (Vec::new(), vec![u32::MAX; items.len()]);
        let mut hashes = Vec::new();
        for (chunk, places) in items.chunks(VECTOR_SIZE).zip(places.chunks_mut(VECTOR_SIZE)) {
            let keys: Vec<Vector> = columns.iter().map(|column| column.gather(chunk)).collect();
            hash_keys(&keys, chunk.len(), &mut hashes);
            for ((&item, &hash), place) in chunk.iter().zip(&hashes).zip(places) {
                if path.has(hash) {
                    *place = kept.len() as u32;
                    kept.push(item);
                }
            }
        }
        (kept, places)
    }

    /// Adds this run's groups of a part of a partition, and all of their distinct rows.
    pub(super) fn merge_part(
        &self,
        target: &mut State,
        partition: usize,
        path: Path,
        check: &mut dyn FnMut(&State) -> Result<()>,
    ) -> Result<()> {
        let (kept, places) = self.part_of(partition, path);
        let targets = target.merge(&self.state, &kept, &self.hashes)?;
        for index in 0..self.distincts.len() {
            self.merge_distinct(target, (partition, index), (&places, &targets), None, check)?;
        }
        Ok(())
    }

    /// Adds the distinct rows of a part's groups; of a share, those whose arguments are in share `.0` of `.1`.
    fn merge_distinct(
        &self,
        target: &mut State,
        (partition, index): (usize, usize),
        (places, targets): (&[u32], &[u32]),
        share: Option<(usize, usize)>,
        check: &mut dyn FnMut(&State) -> Result<()>,
    ) -> Result<()> {
        let (mut rows, mut groups, mut hashes) = (Vec::new(), Vec::new(), Vec::new());
        self.for_distinct(partition, index, |ranks, args, len| {
            if share.is_some() {
                hash_keys(&args, len, &mut hashes);
            }
            let is_wanted =
                |row: usize| share.is_none_or(|(number, count)| partition_of(hashes[row], count) == number);
            rows.clear();
            groups.clear();
            for (row, &rank) in ranks.iter().enumerate() {
                let place = places[rank as usize];
                if place != u32::MAX && is_wanted(row) {
                    rows.push(row as u32);
                    groups.push(targets[place as usize]);
                }
            }
            let args = args.iter().map(|arg| arg.take(&rows)).collect();
            target.add_distinct(index, &groups, args, rows.len())?;
            check(target)
        })
    }

    /// Adds the groups of a part of a partition, without their distinct rows.
    pub(super) fn merge_plain(&self, target: &mut State, partition: usize, path: Path) -> Result<()> {
        target.merge(&self.state, &self.part_of(partition, path).0, &self.hashes).map(|_| ())
    }

    /// Adds the distinct rows of a part's groups whose arguments are in share `share.0` of `share.1`, and nothing else of them.
    pub(super) fn merge_share(
        &self,
        target: &mut State,
        (partition, path): (usize, Path),
        index: usize,
        share: (usize, usize),
        check: &mut dyn FnMut(&State) -> Result<()>,
    ) -> Result<()> {
        let (kept, places) = self.part_of(partition, path);
        let targets = target.add_groups(&self.state, &kept)?;
        self.merge_distinct(target, (partition, index), (&places, &targets), Some(share), check)
    }
}

impl DistinctParts {
    fn new(
        rows: &mut DistinctRows,
        fields: Option<&Arc<Fields>>,
        places: &Places,
        count: usize,
    ) -> Result<Self> {
        let Some(fields) = fields else {
            let mut partitions = Vec::with_capacity(rows.len());
            for from in (0..rows.len()).step_by(VECTOR_SIZE) {
                let owners = rows.columns()[0].to_vector(from, (rows.len() - from).min(VECTOR_SIZE));
                partitions.extend(owners.values::<u32>().iter().map(|&group| places.of(group).0 as u16));
            }
            return Ok(Self::Rows(Partitioned::new(&partitions, count)));
        };
        let parts = match fields.are_narrow() {
            true => Self::Narrow(Arc::clone(fields), scatter(fields, rows, places, count)?),
            false => Self::Wide(Arc::clone(fields), scatter(fields, rows, places, count)?),
        };
        rows.clear();
        Ok(parts)
    }
}

/// The codes of distinct rows by partition.
fn scatter<K: Code>(
    fields: &Fields,
    rows: &DistinctRows,
    places: &Places,
    count: usize,
) -> Result<Scattered<K>> {
    let mut scattered = Scattered::new(rows.len(), count);
    scattered.append_by_group(fields, rows.columns(), 0..rows.len(), |group| places.of(group))?;
    Ok(scattered)
}

/// Hashes of the keys of some rows; without keys all are 0.
pub(super) fn hash_keys(keys: &[Vector], len: usize, hashes: &mut Vec<u64>) {
    if keys.is_empty() {
        hashes.clear();
    }
    hashes.resize(len, 0);
    for (index, key) in keys.iter().enumerate() {
        match index {
            0 => hash::hash(key, len, hashes),
            _ => hash::hash_combine(key, len, hashes),
        }
    }
}

/// What rows are spread by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum By {
    /// Their groups.
    Groups,
    /// The list of distinct arguments with this number.
    Distinct(usize),
}

impl By {
    /// What keeps rows together that have to be: without groups, distinct arguments.
    pub(super) fn of(spec: &Spec) -> Self {
        if spec.group_types.is_empty() { Self::Distinct(0) } else { Self::Groups }
    }
}

/// Scratch for spreading the rows of batches over files: those that are aggregated later.
#[derive(Default)]
pub(super) struct RowSpill {
    selection: Option<Selection>,
    hashes: Vec<u64>,
    /// Of the rows that a FILTER let through.
    kept: Vec<u64>,
}

impl RowSpill {
    /// Adds rows of a batch of the input of one morsel.
    pub(super) fn append_input(
        &mut self,
        target: &SpillPartitions,
        by: By,
        spec: &Spec,
        (batch, morsel): (&Batch, u32),
        scratch: &mut Scratch,
    ) -> Result<()> {
        let inputs = spec.inputs.as_deref().unwrap_or_default();
        let mut columns: Vec<Vector> = inputs.iter().map(|&input| batch.column(input).clone()).collect();
        if spec.is_order_sensitive() {
            columns.push(Vector::constant(LogicalType::UInteger, &Value::UInteger(morsel), batch.len())?);
        }
        self.append(target, (None, by), spec, (batch, &columns), scratch)
    }

    /// Adds the rows of a batch of the input to their partitions, or to the parts below `path`: `columns`, which are those that are
    /// needed, and the morsel if the order counts.
    pub(super) fn append(
        &mut self,
        target: &SpillPartitions,
        (path, by): (Option<Path>, By),
        spec: &Spec,
        (batch, columns): (&Batch, &[Vector]),
        scratch: &mut Scratch,
    ) -> Result<()> {
        match by {
            By::Distinct(turn) if turn < spec.distincts.len() => {
                self.hash_distinct(turn, spec, batch, scratch)?
            }
            _ => {
                let keys = spec.group_program.eval_all(&mut scratch.group_program, batch)?;
                hash_keys(&keys, batch.len(), &mut self.hashes);
            }
        }
        let (hashes, count) = (&self.hashes, target.count());
        let selection = self.selection.get_or_insert_with(|| Selection::new(count));
        match path {
            None => selection.fill(batch.len(), |row| partition_of(hashes[row], count)),
            Some(path) => selection.fill(batch.len(), |row| path.next(hashes[row])),
        }
        target.append(columns, selection)
    }

    /// Hashes of a list of distinct arguments. What a FILTER leaves out, whose arguments may not be computed, goes anywhere.
    fn hash_distinct(
        &mut self,
        turn: usize,
        spec: &Spec,
        batch: &Batch,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let distinct = &spec.distincts[turn];
        let arguments =
            |values: &[Vector]| distinct.args.iter().map(|&arg| values[arg].clone()).collect::<Vec<_>>();
        if spec.sets[distinct.set].filter.is_none() {
            let program = &spec.sets[distinct.set].program;
            let values = program.eval_all(&mut scratch.programs[distinct.set], batch)?;
            hash_keys(&arguments(&values), batch.len(), &mut self.hashes);
            return Ok(());
        }
        let values = scratch.eval_filtered(spec, distinct.set, batch)?;
        self.hashes.clear();
        self.hashes.extend((0..batch.len() as u64).map(hash::hash_u64));
        if !scratch.selection.is_empty() {
            hash_keys(&arguments(&values), scratch.selection.len(), &mut self.kept);
            scratch
                .selection
                .iter()
                .zip(&self.kept)
                .for_each(|(&row, &hash)| self.hashes[row as usize] = hash);
        }
        Ok(())
    }
}

/// Needed columns of some rows as a batch of the input, where the others are not read.
pub(super) fn input_batch(spec: &Spec, columns: &[Vector], len: usize) -> Batch {
    let mut all: Vec<Vector> = vec![Vector::nulls(LogicalType::Integer, len); spec.input_columns];
    for (&input, column) in spec.inputs.iter().flatten().zip(columns) {
        all[input] = column.clone();
    }
    Batch::new(all, len)
}

/// Calls `each` with the rows of one morsel after the other, and which it is: the last column says so if the order counts.
pub(super) fn for_morsels(
    spec: &Spec,
    mut columns: Vec<Vector>,
    len: usize,
    mut each: impl FnMut(Option<u32>, Batch) -> Result<()>,
) -> Result<()> {
    let morsels = if spec.is_order_sensitive() { columns.pop() } else { None };
    let batch = Batch::new(columns, len);
    let Some(morsels) = morsels.map(|morsels| morsels.flatten()) else { return each(None, batch) };
    let numbers = morsels.values::<u32>();
    if numbers.iter().all(|number| *number == numbers[0]) {
        return numbers.first().map_or(Ok(()), |number| each(Some(*number), batch));
    }
    let mut rows: Vec<u32> = (0..len as u32).collect();
    let morsel = |row: &u32| numbers[*row as usize];
    rows.sort_by_key(morsel);
    for run in rows.chunk_by(|a, b| morsel(a) == morsel(b)) {
        each(Some(morsel(&run[0])), batch.take(run))?;
    }
    Ok(())
}

/// Partitions of integer keys. NULL is in partition 0, wherever its slot's value would be.
fn range_partitions(keys: &Column, min: u64, shift: u32) -> Vec<u16> {
    let mut partitions = Vec::with_capacity(keys.len());
    let mut from = 0;
    while from < keys.len() {
        let len = (keys.len() - from).min(VECTOR_SIZE);
        let key = keys.to_vector(from, len);
        super::encode::for_words(&key, |row, word| {
            let null = key.validity().is_some() && key.is_null(row);
            partitions.push(if null { 0 } else { (word.wrapping_sub(min) >> shift) as u16 });
        });
        from += len;
    }
    partitions
}

/// Input rows of one worker that were not aggregated, by the hash of their keys: only the columns that are needed.
pub(super) struct Rows {
    partitions: Vec<Vec<Column>>,
    /// Hashes of the keys by partition, if they are dear; else empty lists.
    kept: Vec<Vec<u64>>,
    keeps: bool,
    hashes: Vec<u64>,
    rows: Vec<Vec<u32>>,
}

impl Rows {
    /// No rows; `keeps` hashes of keys to find groups by them.
    pub(super) fn new(types: &[LogicalType], keeps: bool) -> Self {
        let columns = || types.iter().map(|ty| Column::new(ty.clone())).collect();
        Self {
            partitions: (0..ROW_PARTITIONS).map(|_| columns()).collect(),
            kept: vec![Vec::new(); ROW_PARTITIONS],
            keeps,
            hashes: Vec::new(),
            rows: vec![Vec::new(); ROW_PARTITIONS],
        }
    }

    /// Adds the rows of a batch; `inputs` are the positions of the needed columns.
    pub(super) fn append(
        &mut self,
        spec: &Spec,
        inputs: &[usize],
        batch: &Batch,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let keys = spec.group_program.eval_all(&mut scratch.group_program, batch)?;
        hash_keys(&keys, batch.len(), &mut self.hashes);
        self.rows.iter_mut().for_each(Vec::clear);
        for (row, &hash) in self.hashes.iter().enumerate() {
            self.rows[partition_of(hash, ROW_PARTITIONS)].push(row as u32);
        }
        if self.keeps {
            for (kept, rows) in self.kept.iter_mut().zip(&self.rows) {
                kept.extend(rows.iter().map(|&row| self.hashes[row as usize]));
            }
        }
        for (index, &input) in inputs.iter().enumerate() {
            let column = batch.column(input);
            for (partition, rows) in self.partitions.iter_mut().zip(&self.rows) {
                if !rows.is_empty() {
                    partition[index].append(column, rows);
                }
            }
        }
        Ok(())
    }

    /// Bytes held.
    pub(super) fn memory_size(&self) -> usize {
        let kept: usize = self.kept.iter().map(|hashes| hashes.capacity() * 8).sum();
        kept + self.partitions.iter().flatten().map(Column::memory_size).sum::<usize>()
    }

    /// How many rows a partition has.
    pub(super) fn rows_in(&self, partition: usize) -> usize {
        self.partitions[partition].first().map_or(0, Column::len)
    }

    /// Writes all rows to the file with the same partitions.
    pub(super) fn write(self, target: &SpillPartitions) -> Result<()> {
        for (number, columns) in self.partitions.iter().enumerate() {
            for_chunks(columns, |vectors, len| {
                let rows: Vec<u32> = (0..len as u32).collect();
                target.append_to(number, &vectors, &rows)
            })?;
        }
        Ok(())
    }

    /// Calls `each` with the needed columns of the rows of a partition, some rows at a time, their number and their hashes, if
    /// these were kept.
    pub(super) fn for_partition(
        &self,
        partition: usize,
        mut each: impl FnMut(Vec<Vector>, usize, Option<&[u64]>) -> Result<()>,
    ) -> Result<()> {
        let mut from = 0;
        for_chunks(&self.partitions[partition], |columns, len| {
            let hashes = self.kept[partition].get(from..from + len);
            from += len;
            each(columns, len, hashes)
        })
    }
}

fn for_chunks(columns: &[Column], mut each: impl FnMut(Vec<Vector>, usize) -> Result<()>) -> Result<()> {
    let total = columns.first().map_or(0, Column::len);
    let mut from = 0;
    while from < total {
        let len = (total - from).min(VECTOR_SIZE);
        each(columns.iter().map(|column| column.to_vector(from, len)).collect(), len)?;
        from += len;
    }
    Ok(())
}
