//! Where records and fields begin and end in a block of text.
//!
//! A block begins at the start of a record and ends at the end of one. [`Indexer::next`] fills [`Records`] with the
//! ends of the fields of some thousand records at a time, so that text and positions stay in the cache while columns
//! are read from them. Blocks without a quote take a path that looks at delimiters and newlines alone.
//!
//! A quote opens a quoted field only as its first byte; elsewhere it is an ordinary character.

use super::dialect::Dialect;
use super::mask::{BLOCK, equal};

/// Positions of some records with `width` fields each.
#[derive(Debug, Default)]
pub(super) struct Records {
    /// Where each record begins.
    pub starts: Vec<u32>,
    /// Where each field ends, record by record. A field begins behind the end of the one before it; one that begins
    /// behind its own end was missing.
    pub ends: Vec<u32>,
}

/// What is wrong with a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Malformed {
    /// Fields found.
    Fields(usize),
    /// A quoted field does not end.
    Unclosed,
    /// Something stands between a closing quote and the next delimiter.
    AfterQuote,
}

/// Finds records in a block.
#[derive(Clone, Debug)]
pub(super) struct Indexer {
    pub dialect: Dialect,
    /// Fields of a record.
    pub width: usize,
    /// Fill records that are too short.
    pub pad: bool,
    /// Leave out records that are malformed.
    pub skip_malformed: bool,
}

struct State<'a> {
    bytes: &'a [u8],
    out: &'a mut Records,
    record: usize,
    fields: usize,
    field: usize,
    /// Behind the closing quote of the current field.
    closed: Option<usize>,
    broken: bool,
}

impl Indexer {
    /// Finds up to `max` records from `from` on, and returns where the next one begins; on a malformed record, its
    /// beginning and what is wrong.
    pub fn next(
        &self,
        bytes: &[u8],
        from: usize,
        max: usize,
        quotes: bool,
        out: &mut Records,
    ) -> Result<usize, (usize, Malformed)> {
        out.starts.clear();
        out.ends.clear();
        let state = State { bytes, out, record: from, fields: 0, field: from, closed: None, broken: false };
        match self.dialect.quote.filter(|_| quotes) {
            None => self.plain(state, max),
            Some(quote) => self.quoted(state, max, quote),
        }
    }

    fn plain(&self, mut state: State<'_>, max: usize) -> Result<usize, (usize, Malformed)> {
        let (bytes, mut base) = (state.bytes, state.record);
        while base < bytes.len() {
            let block = load(bytes, base);
            let newlines = equal(&block, self.dialect.newline);
            let mut bits = newlines | equal(&block, self.dialect.delimiter);
            while bits != 0 {
                let bit = bits.trailing_zeros();
                bits &= bits - 1;
                let at = base + bit as usize;
                if newlines >> bit & 1 == 0 {
                    state.out.ends.push(at as u32);
                    state.fields += 1;
                } else if self.end_record(&mut state, at, max)? {
                    return Ok(at + 1);
                }
            }
            base += BLOCK;
        }
        Ok(bytes.len())
    }

    fn quoted(&self, mut state: State<'_>, max: usize, quote: u8) -> Result<usize, (usize, Malformed)> {
        let (bytes, mut base) = (state.bytes, state.record);
        let escape = self.dialect.escape.unwrap_or(quote);
        let (mut inside, mut skip) = (false, 0);
        while base < bytes.len() {
            let block = load(bytes, base);
            let newlines = equal(&block, self.dialect.newline);
            let delimiters = equal(&block, self.dialect.delimiter);
            let mut bits = newlines | delimiters | equal(&block, quote) | equal(&block, escape);
            while bits != 0 {
                let bit = bits.trailing_zeros();
                bits &= bits - 1;
                let at = base + bit as usize;
                if at < skip {
                    continue;
                }
                if inside {
                    let doubled = escape == quote && bytes[at] == quote && bytes.get(at + 1) == Some(&quote);
                    if doubled || escape != quote && bytes[at] == escape {
                        skip = at + 2;
                    } else if bytes[at] == quote {
                        inside = false;
                        state.closed = Some(at + 1);
                    }
                } else if newlines >> bit & 1 != 0 {
                    if self.end_record(&mut state, at, max)? {
                        return Ok(at + 1);
                    }
                } else if delimiters >> bit & 1 != 0 {
                    state.broken |= state.closed.take().is_some_and(|closed| closed != at);
                    state.out.ends.push(at as u32);
                    state.fields += 1;
                    state.field = at + 1;
                } else if bytes[at] == quote && at == state.field {
                    inside = true;
                }
            }
            base += BLOCK;
        }
        if inside && !self.skip_malformed {
            return Err((state.record, Malformed::Unclosed));
        }
        state.out.ends.truncate(state.out.starts.len() * self.width);
        Ok(bytes.len())
    }

