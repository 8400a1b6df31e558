//! `sniff_csv('file')`: what reading a CSV file would find out about it, with DuckDB's columns.

use super::options::CsvOptions;
use super::{input_of, sniff};
use crate::column_source::ColumnSource;
use crate::files::Files;
use crate::paths;
use crate::per_file::PerFile;
use crate::rejects::SessionFiles;
use inlay_catalog::{TableFunction, TableSource, TypeNames};
use inlay_types::{Field, LogicalType, Result, Value, Vector};
use std::sync::Arc;

/// The function.
#[derive(Debug)]
pub struct SniffCsv {
    access: Arc<Files>,
    session: Arc<SessionFiles>,
}

impl SniffCsv {
    /// The function over files that `access` allows.
    pub fn new(access: &Arc<Files>, session: &Arc<SessionFiles>) -> Self {
        Self { access: Arc::clone(access), session: Arc::clone(session) }
    }
}

impl TableFunction for SniffCsv {
    fn name(&self) -> &'static str {
        "sniff_csv"
    }

    fn bind(
        &self,
        args: &[Value],
        named: &[(String, Value)],
        types: &TypeNames<'_>,
    ) -> Result<Arc<dyn TableSource>> {
        let files = paths::expand(self.name(), args, &self.access)?;
        let others = others(named);
        let (_, named) = PerFile::take(named, types)?;
        // Whether a file fits what is said of it is found out when it is read.
        let named: Vec<(String, Value)> =
            named.into_iter().filter(|(name, _)| name != "force_match").collect();
        let options = CsvOptions::read(&named, types)?;
        let path = files.first().cloned().unwrap_or_default();
        let schema = sniff::sniff(&input_of(&self.access, &path, &options, &self.session)?, &options)?;
        let byte = |byte: Option<u8>| match byte {
            Some(byte) => char::from(byte).to_string(),
            None => "(empty)".to_string(),
        };
        let newline = match (schema.dialect.newline, schema.has_return) {
            (b'\r', _) => "\\r",
            (_, true) => "\\r\\n",
            _ => "\\n",
        };
        let format_of = |wanted: &LogicalType| {
            let mut of_type = schema.columns.iter().zip(&schema.formats).filter(|((_, ty), _)| ty == wanted);
            of_type.find_map(|(_, format)| format.clone())
        };
        let (dates, moments) = (format_of(&LogicalType::Date), format_of(&LogicalType::Timestamp));
        let types = LogicalType::structure(vec![
            ("name".to_string(), LogicalType::Varchar),
            ("type".to_string(), LogicalType::Varchar),
        ]);
        let columns = columns_value(&types, &schema.columns);
        let arguments = options.given.clone();
        let optional = |text: Option<String>| text.map_or(Value::Null, Value::Varchar);
        let given = (options.date_format.as_deref(), options.timestamp_format.as_deref());
        let formats = (dates.as_deref().or(given.0), moments.as_deref().or(given.1));
        let prompt = prompt(&path, &schema, newline, options.skip, formats, &others);
        let text = Value::Varchar;
        let row = vec![
            (
                "Delimiter",
                LogicalType::Varchar,
                text(String::from_utf8_lossy(&schema.dialect.delimiter).into_owned()),
            ),
            ("Quote", LogicalType::Varchar, text(byte(schema.dialect.quote))),
            ("Escape", LogicalType::Varchar, text(byte(schema.dialect.escape))),
            ("NewLineDelimiter", LogicalType::Varchar, text(newline.to_string())),
            ("Comment", LogicalType::Varchar, text(byte(schema.dialect.comment))),
            (
                "SkipRows",
                LogicalType::UInteger,
                Value::UInteger(u32::try_from(options.skip).unwrap_or(u32::MAX)),
            ),
            ("HasHeader", LogicalType::Boolean, Value::Boolean(schema.has_header)),
            ("Columns", LogicalType::list(types), columns),
            ("DateFormat", LogicalType::Varchar, optional(dates.clone())),
            ("TimestampFormat", LogicalType::Varchar, optional(moments.clone())),
            (
                "UserArguments",
                LogicalType::Varchar,
                optional(Some(arguments).filter(|given| !given.is_empty())),
            ),
            ("Prompt", LogicalType::Varchar, text(prompt)),
        ];
        let mut vectors = Vec::with_capacity(row.len());
        for (name, ty, value) in row {
            vectors.push((name.to_string(), Vector::from_sql_values(ty, &[value])?));
        }
        Ok(Arc::new(ColumnSource::new("sniff_csv()", vectors)?))
    }
}

