//! Friendly syntax that `sqlparser` does not read, put into words that it does, token by token.
//!
//! | Written | Read as |
//! | --- | --- |
//! | `SELECT a: 1` | a comparison of lowest precedence with an operator of ours, see [`ALIAS_OPERATOR`] |
//! | `FROM t: tbl` | `FROM tbl AS t` |
//! | `FROM t WHERE x` | `SELECT * FROM t WHERE x` |
//! | `* LIKE 'p'`, `*COLUMNS(..)` | calls of [`STAR_CALL`] and [`UNPACK_CALL`] |
//! | `ASOF JOIN`, `POSITIONAL JOIN` | `GLOBAL JOIN`, `GLOBAL CROSS JOIN`: words no other SQL of ours has |
//! | `PIVOT ..`, `(DESCRIBE t)` ... | a call of [`PIECE_CALL`] with the number of the tokens kept aside |
//! | `l[::2]` | `l[:-:2]`, where `-` is no bound |
//! | `f(l, x -> x + 1)` | `f(l, lambda x: x + 1)` for the functions that take a lambda |
//! | `**`, `0b101`, `0xff` | `^`, numbers |
//!
//! One pass with a stack of its own; every token is moved a bounded number of times.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Span, Token, TokenWithSpan, Word};

/// The operator between the alias in front and the expression behind it.
pub(super) const ALIAS_OPERATOR: &str = "prefix alias";
/// `* LIKE ..`: the star as a call that LIKE can stand behind.
pub(super) const STAR_CALL: &str = "*";
/// `*COLUMNS(..)`.
pub(super) const UNPACK_CALL: &str = "*columns";
/// Tokens kept aside.
pub(super) const PIECE_CALL: &str = "(piece)";

/// The tokens that are left, and those kept aside.
pub(super) struct Rewritten {
    pub(super) tokens: Vec<TokenWithSpan>,
    /// Each piece begins with its keyword.
    pub(super) pieces: Vec<Vec<TokenWithSpan>>,
}

/// The clause that a level of parentheses is in.
#[derive(Clone, Copy, PartialEq)]
enum Clause {
    /// Nothing of a query has been read.
    Start,
    Select,
    From,
    Other,
}

struct Level {
    opener: Token,
    clause: Clause,
    /// Where, in the output, two spare tokens stand in front of a FROM that came first.
    spare: Option<usize>,
    /// Where the pieces that end with this level, or with its ORDER BY, begin in the output; the innermost last.
    pieces: Vec<usize>,
    /// The first word of the query or statement.
    first: Keyword,
    /// No token was read.
    empty: bool,
    /// It holds the arguments of a call.
    opened_by_call: bool,
    /// It holds the arguments of a call that `x -> ..` is a lambda for.
    takes_lambda: bool,
}

impl Level {
    fn new(opener: Token, opened_by_call: bool) -> Self {
        Self {
            opener,
            clause: Clause::Start,
            spare: None,
            pieces: Vec::new(),
            first: Keyword::NoKeyword,
            empty: true,
            opened_by_call,
            takes_lambda: false,
        }
    }
}

struct Rewriter {
    input: Vec<TokenWithSpan>,
    out: Vec<TokenWithSpan>,
    levels: Vec<Level>,
    pieces: Vec<Vec<TokenWithSpan>>,
    /// Aliases to be written in front of the input token of this index; the nearest last.
    aliases: Vec<(usize, TokenWithSpan)>,
}

/// Rewrites the tokens of a text.
pub(super) fn rewrite(mut input: Vec<TokenWithSpan>, sql: &str) -> Rewritten {
    if !input.iter().any(is_of_interest) {
        return Rewritten { tokens: input, pieces: Vec::new() };
    }
    read_hexadecimal(&mut input, sql);
    read_units(&mut input);
    let mut rewriter = Rewriter {
        out: Vec::with_capacity(input.len() + 16),
        input,
        levels: vec![Level::new(Token::EOF, false)],
        pieces: Vec::new(),
        aliases: Vec::new(),
    };
    let mut index = 0;
    while index < rewriter.input.len() {
        index = rewriter.step(index);
    }
    rewriter.write_aliases(index);
    while rewriter.levels.len() > 1 {
        rewriter.close();
    }
    rewriter.end_query();
    Rewritten { tokens: rewriter.out, pieces: rewriter.pieces }
}

