//! `avg`: a sum and a count, divided at the end. Exact for integers and decimals up to the division.

use super::{GroupIds, GroupedAccumulator, NullCount, count, same_kind, sum};
use crate::function::{AggregateFunction, AggregateKind, NullHandling, ScalarFunction, Volatility};
use inlay_types::nearest::power_of_ten;
use inlay_types::{Bitmap, Buffer, Error, Heap, LogicalType, PhysicalType, Result, Vector};
use std::any::Any;
use std::sync::Arc;

/// The function that makes the sums of an `avg`: of the same argument, in the widest carrier.
pub fn sum_of(function: &AggregateFunction) -> AggregateFunction {
    let arg = function.arg_types[0].clone();
    let return_type = match arg {
        LogicalType::Decimal { scale, .. } => LogicalType::decimal(38, scale),
        LogicalType::Real | LogicalType::Double => LogicalType::Double,
        _ => LogicalType::HugeInt,
    };
    AggregateFunction {
        name: "sum".into(),
        kind: AggregateKind::Sum,
        arg_types: vec![arg],
        return_type,
        external: None,
    }
}

/// `sums / counts` as DOUBLE; NULL where the count is zero. `sums` is DOUBLE, HUGEINT or DECIMAL, `counts` BIGINT.
pub fn average(sums: &Vector, counts: &Vector) -> Result<Vector> {
    let counts = counts.values::<i64>();
    let scale = match sums.logical_type() {
        LogicalType::Decimal { scale, .. } => power_of_ten(scale),
        _ => 1.0,
    };
    let values: Vec<f64> = match sums.physical_type() {
        PhysicalType::I128 => {
            let sums = sums.values::<i128>();
            sums.iter().zip(counts).map(|(&sum, &count)| to_f64(sum) / (count as f64 * scale)).collect()
        }
        PhysicalType::F64 => {
            sums.values::<f64>().iter().zip(counts).map(|(&sum, &count)| sum / count as f64).collect()
        }
        _ => return Err(Error::internal(format!("an average of sums of type {}", sums.logical_type()))),
    };
    let empty = counts.contains(&0);
    let validity = empty.then(|| Bitmap::from_fn(counts.len(), |i| counts[i] != 0));
    let data = Buffer::from_vec(values);
    let mut result = Vector::flat(LogicalType::Double, counts.len(), data, validity, Heap::default());
    if empty {
        result.normalize_nulls();
    }
    Ok(result)
}

/// The average of what a sum of type `sums` and a count were made of, for plans that keep both apart; NULL where the count
/// is zero. `None` if no `avg` has such sums.
pub fn quotient(sums: LogicalType) -> Option<ScalarFunction> {
    if !matches!(sums.physical(), PhysicalType::I128 | PhysicalType::F64) {
        return None;
    }
    let kernel = |args: &[&Vector], _len: usize, out: &mut Vector| {
        *out = average(&args[0].flatten(), &args[1].flatten())?;
        Ok(())
    };
    Some(ScalarFunction {
        name: "avg".into(),
        arg_types: vec![sums, LogicalType::BigInt],
        return_type: LogicalType::Double,
        null_handling: NullHandling::Special,
        volatility: Volatility::Immutable,
        can_fail: false,
        kernel: Arc::new(kernel),
        specialize: None,
        external: None,
    })
}

#[inline]
fn to_f64(value: i128) -> f64 {
    // Most sums fit into 64 bits, whose conversion is one instruction.
    i64::try_from(value).map_or(value as f64, |value| value as f64)
}

/// `avg` by itself, for callers that do not share its parts.
struct Average {
    sums: Box<dyn GroupedAccumulator>,
    rows: Box<dyn GroupedAccumulator>,
    nulls: Box<dyn GroupedAccumulator>,
}

pub(super) fn create(function: &AggregateFunction, total: bool) -> Result<Box<dyn GroupedAccumulator>> {
    let sum = sum_of(function);
    let rows = AggregateFunction { kind: AggregateKind::CountStar, ..sum.clone() };
    let rows = count::create(&rows);
    Ok(Box::new(Average { sums: sum::create(&sum, total)?, rows, nulls: NullCount::boxed() }))
}

/// Values that are not NULL: rows less NULLs.
pub fn count_of(rows: &Vector, nulls: &Vector) -> Vector {
    let counts: Vec<i64> =
        rows.values::<i64>().iter().zip(nulls.values::<i64>()).map(|(r, n)| r - n).collect();
    Vector::from_values(LogicalType::BigInt, &counts)
}

impl GroupedAccumulator for Average {
    fn resize(&mut self, groups: usize) {
        self.sums.resize(groups);
        self.rows.resize(groups);
        self.nulls.resize(groups);
    }

    fn update(&mut self, args: &[&Vector], groups: GroupIds<'_>) -> Result<()> {
        self.sums.update(args, groups)?;
        self.rows.update(&[], groups)?;
        self.nulls.update(args, groups)
    }

    fn update_one(&mut self, args: &[&Vector], len: usize, group: u32) -> Result<()> {
        self.sums.update_one(args, len, group)?;
        self.rows.update_one(&[], len, group)?;
        self.nulls.update_one(args, len, group)
    }

    fn merge(&mut self, other: &dyn GroupedAccumulator, source: &[u32], target: &[u32]) -> Result<()> {
        let other = same_kind::<Self>(other)?;
        self.sums.merge(&*other.sums, source, target)?;
        self.rows.merge(&*other.rows, source, target)?;
        self.nulls.merge(&*other.nulls, source, target)
    }

    fn finish(&self, from: usize, len: usize) -> Result<Vector> {
        let counts = count_of(&self.rows.finish(from, len)?, &self.nulls.finish(from, len)?);
        average(&self.sums.finish(from, len)?, &counts)
    }

    fn memory_size(&self) -> usize {
        self.sums.memory_size() + self.rows.memory_size() + self.nulls.memory_size()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
