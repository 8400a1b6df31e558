//! Frames over anything that reads and writes.

use crate::frame::{Frame, FrameHeader, HEADER, Kind};
use crate::{MAGIC, Result, WireError};
use inlay_types::{Buffer, limits};
use std::io::{self, BufRead, BufReader, Read, Write};

/// Bytes that are read ahead: small frames come several at once.
const READ_AHEAD: usize = 16 << 10;
/// Memory that a payload gets before its bytes are there: a stranger has to send what it wants to be held.
const FIRST_ROOM: usize = 1 << 20;

/// Reads frames, none larger than the limit.
pub struct FrameReader<R> {
    source: BufReader<R>,
    limit: usize,
    /// Bytes of the frames that came in.
    pub received: u64,
}

impl<R: Read> FrameReader<R> {
    /// Frames of `source` of at most `limit` bytes each.
    pub fn new(source: R, limit: usize) -> Self {
        Self { source: BufReader::with_capacity(READ_AHEAD, source), limit, received: 0 }
    }

    /// From now on frames may have so many bytes.
    pub fn set_limit(&mut self, limit: usize) {
        self.limit = limit;
    }

    /// Bytes that a frame may have.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Reads the bytes that both ends begin with.
    pub fn magic(&mut self) -> Result<()> {
        let mut magic = [0; MAGIC.len()];
        self.source
            .read_exact(&mut magic)
            .map_err(|error| WireError::io("reading the first bytes", error))?;
        if magic == MAGIC {
            return Ok(());
        }
        let speaks = if magic.starts_with(b"HTTP") {
            "HTTP is spoken there"
        } else if matches!(magic, [0x15 | 0x16, 0x03, ..]) {
            // A record of TLS: an alert or a handshake.
            "TLS is spoken there (?tls=on)"
        } else {
            "another protocol is spoken there"
        };
        Err(WireError::malformed(format!(
            "{speaks}: {magic:02x?} are not the first bytes of the native protocol, whose port is 4655 unless said otherwise"
        )))
    }

    /// The next frame; `None` when the other end closed the connection between two frames.
    pub fn read(&mut self) -> Result<Option<(FrameHeader, Buffer)>> {
        let failed = |error| WireError::io("reading a frame", error);
        if uninterrupted(|| self.source.fill_buf().map(<[u8]>::is_empty)).map_err(failed)? {
            return Ok(None);
        }
        let mut header = [0; HEADER];
        self.source.read_exact(&mut header).map_err(failed)?;
        let header = FrameHeader::read(&header, self.limit)?;
        let size = header.size as usize;
        let held = limits::hold(size)?;
        let mut payload = Vec::new();
        limits::grow_counted(&mut payload, size.min(FIRST_ROOM))?;
        let read = self.source.by_ref().take(size as u64).read_to_end(&mut payload).map_err(failed)?;
        if read < size {
            return Err(failed(std::io::ErrorKind::UnexpectedEof.into()));
        }
        self.received += (HEADER + size) as u64;
        let payload = Buffer::from_vec(payload);
        let payload = match held {
            Some(held) => payload.holding(held),
            None => payload,
        };
        Ok(Some((header, payload)))
    }

    /// The next frame, which is there and no chunk.
    pub fn expect(&mut self) -> Result<(FrameHeader, Frame)> {
        let (header, payload) = self.read()?.ok_or(WireError::Closed { reason: String::new() })?;
        if header.kind == Kind::Chunk {
            return Err(WireError::malformed("rows where none are expected"));
        }
        Ok((header, Frame::read(header.kind, payload.bytes())?))
    }
}

/// Writes frames, and says when one is larger than agreed.
pub struct FrameWriter<W> {
    target: W,
    limit: usize,
    /// Bytes of a frame, at most, though the other end was told.
    most: usize,
    out: Vec<u8>,
    /// Bytes that went out.
    pub sent: u64,
}

impl<W: Write> FrameWriter<W> {
    /// Frames for `target`; larger ones than `limit` are announced, larger ones than `most` refused.
    pub fn new(target: W, limit: usize, most: usize) -> Self {
        Self { target, limit, most, out: Vec::new(), sent: 0 }
    }

    /// What was agreed on.
    pub fn set_limits(&mut self, limit: usize, most: usize) {
        (self.limit, self.most) = (limit, most);
    }

