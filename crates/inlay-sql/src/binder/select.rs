//! SELECT: from its clauses to a plan.
//!
//! Everything behind FROM and WHERE is bound over FROM's columns first. If the query aggregates, expressions that
//! equal a grouping expression are then replaced by its column, also inside subqueries; a column of FROM that is
//! left over is the "must appear in GROUP BY" error.

use super::deliver::Tail;
use super::known::Exprs;
use super::scope::{Entry, EntrySource, Phase, Relation, Scope, find_column, same_name};
use super::subquery::{Pending, attach, filter};
use super::{Binder, Bound, name};
use crate::parser::ast::{
    self, Distinct, ExprKind, GroupBy, Ident, Literal, OrderBy, Pos, Select, SelectItem, SortOrder,
};
use crate::plan::{AggregateExpr, ColumnId, Expr, JoinKind, Plan};
use inlay_types::{Error, Result, Value};
use std::collections::HashSet;
use std::rc::Rc;

/// Most columns of a SELECT list.
pub(super) use crate::parser::limits::ITEMS_MAX;
/// Most expressions behind GROUP BY, ORDER BY and PARTITION BY.
const KEYS_MAX: usize = 5_000;

/// Most nodes of expressions that aliases are replaced by: `1 AS a, a + a AS b, b + b AS c` doubles with each.
const COPIED_MAX: usize = 1_000_000;

/// Number of nodes of an expression, at most about `most`.
fn nodes(expr: &Expr, most: usize) -> usize {
    let mut left = vec![expr];
    let mut count = 0;
    while let Some(expr) = left.pop() {
        count += 1;
        if count > most {
            break;
        }
        left.extend(expr.children());
    }
    count
}

/// A key of ORDER BY.
pub(super) enum OrderKey {
    /// An entry of the SELECT list.
    Entry(usize),
    Expr(Expr),
}

/// The clauses behind WHERE, bound over the columns of FROM.
pub(super) struct Clauses {
    /// `(column, expression)` of GROUP BY.
    groups: Vec<(ColumnId, Expr)>,
    /// Which of `groups` each written item of GROUP BY is.
    group_items: Vec<usize>,
    group_pending: Vec<Pending>,
    having: Vec<Expr>,
    having_pending: Vec<Pending>,
    pub(super) items: Vec<Expr>,
    pub(super) distinct_on: Vec<Expr>,
    pub(super) order: Vec<(OrderKey, SortOrder)>,
    /// Of the SELECT list, DISTINCT ON and ORDER BY.
    pub(super) item_pending: Vec<Pending>,
    pub(super) qualify: Vec<Expr>,
    pub(super) qualify_pending: Vec<Pending>,
}

/// The conjuncts of a condition.
pub(super) fn conjuncts(condition: &ast::Expr) -> Vec<&ast::Expr> {
    match &condition.kind {
        ExprKind::And(items) => items.iter().flat_map(conjuncts).collect(),
        _ => vec![condition],
    }
}

