//! What a transaction did to a table, in order: enough to do it again to a newer version, and to log it.

use super::{Piece, Table, TableSnapshot};
use crate::column::Column;
use crate::interrupted::check_interrupt;
use crate::row_group::RowGroup;
use crate::row_set::{RowSet, RowSetBuilder};
use crate::schema::{Deferral, TableSchema};
use inlay_types::{Error, Result, Value, Vector};
use std::ops::Range;
use std::sync::{Arc, Weak};

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
        /// Which.
        ids: RowSet,
    },
    /// Rows got new values.
    Update {
        /// Which.
        ids: RowSet,
        /// Positions of the columns.
        columns: Arc<[usize]>,
        /// For each column the values in the order of `ids`.
        values: Arc<[Vector]>,
    },
    /// Rows got new values, so many in their row groups that these have new columns, in the file if there is one.
    Rewrite {
        /// Which rows.
        ids: RowSet,
        /// Positions of the columns.
        columns: Arc<[usize]>,
        /// The row groups, ascending.
        groups: Arc<[Rewritten]>,
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

/// New columns of a row group.
#[derive(Clone, Debug)]
pub struct Rewritten {
    /// Id of its first row.
    pub first_id: i64,
    /// In the order of the change's `columns`, of all rows of the group.
    pub columns: Vec<Arc<Column>>,
    /// What was there before; unknown of a change that comes from the log, where nothing else can have been there.
    pub(crate) before: Option<Vec<Weak<Column>>>,
}

/// Rows that were there before and that a change touches.
#[derive(Clone, Copy, Debug)]
pub enum Touched<'a> {
    /// None of them.
    Nothing,
    /// These.
    Rows(&'a RowSet),
    /// All, or the table itself.
    Everything,
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
    /// Rows that were there before and that the change touches.
    pub fn touched(&self) -> Touched<'_> {
        match self {
            Self::Append { .. } => Touched::Nothing,
            Self::Delete { ids } | Self::Update { ids, .. } | Self::Rewrite { ids, .. } => Touched::Rows(ids),
            Self::Truncate | Self::Alter(_) | Self::Compact { .. } => Touched::Everything,
        }
    }

    /// Whether it is about the table as a whole.
    pub fn is_structural(&self) -> bool {
        matches!(self.touched(), Touched::Everything)
    }

    /// The same for a table whose rows from `from` on have ids higher by `shift`.
    pub(crate) fn shifted(&self, from: i64, shift: i64) -> Result<Vec<Self>> {
        if let Self::Rewrite { ids, columns, groups } = self {
            return shifted_rewrite(ids, columns, groups, (from, shift));
        }
        let moved = |ids: &RowSet| ids.shifted(from, shift);
        Ok(vec![match self {
            Self::Append { first_id, pieces } => {
                Self::Append { first_id: first_id + shift, pieces: Arc::clone(pieces) }
            }
            Self::Delete { ids } => Self::Delete { ids: moved(ids) },
            Self::Update { ids, columns, values } => {
                Self::Update { ids: moved(ids), columns: Arc::clone(columns), values: Arc::clone(values) }
            }
            Self::Rewrite { .. } | Self::Truncate | Self::Alter(_) | Self::Compact { .. } => self.clone(),
        }])
    }
}

