//! `COLLATE`: texts compare by what a function makes of them.
//!
//! A collation is a sequence of functions, as `NOCASE.NOACCENT`, or the order of a language, as `de` or `sv_SE`, or both;
//! it holds for the comparison, IN, BETWEEN, ORDER BY, PARTITION BY, GROUP BY, `min` or `max` that it is written in, and
//! wherever texts made of this one are compared, searched or made distinct, as in DuckDB. The same goes for a column that
//! has one, of a table or of a query. Intervals are grouped in the same way, by how long they are. Texts without one compare by the session's `default_collation`, but are searched as they are. What is written becomes a call of [`COLLATE`], which changes nothing and is gone once
//! everything is bound; what a collation has made of a text is marked in the same way, so that it is not done again.

use super::lambda::lambda_of;
use super::{Binder, Bound, Output};
use crate::parser::ast::{self, ExprKind, Pos};
use crate::plan::expr::COLLATE;
use crate::plan::{
    AggregateExpr, ColumnId, CompareOp, Expr, JoinKind, LambdaKind, Plan, SetOpKind, WindowExpr,
};
use inlay_catalog::near_names;
use inlay_functions::registry::resolve_aggregate;
use inlay_functions::{LOCALES, NO_ACCENTS, locale_of};
use inlay_kernels::apply::map;
use inlay_kernels::function::{NullHandling, ScalarFunction, Volatility};
use inlay_kernels::resolve::ArgType;
use inlay_types::{Error, Interval, LogicalType, Result, Value, Vector};
use std::sync::Arc;

/// The collation that knows ligatures, and the order of letters without accents.
const ICU_NO_ACCENTS: &str = "icu_noaccent";

/// Each name with the function that makes comparable texts.
const COLLATIONS: [(&str, Option<&str>); 9] = [
    ("nocase", Some("lower")),
    ("noaccent", Some("strip_accents")),
    (ICU_NO_ACCENTS, Some("strip_accents")),
    ("nfc", Some("nfc_normalize")),
    ("binary", None),
    ("posix", None),
    ("c", None),
    ("ucs_basic", None),
    ("default", None),
];

/// The collation of what a collation made of a text: it compares as it is.
const DONE: &str = "";

/// Functions and operators of a text that look for the second in the first.
const SEARCHES: [&str; 16] = [
    "~~",
    "~~*",
    "~~~",
    "like",
    "ilike",
    "like_escape",
    "ilike_escape",
    "contains",
    "strpos",
    "instr",
    "position",
    "starts_with",
    "^@",
    "ends_with",
    "prefix",
    "suffix",
];

/// Functions of a list of texts that look for the second argument in it.
const LIST_SEARCHES: [&str; 12] = [
    "contains",
    "list_contains",
    "list_has",
    "array_contains",
    "array_has",
    "list_position",
    "list_indexof",
    "array_position",
    "array_indexof",
    "list_has_element",
    "array_has_element",
    "has",
];

/// What a collation does to a text.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Step {
    Function(&'static str),
    /// The sort key in a language, always last: it is no text any more.
    Locale(String),
    /// How long an interval is: equal ones may be written otherwise, as a month and 30 days.
    Length,
}

/// A column that is grouped by what a collation makes of it.
pub(super) struct FirstText {
    column: ColumnId,
    key: ColumnId,
    first: ColumnId,
}

/// The steps of a collation, in the order in which they apply.
pub(super) type Collation = Option<Vec<Step>>;

/// `value` with the name of the collation that it compares by.
fn marked(value: Expr, name: &str) -> Expr {
    let kernel = |args: &[&Vector], _len: usize, out: &mut Vector| -> Result<()> {
        *out = args[0].clone();
        Ok(())
    };
    let function = ScalarFunction {
        name: COLLATE.into(),
        arg_types: vec![LogicalType::Varchar, LogicalType::Varchar],
        return_type: LogicalType::Varchar,
        null_handling: NullHandling::Special,
        volatility: Volatility::Immutable,
        can_fail: false,
        kernel: Arc::new(kernel),
        specialize: None,
        external: None,
    };
    let args = vec![unmarked(value), Expr::literal(Value::Varchar(name.to_string()))];
    Expr::Call { function: Arc::new(function), args, place: Default::default() }
}

