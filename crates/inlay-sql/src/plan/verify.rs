//! What always holds of a plan, looked at.
//!
//! Invariants
//! - Each id is made by one operator; a projection and a grouping may hand a column on as itself.
//! - An operator reads what its inputs hand on, and no other columns; below a dependent join those of its left input, too. A
//!   shared plan is read where it is in scope.
//! - Columns and expressions have the types that their places ask for; conditions are BOOLEAN.
//!
//! Called behind the binder and each pass of the optimizer where [`IS_VERIFIED`]: a pass that breaks a plan is named then, where
//! otherwise the query would fail in the planner, or give a wrong answer.

use super::{ColumnId, Columns, Expr, JoinKind, LimitBy, Plan, SharedId, WindowExpr};
use super::{KeyedRecursion, Lambda, OrderedJoinKind};
use inlay_types::LogicalType;
use std::collections::{HashMap, HashSet};

/// Whether plans are looked at: in tests, debug and checked builds, and not in what is published.
pub const IS_VERIFIED: bool = cfg!(any(test, debug_assertions));

type Set = HashSet<ColumnId>;
type Checked<T = ()> = Result<T, String>;

impl Plan {
    /// What does not hold of the plan of a query that delivers `output`.
    pub fn verify(&self, columns: &Columns, output: impl IntoIterator<Item = ColumnId>) -> Checked {
        let mut verify = Verify { columns, made: Set::new(), shared: HashMap::new() };
        let made = verify.plan(self, &Set::new())?;
        output.into_iter().try_for_each(|id| verify.has(&made, id, "the query delivers"))
    }
}

/// A plan on the way through it.
struct Verify<'a> {
    columns: &'a Columns,
    made: Set,
    /// What shared plans in scope hand on.
    shared: HashMap<SharedId, Set>,
}

