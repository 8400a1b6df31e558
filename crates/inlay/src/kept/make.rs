//! Makes a point of a statement: bound with slots and with values, taken apart, compiled.

use super::access::{Access, Operand};
use super::point::{Action, Output, Point};
use super::shape::{Shape, collect_slots, is_lasting};
use crate::change::checks::Checks;
use crate::change::writer::RowWriter;
use crate::execute::{Run, output_types};
use crate::result::OneRow;
use crate::transactions::TEMPORARY;
use inlay_exec::expression::{Filter, Layout, Program};
use inlay_sql::binder::{Slot, Slots};
use inlay_sql::parser::ast::{self, StatementKind as Kind};
use inlay_sql::plan::statement::{BoundCheck, Returning};
use inlay_sql::plan::{ColumnId, Expr, Statement};
use inlay_storage::Table;
use inlay_storage::store::Object;
use inlay_types::{LogicalType, Result, Value, Vector};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Most items behind IN that are compared one by one.
const LISTED_MAX: usize = 16;

/// Whether a look at the written statement does not rule it out.
pub(super) fn may_be_point(kind: &Kind) -> bool {
    let is_empty = |order: &ast::OrderBy| matches!(order, ast::OrderBy::Items(items) if items.is_empty());
    match kind {
        Kind::Query(query) => {
            let ast::QueryBody::Select(select) = &query.body else { return false };
            query.limit.is_none()
                && query.offset.is_none()
                && is_empty(&query.order_by)
                && select.from.len() == usize::from(select.filter.is_some())
                && select.distinct == ast::Distinct::No
                && select.having.is_none()
                && select.qualify.is_none()
                && select.sample.is_none()
        }
        Kind::Insert(insert) => {
            insert.on_conflict.is_none()
                && insert.source.as_ref().is_some_and(
                    |query| matches!(&query.body, ast::QueryBody::Values { rows, .. } if rows.len() == 1),
                )
        }
        Kind::Update(update) => update.from.is_empty() && update.filter.is_some(),
        Kind::Delete(delete) => delete.using.is_empty() && delete.filter.is_some(),
        _ => false,
    }
}

/// The expressions of a point, and where the columns they read are in its batches.
struct Compiler<'a> {
    shape: &'a Shape,
    slots: &'a [Slot],
    access: Option<Access>,
    /// The predicates that the access leaves.
    left: Vec<Expr>,
    /// Numbers of the slots; first the `read_count` that `left` and computed outputs read.
    used: Vec<usize>,
    read_count: usize,
    /// Ids of the columns of the batches: of the table, the row id, the slots.
    layout: Vec<ColumnId>,
}

impl Run<'_> {
    /// The point that a statement is, and the database that it is about.
    pub(super) fn make_point(&self, statement: &ast::Statement) -> Option<(String, Point)> {
        let (bound, _) = self.bind_lasting(statement, None)?;
        let shape = Shape::of(&bound)?;
        let slots = Slots::default();
        let (template, _) = self.bind_lasting(statement, Some(&slots))?;
        let slots = slots.into_slots();
        let general = Shape::of(&template)?;
        if !general.is_filled(&slots, &shape) || !general.exprs().all(is_lasting) {
            return None;
        }
        let database = self.database_of(&template, &general)?;
        let is_referred_to = self.is_referred_to(&template)?;
        let point = Compiler::new(&general, &slots)?.point(template, is_referred_to)?;
        Some((database, point))
    }

    /// Binds, unless the statement asks for something that may be another thing the next time. Says, too, whether it asked for
    /// all names there are.
    pub(super) fn bind_lasting(
        &self,
        statement: &ast::Statement,
        slots: Option<&Slots>,
    ) -> Option<(Statement, bool)> {
        let names = self.names(&[]);
        let bound =
            self.with_slots(&names, slots, |context| inlay_sql::binder::bind(statement, context)).ok()?;
        let asked = names.asked.load(Ordering::Relaxed) || names.failure.into_inner().is_some();
        (!asked).then(|| (bound, names.listed.into_inner()))
    }

    /// The database of the statement's table, if names without one are looked up there.
    fn database_of(&self, statement: &Statement, shape: &Shape) -> Option<String> {
        let table = match (&shape.scan, statement.target()) {
            (Some(scan), _) => &scan.table.table,
            (None, Some((_, entry))) => &entry.table,
            (None, None) => return Some(self.transactions.current(self.database)),
        };
        let owns = |database: &String| {
            let state = self.transactions.of(self.database, database).ok()?.state();
            let Some(Object::Table(slot)) = state.object(table.id()) else { return None };
            slot.table().ok().filter(|own| Arc::ptr_eq(own, table)).map(|_| ())
        };
        let temporary = super::temporary_mark(self).map(|_| TEMPORARY.to_string());
        let current = self.transactions.current(self.database);
        [Some(current), temporary].into_iter().flatten().find(|database| owns(database).is_some())
    }
}

