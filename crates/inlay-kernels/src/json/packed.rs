//! Packed nested values as JSON, without a tree of values between: [`super::values::write`] of the value that they are.

use super::compact::push_compact;
use super::value::quote_bytes;
use super::values::{self, is_plain, push_value};
use inlay_types::append::{push_eight, push_short};
use inlay_types::datetime::{write_date, write_timestamp};
use inlay_types::digits::{few_digits, push_integer};
use inlay_types::nested::Sequence;
use inlay_types::nested::read::{StructLayout, map_parts, value};
use inlay_types::value::{push_decimal, write_float};
use inlay_types::{LogicalType, Value};

/// How values of a type are written.
pub enum Writer {
    /// Integers of so many bytes.
    Signed,
    /// Those without a sign.
    Unsigned,
    /// `true` and `false`.
    Boolean,
    /// DOUBLE.
    Double,
    /// Numbers as their texts.
    Number,
    /// DECIMAL of a scale.
    Decimal(u8),
    /// DATE.
    Date,
    /// TIMESTAMP.
    Timestamp,
    /// Texts in quotes.
    Text,
    /// Documents, which are written already, without the space between their parts.
    Document,
    /// Lists and arrays of elements of a type.
    List(LogicalType, Box<Writer>),
    /// Structs without names.
    Row(StructLayout, Vec<Writer>),
    /// Structs: keys in quotes with a colon.
    Object(StructLayout, Vec<(Vec<u8>, Writer)>),
    /// Maps: types and how values are written.
    Map(Box<(LogicalType, LogicalType)>, Box<Writer>),
    /// Whatever else: by its value.
    Other(LogicalType),
}

impl Writer {
    /// Of values of a type.
    pub fn of(ty: &LogicalType) -> Self {
        use LogicalType as T;
        match ty {
            T::TinyInt | T::SmallInt | T::Integer | T::BigInt => Self::Signed,
            T::UTinyInt | T::USmallInt | T::UInteger => Self::Unsigned,
            T::Boolean => Self::Boolean,
            T::Double => Self::Double,
            T::Decimal { scale, .. } => Self::Decimal(*scale),
            T::Date => Self::Date,
            T::Timestamp => Self::Timestamp,
            T::Varchar => Self::Text,
            T::Json => Self::Document,
            T::List(element) | T::Array(element, _) => {
                Self::List((**element).clone(), Box::new(Self::of(element)))
            }
            T::Struct(fields) => {
                let layout = StructLayout::new(fields);
                if fields.iter().all(|field| field.name.is_empty()) {
                    return Self::Row(layout, fields.iter().map(|field| Self::of(&field.ty)).collect());
                }
                let named = fields.iter().map(|field| {
                    let mut key = Vec::new();
                    quote_bytes(field.name.as_bytes(), &mut key);
                    key.push(b':');
                    (key, Self::of(&field.ty))
                });
                Self::Object(layout, named.collect())
            }
            T::Map(types) => Self::Map(Box::new((**types).clone()), Box::new(Self::of(&types.1))),
            other => Self::Other(other.clone()),
        }
    }

    /// Appends a value; `null` for NULL.
    pub fn write(&self, bytes: Option<&[u8]>, out: &mut Vec<u8>) {
        let Some(bytes) = bytes else { return out.extend_from_slice(b"null") };
        match self {
            Self::Signed => push_integer(out, signed(bytes)),
            Self::Unsigned => push_integer(out, unsigned(bytes)),
            Self::Boolean => {
                out.extend_from_slice(if bytes.first() == Some(&1) { b"true" } else { b"false" })
            }
            Self::Double => {
                let (number, mut text) = (f64::from_bits(unsigned(bytes) as u64), String::new());
                write_float(&mut text, number, || format!("{number:e}"));
                push_value(&text, true, out);
            }
            Self::Decimal(scale) => push_decimal(out, wide(bytes), *scale),
            Self::Date => quoted(out, |text| write_date(text, signed(bytes) as i32)),
            Self::Timestamp => quoted(out, |text| write_timestamp(text, signed(bytes))),
            // Most are as they are in documents.
            Self::Number if bytes.iter().all(|byte| matches!(byte, b'-' | b'.' | b'0'..=b'9')) => {
                push_short(out, bytes);
            }
            Self::Number => push_value(&String::from_utf8_lossy(bytes), true, out),
            Self::Text => quote_bytes(bytes, out),
            Self::Document => push_compact(out, bytes),
            Self::List(element, writer) => {
                let list = Sequence::new(element, bytes);
                out.push(b'[');
                if let (Self::Signed, Some(run), true) = (&**writer, list.fixed(), list.has_no_nulls()) {
                    push_integers(run, list.len(), out);
                } else {
                    for index in 0..list.len() {
                        separate(index, out);
                        writer.write(list.get(index), out);
                    }
                }
                out.push(b']');
            }
            Self::Row(layout, writers) => {
                out.push(b'[');
                for (index, writer) in writers.iter().enumerate() {
                    separate(index, out);
                    writer.write(layout.field(bytes, index), out);
                }
                out.push(b']');
            }
            Self::Object(layout, members) => {
                out.push(b'{');
                for (index, (key, writer)) in members.iter().enumerate() {
                    separate(index, out);
                    push_short(out, key);
                    writer.write(layout.field(bytes, index), out);
                }
                out.push(b'}');
            }
            Self::Map(types, writer) => {
                let (keys, values) = map_parts(types, bytes);
                out.push(b'{');
                for index in 0..keys.len().min(values.len()) {
                    separate(index, out);
                    match types.0 {
                        LogicalType::Varchar => quote_bytes(keys.bytes(index), out),
                        _ => quote_bytes(value(&types.0, keys.bytes(index)).to_string().as_bytes(), out),
                    }
                    out.push(b':');
                    writer.write(values.get(index), out);
                }
                out.push(b'}');
            }
            Self::Other(ty) => write_value(&value(ty, bytes), out),
        }
    }
}

