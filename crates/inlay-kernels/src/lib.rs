//! Loops over vectors: compare, arithmetic, cast, select, aggregates, texts into values.
//!
//! Kernels are pure: they know no catalog, no I/O, no threads, no transactions and no names of functions. One function
//! decides on type and shape; the loop below it takes slices. [`function`] says what a SQL function is, [`resolve`] what it is
//! resolved by; the library of them is `inlay-functions`, above. [`apply`] has the shapes of loops that functions are made
//! of; [`external`] are functions of the host.

pub mod aggregate;
pub mod apply;
pub mod arithmetic;
pub mod boolean;
pub mod cast;
pub mod coercion;
pub mod compare;
pub mod distance;
pub mod equal;
pub mod external;
pub mod function;
pub mod json;
pub mod parse;
pub mod random;
pub mod resolve;
#[cfg(test)]
mod tests;
pub mod zone;

pub use boolean::{is_null, select_true};
pub use cast::{can_cast, cast, cast_value};
pub use coercion::{can_cast_implicitly, common_argument_type, common_type};
pub use compare::{Cmp, compare, select_compare};
pub use function::{
    AggregateFunction, AggregateKind, NullHandling, ScalarFunction, ScalarKernel, Volatility, WindowFunction,
    WindowKind,
};
pub use resolve::{ArgType, ResolveOptions};
