//! One radix tree in memory: a range of the entries of an [`super::Art`], as much as one page holds.
//!
//! An entry is a key and a row id. The tree branches over the bytes of the key and then over those of the row id
//! (big-endian), so several rows may have one key. Chains of single children are folded into the prefix of the node
//! below (path compression), and an entry without a neighbour is a leaf high up (lazy expansion) that holds
//! the bytes of its key that no node above it stands for.
//!
//! ```text
//! Node [ prefix | byte -> child ]      Leaf [ row id | tail of the key | bytes of the row id the path has consumed ]
//! ```
//! Invariants
//! - Inner nodes have at least two children, but for the moment between two steps of a removal.
//! - Path, tail and what is left of the row id make exactly the bytes of the entry.
//! - Memory is reserved before anything is changed: a refused insertion leaves the tree as it was.
//!
//! Source: Leis et al., "The Adaptive Radix Tree", ICDE 2013. Departures: arenas with 32-bit names instead of pointers,
//! whole prefixes instead of optimistic ones, sets instead of maps.

use super::node::{Kind, Nodes, Pool, Ptr};
use super::span::{Heap, Span, common_prefix};
use inlay_types::{Error, MemoryBudget, Reservation, Result};

/// Bytes of a row id at the end of an entry.
pub const ROW_ID_SIZE: usize = 8;

/// What an entry takes in a page besides the bytes of its key that its predecessor does not share; about.
const ENTRY_OVERHEAD: usize = 4;

#[derive(Clone, Copy, Debug)]
pub(super) struct Leaf {
    pub row_id: u64,
    /// Marked with the number of leading bytes of the row id that the path stands for; if there are any, it is empty.
    pub tail: Span,
}

const _: () = assert!(size_of::<Leaf>() == 24);

impl Leaf {
    /// Leading bytes of the row id that the path stands for.
    pub fn consumed(&self) -> usize {
        self.tail.mark()
    }

    /// Row id bytes behind the tail.
    fn row_id_rest(&self) -> ([u8; ROW_ID_SIZE], usize) {
        (self.row_id.to_be_bytes(), self.consumed())
    }

    /// Length of what the path above does not stand for.
    fn rest_len(&self) -> usize {
        self.tail.len() + ROW_ID_SIZE - self.consumed()
    }

    fn rest_byte(&self, index: usize, heap: &Heap) -> u8 {
        match self.tail.bytes(heap).get(index) {
            Some(byte) => *byte,
            None => self.row_id.to_be_bytes()[index - self.tail.len() + self.consumed()],
        }
    }

    /// Number of leading bytes that the rest of this entry and `other` share.
    fn common(&self, other: &[u8], heap: &Heap) -> usize {
        let tail = self.tail.bytes(heap);
        let common = common_prefix(tail, other);
        if common < tail.len() {
            return common;
        }
        let (row_id, from) = self.row_id_rest();
        common + common_prefix(&row_id[from..], &other[common..])
    }

    /// Order of the rest of this entry and `other`.
    pub fn compare(&self, other: &[u8], heap: &Heap) -> std::cmp::Ordering {
        let common = self.common(other, heap);
        match (common == self.rest_len(), other.get(common)) {
            (true, None) => std::cmp::Ordering::Equal,
            (true, Some(_)) => std::cmp::Ordering::Less,
            (false, None) => std::cmp::Ordering::Greater,
            (false, Some(byte)) => self.rest_byte(common, heap).cmp(byte),
        }
    }

    /// The leaf `count` bytes further down.
    fn lowered(mut self, count: usize, heap: &Heap) -> Self {
        let cut = count.min(self.tail.len());
        let consumed = self.consumed() + count - cut;
        self.tail = self.tail.part(cut, self.tail.len(), heap).with_mark(consumed);
        self
    }
}

/// A radix tree over some entries.
#[derive(Debug)]
pub struct Subtree {
    pub(super) root: Ptr,
    pub(super) nodes: Nodes,
    pub(super) leaves: Pool<Leaf>,
    pub(super) heap: Heap,
    len: usize,
    page_size: usize,
    reservation: Reservation,
}

impl Subtree {
    /// An empty tree that takes its memory from `budget`.
    pub fn new(budget: &MemoryBudget) -> Result<Self> {
        Ok(Self {
            root: Ptr::EMPTY,
            nodes: Nodes::default(),
            leaves: Pool::default(),
            heap: Heap::default(),
            len: 0,
            page_size: 0,
            reservation: budget.reserve(size_of::<Self>() as u64)?,
        })
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.len
    }

    /// About as many bytes as the page of these entries will have.
    pub fn page_size(&self) -> usize {
        self.page_size
    }

