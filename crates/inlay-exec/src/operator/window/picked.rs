//! Functions with an ORDER BY of their own: `first_value(x ORDER BY y) OVER (...)` is the value of that row of the frame
//! that is first by `y`; `rank(ORDER BY y)` counts the rows of the frame that are before the row's own by `y`.
//!
//! Frames are walked, row by row, over numbers of the order instead of values.

#![expect(clippy::needless_range_loop, reason = "a row is a place in several columns at once")]

use super::Part;
use super::frames::{Chunk, Ranges};
use super::spec::{Function, Operand};
use super::values::ntile;
use crate::context::ExecContext;
use crate::expression::merge_rows;
use crate::operator::order::{KeyColumn, sort};
use inlay_kernels::WindowKind;
use inlay_types::limits::Pace;
use inlay_types::{Error, LogicalType, Result, Vector};
use std::cell::Cell;

const NONE: u32 = u32::MAX;

/// Per place: its number in the function's own order, with and without ties.
pub(super) struct Ranks {
    unique: Vec<u32>,
    tied: Vec<u32>,
    /// Places that count, if not all do.
    valid: Option<Vec<bool>>,
}

impl Ranks {
    pub(super) fn new(context: &ExecContext, part: &Part, function: &Function) -> Result<Self> {
        let mut columns = Vec::with_capacity(function.arg_order.len());
        for key in &function.arg_order {
            columns.push(part.sorted(context, &Operand::Column(key.column))?);
        }
        let keys: Vec<KeyColumn<'_>> = columns
            .iter()
            .zip(&function.arg_order)
            .map(|(vector, key)| KeyColumn {
                vector,
                descending: key.descending,
                nulls_first: key.nulls_first,
            })
            .collect();
        let order = sort(context, &keys, 0, part.len)?;
        let mut ranks = Self { unique: vec![0; part.len], tied: vec![0; part.len], valid: None };
        if let Some(rows) = &order.rows {
            for (number, &row) in rows.iter().enumerate() {
                ranks.unique[row as usize] = number as u32;
            }
            for bounds in order.peers.windows(2) {
                for &row in &rows[bounds[0] as usize..bounds[1] as usize] {
                    ranks.tied[row as usize] = bounds[0];
                }
            }
        }
        if let Some(argument) = function.args.first().filter(|_| function.ignore_nulls) {
            let vector = part.sorted(context, argument)?;
            ranks.valid = Some((0..part.len).map(|place| !vector.is_null(place)).collect());
        }
        Ok(ranks)
    }

    fn counts(&self, place: u32) -> bool {
        self.valid.as_ref().is_none_or(|valid| valid[place as usize])
    }
}

/// The frames of a stretch of rows. Each of them may be as long as the table, and each is walked.
struct Walks<'a> {
    frames: &'a [Ranges],
    pace: Cell<Pace>,
}

impl Walks<'_> {
    /// The places of a row's frame.
    fn places(&self, row: usize) -> Result<impl Iterator<Item = u32>> {
        let ranges = self.frames.iter().map(move |frame| frame.begin[row]..frame.end[row]);
        let mut pace = self.pace.take();
        pace.steps(ranges.clone().map(|range| range.len()).sum())?;
        self.pace.set(pace);
        Ok(ranges.flatten())
    }

    /// The place that is `index` places behind the first in the function's order.
    fn nth(&self, row: usize, ranks: &Ranks, index: usize, scratch: &mut Vec<u32>) -> Result<u32> {
        scratch.clear();
        scratch.extend(self.places(row)?.filter(|&place| ranks.counts(place)));
        if index >= scratch.len() {
            return Ok(NONE);
        }
        let by_rank = |place: &u32| ranks.unique[*place as usize];
        Ok(*scratch.select_nth_unstable_by_key(index, by_rank).1)
    }
}

