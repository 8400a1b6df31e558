//! Texts in braces: `CREATE FUNCTION ... LANGUAGE PYTHON { ... }`, or R.
//!
//! Such a body is no SQL, so it must not become tokens. Before they are made, each is masked: the braces become single
//! quotes and every character between them but line breaks an `x`, so that all places stay. The reader takes the body
//! itself from the text. Where it ends, Python's rules decide, which are R's but for texts of
//! several lines: braces in strings and behind `#` do not count.

use super::ast::{Pos, advance};
use super::constants::{end_of_comment, end_of_dollars, end_of_word, find};
use super::syntax_at;
use inlay_types::Result;

/// The text with its bodies masked; `None` if it has none.
pub(super) fn masked(sql: &str) -> Result<Option<String>> {
    let bytes = sql.as_bytes();
    let mentions = |word: &[u8]| bytes.windows(word.len()).any(|part| part.eq_ignore_ascii_case(word));
    if !bytes.contains(&b'{') || !mentions(b"language") {
        return Ok(None);
    }
    let mut walk = Walk::new(bytes);
    let mut out: Option<String> = None;
    let mut copied = 0;
    while let Some(open) = walk.next_body() {
        let Some(end) = end_of_body(bytes, open) else {
            let pos = advance(Pos { line: 1, column: 1 }, &sql[..open]);
            return Err(syntax_at(
                "the body of the function begins here and has no end; } ends it",
                pos,
                sql,
            ));
        };
        let out = out.get_or_insert_with(|| String::with_capacity(sql.len()));
        out.push_str(&sql[copied..open]);
        out.push('\'');
        out.extend(sql[open + 1..end - 1].chars().map(|c| if c == '\n' { '\n' } else { 'x' }));
        out.push('\'');
        copied = end;
        walk.at = end;
    }
    Ok(out.map(|mut out| {
        out.push_str(&sql[copied..]);
        out
    }))
}

/// How much of `LANGUAGE name` was read in this statement.
#[derive(Clone, Copy, PartialEq)]
enum Language {
    Unknown,
    /// `LANGUAGE`
    Expected,
    /// Its bodies may be in braces.
    Braces,
}

struct Walk<'a> {
    bytes: &'a [u8],
    at: usize,
    /// How deep in parentheses: clauses of a function stand outside of them.
    depth: usize,
    statement: Statement,
    language: Language,
}

/// What the words of a statement so far say of it.
#[derive(Clone, Copy, PartialEq)]
enum Statement {
    Begins,
    /// CREATE [OR REPLACE] [TEMP]
    Creates,
    /// CREATE ... FUNCTION or AGGREGATE
    Function,
    Other,
}

impl Statement {
    fn after(self, is: impl Fn(&str) -> bool) -> Self {
        match self {
            Self::Begins if is("create") => Self::Creates,
            Self::Creates if ["function", "aggregate"].iter().any(|word| is(word)) => Self::Function,
            Self::Creates if ["or", "replace", "temp", "temporary"].iter().any(|word| is(word)) => self,
            Self::Function => Self::Function,
            Self::Begins | Self::Creates | Self::Other => Self::Other,
        }
    }
}

impl<'a> Walk<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, depth: 0, statement: Statement::Begins, language: Language::Unknown }
    }

    /// Where the next body opens.
    fn next_body(&mut self) -> Option<usize> {
        while let Some(&byte) = self.bytes.get(self.at) {
            match (byte, self.bytes.get(self.at + 1)) {
                (b'-', Some(b'-')) => self.at = find(self.bytes, self.at, b'\n'),
                (b'/', Some(b'*')) => self.at = end_of_comment(self.bytes, self.at),
                (b'\'' | b'"', _) => self.at = find(self.bytes, self.at + 1, byte) + 1,
                (b'$', _) => self.at = end_of_dollars(self.bytes, self.at)?,
                (b'a'..=b'z' | b'A'..=b'Z' | b'_' | 0x80.., _) => self.word(),
                (b'0'..=b'9', _) => self.at = end_of_word(self.bytes, self.at),
                (b'{', _) if self.language == Language::Braces => return Some(self.at),
                (b';', _) => *self = Self { at: self.at + 1, ..Self::new(self.bytes) },
                (byte, _) => {
                    match byte {
                        b'(' => self.depth += 1,
                        b')' => self.depth = self.depth.saturating_sub(1),
                        _ => {}
                    }
                    if self.language == Language::Expected && !byte.is_ascii_whitespace() {
                        self.language = Language::Unknown;
                    }
                    self.at += 1;
                }
            }
        }
        None
    }

    fn word(&mut self) {
        let end = end_of_word(self.bytes, self.at);
        let word = &self.bytes[self.at..end];
        let is = |wanted: &str| word.eq_ignore_ascii_case(wanted.as_bytes());
        self.statement = self.statement.after(is);
        let is_clause = self.statement == Statement::Function && self.depth == 0;
        self.language = match self.language {
            Language::Unknown if is_clause && is("language") => Language::Expected,
            Language::Expected if has_braces(word) => Language::Braces,
            Language::Expected => Language::Unknown,
            // The text follows in quotes, or it is another statement altogether.
            Language::Braces if is("as") || is("select") => Language::Unknown,
            same => same,
        };
        self.at = end;
    }
}

