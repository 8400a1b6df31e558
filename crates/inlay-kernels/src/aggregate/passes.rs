//! Quantiles of one group whose rows are read several times.
//!
//! What the rows must be read for is learnt by making the result: the code that makes it of kept values asks for ranks
//! here too, and those that are not known yet are looked for in the next pass. So it runs once after each pass.

use super::quantile::{Distances, Groups, Quantiles, Ranked, Sortable, float_key, interval_of_micros};
use super::selection::Selection;
use super::{Passes, flat};
use inlay_types::{Interval, LogicalType, Native, PhysicalType, Result, Vector};

/// A carrier whose values are found by their rank.
pub(super) trait Keyed: Sortable {
    /// An integer in the order of the values.
    fn key(self) -> i128;
    /// The value of a key; of intervals, one of several.
    fn of_key(key: i128) -> Self;
    /// The value at `rank`, if it is known.
    fn find(known: &mut Known, rank: usize) -> Option<Self> {
        known.find_key(rank).map(Self::of_key)
    }
}

macro_rules! keyed {
    ($($t:ty),*) => { $(
        impl Keyed for $t {
            fn key(self) -> i128 {
                self as i128
            }
            fn of_key(key: i128) -> Self {
                key as Self
            }
        }
    )* };
}
keyed!(i8, i16, i32, i64, i128, u8, u16, u32, u64);
impl Keyed for u128 {
    fn key(self) -> i128 {
        self as i128 ^ i128::MIN
    }
    fn of_key(key: i128) -> Self {
        (key ^ i128::MIN) as Self
    }
}
impl Keyed for Interval {
    fn key(self) -> i128 {
        self.order_key()
    }
    fn of_key(key: i128) -> Self {
        interval_of_micros(key)
    }
    fn find(known: &mut Known, rank: usize) -> Option<Self> {
        known.find_bytes(rank).and_then(interval_of_bytes)
    }
}

/// Bytes in the order of intervals: the key that they are compared by, and then what tells those with one key apart.
fn bytes_of_interval(value: Interval) -> [u8; 32] {
    let mut bytes = [0; 32];
    bytes[..16].copy_from_slice(&(value.order_key() ^ i128::MIN).to_be_bytes());
    bytes[16..20].copy_from_slice(&(value.months ^ i32::MIN).to_be_bytes());
    bytes[20..24].copy_from_slice(&(value.days ^ i32::MIN).to_be_bytes());
    bytes[24..].copy_from_slice(&value.micros.to_be_bytes());
    bytes
}

fn interval_of_bytes(bytes: &[u8]) -> Option<Interval> {
    let word = |from: usize| bytes.get(from..from + 4)?.try_into().ok().map(i32::from_be_bytes);
    Some(Interval {
        months: word(16)? ^ i32::MIN,
        days: word(20)? ^ i32::MIN,
        micros: i64::from_be_bytes(bytes.get(24..)?.try_into().ok()?),
    })
}

/// What takes the place of values.
type Replacement = Box<dyn Fn(&mut [i128]) + Send>;

/// Values that are carried in a fixed width, as keys.
struct Integers {
    selection: Selection<i128>,
    /// A sample of the values from the first pass, if they will be replaced.
    sample: Option<Vec<i128>>,
    /// What took their place.
    replaced: Option<(Replacement, Selection<i128>)>,
    is_replaced_later: bool,
    /// The keys of a batch.
    batch: Vec<i128>,
}

impl Integers {
    /// Adds the first `len` rows.
    fn add(&mut self, vector: &Vector, len: usize) {
        fn append<T: Native>(vector: &Vector, len: usize, batch: &mut Vec<i128>, key: impl Fn(T) -> i128) {
            let values = &vector.values::<T>()[..len];
            match vector.validity() {
                None => batch.extend(values.iter().map(|value| key(*value))),
                Some(valid) => {
                    let rows = values.iter().enumerate().filter(|(row, _)| valid.get(*row));
                    batch.extend(rows.map(|(_, value)| key(*value)));
                }
            }
        }
        self.batch.clear();
        let batch = &mut self.batch;
        match vector.physical_type() {
            PhysicalType::Bool | PhysicalType::U8 => append(vector, len, batch, u8::key),
            PhysicalType::I8 => append(vector, len, batch, i8::key),
            PhysicalType::I16 => append(vector, len, batch, i16::key),
            PhysicalType::I32 => append(vector, len, batch, i32::key),
            PhysicalType::I64 => append(vector, len, batch, i64::key),
            PhysicalType::I128 => append(vector, len, batch, i128::key),
            PhysicalType::U16 => append(vector, len, batch, u16::key),
            PhysicalType::U32 => append(vector, len, batch, u32::key),
            PhysicalType::U64 => append(vector, len, batch, u64::key),
            PhysicalType::U128 => append(vector, len, batch, u128::key),
            PhysicalType::F32 => append(vector, len, batch, |value: f32| float_key(value.into()).into()),
            PhysicalType::F64 => append(vector, len, batch, |value| float_key(value).into()),
            // These are selected as bytes.
            PhysicalType::Interval | PhysicalType::View => {}
        }
        match &mut self.replaced {
            Some((replacement, selection)) => {
                replacement(batch);
                selection.add_all(batch);
            }
            None => self.selection.add_all(batch),
        }
    }

