//! Where the rows of a position are: in a segment, be it of a column or of a field, or inside of packed structs.

use super::{RowGroup, ScanFilter, TableScan};
use inlay_storage::segment::extract;
use inlay_storage::{PreparedPredicate, Prune, Segment, SegmentPredicate};
use inlay_types::{LogicalType, MemoryBudget, Result, Vector};
use std::ops::Range;
use std::sync::Arc;

/// A field of a struct, which a scan reads without the others.
pub struct FieldSource {
    /// Position of the struct in the table.
    pub column: usize,
    /// The positions of the fields that lead to it.
    pub path: Arc<[usize]>,
    /// Its type.
    pub ty: LogicalType,
}

/// The rows of a row group at one position.
pub(super) enum Part {
    Segment(Arc<Segment>),
    /// Those of a field, inside of structs.
    Packed(Arc<Segment>, Arc<[usize]>),
}

/// A condition on the rows of one position in a row group.
pub(super) enum Prepared {
    /// Every row qualifies.
    Everything,
    Segment(PreparedPredicate),
    /// Rows have to be unpacked first.
    Packed,
}

impl Part {
    pub fn prepare(&self, predicate: &SegmentPredicate) -> Result<Prepared> {
        let Self::Segment(segment) = self else { return Ok(Prepared::Packed) };
        let prepared = segment.prepare(predicate)?;
        let is_all = segment.prune_prepared(&prepared) == Prune::All;
        Ok(if is_all { Prepared::Everything } else { Prepared::Segment(prepared) })
    }

    /// Appends the rows that qualify.
    pub fn filter(
        &self,
        prepared: &Prepared,
        predicate: &SegmentPredicate,
        range: Range<usize>,
        selection: Option<&[u32]>,
        budget: &MemoryBudget,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        match (self, prepared) {
            (Self::Segment(segment), Prepared::Segment(prepared)) => {
                segment.filter_prepared(prepared, range, selection, out)
            }
            (Self::Segment(segment), _) => segment.filter(predicate, range, selection, out),
            (Self::Packed(structs, path), _) => {
                structs.filter_field(path, predicate, range, selection, budget, out)
            }
        }
    }

    pub fn scan(&self, start: usize, len: usize) -> Result<Vector> {
        match self {
            Self::Segment(segment) => segment.scan(start, len),
            Self::Packed(structs, path) => extract(&structs.scan(start, len)?, path),
        }
    }

    pub fn gather(&self, rows: &[u32]) -> Result<Vector> {
        match self {
            Self::Segment(segment) => segment.gather(rows),
            Self::Packed(structs, path) => extract(&structs.gather(rows)?, path),
        }
    }
}

impl TableScan {
    /// The field at a position, if it is one.
    pub(super) fn field(&self, position: usize) -> Option<&FieldSource> {
        let place = position.checked_sub(self.options.table.schema().columns.len())?;
        self.options.fields.get(place)
    }

    /// The column of the table that holds a position.
    pub(super) fn stored(&self, position: usize) -> usize {
        self.field(position).map_or(position, |field| field.column)
    }

    /// What zone maps say of a filter.
    pub(super) fn prune(&self, group: &RowGroup, filter: &ScanFilter) -> Prune {
        match self.field(filter.column) {
            Some(field) => group.column(field.column).prune_field(&field.path, &filter.predicate),
            None => group.column(filter.column).prune(&filter.predicate),
        }
    }

    /// The rows at a position in the row group that a worker is at; read from the file when they are first needed.
    pub(super) fn part<'a>(
        &self,
        parts: &'a mut [Option<Part>],
        group: &RowGroup,
        position: usize,
    ) -> Result<&'a Part> {
        let part = match (parts[position].take(), self.field(position)) {
            (Some(part), _) => part,
            (None, None) => Part::Segment(group.segment_to_scan(position)?),
            (None, Some(field)) => {
                // Kept beside the field, as without memory for it the struct would be read for each of them.
                let structs = match self.part(parts, group, field.column)? {
                    Part::Segment(structs) | Part::Packed(structs, _) => Arc::clone(structs),
                };
                match structs.field(&field.path, self.options.table.budget())? {
                    Some(segment) => Part::Segment(segment),
                    None => Part::Packed(structs, Arc::clone(&field.path)),
                }
            }
        };
        Ok(parts[position].insert(part))
    }
}
