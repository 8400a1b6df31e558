//! Table functions of the host in FROM: `f(TABLE t PARTITION BY k, 3)`.
//!
//! What a call becomes depends on what the function is given:
//!
//! - A whole table: an aggregate of the table's columns, grouped by the keys of PARTITION BY, whose value is the list of the
//!   function's rows, and an [`Plan::Unnest`] that goes through the list.
//! - A table in parts, or none: a [`Plan::TableCall`], over rows that are sorted by the keys of PARTITION BY.
//! - A table whose columns are the function's parameters (`f((SELECT a, b FROM t), 3)` of `f(a, b, n)`): as a whole table or one in
//!   parts, which comes as arrays beside the other arguments.
//! - Columns of the tables beside it: a scalar call that gives lists of rows, and an [`Plan::Unnest`] of one row, which is
//!   correlated as any other table function's.
//!
//! The table is a query that sees nothing of the tables beside it; the other arguments of its call are constants.

use super::coerce::without_null_columns;
use super::external::{HostCall, order_of};
use super::subquery::{Pending, attach};
use super::{Binder, Bound};
use crate::parser::ast::{Expr as WrittenExpr, ExprKind, Pos, TableAlias};
use crate::plan::{AggregateExpr, ColumnId, Expr, JoinKind, Plan, SortKey};
use inlay_functions::registry::resolve_aggregate;
use inlay_kernels::external::{External, FunctionKind, TableArgument, Takes};
use inlay_kernels::resolve::{ArgType, argument_cost};
use inlay_types::{Error, LogicalType, Result, Value};
use std::sync::Arc;

/// What is written for a parameter.
enum Given {
    Value(Expr, Pos),
    Table(Bound, Pos),
}

/// What is written in a call.
struct Written<'w> {
    given: Vec<Given>,
    names: Vec<Option<&'w str>>,
    keys: Option<&'w WrittenExpr>,
    /// Subqueries of the arguments.
    pending: Vec<Pending>,
}

/// The table of a call.
struct GivenTable {
    has_table: bool,
    plan: Plan,
    columns: Vec<ColumnId>,
    /// Of PARTITION BY.
    keys: Vec<ColumnId>,
}

/// How a call stands in FROM.
#[derive(Clone, Copy)]
struct Shown<'a> {
    ordinality: bool,
    alias: Option<&'a TableAlias>,
    pos: Pos,
}

