//! Documents as rows: what type their values have in common, and the columns of many documents.
//!
//! [`Shape`] follows DuckDB's rules: whole numbers are BIGINT or HUGEINT, texts that all look like dates, times, moments or
//! UUIDs are those, an array has the shape that its elements have in common, an object is a STRUCT of all its keys, or a
//! MAP where it has none, very many, or mostly others than the next one ([`MapRules`]). Values of kinds that do not go together are JSON.

use super::members::{Places, SEARCHED_MAX, places};
use super::typed::{Columns, Row, Typed};
use super::value::{Json, raw_members};
use super::values::{Fit, as_type, text_of};
use crate::cast::cast_value;
use crate::parse;
use inlay_types::error::kept_text;
use inlay_types::logical_type::Field;
use inlay_types::{Error, LogicalType, Result, Value, Vector, VectorBuilder, limits};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// When objects are maps instead of structs.
#[derive(Clone, Copy, Debug)]
pub struct MapRules {
    /// Objects of at least so many keys are, if their values have a shape in common; `None`: no objects with keys are.
    pub fields_min: Option<usize>,
    /// Objects are, too, whose keys occur in a smaller share of them, on average.
    pub appearance_min: f64,
}

impl Default for MapRules {
    fn default() -> Self {
        Self { fields_min: Some(200), appearance_min: 0.1 }
    }
}

/// What values of documents have in common.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// Nothing but NULL so far.
    Unknown,
    /// Values of one plain type.
    Plain(LogicalType),
    /// Arrays.
    List(Box<Shape>),
    /// Objects.
    Object(Keys),
    /// Values that have nothing in common.
    Any,
}

/// The keys of objects.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Keys {
    /// How many objects there were.
    objects: u64,
    /// In the order in which they came.
    keys: Vec<Key>,
    known: KnownKeys,
}

/// Where the first key of each name is, once there are many. Documents may all have keys of their own.
#[derive(Clone, Debug, Default)]
struct KnownKeys {
    places: HashMap<String, usize>,
    /// How many keys were looked at.
    seen: usize,
}

impl PartialEq for KnownKeys {
    /// It follows from the keys.
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

#[derive(Clone, Debug, PartialEq)]
struct Key {
    name: String,
    shape: Shape,
    /// How many objects have it.
    objects: u64,
}

impl Keys {
    /// Whether the objects are maps, whose values have a shape.
    pub fn map_of(&self, rules: MapRules) -> Option<Shape> {
        if self.keys.is_empty() {
            return rules.fields_min.map(|_| Shape::Any);
        }
        let fields_min = rules.fields_min?;
        let shares = self.keys.iter().map(|key| key.objects as f64 / self.objects as f64);
        let is_rare = shares.sum::<f64>() / (self.keys.len() as f64) < rules.appearance_min;
        if !is_rare && self.keys.len() < fields_min {
            return None;
        }
        let shapes = self.keys.iter().map(|key| key.shape.clone());
        let value = shapes.fold(Shape::Unknown, Shape::joined);
        (is_rare || value != Shape::Any).then_some(value)
    }

