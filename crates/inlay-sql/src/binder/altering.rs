//! A table while ALTER TABLE changes it, action by action.

use super::define::{has_constraint, key_name};
use super::drop::altered_entry;
use super::row::with_columns;
use crate::parser::{Renamed, rename_in_expression};
use crate::plan::statement::{AlteredSchema, ColumnSource};
use crate::plan::{ColumnId, Expr};
use inlay_catalog::{SequenceSchema, TableEntry, TableSchema};
use inlay_storage::Origin;
use inlay_types::Result;
use std::sync::Arc;

/// A table on its way from one schema to the next.
pub(super) struct Altering {
    pub database: String,
    pub table: Arc<TableEntry>,
    pub schema: TableSchema,
    pub columns: Vec<ColumnSource>,
    /// Where each column was before, whatever its values are made of.
    pub origins: Vec<Option<usize>>,
    pub not_null: Vec<usize>,
    pub keys: Vec<Vec<usize>>,
    /// The columns of unique indexes, as they were before.
    pub indexed: Vec<Vec<usize>>,
    /// Names of checks and foreign keys.
    pub new_constraints: Vec<String>,
    /// Columns of another type than before.
    pub retyped: Vec<usize>,
    pub altered: Vec<AlteredSchema>,
    pub created_sequences: Vec<SequenceSchema>,
    pub dropped_sequences: Vec<String>,
    pub altered_sequences: Vec<SequenceSchema>,
}

impl Altering {
    pub fn new(database: String, table: Arc<TableEntry>) -> Self {
        let schema = table.table.schema().clone();
        Self {
            database,
            columns: (0..schema.columns.len()).map(ColumnSource::Kept).collect(),
            origins: (0..schema.columns.len()).map(Some).collect(),
            table,
            schema,
            not_null: Vec::new(),
            keys: Vec::new(),
            indexed: Vec::new(),
            new_constraints: Vec::new(),
            retyped: Vec::new(),
            altered: Vec::new(),
            created_sequences: Vec::new(),
            dropped_sequences: Vec::new(),
            altered_sequences: Vec::new(),
        }
    }

    /// Where column `index` was before, if it was there.
    pub fn old_index(&self, index: usize) -> Option<usize> {
        self.origins.get(index).copied().flatten()
    }

    /// How many unique indexes are on these columns: so many of the keys on them are no constraint's.
    pub fn indexed_on(&self, key: &[usize]) -> usize {
        indexed_among(&self.indexed, &self.origins, key)
    }

    /// The keys that are constraints, and not those of unique indexes alone.
    pub fn constraint_keys(&self) -> Vec<Vec<usize>> {
        let schema = &self.schema;
        let mut keys = schema.all_keys();
        keys.sort_unstable();
        keys.dedup();
        keys.retain(|key| schema.is_visible_key(key) && has_constraint(schema, key, self.indexed_on(key)));
        keys
    }

    /// Has keys keep the names that they have, before what these are made of gets another name.
    pub fn name_keys(&mut self) {
        for key in self.constraint_keys() {
            let name = key_name(&self.schema, &key);
            if !self.schema.key_names.iter().any(|(named, _)| *named == key) {
                self.schema.key_names.push((key, name));
            }
        }
    }

    /// Names of the constraints.
    pub fn constraint_names(&self) -> Vec<String> {
        let schema = &self.schema;
        let keys = self.constraint_keys().into_iter().map(|key| key_name(schema, &key));
        let checks = schema.checks.iter().map(|check| check.name.clone());
        keys.chain(checks).chain(schema.foreign_keys.iter().map(|key| key.name.clone())).collect()
    }

    pub fn old_position(&self, name: &str) -> Option<usize> {
        self.table.table.schema().position(name)
    }

    /// An expression over a row of the schema so far, over a row of the old one.
    pub fn over_old_row(&self, expr: Expr) -> Expr {
        let old = self.table.table.schema();
        with_columns(expr, |index| match self.columns.get(index)? {
            ColumnSource::Kept(position) => {
                Some(Expr::Column { id: ColumnId(*position as u32), ty: old.columns[*position].ty.clone() })
            }
            ColumnSource::Computed(value) => Some(value.clone()),
        })
    }

    /// Takes foreign keys of other tables away.
    pub fn drop_foreign_keys(&mut self, keys: &[(Arc<TableEntry>, usize)]) {
        for (entry, index) in keys {
            let name = &entry.table.schema().foreign_keys[*index].name;
            let altered = altered_entry(&mut self.altered, &self.database, entry);
            altered.schema.foreign_keys.retain(|key| key.name != *name);
        }
    }

    /// Takes a column away; the keys and foreign keys that it is part of go with it.
    pub fn remove(&mut self, index: usize) {
        let keep = |positions: &Vec<usize>| !positions.contains(&index);
        let shift = |positions: &mut Vec<usize>| {
            positions.iter_mut().filter(|position| **position > index).for_each(|position| *position -= 1);
        };
        self.schema.remove_column(index);
        self.columns.remove(index);
        self.origins.remove(index);
        self.keys.retain(keep);
        self.keys.iter_mut().for_each(shift);
        for positions in [&mut self.not_null, &mut self.retyped] {
            positions.retain(|&position| position != index);
            shift(positions);
        }
    }

    /// Puts a new name into the stored expressions.
    pub fn rewrite(&mut self, renamed: Renamed, old: &str, new: &str) -> Result<()> {
        for check in &mut self.schema.checks {
            check.condition = rename_in_expression(&check.condition, renamed, old, new)?;
        }
        for column in &mut self.schema.columns {
            for text in column.origin.texts_mut() {
                *text = rename_in_expression(text, renamed, old, new)?;
            }
            if let Origin::Indexed(indexed) = &column.origin {
                column.name = indexed.name();
            }
        }
        Ok(())
    }
}

/// How many of the unique indexes `indexed` are on columns that were elsewhere before, as `origins` says.
pub(super) fn indexed_among(indexed: &[Vec<usize>], origins: &[Option<usize>], key: &[usize]) -> usize {
    let old: Option<Vec<usize>> = key.iter().map(|&index| origins.get(index).copied().flatten()).collect();
    old.map_or(0, |old| indexed.iter().filter(|columns| **columns == old).count())
}
