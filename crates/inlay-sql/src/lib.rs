//! SQL text to an optimised logical plan: `parser` -> `binder` -> [`plan`] -> `optimizer`.

#![forbid(unsafe_code)]

pub mod binder;
pub mod optimizer;
pub mod parser;
pub mod plan;

/// Stack that a statement needs besides what recursive steps add themselves: trees are dropped level by level.
const STACK_LEFT_MIN: usize = 448 << 10;
/// Stack for a statement of a thread that has less; pages not touched cost nothing.
const STATEMENT_STACK_BYTES: usize = 64 << 20;

/// Carries out a statement with enough stack for the deepest trees that its text may have, whatever the caller's.
pub fn with_statement_stack<T>(work: impl FnOnce() -> T) -> T {
    // Frames of unoptimised builds are several times as large.
    let factor = if cfg!(debug_assertions) { 4 } else { 1 };
    stacker::maybe_grow(factor * STACK_LEFT_MIN, factor * STATEMENT_STACK_BYTES, work)
}
