//! Filters that a hash join's build side sends sideways into the scans of its probe side.
//!
//! The planner makes one slot per join key that can be traced to a scanned column and hands it to both. The
//! build fills the slot in `finalize`; the scan, whose pipeline runs later, reads it when it starts. An empty slot
//! filters nothing, so a filter is an optimisation only and never decides an answer.

use inlay_storage::SegmentPredicate;
use std::sync::{Arc, OnceLock};

/// A slot for predicates on one column; NULLs never qualify. Clones share the slot.
#[derive(Clone, Debug, Default)]
pub struct DynamicFilter(Arc<OnceLock<Vec<SegmentPredicate>>>);

impl DynamicFilter {
    /// An empty slot.
    pub fn new() -> Self {
        Self::default()
    }

    /// Fills the slot; the first caller wins. Predicates are conjuncts, cheapest first.
    pub fn publish(&self, predicates: Vec<SegmentPredicate>) {
        let _ = self.0.set(predicates);
    }

    /// The predicates; none as long as the slot is empty.
    pub fn predicates(&self) -> &[SegmentPredicate] {
        self.0.get().map_or(&[], Vec::as_slice)
    }
}