/// Most texts have nothing to rewrite.
fn is_of_interest(token: &TokenWithSpan) -> bool {
    match &token.token {
        Token::Colon
        | Token::DoubleColon
        | Token::Arrow
        | Token::Mul
        | Token::HexStringLiteral(_)
        | Token::DoubleTilde => true,
        Token::ExclamationMarkDoubleTilde => true,
        Token::Word(word) if matches!(word.keyword, Keyword::FILTER) => true,
        Token::Word(word) if word.quote_style.is_none() => {
            matches!(word.keyword, Keyword::FROM | Keyword::PIVOT | Keyword::UNPIVOT | Keyword::ASOF)
                || matches!(word.keyword, Keyword::DESCRIBE | Keyword::SHOW)
                || is_word(&token.token, "POSITIONAL")
                || is_word(&token.token, "SUMMARIZE")
                || unit_of(&word.value).is_some()
                || word.value.starts_with(['b', 'o', 'B', 'O'])
        }
        _ => false,
    }
}

/// What the items of long lists consist of, which stays as it is.
fn is_plain(token: &Token) -> bool {
    match token {
        Token::Comma | Token::SingleQuotedString(_) | Token::Placeholder(_) => true,
        Token::Number(digits, _) => digits != "0",
        _ => false,
    }
}

/// Makes decimal numbers of those that are written `0x..`; blobs `x'..'` are the same kind of token.
fn read_hexadecimal(input: &mut [TokenWithSpan], sql: &str) {
    let mut text = sql.chars();
    let (mut line, mut column) = (1, 1);
    for token in input {
        let Token::HexStringLiteral(digits) = &token.token else { continue };
        let start = token.span.start;
        let mut first = None;
        while (line, column) <= (start.line, start.column) {
            first = text.next();
            match first {
                None => return,
                Some('\n') => (line, column) = (line + 1, 1),
                Some(_) => column += 1,
            }
        }
        if first == Some('0')
            && let Ok(value) = u128::from_str_radix(&digits.replace('_', ""), 16)
        {
            token.token = Token::Number(value.to_string(), false);
        }
    }
}

/// The unit that a word of more of them means, of those that `sqlparser` knows as one only.
fn unit_of(word: &str) -> Option<(&'static str, Keyword)> {
    let units = [
        ("CENTURIES", "CENTURY", Keyword::CENTURY),
        ("DECADES", "DECADE", Keyword::DECADE),
        ("MILLENNIA", "MILLENNIUM", Keyword::MILLENNIUM),
        ("MILLENNIUMS", "MILLENNIUM", Keyword::MILLENNIUM),
        ("QUARTERS", "QUARTER", Keyword::QUARTER),
    ];
    units
        .into_iter()
        .find(|(many, ..)| word.eq_ignore_ascii_case(many))
        .map(|(_, one, keyword)| (one, keyword))
}

/// `INTERVAL '2' DECADES`: the unit would be taken for an alias.
fn read_units(input: &mut [TokenWithSpan]) {
    // How far an amount behind INTERVAL has been read: the word itself, its sign, the amount.
    let mut read = None;
    for token in input {
        let (unit, is_interval) = match &token.token {
            Token::Word(word) if word.quote_style.is_none() => {
                (unit_of(&word.value), word.keyword == Keyword::INTERVAL)
            }
            _ => (None, false),
        };
        read = match (&token.token, read) {
            (Token::Whitespace(_), read) => read,
            (Token::Minus | Token::Plus, Some(0)) => Some(0),
            (Token::SingleQuotedString(_) | Token::Number(..), Some(0)) => Some(1),
            _ if is_interval => Some(0),
            (_, Some(1)) => {
                if let Some((one, keyword)) = unit {
                    *token = keyword_token(one, keyword, token.span);
                }
                None
            }
            _ => None,
        };
    }
}

