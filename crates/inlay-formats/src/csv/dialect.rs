//! How a file separates and quotes, found out from its beginning.
//!
//! Each candidate delimiter and quote splits the sample into records. The one wins whose records agree most on a
//! number of fields above one; among equals the one with more fields, then the more common character.

use super::index::closing_quote;
use super::options::CsvOptions;

/// Special characters of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dialect {
    /// Between fields.
    pub delimiter: u8,
    /// Around fields.
    pub quote: Option<u8>,
    /// Before a quote in quotes; the quote itself when absent.
    pub escape: Option<u8>,
    /// Ends a record; a carriage return before a line feed belongs to it.
    pub newline: u8,
}

/// Candidates, common ones first.
const DELIMITERS: [u8; 5] = [b',', b'|', b';', b'\t', b'~'];
const QUOTES: [u8; 2] = [b'"', b'\''];
/// Records that a dialect is judged by.
const RECORDS: usize = 1000;

/// A field of a record: its range, quotes included.
pub(super) type FieldRange = std::ops::Range<usize>;

impl Dialect {
    /// The dialect of a file that begins with `sample`, as far as `options` leave it open.
    pub(super) fn sniff(sample: &[u8], options: &CsvOptions) -> Self {
        let newline = if memchr::memchr(b'\n', sample).is_none() && memchr::memchr(b'\r', sample).is_some() {
            b'\r'
        } else {
            b'\n'
        };
        let delimiters = options.delimiter.map_or(DELIMITERS.to_vec(), |d| vec![d]);
        let quotes = options.quote.map_or(QUOTES.map(Some).to_vec(), |q| vec![q]);
        let escape = options.escape.flatten();
        let wanted = options.columns.as_ref().map(Vec::len);
        let mut best: Option<((u64, u64, usize), Self)> = None;
        for &quote in &quotes {
            for &delimiter in &delimiters {
                let dialect = Self { delimiter, quote, escape, newline };
                let score = dialect.score(sample, wanted);
                if best.as_ref().is_none_or(|(other, _)| score > *other) {
                    best = Some((score, dialect));
                }
            }
        }
        best.map_or(Self { delimiter: b',', quote: Some(b'"'), escape, newline }, |(_, dialect)| dialect)
    }

    /// How well records agree: share of records (in 1/64) with the commonest number of fields, quoted fields that
    /// close properly, and the number of fields.
    fn score(&self, sample: &[u8], wanted: Option<usize>) -> (u64, u64, usize) {
        let mut counts: Vec<usize> = Vec::new();
        let (mut at, mut quoted) = (0, 0u64);
        while at < sample.len() && counts.len() < RECORDS {
            let Some((fields, next)) = self.split(sample, at) else { break };
            if !(fields.len() == 1 && fields[0].is_empty()) {
                quoted += fields.iter().filter(|f| self.is_quoted(&sample[(*f).clone()])).count() as u64;
                counts.push(fields.len());
            }
            at = next;
        }
        counts.sort_unstable();
        let runs = counts.chunk_by(|a, b| a == b).map(|run| (run.len(), run[0]));
        let (times, fields) = runs.max().unwrap_or((0, 0));
        if fields < 2 && wanted != Some(1) {
            return (0, u64::from(quoted > 0), fields);
        }
        let agreement = 1 + (times * 64).checked_div(counts.len()).unwrap_or(0) as u64;
        let fits = wanted.is_some_and(|wanted| wanted == fields || wanted + 1 == fields);
        (agreement + u64::from(fits) * 64, u64::from(quoted > 0), fields)
    }

    fn is_quoted(&self, field: &[u8]) -> bool {
        self.quote.is_some_and(|q| field.len() >= 2 && field[0] == q && field[field.len() - 1] == q)
    }

    /// The fields of the record at `from` and where the next begins; `None` when it does not end.
    pub(super) fn split(&self, bytes: &[u8], from: usize) -> Option<(Vec<FieldRange>, usize)> {
        let (mut fields, mut start, mut at) = (Vec::new(), from, from);
        loop {
            if let Some(quote) = self.quote.filter(|q| at == start && bytes.get(at) == Some(q)) {
                at = closing_quote(bytes, at + 1, quote, self.escape.unwrap_or(quote))? + 1;
            }
            at += memchr::memchr2(self.delimiter, self.newline, bytes.get(at..)?)?;
            if bytes[at] == self.delimiter {
                fields.push(start..at);
                at += 1;
                start = at;
                continue;
            }
            let has_return = self.newline == b'\n' && at > start && bytes[at - 1] == b'\r';
            fields.push(start..at - usize::from(has_return));
            return Some((fields, at + 1));
        }
    }

    /// A field's text without its quotes and escapes.
    pub(super) fn unquoted<'a>(&self, field: &'a [u8], scratch: &'a mut Vec<u8>) -> &'a [u8] {
        let Some(quote) = self.quote.filter(|q| field.first() == Some(q)) else { return field };
        let inner = match field {
            [_, inner @ .., last] if *last == quote => inner,
            _ => return field,
        };
        let escape = self.escape.unwrap_or(quote);
        if memchr::memchr(escape, inner).is_none() {
            return inner;
        }
        scratch.clear();
        let mut at = 0;
        while at < inner.len() {
            if inner[at] == escape && at + 1 < inner.len() {
                at += 1;
            }
            scratch.push(inner[at]);
            at += 1;
        }
        scratch
    }
}
