//! Sockets of a client: TCP, and UNIX sockets where there are some.

use super::url::{Place, Url};
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
            let is_local = socket.peer_addr().is_ok_and(|peer| peer.ip().is_loopback());
            Ok((Box::new(socket.try_clone().map_err(failed)?), Box::new(socket), is_local))
        }
        #[cfg(unix)]
        Place::Unix(path) => {
            let socket = std::os::unix::net::UnixStream::connect(path).map_err(failed)?;
            Ok((Box::new(socket.try_clone().map_err(failed)?), Box::new(socket), true))
        }
        #[cfg(not(unix))]
        Place::Unix(_) => Err(failed(std::io::ErrorKind::Unsupported.into())),
    }
}
