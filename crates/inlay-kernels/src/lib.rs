//! Loops over vectors: compare, arithmetic, cast, hash, select, strings, dates, aggregates.
//!
//! Kernels are pure: they know no catalog, no I/O, no threads and no transactions. One function decides on
//! type and shape; the loop below it takes slices. [`function`] says what a SQL function is, [`registry`] finds
//! them, [`manual`] lists them. [`external`] are functions of the host.

pub mod aggregate;
pub mod aggregates;
mod apply;
mod arithmetic;
pub mod boolean;
pub mod cast;
pub mod coercion;
pub mod compare;
pub mod equal;
pub mod external;
pub mod function;
mod functions;
pub mod manual;
pub mod parse;
pub mod registry;
pub mod windows;
pub mod zone;

pub use boolean::{is_null, select_true};
pub use cast::{can_cast, cast, cast_value};
pub use coercion::{can_cast_implicitly, common_argument_type, common_type};
pub use compare::{Cmp, compare, select_compare};
pub use function::{
    AggregateFunction, AggregateKind, NullHandling, ScalarFunction, ScalarKernel, Volatility, WindowFunction,
    WindowKind,
};
pub use functions::collation::{LOCALES, locale_of};
pub use functions::json::{objects, table as documents};
pub use registry::{ArgType, ResolveOptions, resolve_aggregate, resolve_scalar};