impl Verify<'_> {
    /// The columns that a plan hands on; `outer` are those of enclosing dependent joins.
    fn plan(&mut self, plan: &Plan, outer: &Set) -> Checked<Set> {
        stacker::maybe_grow(512 << 10, 4 << 20, || {
            let read = self.inputs(plan, outer)?;
            for expr in plan.expressions() {
                self.expr(expr, &read).map_err(|what| format!("{}: {what}", name(plan)))?;
            }
            self.operator(plan, &read).map_err(|what| format!("{}: {what}", name(plan)))?;
            // Handed on in the order and with the ids that everybody else goes by.
            Ok(plan.output().into_iter().collect())
        })
    }

    /// What the expressions of an operator may read.
    fn inputs(&mut self, plan: &Plan, outer: &Set) -> Checked<Set> {
        let mut read = outer.clone();
        match plan {
            Plan::Scan { .. } | Plan::Source { .. } => read.extend(plan.output()),
            Plan::Values { .. } | Plan::SharedScan { .. } => {}
            Plan::DependentJoin { left, right, .. } => {
                read.extend(self.plan(left, outer)?);
                let right = self.plan(right, &read)?;
                read.extend(right);
            }
            Plan::With { id, definition, body } => {
                let made = self.plan(definition, outer)?;
                self.shared.insert(*id, made);
                read.extend(self.plan(body, outer)?);
                self.shared.remove(id);
            }
            Plan::Recursive { id, keyed, initial, step, columns, .. } => {
                read.extend(self.plan(initial, outer)?);
                let rows: Set = columns.iter().copied().collect();
                let ids = [Some(*id), keyed.as_ref().map(|KeyedRecursion { recurring, .. }| *recurring)];
                ids.iter().flatten().for_each(|id| {
                    self.shared.insert(*id, rows.clone());
                });
                read.extend(self.plan(step, outer)?);
                ids.iter().flatten().for_each(|id| {
                    self.shared.remove(id);
                });
            }
            Plan::Project { .. }
            | Plan::Filter { .. }
            | Plan::Join { .. }
            | Plan::OrderedJoin { .. }
            | Plan::Aggregate { .. }
            | Plan::Window { .. }
            | Plan::Unnest { .. }
            | Plan::TableCall { .. }
            | Plan::Sort { .. }
            | Plan::Limit { .. }
            | Plan::GroupLimit { .. }
            | Plan::SetOp { .. }
            | Plan::LimitBy { .. }
            | Plan::Sample { .. } => {
                for input in plan.inputs() {
                    read.extend(self.plan(input, outer)?);
                }
            }
        }
        Ok(read)
    }

    /// What holds of one operator besides its expressions.
    fn operator(&mut self, plan: &Plan, read: &Set) -> Checked {
        match plan {
            Plan::Scan { table, columns, fields, filters, row_id } => {
                let schema = table.table.schema();
                for column in columns {
                    let stored = schema.columns.get(column.index);
                    let stored = stored.ok_or_else(|| format!("there is no column {}", column.index))?;
                    self.make(column.id, &stored.ty)?;
                }
                for field in fields {
                    let stored = schema.columns.get(field.index).map(|column| &column.ty);
                    let within = |ty: Option<LogicalType>, position: &usize| {
                        let Some(LogicalType::Struct(fields)) = ty else { return None };
                        fields.get(*position).map(|field| field.ty.clone())
                    };
                    let ty = field.path.iter().fold(stored.cloned(), within);
                    self.make(field.id, &ty.ok_or("there is no such field")?)?;
                }
                row_id.iter().try_for_each(|id| self.make(*id, &LogicalType::BigInt))?;
                conditions(filters)
            }
            Plan::Source { source, columns, filters } => {
                for column in columns {
                    let there = source.columns().get(column.index);
                    let there = there.ok_or_else(|| format!("there is no column {}", column.index))?;
                    self.make(column.id, &there.ty)?;
                }
                conditions(filters)
            }
            Plan::Values { columns, rows } => {
                for (index, id) in columns.iter().enumerate() {
                    let ty = self.ty(*id)?;
                    self.make(*id, &ty)?;
                    for row in rows {
                        let value = row.get(index).ok_or("a row is too short")?;
                        is(&value.ty(), &ty, "a value")?;
                    }
                }
                match rows.iter().all(|row| row.len() == columns.len()) {
                    true => Ok(()),
                    false => Err("a row is too long".to_string()),
                }
            }
            Plan::Project { items, .. } => self.items(items),
            Plan::Filter { predicates, .. } => conditions(predicates),
            Plan::Join { kind, conditions: pairs, .. }
            | Plan::DependentJoin { kind, conditions: pairs, .. } => {
                self.join(*kind)?;
                conditions(pairs)
            }
            Plan::OrderedJoin { kind, conditions: pairs, .. } => {
                if let OrderedJoinKind::Asof { kind, .. } = kind {
                    self.join(*kind)?;
                }
                conditions(pairs)
            }
            Plan::Aggregate { groups, aggregates, .. } => {
                self.items(groups)?;
                for (id, aggregate) in aggregates {
                    let function = &aggregate.function;
                    arguments(&function.name, &aggregate.args, &function.arg_types)?;
                    aggregate.filter.iter().try_for_each(condition)?;
                    self.make(*id, &function.return_type)?;
                }
                Ok(())
            }
            Plan::Window { windows, .. } => {
                windows.iter().try_for_each(|(id, window)| self.window(*id, window))
            }
            Plan::Unnest { lists, ordinality, .. } => {
                for (id, list) in lists {
                    let (ty, mut element) = (self.ty(*id)?, list.ty());
                    while element != ty {
                        element = match element {
                            LogicalType::List(inner) | LogicalType::Array(inner, _) => (*inner).clone(),
                            _ => return Err(format!("{id} of {ty} is unnested from {}", list.ty())),
                        };
                    }
                    self.make(*id, &ty)?;
                }
                ordinality.iter().try_for_each(|id| self.make(*id, &LogicalType::BigInt))
            }
            Plan::TableCall { columns, ordinality, .. } => {
                for id in columns {
                    let ty = self.ty(*id)?;
                    self.make(*id, &ty)?;
                }
                ordinality.iter().try_for_each(|id| self.make(*id, &LogicalType::BigInt))
            }
            Plan::SetOp { left, right, left_columns, right_columns, columns, .. } => {
                self.stacked(columns, [(left, left_columns), (right, right_columns)])
            }
            Plan::Recursive { initial, step, initial_columns, step_columns, columns, .. } => {
                self.stacked(columns, [(initial, initial_columns), (step, step_columns)])
            }
            Plan::LimitBy { by: LimitBy { limit, offset, .. }, .. } => {
                limit.iter().chain(offset).try_for_each(|id| self.has(read, *id, "it reads"))
            }
            Plan::SharedScan { id, columns } => {
                let shared = self.shared.get(id).cloned();
                let shared = shared.ok_or_else(|| format!("shared plan {} is not in scope", id.0))?;
                for (new, of) in columns {
                    self.has(&shared, *of, "it reads")?;
                    let ty = self.ty(*of)?;
                    self.make(*new, &ty)?;
                }
                Ok(())
            }
            Plan::Sort { .. }
            | Plan::Limit { .. }
            | Plan::GroupLimit { .. }
            | Plan::With { .. }
            | Plan::Sample { .. } => Ok(()),
        }
    }

    /// Notes that a column is made, of a type.
    fn make(&mut self, id: ColumnId, ty: &LogicalType) -> Checked {
        is(&self.ty(id)?, ty, &format!("{id}"))?;
        if self.made.insert(id) { Ok(()) } else { Err(format!("{id} is made twice")) }
    }

    /// Columns that are computed, or handed on as themselves.
    fn items(&mut self, items: &[(ColumnId, Expr)]) -> Checked {
        for (id, expr) in items {
            match expr {
                Expr::Column { id: of, .. } if of == id => {}
                expr => self.make(*id, &expr.ty())?,
            }
        }
        let ids: Set = items.iter().map(|(id, _)| *id).collect();
        if ids.len() == items.len() { Ok(()) } else { Err("it makes a column twice".to_string()) }
    }

    fn join(&mut self, kind: JoinKind) -> Checked {
        match kind {
            JoinKind::Mark(id) => self.make(id, &LogicalType::Boolean),
            JoinKind::Inner
            | JoinKind::Left
            | JoinKind::Full
            | JoinKind::Semi
            | JoinKind::Anti
            | JoinKind::Single => Ok(()),
        }
    }

    fn window(&mut self, id: ColumnId, window: &WindowExpr) -> Checked {
        if let Some(function) = window.function.aggregate() {
            arguments(&function.name, &window.args, &function.arg_types)?;
        }
        window.filter.iter().try_for_each(condition)?;
        self.make(id, &window.return_type())
    }

    /// Columns made of those of two inputs.
    fn stacked(&mut self, columns: &[ColumnId], inputs: [(&Plan, &[ColumnId]); 2]) -> Checked {
        for (input, read) in inputs {
            if read.len() != columns.len() {
                return Err(format!("{} columns of an input for {}", read.len(), columns.len()));
            }
            let handed_on: Set = input.output().into_iter().collect();
            for (id, made) in read.iter().zip(columns) {
                self.has(&handed_on, *id, "it reads")?;
                is(&self.ty(*id)?, &self.ty(*made)?, &format!("{id} for {made}"))?;
            }
        }
        columns.iter().try_for_each(|id| self.ty(*id).and_then(|ty| self.make(*id, &ty)))
    }

    fn ty(&self, id: ColumnId) -> Checked<LogicalType> {
        match (id.0 as usize) < self.columns.len() {
            true => Ok(self.columns.ty(id)),
            false => Err(format!("{id} is no column of the query")),
        }
    }

    fn has(&self, known: &Set, id: ColumnId, what: &str) -> Checked {
        match known.contains(&id) {
            true => Ok(()),
            false => Err(format!("{what} {id} (\"{}\"), which no input makes", self.columns.get(id).name)),
        }
    }

    fn expr(&self, expr: &Expr, read: &Set) -> Checked {
        stacker::maybe_grow(512 << 10, 4 << 20, || {
            expr.children().into_iter().try_for_each(|child| self.expr(child, read))?;
            match expr {
                Expr::Column { id, ty } => {
                    self.ty(*id)?;
                    self.has(read, *id, "it reads")?;
                    is(ty, &self.ty(*id)?, &format!("{id}"))
                }
                Expr::Literal { value, ty } if !value.is_null() => {
                    is(&value.logical_type(), ty, "a constant")
                }
                Expr::Call { function, args, .. } => arguments(&function.name, args, &function.arg_types),
                Expr::Compare { left, right, .. } => is(&left.ty(), &right.ty(), "one side of a comparison"),
                Expr::And(parts) | Expr::Or(parts) => match parts.is_empty() {
                    true => Err("AND or OR of nothing".to_string()),
                    false => conditions(parts),
                },
                Expr::Not(input) => condition(input),
                Expr::InList { input, list } => all_of(list, &input.ty(), "an item of IN"),
                Expr::InConstants { input, list } => {
                    is(&list.values().logical_type(), &input.ty(), "the constants of IN")
                }
                Expr::Case { branches, otherwise, ty } => {
                    branches.iter().try_for_each(|(when, _)| condition(when))?;
                    let values = branches.iter().map(|(_, value)| value).chain([&**otherwise]);
                    all_of(values, ty, "a branch of CASE")
                }
                Expr::Coalesce { args, ty } => all_of(args, ty, "an argument of COALESCE"),
                Expr::Lambda(lambda) => self.lambda(lambda),
                Expr::Literal { .. } | Expr::Cast { .. } | Expr::IsNull(_) => Ok(()),
            }
        })
    }

    /// A lambda's body reads its parameters and what it captured.
    fn lambda(&self, lambda: &Lambda) -> Checked {
        let own: Set = lambda.parameters.iter().chain(&lambda.captured).copied().collect();
        let first = lambda.args.len().checked_sub(lambda.captured.len());
        let first = first.ok_or("a lambda without the values that it captured")?;
        for (id, value) in lambda.captured.iter().zip(&lambda.args[first..]) {
            is(&value.ty(), &self.ty(*id)?, &format!("{id} of a lambda"))?;
        }
        self.expr(&lambda.body, &own)
    }
}

