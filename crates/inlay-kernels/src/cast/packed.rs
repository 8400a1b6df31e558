//! Casts that write the bytes of a value where it lies, for what has no loop of its own otherwise: documents as nested values, texts
//! as lists of numbers, integers as bits.
//!
//! Each leaves to the cast of single values whatever is rare or wrong.

use crate::json::pattern::PartFinder;
use crate::json::scan::Scanned;
use crate::json::typed::Typed;
use crate::json::values::Fit;
use crate::parse;
use inlay_types::nested::fixed_width;
use inlay_types::nested::write::insert_validity;
use inlay_types::view::INLINE_LIMIT;
use inlay_types::{Buffer, Heap, LogicalType, Vector, View, multiversion};

/// How values of one type become bytes of another.
pub(super) enum Packed {
    Json(Typed),
    /// Lists of elements of this type.
    Numbers(LogicalType),
    /// Integers of so many bytes.
    Bits(usize),
}

impl Packed {
    /// For a cast between two types; `None`: there is nothing of the kind.
    pub(super) fn of(from: &LogicalType, to: &LogicalType) -> Option<Self> {
        match (from, to) {
            (LogicalType::Json, to) if to.is_nested() || Typed::knows(to) => {
                Some(Self::Json(Typed::of(to, Fit::ALL_KEYS)))
            }
            (LogicalType::Varchar, LogicalType::List(element)) => {
                let element = &**element;
                matches!(element, LogicalType::Integer | LogicalType::BigInt | LogicalType::Double)
                    .then(|| Self::Numbers(element.clone()))
            }
            (from, LogicalType::Bit) if from.is_integer() && from.physical().size() <= 8 => {
                Some(Self::Bits(from.physical().size()))
            }
            _ => None,
        }
    }

    /// Appends the bytes of a row of a flat vector that is not NULL; whether there is a value, or NULL. `None`, with nothing
    /// that counts appended: the cast of single values has to say.
    pub(super) fn push(&self, input: &Vector, row: usize, out: &mut Vec<u8>) -> Option<bool> {
        let text = || input.views()[row].bytes(input.heap().buffers());
        match self {
            Self::Json(typed) => typed.push_document(std::str::from_utf8(text()).ok()?, out),
            Self::Numbers(element) => push_numbers(text(), element, out).map(|()| true),
            Self::Bits(width) => {
                out.extend_from_slice(bits_of(input.stored_i128(row) as u64, *width).bytes(&[]));
                Some(true)
            }
        }
    }
}

/// Whether a flat vector is of the other type as it is: documents are texts, and texts may all be documents.
pub(super) fn is_the_same(input: &Vector, to: &LogicalType) -> bool {
    match (input.ty(), to) {
        (LogicalType::Json, LogicalType::Varchar) => true,
        (LogicalType::Varchar, LogicalType::Json) => are_documents(input),
        (LogicalType::Varchar, LogicalType::Blob) => are_plain_bytes(input),
        _ => false,
    }
}

fn are_documents(input: &Vector) -> bool {
    let (heap, mut finder) = (input.heap().buffers(), PartFinder::default());
    input.views().iter().enumerate().all(|(row, view)| {
        input.is_null(row) || matches!(finder.part_at(view.bytes(heap), None), Scanned::Part(_))
    })
}

/// Whether the texts of a flat vector are the bytes that they stand for: ASCII without escapes.
fn are_plain_bytes(input: &Vector) -> bool {
    const HIGH: u64 = u64::MAX / 0xFF * 0x80;
    const ESCAPES: u64 = u64::MAX / 0xFF * b'\\' as u64;
    // A byte that is zero borrows from the next one, which matters to nobody: one is enough.
    let of_word = |word: u64| {
        let escape = word ^ ESCAPES;
        word | (escape.wrapping_sub(u64::MAX / 0xFF) & !escape)
    };
    let heap = input.heap().buffers();
    input.views()[..input.len()].chunks(1024).all(|views| {
        let seen = views.iter().fold(0, |seen, view| {
            let bytes = view.bytes(heap);
            let Some(last) = bytes.last_chunk::<8>() else {
                return seen | of_word(bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)));
            };
            let words = bytes.as_chunks::<8>().0.iter().chain([last]);
            words.fold(seen, |seen, word| seen | of_word(u64::from_le_bytes(*word)))
        });
        seen & HIGH == 0
    })
}