    /// Writes the bytes that both ends begin with; they leave with the next frame.
    pub fn magic(&mut self) {
        self.out.extend_from_slice(&MAGIC);
    }

    /// Writes a frame.
    pub fn frame(&mut self, stream: u32, frame: &Frame) -> Result<()> {
        let mut bytes = Vec::new();
        frame.write(stream, &mut bytes)?;
        self.framed(stream, &bytes)
    }

    /// Writes a frame that is there as bytes, with its header. One that is too large is announced first.
    pub fn framed(&mut self, stream: u32, bytes: &[u8]) -> Result<()> {
        self.framed_of(stream, bytes, 0)
    }

    /// The same of a chunk whose body has so many bytes when it is not compressed.
    pub fn framed_of(&mut self, stream: u32, bytes: &[u8], body: usize) -> Result<()> {
        let size = (bytes.len() - HEADER).max(body);
        if size > self.limit {
            if size > self.most {
                return Err(WireError::TooLarge { size: size as u64, limit: self.most as u64 });
            }
            let room = size.next_power_of_two().min(self.most);
            Frame::Grow(room as u64).write(stream, &mut self.out)?;
            self.limit = room;
        }
        let failed = |error| WireError::io("writing a frame", error);
        if !self.out.is_empty() {
            self.out.extend_from_slice(&bytes[..HEADER]);
            self.target.write_all(&self.out).map_err(failed)?;
            self.sent += self.out.len() as u64;
            self.out.clear();
            self.target.write_all(&bytes[HEADER..]).map_err(failed)?;
            self.sent += (bytes.len() - HEADER) as u64;
        } else {
            self.target.write_all(bytes).map_err(failed)?;
            self.sent += bytes.len() as u64;
        }
        uninterrupted(|| self.target.flush()).map_err(failed)
    }
}

/// Does it again after a signal, as `read_exact`, `read_to_end` and `write_all` do by themselves.
fn uninterrupted<T>(mut work: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match work() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A few bytes at a time, and a signal before each.
    struct Troubled<T> {
        inner: T,
        calls: usize,
    }

    impl<T> Troubled<T> {
        fn new(inner: T) -> Self {
            Self { inner, calls: 0 }
        }

        fn signal(&mut self) -> io::Result<()> {
            self.calls += 1;
            if self.calls % 2 == 1 { Err(io::ErrorKind::Interrupted.into()) } else { Ok(()) }
        }
    }

    impl<R: Read> Read for Troubled<R> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.signal()?;
            let room = buffer.len().min(5);
            self.inner.read(&mut buffer[..room])
        }
    }

    impl<W: Write> Write for Troubled<W> {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.signal()?;
            self.inner.write(&bytes[..bytes.len().min(5)])
        }

        fn flush(&mut self) -> io::Result<()> {
            self.signal()?;
            self.inner.flush()
        }
    }

    #[test]
    fn signals_break_no_connection() {
        let mut bytes = Vec::new();
        let mut writer = FrameWriter::new(Troubled::new(&mut bytes), 1 << 10, 1 << 10);
        writer.magic();
        for number in 0..20 {
            writer.frame(3, &Frame::Ping(number)).unwrap();
        }
        drop(writer);
        let mut reader = FrameReader::new(Troubled::new(&bytes[..]), 1 << 10);
        reader.magic().unwrap();
        for number in 0..20 {
            let (header, frame) = reader.expect().unwrap();
            assert!(header.stream == 3 && matches!(frame, Frame::Ping(found) if found == number));
        }
        assert!(reader.read().unwrap().is_none());
    }

    #[test]
    fn what_is_refused_leaves_nothing_behind() {
        let mut bytes = Vec::new();
        let mut writer = FrameWriter::new(&mut bytes, 64, 128);
        let error = writer.frame(1, &Frame::Goodbye("x".repeat(200))).unwrap_err();
        assert!(matches!(error, WireError::TooLarge { limit: 128, .. }), "{error}");
        writer.frame(2, &Frame::Ping(7)).unwrap();
        drop(writer);
        let mut reader = FrameReader::new(&bytes[..], 64);
        assert!(matches!(reader.expect().unwrap(), (header, Frame::Ping(7)) if header.stream == 2));
        assert!(reader.read().unwrap().is_none());
    }
}
