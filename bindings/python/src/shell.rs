//! The shell, for the command `inlay` that comes with the package.

use pyo3::prelude::*;
use std::ffi::OsString;

/// Run the shell with these arguments, the program's name first, and return its exit code.
///
/// The GIL is released; Ctrl-C is the shell's until it is left.
#[pyfunction]
pub fn shell(py: Python<'_>, argv: Vec<OsString>) -> u8 {
    py.detach(|| inlay_cli::run_code(argv))
}
