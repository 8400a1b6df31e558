//! Conversion of vectors and values between types.
//!
//! [`value`] says what every conversion means, for one value. Loops here do the common ones for whole vectors: numbers in
//! [`number`], text in [`text`]; the others go value by value. Integers fail outside of the target's range; decimals and
//! text round half away from zero, floats half to even; DATE becomes midnight, TIMESTAMP loses its time. Dictionaries
//! not larger than the rows are converted once per distinct value.

mod bytea;
mod implied;
mod nested;
mod nested_text;
mod number;
mod packed;
mod temporal;
mod text;
pub mod value;

pub use bytea::{bytea, bytea_of_text};
pub use implied::{
    implied, implied_value, implied_value_in_zone, implied_vector, loses, lost_field, whole_numbers,
};
pub use temporal::{cast_in_zone, cast_value_in_zone, with_texts};
pub use value::cast_value;

use crate::zone::Zone;
use inlay_types::error::kept_text;
use inlay_types::limits::{self, Meter};
use inlay_types::{Bitmap, Dictionary, Error, LogicalType, Result, Value, Vector, VectorBuilder, VectorKind};

/// Whether an explicit CAST from one type to the other exists.
pub fn can_cast(from: &LogicalType, to: &LogicalType) -> bool {
    use LogicalType::{Blob, Boolean, Date, Interval, Null, Time, Timestamp, Varchar};
    let special = nested::can_cast_special(from, to);
    match (from, to) {
        _ if from == to => true,
        (Null, _) => true,
        _ if special.is_some() => special.unwrap_or(false),
        (_, Varchar) => true,
        _ if temporal::exists(from, to) => true,
        _ if is_without_casts(from) || is_without_casts(to) => false,
        (Varchar, to) => *to != Null,
        (Boolean, to) => to.is_numeric(),
        (Blob | Interval | Date | Time | Timestamp, _) => false,
        (from, to) => from.is_numeric() && (to.is_numeric() || *to == Boolean),
    }
}

/// Types whose values have no conversion yet but that to VARCHAR.
fn is_without_casts(ty: &LogicalType) -> bool {
    *ty == LogicalType::TimeTz || ty.is_timestamp()
}

/// Converts all rows of `input` to type `to`. What cannot be converted is an error, or NULL with `or_null` (TRY_CAST).
pub fn cast(input: &Vector, to: &LogicalType, or_null: bool, out: &mut Vector) -> Result<()> {
    cast_with(input, to, or_null, None, out)
}

/// Like [`cast`], in a time zone.
pub fn cast_rows_in_zone(
    input: &Vector,
    to: &LogicalType,
    or_null: bool,
    zone: &Zone,
    out: &mut Vector,
) -> Result<()> {
    cast_with(input, to, or_null, Some(zone).filter(|zone| !zone.is_utc()), out)
}

fn cast_with(
    input: &Vector,
    to: &LogicalType,
    or_null: bool,
    zone: Option<&Zone>,
    out: &mut Vector,
) -> Result<()> {
    let (from, len) = (input.logical_type(), input.len());
    if from == *to {
        *out = input.clone();
        return Ok(());
    }
    if from == LogicalType::Null || input.is_constant_null() {
        *out = Vector::nulls(to.clone(), len);
        return Ok(());
    }
    if let Some(zone) = zone
        && let Some(done) = temporal::by_texts(input, to, or_null, zone, out)
    {
        return done;
    }
    if !can_cast(&from, to) {
        // Asked of the rows, not of how they are kept: NULLs beside a value that is no longer there are NULLs.
        if input.null_count() == len {
            *out = Vector::nulls(to.clone(), len);
            return Ok(());
        }
        if !or_null {
            return Err(no_cast(&from, to));
        }
        // Of a list, it is the elements that have no cast.
        if !nested::is_list_to_list(&from, to) {
            *out = Vector::nulls(to.clone(), len);
            return Ok(());
        }
    }
    match input.kind() {
        // A long value is converted as rows are, which ask for what they take.
        VectorKind::Constant if !input.is_empty() && input.slice(0, 1).text_size() > text::LONG => {
            let mut one = Vector::empty(to.clone());
            cast_flat(&input.slice(0, 1).flatten(), to, or_null, zone, &mut one)?;
            *out = one.repeated(0, len);
            Ok(())
        }
        // Only the parts that cannot be converted become NULL.
        VectorKind::Constant if (or_null || zone.is_some()) && to.is_nested() => {
            let mut one = Vector::empty(to.clone());
            cast_flat(&input.slice(0, 1).flatten(), to, or_null, zone, &mut one)?;
            *out = Vector::constant(to.clone(), &one.get(0), len)?;
            Ok(())
        }
        VectorKind::Constant => {
            let value = input.get(0);
            let value = match temporal::value_with(&value, to, zone).unwrap_or_else(|| cast_value(&value, to))
            {
                Err(error) if or_null && !error.is_of_statement() => Value::Null,
                other => other?,
            };
            *out = Vector::constant(to.clone(), &value, len)?;
            Ok(())
        }
        VectorKind::Dictionary(dictionary) if dictionary.values().len() <= len => {
            let mut values = Vector::empty(to.clone());
            let converted = cast_flat(dictionary.values(), to, or_null, zone, &mut values);
            if converted.is_err() || values.validity().is_some() {
                // Some value cannot be converted; whether a row has it is for the rows to say.
                return cast_flat(&input.flatten(), to, or_null, zone, out);
            }
            let codes = input.data().clone();
            *out = Vector::dictionary(Dictionary::new(values), codes, len, input.validity().cloned());
            Ok(())
        }
        VectorKind::Dictionary(_) => cast_flat(&input.flatten(), to, or_null, zone, out),
        VectorKind::Flat => cast_flat(input, to, or_null, zone, out),
    }
}