fn is_word(token: &Token, text: &str) -> bool {
    matches!(token, Token::Word(word) if word.quote_style.is_none() && word.value.eq_ignore_ascii_case(text))
}

fn keyword(token: &Token) -> Keyword {
    match token {
        Token::Word(word) if word.quote_style.is_none() => word.keyword,
        _ => Keyword::NoKeyword,
    }
}

/// The words of `INCLUDE NULLS` and `EXCLUDE NULLS`.
fn is_nulls_clause(token: &Token) -> bool {
    ["include", "exclude", "nulls"].iter().any(|word| is_word(token, word))
}

/// Whether a word stands in front of a query that it describes.
fn is_description(token: &Token) -> bool {
    matches!(keyword(token), Keyword::DESCRIBE) || is_word(token, "SUMMARIZE")
}

fn is_space(token: &Token) -> bool {
    matches!(token, Token::Whitespace(_))
}

fn is_opener(token: &Token) -> bool {
    matches!(token, Token::LParen | Token::LBracket | Token::LBrace)
}

fn is_closer(token: &Token) -> bool {
    matches!(token, Token::RParen | Token::RBracket | Token::RBrace)
}

fn name_token(text: &str, span: Span) -> TokenWithSpan {
    let word = Word { value: text.to_string(), quote_style: None, keyword: Keyword::NoKeyword };
    TokenWithSpan { token: Token::Word(word), span }
}

fn keyword_token(text: &str, keyword: Keyword, span: Span) -> TokenWithSpan {
    let word = Word { value: text.to_string(), quote_style: None, keyword };
    TokenWithSpan { token: Token::Word(word), span }
}

impl Rewriter {
    /// The input's next token that is not white space, from `index` on.
    fn significant(&self, mut index: usize) -> usize {
        while self.input.get(index).is_some_and(|token| is_space(&token.token)) {
            index += 1;
        }
        index
    }

    fn token(&self, index: usize) -> &Token {
        self.input.get(index).map_or(&Token::EOF, |token| &token.token)
    }

    /// The token `back` significant tokens before the end of the output.
    fn before(&self, back: usize) -> &Token {
        let mut tokens = self.out.iter().rev().filter(|token| !is_space(&token.token));
        tokens.nth(back).map_or(&Token::EOF, |token| &token.token)
    }

    fn level(&mut self) -> &mut Level {
        if self.levels.is_empty() {
            self.levels.push(Level::new(Token::EOF, false));
        }
        let last = self.levels.len() - 1;
        &mut self.levels[last]
    }

    fn emit(&mut self, index: usize) {
        let token = self.input[index].clone();
        self.out.push(token);
    }

    /// Writes the aliases that belong in front of the token at `index`.
    fn write_aliases(&mut self, index: usize) {
        while self.aliases.last().is_some_and(|(place, _)| *place <= index) {
            if let Some((_, alias)) = self.aliases.pop() {
                self.out.push(keyword_token("AS", Keyword::AS, alias.span));
                self.out.push(alias);
            }
        }
    }

