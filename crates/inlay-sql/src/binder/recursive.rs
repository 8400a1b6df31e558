//! WITH RECURSIVE: a CTE that reads itself.
//!
//! `initial UNION [ALL] step`: the step sees, under the CTE's name, the rows of the round before. The initial query
//! decides names and types; the step's columns are converted to them. CTEs defined inside of the step that read the
//! recursion's rows belong to the step; the others are computed once.

use super::query::count_shared;
use super::scope::same_name;
use super::{Binder, Bound, Output, Shared};
use crate::parser::ast::{Ident, Query, QueryBody, SetOperation};
use crate::plan::{KeyedRecursion, Plan, SharedId};
use inlay_types::{Candidates, Error, LogicalType, Result};

impl Binder<'_> {
    /// Binds `initial UNION [ALL] step`; `None` if the query is not of this form.
    pub(super) fn recursive_query(
        &mut self,
        query: &Query,
        names: &[Ident],
        name: &str,
    ) -> Result<Option<Bound>> {
        let QueryBody::SetOperation { kind: SetOperation::Union, all, by_name: false, left, right } =
            &query.body
        else {
            return Ok(None);
        };
        let frames = self.ctes.len();
        let bound = self.recursion(query, (left, right), *all, names, name);
        self.leave_ctes(frames, bound).map(Some)
    }

    /// USING KEY of a recursion that makes columns.
    fn keyed(&mut self, query: &Query, output: &[Output], name: &str) -> Result<KeyedRecursion> {
        let mut keys = Vec::with_capacity(query.keys.len());
        for key in &query.keys {
            let Some(position) = output.iter().position(|column| same_name(&column.name, &key.value)) else {
                let candidates = Candidates::of(&key.value, output.iter().map(|column| column.name.as_str()));
                let error = Error::UndefinedColumn { name: format!("{name}.{}", key.value), candidates };
                return Err(self.at(error, key.pos));
            };
            keys.push(position);
        }
        // Without keys the rows of all rounds are kept, if the step reads them.
        let recurring = self.columns.add_shared();
        Ok(KeyedRecursion { recurring, keys })
    }

    fn recursion(
        &mut self,
        query: &Query,
        (left, right): (&QueryBody, &QueryBody),
        all: bool,
        names: &[Ident],
        name: &str,
    ) -> Result<Bound> {
        self.define_ctes(query)?;
        let tail = self.tail(query)?;
        let mut initial = self.body(left)?;
        let types: Vec<LogicalType> = initial
            .output
            .iter()
            .map(|column| match self.columns.ty(column.id) {
                LogicalType::Null => LogicalType::Integer,
                ty => ty,
            })
            .collect();
        self.rename(&mut initial, names, name)?;
        let mut output: Vec<Output> = Vec::with_capacity(types.len());
        for (column, ty) in initial.output.iter().zip(&types) {
            let id = self.columns.add(column.name.clone(), ty.clone());
            output.push(Output { id, name: column.name.clone() });
        }
        let id = self.columns.add_shared();
        let keyed = self.keyed(query, &output, name)?;
        let step_shared = self.shared.len();
        self.show_cte(&recurring_name(name), keyed.recurring, output.clone());
        self.show_cte(name, id, output.clone());
        let step = self.body(right);
        self.hide_cte();
        self.hide_cte();
        let step = step?;
        let mut all = all;
        let read: Vec<SharedId> = vec![id, keyed.recurring];
        let own = self.shared.split_off(step_shared);
        let (inside, outside) = divide(own, read.clone());
        let reads_all = count_shared(&step.plan, keyed.recurring) > 0
            || inside.iter().any(|one| count_shared(&one.definition, keyed.recurring) > 0);
        let keyed = (reads_all || !keyed.keys.is_empty()).then_some(keyed);
        self.shared.extend(outside);
        if read.iter().all(|id| count_shared(&step.plan, *id) == 0) && inside.is_empty() {
            if query.keys.is_empty() {
                let union = self.set_operation(SetOperation::Union, all, false, initial, step)?;
                return self.order_whole(union, &tail);
            }
            // Each round gives the same rows, so the second changes nothing.
            all = false;
        }
        if step.output.len() != output.len() {
            let (first, second) = (output.len(), step.output.len());
            let message = format!(
                "UNION needs as many columns on both sides: the recursion of \"{name}\" begins with {first} and goes on with {second}"
            );
            return Err(Error::bind(message));
        }
        let (initial_plan, initial_columns) = self.with_types(initial.plan, &initial.output, &types)?;
        let (step_plan, step_columns) = self.with_types(step.plan, &step.output, &types)?;
        let step = Box::new(self.put_shared(step_plan, inside));
        let columns = output.iter().map(|column| column.id).collect();
        let initial = Box::new(initial_plan);
        let plan = Plan::Recursive { id, all, keyed, initial, step, initial_columns, step_columns, columns };
        self.order_whole(Bound { plan, output }, &tail)
    }
}

/// What the rows of all keys of a recursion are called.
pub(super) fn recurring_name(name: &str) -> String {
    format!("{RECURRING}.{name}")
}

/// The schema in which the rows of all keys seem to lie.
pub(super) const RECURRING: &str = "recurring";

/// Shared plans that read the rows of the recursion, directly or by others, and those that do not.
fn divide(shared: Vec<Shared>, mut dependent: Vec<SharedId>) -> (Vec<Shared>, Vec<Shared>) {
    let (mut inside, mut outside) = (Vec::new(), Vec::new());
    for one in shared {
        if dependent.iter().any(|id| count_shared(&one.definition, *id) > 0) {
            dependent.push(one.id);
            inside.push(one);
        } else {
            outside.push(one);
        }
    }
    (inside, outside)
}
