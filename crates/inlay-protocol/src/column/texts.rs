//! Texts and other bytes: lengths and bytes, or distinct texts and codes.

use super::encode::{Column, encode_at, joined, validity_of};
use super::{Effort, Encoding, HAS_MASK, HEADER};
use crate::wire::pad;
use crate::{Result, WireError, bits};
use inlay_types::view::INLINE_LIMIT;
use inlay_types::{Buffer, LogicalType, Vector, VectorBuilder, VectorKind, View, limits};
use std::collections::HashMap;

/// Writes the texts of all parts.
pub(super) fn encode(
    ty: &LogicalType,
    parts: &[Vector],
    flags: u8,
    effort: Effort,
    folds: bool,
    column: Column<'_>,
) -> Result<()> {
    if folds && let Some((distinct, codes)) = folded(ty, parts, effort)? {
        return dictionary(ty, distinct, &codes, flags, effort, column);
    }
    let flat: Vec<Vector> = parts.iter().map(Vector::flatten).collect();
    plain(&flat, flags, column)
}

/// Lengths in as many bytes as the longest needs, then the bytes.
fn plain(flat: &[Vector], flags: u8, column: Column<'_>) -> Result<()> {
    let count: usize = flat.iter().map(Vector::len).sum();
    let (mut total, mut longest) = (0, 0);
    for part in flat {
        each_view(part, flags, |len, _| {
            total += len;
            longest = longest.max(len);
        });
    }
    if u32::try_from(total).is_err() {
        return Err(WireError::TooLarge { size: total as u64, limit: u64::from(u32::MAX) });
    }
    let out = &mut *column.out;
    let bits = bits::rounded(bits::needed(longest as u64));
    let start = out.len();
    if bits == 32 {
        // Ends take no more than lengths would.
        out.extend_from_slice(&[0; 4]);
        let mut end = 0;
        for part in flat {
            each_view(part, flags, |len, _| {
                end += len;
                out.extend_from_slice(&(end as u32).to_le_bytes());
            });
        }
    } else {
        out.resize(start + count * bits as usize / 8, 0);
        let mut row = 0;
        for part in flat {
            let lengths = &mut out[start..];
            each_view(part, flags, |len, _| {
                match bits {
                    8 => lengths[row] = len as u8,
                    _ => lengths[2 * row..2 * row + 2].copy_from_slice(&(len as u16).to_le_bytes()),
                }
                row += 1;
            });
        }
    }
    copy_texts(flat, flags, total, out)?;
    let encoding = if bits == 32 { Encoding::Offsets } else { Encoding::Lengths };
    column.end(encoding, flags, bits, count, total)
}

/// Appends the bytes of all texts, which are `total`. Those that lie one behind the other are copied at once; those that lie in their
/// views are written with all bytes that a view has, of which the next text covers what is too much.
fn copy_texts(flat: &[Vector], flags: u8, total: usize, out: &mut Vec<u8>) -> Result<()> {
    let start = out.len();
    limits::grow_at_once(out, total + INLINE_LIMIT)?;
    out.resize(start + total + INLINE_LIMIT, 0);
    let bytes = &mut out[start..];
    let mut at = 0;
    for part in flat {
        let heap = part.heap().buffers();
        let mut run = Run::default();
        each_view(part, flags, |len, view| {
            if len == 0 {
                return;
            }
            if let Some(word) = view.short_word() {
                bytes[at..at + INLINE_LIMIT].copy_from_slice(&word.to_le_bytes()[..INLINE_LIMIT]);
            } else if !run.takes(view, at) {
                run.copy(heap, bytes);
                run = Run { buffer: view.buffer(), from: view.offset() as usize, len, target: at };
            }
            at += len;
        });
        run.copy(heap, bytes);
    }
    out.truncate(start + total);
    Ok(())
}

/// Texts that lie one behind the other, and go to one place.
#[derive(Default)]
struct Run {
    buffer: u32,
    from: usize,
    len: usize,
    target: usize,
}

impl Run {
    /// Takes a text that goes to `at`, if it lies behind those that were taken.
    #[inline(always)]
    fn takes(&mut self, view: &View, at: usize) -> bool {
        let is_next = self.buffer == view.buffer()
            && self.from + self.len == view.offset() as usize
            && self.target + self.len == at;
        if is_next {
            self.len += view.len();
        }
        is_next
    }

    fn copy(&self, heap: &[Buffer], bytes: &mut [u8]) {
        if self.len > 0 {
            let texts = &heap[self.buffer as usize].bytes()[self.from..self.from + self.len];
            bytes[self.target..self.target + self.len].copy_from_slice(texts);
        }
    }
}

