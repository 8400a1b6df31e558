//! What a transaction did to a table, in order: enough to do it again to a newer version, and to log it.

use super::{Piece, Table, TableSnapshot};
use crate::column::Column;
use crate::row_group::RowGroup;
use crate::schema::{Deferral, TableSchema};
use inlay_types::{Error, Result, Value, Vector};
use std::sync::Arc;

/// One change of a table.
#[derive(Clone, Debug)]
pub enum Change {
    /// Rows were added at the end; the first got `first_id`, the others the ids after it.
    Append {
        /// Row id of the first row.
        first_id: i64,
        /// The rows.
        pieces: Arc<[Piece]>,
    },
    /// Rows were deleted.
    Delete {
        /// Their ids, ascending.
        ids: Arc<[i64]>,
    },
    /// Rows got new values.
    Update {
        /// Their ids, ascending.
        ids: Arc<[i64]>,
        /// Positions of the columns.
        columns: Arc<[usize]>,
        /// For each column the values in the order of `ids`.
        values: Arc<[Vector]>,
    },
    /// All rows were deleted.
    Truncate,
    /// The schema changed, and perhaps columns with it.
    Alter(Arc<Alteration>),
    /// The deleted rows of row groups were dropped and small neighbours among them joined, which gave the other rows
    /// of these groups new ids; see [`Table::compact`].
    Compact {
        /// First row ids of the row groups, ascending.
        groups: Arc<[i64]>,
    },
}

/// A change of a table's schema.
#[derive(Clone, Debug)]
pub struct Alteration {
    /// The schema from now on.
    pub schema: TableSchema,
    /// Where each of its columns comes from.
    pub columns: Vec<ColumnSource>,
}

/// Where a column of an altered table comes from.
#[derive(Clone, Debug)]
pub enum ColumnSource {
    /// The column at this position before.
    Kept(usize),
    /// One value for all rows there are.
    Filled(Value),
    /// New values, for each row group (by its first row id).
    Converted(Vec<(i64, Arc<Column>)>),
}

impl Alteration {
    /// An alteration that keeps all columns where they are.
    pub fn of_schema(schema: TableSchema) -> Self {
        let columns = (0..schema.columns.len()).map(ColumnSource::Kept).collect();
        Self { schema, columns }
    }
}

impl Change {
    /// Ids of rows that were there before and that the change touches; `None` for all rows.
    pub fn touched(&self) -> Option<&[i64]> {
        match self {
            Self::Append { .. } => Some(&[]),
            Self::Delete { ids } | Self::Update { ids, .. } => Some(ids),
            Self::Truncate | Self::Alter(_) | Self::Compact { .. } => None,
        }
    }

    /// The same change for a table whose rows from `from` on have ids higher by `shift`.
    pub(crate) fn shifted(&self, from: i64, shift: i64) -> Self {
        let moved = |ids: &Arc<[i64]>| -> Arc<[i64]> {
            ids.iter().map(|&id| if id >= from { id + shift } else { id }).collect()
        };
        match self {
            Self::Append { first_id, pieces } => {
                Self::Append { first_id: first_id + shift, pieces: Arc::clone(pieces) }
            }
            Self::Delete { ids } => Self::Delete { ids: moved(ids) },
            Self::Update { ids, columns, values } => {
                Self::Update { ids: moved(ids), columns: Arc::clone(columns), values: Arc::clone(values) }
            }
            Self::Truncate | Self::Alter(_) | Self::Compact { .. } => self.clone(),
        }
    }
}

/// Ids of the rows that changes added or changed, ascending.
pub(super) fn written_ids(changes: &[Change]) -> Vec<i64> {
    let mut ids: Vec<i64> = Vec::new();
    for change in changes {
        match change {
            Change::Append { first_id, pieces } => {
                let count: usize = pieces.iter().map(Piece::len).sum();
                ids.extend(*first_id..first_id + count as i64);
            }
            Change::Update { ids: updated, .. } => ids.extend_from_slice(updated),
            Change::Delete { .. } | Change::Truncate | Change::Alter(_) | Change::Compact { .. } => {}
        }
    }
    ids.sort_unstable();
    ids.dedup();
    ids
}

