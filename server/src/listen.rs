//! Sockets: who comes is given to the door whose port it is, encrypted where certificates are there.
//!
//! A door is a function that has a socket until its client goes. Each client is a task of its own; one that fails ends nobody else's.

use crate::log;
use crate::metrics::count;
use crate::served::{Phase, Served};
use inlay::{Error, Result};
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// Sockets of clients that are not known yet, besides those of sessions.
const STRANGERS_MAX: usize = 256;
/// How long a system that has no more files is left alone.
const EXHAUSTED_PAUSE: Duration = Duration::from_millis(100);

/// A client that came.
pub struct Visitor {
    pub socket: TcpStream,
    pub address: SocketAddr,
    pub served: Arc<Served>,
    pub tls: Option<TlsAcceptor>,
}

/// What encrypts, if certificates are given.
pub fn tls_of(cert: Option<&str>, key: Option<&str>) -> Result<Option<TlsAcceptor>> {
    let (Some(cert), Some(key)) = (cert, key) else { return Ok(None) };
    let wrong = |path: &str, error: &dyn std::fmt::Display| Error::Io {
        action: "cannot use",
        path: path.to_string(),
        message: error.to_string(),
    };
    let chain =
        CertificateDer::pem_file_iter(cert).and_then(Iterator::collect::<std::result::Result<Vec<_>, _>>);
    let chain = chain.map_err(|error| wrong(cert, &error))?;
    if chain.is_empty() {
        return Err(wrong(cert, &"there is no certificate in it"));
    }
    let secret = PrivateKeyDer::from_pem_file(key)
        .map_err(|error| wrong(key, &format!("there is no private key in it ({error})")))?;
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map(|builder| builder.with_no_client_auth().with_single_cert(chain, secret));
    let config = config.and_then(|config| config).map_err(|error| wrong(cert, &error))?;
    Ok(Some(TlsAcceptor::from(Arc::new(config))))
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
        let visitor = Visitor { socket, address, served: Arc::clone(&served), tls: tls.clone() };
        tokio::spawn(async move {
            door(visitor).await;
            drop(place);
        });
    }
}
