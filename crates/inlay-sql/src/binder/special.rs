//! Special forms: calls that no function of values can answer, because they choose what is computed, or ask the binder, the
//! session or the catalog.

use super::Binder;
use super::coerce::concrete;
use super::constants::expanded;
use crate::parser::ast::{self, ExprKind, FunctionCall, Literal, Pos};
use crate::plan::{CompareOp, Expr};
use inlay_functions::manual::signatures_of_form;
use inlay_types::{Error, LogicalType, Result, Value};
use std::ops::RangeInclusive;

/// Whether an expression is written as a list.
fn is_list(written: &ast::Expr) -> bool {
    matches!(&written.kind, ExprKind::Function(call) if call.name.value == "list_value")
}

impl Binder<'_> {
    /// The value of a call by its name, if that is one of a special form.
    pub(super) fn special_form(&mut self, name: &str, call: &FunctionCall, pos: Pos) -> Result<Option<Expr>> {
        let arguments = call.arguments.as_slice();
        Ok(Some(match name {
            "coalesce" => self.first_known(name, arguments, 1..=usize::MAX, pos)?,
            "ifnull" | "nvl" => self.first_known(name, arguments, 2..=2, pos)?,
            "nullif" => {
                let [left, right] = self.taken(name, arguments, pos)?;
                let (left, right) = (self.expr(left)?, self.expr(right)?);
                self.once(vec![left, right], |binder, values| {
                    let [left, right] = super::expr::taken(values)?;
                    let equal = binder.comparison(CompareOp::Eq, left.clone(), right, pos)?;
                    binder.case_of(vec![equal], vec![(Expr::literal(Value::Null), pos), (left, pos)], pos)
                })?
            }
            "if" | "iif" => {
                let [condition, then, otherwise] = self.taken(name, arguments, pos)?;
                let condition = self.condition(condition, "if")?;
                let values = [then, otherwise].map(|value| Ok((self.expr(value)?, value.pos)));
                let [then, otherwise] = values;
                self.case_of(vec![condition], vec![then?, otherwise?], pos)?
            }
            "between_symmetric" => self.between_symmetric(name, arguments, pos)?,
            "date_part" | "datepart" if matches!(arguments, [fields, _] if is_list(fields)) => {
                self.date_parts(arguments, pos)?
            }
            "strptime" | "try_strptime" if matches!(arguments, [_, formats] if is_list(formats)) => {
                self.first_format(name, arguments, pos)?
            }
            "regexp_extract_all" if matches!(arguments.len(), 3 | 4) => {
                return self.all_named_groups(arguments, pos);
            }
            "regexp_extract" if arguments.len() >= 3 => self.regexp_extract(arguments, pos)?,
            "try" => self.attempt(call, pos)?,
            "<=>" => self.same_or_distance(name, arguments, pos)?,
            "typeof" => {
                let [value] = self.taken(name, arguments, pos)?;
                let ty = self.expr(value)?.ty();
                Expr::literal(Value::Varchar(ty.to_string()))
            }
            "alias" => {
                let [value] = self.taken(name, arguments, pos)?;
                self.expr(value)?;
                Expr::literal(Value::Varchar(super::name::of_expr(value)))
            }
            "nextval" => self.sequence_call("nextval", call, pos)?,
            "currval" => self.sequence_call("currval", call, pos)?,
            "setval" => self.set_sequence(call, pos)?,
            "in_search_path" => self.in_search_path(name, arguments, pos)?,
            "getvariable" => {
                let [variable] = self.taken(name, arguments, pos)?;
                let name = self.constant(variable, "the name of a variable")?.to_string();
                Expr::literal(self.context.catalog.variable(&name).unwrap_or(Value::Null))
            }
            "current_setting" => self.current_setting(name, arguments, pos)?,
            _ if arguments.is_empty() => return self.of_session(name, pos),
            _ => return Ok(None),
        }))
    }

    /// Calls without arguments that say something of the session or the statement.
    fn of_session(&mut self, name: &str, pos: Pos) -> Result<Option<Expr>> {
        let text = |text: String| Expr::literal(Value::Varchar(text));
        Ok(Some(match name {
            "version" => text(concat!("v", env!("CARGO_PKG_VERSION")).into()),
            "lastval" => self.last_value()?,
            "merge_action" => match self.merge_action {
                Some(column) => self.column(column),
                None => {
                    let message = "merge_action() is only possible in RETURNING of MERGE";
                    return Err(self.at(Error::bind(message), pos));
                }
            },
            "current_database" | "current_catalog" => text(self.context.catalog.current()),
            "current_user" | "session_user" | "user" | "current_role" => text(self.user(name)),
            "current_query" => text(self.sql.to_string()),
            "current_schema" => text(self.context.catalog.current_schema()),
            _ => return Ok(None),
        }))
    }

    /// What a name that is no column says of the session: `current_user` is written without parentheses.
    pub(super) fn session_value(&self, parts: &[ast::Ident]) -> Option<Expr> {
        let [name] = parts else { return None };
        let text = match name.value.to_lowercase().as_str() {
            own @ ("current_user" | "session_user" | "user" | "current_role") => self.user(own),
            "current_catalog" => self.context.catalog.current(),
            "current_schema" => self.context.catalog.current_schema(),
            _ => return None,
        };
        Some(Expr::literal(Value::Varchar(text)))
    }

    /// The arguments of a call that takes so many.
    fn taken<'e, const N: usize>(
        &self,
        name: &str,
        arguments: &'e [ast::Expr],
        pos: Pos,
    ) -> Result<&'e [ast::Expr; N]> {
        arguments.try_into().map_err(|_| self.wrong_count(name, arguments, pos))
    }

    fn wrong_count(&self, name: &str, arguments: &[ast::Expr], pos: Pos) -> Error {
        let message = format!("{name} does not take {} argument(s)", arguments.len());
        let candidates =
            signatures_of_form(name).unwrap_or_default().iter().map(ToString::to_string).collect();
        self.at(Error::UndefinedFunction { message, candidates }, pos)
    }

    /// COALESCE and its other names.
    fn first_known(
        &mut self,
        name: &str,
        arguments: &[ast::Expr],
        count: RangeInclusive<usize>,
        pos: Pos,
    ) -> Result<Expr> {
        if !count.contains(&arguments.len()) {
            return Err(self.wrong_count(name, arguments, pos));
        }
        let args = self.exprs(arguments)?;
        let ty = self.common_type_of(args.iter(), pos, name)?;
        if ty == LogicalType::Null && args.iter().all(|arg| matches!(arg, Expr::Literal { .. })) {
            return Ok(Expr::literal(Value::Null));
        }
        let ty = concrete(ty);
        let args = args
            .into_iter()
            .zip(arguments)
            .map(|(arg, written)| self.cast_where_reached(arg, ty.clone(), written.pos));
        let mut args = args.collect::<Result<Vec<_>>>()?;
        Ok(if args.len() == 1 { args.remove(0) } else { Expr::Coalesce { args, ty } })
    }

    /// `a <=> b`: the distance of lists, MySQL's comparison of anything else.
    fn same_or_distance(&mut self, name: &str, arguments: &[ast::Expr], pos: Pos) -> Result<Expr> {
        let [left, right] = self.taken(name, arguments, pos)?;
        let (left, right) = (self.expr(left)?, self.expr(right)?);
        let is_list = |expr: &Expr| matches!(expr.ty(), LogicalType::List(_) | LogicalType::Array(..));
        if is_list(&left) || is_list(&right) {
            self.call("list_cosine_distance", vec![left, right], pos)
        } else {
            self.comparison(CompareOp::NotDistinct, left, right, pos)
        }
    }

    fn in_search_path(&mut self, name: &str, arguments: &[ast::Expr], pos: Pos) -> Result<Expr> {
        let [database, schema] = self.taken(name, arguments, pos)?;
        let database = self.constant(database, name)?.to_string();
        let schema = self.constant(schema, name)?.to_string();
        let path = (self.context.setting)("search_path").map(|path| path.to_string());
        let names = path.iter().flat_map(|path| path.split(',')).map(|name| {
            let name = name.trim().trim_matches('"');
            name.rsplit_once('.').map_or(name, |(_, name)| name).to_lowercase()
        });
        let current = self.context.catalog.current_schema();
        let mut names = names.chain([current.to_lowercase(), "main".to_string()]);
        let is_there = database.eq_ignore_ascii_case(&self.context.catalog.current())
            && names.any(|name| name == schema.to_lowercase());
        Ok(Expr::boolean(is_there))
    }

    fn current_setting(&mut self, name: &str, arguments: &[ast::Expr], pos: Pos) -> Result<Expr> {
        let [setting] = self.taken(name, arguments, pos)?;
        let setting = self.constant(setting, name)?;
        if setting.is_null() {
            return Ok(Expr::literal(Value::Null));
        }
        let setting = setting.to_string().to_lowercase();
        (self.context.setting)(&setting).map(Expr::literal).ok_or_else(|| {
            let message = format!("setting \"{setting}\" does not exist");
            self.at(Error::invalid_argument(message), pos)
        })
    }

    /// `strptime(x, ['%Y-%m-%d', '%d.%m.%Y'])`: by the first format that fits.
    fn first_format(&mut self, name: &str, arguments: &[ast::Expr], pos: Pos) -> Result<Expr> {
        let [text, formats] = arguments else { return Err(Error::internal("strptime of a list")) };
        let ExprKind::Function(list) = &formats.kind else {
            return Err(Error::internal("strptime of a list"));
        };
        let listed = expanded(&list.arguments);
        let Some((last, others)) = listed.split_last() else {
            return Err(self.at(Error::bind(format!("{name} needs at least one format")), formats.pos));
        };
        let build = super::build::Build(pos);
        let text = self.expr(text)?;
        self.once(vec![text], |binder, values| {
            let [text] = super::expr::taken(values)?;
            let text = binder.given(text, pos);
            let by = |name: &str, format: &ast::Expr| build.call(name, vec![text.clone(), format.clone()]);
            let mut tries: Vec<ast::Expr> = others.iter().map(|format| by("try_strptime", format)).collect();
            tries.push(by(name, last));
            binder.expr(&build.call("coalesce", tries))
        })
    }

    /// `x BETWEEN SYMMETRIC a AND b`: the bounds in either order.
    fn between_symmetric(&mut self, name: &str, arguments: &[ast::Expr], pos: Pos) -> Result<Expr> {
        let values = self.taken::<3>(name, arguments, pos)?.each_ref().map(|value| self.expr(value));
        let values = values.into_iter().collect::<Result<Vec<_>>>()?;
        self.once(values, |binder, values| {
            let [value, low, high] = super::expr::taken(values)?.map(|value| binder.given(value, pos));
            let between = |low: &ast::Expr, high: &ast::Expr| {
                let [expr, low, high] = [&value, low, high].map(|part| Box::new(part.clone()));
                ast::Expr { kind: ExprKind::Between { expr, low, high, negated: false }, pos }
            };
            let either = ExprKind::Or(vec![between(&low, &high), between(&high, &low)]);
            binder.expr(&ast::Expr { kind: either, pos })
        })
    }

    /// `date_part(['year', 'month'], x)`: a struct of the parts.
    fn date_parts(&mut self, arguments: &[ast::Expr], pos: Pos) -> Result<Expr> {
        let [fields, input] = arguments else { return Err(Error::internal("date_part of a list")) };
        let ExprKind::Function(list) = &fields.kind else {
            return Err(Error::internal("date_part of a list"));
        };
        let build = super::build::Build(pos);
        let input = self.expr(input)?;
        self.once(vec![input], |binder, values| {
            let [input] = super::expr::taken(values)?;
            let input = binder.given(input, pos);
            let mut made = build.function("struct_pack", Vec::new());
            for field in expanded(&list.arguments).iter() {
                let ExprKind::Literal(Literal::String(name)) = &field.kind else {
                    let message = "date_part takes a list of names of parts: date_part(['year', 'month'], x)";
                    return Err(binder.at(Error::bind(message), field.pos));
                };
                let part = build.call("date_part", vec![field.clone(), input.clone()]);
                // These have fractions.
                let is_fractional = ["epoch", "julian"].iter().any(|part| name.eq_ignore_ascii_case(part));
                let ty = if is_fractional { LogicalType::Double } else { LogicalType::BigInt };
                let part = build.cast(part, ty);
                made.named.push((build.ident(name.clone()), part));
            }
            let parts = build.expr(ExprKind::Function(made));
            // No parts of nothing, instead of parts that are nothing.
            let branches = vec![(build.is_not_null(input), parts)];
            binder.expr(&build.expr(ExprKind::Case { operand: None, branches, otherwise: None }))
        })
    }
}