    /// Ends the current record at the newline `at`; whether there are enough records now.
    #[inline]
    fn end_record(&self, state: &mut State<'_>, at: usize, max: usize) -> Result<bool, (usize, Malformed)> {
        let has_return = self.dialect.newline == b'\n' && at > state.record && state.bytes[at - 1] == b'\r';
        let end = at - usize::from(has_return);
        state.broken |= state.closed.take().is_some_and(|closed| closed != end);
        state.out.ends.push(end as u32);
        state.fields += 1;
        if state.fields == self.width && !state.broken {
            state.out.starts.push(state.record as u32);
        } else {
            self.end_odd_record(state, end)?;
        }
        state.record = at + 1;
        state.field = at + 1;
        state.fields = 0;
        state.broken = false;
        Ok(state.out.starts.len() == max)
    }

    #[cold]
    fn end_odd_record(&self, state: &mut State<'_>, end: usize) -> Result<(), (usize, Malformed)> {
        let (found, width) = (state.fields, self.width);
        let first = state.out.starts.len() * width;
        let is_empty_line = found == 1 && end == state.record;
        // As in the files of dbgen, whose lines end in a delimiter.
        let has_extra_delimiter = found == width + 1 && state.out.ends[first + width - 1] as usize + 1 == end;
        if !state.broken && !is_empty_line && (has_extra_delimiter || self.pad && found < width) {
            state.out.ends.resize(first + width, end as u32);
            state.out.starts.push(state.record as u32);
            return Ok(());
        }
        state.out.ends.truncate(first);
        if is_empty_line || self.skip_malformed {
            return Ok(());
        }
        Err((state.record, if state.broken { Malformed::AfterQuote } else { Malformed::Fields(found) }))
    }
}

#[inline(always)]
fn load(bytes: &[u8], base: usize) -> [u8; BLOCK] {
    match bytes[base..].first_chunk::<BLOCK>() {
        Some(block) => *block,
        None => {
            // Padded with a byte that is none of the special ones.
            let mut block = [0; BLOCK];
            block[..bytes.len() - base].copy_from_slice(&bytes[base..]);
            block
        }
    }
}

/// Where the last whole record of `bytes`, which begin at the start of a record, ends; `None` when there is none.
pub(super) fn last_record_end(bytes: &[u8], dialect: &Dialect) -> Option<usize> {
    let newline = dialect.newline;
    let quote = dialect.quote.filter(|&quote| memchr::memchr(quote, bytes).is_some());
    let Some(quote) = quote else { return memchr::memrchr(newline, bytes).map(|at| at + 1) };
    let (mut last, mut at) = (None, 0);
    while let Some(found) = memchr::memchr2(quote, newline, &bytes[at..]) {
        at += found;
        if bytes[at] == newline {
            last = Some(at + 1);
        } else if at == 0 || bytes[at - 1] == newline || bytes[at - 1] == dialect.delimiter {
            match closing_quote(bytes, at + 1, quote, dialect.escape.unwrap_or(quote)) {
                Some(close) => at = close,
                None => return last,
            }
        }
        at += 1;
    }
    last
}

/// The position of the quote that closes a field whose text begins at `from`.
pub(super) fn closing_quote(bytes: &[u8], from: usize, quote: u8, escape: u8) -> Option<usize> {
    let mut at = from;
    loop {
        at += memchr::memchr2(quote, escape, bytes.get(at..)?)?;
        let doubled = escape == quote && bytes.get(at + 1) == Some(&quote);
        if doubled || escape != quote && bytes[at] == escape {
            at += 2;
        } else {
            return Some(at);
        }
    }
}
