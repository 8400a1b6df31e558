//! Aggregates that keep their rows: what they share.

use super::GroupIds;
use super::column::Column;
use super::groups::largest;
use inlay_types::{LogicalType, Vector};
use std::ops::Range;
use std::sync::OnceLock;

/// Rows in the order of arrival, and which belong to a group.
#[derive(Debug, Default)]
pub(super) struct GroupRows {
    groups: Vec<u32>,
    /// Where the rows of another morsel begin, and which. Morsels are in any order where rows of several workers lie.
    runs: Vec<(u32, u32)>,
    morsel: u32,
    /// Each row's morsel, where there would be about as many runs as rows.
    morsels: Option<Vec<u32>>,
    /// Made at the first question.
    index: OnceLock<Index>,
}

/// Row numbers by group, in the order of the input.
#[derive(Debug)]
enum Index {
    /// All rows are of this group; stretches of them in order.
    One { group: u32, pieces: Vec<Range<u32>>, rows: OnceLock<Vec<u32>> },
    /// Rows, and where each group begins.
    Many { offsets: Vec<u32>, rows: Vec<u32> },
}

/// The rows of another accumulator that were added, in the order added.
pub(super) enum Added {
    /// All, as they lie.
    All,
    Rows(Vec<u32>),
}

/// Groups of so many rows each have few runs.
const LONG_GROUP: usize = 64;

impl GroupRows {
    /// See [`super::GroupedAccumulator::start_morsel`].
    pub(super) fn start_morsel(&mut self, number: u32) {
        self.morsel = number;
    }

    pub(super) fn push(&mut self, groups: impl IntoIterator<Item = u32>) {
        self.index.take();
        self.begin_run(self.groups.len() as u32, self.morsel);
        self.groups.extend(groups);
        if let Some(morsels) = &mut self.morsels {
            morsels.resize(self.groups.len(), self.morsel);
        }
    }

    /// The rows from `start` on, of which there are none yet, are of this morsel.
    fn begin_run(&mut self, start: u32, morsel: u32) {
        if self.runs.last().map_or(0, |(_, last)| *last) == morsel {
            return;
        }
        if self.runs.last().is_some_and(|(last, _)| *last == start) {
            self.runs.pop();
            return self.begin_run(start, morsel);
        }
        self.runs.push((start, morsel));
    }

    /// Appends the values of `arg` that are not NULL to `values`, and their groups to the rows.
    pub(super) fn collect(&mut self, values: &mut Column, arg: &Vector, groups: GroupIds<'_>) {
        if arg.validity().is_none() {
            values.append_first(arg, groups.len());
            self.push(groups.ids().iter().copied());
            return;
        }
        let rows: Vec<u32> = (0..groups.len() as u32).filter(|&row| !arg.is_null(row as usize)).collect();
        values.append(arg, &rows);
        self.push(rows.iter().map(|&row| groups.ids()[row as usize]));
    }

    /// From now on each row's morsel is known.
    fn know_morsels(&mut self) {
        if self.morsels.is_none() {
            let mut morsels = Vec::with_capacity(self.groups.len());
            self.morsels_of(0..self.groups.len() as u32, &mut morsels);
            self.morsels = Some(morsels);
        }
    }

    /// Number of rows.
    pub(super) fn len(&self) -> usize {
        self.groups.len()
    }

    /// See [`super::GroupedAccumulator::expect_rows`].
    pub(super) fn make_room(&mut self, rows: usize) {
        let _ = self.groups.try_reserve_exact(rows);
    }

    /// Forgets the rows; those that come belong to the same morsel as before.
    pub(super) fn clear(&mut self) {
        *self = Self { morsel: self.morsel, ..Self::default() };
    }

    /// The morsels of rows, most of which ascend.
    fn morsels_of(&self, rows: impl Iterator<Item = u32>, morsels: &mut Vec<u32>) {
        if let Some(known) = &self.morsels {
            morsels.extend(rows.map(|row| known[row as usize]));
            return;
        }
        let (mut rest, mut morsel, mut before) = (&self.runs[..], 0, 0);
        morsels.extend(rows.map(|row| {
            if row < before {
                (rest, morsel) = (&self.runs[..], 0);
            }
            before = row;
            let is_passed = |(start, _): &(u32, u32)| *start <= row;
            if rest.first().is_some_and(is_passed) {
                // The next row is mostly in one of the next runs.
                let mut near = 1;
                while rest.get(near).is_some_and(is_passed) {
                    near *= 2;
                }
                let from = near / 2;
                let passed = from + rest[from..near.min(rest.len())].partition_point(is_passed);
                (morsel, rest) = (rest[passed - 1].1, &rest[passed..]);
            }
            morsel
        }));
    }

