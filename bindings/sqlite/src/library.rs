//! SQLite's own functions, as far as Inlay has none of the same meaning: they are functions of the database under names that begin with
//! `sqlite_`, and [`crate::respell`] calls them.

use crate::clock;
use crate::value::{Cell, numeric_of, real_text};
use inlay::external::{Callee, ExternalFunction, FunctionDefinition, FunctionKind, Kept};
use inlay::types::{LogicalType, Vector, VectorBuilder};
use inlay::{Database, Error, ErrorKind, NullHandling, Result, Volatility};
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

type Body = fn(&[Cell]) -> std::result::Result<Cell, String>;

/// A function: its name, its value's type, whether it gives the same for the same, and what it does with a row.
struct Own {
    name: &'static str,
    returns: LogicalType,
    pure: bool,
    body: Body,
}

const fn own(name: &'static str, returns: LogicalType, body: Body) -> Own {
    Own { name, returns, pure: true, body }
}

const fn impure(name: &'static str, returns: LogicalType, body: Body) -> Own {
    Own { name, returns, pure: false, body }
}

const ALL: [Own; 26] = [
    own("sqlite_fit_integer", LogicalType::BigInt, fit_integer),
    own("sqlite_typeof", LogicalType::Varchar, kind),
    impure("sqlite_strftime", LogicalType::Varchar, clock::strftime),
    impure("sqlite_date", LogicalType::Varchar, |args| clock::formatted("%Y-%m-%d", args)),
    impure("sqlite_time", LogicalType::Varchar, |args| clock::formatted("%H:%M:%S", args)),
    impure("sqlite_datetime", LogicalType::Varchar, |args| clock::formatted("%Y-%m-%d %H:%M:%S", args)),
    impure("sqlite_julianday", LogicalType::Double, clock::julianday),
    impure("sqlite_unixepoch", LogicalType::BigInt, clock::unixepoch),
    own("sqlite_printf", LogicalType::Varchar, printf),
    own("sqlite_hex", LogicalType::Varchar, |args| Ok(Cell::Text(hex(args)))),
    own("sqlite_quote", LogicalType::Varchar, |args| {
        Ok(Cell::Text(args.first().map_or(String::new(), Cell::sql)))
    }),
    own("sqlite_char", LogicalType::Varchar, |args| {
        let char =
            |cell: &Cell| u32::try_from(cell.integer()).ok().and_then(char::from_u32).unwrap_or('\u{fffd}');
        Ok(Cell::Text(args.iter().map(char).collect()))
    }),
    impure("sqlite_random", LogicalType::BigInt, |_| Ok(Cell::Integer(random() as i64))),
    impure("sqlite_randomblob", LogicalType::Blob, |args| {
        let size = size_of_blob(args)?.max(1);
        let mut bytes: Vec<u8> = (0..size.div_ceil(8)).flat_map(|_| random().to_le_bytes()).collect();
        bytes.truncate(size);
        Ok(Cell::Blob(bytes))
    }),
    own("sqlite_zeroblob", LogicalType::Blob, |args| Ok(Cell::Blob(vec![0; size_of_blob(args)?]))),
    own("sqlite_length", LogicalType::BigInt, length),
    own("sqlite_soundex", LogicalType::Varchar, |args| Ok(Cell::Text(soundex(args)))),
    own("sqlite_library_version", LogicalType::Varchar, |_| {
        Ok(Cell::Text(crate::absent::VERSION.to_string()))
    }),
    own("sqlite_library_source", LogicalType::Varchar, |_| Ok(Cell::Text(crate::absent::SOURCE.to_string()))),
    own("sqlite_option_used", LogicalType::BigInt, |_| Ok(Cell::Integer(0))),
    own("sqlite_option_get", LogicalType::Varchar, |_| Ok(Cell::Null)),
    own("sqlite_to_integer", LogicalType::BigInt, |args| {
        Ok(match args {
            [Cell::Null] | [] => Cell::Null,
            [Cell::Real(real), ..] => Cell::Integer(*real as i64),
            [cell, ..] => Cell::Integer(cell.integer()),
        })
    }),
    own("sqlite_to_real", LogicalType::Double, |args| {
        Ok(match args {
            [Cell::Null] | [] => Cell::Null,
            [cell, ..] => Cell::Real(cell.real_value()),
        })
    }),
    own("sqlite_to_numeric", LogicalType::Double, |args| {
        Ok(match args {
            [Cell::Null] | [] => Cell::Null,
            [Cell::Text(text), ..] => Cell::Real(numeric_of(text).real_value()),
            [cell, ..] => Cell::Real(cell.real_value()),
        })
    }),
    own("sqlite_to_text", LogicalType::Varchar, |args| {
        Ok(match args {
            [Cell::Null] | [] => Cell::Null,
            [cell, ..] => Cell::Text(
                String::from_utf8(cell.text().unwrap_or_default())
                    .map_err(|_| crate::value::NOT_UTF8.to_string())?,
            ),
        })
    }),
    own("sqlite_to_blob", LogicalType::Blob, |args| {
        Ok(match args {
            [Cell::Null] | [] => Cell::Null,
            [cell, ..] => Cell::Blob(cell.text().unwrap_or_default()),
        })
    }),
];