impl Binder<'_> {
    pub(super) fn host_table(
        &mut self,
        host: &HostCall,
        ordinality: bool,
        alias: Option<&TableAlias>,
        pos: Pos,
    ) -> Result<Plan> {
        let name = &host.call.name.value;
        if host.kind != FunctionKind::Table {
            let message = format!("{name} gives no table: it is a function of the kind {}", host.kind.name());
            return Err(self.at(Error::bind(message), pos));
        }
        let Written { given, names, keys, pending } = self.written(host)?;
        let chosen = choose_table(&host.overloads, &given, &names);
        let shown = Shown { ordinality, alias, pos };
        if chosen.is_err()
            && pending.is_empty()
            && names.iter().all(Option::is_none)
            && let Some(external) = self.spread(&host.overloads, &given)
        {
            return self.table_of_columns(&external, given, keys, shown);
        }
        let (external, order) = self.placed(chosen, pos)?;
        let mut given: Vec<Option<Given>> = given.into_iter().map(Some).collect();
        let ordered = order.iter().filter_map(|&index| given.get_mut(index).and_then(Option::take)).collect();
        let is_lateral =
            |given: &Given| matches!(given, Given::Value(value, _) if !value.columns().is_empty());
        let ordered: Vec<Given> = ordered;
        if !pending.is_empty() || ordered.iter().any(is_lateral) {
            if keys.is_some() {
                let message = format!("PARTITION BY: {name} is given columns of other tables, and no table");
                return Err(self.at(Error::bind(message), pos));
            }
            return self.table_by_row(&external, ordered, pending, shown);
        }
        if ordered.iter().filter(|given| matches!(given, Given::Table(..))).count() > 1 {
            if keys.is_some() {
                let message = format!("PARTITION BY: {name} is given several tables, which come as a whole");
                return Err(self.at(Error::unsupported(message), pos));
            }
            return self.table_of_tables(&external, ordered, shown);
        }
        let (mut arguments, mut input): (Vec<TableArgument>, Option<Bound>) = (Vec::new(), None);
        for (parameter, given) in external.definition.parameters.iter().zip(ordered) {
            match given {
                Given::Table(bound, place) => {
                    arguments.push(self.placed(self.table_argument(name, &bound), place)?);
                    input = Some(bound);
                }
                Given::Value(value, place) => {
                    let cast = self.cast_to(value, parameter.ty.clone(), place)?;
                    let place_name = format!("argument \"{}\" of {name}", parameter.name);
                    arguments.push(TableArgument::Value(self.evaluate(&cast, place, &place_name)?));
                }
            }
        }
        self.table_of(&external, arguments, input, keys, shown)
    }

    /// A call with one table or none, and with constants.
    fn table_of(
        &mut self,
        external: &Arc<External>,
        arguments: Vec<TableArgument>,
        input: Option<Bound>,
        keys: Option<&WrittenExpr>,
        shown: Shown<'_>,
    ) -> Result<Plan> {
        let (name, pos) = (&external.definition.name, shown.pos);
        let output = input.as_ref().map_or(&[][..], |bound| &bound.output[..]);
        let columns: Vec<(String, ColumnId)> =
            output.iter().map(|column| (column.name.clone(), column.id)).collect();
        if keys.is_some() && input.is_none() {
            return Err(self.at(Error::bind(format!("PARTITION BY: {name} is given no table")), pos));
        }
        let keys = keys.map_or(Vec::new(), keys_of);
        let keys =
            keys.into_iter().map(|key| self.partition_key(key, &columns)).collect::<Result<Vec<_>>>()?;
        let external = self.with_columns(external, &arguments, pos)?;
        let given = GivenTable {
            has_table: input.is_some(),
            plan: input.map_or_else(Plan::single_row, |bound| bound.plan),
            columns: columns.into_iter().map(|(_, id)| id).collect(),
            keys,
        };
        match (self.placed(external.takes(), pos)?, given.has_table) {
            (Takes::Whole, true) => self.table_of_whole(&external, arguments, given, shown),
            (Takes::Parts, _) if !given.keys.is_empty() => {
                let message = format!(
                    "PARTITION BY: {name} is given any parts of its table (LANGUAGE {}_MAP), so it sees no partitions",
                    external.definition.language.to_uppercase()
                );
                let hint = "without _MAP it does";
                Err(self.at(Error::bind(message).with_hint(hint), pos))
            }
            _ => self.table_in_parts(&external, arguments, given, shown),
        }
    }

    /// The overload among whose parameters are the columns of the one table that is given, each with a type of its own.
    fn spread(&self, overloads: &[Arc<External>], given: &[Given]) -> Option<Arc<External>> {
        if given.iter().filter(|given| matches!(given, Given::Table(..))).count() != 1 {
            return None;
        }
        let types: Vec<LogicalType> = given
            .iter()
            .flat_map(|given| match given {
                Given::Value(value, _) => vec![value.ty()],
                Given::Table(bound, _) => {
                    bound.output.iter().map(|column| self.columns.ty(column.id)).collect()
                }
            })
            .collect();
        let cost_of = |external: &Arc<External>| {
            let parameters = &external.definition.parameters;
            if parameters.len() != types.len() || parameters.iter().any(|parameter| parameter.is_table) {
                return None;
            }
            let mut cost = 0;
            for (ty, parameter) in types.iter().zip(parameters) {
                cost += argument_cost(&ArgType::of(ty.clone()), &parameter.ty)?;
            }
            Some(cost)
        };
        let fitting = overloads.iter().filter_map(|external| Some((cost_of(external)?, external)));
        fitting.min_by_key(|(cost, _)| *cost).map(|(_, external)| Arc::clone(external))
    }

    /// A call with a table whose columns are parameters of their own.
    fn table_of_columns(
        &mut self,
        external: &Arc<External>,
        given: Vec<Given>,
        keys: Option<&WrittenExpr>,
        shown: Shown<'_>,
    ) -> Result<Plan> {
        let name = &external.definition.name;
        let (mut arguments, mut input): (Vec<TableArgument>, Option<Bound>) = (Vec::new(), None);
        let mut parameters = external.definition.parameters.iter();
        for given in given {
            match given {
                Given::Table(bound, _) => {
                    let own = parameters.by_ref().take(bound.output.len());
                    let own = own.map(|parameter| (parameter.name.clone(), parameter.ty.clone()));
                    arguments.push(TableArgument::Columns(own.collect()));
                    input = Some(bound);
                }
                Given::Value(value, place) => {
                    let parameter = parameters.next();
                    let parameter =
                        parameter.ok_or_else(|| Error::internal("an argument without a parameter"))?;
                    if !value.columns().is_empty() {
                        let message = format!(
                            "{name} is given a table, so its other arguments must be constant: they may not read columns"
                        );
                        return Err(self.at(Error::unsupported(message), place));
                    }
                    let cast = self.cast_to(value, parameter.ty.clone(), place)?;
                    let place_name = format!("argument \"{}\" of {name}", parameter.name);
                    arguments.push(TableArgument::Value(self.evaluate(&cast, place, &place_name)?));
                }
            }
        }
        self.table_of(external, arguments, input, keys, shown)
    }

    /// The function with the columns that it gives.
    fn with_columns(
        &self,
        external: &Arc<External>,
        arguments: &[TableArgument],
        pos: Pos,
    ) -> Result<Arc<External>> {
        let external = self.placed(external.with_columns(arguments), pos)?;
        let returns = &external.definition.returns;
        if self.known_type(returns, pos)? == *returns {
            return Ok(external);
        }
        let message = format!("a type that was created, in the schema of {}", external.definition.name);
        Err(self.at(Error::unsupported(message), pos))
    }

    /// The arguments, as they are written.
    fn written<'w>(&mut self, host: &'w HostCall) -> Result<Written<'w>> {
        let call = &host.call;
        let mut all = Written { given: Vec::new(), names: Vec::new(), keys: None, pending: Vec::new() };
        let named = call.named.iter().map(|(name, written)| (Some(name.value.as_str()), written));
        for (name, written) in call.arguments.iter().map(|written| (None, written)).chain(named) {
            match &written.kind {
                _ if name.is_some_and(|name| name.eq_ignore_ascii_case("partition_by")) => {
                    all.keys = Some(written);
                    continue;
                }
                ExprKind::Subquery(query) => {
                    let scopes = std::mem::take(&mut self.scopes);
                    let frames = std::mem::take(&mut self.aggregate_frames);
                    let bound = self.query(query);
                    self.scopes = scopes;
                    self.aggregate_frames = frames;
                    all.given.push(Given::Table(bound?, written.pos));
                }
                _ => {
                    let (value, pending) = self.isolated(|binder| binder.expr(written))?;
                    let is_constant = pending.is_empty() && value.columns().is_empty();
                    let value = if is_constant {
                        let place = format!("an argument of {}", call.name.value);
                        Expr::literal(self.evaluate(&value, written.pos, &place)?)
                    } else {
                        without_null_columns(value)
                    };
                    all.pending.extend(pending);
                    all.given.push(Given::Value(value, written.pos));
                }
            }
            all.names.push(name);
        }
        Ok(all)
    }

    /// A call whose arguments are columns of the tables beside it.
    fn table_by_row(
        &mut self,
        external: &Arc<External>,
        given: Vec<Given>,
        pending: Vec<Pending>,
        shown: Shown<'_>,
    ) -> Result<Plan> {
        let name = &external.definition.name;
        let external = self.with_columns(external, &[], shown.pos)?;
        let mut args = Vec::with_capacity(given.len());
        for (parameter, given) in external.definition.parameters.iter().zip(given) {
            match given {
                Given::Value(value, place) => args.push(self.cast_to(value, parameter.ty.clone(), place)?),
                Given::Table(_, place) => {
                    let message = format!(
                        "{name} is given a table, so its other arguments must be constant: they may not read columns"
                    );
                    return Err(self.at(Error::unsupported(message), place));
                }
            }
        }
        let literals = args.iter().map(|arg| matches!(arg, Expr::Literal { .. })).collect();
        let types = args.iter().map(Expr::ty).collect();
        let function = self.placed(external.by_row(types, literals), shown.pos)?;
        let list = Expr::Call { function: Arc::new(function), args, place: self.place(shown.pos) };
        self.rows_of_list(&external, attach(Plan::single_row(), pending, &self.columns), list, shown)
    }

    /// One call with several tables, each of which comes as the list of its rows: NULL if there are none.
    fn table_of_tables(
        &mut self,
        external: &Arc<External>,
        given: Vec<Given>,
        shown: Shown<'_>,
    ) -> Result<Plan> {
        let name = external.definition.name.clone();
        if external.takes()? != Takes::Whole {
            let message = format!("{name} is given several tables, and takes parts of one");
            return Err(self.at(Error::unsupported(message), shown.pos));
        }
        let (mut arguments, mut args, mut input) = (Vec::new(), Vec::new(), Plan::single_row());
        for (parameter, given) in external.definition.parameters.iter().zip(given) {
            match given {
                Given::Value(value, place) => {
                    let cast = self.cast_to(value, parameter.ty.clone(), place)?;
                    let place_name = format!("argument \"{}\" of {name}", parameter.name);
                    let value = self.evaluate(&cast, place, &place_name)?;
                    arguments.push(TableArgument::Value(value));
                    args.push(cast);
                }
                Given::Table(bound, place) => {
                    arguments.push(self.placed(self.table_argument(&name, &bound), place)?);
                    let columns: Vec<(String, ColumnId)> =
                        bound.output.iter().map(|column| (column.name.clone(), column.id)).collect();
                    let row = self.struct_of(&columns, place)?;
                    let function = self.placed(resolve_aggregate("list", &[ArgType::of(row.ty())]), place)?;
                    let id = self.columns.add(parameter.name.clone(), function.return_type.clone());
                    let aggregate = AggregateExpr {
                        function: Arc::new(function),
                        args: vec![row],
                        distinct: false,
                        filter: None,
                        order_by: Vec::new(),
                    };
                    let rows = Plan::Aggregate {
                        input: Box::new(bound.plan),
                        groups: Vec::new(),
                        aggregates: vec![(id, aggregate)],
                    };
                    input = Plan::join(JoinKind::Inner, input, rows, Vec::new());
                    args.push(self.columns.expr(id));
                }
            }
        }
        let external = self.with_columns(external, &arguments, shown.pos)?;
        let literals = args.iter().map(|arg| matches!(arg, Expr::Literal { .. })).collect();
        let types = args.iter().map(Expr::ty).collect();
        let function = self.placed(external.by_row(types, literals), shown.pos)?;
        let list = Expr::Call { function: Arc::new(function), args, place: self.place(shown.pos) };
        self.rows_of_list(&external, input, list, shown)
    }

    /// A call with all rows of a table, or of each partition.
    fn table_of_whole(
        &mut self,
        external: &Arc<External>,
        arguments: Vec<TableArgument>,
        given: GivenTable,
        shown: Shown<'_>,
    ) -> Result<Plan> {
        let mut groups = Vec::new();
        for id in given.keys {
            let ty = self.columns.ty(id);
            groups.push((self.columns.add("partition".to_string(), ty), self.columns.expr(id)));
        }
        let function = self.placed(external.as_table(arguments), shown.pos)?;
        let args = self.columns_as(&given.columns, &function.arg_types, shown.pos)?;
        let rows = self.columns.add(external.definition.name.clone(), function.return_type.clone());
        let aggregate = AggregateExpr {
            function: Arc::new(function),
            args,
            distinct: false,
            filter: None,
            order_by: Vec::new(),
        };
        let aggregated =
            Plan::Aggregate { input: Box::new(given.plan), groups, aggregates: vec![(rows, aggregate)] };
        let list = self.columns.expr(rows);
        self.rows_of_list(external, aggregated, list, shown)
    }

    /// A call that is given its table in parts, or no table, and hands its rows on.
    fn table_in_parts(
        &mut self,
        external: &Arc<External>,
        arguments: Vec<TableArgument>,
        given: GivenTable,
        shown: Shown<'_>,
    ) -> Result<Plan> {
        let call = self.placed(external.as_stream(arguments), shown.pos)?;
        let args = self.columns_as(&given.columns, &call.arg_types, shown.pos)?;
        let fields = external.definition.table_columns().to_vec();
        let mut made = Vec::with_capacity(fields.len() + 1);
        for field in &fields {
            made.push((field.name.to_string(), self.columns.add(field.name.to_string(), field.ty.clone())));
        }
        let columns = made.iter().map(|(_, id)| *id).collect();
        let ordinality = shown.ordinality.then(|| self.columns.add("ordinality", LogicalType::BigInt));
        made.extend(ordinality.map(|id| ("ordinality".to_string(), id)));
        self.add_relation(&external.definition.name, made, shown.alias)?;
        let keys: Vec<Expr> = given.keys.iter().map(|id| self.columns.expr(*id)).collect();
        let mut input = Box::new(given.plan);
        if !keys.is_empty() {
            let key = |expr: &Expr| SortKey { expr: expr.clone(), descending: false, nulls_first: false };
            input =
                Box::new(Plan::Sort { input, keys: keys.iter().map(key).collect(), limit: None, offset: 0 });
        }
        Ok(Plan::TableCall { input, call: Arc::new(call), args, keys, columns, ordinality })
    }

    fn columns_as(&self, columns: &[ColumnId], types: &[LogicalType], pos: Pos) -> Result<Vec<Expr>> {
        let args = columns.iter().map(|id| self.columns.expr(*id)).zip(types);
        args.map(|(arg, ty)| self.cast_to(arg, ty.clone(), pos)).collect()
    }

    /// The columns of each row of the lists.
    fn rows_of_list(
        &mut self,
        external: &External,
        input: Plan,
        list: Expr,
        shown: Shown<'_>,
    ) -> Result<Plan> {
        let name = external.definition.name.clone();
        let fields = external.definition.table_columns();
        let row_type =
            LogicalType::structure(fields.iter().map(|field| (field.name.to_string(), field.ty.clone())));
        let row = self.columns.add(name.clone(), row_type);
        let (mut columns, mut items) = (Vec::new(), Vec::new());
        for field in fields {
            let id = self.columns.add(field.name.to_string(), field.ty.clone());
            let key = Expr::literal(Value::Varchar(field.name.to_string()));
            items.push((id, self.call("struct_extract", vec![self.columns.expr(row), key], shown.pos)?));
            columns.push((field.name.to_string(), id));
        }
        let ordinality = shown.ordinality.then(|| self.columns.add("ordinality", LogicalType::BigInt));
        if let Some(id) = ordinality {
            items.push((id, self.columns.expr(id)));
            columns.push(("ordinality".to_string(), id));
        }
        self.add_relation(&name, columns, shown.alias)?;
        let lists = vec![(row, list)];
        Ok(Plan::Unnest { input: Box::new(input), lists, ordinality, keep_empty: false }.project(items))
    }

    fn table_argument(&self, function: &str, bound: &Bound) -> Result<TableArgument> {
        let mut columns: Vec<(String, LogicalType)> = Vec::with_capacity(bound.output.len());
        for column in &bound.output {
            if columns.iter().any(|(known, _)| known.eq_ignore_ascii_case(&column.name)) {
                return Err(Error::bind(format!(
                    "the table that {function} is given has two columns called \"{}\"",
                    column.name
                ))
                .with_hint("AS gives one another name"));
            }
            let ty = match self.columns.ty(column.id) {
                LogicalType::Null => LogicalType::Integer,
                ty => ty,
            };
            columns.push((column.name.clone(), ty));
        }
        Ok(TableArgument::Table(columns))
    }

    fn partition_key(&self, key: &WrittenExpr, columns: &[(String, ColumnId)]) -> Result<ColumnId> {
        let ExprKind::Column(parts) = &key.kind else {
            let message = "PARTITION BY in an argument names columns of the table";
            return Err(self.at(Error::unsupported(message), key.pos));
        };
        let name = parts.last().map_or("", |part| part.value.as_str());
        match columns.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)) {
            Some((_, id)) => Ok(*id),
            None => {
                let message = format!("PARTITION BY: the table has no column \"{name}\"");
                Err(self.at(Error::bind(message), key.pos))
            }
        }
    }
}

