//! Types that a column may turn out to have, narrowed by one value after the other.
//!
//! Dates and timestamps in other forms than ISO's are found by formats that are tried in all columns on their own; where
//! several fit all values, the day comes before the month, as in DuckDB.

use super::convert::ReadRules;
use super::options::CsvOptions;
use super::parse;
use inlay_kernels::cast_value;
use inlay_kernels::parse::{Suffix, has_nanoseconds};
use inlay_types::{LogicalType, Value};
use std::sync::LazyLock;

/// Types a column may turn out to have, most special first; VARCHAR remains.
const CANDIDATES: [LogicalType; 9] = [
    LogicalType::Boolean,
    LogicalType::BigInt,
    LogicalType::HugeInt,
    LogicalType::Double,
    LogicalType::Time,
    LogicalType::Date,
    LogicalType::Timestamp,
    LogicalType::TimestampNs,
    LogicalType::TimestampTz,
];

/// What the values of a column may be.
#[derive(Clone, Debug)]
pub(super) struct Candidates {
    /// By position in the list of types.
    possible: u32,
    /// By position in the list of formats.
    dates: u32,
    moments: u32,
    pub any_value: bool,
    /// Whether some value is not `infinity`.
    any_finite: bool,
}

impl Candidates {
    /// Leaves what values of another column may be, too.
    pub fn intersect(&mut self, other: &Self) {
        if other.any_value {
            self.possible &= other.possible;
            self.dates &= other.dates;
            self.moments &= other.moments;
            self.any_value = true;
            self.any_finite |= other.any_finite;
        }
    }
}

/// Which types are tried.
pub(super) struct Types(Vec<LogicalType>);

impl Types {
    pub fn new(options: &CsvOptions) -> Self {
        let Some(given) = &options.type_candidates else { return Self(CANDIDATES.to_vec()) };
        let mut types: Vec<LogicalType> = Vec::with_capacity(given.len());
        for ty in given.iter().filter(|ty| **ty != LogicalType::Varchar && **ty != LogicalType::Null) {
            if !types.contains(ty) && types.len() < 32 {
                types.push(ty.clone());
            }
        }
        types.sort_by_key(rank);
        Self(types)
    }

    /// Nothing is ruled out yet.
    pub fn all(&self) -> Candidates {
        let possible = u32::try_from((1u64 << self.0.len()) - 1).unwrap_or(u32::MAX);
        let (dates, moments) = (1 | DATES.all(), 1 | MOMENTS.all());
        Candidates { possible, dates, moments, any_value: false, any_finite: false }
    }

    /// Rules out what `text` is not.
    pub fn narrow(&self, candidates: &mut Candidates, text: &[u8], rules: &ReadRules) {
        candidates.any_value = true;
        let text = text.trim_ascii();
        candidates.any_finite |= !is_date_word(text);
        for (bit, ty) in self.0.iter().enumerate() {
            if candidates.possible >> bit & 1 == 0 {
                continue;
            }
            let fits = match ty {
                LogicalType::Date => DATES.narrow(&mut candidates.dates, text, rules),
                LogicalType::Timestamp => {
                    MOMENTS.narrow(&mut candidates.moments, text, rules) && !is_cut(text, rules)
                }
                ty => fits(text, ty, rules),
            };
            if !fits {
                candidates.possible &= !(1 << bit);
            }
        }
    }

    pub fn best(&self, candidates: &Candidates) -> LogicalType {
        if !candidates.any_value || candidates.possible == 0 {
            return LogicalType::Varchar;
        }
        let is_date = |(bit, ty): (usize, &LogicalType)| {
            *ty == LogicalType::Date && candidates.possible >> bit & 1 == 1
        };
        if !candidates.any_finite && self.0.iter().enumerate().any(is_date) {
            return LogicalType::Date;
        }
        self.0[candidates.possible.trailing_zeros() as usize].clone()
    }

    /// Whether a column of type `ty` takes the values.
    pub fn may_be(&self, candidates: &Candidates, ty: &LogicalType) -> bool {
        let accepted = |known: &LogicalType| match ty {
            ty if ty.is_numeric() => known.is_numeric(),
            LogicalType::Timestamp | LogicalType::TimestampNs | LogicalType::TimestampTz => matches!(
                known,
                LogicalType::Timestamp
                    | LogicalType::TimestampNs
                    | LogicalType::Date
                    | LogicalType::TimestampTz
            ),
            ty => ty == known,
        };
        self.0.iter().enumerate().any(|(bit, known)| candidates.possible >> bit & 1 == 1 && accepted(known))
    }

    /// Whether values of a type can be told from text.
    pub fn is_known(ty: &LogicalType) -> bool {
        ty.is_numeric()
            || matches!(
                ty,
                LogicalType::Date
                    | LogicalType::Time
                    | LogicalType::Timestamp
                    | LogicalType::TimestampNs
                    | LogicalType::TimestampTz
            )
    }
}

