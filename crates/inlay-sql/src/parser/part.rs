//! Parts of statements that come alone: a text that a host is going to put into a statement is read here as what it is meant to be.
//!
//! What holds for a text that passes
//! - Read alone, it is that part from its first token to its last: `v; DROP TABLE t` is no list of keys.
//! - Its brackets are closed in it, in order, and so are its texts, names and block comments; it has no semicolon.
//!
//! So in parentheses, or where the clause it belongs to ends behind it, it stays what it is and changes nothing around it. A comment
//! that begins with `--` reaches to the end of its line: a line break has to follow the text.
//!
//! Called by the facade (`inlay::check_part`) alone.

use super::ast::{ExprKind, Pos};
use super::convert::pos_of;
use super::{
    LARGE_STACK_BYTES, Reader, STACK_PER_TOKEN, TextTokens, body, constants, parse_error, reader_of,
    syntax_at,
};
use inlay_types::{Error, Result};
use sqlparser::ast;
use sqlparser::tokenizer::{Location, Span, Token, TokenWithSpan};
use std::ops::Range;

/// What a text is meant to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// `a + 1`
    Expression,
    /// What stands in the parentheses of a call: `DISTINCT a, 2 ORDER BY b`, `*`.
    Arguments,
    /// What SELECT lists: `a, b + 1 AS c, * EXCLUDE (d)`.
    Items,
    /// What ORDER BY lists: `a DESC NULLS LAST, b`.
    Order,
    /// What GROUP BY lists: `a, ROLLUP (b, c)`, `ALL`.
    Groups,
    /// What follows a call: `OVER (PARTITION BY a)`, `FILTER (WHERE b)`.
    Window,
    /// `DECIMAL(10, 2)[]`, also of a type that only the database knows.
    Type,
}

impl Part {
    /// All of them.
    pub const ALL: [Self; 7] =
        [Self::Expression, Self::Arguments, Self::Items, Self::Order, Self::Groups, Self::Window, Self::Type];

    /// One word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Expression => "expression",
            Self::Arguments => "arguments",
            Self::Items => "items",
            Self::Order => "order",
            Self::Groups => "groups",
            Self::Window => "window",
            Self::Type => "type",
        }
    }

    fn described(self) -> &'static str {
        match self {
            Self::Expression => "expression",
            Self::Arguments => "list of arguments",
            Self::Items => "list of columns",
            Self::Order => "list of keys to sort by",
            Self::Groups => "list of groups",
            Self::Window => "window",
            Self::Type => "type",
        }
    }
}

/// Fails unless `text` is one `part` and nothing else.
pub fn check_part(part: Part, text: &str) -> Result<()> {
    let tokens = constants::tokens_of(text)?;
    check_brackets(&tokens.0, part, text)?;
    let needed = tokens.0.len().saturating_mul(STACK_PER_TOKEN).clamp(128 << 10, LARGE_STACK_BYTES / 2);
    stacker::maybe_grow(needed, LARGE_STACK_BYTES, || read(part, text, tokens))
}

/// The parts of a name such as `main."a.b"`.
pub fn parse_name(text: &str) -> Result<Vec<String>> {
    let tokens = constants::tokens_of(text)?;
    let mut reader = reader_of(text, tokens)?;
    let name = reader.object_name()?;
    reader.expect_end("name")?;
    Ok(name.parts.into_iter().map(|part| part.value).collect())
}

/// The parameters of a text, as they are written, with the range of its characters where each stands.
pub fn placeholders(text: &str) -> Result<Vec<(Range<usize>, String)>> {
    let masked = body::masked(text)?;
    let (tokens, _) = constants::tokens_of(masked.as_deref().unwrap_or(text))?;
    let mut index_of = indexes(text);
    let mut found = Vec::new();
    for TokenWithSpan { token, span } in &tokens {
        if let Token::Placeholder(written) = token
            && constants::number_of(written).is_none()
        {
            let start = index_of(pos_of(span.start));
            found.push((start..index_of(pos_of(span.end)), written.clone()));
        }
    }
    Ok(found)
}