#[derive(Debug)]
struct Called {
    returns: LogicalType,
    body: Body,
}

impl ExternalFunction for Called {
    fn call(&self, args: &[Vector], len: usize, _kept: &Kept) -> Result<Vector> {
        let mut builder = VectorBuilder::new(self.returns.clone(), len);
        for row in 0..len {
            let cells: Vec<Cell> = args.iter().map(|arg| Cell::of(&arg.get(row))).collect();
            builder.push(&(self.body)(&cells).map_err(Error::external)?.value())?;
        }
        Ok(builder.finish())
    }
}

/// Makes the functions of a database, unless they are there.
pub fn install(database: &Database) -> Result<()> {
    for function in &ALL {
        let definition = FunctionDefinition {
            is_variadic: true,
            volatility: if function.pure { Volatility::Immutable } else { Volatility::Volatile },
            null_handling: NullHandling::Special,
            ..FunctionDefinition::of_host(
                function.name,
                FunctionKind::Scalar,
                Vec::new(),
                function.returns.clone(),
            )
        };
        let callee = Called { returns: function.returns.clone(), body: function.body };
        match database.create_function(definition, Callee::Scalar(Arc::new(callee))) {
            // The first of a database's connections made them all.
            Err(error) if error.kind() == ErrorKind::Duplicate => return Ok(()),
            outcome => outcome?,
        }
    }
    Ok(())
}

/// A value on its way into a column of integers, and the name of the column.
fn fit_integer(args: &[Cell]) -> std::result::Result<Cell, String> {
    let (value, name) =
        (args.first().unwrap_or(&Cell::Null), args.get(1).and_then(Cell::text).unwrap_or_default());
    let number = match value {
        Cell::Text(text) if crate::value::prefix_of(text).len() == text.trim().len() => numeric_of(text),
        other => other.clone(),
    };
    match number {
        Cell::Null | Cell::Integer(_) => Ok(number),
        Cell::Real(real) if real.fract() == 0.0 && real.abs() < 9.0e18 => Ok(Cell::Integer(real as i64)),
        Cell::Real(_) | Cell::Text(_) | Cell::Blob(_) => {
            let name = String::from_utf8_lossy(&name).into_owned();
            Err(format!("column {name} of type BIGINT cannot hold {}", value.sql()))
        }
    }
}

/// The size of a blob that is asked for; none below zero.
fn size_of_blob(args: &[Cell]) -> std::result::Result<usize, String> {
    const SIZE_MAX: i64 = 1_000_000_000;
    let size = args.first().map_or(0, Cell::integer).max(0);
    usize::try_from(size)
        .ok()
        .filter(|_| size <= SIZE_MAX)
        .ok_or_else(|| "string or blob too big".to_string())
}

