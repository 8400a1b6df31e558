//! How far a running query is: morsels taken, weighed by how many rows each pipeline is expected to read.
//!
//! Counted once per morsel, read from any thread. Only the pipelines of the query itself count; those that an operator
//! runs on the way (recursive queries) belong to their operator.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// What the workers of a query count. A connection has one, which each of its queries starts anew.
#[derive(Debug, Default)]
pub struct QueryProgress {
    /// Expected rows of all pipelines; 0: nothing runs.
    rows: AtomicU64,
    /// Those of the pipelines that are through.
    rows_before: AtomicU64,
    /// Those of the pipeline that runs.
    rows_now: AtomicU64,
    morsels: AtomicUsize,
    taken: AtomicUsize,
}

/// How far a query is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// From 0 to 1.
    pub fraction: f64,
    /// Rows read, as far as estimates know.
    pub rows_done: u64,
    /// Rows that will have been read.
    pub rows_total: u64,
}

impl QueryProgress {
    /// A query begins whose pipelines will read so many rows together.
    pub fn start(&self, rows: u64) {
        self.rows_before.store(0, Ordering::Relaxed);
        self.begin_pipeline(0);
        self.rows.store(rows.max(1), Ordering::Relaxed);
    }

    /// Nothing runs any more.
    pub fn clear(&self) {
        self.rows.store(0, Ordering::Relaxed);
    }

    /// The next pipeline, which is expected to read so many rows.
    pub(crate) fn begin_pipeline(&self, rows: u64) {
        let before = self.rows_now.swap(rows, Ordering::Relaxed);
        if rows > 0 {
            self.rows_before.fetch_add(before, Ordering::Relaxed);
        }
        self.taken.store(0, Ordering::Relaxed);
        self.morsels.store(0, Ordering::Relaxed);
    }

    /// The pipeline's source has at most so many morsels.
    pub(crate) fn expect_morsels(&self, count: usize) {
        self.morsels.store(count, Ordering::Relaxed);
    }

    /// A worker took a morsel.
    pub(crate) fn take_morsel(&self) {
        self.taken.fetch_add(1, Ordering::Relaxed);
    }

    /// How far the query is; `None` if none runs.
    pub fn get(&self) -> Option<Progress> {
        let rows = self.rows.load(Ordering::Relaxed);
        if rows == 0 {
            return None;
        }
        let (taken, morsels) = (self.taken.load(Ordering::Relaxed), self.morsels.load(Ordering::Relaxed));
        // A morsel that was taken is not done; on average half of it is.
        let share = if morsels == 0 { 0.0 } else { ((taken as f64 - 0.5) / morsels as f64).clamp(0.0, 1.0) };
        let now = self.rows_now.load(Ordering::Relaxed) as f64 * share;
        let fraction =
            ((self.rows_before.load(Ordering::Relaxed) as f64 + now) / rows as f64).clamp(0.0, 1.0);
        let rows_done = (fraction * rows as f64) as u64;
        Some(Progress { fraction, rows_done, rows_total: rows })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pipelines_count_by_their_rows() {
        let progress = QueryProgress::default();
        assert_eq!(progress.get(), None);
        progress.start(400);
        assert_eq!(progress.get().map(|p| p.fraction), Some(0.0));
        progress.begin_pipeline(300);
        progress.expect_morsels(3);
        (0..2).for_each(|_| progress.take_morsel());
        assert_eq!(progress.get(), Some(Progress { fraction: 0.375, rows_done: 150, rows_total: 400 }));
        progress.begin_pipeline(100);
        assert_eq!(progress.get().map(|p| p.rows_done), Some(300));
        progress.clear();
        assert_eq!(progress.get(), None);
    }
}
