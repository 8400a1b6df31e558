//! A socket that waits for its client only so long: for doors whose library writes by itself and knows no such end.

use crate::wire::{STALL_MAX, Socket};
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

/// A socket whose client has to take what is sent to it within [`STALL_MAX`].
pub struct Patient<S> {
    socket: S,
    /// Runs while the client takes nothing.
    until: Option<Pin<Box<Sleep>>>,
}

impl<S> Patient<S> {
    /// A socket on which nothing waits.
    pub fn new(socket: S) -> Self {
        Self { socket, until: None }
    }

    /// What came of a try to send: waiting has an end.
    fn waited<T>(&mut self, cx: &mut Context<'_>, tried: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if tried.is_ready() {
            self.until = None;
            return tried;
        }
        let until = self.until.get_or_insert_with(|| Box::pin(tokio::time::sleep(STALL_MAX)));
        until.as_mut().poll(cx).map(|()| Err(io::Error::from(io::ErrorKind::TimedOut)))
    }
}

impl<S: Socket> Socket for Patient<S> {
    fn is_gone(&self) -> bool {
        self.socket.is_gone()
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Patient<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_read(cx, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Patient<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let tried = Pin::new(&mut self.socket).poll_write(cx, bytes);
        self.waited(cx, tried)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let tried = Pin::new(&mut self.socket).poll_flush(cx);
        self.waited(cx, tried)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let tried = Pin::new(&mut self.socket).poll_shutdown(cx);
        self.waited(cx, tried)
    }
}
