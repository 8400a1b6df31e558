//! One column of a row group: encoded once, never changed, shared by `Arc`.
//!
//! ```text
//! Plain       the values as a flat vector; strings as views over a compact heap
//! Constant    one value, or NULL, for all rows
//! Dictionary  distinct values in ascending order, and a code per row (u8, u16 or u32)
//! Frame       frame of reference: smallest value, and an offset per row (u8, u16, u32 or u64)
//! Runs        a value per run of equal rows, and where each run ends
//! Patched     a few changed rows over another segment
//! Fields      a segment per field of a struct
//! ```
//! Invariants
//! - Dictionaries are sorted and free of duplicates, so a range of values is a range of codes.
//! - Codes and offsets of NULL rows are zero. Flat vectors that leave a segment hold NA in NULL slots.
//! - `validity` is present exactly when some rows are NULL and some are not; runs and overlays have none, as their
//!   parts know of NULLs.
//!
//! [`encode`] chooses the encoding, [`scan`] decodes, [`prepare`] moves a predicate into the encoded domain and
//! [`filter`] runs it there; [`image`] compresses a segment for disk and brings it back. Called by scans of `inlay-exec` and by `table`.

mod distinct;
mod encode;
mod fields;
mod filter;
mod image;
mod meta;
mod numbered;
mod order;
mod patched;
mod prepare;
mod runs;
mod scan;
mod sketch;
#[cfg(test)]
mod tests;

pub use fields::extract;
pub use meta::{FieldMeta, SegmentMeta};
pub(crate) use order::FloatKey;
pub use prepare::PreparedPredicate;

use crate::hyperloglog::HyperLogLog;
use crate::predicate::{Prune, SegmentPredicate};
use crate::simd::Lanes;
use crate::zone_map::ZoneMap;
use fields::Fields;
use inlay_types::{
    Bitmap, Buffer, Dictionary, LogicalType, MemoryBudget, PhysicalType, Reservation, Result, VECTOR_SIZE,
    Value, Vector,
};
use order::KeyRange;
use patched::Overlay;
use runs::Runs;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// One encoded column of a row group. See the module documentation.
#[derive(Debug)]
pub struct Segment {
    ty: LogicalType,
    len: usize,
    null_count: usize,
    validity: Option<Bitmap>,
    encoding: Encoding,
    zone_map: ZoneMap,
    /// Key range of each [`VECTOR_SIZE`] rows, see [`order`]; empty when the encoding has no keys.
    vector_zones: Vec<KeyRange>,
    sketch: OnceLock<HyperLogLog>,
    /// Given back on drop.
    reservation: Reservation,
}

#[derive(Debug)]
enum Encoding {
    Plain(Vector),
    Constant(Vector),
    Dictionary { dictionary: Arc<Dictionary>, codes: Codes },
    Frame { base: i128, offsets: Codes },
    Runs(Runs),
    Patched(Overlay),
    Fields(Fields),
}

/// Unsigned numbers of one width. The memory is padded to whole cache lines.
#[derive(Clone, Debug)]
enum Codes {
    U8(Buffer),
    U16(Buffer),
    U32(Buffer),
    U64(Buffer),
}

impl Codes {
    fn lanes(&self, rows: Range<usize>) -> Lanes<'_> {
        match self {
            Self::U8(buffer) => Lanes::U8(&buffer.typed()[rows]),
            Self::U16(buffer) => Lanes::U16(&buffer.typed()[rows]),
            Self::U32(buffer) => Lanes::U32(&buffer.typed()[rows]),
            Self::U64(buffer) => Lanes::U64(&buffer.typed()[rows]),
        }
    }

    /// Bytes per number.
    fn width(&self) -> usize {
        match self {
            Self::U8(_) => 1,
            Self::U16(_) => 2,
            Self::U32(_) => 4,
            Self::U64(_) => 8,
        }
    }

    fn size(&self) -> usize {
        match self {
            Self::U8(buffer) | Self::U16(buffer) | Self::U32(buffer) | Self::U64(buffer) => buffer.size(),
        }
    }
}

/// Texts of more bytes are asked for before they are copied.
pub(crate) const LARGE_TEXTS: usize = 4 << 20;

