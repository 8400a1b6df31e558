//! The database file: objects in blocks of 4 KiB, reached from two alternating headers. docs/format.md specifies it.
//!
//! A change never overwrites what the newest header reaches. New objects go to free blocks or the end of the file;
//! [`BlockFile::publish`] makes them durable and then writes the next header. What the new root no longer reaches is
//! *retired*: it becomes free when no handle of this process and no reader of another one can need it.
//!
//! Invariants
//! - Everything that the newest durable header reaches is durable and never written to.
//! - After a failed sync, or a failed write of a header, nothing more is written, for what is on the disk is not known any
//!   more. A failure to write an object, as on a full disk, is no such failure: nothing refers to the object yet.
//! - A process that reads holds a lock on the generation it reads (`header` says how it cannot miss a newer one).

mod header;
mod log_mark;
mod object;
mod salvage;
mod space;
#[cfg(test)]
mod tests;

pub use header::{FORMAT_BY_VALUE, FORMAT_VERSION, FORMAT_VERSION_MAX};
pub use log_mark::LogMark;
pub use object::{ObjectKind, ObjectPtr, Payload};
pub use salvage::{SalvageReport, SalvagedObject, salvage};
pub use space::SpaceUse;

use crate::io::{Disk, DiskFile, FileIdentity, LockKind, OpenMode, WRITER_LOCK};
use header::{HEADERS_SIZE, Header};
use inlay_types::process::process_id;
use inlay_types::{Error, Result};
use object::{FRAME_SIZE, Frame, blocks_for, checksum};
use parking_lot::Mutex;
use space::{FIRST_BLOCK, Space};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Weak};

/// Bytes of a block.
pub const BLOCK_SIZE: u64 = 4096;
/// Locked by readers: this byte plus the generation they read. Far beyond any data.
const READER_LOCKS: u64 = 1 << 62;
/// Objects above this are compared with the size of the file before memory is taken for them.
const TRUSTED_SIZE: u64 = 1 << 20;

/// What a header points to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Root {
    /// Every transaction up to this log sequence number is in the file.
    pub lsn: u64,
    /// The catalog, from which everything else is reached; [`ObjectPtr::NONE`] in a new database.
    pub catalog: ObjectPtr,
    /// Whatever the owner of the catalog wants to know before it is read.
    pub extra: u64,
}

impl Default for ObjectPtr {
    fn default() -> Self {
        Self::NONE
    }
}

/// A handle of an object. While one exists, its blocks are not reused, even if it was retired.
///
/// An object should have one `Arc` of this that everybody shares.
#[derive(Debug)]
pub struct StoredObject {
    /// The file.
    pub file: Arc<BlockFile>,
    /// Where it is.
    pub ptr: ObjectPtr,
    /// What it is.
    pub kind: ObjectKind,
}

impl StoredObject {
    /// The verified payload.
    pub fn read(&self) -> Result<Payload> {
        self.file.read_object(self.kind, self.ptr)
    }
}

/// An open database file.
#[derive(Debug)]
pub struct BlockFile {
    file: Arc<dyn DiskFile>,
    path: PathBuf,
    name: String,
    database_id: u128,
    read_only: bool,
    generation: AtomicU64,
    space: Mutex<Space>,
    published: Mutex<Header>,
    /// The format that the next header says at least; never lowered while the file is open.
    needed_format: AtomicU32,
    /// The salt of the log that the newest header says is needed; 0 if it says that of none.
    marked: AtomicU64,
    reading: Mutex<Option<Arc<GenerationLock>>>,
    failure: Mutex<Option<String>>,
}

/// Keeps the writing process from reusing what a generation refers to, until dropped.
#[derive(Debug)]
pub struct GenerationLock {
    file: Arc<dyn DiskFile>,
    generation: u64,
    process: u32,
}

impl GenerationLock {
    /// The generation.
    pub fn generation(&self) -> u64 {
        self.generation
    }
}

