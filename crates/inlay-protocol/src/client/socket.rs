//! Sockets of a client: TCP, encrypted unless the server is on this machine, and UNIX sockets where there are some.

use super::url::{Place, Url};
use super::waiting::{PATIENCE, Waking};
use crate::{Result, WireError};
use std::io::{Read, Write};
use std::net::TcpStream;

pub(super) type Input = Box<dyn Read + Send>;
pub(super) type Output = Box<dyn Write + Send>;

/// Opens a connection: what is read, what is written, and whether the server is on this machine.
pub(super) fn open(url: &Url) -> Result<(Input, Output, bool)> {
    let failed = |error| WireError::Io { action: "connecting", error };
    match &url.place {
        Place::Tcp(host, port) => {
            let socket = TcpStream::connect((host.as_str(), *port)).map_err(failed)?;
            socket.set_nodelay(true).map_err(failed)?;
            socket.set_read_timeout(Some(PATIENCE)).map_err(failed)?;
            let is_local = socket.peer_addr().is_ok_and(|peer| peer.ip().is_loopback());
            let input = Box::new(Waking(socket.try_clone().map_err(failed)?));
            // What goes over a network is encrypted unless its user says otherwise.
            match url.tls.unwrap_or(!is_local) {
                true => {
                    let (input, output) = encrypted(url, host, input, Box::new(socket))?;
                    Ok((input, output, is_local))
                }
                false => Ok((input, Box::new(socket), is_local)),
            }
        }
        #[cfg(unix)]
        Place::Unix(path) => {
            let socket = std::os::unix::net::UnixStream::connect(path).map_err(failed)?;
            socket.set_read_timeout(Some(PATIENCE)).map_err(failed)?;
            Ok((Box::new(Waking(socket.try_clone().map_err(failed)?)), Box::new(socket), true))
        }
        #[cfg(not(unix))]
        Place::Unix(_) => Err(failed(std::io::ErrorKind::Unsupported.into())),
    }
}

/// Agrees on encryption, after a look at the server's certificate.
#[cfg(feature = "tls")]
fn encrypted(url: &Url, host: &str, input: Input, output: Output) -> Result<(Input, Output)> {
    use rustls::crypto::ring;
    use rustls::pki_types::pem::PemObject;
    use rustls::pki_types::{CertificateDer, ServerName};
    use rustls::{ClientConfig, ClientConnection, RootCertStore};
    use std::sync::Arc;
    let wrong = |what: String| WireError::from(inlay_types::Error::invalid_argument(what));
    let mut roots = RootCertStore::empty();
    match &url.tls_ca {
        Some(path) => {
            let unread =
                |error: &dyn std::fmt::Display| wrong(format!("tls_ca={path} cannot be used: {error}"));
            let found = CertificateDer::pem_file_iter(path).map_err(|error| unread(&error))?;
            for certificate in found {
                let certificate = certificate.map_err(|error| unread(&error))?;
                roots.add(certificate).map_err(|error| unread(&error))?;
            }
            if roots.is_empty() {
                return Err(unread(&"there is no certificate in it"));
            }
        }
        None => roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned()),
    }
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| wrong(format!("TLS: {error}")))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from(host.to_string())
        .map_err(|error| wrong(format!("\"{host}\" is no name that a certificate could be for: {error}")))?;
    let connection =
        ClientConnection::new(Arc::new(config), name).map_err(|error| wrong(format!("TLS: {error}")))?;
    let (input, output) = crate::tls::handshake(connection.into(), input, output)?;
    Ok((Box::new(input), Box::new(output)))
}

#[cfg(not(feature = "tls"))]
fn encrypted(_url: &Url, _host: &str, _input: Input, _output: Output) -> Result<(Input, Output)> {
    Err(inlay_types::Error::unsupported("TLS, which this build has not,")
        .with_hint("tls=off connects without encryption")
        .into())
}