impl Table {
    /// Does a change again: of a transaction to a newer version, or of the log to a recovered one.
    pub(crate) fn apply(&self, change: &Change) -> Result<()> {
        match change {
            Change::Append { first_id, pieces } => {
                let mut writer = self.writer.lock();
                writer.next_row_id = writer.next_row_id.max(*first_id);
                self.append_pieces(&mut writer, pieces.to_vec())
            }
            Change::Delete { ids } => self.delete(ids).map(|_| ()),
            Change::Update { ids, columns, values } => {
                let mut writer = self.writer.lock();
                self.update_columns(&mut writer, ids, columns, values).map(|_| ())
            }
            Change::Truncate => {
                self.truncate();
                Ok(())
            }
            Change::Compact { groups } => self.compact(groups),
            Change::Alter(_) => Err(Error::internal("an alteration makes a new table")),
        }
    }

    /// This table under another schema; private to its maker like any fork.
    pub fn altered(&self, alteration: &Arc<Alteration>) -> Result<Table> {
        let own = self.writer.lock();
        let snapshot = self.snapshot();
        let stays = |column: usize| matches!(alteration.columns.get(column), Some(ColumnSource::Kept(at)) if *at == column);
        let indexes = self.indexes.altered(&stays);
        let schema = Arc::new(alteration.schema.clone());
        let fork = self.fork_with(schema, &own, Arc::clone(&snapshot), indexes);
        let mut groups = Vec::with_capacity(snapshot.row_groups().len());
        for group in snapshot.row_groups() {
            groups.push(Arc::new(fork.altered_group(group, alteration)?));
        }
        let made =
            fork.check_new_keys(&self.new_keys(&fork, alteration), &TableSnapshot::new(0, groups.clone()))?;
        let mut writer = fork.writer.lock();
        fork.publish(&mut writer, TableSnapshot::new(0, groups));
        made.into_iter().for_each(|handle| fork.indexes.enter(handle));
        writer.changes = own.changes.clone();
        writer.changes.push(Change::Alter(Arc::clone(alteration)));
        drop(writer);
        Ok(fork)
    }

    /// Keys of an altered table that its rows did not have to satisfy before. What may be left to COMMIT may not hold yet.
    fn new_keys(&self, altered: &Table, alteration: &Alteration) -> Vec<Vec<usize>> {
        let was_key = |key: &&Vec<usize>| {
            let before = key.iter().map(|column| match alteration.columns.get(*column) {
                Some(ColumnSource::Kept(at)) => Some(*at),
                _ => None,
            });
            before.collect::<Option<Vec<usize>>>().is_some_and(|before| {
                self.keys.contains(&before) && self.schema.deferral(&before) == Deferral::Never
            })
        };
        altered.keys.iter().filter(|key| !was_key(key)).cloned().collect()
    }

    /// A column for [`ColumnSource::Converted`]; in the file at once if the table's database has one.
    pub fn converted_column(&self, values: &Vector) -> Result<Arc<Column>> {
        let column = Column::new(crate::Segment::encode(values, self.budget())?);
        if let Some(home) = self.home() {
            column.persist(home, self.id())?;
        }
        Ok(column)
    }

    fn altered_group(&self, group: &RowGroup, alteration: &Alteration) -> Result<RowGroup> {
        let mut columns = Vec::with_capacity(alteration.columns.len());
        for (index, source) in alteration.columns.iter().enumerate() {
            let column = match source {
                ColumnSource::Kept(position) => Arc::clone(group.column(*position)),
                ColumnSource::Filled(value) => {
                    let ty = self.schema.columns[index].ty.clone();
                    let vector = Vector::constant(ty, value, group.len())?;
                    Column::new(crate::Segment::encode(&vector, self.budget())?)
                }
                ColumnSource::Converted(groups) => {
                    let found = groups.iter().find(|(start, _)| *start == group.row_id_start());
                    let found = found.filter(|(_, column)| column.len() == group.len());
                    let (_, column) =
                        found.ok_or_else(|| Error::internal("a converted column misses a row group"))?;
                    Arc::clone(column)
                }
            };
            let schema = &self.schema.columns[index];
            if schema.not_null && column.null_count() > 0 && live_null(group, &column)? {
                let (table, name) = (&self.schema.name, &schema.name);
                return Err(Error::NotNull {
                    message: format!(
                        "column \"{name}\" of table \"{table}\" holds NULL, so it cannot be NOT NULL"
                    ),
                });
            }
            columns.push(column);
        }
        Ok(group.with_all_columns(columns))
    }
}

/// Whether a row that is not deleted holds NULL.
fn live_null(group: &RowGroup, column: &Arc<Column>) -> Result<bool> {
    if group.deleted().is_none() {
        return Ok(true);
    }
    let segment = column.segment()?;
    Ok((0..group.len()).any(|row| !group.is_deleted(row) && segment.is_null(row)))
}