    /// Reads the token at `index` and says which is next.
    fn step(&mut self, index: usize) -> usize {
        self.write_aliases(index);
        if is_space(self.token(index)) {
            self.emit(index);
            return index + 1;
        }
        if self.level().takes_lambda
            && let Some(next) = self.arrow_lambda(index)
        {
            return next;
        }
        if is_plain(self.token(index)) {
            self.level().empty = false;
            self.emit(index);
            return index + 1;
        }
        let token = self.token(index).clone();
        let next = match &token {
            Token::DoubleColon if self.is_in_slice(index) => {
                let span = self.input[index].span;
                for token in [Token::Colon, Token::Minus, Token::Colon] {
                    self.out.push(TokenWithSpan { token, span });
                }
                Some(index + 1)
            }
            Token::Word(word) if word.quote_style.is_none() => self.word(index),
            Token::Word(_) => self.prefix_alias(index),
            Token::Mul => self.star(index),
            Token::DoubleTilde | Token::ExclamationMarkDoubleTilde
                if *self.token(index + 1) == Token::Tilde =>
            {
                let span = self.input[index].span;
                if token != Token::DoubleTilde {
                    self.out.push(keyword_token("NOT", Keyword::NOT, span));
                }
                self.out.push(keyword_token("GLOB", Keyword::GLOB, span));
                Some(index + 2)
            }
            Token::Number(digits, _) if digits == "0" => self.based_number(index),
            Token::SemiColon => {
                self.end_query();
                self.emit(index);
                self.level().empty = true;
                return index + 1;
            }
            token if is_opener(token) => {
                let call = matches!(self.before(0), Token::Word(word)
                    if matches!(word.keyword, Keyword::NoKeyword | Keyword::TRIM));
                // `FILTER (condition)` is short for `FILTER (WHERE condition)`.
                let filters = keyword(self.before(0)) == Keyword::FILTER && *self.before(1) == Token::RParen;
                self.level().empty = false;
                self.emit(index);
                if filters && keyword(self.token(self.significant(index + 1))) != Keyword::WHERE {
                    let span = self.input[index].span;
                    self.out.push(keyword_token("WHERE", Keyword::WHERE, span));
                }
                let takes_lambda =
                    matches!(self.before(1), Token::Word(word) if super::nested::takes_lambda(&word.value));
                self.levels.push(Level { takes_lambda, ..Level::new(token.clone(), call) });
                return index + 1;
            }
            token if is_closer(token) => {
                if self.levels.len() > 1 {
                    self.close();
                }
                None
            }
            _ => None,
        };
        self.level().empty = false;
        next.unwrap_or_else(|| {
            self.emit(index);
            index + 1
        })
    }

    fn close(&mut self) {
        self.end_query();
        self.levels.pop();
    }

    /// What a query of the level being read left open is ended.
    fn end_query(&mut self) {
        let level = self.level();
        level.clause = Clause::Start;
        let spare = level.spare.take();
        let pieces = std::mem::take(&mut level.pieces);
        if let Some(place) = spare {
            let span = self.out[place].span;
            self.out[place] = keyword_token("SELECT", Keyword::SELECT, span);
            self.out[place + 1] = TokenWithSpan { token: Token::Mul, span };
        }
        for start in pieces.into_iter().rev() {
            self.keep_aside(start);
        }
    }

    /// Moves the output from `start` on into a piece and leaves `FROM (piece)(n)`.
    fn keep_aside(&mut self, start: usize) {
        let tokens = self.out.split_off(start);
        let (Some(first), Some(last)) = (tokens.first(), tokens.last()) else { return };
        let (first, last) = (first.span, last.span);
        self.out.push(keyword_token("SELECT", Keyword::SELECT, first));
        self.out.push(TokenWithSpan { token: Token::Mul, span: first });
        self.out.push(keyword_token("FROM", Keyword::FROM, first));
        self.call_of_piece(tokens, first, last);
    }

    fn call_of_piece(&mut self, tokens: Vec<TokenWithSpan>, first: Span, last: Span) {
        self.out.push(name_token(PIECE_CALL, first));
        self.out.push(TokenWithSpan { token: Token::LParen, span: first });
        let number = Token::Number(self.pieces.len().to_string(), false);
        self.out.push(TokenWithSpan { token: number, span: first });
        self.out.push(TokenWithSpan { token: Token::RParen, span: last });
        self.pieces.push(tokens);
    }

