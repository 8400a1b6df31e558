//! Rows of a chunk by the values of arguments that a call is given one at a time, such as models.
//!
//! Values are told apart by where they lie: rows that share one point to the same place. Equal values in several places are
//! several calls, which changes no answer.

use inlay_types::{Vector, VectorKind};
use std::collections::HashMap;

/// Where a text or BLOB lies, or what it is if it lies in its view.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Place {
    Null,
    Inline(u64, u64),
    Heap(usize, usize),
}

fn place(arg: &Vector, row: usize) -> Place {
    if arg.is_null(row) {
        return Place::Null;
    }
    let view = match arg.kind() {
        VectorKind::Dictionary(dictionary) => &dictionary.values().views()[arg.codes()[row] as usize],
        VectorKind::Constant => &arg.views()[0],
        VectorKind::Flat => &arg.views()[row],
    };
    if view.is_inline() {
        return Place::Inline(view.head, view.tail);
    }
    let bytes = view.bytes(arg.heap().buffers());
    Place::Heap(bytes.as_ptr().addr(), bytes.len())
}

/// The rows of each combination of values, by the first row of each.
pub fn groups(args: &[&Vector], len: usize) -> Vec<Vec<u32>> {
    if args.iter().all(|arg| arg.is_constant()) {
        return vec![(0..len as u32).collect()];
    }
    let mut numbers: HashMap<Vec<Place>, usize> = HashMap::new();
    let mut groups: Vec<Vec<u32>> = Vec::new();
    for row in 0..len {
        let key: Vec<Place> = args.iter().map(|arg| place(arg, row)).collect();
        let number = *numbers.entry(key).or_insert(groups.len());
        if number == groups.len() {
            groups.push(Vec::new());
        }
        groups[number].push(row as u32);
    }
    groups
}
