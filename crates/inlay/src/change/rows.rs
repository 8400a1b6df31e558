//! Row expressions over rows in hand; see `inlay_sql::plan::statement`.

use inlay_exec::expression::{Filter, Layout, Program};
use inlay_sql::plan::{ColumnId, Expr};
use inlay_types::{Batch, LogicalType, Result, VECTOR_SIZE, Vector, VectorBuilder, limits};

/// Batches as one, however long, of these types.
pub(crate) fn joined(batches: &[Batch], types: &[LogicalType]) -> Result<Batch> {
    if let [one] = batches
        && one.types() == types
    {
        return Ok(one.clone());
    }
    let len: usize = batches.iter().map(Batch::len).sum();
    let column = |(index, ty): (usize, &LogicalType)| {
        let texts: usize = batches.iter().map(|batch| batch.column(index).text_size()).sum();
        let held = limits::hold(texts + len.saturating_mul(ty.physical().size()))?;
        let mut builder = VectorBuilder::new(ty.clone(), len);
        for batch in batches {
            append(&mut builder, batch.column(index));
        }
        Ok(builder.finish().holding(held))
    };
    Ok(Batch::new(types.iter().enumerate().map(column).collect::<Result<_>>()?, len))
}

/// Appends a vector; a NULL without a type takes that of the builder.
fn append(builder: &mut VectorBuilder, vector: &Vector) {
    if vector.logical_type() == LogicalType::Null && builder.logical_type() != LogicalType::Null {
        (0..vector.len()).for_each(|_| builder.push_null());
    } else {
        builder.append(vector);
    }
}

/// Two batches with the same columns, one behind the other.
pub(crate) fn stacked(upper: &Batch, lower: &Batch, types: &[LogicalType]) -> Result<Batch> {
    joined(&[upper.clone(), lower.clone()], types)
}

/// Rows in pieces that programs take.
pub(crate) fn pieces(rows: &Batch) -> impl Iterator<Item = Batch> + '_ {
    (0..rows.len()).step_by(VECTOR_SIZE).map(|start| rows.slice(start, VECTOR_SIZE.min(rows.len() - start)))
}

/// Where row expressions find their columns: number `numbers[i]` is column `i` of the rows.
pub(crate) fn layout(numbers: impl IntoIterator<Item = usize>) -> Layout {
    Layout(numbers.into_iter().map(|number| ColumnId(number as u32)).collect())
}

/// Values of expressions for each row, in batches.
pub(crate) fn batches_of(exprs: &[Expr], layout: &Layout, rows: &Batch) -> Result<Vec<Batch>> {
    let program = Program::compile_many(exprs, layout)?.over_rows();
    let mut state = program.state();
    pieces(rows).map(|piece| Ok(Batch::new(program.eval_all(&mut state, &piece)?, piece.len()))).collect()
}

/// Values of expressions for each row, as one batch.
pub(crate) fn values_of(exprs: &[Expr], layout: &Layout, rows: &Batch) -> Result<Batch> {
    let types: Vec<LogicalType> = exprs.iter().map(Expr::ty).collect();
    joined(&batches_of(exprs, layout, rows)?, &types)
}

/// Positions of the rows for which a condition is TRUE; of all rows without one.
pub(crate) fn selected(condition: Option<&Expr>, layout: &Layout, rows: &Batch) -> Result<Vec<u32>> {
    let Some(condition) = condition else { return Ok((0..rows.len() as u32).collect()) };
    let filter = Filter::compile(std::slice::from_ref(condition), layout)?;
    let mut state = filter.state();
    let (mut all, mut hits) = (Vec::new(), Vec::new());
    for (number, piece) in pieces(rows).enumerate() {
        filter.select(&mut state, &piece, &mut hits)?;
        all.extend(hits.iter().map(|hit| hit + (number * VECTOR_SIZE) as u32));
    }
    Ok(all)
}

/// Rows with the columns at `set` replaced.
pub(crate) fn with_values(rows: &Batch, set: &[usize], values: &Batch) -> Batch {
    let mut columns = rows.columns().to_vec();
    for (&index, value) in set.iter().zip(values.columns()) {
        columns[index] = value.clone();
    }
    Batch::new(columns, rows.len())
}

/// Some of the columns of rows.
pub(crate) fn columns_of(rows: &Batch, positions: &[usize]) -> Vec<Vector> {
    positions.iter().map(|&position| rows.column(position).clone()).collect()
}

/// The integers of a BIGINT column without NULLs.
pub(crate) fn integers(column: &Vector) -> Vec<i64> {
    column.flatten().values::<i64>().to_vec()
}
