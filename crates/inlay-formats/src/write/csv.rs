//! CSV files from batches. Fields are quoted when they hold a delimiter, a quote, a line break, or the NULL text.

use super::packed::{Packing, TextFile};
use super::{Destination, FileWriter, Target, check_members};
use crate::Parallel;
use crate::option_text::{boolean, list, text, unknown_option};
use inlay_catalog::near_names;
use inlay_functions::registry::resolve_scalar;
use inlay_kernels::cast::{cast_in_zone, shown};
use inlay_kernels::resolve::{ArgType, ResolveOptions};
use inlay_kernels::zone::Zone;
use inlay_types::{Batch, Error, LogicalType, Result, Value, Vector};
use std::sync::Arc;

#[derive(Debug)]
pub(super) struct CsvWriter {
    target: Target,
    file: TextFile,
    types: Vec<LogicalType>,
    rules: Rules,
    rows: u64,
}

#[derive(Debug)]
struct Rules {
    /// Of the columns.
    names: Vec<String>,
    delimiter: char,
    quote: char,
    escape: char,
    null: String,
    header: bool,
    /// By column: whether its values are always quoted.
    force_quote: Vec<bool>,
    date_format: Option<String>,
    timestamp_format: Option<String>,
    /// Before the first and behind the last row.
    prefix: String,
    suffix: String,
    newline: &'static str,
    /// Of moments in values of a UNION, whose members are looked at here; all others come as texts.
    zone: Option<Arc<Zone>>,
}

/// Names of options.
const NAMES: [&str; 15] = [
    "delim",
    "sep",
    "quote",
    "escape",
    "null",
    "nullstr",
    "header",
    "force_quote",
    "dateformat",
    "timestampformat",
    "new_line",
    "prefix",
    "suffix",
    "compression",
    "compression_level",
];

impl Rules {
    fn read(
        options: &[(String, Value)],
        (names, types): (&[String], &[LogicalType]),
        packing: &mut Packing,
    ) -> Result<Self> {
        let mut rules = Self {
            names: names.to_vec(),
            delimiter: ',',
            quote: '"',
            escape: '"',
            null: String::new(),
            header: true,
            force_quote: vec![false; names.len()],
            date_format: None,
            timestamp_format: None,
            prefix: String::new(),
            suffix: String::new(),
            newline: "\n",
            zone: None,
        };
        let mut escape = None;
        for (name, value) in options {
            match name.as_str() {
                "delim" | "sep" | "delimiter" => rules.delimiter = character(name, value)?,
                "quote" => rules.quote = character(name, value)?,
                "escape" => escape = Some(character(name, value)?),
                "null" | "nullstr" => rules.null = text(name, value)?.to_string(),
                "header" => rules.header = boolean(name, value)?,
                "force_quote" => rules.force_quote = quoted_columns(value, names)?,
                "dateformat" | "date_format" => rules.date_format = Some(text(name, value)?.to_string()),
                "timestampformat" | "timestamp_format" => {
                    rules.timestamp_format = Some(text(name, value)?.to_string());
                }
                "prefix" => rules.prefix = text(name, value)?.to_string(),
                "suffix" => rules.suffix = text(name, value)?.to_string(),
                "new_line" => {
                    rules.newline = match text(name, value)? {
                        "\\r\\n" | "\r\n" => "\r\n",
                        "\\n" | "\n" => "\n",
                        other => {
                            let message = format!("option \"new_line\" is '\\n' or '\\r\\n', not '{other}'");
                            return Err(Error::invalid_argument(message));
                        }
                    }
                }
                // The binder gives it.
                "time_zone" if types.iter().any(is_zoned_union) => {
                    rules.zone = Some(Zone::named(text(name, value)?)?);
                }
                name if packing.set(name, value)? => {}
                other => {
                    return Err(unknown_option("COPY TO a CSV file", other, &NAMES));
                }
            }
        }
        rules.escape = escape.unwrap_or(rules.quote);
        Ok(rules)
    }

    /// Dates and timestamps as texts in the formats that were given.
    fn format_dates(&self, columns: &mut [Vector]) -> Result<()> {
        for column in columns {
            let format = match column.logical_type() {
                LogicalType::Date => &self.date_format,
                LogicalType::Timestamp | LogicalType::TimestampTz => &self.timestamp_format,
                _ => continue,
            };
            if let Some(format) = format {
                *column = formatted(column, format)?;
            }
        }
        Ok(())
    }

