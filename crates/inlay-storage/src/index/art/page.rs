//! Pages: what an index is in the file.
//!
//! ```text
//! page     kind u8 (1 entries, 2 pages of entries, 3 pages of pages) | count | items
//! entry    shared | sized rest of the key | row id minus that of the entry before, zigzag
//! child    sized fence | number of entries below | block u64 | size u64 | checksum u64
//! ```
//! Counts, `shared` (bytes that a key has in common with the one before) and differences are variable-length numbers.
//! Fences are written whole, so that a page never takes more room in memory than its size allows.
//! Entries ascend strictly, fences too; the fence of the first child is empty. A small index is one page of entries, a
//! larger one has a page of kind 2 above those, and a page of kind 3 on top of everything when there are many of these.
//!
//! Pages are read from a file that anything may have happened to: all that is taken from one is checked.

use super::directory::Directory;
use super::subtree::Subtree;
use super::walk::{ByteRange, Direction};
use crate::bytes::{ByteReader, ByteWriter};
use crate::index::key::KEY_SIZE_MAX;
use inlay_types::{Error, MemoryBudget, Result};

/// Where a page is, how long it is, and its checksum. Stores give it out and read it; an index only keeps it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PagePtr {
    /// First block.
    pub block: u64,
    /// Size in bytes.
    pub size: u64,
    /// Checksum of the content.
    pub checksum: u64,
}

/// Bytes of a [`PagePtr`] in a page.
const PAGE_PTR_SIZE: usize = 24;

/// Where pages are kept. A page is never changed once it was written.
pub trait PageStore: Send + Sync {
    /// The bytes of a page, verified by its checksum.
    fn read(&self, page: PagePtr) -> Result<Vec<u8>>;
    /// Stores a new page.
    fn write(&self, bytes: &[u8]) -> Result<PagePtr>;
    /// Stores a new page that no root reaches yet: if the process ends, it is gone.
    fn write_loose(&self, bytes: &[u8]) -> Result<PagePtr> {
        self.write(bytes)
    }
    /// Says that the root that is written next reaches a loose page.
    fn adopt(&self, _page: PagePtr) {}
    /// Gives a loose page back.
    fn discard(&self, _page: PagePtr) {}
    /// Whether pages that did not change are to be asked about with [`PageStore::move_page`].
    fn is_packing(&self) -> bool {
        false
    }
    /// Stores a page a second time where it lies better, if it can; it stays where it was too.
    fn move_page(&self, _page: PagePtr) -> Result<Option<PagePtr>> {
        Ok(None)
    }
}

const ENTRIES: u8 = 1;
/// Kind of a page whose children hold entries.
pub const LOWER: u8 = 2;
/// Kind of a page whose children are pages of kind [`LOWER`].
pub const UPPER: u8 = 3;

/// A page as a child of another.
#[derive(Clone, Copy, Debug)]
pub struct Child {
    pub page: PagePtr,
    /// Entries in it and below.
    pub len: u64,
}

/// What the first page of an index turned out to be.
pub enum Root {
    Entries(Box<Subtree>),
    Lower(Directory<Child>),
    Upper(Directory<Child>),
}

/// The page of a subtree.
pub fn write_entries(tree: &Subtree) -> Vec<u8> {
    let mut out = ByteWriter::new();
    out.u8(ENTRIES);
    out.count(tree.len());
    let (mut before, mut row_id_before) = (Vec::new(), 0i64);
    tree.walk(ByteRange { low: &[], high: None }, Direction::Forward, &mut |key, row_id| {
        write_shared(&mut out, &mut before, key);
        let difference = row_id.wrapping_sub(row_id_before);
        out.count((difference << 1 ^ difference >> 63) as usize);
        row_id_before = row_id;
        true
    });
    out.finish()
}

/// The page of children with their fences.
pub fn write_children<'a>(kind: u8, children: impl ExactSizeIterator<Item = (&'a [u8], Child)>) -> Vec<u8> {
    let mut out = ByteWriter::new();
    out.u8(kind);
    out.count(children.len());
    for (fence, child) in children {
        out.sized(fence);
        out.count(child.len as usize);
        out.u64(child.page.block);
        out.u64(child.page.size);
        out.u64(child.page.checksum);
    }
    out.finish()
}

