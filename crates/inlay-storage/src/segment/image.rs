//! Segments as bytes: the image that goes to disk and the way back into memory.
//!
//! ```text
//! image:   version u8 | encoding u8 | rows | NULLs | smallest value, option | largest, option | sketch, option
//!          validity as bits, when some rows are NULL and some are not | body
//! body:    plain       the values (see below)
//!          constant    the value, option
//!          dictionary  number of values | values | code of each row as integers
//!          fields      number of fields | of each the size of an image, and the image
//!          runs        number of runs | their lengths as integers | size of an image | image of their values
//!          frame       base i128 | bytes per offset u8 | offset of each row as integers
//! values:  integers and floats as streams of their kind; 128 bits as low and high halves; INTERVAL as months, days
//!          and microseconds; strings as strings
//! ```
//! Counts are of variable length; streams are those of [`crate::codec`]. The image names the same encoding that the
//! segment has in memory, so a segment that was read filters as the one that was written. What follows from the rows
//! is not stored but made again: key ranges of vectors, and the width of codes.
//!
//! Images come from files, so nothing in them is trusted: codes are below the number of values, dictionaries
//! ascend, text is UTF-8, offsets stay inside their type, and the zone map is that of the keys. Memory is reserved
//! before it is allocated, and an image can ask for no more than its rows need.
//!
//! Long strings in the place of the smallest and the largest value are bounds: no value is below or above them. In dictionaries
//! and constants these have always been the values themselves; so there is no constant of a long string, which is one row, or a
//! run, of a plain one instead.
//!
//! Rows that are NULL are compressed as the value before them and get their NA, or zero, back when they are read.

use super::encode::{Integer, code_width};
use super::fields::{self, Fields};
use super::meta::{BOUND_SIZE_MAX, lower_bound, upper_bound};
use super::order::{FloatKey, KeyRange, code_zones, float_zones, zones};
use super::runs::Runs;
use super::{Codes, Encoding, Segment};
use crate::codec::{Word, bits, floats, integers, strings};
use crate::simd::{Lanes, with_lanes};
use crate::zone_map::has_bounds;
use crate::{ByteReader, ByteWriter, HyperLogLog, ZoneMap};
use inlay_types::{
    Bitmap, Buffer, Dictionary, Error, Heap, LogicalType, MemoryBudget, PhysicalType, Reservation, Result,
    Value, Vector, nested,
};
use std::cmp::Ordering;
use std::sync::OnceLock;

const VERSION: u8 = 1;
/// Rows of a segment that is stored; row groups have an eighth of them.
const ROWS_MAX: usize = 1 << 20;

const PLAIN: u8 = 0;
const CONSTANT: u8 = 1;
const DICTIONARY: u8 = 2;
const FRAME: u8 = 3;
const RUNS: u8 = 4;
const FIELDS: u8 = 5;

