//! Streams of strings, decompressed straight into views over a heap.
//!
//! ```text
//! lengths, as integers | bytes of all strings that lie in the heap | bytes of all that lie in their view
//! ```
//! Strings of up to 12 bytes are apart from longer ones, so that the bytes of the long ones, decompressed, are the
//! heap. Views are made from lengths, never read, so they are in bounds.

use super::{bytes, integers};
use crate::{ByteReader, ByteWriter};
use inlay_types::view::INLINE_LIMIT;
use inlay_types::{Buffer, Error, Heap, Reservation, Result, View};

/// A heap buffer is addressed by 32 bits.
const HEAP_SIZE_MAX: usize = u32::MAX as usize - 64;

/// Appends a stream of strings.
pub fn compress<'a>(strings: impl Iterator<Item = &'a [u8]>, out: &mut ByteWriter) -> Result<()> {
    let (mut lengths, mut long, mut short) = (Vec::new(), Vec::new(), Vec::new());
    for string in strings {
        lengths.push(string.len() as u64);
        if string.len() > INLINE_LIMIT { &mut long } else { &mut short }.extend_from_slice(string);
    }
    if long.len() > HEAP_SIZE_MAX {
        return Err(Error::unsupported(format!("{} bytes of strings in one segment", long.len())));
    }
    integers::compress(&lengths, out);
    bytes::compress(&long, out)?;
    bytes::compress(&short, out)
}

/// Takes a stream of `views.len()` strings and returns the heap of the views. Memory of the heap is reserved first.
/// With `utf8`, strings that are not UTF-8 are refused.
pub fn decompress(
    reader: &mut ByteReader<'_>,
    views: &mut [View],
    utf8: bool,
    reservation: &mut Reservation,
) -> Result<Heap> {
    let mut lengths = vec![0u32; views.len()];
    integers::decompress(reader, &mut lengths)?;
    let is_long = |len: &&u32| **len as usize > INLINE_LIMIT;
    let total = |lengths: &mut dyn Iterator<Item = &u32>| lengths.map(|len| u64::from(*len)).sum::<u64>();
    let long_size = total(&mut lengths.iter().filter(is_long));
    let short_size = total(&mut lengths.iter().filter(|len| !is_long(len)));
    if long_size > HEAP_SIZE_MAX as u64 {
        return Err(Error::corrupt(format!("{long_size} bytes of strings in one segment")));
    }
    let long = read_bytes(reader, long_size as usize, reservation)?;
    let short = read_bytes(reader, short_size as usize, reservation)?;
    if utf8 {
        check_utf8(long.bytes(), lengths.iter().filter(is_long))?;
        check_utf8(short.bytes(), lengths.iter().filter(|len| !is_long(len)))?;
    }
    let (mut offset, mut rest) = (0usize, short.bytes());
    for (view, len) in views.iter_mut().zip(&lengths) {
        let len = *len as usize;
        if len > INLINE_LIMIT {
            *view = View::new(&long.bytes()[offset..offset + len], 0, offset as u32);
            offset += len;
        } else {
            let (string, behind) = rest.split_at(len);
            (*view, rest) = (View::inline(string), behind);
        }
    }
    Ok(if long_size == 0 { Heap::default() } else { Heap::new(vec![long]) })
}

fn read_bytes(reader: &mut ByteReader<'_>, size: usize, reservation: &mut Reservation) -> Result<Buffer> {
    let stream = bytes::Stream::read(reader, size)?;
    reservation.grow(size as u64)?;
    let mut buffer = Buffer::zeroed(size + bytes::SLACK);
    stream.decompress(buffer.make_mut::<u8>())?;
    Ok(buffer.slice(0, size))
}

/// All strings are UTF-8 when their sequence is and none begins inside of a character.
fn check_utf8<'a>(bytes: &[u8], lengths: impl Iterator<Item = &'a u32>) -> Result<()> {
    if bytes.is_ascii() {
        return Ok(());
    }
    let text = std::str::from_utf8(bytes).map_err(|_| Error::corrupt("a string that is not UTF-8"))?;
    let mut offset = 0;
    for len in lengths {
        offset += *len as usize;
        if !text.is_char_boundary(offset) {
            return Err(Error::corrupt("a string that ends inside of a character"));
        }
    }
    Ok(())
}
