//! A remote file as a range source.
//!
//! The first request asks for the range that the reader is going to look at, the beginning of a text or the end of a Parquet file,
//! and its answer tells the size: a small file takes one request. A server that knows no ranges sends the whole file, which is
//! kept in memory if it is small and in a temporary file otherwise.

use super::http::{Call, Place, Reply, run};
use super::sign::time_of;
use crate::files::{About, Files, First};
use crate::ranges::{LocalFile, RangeSource, check_range, noted};
use bytes::Bytes;
use inlay_types::limits;
use inlay_types::{Error, Reservation, Result};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::SystemTime;

/// Bytes asked for first.
const BEGINNING_SIZE: u64 = 1 << 20;
const END_SIZE: u64 = 128 << 10;
/// Small reads are rounded to blocks of this size, of which some are kept.
const BLOCK_SIZE: u64 = 1 << 20;
const BLOCKS_MAX: usize = 16;
/// Files that are sent as a whole and are larger lie on disk.
const IN_MEMORY_MAX: u64 = 16 << 20;
/// Ranges that lie closer together are read as one, unless that is larger than this.
const GAP_MAX: u64 = 256 << 10;
const SPAN_MAX: u64 = 16 << 20;
/// Requests that one read makes at once.
const REQUESTS_MAX: usize = 8;

/// A file whose server knows ranges.
struct RemoteFile {
    files: Arc<Files>,
    place: Place,
    path: String,
    size: u64,
    modified: Option<SystemTime>,
    /// What the server calls this version of the file.
    tag: Option<String>,
    blocks: Mutex<VecDeque<Block>>,
}

/// Bytes that were read, and where they lie.
struct Block {
    start: u64,
    bytes: Bytes,
    _reservation: Option<Reservation>,
}

/// A file that the server sent as a whole.
struct WholeFile {
    bytes: Whole,
    modified: Option<SystemTime>,
}

