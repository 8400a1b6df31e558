//! A tabular environment of LaTeX, as DuckDB's shell writes it; what LaTeX would obey is escaped.

use super::Answer;
use crate::settings::Settings;
use inlay::Value;
use std::io::{self, Write};

pub fn write(out: &mut dyn Write, answer: &Answer<'_>, settings: &Settings) -> io::Result<()> {
    let alignment: String = answer.types().iter().map(|ty| if ty.is_numeric() { 'r' } else { 'l' }).collect();
    writeln!(out, "\\begin{{tabular}}{{|{alignment}|}}\n\\hline")?;
    if settings.headers {
        let names: Vec<String> = answer.names().iter().map(|name| escaped(name)).collect();
        writeln!(out, "{} \\\\\n\\hline", names.join(" & "))?;
    }
    answer.each_row(|batch, row| {
        let text = |index: usize| match batch.column(index).get(row) {
            Value::Null => escaped(settings.null()),
            value => escaped(&value.to_string()),
        };
        let cells: Vec<String> = (0..answer.types().len()).map(text).collect();
        writeln!(out, "{} \\\\", cells.join(" & "))
    })?;
    out.write_all(b"\\hline\n\\end{tabular}\n")
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => out.extend(['\\', c]),
            '~' => out.push_str("\\textasciitilde{}"),
            '^' => out.push_str("\\textasciicircum{}"),
            '\\' => out.push_str("\\textbackslash{}"),
            '\n' => out.push(' '),
            c => out.push(c),
        }
    }
    out
}