fn columns_value(ty: &LogicalType, columns: &[(String, LogicalType)]) -> Value {
    let LogicalType::Struct(fields) = ty else { return Value::Null };
    let column = |(name, ty): &(String, LogicalType)| Value::Struct {
        fields: Arc::clone(fields),
        values: vec![Value::Varchar(name.clone()), Value::Varchar(ty.to_string())],
    };
    Value::List { element: Arc::new(ty.clone()), values: columns.iter().map(column).collect() }
}

/// Options that the query says as what was found out, or that only say what is found out.
const SAID: &[&str] = &[
    "delim",
    "sep",
    "delimiter",
    "separator",
    "quote",
    "escape",
    "comment",
    "new_line",
    "header",
    "skip",
    "columns",
    "types",
    "dtypes",
    "column_types",
    "names",
    "column_names",
    "normalize_names",
    "auto_detect",
    "auto_type_candidates",
    "all_varchar",
    "sample_size",
    "files_to_sniff",
    "dateformat",
    "date_format",
    "timestampformat",
    "timestamp_format",
    "force_match",
];

/// The other options that the function was called with, as they stand behind those.
fn others(named: &[(String, Value)]) -> String {
    let is_other = |(name, _): &&(String, Value)| !SAID.contains(&name.to_ascii_lowercase().as_str());
    let shown =
        |(name, value): &(String, Value)| format!(", {}={}", name.to_ascii_lowercase(), written(value));
    named.iter().filter(is_other).map(shown).collect()
}

/// The value of an option as SQL.
fn written(value: &Value) -> String {
    let quoted = |text: &str| format!("'{}'", text.replace('\'', "''"));
    let all = |values: &[Value]| values.iter().map(written).collect::<Vec<_>>().join(", ");
    match value {
        Value::Null | Value::Boolean(_) => value.to_string(),
        Value::List { values, .. } | Value::Array { values, .. } => format!("[{}]", all(values)),
        Value::Struct { fields, values } => {
            let part =
                |(field, value): (&Field, &Value)| format!("{}: {}", quoted(&field.name), written(value));
            format!("{{{}}}", fields.iter().zip(values).map(part).collect::<Vec<_>>().join(", "))
        }
        Value::Map { entries, .. } => {
            let part = |(key, value): &(Value, Value)| format!("{}: {}", written(key), written(value));
            format!("MAP {{{}}}", entries.iter().map(part).collect::<Vec<_>>().join(", "))
        }
        number if number.logical_type().is_numeric() => number.to_string(),
        text => quoted(&text.to_string()),
    }
}

/// The query that reads the file as it was found to be.
fn prompt(
    path: &str,
    schema: &sniff::Schema,
    newline: &str,
    skip: u64,
    (dates, moments): (Option<&str>, Option<&str>),
    others: &str,
) -> String {
    let quoted = |text: &str| format!("'{}'", text.replace('\'', "''"));
    let byte = |byte: Option<u8>| byte.map_or_else(String::new, |byte| char::from(byte).to_string());
    let columns = schema.columns.iter().map(|(name, ty)| format!("{}: '{ty}'", quoted(name)));
    let format = |name: &str, format: Option<&str>| {
        format.map_or_else(String::new, |format| format!(", {name}={}", quoted(format)))
    };
    format!(
        "FROM read_csv({}, auto_detect=false, delim={}, quote={}, escape={}, new_line='{newline}', skip={skip}, \
         comment={}, header={}, columns={{{}}}{}{}{others});",
        quoted(path),
        quoted(&String::from_utf8_lossy(&schema.dialect.delimiter)),
        quoted(&byte(schema.dialect.quote)),
        quoted(&byte(schema.dialect.escape)),
        quoted(&byte(schema.dialect.comment)),
        schema.has_header,
        columns.collect::<Vec<_>>().join(", "),
        format("dateformat", dates),
        format("timestampformat", moments),
    )
}
