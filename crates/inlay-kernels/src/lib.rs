//! inlay-kernels
