//! Groups of one integer key most of whose values occur, by statistics: a key's place in their range is its group, so nothing is
//! looked up or numbered, and the groups of several workers are put together place by place.
//!
//! ```text
//! place   0     1     2        3        ...   range + 1
//! key     NULL  min   min + 1  min + 2  ...   min + range
//! ```
//! Places that no row has are groups as well until [`super::state::State::leave_domain`]; they are never output.

use super::encode::{Word, with_words};
use super::spec::Spec;
use super::state::State;
use crate::dispatch::multiversion;
use inlay_types::{
    Batch, Bitmap, Buffer, Heap, LogicalType, Native, PhysicalType, Result, VECTOR_SIZE, Vector,
};
use std::ops::Range;

/// Ranges of fewer values are as fast with numbered groups.
const RANGE_MIN: u64 = 1 << 12;
/// Arrays have at most about as many places.
const RANGE_MAX: u64 = 1 << 22;
/// Values per group expected, at most.
const SPARSE_MAX: u64 = 4;
/// Rows per value expected, at least.
const ROWS_MIN: u64 = 4;

/// The values that a key may have, and which it has had.
#[derive(Debug)]
pub(super) struct Domain {
    min: u64,
    range: u64,
    seen: Vec<u8>,
}

/// Whether `range + 1` values are worth a place each in every worker's arrays.
pub(super) fn pays(range: u64, rows: Option<u64>, groups: Option<u64>, workers: usize) -> bool {
    let (Some(rows), Some(groups)) = (rows, groups) else { return false };
    (RANGE_MIN..RANGE_MAX).contains(&range)
        && range / SPARSE_MAX <= groups
        && range * ROWS_MIN.max(workers as u64) <= rows
}

impl Domain {
    /// Values `min ..= min + range` as words, none seen. The range is one for which domains [`pays`].
    pub(super) fn new((min, range): (u64, u64)) -> Self {
        Self { min, range, seen: vec![0; range as usize + 2] }
    }

    /// Number of places.
    pub(super) fn len(&self) -> usize {
        self.seen.len()
    }

    /// Bytes held.
    pub(super) fn memory_size(&self) -> usize {
        self.seen.capacity()
    }

    fn has_range_of(&self, other: &Self) -> bool {
        (self.min, self.range) == (other.min, other.range)
    }

    /// Sets the group of each key of a flat vector; `false`, and no key is seen, if one is out of range.
    pub(super) fn find(&mut self, key: &Vector, groups: &mut [u32]) -> bool {
        let largest = with_words!(
            key,
            values,
            match key.validity() {
                None => find_all(values, self.min, groups),
                Some(validity) => find_valid(values, validity, self.min, groups),
            },
            u64::MAX
        );
        if largest > self.range {
            return false;
        }
        groups.iter().for_each(|&group| self.seen[group as usize] = 1);
        true
    }

    /// The places of `range` that were seen, ascending.
    fn seen_in(&self, range: Range<usize>, places: &mut Vec<u32>) {
        places.clear();
        let seen = range.clone().zip(&self.seen[range]).filter(|(_, seen)| **seen != 0);
        places.extend(seen.map(|(place, _)| place as u32));
    }

    /// All places that were seen, ascending.
    pub(super) fn all_seen(&self) -> Vec<u32> {
        let mut places = Vec::new();
        self.seen_in(0..self.len(), &mut places);
        places
    }

    /// The keys of some places, ascending.
    pub(super) fn keys(&self, ty: &LogicalType, places: &[u32]) -> Vector {
        fn of<T: Native>(places: &[u32], key: impl Fn(u32) -> T) -> Buffer {
            Buffer::copy_of(&places.iter().map(|&place| key(place)).collect::<Vec<T>>())
        }
        let word = |place: u32| self.min.wrapping_add(u64::from(place)).wrapping_sub(1);
        // A word's low bits are the value.
        let values = match ty.physical().size() {
            1 => of(places, |place| word(place) as u8),
            2 => of(places, |place| word(place) as u16),
            4 => of(places, |place| word(place) as u32),
            _ => of(places, word),
        };
        let has_null = places.first() == Some(&0);
        let validity = has_null.then(|| Bitmap::from_fn(places.len(), |index| index > 0));
        Vector::flat(ty.clone(), places.len(), values, validity, Heap::default())
    }
}

multiversion! {
    /// Sets the places of keys without NULLs; returns the largest offset from `min`. Places of keys out of range are any.
    fn find_all[T: Word](values: &[T], min: u64, groups: &mut [u32]) -> u64 {
        let mut largest = 0;
        for (value, group) in values.iter().zip(groups) {
            let offset = value.word().wrapping_sub(min);
            largest = largest.max(offset);
            *group = (offset as u32).wrapping_add(1);
        }
        largest
    }
}

