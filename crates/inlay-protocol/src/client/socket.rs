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
            let socket = TcpStream::connect((host.as_str(), *port))
                .map_err(|error| WireError::Unreachable { place: format!("{host}:{port}"), error })?;
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
            let socket = connected(path).map_err(failed)?;
            socket.set_read_timeout(Some(PATIENCE)).map_err(failed)?;
            Ok((Box::new(Waking(socket.try_clone().map_err(failed)?)), Box::new(socket), true))
        }
        #[cfg(not(unix))]
        Place::Unix(_) => Err(failed(std::io::ErrorKind::Unsupported.into())),
    }
}

/// Connects to a UNIX socket; a signal while the server has many callers is no reason to give up.
#[cfg(unix)]
fn connected(path: &str) -> std::io::Result<std::os::unix::net::UnixStream> {
    loop {
        match std::os::unix::net::UnixStream::connect(path) {
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}

/// Agrees on encryption, after a look at the server's certificate.
#[cfg(feature = "tls")]
fn encrypted(url: &Url, host: &str, input: Input, output: Output) -> Result<(Input, Output)> {
    use rustls::client::WebPkiServerVerifier;
    use rustls::crypto::ring;
    use rustls::pki_types::pem::PemObject;
    use rustls::pki_types::{CertificateDer, ServerName};
    use rustls::{ClientConfig, ClientConnection, RootCertStore};
    use std::sync::Arc;
    let wrong = |what: String| WireError::from(inlay_types::Error::invalid_argument(what));
    let mut roots = RootCertStore::empty();
    let mut given = Vec::new();
    match &url.tls_ca {
        Some(path) => {
            let unread =
                |error: &dyn std::fmt::Display| wrong(format!("tls_ca={path} cannot be used: {error}"));
            let found = CertificateDer::pem_file_iter(path).map_err(|error| unread(&error))?;
            for certificate in found {
                let certificate = certificate.map_err(|error| unread(&error))?;
                roots.add(certificate.clone()).map_err(|error| unread(&error))?;
                given.push(certificate);
            }
            if roots.is_empty() {
                return Err(unread(&"there is no certificate in it"));
            }
        }
        None => roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned()),
    }
    let provider = Arc::new(ring::default_provider());
    let verifier =
        WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider)).build();
    let verifier = verifier.map_err(|error| wrong(format!("TLS: {error}")))?;
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| wrong(format!("TLS: {error}")))?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(given::Verifier { given, usual: verifier }))
        .with_no_client_auth();
    let name = ServerName::try_from(host.to_string())
        .map_err(|error| wrong(format!("\"{host}\" is no name that a certificate could be for: {error}")))?;
    let connection =
        ClientConnection::new(Arc::new(config), name).map_err(|error| wrong(format!("TLS: {error}")))?;
    let agreed = crate::tls::handshake(connection.into(), input, output);
    let (input, output) = agreed.map_err(|error| explained(url, error))?;
    Ok((Box::new(input), Box::new(output)))
}

/// Says what to do about a certificate that nobody known has signed, as those that servers make themselves.
#[cfg(feature = "tls")]
fn explained(url: &Url, error: WireError) -> WireError {
    use rustls::Error::InvalidCertificate;
    match error {
        WireError::Io { action, error } => {
            let cause = error.get_ref().and_then(|cause| cause.downcast_ref::<rustls::Error>());
            if !matches!(cause, Some(InvalidCertificate(_))) {
                let no_tls = matches!(cause, Some(rustls::Error::InvalidMessage(_)));
                let error = match no_tls {
                    true => std::io::Error::new(
                        error.kind(),
                        format!("{error}; no TLS is spoken there: ?tls=off does without"),
                    ),
                    false => error,
                };
                return WireError::Io { action, error };
            }
            let instead = match &url.tls_ca {
                Some(path) => format!("tls_ca={path} does not vouch for it"),
                None => {
                    "tls_ca=FILE in the address names the certificates to trust, such as the server's own"
                        .to_string()
                }
            };
            let error = std::io::Error::new(error.kind(), format!("{error}; {instead}"));
            WireError::Io { action, error }
        }
        error @ (WireError::Malformed { .. }
        | WireError::Unreachable { .. }
        | WireError::TooLarge { .. }
        | WireError::Refused { .. }
        | WireError::Closed { .. }
        | WireError::Engine(_)) => error,
    }
}

/// Certificates that a program gave are enough by themselves: one that signed itself is no authority to the usual rules, and the very one
/// that was asked for.
#[cfg(feature = "tls")]
mod given {
    use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
    use rustls::client::{WebPkiServerVerifier, verify_server_name};
    use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
    use rustls::server::ParsedCertificate;
    use rustls::{DigitallySignedStruct, Error, SignatureScheme};
    use std::sync::Arc;

    #[derive(Debug)]
    pub(super) struct Verifier {
        pub given: Vec<CertificateDer<'static>>,
        pub usual: Arc<WebPkiServerVerifier>,
    }

    impl ServerCertVerifier for Verifier {
        fn verify_server_cert(
            &self,
            end_entity: &CertificateDer<'_>,
            intermediates: &[CertificateDer<'_>],
            server_name: &ServerName<'_>,
            ocsp_response: &[u8],
            now: UnixTime,
        ) -> Result<ServerCertVerified, Error> {
            if self.given.iter().any(|given| given == end_entity) {
                verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
                return Ok(ServerCertVerified::assertion());
            }
            self.usual.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
        }

        fn verify_tls12_signature(
            &self,
            message: &[u8],
            cert: &CertificateDer<'_>,
            dss: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            self.usual.verify_tls12_signature(message, cert, dss)
        }

        fn verify_tls13_signature(
            &self,
            message: &[u8],
            cert: &CertificateDer<'_>,
            dss: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            self.usual.verify_tls13_signature(message, cert, dss)
        }

        fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
            self.usual.supported_verify_schemes()
        }
    }
}

#[cfg(not(feature = "tls"))]
fn encrypted(_url: &Url, _host: &str, _input: Input, _output: Output) -> Result<(Input, Output)> {
    Err(inlay_types::Error::unsupported("TLS, which this build has not,")
        .with_hint("tls=off connects without encryption")
        .into())
}
