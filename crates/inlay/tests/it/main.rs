//! The tests of the engine from outside, as one program: each program of its own would link the whole engine once more.
//!
//! A module has one subject and a folder of its own for its files (`support::folder`). Its tests run beside those of all
//! others, on as many threads as there are processors: they take no more than 2 GB together with what they start, change
//! neither the environment nor the current folder, and measure nothing of the whole process. What does is in
//! `tests/alone`. `cargo test --release -p inlay --test it window` runs what has `window` in its name, `slt::` one module.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a test program: it reports and fails"
)]

mod alter_matrix;
mod cancel;
mod changes;
mod crash;
mod crash_processes;
mod damage;
mod define_pairs;
mod examples;
mod functions;
mod hostile;
mod isolation;
mod kept_plans;
mod long_lists;
mod maintain;
mod memory;
mod objects;
mod power;
mod reference;
mod slt;
mod streaming;
mod support;
