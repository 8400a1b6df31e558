//! Columns into bytes: looks at what the vectors are, and takes the smallest form that costs little to make.

use super::integers::{self, Integer};
use super::{DENSE, Effort, Encoding, HAS_MASK, HEADER, texts};
use crate::wire::pad;
use crate::{Result, WireError, bits};
use inlay_types::bitmap::append_words;
use inlay_types::nested::{unpack_lists, unpack_maps, unpack_struct, unpack_unions};
use inlay_types::{Bitmap, LogicalType, PhysicalType, Vector, VectorBuilder, VectorKind, limits};

/// A column being written: where its body begins, and its header.
pub(super) struct Column<'a> {
    pub(super) out: &'a mut Vec<u8>,
    /// The first byte of the body in `out`.
    pub(super) start: usize,
    header: usize,
}

impl<'a> Column<'a> {
    fn begin(out: &'a mut Vec<u8>, start: usize) -> Self {
        pad(out, start, HEADER);
        let header = out.len();
        out.resize(header + HEADER, 0);
        Self { out, start, header }
    }

    /// Writes the header; `bits`, `count` and `extra` are what the encoding says.
    pub(super) fn end(
        self,
        encoding: Encoding,
        flags: u8,
        bits: u32,
        count: usize,
        extra: usize,
    ) -> Result<()> {
        pad(self.out, self.start, HEADER);
        let size = self.out.len() - self.header - HEADER;
        let number = |number: usize| {
            u32::try_from(number)
                .map_err(|_| WireError::TooLarge { size: number as u64, limit: u64::from(u32::MAX) })
        };
        let header = &mut self.out[self.header..self.header + HEADER];
        header[0..4].copy_from_slice(&number(size)?.to_le_bytes());
        header[4..8].copy_from_slice(&[encoding as u8, flags, bits as u8, 0]);
        header[8..12].copy_from_slice(&number(count)?.to_le_bytes());
        header[12..16].copy_from_slice(&number(extra)?.to_le_bytes());
        Ok(())
    }
}

/// Appends the rows of `parts`, which are vectors of one type, as a column of the body that begins at `start`.
pub fn encode(
    ty: &LogicalType,
    parts: &[Vector],
    effort: Effort,
    out: &mut Vec<u8>,
    start: usize,
) -> Result<()> {
    encode_at(ty, parts, effort, true, out, start)
}

/// The same; `folds` says whether the column may stand for more rows than it has bytes.
pub(super) fn encode_at(
    ty: &LogicalType,
    parts: &[Vector],
    effort: Effort,
    folds: bool,
    out: &mut Vec<u8>,
    start: usize,
) -> Result<()> {
    debug_assert!(parts.iter().all(|part| part.physical_type() == ty.physical()));
    let rows: usize = parts.iter().map(Vector::len).sum();
    let nulls: usize = parts.iter().map(Vector::null_count).sum();
    let column = Column::begin(out, start);
    if folds && rows > 0 && nulls == rows {
        return column.end(Encoding::Nulls, 0, 0, 0, 0);
    }
    if folds && nulls == 0 && is_constant(parts) {
        encode_at(ty, &[parts[0].slice(0, 1)], effort, false, column.out, start)?;
        return column.end(Encoding::Constant, 0, 0, 1, 0);
    }
    if nulls == 0 {
        return values(ty, parts, 0, effort, folds, column);
    }
    column.out.extend(mask(parts, rows).iter().flat_map(|word| word.to_le_bytes()));
    pad(column.out, start, HEADER);
    let is_dense = !ty.is_nested() && (effort == Effort::Small || nulls > rows / 2);
    if !is_dense {
        return values(ty, parts, HAS_MASK, effort, folds, column);
    }
    let dense: Vec<Vector> = parts.iter().map(without_nulls).collect();
    values(ty, &dense, HAS_MASK | DENSE, effort, folds, column)
}

/// Whether all rows are known to be one value without looking at them.
fn is_constant(parts: &[Vector]) -> bool {
    let Some(first) = parts.first().filter(|first| first.is_constant() && !first.is_empty()) else {
        return false;
    };
    parts.iter().all(|part| part.is_constant() && !part.is_empty() && same_bytes(first, part))
}