    /// Bytes reserved.
    pub fn memory_size(&self) -> u64 {
        self.reservation.bytes()
    }

    /// Adds an entry (key and row id); false if it was there.
    pub fn insert(&mut self, entry: &[u8]) -> Result<bool> {
        let (mut parent, mut node, mut depth) = (None, self.root, 0);
        loop {
            let rest = entry.get(depth..).unwrap_or_default();
            match node.kind() {
                Kind::Empty => {
                    self.make_room(entry)?;
                    self.root = self.new_leaf(entry, 0);
                    return Ok(true);
                }
                Kind::Leaf => {
                    let leaf = *self.leaves.get(node.index());
                    let common = leaf.common(rest, &self.heap);
                    if common == rest.len() && common == leaf.rest_len() {
                        return Ok(false);
                    }
                    if common >= rest.len() || common >= leaf.rest_len() {
                        return Err(not_prefix_free());
                    }
                    self.make_room(entry)?;
                    self.nodes.make_room_for_new(&mut self.reservation)?;
                    let byte = leaf.rest_byte(common, &self.heap);
                    *self.leaves.get_mut(node.index()) = leaf.lowered(common + 1, &self.heap);
                    let prefix = Span::new(&rest[..common], &mut self.heap);
                    let new = self.new_leaf(entry, depth + common + 1);
                    let pair = self.nodes.new_pair(prefix, (byte, node), (rest[common], new));
                    self.hang(parent, pair);
                    return Ok(true);
                }
                Kind::Node4 | Kind::Node16 | Kind::Node48 | Kind::Node256 => {}
            }
            let prefix = self.nodes.prefix_bytes(node, &self.heap);
            let common = common_prefix(prefix, rest);
            let Some(&byte) = rest.get(common) else { return Err(not_prefix_free()) };
            if common < prefix.len() {
                let old_byte = prefix[common];
                self.make_room(entry)?;
                self.nodes.make_room_for_new(&mut self.reservation)?;
                let prefix = *self.nodes.prefix(node);
                self.nodes.set_prefix(node, prefix.part(common + 1, prefix.len(), &self.heap));
                let new = self.new_leaf(entry, depth + common + 1);
                let upper = prefix.part(0, common, &self.heap);
                let pair = self.nodes.new_pair(upper, (old_byte, node), (byte, new));
                self.hang(parent, pair);
                return Ok(true);
            }
            depth += common + 1;
            let child = self.nodes.child(node, byte);
            if child.is_empty() {
                self.make_room(entry)?;
                self.nodes.make_room_for_child(node, &mut self.reservation)?;
                let new = self.new_leaf(entry, depth);
                let grown = self.nodes.add_child(node, byte, new);
                if grown != node {
                    self.hang(parent, grown);
                }
                return Ok(true);
            }
            (parent, node) = (Some((node, byte)), child);
        }
    }

    /// Takes an entry out; false if it was not there.
    pub fn remove(&mut self, entry: &[u8]) -> Result<bool> {
        let (mut grandparent, mut parent, mut node, mut depth) = (None, None, self.root, 0);
        while !matches!(node.kind(), Kind::Leaf | Kind::Empty) {
            let Some((byte, below)) = self.step(node, entry, depth) else { return Ok(false) };
            let child = self.nodes.child(node, byte);
            (grandparent, parent, node, depth) = (parent, Some((node, byte)), child, below);
        }
        if node.is_empty() {
            return Ok(false);
        }
        let leaf = *self.leaves.get(node.index());
        if leaf.compare(entry.get(depth..).unwrap_or_default(), &self.heap).is_ne() {
            return Ok(false);
        }
        if let Some((above, byte)) = parent {
            self.nodes.make_room_to_shrink(above, &mut self.reservation)?;
            self.heap.make_room(2 * entry.len(), &mut self.reservation)?;
            let shrunk = self.nodes.remove_child(above, byte);
            let left = self.folded(shrunk);
            if left != above {
                self.hang(grandparent, left);
            }
        } else {
            self.root = Ptr::EMPTY;
        }
        self.leaves.remove(node.index());
        self.len -= 1;
        self.page_size = self.page_size.saturating_sub(entry_size(entry, depth));
        Ok(true)
    }

    /// Whether an entry is there.
    pub fn contains(&self, entry: &[u8]) -> bool {
        let (mut node, mut depth) = (self.root, 0);
        while !matches!(node.kind(), Kind::Leaf | Kind::Empty) {
            let Some((byte, below)) = self.step(node, entry, depth) else { return false };
            (node, depth) = (self.nodes.child(node, byte), below);
        }
        !node.is_empty()
            && self
                .leaves
                .get(node.index())
                .compare(entry.get(depth..).unwrap_or_default(), &self.heap)
                .is_eq()
    }