/// The rows of `input` as [`Value`]s are displayed, as a flat VARCHAR vector; moments in UTC.
pub fn shown(input: &Vector) -> Result<Vector> {
    let flat = input.flatten();
    if *flat.ty() == LogicalType::Varchar {
        return Ok(flat);
    }
    let mut out = Vector::empty(LogicalType::Varchar);
    text::to_text(&flat, &mut out)?;
    Ok(out)
}

/// Neither type is that of a bare NULL, and the cast exists.
fn cast_flat(
    input: &Vector,
    to: &LogicalType,
    or_null: bool,
    zone: Option<&Zone>,
    out: &mut Vector,
) -> Result<()> {
    if let Some(converted) = nested::cast_parts(input, to, or_null, zone) {
        *out = converted?;
        return Ok(());
    }
    if packed::is_the_same(input, to) {
        *out = input.clone().reinterpret(to.clone());
        return Ok(());
    }
    // The elements of a list may be far more than the rows of a batch.
    let held = limits::hold(input.len().saturating_mul(to.physical().size()))?;
    cast_plain(input, to, or_null, zone, out)?;
    out.hold(held);
    Ok(())
}

/// Values that are no lists, nor others that are taken apart.
fn cast_plain(
    input: &Vector,
    to: &LogicalType,
    or_null: bool,
    zone: Option<&Zone>,
    out: &mut Vector,
) -> Result<()> {
    if *to == LogicalType::Varchar && text::knows(input.ty()) {
        return text::to_text(input, out);
    }
    if nested::can_cast_special(input.ty(), to).is_some() {
        return by_value(input, to, or_null, out);
    }
    if let Some(done) = temporal::flat_with(input, to, or_null, zone, out) {
        return done;
    }
    if input.logical_type() == LogicalType::Varchar {
        return text::from_text(input, to, or_null, out);
    }
    if *to == LogicalType::Varchar {
        return text::to_text(input, out);
    }
    match number::cast_numbers(input, to, or_null, out) {
        Some(done) => done,
        None => by_value(input, to, or_null, out),
    }
}

/// Value by value, for pairs without a loop of their own.
fn by_value(input: &Vector, to: &LogicalType, or_null: bool, out: &mut Vector) -> Result<()> {
    let mut builder = VectorBuilder::new(to.clone(), input.len());
    let mut meter = Meter::of_rows();
    let (packed, mut bytes) = (packed::Packed::of(input.ty(), to), Vec::new());
    if let Some(packed::Packed::Bits(width)) = packed {
        *out = packed::as_bits(input, width, to);
        return Ok(());
    }
    for row in 0..input.len() {
        if input.is_null(row) {
            builder.push_null();
            continue;
        }
        bytes.clear();
        if packed.is_some() {
            text::ask_for_bytes(input, row, to)?;
        }
        match packed.as_ref().and_then(|packed| packed.push(input, row, &mut bytes)) {
            Some(true) => {
                meter.add(bytes.len())?;
                builder.push_packed(&bytes);
                continue;
            }
            Some(false) => {
                builder.push_null();
                continue;
            }
            None => text::ask_for_value(input, row, to)?,
        }
        let value = input.get(row);
        let converted = match nested::parts_or_null(&value, to).filter(|_| or_null) {
            Some(parts) => parts,
            None => cast_value(&value, to),
        };
        match converted {
            Ok(value) => {
                builder.push(&value)?;
                // Documents, lists and bytes as well as texts: what is made of a few bits may be many times as long.
                meter.add(builder.last_text_size())?;
            }
            Err(error) if or_null && !error.is_of_statement() => builder.push_null(),
            Err(error) => return Err(error),
        }
    }
    *out = builder.finish().holding(meter.finish());
    Ok(())
}

fn no_cast(from: &LogicalType, to: &LogicalType) -> Error {
    Error::type_mismatch(format!("no cast from {from} to {to}"))
}

/// Sets the validity of `out` to that of `input` less the rows that could not be converted. Without `or_null` the first
/// such row that is not NULL is an error.
fn settle(input: &Vector, failed: &[u32], or_null: bool, out: &mut Vector) -> Result<()> {
    let mut validity = input.validity().cloned();
    for &row in failed {
        if input.is_null(row as usize) {
            continue;
        }
        if !or_null {
            let to = out.logical_type();
            if let Some(text) = text::long_text(input, row as usize) {
                return Err(Error::InvalidCast { value: kept_text(text), to: to.to_string() });
            }
            let explained = cast_value(&input.get(row as usize), &to.clone());
            return Err(explained.err().unwrap_or_else(|| Error::internal(format!("a cast to {to} failed"))));
        }
        validity.get_or_insert_with(|| Bitmap::filled(input.len(), true)).set(row as usize, false);
    }
    out.set_validity(validity);
    Ok(())
}

#[cfg(test)]
mod tests;