    /// Names and shapes of all keys.
    pub fn into_fields(self) -> impl Iterator<Item = (String, Shape)> {
        self.keys.into_iter().map(|key| (key.name, key.shape))
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    fn place(&mut self, name: &str) -> Option<usize> {
        if self.keys.len() <= SEARCHED_MAX {
            return self.keys.iter().position(|known| known.name == name);
        }
        for (place, key) in self.keys.iter().enumerate().skip(self.known.seen) {
            if !self.known.places.contains_key(&key.name) {
                self.known.places.insert(key.name.clone(), place);
            }
        }
        self.known.seen = self.keys.len();
        self.known.places.get(name).copied()
    }

    fn joined(mut self, other: Self) -> Self {
        self.objects += other.objects;
        let mut expected = 0;
        for key in other.keys {
            // Documents mostly have their keys in the same order.
            let place = match self.keys.get(expected) {
                Some(known) if known.name == key.name => Some(expected),
                _ => self.place(&key.name),
            };
            match place.and_then(|place| self.keys.get_mut(place)) {
                Some(known) => {
                    let shape = std::mem::replace(&mut known.shape, Shape::Unknown);
                    known.shape = shape.joined(key.shape);
                    known.objects += key.objects;
                    expected = place.map_or(expected, |place| place + 1);
                }
                None => self.keys.push(key),
            }
        }
        self
    }
}

impl Shape {
    /// The shape of a document, down to `depth` levels.
    pub fn of(document: &str, depth: usize) -> Result<Self> {
        Ok(Self::of_part(&Json::parse(document)?, depth, &mut Self::of_scalar))
    }

    /// The shape of a part, of whose texts, numbers and words, in their order, `scalar` says what they are.
    pub(super) fn of_part(json: &Json<'_>, depth: usize, scalar: &mut impl FnMut(&Json<'_>) -> Self) -> Self {
        match json {
            Json::Array(_) | Json::Object(_) if depth == 0 => Self::Any,
            Json::Array(items) => {
                let shapes = items.iter().map(|item| Self::of_part(item, depth - 1, scalar));
                Self::List(Box::new(shapes.fold(Self::Unknown, Self::joined)))
            }
            Json::Object(members) => {
                let mut keys = Vec::with_capacity(members.len());
                for (name, part) in members {
                    let shape = Self::of_part(part, depth - 1, scalar);
                    keys.push(Key { name: name.to_string(), shape, objects: 1 });
                }
                Self::Object(Keys { objects: 1, keys, known: KnownKeys::default() })
            }
            Json::Null | Json::Bool(_) | Json::Unsigned(_) | Json::Negative(_) => scalar(json),
            Json::Real(_) | Json::Digits(_) | Json::Text(_) => scalar(json),
        }
    }

    fn of_scalar(json: &Json<'_>) -> Self {
        match json {
            Json::Null => Self::Unknown,
            Json::Bool(_) => Self::Plain(LogicalType::Boolean),
            Json::Unsigned(number) if *number > i64::MAX as u64 => Self::Plain(LogicalType::HugeInt),
            Json::Unsigned(_) | Json::Negative(_) => Self::Plain(LogicalType::BigInt),
            Json::Digits(digits) if digits.parse::<i128>().is_ok() => Self::Plain(LogicalType::HugeInt),
            Json::Real(_) | Json::Digits(_) => Self::Plain(LogicalType::Double),
            Json::Text(text) => Self::of_text(text),
            Json::Array(_) | Json::Object(_) => Self::Any,
        }
    }

    /// The shape of a text by what it looks like.
    pub(super) fn of_text(text: &str) -> Self {
        Self::Plain(type_of_text(text))
    }

    /// That of so many documents of this shape.
    pub(super) fn times(self, count: u64) -> Self {
        match self {
            Self::Unknown | Self::Plain(_) | Self::Any => self,
            Self::List(element) => Self::List(Box::new(element.times(count))),
            Self::Object(mut keys) => {
                keys.objects *= count;
                for key in &mut keys.keys {
                    key.shape = std::mem::replace(&mut key.shape, Self::Unknown).times(count);
                    key.objects *= count;
                }
                Self::Object(keys)
            }
        }
    }

    /// What values of both shapes have in common.
    pub fn joined(self, other: Self) -> Self {
        match (self, other) {
            (Self::Unknown, one) | (one, Self::Unknown) => one,
            (Self::Plain(left), Self::Plain(right)) => joined_types(left, right),
            (Self::List(left), Self::List(right)) => Self::List(Box::new(left.joined(*right))),
            (Self::Object(left), Self::Object(right)) => Self::Object(left.joined(right)),
            _ => Self::Any,
        }
    }

