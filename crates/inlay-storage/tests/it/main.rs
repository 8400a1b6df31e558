//! The tests of the storage from outside, as one program: each program of its own would link the crate once more.

#![allow(clippy::unwrap_used, reason = "a test program: it fails")]

mod maintain;
mod rewrites;
