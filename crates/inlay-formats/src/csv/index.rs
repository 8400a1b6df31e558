//! Where records and fields begin and end in a block of text.
//!
//! A block begins at the start of a record and ends at the end of one. [`Indexer::next`] fills [`Records`] with the
//! ends of the fields of some thousand records at a time, so that text and positions stay in the cache while columns
//! are read from them. Blocks without a quote take a path that looks at delimiters and newlines alone.
//!
//! A quote opens a quoted field only as its first byte or behind spaces; elsewhere it is an ordinary character. Dialects
//! with comments, delimiters of several bytes or without strictness are read record by record ([`Dialect::record`]).

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
    /// Records that were left out.
    pub skipped: Vec<Skipped>,
}

/// A record that was left out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Skipped {
    pub start: u32,
    pub end: u32,
    pub what: Malformed,
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
    /// The record is longer than `max_line_size`.
    Long(usize),
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
    /// Longest record in bytes.
    pub size_max: usize,
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
        out.skipped.clear();
        if !self.dialect.is_simple() {
            return self.general(bytes, from, max, out);
        }
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
            let mut bits = newlines | equal(&block, self.dialect.delimiter[0]);
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
            let delimiters = equal(&block, self.dialect.delimiter[0]);
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
                    state.broken |= self.is_broken(&mut state, at);
                    state.out.ends.push(at as u32);
                    state.fields += 1;
                    state.field = at + 1;
                } else if bytes[at] == quote
                    && state.closed.is_none()
                    && (at == state.field || self.dialect.is_space(&bytes[state.field..at]))
                {
                    inside = true;
                }
            }
            base += BLOCK;
        }
        state.out.ends.truncate(state.out.starts.len() * self.width);
        if inside { self.skip_unclosed(bytes, state.record, state.out) } else { Ok(bytes.len()) }
    }

    /// Leaves out the line in which a quote is opened that is not closed; the lines behind it are records again.
    #[cold]
    fn skip_unclosed(
        &self,
        bytes: &[u8],
        start: usize,
        out: &mut Records,
    ) -> Result<usize, (usize, Malformed)> {
        let end =
            memchr::memchr(self.dialect.newline, &bytes[start..]).map_or(bytes.len(), |size| start + size);
        self.skip(out, start, end, Malformed::Unclosed)?;
        Ok((end + 1).min(bytes.len()))
    }

    /// Whether something other than spaces stands between the closing quote and the end of a field.
    #[inline]
    fn is_broken(&self, state: &mut State<'_>, end: usize) -> bool {
        match state.closed.take() {
            None => false,
            Some(closed) => {
                closed != end && !self.dialect.is_space(state.bytes.get(closed..end).unwrap_or_default())
            }
        }
    }

    /// Records of dialects that single bytes do not tell.
    fn general(
        &self,
        bytes: &[u8],
        from: usize,
        max: usize,
        out: &mut Records,
    ) -> Result<usize, (usize, Malformed)> {
        let (mut at, mut fields) = (from, Vec::with_capacity(self.width));
        while at < bytes.len() && out.starts.len() < max {
            let Some(split) = self.dialect.record(bytes, at, &mut fields) else {
                return self.skip_unclosed(bytes, at, out);
            };
            if let Some(first) = fields.first() {
                debug_assert_eq!(first.start, at);
                out.ends.extend(fields.iter().map(|field| field.end as u32));
                let end = fields.last().map_or(at, |field| field.end);
                let is_broken = split.broken.is_some();
                if fields.len() == self.width && !is_broken && end - at <= self.size_max {
                    out.starts.push(at as u32);
                } else {
                    self.odd_record(bytes, out, at..end, fields.len(), is_broken)?;
                }
            }
            at = split.next;
        }
        Ok(at)
    }

    /// Notes a record that is left out, or fails.
    fn skip(
        &self,
        out: &mut Records,
        start: usize,
        end: usize,
        what: Malformed,
    ) -> Result<(), (usize, Malformed)> {
        if !self.skip_malformed {
            return Err((start, what));
        }
        out.skipped.push(Skipped { start: start as u32, end: end as u32, what });
        Ok(())
    }

    /// Ends the current record at the newline `at`; whether there are enough records now.
    #[inline]
    fn end_record(&self, state: &mut State<'_>, at: usize, max: usize) -> Result<bool, (usize, Malformed)> {
        let has_return = self.dialect.newline == b'\n' && at > state.record && state.bytes[at - 1] == b'\r';
        let end = at - usize::from(has_return);
        state.broken |= self.is_broken(state, end);
        state.out.ends.push(end as u32);
        state.fields += 1;
        if state.fields == self.width && !state.broken && end - state.record <= self.size_max {
            state.out.starts.push(state.record as u32);
        } else {
            self.odd_record(state.bytes, state.out, state.record..end, state.fields, state.broken)?;
        }
        state.record = at + 1;
        state.field = at + 1;
        state.fields = 0;
        state.broken = false;
        Ok(state.out.starts.len() == max)
    }

    /// A record whose `found` fields, the last ends in `out`, are not what they should be.
    #[cold]
    fn odd_record(
        &self,
        bytes: &[u8],
        out: &mut Records,
        record: std::ops::Range<usize>,
        found: usize,
        broken: bool,
    ) -> Result<(), (usize, Malformed)> {
        let (start, end, width) = (record.start, record.end, self.width);
        let first = out.starts.len() * width;
        let is_empty_line = found == 1 && end == start;
        // As in the files of dbgen, whose lines end in a delimiter.
        let has_extra_delimiter =
            found == width + 1 && out.ends[first + width - 1] as usize + self.dialect.delimiter.len() == end;
        let is_long = end - start > self.size_max;
        if !broken && !is_empty_line && !is_long && (has_extra_delimiter || self.pad && found < width) {
            // What is missing begins behind its end.
            out.ends.resize(first + width, end as u32);
            out.starts.push(start as u32);
            return Ok(());
        }
        out.ends.truncate(first);
        let is_hash_line = self.dialect.skips_hash_lines && bytes.get(start) == Some(&b'#') && !is_long;
        if is_empty_line || is_hash_line {
            return Ok(());
        }
        let what = match (is_long, broken) {
            (true, _) => Malformed::Long(end - start),
            (_, true) => Malformed::AfterQuote,
            _ => Malformed::Fields(found),
        };
        self.skip(out, start, end, what)
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
    if !dialect.is_simple() {
        let mut fields = Vec::new();
        // A quote that does not close here may do so behind these bytes.
        let strict = Dialect { strict: true, ..dialect.clone() };
        while let Some(split) = strict.record(bytes, at, &mut fields) {
            at = split.next;
            last = Some(at);
        }
        return last;
    }
    while let Some(found) = memchr::memchr2(quote, newline, &bytes[at..]) {
        at += found;
        if bytes[at] == newline {
            last = Some(at + 1);
        } else if begins_field(bytes, at, dialect) {
            match closing_quote(bytes, at + 1, quote, dialect.escape.unwrap_or(quote)) {
                Some(close) => at = close,
                None => return last,
            }
        }
        at += 1;
    }
    last
}

/// Whether only spaces are between `at` and the beginning of a field.
fn begins_field(bytes: &[u8], at: usize, dialect: &Dialect) -> bool {
    let delimiter = dialect.delimiter[0];
    let before = bytes[..at].iter().rposition(|&byte| byte != b' ' || delimiter == b' ');
    before.is_none_or(|before| bytes[before] == dialect.newline || bytes[before] == delimiter)
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
