//! Build side of the hash join: collects rows, then lays them out and indexes them.
//!
//! `consume` keeps batches with their keys and widens the keys' ranges, so that `finalize` knows at once whether keys
//! become slots, and which index suits them. Rows with a NULL key that NULL does not equal can match nothing; they are
//! dropped, or kept behind the others if an outer join must hand them on or a mark depends on them.

#![expect(unsafe_code, reason = "workers write parts of one index")]

use super::HashJoin;
use super::index::direct::DirectIndex;
use super::index::hashed::HashIndex;
use super::index::rank::RankIndex;
use super::index::{Index, Slots};
use super::keys::{KeyRange, KeyStates, SlotEncoding, is_narrow_integer};
use super::publish::{Published, publish, publish_spilled};
use super::rows::{BuildRows, Chunk, Chunks, Collected, few_texts_as_codes};
use super::spill::SMALL_BUILD;
use crate::ExecContext;
use crate::pipeline::{Flow, Handout, Sink};
use crate::spill::is_refusal;
use inlay_types::buffer::NewBuffer;
use inlay_types::hash::{hash, hash_combine};
use inlay_types::{Batch, Buffer, Error, LogicalType, MemoryBudget, Native, Result, Vector};
use parking_lot::Mutex;
use std::mem::MaybeUninit;
use std::sync::Arc;

/// Largest number of slots of a direct array: a megabyte.
const DIRECT_SLOTS_MAX: u64 = 1 << 18;
/// As [`DIRECT_SLOTS_MAX`] where membership is all that matters; a bitmap is denser.
const DIRECT_MEMBER_SLOTS_MAX: u64 = 1 << 13;
/// A bitmap with ranks takes a quarter byte per slot; a hash table takes about as much as 192 slots for each row.
const RANK_SLOTS_PER_ROW: u64 = 192;
/// Bitmaps with ranks of up to this many slots are always fine.
const RANK_SLOTS_FREE: u64 = 1 << 20;

/// How probe keys become what the index takes.
pub(crate) enum KeyForm {
    /// 32-bit slots.
    Narrow(SlotEncoding),
    /// 64-bit slots.
    Wide(SlotEncoding),
    /// Hashes; candidates are compared with these stored keys.
    Hashes(Vec<Vector>),
}

impl KeyForm {
    /// The slots or hashes of keys, as the index takes them.
    pub fn encode<'a>(&self, keys: &[Vector], narrow: &'a mut Vec<u32>, wide: &'a mut Vec<u64>) -> Slots<'a> {
        match self {
            Self::Narrow(encoding) => {
                encoding.encode_32(keys, wide, narrow);
                Slots::Narrow(narrow)
            }
            Self::Wide(encoding) => {
                encoding.encode_64(keys, wide);
                Slots::Wide(wide)
            }
            Self::Hashes(_) => {
                hash_chunk(keys, wide);
                Slots::Wide(wide)
            }
        }
    }
}

/// What the probe needs beside the stored rows.
pub(crate) struct JoinIndex {
    /// From slots or hashes to rows.
    pub index: Index,
    /// How keys become slots or hashes.
    pub form: KeyForm,
    /// Number of rows that the build side had, with those that were dropped.
    pub input_rows: usize,
    /// Whether some row had a NULL key that matches nothing.
    pub has_null_keys: bool,
    /// Rows with a NULL key stand from here on.
    pub found: usize,
    /// The published filters let exactly the rows with a partner through.
    pub exact_filter: bool,
}

/// The sink of the build side's pipeline.
pub(crate) struct JoinBuild(pub(crate) Arc<HashJoin>);

pub(crate) struct BuildLocal {
    keys: KeyStates,
    ranges: Vec<KeyRange>,
    collected: Collected,
}

impl Sink for JoinBuild {
    type Local = BuildLocal;

    fn local(&self) -> BuildLocal {
        let join = &*self.0;
        BuildLocal {
            keys: join.build_keys.states(),
            ranges: vec![KeyRange::EMPTY; join.null_equal.len()],
            collected: Collected::new(&join.collecting_budget()),
        }
    }

