//! Indexes by value: which columns are to have sets of rows, and the sets of a row group.
//!
//! That a column is wanted here is all that an index is; sets belong to columns ([`crate::value_sets`]). Whether they are there
//! changes no answer: a row group without is scanned.

use super::Table;
use crate::interrupted::check_interrupt;
use crate::row_group::RowGroup;
use crate::value_sets::{DISTINCT_MAX, ValueSets, can_have_sets};
use inlay_types::{Error, Result};
use std::sync::Arc;

impl Table {
    /// Says that an index by value is on these columns.
    pub(crate) fn add_value_index(&self, columns: &[usize]) {
        self.indexes.add_by_value(columns);
    }

    /// Says that indexes by value are on no columns but these.
    pub(crate) fn set_value_indexes(&self, columns: Vec<usize>) {
        let before = self.columns_by_value();
        let gone: Vec<usize> = before.into_iter().filter(|column| !columns.contains(column)).collect();
        self.indexes.set_by_value(columns);
        for group in self.snapshot().row_groups() {
            gone.iter().filter_map(|column| group.columns().get(*column)).for_each(|column| {
                column.drop_value_sets();
            });
        }
    }

    /// The columns that indexes by value are on.
    pub fn columns_by_value(&self) -> Vec<usize> {
        let width = self.schema.columns.len();
        self.indexes.by_value().into_iter().filter(|column| *column < width).collect()
    }

    /// The rows of each value of a column of a row group, for who reads it: there only after a few have asked.
    pub fn value_sets_or_ask(&self, group: &RowGroup, column: usize) -> Result<Option<Arc<ValueSets>>> {
        if group.is_sealed() { group.column(column).value_sets_or_ask(&self.budget) } else { Ok(None) }
    }

    /// Fails if an index by value on a column would be of no use: its type has none, or most row groups have too many values.
    pub fn check_value_index(&self, column: usize) -> Result<()> {
        let schema = &self.schema.columns[column];
        let (name, ty) = (&schema.name, &schema.ty);
        if !can_have_sets(ty) {
            let feature = format!("a bitmap index on column \"{name}\", which is of type {ty},");
            let alternative = Some("USING art finds rows by such values".to_string());
            return Err(Error::Unsupported { feature, alternative });
        }
        let snapshot = self.snapshot();
        let sealed = snapshot.row_groups().iter().filter(|group| group.is_sealed());
        let counts = sealed.map(|group| Ok(group.column(column).sketch()?.estimate() as usize));
        let counts = counts.collect::<Result<Vec<usize>>>()?;
        let many: Vec<usize> = counts.iter().copied().filter(|count| *count > MANY).collect();
        if many.len() * 2 <= counts.len() {
            return Ok(());
        }
        let usual = many.iter().sum::<usize>() / many.len();
        Err(Error::invalid_argument(format!(
            "a bitmap index on column \"{name}\" would help nobody: row groups have about {usual} different values, \
             and an index by value serves at most {DISTINCT_MAX}"
        ))
        .with_hint("USING art finds rows by such values"))
    }

    /// Whether the file has sets of some column.
    pub(crate) fn has_value_sets_in_file(&self) -> bool {
        let snapshot = self.snapshot();
        let mut columns = snapshot.row_groups().iter().flat_map(|group| group.columns());
        columns.any(|column| column.sets_in_file().is_some())
    }

    /// Whether the file is to have other sets than it has, where these columns are to have some.
    pub(crate) fn has_value_sets_to_write(&self, wanted: &[usize]) -> bool {
        let snapshot = self.snapshot();
        let mut groups = snapshot.row_groups().iter().filter(|group| group.is_sealed());
        groups.any(|group| {
            let columns = group.columns().iter().enumerate();
            columns.into_iter().any(|(place, column)| column.has_sets_to_write(wanted.contains(&place)))
        })
    }

    /// Makes the sets of columns that are not there yet, as far as memory goes.
    pub fn build_value_sets(&self, columns: &[usize]) -> Result<()> {
        let snapshot = self.snapshot();
        for group in snapshot.row_groups().iter().filter(|group| group.is_sealed()) {
            for column in columns {
                check_interrupt()?;
                match group.column(*column).make_value_sets(&self.budget) {
                    // The row group is scanned.
                    Err(error) if matches!(error.root(), Error::OutOfMemory { .. }) => return Ok(()),
                    made => made.map(drop)?,
                }
            }
        }
        Ok(())
    }
}

/// An estimate that is above this is above [`DISTINCT_MAX`], whatever its error.
const MANY: usize = DISTINCT_MAX + DISTINCT_MAX / 8;
