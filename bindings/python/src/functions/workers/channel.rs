//! Messages between this process and a worker: bytes with their length before them, and at most one descriptor each.
//!
//! Over a pair of Unix sockets. Whoever dies closes its end, which the other sees. All `unsafe` of sending descriptors
//! is here.

#![expect(unsafe_code, reason = "sockets and descriptors by calls of the system")]

use std::io::{Error, ErrorKind, Read, Result, Write};
use std::mem::{size_of, zeroed};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// More is no message of ours.
const MESSAGE_SIZE_MAX: u32 = 1 << 30;

/// One end.
pub struct Channel(UnixStream);

/// Room for one descriptor beside a message, aligned as the system wants it.
#[repr(C, align(8))]
struct Beside([u8; 64]);

const DESCRIPTOR_SIZE: u32 = size_of::<RawFd>() as u32;

impl Channel {
    pub fn new(stream: UnixStream) -> Self {
        Self(stream)
    }

    /// Two ends; the second is for a child's standard input.
    pub fn pair() -> Result<(Self, OwnedFd)> {
        let (own, other) = UnixStream::pair()?;
        Ok((Self(own), other.into()))
    }

    /// The same end once more: one to read, one to write.
    pub fn again(&self) -> Result<Self> {
        self.0.try_clone().map(Self)
    }

    /// Sends a message.
    pub fn send(&self, message: &[u8], descriptor: Option<BorrowedFd<'_>>) -> Result<()> {
        let size = u32::try_from(message.len()).ok().filter(|size| *size <= MESSAGE_SIZE_MAX);
        let size = size.ok_or_else(|| Error::new(ErrorKind::InvalidInput, "a message of more than 1 GB"))?;
        let mut head = size.to_le_bytes();
        let sent = self.send_head(&mut head, descriptor)?;
        let mut stream = &self.0;
        stream.write_all(head.get(sent..).unwrap_or_default())?;
        stream.write_all(message)
    }

    fn send_head(&self, head: &mut [u8; 4], descriptor: Option<BorrowedFd<'_>>) -> Result<usize> {
        let mut beside = Beside([0; 64]);
        let mut part = libc::iovec { iov_base: head.as_mut_ptr().cast(), iov_len: head.len() };
        // SAFETY: zero is a valid value of every field.
        let mut message: libc::msghdr = unsafe { zeroed() };
        message.msg_iov = &mut part;
        message.msg_iovlen = 1;
        if let Some(descriptor) = descriptor {
            message.msg_control = beside.0.as_mut_ptr().cast();
            // SAFETY: computes a size; 64 bytes hold a header and one descriptor.
            message.msg_controllen = unsafe { libc::CMSG_SPACE(DESCRIPTOR_SIZE) } as _;
            // SAFETY: the room is aligned and large enough for one header with one descriptor, which is written as it lies.
            unsafe {
                let header = libc::CMSG_FIRSTHDR(&message);
                (*header).cmsg_level = libc::SOL_SOCKET;
                (*header).cmsg_type = libc::SCM_RIGHTS;
                (*header).cmsg_len = libc::CMSG_LEN(DESCRIPTOR_SIZE) as _;
                libc::CMSG_DATA(header).cast::<RawFd>().write_unaligned(descriptor.as_raw_fd());
            }
        }
        loop {
            // SAFETY: the message points to memory that is alive.
            let sent = unsafe { libc::sendmsg(self.0.as_raw_fd(), &message, libc::MSG_NOSIGNAL) };
            match usize::try_from(sent) {
                Ok(sent) => return Ok(sent),
                Err(_) => again_if_interrupted()?,
            }
        }
    }

    /// Waits for the next message.
    pub fn receive(&self) -> Result<(Vec<u8>, Option<OwnedFd>)> {
        let mut head = [0u8; 4];
        let (received, descriptor) = self.receive_head(&mut head)?;
        if received == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        let mut stream = &self.0;
        stream.read_exact(head.get_mut(received..).unwrap_or_default())?;
        let size = u32::from_le_bytes(head);
        if size > MESSAGE_SIZE_MAX {
            return Err(Error::new(ErrorKind::InvalidData, "a message of more than 1 GB"));
        }
        let mut message = vec![0; size as usize];
        stream.read_exact(&mut message)?;
        Ok((message, descriptor))
    }

    fn receive_head(&self, head: &mut [u8; 4]) -> Result<(usize, Option<OwnedFd>)> {
        let mut beside = Beside([0; 64]);
        let mut part = libc::iovec { iov_base: head.as_mut_ptr().cast(), iov_len: head.len() };
        // SAFETY: zero is a valid value of every field.
        let mut message: libc::msghdr = unsafe { zeroed() };
        message.msg_iov = &mut part;
        message.msg_iovlen = 1;
        message.msg_control = beside.0.as_mut_ptr().cast();
        // SAFETY: computes a size; one descriptor at most is received.
        message.msg_controllen = unsafe { libc::CMSG_SPACE(DESCRIPTOR_SIZE) } as _;
        let received = loop {
            // SAFETY: the message points to memory that is alive and as large as it says.
            let received = unsafe { libc::recvmsg(self.0.as_raw_fd(), &mut message, libc::MSG_CMSG_CLOEXEC) };
            match usize::try_from(received) {
                Ok(received) => break received,
                Err(_) => again_if_interrupted()?,
            }
        };
        // SAFETY: the system filled in the headers; a descriptor that it says is there is open, and ours from now on.
        let descriptor = unsafe {
            let header = libc::CMSG_FIRSTHDR(&message);
            let is_descriptor = !header.is_null()
                && (*header).cmsg_level == libc::SOL_SOCKET
                && (*header).cmsg_type == libc::SCM_RIGHTS;
            is_descriptor
                .then(|| OwnedFd::from_raw_fd(libc::CMSG_DATA(header).cast::<RawFd>().read_unaligned()))
        };
        Ok((received, descriptor))
    }

    /// Whether there is something to receive, or the other end is gone, within a time.
    pub fn wait(&self, limit: Duration) -> Result<bool> {
        let mut asked = libc::pollfd { fd: self.0.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        let milliseconds = i32::try_from(limit.as_millis()).unwrap_or(i32::MAX);
        loop {
            // SAFETY: one entry, which is alive.
            match unsafe { libc::poll(&mut asked, 1, milliseconds) } {
                0 => return Ok(false),
                found if found > 0 => return Ok(true),
                _ => again_if_interrupted()?,
            }
        }
    }
}

fn again_if_interrupted() -> Result<()> {
    let error = Error::last_os_error();
    if error.kind() == ErrorKind::Interrupted { Ok(()) } else { Err(error) }
}

/// Ends this process at once, whatever its other threads do.
pub fn leave() -> ! {
    // SAFETY: ends the process without running anything of it.
    unsafe { libc::_exit(0) }
}
