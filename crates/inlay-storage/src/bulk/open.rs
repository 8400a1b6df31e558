//! A column of rows that are not encoded yet.
//!
//! While all its batches are codes into one dictionary, as those of a scan and the operators behind it mostly are, so is
//! the column: no string is copied, and the encoder need not find out again which are equal. What a finished column held
//! is used for the next one, unless its segment kept it.

use crate::interrupted::check_interrupt;
use crate::segment::Segment;
use inlay_types::{Dictionary, Heap, LogicalType, MemoryBudget, Result, Vector, VectorBuilder};
use std::sync::Arc;

#[derive(Debug)]
pub(super) struct OpenColumn {
    ty: LogicalType,
    values: VectorBuilder,
    /// Codes of rows as long as `values` has none; the dictionary is that of the first batch.
    codes: VectorBuilder,
    dictionary: Option<Arc<Dictionary>>,
}

impl OpenColumn {
    pub fn new(ty: LogicalType) -> Self {
        let values = VectorBuilder::new(ty.clone(), 0);
        Self { ty, values, codes: VectorBuilder::new(LogicalType::UInteger, 0), dictionary: None }
    }

    pub fn len(&self) -> usize {
        self.values.len() + self.codes.len()
    }

    /// Bytes held by the rows so far and the room for others. A dictionary is not theirs.
    pub fn memory_size(&self) -> usize {
        self.values.memory_size() + self.codes.memory_size()
    }

    /// Bytes of the texts of the rows so far.
    pub fn text_size(&self) -> usize {
        self.values.text_size()
    }

    /// Makes room for `rows` rows in all.
    pub fn reserve(&mut self, rows: usize) {
        match self.dictionary {
            Some(_) => self.codes.reserve(rows),
            None => self.values.reserve(rows),
        }
    }

    /// Adds rows `from..from + len` of a vector of the column's type.
    pub fn append(&mut self, vector: &Vector, from: usize, len: usize) {
        let slice;
        let vector = if len == vector.len() {
            vector
        } else {
            slice = vector.slice(from, len);
            &slice
        };
        match (vector.as_dictionary(), &self.dictionary) {
            (Some(dictionary), Some(own)) if Arc::ptr_eq(dictionary, own) => self.append_codes(vector),
            (Some(dictionary), None) if self.len() == 0 => {
                self.dictionary = Some(Arc::clone(dictionary));
                self.append_codes(vector);
            }
            _ => {
                self.give_dictionary_up();
                self.values.append(vector);
            }
        }
    }

    fn append_codes(&mut self, vector: &Vector) {
        let (data, validity) = (vector.data().clone(), vector.validity().cloned());
        self.codes.append(&Vector::flat(
            LogicalType::UInteger,
            vector.len(),
            data,
            validity,
            Heap::default(),
        ));
    }

    fn give_dictionary_up(&mut self) {
        if let Some(coded) = self.take_coded() {
            self.values.reserve(self.codes.capacity().max(coded.len()));
            self.values.append(&coded);
            self.codes = VectorBuilder::reusing(LogicalType::UInteger, coded.into_data());
        }
    }

    /// The rows that are codes.
    fn take_coded(&mut self) -> Option<Vector> {
        let dictionary = self.dictionary.take()?;
        let codes = std::mem::replace(&mut self.codes, VectorBuilder::new(LogicalType::UInteger, 0)).finish();
        let (len, validity) = (codes.len(), codes.validity().cloned());
        let coded = Vector::dictionary(dictionary, codes.into_data(), len, validity);
        Some(if *coded.ty() == self.ty { coded } else { coded.reinterpret(self.ty.clone()) })
    }

    /// The rows so far as a vector; none are left.
    pub fn take(&mut self) -> Vector {
        let empty = VectorBuilder::new(self.ty.clone(), 0);
        self.take_coded().unwrap_or_else(|| std::mem::replace(&mut self.values, empty).finish())
    }

    /// As [`OpenColumn::take`], for rows that wait: they hold what they need, and the room for more stays here.
    pub fn take_to_wait(&mut self) -> Vector {
        let (len, is_coded) = (self.len(), self.dictionary.is_some());
        let room = if is_coded { self.codes.capacity() } else { self.values.capacity() };
        let rows = self.take();
        if room <= 2 * len {
            return rows;
        }
        let all: Vec<u32> = (0..len as u32).collect();
        let waiting = rows.take(&all);
        if is_coded {
            self.codes = VectorBuilder::reusing(LogicalType::UInteger, rows.into_data());
        } else {
            self.values = VectorBuilder::reusing(self.ty.clone(), rows.into_data());
        }
        waiting
    }

    /// The rows so far as a segment; none are left.
    pub fn seal(&mut self, budget: &MemoryBudget) -> Result<Segment> {
        check_interrupt()?;
        if let Some(coded) = self.take_coded() {
            let segment = Segment::encode(&coded, budget)?;
            self.codes = VectorBuilder::reusing(LogicalType::UInteger, coded.into_data());
            return Ok(segment);
        }
        // Memory that is nearly full becomes the segment's, which saves a copy where the values stay as they are.
        let is_full = self.values.len() >= self.values.capacity() / 8 * 7;
        let rows = self.take();
        let segment =
            if is_full { Segment::encode_shared(&rows, budget)? } else { Segment::encode(&rows, budget)? };
        self.values = VectorBuilder::reusing(self.ty.clone(), rows.into_data());
        Ok(segment)
    }
}
