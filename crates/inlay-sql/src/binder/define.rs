//! CREATE TABLE, VIEW, INDEX and SEQUENCE.

use super::coerce::concrete;
use super::like::Beside;
use super::row::positions_read;
use super::scope::same_name;
use super::select::ITEMS_MAX;
use super::{Binder, Referrers};
use crate::parser::ast::{
    self, ColumnOrigin, ConstraintKind, Ident, ObjectName, OnExisting, Pos, SequenceOptions,
};
use crate::plan::{self, Expr};
use inlay_catalog::{
    CatalogEntry, ColumnSchema, MAIN, SequenceSchema, TEMPORARY, TableEntry, TableSchema, bare_name,
    qualified,
};
use inlay_storage::{Check, Deferral, ForeignKey, Origin};
use inlay_types::{Candidates, Error, LogicalType, Result};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Most constraints that a table is created with.
const CONSTRAINTS_MAX: usize = 1_000;

/// The name of a key of a table, which says its columns: `t_pkey`, `t_a_b_key`.
pub fn key_name(schema: &TableSchema, key: &[usize]) -> String {
    if let Some((_, given)) = schema.key_names.iter().find(|(named, _)| named == key) {
        return given.clone();
    }
    if key == schema.primary_key.as_slice() {
        return format!("{}_pkey", bare_name(&schema.name));
    }
    format!("{}_{}_key", bare_name(&schema.name), column_names(schema, key))
}

fn column_names(schema: &TableSchema, positions: &[usize]) -> String {
    positions.iter().map(|&index| schema.columns[index].name.as_str()).collect::<Vec<_>>().join("_")
}