/// The same of keys with NULLs.
fn find_valid<T: Word>(values: &[T], validity: &Bitmap, min: u64, groups: &mut [u32]) -> u64 {
    let mut largest = 0;
    for (row, (value, group)) in values.iter().zip(groups).enumerate() {
        *group = 0;
        if validity.get(row) {
            let offset = value.word().wrapping_sub(min);
            largest = largest.max(offset);
            *group = (offset as u32).wrapping_add(1);
        }
    }
    largest
}

/// Whether a type's values are words whose differences are those of the values.
pub(super) fn fits(ty: &LogicalType) -> bool {
    super::encode::is_word(ty) && !matches!(ty.physical(), PhysicalType::F32 | PhysicalType::F64)
}

/// How many places there are, if the groups of all states are places of the same range.
pub(super) fn places_of(states: &[State]) -> Option<usize> {
    let domains: Vec<&Domain> = states.iter().map(|state| state.table.domain()).collect::<Option<_>>()?;
    let first = domains.first()?;
    domains.iter().all(|domain| domain.has_range_of(first)).then(|| first.len())
}

/// Outputs the groups of some places, those of all states put together, until `push` has enough.
pub(super) fn output(
    spec: &Spec,
    states: &[State],
    places: Range<usize>,
    push: &mut dyn FnMut(Batch) -> Result<bool>,
) -> Result<()> {
    let (mut any, mut of_one, mut targets): (Vec<u32>, Vec<u32>, Vec<u32>) = Default::default();
    let domains: Vec<&Domain> = states.iter().filter_map(|state| state.table.domain()).collect();
    let Some(first) = domains.first() else { return Ok(()) };
    for from in places.clone().step_by(VECTOR_SIZE) {
        let part = from..places.end.min(from + VECTOR_SIZE);
        any.clear();
        let is_seen = |place: &usize| domains.iter().any(|domain| domain.seen[*place] != 0);
        any.extend(part.clone().filter(is_seen).map(|place| place as u32));
        if any.is_empty() {
            continue;
        }
        let mut columns = vec![first.keys(&spec.group_types[0], &any)];
        match states {
            [state] if any.len() == part.len() => {
                columns.extend(spec.finish(&state.accumulators, from, part.len())?);
            }
            _ => {
                let mut accumulators = spec.accumulators()?;
                accumulators.iter_mut().for_each(|accumulator| accumulator.resize(any.len()));
                // Where each place is among those that are output.
                let mut ranks = [0u32; VECTOR_SIZE];
                any.iter().zip(0..).for_each(|(&place, rank)| ranks[place as usize - from] = rank);
                for (state, domain) in states.iter().zip(&domains) {
                    domain.seen_in(part.clone(), &mut of_one);
                    targets.clear();
                    targets.extend(of_one.iter().map(|&place| ranks[place as usize - from]));
                    for (accumulator, theirs) in accumulators.iter_mut().zip(&state.accumulators) {
                        accumulator.merge(&**theirs, &of_one, &targets)?;
                    }
                }
                columns.extend(spec.finish(&accumulators, 0, any.len())?);
            }
        }
        if !push(Batch::new(columns, any.len()))? {
            return Ok(());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use inlay_types::Value;

    #[test]
    fn keys_come_back_from_their_places() {
        let ty = LogicalType::SmallInt;
        let values = [Value::SmallInt(-3), Value::Null, Value::SmallInt(4), Value::SmallInt(-3)];
        let key = Vector::from_sql_values(ty.clone(), &values).unwrap();
        let mut domain = Domain::new((-3i64 as u64, 7));
        let mut groups = [9; 4];
        assert!(domain.find(&key, &mut groups));
        assert_eq!(groups, [1, 0, 8, 1]);
        let places = domain.all_seen();
        assert_eq!(places, [0, 1, 8]);
        let keys = domain.keys(&ty, &places);
        assert_eq!(
            (0..3).map(|row| keys.get(row)).collect::<Vec<_>>(),
            [Value::Null, Value::SmallInt(-3), Value::SmallInt(4)]
        );
        for outside in [-4, 5] {
            let flat = Vector::from_values(ty.clone(), &[-1i16, outside]);
            assert!(!domain.find(&flat, &mut groups[..2]));
            let values = [Value::Null, Value::SmallInt(outside)];
            let with_null = Vector::from_sql_values(ty.clone(), &values).unwrap();
            assert!(!domain.find(&with_null, &mut groups[..2]));
        }
        assert_eq!(domain.all_seen(), places);
    }
}