/// Whether the values of two constants have the same bytes.
fn same_bytes(left: &Vector, right: &Vector) -> bool {
    match left.physical_type() {
        PhysicalType::View => {
            let (left_heap, right_heap) = (left.heap().buffers(), right.heap().buffers());
            left.views()[0].equals(left_heap, &right.views()[0], right_heap)
        }
        fixed => left.data().bytes()[..fixed.size()] == right.data().bytes()[..fixed.size()],
    }
}

/// Which rows are not NULL.
fn mask(parts: &[Vector], rows: usize) -> Vec<u64> {
    let mut words = vec![0; rows.div_ceil(64)];
    let mut at = 0;
    for part in parts {
        let is_null = part.is_constant_null();
        let validity = part.validity().filter(|_| !part.is_constant());
        append_words(&mut words, at, part.len(), |index| match validity {
            _ if is_null => 0,
            Some(validity) => validity.words()[index],
            None => u64::MAX,
        });
        at += part.len();
    }
    words
}

fn without_nulls(part: &Vector) -> Vector {
    if part.null_count() == 0 {
        return part.clone();
    }
    if part.is_constant_null() {
        return part.slice(0, 0).flatten();
    }
    let Some(validity) = part.validity() else { return part.clone() };
    let rows: Vec<u32> = (0..part.len() as u32).filter(|row| validity.get(*row as usize)).collect();
    let mut dense = part.take(&rows);
    dense.set_validity(None);
    dense
}

/// Writes what is behind the mask.
fn values(
    ty: &LogicalType,
    parts: &[Vector],
    flags: u8,
    effort: Effort,
    folds: bool,
    column: Column<'_>,
) -> Result<()> {
    let physical = ty.physical();
    if ty.is_nested() {
        return nested(ty, &joined(ty, parts)?, flags, effort, column);
    }
    if physical == PhysicalType::View {
        return texts::encode(ty, parts, flags, effort, folds, column);
    }
    let flat: Vec<Vector> = parts.iter().map(Vector::flatten).collect();
    match physical {
        PhysicalType::I8 => integers_of::<i8>(&flat, flags, effort, column),
        PhysicalType::I16 => integers_of::<i16>(&flat, flags, effort, column),
        PhysicalType::I32 => integers_of::<i32>(&flat, flags, effort, column),
        PhysicalType::I64 => integers_of::<i64>(&flat, flags, effort, column),
        PhysicalType::I128 => integers_of::<i128>(&flat, flags, effort, column),
        PhysicalType::U8 => integers_of::<u8>(&flat, flags, effort, column),
        PhysicalType::U16 => integers_of::<u16>(&flat, flags, effort, column),
        PhysicalType::U32 => integers_of::<u32>(&flat, flags, effort, column),
        PhysicalType::U64 => integers_of::<u64>(&flat, flags, effort, column),
        PhysicalType::U128 => integers_of::<u128>(&flat, flags, effort, column),
        PhysicalType::Bool
        | PhysicalType::F32
        | PhysicalType::F64
        | PhysicalType::Interval
        | PhysicalType::View => plain(&flat, flags, column),
    }
}

/// Values as they lie.
fn plain(flat: &[Vector], flags: u8, column: Column<'_>) -> Result<()> {
    let mut count = 0;
    for part in flat {
        column.out.extend_from_slice(&part.data().bytes()[..part.len() * part.physical_type().size()]);
        count += part.len();
    }
    column.end(Encoding::Plain, flags, 0, count, 0)
}