fn unmarked(value: Expr) -> Expr {
    match value {
        Expr::Call { function, mut args, .. } if function.name == COLLATE && args.len() == 2 => {
            args.swap_remove(0)
        }
        other => other,
    }
}

/// What equal intervals have in common, as a number that is compared faster than they are.
fn length_of(interval: Expr) -> Expr {
    let kernel = |args: &[&Vector], len: usize, out: &mut Vector| -> Result<()> {
        map::<Interval, i128>(args[0], &LogicalType::HugeInt, len, out, Interval::order_key)
    };
    let function = ScalarFunction {
        name: "interval_length".into(),
        arg_types: vec![LogicalType::Interval],
        return_type: LogicalType::HugeInt,
        null_handling: NullHandling::Propagate,
        volatility: Volatility::Immutable,
        can_fail: false,
        kernel: Arc::new(kernel),
        specialize: None,
        external: None,
    };
    Expr::Call { function: Arc::new(function), args: vec![interval], place: Default::default() }
}

/// The mark of a call, if it is one.
fn mark_of(expr: &Expr) -> Option<Arc<str>> {
    let Expr::Call { function, args, .. } = expr else { return None };
    match (&*function.name, args.get(1)) {
        (COLLATE, Some(Expr::Literal { value: Value::Varchar(name), .. })) => Some(Arc::from(name.as_str())),
        _ => None,
    }
}

/// Fails unless a collation of this name exists.
pub fn check_collation(name: &str) -> Result<()> {
    steps_of(name).map(|_| ())
}

fn steps_of(name: &str) -> Result<Vec<Step>> {
    let mut steps = Vec::new();
    let mut locale = None;
    let plain = name.replace('"', "");
    for part in plain.split('.') {
        let part = part.trim().to_lowercase();
        if let Some((_, function)) = COLLATIONS.iter().find(|(known, _)| *known == part) {
            steps.extend(function.map(Step::Function));
            if part == ICU_NO_ACCENTS {
                locale = Some(NO_ACCENTS.to_string());
            }
            continue;
        }
        match locale_of(&part) {
            Some(found) if locale.is_none() => locale = Some(found),
            Some(_) => {
                return Err(Error::bind(format!("the collation {plain} names two languages: write one")));
            }
            None => return Err(unknown_collation(&part)),
        }
    }
    steps.extend(locale.map(Step::Locale));
    Ok(steps)
}

fn unknown_collation(part: &str) -> Error {
    let known = COLLATIONS.iter().map(|(known, _)| *known).chain(LOCALES.iter().copied());
    let near = near_names(part, known);
    let hint = near.first().map_or_else(
        || "there are NOCASE, NOACCENT, NFC, BINARY, C, POSIX and languages as de or de_AT".to_string(),
        |near| format!("did you mean {}?", if near.len() > 5 { near.to_uppercase() } else { near.clone() }),
    );
    Error::bind(format!("collation \"{part}\" does not exist")).with_hint(hint)
}

