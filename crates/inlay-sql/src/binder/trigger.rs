//! Triggers: their definitions, and their bodies with the rows that they are run for.
//!
//! Rows of a statement are tables that nothing but the body sees ([`Transition::tables`]); the values of one row are constants
//! behind `NEW.` and `OLD.` ([`Transition::row`]). A body is bound as its table's owner, with its names looked up where the table
//! is. It is bound anew each time it runs, as views are.

use super::build::Build;
use super::object::{Home, Target};
use super::query::{CteDef, Sharing};
use super::scope::{CteFrame, same_name};
use super::{BindContext, Binder};
use crate::parser::ast::trigger::{CreateTrigger, TriggerEvent, TriggerTiming};
use crate::parser::ast::{
    self, Expr as AstExpr, ExprKind, Ident, JoinCondition, JoinKind, ObjectName, OnExisting, Pos, Query,
    QueryBody, StatementKind, TableRef,
};
use crate::plan::object::{DroppedTrigger, NewTrigger, ObjectStatement};
use crate::plan::{self, Expr, HeldRows};
use inlay_catalog::{SourceColumn, TableSchema};
use inlay_types::{Error, LogicalType, Result, Value};
use std::sync::Arc;

/// The rows that a body is bound with.
#[derive(Clone, Debug, Default)]
pub struct Transition {
    /// The database and the key of the trigger's table, where names are looked up first.
    pub home: (String, String),
    /// What names in FROM mean: rows of the statement.
    pub tables: Vec<Arc<HeldRows>>,
    /// What NEW and OLD mean.
    pub row: Vec<RowImage>,
}

/// A row before or after its change.
#[derive(Clone, Debug)]
pub struct RowImage {
    /// NEW or OLD.
    pub name: &'static str,
    /// Names, types and values of its columns.
    pub columns: Vec<(String, LogicalType, Value)>,
}

/// What rows before their change are called.
pub const OLD: &str = "old";
/// What rows after their change are called.
pub const NEW: &str = "new";

impl Transition {
    /// What the body of a trigger may speak of, without rows: to be looked at when it is made.
    pub fn of_nothing(create: &CreateTrigger, database: &str, schema: &TableSchema) -> Self {
        let mut all = Self { home: (database.to_string(), schema.name.clone()), ..Self::default() };
        let columns = || schema.visible().map(|(_, column)| column);
        if create.per_row {
            let has = |event: fn(&TriggerEvent) -> bool| create.events.iter().all(event);
            let image = |name| RowImage {
                name,
                columns: columns()
                    .map(|column| (column.name.clone(), column.ty.clone(), Value::Null))
                    .collect(),
            };
            if has(|event| !matches!(event, TriggerEvent::Delete)) {
                all.row.push(image(NEW));
            }
            if has(|event| !matches!(event, TriggerEvent::Insert)) {
                all.row.push(image(OLD));
            }
        }
        for name in [&create.old_rows, &create.new_rows].into_iter().flatten() {
            let columns =
                columns().map(|column| SourceColumn { name: column.name.clone(), ty: column.ty.clone() });
            all.tables.push(Arc::new(HeldRows::new(name.value.clone(), columns.collect())));
        }
        all
    }
}

/// Binds a statement of a trigger's body.
pub fn bind_trigger(
    statement: &ast::Statement,
    context: &BindContext<'_>,
    transition: &Transition,
) -> Result<plan::Statement> {
    Binder::new(context, Arc::clone(&statement.sql))
        .of_trigger(transition, |binder| binder.statement(statement))
}

/// Binds WHEN as a query of one row: whether it holds.
pub fn bind_trigger_condition(
    condition: &AstExpr,
    sql: &Arc<str>,
    context: &BindContext<'_>,
    transition: &Transition,
) -> Result<plan::statement::Query> {
    Binder::new(context, Arc::clone(sql)).of_trigger(transition, |binder| {
        let build = Build(condition.pos);
        let holds = build.cast(condition.clone(), LogicalType::Boolean);
        let select = build.select(vec![build.item(holds, "holds".to_string())], Vec::new());
        let bound = binder.query(&build.query(QueryBody::Select(Box::new(select))))?;
        binder.finish(bound)
    })
}