impl Run<'_> {
    /// Whether foreign keys refer to the table that a statement changes.
    fn is_referred_to(&self, statement: &Statement) -> Option<bool> {
        let Some((database, table)) = statement.target() else { return Some(false) };
        let writer = RowWriter::new(self, database).ok()?;
        // What it sets off takes the general way.
        if writer.transaction.state().has_triggers() {
            return None;
        }
        writer.references_to(&table.table).ok().map(|references| !references.is_empty())
    }
}

impl<'a> Compiler<'a> {
    fn new(shape: &'a Shape, slots: &'a [Slot]) -> Option<Self> {
        let access = match &shape.scan {
            Some(scan) => Some(Access::of(scan, &shape.predicates)?),
            None => None,
        };
        let verified = access.as_ref().map_or(&[][..], |access| &access.verified);
        let is_left = |(number, _): &(usize, &Expr)| !verified.contains(number);
        let left: Vec<Expr> = shape
            .predicates
            .iter()
            .enumerate()
            .filter(is_left)
            .map(|(_, predicate)| predicate.clone())
            .collect();
        let computed = shape.outputs.iter().filter(|output| Slots::number(output).is_none());
        let read = slots_of(left.iter().chain(computed));
        let mut used = read.clone();
        used.extend(slots_of(shape.exprs()).into_iter().filter(|number| !read.contains(number)));
        // Lists are compared value by value but where they are looked up.
        if left.iter().any(has_long_list) {
            return None;
        }
        let mut layout: Vec<ColumnId> = Vec::new();
        if let Some(scan) = &shape.scan {
            let is_read = |id: ColumnId| shape.exprs().any(|expr| reads(expr, id));
            layout.extend(scan.columns.iter().map(|column| column.id).filter(|id| is_read(*id)));
            // The rows that a condition on row ids meets cannot be told by their values.
            let by_id = |id: ColumnId| shape.predicates.iter().any(|predicate| reads(predicate, id));
            if scan.row_id.is_some_and(by_id) {
                return None;
            }
            layout.extend(scan.row_id.filter(|id| is_read(*id)));
        }
        layout.extend(used.iter().map(|number| Slots::column(*number)));
        Some(Self { shape, slots, access, left, read_count: read.len(), used, layout })
    }

    fn point(self, statement: Statement, is_referred_to: bool) -> Option<Point> {
        let layout = Layout(self.layout.clone());
        let rest: Vec<Expr> = self.left.iter().map(plain).collect();
        let all: Vec<Expr> = self.shape.predicates.iter().map(plain).collect();
        let scan = self.shape.scan.as_ref();
        let table = match (scan, statement.target()) {
            (Some(scan), _) => Some(Arc::clone(&scan.table.table)),
            (None, target) => target.map(|(_, entry)| Arc::clone(&entry.table)),
        };
        let action = action(statement).ok()??;
        // The row id is known without the row.
        let ids = usize::from(matches!(action, Action::Update { .. } | Action::Delete { .. }));
        let (mut outputs, mut computed) = (Vec::new(), Vec::new());
        for output in self.shape.outputs.iter().skip(ids) {
            outputs.push(self.output(output, &mut computed));
        }
        let program = Program::compile_many(&computed, &layout).ok()?.over_rows();
        let are_known =
            outputs.iter().all(|output| matches!(output, Output::Literal(..) | Output::Operand(..)));
        let positions = |id: &ColumnId| scan?.columns.iter().find(|column| column.id == *id).map(|c| c.index);
        let columns: Vec<usize> = self.layout.iter().filter_map(positions).collect();
        let has_row_id = scan.and_then(|scan| scan.row_id).is_some_and(|id| self.layout.contains(&id));
        let ty = |column: &usize| table.as_ref().map(|table| table.schema().columns[*column].ty.clone());
        let is_selected = matches!(action, Action::Select { .. });
        let has_key = self.access.as_ref().is_none_or(|access| access.key.is_some());
        // Values of slots lie in batches behind the columns; outputs that are slots are operands.
        let are_values = outputs.iter().all(|output| match output {
            Output::Literal(..) | Output::Operand(..) => true,
            Output::Column(place) => *place < columns.len() + usize::from(has_row_id),
            Output::Computed(_) => false,
        });
        let is_by_values = is_selected && has_key && rest.is_empty() && are_values;
        let constant = match &action {
            Action::Select { types, .. } if self.access.is_none() => constant_row(&outputs, types),
            Action::Select { .. } | Action::Insert { .. } | Action::Update { .. } | Action::Delete { .. } => {
                None
            }
        };
        let refuses_later = |table: &Arc<Table>| {
            let schema = table.schema();
            // Rows with nested values are appended as batches.
            let is_nested = schema.columns.iter().any(|column| column.ty.is_nested());
            is_nested || !schema.foreign_keys.is_empty() || !schema.deferrable_keys.is_empty()
        };
        let is_alone = matches!(action, Action::Insert { returning: None, .. })
            && !table.as_ref().is_none_or(refuses_later);
        Some(Point {
            is_alone,
            is_by_values,
            constant,
            table: table.as_ref().map_or(0, |table| table.id()),
            types: columns.iter().filter_map(ty).collect(),
            columns,
            has_row_id,
            looks_at_rows: !are_known || !rest.is_empty(),
            is_referred_to,
            slots: self.slots.to_vec(),
            used: self.used,
            read_count: self.read_count,
            all: Filter::compile(&all, &layout).ok()?,
            rest: Filter::compile(&rest, &layout).ok()?,
            access: self.access,
            outputs,
            program: (!computed.is_empty()).then_some(program),
            action,
        })
    }

