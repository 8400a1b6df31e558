//! Sets of columns as bits: what nearly every pass computes with.

use crate::plan::{ColumnId, Expr};

/// A set of columns of one query.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ColumnSet {
    /// Bit `id % 64` of word `id / 64`; the last word is never zero, so that equal sets are equal.
    words: Vec<u64>,
}

impl ColumnSet {
    /// No columns.
    pub fn new() -> Self {
        Self::default()
    }

    /// The columns that an expression reads.
    pub fn of(expr: &Expr) -> Self {
        let mut set = Self::new();
        set.add_expr(expr);
        set
    }

    /// Adds the columns that an expression reads.
    pub fn add_expr(&mut self, expr: &Expr) {
        match expr {
            Expr::Column { id, .. } => {
                self.insert(*id);
            }
            Expr::Literal { .. } => {}
            Expr::Compare { left, right, .. } => {
                self.add_expr(left);
                self.add_expr(right);
            }
            Expr::Cast { input, .. }
            | Expr::Not(input)
            | Expr::IsNull(input)
            | Expr::InConstants { input, .. } => self.add_expr(input),
            Expr::Call { args, .. } | Expr::Coalesce { args, .. } | Expr::And(args) | Expr::Or(args) => {
                args.iter().for_each(|arg| self.add_expr(arg));
            }
            Expr::InList { .. } | Expr::Case { .. } | Expr::Lambda(_) => {
                expr.children().into_iter().for_each(|child| self.add_expr(child));
            }
        }
    }

    /// Adds a column; returns whether it is new.
    pub fn insert(&mut self, id: ColumnId) -> bool {
        let (word, bit) = (id.0 as usize / 64, 1u64 << (id.0 % 64));
        if self.words.len() <= word {
            self.words.resize(word + 1, 0);
        }
        let new = self.words[word] & bit == 0;
        self.words[word] |= bit;
        new
    }

    /// Takes a column out.
    pub fn remove(&mut self, id: ColumnId) {
        if let Some(word) = self.words.get_mut(id.0 as usize / 64) {
            *word &= !(1 << (id.0 % 64));
        }
        self.trim();
    }

    /// Whether a column is in the set.
    pub fn contains(&self, id: ColumnId) -> bool {
        self.words.get(id.0 as usize / 64).is_some_and(|word| word >> (id.0 % 64) & 1 == 1)
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Number of columns.
    pub fn count(&self) -> usize {
        self.words.iter().map(|w| w.count_ones() as usize).sum()
    }

    /// Whether every column is in `other`.
    pub fn is_subset(&self, other: &Self) -> bool {
        self.words.len() <= other.words.len() && self.words.iter().zip(&other.words).all(|(a, b)| a & !b == 0)
    }

    /// Whether some column is in both.
    pub fn intersects(&self, other: &Self) -> bool {
        self.words.iter().zip(&other.words).any(|(a, b)| a & b != 0)
    }

    /// Adds the columns of `other`.
    pub fn union_with(&mut self, other: &Self) {
        if self.words.len() < other.words.len() {
            self.words.resize(other.words.len(), 0);
        }
        self.words.iter_mut().zip(&other.words).for_each(|(a, b)| *a |= b);
    }

    /// The columns of either.
    pub fn union(&self, other: &Self) -> Self {
        let mut all = self.clone();
        all.union_with(other);
        all
    }

    /// The columns of both.
    pub fn intersection(&self, other: &Self) -> Self {
        let mut both = Self { words: self.words.iter().zip(&other.words).map(|(a, b)| a & b).collect() };
        both.trim();
        both
    }

    /// The columns that are not in `other`.
    pub fn difference(&self, other: &Self) -> Self {
        let mut rest = self.clone();
        rest.words.iter_mut().zip(&other.words).for_each(|(a, b)| *a &= !b);
        rest.trim();
        rest
    }

    /// The columns, ascending.
    pub fn iter(&self) -> impl Iterator<Item = ColumnId> + '_ {
        self.words.iter().enumerate().flat_map(|(index, word)| {
            (0..64u32)
                .filter(move |bit| word >> bit & 1 == 1)
                .map(move |bit| ColumnId(index as u32 * 64 + bit))
        })
    }

    fn trim(&mut self) {
        while self.words.last() == Some(&0) {
            self.words.pop();
        }
    }
}

impl FromIterator<ColumnId> for ColumnSet {
    fn from_iter<I: IntoIterator<Item = ColumnId>>(ids: I) -> Self {
        let mut set = Self::new();
        ids.into_iter().for_each(|id| {
            set.insert(id);
        });
        set
    }
}

impl<'a> FromIterator<&'a ColumnId> for ColumnSet {
    fn from_iter<I: IntoIterator<Item = &'a ColumnId>>(ids: I) -> Self {
        ids.into_iter().copied().collect()
    }
}
