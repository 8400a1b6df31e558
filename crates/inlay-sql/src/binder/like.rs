//! `LIKE other` in CREATE TABLE: the columns of another table or view, as they are now, and with INCLUDING what belongs to them.
//!
//! As in PostgreSQL: names, types, NOT NULL and collations are always taken, foreign keys never. Keys and indexes get names of their
//! own, an identity column its own sequence.

use super::Binder;
use super::coerce::concrete;
use super::define::{add_key, constraint_names, default_of_sequence, sequence_of_default};
use super::scope::same_name;
use super::statement::star_query;
use crate::parser::ast::{ObjectName, TableLike};
use crate::plan::statement::NewIndex;
use inlay_catalog::{
    CatalogEntry, ColumnSchema, IndexEntry, SequenceSchema, TableEntry, TableSchema, bare_name, qualified,
    schema_of,
};
use inlay_storage::store::IndexKind;
use inlay_storage::{Check, Deferral, Origin};
use inlay_types::{Error, Result};

/// What a new table gets besides its schema.
#[derive(Default)]
pub(super) struct Beside {
    pub(super) sequences: Vec<SequenceSchema>,
    pub(super) comments: Vec<(String, String)>,
    /// Indexes of the tables that it is like, which are made when all of its columns are known.
    indexes: Vec<TakenIndex>,
}

/// An index of another table, its columns by what they are in the new one.
struct TakenIndex {
    columns: Vec<Taken>,
    unique: bool,
    kind: IndexKind,
    comment: Option<String>,
}

/// A column of an index.
enum Taken {
    /// The one of this name.
    Named(String),
    /// A hidden one, which the new table is to have, too.
    Hidden(ColumnSchema),
}