    fn word(&mut self, index: usize) -> Option<usize> {
        let token = self.token(index).clone();
        let follows = self.significant(index + 1);
        if self.level().empty {
            self.level().first = keyword(&token);
        }
        match keyword(&token) {
            Keyword::SELECT => {
                let level = self.level();
                level.clause = Clause::Select;
                level.spare = None;
                None
            }
            Keyword::FROM => {
                self.from(index);
                None
            }
            Keyword::ORDER | Keyword::LIMIT | Keyword::OFFSET if !self.level().pieces.is_empty() => {
                self.end_query();
                self.level().clause = Clause::Other;
                None
            }
            Keyword::WHERE
            | Keyword::GROUP
            | Keyword::HAVING
            | Keyword::WINDOW
            | Keyword::QUALIFY
            | Keyword::ORDER
            | Keyword::LIMIT
            | Keyword::OFFSET
            | Keyword::VALUES
            | Keyword::SET
            | Keyword::UPDATE
            | Keyword::DELETE
            | Keyword::COPY => {
                self.level().clause = Clause::Other;
                None
            }
            Keyword::UNION | Keyword::EXCEPT | Keyword::INTERSECT
                if self.level().clause != Clause::Start || !self.level().pieces.is_empty() =>
            {
                self.end_query();
                None
            }
            Keyword::ASOF
                if matches!(
                    keyword(self.token(follows)),
                    Keyword::JOIN
                        | Keyword::LEFT
                        | Keyword::RIGHT
                        | Keyword::FULL
                        | Keyword::INNER
                        | Keyword::SEMI
                        | Keyword::ANTI
                        | Keyword::NATURAL
                ) =>
            {
                self.out.push(keyword_token("GLOBAL", Keyword::GLOBAL, self.input[index].span));
                Some(index + 1)
            }
            Keyword::PIVOT | Keyword::UNPIVOT => self.pivot(index, follows),
            Keyword::DESCRIBE | Keyword::SHOW | Keyword::NoKeyword
                if self.levels.len() > 1
                    && self.level().empty
                    && !self.level().opened_by_call
                    && (matches!(keyword(&token), Keyword::DESCRIBE | Keyword::SHOW)
                        || is_word(&token, "SUMMARIZE"))
                    && !is_closer(self.token(follows))
                    && !matches!(self.token(follows), Token::Comma | Token::Period | Token::LParen) =>
            {
                let place = self.out.len();
                self.level().pieces.push(place);
                None
            }
            _ if is_word(&token, "POSITIONAL") && keyword(self.token(follows)) == Keyword::JOIN => {
                let span = self.input[index].span;
                self.out.push(keyword_token("GLOBAL", Keyword::GLOBAL, span));
                self.out.push(keyword_token("CROSS", Keyword::CROSS, span));
                Some(index + 1)
            }
            _ => self.prefix_alias(index),
        }
    }

    /// FROM that begins a query gets `SELECT *` in front, unless its SELECT comes later.
    fn from(&mut self, index: usize) {
        let before = self.before(0).clone();
        let is_macro = keyword(&before) == Keyword::TABLE && keyword(self.before(1)) == Keyword::AS;
        let level = self.level();
        let begins = level.clause == Clause::Start
            && match keyword(&before) {
                _ if level.empty => !level.opened_by_call,
                Keyword::AS | Keyword::EXPLAIN | Keyword::ANALYZE | Keyword::DESCRIBE => true,
                Keyword::UNION | Keyword::ALL | Keyword::EXCEPT | Keyword::INTERSECT | Keyword::NAME => true,
                _ if is_word(&before, "SUMMARIZE") => true,
                _ if level.first == Keyword::INSERT || is_macro => true,
                _ => before == Token::RParen && matches!(level.first, Keyword::WITH | Keyword::EXPLAIN),
            };
        level.clause = Clause::From;
        if begins {
            let place = self.out.len();
            self.level().spare = Some(place);
            let span = self.input[index].span;
            let space = Token::Whitespace(sqlparser::tokenizer::Whitespace::Space);
            for _ in 0..2 {
                self.out.push(TokenWithSpan { token: space.clone(), span });
            }
        }
    }