impl Segment {
    /// The compressed image of this segment.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        if self.len > ROWS_MAX {
            return Err(Error::internal(format!("a segment of {} rows is stored", self.len)));
        }
        match &self.encoding {
            Encoding::Patched(_) => {
                return Self::encode(&self.scan(0, self.len)?, &MemoryBudget::unlimited())?.to_bytes();
            }
            Encoding::Constant(value) if self.null_count < self.len && self.is_long(value) => {
                return self.spread(value)?.to_bytes();
            }
            _ => {}
        }
        let mut out = ByteWriter::new();
        out.u8(VERSION);
        out.u8(match &self.encoding {
            Encoding::Plain(_) => PLAIN,
            Encoding::Constant(_) => CONSTANT,
            Encoding::Dictionary { .. } => DICTIONARY,
            Encoding::Frame { .. } => FRAME,
            Encoding::Runs(_) | Encoding::Patched(_) => RUNS,
            Encoding::Fields(_) => FIELDS,
        });
        out.count(self.len);
        out.count(self.null_count);
        let dictionary = match &self.encoding {
            Encoding::Runs(runs) => runs.values.dictionary(),
            _ => self.dictionary(),
        };
        let ends = dictionary.filter(|_| self.zone_map.min.is_some()).map(|dictionary| {
            let values = dictionary.values();
            (values.get(0), values.get(values.len() - 1))
        });
        let (min, max) = match &ends {
            Some((min, max)) => (Some(min), Some(max)),
            None => (self.zone_map.min.as_ref(), self.zone_map.max.as_ref()),
        };
        out.option(min, ByteWriter::value);
        out.option(max, ByteWriter::value);
        out.option(self.sketch.get(), |out, sketch| {
            integers::compress(&widened(sketch.registers(), None), out);
        });
        let validity = self.validity.as_ref();
        if let Some(validity) = validity {
            bits::compress(validity, &mut out);
        }
        match &self.encoding {
            Encoding::Plain(values) => write_values(values, validity, &mut out)?,
            Encoding::Constant(value) => {
                out.option(
                    Some(value.slice(0, self.len.min(1))).filter(|v| v.null_count() < v.len()),
                    |out, v| {
                        out.value(&v.get(0));
                    },
                );
            }
            Encoding::Dictionary { dictionary, codes } => {
                out.count(dictionary.values().len());
                write_values(dictionary.values(), None, &mut out)?;
                write_codes(codes.lanes(0..self.len), validity, &mut out);
            }
            Encoding::Frame { base, offsets } => {
                out.i128(*base);
                out.u8(offsets.width() as u8);
                write_codes(offsets.lanes(0..self.len), validity, &mut out);
            }
            Encoding::Runs(runs) => {
                out.count(runs.values.len());
                integers::compress(&runs.lengths().map(u64::from).collect::<Vec<u64>>(), &mut out);
                out.sized(&runs.values.to_bytes()?);
            }
            Encoding::Fields(fields) => {
                out.count(fields.parts().len());
                for part in fields.parts() {
                    out.sized(&part.to_bytes()?);
                }
            }
            Encoding::Patched(_) => return Err(Error::internal("an overlay is stored")),
        }
        Ok(out.finish())
    }

    /// Whether a constant is a string that is better compressed, and whose bounds are shorter.
    fn is_long(&self, value: &Vector) -> bool {
        self.ty.is_view() && value.slice(0, 1).text_size() > BOUND_SIZE_MAX
    }

    /// A constant as a plain row, or a run of one.
    fn spread(&self, value: &Vector) -> Result<Self> {
        let of = |len: usize, encoding: Encoding| -> Result<Self> {
            Ok(Self {
                ty: self.ty.clone(),
                len,
                null_count: 0,
                validity: None,
                encoding,
                zone_map: self.zone_map.clone(),
                vector_zones: Vec::new(),
                sketch: self.sketch.clone(),
                reservation: MemoryBudget::unlimited().reserve(0)?,
            })
        };
        let one = of(1, Encoding::Plain(value.slice(0, 1).flatten()))?;
        if self.len == 1 {
            return Ok(one);
        }
        let length = u32::try_from(self.len).ok();
        let run = length.and_then(|length| Runs::from_parts(&[length], one, self.len));
        let run = run.ok_or_else(|| Error::internal("a constant that is no run"))?;
        of(self.len, Encoding::Runs(run))
    }

    /// The segment of an image, encoded as it was. `bytes` may hold anything.
    pub fn from_bytes(ty: LogicalType, bytes: &[u8], budget: &MemoryBudget) -> Result<Self> {
        let mut reader = ByteReader::new(bytes);
        let version = reader.u8()?;
        if version != VERSION {
            return Err(Error::corrupt(format!("a segment of version {version}")));
        }
        let encoding = reader.u8()?;
        let (len, null_count) = (reader.count()?, reader.count()?);
        if len > ROWS_MAX || null_count > len {
            return Err(Error::corrupt(format!("a segment of {len} rows, {null_count} of them NULL")));
        }
        let has_value = null_count < len;
        let min = reader.option(|r| value_of(ty.clone(), r))?;
        let max = reader.option(|r| value_of(ty.clone(), r))?;
        let expected = has_value && has_bounds(&ty);
        if min.is_some() != expected || max.is_some() != expected {
            return Err(Error::corrupt("a zone map that does not fit the NULLs"));
        }
        let sketch = OnceLock::new();
        if let Some(stored) = reader.option(read_sketch)? {
            let _ = sketch.set(stored);
        }
        let mut body = Body { ty: ty.clone(), len, validity: None, reservation: budget.reserve(0)?, reader };
        if null_count > 0 && has_value && encoding != CONSTANT && encoding != RUNS {
            body.reservation.grow(len.div_ceil(64) as u64 * 8)?;
            body.validity = Some(bits::decompress(&mut body.reader, len)?);
        }
        if body.validity.as_ref().is_some_and(|v| len - v.count_ones() != null_count) {
            return Err(Error::corrupt("another number of NULLs than was counted"));
        }
        let (encoding, vector_zones) = match encoding {
            RUNS => (body.read_runs(null_count, budget)?, Vec::new()),
            FIELDS if has_value => (body.read_fields(budget)?, Vec::new()),
            other => body.read(other, null_count)?,
        };
        body.reader.expect_end()?;
        let Body { validity, reservation, .. } = body;
        let zone_map = ZoneMap { has_null: null_count > 0, has_value, min, max };
        let mut segment =
            Self { ty, len, null_count, validity, encoding, zone_map, vector_zones, sketch, reservation };
        segment.check_zone_map()?;
        let ZoneMap { min, max, .. } = &mut segment.zone_map;
        (*min, *max) = (lower_bound(min.take()), upper_bound(max.take()));
        segment.reserve_exactly()?;
        Ok(segment)
    }

    /// Sets the reservation to what is used. Segments inside of this one have reservations of their own.
    pub(super) fn reserve_exactly(&mut self) -> Result<()> {
        let own = match &self.encoding {
            Encoding::Runs(runs) => runs.ends_size(),
            Encoding::Fields(_) => self.validity.as_ref().map_or(0, |validity| validity.buffer().size()),
            _ => self.memory_size(),
        };
        let zones = size_of_val(self.vector_zones.as_slice());
        self.reservation.resize((own + zones + size_of::<Self>()) as u64)
    }

    /// Fails unless the zone map is that of the keys of the rows, or of the dictionary; predicates rely on it.
    fn check_zone_map(&self) -> Result<()> {
        let (Some(min), Some(max)) = (&self.zone_map.min, &self.zone_map.max) else { return Ok(()) };
        let mut keys = KeyRange::EMPTY;
        self.vector_zones.iter().filter(|zone| !zone.is_empty()).for_each(|zone| {
            keys.add(zone.low);
            keys.add(zone.high);
        });
        let stored = |key: i64| match (&self.encoding, self.ty.physical()) {
            (Encoding::Frame { base, .. }, _) => base.checked_add(i128::from(key)),
            (_, PhysicalType::U64) => Some(i128::from(key as u64 ^ 1 << 63)),
            _ => Some(i128::from(key)),
        };
        let is_right = match (&self.encoding, min, max) {
            (Encoding::Constant(value), ..) => {
                self.len == 0 || value.get(0).total_cmp(min).is_eq() && value.get(0).total_cmp(max).is_eq()
            }
            (Encoding::Dictionary { dictionary, .. }, ..) => {
                let values = dictionary.values();
                values.get(0).total_cmp(min).is_eq() && values.get(values.len() - 1).total_cmp(max).is_eq()
            }
            (Encoding::Runs(runs), ..) => {
                let zone = runs.values.zone_map();
                let same = |a: &Option<Value>, b: Option<Value>| {
                    a.as_ref().zip(b).is_some_and(|(a, b)| a.total_cmp(&b).is_eq())
                };
                same(&zone.min, lower_bound(Some(min.clone())))
                    && same(&zone.max, upper_bound(Some(max.clone())))
            }
            (_, Value::Double(min), Value::Double(max)) => (min.key(), max.key()) == (keys.low, keys.high),
            (_, Value::Real(min), Value::Real(max)) => (min.key(), max.key()) == (keys.low, keys.high),
            _ if keys.is_empty() => min.total_cmp(max).is_le(),
            _ => stored(keys.low) == min.as_stored_i128() && stored(keys.high) == max.as_stored_i128(),
        };
        if is_right { Ok(()) } else { Err(Error::corrupt("a zone map that is not that of the rows")) }
    }
}