/// Whether texts of a language may be in braces: those of Python and R, whose strings and comments are alike.
fn has_braces(language: &[u8]) -> bool {
    let is = |name: &[u8]| language.eq_ignore_ascii_case(name);
    language.get(..6).is_some_and(|name| name.eq_ignore_ascii_case(b"python")) || is(b"r") || is(b"r_map")
}

/// Whether a brace behind `text`, the beginning of a statement, opens the body of a function.
pub fn expects_body(text: &str) -> bool {
    let mut walk = Walk::new(text.as_bytes());
    walk.next_body().is_none() && walk.language == Language::Braces
}

/// Behind the brace that closes the one at `open`, by Python's rules; `None` if it is not closed.
pub fn end_of_body(bytes: &[u8], open: usize) -> Option<usize> {
    let (mut at, mut depth) = (open, 0usize);
    loop {
        match *bytes.get(at)? {
            b'{' => depth += 1,
            b'}' if depth == 1 => return Some(at + 1),
            b'}' => depth -= 1,
            b'#' => at = find(bytes, at, b'\n').saturating_sub(1).max(at),
            quote @ (b'\'' | b'"') => {
                at = end_of_string(bytes, at, quote)?;
                continue;
            }
            _ => {}
        }
        at += 1;
    }
}

/// Behind a string of Python, which may have three quotes on each side.
fn end_of_string(bytes: &[u8], start: usize, quote: u8) -> Option<usize> {
    let is_long = bytes.get(start..start + 3)? == [quote; 3];
    let mut at = start + if is_long { 3 } else { 1 };
    loop {
        match *bytes.get(at)? {
            b'\\' => at += 2,
            b'\n' if !is_long => return Some(at),
            byte if byte == quote && !is_long => return Some(at + 1),
            byte if byte == quote && bytes.get(at..at + 3)? == [quote; 3] => return Some(at + 3),
            _ => at += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body_of(sql: &str) -> String {
        let masked = masked(sql).unwrap().expect("it has a body");
        assert_eq!(masked.chars().count(), sql.chars().count());
        let (start, end) = (masked.find('\'').unwrap(), masked.rfind('\'').unwrap());
        let chars: Vec<char> = sql.chars().collect();
        let place = |byte: usize| masked[..byte].chars().count();
        chars[place(start) + 1..place(end)].iter().collect()
    }

    #[test]
    fn braces_in_strings_and_comments_end_nothing() {
        let function =
            |body: &str| format!("CREATE FUNCTION f(a INT) RETURNS INT LANGUAGE PYTHON_MAP {{{body}}};");
        for body in [
            " return {'}': '{'} ",
            "\n # a comment's } \n return {1: {2}}\n",
            " return \"}\" + '\\'}' + f\"{a}\" ",
            " '''}''' \"\"\"it's }\"\"\" ",
            " return 'ä}ö' ",
        ] {
            assert_eq!(body_of(&function(body)), body);
        }
        assert!(masked(&function("'")).is_err());
    }

    #[test]
    fn other_braces_are_left_alone() {
        for sql in [
            "SELECT {'language': 1} AS language",
            "SELECT 1 AS language, python, {'a': 1}",
            "CREATE TABLE t AS SELECT 'language python' AS x, {'a': 1}",
            "CREATE FUNCTION f() RETURNS INT LANGUAGE PYTHON AS $$ return {1} $$",
            "CREATE FUNCTION f(language) AS {'a': 1}",
            "CREATE FUNCTION f(language python) AS {'a': 1}",
            "CREATE TABLE t AS FROM (SELECT 1 AS language, 2 AS python, {'a': 1})",
            "CREATE VIEW v(language, python) AS (VALUES ({'a': 1}, 1))",
            "CREATE VIEW v AS FROM spoken AS language, python, (VALUES ({'a': 1}))",
            "CREATE TABLE t (language PYTHON DEFAULT {'a': 1})",
            "CREATE TABLE function (language python, x STRUCT(a INT) DEFAULT {'a': 1})",
            "CREATE OR REPLACE TEMP TABLE t AS FROM language python, (VALUES ({'a': 1}))",
            "CREATE TABLE t AS FROM language python LIMIT {'a': 1}.a",
            "INSERT INTO function SELECT 1 language, 2 python, {'a': 1}",
            "EXPLAIN CREATE TABLE t AS FROM language python, (VALUES ({'a': 1}))",
            "CREATE FUNCTION f() RETURNS INT LANGUAGE rust IMMUTABLE {'a': 1}",
        ] {
            assert_eq!(masked(sql).unwrap(), None, "{sql}");
        }
    }

    #[test]
    fn several_statements_have_bodies() {
        for creating in ["CREATE OR REPLACE TEMP AGGREGATE", "create temporary function"] {
            assert_eq!(
                body_of(&format!("{creating} f(language INT) RETURNS INT LANGUAGE PYTHON {{2}}")),
                "2"
            );
        }
        for language in ["R", "r_map"] {
            let sql = format!("CREATE FUNCTION f() RETURNS INT LANGUAGE {language} {{ '}}' # }}\n1 }}");
            assert_eq!(body_of(&sql), " '}' # }\n1 ");
        }
        let one = "CREATE FUNCTION f() RETURNS INT LANGUAGE PYTHON IMMUTABLE {1}";
        let masked = masked(&format!("{one}; SELECT '{{'; {one};")).unwrap().unwrap();
        assert_eq!(masked.matches("'x'").count(), 2);
        assert!(masked.contains("SELECT '{'"));
    }
}
