//! Decoding: contiguous rows, and rows at positions.

use super::{Codes, Encoding, Segment};
use crate::simd::{Lanes, WordOfLane, decode, decode_rows, with_lanes};
use inlay_types::pick::pick;
use inlay_types::{PhysicalType, Result, Vector, View};

/// Calls a generic function with the integer type that carries `$physical`.
macro_rules! with_integer_type {
    ($physical:expr, $t:ident => $body:expr, else $other:expr) => {
        match $physical {
            PhysicalType::Bool | PhysicalType::U8 => {
                type $t = u8;
                $body
            }
            PhysicalType::I8 => {
                type $t = i8;
                $body
            }
            PhysicalType::I16 => {
                type $t = i16;
                $body
            }
            PhysicalType::I32 => {
                type $t = i32;
                $body
            }
            PhysicalType::I64 => {
                type $t = i64;
                $body
            }
            PhysicalType::I128 => {
                type $t = i128;
                $body
            }
            PhysicalType::U16 => {
                type $t = u16;
                $body
            }
            PhysicalType::U32 => {
                type $t = u32;
                $body
            }
            PhysicalType::U64 => {
                type $t = u64;
                $body
            }
            PhysicalType::U128
            | PhysicalType::F32
            | PhysicalType::F64
            | PhysicalType::View
            | PhysicalType::Interval => $other,
        }
    };
}
impl Segment {
    /// As [`Segment::scan`], reusing the memory of `out`.
    ///
    /// Panics when the rows are not inside the segment.
    pub fn scan_into(&self, start: usize, len: usize, out: &mut Vector) -> Result<()> {
        assert!(start + len <= self.len, "rows outside of segment");
        let rows = start..start + len;
        match &self.encoding {
            Encoding::Plain(values) => {
                *out = values.slice(start, len);
                return Ok(());
            }
            Encoding::Constant(value) => {
                *out = value.slice(0, len);
                return Ok(());
            }
            Encoding::Runs(runs) => return runs.scan_into(start, len, out),
            Encoding::Patched(overlay) => return overlay.scan_into(start, len, out),
            Encoding::Fields(fields) => {
                let validity = self.validity.as_ref().map(|validity| validity.slice(start, len));
                *out = fields.pack(&self.ty, len, validity.as_ref(), |part| part.scan(start, len))?;
                return Ok(());
            }
            Encoding::Dictionary { dictionary, codes: Codes::U32(codes) } => {
                let codes = codes.slice(start * 4, len * 4);
                *out = Vector::dictionary(dictionary.clone(), codes, len, None);
            }
            Encoding::Dictionary { dictionary, codes } => {
                out.reset_dictionary(dictionary.clone(), len);
                with_lanes!(codes.lanes(rows), codes => decode(0u32, codes, out.codes_mut()));
            }
            Encoding::Frame { base, offsets } => {
                out.reset_flat(&self.ty, len);
                let offsets = offsets.lanes(rows);
                with_integer_type!(self.ty.physical(), T => {
                    with_lanes!(offsets, offsets => decode(*base as T, offsets, out.values_mut::<T>()));
                }, else ());
            }
        }
        if let Some(validity) = &self.validity {
            out.set_validity(Some(validity.slice(start, len)));
            out.normalize_nulls();
        }
        Ok(())
    }

    /// As [`Segment::gather`], reusing the memory of `out`.
    ///
    /// Panics when a row is not inside the segment.
    pub fn gather_into(&self, rows: &[u32], out: &mut Vector) -> Result<()> {
        if let (Some(first), Some(last)) = (rows.first(), rows.last()) {
            // Ascending rows without a gap are a scan.
            if (last - first) as usize == rows.len() - 1 {
                return self.scan_into(*first as usize, rows.len(), out);
            }
        }
        match &self.encoding {
            Encoding::Constant(value) => {
                assert!(rows.iter().all(|r| (*r as usize) < self.len), "row outside of segment");
                *out = value.take(rows);
                return Ok(());
            }
            Encoding::Runs(runs) => return runs.gather_into(rows, out),
            Encoding::Patched(overlay) => return overlay.gather_into(rows, out),
            Encoding::Fields(fields) => {
                let validity = self.validity.as_ref().map(|validity| validity.gather(rows));
                *out = fields.pack(&self.ty, rows.len(), validity.as_ref(), |part| part.gather(rows))?;
                return Ok(());
            }
            Encoding::Plain(values) => {
                out.reset_flat(&self.ty, rows.len());
                match self.ty.physical().size() {
                    1 => pick(values.values::<u8>(), 0, rows, out.values_mut::<u8>()),
                    2 => pick(values.values::<u16>(), 0, rows, out.values_mut::<u16>()),
                    4 => pick(values.values::<u32>(), 0, rows, out.values_mut::<u32>()),
                    8 => pick(values.values::<u64>(), 0, rows, out.values_mut::<u64>()),
                    // Views are 8-byte aligned; other 16-byte values are copied as two words as well.
                    _ => pick(values.values::<View>(), 0, rows, out.values_mut::<View>()),
                }
                if self.ty.is_view() {
                    out.set_heap(values.heap().clone());
                }
                // NULL slots hold NA already.
                out.set_validity(self.validity.as_ref().map(|v| v.gather(rows)));
                return Ok(());
            }
            Encoding::Dictionary { dictionary, codes } => {
                out.reset_dictionary(dictionary.clone(), rows.len());
                let codes = codes.lanes(0..self.len);
                with_lanes!(codes, codes => decode_rows(0u32, codes, rows, out.codes_mut()));
            }
            Encoding::Frame { base, offsets } => {
                out.reset_flat(&self.ty, rows.len());
                let offsets = offsets.lanes(0..self.len);
                with_integer_type!(self.ty.physical(), T => {
                    with_lanes!(offsets, offsets => decode_rows(*base as T, offsets, rows, out.values_mut::<T>()));
                }, else ());
            }
        }
        if let Some(validity) = &self.validity {
            out.set_validity(Some(validity.gather(rows)));
            out.normalize_nulls();
        }
        Ok(())
    }

    /// The stored integers of the rows, sign-extended to 64 bits; `None` when the carrier is wider or no integer.
    pub(super) fn stored_words(&self) -> Option<StoredWords<'_>> {
        let base = match &self.encoding {
            Encoding::Frame { base, .. } => *base as i64 as u64,
            Encoding::Plain(_) => 0,
            Encoding::Constant(_)
            | Encoding::Dictionary { .. }
            | Encoding::Runs(_)
            | Encoding::Patched(_)
            | Encoding::Fields(_) => return None,
        };
        if self.ty.physical().size() > 8 {
            return None;
        }
        let lanes = self.lanes(0..self.len)?;
        // The top bit of a signed number's lane; xor and subtraction of it extend the sign.
        let sign = match (&self.encoding, self.ty.physical()) {
            (Encoding::Plain(_), PhysicalType::I8) => 1 << 7,
            (Encoding::Plain(_), PhysicalType::I16) => 1 << 15,
            (Encoding::Plain(_), PhysicalType::I32) => 1 << 31,
            _ => 0,
        };
        Some(StoredWords { lanes, of_lane: WordOfLane { sign, base } })
    }
}

/// See [`Segment::stored_words`].
#[derive(Clone, Copy)]
pub(super) struct StoredWords<'a> {
    pub lanes: Lanes<'a>,
    pub of_lane: WordOfLane,
}
