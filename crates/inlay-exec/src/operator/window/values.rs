//! Functions that number rows or take the value of another row: all but aggregates.

#![expect(clippy::needless_range_loop, reason = "a row is a place in several columns at once")]

use super::Part;
use super::frames::{Chunk, Ranges};
use super::spec::{Function, Operand};
use crate::expression::merge_rows;
use inlay_kernels::{WindowKind, cast_value};
use inlay_types::{Bitmap, Error, LogicalType, Result, Value, Vector};

/// No row.
const NONE: u32 = u32::MAX;

/// What is found out about all rows before values are made.
#[derive(Default)]
pub(super) struct Picks {
    /// With IGNORE NULLS and for `fill`: places whose argument is not NULL, ascending.
    pub(super) valid: Option<Vec<u32>>,
}

fn numbers(chunk: &Chunk, number: impl Fn(usize) -> i64) -> Vector {
    let values: Vec<i64> = (0..chunk.len).map(number).collect();
    Vector::from_values(LogicalType::BigInt, &values)
}

fn shares(chunk: &Chunk, share: impl Fn(usize) -> f64) -> Vector {
    let values: Vec<f64> = (0..chunk.len).map(share).collect();
    Vector::from_values(LogicalType::Double, &values)
}

/// The values of a function that is no aggregate. `frames` are its frames, for the functions that have some.
pub(super) fn eval(
    part: &Part,
    function: &Function,
    kind: WindowKind,
    picks: &Picks,
    chunk: &Chunk,
    frames: &[Ranges],
) -> Result<Vector> {
    let begin = |row: usize| i64::from(chunk.partition_begin[row]);
    let size = |row: usize| i64::from(chunk.partition_end[row]) - begin(row);
    let place = |row: usize| (chunk.from + row) as i64;
    let rank = |row: usize| i64::from(chunk.peer_begin[row]) - begin(row) + 1;
    match kind {
        WindowKind::RowNumber => Ok(numbers(chunk, |row| place(row) - begin(row) + 1)),
        WindowKind::Rank => Ok(numbers(chunk, rank)),
        WindowKind::DenseRank => Ok(dense_ranks(part, chunk)),
        WindowKind::PercentRank => Ok(shares(chunk, |row| match size(row) {
            1 => 0.0,
            size => (rank(row) - 1) as f64 / (size - 1) as f64,
        })),
        WindowKind::CumeDist => {
            Ok(shares(chunk, |row| (i64::from(chunk.peer_end[row]) - begin(row)) as f64 / size(row) as f64))
        }
        WindowKind::Ntile => {
            let counts = part.operand(&function.args[0], chunk.from, chunk.len)?;
            ntile(&counts, |row| Ok((place(row) - begin(row), size(row))))
        }
        WindowKind::Lag | WindowKind::Lead => shifted(part, function, kind, picks, chunk),
        WindowKind::FirstValue | WindowKind::LastValue | WindowKind::NthValue => {
            let places = framed(part, function, kind, picks, chunk, frames)?;
            part.pick(&function.args[0], &places)
        }
        WindowKind::Fill => fill(part, function, picks, chunk),
    }
}

fn dense_ranks(part: &Part, chunk: &Chunk) -> Vector {
    let peers = &part.order.peers;
    let (mut partition, mut first) = (NONE, 0);
    let mut values = Vec::with_capacity(chunk.len);
    for row in 0..chunk.len {
        if chunk.partition[row] != partition {
            partition = chunk.partition[row];
            first = peers.partition_point(|&start| start < chunk.partition_begin[row]) as i64;
        }
        values.push(i64::from(chunk.peer[row]) - first + 1);
    }
    Vector::from_values(LogicalType::BigInt, &values)
}