/// A value of the column's type.
fn value_of(ty: LogicalType, reader: &mut ByteReader<'_>) -> Result<Value> {
    let value = reader.value()?;
    let found = value.logical_type();
    let fits = found == ty || ty == LogicalType::Null && found == LogicalType::Integer;
    if fits { Ok(value) } else { Err(Error::corrupt(format!("a value of type {found} in a column of {ty}"))) }
}

fn read_sketch(reader: &mut ByteReader<'_>) -> Result<HyperLogLog> {
    let mut registers = [0u8; HyperLogLog::SIZE_BYTES];
    integers::decompress(reader, &mut registers)?;
    HyperLogLog::from_registers(&registers)
}

/// Words for compression; NULL rows repeat the value before them.
fn widened<W: Word>(values: &[W], validity: Option<&Bitmap>) -> Vec<u64> {
    repeated(values.iter().map(|v| v.widen()), validity)
}

fn repeated(values: impl Iterator<Item = u64>, validity: Option<&Bitmap>) -> Vec<u64> {
    let mut words: Vec<u64> = values.collect();
    if let Some(validity) = validity {
        let mut before = (0..words.len()).find(|row| validity.get(*row)).map_or(0, |row| words[row]);
        for (row, word) in words.iter_mut().enumerate() {
            if validity.get(row) {
                before = *word;
            } else {
                *word = before;
            }
        }
    }
    words
}

