//! What an Arrow file says of its sizes, compared with what is there.
//!
//! The arrow crates ask for as much memory as a file says that it needs, and a request that the system cannot grant ends
//! the process. So the messages of a file are gone through before they are read: where they lie, how long they are, what
//! their packed buffers unpack to, and how many values they have. Of each message its description is read, and eight
//! bytes of each packed buffer.

use crate::ranges::RangeSource;
use arrow_ipc::{Block, Message, MessageHeader, RecordBatch, root_as_footer, root_as_message};

/// Bytes that a byte may unpack to.
const RATIO_MAX: u64 = 1 << 16;
/// Values of a column that are believed though there are no bytes for them; they may all be NULL.
const VALUES_MAX: u64 = 1 << 31;
/// Largest description of a message.
const DESCRIPTION_MAX: u64 = 256 << 20;

type Checked<T> = Result<T, String>;

/// Bytes that reading a file takes at once, by what its messages say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sizes {
    /// Dictionaries, which a reader keeps.
    pub kept: u64,
    /// The largest record batch.
    pub largest: u64,
}

impl Sizes {
    fn add(&mut self, message: &Message<'_>, size: u64) {
        match message.header_type() {
            MessageHeader::DictionaryBatch => self.kept = self.kept.saturating_add(size),
            _ => self.largest = self.largest.max(size),
        }
    }

    /// All of it.
    pub fn total(self) -> usize {
        usize::try_from(self.kept.saturating_add(self.largest)).unwrap_or(usize::MAX)
    }
}

fn cut() -> String {
    "the file is damaged: a part of it lies behind its end".to_string()
}

/// The sizes in a file or stream; an error where they are impossible.
pub(crate) fn check(file: &dyn RangeSource) -> Checked<Sizes> {
    match read(file, 0, file.size().min(6))?.get(..) {
        Some(b"ARROW1") => check_file(file),
        Some([0xff, 0xff, 0xff, 0xff, ..]) => check_stream(file),
        // The reader says that it is no Arrow file.
        _ => Ok(Sizes::default()),
    }
}

fn read(file: &dyn RangeSource, start: u64, len: u64) -> Checked<bytes::Bytes> {
    let len = usize::try_from(len).map_err(|_| cut())?;
    if start.checked_add(len as u64).is_none_or(|end| end > file.size()) {
        return Err(cut());
    }
    file.read(start, len).map_err(|error| error.to_string())
}

fn number(value: i64) -> Checked<u64> {
    u64::try_from(value).map_err(|_| cut())
}

/// A file ends with a footer that says where its messages lie, the footer's length and six letters.
fn check_file(file: &dyn RangeSource) -> Checked<Sizes> {
    let end = file.size().checked_sub(10).ok_or_else(cut)?;
    let tail = read(file, end, 4)?;
    let len = i32::from_le_bytes(*tail.first_chunk::<4>().ok_or_else(cut)?);
    let len = number(len.into())?;
    if len > DESCRIPTION_MAX {
        return Err(cut());
    }
    let footer = read(file, end.checked_sub(len).ok_or_else(cut)?, len)?;
    let footer = root_as_footer(&footer).map_err(|error| error.to_string())?;
    let blocks = footer.dictionaries().into_iter().chain(footer.recordBatches());
    let mut sizes = Sizes::default();
    blocks.flatten().try_for_each(|block| check_block(file, block, &mut sizes))?;
    Ok(sizes)
}

fn check_block(file: &dyn RangeSource, block: &Block, sizes: &mut Sizes) -> Checked<()> {
    let (start, described) = (number(block.offset())?, number(block.metaDataLength().into())?);
    if described > DESCRIPTION_MAX {
        return Err(cut());
    }
    let description = read(file, start, described)?;
    // A length of four bytes comes first, in newer files behind four bytes of ones.
    let at = if description.starts_with(&[0xff; 4]) { 8 } else { 4 };
    let message = root_as_message(description.get(at..).ok_or_else(cut)?).map_err(|e| e.to_string())?;
    let body = start.checked_add(described).ok_or_else(cut)?;
    let size = check_message(file, &message, body, number(block.bodyLength())?)?;
    sizes.add(&message, size);
    Ok(())
}

/// A stream is one message after the other.
fn check_stream(file: &dyn RangeSource) -> Checked<Sizes> {
    let (mut at, mut sizes) = (0u64, Sizes::default());
    while at + 4 <= file.size() {
        let mut head = read(file, at, 4)?;
        at += 4;
        if head[..] == [0xff; 4] {
            head = read(file, at, 4)?;
            at += 4;
        }
        let len = number(i32::from_le_bytes(*head.first_chunk::<4>().ok_or_else(cut)?).into())?;
        if len == 0 {
            break;
        }
        if len > DESCRIPTION_MAX {
            return Err(cut());
        }
        let description = read(file, at, len)?;
        let message = root_as_message(&description).map_err(|error| error.to_string())?;
        let body = number(message.bodyLength())?;
        at += len;
        let size = check_message(file, &message, at, body)?;
        sizes.add(&message, size);
        at = at.checked_add(body).ok_or_else(cut)?;
    }
    Ok(sizes)
}

/// Bytes of a message, packed and unpacked.
fn check_message(file: &dyn RangeSource, message: &Message<'_>, start: u64, len: u64) -> Checked<u64> {
    if start.checked_add(len).is_none_or(|end| end > file.size()) {
        return Err(cut());
    }
    let batch = match message.header_type() {
        MessageHeader::RecordBatch => message.header_as_record_batch(),
        MessageHeader::DictionaryBatch => {
            message.header_as_dictionary_batch().and_then(|dictionary| dictionary.data())
        }
        _ => None,
    };
    // What the arrow reader says of a message without one is an error already.
    batch.map_or(Ok(len), |batch| check_batch(file, &batch, start, len))
}

fn check_batch(file: &dyn RangeSource, batch: &RecordBatch<'_>, start: u64, len: u64) -> Checked<u64> {
    let mut unpacked_size = 0u64;
    for buffer in batch.buffers().into_iter().flatten() {
        let (offset, packed) = (number(buffer.offset())?, number(buffer.length())?);
        if offset.checked_add(packed).is_none_or(|end| end > len) {
            return Err(cut());
        }
        unpacked_size = unpacked_size.saturating_add(packed);
        if batch.compression().is_none() || packed < 8 {
            continue;
        }
        let says = read(file, start + offset, 8)?;
        let says = i64::from_le_bytes(*says.first_chunk::<8>().ok_or_else(cut)?);
        // -1: the buffer is not packed after all.
        if says != -1 {
            let says = number(says)?;
            if says > packed.saturating_mul(RATIO_MAX) {
                return Err("the file is damaged: a packed part cannot be as large as it says".to_string());
            }
            unpacked_size = unpacked_size.saturating_add(says);
        }
    }
    let most = unpacked_size.saturating_mul(8).max(VALUES_MAX);
    let counts = batch.nodes().into_iter().flatten().map(|node| node.length());
    match counts.chain([batch.length()]).all(|count| u64::try_from(count).is_ok_and(|count| count <= most)) {
        true => Ok(unpacked_size.max(len)),
        false => Err("the file is damaged: it has fewer values than it says".to_string()),
    }
}
