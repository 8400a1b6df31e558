//! Estimates: how many rows an operator makes, and how many different values its columns have.
//!
//! Rows of a filtered scan are measured by evaluating its filters on the table's sample of rows; only where no
//! sample row qualifies (or the filters fail on one) do formulas over minimum, maximum and distinct counts take over.
//! Joins assume that the smaller set of keys is contained in the larger one where their ranges overlap (see `reach`), and that keys
//! are independent of filters on other columns otherwise: a column keeps the distinct count of its base table (its
//! domain) through all operators, and filters on itself or a narrower range shrink it.
//!
//! Estimates guide choices; no plan depends on them for its meaning.

use super::column_set::ColumnSet;
use super::evaluate;
use super::properties::{as_column, as_column_equality};
use super::reach::{self, Reach};
use crate::plan::{
    AggregateExpr, ColumnEstimate, ColumnId, CompareOp, Expr, JoinKind, OrderedJoinKind, Plan, SampleSize,
    ScanColumn, SetOpKind, SharedId,
};
use inlay_catalog::TableEntry;
use inlay_storage::TableStatistics;
use inlay_types::{Value, Vector};
use std::collections::HashMap;
use std::sync::Arc;

/// How many rounds a recursion is believed to have.
const RECURSION_ROUNDS: f64 = 10.0;
/// How many rows of a sample there are believed to be where none was seen: as likely as not, none is (0.69), or more.
const UNSEEN_ROWS: f64 = 0.7;
/// How many elements a list is believed to have.
const UNNEST_FACTOR: f64 = 5.0;
/// Rows of a table function of the host that is given no table and says nothing.
const CALL_ROWS: f64 = 1000.0;

/// Nothing is known but the number of rows.
fn unknown(rows: f64) -> ColumnEstimate {
    ColumnEstimate { distinct: (rows * 0.5).max(1.0), ..ColumnEstimate::default() }
}

/// What is believed of an operator's result.
#[derive(Clone, Debug, Default)]
pub struct Relation {
    /// Rows.
    pub rows: f64,
    /// Rows before filters; the size of the domain of a key of this relation.
    pub base_rows: f64,
    /// Its columns.
    pub columns: HashMap<ColumnId, ColumnEstimate>,
}

impl Relation {
    /// Distinct values of a column in its domain.
    pub fn domain(&self, id: ColumnId) -> f64 {
        self.columns.get(&id).map_or(self.rows.max(1.0), |c| c.distinct.max(1.0))
    }

    /// Expected number of different values among the rows, if they are drawn at random from the domain.
    pub fn distinct(&self, id: ColumnId) -> f64 {
        drawn(self.domain(id), self.rows)
    }
}

/// Expected number of different values when `rows` are drawn from `domain`.
pub fn drawn(domain: f64, rows: f64) -> f64 {
    let domain = domain.max(1.0);
    (domain * (1.0 - (-rows / domain).exp())).clamp(1.0, rows.max(1.0))
}

/// Makes estimates for plans of one query, and remembers what was measured.
#[derive(Default)]
pub struct Estimator {
    /// Whether filters may be measured on samples; not worth it when no choice depends on them.
    pub use_samples: bool,
    /// Results of shared plans.
    pub shared: HashMap<SharedId, Relation>,
    measured: Vec<(ColumnId, Vec<Expr>, Relation)>,
}

impl Estimator {
    /// The estimate for the result of `plan`.
    pub fn relation(&mut self, plan: &Plan) -> Relation {
        let mut inputs = Vec::with_capacity(2);
        for (index, input) in plan.inputs().into_iter().enumerate() {
            let relation = self.relation(input);
            if index == 0 {
                self.note_shared(plan, &relation);
            }
            inputs.push(relation);
        }
        self.operator(plan, inputs)
    }

