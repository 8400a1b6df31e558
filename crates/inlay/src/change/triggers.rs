//! Triggers: what a statement sets off, and with which rows.
//!
//! ```text
//! bound statement -> before -> the statement; its RowWriter keeps images of rows -> its constraints -> after: per row, per statement
//! ```
//! What always holds
//! - A trigger is part of the statement that sets it off: if it fails, nothing of either is left.
//! - Triggers for each row see one row each as NEW and OLD, those for each statement all of them as tables, as they were when the
//!   statement was done. Those of one table run by name, first those for each row.
//! - Rows that a foreign key changes or deletes set off triggers, too. A statement without rows sets off those for each statement.
//! - No trigger sets itself off: a circle is refused when it is made, and one that comes later when it runs.
//! - Bodies are bound as the owner of the table: who may change rows need not be allowed what the trigger does.

use super::rows::{columns_of, pieces};
use super::writer::types_of;
use crate::execute::Run;
use crate::result::QueryResult;
use crate::triggers::{Change, Event, Images, read_trigger};
use inlay_catalog::rights::Subject;
use inlay_catalog::{SourceColumn, Table, TableEntry};
use inlay_exec::rows_size;
use inlay_sql::binder::{self, NEW, OLD, RowImage, Transition};
use inlay_sql::parser::ast;
use inlay_sql::parser::ast::trigger::{CreateTrigger, TriggerEvent, TriggerTiming};
use inlay_sql::plan::statement::{MergeAction, OnConflict};
use inlay_sql::plan::{HeldRows, Plan, Statement};
use inlay_storage::store::{Definition, ObjectId};
use inlay_storage::{RowSet, TableSnapshot};
use inlay_types::{Batch, Error, Result, Value};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Triggers that set each other off, at most: each has a statement of its own on the stack.
const DEPTH_MAX: usize = 16;

/// What a statement is going to do to a table.
struct Aim {
    database: String,
    table: ObjectId,
    event: Event,
    set: Vec<usize>,
}

/// A trigger of a table.
struct Trigger {
    id: ObjectId,
    create: CreateTrigger,
}

impl Trigger {
    fn of(definition: &Definition) -> Result<Self> {
        Ok(Self { id: definition.id, create: read_trigger(definition)? })
    }

    /// Whether an event that sets these columns of a table sets it off.
    fn heeds(&self, event: Event, set: &[usize], table: &Table) -> bool {
        self.create.events.iter().any(|own| match own {
            TriggerEvent::Insert => event == Event::Insert,
            TriggerEvent::Delete => event == Event::Delete,
            TriggerEvent::Update(columns) => {
                let is_set = |position: usize| set.contains(&position);
                event == Event::Update
                    && (columns.is_empty()
                        || columns
                            .iter()
                            .any(|column| table.schema().position(&column.value).is_some_and(is_set)))
            }
        })
    }

    fn wants_rows(&self) -> bool {
        self.create.per_row || self.create.old_rows.is_some() || self.create.new_rows.is_some()
    }

    fn name(&self) -> &str {
        &self.create.name.value
    }
}

/// What a bound statement is going to do, to which tables.
fn aims_of(statement: &Statement, aims: &mut Vec<Aim>) {
    if let Statement::Changing { parts, statement } = statement {
        parts.iter().for_each(|part| aims_of(&part.statement, aims));
        return aims_of(statement, aims);
    }
    let Some((database, entry)) = statement.target() else { return };
    let mut add = |event: Event, set: &[usize]| {
        let (database, table) = (database.to_string(), entry.table.id());
        match aims.iter_mut().find(|aim| aim.database == database && aim.table == table && aim.event == event)
        {
            Some(aim) => aim.set.extend(set),
            None => aims.push(Aim { database, table, event, set: set.to_vec() }),
        }
    };
    match statement {
        Statement::Insert(insert) => {
            add(Event::Insert, &[]);
            if let OnConflict::Update(update) = &insert.on_conflict {
                add(Event::Update, &update.set);
            }
        }
        Statement::Update(update) => add(Event::Update, &update.set),
        Statement::Merge(merge) => merge.clauses.iter().for_each(|clause| match &clause.action {
            MergeAction::Nothing => {}
            MergeAction::Delete => add(Event::Delete, &[]),
            MergeAction::Update { set, .. } => add(Event::Update, set),
            MergeAction::Insert { .. } => add(Event::Insert, &[]),
        }),
        Statement::Delete(_) => add(Event::Delete, &[]),
        other => debug_assert!(false, "{} has a target", other.kind()),
    }
}

