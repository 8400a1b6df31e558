//! Documents as packed values of a type, without a tree and without values between.
//!
//! The text of a part is passed over by the scanner of [`super::scan`] and its bytes are written where they belong. Whatever is
//! rare (escapes, numbers of other forms) and whatever does not fit is left to [`super::values::as_type`], which says what is
//! right, or what is wrong: then `None` comes back, and what was written is to be thrown away. Keys are read in any order: an
//! object is passed over once to find its parts, which are then read in the order of the fields.

use super::documents::check_kind;
use super::scan::{Scanner, is_name};
use super::value::Json;
use super::values::{Fit, as_type};
use crate::parse;
use inlay_types::append::{push_short, push_word};
use inlay_types::nested::fixed_width;
use inlay_types::nested::write::{FieldPlaces, insert_ends, insert_validity, push_value};
use inlay_types::{LogicalType, Value};
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Fields of which the places are kept on the stack.
const FIELDS_FEW: usize = 16;

/// How documents become values of a type.
#[derive(Clone, Debug)]
pub struct Typed {
    kind: Kind,
    ty: LogicalType,
}

#[derive(Clone, Debug)]
enum Kind {
    Text,
    Document,
    Boolean,
    /// Integers of so many bytes, with a sign or not.
    Integer(usize, bool),
    Double,
    Date,
    Timestamp,
    List(Box<Typed>),
    Struct(Box<Fields>),
    /// Whatever else: by its value, which may have to be of the type's kind.
    Other(Fit),
}

/// The fields of a struct, or the columns of a document.
#[derive(Clone, Debug)]
struct Fields {
    names: Vec<Box<str>>,
    fields: Vec<Typed>,
    places: FieldPlaces,
    /// Keys that are no fields, or that were there before, are not passed over.
    is_closed: bool,
    /// Fields without a key are not passed over.
    is_whole: bool,
    /// Keys came in another order than that of the fields: they are not expected in that one again, so that nested values are read
    /// twice a few times at most.
    is_unordered: Arc<AtomicBool>,
}

/// Where the value of each field begins, in a text of less than 4 GiB.
type Starts = [u32];

const NOWHERE: u32 = u32::MAX;

impl Typed {
    /// Of values of a type. With [`Fit::ALL_KEYS`] neither objects with keys that a struct has no field for are read nor values
    /// that would become others of the type, as truth values would numbers.
    pub fn of(ty: &LogicalType, fit: Fit) -> Self {
        use LogicalType as T;
        let kind = match ty {
            T::Varchar => Kind::Text,
            T::Json => Kind::Document,
            T::Boolean => Kind::Boolean,
            T::TinyInt | T::SmallInt | T::Integer | T::BigInt => Kind::Integer(ty.physical().size(), true),
            T::UTinyInt | T::USmallInt | T::UInteger | T::UBigInt => {
                Kind::Integer(ty.physical().size(), false)
            }
            T::Double => Kind::Double,
            T::Date => Kind::Date,
            T::Timestamp => Kind::Timestamp,
            T::List(element) => Kind::List(Box::new(Self::of(element, fit))),
            T::Struct(fields) if !ty.is_tuple() => Kind::Struct(Box::new(Fields {
                names: fields.iter().map(|field| Box::from(&*field.name)).collect(),
                fields: fields.iter().map(|field| Self::of(&field.ty, fit)).collect(),
                places: FieldPlaces::new(fields),
                is_closed: !fit.passes_keys(),
                is_whole: !fit.passes_fields(),
                is_unordered: Arc::default(),
            })),
            _ => Kind::Other(fit),
        };
        Self { kind, ty: ty.clone() }
    }

    /// Whether there is a way for the type that is none for any other.
    pub fn knows(ty: &LogicalType) -> bool {
        !matches!(Self::of(ty, Fit::PARTS).kind, Kind::Other(_))
    }

    /// Appends the value that a document describes; whether there is one, or NULL. `None`: that is for others to say.
    pub fn push_document(&self, text: &str, out: &mut Vec<u8>) -> Option<bool> {
        self.push_scanned(Scanner::new(text), out)
    }

