//! Evaluating an expression branch by branch, each on exactly the rows that reach it.
//!
//! Slow and exact: used only after the eager program failed, to find out whether the failing row is one that
//! SQL evaluates (`CASE WHEN b <> 0 THEN a / b END` is fine where `b` is 0).

use super::Layout;
use super::merge::merge_rows;
use super::program::{Program, row_validity};
use inlay_kernels::boolean;
use inlay_sql::plan::Expr;
use inlay_types::{Batch, LogicalType, Result, Vector, VectorBuilder};

/// Whether some part of the expression is evaluated for some rows only.
pub fn is_conditional(expr: &Expr) -> bool {
    matches!(expr, Expr::And(_) | Expr::Or(_) | Expr::Case { .. } | Expr::Coalesce { .. })
        || expr.children().into_iter().any(is_conditional)
}

/// Whether some part that is evaluated for some rows only calls a function of the host, or one whose calls are counted:
/// `coalesce(id, nextval('s'))` takes a number for NULLs alone.
pub fn is_noticed_branch(expr: &Expr) -> bool {
    let is_noticed = |expr: &Expr| expr.calls_external() || expr.is_volatile();
    let own = match expr {
        Expr::And(args) | Expr::Or(args) | Expr::Coalesce { args, .. } => args.iter().skip(1).any(is_noticed),
        Expr::Case { branches, otherwise, .. } => {
            let later = branches.iter().skip(1).map(|(condition, _)| condition);
            let values = branches.iter().map(|(_, value)| value);
            later.chain(values).any(is_noticed) || is_noticed(otherwise)
        }
        _ => false,
    };
    own || expr.children().into_iter().any(is_noticed_branch)
}

/// The value of `expr` for every row of `batch`.
pub fn eval(expr: &Expr, layout: &Layout, batch: &Batch) -> Result<Vector> {
    if !is_conditional(expr) {
        let program = Program::compile(expr, layout)?;
        return program.eval(&mut program.state(), batch);
    }
    match expr {
        Expr::Case { branches, otherwise, ty } => eval_case(branches, otherwise, ty.clone(), layout, batch),
        Expr::Coalesce { args, ty } => eval_coalesce(args, ty.clone(), layout, batch),
        Expr::And(args) => eval_logic(args, false, layout, batch),
        Expr::Or(args) => eval_logic(args, true, layout, batch),
        _ => eval_children_first(expr, layout, batch),
    }
}

/// Evaluates the direct subexpressions exactly, then the operator itself over their values.
fn eval_children_first(expr: &Expr, layout: &Layout, batch: &Batch) -> Result<Vector> {
    let mut shallow = expr.clone();
    let mut columns = Vec::new();
    let mut inner = Layout::default();
    for (index, child) in shallow.children_mut().into_iter().enumerate() {
        if matches!(child, Expr::Literal { .. }) {
            continue;
        }
        columns.push(eval(child, layout, batch)?);
        let id = inlay_sql::plan::ColumnId(index as u32);
        inner.0.push(id);
        *child = Expr::Column { id, ty: child.ty() };
    }
    let program = Program::compile(&shallow, &inner)?;
    program.eval(&mut program.state(), &Batch::new(columns, batch.len()))
}

/// Rows of `rows` (all if absent) for which `expr` is TRUE, and those for which it is not.
fn split(expr: &Expr, layout: &Layout, batch: &Batch, rows: &[u32]) -> Result<(Vec<u32>, Vec<u32>)> {
    let truth = eval(expr, layout, &batch.take(rows))?;
    let mut hits = Vec::new();
    boolean::select_true(&truth, rows.len(), None, &mut hits);
    let mut is_hit = vec![false; rows.len()];
    for &hit in &hits {
        is_hit[hit as usize] = true;
    }
    let misses = rows.iter().zip(&is_hit).filter(|(_, hit)| !**hit).map(|(row, _)| *row).collect();
    Ok((hits.iter().map(|&hit| rows[hit as usize]).collect(), misses))
}

