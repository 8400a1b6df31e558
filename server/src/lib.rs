//! Inlay for many clients: one storage behind the native protocol, PostgreSQL's and HTTP.
//!
//! ```text
//! listen: sockets, TLS --> postgres: messages, login, statements, COPY --+
//!                     \--> http: POST /query, /health, /metrics --------+--> session --> served --> inlay (the engine)
//!                     \--> native: the columnar protocol, by threads ---+
//! ```
//! - [`options`]: the command line of `inlay serve`; what leaves the machine needs passwords and TLS. [`users`]: who may come, SCRAM-SHA-256.
//! - [`served`]: the storage, the sessions, the end. [`session`]: statements on threads that may block, rows in pieces, interrupts.
//! - [`tls`]: certificates, read, read anew and made. [`wire`]: a socket with what is on its way; [`patient`]: one whose client may not stall. [`native`], [`postgres`], [`http`]: the doors. [`json`]: values as JSON. [`metrics`], [`log`].
//!
//! tokio is here and in no crate below: the engine has workers of its own. docs/server.md is for those who run it, decision 33 says why it is so.

#![forbid(unsafe_code)]

mod http;
mod json;
mod listen;
mod log;
mod metrics;
mod native;
mod options;
mod patient;
mod postgres;
mod served;
mod session;
mod tls;
mod users;
mod wire;

pub use options::Options;
pub use users::Users;

use inlay::{Database, Error, Result};
use served::Served;
use std::io::Write;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tls::Certificates;
use tokio::runtime::Runtime;

/// How long threads have at the end to be gone.
const LAST_MAX: Duration = Duration::from_secs(1);
/// Threads for logins and what is closed, besides one for each session.
const APART: usize = 64;

/// A server that runs. One that is dropped ends at once; [`Server::stop`] ends it in order.
pub struct Server {
    served: Arc<Served>,
    options: Options,
    /// Where PostgreSQL's protocol is spoken.
    pub postgres: Option<SocketAddr>,
    /// Where HTTP is spoken.
    pub http: Option<SocketAddr>,
    /// Where the native protocol is spoken.
    pub native: Option<SocketAddr>,
    certificates: Option<Arc<Certificates>>,
    runtime: Runtime,
}

impl Server {
    /// Opens what the options name and listens.
    ///
    /// ```
    /// # fn main() -> inlay::Result<()> {
    /// use inlay_server::{Options, Server};
    /// let options = Options { postgres_port: Some(0), http_port: Some(0), native_port: Some(0), is_quiet: true, ..Options::default() };
    /// let server = Server::start(options)?;
    /// assert!(server.postgres.is_some_and(|address| address.ip().is_loopback()));
    /// server.stop();
    /// # Ok(())
    /// # }
    /// ```
    pub fn start(options: Options) -> Result<Self> {
        Self::of(options, Served::open)
    }

    /// Serves a database that the program has open. Nothing of the process is changed: no signal, no working directory, no standard stream but
    /// for the log, unless that is off. Threads end with the server; the database stays open for whoever else has it.
    ///
    /// ```
    /// # fn main() -> inlay::Result<()> {
    /// use inlay_server::{Options, Server};
    /// let database = inlay::Database::open_in_memory()?;
    /// let options = Options { postgres_port: None, http_port: None, native_port: Some(0), is_quiet: true, ..Options::default() };
    /// let server = Server::over(database.clone(), options)?;
    /// let client = inlay::Database::open(&format!("inlay://{}", server.native.unwrap()), &[])?.connect();
    /// database.connect().execute("CREATE TABLE t AS SELECT 42 AS answer")?;
    /// assert_eq!(client.execute("FROM t")?.value(0, 0)?.to_string(), "42");
    /// assert_eq!(client.execute("COPY t TO 't.csv'").unwrap_err().sqlstate(), "42501");
    /// server.stop();
    /// # Ok(())
    /// # }
    /// ```
    pub fn over(database: Database, options: Options) -> Result<Self> {
        if !options.files.is_empty() || options.is_read_only {
            let message =
                "a database that is open is served as it was opened: it takes no files and no read-only";
            return Err(Error::invalid_argument(message));
        }
        Self::of(options, |options, users| Served::over(database, options, users))
    }

