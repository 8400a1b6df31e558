//! What a cell holds, and what becomes of it in a column of a type.

use inlay_kernels::cast_value;
use inlay_types::{Interval, LogicalType, Value};
use std::fmt;

/// Days from Excel's day 0 to 1970-01-01.
const EPOCH_DAYS: f64 = 25_569.0;
const DAY_MICROS: f64 = 86_400e6;

/// How a number is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Number,
    Date,
    Time,
    Timestamp,
    /// Hours beyond a day: `[h]:mm`.
    Duration,
}

/// What a cell holds. Dates are numbers of days since Excel's day 0.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Cell {
    Number(f64, Shape),
    Text(String),
    Bool(bool),
    /// Such as `#DIV/0!`.
    Error(String),
}

impl Shape {
    /// What a format of numbers shows; `code` is as in `yyyy-mm-dd hh:mm`, `id` that of a built-in format.
    pub fn of_format(code: &str, id: Option<u32>) -> Self {
        match id {
            Some(14..=17) => return Self::Date,
            Some(46) => return Self::Duration,
            Some(18..=21 | 45 | 47) => return Self::Time,
            Some(22) => return Self::Timestamp,
            _ => {}
        }
        let (mut has_date, mut has_time) = (false, false);
        let mut letters = code.chars().peekable();
        while let Some(letter) = letters.next() {
            match letter {
                '"' => while letters.next().is_some_and(|c| c != '"') {},
                '\\' | '_' | '*' => {
                    letters.next();
                }
                '[' => {
                    // `[h]` counts hours; `[Red]` and `[$-409]` are no parts of a time.
                    let inside: String = letters.by_ref().take_while(|&c| c != ']').collect();
                    let is_count = !inside.is_empty() && inside.chars().all(|c| "hmsHMS".contains(c));
                    if is_count {
                        return Self::Duration;
                    }
                }
                'y' | 'Y' | 'd' | 'D' => has_date = true,
                'h' | 'H' | 's' | 'S' => has_time = true,
                // The format of negative numbers.
                ';' => break,
                _ => {}
            }
        }
        match (has_date, has_time) {
            (true, true) => Self::Timestamp,
            (false, true) => Self::Time,
            // Months alone: calamine says that it is a date.
            (true, false) | (false, false) => Self::Date,
        }
    }
}

impl Cell {
    /// The type of a column that begins with this cell.
    pub fn ty(&self) -> LogicalType {
        match self {
            Self::Number(_, Shape::Number) => LogicalType::Double,
            Self::Number(_, Shape::Date) => LogicalType::Date,
            Self::Number(_, Shape::Time) => LogicalType::Time,
            Self::Number(_, Shape::Timestamp) => LogicalType::Timestamp,
            Self::Number(_, Shape::Duration) => LogicalType::Interval,
            Self::Text(_) | Self::Error(_) => LogicalType::Varchar,
            Self::Bool(_) => LogicalType::Boolean,
        }
    }

    /// The cell as a value of a type; `None` if it is none.
    pub fn value(&self, ty: &LogicalType) -> Option<Value> {
        match (self, ty) {
            (Self::Number(number, Shape::Number), LogicalType::Double) => Some(Value::Double(*number)),
            (Self::Number(days, shape), ty)
                if *shape != Shape::Number && !matches!(ty, LogicalType::Varchar) =>
            {
                moment(*days, *shape, ty)
            }
            (Self::Bool(value), LogicalType::Boolean) => Some(Value::Boolean(*value)),
            (Self::Number(number, _), LogicalType::Boolean) if *number == 0.0 => Some(Value::Boolean(false)),
            (Self::Number(number, _), LogicalType::Boolean) => {
                (*number == 1.0).then_some(Value::Boolean(true))
            }
            (Self::Number(..), ty) if ty.is_temporal() => None,
            (Self::Bool(_), ty) if ty.is_numeric() || ty.is_temporal() => None,
            (Self::Text(text), LogicalType::Varchar) => Some(Value::Varchar(text.clone())),
            (Self::Text(text), ty) if text.is_empty() => {
                cast_value(&Value::Varchar(String::new()), ty).ok().or(Some(Value::Null))
            }
            (_, LogicalType::Varchar) => Some(Value::Varchar(self.to_string())),
            (Self::Error(_), _) => None,
            (Self::Number(number, Shape::Number), ty) => cast_value(&Value::Double(*number), ty).ok(),
            _ => cast_value(&Value::Varchar(self.to_string()), ty).ok(),
        }
    }
}

