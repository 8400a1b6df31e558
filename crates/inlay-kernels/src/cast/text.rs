//! Text to values and values to text, for whole vectors.

use super::settle;
use super::value::blob;
use crate::parse;
use inlay_types::datetime::{
    ShortText, short_date, short_time, short_timestamp, write_date, write_time, write_timestamp,
};
use inlay_types::digits::{short_digits, short_integer, write_integer};
use inlay_types::limits::{self, Meter};
use inlay_types::nested::Contents;
use inlay_types::nested::text::Writer;
use inlay_types::value::{write_decimal, write_float};
use inlay_types::view::{HeapBuilder, INLINE_LIMIT};
use inlay_types::{Buffer, Error, Heap, LogicalType, Native, PhysicalType, Result, Value, Vector, View};
use std::fmt::Write;

/// `input` is a flat VARCHAR vector.
pub(super) fn from_text(input: &Vector, to: &LogicalType, or_null: bool, out: &mut Vector) -> Result<()> {
    macro_rules! integer {
        ($t:ty) => {
            parsed(input, to, or_null, out, |b| parse::int(b).ok().and_then(|v| <$t>::try_from(v).ok()))
        };
    }
    match to {
        LogicalType::Boolean => parsed(input, to, or_null, out, |b| parse::boolean(b).map(u8::from)),
        LogicalType::TinyInt => integer!(i8),
        LogicalType::SmallInt => integer!(i16),
        LogicalType::Null | LogicalType::Integer => integer!(i32),
        LogicalType::BigInt => integer!(i64),
        LogicalType::HugeInt => integer!(i128),
        LogicalType::UTinyInt => integer!(u8),
        LogicalType::USmallInt => integer!(u16),
        LogicalType::UInteger => integer!(u32),
        LogicalType::UBigInt => integer!(u64),
        LogicalType::UHugeInt => parsed(input, to, or_null, out, |b| parse::unsigned(b).ok()),
        LogicalType::Real => parsed(input, to, or_null, out, parse::real),
        LogicalType::Double => parsed(input, to, or_null, out, parse::double),
        LogicalType::Date => parsed(input, to, or_null, out, parse::date),
        LogicalType::Time => parsed(input, to, or_null, out, parse::time),
        LogicalType::Timestamp => parsed(input, to, or_null, out, parse::timestamp),
        LogicalType::TimestampS => parsed(input, to, or_null, out, parse::timestamp_seconds),
        LogicalType::TimestampMs => parsed(input, to, or_null, out, parse::timestamp_millis),
        LogicalType::TimestampNs => parsed(input, to, or_null, out, parse::timestamp_nanos),
        LogicalType::Interval => parsed(input, to, or_null, out, parse::interval),
        LogicalType::Varchar | LogicalType::Blob => {
            // Escapes are read into texts of their own, which are copied.
            let mark = limits::needed();
            (0..input.len()).try_for_each(|row| limits::need(size_at(input, row).saturating_mul(2)))?;
            let mut heap = HeapBuilder::new();
            let stored = |b: &[u8]| blob(b).map(|bytes| heap.push(&bytes));
            parsed(input, to, or_null, out, stored)?;
            let size = heap.memory_size();
            out.set_heap(heap.finish());
            limits::give_back(mark);
            out.hold(limits::hold(size)?);
            Ok(())
        }
        LogicalType::Decimal { precision, scale } => {
            let number = |b: &[u8]| parse::decimal(b, *precision, *scale).ok();
            match to.physical() {
                PhysicalType::I16 => parsed(input, to, or_null, out, |b| number(b).map(|v| v as i16)),
                PhysicalType::I32 => parsed(input, to, or_null, out, |b| number(b).map(|v| v as i32)),
                PhysicalType::I64 => parsed(input, to, or_null, out, |b| number(b).map(|v| v as i64)),
                _ => parsed(input, to, or_null, out, number),
            }
        }
        _ => super::by_value(input, to, or_null, out),
    }
}

fn parsed<T: Native>(
    input: &Vector,
    to: &LogicalType,
    or_null: bool,
    out: &mut Vector,
    mut parse: impl FnMut(&[u8]) -> Option<T>,
) -> Result<()> {
    out.reset_flat(to, input.len());
    let heap = input.heap().buffers();
    let mut failed = Vec::new();
    for (row, (target, view)) in out.values_mut::<T>().iter_mut().zip(input.views()).enumerate() {
        *target = T::default();
        if input.is_null(row) {
            continue;
        }
        match parse(view.bytes(heap)) {
            Some(value) => *target = value,
            None if or_null => failed.push(row as u32),
            None => {
                failed.push(row as u32);
                break;
            }
        }
    }
    settle(input, &failed, or_null, out)
}

