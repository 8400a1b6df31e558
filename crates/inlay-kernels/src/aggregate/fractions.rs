//! The parameter of quantiles: a fraction or a list of fractions, the same for all rows.
//!
//! A negative fraction counts from the largest value.

use inlay_types::{Error, Result, Value, Vector};

/// What a quantile function was given behind its values.
#[derive(Clone, Debug, Default)]
pub(super) struct Parameter(Option<Value>);

impl Parameter {
    /// Remembers the first value that is not NULL.
    pub(super) fn learn(&mut self, argument: Option<&&Vector>, len: usize) {
        if let (None, Some(argument)) = (&self.0, argument) {
            let mut rows = 0..if argument.is_constant() { len.min(1) } else { len };
            self.0 = rows.find(|&row| !argument.is_null(row)).map(|row| argument.get(row));
        }
    }

    /// Takes over what another accumulator has learnt.
    pub(super) fn merge(&mut self, other: &Self) {
        if self.0.is_none() {
            self.0.clone_from(&other.0);
        }
    }

    /// The value, if there was a row.
    pub(super) fn value(&self) -> Option<&Value> {
        self.0.as_ref()
    }

    /// The fractions, each from `low` to 1; `default` if there was no row.
    pub(super) fn fractions(&self, name: &str, low: f64, default: f64) -> Result<Vec<f64>> {
        let fraction = |value: &Value| match value.as_f64() {
            Some(fraction) if (low..=1.0).contains(&fraction) => Ok(fraction),
            Some(fraction) => Err(Error::invalid_argument(format!("the fraction of {name} is {fraction}"))
                .with_hint(format!("give one from {low} to 1"))),
            None => Err(Error::invalid_argument(format!("a fraction of {name} is NULL"))),
        };
        match &self.0 {
            None => Ok(vec![default]),
            Some(value) => match elements(value) {
                Some(values) => values.iter().map(fraction).collect(),
                None => Ok(vec![fraction(value)?]),
            },
        }
    }

    /// The number of rows wanted, 1 to `max`; 1 if there was no row.
    pub(super) fn count(&self, name: &str, max: usize) -> Result<usize> {
        let Some(value) = &self.0 else { return Ok(1) };
        let count = value.as_i128().and_then(|count| usize::try_from(count).ok());
        count.filter(|count| (1..=max).contains(count)).ok_or_else(|| {
            Error::invalid_argument(format!("{name} was asked for {value} values"))
                .with_hint(format!("ask for 1 to {max}"))
        })
    }
}

/// The elements of a list.
fn elements(value: &Value) -> Option<&[Value]> {
    match value {
        Value::List { values, .. } => Some(values),
        _ => None,
    }
}
