//! PIVOT and UNPIVOT, as the queries that they are short for.
//!
//! `PIVOT t ON c USING sum(x)` is `SELECT others, sum(x) FILTER (c IS NOT DISTINCT FROM 'v') AS "v", ... GROUP BY others`.
//! Without IN the values are looked up in the data while binding, in the same transaction. UNPIVOT makes a list of
//! each row's columns, and rows of its elements.

use super::build::Build;
use super::known::Names;
use super::scope::{Phase, Relation, Scope, same_name};
use super::subquery::{Pending, attach};
use super::{Binder, Output, RunQuery, name};
use crate::parser::ast::{
    BinaryOp, Distinct, Expr, ExprKind, FunctionCall, GroupBy, Pivot, PivotColumn, Pos, QueryBody, Select,
    SelectItem, TableAlias, TableRef, Unpivot,
};
use crate::plan::{self, Plan, statement::Query};
use inlay_functions::registry::is_aggregate;
use inlay_kernels::external::FunctionKind;
use inlay_types::{Error, LogicalType, Result, Value};
use std::collections::HashSet;

/// Most columns that a PIVOT makes of values.
const PIVOT_COLUMNS_MAX: usize = 100_000;

/// A source that has been bound, to be read where [`TableRef::Prepared`] stands.
pub(super) struct Prepared {
    pub(super) plan: Plan,
    pub(super) relations: Vec<Relation>,
}

/// A column to be: what selects its rows, and its name.
#[derive(Clone)]
struct Value1 {
    conditions: Vec<Expr>,
    name: String,
}

