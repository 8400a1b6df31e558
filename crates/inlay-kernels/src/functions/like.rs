//! LIKE, ILIKE and regular expressions.
//!
//! A pattern is compiled once if it is constant: into a comparison, a test of prefix and suffix, or searches for the texts
//! between `%`s; only patterns with `_` are matched character by character. Subjects in dictionaries are
//! tested once per distinct value.

use super::columns::{TextColumn, write_text};
use super::find::Finder;
use crate::apply::{per_row, predicate};
use crate::function::ScalarKernel;
use crate::registry::{Function, Overloads, Signature};
use inlay_types::LogicalType::{BigInt, Boolean, Varchar};
use inlay_types::{Error, Result, Value, Vector};
use regex::bytes::{Regex, RegexBuilder};
use std::sync::Arc;

/// See the module documentation.
pub(super) static FUNCTIONS: &[Function] = &[
    Function::new(
        "like",
        Overloads::Fixed(&[
            Signature::new(&[Varchar, Varchar], Boolean, like).specialized(specialize_like),
            Signature::new(&[Varchar, Varchar, Varchar], Boolean, like).specialized(specialize_like),
        ]),
        "whether a text fits a pattern of % (any text) and _ (any character)",
        "'hello' LIKE 'h%o' = true",
    )
    .aliases(&["~~", "like_escape"])
    .fallible(),
    Function::new(
        "ilike",
        Overloads::Fixed(&[
            Signature::new(&[Varchar, Varchar], Boolean, ilike).specialized(specialize_ilike),
            Signature::new(&[Varchar, Varchar, Varchar], Boolean, ilike).specialized(specialize_ilike),
        ]),
        "LIKE without regard to case",
        "'Hello' ILIKE 'h%O' = true",
    )
    .aliases(&["~~*", "ilike_escape"])
    .fallible(),
    Function::new(
        "regexp_matches",
        Overloads::Fixed(&[
            Signature::new(&[Varchar, Varchar], Boolean, regexp_matches).specialized(specialize_search),
            Signature::new(&[Varchar, Varchar, Varchar], Boolean, regexp_matches)
                .specialized(specialize_search),
        ]),
        "whether a regular expression occurs in a text",
        "regexp_matches('hello', 'l+') = true",
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
            Signature::new(&[Varchar, Varchar, Varchar], Varchar, regexp_replace),
            Signature::new(&[Varchar, Varchar, Varchar, Varchar], Varchar, regexp_replace),
        ]),
        "the first match (all with option 'g') replaced; \\1 stands for a group",
        "regexp_replace('hello', 'l+', 'L') = 'heLo'",
    )
    .fallible(),
    Function::new(
        "regexp_extract",
        Overloads::Fixed(&[
            Signature::new(&[Varchar, Varchar], Varchar, regexp_extract),
            Signature::new(&[Varchar, Varchar, BigInt], Varchar, regexp_extract),
        ]),
        "the first match or a group of it; empty if there is none",
        "regexp_extract('hello', 'l+') = 'll'",
    )
    .fallible(),
];

/// A compiled LIKE pattern.
enum Pattern {
    /// No wildcard.
    Exact(Vec<u8>),
    /// Texts separated by `%`: the first is at the start, the last at the end, the others lie between in order.
    Parts { prefix: Vec<u8>, middle: Vec<Finder>, suffix: Vec<u8> },
    /// With `_`.
    General(Vec<Token>),
}

#[derive(Clone, Copy, PartialEq)]
enum Token {
    Byte(u8),
    AnyCharacter,
    AnyText,
}

impl Pattern {
    fn compile(pattern: &[u8], escape: Option<u8>) -> Result<Self> {
        let mut tokens = Vec::with_capacity(pattern.len());
        let mut rest = pattern.iter();
        while let Some(&byte) = rest.next() {
            tokens.push(match byte {
                byte if Some(byte) == escape => match rest.next() {
                    Some(&escaped) => Token::Byte(escaped),
                    None => {
                        let message = "LIKE pattern must not end with its escape character";
                        return Err(Error::invalid_argument(message));
                    }
                },
                b'%' => Token::AnyText,
                b'_' => Token::AnyCharacter,
                byte => Token::Byte(byte),
            });
        }
        if tokens.contains(&Token::AnyCharacter) {
            return Ok(Self::General(tokens));
        }
        let literal = |part: &[Token]| -> Vec<u8> {
            part.iter().filter_map(|t| if let Token::Byte(b) = t { Some(*b) } else { None }).collect()
        };
        let parts: Vec<Vec<u8>> = tokens.split(|t| *t == Token::AnyText).map(literal).collect();
        Ok(match parts.as_slice() {
            [only] => Self::Exact(only.clone()),
            [prefix, middle @ .., suffix] => Self::Parts {
                prefix: prefix.clone(),
                middle: middle.iter().filter(|part| !part.is_empty()).map(|part| Finder::new(part)).collect(),
                suffix: suffix.clone(),
            },
            [] => Self::Exact(Vec::new()),
        })
    }

