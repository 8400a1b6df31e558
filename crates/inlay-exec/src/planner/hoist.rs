//! Takes calls of the host's functions out of expressions, into operators that call them on many rows at a time.
//!
//! What is left of an expression reads the call's value as a column. Calls inside of calls go first. A call in a branch of
//! CASE, AND, OR or COALESCE is guarded by the condition under which a row reaches it:
//!
//! ```text
//! CASE WHEN a THEN f(x) WHEN b THEN g(y) END     f: a IS TRUE      g: a is not TRUE AND b IS TRUE
//! a AND f(x)                                     f: a is not FALSE
//! coalesce(a, f(x))                              f: a IS NULL
//! ```
//! Calls stay where they are, and are computed batch by batch, in the bodies of lambdas and behind conditions that are
//! different each time they are computed.

use super::constants::is_constant;
use super::{Fragment, NodeNumber, Planner};
use crate::expression::Filter;
use crate::operator::apply::{AppliedScan, Apply, Call};
use crate::operator::filter::FilterOperator;
use crate::operator::materialize::Materialize;
use inlay_kernels::function::{ScalarFunction, Volatility};
use inlay_sql::plan::{AggregateExpr, ColumnId, Columns, Expr};
use inlay_types::{LogicalType, Result, Value};
use std::collections::HashSet;
use std::sync::Arc;

/// A call that was taken out.
struct Hoisted {
    id: ColumnId,
    function: Arc<ScalarFunction>,
    args: Vec<Expr>,
    guard: Option<Expr>,
    /// Above those whose values it reads.
    stage: usize,
}

struct Hoist<'c> {
    columns: &'c mut Columns,
    calls: Vec<Hoisted>,
}

/// Whether an expression is TRUE, never NULL.
fn is_true(expr: &Expr) -> Expr {
    Expr::Coalesce { args: vec![expr.clone(), Expr::boolean(false)], ty: LogicalType::Boolean }
}

fn both(guard: Option<&Expr>, condition: Expr) -> Expr {
    match guard {
        Some(guard) => Expr::And(vec![guard.clone(), condition]),
        None => condition,
    }
}

impl Hoist<'_> {
    fn expr(&mut self, expr: &mut Expr, guard: Option<&Expr>) {
        if !expr.calls_external() {
            return;
        }
        match expr {
            Expr::Case { branches, otherwise, .. } => self.case(branches, otherwise, guard),
            Expr::And(args) => self.chain(args, guard, |arg| Expr::Coalesce {
                args: vec![arg.clone(), Expr::boolean(true)],
                ty: LogicalType::Boolean,
            }),
            Expr::Or(args) => self.chain(args, guard, |arg| Expr::Not(Box::new(is_true(arg)))),
            Expr::Coalesce { args, .. } => {
                self.chain(args, guard, |arg| Expr::IsNull(Box::new(arg.clone())));
            }
            _ => expr.children_mut().into_iter().for_each(|child| self.expr(child, guard)),
        }
        let Expr::Call { function, args, .. } = expr else { return };
        if function.external.is_some() {
            let (id, ty) = (self.value_of(function, args, guard), function.return_type.clone());
            *expr = Expr::Column { id, ty };
        }
    }

    /// Arguments of which each is computed for the rows that all before it leave open.
    fn chain(&mut self, args: &mut [Expr], guard: Option<&Expr>, is_open: impl Fn(&Expr) -> Expr) {
        let mut open: Option<Expr> = guard.cloned();
        for arg in args {
            self.expr(arg, open.as_ref());
            if !arg.is_deterministic() {
                return;
            }
            open = Some(both(open.as_ref(), is_open(arg)));
        }
    }

    fn case(&mut self, branches: &mut [(Expr, Expr)], otherwise: &mut Expr, guard: Option<&Expr>) {
        let mut open: Option<Expr> = guard.cloned();
        for (condition, value) in branches {
            self.expr(condition, open.as_ref());
            if !condition.is_deterministic() {
                return;
            }
            let hit = is_true(condition);
            self.expr(value, Some(&both(open.as_ref(), hit.clone())));
            open = Some(both(open.as_ref(), Expr::Not(Box::new(hit))));
        }
        self.expr(otherwise, open.as_ref());
    }

    /// The column of a call's value.
    fn value_of(&mut self, function: &Arc<ScalarFunction>, args: &[Expr], guard: Option<&Expr>) -> ColumnId {
        let is_same = |known: &&Hoisted| {
            known.function == *function && known.args == args && known.guard.as_ref() == guard
        };
        if function.volatility != Volatility::Volatile
            && args.iter().all(Expr::is_deterministic)
            && let Some(known) = self.calls.iter().find(is_same)
        {
            return known.id;
        }
        let mut read = Vec::new();
        args.iter().chain(guard).for_each(|expr| expr.collect_columns(&mut read));
        let below = self.calls.iter().filter(|call| read.contains(&call.id)).map(|call| call.stage + 1);
        let stage = below.max().unwrap_or(0);
        let id = self.columns.add(function.name.to_string(), function.return_type.clone());
        let (function, args, guard) = (Arc::clone(function), args.to_vec(), guard.cloned());
        self.calls.push(Hoisted { id, function, args, guard, stage });
        id
    }
}

