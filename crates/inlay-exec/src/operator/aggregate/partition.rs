//! Partitions: rows that are not aggregated yet, and groups in the order of their partitions.
//!
//! Equal keys are always in the same partition, so partitions are merged independently of each other.

use super::spec::Spec;
use super::state::{Scratch, State};
use inlay_kernels::aggregate::Column;
use inlay_kernels::hash;
use inlay_types::{Batch, LogicalType, Result, VECTOR_SIZE, Vector};

/// Partitions when rows are partitioned, a power of two.
pub(super) const ROW_PARTITIONS: usize = 64;

/// Which partition of `count` (a power of two) a hash belongs to. Hash tables use the lower bits.
#[inline]
fn partition_of(hash: u64, count: usize) -> usize {
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

/// A state whose groups are spread over partitions.
pub(super) struct Run {
    pub(super) state: State,
    groups: Partitioned,
    /// Where each group is in the order; empty without distinct rows.
    ranks: Vec<u32>,
    distincts: Vec<Partitioned>,
}

impl Run {
    pub(super) fn new(state: State, spread: Spread, count: usize) -> Self {
        let partitions: Vec<u16> = match spread {
            Spread::Hash => {
                state.table.hashes().into_iter().map(|hash| partition_of(hash, count) as u16).collect()
            }
            Spread::Range { min, shift } => range_partitions(&state.table.columns()[0], min, shift),
        };
        let groups = Partitioned::new(&partitions, count);
        let mut ranks = Vec::new();
        if !state.distincts.is_empty() {
            ranks = vec![0; partitions.len()];
            groups.order.iter().enumerate().for_each(|(rank, &group)| ranks[group as usize] = rank as u32);
        }
        let by_group = |table: &super::table::GroupTable| {
            let mut rows = Vec::with_capacity(table.len());
            let mut from = 0;
            while from < table.len() {
                let len = (table.len() - from).min(VECTOR_SIZE);
                let owners = table.columns()[0].to_vector(from, len);
                rows.extend(owners.values::<u32>().iter().map(|&group| partitions[group as usize]));
                from += len;
            }
            Partitioned::new(&rows, count)
        };
        let distincts = state.distincts.iter().map(by_group).collect();
        Self { groups, ranks, distincts, state }
    }

    /// Adds this run's groups of a partition to `target`.
    pub(super) fn merge_into(&self, target: &mut State, partition: usize) -> Result<()> {
        let targets = target.merge(&self.state, self.groups.items(partition))?;
        let first = self.groups.offsets[partition];
        for (index, distinct) in self.distincts.iter().enumerate() {
            let renamed = |group: u32| targets[(self.ranks[group as usize] - first) as usize];
            target.merge_distinct(index, &self.state, distinct.items(partition), renamed)?;
        }
        Ok(())
    }
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
    hashes: Vec<u64>,
    rows: Vec<Vec<u32>>,
}

impl Rows {
    pub(super) fn new(types: &[LogicalType]) -> Self {
        let columns = || types.iter().map(|&ty| Column::new(ty)).collect();
        Self {
            partitions: (0..ROW_PARTITIONS).map(|_| columns()).collect(),
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
        self.hashes.resize(batch.len(), 0);
        for (index, key) in keys.iter().enumerate() {
            match index {
                0 => hash::hash(key, batch.len(), &mut self.hashes),
                _ => hash::hash_combine(key, batch.len(), &mut self.hashes),
            }
        }
        self.rows.iter_mut().for_each(Vec::clear);
        for (row, &hash) in self.hashes.iter().enumerate() {
            self.rows[partition_of(hash, ROW_PARTITIONS)].push(row as u32);
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
        self.partitions.iter().flatten().map(Column::memory_size).sum()
    }

    /// Adds the rows of a partition to `target`.
    pub(super) fn merge_into(
        &self,
        spec: &Spec,
        inputs: &[usize],
        target: &mut State,
        partition: usize,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let columns = &self.partitions[partition];
        let total = columns.first().map_or(0, Column::len);
        let mut from = 0;
        while from < total {
            let len = (total - from).min(VECTOR_SIZE);
            let mut all: Vec<Vector> = vec![Vector::nulls(LogicalType::Integer, len); spec.input_columns];
            for (&input, column) in inputs.iter().zip(columns) {
                all[input] = column.to_vector(from, len);
            }
            target.consume(&Batch::new(all, len), scratch)?;
            from += len;
        }
        Ok(())
    }
}