/// `input` is a flat vector of any type but VARCHAR.
pub(super) fn to_text(input: &Vector, out: &mut Vector) -> Result<()> {
    macro_rules! integers {
        ($t:ty) => {
            shown_shortly(
                input,
                |value: $t| {
                    let (word, len) = short_integer(value.into())?;
                    Some(([word, 0], len))
                },
                |value, text| write_integer(text, value.into()),
            )
        };
    }
    macro_rules! decimals {
        ($t:ty, $scale:expr) => {
            shown_shortly(
                input,
                |value: $t| short_decimal(value.into(), $scale),
                |value, text| write_decimal(text, value.into(), $scale),
            )
        };
    }
    let shown = match input.ty() {
        LogicalType::TinyInt => integers!(i8),
        LogicalType::SmallInt => integers!(i16),
        LogicalType::Integer => integers!(i32),
        LogicalType::BigInt => integers!(i64),
        LogicalType::UTinyInt => integers!(u8),
        LogicalType::USmallInt => integers!(u16),
        LogicalType::UInteger => integers!(u32),
        LogicalType::Decimal { scale, .. } => match input.physical_type() {
            PhysicalType::I16 => decimals!(i16, *scale),
            PhysicalType::I32 => decimals!(i32, *scale),
            PhysicalType::I64 => decimals!(i64, *scale),
            _ => shown(input, |row, text| write_decimal(text, input.stored_i128(row), *scale)),
        },
        LogicalType::Double => {
            let values = input.values::<f64>();
            shown(input, |row, text| write_float(text, values[row], || format!("{:e}", values[row])))
        }
        LogicalType::Boolean => {
            let [no, yes] = [View::inline(b"false"), View::inline(b"true")];
            let views = input.values::<u8>().iter().map(|&value| if value == 0 { no } else { yes }).collect();
            Ok(Vector::flat(
                LogicalType::Varchar,
                input.len(),
                Buffer::from_vec(views),
                None,
                Heap::default(),
            ))
        }
        LogicalType::Time => shown_shortly(input, short_time, |at, text| write_time(text, at)),
        LogicalType::Date => shown_shortly(input, short_date, |days, text| write_date(text, days)),
        LogicalType::Timestamp => shown_shortly(input, short_timestamp, |at, text| write_timestamp(text, at)),
        ty if knows(ty) => {
            let (heap, writer) = (input.heap().buffers(), Writer::of(ty));
            shown(input, |row, text| writer.write(Some(input.views()[row].bytes(heap)), text))
        }
        _ => shown(input, |row, text| {
            // Writing to a String does not fail.
            let _ = write!(text, "{}", input.get(row));
        }),
    };
    *out = shown?;
    settle(input, &[], false, out)
}

/// Whether values of a nested type are written from their bytes.
pub(super) fn knows(ty: &LogicalType) -> bool {
    ty.is_nested() && !matches!(ty, LogicalType::Union(_))
}

/// Bytes of the value at `row` that lie in a heap.
fn size_at(input: &Vector, row: usize) -> usize {
    let view = if input.physical_type() == PhysicalType::View { input.views().get(row) } else { None };
    view.filter(|_| !input.is_null(row)).map_or(0, |view| view.len())
}

/// The packed bytes of the value at `row`, which is carried as a view.
fn bytes_at(input: &Vector, row: usize) -> &[u8] {
    input.views()[row].bytes(input.heap().buffers())
}

/// Bytes that the text of a value of so many bytes has at most, about.
fn text_size(ty: &LogicalType, bytes: &[u8], contents: Contents) -> usize {
    /// Of a number, with what is between it and the next.
    const NUMBER: usize = 16;
    let size = bytes.len();
    match ty {
        LogicalType::Bit => size.saturating_mul(8),
        LogicalType::Blob => {
            let is_escaped = |byte: &&u8| !matches!(byte, b' '..=b'~') || **byte == b'\\';
            2 * size + 3 * bytes.iter().filter(is_escaped).count()
        }
        _ => size.saturating_add(contents.parts.saturating_mul(NUMBER)).saturating_add(contents.names),
    }
}