    #[inline]
    fn matches(&self, text: &[u8]) -> bool {
        match self {
            Self::Exact(exact) => text == exact,
            Self::Parts { prefix, middle, suffix } => {
                if text.len() < prefix.len() + suffix.len() {
                    return false;
                }
                // An empty Vec points nowhere, and glibc's memcmp reads from there under an empty mask: 100 ns for
                // a fault that the CPU has to suppress. So empty ends are not compared.
                if !prefix.is_empty() && !text.starts_with(prefix)
                    || !suffix.is_empty() && !text.ends_with(suffix)
                {
                    return false;
                }
                let mut rest = &text[prefix.len()..text.len() - suffix.len()];
                for part in middle {
                    match part.find(rest) {
                        Some(at) => rest = &rest[at + part.len()..],
                        None => return false,
                    }
                }
                true
            }
            Self::General(tokens) => matches_tokens(tokens, text),
        }
    }
}

/// Greedy matching that returns to the last `%` only.
fn matches_tokens(tokens: &[Token], text: &[u8]) -> bool {
    let (mut token, mut at) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    loop {
        match tokens.get(token) {
            Some(Token::AnyText) => {
                retry = Some((token + 1, at));
                token += 1;
                continue;
            }
            Some(Token::AnyCharacter) if at < text.len() => {
                at += character_size(text[at]).min(text.len() - at);
                token += 1;
                continue;
            }
            Some(Token::Byte(byte)) if text.get(at) == Some(byte) => {
                at += 1;
                token += 1;
                continue;
            }
            None if at == text.len() => return true,
            _ => {}
        }
        match retry {
            Some((after, from)) if from < text.len() => {
                let next = from + character_size(text[from]).min(text.len() - from);
                retry = Some((after, next));
                (token, at) = (after, next);
            }
            _ => return false,
        }
    }
}

/// Bytes of the UTF-8 character that starts with `first`.
fn character_size(first: u8) -> usize {
    match first {
        0..0xC0 => 1,
        0xC0..0xE0 => 2,
        0xE0..0xF0 => 3,
        _ => 4,
    }
}

fn escape_of(text: &[u8]) -> Result<Option<u8>> {
    match text {
        [] => Ok(None),
        [byte] => Ok(Some(*byte)),
        _ => Err(Error::invalid_argument("the escape of LIKE must be one ASCII character")),
    }
}

/// Case folding for ILIKE.
fn fold(text: &[u8]) -> Vec<u8> {
    match std::str::from_utf8(text) {
        Ok(text) if !text.is_ascii() => text.to_lowercase().into_bytes(),
        _ => text.to_ascii_lowercase(),
    }
}

fn like_any<const FOLD: bool>(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    let patterns = TextColumn::of(args[1]);
    let escapes = args.get(2).map(|arg| TextColumn::of(arg));
    let compile = |row: usize| {
        let escape = escapes.as_ref().map_or(Ok(None), |e| escape_of(e.get(row)))?;
        let pattern = patterns.get(row);
        if FOLD { Pattern::compile(&fold(pattern), escape) } else { Pattern::compile(pattern, escape) }
    };
    if args[1..].iter().all(|a| a.is_constant() && !a.is_constant_null()) {
        return match_pattern::<FOLD>(&compile(0)?, args[0], len, out);
    }
    let texts = TextColumn::of(args[0]);
    per_row(args, &Boolean, len, out, |row| {
        let pattern = compile(row)?;
        let text = texts.get(row);
        Ok(u8::from(if FOLD { pattern.matches(&fold(text)) } else { pattern.matches(text) }))
    })
}

fn match_pattern<const FOLD: bool>(
    pattern: &Pattern,
    input: &Vector,
    len: usize,
    out: &mut Vector,
) -> Result<()> {
    if FOLD {
        predicate(input, len, out, |text| pattern.matches(&fold(text)))
    } else {
        predicate(input, len, out, |text| pattern.matches(text))
    }
}