    fn handout(&self) -> Handout {
        Handout::Apart
    }

    fn start_morsel(&self, number: usize, local: &mut BuildLocal) {
        local.collected.start_morsel(number);
    }

    fn consume(&self, input: Batch, local: &mut BuildLocal) -> Result<Flow> {
        let join = &*self.0;
        let keys = join.build_keys.eval(&mut local.keys, &input)?;
        for ((range, key), narrow) in local.ranges.iter_mut().zip(&keys).zip(&join.narrow) {
            if *narrow {
                *range = range.union(KeyRange::of(key));
            }
        }
        let mut columns: Vec<Vector> = join.core.stored.iter().map(|i| input.column(*i).clone()).collect();
        columns.extend(keys);
        let len = input.len();
        let mut kept = Ok(());
        match join.null_rows(&columns[join.core.stored.len()..], len) {
            None => kept = local.collected.push(columns, len, false),
            Some((valid, null)) => {
                let take = |rows: &[u32]| columns.iter().map(|column| column.take(rows)).collect();
                if !valid.is_empty() {
                    kept = local.collected.push(take(&valid), valid.len(), false);
                }
                if join.keep_null_keys {
                    kept = kept.and(local.collected.push(take(&null), null.len(), true));
                } else {
                    local.collected.dropped += null.len();
                }
            }
        }
        match (kept, join.spill.get()) {
            (Ok(()), None) => {}
            // Another worker was refused memory.
            (Ok(()), Some(spill)) => spill.add(join, &mut local.collected)?,
            (Err(refused), _) if is_refusal(&refused) && local.collected.memory_size() <= SMALL_BUILD => {}
            (Err(refused), _) => join.start_spill(refused)?.add(join, &mut local.collected)?,
        }
        Ok(Flow::More)
    }

    fn combine(&self, local: BuildLocal) -> Result<()> {
        let mut ranges = self.0.ranges.lock();
        for (range, own) in ranges.iter_mut().zip(&local.ranges) {
            *range = range.union(*own);
        }
        self.0.collection.add(local.collected);
        Ok(())
    }

    fn finalize(&self, context: &ExecContext) -> Result<()> {
        let join = &*self.0;
        let chunks = join.collection.take()?;
        let ranges = join.ranges.lock().clone();
        if join.spill.get().is_none() {
            match join.build_from(context, &chunks, &ranges, None) {
                Err(refused) if is_refusal(&refused) && chunks.memory_size() <= SMALL_BUILD => {
                    let context = ExecContext { budget: MemoryBudget::unlimited(), ..context.clone() };
                    return join.build_from(&context, &chunks, &ranges, None);
                }
                Err(refused) => join.start_spill(refused)?,
                Ok(()) => return context.discard(chunks.chunks),
            };
        }
        let Some(spill) = join.spill.get() else { return Err(Error::internal("a join was lost")) };
        let (chunks, nulls, dropped) = chunks.into_rows();
        spill.add_chunks(join, chunks, nulls, dropped)?;
        spill.finish()?;
        publish_spilled(join, context, spill.build_parts()?, &ranges)
    }
}

/// What a part of a build side cannot know by itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known {
    /// See [`JoinIndex::input_rows`].
    pub input_rows: usize,
    /// See [`JoinIndex::has_null_keys`].
    pub has_null_keys: bool,
}

impl HashJoin {
    /// Indexes rows and lays them out. If memory is refused nothing has changed, but for filters, which are right.
    pub(super) fn build_from(
        &self,
        context: &ExecContext,
        chunks: &Chunks,
        ranges: &[KeyRange],
        known: Option<Known>,
    ) -> Result<()> {
        let (mut index, index_memory) = self.build_index(context, chunks, ranges)?;
        if let Some(known) = known {
            (index.input_rows, index.has_null_keys) = (known.input_rows, known.has_null_keys);
        }
        let Published { exact } = publish(self, context, chunks, ranges, &index)?;
        index.exact_filter = exact;
        let reserved = chunks.reserve_columns(context)?;
        let columns = chunks.columns(context, 0, &self.core.stored_types(), false)?;
        let columns = columns.into_iter().map(few_texts_as_codes).collect();
        let rows = BuildRows::new(context, columns, chunks.total, self.core.track, reserved, index_memory)?;
        self.core.set_rows(rows)?;
        self.index.set(index).map_err(|_| Error::internal("a join was built twice"))
    }

