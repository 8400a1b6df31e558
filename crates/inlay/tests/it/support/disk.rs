//! The simulated disk, behind the few functions that the tests use.

use super::sql;
use inlay::Database;
pub use inlay_storage::io::SimulatedDisk;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// The database on a simulated disk.
pub const PATH: &str = "db.inlay";
/// The log beside it.
pub const WAL: &str = "db.inlay.wal";

/// The files of a disk: name and bytes.
pub type Files = BTreeMap<PathBuf, Vec<u8>>;

/// An empty disk.
pub fn empty(seed: u64) -> Arc<SimulatedDisk> {
    Arc::new(SimulatedDisk::new(seed))
}

/// A disk that holds these files, all of it durable.
pub fn holding(files: Files) -> Arc<SimulatedDisk> {
    Arc::new(SimulatedDisk::with_files(files, 1))
}

/// Opens the database on a disk.
pub fn open(disk: &Arc<SimulatedDisk>, config: &[(&str, &str)]) -> inlay::Result<Database> {
    Database::open_on(disk.clone(), PATH, &sql::settings(config))
}