fn trimmed(mut text: &[u8]) -> &[u8] {
    while let [b' ', rest @ ..] | [rest @ .., b' '] = text {
        text = rest;
    }
    text
}

/// A list of numbers as they are mostly written.
fn push_numbers(text: &[u8], element: &LogicalType, out: &mut Vec<u8>) -> Option<()> {
    let [b'[', body @ .., b']'] = trimmed(text) else { return None };
    let width = fixed_width(element)?;
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    let (mut count, mut nulls) = (0u32, Vec::new());
    if !trimmed(body).is_empty() {
        for part in body.split(|byte| *byte == b',') {
            let part = trimmed(part);
            if part.eq_ignore_ascii_case(b"null") {
                nulls.push(count);
                out.resize(out.len() + width, 0);
            } else {
                push_number(part, element, out)?;
            }
            count = count.checked_add(1).filter(|count| *count <= i32::MAX as u32)?;
        }
    }
    out[start..start + 4].copy_from_slice(&count.to_le_bytes());
    insert_validity(&nulls, start, out);
    Some(())
}

fn push_number(text: &[u8], element: &LogicalType, out: &mut Vec<u8>) -> Option<()> {
    let is_plain = |byte: &u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
    if text.is_empty() || !text.iter().all(is_plain) {
        return None;
    }
    match element {
        LogicalType::Integer => {
            let number = i32::try_from(parse::int(text).ok()?).ok()?;
            out.extend_from_slice(&number.to_le_bytes());
        }
        LogicalType::BigInt => {
            let number = i64::try_from(parse::int(text).ok()?).ok()?;
            out.extend_from_slice(&number.to_le_bytes());
        }
        LogicalType::Double => out.extend_from_slice(&(parse::double(text)? + 0.0).to_le_bytes()),
        _ => return None,
    }
    Some(())
}

/// Integers of `width` bytes as bits, which fit into views.
pub(super) fn as_bits(input: &Vector, width: usize, to: &LogicalType) -> Vector {
    let mut views = vec![View::EMPTY; input.len()];
    // Those with a sign have the same bits.
    match width {
        1 => all_bits::<u8>(input.values(), &mut views),
        2 => all_bits::<u16>(input.values(), &mut views),
        4 => all_bits::<u32>(input.values(), &mut views),
        0 | 3 | 5.. => all_bits::<u64>(input.values(), &mut views),
    }
    let validity = input.validity().cloned();
    if let Some(validity) = &validity {
        let nulls = views.iter_mut().enumerate().filter(|(row, _)| !validity.get(*row));
        nulls.for_each(|(_, view)| *view = View::EMPTY);
    }
    Vector::flat(to.clone(), input.len(), Buffer::from_vec(views), validity, Heap::default())
}

multiversion! {
    /// The bits of integers of one width.
    fn all_bits[T: Copy + Into<u64>](values: &[T], views: &mut [View]) {
        for (index, view) in views.iter_mut().enumerate() {
            *view = bits_of(values[index].into(), size_of::<T>());
        }
    }
}

