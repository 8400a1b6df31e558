//! Numbers for the strings of a key: equal strings have one number, whichever dictionary they came with.

use inlay_types::hash::hash_view;
use inlay_types::{Buffer, Vector, View};

/// Entries of the interner's cache of recent short strings.
const RECENT: usize = 256;
/// Dictionaries whose codes are remembered besides the current one.
const DICTIONARIES_MAX: usize = 8;

/// There are more distinct strings than numbers for them.
#[derive(Debug)]
pub(super) struct TooMany;

/// Numbers for distinct strings. A dictionary's codes are looked up once each.
#[derive(Debug)]
pub(super) struct Interner {
    known: Known,
    capacity: usize,
    /// Code to digit of the dictionary in use; 0: not looked up yet.
    current: (u64, Vec<u32>),
    others: Vec<(u64, Vec<u32>)>,
    /// Short strings and their digits, by a hash of the view.
    recent: Vec<(u64, u64, u32)>,
}

impl Interner {
    pub(super) fn new(capacity: usize) -> Self {
        Self {
            known: Known::default(),
            capacity,
            current: (0, Vec::new()),
            others: Vec::new(),
            recent: vec![(0, 0, 0); RECENT],
        }
    }

    pub(super) fn capacity(&self) -> usize {
        self.capacity
    }

    /// Bytes held.
    pub(super) fn memory_size(&self) -> usize {
        let known = &self.known;
        let codes: usize = self.others.iter().map(|(_, codes)| codes.capacity()).sum();
        known.slots.capacity() * 4
            + known.strings.capacity() * 24
            + known.bytes.capacity()
            + (self.current.1.capacity() + codes) * 4
            + RECENT * 24
    }

    /// The number of a string, from 1 on; a new one is one more than there were.
    pub(super) fn digit(&mut self, view: &View, heap: &[Buffer]) -> Result<u32, TooMany> {
        if !view.is_inline() {
            return self.known.digit(view, heap, self.capacity).ok_or(TooMany);
        }
        let mixed = (view.head ^ view.tail.rotate_left(23)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let place = (mixed >> 56) as usize;
        let (head, tail, digit) = self.recent[place];
        if digit != 0 && head == view.head && tail == view.tail {
            return Ok(digit);
        }
        let digit = self.known.digit(view, heap, self.capacity).ok_or(TooMany)?;
        self.recent[place] = (view.head, view.tail, digit);
        Ok(digit)
    }

    /// The digit here of each digit of another one.
    pub(super) fn digits_of(&mut self, other: &Interner) -> Result<Vec<u32>, TooMany> {
        let mut digits = vec![0];
        for &(hash, head, tail) in &other.known.strings {
            let view = View { head, tail };
            let bytes = if view.is_inline() { &[] } else { other.known.long(tail, view.len()) };
            digits.push(self.known.digit_hashed(hash, &view, bytes, self.capacity).ok_or(TooMany)?);
        }
        Ok(digits)
    }

    /// Makes `current` the map of this dictionary.
    fn switch(&mut self, id: u64, size: usize) {
        if self.current.0 == id {
            return;
        }
        let next = match self.others.iter().position(|(other, _)| *other == id) {
            Some(index) => self.others.swap_remove(index),
            None => (id, vec![0; size]),
        };
        let last = std::mem::replace(&mut self.current, next);
        if self.others.len() == DICTIONARIES_MAX {
            self.others.remove(0);
        }
        self.others.push(last);
    }

    /// Adds `digit * stride` of each row to `codes` (or sets it, if `first`).
    pub(super) fn add_digits(
        &mut self,
        key: &Vector,
        stride: u64,
        first: bool,
        codes: &mut [u64],
    ) -> Result<(), TooMany> {
        if key.is_constant() {
            let null = key.is_null(0);
            let digit = if null { 0 } else { self.digit(&key.views()[0], key.heap().buffers())? };
            let part = u64::from(digit) * stride;
            codes.iter_mut().for_each(|code| *code = if first { part } else { *code + part });
            return Ok(());
        }
        let Some(dictionary) = key.as_dictionary() else {
            let (views, heap) = (key.views(), key.heap().buffers());
            for (row, (code, view)) in codes.iter_mut().zip(views).enumerate() {
                let digit = if key.is_null(row) { 0 } else { self.digit(view, heap)? };
                *code = if first { 0 } else { *code } + u64::from(digit) * stride;
            }
            return Ok(());
        };
        let values = dictionary.values();
        self.switch(dictionary.id(), values.len());
        // Which codes occur is found out first, so that the loop below only looks up.
        let (views, heap) = (values.views(), values.heap().buffers());
        let nullable = key.validity().is_some();
        for (row, &entry) in key.codes().iter().enumerate() {
            if self.current.1[entry as usize] == 0 && !(nullable && key.is_null(row)) {
                let digit = self.digit(&views[entry as usize], heap)?;
                self.current.1[entry as usize] = digit;
            }
        }
        let map = &self.current.1;
        for (row, (code, &entry)) in codes.iter_mut().zip(key.codes()).enumerate() {
            let digit = if nullable && key.is_null(row) { 0 } else { map[entry as usize] };
            *code = if first { 0 } else { *code } + u64::from(digit) * stride;
        }
        Ok(())
    }
}

/// The strings known so far: open addressing over their views, whose long strings lie in one piece of memory.
#[derive(Debug, Default)]
struct Known {
    /// One more than the place of a string, or 0; at least half are free.
    slots: Vec<u32>,
    /// Hash, and the view with the place in `bytes` in its second word if the string is long.
    strings: Vec<(u64, u64, u64)>,
    bytes: Vec<u8>,
}

impl Known {
    /// The digit of a string, a new one if it is not known; `None` if there were more than `capacity`.
    fn digit(&mut self, view: &View, heap: &[Buffer], capacity: usize) -> Option<u32> {
        let bytes = if view.is_inline() { &[] } else { view.bytes(heap) };
        self.digit_hashed(hash_view(view, heap), view, bytes, capacity)
    }

