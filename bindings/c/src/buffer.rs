//! Columns that belong to the program alone: it may write to them, and they outlive all else.

use crate::failure::{ErrorOut, guard, inlay_status, plain};
use crate::memory::Held;
use crate::pointers::{Freed, Handle, Made, Out, free, here, make, owned, put};
use crate::result::{self, inlay_result};
use inlay::types::{Buffer, LogicalType, PhysicalType, Reservation};
use inlay::{Error, HostForm, Result};
use std::ffi::c_void;
use std::ptr;

/// The values of a column in memory that belongs to the program alone: it may write to them, which nobody else sees, and they are there
/// until it frees them, whatever becomes of the result, the connection and the database.
pub struct inlay_buffer {
    process: u32,
    data: Buffer,
    count: usize,
    width: usize,
    _held: Reservation,
}

owned!(inlay_buffer);

/// Whether a value of the type stands for NULL below each NULL, which no other row has.
fn has_null_value(ty: &LogicalType) -> bool {
    match ty.physical() {
        PhysicalType::I8
        | PhysicalType::I16
        | PhysicalType::I32
        | PhysicalType::I64
        | PhysicalType::I128
        | PhysicalType::F32
        | PhysicalType::F64 => true,
        PhysicalType::Bool
        | PhysicalType::U8
        | PhysicalType::U16
        | PhysicalType::U32
        | PhysicalType::U64
        | PhysicalType::U128
        | PhysicalType::View
        | PhysicalType::Interval => false,
    }
}

/// A column of all rows of numbers, days or moments as values of fixed width, without a look at which of them are NULL: the least number
/// of the type stands for NULL, and in DOUBLE the NaN whose lower half is 1954, which is R's NA. Those of a table are mapped where they can
/// be, and not copied. To be freed by inlay_buffer_free.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_result_column_buffer(
    result: Handle<'_, inlay_result>,
    column: usize,
    buffer: Out<'_, Made<inlay_buffer>>,
    error: ErrorOut<'_>,
) -> inlay_status {
    guard(error, || {
        make(buffer, "buffer", || {
            let result = result::of(result)?;
            result.check_column(column)?;
            let limits = result.enter().limits()?;
            let rows = result.whole()?.clone().interrupted_by(limits.interrupt.clone());
            let ty = &rows.types()[column];
            if !has_null_value(ty) {
                return Err(Error::type_mismatch(format!("no value of {ty} stands for NULL"))
                    .with_hint("inlay_column_view says which rows are NULL"));
            }
            let (count, width) = (rows.row_count(), ty.physical().size());
            let held = Held::new(&limits, if rows.is_table() { 0 } else { count * width })?;
            let data = rows.host_column(column, HostForm::Stored)?;
            Ok(inlay_buffer { process: here(), data, count, width, _held: held.finish()? })
        })
    })
}

/// The values.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_buffer_data(buffer: Handle<'_, inlay_buffer>) -> *mut c_void {
    // What the engine made for a host is the host's: nothing of the engine reads it.
    plain(ptr::null_mut(), || buffer.map(|buffer| buffer.data.as_ptr().cast_mut().cast()))
}

/// How many there are.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_buffer_count(buffer: Handle<'_, inlay_buffer>) -> usize {
    plain(0, || buffer.map(|buffer| buffer.count))
}

/// Bytes of each.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_buffer_width(buffer: Handle<'_, inlay_buffer>) -> usize {
    plain(0, || buffer.map(|buffer| buffer.width))
}

/// Frees the values.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_buffer_free(buffer: Freed<'_, inlay_buffer>) {
    free(buffer);
}

/// Whether a column of all rows may have a NULL: false if it is known to have none, without a look at the values of a table.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_column_may_have_null(
    result: Handle<'_, inlay_result>,
    column: usize,
    may_have: Out<'_, bool>,
    error: ErrorOut<'_>,
) -> inlay_status {
    guard(error, || {
        let result = result::of(result)?;
        result.check_column(column)?;
        let _call = result.enter();
        let found: Result<bool> = result.whole()?.may_have_nulls(column);
        put(may_have, found?, "may_have")
    })
}
