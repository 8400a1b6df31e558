//! inlay-storage
