//! inlay