impl Segment {
    /// Encodes a column by trial, taking its memory from `budget`.
    pub fn encode(column: &Vector, budget: &MemoryBudget) -> Result<Self> {
        encode::encode(column, encode::Effort::Best, budget)
    }

    /// As [`Segment::encode`], without trying encodings: for the small chunks of a table's open tail.
    pub fn encode_plain(column: &Vector, budget: &MemoryBudget) -> Result<Self> {
        encode::encode(column, encode::Effort::Plain, budget)
    }

    /// As [`Segment::encode`] for a column whose memory the segment may share as it is.
    pub(crate) fn encode_shared(column: &Vector, budget: &MemoryBudget) -> Result<Self> {
        encode::encode(column, encode::Effort::BestShared, budget)
    }

    pub(crate) fn encode_for(column: &Vector, seal: bool, budget: &MemoryBudget) -> Result<Self> {
        if seal { Self::encode(column, budget) } else { Self::encode_plain(column, budget) }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The SQL type.
    pub fn logical_type(&self) -> LogicalType {
        self.ty.clone()
    }

    /// Number of NULLs.
    pub fn null_count(&self) -> usize {
        self.null_count
    }

    /// Range of the values.
    pub fn zone_map(&self) -> &ZoneMap {
        &self.zone_map
    }

    /// Bytes of the encoded form.
    pub fn memory_size(&self) -> usize {
        let encoded = match &self.encoding {
            Encoding::Plain(values) | Encoding::Constant(values) => values.memory_size(),
            Encoding::Dictionary { dictionary, codes } => dictionary.values().memory_size() + codes.size(),
            Encoding::Frame { offsets, .. } => offsets.size(),
            Encoding::Runs(runs) => runs.ends_size() + runs.values.memory_size(),
            Encoding::Patched(overlay) => overlay.memory_size(),
            Encoding::Fields(fields) => fields.memory_size(),
        };
        let plain = matches!(self.encoding, Encoding::Plain(_));
        encoded + self.validity.as_ref().filter(|_| !plain).map_or(0, |v| v.buffer().size())
    }

    /// Bytes that the segment has reserved from its budget.
    pub(crate) fn reserved_bytes(&self) -> u64 {
        let of_fields = match &self.encoding {
            Encoding::Fields(fields) => fields.reserved_bytes(),
            Encoding::Plain(_)
            | Encoding::Constant(_)
            | Encoding::Dictionary { .. }
            | Encoding::Frame { .. }
            | Encoding::Runs(_)
            | Encoding::Patched(_) => 0,
        };
        self.reservation.bytes() + of_fields
    }

    /// Name of the encoding, for storage reports and tests.
    pub fn encoding_name(&self) -> &'static str {
        match &self.encoding {
            Encoding::Plain(_) => "plain",
            Encoding::Constant(_) => "constant",
            Encoding::Dictionary { codes, .. } => match codes {
                Codes::U8(_) => "dictionary8",
                Codes::U16(_) => "dictionary16",
                Codes::U32(_) | Codes::U64(_) => "dictionary32",
            },
            Encoding::Frame { offsets, .. } => match offsets {
                Codes::U8(_) => "frame8",
                Codes::U16(_) => "frame16",
                Codes::U32(_) => "frame32",
                Codes::U64(_) => "frame64",
            },
            Encoding::Runs(_) => "runs",
            Encoding::Patched(_) => "patched",
            Encoding::Fields(_) => "fields",
        }
    }

    /// Whether the values lie in memory as they are.
    pub fn is_plain(&self) -> bool {
        matches!(self.encoding, Encoding::Plain(_))
    }

    /// The shared dictionary, if the segment is dictionary-encoded: sorted, no duplicates.
    pub fn dictionary(&self) -> Option<&Arc<Dictionary>> {
        match &self.encoding {
            Encoding::Dictionary { dictionary, .. } => Some(dictionary),
            Encoding::Plain(_)
            | Encoding::Constant(_)
            | Encoding::Frame { .. }
            | Encoding::Runs(_)
            | Encoding::Patched(_)
            | Encoding::Fields(_) => None,
        }
    }

    /// The sketch of the distinct values; made when first asked for.
    pub fn sketch(&self) -> Result<&HyperLogLog> {
        if let Some(sketch) = self.sketch.get() {
            return Ok(sketch);
        }
        let sketch = sketch::sketch(self)?;
        Ok(self.sketch.get_or_init(|| sketch))
    }