    /// How an expression gets its value; what needs a program is put to `computed`.
    fn output(&self, expr: &Expr, computed: &mut Vec<Expr>) -> Output {
        if let Some(number) = Slots::number(expr) {
            return Output::Operand(Operand::Slot(number), expr.ty());
        }
        let place = |id: &ColumnId| self.layout.iter().position(|known| known == id);
        match expr {
            Expr::Literal { value, ty } => {
                match Vector::from_sql_values(ty.clone(), std::slice::from_ref(value)) {
                    Ok(one) => {
                        let value = one.get(0);
                        Output::Literal(one, value)
                    }
                    Err(_) => Output::Operand(Operand::Constant(value.clone()), ty.clone()),
                }
            }
            Expr::Column { id, .. } => match place(id) {
                Some(place) => Output::Column(place),
                None => Output::computed(plain(expr), computed),
            },
            _ => Output::computed(plain(expr), computed),
        }
    }
}

/// The row of a SELECT that gives nothing but literals.
fn constant_row(outputs: &[Output], types: &Arc<[LogicalType]>) -> Option<Arc<OneRow>> {
    let value = |output: &Output| match output {
        Output::Literal(_, value) => Some(value.clone()),
        Output::Column(_) | Output::Operand(..) | Output::Computed(_) => None,
    };
    let values = outputs.iter().map(value).collect::<Option<Box<[Value]>>>()?;
    Some(Arc::new(OneRow::new(Arc::clone(types), values)))
}

/// What is done with the rows, if that can be done here.
fn action(statement: Statement) -> Result<Option<Action>> {
    let are_kept = |checks: &[BoundCheck], returning: &Option<Returning>| {
        let returned = returning.iter().flat_map(|returning| returning.items.iter().map(|(_, expr)| expr));
        checks.iter().map(|check| &check.condition).chain(returned).all(is_lasting)
    };
    Ok(match statement {
        Statement::Query(query) => {
            let types: Vec<LogicalType> = output_types(&query);
            let names: Vec<String> = query.output.into_iter().map(|(_, name)| name).collect();
            Some(Action::Select { names: names.into(), types: types.into() })
        }
        Statement::Insert(insert) if are_kept(&insert.checks, &insert.returning) => {
            let checks = Checks::of_rows(&insert.checks, insert.table.table.schema())?;
            Some(Action::Insert { checks, returning: insert.returning })
        }
        Statement::Update(update) if are_kept(&update.checks, &update.returning) => {
            let numbers: Vec<usize> = update.set.iter().chain(&update.kept).copied().collect();
            let checks = Checks::new(&update.checks, update.table.table.schema(), &numbers)?;
            Some(Action::Update { set: update.set, numbers, checks, returning: update.returning })
        }
        Statement::Delete(delete) if are_kept(&[], &delete.returning) => {
            Some(Action::Delete { kept: delete.kept, returning: delete.returning })
        }
        _ => None,
    })
}

/// Numbers of the slots of expressions, ascending.
fn slots_of<'e>(exprs: impl Iterator<Item = &'e Expr>) -> Vec<usize> {
    let mut found = Vec::new();
    exprs.for_each(|expr| collect_slots(expr, &mut found));
    found.sort_unstable();
    found.dedup();
    found
}

/// Whether many values that are not known yet are compared with.
fn has_long_list(expr: &Expr) -> bool {
    matches!(expr, Expr::InList { list, .. } if list.len() > LISTED_MAX)
        || expr.children().into_iter().any(has_long_list)
}

fn reads(expr: &Expr, column: ColumnId) -> bool {
    match expr {
        Expr::Column { id, .. } => *id == column,
        other => other.children().into_iter().any(|child| reads(child, column)),
    }
}

/// An expression whose slots are the columns that stand for them.
fn plain(expr: &Expr) -> Expr {
    if let Some(number) = Slots::number(expr) {
        return Expr::Column { id: Slots::column(number), ty: expr.ty() };
    }
    let mut copy = expr.clone();
    copy.children_mut().into_iter().for_each(|child| *child = plain(child));
    copy
}
