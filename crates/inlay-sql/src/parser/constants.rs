//! Long lists of literals, taken out of the text before it becomes tokens.
//!
//! `IN (1, 2, ...)`, `[1, 2, ...]` and `VALUES (1, 'a'), ...` may be megabytes, and a token, a node of `sqlparser`'s tree
//! and one of ours for each literal cost a hundred times the text. So one walk over the text finds runs of plain
//! literals in these three places and puts a single placeholder in their place; the conversion of the tree turns it into
//! [`Constants`]. Whatever is not plain (an expression, a parameter, a comment) ends a run and is read as always.
//!
//! The same walk looks at the limits of the binder (how much SELECT, FROM, WITH and CREATE TABLE list) and of
//! [`super::guard`] (how long chains of operators are, and how deep parentheses nest), so that a hostile text ends here,
//! before there are millions of tokens. What it lets through is looked at again.

use super::ast::{Constants, Pos, advance};
use super::limits::{CHAIN_MAX, CTES_MAX, FROM_MAX, ITEMS_MAX, OPERATORS_MAX, PARENTHESES_MAX, WORDS_MAX};
use super::{dialect, syntax_at};
use inlay_types::{Error, Result};
use sqlparser::tokenizer::{Location, Span, Token, TokenWithSpan, Tokenizer};
use std::sync::Arc;

/// Fewer literals in a row are not worth it.
const RUN_MIN: usize = 32;
/// Nothing is long in a text of fewer bytes.
const SHORT_BYTES: usize = 64;
/// What a placeholder's text begins with; no text that is read can make one.
const MARK: char = '\u{1}';

/// The tokens of a text, and the runs of literals that placeholders among them stand for.
pub(super) fn tokens_of(sql: &str) -> Result<(Vec<TokenWithSpan>, Vec<Arc<Constants>>)> {
    let runs = if sql.len() < SHORT_BYTES { Vec::new() } else { Walk::new(sql).run()? };
    let mut tokens = Vec::new();
    let mut constants = Vec::with_capacity(runs.len());
    let (mut at, mut pos) = (0, Pos { line: 1, column: 1 });
    for run in runs {
        let (before, text) = (&sql[at..run.start], &sql[run.start..run.end]);
        tokenize(before, pos, sql, &mut tokens)?;
        pos = advance(pos, before);
        let mark = Token::Placeholder(format!("{MARK}{}", constants.len()));
        let end = advance(pos, text);
        let span = Span { start: location(pos), end: location(end) };
        if run.width == 0 {
            tokens.push(TokenWithSpan { token: mark, span });
        } else {
            let row = [Token::LParen, mark, Token::RParen];
            tokens.extend(row.map(|token| TokenWithSpan { token, span }));
        }
        constants.push(Arc::new(Constants::new(text, run.items, run.width, pos)));
        (at, pos) = (run.end, end);
    }
    tokenize(&sql[at..], pos, sql, &mut tokens)?;
    super::colon::name_parameters(&mut tokens);
    Ok((tokens, constants))
}

/// The number of the run that a placeholder stands for.
pub(super) fn number_of(placeholder: &str) -> Option<usize> {
    placeholder.strip_prefix(MARK)?.parse().ok()
}

fn location(pos: Pos) -> Location {
    Location { line: u64::from(pos.line), column: u64::from(pos.column) }
}

/// Appends the tokens of a part of `sql` that begins at `start`.
fn tokenize(part: &str, start: Pos, sql: &str, out: &mut Vec<TokenWithSpan>) -> Result<()> {
    let moved = |place: Location| Location {
        line: place.line + u64::from(start.line) - 1,
        column: if place.line == 1 { place.column + u64::from(start.column) - 1 } else { place.column },
    };
    let tokens = Tokenizer::new(&dialect::InlayDialect, part).tokenize_with_location().map_err(|error| {
        let place = if error.location.line == 0 { error.location } else { moved(error.location) };
        syntax_at(&error.message, super::convert::pos_of(place), sql)
    })?;
    if out.is_empty() && start.line == 1 && start.column == 1 {
        *out = tokens;
        return Ok(());
    }
    out.extend(tokens.into_iter().map(|TokenWithSpan { token, span }| TokenWithSpan {
        token,
        span: Span { start: moved(span.start), end: moved(span.end) },
    }));
    Ok(())
}