fn like(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    like_any::<false>(args, len, out)
}

fn ilike(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    like_any::<true>(args, len, out)
}

fn specialize<const FOLD: bool>(constants: &[Option<Value>]) -> Result<Option<Arc<dyn ScalarKernel>>> {
    let Some(Some(Value::Varchar(pattern))) = constants.get(1) else { return Ok(None) };
    let escape = match constants.get(2) {
        None => None,
        Some(Some(Value::Varchar(escape))) => escape_of(escape.as_bytes())?,
        Some(_) => return Ok(None),
    };
    let pattern = if FOLD { fold(pattern.as_bytes()) } else { pattern.clone().into_bytes() };
    let pattern = Pattern::compile(&pattern, escape)?;
    Ok(Some(Arc::new(move |args: &[&Vector], len: usize, out: &mut Vector| {
        match_pattern::<FOLD>(&pattern, args[0], len, out)
    })))
}

fn specialize_like(constants: &[Option<Value>]) -> Result<Option<Arc<dyn ScalarKernel>>> {
    specialize::<false>(constants)
}

fn specialize_ilike(constants: &[Option<Value>]) -> Result<Option<Arc<dyn ScalarKernel>>> {
    specialize::<true>(constants)
}

/// Largest compiled expression, so that a pattern cannot exhaust memory.
const REGEX_SIZE_MAX: usize = 10 << 20;

/// Compiles an expression with options as in `'i'`; `is_full`: it must fit the whole text.
fn regex(pattern: &str, options: &str, is_full: bool) -> Result<Regex> {
    let anchored = if is_full { format!("^(?:{pattern})$") } else { pattern.to_string() };
    let mut builder = RegexBuilder::new(&anchored);
    builder.size_limit(REGEX_SIZE_MAX).dot_matches_new_line(true);
    for option in options.chars() {
        match option {
            'i' => builder.case_insensitive(true),
            'c' => builder.case_insensitive(false),
            'm' | 'n' | 'p' => builder.dot_matches_new_line(false),
            's' => builder.dot_matches_new_line(true),
            'g' => &mut builder,
            other => {
                let message =
                    format!("regular expression option '{other}' is unknown; there are c, i, m, s and g");
                return Err(Error::invalid_argument(message));
            }
        };
    }
    builder.build().map_err(|error| {
        let reason = error.to_string();
        let reason = reason.lines().last().unwrap_or_default().trim_start_matches("error: ").to_string();
        Error::invalid_argument(format!("regular expression '{pattern}': {reason}"))
    })
}

/// The expressions of an argument, compiled once for each run of equal ones.
struct Regexes<'a> {
    patterns: TextColumn<'a>,
    options: Option<TextColumn<'a>>,
    is_full: bool,
    last: Option<(&'a str, &'a str, Regex)>,
}

impl<'a> Regexes<'a> {
    fn new(patterns: &'a Vector, options: Option<&'a Vector>, is_full: bool) -> Self {
        Self { patterns: TextColumn::of(patterns), options: options.map(TextColumn::of), is_full, last: None }
    }

    fn at(&mut self, row: usize) -> Result<&Regex> {
        let pattern = self.patterns.text(row);
        let options = self.options.as_ref().map_or("", |o| o.text(row));
        if !self.last.as_ref().is_some_and(|(p, o, _)| *p == pattern && *o == options) {
            self.last = Some((pattern, options, regex(pattern, options, self.is_full)?));
        }
        self.last.as_ref().map(|(_, _, regex)| regex).ok_or_else(|| Error::internal("no regular expression"))
    }
}