fn kind(args: &[Cell]) -> std::result::Result<Cell, String> {
    let name = match args.first() {
        None | Some(Cell::Null) => "null",
        Some(Cell::Integer(_)) => "integer",
        Some(Cell::Real(_)) => "real",
        Some(Cell::Text(_)) => "text",
        Some(Cell::Blob(_)) => "blob",
    };
    Ok(Cell::Text(name.to_string()))
}

/// A number that nobody foresees, of a counter and what the process begins with.
pub fn random() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    static COUNT: AtomicU64 = AtomicU64::new(0);
    static STATE: std::sync::LazyLock<RandomState> = std::sync::LazyLock::new(RandomState::new);
    STATE.hash_one(COUNT.fetch_add(1, Ordering::Relaxed))
}

fn hex(args: &[Cell]) -> String {
    let bytes = args.first().and_then(Cell::text).unwrap_or_default();
    bytes.iter().fold(String::new(), |mut out, byte| {
        let _ = write!(out, "{byte:02X}");
        out
    })
}

fn length(args: &[Cell]) -> std::result::Result<Cell, String> {
    Ok(match args.first() {
        None | Some(Cell::Null) => Cell::Null,
        Some(Cell::Blob(bytes)) => Cell::Integer(bytes.len() as i64),
        Some(Cell::Text(text)) => {
            Cell::Integer(text.split('\0').next().unwrap_or_default().chars().count() as i64)
        }
        Some(other) => Cell::Integer(other.text().map_or(0, |text| text.len() as i64)),
    })
}

fn soundex(args: &[Cell]) -> String {
    let text = args.first().and_then(Cell::text).unwrap_or_default();
    let letters: Vec<u8> =
        text.iter().filter(|byte| byte.is_ascii_alphabetic()).map(u8::to_ascii_uppercase).collect();
    let Some(&first) = letters.first() else { return "?000".to_string() };
    let code = |letter: u8| match letter {
        b'B' | b'F' | b'P' | b'V' => b'1',
        b'C' | b'G' | b'J' | b'K' | b'Q' | b'S' | b'X' | b'Z' => b'2',
        b'D' | b'T' => b'3',
        b'L' => b'4',
        b'M' | b'N' => b'5',
        b'R' => b'6',
        _ => b'0',
    };
    let mut out = vec![first];
    let mut last = code(first);
    for &letter in &letters[1..] {
        let code = code(letter);
        if code != b'0' && code != last && out.len() < 4 {
            out.push(code);
        }
        last = code;
    }
    out.resize(4, b'0');
    String::from_utf8_lossy(&out).into_owned()
}

/// A field of a format.
#[derive(Default)]
struct Field {
    left: bool,
    zero: bool,
    plus: bool,
    space: bool,
    commas: bool,
    width: usize,
    precision: Option<usize>,
}

impl Field {
    fn put(&self, out: &mut String, text: &str, is_number: bool) {
        let missing = self.width.saturating_sub(text.chars().count());
        if self.left {
            out.push_str(text);
            out.extend(std::iter::repeat_n(' ', missing));
        } else if self.zero && is_number {
            let (sign, digits) = text.split_at(usize::from(text.starts_with(['-', '+'])));
            out.push_str(sign);
            out.extend(std::iter::repeat_n('0', missing));
            out.push_str(digits);
        } else {
            out.extend(std::iter::repeat_n(' ', missing));
            out.push_str(text);
        }
    }

    fn signed(&self, text: String) -> String {
        match () {
            () if text.starts_with('-') => text,
            () if self.plus => format!("+{text}"),
            () if self.space => format!(" {text}"),
            () => text,
        }
    }
}

