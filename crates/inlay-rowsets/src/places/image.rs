//! Sets as bytes, and back.
//!
//! ```text
//! set:   its chunks in order, as many as the rows need; the rows are the owner's
//! chunk: 0 list of gaps | count | low bits u8, byte length, gaps less one in Rice's code
//!        1 list         | count | u16 each
//!        2 runs of gaps | count | low bits u8 of gaps, of lengths, byte length, each gap and length less one in Rice's code
//!        3 runs         | count | u16 first, u16 last each
//!        4 bits         | u64 each
//! ```
//! Counts and byte lengths are LEB128. Gaps are written where they are shorter; they always are but for a few places. A reader
//! looks at everything: order, limits, gaps between runs, bits behind the rows, whether the form is the smallest. What it takes
//! from memory is never more than two bytes for each row, nor than 32 times the bytes that are there.

use super::chunk::{Chunk, Form, Run, form, runs_of_list, words_of};
use super::{Places, chunk_rows, words};
use crate::bits::{BitReader, BitWriter, RICE_MAX, best_rice};
use inlay_types::{Error, Result};

const LIST_GAPS: u8 = 0;
const LIST: u8 = 1;
const RUNS_GAPS: u8 = 2;
const RUNS: u8 = 3;
const BITS: u8 = 4;

impl Places {
    /// Appends the image of the set.
    pub fn write(&self, out: &mut Vec<u8>) {
        self.chunks.iter().for_each(|chunk| write_chunk(chunk, out));
    }

    /// Takes the image of a set about `rows` rows from the front of `bytes`.
    pub fn read(bytes: &mut &[u8], rows: u32) -> Result<Self> {
        let mut from = Input { bytes };
        // Each chunk has a byte at least.
        if chunk_rows(rows).count() > from.bytes.len() {
            return Err(too_short());
        }
        let chunks =
            chunk_rows(rows).map(|rows| read_chunk(&mut from, rows)).collect::<Result<Vec<Chunk>>>()?;
        *bytes = from.bytes;
        Ok(Self::of(rows, chunks))
    }
}

fn put_count(mut count: usize, out: &mut Vec<u8>) {
    while count >= 0x80 {
        out.push(count as u8 | 0x80);
        count >>= 7;
    }
    out.push(count as u8);
}

/// What lies between ascending numbers, and before the first.
fn gaps(places: &[u16]) -> impl Iterator<Item = u32> + Clone + '_ {
    let before = std::iter::once(-1).chain(places.iter().map(|place| i32::from(*place)));
    places.iter().zip(before).map(|(place, before)| (i32::from(*place) - before - 1) as u32)
}

/// Places between runs, less one but for those before the first.
fn run_gaps(runs: &[Run]) -> impl Iterator<Item = u32> + Clone + '_ {
    let before = std::iter::once(-2).chain(runs.iter().map(|run| i32::from(run.last)));
    runs.iter().zip(before).map(|(run, before)| (i32::from(run.first) - before - 2) as u32)
}

fn run_lengths(runs: &[Run]) -> impl Iterator<Item = u32> + Clone + '_ {
    runs.iter().map(|run| run.len() - 1)
}

fn write_chunk(chunk: &Chunk, out: &mut Vec<u8>) {
    match chunk {
        Chunk::List(places) => {
            let (low, bits) = best_rice(gaps(places));
            let is_short = bits.div_ceil(8) + 3 < 2 * places.len();
            out.push(if is_short { LIST_GAPS } else { LIST });
            put_count(places.len(), out);
            if is_short {
                let mut writer = BitWriter::default();
                gaps(places).for_each(|gap| writer.rice(gap, low));
                put_packed(&[low], &writer.finish(), out);
            } else {
                places.iter().for_each(|place| out.extend(place.to_le_bytes()));
            }
        }
        Chunk::Runs(runs) => {
            let (low, bits) = best_rice(run_gaps(runs));
            let (low_length, length_bits) = best_rice(run_lengths(runs));
            let is_short = (bits + length_bits).div_ceil(8) + 4 < 4 * runs.len();
            out.push(if is_short { RUNS_GAPS } else { RUNS });
            put_count(runs.len(), out);
            if is_short {
                let mut writer = BitWriter::default();
                for (gap, length) in run_gaps(runs).zip(run_lengths(runs)) {
                    writer.rice(gap, low);
                    writer.rice(length, low_length);
                }
                put_packed(&[low, low_length], &writer.finish(), out);
            } else {
                for run in runs {
                    out.extend(run.first.to_le_bytes());
                    out.extend(run.last.to_le_bytes());
                }
            }
        }
        Chunk::Bits { words, .. } => {
            out.push(BITS);
            words.iter().for_each(|word| out.extend(word.to_le_bytes()));
        }
    }
}

fn put_packed(low: &[u32], packed: &[u8], out: &mut Vec<u8>) {
    out.extend(low.iter().map(|low| *low as u8));
    put_count(packed.len(), out);
    out.extend_from_slice(packed);
}

fn too_short() -> Error {
    Error::corrupt("a set of rows that ends too early")
}

struct Input<'a> {
    bytes: &'a [u8],
}