impl Binder<'_> {
    pub(super) fn create_table(&mut self, create: &ast::CreateTable) -> Result<plan::Statement> {
        let (database, key) = self.new_name(&create.name, create.temporary)?;
        let temporary = same_name(&database, TEMPORARY);
        let mut schema = TableSchema::new(key, Vec::new());
        let mut query = None;
        let mut beside = Beside::default();
        if let Some(source) = &create.query {
            let bound = self.query(source)?;
            if let Some(surplus) = create.columns.get(bound.output.len()) {
                let (names, columns) = (create.columns.len(), bound.output.len());
                let message =
                    format!("table \"{}\" gets {columns} columns, {names} names are given", create.name);
                return Err(self.at(Error::bind(message), surplus.name.pos));
            }
            if let Some(given) = create.columns.iter().find(|given| !given.is_name_only()) {
                let message = format!(
                    "the columns of \"{}\" get their types from the query behind AS; only names can be given",
                    create.name
                );
                let hint = format!(
                    "CAST(... AS type) in the query, or ALTER TABLE {} ALTER {}",
                    create.name, given.name.value
                );
                return Err(self.at(Error::bind(message).with_hint(hint), given.name.pos));
            }
            for (index, column) in bound.output.iter().enumerate() {
                let name = match create.columns.get(index) {
                    Some(given) => given.name.value.clone(),
                    None => column.name.clone(),
                };
                let mut made = ColumnSchema::new(name, concrete(self.columns.ty(column.id)));
                made.collation = self.columns.collation(column.id).map(ToString::to_string);
                schema.columns.push(made);
            }
            query = Some(self.finish(bound)?);
            unique_names(schema.columns.iter_mut().map(|column| &mut column.name));
        } else {
            self.written_columns(&database, &mut schema, create, &mut beside)?;
        }
        self.check_size(&schema, create.constraints.len(), create.name.pos())?;
        // A foreign key may refer to a key of the table that is written behind it.
        let is_reference =
            |constraint: &&ast::TableConstraint| matches!(constraint.kind, ConstraintKind::ForeignKey { .. });
        let (references, others): (Vec<_>, Vec<_>) = create.constraints.iter().partition(is_reference);
        for constraint in others.into_iter().chain(references) {
            self.add_constraint(&database, &mut schema, constraint, &create.name, &|_| 0)?;
        }
        let (sequences, comments) =
            (std::mem::take(&mut beside.sequences), std::mem::take(&mut beside.comments));
        let indexes = self.taken_indexes(&database, &mut schema, beside);
        let replaces = create.on_existing == OnExisting::Replace;
        // Only then: all tables are looked through.
        let referring = if replaces { self.referring(&database, &schema.name) } else { Vec::new() };
        let other = referring.into_iter().find(|(table, _)| !same_name(&table.name, &schema.name));
        if let Some((referring, index)) = other {
            let key = &referring.table.schema().foreign_keys[index].name;
            let message = format!(
                "table \"{}\" cannot be replaced: foreign key \"{key}\" of table \"{}\" refers to it",
                schema.name, referring.name
            );
            return Err(self.at(Error::bind(message), create.name.pos()));
        }
        Ok(plan::Statement::CreateTable(Box::new(plan::statement::CreateTable {
            database,
            schema,
            temporary,
            on_commit: create.on_commit,
            or_replace: replaces,
            if_not_exists: create.on_existing == OnExisting::Keep,
            query,
            sequences,
            indexes,
            comment: create.comment.clone(),
            comments,
        })))
    }

    /// The columns of a table without AS, those of LIKE where they stand among the others.
    fn written_columns(
        &mut self,
        database: &str,
        schema: &mut TableSchema,
        create: &ast::CreateTable,
        beside: &mut Beside,
    ) -> Result<()> {
        let mut names = HashSet::with_capacity(create.columns.len());
        let mut likes = create.likes.iter().peekable();
        let mut places = Vec::with_capacity(create.columns.len());
        for (index, column) in create.columns.iter().enumerate() {
            while let Some(like) = likes.next_if(|like| like.behind <= index) {
                self.take_like(database, schema, like, beside)?;
                names.extend(schema.columns.iter().map(|column| column.name.to_lowercase()));
            }
            if !names.insert(column.name.value.to_lowercase()) {
                return Err(self.duplicate_column(&column.name));
            }
            let added = self.new_column(database, schema, column, &mut beside.sequences)?;
            places.push(schema.columns.len());
            schema.columns.push(added);
            beside
                .comments
                .extend(column.comment.iter().map(|text| (column.name.value.clone(), text.clone())));
        }
        for like in likes {
            self.take_like(database, schema, like, beside)?;
        }
        self.type_generated(schema, &create.columns, &places)?;
        for (&place, column) in places.iter().zip(&create.columns) {
            self.check_generated(database, schema, place, column)?;
        }
        Ok(())
    }

    /// The error for a second column of a name.
    pub(super) fn duplicate_column(&self, name: &Ident) -> Error {
        self.at(Error::Duplicate { kind: "column", name: name.value.clone() }, name.pos)
    }

    /// Columns are looked for one by one, and names of constraints among all others, so that there are limits to them.
    fn check_size(&self, schema: &TableSchema, constraints: usize, pos: Pos) -> Result<()> {
        let (what, count, most) = if schema.columns.len() > ITEMS_MAX {
            ("columns", schema.columns.len(), ITEMS_MAX)
        } else if constraints > CONSTRAINTS_MAX {
            ("constraints", constraints, CONSTRAINTS_MAX)
        } else {
            return Ok(());
        };
        let message = format!("{count} {what} of table \"{}\" are above the limit of {most}", schema.name);
        Err(self.at(Error::out_of_range(message), pos))
    }

    /// A column as the schema holds it, without constraints that have names.
    pub(super) fn new_column(
        &mut self,
        database: &str,
        schema: &TableSchema,
        column: &ast::ColumnDef,
        sequences: &mut Vec<SequenceSchema>,
    ) -> Result<ColumnSchema> {
        let (name, pos) = (&column.name.value, column.name.pos);
        let is_untyped = column.data_type == LogicalType::Null;
        if is_untyped && !matches!(column.origin, ColumnOrigin::Computed(..)) {
            let message = format!("column \"{name}\" has no type");
            return Err(self.at(Error::Syntax { message }, pos));
        }
        let ty = if is_untyped { LogicalType::Null } else { self.known_type(&column.data_type, pos)? };
        let mut added = ColumnSchema::new(name.clone(), ty.clone());
        added.not_null = column.not_null;
        if let Some((expr, text)) = &column.default {
            self.check_default(expr, ty.clone())?;
            added.default = Some(text.clone());
        }
        if let Some(collation) = &column.collation {
            if added.ty != LogicalType::Varchar {
                let message =
                    format!("column \"{name}\" of type {ty} cannot have a collation: only VARCHAR has");
                return Err(self.at(Error::bind(message), pos));
            }
            self.collation(collation, pos)?;
            added.collation = Some(collation.clone());
        }
        let options = match &column.origin {
            ColumnOrigin::Given => return Ok(added),
            ColumnOrigin::Computed(_, text) => {
                added.origin = Origin::Computed(text.clone());
                return Ok(added);
            }
            ColumnOrigin::Identity { always, options } => {
                added.origin = if *always { Origin::IdentityAlways } else { Origin::IdentityByDefault };
                options.clone()
            }
            ColumnOrigin::Serial => SequenceOptions { pos, ..SequenceOptions::default() },
        };
        let sequence = self.identity_sequence(database, &schema.name, (name.as_str(), &ty), &options, pos)?;
        added.not_null = true;
        added.default = Some(default_of_sequence(&sequence.name));
        sequences.push(sequence);
        Ok(added)
    }

    /// The sequence that a column of a table, with its type, takes its values from.
    pub(super) fn identity_sequence(
        &self,
        database: &str,
        table: &str,
        (column, ty): (&str, &LogicalType),
        options: &SequenceOptions,
        pos: Pos,
    ) -> Result<SequenceSchema> {
        let largest = match ty {
            LogicalType::SmallInt => i64::from(i16::MAX),
            LogicalType::Integer => i64::from(i32::MAX),
            LogicalType::BigInt => i64::MAX,
            _ => {
                let message = format!("an identity column is SMALLINT, INTEGER or BIGINT, not {ty}");
                return Err(self.at(Error::type_mismatch(message), pos));
            }
        };
        let name = self.free_sequence_name(database, &format!("{table}_{column}_seq"));
        let mut sequence = SequenceSchema { max: largest, ..SequenceSchema::new(name) };
        self.apply_options(&mut sequence, options, Some(largest))?;
        sequence.owner = Some((table.to_string(), column.to_string()));
        Ok(sequence)
    }

    fn free_sequence_name(&self, database: &str, wanted: &str) -> String {
        let mut name = wanted.to_string();
        let mut number = 0;
        while self.context.catalog.sequence(Some(database), &name).is_some() {
            number += 1;
            name = format!("{wanted}{number}");
        }
        name
    }

    /// Bound once at creation, so that a mistake shows there.
    pub(super) fn check_default(&mut self, expr: &ast::Expr, ty: LogicalType) -> Result<()> {
        let (value, pending) = self.isolated(|binder| binder.expr(expr))?;
        if !pending.is_empty() {
            return Err(self.at(Error::unsupported("a subquery in DEFAULT"), expr.pos));
        }
        // A value that does not fit is told by who inserts it, as it may be by a sequence or at another time.
        match self.assigned(value, ty, expr.pos) {
            Err(error) if error.sqlstate() == "22003" => Ok(()),
            assigned => assigned.map(drop),
        }
    }

    /// Gives generated columns without a type, at these places of a schema, that of their expression. One may read another, whichever
    /// comes first.
    pub(super) fn type_generated(
        &mut self,
        schema: &mut TableSchema,
        columns: &[ast::ColumnDef],
        places: &[usize],
    ) -> Result<()> {
        let is_untyped = |schema: &TableSchema, index: usize| schema.columns[index].ty == LogicalType::Null;
        loop {
            let mut waiting = None;
            let mut found = false;
            for (&index, column) in places.iter().zip(columns) {
                let ColumnOrigin::Computed(expr, _) = &column.origin else { continue };
                if !is_untyped(schema, index) {
                    continue;
                }
                let read = self.row_expr(schema, expr, "a generated column");
                let waits = |value: &Expr| positions_read(value).iter().any(|&read| is_untyped(schema, read));
                match read {
                    Ok(value) if !waits(&value) => {
                        schema.columns[index].ty = concrete(value.ty());
                        found = true;
                    }
                    // What reads a column without a type may not be bound yet.
                    outcome => waiting = Some((column, outcome.map(drop))),
                }
            }
            match waiting {
                None => return Ok(()),
                Some(_) if found => {}
                Some((_, Err(error))) => return Err(error),
                Some((column, Ok(()))) => return Err(self.computed_from_itself(column)),
            }
        }
    }

    fn computed_from_itself(&self, column: &ast::ColumnDef) -> Error {
        let name = &column.name.value;
        let message = format!("generated column \"{name}\" cannot be computed from itself");
        self.at(Error::bind(message), column.name.pos)
    }

    pub(super) fn check_generated(
        &mut self,
        database: &str,
        schema: &TableSchema,
        index: usize,
        column: &ast::ColumnDef,
    ) -> Result<()> {
        let ColumnOrigin::Computed(expr, _) = &column.origin else { return Ok(()) };
        let value = self.row_expr(schema, expr, "a generated column")?;
        if let Some(because) = super::indexed::changing_part(&value, true) {
            let message = "a generated column must have the same value each time it is computed";
            return Err(self.at(Error::bind(message).with_hint(because), expr.pos));
        }
        let ty = schema.columns[index].ty.clone();
        self.assigned(value.clone(), ty, expr.pos)?;
        let is_generated = |&position: &usize| matches!(schema.columns[position].origin, Origin::Computed(_));
        if positions_read(&value).iter().any(is_generated) {
            self.generated(database, schema).map_err(|error| self.at(error, expr.pos))?;
        }
        Ok(())
    }

    /// Adds a constraint to a schema.
    pub(super) fn add_constraint(
        &mut self,
        database: &str,
        schema: &mut TableSchema,
        constraint: &ast::TableConstraint,
        table: &ObjectName,
        indexed_on: &dyn Fn(&[usize]) -> usize,
    ) -> Result<()> {
        match &constraint.kind {
            ConstraintKind::PrimaryKey(names) => {
                if !schema.primary_key.is_empty() {
                    let message = format!("table \"{}\" has a PRIMARY KEY already", schema.name);
                    return Err(self.at(Error::bind(message), constraint.pos));
                }
                let key = self.column_indexes(schema, names, table)?;
                self.check_key_types(schema, &key, constraint.pos)?;
                key.iter().for_each(|&index| schema.columns[index].not_null = true);
                schema.primary_key.clone_from(&key);
                self.name_key(schema, constraint, &key)?;
                let indexed = indexed_on(&key);
                add_key(schema, key, constraint.deferral, indexed);
            }
            ConstraintKind::Unique(names) => {
                let key = self.column_indexes(schema, names, table)?;
                self.check_key_types(schema, &key, constraint.pos)?;
                self.name_key(schema, constraint, &key)?;
                let indexed = indexed_on(&key);
                add_key(schema, key, constraint.deferral, indexed);
            }
            ConstraintKind::Check(condition, text) => {
                let bound = self.row_condition(schema, condition)?;
                let own = match positions_read(&bound).as_slice() {
                    [only] => format!("{}_{}_check", bare_name(&schema.name), schema.columns[*only].name),
                    _ => format!("{}_check", bare_name(&schema.name)),
                };
                let name = self.constraint_name(schema, constraint, own)?;
                schema.checks.push(Check { name, condition: text.clone() });
            }
            ConstraintKind::ForeignKey { columns, table: target, referenced, on_delete, on_update } => {
                let columns = self.column_indexes(schema, columns, table)?;
                let own = format!("{}_{}_fkey", bare_name(&schema.name), column_names(schema, &columns));
                let name = self.constraint_name(schema, constraint, own)?;
                let (target_name, referenced) =
                    self.referenced(database, schema, &columns, target, referenced, constraint.pos)?;
                schema.foreign_keys.push(ForeignKey {
                    name,
                    columns,
                    table: target_name,
                    referenced,
                    on_delete: *on_delete,
                    on_update: *on_update,
                    deferral: constraint.deferral,
                });
            }
        }
        Ok(())
    }

    /// Keys and indexes are made of columns without parts.
    pub(super) fn check_key_types(&self, schema: &TableSchema, key: &[usize], pos: Pos) -> Result<()> {
        let nested = key.iter().map(|&index| &schema.columns[index]).find(|column| column.ty.is_nested());
        let Some(column) = nested else { return Ok(()) };
        let feature = format!("a key or an index of column \"{}\" of type {}", column.name, column.ty);
        let alternative = Some("store the part that identifies a row in a column of its own".to_string());
        Err(self.at(Error::Unsupported { feature, alternative }, pos))
    }

    /// Notes the name that a key was given.
    fn name_key(
        &self,
        schema: &mut TableSchema,
        constraint: &ast::TableConstraint,
        key: &[usize],
    ) -> Result<()> {
        if constraint.name.is_some() {
            let name = self.constraint_name(schema, constraint, String::new())?;
            schema.key_names.retain(|(known, _)| known != key);
            schema.key_names.push((key.to_vec(), name));
        }
        Ok(())
    }

    /// The name given, or `own` with a number if it is taken.
    fn constraint_name(
        &self,
        schema: &TableSchema,
        constraint: &ast::TableConstraint,
        own: String,
    ) -> Result<String> {
        let taken = |name: &str| constraint_names(schema).iter().any(|known| same_name(known, name));
        if let Some(given) = &constraint.name {
            if taken(&given.value) {
                let error = Error::Duplicate { kind: "constraint", name: given.value.clone() };
                return Err(self.at(error, given.pos));
            }
            return Ok(given.value.clone());
        }
        let mut name = own.clone();
        let mut number = 0;
        while taken(&name) {
            number += 1;
            name = format!("{own}{number}");
        }
        Ok(name)
    }

    /// Table and columns that a foreign key refers to: a key of that table, of the same types.
    fn referenced(
        &self,
        database: &str,
        schema: &TableSchema,
        columns: &[usize],
        target: &ObjectName,
        names: &[Ident],
        pos: Pos,
    ) -> Result<(String, Vec<String>)> {
        let is_own = same_name(target.last(), bare_name(&schema.name)) && {
            let (home, key) = self.new_name(target, same_name(database, TEMPORARY))?;
            same_name(&home, database) && same_name(&key, &schema.name)
        };
        let found;
        let (target_schema, keys) = if is_own {
            (schema, schema.all_keys())
        } else {
            found = self.table(target)?;
            if !same_name(&found.database, database) {
                let error = Error::unsupported("a foreign key to a table of another database");
                return Err(self.at(error, target.pos()));
            }
            (found.entry.table.schema(), self.context.catalog.unique_keys(&found.database, &found.entry))
        };
        let referenced = if names.is_empty() {
            target_schema.primary_key.clone()
        } else {
            self.column_indexes(target_schema, names, target)?
        };
        let sorted = |key: &[usize]| {
            let mut key = key.to_vec();
            key.sort_unstable();
            key
        };
        let is_left = |key: &&Vec<usize>| target_schema.deferral(key) != Deferral::Never;
        if keys.iter().filter(is_left).any(|key| sorted(key) == sorted(&referenced)) {
            let message = format!(
                "the key of table \"{target}\" is DEFERRABLE, so that no foreign key can refer to it"
            );
            return Err(self.at(Error::bind(message), target.pos()));
        }
        if referenced.is_empty() || !keys.iter().any(|key| sorted(key) == sorted(&referenced)) {
            let message = if names.is_empty() {
                format!(
                    "table \"{target}\" has no PRIMARY KEY; name the columns: REFERENCES {target} (columns)"
                )
            } else {
                let shown = names.iter().map(|name| name.value.as_str()).collect::<Vec<_>>().join(", ");
                format!("table \"{target}\" has no PRIMARY KEY or UNIQUE constraint on ({shown})")
            };
            return Err(self.at(Error::bind(message), target.pos()));
        }
        if referenced.len() != columns.len() {
            let message =
                format!("{} columns refer to {} columns of \"{target}\"", columns.len(), referenced.len());
            return Err(self.at(Error::bind(message), pos));
        }
        for (&own, &other) in columns.iter().zip(&referenced) {
            let (own, other) = (&schema.columns[own], &target_schema.columns[other]);
            if own.ty != other.ty {
                let message = format!(
                    "column \"{}\" of type {} cannot refer to \"{target}\".\"{}\" of type {}",
                    own.name, own.ty, other.name, other.ty
                );
                let hint = format!("give both the type {}", other.ty);
                return Err(self.at(Error::type_mismatch(message).with_hint(hint), pos));
            }
        }
        let names = referenced.iter().map(|&index| target_schema.columns[index].name.clone()).collect();
        Ok((target_schema.name.clone(), names))
    }

    /// Tables with a foreign key to `table`, and the key's position; the table itself included.
    pub(super) fn referring(&self, database: &str, table: &str) -> Vec<(Arc<TableEntry>, usize)> {
        let mut known = self.referrers.borrow_mut();
        // A statement may ask for each of many tables.
        let of_database = known.entry(database.to_string()).or_insert_with(|| {
            let mut all: Referrers = HashMap::new();
            for (_, entry) in self.context.catalog.entries(database) {
                let CatalogEntry::Table(entry) = entry else { continue };
                for (index, key) in entry.table.schema().foreign_keys.iter().enumerate() {
                    all.entry(key.table.to_lowercase()).or_default().push((Arc::clone(&entry), index));
                }
            }
            all
        });
        of_database.get(&table.to_lowercase()).cloned().unwrap_or_default()
    }

    /// Position of a column in a table, or the error with near names.
    pub(super) fn column_index(
        &self,
        schema: &TableSchema,
        name: &Ident,
        table: &ObjectName,
    ) -> Result<usize> {
        schema.position(&name.value).ok_or_else(|| {
            let known: Vec<&str> = schema.visible().map(|(_, column)| column.name.as_str()).collect();
            let candidates = Candidates::of(&name.value, known.into_iter());
            self.at(
                Error::UndefinedColumn { name: format!("{}.{}", table.last(), name.value), candidates },
                name.pos,
            )
        })
    }

    pub(super) fn create_view(&mut self, create: &ast::CreateView) -> Result<plan::Statement> {
        let (database, key) = self.new_name(&create.name, create.temporary)?;
        // Bound once here, so that a mistake shows at creation.
        // Names mean what they will mean when the view is read.
        let stored_in = self.stored_in.replace(super::object::Home::of(&database, &key));
        self.made_view = Some((database.clone(), key.clone()));
        let bound = self.query(&create.query);
        self.made_view = None;
        self.stored_in = stored_in;
        let bound = bound?;
        if let Some(surplus) = create.columns.get(bound.output.len()) {
            let (names, columns) = (create.columns.len(), bound.output.len());
            let message = format!("view \"{}\" has {columns} columns, {names} names are given", create.name);
            return Err(self.at(Error::bind(message), surplus.pos));
        }
        Ok(plan::Statement::CreateView {
            temporary: same_name(&database, TEMPORARY),
            database,
            name: key,
            aliases: create.columns.iter().map(|name| name.value.clone()).collect(),
            sql: create.query_text.clone(),
            or_replace: create.on_existing == OnExisting::Replace,
            if_not_exists: create.on_existing == OnExisting::Keep,
        })
    }

    pub(super) fn create_sequence(&mut self, create: &ast::CreateSequence) -> Result<plan::Statement> {
        let (database, key) = self.new_name(&create.name, create.temporary)?;
        let mut sequence = SequenceSchema::new(key);
        self.apply_options(&mut sequence, &create.options, None)?;
        Ok(plan::Statement::CreateSequence {
            temporary: same_name(&database, TEMPORARY),
            database,
            sequence,
            or_replace: create.on_existing == OnExisting::Replace,
            if_not_exists: create.on_existing == OnExisting::Keep,
        })
    }

    /// Applies what was said to a new sequence or one that is there; `largest` bounds that of an identity column.
    pub(super) fn apply_options(
        &self,
        sequence: &mut SequenceSchema,
        options: &SequenceOptions,
        largest: Option<i64>,
    ) -> Result<()> {
        let is_new = options.start.is_none() && sequence.start == 1 && sequence.min == 1;
        let refuse = |message: String| Err(self.at(Error::invalid_argument(message), options.pos));
        let name = sequence.name.clone();
        if let Some(increment) = options.increment {
            if increment == 0 {
                return refuse(format!("INCREMENT of sequence \"{name}\" must not be 0"));
            }
            let turned = (increment < 0) != (sequence.increment < 0);
            sequence.increment = increment;
            if turned {
                // Going down, a sequence starts at its maximum.
                (sequence.min, sequence.max) =
                    if increment < 0 { (i64::MIN, -1) } else { (1, largest.unwrap_or(i64::MAX)) };
            }
        }
        let down = sequence.increment < 0;
        if let Some(min) = options.min {
            sequence.min = min.unwrap_or(if down { i64::MIN } else { 1 });
        }
        if let Some(max) = options.max {
            sequence.max = max.unwrap_or(if down { -1 } else { largest.unwrap_or(i64::MAX) });
        }
        if sequence.min >= sequence.max {
            return refuse(format!(
                "sequence \"{name}\": MINVALUE {} is not below MAXVALUE {}",
                sequence.min, sequence.max
            ));
        }
        match options.start {
            Some(start) => sequence.start = start,
            None if is_new => sequence.start = if down { sequence.max } else { sequence.min },
            None => {}
        }
        if !(sequence.min..=sequence.max).contains(&sequence.start) {
            return refuse(format!(
                "sequence \"{name}\": START {} is not between MINVALUE {} and MAXVALUE {}",
                sequence.start, sequence.min, sequence.max
            ));
        }
        sequence.cycle = options.cycle.unwrap_or(sequence.cycle);
        match &options.owned_by {
            None => {}
            Some(None) => sequence.owner = None,
            Some(Some(owner)) => {
                let mut table = owner.clone();
                let Some(column) = table.parts.pop().filter(|_| !table.parts.is_empty()) else {
                    return Err(self.at(Error::bind("OWNED BY takes table.column"), owner.pos()));
                };
                let target = self.table(&table)?;
                let schema = target.entry.table.schema();
                let index = self.column_index(schema, &column, &table)?;
                sequence.owner = Some((schema.name.clone(), schema.columns[index].name.clone()));
            }
        }
        Ok(())
    }
}