/// The order in which types are preferred.
fn rank(ty: &LogicalType) -> usize {
    match ty {
        LogicalType::Boolean => 0,
        LogicalType::UTinyInt | LogicalType::TinyInt => 1,
        LogicalType::USmallInt | LogicalType::SmallInt => 2,
        LogicalType::UInteger | LogicalType::Integer => 3,
        LogicalType::UBigInt | LogicalType::BigInt => 4,
        LogicalType::UHugeInt | LogicalType::HugeInt => 5,
        LogicalType::Decimal { .. } => 6,
        LogicalType::Real => 7,
        LogicalType::Double => 8,
        LogicalType::Time => 9,
        LogicalType::Date => 10,
        LogicalType::Timestamp => 11,
        LogicalType::TimestampNs => 12,
        LogicalType::TimestampTz => 13,
        _ => 14,
    }
}

/// Whether TIMESTAMP would leave out digits, of which nobody said how they are written.
fn is_cut(text: &[u8], rules: &ReadRules) -> bool {
    rules.timestamp_format.is_none() && has_nanoseconds(text)
}

/// Digits that begin with a zero are rather a name than a number: `00123`, `+5`.
fn is_code(text: &[u8]) -> bool {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    matches!(digits, [b'+', ..]) || matches!(digits, [b'0', b'0'..=b'9', ..])
}

fn fits(text: &[u8], ty: &LogicalType, rules: &ReadRules) -> bool {
    match ty {
        LogicalType::Boolean => {
            let is = |word: &[u8]| text.eq_ignore_ascii_case(word);
            parse::boolean(text).is_some() || is(b"yes") || is(b"no")
        }
        LogicalType::BigInt => integer(text, rules).is_some_and(|v| i64::try_from(v).is_ok()),
        LogicalType::HugeInt => integer(text, rules).is_some(),
        LogicalType::Double if is_code(text) => false,
        LogicalType::Double => match rules.plain_number(text) {
            None => parse::double(text).is_some() && is_plain_double(text),
            Some(plain) => plain.is_some_and(|plain| parse::double(&plain).is_some()),
        },
        LogicalType::Time => {
            (parse::time(text).is_some() || is_clock(text) && inlay_kernels::parse::time(text).is_some())
                && !has_nanoseconds(text)
        }
        LogicalType::TimestampNs => {
            let reads = |text: &[u8]| {
                let text = Value::Varchar(String::from_utf8_lossy(text).into_owned());
                cast_value(&text, &LogicalType::TimestampNs).is_ok()
            };
            rules.timestamp_format.is_none() && is_iso_moment(text) && reads(text)
        }
        LogicalType::TimestampTz => {
            matches!(text.first(), Some(b'0'..=b'9'))
                && !has_nanoseconds(text)
                && matches!(inlay_kernels::parse::timestamp_tz(text), Some((_, Suffix::Offset(_))))
        }
        other => {
            let text = String::from_utf8_lossy(text).into_owned();
            let is_whole = !other.is_integer() || integer(text.as_bytes(), rules).is_some();
            is_whole
                && !(other.is_numeric() && is_code(text.as_bytes()))
                && cast_value(&Value::Varchar(text), other).is_ok()
        }
    }
}

fn integer(text: &[u8], rules: &ReadRules) -> Option<i128> {
    if is_code(text) {
        return None;
    }
    match rules.plain_number(text) {
        None => parse::int(text),
        Some(plain) => parse::int(&plain?),
    }
}

/// Not a word, except for those that stand for numbers.
fn is_plain_double(text: &[u8]) -> bool {
    let word = text.strip_prefix(b"-").or_else(|| text.strip_prefix(b"+")).unwrap_or(text);
    let is_number = |known: &[u8]| word.eq_ignore_ascii_case(known);
    text.iter().any(u8::is_ascii_digit) || [b"nan".as_slice(), b"inf", b"infinity"].into_iter().any(is_number)
}

/// Infinity as dates are written, which numbers may be, too.
fn is_date_word(text: &[u8]) -> bool {
    text.strip_prefix(b"-").unwrap_or(text) == b"infinity"
}

/// `1:02` or `12:5:6`.
fn is_clock(text: &[u8]) -> bool {
    let hours = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    (1..=2).contains(&hours)
        && text.get(hours) == Some(&b':')
        && text.iter().all(|byte| byte.is_ascii_digit() || matches!(byte, b':' | b'.'))
}