    fn end_pass(&mut self) -> Result<()> {
        if let Some((_, selection)) = &mut self.replaced {
            return selection.end_pass();
        }
        self.selection.end_pass()?;
        if self.is_replaced_later && self.sample.is_none() {
            self.sample = Some(self.selection.sample().to_vec());
        }
        Ok(())
    }

    /// From now on rows are read for other values. A sample of them is that of the values, replaced.
    fn replace(&mut self, replacement: Replacement) {
        let mut sample = self.sample.take().unwrap_or_default();
        replacement(&mut sample);
        let selection = self.selection.sampled(sample);
        self.selection.forget();
        self.replaced = Some((replacement, selection));
    }
}

enum Values {
    Integers(Integers),
    Bytes(Selection<[u8]>),
}

/// Which values the result is being made of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Read,
    Replaced,
    /// They are replaced by what is not known yet.
    Unknown,
}

/// What is known of the values of a group.
pub(super) struct Known {
    values: Values,
    stage: Stage,
    /// Ranks that were asked for and are not known.
    missing: Vec<usize>,
}

impl Known {
    /// Nothing of values of `ty`. `is_replaced_later`: [`Ranked::replace`] will be called.
    pub(super) fn new(ty: &LogicalType, capacity: usize, is_replaced_later: bool) -> Self {
        let values = match ty.physical() {
            PhysicalType::View => Values::Bytes(Selection::new(ty.clone(), capacity)),
            PhysicalType::Interval => Values::Bytes(Selection::new(LogicalType::Blob, capacity)),
            _ => Values::Integers(Integers {
                selection: Selection::new(ty.clone(), capacity),
                sample: None,
                replaced: None,
                is_replaced_later,
                batch: Vec::new(),
            }),
        };
        Self { values, stage: Stage::Read, missing: Vec::new() }
    }

    /// Adds the first `len` rows of a flat vector.
    fn add(&mut self, vector: &Vector, len: usize) {
        let selection = match &mut self.values {
            Values::Integers(integers) => return integers.add(vector, len),
            Values::Bytes(selection) => selection,
        };
        let rows = (0..len).filter(|row| !vector.is_null(*row));
        if vector.physical_type() == PhysicalType::Interval {
            let values = vector.values::<Interval>();
            rows.for_each(|row| selection.add(&bytes_of_interval(values[row])));
        } else {
            let (views, heap) = (vector.views(), vector.heap().buffers());
            rows.for_each(|row| selection.add(views[row].bytes(heap)));
        }
    }

    /// Ends a pass; then a result can be made.
    fn end_pass(&mut self) -> Result<()> {
        self.missing.clear();
        self.stage = Stage::Read;
        match &mut self.values {
            Values::Integers(integers) => integers.end_pass(),
            Values::Bytes(selection) => selection.end_pass(),
        }
    }

    /// Prepares the next pass, for what was missing from the result.
    fn plan(&mut self) -> Result<()> {
        match &mut self.values {
            Values::Integers(Integers { replaced: Some((_, selection)), .. }) => {
                selection.plan(&self.missing)
            }
            Values::Integers(integers) => integers.selection.plan(&self.missing),
            Values::Bytes(selection) => selection.plan(&self.missing),
        }
    }

    /// The number of values.
    pub(super) fn len(&self) -> usize {
        match &self.values {
            Values::Integers(integers) => integers.selection.count(),
            Values::Bytes(selection) => selection.count(),
        }
    }

    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether all was known that was asked for.
    pub(super) fn is_complete(&self) -> bool {
        self.missing.is_empty()
    }

    fn find_key(&mut self, rank: usize) -> Option<i128> {
        match &mut self.values {
            Values::Integers(Integers { replaced: Some((_, selection)), .. })
                if self.stage == Stage::Replaced =>
            {
                selection.find(rank).copied()
            }
            Values::Integers(integers) => integers.selection.find(rank).copied(),
            Values::Bytes(_) => None,
        }
    }