    /// Keeps the estimate of the first input where it is what shared scans read.
    pub fn note_shared(&mut self, plan: &Plan, first: &Relation) {
        match plan {
            Plan::With { id, .. } => {
                self.shared.insert(*id, first.clone());
            }
            // The rows of a round are as many as those of the first.
            Plan::Recursive { id, keyed, initial_columns, columns, .. } => {
                let estimate = |from| first.columns.get(from).cloned().unwrap_or_else(|| unknown(first.rows));
                let made = columns.iter().zip(initial_columns).map(|(id, from)| (*id, estimate(from)));
                let round = Relation { columns: made.collect(), ..*first };
                if let Some(keyed) = keyed {
                    self.shared.insert(keyed.recurring, round.clone());
                }
                self.shared.insert(*id, round);
            }
            _ => {}
        }
    }

    /// The estimate for the result of an operator, given those of its inputs.
    pub fn operator(&mut self, plan: &Plan, inputs: Vec<Relation>) -> Relation {
        let mut inputs = inputs.into_iter();
        let mut next = || inputs.next().unwrap_or_default();
        match plan {
            Plan::Scan { table, columns, filters, .. } => self.scan(table, columns, filters),
            Plan::Source { source, columns, filters } => {
                let rows = source.row_count_estimate().map_or(100_000.0, |rows| rows as f64);
                let known = columns.iter().map(|c| (c.id, unknown(rows))).collect();
                let base = Relation { rows, base_rows: rows, columns: known };
                filtered(base, filters)
            }
            Plan::Values { columns, rows } => {
                let rows = rows.len() as f64;
                let one = ColumnEstimate { distinct: rows.max(1.0), ..Default::default() };
                Relation {
                    rows,
                    base_rows: rows,
                    columns: columns.iter().map(|id| (*id, one.clone())).collect(),
                }
            }
            Plan::Project { items, .. } => {
                let below = next();
                let columns = items.iter().map(|(id, e)| (*id, expression_estimate(e, &below))).collect();
                Relation { columns, ..below }
            }
            Plan::Filter { predicates, .. } => filtered(next(), predicates),
            Plan::Join { kind, conditions, .. } | Plan::DependentJoin { kind, conditions, .. } => {
                let left = next();
                joined(*kind, left, next(), conditions)
            }
            Plan::OrderedJoin { kind, .. } => {
                let (left, right) = (next(), next());
                let rows = match kind {
                    OrderedJoinKind::Asof { .. } => left.rows,
                    OrderedJoinKind::Positional => left.rows.max(right.rows),
                };
                let columns = left.columns.into_iter().chain(right.columns).collect();
                Relation { rows, base_rows: rows, columns }
            }
            Plan::Aggregate { groups, aggregates, .. } => aggregated(next(), groups, aggregates),
            Plan::Window { windows, .. } => {
                let mut below = next();
                for (id, _) in windows {
                    below.columns.insert(*id, unknown(below.rows));
                }
                below
            }
            Plan::TableCall { call, columns, ordinality, .. } => {
                let mut below = next();
                below.rows = match (call.external.definition.declared_rows(), call.has_table) {
                    (Some(rows), _) => rows,
                    (None, true) => below.rows,
                    (None, false) => CALL_ROWS,
                };
                below.columns.clear();
                for id in columns.iter().copied().chain(*ordinality) {
                    below.columns.insert(id, unknown(below.rows));
                }
                below
            }
            Plan::Unnest { input, lists, ordinality, .. } => {
                let mut below = next();
                below.rows *= rows_of_call(input, lists).unwrap_or(UNNEST_FACTOR);
                for id in lists.iter().map(|(id, _)| *id).chain(*ordinality) {
                    below.columns.insert(id, unknown(below.rows));
                }
                below
            }
            Plan::Sort { limit, .. } | Plan::Limit { limit, .. } => {
                let mut below = next();
                if let Some(limit) = limit {
                    below.rows = below.rows.min(*limit as f64);
                }
                below
            }
            Plan::GroupLimit { groups, limit, .. } => {
                let mut below = next();
                if let Some(limit) = limit {
                    let count = group_count(groups.iter(), &below);
                    below.rows = below.rows.min(count * *limit as f64);
                }
                below
            }
            Plan::SetOp { kind, left_columns, right_columns, columns, .. } => {
                let left = next();
                set_operation(*kind, &left, &next(), left_columns, right_columns, columns)
            }
            Plan::With { .. } => {
                next();
                next()
            }
            Plan::LimitBy { .. } => next(),
            Plan::Sample { sample, .. } => {
                let mut below = next();
                below.rows = match sample.size {
                    SampleSize::Percent(share) => below.rows * share / 100.0,
                    SampleSize::Rows(rows) => below.rows.min(rows as f64),
                };
                below
            }
            Plan::Recursive { columns, .. } => {
                let (first, rounds) = (next(), next().rows.max(1.0) * RECURSION_ROUNDS);
                let rows = first.rows + rounds;
                let known = columns.iter().map(|id| (*id, unknown(rows))).collect();
                Relation { rows, base_rows: rows, columns: known }
            }
            Plan::SharedScan { id, columns } => self.shared_scan(*id, columns),
        }
    }