    /// The same of a document that is UTF-8, or read as if its texts that are not were wrong: not all of it has to be looked at.
    pub fn push_bytes(&self, document: &[u8], out: &mut Vec<u8>) -> Option<bool> {
        self.push_scanned(Scanner::of_bytes(document), out)
    }

    fn push_scanned(&self, mut scanner: Scanner<'_>, out: &mut Vec<u8>) -> Option<bool> {
        let start = out.len();
        let found = self.push(&mut scanner, 0, out).filter(|_| scanner.is_at_end());
        if found.is_none() {
            out.truncate(start);
        }
        found
    }

    fn push(&self, scanner: &mut Scanner<'_>, depth: usize, out: &mut Vec<u8>) -> Option<bool> {
        scanner.space();
        let first = scanner.peek()?;
        if first == b'n' {
            scanner.skip(depth)?;
            return Some(false);
        }
        match &self.kind {
            Kind::Text => {
                let raw = scanner.raw(depth)?;
                match raw.plain_text() {
                    Some(text) => push_short(out, text.as_bytes()),
                    None if first == b'"' => return None,
                    None => raw.write(out).then_some(())?,
                }
            }
            Kind::Document => scanner.raw(depth)?.write(out).then_some(())?,
            Kind::Boolean => {
                scanner.skip(depth)?;
                out.push(match first {
                    b't' => 1,
                    b'f' => 0,
                    _ => return None,
                });
            }
            Kind::Integer(width, is_signed) => push_integer(scanner.integer()?, *width, *is_signed, out)?,
            Kind::Double => {
                let raw = scanner.raw(depth)?;
                matches!(first, b'-' | b'0'..=b'9').then_some(())?;
                let number: f64 = fast_float2::parse(raw.text).ok()?;
                // Packed values have no zero with a sign, and columns have.
                (number != 0.0 || first != b'-').then_some(())?;
                out.extend_from_slice(&number.to_le_bytes());
            }
            Kind::Date => {
                let days = parse::date(scanner.raw(depth)?.plain_text()?.as_bytes())?;
                out.extend_from_slice(&days.to_le_bytes());
            }
            Kind::Timestamp => {
                let micros = parse::timestamp(scanner.raw(depth)?.plain_text()?.as_bytes())?;
                out.extend_from_slice(&micros.to_le_bytes());
            }
            Kind::List(element) if first == b'[' => push_list(element, scanner, depth, out)?,
            Kind::Struct(fields) if first == b'{' => fields.push(scanner, depth, out)?,
            Kind::List(_) | Kind::Struct(_) => return None,
            Kind::Other(fit) => {
                let json = Json::parse(scanner.raw(depth)?.text).ok()?;
                if !fit.passes_keys() {
                    check_kind(&json, &self.ty).ok()?;
                }
                let value = as_type(&json, &self.ty, *fit).ok()?;
                if value.is_null() {
                    return Some(false);
                }
                if matches!(value, Value::Real(number) if number == 0.0 && first == b'-') {
                    return None;
                }
                push_value(&self.ty, &value, out).ok()?;
            }
        }
        Some(true)
    }
}

fn push_integer(number: i64, width: usize, is_signed: bool, out: &mut Vec<u8>) -> Option<()> {
    let bits = 8 * width as u32;
    let fits = match (is_signed, bits) {
        (true, 64..) => true,
        (true, _) => number >> (bits - 1) == 0 || number >> (bits - 1) == -1,
        (false, 64..) => number >= 0,
        (false, _) => number >> bits == 0,
    };
    fits.then(|| push_word(out, u128::from(number as u64), width))
}