    fn of(options: Options, open: impl FnOnce(Options, Users) -> Result<Arc<Served>>) -> Result<Self> {
        options.check().map_err(Error::invalid_argument)?;
        let users = match &options.password_file {
            Some(path) => Users::read_file(path)?,
            None => Users::anyone()?,
        };
        let certificates = match (&options.tls_cert, &options.tls_key) {
            (Some(cert), Some(key)) => {
                if options.tls_self_signed {
                    tls::make(cert, key, options.listen, &options.hosts)?;
                }
                Some(Certificates::read(cert, key)?)
            }
            (Some(_), None) | (None, Some(_)) | (None, None) => None,
        };
        let tls = certificates.as_ref().map(Certificates::acceptor).transpose()?;
        let served = open(options.clone(), users)?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .thread_name("inlay server")
            // Statements have places of their own; what lets clients in or ends something never waits for one.
            .max_blocking_threads(options.statements_max + options.connections_max + APART)
            .build()
            .map_err(|error| Error::Io {
                action: "cannot start",
                path: "threads of the server".to_string(),
                message: error.to_string(),
            })?;
        let bind = |port: Option<u16>| {
            port.map(|port| runtime.block_on(listen::bind(SocketAddr::new(options.listen, port)))).transpose()
        };
        let (postgres, http, native) =
            (bind(options.postgres_port)?, bind(options.http_port)?, bind(options.native_port)?);
        let address = |listener: &Option<tokio::net::TcpListener>| {
            listener.as_ref().and_then(|listener| listener.local_addr().ok())
        };
        let addresses = (address(&postgres), address(&http), address(&native));
        let unix = |address: Option<SocketAddr>, name: fn(u16) -> String| {
            let (Some(folder), Some(address)) = (&options.socket_dir, address) else { return Ok(None) };
            let _runtime = runtime.enter();
            let path = std::path::Path::new(folder).join(name(address.port()));
            listen::bind_unix(&path, options.password_file.is_some()).map(Some)
        };
        let unix_postgres = unix(addresses.0, |port| format!(".s.PGSQL.{port}"))?;
        let unix_native = unix(addresses.2, |port| format!("inlay.{port}.sock"))?;
        let tcp = |listener: Option<tokio::net::TcpListener>| listener.map(listen::Listener::Tcp);
        for listener in [tcp(postgres), unix_postgres].into_iter().flatten() {
            runtime.spawn(listen::accept(listener, Arc::clone(&served), tls.clone(), postgres::serve));
        }
        for listener in [tcp(native), unix_native].into_iter().flatten() {
            runtime.spawn(listen::accept(listener, Arc::clone(&served), tls.clone(), native::serve));
        }
        if let Some(listener) = tcp(http) {
            runtime.spawn(listen::accept(listener, Arc::clone(&served), tls, http::serve));
        }
        let (postgres, http, native) = addresses;
        Ok(Self { served, options, postgres, http, native, certificates, runtime })
    }

    /// Names of the databases that are served.
    pub fn names(&self) -> &[String] {
        self.served.names()
    }

    /// Ends in order: nobody comes any more, what runs may finish within the options' grace and is interrupted then.
    pub fn stop(self) {
        let grace = self.options.grace;
        self.stop_within(grace);
    }

    /// As [`Server::stop`], with another grace.
    pub fn stop_within(self, grace: Duration) {
        self.runtime.block_on(self.served.stop(grace));
        self.runtime.shutdown_timeout(grace.max(LAST_MAX));
    }

    /// Reads certificate and key anew, for clients that come from now on. Where they are of no use, the old ones stay.
    pub fn reload(&self) -> Result<()> {
        self.certificates.as_ref().map_or(Ok(()), |certificates| certificates.reload())
    }