    fn shared_scan(&self, id: SharedId, columns: &[(ColumnId, ColumnId)]) -> Relation {
        let nothing = Relation { rows: 1000.0, base_rows: 1000.0, columns: HashMap::new() };
        let shared = self.shared.get(&id).unwrap_or(&nothing);
        let estimate = |from| shared.columns.get(from).cloned().unwrap_or_else(|| unknown(shared.rows));
        let known = columns.iter().map(|(new, from)| (*new, estimate(from))).collect();
        Relation { rows: shared.rows, base_rows: shared.base_rows, columns: known }
    }

    fn scan(&mut self, table: &Arc<TableEntry>, columns: &[ScanColumn], filters: &[Expr]) -> Relation {
        let first = columns.first().map(|c| c.id);
        if let Some((.., known)) = self.measured.iter().find(|(id, f, _)| Some(*id) == first && f == filters)
            && columns.iter().all(|c| known.columns.contains_key(&c.id))
        {
            return known.clone();
        }
        let Ok(statistics) = table.table.statistics() else {
            // A damaged file shows when the rows are read.
            let rows = table.table.row_count() as f64;
            let known = columns.iter().map(|c| (c.id, unknown(rows))).collect();
            return Relation { rows, base_rows: rows, columns: known };
        };
        let rows = statistics.row_count as f64;
        let known = columns
            .iter()
            .map(|c| {
                let column = &statistics.columns[c.index];
                let estimate = ColumnEstimate {
                    distinct: if column.is_unique { rows } else { column.distinct_count.min(rows) }.max(1.0),
                    min: column.min.clone(),
                    max: column.max.clone(),
                    null_fraction: if rows > 0.0 { column.null_count as f64 / rows } else { 0.0 },
                    reach: None,
                };
                (c.id, estimate)
            })
            .collect();
        let base = Relation { rows, base_rows: rows, columns: known };
        if filters.is_empty() {
            return base;
        }
        let measured = if self.use_samples { measure(&statistics, columns, filters) } else { None };
        let result = match measured {
            Some(shares) => restricted(base, filters, &shares),
            None => filtered(base, filters),
        };
        if let Some(first) = first {
            self.measured.push((first, filters.to_vec(), result.clone()));
        }
        result
    }
}

fn set_operation(
    kind: SetOpKind,
    left: &Relation,
    right: &Relation,
    left_columns: &[ColumnId],
    right_columns: &[ColumnId],
    columns: &[ColumnId],
) -> Relation {
    let rows = match kind {
        SetOpKind::Union => left.rows + right.rows,
        SetOpKind::Intersect => left.rows.min(right.rows),
        SetOpKind::Except => left.rows,
    };
    let merge = |i: usize| {
        let (l, r) = (left.domain(left_columns[i]), right.domain(right_columns[i]));
        let distinct = if kind == SetOpKind::Union { l.max(r) } else { l };
        (columns[i], ColumnEstimate { distinct, ..Default::default() })
    };
    Relation { rows, base_rows: rows, columns: (0..columns.len()).map(merge).collect() }
}