/// A list whose elements are counted while they are written: what stands before them is put in its place at the end.
fn push_list(element: &Typed, scanner: &mut Scanner<'_>, depth: usize, out: &mut Vec<u8>) -> Option<()> {
    let width = fixed_width(&element.ty);
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    let (mut count, mut ends, mut nulls): (u32, Vec<u32>, Vec<u32>) = (0, Vec::new(), Vec::new());
    scanner.items(depth, |scanner| {
        if !element.push(scanner, depth + 1, out)? {
            nulls.push(count);
            out.resize(out.len() + width.unwrap_or(0), 0);
        }
        count += 1;
        if width.is_none() {
            ends.push(u32::try_from(out.len() - start - 4).ok()?);
        }
        Some(())
    })?;
    if i32::try_from(count).is_err() {
        return None;
    }
    out[start..start + 4].copy_from_slice(&count.to_le_bytes());
    insert_ends(&ends, start + 4, out);
    insert_validity(&nulls, start, out);
    Some(())
}

impl Fields {
    fn push(&self, scanner: &mut Scanner<'_>, depth: usize, out: &mut Vec<u8>) -> Option<()> {
        if self.is_unordered.load(Ordering::Relaxed) {
            return self.push_in_any_order(scanner, depth, out);
        }
        let (start, from) = (out.len(), scanner.at);
        let found = self.push_in_order(scanner, depth, out);
        if found.is_some() || !self.is_unordered.load(Ordering::Relaxed) {
            return found;
        }
        out.truncate(start);
        scanner.at = from;
        self.push_in_any_order(scanner, depth, out)
    }

    /// Keys mostly come in the order of the fields: each value is read where it is passed over.
    fn push_in_order(&self, scanner: &mut Scanner<'_>, depth: usize, out: &mut Vec<u8>) -> Option<()> {
        let (mut is_first, mut is_done) = (true, false);
        let place_of = |name: &[u8]| place_of(&self.names, usize::MAX, name);
        self.places.push(out, |index, out| {
            while !is_done {
                let name = scanner.next_member(depth, std::mem::take(&mut is_first))?;
                let Some(name) = name else {
                    is_done = true;
                    break;
                };
                match place_of(name) {
                    Some(place) if place == index => return self.fields[index].push(scanner, depth + 1, out),
                    Some(place) if place > index => {
                        self.is_unordered.store(true, Ordering::Relaxed);
                        return None;
                    }
                    // A key that was there before: the first one counts.
                    Some(_) if !self.is_closed => {}
                    Some(_) => return None,
                    None if self.is_closed && scanner.peek()? != b'n' => return None,
                    None => {}
                }
                scanner.skip(depth + 1)?;
            }
            (!self.is_whole).then_some(false)
        })?;
        while !is_done && let Some(name) = scanner.next_member(depth, std::mem::take(&mut is_first))? {
            if self.is_closed && (place_of(name).is_some() || scanner.peek()? != b'n') {
                return None;
            }
            scanner.skip(depth + 1)?;
        }
        Some(())
    }

    fn push_in_any_order(&self, scanner: &mut Scanner<'_>, depth: usize, out: &mut Vec<u8>) -> Option<()> {
        let mut few = [NOWHERE; FIELDS_FEW];
        let mut many = Vec::new();
        let starts: &mut Starts = match few.get_mut(..self.names.len()) {
            Some(few) => few,
            None => {
                many.resize(self.names.len(), NOWHERE);
                &mut many
            }
        };
        self.find(scanner, depth, starts, |_| !self.is_closed)?;
        let mut part = scanner.clone();
        self.places.push(out, |index, out| {
            if starts[index] == NOWHERE {
                return (!self.is_whole).then_some(false);
            }
            part.at = starts[index] as usize;
            self.fields[index].push(&mut part, depth + 1, out)
        })
    }

    /// Passes over an object and notes where the value of each field begins: the first one of its name. Other keys have to be
    /// known, or their values null.
    fn find(
        &self,
        scanner: &mut Scanner<'_>,
        depth: usize,
        starts: &mut Starts,
        is_known: impl Fn(&[u8]) -> bool,
    ) -> Option<()> {
        let mut expected = 0;
        scanner.members(depth, |scanner, name| {
            let place = place_of(&self.names, expected, name);
            scanner.space();
            match place {
                Some(place) => {
                    expected = place + 1;
                    if starts[place] == NOWHERE {
                        starts[place] = u32::try_from(scanner.at).ok()?;
                    } else if self.is_closed {
                        return None;
                    }
                }
                None if is_known(name) || scanner.peek()? == b'n' => {}
                None => return None,
            }
            scanner.skip(depth + 1)
        })
    }
}

