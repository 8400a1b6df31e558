//! Nothing: a package whose dependencies are the point. See `Cargo.toml`.