/// The bits of an integer, as [`inlay_types::bit::from_bits`] packs them: seven to a byte, each but the last with a bit more.
#[inline(always)]
fn bits_of(number: u64, width: usize) -> View {
    let count = 8 * width;
    let groups = count.div_ceil(7);
    // The first bit of the number is the highest of the word.
    let rest = number << (64 - count);
    let byte = |at: usize| {
        if at < groups {
            (rest << (7 * at)) >> 57 << 1 | u64::from(at + 1 < groups)
        } else if at == groups {
            (count - (groups - 1) * 7) as u64
        } else {
            0
        }
    };
    let (mut head, mut tail) = ((groups + 1) as u64, 0);
    for at in 0..4 {
        head |= byte(at) << (32 + 8 * at);
    }
    for at in 4..INLINE_LIMIT {
        tail |= byte(at) << (8 * (at - 4));
    }
    View { head, tail }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cast::cast_value;
    use inlay_types::Value;
    use inlay_types::nested::write::push_value;

    fn check(value: &Value, to: &LogicalType) -> bool {
        let input = Vector::from_sql_values(value.logical_type(), std::slice::from_ref(value)).unwrap();
        let mut found = Vec::new();
        let Some(is_there) = Packed::of(input.ty(), to).unwrap().push(&input, 0, &mut found) else {
            return false;
        };
        let expected = cast_value(value, to).unwrap();
        assert_eq!(is_there, !expected.is_null(), "{value} as {to}");
        if is_there {
            let mut packed = Vec::new();
            push_value(to, &expected, &mut packed).unwrap();
            assert_eq!(found, packed, "{value} as {to}");
        }
        true
    }

    /// Texts with something to be read at each place of a word, or nothing.
    #[test]
    fn texts_without_escapes_are_their_bytes() {
        let texts = |texts: &[String]| {
            let values: Vec<Value> = texts.iter().map(|text| Value::Varchar(text.as_str().into())).collect();
            Vector::from_sql_values(LogicalType::Varchar, &values).unwrap()
        };
        for len in 0..40 {
            let plain: String = (0..len).map(|at| char::from(b'0' + at as u8 * 2)).collect();
            assert_eq!(
                is_the_same(&texts(std::slice::from_ref(&plain)), &LogicalType::Blob),
                !plain.contains('\\')
            );
            let plain = plain.replace('\\', "]");
            assert!(is_the_same(
                &texts(&["".into(), plain.clone(), "\u{0}\u{7F}".into()]),
                &LogicalType::Blob
            ));
            for at in 0..len {
                for other in ["\\x00", "\\", "\u{80}", "ü", "日"] {
                    let text = format!("{}{other}{}", &plain[..at], &plain[at + 1..]);
                    let input = texts(&[plain.clone(), text.clone()]);
                    assert!(!is_the_same(&input, &LogicalType::Blob), "{text}");
                }
            }
        }
    }

    #[test]
    fn packed_casts_are_those_of_values() {
        use LogicalType as T;
        for element in [T::Integer, T::BigInt, T::Double] {
            let ty = T::list(element);
            for text in
                ["[1, 2, 3]", " [ 1 ,NULL, -7] ", "[]", "[ ]", "[null]", "[2147483647,-2147483648]", "[007]"]
            {
                assert!(check(&Value::Varchar(text.into()), &ty), "{text}");
            }
            for text in
                ["", "[", "[]]", "[1,]", "[,]", "[x]", "['1']", "[1 2]", "[[1]]", "[1]x", "[\"1\"]", "[\t1]"]
            {
                if cast_value(&Value::Varchar(text.into()), &ty).is_err() {
                    let input = Vector::from_sql_values(T::Varchar, &[Value::Varchar(text.into())]).unwrap();
                    assert!(Packed::of(&T::Varchar, &ty).unwrap().push(&input, 0, &mut Vec::new()).is_none());
                } else {
                    check(&Value::Varchar(text.into()), &ty);
                }
            }
        }
        for number in [0i64, 1, -1, 5, i64::MAX, i64::MIN] {
            assert!(check(&Value::BigInt(number), &T::Bit));
            assert!(check(&Value::Integer(number as i32), &T::Bit));
            assert!(check(&Value::SmallInt(number as i16), &T::Bit));
            assert!(check(&Value::TinyInt(number as i8), &T::Bit));
            assert!(check(&Value::UBigInt(number as u64), &T::Bit));
            assert!(check(&Value::UTinyInt(number as u8), &T::Bit));
        }
        let structure = T::structure([("a", T::Integer), ("b", T::list(T::Varchar))]);
        assert!(check(&Value::Json(r#"{"b": ["x", null], "a": 7}"#.into()), &structure));
        assert!(check(&Value::Json("null".into()), &structure));
    }
}
