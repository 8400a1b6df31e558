//! A disk that fails on demand and forgets what was not synced, deterministic from a seed.
//!
//! Each file has the contents that its process sees and a durable image. Between the two lie, for each sector of 512
//! bytes, all versions since the last sync. A power cut leaves each sector with any one of its versions, the file with
//! any one of its sizes, and the directory after any prefix of its changes since it was synced. That covers writes that
//! are lost, reordered and torn.
//!
//! After a failed sync the versions until then stay volatile even if a later sync succeeds: that is what Linux does,
//! which reports such a failure once and marks the pages clean.

use super::locks::LockTable;
use super::{Disk, DiskFile, FileIdentity, LockKind, OpenMode};
use parking_lot::Mutex;
use std::collections::{BTreeMap, HashMap};
use std::io::{self, ErrorKind};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const SECTOR: usize = 512;

/// How a call fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The call does nothing and says EIO.
    Eio,
    /// Calls that may need space say that there is none; others work.
    NoSpace,
    /// As most full disks are: new files and longer ones fail, writing over what is there works.
    Full,
    /// A write stops in the middle, at the end of a sector, with an error; other calls work.
    ShortWrite,
    /// A sync fails, and what it should have made durable may be lost even if a later one succeeds; other calls work.
    FailedSync,
}

/// A simulated disk. Clones are the same disk.
#[derive(Clone, Debug)]
pub struct SimulatedDisk {
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    files: HashMap<u64, File>,
    names: BTreeMap<PathBuf, u64>,
    names_durable: BTreeMap<PathBuf, u64>,
    /// The directory after each change that was not synced.
    names_since: Vec<BTreeMap<PathBuf, u64>>,
    locks: LockTable,
    calls: usize,
    faults: Vec<(usize, Fault, bool)>,
    cut_at: Option<usize>,
    next_number: u64,
    random: u64,
}

#[derive(Clone, Debug, Default)]
struct File {
    now: Vec<u8>,
    durable: Vec<u8>,
    sectors: BTreeMap<usize, Versions>,
    sizes: Vec<usize>,
}

#[derive(Clone, Debug, Default)]
struct Versions {
    list: Vec<[u8; SECTOR]>,
    /// The last version went down with a failed sync.
    forsaken: bool,
}

enum Verdict {
    Works,
    Fails(Fault),
    PowerIsOff,
}

impl SimulatedDisk {
    /// An empty disk. The seed decides what [`Disk::random`] gives.
    pub fn new(seed: u64) -> Self {
        Self::of(BTreeMap::new(), seed)
    }

    fn of(files: BTreeMap<PathBuf, Vec<u8>>, seed: u64) -> Self {
        let state = State {
            files: HashMap::new(),
            names: BTreeMap::new(),
            names_durable: BTreeMap::new(),
            names_since: Vec::new(),
            locks: LockTable::default(),
            calls: 0,
            faults: Vec::new(),
            cut_at: None,
            next_number: 1,
            random: seed,
        };
        let disk = Self { state: Arc::new(Mutex::new(state)) };
        for (path, bytes) in files {
            disk.set_file(&path, bytes);
        }
        disk
    }

    /// Lets call number `call`, counted from 0 since the disk was made, fail once.
    pub fn fail_call(&self, call: usize, fault: Fault) {
        self.state.lock().faults.push((call, fault, false));
    }

    /// Lets all calls from number `call` on fail.
    pub fn fail_from(&self, call: usize, fault: Fault) {
        self.state.lock().faults.push((call, fault, true));
    }

    /// Ends all faults: the disk works again.
    pub fn repair(&self) {
        self.state.lock().faults.clear();
    }

    /// Cuts the power at call number `call`: it fails, if it is a write perhaps after some of it got through, and so
    /// does every later one.
    pub fn cut_power_at(&self, call: usize) {
        self.state.lock().cut_at = Some(call);
    }

    /// Number of calls so far.
    pub fn calls(&self) -> usize {
        self.state.lock().calls
    }

