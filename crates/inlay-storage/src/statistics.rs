//! What the optimizer knows of a table: row count, ranges, distinct counts and a sample of rows.

use crate::hyperloglog::HyperLogLog;
use crate::row_group::RowGroup;
use crate::schema::TableSchema;
use crate::table::{ColumnSource, TableSnapshot};
use inlay_types::{Batch, LogicalType, Result, Value, Vector, VectorBuilder, View};
use std::sync::Arc;

/// Rows in a full sample.
pub const SAMPLE_SIZE: usize = 2_048;
/// Bytes of the texts and other values of any size in a sample; where rows are large, there are fewer.
const SAMPLE_BYTES_MAX: usize = 1 << 20;
/// So many rows there are, however large: of their texts the beginnings, and no other values that are larger than this.
const ROWS_MIN: usize = 64;
const LONG_VALUE: usize = SAMPLE_BYTES_MAX / ROWS_MIN / 4;

/// Of one column. Ranges and NULL counts include deleted rows, so they are bounds.
#[derive(Clone, Debug)]
pub struct ColumnStatistics {
    /// No value is smaller. Absent when there is no value but NULL.
    pub min: Option<Value>,
    /// No value is larger. NaN counts as largest.
    pub max: Option<Value>,
    /// Number of NULLs.
    pub null_count: u64,
    /// Estimated number of distinct values, NULL not counted.
    pub distinct_count: f64,
    /// Whether the column alone is a declared key.
    pub is_unique: bool,
}

/// Of a table.
#[derive(Clone, Debug)]
pub struct TableStatistics {
    /// Live rows, exactly.
    pub row_count: u64,
    /// Per column.
    pub columns: Vec<ColumnStatistics>,
    /// Random live rows, all columns flat, in row order. May stem from a slightly older version of the table.
    pub sample: Arc<Batch>,
    /// Live rows of the table when the sample was drawn.
    pub(crate) sampled_rows: u64,
}

/// Random rows of a table, all columns flat, in row order.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    pub rows: Arc<Batch>,
    /// Live rows of the table when the sample was drawn.
    pub of_rows: u64,
}

impl Sample {
    /// The sample of a table whose columns now come from these; `None` if a column has to be looked up in the table.
    pub fn altered(&self, columns: &[ColumnSource], schema: &TableSchema) -> Result<Option<Self>> {
        let mut vectors = Vec::with_capacity(columns.len());
        for (source, column) in columns.iter().zip(&schema.columns) {
            vectors.push(match source {
                ColumnSource::Kept(position) => self.rows.column(*position).clone(),
                ColumnSource::Filled(value) => {
                    Vector::constant(column.ty.clone(), value, self.rows.len())?.flatten()
                }
                ColumnSource::Converted(_) => return Ok(None),
            });
        }
        let rows = Arc::new(Batch::new(vectors, self.rows.len()));
        Ok(Some(Self { rows, of_rows: self.of_rows }))
    }
}

/// For the columns of an altered table the sketches of what the file holds of them: nothing of those that were made.
pub(crate) fn altered_sketches(before: &[HyperLogLog], columns: &[ColumnSource]) -> Vec<HyperLogLog> {
    let sketch = |source: &ColumnSource| match source {
        ColumnSource::Kept(position) => before[*position].clone(),
        ColumnSource::Filled(_) | ColumnSource::Converted(_) => HyperLogLog::default(),
    };
    columns.iter().map(sketch).collect()
}

/// What the file keeps of a table's statistics, so that they are known without reading its segments.
#[derive(Clone, Debug)]
pub struct StoredStatistics {
    /// Of each column the sketch of the values that the file holds.
    pub sketches: Vec<HyperLogLog>,
    /// Random rows.
    pub sample: Arc<Batch>,
    /// Live rows of the table when the sample was drawn.
    pub sampled_rows: u64,
}

