//! Parts of fixed width, read straight from the packed bytes of many rows: what `unpack` does part by part.
//!
//! Values are read as unsigned integers of their width, whatever their type, so that one loop serves all types.

use super::read::Sequence;
use super::{HAS_NULLS, fixed_width};
use crate::{Bitmap, Buffer, Heap, LogicalType, Native, Result, Vector, limits};

/// An unsigned integer that has the width of a value.
trait Word: Native + PartialEq {
    /// The value that begins at `at`; `None` behind the end.
    fn at(bytes: &[u8], at: usize) -> Option<Self>;

    /// Appends the values that lie back to back.
    fn extend(values: &mut Vec<Self>, bytes: &[u8]);
}

macro_rules! word {
    ($($t:ty),*) => { $(
        impl Word for $t {
            #[inline(always)]
            fn at(bytes: &[u8], at: usize) -> Option<Self> {
                bytes.get(at..)?.first_chunk().map(|raw| Self::from_le_bytes(*raw))
            }

            #[inline]
            fn extend(values: &mut Vec<Self>, bytes: &[u8]) {
                let read = |raw: &[u8; size_of::<Self>()]| Self::from_le_bytes(*raw);
                // Copies of known sizes need no loop.
                match bytes.as_chunks().0 {
                    [a] => values.push(read(a)),
                    [a, b] => values.extend_from_slice(&[read(a), read(b)]),
                    [a, b, c] => values.extend_from_slice(&[read(a), read(b), read(c)]),
                    [a, b, c, d] => values.extend_from_slice(&[read(a), read(b), read(c), read(d)]),
                    many => values.extend(many.iter().map(read)),
                }
            }
        }
    )* };
}
word!(u8, u16, u32, u64, u128);

/// Calls `$f::<T>(..)` with the word of `$width` bytes.
macro_rules! by_width {
    ($width:expr, $f:ident($($arg:expr),*)) => {
        match $width {
            1 => $f::<u8>($($arg),*),
            2 => $f::<u16>($($arg),*),
            4 => $f::<u32>($($arg),*),
            8 => $f::<u64>($($arg),*),
            _ => $f::<u128>($($arg),*),
        }
    };
}

fn vector<T: Word>(ty: &LogicalType, values: Vec<T>, nulls: &[u32]) -> Vector {
    let len = values.len();
    let validity = (!nulls.is_empty()).then(|| {
        let mut validity = Bitmap::filled(len, true);
        nulls.iter().for_each(|&row| validity.set(row as usize, false));
        validity
    });
    Vector::flat(ty.clone(), len, Buffer::from_vec(values), validity, Heap::default())
}

/// One value per row of `flat`; `one` reads it from the row's bytes.
fn per_row<T: Word>(
    flat: &Vector,
    ty: &LogicalType,
    mut one: impl FnMut(usize, &[u8]) -> Option<T>,
) -> Vector {
    let heap = flat.heap().buffers();
    let has_nulls = flat.validity().is_some();
    let mut nulls = Vec::new();
    let mut read = |(row, view): (usize, &crate::View)| {
        let value = if has_nulls && flat.is_null(row) { None } else { one(row, view.bytes(heap)) };
        value.unwrap_or_else(|| {
            nulls.push(row as u32);
            T::default()
        })
    };
    let values = flat.views()[..flat.len()].iter().enumerate().map(&mut read).collect();
    vector(ty, values, &nulls)
}

/// The field at position `index` of each struct of a flat vector, which lies at byte `offset` and has `width` bytes.
pub(super) fn field(flat: &Vector, ty: &LogicalType, index: usize, offset: usize, width: usize) -> Vector {
    fn run<T: Word>(flat: &Vector, ty: &LogicalType, index: usize, offset: usize) -> Vector {
        per_row::<T>(flat, ty, |_, bytes| {
            let is_valid = bytes.get(index / 8).is_some_and(|byte| byte >> (index % 8) & 1 == 1);
            if is_valid { T::at(bytes, offset) } else { None }
        })
    }
    by_width!(width, run(flat, ty, index, offset))
}

/// Number of elements in the packed bytes of a list of elements of `width` bytes, if none of them is NULL.
#[inline(always)]
fn count_without_nulls(bytes: &[u8], width: usize) -> Option<usize> {
    let header = u32::at(bytes, 0).unwrap_or(0);
    (header & HAS_NULLS == 0).then(|| (header as usize).min(bytes.len().saturating_sub(4) / width))
}

/// The elements of a packed list, of `width` bytes each, if none of them is NULL.
#[inline]
pub fn plain_run(bytes: &[u8], width: usize) -> Option<&[u8]> {
    let count = count_without_nulls(bytes, width)?;
    bytes.get(4..4 + count * width).or(Some(&[]))
}