/// Which of some names is meant, mostly the expected one.
#[inline]
fn place_of(names: &[Box<str>], expected: usize, name: &[u8]) -> Option<usize> {
    let is_meant = |known: &str| is_name(name, known.as_bytes());
    if names.get(expected).is_some_and(|known| is_meant(known)) {
        return Some(expected);
    }
    names.iter().position(|known| is_meant(known))
}

/// The columns of documents that are objects.
#[derive(Debug)]
pub struct Columns {
    fields: Fields,
    /// Keys that documents may have beside those of the columns; `None`: any.
    known: Option<Arc<HashSet<String>>>,
}

impl Columns {
    /// Columns with these keys and types; with `known` those of other keys are not read.
    pub fn new(
        columns: impl Iterator<Item = (String, LogicalType)>,
        known: Option<Arc<HashSet<String>>>,
    ) -> Self {
        let fit = if known.is_some() { Fit::ALL_KEYS } else { Fit::PARTS };
        let (names, fields) = columns.map(|(name, ty)| (name.into_boxed_str(), Typed::of(&ty, fit))).unzip();
        let places = FieldPlaces::new(&[]);
        Self {
            fields: Fields {
                names,
                fields,
                places,
                is_closed: false,
                is_whole: false,
                is_unordered: Arc::default(),
            },
            known,
        }
    }

    /// Reads what each column has of a document. `None`: that is for others to say.
    pub fn read(&self, text: &str, row: &mut Row) -> Option<()> {
        let mut scanner = Scanner::new(text);
        scanner.space();
        (scanner.peek()? == b'{').then_some(())?;
        let is_unordered = || self.fields.is_unordered.load(Ordering::Relaxed);
        if !is_unordered() {
            let found = self.read_in_order(&mut scanner.clone(), row);
            if found.is_some() || !is_unordered() {
                return found;
            }
        }
        row.clear(self.fields.names.len());
        self.fields.find(&mut scanner, 0, &mut row.starts, |name| self.is_known(name))?;
        scanner.is_at_end().then_some(())?;
        for (place, start) in row.starts.iter().enumerate() {
            let mut is_there = false;
            if *start != NOWHERE {
                let mut part = scanner.clone();
                part.at = *start as usize;
                is_there = self.push_column(place, &mut part, &mut row.bytes)?;
            }
            row.ends.push((row.bytes.len(), !is_there));
        }
        Some(())
    }

    /// Keys mostly come in the order of the columns: each value is read where it is passed over.
    fn read_in_order(&self, scanner: &mut Scanner<'_>, row: &mut Row) -> Option<()> {
        let names = &self.fields.names;
        row.clear(names.len());
        let (mut is_first, mut expected) = (true, 0);
        while let Some(name) = scanner.next_member(0, std::mem::take(&mut is_first))? {
            let place = place_of(names, expected, name);
            match place {
                Some(place) if place >= expected => {
                    // Those between have no value so far.
                    row.ends.resize(place, (row.bytes.len(), true));
                    row.starts[place] = 0;
                    let is_there = self.push_column(place, scanner, &mut row.bytes)?;
                    row.ends.push((row.bytes.len(), !is_there));
                    expected = place + 1;
                }
                Some(place) if row.starts[place] == NOWHERE => {
                    self.fields.is_unordered.store(true, Ordering::Relaxed);
                    return None;
                }
                // A key that was there before: the first one counts.
                Some(_) => scanner.skip(1)?,
                None if !self.is_known(name) && scanner.peek()? != b'n' => return None,
                None => scanner.skip(1)?,
            }
        }
        row.ends.resize(names.len(), (row.bytes.len(), true));
        scanner.is_at_end().then_some(())
    }

