//! How a file separates and quotes, found out from its beginning.
//!
//! Each candidate delimiter, quote and escape splits the sample into records. The one wins whose records agree most on a
//! number of fields above one; among equals the one whose quotes close properly, then the one with more fields, then the
//! more common character.

use super::index::closing_quote;
use super::options::CsvOptions;
use super::sniff::DIALECT_SAMPLE;
use std::ops::Range;

/// Special characters of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dialect {
    /// Between fields; one to four bytes.
    pub delimiter: Vec<u8>,
    /// Around fields.
    pub quote: Option<u8>,
    /// Before a quote in quotes; the quote itself when absent.
    pub escape: Option<u8>,
    /// Ends a record; a carriage return before a line feed belongs to it.
    pub newline: u8,
    /// Begins a comment, which the end of the line ends.
    pub comment: Option<u8>,
    /// Lines that begin with `#` and do not have the fields of a record are comments.
    pub skips_hash_lines: bool,
    /// Whether text behind a closing quote, and a quote that does not close, are errors.
    pub strict: bool,
}

/// Candidates, common ones first.
const DELIMITERS: [u8; 5] = [b',', b'|', b';', b'\t', b'~'];
const QUOTES: [u8; 2] = [b'"', b'\''];
/// Records that a dialect is judged by.
const RECORDS: usize = 1000;

/// A field of a record: its range, quotes included.
pub(super) type FieldRange = Range<usize>;

/// Where a record ends.
pub(super) struct Split {
    /// Where the next one begins.
    pub next: usize,
    /// The first field that has text behind its closing quote.
    pub broken: Option<usize>,
}

/// How well a dialect fits; larger is better.
type Score = (u64, u64, usize);

/// A record of more fields is cut, which no table has columns for.
pub(super) const FIELDS_MAX: usize = 1 << 16;

impl Dialect {
    /// The dialect of a file that begins with `sample`, as far as `options` leave it open.
    pub(super) fn sniff(sample: &[u8], options: &CsvOptions) -> Self {
        let has = |byte| memchr::memchr(byte, sample).is_some();
        let found = if !has(b'\n') && has(b'\r') { b'\r' } else { b'\n' };
        let newline = options.newline.unwrap_or(found);
        let delimiters =
            options.delimiter.as_ref().map_or(DELIMITERS.map(|d| vec![d]).to_vec(), |d| vec![d.clone()]);
        let quotes = options.quote.map_or(QUOTES.map(Some).to_vec(), |q| vec![q]);
        // A backslash can be seen to escape only where one is in front of a quote.
        let may_escape = has(b'\\') && options.escape.is_none();
        let wanted = options.columns.as_ref().map(Vec::len);
        let mut best: Option<(Score, Self)> = None;
        for escape in [options.escape.flatten(), may_escape.then_some(b'\\')] {
            if escape.is_none() && best.is_some() {
                continue;
            }
            for &quote in &quotes {
                for delimiter in &delimiters {
                    let dialect = Self {
                        delimiter: delimiter.clone(),
                        quote,
                        escape,
                        newline,
                        comment: options.comment.flatten(),
                        skips_hash_lines: options.comment.is_none() && has(b'#'),
                        strict: options.strict,
                    };
                    let score = dialect.score(sample, wanted);
                    if best.as_ref().is_none_or(|(other, _)| score > *other) {
                        best = Some((score, dialect));
                    }
                }
            }
        }
        best.map_or_else(|| Self::plain(newline), |(_, dialect)| dialect)
    }

    fn plain(newline: u8) -> Self {
        Self {
            delimiter: vec![b','],
            quote: Some(b'"'),
            escape: None,
            newline,
            comment: None,
            skips_hash_lines: false,
            strict: true,
        }
    }

    /// Whether records are found by looking at single bytes: the quick way of the index.
    pub(super) fn is_simple(&self) -> bool {
        self.delimiter.len() == 1 && self.comment.is_none() && self.strict
    }

    /// How well records agree: share of records (in 1/64) with the commonest number of fields, whether there are quoted
    /// fields and all close properly, and the number of fields.
    fn score(&self, sample: &[u8], wanted: Option<usize>) -> Score {
        let mut counts: Vec<usize> = Vec::new();
        let (mut at, mut quoted, mut broken) = (0, 0u64, 0u64);
        let mut fields = Vec::new();
        while at < sample.len() && counts.len() < RECORDS {
            let Some(split) = self.record(sample, at, &mut fields) else {
                // The last record of a sample is cut; a long one, or one of a whole file, has a quote that does not close.
                broken += u64::from((sample.len() as u64) < DIALECT_SAMPLE || sample.len() - at > 1 << 16);
                break;
            };
            let is_hash_line = self.skips_hash_lines && sample[at] == b'#';
            if !(fields.is_empty() || fields.len() == 1 && fields[0].is_empty() || is_hash_line) {
                quoted += fields.iter().filter(|f| self.quoted_part(&sample[(*f).clone()]).is_some()).count()
                    as u64;
                broken += u64::from(split.broken.is_some());
                counts.push(fields.len());
            }
            at = split.next;
        }
        counts.sort_unstable();
        let runs = counts.chunk_by(|a, b| a == b).map(|run| (run.len(), run[0]));
        let (times, width) = runs.max().unwrap_or((0, 0));
        let is_proper = u64::from(quoted > 0 && broken == 0);
        if width < 2 && wanted != Some(1) {
            // A column alone whose values are quoted is one, whatever stands between its quotes.
            let agreement = match is_proper == 1 && times == counts.len() {
                true if quoted as usize + 1 >= times => 66,
                true => 64,
                false => 0,
            };
            return (agreement, is_proper, width);
        }
        let agreement = 1 + (times * 64).checked_div(counts.len()).unwrap_or(0) as u64;
        let fits = wanted.is_some_and(|wanted| wanted == width || wanted + 1 == width);
        (agreement + u64::from(fits) * 64, is_proper, width)
    }

