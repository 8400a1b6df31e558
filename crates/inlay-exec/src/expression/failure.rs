//! Which row an expression failed on.

use super::program::Program;
use inlay_types::error::RowValue;
use inlay_types::{Error, Vector};

/// Most columns of the row that an error tells of, and most characters of a value.
const COLUMNS_MAX: usize = 4;
const CHARACTERS_MAX: usize = 60;

/// Whether an error is one of values, so that it helps to know the row.
pub(super) fn is_of_values(error: &Error) -> bool {
    error.is_of_values()
}

/// The error of the first row that a program of one expression without branches fails on, with its place and what it
/// read of that row. The rows are looked for by halves, as each run costs as much as the one that failed.
pub(super) fn explained(program: &Program, columns: &[&Vector], len: usize, error: Error) -> Error {
    let is_explained = match &error {
        Error::At { error, .. } => is_of_values(error),
        error => is_of_values(error),
    };
    if !is_explained || len == 0 {
        return error;
    }
    let mut state = program.state();
    let mut failure = |from: usize, to: usize| {
        let rows: Vec<Vector> = columns.iter().map(|column| column.slice(from, to - from)).collect();
        let rows: Vec<&Vector> = rows.iter().collect();
        let error = program.run(&mut state, &rows, to - from).err()?;
        Some(program.placed(error, &state))
    };
    let (mut low, mut high) = (0, len);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if failure(low, middle).is_some() { high = middle } else { low = middle }
    }
    let Some(found) = failure(low, high) else { return error };
    let row = row_values(program, columns, low);
    match found {
        Error::At { error, place } if is_of_values(&error) => {
            Error::At { error: Box::new(Error::InRow { error, row }), place }
        }
        error if is_of_values(&error) => Error::InRow { error: Box::new(error), row },
        other => other,
    }
}

/// Whether a value is too long to be taken apart for a message.
fn is_long(column: &Vector, row: usize) -> bool {
    const BYTES_MAX: usize = 1 << 16;
    !column.is_null(row) && column.slice(row, 1).text_size() > BYTES_MAX
}

fn row_values(program: &Program, columns: &[&Vector], row: usize) -> Vec<RowValue> {
    let ids = program.input_layout().0.iter();
    let one = |(id, column): (&inlay_sql::plan::ColumnId, &&Vector)| {
        if is_long(column, row) {
            return RowValue { column: id.0, name: String::new(), value: "...".to_string() };
        }
        let value = column.get(row);
        let text = if value.logical_type().is_view() && !value.is_null() {
            format!("'{value}'")
        } else {
            value.to_string()
        };
        let mut short: String = text.chars().take(CHARACTERS_MAX).collect();
        if short.len() < text.len() {
            short.push_str("...");
        }
        RowValue { column: id.0, name: String::new(), value: short }
    };
    ids.zip(columns).take(COLUMNS_MAX).map(one).collect()
}
