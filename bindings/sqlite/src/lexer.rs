//! SQLite's tokens: where statements end, what parameters they have, and what [`crate::respell`] works on.

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// White space and comments.
    Blank,
    /// A word, which may be a keyword.
    Word,
    /// A name in `"..."`.
    Quoted,
    /// A name in `[...]` or in backticks.
    Name,
    /// A text in single quotes.
    Text,
    /// `x'ab'`.
    Blob,
    Number,
    /// `?`, `?1`, `:a`, `@a`, `$a`.
    Parameter,
    /// An operator or a sign.
    Sign,
    /// What no token begins with, or what does not end.
    Bad,
}

/// A token, and where it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token<'a> {
    pub kind: Kind,
    pub text: &'a str,
    pub at: usize,
}

impl<'a> Token<'a> {
    pub fn end(&self) -> usize {
        self.at + self.text.len()
    }

    /// Whether it is this word, as a keyword.
    pub fn is(&self, word: &str) -> bool {
        self.kind == Kind::Word && self.text.eq_ignore_ascii_case(word)
    }

    pub fn is_any(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.is(word))
    }

    /// How many brackets are open behind this token, of so many before it.
    pub fn depth_behind(&self, depth: usize) -> usize {
        match () {
            () if self.is_sign("(") => depth + 1,
            () if self.is_sign(")") => depth.saturating_sub(1),
            () => depth,
        }
    }

    pub fn is_sign(&self, sign: &str) -> bool {
        self.kind == Kind::Sign && self.text == sign
    }

    /// The name that it is, if it can be one; texts can be, too.
    pub fn name(&self) -> Option<String> {
        let inner = || self.text.get(1..self.text.len().saturating_sub(1)).unwrap_or_default();
        match self.kind {
            Kind::Word => Some(self.text.to_string()),
            Kind::Quoted => Some(inner().replace("\"\"", "\"")),
            Kind::Name if self.text.starts_with('[') => Some(inner().to_string()),
            Kind::Name => Some(inner().replace("``", "`")),
            Kind::Text => Some(inner().replace("''", "'")),
            Kind::Blank | Kind::Blob | Kind::Number | Kind::Parameter | Kind::Sign | Kind::Bad => None,
        }
    }

    /// Whether it can stand for a name where texts cannot.
    pub fn is_name(&self) -> bool {
        matches!(self.kind, Kind::Word | Kind::Quoted | Kind::Name)
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80
}

/// The token that a text begins with.
fn first(text: &str) -> (Kind, usize) {
    let bytes = text.as_bytes();
    let next = bytes.get(1).copied().unwrap_or(0);
    let while_word = |from: usize| from + bytes[from..].iter().take_while(|byte| is_word(**byte)).count();
    match bytes[0] {
        b if b.is_ascii_whitespace() || b == 0x0b => {
            (Kind::Blank, bytes.iter().take_while(|b| b.is_ascii_whitespace() || **b == 0x0b).count())
        }
        b'-' if next == b'-' => (Kind::Blank, text.find('\n').map_or(text.len(), |end| end + 1)),
        b'/' if next == b'*' => (Kind::Blank, text[2..].find("*/").map_or(text.len(), |end| end + 4)),
        b'-' if bytes.starts_with(b"->>") => (Kind::Sign, 3),
        b'-' if next == b'>' => (Kind::Sign, 2),
        b'\'' => quoted(text, '\'', Kind::Text),
        b'"' => quoted(text, '"', Kind::Quoted),
        b'`' => quoted(text, '`', Kind::Name),
        b'[' => text.find(']').map_or((Kind::Bad, text.len()), |end| (Kind::Name, end + 1)),
        b'x' | b'X' if next == b'\'' => {
            let (_, length) = quoted(&text[1..], '\'', Kind::Text);
            let digits = text.get(2..length).unwrap_or_default();
            let is_blob = digits.len() % 2 == 0 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
            (if is_blob { Kind::Blob } else { Kind::Bad }, length + 1)
        }
        b'?' => (Kind::Parameter, 1 + bytes[1..].iter().take_while(|byte| byte.is_ascii_digit()).count()),
        b':' | b'@' | b'$' | b'#' => {
            let mut end = while_word(1);
            while bytes[end..].starts_with(b"::") {
                end = while_word(end + 2);
            }
            (if end > 1 { Kind::Parameter } else { Kind::Bad }, end)
        }
        b if b.is_ascii_digit() || (b == b'.' && next.is_ascii_digit()) => number(bytes),
        b if is_word(b) => (Kind::Word, while_word(0)),
        b'|' if next == b'|' => (Kind::Sign, 2),
        b'<' if matches!(next, b'<' | b'=' | b'>') => (Kind::Sign, 2),
        b'>' if matches!(next, b'>' | b'=') => (Kind::Sign, 2),
        b'=' | b'!' if next == b'=' => (Kind::Sign, 2),
        b'(' | b')' | b',' | b';' | b'.' | b'+' | b'-' | b'*' | b'/' | b'%' | b'&' | b'|' | b'~' | b'<'
        | b'>' | b'=' => (Kind::Sign, 1),
        _ => (Kind::Bad, text.chars().next().map_or(1, char::len_utf8)),
    }
}

