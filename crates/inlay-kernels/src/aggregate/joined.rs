//! `string_agg`: the texts of a group, joined by a separator that is the same for all rows. Without a separator a comma
//! joins; with NULL there is no result.

use super::bits::unsupported;
use super::collect::{GroupRows, KeptRows};
use super::column::Column;
use super::fractions::Parameter;
use super::{GroupIds, GroupedAccumulator, same_kind};
use crate::function::AggregateFunction;
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
        self.values.append_column(&other.values, &added);
        Ok(())
    }

    fn prepare_merge(&self) {
        self.rows.prepare();
    }

    fn kept(&self) -> Option<KeptRows<'_>> {
        Some(KeptRows::new(&self.rows, [&self.values]))
    }

    fn expect_rows(&mut self, rows: usize) {
        self.values.expect(rows);
        self.rows.expect(rows);
    }

    fn forget_kept(&mut self) {
        self.values = Column::new(self.values.logical_type());
        self.rows.clear();
    }

    fn finish(&self, from: usize, len: usize) -> Result<Vector> {
        let separator = match self.separator.value().and_then(Value::as_str) {
            Some(separator) => Some(separator.as_bytes()),
            None if self.has_separator => None,
            None => Some(&b","[..]),
        };
        let mut builder = VectorBuilder::new(self.values.logical_type(), len);
        let mut text = Vec::new();
        for group in from..from + len {
            text.clear();
            let rows = self.rows.rows(group as u32);
            let Some(separator) = separator.filter(|_| !rows.is_empty()) else {
                builder.push_null();
                continue;
            };
            for (index, &row) in rows.iter().enumerate() {
                if index > 0 {
                    text.extend_from_slice(separator);
                }
                text.extend_from_slice(self.values.bytes(row as usize));
            }
            if text.len() > TEXT_MAX {
                return Err(Error::out_of_range("a result of string_agg is longer than 4 GiB"));
            }
            builder.push_bytes(&text);
        }
        Ok(builder.finish())
    }

    fn memory_size(&self) -> usize {
        self.values.memory_size() + self.rows.memory_size()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
