//! The rows of each value, for columns whose values are numbered.

use crate::places::{Builder, Places};
use inlay_types::{Error, MemoryBudget, Reservation, Result};
use std::ops::Deref;

/// Rows that are sorted by their codes at once.
const PART: usize = 1 << 16;

/// A set for each code, with the memory that they take.
#[derive(Debug)]
pub struct ByCode {
    sets: Vec<Places>,
    reservation: Reservation,
}

impl ByCode {
    /// Bytes that the sets take.
    pub fn memory_size(&self) -> u64 {
        self.reservation.bytes()
    }

    /// The sets, and what was reserved for them.
    pub fn into_parts(self) -> (Vec<Places>, Reservation) {
        (self.sets, self.reservation)
    }
}

impl Deref for ByCode {
    type Target = [Places];

    fn deref(&self) -> &[Places] {
        &self.sets
    }
}

/// For each number below `distinct` the places that have it. Rows that are to be in no set have the number `distinct`. What is
/// needed is reserved first: about six bytes for each row and 200 for each number.
pub fn by_code<C: Copy + Into<u32>>(codes: &[C], distinct: u32, budget: &MemoryBudget) -> Result<ByCode> {
    let rows = u32::try_from(codes.len()).map_err(|_| Error::internal("more rows than a set can have"))?;
    let numbers = distinct as usize + 1;
    // Places in order, where each code's begin, a chunk and a set for each code.
    let chunks = codes.len().div_ceil(PART).max(1) as u64;
    let needed = 2 * codes.len() as u64 + 4 * PART as u64 + numbers as u64 * (64 + 40 * chunks);
    let mut reservation = budget.reserve(needed)?;
    let mut sets: Vec<Builder> = (0..distinct).map(|_| Builder::default()).collect();
    let mut starts = vec![0u32; numbers + 1];
    let mut places = vec![0u16; PART.min(codes.len())];
    for part in codes.chunks(PART) {
        sort_by_code(part, &mut starts, &mut places)?;
        for (set, bounds) in sets.iter_mut().zip(starts.windows(2)) {
            set.push(&places[bounds[0] as usize..bounds[1] as usize], part.len());
        }
    }
    let sets: Vec<Places> = sets.into_iter().map(|set| set.finish(rows)).collect();
    reservation.resize(sets.iter().map(|set| set.memory_size() as u64).sum())?;
    Ok(ByCode { sets, reservation })
}

/// Puts the places of a part in the order of their codes; those of code `c` then begin at `starts[c]`.
fn sort_by_code<C: Copy + Into<u32>>(part: &[C], starts: &mut [u32], places: &mut [u16]) -> Result<()> {
    starts.fill(0);
    let last = starts.len() - 1;
    for &code in part {
        let code = code.into() as usize;
        if code >= last {
            return Err(Error::internal(format!("code {code} of {}", last - 1)));
        }
        starts[code + 1] += 1;
    }
    for code in 1..starts.len() {
        starts[code] += starts[code - 1];
    }
    for (place, &code) in part.iter().enumerate() {
        let at = &mut starts[code.into() as usize];
        places[*at as usize] = place as u16;
        *at += 1;
    }
    // Each start has become the next one's.
    starts.copy_within(..last, 1);
    starts[0] = 0;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_in_the_set_of_its_code() {
        for rows in [0usize, 1, 63, 65_535, 65_536, 65_537, 131_072, 200_000] {
            for distinct in [1u32, 2, 7, 300] {
                let code = |row: usize| (row * 7919 % 1009) as u32 % (distinct + 1);
                let codes: Vec<u16> = (0..rows).map(|row| code(row) as u16).collect();
                let sets = by_code(&codes, distinct, &MemoryBudget::unlimited()).unwrap();
                assert_eq!(sets.len(), distinct as usize);
                for (number, set) in sets.iter().enumerate() {
                    let expected: Vec<u32> =
                        (0..rows as u32).filter(|row| code(*row as usize) == number as u32).collect();
                    assert_eq!(*set, Places::from_sorted(&expected, rows as u32).unwrap());
                }
            }
        }
    }

    #[test]
    fn memory_is_asked_for_and_counted() {
        let codes: Vec<u8> = (0..131_072).map(|row| (row % 5) as u8).collect();
        let budget = MemoryBudget::new(64 << 20);
        let sets = by_code(&codes, 5, &budget).unwrap();
        assert_eq!(budget.used(), sets.iter().map(|set| set.memory_size() as u64).sum::<u64>());
        drop(sets);
        assert_eq!(budget.used(), 0);
        assert!(matches!(by_code(&codes, 5, &MemoryBudget::new(1 << 10)), Err(Error::OutOfMemory { .. })));
    }

    #[test]
    fn a_code_that_is_none_is_an_error() {
        assert!(by_code(&[0u8, 3], 2, &MemoryBudget::unlimited()).is_err());
        assert!(by_code(&[0u8, 2], 2, &MemoryBudget::unlimited()).is_ok());
    }
}