    fn find_bytes(&mut self, rank: usize) -> Option<&[u8]> {
        match &mut self.values {
            Values::Integers(_) => None,
            Values::Bytes(selection) => selection.find(rank),
        }
    }

    /// The bytes at `rank`; none if they are not known.
    pub(super) fn bytes(&mut self, rank: usize) -> Vec<u8> {
        let found = self.find_bytes(rank).map(<[u8]>::to_vec);
        found.unwrap_or_else(|| {
            self.missing.push(rank);
            Vec::new()
        })
    }
}

/// Gives any value for one that is not known.
impl<K: Keyed> Ranked<K> for Known {
    fn count(&self) -> usize {
        self.len()
    }

    fn nth(&mut self, index: usize) -> K {
        if self.stage == Stage::Unknown {
            return K::default();
        }
        K::find(self, index).unwrap_or_else(|| {
            self.missing.push(index);
            K::default()
        })
    }

    fn pair(&mut self, index: usize) -> (K, K) {
        let next = (index + 1).min(self.len().saturating_sub(1));
        (self.nth(index), self.nth(next))
    }

    fn replace(&mut self, distances: Distances<K>, middle: K) {
        if !self.is_complete() {
            self.stage = Stage::Unknown;
            return;
        }
        self.stage = Stage::Replaced;
        if let Values::Integers(integers) = &mut self.values
            && integers.replaced.is_none()
        {
            integers.replace(Box::new(move |keys| {
                let mut values: Vec<K> = keys.iter().map(|key| K::of_key(*key)).collect();
                distances(&mut values, middle);
                keys.iter_mut().zip(values).for_each(|(key, value)| *key = value.key());
            }));
        }
    }
}

/// See [`Passes`].
pub(super) struct QuantilePasses {
    /// Without rows of its own.
    quantiles: Quantiles,
    known: Known,
}

impl QuantilePasses {
    pub(super) fn new(quantiles: Quantiles, known: Known) -> Self {
        Self { quantiles, known }
    }
}

impl Passes for QuantilePasses {
    fn add(&mut self, args: &[&Vector], len: usize) -> Result<()> {
        self.quantiles.learn(args.get(1), len);
        self.known.add(&flat(args[0]), len);
        Ok(())
    }

    fn end(&mut self) -> Result<Option<Vector>> {
        self.known.end_pass()?;
        let result = self.quantiles.results(Groups::Read(&mut self.known))?;
        if self.known.is_complete() {
            return Ok(Some(result));
        }
        self.known.plan()?;
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aggregate::{create, samples};
    use inlay_types::Value;
    use std::sync::Arc;

    /// The bits of a result of one row.
    fn bits(result: &Vector) -> (bool, Vec<u8>) {
        assert_eq!(result.len(), 1);
        let result = flat(result);
        if result.is_null(0) {
            return (false, Vec::new());
        }
        match result.physical_type() {
            PhysicalType::View => (true, result.views()[0].bytes(result.heap().buffers()).to_vec()),
            fixed => (true, result.data().bytes()[..fixed.size()].to_vec()),
        }
    }

    /// A quantile of rows, and the most passes that finding it may take.
    struct Case {
        name: &'static str,
        ty: LogicalType,
        fraction: Option<Value>,
        capacity: usize,
        passes: usize,
    }

    impl Case {
        /// Compares the result of passes, each with the rows in another order, with that of rows in memory; returns the
        /// number of passes. Rows are made for the type that the function takes.
        fn check(&self, len: usize, value: impl Fn(&LogicalType, usize) -> Value) -> Result<usize> {
            let list = || LogicalType::list(LogicalType::Double);
            let fraction = self.fraction.as_ref().map(|value| match value {
                Value::List { .. } => (list(), value),
                value => (LogicalType::Double, value),
            });
            let function = match &fraction {
                None => samples::function(self.name, &self.ty),
                Some((ty, _)) => samples::quantile(self.name, &self.ty, *ty == list()),
            };
            let ty = &function.arg_types[0];
            let values: Vec<Value> = (0..len).map(|row| value(ty, row)).collect();
            let mut batches = Vec::new();
            for part in values.chunks(1000) {
                let mut args = vec![Vector::from_sql_values(ty.clone(), part)?];
                if let Some((ty, fraction)) = &fraction {
                    args.push(Vector::constant(ty.clone(), fraction, part.len())?);
                }
                batches.push(args);
            }
            let mut kept = create(&function, false)?;
            kept.resize(1);
            for args in &batches {
                kept.update_one(&args.iter().collect::<Vec<_>>(), args[0].len(), 0)?;
            }
            let expected = kept.finish(0, 1)?;
            // Made by an accumulator that knows the fractions already, if it has rows.
            let quantiles = kept.as_any().downcast_ref::<Quantiles>().unwrap();
            let mut passes = quantiles.read(self.capacity);
            for pass in 1..=self.passes {
                for args in &batches {
                    passes.add(&[&args[0]], args[0].len())?;
                }
                let len = batches.len().max(1);
                batches.rotate_left(len / 3 % len);
                batches.reverse();
                if let Some(result) = passes.end()? {
                    assert_eq!(result.logical_type(), function.return_type);
                    let (result, expected) = (bits(&result), bits(&expected));
                    assert_eq!(result, expected, "{} of {} {:?}", self.name, self.ty, self.fraction);
                    return Ok(pass);
                }
            }
            panic!("{} of {} {:?}: more than {} passes", self.name, self.ty, self.fraction, self.passes);
        }
    }

    fn random(seed: u64) -> impl FnMut() -> u64 {
        let mut state = seed;
        move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state >> 24
        }
    }

