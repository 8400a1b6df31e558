//! SQLite's C interface over Inlay: programs that keep tables in a file by it run on Inlay, preloaded or linked in its place.
//!
//! What always holds
//! - It exports names that begin with `sqlite3_`, and nothing of Inlay's.
//! - No panic leaves a function: [`failure::plain`]. What is not supported is an error that says so, and never ends the process.
//! - A value is given as it is stored, or there is an error that names its column; docs/sqlite.md says what differs.
//!
//! Modules
//! - [`pointers`]: what arguments are. [`failure`]: codes and messages. [`memory`], [`print`]: what programs take for texts.
//! - [`lexer`], [`respell`], [`rowids`], [`schema`], [`insert`], [`define`], [`compile`]: SQLite's language as Inlay's.
//! - [`connection`], [`statement`], [`bind`], [`column`], [`value`], [`exec`]: statements, from their text to their rows.
//! - [`functions`], [`library`], [`clock`]: functions of the program, and SQLite's own. [`hooks`]: what programs are told and asked.
//! - [`pragma`]: what there is. [`blob`], [`backup`]: values in pieces, whole databases. [`absent`]: what is refused, and small helpers.

// The names are those of C. What callers promise is in SQLite's manual.
#![allow(non_camel_case_types)]
#![expect(unsafe_code, reason = "every function is called from C")]

mod absent;
mod backup;
mod bind;
mod blob;
mod clock;
mod column;
mod compile;
mod connection;
mod define;
mod exec;
mod failure;
mod functions;
mod hooks;
mod insert;
mod lexer;
mod library;
mod memory;
mod pointers;
mod pragma;
mod print;
mod respell;
mod rowids;
mod schema;
mod sequences;
mod statement;
mod value;
