//! A tiny evaluator: constant folding on one row, and filters on a table's sample of rows.
//!
//! It calls the kernels directly, without the expression programs of the executor. An error is handed to the caller, who
//! leaves the expression as it is: whether it fails is decided when rows reach it.

use crate::plan::{ColumnId, CompareOp, Expr};
use inlay_kernels::function::Volatility;
use inlay_kernels::{Cmp, boolean, cast, compare};
use inlay_types::{Error, LogicalType, Result, Value, Vector, VectorBuilder, limits};

/// Larger constants are computed with the query: as values of a plan they take many times their bytes, which nobody asks for.
const CONSTANT_SIZE_MAX: usize = 1 << 20;

/// The value of an expression without columns.
pub fn constant(expr: &Expr) -> Result<Value> {
    let found = limits::bounded(CONSTANT_SIZE_MAX as u64, || vector(expr, &|_| None, 1))?;
    match found.memory_size() {
        size if size > CONSTANT_SIZE_MAX => Err(Error::internal(format!("a constant of {size} bytes"))),
        _ => Ok(found.get(0)),
    }
}

/// The kernels' name for a comparison.
fn kernel_op(op: CompareOp) -> Cmp {
    match op {
        CompareOp::Eq => Cmp::Eq,
        CompareOp::NotEq => Cmp::NotEq,
        CompareOp::Lt => Cmp::Lt,
        CompareOp::LtEq => Cmp::LtEq,
        CompareOp::Gt => Cmp::Gt,
        CompareOp::GtEq => Cmp::GtEq,
        CompareOp::Distinct => Cmp::Distinct,
        CompareOp::NotDistinct => Cmp::NotDistinct,
    }
}

/// The values of an expression for `len` rows whose columns `column` knows.
pub fn vector<'a>(
    expr: &Expr,
    column: &dyn Fn(ColumnId) -> Option<&'a Vector>,
    len: usize,
) -> Result<Vector> {
    let eval = |e: &Expr| vector(e, column, len);
    let mut out = Vector::empty(expr.ty());
    match expr {
        Expr::Column { id, .. } => {
            return column(*id)
                .cloned()
                .ok_or_else(|| Error::internal(format!("column {id} is not at hand")));
        }
        Expr::Literal { value, ty } => return Vector::constant(ty.clone(), value, len),
        // What a host computes may take any time, and may be counted: it runs with the query.
        Expr::Call { function, .. } if function.external.is_some() => {
            return Err(Error::internal("a function of the host is no constant"));
        }
        // A sequence that is asked while a query is planned has gaps.
        Expr::Call { function, .. } if function.volatility == Volatility::Volatile => {
            return Err(Error::internal("a volatile function is no constant"));
        }
        Expr::Call { function, args, .. } => {
            let args = args.iter().map(eval).collect::<Result<Vec<_>>>()?;
            let args: Vec<&Vector> = args.iter().collect();
            let constants: Vec<Option<Value>> =
                args.iter().map(|v| (v.is_constant() && len > 0).then(|| v.get(0))).collect();
            let special = match function.specialize {
                Some(specialize) if constants.iter().any(Option::is_some) => specialize(&constants)?,
                _ => None,
            };
            special.as_ref().unwrap_or(&function.kernel).eval(&args, len, &mut out)?;
        }
        Expr::Cast { input, ty, or_null, .. } => cast(&eval(input)?, ty, *or_null, &mut out)?,
        Expr::Compare { op, left, right } => {
            compare(kernel_op(*op), &eval(left)?, &eval(right)?, len, &mut out)?
        }
        Expr::And(parts) => return fold(parts, &eval, len, boolean::and),
        Expr::Or(parts) => return fold(parts, &eval, len, boolean::or),
        Expr::Not(input) => boolean::not(&eval(input)?, len, &mut out)?,
        Expr::IsNull(input) => boolean::is_null(&eval(input)?, len, &mut out)?,
        Expr::InList { input, list } => {
            let input = eval(input)?;
            let mut any = Vector::constant(LogicalType::Boolean, &Value::Boolean(false), len)?;
            for item in list {
                let mut equal = Vector::empty(LogicalType::Boolean);
                compare(Cmp::Eq, &input, &eval(item)?, len, &mut equal)?;
                let mut either = Vector::empty(LogicalType::Boolean);
                boolean::or(&any, &equal, len, &mut either)?;
                any = either;
            }
            return Ok(any);
        }
        Expr::InConstants { input, list } => return Ok(list.contains(&eval(input)?, len)),
        Expr::Case { branches, otherwise, ty } => return case(branches, otherwise, ty.clone(), column, len),
        // Only the executor compiles bodies.
        Expr::Lambda(_) => return Err(Error::internal("a lambda is no constant")),
        Expr::Coalesce { args, ty } => {
            if len == 1 {
                for arg in args {
                    let value = eval(arg)?;
                    if !value.is_null(0) {
                        return Ok(value);
                    }
                }
                return Ok(Vector::nulls(ty.clone(), 1));
            }
            let args = args.iter().map(eval).collect::<Result<Vec<_>>>()?;
            let mut builder = VectorBuilder::new(ty.clone(), len);
            for row in 0..len {
                let value = args.iter().find(|a| !a.is_null(row)).map_or(Value::Null, |a| a.get(row));
                builder.push(&value)?;
            }
            return Ok(builder.finish());
        }
    }
    Ok(out)
}

type Combine = fn(&Vector, &Vector, usize, &mut Vector) -> Result<()>;

fn fold(
    parts: &[Expr],
    eval: &dyn Fn(&Expr) -> Result<Vector>,
    len: usize,
    combine: Combine,
) -> Result<Vector> {
    let mut all: Option<Vector> = None;
    for part in parts {
        let next = eval(part)?;
        all = Some(match all {
            None => next,
            Some(so_far) => {
                let mut out = Vector::empty(LogicalType::Boolean);
                combine(&so_far, &next, len, &mut out)?;
                out
            }
        });
    }
    all.ok_or_else(|| Error::internal("a conjunction without parts"))
}

fn case<'a>(
    branches: &[(Expr, Expr)],
    otherwise: &Expr,
    ty: LogicalType,
    column: &dyn Fn(ColumnId) -> Option<&'a Vector>,
    len: usize,
) -> Result<Vector> {
    if len == 1 {
        for (condition, value) in branches {
            if vector(condition, column, 1)?.get(0) == Value::Boolean(true) {
                return vector(value, column, 1);
            }
        }
        return vector(otherwise, column, 1);
    }
    let mut evaluated = Vec::with_capacity(branches.len());
    for (condition, value) in branches {
        evaluated.push((vector(condition, column, len)?, vector(value, column, len)?));
    }
    let otherwise = vector(otherwise, column, len)?;
    let mut builder = VectorBuilder::new(ty, len);
    for row in 0..len {
        let chosen = evaluated.iter().find(|(c, _)| c.get(row) == Value::Boolean(true));
        builder.push(&chosen.map_or(&otherwise, |(_, v)| v).get(row))?;
    }
    Ok(builder.finish())
}