    /// Rows without and with a NULL in a key that NULL does not equal; `None` if there are none of the latter.
    fn null_rows(&self, keys: &[Vector], len: usize) -> Option<(Vec<u32>, Vec<u32>)> {
        let strict: Vec<&Vector> = keys
            .iter()
            .zip(&self.null_equal)
            .filter(|(key, null_equal)| !**null_equal && key.validity().is_some() && key.null_count() > 0)
            .map(|(key, _)| key)
            .collect();
        if strict.is_empty() {
            return None;
        }
        let (null, valid) =
            (0..len as u32).partition(|row| strict.iter().any(|key| key.is_null(*row as usize)));
        Some((valid, null))
    }

    /// Chooses and builds the index. Returns the bytes that it holds, too.
    fn build_index(
        &self,
        context: &ExecContext,
        chunks: &Chunks,
        ranges: &[KeyRange],
    ) -> Result<(JoinIndex, usize)> {
        let encoding = match self.narrow.iter().all(|narrow| *narrow) {
            true => SlotEncoding::new(ranges, &self.null_equal),
            false => None,
        };
        let rows = chunks.found;
        let (index, form) = match encoding {
            Some(encoding) if rows > 0 => self.index_slots(context, chunks, encoding)?,
            Some(encoding) => (Index::Empty, KeyForm::Wide(encoding)),
            None => {
                let widths: usize = self.key_types.iter().map(|ty| ty.physical().size()).sum();
                let _keys = context.budget.reserve((rows * widths) as u64)?;
                let keys = chunks.columns(context, self.core.stored.len(), &self.key_types, true)?;
                if rows == 0 {
                    (Index::Empty, KeyForm::Hashes(keys))
                } else {
                    let _room = context.budget.reserve((rows * 8 + HashIndex::size_for(rows)) as u64)?;
                    let (hashes, _) = self.in_parallel(context, chunks, hash_chunk)?;
                    let index = HashIndex::build(context, hashes.typed(), true)?;
                    (Index::Hash(index), KeyForm::Hashes(keys))
                }
            }
        };
        let stored_keys = match &form {
            KeyForm::Hashes(keys) => keys.iter().map(|key| key.data().size()).sum(),
            KeyForm::Narrow(_) | KeyForm::Wide(_) => 0,
        };
        let memory = index.memory_size() + stored_keys;
        let index = JoinIndex {
            index,
            form,
            input_rows: chunks.total + chunks.dropped,
            has_null_keys: chunks.dropped > 0 || !chunks.null_chunks.is_empty(),
            found: rows,
            exact_filter: false,
        };
        Ok((index, memory))
    }

    fn index_slots(
        &self,
        context: &ExecContext,
        chunks: &Chunks,
        encoding: SlotEncoding,
    ) -> Result<(Index, KeyForm)> {
        let (rows, domain) = (chunks.found, encoding.domain());
        let direct_max = if self.members_only { DIRECT_MEMBER_SLOTS_MAX } else { DIRECT_SLOTS_MAX };
        let direct = domain <= direct_max.min((rows as u64 * 8).max(1 << 12));
        let rank =
            domain <= (rows as u64 * RANK_SLOTS_PER_ROW).max(RANK_SLOTS_FREE).min(u64::from(u32::MAX) - 64);
        if !direct && !rank {
            let _room = context.budget.reserve((rows * 8 + HashIndex::size_for(rows)) as u64)?;
            let (slots, _) =
                self.in_parallel(context, chunks, |keys, out: &mut Vec<u64>| encoding.encode_64(keys, out))?;
            let index = HashIndex::build(context, slots.typed(), false)?;
            return Ok((Index::Hash(index), KeyForm::Wide(encoding)));
        }
        let size = if direct { domain * 4 } else { domain / 4 };
        let _room = context.budget.reserve(size + rows as u64 * 12)?;
        let (slots, ascending) = self.in_parallel(context, chunks, |keys, out: &mut Vec<u32>| {
            encoding.encode_32(keys, &mut Vec::new(), out);
        })?;
        let slots = slots.typed();
        let members = self.members_only;
        let index = if direct {
            Index::Direct(DirectIndex::build(slots, domain as usize, members, ascending))
        } else {
            Index::Rank(RankIndex::build(context, slots, domain as usize, members, ascending)?)
        };
        Ok((index, KeyForm::Narrow(encoding)))
    }