/// Shares of sample rows: of all filters together, and of each alone. `None` for what could not be measured.
struct Shares {
    together: Option<f64>,
    /// The largest share that lets a sample have none of the rows.
    together_max: f64,
    each: Vec<Option<f64>>,
    /// Where columns of the rows lie that pass a filter.
    reaches: Vec<(ColumnId, Reach)>,
}

fn measure(statistics: &TableStatistics, columns: &[ScanColumn], filters: &[Expr]) -> Option<Shares> {
    let sample = statistics.sample.columns();
    let len = statistics.sample.len();
    if len == 0 {
        return None;
    }
    let column = |id: ColumnId| -> Option<&Vector> {
        columns.iter().find(|c| c.id == id).and_then(|c| sample.get(c.index))
    };
    let mut all = vec![true; len];
    let mut each = Vec::with_capacity(filters.len());
    let mut complete = true;
    let mut selected = Vec::new();
    let mut reaches = Vec::new();
    for filter in filters {
        let Ok(result) = evaluate::vector(filter, &column, len) else {
            each.push(None);
            complete = false;
            continue;
        };
        inlay_kernels::select_true(&result, len, None, &mut selected);
        let mut holds = vec![false; len];
        selected.iter().for_each(|row| holds[*row as usize] = true);
        if selected.len() < len {
            let seen = |c: &ScanColumn| Some((c.id, reach::of_rows(sample.get(c.index)?, &selected)?));
            reaches.extend(columns.iter().filter_map(seen));
        }
        all.iter_mut().zip(&holds).for_each(|(a, h)| *a &= h);
        let is_exact = len as u64 >= statistics.row_count;
        each.push((!selected.is_empty() || is_exact).then_some(selected.len() as f64 / len as f64));
    }
    let count = all.iter().filter(|a| **a).count();
    let is_exact = len as u64 >= statistics.row_count;
    let together = (complete && (count > 0 || is_exact)).then_some(count as f64 / len as f64);
    let together_max = if complete { UNSEEN_ROWS / len as f64 } else { 1.0 };
    Some(Shares { together, together_max, each, reaches })
}

/// A relation after filters whose shares were measured.
fn restricted(base: Relation, filters: &[Expr], shares: &Shares) -> Relation {
    let share =
        |i: usize, relation: &Relation| shares.each[i].unwrap_or_else(|| selectivity(&filters[i], relation));
    let product: f64 = (0..filters.len()).map(|i| share(i, &base)).product();
    let rows = base.rows * shares.together.unwrap_or(product.min(shares.together_max));
    let mut result = base.clone();
    for (i, filter) in filters.iter().enumerate() {
        shrink_domain(&mut result, filter, share(i, &base));
    }
    for (id, reach) in &shares.reaches {
        // Of what a filter on the column itself leaves, more is known.
        let is_filtered = |filter: &Expr| ColumnSet::of(filter).contains(*id);
        if let Some(column) = result.columns.get_mut(id)
            && !filters.iter().any(is_filtered)
        {
            reach::narrow(column, *reach);
        }
    }
    result.rows = rows.max(1.0);
    result
}

/// A relation after filters, by formulas.
pub fn filtered(mut relation: Relation, predicates: &[Expr]) -> Relation {
    let mut rows = relation.rows;
    let before = relation.clone();
    for predicate in predicates {
        let share = selectivity(predicate, &before);
        rows *= share;
        shrink_domain(&mut relation, predicate, share);
    }
    relation.rows = if before.rows > 0.0 { rows.max(1.0) } else { 0.0 };
    relation
}

