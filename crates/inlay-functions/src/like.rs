//! LIKE, ILIKE and GLOB.
//!
//! A pattern is compiled once if it is constant: into a comparison, a test of prefix and suffix, or searches for the texts
//! between `%`s; only patterns with `_` are matched character by character. Subjects in dictionaries are
//! tested once per distinct value.

use super::case::flipped;
use super::columns::TextColumn;
use super::find::{Caseless, Finder};
use crate::registry::{Function, Loop, Overloads, Signature};
use inlay_kernels::apply::{per_row, predicate};
use inlay_kernels::function::ScalarKernel;
use inlay_types::LogicalType::{Boolean, Varchar};
use inlay_types::{Error, Result, Value, Vector, View, limits};
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
        "not_like_escape",
        Overloads::Fixed(&[Signature::new(&[Varchar, Varchar, Varchar], Boolean, not_like)]),
        "whether a text does not fit a LIKE pattern with an escape character",
        "not_like_escape('a%c', 'a$%c', '$') = false",
    )
    .fallible(),
    Function::new(
        "not_ilike_escape",
        Overloads::Fixed(&[Signature::new(&[Varchar, Varchar, Varchar], Boolean, not_ilike)]),
        "whether a text does not fit an ILIKE pattern with an escape character",
        "not_ilike_escape('A%C', 'a$%c', '$') = false",
    )
    .fallible(),
    Function::new(
        "glob",
        Overloads::Fixed(&[Signature::new(&[Varchar, Varchar], Boolean, glob)]),
        "whether a text fits a pattern of * (any text), ? (any character) and [a-z] (one of these)",
        "'hello' GLOB 'h[a-f]*' = true",
    )
    .aliases(&["~~~"]),
];

/// A compiled LIKE pattern.
pub(super) enum Pattern {
    /// No wildcard.
    Exact(Vec<u8>),
    /// Texts separated by `%`: the first is at the start, the last at the end, the others lie between in order.
    Parts { prefix: Vec<u8>, middle: Vec<Finder>, suffix: Vec<u8> },
    /// With `_`.
    General(Vec<Token>),
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Token {
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
        Ok(Self::of_parts(tokens.split(|t| *t == Token::AnyText).map(literal).collect()))
    }

    /// Texts with any text between each two.
    pub(super) fn of_parts(parts: Vec<Vec<u8>>) -> Self {
        match parts.as_slice() {
            [only] => Self::Exact(only.clone()),
            [prefix, middle @ .., suffix] => Self::Parts {
                prefix: prefix.clone(),
                middle: middle.iter().filter(|part| !part.is_empty()).map(|part| Finder::new(part)).collect(),
                suffix: suffix.clone(),
            },
            [] => Self::Exact(Vec::new()),
        }
    }

    #[inline]
    pub(super) fn matches(&self, text: &[u8]) -> bool {
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

/// A pattern of ASCII in lower case, of texts in any case as they lie.
struct CaselessPattern<'a> {
    prefix: &'a [u8],
    middle: &'a [Finder],
    suffix: &'a [u8],
    /// Whether the pattern has letters that others than ASCII's become in lower case: K of Kelvin, and İ in part.
    has_others: bool,
}

impl<'a> CaselessPattern<'a> {
    /// `None`: texts have to be made lower case.
    fn of(pattern: &'a Pattern) -> Option<Self> {
        let Pattern::Parts { prefix, middle, suffix } = pattern else { return None };
        let parts = || [&prefix[..], &suffix[..]].into_iter().chain(middle.iter().map(Finder::needle));
        let has_others = parts().any(|part| part.iter().any(|byte| matches!(byte, b'i' | b'k')));
        parts().all(<[u8]>::is_ascii).then_some(Self { prefix, middle, suffix, has_others })
    }

    /// `None`: the text has to be made lower case.
    #[inline]
    fn matches(&self, text: &[u8]) -> Option<bool> {
        let found = self.matches_ascii(text)?;
        // What is there stays there in lower case; what is not may come to be there.
        let is_known = found || !self.has_others || memchr::memchr2(0xC4, 0xE2, text).is_none();
        is_known.then_some(found)
    }