    /// The type as which values of the shape are read.
    pub fn logical_type(&self, rules: MapRules) -> LogicalType {
        match self {
            Self::Unknown | Self::Any => LogicalType::Json,
            Self::Plain(ty) if *ty == FAR => LogicalType::Timestamp,
            Self::Plain(ty) => ty.clone(),
            Self::List(element) => LogicalType::list(element.logical_type(rules)),
            Self::Object(keys) if keys.is_empty() && rules.fields_min.is_none() => LogicalType::Json,
            Self::Object(keys) => {
                if let Some(value) = keys.map_of(rules) {
                    return map_of(value.logical_type(rules));
                }
                let lower: std::collections::HashSet<String> =
                    keys.keys.iter().map(|key| key.name.to_lowercase()).collect();
                if lower.len() < keys.keys.len() {
                    return LogicalType::Json;
                }
                let field = |key: &Key| Field::new(key.name.clone(), key.shape.logical_type(rules));
                LogicalType::Struct(keys.keys.iter().map(field).collect())
            }
        }
    }
}

fn map_of(value: LogicalType) -> LogicalType {
    LogicalType::Map(Arc::new((LogicalType::Varchar, value)))
}

/// While documents are looked at, a TIMESTAMP that is too far away for TIMESTAMP_NS.
const FAR: LogicalType = LogicalType::TimestampMs;

fn joined_types(left: LogicalType, right: LogicalType) -> Shape {
    use LogicalType::{BigInt, Double, HugeInt, Timestamp, TimestampNs, Varchar};
    if left == right {
        return Shape::Plain(left);
    }
    let is_text = |ty: &LogicalType| {
        matches!(ty, Varchar | LogicalType::Uuid) || (ty.is_temporal() && *ty != LogicalType::Interval)
    };
    let is_number = |ty: &LogicalType| matches!(ty, BigInt | HugeInt | Double);
    match (&left, &right) {
        (BigInt, HugeInt) | (HugeInt, BigInt) => Shape::Plain(HugeInt),
        (TimestampNs, Timestamp) | (Timestamp, TimestampNs) => Shape::Plain(TimestampNs),
        (Timestamp, far) | (far, Timestamp) if *far == FAR => Shape::Plain(FAR),
        _ if is_number(&left) && is_number(&right) => Shape::Plain(Double),
        _ if is_text(&left) && is_text(&right) => Shape::Plain(Varchar),
        _ => Shape::Any,
    }
}

/// What a text looks like, by its form and its value.
fn type_of_text(text: &str) -> LogicalType {
    let bytes = text.as_bytes();
    let digits = |range: std::ops::Range<usize>| {
        bytes.get(range).is_some_and(|part| part.iter().all(u8::is_ascii_digit))
    };
    let is = |at: usize, wanted: &[u8]| bytes.get(at).is_some_and(|byte| wanted.contains(byte));
    let reads = |ty: LogicalType| cast_value(&Value::Varchar(text.to_string()), &ty).is_ok().then_some(ty);
    let has_date = digits(0..4) && is(4, b"-") && digits(5..7) && is(7, b"-") && digits(8..10);
    let found = if has_date && bytes.len() == 10 {
        if parse::date(bytes).is_some() { Some(LogicalType::Date) } else { reads(LogicalType::Date) }
    } else if has_date && is(10, b" T") && digits(11..13) && is(13, b":") {
        let zone = bytes.get(14..).is_some_and(|rest| rest.iter().any(|byte| b"Zz+-".contains(byte)));
        let found = match (zone, parse::has_nanoseconds(bytes)) {
            (false, true) => reads(LogicalType::TimestampNs),
            (true, true) => None,
            (true, false) => reads(LogicalType::TimestampTz),
            (false, false) if parse::timestamp(bytes).is_some() => Some(LogicalType::Timestamp),
            (false, false) => reads(LogicalType::Timestamp),
        };
        match found {
            Some(LogicalType::Timestamp) if reads(LogicalType::TimestampNs).is_none() => Some(FAR),
            found => found,
        }
    } else if digits(0..2) && is(2, b":") && digits(3..5) && bytes.len() <= 15 {
        reads(LogicalType::Time)
    } else if bytes.len() == 36 && is(8, b"-") && is(13, b"-") {
        reads(LogicalType::Uuid)
    } else {
        None
    };
    found.unwrap_or(LogicalType::Varchar)
}

/// How documents are read that have nothing rare.
enum Fast {
    Whole(Typed),
    Columns(Columns),
    None,
}

impl Fast {
    /// Appends a row; `None`: nothing was appended.
    fn read(&self, document: &str, row: &mut Row, builders: &mut [VectorBuilder]) -> Option<()> {
        match self {
            Self::Whole(typed) => row.read_whole(typed, document)?,
            Self::Columns(columns) => columns.read(document, row)?,
            Self::None => return None,
        }
        for (part, builder) in row.parts().zip(builders) {
            match part {
                Some(part) => builder.push_packed(part),
                None => builder.push_null(),
            }
        }
        Some(())
    }
}

/// How documents become rows.
#[derive(Clone, Debug)]
pub struct RowReader {
    /// Key and type of each column; a column without a key is the document itself.
    pub columns: Vec<(Option<String>, LogicalType)>,
    /// What does not fit is NULL instead of an error.
    pub ignore_errors: bool,
    /// All keys that columns were found for, if that was in some of the documents only: others may have more keys, and values of
    /// other types, neither of which may be lost or changed without a word.
    pub found: Option<Arc<HashSet<String>>>,
}

impl RowReader {
    /// The columns of documents. The error comes with the index of the document that it is about.
    pub fn read<'a>(
        &self,
        documents: impl ExactSizeIterator<Item = &'a str>,
    ) -> std::result::Result<Vec<Vector>, (usize, Error)> {
        let capacity = documents.len();
        let mut builders: Vec<VectorBuilder> =
            self.columns.iter().map(|(_, ty)| VectorBuilder::new(ty.clone(), capacity)).collect();
        let (fast, mut row) = (self.fast(), Row::default());
        for (index, document) in documents.enumerate() {
            if fast.read(document, &mut row, &mut builders).is_some() {
                continue;
            }
            // What a document takes meanwhile is for this one alone.
            let read = limits::step(1, || self.read_document(document, &mut builders));
            read.map_err(|error| (index, error))?;
        }
        Ok(builders.into_iter().map(VectorBuilder::finish).collect())
    }