    /// The disk as it may be found when power comes back. It has no faults and its own count of calls.
    pub fn after_power_cut(&self, seed: u64) -> SimulatedDisk {
        let mut random = seed ^ 0x6C6F_7374_2077_7269;
        let state = self.state.lock();
        let changes = pick(&mut random, state.names_since.len() + 1);
        let names = if changes == 0 { &state.names_durable } else { &state.names_since[changes - 1] };
        let mut survivors = BTreeMap::new();
        // Three ways to choose, for extremes are where the faults are: nothing, everything, or each sector its own.
        let way = pick(&mut random, 6);
        for (path, inode) in names {
            if let Some(file) = state.files.get(inode) {
                survivors.insert(path.clone(), file.survive(way, &mut random));
            }
        }
        Self::of(survivors, step(&mut random))
    }

    /// All files as their process sees them.
    pub fn snapshot(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let state = self.state.lock();
        let bytes = |inode| state.files.get(inode).map(|file| file.now.clone()).unwrap_or_default();
        state.names.iter().map(|(path, inode)| (path.clone(), bytes(inode))).collect()
    }

    /// A disk with these files, durable.
    pub fn with_files(files: BTreeMap<PathBuf, Vec<u8>>, seed: u64) -> Self {
        Self::of(files, seed)
    }

    /// The contents of a file as its process sees them.
    pub fn file(&self, path: &Path) -> Option<Vec<u8>> {
        let state = self.state.lock();
        let inode = state.names.get(path)?;
        state.files.get(inode).map(|file| file.now.clone())
    }

    /// Puts a file on the disk, or replaces its contents, durably. That is no call.
    pub fn set_file(&self, path: &Path, bytes: Vec<u8>) {
        let mut state = self.state.lock();
        let inode = match state.names.get(path) {
            Some(inode) => *inode,
            None => state.number(),
        };
        let file = File { now: bytes.clone(), durable: bytes, ..File::default() };
        state.files.insert(inode, file);
        state.names.insert(path.to_path_buf(), inode);
        state.names_durable.insert(path.to_path_buf(), inode);
    }
}

impl State {
    fn number(&mut self) -> u64 {
        self.next_number += 1;
        self.next_number
    }

    fn call(&mut self) -> Verdict {
        let call = self.calls;
        self.calls += 1;
        if self.cut_at.is_some_and(|at| call >= at) {
            return if self.cut_at == Some(call) { Verdict::PowerIsOff } else { Verdict::Fails(Fault::Eio) };
        }
        let hit = |(at, _, stays): &&(usize, Fault, bool)| *at == call || (*stays && call > *at);
        match self.faults.iter().find(hit) {
            Some((_, fault, _)) => Verdict::Fails(*fault),
            None => Verdict::Works,
        }
    }

    /// For calls that need no space, write nothing and sync nothing.
    fn plain_call(&mut self) -> io::Result<()> {
        match self.call() {
            Verdict::Works
            | Verdict::Fails(Fault::NoSpace | Fault::Full | Fault::ShortWrite | Fault::FailedSync) => Ok(()),
            Verdict::Fails(Fault::Eio) | Verdict::PowerIsOff => Err(eio()),
        }
    }

    fn name_changed(&mut self) {
        self.names_since.push(self.names.clone());
    }
}

impl File {
    fn write(&mut self, bytes: &[u8], offset: usize) {
        let end = offset + bytes.len();
        if self.now.len() < end {
            self.now.resize(end, 0);
            self.sizes.push(end);
        }
        self.now[offset..end].copy_from_slice(bytes);
        self.touch(offset..end);
    }

    fn set_size(&mut self, size: usize) {
        let old = self.now.len();
        self.now.resize(size, 0);
        self.sizes.push(size);
        self.touch(size.min(old)..old.max(size));
    }

    /// Notes the present contents of the sectors of a range as their newest version.
    fn touch(&mut self, range: Range<usize>) {
        for sector in range.start / SECTOR..range.end.div_ceil(SECTOR) {
            let mut version = [0; SECTOR];
            let from = (sector * SECTOR).min(self.now.len());
            let to = ((sector + 1) * SECTOR).min(self.now.len());
            version[..to - from].copy_from_slice(&self.now[from..to]);
            let versions = self.sectors.entry(sector).or_default();
            versions.list.push(version);
            versions.forsaken = false;
        }
    }

    /// Makes a change unless it makes the file longer; then what is within the file is changed, and no more.
    fn change_in_place(&mut self, change: impl FnOnce(&mut File)) -> io::Result<()> {
        let (size, size_count) = (self.now.len(), self.sizes.len());
        change(self);
        if self.now.len() <= size {
            return Ok(());
        }
        self.now.truncate(size);
        self.sizes.truncate(size_count);
        self.sectors.retain(|sector, _| sector * SECTOR < size);
        Err(ErrorKind::StorageFull.into())
    }