/// Names of all constraints of a table that have names.
pub(super) fn constraint_names(schema: &TableSchema) -> Vec<String> {
    let keys = schema.all_keys();
    let keys = keys.iter().filter(|key| schema.is_visible_key(key)).map(|key| key_name(schema, key));
    let checks = schema.checks.iter().map(|check| check.name.clone());
    keys.chain(checks).chain(schema.foreign_keys.iter().map(|key| key.name.clone())).collect()
}

/// Whether a constraint says that columns are a key, beside so many unique indexes on them.
pub(super) fn has_constraint(schema: &TableSchema, key: &[usize], indexed: usize) -> bool {
    let is_marked = matches!(key, [only] if schema.columns[*only].unique);
    is_marked || schema.keys.iter().filter(|known| *known == key).count() > indexed
}

/// Adds the key of a constraint unless one is there; of two declarations of one key the stricter counts. `indexed` unique
/// indexes are on the same columns, whose keys are theirs alone.
pub(super) fn add_key(schema: &mut TableSchema, key: Vec<usize>, deferral: Deferral, indexed: usize) {
    let is_there = has_constraint(schema, &key, indexed);
    if deferral != Deferral::Never && indexed == 0 {
        if !is_there {
            schema.deferrable_keys.push((key.clone(), deferral));
            schema.keys.push(key);
        }
        return;
    }
    schema.deferrable_keys.retain(|(known, _)| *known != key);
    match key.as_slice() {
        _ if is_there => {}
        [only] => schema.columns[*only].unique = true,
        _ => schema.keys.push(key),
    }
}