/// Integers in as few bits as the effort allows, or as they lie.
fn integers_of<T: Integer>(flat: &[Vector], flags: u8, effort: Effort, column: Column<'_>) -> Result<()> {
    let ranges = flat.iter().filter_map(|part| integers::range(part.values::<T>(), part.validity()));
    let range = ranges.reduce(|(a, b), (c, d)| (a.min(c), b.max(d)));
    let count: usize = flat.iter().map(Vector::len).sum();
    let Some((least, greatest)) = range else { return plain(flat, flags, column) };
    let width = size_of::<T>();
    let Some(span) = greatest.widest().checked_sub(least.widest()).and_then(|span| u64::try_from(span).ok())
    else {
        return plain(flat, flags, column);
    };
    // The largest of 128 bits without a sign do not fit into the widest carrier that has one.
    if least.widest() > greatest.widest() || T::cut(least.widest()) != least {
        return plain(flat, flags, column);
    }
    let bits = match effort {
        Effort::Fast => bits::rounded(bits::needed(span)),
        Effort::Small => bits::needed(span),
    };
    if bits::size(count, bits).is_none_or(|size| size + HEADER >= count * width) {
        return plain(flat, flags, column);
    }
    column.out.extend_from_slice(&least.widest().to_le_bytes());
    match flat {
        [one] => bits::pack(one.values::<T>().iter().map(|value| value.above(least)), bits, column.out),
        // What has whole bytes goes on where the part before ended; other values lie across.
        parts if matches!(bits, 8 | 16 | 32 | 64) => {
            for part in parts {
                bits::pack(part.values::<T>().iter().map(|value| value.above(least)), bits, column.out);
            }
        }
        parts => {
            let mut all = Vec::new();
            limits::grow(&mut all, count)?;
            parts
                .iter()
                .for_each(|part| all.extend(part.values::<T>().iter().map(|value| value.above(least))));
            bits::pack(all.into_iter(), bits, column.out);
        }
    }
    column.end(Encoding::Frame, flags, bits, count, 0)
}

/// All rows as one flat vector.
pub(super) fn joined(ty: &LogicalType, parts: &[Vector]) -> Result<Vector> {
    if let [one] = parts {
        return Ok(one.flatten());
    }
    limits::need(parts.iter().map(Vector::memory_size).sum())?;
    let mut builder = VectorBuilder::new(ty.clone(), parts.iter().map(Vector::len).sum());
    parts.iter().for_each(|part| builder.append(part));
    Ok(builder.finish())
}

/// Ends of lists, and what they are of.
fn ends(offsets: &[u32], column: &mut Column<'_>) {
    column.out.extend(offsets.iter().flat_map(|end| end.to_le_bytes()));
}

/// Lists, maps, structs and unions, as columns of their parts.
fn nested(ty: &LogicalType, all: &Vector, flags: u8, effort: Effort, mut column: Column<'_>) -> Result<()> {
    let (count, start) = (all.len(), column.start);
    let child = |column: &mut Column<'_>, ty: &LogicalType, part: Vector| {
        encode_at(ty, &[part], effort, false, column.out, start)
    };
    match ty {
        LogicalType::List(element) | LogicalType::Array(element, _) => {
            let (elements, offsets) = unpack_lists(all)?;
            ends(&offsets, &mut column);
            let extra = elements.len();
            child(&mut column, element, elements)?;
            column.end(Encoding::List, flags, 0, count, extra)
        }
        LogicalType::Map(types) => {
            let (keys, values, offsets) = unpack_maps(all)?;
            ends(&offsets, &mut column);
            let extra = keys.len();
            child(&mut column, &types.0, keys)?;
            child(&mut column, &types.1, values)?;
            column.end(Encoding::Map, flags, 0, count, extra)
        }
        LogicalType::Struct(fields) => {
            for (field, part) in fields.iter().zip(unpack_struct(all)?) {
                child(&mut column, &field.ty, part)?;
            }
            column.end(Encoding::Struct, flags, 0, count, 0)
        }
        LogicalType::Union(members) => {
            let (tags, parts) = unpack_unions(all)?;
            column.out.extend_from_slice(&tags);
            for (member, part) in members.iter().zip(parts) {
                child(&mut column, &member.ty, part)?;
            }
            column.end(Encoding::Union, flags, 0, count, 0)
        }
        other => Err(inlay_types::Error::internal(format!("{other} sent as nested values")).into()),
    }
}

/// Bytes that a row of a type takes at most beside its texts, its place in the mask among them.
pub(crate) fn row_width(ty: &LogicalType) -> usize {
    match ty.physical() {
        PhysicalType::View => 5,
        fixed => fixed.size() + 1,
    }
}

/// A validity of one bit for each row of a vector that is no constant.
pub(super) fn validity_of(part: &Vector) -> Option<&Bitmap> {
    match part.kind() {
        VectorKind::Flat | VectorKind::Dictionary(_) => part.validity(),
        VectorKind::Constant => None,
    }
}