/// `counts`: the numbers of parts; `position(row)`: the row's place in its partition, and the partition's size.
pub(super) fn ntile(counts: &Vector, position: impl Fn(usize) -> Result<(i64, i64)>) -> Result<Vector> {
    let given = counts.values::<i64>();
    let mut values = Vec::with_capacity(counts.len());
    for row in 0..counts.len() {
        if counts.is_null(row) {
            values.push(0);
            continue;
        }
        if given[row] < 1 {
            let message = format!("ntile({}): the number of parts must be 1 or more", given[row]);
            return Err(Error::invalid_argument(message));
        }
        let (at, size) = position(row)?;
        let parts = given[row].min(size.max(1));
        // The first `larger` parts have one row more than the others.
        let (each, larger) = (size / parts, size % parts);
        let head = larger * (each + 1);
        values.push(1 + if at < head { at / (each + 1) } else { larger + (at - head) / each.max(1) });
    }
    let mut result = Vector::from_values(LogicalType::BigInt, &values);
    if let Some(validity) = counts.validity() {
        result.set_validity(Some(validity.clone()));
        result.normalize_nulls();
    }
    Ok(result)
}

/// `lag` and `lead`.
fn shifted(
    part: &Part,
    function: &Function,
    kind: WindowKind,
    picks: &Picks,
    chunk: &Chunk,
) -> Result<Vector> {
    let offsets = match function.args.get(1) {
        None => None,
        Some(operand) => Some(part.operand(operand, chunk.from, chunk.len)?),
    };
    let mut places = Vec::with_capacity(chunk.len);
    let mut defaults: Vec<u8> = vec![0; chunk.len];
    for row in 0..chunk.len {
        let offset = match &offsets {
            None => 1,
            Some(offsets) if offsets.is_null(row) => {
                places.push(NONE);
                continue;
            }
            Some(offsets) => offsets.values::<i64>()[row],
        };
        let offset = if kind == WindowKind::Lead { i128::from(offset) } else { -i128::from(offset) };
        let own = (chunk.from + row) as u32;
        let found = match &picks.valid {
            None => Some(i128::from(own) + offset),
            Some(_) if offset == 0 => Some(i128::from(own)),
            Some(valid) => {
                let below = valid.partition_point(|&place| place < own) as i128;
                let above = valid.partition_point(|&place| place <= own) as i128;
                let index = if offset < 0 { below + offset } else { above + offset - 1 };
                usize::try_from(index).ok().and_then(|i| valid.get(i)).map(|&place| i128::from(place))
            }
        };
        let (begin, end) = (chunk.partition_begin[row], chunk.partition_end[row]);
        let inside = found.filter(|place| (i128::from(begin)..i128::from(end)).contains(place));
        defaults[row] = u8::from(inside.is_none());
        places.push(inside.map_or(NONE, |place| place as u32));
    }
    let values = part.pick(&function.args[0], &places)?;
    let Some(default) = function.args.get(2).filter(|_| defaults.contains(&1)) else { return Ok(values) };
    let default = part.operand(default, chunk.from, chunk.len)?;
    Ok(merge_rows(values.logical_type(), &[&values, &default], &defaults))
}

/// The places that `first_value`, `last_value` and `nth_value` take their values from.
fn framed(
    part: &Part,
    function: &Function,
    kind: WindowKind,
    picks: &Picks,
    chunk: &Chunk,
    frames: &[Ranges],
) -> Result<Vec<u32>> {
    let wanted = match (kind, function.args.get(1)) {
        (WindowKind::NthValue, Some(operand)) => Some(part.operand(operand, chunk.from, chunk.len)?),
        _ => None,
    };
    // Places of a range that count, as indexes `low .. high` of `place_of`.
    let counted = |begin: u32, end: u32| match &picks.valid {
        None => (begin as usize, end as usize),
        Some(valid) => {
            let low = valid.partition_point(|&place| place < begin);
            (low, low + valid[low..].partition_point(|&place| place < end))
        }
    };
    let place_of = |index: usize| picks.valid.as_ref().map_or(index as u32, |valid| valid[index]);
    let mut places = Vec::with_capacity(chunk.len);
    for row in 0..chunk.len {
        let ranges = frames.iter().map(|frame| counted(frame.begin[row], frame.end[row]));
        let mut ranges = ranges.filter(|(low, high)| low < high);
        let found = match &wanted {
            None if kind == WindowKind::FirstValue => ranges.next().map(|(low, _)| place_of(low)),
            None => ranges.next_back().map(|(_, high)| place_of(high - 1)),
            Some(wanted) if wanted.is_null(row) => None,
            Some(wanted) => {
                let mut left = usize::try_from(wanted.values::<i64>()[row] - 1).ok();
                ranges.find_map(|(low, high)| {
                    let skip = left?;
                    if skip < high - low {
                        return Some(place_of(low + skip));
                    }
                    left = Some(skip - (high - low));
                    None
                })
            }
        };
        places.push(found.unwrap_or(NONE));
    }
    Ok(places)
}

