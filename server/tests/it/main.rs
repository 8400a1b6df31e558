//! The server from outside: what clients of each protocol see.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr, reason = "tests")]

mod attach;
mod catalog;
mod clients;
mod far;
mod hostile;
mod http;
mod http_insert;
mod http_olap;
mod http_sessions;
mod leaving;
mod native;
mod postgres;
mod roles;
mod served;
mod support;
