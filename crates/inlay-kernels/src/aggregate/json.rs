//! `json_group_array`, `json_group_object`, `json_group_structure`: the rows of a group as one document.
//!
//! The binder hands each row over as an array or an object of its own (`json_array(x)`, `json_object(k, v)`); what is
//! between their brackets is joined.

use super::collect::{GroupRows, KeptRows, KeptRowsMut};
use super::column::Column;
use super::{GroupIds, GroupedAccumulator, same_kind};
use crate::function::AggregateFunction;
use crate::json::values::structure_of;
use inlay_types::append::push_short;
use inlay_types::limits::{self, Meter};
use inlay_types::{Error, LogicalType, Result, Vector, VectorBuilder};
use std::any::Any;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Document {
    Array,
    Object,
    Structure,
}

struct Grouped {
    parts: Column,
    rows: GroupRows,
    document: Document,
    ty: LogicalType,
}

fn boxed(function: &AggregateFunction, document: Document) -> Box<dyn GroupedAccumulator> {
    let parts = Column::new(function.arg_types[0].clone());
    Box::new(Grouped { parts, rows: GroupRows::default(), document, ty: function.return_type.clone() })
}

/// `json_group_array`.
pub fn array(f: &AggregateFunction, _total: bool) -> Result<Box<dyn GroupedAccumulator>> {
    Ok(boxed(f, Document::Array))
}

/// `json_group_object`.
pub fn object(f: &AggregateFunction, _total: bool) -> Result<Box<dyn GroupedAccumulator>> {
    Ok(boxed(f, Document::Object))
}

/// `json_group_structure`.
pub fn structure(f: &AggregateFunction, _total: bool) -> Result<Box<dyn GroupedAccumulator>> {
    Ok(boxed(f, Document::Structure))
}

/// So many documents are joined between looks at the interrupt.
const CHECKED_ROWS: usize = 1 << 14;
/// Views hold lengths in 32 bits.
const TEXT_MAX: usize = u32::MAX as usize - 1;

impl GroupedAccumulator for Grouped {
    fn resize(&mut self, _groups: usize) {}

    fn start_morsel(&mut self, number: u32) {
        self.rows.start_morsel(number);
    }

    fn update(&mut self, args: &[&Vector], groups: GroupIds<'_>) -> Result<()> {
        self.rows.collect(&mut self.parts, args[0], groups);
        Ok(())
    }

    fn merge(&mut self, other: &dyn GroupedAccumulator, source: &[u32], target: &[u32]) -> Result<()> {
        let other = same_kind::<Self>(other)?;
        let added = self.rows.merge(&other.rows, source, target);
        self.parts.append_added(&other.parts, &added);
        Ok(())
    }

    fn prepare_merge(&self) {
        self.rows.prepare();
    }

    fn kept(&self) -> Option<KeptRows<'_>> {
        Some(KeptRows::new(&self.rows, [&self.parts]))
    }

    fn kept_mut(&mut self) -> Option<KeptRowsMut<'_>> {
        Some(KeptRowsMut::new(&mut self.rows, [&mut self.parts]))
    }

    fn finish(&self, from: usize, len: usize) -> Result<Vector> {
        let (open, close) = if self.document == Document::Object { (b'{', b'}') } else { (b'[', b']') };
        let mut builder = VectorBuilder::new(self.ty.clone(), len);
        // Who keeps the rows has asked for a result as large as they are; rows that share a text are more.
        let mut asked = self.parts.memory_size();
        let mut meter = Meter::of_rows();
        let mut text = Vec::new();
        for group in from..from + len {
            let rows = self.rows.rows(group as u32);
            if rows.is_empty() {
                builder.push_null();
                continue;
            }
            text.clear();
            // Rows of a group lie apart: their bytes are on the way when they are joined.
            let size_of = |(index, &row): (usize, &u32)| {
                self.parts.prefetch_ahead(rows, index);
                self.parts.words(row as usize).0 as u32 as usize
            };
            let size = rows.iter().enumerate().map(size_of).sum::<usize>() + 2;
            if size > TEXT_MAX {
                return Err(Error::out_of_range("a JSON document of a group is longer than 4 GiB"));
            }
            let covered = size.min(asked);
            asked -= covered;
            meter.add(size - covered)?;
            limits::grow_counted(&mut text, size)?;
            text.push(open);
            for (index, &row) in rows.iter().enumerate() {
                if index > 0 {
                    text.push(b',');
                }
                if index % CHECKED_ROWS == CHECKED_ROWS - 1 {
                    limits::check()?;
                }
                let part = self.parts.bytes(row as usize);
                push_short(&mut text, part.get(1..part.len().saturating_sub(1)).unwrap_or_default());
            }
            text.push(close);
            if self.document == Document::Structure {
                let written = String::from_utf8_lossy(&text);
                builder.push_bytes(structure_of(&written)?.as_bytes());
            } else {
                builder.push_from(&mut text);
            }
        }
        Ok(builder.finish().holding(meter.finish()))
    }

    fn memory_size(&self) -> usize {
        self.parts.memory_size() + self.rows.memory_size()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
