//! SQL text to an optimised logical plan: `parser` -> `binder` -> [`plan`] -> `optimizer`.

pub mod binder;
pub mod optimizer;
pub mod parser;
pub mod plan;