    /// Whether all of a text is spaces that may stand between a quote and a delimiter.
    #[inline]
    pub(super) fn is_space(&self, text: &[u8]) -> bool {
        text.is_empty() || text.iter().all(|&byte| byte == b' ') && self.delimiter[0] != b' '
    }

    /// The fields of the record at `from` and where the next begins; `None` when it does not end. A line that is a comment
    /// has no fields.
    pub(super) fn record(&self, bytes: &[u8], from: usize, out: &mut Vec<FieldRange>) -> Option<Split> {
        out.clear();
        let mut broken = None;
        let mut start = from;
        loop {
            let (mut at, mut closed) = (start, None);
            if let Some(quote) = self.quote {
                let spaces = bytes.get(start..)?.iter().take_while(|&&byte| byte == b' ').count();
                let open = start + if self.delimiter[0] == b' ' { 0 } else { spaces };
                if bytes.get(open) == Some(&quote) {
                    match closing_quote(bytes, open + 1, quote, self.escape.unwrap_or(quote)) {
                        Some(close) => {
                            at = close + 1;
                            closed = Some(at);
                        }
                        None if self.strict => return None,
                        None => at = open + 1,
                    }
                }
            }
            let (found, what) = self.next_special(bytes, at)?;
            let has_return =
                what == self.newline && self.newline == b'\n' && found > start && bytes[found - 1] == b'\r';
            let end = found - usize::from(has_return);
            if self.strict
                && closed.is_some_and(|closed| closed <= end && !self.is_space(&bytes[closed..end]))
            {
                broken.get_or_insert(out.len());
            }
            if Some(what) == self.comment && what != self.delimiter[0] {
                let next = found + memchr::memchr(self.newline, &bytes[found..])? + 1;
                if !(out.is_empty() && bytes[from..found].iter().all(|&byte| byte == b' ')) {
                    out.push(start..end);
                }
                return Some(Split { next, broken });
            }
            if out.len() <= FIELDS_MAX {
                out.push(start..end);
            }
            if what == self.newline {
                return Some(Split { next: found + 1, broken });
            }
            start = found + self.delimiter.len();
        }
    }

    /// Whether there is a record that is no empty line.
    pub(super) fn holds_record(&self, bytes: &[u8]) -> bool {
        let (mut at, mut fields) = (0, Vec::new());
        while let Some(split) = self.record(bytes, at, &mut fields) {
            if !(fields.is_empty() || fields.len() == 1 && fields[0].is_empty()) {
                return true;
            }
            at = split.next;
        }
        false
    }

    /// The next delimiter, line end or comment, and its first byte.
    fn next_special(&self, bytes: &[u8], from: usize) -> Option<(usize, u8)> {
        let (delimiter, mut at) = (self.delimiter[0], from);
        loop {
            at += match self.comment {
                None => memchr::memchr2(delimiter, self.newline, bytes.get(at..)?)?,
                Some(comment) => memchr::memchr3(delimiter, self.newline, comment, bytes.get(at..)?)?,
            };
            let what = bytes[at];
            if what != delimiter || self.delimiter.len() == 1 || bytes[at..].starts_with(&self.delimiter) {
                return Some((at, what));
            }
            at += 1;
        }
    }

    /// A quoted field without spaces around it; `None` if the field is not quoted.
    #[inline]
    pub(super) fn quoted_part<'a>(&self, field: &'a [u8]) -> Option<&'a [u8]> {
        let quote = self.quote?;
        let first = *field.first()?;
        if first != quote && first != b' ' {
            return None;
        }
        let mut part = field;
        if first == b' ' || field.last() == Some(&b' ') {
            if self.delimiter[0] == b' ' {
                return None;
            }
            while let [b' ', rest @ ..] = part {
                part = rest;
            }
            while let [rest @ .., b' '] = part {
                part = rest;
            }
        }
        (part.len() >= 2 && part[0] == quote && part[part.len() - 1] == quote).then_some(part)
    }

    /// A field's text without its quotes and escapes.
    pub(super) fn unquoted<'a>(&self, field: &'a [u8], scratch: &'a mut Vec<u8>) -> &'a [u8] {
        let (Some(part), Some(quote)) = (self.quoted_part(field), self.quote) else { return field };
        let inner = &part[1..part.len() - 1];
        let escape = self.escape.unwrap_or(quote);
        if memchr::memchr(escape, inner).is_none() {
            return inner;
        }
        scratch.clear();
        let mut at = 0;
        while at < inner.len() {
            let next = inner.get(at + 1).copied();
            if inner[at] == escape && (next == Some(quote) || next == Some(escape)) {
                at += 1;
            }
            scratch.push(inner[at]);
            at += 1;
        }
        scratch
    }
}
