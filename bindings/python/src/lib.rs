//! Inlay for Python: converts between Python and the engine, and computes nothing.
//!
//! - [`connection`], [`relation`]: the classes. [`cursor`]: rows and columns of one result.
//! - [`parameters`], [`rows`]: values in and out. [`numpy`], [`arrow`]: columns out. [`register`]: objects as tables.
//! - [`host`]: signals and variables while a query runs. [`errors`]: SQLSTATE to exception. [`allocator`]: memory.
//! - [`shell`]: the command `inlay`.
//!
//! The GIL is released while a statement runs; no panic of the engine and no Python exception is lost on the way.

mod allocator;
mod arrow;
mod connection;
mod cursor;
mod errors;
mod host;
mod numpy;
mod parameters;
mod register;
mod relation;
mod rows;
mod shell;

use pyo3::prelude::*;

/// The compiled half of the package `inlay`.
#[pymodule]
#[pyo3(name = "_inlay")]
fn inlay_module(module: &Bound<'_, PyModule>) -> PyResult<()> {
    allocator::configure();
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<connection::Connection>()?;
    module.add_class::<connection::Transaction>()?;
    module.add_class::<relation::Relation>()?;
    module.add_class::<numpy::ColumnMemory>()?;
    module.add_function(wrap_pyfunction!(connection::connect, module)?)?;
    module.add_function(wrap_pyfunction!(connection::_checkpoint_all, module)?)?;
    module.add_function(wrap_pyfunction!(shell::shell, module)?)?;
    Ok(())
}
