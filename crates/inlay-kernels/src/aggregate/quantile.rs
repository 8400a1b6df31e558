//! Aggregates that need all values of a group at once: `median`, `quantile_cont`, `mode`, `string_agg`.

use super::bits::unsupported;
use super::collect::GroupRows;
use super::column::Column;
use super::{GroupIds, GroupedAccumulator, same_kind};
use crate::function::{AggregateFunction, AggregateKind};
use inlay_types::{Error, LogicalType, PhysicalType, Result, Value, Vector, VectorBuilder};
use std::any::Any;
use std::collections::HashMap;

/// Keeps the values that are not NULL, by group.
struct Holistic {
    values: Column,
    rows: GroupRows,
    function: AggregateFunction,
    /// The second argument (fraction, separator), the same for all rows.
    parameter: Option<Value>,
}

pub(super) fn create(function: &AggregateFunction) -> Result<Box<dyn GroupedAccumulator>> {
    let ty = function.arg_types[0].clone();
    let fits = match function.kind {
        AggregateKind::Median | AggregateKind::QuantileCont => !ty.is_view() && ty != LogicalType::Interval,
        AggregateKind::StringAgg => ty.is_view(),
        _ => true,
    };
    if !fits {
        return Err(unsupported(function));
    }
    let (rows, function) = (GroupRows::default(), function.clone());
    Ok(Box::new(Holistic { values: Column::new(ty), rows, function, parameter: None }))
}

impl Holistic {
    fn fraction(&self) -> Result<f64> {
        if self.function.kind == AggregateKind::Median {
            return Ok(0.5);
        }
        let fraction = self.parameter.as_ref().and_then(Value::as_f64).unwrap_or(0.5);
        if (0.0..=1.0).contains(&fraction) {
            Ok(fraction)
        } else {
            Err(Error::invalid_argument(format!(
                "the fraction of quantile_cont is {fraction}; give one from 0 to 1"
            )))
        }
    }

    fn quantiles(&self, from: usize, len: usize) -> Result<Vector> {
        let fraction = self.fraction()?;
        let ty = self.function.return_type.clone();
        let mut builder = VectorBuilder::new(ty.clone(), len);
        let mut numbers = Vec::new();
        for group in from..from + len {
            let rows = self.rows.rows(group as u32);
            if rows.is_empty() {
                builder.push_null();
                continue;
            }
            numbers.clear();
            numbers_of(&self.values.gather(rows), ty.clone(), &mut numbers);
            let value = interpolate(&mut numbers, fraction);
            match ty.physical() {
                PhysicalType::F64 => builder.push_native(value),
                PhysicalType::F32 => builder.push_native(value as f32),
                PhysicalType::I16 => builder.push_native(value.round() as i16),
                PhysicalType::I32 => builder.push_native(value.round() as i32),
                PhysicalType::I64 => builder.push_native(value.round() as i64),
                PhysicalType::I128 => builder.push_native(value.round() as i128),
                _ => return Err(unsupported(&self.function)),
            }
        }
        Ok(builder.finish())
    }

    fn modes(&self, from: usize, len: usize) -> Result<Vector> {
        let ty = self.function.return_type.clone();
        let mut builder = VectorBuilder::new(ty.clone(), len);
        for group in from..from + len {
            let rows = self.rows.rows(group as u32);
            // Value to how often it occurs and its first row; ties go to the value that came first.
            let mut counts: HashMap<(&[u8], u64, u64), (usize, u32)> = HashMap::new();
            for &row in rows {
                let (head, tail) = if ty.is_view() { (0, 0) } else { self.values.words(row as usize) };
                counts.entry((self.values.bytes(row as usize), head, tail)).or_insert((0, row)).0 += 1;
            }
            match counts.values().max_by_key(|(count, row)| (*count, std::cmp::Reverse(*row))) {
                None => builder.push_null(),
                Some(&(_, row)) if ty.is_view() => builder.push_bytes(self.values.bytes(row as usize)),
                Some(&(_, row)) => builder.append(&self.values.gather(&[row])),
            }
        }
        Ok(builder.finish())
    }

