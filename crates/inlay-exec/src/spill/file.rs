//! One temporary file: frames appended by any worker, read back by their place.
//!
//! ```text
//! frame   [ magic: 4 | compressed: 4 | raw size: 8 | checksum: 8 | payload, LZ4 or as it is ]
//! ```
//! The checksum covers the payload and the frame's place, so that a frame read from elsewhere is found out.

use super::TempSpace;
use crate::context::ExecContext;
use inlay_types::discard::discard;
use inlay_types::hash::{hash_bytes, hash_u64};
use inlay_types::{Error, Interrupt, Result};
use parking_lot::Mutex;
use std::fs::File;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

const MAGIC: u32 = 0x6C70_7349;
const HEADER_SIZE: usize = 24;

/// A temporary file of one operator, made with the first write and gone with the last handle.
pub(crate) struct SpillFile {
    space: Arc<TempSpace>,
    interrupt: Interrupt,
    open: OnceLock<(File, Option<PathBuf>)>,
    opening: Mutex<()>,
    end: AtomicU64,
}

/// Where a frame lies.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extent {
    offset: u64,
    size: usize,
}

impl SpillFile {
    /// No file yet.
    pub(crate) fn new(context: &ExecContext) -> Arc<Self> {
        Arc::new(Self {
            space: Arc::clone(&context.temp),
            interrupt: context.interrupt.clone(),
            open: OnceLock::new(),
            opening: Mutex::default(),
            end: 0.into(),
        })
    }

    fn file(&self) -> Result<&File> {
        if self.open.get().is_none() {
            let _turn = self.opening.lock();
            if self.open.get().is_none() {
                let _ = self.open.set(self.space.create()?);
            }
        }
        self.open
            .get()
            .map(|(file, _)| file)
            .ok_or_else(|| Error::internal("a temporary file was not opened"))
    }

    /// Appends `raw` as a frame.
    pub(super) fn write(&self, raw: &[u8]) -> Result<Extent> {
        self.interrupt.check()?;
        let mut frame = vec![0u8; HEADER_SIZE + lz4_flex::block::get_maximum_output_size(raw.len())];
        let compressed = lz4_flex::block::compress_into(raw, &mut frame[HEADER_SIZE..]);
        let smaller = matches!(compressed, Ok(size) if size < raw.len());
        let size = match compressed {
            Ok(size) if smaller => size,
            _ => {
                frame[HEADER_SIZE..HEADER_SIZE + raw.len()].copy_from_slice(raw);
                raw.len()
            }
        };
        frame.truncate(HEADER_SIZE + size);
        let file = self.file()?;
        self.space.take(frame.len() as u64)?;
        let offset = self.end.fetch_add(frame.len() as u64, Ordering::Relaxed);
        let checksum = hash_bytes(&frame[HEADER_SIZE..]) ^ hash_u64(offset);
        frame[..4].copy_from_slice(&MAGIC.to_le_bytes());
        frame[4..8].copy_from_slice(&u32::from(smaller).to_le_bytes());
        frame[8..16].copy_from_slice(&(raw.len() as u64).to_le_bytes());
        frame[16..24].copy_from_slice(&checksum.to_le_bytes());
        self.write_at(file, &frame, offset).map_err(|e| Error::io("cannot write", self.path(), &e))?;
        Ok(Extent { offset, size: frame.len() })
    }

    /// Reads a frame that was written.
    pub(super) fn read(&self, extent: Extent) -> Result<Vec<u8>> {
        self.interrupt.check()?;
        let mut frame = vec![0u8; extent.size];
        self.read_at(self.file()?, &mut frame, extent.offset)
            .map_err(|e| Error::io("cannot read", self.path(), &e))?;
        let damaged = || {
            Error::corrupt(format!("bytes from {} of a temporary file in \"{}\"", extent.offset, self.path()))
        };
        let word = |from: usize| {
            let mut bytes = [0; 8];
            bytes.copy_from_slice(&frame[from..from + 8]);
            u64::from_le_bytes(bytes)
        };
        if frame.len() < HEADER_SIZE || word(0) as u32 != MAGIC {
            return Err(damaged());
        }
        let (compressed, raw_size, checksum) = (word(0) >> 32 == 1, word(8), word(16));
        if hash_bytes(&frame[HEADER_SIZE..]) ^ hash_u64(extent.offset) != checksum {
            return Err(damaged());
        }
        if !compressed {
            frame.drain(..HEADER_SIZE);
            return Ok(frame);
        }
        let raw_size = usize::try_from(raw_size).map_err(|_| damaged())?;
        lz4_flex::block::decompress(&frame[HEADER_SIZE..], raw_size).map_err(|_| damaged())
    }

    fn path(&self) -> String {
        self.space.directory().display().to_string()
    }

    #[cfg(unix)]
    fn write_at(&self, file: &File, bytes: &[u8], offset: u64) -> std::io::Result<()> {
        inlay_types::size_limit::check_file_size(offset + bytes.len() as u64)?;
        std::os::unix::fs::FileExt::write_all_at(file, bytes, offset)
    }

    #[cfg(unix)]
    fn read_at(&self, file: &File, bytes: &mut [u8], offset: u64) -> std::io::Result<()> {
        std::os::unix::fs::FileExt::read_exact_at(file, bytes, offset)
    }

    #[cfg(not(unix))]
    fn write_at(&self, mut file: &File, bytes: &[u8], offset: u64) -> std::io::Result<()> {
        use std::io::{Seek, SeekFrom, Write};
        let _turn = self.opening.lock();
        file.seek(SeekFrom::Start(offset))?;
        file.write_all(bytes)
    }

    #[cfg(not(unix))]
    fn read_at(&self, mut file: &File, bytes: &mut [u8], offset: u64) -> std::io::Result<()> {
        use std::io::{Read, Seek, SeekFrom};
        let _turn = self.opening.lock();
        file.seek(SeekFrom::Start(offset))?;
        file.read_exact(bytes)
    }
}

impl Drop for SpillFile {
    fn drop(&mut self) {
        self.space.give_back(*self.end.get_mut());
        match self.open.take() {
            Some((file, None)) => discard(file),
            Some((file, Some(path))) => {
                drop(file);
                // Best effort: a file that cannot be removed is the system's to clean.
                let _ = std::fs::remove_file(path);
            }
            None => {}
        }
    }
}
