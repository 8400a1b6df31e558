//! Parts of fixed width, read straight from the packed bytes of many rows: what `unpack` does part by part.
//!
//! Values are read as unsigned integers of their width, whatever their type, so that one loop serves all types.

use super::read::Sequence;
use super::{HAS_NULLS, fixed_width, write};
use crate::view::INLINE_LIMIT;
use crate::{Bitmap, Buffer, Heap, LogicalType, Native, Result, Vector, View, limits};

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
    let mut read = |(row, view): (usize, &View)| {
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
        let (heap, views) = (flat.heap().buffers(), &flat.views()[..flat.len()]);
        let (byte, bit) = (index / 8, index % 8);
        // What a struct has to be long, to be read where it lies: as all are that have a text, and not in their views.
        let size = offset + size_of::<T>();
        let least = size.max(INLINE_LIMIT + 1);
        let mut values: Vec<T> = vec![T::default(); views.len()];
        // Of whole words of rows at a time, as the validity is.
        let mut words = vec![0u64; views.len().div_ceil(64)];
        let parts = views.chunks(64).zip(values.chunks_mut(64));
        for ((views, values), word) in parts.zip(&mut words) {
            let mut valid = 0;
            // Mostly all of them lie in one buffer, which is looked up once.
            let number = views.first().map_or(0, View::buffer);
            let buffer = heap.get(number as usize).map_or(&[][..], Buffer::bytes);
            for (row, value) in values.iter_mut().enumerate() {
                let view = &views[row];
                let place = view.offset() as usize;
                let is_here = view.len() >= least && view.buffer() == number;
                let bytes = match buffer.get(place..place + size).filter(|_| is_here) {
                    Some(bytes) => bytes,
                    None => view.bytes(heap),
                };
                // Structs that are NULL have no bytes.
                if let (Some(flags), Some(found)) = (bytes.get(byte), T::at(bytes, offset)) {
                    let is_valid = flags >> bit & 1;
                    *value = if is_valid == 1 { found } else { T::default() };
                    valid |= u64::from(is_valid) << row;
                }
            }
            *word = valid;
        }
        let mut validity = Bitmap::from_words(words, views.len());
        if let Some(own) = flat.validity() {
            validity = validity.and(own);
        }
        let validity = (!validity.all()).then_some(validity);
        Vector::flat(ty.clone(), values.len(), Buffer::from_vec(values), validity, Heap::default())
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

/// All elements of the lists of a flat vector, and where each row's begin, with the end of all, if no element is NULL.
pub(super) fn elements(flat: &Vector, ty: &LogicalType, width: usize) -> Option<Result<(Vector, Vec<u32>)>> {
    fn run<T: Word>(flat: &Vector, ty: &LogicalType) -> Option<Result<(Vector, Vec<u32>)>> {
        let heap = flat.heap().buffers();
        let views = &flat.views()[..flat.len()];
        let offsets = match offsets_of(flat, size_of::<T>())? {
            Ok(offsets) => offsets,
            Err(error) => return Some(Err(error)),
        };
        let total = offsets.last().map_or(0, |end| *end as usize);
        let mut values: Vec<T> = Vec::with_capacity(total);
        for (view, ends) in views.iter().zip(offsets.windows(2)) {
            let size = (ends[1] - ends[0]) as usize * size_of::<T>();
            let elements = if size == 0 { &[] } else { &view.bytes(heap)[4..4 + size] };
            if size <= PART {
                T::extend(&mut values, elements);
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
        Some(Ok((vector(ty, values, &[]), offsets)))
    }
    by_width!(width, run(flat, ty))
}

/// Where the elements of each list of a flat vector begin, with the end of all, if no element is NULL. How many they are is in the
/// views, so that no list is looked at.
fn offsets_of(flat: &Vector, width: usize) -> Option<Result<Vec<u32>>> {
    let (views, has_nulls) = (&flat.views()[..flat.len()], flat.validity().is_some());
    let mut offsets = Vec::with_capacity(views.len() + 1);
    let mut end = 0;
    offsets.push(0);
    for (row, view) in views.iter().enumerate() {
        if !has_nulls || !flat.is_null(row) {
            end += counted(view).count_without_nulls(width)?;
        }
        offsets.push(end as u32);
    }
    Some(write::size(end).map(|_| offsets))
}

/// What a list's view says of it: its first bytes, and how many there are.
#[inline(always)]
fn counted(view: &View) -> Counted {
    let len = view.len();
    Counted { header: if len < 4 { 0 } else { u32::from_le_bytes(view.prefix()) }, len }
}

struct Counted {
    header: u32,
    len: usize,
}

impl Counted {
    /// As [`count_without_nulls`].
    #[inline(always)]
    fn count_without_nulls(&self, width: usize) -> Option<usize> {
        (self.header & HAS_NULLS == 0).then(|| (self.header as usize).min(self.len.saturating_sub(4) / width))
    }

    /// As [`Sequence::len`], of elements that take at least so many bytes each, ends included.
    #[inline(always)]
    fn count(&self, width: usize) -> usize {
        self.count_without_nulls(width).unwrap_or_else(|| {
            let count = ((self.header & !HAS_NULLS) as usize).min(self.len.saturating_mul(8));
            count.min(self.len.saturating_sub(4 + count.div_ceil(8)) / width)
        })
    }
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
    fn of(views: &[crate::View], count: impl Fn(Counted) -> usize) -> Vec<i64> {
        views.iter().map(|view| count(counted(view)) as i64).collect()
    }
    let flat = lists.flatten();
    let views = &flat.views()[..flat.len()];
    // Elements without fixed width have an end each. Loops that know the width divide by shifts.
    match fixed_width(element).unwrap_or(4) {
        4 => of(views, |list| list.count(4)),
        8 => of(views, |list| list.count(8)),
        width => of(views, |list| list.count(width)),
    }
}