/// The default of a column that takes its values from a sequence.
pub(super) fn default_of_sequence(sequence: &str) -> String {
    format!("nextval('{}')", sequence.replace('\'', "''"))
}

/// The sequence that a default is the next value of, if it is nothing else.
pub(super) fn sequence_of_default(default: Option<&str>) -> Option<String> {
    let text = default?.trim();
    let inner = text.get(..8).filter(|head| head.eq_ignore_ascii_case("nextval("));
    let name = text[inner?.len()..].strip_suffix(')')?.trim();
    let name = name.strip_prefix('\'')?.strip_suffix('\'')?.replace("''", "'");
    let mut parts = name.rsplit('.').map(|part| part.trim_matches('"'));
    let own = parts.next()?;
    Some(qualified(parts.next().unwrap_or(MAIN), own))
}

/// Gives columns of CREATE TABLE AS and of subqueries that share a name a number: `a`, `a_1`.
pub(super) fn unique_names<'n>(names: impl Iterator<Item = &'n mut String>) {
    let mut taken = HashSet::new();
    // The last number given to a name, so that many equal names are not counted through each time.
    let mut numbers: HashMap<String, usize> = HashMap::new();
    for name in names {
        let base = name.to_lowercase();
        if taken.insert(base.clone()) {
            continue;
        }
        let written = std::mem::take(name);
        let number = numbers.entry(base).or_insert(0);
        loop {
            *number += 1;
            *name = format!("{written}_{number}");
            if taken.insert(name.to_lowercase()) {
                break;
            }
        }
    }
}
