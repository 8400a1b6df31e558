//! A result as a table for people: names, types, the first and last rows, and how many there are.
//!
//! ```text
//! ┌─────────┬─────────┐
//! │  city   │   km    │
//! │ varchar │ double  │
//! ├─────────┼─────────┤
//! │ Ulm     │     3.2 │
//! └─────────┴─────────┘
//! ```
//! Called by the bindings for `repr` and by shells. Widths are those of a terminal: wide characters take two places,
//! combining ones none. What would move the cursor or hide text is shown escaped. All rows are gone through twice, to
//! measure and to write; no text is kept.

use crate::result::{QueryResult, ResultKind};
use inlay_types::{Batch, Error, LogicalType, Result, Value};
use std::fmt::Write as _;
use std::io::{self, Write};
use std::ops::Range;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Columns are not made narrower than this to fit more of them into a line.
const COLUMN_WIDTH_MIN: usize = 20;
/// Rows of dots that stand for rows left out.
const DOT_ROWS: usize = 3;
const DIM: &str = "\x1b[90m";
const PLAIN: &str = "\x1b[0m";

/// What lines are drawn with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame {
    /// Box characters.
    Box,
    /// `+`, `-` and `|`.
    Ascii,
    /// A table of Markdown.
    Markdown,
    /// Nothing but a rule of `-` below the names.
    None,
}

/// How numbers from a million on are made readable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LargeNumbers {
    /// Not at all.
    Off,
    /// In a line below, if there is only one row.
    Footer,
    /// Instead of the digits.
    All,
}

/// What is shown, and how.
#[derive(Clone, Debug)]
pub struct RenderOptions {
    /// Rows shown at most; of more, the first and last halves.
    pub rows_max: usize,
    /// Characters of a line at most; wide columns are made narrower, then columns in the middle are left out.
    pub width_max: usize,
    /// Characters of a cell at most.
    pub cell_max: usize,
    /// The lines.
    pub frame: Frame,
    /// Whether the names are shown.
    pub has_names: bool,
    /// Whether the types are shown, below the names.
    pub has_types: bool,
    /// Whether a line says how many rows and columns there are; it always does if columns are left out.
    pub has_count: bool,
    /// What stands for NULL.
    pub null: String,
    /// Between groups of three digits.
    pub thousands: Option<String>,
    /// Instead of the decimal point.
    pub decimal: Option<String>,
    /// Numbers from a million on.
    pub large_numbers: LargeNumbers,
    /// Widths of the first columns in place of those of their texts; negative: right-aligned, 0: by the texts.
    pub widths: Vec<i32>,
    /// Whether NULL and what is no data are dimmed, as a terminal understands it.
    pub is_coloured: bool,
}

impl Default for RenderOptions {
    fn default() -> Self {
        Self {
            rows_max: 40,
            width_max: 160,
            cell_max: 60,
            frame: Frame::Box,
            has_names: true,
            has_types: true,
            has_count: true,
            null: "NULL".to_string(),
            thousands: None,
            decimal: None,
            large_numbers: LargeNumbers::Off,
            widths: Vec::new(),
            is_coloured: false,
        }
    }
}

/// The table as text, without a line break at the end.
///
/// Fails when rows that are still in a table cannot be read.
pub fn render(result: &QueryResult, options: RenderOptions) -> Result<String> {
    let mut bytes = Vec::new();
    write_table(&mut bytes, result, &options).map_err(|error| match error.downcast::<Error>() {
        Ok(error) => error,
        Err(other) => Error::internal(other.to_string()),
    })?;
    let mut text = String::from_utf8_lossy(&bytes).into_owned();
    text.truncate(text.trim_end_matches('\n').len());
    Ok(text)
}

