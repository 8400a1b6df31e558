//! Which values an expression can have, and so whether arithmetic can overflow: sums and products of columns whose least and
//! greatest values the tables know.

use super::properties::{as_column, can_fail};
use crate::plan::{ColumnId, Expr, Plan};
use inlay_types::{LogicalType, Value};
use std::collections::HashMap;

/// Digits of the largest DECIMAL.
const DIGITS_MAX: u32 = 38;

/// Least and greatest value of columns that are stored as integers: unscaled, for DECIMAL.
#[derive(Debug, Default)]
pub(super) struct Ranges(HashMap<ColumnId, Range>);

type Range = (i128, i128);

impl Ranges {
    /// Of the columns of the tables that a plan reads.
    pub(super) fn of(plan: &Plan) -> Self {
        let mut ranges = Self::default();
        ranges.collect(plan);
        ranges
    }

    fn collect(&mut self, plan: &Plan) {
        if let Plan::Scan { table, columns, .. } = plan
            && let Ok(statistics) = table.table.statistics()
        {
            for column in columns {
                let known = &statistics.columns[column.index];
                let ends = [&known.min, &known.max].map(|end| end.as_ref().and_then(Value::as_stored_i128));
                if let [Some(min), Some(max)] = ends {
                    self.0.insert(column.id, (min, max));
                }
            }
        }
        plan.inputs().into_iter().for_each(|input| self.collect(input));
    }

    /// Whether evaluating an expression on some row may end the query.
    pub(super) fn can_fail(&self, expr: &Expr) -> bool {
        can_fail(expr) && self.range(expr).is_none()
    }

    /// The range of an expression that cannot fail; `None` if it is not known, or may be left on the way.
    fn range(&self, expr: &Expr) -> Option<Range> {
        let range = match expr {
            Expr::Column { .. } => *self.0.get(&as_column(expr)?)?,
            Expr::Literal { value, .. } => value.as_stored_i128().map(|value| (value, value))?,
            Expr::Cast { input, ty, .. } => {
                let factor = scale(ty)?.checked_sub(scale(&input.ty())?)?;
                multiply(self.range(input)?, (10i128.checked_pow(factor)?, 10i128.checked_pow(factor)?))?
            }
            Expr::Call { function, args, .. } => {
                let [left, right] = &args[..] else { return None };
                let (scales, own) = ((scale(&left.ty())?, scale(&right.ty())?), scale(&expr.ty())?);
                let (left, right) = (self.range(left)?, self.range(right)?);
                match &*function.name {
                    "+" if scales == (own, own) => {
                        (left.0.checked_add(right.0)?, left.1.checked_add(right.1)?)
                    }
                    "-" if scales == (own, own) => {
                        (left.0.checked_sub(right.1)?, left.1.checked_sub(right.0)?)
                    }
                    "*" if scales.0 + scales.1 == own => multiply(left, right)?,
                    _ => return None,
                }
            }
            _ => return None,
        };
        let (least, greatest) = range_of(&expr.ty())?;
        (least <= range.0 && range.1 <= greatest).then_some(range)
    }
}

fn multiply(a: Range, b: Range) -> Option<Range> {
    let products =
        [a.0.checked_mul(b.0)?, a.0.checked_mul(b.1)?, a.1.checked_mul(b.0)?, a.1.checked_mul(b.1)?];
    Some((products.into_iter().min()?, products.into_iter().max()?))
}

/// Digits behind the point of a number that is stored as an integer.
fn scale(ty: &LogicalType) -> Option<u32> {
    match ty {
        LogicalType::Decimal { scale, .. } => Some(u32::from(*scale)),
        integer if integer.is_integer() => Some(0),
        _ => None,
    }
}

fn range_of(ty: &LogicalType) -> Option<Range> {
    use LogicalType::{BigInt, Decimal, Integer, SmallInt, TinyInt, UBigInt, UInteger, USmallInt, UTinyInt};
    Some(match ty {
        Decimal { precision, .. } if u32::from(*precision) <= DIGITS_MAX => {
            let limit = 10i128.pow(u32::from(*precision)) - 1;
            (-limit, limit)
        }
        TinyInt => (i8::MIN.into(), i8::MAX.into()),
        SmallInt => (i16::MIN.into(), i16::MAX.into()),
        Integer => (i32::MIN.into(), i32::MAX.into()),
        BigInt => (i64::MIN.into(), i64::MAX.into()),
        UTinyInt => (0, u8::MAX.into()),
        USmallInt => (0, u16::MAX.into()),
        UInteger => (0, u32::MAX.into()),
        UBigInt => (0, u64::MAX.into()),
        _ => return None,
    })
}
