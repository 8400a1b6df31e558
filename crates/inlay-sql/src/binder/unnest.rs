//! Calls that give several rows: `unnest`, `generate_subscripts`, `regexp_split_to_table`, in SELECT lists and in FROM.
//!
//! A call in a SELECT list becomes a column that a [`Plan::Unnest`] makes, behind aggregation and window functions; one
//! that GROUP BY names is made below the aggregation instead. All calls of one SELECT go through their lists in lockstep.
//! `unnest` of a STRUCT stands for one column per field. A call in FROM reads the tables in front of it.

use super::Binder;
use super::build::Build;
use super::scope::{Entry, EntrySource, Phase};
use super::subquery::{Pending, attach};
use crate::parser::ast::{self, ExprKind, FunctionCall, Pos, TableAlias};
use crate::plan::{ColumnId, Expr, Plan};
use inlay_types::logical_type::MAX_NESTING;
use inlay_types::{Error, LogicalType, Result, Value};
use std::collections::HashSet;
use std::rc::Rc;

/// The calls of one SELECT.
#[derive(Default)]
pub(super) struct Unnests {
    /// Made below the aggregation, because GROUP BY names them.
    pub(super) grouped: Vec<(ColumnId, Expr)>,
    /// Made behind the window functions.
    pub(super) selected: Vec<(ColumnId, Expr)>,
}

/// Whether a name is that of a function that gives several rows.
pub(super) fn gives_rows(name: &str) -> bool {
    matches!(
        name,
        "unnest"
            | "generate_subscripts"
            | "regexp_split_to_table"
            | "string_to_table"
            | "json_array_elements"
            | "jsonb_array_elements"
            | "json_array_elements_text"
            | "jsonb_array_elements_text"
            | "json_object_keys"
            | "jsonb_object_keys"
            | "jsonb_path_query"
            | "jsonb_path_query_tz"
    )
}

/// The element behind at most `depth` layers of lists.
fn element_of(ty: &LogicalType, depth: usize) -> &LogicalType {
    match ty {
        LogicalType::List(element) | LogicalType::Array(element, _) if depth > 0 => {
            element_of(element, depth - 1)
        }
        other => other,
    }
}

/// How many layers of lists a type has.
fn layers_of(ty: &LogicalType) -> usize {
    match ty {
        LogicalType::List(element) | LogicalType::Array(element, _) => 1 + layers_of(element),
        _ => 0,
    }
}

/// Whether any of `exprs` reads one of `made`.
fn reads<'e>(exprs: impl IntoIterator<Item = &'e Expr>, made: &HashSet<ColumnId>) -> bool {
    exprs.into_iter().any(|expr| expr.columns().iter().any(|id| made.contains(id)))
}

