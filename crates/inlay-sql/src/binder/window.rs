//! Calls with OVER, and QUALIFY.
//!
//! A call becomes a column that the query's [`Plan::Window`] makes, behind its aggregation, so that it may read
//! aggregates. One that reads another window function by its alias goes into a further such operator above.

use super::Binder;
use super::coerce::{arg_type, without_null_columns};
use super::function::make_concrete;
use super::scope::Phase;
use super::select::{Clauses, conjuncts};
use super::subquery::{Pending, attach, filter, in_order};
use crate::parser::ast::{self, ExprKind, FunctionCall, Pos, WindowCall};
use crate::plan::window::{Frame, FrameBound, FrameUnits, WindowCallee};
use crate::plan::{ColumnId, Expr, Plan, SortKey, WindowExpr};
use inlay_functions::manual::signatures_of_form;
use inlay_functions::registry::{is_aggregate, is_window, resolve_window, scalar_exists};
use inlay_functions::windows::is_continuous;
use inlay_kernels::WindowKind;
use inlay_kernels::external::{External, FunctionKind};
use inlay_types::{Error, LogicalType, Result, Value};
use std::collections::HashSet;
use std::sync::Arc;

impl Binder<'_> {
    pub(super) fn window_call(&mut self, call: &WindowCall, pos: Pos) -> Result<Expr> {
        let phase = self.scopes.last().map(|scope| scope.phase);
        if !phase.is_some_and(Phase::allows_windows) {
            let message = match phase {
                None => "window functions are not allowed here".to_string(),
                Some(Phase::Aggregate) => "an aggregate cannot contain a window function: compute it in a \
                                           subquery"
                    .to_string(),
                Some(Phase::Window) => {
                    "window functions cannot be nested: compute the inner one in a subquery".to_string()
                }
                Some(phase @ (Phase::Where | Phase::Having)) => {
                    format!("window functions are not allowed in {}; QUALIFY filters by them", phase.name())
                }
                Some(phase) => format!("window functions are not allowed in {}", phase.name()),
            };
            return Err(self.at(Error::Windowing { message }, pos));
        }
        if let Some(of_frames) = self.histogram_of_frames(call) {
            return self.expr(&of_frames);
        }
        let name = call.call.name.value.to_lowercase();
        if !is_aggregate(&name)
            && !is_window(&name)
            && let Some(value) = self.macro_over(call, pos)?
        {
            return Ok(value);
        }
        let (mut window, pending) = self.in_phase(Phase::Window, |binder| binder.window_parts(call, pos))?;
        let is_untyped = match &mut window.function {
            WindowCallee::Aggregate(function) => make_concrete(function),
            WindowCallee::Window(function) => {
                let is_untyped = function.return_type == LogicalType::Null;
                if is_untyped {
                    Arc::make_mut(function).return_type = LogicalType::Integer;
                }
                is_untyped
            }
        };
        let name = super::name::of_window(call);
        let scope = self.scope()?;
        let has_subquery = !pending.is_empty();
        scope.window_pending.extend(pending);
        let same = scope.windows.iter().find(|(_, known)| *known == window && !has_subquery);
        let same = same.filter(|_| window.expressions().into_iter().all(Expr::is_deterministic));
        let id = match same.map(|(id, _)| *id) {
            Some(id) => id,
            None => {
                let id = self.columns.add(name, window.return_type());
                self.scope()?.windows.push((id, window.clone()));
                id
            }
        };
        let value = self.columns.expr(id);
        match self.bits_of_frames(&window, &value, pos)? {
            _ if is_untyped => Ok(Expr::literal(Value::Null)),
            bits => Ok(bits.unwrap_or(value)),
        }
    }

    /// A histogram whose bins come with the rows: of each frame's values, by the first bins of the frame.
    fn histogram_of_frames(&mut self, call: &WindowCall) -> Option<ast::Expr> {
        let mut made = self.histogram_of_list(&call.call.name.value.to_lowercase(), &call.call)?;
        if let ExprKind::Function(function) = &mut made.kind {
            for argument in &mut function.arguments {
                if let ExprKind::Function(aggregate) = &argument.kind {
                    let windowed = WindowCall { call: aggregate.clone(), ..call.clone() };
                    argument.kind = ExprKind::Window(Box::new(windowed));
                }
            }
        }
        Some(made)
    }

    fn window_parts(&mut self, call: &WindowCall, pos: Pos) -> Result<WindowExpr> {
        let name = call.call.name.value.to_lowercase();
        let host = self.host_functions(&call.call, pos)?;
        if host.is_none() && !call.call.named.is_empty() {
            let ordered = WindowCall { call: self.with_ordered_arguments(&call.call)?, ..call.clone() };
            return self.window_parts(&ordered, pos);
        }
        let counted = if is_aggregate(&name) { None } else { count_if(&name, &call.call) };
        let mut window = match &counted {
            _ if host.is_some() => {
                let host = host.as_ref().filter(|host| host.kind == FunctionKind::Aggregate);
                let Some(host) = host else {
                    let message =
                        format!("{name} is no aggregate or window function: OVER does not go with it");
                    return Err(self.at(Error::bind(message), pos));
                };
                self.windowed_aggregate(&name, &host.call, Some(&host.overloads), call, pos)?
            }
            Some(counted) => self.windowed_aggregate("count", counted, None, call, pos)?,
            None if is_window(&name) => self.window_function(&name, call, pos)?,
            None if is_aggregate(&name) => self.windowed_aggregate(&name, &call.call, None, call, pos)?,
            None if scalar_exists(&name) || signatures_of_form(&name).is_some() => {
                let message = format!("{name} is no aggregate or window function: OVER does not go with it");
                return Err(self.at(Error::bind(message), pos));
            }
            None => return Err(self.at(self.undefined_function(&call.call.name.value), pos)),
        };
        self.check_key_count(call.over.partition_by.len(), "PARTITION BY")?;
        self.check_key_count(call.over.order_by.len(), "ORDER BY")?;
        for written in &call.over.partition_by {
            let key = without_null_columns(self.collated_expr(written)?);
            let key = self.by_collation(key);
            // A constant parts nothing.
            if !matches!(key, Expr::Literal { .. }) && !window.partition.contains(&key) {
                window.partition.push(key);
            }
        }
        for item in &call.over.order_by {
            let mut expr = self.collated_expr(&item.expr)?;
            if call.over.frame.is_some() {
                // The ends of a frame by value are made of the key.
                expr = self.computed(expr, "window_order", item.expr.pos)?;
            }
            window.order.push(self.sort_key(expr, item.order));
        }
        window.frame = self.frame(call, &window.order, pos)?;
        if matches!(&window.function, WindowCallee::Window(function) if function.kind == WindowKind::Fill) {
            self.check_fill(&window, pos)?;
        }
        Ok(window)
    }

    fn window_function(&mut self, name: &str, call: &WindowCall, pos: Pos) -> Result<WindowExpr> {
        let written = &call.call;
        let refuse = |what: &str| {
            let message = format!("{what} does not go with the window function {name}");
            Err(self.at(Error::bind(message), pos))
        };
        if written.star {
            return refuse("*");
        }
        if written.distinct {
            return refuse("DISTINCT");
        }
        if written.filter.is_some() {
            return refuse("FILTER");
        }
        let args = self.exprs(&written.arguments)?;
        let types: Vec<_> = args.iter().map(arg_type).collect();
        let mut function = self.placed(resolve_window(name, &types), pos)?;
        if types.first().is_some_and(|arg| arg.ty == LogicalType::Null)
            && function.return_type == LogicalType::Integer
        {
            // It gives one of its values, and all of them are untyped NULLs.
            function.return_type = LogicalType::Null;
        }
        if call.ignore_nulls == Some(true) && !function.kind.picks_row() {
            return Err(self.at(Error::bind(format!("IGNORE NULLS does not go with {name}")), pos));
        }
        if !written.order_by.is_empty() && matches!(function.kind, WindowKind::DenseRank | WindowKind::Fill) {
            return Err(self.at(Error::unsupported(format!("ORDER BY inside of {name}")), pos));
        }
        let mut bound = Vec::with_capacity(args.len());
        for ((arg, ty), written) in args.into_iter().zip(&function.arg_types).zip(&written.arguments) {
            bound.push(self.cast_to(arg, ty.clone(), written.pos)?);
        }
        let mut arg_order = Vec::with_capacity(written.order_by.len());
        for item in &written.order_by {
            let expr = self.collated_expr(&item.expr)?;
            arg_order.push(self.sort_key(expr, item.order));
        }
        Ok(WindowExpr {
            function: WindowCallee::Window(Arc::new(function)),
            args: bound,
            partition: Vec::new(),
            order: Vec::new(),
            frame: Frame::default_of(false),
            filter: None,
            distinct: false,
            ignore_nulls: call.ignore_nulls == Some(true),
            arg_order,
        })
    }

    fn windowed_aggregate(
        &mut self,
        name: &str,
        written: &FunctionCall,
        host: Option<&[Arc<External>]>,
        call: &WindowCall,
        pos: Pos,
    ) -> Result<WindowExpr> {
        if call.ignore_nulls.is_some() {
            let message = format!(
                "IGNORE NULLS and RESPECT NULLS do not go with the aggregate {name}: use FILTER (WHERE x IS \
                 NOT NULL)"
            );
            return Err(self.at(Error::bind(message), pos));
        }
        let aggregate = self.aggregate_parts(name, written, host, pos)?;
        Ok(WindowExpr {
            function: WindowCallee::Aggregate(aggregate.function),
            args: aggregate.args,
            partition: Vec::new(),
            order: Vec::new(),
            frame: Frame::default_of(false),
            filter: aggregate.filter,
            distinct: aggregate.distinct,
            ignore_nulls: false,
            arg_order: aggregate.order_by,
        })
    }

    fn frame(&mut self, call: &WindowCall, order: &[SortKey], pos: Pos) -> Result<Frame> {
        let constant = |key: &SortKey| matches!(key.expr, Expr::Literal { .. });
        let Some(written) = &call.over.frame else {
            return Ok(Frame::default_of(!order.iter().all(constant)));
        };
        let has_offset = [&written.start, &written.end]
            .into_iter()
            .any(|bound| matches!(bound, ast::FrameBound::Preceding(_) | ast::FrameBound::Following(_)));
        let by_value = written.units == FrameUnits::Range && has_offset;
        let key = match order {
            [key] => Some(key),
            _ if by_value => {
                let message =
                    format!("RANGE with an offset needs exactly one ORDER BY key, here are {}", order.len());
                let hint = "ROWS counts rows";
                return Err(self.at(Error::Windowing { message }.with_hint(hint), pos));
            }
            _ => None,
        };
        let key = key.filter(|_| by_value);
        let (start, start_pos) = self.bound(&written.start, key)?;
        let (end, end_pos) = self.bound(&written.end, key)?;
        let mut frame = Frame { units: written.units, start, end, exclude: written.exclude, range_key: None };
        if let Some(key) = key {
            let bounds = [&frame.start, &frame.end].into_iter().filter_map(offset_of);
            let ty = self.common_type_of(bounds.chain([&key.expr]), pos, "RANGE")?;
            for (bound, pos) in [(&mut frame.start, start_pos), (&mut frame.end, end_pos)] {
                if let FrameBound::Preceding(expr) | FrameBound::Following(expr) = bound {
                    let value = std::mem::replace(expr, Expr::boolean(false));
                    *expr = self.cast_to(value, ty.clone(), pos)?;
                }
            }
            frame.range_key = Some(self.cast_to(key.expr.clone(), ty, pos)?);
        }
        Ok(frame)
    }

    /// A bound; with a key it is the key moved by the offset, else the offset itself.
    fn bound(&mut self, bound: &ast::FrameBound, key: Option<&SortKey>) -> Result<(FrameBound, Pos)> {
        let (offset, before) = match bound {
            ast::FrameBound::UnboundedPreceding => {
                return Ok((FrameBound::UnboundedPreceding, Pos::default()));
            }
            ast::FrameBound::CurrentRow => return Ok((FrameBound::CurrentRow, Pos::default())),
            ast::FrameBound::UnboundedFollowing => {
                return Ok((FrameBound::UnboundedFollowing, Pos::default()));
            }
            ast::FrameBound::Preceding(offset) => (offset, true),
            ast::FrameBound::Following(offset) => (offset, false),
        };
        let pos = offset.pos;
        let value = self.expr(offset)?;
        if matches!(value, Expr::Literal { value: Value::Null, .. }) {
            return Err(self.at(Error::Windowing { message: "the offset of a frame is NULL".into() }, pos));
        }
        let negative = match &value {
            Expr::Literal { value, .. } => value.as_f64().is_some_and(|number| number < 0.0),
            _ => false,
        };
        if negative {
            let message = "the offset of a frame is negative: exchange PRECEDING and FOLLOWING".into();
            return Err(self.at(Error::Windowing { message }, pos));
        }
        let value = match key {
            None => self.cast_to(value, LogicalType::BigInt, pos)?,
            Some(key) => {
                let operator = if before == key.descending { "+" } else { "-" };
                self.call(operator, vec![key.expr.clone(), value], pos)?
            }
        };
        Ok((if before { FrameBound::Preceding(value) } else { FrameBound::Following(value) }, pos))
    }

    fn check_fill(&self, window: &WindowExpr, pos: Pos) -> Result<()> {
        let message = match window.order.as_slice() {
            [key] if is_continuous(&key.expr.ty()) => return Ok(()),
            [key] => {
                format!("fill interpolates by the ORDER BY key, which cannot be of type {}", key.expr.ty())
            }
            _ => "fill needs exactly one ORDER BY key to interpolate by".to_string(),
        };
        Err(self.at(Error::Windowing { message }, pos))
    }

    /// The conjuncts of QUALIFY and the subqueries in them.
    pub(super) fn qualify(&mut self, condition: &ast::Expr) -> Result<(Vec<Expr>, Vec<Pending>)> {
        let (mut predicates, mut joins) = (Vec::new(), Vec::new());
        for conjunct in conjuncts(condition) {
            let (bound, pending) = self.in_phase(Phase::Qualify, |binder| {
                if binder.semi_join_conjunct(conjunct)? {
                    Ok(None)
                } else {
                    binder.condition(conjunct, "QUALIFY").map(Some)
                }
            })?;
            predicates.extend(bound);
            joins.extend(pending);
        }
        if self.scope()?.windows.is_empty() {
            let message =
                "QUALIFY filters by window functions, and there is none in it or in the SELECT list";
            let error = Error::Windowing { message: message.into() }.with_hint("use WHERE or HAVING");
            return Err(self.at(error, condition.pos));
        }
        Ok((predicates, joins))
    }

    /// Window functions, QUALIFY and the subqueries of the SELECT list over a plan that makes what they read.
    pub(super) fn windowed(&mut self, plan: Plan, clauses: &mut Clauses) -> Result<Plan> {
        let scope = self.scope()?;
        let mut windows = std::mem::take(&mut scope.windows);
        let window_pending = std::mem::take(&mut scope.window_pending);
        let made: HashSet<ColumnId> = windows.iter().map(|(id, _)| *id).collect();
        let items = std::mem::take(&mut clauses.item_pending);
        let reads_window = |join: &Pending| join.dependencies().iter().any(|id| made.contains(id));
        let (above, below): (Vec<_>, Vec<_>) = items.into_iter().partition(reads_window);
        let mut plan = attach(plan, in_order(below, window_pending), &self.columns);
        let mut missing = made;
        while !windows.is_empty() {
            let waits = |(_, window): &(ColumnId, WindowExpr)| {
                window.expressions().into_iter().any(|e| e.columns().iter().any(|id| missing.contains(id)))
            };
            let (later, ready): (Vec<_>, Vec<_>) = windows.into_iter().partition(waits);
            if ready.is_empty() {
                return Err(Error::internal("window functions that read each other"));
            }
            ready.iter().for_each(|(id, _)| {
                missing.remove(id);
            });
            plan = Plan::Window { input: Box::new(plan), windows: ready };
            windows = later;
        }
        let plan = attach(plan, std::mem::take(&mut clauses.qualify_pending), &self.columns);
        let plan = filter(plan, std::mem::take(&mut clauses.qualify));
        Ok(attach(plan, above, &self.columns))
    }
}

fn offset_of(bound: &FrameBound) -> Option<&Expr> {
    match bound {
        FrameBound::Preceding(expr) | FrameBound::Following(expr) => Some(expr),
        _ => None,
    }
}

/// `count_if(x)` as `count(CASE WHEN x THEN TRUE END)`.
fn count_if(name: &str, call: &FunctionCall) -> Option<FunctionCall> {
    let ("count_if" | "countif", [condition]) = (name, call.arguments.as_slice()) else { return None };
    let pos = condition.pos;
    let counted = ast::Expr { kind: ExprKind::Literal(ast::Literal::Boolean(true)), pos };
    let case =
        ExprKind::Case { operand: None, branches: vec![(condition.clone(), counted)], otherwise: None };
    Some(FunctionCall { arguments: vec![ast::Expr { kind: case, pos }], ..call.clone() })
}
