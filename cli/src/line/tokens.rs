//! SQL as words, strings and the like, for colours and completion; text that is not finished yet has tokens too.

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Word,
    /// `"..."`.
    Name,
    /// `'...'` or `$$...$$`.
    String,
    Number,
    Comment,
    Space,
    Symbol,
}

/// A piece of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token<'a> {
    pub kind: Kind,
    pub text: &'a str,
    /// Where it begins, in bytes.
    pub start: usize,
    /// Whether a string, quoted name or comment has its end.
    pub is_closed: bool,
}

/// The tokens of a text; together they are all of it.
pub fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut all = Vec::new();
    let mut start = 0;
    while start < text.len() {
        let (kind, length, is_closed) = first(&text[start..]);
        let length = length.clamp(1, text.len() - start);
        let length =
            (length..=text.len() - start).find(|l| text.is_char_boundary(start + l)).unwrap_or(length);
        all.push(Token { kind, text: &text[start..start + length], start, is_closed });
        start += length;
    }
    all
}

fn first(text: &str) -> (Kind, usize, bool) {
    let mut chars = text.chars();
    let (first, second) = (chars.next().unwrap_or(' '), chars.next().unwrap_or(' '));
    match (first, second) {
        ('-', '-') => (Kind::Comment, text.find('\n').unwrap_or(text.len()), true),
        ('/', '*') => block_comment(text),
        ('\'', _) => quoted(text, Kind::String, '\'', 1, false),
        ('e' | 'E', '\'') => quoted(text, Kind::String, '\'', 2, true),
        ('"', _) => quoted(text, Kind::Name, '"', 1, false),
        ('$', _) => dollars(text),
        (c, next) if c.is_ascii_digit() || (c == '.' && next.is_ascii_digit()) => {
            (Kind::Number, number(text), true)
        }
        (c, _) if c.is_alphabetic() || c == '_' => {
            let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
            (Kind::Word, text.find(|c| !is_word(c)).unwrap_or(text.len()), true)
        }
        (c, _) if c.is_whitespace() => {
            (Kind::Space, text.find(|c: char| !c.is_whitespace()).unwrap_or(text.len()), true)
        }
        (c, _) => (Kind::Symbol, c.len_utf8(), true),
    }
}

fn block_comment(text: &str) -> (Kind, usize, bool) {
    let (mut depth, mut at) = (0_usize, 0);
    while at < text.len() {
        if text[at..].starts_with("/*") {
            (depth, at) = (depth + 1, at + 2);
        } else if text[at..].starts_with("*/") {
            (depth, at) = (depth - 1, at + 2);
            if depth == 0 {
                return (Kind::Comment, at, true);
            }
        } else {
            at += text[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    (Kind::Comment, text.len(), false)
}

fn quoted(text: &str, kind: Kind, quote: char, from: usize, escapes: bool) -> (Kind, usize, bool) {
    let mut chars = text[from..].char_indices();
    while let Some((at, c)) = chars.next() {
        if escapes && c == '\\' {
            chars.next();
        } else if c == quote {
            return (kind, from + at + 1, true);
        }
    }
    (kind, text.len(), false)
}

fn dollars(text: &str) -> (Kind, usize, bool) {
    let tag = text[1..].find(|c: char| !(c.is_alphanumeric() || c == '_')).map(|end| end + 1);
    match tag {
        Some(end) if text[end..].starts_with('$') && !text[1..].starts_with(|c: char| c.is_ascii_digit()) => {
            let tag = &text[..=end];
            match text[end + 1..].find(tag) {
                Some(found) => (Kind::String, end + 1 + found + tag.len(), true),
                None => (Kind::String, text.len(), false),
            }
        }
        _ => (Kind::Symbol, 1, true),
    }
}

fn number(text: &str) -> usize {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '_';
    text.find(|c| !is_part(c)).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<(Kind, &str)> {
        let all = tokens(text);
        assert_eq!(all.iter().map(|token| token.text).collect::<String>(), text);
        all.into_iter().filter(|t| t.kind != Kind::Space).map(|t| (t.kind, t.text)).collect()
    }

    #[test]
    fn every_text_has_tokens() {
        use Kind::{Comment, Name, Number, String, Symbol, Word};
        assert_eq!(
            kinds("SELECT a1, 'x''y', E'a\\'b', 1.5e3, \"N\" -- c"),
            [
                (Word, "SELECT"),
                (Word, "a1"),
                (Symbol, ","),
                (String, "'x'"),
                (String, "'y'"),
                (Symbol, ","),
                (String, "E'a\\'b'"),
                (Symbol, ","),
                (Number, "1.5e3"),
                (Symbol, ","),
                (Name, "\"N\""),
                (Comment, "-- c"),
            ]
        );
        assert_eq!(
            kinds("$$ü;$$ $1 /* a /* b */ c */ x"),
            [(String, "$$ü;$$"), (Symbol, "$"), (Number, "1"), (Comment, "/* a /* b */ c */"), (Word, "x"),]
        );
        for unfinished in ["'a", "\"ü", "$x$", "/* ü", "E'\\", "$", "é'"] {
            kinds(unfinished);
        }
    }
}
