//! Lambdas: `list_transform(l, x -> x + 1)`, `list_filter`, `list_reduce`.
//!
//! Parameters are columns that no plan makes. Their ids depend on the depth of the lambda, their position and type only, so
//! that lambdas written alike are equal, as GROUP BY needs.

use super::Binder;
use super::nested::fields_behind;
use crate::parser::ast::{self, ExprKind, FunctionCall, Ident, Pos};
use crate::plan::{ColumnId, Expr, Lambda, LambdaKind};
use inlay_kernels::common_type;
use inlay_types::{Error, LogicalType, Result};

/// The type of the position of an element.
const POSITION: LogicalType = LogicalType::BigInt;

/// The parameters of a lambda whose body is being bound.
pub(super) struct LambdaFrame {
    parameters: Vec<(String, ColumnId)>,
    /// The macro in whose body or arguments it stands: others do not see the parameters.
    macro_frame: Option<usize>,
}

impl LambdaFrame {
    /// Whether one of the columns is a parameter.
    pub(super) fn has_any(&self, columns: &[ColumnId]) -> bool {
        self.parameters.iter().any(|(_, id)| columns.contains(id))
    }
}

/// A call taken apart.
struct Parts<'a> {
    kind: LambdaKind,
    names: &'a [Ident],
    body: &'a ast::Expr,
    pos: Pos,
}

fn kind_of(name: &str) -> Option<LambdaKind> {
    let base = name.strip_prefix("list_").or_else(|| name.strip_prefix("array_")).unwrap_or(name);
    Some(match base {
        "transform" | "apply" => LambdaKind::Transform,
        "filter" => LambdaKind::Filter,
        "reduce" => LambdaKind::Reduce,
        _ => return None,
    })
}