    fn joined(&self, from: usize, len: usize) -> Result<Vector> {
        let separator = self.parameter.as_ref().and_then(Value::as_str).unwrap_or(",").as_bytes();
        let mut builder = VectorBuilder::new(self.function.return_type.clone(), len);
        let mut text = Vec::new();
        for group in from..from + len {
            text.clear();
            let rows = self.rows.rows(group as u32);
            for (index, &row) in rows.iter().enumerate() {
                if index > 0 {
                    text.extend_from_slice(separator);
                }
                text.extend_from_slice(self.values.bytes(row as usize));
            }
            match rows.is_empty() {
                true => builder.push_null(),
                false => builder.push_bytes(&text),
            }
        }
        Ok(builder.finish())
    }
}

/// The numbers of a flat vector without NULLs as doubles: unscaled when the result is of a scaled type as well.
fn numbers_of(values: &Vector, result: LogicalType, out: &mut Vec<f64>) {
    let scale = match (values.logical_type(), result) {
        (LogicalType::Decimal { scale, .. }, LogicalType::Real | LogicalType::Double) => {
            10f64.powi(i32::from(scale))
        }
        _ => 1.0,
    };
    match values.physical_type() {
        PhysicalType::F64 => out.extend_from_slice(values.values::<f64>()),
        PhysicalType::F32 => out.extend(values.values::<f32>().iter().map(|&v| f64::from(v))),
        PhysicalType::I32 => out.extend(values.values::<i32>().iter().map(|&v| f64::from(v) / scale)),
        PhysicalType::I64 => out.extend(values.values::<i64>().iter().map(|&v| v as f64 / scale)),
        _ => out.extend((0..values.len()).map(|row| values.stored_i128(row) as f64 / scale)),
    }
}

/// The value at `fraction` of the sorted numbers, between two of them if need be.
fn interpolate(numbers: &mut [f64], fraction: f64) -> f64 {
    let position = fraction * (numbers.len() - 1) as f64;
    let (below, weight) = (position.floor() as usize, position.fract());
    // NaN sorts above all numbers, whatever its sign bit.
    let order = |a: &f64, b: &f64| a.partial_cmp(b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()));
    let (_, low, above) = numbers.select_nth_unstable_by(below, order);
    let low = *low;
    if weight == 0.0 {
        return low;
    }
    let high = above.iter().copied().min_by(order).unwrap_or(low);
    low + (high - low) * weight
}

impl GroupedAccumulator for Holistic {
    fn resize(&mut self, _groups: usize) {}

    fn update(&mut self, args: &[&Vector], groups: GroupIds<'_>) -> Result<()> {
        if let (None, Some(parameter)) = (&self.parameter, args.get(1)) {
            self.parameter =
                (0..groups.len()).find(|&row| !parameter.is_null(row)).map(|row| parameter.get(row));
        }
        let arg = args[0];
        let rows: Vec<u32> = (0..groups.len() as u32).filter(|&row| !arg.is_null(row as usize)).collect();
        self.values.append(arg, &rows);
        self.rows.push(rows.iter().map(|&row| groups.ids()[row as usize]));
        Ok(())
    }

    fn merge(&mut self, other: &dyn GroupedAccumulator, source: &[u32], target: &[u32]) -> Result<()> {
        let other = same_kind::<Self>(other)?;
        if self.parameter.is_none() {
            self.parameter.clone_from(&other.parameter);
        }
        let added = self.rows.merge(&other.rows, source, target);
        self.values.append_column(&other.values, &added);
        Ok(())
    }

    fn finish(&self, from: usize, len: usize) -> Result<Vector> {
        match self.function.kind {
            AggregateKind::Mode => self.modes(from, len),
            AggregateKind::StringAgg => self.joined(from, len),
            _ => self.quantiles(from, len),
        }
    }

    fn memory_size(&self) -> usize {
        self.values.memory_size() + self.rows.memory_size()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