fn is(found: &LogicalType, wanted: &LogicalType, what: &str) -> Checked {
    if found == wanted { Ok(()) } else { Err(format!("{what} is {found} in the place of {wanted}")) }
}

fn condition(expr: &Expr) -> Checked {
    is(&expr.ty(), &LogicalType::Boolean, "a condition")
}

fn conditions(exprs: &[Expr]) -> Checked {
    exprs.iter().try_for_each(condition)
}

fn all_of<'e>(exprs: impl IntoIterator<Item = &'e Expr>, ty: &LogicalType, what: &str) -> Checked {
    exprs.into_iter().try_for_each(|expr| is(&expr.ty(), ty, what))
}

fn arguments(name: &str, args: &[Expr], types: &[LogicalType]) -> Checked {
    if args.len() != types.len() {
        return Err(format!("{name} has {} arguments in the place of {}", args.len(), types.len()));
    }
    args.iter().zip(types).try_for_each(|(arg, ty)| is(&arg.ty(), ty, &format!("an argument of {name}")))
}

/// An operator's name, for errors.
fn name(plan: &Plan) -> &'static str {
    match plan {
        Plan::Scan { .. } => "scan",
        Plan::Source { .. } => "source",
        Plan::Values { .. } => "values",
        Plan::Project { .. } => "projection",
        Plan::Filter { .. } => "filter",
        Plan::Join { .. } => "join",
        Plan::OrderedJoin { .. } => "ordered join",
        Plan::DependentJoin { .. } => "dependent join",
        Plan::Aggregate { .. } => "aggregation",
        Plan::Window { .. } => "window",
        Plan::Unnest { .. } => "unnest",
        Plan::TableCall { .. } => "table call",
        Plan::Sort { .. } => "sort",
        Plan::Limit { .. } => "limit",
        Plan::GroupLimit { .. } => "limit of groups",
        Plan::SetOp { .. } => "set operation",
        Plan::With { .. } => "with",
        Plan::LimitBy { .. } => "computed limit",
        Plan::Sample { .. } => "sample",
        Plan::Recursive { .. } => "recursion",
        Plan::SharedScan { .. } => "shared scan",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use inlay_types::Value;

    fn row(columns: &mut Columns, values: &[Value]) -> Plan {
        let ids = values.iter().map(|value| columns.add("x", value.logical_type())).collect();
        let row = values.iter().map(|value| Expr::literal(value.clone())).collect();
        Plan::Values { columns: ids, rows: vec![row] }
    }

    fn refused(plan: &Plan, columns: &Columns, what: &str) {
        let found = plan.verify(columns, []).unwrap_err();
        assert!(found.contains(what), "{found}");
    }

    #[test]
    fn what_does_not_hold_is_named() {
        let mut columns = Columns::new();
        let one = row(&mut columns, &[Value::Integer(1)]);
        let [made] = one.output()[..] else { unreachable!() };
        one.verify(&columns, [made]).unwrap();

        let stranger = columns.add("stranger", LogicalType::Integer);
        let reads = one.clone().project(vec![(stranger, columns.expr(stranger))]);
        refused(&reads, &columns, "projection: it reads #1 (\"stranger\"), which no input makes");

        let number = columns.expr(made);
        refused(&one.clone().filter(vec![number.clone()]), &columns, "filter: a condition is INTEGER");

        let twice = Plan::join(JoinKind::Inner, one.clone(), one.clone(), Vec::new());
        refused(&twice, &columns, "values: #0 is made twice");

        let text = columns.add("text", LogicalType::Varchar);
        refused(
            &one.clone().project(vec![(text, number)]),
            &columns,
            "#2 is VARCHAR in the place of INTEGER",
        );

        let shared = Plan::SharedScan { id: columns.add_shared(), columns: Vec::new() };
        refused(&shared, &columns, "shared scan: shared plan 0 is not in scope");
        assert!(one.verify(&columns, [stranger]).unwrap_err().contains("the query delivers #1"));
    }
}
