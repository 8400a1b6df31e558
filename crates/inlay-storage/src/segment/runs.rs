//! Run length: a value per run of equal rows, and where each run ends.
//!
//! Values are a segment again, of one row per run, which may be of any other encoding. NULL rows make runs as well.
//! Predicates are evaluated once per run. Taken where runs are long: short ones are better compared as lanes.

use super::Segment;
use super::filter::Mask;
use super::prepare::Test;
use crate::predicate::{Prune, SegmentPredicate};
use inlay_types::{Bitmap, MemoryBudget, Native, Result, Value, Vector, View};
use std::ops::Range;

/// Fewer rows are not worth runs.
const ROWS_MIN: usize = 4_096;
/// Average length of runs from which they are taken: decoding and filtering are then as fast as those of byte-wide codes.
const RUN_LENGTH_MIN: usize = 32;

/// Runs of equal rows.
#[derive(Debug)]
pub(super) struct Runs {
    /// Ascending; the last is the number of rows.
    ends: Vec<u32>,
    pub values: Box<Segment>,
}

impl Runs {
    /// The runs of a column that is flat or codes, if they are long.
    pub fn of(column: &Vector, validity: Option<&Bitmap>, budget: &MemoryBudget) -> Result<Option<Self>> {
        let (flat, len) = (column, column.len());
        if len < ROWS_MIN {
            return Ok(None);
        }
        let ends = match flat.physical_type().size() {
            _ if column.as_dictionary().is_some() => ends_of(&column.codes()[..len], validity, |a, b| a == b),
            1 => ends_of(&flat.values::<u8>()[..len], validity, |a, b| a == b),
            2 => ends_of(&flat.values::<u16>()[..len], validity, |a, b| a == b),
            4 => ends_of(&flat.values::<u32>()[..len], validity, |a, b| a == b),
            8 => ends_of(&flat.values::<u64>()[..len], validity, |a, b| a == b),
            _ if flat.logical_type().is_view() => {
                let heap = flat.heap().buffers();
                ends_of(&flat.views()[..len], validity, |a, b| a.equals(heap, b, heap))
            }
            _ => {
                ends_of(&flat.values::<View>()[..len], validity, |a, b| (a.head, a.tail) == (b.head, b.tail))
            }
        };
        let Some(ends) = ends.filter(|ends| ends.len() > 1) else { return Ok(None) };
        let firsts: Vec<u32> = std::iter::once(0).chain(ends.iter().copied()).take(ends.len()).collect();
        let values = Segment::encode(&flat.take(&firsts), budget)?;
        Ok(Some(Self { ends, values: Box::new(values) }))
    }

    /// Runs that were stored; `None` when lengths and values do not make `len` rows, or are runs themselves.
    pub fn from_parts(lengths: &[u32], values: Segment, len: usize) -> Option<Self> {
        let mut end = 0u32;
        let ends: Vec<u32> = lengths
            .iter()
            .map(|length| {
                end = end.checked_add(*length).filter(|_| *length > 0)?;
                Some(end)
            })
            .collect::<Option<_>>()?;
        let fits = end as usize == len && values.len() == ends.len() && !ends.is_empty();
        use super::Encoding;
        let is_flat =
            !matches!(values.encoding, Encoding::Runs(_) | Encoding::Patched(_) | Encoding::Fields(_));
        (fits && is_flat).then(|| Self { ends, values: Box::new(values) })
    }

