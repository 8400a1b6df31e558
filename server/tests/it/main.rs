//! The server from outside: what clients of each protocol see.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr, reason = "tests")]

mod clients;
mod http;
mod http_sessions;
mod postgres;
mod roles;
mod support;