/// Calls `each` with the length and the view of each row; NULL has no bytes.
#[inline(always)]
fn each_view(part: &Vector, flags: u8, mut each: impl FnMut(usize, &View)) {
    match part.validity().filter(|_| flags & HAS_MASK != 0) {
        None => part.views().iter().for_each(|view| each(view.len(), view)),
        Some(validity) => {
            for (row, view) in part.views().iter().enumerate() {
                each(if validity.get(row) { view.len() } else { 0 }, view);
            }
        }
    }
}

/// Distinct texts, then a code for each row.
fn dictionary(
    ty: &LogicalType,
    distinct: Vector,
    codes: &[u32],
    flags: u8,
    effort: Effort,
    column: Column<'_>,
) -> Result<()> {
    let (start, values) = (column.start, distinct.len());
    encode_at(ty, &[distinct], effort, false, column.out, start)?;
    pad(column.out, start, HEADER);
    let bits = bits::needed(values.saturating_sub(1) as u64);
    let bits = if effort == Effort::Fast { bits::rounded(bits) } else { bits };
    bits::pack(codes.iter().map(|code| u64::from(*code)), bits, column.out);
    column.end(Encoding::Dictionary, flags, bits, codes.len(), values)
}

/// The distinct texts of all rows and the code of each row, if that is fewer bytes: of dictionaries and constants always looked
/// for, of other texts if the effort is for fewer bytes.
fn folded(ty: &LogicalType, parts: &[Vector], effort: Effort) -> Result<Option<(Vector, Vec<u32>)>> {
    let rows: usize = parts.iter().map(Vector::len).sum();
    let is_folded = |part: &Vector| match part.kind() {
        VectorKind::Dictionary(_) | VectorKind::Constant => true,
        VectorKind::Flat => effort == Effort::Small,
    };
    if rows == 0 || !parts.iter().all(is_folded) {
        return Ok(None);
    }
    // As many texts as they repeat at least; a few of long ones are always worth it.
    let mut folding =
        Folding { codes: Vec::new(), seen: HashMap::new(), texts: Vec::new(), most: rows / 3 + 1 };
    limits::grow(&mut folding.codes, rows)?;
    for part in parts {
        if !folding.add(part) {
            return Ok(None);
        }
    }
    let Folding { codes, texts, .. } = folding;
    let mut builder = VectorBuilder::new(ty.clone(), texts.len());
    texts.iter().for_each(|text| builder.push_bytes(text));
    let mut distinct = builder.finish();
    if distinct.is_empty() {
        // Every row is NULL, and codes need a text to be of.
        distinct = joined(ty, &[Vector::nulls(ty.clone(), 1)])?;
        distinct.normalize_nulls();
        distinct.set_validity(None);
    }
    Ok(Some((distinct, codes)))
}

/// Texts that were seen, and the codes of rows.
struct Folding<'a> {
    codes: Vec<u32>,
    seen: HashMap<&'a [u8], u32>,
    texts: Vec<&'a [u8]>,
    most: usize,
}

impl<'a> Folding<'a> {
    fn code(&mut self, text: &'a [u8]) -> u32 {
        let next = self.texts.len() as u32;
        let code = *self.seen.entry(text).or_insert(next);
        if code == next {
            self.texts.push(text);
        }
        code
    }

    /// The rows of a part; whether the texts are few so far.
    fn add(&mut self, part: &'a Vector) -> bool {
        match part.kind() {
            VectorKind::Constant if part.is_constant_null() => {
                self.codes.resize(self.codes.len() + part.len(), 0)
            }
            VectorKind::Constant => {
                let code = self.code(part.views()[0].bytes(part.heap().buffers()));
                self.codes.resize(self.codes.len() + part.len(), code);
            }
            VectorKind::Dictionary(dictionary) => {
                let texts = dictionary.values();
                let (views, heap) = (texts.views(), texts.heap().buffers());
                let mut known = vec![u32::MAX; views.len()];
                let validity = validity_of(part);
                for (row, &code) in part.codes().iter().enumerate() {
                    if validity.is_some_and(|validity| !validity.get(row)) {
                        self.codes.push(0);
                        continue;
                    }
                    let known = &mut known[code as usize];
                    if *known == u32::MAX {
                        *known = self.code(views[code as usize].bytes(heap));
                    }
                    self.codes.push(*known);
                }
            }
            VectorKind::Flat => {
                let (validity, heap) = (validity_of(part), part.heap().buffers());
                for (row, view) in part.views().iter().enumerate() {
                    if validity.is_some_and(|validity| !validity.get(row)) {
                        self.codes.push(0);
                        continue;
                    }
                    let code = self.code(view.bytes(heap));
                    self.codes.push(code);
                    if self.texts.len() > self.most {
                        return false;
                    }
                }
            }
        }
        self.texts.len() <= self.most
    }
}
