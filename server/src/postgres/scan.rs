//! Words of the few statements that are understood here and not by the engine: names, texts, numbers, signs, and what stands in brackets.

use inlay::{Error, Result};

/// A word of a statement.
#[derive(Clone, Debug, PartialEq)]
pub enum Word {
    /// A name without quotes, in lower case.
    Plain(String),
    /// A name in quotes.
    Quoted(String),
    /// A text in single quotes.
    Text(String),
    /// Digits.
    Number(u64),
    /// Anything else.
    Sign(char),
}

/// The words of a text, one after the other.
#[derive(Clone, Debug)]
pub struct Words<'a> {
    rest: &'a str,
}

fn syntax(message: impl Into<String>) -> Error {
    Error::Syntax { message: message.into() }
}

impl<'a> Words<'a> {
    pub fn new(text: &'a str) -> Self {
        Self { rest: text }
    }

    /// Goes to the next word, past spaces and comments.
    fn skip(&mut self) {
        loop {
            self.rest = self.rest.trim_start();
            if let Some(comment) = self.rest.strip_prefix("--") {
                self.rest = comment.split_once('\n').map_or("", |(_, behind)| behind);
            } else if let Some(comment) = self.rest.strip_prefix("/*") {
                self.rest = comment.split_once("*/").map_or("", |(_, behind)| behind);
            } else {
                return;
            }
        }
    }

    /// What was not looked at yet.
    pub fn rest(&mut self) -> &'a str {
        self.skip();
        self.rest
    }

    /// What was not looked at yet, with the spaces in front of it.
    pub fn rest_here(&self) -> &'a str {
        self.rest
    }

    /// Whether the statement ends here: nothing follows but semicolons.
    pub fn is_over(&self) -> bool {
        let mut ahead = self.clone();
        loop {
            ahead.skip();
            match ahead.rest.strip_prefix(';') {
                Some(rest) => ahead.rest = rest,
                None => return ahead.rest.is_empty(),
            }
        }
    }

    /// The next word; `None` at the end.
    pub fn next(&mut self) -> Result<Option<Word>> {
        self.skip();
        let Some(first) = self.rest.chars().next() else { return Ok(None) };
        if first == '"' {
            return Ok(Some(Word::Quoted(self.quoted('"')?)));
        }
        if first == '\'' {
            return Ok(Some(Word::Text(self.quoted('\'')?)));
        }
        if let Some(escaped) = self.rest.strip_prefix(['e', 'E']).filter(|rest| rest.starts_with('\'')) {
            self.rest = escaped;
            return Ok(Some(Word::Text(unescaped(&self.quoted('\'')?))));
        }
        let is_name = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
        let end = self.rest.find(|c: char| !is_name(c)).unwrap_or(self.rest.len());
        if end == 0 {
            self.rest = &self.rest[first.len_utf8()..];
            return Ok(Some(Word::Sign(first)));
        }
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        Ok(Some(match word.parse() {
            Ok(number) => Word::Number(number),
            Err(_) => Word::Plain(word.to_lowercase()),
        }))
    }

    /// What stands between quotes, which are doubled inside.
    fn quoted(&mut self, quote: char) -> Result<String> {
        let mut text = String::new();
        let mut chars = self.rest.char_indices().skip(1).peekable();
        while let Some((at, c)) = chars.next() {
            if c != quote {
                text.push(c);
            } else if chars.next_if(|(_, next)| *next == quote).is_some() {
                text.push(quote);
            } else {
                self.rest = &self.rest[at + 1..];
                return Ok(text);
            }
        }
        Err(syntax(format!("a quote ({quote}) does not end")))
    }

    /// Whether the next word is this one, which is taken then.
    pub fn takes(&mut self, word: &str) -> bool {
        let mut ahead = self.clone();
        let is_it = matches!(ahead.next(), Ok(Some(Word::Plain(found))) if found == word);
        if is_it {
            *self = ahead;
        }
        is_it
    }

    /// Whether the next sign is this one, which is taken then.
    pub fn takes_sign(&mut self, sign: char) -> bool {
        let mut ahead = self.clone();
        let is_it = matches!(ahead.next(), Ok(Some(Word::Sign(found))) if found == sign);
        if is_it {
            *self = ahead;
        }
        is_it
    }

    /// A name.
    pub fn name(&mut self) -> Result<String> {
        match self.next()? {
            Some(Word::Plain(name) | Word::Quoted(name)) => Ok(name),
            Some(Word::Text(_) | Word::Number(_) | Word::Sign(_)) | None => Err(syntax("expected a name")),
        }
    }

    /// A text, or a name in its place.
    pub fn value(&mut self) -> Result<String> {
        match self.next()? {
            Some(Word::Plain(text) | Word::Quoted(text) | Word::Text(text)) => Ok(text),
            Some(Word::Number(number)) => Ok(number.to_string()),
            Some(Word::Sign(_)) | None => Err(syntax("expected a value")),
        }
    }

    /// What stands between the bracket that opened and its counterpart.
    pub fn bracketed(&mut self) -> Result<&'a str> {
        let start = self.rest;
        let mut depth = 1;
        loop {
            self.skip();
            let before = self.rest;
            match self.next()? {
                Some(Word::Sign('(')) => depth += 1,
                Some(Word::Sign(')')) => depth -= 1,
                Some(_) => {}
                None => return Err(syntax("a bracket does not end")),
            }
            if depth == 0 {
                return Ok(&start[..start.len() - before.len()]);
            }
        }
    }

    /// Fails unless the statement ends here.
    pub fn end(&self) -> Result<()> {
        if self.is_over() {
            return Ok(());
        }
        let found: String = self.rest.trim_start().chars().take(40).collect();
        Err(syntax(format!("expected the end of the statement, found {found}")))
    }
}

/// `\t`, `\\` and the like as what they stand for.
fn unescaped(text: &str) -> String {
    let (mut out, mut chars) = (String::new(), text.chars());
    while let Some(c) = chars.next() {
        out.push(match c {
            '\\' => match chars.next() {
                Some('t') => '\t',
                Some('n') => '\n',
                Some('r') => '\r',
                Some('b') => '\u{8}',
                Some('f') => '\u{c}',
                Some(other) => other,
                None => '\\',
            },
            c => c,
        });
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_sql() {
        let mut words = Words::new(" /* ( */ COPY \"a\"\"b\".c -- x\n ('it''s', E'\\t', 12);");
        assert!(words.takes("copy") && !words.takes("copy"));
        assert_eq!(words.name().unwrap(), "a\"b");
        assert!(words.takes_sign('.'));
        assert_eq!(words.name().unwrap(), "c");
        assert!(words.takes_sign('('));
        assert_eq!(words.clone().bracketed().unwrap(), "'it''s', E'\\t', 12");
        assert_eq!(words.value().unwrap(), "it's");
        assert!(words.takes_sign(','));
        assert_eq!(words.value().unwrap(), "\t");
        assert!(words.takes_sign(','));
        assert_eq!(words.next().unwrap(), Some(Word::Number(12)));
        assert!(!words.is_over() && words.takes_sign(')') && words.is_over());
        assert!(Words::new("'a").next().is_err() && Words::new("(a").bracketed().is_err());
        assert!(Words::new("é x").next().is_ok());
    }
}
