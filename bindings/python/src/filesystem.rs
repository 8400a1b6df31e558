//! File systems of fsspec, for paths that begin with their protocol.

use crate::errors::{misuse, plain};
use inlay::HostFiles;
use pyo3::exceptions::{PyFileNotFoundError, PyPermissionError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDateTime, PyDict, PyString};
use std::fmt;
use std::io::{self, Read};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// Bytes that are written at once.
const PIECE_SIZE: usize = 4 << 20;

/// An object with the methods of `fsspec.AbstractFileSystem`. Each call attaches to the interpreter; statements run
/// detached, so that any worker may ask.
struct Fsspec {
    protocol: String,
    object: Py<PyAny>,
}

impl fmt::Debug for Fsspec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fsspec({})", self.protocol)
    }
}

/// Makes the files of an fsspec file system those of a database.
pub fn register(py: Python<'_>, database: &inlay::Database, object: &Bound<'_, PyAny>) -> PyResult<()> {
    for method in ["info", "glob", "cat_file", "open"] {
        if !object.hasattr(method)? {
            let class = plain(&object.get_type().fully_qualified_name()?);
            let message =
                format!("an object of type {class} is no fsspec file system: it has no method {method}()");
            return Err(misuse(py, message));
        }
    }
    let protocol = object.getattr("protocol")?;
    let protocols: Vec<String> = match protocol.cast::<PyString>() {
        Ok(one) => vec![plain(one)],
        Err(_) => protocol.extract()?,
    };
    let name = protocols.first().cloned().unwrap_or_default();
    let files = Arc::new(Fsspec { protocol: name, object: object.clone().unbind() });
    crate::errors::unwrapped(py, database.register_files(protocols, files))
}

/// The exception as an error of the system; its text says what happened.
fn failure(py: Python<'_>, error: &PyErr) -> io::Error {
    let kind = if error.is_instance_of::<PyFileNotFoundError>(py) {
        io::ErrorKind::NotFound
    } else if error.is_instance_of::<PyPermissionError>(py) {
        io::ErrorKind::PermissionDenied
    } else {
        io::ErrorKind::Other
    };
    io::Error::new(kind, error.to_string())
}

impl Fsspec {
    fn call<T>(&self, work: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T>) -> io::Result<T> {
        Python::attach(|py| work(self.object.bind(py)).map_err(|error| failure(py, &error)))
    }
}

impl HostFiles for Fsspec {
    fn about(&self, path: &str) -> io::Result<(u64, Option<SystemTime>)> {
        self.call(|files| {
            let info = files.call_method1("info", (path,))?;
            let info = info.cast::<PyDict>()?;
            let kind: Option<String> = info.get_item("type")?.and_then(|kind| kind.extract().ok());
            if kind.as_deref() == Some("directory") {
                return Err(pyo3::exceptions::PyIsADirectoryError::new_err("is a folder, not a file"));
            }
            let size = info.get_item("size")?.filter(|size| !size.is_none());
            let Some(size) = size else {
                return Err(pyo3::exceptions::PyOSError::new_err("its size is not known"));
            };
            Ok((size.extract()?, modified(info)?))
        })
    }

    fn read(&self, path: &str, start: u64, len: usize) -> io::Result<Vec<u8>> {
        self.call(|files| {
            let range = PyDict::new(files.py());
            range.set_item("start", start)?;
            range.set_item("end", start + len as u64)?;
            let bytes = files.call_method("cat_file", (path,), Some(&range))?;
            match bytes.cast::<PyBytes>() {
                Ok(bytes) => Ok(bytes.as_bytes().to_vec()),
                Err(_) => bytes.extract(),
            }
        })
    }

    fn list(&self, pattern: &str) -> io::Result<Vec<String>> {
        let found: Vec<String> = self.call(|files| files.call_method1("glob", (pattern,))?.extract())?;
        let protocol = pattern.split_once("://").map_or(&*self.protocol, |(protocol, _)| protocol);
        let whole = |path: String| if path.contains("://") { path } else { format!("{protocol}://{path}") };
        Ok(found.into_iter().map(whole).collect())
    }

    fn write(&self, path: &str, content: &mut dyn Read) -> io::Result<()> {
        // Folders are made where files are not just names.
        let made: io::Result<()> = self.call(|files| {
            let parent = files.call_method1("_parent", (path,))?;
            let options = PyDict::new(files.py());
            options.set_item("exist_ok", true)?;
            files.call_method("makedirs", (parent,), Some(&options)).map(|_| ())
        });
        // Where that is not allowed or needed, the file itself says whether it can be written.
        drop(made);
        let file = self.call(|files| files.call_method1("open", (path, "wb")).map(Bound::unbind))?;
        let written = self.write_pieces(&file, content);
        let closed = self.call(|files| file.bind(files.py()).call_method0("close").map(|_| ()));
        written.and(closed)
    }
}

impl Fsspec {
    fn write_pieces(&self, file: &Py<PyAny>, content: &mut dyn Read) -> io::Result<()> {
        let mut piece = Vec::new();
        loop {
            piece.clear();
            content.take(PIECE_SIZE as u64).read_to_end(&mut piece)?;
            if piece.is_empty() {
                return Ok(());
            }
            self.call(|files| {
                let py = files.py();
                file.bind(py).call_method1("write", (PyBytes::new(py, &piece),)).map(|_| ())
            })?;
        }
    }
}

/// When a file was changed last, by the names that file systems have for it.
fn modified(info: &Bound<'_, PyDict>) -> PyResult<Option<SystemTime>> {
    for name in ["mtime", "LastModified", "last_modified", "modified", "created"] {
        let Some(value) = info.get_item(name)?.filter(|value| !value.is_none()) else { continue };
        let seconds = match value.cast::<PyDateTime>() {
            Ok(moment) => moment.call_method0("timestamp")?.extract::<f64>().ok(),
            Err(_) => value.extract::<f64>().ok(),
        };
        let since = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        if let Some(since) = since {
            return Ok(SystemTime::UNIX_EPOCH.checked_add(since));
        }
    }
    Ok(None)
}
