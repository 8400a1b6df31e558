//! The name by which an open file was found, and what that name leads to by now.
//!
//! A file may be moved, removed or replaced while it is open. Its handle goes on meaning the file; the name may mean
//! another one, which is not ours to change. So whoever is about to do something by name asks first.

use super::{Disk, FileIdentity};
use inlay_types::{Error, Result};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a name leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leads {
    /// To the file that was opened by it.
    Here,
    /// To nothing.
    Nowhere,
    /// To another file.
    Elsewhere,
}

/// The name of an open file.
#[derive(Clone, Debug)]
pub struct Place {
    disk: Arc<dyn Disk>,
    path: PathBuf,
    identity: FileIdentity,
}

impl Place {
    /// The place of a file that was opened by this name.
    pub fn new(disk: &Arc<dyn Disk>, path: &Path, file: FileIdentity) -> Self {
        Self { disk: Arc::clone(disk), path: path.to_path_buf(), identity: file }
    }

    /// The name.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The name, for messages.
    pub fn name(&self) -> String {
        self.path.display().to_string()
    }

    /// What the name leads to now.
    pub fn leads(&self) -> Result<Leads> {
        let found = self
            .disk
            .identity(&self.path)
            .map_err(|error| Error::io("cannot examine", self.name(), &error))?;
        Ok(match found {
            None => Leads::Nowhere,
            Some(found) if found == self.identity => Leads::Here,
            Some(_) => Leads::Elsewhere,
        })
    }
}