impl Drop for GenerationLock {
    fn drop(&mut self) {
        // A forked child shares the lock with its parent, which still needs it.
        if self.process == process_id() {
            // A lock that cannot be given back only delays the reuse of blocks.
            let _ = self.file.unlock(READER_LOCKS + self.generation);
        }
    }
}

impl BlockFile {
    /// Makes a durable, empty database of a file that does not exist or is empty, and opens it for writing.
    pub fn create(disk: &dyn Disk, path: &Path) -> Result<Arc<Self>> {
        let name = path.display().to_string();
        let file =
            disk.open(path, OpenMode::Create).map_err(|error| Error::io("cannot create", &name, &error))?;
        lock_for_writing(&*file, &name)?;
        let size = file.size().map_err(|error| Error::io("cannot read", &name, &error))?;
        if size > 0 && read_headers(&*file, &name)?.0.is_some() {
            return Err(Error::invalid_argument(format!("\"{name}\" exists already and is not empty")));
        }
        let header = initialise(disk, &*file, path)?;
        Ok(Arc::new(Self::of(file, path, header, false, Space::new(FIRST_BLOCK))))
    }

    /// Opens a database. One that is not there, is empty, or whose creation was interrupted is created when it may be
    /// written.
    pub fn open(disk: &dyn Disk, path: &Path, read_only: bool) -> Result<(Arc<Self>, Root)> {
        Self::open_unless(disk, path, read_only, &|| Ok(()))
    }

    /// As [`BlockFile::open`]; `may_create` is asked before a file that holds no database yet becomes one.
    pub fn open_unless(
        disk: &dyn Disk,
        path: &Path,
        read_only: bool,
        may_create: &dyn Fn() -> Result<()>,
    ) -> Result<(Arc<Self>, Root)> {
        let name = path.display().to_string();
        let mode = if read_only { OpenMode::ReadOnly } else { OpenMode::Create };
        let file = disk.open(path, mode).map_err(|error| Error::io("cannot open", &name, &error))?;
        let opened = if read_only {
            Self::open_to_read(file, path, &name)?
        } else {
            Self::open_to_write(disk, file, path, may_create)?
        };
        let root = opened.root();
        Ok((Arc::new(opened), root))
    }

    /// Opens a file whose headers may be anything, to read objects that were found without them.
    pub fn open_damaged(disk: &dyn Disk, path: &Path) -> Result<Arc<Self>> {
        let name = path.display().to_string();
        let file =
            disk.open(path, OpenMode::ReadOnly).map_err(|error| Error::io("cannot open", &name, &error))?;
        let size = file.size().map_err(|error| Error::io("cannot read", &name, &error))?;
        let (free_list, root, block_count) = (ObjectPtr::NONE, Root::default(), size.div_ceil(BLOCK_SIZE));
        let log = LogMark::default();
        // Nothing says which format it has.
        let version = 0;
        let header = Header { version, database_id: 0, generation: 0, block_count, free_list, root, log };
        Ok(Arc::new(Self::of(file, path, header, true, Space::new(block_count))))
    }

    fn open_to_read(file: Arc<dyn DiskFile>, path: &Path, name: &str) -> Result<Self> {
        let (header, lock) = lock_newest(&file, name)?;
        let space = Space::new(header.block_count);
        let opened = Self::of(file, path, header, true, space);
        *opened.reading.lock() = Some(Arc::new(lock));
        Ok(opened)
    }

    fn open_to_write(
        disk: &dyn Disk,
        file: Arc<dyn DiskFile>,
        path: &Path,
        may_create: &dyn Fn() -> Result<()>,
    ) -> Result<Self> {
        let name = path.display().to_string();
        lock_for_writing(&*file, &name)?;
        let (chosen, size) = read_headers(&*file, &name)?;
        let Some(chosen) = chosen else {
            may_create()?;
            let header = initialise(disk, &*file, path)?;
            return Ok(Self::of(file, path, header, false, Space::new(FIRST_BLOCK)));
        };
        if chosen.header.generation == 0 && size < HEADERS_SIZE as u64 {
            // Its creation was interrupted, or it was cut to less than the headers: they are all it had.
            write_first(disk, &*file, path, &chosen.header)?;
            return Ok(Self::of(file, path, chosen.header, false, Space::new(FIRST_BLOCK)));
        }
        let space = Space::new(chosen.header.block_count);
        let mut opened = Self::of(file, path, chosen.header.clone(), false, space);
        opened.load_space(size)?;
        // Written anew even if it is whole: after a failed sync it may be in the system's cache alone, and its older
        // generation on the disk; that one must be gone before anything is reused.
        for header in
            [Some(chosen.header), chosen.older.filter(|_| chosen.wants_repair)].into_iter().flatten()
        {
            opened.write_header(&header)?;
        }
        opened.sync()?;
        Ok(opened)
    }