/// Writes the table. A statement without an answer has none.
pub fn write_table(out: &mut dyn Write, result: &QueryResult, options: &RenderOptions) -> io::Result<()> {
    match result.kind() {
        ResultKind::Done => return Ok(()),
        ResultKind::Rows | ResultKind::Changed(_) => {}
    }
    let total = result.row_count();
    // Dots in place of fewer rows than they need themselves would hide without saving room.
    let is_cut = total > options.rows_max.saturating_add(if options.rows_max < 10 { 0 } else { DOT_ROWS });
    let head = if is_cut { options.rows_max.div_ceil(2) } else { total };
    let tail = if is_cut { total - (options.rows_max - head) } else { total };
    let is_numeric = result.types().iter().map(LogicalType::is_numeric).collect();
    let texts = Texts { options, is_numeric };
    let columns = measured(result, &texts, &[0..head, tail..total])?;
    let layout = fitted(&columns, options);
    let mut grid = Grid { out, options, columns: &columns, layout: &layout };
    grid.head(total > 0)?;
    let rows = |grid: &mut Grid<'_>, range| {
        each_row(result, range, |batch, row| grid.row(|column| texts.cell(batch, row, column)))
    };
    rows(&mut grid, 0..head)?;
    if is_cut {
        for _ in 0..DOT_ROWS {
            grid.dots()?;
        }
        rows(&mut grid, tail..total)?;
    } else if total == 1 && options.large_numbers == LargeNumbers::Footer {
        each_row(result, 0..1, |batch, row| grid.readable(batch, row))?;
    }
    grid.foot()?;
    let shown = layout.shown.iter().flatten().count();
    if options.has_count || shown < columns.len() {
        let text = count_text(total, is_cut.then_some(options.rows_max), columns.len(), shown);
        grid.dim_line(&text)?;
    }
    Ok(())
}

/// Calls `visit` with the batch and the row in it for each of some rows. An error of ours is inside of the one of I/O.
pub fn each_row(
    result: &QueryResult,
    rows: Range<usize>,
    mut visit: impl FnMut(&Batch, usize) -> io::Result<()>,
) -> io::Result<()> {
    for batch in result.slice(rows).batches() {
        let batch = batch.map_err(io::Error::other)?;
        (0..batch.len()).try_for_each(|row| visit(&batch, row))?;
    }
    Ok(())
}

fn count_text(rows: usize, rows_shown: Option<usize>, columns: usize, columns_shown: usize) -> String {
    let plural = |count: usize| if count == 1 { "" } else { "s" };
    let mut text = format!("{} row{}", grouped(&rows.to_string(), ","), plural(rows));
    if let Some(shown) = rows_shown {
        let _ = write!(text, " ({shown} shown)");
    }
    if columns > 1 {
        let _ = write!(text, ", {columns} columns");
        if columns_shown < columns {
            let _ = write!(text, " ({columns_shown} shown)");
        }
    }
    text
}

/// `1234567` as `1,234,567`; what is behind the point stays.
fn grouped(number: &str, separator: &str) -> String {
    let (sign, digits) = number.strip_prefix('-').map_or(("", number), |digits| ("-", digits));
    let whole = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    let mut text = sign.to_string();
    for (index, digit) in digits[..whole].chars().enumerate() {
        if index > 0 && (whole - index).is_multiple_of(3) {
            text.push_str(separator);
        }
        text.push(digit);
    }
    text.push_str(&digits[whole..]);
    text
}

/// `1234567` as `1.23 million`; `None` for what is short anyway.
fn readable(number: f64) -> Option<String> {
    const UNITS: [&str; 5] = ["million", "billion", "trillion", "quadrillion", "quintillion"];
    if !number.is_finite() || number.abs() < 1e6 {
        return None;
    }
    let mut scaled = number / 1e6;
    for unit in UNITS {
        // 999.996 would be written as 1000.00.
        if scaled.abs() < 999.995 {
            return Some(format!("{scaled:.2} {unit}"));
        }
        scaled /= 1e3;
    }
    None
}

fn readable_value(value: &Value) -> Option<String> {
    let number = match value {
        Value::Null | Value::Boolean(_) | Value::Varchar(_) => None,
        Value::Double(number) => Some(*number),
        Value::Real(number) => Some(f64::from(*number)),
        Value::Decimal { .. } => value.to_string().parse().ok(),
        other => other.as_i128().map(|number| number as f64),
    };
    number.and_then(readable)
}

/// Values as texts.
struct Texts<'a> {
    options: &'a RenderOptions,
    is_numeric: Vec<bool>,
}

