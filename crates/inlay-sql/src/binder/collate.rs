//! `COLLATE`: texts compare by what a function makes of them.
//!
//! A collation is a sequence of functions, as `NOCASE.NOACCENT`, or the order of a language, as `de` or `sv_SE`, or both;
//! it holds for the comparison, IN, BETWEEN, ORDER BY, PARTITION BY, GROUP BY, `min` or `max` that it is written in.

use super::Binder;
use crate::parser::ast::{self, ExprKind, Pos};
use crate::plan::Expr;
use inlay_catalog::near_names;
use inlay_kernels::{LOCALES, locale_of};
use inlay_types::{Error, LogicalType, Result, Value};

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
