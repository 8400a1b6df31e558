//! Values: what columns give and functions are given, in the forms that programs ask for.

use crate::failure::{MISMATCH, Outcome, export, failed};
use crate::pointers::{Handle, release, slice_of};
use inlay::Value;
use inlay::types::nearest::nearest_f64;
use inlay::types::{Field, LogicalType};
use std::cell::OnceCell;
use std::ffi::{c_char, c_int, c_void};
use std::sync::{Arc, LazyLock};

pub const INTEGER: c_int = 1;
pub const FLOAT: c_int = 2;
pub const TEXT: c_int = 3;
pub const BLOB: c_int = 4;
pub const NULL: c_int = 5;

/// A value of SQLite's.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    Null,
    Integer(i64),
    Real(f64),
    Text(String),
    Blob(Vec<u8>),
}

/// The type of what may be any of them: what functions of the program give.
pub static ANY: LazyLock<LogicalType> = LazyLock::new(|| {
    let members = [
        Field::new("integer", LogicalType::BigInt),
        Field::new("real", LogicalType::Double),
        Field::new("text", LogicalType::Varchar),
        Field::new("blob", LogicalType::Blob),
    ];
    LogicalType::Union(Arc::from(members))
});

impl Cell {
    /// A value of the engine's.
    pub fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Boolean(truth) => Self::Integer(i64::from(*truth)),
            Value::Double(real) => Self::real(*real),
            Value::Real(real) => Self::real(f64::from(*real)),
            Value::Varchar(text) | Value::Json(text) => Self::Text(text.clone()),
            Value::Blob(bytes) => Self::Blob(bytes.clone()),
            Value::Union { value, .. } => Self::of(value),
            Value::Decimal { unscaled, scale, .. } => Self::real(nearest_f64(*unscaled, *scale)),
            other => match other.as_i128() {
                Some(number) => i64::try_from(number).map_or(Self::Real(number as f64), Self::Integer),
                None => Self::Text(other.to_string()),
            },
        }
    }

    /// SQLite has no NaN.
    fn real(value: f64) -> Self {
        if value.is_nan() { Self::Null } else { Self::Real(value) }
    }

    /// As a value of the engine's.
    pub fn value(&self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Integer(number) => Value::BigInt(*number),
            Self::Real(real) => Value::Double(*real),
            Self::Text(text) => Value::Varchar(text.clone()),
            Self::Blob(bytes) => Value::Blob(bytes.clone()),
        }
    }

    /// The same of a cell that nobody needs any more.
    pub fn into_value(self) -> Value {
        match self {
            Self::Text(text) => Value::Varchar(text),
            Self::Blob(bytes) => Value::Blob(bytes),
            Self::Null | Self::Integer(_) | Self::Real(_) => self.value(),
        }
    }

    /// As one of [`ANY`].
    pub fn any(&self) -> Value {
        let LogicalType::Union(members) = &*ANY else { return Value::Null };
        let tag = match self {
            Self::Null => return Value::Null,
            Self::Integer(_) => 0,
            Self::Real(_) => 1,
            Self::Text(_) => 2,
            Self::Blob(_) => 3,
        };
        Value::Union { members: Arc::clone(members), tag, value: Box::new(self.value()) }
    }

    pub fn kind(&self) -> c_int {
        match self {
            Self::Null => NULL,
            Self::Integer(_) => INTEGER,
            Self::Real(_) => FLOAT,
            Self::Text(_) => TEXT,
            Self::Blob(_) => BLOB,
        }
    }

    pub fn integer(&self) -> i64 {
        match self {
            Self::Null => 0,
            Self::Integer(number) => *number,
            Self::Real(real) => *real as i64,
            Self::Text(text) => integer_of(text),
            Self::Blob(bytes) => integer_of(&String::from_utf8_lossy(bytes)),
        }
    }

    pub fn real_value(&self) -> f64 {
        match self {
            Self::Null => 0.0,
            Self::Integer(number) => *number as f64,
            Self::Real(real) => *real,
            Self::Text(text) => real_of(text),
            Self::Blob(bytes) => real_of(&String::from_utf8_lossy(bytes)),
        }
    }

    /// The bytes of it as text; none of NULL.
    pub fn text(&self) -> Option<Vec<u8>> {
        match self {
            Self::Null => None,
            Self::Integer(number) => Some(number.to_string().into_bytes()),
            Self::Real(real) => Some(real_text(*real).into_bytes()),
            Self::Text(text) => Some(text.clone().into_bytes()),
            Self::Blob(bytes) => Some(bytes.clone()),
        }
    }

    /// It as it is written in a statement.
    pub fn sql(&self) -> String {
        match self {
            Self::Null => "NULL".to_string(),
            Self::Integer(number) => number.to_string(),
            Self::Real(real) => exact_text(*real),
            Self::Text(text) => crate::lexer::literal(text),
            Self::Blob(bytes) => {
                let digits: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
                format!("x'{}'", digits.concat())
            }
        }
    }
}

