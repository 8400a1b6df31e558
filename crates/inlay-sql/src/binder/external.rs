//! Functions of the host: CREATE FUNCTION ... LANGUAGE, and calls.
//!
//! A call is bound like one of a built-in function: the overload whose parameters cost least is taken, arguments are cast
//! to them, and the result is an ordinary [`Expr::Call`]. Built-in functions and macros come first, so CREATE FUNCTION
//! refuses their names.

use super::coerce::{arg_type, without_null_columns};
use super::{Binder, scope::same_name};
use crate::parser::ast::object::CreateFunction;
use crate::parser::ast::{FunctionCall, OnExisting, Pos};
use crate::plan::Expr;
use crate::plan::object::{DefineFunction, ObjectStatement};
use inlay_catalog::DefinitionKind;
use inlay_functions::registry::{function_names, is_aggregate, is_window, scalar_exists};
use inlay_kernels::AggregateFunction;
use inlay_kernels::external::{External, FunctionKind};
use inlay_kernels::resolve::{ArgType, argument_cost, shown_types};
use inlay_types::{Error, LogicalType, Result};
use std::sync::Arc;

/// Whether a name (any case) is one of a function of ours.
pub fn is_built_in(name: &str) -> bool {
    function_names().any(|known| same_name(known, name))
}

impl Binder<'_> {
    pub(super) fn create_function(&mut self, function: &CreateFunction) -> Result<ObjectStatement> {
        let CreateFunction { name, temporary, on_existing, definition, file } = function;
        let (database, key) = self.new_name(name, *temporary)?;
        if is_built_in(name.last()) {
            let message = format!("\"{}\" is a built-in function, which cannot be replaced", name.last());
            let hint = "take another name";
            return Err(self.at(Error::bind(message).with_hint(hint), name.pos()));
        }
        if self.context.catalog.definition(DefinitionKind::Macro, Some(&database), &key).is_some() {
            let error = Error::Duplicate { kind: "macro", name: name.last().to_string() };
            return Err(self.at(error, name.pos()));
        }
        let mut definition = definition.clone();
        for parameter in &mut definition.parameters {
            if !parameter.is_table {
                parameter.ty = self.known_type(&parameter.ty, name.pos())?;
            }
        }
        definition.returns = self.known_type(&definition.returns, name.pos())?;
        Ok(ObjectStatement::DefineFunction(Box::new(DefineFunction {
            database,
            temporary: *temporary,
            name: key,
            definition,
            file: file.clone(),
            or_replace: *on_existing == OnExisting::Replace,
            if_not_exists: *on_existing == OnExisting::Keep,
        })))
    }

    /// The functions of the host that a call may mean, and the call without what named their schema.
    pub(super) fn host_functions(&mut self, call: &FunctionCall, pos: Pos) -> Result<Option<HostCall>> {
        let name = &call.name.value;
        if scalar_exists(name) || is_aggregate(name) || is_window(name) {
            return Ok(None);
        }
        let qualified = self.qualified_macro(DefinitionKind::Function, call);
        let (call, stored) = match &qualified {
            Some((call, (database, stored))) => (call, Some((database.clone(), Arc::clone(stored)))),
            None => (call, self.macro_named(DefinitionKind::Function, vec![call.name.clone()])),
        };
        let catalog = self.context.catalog;
        let mut overloads =
            if qualified.is_some() { Vec::new() } else { catalog.host_functions(&call.name.value) };
        if !overloads.is_empty() {
            self.ask_function(None, pos)?;
        }
        if let Some((database, stored)) = stored {
            self.ask_function(Some((&database, &stored.name)), pos)?;
            overloads.extend(self.placed(catalog.stored_functions(&stored), pos)?);
        }
        let Some(kind) = overloads.first().map(|external| external.definition.kind) else { return Ok(None) };
        // The host's own come before stored ones that are of another kind.
        overloads.retain(|external| external.definition.kind == kind);
        Ok(Some(HostCall { call: call.clone(), overloads, kind }))
    }

    /// The value of a call, if it is one of a function of the host.
    pub(super) fn external_call(&mut self, call: &FunctionCall, pos: Pos) -> Result<Option<Expr>> {
        let Some(host) = self.host_functions(call, pos)? else { return Ok(None) };
        if host.kind == FunctionKind::Aggregate {
            let name = host.call.name.value.clone();
            return self
                .outside_of_lambdas(|binder| {
                    binder.aggregate_call(&name, &host.call, Some(&host.overloads), pos)
                })
                .map(Some);
        }
        let (call, overloads) = (&host.call, &host.overloads);
        if host.kind == FunctionKind::Table {
            let message = format!("{} gives a table: it stands in FROM", call.name.value);
            return Err(self.at(Error::bind(message), pos));
        }
        if call.star || call.distinct || call.filter.is_some() || !call.order_by.is_empty() {
            let message = format!(
                "{} is a scalar function: *, DISTINCT, FILTER and ORDER BY do not go with it",
                call.name.value
            );
            return Err(self.at(Error::bind(message), pos));
        }
        let (external, args) = self.chosen(call, overloads, pos)?;
        let literals = args.iter().map(|arg| matches!(arg, Expr::Literal { .. })).collect();
        let function = external.as_scalar(types_of(&external, &args), literals);
        let args = self.cast_all(args, &function.arg_types, pos)?;
        Ok(Some(Expr::Call { function: Arc::new(function), args, place: self.place(pos) }))
    }

    /// The aggregate that a call means, and its arguments.
    pub(super) fn host_aggregate(
        &mut self,
        call: &FunctionCall,
        overloads: &[Arc<External>],
        pos: Pos,
    ) -> Result<(AggregateFunction, Vec<Expr>)> {
        let (external, args) = self.chosen(call, overloads, pos)?;
        let function = external.as_aggregate(types_of(&external, &args), !call.order_by.is_empty());
        let args = self.cast_all(args, &function.arg_types, pos)?;
        Ok((function, args))
    }

    /// The overload that a call means, and its arguments in the order of the parameters.
    fn chosen(
        &mut self,
        call: &FunctionCall,
        overloads: &[Arc<External>],
        pos: Pos,
    ) -> Result<(Arc<External>, Vec<Expr>)> {
        let mut args = self.exprs(&call.arguments)?;
        let mut names: Vec<Option<&str>> = vec![None; args.len()];
        for (name, written) in &call.named {
            args.push(self.expr(written)?);
            names.push(Some(&name.value));
        }
        let args: Vec<Expr> = args.into_iter().map(without_null_columns).collect();
        let (external, order) = self.placed(choose(overloads, &args, &names), pos)?;
        Ok((external, order.iter().filter_map(|&index| args.get(index).cloned()).collect()))
    }

    fn cast_all(&self, args: Vec<Expr>, types: &[LogicalType], pos: Pos) -> Result<Vec<Expr>> {
        args.into_iter().zip(types).map(|(arg, ty)| self.cast_to(arg, ty.clone(), pos)).collect()
    }
}