/// Whether calls stand in a row, each reading but constants and the one before it: then nothing of the input's rows is
/// looked at behind the first, and each may make fewer of them. An immutable function is one of single rows.
fn is_chain(calls: &[Hoisted], constants: &HashSet<ColumnId>) -> bool {
    let is_link = |(stage, call): (usize, &Hoisted)| {
        let gives_pieces = !takes_columns(call) && call.function.volatility != Volatility::Immutable;
        let reads_no_rows = match stage.checked_sub(1) {
            Some(last) => call.args.iter().all(|arg| reads_only(arg, calls[last].id, constants)),
            None => true,
        };
        call.stage == stage && call.guard.is_none() && gives_pieces && reads_no_rows
    };
    calls.iter().enumerate().all(is_link)
}

fn reads_only(expr: &Expr, column: ColumnId, constants: &HashSet<ColumnId>) -> bool {
    expr.columns().iter().all(|id| *id == column || constants.contains(id))
}

impl Planner<'_> {
    /// Takes calls out of aggregates over all rows. Where these read nothing but the value of one call, a piece of the rows
    /// may give fewer values.
    pub(super) fn hoist_for_all(
        &mut self,
        fragment: Fragment,
        aggregates: &mut [AggregateExpr],
        node: NodeNumber,
    ) -> Result<Fragment> {
        let mut hoist = Hoist { columns: &mut self.columns, calls: Vec::new() };
        aggregates
            .iter_mut()
            .flat_map(super::guarded)
            .for_each(|(expr, guard)| hoist.expr(expr, guard.as_ref()));
        let calls = hoist.calls;
        let reads_last = |aggregate: &AggregateExpr| {
            let exprs = aggregate.expressions();
            // One that reads nothing counts rows.
            calls.last().is_some_and(|last| {
                exprs.iter().any(|expr| expr.columns().contains(&last.id))
                    && exprs.iter().all(|expr| reads_only(expr, last.id, &self.constants))
            })
        };
        let takes_fewer = aggregates.iter().all(reads_last) && is_chain(&calls, &self.constants);
        self.call(fragment, &calls, takes_fewer, node)
    }

    /// Takes calls out of expressions over a fragment, which computes them from then on. A guard comes with those
    /// expressions that are not computed for all rows.
    pub(super) fn hoist<'e>(
        &mut self,
        fragment: Fragment,
        exprs: impl Iterator<Item = (&'e mut Expr, Option<Expr>)>,
        node: NodeNumber,
    ) -> Result<Fragment> {
        let mut hoist = Hoist { columns: &mut self.columns, calls: Vec::new() };
        exprs.for_each(|(expr, guard)| hoist.expr(expr, guard.as_ref()));
        let calls = hoist.calls;
        self.call(fragment, &calls, false, node)
    }

    fn call(
        &mut self,
        mut fragment: Fragment,
        calls: &[Hoisted],
        takes_fewer: bool,
        node: NodeNumber,
    ) -> Result<Fragment> {
        let stages = calls.iter().map(|call| call.stage + 1).max().unwrap_or(0);
        for stage in 0..stages {
            let (whole, parts): (Vec<&Hoisted>, Vec<&Hoisted>) =
                calls.iter().filter(|call| call.stage == stage).partition(|call| takes_columns(call));
            if !parts.is_empty() {
                let mut made = self.made(&parts, &fragment)?;
                if takes_fewer {
                    made = made.into_iter().map(Call::taking_fewer).collect();
                }
                fragment.push(Apply::new(made, self.context), node);
                fragment.columns.extend(parts.iter().map(|call| call.id));
            }
            if !whole.is_empty() {
                let made = self.made(&whole, &fragment)?;
                let mut columns = fragment.columns.clone();
                columns.extend(whole.iter().map(|call| call.id));
                let sink = Materialize::with_limit(self.context, None, 0);
                let rows = sink.buffer();
                self.close(fragment, Arc::new(sink), node);
                fragment = Fragment::new(Arc::new(AppliedScan::new(rows, made)), columns, node);
            }
        }
        Ok(fragment)
    }

    fn made(&self, calls: &[&Hoisted], fragment: &Fragment) -> Result<Vec<Call>> {
        let layout = fragment.layout();
        let call = |call: &&Hoisted| {
            let external = call.function.external.as_ref()?;
            let fixed = call.args.iter().map(|arg| is_constant(arg, &self.constants)).collect();
            let made = Call::new(external, &call.args, fixed, call.guard.as_ref(), &layout);
            Some(made.map(|made| made.with_apart(self.apart(&call.args))))
        };
        calls.iter().filter_map(call).collect()
    }

    /// Keeps the rows that pass; conditions that call functions of the host come last, one after the other, the cheapest
    /// first.
    pub(super) fn filter(
        &mut self,
        mut fragment: Fragment,
        predicates: &[Expr],
        node: NodeNumber,
    ) -> Result<Fragment> {
        let (mut dear, cheap): (Vec<Expr>, Vec<Expr>) =
            predicates.iter().cloned().partition(Expr::calls_external);
        if dear.iter().all(Expr::is_deterministic) {
            dear.sort_by(|left, right| cost(left).total_cmp(&cost(right)));
        }
        if !cheap.is_empty() || dear.is_empty() {
            let filter = Filter::compile(&cheap, &fragment.layout())?;
            fragment.push(FilterOperator::new(filter), node);
        }
        for mut predicate in dear {
            fragment = self.hoist(fragment, std::iter::once((&mut predicate, None)), node)?;
            let filter = Filter::compile(&[predicate], &fragment.layout())?;
            fragment.push(FilterOperator::new(filter), node);
        }
        Ok(fragment)
    }
}

/// The filter of an aggregate as a guard of its arguments.
pub(super) fn guard_of(filter: &Expr) -> Expr {
    match filter {
        Expr::Literal { value: Value::Boolean(_), .. } => filter.clone(),
        other => is_true(other),
    }
}

/// Nanoseconds a row of all functions of the host in an expression.
fn cost(expr: &Expr) -> f64 {
    let own = match expr {
        Expr::Call { function, .. } => function.external.as_ref().map_or(0.0, |external| external.cost()),
        _ => 0.0,
    };
    own + expr.children().into_iter().map(cost).sum::<f64>()
}

fn takes_columns(call: &Hoisted) -> bool {
    call.function.external.as_ref().is_some_and(|external| external.takes_columns())
}
