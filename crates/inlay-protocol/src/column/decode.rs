//! Bytes into columns: values stay where they lie if they lie as a vector has them, everything else is looked at once.

use super::integers::{self, Integer};
use super::{DENSE, Encoding, HAS_MASK, HEADER};
use crate::wire::Reader;
use crate::{Result, WireError, bits};
use inlay_types::nested::{pack_lists, pack_maps, pack_struct, pack_unions};
use inlay_types::{
    Bitmap, Buffer, Dictionary, Heap, LogicalType, PhysicalType, Reservation, Vector, View, bit, limits,
};

/// The body of a chunk that is read column by column. Vectors share its memory.
pub struct Body {
    bytes: Buffer,
    at: usize,
}

struct Header {
    end: usize,
    encoding: Encoding,
    flags: u8,
    bits: u32,
    count: usize,
    extra: usize,
}

impl Body {
    /// The body of a chunk.
    pub fn new(bytes: Buffer) -> Self {
        Self { bytes, at: 0 }
    }

    /// Jumps over a column.
    pub fn skip(&mut self) -> Result<()> {
        self.at = self.header()?.end;
        Ok(())
    }

    /// Whether all was read, but for padding.
    pub fn is_at_end(&self) -> bool {
        self.bytes.size() - self.at < HEADER
    }

    fn wrong(&self, what: impl std::fmt::Display) -> WireError {
        WireError::malformed(format!("{} in the column at byte {} of a chunk's body", what, self.at))
    }

    fn header(&mut self) -> Result<Header> {
        self.align()?;
        let bytes = &self.bytes.bytes()[self.at..];
        let mut reader = Reader::new(bytes, "a column's header");
        let size = reader.u32()? as usize;
        let (encoding, flags, bits, zero) = (reader.u8()?, reader.u8()?, reader.u8()?, reader.u8()?);
        let (count, extra) = (reader.u32()? as usize, reader.u32()? as usize);
        if size > reader.left() || zero != 0 || flags & !(HAS_MASK | DENSE) != 0 || flags == DENSE {
            return Err(self.wrong(format_args!("a header of size {size} and flags {flags:#x}")));
        }
        self.at += HEADER;
        let encoding = Encoding::of(encoding)?;
        Ok(Header { end: self.at + size, encoding, flags, bits: u32::from(bits), count, extra })
    }

    /// Goes on to the next multiple of 16 bytes.
    fn align(&mut self) -> Result<()> {
        let next = self.at.next_multiple_of(HEADER);
        if next > self.bytes.size() {
            return Err(self.wrong("the end of the body"));
        }
        self.at = next;
        Ok(())
    }

    /// The next bytes of a column that ends at `end`.
    fn take(&mut self, size: Option<usize>, end: usize) -> Result<Buffer> {
        match size.filter(|size| *size <= end.saturating_sub(self.at)) {
            Some(size) => {
                let taken = self.bytes.slice(self.at, size);
                self.at += size;
                Ok(taken)
            }
            None => Err(self.wrong("values behind the column's end")),
        }
    }
}

/// The next column of a body, of `rows` rows.
pub fn decode(body: &mut Body, ty: &LogicalType, rows: usize) -> Result<Vector> {
    decode_at(body, ty, rows, true)
}

fn decode_at(body: &mut Body, ty: &LogicalType, rows: usize, folds: bool) -> Result<Vector> {
    let header = body.header()?;
    if header.encoding.folds() && !folds {
        return Err(body.wrong(format_args!("{:?} where nothing may fold", header.encoding)));
    }
    if header.flags & DENSE != 0 && ty.is_nested() {
        return Err(body.wrong("nested values without their NULL rows"));
    }
    let validity = match header.flags & HAS_MASK {
        0 => None,
        _ => Some(mask(body, rows, header.end)?),
    };
    let stored = match &validity {
        Some(validity) if header.flags & DENSE != 0 => validity.count_ones(),
        Some(_) | None => rows,
    };
    let vector = values(body, ty, &header, stored, validity.as_ref())?;
    let vector = match validity {
        Some(validity) if header.flags & DENSE != 0 => spread(&vector, validity, rows)?,
        Some(validity) => with_validity(vector, validity),
        None => vector,
    };
    if body.at > header.end {
        return Err(body.wrong("values behind the column's end"));
    }
    body.at = header.end;
    check(ty, &vector).map_err(|what| body.wrong(what))?;
    Ok(vector)
}