    /// The way without trees.
    fn fast(&self) -> Fast {
        match &self.columns[..] {
            [(None, ty)] => {
                Fast::Whole(Typed::of(ty, if self.found.is_some() { Fit::ALL_KEYS } else { Fit::PARTS }))
            }
            columns => {
                let keys: Vec<_> =
                    columns.iter().filter_map(|(key, ty)| Some((key.clone()?, ty.clone()))).collect();
                let distinct: HashSet<&String> = keys.iter().map(|(key, _)| key).collect();
                if distinct.len() < columns.len() {
                    return Fast::None;
                }
                let known = self.found.clone().filter(|_| !self.ignore_errors);
                Fast::Columns(Columns::new(keys.into_iter(), known))
            }
        }
    }

    fn read_document(&self, document: &str, builders: &mut [VectorBuilder]) -> Result<()> {
        let json = match Json::parse(document) {
            Ok(json) => json,
            Err(error) if self.ignore_errors && !error.is_of_statement() => Json::Null,
            Err(error) => return Err(error),
        };
        self.read_row(document, &json, builders)
    }

    fn read_row(&self, document: &str, json: &Json<'_>, builders: &mut [VectorBuilder]) -> Result<()> {
        self.check_keys(json)?;
        let is_raw = self.columns.iter().any(|(key, ty)| key.is_some() && *ty == LogicalType::Json);
        let raw = if is_raw { raw_members(document)? } else { Vec::new() };
        let places = if let Json::Object(members) = json { Some(places(members)) } else { None };
        for ((key, ty), builder) in self.columns.iter().zip(builders) {
            let mut place = None;
            let part = match (key, json) {
                (None, whole) => Some(whole),
                (Some(key), Json::Object(members)) => {
                    place = places.as_ref().and_then(|places| places.next(key));
                    place.map(|place| &members[place].1)
                }
                (Some(_), Json::Null) => None,
                (Some(_), _) if self.ignore_errors => None,
                (Some(_), other) => {
                    let message = format!("an object is wanted, not {}", text_of(other));
                    return Err(Error::invalid_argument(message));
                }
            };
            let value = match part {
                None | Some(Json::Null) if *ty != LogicalType::Json || key.is_some() => Value::Null,
                None => Value::Null,
                // JSON stays as it is written.
                Some(_) if *ty == LogicalType::Json && key.is_some() => {
                    // Members are read in the order of the text both times.
                    let written = place.and_then(|place| raw.get(place));
                    written.map_or(Value::Null, |(_, text)| Value::Json((*text).to_string()))
                }
                Some(part) => {
                    if self.found.is_some() && !self.ignore_errors {
                        check_kind(part, ty)?;
                    }
                    as_type(part, ty, if self.ignore_errors { Fit::OR_NULL } else { Fit::PARTS })?
                }
            };
            builder.push(&value)?;
        }
        Ok(())
    }

