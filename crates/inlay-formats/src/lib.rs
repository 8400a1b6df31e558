//! inlay-formats