/// The text at `row`, if it is so long that a message has only its beginning.
pub(super) fn long_text(input: &Vector, row: usize) -> Option<&str> {
    let is_long = *input.ty() == LogicalType::Varchar && size_at(input, row) > LONG;
    let bytes = is_long.then(|| bytes_at(input, row))?;
    std::str::from_utf8(bytes).ok()
}

/// Asks for what it takes to show the value at `row`, which may be long. A text that is full moves to twice the place.
pub(super) fn ask(input: &Vector, row: usize) -> Result<()> {
    let size = size_at(input, row);
    if size < LONG {
        return Ok(());
    }
    let bytes = bytes_at(input, row);
    limits::need(text_size(input.ty(), bytes, Contents::of(input.ty(), bytes)).saturating_mul(2))
}

/// What is shorter is not worth asking.
pub(super) const LONG: usize = 1 << 14;

/// Parts of a text that become parts of a value, at most.
fn parts_of_text(text: &[u8]) -> usize {
    text.iter().filter(|byte| **byte == b',').count() + 1
}

/// Asks for what it takes to write the bytes that the text or document at `row` becomes. Bytes that are full move to twice the place.
pub(super) fn ask_for_bytes(input: &Vector, row: usize, to: &LogicalType) -> Result<()> {
    /// Of an entry of a map, whose keys are told apart.
    const ENTRY: usize = 200;
    let size = size_at(input, row);
    if size < LONG {
        return Ok(());
    }
    let has_map = to.has_part(&|part| matches!(part, LogicalType::Map(_)));
    let part = if has_map { ENTRY } else { 2 * size_of::<u64>() };
    let parts = parts_of_text(bytes_at(input, row)).saturating_mul(part);
    limits::need(size.saturating_mul(2).saturating_add(parts))
}

/// Asks for what it takes to convert the value at `row` by itself: itself, its parts, and those of what it becomes.
pub(super) fn ask_for_value(input: &Vector, row: usize, to: &LogicalType) -> Result<()> {
    /// Of a part as a value, before it is converted and after, and packed.
    const PART: usize = 168;
    /// Of an entry of a map, whose keys are told apart by what they are packed.
    const ENTRY: usize = 3 * PART + 48;
    let size = size_at(input, row);
    if size < LONG {
        return Ok(());
    }
    let (from, bytes) = (input.ty(), bytes_at(input, row));
    if (from, to) == (&LogicalType::Bit, &LogicalType::Blob) {
        return limits::need(size.saturating_mul(3));
    }
    let contents = Contents::of(from, bytes);
    let text = text_size(from, bytes, contents);
    if from.is_nested() && *to == LogicalType::Json {
        let values = contents.parts.saturating_mul(2 * size_of::<Value>());
        let texts = text.saturating_mul(2).saturating_add(text / 2);
        return limits::need(texts.saturating_add(size).saturating_add(values));
    }
    let is_text = matches!(from, LogicalType::Varchar | LogicalType::Json);
    let is_taken_apart = to.is_nested() || *to == LogicalType::Json;
    let parts = if is_text && is_taken_apart { parts_of_text(bytes) } else { contents.parts };
    let part = if matches!(to, LogicalType::Map(_)) { ENTRY } else { PART };
    // As a document it is written once more, in quotes.
    let copies = if *to == LogicalType::Json { 5 } else { 3 };
    limits::need(text.saturating_mul(copies).saturating_add(parts.saturating_mul(part)))
}

/// What [`write_decimal`] writes, for decimals of few digits.
#[inline(always)]
fn short_decimal(unscaled: i64, scale: u8) -> Option<ShortText> {
    /// With a point and a sign they are one word.
    const DIGITS_MAX: usize = 14;
    let scale = usize::from(scale);
    if scale == 0 || scale >= DIGITS_MAX {
        return None;
    }
    let (digits, len) =
        short_digits(unscaled.unsigned_abs(), scale + 1).filter(|(_, len)| *len <= DIGITS_MAX)?;
    let whole = 8 * (len - scale);
    let word = digits & ((1 << whole) - 1) | u128::from(b'.') << whole | digits >> whole << (whole + 8);
    Some(match unscaled < 0 {
        true => ([word << 8 | u128::from(b'-'), 0], len + 2),
        false => ([word, 0], len + 1),
    })
}

