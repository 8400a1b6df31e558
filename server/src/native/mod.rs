//! The native protocol: the door for `inlay://`, columns in chunks (docs/protocol.md, crate `inlay-protocol`).
//!
//! ```text
//! task: waits for the connection's end, or the server's     thread of the connection: login, statements ([`session`])
//!                                                            threads beside it: reading, and for long answers encoding, sending
//! ```
//! The protocol's server blocks, so each connection has threads of its own; what they run waits for the places for statements as other doors' statements
//! do. TLS is found out by the first byte: what is encrypted begins with 22, and the protocol with 137.

mod chunks;
mod session;

use crate::listen::{Address, Caller, Visitor};
use crate::log;
use crate::metrics::{Metrics, count};
use crate::served::{Phase, Served};
use crate::wire::STALL_MAX;
use inlay::{Error, Result, Value};
use inlay_protocol::frame::Hello;
use inlay_protocol::server::{
    Admission, Control, Gate, Input, Link, Output, Session, Sessions, serve as serve_protocol,
};
use inlay_protocol::tls::handshake;
use session::NativeSession;
use std::io::{self, Write};
use std::net::{Shutdown, TcpStream};
#[cfg(unix)]
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio_rustls::rustls::{ServerConfig, ServerConnection};

/// How long a client may take to log in.
const LOGIN_MAX: Duration = Duration::from_secs(30);
/// The first byte of a TLS handshake.
const TLS_FIRST: u8 = 22;
/// Settings of Hello that are the protocol's own.
const OF_PROTOCOL: &[&str] = &["progress_ms"];

/// A socket whose calls block.
enum Blocking {
    Tcp(TcpStream),
    #[cfg(unix)]
    Unix(UnixStream),
}

/// Does the same with a socket of either kind.
macro_rules! either {
    ($socket:expr, $name:ident => $what:expr) => {
        match $socket {
            Blocking::Tcp($name) => $what,
            #[cfg(unix)]
            Blocking::Unix($name) => $what,
        }
    };
}

impl Blocking {
    fn of(caller: Caller) -> io::Result<Self> {
        let socket = match caller {
            Caller::Tcp(socket) => Self::Tcp(socket.into_std()?),
            #[cfg(unix)]
            Caller::Unix(socket) => Self::Unix(socket.into_std()?),
        };
        either!(&socket, socket => {
            socket.set_nonblocking(false)?;
            socket.set_write_timeout(Some(STALL_MAX))?;
        });
        Ok(socket)
    }

    fn input(&self) -> io::Result<Input> {
        Ok(either!(self, socket => Box::new(socket.try_clone()?)))
    }

    fn output(&self) -> io::Result<Output> {
        Ok(either!(self, socket => Box::new(socket.try_clone()?)))
    }

    fn close(&self) {
        // It may be closed already.
        let _ = either!(self, socket => socket.shutdown(Shutdown::Both));
    }

    /// Whether the client begins with TLS; waits for its first byte.
    fn is_encrypted(&self) -> io::Result<bool> {
        match self {
            Self::Tcp(socket) => {
                let mut first = [0];
                loop {
                    match socket.peek(&mut first) {
                        // A signal is no reason to send the client away.
                        Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                        peeked => return Ok(peeked? == 1 && first[0] == TLS_FIRST),
                    }
                }
            }
            #[cfg(unix)]
            Self::Unix(_) => Ok(false),
        }
    }
}

/// Counts what is sent.
struct Counted {
    output: Output,
    served: Arc<Served>,
}

impl Counted {
    fn metrics(&self) -> &Metrics {
        &self.served.metrics
    }
}

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.output.write(bytes)?;
        count(&self.metrics().sent_bytes, written as u64);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }
}

/// Lets a client in.
struct Door {
    served: Arc<Served>,
    runtime: Handle,
    address: Address,
    is_encrypted: bool,
    /// Whether it was asked for a password.
    was_asked: AtomicBool,
    is_in: Arc<AtomicBool>,
}

impl Door {
    fn log(&self, what: &str, fields: &[(&str, &dyn std::fmt::Display)]) {
        if !self.served.options.is_quiet {
            let first: [(&str, &dyn std::fmt::Display); 2] =
                [("door", &"native"), ("address", &self.address)];
            log::event(what, &[&first[..], fields].concat());
        }
    }
}

impl Gate for Door {
    fn admit(&self, hello: &Hello) -> Result<Admission> {
        let is_private = self.is_encrypted || self.address.is_private();
        if !is_private && !self.served.options.listen.is_loopback() {
            let message = "this server takes encrypted connections only".to_string();
            return Err(Error::Forbidden { message }.with_hint("add tls=on to the address"));
        }
        let users = &self.served.users;
        if !users.asks() || self.address.is_owner() {
            return Ok(Admission::Open);
        }
        self.was_asked.store(true, Ordering::Relaxed);
        std::thread::sleep(users.tries(self.address.ip()));
        let verifier = users.native_verifier(&hello.user);
        Ok(Admission::Scram(verifier.ok_or_else(|| Error::internal("a verifier that cannot be read"))?))
    }

    fn has_token(&self, _hello: &Hello, _token: &[u8]) -> Result<bool> {
        Ok(false)
    }

