//! The morsels of a scan, and which worker takes which.
//!
//! A worker keeps the row group that it is at, so that conditions are prepared for it once, its columns are in one cache and
//! keys that ascend go on ascending. The last row groups belong to nobody: whoever comes takes their next morsel, and
//! the last of these are short, so that all workers end together. Where the order of rows matters all are handed out in this way.

use crate::pipeline::Handout;
use inlay_types::VECTOR_SIZE;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Rows per morsel: small enough to balance workers, large enough to fill batches behind selective filters.
pub(super) const MORSEL_ROWS: usize = 16 * VECTOR_SIZE;

/// So many morsels per worker at the end are cut into so many pieces.
const LAST_CUT: usize = 2;
const LAST_PIECES: usize = 4;
/// So many morsels per worker at the end are kept by nobody: while one worker has begun a row group, the others have enough.
const LAST_SHARED: usize = 8;

/// The rows that a morsel looks at.
pub(super) struct Span {
    pub(super) group: usize,
    pub(super) start: usize,
    pub(super) end: usize,
    /// Only these of them, none of which is deleted.
    pub(super) listed: Option<Vec<u32>>,
    /// Something of the row group has to be read from the file first.
    pub(super) is_absent: bool,
}

/// Morsels that one worker keeps: those of a row group. On a cache line of its own: the next one is another worker's.
#[repr(align(64))]
struct Kept {
    next: AtomicUsize,
    end: usize,
}

impl Kept {
    fn take(&self) -> Option<usize> {
        let taken = self.next.fetch_add(1, Ordering::Relaxed);
        (taken < self.end).then_some(taken)
    }
}

/// All morsels, in the order of rows.
pub(super) struct Morsels {
    spans: Vec<Span>,
    kept: Vec<Kept>,
    next_kept: AtomicUsize,
    /// The first morsel behind those that are kept which nobody took yet.
    next: AtomicUsize,
}

impl Morsels {
    /// Morsels to be handed out to so many workers.
    pub(super) fn new(mut spans: Vec<Span>, handout: Handout, workers: usize) -> Self {
        let kept = if handout == Handout::Apart { kept(&spans, workers) } else { Vec::new() };
        // Few morsels stay as they are: they are not worth waking a worker.
        if workers > 1 && spans.len() > workers && handout != Handout::Long {
            cut_last(&mut spans, workers * LAST_CUT);
        }
        let next = kept.last().map_or(0, |last: &Kept| last.end);
        Self { spans, kept, next_kept: AtomicUsize::new(0), next: AtomicUsize::new(next) }
    }

    pub(super) fn spans(&self) -> &[Span] {
        &self.spans
    }

    /// The number of the morsel that a worker does next, which keeps what `at` says; `None` when all are taken.
    pub(super) fn take(&self, at: &mut Option<usize>) -> Option<usize> {
        if let Some(morsel) = at.and_then(|at| self.kept[at].take()) {
            return Some(morsel);
        }
        while self.next_kept.load(Ordering::Relaxed) < self.kept.len() {
            let mine = self.next_kept.fetch_add(1, Ordering::Relaxed);
            if let Some(morsel) = self.kept.get(mine).and_then(Kept::take) {
                *at = Some(mine);
                return Some(morsel);
            }
        }
        *at = None;
        let next = self.next.fetch_add(1, Ordering::Relaxed);
        if next < self.spans.len() {
            return Some(next);
        }
        // What is left is of workers that were interrupted.
        self.kept.iter().rev().find_map(Kept::take)
    }
}

/// Morsels of whole row groups that are kept, all but the last ones.
fn kept(spans: &[Span], workers: usize) -> Vec<Kept> {
    if workers < 2 {
        return Vec::new();
    }
    let count = spans.len().saturating_sub(workers * LAST_SHARED);
    let groups = spans[..count].chunk_by(|a, b| a.group == b.group);
    let mut end = 0;
    groups
        .map(|group| {
            let next = AtomicUsize::new(end);
            end += group.len();
            Kept { next, end }
        })
        .collect()
}

/// Cuts the last `count` morsels, so that no worker waits long for another's last one.
fn cut_last(spans: &mut Vec<Span>, count: usize) {
    let last = spans.split_off(spans.len().saturating_sub(count));
    for span in last {
        let rows = if span.is_absent { span.end - span.start } else { MORSEL_ROWS / LAST_PIECES };
        let Span { group, end, is_absent, .. } = span;
        for start in (span.start..end).step_by(rows.max(1)) {
            spans.push(Span { group, start, end: (start + rows).min(end), listed: None, is_absent });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(groups: usize, per_group: usize) -> Vec<Span> {
        let span = |number: usize| Span {
            group: number / per_group,
            start: number % per_group * MORSEL_ROWS,
            end: (number % per_group + 1) * MORSEL_ROWS,
            listed: None,
            is_absent: false,
        };
        (0..groups * per_group).map(span).collect()
    }

    fn rows_of(morsels: &Morsels, taken: &[usize]) -> Vec<(usize, usize, usize)> {
        let span = |&number: &usize| &morsels.spans()[number];
        let mut rows: Vec<_> = taken.iter().map(span).map(|s| (s.group, s.start, s.end)).collect();
        rows.sort_unstable();
        rows
    }

    #[test]
    fn a_worker_keeps_its_row_group_until_the_last_ones() {
        let morsels = Morsels::new(spans(20, 4), Handout::Apart, 2);
        let (mut first, mut second) = (None, None);
        let mut taken = Vec::new();
        for round in 0..32 {
            let group = |taken: Option<usize>| taken.map(|number| morsels.spans()[number].group);
            let (a, b) = (morsels.take(&mut first), morsels.take(&mut second));
            assert_eq!((group(a), group(b)), (Some(round / 4 * 2), Some(round / 4 * 2 + 1)));
            taken.extend(a.into_iter().chain(b));
        }
        let mut before = 0;
        while let Some(next) = morsels.take(&mut first) {
            assert!(next > before, "the last ones come in order");
            before = next;
            taken.push(next);
        }
        assert_eq!(morsels.take(&mut second), None);
        let rows = rows_of(&morsels, &taken);
        assert!(rows.windows(2).all(|two| two[0].2 == two[1].1 || two[0].0 + 1 == two[1].0));
        assert_eq!(rows.iter().map(|(_, start, end)| end - start).sum::<usize>(), 80 * MORSEL_ROWS);
    }

    #[test]
    fn what_an_interrupted_worker_keeps_is_done_by_others() {
        let morsels = Morsels::new(spans(20, 4), Handout::Apart, 2);
        let (mut first, mut second) = (None, None);
        let mut taken: Vec<usize> = morsels.take(&mut first).into_iter().collect();
        taken.extend(std::iter::from_fn(|| morsels.take(&mut second)));
        taken.sort_unstable();
        assert_eq!(taken, (0..morsels.spans().len()).collect::<Vec<_>>());
        assert_eq!(morsels.take(&mut first), None);
    }

    #[test]
    fn rows_in_order_are_handed_out_in_order() {
        for (handout, workers) in [(Handout::InOrder, 2), (Handout::Long, 2), (Handout::Apart, 1)] {
            let morsels = Morsels::new(spans(20, 4), handout, workers);
            let (mut first, mut second) = (None, None);
            for expected in (0..60).step_by(2) {
                assert_eq!(morsels.take(&mut first), Some(expected));
                assert_eq!(morsels.take(&mut second), Some(expected + 1));
            }
        }
    }
}