/// A text with blanks in the place of a name and the dot behind it wherever another name follows them, as long as it was.
pub fn without_qualifier(text: &str, name: &str) -> Result<String> {
    let masked = body::masked(text)?;
    let (tokens, _) = constants::tokens_of(masked.as_deref().unwrap_or(text))?;
    let tokens: Vec<&TokenWithSpan> =
        tokens.iter().filter(|token| !matches!(token.token, Token::Whitespace(_))).collect();
    let is_name = |token: &Token| matches!(token, Token::Word(word) if word.value.eq_ignore_ascii_case(name));
    let mut index_of = indexes(text);
    let mut chars: Vec<char> = text.chars().collect();
    for (number, three) in tokens.windows(3).enumerate() {
        let follows = number > 0 && tokens[number - 1].token == Token::Period;
        let [first, dot, next] = three else { continue };
        let is_qualifier = is_name(&first.token) && dot.token == Token::Period;
        if is_qualifier && !follows && matches!(next.token, Token::Word(_)) {
            let (start, end) = (index_of(pos_of(first.span.start)), index_of(pos_of(dot.span.end)));
            if let Some(blank) = chars.get_mut(start..end) {
                blank.iter_mut().filter(|c| **c != '\n').for_each(|c| *c = ' ');
            }
        }
    }
    Ok(chars.into_iter().collect())
}

/// Names, in lower case, behind which a parenthesis opens: what a text may call.
pub fn called_names(text: &str) -> Result<Vec<String>> {
    let masked = body::masked(text)?;
    let (tokens, _) = constants::tokens_of(masked.as_deref().unwrap_or(text))?;
    let tokens: Vec<&Token> = tokens.iter().map(|token| &token.token).collect();
    let is_blank = |token: &&&Token| matches!(token, Token::Whitespace(_));
    let mut called = Vec::new();
    for (number, token) in tokens.iter().enumerate() {
        let next = tokens[number + 1..].iter().find(|token| !is_blank(token));
        if let (Token::Word(word), Some(Token::LParen)) = (token, next) {
            called.push(word.value.to_lowercase());
        }
    }
    Ok(called)
}

/// Gives the numbers of the characters at places of a text, which have to be asked for in order.
fn indexes(text: &str) -> impl FnMut(Pos) -> usize + '_ {
    let mut chars = text.chars();
    let (mut index, mut here) = (0, Pos { line: 1, column: 1 });
    move |place: Pos| {
        while (here.line, here.column) < (place.line, place.column) {
            let Some(next) = chars.next() else { break };
            here = match next {
                '\n' => Pos { line: here.line + 1, column: 1 },
                _ => Pos { column: here.column + 1, ..here },
            };
            index += 1;
        }
        index
    }
}

/// Fails at a bracket without its counterpart, and at a semicolon.
fn check_brackets(tokens: &[TokenWithSpan], part: Part, text: &str) -> Result<()> {
    let fail = |message: &str, place: Location| {
        let pos = pos_of(place);
        Err(syntax_at(message, pos, text))
    };
    let mut open: Vec<(&Token, Location)> = Vec::new();
    for TokenWithSpan { token, span } in tokens {
        let opener = match token {
            Token::LParen | Token::LBracket | Token::LBrace => {
                open.push((token, span.start));
                continue;
            }
            Token::RParen => Token::LParen,
            Token::RBracket => Token::LBracket,
            Token::RBrace => Token::LBrace,
            Token::SemiColon => {
                let message = format!("expected the end of the {}, found \";\"", part.described());
                return fail(&message, span.start);
            }
            _ => continue,
        };
        match open.pop() {
            Some((last, _)) if *last == opener => {}
            Some((last, _)) => return fail(&format!("\"{token}\" closes \"{last}\""), span.start),
            None => return fail(&format!("\"{token}\" closes nothing"), span.start),
        }
    }
    match open.pop() {
        Some((token, place)) => fail(&format!("\"{token}\" is not closed"), place),
        None => Ok(()),
    }
}

