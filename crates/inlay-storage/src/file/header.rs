//! The headers: four sectors of 512 bytes, two for each of the last two generations, in two blocks.
//!
//! ```text
//! block 0: [ even generation, copy 0 | ... | odd generation, copy 1 (offset 2048) | ... ]
//! block 1: [ odd generation, copy 0  | ... | even generation, copy 1 (offset 2048) | ... ]
//! ```
//! Each block holds both generations, so one block may be lost, or be replaced by an old copy of itself.

use super::log_mark::LogMark;
use super::{BLOCK_SIZE, ObjectPtr, Root};
use crate::bytes::{ByteReader, ByteWriter};
use inlay_types::{Error, Result};
use twox_hash::XxHash3_64;

pub(super) const HEADER_SIZE: usize = 512;
/// Both header blocks.
pub(super) const HEADERS_SIZE: usize = 2 * BLOCK_SIZE as usize;
/// The format that is written, unless the database has something that came later. Older ones are read, and a file that is
/// opened for writing gets this one.
pub const FORMAT_VERSION: u32 = 2;
/// As [`FORMAT_VERSION`], with bitmap indexes, and sets of their columns.
pub const FORMAT_VERSION_BITMAP: u32 = 3;
/// As [`FORMAT_VERSION_BITMAP`], with structs that are stored by their fields.
pub const FORMAT_VERSION_FIELDS: u32 = 4;
/// The newest format.
pub const FORMAT_VERSION_MAX: u32 = FORMAT_VERSION_FIELDS;
/// The first format there was, which is still read.
const FORMAT_VERSION_MIN: u32 = 1;
const MAGIC: [u8; 16] = *b"Inlay database\n\0";
const SEED: u64 = 0x6865_6164_6572_3031;
const FINGERPRINT_SEED: u64 = 0x6C6F_675F_6261_7365;
const CHECKED: usize = HEADER_SIZE - 8;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Header {
    /// The format of everything that the header leads to.
    pub version: u32,
    pub database_id: u128,
    pub generation: u64,
    pub block_count: u64,
    pub free_list: ObjectPtr,
    pub root: Root,
    /// May change while the generation stays; the rest never does.
    pub log: LogMark,
}

/// Where the copies of a generation's header are.
pub(super) fn offsets(generation: u64) -> [u64; 2] {
    let (first, second) = if generation.is_multiple_of(2) { (0, BLOCK_SIZE) } else { (BLOCK_SIZE, 0) };
    [first, second + 2048]
}

