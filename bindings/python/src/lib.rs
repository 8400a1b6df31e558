//! Inlay for Python: converts between Python and the engine, and computes nothing.
//!
//! - [`connection`], [`result`]: the classes, to which `inlay._relation` adds what needs no engine. [`cursor`]: rows and columns of one result.
//! - [`parameters`], [`rows`]: values in and out. [`numpy`], [`objects`], [`arrow`]: columns out, [`pending`]: when they are looked at.
//!   [`register`], [`columns`], [`texts`], [`scanned`]: objects as tables.
//! - [`appender`]: rows one by one. [`filesystem`]: files of fsspec.
//! - [`functions`]: functions of Python in SQL.
//! - [`host`]: signals and variables while a query runs. [`errors`]: SQLSTATE to exception. [`allocator`]: memory.
//! - [`shell`]: the command `inlay`. The crate `inlay_adbc` adds the functions that driver managers of ADBC look for in this library.
//!
//! The GIL is released while a statement runs; no panic of the engine and no Python exception is lost on the way.

// Docstrings are Python's, not Markdown.
#![allow(clippy::doc_lazy_continuation)]

/// The docstring of a function, class or method: that of `_inlay.pyi`, see build.rs.
macro_rules! doc {
    ($name:literal) => {
        include_str!(concat!(env!("OUT_DIR"), "/docs/", $name))
    };
}

mod allocator;
mod appender;
mod arrow;
mod cluster;
mod columns;
mod connection;
mod cursor;
mod errors;
mod filesystem;
mod functions;
mod host;
mod numpy;
mod objects;
mod parameters;
mod pending;
mod prepared;
mod register;
mod result;
mod rows;
mod scanned;
#[cfg(feature = "serve")]
mod serving;
mod shell;
mod stack;
mod texts;

// What driver managers of ADBC look for.
use inlay_adbc as _;
use pyo3::prelude::*;

/// All docstrings of the stubs by name, for methods that are made in Python.
#[pyfunction]
fn _docs() -> std::collections::HashMap<&'static str, &'static str> {
    let docs: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/docs.rs"));
    docs.iter().copied().collect()
}

/// The compiled half of the package `inlay`.
///
/// It needs no GIL: its classes are frozen and what changes in them is behind locks that are never waited for while attached.
#[pymodule(gil_used = false)]
#[pyo3(name = "_inlay")]
fn inlay_module(module: &Bound<'_, PyModule>) -> PyResult<()> {
    allocator::configure();
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<connection::Connection>()?;
    module.add_class::<connection::Transaction>()?;
    #[cfg(feature = "serve")]
    serving::install(module)?;
    module.add_class::<appender::Appender>()?;
    module.add_class::<prepared::Prepared>()?;
    module.add_class::<result::Answer>()?;
    module.add_class::<register::Table>()?;
    module.add_class::<cluster::Shipped>()?;
    module.add_class::<numpy::ColumnMemory>()?;
    module.add_class::<pending::PendingColumn>()?;
    module.add_class::<functions::workers::WorkerServer>()?;
    module.add_function(wrap_pyfunction!(connection::connect, module)?)?;
    module.add_function(wrap_pyfunction!(connection::_checkpoint_all, module)?)?;
    module.add_function(wrap_pyfunction!(pending::_convert, module)?)?;
    module.add_function(wrap_pyfunction!(functions::calls::_calling, module)?)?;
    module.add_function(wrap_pyfunction!(shell::shell, module)?)?;
    module.add_function(wrap_pyfunction!(_docs, module)?)?;
    Ok(())
}
