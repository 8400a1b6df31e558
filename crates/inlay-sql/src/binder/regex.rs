//! `regexp_extract` and `regexp_extract_all` with a list of names: the groups of an expression as the fields of a struct, or of one
//! for each match.

use super::Binder;
use super::coerce::arg_type;
use crate::parser::ast::{self, Pos};
use crate::plan::Expr;
use inlay_functions::registry::resolve_scalar;
use inlay_kernels::resolve::ArgType;
use inlay_types::{Error, LogicalType, Result, Value};
use std::sync::Arc;

impl Binder<'_> {
    /// The third argument is a group, options, or the names of groups.
    pub(super) fn regexp_extract(&mut self, arguments: &[ast::Expr], pos: Pos) -> Result<Expr> {
        let mut args = self.exprs(arguments)?;
        if args.len() <= 4 && matches!(args[2].ty(), LogicalType::List(_)) {
            let names = self.constant(&arguments[2], "the names of groups")?;
            return self.once(args, |binder, args| binder.named_groups(args, &names, pos));
        }
        let is_number = match &args[2] {
            Expr::Literal { value: Value::Varchar(text), .. } => text.parse::<i64>().is_ok(),
            other => other.ty() != LogicalType::Varchar,
        };
        if args.len() == 3 && !is_number {
            args.insert(2, Expr::literal(Value::BigInt(0)));
        }
        self.call("regexp_extract", args, pos)
    }

    /// `regexp_extract_all` whose third argument is the names of groups, which are constant; `None` if it is anything else.
    pub(super) fn all_named_groups(&mut self, arguments: &[ast::Expr], pos: Pos) -> Result<Option<Expr>> {
        let [_, _, written, ..] = arguments else { return Ok(None) };
        if !matches!(self.constant(written, "the names of groups"), Ok(Value::List { .. })) {
            return Ok(None);
        }
        let args = self.exprs(arguments)?;
        let names = self.constant(written, "the names of groups")?;
        let names = self.group_names(&names, written.pos)?;
        let fields = names.iter().map(|name| (Arc::clone(name), LogicalType::Varchar));
        let ty = LogicalType::list(LogicalType::structure(fields));
        self.once(args, |binder, args| {
            let mut groups = Vec::with_capacity(names.len());
            for index in 0..names.len() {
                let mut group = args.clone();
                group[2] = Expr::literal(Value::BigInt(index as i64 + 1));
                groups.push(binder.call("regexp_extract_all", group, pos)?);
            }
            let is_null = groups.first().map(|group| Expr::IsNull(Box::new(group.clone())));
            let zipped = binder.call("list_zip", groups, pos)?;
            let named = binder.cast_to(zipped, ty.clone(), pos)?;
            let null = Expr::Literal { value: Value::Null, ty };
            binder.case_of(is_null.into_iter().collect(), vec![(null, pos), (named, pos)], pos)
        })
        .map(Some)
    }

    /// The names of groups, each of which is there once.
    fn group_names(&self, names: &Value, pos: Pos) -> Result<Vec<Arc<str>>> {
        let refuse = |message: String| self.at(Error::bind(message), pos);
        let Value::List { values: names, .. } = names else {
            return Err(refuse("the names of groups are a list of texts that is not NULL".to_string()));
        };
        if names.is_empty() {
            return Err(refuse("the list of the names of groups is empty".to_string()));
        }
        let mut known: Vec<Arc<str>> = Vec::with_capacity(names.len());
        for name in names {
            let Value::Varchar(name) = name else {
                return Err(refuse("the name of a group is a text that is not NULL".to_string()));
            };
            if known.iter().any(|known| known.eq_ignore_ascii_case(name)) {
                return Err(refuse(format!("two groups are called \"{name}\"")));
            }
            known.push(Arc::from(name.as_str()));
        }
        Ok(known)
    }

    fn named_groups(&self, args: Vec<Expr>, names: &Value, pos: Pos) -> Result<Expr> {
        let names = self.group_names(names, pos)?;
        let mut groups = Vec::with_capacity(names.len());
        let mut types = Vec::with_capacity(names.len());
        for (index, name) in names.into_iter().enumerate() {
            let mut group = args.clone();
            group[2] = Expr::literal(Value::BigInt(index as i64 + 1));
            let group = self.call("regexp_extract", group, pos)?;
            types.push(ArgType { name: Some(name), ..arg_type(&group) });
            groups.push(group);
        }
        let function = self.placed(resolve_scalar("struct_pack", &types, &self.context.options), pos)?;
        let ty = function.return_type.clone();
        let packed = Expr::Call { function, args: groups, place: self.place(pos) };
        // Nothing is known of the groups of NULL.
        let null = Expr::Literal { value: Value::Null, ty };
        let [source, ..] = args.as_slice() else { return Ok(packed) };
        let is_null = Expr::IsNull(Box::new(source.clone()));
        self.case_of(vec![is_null], vec![(null, pos), (packed, pos)], pos)
    }
}