impl Header {
    pub(super) fn to_bytes(&self, copy: usize) -> Vec<u8> {
        let mut writer = self.root_fields();
        self.log.write(&mut writer);
        let mut bytes = writer.finish();
        bytes.resize(CHECKED, 0);
        let sum = XxHash3_64::oneshot_with_seed(SEED + copy as u64, &bytes);
        bytes.extend_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// A number for the state that the header leads to and the log that belongs to it, which a log made for it repeats:
    /// pointers hold checksums, so equal numbers mean equal contents. Never 0.
    pub(super) fn fingerprint(&self) -> u64 {
        let mut writer = self.root_fields();
        writer.u64(self.log.salt);
        XxHash3_64::oneshot_with_seed(FINGERPRINT_SEED, writer.as_bytes()).max(1)
    }

    /// All but what is said of the log.
    fn root_fields(&self) -> ByteWriter {
        let mut writer = ByteWriter::new();
        writer.raw(&MAGIC);
        writer.u32(self.version);
        writer.u32(BLOCK_SIZE as u32);
        writer.u128(self.database_id);
        writer.u64(self.generation);
        writer.u64(self.block_count);
        self.free_list.write(&mut writer);
        writer.u64(self.root.lsn);
        self.root.catalog.write(&mut writer);
        writer.u64(self.root.extra);
        writer
    }

    fn from_bytes(bytes: &[u8], parity: u64, copy: usize) -> Copy {
        if bytes.iter().all(|&byte| byte == 0) {
            return Copy::Blank;
        }
        let (checked, sum) = bytes.split_at(CHECKED);
        if sum != XxHash3_64::oneshot_with_seed(SEED + copy as u64, checked).to_le_bytes() {
            return Copy::Damaged;
        }
        match Self::fields(checked) {
            Ok(Ok(header)) if header.generation % 2 == parity => Copy::Valid(header),
            Ok(Err(version)) => Copy::Newer(version),
            _ => Copy::Damaged,
        }
    }

    /// The fields, or the version number if it is a newer one, whose other fields may be others.
    fn fields(bytes: &[u8]) -> Result<std::result::Result<Self, u32>> {
        let mut reader = ByteReader::new(bytes);
        if reader.raw(16)? != MAGIC {
            return Err(Error::corrupt("no header"));
        }
        let version = reader.u32()?;
        if version > FORMAT_VERSION_MAX {
            return Ok(Err(version));
        }
        if version < FORMAT_VERSION_MIN {
            return Err(Error::corrupt("a version that there never was"));
        }
        if u64::from(reader.u32()?) != BLOCK_SIZE {
            return Err(Error::corrupt("another block size"));
        }
        Ok(Ok(Self {
            version,
            database_id: reader.u128()?,
            generation: reader.u64()?,
            block_count: reader.u64()?,
            free_list: ObjectPtr::read(&mut reader)?,
            root: Root { lsn: reader.u64()?, catalog: ObjectPtr::read(&mut reader)?, extra: reader.u64()? },
            log: LogMark::read(&mut reader)?,
        }))
    }
}

enum Copy {
    Blank,
    Damaged,
    Newer(u32),
    Valid(Header),
}

/// The newest header, the one before, and whether some copy should be written again.
pub(super) struct Chosen {
    pub header: Header,
    pub older: Option<Header>,
    pub wants_repair: bool,
}

/// The newest header that is provably the newest; `None` if the file has none because it is still empty.
pub(super) fn choose(blocks: &[u8], path: &str) -> Result<Option<Chosen>> {
    if blocks.iter().all(|&byte| byte == 0) {
        return Ok(None);
    }
    if !blocks.windows(MAGIC.len()).any(|window| window == MAGIC) {
        return Err(not_ours(blocks, path));
    }
    let (even, even_is_whole) = newest_of(blocks, 0, path)?;
    let (odd, odd_is_whole) = newest_of(blocks, 1, path)?;
    let (header, older) = match (even, odd) {
        (Found::Header(even), Found::Header(odd)) => {
            if even.database_id != odd.database_id || even.generation.abs_diff(odd.generation) != 1 {
                return Err(Error::corrupt(format!(
                    "\"{path}\": its headers are of generations {} and {}, which do not follow each other; \
                     the newest one is lost",
                    even.generation, odd.generation
                )));
            }
            if even.generation > odd.generation { (even, Some(odd)) } else { (odd, Some(even)) }
        }
        // The odd header is written for the first time by the first checkpoint.
        (Found::Header(even), Found::Blank) if even.generation == 0 => (even, None),
        _ => {
            return Err(Error::corrupt(format!(
                "\"{path}\": both copies of one of its two headers are damaged, and the other may be the older one; \
                 salvage copies what is intact into a new file"
            )));
        }
    };
    Ok(Some(Chosen { header, older, wants_repair: !(even_is_whole && odd_is_whole) }))
}

enum Found {
    Blank,
    Damaged,
    Header(Header),
}

/// The newest valid copy of a parity, and whether both copies are the same.
fn newest_of(blocks: &[u8], parity: u64, path: &str) -> Result<(Found, bool)> {
    let mut valid: Vec<Header> = Vec::new();
    let mut blank = 0;
    for (copy, offset) in offsets(parity).into_iter().enumerate() {
        let from = offset as usize;
        match Header::from_bytes(&blocks[from..from + HEADER_SIZE], parity, copy) {
            Copy::Blank => blank += 1,
            Copy::Damaged => {}
            Copy::Valid(header) => valid.push(header),
            Copy::Newer(version) => return Err(newer_version(version, path)),
        }
    }
    let whole = blank == 2 || (valid.len() == 2 && valid[0] == valid[1]);
    // What is said of the log is written to one copy after the other: the later transaction is the newer word.
    let found = match valid.into_iter().max_by_key(|header| (header.generation, header.log.lsn)) {
        Some(header) => Found::Header(header),
        None if blank == 2 => Found::Blank,
        None => Found::Damaged,
    };
    Ok((found, whole))
}

/// The refusal of a database of a newer format.
fn newer_version(version: u32, path: &str) -> Error {
    let alternative =
        format!("this version of Inlay knows versions up to {FORMAT_VERSION_MAX}; open it with a newer one");
    let feature = format!("\"{path}\" has format version {version}, which");
    Error::Unsupported { feature, alternative: Some(alternative) }
}

/// The refusal of a file that is something else, with what it looks like.
pub(super) fn not_ours(bytes: &[u8], path: &str) -> Error {
    let at = |offset: usize, magic: &[u8]| bytes.get(offset..offset + magic.len()) == Some(magic);
    // A short file was filled up with zeroes.
    let len = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    let start = &bytes[..len.min(512)];
    let what = if at(0, b"SQLite format 3\0") {
        "; it looks like an SQLite database: ATTACH 'file' (TYPE sqlite) reads it, inlay import copies it"
    } else if at(8, b"DUCK") {
        "; it looks like a DuckDB database: EXPORT DATABASE 'folder' (FORMAT parquet) there, IMPORT DATABASE 'folder' here"
    } else if at(0, b"PAR1") {
        "; it looks like a Parquet file: read it with read_parquet"
    } else if at(0, b"ARROW1") {
        "; it looks like an Arrow file"
    } else if at(0, b"Inlay log\n") {
        "; it is the log of one: open the file without .wal"
    } else if at(0, &[0x1F, 0x8B]) {
        "; it looks like a gzip file"
    } else if !start.is_empty() && start.iter().all(|&byte| byte >= b' ' || byte.is_ascii_whitespace()) {
        "; it looks like text: read_csv reads tables from text"
    } else {
        ""
    };
    Error::invalid_argument(format!("\"{path}\" is not an Inlay database{what}"))
}
