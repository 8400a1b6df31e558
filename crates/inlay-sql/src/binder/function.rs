//! Calls: scalar functions and aggregates; `special` has those that are neither.

use super::build::Build;
use super::coerce::{arg_type, concrete, without_null_columns};
use super::constants::constant_list;
use super::scope::Phase;
use super::{AggregateFrame, Binder};
use crate::parser::ast::{self, FunctionCall, Ident, Pos, SortOrder, WindowCall};
use crate::plan::{AggregateExpr, ColumnId, Expr, SortKey};
use inlay_catalog::{DefinitionKind, near_names};
use inlay_functions::manual::parameters::parameter_names;
use inlay_functions::manual::signatures_of_form;
use inlay_functions::registry::{
    constant_arguments, function_names, is_aggregate, is_window, resolve_aggregate, scalar_exists,
};
use inlay_kernels::AggregateFunction;
use inlay_kernels::external::External;
use inlay_types::{Error, LogicalType, Result, Value};
use std::sync::Arc;

impl Binder<'_> {
    pub(super) fn function_call(&mut self, call: &FunctionCall, pos: Pos) -> Result<Expr> {
        if let Some(expanded) = self.macro_call(call, pos)? {
            return Ok(expanded);
        }
        if let Some(called) = self.external_call(call, pos)? {
            return Ok(called);
        }
        let name = call.name.value.to_lowercase();
        if is_aggregate(&name)
            && let Some(over) = self.over_of_macro()
        {
            let over = (*over).clone();
            return self.window_call(&WindowCall { call: call.clone(), ignore_nulls: None, over }, pos);
        }
        if let Some(nested) = self.nested_call(&name, call, pos)? {
            return Ok(nested);
        }
        if !call.named.is_empty() && name != "unnest" {
            let ordered = self.with_ordered_arguments(call)?;
            return self.function_call(&ordered, pos);
        }
        if super::grouping::is_grouping(&name) {
            return self.grouping_call(call, pos);
        }
        if let Some(spelled) = super::spelled::spelled(&name, call) {
            return self.expr(&spelled);
        }
        if let Some(list) = self.histogram_of_list(&name, call) {
            return self.expr(&list);
        }
        if is_aggregate(&name) {
            return self.outside_of_lambdas(|binder| binder.aggregate_call(&name, call, None, pos));
        }
        if is_window(&name) {
            let message = format!("{name} is a window function: write {name}(...) OVER (ORDER BY ...)");
            return Err(self.at(Error::Windowing { message }, pos));
        }
        if let Some(lambda) = self.lambda_call(&name, call, pos)? {
            return Ok(lambda);
        }
        if super::unnest::gives_rows(&name) {
            return self.unnest_call(&name, call, pos);
        }
        if let Some(special) = self.special_form(&name, call, pos)? {
            return Ok(special);
        }
        if let (false, Some(signatures)) = (scalar_exists(&name), signatures_of_form(&name)) {
            let message = format!("{name} does not take {} argument(s)", call.arguments.len());
            let candidates = signatures.iter().map(ToString::to_string).collect();
            return Err(self.at(Error::UndefinedFunction { message, candidates }, pos));
        }
        if !scalar_exists(&name) {
            return Err(self.at(self.undefined_function(&call.name.value), pos));
        }
        if call.star || call.distinct || call.filter.is_some() || !call.order_by.is_empty() {
            let message = format!(
                "{name} is not an aggregate function: *, DISTINCT, FILTER and ORDER BY do not go with it"
            );
            return Err(self.at(Error::bind(message), pos));
        }
        if let ("list_value" | "list_pack", Some(constants)) = (name.as_str(), constant_list(&call.arguments))
        {
            return self.list_of_constants(constants, pos);
        }
        let args = self.exprs(&call.arguments)?;
        if let ("date_part" | "datepart", [Expr::Literal { value: Value::Varchar(field), .. }, input]) =
            (name.as_str(), args.as_slice())
        {
            return self.extract(field, input.clone(), pos);
        }
        let args = self.searched(&name, args, pos)?;
        self.call(&name, args, pos)
    }

    /// `histogram(x, bins)` with bins that come with the rows: a function of the list of all values and the first bins.
    pub(super) fn histogram_of_list(&mut self, name: &str, call: &FunctionCall) -> Option<ast::Expr> {
        let function = match name {
            "histogram" => "list_histogram",
            "histogram_exact" => "list_histogram_exact",
            _ => return None,
        };
        let [_, bins] = call.arguments.as_slice() else { return None };
        if call.star || self.constant(bins, "the bins of a histogram").is_ok() {
            return None;
        }
        let build = Build(call.name.pos);
        let mut list = FunctionCall { name: build.ident("list"), ..call.clone() };
        let bins = list.arguments.pop()?;
        let mut first = build.function("first", vec![bins]);
        first.filter.clone_from(&call.filter);
        let aggregates = [list, first].map(|call| build.expr(ast::ExprKind::Function(call)));
        Some(build.call(function, aggregates.into()))
    }

    /// A call with its named arguments where they stand without names.
    pub(super) fn with_ordered_arguments(&self, call: &FunctionCall) -> Result<FunctionCall> {
        let name = call.name.value.to_lowercase();
        let count = call.arguments.len() + call.named.len();
        let mut known: Vec<&str> = Vec::new();
        for names in parameter_names(&name) {
            known.extend(names.clone());
            let names: Vec<&str> = names.skip(call.arguments.len()).collect();
            let place = |(given, _): &(Ident, ast::Expr)| {
                names.iter().position(|name| name.eq_ignore_ascii_case(&given.value))
            };
            let places: Vec<usize> = call.named.iter().filter_map(place).collect();
            let mut taken = places.clone();
            taken.sort_unstable();
            taken.dedup();
            if taken.len() != names.len() || call.arguments.len() + names.len() != count {
                continue;
            }
            let mut ordered = FunctionCall { named: Vec::new(), ..call.clone() };
            let mut order: Vec<usize> = (0..places.len()).collect();
            order.sort_unstable_by_key(|&index| places[index]);
            ordered.arguments.extend(order.into_iter().map(|index| call.named[index].1.clone()));
            return Ok(ordered);
        }
        let Some((argument, _)) = call.named.first() else { return Ok(call.clone()) };
        let message = match known.as_slice() {
            [] => format!("function {name} takes no named arguments"),
            known => {
                let mut shown: Vec<&str> = Vec::new();
                known.iter().for_each(|name| {
                    if !shown.contains(name) {
                        shown.push(name)
                    }
                });
                let given: Vec<&str> = call.named.iter().map(|(name, _)| name.value.as_str()).collect();
                format!(
                    "no function {name} takes {} argument(s) with the names {}; its parameters are {}",
                    count,
                    given.join(", "),
                    shown.join(", ")
                )
            }
        };
        Err(self.at(Error::bind(message), argument.pos))
    }

    pub(super) fn undefined_function(&self, written: &str) -> Error {
        let mut macros = self.macro_names(DefinitionKind::Macro);
        macros.extend(self.macro_names(DefinitionKind::Function));
        macros.extend(self.context.catalog.host_function_names());
        let mut known: Vec<&str> = function_names().collect();
        known.extend(macros.iter().map(String::as_str));
        let message = if self.context.catalog.table_function(written).is_some() {
            format!("{written} is a table function: it stands in FROM")
        } else {
            format!("function \"{written}\" does not exist")
        };
        if let Some(own) = super::foreign::own_form(written) {
            return Error::UndefinedFunction {
                message: format!("{message}; write {own}"),
                candidates: Vec::new(),
            };
        }
        // Operators are functions, too, and a name of one letter is like all of them.
        let is_name = |known: &&str| known.starts_with(|first: char| first.is_alphabetic() || first == '_');
        let near = match written.chars().count() {
            0 | 1 => Vec::new(),
            _ => near_names(written, known.into_iter().filter(is_name)),
        };
        Error::UndefinedFunction { message, candidates: near }
    }

    /// A part of a date, time or interval.
    pub(super) fn extract(&self, field: &str, input: Expr, pos: Pos) -> Result<Expr> {
        let field = field.to_lowercase();
        let input = match input {
            // A bare NULL fits several signatures.
            Expr::Literal { value: Value::Null, ty: LogicalType::Null } => {
                Expr::Literal { value: Value::Null, ty: LogicalType::Timestamp }
            }
            other => other,
        };
        if scalar_exists(&field)
            && !matches!(input.ty(), LogicalType::Varchar)
            && let Ok(call) = self.call(&field, vec![input.clone()], pos)
        {
            return Ok(call);
        }
        self.call("date_part", vec![Expr::literal(Value::Varchar(field)), input], pos)
    }

    /// An aggregate belongs to the innermost query whose columns its arguments read; its value is a column that
    /// this query's aggregation makes.
    pub(super) fn aggregate_call(
        &mut self,
        name: &str,
        call: &FunctionCall,
        host: Option<&[Arc<External>]>,
        pos: Pos,
    ) -> Result<Expr> {
        let Some(scope_index) = self.scopes.len().checked_sub(1) else {
            return Err(self.at(
                Error::Grouping { message: format!("aggregate {name} stands outside of a query") },
                pos,
            ));
        };
        self.aggregate_frames.push(AggregateFrame { scope: scope_index, deepest: None });
        let parts = self.in_phase(Phase::Aggregate, |binder| binder.aggregate_parts(name, call, host, pos));
        let deepest = self.aggregate_frames.pop().and_then(|frame| frame.deepest);
        let (mut aggregate, pending) = parts?;
        self.check_distinct_order(name, call, &aggregate)?;
        let is_untyped = make_concrete(&mut aggregate.function);
        let target = deepest.unwrap_or(scope_index);
        // An aggregate around this one must know how deep this one reaches.
        for frame in self.aggregate_frames.iter_mut().filter(|frame| target <= frame.scope) {
            frame.deepest = frame.deepest.max(Some(target));
        }
        let phase = self.scopes[target].phase;
        if !phase.allows_aggregates() {
            let message = format!("aggregate {name} is not allowed in {}", phase.name());
            return Err(self.at(Error::Grouping { message }, pos));
        }
        // What gives one of its values gives it with its collation.
        let collation = aggregate.args.first().and_then(|arg| self.implied_collation(arg));
        let scope = &mut self.scopes[target];
        scope.aggregate_pending.extend(pending);
        let is_same = |(_, known): &&(ColumnId, AggregateExpr)| *known == aggregate && !known.is_volatile();
        let known = scope.aggregates.iter().find(is_same).map(|(id, _)| *id);
        let id = match known {
            Some(id) => id,
            None => {
                let id = self.columns.add(super::name::of_call(call), aggregate.function.return_type.clone());
                self.columns.collate(id, collation);
                scope.aggregates.push((id, aggregate));
                id
            }
        };
        Ok(if is_untyped { Expr::literal(Value::Null) } else { self.columns.expr(id) })
    }

    /// With DISTINCT a value that is there several times is taken once: a key that is no part of it might differ each time.
    fn check_distinct_order(&self, name: &str, call: &FunctionCall, aggregate: &AggregateExpr) -> Result<()> {
        if !call.distinct || self.is_sqlite() {
            return Ok(());
        }
        let keys = aggregate.order_by.iter().zip(&call.order_by);
        let Some((_, item)) = { keys }.find(|(key, _)| !is_made_of(&aggregate.args, &key.expr)) else {
            return Ok(());
        };
        let message = format!(
            "with DISTINCT, {name} is ordered by its arguments alone: a value that is there several times may have several \
             of these keys"
        );
        Err(self.at(Error::bind(message), item.expr.pos))
    }

    pub(super) fn aggregate_parts(
        &mut self,
        name: &str,
        call: &FunctionCall,
        host: Option<&[Arc<External>]>,
        pos: Pos,
    ) -> Result<AggregateExpr> {
        if call.star && name != "count" {
            return Err(self
                .at(Error::bind(format!("{name}(*) does not exist")).with_hint("only count(*) does"), pos));
        }
        let (function, mut args) = match host {
            Some(overloads) => self.host_aggregate(call, overloads, pos)?,
            None => self.aggregate_function(name, call, pos)?,
        };
        if call.distinct && args.is_empty() {
            return Err(self.at(Error::bind(format!("DISTINCT needs an argument: {name}(DISTINCT x)")), pos));
        }
        let filter = match &call.filter {
            None => None,
            Some(filter) => Some(self.condition(filter, "FILTER")?),
        };
        let mut order_by = Vec::with_capacity(call.order_by.len());
        for item in &call.order_by {
            // ORDER BY ALL is by all arguments, unless there is a column of that name.
            if let ast::ExprKind::Column(parts) = &item.expr.kind
                && matches!(&parts[..], [all] if all.value.eq_ignore_ascii_case("all"))
                && self.resolve(parts).is_err()
            {
                order_by.extend(args.iter().map(|arg| self.sort_key(arg.clone(), item.order)));
                continue;
            }
            let mut expr = self.collated_expr(&item.expr)?;
            // A key that is an argument as well is one value: mode() WITHIN GROUP (ORDER BY x) is mode(x ORDER BY x). With a
            // filter it would be computed for the rows that are left out, too.
            if filter.is_none() && expr.is_volatile() && args.iter().any(|arg| reads(arg, &expr)) {
                let column = self.computed(expr.clone(), name, pos)?;
                args.iter_mut().for_each(|arg| replace(arg, &expr, &column));
                expr = column;
            }
            order_by.push(self.sort_key(expr, item.order));
        }
        // Quantiles sort by themselves, and were told the direction.
        if super::quantile::is_quantile(&function.name) && host.is_none() {
            order_by.clear();
        }
        Ok(AggregateExpr { function: Arc::new(function), args, distinct: call.distinct, filter, order_by })
    }

    /// The aggregate of ours that a call means, and its arguments.
    fn aggregate_function(
        &mut self,
        name: &str,
        call: &FunctionCall,
        pos: Pos,
    ) -> Result<(AggregateFunction, Vec<Expr>)> {
        let rows = match (name, call.distinct, call.arguments.as_slice()) {
            ("count", true, [ast::Expr { kind: ast::ExprKind::Row(items), .. }]) if !items.is_empty() => {
                Some(items)
            }
            _ => None,
        };
        let args = self.exprs(rows.unwrap_or(&call.arguments))?;
        let mut args: Vec<Expr> = args.into_iter().map(without_null_columns).collect();
        self.fold_constants(name, &mut args, call)?;
        self.check_fraction(name, &mut args, call)?;
        if let ("bitstring_agg", [arg]) = (name, args.as_mut_slice()) {
            // It is read three times.
            *arg = self.computed(arg.clone(), name, pos)?;
        }
        let name = self.collated_aggregate(name, &mut args, call)?;
        // Each row becomes a document of its own, which the aggregate joins.
        match name {
            "json_group_array" | "json_agg" | "jsonb_agg" | "json_group_structure" if args.len() == 1 => {
                args = vec![self.call("json_array", args, pos)?];
            }
            "json_group_object" | "json_object_agg" | "jsonb_object_agg" if args.len() == 2 => {
                args = vec![self.call("json_object", args, pos)?]
            }
            _ => {}
        }
        let types: Vec<_> = args.iter().map(arg_type).collect();
        // Distinct rows are counted as such: a row of NULLs is one, too.
        let types = if rows.is_some() { Vec::new() } else { types };
        let mut function = self.placed(resolve_aggregate(name, &types), pos)?;
        if rows.is_some() {
            function.arg_types = args.iter().map(|arg| concrete(arg.ty())).collect();
        } else if types.first().is_some_and(|arg| arg.ty == LogicalType::Null)
            && function.return_type == LogicalType::Integer
            && function.arg_types.first() == Some(&LogicalType::Integer)
        {
            // It gives one of its values, and all of them are untyped NULLs.
            function.return_type = LogicalType::Null;
        }
        let args =
            args.into_iter().zip(&function.arg_types).map(|(arg, ty)| self.cast_to(arg, ty.clone(), pos));
        let args = args.collect::<Result<Vec<_>>>()?;
        Ok((function, args))
    }

    /// `min(x COLLATE de)` is the value of the least key, `count(DISTINCT x COLLATE de)` counts keys, and `arg_max(x, y COLLATE
    /// de)` compares them.
    fn collated_aggregate<'n>(
        &self,
        name: &'n str,
        args: &mut Vec<Expr>,
        call: &FunctionCall,
    ) -> Result<&'n str> {
        if let ("arg_min" | "arg_max" | "argmin" | "argmax" | "min_by" | "max_by", [_, written, ..]) =
            (name, call.arguments.as_slice())
            && let Some(by) = args.get_mut(1)
        {
            let written_collation = self.collation_of(&[written])?;
            let value = std::mem::replace(by, Expr::boolean(false));
            let steps = match written_collation {
                None => self.implied_steps(&value, written.pos)?,
                steps => steps,
            };
            *by = self.collated(value, &steps, written.pos)?;
            return Ok(name);
        }
        let ([written], [value]) = (call.arguments.as_slice(), args.as_slice()) else { return Ok(name) };
        let mut collation = self.collation_of(&[written])?;
        if collation.is_none() && (name != "count" || call.distinct) {
            collation = self.distinct_steps(value, written.pos)?;
        }
        if collation.is_none() {
            return Ok(name);
        }
        if value.ty() == LogicalType::Interval && name != "count" {
            if call.distinct {
                *args = vec![self.call("normalized_interval", std::mem::take(args), written.pos)?];
            }
            return Ok(name);
        }
        let key = self.collated(value.clone(), &collation, written.pos)?;
        Ok(match name {
            "min" | "max" => {
                args.push(key);
                if name == "min" { "arg_min" } else { "arg_max" }
            }
            "count" => {
                *args = vec![key];
                name
            }
            _ => name,
        })
    }

    /// Replaces arguments that must be constant by their values.
    fn fold_constants(&self, name: &str, args: &mut [Expr], call: &FunctionCall) -> Result<()> {
        for &index in constant_arguments(name) {
            if let (Some(arg), Some(written)) = (args.get_mut(index), call.arguments.get(index)) {
                let value = self.evaluate(arg, written.pos, &format!("argument {} of {name}", index + 1))?;
                *arg = Expr::Literal { value, ty: arg.ty() };
            }
        }
        Ok(())
    }

    /// A sort key; without NULLS FIRST or LAST the session's default holds.
    pub(super) fn sort_key(&self, expr: Expr, order: SortOrder) -> SortKey {
        let expr = match expr {
            other if other.ty() == LogicalType::Null => {
                Expr::Literal { value: Value::Null, ty: LogicalType::Integer }
            }
            // Intervals sort by how long they are, and ends of frames are made of them.
            other if other.ty() == LogicalType::Interval => other,
            other => self.by_collation(other),
        };
        let default = self.context.default_order;
        let descending = order.descending.unwrap_or(default.descending);
        let nulls_first = order.nulls_first.unwrap_or_else(|| default.nulls.is_first(descending));
        SortKey { expr, descending, nulls_first }
    }
}