    fn of(file: Arc<dyn DiskFile>, path: &Path, header: Header, read_only: bool, space: Space) -> Self {
        Self {
            file,
            path: path.to_path_buf(),
            name: path.display().to_string(),
            database_id: header.database_id,
            read_only,
            generation: AtomicU64::new(header.generation),
            space: Mutex::new(space),
            marked: AtomicU64::new(0),
            published: Mutex::new(header),
            needed_format: AtomicU32::new(FORMAT_VERSION),
            reading: Mutex::new(None),
            failure: Mutex::new(None),
        }
    }

    /// Reads the free list and compares it with the root and the size of the file.
    fn load_space(&mut self, size: u64) -> Result<()> {
        let header = self.published.get_mut().clone();
        let end = header.block_count;
        let mut space = if header.free_list.is_none() {
            Space::new(end)
        } else {
            let bytes = self.read_object(ObjectKind::FreeList, header.free_list)?;
            Space::from_list(&bytes, end).map_err(|error| error.within(self.place("free list")))?
        };
        let mut used_end = end;
        for (block, count) in space.unused().into_iter().rev() {
            if block + count == used_end {
                used_end = block;
            }
        }
        if size < used_end * BLOCK_SIZE {
            return Err(Error::corrupt(format!(
                "\"{}\" was cut: it has {size} bytes of at least {}",
                self.name,
                used_end * BLOCK_SIZE
            )));
        }
        for ptr in [header.root.catalog, header.free_list] {
            let overlaps = |(block, count): &(u64, u64)| ptr.block < block + count && *block < ptr.end();
            if !ptr.is_none() && (ptr.end() > end || space.unused().iter().any(overlaps)) {
                return Err(Error::corrupt("an object of the header lies in free blocks"))
                    .map_err(|error| error.within(self.place("header")));
            }
        }
        space.trim();
        *self.space.get_mut() = space;
        Ok(())
    }

    fn place(&self, what: &str) -> String {
        format!("\"{}\", {what}", self.name)
    }

    /// The random id that ties the log to the database.
    pub fn database_id(&self) -> u128 {
        self.database_id
    }

    /// The path it was opened by.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Which file it is, whatever names it has.
    pub fn identity(&self) -> FileIdentity {
        self.file.identity()
    }

    /// What is alive until the file is closed, and its locks are gone.
    pub fn opened(&self) -> Weak<()> {
        self.file.opened()
    }

    /// Whether it was opened for reading.
    pub fn is_read_only(&self) -> bool {
        self.read_only
    }

    /// Number of the newest header: how often something was published.
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// The root of the newest header that was read or published.
    pub fn root(&self) -> Root {
        self.published.lock().root
    }

    /// The version of the format of what the newest header leads to, and of the log behind it; 0 if no header was read.
    pub fn format(&self) -> u32 {
        self.published.lock().version
    }

    /// Has all headers from now on say that the file has this version of the format, or a later one. Returns what the newest says.
    pub fn raise_format(&self, version: u32) -> u32 {
        // Whoever is about to publish a header has read before what it will say.
        let published = self.published.lock();
        self.needed_format.fetch_max(version, Ordering::SeqCst);
        published.version
    }

    /// Whether the newest header is to be written once more for what [`Self::raise_format`] said.
    pub fn wants_format(&self) -> bool {
        self.format() < self.needed_format.load(Ordering::SeqCst)
    }

