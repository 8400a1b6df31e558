//! Entries of a range of a subtree in order, either way.
//!
//! Only the two paths along the bounds compare bytes; what lies between is walked without.

use super::node::{Kind, Ptr};
use super::subtree::Subtree;
use std::cmp::Ordering;

/// Which end of a range comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Ascending.
    Forward,
    /// Descending.
    Backward,
}

/// Entries from `low` (included) to `high` (excluded; no end if absent), as bytes.
#[derive(Clone, Copy, Debug)]
pub struct ByteRange<'a> {
    /// Where it begins.
    pub low: &'a [u8],
    /// Where it ends.
    pub high: Option<&'a [u8]>,
}

/// A node on the way, whose children are being visited.
struct Frame {
    node: Ptr,
    /// The byte of the next child to look for; `None` once there is none.
    next: Option<u8>,
    /// Length of the path that ends with the node's prefix.
    path_len: usize,
    /// Whether the path is that of the bound so far, so that children have to be compared with it.
    on_low: bool,
    on_high: bool,
}

impl Subtree {
    /// Calls `visit` with key and row id of the entries of a range, until it returns false; then returns false.
    pub fn walk(
        &self,
        range: ByteRange<'_>,
        direction: Direction,
        visit: &mut dyn FnMut(&[u8], i64) -> bool,
    ) -> bool {
        let mut path = Vec::new();
        let mut frames: Vec<Frame> = Vec::new();
        let mut enter = Some((self.root, true, range.high.is_some()));
        loop {
            if let Some((node, on_low, on_high)) = enter.take() {
                match node.kind() {
                    Kind::Empty => {}
                    Kind::Leaf => {
                        if !self.visit_leaf(node, range, (on_low, on_high), &mut path, visit) {
                            return false;
                        }
                    }
                    Kind::Node4 | Kind::Node16 | Kind::Node48 | Kind::Node256 => {
                        let frame = self.open(node, range, (on_low, on_high), direction, &mut path);
                        frames.extend(frame);
                    }
                }
            }
            let Some(frame) = frames.last_mut() else { return true };
            path.truncate(frame.path_len);
            let Some((byte, child)) = self.next_child(frame, direction) else {
                frames.pop();
                continue;
            };
            let (at, on_low, on_high) = (frame.path_len, frame.on_low, frame.on_high);
            path.push(byte);
            let low = if on_low { byte.cmp(&range.low[at]) } else { Ordering::Greater };
            let high = match range.high {
                Some(high) if on_high => byte.cmp(&high[at]),
                _ => Ordering::Less,
            };
            if low.is_ge() && high.is_le() {
                enter = Some((child, low.is_eq(), high.is_eq()));
            } else if (low.is_lt() && direction == Direction::Backward)
                || (high.is_gt() && direction == Direction::Forward)
            {
                // Further children are even further away.
                frame.next = None;
            }
        }
    }

    fn visit_leaf(
        &self,
        node: Ptr,
        range: ByteRange<'_>,
        (on_low, on_high): (bool, bool),
        path: &mut Vec<u8>,
        visit: &mut dyn FnMut(&[u8], i64) -> bool,
    ) -> bool {
        let leaf = self.leaves.get(node.index());
        let depth = path.len();
        if on_low && leaf.compare(&range.low[depth..], &self.heap).is_lt() {
            return true;
        }
        if on_high && range.high.is_some_and(|high| leaf.compare(&high[depth..], &self.heap).is_ge()) {
            return true;
        }
        if leaf.tail.is_empty() {
            return visit(&path[..depth.saturating_sub(leaf.consumed())], leaf.row_id as i64);
        }
        path.extend_from_slice(leaf.tail.bytes(&self.heap));
        visit(path, leaf.row_id as i64)
    }

    /// Appends the node's prefix to the path; `None` if nothing below the node is in the range.
    fn open(
        &self,
        node: Ptr,
        range: ByteRange<'_>,
        (mut on_low, mut on_high): (bool, bool),
        direction: Direction,
        path: &mut Vec<u8>,
    ) -> Option<Frame> {
        let prefix = self.nodes.prefix_bytes(node, &self.heap);
        if on_low {
            match compare_path(prefix, &range.low[path.len()..]) {
                Path::Below => return None,
                Path::Above | Path::Within => on_low = false,
                Path::On => {}
            }
        }
        if let (true, Some(high)) = (on_high, range.high) {
            match compare_path(prefix, &high[path.len()..]) {
                Path::Below => on_high = false,
                Path::Above | Path::Within => return None,
                Path::On => {}
            }
        }
        path.extend_from_slice(prefix);
        let path_len = path.len();
        // A bound that the path is still on has a byte behind it.
        let next = match direction {
            Direction::Forward => {
                if on_low {
                    range.low[path_len]
                } else {
                    0
                }
            }
            Direction::Backward => match range.high {
                Some(high) if on_high => high[path_len],
                _ => u8::MAX,
            },
        };
        Some(Frame { node, next: Some(next), path_len, on_low, on_high })
    }

    fn next_child(&self, frame: &mut Frame, direction: Direction) -> Option<(u8, Ptr)> {
        let from = frame.next?;
        let found = match direction {
            Direction::Forward => self.nodes.child_at_least(frame.node, from)?,
            Direction::Backward => self.nodes.child_at_most(frame.node, from)?,
        };
        frame.next = match direction {
            Direction::Forward => found.0.checked_add(1),
            Direction::Backward => found.0.checked_sub(1),
        };
        Some(found)
    }
}

/// Where a path lies relative to a bound.
enum Path {
    Below,
    /// The bound goes on behind the path.
    On,
    /// The bound ends within the path, or with it: all below the path is above the bound, or equal to it.
    Within,
    Above,
}

fn compare_path(path: &[u8], bound: &[u8]) -> Path {
    let len = path.len().min(bound.len());
    match path[..len].cmp(&bound[..len]) {
        Ordering::Less => Path::Below,
        Ordering::Greater => Path::Above,
        Ordering::Equal if bound.len() <= path.len() => Path::Within,
        Ordering::Equal => Path::On,
    }
}
