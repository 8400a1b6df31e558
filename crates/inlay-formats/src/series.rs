//! `range(stop)`, `range(start, stop[, step])` and `generate_series`, which includes `stop`; over integers, or over
//! timestamps with an interval as step.

use crate::morsel::{ChunkScan, Piece};
use inlay_catalog::{
    ScanRequest, SourceColumn, SourceScan, SourceTask, TableFunction, TableSource, TypeNames,
};
use inlay_kernels::cast_value;
use inlay_kernels::zone::{Zone, moved};
use inlay_types::datetime::{is_finite_timestamp, midnight};
use inlay_types::{Batch, Error, Interval, LogicalType, Result, VECTOR_SIZE, Value, Vector};
use parking_lot::Mutex;
use std::sync::Arc;

/// One of the two functions.
#[derive(Debug)]
pub struct Series {
    name: &'static str,
    inclusive: bool,
}

impl Series {
    /// `range`, whose end is excluded.
    pub const RANGE: Self = Self { name: "range", inclusive: false };
    /// `generate_series`, whose end is included.
    pub const GENERATE_SERIES: Self = Self { name: "generate_series", inclusive: true };
}

impl TableFunction for Series {
    fn name(&self) -> &'static str {
        self.name
    }

    fn bind(
        &self,
        args: &[Value],
        named: &[(String, Value)],
        _: &TypeNames<'_>,
    ) -> Result<Arc<dyn TableSource>> {
        // The binder names the session's zone beside timestamps with one.
        let zone = named.iter().find(|(name, _)| name == "time_zone").map(|(_, zone)| zone.to_string());
        if let Some((name, _)) = named.iter().find(|(name, _)| name != "time_zone") {
            return Err(Error::invalid_argument(format!("{} has no parameter \"{name}\"", self.name)));
        }
        let shown: Vec<String> = args.iter().map(Value::to_string).collect();
        let description = format!("{}({})", self.name, shown.join(", "));
        let (start, stop, step) = match args {
            [stop] => (&Value::BigInt(0), stop, &Value::BigInt(1)),
            [start, stop] => (start, stop, &Value::BigInt(1)),
            [start, stop, step] => (start, stop, step),
            _ => return Err(Error::invalid_argument(format!("{} takes 1 to 3 arguments", self.name))),
        };
        let column = |ty| vec![SourceColumn { name: self.name.to_string(), ty }];
        if let (Some(start_micros), Some(stop_micros), Value::Interval(step)) =
            (micros(start), micros(stop), step)
        {
            let is_zoned = [start, stop].iter().any(|end| matches!(end, Value::TimestampTz(_)));
            let zone = Zone::named(zone.as_deref().unwrap_or("UTC"))?;
            // A date or timestamp beside a moment is at local time.
            let moment = |end: &Value, micros: i64| {
                let is_local = is_zoned && !matches!(end, Value::TimestampTz(_));
                if is_local { zone.to_utc(micros).unwrap_or(micros) } else { micros }
            };
            let (start, stop) = (moment(start, start_micros), moment(stop, stop_micros));
            let ty = if is_zoned { LogicalType::TimestampTz } else { LogicalType::Timestamp };
            let zone = if is_zoned { zone } else { Zone::utc() };
            let source = TimeSeries {
                description,
                columns: column(ty),
                zone,
                start,
                stop,
                step: *step,
                inclusive: self.inclusive,
            };
            return source.checked().map(|source| Arc::new(source) as Arc<dyn TableSource>);
        }
        let (start, step, count) =
            if args.iter().any(Value::is_null) { (0, 1, 0) } else { self.integers(start, stop, step)? };
        Ok(Arc::new(IntegerSeries { description, columns: column(LogicalType::BigInt), start, step, count }))
    }
}

fn micros(value: &Value) -> Option<i64> {
    match value {
        Value::Timestamp(micros) | Value::TimestampTz(micros) => Some(*micros),
        Value::TimestampS(_) | Value::TimestampMs(_) | Value::TimestampNs(_) => {
            micros(&cast_value(value, &LogicalType::Timestamp).ok()?)
        }
        Value::Date(days) => midnight(*days),
        _ => None,
    }
}

