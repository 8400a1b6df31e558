//! How large the parts of a workbook are once they are unpacked.
//!
//! The calamine crate keeps the texts that cells share, and the styles, and a small file may have very many of them. A ZIP file's
//! directory at its end says how large each of its files is, so that memory can be asked for before they are unpacked. A directory
//! that is not understood is left to the crate, as is one that lies.

use std::io::{Read, Result, Seek, SeekFrom};

/// The directory's end: `PK\5\6`, and behind it sizes and a comment.
const END: [u8; 4] = [0x50, 0x4B, 5, 6];
const END_SIZE: usize = 22;
const COMMENT_MAX: usize = u16::MAX as usize;
/// An entry: `PK\1\2`, sizes and lengths, then the name and more.
const ENTRY: [u8; 4] = [0x50, 0x4B, 1, 2];
const ENTRY_SIZE: usize = 46;
/// No workbook has a directory of so many bytes.
const DIRECTORY_MAX: u64 = 1 << 24;
/// What is kept in memory.
const KEPT: [&[u8]; 2] = [b"xl/sharedstrings.xml", b"xl/styles.xml"];

fn word(bytes: &[u8], at: usize) -> u64 {
    bytes
        .get(at..at + 4)
        .and_then(|word| word.first_chunk())
        .map_or(0, |word| u32::from_le_bytes(*word).into())
}

fn half(bytes: &[u8], at: usize) -> usize {
    bytes
        .get(at..at + 2)
        .and_then(|half| half.first_chunk())
        .map_or(0, |half| u16::from_le_bytes(*half).into())
}

/// Bytes of the parts that are kept in memory; 0 where the directory is not found. The file is read from its beginning afterwards.
pub(super) fn kept_size(file: &mut (impl Read + Seek)) -> Result<u64> {
    let size = file.seek(SeekFrom::End(0))?;
    let tail = size.min((END_SIZE + COMMENT_MAX) as u64);
    file.seek(SeekFrom::Start(size - tail))?;
    let mut end = Vec::new();
    file.by_ref().take(tail).read_to_end(&mut end)?;
    let mut kept = 0;
    if let Some(at) = end.windows(END.len()).rposition(|bytes| bytes == END) {
        let (length, start) = (word(&end, at + 12), word(&end, at + 16));
        let mut entries = Vec::new();
        if length <= DIRECTORY_MAX && start <= size {
            file.seek(SeekFrom::Start(start))?;
            file.by_ref().take(length).read_to_end(&mut entries)?;
        }
        kept = kept_of(&entries);
    }
    file.rewind()?;
    Ok(kept)
}

fn kept_of(mut entries: &[u8]) -> u64 {
    let mut kept = 0u64;
    while entries.starts_with(&ENTRY) {
        let name_size = half(entries, 28);
        let name = entries.get(ENTRY_SIZE..ENTRY_SIZE + name_size).unwrap_or_default();
        if KEPT.iter().any(|wanted| name.eq_ignore_ascii_case(wanted)) {
            kept = kept.saturating_add(word(entries, 24));
        }
        let entry = ENTRY_SIZE + name_size + half(entries, 30) + half(entries, 32);
        entries = entries.get(entry..).unwrap_or_default();
    }
    kept
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
}
