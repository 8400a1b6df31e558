//! Regular expressions. An expression that is constant is compiled once, others once for each run of equal ones.
//!
//! Syntax is that of the regex crate, which is RE2's with few differences; matching takes time linear in the text, and what
//! a pattern may compile to is bounded.

use super::cased_text::CasedText;
use super::columns::{Column, TextColumn, slice_text, write_text};
use super::simple_regex::{Outcome, Places, SimpleRegex, Steps};
use super::whole_regex::WholeRegex;
use crate::registry::{Function, Overloads, Signature};
use inlay_kernels::apply::{per_row, predicate};
use inlay_kernels::function::ScalarKernel;
use inlay_types::LogicalType::{BigInt, Boolean, Varchar};
use inlay_types::limits::Meter;
use inlay_types::view::INLINE_LIMIT;
use inlay_types::{Error, Result, Value, Vector, View};
use regex::bytes::{Captures, Regex, RegexBuilder};
use std::ops::Range;
use std::sync::Arc;

/// See the module documentation.
pub(super) static FUNCTIONS: &[Function] = &[
    Function::new(
        "regexp_matches",
        Overloads::Fixed(&[
            Signature::new(&[Varchar, Varchar], Boolean, regexp_matches).specialized(specialize_search),
            Signature::new(&[Varchar, Varchar, Varchar], Boolean, regexp_matches)
                .specialized(specialize_search),
        ]),
        "whether a regular expression occurs in a text; options are i, c, l, m and s",
        "regexp_matches('hello', 'L+', 'i') = true",
    )
    .aliases(&["regexp_like"])
    .fallible(),
    Function::new(
        "regexp_full_match",
        Overloads::Fixed(&[
            Signature::new(&[Varchar, Varchar], Boolean, regexp_full_match).specialized(specialize_full),
            Signature::new(&[Varchar, Varchar, Varchar], Boolean, regexp_full_match)
                .specialized(specialize_full),
        ]),
        "whether a regular expression fits the whole text",
        "regexp_full_match('hello', 'h.*o') = true",
    )
    .aliases(&["similar", "similar to"])
    .fallible(),
    Function::new(
        "regexp_replace",
        Overloads::Fixed(&[
            Signature::new(&[Varchar, Varchar, Varchar], Varchar, regexp_replace)
                .specialized(specialize_replace),
            Signature::new(&[Varchar, Varchar, Varchar, Varchar], Varchar, regexp_replace)
                .specialized(specialize_replace),
        ]),
        "the first match (all with option 'g') replaced; \\1 stands for a group",
        "regexp_replace('hello', '(l+)', '[\\1]') = 'he[ll]o'",
    )
    .fallible(),
    Function::new(
        "regexp_extract",
        Overloads::Fixed(&[
            Signature::new(&[Varchar, Varchar], Varchar, regexp_extract).specialized(specialize_extract),
            Signature::new(&[Varchar, Varchar, BigInt], Varchar, regexp_extract)
                .specialized(specialize_extract),
            Signature::new(&[Varchar, Varchar, BigInt, Varchar], Varchar, regexp_extract)
                .specialized(specialize_extract),
        ]),
        "the first match or a group of it; empty if there is none",
        "regexp_extract('2024-05-06', '(\\d+)-(\\d+)', 2) = '05'",
    )
    .fallible(),
    Function::new(
        "regexp_escape",
        Overloads::Fixed(&[Signature::new(&[Varchar], Varchar, regexp_escape)]),
        "an expression that matches the text as it is",
        "regexp_escape('a+b') = 'a\\+b'",
    ),
];

/// Largest compiled expression, so that a pattern cannot exhaust memory.
const REGEX_SIZE_MAX: usize = 10 << 20;

/// Longest expression: the time to read one grows with it, also if it turns out to be too large.
const PATTERN_BYTES_MAX: usize = 256 << 10;

/// Whether every match is replaced.
fn is_global(options: &[u8]) -> bool {
    options.contains(&b'g')
}