impl TableStatistics {
    /// Gathers the statistics of a snapshot; takes the sample of an earlier one when the table has hardly changed.
    /// Segments that `sketches`, those of the file, do not cover are read.
    pub(crate) fn of(
        snapshot: &TableSnapshot,
        schema: &TableSchema,
        sketches: Option<&[HyperLogLog]>,
        earlier: Option<Sample>,
    ) -> Result<Self> {
        let row_count = snapshot.row_count() as u64;
        let columns = (0..schema.columns.len())
            .map(|index| column_statistics(snapshot, schema, index, sketches))
            .collect::<Result<_>>()?;
        let sample = match earlier {
            Some(sample) if still_fits(sample.of_rows, row_count) => sample,
            _ => Sample { rows: Arc::new(draw_sample(snapshot, schema)?), of_rows: row_count },
        };
        Ok(Self { row_count, columns, sample: sample.rows, sampled_rows: sample.of_rows })
    }

    /// Its sample, for the statistics of later versions.
    pub(crate) fn sample(&self) -> Sample {
        Sample { rows: Arc::clone(&self.sample), of_rows: self.sampled_rows }
    }

    /// What the file is to keep, once it holds all segments of `snapshot`.
    pub(crate) fn to_store(
        &self,
        snapshot: &TableSnapshot,
        sketches: Option<&[HyperLogLog]>,
    ) -> Result<StoredStatistics> {
        let sketch = |index: usize| column_sketch(snapshot, index, sketches);
        let sketches = (0..self.columns.len()).map(sketch).collect::<Result<_>>()?;
        Ok(StoredStatistics { sketches, sample: Arc::clone(&self.sample), sampled_rows: self.sampled_rows })
    }
}

/// A sample serves until the table has grown or shrunk by an eighth.
fn still_fits(then: u64, row_count: u64) -> bool {
    then == row_count || then > SAMPLE_SIZE as u64 && row_count.abs_diff(then) < then / 8
}

/// The sketch of a column: what is stored, and the segments that are not covered by it.
fn column_sketch(
    snapshot: &TableSnapshot,
    index: usize,
    stored: Option<&[HyperLogLog]>,
) -> Result<HyperLogLog> {
    let mut sketch = stored.map_or_else(HyperLogLog::default, |sketches| sketches[index].clone());
    for group in snapshot.row_groups() {
        let column = group.column(index);
        if stored.is_none() || !column.is_in_statistics() {
            sketch.merge(&*column.sketch()?);
        }
    }
    Ok(sketch)
}

fn column_statistics(
    snapshot: &TableSnapshot,
    schema: &TableSchema,
    index: usize,
    stored: Option<&[HyperLogLog]>,
) -> Result<ColumnStatistics> {
    let (mut min, mut max): (Option<&Value>, Option<&Value>) = (None, None);
    let mut null_count = 0;
    for group in snapshot.row_groups() {
        let column = group.column(index);
        let zone = column.zone_map();
        null_count += column.null_count() as u64;
        min = [min, zone.min.as_ref()].into_iter().flatten().min_by(|a, b| a.total_cmp(b));
        max = [max, zone.max.as_ref()].into_iter().flatten().max_by(|a, b| a.total_cmp(b));
    }
    let sketch = column_sketch(snapshot, index, stored)?;
    let values = (snapshot.row_count() as u64).saturating_sub(null_count) as f64;
    let is_unique = schema.is_unique(index);
    let span = match (min.and_then(Value::as_stored_i128), max.and_then(Value::as_stored_i128)) {
        (Some(low), Some(high)) => high.saturating_sub(low).saturating_add(1) as f64,
        _ => f64::INFINITY,
    };
    let distinct_count = if is_unique { values } else { sketch.estimate().min(values).min(span) };
    Ok(ColumnStatistics { min: min.cloned(), max: max.cloned(), null_count, distinct_count, is_unique })
}

/// Up to [`SAMPLE_SIZE`] live rows; the same table gives the same sample.
fn draw_sample(snapshot: &TableSnapshot, schema: &TableSchema) -> Result<Batch> {
    let total = snapshot.total_rows();
    let mut positions: Vec<u64> = if total as usize <= 2 * SAMPLE_SIZE {
        (0..total).collect()
    } else {
        // A little more than needed, as some positions repeat or are deleted.
        let mut state = 0x1A2B_3C4D_5E6F_7081u64;
        (0..SAMPLE_SIZE + SAMPLE_SIZE / 4).map(|_| next_random(&mut state) % total).collect()
    };
    positions.sort_unstable();
    positions.dedup();
    retain_live(&mut positions, snapshot)?;
    thin_out(&mut positions, SAMPLE_SIZE);
    let bytes = string_bytes(&positions, snapshot, schema)?;
    if bytes > SAMPLE_BYTES_MAX {
        let fitting = positions.len() as f64 * SAMPLE_BYTES_MAX as f64 / bytes as f64;
        thin_out(&mut positions, (fitting as usize).max(ROWS_MIN));
    }
    let mut builders: Vec<VectorBuilder> =
        schema.columns.iter().map(|c| VectorBuilder::new(c.ty.clone(), positions.len())).collect();
    each_group(&positions, snapshot, |group, rows| {
        for (index, builder) in builders.iter_mut().enumerate() {
            append_short(builder, &group.segment(index)?.gather(rows)?);
        }
        Ok(())
    })?;
    Ok(Batch::new(builders.into_iter().map(VectorBuilder::finish).collect(), positions.len()))
}

