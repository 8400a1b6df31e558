//! Inlay for C, and with it for every language that can call C: functions, handles and plain structs over the facade.
//!
//! `include/inlay.h` is made of these sources by `header.py`: the comments here are the ones there.
//!
//! What always holds
//! - A function that can fail gives an [`inlay_status`](failure::inlay_status) and takes where to put the error last; others give a
//!   plain value, and zero, NULL or false for a handle that is NULL.
//! - No panic leaves a function, and none aborts: [`failure::guard`], [`failure::plain`].
//! - A handle is a box of ours. What it needs it keeps alive itself, so handles may be freed in any order. To free takes the address
//!   of the pointer, which is NULL afterwards: freeing it again does nothing.
//! - Handles are used by any number of threads at once; only to free one waits for nobody, so it must be the last use.
//! - In a forked child handles of the parent fail, and to free them does nothing.
//!
//! Modules
//! - [`pointers`]: what arguments are; all that is unsafe is there and in [`functions`]. [`failure`]: errors. [`kinds`], [`types`]: types.
//! - [`database`], [`connection`], [`query`], [`statement`], [`bind`], [`pending`]: statements, and what runs them.
//! - [`result`], [`column`], [`buffer`], [`plain`] (made by [`forms`]), [`value`], [`chunk`]: rows out. [`array`], [`appender`]: rows in. [`memory`]: what they take. [`arrow`]: both ways.
//! - [`functions`], [`scan`]: what the program brings. [`calendar`]: days and moments taken apart.

// The names are those of C. What callers promise is in the header.
#![allow(non_camel_case_types)]
#![expect(unsafe_code, reason = "every function is called from C")]

mod appender;
mod array;
mod arrow;
mod bind;
mod buffer;
mod calendar;
mod chunk;
mod column;
mod connection;
mod database;
mod failure;
mod forms;
mod functions;
mod kinds;
mod memory;
mod pending;
mod plain;
mod pointers;
mod query;
mod result;
mod scan;
mod statement;
mod types;
mod value;

// What driver managers of ADBC look for.
use inlay_adbc as _;