    /// Numbers in shapes that selections find hard, or easy.
    fn shapes(len: usize) -> Vec<Vec<i64>> {
        let mut next = random(len as u64);
        let n = len as i64;
        let outlier = |i: i64| if i % 97 == 0 { i * 1_000_003 } else { 5 };
        vec![
            (0..n).map(|_| next() as i64 % 2_000_000 - 1_000_000).collect(),
            (0..n).map(|_| next() as i64 % 3 - 1).collect(),
            (0..n).map(|_| (next() % 40) as i64 * 7 - 100).collect(),
            vec![42; len],
            (0..n).collect(),
            (0..n).map(|i| n / 2 - i).collect(),
            (0..n).map(outlier).collect(),
            // Far more on one side; halves, quarters and so on.
            (0..n).map(|i| 1 << (i % 20).min(i.trailing_zeros().into())).collect(),
            // Organ pipe.
            (0..n).map(|i| i.min(n - i)).collect(),
        ]
    }

    /// A value of a type for a number, now and then a peculiar one, or NULL.
    fn value_of(ty: &LogicalType, number: i64, row: usize) -> Value {
        let small = number % 1000;
        if row % 11 == 3 {
            return Value::Null;
        }
        match ty {
            LogicalType::Double => Value::Double(match number % 23 {
                0 => 0.0,
                1 => -0.0,
                7 if row.is_multiple_of(7) => f64::NAN,
                8 if row.is_multiple_of(7) => -f64::NAN,
                9 if row.is_multiple_of(3) => f64::INFINITY,
                10 if row.is_multiple_of(3) => f64::NEG_INFINITY,
                _ => number as f64 / 7.0,
            }),
            LogicalType::Real => match value_of(&LogicalType::Double, number, row) {
                Value::Double(value) => Value::Real(value as f32),
                other => other,
            },
            LogicalType::Varchar => Value::Varchar(format!("{}x{number}", number.rem_euclid(3))),
            LogicalType::Boolean => Value::Boolean(number % 2 == 0),
            // Equal ones that differ.
            LogicalType::Interval => Value::Interval(match row % 3 {
                0 => Interval { months: small as i32, days: 0, micros: 0 },
                1 => Interval { months: 0, days: 30 * small as i32, micros: 0 },
                _ => Interval { months: -1, days: 30, micros: small * 86_400_000_000 * 30 },
            }),
            LogicalType::Timestamp if row.is_multiple_of(5) && number % 3 == 0 => Value::Timestamp(i64::MAX),
            LogicalType::Timestamp if row.is_multiple_of(5) && number % 3 == 1 => Value::Timestamp(-i64::MAX),
            LogicalType::UTinyInt => Value::UTinyInt(number as u8),
            LogicalType::HugeInt => Value::HugeInt(i128::from(number) << 80),
            LogicalType::UHugeInt => {
                Value::UHugeInt(i128::from(number).wrapping_mul(i128::MAX / 999_999_937) as u128)
            }
            LogicalType::List(element) => {
                let values =
                    vec![value_of(element, number / 50, row), value_of(element, number % 50, row + 1)];
                Value::List { element: Arc::new((**element).clone()), values }
            }
            ty => {
                let end = [120, 9_999, 1_000_000][ty.physical().size().ilog2().min(2) as usize];
                let signed = Value::from_stored_i128(ty, i128::from(number) % end);
                signed.or_else(|| Value::from_stored_i128(ty, i128::from(number).abs() % end)).unwrap()
            }
        }
    }

