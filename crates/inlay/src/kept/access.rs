//! How a kept plan finds its rows: conditions on columns of an index, whose values may be slots.

use super::shape::Scan;
use inlay_catalog::TableSchema;
use inlay_sql::binder::Slots;
use inlay_sql::plan::{CompareOp, Expr};
use inlay_storage::{Cmp, Deferral, SegmentPredicate};
use inlay_types::{Error, LogicalType, Result, Value};

/// Up to this many values behind IN are looked up one by one.
const VALUES_MAX: usize = 2_048;

/// A value that is known when the statement is run.
#[derive(Clone, Debug)]
pub(super) enum Operand {
    Slot(usize),
    Constant(Value),
}

impl Operand {
    /// What an expression without columns is, of a type.
    fn of(expr: &Expr, ty: &LogicalType) -> Option<Self> {
        if expr.ty() != *ty {
            return None;
        }
        match (Slots::number(expr), expr) {
            (Some(number), _) => Some(Self::Slot(number)),
            (None, Expr::Literal { value, .. }) if !value.is_null() => Some(Self::Constant(value.clone())),
            _ => None,
        }
    }

    pub fn value<'a>(&'a self, slots: &'a [Option<Value>]) -> Result<&'a Value> {
        match self {
            Self::Constant(value) => Ok(value),
            Self::Slot(number) => value_of(slots, *number),
        }
    }
}

/// What a slot was filled with.
pub(super) fn value_of(slots: &[Option<Value>], number: usize) -> Result<&Value> {
    let value = slots.get(number).and_then(Option::as_ref);
    value.ok_or_else(|| Error::internal(format!("slot {number} of a kept statement was read unfilled")))
}

/// A condition on one column.
#[derive(Clone, Debug)]
enum Test {
    Compare(Cmp, Operand),
    In(Vec<Operand>),
}

/// See the module documentation. Columns are positions in the table.
#[derive(Debug)]
pub(super) struct Access {
    tests: Vec<(usize, Test)>,
    /// A key whose columns all have one value, and these in its order: at most one row.
    pub key: Option<(Vec<usize>, Vec<Operand>)>,
    /// A key of one column, and the values that it may have.
    pub keys: Option<(usize, Vec<Operand>)>,
    /// Which of the predicates `key` or `keys` stand for.
    pub verified: Vec<usize>,
}

impl Access {
    /// The way to the rows that satisfy predicates, if an index may help.
    pub fn of(scan: &Scan, predicates: &[Expr]) -> Option<Self> {
        let table = &scan.table.table;
        let schema = table.schema();
        let found: Vec<(usize, usize, Test)> = predicates
            .iter()
            .enumerate()
            .filter_map(|(number, predicate)| {
                let (column, test) = test_of(scan, schema, predicate)?;
                Some((number, column, test))
            })
            .collect();
        let equal = |column: &usize| {
            found.iter().find_map(|(number, found, test)| match test {
                Test::Compare(Cmp::Eq, operand) if found == column => Some((*number, operand.clone())),
                _ => None,
            })
        };
        let whole = |key: &Vec<usize>| {
            let parts: Option<Vec<(usize, Operand)>> = key.iter().map(equal).collect();
            Some((key.clone(), parts?))
        };
        let is_plain = |key: &Vec<usize>| {
            schema.deferral(key) == Deferral::Never
                && key.iter().all(|column| compares_as_stored(&schema.columns[*column].ty))
        };
        let (mut key, mut verified) = (None, Vec::new());
        if let Some((columns, parts)) = schema.all_keys().iter().filter(|key| is_plain(key)).find_map(whole) {
            let (numbers, operands) = parts.into_iter().unzip();
            (key, verified) = (Some((columns, operands)), numbers);
        }
        let mut keys = None;
        if key.is_none() {
            let is_key = |column: usize| {
                let key = vec![column];
                schema.all_keys().contains(&key) && is_plain(&key)
            };
            let listed = found.iter().find_map(|(number, column, test)| match test {
                Test::In(operands) if is_key(*column) => Some((*number, *column, operands)),
                _ => None,
            });
            if let Some((number, column, operands)) = listed {
                (keys, verified) = (Some((column, operands.clone())), vec![number]);
            }
        }
        let leads = |column: usize| {
            let keys = schema.all_keys();
            let mut firsts = keys.iter().filter_map(|key| key.first());
            firsts.any(|first| *first == column) || table.has_index_from(column)
        };
        let helps = key.is_some() || keys.is_some() || found.iter().any(|(_, column, _)| leads(*column));
        let tests = found.into_iter().map(|(_, column, test)| (column, test)).collect();
        helps.then_some(Self { tests, key, keys, verified })
    }