/// One element of each list of a flat vector, which `choose` picks from the row and the number of elements.
pub(super) fn element(
    flat: &Vector,
    ty: &LogicalType,
    width: usize,
    choose: &mut dyn FnMut(usize, usize) -> Option<usize>,
) -> Vector {
    fn run<T: Word>(
        flat: &Vector,
        ty: &LogicalType,
        choose: &mut dyn FnMut(usize, usize) -> Option<usize>,
    ) -> Vector {
        per_row::<T>(flat, ty, |row, bytes| match count_without_nulls(bytes, size_of::<T>()) {
            Some(count) => {
                let index = choose(row, count).filter(|&index| index < count)?;
                T::at(bytes, 4 + index * size_of::<T>())
            }
            None => {
                let list = Sequence::new(ty, bytes);
                let index = choose(row, list.len()).filter(|&index| index < list.len())?;
                T::at(list.get(index)?, 0)
            }
        })
    }
    by_width!(width, run(flat, ty, choose))
}

/// Bytes of a list that are copied between two looks at the flag; of whole values of any width.
const PART: usize = 1 << 22;

/// All elements of the lists of a flat vector, and the end of each row's, if no element is NULL.
pub(super) fn elements(
    flat: &Vector,
    ty: &LogicalType,
    width: usize,
) -> Option<Result<(Vector, Vec<usize>)>> {
    fn run<T: Word>(flat: &Vector, ty: &LogicalType) -> Option<Result<(Vector, Vec<usize>)>> {
        let heap = flat.heap().buffers();
        let views = &flat.views()[..flat.len()];
        let mut values: Vec<T> =
            Vec::with_capacity(views.iter().map(|view| view.len() / size_of::<T>()).sum());
        let mut ends = Vec::with_capacity(views.len());
        let has_nulls = flat.validity().is_some();
        for (row, view) in views.iter().enumerate() {
            if !has_nulls || !flat.is_null(row) {
                let bytes = view.bytes(heap);
                let count = count_without_nulls(bytes, size_of::<T>())?;
                let elements = bytes.get(4..4 + count * size_of::<T>()).unwrap_or_default();
                if elements.len() <= PART {
                    T::extend(&mut values, elements);
                    ends.push(values.len());
                    continue;
                }
                for (number, part) in elements.chunks(PART).enumerate() {
                    // A list may be all there is in memory.
                    if number > 0
                        && let Err(ended) = limits::check()
                    {
                        return Some(Err(ended));
                    }
                    T::extend(&mut values, part);
                }
            }
            ends.push(values.len());
        }
        Some(Ok((vector(ty, values, &[]), ends)))
    }
    by_width!(width, run(flat, ty))
}

/// Gives `found` the place of the first element of each list that equals `wanted(row)`, canonical bytes of a type of fixed
/// width; `None` where the list or what is wanted is NULL or nothing is found.
pub fn find_fixed<'w>(
    element: &LogicalType,
    lists: &Vector,
    wanted: impl Fn(usize) -> Option<&'w [u8]>,
    found: impl FnMut(usize, Option<usize>),
) {
    fn run<'w, T: Word>(
        element: &LogicalType,
        lists: &Vector,
        wanted: impl Fn(usize) -> Option<&'w [u8]>,
        mut found: impl FnMut(usize, Option<usize>),
    ) {
        let flat = lists.flatten();
        let heap = flat.heap().buffers();
        for (row, view) in flat.views()[..flat.len()].iter().enumerate() {
            let Some(wanted) = wanted(row).and_then(|bytes| T::at(bytes, 0)).filter(|_| !flat.is_null(row))
            else {
                found(row, None);
                continue;
            };
            let bytes = view.bytes(heap);
            let place = match count_without_nulls(bytes, size_of::<T>()) {
                Some(count) => {
                    let run = &bytes[4.min(bytes.len())..];
                    let mut elements = run.chunks_exact(size_of::<T>()).take(count);
                    elements.position(|raw| T::at(raw, 0) == Some(wanted))
                }
                None => {
                    let list = Sequence::new(element, bytes);
                    let is_wanted =
                        |index: usize| list.get(index).and_then(|raw| T::at(raw, 0)) == Some(wanted);
                    (0..list.len()).find(|&index| is_wanted(index))
                }
            };
            found(row, place);
        }
    }
    by_width!(fixed_width(element).unwrap_or(16), run(element, lists, wanted, found))
}

/// Number of elements of each list of a vector; 0 where it is NULL.
pub fn lengths(element: &LogicalType, lists: &Vector) -> Vec<i64> {
    let flat = lists.flatten();
    let heap = flat.heap().buffers();
    // Elements without fixed width have an end each.
    let unit = fixed_width(element).unwrap_or(4);
    let count = |view: &crate::View| {
        let bytes = view.bytes(heap);
        count_without_nulls(bytes, unit).unwrap_or_else(|| Sequence::new(element, bytes).len()) as i64
    };
    flat.views()[..flat.len()].iter().map(count).collect()
}
