//! A socket and what is on its way: bytes that came and were not looked at yet, bytes that were not sent yet.
//!
//! While a statement runs the client is heard: [`Wire::attend`] sends what waits, reads a little ahead, and ends the work when the client goes
//! away. Both directions are bounded: who sends much meanwhile is not read, and whoever makes rows waits in [`Wire::flush`] until the client took
//! those before. Nothing of a message is kept before its length was looked at, and memory is taken as bytes come, not as they are announced.

use bytes::{Buf, BytesMut};
use std::future::Future;
use std::io;
use std::pin::pin;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// A socket, encrypted or not.
pub trait Socket: AsyncRead + AsyncWrite + Unpin + Send {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> Socket for S {}

/// Bytes that are read while a statement runs.
const AHEAD_MAX: usize = 64 << 10;
/// Bytes that are read at once.
const READ_BYTES: usize = 16 << 10;
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
}

fn gone() -> io::Error {
    io::Error::from(io::ErrorKind::UnexpectedEof)
}

impl<S: Socket> Wire<S> {
    /// A socket nothing was read from or written to.
    pub fn new(socket: S) -> Self {
        Self { socket, input: BytesMut::new(), output: Vec::new(), sent: 0, is_written: false }
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
        loop {
            let step = async {
                if self.waits() {
                    return self.send_some().await;
                }
                if self.input.len() >= AHEAD_MAX {
                    return std::future::pending().await;
                }
                self.read_some().await
            };
            tokio::select! {
                biased;
                done = &mut work => return Ok(done),
                step = step => step?,
            }
        }
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