    /// Whether documents may have a key.
    fn is_known(&self, name: &[u8]) -> bool {
        let is_among =
            |known: &HashSet<String>| std::str::from_utf8(name).is_ok_and(|name| known.contains(name));
        self.known.as_deref().is_none_or(is_among)
    }

    /// Appends the value of a column; whether there is one, or NULL.
    fn push_column(&self, place: usize, scanner: &mut Scanner<'_>, out: &mut Vec<u8>) -> Option<bool> {
        let field = &self.fields.fields[place];
        if !matches!(field.kind, Kind::Document) {
            return field.push(scanner, 1, out);
        }
        // A column of documents has them as they are written.
        let raw = scanner.raw(1)?;
        let is_there = raw.text != "null";
        out.extend_from_slice(if is_there { raw.text.as_bytes() } else { b"" });
        Some(is_there)
    }
}

/// What the columns have of one document.
#[derive(Default)]
pub struct Row {
    starts: Vec<u32>,
    bytes: Vec<u8>,
    ends: Vec<(usize, bool)>,
}

impl Row {
    fn clear(&mut self, columns: usize) {
        self.starts.clear();
        self.starts.resize(columns, NOWHERE);
        self.bytes.clear();
        self.ends.clear();
    }

    /// Reads a document that is the only column.
    pub fn read_whole(&mut self, typed: &Typed, text: &str) -> Option<()> {
        self.bytes.clear();
        self.ends.clear();
        let is_there = typed.push_document(text, &mut self.bytes)?;
        self.ends.push((self.bytes.len(), !is_there));
        Some(())
    }

