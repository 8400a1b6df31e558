//! `regexp_extract` with a list of names: the groups of an expression as the fields of a struct.

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

    fn named_groups(&self, args: Vec<Expr>, names: &Value, pos: Pos) -> Result<Expr> {
        let Value::List { values: names, .. } = names else {
            return Err(self.at(Error::bind("the names of groups are a list of texts that is not NULL"), pos));
        };
        if names.is_empty() {
            return Err(self.at(Error::bind("the list of the names of groups is empty"), pos));
        }
        let mut groups = Vec::with_capacity(names.len());
        let mut types = Vec::with_capacity(names.len());
        for (index, name) in names.iter().enumerate() {
            let Value::Varchar(name) = name else {
                return Err(self.at(Error::bind("the name of a group is a text that is not NULL"), pos));
            };
            let mut group = args.clone();
            group[2] = Expr::literal(Value::BigInt(index as i64 + 1));
            let group = self.call("regexp_extract", group, pos)?;
            types.push(ArgType { name: Some(Arc::from(name.as_str())), ..arg_type(&group) });
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
