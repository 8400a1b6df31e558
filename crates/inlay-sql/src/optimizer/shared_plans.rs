//! Shared subplans: those that are read once or cost next to nothing are put in place; equal ones are made one.
//!
//! [`inline`] replaces scans of a shared plan by the plan itself where computing it again is cheap. [`share_common`]
//! finds subplans that differ in nothing but column ids (a view or subquery used twice) and are worth keeping.

use super::rewrite::{any_node, refresh, take, with_stack};
use crate::plan::{ColumnId, Columns, Expr, JoinKind, Plan, SharedId};
use std::collections::HashMap;

/// Puts shared plans in place that are read once or are only scans with filters and projections.
pub fn inline(plan: Plan, columns: &mut Columns) -> Plan {
    if !any_node(&plan, &mut |p| matches!(p, Plan::With { .. })) {
        return plan;
    }
    inline_below(plan, columns)
}

fn inline_below(mut plan: Plan, columns: &mut Columns) -> Plan {
    for input in plan.inputs_mut() {
        *input = with_stack(|| inline_below(take(input), columns));
    }
    let Plan::With { id, definition, mut body } = plan else { return plan };
    let count = count_scans(&body, id, definition.is_volatile());
    if count == 1 || is_cheap(&definition) {
        replace_scans(&mut body, id, &definition, count == 1, columns);
        return *body;
    }
    if count == 0 { *body } else { Plan::With { id, definition, body } }
}

/// How often a shared plan is read; where a volatile one would be computed for each row of another, as if often.
fn count_scans(plan: &Plan, wanted: SharedId, is_volatile: bool) -> usize {
    let count = |input: &Plan| count_scans(input, wanted, is_volatile);
    match plan {
        Plan::SharedScan { id, .. } => usize::from(*id == wanted),
        // A step runs many times.
        Plan::Recursive { initial, step, .. } => count(initial) + 2 * count(step),
        Plan::DependentJoin { left, right, .. } if is_volatile => count(left) + 2 * count(right),
        other => other.inputs().into_iter().map(count).sum(),
    }
}

/// Whether computing the plan twice is cheaper than keeping its result.
fn is_cheap(plan: &Plan) -> bool {
    match plan {
        plan if plan.is_volatile_itself() => false,
        Plan::Scan { .. } | Plan::SharedScan { .. } => true,
        Plan::Values { rows, .. } => rows.len() <= 1,
        Plan::Filter { input, .. } => is_cheap(input),
        Plan::Project { input, items } => {
            items.iter().all(|(_, e)| matches!(e, Expr::Column { .. } | Expr::Literal { .. }))
                && is_cheap(input)
        }
        _ => false,
    }
}

fn replace_scans(
    plan: &mut Plan,
    wanted: SharedId,
    definition: &Plan,
    only_once: bool,
    columns: &mut Columns,
) {
    match plan {
        Plan::SharedScan { id, columns: scanned } if *id == wanted => {
            let mut copy = definition.clone();
            let renamed = if only_once { HashMap::new() } else { refresh(&mut copy, columns) };
            let items = scanned
                .iter()
                .map(|(new, from)| (*new, columns.expr(renamed.get(from).copied().unwrap_or(*from))))
                .collect();
            *plan = copy.project(items);
        }
        other => {
            for input in other.inputs_mut() {
                replace_scans(input, wanted, definition, only_once, columns);
            }
        }
    }
}

/// Makes equal subplans that join or aggregate one shared plan.
pub fn share_common(mut plan: Plan, columns: &mut Columns) -> Plan {
    // Each round shares the largest pair; what is inside of it is shared with it.
    for _ in 0..8 {
        let mut found: Vec<Candidate> = Vec::new();
        candidates(&plan, false, &mut Vec::new(), &mut found);
        found.sort_by_key(|c| std::cmp::Reverse(c.size));
        let Some(shape) = found
            .iter()
            .enumerate()
            .find(|(i, c)| found[i + 1..].iter().any(|other| other.shape == c.shape))
            .map(|(_, c)| c.shape.clone())
        else {
            return plan;
        };
        let paths: Vec<(Vec<usize>, Vec<ColumnId>)> =
            found.into_iter().filter(|c| c.shape == shape).map(|c| (c.path, c.ids)).collect();
        plan = share(plan, paths, columns);
    }
    plan
}

struct Candidate {
    /// Which input to follow at each step from the root.
    path: Vec<usize>,
    /// The plan as text with columns numbered in order of appearance.
    shape: String,
    /// The columns in that order.
    ids: Vec<ColumnId>,
    size: usize,
}

fn candidates(plan: &Plan, below_join: bool, path: &mut Vec<usize>, found: &mut Vec<Candidate>) {
    let is_inner = matches!(plan, Plan::Join { kind: JoinKind::Inner, .. });
    // A part of a group of joins is left to join ordering.
    if is_worth_sharing(plan) && !(is_inner && below_join) {
        let mut shape = Shape::default();
        if shape.add(plan) && super::properties::free_columns(plan).is_empty() {
            found.push(Candidate { path: path.clone(), shape: shape.text, ids: shape.ids, size: shape.size });
        }
    }
    for (i, input) in plan.inputs().into_iter().enumerate() {
        path.push(i);
        candidates(input, matches!(plan, Plan::Join { .. }), path, found);
        path.pop();
    }
}