/// `fill`: the arguments are the value and the sort key.
fn fill(part: &Part, function: &Function, picks: &Picks, chunk: &Chunk) -> Result<Vector> {
    let own = part.operand(&function.args[0], chunk.from, chunk.len)?;
    let (Some(_), Some(valid)) = (own.validity(), &picks.valid) else { return Ok(own) };
    let ty = own.logical_type().clone();
    let keys = part.operand(&function.args[1], chunk.from, chunk.len)?;
    let (mut low, mut high) = (vec![NONE; chunk.len], vec![NONE; chunk.len]);
    for row in (0..chunk.len).filter(|&row| own.is_null(row) && !keys.is_null(row)) {
        let (begin, end) = (chunk.partition_begin[row], chunk.partition_end[row]);
        let first = valid.partition_point(|&place| place < begin);
        let last = first + valid[first..].partition_point(|&place| place < end);
        let inside = &valid[first..last];
        let at = inside.partition_point(|&place| place < (chunk.from + row) as u32);
        // Beyond the first or last value the line through the nearest two goes on.
        let (a, b) = match (inside.len(), at) {
            (0, _) => continue,
            (1, _) => (0, 0),
            (_, 0) => (0, 1),
            (len, at) if at == len => (len - 2, len - 1),
            (_, at) => (at - 1, at),
        };
        (low[row], high[row]) = (inside[a], inside[b]);
    }
    let (low_values, high_values) =
        (part.pick(&function.args[0], &low)?, part.pick(&function.args[0], &high)?);
    let (low_keys, high_keys) = (part.pick(&function.args[1], &low)?, part.pick(&function.args[1], &high)?);
    let mut values = Vec::with_capacity(chunk.len);
    for row in 0..chunk.len {
        values.push(if !own.is_null(row) {
            own.get(row)
        } else if low[row] == NONE {
            Value::Null
        } else {
            let number = |vector: &Vector| number_of(&vector.get(row));
            let (x0, x1, x) = (number(&low_keys), number(&high_keys), number(&keys));
            let (y0, y1) = (number(&low_values), number(&high_values));
            let share = if x1 == x0 { 0.0 } else { (x - x0) / (x1 - x0) };
            value_of(&ty, y0 + (y1 - y0) * share)?
        });
    }
    Vector::from_sql_values(ty, &values)
}

/// A number, or the integer that a date or time is stored as.
fn number_of(value: &Value) -> f64 {
    value.as_f64().or_else(|| value.as_stored_i128().map(|stored| stored as f64)).unwrap_or(f64::NAN)
}

fn value_of(ty: &LogicalType, number: f64) -> Result<Value> {
    if ty.is_temporal() {
        let stored = Value::from_stored_i128(ty, number.round() as i128);
        return Ok(stored.unwrap_or(Value::Null));
    }
    cast_value(&Value::Double(number), ty)
}

impl Part {
    /// The operand's values at places, NULL where there is none.
    pub(super) fn pick(&self, operand: &Operand, places: &[u32]) -> Result<Vector> {
        let known: Vec<u32> = places.iter().map(|&place| if place == NONE { 0 } else { place }).collect();
        let values = self.at(operand, &known)?;
        if !places.contains(&NONE) {
            return Ok(values);
        }
        let validity = Bitmap::from_fn(places.len(), |row| places[row] != NONE && !values.is_null(row));
        let mut values = values.flatten();
        values.set_validity(Some(validity));
        values.normalize_nulls();
        Ok(values)
    }
}