    /// The same of a string with this hash; `bytes` are looked at if it is long.
    fn digit_hashed(&mut self, hash: u64, view: &View, bytes: &[u8], capacity: usize) -> Option<u32> {
        if self.strings.len() * 2 >= self.slots.len() {
            self.grow();
        }
        let mask = self.slots.len() - 1;
        let mut slot = (hash >> 32) as usize & mask;
        loop {
            let digit = self.slots[slot];
            if digit == 0 {
                break;
            }
            let (other, head, tail) = self.strings[digit as usize - 1];
            // Length and first bytes are in the head.
            let is_equal = other == hash
                && head == view.head
                && if view.is_inline() { tail == view.tail } else { self.long(tail, view.len()) == bytes };
            if is_equal {
                return Some(digit);
            }
            slot = (slot + 1) & mask;
        }
        if self.strings.len() == capacity {
            return None;
        }
        let tail = if view.is_inline() { view.tail } else { self.bytes.len() as u64 };
        if !view.is_inline() {
            self.bytes.extend_from_slice(bytes);
        }
        self.strings.push((hash, view.head, tail));
        self.slots[slot] = self.strings.len() as u32;
        Some(self.strings.len() as u32)
    }

    fn long(&self, at: u64, len: usize) -> &[u8] {
        &self.bytes[at as usize..at as usize + len]
    }

    fn grow(&mut self) {
        let mask = (self.slots.len() * 4).max(32) - 1;
        self.slots = vec![0; mask + 1];
        for (index, (hash, ..)) in self.strings.iter().enumerate() {
            let mut slot = (*hash >> 32) as usize & mask;
            while self.slots[slot] != 0 {
                slot = (slot + 1) & mask;
            }
            self.slots[slot] = index as u32 + 1;
        }
    }
}