/// Literals in a row: their bytes in the text, and where each lies in these.
struct Run {
    start: usize,
    end: usize,
    items: Vec<(u32, u32)>,
    /// Literals of a row of VALUES; 0 for parts of a list.
    width: usize,
}

/// What is being listed at a level of parentheses.
#[derive(Clone, Copy, PartialEq)]
enum Listing {
    Nothing,
    Select,
    From,
    With,
    /// `CREATE TABLE name (`
    Columns,
}

struct Level {
    listing: Listing,
    /// Items of the listing.
    count: usize,
    /// Where its first item begins.
    first: Option<usize>,
    /// Values of `IN (` or `[`.
    holds_values: bool,
    /// VALUES has been read, and nothing but rows behind it.
    in_rows: bool,
    /// No word has been read.
    is_empty: bool,
    /// Words of `CREATE ... TABLE` were read.
    creates: bool,
    creates_table: bool,
    /// AND, OR and the like since the last comma.
    logical: usize,
    /// Other operators since the last of those.
    operators: usize,
}

impl Level {
    fn new() -> Self {
        Self {
            listing: Listing::Nothing,
            count: 0,
            first: None,
            holds_values: false,
            in_rows: false,
            is_empty: true,
            creates: false,
            creates_table: false,
            logical: 0,
            operators: 0,
        }
    }
}

/// The last thing in front that is neither white space nor a comment.
#[derive(Clone, Copy, PartialEq)]
enum Before {
    In,
    Values,
    Distinct,
    Word,
    Comma,
    Other,
}

struct Walk<'a> {
    sql: &'a str,
    bytes: &'a [u8],
    at: usize,
    levels: Vec<Level>,
    before: Before,
    /// The last word.
    word: (usize, usize),
    /// Words since anything else.
    words: usize,
    /// CASEs that are open.
    cases: usize,
    runs: Vec<Run>,
    /// A clause reads its lists itself.
    has_pivot: bool,
}

impl<'a> Walk<'a> {
    fn new(sql: &'a str) -> Self {
        Self {
            sql,
            bytes: sql.as_bytes(),
            at: 0,
            levels: vec![Level::new()],
            before: Before::Other,
            word: (0, 0),
            words: 0,
            cases: 0,
            runs: Vec::new(),
            has_pivot: false,
        }
    }

    fn run(mut self) -> Result<Vec<Run>> {
        if u32::try_from(self.bytes.len()).is_err() {
            return Ok(Vec::new());
        }
        while let Some(&byte) = self.bytes.get(self.at) {
            let next = self.bytes.get(self.at + 1).copied();
            match (byte, next) {
                (b' ' | b'\t' | b'\r' | b'\n', _) => self.at += 1,
                (b'-', Some(b'-')) => self.at = find(self.bytes, self.at, b'\n'),
                (b'/', Some(b'*')) => self.at = end_of_comment(self.bytes, self.at),
                (b'\'' | b'"', _) => {
                    let is_escaped = byte == b'\'' && self.word.1 == self.at && self.is_word("e");
                    self.quoted(byte, is_escaped);
                }
                (b'$', _) => match end_of_dollars(self.bytes, self.at) {
                    Some(end) => {
                        self.at = end;
                        self.before = Before::Other;
                    }
                    // Not closed: what is behind is no code, and no tokens either.
                    None => break,
                },
                (b'a'..=b'z' | b'A'..=b'Z' | b'_' | 0x80.., _) => self.read_word()?,
                // No part of what a number begins is a word.
                (b'0'..=b'9', _) => {
                    self.words = 0;
                    self.at = end_of_word(self.bytes, self.at);
                    if let Some([b'.', b'0'..=b'9']) = self.bytes.get(self.at..self.at + 2) {
                        self.at = end_of_word(self.bytes, self.at + 1);
                    }
                    self.before = Before::Other;
                }
                (b'(' | b'[' | b'{', _) => self.open(byte)?,
                (b')' | b']' | b'}', _) => self.close()?,
                (b',', _) => self.comma(),
                (b';', _) => {
                    while self.levels.len() > 1 {
                        self.close()?;
                    }
                    self.end_listing()?;
                    self.levels = vec![Level::new()];
                    self.before = Before::Other;
                    (self.words, self.cases) = (0, 0);
                    self.at += 1;
                }
                (b'?', _) => {
                    self.before = Before::Other;
                    self.at += 1;
                }
                _ => self.operator()?,
            }
        }
        while self.levels.len() > 1 {
            self.close()?;
        }
        self.end_listing()?;
        Ok(if self.has_pivot { Vec::new() } else { self.runs })
    }

