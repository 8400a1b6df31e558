//! Answers as text, in each mode. Tables for people are drawn by [`inlay::render`].
//!
//! Every renderer takes a result and writes to a `dyn Write`, row by row.

mod html;
mod insert;
mod json;
mod latex;
mod line;
mod separated;

pub use insert::{quoted_name, text_literal, write_literal};

use crate::settings::{Mode, Settings};
use inlay::render::{Frame, LargeNumbers, RenderOptions, write_table};
use inlay::types::Batch;
use inlay::{QueryResult, Value};
use std::io::{self, Write};

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

/// Writes an answer with rows in the mode of the settings.
pub fn write_result(
    out: &mut dyn Write,
    result: &QueryResult,
    settings: &Settings,
    screen: Screen,
) -> io::Result<()> {
    match settings.mode {
        Mode::Duckbox => write_table(out, result, &duckbox(settings, screen, result)),
        Mode::Box => write_table(out, result, &whole(settings, Frame::Box, screen)),
        Mode::Table => write_table(out, result, &whole(settings, Frame::Ascii, screen)),
        Mode::Markdown => write_table(out, result, &whole(settings, Frame::Markdown, screen)),
        Mode::Column => write_table(out, result, &whole(settings, Frame::None, screen)),
        Mode::Csv => separated::write_csv(out, result, settings),
        Mode::List | Mode::Tsv | Mode::Ascii => separated::write_list(out, result, settings),
        Mode::Quote => separated::write_quote(out, result, settings),
        Mode::Json => json::write_array(out, result),
        Mode::JsonLines => json::write_lines(out, result),
        Mode::Line => line::write(out, result, settings),
        Mode::Html => html::write(out, result, settings),
        Mode::Latex => latex::write(out, result, settings),
        Mode::Insert => insert::write(out, result, settings),
        Mode::Trash => Ok(()),
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

/// Calls `visit` with each row of a result.
fn rows(result: &QueryResult, visit: impl FnMut(&Batch, usize) -> io::Result<()>) -> io::Result<()> {
    inlay::render::each_row(result, 0..result.row_count(), visit)
}

#[cfg(test)]
mod tests;