fn search(args: &[&Vector], len: usize, out: &mut Vector, is_full: bool) -> Result<()> {
    let mut regexes = Regexes::new(args[1], args.get(2).copied(), is_full);
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

fn specialize_regex(constants: &[Option<Value>], is_full: bool) -> Result<Option<Arc<dyn ScalarKernel>>> {
    let Some(Some(Value::Varchar(pattern))) = constants.get(1) else { return Ok(None) };
    let options = match constants.get(2) {
        None => "",
        Some(Some(Value::Varchar(options))) => options,
        Some(_) => return Ok(None),
    };
    let regex = regex(pattern, options, is_full)?;
    Ok(Some(Arc::new(move |args: &[&Vector], len: usize, out: &mut Vector| {
        predicate(args[0], len, out, |text| regex.is_match(text))
    })))
}

fn specialize_search(constants: &[Option<Value>]) -> Result<Option<Arc<dyn ScalarKernel>>> {
    specialize_regex(constants, false)
}

fn specialize_full(constants: &[Option<Value>]) -> Result<Option<Arc<dyn ScalarKernel>>> {
    specialize_regex(constants, true)
}

fn regexp_replace(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    if crate::apply::null_argument(args, &Varchar, len, out) {
        return Ok(());
    }
    let texts = TextColumn::of(args[0]);
    let replacements = TextColumn::of(args[2]);
    let options = args.get(3).map(|arg| TextColumn::of(arg));
    let mut regexes = Regexes::new(args[1], args.get(3).copied(), false);
    write_text(args, len, out, |row, text| {
        let all = options.as_ref().is_some_and(|o| o.get(row).contains(&b'g'));
        let replacement = dollar_groups(replacements.get(row));
        let regex = regexes.at(row)?;
        text.extend_from_slice(&regex.replacen(texts.get(row), usize::from(!all), replacement.as_slice()));
        Ok(())
    })
}

/// `\1` as `${1}`, and `$` as `$$`.
fn dollar_groups(replacement: &[u8]) -> Vec<u8> {
    let mut converted = Vec::with_capacity(replacement.len());
    let mut rest = replacement.iter();
    while let Some(&byte) = rest.next() {
        match byte {
            b'$' => converted.extend_from_slice(b"$$"),
            b'\\' => match rest.next() {
                Some(digit @ b'0'..=b'9') => converted.extend_from_slice(&[b'$', b'{', *digit, b'}']),
                Some(other) => converted.push(*other),
                None => converted.push(b'\\'),
            },
            other => converted.push(other),
        }
    }
    converted
}

fn regexp_extract(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    if crate::apply::null_argument(args, &Varchar, len, out) {
        return Ok(());
    }
    let texts = TextColumn::of(args[0]);
    let groups = args.get(2).map(|arg| super::columns::Column::<i64>::of(arg));
    let mut regexes = Regexes::new(args[1], None, false);
    write_text(args, len, out, |row, text| {
        let group = groups.as_ref().map_or(0, |g| g.get(row));
        let regex = regexes.at(row)?;
        let index = usize::try_from(group).ok().filter(|g| *g < regex.captures_len());
        let index = index.ok_or_else(|| {
            let count = regex.captures_len() - 1;
            Error::invalid_argument(format!(
                "regexp_extract: there is no group {group}; the expression has {count}"
            ))
        })?;
        if let Some(found) = regex.captures(texts.get(row)).and_then(|c| c.get(index)) {
            text.extend_from_slice(found.as_bytes());
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits(text: &str, pattern: &str) -> bool {
        Pattern::compile(pattern.as_bytes(), Some(b'\\')).unwrap().matches(text.as_bytes())
    }

    #[test]
    fn patterns_of_every_kind() {
        let cases = [
            ("abc", "abc", true),
            ("abc", "ABC", false),
            ("abc", "a%", true),
            ("abc", "%c", true),
            ("abc", "%b%", true),
            ("abc", "%d%", false),
            ("abc", "", false),
            ("", "", true),
            ("", "%", true),
            ("", "_", false),
            ("ab", "ab%b", false),
            ("abab", "ab%ab", true),
            ("the special and the requests", "%special%requests%", true),
            ("requests special", "%special%requests%", false),
            ("é", "_", true),
            ("aéc", "a_c", true),
            ("a%c", "a\\%c", true),
            ("abc", "a\\%c", false),
            ("mississippi", "%iss_ss%pi", true),
            ("mississippi", "m_s%p_", true),
            ("aaaaab", "%a_b", true),
            ("xyz", "%_%_%_%", true),
            ("xy", "%_%_%_%", false),
        ];
        for (text, pattern, expected) in cases {
            assert_eq!(fits(text, pattern), expected, "{text} LIKE {pattern}");
        }
        assert!(Pattern::compile(b"a\\", Some(b'\\')).is_err());
        assert!(Pattern::compile(b"a\\", None).unwrap().matches(b"a\\"));
    }

    #[test]
    fn replacements_name_groups_with_backslashes() {
        assert_eq!(dollar_groups(b"[\\1]$"), b"[${1}]$$");
    }
}
