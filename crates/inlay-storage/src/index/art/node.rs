//! The four kinds of inner nodes, and the pools they live in.
//!
//! A node is named by a [`Ptr`]: its kind in the low three bits, its place in the pool of that kind above. Pools are
//! vectors, so there is no allocation per node and no unsafe code; a freed place is used again.
//!
//! ```text
//! Node4, Node16   up to 4 or 16 bytes, sorted, with a child each
//! Node48          256 places of which up to 48 name one of 48 children
//! Node256         a child per byte
//! ```
//! Nodes grow when full, and shrink somewhat below the size of the next smaller kind, so that a key that comes and goes
//! does not rebuild its node each time.

use super::span::{Heap, Span};
use inlay_types::{Reservation, Result};

/// Names a leaf or an inner node of a subtree; or nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ptr(u32);

/// What a [`Ptr`] names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Empty,
    Leaf,
    Node4,
    Node16,
    Node48,
    Node256,
}

impl Ptr {
    pub const EMPTY: Ptr = Ptr(0);

    pub fn new(kind: Kind, index: u32) -> Self {
        Self(index << 3 | kind as u32)
    }

    #[inline]
    pub fn kind(self) -> Kind {
        match self.0 & 7 {
            1 => Kind::Leaf,
            2 => Kind::Node4,
            3 => Kind::Node16,
            4 => Kind::Node48,
            5 => Kind::Node256,
            _ => Kind::Empty,
        }
    }

    #[inline]
    pub fn index(self) -> usize {
        (self.0 >> 3) as usize
    }

    #[inline]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// Items that are named by their place.
#[derive(Debug)]
pub struct Pool<T> {
    items: Vec<T>,
    free: Vec<u32>,
}

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Self { items: Vec::new(), free: Vec::new() }
    }
}

impl<T: Copy> Pool<T> {
    /// Makes sure that the next insertion does not allocate.
    #[inline]
    pub fn make_room(&mut self, reservation: &mut Reservation) -> Result<()> {
        if self.items.len() < self.items.capacity() || !self.free.is_empty() {
            return Ok(());
        }
        let more = (self.items.capacity() / 2).max(2);
        reservation.grow((more * size_of::<T>()) as u64)?;
        self.items.reserve_exact(more);
        Ok(())
    }

    #[inline]
    pub fn insert(&mut self, item: T) -> u32 {
        match self.free.pop() {
            Some(index) => {
                self.items[index as usize] = item;
                index
            }
            None => {
                self.items.push(item);
                (self.items.len() - 1) as u32
            }
        }
    }

    /// Takes an item out; its place may be used again.
    pub fn remove(&mut self, index: usize) -> T {
        self.free.push(index as u32);
        self.items[index]
    }

    #[inline]
    pub fn get(&self, index: usize) -> &T {
        &self.items[index]
    }

    #[inline]
    pub fn get_mut(&mut self, index: usize) -> &mut T {
        &mut self.items[index]
    }
}

/// Node4 and Node16: `count` bytes in ascending order, a child each.
#[derive(Clone, Copy, Debug)]
struct Sorted<const N: usize> {
    prefix: Span,
    children: [Ptr; N],
    keys: [u8; N],
    count: u8,
}

impl<const N: usize> Sorted<N> {
    fn new(prefix: Span) -> Self {
        Self { prefix, children: [Ptr::EMPTY; N], keys: [0; N], count: 0 }
    }

    /// Without a branch per byte: all N places are compared, and those that are not in use masked out.
    #[inline]
    fn find(&self, byte: u8) -> Option<usize> {
        let mut mask = 0u32;
        for (index, key) in self.keys.iter().enumerate() {
            mask |= u32::from(*key == byte) << index;
        }
        mask &= (1 << self.count) - 1;
        (mask != 0).then(|| mask.trailing_zeros() as usize)
    }

    /// Number of keys below `byte`.
    fn rank(&self, byte: u8) -> usize {
        self.keys[..usize::from(self.count)].iter().take_while(|key| **key < byte).count()
    }

    fn insert(&mut self, byte: u8, child: Ptr) {
        let (at, count) = (self.rank(byte), usize::from(self.count));
        self.keys.copy_within(at..count, at + 1);
        self.children.copy_within(at..count, at + 1);
        (self.keys[at], self.children[at]) = (byte, child);
        self.count += 1;
    }

    fn remove(&mut self, byte: u8) {
        let at = self.find(byte).expect("the child that goes is there");
        let count = usize::from(self.count);
        self.keys.copy_within(at + 1..count, at);
        self.children.copy_within(at + 1..count, at);
        self.count -= 1;
    }

