//! ALTER TABLE, VIEW and SEQUENCE.

use super::Binder;
use super::altering::{Altering, indexed_among};
use super::define::{constraint_names, default_of_sequence, key_name};
use super::drop::altered_entry;
use super::fields::default_with_field_renamed;
use super::object::Target;
use super::row::positions_read;
use super::scope::same_name;
use crate::parser::Renamed;
use crate::parser::ast::{
    self, AlterAction, ColumnOrigin, ConstraintKind, FieldChange, Ident, ObjectName, Pos,
};
use crate::plan::statement::{AlterTable, ColumnSource, Drop, Verification};
use crate::plan::{self, ColumnId, Expr};
use inlay_catalog::{CatalogEntry, ColumnSchema, TableEntry, bare_name, qualified, schema_of};
use inlay_kernels::cast::lost_field;
use inlay_storage::{ForeignKey, Origin};
use inlay_types::{Error, LogicalType, Result};
use std::sync::Arc;

/// A statement about a thing that is not there, with IF EXISTS.
pub(super) fn nothing() -> plan::Statement {
    plan::Statement::Drop(Box::new(Drop { objects: Vec::new(), altered: Vec::new() }))
}

impl Binder<'_> {
    pub(super) fn rename_view(
        &mut self,
        name: &ObjectName,
        if_exists: bool,
        new_name: &Ident,
    ) -> Result<plan::Statement> {
        match self.object(name)? {
            Some((database, CatalogEntry::View(view))) => {
                let key = qualified(schema_of(&view.name), &new_name.value);
                self.check_free(&database, &key, new_name)?;
                let new_name = key;
                Ok(plan::Statement::RenameView { database, name: view.name.clone(), new_name })
            }
            Some(_) => Err(self.at(Error::bind(format!("\"{name}\" is not a view")), name.pos())),
            None if if_exists => Ok(nothing()),
            None => Err(self.at(self.undefined_object(name), name.pos())),
        }
    }

    /// Fails if a table or view of this name is there.
    pub(super) fn check_free(&self, database: &str, key: &str, name: &Ident) -> Result<()> {
        match self.context.catalog.resolve(Some(database), key) {
            Some((_, CatalogEntry::View(_))) => {
                Err(self.at(Error::Duplicate { kind: "view", name: name.value.clone() }, name.pos))
            }
            Some(_) => Err(self.at(Error::Duplicate { kind: "table", name: name.value.clone() }, name.pos)),
            None => Ok(()),
        }
    }

    pub(super) fn alter_sequence(&mut self, alter: &ast::AlterSequence) -> Result<plan::Statement> {
        let (database, sequence) = match self.sequence(&alter.name) {
            Ok(found) => found,
            Err(_) if alter.if_exists => return Ok(nothing()),
            Err(error) => return Err(error),
        };
        let mut schema = sequence.schema();
        let name = schema.name.clone();
        if let Some(new_name) = &alter.rename {
            let key = qualified(schema_of(&name), &new_name.value);
            if self.context.catalog.sequence(Some(&database), &key).is_some() {
                let error = Error::Duplicate { kind: "sequence", name: new_name.value.clone() };
                return Err(self.at(error, new_name.pos));
            }
            schema.name = key;
        }
        self.apply_options(&mut schema, &alter.options, None)?;
        let restart = alter.restart.map(|value| value.unwrap_or(schema.start));
        if let Some(value) = restart.filter(|value| !(schema.min..=schema.max).contains(value)) {
            let message = format!(
                "sequence \"{name}\": RESTART {value} is not between MINVALUE {} and MAXVALUE {}",
                schema.min, schema.max
            );
            return Err(self.at(Error::invalid_argument(message), alter.name.pos()));
        }
        Ok(plan::Statement::AlterSequence { database, name, sequence: schema, restart })
    }

    pub(super) fn alter_table(
        &mut self,
        name: &ObjectName,
        if_exists: bool,
        actions: &[AlterAction],
    ) -> Result<plan::Statement> {
        if self.object_if(name, if_exists)?.is_none() && if_exists {
            return Ok(nothing());
        }
        let Target { database, entry } = self.table(name)?;
        let mut altering = Altering::new(database, entry);
        altering.indexed = self.context.catalog.unique_indexes(&altering.database, &altering.table);
        for action in actions {
            self.alter(&mut altering, action, name)?;
        }
        self.finish_alter(altering).map(|alter| plan::Statement::AlterTable(Box::new(alter)))
    }

    /// ALTER TABLE ... RENAME TO of a table that was found.
    pub(super) fn rename_entry(
        &mut self,
        database: String,
        entry: Arc<TableEntry>,
        new_name: &Ident,
    ) -> Result<plan::Statement> {
        let key = qualified(schema_of(&entry.name), &new_name.value);
        self.move_entry(database, entry, &key, new_name)
    }

    /// Makes a table known by another name; `written` is what to point at when that is taken.
    pub(super) fn move_entry(
        &mut self,
        database: String,
        entry: Arc<TableEntry>,
        key: &String,
        written: &Ident,
    ) -> Result<plan::Statement> {
        let mut altering = Altering::new(database, entry);
        self.move_table(&mut altering, key, written)?;
        self.finish_alter(altering).map(|alter| plan::Statement::AlterTable(Box::new(alter)))
    }

    pub(super) fn finish_alter(&mut self, altering: Altering) -> Result<AlterTable> {
        let Altering { database, table, schema, columns, origins, retyped, .. } = altering;
        let mut checks = self.checks(&database, &schema)?;
        checks.retain(|check| {
            altering.new_constraints.contains(&check.name)
                || positions_read(&check.condition).iter().any(|index| retyped.contains(index))
        });
        let new_keys = schema.foreign_keys.iter().enumerate();
        let foreign_keys = new_keys
            .filter(|(_, key)| altering.new_constraints.contains(&key.name))
            .map(|(index, _)| index)
            .collect();
        Ok(AlterTable {
            database,
            table,
            schema,
            columns,
            origins,
            verify: Verification { not_null: altering.not_null, keys: altering.keys, checks, foreign_keys },
            altered: altering.altered,
            created_sequences: altering.created_sequences,
            dropped_sequences: altering.dropped_sequences,
            altered_sequences: altering.altered_sequences,
        })
    }

    fn alter(&mut self, altering: &mut Altering, action: &AlterAction, table: &ObjectName) -> Result<()> {
        let index = |binder: &Self, altering: &Altering, name: &Ident| {
            binder.column_index(&altering.schema, name, table)
        };
        match action {
            AlterAction::AddColumn { column, constraints, if_not_exists } => {
                if *if_not_exists && altering.schema.position(&column.name.value).is_some() {
                    return Ok(());
                }
                self.add_column(altering, column)?;
                constraints.iter().try_for_each(|one| self.add_verified(altering, one, table))
            }
            AlterAction::DropColumn { name, if_exists, cascade } => {
                if *if_exists && altering.schema.position(&name.value).is_none() {
                    return Ok(());
                }
                let index = index(self, altering, name)?;
                self.drop_column(altering, index, *cascade, name.pos)
            }
            AlterAction::RenameColumn { name, new_name } => {
                let index = index(self, altering, name)?;
                self.rename_column(altering, index, new_name)
            }
            AlterAction::RenameTable { new_name } => self.rename_table(altering, new_name),
            AlterAction::SetType { name, data_type, using, collation } => {
                let index = index(self, altering, name)?;
                let data_type = self.known_type(data_type, name.pos)?;
                self.set_collation(altering, index, &data_type, collation.as_deref(), name.pos)?;
                self.set_type(altering, index, data_type, using.as_ref(), name.pos)
            }
            AlterAction::SetNotNull(name) => {
                let index = index(self, altering, name)?;
                altering.schema.columns[index].not_null = true;
                altering.not_null.push(index);
                Ok(())
            }
            AlterAction::DropNotNull(name) => {
                let index = index(self, altering, name)?;
                let column = &mut altering.schema.columns[index];
                let reason = if altering.schema.primary_key.contains(&index) {
                    "belongs to the PRIMARY KEY"
                } else if is_identity(&column.origin) {
                    "is an identity column"
                } else {
                    column.not_null = false;
                    altering.not_null.retain(|&known| known != index);
                    return Ok(());
                };
                let message = format!("column \"{}\" {reason}: it cannot be NULL", name.value);
                Err(self.at(Error::bind(message), name.pos))
            }
            AlterAction::SetDefault { name, default: (expr, text) } => {
                let index = index(self, altering, name)?;
                self.defaultable(altering, index, name.pos)?;
                self.check_default(expr, altering.schema.columns[index].ty.clone())?;
                altering.schema.columns[index].default = Some(text.clone());
                Ok(())
            }
            AlterAction::DropDefault(name) => {
                let index = index(self, altering, name)?;
                self.defaultable(altering, index, name.pos)?;
                altering.schema.columns[index].default = None;
                Ok(())
            }
            AlterAction::AddIdentity { name, always, options } => {
                let index = index(self, altering, name)?;
                self.add_identity(altering, index, *always, options, name.pos)
            }
            AlterAction::AddConstraint(constraint) => self.add_verified(altering, constraint, table),
            AlterAction::DropConstraint { name, if_exists, cascade } => {
                self.drop_constraint(altering, name, *if_exists, *cascade)
            }
            AlterAction::DropPrimaryKey(pos) => {
                if altering.schema.primary_key.is_empty() {
                    let message = format!("table \"{}\" has no PRIMARY KEY", altering.schema.name);
                    return Err(self.at(Error::bind(message), *pos));
                }
                let key = altering.schema.primary_key.clone();
                self.drop_key(altering, &key, false, *pos)
            }
            AlterAction::RenameConstraint { name, new_name } => {
                self.rename_constraint(altering, name, new_name)
            }
            AlterAction::Field { path, change } => {
                let Some((name, rest)) = path.split_first() else { return Ok(()) };
                let index = index(self, altering, name)?;
                let value = super::build::Build(name.pos).column(name.value.clone());
                let ty = altering.schema.columns[index].ty.clone();
                let Some((new, value)) = self.with_field_changed(value, &ty, rest, change)? else {
                    return Ok(());
                };
                if let (FieldChange::Rename(name), Some(default)) =
                    (&**change, &mut altering.schema.columns[index].default)
                {
                    *default = default_with_field_renamed(default, &ty, rest, name);
                }
                self.set_type(altering, index, new, Some(&value), name.pos)
            }
        }
    }

    /// Has a column take its values from a sequence of its own from now on; those it has stay.
    fn add_identity(
        &mut self,
        altering: &mut Altering,
        index: usize,
        always: bool,
        options: &ast::SequenceOptions,
        pos: Pos,
    ) -> Result<()> {
        let column = &altering.schema.columns[index];
        let refuse = |reason: &str| {
            let message = format!("column \"{}\" cannot become an identity column: it {reason}", column.name);
            Err(self.at(Error::bind(message), pos))
        };
        match (&column.origin, &column.default) {
            (Origin::Given, None) => {}
            (Origin::Given, Some(_)) => return refuse("has a default; DROP DEFAULT first"),
            (origin, _) if is_identity(origin) => return refuse("is one already"),
            _ => return refuse("is generated"),
        }
        let (database, table) = (altering.database.clone(), altering.schema.name.clone());
        let sequence =
            self.identity_sequence(&database, &table, (column.name.as_str(), &column.ty), options, pos)?;
        let column = &mut altering.schema.columns[index];
        column.origin = if always { Origin::IdentityAlways } else { Origin::IdentityByDefault };
        column.default = Some(default_of_sequence(&sequence.name));
        column.not_null = true;
        altering.not_null.push(index);
        altering.created_sequences.push(sequence);
        Ok(())
    }

    /// Generated and identity columns have no default of their own.
    fn defaultable(&self, altering: &Altering, index: usize, pos: Pos) -> Result<()> {
        let column = &altering.schema.columns[index];
        if column.origin == Origin::Given {
            return Ok(());
        }
        let kind = if is_identity(&column.origin) { "an identity" } else { "a generated" };
        let message = format!("column \"{}\" is {kind} column: its default cannot change", column.name);
        Err(self.at(Error::bind(message), pos))
    }

    fn add_column(&mut self, altering: &mut Altering, column: &ast::ColumnDef) -> Result<()> {
        if matches!(column.origin, ColumnOrigin::Identity { .. } | ColumnOrigin::Serial) {
            let error = Error::unsupported("ADD COLUMN of an identity or SERIAL column");
            return Err(self.at(error, column.name.pos));
        }
        let database = altering.database.clone();
        if altering.schema.position(&column.name.value).is_some() {
            return Err(self.duplicate_column(&column.name));
        }
        let added = self.new_column(&database, &altering.schema, column, &mut Vec::new())?;
        let index = altering.schema.columns.len();
        altering.schema.columns.push(added);
        self.type_generated(&mut altering.schema, std::slice::from_ref(column), &[index])?;
        self.check_generated(&database, &altering.schema, index, column)?;
        let added = &altering.schema.columns[index];
        let value = match &column.origin {
            ColumnOrigin::Computed(expr, _) => {
                let value = self.row_expr(&altering.schema, expr, "a generated column")?;
                altering.over_old_row(self.assigned(value, added.ty.clone(), expr.pos)?)
            }
            _ => self.default_of(&database, added)?,
        };
        if added.not_null {
            altering.not_null.push(index);
        }
        altering.columns.push(ColumnSource::Computed(value));
        altering.origins.push(None);
        Ok(())
    }

    /// Adds a constraint that the rows must satisfy.
    fn add_verified(
        &mut self,
        altering: &mut Altering,
        constraint: &ast::TableConstraint,
        table: &ObjectName,
    ) -> Result<()> {
        let database = altering.database.clone();
        let (indexed, origins) = (altering.indexed.clone(), altering.origins.clone());
        let indexed_on = |key: &[usize]| indexed_among(&indexed, &origins, key);
        self.add_constraint(&database, &mut altering.schema, constraint, table, &indexed_on)?;
        let schema = &altering.schema;
        match &constraint.kind {
            ConstraintKind::PrimaryKey(_) => {
                altering.not_null.extend(&schema.primary_key);
                altering.keys.push(schema.primary_key.clone());
            }
            ConstraintKind::Unique(names) => {
                altering.keys.push(self.column_indexes(schema, names, table)?);
            }
            ConstraintKind::Check(..) => {
                altering.new_constraints.extend(schema.checks.last().map(|check| check.name.clone()));
            }
            ConstraintKind::ForeignKey { .. } => {
                altering.new_constraints.extend(schema.foreign_keys.last().map(|key| key.name.clone()));
            }
        }
        Ok(())
    }

    /// Generated columns that read column `index`.
    fn computed_from(&mut self, altering: &Altering, index: usize) -> Result<Vec<usize>> {
        let mut generated = self.generated_as_written(&altering.database, &altering.schema)?;
        generated.extend(self.generated(&altering.database, &altering.schema)?);
        let reads = |(_, value): &&(usize, Expr)| positions_read(value).contains(&index);
        let mut found: Vec<usize> = generated.iter().filter(reads).map(|(position, _)| *position).collect();
        found.sort_unstable();
        found.dedup();
        Ok(found)
    }

    /// Foreign keys of other tables to a key that holds column `index`.
    fn referred_through(&self, altering: &Altering, index: usize) -> Vec<(Arc<TableEntry>, usize)> {
        let mut found = self.referring(&altering.database, &altering.table.name);
        found.retain(|(entry, key)| {
            let names = &entry.table.schema().foreign_keys[*key].referenced;
            let reads = names.iter().any(|name| altering.old_position(name) == altering.old_index(index));
            !entry.is_same(&altering.table) && reads
        });
        found
    }

    /// Takes a column away, and with it the keys, checks and foreign keys that it is part of.
    fn drop_column(&mut self, altering: &mut Altering, index: usize, cascade: bool, pos: Pos) -> Result<()> {
        let name = altering.schema.columns[index].name.clone();
        if altering.schema.visible().count() == 1 {
            let message = format!("\"{name}\" is the only column of table \"{}\"", altering.schema.name);
            return Err(self.at(Error::bind(message), pos));
        }
        let computed = self.computed_from(altering, index)?;
        let referred = self.referred_through(altering, index);
        if !cascade {
            let own =
                altering.schema.foreign_keys.iter().find(|key| {
                    key.is_of_column(&altering.schema.name, &name) && !key.columns.contains(&index)
                });
            let dependent = match (computed.first(), own, referred.first()) {
                (Some(&other), ..) => computed_name(&altering.schema.columns[other]),
                (None, Some(own), _) => format!("foreign key \"{}\" of the table itself", own.name),
                (None, None, Some((entry, key))) => {
                    let key = &entry.table.schema().foreign_keys[*key].name;
                    format!("foreign key \"{key}\" of table \"{}\"", entry.name)
                }
                (None, None, None) => String::new(),
            };
            if !dependent.is_empty() {
                let message = format!("column \"{name}\" is used by {dependent}");
                let hint = "DROP COLUMN ... CASCADE drops it, too";
                return Err(self.at(Error::bind(message).with_hint(hint), pos));
            }
        }
        let stays = |position: usize| position != index && !computed.contains(&position);
        if !altering.schema.visible().any(|(position, _)| stays(position)) {
            let table = &altering.schema.name;
            let message =
                format!("\"{name}\" and what is computed from it are all columns of table \"{table}\"");
            return Err(self.at(Error::bind(message), pos));
        }
        altering.drop_foreign_keys(&referred);
        let database = altering.database.clone();
        let checks = self.checks(&database, &altering.schema)?;
        let gone: Vec<&str> = checks
            .iter()
            .filter(|check| positions_read(&check.condition).contains(&index))
            .map(|check| check.name.as_str())
            .collect();
        altering.schema.checks.retain(|check| !gone.contains(&check.name.as_str()));
        // Columns behind go first, so that positions in front stay.
        let mut dropped = computed;
        dropped.push(index);
        dropped.sort_unstable();
        for index in dropped.into_iter().rev() {
            let column = &altering.schema.columns[index].name;
            for sequence in self.context.catalog.sequences(&database) {
                let sequence = sequence.schema();
                let owned = sequence.owner.as_ref().is_some_and(|(table, owner)| {
                    same_name(table, &altering.table.name) && same_name(owner, column)
                });
                if owned {
                    altering.dropped_sequences.push(sequence.name);
                }
            }
            altering.remove(index);
        }
        Ok(())
    }

    fn rename_column(&mut self, altering: &mut Altering, index: usize, new_name: &Ident) -> Result<()> {
        let old = altering.schema.columns[index].name.clone();
        let new = &new_name.value;
        let taken = altering.schema.position(new).is_some_and(|position| position != index);
        if taken {
            let error = Error::Duplicate { kind: "column", name: new.clone() };
            return Err(self.at(error, new_name.pos));
        }
        altering.name_keys();
        altering.rewrite(Renamed::Column, &old, new)?;
        let table = altering.table.name.clone();
        let own = altering.schema.name.clone();
        rename_referenced(&mut altering.schema.foreign_keys, &own, &old, new);
        for (entry, _) in self.referring(&altering.database, &table) {
            if !entry.is_same(&altering.table) {
                let altered = altered_entry(&mut altering.altered, &altering.database, &entry);
                rename_referenced(&mut altered.schema.foreign_keys, &own, &old, new);
            }
        }
        self.change_owned(altering, |(_, column)| {
            if same_name(column, &old) {
                column.clone_from(new);
            }
        });
        altering.schema.columns[index].name.clone_from(new);
        Ok(())
    }

    fn rename_table(&mut self, altering: &mut Altering, new_name: &Ident) -> Result<()> {
        let key = qualified(schema_of(&altering.schema.name), &new_name.value);
        self.move_table(altering, &key, new_name)
    }

    /// Makes the table known by `new`; `written` is what to point at when that is taken.
    fn move_table(&mut self, altering: &mut Altering, new: &String, written: &Ident) -> Result<()> {
        let old = altering.schema.name.clone();
        if !same_name(&old, new) {
            self.check_free(&altering.database, new, written)?;
        }
        altering.name_keys();
        altering.rewrite(Renamed::Table, bare_name(&old), bare_name(new))?;
        let rename = |keys: &mut Vec<ForeignKey>| {
            let own = keys.iter_mut().filter(|key| same_name(&key.table, &old));
            own.for_each(|key| key.table.clone_from(new));
        };
        rename(&mut altering.schema.foreign_keys);
        for (entry, _) in self.referring(&altering.database, &altering.table.name) {
            if !entry.is_same(&altering.table) {
                let altered = altered_entry(&mut altering.altered, &altering.database, &entry);
                rename(&mut altered.schema.foreign_keys);
            }
        }
        self.change_owned(altering, |(table, _)| table.clone_from(new));
        altering.schema.name.clone_from(new);
        Ok(())
    }

    /// Changes what the sequences of the table name as their owner.
    fn change_owned(&self, altering: &mut Altering, change: impl Fn(&mut (String, String))) {
        for sequence in self.context.catalog.sequences(&altering.database) {
            let schema = sequence.schema();
            let Some((table, _)) = &schema.owner else { continue };
            if !same_name(table, &altering.table.name) {
                continue;
            }
            let known = altering.altered_sequences.iter().position(|known| known.name == schema.name);
            let index = known.unwrap_or_else(|| {
                altering.altered_sequences.push(schema);
                altering.altered_sequences.len() - 1
            });
            altering.altered_sequences[index].owner.iter_mut().for_each(&change);
        }
    }

    /// Gives a column the collation that stands behind its new type; without one it has none.
    fn set_collation(
        &mut self,
        altering: &mut Altering,
        index: usize,
        ty: &LogicalType,
        collation: Option<&str>,
        pos: Pos,
    ) -> Result<()> {
        let column = &altering.schema.columns[index];
        if column.collation.as_deref() == collation {
            return Ok(());
        }
        let name = column.name.clone();
        if let Some(collation) = collation {
            if *ty != LogicalType::Varchar {
                let message =
                    format!("column \"{name}\" of type {ty} cannot have a collation: only VARCHAR has");
                return Err(self.at(Error::bind(message), pos));
            }
            self.collation(collation, pos)?;
        }
        if let Some(&other) = self.computed_from(altering, index)?.first() {
            let other = computed_name(&altering.schema.columns[other]);
            let message =
                format!("the collation of column \"{name}\" cannot change: {other} is computed from it");
            return Err(self.at(Error::bind(message), pos));
        }
        altering.schema.columns[index].collation = collation.map(str::to_string);
        altering.retyped.push(index);
        Ok(())
    }

    pub(super) fn set_type(
        &mut self,
        altering: &mut Altering,
        index: usize,
        ty: LogicalType,
        using: Option<&ast::Expr>,
        pos: Pos,
    ) -> Result<()> {
        let column = &altering.schema.columns[index];
        if column.ty == ty && using.is_none() {
            return Ok(());
        }
        let name = column.name.clone();
        let refuse = |reason: String| {
            let message = format!("the type of column \"{name}\" cannot change: {reason}");
            Err(self.at(Error::bind(message), pos))
        };
        if matches!(column.origin, Origin::Computed(_)) {
            return refuse("it is generated".into());
        }
        if is_identity(&column.origin)
            && !matches!(ty, LogicalType::SmallInt | LogicalType::Integer | LogicalType::BigInt)
        {
            return refuse("it is an identity column, which is SMALLINT, INTEGER or BIGINT".into());
        }
        if let Some(key) = altering.schema.foreign_keys.iter().find(|key| key.columns.contains(&index)) {
            return refuse(format!("it is part of foreign key \"{}\"", key.name));
        }
        let schema = &altering.schema;
        let of_own = |key: &&ForeignKey| key.is_of_column(&schema.name, &schema.columns[index].name);
        let own = schema.foreign_keys.iter().find(of_own).map(|key| (key.name.clone(), schema.name.clone()));
        let referred = own.or_else(|| {
            let (entry, key) = self.referred_through(altering, index).into_iter().next()?;
            Some((entry.table.schema().foreign_keys[key].name.clone(), entry.name.clone()))
        });
        if let Some((key, table)) = referred {
            return refuse(format!("foreign key \"{key}\" of table \"{table}\" refers to it"));
        }
        if let Some(&other) = self.computed_from(altering, index)?.first() {
            let other = computed_name(&altering.schema.columns[other]);
            let message = format!("the type of column \"{name}\" cannot change: {other} is computed from it");
            return Err(self.at(Error::bind(message), pos));
        }
        let old = Expr::Column { id: ColumnId(index as u32), ty: altering.schema.columns[index].ty.clone() };
        let value = match using {
            Some(using) => self.row_expr(&altering.schema, using, "USING")?,
            None => old,
        };
        let value = self.explicit_cast(value, ty.clone(), false, pos)?;
        let value = altering.over_old_row(value);
        altering.columns[index] = ColumnSource::Computed(value);
        let column = &mut altering.schema.columns[index];
        // A value on its way into a column loses no field, but for a CAST.
        if let (Some(_), Some(default)) = (lost_field(&column.ty, &ty), &mut column.default) {
            *default = format!("CAST(({default}) AS {ty})");
        }
        column.ty = ty;
        if column.not_null {
            altering.not_null.push(index);
        }
        altering.retyped.push(index);
        for key in altering.schema.all_keys().iter().filter(|key| key.contains(&index)) {
            self.check_key_types(&altering.schema, key, pos)?;
        }
        altering.keys.extend(altering.schema.all_keys().into_iter().filter(|key| key.contains(&index)));
        let (database, column) = (altering.database.clone(), altering.schema.columns[index].clone());
        self.default_of(&database, &column).map(drop)
    }

    fn drop_constraint(
        &mut self,
        altering: &mut Altering,
        name: &Ident,
        if_exists: bool,
        cascade: bool,
    ) -> Result<()> {
        let schema = &mut altering.schema;
        let is_it = |known: &str| same_name(known, &name.value);
        if let Some(index) = schema.checks.iter().position(|check| is_it(&check.name)) {
            schema.checks.remove(index);
            return Ok(());
        }
        if let Some(index) = schema.foreign_keys.iter().position(|key| is_it(&key.name)) {
            schema.foreign_keys.remove(index);
            return Ok(());
        }
        let keys = altering.constraint_keys();
        let schema = &altering.schema;
        match keys.iter().find(|key| is_it(&key_name(schema, key))) {
            Some(key) => self.drop_key(altering, key, cascade, name.pos),
            None if if_exists => Ok(()),
            None => Err(self.undefined_constraint(&schema.name, name, &altering.constraint_names())),
        }
    }

    /// Drops a PRIMARY KEY or UNIQUE constraint; NOT NULL stays.
    fn drop_key(&mut self, altering: &mut Altering, key: &[usize], cascade: bool, pos: Pos) -> Result<()> {
        let first = *key.first().ok_or_else(|| Error::internal("a key without columns"))?;
        let mut referred = self.referred_through(altering, first);
        referred.retain(|(entry, index)| {
            let names = &entry.table.schema().foreign_keys[*index].referenced;
            let old = |index: &usize| altering.old_index(*index);
            names.len() == key.len()
                && names.iter().all(|name| key.iter().any(|i| old(i) == altering.old_position(name)))
        });
        let own = altering.schema.foreign_keys.iter().find(|foreign| {
            same_name(&foreign.table, &altering.schema.name)
                && foreign.referenced.len() == key.len()
                && foreign.referenced.iter().all(|name| {
                    altering.schema.position(name).is_some_and(|position| key.contains(&position))
                })
        });
        let user = own.map(|foreign| (foreign.name.clone(), altering.schema.name.clone()));
        let user = user.or_else(|| {
            let (entry, index) = referred.first()?;
            Some((entry.table.schema().foreign_keys[*index].name.clone(), entry.name.clone()))
        });
        // A unique index on the columns is a key, too.
        let indexed = altering.indexed_on(key);
        let user = user.filter(|_| indexed == 0);
        if let (false, Some((foreign, table))) = (cascade, user) {
            let message = format!(
                "constraint \"{}\" is needed by foreign key \"{foreign}\" of table \"{table}\"",
                key_name(&altering.schema, key)
            );
            let hint = "CASCADE drops the foreign key, too";
            return Err(self.at(Error::bind(message).with_hint(hint), pos));
        }
        if indexed == 0 {
            altering.drop_foreign_keys(&referred);
        }
        let schema = &mut altering.schema;
        let own_name = schema.name.clone();
        let names: Vec<String> = key.iter().map(|&index| schema.columns[index].name.clone()).collect();
        schema.foreign_keys.retain(|foreign| {
            indexed > 0
                || !same_name(&foreign.table, &own_name)
                || foreign.referenced.len() != names.len()
                || !foreign.referenced.iter().all(|name| names.iter().any(|own| same_name(own, name)))
        });
        if let [only] = key {
            schema.columns[*only].unique = false;
        }
        schema.keys.retain(|known| known != key);
        schema.keys.extend(std::iter::repeat_n(key.to_vec(), indexed));
        schema.key_names.retain(|(known, _)| known != key);
        schema.deferrable_keys.retain(|(known, _)| known != key);
        if schema.primary_key == key {
            schema.primary_key.clear();
        }
        altering.keys.retain(|known| known != key);
        Ok(())
    }

    fn rename_constraint(&self, altering: &mut Altering, name: &Ident, new_name: &Ident) -> Result<()> {
        let known = constraint_names(&altering.schema);
        if known.iter().any(|known| same_name(known, &new_name.value)) {
            let error = Error::Duplicate { kind: "constraint", name: new_name.value.clone() };
            return Err(self.at(error, new_name.pos));
        }
        let schema = &mut altering.schema;
        let checks = schema.checks.iter_mut().map(|check| &mut check.name);
        let mut names = checks.chain(schema.foreign_keys.iter_mut().map(|key| &mut key.name));
        if let Some(found) = names.find(|known| same_name(known, &name.value)) {
            found.clone_from(&new_name.value);
            return Ok(());
        }
        drop(names);
        let keys = altering.constraint_keys();
        let schema = &mut altering.schema;
        if let Some(key) = keys.into_iter().find(|key| same_name(&key_name(schema, key), &name.value)) {
            schema.key_names.retain(|(named, _)| *named != key);
            schema.key_names.push((key, new_name.value.clone()));
            return Ok(());
        }
        Err(self.undefined_constraint(&altering.schema.name, name, &altering.constraint_names()))
    }
}

/// What a column is that is computed from others.
fn computed_name(column: &ColumnSchema) -> String {
    let kind = if column.is_hidden() { "an index on" } else { "generated column" };
    format!("{kind} \"{}\"", column.name)
}

fn is_identity(origin: &Origin) -> bool {
    matches!(origin, Origin::IdentityAlways | Origin::IdentityByDefault)
}

/// Renames a column in foreign keys to its table.
fn rename_referenced(keys: &mut [ForeignKey], table: &str, old: &str, new: &str) {
    let to_it = keys.iter_mut().filter(|key| same_name(&key.table, table));
    for name in to_it.flat_map(|key| &mut key.referenced).filter(|name| same_name(name, old)) {
        *name = new.to_string();
    }
}
