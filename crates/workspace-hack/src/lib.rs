//! Nothing: a package whose dependencies are the point. See `Cargo.toml`.

#![forbid(unsafe_code)]
