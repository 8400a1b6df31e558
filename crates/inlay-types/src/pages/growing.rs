//! Memory that grows without being copied.

#![expect(unsafe_code, reason = "mapped pages as a buffer")]

use super::system::Region;
use crate::Buffer;
use std::ptr::NonNull;

/// Zeroed bytes that grow. Many of them lie on pages of their own, which move to other addresses as they are, and which
/// the system has again as soon as nobody holds them.
pub struct Growing {
    memory: Memory,
    len: usize,
}

enum Memory {
    Heap(Buffer),
    Mapped(Region, usize),
}

/// Fewer bytes are not worth pages of their own.
const MAPPED_MIN: usize = 256 << 10;

impl Growing {
    /// No bytes, with room for `size_bytes`.
    pub fn with_capacity(size_bytes: usize) -> Self {
        let mut growing = Self { memory: Memory::Heap(Buffer::default()), len: 0 };
        if size_bytes > 0 {
            growing.make_room(size_bytes);
        }
        growing
    }

    /// `size_bytes` more bytes, all zero.
    pub fn extend(&mut self, size_bytes: usize) -> &mut [u8] {
        let (start, end) = (self.len, self.len + size_bytes);
        if end > self.capacity() {
            self.make_room(end.max(self.capacity() * 2));
        }
        self.len = end;
        match &mut self.memory {
            Memory::Heap(buffer) => &mut buffer.make_mut::<u8>()[start..end],
            Memory::Mapped(region, _) => region.bytes_mut(start..end),
        }
    }

    /// The bytes so far.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        let len = self.len;
        match &mut self.memory {
            Memory::Heap(buffer) => &mut buffer.make_mut::<u8>()[..len],
            Memory::Mapped(region, _) => region.bytes_mut(0..len),
        }
    }

    /// The bytes as memory that only the caller has and may write to.
    pub fn finish(self) -> Buffer {
        match self.memory {
            Memory::Heap(buffer) => buffer.slice(0, self.len),
            Memory::Mapped(mut region, _) => {
                // Addresses that are not used; if they stay, they cost nothing.
                let _ = region.resize(self.len);
                let start = NonNull::new(region.address(0)).unwrap_or(NonNull::<u128>::dangling().cast());
                // SAFETY: the region is mapped for at least `len` bytes until its owner drops it, begins at a page, and
                // nobody writes to it but who has the buffer alone.
                unsafe { Buffer::foreign(start, self.len, Box::new(region)) }
            }
        }
    }

    fn capacity(&self) -> usize {
        match &self.memory {
            Memory::Heap(buffer) => buffer.size(),
            Memory::Mapped(_, capacity) => *capacity,
        }
    }

    fn make_room(&mut self, capacity: usize) {
        if let Memory::Mapped(region, size) = &mut self.memory
            && region.resize(capacity).is_some()
        {
            *size = capacity;
            return;
        }
        let region = if capacity < MAPPED_MIN { None } else { Region::reserve(capacity) };
        let mut memory = match region {
            Some(region) => Memory::Mapped(region, capacity),
            None => Memory::Heap(Buffer::zeroed(capacity)),
        };
        let target = match &mut memory {
            Memory::Heap(buffer) => buffer.make_mut::<u8>(),
            Memory::Mapped(region, _) => region.bytes_mut(0..capacity),
        };
        match &mut self.memory {
            Memory::Heap(buffer) => target[..self.len].copy_from_slice(&buffer.bytes()[..self.len]),
            Memory::Mapped(region, _) => target[..self.len].copy_from_slice(region.bytes_mut(0..self.len)),
        }
        self.memory = memory;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_stay_while_they_grow_and_new_ones_are_zero() {
        for (first, step) in [(0, 1000), (100, 70_000), (MAPPED_MIN, MAPPED_MIN), (3 * MAPPED_MIN + 5, 4097)]
        {
            let mut growing = Growing::with_capacity(first);
            for round in 0..20u8 {
                let new = growing.extend(step);
                assert!(new.iter().all(|byte| *byte == 0));
                new.fill(round + 1);
            }
            let buffer = growing.finish();
            assert_eq!(buffer.size(), 20 * step);
            let expected = |(part, bytes): (usize, &[u8])| bytes.iter().all(|byte| *byte == part as u8 + 1);
            assert!(buffer.bytes().chunks(step).enumerate().all(expected));
        }
        assert_eq!(Growing::with_capacity(0).finish().size(), 0);
    }
}
