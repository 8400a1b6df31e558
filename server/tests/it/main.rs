//! The server from outside: what clients of each protocol see.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr, reason = "tests")]

mod clients;
mod far;
mod http;
mod http_sessions;
mod native;
mod postgres;
mod support;