impl Binder<'_> {
    pub(super) fn select(&mut self, select: &Select, tail: &Tail<'_>) -> Result<Bound> {
        inlay_types::limits::check()?;
        self.scopes.push(Scope::new());
        let bound = self.select_in_scope(select, tail);
        self.scopes.pop();
        bound
    }

    fn select_in_scope(&mut self, select: &Select, tail: &Tail<'_>) -> Result<Bound> {
        let mut plan = self.from(&select.from)?;
        if let Some(sample) = select.sample {
            plan = Plan::Sample { input: Box::new(plan), sample };
        }
        self.expand_items(&select.items)?;
        if let Some(condition) = &select.filter {
            let expanded = self.expand_condition(condition)?;
            plan = self.filtered(plan, expanded.as_ref().unwrap_or(condition), Phase::Where, "WHERE")?;
        }
        let expanded_order = self.expand_order(tail.order_by)?;
        let tail = &Tail { order_by: expanded_order.as_ref().unwrap_or(tail.order_by), ..tail.clone() };
        let mut clauses = self.clauses(select, tail)?;
        let scope = self.scope()?;
        let mut aggregates = std::mem::take(&mut scope.aggregates);
        let aggregate_pending = std::mem::take(&mut scope.aggregate_pending);
        let groupings = std::mem::take(&mut scope.groupings);
        let has_group_by = matches!(select.group_by, GroupBy::All | GroupBy::Sets { .. });
        let has_group_by = has_group_by || !clauses.groups.is_empty();
        if has_group_by {
            self.group_unnests(&clauses.groups)?;
        }
        let earlier: Vec<&Expr> = clauses.having.iter().chain(&clauses.qualify).collect();
        self.check_unnests(&earlier, select.pos)?;
        let (after_unnest, pending) = self.split_by_unnests(std::mem::take(&mut clauses.item_pending))?;
        clauses.item_pending = pending;
        let groupings = self.resolve_groupings(groupings, &clauses.groups, has_group_by)?;
        if has_group_by || !aggregates.is_empty() || select.having.is_some() {
            let input = attach(plan, std::mem::take(&mut clauses.group_pending), &self.columns);
            let input = self.unnest_grouped(input)?;
            let input = attach(input, aggregate_pending, &self.columns);
            self.regroup(&input, &mut clauses, &mut aggregates)?;
            let groups = std::mem::take(&mut clauses.groups);
            let written: Vec<ColumnId> = groups.iter().map(|(id, _)| *id).collect();
            let groups = self.collated_groups(groups, &mut aggregates)?;
            let bits = if has_group_by { self.bits_of_groups(&mut aggregates)? } else { Vec::new() };
            plan = match &select.group_by {
                GroupBy::Sets { sets, .. } => {
                    let positions =
                        |set: &Vec<usize>| set.iter().map(|item| clauses.group_items[*item]).collect();
                    let sets = sets.iter().map(positions).collect();
                    let texts = self.first_texts(&written, &groups, &mut aggregates);
                    let plan = self.grouping_sets(input, groups, sets, aggregates, groupings)?;
                    self.with_first_texts(plan, &texts)
                }
                GroupBy::Items(_) | GroupBy::All => {
                    let plan = Plan::Aggregate { input: Box::new(input), groups, aggregates };
                    self.without_sets(plan, groupings)
                }
            };
            plan = self.with_common_range(plan, &bits)?;
        }
        plan = attach(plan, std::mem::take(&mut clauses.having_pending), &self.columns);
        plan = filter(plan, std::mem::take(&mut clauses.having));
        plan = self.windowed(plan, &mut clauses)?;
        plan = self.unnest_selected(plan, after_unnest)?;
        self.deliver(plan, clauses, select, tail)
    }

    /// `plan` filtered by `condition`: first by what needs no subquery.
    pub(super) fn filtered(
        &mut self,
        plan: Plan,
        condition: &ast::Expr,
        phase: Phase,
        place: &str,
    ) -> Result<Plan> {
        let mut simple = Vec::new();
        let mut behind = Vec::new();
        let mut joins: Vec<Pending> = Vec::new();
        for conjunct in conjuncts(condition) {
            let (bound, pending) = self.in_phase(phase, |binder| {
                if binder.semi_join_conjunct(conjunct)? {
                    Ok(None)
                } else {
                    binder.condition(conjunct, place).map(Some)
                }
            })?;
            joins.extend(pending);
            let reads: Vec<ColumnId> = bound.iter().flat_map(Expr::columns).collect();
            let reads_join = |join: &Pending| {
                let marks = matches!(join.kind, JoinKind::Mark(mark) if reads.contains(&mark));
                marks || join.plan.output().iter().any(|id| reads.contains(id))
            };
            let target = if joins.iter().any(reads_join) { &mut behind } else { &mut simple };
            target.extend(bound);
        }
        Ok(filter(attach(filter(plan, simple), joins, &self.columns), behind))
    }

    /// Fills the scope's entries: the SELECT list with stars expanded.
    pub(super) fn expand_items(&mut self, items: &[SelectItem]) -> Result<()> {
        let mut entries = Vec::with_capacity(items.len());
        for item in items {
            match item {
                SelectItem::Expr { expr, alias } => {
                    if !self.expand_columns(expr, alias.as_ref(), &mut entries)?
                        && !self.expand_unnest(expr, &mut entries)?
                    {
                        entries.push(self.written_entry(expr, alias.as_ref())?);
                    }
                }
                SelectItem::Star { .. } => self.expand_star(item, &mut entries)?,
            }
        }
        if entries.len() > ITEMS_MAX {
            let message =
                format!("{} columns behind SELECT are above the limit of {ITEMS_MAX}", entries.len());
            return Err(Error::out_of_range(message));
        }
        let scope = self.scope()?;
        if entries.is_empty() && scope.relations.iter().any(|relation| !relation.columns.is_empty()) {
            let pos = match items.first() {
                Some(SelectItem::Expr { expr, .. }) => expr.pos,
                Some(SelectItem::Star { pos, .. }) => *pos,
                None => Pos::default(),
            };
            let message = "no column is left of *: what is left out are all that there are";
            return Err(self.at(Error::bind(message), pos));
        }
        scope.set_entries(entries);
        Ok(())
    }

    fn written_entry(&mut self, expr: &ast::Expr, alias: Option<&Ident>) -> Result<Entry> {
        let name = match (alias, &expr.kind) {
            (Some(alias), _) => alias.value.clone(),
            (None, ExprKind::Position(number)) => self.position(*number, expr.pos)?.0,
            (None, ExprKind::Column(parts)) => {
                self.stored_name(parts)?.unwrap_or_else(|| name::of_expr(expr))
            }
            (None, _) => name::of_expr(expr),
        };
        let source = EntrySource::Written(Rc::new(expr.clone()));
        Ok(Entry { name, is_alias: alias.is_some(), source, bound: None, group: None, computed: None })
    }

    /// The value of entry `index` in the clause being bound.
    pub(super) fn entry(&mut self, index: usize) -> Result<Expr> {
        let known = self.scope()?.entries.get(index).and_then(|entry| entry.bound.as_ref());
        let size = known.map_or(0, |bound| nodes(bound, COPIED_MAX));
        self.copied_nodes += 1 + size;
        if self.copied_nodes > COPIED_MAX {
            return Err(Error::out_of_range("aliases that are made of aliases make the statement too large"));
        }
        let scope = self.scope()?;
        let Some(entry) = scope.entries.get(index) else { return Err(Error::internal("no such entry")) };
        if scope.phase.allows_aggregates()
            && let Some(group) = entry.group
        {
            return Ok(self.column(group));
        }
        if let Some(id) = entry.computed {
            scope.uses.push((id, Pos::default()));
            return Ok(self.column(id));
        }
        if scope.phase.allows_aggregates()
            && let Some(bound) = &entry.bound
        {
            return Ok(bound.clone());
        }
        match entry.source.clone() {
            EntrySource::Star(id) => {
                let pos = Pos::default();
                if scope.phase.allows_aggregates() {
                    scope.uses.push((id, pos));
                }
                Ok(self.column(id))
            }
            EntrySource::Written(expr) => {
                scope.aliases_open.push(index);
                let bound = self.expr(&expr);
                self.scope()?.aliases_open.pop();
                bound
            }
        }
    }

    fn clauses(&mut self, select: &Select, tail: &Tail<'_>) -> Result<Clauses> {
        let mut clauses = Clauses {
            groups: Vec::new(),
            group_items: Vec::new(),
            group_pending: Vec::new(),
            having: Vec::new(),
            having_pending: Vec::new(),
            items: Vec::new(),
            distinct_on: Vec::new(),
            order: Vec::new(),
            item_pending: Vec::new(),
            qualify: Vec::new(),
            qualify_pending: Vec::new(),
        };
        if let GroupBy::Items(items) | GroupBy::Sets { items, .. } = &select.group_by {
            let ((groups, positions), pending) =
                self.in_phase(Phase::GroupBy, |binder| binder.groups(items))?;
            clauses.groups = groups;
            clauses.group_items = positions;
            clauses.group_pending = pending;
        }
        if let Some(having) = &select.having {
            for conjunct in conjuncts(having) {
                let (bound, pending) = self.in_phase(Phase::Having, |binder| {
                    if binder.semi_join_conjunct(conjunct)? {
                        Ok(None)
                    } else {
                        binder.condition(conjunct, "HAVING").map(Some)
                    }
                })?;
                clauses.having.extend(bound);
                clauses.having_pending.extend(pending);
            }
        }
        let (items, pending) = self.in_phase(Phase::Select, Self::items)?;
        clauses.items = items;
        clauses.item_pending = pending;
        if select.group_by == GroupBy::All {
            self.group_by_all(&mut clauses)?;
        }
        if let Distinct::On(exprs) = &select.distinct {
            let bind = |binder: &mut Self| {
                binder.compute_volatile_entries(select.pos)?;
                let mut keys = Vec::with_capacity(exprs.len());
                for expr in exprs {
                    let expanded = binder.expand_expression(expr)?;
                    let plain = expanded.is_empty().then_some(expr);
                    for expr in expanded.iter().chain(plain) {
                        keys.push(binder.order_target(expr)?);
                    }
                }
                Ok(keys)
            };
            let (keys, pending) = self.in_phase(Phase::OrderBy, bind)?;
            clauses.item_pending.extend(pending);
            for key in keys.into_iter().flatten() {
                clauses.distinct_on.push(match key {
                    OrderKey::Entry(index) => self.entry_value(index, &clauses)?,
                    OrderKey::Expr(expr) => expr,
                });
            }
        }
        let (order, pending) = self.in_phase(Phase::OrderBy, |binder| binder.order(tail.order_by))?;
        clauses.order = order;
        clauses.item_pending.extend(pending);
        if let Some(qualify) = &select.qualify {
            (clauses.qualify, clauses.qualify_pending) = self.qualify(qualify)?;
        }
        for index in 0..clauses.items.len() {
            clauses.items[index] = self.entry_value(index, &clauses)?;
        }
        Ok(clauses)
    }

    /// The value of an item behind SELECT: a column, if something else reads it and each evaluation differs.
    fn entry_value(&mut self, index: usize, clauses: &Clauses) -> Result<Expr> {
        let entry = self.scope()?.entries.get(index).map(|entry| (entry.group, entry.computed));
        match entry {
            Some((None, Some(id))) => Ok(self.column(id)),
            _ => Ok(clauses.items[index].clone()),
        }
    }

    /// DISTINCT ON chooses rows by values that are delivered, too.
    fn compute_volatile_entries(&mut self, pos: Pos) -> Result<()> {
        for index in 0..self.scope()?.entries.len() {
            let entry = &self.scope()?.entries[index];
            if entry.group.is_none()
                && let Some(value) = entry.bound.clone().filter(Expr::is_volatile)
            {
                let name = entry.name.clone();
                self.compute_entry(index, value, &name, pos)?;
            }
        }
        Ok(())
    }

    fn items(&mut self) -> Result<Vec<Expr>> {
        let count = self.scope()?.entries.len();
        let mut items = Vec::with_capacity(count);
        for index in 0..count {
            let bound = self.entry(index)?;
            self.scope()?.entries[index].bound = Some(bound.clone());
            items.push(bound);
        }
        Ok(items)
    }

    /// The grouping columns, and which of them each item is.
    #[expect(clippy::type_complexity, reason = "a pair of lists")]
    fn groups(&mut self, items: &[ast::Expr]) -> Result<(Vec<(ColumnId, Expr)>, Vec<usize>)> {
        self.check_key_count(items.len(), "GROUP BY")?;
        let mut groups: Vec<(ColumnId, Expr)> = Vec::with_capacity(items.len());
        let mut positions = Vec::with_capacity(items.len());
        let mut seen = Exprs::default();
        for item in items {
            let entry = self.group_entry(item)?;
            let bound = match entry {
                Some(index) => self.entry(index)?,
                // Each group has the first of its texts; what it is grouped by comes later.
                None => self.expr(item)?,
            };
            let position = seen.place(&groups, &bound).unwrap_or(groups.len());
            if position == groups.len() {
                seen.add(position, &bound);
                let id = self.group_column(&bound, || name::of_expr(item));
                groups.push((id, bound));
            }
            positions.push(position);
            if let Some(index) = entry {
                self.scope()?.entries[index].group = Some(groups[position].0);
            }
        }
        Ok((groups, positions))
    }

    pub(super) fn group_column(&mut self, expr: &Expr, name: impl FnOnce() -> String) -> ColumnId {
        match expr {
            Expr::Column { id, .. } => self.columns.copy_of(*id),
            other => {
                let id = self.columns.add(name(), other.ty());
                let collation = self.implied_collation(other);
                self.columns.collate(id, collation);
                id
            }
        }
    }

    /// The entry that an ordinal or an alias in GROUP BY means. A column of FROM goes before an alias.
    fn group_entry(&mut self, item: &ast::Expr) -> Result<Option<usize>> {
        match &item.kind {
            ExprKind::Literal(Literal::Number(text)) => self.ordinal(text, item.pos, "GROUP BY"),
            ExprKind::Column(parts) => {
                let found = find_column(&self.scope()?.relations, parts);
                if matches!(found, Ok(None)) { Ok(self.find_alias(parts)) } else { Ok(None) }
            }
            _ => Ok(None),
        }
    }

    /// The entry that a number in GROUP BY or ORDER BY means.
    fn ordinal(&mut self, text: &str, pos: Pos, place: &str) -> Result<Option<usize>> {
        let Ok(number) = text.parse::<i64>() else { return Ok(None) };
        let count = self.scope()?.entries.len();
        match usize::try_from(number) {
            Ok(number) if (1..=count).contains(&number) => Ok(Some(number - 1)),
            _ => {
                let message = format!("{place} {number} is not a position in the SELECT list (1 to {count})");
                Err(self.at(Error::bind(message), pos))
            }
        }
    }

    /// GROUP BY ALL: what aggregates nothing and reads something.
    fn group_by_all(&mut self, clauses: &mut Clauses) -> Result<()> {
        let scope = self.scope()?;
        let aggregates = scope.aggregates.iter().map(|(id, _)| *id);
        let aggregated: HashSet<ColumnId> =
            aggregates.chain(scope.windows.iter().map(|(id, _)| *id)).collect();
        let subqueries = clauses.item_pending.iter().flat_map(Pending::made);
        let made: HashSet<ColumnId> = aggregated.iter().copied().chain(subqueries).collect();
        let reads = |clauses: &Clauses, index: usize| clauses.items[index].columns();
        let plain: Vec<usize> = (0..clauses.items.len())
            .filter(|index| {
                let columns = reads(clauses, *index);
                !columns.is_empty() && !columns.iter().any(|id| made.contains(id))
            })
            .collect();
        self.group_items(clauses, &plain)?;
        // A subquery is computed behind the aggregation, for each group, if it reads what is grouped anyway.
        for index in 0..clauses.items.len() {
            let columns = reads(clauses, index);
            if columns.iter().any(|id| made.contains(id) && !aggregated.contains(id))
                && self.group_subqueries(clauses, columns, &aggregated)?
            {
                self.group_items(clauses, &[index])?;
            }
        }
        Ok(())
    }

    /// Moves the joins that an item waits for below the aggregation, if without them it would read what is not grouped; whether the item
    /// is one to group by. What reads an aggregate stays above.
    fn group_subqueries(
        &mut self,
        clauses: &mut Clauses,
        columns: Vec<ColumnId>,
        aggregated: &HashSet<ColumnId>,
    ) -> Result<bool> {
        let own: HashSet<ColumnId> = self.scope()?.relations.iter().flat_map(Relation::ids).collect();
        let groups = &Groups::new(&clauses.groups);
        let (mut read, mut waited_for): (HashSet<ColumnId>, Vec<usize>) = (HashSet::new(), Vec::new());
        let mut is_ungrouped = columns.iter().any(|id| own.contains(id));
        let mut open = columns;
        while let Some(id) = open.pop() {
            if !read.insert(id) {
                continue;
            }
            if aggregated.contains(&id) {
                return Ok(false);
            }
            for (place, join) in clauses.item_pending.iter().enumerate() {
                if waited_for.contains(&place) || !join.made().contains(&id) {
                    continue;
                }
                waited_for.push(place);
                open.extend(join.dependencies());
                let mut above =
                    Pending { plan: join.plan.clone(), conditions: join.conditions.clone(), ..*join };
                substitute_in_plan(&mut above.plan, groups);
                above.conditions.iter_mut().for_each(|condition| substitute(condition, groups));
                is_ungrouped |= above.dependencies().iter().any(|id| own.contains(id));
            }
        }
        if is_ungrouped {
            let pending = std::mem::take(&mut clauses.item_pending);
            for (place, join) in pending.into_iter().enumerate() {
                let is_moved = waited_for.contains(&place);
                let target = if is_moved { &mut clauses.group_pending } else { &mut clauses.item_pending };
                target.push(join);
            }
        }
        Ok(is_ungrouped)
    }

    /// Groups by items behind SELECT.
    fn group_items(&mut self, clauses: &mut Clauses, items: &[usize]) -> Result<()> {
        let mut seen = Exprs::of(&clauses.groups);
        for &index in items {
            let expr = clauses.items[index].clone();
            let entry_name = self.scope()?.entries[index].name.clone();
            let id = match seen.place(&clauses.groups, &expr) {
                Some(place) => clauses.groups[place].0,
                None => {
                    let id = self.group_column(&expr, || entry_name);
                    seen.add(clauses.groups.len(), &expr);
                    clauses.groups.push((id, expr));
                    id
                }
            };
            clauses.items[index] = self.column(id);
            let entry = &mut self.scope()?.entries[index];
            entry.group = Some(id);
            entry.bound = None;
        }
        Ok(())
    }

    /// Each key is looked for among the others and in the SELECT list, so that there is a limit to them.
    pub(super) fn check_key_count(&self, count: usize, clause: &str) -> Result<()> {
        if count <= KEYS_MAX {
            return Ok(());
        }
        let message = format!("{count} expressions behind {clause} are above the limit of {KEYS_MAX}");
        Err(Error::out_of_range(message))
    }

    fn order(&mut self, order_by: &OrderBy) -> Result<Vec<(OrderKey, SortOrder)>> {
        match order_by {
            OrderBy::All(order) => {
                let count = self.scope()?.entries.len();
                Ok((0..count).map(|index| (OrderKey::Entry(index), *order)).collect())
            }
            OrderBy::Items(items) => {
                self.check_key_count(items.len(), "ORDER BY")?;
                let mut keys = Vec::with_capacity(items.len());
                for item in items {
                    if let Some(key) = self.order_target(&item.expr)? {
                        keys.push((key, item.order));
                    }
                }
                Ok(keys)
            }
        }
    }

    /// The entry whose name is that of columns of several tables.
    fn only_entry(&mut self, parts: &[ast::Ident]) -> Result<Option<usize>> {
        let ([name], scope) = (parts, self.scope()?) else { return Ok(None) };
        if !matches!(find_column(&scope.relations, parts), Err(Error::Ambiguous { .. })) {
            return Ok(None);
        }
        let mut named =
            (0..scope.entries.len()).filter(|place| same_name(&scope.entries[*place].name, &name.value));
        let only = named.next().filter(|_| named.next().is_none());
        Ok(only)
    }

    /// A literal that is no position orders nothing; PostgreSQL takes it for a mistake, too. SQLite does not.
    pub(super) fn check_ordering_literal(&self, pos: Pos) -> Result<()> {
        let allows =
            |value: Value| value.to_string().eq_ignore_ascii_case("true") || value.to_string() == "1";
        if self.is_sqlite() || (self.context.setting)("order_by_non_integer_literal").is_some_and(allows) {
            return Ok(());
        }
        let message = "a literal that is no position in the result orders nothing";
        let hint = "name a column, or give its position as a whole number; text is in single quotes, names are in double ones";
        Err(self.at(Error::bind(message).with_hint(hint), pos))
    }

    /// What an expression in ORDER BY or DISTINCT ON means; `None` for a constant, which orders nothing.
    fn order_target(&mut self, expr: &ast::Expr) -> Result<Option<OrderKey>> {
        match &expr.kind {
            ExprKind::Literal(Literal::Number(text)) if is_ordinal(expr) => {
                Ok(self.ordinal(text, expr.pos, "ORDER BY")?.map(OrderKey::Entry))
            }
            ExprKind::Literal(_) => self.check_ordering_literal(expr.pos).map(|()| None),
            ExprKind::Column(parts) if self.find_alias(parts).is_some() => {
                Ok(self.find_alias(parts).map(OrderKey::Entry))
            }
            ExprKind::Collate { expr: inner, .. } if is_ordinal(inner) => {
                let collation = self.collation_of(&[expr])?;
                let Some(OrderKey::Entry(entry)) = self.order_target(inner)? else { return Ok(None) };
                let value = self.entry(entry)?;
                Ok(Some(OrderKey::Expr(self.collated(value, &collation, expr.pos)?)))
            }
            kind => {
                // Several tables have such a column, and the result one.
                if let ExprKind::Column(parts) = kind
                    && let Some(entry) = self.only_entry(parts)?
                {
                    return Ok(Some(OrderKey::Entry(entry)));
                }
                let bound = self.collated_expr(expr)?;
                let entries = &self.scope()?.entries;
                let same = entries.iter().position(|entry| entry.bound.as_ref() == Some(&bound));
                Ok(Some(same.map_or(OrderKey::Expr(bound), OrderKey::Entry)))
            }
        }
    }

    /// Replaces grouping expressions behind the aggregation by the grouping columns.
    fn regroup(
        &mut self,
        input: &Plan,
        clauses: &mut Clauses,
        aggregates: &mut Vec<(ColumnId, AggregateExpr)>,
    ) -> Result<()> {
        let groups = std::mem::take(&mut clauses.groups);
        let mut ungrouped = self.substituted(input, clauses, &groups)?;
        clauses.groups = groups;
        if !ungrouped.is_empty() && self.is_sqlite() {
            let bare = self.sqlite_bare_columns(ungrouped, aggregates)?;
            ungrouped = self.substituted(input, clauses, &bare)?;
        }
        let Some(id) = ungrouped.first().copied() else { return Ok(()) };
        let written = self.scope()?.name_of(id);
        let column = written.unwrap_or_else(|| self.columns.get(id).name.clone());
        let message = format!(
            "column \"{column}\" must appear in the GROUP BY clause or be used in an aggregate function"
        );
        let hint = format!("any_value(\"{column}\") takes some value of the group");
        let used = self.scope()?.uses.iter().find(|(used, _)| *used == id).map(|(_, pos)| *pos);
        Err(self.at(Error::Grouping { message }.with_hint(hint), used.unwrap_or_default()))
    }

    /// Replaces expressions behind the aggregation by columns, and gives the columns below it that are still read.
    fn substituted(
        &mut self,
        input: &Plan,
        clauses: &mut Clauses,
        groups: &[(ColumnId, Expr)],
    ) -> Result<Vec<ColumnId>> {
        let groups = &Groups::new(groups);
        let mut windows = std::mem::take(&mut self.scope()?.windows);
        let mut window_pending = std::mem::take(&mut self.scope()?.window_pending);
        let exprs = clauses.items.iter_mut().chain(&mut clauses.having).chain(&mut clauses.distinct_on);
        let exprs = exprs.chain(&mut clauses.qualify);
        let mut lists = std::mem::take(&mut self.scope()?.unnests.selected);
        let exprs = exprs.chain(lists.iter_mut().map(|(_, list)| list));
        let exprs = exprs.chain(windows.iter_mut().flat_map(|(_, window)| window.expressions_mut()));
        let keys = clauses.order.iter_mut().filter_map(|(key, _)| match key {
            OrderKey::Expr(expr) => Some(expr),
            OrderKey::Entry(_) => None,
        });
        let below: HashSet<ColumnId> = input.output().into_iter().collect();
        let mut ungrouped = Vec::new();
        let mut note = |id: ColumnId| {
            if below.contains(&id) && !ungrouped.contains(&id) {
                ungrouped.push(id);
            }
        };
        for expr in exprs.chain(keys) {
            substitute(expr, groups);
            expr.columns().into_iter().for_each(&mut note);
        }
        let joins = clauses.having_pending.iter_mut().chain(&mut clauses.item_pending);
        for join in joins.chain(&mut clauses.qualify_pending).chain(&mut window_pending) {
            substitute_in_plan(&mut join.plan, groups);
            join.conditions.iter_mut().for_each(|condition| substitute(condition, groups));
            join.dependencies().into_iter().for_each(&mut note);
        }
        let scope = self.scope()?;
        (scope.windows, scope.window_pending) = (windows, window_pending);
        scope.unnests.selected = lists;
        Ok(ungrouped)
    }
}

