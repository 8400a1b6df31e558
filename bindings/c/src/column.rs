//! Columns as they lie in memory: those of chunks, and of all rows of a result.

use crate::failure::{ErrorOut, guard, inlay_status};
use crate::kinds::{
    INLAY_LAYOUT_BYTES, INLAY_LAYOUT_NESTED, digits_of, id_of, inlay_array, inlay_bytes, layout_of,
};
use crate::memory::Held;
use crate::pointers::{Handle, Out, put};
use crate::result::{self, inlay_result};
use inlay::types::{Batch, Buffer, LogicalType, Reservation};
use inlay::{Chunk, HostForm, Limits, QueryResult, Result};
use std::any::Any;
use std::ptr;

/// An array, and what keeps its memory.
pub struct Prepared {
    pub array: inlay_array,
    _owner: Box<dyn Any + Send + Sync>,
}

/// Things with pointers into memory that does not change, kept beside its owner.
pub struct Pointers<T>(pub Vec<T>);

// SAFETY: what is pointed to is kept by the owner beside it and only read.
unsafe impl Send for Prepared {}
// SAFETY: as above.
unsafe impl Sync for Prepared {}
// SAFETY: as above.
unsafe impl<T> Send for Pointers<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Pointers<T> {}

/// A column of a chunk.
pub fn of_chunk(chunk: &Chunk, index: usize) -> Result<Prepared> {
    let chunk = chunk.clone();
    let column = chunk.column(index)?;
    let (ty, count) = (column.ty(), column.len());
    let layout = layout_of(ty);
    let (precision, scale) = digits_of(ty);
    let mut array = inlay_array {
        type_id: id_of(ty),
        layout,
        precision,
        scale,
        width: column.width(),
        count,
        data: ptr::null(),
        validity: column.validity().map_or(ptr::null(), <[u64]>::as_ptr),
    };
    match layout {
        INLAY_LAYOUT_NESTED => array.width = 0,
        INLAY_LAYOUT_BYTES => {
            let places = Pointers((0..count).map(|row| inlay_bytes::of(column.bytes(row))).collect());
            (array.width, array.data) = (size_of::<inlay_bytes>(), places.0.as_ptr().cast());
            return Ok(Prepared { array, _owner: Box::new((chunk, places)) });
        }
        _ => array.data = column.data().as_ptr().cast(),
    }
    Ok(Prepared { array, _owner: Box::new(chunk) })
}

/// A column of all rows as a chunk of its own. Where they do not lie together, it is a copy.
pub fn chunk_of(rows: &QueryResult, index: usize, limits: &Limits) -> Result<Chunk> {
    let mut parts = rows.parts();
    if let (Some(_), None, false) = (parts.next(), parts.next(), rows.is_table()) {
        let (_, batch) = rows.part_at(0)?;
        return Ok(Chunk::new(&Batch::new(vec![batch.column(index).clone()], batch.len())));
    }
    let mut held = Held::new(limits, rows.row_count() * rows.types()[index].physical().size())?;
    let vector = rows.column(index)?;
    if rows.is_table() {
        // How long texts are is known now.
        held.add(vector.text_size())?;
    }
    let (vector, len) = (vector.holding(Some(held.finish()?)), rows.row_count());
    Ok(Chunk::new(&Batch::new(vec![vector], len)))
}

/// A column of all rows. That of a table is mapped where it can be, and not copied.
fn of_result(rows: &QueryResult, index: usize, limits: &Limits) -> Result<Prepared> {
    let rows = &rows.clone().interrupted_by(limits.interrupt.clone());
    let ty = &rows.types()[index];
    if !rows.is_table() || ty.is_view() {
        return of_chunk(&chunk_of(rows, index, limits)?, 0);
    }
    let data = rows.host_column(index, HostForm::Stored)?;
    let validity = validity_of(rows, index, limits)?;
    Ok(of_buffer(ty, rows.row_count(), data, validity))
}

fn of_buffer(ty: &LogicalType, count: usize, data: Buffer, validity: Option<Validity>) -> Prepared {
    let (precision, scale) = digits_of(ty);
    let array = inlay_array {
        type_id: id_of(ty),
        layout: layout_of(ty),
        precision,
        scale,
        width: ty.physical().size(),
        count,
        data: data.as_ptr().cast(),
        validity: Validity::words(validity.as_ref()),
    };
    Prepared { array, _owner: Box::new((data, validity)) }
}

/// Which rows are values: a bit for each.
pub struct Validity {
    words: Vec<u64>,
    _held: Reservation,
}

impl Validity {
    /// The bits; NULL where all rows are values.
    pub fn words(validity: Option<&Self>) -> *const u64 {
        validity.map_or(ptr::null(), |validity| validity.words.as_ptr())
    }
}

/// Which rows are values; `None` if all are.
pub fn validity_of(rows: &QueryResult, index: usize, limits: &Limits) -> Result<Option<Validity>> {
    if !rows.may_have_nulls(index)? {
        return Ok(None);
    }
    let held = limits.budget.reserve(rows.row_count().div_ceil(8) as u64)?;
    let _bytes = limits.budget.reserve(rows.row_count() as u64)?;
    let nulls = rows.host_column(index, HostForm::Nulls)?;
    if !nulls.bytes().contains(&1) {
        return Ok(None);
    }
    let word = |rows: &[u8]| {
        rows.iter().enumerate().fold(0u64, |word, (bit, &is_null)| word | u64::from(is_null == 0) << bit)
    };
    Ok(Some(Validity { words: nulls.bytes().chunks(64).map(word).collect(), _held: held }))
}

/// A column of all rows as it lies in memory, without conversion and, where rows lie together, without a copy. It belongs to the
/// result; the program only reads it.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_column_view(
    result: Handle<'_, inlay_result>,
    column: usize,
    array: Out<'_, inlay_array>,
    error: ErrorOut<'_>,
) -> inlay_status {
    guard(error, || {
        let result = result::of(result)?;
        result.check_column(column)?;
        let call = result.enter();
        let (rows, view) = (result.whole()?, &result.shown().views[column]);
        let prepared = match view.get() {
            Some(known) => known,
            None => {
                let made = of_result(rows, column, &call.limits()?)?;
                view.get_or_init(|| made)
            }
        };
        put(array, prepared.array, "array")
    })
}
