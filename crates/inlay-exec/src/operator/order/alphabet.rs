//! Texts as numbers in their order: each byte as its rank among those that stand at its place in any text.
//!
//! Texts of a column mostly have few different bytes at a place: digits, letters of a few names, one sign between. Behind what all
//! begin with, a place takes as many bits as tell its bytes and the end of the text apart, so that numbers have most texts
//! as a whole where as many plain bytes would have their beginnings. Which bytes stand where is found out by looking at all texts.

use super::codes::bits_of;
use crate::context::ExecContext;
use inlay_types::{Result, Vector};
use parking_lot::Mutex;

/// Places of texts, behind what all begin with, that a number may have.
const PLACES_MAX: usize = 32;

/// What a byte adds to a number.
type Codes = [u64; 256];

/// The numbers of a column's texts.
pub(super) struct Alphabet {
    /// Bytes that all texts begin with.
    skip: usize,
    /// Of each place, those of the upper word before those of the lower one. The end of a text adds nothing.
    high: Vec<Codes>,
    low: Vec<Codes>,
    low_bits: u32,
    pub(super) bits: u32,
    /// Whether numbers have all of each text.
    pub(super) is_complete: bool,
}

impl Alphabet {
    /// Numbers of at most so many bits for texts, which begin with the same `skip` bytes and have `longest` at most. NULLs have any.
    pub(super) fn of(
        context: &ExecContext,
        vector: &Vector,
        (skip, shortest, longest): (usize, usize, usize),
        bits_max: u32,
    ) -> Result<Self> {
        let places = (longest - skip).min(PLACES_MAX);
        let seen = seen(context, vector, skip, places)?;
        let (mut widths, mut bits) = (Vec::with_capacity(places), 0);
        for (place, seen) in seen.iter().enumerate() {
            let ends = skip + place >= shortest;
            let symbols = seen.iter().filter(|seen| **seen).count() + usize::from(ends);
            let width = bits_of(symbols.saturating_sub(1) as u128);
            if bits + width > bits_max {
                break;
            }
            bits += width;
            widths.push((width, ends));
        }
        // No place lies in both words.
        let (first_low, low_bits) = loop {
            let (mut count, mut low_bits) = (0, 0);
            for (width, _) in widths.iter().rev() {
                if low_bits + width > u64::BITS {
                    break;
                }
                (count, low_bits) = (count + 1, low_bits + width);
            }
            if bits - low_bits <= u64::BITS {
                break (widths.len() - count, low_bits);
            }
            bits -= widths.pop().map_or(0, |(width, _)| width);
        };
        let is_complete = skip + widths.len() >= longest;
        let (mut high, mut low) = (Vec::new(), Vec::new());
        let mut shift = bits - low_bits;
        for (place, ((width, ends), seen)) in widths.iter().zip(&seen).enumerate() {
            if place == first_low {
                shift = low_bits;
            }
            shift -= width;
            let (mut codes, mut code) = ([0; 256], u64::from(*ends));
            for (sum, _) in codes.iter_mut().zip(seen).filter(|(_, seen)| **seen) {
                *sum = code.checked_shl(shift).unwrap_or(0);
                code += 1;
            }
            if place < first_low { high.push(codes) } else { low.push(codes) }
        }
        Ok(Self { skip, high, low, low_bits, bits, is_complete })
    }

    /// Bytes of a text that its number has.
    pub(super) fn bytes_known(&self) -> usize {
        self.skip + self.high.len() + self.low.len()
    }

    /// The number of a text.
    #[inline]
    pub(super) fn number(&self, text: &[u8]) -> u128 {
        let rest = text.get(self.skip..).unwrap_or_default();
        let sum = |codes: &[Codes], bytes: &[u8]| {
            codes.iter().zip(bytes).fold(0, |sum, (codes, byte)| sum | codes[usize::from(*byte)])
        };
        if self.high.is_empty() {
            return u128::from(sum(&self.low, rest));
        }
        let (upper, lower) = rest.split_at(self.high.len().min(rest.len()));
        u128::from(sum(&self.high, upper)) << self.low_bits | u128::from(sum(&self.low, lower))
    }
}

/// Which bytes stand at each place behind the first `skip` bytes.
fn seen(context: &ExecContext, vector: &Vector, skip: usize, places: usize) -> Result<Vec<[bool; 256]>> {
    let (views, heap) = (vector.views(), vector.heap().buffers());
    let all = Mutex::new(vec![[false; 256]; places]);
    let block_rows = context.task_rows(views.len());
    context.parallel(views.len().div_ceil(block_rows), |block| {
        let mut own = vec![[false; 256]; places];
        let from = block * block_rows;
        // The view of a NULL is empty.
        for view in &views[from..views.len().min(from + block_rows)] {
            let rest = view.bytes(heap).get(skip..).unwrap_or_default();
            for (seen, byte) in own.iter_mut().zip(rest) {
                seen[usize::from(*byte)] = true;
            }
        }
        let mut all = all.lock();
        for (all, own) in all.iter_mut().zip(&own) {
            all.iter_mut().zip(own).for_each(|(all, own)| *all |= own);
        }
        Ok(())
    })?;
    Ok(all.into_inner())
}