/// The text of each value that is not NULL: as `short` makes it, or as `write` appends it.
fn shown_shortly<T: Native>(
    input: &Vector,
    short: impl Fn(T) -> Option<ShortText>,
    write: impl Fn(T, &mut String),
) -> Result<Vector> {
    let (mut heap, mut text, mut size) = (HeapBuilder::new(), String::new(), 0);
    let mut views = Vec::with_capacity(input.len());
    let has_nulls = input.validity().is_some();
    for (row, &value) in input.values::<T>()[..input.len()].iter().enumerate() {
        if has_nulls && input.is_null(row) {
            views.push(View::EMPTY);
            continue;
        }
        let view = match short(value) {
            Some(([word, _], len)) if len <= INLINE_LIMIT => View::of_short_word(word, len),
            Some((words, len)) => heap.push_with(|out| {
                // What is behind the text is taken back: to copy so many bytes needs no call.
                let end = out.len() + len;
                for word in words {
                    out.extend_from_slice(&word.to_le_bytes());
                }
                out.truncate(end);
                Ok::<(), Error>(())
            })?,
            None => {
                text.clear();
                write(value, &mut text);
                heap.push(text.as_bytes())
            }
        };
        size += view.len() + size_of::<View>();
        views.push(view);
    }
    let mut meter = Meter::of_rows();
    meter.add(size)?;
    let made = Vector::flat(LogicalType::Varchar, views.len(), Buffer::from_vec(views), None, heap.finish());
    Ok(made.holding(meter.finish()))
}

/// The text that `write` appends for each row that is not NULL.
fn shown(input: &Vector, write: impl Fn(usize, &mut String)) -> Result<Vector> {
    let (mut heap, mut text, mut meter) = (HeapBuilder::new(), String::new(), Meter::of_rows());
    let mut views = Vec::with_capacity(input.len());
    for row in 0..input.len() {
        text.clear();
        if !input.is_null(row) {
            ask(input, row)?;
            write(row, &mut text);
        }
        meter.add(text.len() + size_of::<View>())?;
        if text.len() < LONG {
            views.push(heap.push(text.as_bytes()));
        } else {
            // It stays where it was written.
            views.push(heap.push_from(&mut std::mem::take(&mut text).into_bytes()));
        }
    }
    let made = Vector::flat(LogicalType::Varchar, views.len(), Buffer::from_vec(views), None, heap.finish());
    Ok(made.holding(meter.finish()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use inlay_types::Bitmap;

    /// Numbers and moments of each width, NULL among them, are shown as single values are.
    #[test]
    fn short_texts_of_columns_are_those_of_single_values() {
        let numbers: Vec<i64> = (0..19)
            .flat_map(|power| [-1, 0, 1, 7].map(|by| 10i64.pow(power) + by))
            .flat_map(|number| [number, -number])
            .chain([i64::MAX, i64::MIN + 1])
            .collect();
        let small: Vec<i32> = numbers.iter().filter_map(|number| i32::try_from(*number).ok()).collect();
        let tiny: Vec<i16> = numbers.iter().filter_map(|number| i16::try_from(*number).ok()).collect();
        let mut columns = vec![
            Vector::from_values(LogicalType::BigInt, &numbers),
            Vector::from_values(LogicalType::Integer, &small),
            Vector::from_values(LogicalType::SmallInt, &tiny),
            Vector::from_values(LogicalType::Timestamp, &numbers),
            Vector::from_values(LogicalType::Date, &small),
        ];
        for scale in [0, 1, 2, 3, 14, 15, 18] {
            let decimal = |precision| LogicalType::Decimal { precision, scale };
            columns.push(Vector::from_values(decimal(18), &numbers[..numbers.len() - 10]));
            if scale <= 9 {
                columns.push(Vector::from_values(decimal(9), &small[..small.len() - 10]));
            }
            if scale <= 4 {
                columns.push(Vector::from_values(decimal(4), &tiny[..tiny.len() - 5]));
            }
        }
        for mut column in columns {
            column.set_validity(Some(Bitmap::from_fn(column.len(), |row| row % 9 != 4)));
            let mut out = Vector::empty(LogicalType::Varchar);
            to_text(&column, &mut out).unwrap();
            for row in 0..column.len() {
                let value = column.get(row);
                let shown = if value.is_null() { Value::Null } else { Value::Varchar(value.to_string()) };
                assert_eq!(out.get(row), shown, "{}", column.ty());
            }
        }
    }
}