/// The entries of a page; all at least `low` and below `high`, and `len` of them if that is known.
pub fn read_entries(
    bytes: &[u8],
    budget: &MemoryBudget,
    low: &[u8],
    high: Option<&[u8]>,
    len: u64,
) -> Result<Subtree> {
    let mut reader = ByteReader::new(bytes);
    if reader.u8()? != ENTRIES {
        return Err(Error::corrupt("an index page of another kind than entries"));
    }
    let tree = take_entries(reader, budget, low, high)?;
    if tree.len() as u64 != len {
        return Err(Error::corrupt(format!("{} index entries in a page of {len}", tree.len())));
    }
    Ok(tree)
}

/// The children in a page of kind [`LOWER`].
pub fn read_lower(bytes: &[u8], len: u64) -> Result<Directory<Child>> {
    let mut reader = ByteReader::new(bytes);
    if reader.u8()? != LOWER {
        return Err(Error::corrupt("an index page of another kind than children"));
    }
    let children = take_children(reader)?;
    if total_len(&children) != Some(len) {
        return Err(Error::corrupt("a number of index entries that differs from that of the page above"));
    }
    Ok(children)
}

/// The first page of an index.
pub fn read_root(bytes: &[u8], budget: &MemoryBudget) -> Result<Root> {
    let mut reader = ByteReader::new(bytes);
    Ok(match reader.u8()? {
        ENTRIES => Root::Entries(Box::new(take_entries(reader, budget, &[], None)?)),
        LOWER => Root::Lower(take_children(reader)?),
        UPPER => Root::Upper(take_children(reader)?),
        kind => return Err(Error::corrupt(format!("an index page of kind {kind}"))),
    })
}

/// Entries below all children; `None` beyond 64 bits.
pub fn total_len(children: &Directory<Child>) -> Option<u64> {
    children.iter().try_fold(0u64, |sum, (_, child)| sum.checked_add(child.len))
}

fn take_entries(
    mut reader: ByteReader<'_>,
    budget: &MemoryBudget,
    low: &[u8],
    high: Option<&[u8]>,
) -> Result<Subtree> {
    let count = reader.count_of(3)?;
    let mut tree = Subtree::new(budget)?;
    let (mut key, mut entry) = (Vec::new(), Vec::new());
    let mut row_id = 0i64;
    for index in 0..count {
        take_shared(&mut reader, &mut key)?;
        let zigzag = reader.count()? as u64;
        row_id = row_id.wrapping_add((zigzag >> 1) as i64 ^ -((zigzag & 1) as i64));
        // The entry before is still there to compare with.
        let from = key.len();
        key.extend_from_slice(&row_id.to_be_bytes());
        let ascends = if index == 0 { *key >= *low } else { entry < key };
        if !ascends {
            return Err(Error::corrupt("index entries that do not ascend"));
        }
        tree.insert(&key)?;
        entry.clone_from(&key);
        key.truncate(from);
    }
    if high.is_some_and(|high| !entry.is_empty() && *entry >= *high) {
        return Err(Error::corrupt("index entries outside of the range of their page"));
    }
    reader.expect_end()?;
    Ok(tree)
}

fn take_children(mut reader: ByteReader<'_>) -> Result<Directory<Child>> {
    let count = reader.count_of(2 + PAGE_PTR_SIZE)?;
    let mut parts: Vec<(Box<[u8]>, Child)> = Vec::with_capacity(count);
    for _ in 0..count {
        let fence = reader.sized()?;
        let ascends = parts.last().map_or(fence.is_empty(), |(before, _)| **before < *fence);
        if !ascends {
            return Err(Error::corrupt("fences of index pages that do not ascend"));
        }
        let len = reader.count()? as u64;
        let page = PagePtr { block: reader.u64()?, size: reader.u64()?, checksum: reader.u64()? };
        parts.push((Box::from(fence), Child { page, len }));
    }
    reader.expect_end()?;
    if parts.is_empty() {
        return Err(Error::corrupt("an index page without children"));
    }
    Ok(Directory::from_parts(parts))
}

fn write_shared(out: &mut ByteWriter, before: &mut Vec<u8>, key: &[u8]) {
    let shared = super::span::common_prefix(before, key);
    out.count(shared);
    out.sized(&key[shared..]);
    before.truncate(shared);
    before.extend_from_slice(&key[shared..]);
}

/// Makes `key`, which is the key before, the next one.
fn take_shared(reader: &mut ByteReader<'_>, key: &mut Vec<u8>) -> Result<()> {
    let shared = reader.count()?;
    if shared > key.len() {
        return Err(Error::corrupt("an index key that shares more than there is"));
    }
    let rest = reader.sized()?;
    if shared + rest.len() > KEY_SIZE_MAX {
        return Err(Error::corrupt("an index key beyond all limits"));
    }
    key.truncate(shared);
    key.extend_from_slice(rest);
    Ok(())
}
