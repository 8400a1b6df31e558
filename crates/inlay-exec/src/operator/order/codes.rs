//! Keys as bits of a row's number: values of fixed width as distances from the least one, texts as ranks where there are few
//! different ones, as the ranks of their bytes otherwise ([`Alphabet`]). A key whose bits do not decide the order completely,
//! or do not fit, ends the number.

use super::alphabet::Alphabet;
use super::{KeyColumn, Normal, Prefix, compare_values, fill, normalise};
use crate::context::ExecContext;
use crate::operator::interner::Interner;
use inlay_types::{PhysicalType, Result, Vector};
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// Texts are ranked if there are at most so many different ones, and so many rows for each.
const RANKED_MAX: usize = 4096;
const ROWS_PER_RANK: usize = 8;

/// A key as bits of a row's number.
pub(super) struct Encoded {
    codes: Codes,
    pub(super) bits: u32,
    /// Whether the code decides the order completely.
    pub(super) complete: bool,
}

enum Codes {
    Narrow {
        values: Vec<u64>,
        low: u64,
        high: u64,
    },
    Wide {
        values: Vec<u128>,
        low: u128,
        high: u128,
    },
    /// Ranks of a dictionary's values.
    Ranks {
        ranks: Vec<u32>,
        high: u32,
    },
    /// Numbers of texts.
    Texts(Box<Alphabet>),
    Nothing,
}

/// Bits of the largest of some numbers.
pub(super) fn bits_of(range: u128) -> u32 {
    128 - range.leading_zeros()
}

pub(super) fn encode(context: &ExecContext, key: &KeyColumn<'_>, free: u32) -> Result<Encoded> {
    let vector = key.vector;
    // One more code for NULL.
    let extra = u128::from(vector.validity().is_some());
    let fitting = |codes: Codes, range: u128| {
        let bits = bits_of(range.saturating_add(extra));
        if bits <= free && range < u128::MAX - 1 {
            Encoded { codes, bits, complete: true }
        } else {
            Encoded::nothing()
        }
    };
    if let Some(dictionary) = vector.as_dictionary() {
        let values = dictionary.values();
        let mut sorted: Vec<u32> = (0..values.len() as u32).collect();
        // NULLs of a dictionary vector are in its own validity.
        if values.physical_type() == PhysicalType::View && !values.ty().is_nested() {
            dictionary.order().into_iter().for_each(|order| sorted.copy_from_slice(order));
        } else {
            sorted.sort_unstable_by(|&a, &b| compare_values(values, a as usize, b as usize));
        }
        let (mut ranks, mut rank) = (vec![0u32; values.len()], 0);
        for (index, &code) in sorted.iter().enumerate() {
            let is_new =
                index > 0 && compare_values(values, sorted[index - 1] as usize, code as usize).is_ne();
            rank += u32::from(is_new);
            ranks[code as usize] = rank;
        }
        return Ok(fitting(Codes::Ranks { ranks, high: rank }, u128::from(rank)));
    }
    if vector.ty().is_nested() {
        return Ok(Encoded::nothing());
    }
    if vector.physical_type() == PhysicalType::View {
        return Ok(match ranks(context, vector)? {
            Some((values, high)) => fitting(Codes::Narrow { values, low: 0, high }, u128::from(high)),
            None => encode_texts(context, vector, free)?,
        });
    }
    Ok(match normalise(context, vector)? {
        None => Encoded::nothing(),
        Some(Normal::Narrow(values)) => {
            let (low, high) = valid_range(context, vector, &values, u64::MAX, 0)?;
            let range = u128::from(high.saturating_sub(low));
            fitting(Codes::Narrow { values, low, high }, range)
        }
        Some(Normal::Wide(values)) => {
            let (low, high) = valid_range(context, vector, &values, u128::MAX, 0)?;
            let range = high.saturating_sub(low);
            fitting(Codes::Wide { values, low, high }, range)
        }
    })
}

