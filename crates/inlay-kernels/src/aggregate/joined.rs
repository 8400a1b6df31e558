//! `string_agg`: the texts of a group, joined by a separator that is the same for all rows. Without a separator a comma
//! joins; with NULL there is no result.

use super::bits::unsupported;
use super::collect::{GroupRows, KeptRows, KeptRowsMut};
use super::column::Column;
use super::fractions::Parameter;
use super::{GroupIds, GroupedAccumulator, same_kind};
use crate::function::AggregateFunction;
use inlay_types::append::{push_short, push_word};
use inlay_types::limits::{self, Meter};
use inlay_types::view::INLINE_LIMIT;
use inlay_types::{Error, Result, Value, Vector, VectorBuilder};
use std::any::Any;

struct Joined {
    values: Column,
    rows: GroupRows,
    separator: Parameter,
    has_separator: bool,
}

pub(super) fn create(function: &AggregateFunction) -> Result<Box<dyn GroupedAccumulator>> {
    if !function.arg_types[0].is_view() {
        return Err(unsupported(function));
    }
    let values = Column::new(function.arg_types[0].clone());
    let has_separator = function.arg_types.len() > 1;
    let separator = Parameter::default();
    Ok(Box::new(Joined { values, rows: GroupRows::default(), separator, has_separator }))
}

impl Joined {
    /// Appends the text of a row. Short ones are copied in two words, of which what is behind them is cut off: that is faster than
    /// a copy of their length.
    #[inline]
    fn append_value(&self, row: usize, text: &mut Vec<u8>) {
        let (head, tail) = self.values.words(row);
        let len = head as u32 as usize;
        if len > INLINE_LIMIT {
            return push_short(text, self.values.bytes(row));
        }
        push_word(text, u128::from(head >> 32) | u128::from(tail) << 32, len);
    }

    /// Bytes of the texts of rows, joined, and of the word that the last short one is copied with.
    fn joined_size(&self, rows: impl Iterator<Item = u32>, separator: &[u8]) -> usize {
        rows.map(|row| self.values.words(row as usize).0 as u32 as usize + separator.len()).sum::<usize>()
            + size_of::<u128>()
    }

    /// Appends the texts of rows.
    fn join(&self, rows: impl Iterator<Item = u32>, separator: &[u8], text: &mut Vec<u8>) -> Result<()> {
        for (index, row) in rows.enumerate() {
            match separator {
                _ if index == 0 => {}
                [byte] => text.push(*byte),
                separator => push_short(text, separator),
            }
            self.append_value(row as usize, text);
            if index % CHECK_ROWS == CHECK_ROWS - 1 {
                limits::check()?;
            }
        }
        Ok(())
    }
}

/// So many texts are joined between looks at the interrupt.
const CHECK_ROWS: usize = 1 << 16;
/// Views hold lengths in 32 bits.
const TEXT_MAX: usize = u32::MAX as usize - 1;

impl GroupedAccumulator for Joined {
    fn resize(&mut self, _groups: usize) {}

    fn start_morsel(&mut self, number: u32) {
        self.rows.start_morsel(number);
    }

    fn update(&mut self, args: &[&Vector], groups: GroupIds<'_>) -> Result<()> {
        self.separator.learn(args.get(1), groups.len());
        self.rows.collect(&mut self.values, args[0], groups);
        Ok(())
    }

    fn merge(&mut self, other: &dyn GroupedAccumulator, source: &[u32], target: &[u32]) -> Result<()> {
        let other = same_kind::<Self>(other)?;
        self.separator.merge(&other.separator);
        let added = self.rows.merge(&other.rows, source, target);
        self.values.append_added(&other.values, &added);
        Ok(())
    }

    fn prepare_merge(&self) {
        self.rows.prepare();
    }

    fn kept(&self) -> Option<KeptRows<'_>> {
        Some(KeptRows::new(&self.rows, [&self.values]))
    }

    fn kept_mut(&mut self) -> Option<KeptRowsMut<'_>> {
        Some(KeptRowsMut::new(&mut self.rows, [&mut self.values]))
    }

    fn finish(&self, from: usize, len: usize) -> Result<Vector> {
        let separator = match self.separator.value().and_then(Value::as_str) {
            Some(separator) => Some(separator.as_bytes()),
            None if self.has_separator => None,
            None => Some(&b","[..]),
        };
        let mut builder = VectorBuilder::new(self.values.logical_type(), len);
        // Who keeps the rows has asked for a result as large as they are; rows that share a text, and separators, are more.
        let mut asked = self.values.memory_size();
        let mut meter = Meter::of_rows();
        let mut text = Vec::new();
        for group in from..from + len {
            text.clear();
            let (group, pieces) = (group as u32, self.rows.pieces(group as u32));
            let is_empty = pieces.is_none() && self.rows.rows(group).is_empty();
            let Some(separator) = separator.filter(|_| !is_empty) else {
                builder.push_null();
                continue;
            };
            let size = match pieces {
                Some(pieces) => self.joined_size(pieces.iter().cloned().flatten(), separator),
                None => {
                    // Rows of a group lie apart: their bytes are on the way when they are joined.
                    let rows = self.rows.rows(group);
                    let asked = rows.iter().enumerate().map(|(index, &row)| {
                        self.values.prefetch_ahead(rows, index);
                        row
                    });
                    self.joined_size(asked, separator)
                }
            };
            if size > TEXT_MAX {
                return Err(Error::out_of_range("a result of string_agg is longer than 4 GiB"));
            }
            let covered = size.min(asked);
            asked -= covered;
            meter.add(size - covered)?;
            limits::grow_counted(&mut text, size)?;
            match pieces {
                Some(pieces) => self.join(pieces.iter().cloned().flatten(), separator, &mut text)?,
                None => self.join(self.rows.rows(group).iter().copied(), separator, &mut text)?,
            }
            builder.push_from(&mut text);
        }
        Ok(builder.finish().holding(meter.finish()))
    }

    fn memory_size(&self) -> usize {
        self.values.memory_size() + self.rows.memory_size()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