fn keys_of(written: &WrittenExpr) -> Vec<&WrittenExpr> {
    match &written.kind {
        ExprKind::Row(keys) => keys.iter().collect(),
        _ => vec![written],
    }
}

/// The overload that costs least, and which argument each of its parameters gets.
fn choose_table(
    overloads: &[Arc<External>],
    given: &[Given],
    names: &[Option<&str>],
) -> Result<(Arc<External>, Vec<usize>)> {
    let fitting = overloads.iter().filter_map(|external| {
        let order = order_of(external, names)?;
        let mut cost = 0;
        for (parameter, &index) in external.definition.parameters.iter().zip(&order) {
            cost += match given.get(index)? {
                Given::Table(..) if parameter.is_table => 0,
                Given::Value(value, _) if !parameter.is_table => {
                    argument_cost(&ArgType::of(value.ty()), &parameter.ty)?
                }
                Given::Table(..) | Given::Value(..) => return None,
            };
        }
        Some((cost, Arc::clone(external), order))
    });
    if let Some((_, external, order)) = fitting.min_by_key(|(cost, _, _)| *cost) {
        return Ok((external, order));
    }
    let shown = |given: &Given| match given {
        Given::Table(..) => "TABLE".to_string(),
        Given::Value(value, _) => value.ty().to_string(),
    };
    let name = overloads.first().map_or("", |external| &external.definition.name);
    Err(Error::UndefinedFunction {
        message: format!("no function {name}({})", given.iter().map(shown).collect::<Vec<_>>().join(", ")),
        candidates: overloads.iter().map(|external| external.definition.signature()).collect(),
    })
}