/// A cell: its text, and whether it is a NULL.
struct Cell {
    text: String,
    is_null: bool,
}

impl Texts<'_> {
    fn cell(&self, batch: &Batch, row: usize, column: usize) -> Cell {
        let value = batch.column(column).get(row);
        if matches!(value, Value::Null) {
            return Cell { text: escaped(&self.options.null), is_null: true };
        }
        if !self.is_numeric[column] {
            return Cell { text: escaped(&value.to_string()), is_null: false };
        }
        let in_words =
            if self.options.large_numbers == LargeNumbers::All { readable_value(&value) } else { None };
        let mut text = in_words.unwrap_or_else(|| value.to_string());
        if text.bytes().all(|b| b.is_ascii_digit() || b"-.".contains(&b)) {
            if let Some(decimal) = &self.options.decimal {
                text = text.replace('.', decimal);
            }
            if let Some(separator) = &self.options.thousands {
                text = grouped(&text, separator);
            }
        }
        Cell { text: escaped(&text), is_null: false }
    }
}

/// A text without what would move the cursor or turn the writing around.
pub fn escaped(text: &str) -> String {
    let is_plain = |c: char| {
        !c.is_control()
            && !matches!(c, '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    if text.chars().all(is_plain) {
        return text.to_string();
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if is_plain(c) => out.push(c),
            c => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
        }
    }
    out
}

fn cut(text: &str, width_max: usize) -> String {
    if text.width() <= width_max {
        return text.to_string();
    }
    let mut used = 0;
    let fits = |c: &char| {
        used += c.width().unwrap_or(0);
        used < width_max
    };
    text.chars().take_while(fits).chain(['…']).collect()
}

/// A column before it is decided how much room there is.
struct Column {
    name: String,
    ty: String,
    width: usize,
    is_right: bool,
}

fn measured(result: &QueryResult, texts: &Texts<'_>, rows: &[Range<usize>]) -> io::Result<Vec<Column>> {
    let options = texts.options;
    let mut columns: Vec<Column> = Vec::with_capacity(result.types().len());
    for (ty, name) in result.types().iter().zip(result.names()) {
        let shown = if *ty == LogicalType::Null { "null".to_string() } else { ty.to_string().to_lowercase() };
        let (name, shown) = (cut(&escaped(name), options.cell_max), cut(&escaped(&shown), options.cell_max));
        let head = if options.has_names { name.width() } else { 0 };
        let below = if options.has_types { shown.width() } else { 0 };
        columns.push(Column { width: head.max(below), name, ty: shown, is_right: ty.is_numeric() });
    }
    for range in rows {
        each_row(result, range.clone(), |batch, row| {
            for (index, column) in columns.iter_mut().enumerate() {
                let width = texts.cell(batch, row, index).text.width();
                column.width = column.width.max(width.min(options.cell_max));
            }
            Ok(())
        })?;
    }
    if options.large_numbers == LargeNumbers::Footer && result.row_count() == 1 {
        for (index, column) in columns.iter_mut().enumerate() {
            let value = result.value(0, index).map_err(io::Error::other)?;
            let below = readable_value(&value).map_or(0, |text| text.width() + 2);
            column.width = column.width.max(if column.is_right { below } else { 0 });
        }
    }
    let width_min = if options.frame == Frame::Box && options.has_types { 3 } else { 1 };
    for (index, column) in columns.iter_mut().enumerate() {
        column.width = column.width.max(width_min);
        match options.widths.get(index) {
            Some(0) | None => {}
            Some(width) => {
                column.width = width.unsigned_abs() as usize;
                column.is_right |= *width < 0;
            }
        }
    }
    Ok(columns)
}

/// Which columns are shown how wide; `None` is a column of dots.
struct Layout {
    shown: Vec<Option<usize>>,
    widths: Vec<usize>,
}