    /// Appends a field of a column, quoted where it has to be.
    fn push(&self, out: &mut Vec<u8>, field: &[u8], column: usize) {
        let is_forced = self.force_quote.get(column).copied().unwrap_or(false);
        let quote = self.quote as u8;
        let special = |b: &u8| *b == self.delimiter as u8 || *b == quote || *b == b'\n' || *b == b'\r';
        let is_special = |part: &[u8]| part.iter().fold(false, |found, byte| found | special(byte));
        if !is_forced && field != self.null.as_bytes() && !field.chunks(16).any(is_special) {
            return out.extend_from_slice(field);
        }
        out.push(quote);
        for &byte in field {
            if byte == quote || byte == self.escape as u8 {
                out.push(self.escape as u8);
            }
            out.push(byte);
        }
        out.push(quote);
    }

    /// Whether no value of a column that is not NULL is ever quoted: digits, signs and words have nothing special in them.
    fn is_bare(&self, ty: &LogicalType, column: usize) -> bool {
        let is_free = |c: char| c.is_ascii_punctuation() && !"+-.:()".contains(c) || c == '\t';
        let of_type =
            ty.is_numeric() || ty.is_timestamp() || matches!(ty, LogicalType::Date | LogicalType::Boolean);
        let is_forced = self.force_quote.get(column).copied().unwrap_or(false);
        of_type && !is_forced && self.null.is_empty() && is_free(self.delimiter) && is_free(self.quote)
    }

    /// Values as texts.
    fn shown(&self, column: &Vector) -> Result<Vector> {
        let zone = self.zone.as_ref().filter(|_| is_zoned_union(column.ty()));
        match zone.and_then(|zone| cast_in_zone(column.ty(), &LogicalType::Varchar, false, zone)) {
            Some(cast) => {
                let mut texts = Vector::empty(LogicalType::Varchar);
                cast.kernel.eval(&[column], column.len(), &mut texts)?;
                Ok(texts.flatten())
            }
            None => shown(column),
        }
    }

    /// The lines of a batch.
    fn lines(&self, batch: &Batch, types: &[LogicalType]) -> Result<Vec<u8>> {
        let mut columns = batch.columns().to_vec();
        for ((column, ty), name) in columns.iter().zip(types).zip(&self.names) {
            column.expect_type(ty)?;
            if ty.has_part(&is_union) {
                let zone = self.zone.as_deref();
                (0..column.len()).try_for_each(|row| check_members(name, ty, &column.get(row), zone))?;
            }
        }
        self.format_dates(&mut columns)?;
        let bare = |(index, column): (usize, &Vector)| self.is_bare(column.ty(), index);
        let bare: Vec<bool> = columns.iter().enumerate().map(bare).collect();
        let shown = |column: &Vector| self.shown(column);
        let columns = columns.iter().map(shown).collect::<Result<Vec<Vector>>>()?;
        let mut out = Vec::new();
        for row in 0..batch.len() {
            for (index, column) in columns.iter().enumerate() {
                if index > 0 {
                    out.push(self.delimiter as u8);
                }
                if column.is_null(row) {
                    out.extend_from_slice(self.null.as_bytes());
                    continue;
                }
                let field = column.views()[row].bytes(column.heap().buffers());
                if bare[index] {
                    out.extend_from_slice(field);
                } else {
                    self.push(&mut out, field, index);
                }
            }
            out.extend_from_slice(self.newline.as_bytes());
        }
        Ok(out)
    }
}

fn is_union(ty: &LogicalType) -> bool {
    matches!(ty, LogicalType::Union(_))
}

/// Whether a type has unions, and moments, which are shown in a time zone.
fn is_zoned_union(ty: &LogicalType) -> bool {
    ty.has_part(&is_union) && ty.has_part(&|part| *part == LogicalType::TimestampTz)
}

/// `strftime(column, format)`.
fn formatted(column: &Vector, format: &str) -> Result<Vector> {
    let args = [ArgType::of(column.logical_type()), ArgType::of(LogicalType::Varchar)];
    let options = ResolveOptions::default();
    let function = resolve_scalar("strftime", &args, &options)?;
    let format = Vector::constant(LogicalType::Varchar, &Value::Varchar(format.to_string()), column.len())?;
    let mut out = Vector::empty(LogicalType::Varchar);
    function.kernel.eval(&[column, &format], column.len(), &mut out)?;
    let mut out = out.flatten();
    out.set_validity(column.validity().cloned());
    Ok(out)
}