    /// Fails at a key that no column was found for.
    fn check_keys(&self, json: &Json<'_>) -> Result<()> {
        let (Some(found), Json::Object(members), false) = (&self.found, json, self.ignore_errors) else {
            return Ok(());
        };
        if found.is_empty() {
            // The document itself is the column.
            return Ok(());
        }
        match members.iter().find(|(name, part)| *part != Json::Null && !found.contains(&**name)) {
            Some((name, _)) => Err(unknown_key(name)),
            None => Ok(()),
        }
    }
}

fn unknown_key(name: &str) -> Error {
    Error::invalid_argument(format!(
        "the key \"{name}\" is in none of the documents that the columns were found out from"
    ))
}

/// Fails where a value would become another one of the type that others have: a truth value a number, a fraction a whole number;
/// and at keys that the type has no field for.
pub(super) fn check_kind(json: &Json<'_>, ty: &LogicalType) -> Result<()> {
    let wrong = || Err(Error::InvalidCast { value: kept_text(&text_of(json)), to: ty.to_string() });
    match (json, ty) {
        (Json::Bool(_), ty) if ty.is_numeric() => wrong(),
        (Json::Unsigned(_) | Json::Negative(_) | Json::Real(_) | Json::Digits(_), LogicalType::Boolean) => {
            wrong()
        }
        (Json::Real(value), ty) if ty.is_integer() && value.fract() != 0.0 => wrong(),
        (Json::Digits(digits), ty) if ty.is_integer() && digits.contains(['.', 'e', 'E']) => wrong(),
        (Json::Array(items), LogicalType::List(element)) => {
            items.iter().try_for_each(|item| check_kind(item, element))
        }
        (Json::Object(members), LogicalType::Map(types)) => {
            members.iter().try_for_each(|(_, part)| check_kind(part, &types.1))
        }
        (Json::Object(members), LogicalType::Struct(fields)) => {
            let places = Places::new(fields.len(), |at| &*fields[at].name);
            members.iter().try_for_each(|(name, part)| {
                match places.next(name).and_then(|at| fields.get(at)) {
                    Some(field) => check_kind(part, &field.ty),
                    None if *part == Json::Null => Ok(()),
                    None => Err(unknown_key(name)),
                }
            })
        }
        _ => Ok(()),
    }
}