    fn pairs(&self) -> impl Iterator<Item = (u8, Ptr)> + '_ {
        (0..usize::from(self.count)).map(|index| (self.keys[index], self.children[index]))
    }

    fn at_least(&self, byte: u8) -> Option<(u8, Ptr)> {
        let at = self.rank(byte);
        (at < usize::from(self.count)).then(|| (self.keys[at], self.children[at]))
    }

    fn at_most(&self, byte: u8) -> Option<(u8, Ptr)> {
        let count = usize::from(self.count);
        let at = self.keys[..count].iter().rposition(|key| *key <= byte)?;
        Some((self.keys[at], self.children[at]))
    }
}

#[derive(Clone, Copy, Debug)]
struct Node48 {
    prefix: Span,
    children: [Ptr; 48],
    /// 1 + the place of the byte's child, or 0.
    places: [u8; 256],
    count: u8,
}

#[derive(Clone, Copy, Debug)]
struct Node256 {
    prefix: Span,
    children: [Ptr; 256],
    count: u16,
}

/// Below these counts a node becomes one of the next smaller kind.
const SHRINK_16_BELOW: usize = 4;
const SHRINK_48_BELOW: usize = 13;
const SHRINK_256_BELOW: usize = 37;

/// All inner nodes of a subtree.
#[derive(Debug, Default)]
pub struct Nodes {
    n4: Pool<Sorted<4>>,
    n16: Pool<Sorted<16>>,
    n48: Pool<Node48>,
    n256: Pool<Node256>,
}

impl Nodes {
    /// Makes sure that one new Node4 does not allocate.
    pub fn make_room_for_new(&mut self, reservation: &mut Reservation) -> Result<()> {
        self.n4.make_room(reservation)
    }

    /// Makes sure that one more child of `node` does not allocate.
    pub fn make_room_for_child(&mut self, node: Ptr, reservation: &mut Reservation) -> Result<()> {
        match node.kind() {
            Kind::Node4 if self.n4.get(node.index()).count == 4 => self.n16.make_room(reservation),
            Kind::Node16 if self.n16.get(node.index()).count == 16 => self.n48.make_room(reservation),
            Kind::Node48 if self.n48.get(node.index()).count == 48 => self.n256.make_room(reservation),
            _ => Ok(()),
        }
    }

    /// Makes sure that shrinking `node` does not allocate.
    pub fn make_room_to_shrink(&mut self, node: Ptr, reservation: &mut Reservation) -> Result<()> {
        match node.kind() {
            Kind::Node16 => self.n4.make_room(reservation),
            Kind::Node48 => self.n16.make_room(reservation),
            Kind::Node256 => self.n48.make_room(reservation),
            Kind::Empty | Kind::Leaf | Kind::Node4 => Ok(()),
        }
    }

    /// A Node4 with two children.
    pub fn new_pair(&mut self, prefix: Span, first: (u8, Ptr), second: (u8, Ptr)) -> Ptr {
        let mut node = Sorted::new(prefix);
        node.insert(first.0, first.1);
        node.insert(second.0, second.1);
        Ptr::new(Kind::Node4, self.n4.insert(node))
    }

    /// The bytes that all keys below the node share behind those that led to it.
    #[inline]
    pub fn prefix(&self, node: Ptr) -> &Span {
        static NONE: Span = Span::EMPTY;
        match node.kind() {
            Kind::Node4 => &self.n4.get(node.index()).prefix,
            Kind::Node16 => &self.n16.get(node.index()).prefix,
            Kind::Node48 => &self.n48.get(node.index()).prefix,
            Kind::Node256 => &self.n256.get(node.index()).prefix,
            Kind::Empty | Kind::Leaf => &NONE,
        }
    }

    pub fn set_prefix(&mut self, node: Ptr, prefix: Span) {
        match node.kind() {
            Kind::Node4 => self.n4.get_mut(node.index()).prefix = prefix,
            Kind::Node16 => self.n16.get_mut(node.index()).prefix = prefix,
            Kind::Node48 => self.n48.get_mut(node.index()).prefix = prefix,
            Kind::Node256 => self.n256.get_mut(node.index()).prefix = prefix,
            Kind::Empty | Kind::Leaf => {}
        }
    }

