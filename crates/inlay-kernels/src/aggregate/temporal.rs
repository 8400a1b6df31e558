//! `avg` of TIMESTAMP, TIME and INTERVAL, and `sum` of INTERVAL.
//!
//! Times are added as 128-bit numbers, which no number of rows overflows. Months, days and microseconds of intervals are
//! added apart; dividing hands what is left of a month to the days (30 of them) and of a day to the microseconds.

use super::bits::unsupported;
use super::{GroupIds, GroupedAccumulator, flat, same_kind};
use crate::function::AggregateFunction;
use inlay_types::{Error, Interval, LogicalType, PhysicalType, Result, Vector, VectorBuilder};
use std::any::Any;

#[derive(Clone, Copy, Default)]
struct Sum {
    /// 64-bit values, or an interval's microseconds.
    micros: i128,
    days: i64,
    months: i64,
    count: i64,
}

struct TemporalSums {
    sums: Vec<Sum>,
    is_average: bool,
    ty: LogicalType,
}

/// `avg` of dates, times, timestamps and intervals.
pub fn average(function: &AggregateFunction, _total: bool) -> Result<Box<dyn GroupedAccumulator>> {
    create(function, true)
}

/// `sum` of intervals.
pub fn sum(function: &AggregateFunction, _total: bool) -> Result<Box<dyn GroupedAccumulator>> {
    create(function, false)
}

fn create(function: &AggregateFunction, is_average: bool) -> Result<Box<dyn GroupedAccumulator>> {
    if !matches!(function.arg_types[0].physical(), PhysicalType::I64 | PhysicalType::Interval) {
        return Err(unsupported(function));
    }
    Ok(Box::new(TemporalSums { sums: Vec::new(), is_average, ty: function.return_type.clone() }))
}

const MICROS_PER_DAY: i128 = 86_400_000_000;

impl Sum {
    fn interval(&self, divisor: i128) -> Result<Interval> {
        let (months, rest) = (i128::from(self.months) / divisor, i128::from(self.months) % divisor);
        let days = rest * 30 + i128::from(self.days);
        let (days, rest) = (days.div_euclid(divisor), days.rem_euclid(divisor));
        let micros = rest * MICROS_PER_DAY + self.micros;
        let half = if micros < 0 { -divisor / 2 } else { divisor / 2 };
        let micros = (micros + half) / divisor;
        let fitted = || {
            Some(Interval {
                months: months.try_into().ok()?,
                days: days.try_into().ok()?,
                micros: micros.try_into().ok()?,
            })
        };
        fitted().ok_or_else(|| Error::out_of_range("sum is out of range of INTERVAL"))
    }
}

impl GroupedAccumulator for TemporalSums {
    fn resize(&mut self, groups: usize) {
        self.sums.resize(groups, Sum::default());
    }

    fn update(&mut self, args: &[&Vector], groups: GroupIds<'_>) -> Result<()> {
        let arg = flat(args[0]);
        let is_interval = arg.physical_type() == PhysicalType::Interval;
        let intervals = if is_interval { arg.values::<Interval>() } else { &[] };
        let times = if is_interval { &[] } else { arg.values::<i64>() };
        for (row, &group) in groups.ids().iter().enumerate() {
            if arg.is_null(row) {
                continue;
            }
            let sum = &mut self.sums[group as usize];
            sum.count += 1;
            if is_interval {
                sum.months += i64::from(intervals[row].months);
                sum.days += i64::from(intervals[row].days);
                sum.micros += i128::from(intervals[row].micros);
            } else {
                sum.micros += i128::from(times[row]);
            }
        }
        Ok(())
    }

    fn merge(&mut self, other: &dyn GroupedAccumulator, source: &[u32], target: &[u32]) -> Result<()> {
        let other = same_kind::<Self>(other)?;
        for (&from, &to) in source.iter().zip(target) {
            let (sum, theirs) = (&mut self.sums[to as usize], &other.sums[from as usize]);
            sum.micros += theirs.micros;
            sum.days += theirs.days;
            sum.months += theirs.months;
            sum.count += theirs.count;
        }
        Ok(())
    }

    fn finish(&self, from: usize, len: usize) -> Result<Vector> {
        let mut builder = VectorBuilder::new(self.ty.clone(), len);
        let is_interval = self.ty.physical() == PhysicalType::Interval;
        for sum in &self.sums[from..from + len] {
            let divisor = if self.is_average { i128::from(sum.count) } else { 1 };
            match sum.count {
                0 => builder.push_null(),
                _ if is_interval => builder.push_native(sum.interval(divisor)?),
                // An average lies between the values.
                _ => builder.push_native((sum.micros / divisor) as i64),
            }
        }
        Ok(builder.finish())
    }

    fn memory_size(&self) -> usize {
        self.sums.capacity() * size_of::<Sum>()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
