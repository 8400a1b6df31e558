//! Fields of stored structs: where a query names fields of a struct column, the scan hands on these instead of the struct.
//!
//! Calls of `struct_extract` on a column of a table become columns of its scan ([`ScanField`]), wherever they are: behind joins,
//! too, as a field of a struct that is NULL is NULL. A column of which something wants the whole stays; its fields are then read for the
//! scan's own conditions alone, where they let row groups be left out.
//!
//! Runs last: what other passes know of columns and expressions they know without it.

use super::column_set::ColumnSet;
use super::rewrite::with_stack;
use super::simplify::field_position;
use crate::plan::{ColumnId, Columns, Expr, Plan, ScanField};
use inlay_types::LogicalType;

/// Has scans read the fields that a plan names, of which the columns `output` are delivered.
pub fn run(plan: &mut Plan, columns: &mut Columns, output: impl Iterator<Item = ColumnId>) {
    let mut structs = ColumnSet::new();
    find_structs(plan, columns, &mut structs);
    if structs.is_empty() {
        return;
    }
    let mut whole: ColumnSet = output.collect();
    find_whole(plan, &mut whole);
    let mut pass = Pass { structs, whole, columns, found: Vec::new() };
    pass.name(plan);
    let found = pass.found;
    if !found.is_empty() {
        let mut read = ColumnSet::new();
        read_anywhere(plan, &mut read);
        read.union_with(&pass.whole);
        hand_on(plan, &found, &read);
    }
}

fn find_structs(plan: &Plan, columns: &Columns, found: &mut ColumnSet) {
    if let Plan::Scan { columns: scanned, .. } = plan {
        let structs = scanned.iter().filter(|c| matches!(columns.get(c.id).ty, LogicalType::Struct(_)));
        structs.for_each(|column| {
            found.insert(column.id);
        });
    }
    plan.inputs().into_iter().for_each(|input| with_stack(|| find_structs(input, columns, found)));
}

/// Adds the columns that an operator reads besides its expressions.
fn add_listed(plan: &Plan, read: &mut ColumnSet) {
    let listed: Vec<ColumnId> = match plan {
        Plan::SetOp { left_columns: first, right_columns: second, .. }
        | Plan::Recursive { initial_columns: first, step_columns: second, .. } => {
            [&first[..], second].concat()
        }
        Plan::SharedScan { columns, .. } => columns.iter().map(|(_, from)| *from).collect(),
        Plan::LimitBy { by, .. } => by.limit.iter().chain(&by.offset).copied().collect(),
        Plan::Scan { .. }
        | Plan::Source { .. }
        | Plan::Values { .. }
        | Plan::Project { .. }
        | Plan::Filter { .. }
        | Plan::Join { .. }
        | Plan::DependentJoin { .. }
        | Plan::OrderedJoin { .. }
        | Plan::Aggregate { .. }
        | Plan::TableCall { .. }
        | Plan::Unnest { .. }
        | Plan::Window { .. }
        | Plan::Sort { .. }
        | Plan::Limit { .. }
        | Plan::Sample { .. }
        | Plan::GroupLimit { .. }
        | Plan::With { .. } => Vec::new(),
    };
    listed.into_iter().for_each(|id| {
        read.insert(id);
    });
}

/// Adds the columns that are read otherwise than by their fields, but for what scans filter by.
fn find_whole(plan: &Plan, whole: &mut ColumnSet) {
    add_listed(plan, whole);
    if !matches!(plan, Plan::Scan { .. }) {
        plan.expressions().into_iter().for_each(|expr| add_whole(expr, whole));
    }
    plan.inputs().into_iter().for_each(|input| with_stack(|| find_whole(input, whole)));
}

fn add_whole(expr: &Expr, whole: &mut ColumnSet) {
    if let Expr::Column { id, .. } = expr {
        whole.insert(*id);
    } else if field_of(expr).is_none() {
        expr.children().into_iter().for_each(|child| add_whole(child, whole));
    }
}