    /// The rows of `group`, in the order of the input.
    pub(super) fn rows(&self, group: u32) -> &[u32] {
        match self.index() {
            Index::One { group: only, pieces, rows } if *only == group => {
                rows.get_or_init(|| pieces.iter().cloned().flatten().collect())
            }
            Index::One { .. } => &[],
            Index::Many { offsets, rows } => match offsets.get(group as usize + 1) {
                Some(&end) => &rows[offsets[group as usize] as usize..end as usize],
                None => &[],
            },
        }
    }

    /// The rows of `group` as stretches, if these are few.
    pub(super) fn pieces(&self, group: u32) -> Option<&[Range<u32>]> {
        match self.index() {
            Index::One { group: only, pieces, .. } if *only == group => Some(pieces),
            _ => None,
        }
    }

    fn index(&self) -> &Index {
        self.index.get_or_init(|| self.make_index())
    }

    /// See [`super::GroupedAccumulator::prepare_merge`].
    pub(super) fn prepare(&self) {
        self.index();
    }

    /// One more than the largest group with rows.
    pub(super) fn group_count(&self) -> usize {
        if self.groups.is_empty() { 0 } else { largest(&self.groups) as usize + 1 }
    }

    /// All rows as stretches in the order of morsels; those of one are in the order of arrival.
    fn in_order(&self) -> Vec<Range<u32>> {
        let len = self.groups.len() as u32;
        if self.runs.is_sorted_by_key(|(_, morsel)| *morsel) {
            return std::iter::once(0..len).filter(|all| !all.is_empty()).collect();
        }
        let ends = self.runs.iter().skip(1).map(|(start, _)| *start).chain([len]);
        let mut runs: Vec<(u32, Range<u32>)> =
            self.runs.iter().zip(ends).map(|(&(start, morsel), end)| (morsel, start..end)).collect();
        // Rows before the first run are of morsel 0.
        runs.insert(0, (0, 0..self.runs.first().map_or(len, |(start, _)| *start)));
        runs.sort_by_key(|(morsel, _)| *morsel);
        let mut pieces: Vec<Range<u32>> = Vec::with_capacity(runs.len());
        for (_, run) in runs.into_iter().filter(|(_, run)| !run.is_empty()) {
            match pieces.last_mut() {
                Some(last) if last.end == run.start => last.end = run.end,
                _ => pieces.push(run),
            }
        }
        pieces
    }

    fn make_index(&self) -> Index {
        let first = self.groups.first().copied().unwrap_or(0);
        let differences = self.groups.iter().fold(0, |all, group| all | (group ^ first));
        if differences == 0 && self.morsels.is_none() && !self.groups.is_empty() {
            return Index::One { group: first, pieces: self.in_order(), rows: OnceLock::new() };
        }
        let count = self.group_count();
        let mut offsets = vec![0u32; count + 1];
        self.groups.iter().for_each(|&g| offsets[g as usize + 1] += 1);
        (0..count).for_each(|g| offsets[g + 1] += offsets[g]);
        let mut next = offsets.clone();
        let mut rows = vec![0u32; self.groups.len()];
        let pieces = match &self.morsels {
            Some(_) => std::iter::once(0..self.groups.len() as u32).collect(),
            None => self.in_order(),
        };
        for piece in pieces {
            for (row, &group) in piece.clone().zip(&self.groups[piece.start as usize..piece.end as usize]) {
                let place = &mut next[group as usize];
                rows[*place as usize] = row;
                *place += 1;
            }
        }
        if let Some(morsels) = &self.morsels {
            for group in 0..count {
                let own = &mut rows[offsets[group] as usize..offsets[group + 1] as usize];
                // A few runs in order, which the sort finds.
                own.sort_by_key(|row| morsels[*row as usize]);
            }
        }
        Index::Many { offsets, rows }
    }

