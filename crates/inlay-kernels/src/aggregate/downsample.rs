//! `lttb(x, y, n)`: at most n points of a curve that look like all of it.
//!
//! Largest triangle three buckets: Steinarsson, "Downsampling Time Series for Visual Representation", 2013. The first and
//! the last point stay; of each of the buckets between them the point stays that makes the largest triangle with the
//! point chosen before and the mean of the next bucket.

use super::collect::{GroupRows, KeptRows, KeptRowsMut};
use super::column::Column;
use super::fractions::Parameter;
use super::packing::offsets;
use super::{GroupIds, GroupedAccumulator, same_kind};
use crate::function::AggregateFunction;
use inlay_types::nested::{pack_lists, pack_struct};
use inlay_types::{Bitmap, Error, LogicalType, PhysicalType, Result, Vector};
use std::any::Any;

struct Downsample {
    xs: Column,
    ys: Column,
    rows: GroupRows,
    count: Parameter,
    function: AggregateFunction,
}

/// The accumulator of the module.
pub fn create(function: &AggregateFunction, _total: bool) -> Result<Box<dyn GroupedAccumulator>> {
    Ok(Box::new(Downsample {
        xs: Column::new(function.arg_types[0].clone()),
        ys: Column::new(function.arg_types[1].clone()),
        rows: GroupRows::default(),
        count: Parameter::default(),
        function: function.clone(),
    }))
}

/// Numbers of a column's rows as doubles.
fn doubles(column: &Column, rows: &[u32]) -> Vec<f64> {
    let gathered = column.gather(rows);
    match gathered.physical_type() {
        PhysicalType::F32 => gathered.values::<f32>().iter().map(|value| f64::from(*value)).collect(),
        PhysicalType::F64 => gathered.values::<f64>().to_vec(),
        _ => {
            // Differences of moments are what counts: from the first one on they are exact.
            let values = gathered.values::<i64>();
            let first = values.first().copied().unwrap_or(0);
            values.iter().map(|value| value.wrapping_sub(first) as f64).collect()
        }
    }
}

/// The indexes of the points chosen.
fn chosen(xs: &[f64], ys: &[f64], count: usize) -> Vec<usize> {
    let len = xs.len();
    if count >= len {
        return (0..len).collect();
    }
    let every = (len - 2) as f64 / (count.max(3) - 2) as f64;
    let start = |bucket: usize| ((bucket as f64 * every).floor() as usize + 1).min(len);
    let mut out = vec![0];
    let mut last = 0;
    for bucket in 0..count - 2 {
        let (from, to) = (start(bucket + 1), start(bucket + 2));
        let size = (to - from).max(1) as f64;
        let mean_x = xs[from..to].iter().sum::<f64>() / size;
        let mean_y = ys[from..to].iter().sum::<f64>() / size;
        let (mut best, mut largest) = (start(bucket), -1.0);
        for index in start(bucket)..from {
            let area =
                (xs[last] - mean_x) * (ys[index] - ys[last]) - (xs[last] - xs[index]) * (mean_y - ys[last]);
            if area.abs() > largest {
                (best, largest) = (index, area.abs());
            }
        }
        out.push(best);
        last = best;
    }
    out.push(len - 1);
    out
}

impl GroupedAccumulator for Downsample {
    fn resize(&mut self, _groups: usize) {}

    fn start_morsel(&mut self, number: u32) {
        self.rows.start_morsel(number);
    }

    fn update(&mut self, args: &[&Vector], groups: GroupIds<'_>) -> Result<()> {
        self.count.learn(args.get(2), groups.len());
        let is_known = |row: &u32| !args[0].is_null(*row as usize) && !args[1].is_null(*row as usize);
        let rows: Vec<u32> = (0..groups.len() as u32).filter(is_known).collect();
        self.xs.append(args[0], &rows);
        self.ys.append(args[1], &rows);
        self.rows.push(rows.iter().map(|&row| groups.ids()[row as usize]));
        Ok(())
    }

    fn merge(&mut self, other: &dyn GroupedAccumulator, source: &[u32], target: &[u32]) -> Result<()> {
        let other = same_kind::<Self>(other)?;
        self.count.merge(&other.count);
        let added = self.rows.merge(&other.rows, source, target);
        self.xs.append_added(&other.xs, &added);
        self.ys.append_added(&other.ys, &added);
        Ok(())
    }

    fn prepare_merge(&self) {
        self.rows.prepare();
    }

    fn kept(&self) -> Option<KeptRows<'_>> {
        Some(KeptRows::new(&self.rows, [&self.xs, &self.ys]))
    }

    fn kept_mut(&mut self) -> Option<KeptRowsMut<'_>> {
        Some(KeptRowsMut::new(&mut self.rows, [&mut self.xs, &mut self.ys]))
    }

    fn finish(&self, from: usize, len: usize) -> Result<Vector> {
        let count = match self.count.value() {
            None => 2,
            Some(value) => value.as_i128().and_then(|count| usize::try_from(count).ok()).unwrap_or(0),
        };
        if count < 2 {
            return Err(Error::invalid_argument("lttb gives 2 points or more"));
        }
        let (mut kept, mut ends) = (Vec::new(), vec![0]);
        for group in from..from + len {
            let rows = self.rows.rows(group as u32);
            let (xs, ys) = (doubles(&self.xs, rows), doubles(&self.ys, rows));
            kept.extend(chosen(&xs, &ys, count).into_iter().map(|index| rows[index]));
            ends.push(kept.len());
        }
        let ty = &self.function.return_type;
        let LogicalType::List(point) = ty else { return Err(Error::internal("points are no list")) };
        let (xs, ys) = (self.xs.gather(&kept), self.ys.gather(&kept));
        let points = pack_struct(point, &[&xs, &ys], kept.len(), None)?;
        let empty = |group: usize| ends[group] == ends[group + 1];
        let validity = (0..len).any(empty).then(|| Bitmap::from_fn(len, |group| !empty(group)));
        pack_lists(ty, &points, &offsets(&ends)?, validity.as_ref())
    }

    fn memory_size(&self) -> usize {
        self.xs.memory_size() + self.ys.memory_size() + self.rows.memory_size()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