fn failed(pattern: &str, error: &regex::Error) -> Error {
    let reason = error.to_string();
    let reason = reason.lines().last().unwrap_or_default().trim_start_matches("error: ");
    Error::invalid_argument(format!("regular expression '{pattern}': {reason}"))
}

/// Compiles an expression with options as in `'i'`; `is_full`: it must fit the whole text.
pub(super) fn compile(pattern: &str, options: &str, is_full: bool, may_be_global: bool) -> Result<Regex> {
    let is_literal = options.contains('l');
    if !is_literal && pattern.len() > PATTERN_BYTES_MAX {
        let message =
            format!("a regular expression of {} bytes is longer than {PATTERN_BYTES_MAX}", pattern.len());
        return Err(Error::invalid_argument(message));
    }
    let escaped = if is_literal { regex::escape(pattern) } else { pattern.to_string() };
    let anchored = if is_full { format!("\\A(?:{escaped})\\z") } else { escaped };
    let mut builder = RegexBuilder::new(&anchored);
    builder.size_limit(REGEX_SIZE_MAX);
    for option in options.chars() {
        match option {
            'i' => builder.case_insensitive(true),
            'c' => builder.case_insensitive(false),
            'm' | 'n' | 'p' => builder.dot_matches_new_line(false),
            's' => builder.dot_matches_new_line(true),
            'l' => &mut builder,
            'g' if may_be_global => &mut builder,
            'g' => {
                return Err(Error::invalid_argument(
                    "regular expression option 'g' is for regexp_replace only",
                ));
            }
            other => {
                let message = format!("regular expression option '{other}' is unknown");
                let hint = "there are c, i, l, m, s and g";
                return Err(Error::invalid_argument(message).with_hint(hint));
            }
        };
    }
    if is_full && !is_literal && pattern.contains(')') {
        // What closes the group around the expression would be taken for a part of it.
        Regex::new(pattern).map_err(|error| failed(pattern, &error))?;
    }
    builder.build().map_err(|error| failed(pattern, &error))
}

/// The expressions of an argument, compiled once for each run of equal ones.
pub(super) struct Regexes<'a> {
    patterns: TextColumn<'a>,
    options: Option<TextColumn<'a>>,
    is_full: bool,
    may_be_global: bool,
    last: Option<(&'a str, &'a str, Regex)>,
}

impl<'a> Regexes<'a> {
    pub(super) fn new(patterns: &'a Vector, options: Option<&'a Vector>) -> Self {
        let (patterns, options) = (TextColumn::of(patterns), options.map(TextColumn::of));
        Self { patterns, options, is_full: false, may_be_global: false, last: None }
    }

    pub(super) fn at(&mut self, row: usize) -> Result<&Regex> {
        let pattern = self.patterns.text(row);
        let options = self.options.as_ref().map_or("", |o| o.text(row));
        if !self.last.as_ref().is_some_and(|(p, o, _)| *p == pattern && *o == options) {
            let regex = compile(pattern, options, self.is_full, self.may_be_global)?;
            self.last = Some((pattern, options, regex));
        }
        self.last.as_ref().map(|(_, _, regex)| regex).ok_or_else(|| Error::internal("no regular expression"))
    }
}

fn search(args: &[&Vector], len: usize, out: &mut Vector, is_full: bool) -> Result<()> {
    let mut regexes = Regexes::new(args[1], args.get(2).copied());
    regexes.is_full = is_full;
    if args[1..].iter().all(|a| a.is_constant() && !a.is_constant_null()) {
        let regex = regexes.at(0)?;
        return predicate(args[0], len, out, |text| regex.is_match(text));
    }
    let texts = TextColumn::of(args[0]);
    per_row(args, &Boolean, len, out, |row| Ok(u8::from(regexes.at(row)?.is_match(texts.get(row)))))
}

fn regexp_matches(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    search(args, len, out, false)
}

fn regexp_full_match(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    search(args, len, out, true)
}