    /// The packed bytes of each column, `None` where it is NULL.
    pub fn parts(&self) -> impl Iterator<Item = Option<&[u8]>> {
        let mut from = 0;
        self.ends.iter().map(move |&(to, is_null)| {
            let part = &self.bytes[from..to];
            from = to;
            (!is_null).then_some(part)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use inlay_types::Value;

    fn by_tree(text: &str, ty: &LogicalType, fit: Fit) -> Option<Value> {
        as_type(&Json::parse(text).ok()?, ty, fit).ok()
    }

    fn check(text: &str, ty: &LogicalType) -> bool {
        let fits = [Fit::ALL_KEYS, Fit::ALL_FIELDS, Fit::PARTS];
        fits.into_iter().fold(false, |_, fit| check_fit(text, ty, fit))
    }

    fn check_fit(text: &str, ty: &LogicalType, fit: Fit) -> bool {
        let mut out = b"before".to_vec();
        let found = Typed::of(ty, fit).push_document(text, &mut out);
        let Some(is_there) = found else {
            assert_eq!(out, b"before", "{text}");
            return false;
        };
        let expected = by_tree(text, ty, fit);
        assert!(expected.is_some(), "{text} is no {ty}");
        let expected = expected.unwrap_or(Value::Null);
        assert_eq!(is_there, !expected.is_null(), "{text} as {ty}");
        if is_there {
            let mut packed = b"before".to_vec();
            push_value(ty, &expected, &mut packed).unwrap();
            assert_eq!(out, packed, "{text} as {ty}");
        }
        true
    }

    fn types() -> Vec<LogicalType> {
        use LogicalType as T;
        let inner = T::structure([("x", T::list(T::Integer)), ("t", T::Varchar)]);
        vec![
            T::structure([("a", T::Integer), ("b", inner.clone()), ("l", T::list(T::BigInt))]),
            T::structure([("l", T::list(T::Varchar)), ("a", T::Double), ("d", T::Date)]),
            T::list(inner),
            T::list(T::list(T::Double)),
            T::Varchar,
            T::Json,
            T::UTinyInt,
            T::SmallInt,
            T::structure([("a", T::decimal(5, 2)), ("b", T::Json), ("l", T::HugeInt), ("t", T::Timestamp)]),
        ]
    }

    #[test]
    fn values_are_those_of_trees() {
        let documents = [
            r#"{"a": 1, "b": {"t": "x", "x": [1, null, 3]}, "l": [1, 2]}"#,
            r#" { "l" : ["a", null, "long enough for a heap"] , "a" : -0.0 , "a" : 2, "d": "2024-02-29" } "#,
            r#"[{"t": "x"}, {"x": []}, null, {"x": [-2147483648, 2147483647]}]"#,
            r#"[[1, 2.5], [], [null], null, [1e300, -0]]"#,
            r#""a text""#,
            r#""with \"escapes\"""#,
            "255",
            "256",
            "-1",
            "12345678901234567890",
            "1.50",
            "true",
            "null",
            r#"{"a": "7", "b": [1,  {"c": 2}], "l": 5, "t": "2024-02-29 10:00:00"}"#,
            r#"{"a": true, "b": [], "l": {}}"#,
            r#"{"a": 1} x"#,
            r#"{"a": 1"#,
            "",
        ];
        for ty in types() {
            for text in documents {
                check(text, &ty);
                for at in 0..text.len() {
                    for byte in *b"\"\\{}[],:0 a-.n" {
                        let mut damaged = text.as_bytes().to_vec();
                        damaged[at] = byte;
                        if let Ok(damaged) = String::from_utf8(damaged) {
                            check(&damaged, &ty);
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn most_documents_are_read_here() {
        let types = types();
        assert!(check(r#"{"a": 1, "b": {"t": "x", "x": [1, null, 3]}, "l": [1, 2]}"#, &types[0]));
        assert!(check(
            r#"{"l": ["a", null, "long enough for a heap"], "a": -1.5, "d": "2024-02-29"}"#,
            &types[1]
        ));
        assert!(check(r#"[[1, 2.5], [], [null], null, [1e300, -1]]"#, &types[3]));
    }

    #[test]
    fn columns_are_read_in_any_order() {
        let columns = [("a".to_string(), LogicalType::Integer), ("b".to_string(), LogicalType::Varchar)];
        let open = Columns::new(columns.clone().into_iter(), None);
        let mut row = Row::default();
        assert!(open.read(r#"{"x": [1], "b": "t", "a": 5}"#, &mut row).is_some());
        assert_eq!(row.parts().collect::<Vec<_>>(), [Some(&5i32.to_le_bytes()[..]), Some(&b"t"[..])]);
        assert!(open.read(r#"{"b": null}"#, &mut row).is_some());
        assert_eq!(row.parts().collect::<Vec<_>>(), [None, None]);
        // In order again, with keys that are missing, unknown or there twice.
        let open = Columns::new(columns.clone().into_iter(), None);
        let documents = [
            (
                r#"{"a": 5, "x": {}, "b": "t", "a": 6, "b": null}"#,
                [Some(&5i32.to_le_bytes()[..]), Some(&b"t"[..])],
            ),
            (r#"{"x": [1], "b": "t"}"#, [None, Some(&b"t"[..])]),
            (r#"{"a": 7}"#, [Some(&7i32.to_le_bytes()[..]), None]),
            (" {} ", [None, None]),
            (r#"{"b": "t", "a": 5}"#, [Some(&5i32.to_le_bytes()[..]), Some(&b"t"[..])]),
        ];
        for (text, expected) in documents {
            assert!(open.read(text, &mut row).is_some(), "{text}");
            assert_eq!(row.parts().collect::<Vec<_>>(), expected, "{text}");
        }
        assert!(open.read("[1]", &mut row).is_none() && open.read(r#"{"a": 1"#, &mut row).is_none());
        let known = Arc::new(HashSet::from(["a".to_string(), "b".to_string(), "c".to_string()]));
        let closed = Columns::new(columns.into_iter(), Some(known));
        assert!(closed.read(r#"{"a": 5, "c": 1, "d": null}"#, &mut row).is_some());
        assert!(closed.read(r#"{"a": 5, "d": 1}"#, &mut row).is_none());
    }
}