/// The tokens that stand in front of a part and behind it, where it belongs.
fn frame(part: Part) -> (Vec<Token>, Vec<Token>) {
    let word = |text: &str| Token::make_word(text, None);
    match part {
        Part::Expression => (vec![word("SELECT"), Token::LParen], vec![Token::RParen]),
        Part::Arguments => (vec![word("SELECT"), word("f"), Token::LParen], vec![Token::RParen]),
        Part::Items => (vec![word("SELECT")], vec![]),
        Part::Order => (vec![word("ORDER"), word("BY")], vec![]),
        Part::Groups => (vec![word("GROUP"), word("BY")], vec![]),
        Part::Window => (vec![word("SELECT"), word("f"), Token::LParen, Token::RParen], vec![]),
        Part::Type => (vec![], vec![]),
    }
}

/// The tokens in their frame, whose places are the ends of the text.
fn framed(part: Part, (tokens, constants): TextTokens, text: &str) -> TextTokens {
    let (before, behind) = frame(part);
    let start = Location { line: 1, column: 1 };
    let end = super::end_of(text);
    let end = Location { line: u64::from(end.line), column: u64::from(end.column) };
    let space = Token::Whitespace(sqlparser::tokenizer::Whitespace::Space);
    let at = |token: Token, place: Location| TokenWithSpan { token, span: Span { start: place, end: place } };
    let before = before.into_iter().flat_map(|token| [at(token, start), at(space.clone(), start)]);
    let behind = behind.into_iter().map(|token| at(token, end));
    (before.chain(tokens).chain(behind).collect(), constants)
}

fn read(part: Part, text: &str, tokens: TextTokens) -> Result<()> {
    let mut reader = reader_of(text, framed(part, tokens, text))?;
    match part {
        Part::Expression => {
            reader.expect_word("select")?;
            reader.expect(&Token::LParen)?;
            reader.expression()?;
            reader.expect_closed(part)?;
        }
        Part::Arguments => {
            reader.expect_word("select")?;
            let call = reader.expression()?;
            if !matches!(call.kind, ExprKind::Function(_)) {
                return Err(Error::internal("the arguments of a call were read as something else"));
            }
        }
        Part::Items => {
            reader.expect_word("select")?;
            reader.select_items(text)?;
        }
        Part::Order => reader.order(text)?,
        Part::Groups => reader.groups(text)?,
        Part::Window => {
            reader.expect_word("select")?;
            let call = reader.expression()?;
            let is_window = match &call.kind {
                ExprKind::Window(_) => true,
                ExprKind::Function(call) => call.filter.is_some(),
                _ => false,
            };
            if !is_window {
                let start = Pos { line: 1, column: 1 };
                return Err(syntax_at("expected a window, such as OVER (ORDER BY x)", start, text));
            }
        }
        Part::Type => {
            reader.parser.parse_data_type().map_err(|error| parse_error(&error, text))?;
        }
    }
    reader.expect_end(part.described())
}