fn mask(body: &mut Body, rows: usize, end: usize) -> Result<Bitmap> {
    let words = body.take(Some(rows.div_ceil(64) * 8), end)?;
    let mut read: Vec<u64> = Vec::new();
    limits::grow(&mut read, rows.div_ceil(64))?;
    read.extend(words.bytes().as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)));
    body.align()?;
    Ok(Bitmap::from_words(read, rows))
}

/// A vector whose NULL slots hold what hosts take for NULL, whatever the sender put there.
fn with_validity(mut vector: Vector, validity: Bitmap) -> Vector {
    if vector.ty().is_nested() {
        // Packed with it already.
        return vector;
    }
    vector.set_validity(Some(validity));
    vector.normalize_nulls();
    vector
}

/// Values of the rows that are not NULL, each at its place.
fn spread(dense: &Vector, validity: Bitmap, rows: usize) -> Result<Vector> {
    if dense.is_empty() {
        return Ok(Vector::nulls(dense.logical_type(), rows));
    }
    let held = limits::hold(rows.saturating_mul(dense.physical_type().size() + 4))?;
    let mut next = 0u32;
    let last = dense.len() as u32 - 1;
    let places: Vec<u32> = (0..rows)
        .map(|row| {
            let place = next.min(last);
            next += u32::from(validity.get(row));
            place
        })
        .collect();
    let dense = if dense.is_constant() { dense.flatten() } else { dense.clone() };
    Ok(with_validity(dense.take(&places), validity).holding(held))
}

/// What is behind the mask: `count` values.
fn values(
    body: &mut Body,
    ty: &LogicalType,
    header: &Header,
    count: usize,
    validity: Option<&Bitmap>,
) -> Result<Vector> {
    let named = match header.encoding {
        Encoding::Nulls => 0,
        Encoding::Constant => 1,
        Encoding::Plain | Encoding::Frame | Encoding::Lengths | Encoding::Offsets | Encoding::Dictionary => {
            count
        }
        Encoding::List | Encoding::Map | Encoding::Struct | Encoding::Union => count,
    };
    if header.count != named {
        return Err(body.wrong(format_args!("{} values, where {named} are expected,", header.count)));
    }
    match (header.encoding, ty) {
        (Encoding::Nulls, _) => Ok(Vector::nulls(ty.clone(), count)),
        (Encoding::Constant, _) => constant(body, ty, count),
        (Encoding::Plain, ty) if !ty.is_view() => plain(body, ty, header, count),
        (Encoding::Frame, ty) if integers::is_integer(ty.physical()) => frame(body, ty, header, count),
        (Encoding::Lengths | Encoding::Offsets, ty) if ty.is_view() && !ty.is_nested() => {
            texts(body, ty, header, count)
        }
        (Encoding::Dictionary, ty) if ty.is_view() && !ty.is_nested() => dictionary(body, ty, header, count),
        (Encoding::List, LogicalType::List(_) | LogicalType::Array(..)) => {
            list(body, ty, header, count, validity)
        }
        (Encoding::Map, LogicalType::Map(types)) => {
            let offsets = offsets(body, header, count)?;
            let keys = elements(body, &types.0, header)?;
            let values = elements(body, &types.1, header)?;
            Ok(pack_maps(ty, &keys, &values, &offsets, validity)?)
        }
        (Encoding::Struct, LogicalType::Struct(fields)) => {
            let parts = fields
                .iter()
                .map(|field| decode_at(body, &field.ty, count, false))
                .collect::<Result<Vec<Vector>>>()?;
            Ok(pack_struct(ty, &parts.iter().collect::<Vec<_>>(), count, validity)?)
        }
        (Encoding::Union, LogicalType::Union(members)) => {
            let tags = body.take(Some(count), header.end)?;
            if let Some(tag) = tags.bytes().iter().find(|tag| usize::from(**tag) >= members.len()) {
                return Err(body.wrong(format_args!("member {tag} of {ty}")));
            }
            let parts = members
                .iter()
                .map(|member| decode_at(body, &member.ty, count, false))
                .collect::<Result<Vec<Vector>>>()?;
            Ok(pack_unions(ty, tags.bytes(), &parts.iter().collect::<Vec<_>>(), validity)?)
        }
        (encoding, ty) => Err(body.wrong(format_args!("{encoding:?} of values of {ty}"))),
    }
}

fn constant(body: &mut Body, ty: &LogicalType, count: usize) -> Result<Vector> {
    let one = decode_at(body, ty, 1, false)?;
    if one.is_null(0) {
        return Err(body.wrong("a constant that is NULL"));
    }
    Ok(if count == 0 { one.slice(0, 0).flatten() } else { one.repeated(0, count) })
}