    /// One or more operators without anything between them, which count as one.
    fn operator(&mut self) -> Result<()> {
        let start = self.at;
        self.at += 1;
        let is_operator = |byte: &u8| b"+-*/%^<>=!~|&#@:.".contains(byte);
        while self.bytes.get(self.at).is_some_and(is_operator)
            && !matches!(self.bytes.get(self.at..self.at + 2), Some(b"--" | b"/*"))
        {
            self.at += 1;
        }
        self.before = Before::Other;
        self.words = 0;
        self.count_operator(start)
    }

    fn count_operator(&mut self, start: usize) -> Result<()> {
        self.level().operators += 1;
        if self.level().operators > OPERATORS_MAX {
            return Err(self.refuse(start, format!("more than {OPERATORS_MAX} operators in a row")));
        }
        Ok(())
    }

    fn refuse(&self, start: usize, message: String) -> Error {
        let pos = advance(Pos { line: 1, column: 1 }, self.sql.get(..start).unwrap_or_default());
        syntax_at(&message, pos, self.sql)
    }

    /// Counts what a word does to a chain of operators, and the words themselves.
    fn count_word(&mut self, start: usize, end: usize) -> Result<()> {
        let is = |wanted: &str| self.bytes[start..end].eq_ignore_ascii_case(wanted.as_bytes());
        let is_any = |words: &[&str]| words.iter().any(|word| is(word));
        let (is_case, is_end) = (is("case"), is("end"));
        let is_logical = is_any(&["and", "or", "union", "except", "intersect", "join"]);
        let is_separator = is_any(&["when", "then", "else", "select", "from"]);
        let is_operator = is_any(&[
            "not", "is", "in", "between", "like", "ilike", "glob", "similar", "collate", "zone", "pivot",
            "unpivot", "notnull",
        ]);
        self.words = if is_logical || is_separator || is_operator { 0 } else { self.words + 1 };
        if self.words > WORDS_MAX {
            return Err(self.refuse(start, format!("more than {WORDS_MAX} words in a row")));
        }
        if is_case {
            self.cases += 1;
            if self.cases > PARENTHESES_MAX {
                return Err(self.refuse(start, format!("CASE nests deeper than {PARENTHESES_MAX} levels")));
            }
        } else if is_end {
            self.cases = self.cases.saturating_sub(1);
        } else if is_logical {
            let level = self.level();
            (level.logical, level.operators) = (level.logical + 1, 0);
            if level.logical > CHAIN_MAX {
                return Err(self.refuse(start, format!("more than {CHAIN_MAX} operators in a row")));
            }
        } else if is_separator {
            self.level().operators = 0;
        } else if is_operator {
            return self.count_operator(start);
        }
        Ok(())
    }

    fn level(&mut self) -> &mut Level {
        if self.levels.is_empty() {
            self.levels.push(Level::new());
        }
        let last = self.levels.len() - 1;
        &mut self.levels[last]
    }

    fn is_word(&self, wanted: &str) -> bool {
        self.bytes[self.word.0..self.word.1].eq_ignore_ascii_case(wanted.as_bytes())
    }