/// A call that means one of these functions, which are of one kind.
pub(super) struct HostCall {
    pub(super) call: FunctionCall,
    pub(super) overloads: Vec<Arc<External>>,
    pub(super) kind: FunctionKind,
}

/// The types that arguments are cast to.
fn types_of(external: &External, args: &[Expr]) -> Vec<LogicalType> {
    let given: Vec<LogicalType> = args.iter().map(Expr::ty).collect();
    external.definition.argument_types(&given)
}

/// The overload that costs least, and which argument each of its parameters gets.
fn choose(
    overloads: &[Arc<External>],
    args: &[Expr],
    names: &[Option<&str>],
) -> Result<(Arc<External>, Vec<usize>)> {
    let types: Vec<ArgType> = args.iter().map(arg_type).collect();
    let fitting = overloads.iter().filter_map(|external| {
        let order = order_of(external, names)?;
        let parameters = external.definition.parameters.iter();
        let costs =
            parameters.zip(&order).map(|(parameter, &index)| argument_cost(types.get(index)?, &parameter.ty));
        // An overload that takes anything comes last.
        let any = u32::from(external.definition.is_variadic) * 1_000;
        Some((costs.sum::<Option<u32>>()? + any, external, order))
    });
    if let Some((_, external, order)) = fitting.min_by_key(|(cost, _, _)| *cost) {
        return Ok((Arc::clone(external), order));
    }
    let name = overloads.first().map_or("", |external| &external.definition.name);
    Err(Error::UndefinedFunction {
        message: format!("no function {name}({})", shown_types(&types)),
        candidates: overloads.iter().map(|external| external.definition.signature()).collect(),
    })
}

/// Which argument each parameter gets, if their number and names fit.
pub(super) fn order_of(external: &External, names: &[Option<&str>]) -> Option<Vec<usize>> {
    let parameters = &external.definition.parameters;
    let plain = names.iter().take_while(|name| name.is_none()).count();
    if plain == names.len() {
        let fits = plain == parameters.len() || (external.definition.is_variadic && plain > parameters.len());
        return fits.then(|| (0..plain).collect());
    }
    let rest = parameters.get(plain..)?;
    if rest.len() != names.len() - plain {
        return None;
    }
    let place = |wanted: &str| names.iter().position(|name| name.is_some_and(|name| same_name(name, wanted)));
    let named = rest.iter().map(|parameter| place(&parameter.name)).collect::<Option<Vec<_>>>()?;
    Some((0..plain).chain(named).collect())
}
