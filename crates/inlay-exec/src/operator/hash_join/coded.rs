//! Probe keys that are codes: each value of a dictionary is looked up once, not for each of its rows.

use super::HashJoin;
use super::build::{JoinIndex, KeyForm, hash_chunk};
use super::core::ProbeKind;
use super::gather::NO_ROW;
use super::index::{PairWriter, Slots};
use super::probe::ProbeLocal;
use crate::dispatch::multiversion;
use inlay_types::{Bitmap, VECTOR_SIZE, Vector};

/// Larger dictionaries are not looked up as a whole.
const VALUES_MAX: usize = 1 << 16;
/// All values are looked up when this many times the rows seen are as many.
const VALUES_PER_ROW: usize = 2;

/// What a worker knows of the dictionary of its probe keys.
#[derive(Default)]
pub(super) struct CodedKeys {
    /// The dictionary, and the rows with its codes so far.
    dictionary: Option<u64>,
    rows: usize,
    /// The build row of each value, or [`NO_ROW`]; empty as long as they were not looked up.
    partners: Vec<u32>,
}

impl CodedKeys {
    /// Counts rows of a dictionary; whether there are enough to look all its values up.
    fn are_worth_it(&mut self, dictionary: u64, values: usize, rows: usize) -> bool {
        if self.dictionary != Some(dictionary) {
            *self = Self { dictionary: Some(dictionary), rows: 0, partners: Vec::new() };
        }
        self.rows = self.rows.saturating_add(rows);
        (1..=VALUES_MAX).contains(&values) && values <= self.rows.saturating_mul(VALUES_PER_ROW)
    }
}

impl HashJoin {
    /// Finds the partners of a batch whose only key is of codes, where rows have one partner at most, in `probe_rows` and
    /// `build_rows`; not if that does not pay, and then returns `false`.
    pub(super) fn find_coded(&self, index: &JoinIndex, keys: &[Vector], local: &mut ProbeLocal) -> bool {
        let ([key], KeyForm::Hashes(_), [false]) = (keys, &index.form, &self.null_equal[..]) else {
            return false;
        };
        let needs_more = self.pair_filter.is_some() || !index.index.is_unique();
        let Some(dictionary) = key.as_dictionary() else { return false };
        if needs_more || matches!(self.core.kind, ProbeKind::Track | ProbeKind::Mark) {
            return false;
        }
        let values = dictionary.values();
        if !local.coded.are_worth_it(dictionary.id(), values.len(), key.len()) {
            return false;
        }
        if local.coded.partners.is_empty() {
            local.coded.partners = self.partners_of(index, values, local);
        }
        let codes = &key.codes()[..key.len()];
        let valid = key.validity().map(Bitmap::words);
        find(codes, valid, &local.coded.partners, &mut local.probe_rows, &mut local.build_rows);
        true
    }

    /// The build row of each value, or [`NO_ROW`].
    fn partners_of(&self, index: &JoinIndex, values: &Vector, local: &mut ProbeLocal) -> Vec<u32> {
        let mut partners = vec![NO_ROW; values.len()];
        for from in (0..values.len()).step_by(VECTOR_SIZE) {
            let part = [values.slice(from, (values.len() - from).min(VECTOR_SIZE))];
            hash_chunk(&part, &mut local.wide);
            index.index.find_unique(&Slots::Wide(&local.wide), &mut local.probe_rows, &mut local.build_rows);
            self.verify(index, &part, local);
            for (value, row) in local.probe_rows.iter().zip(&local.build_rows) {
                partners[from + *value as usize] = *row;
            }
        }
        partners
    }
}

multiversion! {
    /// Rows that have a partner, and that.
    fn find[](
        codes: &[u32],
        valid: Option<&[u64]>,
        partners: &[u32],
        probe_rows: &mut Vec<u32>,
        build_rows: &mut Vec<u32>,
    ) {
        let mut found = PairWriter::new(probe_rows, build_rows, codes.len());
        for (row, &code) in codes.iter().enumerate() {
            // A NULL's code need not be one.
            let partner = partners.get(code as usize).copied().unwrap_or(NO_ROW);
            let is_valid = valid.is_none_or(|words| words[row / 64] >> (row % 64) & 1 == 1);
            found.put(row as u32, partner, partner != NO_ROW && is_valid);
        }
        found.finish();
    }
}