enum Whole {
    Memory(Bytes, #[expect(dead_code, reason = "held while the bytes are")] Reservation),
    Disk(LocalFile),
}

/// What came of the first request.
enum Opened {
    Ranged {
        size: u64,
        start: u64,
        bytes: Vec<u8>,
        tag: Option<String>,
        modified: Option<SystemTime>,
    },
    Whole(WholeFile),
    /// The server does not take the range.
    Refused,
}

/// Opens a file; a server that tells what is wrong is believed.
pub(crate) fn open(files: &Arc<Files>, path: &str, first: First) -> Result<Arc<dyn RangeSource>> {
    let place = Place::of(files, path)?;
    // Not all servers know ranges that are counted from the end, and an empty file has none at all.
    let ends = [format!("bytes=-{END_SIZE}"), format!("bytes=0-{}", END_SIZE - 1)];
    let beginning = [format!("bytes=0-{}", BEGINNING_SIZE - 1)];
    let ranges: &[String] = if first == First::End { &ends } else { &beginning };
    for range in ranges.iter().map(Some).chain([None]) {
        let headers: Vec<_> = range.iter().map(|range| ("Range", (*range).clone())).collect();
        let call = Call {
            headers: &headers,
            accepts: if range.is_some() { &[400, 405, 416, 501] } else { &[] },
            ..Call::new("GET", &place, path, "cannot open")
        };
        let opened = run(files, &call, &mut |reply| first_answer(files, reply));
        match opened? {
            Opened::Ranged { size, start, bytes, tag, modified } => {
                let file = RemoteFile {
                    files: Arc::clone(files),
                    place,
                    path: path.to_string(),
                    size,
                    modified,
                    tag,
                    blocks: Mutex::default(),
                };
                file.keep(start, Bytes::from(bytes));
                return Ok(Arc::new(file));
            }
            Opened::Whole(whole) => return Ok(Arc::new(whole)),
            Opened::Refused => {}
        }
    }
    Err(Error::internal("a request without a range was refused for its range"))
}

fn first_answer(files: &Files, reply: &mut Reply) -> io::Result<Opened> {
    let modified = reply.header("last-modified").and_then(time_of);
    let range = reply.header("content-range").and_then(content_range);
    match (reply.status, range) {
        (206, Some((start, Some(size)))) => {
            // A weak tag may be that of another version.
            let tag = reply.header("etag").filter(|tag| !tag.starts_with("W/")).map(str::to_string);
            let bytes = reply.bytes(BEGINNING_SIZE.max(END_SIZE))?;
            Ok(Opened::Ranged { size, start, bytes, tag, modified })
        }
        (200, _) => Ok(Opened::Whole(WholeFile { bytes: whole(files, reply)?, modified })),
        _ => Ok(Opened::Refused),
    }
}

/// First byte and size of `bytes 0-99/1234`.
fn content_range(text: &str) -> Option<(u64, Option<u64>)> {
    let (range, size) = text.trim().strip_prefix("bytes")?.trim().split_once('/')?;
    Some((range.split_once('-')?.0.trim().parse().ok()?, size.trim().parse().ok()))
}

fn whole(files: &Files, reply: &mut Reply) -> io::Result<Whole> {
    let size = reply.body.content_length();
    let mut start = Vec::new();
    let reserved = files.budget().reserve(IN_MEMORY_MAX.min(size.unwrap_or(IN_MEMORY_MAX)));
    let mut reader = reply.reader();
    if let (Ok(reserved), true) = (reserved, size.is_none_or(|size| size <= IN_MEMORY_MAX)) {
        (&mut reader).take(IN_MEMORY_MAX + 1).read_to_end(&mut start)?;
        if start.len() as u64 <= IN_MEMORY_MAX {
            if size.is_some_and(|size| size != start.len() as u64) {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            return Ok(Whole::Memory(Bytes::from(start), reserved));
        }
    }
    let mut file = files.temporary().map_err(noted)?;
    file.write_all(&start)?;
    let copied = start.len() as u64 + io::copy(&mut reader, &mut file)?;
    if size.is_some_and(|size| size != copied) {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    file.rewind()?;
    Ok(Whole::Disk(LocalFile::new(file)?))
}

impl RemoteFile {
    fn kept(&self, start: u64, len: usize) -> Option<Bytes> {
        let blocks = self.blocks.lock();
        let within = |block: &&Block| {
            block.start <= start && start + len as u64 <= block.start + block.bytes.len() as u64
        };
        let block = blocks.iter().find(within)?;
        let from = (start - block.start) as usize;
        Some(block.bytes.slice(from..from + len))
    }

    /// Keeps bytes if there is memory for them.
    fn keep(&self, start: u64, bytes: Bytes) {
        let Ok(reservation) = self.files.budget().reserve(bytes.len() as u64) else { return };
        let mut blocks = self.blocks.lock();
        // The first answer stays: readers come back to it.
        if blocks.len() >= BLOCKS_MAX {
            blocks.remove(1);
        }
        blocks.push_back(Block { start, bytes, _reservation: Some(reservation) });
    }

    fn fetch(&self, start: u64, len: usize) -> Result<Bytes> {
        if len == 0 {
            return Ok(Bytes::new());
        }
        let mut headers = vec![("Range", format!("bytes={start}-{}", start + len as u64 - 1))];
        headers.extend(self.tag.iter().map(|tag| ("If-Match", tag.clone())));
        let call = Call { headers: &headers, ..Call::new("GET", &self.place, &self.path, "cannot read") };
        let read = run(&self.files, &call, &mut |reply| {
            let range = reply.header("content-range").and_then(content_range);
            match (reply.status, range) {
                (206, Some((first, Some(size)))) if first == start && size == self.size => {}
                // A server may send the whole file whenever it likes.
                (200, _) if reply.body.content_length() == Some(self.size) => {
                    return reply.part(start, len).map(Some);
                }
                _ => return Ok(None),
            }
            let bytes = reply.bytes(len as u64)?;
            if bytes.len() < len {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            Ok(Some(bytes))
        })?;
        read.map(Bytes::from).ok_or_else(|| Error::Io {
            action: "cannot read",
            path: super::shown(&self.path),
            message: "the file has changed while it was read; run the query again".to_string(),
        })
    }
}

impl RangeSource for RemoteFile {
    fn size(&self) -> u64 {
        self.size
    }

    fn modified(&self) -> Option<SystemTime> {
        self.modified
    }

    fn is_remote(&self) -> bool {
        true
    }

    fn read(&self, start: u64, len: usize) -> io::Result<Bytes> {
        check_range(self.size, start, len)?;
        if let Some(bytes) = self.kept(start, len) {
            return Ok(bytes);
        }
        if len as u64 > BLOCK_SIZE / 2 {
            return self.fetch(start, len).map_err(noted);
        }
        let first = start - start % BLOCK_SIZE;
        let end = (start + len as u64).next_multiple_of(BLOCK_SIZE).min(self.size);
        let block = self.fetch(first, (end - first) as usize).map_err(noted)?;
        self.keep(first, block.clone());
        let from = (start - first) as usize;
        Ok(block.slice(from..from + len))
    }

    fn read_all(&self, ranges: &[(u64, usize)]) -> io::Result<Vec<Bytes>> {
        for &(start, len) in ranges {
            check_range(self.size, start, len)?;
        }
        let spans = spans(ranges);
        let read = self.fetch_all(&spans).map_err(noted)?;
        let part = |&(start, len): &(u64, usize)| {
            let place = spans.partition_point(|&(first, _)| first <= start).saturating_sub(1);
            let from = (start - spans[place].0) as usize;
            read[place].slice(from..from + len)
        };
        Ok(ranges.iter().map(part).collect())
    }
}

/// Ranges that cover others, ascending: those that lie close together are one.
fn spans(ranges: &[(u64, usize)]) -> Vec<(u64, usize)> {
    let mut sorted: Vec<(u64, u64)> =
        ranges.iter().map(|&(start, len)| (start, start + len as u64)).collect();
    sorted.sort_unstable();
    let mut spans: Vec<(u64, u64)> = Vec::with_capacity(sorted.len());
    for (start, end) in sorted {
        match spans.last_mut() {
            Some((first, last))
                if start < *last || (start <= *last + GAP_MAX && end.max(*last) - *first <= SPAN_MAX) =>
            {
                *last = end.max(*last);
            }
            _ => spans.push((start, end)),
        }
    }
    spans.into_iter().map(|(start, end)| (start, (end - start) as usize)).collect()
}

impl RemoteFile {
    /// Fetches ranges by several requests at once.
    fn fetch_all(&self, spans: &[(u64, usize)]) -> Result<Vec<Bytes>> {
        let slots: Vec<Mutex<Result<Bytes>>> = spans.iter().map(|_| Mutex::new(Ok(Bytes::new()))).collect();
        in_parallel(spans.len(), &|index| {
            let (start, len) = spans[index];
            let read = match self.kept(start, len) {
                Some(bytes) => Ok(bytes),
                None => self.fetch(start, len),
            };
            let failed = read.is_err();
            *slots[index].lock() = read;
            !failed
        });
        slots.into_iter().map(Mutex::into_inner).collect()
    }
}

/// Does `work(0)` to `work(count - 1)` on a few threads that help the calling one; stops early when one says false.
pub(super) fn in_parallel(count: usize, work: &(dyn Fn(usize) -> bool + Sync)) {
    let next = AtomicUsize::new(0);
    let run = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= count {
                return;
            }
            if !work(index) {
                next.store(count, Ordering::Relaxed);
            }
        }
    };
    let limits = limits::current();
    std::thread::scope(|scope| {
        for _ in 1..count.min(REQUESTS_MAX) {
            let limits = limits.clone();
            let help = move || match limits {
                Some(limits) => limits::with(limits, run),
                None => run(),
            };
            // Where there are no threads to be had, the calling one does it all.
            let _ = std::thread::Builder::new().name("inlay-fetch".to_string()).spawn_scoped(scope, help);
        }
        run();
    });
}

impl RangeSource for WholeFile {
    fn size(&self) -> u64 {
        match &self.bytes {
            Whole::Memory(bytes, _) => bytes.len() as u64,
            Whole::Disk(file) => file.size(),
        }
    }

    fn modified(&self) -> Option<SystemTime> {
        self.modified
    }

    fn read(&self, start: u64, len: usize) -> io::Result<Bytes> {
        match &self.bytes {
            Whole::Memory(bytes, _) => {
                check_range(bytes.len() as u64, start, len)?;
                Ok(bytes.slice(start as usize..start as usize + len))
            }
            Whole::Disk(file) => file.read(start, len),
        }
    }
}

/// Size and time of a file.
pub(crate) fn about(files: &Arc<Files>, path: &str) -> Result<About> {
    let place = Place::of(files, path)?;
    let refusals = [400, 401, 403, 405, 501];
    let call = Call { accepts: &refusals, ..Call::new("HEAD", &place, path, "cannot read") };
    let answer = run(files, &call, &mut |reply| {
        let size = reply.header("content-length").and_then(|size| size.trim().parse().ok());
        let modified = reply.header("last-modified").and_then(time_of);
        Ok(size.filter(|_| reply.status == 200).map(|size| About { size, modified }))
    })?;
    match answer {
        Some(about) => Ok(about),
        // Addresses that are signed for GET alone, and servers that do not know HEAD.
        None => open(files, path, First::Beginning)
            .map(|file| About { size: file.size(), modified: file.modified() }),
    }
}

/// A part of a file on disk.
pub(super) fn part_of(file: &File, start: u64, len: usize) -> io::Result<Bytes> {
    LocalFile::new(file.try_clone()?)?.read(start, len)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_close_together_are_one_request() {
        assert_eq!(spans(&[(100, 10), (0, 50), (60, 5)]), [(0, 110)]);
        assert_eq!(spans(&[(0, 10), (10 << 20, 10)]), [(0, 10), (10 << 20, 10)]);
        let (part, size) = ((9 << 20) as usize, 9 << 20);
        assert_eq!(spans(&[(0, part), (size, part)]), [(0, part), (size, part)], "not too large");
        assert_eq!(spans(&[(0, 100), (10, 20)]), [(0, 100)]);
        assert_eq!(spans(&[]), []);
    }

    #[test]
    fn answers_say_which_part_they_are() {
        assert_eq!(content_range("bytes 5-9/1234"), Some((5, Some(1234))));
        assert_eq!(content_range("bytes 5-9/*"), Some((5, None)));
        assert_eq!(content_range("bytes */10"), None);
        assert_eq!(content_range("items 0-1/2"), None);
    }
}