impl Run<'_> {
    /// Carries out a statement that changes rows, and what it sets off.
    pub(crate) fn with_triggers(
        &mut self,
        mut statement: Statement,
        work: impl FnOnce(&mut Self, Statement) -> Result<QueryResult>,
    ) -> Result<QueryResult> {
        let mut aims = Vec::new();
        aims_of(&statement, &mut aims);
        if !self.has_triggers(&aims)? {
            return work(self, statement);
        }
        let before = self.set_off(&aims, TriggerTiming::Before)?;
        if let Some(database) = aims.first().map(|aim| aim.database.clone()).filter(|_| !before.is_empty()) {
            let read = self.tables_read(&mut statement, &database)?;
            for (aim, trigger) in before {
                self.fire(&aims[aim], &trigger, &Change::default())?;
            }
            self.renew(&mut statement, &database, &read)?;
        }
        let outer = std::mem::take(&mut *self.session.triggers.images.lock());
        let answer = work(self, statement);
        let images = std::mem::replace(&mut *self.session.triggers.images.lock(), outer);
        let answer = answer?;
        self.fire_after(aims, images)?;
        Ok(answer)
    }

    /// Keeps what a statement changed until its triggers run.
    pub(super) fn note_images(&self, images: Images) {
        *self.session.triggers.images.lock() = images;
    }

    /// Whether a table that the statement may change by its foreign keys has triggers.
    fn has_triggers(&self, aims: &[Aim]) -> Result<bool> {
        let Some(aim) = aims.first() else { return Ok(false) };
        Ok(self.to_change(&aim.database)?.state().has_triggers())
    }

    /// The triggers of the tables, by aim.
    fn triggers_on(&self, aims: &[Aim]) -> Result<Vec<(usize, Arc<Definition>)>> {
        let mut found = Vec::new();
        for (index, aim) in aims.iter().enumerate() {
            let state = self.to_change(&aim.database)?.state();
            found
                .extend(state.triggers_of(aim.table).into_iter().map(|trigger| (index, Arc::clone(trigger))));
        }
        Ok(found)
    }

    /// The triggers that are set off, those for each row first.
    fn set_off(&self, aims: &[Aim], timing: TriggerTiming) -> Result<Vec<(usize, Trigger)>> {
        let mut found = Vec::new();
        for (index, definition) in self.triggers_on(aims)? {
            let (aim, trigger) = (&aims[index], Trigger::of(&definition)?);
            let table = self.to_change(&aim.database)?.state().table(aim.table)?;
            if trigger.create.timing == timing && trigger.heeds(aim.event, &aim.set, &table) {
                found.push((index, trigger));
            }
        }
        found.sort_by_key(|(index, trigger)| (aims[*index].event, !trigger.create.per_row));
        Ok(found)
    }

    /// Runs what is set off behind a statement.
    fn fire_after(&mut self, mut aims: Vec<Aim>, mut images: Images) -> Result<()> {
        // Rows of other tables, which foreign keys changed.
        let Some(database) = aims.first().map(|aim| aim.database.clone()) else { return Ok(()) };
        for ((table, event), change) in &images.changes {
            match aims.iter_mut().find(|aim| aim.table == *table && aim.event == *event) {
                Some(aim) => aim.set.extend(&change.set),
                None => aims.push(Aim {
                    database: database.clone(),
                    table: *table,
                    event: *event,
                    set: change.set.clone(),
                }),
            }
        }
        for (index, trigger) in self.set_off(&aims, TriggerTiming::After)? {
            let aim = &aims[index];
            let key = (aim.table, aim.event);
            let change = images.changes.remove(&key).unwrap_or_default();
            let fired = self.fire(aim, &trigger, &change);
            images.changes.insert(key, change);
            fired?;
        }
        Ok(())
    }

    fn fire(&mut self, aim: &Aim, trigger: &Trigger, change: &Change) -> Result<()> {
        let table = self.to_change(&aim.database)?.state().table(aim.table)?;
        let shown = inlay_catalog::bare_name(&table.schema().name).to_string();
        if self.session.triggers.running.contains(&trigger.id)
            || self.session.triggers.running.len() == DEPTH_MAX
        {
            let (name, event) = (trigger.name(), aim.event.word());
            let message = if self.session.triggers.running.len() == DEPTH_MAX {
                format!(
                    "more than {DEPTH_MAX} triggers set each other off, the last \"{name}\" of table \"{shown}\""
                )
            } else {
                format!("trigger \"{name}\" sets itself off by {event} of table \"{shown}\"")
            };
            return Err(Error::bind(message).with_hint("DROP TRIGGER ends the circle"));
        }
        let owner = self.owner_of(&aim.database, aim.table)?;
        self.session.triggers.running.push(trigger.id);
        let owner = std::mem::replace(&mut self.session.triggers.owner, owner);
        let done = match trigger.create.per_row {
            true => self.fire_rows(aim, trigger, change, &table),
            false => self.fire_once(aim, trigger, change, &table),
        };
        self.session.triggers.owner = owner;
        self.session.triggers.running.pop();
        done.map_err(|error| match error {
            // Who tries again asks for these as they are.
            Error::Conflict { .. } | Error::Interrupted => error,
            other => other.with_hint(format!("trigger \"{}\" of table \"{shown}\" did it", trigger.name())),
        })
    }

    /// Whose a table is, if roles are asked at all.
    fn owner_of(&self, database: &str, table: ObjectId) -> Result<Option<String>> {
        let state = self.transactions.of(self.database, database)?.state();
        let rights = self.database.rights_of(&state)?;
        Ok(Some(rights.owner(Subject::Object(table)).to_string()))
    }

    fn fire_once(&mut self, aim: &Aim, trigger: &Trigger, change: &Change, table: &Table) -> Result<()> {
        let create = &trigger.create;
        let mut transition = Transition { home: home(aim, table), ..Transition::default() };
        for (name, rows) in [(&create.old_rows, &change.old), (&create.new_rows, &change.new)] {
            if let Some(name) = name {
                transition.tables.push(held(&name.value, table, rows)?);
            }
        }
        if !self.holds(create, &transition)? {
            return Ok(());
        }
        create.body.iter().try_for_each(|statement| self.run_body(statement, &transition))
    }

    fn fire_rows(&mut self, aim: &Aim, trigger: &Trigger, change: &Change, table: &Table) -> Result<()> {
        let create = &trigger.create;
        let mut sides: Vec<(&'static str, &[Batch])> = Vec::with_capacity(2);
        if aim.event != Event::Insert {
            sides.push((OLD, &change.old));
        }
        if aim.event != Event::Delete {
            sides.push((NEW, &change.new));
        }
        let names: Vec<&'static str> = sides.iter().map(|(name, _)| *name).collect();
        if let Some(statement) = binder::of_all_rows(create, &names) {
            let mut transition = Transition { home: home(aim, table), ..Transition::default() };
            for (name, rows) in &sides {
                transition.tables.push(held(name, table, rows)?);
            }
            return self.run_body(&statement, &transition);
        }
        let batches = sides.first().map_or(0, |(_, batches)| batches.len());
        for batch in 0..batches {
            let len = sides.first().map_or(0, |(_, batches)| batches[batch].len());
            for row in 0..len {
                self.given.interrupt.check()?;
                let image =
                    |(name, batches): &(&'static str, &[Batch])| row_image(name, table, &batches[batch], row);
                let row = sides.iter().map(image).collect();
                let transition = Transition { home: home(aim, table), tables: Vec::new(), row };
                if self.holds(create, &transition)? {
                    create.body.iter().try_for_each(|statement| self.run_body(statement, &transition))?;
                }
            }
        }
        Ok(())
    }

    /// Whether WHEN is TRUE.
    fn holds(&self, create: &CreateTrigger, transition: &Transition) -> Result<bool> {
        let Some((condition, _)) = &create.condition else { return Ok(true) };
        let sql = create.body.first().map_or_else(|| Arc::from(""), |statement| Arc::clone(&statement.sql));
        let names = self.names(&[]);
        let query = self.with_context(&names, |context| {
            binder::bind_trigger_condition(condition, &sql, context, transition)
        })?;
        let (_, batches) = self.batches(query)?;
        let first = batches.iter().find(|batch| !batch.is_empty());
        Ok(first.is_some_and(|batch| batch.column(0).get(0) == Value::Boolean(true)))
    }

    fn run_body(&mut self, statement: &ast::Statement, transition: &Transition) -> Result<()> {
        let bound = self.bind_body(statement, transition)?;
        inlay_sql::with_statement_stack(|| self.bound(bound)).map(drop)
    }

    fn bind_body(&self, statement: &ast::Statement, transition: &Transition) -> Result<Statement> {
        let names = self.names(&[]);
        let bound = self.with_context(&names, |context| binder::bind_trigger(statement, context, transition));
        match names.failure.into_inner() {
            Some(failure) => Err(failure),
            None => bound,
        }
    }

    /// The tables of a database that a statement reads, as they are now.
    fn tables_read(&self, statement: &mut Statement, database: &str) -> Result<Vec<ObjectId>> {
        let state = self.to_change(database)?.state();
        let mut read = Vec::new();
        each_scan(statement, &mut |table| {
            let id = table.table.id();
            // Numbers are those of one database.
            if state.table(id).is_ok_and(|own| Arc::ptr_eq(&own, &table.table)) && !read.contains(&id) {
                read.push(id);
            }
        });
        Ok(read)
    }

    /// Lets a statement that was bound before its triggers ran read these tables as they are now.
    fn renew(&self, statement: &mut Statement, database: &str, read: &[ObjectId]) -> Result<()> {
        let state = self.to_change(database)?.state();
        let now = read.iter().map(|&id| Ok((id, state.table(id)?))).collect::<Result<Vec<_>>>()?;
        each_scan(statement, &mut |table| {
            if let Some((_, now)) = now.iter().find(|(id, _)| *id == table.table.id()) {
                *table = Arc::new(TableEntry { name: table.name.clone(), table: Arc::clone(now) });
            }
        });
        Ok(())
    }

    /// An error if a new trigger would set itself off, by way of others or not.
    pub(crate) fn check_circle(&self, database: &str, table: ObjectId, create: &CreateTrigger) -> Result<()> {
        let own = |aim: &Aim, state_table: &Table| {
            let trigger = Trigger { id: 0, create: create.clone() };
            aim.table == table && trigger.heeds(aim.event, &aim.set, state_table)
        };
        let (mut open, mut seen) = (self.aims_of_body(database, table, create)?, Vec::new());
        while let Some(aim) = open.pop() {
            self.given.interrupt.check()?;
            let state = self.to_change(&aim.database)?.state();
            let target = state.table(aim.table)?;
            if own(&aim, &target) {
                let (name, shown) = (&create.name.value, inlay_catalog::bare_name(&target.schema().name));
                return Err(Error::Unsupported {
                    feature: format!(
                        "trigger \"{name}\", which sets itself off by {} of table \"{shown}\",",
                        aim.event.word()
                    ),
                    alternative: Some("a table of its own for what the trigger writes".to_string()),
                });
            }
            for definition in state.triggers_of(aim.table) {
                let trigger = Trigger::of(definition)?;
                if trigger.heeds(aim.event, &aim.set, &target) && !seen.contains(&trigger.id) {
                    seen.push(trigger.id);
                    // One that does not work any more sets nothing off.
                    open.extend(
                        self.aims_of_body(&aim.database, aim.table, &trigger.create).unwrap_or_default(),
                    );
                }
            }
        }
        Ok(())
    }

    fn aims_of_body(&self, database: &str, table: ObjectId, create: &CreateTrigger) -> Result<Vec<Aim>> {
        let owner = self.to_change(database)?.state().table(table)?;
        let transition = Transition::of_nothing(create, database, owner.schema());
        let mut aims = Vec::new();
        for statement in &create.body {
            aims_of(&self.bind_body(statement, &transition)?, &mut aims);
        }
        Ok(aims)
    }

    /// An error if a trigger of a table that was altered does not work any more.
    pub(crate) fn check_triggers(&self, database: &str, table: ObjectId) -> Result<()> {
        let state = self.to_change(database)?.state();
        for definition in state.triggers_of(table) {
            let trigger = Trigger::of(definition)?;
            let own = state.table(table)?;
            let is_known = |column: &ast::Ident| own.schema().position(&column.value).is_some();
            let unknown = trigger.create.events.iter().find_map(|event| match event {
                TriggerEvent::Update(columns) => columns.iter().find(|column| !is_known(column)),
                TriggerEvent::Insert | TriggerEvent::Delete => None,
            });
            let reason = match (unknown, self.aims_of_body(database, table, &trigger.create)) {
                (Some(column), _) => format!("it names column \"{}\"", column.value),
                // What its owner may not do now he may do again.
                (None, Err(error)) if error.sqlstate() == "42501" => continue,
                (None, Err(error)) => error.unplaced().to_string(),
                (None, Ok(_)) => continue,
            };
            let (name, shown) = (trigger.name(), inlay_catalog::bare_name(&own.schema().name));
            let message =
                format!("trigger \"{name}\" of table \"{shown}\" would not work any more: {reason}");
            return Err(Error::bind(message).with_hint("DROP TRIGGER first, and CREATE it anew"));
        }
        Ok(())
    }

    /// TRUNCATE is no DELETE: what DELETE would set off is not passed over in silence.
    pub(crate) fn refuse_truncate(&self, database: &str, tables: &[Arc<TableEntry>]) -> Result<()> {
        let state = self.to_change(database)?.state();
        for table in tables {
            for definition in state.triggers_of(table.table.id()) {
                let trigger = Trigger::of(definition)?;
                if trigger.heeds(Event::Delete, &[], &table.table) {
                    return Err(Error::Unsupported {
                        feature: format!(
                            "TRUNCATE of table \"{}\", whose trigger \"{}\" waits for DELETE,",
                            table.name,
                            trigger.name()
                        ),
                        alternative: Some("DELETE FROM".to_string()),
                    });
                }
            }
        }
        Ok(())
    }
}

/// Sees the tables that a statement scans.
fn each_scan(statement: &mut Statement, see: &mut dyn FnMut(&mut Arc<TableEntry>)) {
    fn of_plan(plan: &mut Plan, see: &mut dyn FnMut(&mut Arc<TableEntry>)) {
        if let Plan::Scan { table, .. } = plan {
            see(table);
        }
        plan.inputs_mut().into_iter().for_each(|input| of_plan(input, see));
    }
    if let Statement::Changing { parts, statement } = statement {
        parts.iter_mut().for_each(|part| each_scan(&mut part.statement, see));
        return each_scan(statement, see);
    }
    if let Some(query) = statement.query_mut() {
        of_plan(&mut query.plan, see);
    }
}

fn home(aim: &Aim, table: &Table) -> (String, String) {
    (aim.database.clone(), table.schema().name.clone())
}

/// Rows under a name; of their columns those that users see.
fn held(name: &str, table: &Table, rows: &[Batch]) -> Result<Arc<HeldRows>> {
    let visible: Vec<usize> = table.schema().visible().map(|(index, _)| index).collect();
    let column = |&index: &usize| {
        let column = &table.schema().columns[index];
        SourceColumn { name: column.name.clone(), ty: column.ty.clone() }
    };
    let held = HeldRows::new(name.to_string(), visible.iter().map(column).collect());
    let shown: Vec<Batch> =
        rows.iter().map(|batch| Batch::new(columns_of(batch, &visible), batch.len())).collect();
    held.fill(&shown)?;
    Ok(Arc::new(held))
}

fn row_image(name: &'static str, table: &Table, rows: &Batch, row: usize) -> RowImage {
    let visible = table.schema().visible();
    let column = |(index, column): (usize, &inlay_catalog::ColumnSchema)| {
        (column.name.clone(), column.ty.clone(), rows.column(index).get(row))
    };
    RowImage { name, columns: visible.map(column).collect() }
}

/// The images that one writer keeps.
pub(super) struct Watch {
    images: Images,
    /// Tables that were asked about: whether rows of an event are kept, and whether it sets anything off.
    known: BTreeMap<ObjectId, Vec<Arc<Definition>>>,
    is_any: bool,
}

impl Watch {
    /// For a statement that changes tables of a database.
    pub(super) fn new(is_any: bool) -> Self {
        Self { images: Images::default(), known: BTreeMap::new(), is_any }
    }

    /// What the statement changed.
    pub(super) fn into_images(self) -> Option<Images> {
        self.is_any.then_some(self.images)
    }

    /// Whether the rows of an event are kept; notes that it happened if triggers of the table ask.
    pub(super) fn notes(
        &mut self,
        triggers: impl FnOnce() -> Vec<Arc<Definition>>,
        table: &Table,
        event: Event,
        set: &[usize],
    ) -> Result<bool> {
        if !self.is_any {
            return Ok(false);
        }
        let own = self.known.entry(table.id()).or_insert_with(triggers);
        let mut wants_rows = false;
        let mut is_heeded = false;
        for definition in own.iter() {
            let trigger = Trigger::of(definition)?;
            if trigger.create.timing == TriggerTiming::After && trigger.heeds(event, set, table) {
                is_heeded = true;
                wants_rows |= trigger.wants_rows();
            }
        }
        if is_heeded {
            self.images.changes.entry((table.id(), event)).or_default().set.extend(set);
        }
        Ok(wants_rows)
    }

    /// Keeps rows as they were and as they are.
    pub(super) fn keep(
        &mut self,
        run: &Run<'_>,
        (table, event): (ObjectId, Event),
        old: Option<&Batch>,
        new: Option<&Batch>,
    ) -> Result<()> {
        let bytes: usize =
            [old, new].into_iter().flatten().map(|rows| rows_size(rows.columns(), rows.len())).sum();
        let grown = match &mut self.images.reserved {
            Some(reserved) => reserved.grow(bytes as u64),
            none => run.database.budget().reserve(bytes as u64).map(|reserved| *none = Some(reserved)),
        };
        grown.map_err(|refused| {
            refused.because("the rows that triggers ask for are kept until they have run")
        })?;
        let change = self.images.changes.entry((table, event)).or_default();
        change.old.extend(old.iter().flat_map(|rows| pieces(rows)));
        change.new.extend(new.iter().flat_map(|rows| pieces(rows)));
        Ok(())
    }
}

/// All columns of rows, which may be many.
pub(super) fn rows_of(snapshot: &TableSnapshot, table: &Table, rows: &RowSet) -> Result<Batch> {
    let types = types_of(table);
    let parts: Vec<Batch> =
        rows.parts().map(|ids| super::writer::whole_rows(snapshot, table, &ids)).collect::<Result<_>>()?;
    super::rows::joined(&parts, &types)
}