    pub fn lengths(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.ends.len()).map(|run| self.ends[run] - self.start_of(run))
    }

    /// Rows that are NULL.
    pub fn null_count(&self) -> usize {
        let nulls = self.lengths().enumerate().filter(|(run, _)| self.values.is_null(*run));
        nulls.map(|(_, length)| length as usize).sum()
    }

    pub fn ends_size(&self) -> usize {
        self.ends.len() * 4
    }

    fn start_of(&self, run: usize) -> u32 {
        if run == 0 { 0 } else { self.ends[run - 1] }
    }

    fn run_of(&self, row: usize) -> usize {
        self.ends.partition_point(|end| *end as usize <= row)
    }

    /// The runs that `rows`, which are not none, lie in.
    fn runs_of(&self, rows: &Range<usize>) -> Range<usize> {
        self.run_of(rows.start)..self.run_of(rows.end - 1) + 1
    }

    pub fn is_null(&self, row: usize) -> bool {
        self.values.is_null(self.run_of(row))
    }

    pub fn get(&self, row: usize) -> Value {
        self.values.get(self.run_of(row))
    }

    pub fn scan_into(&self, start: usize, len: usize, out: &mut Vector) -> Result<()> {
        if len == 0 {
            return self.values.scan_into(0, 0, out);
        }
        let rows = start..start + len;
        let runs = self.runs_of(&rows);
        let mut places = Vec::with_capacity(len);
        for run in runs.clone() {
            let end = (self.ends[run] as usize).min(rows.end) - start;
            places.resize(end, (run - runs.start) as u32);
        }
        *out = self.values.scan(runs.start, runs.len())?.take(&places);
        Ok(())
    }

    pub fn gather_into(&self, rows: &[u32], out: &mut Vector) -> Result<()> {
        let (Some(first), Some(last)) = (rows.first(), rows.last()) else {
            return self.values.scan_into(0, 0, out);
        };
        let runs = self.runs_of(&(*first as usize..*last as usize + 1));
        let mut places = Vec::with_capacity(rows.len());
        self.each_row(rows, |_, run| places.push((run - runs.start) as u32));
        *out = self.values.scan(runs.start, runs.len())?.take(&places);
        Ok(())
    }

    /// Calls `f` with each of `rows`, which ascend, and its run.
    fn each_row(&self, rows: &[u32], mut f: impl FnMut(u32, usize)) {
        let mut run = rows.first().map_or(0, |row| self.run_of(*row as usize));
        for row in rows {
            while self.ends[run] <= *row {
                run += 1;
            }
            f(*row, run);
        }
    }

    /// The predicate, evaluated for every run.
    pub fn test(&self, predicate: &SegmentPredicate) -> Result<Test> {
        let mut found = Vec::new();
        self.values.filter(predicate, 0..self.ends.len(), None, &mut found)?;
        if found.is_empty() {
            return Ok(Test::Never);
        }
        if found.len() == self.ends.len() {
            return Ok(Test::Everything);
        }
        let mut holds = vec![0u64; self.ends.len().div_ceil(64)];
        found.iter().for_each(|run| holds[*run as usize / 64] |= 1 << (run % 64));
        Ok(Test::Runs(holds))
    }

    pub fn and_mask(&self, holds: &[u64], mask: &mut Mask) {
        let rows = mask.start..mask.start + mask.len;
        for run in self.runs_of(&rows) {
            if is_set(holds, run) {
                continue;
            }
            let from = (self.start_of(run) as usize).max(rows.start) - mask.start;
            let to = (self.ends[run] as usize).min(rows.end) - mask.start;
            mask.clear(from..to);
        }
    }

    pub fn select_rows(&self, holds: &[u64], rows: &[u32], out: &mut Vec<u32>) {
        self.each_row(rows, |row, run| {
            if is_set(holds, run) {
                out.push(row);
            }
        });
    }

    pub fn prune_vector(&self, rows: Range<usize>, holds: &[u64]) -> Prune {
        if rows.is_empty() {
            return Prune::Some;
        }
        let mut runs = self.runs_of(&rows);
        let first = is_set(holds, runs.start);
        match (runs.all(|run| is_set(holds, run) == first), first) {
            (true, true) => Prune::All,
            (true, false) => Prune::None,
            (false, _) => Prune::Some,
        }
    }
}

fn is_set(words: &[u64], bit: usize) -> bool {
    words[bit / 64] >> (bit % 64) & 1 == 1
}

/// Where the runs of equal rows end; `None` as soon as there are too many.
fn ends_of<T: Native>(
    values: &[T],
    validity: Option<&Bitmap>,
    equal: impl Fn(&T, &T) -> bool,
) -> Option<Vec<u32>> {
    let limit = values.len() / RUN_LENGTH_MIN;
    let is_valid = |row: usize| validity.is_none_or(|v| v.get(row));
    let mut ends = Vec::new();
    for row in 1..values.len() {
        let same = match (is_valid(row - 1), is_valid(row)) {
            (true, true) => equal(&values[row - 1], &values[row]),
            (before, now) => before == now,
        };
        if !same {
            ends.push(row as u32);
            if ends.len() > limit {
                return None;
            }
        }
    }
    ends.push(values.len() as u32);
    Some(ends)
}