impl<'a> Input<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.bytes.split_at_checked(count).ok_or_else(too_short)?;
        self.bytes = rest;
        Ok(taken)
    }

    fn u8(&mut self) -> Result<u8> {
        Ok(self.take(1)?[0])
    }

    /// A count that is at most `most`.
    fn count(&mut self, most: usize) -> Result<usize> {
        let mut count = 0usize;
        for shift in [0, 7, 14, 21] {
            let byte = self.u8()?;
            count |= usize::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                if count > most || (byte == 0 && shift > 0) {
                    break;
                }
                return Ok(count);
            }
        }
        Err(Error::corrupt(format!("a set of rows with a count that is not below {most}")))
    }

    fn low_bits(&mut self) -> Result<u32> {
        match u32::from(self.u8()?) {
            low @ ..=RICE_MAX => Ok(low),
            low => Err(Error::corrupt(format!("a set of rows with {low} low bits"))),
        }
    }

    fn packed(&mut self) -> Result<BitReader<'a>> {
        let len = self.count(self.bytes.len())?;
        Ok(BitReader::new(self.take(len)?))
    }
}

fn read_chunk(from: &mut Input<'_>, rows: usize) -> Result<Chunk> {
    let kind = from.u8()?;
    match kind {
        LIST | LIST_GAPS => {
            let count = from.count(rows)?;
            let places =
                if kind == LIST { plain_list(from, count)? } else { list_of_gaps(from, count, rows)? };
            let is_sorted = places.is_sorted_by(|left, right| left < right);
            if !is_sorted || places.last().is_some_and(|last| usize::from(*last) >= rows) {
                return Err(Error::corrupt("a list of rows that is out of order"));
            }
            is_smallest(form(count, runs_of_list(&places), rows) == Form::List)?;
            Ok(Chunk::List(places.into()))
        }
        RUNS | RUNS_GAPS => {
            let count = from.count(rows)?;
            let runs = if kind == RUNS { plain_runs(from, count)? } else { runs_of_gaps(from, count, rows)? };
            let are_apart =
                runs.windows(2).all(|pair| u32::from(pair[0].last) + 1 < u32::from(pair[1].first));
            let fit = runs.iter().all(|run| run.first <= run.last && usize::from(run.last) < rows);
            if !are_apart || !fit {
                return Err(Error::corrupt("runs of rows that are out of order"));
            }
            let members: u32 = runs.iter().map(|run| run.len()).sum();
            is_smallest(form(members as usize, count, rows) == Form::Runs)?;
            Ok(Chunk::Runs(runs.into()))
        }
        BITS => {
            let (words, _) = from.take(8 * words_of(rows))?.as_chunks::<8>();
            let words: Box<[u64]> = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
            let behind = if rows.is_multiple_of(64) { 0 } else { u64::MAX << (rows % 64) };
            if words.last().is_some_and(|last| last & behind != 0) {
                return Err(Error::corrupt("bits behind the rows of a set"));
            }
            let (count, runs) = words::count_and_runs(&words);
            is_smallest(form(count as usize, runs as usize, rows) == Form::Bits)?;
            Ok(Chunk::Bits { words, count })
        }
        other => Err(Error::corrupt(format!("a set of rows of kind {other}"))),
    }
}

fn is_smallest(is_smallest: bool) -> Result<()> {
    if is_smallest {
        Ok(())
    } else {
        Err(Error::corrupt("a set of rows in another form than it should have"))
    }
}

fn plain_list(from: &mut Input<'_>, count: usize) -> Result<Vec<u16>> {
    let (places, _) = from.take(2 * count)?.as_chunks::<2>();
    Ok(places.iter().map(|place| u16::from_le_bytes(*place)).collect())
}

fn list_of_gaps(from: &mut Input<'_>, count: usize, rows: usize) -> Result<Vec<u16>> {
    let low = from.low_bits()?;
    let mut bits = from.packed()?;
    // Each takes a bit at least.
    if count > bits.left() {
        return Err(too_short());
    }
    let (mut places, mut next) = (Vec::with_capacity(count), 0usize);
    for _ in 0..count {
        next += bits.rice(low, u32::from(u16::MAX))? as usize;
        places.push(inside(next, rows)?);
        next += 1;
    }
    bits.expect_end()?;
    Ok(places)
}

fn plain_runs(from: &mut Input<'_>, count: usize) -> Result<Vec<Run>> {
    let (runs, _) = from.take(4 * count)?.as_chunks::<4>();
    let run = |bytes: &[u8; 4]| Run {
        first: u16::from_le_bytes([bytes[0], bytes[1]]),
        last: u16::from_le_bytes([bytes[2], bytes[3]]),
    };
    Ok(runs.iter().map(run).collect())
}

fn runs_of_gaps(from: &mut Input<'_>, count: usize, rows: usize) -> Result<Vec<Run>> {
    let (low, low_length) = (from.low_bits()?, from.low_bits()?);
    let mut bits = from.packed()?;
    if count > bits.left() {
        return Err(too_short());
    }
    let (mut runs, mut next) = (Vec::with_capacity(count), 0usize);
    for _ in 0..count {
        let first = next + bits.rice(low, u32::from(u16::MAX))? as usize;
        let last = first + bits.rice(low_length, u32::from(u16::MAX))? as usize;
        runs.push(Run { first: inside(first, rows)?, last: inside(last, rows)? });
        // One place at least lies between.
        next = last + 2;
    }
    bits.expect_end()?;
    Ok(runs)
}

fn inside(place: usize, rows: usize) -> Result<u16> {
    if place >= rows {
        return Err(Error::corrupt(format!("a set with row {place} of {rows}")));
    }
    Ok(place as u16)
}