/// A filter on one column alone leaves fewer different values of it.
fn shrink_domain(relation: &mut Relation, predicate: &Expr, share: f64) {
    let reads = ColumnSet::of(predicate);
    if reads.count() != 1 {
        return;
    }
    let Some(column) = reads.iter().next().and_then(|id| relation.columns.get_mut(&id)) else { return };
    let count = match predicate {
        Expr::Compare { op: CompareOp::Eq, left, .. } if as_column(left).is_some() => 1.0,
        Expr::InList { input, list } if as_column(input).is_some() => list.len() as f64,
        Expr::InConstants { input, list } if as_column(input).is_some() => list.len() as f64,
        _ => column.distinct * share,
    };
    column.distinct = column.distinct.min(count).max(1.0);
    column.null_fraction = 0.0;
    reach::restrict(column, predicate);
}

/// The share of rows for which a predicate is TRUE, by formulas.
pub fn selectivity(predicate: &Expr, relation: &Relation) -> f64 {
    match predicate {
        Expr::Literal { value, .. } => f64::from(*value == Value::Boolean(true)),
        Expr::And(parts) => parts.iter().map(|p| selectivity(p, relation)).product(),
        Expr::Or(parts) => 1.0 - parts.iter().map(|p| 1.0 - selectivity(p, relation)).product::<f64>(),
        Expr::Not(input) => (1.0 - selectivity(input, relation)).clamp(0.0, 1.0),
        Expr::IsNull(input) => as_column(input)
            .and_then(|id| relation.columns.get(&id))
            .map_or(0.05, |c| c.null_fraction.clamp(0.001, 1.0)),
        Expr::InList { input, list } => in_selectivity(input, list.len(), relation),
        Expr::InConstants { input, list } => in_selectivity(input, list.len(), relation),
        Expr::Compare { op, left, right } => compare_selectivity(*op, left, right, relation),
        Expr::Call { function, .. } if matches!(&*function.name, "like" | "~~" | "contains" | "ilike") => 0.1,
        Expr::Column { .. } => 0.5,
        Expr::Call { .. }
        | Expr::Cast { .. }
        | Expr::Case { .. }
        | Expr::Coalesce { .. }
        | Expr::Lambda(_) => 0.25,
    }
}

fn in_selectivity(input: &Expr, values: usize, relation: &Relation) -> f64 {
    let domain = as_column(input).map_or(20.0, |id| relation.domain(id));
    (values as f64 / domain).min(1.0)
}

fn compare_selectivity(op: CompareOp, left: &Expr, right: &Expr, relation: &Relation) -> f64 {
    let domain_of = |e: &Expr| {
        let ids = ColumnSet::of(e);
        ids.iter().map(|id| relation.domain(id)).fold(1.0, f64::max)
    };
    let equal = 1.0 / domain_of(left).max(domain_of(right));
    match op {
        CompareOp::Eq | CompareOp::NotDistinct => equal,
        CompareOp::NotEq | CompareOp::Distinct => 1.0 - equal,
        CompareOp::Lt | CompareOp::LtEq | CompareOp::Gt | CompareOp::GtEq => {
            let bounds = as_column(left)
                .and_then(|id| relation.columns.get(&id))
                .and_then(|c| Some((c.min.as_ref()?.as_f64()?, c.max.as_ref()?.as_f64()?)));
            let value = if let Expr::Literal { value, .. } = right { value.as_f64() } else { None };
            match (bounds, value) {
                (Some((min, max)), Some(value)) if max > min => {
                    let below = ((value - min) / (max - min)).clamp(0.0, 1.0);
                    let share =
                        if matches!(op, CompareOp::Lt | CompareOp::LtEq) { below } else { 1.0 - below };
                    share.clamp(0.0005, 1.0)
                }
                // A computed value (an aggregate, mostly) against a constant: HAVING is selective as a rule.
                (None, Some(_)) => 0.2,
                _ => 0.33,
            }
        }
    }
}

fn expression_estimate(expr: &Expr, below: &Relation) -> ColumnEstimate {
    match expr {
        Expr::Column { id, .. } => below.columns.get(id).cloned().unwrap_or_else(|| unknown(below.rows)),
        Expr::Literal { .. } => ColumnEstimate { distinct: 1.0, ..Default::default() },
        other => ColumnEstimate { distinct: expression_domain(other, below), ..Default::default() },
    }
}