fn quoted(text: &str, quote: char, kind: Kind) -> (Kind, usize) {
    let bytes = text.as_bytes();
    let mut at = 1;
    while at < bytes.len() {
        if bytes[at] == quote as u8 {
            if bytes.get(at + 1) != Some(&(quote as u8)) {
                return (kind, at + 1);
            }
            at += 1;
        }
        at += 1;
    }
    (Kind::Bad, text.len())
}

fn number(bytes: &[u8]) -> (Kind, usize) {
    if bytes.len() > 2 && bytes[0] == b'0' && matches!(bytes[1], b'x' | b'X') {
        let digits = bytes[2..].iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
        return (if digits > 0 { Kind::Number } else { Kind::Bad }, 2 + digits);
    }
    let digits = |from: usize| from + bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let mut end = digits(0);
    if bytes.get(end) == Some(&b'.') {
        end = digits(end + 1);
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let exponent = digits(end + 1 + sign);
        if exponent > end + 1 + sign {
            end = exponent;
        }
    }
    let rest = bytes[end..].iter().take_while(|byte| is_word(**byte)).count();
    (if rest == 0 { Kind::Number } else { Kind::Bad }, end + rest)
}

/// The tokens of a text.
pub fn tokens(text: &str) -> impl Iterator<Item = Token<'_>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = text.get(at..).filter(|rest| !rest.is_empty())?;
        let (kind, length) = first(rest);
        let token = Token { kind, text: &rest[..length], at };
        at += length;
        Some(token)
    })
}

/// The tokens of the first statement of a text but blanks, and where it ends: behind its semicolon, or at the end of the text. Bodies of triggers
/// have semicolons of their own.
pub fn statement(text: &str) -> (Vec<Token<'_>>, usize) {
    let mut found: Vec<Token<'_>> = Vec::new();
    let mut cases = 0usize;
    let mut body = false;
    let mut closes_case = false;
    for token in tokens(text).filter(|token| token.kind != Kind::Blank) {
        if token.is_sign(";") {
            if found.is_empty() {
                continue;
            }
            let is_trigger = found.first().is_some_and(|first| first.is("create"))
                && found.iter().take(4).any(|token| token.is("trigger"));
            let ends = found.last().is_some_and(|last| last.is("end")) && !closes_case;
            if !is_trigger || !body || ends {
                return (found, token.end());
            }
        }
        if token.is("begin") {
            body = true;
        }
        closes_case = token.is("end") && cases > 0;
        if token.is("case") {
            cases += 1;
        } else if closes_case {
            cases -= 1;
        }
        found.push(token);
    }
    (found, text.len())
}