    /// Number of blocks in use or between such.
    pub fn block_count(&self) -> u64 {
        self.space.lock().end()
    }

    /// How blocks are used; for a file opened for writing.
    pub fn space(&self) -> SpaceUse {
        self.space.lock().usage()
    }

    /// Why nothing more can be written, if so.
    pub fn write_failure(&self) -> Option<Error> {
        let failure = self.failure.lock().clone()?;
        Some(Error::ReadOnly {
            message: format!(
                "\"{}\" takes no more changes after a failure ({failure}); what was committed is safe: \
                 mend the cause and open the database again",
                self.name
            ),
        })
    }

    fn expect_writable(&self) -> Result<()> {
        if self.read_only {
            return Err(Error::ReadOnly { message: format!("\"{}\" was opened read-only", self.name) });
        }
        self.write_failure().map_or(Ok(()), Err)
    }

    fn fail(&self, action: &'static str, error: &std::io::Error) -> Error {
        let mut failure = self.failure.lock();
        if failure.is_none() {
            *failure = Some(format!("{action}: {error}"));
        }
        Error::io(action, &self.name, error)
    }

    /// Writes an object to free blocks, or to the end of the file. It is durable after [`Self::sync`].
    ///
    /// It belongs to the next root that is published, unless [`Self::hold`] says otherwise.
    pub fn write_object(&self, kind: ObjectKind, owner: u64, payload: &[u8]) -> Result<ObjectPtr> {
        self.expect_writable()?;
        let block = self.space.lock().allocate(blocks_for(payload.len() as u64));
        self.write_to(block, kind, owner, payload)
    }

    /// The same for an object that no root refers to yet, as [`Self::hold`] without an LSN. A root that is published while
    /// the object is written already counts its blocks as free.
    pub fn write_held_object(&self, kind: ObjectKind, owner: u64, payload: &[u8]) -> Result<ObjectPtr> {
        self.expect_writable()?;
        let count = blocks_for(payload.len() as u64);
        let block = {
            let mut space = self.space.lock();
            let block = space.allocate(count);
            space.hold(block, count, None);
            block
        };
        self.write_to(block, kind, owner, payload)
    }

    /// As [`Self::write_object`], only to free blocks before block `limit`; `None` if it fits into none: for moving objects forward.
    pub fn write_object_below(
        &self,
        kind: ObjectKind,
        owner: u64,
        payload: &[u8],
        limit: u64,
    ) -> Result<Option<ObjectPtr>> {
        self.expect_writable()?;
        let block = self.space.lock().allocate_below(blocks_for(payload.len() as u64), limit);
        block.map(|block| self.write_to(block, kind, owner, payload)).transpose()
    }

    fn write_to(&self, block: u64, kind: ObjectKind, owner: u64, payload: &[u8]) -> Result<ObjectPtr> {
        let size = payload.len() as u64;
        let ptr = ObjectPtr { block, size, checksum: checksum(kind, payload) };
        let frame = Frame { kind, owner, size, generation: self.generation(), block, checksum: ptr.checksum };
        let bytes_total = (ptr.block_count() * BLOCK_SIZE) as usize;
        let mut bytes = Vec::with_capacity(bytes_total);
        bytes.extend_from_slice(&frame.to_bytes());
        bytes.extend_from_slice(payload);
        bytes.resize(bytes_total, 0);
        match self.file.write_at(&bytes, block * BLOCK_SIZE) {
            Ok(()) => Ok(ptr),
            Err(error) => {
                let mut space = self.space.lock();
                space.unhold(block);
                space.release(block, ptr.block_count());
                Err(Error::io("cannot write", &self.name, &error))
            }
        }
    }

    /// Between two calls, objects are written as far in front as they fit.
    pub fn set_packing(&self, packs: bool) {
        self.space.lock().set_packing(packs);
    }

    /// Says that an object will be read soon, so that the disk may begin.
    pub fn will_read(&self, ptr: ObjectPtr) {
        let start = ptr.block * BLOCK_SIZE;
        self.file.will_read(start..start + FRAME_SIZE as u64 + ptr.size);
    }

