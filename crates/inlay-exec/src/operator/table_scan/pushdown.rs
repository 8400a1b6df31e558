//! Which conjuncts a segment can evaluate itself.

use crate::expression::{Filter, FilterState, Layout};
use inlay_kernels::Cmp as KernelCmp;
use inlay_sql::plan::{ColumnId, CompareOp, Expr};
use inlay_storage::{Cmp, SegmentPredicate, VectorPredicate};
use inlay_types::{Batch, LogicalType, Result, Value, Vector};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;

/// A scan's conjuncts, sorted by who evaluates them.
#[derive(Default)]
pub struct ScanFilters {
    /// By segments, on the encoded form.
    pub columns: Vec<(ColumnId, SegmentPredicate)>,
    /// On decoded batches.
    pub residual: Vec<Expr>,
}

/// Sorts the conjuncts of a scan.
pub fn split_filters(filters: &[Expr]) -> Result<ScanFilters> {
    let mut split = ScanFilters::default();
    let mut bounds = Bounds::default();
    for filter in filters {
        if let Some(range) = range_of_many(filter) {
            add(&mut split.columns, &mut bounds, range);
        }
        match column_predicate(filter)? {
            Some(predicate) => add(&mut split.columns, &mut bounds, predicate),
            None => split.residual.push(filter.clone()),
        }
    }
    Ok(split)
}

/// Most constants behind IN that every segment prepares a test for.
const CONSTANTS_MAX: usize = 10_000;

/// Between which values a column is that is IN more constants: these are looked up in the list itself, so that segments
/// need something else to be left out by.
fn range_of_many(filter: &Expr) -> Option<(ColumnId, SegmentPredicate)> {
    let Expr::InConstants { input, list } = filter else { return None };
    let ty = list.values().ty();
    let is_plain = ty.is_integer()
        || matches!(
            ty,
            LogicalType::Varchar | LogicalType::Date | LogicalType::Timestamp | LogicalType::Decimal { .. }
        );
    if list.len() <= CONSTANTS_MAX || !is_plain {
        return None;
    }
    let id = as_column(input)?;
    let (low, high) = list.bounds()?;
    Some((id, SegmentPredicate::Between { low, low_inclusive: true, high, high_inclusive: true }))
}

/// Where among the predicates of a scan the bounds of a column stand that have no partner yet; `true` for upper ones.
type Bounds = HashMap<(ColumnId, bool), Vec<usize>>;

/// Adds a predicate; a lower and an upper bound of one column become one range.
fn add(
    all: &mut Vec<(ColumnId, SegmentPredicate)>,
    bounds: &mut Bounds,
    (column, predicate): (ColumnId, SegmentPredicate),
) {
    let is_upper = match &predicate {
        SegmentPredicate::Compare(Cmp::Gt | Cmp::GtEq, _) => false,
        SegmentPredicate::Compare(Cmp::Lt | Cmp::LtEq, _) => true,
        _ => return all.push((column, predicate)),
    };
    let partner =
        bounds.get_mut(&(column, !is_upper)).and_then(Vec::pop).and_then(|index| all.get_mut(index));
    if let Some((_, existing)) = partner
        && let Some(range) = as_range(existing, &predicate)
    {
        *existing = range;
        return;
    }
    bounds.entry((column, is_upper)).or_default().push(all.len());
    all.push((column, predicate));
}

fn as_range(left: &SegmentPredicate, right: &SegmentPredicate) -> Option<SegmentPredicate> {
    let (SegmentPredicate::Compare(first, a), SegmentPredicate::Compare(second, b)) = (left, right) else {
        return None;
    };
    let (low_op, low, high_op, high) = match (first, second) {
        (Cmp::Gt | Cmp::GtEq, Cmp::Lt | Cmp::LtEq) => (first, a, second, b),
        (Cmp::Lt | Cmp::LtEq, Cmp::Gt | Cmp::GtEq) => (second, b, first, a),
        _ => return None,
    };
    Some(SegmentPredicate::Between {
        low: low.clone(),
        low_inclusive: *low_op == Cmp::GtEq,
        high: high.clone(),
        high_inclusive: *high_op == Cmp::LtEq,
    })
}