impl Reader<'_> {
    /// Fails unless all tokens were read.
    pub(super) fn expect_end(&self, what: &str) -> Result<()> {
        match self.parser.peek_token_ref().token {
            Token::EOF => Ok(()),
            _ => self.syntax(&format!("the end of the {what}")),
        }
    }

    /// Reads the parenthesis of the frame.
    fn expect_closed(&mut self, part: Part) -> Result<()> {
        if self.parser.consume_token(&Token::RParen) {
            return Ok(());
        }
        self.syntax(&format!("the end of the {}", part.described()))
    }

    fn select_items(&mut self, text: &str) -> Result<()> {
        let [first, second] = self.parser.peek_tokens_ref::<2>().map(|token| &token.token);
        let is_clause = |word: &str| matches!(first, Token::Word(first) if first.quote_style.is_none() && first.value.eq_ignore_ascii_case(word));
        // They belong to SELECT, not to what it lists.
        if (is_clause("distinct") || is_clause("all"))
            && !matches!(second, Token::EOF | Token::Comma | Token::Period)
        {
            return self.syntax("a column");
        }
        let first_token = self.next_index();
        let items = self.parser.parse_projection().map_err(|error| parse_error(&error, text))?;
        let context = self.context(first_token);
        items.into_iter().try_for_each(|item| context.select_item(item).map(drop))
    }

    fn order(&mut self, text: &str) -> Result<()> {
        let first_token = self.next_index();
        let order = self.parser.parse_optional_order_by().map_err(|error| parse_error(&error, text))?;
        self.context(first_token).order_by(order).map(drop)
    }

    fn groups(&mut self, text: &str) -> Result<()> {
        let first_token = self.next_index();
        let groups = self.parser.parse_optional_group_by().map_err(|error| parse_error(&error, text))?;
        let groups = groups.unwrap_or(ast::GroupByExpr::Expressions(Vec::new(), Vec::new()));
        self.context(first_token).group_by(groups, Pos { line: 1, column: 1 }).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_read_whole() {
        let good: [(Part, &[&str]); 7] = [
            (
                Part::Expression,
                &[
                    "a",
                    "a + 1 -- more",
                    "(SELECT 1)",
                    "x IN (SELECT y FROM t)",
                    "'it''s; --'",
                    "$$;$$",
                    "$a$ ' $a$",
                    "f(x) OVER (ORDER BY y)",
                    "CASE WHEN a THEN b END",
                    "/* /* nested */ ; */ a",
                    "{'a': 1}",
                    "[1, 2][1:]",
                    "list_transform(l, lambda x: x + 1)",
                    "E'\\'; --'",
                    "a::DECIMAL(1, 0)",
                    "\"a;\"\"b\"",
                    "DATE '2020-01-01'",
                ],
            ),
            (
                Part::Arguments,
                &["*", "a", "DISTINCT a", "a ORDER BY b DESC", "a, 'x'", "a := 1", "x -> x + 1", ""],
            ),
            (
                Part::Items,
                &[
                    "*",
                    "a, b + 1 AS c",
                    "* EXCLUDE (a)",
                    "t.*",
                    "COLUMNS('x.*')",
                    "a: 1",
                    "* LIKE 'a%'",
                    "a b",
                    "a AS \"x;y\"",
                    "distinct",
                ],
            ),
            (Part::Order, &["a", "a DESC NULLS LAST, b", "ALL", "1", "random()", "a -- by a"]),
            (Part::Groups, &["a", "a, b + 1", "ALL", "ROLLUP (a, b)", "GROUPING SETS ((a), ())", "()"]),
            (
                Part::Window,
                &[
                    "OVER ()",
                    "over (partition by a order by b)",
                    "FILTER (WHERE a) OVER ()",
                    "IGNORE NULLS OVER (ORDER BY a)",
                ],
            ),
            (
                Part::Type,
                &[
                    "INTEGER",
                    "DECIMAL(10, 2)[]",
                    "STRUCT(a INTEGER, b VARCHAR[])",
                    "mood",
                    "MAP(VARCHAR, INTEGER)",
                    "main.mood",
                    "TIMESTAMP WITH TIME ZONE",
                ],
            ),
        ];
        for (part, texts) in good {
            for text in texts {
                check_part(part, text).unwrap_or_else(|error| panic!("{part:?} {text}: {error}"));
            }
        }
    }

    #[test]
    fn what_is_more_or_less_is_refused() {
        let bad = [
            "a; DROP TABLE t",
            "a; DROP TABLE t; --",
            "a;",
            ";",
            "a) FROM t; --",
            "a)",
            "(a",
            "a]",
            "[a",
            "{'a': 1",
            "a}",
            "(a]",
            "'a",
            "\"a",
            "$$a",
            "$x$ a $$",
            "/* a",
            "/* /* a */",
            "a) + (b",
            "a FROM t",
            "a UNION SELECT 1",
            "a WHERE true",
            "E'\\'",
            "a LIMIT 1",
            "a GROUP BY b HAVING true",
        ];
        for part in Part::ALL {
            for text in bad {
                assert!(check_part(part, text).is_err(), "{part:?} takes {text}");
            }
        }
        let bad: [(Part, &[&str]); 7] = [
            (
                Part::Expression,
                &[
                    "",
                    "a, b",
                    "a AS b",
                    "a DESC",
                    "SELECT 1",
                    "FROM t",
                    "DESCRIBE t",
                    "PIVOT t ON a",
                    "*, 1",
                    "-- a",
                ],
            ),
            (Part::Arguments, &["a AS b", "SELECT 1 FROM", "a b"]),
            (Part::Items, &["", "DISTINCT a", "ALL a", "a AS", "a, b FROM t", "a INTO b"]),
            (Part::Order, &["", "a AS b", "a b", "a LIMIT 1", "a DESC ASC", "SELECT 1"]),
            (Part::Groups, &["a HAVING b", "a ORDER BY b", "a DESC"]),
            (
                Part::Window,
                &["", "+ 1", "OVER () + 1", "OVER (), 1", "OVER () AS x", "OVER ( FROM t", "AS x"],
            ),
            (
                Part::Type,
                &[
                    "",
                    "INTEGER DEFAULT 1",
                    "INTEGER, a",
                    "INTEGER) AS x, (a",
                    "1",
                    "'INTEGER'",
                    "INTEGER NOT NULL",
                ],
            ),
        ];
        for (part, texts) in bad {
            for text in texts {
                // An empty list of groups groups by nothing.
                assert!(check_part(part, text).is_err(), "{part:?} takes {text:?}");
            }
        }
    }

    #[test]
    fn errors_show_the_place() {
        let error = check_part(Part::Order, "a,\n b; DROP TABLE t").unwrap_err().to_string();
        assert!(error.contains("expected the end of the list of keys to sort by, found \";\""), "{error}");
        assert!(error.contains("line 2"), "{error}");
    }

    #[test]
    fn placeholders_have_their_places() {
        let text = "SELECT 'ä?', ? /* /* ? */ ' ? */,\n $name, ?2, \"?\", $$?$$, E'\\'?' -- ?\n, $1";
        let found = placeholders(text).unwrap();
        let chars: Vec<char> = text.chars().collect();
        for (range, written) in &found {
            assert_eq!(chars[range.clone()].iter().collect::<String>(), *written);
        }
        let written: Vec<&str> = found.iter().map(|(_, written)| written.as_str()).collect();
        assert_eq!(written, ["?", "$name", "?2", "$1"]);
    }

    #[test]
    fn names_have_parts() {
        let parts = |text: &str| parse_name(text).map_err(|error| error.to_string());
        assert_eq!(parts("a.\"b.\"\"c\"").unwrap(), ["a", "b.\"c"]);
        for text in ["", "a b", "\"a\"; DROP TABLE t", "\"a", "a.\"b\" --\n, c", "\"a\" AS b", "f(\"x\")"] {
            assert!(parts(text).is_err(), "{text}");
        }
    }

    #[test]
    fn calls_are_found() {
        let text = "SELECT Read_Csv ('a(b)'), \"f\"(1) FROM t -- g(\n";
        assert_eq!(super::called_names(text).unwrap(), ["read_csv", "f"]);
    }

    #[test]
    fn a_qualifier_becomes_blanks() {
        for (text, blank) in [
            ("UPDATE remote.t SET a = remote.t.a", "UPDATE        t SET a =        t.a"),
            ("FROM \"remote\" . \"t\", s.remote.t", "FROM            \"t\", s.remote.t"),
            ("FROM REMOTE.main.é -- remote.t\n, 'remote.t'", "FROM        main.é -- remote.t\n, 'remote.t'"),
            ("SELECT remote", "SELECT remote"),
        ] {
            assert_eq!(without_qualifier(text, "remote").unwrap(), blank);
        }
    }
}
