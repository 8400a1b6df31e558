//! `COLLATE`: texts compare by what a function makes of them.
//!
//! A collation is a sequence of functions, as `NOCASE.NOACCENT`, or the order of a language, as `de` or `sv_SE`, or both;
//! it holds for the comparison, IN, BETWEEN, ORDER BY, PARTITION BY, GROUP BY, `min` or `max` that it is written in.
//! A column of a table may have one; then it holds wherever texts made of the column's are compared, as in DuckDB.

use super::Binder;
use crate::parser::ast::{self, ExprKind, Pos};
use crate::plan::{AggregateExpr, ColumnId, Expr, Plan};
use inlay_catalog::near_names;
use inlay_functions::registry::resolve_aggregate;
use inlay_functions::{LOCALES, locale_of};
use inlay_kernels::resolve::ArgType;
use inlay_types::{Error, LogicalType, Result, Value};
use std::sync::Arc;

/// Each name with the function that makes comparable texts.
const COLLATIONS: [(&str, Option<&str>); 9] = [
    ("nocase", Some("lower")),
    ("noaccent", Some("strip_accents")),
    ("icu_noaccent", Some("strip_accents")),
    ("nfc", Some("nfc_normalize")),
    ("binary", None),
    ("posix", None),
    ("c", None),
    ("ucs_basic", None),
    ("default", None),
];

/// What a collation does to a text.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Step {
    Function(&'static str),
    /// The sort key in a language, always last: it is no text any more.
    Locale(String),
}

/// A column that is grouped by what a collation makes of it.
pub(super) struct FirstText {
    column: ColumnId,
    key: ColumnId,
    first: ColumnId,
}

/// The steps of a collation, in the order in which they apply.
pub(super) type Collation = Option<Vec<Step>>;

impl Binder<'_> {
    /// The steps of a collation by its name.
    pub(super) fn collation(&self, name: &str, pos: Pos) -> Result<Vec<Step>> {
        let mut steps = Vec::new();
        let mut locale = None;
        let plain = name.replace('"', "");
        for part in plain.split('.') {
            let part = part.trim().to_lowercase();
            if let Some((_, function)) = COLLATIONS.iter().find(|(known, _)| *known == part) {
                steps.extend(function.map(Step::Function));
                continue;
            }
            match locale_of(&part) {
                Some(found) if locale.is_none() => locale = Some(found),
                Some(_) => {
                    let message = format!("the collation {plain} names two languages: write one");
                    return Err(self.at(Error::bind(message), pos));
                }
                None => return Err(self.at(self.unknown_collation(&part), pos)),
            }
        }
        steps.extend(locale.map(Step::Locale));
        Ok(steps)
    }

    fn unknown_collation(&self, part: &str) -> Error {
        let known = COLLATIONS.iter().map(|(known, _)| *known).chain(LOCALES.iter().copied());
        let near = near_names(part, known);
        let hint = near.first().map_or_else(
            || "there are NOCASE, NOACCENT, NFC, BINARY, C, POSIX and languages as de or de_AT".to_string(),
            |near| {
                format!("did you mean {}?", if near.len() > 5 { near.to_uppercase() } else { near.clone() })
            },
        );
        Error::bind(format!("collation \"{part}\" does not exist; {hint}"))
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

    /// The collation that a text has from the columns that it is made of.
    pub(super) fn implied_collation(&self, expr: &Expr) -> Option<Arc<str>> {
        if expr.ty() != LogicalType::Varchar {
            return None;
        }
        match expr {
            Expr::Column { id, .. } => self.columns.collation(*id).cloned(),
            Expr::Cast { input, .. } => self.implied_collation(input),
            // What a collation makes of a text has none any more.
            Expr::Call { function, .. }
                if COLLATIONS.iter().any(|(_, known)| *known == Some(&*function.name)) =>
            {
                None
            }
            Expr::Call { .. } | Expr::Coalesce { .. } | Expr::Case { .. } => {
                expr.children().into_iter().find_map(|child| self.implied_collation(child))
            }
            _ => None,
        }
    }

    /// As [`Binder::implied_collation`], its steps.
    pub(super) fn implied_steps(&self, expr: &Expr, pos: Pos) -> Result<Collation> {
        self.implied_collation(expr).map(|name| self.collation(&name, pos)).transpose()
    }

    /// What texts are grouped and sorted by, whose columns may have collations.
    pub(super) fn by_collation(&self, expr: Expr) -> Expr {
        let steps = self.implied_steps(&expr, Pos::default());
        let key = steps.and_then(|steps| self.collated(expr.clone(), &steps, Pos::default()));
        key.unwrap_or(expr)
    }

    /// Two texts as they are compared, one or both of which may have a collation.
    pub(super) fn collated_pair(&self, left: Expr, right: Expr, pos: Pos) -> Result<(Expr, Expr)> {
        let is_text = |expr: &Expr| matches!(expr.ty(), LogicalType::Varchar | LogicalType::Null);
        if !is_text(&left) || !is_text(&right) {
            return Ok((left, right));
        }
        let name = match (self.implied_collation(&left), self.implied_collation(&right)) {
            (None, None) => return Ok((left, right)),
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
            let function = Arc::new(resolve_aggregate("first", &[ArgType::of(expr.ty())])?);
            let args = vec![expr];
            let first = AggregateExpr { function, args, distinct: false, filter: None, order_by: Vec::new() };
            aggregates.push((id, first));
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
        if !matches!(value.ty(), LogicalType::Varchar) {
            return Ok(value);
        }
        steps.iter().try_fold(value, |value, step| match step {
            Step::Function(function) => self.call(function, vec![value], pos),
            Step::Locale(locale) => {
                let locale = Expr::literal(Value::Varchar(locale.clone()));
                self.call("collation_key", vec![value, locale], pos)
            }
        })
    }
}