/// The columns that fit into a line; if not all do, wide ones get narrower, then the middle ones are left out.
fn fitted(columns: &[Column], options: &RenderOptions) -> Layout {
    let mut widths: Vec<usize> = columns.iter().map(|column| column.width).collect();
    let all = || (0..columns.len()).map(Some).collect();
    let room = options.width_max.saturating_sub(1);
    let needed = |widths: &[usize], cap: usize| -> usize { widths.iter().map(|w| w.min(&cap) + 3).sum() };
    if needed(&widths, usize::MAX) <= room {
        return Layout { shown: all(), widths };
    }
    let narrowest = COLUMN_WIDTH_MIN.min(room.saturating_sub(3).max(3));
    let mut cap = narrowest;
    if needed(&widths, narrowest) <= room {
        let (mut low, mut high) = (narrowest, room);
        while low < high {
            let middle = (low + high).div_ceil(2);
            if needed(&widths, middle) <= room { low = middle } else { high = middle - 1 }
        }
        cap = low;
    }
    for width in &mut widths {
        *width = (*width).min(cap);
    }
    if needed(&widths, usize::MAX) <= room {
        return Layout { shown: all(), widths };
    }
    // A column of dots takes four places.
    let (mut left, mut right, mut used) = (0, columns.len(), 4);
    loop {
        let next = if left <= columns.len() - right { left } else { right - 1 };
        if left >= right || (used + widths[next] + 3 > room && left > 0) {
            break;
        }
        used += widths[next] + 3;
        if next == left { left += 1 } else { right -= 1 }
    }
    let mut shown: Vec<Option<usize>> = (0..left).map(Some).collect();
    if left < right {
        shown.push(None);
    }
    shown.extend((right..columns.len()).map(Some));
    Layout { shown, widths }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Align {
    Left,
    Centre,
    Right,
}

/// The table while it is written.
struct Grid<'a> {
    out: &'a mut dyn Write,
    options: &'a RenderOptions,
    columns: &'a [Column],
    layout: &'a Layout,
}

