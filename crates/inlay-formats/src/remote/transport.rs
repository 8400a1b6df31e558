//! Sockets whose waiting ends when the statement is interrupted or the server says nothing for too long.
//!
//! A read waits a little at a time and looks at the statement's flag in between ([`inlay_types::limits`]). The system's calls
//! that look up a name and connect cannot be cut short: a thread makes them, and is left alone if it is not waited for any
//! more. It ends with the call.

use inlay_types::limits;
use std::fmt;
use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};
use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{
    Buffers, ConnectionDetails, Connector, Either, LazyBuffers, NextTimeout, Transport,
};
use ureq::{Error, Timeout};

/// How long is waited at a time.
const SLICE: Duration = Duration::from_millis(25);
/// Addresses of a host that are tried.
const ADDRESSES_MAX: usize = 16;

fn interrupted() -> Error {
    // Whoever sees it asks the flag why.
    Error::Io(io::Error::new(io::ErrorKind::Interrupted, "the statement was interrupted"))
}

fn check() -> Result<(), Error> {
    limits::check().map_err(|_| interrupted())
}

/// Runs a call of the system that cannot be cut short.
fn patiently<T: Send + 'static>(
    timeout: Duration,
    reason: Timeout,
    call: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T, Error> {
    let (sender, receiver) = mpsc::sync_channel(1);
    let until = Instant::now() + timeout;
    let thread = std::thread::Builder::new().name("inlay-connect".to_string());
    thread.spawn(move || sender.send(call()).ok()).map_err(Error::Io)?;
    loop {
        check()?;
        match receiver.recv_timeout(SLICE) {
            Ok(outcome) => return outcome.map_err(Error::Io),
            Err(RecvTimeoutError::Timeout) if Instant::now() < until => {}
            Err(RecvTimeoutError::Timeout) => return Err(Error::Timeout(reason)),
            Err(RecvTimeoutError::Disconnected) => return Err(Error::ConnectionFailed),
        }
    }
}

/// Looks up the addresses of hosts.
#[derive(Debug)]
pub(super) struct Names {
    pub timeout: Duration,
}

impl Resolver for Names {
    fn resolve(&self, uri: &Uri, _: &Config, _: NextTimeout) -> Result<ResolvedSocketAddrs, Error> {
        let host = uri.host().ok_or_else(|| Error::BadUri("it has no host".to_string()))?;
        let is_secure = uri.scheme_str() == Some("https");
        let port = uri.port_u16().unwrap_or(if is_secure { 443 } else { 80 });
        let plain = host.trim_start_matches('[').trim_end_matches(']');
        let mut found = self.empty();
        if let Ok(address) = plain.parse::<IpAddr>() {
            found.push(SocketAddr::new(address, port));
            return Ok(found);
        }
        let name = (plain.to_string(), port);
        let looked_up = patiently(self.timeout, Timeout::Resolve, move || {
            Ok(name.to_socket_addrs()?.take(ADDRESSES_MAX).collect::<Vec<_>>())
        });
        let addresses = match looked_up {
            Err(Error::Io(error)) if error.kind() != io::ErrorKind::Interrupted => {
                return Err(Error::HostNotFound);
            }
            other => other?,
        };
        if addresses.is_empty() {
            return Err(Error::HostNotFound);
        }
        addresses.into_iter().for_each(|address| found.push(address));
        Ok(found)
    }
}

/// Connects.
#[derive(Debug)]
pub(super) struct Sockets {
    pub timeout: Duration,
}

impl<In: Transport> Connector<In> for Sockets {
    type Out = Either<In, Socket>;

    fn connect(
        &self,
        details: &ConnectionDetails<'_>,
        chained: Option<In>,
    ) -> Result<Option<Self::Out>, Error> {
        if let Some(known) = chained {
            // A proxy's connection.
            return Ok(Some(Either::A(known)));
        }
        let addresses: Vec<SocketAddr> = details.addrs.iter().copied().collect();
        let each = self.timeout / addresses.len().max(1) as u32;
        let stream = patiently(self.timeout + SLICE, Timeout::Connect, move || {
            let mut last = io::Error::from(io::ErrorKind::ConnectionRefused);
            for address in addresses {
                match TcpStream::connect_timeout(&address, each) {
                    Ok(stream) => return Ok(stream),
                    Err(error) => last = error,
                }
            }
            Err(last)
        })?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(SLICE))?;
        stream.set_write_timeout(Some(SLICE))?;
        let buffers =
            LazyBuffers::new(details.config.input_buffer_size(), details.config.output_buffer_size());
        Ok(Some(Either::B(Socket { stream, buffers, timeout: self.timeout })))
    }
}

/// A connection.
pub(super) struct Socket {
    stream: TcpStream,
    buffers: LazyBuffers,
    timeout: Duration,
}

impl fmt::Debug for Socket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Socket({:?})", self.stream.peer_addr().ok())
    }
}

/// Whether a call only waited for its slice of time.
fn is_patience(error: &io::Error) -> bool {
    use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(error.kind(), WouldBlock | TimedOut | Interrupted)
}

impl Socket {
    /// Calls until the system has done something.
    fn wait(
        timeout: Duration,
        reason: Timeout,
        mut call: impl FnMut() -> io::Result<usize>,
    ) -> Result<usize, Error> {
        let until = Instant::now() + timeout;
        loop {
            match call() {
                Err(error) if is_patience(&error) => {
                    check()?;
                    if Instant::now() >= until {
                        return Err(Error::Timeout(reason));
                    }
                }
                other => return other.map_err(Error::Io),
            }
        }
    }
}

impl Transport for Socket {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    fn transmit_output(&mut self, amount: usize, _: NextTimeout) -> Result<(), Error> {
        check()?;
        let mut sent = 0;
        while sent < amount {
            let rest = &self.buffers.output()[sent..amount];
            let mut stream = &self.stream;
            let written = Self::wait(self.timeout, Timeout::SendBody, || stream.write(rest))?;
            if written == 0 {
                return Err(Error::Io(io::ErrorKind::WriteZero.into()));
            }
            sent += written;
        }
        Ok(())
    }

    fn await_input(&mut self, _: NextTimeout) -> Result<bool, Error> {
        check()?;
        let room = self.buffers.input_append_buf();
        let mut stream = &self.stream;
        let read = Self::wait(self.timeout, Timeout::RecvResponse, || stream.read(room))?;
        self.buffers.input_appended(read);
        Ok(read > 0)
    }

    fn is_open(&mut self) -> bool {
        // Nothing is to be read from a connection that nobody uses, and its end would be.
        let probe = || {
            self.stream.set_nonblocking(true)?;
            let looked = self.stream.peek(&mut [0]);
            self.stream.set_nonblocking(false)?;
            Ok::<bool, io::Error>(matches!(looked, Err(error) if error.kind() == io::ErrorKind::WouldBlock))
        };
        probe().unwrap_or(false)
    }
}
