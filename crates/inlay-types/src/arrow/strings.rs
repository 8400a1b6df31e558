//! Strings in Arrow's layouts.

use super::export::StringLayout;
use crate::view::INLINE_LIMIT;
use crate::{Buffer, Error, Result, Vector, VectorKind, View};

/// The data buffers of a column of strings: views and heap, or offsets and bytes. Views want a flat vector.
pub(super) fn string_buffers(vector: &Vector, strings: StringLayout) -> Result<Vec<Buffer>> {
    match strings {
        StringLayout::View => {
            let heap = vector.heap().buffers();
            let sizes: Vec<i64> = heap.iter().map(|b| b.size() as i64).collect();
            let mut buffers = vec![vector.data().clone()];
            buffers.extend(heap.iter().cloned());
            buffers.push(Buffer::from_vec(sizes));
            Ok(buffers)
        }
        StringLayout::Utf8 => {
            let (ends, total) = ends_of(vector, |end| i32::try_from(end).unwrap_or(i32::MAX));
            if total > i32::MAX as usize {
                let message = format!(
                    "{total} bytes of text do not fit into an array of Arrow's utf8, which has 2 GiB; ask for large_utf8 \
                     (SET arrow_large_buffer_size = true), or for fewer rows in a batch"
                );
                return Err(Error::out_of_range(message));
            }
            Ok(vec![Buffer::from_vec(ends), Buffer::from_vec(bytes_of(vector, total))])
        }
        StringLayout::LargeUtf8 => {
            let (ends, total) = ends_of(vector, |end| end as i64);
            Ok(vec![Buffer::from_vec(ends), Buffer::from_vec(bytes_of(vector, total))])
        }
    }
}

/// Calls `with` with the view of each row; NULL is the empty string.
#[inline]
fn for_each_view(vector: &Vector, mut with: impl FnMut(&View)) {
    let validity = vector.validity();
    match vector.kind() {
        VectorKind::Flat => match validity {
            None => vector.views().iter().for_each(with),
            Some(validity) => {
                for (row, view) in vector.views().iter().enumerate() {
                    with(if validity.get(row) { view } else { &View::EMPTY });
                }
            }
        },
        VectorKind::Constant => {
            let view = if vector.is_constant_null() { &View::EMPTY } else { &vector.views()[0] };
            (0..vector.len()).for_each(|_| with(view));
        }
        VectorKind::Dictionary(dictionary) => {
            let values = dictionary.values().views();
            for (row, &code) in vector.codes().iter().enumerate() {
                let is_valid = validity.is_none_or(|validity| validity.get(row));
                with(if is_valid { &values[code as usize] } else { &View::EMPTY });
            }
        }
    }
}

/// Where each string ends, from 0 on, and where the last does.
fn ends_of<T>(vector: &Vector, offset: impl Fn(usize) -> T) -> (Vec<T>, usize) {
    let mut ends = Vec::with_capacity(vector.len() + 1);
    let mut end = 0;
    ends.push(offset(0));
    for_each_view(vector, |view| {
        end += view.len();
        ends.push(offset(end));
    });
    (ends, end)
}

fn bytes_of(vector: &Vector, total: usize) -> Vec<u8> {
    let heap = vector.heap().buffers();
    // Short strings are copied with all their twelve bytes, of which the next string overwrites the rest.
    let mut bytes = vec![0u8; total + INLINE_LIMIT];
    let mut at = 0;
    for_each_view(vector, |view| {
        let len = view.len();
        if len <= INLINE_LIMIT {
            bytes[at..at + 4].copy_from_slice(&view.prefix());
            bytes[at + 4..at + INLINE_LIMIT].copy_from_slice(&view.tail.to_le_bytes());
        } else {
            bytes[at..at + len].copy_from_slice(view.bytes(heap));
        }
        at += len;
    });
    bytes.truncate(total);
    bytes
}

/// Fails at a text that is not UTF-8, which no function could be given. All views lie inside of their buffers; `first` is the row of
/// the first one in its column.
pub(super) fn check_texts(
    views: &[View],
    heap: &[Buffer],
    is_null: impl Fn(usize) -> bool,
    first: usize,
    column: &str,
) -> Result<()> {
    const HIGH_BITS: u64 = 0x8080_8080_8080_8080;
    let is_broken = |view: &View| {
        // Behind the text of a short string are zeros, and before it its length.
        if view.is_inline() && ((view.head >> 32) | view.tail) & HIGH_BITS == 0 {
            return false;
        }
        let bytes = view.bytes(heap);
        !bytes.is_ascii() && std::str::from_utf8(bytes).is_err()
    };
    let Some(row) = (0..views.len()).find(|&row| is_broken(&views[row]) && !is_null(row)) else {
        return Ok(());
    };
    let message = format!("row {} of column \"{column}\" is a text that is not UTF-8", first + row);
    Err(Error::invalid_argument(message)
        .with_hint("decode it before passing it, or pass its bytes as binary"))
}
