//! What a user may say about a CSV file; everything else is found out by looking at it.

use crate::input::{Compression, Encoding};
use crate::option_text::{boolean, columns_of, integer, text, texts_of, unknown_option};
use inlay_catalog::TypeNames;
use inlay_kernels::zone::Zone;
use inlay_types::{Error, LogicalType, Result, Value};
use std::sync::Arc;

/// Options of `read_csv` and of COPY FROM a CSV file.
#[derive(Clone, Debug)]
pub struct CsvOptions {
    /// Between fields; one to four bytes.
    pub delimiter: Option<Vec<u8>>,
    /// Around fields; `Some(None)` when nothing is quoted.
    pub quote: Option<Option<u8>>,
    /// Before a quote inside of quotes.
    pub escape: Option<Option<u8>>,
    /// What begins a comment; `Some(None)` when nothing does.
    pub comment: Option<Option<u8>>,
    /// What ends a line.
    pub newline: Option<u8>,
    /// Whether the first line holds names.
    pub header: Option<bool>,
    /// Texts that mean NULL.
    pub null_strings: Vec<String>,
    /// What they mean in quotes.
    pub quoted_nulls: QuotedNulls,
    /// Columns in which no text means NULL.
    pub force_not_null: Vec<String>,
    /// Names and types of all columns.
    pub columns: Option<Vec<(String, LogicalType)>>,
    /// Types by position (without a name) or by name.
    pub types: Vec<(Option<String>, LogicalType)>,
    /// Types that columns may be found to have.
    pub type_candidates: Option<Vec<LogicalType>>,
    /// Names by position.
    pub names: Vec<String>,
    /// Names become those that need no quotes in SQL.
    pub normalize_names: bool,
    /// Lines to skip at the start.
    pub skip: u64,
    /// No type detection.
    pub all_varchar: bool,
    /// Nothing is found out.
    pub auto_detect: bool,
    /// Lines that cannot be read are left out.
    pub ignore_errors: bool,
    /// Whether text behind a closing quote and quotes that do not close are errors.
    pub strict: bool,
    /// Lines with too few fields are filled with NULL.
    pub null_padding: bool,
    /// Lines that types are detected from; `None` for all.
    pub sample_size: Option<usize>,
    /// Format of dates, as for `strptime`.
    pub date_format: Option<String>,
    /// Format of timestamps, as for `strptime`.
    pub timestamp_format: Option<String>,
    /// The session's, in which moments without an offset are; UTC unless the binder says so.
    pub zone: Option<Arc<Zone>>,
    /// Between the digits of a number and those of its fraction.
    pub decimal_separator: u8,
    /// Between groups of three digits.
    pub thousands: Option<u8>,
    /// Longest line in bytes.
    pub line_size_max: Option<usize>,
    /// Bytes read at once.
    pub buffer_size: Option<usize>,
    /// How files are packed.
    pub(crate) compression: Compression,
    /// How their text is written.
    pub(crate) encoding: Encoding,
    /// Where lines that are left out are noted.
    pub(crate) rejects: RejectOptions,
    /// What the user said, for those who ask.
    pub(crate) given: String,
}

/// What a text that means NULL is in quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuotedNulls {
    /// NULL as well.
    Null,
    /// A text as any other.
    Text,
    /// A text as any other where it is a value of the column's type, else NULL.
    NullIfNoValue,
}

/// Where lines that are left out are noted, and how many.
#[derive(Clone, Debug)]
pub(crate) struct RejectOptions {
    /// Whether all of them are, not only the first ones.
    pub stores: bool,
    pub errors_table: String,
    pub scans_table: String,
    /// Of one file; 0 for all.
    pub limit: u64,
    /// Bytes of a line that are kept.
    pub line_size: usize,
}

/// Lines that types are detected from unless the user says otherwise.
pub const SAMPLE_SIZE: usize = 20_480;

