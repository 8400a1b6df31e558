//! Structs, and lists of as many elements in each row, made column by column.
//!
//! What all rows have in common (where parts lie, how large those of fixed width are) is worked out once; then sizes are added up,
//! so that all rows lie in one piece of memory, and each column is copied into its places by a loop that knows its width.
//! [`super::pack`] and the functions that make structs and lists call it; rows that it leaves out (lists with NULL
//! elements, more than [`TOTAL_MAX`] bytes) are packed one by one.

use super::pack::Parts;
use super::{fixed_width, write};
use crate::limits;
use crate::{Bitmap, Buffer, Error, Heap, LogicalType, Result, Vector, View};

/// Bytes of all rows at most: offsets of views have 32 bits, and more is better asked for piece by piece.
const TOTAL_MAX: usize = 1 << 28;

/// Where one part lies in each row.
#[derive(Clone, Copy)]
enum Place {
    /// A part of fixed width: its offset and width.
    Fixed(usize, usize),
    /// Any other: the offset of its end.
    Other(usize),
}

/// What all rows have in common.
struct Frame {
    /// The first bytes of each row.
    first: Vec<u8>,
    /// How many bytes are in front of those of parts without fixed width.
    size: usize,
    places: Vec<Place>,
    /// Whether a bit says of each part that it is not NULL.
    has_validity: bool,
}

impl Frame {
    /// Of structs with fields of these widths.
    fn of_struct(widths: &[Option<usize>], parts: &[Parts]) -> Self {
        let validity_size = widths.len().div_ceil(8);
        let mut frame = Self::new(validity_size, widths);
        for (index, _) in parts.iter().enumerate().filter(|(_, part)| !part.has_nulls()) {
            frame.first[index / 8] |= 1 << (index % 8);
        }
        frame.has_validity = true;
        frame
    }

    /// Of lists of so many elements, none of which is NULL.
    fn of_list(element: &LogicalType, count: usize) -> Result<Self> {
        let mut frame = Self::new(4, &vec![fixed_width(element); count]);
        frame.first.copy_from_slice(&write::size(count)?.to_le_bytes());
        Ok(frame)
    }

    /// Parts of fixed width lie in front of the ends of the others.
    fn new(start: usize, widths: &[Option<usize>]) -> Self {
        let (mut fixed, mut end) = (start, start + widths.iter().flatten().sum::<usize>());
        let place = |width: &Option<usize>| match width {
            Some(width) => {
                fixed += width;
                Place::Fixed(fixed - width, *width)
            }
            None => {
                end += 4;
                Place::Other(end - 4)
            }
        };
        let places = widths.iter().map(place).collect();
        Self { first: vec![0; start], size: end, places, has_validity: false }
    }

    /// Where each row begins, and where the last one ends; `None` if that is too far.
    fn starts(&self, parts: &[Parts], len: usize) -> Option<Vec<u32>> {
        let size = self.size;
        let mut starts = vec![size as u32; len + 1];
        let mut total = size.checked_mul(len)?;
        for part in parts.iter().filter_map(Parts::texts) {
            total = total.checked_add(part.size(len))?;
            if total > TOTAL_MAX {
                return None;
            }
            part.each(len, |row, bytes| starts[row] += bytes.len() as u32);
        }
        if total > TOTAL_MAX {
            return None;
        }
        let mut at = 0;
        for start in &mut starts {
            let size = *start;
            *start = at;
            at += size;
        }
        Some(starts)
    }

    fn pack(
        &self,
        ty: &LogicalType,
        parts: &[Parts],
        len: usize,
        validity: Option<&Bitmap>,
    ) -> Result<Option<Vector>> {
        let Some(starts) = self.starts(parts, len) else { return Ok(None) };
        let total = starts[len] as usize;
        let held = limits::hold(total)?;
        let mut bytes = Vec::new();
        limits::grow_counted(&mut bytes, total)?;
        bytes.resize(total, 0);
        self.write_first(&starts[..len], &mut bytes);
        // How much of the parts without fixed width is there in each row.
        let mut written =
            if parts.iter().any(|part| part.texts().is_some()) { vec![0; len] } else { Vec::new() };
        for (index, (part, place)) in parts.iter().zip(&self.places).enumerate() {
            match *place {
                Place::Fixed(offset, width) => part.scatter(offset, width, &starts[..len], &mut bytes),
                Place::Other(end) => self.scatter_texts(part, end, &starts[..len], &mut written, &mut bytes),
            }
            if self.has_validity && part.has_nulls() {
                for (row, &start) in starts[..len].iter().enumerate() {
                    bytes[start as usize + index / 8] |= u8::from(part.is_valid(row)) << (index % 8);
                }
            }
        }
        Ok(Some(vector(ty, bytes, &starts, validity).holding(held)))
    }