    fn quoted(&mut self, quote: u8, is_escaped: bool) {
        self.start_item();
        let start = self.at;
        self.words = 0;
        self.at += 1;
        while let Some(&byte) = self.bytes.get(self.at) {
            self.at += 1;
            if byte == quote {
                break;
            }
            if is_escaped && byte == b'\\' {
                self.at += 1;
            }
        }
        self.before = Before::Other;
        if quote == b'"' {
            self.word = (start, self.at.min(self.bytes.len()));
        }
    }

    /// Notes that an item of a listing begins, if one does.
    fn start_item(&mut self) {
        let (at, starts) = (self.at, matches!(self.before, Before::Comma));
        let level = self.level();
        if level.listing == Listing::Columns && (starts || level.first.is_none()) {
            level.count += 1;
        }
        level.first.get_or_insert(at);
    }

    fn read_word(&mut self) -> Result<()> {
        let (start, end) = (self.at, end_of_word(self.bytes, self.at));
        self.count_word(start, end)?;
        let is_first = self.level().is_empty;
        let listing = self.level().listing;
        let before = self.before;
        self.word = (start, end);
        let is = |wanted: &str| self.bytes[start..end].eq_ignore_ascii_case(wanted.as_bytes());
        const ENDS: [&str; 20] = [
            "where",
            "group",
            "having",
            "order",
            "window",
            "qualify",
            "limit",
            "offset",
            "union",
            "except",
            "intersect",
            "using",
            "values",
            "set",
            "on",
            "insert",
            "update",
            "delete",
            "create",
            "returning",
        ];
        const CONSTRAINTS: [&str; 5] = ["constraint", "primary", "unique", "check", "foreign"];
        let next = match () {
            () if is("select") => Some(Listing::Select),
            () if is("from") && listing == Listing::Select && before != Before::Distinct => {
                Some(Listing::From)
            }
            () if is("with") && is_first => Some(Listing::With),
            () if ENDS.iter().any(|word| is(word)) => Some(Listing::Nothing),
            () => None,
        };
        let (creates, table, is_as) = (is("create"), is("table"), is("as"));
        let is_constraint = listing == Listing::Columns && CONSTRAINTS.iter().any(|word| is(word));
        self.has_pivot |= ["pivot", "unpivot", "pivot_wider", "pivot_longer"].iter().any(|word| is(word));
        self.before = match () {
            () if is("in") => Before::In,
            () if is("values") => Before::Values,
            () if is("distinct") => Before::Distinct,
            () => Before::Word,
        };
        let (is_values, is_recursive) = (is("values"), is("recursive"));
        if listing != Listing::Columns
            && let Some(next) = next
        {
            self.end_listing()?;
            let level = self.level();
            (level.listing, level.count, level.first) = (next, 1, None);
        } else if !(is_constraint || listing == Listing::With && is_recursive) {
            self.before_item(before);
        }
        let level = self.level();
        level.creates = (level.creates || is_first && creates) && !is_as;
        level.creates_table = level.creates && (level.creates_table || table);
        level.is_empty = false;
        level.in_rows = is_values;
        self.at = end;
        Ok(())
    }

    fn before_item(&mut self, before: Before) {
        let own = std::mem::replace(&mut self.before, before);
        self.start_item();
        self.before = own;
    }

    fn open(&mut self, byte: u8) -> Result<()> {
        self.words = 0;
        let takes_rows = self.level().in_rows && matches!(self.before, Before::Values | Before::Comma);
        if byte == b'(' && takes_rows && self.rows() {
            return Ok(());
        }
        let at = self.at;
        if byte == b'[' {
            self.count_operator(at)?;
        }
        if self.levels.len() >= PARENTHESES_MAX {
            return Err(self.refuse(at, format!("parentheses nest deeper than {PARENTHESES_MAX} levels")));
        }
        let holds_values = byte == b'[' || (byte == b'(' && self.before == Before::In);
        let defines = byte == b'(' && std::mem::take(&mut self.level().creates_table);
        let listing = if defines { Listing::Columns } else { Listing::Nothing };
        self.level().first.get_or_insert(at);
        self.levels.push(Level { holds_values, listing, ..Level::new() });
        self.before = Before::Other;
        self.at += 1;
        if holds_values {
            self.list();
        }
        Ok(())
    }