impl Default for CsvOptions {
    fn default() -> Self {
        Self {
            delimiter: None,
            quote: None,
            escape: None,
            comment: None,
            newline: None,
            header: None,
            null_strings: vec![String::new()],
            quoted_nulls: QuotedNulls::Null,
            force_not_null: Vec::new(),
            columns: None,
            types: Vec::new(),
            type_candidates: None,
            names: Vec::new(),
            normalize_names: false,
            skip: 0,
            all_varchar: false,
            auto_detect: true,
            ignore_errors: false,
            strict: true,
            null_padding: false,
            sample_size: Some(SAMPLE_SIZE),
            date_format: None,
            timestamp_format: None,
            zone: None,
            decimal_separator: b'.',
            thousands: None,
            line_size_max: None,
            buffer_size: None,
            compression: Compression::Auto,
            encoding: Encoding::Auto,
            rejects: RejectOptions {
                stores: false,
                errors_table: "reject_errors".to_string(),
                scans_table: "reject_scans".to_string(),
                limit: 0,
                line_size: 2 << 20,
            },
            given: String::new(),
        }
    }
}

/// Every name that an option may be written with; for the error about unknown ones.
const NAMES: &[&str] = &[
    "all_varchar",
    "allow_quoted_nulls",
    "auto_detect",
    "auto_type_candidates",
    "buffer_size",
    "column_names",
    "column_types",
    "columns",
    "comment",
    "compression",
    "dateformat",
    "decimal_separator",
    "delim",
    "dtypes",
    "encoding",
    "escape",
    "filename",
    "force_not_null",
    "header",
    "hive_partitioning",
    "hive_types",
    "hive_types_autocast",
    "ignore_errors",
    "max_line_size",
    "names",
    "new_line",
    "normalize_names",
    "null_padding",
    "nullstr",
    "parallel",
    "quote",
    "rejects_limit",
    "rejects_line_size_limit",
    "rejects_scan",
    "rejects_table",
    "sample_size",
    "sep",
    "skip",
    "store_rejects",
    "strict_mode",
    "thousands",
    "timestampformat",
    "types",
    "union_by_name",
];

impl CsvOptions {
    /// Options from named arguments.
    pub fn read(named: &[(String, Value)], types: &TypeNames<'_>) -> Result<Self> {
        let mut options = Self::default();
        let mut types_by = None;
        for (name, value) in named {
            let name = name.to_ascii_lowercase();
            if matches!(name.as_str(), "types" | "dtypes" | "column_types")
                && let Some(before) = types_by.replace(name.clone())
            {
                let message = format!("{name} and {before} both give types of columns; use one of them");
                return Err(Error::invalid_argument(message));
            }
            if !options.set(&name, value, types)? && !options.set_rare(&name, value)? {
                return Err(unknown_option("read_csv", &name, NAMES));
            }
        }
        let leaves_none_out = |(name, value): &(String, Value)| {
            name.eq_ignore_ascii_case("ignore_errors") && *value == Value::Boolean(false)
        };
        if options.rejects.stores && named.iter().any(leaves_none_out) {
            let message =
                "rejects are stored of lines that are left out, and ignore_errors = false leaves none out";
            return Err(Error::invalid_argument(message));
        }
        // The binder gives the zone.
        let written = named.iter().filter(|(name, _)| name != "time_zone");
        let given = written.map(|(name, value)| match value.as_str() {
            Some(text) => format!("{name}='{}'", text.replace('\'', "''")),
            None => format!("{name}={value}"),
        });
        options.given = given.collect::<Vec<_>>().join(", ");
        options.check()?;
        Ok(options)
    }