/// Lets a function that gives an untyped NULL compute INTEGERs; returns whether it is such a function.
pub(super) fn make_concrete(function: &mut Arc<AggregateFunction>) -> bool {
    let is_untyped = function.return_type == LogicalType::Null;
    if is_untyped {
        Arc::make_mut(function).return_type = LogicalType::Integer;
    }
    is_untyped
}

/// Whether an expression has a part.
fn reads(expr: &Expr, part: &Expr) -> bool {
    expr == part || expr.children().into_iter().any(|child| reads(child, part))
}

/// Whether nothing but the arguments of an aggregate decides about a value.
fn is_made_of(args: &[Expr], value: &Expr) -> bool {
    let bare = |expr: &Expr| {
        let mut expr = expr;
        while let Expr::Cast { input, .. } = expr {
            expr = input;
        }
        expr.clone()
    };
    // Some arguments are wrapped before they are taken in: intervals are put into order, values become JSON.
    let is_of = |arg: &Expr| matches!(value, Expr::Column { id, .. } if arg.columns().contains(id));
    if args.iter().any(|arg| arg == value || bare(arg) == bare(value) || is_of(arg)) {
        return true;
    }
    let parts = value.children();
    let is_made = if parts.is_empty() {
        value.columns().is_empty()
    } else {
        parts.into_iter().all(|part| is_made_of(args, part))
    };
    is_made && !value.is_volatile()
}

/// Puts `new` where an expression has a part.
fn replace(expr: &mut Expr, part: &Expr, new: &Expr) {
    if expr == part {
        *expr = new.clone();
    } else {
        expr.children_mut().into_iter().for_each(|child| replace(child, part, new));
    }
}