impl Binder<'_> {
    /// Adds to a schema what it takes from another table.
    pub(super) fn take_like(
        &mut self,
        database: &str,
        schema: &mut TableSchema,
        like: &TableLike,
        beside: &mut Beside,
    ) -> Result<()> {
        let first = schema.columns.len();
        match self.object(&like.table)? {
            Some((home, CatalogEntry::Table(entry))) => {
                self.take_columns(database, schema, (&home, &entry), like, beside)?;
                self.take_constraints(schema, (&home, &entry), like, beside)?;
            }
            Some(_) => {
                let bound = self.query(&star_query(like.table.clone()))?;
                for column in &bound.output {
                    let made = ColumnSchema::new(column.name.clone(), concrete(self.columns.ty(column.id)));
                    schema.columns.push(made);
                }
            }
            None => return Err(self.at(self.undefined_object(&like.table), like.table.pos())),
        }
        for index in first..schema.columns.len() {
            self.check_new_name(schema, index, &like.table)?;
        }
        Ok(())
    }

    fn check_new_name(&self, schema: &TableSchema, index: usize, table: &ObjectName) -> Result<()> {
        let name = &schema.columns[index].name;
        if schema.columns[..index].iter().any(|known| same_name(&known.name, name)) {
            let error = Error::Duplicate { kind: "column", name: name.clone() };
            return Err(self.at(error, table.pos()));
        }
        Ok(())
    }

    fn take_columns(
        &mut self,
        database: &str,
        schema: &mut TableSchema,
        (home, entry): (&str, &TableEntry),
        like: &TableLike,
        beside: &mut Beside,
    ) -> Result<()> {
        let parts = like.parts;
        for (_, column) in entry.table.schema().visible() {
            let mut made = ColumnSchema::new(column.name.clone(), column.ty.clone());
            made.not_null = column.not_null;
            made.collation.clone_from(&column.collation);
            match &column.origin {
                Origin::Given if parts.defaults => made.default.clone_from(&column.default),
                Origin::Computed(_) if parts.generated => made.origin = column.origin.clone(),
                Origin::IdentityAlways | Origin::IdentityByDefault if parts.identity => {
                    let known = sequence_of_default(column.default.as_deref());
                    let known = known.and_then(|name| self.context.catalog.sequence(Some(home), &name));
                    let options = like_options(known.map(|(_, known)| known.schema()), like);
                    let of = (column.name.as_str(), &column.ty);
                    let pos = like.table.pos();
                    let sequence = self.identity_sequence(database, &schema.name, of, &options, pos)?;
                    made.default = Some(default_of_sequence(&sequence.name));
                    made.origin = column.origin.clone();
                    beside.sequences.push(sequence);
                }
                Origin::Given
                | Origin::Computed(_)
                | Origin::IdentityAlways
                | Origin::IdentityByDefault
                | Origin::Indexed(_) => {}
            }
            if parts.comments {
                let comment = self.context.catalog.column_comment(home, entry, &column.name);
                beside.comments.extend(comment.map(|text| (column.name.clone(), text)));
            }
            schema.columns.push(made);
        }
        Ok(())
    }

    fn take_constraints(
        &mut self,
        schema: &mut TableSchema,
        (home, entry): (&str, &TableEntry),
        like: &TableLike,
        beside: &mut Beside,
    ) -> Result<()> {
        let source = entry.table.schema();
        if like.parts.constraints {
            for check in &source.checks {
                let mut name = check.name.clone();
                let mut number = 0;
                while constraint_names(schema).iter().any(|known| same_name(known, &name)) {
                    number += 1;
                    name = format!("{}{number}", check.name);
                }
                schema.checks.push(Check { name, condition: check.condition.clone() });
            }
        }
        if !like.parts.indexes {
            return Ok(());
        }
        let indexes = self.context.catalog.indexes_of(home, entry);
        let place = |column: usize| schema.position(&source.columns[column].name);
        let mut keys: Vec<(Vec<usize>, Deferral, bool)> = Vec::new();
        for key in source.all_keys().iter().filter(|key| source.is_visible_key(key)) {
            let by_index = indexes.iter().filter(|(index, _)| index.unique && index.columns == *key).count();
            if super::define::has_constraint(source, key, by_index) {
                let columns = key.iter().filter_map(|&column| place(column)).collect();
                keys.push((columns, source.deferral(key), *key == source.primary_key));
            }
        }
        for (key, deferral, is_primary) in keys {
            if is_primary && !schema.primary_key.is_empty() {
                let message = format!("table \"{}\" has a PRIMARY KEY already", schema.name);
                return Err(self.at(Error::bind(message), like.table.pos()));
            }
            if is_primary {
                schema.primary_key.clone_from(&key);
            }
            add_key(schema, key, deferral, 0);
        }
        let described = |comment: Option<String>| comment.filter(|_| like.parts.comments);
        let taken = |(index, comment)| taken(source, index, described(comment));
        beside.indexes.extend(indexes.into_iter().map(taken));
        Ok(())
    }

    /// The indexes that were taken, with their keys and hidden columns in the schema.
    pub(super) fn taken_indexes(
        &self,
        database: &str,
        schema: &mut TableSchema,
        beside: Beside,
    ) -> Vec<NewIndex> {
        let mut made: Vec<NewIndex> = Vec::new();
        for index in beside.indexes {
            let mut columns = Vec::with_capacity(index.columns.len());
            for column in index.columns {
                columns.extend(match column {
                    Taken::Named(name) => schema.position(&name),
                    Taken::Hidden(column) => {
                        let known = schema.columns.iter().position(|known| known.origin == column.origin);
                        if known.is_none() {
                            schema.columns.push(column);
                        }
                        known.or(Some(schema.columns.len() - 1))
                    }
                });
            }
            if index.unique {
                schema.keys.push(columns.clone());
            }
            let names = columns.iter().map(|&column| &schema.columns[column]);
            let names: Vec<&str> =
                names.map(|column| if column.is_hidden() { "expr" } else { column.name.as_str() }).collect();
            let own = format!("{}_{}_idx", bare_name(&schema.name), names.join("_"));
            let (mut name, mut number) = (qualified(schema_of(&schema.name), &own), 0);
            while self.context.catalog.index(Some(database), &name).is_some()
                || made.iter().any(|known| same_name(&known.name, &name))
            {
                number += 1;
                name = qualified(schema_of(&schema.name), &format!("{own}{number}"));
            }
            let (unique, kind) = (index.unique, index.kind);
            made.push(NewIndex { name, columns, unique, kind, comment: index.comment });
        }
        made
    }
}

fn taken(source: &TableSchema, index: IndexEntry, comment: Option<String>) -> TakenIndex {
    let column = |&column: &usize| match &source.columns[column] {
        hidden if hidden.is_hidden() => Taken::Hidden(hidden.clone()),
        column => Taken::Named(column.name.clone()),
    };
    let columns = index.columns.iter().map(column).collect();
    TakenIndex { columns, unique: index.unique, kind: index.kind, comment }
}

/// How a sequence like another begins and goes on.
fn like_options(known: Option<SequenceSchema>, like: &TableLike) -> crate::parser::ast::SequenceOptions {
    let mut options = crate::parser::ast::SequenceOptions {
        pos: like.table.pos(),
        ..crate::parser::ast::SequenceOptions::default()
    };
    if let Some(known) = known {
        options.start = Some(known.start);
        options.increment = Some(known.increment);
        options.min = Some(Some(known.min));
        options.max = Some(Some(known.max));
        options.cycle = Some(known.cycle);
    }
    options
}
