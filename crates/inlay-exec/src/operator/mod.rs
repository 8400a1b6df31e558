//! The physical operators, one file or folder each. Every operator has its plan (immutable), its shared
//! state (behind `&self`) and its per-worker state (`LocalState`).

pub mod aggregate;
pub mod apply;
pub mod filter;
pub mod hash_join;
mod interleave;
mod interner;
mod keyed_rows;
pub mod leaders;
pub mod limit_by;
pub mod materialize;
pub mod nested_loop_join;
mod order;
pub mod outlet;
pub mod project;
pub mod recursive;
pub mod sample;
pub mod set_counts;
pub mod set_operation;
pub mod sort;
pub mod sorted_join;
pub mod source_scan;
pub mod table_call;
pub mod table_scan;
pub mod unnest;
pub mod values;
pub mod window;
pub mod zip;