    fn sync(&mut self) {
        self.durable.resize(self.now.len(), 0);
        self.sizes.clear();
        let durable = &mut self.durable;
        self.sectors.retain(|sector, versions| {
            if let (false, Some(last)) = (versions.forsaken, versions.list.last()) {
                put_sector(durable, *sector, last);
            }
            versions.forsaken
        });
    }

    fn fail_sync(&mut self) {
        self.sectors.values_mut().for_each(|versions| versions.forsaken = true);
    }

    fn survive(&self, way: usize, random: &mut u64) -> Vec<u8> {
        let choose = |count: usize, random: &mut u64| match way {
            0 => 0,
            1 => count - 1,
            _ => pick(random, count),
        };
        let mut bytes = self.durable.clone();
        match choose(self.sizes.len() + 1, random) {
            0 => {}
            size => bytes.resize(self.sizes[size - 1], 0),
        }
        for (sector, versions) in &self.sectors {
            match choose(versions.list.len() + 1, random) {
                0 => {}
                version => put_sector(&mut bytes, *sector, &versions.list[version - 1]),
            }
        }
        bytes
    }
}

fn put_sector(bytes: &mut [u8], sector: usize, version: &[u8; SECTOR]) {
    let from = (sector * SECTOR).min(bytes.len());
    let to = ((sector + 1) * SECTOR).min(bytes.len());
    bytes[from..to].copy_from_slice(&version[..to - from]);
}