/// A number with 15 digits, as SQLite writes it.
pub fn real_text(value: f64) -> String {
    if value.is_infinite() {
        return if value > 0.0 { "Inf" } else { "-Inf" }.to_string();
    }
    let scientific = format!("{value:.14e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-5..15).contains(&exponent) {
        let places = usize::try_from(14 - exponent).unwrap_or(0);
        let mut text = format!("{value:.places$}");
        if text.contains('.') {
            text.truncate(text.trim_end_matches('0').len());
        }
        if text.ends_with('.') {
            text.push('0');
        } else if !text.contains('.') {
            text.push_str(".0");
        }
        return text;
    }
    let mut digits = digits.trim_end_matches('0').to_string();
    if digits.ends_with('.') {
        digits.push('0');
    }
    format!("{digits}e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs())
}

/// A number with as many digits as it takes to read it back.
fn exact_text(value: f64) -> String {
    let short = real_text(value);
    if value.is_infinite() || short.parse() == Ok(value) {
        return short;
    }
    let long = format!("{value:.16e}");
    let (digits, exponent) = long.split_once('e').unwrap_or((&long, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    format!("{digits}e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs())
}

/// The number that a text begins with, as far as it is one.
pub fn prefix_of(text: &str) -> &str {
    let text = text.trim_start();
    let bytes = text.as_bytes();
    let digits = |from: usize| from + bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let start = usize::from(matches!(bytes.first(), Some(b'+' | b'-')));
    let mut end = digits(start);
    let mut count = end - start;
    if bytes.get(end) == Some(&b'.') {
        let behind = digits(end + 1);
        count += behind - end - 1;
        if count > 0 {
            end = behind;
        }
    }
    if count == 0 {
        return "";
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let behind = digits(end + 1 + sign);
        if behind > end + 1 + sign {
            end = behind;
        }
    }
    &text[..end]
}

fn real_of(text: &str) -> f64 {
    prefix_of(text).parse().unwrap_or(0.0)
}

/// The integer that a text begins with.
pub fn integer_of(text: &str) -> i64 {
    let text = text.trim_start();
    let start = usize::from(text.starts_with(['+', '-']));
    let end = start + text.bytes().skip(start).take_while(u8::is_ascii_digit).count();
    let digits = &text[..end];
    match digits.parse() {
        Ok(number) => number,
        Err(_) if end == start => 0,
        Err(_) => {
            if digits.starts_with('-') {
                i64::MIN
            } else {
                i64::MAX
            }
        }
    }
}

/// A number if the whole text is one: what NUMERIC makes of texts.
pub fn numeric_of(text: &str) -> Cell {
    let prefix = prefix_of(text);
    let number: Cell = match prefix.parse::<i64>() {
        Ok(number) => Cell::Integer(number),
        Err(_) => match prefix.parse::<f64>() {
            Ok(real) if real.fract() == 0.0 && real.abs() < 9.0e15 => Cell::Integer(real as i64),
            Ok(real) => Cell::Real(real),
            Err(_) => Cell::Integer(0),
        },
    };
    number
}

/// A value, as programs hold it.
pub struct sqlite3_value {
    pub cell: Cell,
    text: OnceCell<Vec<u8>>,
    wide: OnceCell<Vec<u16>>,
}

impl sqlite3_value {
    pub fn new(cell: Cell) -> Self {
        Self { cell, text: OnceCell::new(), wide: OnceCell::new() }
    }

    /// Its text, with NUL behind it; stays as long as the value.
    pub fn c_text(&self) -> *const c_char {
        if self.cell == Cell::Null {
            return std::ptr::null();
        }
        let text = self.text.get_or_init(|| {
            let mut bytes = self.cell.text().unwrap_or_default();
            bytes.push(0);
            bytes
        });
        text.as_ptr().cast()
    }

    fn wide_text(&self) -> *const c_void {
        if self.cell == Cell::Null {
            return std::ptr::null();
        }
        let wide = self.wide.get_or_init(|| {
            let bytes = self.cell.text().unwrap_or_default();
            crate::pointers::to_utf16(&String::from_utf8_lossy(&bytes))
        });
        wide.as_ptr().cast()
    }

    /// Its bytes; NULL if there are none.
    pub fn blob(&self) -> *const c_void {
        match &self.cell {
            Cell::Blob(bytes) if bytes.is_empty() => std::ptr::null(),
            Cell::Blob(bytes) => bytes.as_ptr().cast(),
            _ => self.c_text().cast(),
        }
    }

    pub fn bytes(&self) -> c_int {
        let size = match &self.cell {
            Cell::Null => 0,
            Cell::Text(text) => text.len(),
            Cell::Blob(bytes) => bytes.len(),
            Cell::Integer(_) | Cell::Real(_) => {
                self.c_text();
                self.text.get().map_or(0, |text| text.len().saturating_sub(1))
            }
        };
        c_int::try_from(size).unwrap_or(c_int::MAX)
    }

    pub fn wide_bytes(&self) -> c_int {
        self.wide_text();
        self.wide.get().map_or(0, |wide| c_int::try_from((wide.len() - 1) * 2).unwrap_or(c_int::MAX))
    }

    pub fn wide(&self) -> *const c_void {
        self.wide_text()
    }
}

/// What is said of a text that no value can be.
pub const NOT_UTF8: &str = "a text that is not UTF-8 cannot be stored";

/// A text of so many bytes, or up to its NUL.
pub fn text_cell(text: *const c_char, bytes: i64) -> Outcome<Cell> {
    if text.is_null() {
        return Ok(Cell::Null);
    }
    let bytes = match usize::try_from(bytes) {
        Ok(bytes) => slice_of(text.cast(), bytes),
        Err(_) => crate::pointers::bytes_of(text).unwrap_or_default(),
    };
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(Cell::Text(text.to_string())),
        Err(_) => Err(failed(MISMATCH, NOT_UTF8)),
    }
}

type V<'a> = Handle<'a, sqlite3_value>;

export! {
    /// The kind of a value.
    fn sqlite3_value_type(value: V<'_>) -> c_int [NULL] { value.map_or(NULL, |value| value.cell.kind()) }

    /// The kind of a value, of a text that is a number that of the number.
    fn sqlite3_value_numeric_type(value: V<'_>) -> c_int [NULL] {
        let Some(value) = value else { return NULL };
        match &value.cell {
            Cell::Text(text) if prefix_of(text).len() == text.trim().len() && !text.trim().is_empty() => {
                if text.trim().parse::<i64>().is_ok() { INTEGER } else { FLOAT }
            }
            other => other.kind(),
        }
    }

    /// A value as an integer.
    fn sqlite3_value_int64(value: V<'_>) -> i64 [0] { value.map_or(0, |value| value.cell.integer()) }

    /// A value as an integer.
    fn sqlite3_value_int(value: V<'_>) -> c_int [0] { value.map_or(0, |value| value.cell.integer() as c_int) }

    /// A value as a number.
    fn sqlite3_value_double(value: V<'_>) -> f64 [0.0] { value.map_or(0.0, |value| value.cell.real_value()) }

    /// A value as text.
    fn sqlite3_value_text(value: V<'_>) -> *const c_char [std::ptr::null()] {
        value.map_or(std::ptr::null(), sqlite3_value::c_text)
    }

    /// A value as UTF-16.
    fn sqlite3_value_text16(value: V<'_>) -> *const c_void [std::ptr::null()] {
        value.map_or(std::ptr::null(), sqlite3_value::wide_text)
    }

    /// A value as UTF-16.
    fn sqlite3_value_text16le(value: V<'_>) -> *const c_void [std::ptr::null()] {
        value.map_or(std::ptr::null(), sqlite3_value::wide_text)
    }

    /// A value as bytes.
    fn sqlite3_value_blob(value: V<'_>) -> *const c_void [std::ptr::null()] {
        value.map_or(std::ptr::null(), sqlite3_value::blob)
    }

    /// The bytes of a value.
    fn sqlite3_value_bytes(value: V<'_>) -> c_int [0] { value.map_or(0, sqlite3_value::bytes) }

    /// The bytes of a value as UTF-16.
    fn sqlite3_value_bytes16(value: V<'_>) -> c_int [0] { value.map_or(0, sqlite3_value::wide_bytes) }

    /// A copy of a value, which belongs to the program.
    fn sqlite3_value_dup(value: V<'_>) -> *mut sqlite3_value [std::ptr::null_mut()] {
        value.map_or(std::ptr::null_mut(), |value| crate::pointers::handle(sqlite3_value::new(value.cell.clone())))
    }

    /// Frees a copy.
    fn sqlite3_value_free(value: *mut sqlite3_value) -> () [()] { release(value) }

    /// Never a column that UPDATE leaves: there are no virtual tables.
    fn sqlite3_value_nochange(_value: V<'_>) -> c_int [0] { 0 }

    /// Whether it was bound; not known.
    fn sqlite3_value_frombind(_value: V<'_>) -> c_int [0] { 0 }

    /// UTF-8.
    fn sqlite3_value_encoding(_value: V<'_>) -> c_int [1] { 1 }

    /// There are none.
    fn sqlite3_value_subtype(_value: V<'_>) -> u32 [0] { 0 }

    /// There are none.
    fn sqlite3_value_pointer(_value: V<'_>, _name: *const c_char) -> *mut c_void [std::ptr::null_mut()] {
        std::ptr::null_mut()
    }
}