fn write_codes(codes: Lanes<'_>, validity: Option<&Bitmap>, out: &mut ByteWriter) {
    let words = with_lanes!(codes, codes => widened(codes, validity));
    integers::compress(&words, out);
}

/// Appends the values of a flat vector.
fn write_values(values: &Vector, validity: Option<&Bitmap>, out: &mut ByteWriter) -> Result<()> {
    let mut put = |words: &mut dyn Iterator<Item = u64>| integers::compress(&repeated(words, validity), out);
    match values.physical_type() {
        PhysicalType::Bool | PhysicalType::U8 => {
            put(&mut values.values::<u8>().iter().copied().map(Word::widen))
        }
        PhysicalType::U16 => put(&mut values.values::<u16>().iter().copied().map(Word::widen)),
        PhysicalType::U32 => put(&mut values.values::<u32>().iter().copied().map(Word::widen)),
        PhysicalType::U64 => put(&mut values.values::<u64>().iter().copied()),
        PhysicalType::I8 => put(&mut values.values::<i8>().iter().map(|v| *v as i64 as u64)),
        PhysicalType::I16 => put(&mut values.values::<i16>().iter().map(|v| *v as i64 as u64)),
        PhysicalType::I32 => put(&mut values.values::<i32>().iter().map(|v| *v as i64 as u64)),
        PhysicalType::I64 => put(&mut values.values::<i64>().iter().map(|v| *v as u64)),
        PhysicalType::I128 | PhysicalType::U128 => {
            put(&mut values.values::<u128>().iter().map(|v| *v as u64));
            put(&mut values.values::<u128>().iter().map(|v| (v >> 64) as u64));
        }
        PhysicalType::Interval => {
            let values = values.values::<inlay_types::Interval>();
            put(&mut values.iter().map(|v| i64::from(v.months) as u64));
            put(&mut values.iter().map(|v| i64::from(v.days) as u64));
            put(&mut values.iter().map(|v| v.micros as u64));
        }
        PhysicalType::F32 => return floats::compress(&filled(values.values::<u32>(), validity), out),
        PhysicalType::F64 => return floats::compress(&filled(values.values::<u64>(), validity), out),
        PhysicalType::View => {
            let heap = values.heap().buffers();
            return strings::compress(values.views().iter().map(|view| view.bytes(heap)), out);
        }
    }
    Ok(())
}

fn filled<W: Word>(values: &[W], validity: Option<&Bitmap>) -> Vec<W> {
    widened(values, validity).into_iter().map(W::cut).collect()
}

/// What is being read of an image.
struct Body<'a> {
    ty: LogicalType,
    len: usize,
    validity: Option<Bitmap>,
    reservation: Reservation,
    reader: ByteReader<'a>,
}

