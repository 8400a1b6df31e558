//! Where functions of the program's write their values.

use crate::array;
use crate::failure::{ErrorOut, guard, inlay_status, plain};
use crate::kinds::{INLAY_LAYOUT_DEFAULT, digits_of, id_of, inlay_array, inlay_bytes, inlay_type_id};
use crate::memory::Held;
use crate::pointers::{Handle, Items, Own, null};
use inlay::types::{LogicalType, Vector};
use inlay::{Error, Result, current_limits};
use std::ffi::{c_char, c_void};
use std::ptr;

/// Where a function writes its values. It belongs to the library, and is there during the call.
pub struct inlay_output {
    ty: LogicalType,
    rows: usize,
    /// Values of fixed width, which lie as wide ones may.
    fixed: Vec<u128>,
    texts: Vec<Option<Box<[u8]>>>,
    /// Which rows are values, if any is NULL.
    validity: Option<Vec<u64>>,
    held: Option<Held>,
}

impl inlay_output {
    /// Room for so many rows.
    pub fn new(ty: &LogicalType, rows: usize) -> Result<Self> {
        let width = if ty.is_view() { size_of::<Option<Box<[u8]>>>() } else { ty.physical().size() };
        let size = rows.saturating_mul(width);
        let held = current_limits().map(|limits| Held::new(&limits, size)).transpose()?;
        let (fixed, texts) = match ty.is_view() {
            true => (Vec::new(), vec![None; rows]),
            false => (vec![0u128; size.div_ceil(size_of::<u128>())], Vec::new()),
        };
        Ok(Self { ty: ty.clone(), rows, fixed, texts, validity: None, held })
    }

    /// The values of the first rows.
    pub fn finish(self, rows: usize) -> Result<Vector> {
        let (precision, scale) = digits_of(&self.ty);
        let mut validity = self.validity;
        let places: Vec<inlay_bytes> =
            self.texts.iter().map(|text| inlay_bytes::of(text.as_deref())).collect();
        if self.ty.is_view() && self.texts.iter().take(rows).any(Option::is_none) {
            let words = validity.get_or_insert_with(|| vec![u64::MAX; self.rows.div_ceil(64)]);
            let absent = self.texts.iter().enumerate().filter(|(_, text)| text.is_none());
            absent.for_each(|(row, _)| words[row / 64] &= !(1 << (row % 64)));
        }
        let array = inlay_array {
            type_id: id_of(&self.ty),
            layout: INLAY_LAYOUT_DEFAULT,
            precision,
            scale,
            count: rows,
            data: if self.ty.is_view() { places.as_ptr().cast() } else { self.fixed.as_ptr().cast() },
            validity: validity.as_ref().map_or(ptr::null(), Vec::as_ptr),
            ..inlay_array::empty()
        };
        let held = self.held.map(Held::finish).transpose()?;
        Ok(array::vector_of(&array)?.holding(held))
    }

    fn check_row(&self, row: usize) -> Result<()> {
        if row < self.rows {
            return Ok(());
        }
        Err(Error::invalid_argument(format!("there is no row {row}: the output has {}", self.rows)))
    }

    fn count_text(&mut self, size: usize) -> Result<()> {
        self.held.as_mut().map_or(Ok(()), |held| held.add(size))
    }
}

/// How many rows there are to write.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_output_row_count(output: Handle<'_, inlay_output>) -> usize {
    output.map_or(0, |output| output.rows)
}

/// The type of the values.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_output_type(output: Handle<'_, inlay_output>) -> inlay_type_id {
    output.map_or(0, |output| id_of(&output.ty))
}

/// How many digits a DECIMAL may have; 0 for others.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_output_precision(output: Handle<'_, inlay_output>) -> u8 {
    output.map_or(0, |output| digits_of(&output.ty).0)
}

/// How many digits of a DECIMAL are behind the point; 0 for others.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_output_scale(output: Handle<'_, inlay_output>) -> u8 {
    output.map_or(0, |output| digits_of(&output.ty).1)
}

/// Where the values of a type of fixed width are written, one behind the other; all are 0 before. NULL for texts and bytes.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_output_data(output: Own<'_, inlay_output>) -> *mut c_void {
    plain(ptr::null_mut(), || {
        output.filter(|output| !output.ty.is_view()).map(|output| output.fixed.as_mut_ptr().cast())
    })
}

/// Writes a text, or bytes, of so many bytes, which are copied. A row that none is written to is NULL.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_output_set_text(
    output: Own<'_, inlay_output>,
    row: usize,
    text: Items<'_, c_char>,
    size: usize,
    error: ErrorOut<'_>,
) -> inlay_status {
    guard(error, || {
        let output = output.ok_or_else(|| null("output"))?;
        output.check_row(row)?;
        if !output.ty.is_view() {
            return Err(Error::type_mismatch(format!(
                "values of {} are written to inlay_output_data",
                output.ty
            )));
        }
        let bytes = text.bytes(size, "the text")?;
        output.count_text(size)?;
        output.texts[row] = Some(bytes.into());
        Ok(())
    })
}

/// Makes the value of a row NULL.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_output_set_null(
    output: Own<'_, inlay_output>,
    row: usize,
    error: ErrorOut<'_>,
) -> inlay_status {
    guard(error, || {
        let output = output.ok_or_else(|| null("output"))?;
        output.check_row(row)?;
        let words = output.rows.div_ceil(64);
        let validity = output.validity.get_or_insert_with(|| vec![u64::MAX; words]);
        validity[row / 64] &= !(1 << (row % 64));
        Ok(())
    })
}
