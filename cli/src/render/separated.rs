//! Values between separators: csv, list, tsv, ascii, and quote (values as SQL).

use super::Answer;
use crate::settings::Settings;
use inlay::Value;
use std::io::{self, Write};

pub fn write_csv(out: &mut dyn Write, answer: &Answer<'_>, settings: &Settings) -> io::Result<()> {
    let (between, _) = settings.separators();
    write_texts(out, answer, settings, |text| csv_field(text, between))
}

pub fn write_list(out: &mut dyn Write, answer: &Answer<'_>, settings: &Settings) -> io::Result<()> {
    write_texts(out, answer, settings, str::to_string)
}

/// Values as text, each as `field` has it.
fn write_texts(
    out: &mut dyn Write,
    answer: &Answer<'_>,
    settings: &Settings,
    field: impl Fn(&str) -> String,
) -> io::Result<()> {
    let (between, behind) = settings.separators();
    let value = |value: &Value| match value {
        Value::Null => settings.null().to_string(),
        value => field(&value.to_string()),
    };
    write_rows(out, answer, settings, value, &field, between, behind)
}

pub fn write_quote(out: &mut dyn Write, answer: &Answer<'_>, settings: &Settings) -> io::Result<()> {
    let (between, behind) = settings.separators();
    let literal = |value: &Value| {
        let mut text = String::new();
        value.write_sql_untyped(&mut text);
        text
    };
    write_rows(
        out,
        answer,
        settings,
        literal,
        |name| literal(&Value::Varchar(name.to_string())),
        between,
        behind,
    )
}

fn write_rows(
    out: &mut dyn Write,
    answer: &Answer<'_>,
    settings: &Settings,
    text: impl Fn(&Value) -> String,
    name: impl Fn(&str) -> String,
    between: &str,
    behind: &str,
) -> io::Result<()> {
    if settings.headers {
        let names: Vec<String> = answer.names().iter().map(|text| name(text)).collect();
        write!(out, "{}{behind}", names.join(between))?;
    }
    let mut line = String::new();
    answer.each_row(|batch, row| {
        line.clear();
        for index in 0..answer.types().len() {
            if index > 0 {
                line.push_str(between);
            }
            line.push_str(&text(&batch.column(index).get(row)));
        }
        line.push_str(behind);
        out.write_all(line.as_bytes())
    })
}

/// A field, in quotes where a reader might take it for something else; as SQLite's shell has it.
pub fn csv_field(text: &str, separator: &str) -> String {
    let is_special = |byte: u8| byte <= b' ' || byte == b'"' || byte == b'\'' || byte >= 0x7f;
    let needs_quotes = text.is_empty()
        || text.bytes().any(is_special)
        || (!separator.is_empty() && text.contains(separator));
    if needs_quotes { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_string() }
}
