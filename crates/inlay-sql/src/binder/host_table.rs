//! Table functions of the host in FROM: `f(TABLE t PARTITION BY k, 3)`.
//!
//! A call becomes an aggregate of the table's columns, grouped by the keys of PARTITION BY, whose value is the list of the
//! function's rows, and an [`Plan::Unnest`] that goes through the list. The table is a query that sees nothing of
//! the tables beside it; the other arguments are constants.

use super::external::{HostCall, order_of};
use super::{Binder, Bound};
use crate::parser::ast::{Expr as Written, ExprKind, Pos, TableAlias};
use crate::plan::{AggregateExpr, ColumnId, Expr, Plan};
use inlay_kernels::external::{External, TableArgument};
use inlay_kernels::registry::{ArgType, argument_cost};
use inlay_types::{Error, LogicalType, Result, Value};
use std::sync::Arc;

/// What is written for a parameter.
enum Given {
    Value(Expr, Pos),
    Table(Bound, Pos),
}

impl Binder<'_> {
    pub(super) fn host_table(
        &mut self,
        host: &HostCall,
        ordinality: bool,
        alias: Option<&TableAlias>,
        pos: Pos,
    ) -> Result<Plan> {
        let call = &host.call;
        let name = &call.name.value;
        if host.overloads.iter().any(|external| external.definition.table_columns().is_empty()) {
            let message = format!("{name} gives no table: it is a function of the kind {}", host.kind.name());
            return Err(self.at(Error::bind(message), pos));
        }
        let (mut given, mut names, mut keys): (Vec<Given>, Vec<Option<&str>>, Option<&Written>) =
            Default::default();
        let named = call.named.iter().map(|(name, written)| (Some(name.value.as_str()), written));
        for (name, written) in call.arguments.iter().map(|written| (None, written)).chain(named) {
            match &written.kind {
                _ if name.is_some_and(|name| name.eq_ignore_ascii_case("partition_by")) => {
                    keys = Some(written)
                }
                ExprKind::Subquery(query) => {
                    let scopes = std::mem::take(&mut self.scopes);
                    let frames = std::mem::take(&mut self.aggregate_frames);
                    let bound = self.query(query);
                    self.scopes = scopes;
                    self.aggregate_frames = frames;
                    given.push(Given::Table(bound?, written.pos));
                    names.push(name);
                }
                _ => {
                    let value = self.constant(written, &format!("an argument of {}", call.name.value))?;
                    given.push(Given::Value(Expr::literal(value), written.pos));
                    names.push(name);
                }
            }
        }
        let (external, order) = self.placed(choose_table(&host.overloads, &given, &names), pos)?;
        let mut given: Vec<Option<Given>> = given.into_iter().map(Some).collect();
        let (mut arguments, mut input): (Vec<TableArgument>, Option<Bound>) = (Vec::new(), None);
        for (parameter, &index) in external.definition.parameters.iter().zip(&order) {
            match given.get_mut(index).and_then(Option::take) {
                Some(Given::Table(bound, place)) => {
                    if input.is_some() {
                        let message = format!("{name} is given two tables; a call takes one");
                        return Err(self.at(Error::unsupported(message), place));
                    }
                    arguments.push(self.placed(self.table_argument(name, &bound), place)?);
                    input = Some(bound);
                }
                Some(Given::Value(value, place)) => {
                    let cast = self.cast_to(value, parameter.ty.clone(), place)?;
                    let place_name = format!("argument \"{}\" of {name}", parameter.name);
                    arguments.push(TableArgument::Value(self.evaluate(&cast, place, &place_name)?));
                }
                None => return Err(Error::internal("an argument of a table function is missing")),
            }
        }
        let output = input.as_ref().map_or(&[][..], |bound| &bound.output[..]);
        let columns: Vec<(String, ColumnId)> =
            output.iter().map(|column| (column.name.clone(), column.id)).collect();
        if keys.is_some() && input.is_none() {
            return Err(self.at(Error::bind(format!("PARTITION BY: {name} is given no table")), pos));
        }
        let mut groups = Vec::new();
        for key in keys.map_or(Vec::new(), keys_of) {
            let id = self.partition_key(key, &columns)?;
            let ty = self.columns.ty(id);
            groups.push((self.columns.add("partition".to_string(), ty), self.columns.expr(id)));
        }
        let function = self.placed(external.as_table(arguments), pos)?;
        let args = columns.iter().map(|(_, id)| self.columns.expr(*id)).zip(&function.arg_types);
        let args = args.map(|(arg, ty)| self.cast_to(arg, ty.clone(), pos)).collect::<Result<Vec<_>>>()?;
        let rows = self.columns.add(name.clone(), function.return_type.clone());
        let aggregate = AggregateExpr {
            function: Arc::new(function),
            args,
            distinct: false,
            filter: None,
            order_by: Vec::new(),
        };
        let input = input.map_or_else(Plan::single_row, |bound| bound.plan);
        let aggregated =
            Plan::Aggregate { input: Box::new(input), groups, aggregates: vec![(rows, aggregate)] };
        self.rows_of_list(&external, aggregated, rows, ordinality, alias, pos)
    }

    /// The columns of each row of the lists.
    fn rows_of_list(
        &mut self,
        external: &External,
        input: Plan,
        list: ColumnId,
        ordinality: bool,
        alias: Option<&TableAlias>,
        pos: Pos,
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
            items.push((id, self.call("struct_extract", vec![self.columns.expr(row), key], pos)?));
            columns.push((field.name.to_string(), id));
        }
        let ordinality = ordinality.then(|| self.columns.add("ordinality", LogicalType::BigInt));
        if let Some(id) = ordinality {
            items.push((id, self.columns.expr(id)));
            columns.push(("ordinality".to_string(), id));
        }
        self.add_relation(&name, columns, alias)?;
        let lists = vec![(row, self.columns.expr(list))];
        Ok(Plan::Unnest { input: Box::new(input), lists, ordinality, keep_empty: false }.project(items))
    }

    fn table_argument(&self, function: &str, bound: &Bound) -> Result<TableArgument> {
        let mut columns: Vec<(String, LogicalType)> = Vec::with_capacity(bound.output.len());
        for column in &bound.output {
            if columns.iter().any(|(known, _)| known.eq_ignore_ascii_case(&column.name)) {
                return Err(Error::bind(format!(
                    "the table that {function} is given has two columns called \"{}\"; AS gives one another name",
                    column.name
                )));
            }
            let ty = match self.columns.ty(column.id) {
                LogicalType::Null => LogicalType::Integer,
                ty => ty,
            };
            columns.push((column.name.clone(), ty));
        }
        Ok(TableArgument::Table(columns))
    }

    fn partition_key(&self, key: &Written, columns: &[(String, ColumnId)]) -> Result<ColumnId> {
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

fn keys_of(written: &Written) -> Vec<&Written> {
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
