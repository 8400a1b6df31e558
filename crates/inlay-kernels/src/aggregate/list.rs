//! `list`: all values of a group, NULLs among them, in the order of the input.

use super::collect::{GroupRows, KeptRows, KeptRowsMut};
use super::column::Column;
use super::packing::offsets;
use super::{GroupIds, GroupedAccumulator, same_kind};
use crate::function::AggregateFunction;
use inlay_types::nested::pack_lists;
use inlay_types::{Bitmap, LogicalType, Result, Vector, limits};
use std::any::Any;

struct Listed {
    values: Column,
    rows: GroupRows,
    ty: LogicalType,
}

/// `list`.
pub fn create(function: &AggregateFunction, _total: bool) -> Result<Box<dyn GroupedAccumulator>> {
    let values = Column::new(function.arg_types[0].clone());
    Ok(Box::new(Listed { values, rows: GroupRows::default(), ty: function.return_type.clone() }))
}

impl GroupedAccumulator for Listed {
    fn resize(&mut self, _groups: usize) {}

    fn start_morsel(&mut self, number: u32) {
        self.rows.start_morsel(number);
    }

    fn update(&mut self, args: &[&Vector], groups: GroupIds<'_>) -> Result<()> {
        self.values.append_first(args[0], groups.len());
        self.rows.push(groups.ids().iter().copied());
        Ok(())
    }

    fn merge(&mut self, other: &dyn GroupedAccumulator, source: &[u32], target: &[u32]) -> Result<()> {
        let other = same_kind::<Self>(other)?;
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
        if let (1, Some(pieces)) = (len, self.rows.pieces(from as u32)) {
            let values = self.values.stretches(pieces);
            return pack_lists(&self.ty, &values, &offsets(&[0, values.len()])?, None);
        }
        let (mut rows, mut ends) = (Vec::new(), vec![0]);
        for group in from..from + len {
            rows.extend_from_slice(self.rows.rows(group as u32));
            ends.push(rows.len());
        }
        // A copy of them, out of which lists are made.
        let share = rows.len() as f64 / self.values.len().max(1) as f64;
        limits::need((self.values.memory_size() as f64 * share) as usize)?;
        let empty = |group: usize| ends[group] == ends[group + 1];
        let validity = (0..len).any(empty).then(|| Bitmap::from_fn(len, |group| !empty(group)));
        pack_lists(&self.ty, &self.values.gather(&rows), &offsets(&ends)?, validity.as_ref())
    }

    fn memory_size(&self) -> usize {
        self.values.memory_size() + self.rows.memory_size()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