/// The rank of each text among the different ones, and the largest; `None` if there are many.
fn ranks(context: &ExecContext, vector: &Vector) -> Result<Option<(Vec<u64>, u64)>> {
    let (len, views, heap) = (vector.len(), vector.views(), vector.heap().buffers());
    let most = RANKED_MAX.min(len / ROWS_PER_RANK);
    let block_rows = context.task_rows(len);
    // Each block numbers its texts, and knows a row of each.
    let blocks: Vec<Mutex<(Vec<u16>, Vec<u32>)>> =
        (0..len.div_ceil(block_rows)).map(|_| Mutex::default()).collect();
    let too_many = AtomicBool::new(false);
    context.parallel(blocks.len(), |block| {
        let (mut interner, mut firsts) = (Interner::new(most), Vec::new());
        let from = block * block_rows;
        let mut numbers = Vec::with_capacity(block_rows.min(len - from));
        for (row, view) in views[from..len.min(from + block_rows)].iter().enumerate() {
            match interner.digit(view, heap) {
                Ok(number) => {
                    if number as usize > firsts.len() {
                        firsts.push((from + row) as u32);
                    }
                    numbers.push((number - 1) as u16);
                }
                Err(_) => {
                    too_many.store(true, Ordering::Relaxed);
                    return Ok(());
                }
            }
            if row.is_multiple_of(1024) && too_many.load(Ordering::Relaxed) {
                return Ok(());
            }
        }
        *blocks[block].lock() = (numbers, firsts);
        Ok(())
    })?;
    if too_many.into_inner() {
        return Ok(None);
    }
    let blocks: Vec<(Vec<u16>, Vec<u32>)> = blocks.into_iter().map(Mutex::into_inner).collect();
    let (mut interner, mut different) = (Interner::new(most), Vec::new());
    let mut whole: Vec<Vec<u32>> = Vec::with_capacity(blocks.len());
    for (_, firsts) in &blocks {
        let mut numbers = Vec::with_capacity(firsts.len());
        for &row in firsts {
            let Ok(number) = interner.digit(&views[row as usize], heap) else { return Ok(None) };
            if number as usize > different.len() {
                different.push(row);
            }
            numbers.push(number - 1);
        }
        whole.push(numbers);
    }
    let mut sorted: Vec<u32> = (0..different.len() as u32).collect();
    let row = |number: u32| different[number as usize] as usize;
    sorted.sort_unstable_by(|&a, &b| compare_values(vector, row(a), row(b)));
    let mut rank_of = vec![0u64; sorted.len()];
    sorted.iter().zip(0..).for_each(|(&number, rank)| rank_of[number as usize] = rank);
    let values = fill(context, len, |from, out: &mut [u64]| {
        for (row, out) in (from..).zip(out) {
            let block = row / block_rows;
            let number = blocks[block].0[row % block_rows];
            *out = rank_of[whole[block][usize::from(number)] as usize];
        }
    })?;
    Ok(Some((values, sorted.len().saturating_sub(1) as u64)))
}

/// As much of texts as fits, behind what all begin with.
fn encode_texts(context: &ExecContext, vector: &Vector, free: u32) -> Result<Encoded> {
    let class_bits = if vector.validity().is_some() { 2 } else { 0 };
    let Some(bits_max) = free.checked_sub(class_bits) else { return Ok(Encoded::nothing()) };
    let alphabet = Alphabet::of(context, vector, beginning(context, vector)?, bits_max)?;
    let (bits, complete) = (alphabet.bits + class_bits, alphabet.is_complete);
    Ok(Encoded { codes: Codes::Texts(Box::new(alphabet)), bits, complete })
}

/// How many bytes all texts that are not NULL begin with, and the lengths of the shortest and of the longest.
fn beginning(context: &ExecContext, vector: &Vector) -> Result<(usize, usize, usize)> {
    let (views, heap) = (vector.views(), vector.heap().buffers());
    let is_valid = |row: usize| !vector.is_null(row);
    let Some(first) = (0..views.len()).find(|&row| is_valid(row)) else { return Ok((0, 0, 0)) };
    let model = views[first].bytes(heap);
    let found = Mutex::new((model.len(), model.len(), 0));
    let block_rows = context.task_rows(views.len());
    context.parallel(views.len().div_ceil(block_rows), |block| {
        let from = block * block_rows;
        let (mut skip, mut shortest, mut longest) = (found.lock().0, model.len(), 0);
        for (row, view) in views[from..views.len().min(from + block_rows)].iter().enumerate() {
            if !is_valid(from + row) {
                continue;
            }
            (shortest, longest) = (shortest.min(view.len()), longest.max(view.len()));
            if skip > 0 {
                let bytes = view.bytes(heap);
                if !bytes.starts_with(&model[..skip]) {
                    skip = bytes.iter().zip(model).take_while(|(a, b)| a == b).count();
                }
            }
        }
        let mut found = found.lock();
        *found = (found.0.min(skip), found.1.min(shortest), found.2.max(longest));
        Ok(())
    })?;
    Ok(found.into_inner())
}

