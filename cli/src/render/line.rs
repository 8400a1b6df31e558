//! A value per line, an empty line between rows.

use super::Answer;
use crate::settings::Settings;
use inlay::Value;
use std::io::{self, Write};
use unicode_width::UnicodeWidthStr;

/// Names take at least so many places.
const NAME_WIDTH_MIN: usize = 5;

pub fn write(out: &mut dyn Write, answer: &Answer<'_>, settings: &Settings) -> io::Result<()> {
    let widest = answer.names().iter().map(|name| name.width()).max().unwrap_or(0).max(NAME_WIDTH_MIN);
    let mut is_first = true;
    answer.each_row(|batch, row| {
        if !is_first {
            out.write_all(b"\n")?;
        }
        is_first = false;
        for (index, name) in answer.names().iter().enumerate() {
            let value = batch.column(index).get(row);
            let text =
                if matches!(value, Value::Null) { settings.null().to_string() } else { value.to_string() };
            writeln!(out, "{}{name} = {text}", " ".repeat(widest - name.width()))?;
        }
        Ok(())
    })
}
