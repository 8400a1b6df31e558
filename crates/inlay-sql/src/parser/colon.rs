//! `:name` is the parameter `$name`.
//!
//! A colon also stands in slices (`a[:x]`, `a[1:n]`), structs (`{'a': x}`), maps, lambdas and in front of what an alias
//! names (`x: 1`). So a colon right before a name begins a parameter only where a value is awaited: behind an operator, an
//! opening bracket that is no subscript, a comma, another colon, or a word of SQL that a value follows.

use super::spelling::is_blank;
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Span, Token, TokenWithSpan, Word};

/// Puts `$name` in the place of each colon and name that are a parameter.
pub(super) fn name_parameters(tokens: &mut Vec<TokenWithSpan>) {
    if !tokens.iter().any(|token| token.token == Token::Colon) {
        return;
    }
    let mut out: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    let mut nesting = Nesting::default();
    let mut rest = std::mem::take(tokens).into_iter().peekable();
    while let Some(token) = rest.next() {
        if token.token == Token::Colon
            && let Some(name) = rest.peek().and_then(name_of)
            && nesting.awaits_value(&out)
            && let Some(word) = rest.next()
        {
            let span = Span { start: token.span.start, end: word.span.end };
            out.push(TokenWithSpan { token: Token::Placeholder(format!("${name}")), span });
            continue;
        }
        nesting.note(&token.token, &out);
        out.push(token);
    }
    *tokens = out;
}

fn name_of(token: &TokenWithSpan) -> Option<String> {
    match &token.token {
        Token::Word(Word { value, quote_style: None, .. }) => Some(value.clone()),
        _ => None,
    }
}

/// The brackets that are open.
#[derive(Default)]
struct Nesting(Vec<Bracket>);

#[derive(Clone, Copy, PartialEq)]
enum Bracket {
    /// `(`, or the bracket of a list.
    Plain,
    Subscript,
    Brace,
}

impl Nesting {
    fn note(&mut self, token: &Token, before: &[TokenWithSpan]) {
        match token {
            Token::LParen => self.0.push(Bracket::Plain),
            Token::LBrace => self.0.push(Bracket::Brace),
            Token::LBracket => {
                let is_subscript = last(before, 0).is_some_and(|token| {
                    let is_array =
                        matches!(token, Token::Word(word) if word.keyword == Keyword::ARRAY && word.quote_style.is_none());
                    !is_array && !self.is_awaited_behind(token, before)
                });
                self.0.push(if is_subscript { Bracket::Subscript } else { Bracket::Plain });
            }
            Token::RParen | Token::RBrace | Token::RBracket => drop(self.0.pop()),
            Token::SemiColon => self.0.clear(),
            _ => {}
        }
    }

    fn awaits_value(&self, before: &[TokenWithSpan]) -> bool {
        let Some(token) = last(before, 0) else { return true };
        // `a[:x]` and `a[-:x]` have no lower bound.
        if self.0.last() == Some(&Bracket::Subscript) {
            let opens = |token: &Token| *token == Token::LBracket;
            if opens(token) || *token == Token::Minus && last(before, 1).is_some_and(opens) {
                return false;
            }
            // A column that is called like a word of SQL.
            if matches!(token, Token::Word(_)) {
                return false;
            }
        }
        self.is_awaited_behind(token, before)
    }

    /// Whether a value, and nothing that goes on with one, may stand behind the last token.
    fn is_awaited_behind(&self, token: &Token, before: &[TokenWithSpan]) -> bool {
        match token {
            Token::Word(word) => word.quote_style.is_none() && self.is_followed_by_value(word, before),
            Token::RParen
            | Token::RBracket
            | Token::RBrace
            | Token::Number(..)
            | Token::Placeholder(_)
            | Token::Period
            | Token::DoubleColon
            | Token::SemiColon
            | Token::EOF => false,
            Token::SingleQuotedString(_)
            | Token::EscapedStringLiteral(_)
            | Token::DollarQuotedString(_)
            | Token::UnicodeStringLiteral(_)
            | Token::NationalStringLiteral(_)
            | Token::HexStringLiteral(_) => false,
            _ => true,
        }
    }

    fn is_followed_by_value(&self, word: &Word, before: &[TokenWithSpan]) -> bool {
        if !BEFORE_VALUES.contains(&word.keyword) {
            return false;
        }
        // A field of a struct, and an alias in front of what it names, may be called like a word of SQL.
        match last(before, 1) {
            Some(Token::LBrace) => false,
            Some(Token::Comma) if self.0.last() == Some(&Bracket::Brace) => false,
            Some(Token::Comma) => BEGIN_VALUES.contains(&word.keyword),
            Some(Token::Word(earlier)) if earlier.keyword == Keyword::SELECT => {
                BEGIN_VALUES.contains(&word.keyword)
            }
            Some(Token::Period) => false,
            _ => true,
        }
    }
}

