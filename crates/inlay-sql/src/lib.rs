//! SQL text to an optimised logical plan: `parser` -> `binder` -> [`plan`] -> `optimizer`.

#![forbid(unsafe_code)]

pub mod binder;
pub mod optimizer;
pub mod parser;
pub mod plan;

/// Stack that a statement needs besides what recursive steps add themselves: trees are dropped level by level.
const STACK_LEFT_MIN: usize = 1792 << 10;
/// Stack for a statement of a thread that has less; pages not touched cost nothing.
const STATEMENT_STACK_BYTES: usize = 64 << 20;

/// Carries out a statement with enough stack for the deepest trees that its text may have, whatever the caller's.
pub fn with_statement_stack<T>(work: impl FnOnce() -> T) -> T {
    // Frames of unoptimised builds are several times as large.
    let factor = if cfg!(debug_assertions) { 4 } else { 1 };
    stacker::maybe_grow(factor * STACK_LEFT_MIN, factor * STATEMENT_STACK_BYTES, work)
}

/// A plan of more nodes may be so deep that going down it needs [`DEEP_PLAN_STACK_BYTES`].
const SHALLOW_PLAN_NODES: usize = 64;
const DEEP_PLAN_STACK_BYTES: usize = 4 << 20;

/// Carries out work that goes down a plan, whose properties are found by recursion, with enough stack for it.
pub fn with_plan_stack<T>(plan: &plan::Plan, work: impl FnOnce() -> T) -> T {
    with_depth(is_deep(plan), work)
}

fn with_depth<T>(is_deep: bool, work: impl FnOnce() -> T) -> T {
    if !is_deep {
        return work();
    }
    // Frames of unoptimised builds are several times as large.
    let factor = if cfg!(debug_assertions) { 4 } else { 1 };
    stacker::maybe_grow(factor * DEEP_PLAN_STACK_BYTES, factor * STATEMENT_STACK_BYTES, work)
}

/// Whether a plan has so many nodes that it may be deep.
fn is_deep(plan: &plan::Plan) -> bool {
    let (mut open, mut seen) = (vec![plan], 0);
    while let Some(node) = open.pop() {
        seen += 1;
        if seen > SHALLOW_PLAN_NODES {
            return true;
        }
        open.extend(node.inputs());
    }
    false
}
