//! Values as Spark's literals. A text is closed by nothing that stands in it: quotes and backslashes are escaped.

use super::Writer;
use inlay_sql::plan::Place;
use inlay_types::datetime::{MICROS_PER_SECOND, write_date, write_moment, write_timestamp};
use inlay_types::{LogicalType, Value};

/// Characters in quotes, for a session that reads escapes (`spark.sql.parser.escapedStringLiterals` is false).
pub(crate) fn text(value: &str) -> String {
    let mut out = String::with_capacity(value.len() + 2);
    out.push('\'');
    for c in value.chars() {
        match c {
            '\'' => out.push_str("\\'"),
            '\\' => out.push_str("\\\\"),
            '\0' => out.push_str("\\u0000"),
            other => out.push(other),
        }
    }
    out.push('\'');
    out
}

/// A message as an expression of a type that fails with it and the value that is the matter, as a text that is no number does in ANSI
/// mode: `raise_error` of Sail fails for a batch without rows, too. The value has to be of the row, as Sail computes what is constant even
/// where it is not reached, and the type is not BOOLEAN, as Sail computes both sides of a CASE of those.
pub(crate) fn failure(message: &str, value: &str, spark: &str) -> String {
    let message = text(&format!("inlay: {message}: "));
    format!("CAST(CAST(concat({message}, CAST({value} AS STRING)) AS INT) AS {spark})")
}

pub(crate) fn double(value: f64) -> String {
    if value.is_nan() {
        "double('NaN')".into()
    } else if value.is_infinite() {
        format!("double('{}Infinity')", if value < 0.0 { "-" } else { "" })
    } else {
        format!("CAST('{value:e}' AS DOUBLE)")
    }
}

/// A whole number of a type whose least value has no literal of its own.
fn whole(value: i128, suffix: &str, least: i128) -> String {
    match value {
        v if v >= 0 => format!("{v}{suffix}"),
        v if v == least => format!("(-{}{suffix} - 1{suffix})", -(v + 1)),
        v => format!("(-{}{suffix})", -v),
    }
}

/// `unscaled / 10^scale` with all its digits.
pub(crate) fn digits(unscaled: i128, scale: u8) -> String {
    let (sign, all) = (if unscaled < 0 { "-" } else { "" }, unscaled.unsigned_abs().to_string());
    let scale = usize::from(scale);
    let padded = format!("{all:0>width$}", width = scale + 1);
    let (whole, fraction) = padded.split_at(padded.len() - scale);
    if scale == 0 { format!("{sign}{whole}") } else { format!("{sign}{whole}.{fraction}") }
}

impl Writer<'_> {
    /// A value of a type.
    pub(crate) fn literal(&mut self, value: &Value, ty: &LogicalType, place: Place) -> String {
        if value.is_null() {
            return format!("CAST(NULL AS {})", self.type_text(ty, place));
        }
        let moment = |at: i64, units: i64, digits: usize| {
            let mut out = String::new();
            write_moment(&mut out, at, units, digits);
            out
        };
        match value {
            Value::Null => format!("CAST(NULL AS {})", self.type_text(ty, place)),
            Value::Boolean(value) => if *value { "true" } else { "false" }.into(),
            Value::TinyInt(v) => whole(i128::from(*v), "Y", i128::from(i8::MIN)),
            Value::SmallInt(v) => whole(i128::from(*v), "S", i128::from(i16::MIN)),
            Value::Integer(v) => whole(i128::from(*v), "", i128::from(i32::MIN)),
            Value::BigInt(v) => whole(i128::from(*v), "L", i128::from(i64::MIN)),
            Value::UTinyInt(v) => format!("{v}S"),
            Value::USmallInt(v) => format!("{v}"),
            Value::UInteger(v) => format!("{v}L"),
            Value::UBigInt(v) => format!("CAST('{v}' AS DECIMAL(20,0))"),
            Value::HugeInt(v) if v.unsigned_abs() < 10u128.pow(38) => format!("CAST('{v}' AS DECIMAL(38,0))"),
            Value::HugeInt(v) => self.refuse(format!("{v}, which has more than 38 digits"), place),
            Value::Real(v) => format!("CAST({} AS FLOAT)", double(f64::from(*v))),
            Value::Double(v) => double(*v),
            Value::Decimal { unscaled, precision, scale } => {
                format!("CAST('{}' AS DECIMAL({precision},{scale}))", digits(*unscaled, *scale))
            }
            Value::Varchar(value) => text(value),
            Value::Uuid(_) => text(&value.to_string()),
            Value::Blob(bytes) => {
                let hex: String = bytes.iter().map(|byte| format!("{byte:02X}")).collect();
                format!("X'{hex}'")
            }
            Value::Date(days) => {
                let mut out = String::new();
                write_date(&mut out, *days);
                self.moment("DATE", out, place)
            }
            Value::Timestamp(at) => self.moment("TIMESTAMP_NTZ", moment(*at, MICROS_PER_SECOND, 6), place),
            Value::TimestampS(at) => self.moment("TIMESTAMP_NTZ", moment(*at, 1, 0), place),
            Value::TimestampMs(at) => self.moment("TIMESTAMP_NTZ", moment(*at, 1000, 3), place),
            Value::TimestampTz(at) => {
                let mut out = String::new();
                write_timestamp(&mut out, *at);
                if is_plain(&out) {
                    format!("TIMESTAMP_LTZ'{out}+00:00'")
                } else {
                    self.moment("", out, place)
                }
            }
            Value::List { element, values } | Value::Array { element, values } => {
                let spark = self.type_text(ty, place);
                let items: Vec<String> = values.iter().map(|v| self.literal(v, element, place)).collect();
                format!("CAST(array({}) AS {spark})", items.join(", "))
            }
            Value::Struct { fields, values } => {
                let spark = self.type_text(ty, place);
                let item = |(field, value): (&inlay_types::Field, &Value)| {
                    format!("{}, {}", text(&field.name), self.literal(value, &field.ty, place))
                };
                let items: Vec<String> = fields.iter().zip(values).map(item).collect();
                format!("CAST(named_struct({}) AS {spark})", items.join(", "))
            }
            Value::Map { types, entries } => {
                let mut items = Vec::with_capacity(entries.len() * 2);
                for (key, value) in entries {
                    items.push(self.literal(key, &types.0, place));
                    items.push(self.literal(value, &types.1, place));
                }
                let spark = self.type_text(ty, place);
                format!("CAST(map({}) AS {spark})", items.join(", "))
            }
            Value::UHugeInt(_)
            | Value::Time(_)
            | Value::TimeTz(_)
            | Value::Interval(_)
            | Value::TimestampNs(_)
            | Value::Bit(_)
            | Value::Json(_)
            | Value::Enum { .. }
            | Value::Union { .. } => self.refuse(format!("a constant of type {ty}"), place),
        }
    }

    fn moment(&mut self, word: &str, written: String, place: Place) -> String {
        if is_plain(&written) {
            return format!("{word}'{written}'");
        }
        self.refuse(format!("{written}, a time that Spark's literals do not reach"), place)
    }
}

/// Whether a date or timestamp is of the years 1 to 9999.
fn is_plain(written: &str) -> bool {
    let is_year = |year: &str| year.len() == 4 && year != "0000" && year.bytes().all(|b| b.is_ascii_digit());
    written.split('-').next().is_some_and(is_year) && !written.contains("BC")
}