    /// Only these rows, in this order, each of its group and its morsel.
    pub(super) fn picked(&self, rows: &[u32]) -> Self {
        let is_ordered = self.morsels.is_some() || !self.runs.is_empty();
        let morsels = is_ordered.then(|| {
            let mut morsels = Vec::with_capacity(rows.len());
            self.morsels_of(rows.iter().copied(), &mut morsels);
            morsels
        });
        let groups = rows.iter().map(|&row| self.groups[row as usize]).collect();
        Self { groups, morsel: self.morsel, morsels, ..Self::default() }
    }

    /// Adds the rows of `other`'s groups `source` as rows of `target`; returns them in the order added.
    pub(super) fn merge(&mut self, other: &GroupRows, source: &[u32], target: &[u32]) -> Added {
        if other.groups.is_empty() {
            return Added::Rows(Vec::new());
        }
        self.index.take();
        if let (&[from], &[to], None) = (source, target, &self.morsels)
            && other.pieces(from).is_some()
        {
            self.append(other, to);
            return Added::All;
        }
        let are_ordered = other.morsels.is_some() || !other.runs.is_empty() || !self.runs.is_empty();
        let count: usize = source.iter().map(|&group| other.rows(group).len()).sum();
        if are_ordered && count < LONG_GROUP * source.len() {
            self.know_morsels();
        }
        let (mut added, mut morsels) = (Vec::with_capacity(count), Vec::new());
        for (&from, &to) in source.iter().zip(target) {
            let rows = other.rows(from);
            added.extend_from_slice(rows);
            match &mut self.morsels {
                Some(morsels) => other.morsels_of(rows.iter().copied(), morsels),
                None if are_ordered => {
                    morsels.clear();
                    other.morsels_of(rows.iter().copied(), &mut morsels);
                    let mut start = self.groups.len() as u32;
                    for run in morsels.chunk_by(|a, b| a == b) {
                        self.begin_run(start, run[0]);
                        start += run.len() as u32;
                    }
                }
                None => {}
            }
            self.groups.extend(std::iter::repeat_n(to, rows.len()));
        }
        Added::Rows(added)
    }

    /// Adds all rows of another, which are of one group, to a group.
    fn append(&mut self, other: &GroupRows, group: u32) {
        let offset = self.groups.len() as u32;
        if other.runs.first().is_none_or(|(start, _)| *start > 0) {
            self.begin_run(offset, 0);
        }
        other.runs.iter().for_each(|&(start, morsel)| self.begin_run(offset + start, morsel));
        self.groups.extend(std::iter::repeat_n(group, other.groups.len()));
    }

    pub(super) fn memory_size(&self) -> usize {
        let morsels = self.morsels.as_ref().map_or(0, Vec::capacity);
        let indexed = match self.index.get() {
            None => 0,
            Some(Index::One { pieces, rows, .. }) => pieces.len() * 2 + rows.get().map_or(0, Vec::len),
            Some(Index::Many { rows, .. }) => rows.len(),
        };
        (self.groups.capacity() + indexed + morsels) * 4 + self.runs.capacity() * 8
    }
}

/// The rows that an accumulator keeps, which may lie in a file for a while: see [`super::GroupedAccumulator::kept`].
pub struct KeptRows<'a> {
    rows: &'a GroupRows,
    columns: Vec<KeptColumn<'a>>,
}

/// A column of such rows.
#[derive(Clone, Copy)]
pub enum KeptColumn<'a> {
    /// Values of an argument.
    Values(&'a Column),
    /// Numbers of the accumulator's own.
    Words(&'a [u64]),
}

impl KeptColumn<'_> {
    /// The type of the values.
    pub fn logical_type(&self) -> LogicalType {
        match self {
            Self::Values(column) => column.logical_type(),
            Self::Words(_) => LogicalType::UBigInt,
        }
    }

    /// The values of rows `from .. from + len`.
    pub fn to_vector(&self, from: usize, len: usize) -> Vector {
        match self {
            Self::Values(column) => column.to_vector(from, len),
            Self::Words(words) => Vector::from_values(LogicalType::UBigInt, &words[from..from + len]),
        }
    }
}