impl Series {
    fn integers(&self, start: &Value, stop: &Value, step: &Value) -> Result<(i64, i64, usize)> {
        let number = |value: &Value| {
            let exact = value.as_i128().or(match value {
                Value::Decimal { unscaled, scale: 0, .. } => Some(*unscaled),
                _ => None,
            });
            exact.and_then(|v| i64::try_from(v).ok()).ok_or_else(|| {
                Error::invalid_argument(format!(
                    "{} takes integers, or two timestamps and an interval, not {value}",
                    self.name
                ))
            })
        };
        let (start, stop, step) = (number(start)?, number(stop)?, number(step)?);
        if step == 0 {
            return Err(Error::invalid_argument(format!("the step of {} must not be 0", self.name)));
        }
        let distance = (i128::from(stop) - i128::from(start)) * i128::from(step.signum());
        let width = i128::from(step).abs();
        let count = if self.inclusive {
            distance.div_euclid(width) + 1
        } else {
            (distance + width - 1).div_euclid(width)
        };
        let count = usize::try_from(count.max(0))
            .map_err(|_| Error::out_of_range(format!("{} has too many rows", self.name)))?;
        Ok((start, step, count))
    }
}

#[derive(Debug)]
struct IntegerSeries {
    description: String,
    columns: Vec<SourceColumn>,
    start: i64,
    step: i64,
    count: usize,
}

/// Rows of a chunk; chunks become morsels, which are listed, so there must not be too many.
const CHUNK_ROWS_MIN: usize = 1 << 16;

impl TableSource for IntegerSeries {
    fn description(&self) -> String {
        self.description.clone()
    }

    fn columns(&self) -> &[SourceColumn] {
        &self.columns
    }

    fn row_count_estimate(&self) -> Option<u64> {
        Some(self.count as u64)
    }

    fn integer_series(&self) -> Option<(i64, i64, u64)> {
        Some((self.start, self.step, self.count as u64))
    }

    fn may_wait(&self) -> bool {
        true
    }

    fn scan(&self, request: ScanRequest) -> Result<Box<dyn SourceScan>> {
        let (start, step, count) = (self.start, self.step, self.count);
        let width = request.columns.len();
        Ok(Box::new(IntegerScan {
            next: Mutex::new(0),
            start,
            step,
            count,
            width,
            interrupt: request.interrupt,
        }))
    }
}

struct IntegerScan {
    next: Mutex<usize>,
    start: i64,
    step: i64,
    count: usize,
    width: usize,
    interrupt: inlay_types::Interrupt,
}

impl SourceScan for IntegerScan {
    fn next_task(&self) -> Result<Option<SourceTask>> {
        self.interrupt.check()?;
        let mut next = self.next.lock();
        let from = *next;
        let rows = CHUNK_ROWS_MIN.min(self.count - from);
        *next += rows;
        drop(next);
        if rows == 0 {
            return Ok(None);
        }
        let (start, step, width) = (self.start, self.step, self.width);
        let read = move |piece: Piece| {
            let value = |row: usize| start.wrapping_add(step.wrapping_mul((from + row) as i64));
            let values: Vec<i64> = (piece.from..piece.from + piece.len).map(value).collect();
            let column = Vector::from_values(LogicalType::BigInt, &values);
            Ok(Batch::new(vec![column; width], piece.len))
        };
        ChunkScan::new(std::iter::once(rows), self.interrupt.clone(), Arc::new(read)).next_task()
    }
}

#[derive(Clone, Debug)]
struct TimeSeries {
    description: String,
    columns: Vec<SourceColumn>,
    zone: Arc<Zone>,
    start: i64,
    stop: i64,
    step: Interval,
    inclusive: bool,
}

impl TimeSeries {
    fn checked(self) -> Result<Self> {
        let Interval { months, days, micros } = self.step;
        if !is_finite_timestamp(self.start) || !is_finite_timestamp(self.stop) {
            return Err(Error::invalid_argument("the ends of a series must be finite"));
        }
        let forward = months > 0 || days > 0 || micros > 0;
        let backward = months < 0 || days < 0 || micros < 0;
        match (forward, backward) {
            (true, true) => {
                Err(Error::invalid_argument("the step of a series must not mix positive and negative parts"))
            }
            (false, false) => Err(Error::invalid_argument("the step of a series must not be 0")),
            _ => Ok(self),
        }
    }

    fn is_forward(&self) -> bool {
        self.step.order_key() > 0
    }

    fn holds(&self, time: i64) -> bool {
        match (self.is_forward(), self.inclusive) {
            (true, true) => time <= self.stop,
            (true, false) => time < self.stop,
            (false, true) => time >= self.stop,
            (false, false) => time > self.stop,
        }
    }

    fn after(&self, time: i64) -> Option<i64> {
        moved(&self.zone, time, self.step)
    }
}

