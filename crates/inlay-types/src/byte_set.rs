//! A set of texts or bytes: few are compared one after the other, many are hashed.

use std::collections::HashSet;

/// So many texts are compared faster than one is hashed.
const FEW: usize = 8;

/// See the module documentation.
#[derive(Clone, Debug)]
pub enum ByteSet {
    /// A few, each once.
    Few(Vec<Vec<u8>>),
    /// Any number. Hashed so that nobody can foresee how, as texts may be written to collide.
    Many(HashSet<Vec<u8>>),
}

impl ByteSet {
    /// Whether a text is in the set.
    #[inline]
    pub fn contains(&self, bytes: &[u8]) -> bool {
        match self {
            Self::Few(few) => few.iter().any(|one| one == bytes),
            Self::Many(many) => many.contains(bytes),
        }
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        matches!(self, Self::Few(few) if few.is_empty())
    }
}

impl FromIterator<Vec<u8>> for ByteSet {
    fn from_iter<I: IntoIterator<Item = Vec<u8>>>(all: I) -> Self {
        let many: HashSet<Vec<u8>> = all.into_iter().collect();
        if many.len() > FEW { Self::Many(many) } else { Self::Few(many.into_iter().collect()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_and_many_have_what_they_were_made_of() {
        for count in [0u32, 1, 8, 9, 100] {
            let texts = (0..count).flat_map(|n| [n, n]).map(|n| format!("text {n}").into_bytes());
            let set: ByteSet = texts.collect();
            assert_eq!(set.is_empty(), count == 0);
            assert_eq!(matches!(set, ByteSet::Many(_)), count as usize > FEW);
            for n in 0..count + 10 {
                assert_eq!(set.contains(format!("text {n}").as_bytes()), n < count);
            }
            assert!(!set.contains(b""));
        }
    }
}
