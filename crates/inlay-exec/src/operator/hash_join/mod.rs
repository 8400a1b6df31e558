//! Hash join of every kind, with either side as the build side.
//!
//! The planner fills [`options::JoinOptions`] and calls [`plan_join`]:
//! `pub fn plan_join(options: JoinOptions) -> Result<JoinParts>` (a hash join with keys, a nested-loop join without), then
//! puts the [`options::JoinParts`] into pipelines.

pub mod options;

pub use options::{Discard, JoinKey, JoinOptions, JoinParts, JoinSide, split_conditions};