    /// Appends the row ids of all entries that begin with `prefix`, in order.
    pub fn collect_prefix(&self, prefix: &[u8], out: &mut Vec<i64>) {
        let (mut node, mut depth) = (self.root, 0);
        loop {
            let rest = prefix.get(depth..).unwrap_or_default();
            match node.kind() {
                Kind::Empty => return,
                Kind::Leaf => {
                    let leaf = self.leaves.get(node.index());
                    if leaf.common(rest, &self.heap) == rest.len() {
                        out.push(leaf.row_id as i64);
                    }
                    return;
                }
                Kind::Node4 | Kind::Node16 | Kind::Node48 | Kind::Node256 => {}
            }
            let path = self.nodes.prefix_bytes(node, &self.heap);
            if rest.len() <= path.len() {
                if path.starts_with(rest) {
                    self.collect(node, out);
                }
                return;
            }
            if !rest.starts_with(path) {
                return;
            }
            (node, depth) = (self.nodes.child(node, rest[path.len()]), depth + path.len() + 1);
        }
    }

    fn collect(&self, node: Ptr, out: &mut Vec<i64>) {
        let mut open = vec![node];
        while let Some(node) = open.pop() {
            if node.kind() == Kind::Leaf {
                out.push(self.leaves.get(node.index()).row_id as i64);
                continue;
            }
            let from = open.len();
            self.nodes.for_each_child(node, |child| open.push(child));
            open[from..].reverse();
        }
    }

    /// The byte that an entry takes at a node, and the depth behind it; `None` if the entry is not below the node.
    fn step(&self, node: Ptr, entry: &[u8], depth: usize) -> Option<(u8, usize)> {
        let prefix = self.nodes.prefix_bytes(node, &self.heap);
        let rest = entry.get(depth..)?.strip_prefix(prefix)?;
        Some((*rest.first()?, depth + prefix.len() + 1))
    }

    /// Makes sure that the leaf and the spans of a new entry do not allocate.
    fn make_room(&mut self, entry: &[u8]) -> Result<()> {
        self.heap.make_room(2 * entry.len(), &mut self.reservation)?;
        self.leaves.make_room(&mut self.reservation)
    }

    fn new_leaf(&mut self, entry: &[u8], depth: usize) -> Ptr {
        let (key, row_id) = split_entry(entry);
        let tail = Span::new(key.get(depth..).unwrap_or_default(), &mut self.heap);
        let tail = tail.with_mark(depth.saturating_sub(key.len()));
        self.len += 1;
        self.page_size += entry_size(entry, depth);
        Ptr::new(Kind::Leaf, self.leaves.insert(Leaf { row_id, tail }))
    }

    fn hang(&mut self, parent: Option<(Ptr, u8)>, node: Ptr) {
        match parent {
            Some((parent, byte)) => self.nodes.replace_child(parent, byte, node),
            None => self.root = node,
        }
    }

    /// What takes the place of a node that may have only one child left.
    fn folded(&mut self, node: Ptr) -> Ptr {
        let Some((byte, child)) = self.nodes.only_child(node) else { return node };
        let mut path = self.nodes.prefix_bytes(node, &self.heap).to_vec();
        path.push(byte);
        if child.kind() == Kind::Leaf {
            let leaf = *self.leaves.get(child.index());
            // The last bytes of the path may be the first of the row id.
            let of_row_id = leaf.consumed().min(path.len());
            path.truncate(path.len() - of_row_id);
            path.extend_from_slice(leaf.tail.bytes(&self.heap));
            let tail = Span::new(&path, &mut self.heap).with_mark(leaf.consumed() - of_row_id);
            self.leaves.get_mut(child.index()).tail = tail;
        } else {
            path.extend_from_slice(self.nodes.prefix_bytes(child, &self.heap));
            let prefix = Span::new(&path, &mut self.heap);
            self.nodes.set_prefix(child, prefix);
        }
        self.nodes.free_pair(node);
        child
    }
}

/// Key and row id of an entry.
#[inline]
pub fn split_entry(entry: &[u8]) -> (&[u8], u64) {
    match entry.split_last_chunk::<ROW_ID_SIZE>() {
        Some((key, row_id)) => (key, u64::from_be_bytes(*row_id)),
        None => (entry, 0),
    }
}

fn entry_size(entry: &[u8], depth: usize) -> usize {
    ENTRY_OVERHEAD + (entry.len() - ROW_ID_SIZE).saturating_sub(depth)
}

fn not_prefix_free() -> Error {
    Error::corrupt("an index entry that begins with another")
}