/// Ways to write dates or moments.
pub(super) struct Formats {
    /// Whether a text is one in ISO's form.
    iso: fn(&[u8]) -> bool,
    /// What the user said.
    given: fn(&ReadRules) -> Option<&str>,
    /// Which are left of a column.
    left: fn(&Candidates) -> u32,
    /// The others; the first that fits all values is taken.
    others: LazyLock<Vec<String>>,
}

pub(super) static DATES: Formats = Formats {
    iso: is_iso_date,
    given: |rules| rules.date_format.as_deref(),
    left: |candidates| candidates.dates,
    others: LazyLock::new(|| {
        with_marks(&["%Y-%m-%d", "%y-%m-%d", "%d-%m-%Y", "%d-%m-%y", "%m-%d-%Y", "%m-%d-%y"])
    }),
};

pub(super) static MOMENTS: Formats = Formats {
    iso: is_iso_moment,
    given: |rules| rules.timestamp_format.as_deref(),
    left: |candidates| candidates.moments,
    others: LazyLock::new(|| {
        with_marks(&[
            "%Y-%m-%dT %H:%M:%S",
            "%y-%m-%dT %H:%M:%S",
            "%d-%m-%YT %H:%M:%S",
            "%d-%m-%yT %H:%M:%S",
            "%m-%d-%YT %I:%M:%S %p",
            "%m-%d-%yT %I:%M:%S %p",
        ])
    }),
};

/// Between the parts of a date.
const MARKS: [&str; 4] = ["-", "/", ".", " "];

/// Each format with each mark; the time of day is behind T.
fn with_marks(formats: &[&str]) -> Vec<String> {
    let all = formats.iter().flat_map(|format| {
        let (date, time) = format.split_once('T').unwrap_or((format, ""));
        MARKS.map(|mark| format!("{}{time}", date.replace('-', mark)))
    });
    all.collect()
}

impl Formats {
    fn all(&self) -> u32 {
        u32::try_from((1u64 << (self.others.len() + 1)) - 2).unwrap_or(u32::MAX - 1)
    }

    /// Leaves the formats that `text` is in: bit 0 is ISO's or the given one. Whether any is left.
    fn narrow(&self, left: &mut u32, text: &[u8], rules: &ReadRules) -> bool {
        if let Some(format) = (self.given)(rules) {
            return parse::formatted(text, format).is_some();
        }
        if *left & 1 == 1 && !(self.iso)(text) {
            *left &= !1;
        }
        let may_be = matches!(text, [b'0'..=b'9', ..]) && (6..=24).contains(&text.len());
        if !may_be {
            *left &= 1;
        }
        for (bit, format) in self.others.iter().enumerate() {
            if *left >> (bit + 1) & 1 == 1
                && !(has_year(text, format) && parse::formatted(text, format).is_some())
            {
                *left &= !(2 << bit);
            }
        }
        *left != 0
    }

    /// The format of a column's values, if it is not ISO's.
    pub fn of(&self, candidates: &Candidates) -> Option<String> {
        let left = (self.left)(candidates);
        if !candidates.any_value || left & 1 == 1 || left == 0 {
            return None;
        }
        self.others.get(left.trailing_zeros() as usize - 1).cloned()
    }
}

/// Whether the year of a text has the digits that a format wants: four for `%Y`, two for `%y`.
fn has_year(text: &[u8], format: &str) -> bool {
    let wanted = if format.contains("%Y") { 4 } else { 2 };
    let date = &text
        [..text.iter().position(|byte| *byte == b':').map_or(text.len(), |colon| colon.saturating_sub(2))];
    let is_digit = |byte: &&u8| byte.is_ascii_digit();
    let digits = match format.starts_with("%Y") || format.starts_with("%y") {
        true => date.iter().take_while(is_digit).count(),
        false => date.trim_ascii_end().iter().rev().take_while(is_digit).count(),
    };
    digits == wanted
}

fn is_iso_date(text: &[u8]) -> bool {
    if parse::date(text).is_some() {
        return true;
    }
    // `2024-1-2`, `infinity`, `epoch`; no time of day.
    let may_be = match text {
        [b'0'..=b'9', b'0'..=b'9', b'0'..=b'9', b'0'..=b'9', b'-', ..] => text.len() <= 10,
        _ => text.eq_ignore_ascii_case(b"infinity") || text.eq_ignore_ascii_case(b"epoch"),
    };
    may_be && inlay_kernels::parse::date(text).is_some()
}

fn is_iso_moment(text: &[u8]) -> bool {
    if text.last() == Some(&b'Z') {
        return false;
    }
    if parse::timestamp(text).is_some() {
        return true;
    }
    let may_be = matches!(text, [b'0'..=b'9', b'0'..=b'9', b'0'..=b'9', b'0'..=b'9', b'-' | b'/', ..]);
    may_be && matches!(inlay_kernels::parse::timestamp_tz(text), Some((_, Suffix::None)))
}
