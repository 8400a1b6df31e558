//! Group numbers proven in bounds, and the scatter loops that rely on the proof.

#![expect(unsafe_code, reason = "states at numbers of groups that were checked")]

use inlay_types::Bitmap;
use inlay_types::multiversion;

/// Group numbers of rows, each below `count`. The proof is what makes the scatter loops safe.
#[derive(Clone, Copy, Debug)]
pub struct GroupIds<'a> {
    ids: &'a [u32],
    count: usize,
}

impl<'a> GroupIds<'a> {
    /// Group numbers below `count`.
    ///
    /// Panics when one is not.
    pub fn new(ids: &'a [u32], count: usize) -> Self {
        assert!(ids.is_empty() || (largest(ids) as usize) < count, "group number out of range");
        Self { ids, count }
    }

    /// The group of each row.
    #[inline]
    pub fn ids(&self) -> &'a [u32] {
        self.ids
    }

    /// All ids are below this.
    #[inline]
    pub fn count(&self) -> usize {
        self.count
    }

    /// Number of rows.
    #[inline]
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }
}

multiversion! {
    /// The largest of some numbers; 0 if there are none.
    pub(super) fn largest[](ids: &[u32]) -> u32 {
        ids.iter().fold(0, |a, &b| a.max(b))
    }
}

/// Calls `f(state of the row's group, value)` for each row, in order.
///
/// Panics when there are fewer states than groups, or fewer values than rows.
#[inline(always)]
pub(super) fn scatter<S, T: Copy>(
    states: &mut [S],
    groups: GroupIds<'_>,
    values: &[T],
    mut f: impl FnMut(&mut S, T),
) {
    assert!(states.len() >= groups.count && values.len() >= groups.ids.len());
    for (&group, &value) in groups.ids.iter().zip(values) {
        // SAFETY: `GroupIds` proved `group < count`, which is at most `states.len()`.
        f(unsafe { states.get_unchecked_mut(group as usize) }, value);
    }
}

/// Up to this many groups have lanes.
pub(super) const LANE_GROUPS: usize = 64;

/// Calls `f(state, value)` for each row, where four states of each of the at most [`LANE_GROUPS`] groups take turns, so
/// that neighbouring rows of one group do not wait for each other's store.
#[inline(always)]
pub(super) fn in_lanes<S: Copy + Default, T: Copy>(
    groups: GroupIds<'_>,
    values: &[T],
    f: impl Fn(&mut S, T),
) -> [[S; LANE_GROUPS]; 4] {
    let mut lanes = [[S::default(); LANE_GROUPS]; 4];
    let (ids, rest_ids) = groups.ids.as_chunks::<4>();
    let (fours, rest) = values[..groups.ids.len()].as_chunks::<4>();
    // By number: iterators over the lanes are not always unrolled.
    for (ids, four) in ids.iter().zip(fours) {
        f(&mut lanes[0][ids[0] as usize % LANE_GROUPS], four[0]);
        f(&mut lanes[1][ids[1] as usize % LANE_GROUPS], four[1]);
        f(&mut lanes[2][ids[2] as usize % LANE_GROUPS], four[2]);
        f(&mut lanes[3][ids[3] as usize % LANE_GROUPS], four[3]);
    }
    for (&id, &value) in rest_ids.iter().zip(rest) {
        f(&mut lanes[0][id as usize % LANE_GROUPS], value);
    }
    lanes
}

/// Calls `f(state of the row's group, value)` for each row that is valid, in order.
#[inline(always)]
pub(super) fn scatter_valid<S, T: Copy>(
    states: &mut [S],
    groups: GroupIds<'_>,
    values: &[T],
    validity: &Bitmap,
    mut f: impl FnMut(&mut S, T),
) {
    for_valid(validity, groups.len(), |row| f(&mut states[groups.ids[row] as usize], values[row]));
}