/// Grouping columns with what they stand for.
pub(super) struct Groups<'a> {
    list: &'a [(ColumnId, Expr)],
    known: Exprs,
}

impl<'a> Groups<'a> {
    pub(super) fn new(list: &'a [(ColumnId, Expr)]) -> Self {
        Self { list, known: Exprs::of(list) }
    }
}

/// Replaces every subexpression that equals a grouping expression by its column.
pub(super) fn substitute(expr: &mut Expr, groups: &Groups<'_>) {
    if matches!(expr, Expr::Literal { .. }) {
        return;
    }
    if let Some((id, _)) = groups.known.place(groups.list, expr).and_then(|place| groups.list.get(place)) {
        *expr = Expr::Column { id: *id, ty: expr.ty() };
        return;
    }
    expr.children_mut().into_iter().for_each(|child| substitute(child, groups));
}

fn substitute_in_plan(plan: &mut Plan, groups: &Groups<'_>) {
    plan.expressions_mut().into_iter().for_each(|expr| substitute(expr, groups));
    plan.inputs_mut().into_iter().for_each(|input| substitute_in_plan(input, groups));
}

/// Whether it is the number of an item behind SELECT.
fn is_ordinal(expr: &ast::Expr) -> bool {
    matches!(&expr.kind, ExprKind::Literal(Literal::Number(text)) if text.parse::<i64>().is_ok())
}
