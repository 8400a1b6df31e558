//! What is intact in a damaged file, found by the frames objects begin with and not by way of the headers.

use super::object::{FRAME_SIZE, Frame, checksum};
use super::{BLOCK_SIZE, ObjectKind, ObjectPtr};
use crate::io::{Disk, OpenMode};
use inlay_types::{Error, Result};
use std::path::Path;

/// An intact object. It may be an old version of one that was changed since, which its generation tells.
#[derive(Clone, Debug)]
pub struct SalvagedObject {
    /// What it is.
    pub kind: ObjectKind,
    /// What its writer called its owner.
    pub owner: u64,
    /// The generation that was published when it was written.
    pub generation: u64,
    /// Where it is.
    pub ptr: ObjectPtr,
    /// Its bytes.
    pub payload: Vec<u8>,
}

/// What was found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SalvageReport {
    /// Blocks examined.
    pub block_count: u64,
    /// Intact objects.
    pub intact: u64,
    /// Frames whose object is damaged or overwritten in part.
    pub damaged: u64,
}

/// Visits every intact object in a file, in the order of blocks, whatever its headers are.
pub fn salvage(
    disk: &dyn Disk,
    path: &Path,
    visit: &mut dyn FnMut(SalvagedObject) -> Result<()>,
) -> Result<SalvageReport> {
    let name = path.display().to_string();
    let failed = |error| Error::io("cannot read", &name, &error);
    let file = disk.open(path, OpenMode::ReadOnly).map_err(failed)?;
    let size = file.size().map_err(failed)?;
    let mut report = SalvageReport { block_count: size.div_ceil(BLOCK_SIZE), ..SalvageReport::default() };
    let mut frame_bytes = [0; FRAME_SIZE];
    // Every block is examined, also those inside of objects: an intact frame may lie in blocks that an object whose
    // end was overwritten claims for itself.
    for block in 0..report.block_count {
        let offset = block * BLOCK_SIZE;
        if size < offset + FRAME_SIZE as u64 || file.read_at(&mut frame_bytes, offset).is_err() {
            continue;
        }
        if !Frame::is_at(&frame_bytes) {
            continue;
        }
        let frame = Frame::from_bytes(&frame_bytes).ok().filter(|frame| {
            frame.block == block && frame.size <= size.saturating_sub(offset + FRAME_SIZE as u64)
        });
        let Some(frame) = frame else {
            report.damaged += 1;
            continue;
        };
        let mut payload = vec![0; frame.size as usize];
        let read = file.read_at(&mut payload, offset + FRAME_SIZE as u64);
        if read.is_err() || checksum(frame.kind, &payload) != frame.checksum {
            report.damaged += 1;
            continue;
        }
        report.intact += 1;
        visit(SalvagedObject {
            kind: frame.kind,
            owner: frame.owner,
            generation: frame.generation,
            ptr: ObjectPtr { block, size: frame.size, checksum: frame.checksum },
            payload,
        })?;
    }
    Ok(report)
}