    /// The payload of an object, verified.
    pub fn read_object(&self, kind: ObjectKind, ptr: ObjectPtr) -> Result<Payload> {
        self.read_verified(kind, ptr)
            .map_err(|error| error.within(format!("\"{}\", {kind} at block {}", self.name, ptr.block)))
    }

    fn read_verified(&self, kind: ObjectKind, ptr: ObjectPtr) -> Result<Payload> {
        ptr.check()?;
        let offset = ptr.block * BLOCK_SIZE;
        let len = FRAME_SIZE as u64 + ptr.size;
        if ptr.size > TRUSTED_SIZE {
            let size = self.file.size().map_err(|error| self.read_failure(&error))?;
            if size < offset + len {
                return Err(Error::corrupt("the file ends before the object does"));
            }
        }
        let mut object = vec![0; len as usize];
        self.file.read_at(&mut object, offset).map_err(|error| self.read_failure(&error))?;
        let frame = Frame::from_bytes(object.first_chunk().unwrap_or(&[0; FRAME_SIZE]))?;
        if (frame.kind, frame.size, frame.checksum, frame.block) != (kind, ptr.size, ptr.checksum, ptr.block)
        {
            return Err(Error::corrupt(format!(
                "another object is here: a {} of {} bytes for block {}",
                frame.kind, frame.size, frame.block
            )));
        }
        let payload = Payload::of(object);
        if checksum(kind, &payload) != ptr.checksum {
            return Err(Error::corrupt(format!("its {} bytes do not fit their checksum", ptr.size)));
        }
        Ok(payload)
    }

    fn read_failure(&self, error: &std::io::Error) -> Error {
        match error.kind() {
            ErrorKind::UnexpectedEof => Error::corrupt("the file ends before the object does"),
            _ => Error::io("cannot read", &self.name, error),
        }
    }

    /// Gives back the blocks of an object that no root and no log record refers to.
    pub fn discard(&self, ptr: ObjectPtr) {
        let mut space = self.space.lock();
        space.unhold(ptr.block);
        let overlaps = |(block, count): &(u64, u64)| ptr.block < block + count && *block < ptr.end();
        // Blocks that are free already would be handed out twice: rather none of them than that.
        if !ptr.is_none() && ptr.end() <= space.end() && !space.unused().iter().any(overlaps) {
            space.release(ptr.block, ptr.block_count());
        }
    }

    /// Says that an object belongs to a transaction that is not committed (`None`) or has this LSN: roots that do not
    /// cover it count its blocks as free, so that they are not lost if the process ends.
    pub fn hold(&self, ptr: ObjectPtr, lsn: Option<u64>) {
        self.space.lock().hold(ptr.block, ptr.block_count(), lsn);
    }

    /// Says that an object belongs to the root that is about to be published.
    pub fn unhold(&self, ptr: ObjectPtr) {
        self.space.lock().unhold(ptr.block);
    }

    /// Recovery: takes the blocks of an object that a log record refers to; they must not be in use.
    pub fn claim(&self, ptr: ObjectPtr) -> Result<()> {
        let place = || format!("\"{}\", block {}", self.name, ptr.block);
        ptr.check().map_err(|error| error.within(place()))?;
        let size = self.file.size().map_err(|error| Error::io("cannot read", &self.name, &error))?;
        if ptr.end() * BLOCK_SIZE > size {
            return Err(
                Error::corrupt("the log refers to an object behind the end of the file").within(place())
            );
        }
        if self.read_only {
            return Ok(());
        }
        self.space.lock().claim(ptr.block, ptr.block_count()).map_err(|error| error.within(place()))
    }

    /// Makes everything written so far durable.
    pub fn sync(&self) -> Result<()> {
        self.expect_writable()?;
        self.file.sync().map_err(|error| self.fail("cannot sync", &error))
    }

    /// Makes `root` the state of the file, durably. `retired` are objects that the last root reached and this one does
    /// not. After an error they are still in use, and the last root is what the file holds; if the error came after
    /// the point where either may be, [`Self::write_failure`] says that no more is written.
    pub fn publish(&self, root: Root, retired: Vec<Arc<StoredObject>>) -> Result<()> {
        self.publish_with_log(root, FORMAT_VERSION, retired, &|| Ok(LogMark::default()))
    }

