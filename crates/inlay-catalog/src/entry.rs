//! Sequences: what they are, and who gives their values.
//!
//! A sequence has a [`SequenceSchema`], which files hold, and a counter, which [`Sequence`] hides: a database decides how
//! a counter is made durable, a session remembers what it got last. [`Counter`] is the counter in memory.

use inlay_storage::bytes::{ByteReader, ByteWriter};
use inlay_types::{Error, Result};
use parking_lot::Mutex;
use std::fmt;

/// Name and options of a sequence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SequenceSchema {
    /// Name as created.
    pub name: String,
    /// First value.
    pub start: i64,
    /// Difference of neighbours, not 0; negative counts down.
    pub increment: i64,
    /// Least value.
    pub min: i64,
    /// Largest value.
    pub max: i64,
    /// Whether it starts again at the other end instead of failing.
    pub cycle: bool,
    /// Table and column that it belongs to and goes with.
    pub owner: Option<(String, String)>,
}

impl SequenceSchema {
    /// 1, 2, 3, ...
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), start: 1, increment: 1, min: 1, max: i64::MAX, cycle: false, owner: None }
    }

    /// The form that files hold.
    pub fn write(&self, out: &mut ByteWriter) {
        out.text(&self.name);
        for number in [self.start, self.increment, self.min, self.max] {
            out.i64(number);
        }
        out.bool(self.cycle);
        out.option(self.owner.as_ref(), |out, (table, column)| {
            out.text(table);
            out.text(column);
        });
    }

    /// What [`SequenceSchema::write`] wrote.
    pub fn read(from: &mut ByteReader<'_>) -> Result<Self> {
        let schema = Self {
            name: from.text()?.to_string(),
            start: from.i64()?,
            increment: from.i64()?,
            min: from.i64()?,
            max: from.i64()?,
            cycle: from.bool()?,
            owner: from.option(|from| Ok((from.text()?.to_string(), from.text()?.to_string())))?,
        };
        if schema.increment == 0 || !(schema.min..=schema.max).contains(&schema.start) {
            return Err(Error::corrupt(format!("options of sequence \"{}\"", schema.name)));
        }
        Ok(schema)
    }

    /// The value behind `last` (`None`: before the first), or the error that there is none.
    pub fn after(&self, last: Option<i64>) -> Result<i64> {
        let Some(last) = last else { return Ok(self.start) };
        let next = last.checked_add(self.increment).filter(|next| (self.min..=self.max).contains(next));
        match next {
            Some(next) => Ok(next),
            None if self.cycle => Ok(if self.increment > 0 { self.min } else { self.max }),
            None => {
                let (end, limit) =
                    if self.increment > 0 { ("maximum", self.max) } else { ("minimum", self.min) };
                Err(Error::out_of_range(format!(
                    "sequence \"{}\" has reached its {end} of {limit}",
                    self.name
                ))
                .with_hint("CYCLE starts it again"))
            }
        }
    }
}

/// A sequence as a statement uses it: options, and values that no other statement gets.
pub trait Sequence: Send + Sync + fmt::Debug {
    /// Name and options.
    fn schema(&self) -> SequenceSchema;
    /// Appends the next `count` values to `out`: `nextval` of as many rows.
    fn next_values(&self, count: usize, out: &mut Vec<i64>) -> Result<()>;
    /// The value that this session got last: `currval`.
    fn current_value(&self) -> Result<i64>;
    /// Moves it: the next value is the one behind `value`, or `value` itself if that was not given yet: `setval`.
    fn set_value(&self, value: i64, is_called: bool) -> Result<()>;
}

/// A sequence in memory that all sessions share.
#[derive(Debug)]
pub struct Counter {
    schema: SequenceSchema,
    last: Mutex<Option<i64>>,
}

impl Counter {
    /// A sequence that gave `last` last (`None`: nothing yet).
    pub fn new(schema: SequenceSchema, last: Option<i64>) -> Self {
        Self { schema, last: Mutex::new(last) }
    }

    /// The value given last.
    pub fn last(&self) -> Option<i64> {
        *self.last.lock()
    }
}

impl Sequence for Counter {
    fn schema(&self) -> SequenceSchema {
        self.schema.clone()
    }

    fn next_values(&self, count: usize, out: &mut Vec<i64>) -> Result<()> {
        let mut last = self.last.lock();
        for _ in 0..count {
            let next = self.schema.after(*last)?;
            *last = Some(next);
            out.push(next);
        }
        Ok(())
    }

    fn set_value(&self, value: i64, is_called: bool) -> Result<()> {
        *self.last.lock() = if is_called { Some(value) } else { value.checked_sub(self.schema.increment) };
        Ok(())
    }

    fn current_value(&self) -> Result<i64> {
        self.last().ok_or_else(|| {
            Error::invalid_argument(format!(
                "currval of sequence \"{}\" is not there before the first nextval",
                self.schema.name
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sequence_counts_ends_and_cycles() {
        let mut schema = SequenceSchema { max: 3, ..SequenceSchema::new("s") };
        let values = |schema: &SequenceSchema, count| {
            let mut out = Vec::new();
            Counter::new(schema.clone(), None).next_values(count, &mut out).map(|()| out)
        };
        assert_eq!(values(&schema, 3).unwrap(), [1, 2, 3]);
        assert!(values(&schema, 4).unwrap_err().to_string().contains("maximum of 3"));
        schema.cycle = true;
        assert_eq!(values(&schema, 5).unwrap(), [1, 2, 3, 1, 2]);
        let down = SequenceSchema { start: -1, increment: -2, min: -5, max: -1, ..SequenceSchema::new("d") };
        assert_eq!(values(&down, 3).unwrap(), [-1, -3, -5]);
    }

    #[test]
    fn options_survive_bytes() {
        let owner = Some(("t".to_string(), "id".to_string()));
        let schema = SequenceSchema { start: 5, owner, ..SequenceSchema::new("s") };
        let mut out = ByteWriter::new();
        schema.write(&mut out);
        let bytes = out.finish();
        assert_eq!(SequenceSchema::read(&mut ByteReader::new(&bytes)).unwrap(), schema);
    }
}