impl Binder<'_> {
    /// The value of a call in an expression.
    pub(super) fn unnest_call(&mut self, name: &str, call: &FunctionCall, pos: Pos) -> Result<Expr> {
        let phase = self.scopes.last().map(|scope| scope.phase);
        let Some(phase @ (Phase::Select | Phase::OrderBy | Phase::GroupBy)) = phase else {
            let place = phase.map_or("this place", Phase::name);
            let message = format!("{name} is not allowed in {place}: it gives several rows");
            let hint = "use it in FROM or a subquery";
            return Err(self.at(Error::bind(message).with_hint(hint), pos));
        };
        let (list, ty) = self.list_of_call(name, call, pos)?;
        let unnests = &self.scope()?.unnests;
        // What GROUP BY goes through is gone through once: the same call behind SELECT is what was grouped by.
        let calls: Vec<&(ColumnId, Expr)> = match phase {
            Phase::GroupBy => unnests.grouped.iter().collect(),
            _ => unnests.grouped.iter().chain(&unnests.selected).collect(),
        };
        let made: HashSet<ColumnId> = calls.iter().map(|(id, _)| *id).collect();
        if reads([&list], &made) {
            let message =
                "calls of unnest cannot be nested: unnest(x, recursive := true) goes through all levels";
            return Err(self.at(Error::bind(message), pos));
        }
        let same: Vec<ColumnId> = calls
            .iter()
            .filter(|(_, known)| *known == list && !list.is_volatile())
            .map(|(id, _)| *id)
            .collect();
        if let Some(id) = same.into_iter().find(|id| self.columns.ty(*id) == ty) {
            return Ok(self.columns.expr(id));
        }
        let id = self.columns.add(super::name::of_call(call), ty);
        let unnests = &mut self.scope()?.unnests;
        let calls = if phase == Phase::GroupBy { &mut unnests.grouped } else { &mut unnests.selected };
        calls.push((id, list));
        Ok(self.columns.expr(id))
    }

    /// The list that a call goes through, and the type of what it gives.
    fn list_of_call(&mut self, name: &str, call: &FunctionCall, pos: Pos) -> Result<(Expr, LogicalType)> {
        self.check_plain(name, call, pos)?;
        let build = Build(pos);
        let list = match (name, call.arguments.as_slice()) {
            ("unnest", [list]) => self.expr(list)?,
            ("generate_subscripts", [list, _dimension]) => {
                // One dimension only: the elements of a list are not further lists of equal lengths.
                let len = build.call("len", vec![list.clone()]);
                self.expr(&build.call("generate_series", vec![build.number(1), len]))?
            }
            ("regexp_split_to_table", arguments) => {
                self.expr(&build.call("regexp_split_to_array", arguments.to_vec()))?
            }
            ("string_to_table", [text, separator]) => {
                self.expr(&build.call("string_to_array", vec![text.clone(), separator.clone()]))?
            }
            ("json_array_elements" | "jsonb_array_elements", [document]) => {
                self.expr(&build.call("json_extract", vec![document.clone(), build.text("$[*]")]))?
            }
            ("json_array_elements_text" | "jsonb_array_elements_text", [document]) => {
                self.expr(&build.call("json_extract_string", vec![document.clone(), build.text("$[*]")]))?
            }
            ("json_object_keys" | "jsonb_object_keys", [document]) => {
                self.expr(&build.call("json_keys", vec![document.clone()]))?
            }
            ("jsonb_path_query" | "jsonb_path_query_tz", arguments @ [_, _, ..]) => {
                let found = build.call("jsonb_path_query_array", arguments.to_vec());
                self.expr(&build.call("json_extract", vec![found, build.text("$[*]")]))?
            }
            _ => {
                let message = format!("{name} does not take {} argument(s)", call.arguments.len());
                return Err(self.at(Error::UndefinedFunction { message, candidates: Vec::new() }, pos));
            }
        };
        let (depth, _) = self.depth_of_call(call)?;
        let list = match list.ty() {
            LogicalType::Null => self.cast_to(list, LogicalType::list(LogicalType::Integer), pos)?,
            LogicalType::List(element) if *element == LogicalType::Null => {
                self.cast_to(list, LogicalType::list(LogicalType::Integer), pos)?
            }
            LogicalType::List(_) | LogicalType::Array(..) => list,
            LogicalType::Struct(_) => {
                let message = "unnest of a STRUCT gives several columns: it stands alone in the SELECT list";
                return Err(self.at(Error::bind(message), pos));
            }
            other => {
                let message = format!("unnest goes through lists and structs, not through {other}");
                return Err(self.at(Error::bind(message), pos));
            }
        };
        let ty = element_of(&list.ty(), depth).clone();
        Ok((list, ty))
    }

    fn check_plain(&self, name: &str, call: &FunctionCall, pos: Pos) -> Result<()> {
        if call.star || call.distinct || call.filter.is_some() || !call.order_by.is_empty() {
            let message = format!(
                "{name} is not an aggregate function: *, DISTINCT, FILTER and ORDER BY do not go with it"
            );
            return Err(self.at(Error::bind(message), pos));
        }
        Ok(())
    }

    /// How many layers of lists, and then of structs, a call of `unnest` takes off, and whether fields keep the names of the
    /// structs around them.
    fn depth_of_call(&mut self, call: &FunctionCall) -> Result<(usize, bool)> {
        let (mut depth, mut keeps_names) = (1, false);
        for (name, value) in &call.named {
            let constant = self.constant(value, "an argument of unnest")?;
            match (name.value.to_lowercase().as_str(), constant) {
                ("recursive", Value::Boolean(true)) => depth = MAX_NESTING,
                ("recursive", Value::Boolean(false)) => {}
                ("keep_parent_names", Value::Boolean(keeps)) => keeps_names = keeps,
                ("max_depth", number) => {
                    let number = number.as_i128().and_then(|number| usize::try_from(number).ok());
                    let Some(number) = number.filter(|number| *number > 0) else {
                        let message = "max_depth of unnest is a whole number, 1 or larger";
                        return Err(self.at(Error::invalid_argument(message), value.pos));
                    };
                    depth = number.min(MAX_NESTING);
                }
                (other, _) => {
                    let message = format!(
                        "unnest has no argument \"{other}\" of this kind: it takes recursive := true, \
                         max_depth := n and keep_parent_names := true"
                    );
                    return Err(self.at(Error::bind(message), name.pos));
                }
            }
        }
        Ok((depth, keeps_names))
    }

    /// The entries of `unnest` of a STRUCT, or recursively of a list of them, in a SELECT list; `false` for anything else.
    pub(super) fn expand_unnest(&mut self, expr: &ast::Expr, entries: &mut Vec<Entry>) -> Result<bool> {
        let ExprKind::Function(call) = &expr.kind else { return Ok(false) };
        let [argument] = call.arguments.as_slice() else { return Ok(false) };
        if !call.name.value.eq_ignore_ascii_case("unnest") {
            return Ok(false);
        }
        let ty = self.type_only(argument)?;
        let (depth, keeps_names) = self.depth_of_call(call)?;
        let layers = layers_of(&ty);
        let (base, inner) = match (&ty, element_of(&ty, depth)) {
            (LogicalType::Struct(_), _) => (self.read_by_fields(argument), &ty),
            (_, inner @ LogicalType::Struct(_)) if depth > layers => {
                let argument = self.read_by_fields(argument);
                let call = FunctionCall { arguments: vec![argument], ..call.clone() };
                (ast::Expr { kind: ExprKind::Function(call), pos: expr.pos }, inner)
            }
            _ => return Ok(false),
        };
        let parent = keeps_names.then_some("");
        self.field_entries(&base, inner, depth.saturating_sub(layers), parent, entries);
        Ok(true)
    }

    /// What several entries read.
    fn read_by_fields(&mut self, argument: &ast::Expr) -> ast::Expr {
        match argument.kind {
            ExprKind::Column(_) => argument.clone(),
            _ => self.given_once(argument.clone()),
        }
    }

    /// One entry per field of a struct; where `depth` goes on, the fields of its structs instead of these. They are called as
    /// they are, or by what stands before them in `parent` as well.
    fn field_entries(
        &self,
        base: &ast::Expr,
        ty: &LogicalType,
        depth: usize,
        parent: Option<&str>,
        entries: &mut Vec<Entry>,
    ) {
        let LogicalType::Struct(fields) = ty else { return };
        let build = Build(base.pos);
        for (index, field) in fields.iter().enumerate() {
            let key = if field.name.is_empty() {
                build.number(index + 1)
            } else {
                build.text(field.name.to_string())
            };
            let value = build.call("struct_extract", vec![base.clone(), key]);
            let own =
                if field.name.is_empty() { format!("element{}", index + 1) } else { field.name.to_string() };
            let name = match parent {
                Some(parent) if !parent.is_empty() => format!("{parent}.{own}"),
                _ => own,
            };
            if depth > 1 && matches!(field.ty, LogicalType::Struct(_)) {
                self.field_entries(&value, &field.ty, depth - 1, parent.map(|_| name.as_str()), entries);
                continue;
            }
            let source = EntrySource::Written(Rc::new(value));
            entries.push(Entry { name, is_alias: true, source, bound: None, group: None, computed: None });
        }
    }

    /// The type of an expression of the SELECT list; the binder is left as it was.
    fn type_only(&mut self, expr: &ast::Expr) -> Result<LogicalType> {
        let scope = self.scope()?;
        let before = (
            scope.aggregates.len(),
            scope.aggregate_pending.len(),
            scope.windows.len(),
            scope.window_pending.len(),
            scope.uses.len(),
        );
        let bound = self.in_phase(Phase::Select, |binder| binder.expr(expr));
        let scope = self.scope()?;
        scope.aggregates.truncate(before.0);
        scope.aggregate_pending.truncate(before.1);
        scope.windows.truncate(before.2);
        scope.window_pending.truncate(before.3);
        scope.uses.truncate(before.4);
        // What cannot be bound here is told where it is bound for good.
        Ok(bound.map_or(LogicalType::Null, |(bound, _)| bound.ty()))
    }

    /// `input` with the columns that GROUP BY's calls make.
    pub(super) fn unnest_grouped(&mut self, input: Plan) -> Result<Plan> {
        Ok(unnested(input, std::mem::take(&mut self.scope()?.unnests.grouped)))
    }

    /// GROUP BY ALL: calls that are grouped by are made below the aggregation.
    pub(super) fn group_unnests(&mut self, groups: &[(ColumnId, Expr)]) -> Result<()> {
        let read: HashSet<ColumnId> = groups.iter().flat_map(|(_, expr)| expr.columns()).collect();
        let unnests = &mut self.scope()?.unnests;
        let selected = std::mem::take(&mut unnests.selected);
        let (grouped, selected): (Vec<_>, Vec<_>) =
            selected.into_iter().partition(|(id, _)| read.contains(id));
        unnests.grouped.extend(grouped);
        unnests.selected = selected;
        Ok(())
    }

    /// Calls read nothing that is made behind them.
    pub(super) fn check_unnests(&mut self, earlier: &[&Expr], pos: Pos) -> Result<()> {
        let scope = self.scope()?;
        let made: HashSet<ColumnId> = scope.unnests.selected.iter().map(|(id, _)| *id).collect();
        let windows = scope.windows.iter().flat_map(|(_, window)| window.expressions());
        let aggregates = scope.aggregates.iter().flat_map(|(_, aggregate)| aggregate.expressions());
        if !made.is_empty() && reads(windows.chain(aggregates).chain(earlier.iter().copied()), &made) {
            let message = "aggregates, window functions, HAVING and QUALIFY come before unnest of the SELECT list: \
                           unnest in a subquery or in FROM";
            return Err(self.at(Error::bind(message), pos));
        }
        Ok(())
    }

    /// `plan` with the columns that the SELECT list's calls make, and the subqueries that read them.
    pub(super) fn unnest_selected(&mut self, plan: Plan, pending: Vec<Pending>) -> Result<Plan> {
        let lists = std::mem::take(&mut self.scope()?.unnests.selected);
        Ok(attach(unnested(plan, lists), pending, &self.columns))
    }

    /// Subqueries of the SELECT list that read what `unnest` makes, and the others.
    pub(super) fn split_by_unnests(&mut self, pending: Vec<Pending>) -> Result<(Vec<Pending>, Vec<Pending>)> {
        let made: HashSet<ColumnId> = self.scope()?.unnests.selected.iter().map(|(id, _)| *id).collect();
        Ok(pending.into_iter().partition(|join| join.dependencies().iter().any(|id| made.contains(id))))
    }

    /// A call in FROM.
    pub(super) fn unnest_table(
        &mut self,
        name: &str,
        call: &FunctionCall,
        ordinality: bool,
        alias: Option<&TableAlias>,
    ) -> Result<Plan> {
        let pos = call.name.pos;
        let ((list, ty), pending) = self.isolated(|binder| binder.list_of_call(name, call, pos))?;
        let column = alias.map_or(name, |alias| alias.name.value.as_str());
        let id = self.columns.add(column, ty);
        let mut columns = vec![(column.to_string(), id)];
        let ordinality = ordinality.then(|| self.columns.add("ordinality", LogicalType::BigInt));
        columns.extend(ordinality.map(|id| ("ordinality".to_string(), id)));
        self.add_relation(name, columns, alias)?;
        let input = Box::new(attach(Plan::single_row(), pending, &self.columns));
        Ok(Plan::Unnest { input, lists: vec![(id, list)], ordinality, keep_empty: false })
    }

    /// The rows of a function that gives a list of structs, one column per field: `json_each`.
    pub(super) fn rows_of_structs(
        &mut self,
        call: &FunctionCall,
        ordinality: bool,
        alias: Option<&TableAlias>,
    ) -> Result<Plan> {
        let pos = call.name.pos;
        let name = call.name.value.to_lowercase();
        let (list, pending) = self.isolated(|binder| {
            let mut args = binder.exprs(&call.arguments)?;
            match (name.contains("_to_record"), args.pop()) {
                (true, Some(list)) => Ok(list),
                (_, last) => {
                    args.extend(last);
                    binder.call(&name, args, pos)
                }
            }
        })?;
        let LogicalType::List(element) = list.ty() else {
            return Err(Error::internal(format!("{name} gives no list")));
        };
        let LogicalType::Struct(fields) = &*element else {
            return Err(Error::internal(format!("{name} gives no structs")));
        };
        let row = self.columns.add(name.clone(), (*element).clone());
        let mut columns = Vec::with_capacity(fields.len() + 1);
        let mut items = Vec::with_capacity(fields.len() + 1);
        for field in fields.iter() {
            let id = self.columns.add(field.name.to_string(), field.ty.clone());
            let key = Expr::literal(Value::Varchar(field.name.to_string()));
            items.push((id, self.call("struct_extract", vec![self.column(row), key], pos)?));
            columns.push((field.name.to_string(), id));
        }
        let ordinality = ordinality.then(|| self.columns.add("ordinality", LogicalType::BigInt));
        if let Some(id) = ordinality {
            items.push((id, self.column(id)));
            columns.push(("ordinality".to_string(), id));
        }
        self.add_relation(&name, columns, alias)?;
        let input = Box::new(attach(Plan::single_row(), pending, &self.columns));
        Ok(Plan::Unnest { input, lists: vec![(row, list)], ordinality, keep_empty: false }.project(items))
    }
}

/// `input` with the elements of `lists` beside its columns.
fn unnested(input: Plan, lists: Vec<(ColumnId, Expr)>) -> Plan {
    if lists.is_empty() {
        return input;
    }
    Plan::Unnest { input: Box::new(input), lists, ordinality: None, keep_empty: false }
}