fn specialize(constants: &[Option<Value>], is_full: bool) -> Result<Option<Arc<dyn ScalarKernel>>> {
    let Some(Some(Value::Varchar(pattern))) = constants.get(1) else { return Ok(None) };
    let options = match constants.get(2) {
        None => "",
        Some(Some(Value::Varchar(options))) => options,
        Some(_) => return Ok(None),
    };
    let constant = ConstantRegex::new(pattern, options, is_full, false)?;
    if is_full
        && options.is_empty()
        && let Some(whole) = WholeRegex::new(pattern)
    {
        return Ok(Some(Arc::new(move |args: &[&Vector], len: usize, out: &mut Vector| {
            let are_lines = is_heap_one_line(args[0], len);
            predicate(args[0], len, out, |text| whole.fits(text, are_lines && text.len() > INLINE_LIMIT))
        })));
    }
    if !is_full
        && constant.simple.as_ref().is_none_or(SimpleRegex::needs_ascii)
        && let Some(cased) = CasedText::new(pattern, options)
    {
        return Ok(Some(Arc::new(move |args: &[&Vector], len: usize, out: &mut Vector| {
            predicate(args[0], len, out, |text| cased.occurs(text))
        })));
    }
    Ok(Some(Arc::new(move |args: &[&Vector], len: usize, out: &mut Vector| {
        if constant.simple.is_none() {
            return predicate(args[0], len, out, |text| constant.regex.is_match(text));
        }
        let mut finder = constant.finder(args[0], len);
        predicate(args[0], len, out, |text| match finder.find(text) {
            Outcome::Unknown => constant.regex.is_match(text),
            outcome => outcome == Outcome::Found,
        })
    })))
}

fn specialize_search(constants: &[Option<Value>]) -> Result<Option<Arc<dyn ScalarKernel>>> {
    specialize(constants, false)
}

fn specialize_full(constants: &[Option<Value>]) -> Result<Option<Arc<dyn ScalarKernel>>> {
    specialize(constants, true)
}

fn regexp_replace(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    if inlay_kernels::apply::null_argument(args, &Varchar, len, out) {
        return Ok(());
    }
    let texts = TextColumn::of(args[0]);
    let replacements = TextColumn::of(args[2]);
    let options = args.get(3).map(|arg| TextColumn::of(arg));
    let mut regexes = Regexes::new(args[1], args.get(3).copied());
    regexes.may_be_global = true;
    write_text(args, len, out, |row, text| {
        let source = texts.get(row);
        let count = if options.as_ref().is_some_and(|o| is_global(o.get(row))) { usize::MAX } else { 1 };
        let regex = regexes.at(row)?;
        let parts = Replacement::parse(replacements.text(row), regex.captures_len() - 1)?;
        replace(regex, source, &parts, count, text)
    })
}

/// Whether a match is nothing, inside of a character: expressions over bytes find those, too.
pub(crate) fn is_inside_character(source: &[u8], found: &Range<usize>) -> bool {
    found.is_empty() && source.get(found.start).is_some_and(|byte| byte & 0xc0 == 0x80)
}

/// Appends `source` to `text` with the first `count` matches replaced.
fn replace(
    regex: &Regex,
    source: &[u8],
    parts: &[Replacement],
    count: usize,
    text: &mut Vec<u8>,
) -> Result<()> {
    let mut meter = Meter::new();
    let mut copied = 0;
    let is_match = |captures: &Captures<'_>| {
        captures.get(0).is_some_and(|whole| !is_inside_character(source, &whole.range()))
    };
    for captures in regex.captures_iter(source).filter(is_match).take(count) {
        let Some(whole) = captures.get(0) else { break };
        let before = text.len();
        text.extend_from_slice(&source[copied..whole.start()]);
        for part in parts {
            part.append(|group| captures.get(group).map(|group| group.as_bytes()), text);
        }
        copied = whole.end();
        meter.add(text.len() - before)?;
    }
    text.extend_from_slice(&source[copied..]);
    Ok(())
}

