//! Claims about objects in the file that no root refers to yet.

use super::*;
use crate::file::Root;
use crate::io::{Disk, DiskFile, FileIdentity, LockKind, MemoryDisk, OpenMode};
use std::io;
use std::ops::Range;
use std::path::Path;

type Hook = Box<dyn FnOnce() + Send>;

/// A disk whose next write is preceded by something else, once.
#[derive(Clone)]
struct HookedDisk {
    disk: MemoryDisk,
    hook: Arc<Mutex<Option<Hook>>>,
}

struct HookedFile {
    file: Arc<dyn DiskFile>,
    hook: Arc<Mutex<Option<Hook>>>,
}

impl std::fmt::Debug for HookedDisk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("HookedDisk")
    }
}

impl std::fmt::Debug for HookedFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("HookedFile")
    }
}

impl Disk for HookedDisk {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn DiskFile>> {
        Ok(Arc::new(HookedFile { file: self.disk.open(path, mode)?, hook: Arc::clone(&self.hook) }))
    }
    fn remove(&self, path: &Path) -> io::Result<()> {
        self.disk.remove(path)
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.disk.rename(from, to)
    }
    fn exists(&self, path: &Path) -> io::Result<bool> {
        self.disk.exists(path)
    }
    fn sync_directory(&self, of: &Path) -> io::Result<()> {
        self.disk.sync_directory(of)
    }
    fn identity(&self, path: &Path) -> io::Result<Option<FileIdentity>> {
        self.disk.identity(path)
    }
    fn random(&self) -> u64 {
        self.disk.random()
    }
}

impl DiskFile for HookedFile {
    fn identity(&self) -> FileIdentity {
        self.file.identity()
    }
    fn size(&self) -> io::Result<u64> {
        self.file.size()
    }
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        self.file.read_at(bytes, offset)
    }
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let hook = self.hook.lock().take();
        if let Some(hook) = hook {
            hook();
        }
        self.file.write_at(bytes, offset)
    }
    fn set_size(&self, size: u64) -> io::Result<()> {
        self.file.set_size(size)
    }
    fn sync(&self) -> io::Result<()> {
        self.file.sync()
    }
    fn try_lock(&self, byte: u64, kind: LockKind) -> io::Result<bool> {
        self.file.try_lock(byte, kind)
    }
    fn unlock(&self, byte: u64) -> io::Result<()> {
        self.file.unlock(byte)
    }
    fn is_locked(&self, bytes: Range<u64>) -> io::Result<bool> {
        self.file.is_locked(bytes)
    }
}

/// A bulk load writes a segment; while its bytes are under way, a checkpoint of everything before it is published; the
/// load commits and the process is killed. The log's claim to the segment must hold, and no block be lost.
#[test]
fn a_checkpoint_during_the_write_of_a_segment_leaves_its_blocks_free() {
    let path = Path::new("db");
    let disk = HookedDisk { disk: MemoryDisk::new(), hook: Arc::default() };
    let file = BlockFile::create(&disk, path).unwrap();
    let catalog = file.write_object(ObjectKind::Catalog, 0, b"catalog").unwrap();
    let home = Home::new(Arc::clone(&file), MemoryBudget::unlimited());
    let publishes = Arc::clone(&file);
    *disk.hook.lock() =
        Some(Box::new(move || publishes.publish(Root { lsn: 6, catalog, extra: 0 }, vec![]).unwrap()));
    let segment = home.store(1, &[7; 9000]).unwrap();
    assert!(disk.hook.lock().is_none(), "the checkpoint did not happen");
    segment.set_committed(7);
    let ptr = segment.ptr();
    drop((segment, home, file));

    let (file, root) = BlockFile::open(&disk, path, false).unwrap();
    assert_eq!(root.lsn, 6);
    file.claim(ptr).unwrap();
    assert_eq!(file.verify_space(&[catalog, ptr]), Vec::<String>::new());
    assert_eq!(*file.read_object(ObjectKind::Segment, ptr).unwrap(), [7; 9000]);
}