    fn close(&mut self) -> Result<()> {
        if self.levels.len() > 1 {
            self.end_listing()?;
            self.levels.pop();
        }
        self.words = 0;
        self.before = Before::Other;
        self.at += 1;
        Ok(())
    }

    fn comma(&mut self) {
        self.before = Before::Comma;
        self.words = 0;
        self.at += 1;
        let level = self.level();
        (level.logical, level.operators) = (0, 0);
        if level.listing != Listing::Columns {
            level.count += 1;
        }
        if level.holds_values {
            self.list();
        }
    }

    /// Fails if more was listed than the binder takes.
    fn end_listing(&mut self) -> Result<()> {
        let sql = self.sql;
        let level = self.level();
        let count = level.count;
        let message = match std::mem::replace(&mut level.listing, Listing::Nothing) {
            Listing::Select if count > ITEMS_MAX => {
                format!("{count} columns behind SELECT are above the limit of {ITEMS_MAX}")
            }
            Listing::From if count > FROM_MAX => {
                format!("{count} tables in one FROM are above the limit of {FROM_MAX}")
            }
            Listing::With if count > CTES_MAX => {
                let pos = advance(Pos { line: 1, column: 1 }, &sql[..level.first.unwrap_or(0)]);
                let error = Error::out_of_range(format!("the query has more than {CTES_MAX} CTEs"));
                return Err(error.at(pos.line, pos.column, sql));
            }
            Listing::Columns if count > ITEMS_MAX => {
                format!("{count} columns of a table are above the limit of {ITEMS_MAX}")
            }
            _ => return Ok(()),
        };
        Err(Error::out_of_range(message))
    }

    /// At the first item of a list, or behind a comma: takes the literals here, if there are many.
    fn list(&mut self) {
        let start = skip_space(self.bytes, self.at);
        let (items, end) = literals(self.bytes, start);
        if items.len() >= RUN_MIN {
            let level = self.level();
            level.count += items.len() - 1;
            self.runs.push(Run { start, end, items, width: 0 });
            self.at = end;
            self.before = Before::Other;
        }
    }

    /// At the parenthesis of a row: takes the rows of literals here, if there are many. All have as many.
    fn rows(&mut self) -> bool {
        let (start, mut width) = (self.at, 0);
        let (mut items, mut end) = (Vec::new(), start);
        let mut at = start;
        while self.bytes.get(at) == Some(&b'(') {
            let Some((row, behind)) = row(self.bytes, at, start, &mut items) else { break };
            if width == 0 {
                width = row;
            } else if width != row {
                items.truncate(items.len() - row);
                break;
            }
            end = behind;
            at = skip_space(self.bytes, behind);
            if self.bytes.get(at) != Some(&b',') {
                break;
            }
            at = skip_space(self.bytes, at + 1);
        }
        if items.len() < RUN_MIN || items.len() < 2 * width {
            return false;
        }
        self.runs.push(Run { start, end, items, width });
        self.at = end;
        self.before = Before::Other;
        true
    }
}

/// The literals from `start` on, each with a comma or the end of the list behind it, and where the last one ends.
fn literals(bytes: &[u8], start: usize) -> (Vec<(u32, u32)>, usize) {
    let (mut items, mut at, mut end) = (Vec::new(), start, start);
    while let Some(behind) = literal(bytes, at) {
        let next = skip_space(bytes, behind);
        let is_last = match bytes.get(next) {
            Some(b',') => false,
            Some(b')' | b']') => true,
            _ => break,
        };
        items.push(((at - start) as u32, (behind - start) as u32));
        end = behind;
        if is_last {
            break;
        }
        at = skip_space(bytes, next + 1);
    }
    (items, end)
}