/// Least and largest value that is not NULL.
fn valid_range<T: Copy + Ord + Send + Sync>(
    context: &ExecContext,
    vector: &Vector,
    values: &[T],
    largest: T,
    least: T,
) -> Result<(T, T)> {
    let range = Mutex::new((largest, least));
    let block_rows = context.task_rows(values.len());
    context.parallel(values.len().div_ceil(block_rows), |block| {
        let from = block * block_rows;
        let part = &values[from..values.len().min(from + block_rows)];
        let (mut low, mut high) = (largest, least);
        if vector.validity().is_none() {
            part.iter().for_each(|&v| (low, high) = (low.min(v), high.max(v)));
        } else {
            let valid = part.iter().enumerate().filter(|(i, _)| !vector.is_null(from + i));
            valid.for_each(|(_, &v)| (low, high) = (low.min(v), high.max(v)));
        }
        let mut range = range.lock();
        *range = (range.0.min(low), range.1.max(high));
        Ok(())
    })?;
    Ok(range.into_inner())
}

impl Encoded {
    /// No bits, for a key that is compared by its values.
    pub(super) fn nothing() -> Self {
        Self { codes: Codes::Nothing, bits: 0, complete: false }
    }

    /// How many of the first bytes of texts are equal where codes are.
    pub(super) fn bytes_known(&self) -> usize {
        match &self.codes {
            Codes::Texts(alphabet) => alphabet.bytes_known(),
            Codes::Narrow { .. } | Codes::Wide { .. } | Codes::Ranks { .. } | Codes::Nothing => 0,
        }
    }

    /// Puts the codes of the rows from `from` on into prefixes, from bit `shift` on.
    pub(super) fn add<P: Prefix>(&self, key: &KeyColumn<'_>, from: usize, shift: u32, out: &mut [P]) {
        if let (Codes::Narrow { values, low, high }, None) = (&self.codes, key.vector.validity()) {
            let range = high.saturating_sub(*low);
            let turned = |offset: u64| if key.descending { range - offset } else { offset };
            for (out, value) in out.iter_mut().zip(&values[from..]) {
                *out = out.with(u128::from(turned(value.wrapping_sub(*low))), shift);
            }
            return;
        }
        if let (Codes::Texts(alphabet), None, false) = (&self.codes, key.vector.validity(), key.descending) {
            let (views, heap) = (key.vector.views(), key.vector.heap().buffers());
            for (out, view) in out.iter_mut().zip(&views[from..]) {
                *out = out.with(alphabet.number(view.bytes(heap)), shift);
            }
            return;
        }
        for (row, out) in (from..).zip(out) {
            *out = out.with(self.code(key, row), shift);
        }
    }

    /// The code of a row: values between those of NULL on either side.
    #[inline]
    fn code(&self, key: &KeyColumn<'_>, row: usize) -> u128 {
        let has_nulls = key.vector.validity().is_some();
        let is_null = has_nulls && key.vector.is_null(row);
        let (offset, range) = match &self.codes {
            Codes::Nothing => return 0,
            Codes::Narrow { values, low, high } => {
                (u128::from(values[row].wrapping_sub(*low)), u128::from(high.saturating_sub(*low)))
            }
            Codes::Wide { values, low, high } => (values[row].wrapping_sub(*low), high.saturating_sub(*low)),
            Codes::Ranks { ranks, high } => {
                (u128::from(ranks[key.vector.codes()[row] as usize]), u128::from(*high))
            }
            Codes::Texts(alphabet) => {
                let width = alphabet.bits;
                let mask = u128::MAX.checked_shr(128 - width).unwrap_or(0);
                let text = key.vector.views()[row].bytes(key.vector.heap().buffers());
                let value = if is_null { 0 } else { alphabet.number(text) };
                let value = if key.descending { !value & mask } else { value };
                // Two bits above tell NULLs in front, values, NULLs behind.
                let class = match (has_nulls, is_null, key.nulls_first) {
                    (false, ..) => 0,
                    (true, false, _) => 1,
                    (true, true, true) => 0,
                    (true, true, false) => 2,
                };
                let class = class << (width % 128);
                return if is_null { class } else { value | class };
            }
        };
        if is_null {
            return if key.nulls_first { 0 } else { range + 1 };
        }
        let value = if key.descending { range - offset } else { offset };
        value + u128::from(has_nulls && key.nulls_first)
    }
}