impl Body<'_> {
    fn read(&mut self, encoding: u8, null_count: usize) -> Result<(Encoding, Vec<KeyRange>)> {
        let no_rows = self.len == 0 || null_count == self.len;
        match encoding {
            CONSTANT => {
                let value = self.reader.option(|r| value_of(self.ty.clone(), r))?;
                let has_null = null_count > 0;
                if has_null != value.is_none() && self.len > 0 || has_null && null_count < self.len {
                    return Err(Error::corrupt("a constant that does not fit the NULLs"));
                }
                let vector = match value {
                    Some(value) => Vector::constant(self.ty.clone(), &value, self.len)?,
                    None => Vector::nulls(self.ty.clone(), self.len),
                };
                Ok((Encoding::Constant(vector), Vec::new()))
            }
            PLAIN if null_count < self.len || self.len == 0 => self.read_plain(),
            DICTIONARY if !no_rows => self.read_dictionary(),
            FRAME if !no_rows => self.read_frame(),
            other => Err(Error::corrupt(format!("encoding {other} of {} rows", self.len))),
        }
    }

    fn read_plain(&mut self) -> Result<(Encoding, Vec<KeyRange>)> {
        let mut vector = read_values(self.ty.clone(), self.len, &mut self.reader, &mut self.reservation)?;
        if let Some(validity) = &self.validity {
            vector.set_validity(Some(validity.clone()));
            vector.normalize_nulls();
        }
        check_values(&vector)?;
        let zones = plain_zones(&vector, self.validity.as_ref());
        Ok((Encoding::Plain(vector), zones))
    }

    fn read_dictionary(&mut self) -> Result<(Encoding, Vec<KeyRange>)> {
        let count = self.reader.count()?;
        if count == 0 || count > self.len {
            return Err(Error::corrupt(format!("a dictionary of {count} values for {} rows", self.len)));
        }
        let values = read_values(self.ty.clone(), count, &mut self.reader, &mut self.reservation)?;
        check_values(&values)?;
        if !ascends(&values) {
            return Err(Error::corrupt("a dictionary that does not ascend"));
        }
        let codes = self.read_codes(code_width(count))?;
        let zones = self.code_zones(&codes);
        if zones.iter().any(|zone| !zone.is_empty() && zone.high >= count as i64) {
            return Err(Error::corrupt("a code beyond its dictionary"));
        }
        Ok((Encoding::Dictionary { dictionary: Dictionary::new(values), codes }, zones))
    }

    fn read_frame(&mut self) -> Result<(Encoding, Vec<KeyRange>)> {
        let base = self.reader.i128()?;
        let width = usize::from(self.reader.u8()?);
        let size = self.ty.physical().size();
        if !has_frames(self.ty.physical()) || !matches!(width, 1 | 2 | 4 | 8) || width >= size {
            return Err(Error::corrupt(format!("offsets of {width} bytes for {}", self.ty)));
        }
        let offsets = self.read_codes(width)?;
        let zones = self.code_zones(&offsets);
        let highest = zones.iter().filter(|z| !z.is_empty()).map(|z| z.high).max().unwrap_or(0);
        let lowest = zones.iter().filter(|z| !z.is_empty()).map(|z| z.low).min().unwrap_or(0);
        let fits = |stored: i128| fits_carrier(self.ty.physical(), stored) && is_label(&self.ty, stored);
        let last = base.checked_add(i128::from(highest));
        if lowest != 0 || !fits(base) || !last.is_some_and(fits) {
            return Err(Error::corrupt("offsets outside of their type"));
        }
        Ok((Encoding::Frame { base, offsets }, zones))
    }

    fn read_runs(&mut self, null_count: usize, budget: &MemoryBudget) -> Result<Encoding> {
        let count = self.reader.count()?;
        if count > self.len {
            return Err(Error::corrupt(format!("{count} runs of {} rows", self.len)));
        }
        self.reservation.grow(count as u64 * 4)?;
        let mut lengths = vec![0u32; count];
        integers::decompress(&mut self.reader, &mut lengths)?;
        let image = self.reader.sized()?;
        // Runs of runs are not made, and reading them could go deep.
        if image.get(1) == Some(&RUNS) {
            return Err(Error::corrupt("runs inside of runs"));
        }
        let values = Segment::from_bytes(self.ty.clone(), image, budget)?;
        Runs::from_parts(&lengths, values, self.len)
            .filter(|runs| runs.null_count() == null_count)
            .map(Encoding::Runs)
            .ok_or_else(|| Error::corrupt("runs that do not fit their rows"))
    }

    fn read_fields(&mut self, budget: &MemoryBudget) -> Result<Encoding> {
        let count = self.reader.count()?;
        let Some(fields) = fields::of_type(&self.ty).filter(|fields| fields.len() == count) else {
            return Err(Error::corrupt(format!("{count} fields of {}", self.ty)));
        };
        let mut parts = Vec::new();
        for field in fields.iter() {
            parts.push(Segment::from_bytes(field.ty.clone(), self.reader.sized()?, budget)?);
        }
        Fields::from_parts(parts, self.validity.as_ref(), self.len)
            .map(Encoding::Fields)
            .ok_or_else(|| Error::corrupt("fields that do not fit their rows"))
    }

    /// Codes or offsets of one width. NULL rows get zero back.
    fn read_codes(&mut self, width: usize) -> Result<Codes> {
        let size = (self.len * width).next_multiple_of(64);
        self.reservation.grow(size as u64)?;
        Ok(match width {
            1 => Codes::U8(self.read_padded::<u8>(size)?),
            2 => Codes::U16(self.read_padded::<u16>(size)?),
            4 => Codes::U32(self.read_padded::<u32>(size)?),
            _ => Codes::U64(self.read_padded::<u64>(size)?),
        })
    }

    fn read_padded<W: Word>(&mut self, size: usize) -> Result<Buffer> {
        let mut buffer = Buffer::zeroed(size);
        let codes = &mut buffer.make_mut::<W>()[..self.len];
        integers::decompress(&mut self.reader, codes)?;
        if let Some(validity) = &self.validity {
            for (row, code) in codes.iter_mut().enumerate() {
                if !validity.get(row) {
                    *code = W::default();
                }
            }
        }
        Ok(buffer)
    }

    fn code_zones(&self, codes: &Codes) -> Vec<KeyRange> {
        // An offset above `i64::MAX` is negative as a key, and the lowest has to be zero.
        code_zones(codes, self.len, self.validity.as_ref())
    }
}