impl Binder<'_> {
    /// Binds a source of rows on its own and keeps it.
    pub(super) fn prepare(&mut self, source: &TableRef) -> Result<usize> {
        self.scopes.push(Scope::new());
        let plan = self.table_ref(source);
        let scope = self.scopes.pop();
        let scope = scope.ok_or_else(|| Error::internal("a source of PIVOT lost its scope"))?;
        let relations = scope.relations;
        self.prepared.push(Some(Prepared { plan: plan?, relations }));
        Ok(self.prepared.len() - 1)
    }

    /// Where [`TableRef::Prepared`] stands, once.
    pub(super) fn read_prepared(&mut self, number: usize) -> Result<Plan> {
        let prepared = self.prepared.get_mut(number).and_then(Option::take);
        let prepared = prepared.ok_or_else(|| Error::internal("a prepared source is read twice"))?;
        self.scope()?.relations.extend(prepared.relations);
        Ok(prepared.plan)
    }

    /// Names of the columns of a prepared source, in the order of their positions.
    pub(super) fn prepared_names(&self, number: usize) -> Vec<String> {
        let prepared = self.prepared.get(number).and_then(Option::as_ref);
        let relations = prepared.map_or(&[][..], |prepared| &prepared.relations);
        let visible = relations.iter().flat_map(|r| &r.columns).filter(|column| !column.hidden);
        visible.map(|column| column.name.clone()).collect()
    }

    /// A query in FROM that the binder wrote.
    pub(super) fn written_query(
        &mut self,
        select: Select,
        name: &str,
        alias: Option<&TableAlias>,
        pos: Pos,
    ) -> Result<Plan> {
        let query = Build(pos).query(QueryBody::Select(Box::new(select)));
        let bound = self.query(&query)?;
        self.add_relation(name, super::from::named_columns(&bound.output), alias)?;
        Ok(bound.plan)
    }

    pub(super) fn pivot(&mut self, pivot: &Pivot) -> Result<Plan> {
        let build = Build(pivot.pos);
        let source = self.prepare(&pivot.source)?;
        let names = self.prepared_names(source);
        let aggregates = match (pivot.aggregates.is_empty(), pivot.on.is_empty()) {
            (false, _) => pivot.aggregates.clone(),
            (true, false) => vec![SelectItem::Expr { expr: build.count_star(), alias: None }],
            (true, true) if pivot.group_by.is_none() => {
                return Err(self.at(Error::bind("PIVOT needs ON, USING or GROUP BY"), pivot.pos));
            }
            // Nothing is counted that has no column: the groups are what there is.
            (true, true) => Vec::new(),
        };
        let groups = match &pivot.group_by {
            Some(groups) => groups.clone(),
            None if pivot.on.is_empty() => Vec::new(),
            None => self.unused_columns(pivot, &aggregates, &names),
        };
        let mut values = vec![Value1 { conditions: Vec::new(), name: String::new() }];
        for column in &pivot.on {
            let parts = self.pivot_parts(source, column)?;
            let own = self.pivot_values(source, &parts, column)?;
            if own.len().saturating_mul(values.len()) > PIVOT_COLUMNS_MAX {
                let message = format!("PIVOT would make more than {PIVOT_COLUMNS_MAX} columns");
                let hint = "name some with IN";
                return Err(self.at(Error::out_of_range(message).with_hint(hint), pivot.pos));
            }
            values = values.iter().flat_map(|left| own.iter().map(|right| both(left, right))).collect();
        }
        let mut items: Vec<SelectItem> =
            groups.iter().map(|expr| SelectItem::Expr { expr: expr.clone(), alias: None }).collect();
        for value in &values {
            for item in &aggregates {
                items.push(self.pivot_item(build, value, item, aggregates.len())?);
            }
        }
        let mut select = build.select(items, vec![TableRef::Prepared(source)]);
        select.group_by = GroupBy::Items(groups);
        self.written_query(select, "pivot", pivot.alias.as_ref(), pivot.pos)
    }

    /// The columns that neither ON nor an aggregate mentions.
    fn unused_columns(&self, pivot: &Pivot, aggregates: &[SelectItem], names: &[String]) -> Vec<Expr> {
        let mut used: Vec<&str> = Vec::new();
        let written = aggregates.iter().filter_map(|item| match item {
            SelectItem::Expr { expr, .. } => Some(expr),
            SelectItem::Star { .. } => None,
        });
        let mut open: Vec<&Expr> = pivot.on.iter().map(|column| &column.expr).chain(written).collect();
        while let Some(expr) = open.pop() {
            if let ExprKind::Column(parts) = &expr.kind {
                used.extend(parts.last().map(|part| part.value.as_str()));
            }
            open.extend(expr.children());
        }
        let is_used = |name: &String| used.iter().any(|used| same_name(used, name));
        let unused = names.iter().filter(|name| !is_used(name));
        unused.map(|name| Build(pivot.pos).column(name.clone())).collect()
    }

    /// `aggregate FILTER (value) AS name`.
    fn pivot_item(
        &mut self,
        build: Build,
        value: &Value1,
        item: &SelectItem,
        aggregates: usize,
    ) -> Result<SelectItem> {
        let SelectItem::Expr { expr, alias } = item else {
            return Err(self.at(Error::bind("USING of PIVOT takes aggregates"), build.0));
        };
        if value.conditions.is_empty() && value.name.is_empty() {
            return Ok(item.clone());
        }
        let mut filtered = expr.clone();
        let mut count = 0;
        self.add_filter(&mut filtered, build.and(value.conditions.clone()).as_ref(), &mut count)?;
        if count != 1 {
            let message =
                format!("an expression behind USING of PIVOT has one aggregate, this one has {count}");
            return Err(self.at(Error::bind(message), expr.pos));
        }
        let name = match alias {
            Some(alias) => format!("{}_{}", value.name, alias.value),
            None if aggregates > 1 => format!("{}_{}", value.name, name::of_expr(expr)),
            None => value.name.clone(),
        };
        Ok(build.item(filtered, name))
    }

    /// Adds a filter to the aggregates of an expression and counts them.
    fn add_filter(&mut self, expr: &mut Expr, condition: Option<&Expr>, count: &mut usize) -> Result<()> {
        let pos = expr.pos;
        if let ExprKind::Function(call) = &mut expr.kind
            && self.calls_aggregate(call, pos)?
        {
            *count += 1;
            if let Some(condition) = condition {
                let condition = condition.clone();
                let pos = condition.pos;
                let combined = match call.filter.take() {
                    Some(known) => Expr { kind: ExprKind::And(vec![*known, condition]), pos },
                    None => condition,
                };
                call.filter = Some(Box::new(combined));
            }
            return Ok(());
        }
        expr.children_mut()
            .into_iter()
            .try_for_each(|child| super::with_stack(|| self.add_filter(child, condition, count)))
    }

    /// Whether a call is one of an aggregate, of ours or of the host.
    fn calls_aggregate(&mut self, call: &FunctionCall, pos: Pos) -> Result<bool> {
        if is_aggregate(&call.name.value.to_lowercase()) {
            return Ok(true);
        }
        Ok(self.host_functions(call, pos)?.is_some_and(|host| host.kind == FunctionKind::Aggregate))
    }

    /// What the values of one ON are compared with. Parts that are different each time become columns of the source, since
    /// each value reads them.
    fn pivot_parts(&mut self, source: usize, column: &PivotColumn) -> Result<Vec<Expr>> {
        let parts: Vec<Expr> = match &column.expr.kind {
            ExprKind::Row(items) => items.clone(),
            _ => vec![column.expr.clone()],
        };
        parts.into_iter().map(|part| self.pivot_part(source, part)).collect()
    }

    fn pivot_part(&mut self, source: usize, part: Expr) -> Result<Expr> {
        if matches!(part.kind, ExprKind::Column(_)) {
            return Ok(part);
        }
        let Some((value, mut pending)) = self.bound_part(source, &part)? else { return Ok(part) };
        if !value.is_volatile() && !pending.iter().any(|join| join.plan.is_volatile()) {
            return Ok(part);
        }
        let id = self.columns.add("(on)", value.ty());
        pending.push(Pending::computed(id, value));
        let columns = self.columns.clone();
        let Some(Some(prepared)) = self.prepared.get_mut(source) else {
            return Err(Error::internal("a prepared source is missing"));
        };
        prepared.plan = attach(prepared.plan.clone(), pending, &columns);
        let column = self.column(id);
        Ok(self.given(column, part.pos))
    }

    /// What one ON of a PIVOT makes columns of.
    fn pivot_values(&mut self, source: usize, parts: &[Expr], column: &PivotColumn) -> Result<Vec<Value1>> {
        let build = Build(column.expr.pos);
        let rows: Vec<(Vec<Value>, Option<String>)> = match (&column.values, &column.query) {
            (Some(items), _) => {
                let mut rows = Vec::with_capacity(items.len());
                for item in items {
                    let SelectItem::Expr { expr, alias } = item else {
                        return Err(self.at(Error::bind("IN of PIVOT takes values"), column.expr.pos));
                    };
                    let values = match &expr.kind {
                        ExprKind::Row(values) => values.iter().collect(),
                        _ => vec![expr],
                    };
                    if values.len() != parts.len() {
                        let message =
                            format!("PIVOT compares {} with {} value(s)", parts.len(), values.len());
                        return Err(self.at(Error::bind(message), expr.pos));
                    }
                    let values = values.into_iter().map(|value| match &value.kind {
                        // A bare word is the text that it is.
                        ExprKind::Column(name) if name.len() == 1 => {
                            Ok(Value::Varchar(name[0].value.clone()))
                        }
                        _ => self.constant(value, "IN of PIVOT"),
                    });
                    let values = values.collect::<Result<Vec<_>>>()?;
                    rows.push((values, alias.as_ref().map(|alias| alias.value.clone())));
                }
                rows
            }
            (None, Some(query)) => {
                let bound = self.query(query)?;
                if bound.output.len() != parts.len() {
                    let message = format!("the query must have {} column(s)", parts.len());
                    return Err(self.at(Error::bind(message), column.expr.pos));
                }
                let rows = self.run_now(&bound.plan, &bound.output, column.expr.pos)?;
                rows.into_iter().map(|row| (row, None)).collect()
            }
            (None, None) => {
                let rows = self.distinct_values(source, parts, column.expr.pos)?;
                rows.into_iter().map(|row| (row, None)).collect()
            }
        };
        // Values that were found are of the column's own type.
        let are_found = column.values.is_none() && column.query.is_none();
        let mut seen = HashSet::new();
        for (values, _) in &rows {
            let texts: Vec<Option<String>> =
                values.iter().map(|value| (!value.is_null()).then(|| value.to_string())).collect();
            if let Some(twice) = seen.replace(texts) {
                let shown = twice.into_iter().map(|text| text.unwrap_or_else(|| "NULL".to_string()));
                let message = format!("IN of PIVOT names {} twice", shown.collect::<Vec<_>>().join(", "));
                return Err(self.at(Error::bind(message), column.expr.pos));
            }
        }
        let texts = rows.into_iter().map(|(values, alias)| {
            let names: Vec<String> = values.iter().map(Value::to_string).collect();
            let conditions = parts.iter().zip(&values).map(|(part, value)| {
                let ty = value.logical_type();
                if are_found && is_one_text(&ty) {
                    let wanted = build.cast(build.text(value.to_string()), ty);
                    return build.binary(BinaryOp::Equal, part.clone(), wanted);
                }
                let text = build.cast(part.clone(), LogicalType::Varchar);
                let wanted = if value.is_null() { build.null() } else { build.text(value.to_string()) };
                build.binary(BinaryOp::NotDistinctFrom, text, wanted)
            });
            Value1 { conditions: conditions.collect(), name: alias.unwrap_or_else(|| names.join("_")) }
        });
        Ok(texts.collect())
    }

    /// The values that are there, in the order of their texts; texts of those that are not compared as they are.
    fn distinct_values(&mut self, source: usize, parts: &[Expr], pos: Pos) -> Result<Vec<Vec<Value>>> {
        let build = Build(pos);
        let mut are_texts = Vec::with_capacity(parts.len());
        for part in parts {
            let bound = self.bound_part(source, part)?;
            are_texts.push(!bound.is_some_and(|(value, _)| is_one_text(&value.ty())));
        }
        let Some(Some(prepared)) = self.prepared.get(source) else {
            return Err(Error::internal("a prepared source is missing"));
        };
        let copy = Prepared { plan: prepared.plan.clone(), relations: prepared.relations.clone() };
        self.prepared.push(Some(copy));
        let from = vec![TableRef::Prepared(self.prepared.len() - 1)];
        let values = parts.iter().zip(&are_texts).map(|(part, is_text)| {
            let part = part.clone();
            let expr = if *is_text { build.cast(part, LogicalType::Varchar) } else { part };
            SelectItem::Expr { expr, alias: None }
        });
        let mut select = build.select(values.collect(), from);
        select.distinct = Distinct::Rows;
        select.filter = build.and(parts.iter().map(|part| build.is_not_null(part.clone())).collect());
        let mut query = build.query(QueryBody::Select(Box::new(select)));
        query.limit = Some(build.number(PIVOT_COLUMNS_MAX + 1));
        let bound = self.query(&query)?;
        let mut rows = self.run_now(&bound.plan, &bound.output, pos)?;
        rows.sort_by_cached_key(|values| values.iter().map(Value::to_string).collect::<Vec<_>>());
        Ok(rows)
    }

    /// What a source is pivoted on; nothing where it cannot be bound, which is told where the query is.
    fn bound_part(&mut self, source: usize, part: &Expr) -> Result<Option<(plan::Expr, Vec<Pending>)>> {
        let Some(Some(prepared)) = self.prepared.get(source) else {
            return Err(Error::internal("a prepared source is missing"));
        };
        let mut scope = Scope::new();
        scope.relations = prepared.relations.clone();
        self.scopes.push(scope);
        let bound = self.in_phase(Phase::Select, |binder| binder.expr(part));
        self.scopes.pop();
        Ok(bound.ok())
    }

    /// Runs a query that the binding of the statement depends on.
    fn run_now(&mut self, plan: &Plan, output: &[Output], pos: Pos) -> Result<Vec<Vec<Value>>> {
        let Some(run) = self.context.run else {
            let message = "a PIVOT whose values must be looked up";
            return Err(self.at(Error::unsupported(message).with_hint("name them with IN"), pos));
        };
        if !super::subquery::free_columns(plan).is_empty() {
            let message = "a PIVOT of a correlated source";
            return Err(self.at(Error::unsupported(message).with_hint("name its values with IN"), pos));
        }
        self.rows_of(run, plan, output)
    }

    /// The rows of a plan that reads nothing from outside of it.
    pub(super) fn rows_of(
        &self,
        run: RunQuery<'_>,
        plan: &Plan,
        output: &[Output],
    ) -> Result<Vec<Vec<Value>>> {
        let mut body = plan.clone();
        for shared in self.shared.iter().rev() {
            if super::query::count_shared(&body, shared.id) > 0 {
                let definition = Box::new(shared.definition.clone());
                body = Plan::With { id: shared.id, definition, body: Box::new(body) };
            }
        }
        let output = output.iter().map(|column| (column.id, column.name.clone())).collect();
        let columns = self.columns.clone();
        run(Query { plan: body, columns, output, estimates: crate::plan::Estimates::default() })
    }

    pub(super) fn unpivot(&mut self, unpivot: &Unpivot) -> Result<Plan> {
        let build = Build(unpivot.pos);
        let source = self.prepare(&unpivot.source)?;
        let names = self.prepared_names(source);
        let width = unpivot.values.len();
        let mut labels = Vec::new();
        let mut columns: Vec<Vec<Expr>> = vec![Vec::new(); width];
        let mut used: Vec<String> = Vec::new();
        let declared = Names::of(names.iter().map(String::as_str));
        let label_of = |expr: &Expr| {
            let written = label_of(expr);
            declared.first(&written).map_or(written, |place| names[place].clone())
        };
        for column in &unpivot.columns {
            for exprs in self.unpivot_exprs(source, &column.exprs)? {
                if exprs.len() != width {
                    let message = format!("{} column(s) are unpivoted into {width}", exprs.len());
                    return Err(self.at(Error::bind(message), unpivot.pos));
                }
                let label = column.alias.as_ref().map(|alias| alias.value.clone());
                let written = || exprs.iter().map(label_of).collect::<Vec<_>>().join("_");
                labels.push(build.text(label.unwrap_or_else(written)));
                for (values, expr) in columns.iter_mut().zip(exprs) {
                    used.extend(columns_in(&expr));
                    values.push(expr);
                }
            }
        }
        let used = Names::of(used.iter().map(String::as_str));
        let kept = names.iter().enumerate().filter(|(_, name)| !used.contains(name));
        let kept: Vec<(usize, &String)> = kept.collect();
        // A list per row and its elements: to choose one column of many by its number would look at all of them for each.
        let lists = std::iter::once(labels).chain(columns);
        let elements =
            lists.map(|list| build.call("unnest", vec![build.call("list_value", list)])).collect::<Vec<_>>();
        let made = std::iter::once(&unpivot.name).chain(&unpivot.values).map(|name| name.value.clone());
        let names: Vec<String> = kept.iter().map(|(_, name)| (*name).clone()).chain(made).collect();
        let values = kept.iter().map(|(index, _)| build.position(index + 1)).chain(elements);
        let inner: Vec<SelectItem> =
            values.zip(&names).map(|(value, name)| build.item(value, name.clone())).collect();
        let rows =
            TableRef::Subquery {
                query: Box::new(build.query(QueryBody::Select(Box::new(
                    build.select(inner, vec![TableRef::Prepared(source)]),
                )))),
                alias: None,
                lateral: false,
            };
        let outer = names.into_iter().enumerate();
        let items = outer.map(|(index, name)| build.item(build.position(index + 1), name)).collect();
        let mut select = build.select(items, vec![rows]);
        if !unpivot.include_nulls {
            let first = kept.len() + 2;
            let values = first..first + width;
            select.filter = build.and(values.map(|place| build.is_not_null(build.position(place))).collect());
        }
        self.written_query(select, "unpivot", unpivot.alias.as_ref(), unpivot.pos)
    }

    /// One item of UNPIVOT's ON: several rows if it has COLUMNS.
    fn unpivot_exprs(&mut self, source: usize, exprs: &[Expr]) -> Result<Vec<Vec<Expr>>> {
        let [only] = exprs else { return Ok(vec![exprs.to_vec()]) };
        let relations = match self.prepared.get(source) {
            Some(Some(prepared)) => prepared.relations.clone(),
            _ => return Err(Error::internal("a prepared source is missing")),
        };
        let mut scope = Scope::new();
        scope.relations = relations;
        self.scopes.push(scope);
        let expanded = self.expand_expression(only);
        self.scopes.pop();
        let expanded = expanded?;
        let plain = expanded.is_empty().then(|| only.clone());
        Ok(expanded.into_iter().chain(plain).map(|expr| vec![expr]).collect())
    }
}

/// What the column of names says of an unpivoted expression.
fn label_of(expr: &Expr) -> String {
    match &expr.kind {
        ExprKind::Cast { expr, .. } => label_of(expr),
        _ => name::of_expr(expr),
    }
}

fn columns_in(expr: &Expr) -> Vec<String> {
    let (mut found, mut open) = (Vec::new(), vec![expr]);
    while let Some(expr) = open.pop() {
        if let ExprKind::Column(parts) = &expr.kind {
            found.extend(parts.last().map(|part| part.value.clone()));
        }
        open.extend(expr.children());
    }
    found
}

fn both(left: &Value1, right: &Value1) -> Value1 {
    let conditions = left.conditions.iter().chain(&right.conditions).cloned().collect();
    let name = if left.name.is_empty() && left.conditions.is_empty() {
        right.name.clone()
    } else {
        format!("{}_{}", left.name, right.name)
    };
    Value1 { conditions, name }
}

/// Whether values of a type are equal exactly where their texts are, in every session: they are compared without making texts.
fn is_one_text(ty: &LogicalType) -> bool {
    ty.is_integer()
        || matches!(ty, LogicalType::Boolean | LogicalType::Date | LogicalType::Timestamp | LogicalType::Uuid)
}
