//! Sockets: who comes is given to the door whose port it is, encrypted where certificates are there.
//!
//! A door is a function that has a socket until its client goes. Each client is a task of its own; one that fails ends nobody else's.

use crate::log;
use crate::metrics::count;
use crate::served::{Phase, Served};
use crate::wire::Socket;
use inlay::{Error, Result};
use socket2::{SockRef, TcpKeepalive};
use std::fmt;
use std::future::Future;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
#[cfg(unix)]
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;

/// Sockets of clients that are not known yet, besides those of sessions.
const STRANGERS_MAX: usize = 256;
/// How long a system that has no more files is left alone.
const EXHAUSTED_PAUSE: Duration = Duration::from_millis(100);

/// How long a client is silent before it is asked whether it is there, how often and how many times.
const SILENCE_MAX: Duration = Duration::from_secs(60);
const ASK_EVERY: Duration = Duration::from_secs(15);
const ASKS_MAX: u32 = 4;

fn keepalive() -> TcpKeepalive {
    let keepalive = TcpKeepalive::new().with_time(SILENCE_MAX);
    #[cfg(any(target_os = "linux", target_os = "macos", windows))]
    let keepalive = keepalive.with_interval(ASK_EVERY).with_retries(ASKS_MAX);
    keepalive
}

/// A client that came.
pub struct Visitor {
    pub socket: Caller,
    pub address: Address,
    pub served: Arc<Served>,
    pub tls: Option<TlsAcceptor>,
}

/// A socket of a client, not encrypted yet.
pub enum Caller {
    Tcp(TcpStream),
    #[cfg(unix)]
    Unix(UnixStream),
}

/// Does the same with a socket of either kind.
macro_rules! either {
    ($caller:expr, $socket:ident => $what:expr) => {
        match $caller.get_mut() {
            Caller::Tcp($socket) => $what,
            #[cfg(unix)]
            Caller::Unix($socket) => $what,
        }
    };
}

impl AsyncRead for Caller {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        either!(self, socket => Pin::new(socket).poll_read(cx, buffer))
    }
}

impl AsyncWrite for Caller {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        either!(self, socket => Pin::new(socket).poll_write(cx, bytes))
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        either!(self, socket => Pin::new(socket).poll_flush(cx))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        either!(self, socket => Pin::new(socket).poll_shutdown(cx))
    }
}

impl Socket for Caller {
    fn is_gone(&self) -> bool {
        match self {
            Self::Tcp(socket) => socket.is_gone(),
            #[cfg(unix)]
            Self::Unix(socket) => socket.is_gone(),
        }
    }
}

/// Where a client is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Address {
    /// At an address of the network.
    Net(SocketAddr),
    /// On this machine, by a UNIX socket; whether its user is the one that the server runs as, or root.
    Unix { is_owner: bool },
}

impl Address {
    /// The address by which failures are counted.
    pub fn ip(self) -> IpAddr {
        match self {
            Self::Net(address) => address.ip(),
            Self::Unix { .. } => Ipv4Addr::LOCALHOST.into(),
        }
    }

    /// Whether it needs no password: who may read and write the file anyway.
    pub fn is_owner(self) -> bool {
        self == Self::Unix { is_owner: true }
    }

    /// Whether nobody on the way can listen, so that nothing has to be encrypted.
    pub fn is_private(self) -> bool {
        matches!(self, Self::Unix { .. })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Net(address) => address.fmt(f),
            Self::Unix { .. } => f.write_str("unix"),
        }
    }
}

/// What clients come by.
pub enum Listener {
    Tcp(TcpListener),
    #[cfg(unix)]
    Unix(UnixListener, SocketFile),
}

/// The file of a UNIX socket, which goes with it.
pub struct SocketFile {
    path: PathBuf,
    /// The user that the server runs as.
    owner: u32,
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        // Whoever removed it wanted it gone.
        let _ = std::fs::remove_file(&self.path);
    }
}

impl Listener {
    async fn next(&self) -> io::Result<(Caller, Address)> {
        match self {
            Self::Tcp(listener) => {
                let (socket, address) = listener.accept().await?;
                // Rows are sent in pieces that are large enough.
                let _ = socket.set_nodelay(true);
                // A machine that vanished leaves no session behind.
                let _ = SockRef::from(&socket).set_tcp_keepalive(&keepalive());
                Ok((Caller::Tcp(socket), Address::Net(address)))
            }
            #[cfg(unix)]
            Self::Unix(listener, file) => {
                let (socket, _) = listener.accept().await?;
                let is_owner =
                    socket.peer_cred().is_ok_and(|peer| peer.uid() == file.owner || peer.uid() == 0);
                Ok((Caller::Unix(socket), Address::Unix { is_owner }))
            }
        }
    }
}

/// Listens at the path of a UNIX socket. One that nobody listens at any more is replaced. `is_for_all`: whether passwords are asked for.
#[cfg(unix)]
pub fn bind_unix(path: &Path, is_for_all: bool) -> Result<Listener> {
    use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
    let wrong = |error: io::Error| Error::Io {
        action: "cannot listen at",
        path: path.display().to_string(),
        message: error.to_string(),
    };
    let is_left_behind = std::fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket())
        && std::os::unix::net::UnixStream::connect(path).is_err();
    if is_left_behind {
        std::fs::remove_file(path).map_err(wrong)?;
    }
    let listener = UnixListener::bind(path).map_err(wrong)?;
    let mut file = SocketFile { path: path.to_path_buf(), owner: 0 };
    let mode = if is_for_all { 0o666 } else { 0o600 };
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).map_err(wrong)?;
    file.owner = std::fs::metadata(path).map_err(wrong)?.uid();
    Ok(Listener::Unix(listener, file))
}

/// Listens at an address.
pub async fn bind(address: SocketAddr) -> Result<TcpListener> {
    TcpListener::bind(address).await.map_err(|error| Error::Io {
        action: "cannot listen at",
        path: address.to_string(),
        message: error.to_string(),
    })
}

/// Gives clients to a door until the server ends.
pub async fn accept<F>(
    listener: Listener,
    served: Arc<Served>,
    tls: Option<TlsAcceptor>,
    door: fn(Visitor) -> F,
) where
    F: Future<Output = ()> + Send + 'static,
{
    let mut phase = served.phase();
    let places = Arc::new(Semaphore::new(served.options.connections_max + STRANGERS_MAX));
    loop {
        let accepted = tokio::select! {
            accepted = listener.next() => accepted,
            _ = phase.wait_for(|phase| *phase > Phase::Open) => return,
        };
        let (socket, address) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                log::event("accept_failed", &[("error", &error)]);
                tokio::time::sleep(EXHAUSTED_PAUSE).await;
                continue;
            }
        };
        let Ok(place) = Arc::clone(&places).try_acquire_owned() else {
            count(&served.metrics.refused, 1);
            continue;
        };
        let visitor = Visitor { socket, address, served: Arc::clone(&served), tls: tls.clone() };
        tokio::spawn(async move {
            door(visitor).await;
            drop(place);
        });
    }
}
