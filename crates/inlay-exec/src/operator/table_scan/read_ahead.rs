//! Reading ahead: while workers decode and scan some row groups, the disk reads what the next ones need.
//!
//! Columns with filters are asked for as far ahead as [`GROUPS_AHEAD`]; the others only while row groups turn out to have rows
//! that pass, so that a search for a few rows does not read what it will not look at.

use super::Span;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// How many row groups per worker are asked for ahead of the one it is at.
const GROUPS_AHEAD: usize = 2;

/// What of a scan the disk was asked for.
pub(super) struct ReadAhead {
    first: Columns,
    rest: Columns,
    /// Whether row groups had rows that passed lately.
    is_wide: AtomicBool,
    /// Morsels ahead.
    distance: usize,
}

/// Columns that are read together, and up to which morsel they were asked for.
struct Columns {
    columns: Vec<usize>,
    asked: AtomicUsize,
}

impl Columns {
    fn ask(&self, morsels: &[Span], to: usize, will_read: &dyn Fn(usize, usize)) {
        let to = to.min(morsels.len());
        loop {
            let at = self.asked.load(Ordering::Relaxed);
            if at >= to {
                return;
            }
            let taken = self.asked.compare_exchange(at, at + 1, Ordering::Relaxed, Ordering::Relaxed);
            let group = morsels[at].group;
            if taken.is_ok() && (at == 0 || morsels[at - 1].group != group) {
                self.columns.iter().for_each(|&column| will_read(group, column));
            }
        }
    }
}

impl ReadAhead {
    /// For a scan that filters by `first` before it reads `rest`.
    pub fn new(first: Vec<usize>, mut rest: Vec<usize>, workers: usize) -> Self {
        rest.retain(|column| !first.contains(column));
        let is_wide = AtomicBool::new(first.is_empty());
        let columns = |columns| Columns { columns, asked: AtomicUsize::new(0) };
        Self { first: columns(first), rest: columns(rest), is_wide, distance: workers * GROUPS_AHEAD }
    }

    /// A worker begins with a morsel: `will_read` is told of each row group and column to be asked for, once.
    pub fn begins(&self, morsels: &[Span], number: usize, will_read: &dyn Fn(usize, usize)) {
        self.first.ask(morsels, number + 1 + self.distance, will_read);
        if self.is_wide.load(Ordering::Relaxed) {
            self.rest.ask(morsels, number + 1 + self.distance, will_read);
        }
    }

    /// A worker found out whether rows of its morsel pass.
    pub fn found(&self, any: bool) {
        if self.is_wide.load(Ordering::Relaxed) != any {
            self.is_wide.store(any, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    #[test]
    fn filters_are_asked_for_ahead_and_other_columns_once_rows_pass() {
        let span = |group| Span { group, start: 0, end: 1, listed: None, is_absent: true };
        let morsels: Vec<Span> = [0, 0, 3, 4, 5, 6].map(span).into();
        let asked = RefCell::new(Vec::new());
        let begins = |read_ahead: &ReadAhead, number| {
            read_ahead.begins(&morsels, number, &|group, column| asked.borrow_mut().push((group, column)));
            asked.take()
        };
        let filtered = ReadAhead::new(vec![7], vec![7, 8], 1);
        assert_eq!(begins(&filtered, 0), [(0, 7), (3, 7)]);
        assert_eq!(begins(&filtered, 0), []);
        assert_eq!(begins(&filtered, 1), [(4, 7)]);
        filtered.found(true);
        assert_eq!(begins(&filtered, 2), [(5, 7), (0, 8), (3, 8), (4, 8), (5, 8)]);
        filtered.found(false);
        assert_eq!(begins(&filtered, 5), [(6, 7)]);
        let all = ReadAhead::new(Vec::new(), vec![1], 2);
        assert_eq!(begins(&all, 0), [(0, 1), (3, 1), (4, 1), (5, 1)]);
    }
}
