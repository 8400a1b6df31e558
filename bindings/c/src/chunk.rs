//! Chunks: some rows of a result as columns, and what nested columns are made of.

use crate::column::{self, Prepared};
use crate::failure::{ErrorOut, guard, inlay_status, plain};
use crate::kinds::inlay_array;
use crate::pointers::{Freed, Handle, Made, Out, TextOut, free, given, here, make, owned, put, put_text};
use inlay::{Chunk, Error, Parts};
use std::ptr;
use std::sync::OnceLock;

/// Some rows as columns. It keeps its memory itself: it may outlive the result, the connection and the database.
pub struct inlay_chunk {
    process: u32,
    chunk: Chunk,
    arrays: Vec<OnceLock<Prepared>>,
    /// Of the parts of lists and maps: where those of each row begin, and the end of the last.
    offsets: Vec<u32>,
    /// Of the parts of unions: which member each row holds.
    tags: Vec<u8>,
}

owned!(inlay_chunk);

impl inlay_chunk {
    /// A chunk of its own.
    pub fn new(chunk: Chunk) -> Self {
        Self::of_parts(chunk, Vec::new(), Vec::new())
    }

    fn of_parts(chunk: Chunk, offsets: Vec<u32>, tags: Vec<u8>) -> Self {
        let arrays = (0..chunk.column_count()).map(|_| OnceLock::new()).collect();
        Self { process: here(), chunk, arrays, offsets, tags }
    }
}

/// How many rows there are.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_chunk_row_count(chunk: Handle<'_, inlay_chunk>) -> usize {
    plain(0, || chunk.map(|chunk| chunk.chunk.len()))
}

/// How many columns there are.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_chunk_column_count(chunk: Handle<'_, inlay_chunk>) -> usize {
    plain(0, || chunk.map(|chunk| chunk.chunk.column_count()))
}

/// A column, from 0, as it lies in memory. It belongs to the chunk; the program only reads it.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_chunk_view(
    chunk: Handle<'_, inlay_chunk>,
    column: usize,
    array: Out<'_, inlay_array>,
    error: ErrorOut<'_>,
) -> inlay_status {
    guard(error, || {
        let chunk = given(chunk, "chunk")?;
        let count = chunk.arrays.len();
        let place = chunk.arrays.get(column);
        let place = place.ok_or_else(|| {
            Error::invalid_argument(format!("there is no column {column}: the chunk has {count}"))
        })?;
        let prepared = match place.get() {
            Some(known) => known,
            None => {
                let made = column::of_chunk(&chunk.chunk, column)?;
                place.get_or_init(|| made)
            }
        };
        put(array, prepared.array, "array")
    })
}

/// A value of any type as text, as SQL shows it; NULL for NULL. To be freed by inlay_text_free.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_chunk_text(
    chunk: Handle<'_, inlay_chunk>,
    row: usize,
    column: usize,
    text: Out<'_, TextOut>,
    error: ErrorOut<'_>,
) -> inlay_status {
    guard(error, || {
        put_text(text, "text", || {
            let chunk = given(chunk, "chunk")?;
            let rows = chunk.chunk.len();
            if row >= rows {
                return Err(Error::invalid_argument(format!("there is no row {row}: the chunk has {rows}")));
            }
            let value = chunk.chunk.column(column)?.value(row);
            Ok((!value.is_null()).then(|| value.to_string()))
        })
    })
}

/// What a nested column is made of, as a chunk of its own: the elements of lists and arrays as one column, the keys and values of maps
/// as two, a column for each field of a struct or member of a union. To be freed by inlay_chunk_free.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_chunk_parts(
    chunk: Handle<'_, inlay_chunk>,
    column: usize,
    parts: Out<'_, Made<inlay_chunk>>,
    error: ErrorOut<'_>,
) -> inlay_status {
    guard(error, || {
        make(parts, "parts", || {
            let column = given(chunk, "chunk")?.chunk.column(column)?;
            let none = || Error::type_mismatch(format!("a column of {} has no parts", column.ty()));
            Ok(match column.parts()?.ok_or_else(none)? {
                Parts::List(offsets, chunk) | Parts::Map(offsets, chunk) => {
                    inlay_chunk::of_parts(chunk, offsets, Vec::new())
                }
                Parts::Struct(chunk) => inlay_chunk::new(chunk),
                Parts::Union(tags, chunk) => inlay_chunk::of_parts(chunk, Vec::new(), tags),
            })
        })
    })
}

/// Of the parts of lists, arrays and maps: where the parts of each row begin, and behind the last row the end; NULL for others. It
/// belongs to the chunk.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_chunk_offsets(parts: Handle<'_, inlay_chunk>) -> *const u32 {
    plain(ptr::null(), || parts.filter(|parts| !parts.offsets.is_empty()).map(|parts| parts.offsets.as_ptr()))
}

/// Of the parts of unions: the number of the member that each row holds; NULL for others. It belongs to the chunk.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_chunk_tags(parts: Handle<'_, inlay_chunk>) -> *const u8 {
    plain(ptr::null(), || parts.filter(|parts| !parts.tags.is_empty()).map(|parts| parts.tags.as_ptr()))
}

/// Frees a chunk, and with it its arrays.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_chunk_free(chunk: Freed<'_, inlay_chunk>) {
    free(chunk);
}
