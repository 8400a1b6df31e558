//! Schemas, macros, types, materialised views, comments, prepared statements and variables.

use crate::execute::{Given, Run};
use crate::host::Parameters;
use crate::result::QueryResult;
use crate::session::Prepared;
use crate::text::same_name;
use crate::text::{comment_key, comment_on};
use inlay_kernels::cast_value;
use inlay_sql::binder::enum_text;
use inlay_sql::plan::object::{CommentTarget, Define, ObjectStatement};
use inlay_sql::plan::statement::{CreateTable, Insert, OnConflict};
use inlay_storage::store::{Definition, DefinitionKind, IndexDefinition, Object, Transaction};
use inlay_types::limits::Meter;
use inlay_types::{Error, Reservation, Result, Value};
use std::sync::Arc;

/// What a label of an ENUM takes, in lists, sets and texts.
const LABEL_BYTES: usize = 160;
const LABEL_COPIES: usize = 4;

impl Run<'_> {
    /// Carries out the statements of this module.
    pub(crate) fn object(&mut self, statement: ObjectStatement) -> Result<QueryResult> {
        use ObjectStatement as S;
        match statement {
            S::Define(define) => self.define(define),
            S::DefineFunction(define) => self.define_function(*define),
            S::CreateMaterializedView { table, sql } => self.create_materialized_view(*table, sql),
            S::Refresh { database, table, query } => {
                self.truncate(&database, std::slice::from_ref(&table), &[])?;
                let Some(query) = query else { return Ok(QueryResult::done()) };
                let on_conflict = OnConflict::Fail;
                let (checks, returning) = (Vec::new(), None);
                self.insert(Insert { database, table, query, on_conflict, checks, returning })?;
                Ok(QueryResult::done())
            }
            S::Comment { database, on, column, text } => self.comment(&database, &on, column, text),
            S::Redefine { database, kind, name, new_name, sql, altered } => {
                let transaction = self.to_change(&database)?;
                if let Some(old) = transaction.state().definition(kind, &name) {
                    let sql = sql.unwrap_or_else(|| old.sql.clone());
                    let new = Definition { name: new_name, sql, ..Definition::clone(old) };
                    transaction.put(Object::Definition(Arc::new(new)))?;
                }
                for table in altered {
                    self.alter_table(table)?;
                }
                Ok(QueryResult::done())
            }
            S::RenameIndex { database, name, new_name } => {
                let transaction = self.to_change(&database)?;
                if let Some(Object::Index(old)) = transaction.state().index(&name) {
                    let new = IndexDefinition { name: new_name, ..IndexDefinition::clone(old) };
                    transaction.put(Object::Index(Arc::new(new)))?;
                }
                Ok(QueryResult::done())
            }
            S::CreateTrigger(new) => self.create_trigger(*new),
            S::DropTrigger(dropped) => self.drop_trigger(&dropped),
            S::Prepare { name, types, statement } => {
                let prepared = Prepared { statement: *statement, types };
                self.session.prepared.insert(name, Arc::new(prepared));
                Ok(QueryResult::done())
            }
            S::Execute { name, arguments, named } => self.execute_prepared(&name, arguments, named),
            S::Role(role) => self.role(role),
            S::Deallocate { name: None } => {
                self.session.prepared.clear();
                Ok(QueryResult::done())
            }
            S::Deallocate { name: Some(name) } => match self.session.prepared.remove(&name) {
                Some(_) => Ok(QueryResult::done()),
                None => Err(self.no_prepared(&name)),
            },
            S::SetVariable { name, value, query } => {
                let value = match query {
                    Some(query) => Some(self.one_value(*query)?),
                    None => value,
                };
                let variables = Arc::make_mut(&mut self.session.variables);
                match value {
                    Some(value) => drop(variables.insert(name, value)),
                    None => drop(variables.remove(&name)),
                }
                Ok(QueryResult::done())
            }
        }
    }

    fn define(&mut self, define: Define) -> Result<QueryResult> {
        let Define { database, temporary, kind, name, mut sql, labels, or_replace, if_not_exists } = define;
        let transaction = self.home_of(&database, temporary)?;
        let taken = transaction.state().definition(kind, &name).cloned();
        let is_main = kind == DefinitionKind::Schema && same_name(&name, inlay_catalog::MAIN);
        if (taken.is_some() || is_main) && if_not_exists {
            return Ok(QueryResult::done());
        }
        if taken.is_some() && !or_replace {
            return Err(Error::Duplicate { kind: kind.name(), name });
        }
        if let Some(query) = labels {
            let (labels, _held) = self.labels(query)?;
            sql = enum_text(&labels);
        }
        match taken {
            // A schema that is there keeps what is in it.
            Some(_) if kind == DefinitionKind::Schema => return Ok(QueryResult::done()),
            Some(taken) => transaction.drop_object(taken.id)?,
            None => {}
        }
        let id = transaction.take_id();
        let definition = Definition { id, kind, name, owner: None, sql };
        transaction.put(Object::Definition(Arc::new(definition)))?;
        Ok(QueryResult::done())
    }

    /// The value of a query of one row and one column.
    fn one_value(&self, query: inlay_sql::plan::statement::Query) -> Result<inlay_types::Value> {
        let (_, batches) = self.batches(query)?;
        let first = batches.iter().find(|batch| !batch.is_empty());
        Ok(first.map_or(inlay_types::Value::Null, |batch| batch.column(0).get(0)))
    }

    /// The labels that a query gives: texts, each once, in order, without NULL; with what they and the type's text take.
    fn labels(&self, query: inlay_sql::plan::statement::Query) -> Result<(Vec<String>, Option<Reservation>)> {
        let (_, batches) = self.batches(query)?;
        let mut meter = Meter::of_rows();
        let mut labels: Vec<String> = Vec::new();
        let mut known = std::collections::HashSet::new();
        for batch in &batches {
            self.given.interrupt.check()?;
            for row in 0..batch.len() {
                let value = batch.column(0).get(row);
                if value.is_null() {
                    return Err(Error::invalid_argument("NULL cannot be a label of an ENUM"));
                }
                let label = value.to_string();
                if known.insert(label.clone()) {
                    meter.add(LABEL_BYTES + LABEL_COPIES * label.len())?;
                    labels.push(label);
                }
            }
        }
        Ok((labels, meter.finish()))
    }

    fn create_materialized_view(&mut self, table: CreateTable, sql: String) -> Result<QueryResult> {
        let (database, name) = (table.database.clone(), table.schema.name.clone());
        let transaction = self.to_change(&database)?;
        let kind = DefinitionKind::MaterializedView;
        let is_there = transaction.state().relation(&name).is_some();
        if is_there && table.or_replace && transaction.state().definition(kind, &name).is_none() {
            return Err(Error::Duplicate { kind: "table", name });
        }
        if is_there && table.if_not_exists {
            return Ok(QueryResult::done());
        }
        self.create_table(table)?;
        let state = transaction.state();
        let Some(owner) = state.relation(&name).map(Object::id) else {
            return Err(Error::internal("a materialized view that was not made"));
        };
        let id = transaction.take_id();
        let definition = Definition { id, kind, name, owner: Some(owner), sql };
        transaction.put(Object::Definition(Arc::new(definition)))?;
        Ok(QueryResult::done())
    }

    fn comment(
        &mut self,
        database: &str,
        on: &CommentTarget,
        column: Option<String>,
        text: Option<String>,
    ) -> Result<QueryResult> {
        let transaction = self.to_change(database)?;
        let state = transaction.state();
        let owner = match on {
            CommentTarget::Relation(name) => state.relation(name).map(Object::id),
            CommentTarget::Index(name) => state.index(name).map(Object::id),
            CommentTarget::Definition(kind, name) => state.definition(*kind, name).map(|found| found.id),
            CommentTarget::Database => None,
        };
        set_comment(&transaction, owner, column.as_deref(), text)?;
        Ok(QueryResult::done())
    }

    fn no_prepared(&self, name: &str) -> Error {
        let known = self.session.prepared.keys().map(String::as_str);
        let near = inlay_catalog::near_names(name, known);
        let hint = if near.is_empty() {
            "PREPARE makes it".to_string()
        } else {
            format!("did you mean {}?", near.join(" or "))
        };
        Error::invalid_argument(format!("prepared statement \"{name}\" does not exist"))
            .with_hint(hint.to_string())
    }

    fn execute_prepared(
        &mut self,
        name: &str,
        arguments: Vec<Value>,
        named: Vec<(String, Value)>,
    ) -> Result<QueryResult> {
        let Some(prepared) = self.session.prepared.get(name).cloned() else {
            return Err(self.no_prepared(name));
        };
        let mut positional = Vec::with_capacity(arguments.len());
        for (index, value) in arguments.into_iter().enumerate() {
            positional.push(match prepared.types.get(index) {
                Some(ty) if !value.is_null() => cast_value(&value, &ty.clone())?,
                _ => value,
            });
        }
        let parameters = Parameters { positional, named };
        crate::host::check_parameter_count(&prepared.statement, &parameters)?;
        let run = Run {
            database: self.database,
            session: &mut *self.session,
            given: Given { parameters: &parameters, text: None, ..self.given },
            transactions: Arc::clone(&self.transactions),
            notes_reads: self.notes_reads,
            measured: self.measured.clone(),
        };
        run.statement(&prepared.statement)
    }
}

