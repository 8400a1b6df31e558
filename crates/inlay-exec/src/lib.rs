//! inlay-exec
