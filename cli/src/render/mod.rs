//! Answers as text, in each mode. Tables for people are drawn by [`inlay::render`].
//!
//! Every renderer takes an answer and writes to a `dyn Write`, row by row; only tables need all rows first.

mod html;
mod insert;
mod json;
mod latex;
mod line;
mod separated;

use crate::settings::{Mode, Settings};
use inlay::render::{Frame, LargeNumbers, RenderOptions, each_row, write_table};
use inlay::types::{Batch, LogicalType};
use inlay::{Host, QueryResult, Rest, Value};
use std::io::{self, Write};
use std::sync::Arc;

/// What the place that output goes to can show.
#[derive(Debug, Clone, Copy)]
pub struct Screen {
    /// Characters of a line, if it has lines of a certain length.
    pub width: Option<usize>,
    /// Whether it understands colours.
    pub is_coloured: bool,
    /// Whether all rows are shown whatever `.maxrows` says.
    pub shows_all: bool,
}

/// An answer with rows. In modes that write row by row, those of a large one are computed while they are written.
pub struct Answer<'a> {
    pub first: &'a QueryResult,
    pub rest: Option<&'a Rest>,
    /// Asked whether to end while they are computed.
    pub host: Option<&'a Arc<dyn Host>>,
}

impl<'a> Answer<'a> {
    /// One whose rows are all there.
    pub fn whole(result: &'a QueryResult) -> Self {
        Self { first: result, rest: None, host: None }
    }

    fn names(&self) -> &[String] {
        self.first.names()
    }

    fn types(&self) -> &[LogicalType] {
        self.first.types()
    }

    /// Calls `visit` with each row.
    fn each_row(&self, mut visit: impl FnMut(&Batch, usize) -> io::Result<()>) -> io::Result<()> {
        each_row(self.first, 0..self.first.row_count(), &mut visit)?;
        while let Some(part) =
            self.rest.map_or(Ok(None), |rest| rest.next(self.host)).map_err(io::Error::other)?
        {
            each_row(&part, 0..part.row_count(), &mut visit)?;
        }
        Ok(())
    }
}

/// Writes an answer with rows in the mode of the settings.
pub fn write_result(
    out: &mut dyn Write,
    answer: &Answer<'_>,
    settings: &Settings,
    screen: Screen,
) -> io::Result<()> {
    let result = answer.first;
    match settings.mode {
        Mode::Duckbox => write_table(out, result, &duckbox(settings, screen, result)),
        Mode::Box => write_table(out, result, &whole(settings, Frame::Box, screen)),
        Mode::Table => write_table(out, result, &whole(settings, Frame::Ascii, screen)),
        Mode::Markdown => write_table(out, result, &whole(settings, Frame::Markdown, screen)),
        Mode::Column => write_table(out, result, &whole(settings, Frame::None, screen)),
        Mode::Csv => separated::write_csv(out, answer, settings),
        Mode::List | Mode::Tsv | Mode::Ascii => separated::write_list(out, answer, settings),
        Mode::Quote => separated::write_quote(out, answer, settings),
        Mode::Json => json::write_array(out, answer),
        Mode::JsonLines => json::write_lines(out, answer),
        Mode::Line => line::write(out, answer, settings),
        Mode::Html => html::write(out, answer, settings),
        Mode::Latex => latex::write(out, answer, settings),
        Mode::Insert => insert::write(out, answer, settings),
        Mode::Trash => answer.each_row(|_, _| Ok(())),
    }
}

/// Whether the text of a value is the value in SQL and JSON: booleans and numbers.
fn is_bare(value: &Value) -> bool {
    match value {
        Value::Boolean(_) => true,
        Value::Real(number) => number.is_finite(),
        Value::Double(number) => number.is_finite(),
        other => other.logical_type().is_numeric(),
    }
}

fn duckbox(settings: &Settings, screen: Screen, result: &QueryResult) -> RenderOptions {
    let is_cut = settings.rows_max > 0 && !screen.shows_all;
    let width = if settings.width_max > 0 { Some(settings.width_max) } else { screen.width };
    RenderOptions {
        rows_max: if is_cut { settings.rows_max } else { usize::MAX },
        width_max: width.unwrap_or(usize::MAX),
        cell_max: usize::MAX,
        has_types: settings.headers,
        has_count: result.row_count() != 1 || width.is_some_and(|width| width < 40),
        large_numbers: settings.large_numbers,
        ..whole(settings, Frame::Box, screen)
    }
}

/// A table with all its rows and columns.
fn whole(settings: &Settings, frame: Frame, screen: Screen) -> RenderOptions {
    RenderOptions {
        rows_max: usize::MAX,
        width_max: usize::MAX,
        cell_max: usize::MAX,
        frame,
        has_names: settings.headers,
        has_types: false,
        has_count: false,
        null: settings.null().to_string(),
        thousands: settings.thousands.clone(),
        decimal: settings.decimal.clone(),
        large_numbers: LargeNumbers::Off,
        widths: settings.widths.clone(),
        is_coloured: screen.is_coloured,
    }
}

#[cfg(test)]
mod tests;