fn has_frames(physical: PhysicalType) -> bool {
    match physical {
        PhysicalType::I16
        | PhysicalType::I32
        | PhysicalType::I64
        | PhysicalType::I128
        | PhysicalType::U16
        | PhysicalType::U32
        | PhysicalType::U64 => true,
        PhysicalType::Bool
        | PhysicalType::I8
        | PhysicalType::U8
        | PhysicalType::U128
        | PhysicalType::F32
        | PhysicalType::F64
        | PhysicalType::View
        | PhysicalType::Interval => false,
    }
}

fn fits_carrier(physical: PhysicalType, stored: i128) -> bool {
    match physical {
        PhysicalType::I16 => i16::try_from(stored).is_ok(),
        PhysicalType::I32 => i32::try_from(stored).is_ok(),
        PhysicalType::I64 => i64::try_from(stored).is_ok(),
        PhysicalType::U16 => u16::try_from(stored).is_ok(),
        PhysicalType::U32 => u32::try_from(stored).is_ok(),
        PhysicalType::U64 => u64::try_from(stored).is_ok(),
        _ => true,
    }
}

/// Whether a stored number stands for a value; of all types but ENUM, any does that fits the carrier.
fn is_label(ty: &LogicalType, stored: i128) -> bool {
    match ty {
        LogicalType::Enum(words) => u32::try_from(stored).is_ok_and(|code| words.get(code).is_some()),
        _ => true,
    }
}

/// Fails unless each value, as it lies there, is one of its type: what reads vectors relies on it.
fn check_values(values: &Vector) -> Result<()> {
    let (ty, valid) = (values.ty(), |row: &usize| !values.is_null(*row));
    let is_right = match ty {
        LogicalType::Enum(_) => {
            (0..values.len()).filter(valid).all(|row| is_label(ty, values.stored_i128(row)))
        }
        ty if ty.is_nested() => {
            let (views, heap) = (values.views(), values.heap().buffers());
            (0..values.len()).filter(valid).all(|row| nested::is_packed(ty, views[row].bytes(heap)))
        }
        _ => true,
    };
    if is_right { Ok(()) } else { Err(Error::corrupt(format!("a value that {ty} does not have"))) }
}

