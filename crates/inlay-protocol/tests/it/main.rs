//! Both ends of the protocol over sockets, with the engine behind.

#![allow(clippy::unwrap_used, reason = "helpers of tests may fail as tests do")]

mod session;
mod sockets;