/// The constant texts among arguments; `None` for one that is NULL or not constant.
fn constant_text(constants: &[Option<Value>], index: usize) -> Option<&str> {
    match constants.get(index) {
        Some(Some(Value::Varchar(text))) => Some(text),
        _ => None,
    }
}

/// An expression that is constant, with constant options, and as one that is read once, if it is.
struct ConstantRegex {
    regex: Regex,
    simple: Option<SimpleRegex>,
}

impl ConstantRegex {
    /// The expression and its options among a function's arguments. `None` where they are not constant, or wrong: what is
    /// wrong with them is told when a row is computed.
    fn of(constants: &[Option<Value>], may_be_global: bool) -> Option<(Self, &str)> {
        let pattern = constant_text(constants, 1)?;
        let options = if constants.len() > 3 { constant_text(constants, 3)? } else { "" };
        Some((Self::new(pattern, options, false, may_be_global).ok()?, options))
    }

    /// As [`compile`].
    fn new(pattern: &str, options: &str, is_full: bool, may_be_global: bool) -> Result<Self> {
        let regex = compile(pattern, options, is_full, may_be_global)?;
        let are_simple = options.chars().all(|option| matches!(option, 'i' | 'c' | 'g'));
        let is_case_clear = !(options.contains('i') && options.contains('c'));
        let ignores_case = options.contains('i');
        let simple = (are_simple && is_case_clear)
            .then(|| match is_full {
                true => SimpleRegex::new(&format!("\\A(?:{pattern})\\z"), ignores_case),
                false => SimpleRegex::new(pattern, ignores_case),
            })
            .flatten();
        Ok(Self { regex, simple })
    }

    /// Finds the first matches in texts, of a vector with so many rows.
    fn finder<'a>(&'a self, texts: &Vector, len: usize) -> Finder<'a> {
        let takes_line = self.simple.as_ref().is_some_and(SimpleRegex::takes_line);
        Finder {
            simple: self.simple.as_ref(),
            one_line_from: if takes_line && is_heap_one_line(texts, len) {
                INLINE_LIMIT + 1
            } else {
                usize::MAX
            },
            places: Places::default(),
            steps: Steps::default(),
            unknown: 0,
            known: 0,
        }
    }
}

/// Finds matches as far as they are known without a search.
struct Finder<'a> {
    simple: Option<&'a SimpleRegex>,
    /// No line ends in texts that are so long: they are in the heap.
    one_line_from: usize,
    places: Places,
    steps: Steps,
    /// In how many texts what was asked is known, and in how many it is not.
    unknown: u32,
    known: u32,
}

/// So many texts about which nothing is known are tried, and as many as there are others.
const UNKNOWN_MAX: u32 = 64;

impl Finder<'_> {
    /// Finds the first match in a text.
    fn find(&mut self, source: &[u8]) -> Outcome {
        self.steps = Steps::of(source.len());
        let outcome = self.find_next(source, 0);
        if outcome == Outcome::Unknown {
            self.unknown += 1;
            if self.unknown > UNKNOWN_MAX.max(self.known) {
                self.simple = None;
            }
        } else {
            self.known += 1;
        }
        outcome
    }

    /// Finds the first match that begins at byte `from` or behind it, in the text that [`Self::find`] looked at.
    fn find_next(&mut self, source: &[u8], from: usize) -> Outcome {
        let is_line = source.len() >= self.one_line_from;
        self.simple.map_or(Outcome::Unknown, |simple| {
            simple.find(source, from, is_line, &mut self.steps, &mut self.places)
        })
    }

    /// Appends `source` to `text` with the first `count` matches replaced; whether all of them are known. No match is empty but one at the
    /// start of a text.
    fn replace(
        &mut self,
        source: &[u8],
        parts: &[Replacement],
        count: usize,
        text: &mut Vec<u8>,
    ) -> Result<bool> {
        let start = text.len();
        let (mut meter, mut copied, mut left) = (Meter::new(), 0, count);
        let mut outcome = self.find(source);
        while outcome == Outcome::Found {
            let before = text.len();
            text.extend_from_slice(&source[copied..self.places.start()]);
            for part in parts {
                part.append(|group| self.places.group(group, source), text);
            }
            copied = self.places.end();
            left -= 1;
            if left == 0 || copied == 0 {
                break;
            }
            meter.add(text.len() - before)?;
            outcome = self.find_next(source, copied);
        }
        if outcome == Outcome::Unknown {
            text.truncate(start);
            return Ok(false);
        }
        text.extend_from_slice(&source[copied..]);
        Ok(true)
    }
}