/// Bytes of all strings of rows.
fn string_bytes(positions: &[u64], snapshot: &TableSnapshot, schema: &TableSchema) -> Result<usize> {
    let strings: Vec<usize> =
        (0..schema.columns.len()).filter(|index| schema.columns[*index].ty.is_view()).collect();
    let mut bytes = 0;
    each_group(positions, snapshot, |group, rows| {
        for index in &strings {
            let values = group.segment(*index)?.gather(rows)?.flatten();
            bytes += values.views().iter().map(View::len).sum::<usize>();
        }
        Ok(())
    })?;
    Ok(bytes)
}

/// Appends values, of long texts the beginnings. Long values of which a part means nothing are left out.
fn append_short(builder: &mut VectorBuilder, values: &Vector) {
    let is_long = |view: &View| view.len() > LONG_VALUE;
    let flat = values.flatten();
    if !flat.logical_type().is_view() || !flat.views().iter().any(is_long) {
        return builder.append(values);
    }
    let can_be_cut = matches!(flat.logical_type(), LogicalType::Varchar | LogicalType::Blob);
    for (row, view) in flat.views().iter().enumerate() {
        let bytes = view.bytes(flat.heap().buffers());
        if flat.is_null(row) || is_long(view) && !can_be_cut {
            builder.push_null();
        } else if is_long(view) {
            // Not inside of a character.
            let is_start = |at: &usize| flat.logical_type() == LogicalType::Blob || bytes[*at] & 0xC0 != 0x80;
            let end = (0..=LONG_VALUE).rev().find(is_start).unwrap_or(0);
            builder.push_bytes(&bytes[..end]);
        } else {
            builder.push_bytes(bytes);
        }
    }
}

/// Calls `f` for each row group with the rows there of those at `positions`, which count all rows of the table.
fn each_group(
    positions: &[u64],
    snapshot: &TableSnapshot,
    mut f: impl FnMut(&RowGroup, &[u32]) -> Result<()>,
) -> Result<()> {
    let (mut from, mut start) = (0, 0);
    for group in snapshot.row_groups() {
        let end = start + group.len() as u64;
        let to = from + positions[from..].partition_point(|p| *p < end);
        if from < to {
            let rows: Vec<u32> = positions[from..to].iter().map(|p| (p - start) as u32).collect();
            f(group, &rows)?;
        }
        (from, start) = (to, end);
    }
    Ok(())
}

fn retain_live(positions: &mut Vec<u64>, snapshot: &TableSnapshot) -> Result<()> {
    if snapshot.row_count() as u64 == snapshot.total_rows() {
        return Ok(());
    }
    let mut live = Vec::with_capacity(positions.len());
    each_group(positions, snapshot, |group, rows| {
        live.extend(rows.iter().map(|r| !group.is_deleted(*r as usize)));
        Ok(())
    })?;
    let mut live = live.into_iter();
    positions.retain(|_| live.next().unwrap_or(false));
    Ok(())
}

/// Drops random elements until `limit` are left, keeping the order.
fn thin_out(positions: &mut Vec<u64>, limit: usize) {
    let mut state = 0x0123_4567_89AB_CDEFu64;
    let (mut left, mut wanted) = (positions.len(), limit.min(positions.len()));
    positions.retain(|_| {
        let keep = next_random(&mut state) % (left as u64) < wanted as u64;
        left -= 1;
        wanted -= usize::from(keep);
        keep
    });
}

/// SplitMix64 (Steele, Lea, Flood 2014).
fn next_random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}