/// Values where they lie, if they lie as a vector has them.
fn plain(body: &mut Body, ty: &LogicalType, header: &Header, count: usize) -> Result<Vector> {
    let width = ty.physical().size();
    let data = body.take(count.checked_mul(width), header.end)?;
    let is_aligned = match width {
        1 => true,
        2 => data.is_aligned_for::<u16>(),
        4 => data.is_aligned_for::<u32>(),
        8 => data.is_aligned_for::<u64>(),
        _ => data.is_aligned_for::<u128>(),
    };
    if is_aligned {
        return Ok(Vector::flat(ty.clone(), count, data, None, Heap::default()));
    }
    let held = limits::hold(data.size())?;
    let data = Buffer::copy_of(data.bytes());
    Ok(Vector::flat(ty.clone(), count, data, None, Heap::default()).holding(held))
}

/// Numbers above a least one.
fn frame(body: &mut Body, ty: &LogicalType, header: &Header, count: usize) -> Result<Vector> {
    let base = body.take(Some(16), header.end)?;
    let base = Reader::new(base.bytes(), "a base").key().map(i128::from_le_bytes)?;
    if !(1..=64).contains(&header.bits) {
        return Err(body.wrong(format_args!("numbers of {} bits", header.bits)));
    }
    let packed = body.take(bits::size(count, header.bits), header.end)?;
    let packed = packed.bytes();
    let held = limits::hold(count.saturating_mul(ty.physical().size()))?;
    let data = match ty.physical() {
        PhysicalType::I8 => unpacked::<i8>(packed, base, header.bits, count),
        PhysicalType::I16 => unpacked::<i16>(packed, base, header.bits, count),
        PhysicalType::I32 => unpacked::<i32>(packed, base, header.bits, count),
        PhysicalType::I64 => unpacked::<i64>(packed, base, header.bits, count),
        PhysicalType::I128 => unpacked::<i128>(packed, base, header.bits, count),
        PhysicalType::U8 => unpacked::<u8>(packed, base, header.bits, count),
        PhysicalType::U16 => unpacked::<u16>(packed, base, header.bits, count),
        PhysicalType::U32 => unpacked::<u32>(packed, base, header.bits, count),
        PhysicalType::U64 => unpacked::<u64>(packed, base, header.bits, count),
        PhysicalType::U128 => unpacked::<u128>(packed, base, header.bits, count),
        PhysicalType::Bool
        | PhysicalType::F32
        | PhysicalType::F64
        | PhysicalType::Interval
        | PhysicalType::View => {
            return Err(body.wrong(format_args!("numbers above a least one of {ty}")));
        }
    };
    Ok(Vector::flat(ty.clone(), count, data, None, Heap::default()).holding(held))
}

fn unpacked<T: Integer>(packed: &[u8], base: i128, bits: u32, count: usize) -> Buffer {
    let base = T::cut(base);
    let mut values: Vec<T> = Vec::with_capacity(count);
    match bits {
        8 => values.extend(packed.iter().map(|byte| T::from_base(base, u64::from(*byte)))),
        16 => values.extend(
            packed.as_chunks().0.iter().map(|two| T::from_base(base, u64::from(u16::from_le_bytes(*two)))),
        ),
        32 => values.extend(
            packed.as_chunks().0.iter().map(|four| T::from_base(base, u64::from(u32::from_le_bytes(*four)))),
        ),
        _ => bits::unpack(packed, bits, count, |offset| values.push(T::from_base(base, offset))),
    }
    Buffer::from_vec(values)
}

