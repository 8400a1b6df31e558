//! Inlay as an ADBC driver: Arrow streams in and out of any program that has an ADBC driver manager.
//!
//! - [`driver`]: the table of functions that a driver manager calls, each of which lets no panic out. [`arguments`]: what they are
//!   called with.
//! - [`database`], [`connection`], [`statement`]: what the three handles are. [`bound`]: parameters and rows to load.
//! - [`metadata`], [`statistics`]: what there is, as the nested tables that ADBC describes. [`union`]: values of several types.
//! - [`failure`]: errors of the engine as ADBC's status and SQLSTATE. [`ffi`]: the structs of `adbc.h`.
//!
//! A handle points to a box of ours. Only Cancel may be called while another call on the same handle runs; what both
//! need is shared and locked.
//!
//! A library that links this crate exports what is in [`entry`]: the Python package and the C library do.
//! Source: <https://arrow.apache.org/adbc/current/format/specification.html>, `adbc.h` 1.1.0.

mod arguments;
mod bound;
mod connection;
mod database;
mod driver;
pub mod entry;
mod failure;
mod ffi;
mod metadata;
mod statement;
mod statistics;
mod union;

pub use ffi::{AdbcError, AdbcStatusCode};