/// Whether no line ends in those texts of a vector that are in its heap. Larger dictionaries than the rows are not looked at.
fn is_heap_one_line(texts: &Vector, len: usize) -> bool {
    let texts = texts.as_dictionary().map_or(texts, |dictionary| dictionary.values());
    texts.len() <= len && texts.heap().is_one_line(texts.views().iter().map(View::len).sum())
}

/// With constants, everything is read once.
fn specialize_replace(constants: &[Option<Value>]) -> Result<Option<Arc<dyn ScalarKernel>>> {
    let Some(replacement) = constant_text(constants, 2) else { return Ok(None) };
    let Some((constant, options)) = ConstantRegex::of(constants, true) else { return Ok(None) };
    let Ok(parts) = Replacement::parse(replacement, constant.regex.captures_len() - 1) else {
        return Ok(None);
    };
    let count = if is_global(options.as_bytes()) { usize::MAX } else { 1 };
    let takes_all = constant.simple.as_ref().is_some_and(SimpleRegex::takes_all);
    let kept = only_group(&parts).filter(|_| takes_all);
    Ok(Some(Arc::new(move |args: &[&Vector], len: usize, out: &mut Vector| {
        if let Some(group) = kept
            && keep_group(&constant, group, args, len, out)?
        {
            return Ok(());
        }
        if inlay_kernels::apply::null_argument(args, &Varchar, len, out) {
            return Ok(());
        }
        let (texts, mut finder) = (TextColumn::of(args[0]), constant.finder(args[0], len));
        write_text(args, len, out, |row, text| {
            let source = texts.get(row);
            if finder.replace(source, &parts, count, text)? {
                return Ok(());
            }
            replace(&constant.regex, source, &parts, count, text)
        })
    })))
}

/// The group that a replacement consists of.
fn only_group(parts: &[Replacement]) -> Option<usize> {
    match parts {
        [Replacement::Text(before), Replacement::Group(group), Replacement::Text(behind)]
            if before.is_empty() && behind.is_empty() =>
        {
            Some(*group)
        }
        _ => None,
    }
}

/// Replaces whole texts by a group of their match, which is a part of them: nothing is copied. Whether no search was needed.
fn keep_group(
    constant: &ConstantRegex,
    group: usize,
    args: &[&Vector],
    len: usize,
    out: &mut Vector,
) -> Result<bool> {
    let (mut finder, mut is_known) = (constant.finder(args[0], len), true);
    slice_text(args, len, out, |_, source| match finder.find(source) {
        Outcome::Found => finder.places.range(group).map_or((0, 0), |range| (range.start, range.end)),
        Outcome::Absent => (0, source.len()),
        Outcome::Unknown => {
            is_known = false;
            (0, 0)
        }
    })?;
    Ok(is_known)
}

/// A part of what a match is replaced with.
#[derive(Debug, PartialEq)]
enum Replacement {
    Text(Vec<u8>),
    Group(usize),
}

