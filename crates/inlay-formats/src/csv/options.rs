//! What a user may say about a CSV file; everything else is found out by looking at it.

use crate::option_text::{boolean, columns_of, integer, list, text, texts_of, unknown_option};
use inlay_types::{Error, LogicalType, Result, Value};

/// Options of `read_csv` and of COPY FROM a CSV file.
#[derive(Clone, Debug)]
pub struct CsvOptions {
    /// Between fields.
    pub delimiter: Option<u8>,
    /// Around fields; `Some(None)` when nothing is quoted.
    pub quote: Option<Option<u8>>,
    /// Before a quote inside of quotes.
    pub escape: Option<Option<u8>>,
    /// Whether the first line holds names.
    pub header: Option<bool>,
    /// Texts that mean NULL.
    pub null_strings: Vec<String>,
    /// Names and types of all columns.
    pub columns: Option<Vec<(String, LogicalType)>>,
    /// Types by position (without a name) or by name.
    pub types: Vec<(Option<String>, LogicalType)>,
    /// Names by position.
    pub names: Vec<String>,
    /// Lines to skip at the start.
    pub skip: u64,
    /// No type detection.
    pub all_varchar: bool,
    /// Lines that cannot be read are left out.
    pub ignore_errors: bool,
    /// Lines with too few fields are filled with NULL.
    pub null_padding: bool,
    /// Lines that types are detected from; `None` for all.
    pub sample_size: Option<usize>,
    /// Format of dates, as for `strptime`.
    pub date_format: Option<String>,
    /// Format of timestamps, as for `strptime`.
    pub timestamp_format: Option<String>,
}

/// Lines that types are detected from unless the user says otherwise.
pub const SAMPLE_SIZE: usize = 20_480;

impl Default for CsvOptions {
    fn default() -> Self {
        Self {
            delimiter: None,
            quote: None,
            escape: None,
            header: None,
            null_strings: vec![String::new()],
            columns: None,
            types: Vec::new(),
            names: Vec::new(),
            skip: 0,
            all_varchar: false,
            ignore_errors: false,
            null_padding: false,
            sample_size: Some(SAMPLE_SIZE),
            date_format: None,
            timestamp_format: None,
        }
    }
}

/// Every name that an option may be written with; for the error about unknown ones.
const NAMES: &[&str] = &[
    "delim",
    "sep",
    "quote",
    "escape",
    "header",
    "nullstr",
    "columns",
    "types",
    "names",
    "skip",
    "all_varchar",
    "ignore_errors",
    "null_padding",
    "sample_size",
    "dateformat",
    "timestampformat",
    "auto_detect",
];

impl CsvOptions {
    /// Options from named arguments.
    pub fn read(named: &[(String, Value)]) -> Result<Self> {
        let mut options = Self::default();
        for (name, value) in named {
            options.set(name, value)?;
        }
        Ok(options)
    }

    fn set(&mut self, name: &str, value: &Value) -> Result<()> {
        match name.to_ascii_lowercase().as_str() {
            "delim" | "sep" | "delimiter" => self.delimiter = Some(delimiter(name, value)?),
            "quote" => self.quote = Some(optional_byte(name, value)?),
            "escape" => self.escape = Some(optional_byte(name, value)?),
            "header" => self.header = Some(boolean(name, value)?),
            "nullstr" | "null" | "null_str" => {
                let text = text(name, value)?;
                self.null_strings = if text.starts_with('[') { list(text) } else { vec![text.to_string()] };
            }
            "columns" => {
                let named = |(index, (name, ty)): (usize, (Option<String>, LogicalType))| {
                    (name.unwrap_or_else(|| format!("column{index}")), ty)
                };
                let columns = columns_of(name, value)?;
                self.columns = Some(columns.into_iter().enumerate().map(named).collect());
            }
            "types" | "dtypes" | "column_types" => self.types = columns_of(name, value)?,
            "names" | "column_names" => self.names = texts_of(name, value)?,
            "skip" => {
                self.skip = u64::try_from(integer(name, value)?)
                    .map_err(|_| Error::invalid_argument("parameter \"skip\" must not be negative"))?;
            }
            "all_varchar" => self.all_varchar = boolean(name, value)?,
            "ignore_errors" => self.ignore_errors = boolean(name, value)?,
            "null_padding" => self.null_padding = boolean(name, value)?,
            "sample_size" => {
                let lines = integer(name, value)?;
                self.sample_size = usize::try_from(lines).ok().filter(|&lines| lines > 0);
            }
            "dateformat" | "date_format" => self.date_format = Some(text(name, value)?.to_string()),
            "timestampformat" | "timestamp_format" => {
                self.timestamp_format = Some(text(name, value)?.to_string())
            }
            "auto_detect" => self.all_varchar |= !boolean(name, value)?,
            // COPY says which format the file has.
            "format" => {}
            other => {
                return Err(unknown_option("read_csv", other, NAMES));
            }
        }
        Ok(())
    }
}

fn delimiter(name: &str, value: &Value) -> Result<u8> {
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
    if value.is_null() || value.as_str() == Some("") { Ok(None) } else { delimiter(name, value).map(Some) }
}