    /// Whether row `row` is NULL.
    pub fn is_null(&self, row: usize) -> bool {
        match (&self.validity, &self.encoding) {
            (Some(validity), _) => !validity.get(row),
            (None, Encoding::Runs(runs)) => runs.is_null(row),
            (None, Encoding::Patched(overlay)) => overlay.is_null(row),
            (None, _) => self.null_count > 0,
        }
    }

    /// One value.
    ///
    /// Panics when `row` is not below `len`.
    pub fn get(&self, row: usize) -> Value {
        assert!(row < self.len, "row outside of segment");
        if self.is_null(row) {
            return Value::Null;
        }
        match &self.encoding {
            Encoding::Plain(values) | Encoding::Constant(values) => values.get(row),
            Encoding::Dictionary { dictionary, codes } => {
                dictionary.values().get(codes.lanes(row..row + 1).get(0) as usize)
            }
            Encoding::Frame { base, offsets } => {
                let stored = base + i128::from(offsets.lanes(row..row + 1).get(0));
                Value::of_stored(&self.ty, stored)
            }
            Encoding::Runs(runs) => runs.get(row),
            Encoding::Patched(overlay) => overlay.get(row),
            Encoding::Fields(fields) => fields.get(&self.ty, row),
        }
    }

    /// Rows `start .. start + len`: plain shares memory, a dictionary gives codes, a constant a constant; a run or a
    /// changed row may make a vector flat that would be none of these. Fields are packed, for which memory is asked.
    pub fn scan(&self, start: usize, len: usize) -> Result<Vector> {
        let mut out = Vector::empty(self.ty.clone());
        self.scan_into(start, len, &mut out)?;
        Ok(out)
    }

    /// The rows at `rows`, which are ascending positions in this row group.
    pub fn gather(&self, rows: &[u32]) -> Result<Vector> {
        let mut out = Vector::empty(self.ty.clone());
        self.gather_into(rows, &mut out)?;
        Ok(out)
    }

    /// Appends the positions inside `range` (all, or those in `selection`, ascending) that satisfy `predicate`.
    pub fn filter(
        &self,
        predicate: &SegmentPredicate,
        range: Range<usize>,
        selection: Option<&[u32]>,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        self.filter_prepared(&self.prepare(predicate)?, range, selection, out)
    }

    /// What the zone map says of a predicate. A generic predicate is not evaluated for it.
    pub fn prune(&self, predicate: &SegmentPredicate) -> Prune {
        match predicate {
            SegmentPredicate::Generic(_) if self.null_count < self.len => Prune::Some,
            other => self.prepare(other).map_or(Prune::Some, |prepared| self.prune_prepared(&prepared)),
        }
    }

    /// Rows of vector `index`: `VECTOR_SIZE` of them, fewer in the last.
    fn vector_rows(&self, index: usize) -> Range<usize> {
        index * VECTOR_SIZE..((index + 1) * VECTOR_SIZE).min(self.len)
    }

    /// The rows as unsigned words: codes, offsets, or plain integers of up to 64 bits.
    fn lanes(&self, rows: Range<usize>) -> Option<Lanes<'_>> {
        match &self.encoding {
            Encoding::Dictionary { codes, .. } => Some(codes.lanes(rows)),
            Encoding::Frame { offsets, .. } => Some(offsets.lanes(rows)),
            Encoding::Constant(_) | Encoding::Runs(_) | Encoding::Patched(_) | Encoding::Fields(_) => None,
            Encoding::Plain(values) => match self.ty.physical() {
                PhysicalType::Bool | PhysicalType::I8 | PhysicalType::U8 => {
                    Some(Lanes::U8(&values.values()[rows]))
                }
                PhysicalType::I16 | PhysicalType::U16 => Some(Lanes::U16(&values.values()[rows])),
                PhysicalType::I32 | PhysicalType::U32 => Some(Lanes::U32(&values.values()[rows])),
                PhysicalType::I64 | PhysicalType::U64 => Some(Lanes::U64(&values.values()[rows])),
                PhysicalType::I128
                | PhysicalType::U128
                | PhysicalType::F32
                | PhysicalType::F64
                | PhysicalType::View
                | PhysicalType::Interval => None,
            },
        }
    }
}