/// What is shown as a date or time, as a value of such a type, if nothing of it is lost.
fn moment(days: f64, shape: Shape, ty: &LogicalType) -> Option<Value> {
    if ty.is_numeric() || *ty == LogicalType::Boolean {
        return None;
    }
    let is_day = matches!(shape, Shape::Date | Shape::Timestamp);
    if *ty == LogicalType::Interval {
        let millis = (days * DAY_MICROS / 1000.0).round();
        let micros = (!is_day && millis.abs() < 4e14).then_some(millis as i64 * 1000)?;
        return Some(Value::Interval(Interval { months: 0, days: 0, micros }));
    }
    let micros = timestamp(days)?;
    let time = micros.rem_euclid(DAY_MICROS as i64);
    if *ty == LogicalType::Date {
        let is_whole = shape == Shape::Date || shape == Shape::Timestamp && time == 0;
        return if is_whole { date(days).map(Value::Date) } else { None };
    }
    if matches!(ty, LogicalType::Time | LogicalType::TimeTz) {
        let is_time = shape == Shape::Time && (0.0..1.0).contains(&days);
        return if is_time { cast_value(&Value::Time(time), ty).ok() } else { None };
    }
    if is_day { cast_value(&Value::Timestamp(micros), ty).ok() } else { None }
}

/// Days since 1970 of Excel's day; there was no February 29 in 1900, which Excel has.
fn date(days: f64) -> Option<i32> {
    let shift = if days < 60.0 { 1.0 } else { 0.0 };
    let whole = days.floor() + shift - EPOCH_DAYS;
    (whole.abs() < 4e6).then_some(whole as i32)
}

/// Microseconds since 1970, to the millisecond as Excel counts.
fn timestamp(days: f64) -> Option<i64> {
    // A time of day alone is a part of day 0.
    let shift = if (1.0..60.0).contains(&days) { 1.0 } else { 0.0 };
    let millis = ((days + shift - EPOCH_DAYS) * DAY_MICROS / 1000.0).round();
    (millis.abs() < 4e14).then_some(millis as i64 * 1000)
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number, Shape::Number) if number.fract() == 0.0 && number.abs() < 1e15 => {
                write!(f, "{}", *number as i64)
            }
            Self::Number(number, Shape::Number) => write!(f, "{number}"),
            Self::Number(..) => match self.value(&self.ty()) {
                Some(value) => write!(f, "{value}"),
                None => write!(f, "a date that is too far off"),
            },
            Self::Text(text) | Self::Error(text) => write!(f, "{text}"),
            Self::Bool(value) => write!(f, "{value}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_say_what_numbers_are() {
        for (code, shape) in [
            ("yyyy-mm-dd", Shape::Date),
            ("hh:mm:ss", Shape::Time),
            ("[h]:mm", Shape::Duration),
            ("yyyy\\-mm\\-dd\\ hh:mm", Shape::Timestamp),
            ("[$-409]d/m/yyyy", Shape::Date),
            ("mmm", Shape::Date),
            ("dd.mm.yy \"hours\"", Shape::Date),
        ] {
            assert_eq!(Shape::of_format(code, None), shape, "{code}");
        }
        assert_eq!(Shape::of_format("", Some(22)), Shape::Timestamp);
    }

    #[test]
    fn a_cell_of_another_kind_is_no_value() {
        let of = |days: f64, shape, ty| Cell::Number(days, shape).value(&ty).map(|value| value.to_string());
        assert_eq!(of(45_000.75, Shape::Timestamp, LogicalType::Date), None);
        assert_eq!(of(45_000.0, Shape::Timestamp, LogicalType::Date).as_deref(), Some("2023-03-15"));
        assert_eq!(of(45_000.0, Shape::Date, LogicalType::Timestamp).as_deref(), Some("2023-03-15 00:00:00"));
        assert_eq!(of(5.0, Shape::Number, LogicalType::Timestamp), None);
        assert_eq!(of(45_000.5, Shape::Timestamp, LogicalType::Time), None);
        assert_eq!(of(0.4375, Shape::Time, LogicalType::Timestamp), None);
        assert_eq!(of(45_000.5, Shape::Timestamp, LogicalType::Double), None);
        assert_eq!(of(1.5, Shape::Time, LogicalType::Time), None);
        assert_eq!(of(1.5, Shape::Duration, LogicalType::Interval).as_deref(), Some("36:00:00"));
        assert_eq!(of(2.0, Shape::Number, LogicalType::Boolean), None);
        assert_eq!(of(1.0, Shape::Number, LogicalType::Boolean).as_deref(), Some("true"));
        assert_eq!(Cell::Bool(true).value(&LogicalType::Double), None);
    }

    #[test]
    fn days_of_excel_are_dates() {
        let date = |days| Cell::Number(days, Shape::Date).value(&LogicalType::Date).map(|v| v.to_string());
        assert_eq!(date(1.0).as_deref(), Some("1900-01-01"));
        assert_eq!(date(59.0).as_deref(), Some("1900-02-28"));
        assert_eq!(date(61.0).as_deref(), Some("1900-03-01"));
        assert_eq!(date(45_000.0).as_deref(), Some("2023-03-15"));
        assert_eq!(date(1e300), None);
        let time = Cell::Number(0.520_833_333_333_333_4, Shape::Time);
        assert_eq!(time.to_string(), "12:30:00");
        assert_eq!(Cell::Number(45_000.75, Shape::Timestamp).to_string(), "2023-03-15 18:00:00");
        assert_eq!(Cell::Number(3.0, Shape::Number).to_string(), "3");
        assert_eq!(Cell::Number(0.1, Shape::Number).to_string(), "0.1");
    }
}