    fn open(&self, hello: &Hello) -> Result<Box<dyn Session>> {
        if self.was_asked.load(Ordering::Relaxed) {
            self.served.users.succeeded(self.address.ip());
        }
        let database = Some(hello.database.as_str()).filter(|name| !name.is_empty());
        let user = Some(hello.user.as_str()).filter(|name| !name.is_empty());
        let session = self.runtime.block_on(self.served.session(database, user))?;
        let connection = session.connection();
        connection.set("application_name", &Value::Varchar(hello.application.clone()), None)?;
        for (name, value) in hello.settings.iter().filter(|(name, _)| !OF_PROTOCOL.contains(&name.as_str())) {
            connection.set(name, &Value::Varchar(value.clone()), None)?;
        }
        self.is_in.store(true, Ordering::Release);
        self.log("connected", &[("user", &hello.user), ("session", &session.number)]);
        Ok(Box::new(NativeSession::new(session, self.runtime.clone())))
    }

    fn sessions(&self) -> &Sessions {
        self.served.native_sessions()
    }

    fn name(&self) -> String {
        format!("inlay {}", env!("CARGO_PKG_VERSION"))
    }

    fn settings(&self) -> Vec<(String, String)> {
        vec![("instance".to_string(), self.served.instance().to_string())]
    }

    fn frame_max(&self) -> u32 {
        self.served.options.message_bytes_max.try_into().unwrap_or(u32::MAX)
    }
}

/// Serves a client until it goes.
pub async fn serve(visitor: Visitor) {
    let Visitor { socket, address, served, tls } = visitor;
    let Ok(socket) = Blocking::of(socket) else { return };
    let socket = Arc::new(socket);
    let (control, is_in) = (Arc::<Control>::default(), Arc::<AtomicBool>::default());
    let mut phase = served.phase();
    let work = {
        let (socket, control, is_in) = (Arc::clone(&socket), Arc::clone(&control), Arc::clone(&is_in));
        let (tls, runtime) = (tls.map(|tls| Arc::clone(tls.config())), Handle::current());
        move || {
            let was_asked = AtomicBool::new(false);
            let mut door = Door { served, runtime, address, is_encrypted: false, was_asked, is_in };
            // Why it ended was told to the client.
            let _ = run(&mut door, &socket, tls, control);
            let is_in = door.is_in.load(Ordering::Acquire);
            if !is_in && door.was_asked.load(Ordering::Relaxed) {
                count(&door.served.metrics.failed_logins, 1);
                door.log("refused", &[("code", &"28P01")]);
            }
            if is_in {
                door.log("disconnected", &[]);
            }
            socket.close();
        }
    };
    let (over, mut ended) = tokio::sync::oneshot::channel::<()>();
    let thread = std::thread::Builder::new().name("inlay client".to_string()).spawn(move || {
        work();
        drop(over);
    });
    if thread.is_err() {
        return;
    }
    tokio::select! {
        _ = &mut ended => return,
        () = until(&mut phase, Phase::Finishing) => {}
        () = tokio::time::sleep(LOGIN_MAX) => {
            if !is_in.load(Ordering::Acquire) {
                socket.close();
            }
        }
    }
    tokio::select! {
        _ = &mut ended => return,
        () = until(&mut phase, Phase::Finishing) => control.finish(),
    }
    tokio::select! {
        _ = &mut ended => return,
        () = until(&mut phase, Phase::Ending) => {}
    }
    // What runs was interrupted; who sits in a transaction is not waited for.
    if tokio::time::timeout(FAREWELL, &mut ended).await.is_err() {
        socket.close();
        let _ = ended.await;
    }
}

/// Waits until the server is so far.
async fn until(phase: &mut watch::Receiver<Phase>, wanted: Phase) {
    // A server that is gone has ended.
    let _ = phase.wait_for(|phase| *phase >= wanted).await;
}

/// How long an interrupted statement has to tell its client.
const FAREWELL: Duration = Duration::from_millis(500);

fn run(
    door: &mut Door,
    socket: &Arc<Blocking>,
    tls: Option<Arc<ServerConfig>>,
    control: Arc<Control>,
) -> inlay_protocol::Result<()> {
    let io = |error| inlay_protocol::WireError::io("accepting a connection", error);
    let is_local = match door.address {
        Address::Net(address) => address.ip().is_loopback(),
        Address::Unix { .. } => true,
    };
    let closing = Arc::clone(socket);
    let link = Link { is_local, close: Arc::new(move || closing.close()), control };
    let (input, output) = (socket.input().map_err(io)?, socket.output().map_err(io)?);
    let counted = |output: Output| Counted { output, served: Arc::clone(&door.served) };
    if let Some(config) = tls
        && socket.is_encrypted().map_err(io)?
    {
        let failed = |error| io(io::Error::new(io::ErrorKind::InvalidData, error));
        let connection = ServerConnection::new(config).map_err(failed)?;
        let (input, output) = handshake(connection.into(), input, output)?;
        let output = counted(Box::new(output));
        door.is_encrypted = true;
        return serve_protocol(input, output, &*door, &link);
    }
    let output = counted(output);
    serve_protocol(input, output, &*door, &link)
}
