//! One column of a row group.

use crate::hyperloglog::HyperLogLog;
use crate::predicate::{Prune, SegmentPredicate};
use crate::zone_map::ZoneMap;
use inlay_types::{LogicalType, MemoryBudget, Reservation, Result, Value, Vector, VectorBuilder};
use std::cmp::Ordering;
use std::ops::Range;

/// A predicate made ready for one segment; see [`Segment::prepare`].
#[derive(Debug)]
pub struct PreparedPredicate {
    predicate: SegmentPredicate,
}

/// One encoded column of a row group.
#[derive(Debug)]
pub struct Segment {
    values: Vector,
    zone_map: ZoneMap,
    #[expect(dead_code, reason = "held for its drop")]
    reservation: Reservation,
}

impl Segment {
    /// Encodes a column, taking its memory from `budget`.
    pub fn encode(column: &Vector, budget: &MemoryBudget) -> Result<Self> {
        let mut builder = VectorBuilder::new(column.logical_type(), column.len());
        builder.append(column);
        let reservation = budget.reserve(builder.memory_size() as u64)?;
        let mut values = builder.finish();
        values.normalize_nulls();
        let mut zone_map = ZoneMap { min: None, max: None, has_null: false, has_value: false };
        for row in 0..values.len() {
            let value = values.get(row);
            if value.is_null() {
                zone_map.has_null = true;
                continue;
            }
            zone_map.has_value = true;
            if zone_map.min.as_ref().is_none_or(|m| value.total_cmp(m) == Ordering::Less) {
                zone_map.min = Some(value.clone());
            }
            if zone_map.max.as_ref().is_none_or(|m| value.total_cmp(m) == Ordering::Greater) {
                zone_map.max = Some(value);
            }
        }
        Ok(Self { values, zone_map, reservation })
    }

    /// As [`Segment::encode`], without trying encodings: for the small chunks of a table's open tail.
    pub fn encode_plain(column: &Vector, budget: &MemoryBudget) -> Result<Self> {
        Self::encode(column, budget)
    }

    pub(crate) fn encode_for(column: &Vector, seal: bool, budget: &MemoryBudget) -> Result<Self> {
        if seal { Self::encode(column, budget) } else { Self::encode_plain(column, budget) }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The SQL type.
    pub fn logical_type(&self) -> LogicalType {
        self.values.logical_type()
    }

    /// Number of NULLs.
    pub fn null_count(&self) -> usize {
        self.values.null_count()
    }

    /// Range of the values.
    pub fn zone_map(&self) -> &ZoneMap {
        &self.zone_map
    }

    /// Bytes of the encoded form.
    pub fn memory_size(&self) -> usize {
        self.values.memory_size()
    }

    /// Name of the encoding, for `PRAGMA storage_info` and tests.
    pub fn encoding_name(&self) -> &'static str {
        "plain"
    }

    /// The sketch of the distinct values; made when first asked for.
    pub fn sketch(&self) -> HyperLogLog {
        let mut sketch = HyperLogLog::default();
        let mut hashes = vec![0; self.values.len()];
        inlay_kernels::hash::hash(&self.values, self.values.len(), &mut hashes);
        (0..self.values.len()).filter(|row| !self.values.is_null(*row)).for_each(|row| sketch.insert(hashes[row]));
        sketch
    }

    /// One value.
    pub fn get(&self, row: usize) -> Value {
        self.values.get(row)
    }

    /// Rows `start .. start + len`.
    pub fn scan(&self, start: usize, len: usize) -> Vector {
        self.values.slice(start, len)
    }

    /// As [`Segment::scan`], reusing the memory of `out`.
    pub fn scan_into(&self, start: usize, len: usize, out: &mut Vector) {
        *out = self.scan(start, len);
    }

    /// The rows at `rows`, which are ascending positions in this row group.
    pub fn gather(&self, rows: &[u32]) -> Vector {
        self.values.take(rows)
    }

    /// As [`Segment::gather`], reusing the memory of `out`.
    pub fn gather_into(&self, rows: &[u32], out: &mut Vector) {
        *out = self.gather(rows);
    }

    /// A predicate made ready for this segment: constants in the encoded domain, dictionary values evaluated.
    pub fn prepare(&self, predicate: &SegmentPredicate) -> Result<PreparedPredicate> {
        Ok(PreparedPredicate { predicate: predicate.clone() })
    }

    /// Appends the positions inside `range` (all, or those in `selection`, ascending) that satisfy `predicate`.
    pub fn filter(
        &self,
        predicate: &SegmentPredicate,
        range: Range<usize>,
        selection: Option<&[u32]>,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        self.filter_prepared(&self.prepare(predicate)?, range, selection, out)
    }

    /// As [`Segment::filter`] with a predicate that was prepared for this segment.
    pub fn filter_prepared(
        &self,
        prepared: &PreparedPredicate,
        range: Range<usize>,
        selection: Option<&[u32]>,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        let candidates: Vec<u32> = match selection {
            Some(rows) => rows.iter().copied().filter(|r| range.contains(&(*r as usize))).collect(),
            None => (range.start as u32..range.end as u32).collect(),
        };
        if let SegmentPredicate::Generic(generic) = &prepared.predicate {
            let mut found = Vec::new();
            generic.select(&self.values.take(&candidates), &mut found)?;
            out.extend(found.into_iter().map(|i| candidates[i as usize]).filter(|r| !self.values.is_null(*r as usize)));
            return Ok(());
        }
        out.extend(candidates.into_iter().filter(|row| holds(&prepared.predicate, &self.values.get(*row as usize))));
        Ok(())
    }

    /// What the zone map says of a predicate.
    pub fn prune(&self, _predicate: &SegmentPredicate) -> Prune {
        Prune::Some
    }

    /// What the zone map of rows `2048 * index ..` says of a predicate.
    pub fn prune_vector(&self, _index: usize, _prepared: &PreparedPredicate) -> Prune {
        Prune::Some
    }
}

fn holds(predicate: &SegmentPredicate, value: &Value) -> bool {
    match predicate {
        SegmentPredicate::IsNull => value.is_null(),
        _ if value.is_null() => false,
        SegmentPredicate::IsNotNull => true,
        SegmentPredicate::Compare(op, constant) => !constant.is_null() && op.holds(value.total_cmp(constant)),
        SegmentPredicate::Between { low, low_inclusive, high, high_inclusive } => {
            let (from, to) = (value.total_cmp(low), value.total_cmp(high));
            !low.is_null()
                && !high.is_null()
                && (from.is_gt() || *low_inclusive && from.is_eq())
                && (to.is_lt() || *high_inclusive && to.is_eq())
        }
        SegmentPredicate::In(list) => list.iter().any(|v| !v.is_null() && v.total_cmp(value).is_eq()),
        SegmentPredicate::KeyBitmap(set) => {
            value.as_stored_i128().and_then(|v| i64::try_from(v).ok()).is_some_and(|v| set.contains(v))
        }
        SegmentPredicate::Bloom(_) | SegmentPredicate::Generic(_) => true,
    }
}
