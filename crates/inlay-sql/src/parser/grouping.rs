//! GROUP BY: grouping sets multiplied out, as SQL:1999 says. And WITHIN GROUP, as the calls it stands for.
//!
//! `ROLLUP(a, b)` is `GROUPING SETS ((a, b), (a), ())`, `CUBE` all subsets; sets inside of sets are put in place, and
//! items beside each other are combined each with each.

use super::ast::{Expr, FunctionCall, GroupBy, Pos};
use super::convert::{Context, unsupported};
use super::expr::start_of;
use inlay_types::{Error, Result};
use sqlparser::ast;

/// Most grouping sets of a query; `CUBE` of ten columns has as many.
const SETS_MAX: usize = 1024;

/// Lists of positions among the items.
type Sets = Vec<Vec<usize>>;

impl Context<'_, '_> {
    pub(super) fn group_by(&self, group_by: ast::GroupByExpr, pos: Pos) -> Result<GroupBy> {
        let exprs = match group_by {
            ast::GroupByExpr::All(modifiers) if modifiers.is_empty() => return Ok(GroupBy::All),
            ast::GroupByExpr::Expressions(exprs, modifiers) if modifiers.is_empty() => exprs,
            _ => return Err(self.at(unsupported("GROUP BY ... WITH ROLLUP, CUBE or TOTALS"), pos)),
        };
        let has_sets = exprs.iter().any(|expr| match expr {
            ast::Expr::Tuple(parts) => parts.is_empty(),
            other => is_set(other),
        });
        let mut items = Vec::with_capacity(exprs.len());
        if !has_sets {
            for expr in exprs {
                match expr {
                    ast::Expr::Tuple(parts) => items.extend(self.exprs(parts)?),
                    other => items.push(self.expr(other)?),
                }
            }
            return Ok(GroupBy::Items(items));
        }
        let mut sets: Sets = vec![Vec::new()];
        for expr in exprs {
            let pos = start_of(&expr);
            let more = self.sets_of(expr, &mut items)?;
            self.check_count(sets.len().saturating_mul(more.len()), pos)?;
            let join = |set: &Vec<usize>| {
                let set = set.clone();
                more.iter().map(move |other| set.iter().chain(other).copied().collect())
            };
            sets = sets.iter().flat_map(join).collect();
        }
        Ok(GroupBy::Sets { items, sets })
    }

    fn check_count(&self, count: usize, pos: Pos) -> Result<()> {
        if count <= SETS_MAX {
            return Ok(());
        }
        let message = format!("GROUP BY has more than {SETS_MAX} grouping sets: list fewer in GROUPING SETS");
        Err(self.at(Error::bind(message), pos))
    }