impl Binder<'_> {
    /// The steps of a collation by its name.
    pub(super) fn collation(&self, name: &str, pos: Pos) -> Result<Vec<Step>> {
        steps_of(name).map_err(|error| self.at(error, pos))
    }

    /// What texts without a collation of their own compare by: `default_collation`. What a table holds, such as a CHECK, means
    /// the same in all sessions.
    fn default_collation(&self, expr: &Expr) -> Option<&str> {
        self.context.default_collation.filter(|_| !self.is_stored && expr.ty() == LogicalType::Varchar)
    }

    /// What an expression is grouped and sorted by.
    pub(super) fn collated_expr(&mut self, expr: &ast::Expr) -> Result<Expr> {
        let collation = self.collation_of(&[expr])?;
        let bound = self.expr(expr)?;
        self.collated(bound, &collation, expr.pos)
    }

    /// The collation that one of several expressions is written with.
    pub(super) fn collation_of(&self, exprs: &[&ast::Expr]) -> Result<Collation> {
        let mut found: Collation = None;
        for expr in exprs {
            if let ExprKind::Collate { collation, .. } = &expr.kind {
                let own = self.collation(collation, expr.pos)?;
                if found.as_ref().is_some_and(|known| *known != own) {
                    let message = "two collations in one comparison: write the same one on both sides";
                    return Err(self.at(Error::bind(message), expr.pos));
                }
                found = Some(own);
            }
        }
        Ok(found)
    }

    /// A text with a written collation.
    pub(super) fn with_collation(&self, value: Expr, name: &str, pos: Pos) -> Result<Expr> {
        self.collation(name, pos)?;
        let is_text = value.ty() == LogicalType::Varchar;
        Ok(if is_text { marked(value, &name.replace('"', "")) } else { value })
    }

    /// The collation that a text has, because it is written behind it or from what it is made of.
    pub(super) fn implied_collation(&self, expr: &Expr) -> Option<Arc<str>> {
        self.collation_or_done(expr).filter(|name| **name != *DONE)
    }

    fn collation_or_done(&self, expr: &Expr) -> Option<Arc<str>> {
        if expr.ty() != LogicalType::Varchar {
            return None;
        }
        match expr {
            Expr::Column { id, .. } => self.columns.collation(*id).cloned(),
            Expr::Cast { input, .. } => self.collation_or_done(input),
            Expr::Call { .. } if mark_of(expr).is_some() => mark_of(expr),
            Expr::Call { .. } | Expr::Coalesce { .. } | Expr::Case { .. } => {
                expr.children().into_iter().find_map(|child| self.collation_or_done(child))
            }
            _ => None,
        }
    }

    /// The steps of a text's own collation, or of the session's default.
    pub(super) fn implied_steps(&self, expr: &Expr, pos: Pos) -> Result<Collation> {
        match self.collation_or_done(expr) {
            Some(done) if *done == *DONE => Ok(None),
            Some(own) => self.collation(&own, pos).map(Some),
            None => self.default_collation(expr).map(|name| self.collation(name, pos)).transpose(),
        }
    }

    /// What values are made distinct by. Intervals are compared by how long they are anyway; as keys of groups they are told
    /// apart by their parts.
    pub(super) fn distinct_steps(&self, expr: &Expr, pos: Pos) -> Result<Collation> {
        if expr.ty() == LogicalType::Interval {
            return Ok(Some(vec![Step::Length]));
        }
        self.implied_steps(expr, pos)
    }

    /// Whether the texts of a column compare otherwise than by their bytes.
    pub(super) fn is_collated(&self, column: ColumnId) -> bool {
        self.columns.ty(column) == LogicalType::Interval
            || self.columns.collation(column).is_some()
            || self.default_collation(&self.column(column)).is_some()
    }

    /// What texts are grouped and sorted by, whose columns may have collations.
    pub(super) fn by_collation(&self, expr: Expr) -> Expr {
        let steps = self.distinct_steps(&expr, Pos::default());
        let key = steps.and_then(|steps| self.collated(expr.clone(), &steps, Pos::default()));
        key.unwrap_or(expr)
    }

    /// Two texts as they are compared, one or both of which may have a collation.
    pub(super) fn collated_pair(&self, left: Expr, right: Expr, pos: Pos) -> Result<(Expr, Expr)> {
        let is_text = |expr: &Expr| matches!(expr.ty(), LogicalType::Varchar | LogicalType::Null);
        if !is_text(&left) || !is_text(&right) {
            return Ok((left, right));
        }
        let name = match (self.collation_or_done(&left), self.collation_or_done(&right)) {
            (None, None) => match self.default_collation(&left).or_else(|| self.default_collation(&right)) {
                Some(name) => Arc::from(name),
                None => return Ok((left, right)),
            },
            (Some(done), _) | (_, Some(done)) if *done == *DONE => return Ok((left, right)),
            (Some(left), Some(right)) if !left.eq_ignore_ascii_case(&right) => {
                let message = format!(
                    "a text with the collation {left} is compared with one of {right}: say COLLATE on both sides"
                );
                return Err(self.at(Error::bind(message), pos));
            }
            (Some(name), _) | (None, Some(name)) => name,
        };
        let steps = Some(self.collation(&name, pos)?);
        Ok((self.collated(left, &steps, pos)?, self.collated(right, &steps, pos)?))
    }

    /// Groups by what collations make of the keys; the columns of the keys become the first of each group's.
    pub(super) fn collated_groups(
        &mut self,
        groups: Vec<(ColumnId, Expr)>,
        aggregates: &mut Vec<(ColumnId, AggregateExpr)>,
    ) -> Result<Vec<(ColumnId, Expr)>> {
        let mut collated = Vec::with_capacity(groups.len());
        for (id, expr) in groups {
            let key = self.by_collation(expr.clone());
            if key == expr {
                collated.push((id, expr));
                continue;
            }
            aggregates.push((id, self.first_of(expr)?));
            collated.push((self.columns.add("collation_key", key.ty()), key));
        }
        Ok(collated)
    }

    /// Gives the first texts of groups, which have the ids of `written`, ids of their own.
    pub(super) fn first_texts(
        &mut self,
        written: &[ColumnId],
        keys: &[(ColumnId, Expr)],
        aggregates: &mut [(ColumnId, AggregateExpr)],
    ) -> Vec<FirstText> {
        let mut texts = Vec::new();
        for (&column, (key, _)) in written.iter().zip(keys) {
            if let Some((id, _)) = aggregates.iter_mut().find(|(id, _)| *id == column && column != *key) {
                *id = self.columns.copy_of(column);
                texts.push(FirstText { column, key: *key, first: *id });
            }
        }
        texts
    }

    /// Behind grouping sets: the first text of a group; NULL, as its key is, in sets that do not group by it.
    pub(super) fn with_first_texts(&self, plan: Plan, texts: &[FirstText]) -> Plan {
        if texts.is_empty() {
            return plan;
        }
        let is_part = |id: &ColumnId| texts.iter().any(|text| text.first == *id || text.key == *id);
        let others = plan.output().into_iter().filter(|id| !is_part(id)).map(|id| (id, self.column(id)));
        let mut items: Vec<(ColumnId, Expr)> = others.collect();
        items.extend(texts.iter().map(|text| {
            let ty = self.columns.ty(text.column);
            let is_null = Expr::IsNull(Box::new(self.column(text.key)));
            let branches = vec![(is_null, Expr::Literal { value: Value::Null, ty: ty.clone() })];
            (text.column, Expr::Case { branches, otherwise: Box::new(self.column(text.first)), ty })
        }));
        plan.project(items)
    }

    /// What `value` is compared by.
    pub(super) fn collated(&self, value: Expr, collation: &Collation, pos: Pos) -> Result<Expr> {
        let Some(steps) = collation else { return Ok(value) };
        if !matches!(value.ty(), LogicalType::Varchar | LogicalType::Interval) {
            return Ok(value);
        }
        let key = steps.iter().try_fold(unmarked(value), |value, step| match step {
            // Done twice they do the same.
            Step::Function(name) if matches!(&value, Expr::Call { function, .. } if function.name == *name) => {
                Ok(value)
            }
            Step::Function(function) => self.call(function, vec![value], pos),
            Step::Locale(locale) => {
                let locale = Expr::literal(Value::Varchar(locale.clone()));
                self.call("collation_key", vec![value, locale], pos)
            }
            Step::Length => Ok(length_of(value)),
        })?;
        Ok(if key.ty() == LogicalType::Varchar { marked(key, DONE) } else { key })
    }

    /// The arguments of a call that looks for a text in another, or in a list, as the collation of either wants them. Sort
    /// keys of a language have no parts to look for.
    pub(super) fn searched(&mut self, name: &str, mut args: Vec<Expr>, pos: Pos) -> Result<Vec<Expr>> {
        let [first, second, ..] = args.as_slice() else { return Ok(args) };
        let is_in_text = SEARCHES.contains(&name) && first.ty() == LogicalType::Varchar;
        let is_in_list = LIST_SEARCHES.contains(&name)
            && matches!(first.ty(), LogicalType::List(element) if *element == LogicalType::Varchar);
        if !is_in_text && !is_in_list {
            return Ok(args);
        }
        // The texts of a list that is written out are its parts.
        let own = if is_in_list {
            first.children().into_iter().find_map(|child| self.implied_collation(child))
        } else {
            self.implied_collation(first)
        };
        let names = [own, self.implied_collation(second)];
        if let [Some(first), Some(second)] = &names
            && !first.eq_ignore_ascii_case(second)
        {
            let message =
                format!("{name} of texts with the collations {first} and {second}: say COLLATE on both");
            return Err(self.at(Error::bind(message), pos));
        }
        let Some(found) = names.into_iter().flatten().next() else { return Ok(args) };
        let mut steps = self.collation(&found, pos)?;
        steps.retain(|step| matches!(step, Step::Function(_)));
        let steps = Some(steps);
        for (index, arg) in args.iter_mut().enumerate().take(2) {
            let value = std::mem::replace(arg, Expr::boolean(false));
            *arg = if index == 0 && is_in_list {
                self.collated_elements(value, &steps, pos)?
            } else {
                self.collated(value, &steps, pos)?
            };
        }
        Ok(args)
    }

    /// A list of what its texts are compared by.
    fn collated_elements(&mut self, list: Expr, steps: &Collation, pos: Pos) -> Result<Expr> {
        let id = self.lambda_column(0, LogicalType::Varchar, "element");
        let body = self.collated(self.column(id), steps, pos)?;
        let ty = list.ty();
        Ok(lambda_of(LambdaKind::Transform, vec![list], false, vec![id], body, ty))
    }

    /// INTERSECT and EXCEPT where collations say which rows are equal: left rows that have a partner on the right, or
    /// none. With ALL each partner counts once: equal rows are numbered on both sides.
    pub(super) fn collated_set_operation(
        &mut self,
        kind: SetOpKind,
        all: bool,
        sides: [(Plan, Vec<ColumnId>); 2],
        output: Vec<Output>,
    ) -> Result<Bound> {
        let [(mut left, mut left_columns), (mut right, right_columns)] = sides;
        let pos = Pos::default();
        let mut steps = Vec::with_capacity(output.len());
        for column in &output {
            steps.push(self.distinct_steps(&self.column(column.id), pos)?);
        }
        let mut conditions = Vec::new();
        if all {
            let mut numbers = Vec::new();
            for (plan, columns) in [(&mut left, &left_columns), (&mut right, &right_columns)] {
                let id = self.columns.add("row_number", LogicalType::BigInt);
                let mut window = WindowExpr::row_number()?;
                for (column, steps) in columns.iter().zip(&steps) {
                    window.partition.push(self.collated(self.column(*column), steps, pos)?);
                }
                let input = Box::new(std::mem::replace(plan, Plan::single_row()));
                *plan = Plan::Window { input, windows: vec![(id, window)] };
                numbers.push(self.column(id));
            }
            if let (Some(right), Some(left)) = (numbers.pop(), numbers.pop()) {
                conditions.push(Expr::compare(CompareOp::Eq, left, right));
            }
        } else {
            let made: Vec<ColumnId> = left_columns.iter().map(|id| self.columns.copy_of(*id)).collect();
            for (id, column) in made.iter().zip(&output) {
                self.columns.collate(*id, self.columns.collation(column.id).cloned());
            }
            let mut groups = Vec::with_capacity(made.len());
            let mut aggregates = Vec::new();
            for ((id, column), steps) in made.iter().zip(&left_columns).zip(&steps) {
                let read = self.column(*column);
                let key = self.collated(read.clone(), steps, pos)?;
                groups.push((*id, if steps.is_some() { key } else { read }));
            }
            for ((group, column), steps) in groups.iter_mut().zip(&left_columns).zip(&steps) {
                if steps.is_some() {
                    let first = self.first_of(self.column(*column))?;
                    aggregates.push((group.0, first));
                    group.0 = self.columns.add("collation_key", group.1.ty());
                }
            }
            left = Plan::Aggregate { input: Box::new(left), groups, aggregates };
            left_columns = made;
        }
        for ((left, right), steps) in left_columns.iter().zip(&right_columns).zip(&steps) {
            let left = self.collated(self.column(*left), steps, pos)?;
            let right = self.collated(self.column(*right), steps, pos)?;
            conditions.push(Expr::compare(CompareOp::NotDistinct, left, right));
        }
        let kind = if kind == SetOpKind::Except { JoinKind::Anti } else { JoinKind::Semi };
        let items = output.iter().zip(&left_columns).map(|(made, read)| (made.id, self.column(*read)));
        let items = items.collect();
        Ok(Bound { plan: Plan::join(kind, left, right, conditions).project(items), output })
    }

    fn first_of(&self, value: Expr) -> Result<AggregateExpr> {
        let function = Arc::new(resolve_aggregate("first", &[ArgType::of(value.ty())])?);
        Ok(AggregateExpr { function, args: vec![value], distinct: false, filter: None, order_by: Vec::new() })
    }
}
