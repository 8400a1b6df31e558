//! How large the parts of a workbook are once they are unpacked.
//!
//! The calamine crate keeps the texts that cells share, and the styles, and a small file may have very many of them. A ZIP file's
//! directory at its end says how large each of its files is, so that memory can be asked for before they are unpacked. Where it
//! may be a lie that matters, for what is packed could become more than there is memory for, the part is unpacked once to be
//! measured. A directory that is not understood is left to the crate.

use flate2::read::DeflateDecoder;
use inlay_types::limits;
use std::io::{Error, ErrorKind, Read, Result, Seek, SeekFrom};

/// The directory's end: `PK\5\6`, and behind it sizes and a comment.
const END: [u8; 4] = [0x50, 0x4B, 5, 6];
const END_SIZE: usize = 22;
const COMMENT_MAX: usize = u16::MAX as usize;
/// Before it, in files of a newer kind: where the end lies that has sizes of eight bytes, and that end.
const LOCATOR: [u8; 4] = [0x50, 0x4B, 6, 7];
const LOCATOR_SIZE: usize = 20;
const LARGE_END: [u8; 4] = [0x50, 0x4B, 6, 6];
const LARGE_END_SIZE: usize = 56;
/// An entry: `PK\1\2`, sizes and lengths, then the name and more.
const ENTRY: [u8; 4] = [0x50, 0x4B, 1, 2];
const ENTRY_SIZE: usize = 46;
/// Before a file's bytes: `PK\3\4`, sizes and lengths, then the name and more.
const LOCAL: [u8; 4] = [0x50, 0x4B, 3, 4];
const LOCAL_SIZE: usize = 30;
/// What an entry has of sizes that are elsewhere, and the number of the field that has them.
const ELSEWHERE: u64 = u32::MAX as u64;
const LARGE_SIZES: usize = 1;
/// No workbook has a directory of so many bytes.
const DIRECTORY_MAX: u64 = 1 << 24;
/// What is kept in memory.
const KEPT: [&[u8]; 2] = [b"xl/sharedstrings.xml", b"xl/styles.xml"];
/// How a file is packed: DEFLATE, of which a byte becomes so many at most.
const DEFLATE: usize = 8;
const DEFLATE_RATIO_MAX: u64 = 1032;

/// A file of the archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Part {
    method: usize,
    packed: u64,
    unpacked: u64,
    offset: u64,
}

fn word(bytes: &[u8], at: usize) -> u64 {
    bytes
        .get(at..at + 4)
        .and_then(|word| word.first_chunk())
        .map_or(0, |word| u32::from_le_bytes(*word).into())
}

fn long(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..at + 8).and_then(|long| long.first_chunk()).map_or(0, |long| u64::from_le_bytes(*long))
}

fn half(bytes: &[u8], at: usize) -> usize {
    bytes
        .get(at..at + 2)
        .and_then(|half| half.first_chunk())
        .map_or(0, |half| u16::from_le_bytes(*half).into())
}

/// Bytes of the parts that are kept in memory; 0 where the directory is not found. The file is read from its beginning afterwards.
/// An error if a part has more than the directory says, and that more would matter.
pub(super) fn kept_size(file: &mut (impl Read + Seek)) -> Result<u64> {
    let mut kept = 0u64;
    for part in kept_parts(file)? {
        let ratio = if part.method == DEFLATE { DEFLATE_RATIO_MAX } else { 1 };
        let most = part.packed.saturating_mul(ratio);
        let is_harmless = most <= part.unpacked
            || limits::hold(usize::try_from(most.saturating_mul(2)).unwrap_or(usize::MAX)).is_ok();
        if !is_harmless && has_more(file, part)? {
            let message =
                format!("its directory says that a part has {} bytes, and it has more", part.unpacked);
            return Err(Error::new(ErrorKind::InvalidData, message));
        }
        kept = kept.saturating_add(part.unpacked);
    }
    file.rewind()?;
    Ok(kept)
}