    /// The child behind `byte`.
    #[inline]
    pub fn child(&self, node: Ptr, byte: u8) -> Ptr {
        match node.kind() {
            Kind::Node4 => {
                let node = self.n4.get(node.index());
                node.find(byte).map_or(Ptr::EMPTY, |at| node.children[at])
            }
            Kind::Node16 => {
                let node = self.n16.get(node.index());
                node.find(byte).map_or(Ptr::EMPTY, |at| node.children[at])
            }
            Kind::Node48 => {
                let node = self.n48.get(node.index());
                match node.places[usize::from(byte)] {
                    0 => Ptr::EMPTY,
                    place => node.children[usize::from(place) - 1],
                }
            }
            Kind::Node256 => self.n256.get(node.index()).children[usize::from(byte)],
            Kind::Empty | Kind::Leaf => Ptr::EMPTY,
        }
    }

    /// Puts another child in the place of one that is there.
    pub fn replace_child(&mut self, node: Ptr, byte: u8, child: Ptr) {
        match node.kind() {
            Kind::Node4 => {
                let node = self.n4.get_mut(node.index());
                let at = node.find(byte).expect("the child that is replaced is there");
                node.children[at] = child;
            }
            Kind::Node16 => {
                let node = self.n16.get_mut(node.index());
                let at = node.find(byte).expect("the child that is replaced is there");
                node.children[at] = child;
            }
            Kind::Node48 => {
                let node = self.n48.get_mut(node.index());
                let place = node.places[usize::from(byte)].checked_sub(1);
                let place = place.expect("the child that is replaced is there");
                node.children[usize::from(place)] = child;
            }
            Kind::Node256 => self.n256.get_mut(node.index()).children[usize::from(byte)] = child,
            Kind::Empty | Kind::Leaf => {}
        }
    }

    /// Adds a child for a byte that has none; returns the node, which may be another now.
    pub fn add_child(&mut self, node: Ptr, byte: u8, child: Ptr) -> Ptr {
        let node = self.grown(node);
        match node.kind() {
            Kind::Node4 => self.n4.get_mut(node.index()).insert(byte, child),
            Kind::Node16 => self.n16.get_mut(node.index()).insert(byte, child),
            Kind::Node48 => {
                let node = self.n48.get_mut(node.index());
                // A place freed by a removal may lie anywhere.
                let place = node.children.iter().position(|c| c.is_empty());
                let place = place.expect("a node that was grown has room");
                node.children[place] = child;
                node.places[usize::from(byte)] = place as u8 + 1;
                node.count += 1;
            }
            Kind::Node256 => {
                let node = self.n256.get_mut(node.index());
                node.children[usize::from(byte)] = child;
                node.count += 1;
            }
            Kind::Empty | Kind::Leaf => {}
        }
        node
    }

    /// The node with room for one more child.
    fn grown(&mut self, node: Ptr) -> Ptr {
        let index = node.index();
        match node.kind() {
            Kind::Node4 if self.n4.get(index).count == 4 => {
                let old = self.n4.remove(index);
                let mut new = Sorted::<16>::new(old.prefix);
                new.keys[..4].copy_from_slice(&old.keys);
                new.children[..4].copy_from_slice(&old.children);
                new.count = 4;
                Ptr::new(Kind::Node16, self.n16.insert(new))
            }
            Kind::Node16 if self.n16.get(index).count == 16 => {
                let old = self.n16.remove(index);
                Ptr::new(Kind::Node48, self.n48.insert(node48(old.prefix, old.pairs())))
            }
            Kind::Node48 if self.n48.get(index).count == 48 => {
                let old = self.n48.remove(index);
                let mut new = Node256 { prefix: old.prefix, children: [Ptr::EMPTY; 256], count: 48 };
                for (child, place) in new.children.iter_mut().zip(&old.places) {
                    if let Some(place) = place.checked_sub(1) {
                        *child = old.children[usize::from(place)];
                    }
                }
                Ptr::new(Kind::Node256, self.n256.insert(new))
            }
            _ => node,
        }
    }