    /// The conditions as an index is asked.
    pub fn conditions(&self, slots: &[Option<Value>]) -> Result<Vec<(usize, SegmentPredicate)>> {
        let value = |operand: &Operand| operand.value(slots).cloned();
        let condition = |(column, test): &(usize, Test)| {
            let predicate = match test {
                Test::Compare(cmp, operand) => SegmentPredicate::Compare(*cmp, value(operand)?),
                Test::In(operands) => {
                    SegmentPredicate::In(operands.iter().map(value).collect::<Result<_>>()?)
                }
            };
            Ok((*column, predicate))
        };
        Ok(between(self.tests.iter().map(condition).collect::<Result<_>>()?))
    }
}

/// A lower and an upper bound of a column as one range.
fn between(conditions: Vec<(usize, SegmentPredicate)>) -> Vec<(usize, SegmentPredicate)> {
    use SegmentPredicate::Compare;
    let mut joined: Vec<(usize, SegmentPredicate)> = Vec::with_capacity(conditions.len());
    for (column, predicate) in conditions {
        let partner = joined.iter_mut().find_map(|(known, other)| {
            let is_lower = |predicate: &_| matches!(predicate, Compare(Cmp::Gt | Cmp::GtEq, _));
            let is_upper = |predicate: &_| matches!(predicate, Compare(Cmp::Lt | Cmp::LtEq, _));
            let is_pair = is_lower(other) && is_upper(&predicate) || is_upper(other) && is_lower(&predicate);
            (*known == column && is_pair).then_some(other)
        });
        let Some(partner) = partner else {
            joined.push((column, predicate));
            continue;
        };
        let (Compare(first, a), Compare(second, b)) = (&*partner, &predicate) else { continue };
        let ((low_op, low), (high_op, high)) = match first {
            Cmp::Gt | Cmp::GtEq => ((first, a), (second, b)),
            _ => ((second, b), (first, a)),
        };
        *partner = SegmentPredicate::Between {
            low: low.clone(),
            low_inclusive: *low_op == Cmp::GtEq,
            high: high.clone(),
            high_inclusive: *high_op == Cmp::LtEq,
        };
    }
    joined
}

fn test_of(scan: &Scan, schema: &TableSchema, predicate: &Expr) -> Option<(usize, Test)> {
    let column = |expr: &Expr| match expr {
        Expr::Column { id, .. } => scan.columns.iter().find(|column| column.id == *id).map(|c| c.index),
        _ => None,
    };
    match predicate {
        Expr::Compare { op, left, right } => {
            let (column, op, operand) = match (column(left), column(right)) {
                (Some(column), None) => (column, *op, right),
                (None, Some(column)) => (column, op.flipped(), left),
                _ => return None,
            };
            let operand = Operand::of(operand, &schema.columns[column].ty)?;
            let cmp = match op {
                CompareOp::Eq => Cmp::Eq,
                CompareOp::Lt => Cmp::Lt,
                CompareOp::LtEq => Cmp::LtEq,
                CompareOp::Gt => Cmp::Gt,
                CompareOp::GtEq => Cmp::GtEq,
                CompareOp::NotEq | CompareOp::Distinct | CompareOp::NotDistinct => return None,
            };
            Some((column, Test::Compare(cmp, operand)))
        }
        Expr::InList { input, list } if list.len() <= VALUES_MAX => {
            let column = column(input)?;
            let ty = &schema.columns[column].ty;
            let operands = list.iter().map(|item| Operand::of(item, ty)).collect::<Option<Vec<_>>>()?;
            Some((column, Test::In(operands)))
        }
        Expr::InConstants { input, list } if list.len() <= VALUES_MAX => {
            let operands = list.iter().map(Operand::Constant).collect();
            Some((column(input)?, Test::In(operands)))
        }
        _ => None,
    }
}

/// Whether values of a type are equal in SQL exactly if they are equal as an index compares them.
fn compares_as_stored(ty: &LogicalType) -> bool {
    ty.is_integer()
        || matches!(
            ty,
            LogicalType::Varchar
                | LogicalType::Blob
                | LogicalType::Boolean
                | LogicalType::Date
                | LogicalType::Timestamp
                | LogicalType::TimestampTz
                | LogicalType::Uuid
                | LogicalType::Decimal { .. }
        )
}