/// The next number of a SplitMix64 sequence.
fn step(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

fn pick(random: &mut u64, count: usize) -> usize {
    (step(random) % count.max(1) as u64) as usize
}

/// About half of a write, up to the end of a sector: systems copy whole pages and stop between them.
fn half_in_sectors(offset: usize, len: usize) -> usize {
    ((offset + len / 2) / SECTOR * SECTOR).saturating_sub(offset)
}

fn eio() -> io::Error {
    io::Error::from_raw_os_error(5)
}

impl Disk for SimulatedDisk {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn DiskFile>> {
        let mut state = self.state.lock();
        let verdict = state.call();
        let may_create = matches!(mode, OpenMode::Create | OpenMode::Truncate);
        let known = state.names.get(path).copied();
        match verdict {
            Verdict::PowerIsOff | Verdict::Fails(Fault::Eio) => return Err(eio()),
            Verdict::Fails(Fault::NoSpace | Fault::Full) if may_create && known.is_none() => {
                return Err(ErrorKind::StorageFull.into());
            }
            _ => {}
        }
        let inode = match known {
            Some(inode) => inode,
            None if may_create => {
                let inode = state.number();
                state.files.insert(inode, File::default());
                state.names.insert(path.to_path_buf(), inode);
                state.name_changed();
                inode
            }
            None => return Err(ErrorKind::NotFound.into()),
        };
        if mode == OpenMode::Truncate
            && let Some(file) = state.files.get_mut(&inode)
            && !file.now.is_empty()
        {
            file.set_size(0);
        }
        let holder = state.number();
        let writable = mode != OpenMode::ReadOnly;
        Ok(Arc::new(SimulatedFile { state: self.state.clone(), inode, holder, writable }))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state.lock();
        state.plain_call()?;
        state.names.remove(path).ok_or(ErrorKind::NotFound)?;
        state.name_changed();
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.state.lock();
        let verdict = state.call();
        match verdict {
            Verdict::Fails(Fault::Eio) => return Err(eio()),
            Verdict::Fails(Fault::NoSpace) => return Err(ErrorKind::StorageFull.into()),
            _ => {}
        }
        let inode = state.names.remove(from).ok_or(ErrorKind::NotFound)?;
        state.names.insert(to.to_path_buf(), inode);
        state.name_changed();
        if matches!(verdict, Verdict::PowerIsOff) { Err(eio()) } else { Ok(()) }
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        let mut state = self.state.lock();
        state.plain_call()?;
        Ok(state.names.contains_key(path))
    }

    fn sync_directory(&self, _of: &Path) -> io::Result<()> {
        let mut state = self.state.lock();
        match state.call() {
            Verdict::Fails(Fault::Eio | Fault::FailedSync) | Verdict::PowerIsOff => return Err(eio()),
            _ => {}
        }
        state.names_durable = state.names.clone();
        state.names_since.clear();
        Ok(())
    }

    fn identity(&self, path: &Path) -> io::Result<Option<FileIdentity>> {
        let mut state = self.state.lock();
        state.plain_call()?;
        let device = Arc::as_ptr(&self.state) as u64;
        Ok(state.names.get(path).map(|inode| FileIdentity { device, inode: *inode }))
    }

    fn random(&self) -> u64 {
        step(&mut self.state.lock().random)
    }
}

#[derive(Debug)]
struct SimulatedFile {
    state: Arc<Mutex<State>>,
    inode: u64,
    holder: u64,
    writable: bool,
}

impl SimulatedFile {
    /// A call that changes contents: `change` makes it, or `part` of it when the fault lets some through.
    fn change(&self, change: impl FnOnce(&mut File), part: impl FnOnce(&mut File)) -> io::Result<()> {
        if !self.writable {
            return Err(ErrorKind::PermissionDenied.into());
        }
        let mut state = self.state.lock();
        let verdict = state.call();
        let file = state.files.get_mut(&self.inode).ok_or(ErrorKind::NotFound)?;
        if let Verdict::Fails(Fault::Full) = verdict {
            return file.change_in_place(change);
        }
        match verdict {
            Verdict::Works | Verdict::Fails(Fault::FailedSync | Fault::Full) => {
                change(file);
                Ok(())
            }
            Verdict::PowerIsOff => {
                change(file);
                Err(eio())
            }
            Verdict::Fails(Fault::Eio) => Err(eio()),
            Verdict::Fails(Fault::NoSpace) => {
                part(file);
                Err(ErrorKind::StorageFull.into())
            }
            Verdict::Fails(Fault::ShortWrite) => {
                part(file);
                Err(ErrorKind::WriteZero.into())
            }
        }
    }
}

impl DiskFile for SimulatedFile {
    fn identity(&self) -> FileIdentity {
        FileIdentity { device: Arc::as_ptr(&self.state) as u64, inode: self.inode }
    }

    fn size(&self) -> io::Result<u64> {
        let mut state = self.state.lock();
        state.plain_call()?;
        Ok(state.files.get(&self.inode).map_or(0, |file| file.now.len() as u64))
    }

    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        let mut state = self.state.lock();
        state.plain_call()?;
        let file = state.files.get(&self.inode).ok_or(ErrorKind::NotFound)?;
        let from = usize::try_from(offset).map_err(|_| ErrorKind::UnexpectedEof)?;
        let to = from.checked_add(bytes.len()).ok_or(ErrorKind::UnexpectedEof)?;
        bytes.copy_from_slice(file.now.get(from..to).ok_or(ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let offset = usize::try_from(offset).map_err(|_| ErrorKind::StorageFull)?;
        self.change(
            |file| file.write(bytes, offset),
            |file| file.write(&bytes[..half_in_sectors(offset, bytes.len())], offset),
        )
    }

    fn set_size(&self, size: u64) -> io::Result<()> {
        let size = usize::try_from(size).map_err(|_| ErrorKind::StorageFull)?;
        self.change(|file| file.set_size(size), |_| {})
    }

    fn sync(&self) -> io::Result<()> {
        let mut state = self.state.lock();
        let verdict = state.call();
        let file = state.files.get_mut(&self.inode).ok_or(ErrorKind::NotFound)?;
        match verdict {
            Verdict::PowerIsOff => Err(eio()),
            Verdict::Fails(Fault::Eio | Fault::FailedSync) => {
                file.fail_sync();
                Err(eio())
            }
            _ => {
                file.sync();
                Ok(())
            }
        }
    }

    fn try_lock(&self, byte: u64, kind: LockKind) -> io::Result<bool> {
        Ok(self.state.lock().locks.try_lock(self.inode, self.holder, byte, kind))
    }

    fn unlock(&self, byte: u64) -> io::Result<()> {
        self.state.lock().locks.unlock(self.inode, self.holder, byte);
        Ok(())
    }

    fn is_locked(&self, bytes: Range<u64>) -> io::Result<bool> {
        Ok(self.state.lock().locks.is_locked(self.inode, self.holder, &bytes))
    }
}

impl Drop for SimulatedFile {
    fn drop(&mut self) {
        self.state.lock().locks.release(self.holder);
    }
}