/// Views of texts, whose bytes stay where they lie.
fn texts(body: &mut Body, ty: &LogicalType, header: &Header, count: usize) -> Result<Vector> {
    let is_offsets = header.encoding == Encoding::Offsets;
    let lengths = match (is_offsets, header.bits) {
        (true, 32) => body.take(count.checked_add(1).and_then(|ends| ends.checked_mul(4)), header.end)?,
        (false, 8 | 16 | 32) => body.take(count.checked_mul(header.bits as usize / 8), header.end)?,
        (_, other) => return Err(body.wrong(format_args!("lengths of {other} bits"))),
    };
    let heap = body.take(Some(header.extra), header.end)?;
    let held = limits::hold(count.saturating_mul(size_of::<View>()))?;
    let mut views = Views { bytes: heap.bytes(), views: Vec::with_capacity(count), at: 0 };
    let lengths = lengths.bytes();
    let is_right = match (is_offsets, header.bits) {
        (true, _) => {
            let ends = lengths.as_chunks().0;
            ends.first() == Some(&[0; 4])
                && ends.iter().skip(1).all(|end| views.to(u32::from_le_bytes(*end) as usize))
        }
        (false, 8) => lengths.iter().all(|len| views.push(usize::from(*len))),
        (false, 16) => {
            lengths.as_chunks().0.iter().all(|len| views.push(usize::from(u16::from_le_bytes(*len))))
        }
        (false, _) => lengths.as_chunks().0.iter().all(|len| views.push(u32::from_le_bytes(*len) as usize)),
    };
    if !is_right || views.at != heap.size() {
        return Err(body.wrong("lengths that are not those of the bytes"));
    }
    let views = views.views;
    if matches!(ty, LogicalType::Varchar | LogicalType::Json) && !are_texts(&views, heap.bytes()) {
        return Err(body.wrong("a text that is not UTF-8"));
    }
    let heap = if heap.size() > 0 { Heap::new(vec![heap]) } else { Heap::default() };
    let vector = Vector::flat(ty.clone(), count, Buffer::from_vec(views), None, heap);
    Ok(holding_data(vector, held))
}

/// The views of texts are counted; their bytes are the chunk's.
fn holding_data(vector: Vector, held: Option<Reservation>) -> Vector {
    let Some(held) = held else { return vector };
    let (ty, len, heap) = (vector.logical_type(), vector.len(), vector.heap().clone());
    Vector::flat(ty, len, vector.into_data().holding(held), None, heap)
}

struct Views<'a> {
    bytes: &'a [u8],
    views: Vec<View>,
    at: usize,
}

impl Views<'_> {
    /// The next text, of so many bytes, if these are there.
    #[inline(always)]
    fn push(&mut self, len: usize) -> bool {
        let Some(text) = self.bytes.get(self.at..self.at + len) else { return false };
        self.views.push(View::new(text, 0, self.at as u32));
        self.at += len;
        true
    }

    /// The next text, up to this byte.
    fn to(&mut self, end: usize) -> bool {
        end >= self.at && self.push(end - self.at)
    }
}

/// Whether all bytes are UTF-8, and each text begins with a character.
fn are_texts(views: &[View], bytes: &[u8]) -> bool {
    if bytes.is_ascii() {
        return true;
    }
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    let mut at = 0;
    views.iter().all(|view| {
        at += view.len();
        text.is_char_boundary(at)
    })
}

fn dictionary(body: &mut Body, ty: &LogicalType, header: &Header, count: usize) -> Result<Vector> {
    let distinct = decode_at(body, ty, header.extra, false)?;
    if distinct.is_empty() || distinct.null_count() > 0 || !(1..=32).contains(&header.bits) {
        return Err(body.wrong("codes without values"));
    }
    body.align()?;
    let packed = body.take(bits::size(count, header.bits), header.end)?;
    let held = limits::hold(count.saturating_mul(4))?;
    let mut codes: Vec<u32> = Vec::with_capacity(count);
    let mut greatest = 0;
    bits::unpack(packed.bytes(), header.bits, count, |code| {
        greatest = greatest.max(code);
        codes.push(code as u32);
    });
    if greatest >= distinct.len() as u64 {
        return Err(body.wrong(format_args!("code {greatest} of {} values", distinct.len())));
    }
    let codes = Buffer::from_vec(codes);
    let codes = match held {
        Some(held) => codes.holding(held),
        None => codes,
    };
    let mut distinct = distinct;
    distinct.set_validity(None);
    Ok(Vector::dictionary(Dictionary::new(distinct), codes, count, None))
}

/// Where the elements of each row end.
fn offsets(body: &mut Body, header: &Header, count: usize) -> Result<Vec<u32>> {
    // Each element takes a bit at least, as nothing folds in there.
    if header.extra / 8 > header.end.saturating_sub(body.at) {
        return Err(body.wrong(format_args!("{} elements", header.extra)));
    }
    let bytes = body.take(count.checked_add(1).and_then(|ends| ends.checked_mul(4)), header.end)?;
    let mut ends: Vec<u32> = Vec::new();
    limits::grow(&mut ends, count + 1)?;
    ends.extend(bytes.bytes().as_chunks().0.iter().map(|end| u32::from_le_bytes(*end)));
    if ends.first() != Some(&0) || ends.last() != Some(&(header.extra as u32)) || !ends.is_sorted() {
        return Err(body.wrong("ends of lists that are not in order"));
    }
    Ok(ends)
}

