//! What counts of values are gathered into: the bins of `histogram(x, bins)` and the bits of `bitstring_agg`.

use super::order::{Comparator, Item};
use inlay_types::datetime::{DATE_INFINITY, TIMESTAMP_INFINITY};
use inlay_types::{Error, LogicalType, Result, Value, Vector};

/// The bins of a histogram, in order, and a last one for everything else.
pub(super) struct Bins {
    /// The keys of the bins.
    pub(super) keys: Vector,
    comparator: Comparator,
    /// A value belongs to the bin that it equals, not to the first one that it is not above.
    exact: bool,
}

impl Bins {
    /// The bins that a list names.
    pub(super) fn new(ty: &LogicalType, bins: Option<&Value>, exact: bool) -> Result<Self> {
        let named: &[Value] = match bins {
            Some(Value::List { values, .. }) => values,
            _ => &[],
        };
        if named.iter().any(Value::is_null) {
            return Err(Error::invalid_argument("a bin of a histogram is NULL"));
        }
        let comparator = Comparator::new(ty);
        let written = Vector::from_sql_values(ty.clone(), named)?;
        let item = |row: &usize| Item::of_vector(&written, *row);
        let mut order: Vec<usize> = (0..named.len()).collect();
        order.sort_by(|a, b| comparator.compare(item(a), item(b)));
        order.dedup_by(|a, b| comparator.equal(item(a), item(b)));
        let mut values: Vec<Value> = order.into_iter().map(|row| named[row].clone()).collect();
        values.push(rest_of(ty));
        Ok(Self { keys: Vector::from_sql_values(ty.clone(), &values)?, comparator, exact })
    }

    /// The number of bins, that for everything else among them.
    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }

    /// The bin of a value.
    pub(super) fn of(&self, value: Item<'_>) -> usize {
        let rest = self.keys.len() - 1;
        let (mut low, mut high) = (0, rest);
        while low < high {
            let middle = (low + high) / 2;
            if self.comparator.compare(Item::of_vector(&self.keys, middle), value).is_lt() {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        let is_equal = |bin: usize| self.comparator.equal(Item::of_vector(&self.keys, bin), value);
        if self.exact && low < rest && !is_equal(low) { rest } else { low }
    }
}

/// How many of some values fall into each bin that a list names: pairs of a MAP. The bin for everything else is there only if
/// something is in it.
pub fn counted(ty: &LogicalType, bins: &Value, values: &[Value], exact: bool) -> Result<Vec<(Value, Value)>> {
    let bins = Bins::new(ty, Some(bins), exact)?;
    let known: Vec<Value> = values.iter().filter(|value| !value.is_null()).cloned().collect();
    let column = Vector::from_sql_values(ty.clone(), &known)?;
    let mut filled = vec![0u64; bins.len()];
    for row in 0..known.len() {
        filled[bins.of(Item::of_vector(&column, row))] += 1;
    }
    let shown = bins.len() - usize::from(filled.last() == Some(&0));
    Ok((0..shown).map(|bin| (bins.keys.get(bin), Value::UBigInt(filled[bin]))).collect())
}

/// The key of the bin for everything else: the largest value, where there is one.
fn rest_of(ty: &LogicalType) -> Value {
    match ty {
        LogicalType::Double => Value::Double(f64::INFINITY),
        LogicalType::Real => Value::Real(f32::INFINITY),
        LogicalType::Date => Value::Date(DATE_INFINITY),
        LogicalType::Timestamp => Value::Timestamp(TIMESTAMP_INFINITY),
        LogicalType::TimestampTz => Value::TimestampTz(TIMESTAMP_INFINITY),
        LogicalType::Time => Value::Time(86_400_000_000),
        LogicalType::Varchar => Value::Varchar(String::new()),
        LogicalType::List(element) => Value::List { element: element.clone(), values: Vec::new() },
        LogicalType::Decimal { precision, .. } => {
            let largest = 10i128.checked_pow(u32::from(*precision)).map_or(i128::MAX, |power| power - 1);
            Value::of_stored(ty, largest)
        }
        ty => {
            let bits = ty.physical().size() as u32 * 8;
            let largest = [bits, bits.saturating_sub(1)].into_iter().find_map(|bits| {
                let largest = if bits >= 127 { i128::MAX } else { (1i128 << bits) - 1 };
                Value::from_stored_i128(ty, largest).filter(|_| ty.is_integer())
            });
            largest.unwrap_or(Value::Null)
        }
    }
}

/// The bits from `low` to `high`, 1 where a number is among `present`.
pub(super) fn bits(low: &Value, high: &Value, present: &[i128]) -> Result<Vec<u8>> {
    const COUNT_MAX: i128 = 1_000_000_000;
    let (Some(low), Some(high)) = (low.as_i128(), high.as_i128()) else {
        return Err(Error::invalid_argument("the least or the largest value of bitstring_agg is NULL"));
    };
    if let Some(value) = present.iter().find(|value| !(low..=high).contains(value)) {
        return Err(Error::out_of_range(format!(
            "bitstring_agg: the value {value} is outside of the range from {low} to {high}"
        )));
    }
    let count = high.checked_sub(low).map_or(i128::MAX, |count| count.saturating_add(1));
    if !(1..=COUNT_MAX).contains(&count) {
        return Err(Error::out_of_range(format!(
            "bitstring_agg: the range from {low} to {high} must have 1 to {COUNT_MAX} values"
        )));
    }
    let mut set = vec![false; count as usize];
    present.iter().for_each(|value| set[(value - low) as usize] = true);
    Ok(inlay_types::bit::from_bits(set.len(), |index| set[index]))
}
