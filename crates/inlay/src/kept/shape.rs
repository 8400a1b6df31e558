//! Which statements can be carried out without a plan of operators: those about rows of one table that an index gives, and
//! rows that are written out.

use inlay_catalog::TableEntry;
use inlay_kernels::function::Volatility;
use inlay_sql::binder::{Slot, Slots};
use inlay_sql::plan::statement::{OnConflict, Query};
use inlay_sql::plan::{ColumnId, Expr, Plan, ScanColumn, Statement};
use inlay_types::{LogicalType, Value};
use std::collections::HashMap;
use std::sync::Arc;

/// Most expressions that are put into each other before it is no simple statement.
const NODES_MAX: usize = 10_000;

/// A statement about rows of one table, or about one row that is written out.
#[derive(Debug)]
pub(super) struct Shape {
    /// Where rows come from; one row without columns without it.
    pub scan: Option<Scan>,
    /// What holds for the rows.
    pub predicates: Vec<Expr>,
    /// What is made of each.
    pub outputs: Vec<Expr>,
}

/// The scan of a table.
#[derive(Debug)]
pub(super) struct Scan {
    pub table: Arc<TableEntry>,
    pub columns: Vec<ScanColumn>,
    pub row_id: Option<ColumnId>,
}

impl Shape {
    /// The shape of a statement's rows, if it is one; what becomes of them is for the statement to say.
    pub fn of(statement: &Statement) -> Option<Self> {
        match statement {
            Statement::Query(query) => Self::of_query(query),
            Statement::Update(update) => Self::of_query(&update.query).filter(|shape| shape.scan.is_some()),
            Statement::Delete(delete) => Self::of_query(&delete.query).filter(|shape| shape.scan.is_some()),
            Statement::Insert(insert) if insert.on_conflict == OnConflict::Fail => {
                Self::of_query(&insert.query).filter(|shape| shape.scan.is_none())
            }
            _ => None,
        }
    }

    fn of_query(query: &Query) -> Option<Self> {
        let outputs = query.output.iter().map(|(id, _)| query.columns.expr(*id)).collect();
        let mut shape = Self { scan: None, predicates: Vec::new(), outputs };
        let mut plan = &query.plan;
        loop {
            match plan {
                Plan::Project { input, items } => {
                    shape.replace(&items.iter().cloned().collect())?;
                    plan = input;
                }
                Plan::Filter { input, predicates } => {
                    shape.predicates.extend(predicates.iter().cloned().flat_map(conjuncts));
                    plan = input;
                }
                Plan::Scan { table, columns, fields, filters, row_id } if fields.is_empty() => {
                    shape.predicates.extend(filters.iter().cloned().flat_map(conjuncts));
                    let (table, columns, row_id) = (Arc::clone(table), columns.clone(), *row_id);
                    shape.scan = Some(Scan { table, columns, row_id });
                    return Some(shape);
                }
                Plan::Values { columns, rows } => {
                    let [row] = rows.as_slice() else { return None };
                    shape.replace(&columns.iter().copied().zip(row.iter().cloned()).collect())?;
                    return shape.predicates.is_empty().then_some(shape);
                }
                _ => return None,
            }
        }
    }

    /// Puts what columns are made of in their places.
    fn replace(&mut self, items: &HashMap<ColumnId, Expr>) -> Option<()> {
        self.exprs_mut().for_each(|expr| expr.substitute(items));
        (self.exprs().map(size).sum::<usize>() <= NODES_MAX).then_some(())
    }

    pub fn exprs(&self) -> impl Iterator<Item = &Expr> {
        self.predicates.iter().chain(&self.outputs)
    }

    fn exprs_mut(&mut self) -> impl Iterator<Item = &mut Expr> {
        self.predicates.iter_mut().chain(&mut self.outputs)
    }

    /// Whether this shape, with its slots filled with what they were bound with, is another one.
    pub fn is_filled(&self, slots: &[Slot], other: &Shape) -> bool {
        let same_scan = match (&self.scan, &other.scan) {
            (None, None) => true,
            (Some(left), Some(right)) => {
                Arc::ptr_eq(&left.table.table, &right.table.table)
                    && left.columns == right.columns
                    && left.row_id == right.row_id
            }
            _ => false,
        };
        let filled = |exprs: &[Expr]| -> Vec<Expr> {
            exprs.iter().map(|expr| Slots::filled(slots, expr.clone())).collect()
        };
        same_scan && filled(&self.predicates) == other.predicates && filled(&self.outputs) == other.outputs
    }
}

/// Whether the value depends on nothing but columns and slots, and slots stand only where their values do not decide what
/// the expression means: beside what they are compared with, alone, or in a call that no literal changes.
pub(super) fn is_lasting(expr: &Expr) -> bool {
    Slots::number(expr).is_some() || lasts(expr)
}

/// [`is_lasting`], of an expression that is no slot.
pub(super) fn lasts(expr: &Expr) -> bool {
    let own = match expr {
        Expr::Call { function, args, .. } => {
            function.volatility == Volatility::Immutable
                && function.external.is_none()
                && args.iter().all(|arg| Slots::number(arg).is_none() || never_adapts(&arg.ty()))
        }
        Expr::Lambda(_) => false,
        Expr::Cast { .. } | Expr::Not(_) | Expr::IsNull(_) | Expr::Case { .. } | Expr::Coalesce { .. } => {
            expr.children().iter().all(|child| Slots::number(child).is_none())
        }
        Expr::Column { .. }
        | Expr::Literal { .. }
        | Expr::Compare { .. }
        | Expr::And(_)
        | Expr::Or(_)
        | Expr::InList { .. }
        | Expr::InConstants { .. } => true,
    };
    own && expr.children().into_iter().all(|child| Slots::number(child).is_some() || lasts(child))
}

/// Types whose literals mean the same as other values of the type, as arguments of calls.
fn never_adapts(ty: &LogicalType) -> bool {
    matches!(
        ty,
        LogicalType::Double
            | LogicalType::Real
            | LogicalType::Boolean
            | LogicalType::Date
            | LogicalType::Timestamp
            | LogicalType::TimestampTz
    )
}

/// Adds the numbers of the slots in an expression.
pub(super) fn collect_slots(expr: &Expr, out: &mut Vec<usize>) {
    match Slots::number(expr) {
        Some(number) => out.push(number),
        None => expr.children().into_iter().for_each(|child| collect_slots(child, out)),
    }
}

fn conjuncts(expr: Expr) -> Vec<Expr> {
    match expr {
        Expr::And(parts) => parts.into_iter().flat_map(conjuncts).collect(),
        Expr::Literal { value: Value::Boolean(true), .. } => Vec::new(),
        other => vec![other],
    }
}

fn size(expr: &Expr) -> usize {
    1 + expr.children().into_iter().map(size).sum::<usize>()
}
