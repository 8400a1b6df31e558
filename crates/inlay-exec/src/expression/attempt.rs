//! `TRY`: a program whose rows that fail are NULL.
//!
//! All rows are tried at once. Where that fails they are tried by halves, down to the rows that fail.

use super::failure::is_of_values;
use super::program::{Program, ProgramState};
use inlay_types::limits;
use inlay_types::{Batch, Error, LogicalType, Result, Vector, VectorBuilder};

/// The values of `body` over `len` rows of `columns`.
pub(super) fn eval(body: &Program, columns: &[&Vector], ty: &LogicalType, len: usize) -> Result<Vector> {
    let mut state = body.state();
    if len == 0 {
        return Ok(Vector::empty(ty.clone()));
    }
    let batch = Batch::new(columns.iter().map(|&column| column.clone()).collect(), len);
    if let Some(values) = tried(body, &mut state, &batch)? {
        return Ok(values);
    }
    let mut builder = VectorBuilder::new(ty.clone(), len);
    // Parts still to be tried, the first of them last.
    let mut parts = Vec::new();
    split(0, len, &mut parts);
    while let Some((from, to)) = parts.pop() {
        limits::check()?;
        let columns = columns.iter().map(|column| column.slice(from, to - from)).collect();
        match tried(body, &mut state, &Batch::new(columns, to - from))? {
            Some(values) => builder.append(&values.flatten()),
            None => split(from, to, &mut parts),
        }
        // A row of its own that failed was not put back.
        let next = parts.last().map_or(len, |(next, _)| *next);
        (builder.len()..next).for_each(|_| builder.push_null());
    }
    (builder.len()..len).for_each(|_| builder.push_null());
    Ok(builder.finish())
}

fn tried(body: &Program, state: &mut ProgramState, batch: &Batch) -> Result<Option<Vector>> {
    match body.eval(state, batch) {
        Ok(values) => Ok(Some(values)),
        // What a function of the host raises is about what it was given, too.
        Err(error) if is_of_values(error.root()) || matches!(error.root(), Error::External { .. }) => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Adds the halves of a part of more than one row, the second one first.
fn split(from: usize, to: usize, parts: &mut Vec<(usize, usize)>) {
    if to - from > 1 {
        let middle = from + (to - from) / 2;
        parts.push((middle, to));
        parts.push((from, middle));
    }
}