impl Binder<'_> {
    /// The value of a call whose function takes a lambda.
    pub(super) fn lambda_call(&mut self, name: &str, call: &FunctionCall, pos: Pos) -> Result<Option<Expr>> {
        let Some(kind) = kind_of(name) else { return Ok(None) };
        let wrong = |binder: &Self| {
            let example = if kind == LambdaKind::Reduce { "(a, b) -> a + b" } else { "x -> x > 0" };
            let message = format!("{name} takes a list and a lambda: {name}(list, {example})");
            binder.at(Error::bind(message), pos)
        };
        let (list, lambda, initial) = match call.arguments.as_slice() {
            [list, lambda] => (list, lambda, None),
            [list, lambda, initial] if kind == LambdaKind::Reduce => (list, lambda, Some(initial)),
            _ => return Err(wrong(self)),
        };
        let ExprKind::Lambda { params, body } = &lambda.kind else { return Err(wrong(self)) };
        let fixed = if kind == LambdaKind::Reduce { 2 } else { 1 };
        if params.len() < fixed || params.len() > fixed + 1 {
            let message = format!("the lambda of {name} has {fixed} or {} parameters", fixed + 1);
            return Err(self.at(Error::bind(message), lambda.pos));
        }
        let bound = self.expr(list)?;
        let bound = match bound.ty() {
            LogicalType::List(_) => bound,
            LogicalType::Array(element, _) => self.cast_to(bound, LogicalType::List(element), list.pos)?,
            LogicalType::Null => self.cast_to(bound, LogicalType::list(LogicalType::Null), list.pos)?,
            other => {
                let message = format!("{name} needs a list, this is of type {other}");
                return Err(self.at(Error::type_mismatch(message), list.pos));
            }
        };
        let parts = Parts { kind, names: params, body, pos };
        match kind {
            LambdaKind::Reduce => self.reduction(parts, bound, initial).map(Some),
            _ => self.mapping(parts, bound).map(Some),
        }
    }

    fn mapping(&mut self, parts: Parts<'_>, list: Expr) -> Result<Expr> {
        let element = element_of(&list.ty());
        let types = [element, POSITION];
        let (parameters, body) = self.lambda_body(&parts, &types)?;
        let (ty, body) = match parts.kind {
            LambdaKind::Filter => {
                (list.ty(), self.boolean(body, parts.body.pos, "the lambda of list_filter")?)
            }
            _ => (LogicalType::list(body.ty()), body),
        };
        ty.check_depth()?;
        Ok(lambda_of(parts.kind, vec![list], false, parameters, body, ty))
    }

    /// The value so far has the type in which the first value, which is an element if none is given, and the body's values
    /// meet.
    fn reduction(&mut self, parts: Parts<'_>, list: Expr, initial: Option<&ast::Expr>) -> Result<Expr> {
        let element = element_of(&list.ty());
        let initial = initial.map(|initial| Ok((self.expr(initial)?, initial.pos))).transpose()?;
        let mut ty = match &initial {
            None => element.clone(),
            Some((value, _)) => value.ty(),
        };
        // Each round widens; a body that widens each time what it is given ends as an error. Sums of decimals do, and need no
        // more digits than the first one has.
        for round in 0..4 {
            let types = [ty.clone(), element.clone(), POSITION];
            let (parameters, body) = self.lambda_body(&parts, &types)?;
            let met = self.meeting(&ty, &body.ty(), parts.body.pos)?;
            let is_sum = round > 0 && met.is_decimal() && ty.is_decimal();
            if met != ty && !is_sum {
                ty = met;
                continue;
            }
            let body = self.cast_to(body, ty.clone(), parts.body.pos)?;
            let mut args = vec![list];
            let has_initial = initial.is_some();
            if let Some((value, pos)) = initial {
                args.push(self.cast_to(value, ty.clone(), pos)?);
            }
            return Ok(lambda_of(LambdaKind::Reduce, args, has_initial, parameters, body, ty));
        }
        let message =
            "the values of the lambda of list_reduce have no common type with the elements: cast them";
        Err(self.at(Error::type_mismatch(message), parts.pos))
    }

    fn meeting(&self, left: &LogicalType, right: &LogicalType, pos: Pos) -> Result<LogicalType> {
        common_type(left, right).ok_or_else(|| {
            let message = format!("list_reduce over {left} gives {right}: cast one of them");
            self.at(Error::type_mismatch(message), pos)
        })
    }

    /// The ids of the parameters, and the body bound with them.
    fn lambda_body(&mut self, parts: &Parts<'_>, types: &[LogicalType]) -> Result<(Vec<ColumnId>, Expr)> {
        let mut parameters: Vec<(String, ColumnId)> = Vec::new();
        for (index, (name, ty)) in parts.names.iter().zip(types).enumerate() {
            if parameters.iter().any(|(known, _)| known.eq_ignore_ascii_case(&name.value)) {
                let message = format!("the parameter \"{}\" of the lambda occurs twice", name.value);
                return Err(self.at(Error::bind(message), name.pos));
            }
            let id = self.lambda_column(index, ty.clone(), &name.value);
            parameters.push((name.value.clone(), id));
        }
        let ids = parameters.iter().map(|(_, id)| *id).collect();
        self.lambdas.push(LambdaFrame { parameters, macro_frame: self.macros.active() });
        let body = self.expr(parts.body);
        self.lambdas.pop();
        Ok((ids, body?))
    }

    /// A parameter of a lambda that is bound next.
    pub(super) fn lambda_column(&mut self, index: usize, ty: LogicalType, name: &str) -> ColumnId {
        let key = (self.lambdas.len(), index, ty.clone());
        if let Some(id) = self.lambda_columns.get(&key) {
            return *id;
        }
        let id = self.columns.add(name, ty);
        self.lambda_columns.insert(key, id);
        id
    }

    /// The parameter of a lambda around that a name means, or a field of it.
    pub(super) fn lambda_parameter(&mut self, parts: &[Ident]) -> Result<Option<Expr>> {
        let Some((name, fields)) = parts.split_first() else { return Ok(None) };
        let active = self.macros.active();
        let frames = self.lambdas.iter().rev().filter(|frame| frame.macro_frame == active);
        let mut all = frames.flat_map(|frame| &frame.parameters);
        let found = all.find(|(known, _)| known.eq_ignore_ascii_case(&name.value)).map(|(_, id)| *id);
        match found {
            None => Ok(None),
            Some(id) => fields_behind(self, self.columns.expr(id), fields).map(Some),
        }
    }

    /// Binds what cannot read the parameters of a lambda around it: a subquery, an aggregate.
    pub(super) fn outside_of_lambdas<T>(&mut self, inner: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let lambdas = std::mem::take(&mut self.lambdas);
        let result = inner(self);
        self.lambdas = lambdas;
        result
    }
}

fn element_of(list: &LogicalType) -> LogicalType {
    match list {
        LogicalType::List(element) => (**element).clone(),
        _ => LogicalType::Null,
    }
}

pub(super) fn lambda_of(
    kind: LambdaKind,
    mut args: Vec<Expr>,
    has_initial: bool,
    parameters: Vec<ColumnId>,
    body: Expr,
    ty: LogicalType,
) -> Expr {
    let mut captured = Vec::new();
    captured_by(&body, &parameters, &mut captured);
    let ids = captured.iter().map(|(id, _)| *id).collect();
    args.extend(captured.into_iter().map(|(id, ty)| Expr::Column { id, ty }));
    Expr::Lambda(Box::new(Lambda { kind, args, has_initial, parameters, captured: ids, body, ty }))
}

/// The columns that an expression reads besides the parameters, each once.
fn captured_by(expr: &Expr, parameters: &[ColumnId], out: &mut Vec<(ColumnId, LogicalType)>) {
    if let Expr::Column { id, ty } = expr
        && !parameters.contains(id)
        && !out.iter().any(|(known, _)| known == id)
    {
        out.push((*id, ty.clone()));
    }
    expr.children().into_iter().for_each(|child| captured_by(child, parameters, out));
}