/// At a parenthesis: adds the literals in it to `items`; their number, and where the closing one ends. Adds none if
/// something else is among them.
fn row(bytes: &[u8], open: usize, start: usize, items: &mut Vec<(u32, u32)>) -> Option<(usize, usize)> {
    let known = items.len();
    let mut at = skip_space(bytes, open + 1);
    while let Some(behind) = literal(bytes, at) {
        items.push(((at - start) as u32, (behind - start) as u32));
        let next = skip_space(bytes, behind);
        match bytes.get(next) {
            Some(b',') => at = skip_space(bytes, next + 1),
            Some(b')') => return Some((items.len() - known, next + 1)),
            _ => break,
        }
    }
    items.truncate(known);
    None
}

/// Where the plain literal at `at` ends: a number, a string, NULL, TRUE or FALSE.
fn literal(bytes: &[u8], at: usize) -> Option<usize> {
    let end = match bytes.get(at)? {
        b'\'' => return string(bytes, at),
        b'-' | b'0'..=b'9' => number(bytes, at)?,
        b'n' | b'N' => word(bytes, at, b"null")?,
        b't' | b'T' => word(bytes, at, b"true")?,
        b'f' | b'F' => word(bytes, at, b"false")?,
        _ => return None,
    };
    // `1_000`, `0x1f` and `nullable` are something else.
    let goes_on = bytes
        .get(end)
        .is_some_and(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'$' | 0x80..));
    (!goes_on).then_some(end)
}

fn string(bytes: &[u8], start: usize) -> Option<usize> {
    let mut at = start + 1;
    loop {
        at = find(bytes, at, b'\'') + 1;
        if at > bytes.len() {
            return None;
        }
        if bytes.get(at) != Some(&b'\'') {
            return Some(at);
        }
        at += 1;
    }
}

/// `-12`, `1.5`, `1.5e-3`
fn number(bytes: &[u8], start: usize) -> Option<usize> {
    let digits = |at: usize| {
        let count = bytes[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        (count > 0).then_some(at + count)
    };
    let mut at = digits(start + usize::from(bytes[start] == b'-'))?;
    if bytes.get(at) == Some(&b'.') {
        at = digits(at + 1)?;
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        at = digits(at + 1 + usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-'))))?;
    }
    Some(at)
}

fn word(bytes: &[u8], start: usize, wanted: &[u8]) -> Option<usize> {
    let end = start + wanted.len();
    bytes.get(start..end)?.eq_ignore_ascii_case(wanted).then_some(end)
}

fn skip_space(bytes: &[u8], mut at: usize) -> usize {
    while matches!(bytes.get(at), Some(b' ' | b'\t' | b'\r' | b'\n')) {
        at += 1;
    }
    at
}

pub(super) fn end_of_word(bytes: &[u8], start: usize) -> usize {
    let part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | 0x80..);
    start + bytes[start..].iter().take_while(|byte| part(byte)).count()
}

pub(super) fn find(bytes: &[u8], start: usize, wanted: u8) -> usize {
    let rest = bytes.get(start..).unwrap_or_default();
    rest.iter().position(|byte| *byte == wanted).map_or(bytes.len(), |index| start + index)
}

/// Comments nest.
pub(super) fn end_of_comment(bytes: &[u8], start: usize) -> usize {
    let (mut at, mut depth) = (start + 2, 1usize);
    while depth > 0 && at < bytes.len() {
        match (bytes[at], bytes.get(at + 1)) {
            (b'/', Some(b'*')) => (depth, at) = (depth + 1, at + 2),
            (b'*', Some(b'/')) => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
    }
    at
}

/// Behind `$$ .. $$`, `$tag$ .. $tag$` or the dollar of a parameter; `None` if a quote is not closed.
pub(super) fn end_of_dollars(bytes: &[u8], start: usize) -> Option<usize> {
    let tag = bytes[start + 1..]
        .iter()
        .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | 0x80..))
        .count();
    let behind = start + 1 + tag;
    if bytes.get(behind) != Some(&b'$') {
        return Some(behind);
    }
    let quote = &bytes[start..=behind];
    let found = bytes[behind + 1..].windows(quote.len()).position(|part| part == quote)?;
    Some(behind + 1 + found + quote.len())
}