/// Whether a text ends with a complete statement.
pub fn is_complete(text: &str) -> bool {
    let mut rest = text;
    let mut ended = false;
    loop {
        let (found, end) = statement(rest);
        if found.last().is_some_and(|last| last.kind == Kind::Bad && last.end() == rest.len()) {
            return false;
        }
        let has_semicolon = rest.get(..end).is_some_and(|part| {
            tokens(part)
                .filter(|token| token.kind != Kind::Blank)
                .last()
                .is_some_and(|last| last.is_sign(";"))
        });
        if !has_semicolon {
            return ended && found.is_empty();
        }
        ended = true;
        rest = &rest[end..];
    }
}

/// Reads tokens one by one.
#[derive(Clone)]
pub struct Walk<'a, 't> {
    pub tokens: &'t [Token<'a>],
    pub at: usize,
}

impl<'a, 't> Walk<'a, 't> {
    pub fn new(tokens: &'t [Token<'a>]) -> Self {
        Self { tokens, at: 0 }
    }

    pub fn peek(&self) -> Option<&'t Token<'a>> {
        self.tokens.get(self.at)
    }

    pub fn nth(&self, ahead: usize) -> Option<&'t Token<'a>> {
        self.tokens.get(self.at + ahead)
    }

    /// Passes a word, if it is the next.
    pub fn word(&mut self, word: &str) -> bool {
        let found = self.peek().is_some_and(|token| token.is(word));
        self.at += usize::from(found);
        found
    }

    /// Passes words, if they are the next.
    pub fn words(&mut self, words: &[&str]) -> bool {
        let found =
            words.iter().enumerate().all(|(ahead, word)| self.nth(ahead).is_some_and(|token| token.is(word)));
        self.at += if found { words.len() } else { 0 };
        found
    }

    pub fn sign(&mut self, sign: &str) -> bool {
        let found = self.peek().is_some_and(|token| token.is_sign(sign));
        self.at += usize::from(found);
        found
    }

    pub fn name(&mut self) -> Option<String> {
        let name = self.peek()?.name()?;
        self.at += 1;
        Some(name)
    }

    /// `[schema.]name`.
    pub fn path(&mut self) -> Option<(Option<String>, String)> {
        let first = self.name()?;
        if self.sign(".") {
            let second = self.name()?;
            return Some((Some(first), second));
        }
        Some((None, first))
    }

    /// The tokens of what stands in the parentheses that come next.
    pub fn parenthesised(&mut self) -> Option<&'t [Token<'a>]> {
        if !self.peek()?.is_sign("(") {
            return None;
        }
        let end = self.at + closing(&self.tokens[self.at..])?;
        let inner = &self.tokens[self.at + 1..end];
        self.at = end + 1;
        Some(inner)
    }
}

/// The index of the parenthesis that closes the first token.
pub fn closing(tokens: &[Token<'_>]) -> Option<usize> {
    let mut depth = 0usize;
    for (index, token) in tokens.iter().enumerate() {
        if token.is_sign("(") {
            depth += 1;
        } else if token.is_sign(")") {
            depth = depth.checked_sub(1)?;
            if depth == 0 {
                return Some(index);
            }
        }
    }
    None
}

/// Tokens between commas outside of parentheses.
pub fn parts<'a, 't>(tokens: &'t [Token<'a>]) -> Vec<&'t [Token<'a>]> {
    let mut found = Vec::new();
    let (mut depth, mut start) = (0usize, 0);
    for (index, token) in tokens.iter().enumerate() {
        if token.is_sign("(") {
            depth += 1;
        } else if token.is_sign(")") {
            depth = depth.saturating_sub(1);
        } else if depth == 0 && token.is_sign(",") {
            found.push(&tokens[start..index]);
            start = index + 1;
        }
    }
    found.push(&tokens[start..]);
    found
}

/// A name as SQL.
pub fn ident(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A text as SQL.
pub fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// The text between the first and the last of some tokens, as it was written.
pub fn written<'a>(sql: &'a str, tokens: &[Token<'_>]) -> &'a str {
    match (tokens.first(), tokens.last()) {
        (Some(first), Some(last)) => sql.get(first.at..last.end()).unwrap_or_default(),
        _ => "",
    }
}
