//! The physical operators, one file or folder each. Every operator has its plan (immutable), its shared
//! state (behind `&self`) and its per-worker state (`LocalState`).

pub mod aggregate;

pub mod hash_join;