/// Whether each value is above the one before; floats that compare equal by their bits.
fn ascends(values: &Vector) -> bool {
    if values.logical_type().is_view() {
        let heap = values.heap().buffers();
        return values.views().windows(2).all(|pair| pair[0].compare(heap, &pair[1], heap).is_lt());
    }
    (1..values.len()).all(|row| values.get(row - 1).total_cmp(&values.get(row)) != Ordering::Greater)
}

/// Takes `len` values as a flat vector without NULLs.
fn read_values(
    ty: LogicalType,
    len: usize,
    reader: &mut ByteReader<'_>,
    reservation: &mut Reservation,
) -> Result<Vector> {
    let size = len * ty.physical().size();
    reservation.grow(size as u64)?;
    let mut data = Buffer::zeroed(size);
    let mut heap = Heap::default();
    match ty.physical() {
        PhysicalType::Bool => {
            let values = data.make_mut::<u8>();
            integers::decompress(reader, values)?;
            if values.iter().any(|v| *v > 1) {
                return Err(Error::corrupt("a BOOLEAN that is neither 0 nor 1"));
            }
        }
        PhysicalType::I8 | PhysicalType::U8 => integers::decompress(reader, data.make_mut::<u8>())?,
        PhysicalType::I16 | PhysicalType::U16 => integers::decompress(reader, data.make_mut::<u16>())?,
        PhysicalType::I32 | PhysicalType::U32 => integers::decompress(reader, data.make_mut::<u32>())?,
        PhysicalType::I64 | PhysicalType::U64 => integers::decompress(reader, data.make_mut::<u64>())?,
        PhysicalType::F32 => floats::decompress(reader, data.make_mut::<u32>())?,
        PhysicalType::F64 => floats::decompress(reader, data.make_mut::<u64>())?,
        PhysicalType::I128 | PhysicalType::U128 => {
            let mut half = vec![0u64; len];
            integers::decompress(reader, &mut half)?;
            let values = data.make_mut::<u128>();
            values.iter_mut().zip(&half).for_each(|(value, low)| *value = u128::from(*low));
            integers::decompress(reader, &mut half)?;
            values.iter_mut().zip(&half).for_each(|(value, high)| *value |= u128::from(*high) << 64);
        }
        PhysicalType::Interval => {
            let (mut months, mut days, mut micros) = (vec![0u32; len], vec![0u32; len], vec![0u64; len]);
            integers::decompress(reader, &mut months)?;
            integers::decompress(reader, &mut days)?;
            integers::decompress(reader, &mut micros)?;
            for (row, value) in data.make_mut::<inlay_types::Interval>().iter_mut().enumerate() {
                *value = inlay_types::Interval {
                    months: months[row] as i32,
                    days: days[row] as i32,
                    micros: micros[row] as i64,
                };
            }
        }
        PhysicalType::View => {
            let utf8 = matches!(ty, LogicalType::Varchar | LogicalType::Json);
            heap = strings::decompress(reader, data.make_mut(), utf8, reservation)?;
        }
    }
    Ok(Vector::flat(ty, len, data, None, heap))
}

/// Key ranges of plain values, as they were made when the segment was encoded.
fn plain_zones(values: &Vector, validity: Option<&Bitmap>) -> Vec<KeyRange> {
    match values.physical_type() {
        PhysicalType::Bool | PhysicalType::U8 => zones(values.values::<u8>(), validity, Integer::key),
        PhysicalType::I8 => zones(values.values::<i8>(), validity, Integer::key),
        PhysicalType::I16 => zones(values.values::<i16>(), validity, Integer::key),
        PhysicalType::I32 => zones(values.values::<i32>(), validity, Integer::key),
        PhysicalType::I64 => zones(values.values::<i64>(), validity, Integer::key),
        PhysicalType::U16 => zones(values.values::<u16>(), validity, Integer::key),
        PhysicalType::U32 => zones(values.values::<u32>(), validity, Integer::key),
        PhysicalType::U64 => zones(values.values::<u64>(), validity, Integer::key),
        PhysicalType::F32 => float_zones(values.values::<f32>(), validity),
        PhysicalType::F64 => float_zones(values.values::<f64>(), validity),
        PhysicalType::I128 | PhysicalType::U128 | PhysicalType::View | PhysicalType::Interval => Vec::new(),
    }
}
