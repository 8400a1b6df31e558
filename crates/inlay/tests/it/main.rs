//! The tests of the engine from outside, as one program: each program of its own would link the whole engine once more.
//!
//! A module has one subject, and its tests run beside those of all others: they have their files in folders of their own
//! (`support::folder`), change neither the environment nor the current folder, measure nothing of the whole process, and take
//! less than 1 GB each, but for the bombs of `hostile`. What measures the process is in `tests/alone`.
//!
//! `cargo test --profile work -p inlay --test it power::` runs one module.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a test program: it reports and fails"
)]

mod aggregates;
mod alter_matrix;
mod arms;
mod cancel;
mod changes;
mod cluster;
mod crash;
mod crash_all;
mod crash_processes;
mod damage;
mod define_pairs;
mod errors;
mod examples;
mod facade;
mod full_disk;
mod functions;
mod golden;
mod hostile;
#[cfg(unix)]
mod identity;
mod isolation;
mod kept_plans;
mod long_lists;
mod maintain;
mod memory;
mod objects;
mod open_rows;
mod power;
mod reference;
mod rights;
mod rights_held;
mod sandbox;
mod slt;
mod streaming;
mod struct_fields;
mod support;
mod tidy;
mod value_indexes;