    /// What files look like and what is in them; whether the option is one of these.
    fn set(&mut self, name: &str, value: &Value, types: &TypeNames<'_>) -> Result<bool> {
        match name {
            "delim" | "sep" | "delimiter" | "separator" => self.delimiter = Some(delimiter(name, value)?),
            "quote" => self.quote = Some(optional_byte(name, value)?),
            "escape" => self.escape = Some(optional_byte(name, value)?),
            "comment" => self.comment = Some(optional_byte(name, value)?),
            "new_line" => self.newline = Some(newline(name, value)?),
            "header" => self.header = Some(boolean(name, value)?),
            "nullstr" | "null" | "null_str" => {
                self.null_strings = match value {
                    Value::Varchar(text) if !text.starts_with('[') => vec![text.clone()],
                    other => texts_of(name, other)?,
                };
                if self.null_strings.is_empty() {
                    let message = format!(
                        "{name} = []: at least one text stands for NULL; leave it out for the empty text"
                    );
                    return Err(Error::invalid_argument(message));
                }
            }
            "allow_quoted_nulls" => {
                self.quoted_nulls = match value {
                    Value::Varchar(text) if text.eq_ignore_ascii_case("auto") => QuotedNulls::NullIfNoValue,
                    other if boolean(name, other)? => QuotedNulls::Null,
                    _ => QuotedNulls::Text,
                }
            }
            "force_not_null" => self.force_not_null = texts_of(name, value)?,
            "columns" => {
                let named = |(index, (name, ty)): (usize, (Option<String>, LogicalType))| {
                    (name.unwrap_or_else(|| format!("column{index}")), ty)
                };
                let columns = columns_of(name, value, types)?;
                self.columns = Some(columns.into_iter().enumerate().map(named).collect());
            }
            "types" | "dtypes" | "column_types" => self.types = columns_of(name, value, types)?,
            "auto_type_candidates" => {
                let types = columns_of(name, value, types)?.into_iter().map(|(_, ty)| ty).collect();
                self.type_candidates = Some(types);
            }
            "names" | "column_names" => self.names = texts_of(name, value)?,
            "normalize_names" => self.normalize_names = boolean(name, value)?,
            "skip" => self.skip = count(name, value)?,
            "all_varchar" => self.all_varchar = boolean(name, value)?,
            "auto_detect" => self.auto_detect = boolean(name, value)?,
            "ignore_errors" => self.ignore_errors = boolean(name, value)?,
            "strict_mode" => self.strict = boolean(name, value)?,
            "null_padding" => self.null_padding = boolean(name, value)?,
            "dateformat" | "date_format" => self.date_format = Some(text(name, value)?.to_string()),
            "timestampformat" | "timestamp_format" => {
                self.timestamp_format = Some(text(name, value)?.to_string());
            }
            "time_zone" => self.zone = Some(Zone::named(text(name, value)?)?),
            "decimal_separator" => {
                self.decimal_separator = byte(name, value)?;
                if !matches!(self.decimal_separator, b'.' | b',') {
                    let message = format!("decimal_separator is '.' or ',', not {value}");
                    return Err(Error::invalid_argument(message));
                }
            }
            "thousands" => self.thousands = optional_byte(name, value)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// How files are read, and where rejects go; whether the option is one of these.
    fn set_rare(&mut self, name: &str, value: &Value) -> Result<bool> {
        match name {
            "sample_size" => {
                let lines = integer(name, value)?;
                if lines == 0 {
                    let message = "sample_size = 0: at least one line is looked at; -1 looks at all";
                    return Err(Error::invalid_argument(message));
                }
                self.sample_size = usize::try_from(lines).ok().filter(|&lines| lines > 0);
            }
            "compression" => self.compression = Compression::named(text(name, value)?)?,
            "encoding" => self.encoding = Encoding::named(text(name, value)?)?,
            "max_line_size" | "maximum_line_size" => {
                self.line_size_max = Some(positive(name, value)?);
            }
            "buffer_size" => self.buffer_size = Some(positive(name, value)?),
            "store_rejects" => self.rejects.stores = boolean(name, value)?,
            "rejects_table" => {
                self.rejects.errors_table = text(name, value)?.to_string();
                self.rejects.stores = true;
            }
            "rejects_scan" => {
                self.rejects.scans_table = text(name, value)?.to_string();
                self.rejects.stores = true;
            }
            "rejects_limit" => {
                self.rejects.limit = count(name, value)?;
                self.rejects.stores = true;
            }
            "rejects_line_size_limit" => self.rejects.line_size = positive(name, value)?,
            // Files are always read in parallel.
            "parallel" => drop(boolean(name, value)?),
            "files_to_sniff" => drop(integer(name, value)?),
            // COPY says which format the file has.
            "format" => {}
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// What ends a value, or is taken out of it, is in no value, and so in none that stands for NULL.
    fn check_nulls(&self) -> Result<()> {
        let has = |text: &String, part: &[u8]| {
            !part.is_empty() && text.as_bytes().windows(part.len()).any(|window| window == part)
        };
        let delimiter = self.delimiter.as_deref().unwrap_or_default();
        let quotes = [self.quote.flatten(), self.escape.flatten()];
        let mut parts = quotes.iter().flatten().map(std::slice::from_ref).chain([delimiter]);
        match parts.find_map(|part| self.null_strings.iter().find(|null| has(null, part))) {
            None => Ok(()),
            Some(null) => Err(Error::invalid_argument(format!(
                "nullstr '{null}' has the delim, quote or escape in it: no value reads like that"
            ))),
        }
    }

    fn check(&mut self) -> Result<()> {
        let clash = |what: &str| Err(Error::invalid_argument(what.to_string()));
        if self.thousands == Some(self.decimal_separator) {
            return clash("decimal_separator and thousands must differ");
        }
        let rejects = &self.rejects;
        if rejects.errors_table.eq_ignore_ascii_case(&rejects.scans_table) {
            return clash("rejects_table and rejects_scan must be different names");
        }
        if rejects.errors_table.is_empty() || rejects.scans_table.is_empty() {
            return clash("rejects_table and rejects_scan have a name: it is empty");
        }
        let bytes = [self.quote.flatten(), self.escape.flatten(), self.comment.flatten()];
        let delimiter = self.delimiter.as_deref().unwrap_or_default();
        if bytes.iter().flatten().any(|byte| delimiter.contains(byte)) {
            return clash("delim, quote, escape and comment must be different characters");
        }
        self.check_nulls()?;
        if self.comment.flatten().is_some() && self.comment.flatten() == self.quote.flatten() {
            return clash("quote and comment must be different characters");
        }
        self.ignore_errors |= rejects.stores;
        if !self.auto_detect {
            self.all_varchar |= self.columns.is_none() && self.types.is_empty();
            self.delimiter.get_or_insert_with(|| vec![b',']);
            self.quote.get_or_insert(Some(b'"'));
            self.comment.get_or_insert(None);
            self.header.get_or_insert(false);
        }
        Ok(())
    }
}

fn count(name: &str, value: &Value) -> Result<u64> {
    u64::try_from(integer(name, value)?)
        .map_err(|_| Error::invalid_argument(format!("parameter \"{name}\" must not be negative")))
}

fn positive(name: &str, value: &Value) -> Result<usize> {
    usize::try_from(integer(name, value)?)
        .ok()
        .filter(|size| *size > 0)
        .ok_or_else(|| Error::invalid_argument(format!("parameter \"{name}\" must be positive")))
}

fn delimiter(name: &str, value: &Value) -> Result<Vec<u8>> {
    let text = text(name, value)?.replace("\\t", "\t");
    if (1..=4).contains(&text.len()) && !text.contains(['\n', '\r']) {
        return Ok(text.into_bytes());
    }
    Err(Error::invalid_argument(format!(
        "parameter \"{name}\" takes one to four characters other than line ends, not '{text}'"
    )))
}

fn byte(name: &str, value: &Value) -> Result<u8> {
    let text = text(name, value)?;
    let text = if text == "\\t" { "\t" } else { text };
    match text.as_bytes() {
        [byte] if !matches!(byte, b'\n' | b'\r') && byte.is_ascii() => Ok(*byte),
        _ => Err(Error::invalid_argument(format!(
            "parameter \"{name}\" takes one ASCII character, not '{text}'"
        ))),
    }
}

fn optional_byte(name: &str, value: &Value) -> Result<Option<u8>> {
    if value.is_null() || value.as_str() == Some("") { Ok(None) } else { byte(name, value).map(Some) }
}

/// A carriage return before a line feed goes with it, whichever is said.
fn newline(name: &str, value: &Value) -> Result<u8> {
    match text(name, value)? {
        "\\n" | "\n" | "\\r\\n" | "\r\n" => Ok(b'\n'),
        "\\r" | "\r" => Ok(b'\r'),
        other => Err(Error::invalid_argument(format!(
            "parameter \"{name}\" is '\\n', '\\r' or '\\r\\n', not '{other}'"
        ))),
    }
}
