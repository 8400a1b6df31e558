//! The elements of one list, of which there mostly are few: those lie in place, so that nothing is allocated row by row.

use super::rows::Part;
use inlay_types::nested::Sequence;
use inlay_types::sorting::sort_by;
use inlay_types::{Result, limits};
use std::cmp::Ordering;
use std::ops::{Deref, DerefMut};

/// Elements that lie in place.
pub(super) const FEW: usize = 8;

/// See the module documentation.
pub(super) enum Elements<'a> {
    Few([Part<'a>; FEW], usize),
    Many(Vec<Part<'a>>),
}

impl<'a> Elements<'a> {
    /// All elements of a sequence.
    #[inline]
    pub(super) fn of(sequence: &Sequence<'a>) -> Result<Self> {
        let count = sequence.len();
        if count <= FEW {
            let mut parts = [None; FEW];
            parts.iter_mut().take(count).enumerate().for_each(|(index, part)| *part = sequence.get(index));
            return Ok(Self::Few(parts, count));
        }
        let mut parts = Vec::new();
        limits::grow(&mut parts, count)?;
        for part in limits::steps(count) {
            parts.extend(part?.map(|index| sequence.get(index)));
        }
        Ok(Self::Many(parts))
    }

    /// Puts the elements in order; equal ones stay as they are.
    pub(super) fn sort_by(&mut self, mut compare: impl FnMut(Part<'a>, Part<'a>) -> Ordering) -> Result<()> {
        match self {
            Self::Few(parts, len) => {
                parts[..*len].sort_by(|a, b| compare(*a, *b));
                Ok(())
            }
            Self::Many(parts) => sort_by(parts, |a, b| compare(*a, *b)),
        }
    }

    /// Leaves the first elements, at most so many.
    pub(super) fn truncate(&mut self, count: usize) {
        match self {
            Self::Few(_, len) => *len = count.min(*len),
            Self::Many(parts) => parts.truncate(count),
        }
    }

    /// Leaves out the first element, if there is one.
    pub(super) fn remove_first(&mut self) {
        if let Some(last) = self.len().checked_sub(1) {
            self.copy_within(1.., 0);
            self.truncate(last);
        }
    }
}

impl<'a> Deref for Elements<'a> {
    type Target = [Part<'a>];

    #[inline]
    fn deref(&self) -> &[Part<'a>] {
        match self {
            Self::Few(parts, len) => &parts[..*len],
            Self::Many(parts) => parts,
        }
    }
}

impl DerefMut for Elements<'_> {
    #[inline]
    fn deref_mut(&mut self) -> &mut Self::Target {
        match self {
            Self::Few(parts, len) => &mut parts[..*len],
            Self::Many(parts) => parts,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use inlay_types::LogicalType::Integer;
    use inlay_types::nested::write::push_sequence;

    #[test]
    fn few_and_many_elements_are_alike() {
        for count in [0usize, 1, 2, FEW - 1, FEW, FEW + 1, 40] {
            let values: Vec<[u8; 4]> = (0..count as i32).map(i32::to_le_bytes).collect();
            let wanted: Vec<Part<'_>> =
                (0..count).map(|index| (index % 3 != 1).then_some(&values[index][..])).collect();
            let mut bytes = Vec::new();
            push_sequence(&Integer, count, |index| wanted[index], &mut bytes).unwrap();
            let mut found = Elements::of(&Sequence::new(&Integer, &bytes)).unwrap();
            assert_eq!(found[..], wanted[..]);
            found.remove_first();
            assert_eq!(found[..], wanted[count.min(1)..]);
            found.truncate(3);
            assert_eq!(found[..], wanted[count.min(1)..count.min(4)]);
            let (mut sorted, mut expected) =
                (Elements::of(&Sequence::new(&Integer, &bytes)).unwrap(), wanted);
            sorted.sort_by(|a, b| b.cmp(&a)).unwrap();
            expected.sort_by(|a, b| b.cmp(a));
            assert_eq!(sorted[..], expected[..]);
        }
    }
}