    #[inline]
    fn matches_ascii(&self, text: &[u8]) -> Option<bool> {
        let (prefix, suffix) = (self.prefix, self.suffix);
        let Some(end) = text.len().checked_sub(suffix.len()).filter(|end| *end >= prefix.len()) else {
            return Some(false);
        };
        if !text[..prefix.len()].eq_ignore_ascii_case(prefix) || !text[end..].eq_ignore_ascii_case(suffix) {
            return Some(false);
        }
        let mut rest = &text[prefix.len()..end];
        for part in self.middle {
            match part.find_caseless(rest) {
                Caseless::Found(at) => rest = &rest[at + part.len()..],
                Caseless::Missing => return Some(false),
                Caseless::Unknown => return None,
            }
        }
        Some(true)
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
    let mut folded = Vec::with_capacity(text.len());
    fold_into(text, &mut folded);
    folded
}

/// The same into what another text was folded into.
fn fold_into(text: &[u8], folded: &mut Vec<u8>) {
    folded.clear();
    match std::str::from_utf8(text) {
        Ok(text) if !text.is_ascii() => {
            // At the end of a word it has a lower case of its own.
            if text.contains('\u{3A3}') {
                return folded.extend_from_slice(text.to_lowercase().as_bytes());
            }
            let mut encoded = [0; 4];
            for c in text.chars() {
                if c.is_ascii() {
                    folded.push((c as u8).to_ascii_lowercase());
                } else {
                    c.to_lowercase()
                        .for_each(|c| folded.extend_from_slice(c.encode_utf8(&mut encoded).as_bytes()));
                }
            }
        }
        _ => {
            folded.extend_from_slice(text);
            folded.make_ascii_lowercase();
        }
    }
}

/// The same of a text that is ASCII, in one pass over it and in memory that only grows; `None` of others.
#[inline]
fn folded_ascii_of<'f>(text: &[u8], folded: &'f mut Vec<u8>) -> Option<&'f [u8]> {
    if folded.len() < text.len() {
        folded.resize(text.len(), 0);
    }
    let folded = &mut folded[..text.len()];
    let ((words, rest), (to_words, to_rest)) = (text.as_chunks::<16>(), folded.as_chunks_mut::<16>());
    let mut is_ascii = rest.is_ascii();
    for (from, to) in words.iter().zip(to_words) {
        match flipped(u128::from_le_bytes(*from), b'A') {
            Some(word) => *to = word.to_le_bytes(),
            None => is_ascii = false,
        }
    }
    rest.iter().zip(to_rest).for_each(|(from, to)| *to = from.to_ascii_lowercase());
    is_ascii.then_some(folded)
}