    /// Takes out the child behind `byte`; returns the node, which may be another now.
    pub fn remove_child(&mut self, node: Ptr, byte: u8) -> Ptr {
        let index = node.index();
        match node.kind() {
            Kind::Node4 => self.n4.get_mut(index).remove(byte),
            Kind::Node16 => {
                self.n16.get_mut(index).remove(byte);
                if usize::from(self.n16.get(index).count) < SHRINK_16_BELOW {
                    let old = self.n16.remove(index);
                    let mut new = Sorted::<4>::new(old.prefix);
                    new.keys.copy_from_slice(&old.keys[..4]);
                    new.children.copy_from_slice(&old.children[..4]);
                    new.count = old.count;
                    return Ptr::new(Kind::Node4, self.n4.insert(new));
                }
            }
            Kind::Node48 => {
                let old = self.n48.get_mut(index);
                let place = std::mem::take(&mut old.places[usize::from(byte)]);
                if let Some(place) = place.checked_sub(1) {
                    old.children[usize::from(place)] = Ptr::EMPTY;
                    old.count -= 1;
                }
                if usize::from(old.count) < SHRINK_48_BELOW {
                    let old = self.n48.remove(index);
                    let mut new = Sorted::<16>::new(old.prefix);
                    for (byte, place) in (0..=255).zip(&old.places) {
                        if let Some(place) = place.checked_sub(1) {
                            new.insert(byte, old.children[usize::from(place)]);
                        }
                    }
                    return Ptr::new(Kind::Node16, self.n16.insert(new));
                }
            }
            Kind::Node256 => {
                let old = self.n256.get_mut(index);
                if !std::mem::take(&mut old.children[usize::from(byte)]).is_empty() {
                    old.count -= 1;
                }
                if usize::from(old.count) < SHRINK_256_BELOW {
                    let old = self.n256.remove(index);
                    let pairs = (0..=255).zip(old.children).filter(|(_, child)| !child.is_empty());
                    return Ptr::new(Kind::Node48, self.n48.insert(node48(old.prefix, pairs)));
                }
            }
            Kind::Empty | Kind::Leaf => {}
        }
        node
    }

    /// The child of a node that has only one.
    pub fn only_child(&self, node: Ptr) -> Option<(u8, Ptr)> {
        // Larger kinds never get down to one child: they shrink before.
        let Kind::Node4 = node.kind() else { return None };
        let node = self.n4.get(node.index());
        (node.count == 1).then(|| (node.keys[0], node.children[0]))
    }

    /// Frees a Node4.
    pub fn free_pair(&mut self, node: Ptr) {
        if node.kind() == Kind::Node4 {
            self.n4.remove(node.index());
        }
    }

    /// The child with the smallest byte that is at least `byte`.
    pub fn child_at_least(&self, node: Ptr, byte: u8) -> Option<(u8, Ptr)> {
        match node.kind() {
            Kind::Node4 => self.n4.get(node.index()).at_least(byte),
            Kind::Node16 => self.n16.get(node.index()).at_least(byte),
            Kind::Node48 | Kind::Node256 => (byte..=255).find_map(|b| self.pair(node, b)),
            Kind::Empty | Kind::Leaf => None,
        }
    }

    /// The child with the greatest byte that is at most `byte`.
    pub fn child_at_most(&self, node: Ptr, byte: u8) -> Option<(u8, Ptr)> {
        match node.kind() {
            Kind::Node4 => self.n4.get(node.index()).at_most(byte),
            Kind::Node16 => self.n16.get(node.index()).at_most(byte),
            Kind::Node48 | Kind::Node256 => (0..=byte).rev().find_map(|b| self.pair(node, b)),
            Kind::Empty | Kind::Leaf => None,
        }
    }

    fn pair(&self, node: Ptr, byte: u8) -> Option<(u8, Ptr)> {
        let child = self.child(node, byte);
        (!child.is_empty()).then_some((byte, child))
    }

    /// Calls `each` with the children in order.
    pub fn for_each_child(&self, node: Ptr, mut each: impl FnMut(Ptr)) {
        match node.kind() {
            Kind::Node4 => self.n4.get(node.index()).pairs().for_each(|(_, child)| each(child)),
            Kind::Node16 => self.n16.get(node.index()).pairs().for_each(|(_, child)| each(child)),
            Kind::Node48 => {
                let node = self.n48.get(node.index());
                let places = node.places.iter().filter_map(|place| place.checked_sub(1));
                places.for_each(|place| each(node.children[usize::from(place)]));
            }
            Kind::Node256 => {
                self.n256.get(node.index()).children.iter().filter(|c| !c.is_empty()).for_each(|c| each(*c));
            }
            Kind::Empty | Kind::Leaf => {}
        }
    }

    /// The bytes of [`Self::prefix`].
    #[inline]
    pub fn prefix_bytes<'a>(&'a self, node: Ptr, heap: &'a Heap) -> &'a [u8] {
        self.prefix(node).bytes(heap)
    }
}

fn node48(prefix: Span, pairs: impl Iterator<Item = (u8, Ptr)>) -> Node48 {
    let mut node = Node48 { prefix, children: [Ptr::EMPTY; 48], places: [0; 256], count: 0 };
    for (byte, child) in pairs {
        node.children[usize::from(node.count)] = child;
        node.count += 1;
        node.places[usize::from(byte)] = node.count;
    }
    node
}