impl Replacement {
    fn append<'t>(&self, group_of: impl Fn(usize) -> Option<&'t [u8]>, text: &mut Vec<u8>) {
        match self {
            Self::Text(bytes) => text.extend_from_slice(bytes),
            Self::Group(group) => text.extend_from_slice(group_of(*group).unwrap_or_default()),
        }
    }

    /// `\1` is a group of `groups`, `\\` a backslash.
    fn parse(text: &str, groups: usize) -> Result<Vec<Self>> {
        let mut parts = Vec::new();
        let mut plain = Vec::new();
        let mut rest = text.bytes();
        while let Some(byte) = rest.next() {
            match byte {
                b'\\' => match rest.next() {
                    Some(digit @ b'0'..=b'9') => {
                        let group = usize::from(digit - b'0');
                        if group > groups {
                            let message = format!(
                                "regexp_replace: \\{group} names a group, but the expression has {groups}"
                            );
                            return Err(Error::invalid_argument(message));
                        }
                        parts.push(Self::Text(std::mem::take(&mut plain)));
                        parts.push(Self::Group(group));
                    }
                    Some(b'\\') => plain.push(b'\\'),
                    _ => {
                        let message =
                            format!("regexp_replace: in '{text}' a \\ stands before neither a digit nor \\");
                        let hint = "write \\\\ for the sign";
                        return Err(Error::invalid_argument(message).with_hint(hint));
                    }
                },
                other => plain.push(other),
            }
        }
        parts.push(Self::Text(plain));
        Ok(parts)
    }
}

fn regexp_extract(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    if inlay_kernels::apply::null_argument(args, &Varchar, len, out) {
        return Ok(());
    }
    let texts = TextColumn::of(args[0]);
    let groups = args.get(2).map(|arg| Column::<i64>::of(arg));
    let mut regexes = Regexes::new(args[1], args.get(3).copied());
    write_text(args, len, out, |row, text| {
        let group = groups.as_ref().map_or(0, |g| g.get(row));
        let regex = regexes.at(row)?;
        // A group that is not there is empty, as in DuckDB.
        let Some(index) = usize::try_from(group).ok().filter(|g| *g < regex.captures_len()) else {
            return Ok(());
        };
        let source = texts.get(row);
        text.extend_from_slice(&source[extract(regex, source, index)]);
        Ok(())
    })
}

/// A group of the first match, or the match itself.
fn extract(regex: &Regex, source: &[u8], group: usize) -> Range<usize> {
    let found = match group {
        0 => regex.find(source),
        group => regex.captures(source).and_then(|captures| captures.get(group)),
    };
    found.map_or(0..0, |found| found.range())
}

/// As [`specialize_replace`].
fn specialize_extract(constants: &[Option<Value>]) -> Result<Option<Arc<dyn ScalarKernel>>> {
    let group = match constants.get(2) {
        None => 0,
        Some(Some(Value::BigInt(group))) => *group,
        Some(_) => return Ok(None),
    };
    let Some((constant, _)) = ConstantRegex::of(constants, false) else { return Ok(None) };
    let group = usize::try_from(group).ok().filter(|group| *group < constant.regex.captures_len());
    Ok(Some(Arc::new(move |args: &[&Vector], len: usize, out: &mut Vector| {
        let mut finder = constant.finder(args[0], len);
        slice_text(args, len, out, |_, source| {
            let found = group.and_then(|group| match finder.find(source) {
                Outcome::Unknown => Some(extract(&constant.regex, source, group)),
                Outcome::Absent => None,
                Outcome::Found => finder.places.range(group),
            });
            found.map_or((0, 0), |range| (range.start, range.end))
        })
    })))
}

fn regexp_escape(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    super::columns::rewrite(args, len, out, |source, text| {
        for byte in source.bytes() {
            if !(byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80) {
                text.push(b'\\');
            }
            text.push(byte);
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replacements_name_groups_with_backslashes() {
        let parts = Replacement::parse("[\\1]\\\\", 1).unwrap();
        let text = |text: &str| Replacement::Text(text.as_bytes().to_vec());
        assert_eq!(parts, [text("["), Replacement::Group(1), text("]\\")]);
        assert!(Replacement::parse("\\2", 1).is_err() && Replacement::parse("\\", 1).is_err());
    }
}