    /// Computes a number for each row that can be found from its keys. Returns whether they ascend, too.
    fn in_parallel<T: Native + Ord>(
        &self,
        context: &ExecContext,
        chunks: &Chunks,
        encode: impl Fn(&[Vector], &mut Vec<T>) + Sync,
    ) -> Result<(Buffer, bool)> {
        let mut all = NewBuffer::new(chunks.found * size_of::<T>());
        let mut tasks: Vec<Mutex<Numbering<'_, T>>> = Vec::new();
        let task_rows = context.task_rows(chunks.found);
        let (mut rest, mut chunks) = (all.places(), &chunks.chunks[..]);
        while !chunks.is_empty() {
            let (mut count, mut rows) = (0, 0);
            while count < chunks.len() && rows < task_rows {
                rows += chunks[count].len;
                count += 1;
            }
            let (places, behind) = rest.split_at_mut(rows);
            tasks.push(Mutex::new(Numbering { chunks: &chunks[..count], places, ends: None, ascends: true }));
            (rest, chunks) = (behind, &chunks[count..]);
        }
        assert!(rest.is_empty(), "rows without a chunk");
        let first_key = self.core.stored.len();
        context.parallel(tasks.len(), |task| {
            tasks[task].lock().fill(|chunk, numbers| encode(&chunk.columns[first_key..], numbers));
            Ok(())
        })?;
        let (mut ascends, mut before) = (true, None);
        for task in tasks {
            let Numbering { ends, ascends: own, .. } = task.into_inner();
            let Some((first, last)) = ends else { continue };
            ascends &= own && before <= Some(first);
            before = Some(last);
        }
        // SAFETY: `places` were cut into those of the tasks, each of which has written all of its own.
        Ok((unsafe { all.written() }, ascends))
    }
}

/// A task of [`HashJoin::in_parallel`].
struct Numbering<'a, T> {
    chunks: &'a [Chunk],
    /// As many as the chunks have rows.
    places: &'a mut [MaybeUninit<T>],
    /// The first and the last number.
    ends: Option<(T, T)>,
    ascends: bool,
}

impl<T: Native + Ord> Numbering<'_, T> {
    /// Writes all places.
    fn fill(&mut self, encode: impl Fn(&Chunk, &mut Vec<T>)) {
        let (mut numbers, mut at) = (Vec::new(), 0);
        for chunk in self.chunks {
            encode(chunk, &mut numbers);
            let numbers = &numbers[..chunk.len];
            for (place, number) in self.places[at..at + chunk.len].iter_mut().zip(numbers) {
                place.write(*number);
            }
            at += chunk.len;
            let (Some(first), Some(last)) = (numbers.first(), numbers.last()) else { continue };
            self.ascends =
                self.ascends && self.ends.is_none_or(|(_, end)| end <= *first) && numbers.is_sorted();
            self.ends = Some((self.ends.map_or(*first, |(first, _)| first), *last));
        }
        assert!(at == self.places.len(), "more places than rows");
    }
}

/// Hashes the keys of some rows.
pub(crate) fn hash_chunk(keys: &[Vector], hashes: &mut Vec<u64>) {
    let len = keys.first().map_or(0, Vector::len);
    hashes.resize(len, 0);
    for (index, key) in keys.iter().enumerate() {
        if index == 0 { hash(key, len, hashes) } else { hash_combine(key, len, hashes) }
    }
}

/// Whether keys of a type can be slots.
pub(crate) fn is_narrow(ty: LogicalType) -> bool {
    is_narrow_integer(ty.physical())
}