impl TableSource for TimeSeries {
    fn description(&self) -> String {
        self.description.clone()
    }

    fn columns(&self) -> &[SourceColumn] {
        &self.columns
    }

    fn row_count_estimate(&self) -> Option<u64> {
        let distance = (self.stop as f64 - self.start as f64) / (self.step.order_key() as f64);
        Some(distance.max(0.0) as u64 + 1)
    }

    fn may_wait(&self) -> bool {
        true
    }

    fn scan(&self, request: ScanRequest) -> Result<Box<dyn SourceScan>> {
        let (series, width, interrupt) = (self.clone(), request.columns.len(), request.interrupt);
        let ty = self.columns[0].ty.clone();
        let mut time = Some(self.start);
        let batches = std::iter::from_fn(move || {
            if let Err(error) = interrupt.check() {
                return Some(Err(error));
            }
            let mut values = Vec::new();
            while let Some(now) = time.filter(|&now| series.holds(now)) {
                if values.len() == VECTOR_SIZE {
                    break;
                }
                values.push(now);
                time = series.after(now);
            }
            let column = Vector::from_values(ty.clone(), &values);
            (!values.is_empty()).then(|| Ok(Batch::new(vec![column; width], values.len())))
        });
        Ok(Box::new(OneTask(Mutex::new(Some(Box::new(batches))))))
    }
}

struct OneTask(Mutex<Option<SourceTask>>);

impl SourceScan for OneTask {
    fn next_task(&self) -> Result<Option<SourceTask>> {
        Ok(self.0.lock().take())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use inlay_types::{Interrupt, MemoryBudget};

    fn values(function: &Series, args: &[Value]) -> Result<Vec<Value>> {
        let source = function.bind(args, &[], &|_| Err(Error::internal("a series has no types")))?;
        let request = ScanRequest {
            columns: vec![0],
            filters: Vec::new(),
            any_of: Vec::new(),
            budget: MemoryBudget::unlimited(),
            interrupt: Interrupt::new(),
        };
        let scan = source.scan(request)?;
        let mut values = Vec::new();
        while let Some(task) = scan.next_task()? {
            for batch in task {
                let batch = batch?;
                values.extend((0..batch.len()).map(|row| batch.column(0).get(row)));
            }
        }
        Ok(values)
    }

    fn numbers(function: &Series, args: &[i64]) -> Vec<i64> {
        let args: Vec<Value> = args.iter().map(|&v| Value::BigInt(v)).collect();
        let values = values(function, &args).unwrap();
        values.into_iter().map(|v| v.as_i128().unwrap() as i64).collect()
    }

    #[test]
    fn integers_count_up_and_down() {
        assert_eq!(numbers(&Series::RANGE, &[3]), [0, 1, 2]);
        assert_eq!(numbers(&Series::RANGE, &[1, 8, 3]), [1, 4, 7]);
        assert_eq!(numbers(&Series::GENERATE_SERIES, &[1, 7, 3]), [1, 4, 7]);
        assert_eq!(numbers(&Series::RANGE, &[3, 0, -1]), [3, 2, 1]);
        assert_eq!(numbers(&Series::RANGE, &[3, 0]), [] as [i64; 0]);
        assert_eq!(numbers(&Series::GENERATE_SERIES, &[i64::MAX - 1, i64::MAX]), [i64::MAX - 1, i64::MAX]);
        let many = numbers(&Series::RANGE, &[200_000]);
        assert!(many.iter().enumerate().all(|(i, &v)| v == i as i64) && many.len() == 200_000);
        assert_eq!(values(&Series::RANGE, &[Value::Null]), Ok(Vec::new()));
        assert!(values(&Series::RANGE, &[Value::BigInt(1), Value::BigInt(2), Value::BigInt(0)]).is_err());
        assert!(values(&Series::RANGE, &[Value::Varchar("x".into())]).is_err());
    }

    #[test]
    fn timestamps_step_by_intervals() {
        let date = |month| Value::Date(inlay_types::datetime::days_from_civil(2024, month, 31));
        let month = Value::Interval(Interval { months: 1, days: 0, micros: 0 });
        let months = values(&Series::GENERATE_SERIES, &[date(1), date(3), month]).unwrap();
        let shown: Vec<String> = months.iter().map(Value::to_string).collect();
        assert_eq!(shown, ["2024-01-31 00:00:00", "2024-02-29 00:00:00", "2024-03-29 00:00:00"]);
    }
}