fn elements(body: &mut Body, ty: &LogicalType, header: &Header) -> Result<Vector> {
    decode_at(body, ty, header.extra, false)
}

fn list(
    body: &mut Body,
    ty: &LogicalType,
    header: &Header,
    count: usize,
    validity: Option<&Bitmap>,
) -> Result<Vector> {
    let offsets = offsets(body, header, count)?;
    let element = match ty {
        LogicalType::List(element) => element,
        LogicalType::Array(element, size) => {
            let is_valid = |row: usize| validity.is_none_or(|validity| validity.get(row));
            let wrong = offsets
                .windows(2)
                .enumerate()
                .find(|(row, ends)| is_valid(*row) && ends[1] - ends[0] != *size);
            if wrong.is_some() {
                return Err(body.wrong(format_args!("an array of another size than {ty}")));
            }
            element
        }
        other => return Err(body.wrong(format_args!("lists of {other}"))),
    };
    let elements = elements(body, element, header)?;
    Ok(pack_lists(ty, &elements, &offsets, validity)?)
}

/// Whether all values are of their type; what is wrong if not. NULL slots were made right before.
fn check(ty: &LogicalType, vector: &Vector) -> std::result::Result<(), String> {
    let is_valid = |row: usize| !vector.is_null(row);
    let rows = || {
        (0..if vector.is_constant() { vector.len().min(1) } else { vector.len() })
            .filter(|row| is_valid(*row))
    };
    let is_right = match ty {
        LogicalType::Boolean => {
            vector.as_dictionary().is_some() || vector.values::<u8>().iter().all(|value| *value <= 1)
        }
        LogicalType::Enum(words) => {
            let most = words.values().len() as i128 - 1;
            match vector.physical_type() {
                PhysicalType::U8 => within::<u8>(vector, 0, most),
                PhysicalType::U16 => within::<u16>(vector, 0, most),
                _ => within::<u32>(vector, 0, most),
            }
        }
        LogicalType::Decimal { precision, .. } => decimals(vector, *precision),
        LogicalType::Time => in_range(vector, 0, inlay_types::value::TIME_MAX),
        LogicalType::Bit => match vector.as_dictionary() {
            Some(_) => true,
            None => rows().all(|row| {
                let bytes =
                    vector.views()[if vector.is_constant() { 0 } else { row }].bytes(vector.heap().buffers());
                bit::from_bits(bit::len(bytes), |index| bit::get(bytes, index)) == bytes
            }),
        },
        LogicalType::Null
        | LogicalType::TinyInt
        | LogicalType::SmallInt
        | LogicalType::Integer
        | LogicalType::BigInt
        | LogicalType::HugeInt
        | LogicalType::UTinyInt
        | LogicalType::USmallInt
        | LogicalType::UInteger
        | LogicalType::UBigInt
        | LogicalType::UHugeInt
        | LogicalType::Real
        | LogicalType::Double
        | LogicalType::Varchar
        | LogicalType::Blob
        | LogicalType::Date
        | LogicalType::Timestamp
        | LogicalType::Interval
        | LogicalType::TimestampS
        | LogicalType::TimestampMs
        | LogicalType::TimestampNs
        | LogicalType::TimestampTz
        | LogicalType::TimeTz
        | LogicalType::Uuid
        | LogicalType::Json
        | LogicalType::List(_)
        | LogicalType::Array(..)
        | LogicalType::Struct(_)
        | LogicalType::Map(_)
        | LogicalType::Union(_) => true,
    };
    if is_right { Ok(()) } else { Err(format!("a value that {ty} does not have")) }
}

/// Whether no decimal has more digits than its type.
fn decimals(vector: &Vector, precision: u8) -> bool {
    let most = 10i128.pow(u32::from(precision)) - 1;
    match vector.physical_type() {
        PhysicalType::I16 => within::<i16>(vector, -most, most),
        PhysicalType::I32 => within::<i32>(vector, -most, most),
        PhysicalType::I64 => in_range(vector, -most as i64, most as i64),
        PhysicalType::I128 => within::<i128>(vector, -most, most),
        other => {
            debug_assert!(false, "decimals carried as {other:?}");
            false
        }
    }
}

fn in_range(vector: &Vector, least: i64, most: i64) -> bool {
    within::<i64>(vector, i128::from(least), i128::from(most))
}

fn within<T: Integer>(vector: &Vector, least: i128, most: i128) -> bool {
    let range = integers::range(vector.values::<T>(), vector.validity());
    range.is_none_or(|(low, high)| low.widest() >= least && high.widest() <= most)
}
