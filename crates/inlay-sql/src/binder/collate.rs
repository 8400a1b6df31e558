//! `COLLATE`: texts compare by what a function makes of them.
//!
//! A collation is a sequence of functions, as `NOCASE.NOACCENT`; it holds for the comparison, IN, BETWEEN or ORDER BY
//! that it is written in.

use super::Binder;
use crate::parser::ast::{self, ExprKind, Pos};
use crate::plan::Expr;
use inlay_catalog::near_names;
use inlay_types::{Error, LogicalType, Result};

/// Each name with the function that makes comparable texts.
const COLLATIONS: [(&str, Option<&str>); 8] = [
    ("nocase", Some("lower")),
    ("noaccent", Some("strip_accents")),
    ("nfc", Some("nfc_normalize")),
    ("binary", None),
    ("posix", None),
    ("c", None),
    ("ucs_basic", None),
    ("default", None),
];

/// The functions of a collation, in the order in which they apply.
pub(super) type Collation = Option<Vec<&'static str>>;

impl Binder<'_> {
    /// The functions of a collation by its name.
    pub(super) fn collation(&self, name: &str, pos: Pos) -> Result<Vec<&'static str>> {
        let mut functions = Vec::new();
        for part in name.split('.') {
            let part = part.trim_matches('"').to_lowercase();
            match COLLATIONS.iter().find(|(known, _)| *known == part) {
                Some((_, function)) => functions.extend(*function),
                None => {
                    let near = near_names(&part, COLLATIONS.iter().map(|(known, _)| *known));
                    let hint = near.first().map_or_else(
                        || "there are NOCASE, NOACCENT, NFC, BINARY, C and POSIX".to_string(),
                        |near| format!("did you mean {}?", near.to_uppercase()),
                    );
                    let message = format!("collation \"{part}\" does not exist; {hint}");
                    return Err(self.at(Error::bind(message), pos));
                }
            }
        }
        Ok(functions)
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
        let Some(functions) = collation else { return Ok(value) };
        if !matches!(value.ty(), LogicalType::Varchar) {
            return Ok(value);
        }
        functions.iter().try_fold(value, |value, function| self.call(function, vec![value], pos))
    }
}