/// Which columns `force_quote` names: `*`, all or none as a BOOLEAN, or a list.
fn quoted_columns(value: &Value, names: &[String]) -> Result<Vec<bool>> {
    let is_all = match value.as_str() {
        Some("*") => true,
        Some(given) => {
            let mut quoted = vec![false; names.len()];
            for wanted in list(given) {
                let found = names.iter().position(|name| name.to_lowercase() == wanted.to_lowercase());
                let Some(index) = found else {
                    let near = near_names(&wanted, names.iter().map(String::as_str));
                    let hint =
                        near.first().map_or_else(String::new, |near| format!("; did you mean {near}?"));
                    let message =
                        format!("force_quote names column \"{wanted}\", which is not written{hint}");
                    return Err(Error::invalid_argument(message));
                };
                quoted[index] = true;
            }
            return Ok(quoted);
        }
        None => match value {
            Value::Boolean(all) => *all,
            other => {
                let message = format!("force_quote takes '*' or a list of columns, not {other}");
                return Err(Error::invalid_argument(message));
            }
        },
    };
    Ok(vec![is_all; names.len()])
}

fn character(name: &str, value: &Value) -> Result<char> {
    let text = text(name, value)?;
    let text = if text == "\\t" { "\t" } else { text };
    let mut chars = text.chars();
    match (chars.next(), chars.next()) {
        (Some(c), None) if c.is_ascii() && c != '\n' && c != '\r' => Ok(c),
        _ => {
            Err(Error::invalid_argument(format!("option \"{name}\" takes one ASCII character, not '{text}'")))
        }
    }
}

impl CsvWriter {
    pub(super) fn open(to: &Destination<'_>, options: &[(String, Value)]) -> Result<Self> {
        let mut packing = Packing::of_path(to.path);
        let rules = Rules::read(options, (to.names, to.types), &mut packing)?;
        let (target, file) = Target::create(to)?;
        let mut file = packing.output(file, &target)?;
        let mut text = rules.prefix.clone().into_bytes();
        if rules.header {
            for (index, name) in to.names.iter().enumerate() {
                if index > 0 {
                    text.push(rules.delimiter as u8);
                }
                rules.push(&mut text, name.as_bytes(), index);
            }
            text.extend_from_slice(rules.newline.as_bytes());
        }
        file.push(text);
        Ok(Self { target, file, types: to.types.to_vec(), rules, rows: 0 })
    }
}

impl FileWriter for CsvWriter {
    fn waiting(&self) -> u64 {
        self.file.waiting()
    }

    fn write(&mut self, batches: &[Batch], parallel: Parallel<'_>) -> Result<()> {
        let Self { target, file, rules, types, .. } = self;
        file.push_rows((parallel, target), batches, |_, batch| rules.lines(batch, types))?;
        self.rows += batches.iter().map(|batch| batch.len() as u64).sum::<u64>();
        Ok(())
    }

    fn finish(mut self: Box<Self>, _: Parallel<'_>) -> Result<u64> {
        self.file.push(std::mem::take(&mut self.rules.suffix).into_bytes());
        let Self { target, file, rows, .. } = *self;
        file.finish().map_err(|error| target.error(&error))?;
        target.publish()?;
        Ok(rows)
    }
}

#[cfg(test)]
mod tests {
    use crate::write::tests::{opened, written};
    use inlay_types::{Batch, Error, LogicalType, Value, Vector};

    #[test]
    fn fields_are_quoted_where_needed_and_failures_leave_no_file() {
        let path = std::env::temp_dir().join(format!("inlay-write-{}.csv", std::process::id()));
        let path = path.to_str().unwrap();
        let text = |s: &str| Value::Varchar(s.to_string());
        let words = Vector::from_sql_values(
            LogicalType::Varchar,
            &[text("plain"), Value::Null, text(""), text("a,\"b\"\nc")],
        );
        let amounts = [250, -5, 0, 100].map(|v| Value::Decimal { unscaled: v, precision: 9, scale: 2 });
        let amounts = Vector::from_sql_values(LogicalType::decimal(9, 2), &amounts);
        let batch = Batch::new(vec![words.unwrap(), amounts.unwrap()], 4);
        let (names, types) = (["w".to_string(), "a".to_string()], batch.types());
        assert_eq!(written(path, &names, &types, [Ok(batch.clone())].into_iter(), &[]), Ok(4));
        let text_of_file = std::fs::read_to_string(path).unwrap();
        assert_eq!(text_of_file, "w,a\nplain,2.50\n,-0.05\n\"\",0.00\n\"a,\"\"b\"\"\nc\",1.00\n");

        let failing = [Ok(batch), Err(Error::Interrupted)];
        assert_eq!(written(path, &names, &types, failing.into_iter(), &[]), Err(Error::Interrupted));
        assert_eq!(std::fs::read_to_string(path).unwrap(), text_of_file);
        std::fs::remove_file(path).unwrap();
        assert!(opened("/nowhere/x.csv", &names, &types, &[]).is_err());
        assert!(opened(path, &names, &types, &[("format".into(), text("xml"))]).is_err());
    }
}
