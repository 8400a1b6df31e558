//! Rows of an HTML table, as SQLite's shell writes them.

use super::Answer;
use crate::settings::Settings;
use inlay::Value;
use std::io::{self, Write};

pub fn write(out: &mut dyn Write, answer: &Answer<'_>, settings: &Settings) -> io::Result<()> {
    if settings.headers {
        out.write_all(b"<TR>")?;
        for name in answer.names() {
            writeln!(out, "<TH>{}</TH>", escaped(name))?;
        }
        out.write_all(b"</TR>\n")?;
    }
    answer.each_row(|batch, row| {
        out.write_all(b"<TR>")?;
        for index in 0..answer.types().len() {
            let text = match batch.column(index).get(row) {
                Value::Null => escaped(settings.null()),
                value => escaped(&value.to_string()),
            };
            writeln!(out, "<TD>{text}</TD>")?;
        }
        out.write_all(b"</TR>\n")
    })
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}
