//! Byte locks of files that live in this process.

use super::LockKind;
use std::ops::Range;

/// Who holds which lock. A holder is one opening of a file.
#[derive(Debug, Default)]
pub(super) struct LockTable {
    held: Vec<Held>,
}

#[derive(Debug)]
struct Held {
    inode: u64,
    holder: u64,
    byte: u64,
    kind: LockKind,
}

impl LockTable {
    pub(super) fn try_lock(&mut self, inode: u64, holder: u64, byte: u64, kind: LockKind) -> bool {
        let conflicts = self.held.iter().any(|lock| {
            lock.inode == inode
                && lock.byte == byte
                && lock.holder != holder
                && (kind == LockKind::Exclusive || lock.kind == LockKind::Exclusive)
        });
        if !conflicts {
            self.unlock(inode, holder, byte);
            self.held.push(Held { inode, holder, byte, kind });
        }
        !conflicts
    }

    pub(super) fn unlock(&mut self, inode: u64, holder: u64, byte: u64) {
        self.held.retain(|lock| (lock.inode, lock.holder, lock.byte) != (inode, holder, byte));
    }

    pub(super) fn release(&mut self, holder: u64) {
        self.held.retain(|lock| lock.holder != holder);
    }

    pub(super) fn is_locked(&self, inode: u64, holder: u64, bytes: &Range<u64>) -> bool {
        self.held
            .iter()
            .any(|lock| lock.inode == inode && lock.holder != holder && bytes.contains(&lock.byte))
    }
}