fn like_any<const FOLD: bool>(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    let patterns = TextColumn::of(args[1]);
    let escapes = args.get(2).map(|arg| TextColumn::of(arg));
    let compile = |row: usize| {
        let escape = escapes.as_ref().map_or(Ok(None), |e| escape_of(e.get(row)))?;
        let pattern = patterns.get(row);
        // Its pieces are copied, and folded ones twice.
        limits::need(6 * pattern.len())?;
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
        let texts = input.as_dictionary().map_or(input, |dictionary| dictionary.values());
        limits::need(texts.views().iter().map(View::len).max().map_or(0, |longest| 2 * longest))?;
        let (mut folded, mut folded_ascii) = (Vec::new(), Vec::new());
        let caseless = CaselessPattern::of(pattern);
        predicate(input, len, out, |text| {
            if let Some(found) = caseless.as_ref().and_then(|pattern| pattern.matches(text)) {
                return found;
            }
            if let Some(text) = folded_ascii_of(text, &mut folded_ascii) {
                return pattern.matches(text);
            }
            fold_into(text, &mut folded);
            pattern.matches(&folded)
        })
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

fn negated(args: &[&Vector], len: usize, out: &mut Vector, like: Loop) -> Result<()> {
    let mut fits = Vector::empty(Boolean);
    like(args, len, &mut fits)?;
    inlay_kernels::boolean::not(&fits, len, out)
}

fn not_like(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    negated(args, len, out, like)
}

fn not_ilike(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    negated(args, len, out, ilike)
}

fn glob(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    if args[1].is_constant() && !args[1].is_constant_null() {
        let pattern = TextColumn::of(args[1]);
        let pattern = pattern.get(0);
        // Without other signs it is a pattern of LIKE.
        if !pattern.iter().any(|byte| matches!(byte, b'?' | b'[' | b'\\')) {
            limits::need(6 * pattern.len())?;
            let parts = Pattern::of_parts(pattern.split(|byte| *byte == b'*').map(<[u8]>::to_vec).collect());
            return predicate(args[0], len, out, |text| parts.matches(text));
        }
        return predicate(args[0], len, out, |text| matches_glob(pattern, text));
    }
    let (texts, patterns) = (TextColumn::of(args[0]), TextColumn::of(args[1]));
    per_row(args, &Boolean, len, out, |row| Ok(u8::from(matches_glob(patterns.get(row), texts.get(row)))))
}

/// Greedy matching that returns to the last `*` only. `\` makes the next sign a plain one.
fn matches_glob(pattern: &[u8], text: &[u8]) -> bool {
    let (mut at_pattern, mut at) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    loop {
        let step = match pattern.get(at_pattern) {
            Some(b'*') => {
                at_pattern += 1;
                retry = Some((at_pattern, at));
                continue;
            }
            None if at == text.len() => return true,
            None => None,
            Some(_) if at == text.len() => None,
            Some(b'?') => Some((1, character_size(text[at]).min(text.len() - at))),
            Some(b'[') => matches_set(&pattern[at_pattern + 1..], text[at]).map(|size| (size + 1, 1)),
            Some(b'\\') => (pattern.get(at_pattern + 1) == Some(&text[at])).then_some((2, 1)),
            Some(byte) => (*byte == text[at]).then_some((1, 1)),
        };
        match (step, retry) {
            (Some((pattern_bytes, text_bytes)), _) => {
                at_pattern += pattern_bytes;
                at += text_bytes;
            }
            (None, Some((after, from))) if from < text.len() => {
                retry = Some((after, from + 1));
                (at_pattern, at) = (after, from + 1);
            }
            (None, _) => return false,
        }
    }
}

/// Whether `byte` is in the set behind `[`; gives the set's size with its `]`.
fn matches_set(set: &[u8], byte: u8) -> Option<usize> {
    let is_inverted = set.first() == Some(&b'!');
    let mut at = usize::from(is_inverted);
    let first = at;
    let mut found = false;
    loop {
        let low = *set.get(at)?;
        if low == b']' && at > first {
            return (found != is_inverted).then_some(at + 1);
        }
        match (set.get(at + 1), set.get(at + 2)) {
            (Some(b'-'), Some(&high)) if high != b']' => {
                found |= (low..=high).contains(&byte);
                at += 3;
            }
            _ => {
                found |= low == byte;
                at += 1;
            }
        }
    }
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
    fn texts_fit_as_they_lie_as_they_do_in_lower_case() {
        let mut texts: Vec<String> =
            ["", "k", "K", "\u{212A}", "İ", "i", "Straße", "STRASSE", "ΣΑΣ", "Ä", "Kai", "€ik", "aKİb"]
                .map(String::from)
                .to_vec();
        for number in 0..200usize {
            let parts: Vec<&str> = (0..number % 7).map(|at| &*texts[number * (at + 3) % 13]).collect();
            let text = parts.join(["", " ", "İ"][number % 3]);
            texts.push(text);
        }
        let patterns = [
            "%k%",
            "k%",
            "%k",
            "%i%",
            "i%k",
            "%ai%",
            "%strasse%",
            "%s%s%",
            "s%e",
            "%%",
            "%ä%",
            "k_",
            "%k%i%",
            "%kai%straße%",
        ];
        for pattern in patterns {
            let compiled = Pattern::compile(&fold(pattern.as_bytes()), None).unwrap();
            let Some(caseless) = CaselessPattern::of(&compiled) else { continue };
            for text in &texts {
                let found = caseless.matches(text.as_bytes());
                let expected = compiled.matches(&fold(text.as_bytes()));
                assert!(found.is_none_or(|found| found == expected), "{text} ILIKE {pattern}");
            }
        }
    }

    #[test]
    fn ascii_is_folded_at_once() {
        let mut folded = Vec::new();
        for len in [0, 1, 15, 16, 17, 31, 40, 5] {
            let text: Vec<u8> = (0..len).map(|at| b'0' + (at * 7 % 70) as u8).collect();
            assert_eq!(folded_ascii_of(&text, &mut folded), Some(&*fold(&text)), "{len}");
            for at in 0..len {
                let mut other = text.clone();
                other[at] = 0xC3;
                assert_eq!(folded_ascii_of(&other, &mut folded), None, "{len} {at}");
            }
        }
    }

    #[test]
    fn globs() {
        let cases = [
            ("hello", "h*o", true),
            ("hello", "h[!a-f]llo", false),
            ("hello", "h[^a-f]llo", true),
            ("a*b", "a\\*b", true),
            ("axb", "a\\*b", false),
            ("é", "?", true),
            ("ab", "[]b]", false),
            ("]", "[]b]", true),
            ("abcabd", "*ab?", true),
            ("abcabd", "*ca*d", true),
            ("abcabd", "abc", false),
            ("abcabd", "*cb*", false),
            ("", "*", true),
            ("a", "[a", false),
        ];
        for (text, pattern, expected) in cases {
            assert_eq!(matches_glob(pattern.as_bytes(), text.as_bytes()), expected, "{text} GLOB {pattern}");
            if !pattern.contains(['?', '[', '\\']) {
                let parts =
                    Pattern::of_parts(pattern.split('*').map(|part| part.as_bytes().to_vec()).collect());
                assert_eq!(parts.matches(text.as_bytes()), expected, "{text} GLOB {pattern}");
            }
        }
    }
}
