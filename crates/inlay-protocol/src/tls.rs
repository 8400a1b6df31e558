//! TLS over a socket that is read by one thread and written by another, blocking.
//!
//! Neither direction waits for the other: a lock is held while bytes are encrypted or decrypted, and not while the socket is waited for.

use crate::{Result, WireError};
use rustls::Connection;
use std::io::{self, Read, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bytes that are read from the socket at once.
const READ_BYTES: usize = 64 << 10;
/// Bytes that are encrypted at once.
const WRITE_BYTES: usize = 64 << 10;

type Shared = Arc<Mutex<Connection>>;

fn lock(connection: &Shared) -> MutexGuard<'_, Connection> {
    connection.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What was received, decrypted.
pub struct TlsInput<R> {
    connection: Shared,
    socket: R,
    /// What came and was not decrypted yet.
    came: Vec<u8>,
    /// How much of it was.
    taken: usize,
}

/// Encrypts what is sent.
pub struct TlsOutput<W> {
    connection: Shared,
    socket: W,
    encrypted: Vec<u8>,
}

/// Agrees on keys with the other end, over both halves of a socket.
pub fn handshake<R: Read, W: Write>(
    connection: Connection,
    mut socket: R,
    mut output: W,
) -> Result<(TlsInput<R>, TlsOutput<W>)> {
    let failed = |error| WireError::io("agreeing on encryption", error);
    let mut connection = connection;
    let (mut came, mut taken) = (Vec::new(), 0);
    let mut encrypted = Vec::new();
    loop {
        while connection.wants_write() {
            connection.write_tls(&mut encrypted).map_err(failed)?;
        }
        output.write_all(&encrypted).and_then(|()| output.flush()).map_err(failed)?;
        encrypted.clear();
        if !connection.is_handshaking() {
            break;
        }
        if taken == came.len() {
            taken = 0;
            receive(&mut socket, &mut came).map_err(failed)?;
            if came.is_empty() {
                return Err(failed(io::ErrorKind::UnexpectedEof.into()));
            }
        }
        let mut rest = &came[taken..];
        connection.read_tls(&mut rest).map_err(failed)?;
        taken = came.len() - rest.len();
        let processed = connection.process_new_packets();
        if let Err(error) = processed {
            // The other end is told why, if it listens.
            let _ = connection.write_tls(&mut encrypted);
            let _ = output.write_all(&encrypted);
            return Err(failed(io::Error::new(io::ErrorKind::InvalidData, error)));
        }
    }
    let connection = Arc::new(Mutex::new(connection));
    let input = TlsInput { connection: Arc::clone(&connection), socket, came, taken };
    Ok((input, TlsOutput { connection, socket: output, encrypted }))
}

/// Replaces what came by what comes; nothing at the end.
fn receive(socket: &mut impl Read, came: &mut Vec<u8>) -> io::Result<()> {
    came.resize(READ_BYTES, 0);
    let read = loop {
        match socket.read(came) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            read => break read,
        }
    };
    came.truncate(*read.as_ref().unwrap_or(&0));
    read.map(drop)
}

impl<R: Read> Read for TlsInput<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            {
                let mut connection = lock(&self.connection);
                match connection.reader().read(buffer) {
                    Ok(read) => return Ok(read),
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    Err(error) => return Err(error),
                }
                if self.taken < self.came.len() {
                    let mut rest = &self.came[self.taken..];
                    connection.read_tls(&mut rest)?;
                    self.taken = self.came.len() - rest.len();
                    let processed = connection.process_new_packets();
                    processed.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
                    continue;
                }
            }
            self.taken = 0;
            receive(&mut self.socket, &mut self.came)?;
            if self.came.is_empty() {
                return Ok(0);
            }
        }
    }
}

impl<W: Write> Write for TlsOutput<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.encrypted.clear();
        let taken = {
            let mut connection = lock(&self.connection);
            let taken = connection.writer().write(&bytes[..bytes.len().min(WRITE_BYTES)])?;
            while connection.wants_write() {
                connection.write_tls(&mut self.encrypted)?;
            }
            taken
        };
        self.socket.write_all(&self.encrypted)?;
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.socket.flush()
    }
}
