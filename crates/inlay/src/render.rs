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
//! Called by the bindings for `repr` and by shells.

use crate::result::{QueryResult, ResultKind};
use inlay_types::{LogicalType, Value};

/// How much is shown.
#[derive(Clone, Copy, Debug)]
pub struct RenderOptions {
    /// Rows shown at most; of more, the first and last halves.
    pub rows_max: usize,
    /// Characters of a line at most; columns in the middle are left out.
    pub width_max: usize,
    /// Characters of a cell at most.
    pub cell_max: usize,
}

impl Default for RenderOptions {
    fn default() -> Self {
        Self { rows_max: 40, width_max: 160, cell_max: 60 }
    }
}

/// The table as text, without a line break at the end.
pub fn render(result: &QueryResult, options: RenderOptions) -> String {
    match result.kind() {
        ResultKind::Done => return String::new(),
        ResultKind::Rows | ResultKind::Changed(_) => {}
    }
    let total = result.row_count();
    let is_cut = total > options.rows_max;
    let head = if is_cut { options.rows_max.div_ceil(2) } else { total };
    let tail = if is_cut { options.rows_max - head } else { 0 };
    let columns: Vec<Column> = (0..result.types().len())
        .map(|index| Column::new(result, index, (0..head).chain(total - tail..total), options.cell_max))
        .collect();
    let shown = fitting(&columns, options.width_max);
    let mut out = String::new();
    rule(&mut out, &shown, ['┌', '┬', '┐']);
    line(&mut out, &shown, |column| centred(&column.name, column.width));
    line(&mut out, &shown, |column| centred(&column.ty, column.width));
    if total > 0 {
        rule(&mut out, &shown, ['├', '┼', '┤']);
    }
    for row in 0..head + tail {
        if is_cut && row == head {
            line(&mut out, &shown, |column| centred("...", column.width));
        }
        line(&mut out, &shown, |column| column.cell(row));
    }
    rule(&mut out, &shown, ['└', '┴', '┘']);
    out.push_str(&count_text(total, is_cut.then_some(head + tail), columns.len(), shown.len()));
    out
}

fn count_text(rows: usize, rows_shown: Option<usize>, columns: usize, columns_shown: usize) -> String {
    let plural = |count: usize| if count == 1 { "" } else { "s" };
    let mut text = format!("{} row{}", grouped(rows), plural(rows));
    if let Some(shown) = rows_shown {
        text.push_str(&format!(" ({shown} shown)"));
    }
    if columns_shown <= columns && columns > 1 {
        text.push_str(&format!(", {columns} columns"));
        // The column of dots counts among those shown.
        if columns_shown < columns {
            text.push_str(&format!(" ({} shown)", columns_shown.saturating_sub(1)));
        }
    }
    text
}

/// `1234567` as `1,234,567`.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[derive(Clone)]
struct Column {
    name: String,
    ty: String,
    cells: Vec<String>,
    width: usize,
    right: bool,
}

impl Column {
    fn new(result: &QueryResult, index: usize, rows: impl Iterator<Item = usize>, cell_max: usize) -> Self {
        let ty = result.types()[index].clone();
        let name = shortened(&result.names()[index], cell_max);
        let type_name =
            if ty == LogicalType::Null { "null".to_string() } else { ty.to_string().to_lowercase() };
        let cells: Vec<String> = rows.map(|row| cell_text(&result.value(row, index), cell_max)).collect();
        let widest = cells.iter().map(|cell| cell.chars().count()).max().unwrap_or(0);
        let width = widest.max(name.chars().count()).max(type_name.chars().count()).max(3);
        Self { name, ty: type_name, cells, width, right: ty.is_numeric() }
    }

    fn dots(rows: usize) -> Self {
        let dots = || "...".to_string();
        Self { name: dots(), ty: dots(), cells: vec![dots(); rows], width: 3, right: false }
    }

    fn cell(&self, row: usize) -> String {
        let text = &self.cells[row];
        let room = " ".repeat(self.width.saturating_sub(text.chars().count()));
        if self.right { format!("{room}{text}") } else { format!("{text}{room}") }
    }
}

fn cell_text(value: &Value, cell_max: usize) -> String {
    let text: String = value.to_string().chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    shortened(&text, cell_max)
}

fn shortened(text: &str, cell_max: usize) -> String {
    if text.chars().count() <= cell_max {
        return text.to_string();
    }
    text.chars().take(cell_max.saturating_sub(1)).chain(['…']).collect()
}

/// The columns that fit into a line; if not all do, the first and last ones around a column of dots.
fn fitting(columns: &[Column], width_max: usize) -> Vec<Column> {
    let room = |column: &Column| column.width + 3;
    if columns.iter().map(room).sum::<usize>() < width_max {
        return columns.to_vec();
    }
    let rows = columns.first().map_or(0, |column| column.cells.len());
    let (mut left, mut right, mut used) = (0, columns.len(), 1 + 6);
    loop {
        let from_left = left <= columns.len() - right;
        let next = if from_left { left } else { right - 1 };
        if left >= right || (used + room(&columns[next]) > width_max && left > 0) {
            break;
        }
        used += room(&columns[next]);
        if from_left { left += 1 } else { right -= 1 }
    }
    let mut shown = columns[..left].to_vec();
    if left < right {
        shown.push(Column::dots(rows));
    }
    shown.extend_from_slice(&columns[right..]);
    shown
}

fn centred(text: &str, width: usize) -> String {
    let room = width.saturating_sub(text.chars().count());
    format!("{}{text}{}", " ".repeat(room / 2), " ".repeat(room - room / 2))
}

fn rule(out: &mut String, columns: &[Column], [left, middle, right]: [char; 3]) {
    out.push(left);
    for (index, column) in columns.iter().enumerate() {
        if index > 0 {
            out.push(middle);
        }
        out.push_str(&"─".repeat(column.width + 2));
    }
    out.push(right);
    out.push('\n');
}

fn line(out: &mut String, columns: &[Column], cell: impl Fn(&Column) -> String) {
    out.push('│');
    for column in columns {
        out.push(' ');
        out.push_str(&cell(column));
        out.push_str(" │");
    }
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;
    use inlay_types::{Batch, Vector};

    fn numbers(count: i32) -> QueryResult {
        let values: Vec<i32> = (0..count).collect();
        let batches = values.chunks(2048).map(|part| {
            let column = Vector::from_values(LogicalType::Integer, part);
            Batch::new(vec![column], part.len())
        });
        QueryResult::rows(vec!["n".to_string()], vec![LogicalType::Integer], batches.collect(), None)
    }

    #[test]
    fn small_results_are_shown_whole() {
        let text = render(&numbers(2), RenderOptions::default());
        let expected = "┌─────────┐\n│    n    │\n│ integer │\n├─────────┤\n│       0 │\n│       1 │\n└─────────┘\n2 rows";
        assert_eq!(text, expected);
    }

    #[test]
    fn long_results_show_both_ends_and_the_count() {
        let text = render(&numbers(5000), RenderOptions::default());
        assert_eq!(text.lines().filter(|line| line.contains("...")).count(), 1);
        assert!(text.contains("│    4999 │") && text.ends_with("5,000 rows (40 shown)"), "{text}");
    }
}
