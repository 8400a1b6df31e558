//! The library of SQL functions: scalar functions, aggregates and window functions as data, and their manual.
//!
//! Each family is a file with its table; [`registry`] finds a function by its name and the types of its arguments, and from
//! the same tables are made messages, completion and the manual ([`manual`]). The loops stand below, in `inlay-kernels`:
//! arithmetic, casts, comparisons and accumulators, which expressions and operators call without asking for a name. What a
//! function is (`inlay_kernels::function`) and what it is resolved by (`inlay_kernels::resolve`) is there, too.

pub mod aggregates;
mod case;
mod cased_text;
mod choose;
pub mod collation;
mod columns;
mod dates;
mod degrees;
mod encode;
mod enums;
mod files;
mod find;
mod format;
mod json;
mod like;
pub mod manual;
mod math;
mod md5_lanes;
mod nested;
mod numbers;
mod operators;
mod postgres;
mod random;
mod regex;
mod regex_more;
pub mod registry;
mod similar;
mod simple_regex;
mod strings;
mod tables;
mod templates;
mod text_more;
mod whole_regex;
pub mod windows;
mod working;

pub use collation::{LOCALES, NO_ACCENTS, locale_of};
pub use registry::{resolve_aggregate, resolve_scalar, resolve_window};

#[cfg(test)]
mod tests;