impl Grid<'_> {
    fn width(&self, shown: Option<usize>) -> usize {
        shown.map_or(1, |index| self.layout.widths[index])
    }

    fn head(&mut self, has_rows: bool) -> io::Result<()> {
        match self.options.frame {
            Frame::Box => self.rule(["┌", "─", "┬", "┐"])?,
            Frame::Ascii => self.rule(["+", "-", "+", "+"])?,
            Frame::Markdown | Frame::None => {}
        }
        if self.options.has_names {
            let align = if self.options.frame == Frame::None { Align::Left } else { Align::Centre };
            let names = |grid: &Self, index: usize| {
                let column = &grid.columns[index];
                let align = if align == Align::Left && column.is_right { Align::Right } else { align };
                (column.name.clone(), align, false)
            };
            self.line(names)?;
        }
        if self.options.has_types {
            self.line(|grid, index| (grid.columns[index].ty.clone(), Align::Centre, true))?;
        }
        if !(self.options.has_names || self.options.has_types) {
            return Ok(());
        }
        match self.options.frame {
            Frame::Box if has_rows => self.rule(["├", "─", "┼", "┤"]),
            Frame::Ascii if has_rows => self.rule(["+", "-", "+", "+"]),
            Frame::Box | Frame::Ascii => Ok(()),
            Frame::Markdown => self.markdown_rule(),
            Frame::None => {
                self.line(|grid, index| ("-".repeat(grid.layout.widths[index]), Align::Left, false))
            }
        }
    }

    fn foot(&mut self) -> io::Result<()> {
        match self.options.frame {
            Frame::Box => self.rule(["└", "─", "┴", "┘"]),
            Frame::Ascii => self.rule(["+", "-", "+", "+"]),
            Frame::Markdown | Frame::None => Ok(()),
        }
    }

    fn row(&mut self, cell: impl Fn(usize) -> Cell) -> io::Result<()> {
        self.line(|grid, index| {
            let align = if grid.columns[index].is_right { Align::Right } else { Align::Left };
            let cell = cell(index);
            (cell.text, align, cell.is_null)
        })
    }

    /// A row that stands for those left out.
    fn dots(&mut self) -> io::Result<()> {
        self.line(|grid, index| {
            let align = if grid.columns[index].is_right { Align::Right } else { Align::Centre };
            ("·".to_string(), align, true)
        })
    }

    /// The line below a single row that says large numbers in words.
    fn readable(&mut self, batch: &Batch, row: usize) -> io::Result<()> {
        let text = |index: usize| {
            if self.columns[index].is_right { readable_value(&batch.column(index).get(row)) } else { None }
        };
        let texts: Vec<Option<String>> = (0..self.columns.len()).map(text).collect();
        if texts.iter().all(Option::is_none) {
            return Ok(());
        }
        let shown = |text: &String| format!("({text})");
        self.line(|_, index| (texts[index].as_ref().map_or_else(String::new, shown), Align::Right, true))
    }

    fn line(&mut self, cell: impl Fn(&Self, usize) -> (String, Align, bool)) -> io::Result<()> {
        let (left, between, right) = match self.options.frame {
            Frame::Box => ("│ ", " │ ", " │"),
            Frame::Ascii | Frame::Markdown => ("| ", " | ", " |"),
            Frame::None => ("", "  ", ""),
        };
        let mut line = left.to_string();
        for (position, shown) in self.layout.shown.iter().enumerate() {
            if position > 0 {
                line.push_str(between);
            }
            let dots = || ("…".to_string(), Align::Left, true);
            let (text, align, is_dim) = shown.map_or_else(dots, |index| cell(self, index));
            let width = self.width(*shown);
            let mut text = cut(&text, width);
            if self.options.frame == Frame::Markdown {
                text = text.replace('|', "\\|");
            }
            let room = width.saturating_sub(text.width());
            let before = match align {
                Align::Left => 0,
                Align::Centre => room / 2,
                Align::Right => room,
            };
            line.extend(std::iter::repeat_n(' ', before));
            if is_dim && self.options.is_coloured {
                let _ = write!(line, "{DIM}{text}{PLAIN}");
            } else {
                line.push_str(&text);
            }
            line.extend(std::iter::repeat_n(' ', room - before));
        }
        line.push_str(right);
        if self.options.frame == Frame::None {
            line.truncate(line.trim_end().len());
        }
        line.push('\n');
        self.out.write_all(line.as_bytes())
    }

    fn rule(&mut self, [left, fill, between, right]: [&str; 4]) -> io::Result<()> {
        let mut line = left.to_string();
        for (position, shown) in self.layout.shown.iter().enumerate() {
            if position > 0 {
                line.push_str(between);
            }
            line.push_str(&fill.repeat(self.width(*shown) + 2));
        }
        line.push_str(right);
        line.push('\n');
        self.out.write_all(line.as_bytes())
    }

    fn markdown_rule(&mut self) -> io::Result<()> {
        let mut line = "|".to_string();
        for shown in &self.layout.shown {
            let is_right = shown.is_some_and(|index| self.columns[index].is_right);
            line.push_str(&"-".repeat(self.width(*shown) + if is_right { 1 } else { 2 }));
            line.push_str(if is_right { ":|" } else { "|" });
        }
        line.push('\n');
        self.out.write_all(line.as_bytes())
    }

    fn dim_line(&mut self, text: &str) -> io::Result<()> {
        if self.options.is_coloured {
            writeln!(self.out, "{DIM}{text}{PLAIN}")
        } else {
            writeln!(self.out, "{text}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use inlay_types::Vector;

    fn numbers(count: i32) -> QueryResult {
        let values: Vec<i32> = (0..count).collect();
        let batches = values.chunks(2048).map(|part| {
            let column = Vector::from_values(LogicalType::Integer, part);
            Batch::new(vec![column], part.len())
        });
        QueryResult::of_rows(vec!["n".to_string()], vec![LogicalType::Integer], batches.collect(), None)
    }

    fn answer(sql: &str) -> QueryResult {
        crate::Database::open_in_memory().unwrap().connect().execute(sql).unwrap()
    }

    #[test]
    fn small_results_are_shown_whole() {
        let text = render(&numbers(2), RenderOptions::default()).unwrap();
        let expected = "┌─────────┐\n│    n    │\n│ integer │\n├─────────┤\n│       0 │\n│       1 │\n└─────────┘\n2 rows";
        assert_eq!(text, expected);
    }

    #[test]
    fn long_results_show_both_ends_and_the_count() {
        let text = render(&numbers(5000), RenderOptions::default()).unwrap();
        assert_eq!(text.lines().filter(|line| line.contains('·')).count(), 3);
        assert!(text.contains("│    4999 │") && text.ends_with("5,000 rows (40 shown)"), "{text}");
    }

    #[test]
    fn no_rows() {
        let text = render(&answer("SELECT 1 AS a WHERE false"), RenderOptions::default()).unwrap();
        assert_eq!(text, "┌─────────┐\n│    a    │\n│ integer │\n└─────────┘\n0 rows");
    }

    #[test]
    fn lines_are_aligned_whatever_the_script() {
        let sql = "SELECT * FROM (VALUES ('日本', 1), ('e\u{301}', 22), ('👩', 3), (NULL, 4)) t(a, b)";
        let text =
            render(&answer(sql), RenderOptions { has_types: false, ..RenderOptions::default() }).unwrap();
        let expected = "┌──────┬────┐\n│  a   │ b  │\n├──────┼────┤\n│ 日本 │  1 │\n│ e\u{301}    │ 22 │\n│ 👩   │  3 │\n│ NULL │  4 │\n└──────┴────┘\n4 rows, 2 columns";
        assert_eq!(text, expected);
    }

    #[test]
    fn controls_are_escaped() {
        assert_eq!(escaped("a\nb\tc\u{1b}[0m\u{202e}"), "a\\nb\\tc\\u001b[0m\\u202e");
    }

    #[test]
    fn columns_get_narrower_before_they_are_left_out() {
        let result = answer("SELECT repeat('x', 100) AS a, repeat('y', 90) AS b, 7 AS c");
        let options = RenderOptions { width_max: 70, cell_max: usize::MAX, ..RenderOptions::default() };
        let text = render(&result, options).unwrap();
        assert!(text.lines().all(|line| line.width() <= 70), "{text}");
        assert!(text.contains("…") && text.contains("7") && text.ends_with("1 row, 3 columns"), "{text}");
        let many: Vec<String> = (0..40).map(|n| format!("{n} AS column_{n}")).collect();
        let text = render(
            &answer(&format!("SELECT {}", many.join(", "))),
            RenderOptions { width_max: 80, ..RenderOptions::default() },
        )
        .unwrap();
        assert!(
            text.contains("│ … │") && text.contains("column_39") && text.ends_with("40 columns (6 shown)"),
            "{text}"
        );
    }

    #[test]
    fn markdown_and_plain_lines() {
        let result = answer("SELECT 1 AS n, 'a|b' AS city");
        let bare = RenderOptions { has_types: false, has_count: false, ..RenderOptions::default() };
        let text = render(&result, RenderOptions { frame: Frame::Markdown, ..bare.clone() }).unwrap();
        assert_eq!(text, "| n | city |\n|--:|------|\n| 1 | a\\|b |");
        let text = render(&result, RenderOptions { frame: Frame::None, ..bare.clone() }).unwrap();
        assert_eq!(text, "n  city\n-  ----\n1  a|b");
        let text = render(&result, RenderOptions { frame: Frame::Ascii, ..bare }).unwrap();
        assert_eq!(text, "+---+------+\n| n | city |\n+---+------+\n| 1 | a|b  |\n+---+------+");
    }

    #[test]
    fn large_numbers_are_said_in_words() {
        let result = answer("SELECT 123456789 AS n, 'x' AS t");
        let bare = RenderOptions { has_types: false, has_count: false, ..RenderOptions::default() };
        let text =
            render(&result, RenderOptions { large_numbers: LargeNumbers::Footer, ..bare.clone() }).unwrap();
        assert!(text.contains("│        123456789 │ x │\n│ (123.46 million) │   │"), "{text}");
        let text =
            render(&result, RenderOptions { large_numbers: LargeNumbers::All, ..bare.clone() }).unwrap();
        assert!(text.contains("│ 123.46 million │"), "{text}");
        let text = render(&result, RenderOptions { thousands: Some(",".into()), ..bare }).unwrap();
        assert!(text.contains("│ 123,456,789 │"), "{text}");
    }
}
