//! Numbers and texts of frames: appended to a `Vec<u8>`, read from a slice with every length checked.

use crate::{Result, WireError};

/// Appends a text: its length in 32 bits, then its bytes.
pub(crate) fn put_str(out: &mut Vec<u8>, text: &str) {
    put_bytes(out, text.as_bytes());
}

/// Appends bytes: their length in 32 bits, then themselves. What is longer than 4 GiB is cut, as no frame could hold it.
pub(crate) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    let len = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    out.extend_from_slice(&len.to_le_bytes());
    out.extend_from_slice(&bytes[..len as usize]);
}

/// Appends zeros up to the next multiple of `to` behind `start`.
pub(crate) fn pad(out: &mut Vec<u8>, start: usize, to: usize) {
    let len = out.len() - start;
    out.resize(start + len.next_multiple_of(to), 0);
}

/// A payload that is read from its beginning.
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Whose payload it is, for errors.
    of: &'static str,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8], of: &'static str) -> Self {
        Self { bytes, at: 0, of }
    }

    pub(crate) fn wrong(&self, what: impl std::fmt::Display) -> WireError {
        WireError::malformed(format!("{} at byte {} of {}", what, self.at, self.of))
    }

    /// Bytes that were not read.
    pub(crate) fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// Bytes that were read.
    pub(crate) fn position(&self) -> usize {
        self.at
    }

    pub(crate) fn take(&mut self, len: usize) -> Result<&'a [u8]> {
        if len > self.left() {
            return Err(self.wrong(format_args!("{len} bytes are named and {} are there", self.left())));
        }
        let taken = &self.bytes[self.at..self.at + len];
        self.at += len;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    pub(crate) fn u8(&mut self) -> Result<u8> {
        Ok(self.array::<1>()?[0])
    }

    pub(crate) fn u16(&mut self) -> Result<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub(crate) fn u32(&mut self) -> Result<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Result<u64> {
        self.array().map(u64::from_le_bytes)
    }

    pub(crate) fn key(&mut self) -> Result<[u8; 16]> {
        self.array()
    }

    pub(crate) fn f64(&mut self) -> Result<f64> {
        self.array().map(f64::from_le_bytes)
    }

    pub(crate) fn bytes(&mut self) -> Result<&'a [u8]> {
        let len = self.u32()? as usize;
        self.take(len)
    }

    pub(crate) fn str(&mut self) -> Result<&'a str> {
        let bytes = self.bytes()?;
        std::str::from_utf8(bytes).map_err(|_| self.wrong("a text that is not UTF-8 ends"))
    }

    /// A number of things that take at least `least` bytes each.
    pub(crate) fn count(&mut self, count: usize, least: usize) -> Result<usize> {
        if count > self.left() / least.max(1) {
            return Err(
                self.wrong(format_args!("{count} entries are named and {} bytes are there", self.left()))
            );
        }
        Ok(count)
    }

    /// Nothing may be left.
    pub(crate) fn end(&self) -> Result<()> {
        if self.left() == 0 {
            Ok(())
        } else {
            Err(self.wrong(format_args!("{} bytes too many", self.left())))
        }
    }
}
