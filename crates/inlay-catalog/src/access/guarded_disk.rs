//! The disk as statements reach it that name the file of a database: ATTACH, `recover`, PRAGMA verify.

use super::place::place_of;
use super::{Access, How, Way};
use inlay_storage::io::{Disk, DiskFile, FileIdentity, OpenMode, RealDisk};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A disk whose files are asked for. A database that may be touched may be with what lies beside it: its log, and a copy
/// that is not complete.
#[derive(Debug)]
pub struct GuardedDisk {
    access: Arc<Access>,
    disk: Arc<dyn Disk>,
    is_real: bool,
}

impl GuardedDisk {
    /// Guards `disk`; on the `is_real` one files are reached by what is held of them.
    pub fn new(access: Arc<Access>, disk: Arc<dyn Disk>, is_real: bool) -> Self {
        Self { access, disk, is_real }
    }

    /// The way to a file, if that is how it is reached.
    fn way(&self, path: &Path) -> io::Result<Option<Way>> {
        let text = path.to_str().ok_or_else(|| {
            io::Error::new(io::ErrorKind::InvalidInput, "a path that is no text is out of reach")
        })?;
        let place = match self.access.reached(text) {
            Ok(place) => place,
            Err(refusal) => Some(
                self.companion(text)
                    .ok_or_else(|| io::Error::new(io::ErrorKind::PermissionDenied, refusal.to_string()))?,
            ),
        };
        match place {
            _ if !self.is_real => Ok(None),
            None => Ok(Some(Way::plain(path))),
            Some(place) => Way::held(&place).map(Some),
        }
    }

    /// The place of what lies beside a database that may be touched and belongs to it by its name: `x.db.wal`,
    /// `x.db.01234567.partial`. Statements that name such a file were asked about it as such before.
    fn companion(&self, path: &str) -> Option<PathBuf> {
        let place = place_of(path)?;
        let databases = path.match_indices('.').map(|(dot, _)| &path[..dot]);
        let mut allowed = databases.filter_map(|database| self.access.reached(database).ok()?);
        allowed.any(|database| place.parent() == database.parent()).then_some(place)
    }
}

impl Disk for GuardedDisk {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn DiskFile>> {
        match self.way(path)? {
            Some(way) => RealDisk::opened(way.open(How::Disk(mode))?, path),
            None => self.disk.open(path, mode),
        }
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        match self.way(path)? {
            Some(way) => way.remove(),
            None => self.disk.remove(path),
        }
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        match (self.way(from)?, self.way(to)?) {
            (Some(from), Some(to)) => from.rename(&to),
            _ => self.disk.rename(from, to),
        }
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        match self.way(path)? {
            Some(way) => match way.about() {
                Ok(_) => Ok(true),
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
                Err(error) => Err(error),
            },
            None => self.disk.exists(path),
        }
    }

    fn sync_directory(&self, of: &Path) -> io::Result<()> {
        match self.way(of)? {
            Some(way) => way.sync_folder(),
            None => self.disk.sync_directory(of),
        }
    }

    fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        self.way(path)?;
        self.disk.resolve(path)
    }

    fn identity(&self, path: &Path) -> io::Result<Option<FileIdentity>> {
        self.way(path)?;
        self.disk.identity(path)
    }

    fn random(&self) -> u64 {
        self.disk.random()
    }
}