fn is_worth_sharing(plan: &Plan) -> bool {
    match plan {
        Plan::Aggregate { .. } => true,
        // A join with a condition: cross products are larger than what they are made of.
        Plan::Join { kind: JoinKind::Inner, conditions, .. } => {
            !conditions.is_empty()
                && any_node(plan, &mut |p| matches!(p, Plan::Scan { filters, .. } if !filters.is_empty()))
        }
        _ => false,
    }
}

/// Text of a plan in which columns have the number of their first appearance.
#[derive(Default)]
struct Shape {
    text: String,
    ids: Vec<ColumnId>,
    numbers: HashMap<ColumnId, usize>,
    size: usize,
}

impl Shape {
    fn number(&mut self, id: ColumnId) -> usize {
        let next = self.ids.len();
        let ids = &mut self.ids;
        *self.numbers.entry(id).or_insert_with(|| {
            ids.push(id);
            next
        })
    }

    fn column(&mut self, id: ColumnId) {
        let number = self.number(id);
        self.text.push_str(&format!("#{number} "));
    }

    /// Adds a plan; `false` if it cannot be compared (volatile, or of a kind that is not shared).
    fn add(&mut self, plan: &Plan) -> bool {
        self.size += 1;
        for input in plan.inputs() {
            if !self.add(input) {
                return false;
            }
            self.text.push('\n');
        }
        match plan {
            Plan::Scan { table, columns, row_id: None, .. } => {
                self.text.push_str(&format!("scan {:p} ", std::sync::Arc::as_ptr(table)));
                for column in columns {
                    self.text.push_str(&format!("{}:", column.index));
                    self.column(column.id);
                }
            }
            Plan::Project { items, .. } => {
                self.text.push_str("project ");
                return items.iter().all(|(id, e)| {
                    self.expr(e) && {
                        self.column(*id);
                        true
                    }
                });
            }
            Plan::Filter { .. } => self.text.push_str("filter "),
            Plan::Join { kind, .. } => match kind {
                JoinKind::Mark(_) => return false,
                other => self.text.push_str(&format!("join {other:?} ")),
            },
            Plan::Aggregate { groups, aggregates, .. } => {
                self.text.push_str("aggregate ");
                for (id, e) in groups {
                    if !self.expr(e) {
                        return false;
                    }
                    self.column(*id);
                }
                for (id, a) in aggregates {
                    // Names tell functions of a host apart in their schemas only.
                    if a.function.external.is_some() {
                        return false;
                    }
                    self.text
                        .push_str(&format!("{}{:?} {} ", a.function.name, a.function.arg_types, a.distinct));
                    if !a.order_by.is_empty() || !a.args.iter().chain(&a.filter).all(|e| self.expr(e)) {
                        return false;
                    }
                    self.text.push_str(if a.filter.is_some() { "filtered " } else { "" });
                    self.column(*id);
                }
                return true;
            }
            _ => return false,
        }
        plan.expressions().into_iter().all(|e| self.expr(e))
    }

    fn expr(&mut self, expr: &Expr) -> bool {
        if !expr.is_deterministic() {
            return false;
        }
        let mut copy = expr.clone();
        let mut ids = Vec::new();
        expr.collect_columns(&mut ids);
        let map: HashMap<ColumnId, ColumnId> =
            ids.into_iter().map(|id| (id, ColumnId(self.number(id) as u32))).collect();
        super::rewrite::rename_expr(&mut copy, &map);
        self.text.push_str(&format!("{copy:?} "));
        true
    }
}

fn at_path<'a>(plan: &'a mut Plan, path: &[usize]) -> Option<&'a mut Plan> {
    match path {
        [] => Some(plan),
        [first, rest @ ..] => at_path(plan.inputs_mut().into_iter().nth(*first)?, rest),
    }
}

/// Replaces the subplans at `paths` by scans of one of them. The With goes to the root: nothing in them is free.
fn share(mut plan: Plan, paths: Vec<(Vec<usize>, Vec<ColumnId>)>, columns: &mut Columns) -> Plan {
    let id = columns.add_shared();
    let mut definition: Option<(Plan, Vec<ColumnId>)> = None;
    for (path, ids) in paths {
        let Some(place) = at_path(&mut plan, &path) else { continue };
        let output = place.output();
        let (_, own) = definition.get_or_insert_with(|| {
            // Scans keep the ids that are read above, so the definition gets new ones.
            let mut copy = place.clone();
            let renamed = refresh(&mut copy, columns);
            let own = ids.iter().map(|id| renamed.get(id).copied().unwrap_or(*id)).collect();
            (copy, own)
        });
        let number: HashMap<ColumnId, usize> = ids.iter().enumerate().map(|(i, id)| (*id, i)).collect();
        let scanned = output.iter().filter_map(|id| Some((*id, *own.get(*number.get(id)?)?))).collect();
        *place = Plan::SharedScan { id, columns: scanned };
    }
    match definition {
        Some((definition, _)) => Plan::With { id, definition: Box::new(definition), body: Box::new(plan) },
        None => plan,
    }
}

/// Whether sharing is worth a look: two scans of one table at least.
pub fn may_share(plan: &Plan) -> bool {
    fn tables(plan: &Plan, seen: &mut Vec<usize>) -> bool {
        if let Plan::Scan { table, .. } = plan {
            let address = std::sync::Arc::as_ptr(table) as usize;
            if seen.contains(&address) {
                return true;
            }
            seen.push(address);
        }
        plan.inputs().into_iter().any(|input| tables(input, seen))
    }
    tables(plan, &mut Vec::new())
}