/// Distinct values of a computed expression: at most the combinations of its columns.
fn expression_domain(expr: &Expr, below: &Relation) -> f64 {
    let rows = below.rows.max(1.0);
    match expr {
        Expr::Column { id, .. } => below.distinct(*id),
        Expr::Compare { .. }
        | Expr::And(_)
        | Expr::Or(_)
        | Expr::Not(_)
        | Expr::IsNull(_)
        | Expr::InList { .. }
        | Expr::InConstants { .. } => 2.0,
        Expr::Call { function, .. }
            if matches!(&*function.name, "year" | "month" | "day" | "date_part" | "extract") =>
        {
            20f64.min(rows)
        }
        other => {
            let ids = ColumnSet::of(other);
            ids.iter().map(|id| below.distinct(id)).product::<f64>().clamp(1.0, rows)
        }
    }
}

/// How many groups the rows have by some expressions.
pub fn group_count<'a>(groups: impl Iterator<Item = &'a Expr>, below: &Relation) -> f64 {
    let mut counts: Vec<f64> = groups.map(|e| expression_domain(e, below)).collect();
    counts.sort_by(|a, b| b.total_cmp(a));
    // Further columns split groups less and less: what comes together is correlated as a rule.
    let mut exponent = 1.0;
    let mut product = 1.0;
    for count in counts {
        product *= count.powf(exponent);
        exponent *= 0.8;
    }
    product.clamp(1.0, below.rows.max(1.0))
}

fn aggregated(
    below: Relation,
    groups: &[(ColumnId, Expr)],
    aggregates: &[(ColumnId, AggregateExpr)],
) -> Relation {
    if groups.is_empty() {
        let one = ColumnEstimate { distinct: 1.0, ..Default::default() };
        let columns = aggregates.iter().map(|(id, _)| (*id, one.clone())).collect();
        return Relation { rows: 1.0, base_rows: 1.0, columns };
    }
    let rows = group_count(groups.iter().map(|(_, e)| e), &below);
    let mut columns: HashMap<ColumnId, ColumnEstimate> =
        groups.iter().map(|(id, e)| (*id, expression_estimate(e, &below))).collect();
    for (id, _) in aggregates {
        columns.insert(*id, ColumnEstimate { distinct: (rows * 0.7).max(1.0), ..Default::default() });
    }
    Relation { rows, base_rows: rows, columns }
}

/// A join of two relations under conditions.
fn joined(kind: JoinKind, left: Relation, right: Relation, conditions: &[Expr]) -> Relation {
    let share = join_selectivity(&left, &right, conditions);
    let inner = left.rows * right.rows * share;
    let matched = matched_share(&left, &right, conditions);
    let rows = match kind {
        JoinKind::Inner => inner,
        JoinKind::Left => inner.max(left.rows),
        JoinKind::Full => inner.max(left.rows).max(right.rows),
        JoinKind::Semi => left.rows * matched,
        JoinKind::Anti => left.rows * (1.0 - matched).max(0.05),
        JoinKind::Mark(_) | JoinKind::Single => left.rows,
    };
    let has_rows = left.rows > 0.0;
    let (mut left, mut right) = (left, right);
    if matches!(kind, JoinKind::Inner | JoinKind::Semi) {
        let pairs = conditions.iter().filter_map(|condition| equality_sides(condition, &left, &right));
        let classes: Vec<Vec<(ColumnId, usize)>> = pairs.map(|(l, r)| vec![(l, 0), (r, 1)]).collect();
        reach::equate(&classes, &mut [&mut left, &mut right]);
    }
    let mut columns = left.columns;
    match kind {
        JoinKind::Inner | JoinKind::Left | JoinKind::Full | JoinKind::Single => columns.extend(right.columns),
        JoinKind::Mark(mark) => {
            columns.insert(mark, ColumnEstimate { distinct: 2.0, ..Default::default() });
        }
        JoinKind::Semi | JoinKind::Anti => {}
    }
    let rows = if has_rows { rows.max(1.0) } else { 0.0 };
    Relation { rows, base_rows: left.base_rows.max(right.base_rows), columns }
}