/// The predicate of a conjunct over one column, if it is one.
pub fn column_predicate(filter: &Expr) -> Result<Option<(ColumnId, SegmentPredicate)>> {
    let simple = match filter {
        Expr::Compare { op, left, right } => comparison(*op, left, right),
        Expr::IsNull(input) => as_column(input).map(|id| (id, SegmentPredicate::IsNull)),
        Expr::Column { .. } => truth_of(filter, true),
        Expr::Not(inner) => match &**inner {
            Expr::IsNull(input) => as_column(input).map(|id| (id, SegmentPredicate::IsNotNull)),
            inner => truth_of(inner, false),
        },
        Expr::InList { input, list } => as_column(input).and_then(|id| {
            let values: Option<Vec<Value>> = list
                .iter()
                .map(|item| match item {
                    Expr::Literal { value, .. } => Some(value.clone()),
                    _ => None,
                })
                .collect();
            Some((id, SegmentPredicate::In(values?.into_iter().filter(|v| !v.is_null()).collect())))
        }),
        Expr::InConstants { input, list } if list.len() <= CONSTANTS_MAX => {
            as_column(input).map(|id| (id, SegmentPredicate::In(list.iter().collect())))
        }
        _ => None,
    };
    if simple.is_some() {
        return Ok(simple);
    }
    let columns = filter.columns();
    // A segment may evaluate the condition for values of deleted or filtered rows, so it must not fail.
    if columns.len() != 1 || filter.can_fail() || !filter.is_deterministic() {
        return Ok(None);
    }
    let predicate = ExprPredicate::new(filter, columns[0])?;
    if predicate.accepts_null(filter, columns[0])? {
        return Ok(None);
    }
    Ok(Some((columns[0], SegmentPredicate::Generic(Arc::new(predicate)))))
}

fn as_column(expr: &Expr) -> Option<ColumnId> {
    match expr {
        Expr::Column { id, .. } => Some(*id),
        _ => None,
    }
}

/// A column of truth values that is to be `truth`.
fn truth_of(expr: &Expr, truth: bool) -> Option<(ColumnId, SegmentPredicate)> {
    match expr {
        Expr::Column { id, ty: LogicalType::Boolean } => {
            Some((*id, SegmentPredicate::Compare(Cmp::Eq, Value::Boolean(truth))))
        }
        _ => None,
    }
}

fn comparison(op: CompareOp, left: &Expr, right: &Expr) -> Option<(ColumnId, SegmentPredicate)> {
    let (id, op, value) = match (left, right) {
        (Expr::Column { id, .. }, Expr::Literal { value, .. }) => (*id, op, value),
        (Expr::Literal { value, .. }, Expr::Column { id, .. }) => (*id, op.flipped(), value),
        _ => return None,
    };
    if value.is_null() {
        return match op {
            CompareOp::Distinct => Some((id, SegmentPredicate::IsNotNull)),
            CompareOp::NotDistinct => Some((id, SegmentPredicate::IsNull)),
            _ => Some((id, SegmentPredicate::In(Vec::new()))),
        };
    }
    let kernel: KernelCmp = match op {
        CompareOp::NotDistinct => KernelCmp::Eq,
        other => crate::expression::kernel_comparison(other),
    };
    Cmp::from_kernel(kernel).map(|cmp| (id, SegmentPredicate::Compare(cmp, value.clone())))
}

/// The type of a column that an expression reads.
fn column_type(expr: &Expr, column: ColumnId) -> Option<LogicalType> {
    match expr {
        Expr::Column { id, ty } if *id == column => Some(ty.clone()),
        other => other.children().into_iter().find_map(|child| column_type(child, column)),
    }
}

/// Any condition over one column that cannot fail.
struct ExprPredicate {
    filter: Filter,
    text: String,
    states: Mutex<Vec<FilterState>>,
}

impl ExprPredicate {
    fn new(condition: &Expr, column: ColumnId) -> Result<Self> {
        let filter = Filter::compile(std::slice::from_ref(condition), &Layout(vec![column]))?;
        Ok(Self { filter, text: format!("{condition:?}"), states: Mutex::default() })
    }

    /// Whether the condition is TRUE of NULL (`x > 4 OR x IS NULL`): segments leave NULLs out.
    fn accepts_null(&self, condition: &Expr, column: ColumnId) -> Result<bool> {
        let Some(ty) = column_type(condition, column) else { return Ok(false) };
        let mut hits = Vec::new();
        self.select(&Vector::nulls(ty, 1), &mut hits)?;
        Ok(!hits.is_empty())
    }
}

impl std::fmt::Debug for ExprPredicate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

impl VectorPredicate for ExprPredicate {
    fn select(&self, input: &Vector, out: &mut Vec<u32>) -> Result<()> {
        let mut state = self.states.lock().pop().unwrap_or_else(|| self.filter.state());
        let batch = Batch::new(vec![input.clone()], input.len());
        let mut hits = Vec::new();
        let outcome = self.filter.select(&mut state, &batch, &mut hits);
        self.states.lock().push(state);
        out.extend_from_slice(&hits);
        outcome
    }
}
