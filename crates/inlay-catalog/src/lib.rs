//! inlay-catalog