    /// Writes the first bytes of each row.
    fn write_first(&self, starts: &[u32], bytes: &mut [u8]) {
        match self.first[..] {
            [only] => starts.iter().for_each(|&start| bytes[start as usize] = only),
            [a, b, c, d] => {
                starts.iter().for_each(|&start| bytes[start as usize..][..4].copy_from_slice(&[a, b, c, d]));
            }
            ref first => {
                starts
                    .iter()
                    .for_each(|&start| bytes[start as usize..][..first.len()].copy_from_slice(first));
            }
        }
    }

    fn scatter_texts(&self, part: &Parts, end: usize, starts: &[u32], written: &mut [u32], bytes: &mut [u8]) {
        let Some(texts) = part.texts() else { return };
        let size = self.size;
        texts.each(starts.len(), |row, text| {
            let start = starts[row] as usize;
            let at = start + size + written[row] as usize;
            copy_text(text, &mut bytes[at..at + text.len()]);
            written[row] += text.len() as u32;
        });
        for (&start, written) in starts.iter().zip(written) {
            let at = start as usize + end;
            bytes[at..at + 4].copy_from_slice(&written.to_le_bytes());
        }
    }
}

/// Copies a text into as many bytes; short ones without a call.
#[inline(always)]
fn copy_text(from: &[u8], to: &mut [u8]) {
    /// Up to twice `N` bytes as their first and last `N`.
    #[inline(always)]
    fn by_ends<const N: usize>(from: &[u8], to: &mut [u8]) {
        if let (Some(first), Some(place)) = (from.first_chunk::<N>(), to.first_chunk_mut::<N>()) {
            *place = *first;
        }
        if let (Some(last), Some(place)) = (from.last_chunk::<N>(), to.last_chunk_mut::<N>()) {
            *place = *last;
        }
    }
    match from.len() {
        0..4 => to.iter_mut().zip(from).for_each(|(place, byte)| *place = *byte),
        4..9 => by_ends::<4>(from, to),
        9..17 => by_ends::<8>(from, to),
        17..33 => by_ends::<16>(from, to),
        33.. => to.copy_from_slice(from),
    }
}

/// The rows that lie back to back in `bytes`.
pub(super) fn vector(ty: &LogicalType, bytes: Vec<u8>, starts: &[u32], validity: Option<&Bitmap>) -> Vector {
    let len = starts.len().saturating_sub(1);
    let mut has_long = false;
    let view = |row: usize| {
        let (from, to) = (starts[row], starts[row + 1]);
        if validity.is_some_and(|validity| !validity.get(row)) {
            return View::EMPTY;
        }
        let view = View::new(&bytes[from as usize..to as usize], 0, from);
        has_long |= !view.is_inline();
        view
    };
    let views: Vec<View> = (0..len).map(view).collect();
    let heap = if has_long { Heap::new(vec![Buffer::from_vec(bytes)]) } else { Heap::default() };
    Vector::flat(ty.clone(), len, Buffer::from_vec(views), validity.cloned(), heap)
}

/// Structs of type `ty` from their fields; `None` if they are too many bytes for one piece of memory.
pub(super) fn structs(
    ty: &LogicalType,
    parts: &[Parts],
    len: usize,
    validity: Option<&Bitmap>,
) -> Result<Option<Vector>> {
    let LogicalType::Struct(fields) = ty else {
        return Err(Error::internal(format!("structs packed as {ty}")));
    };
    let widths: Vec<Option<usize>> = fields.iter().map(|field| fixed_width(&field.ty)).collect();
    Frame::of_struct(&widths, parts).pack(ty, parts, len, validity)
}

/// Lists or arrays of type `ty` that have one element of each part; `None` where an element is NULL, or they are too many bytes.
pub(super) fn lists(ty: &LogicalType, parts: &[Parts], len: usize) -> Result<Option<Vector>> {
    let (LogicalType::List(element) | LogicalType::Array(element, _)) = ty else {
        return Err(Error::internal(format!("lists packed as {ty}")));
    };
    if parts.iter().any(Parts::has_nulls) {
        return Ok(None);
    }
    Frame::of_list(element, parts.len())?.pack(ty, parts, len, None)
}