/// Appends what `write` writes.
fn with_text(out: &mut Vec<u8>, write: impl FnOnce(&mut String)) {
    let mut text = String::new();
    write(&mut text);
    out.extend_from_slice(text.as_bytes());
}

/// The same in quotes; there is nothing to be escaped.
fn quoted(out: &mut Vec<u8>, write: impl FnOnce(&mut String)) {
    out.push(b'"');
    with_text(out, write);
    out.push(b'"');
}

/// An integer of 16 bytes at most with its sign.
fn wide(bytes: &[u8]) -> i128 {
    match bytes.first_chunk() {
        Some(raw) => i128::from_le_bytes(*raw),
        None => i128::from(signed(bytes)),
    }
}

/// Appends so many integers, which lie in `run`, with commas between.
fn push_integers(run: &[u8], count: usize, out: &mut Vec<u8>) {
    // One comma more than there has to be, which is taken back.
    let mut push = |value: i64| match few_digits(value) {
        Some((word, len)) if len < 8 => push_eight(out, word | u64::from(b',') << (8 * len), len + 1),
        Some(_) | None => {
            push_integer(out, value);
            out.push(b',');
        }
    };
    match run.len() / count.max(1) {
        4 => {
            let values = run.as_chunks().0.iter().map(|raw| i64::from(i32::from_le_bytes(*raw)));
            values.for_each(&mut push);
        }
        8 => {
            let values = run.as_chunks().0.iter().map(|raw| i64::from_le_bytes(*raw));
            values.for_each(&mut push);
        }
        width => {
            let values = run.chunks_exact(width.max(1)).map(signed);
            values.for_each(&mut push);
        }
    }
    if out.last() == Some(&b',') {
        out.pop();
    }
}

#[inline(always)]
fn separate(index: usize, out: &mut Vec<u8>) {
    if index > 0 {
        out.push(b',');
    }
}

fn write_value(shown: &Value, out: &mut Vec<u8>) {
    if shown.logical_type().is_nested() {
        let mut text = String::new();
        values::write(shown, &mut text);
        return out.extend_from_slice(text.as_bytes());
    }
    push_value(&shown.to_string(), is_plain(&shown.logical_type()), out);
}

/// An integer of 8 bytes at most with its sign.
fn signed(bytes: &[u8]) -> i64 {
    let unused = 64 - 8 * bytes.len().min(8) as u32;
    unsigned(bytes).checked_shl(unused).unwrap_or(0) >> unused.min(63)
}

/// An integer of 8 bytes at most.
fn unsigned(bytes: &[u8]) -> i64 {
    let mut raw = [0; 8];
    let size = bytes.len().min(8);
    raw[..size].copy_from_slice(&bytes[..size]);
    i64::from_le_bytes(raw)
}

#[cfg(test)]
mod tests {
    use super::*;
    use inlay_types::Field;
    use inlay_types::nested::write::push_value as pack;
    use std::sync::Arc;

    #[test]
    fn packed_values_are_written_as_values_are() {
        use LogicalType as T;
        let list = |element: T, values: Vec<Value>| Value::List { element: Arc::new(element), values };
        let scalars = vec![
            Value::TinyInt(-128),
            Value::SmallInt(i16::MIN),
            Value::Integer(-7),
            Value::BigInt(i64::MIN),
            Value::BigInt(i64::MAX),
            Value::UTinyInt(255),
            Value::UInteger(u32::MAX),
            Value::UBigInt(u64::MAX),
            Value::HugeInt(i128::MAX),
            Value::Boolean(true),
            Value::Boolean(false),
            Value::Double(1e300),
            Value::Double(f64::NAN),
            Value::Real(0.1),
            Value::Decimal { unscaled: -125, precision: 5, scale: 2 },
            Value::Varchar("with \"quotes\" and ü\n".into()),
            Value::Json("{\"a\": 1,\n\"b\": \"c  d\"}".into()),
            Value::Date(19_000),
            Value::Timestamp(1_234_567_890),
        ];
        for scalar in scalars {
            let ty = scalar.logical_type();
            let fields: Arc<[Field]> =
                Arc::from([Field::new("a \"b\"", ty.clone()), Field::new("c", T::list(ty.clone()))]);
            let unnamed: Arc<[Field]> = fields.iter().map(|field| Field::new("", field.ty.clone())).collect();
            let values = vec![scalar.clone(), list(ty.clone(), vec![scalar.clone(), Value::Null])];
            let full = list(ty.clone(), vec![scalar.clone(), scalar.clone(), scalar.clone()]);
            let types = Arc::new((T::Varchar, ty.clone()));
            let entries = vec![("x".into(), scalar.clone()), ("y".into(), Value::Null)];
            let entries = entries
                .into_iter()
                .map(|(key, value): (String, Value)| (Value::Varchar(key), value))
                .collect();
            for value in [
                Value::Struct { fields, values: values.clone() },
                Value::Struct { fields: unnamed, values },
                list(ty.clone(), Vec::new()),
                full,
                Value::Map { types, entries },
            ] {
                let ty = value.logical_type();
                let (mut packed, mut found, mut expected) = (Vec::new(), Vec::new(), String::new());
                pack(&ty, &value, &mut packed).unwrap();
                Writer::of(&ty).write(Some(&packed), &mut found);
                values::write(&value, &mut expected);
                assert_eq!(String::from_utf8(found).unwrap(), expected, "{ty}");
            }
        }
    }
}