    /// As [`Self::publish`] for a file with a log, whose root needs a version of the format: `log` says, when the header is written, what it has to say of it. Whoever
    /// commits from then on finds that nothing is noted of the log, and waits in [`Self::expect_log`].
    pub fn publish_with_log(
        &self,
        root: Root,
        format: u32,
        retired: Vec<Arc<StoredObject>>,
        log: &dyn Fn() -> Result<LogMark>,
    ) -> Result<()> {
        self.expect_writable()?;
        let mut published = self.published.lock();
        let generation = published.generation + 1;
        self.reclaim()?;
        let old_list = published.free_list;
        let mut ranges: Vec<_> = retired.iter().map(|o| (o.ptr.block, o.ptr.block_count())).collect();
        if !old_list.is_none() {
            ranges.push((old_list.block, old_list.block_count()));
        }
        let (free_list, block_count) = self.write_free_list(&root, generation, &ranges)?;
        let database_id = self.database_id;
        self.marked.store(0, Ordering::SeqCst);
        let log = log().inspect_err(|_| self.discard(free_list))?;
        let marked = if log.lsn > root.lsn { log.salt } else { 0 };
        let version = self.needed_format.load(Ordering::SeqCst).max(format);
        let header = Header { version, database_id, generation, block_count, free_list, root, log };
        self.sync()?;
        self.write_header(&header)?;
        self.sync()?;
        *published = header;
        self.marked.store(marked, Ordering::SeqCst);
        self.generation.store(generation, Ordering::Release);
        {
            let mut space = self.space.lock();
            space.unhold_to(root.lsn);
            for object in &retired {
                space.retire(object.ptr.block, object.ptr.block_count(), generation, Arc::downgrade(object));
            }
            if !old_list.is_none() {
                space.retire(old_list.block, old_list.block_count(), generation, std::sync::Weak::new());
            }
        }
        drop(retired);
        drop(published);
        self.shrink()
    }

    /// Writes the free list of the next root; also the number of blocks that root says the file has.
    fn write_free_list(
        &self,
        root: &Root,
        generation: u64,
        retired: &[(u64, u64)],
    ) -> Result<(ObjectPtr, u64)> {
        let (block, bytes, end) = {
            let mut space = self.space.lock();
            let size = space.list_size(root.lsn, retired.len());
            let block = space.allocate(blocks_for(size));
            space.trim();
            (block, space.list(root.lsn, generation, retired, size), space.end())
        };
        let ptr = self.write_to(block, ObjectKind::FreeList, generation, &bytes)?;
        Ok((ptr, end))
    }

    fn write_header(&self, header: &Header) -> Result<()> {
        for (copy, offset) in header::offsets(header.generation).into_iter().enumerate() {
            self.file
                .write_at(&header.to_bytes(copy), offset)
                .map_err(|error| self.fail("cannot write the header of", &error))?;
        }
        Ok(())
    }

    /// Frees what was retired and that nobody reads any more.
    pub fn reclaim(&self) -> Result<()> {
        let Some((first, last)) = self.space.lock().pending_generations() else { return Ok(()) };
        let locked_below = |generation: u64| {
            self.file
                .is_locked(READER_LOCKS..READER_LOCKS + generation)
                .map_err(|error| Error::io("cannot examine the locks of", &self.name, &error))
        };
        // Usually nobody reads an old generation. If somebody does, what was retired up to then is free.
        let mut free_to = last;
        if locked_below(last)? {
            let (mut low, mut high) = (first.saturating_sub(1), last);
            while low + 1 < high {
                let middle = low + (high - low) / 2;
                if locked_below(middle)? { high = middle } else { low = middle }
            }
            free_to = low;
        }
        self.space.lock().reclaim(free_to);
        Ok(())
    }

