//! For systems without memfd: there are no pages, and callers copy.

use std::ops::Range;

pub fn page_size() -> usize {
    4096
}

/// There is none.
#[derive(Debug)]
pub enum PoolFile {}

impl PoolFile {
    pub fn create() -> Option<Self> {
        None
    }

    pub fn is_ours(&self) -> bool {
        match *self {}
    }

    pub fn grow(&self, _size: u64) -> bool {
        match *self {}
    }

    pub fn release(&self, _offset: u64, _size: usize) {
        match *self {}
    }
}

/// There is none.
pub enum Window {}

impl Window {
    pub fn writable(file: &PoolFile, _offset: u64, _size: usize) -> Option<Self> {
        match *file {}
    }

    pub fn readable(file: &PoolFile, _offset: u64, _size: usize) -> Option<Self> {
        match *file {}
    }

    pub fn bytes(&self) -> &[u8] {
        match *self {}
    }

    pub fn bytes_mut(&mut self) -> &mut [u8] {
        match *self {}
    }
}

/// There is none.
pub enum Region {}

impl Region {
    pub fn reserve(_size: usize) -> Option<Self> {
        None
    }

    pub fn resize(&mut self, _size: usize) -> Option<()> {
        match *self {}
    }

    pub fn show(&mut self, _file: &PoolFile, _offset: u64, _place: Range<usize>) -> Option<()> {
        match *self {}
    }

    pub fn bytes_mut(&mut self, _place: Range<usize>) -> &mut [u8] {
        match *self {}
    }

    pub fn address(&self, _at: usize) -> *mut u8 {
        match *self {}
    }
}
