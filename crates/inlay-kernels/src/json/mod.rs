//! JSON texts: read into trees, written, and as values and rows.
//!
//! Functions of JSON stand above, in the library of functions; casts, aggregates and readers of files use what is here.

pub mod compact;
pub mod documents;
pub mod members;
mod number;
pub mod objects;
pub mod packed;
pub mod patch;
pub mod pattern;
mod pretty;
pub mod sample;
pub mod scan;
mod structure;
pub mod typed;
pub mod value;
pub mod values;
