//! A socket and what is on its way: bytes that came and were not looked at yet, bytes that were not sent yet.
//!
//! While a statement runs the client is heard: [`Wire::attend`] sends what waits, reads a little ahead, and ends the work when the client goes
//! away. Both directions are bounded: who sends much meanwhile is not read, and whoever makes rows waits in [`Wire::flush`] until the client took
//! those before. Nothing of a message is kept before its length was looked at, and memory is taken as bytes come, not as they are announced.
//!
//! A client that said good-bye and closes its socket has what it asked for before done, though nobody hears of it; one that breaks off has not.

use bytes::{Buf, BytesMut};
use futures_util::FutureExt;
use std::future::Future;
use std::io;
use std::pin::pin;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, Interest};
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;

/// A socket, encrypted or not.
pub trait Socket: AsyncRead + AsyncWrite + Unpin + Send {
    /// Whether the other end is closed, though bytes that came before were not read.
    fn is_gone(&self) -> bool;
}

impl Socket for TcpStream {
    fn is_gone(&self) -> bool {
        let ready = self.ready(Interest::READABLE).now_or_never();
        ready.is_some_and(|ready| ready.is_ok_and(|ready| ready.is_read_closed()))
    }
}

#[cfg(unix)]
impl Socket for tokio::net::UnixStream {
    fn is_gone(&self) -> bool {
        let ready = self.ready(Interest::READABLE).now_or_never();
        ready.is_some_and(|ready| ready.is_ok_and(|ready| ready.is_read_closed()))
    }
}

impl<S: Socket> Socket for TlsStream<S> {
    fn is_gone(&self) -> bool {
        self.get_ref().0.is_gone()
    }
}

impl Socket for Box<dyn Socket> {
    fn is_gone(&self) -> bool {
        (**self).is_gone()
    }
}

/// Bytes that are read while a statement runs.
const AHEAD_MAX: usize = 64 << 10;
/// Bytes that are read further on, slowly, to see whether the client is still there.
const FAR_MAX: usize = 4 << 20;
/// Bytes that are read at once.
const READ_BYTES: usize = 16 << 10;
/// Between two looks at whether a client is still there that sent more than is read.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// Bytes that are made for a client that is gone before what makes them ends.
const UNREAD_MAX: usize = 64 << 10;
/// How long a client may take nothing of what is sent to it.
pub const STALL_MAX: Duration = Duration::from_secs(300);

/// See the module documentation.
pub struct Wire<S> {
    socket: S,
    /// What came.
    pub input: BytesMut,
    /// What is to be sent.
    pub output: Vec<u8>,
    /// How much of it was sent.
    sent: usize,
    /// Whether what was written may lie in the socket's own buffer.
    is_written: bool,
    /// Whether bytes that came end with the client's good-bye.
    is_farewell: fn(&[u8]) -> bool,
    /// Whether the client is gone that said good-bye: what it asked for before is done, and not sent.
    is_over: bool,
}

fn gone() -> io::Error {
    io::Error::from(io::ErrorKind::UnexpectedEof)
}

impl<S: Socket> Wire<S> {
    /// A socket nothing was read from or written to.
    pub fn new(socket: S) -> Self {
        Self {
            socket,
            input: BytesMut::new(),
            output: Vec::new(),
            sent: 0,
            is_written: false,
            is_farewell: |_| false,
            is_over: false,
        }
    }

    /// Says how a client says good-bye.
    pub fn set_farewell(&mut self, is_farewell: fn(&[u8]) -> bool) {
        self.is_farewell = is_farewell;
    }

    /// The socket, if nothing is on its way: what came already would be lost, and was sent by somebody else than who speaks next.
    pub fn into_socket(self) -> io::Result<S> {
        if self.input.is_empty() && self.sent == self.output.len() {
            Ok(self.socket)
        } else {
            Err(io::Error::new(io::ErrorKind::InvalidData, "bytes came before they were asked for"))
        }
    }

    /// Sends a part of what waits. Nothing is lost where it is dropped.
    async fn send_some(&mut self) -> io::Result<()> {
        if self.sent < self.output.len() {
            let written = self.socket.write(&self.output[self.sent..]).await?;
            if written == 0 {
                return Err(gone());
            }
            self.sent += written;
            self.is_written = true;
        } else {
            self.socket.flush().await?;
            self.is_written = false;
        }
        if self.sent == self.output.len() {
            self.output.clear();
            self.sent = 0;
        }
        Ok(())
    }

    fn waits(&self) -> bool {
        self.is_written || self.sent < self.output.len()
    }

    /// Sends all that waits; an error if the client takes nothing for long.
    pub async fn flush(&mut self) -> io::Result<()> {
        if self.is_over {
            let len = self.output.len();
            self.output.clear();
            // Rows without end are made for nobody.
            return if len > UNREAD_MAX { Err(gone()) } else { Ok(()) };
        }
        while self.waits() {
            tokio::time::timeout(STALL_MAX, self.send_some())
                .await
                .map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
        }
        Ok(())
    }

    /// Does work while the client is heard; an error if it goes away before the work is done, which is dropped then.
    pub async fn attend<T>(&mut self, work: impl Future<Output = T>) -> io::Result<T> {
        let mut work = pin!(work);
        while !self.is_over {
            let step = async {
                if self.waits() {
                    return self.send_some().await;
                }
                if self.input.len() >= AHEAD_MAX {
                    tokio::time::sleep(LOOK_EVERY).await;
                    if self.socket.is_gone() {
                        return Err(gone());
                    }
                    if self.input.len() >= FAR_MAX {
                        return Ok(());
                    }
                    // The end of a socket comes behind all that was sent, and the system holds only so much.
                    self.input.reserve(AHEAD_MAX);
                }
                self.read_some().await
            };
            let step = tokio::select! {
                biased;
                done = &mut work => return Ok(done),
                step = step => step,
            };
            if let Err(error) = step {
                self.is_over = (self.is_farewell)(&self.input);
                if !self.is_over {
                    return Err(error);
                }
                (self.sent, self.is_written) = (0, false);
                self.output.clear();
            }
        }
        Ok(work.await)
    }

    /// Reads what comes; an error at the end.
    async fn read_some(&mut self) -> io::Result<()> {
        self.input.reserve(READ_BYTES);
        match self.socket.read_buf(&mut self.input).await? {
            0 => Err(gone()),
            _ => Ok(()),
        }
    }

    /// Reads until so many bytes are there.
    pub async fn need(&mut self, len: usize) -> io::Result<()> {
        while self.input.len() < len {
            if self.is_over {
                return Err(gone());
            }
            self.read_some().await?;
        }
        Ok(())
    }

    /// Takes bytes that are there.
    pub fn take(&mut self, len: usize) -> BytesMut {
        self.input.split_to(len.min(self.input.len()))
    }

    /// The bytes at the front as a number, if they are there.
    pub fn peek_u32(&self, at: usize) -> Option<u32> {
        let mut bytes = self.input.get(at..at + 4)?;
        Some(bytes.get_u32())
    }

    /// Ends it in order.
    pub async fn close(mut self) {
        // There is nobody to tell.
        let _ = self.flush().await;
        let _ = self.socket.shutdown().await;
    }
}
