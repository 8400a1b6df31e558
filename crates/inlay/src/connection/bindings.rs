//! Values of a prepared statement's parameters, set one by one and kept from run to run.

use super::PreparedStatement;
use crate::host::Parameters;
use inlay_types::{Error, Result, Value};
use std::sync::Arc;

/// Values by position or by name, as hosts bind them. What was set stays until it is set anew or cleared.
///
/// ```
/// # fn main() -> inlay::Result<()> {
/// let connection = inlay::Database::open_in_memory()?.connect();
/// let statement = connection.prepare("SELECT $1 || $2")?;
/// let mut values = statement.bindings();
/// values.bind(1, "a".into())?;
/// assert!(values.parameters().unwrap_err().to_string().contains("$2"));
/// values.bind(2, "b".into())?;
/// assert_eq!(statement.execute(values.parameters()?)?.value(0, 0)?.to_string(), "ab");
/// values.bind(2, "c".into())?;
/// assert_eq!(statement.execute(values.parameters()?)?.value(0, 0)?.to_string(), "ac");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Bindings {
    /// Shared with runs, which keep what they began with.
    values: Arc<Parameters>,
    /// Those by position, then those by name.
    is_set: Vec<bool>,
}

impl Bindings {
    /// Nothing set yet, for so many parameters by position and these names.
    pub fn new(count: usize, names: &[String]) -> Self {
        let named = names.iter().map(|name| (name.clone(), Value::Null)).collect();
        let values = Parameters { positional: vec![Value::Null; count], named }.into();
        Self { values, is_set: vec![false; count + names.len()] }
    }

    /// How many there are, those by position and those by name.
    pub fn len(&self) -> usize {
        self.is_set.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.is_set.is_empty()
    }

    /// Sets a parameter by its number, from 1. Those with names follow those by position, in the order of the text.
    pub fn bind(&mut self, number: usize, value: Value) -> Result<()> {
        let count = self.len();
        let index = number.checked_sub(1).filter(|&index| index < count).ok_or_else(|| {
            let message = format!("there is no parameter {number}: the statement has {count}");
            Error::invalid_argument(message)
        })?;
        let values = Arc::make_mut(&mut self.values);
        let by_position = values.positional.len();
        if let Some(place) = values.positional.get_mut(index) {
            *place = value;
        } else if let Some((_, place)) = values.named.get_mut(index - by_position) {
            *place = value;
        }
        self.is_set[index] = true;
        Ok(())
    }

    /// Sets a parameter by its name, without the dollar. Upper and lower case are the same where no two names differ by them.
    pub fn bind_named(&mut self, name: &str, value: Value) -> Result<()> {
        let number = self.number_of(name).ok_or_else(|| {
            let known: Vec<String> = self.values.named.iter().map(|(known, _)| format!("${known}")).collect();
            let known = if known.is_empty() { "none by name".to_string() } else { known.join(", ") };
            Error::invalid_argument(format!("there is no parameter ${name}: the statement has {known}"))
        })?;
        self.bind(number, value)
    }

    /// The number of a parameter with a name.
    pub fn number_of(&self, name: &str) -> Option<usize> {
        let names = || self.values.named.iter().map(|(known, _)| known);
        let found = names().position(|known| known == name).or_else(|| {
            let mut alike = names().enumerate().filter(|(_, known)| known.eq_ignore_ascii_case(name));
            alike.next().filter(|_| alike.next().is_none()).map(|(index, _)| index)
        })?;
        Some(self.values.positional.len() + found + 1)
    }

    /// Forgets all values.
    pub fn clear(&mut self) {
        self.is_set.fill(false);
        let values = Arc::make_mut(&mut self.values);
        values.positional.fill(Value::Null);
        values.named.iter_mut().for_each(|(_, value)| *value = Value::Null);
    }

    /// The values for a run, all of which must be set.
    pub fn parameters(&self) -> Result<&Parameters> {
        self.checked().map(|values| &**values)
    }

    /// The same for a run that goes on while others are bound.
    pub fn shared(&self) -> Result<Arc<Parameters>> {
        self.checked().map(Arc::clone)
    }

    fn checked(&self) -> Result<&Arc<Parameters>> {
        let Some(missing) = self.is_set.iter().position(|is_set| !is_set) else { return Ok(&self.values) };
        let named = missing.checked_sub(self.values.positional.len());
        let name = named.and_then(|index| self.values.named.get(index)).map(|(name, _)| name.clone());
        let name = name.unwrap_or_else(|| (missing + 1).to_string());
        Err(Error::invalid_argument(format!("no value was bound to the parameter ${name}")))
    }
}

impl PreparedStatement {
    /// Places for the values of its parameters.
    pub fn bindings(&self) -> Bindings {
        Bindings::new(self.parameter_count(), self.parameter_names())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_positions() {
        let mut values = Bindings::new(1, &["a".to_string(), "B".to_string()]);
        values.bind_named("b", 3.into()).unwrap();
        values.bind(2, 2.into()).unwrap();
        assert!(values.parameters().unwrap_err().message().contains("$1"));
        values.bind(1, 1.into()).unwrap();
        let bound = values.parameters().unwrap();
        assert_eq!(bound.positional, [1.into()]);
        assert_eq!(bound.named, [("a".to_string(), 2.into()), ("B".to_string(), 3.into())]);
        assert!(values.bind(0, 1.into()).is_err() && values.bind(4, 1.into()).is_err());
        assert!(values.bind_named("c", 1.into()).is_err());
        values.clear();
        assert!(values.parameters().is_err());
    }
}