    fn fractions(values: &[f64]) -> Value {
        let values = values.iter().map(|value| Value::Double(*value)).collect();
        Value::List { element: Arc::new(LogicalType::Double), values }
    }

    /// Some values, just as many as are kept, one more, and far more.
    #[test]
    fn passes_give_what_values_in_memory_give() -> Result<()> {
        use LogicalType::*;
        let decimals = [(4, 1), (9, 2), (18, 3), (38, 4)].map(|(p, s)| LogicalType::decimal(p, s));
        let doubles = LogicalType::list(Double);
        let continuous =
            [Double, Real, Timestamp, TimestampTz, Time, Date].into_iter().chain(decimals.clone());
        let discrete = [
            Boolean, TinyInt, SmallInt, Integer, BigInt, HugeInt, UTinyInt, USmallInt, UInteger, UBigInt,
            UHugeInt, Interval, Double, Real, Date, Timestamp, Varchar, doubles,
        ];
        let singles = [0.5, 0.0, 1.0, 0.013, -0.1, -0.77].map(Value::Double);
        let lists = [fractions(&[0.25, -0.5, 0.75, 1.0]), fractions(&[])];
        let all = || singles.iter().chain(&lists).map(|fraction| Some(fraction.clone()));
        let mut cases: Vec<(&'static str, LogicalType, Option<Value>)> = Vec::new();
        for ty in continuous {
            cases.extend([("median", ty.clone(), None), ("mad", ty.clone(), None)]);
            cases.extend(all().map(|fraction| ("quantile_cont", ty.clone(), fraction)));
        }
        cases.push(("median", Interval, None));
        for ty in discrete.into_iter().chain(decimals) {
            cases.extend(all().map(|fraction| ("quantile_disc", ty.clone(), fraction)));
        }
        for (len, capacity, passes) in
            [(5, 256, 1), (281, 256, 3), (282, 256, 3), (10_000, 128, 9), (3_000, 8, 30)]
        {
            for (shape, numbers) in shapes(len).iter().enumerate() {
                for (number, (name, ty, fraction)) in cases.iter().enumerate() {
                    // Each case with long inputs of some shapes.
                    if len > 300 && (shape + number) % 3 != 0 {
                        continue;
                    }
                    let (ty, fraction) = (ty.clone(), fraction.clone());
                    let case = Case { name, ty, fraction, capacity, passes };
                    case.check(len, |ty, row| value_of(ty, numbers[row], row))?;
                }
            }
        }
        Ok(())
    }

    #[test]
    fn no_values_give_null() -> Result<()> {
        for ty in [LogicalType::Double, LogicalType::Interval, LogicalType::Varchar] {
            for len in [0, 1500] {
                for fraction in [Value::Double(0.5), fractions(&[0.1, 0.2])] {
                    let (ty, fraction) = (ty.clone(), Some(fraction));
                    let case = Case { name: "quantile_disc", ty, fraction, capacity: 16, passes: 1 };
                    case.check(len, |_, _| Value::Null)?;
                }
            }
        }
        let case = Case { name: "mad", ty: LogicalType::Double, fraction: None, capacity: 16, passes: 1 };
        case.check(0, |_, _| Value::Null).map(|_| ())
    }

    /// The fraction comes with the rows, dictionaries are read, and rows behind `len` are not.
    #[test]
    fn rows_are_taken_as_by_updates() -> Result<()> {
        let function = samples::quantile("quantile_disc", &LogicalType::Varchar, false);
        let words = ["b", "a", "d", "c", "-"].map(|word| Value::Varchar(word.into()));
        let words = Vector::from_sql_values(LogicalType::Varchar, &words)?;
        let words = words.take(&[0, 1, 2, 3, 4]);
        let fraction = Vector::constant(LogicalType::Double, &Value::Double(0.75), 5)?;
        let mut passes = create(&function, false)?.passes().unwrap();
        passes.add(&[&words, &fraction], 4)?;
        let result = passes.end()?.map(|result| result.get(0));
        assert_eq!(result, Some(Value::Varchar("c".into())));

        let mut passes = create(&function, false)?.passes().unwrap();
        let fraction = Vector::constant(LogicalType::Double, &Value::Double(1.5), 5)?;
        passes.add(&[&words, &fraction], 4)?;
        assert!(passes.end().is_err(), "the fraction is above 1");
        Ok(())
    }
}
