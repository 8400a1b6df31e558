//! The body of a chunk in fewer bytes: not at all, by LZ4 blocks, or by zstd frames.

use crate::{Result, WireError};
use inlay_types::limits;

/// How a chunk's body is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Compression {
    /// Not at all.
    None,
    /// An LZ4 block.
    Lz4,
    /// A zstd frame, made with this level.
    Zstd(i32),
}

/// What both ends know, as bits of Hello and Ready.
pub const LZ4: u32 = 1;
/// See [`LZ4`].
pub const ZSTD: u32 = 2;

impl Compression {
    /// Its number in a chunk; the receiver need not know the level.
    pub fn number(self) -> u8 {
        match self {
            Self::None => 0,
            Self::Lz4 => 1,
            Self::Zstd(_) => 2,
        }
    }

    /// The bit that says that it is known.
    pub fn feature(self) -> u32 {
        match self {
            Self::None => 0,
            Self::Lz4 => LZ4,
            Self::Zstd(_) => ZSTD,
        }
    }
}

/// Compresses bodies; keeps the memory that this takes.
#[derive(Default)]
pub struct Compressor {
    zstd: Option<(i32, zstd::bulk::Compressor<'static>)>,
}

impl Compressor {
    /// Appends `body`, compressed.
    pub fn compress(&mut self, how: Compression, body: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let start = out.len();
        match how {
            Compression::None => out.extend_from_slice(body),
            Compression::Lz4 => {
                out.resize(start + lz4_flex::block::get_maximum_output_size(body.len()), 0);
                let size = lz4_flex::block::compress_into(body, &mut out[start..])
                    .map_err(|error| inlay_types::Error::internal(format!("LZ4: {error}")))?;
                out.truncate(start + size);
            }
            Compression::Zstd(level) => {
                let failed = |error| inlay_types::Error::internal(format!("zstd: {error}"));
                if self.zstd.as_ref().is_none_or(|(known, _)| *known != level) {
                    self.zstd = Some((level, zstd::bulk::Compressor::new(level).map_err(failed)?));
                }
                let Some((_, compressor)) = &mut self.zstd else { return Ok(()) };
                out.resize(start + zstd::zstd_safe::compress_bound(body.len()), 0);
                let size = compressor.compress_to_buffer(body, &mut out[start..]).map_err(failed)?;
                out.truncate(start + size);
            }
        }
        Ok(())
    }
}

/// The body of `size` bytes, which were checked against the limit, of what is compressed by the method of this number.
pub fn decompress(number: u8, packed: &[u8], size: usize) -> Result<Vec<u8>> {
    let wrong = |what: String| WireError::malformed(format!("a chunk's body: {what}"));
    let mut body = Vec::new();
    limits::grow_counted(&mut body, size)?;
    let written = match number {
        1 => {
            body.resize(size, 0);
            lz4_flex::block::decompress_into(packed, &mut body).map_err(|error| wrong(error.to_string()))?
        }
        2 => {
            let mut decompressor =
                zstd::bulk::Decompressor::new().map_err(|error| wrong(error.to_string()))?;
            decompressor.decompress_to_buffer(packed, &mut body).map_err(|error| wrong(error.to_string()))?
        }
        other => return Err(wrong(format!("compression {other}, which version 1 does not have"))),
    };
    if written != size {
        return Err(wrong(format!("{written} bytes, where {size} were named")));
    }
    Ok(body)
}