pub(super) fn set_comment(
    transaction: &Transaction,
    owner: Option<u64>,
    column: Option<&str>,
    text: Option<String>,
) -> Result<()> {
    let (kind, name) = (DefinitionKind::Comment, comment_key(owner, column));
    let old = transaction.state().definition(kind, &name).map(|old| old.id);
    match (old, text) {
        (None, None) => Ok(()),
        (Some(old), None) => transaction.drop_object(old),
        (old, Some(sql)) => {
            let id = old.unwrap_or_else(|| transaction.take_id());
            transaction.put(Object::Definition(Arc::new(Definition { id, kind, name, owner, sql })))
        }
    }
}

/// Comments on columns follow them: each column was called `old` and is called `new`, or is gone.
pub(super) fn move_comments(
    transaction: &Transaction,
    table: u64,
    columns: &[(String, Option<String>)],
) -> Result<()> {
    super::grant::move_rights(transaction, table, columns)?;
    let moved: Vec<_> = columns
        .iter()
        .filter(|(old, new)| new.as_deref() != Some(old))
        .filter_map(|(old, new)| Some((old, new, comment_on(&transaction.state(), Some(table), Some(old))?)))
        .collect();
    for (old, _, _) in &moved {
        set_comment(transaction, Some(table), Some(old), None)?;
    }
    for (_, new, text) in moved {
        if let Some(new) = new {
            set_comment(transaction, Some(table), Some(new), Some(text))?;
        }
    }
    Ok(())
}

/// The query of a materialised view follows its table.
pub(super) fn rename_materialized(transaction: &Transaction, old: &str, new: &str) -> Result<()> {
    let found = transaction.state().definition(DefinitionKind::MaterializedView, old).cloned();
    match found.filter(|_| !same_name(old, new)) {
        None => Ok(()),
        Some(found) => {
            let renamed = Definition { name: new.to_string(), ..Definition::clone(&found) };
            transaction.put(Object::Definition(Arc::new(renamed)))
        }
    }
}