/// The same to be changed: see [`super::GroupedAccumulator::kept_mut`].
pub struct KeptRowsMut<'a> {
    rows: &'a mut GroupRows,
    columns: Vec<&'a mut Column>,
}

impl<'a> KeptRowsMut<'a> {
    pub(super) fn new(rows: &'a mut GroupRows, columns: impl IntoIterator<Item = &'a mut Column>) -> Self {
        Self { rows, columns: columns.into_iter().collect() }
    }

    pub(super) fn make_room(self, rows: usize) {
        self.columns.into_iter().for_each(|column| column.make_room(rows));
        self.rows.make_room(rows);
    }

    pub(super) fn forget(self) {
        self.columns.into_iter().for_each(|column| *column = Column::new(column.logical_type()));
        self.rows.clear();
    }
}

impl<'a> KeptRows<'a> {
    pub(super) fn new(rows: &'a GroupRows, columns: impl IntoIterator<Item = &'a Column>) -> Self {
        Self { rows, columns: columns.into_iter().map(KeptColumn::Values).collect() }
    }

    /// The same with more columns.
    pub(super) fn with_words(mut self, words: impl IntoIterator<Item = &'a [u64]>) -> Self {
        self.columns.extend(words.into_iter().map(KeptColumn::Words));
        self
    }

    /// What is kept of each row, for [`super::GroupedAccumulator::restore`].
    pub fn columns(&self) -> &[KeptColumn<'a>] {
        &self.columns
    }

    /// The group of each row.
    pub fn groups(&self) -> &'a [u32] {
        &self.rows.groups
    }

    /// The morsels of rows `from .. to`.
    pub fn morsels(&self, from: u32, to: u32) -> Vec<u32> {
        let mut morsels = Vec::with_capacity((to - from) as usize);
        self.rows.morsels_of(from..to, &mut morsels);
        morsels
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of two workers, each with morsels of its own that ascend, come in the order of morsels, wherever they are merged.
    #[test]
    fn rows_of_several_workers_come_in_the_order_of_morsels() {
        const GROUPS: u32 = 7;
        // Rows as (morsel, place in it), by worker; what is kept of each row is its number.
        let mut workers: Vec<(GroupRows, Vec<(u32, u32)>)> = Vec::new();
        for worker in 0..3u32 {
            let (mut rows, mut known) = (GroupRows::default(), Vec::new());
            for morsel in (worker..40).step_by(3) {
                rows.start_morsel(morsel);
                for batch in 0..morsel % 3 {
                    let len = (morsel * 5 + batch) % 11;
                    rows.push((0..len).map(|place| (morsel + place * place) % GROUPS));
                    known.extend((0..len).map(|place| (morsel, batch * 100 + place)));
                }
            }
            workers.push((rows, known));
        }
        let mut merged = GroupRows::default();
        let mut known = Vec::new();
        // Groups are turned round, in two steps, and then rows of a last morsel come.
        let (source, target): (Vec<u32>, Vec<u32>) =
            (0..GROUPS).map(|group| (group, GROUPS - 1 - group)).unzip();
        for (rows, theirs) in &workers {
            for part in [0..3, 3..GROUPS as usize] {
                match merged.merge(rows, &source[part.clone()], &target[part]) {
                    Added::All => known.extend(theirs),
                    Added::Rows(added) => known.extend(added.iter().map(|row| theirs[*row as usize])),
                }
            }
        }
        merged.start_morsel(99);
        merged.push([0, 6]);
        known.extend([(99, 0), (99, 1)]);
        let mut all = 0;
        for group in 0..GROUPS {
            let found: Vec<(u32, u32)> = merged.rows(group).iter().map(|row| known[*row as usize]).collect();
            let mut expected: Vec<(u32, u32)> = Vec::new();
            for (rows, theirs) in &workers {
                expected.extend(rows.rows(GROUPS - 1 - group).iter().map(|row| theirs[*row as usize]));
            }
            expected.extend(match group {
                0 => Some((99, 0)),
                6 => Some((99, 1)),
                _ => None,
            });
            expected.sort_unstable();
            assert_eq!(found, expected, "group {group}");
            all += found.len();
        }
        assert_eq!(all, known.len());
        assert!(merged.rows(GROUPS).is_empty());
    }
}