/// Row groups whose ids move apart are no longer one: their rows change with the values that they have.
fn shifted_rewrite(
    ids: &RowSet,
    columns: &Arc<[usize]>,
    groups: &[Rewritten],
    (from, shift): (i64, i64),
) -> Result<Vec<Change>> {
    let is_torn = |group: &Rewritten| {
        let range = group.row_ids();
        shift != 0 && range.start < from && range.end > from
    };
    let mut changes = Vec::new();
    for group in groups.iter().filter(|group| is_torn(group)) {
        let (mut rows, range) = (Vec::new(), group.row_ids());
        ids.rows_within(range.clone(), &mut rows);
        let values = group.columns.iter().map(|column| column.segment()?.gather(&rows));
        let values = values.collect::<Result<Arc<[Vector]>>>()?;
        let ids: Vec<i64> = rows.iter().map(|row| range.start + i64::from(*row)).collect();
        let ids = RowSet::from(&ids[..]).shifted(from, shift);
        changes.push(Change::Update { ids, columns: Arc::clone(columns), values });
    }
    let whole = groups.iter().filter(|group| !is_torn(group)).map(|group| {
        let first_id = group.first_id + if group.first_id >= from { shift } else { 0 };
        Rewritten { first_id, ..group.clone() }
    });
    // Ids outside of the row groups mean nothing.
    let (ids, groups) = (ids.shifted(from, shift), whole.collect());
    changes.push(Change::Rewrite { ids, columns: Arc::clone(columns), groups });
    Ok(changes)
}

impl Rewritten {
    /// Ids of the row group's rows.
    pub(super) fn row_ids(&self) -> Range<i64> {
        self.first_id..self.first_id + self.columns.first().map_or(0, |column| column.len()) as i64
    }
}

/// Ids of the rows that changes added or changed.
pub(super) fn written_ids(changes: &[Change]) -> RowSet {
    let mut ids = RowSetBuilder::default();
    for change in changes {
        match change {
            Change::Append { first_id, pieces } => {
                let count: usize = pieces.iter().map(Piece::len).sum();
                ids.add_range(*first_id..first_id + count as i64);
            }
            Change::Update { ids: updated, .. } | Change::Rewrite { ids: updated, .. } => {
                ids.add_set(updated)
            }
            Change::Delete { .. } | Change::Truncate | Change::Alter(_) | Change::Compact { .. } => {}
        }
    }
    ids.finish()
}

impl Table {
    /// Does a change again: of a transaction to a newer version, or of the log to a recovered one.
    pub(crate) fn apply(&self, change: &Change) -> Result<()> {
        match change {
            Change::Append { first_id, pieces } => {
                let mut writer = self.locked();
                writer.next_row_id = writer.next_row_id.max(*first_id);
                self.append_pieces(&mut writer, pieces.to_vec(), false)
            }
            Change::Delete { ids } => self.delete_rows(ids).map(|_| ()),
            Change::Update { ids, columns, values } => {
                let mut writer = self.locked();
                self.update_columns(&mut writer, &ids.ids(), columns, values).map(|_| ())
            }
            Change::Rewrite { ids, columns, groups } => {
                self.rewrite_again(&mut self.locked(), ids, columns, groups)
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
        let count = self.schema.columns.len();
        let is_known = |source: &ColumnSource| !matches!(source, ColumnSource::Kept(at) if *at >= count);
        if alteration.columns.len() != alteration.schema.columns.len()
            || !alteration.columns.iter().all(is_known)
        {
            let name = &self.schema.name;
            return Err(Error::corrupt(format!(
                "an alteration of table \"{name}\" does not fit its columns"
            )));
        }
        let own = self.locked();
        let snapshot = self.snapshot();
        let stays = |column: usize| matches!(alteration.columns.get(column), Some(ColumnSource::Kept(at)) if *at == column);
        let indexes = self.indexes.altered(&stays);
        let fork = self.fork_altered(alteration, &own, Arc::clone(&snapshot), indexes)?;
        let mut groups = Vec::with_capacity(snapshot.row_groups().len());
        for group in snapshot.row_groups() {
            check_interrupt()?;
            groups.push(Arc::new(fork.altered_group(group, alteration)?));
        }
        let made =
            fork.check_new_keys(&self.new_keys(&fork, alteration), &TableSnapshot::new(0, groups.clone()))?;
        let mut writer = fork.locked();
        fork.publish(&mut writer, TableSnapshot::new(0, groups));
        made.into_iter().for_each(|handle| fork.indexes.enter(handle));
        writer.changes = own.changes.clone();
        writer.failure = own.failure.clone();
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
