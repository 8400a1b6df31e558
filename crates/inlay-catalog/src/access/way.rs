//! Ways to files and folders on disk.
//!
//! A plain way is a path, for databases without restrictions. A held one has the folder open, and was gone to without following
//! a link: nobody can put something else in its place between the decision and the deed. (Where the system has no such
//! handles, on Windows, a held way is the path that was decided about.)

#[cfg(unix)]
use super::beneath::Folder;
use inlay_storage::io::OpenMode;
use inlay_types::size_limit::OutputFile;
use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
#[cfg(unix)]
use std::sync::Arc;

/// How a file is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// For reading.
    Read,
    /// For writing behind what is there.
    Append,
    /// For writing; it must not be there.
    New,
    /// For writing; it is made, or emptied.
    Whole,
    /// As the file of a database.
    Disk(OpenMode),
}

impl How {
    pub(super) fn options(self) -> OpenOptions {
        let mut options = OpenOptions::new();
        match self {
            Self::Read => options.read(true),
            Self::Append => options.append(true),
            Self::New => options.write(true).create_new(true),
            Self::Whole => options.write(true).create(true).truncate(true),
            Self::Disk(mode) => options
                .read(true)
                .write(mode != OpenMode::ReadOnly)
                .create(matches!(mode, OpenMode::Create | OpenMode::Truncate))
                .truncate(mode == OpenMode::Truncate),
        };
        options
    }
}

/// The way to a file or folder, which need not be there.
#[derive(Clone, Debug)]
pub struct Way(Kind);

#[derive(Clone, Debug)]
enum Kind {
    Plain(PathBuf),
    #[cfg(unix)]
    Held(Arc<Folder>, OsString),
}

impl Way {
    pub(super) fn plain(path: impl Into<PathBuf>) -> Self {
        Self(Kind::Plain(path.into()))
    }

    /// The way to a place, which has no links; fails if one is there by now.
    #[cfg(unix)]
    pub(super) fn held(place: &Path) -> io::Result<Self> {
        let (folder, name) = match (place.parent(), place.file_name()) {
            (Some(parent), Some(name)) => (Folder::at(parent)?, name.to_owned()),
            _ => (Folder::at(place)?, OsString::from(".")),
        };
        Ok(Self(Kind::Held(Arc::new(folder), name)))
    }

    #[cfg(not(unix))]
    pub(super) fn held(place: &Path) -> io::Result<Self> {
        Ok(Self::plain(place))
    }

    /// Opens the file.
    pub fn open(&self, how: How) -> io::Result<File> {
        match &self.0 {
            Kind::Plain(path) => how.options().open(path),
            #[cfg(unix)]
            Kind::Held(folder, name) => folder.open(name, how),
        }
    }

    /// What is known of it.
    pub fn about(&self) -> io::Result<Metadata> {
        match &self.0 {
            Kind::Plain(path) => std::fs::metadata(path),
            #[cfg(unix)]
            Kind::Held(folder, name) => folder.about(name),
        }
    }

    /// The whole content of a file.
    pub fn read(&self) -> io::Result<Vec<u8>> {
        let (mut file, mut content) = (self.open(How::Read)?, Vec::new());
        io::Read::read_to_end(&mut file, &mut content)?;
        Ok(content)
    }

    /// The whole content of a file of UTF-8.
    pub fn read_text(&self) -> io::Result<String> {
        String::from_utf8(self.read()?)
            .map_err(|_| io::Error::new(ErrorKind::InvalidData, "the file is not UTF-8 text"))
    }

    /// Makes or replaces a file.
    pub fn write(&self, content: &[u8]) -> io::Result<()> {
        io::Write::write_all(&mut OutputFile::new(self.open(How::Whole)?), content)
    }

    /// The way to a sibling.
    #[must_use]
    pub fn beside(&self, name: &str) -> Self {
        Self(match &self.0 {
            Kind::Plain(path) => Kind::Plain(path.with_file_name(name)),
            #[cfg(unix)]
            Kind::Held(folder, _) => Kind::Held(Arc::clone(folder), name.into()),
        })
    }

    /// Gives it the name, and the place, of another way.
    pub fn rename(&self, to: &Self) -> io::Result<()> {
        match (&self.0, &to.0) {
            (Kind::Plain(from), Kind::Plain(to)) => std::fs::rename(from, to),
            #[cfg(unix)]
            (Kind::Held(from, name), Kind::Held(to, new)) => from.rename(name, to, new),
            #[cfg(unix)]
            _ => Err(io::Error::other("the rules changed while the file was written")),
        }
    }

    /// Removes a file.
    pub fn remove(&self) -> io::Result<()> {
        match &self.0 {
            Kind::Plain(path) => std::fs::remove_file(path),
            #[cfg(unix)]
            Kind::Held(folder, name) => folder.remove(name),
        }
    }

    /// Names in a folder.
    pub fn names(&self) -> io::Result<Vec<OsString>> {
        match &self.0 {
            Kind::Plain(path) => std::fs::read_dir(path)?.map(|entry| Ok(entry?.file_name())).collect(),
            #[cfg(unix)]
            Kind::Held(folder, name) => folder.child(name)?.names(),
        }
    }

    /// Removes the folders in a folder whose names are chosen, and all that is in them; links are no folders.
    pub fn remove_folders(&self, is_chosen: impl Fn(&OsStr) -> bool) -> io::Result<()> {
        match &self.0 {
            Kind::Plain(path) => {
                for entry in std::fs::read_dir(path)? {
                    let entry = entry?;
                    if entry.file_type()?.is_dir() && is_chosen(&entry.file_name()) {
                        std::fs::remove_dir_all(entry.path())?;
                    }
                }
                Ok(())
            }
            #[cfg(unix)]
            Kind::Held(folder, name) => {
                let folder = folder.child(name)?;
                for name in folder.names()? {
                    if is_chosen(&name) && folder.about(&name)?.is_dir() {
                        folder.remove_tree(&name)?;
                    }
                }
                Ok(())
            }
        }
    }

    /// Makes names in its folder durable.
    pub fn sync_folder(&self) -> io::Result<()> {
        match &self.0 {
            #[cfg(unix)]
            Kind::Plain(path) => {
                let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
                File::open(parent.unwrap_or(Path::new(".")))?.sync_all()
            }
            #[cfg(not(unix))]
            Kind::Plain(_) => Ok(()),
            #[cfg(unix)]
            Kind::Held(folder, _) => folder.open(OsStr::new("."), How::Read)?.sync_all(),
        }
    }
}

/// Makes the folders that are missing on the way to a place, if all of them may be made.
#[cfg(unix)]
pub(super) fn make_folders(place: &Path, may_make: &dyn Fn(&Path) -> bool) -> io::Result<()> {
    let (mut at, mut folder) = (PathBuf::from("/"), Folder::at(Path::new("/"))?);
    for name in place.iter().skip(1) {
        at.push(name);
        let next = match folder.child(name) {
            Err(error) if error.kind() == ErrorKind::NotFound && may_make(&at) => {
                match folder.make(name) {
                    Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                    made => made?,
                }
                folder.child(name)?
            }
            found => found?,
        };
        folder = next;
    }
    Ok(())
}

#[cfg(not(unix))]
pub(super) fn make_folders(place: &Path, may_make: &dyn Fn(&Path) -> bool) -> io::Result<()> {
    match place.parent() {
        Some(parent) if !parent.is_dir() && may_make(parent) => make_folders(parent, may_make)?,
        _ => {}
    }
    match std::fs::create_dir(place) {
        Err(_) if place.is_dir() => Ok(()),
        made => made,
    }
}