/// The share of pairs that satisfy all conditions.
fn join_selectivity(left: &Relation, right: &Relation, conditions: &[Expr]) -> f64 {
    let (mut left_combinations, mut right_combinations, mut equalities) = (1.0, 1.0, 0);
    let (mut left_share, mut right_share) = (1.0, 1.0);
    let mut rest = 1.0;
    for condition in conditions {
        match equality_sides(condition, left, right) {
            Some((l, r)) => {
                let (l_share, r_share) = reach::shares(left, l, right, r);
                left_share = f64::min(left_share, l_share);
                right_share = f64::min(right_share, r_share);
                left_combinations *= (left.domain(l) * l_share).max(1.0);
                right_combinations *= (right.domain(r) * r_share).max(1.0);
                equalities += 1;
            }
            None => rest *= residual_selectivity(condition),
        }
    }
    if equalities == 0 {
        return rest;
    }
    let left = (left_combinations, left.base_rows * left_share);
    let right = (right_combinations, right.base_rows * right_share);
    rest * left_share * right_share / key_domain(equalities, left, right)
}

/// The number of different join keys, given the combinations of column values and the base rows of both sides.
pub fn key_domain(equalities: usize, left: (f64, f64), right: (f64, f64)) -> f64 {
    let (l, r) = (left.0.min(left.1.max(1.0)), right.0.min(right.1.max(1.0)));
    // With several columns, the combinations of independent values overstate the keys of the side that refers to
    // the other one's: the smaller number is the better guess.
    if equalities > 1 { l.min(r) } else { l.max(r) }.max(1.0)
}

/// The share of pairs that satisfy a condition that is no equality of columns.
pub fn residual_selectivity(condition: &Expr) -> f64 {
    match condition {
        Expr::Compare { op: CompareOp::Eq | CompareOp::NotDistinct, .. } => 0.01,
        Expr::Compare { op: CompareOp::NotEq | CompareOp::Distinct, .. } => 0.9,
        Expr::Or(parts) => (0.1 * parts.len() as f64).min(0.5),
        _ => 0.33,
    }
}

fn equality_sides(condition: &Expr, left: &Relation, right: &Relation) -> Option<(ColumnId, ColumnId)> {
    let (a, b) = match condition {
        Expr::Compare { op: CompareOp::NotDistinct, left, right } => (as_column(left)?, as_column(right)?),
        other => as_column_equality(other)?,
    };
    if left.columns.contains_key(&a) && right.columns.contains_key(&b) {
        Some((a, b))
    } else if left.columns.contains_key(&b) && right.columns.contains_key(&a) {
        Some((b, a))
    } else {
        None
    }
}

/// The share of left rows with a partner.
fn matched_share(left: &Relation, right: &Relation, conditions: &[Expr]) -> f64 {
    let mut share = 1.0f64;
    let mut found = false;
    for condition in conditions {
        if let Some((l, r)) = equality_sides(condition, left, right) {
            let (l_share, r_share) = reach::shares(left, l, right, r);
            let (keys, partners) = (left.domain(l) * l_share, right.distinct(r) * r_share);
            share = share.min(l_share * partners / keys.max(partners));
            found = true;
        }
    }
    if found { share.clamp(0.0, 1.0) } else { 0.5 }
}

/// Rows that a table function of the host says a call gives, where lists are what it gives.
fn rows_of_call(input: &Plan, lists: &[(ColumnId, Expr)]) -> Option<f64> {
    lists.iter().find_map(|(_, list)| match (list, input) {
        (Expr::Call { function, .. }, _) => function.external.as_ref()?.definition.declared_rows(),
        (Expr::Column { id, .. }, Plan::Aggregate { aggregates, .. }) => {
            let (_, aggregate) = aggregates.iter().find(|(made, _)| made == id)?;
            aggregate.function.external.as_ref()?.definition.declared_rows()
        }
        _ => None,
    })
}