/// An INSERT of one row of values, for each of many rows at once: a SELECT of these values from the rows, which the transition has as
/// the tables NEW and OLD. `None` for anything that may not be carried out so.
pub fn of_all_rows(create: &CreateTrigger, tables: &[&'static str]) -> Option<ast::Statement> {
    let [statement] = create.body.as_slice() else { return None };
    let StatementKind::Insert(insert) = &statement.kind else { return None };
    let source = insert.source.as_deref()?;
    let QueryBody::Values { rows, pos } = &source.body else { return None };
    let ([row], None, None) = (rows.as_slice(), &insert.on_conflict, &insert.returning) else { return None };
    let condition = create.condition.as_ref().map(|(condition, _)| condition);
    if !source.ctes.is_empty() || row.iter().chain(condition).any(depends_on_more) {
        return None;
    }
    let build = Build(*pos);
    let table = |name: &&str| TableRef::Table {
        name: ObjectName { parts: vec![build.ident(*name)], is_string: false },
        alias: None,
    };
    let joined = tables.iter().map(table).reduce(|left, right| TableRef::Join {
        left: Box::new(left),
        right: Box::new(right),
        kind: JoinKind::Positional,
        condition: JoinCondition::None,
        pos: *pos,
    })?;
    let items = row.iter().enumerate().map(|(index, value)| build.item(value.clone(), format!("c{index}")));
    let mut select = build.select(items.collect(), vec![joined]);
    select.filter = condition.cloned();
    let mut insert = insert.clone();
    insert.source = Some(Box::new(Query::of(QueryBody::Select(Box::new(select)))));
    Some(ast::Statement { kind: StatementKind::Insert(insert), ..statement.clone() })
}

/// Whether a value may be another one when rows before its own have changed something, or is none without its place.
fn depends_on_more(expr: &AstExpr) -> bool {
    use ExprKind as E;
    // Functions may read tables and sequences, and aggregates would be over all rows.
    let is_more = matches!(
        expr.kind,
        E::Subquery(_)
            | E::RowQuery { .. }
            | E::Exists { .. }
            | E::InSubquery { .. }
            | E::Quantified { .. }
            | E::Function(_)
            | E::Window(_)
            | E::Columns(_)
            | E::Default
    );
    // A name alone would be looked up in the rows.
    let is_alone = matches!(&expr.kind, E::Column(parts) if parts.len() < 2);
    is_more || is_alone || expr.children().into_iter().any(depends_on_more)
}

impl Binder<'_> {
    fn of_trigger<T>(
        mut self,
        transition: &Transition,
        work: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let (database, key) = &transition.home;
        self.stored_in = Some(Home::of(database, key));
        let mut frame = CteFrame::default();
        for rows in &transition.tables {
            frame.ctes.push(CteDef::of_rows(rows.name().to_string(), Sharing::Held(Arc::clone(rows))));
        }
        self.ctes.push(frame);
        self.trigger_row.clone_from(&transition.row);
        work(&mut self)
    }

    /// The value of `NEW.column` or `OLD.column`.
    pub(super) fn trigger_value(&self, parts: &[Ident]) -> Result<Option<Expr>> {
        // Names in the text of a view are the view's.
        let [first, column] = parts else { return Ok(None) };
        if self.view_depth > 0 {
            return Ok(None);
        }
        let Some(image) = self.trigger_row.iter().find(|image| same_name(image.name, &first.value)) else {
            return Ok(None);
        };
        match image.columns.iter().find(|(name, ..)| same_name(name, &column.value)) {
            Some((_, ty, value)) => Ok(Some(Expr::Literal { value: value.clone(), ty: ty.clone() })),
            None => {
                let (row, name) = (image.name.to_uppercase(), &column.value);
                let near =
                    inlay_catalog::near_names(name, image.columns.iter().map(|(name, ..)| name.as_str()));
                let error = Error::bind(super::object::undefined("column", &format!("{row}.{name}"), &near));
                Err(self.at(error, column.pos))
            }
        }
    }

    pub(super) fn new_trigger(&mut self, create: &CreateTrigger) -> Result<ObjectStatement> {
        let Target { database, entry } = self.table(&create.table)?;
        self.check_trigger(create, entry.table.schema())?;
        let transition = Transition::of_nothing(create, &database, entry.table.schema());
        if let Some((condition, _)) = &create.condition {
            bind_trigger_condition(condition, &self.sql, self.context, &transition)?;
        }
        for statement in &create.body {
            let bound = bind_trigger(statement, self.context, &transition)?;
            if let Some((other, table)) = bound.target().filter(|(other, _)| !same_name(other, &database)) {
                let message = format!(
                    "trigger \"{}\" of database \"{database}\" cannot change table \"{}\" of database \"{other}\"",
                    create.name.value, table.name
                );
                return Err(self.at(Error::bind(message), create.name.pos));
            }
        }
        Ok(ObjectStatement::CreateTrigger(Box::new(NewTrigger {
            database,
            table: entry,
            create: create.clone(),
            or_replace: create.on_existing == OnExisting::Replace,
            if_not_exists: create.on_existing == OnExisting::Keep,
        })))
    }

    /// What no body could make good.
    fn check_trigger(&self, create: &CreateTrigger, schema: &TableSchema) -> Result<()> {
        let refuse = |message: String, pos: Pos| Err(self.at(Error::bind(message), pos));
        let rows = [("OLD", &create.old_rows), ("NEW", &create.new_rows)];
        for (word, name) in rows.into_iter().filter_map(|(word, name)| Some((word, name.as_ref()?))) {
            if create.timing == TriggerTiming::Before {
                return refuse(
                    format!("{word} TABLE is there behind the statement: AFTER, not BEFORE"),
                    name.pos,
                );
            }
            if create.per_row {
                return refuse(
                    format!(
                        "REFERENCING {word} TABLE goes with FOR EACH STATEMENT; {word}.column is a value of the row"
                    ),
                    name.pos,
                );
            }
            for event in &create.events {
                let is_none = match event {
                    TriggerEvent::Insert => word == "OLD",
                    TriggerEvent::Delete => word == "NEW",
                    TriggerEvent::Update(_) => false,
                };
                if is_none {
                    return refuse(format!("{} has no {word} TABLE", event.word()), name.pos);
                }
            }
        }
        if create.per_row && create.timing == TriggerTiming::Before {
            let error = Error::Unsupported {
                feature: "BEFORE ... FOR EACH ROW".to_string(),
                alternative: Some("AFTER, or FOR EACH STATEMENT".to_string()),
            };
            return Err(self.at(error, create.name.pos));
        }
        for (index, event) in create.events.iter().enumerate() {
            if create.events[..index].iter().any(|before| before.word() == event.word()) {
                return refuse(format!("the trigger names {} twice", event.word()), create.name.pos);
            }
            if let TriggerEvent::Update(columns) = event
                && let Some(unknown) = columns.iter().find(|column| schema.position(&column.value).is_none())
            {
                let known = schema.visible().map(|(_, column)| column.name.as_str());
                let near = inlay_catalog::near_names(&unknown.value, known);
                return refuse(super::object::undefined("column", &unknown.value, &near), unknown.pos);
            }
        }
        Ok(())
    }

    pub(super) fn dropped_trigger(
        &mut self,
        name: &Ident,
        table: &ObjectName,
        if_exists: bool,
    ) -> Result<ObjectStatement> {
        let found = if if_exists { self.object_if(table, true)?.is_some() } else { true };
        let target = match found {
            true => Some(self.table(table)?).map(|Target { database, entry }| (database, entry)),
            false => None,
        };
        Ok(ObjectStatement::DropTrigger(DroppedTrigger { target, name: name.value.clone(), if_exists }))
    }
}