    /// Runs until the program is told to end.
    fn run_until_told(self) {
        self.runtime.block_on(async {
            tokio::select! {
                () = told_to_end() => {}
                () = self.reload_when_told() => {}
            }
        });
        if !self.options.is_quiet {
            log::event("stopping", &[("grace", &format!("{}s", self.options.grace.as_secs()))]);
        }
        // Who asks again does not want to wait.
        let (grace, served) = (self.options.grace, &self.served);
        self.runtime.block_on(async {
            tokio::select! {
                () = served.stop(grace) => {}
                () = told_to_end() => {}
            }
        });
        self.runtime.shutdown_timeout(std::time::Duration::from_secs(1));
    }
}

impl Server {
    /// SIGHUP says that certificates are others.
    async fn reload_when_told(&self) {
        #[cfg(unix)]
        {
            use tokio::signal::unix::{SignalKind, signal};
            if let Ok(mut hangup) = signal(SignalKind::hangup()) {
                while hangup.recv().await.is_some() {
                    match self.reload() {
                        Ok(()) if self.options.is_quiet => {}
                        Ok(()) => log::event("reloaded", &[]),
                        Err(error) => log::event("reload_failed", &[("error", &error)]),
                    }
                }
            }
        }
        std::future::pending::<()>().await;
    }
}

/// Ctrl-C, or what a supervisor sends.
async fn told_to_end() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminate) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = tokio::signal::ctrl_c() => {}
                _ = terminate.recv() => {}
            }
            return;
        }
    }
    // A system without signals is ended by other means.
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// The command `inlay serve`: runs with the arguments behind it until it is told to end, and gives the exit code.
pub fn run(args: impl Iterator<Item = String>) -> u8 {
    serve(args, |_| ())
}

/// The command `inlay ui`: serves over HTTP alone and opens the page in a browser.
pub fn run_page(args: impl Iterator<Item = String>) -> u8 {
    let without_postgres = ["--postgres-port".to_string(), "off".to_string()];
    serve(without_postgres.into_iter().chain(args), |server| {
        let Some(mut address) = server.http else { return };
        if address.ip().is_unspecified() {
            address.set_ip(std::net::Ipv4Addr::LOCALHOST.into());
        }
        let protocol = if server.certificates.is_some() { "https" } else { "http" };
        let page = format!("{protocol}://{address}/");
        let _ = writeln!(std::io::stdout(), "{page}");
        open_page(&page);
    })
}

/// Shows a page in the browser; where there is none, its address was printed.
pub fn open_page(page: &str) {
    let (program, args): (&str, &[&str]) = if cfg!(target_os = "macos") {
        ("open", &[])
    } else if cfg!(windows) {
        ("rundll32", &["url.dll,FileProtocolHandler"])
    } else {
        ("xdg-open", &[])
    };
    let nothing = std::process::Stdio::null;
    let _ = std::process::Command::new(program)
        .args(args)
        .arg(page)
        .stdin(nothing())
        .stdout(nothing())
        .stderr(nothing())
        .spawn();
}

/// Serves until it is told to end, and gives the exit code.
fn serve(args: impl Iterator<Item = String>, ready: impl FnOnce(&Server)) -> u8 {
    let options = match options::parse(args) {
        Ok(Some(options)) => options,
        Ok(None) => {
            // A reader that has seen enough is no error.
            let _ = std::io::stdout().write_all(options::help().as_bytes());
            return 0;
        }
        Err(message) => {
            let _ = writeln!(std::io::stderr(), "inlay: {message}\nTry `inlay serve --help`.");
            return 2;
        }
    };
    let server = match Server::start(options) {
        Ok(server) => server,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "Error: {error}");
            return 1;
        }
    };
    if !server.options.is_quiet {
        let shown =
            |address: Option<SocketAddr>| address.map_or("off".to_string(), |address| address.to_string());
        let names = server.names().join(",");
        log::event(
            "ready",
            &[
                ("native", &shown(server.native)),
                ("postgres", &shown(server.postgres)),
                ("http", &shown(server.http)),
                ("databases", &names),
            ],
        );
    }
    ready(&server);
    server.run_until_told();
    0
}