/// Calls `f(row)` for each set bit below `len`, ascending.
#[inline(always)]
pub(super) fn for_valid(validity: &Bitmap, len: usize, mut f: impl FnMut(usize)) {
    for (index, &word) in validity.words().iter().enumerate().take(len.div_ceil(64)) {
        let from = index * 64;
        let mut bits = word;
        if len - from < 64 {
            bits &= (1 << (len - from)) - 1;
        }
        if bits == u64::MAX {
            (from..from + 64).for_each(&mut f);
            continue;
        }
        while bits != 0 {
            f(from + bits.trailing_zeros() as usize);
            bits &= bits - 1;
        }
    }
}

/// Calls `f(row)` for each clear bit below `len`, ascending.
#[inline(always)]
pub(super) fn for_null(validity: &Bitmap, len: usize, mut f: impl FnMut(usize)) {
    for (index, &word) in validity.words().iter().enumerate().take(len.div_ceil(64)) {
        let from = index * 64;
        let mut bits = !word;
        if len - from < 64 {
            bits &= (1 << (len - from)) - 1;
        }
        while bits != 0 {
            f(from + bits.trailing_zeros() as usize);
            bits &= bits - 1;
        }
    }
}

/// Which groups have had a value that was not NULL.
///
/// As long as no NULL was seen, nothing is stored: every group exists because of a row. Where that does not hold
/// (without GROUP BY, behind a FILTER or DISTINCT) flags are kept from the start.
#[derive(Debug)]
pub(super) struct Seen {
    flags: Option<Vec<u8>>,
    /// Without flags: all groups below have been seen.
    settled: usize,
    len: usize,
}

impl Seen {
    /// No groups. `every_group_has_row`: groups are added only together with a row of theirs.
    pub(super) fn new(every_group_has_row: bool) -> Self {
        Self { flags: (!every_group_has_row).then(Vec::new), settled: 0, len: 0 }
    }

    pub(super) fn resize(&mut self, groups: usize) {
        self.len = groups;
        if let Some(flags) = &mut self.flags {
            flags.resize(groups, 0);
        }
    }

    pub(super) fn mark_all(&mut self, groups: GroupIds<'_>) {
        match &mut self.flags {
            None => self.settled = self.len,
            Some(flags) => scatter(flags, groups, groups.ids, |flag, _| *flag = 1),
        }
    }

    pub(super) fn mark_valid(&mut self, groups: GroupIds<'_>, validity: Option<&Bitmap>) {
        let Some(validity) = validity else { return self.mark_all(groups) };
        scatter_valid(self.flags_mut(), groups, groups.ids, validity, |flag, _| *flag = 1);
    }

    pub(super) fn mark(&mut self, group: usize) {
        match &mut self.flags {
            Some(flags) => flags[group] = 1,
            None if group < self.settled => {}
            None if group == self.settled => self.settled += 1,
            None => self.flags_mut()[group] = 1,
        }
    }

    fn flags_mut(&mut self) -> &mut [u8] {
        let (settled, len) = (self.settled, self.len);
        self.flags.get_or_insert_with(|| {
            let mut flags = vec![1; settled];
            flags.resize(len, 0);
            flags
        })
    }

    pub(super) fn get(&self, group: usize) -> bool {
        self.flags.as_ref().map_or(group < self.settled, |flags| flags[group] != 0)
    }

    pub(super) fn merge(&mut self, other: &Seen, source: &[u32], target: &[u32]) {
        if self.flags.is_none() && other.flags.is_none() {
            self.settled = self.len;
            return;
        }
        let flags = self.flags_mut();
        for (&from, &to) in source.iter().zip(target) {
            flags[to as usize] |= u8::from(other.get(from as usize));
        }
    }

    /// Validity of the results of groups `from .. from + len`.
    pub(super) fn validity(&self, from: usize, len: usize) -> Option<Bitmap> {
        let all = match &self.flags {
            None => from + len <= self.settled,
            Some(flags) => flags[from..from + len].iter().all(|&flag| flag != 0),
        };
        (!all).then(|| Bitmap::from_fn(len, |i| self.get(from + i)))
    }

    pub(super) fn memory_size(&self) -> usize {
        self.flags.as_ref().map_or(0, Vec::capacity)
    }
}