    /// `PIVOT t ON ..` is a query; `t PIVOT (..)` belongs to the table in front.
    fn pivot(&mut self, index: usize, follows: usize) -> Option<usize> {
        let in_from = self.level().clause == Clause::From;
        let is_operator = in_from
            && !matches!(self.before(0), Token::Comma)
            && !matches!(keyword(self.before(0)), Keyword::FROM | Keyword::JOIN);
        if !is_operator {
            let starts = self.level().clause == Clause::Start
                && (self.level().pieces.is_empty() || is_description(self.before(0)))
                && !matches!(self.token(follows), Token::Comma | Token::Period | Token::EOF | Token::Eq)
                && !is_closer(self.token(follows));
            if starts {
                let place = self.out.len();
                self.level().pieces.push(place);
            }
            return None;
        }
        // To the closing parenthesis, with INCLUDE NULLS in front of the opening one.
        let mut end = index + 1;
        let mut depth = 0usize;
        while end < self.input.len() {
            let token = self.token(end);
            if is_opener(token) {
                depth += 1;
            } else if is_closer(token) {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    break;
                }
            } else if depth == 0 && !is_space(token) && !is_nulls_clause(token) {
                return None;
            }
            end += 1;
        }
        let last = self.input.get(end)?.span;
        let first = self.input[index].span;
        // What is inside stays as it is written.
        let tokens: Vec<TokenWithSpan> = self.input[index..=end].to_vec();
        let push =
            |out: &mut Vec<TokenWithSpan>, token: Token| out.push(TokenWithSpan { token, span: first });
        self.out.push(keyword_token("PIVOT", Keyword::PIVOT, first));
        push(&mut self.out, Token::LParen);
        self.call_of_piece(tokens, first, first);
        self.out.push(keyword_token("FOR", Keyword::FOR, first));
        self.out.push(name_token("piece", first));
        self.out.push(keyword_token("IN", Keyword::IN, first));
        push(&mut self.out, Token::LParen);
        self.out.push(keyword_token("ANY", Keyword::ANY, first));
        push(&mut self.out, Token::RParen);
        self.out.push(TokenWithSpan { token: Token::RParen, span: last });
        Some(end + 1)
    }

    /// `name :` where an item of SELECT or FROM begins.
    fn prefix_alias(&mut self, index: usize) -> Option<usize> {
        let colon = self.significant(index + 1);
        if *self.token(colon) != Token::Colon {
            return None;
        }
        let level = self.level();
        if matches!(level.opener, Token::LBrace | Token::LBracket) {
            return None;
        }
        let clause = level.clause;
        let before = self.before(0);
        match clause {
            Clause::Select
                if *before == Token::Comma
                    || matches!(keyword(before), Keyword::SELECT | Keyword::DISTINCT | Keyword::ALL)
                    || (*before == Token::RParen) =>
            {
                self.emit(index);
                let operator = Token::CustomBinaryOperator(ALIAS_OPERATOR.to_string());
                self.out.push(TokenWithSpan { token: operator, span: self.input[colon].span });
                Some(colon + 1)
            }
            Clause::From
                if *before == Token::Comma
                    || *before == Token::LParen
                    || matches!(keyword(before), Keyword::FROM | Keyword::JOIN) =>
            {
                let alias = self.input[index].clone();
                let end = self.factor_end(colon + 1);
                self.aliases.push((end, alias));
                Some(colon + 1)
            }
            _ => None,
        }
    }

    /// Whether `::` stands for two bounds of a slice left out, and not for a cast.
    fn is_in_slice(&mut self, index: usize) -> bool {
        let next = self.token(self.significant(index + 1));
        let ends = matches!(next, Token::Number(..) | Token::Minus | Token::RBracket);
        let begins = *self.before(0) == Token::LBracket;
        self.level().opener == Token::LBracket && (begins || ends)
    }

    /// `x -> ..` and `(x, y) -> ..` as an argument become `lambda x, y: ..`.
    fn arrow_lambda(&mut self, index: usize) -> Option<usize> {
        if !matches!(self.before(0), Token::Comma | Token::LParen) {
            return None;
        }
        let mut params = Vec::new();
        let mut at = index;
        if *self.token(at) == Token::LParen {
            loop {
                at = self.significant(at + 1);
                params.push(at);
                if !matches!(self.token(at), Token::Word(_)) {
                    return None;
                }
                at = self.significant(at + 1);
                match self.token(at) {
                    Token::Comma => {}
                    Token::RParen => break,
                    _ => return None,
                }
            }
        } else if matches!(self.token(at), Token::Word(_)) {
            params.push(at);
        } else {
            return None;
        }
        let arrow = self.significant(at + 1);
        if *self.token(arrow) != Token::Arrow {
            return None;
        }
        let span = self.input[arrow].span;
        self.out.push(name_token("lambda", self.input[index].span));
        for (number, param) in params.into_iter().enumerate() {
            if number > 0 {
                self.out.push(TokenWithSpan { token: Token::Comma, span });
            }
            self.emit(param);
        }
        self.out.push(TokenWithSpan { token: Token::Colon, span });
        self.level().empty = false;
        Some(arrow + 1)
    }

    /// The index behind the table, query or call that begins at `index`.
    fn factor_end(&self, index: usize) -> usize {
        let mut index = self.significant(index);
        if keyword(self.token(index)) == Keyword::LATERAL {
            index = self.significant(index + 1);
        }
        while matches!(self.token(index), Token::Word(_) | Token::SingleQuotedString(_)) {
            index += 1;
            if *self.token(index) != Token::Period {
                break;
            }
            index += 1;
        }
        let open = self.significant(index);
        if *self.token(open) != Token::LParen {
            return index;
        }
        let mut depth = 0usize;
        for place in open..self.input.len() {
            let token = self.token(place);
            if is_opener(token) {
                depth += 1;
            } else if is_closer(token) {
                depth -= 1;
                if depth == 0 {
                    return place + 1;
                }
            }
        }
        self.input.len()
    }

    fn star(&mut self, index: usize) -> Option<usize> {
        let span = self.input[index].span;
        if *self.token(index + 1) == Token::Mul {
            self.out.push(TokenWithSpan { token: Token::Caret, span });
            return Some(index + 2);
        }
        let before = self.before(0).clone();
        let begins = matches!(before, Token::Comma | Token::LParen | Token::LBracket)
            || matches!(keyword(&before), Keyword::SELECT | Keyword::DISTINCT);
        let next = self.significant(index + 1);
        if begins && is_word(self.token(next), "COLUMNS") && *self.token(next + 1) == Token::LParen {
            self.out.push(name_token(UNPACK_CALL, span));
            return Some(next + 1);
        }
        let qualified = before == Token::Period;
        let operator = match keyword(self.token(next)) {
            Keyword::NOT => keyword(self.token(self.significant(next + 1))),
            other => other,
        };
        let filters = matches!(operator, Keyword::LIKE | Keyword::ILIKE | Keyword::SIMILAR | Keyword::GLOB);
        if !filters || !(begins || qualified) {
            return None;
        }
        // `t.* LIKE`: the table's name moves into the call.
        let mut table = Vec::new();
        if qualified {
            while let Some(token) = self.out.pop() {
                let is_point = token.token == Token::Period;
                table.push(token);
                if !is_point && *self.before(0) != Token::Period {
                    break;
                }
            }
        }
        self.out.push(name_token(STAR_CALL, table.last().map_or(span, |token| token.span)));
        self.out.push(TokenWithSpan { token: Token::LParen, span });
        self.out.extend(table.into_iter().rev());
        self.emit(index);
        self.out.push(TokenWithSpan { token: Token::RParen, span });
        Some(index + 1)
    }

    /// `0b101` and `0o17`, which the tokenizer reads as 0 and a name.
    fn based_number(&mut self, index: usize) -> Option<usize> {
        let Token::Word(word) = self.token(index + 1) else { return None };
        let radix = match word.value.chars().next()? {
            'b' | 'B' => 2,
            'o' | 'O' => 8,
            _ => return None,
        };
        let value = u128::from_str_radix(&word.value.get(1..)?.replace('_', ""), radix).ok()?;
        let span = Span { start: self.input[index].span.start, end: self.input[index + 1].span.end };
        self.out.push(TokenWithSpan { token: Token::Number(value.to_string(), false), span });
        Some(index + 2)
    }
}