fn kept_parts(file: &mut (impl Read + Seek)) -> Result<Vec<Part>> {
    let size = file.seek(SeekFrom::End(0))?;
    let tail = size.min((LOCATOR_SIZE + END_SIZE + COMMENT_MAX) as u64);
    let end = read_at(file, size - tail, tail)?;
    let Some(at) = end.windows(END.len()).rposition(|bytes| bytes == END) else { return Ok(Vec::new()) };
    let (mut length, mut start) = (word(&end, at + 12), word(&end, at + 16));
    let locator = at.checked_sub(LOCATOR_SIZE).and_then(|before| end.get(before..at));
    if let Some(locator) = locator.filter(|locator| locator.starts_with(&LOCATOR)) {
        let large = read_at(file, long(locator, 8), LARGE_END_SIZE as u64)?;
        if large.starts_with(&LARGE_END) {
            (length, start) = (long(&large, 40), long(&large, 48));
        }
    }
    if length > DIRECTORY_MAX || start > size {
        return Ok(Vec::new());
    }
    Ok(kept_of(&read_at(file, start, length)?))
}

/// So many bytes from a place, fewer at the end of the file.
fn read_at(file: &mut (impl Read + Seek), start: u64, len: u64) -> Result<Vec<u8>> {
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    file.by_ref().take(len).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn kept_of(mut entries: &[u8]) -> Vec<Part> {
    let mut kept = Vec::new();
    while entries.starts_with(&ENTRY) {
        let (name_size, more_size) = (half(entries, 28), half(entries, 30));
        let name = entries.get(ENTRY_SIZE..ENTRY_SIZE + name_size).unwrap_or_default();
        let name: Vec<u8> = name.iter().map(|byte| if *byte == b'\\' { b'/' } else { *byte }).collect();
        let name = name.strip_prefix(b"/").unwrap_or(&name);
        if KEPT.iter().any(|wanted| name.eq_ignore_ascii_case(wanted)) {
            let behind = ENTRY_SIZE + name_size;
            let more = entries.get(behind..behind + more_size).unwrap_or_default();
            kept.push(part_of(entries, more));
        }
        let entry = ENTRY_SIZE + name_size + more_size + half(entries, 32);
        entries = entries.get(entry..).unwrap_or_default();
    }
    kept
}

/// The part of an entry with these additional fields, of which one may have what does not fit into four bytes.
fn part_of(entry: &[u8], mut more: &[u8]) -> Part {
    let mut large: &[u8] = &[];
    while more.len() >= 4 {
        let size = half(more, 2);
        if half(more, 0) == LARGE_SIZES {
            large = more.get(4..4 + size).unwrap_or_default();
        }
        more = more.get(4 + size..).unwrap_or_default();
    }
    let mut field = |at: usize| match word(entry, at) {
        ELSEWHERE if large.len() >= 8 => {
            let value = long(large, 0);
            large = &large[8..];
            value
        }
        value => value,
    };
    let (unpacked, packed) = (field(24), field(20));
    Part { method: half(entry, 10), packed, unpacked, offset: field(42) }
}

/// Whether a part unpacks to more bytes than the directory says. What cannot be unpacked is an error of who reads it.
fn has_more(file: &mut (impl Read + Seek), part: Part) -> Result<bool> {
    let local = read_at(file, part.offset, LOCAL_SIZE as u64)?;
    if !local.starts_with(&LOCAL) {
        return Ok(false);
    }
    let names = half(&local, 26) + half(&local, 28);
    file.seek(SeekFrom::Start(part.offset.saturating_add((LOCAL_SIZE + names) as u64)))?;
    let packed = file.by_ref().take(part.packed);
    let mut bytes: Box<dyn Read + '_> = match part.method {
        DEFLATE => Box::new(DeflateDecoder::new(packed)),
        _ => Box::new(packed),
    };
    let (mut chunk, mut count) = (vec![0; 1 << 16], 0u64);
    while count <= part.unpacked {
        if limits::check().is_err() {
            // Who reads the sheet stops for it.
            return Ok(false);
        }
        match bytes.read(&mut chunk) {
            Ok(0) | Err(_) => return Ok(false),
            Ok(read) => count += read as u64,
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    /// A directory of files of these names and sizes, and nothing else.
    fn archive(files: &[(&str, u32)], comment: &[u8]) -> Vec<u8> {
        let mut bytes = b"PK and what is packed".to_vec();
        let start = bytes.len() as u32;
        for (name, size) in files {
            let mut entry = vec![0; ENTRY_SIZE];
            entry[..4].copy_from_slice(&ENTRY);
            entry[24..28].copy_from_slice(&size.to_le_bytes());
            entry[28..30].copy_from_slice(&(name.len() as u16).to_le_bytes());
            bytes.extend(entry);
            bytes.extend(name.as_bytes());
        }
        let mut end = vec![0; END_SIZE];
        end[..4].copy_from_slice(&END);
        end[12..16].copy_from_slice(&(bytes.len() as u32 - start).to_le_bytes());
        end[16..20].copy_from_slice(&start.to_le_bytes());
        bytes.extend(end);
        bytes.extend(comment);
        bytes
    }

    #[test]
    fn a_directory_says_what_is_kept() {
        let files =
            [("xl/worksheets/sheet1.xml", 7), ("xl/sharedStrings.xml", 4_000_000_000), ("xl/styles.xml", 5)];
        for comment in [&b""[..], b"a comment"] {
            let mut file = Cursor::new(archive(&files, comment));
            assert_eq!(kept_size(&mut file).unwrap(), 4_000_000_005);
            assert_eq!(file.position(), 0);
        }
        let whole = archive(&files, b"");
        for len in 0..whole.len() - 2 {
            assert_eq!(kept_size(&mut Cursor::new(&whole[..len])).unwrap(), 0);
        }
        let mut damaged = whole.clone();
        let at = whole.len() - 6;
        damaged[at..at + 4].copy_from_slice(&u32::MAX.to_le_bytes());
        assert_eq!(kept_size(&mut Cursor::new(damaged)).unwrap(), 0);
    }

    /// An archive with one packed part, of which the directory says that it has `says` bytes; with sizes of eight bytes if `large`.
    fn packed(text: &[u8], says: u64, large: bool) -> Vec<u8> {
        let name = b"xl/sharedStrings.xml";
        let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::best());
        std::io::Write::write_all(&mut encoder, text).unwrap();
        let body = encoder.finish().unwrap();
        let mut bytes = vec![0; LOCAL_SIZE];
        bytes[..4].copy_from_slice(&LOCAL);
        bytes[26..28].copy_from_slice(&(name.len() as u16).to_le_bytes());
        bytes.extend(name);
        bytes.extend(&body);
        let start = bytes.len() as u64;
        let mut entry = vec![0; ENTRY_SIZE];
        entry[..4].copy_from_slice(&ENTRY);
        entry[10] = DEFLATE as u8;
        entry[20..24].copy_from_slice(&(body.len() as u32).to_le_bytes());
        entry[24..28].copy_from_slice(&(if large { u32::MAX } else { says as u32 }).to_le_bytes());
        entry[28..30].copy_from_slice(&(name.len() as u16).to_le_bytes());
        entry[30] = if large { 12 } else { 0 };
        bytes.extend(entry);
        bytes.extend(name);
        if large {
            bytes.extend([1, 0, 8, 0]);
            bytes.extend(says.to_le_bytes());
        }
        let end = bytes.len() as u64;
        if large {
            let mut record = vec![0; LARGE_END_SIZE];
            record[..4].copy_from_slice(&LARGE_END);
            record[40..48].copy_from_slice(&(end - start).to_le_bytes());
            record[48..56].copy_from_slice(&start.to_le_bytes());
            bytes.extend(record);
            let mut locator = vec![0; LOCATOR_SIZE];
            locator[..4].copy_from_slice(&LOCATOR);
            locator[8..16].copy_from_slice(&end.to_le_bytes());
            bytes.extend(locator);
        }
        let mut last = vec![0; END_SIZE];
        last[..4].copy_from_slice(&END);
        let (length, start) = if large { (u32::MAX, u32::MAX) } else { ((end - start) as u32, start as u32) };
        last[12..16].copy_from_slice(&length.to_le_bytes());
        last[16..20].copy_from_slice(&start.to_le_bytes());
        bytes.extend(last);
        bytes
    }

    #[test]
    fn sizes_of_eight_bytes_are_read() {
        let mut file = Cursor::new(packed(b"text", 7 << 32, true));
        assert_eq!(kept_size(&mut file).unwrap(), 7 << 32);
    }

    #[test]
    fn a_directory_that_lies_is_found_out_where_it_matters() {
        let text = vec![b'a'; 8 << 20];
        let limits =
            limits::Limits::new(inlay_types::MemoryBudget::new(1 << 22), inlay_types::Interrupt::new());
        for large in [false, true] {
            let mut lying = Cursor::new(packed(&text, 100, large));
            let mut honest = Cursor::new(packed(&text, text.len() as u64, large));
            limits::with(limits.clone(), || {
                assert_eq!(kept_size(&mut lying).unwrap_err().kind(), ErrorKind::InvalidData);
                assert_eq!(kept_size(&mut honest).unwrap(), text.len() as u64);
            });
            // There is memory for whatever it may be.
            assert_eq!(kept_size(&mut lying).unwrap(), 100);
        }
    }
}
