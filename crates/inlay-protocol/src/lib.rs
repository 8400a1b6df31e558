//! Inlay's client protocol: columns in chunks, as `docs/protocol.md` has them byte by byte.
//!
//! ```text
//! session (a trait)                                            program
//!   |  batches                                                   ^  batches
//!   v                                                            |
//! server -> chunk::Chunker -> column::encode -> compression -> frames -> column::decode -> client
//! ```
//! [`frame`], [`types`], [`column`] and [`chunk`] do no I/O: they write into a `Vec<u8>` and read slices. [`transport`] moves frames over
//! anything that reads and writes, [`client`] and [`server`] are the two ends, blocking and without a runtime. [`controller`]
//! chooses the compression of each chunk from what was measured, [`scram`] proves passwords.
//!
//! Invariants
//! - Bytes of any pattern give an error or a value, never a panic, and no memory is taken before its size was checked: a frame's
//!   against the limit that both ends agreed on, what is decoded against the budget ([`inlay_types::limits`]).
//! - Types nest at most [`inlay_types::logical_type::MAX_NESTING`] deep, and what folds (constants, dictionaries) holds nothing that
//!   folds, so recursion is bounded.
//! - A value that arrives is one of its type: texts are UTF-8, decimals have no more digits than their type, codes have words.
//!
//! Source: Raasveldt, Mühleisen: "Don't Hold My Data Hostage", VLDB 2017; what differs is in `docs/protocol.md`.

#![forbid(unsafe_code)]

mod bits;
pub mod chunk;
pub mod client;
pub mod column;
pub mod compression;
pub mod controller;
mod error;
pub mod frame;
pub mod scram;
pub mod server;
#[cfg(test)]
mod tests;
#[cfg(feature = "tls")]
pub mod tls;
pub mod transport;
pub mod types;
mod wire;

pub use error::{Result, WireError};

/// The bytes that both ends send first: no text protocol begins so, and a transport that mends line ends spoils them.
pub const MAGIC: [u8; 8] = *b"\x89INLAY\r\n";
/// The version of this page of the protocol.
pub const VERSION: u16 = 1;
/// Bytes of a chunk unless the client asks for others.
pub const CHUNK_SIZE: u32 = 1 << 20;
/// The least that a client may ask for.
pub const CHUNK_SIZE_MIN: u32 = 64 << 10;
/// The most that a client may ask for.
pub const CHUNK_SIZE_MAX: u32 = 64 << 20;
/// Bytes of a frame's payload before the login is over.
pub const LOGIN_FRAME_MAX: usize = 4 << 10;
/// Bytes that a frame may have beyond the size of a chunk: headers, names, types.
pub const FRAME_SLACK: usize = 64 << 10;
/// Most rows of a chunk, however narrow they are.
pub const CHUNK_ROWS_MAX: usize = 1 << 20;