pub(super) fn eval(
    part: &Part,
    function: &Function,
    kind: WindowKind,
    ranks: &Ranks,
    chunk: &Chunk,
    frames: &[Ranges],
) -> Result<Vector> {
    let walks = &Walks { frames, pace: Cell::default() };
    let place = |row: usize| chunk.from + row;
    let count = |row: usize, counts: &dyn Fn(u32) -> bool| -> Result<i64> {
        Ok(walks.places(row)?.filter(|&p| counts(p)).count() as i64)
    };
    let before = |row: usize| count(row, &|p| ranks.unique[p as usize] < ranks.unique[place(row)]);
    let below = |row: usize| count(row, &|p| ranks.tied[p as usize] < ranks.tied[place(row)]);
    let size = |row: usize| count(row, &|_| true);
    let numbers = |number: &dyn Fn(usize) -> Result<i64>| -> Result<Vector> {
        let values: Vec<i64> = (0..chunk.len).map(number).collect::<Result<_>>()?;
        Ok(Vector::from_values(LogicalType::BigInt, &values))
    };
    let shares = |share: &dyn Fn(usize) -> Result<f64>| -> Result<Vector> {
        let values: Vec<f64> = (0..chunk.len).map(share).collect::<Result<_>>()?;
        Ok(Vector::from_values(LogicalType::Double, &values))
    };
    let mut scratch = Vec::new();
    let picked: Vec<u32> = match kind {
        WindowKind::RowNumber => return numbers(&|row| Ok(before(row)? + 1)),
        WindowKind::Rank | WindowKind::DenseRank => return numbers(&|row| Ok(below(row)? + 1)),
        WindowKind::PercentRank => {
            return shares(&|row| match size(row)? {
                0 | 1 => Ok(0.0),
                size => Ok(below(row)? as f64 / (size - 1) as f64),
            });
        }
        WindowKind::CumeDist => {
            let up_to = |row: usize| {
                let own = ranks.tied[place(row)];
                Ok::<_, Error>(count(row, &|p| ranks.tied[p as usize] <= own)? as f64)
            };
            return shares(&|row| match size(row)? {
                0 => Ok(0.0),
                size => Ok(up_to(row)? / size as f64),
            });
        }
        WindowKind::Ntile => {
            let counts = part.operand(&function.args[0], chunk.from, chunk.len)?;
            return ntile(&counts, |row| {
                let size = size(row)?;
                Ok((before(row)?.min(size - 1).max(0), size))
            });
        }
        WindowKind::FirstValue | WindowKind::Fill => {
            (0..chunk.len).map(|row| walks.nth(row, ranks, 0, &mut scratch)).collect::<Result<_>>()?
        }
        WindowKind::LastValue => (0..chunk.len)
            .map(|row| {
                let counted = walks.places(row)?.filter(|&place| ranks.counts(place));
                Ok(counted.max_by_key(|&place| ranks.unique[place as usize]).unwrap_or(NONE))
            })
            .collect::<Result<_>>()?,
        WindowKind::NthValue => {
            let wanted = part.operand(&function.args[1], chunk.from, chunk.len)?;
            let index = |row: usize| match wanted.is_null(row) {
                true => None,
                false => usize::try_from(wanted.values::<i64>()[row] - 1).ok(),
            };
            let find = |row: usize| match index(row) {
                Some(index) => walks.nth(row, ranks, index, &mut scratch),
                None => Ok(NONE),
            };
            (0..chunk.len).map(find).collect::<Result<_>>()?
        }
        WindowKind::Lag | WindowKind::Lead => {
            return shifted(part, function, kind, ranks, chunk, walks);
        }
    };
    part.pick(&function.args[0], &picked)
}

fn shifted(
    part: &Part,
    function: &Function,
    kind: WindowKind,
    ranks: &Ranks,
    chunk: &Chunk,
    walks: &Walks<'_>,
) -> Result<Vector> {
    let offsets = match function.args.get(1) {
        None => None,
        Some(operand) => Some(part.operand(operand, chunk.from, chunk.len)?),
    };
    let mut scratch = Vec::new();
    let (mut picked, mut defaults) = (Vec::with_capacity(chunk.len), vec![0u8; chunk.len]);
    for row in 0..chunk.len {
        let offset = match &offsets {
            None => 1,
            Some(offsets) if offsets.is_null(row) => {
                picked.push(NONE);
                continue;
            }
            Some(offsets) => offsets.values::<i64>()[row],
        };
        let offset = if kind == WindowKind::Lead { i128::from(offset) } else { -i128::from(offset) };
        let own = ranks.unique[chunk.from + row];
        let counted = walks.places(row)?.filter(|&p| ranks.counts(p));
        let before = counted.filter(|&p| ranks.unique[p as usize] < own).count() as i128;
        // Among the rows that count, the row itself stands between those before and those behind.
        let is_counted = ranks.counts((chunk.from + row) as u32)
            && walks.places(row)?.any(|p| p as usize == chunk.from + row);
        let index = if offset > 0 && !is_counted { before + offset - 1 } else { before + offset };
        let found = match usize::try_from(index) {
            Ok(index) => walks.nth(row, ranks, index, &mut scratch)?,
            Err(_) => NONE,
        };
        defaults[row] = u8::from(found == NONE);
        picked.push(found);
    }
    let values = part.pick(&function.args[0], &picked)?;
    let Some(default) = function.args.get(2).filter(|_| defaults.contains(&1)) else { return Ok(values) };
    let default = part.operand(default, chunk.from, chunk.len)?;
    Ok(merge_rows(values.logical_type(), &[&values, &default], &defaults))
}