    /// Frees what can be freed and cuts a free tail off the file.
    pub fn shrink(&self) -> Result<()> {
        self.expect_writable()?;
        self.reclaim()?;
        let mut space = self.space.lock();
        space.trim();
        let end = space.end() * BLOCK_SIZE;
        // The file may be longer than it needs to be: what fails here is tried again next time.
        if self.file.size().is_ok_and(|size| size > end) {
            let _ = self.file.set_size(end);
        }
        Ok(())
    }

    /// For a file opened read-only: the root of the newest header if it is newer than the one known.
    ///
    /// The generation before stays locked only as long as somebody has [`Self::generation_lock`] of it.
    pub fn refresh(&self) -> Result<Option<Root>> {
        if !self.read_only {
            return Ok(None);
        }
        let mut published = self.published.lock();
        let (chosen, _) = read_headers(&*self.file, &self.name)?;
        let Some(chosen) = chosen else { return Ok(None) };
        if chosen.header.generation == published.generation {
            published.log = chosen.header.log;
            return Ok(None);
        }
        let (header, lock) = lock_newest(&self.file, &self.name)?;
        if header.database_id != self.database_id {
            return Err(Error::corrupt(format!("\"{}\" became another database", self.name)));
        }
        self.generation.store(header.generation, Ordering::Release);
        let root = header.root;
        *published = header;
        *self.reading.lock() = Some(Arc::new(lock));
        Ok(Some(root))
    }

    /// For a file opened read-only: what keeps the generation being read from being overwritten.
    pub fn generation_lock(&self) -> Option<Arc<GenerationLock>> {
        self.reading.lock().clone()
    }

    /// What does not hold in the headers, the free list, and between the objects that were reached and the blocks of
    /// the file: overlaps, objects in free blocks or beyond the end, blocks that are neither reached nor free. Objects
    /// of running transactions that are held count as reached. The caller has read each object already.
    pub fn verify_space(&self, reached: &[ObjectPtr]) -> Vec<String> {
        let mut problems = Vec::new();
        match read_headers(&*self.file, &self.name) {
            Ok((Some(chosen), _)) if !chosen.wants_repair => {}
            Ok(_) => problems.push("one of the copies of a header is damaged".to_string()),
            Err(error) => problems.push(error.to_string()),
        }
        let header = self.published.lock().clone();
        let list = header.free_list;
        let mut on_disk = Ok(Space::new(header.block_count));
        if !list.is_none() {
            on_disk = self
                .read_object(ObjectKind::FreeList, list)
                .and_then(|bytes| Space::from_list(&bytes, header.block_count));
        }
        match on_disk {
            Err(error) => problems.push(error.to_string()),
            // Whoever writes knows better than the last free list what is free now.
            Ok(space) if self.read_only => verify_extents(&space, list, reached, &mut problems),
            Ok(_) => verify_extents(&self.space.lock(), list, reached, &mut problems),
        }
        problems
    }
}

/// Compares what was reached with what is free.
fn verify_extents(space: &Space, list: ObjectPtr, reached: &[ObjectPtr], problems: &mut Vec<String>) {
    let objects = reached.iter().chain([&list]).filter(|ptr| !ptr.is_none());
    let mut extents: Vec<_> = objects.map(|ptr| (ptr.block, ptr.end(), "an object")).collect();
    let known: std::collections::HashSet<u64> = extents.iter().map(|extent| extent.0).collect();
    let held = space.held().filter(|(block, _)| !known.contains(block));
    extents.extend(held.map(|(block, count)| (block, block + count, "an object of a transaction")));
    extents.extend(space.unused().into_iter().map(|(block, count)| (block, block + count, "free blocks")));
    extents.sort_unstable();
    let (mut at, mut last) = (FIRST_BLOCK, "a header");
    for (from, to, what) in extents {
        if from < at {
            problems.push(format!("{what} at block {from} overlaps {last} that ends at block {at}"));
        } else if from > at {
            problems.push(format!("blocks {at} to {} are neither reached nor free", from - 1));
        }
        if to >= at {
            (at, last) = (to, what);
        }
    }
    match at.cmp(&space.end()) {
        std::cmp::Ordering::Less => {
            problems.push(format!("blocks {at} to {} are neither reached nor free", space.end() - 1));
        }
        std::cmp::Ordering::Greater => {
            problems
                .push(format!("{last} ends at block {at}, behind the end of the file at {}", space.end()));
        }
        std::cmp::Ordering::Equal => {}
    }
}