/// The column, and the positions of the fields that lead from it, if an expression is a field of a column.
fn field_of(expr: &Expr) -> Option<(ColumnId, Vec<usize>)> {
    let Expr::Call { function, args, .. } = expr else { return None };
    let [source, key] = args.as_slice() else { return None };
    if !matches!(&*function.name, "struct_extract" | "struct_extract_at") {
        return None;
    }
    let LogicalType::Struct(fields) = source.ty() else { return None };
    let position = field_position(&fields, key)?;
    if fields[position].ty != function.return_type {
        return None;
    }
    let (id, mut path) = match source {
        Expr::Column { id, .. } => (*id, Vec::new()),
        other => field_of(other)?,
    };
    path.push(position);
    Some((id, path))
}

struct Pass<'a> {
    /// Columns of scans that are structs.
    structs: ColumnSet,
    /// Columns that something but a scan's filter reads as a whole.
    whole: ColumnSet,
    columns: &'a mut Columns,
    found: Vec<Found>,
}

/// A field of a column, and what it is called from now on.
struct Found {
    column: ColumnId,
    path: Vec<usize>,
    id: ColumnId,
    expr: Expr,
}

impl Pass<'_> {
    /// Puts columns in the place of fields.
    fn name(&mut self, plan: &mut Plan) {
        let is_scan = matches!(plan, Plan::Scan { .. });
        plan.expressions_mut().into_iter().for_each(|expr| self.replace(expr, is_scan));
        plan.inputs_mut().into_iter().for_each(|input| with_stack(|| self.name(input)));
    }

    fn replace(&mut self, expr: &mut Expr, in_scan: bool) {
        match field_of(expr) {
            Some((column, path)) => {
                if self.structs.contains(column) && (in_scan || !self.whole.contains(column)) {
                    let id = self.id_of(column, path, expr);
                    *expr = self.columns.expr(id);
                }
            }
            None => expr.children_mut().into_iter().for_each(|child| self.replace(child, in_scan)),
        }
    }

    fn id_of(&mut self, column: ColumnId, path: Vec<usize>, expr: &Expr) -> ColumnId {
        if let Some(known) = self.found.iter().find(|found| found.column == column && found.path == path) {
            return known.id;
        }
        let name = self.name_of(column, &path);
        let id = self.columns.add(name, expr.ty());
        self.found.push(Found { column, path, id, expr: expr.clone() });
        id
    }

    /// As it is written in a query.
    fn name_of(&self, column: ColumnId, path: &[usize]) -> String {
        let def = self.columns.get(column);
        let (mut name, mut ty) = (def.name.clone(), def.ty.clone());
        for position in path {
            let LogicalType::Struct(fields) = &ty else { break };
            let field = &fields[*position];
            name = match &*field.name {
                "" => format!("{name}[{}]", position + 1),
                field => format!("{name}.{field}"),
            };
            ty = field.ty.clone();
        }
        name
    }
}

/// Adds the columns that are read as such anywhere.
fn read_anywhere(plan: &Plan, read: &mut ColumnSet) {
    plan.expressions().into_iter().for_each(|expr| read.add_expr(expr));
    plan.inputs().into_iter().for_each(|input| with_stack(|| read_anywhere(input, read)));
}

/// Has scans hand on the fields, and no more the structs that nobody reads.
fn hand_on(plan: &mut Plan, found: &[Found], read: &ColumnSet) {
    if let Plan::Scan { columns, fields, .. } = plan {
        for column in columns.iter() {
            let own = found.iter().filter(|found| found.column == column.id);
            fields.extend(own.map(|found| ScanField {
                id: found.id,
                index: column.index,
                path: found.path.clone().into(),
                source: column.id,
                expr: found.expr.clone(),
            }));
        }
        let is_named = |id: ColumnId| found.iter().any(|found| found.column == id);
        columns.retain(|column| column.full_at.is_some() || !is_named(column.id) || read.contains(column.id));
    }
    plan.inputs_mut().into_iter().for_each(|input| with_stack(|| hand_on(input, found, read)));
}