    /// The sets that an item of GROUP BY stands for.
    fn sets_of(&self, expr: ast::Expr, items: &mut Vec<Expr>) -> Result<Sets> {
        let pos = start_of(&expr);
        match expr {
            ast::Expr::Tuple(parts) => Ok(vec![self.set(parts, items)?]),
            ast::Expr::Rollup(parts) => {
                let parts = parts.into_iter().map(|part| self.set(part, items)).collect::<Result<_>>()?;
                self.rollup(parts, pos)
            }
            ast::Expr::Cube(parts) => {
                let parts = parts.into_iter().map(|part| self.set(part, items)).collect::<Result<_>>()?;
                self.cube(parts, pos)
            }
            ast::Expr::GroupingSets(elements) => {
                let mut sets = Vec::with_capacity(elements.len());
                for mut element in elements {
                    let more = match element.pop() {
                        Some(only) if element.is_empty() => self.deeper(|| self.sets_of(only, items))?,
                        Some(last) => {
                            element.push(last);
                            vec![self.set(element, items)?]
                        }
                        None => vec![Vec::new()],
                    };
                    self.check_count(sets.len() + more.len(), pos)?;
                    sets.extend(more);
                }
                Ok(sets)
            }
            // Inside of other sets the crate reads them as calls.
            ast::Expr::Function(function) if called_set(&function).is_some() => {
                let is_rollup = called_set(&function) == Some("rollup");
                let ast::FunctionArguments::List(list) = function.args else {
                    return Err(self.at(unsupported("this form of ROLLUP or CUBE"), pos));
                };
                let mut parts = Vec::with_capacity(list.args.len());
                for argument in list.args {
                    match argument {
                        ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(ast::Expr::Tuple(part))) => {
                            parts.push(self.set(part, items)?);
                        }
                        ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(part)) => {
                            parts.push(self.set(vec![part], items)?);
                        }
                        _ => return Err(self.at(unsupported("this form of ROLLUP or CUBE"), pos)),
                    }
                }
                if is_rollup { self.rollup(parts, pos) } else { self.cube(parts, pos) }
            }
            other => Ok(vec![self.set(vec![other], items)?]),
        }
    }

    /// `percentile_cont(f) WITHIN GROUP (ORDER BY x)` is `percentile_cont(x, f ORDER BY x)`, and `mode()` is `mode(x ORDER BY x)`.
    pub(super) fn within_group(&self, call: &mut FunctionCall, items: Vec<ast::OrderByExpr>) -> Result<()> {
        let pos = call.name.pos;
        let refuse = |message: String| Err(self.at(Error::bind(message), pos));
        let mut keys = self.order_items(items)?;
        let name = call.name.value.to_lowercase();
        let quantile = match name.as_str() {
            "percentile_cont" | "quantile_cont" => Some("percentile_cont"),
            "percentile_disc" | "quantile_disc" => Some("percentile_disc"),
            "mode" => None,
            // Of these the order is that of their rows.
            "string_agg" | "group_concat" | "listagg" | "array_agg" | "list" if call.order_by.is_empty() => {
                call.order_by = keys;
                return Ok(());
            }
            _ => {
                return refuse(format!(
                    "{name} does not go with WITHIN GROUP; percentile_cont, percentile_disc and mode do"
                ));
            }
        };
        let (Some(key), true) = (keys.pop(), keys.is_empty() && call.order_by.is_empty()) else {
            return refuse(format!("{name} WITHIN GROUP takes one key"));
        };
        let Some(quantile) = quantile else {
            if !call.arguments.is_empty() {
                return refuse("mode() WITHIN GROUP has no argument".to_string());
            }
            call.arguments.push(key.expr.clone());
            call.order_by.push(key);
            return Ok(());
        };
        let (Some(fraction), true) = (call.arguments.pop(), call.arguments.is_empty()) else {
            return refuse(format!("{name} WITHIN GROUP has one argument, the fraction"));
        };
        call.name.value = quantile.to_string();
        call.arguments = vec![key.expr.clone(), fraction];
        call.order_by.push(key);
        Ok(())
    }

    fn set(&self, exprs: Vec<ast::Expr>, items: &mut Vec<Expr>) -> Result<Vec<usize>> {
        let from = items.len();
        items.extend(self.exprs(exprs)?);
        Ok((from..items.len()).collect())
    }

    fn rollup(&self, parts: Sets, pos: Pos) -> Result<Sets> {
        self.check_count(parts.len() + 1, pos)?;
        Ok((0..=parts.len()).rev().map(|count| parts[..count].concat()).collect())
    }

    fn cube(&self, parts: Sets, pos: Pos) -> Result<Sets> {
        self.check_count(1usize.checked_shl(parts.len() as u32).unwrap_or(usize::MAX), pos)?;
        let subset = |bits: usize| {
            let chosen =
                parts.iter().enumerate().filter(|(index, _)| bits >> (parts.len() - 1 - index) & 1 == 1);
            chosen.flat_map(|(_, part)| part).copied().collect()
        };
        Ok((0..1usize << parts.len()).rev().map(subset).collect())
    }
}

fn is_set(expr: &ast::Expr) -> bool {
    match expr {
        ast::Expr::Rollup(_) | ast::Expr::Cube(_) | ast::Expr::GroupingSets(_) => true,
        ast::Expr::Function(function) => called_set(function).is_some(),
        _ => false,
    }
}

/// `rollup` or `cube`, if that is what is called.
fn called_set(function: &ast::Function) -> Option<&'static str> {
    let name = function.name.to_string();
    ["rollup", "cube"].into_iter().find(|known| name.eq_ignore_ascii_case(known))
}