fn lock_for_writing(file: &dyn DiskFile, name: &str) -> Result<()> {
    let locked = file
        .try_lock(WRITER_LOCK, LockKind::Exclusive)
        .map_err(|error| Error::io("cannot lock", name, &error))?;
    if locked {
        return Ok(());
    }
    let holder = file.lock_holder(WRITER_LOCK).filter(|holder| *holder != std::process::id());
    let holder = holder.map_or_else(String::new, |holder| format!(" (PID {holder})"));
    Err(Error::Locked {
        message: format!(
            "\"{name}\" is being written by another process{holder}; close it there, or open it here with read_only = true"
        ),
    })
}

/// Reads both header blocks; `None` if the database is still empty. Also the size of the file.
fn read_headers(file: &dyn DiskFile, name: &str) -> Result<(Option<header::Chosen>, u64)> {
    let failed = |error: &std::io::Error| Error::io("cannot read", name, error);
    let size = file.size().map_err(|error| failed(&error))?;
    let mut blocks = vec![0; HEADERS_SIZE];
    let there = size.min(HEADERS_SIZE as u64) as usize;
    file.read_at(&mut blocks[..there], 0).map_err(|error| failed(&error))?;
    let chosen = header::choose(&blocks, name)?;
    if chosen.is_none() && size > HEADERS_SIZE as u64 {
        return Err(Error::corrupt(format!("\"{name}\": its headers were overwritten with zeroes")));
    }
    Ok((chosen, size))
}

/// Locks the newest generation: it is still the newest after it was locked, so the writer, which looks for locks after
/// it made a newer one, sees the lock before it reuses anything.
fn lock_newest(file: &Arc<dyn DiskFile>, name: &str) -> Result<(Header, GenerationLock)> {
    loop {
        let empty = || Error::invalid_argument(format!("\"{name}\" is empty; open it once for writing"));
        let header = read_headers(&**file, name)?.0.ok_or_else(empty)?.header;
        let generation = header.generation;
        let lock_failed = |error| Error::io("cannot lock", name, &error);
        if !file.try_lock(READER_LOCKS + generation, LockKind::Shared).map_err(lock_failed)? {
            return Err(Error::Locked { message: format!("\"{name}\" cannot be locked for reading") });
        }
        let lock = GenerationLock { file: file.clone(), generation, process: process_id() };
        if read_headers(&**file, name)?.0.is_some_and(|now| now.header.generation == generation) {
            return Ok((header, lock));
        }
    }
}

/// Makes the first header of a new database.
fn initialise(disk: &dyn Disk, file: &dyn DiskFile, path: &Path) -> Result<Header> {
    let database_id = u128::from(disk.random()) << 64 | u128::from(disk.random());
    let (free_list, root) = (ObjectPtr::NONE, Root::default());
    let log = LogMark::default();
    let (version, block_count) = (FORMAT_VERSION, FIRST_BLOCK);
    let header = Header { version, database_id, generation: 0, block_count, free_list, root, log };
    write_first(disk, file, path, &header)?;
    Ok(header)
}

/// Writes the header blocks of a database that has nothing else yet, and makes them durable.
fn write_first(disk: &dyn Disk, file: &dyn DiskFile, path: &Path, header: &Header) -> Result<()> {
    let mut blocks = vec![0; HEADERS_SIZE];
    for (copy, offset) in header::offsets(0).into_iter().enumerate() {
        let bytes = header.to_bytes(copy);
        blocks[offset as usize..offset as usize + bytes.len()].copy_from_slice(&bytes);
    }
    file.write_at(&blocks, 0)
        .and_then(|()| file.sync())
        .and_then(|()| disk.sync_directory(path))
        .map_err(|error| Error::io("cannot create", path.display().to_string(), &error))
}
