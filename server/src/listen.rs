//! Sockets: who comes is given to the door whose port it is, encrypted where certificates are there.
//!
//! A door is a function that has a socket until its client goes. Each client is a task of its own; one that fails ends nobody else's.

use crate::log;
use crate::metrics::count;
use crate::served::{Phase, Served};
use inlay::{Error, Result};
use socket2::{SockRef, TcpKeepalive};
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
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
    pub socket: TcpStream,
    pub address: SocketAddr,
    pub served: Arc<Served>,
    pub tls: Option<TlsAcceptor>,
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
    listener: TcpListener,
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
            accepted = listener.accept() => accepted,
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
        // Rows are sent in pieces that are large enough.
        let _ = socket.set_nodelay(true);
        // A machine that vanished leaves no session behind.
        let _ = SockRef::from(&socket).set_tcp_keepalive(&keepalive());
        let visitor = Visitor { socket, address, served: Arc::clone(&served), tls: tls.clone() };
        tokio::spawn(async move {
            door(visitor).await;
            drop(place);
        });
    }
}