fn with_commas(text: &str) -> String {
    let (sign, digits) = text.split_at(usize::from(text.starts_with('-')));
    let mut out = sign.to_string();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// The widest field of a format.
const WIDTH_MAX: i64 = 100_000;
/// The most digits of a field: Rust's own formats take 65,535.
const PRECISION_MAX: i64 = 60_000;

fn limited(value: i64, most: i64) -> usize {
    usize::try_from(value.unsigned_abs().min(most.unsigned_abs())).unwrap_or(0)
}

/// `printf(format, ...)`.
fn printf(args: &[Cell]) -> std::result::Result<Cell, String> {
    let Some((format, values)) = args.split_first() else { return Ok(Cell::Null) };
    let Some(format) = format.text() else { return Ok(Cell::Null) };
    let format: Vec<char> = String::from_utf8_lossy(&format).chars().collect();
    let mut values = values.iter();
    let mut out = String::new();
    let mut at = 0;
    while at < format.len() {
        if format[at] != '%' {
            out.push(format[at]);
            at += 1;
            continue;
        }
        at += 1;
        let mut field = Field::default();
        while let Some(flag) = format.get(at).filter(|c| "-+ #0,!".contains(**c)) {
            match flag {
                '-' => field.left = true,
                '+' => field.plus = true,
                ' ' => field.space = true,
                '0' => field.zero = true,
                ',' => field.commas = true,
                _ => {}
            }
            at += 1;
        }
        let mut number = |at: &mut usize| {
            if format.get(*at) == Some(&'*') {
                *at += 1;
                return values.next().map_or(0, Cell::integer);
            }
            let mut value = 0;
            while let Some(digit) = format.get(*at).and_then(|c| c.to_digit(10)) {
                value = (value * 10 + i64::from(digit)).min(WIDTH_MAX);
                *at += 1;
            }
            value
        };
        // A negative width is one from the left; a negative precision is its absolute value.
        let width = number(&mut at);
        field.left |= width < 0;
        field.width = limited(width, WIDTH_MAX);
        if format.get(at) == Some(&'.') {
            at += 1;
            field.precision = Some(limited(number(&mut at), PRECISION_MAX));
        }
        while format.get(at).is_some_and(|c| *c == 'l' || *c == 'h') {
            at += 1;
        }
        let Some(kind) = format.get(at) else { break };
        at += 1;
        if *kind == '%' {
            out.push('%');
            continue;
        }
        let value = values.next().unwrap_or(&Cell::Null);
        one(&mut out, &field, *kind, value);
    }
    Ok(Cell::Text(out))
}

fn one(out: &mut String, field: &Field, kind: char, value: &Cell) {
    let text = || String::from_utf8_lossy(&value.text().unwrap_or_default()).into_owned();
    let cut = |text: String| match field.precision {
        Some(most) => text.chars().take(most).collect(),
        None => text,
    };
    match kind {
        'd' | 'i' | 'u' => {
            let digits = value.integer().to_string();
            let digits = if field.commas { with_commas(&digits) } else { digits };
            field.put(out, &field.signed(digits), true);
        }
        'x' => field.put(out, &format!("{:x}", value.integer()), true),
        'X' => field.put(out, &format!("{:X}", value.integer()), true),
        'o' => field.put(out, &format!("{:o}", value.integer()), true),
        'f' => field.put(
            out,
            &field.signed(format!("{:.*}", field.precision.unwrap_or(6), value.real_value())),
            true,
        ),
        'e' | 'E' => {
            let made = format!("{:.*e}", field.precision.unwrap_or(6), value.real_value());
            let (digits, exponent) = made.split_once('e').unwrap_or((&made, "0"));
            let exponent: i32 = exponent.parse().unwrap_or(0);
            let sign = if exponent < 0 { '-' } else { '+' };
            field.put(out, &field.signed(format!("{digits}{kind}{sign}{:02}", exponent.abs())), true);
        }
        'g' | 'G' => {
            let text = real_text(value.real_value());
            field.put(out, &field.signed(text.trim_end_matches(".0").to_string()), true);
        }
        'c' => field.put(out, &text().chars().take(1).collect::<String>(), false),
        'q' => field.put(out, &cut(text()).replace('\'', "''"), false),
        'w' => field.put(out, &cut(text()).replace('"', "\"\""), false),
        'Q' => {
            let made =
                if *value == Cell::Null { "NULL".to_string() } else { crate::lexer::literal(&cut(text())) };
            field.put(out, &made, false);
        }
        _ => field.put(out, &cut(text()), false),
    }
}