/// The last token, or the one so many before it, without blanks.
fn last(tokens: &[TokenWithSpan], skipped: usize) -> Option<&Token> {
    tokens.iter().rev().filter(|token| !is_blank(token)).nth(skipped).map(|token| &token.token)
}

/// Words of SQL that a value may follow.
const BEFORE_VALUES: [Keyword; 41] = [
    Keyword::SELECT,
    Keyword::DISTINCT,
    Keyword::ALL,
    Keyword::CASE,
    Keyword::NOT,
    Keyword::INTERVAL,
    Keyword::WHERE,
    Keyword::HAVING,
    Keyword::QUALIFY,
    Keyword::ON,
    Keyword::AND,
    Keyword::OR,
    Keyword::XOR,
    Keyword::WHEN,
    Keyword::THEN,
    Keyword::ELSE,
    Keyword::BETWEEN,
    Keyword::LIKE,
    Keyword::ILIKE,
    Keyword::SIMILAR,
    Keyword::ESCAPE,
    Keyword::IN,
    Keyword::IS,
    Keyword::FROM,
    Keyword::FOR,
    Keyword::BY,
    Keyword::LIMIT,
    Keyword::OFFSET,
    Keyword::FIRST,
    Keyword::NEXT,
    Keyword::ZONE,
    Keyword::TO,
    Keyword::USING,
    Keyword::DEFAULT,
    Keyword::RETURNING,
    Keyword::GLOB,
    Keyword::ROWS,
    Keyword::RANGE,
    Keyword::BOTH,
    Keyword::LEADING,
    Keyword::TRAILING,
];

/// Those of them that a value may begin with, or stand right behind SELECT.
const BEGIN_VALUES: [Keyword; 5] =
    [Keyword::DISTINCT, Keyword::ALL, Keyword::CASE, Keyword::NOT, Keyword::INTERVAL];

#[cfg(test)]
mod tests {
    use crate::parser::parse_statement;

    fn parameters(sql: &str) -> Vec<String> {
        parse_statement(sql).unwrap_or_else(|error| panic!("{sql}: {error}")).parameter_names
    }

    #[test]
    fn a_colon_begins_a_parameter_where_a_value_is_awaited() {
        for (sql, expected) in [
            ("SELECT :a", vec!["a"]),
            ("SELECT :a, :B, $a", vec!["a", "B"]),
            ("SELECT :a::INTEGER + -:b", vec!["a", "b"]),
            ("SELECT x FROM t WHERE x = :a AND y BETWEEN :b AND :c", vec!["a", "b", "c"]),
            ("SELECT x FROM t WHERE x IN (:a, :b) LIMIT :c OFFSET :d", vec!["a", "b", "c", "d"]),
            ("SELECT CASE :a WHEN :b THEN :c ELSE :d END", vec!["a", "b", "c", "d"]),
            ("SELECT DISTINCT :a FROM t ORDER BY :b", vec!["a", "b"]),
            ("SELECT {'k': :a, case: :b}, MAP {:k: :v}", vec!["a", "b", "k", "v"]),
            ("SELECT [:a, :b], ARRAY[:c], f(x := :d)", vec!["a", "b", "c", "d"]),
            ("SELECT l[1: :b], l[1:-:c], l[(:d):n] FROM t", vec!["b", "c", "d"]),
            ("INSERT INTO t VALUES (:a, :b)", vec!["a", "b"]),
            ("UPDATE t SET x = :a WHERE y LIKE :b", vec!["a", "b"]),
            ("SELECT substring(x FROM :a FOR :b), INTERVAL (:c) DAY FROM t", vec!["a", "b", "c"]),
            ("SELECT j->>:a, x AT TIME ZONE :b FROM t", vec!["a", "b"]),
            ("SELECT x: :a", vec!["a"]),
        ] {
            assert_eq!(parameters(sql), expected, "{sql}");
        }
    }

    #[test]
    fn other_colons_stay_what_they_are() {
        for sql in [
            "SELECT a::INTEGER, '1'::integer",
            "SELECT l[:n], l[1:n], l[n:m], l[-:n], l[:-1:s], f(x)[:n], [1, 2][:n], l[1][:n] FROM t",
            "SELECT {a:b, 'c':d, limit:e, \"f\":g} FROM t",
            "SELECT MAP {k:v, 'a':b, [1]:x} FROM t",
            "SELECT list_transform(l, lambda x:y) FROM t",
            "SELECT total:x, y:z FROM t",
            "SELECT ':a', '{\"a\":b}'::JSON, $$:a$$ -- :a\n /* :b */",
        ] {
            assert_eq!(parameters(sql), Vec::<String>::new(), "{sql}");
        }
    }
}