/// Puts values computed for some rows back at their places.
struct Scatter {
    parts: Vec<Vector>,
    choice: Vec<(u32, u32)>,
}

impl Scatter {
    fn new(len: usize) -> Self {
        Self { parts: Vec::new(), choice: vec![(0, 0); len] }
    }

    fn put(&mut self, rows: &[u32], values: Vector) {
        let part = self.parts.len() as u32;
        for (index, &row) in rows.iter().enumerate() {
            self.choice[row as usize] = (part, index as u32);
        }
        self.parts.push(values);
    }

    fn finish(self, ty: LogicalType) -> Result<Vector> {
        let mut builder = VectorBuilder::new(ty, self.choice.len());
        for (part, index) in self.choice {
            builder.push(&self.parts[part as usize].get(index as usize))?;
        }
        Ok(builder.finish())
    }
}

fn eval_case(
    branches: &[(Expr, Expr)],
    otherwise: &Expr,
    ty: LogicalType,
    layout: &Layout,
    batch: &Batch,
) -> Result<Vector> {
    let mut left: Vec<u32> = (0..batch.len() as u32).collect();
    let mut result = Scatter::new(batch.len());
    for (condition, value) in branches {
        if left.is_empty() {
            break;
        }
        let (hits, misses) = split(condition, layout, batch, &left)?;
        if !hits.is_empty() {
            let values = eval(value, layout, &batch.take(&hits))?;
            result.put(&hits, values);
        }
        left = misses;
    }
    if !left.is_empty() {
        let values = eval(otherwise, layout, &batch.take(&left))?;
        result.put(&left, values);
    }
    result.finish(ty)
}

fn eval_coalesce(args: &[Expr], ty: LogicalType, layout: &Layout, batch: &Batch) -> Result<Vector> {
    let mut left: Vec<u32> = (0..batch.len() as u32).collect();
    let mut result = Scatter::new(batch.len());
    result.put(&left, Vector::nulls(ty.clone(), batch.len()));
    for arg in args {
        if left.is_empty() {
            break;
        }
        let values = eval(arg, layout, &batch.take(&left))?;
        let valid: Vec<u32> = (0..left.len() as u32).filter(|&i| !values.is_null(i as usize)).collect();
        let rows: Vec<u32> = valid.iter().map(|&i| left[i as usize]).collect();
        result.put(&rows, values.take(&valid));
        left = (0..left.len()).filter(|&i| values.is_null(i)).map(|i| left[i]).collect();
    }
    result.finish(ty)
}

/// AND (`deciding` FALSE) and OR (`deciding` TRUE): an argument is evaluated only for rows not yet decided.
fn eval_logic(args: &[Expr], deciding: bool, layout: &Layout, batch: &Batch) -> Result<Vector> {
    let len = batch.len();
    let mut open: Vec<u32> = (0..len as u32).collect();
    let mut decided = vec![false; len];
    let mut unknown = vec![false; len];
    for arg in args {
        if open.is_empty() {
            break;
        }
        let values = eval(arg, layout, &batch.take(&open))?.flatten();
        let validity = row_validity(&values, open.len());
        let truths = values.values::<u8>();
        for (index, &row) in open.iter().enumerate() {
            let valid = validity.as_ref().is_none_or(|v| v.get(index));
            decided[row as usize] |= valid && (truths[index] != 0) == deciding;
            unknown[row as usize] |= !valid;
        }
        open.retain(|&row| !decided[row as usize]);
    }
    let truth =
        |value: bool| Vector::constant(LogicalType::Boolean, &inlay_types::Value::Boolean(value), len);
    let sources = [truth(deciding)?, truth(!deciding)?, Vector::nulls(LogicalType::Boolean, len)];
    let choice: Vec<u8> = (0..len)
        .map(|row| match (decided[row], unknown[row]) {
            (true, _) => 0,
            (false, false) => 1,
            (false, true) => 2,
        })
        .collect();
    Ok(merge_rows(LogicalType::Boolean, &[&sources[0], &sources[1], &sources[2]], &choice))
}
