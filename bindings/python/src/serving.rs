//! Servers of this process: `con.serve` and `con.ui`.
//!
//! A server has threads of its own, which end with it. In a child that was forked there are none of them: what it has of a server is left as it is,
//! for the sockets are the parent's.

use crate::connection::Connection;
use crate::errors::{misuse, unwrapped};
use inlay_cli::server::{self, Options};
use pyo3::prelude::*;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// How long what runs may go on where a server is forgotten.
const FORGOTTEN: Duration = Duration::ZERO;
/// The longest that a close waits for statements, in seconds.
const GRACE_MAX: f64 = 86_400.0;

#[doc = doc!("Server")]
#[pyclass(frozen, weakref, module = "inlay")]
pub struct Server {
    /// Absent when it was closed.
    server: Mutex<Option<server::Server>>,
    process: u32,
    native: Option<SocketAddr>,
    postgres: Option<SocketAddr>,
    http: Option<SocketAddr>,
    is_encrypted: bool,
}

/// Serves the database of a connection.
#[pyfunction]
#[pyo3(signature = (connection, doors, files, flags, limits))]
pub fn _serve(
    py: Python<'_>,
    connection: &Connection,
    doors: (String, Option<u16>, Option<u16>, Option<u16>, Vec<String>),
    files: (Option<String>, Option<String>, Option<String>, Option<String>),
    flags: (bool, bool, bool),
    limits: (usize, usize, usize),
) -> PyResult<Server> {
    let (listen, native_port, postgres_port, http_port, hosts) = doors;
    let address = if listen == "localhost" { "127.0.0.1" } else { &listen };
    let Ok(listen) = address.parse::<IpAddr>() else {
        return Err(misuse(py, format!("listen={listen:?}: expected an IP address, such as \"127.0.0.1\"")));
    };
    let (password_file, tls_cert, tls_key, socket_dir) = files;
    let (tls_self_signed, allows_files, is_logged) = flags;
    let (connections_max, statements_max, message_mib_max) = limits;
    let is_encrypted = tls_cert.is_some();
    let options = Options {
        listen,
        native_port,
        postgres_port,
        http_port,
        socket_dir,
        password_file,
        tls_cert,
        tls_key,
        tls_self_signed,
        hosts,
        allows_files,
        connections_max: connections_max.clamp(1, 1_000_000),
        statements_max: statements_max.clamp(1, 1_000_000),
        message_bytes_max: message_mib_max.clamp(1, 1023) << 20,
        is_quiet: !is_logged,
        ..Options::default()
    };
    let engine = connection.engine.clone();
    let started =
        py.detach(|| engine.database().and_then(|database| server::Server::over(database, options)));
    let server = unwrapped(py, started)?;
    let (native, postgres, http) = (server.native, server.postgres, server.http);
    let process = std::process::id();
    Ok(Server { server: Mutex::new(Some(server)), process, native, postgres, http, is_encrypted })
}

/// A text that is the same for connections of one database.
#[pyfunction]
pub fn _instance(py: Python<'_>, connection: &Connection) -> PyResult<String> {
    let database = unwrapped(py, connection.engine.database())?;
    Ok(database.instance().to_string())
}

/// Shows a page in the browser, where there is one.
#[pyfunction]
pub fn _open_page(py: Python<'_>, url: &str) {
    py.detach(|| server::open_page(url));
}

/// What the package has of this module.
pub fn install(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Server>()?;
    module.add_function(wrap_pyfunction!(_serve, module)?)?;
    module.add_function(wrap_pyfunction!(_instance, module)?)?;
    module.add_function(wrap_pyfunction!(_open_page, module)?)
}

impl Server {
    fn taken(&self) -> Option<server::Server> {
        let server = self.server.lock().unwrap_or_else(PoisonError::into_inner).take();
        if self.process == std::process::id() {
            return server;
        }
        // Its threads are the parent's.
        std::mem::forget(server);
        None
    }
}

#[pymethods]
impl Server {
    #[doc = doc!("Server.native_port")]
    #[getter]
    fn native_port(&self) -> Option<u16> {
        self.native.map(|address| address.port())
    }

    #[doc = doc!("Server.postgres_port")]
    #[getter]
    fn postgres_port(&self) -> Option<u16> {
        self.postgres.map(|address| address.port())
    }

    #[doc = doc!("Server.http_port")]
    #[getter]
    fn http_port(&self) -> Option<u16> {
        self.http.map(|address| address.port())
    }

    #[doc = doc!("Server.url")]
    #[getter]
    fn url(&self) -> Option<String> {
        self.native.map(|address| format!("inlay://{address}"))
    }

    #[doc = doc!("Server.http_url")]
    #[getter]
    fn http_url(&self) -> Option<String> {
        let protocol = if self.is_encrypted { "https" } else { "http" };
        self.http.map(|address| format!("{protocol}://{address}/"))
    }

    #[doc = doc!("Server.closed")]
    #[getter]
    fn closed(&self) -> bool {
        self.process != std::process::id()
            || self.server.lock().unwrap_or_else(PoisonError::into_inner).is_none()
    }

    #[doc = doc!("Server.close")]
    #[pyo3(signature = (grace = 10.0))]
    fn close(&self, py: Python<'_>, grace: f64) -> PyResult<()> {
        if !(0.0..=GRACE_MAX).contains(&grace) {
            let message = format!("grace={grace}: expected seconds from 0 to {GRACE_MAX}");
            return Err(misuse(py, &message));
        }
        if let Some(server) = self.taken() {
            py.detach(|| server.stop_within(Duration::from_secs_f64(grace)));
        }
        Ok(())
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, pyo3::types::PyTuple>) -> PyResult<()> {
        self.close(py, 10.0)
    }

    fn __repr__(&self) -> String {
        let door =
            |name: &str, address: Option<SocketAddr>| address.map(|address| format!("{name}={address}"));
        let doors = [door("native", self.native), door("postgres", self.postgres), door("http", self.http)];
        let doors: Vec<String> = doors.into_iter().flatten().collect();
        format!("<inlay.Server {}{}>", doors.join(" "), if self.closed() { " closed" } else { "" })
    }
}

impl Drop for Server {
    /// What runs may call functions of Python: whoever lets go of a server does not keep the interpreter from them.
    fn drop(&mut self) {
        let Some(server) = self.taken() else { return };
        Python::attach(|py| py.detach(|| server.stop_within(FORGOTTEN)));
    }
}
