//! What a user may say about a JSON file.

use super::split::Format;
use super::texts::TextForms;
use crate::input::{Compression, Encoding};
use crate::option_text::{boolean, columns_of, integer, text, unknown_option};
use inlay_catalog::TypeNames;
use inlay_kernels::json::documents::MapRules;
use inlay_kernels::zone::Zone;
use inlay_types::{Error, LogicalType, Result, Value};

/// Documents that types are detected from unless the user says otherwise.
const SAMPLE_SIZE: usize = 20_480;

/// Whether documents are taken apart into columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Records {
    /// If they are objects.
    Auto,
    Yes,
    No,
}

/// Options of `read_json` and of COPY FROM a JSON file.
#[derive(Clone, Debug)]
pub(super) struct JsonOptions {
    pub format: Format,
    pub records: Records,
    /// Names and types of all columns.
    pub columns: Option<Vec<(String, LogicalType)>>,
    pub sample_size: usize,
    pub ignore_errors: bool,
    pub compression: Compression,
    pub encoding: Encoding,
    /// When objects are maps.
    pub maps: MapRules,
    /// Deeper parts are JSON.
    pub depth_max: usize,
    pub forms: TextForms,
}

const NAMES: &[&str] = &[
    "columns",
    "format",
    "records",
    "sample_size",
    "ignore_errors",
    "filename",
    "maximum_depth",
    "map_inference_threshold",
    "field_appearance_threshold",
    "dateformat",
    "timestampformat",
    "convert_strings_to_integers",
    "compression",
    "encoding",
    "auto_detect",
];

impl JsonOptions {
    pub fn read(function: &str, named: &[(String, Value)], types: &TypeNames<'_>) -> Result<Self> {
        let format = if function.starts_with("read_ndjson") { Format::Lines } else { Format::Auto };
        let mut options = Self {
            format,
            records: Records::Auto,
            columns: None,
            sample_size: SAMPLE_SIZE,
            ignore_errors: false,
            compression: Compression::Auto,
            encoding: Encoding::Auto,
            maps: MapRules::default(),
            depth_max: usize::MAX,
            forms: TextForms::default(),
        };
        for (name, value) in named {
            options.set((function, types), name, value)?;
        }
        Ok(options)
    }

    fn set(&mut self, (function, types): (&str, &TypeNames<'_>), name: &str, value: &Value) -> Result<()> {
        match name.to_ascii_lowercase().as_str() {
            "columns" => {
                let named = |(index, (name, ty)): (usize, (Option<String>, LogicalType))| {
                    (name.unwrap_or_else(|| format!("column{index}")), ty)
                };
                self.columns =
                    Some(columns_of(name, value, types)?.into_iter().enumerate().map(named).collect());
            }
            "format" => self.format = format_of(text(name, value)?)?,
            // COPY's word for it.
            "array" => self.format = if boolean(name, value)? { Format::Array } else { Format::Auto },
            "records" => {
                self.records = match value {
                    Value::Varchar(text) if text.eq_ignore_ascii_case("auto") => Records::Auto,
                    other if boolean(name, other)? => Records::Yes,
                    _ => Records::No,
                }
            }
            "sample_size" => {
                let size = integer(name, value)?;
                self.sample_size = usize::try_from(size).ok().filter(|size| *size > 0).unwrap_or(usize::MAX);
            }
            "time_zone" => self.forms.zone = Some(Zone::named(text(name, value)?)?),
            "ignore_errors" => self.ignore_errors = boolean(name, value)?,
            "maximum_depth" => {
                self.depth_max = usize::try_from(integer(name, value)?).unwrap_or(usize::MAX);
            }
            "map_inference_threshold" => {
                self.maps.fields_min = match integer(name, value)? {
                    -1 => None,
                    fields => Some(usize::try_from(fields).map_err(|_| {
                        let message = "map_inference_threshold is a number of keys, or -1 for no maps";
                        Error::invalid_argument(message)
                    })?),
                }
            }
            "field_appearance_threshold" => {
                let share = value.as_f64().filter(|share| (0.0..=1.0).contains(share));
                self.maps.appearance_min = share.ok_or_else(|| {
                    Error::invalid_argument(format!("field_appearance_threshold is from 0 to 1, not {value}"))
                })?;
            }
            "auto_detect" => {
                boolean(name, value)?;
            }
            // Documents of any size are read, and types are found out from all files.
            "maximum_object_size" | "maximum_sample_files" => {
                integer(name, value)?;
            }
            "dateformat" | "date_format" => self.forms.date = format_text(name, value)?,
            "timestampformat" | "timestamp_format" => self.forms.timestamp = format_text(name, value)?,
            "convert_strings_to_integers" => self.forms.integers = boolean(name, value)?,
            "compression" => self.compression = Compression::named(text(name, value)?)?,
            "encoding" => self.encoding = Encoding::named(text(name, value)?)?,
            other => return Err(unknown_option(function, other, NAMES)),
        }
        Ok(())
    }
}

/// A format as for `strptime`; ISO's forms are read without one.
fn format_text(name: &str, value: &Value) -> Result<Option<String>> {
    let format = text(name, value)?;
    Ok(Some(format.to_string())
        .filter(|format| !matches!(format.to_ascii_lowercase().as_str(), "" | "auto" | "iso")))
}

fn format_of(name: &str) -> Result<Format> {
    Ok(match name.to_ascii_lowercase().as_str() {
        "auto" | "json" => Format::Auto,
        "newline_delimited" | "nd" | "ndjson" | "jsonl" => Format::Lines,
        "array" => Format::Array,
        "unstructured" => Format::Unstructured,
        other => {
            let message = format!(
                "parameter \"format\" is auto, newline_delimited, array or unstructured, not '{other}'"
            );
            return Err(Error::invalid_argument(message));
        }
    })
}
