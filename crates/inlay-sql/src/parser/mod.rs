//! SQL text to [`ast`].
//!
//! `sqlparser` reads the text with [`dialect::InlayDialect`]; the modules here turn its tree into ours and
//! read the statements it does not know. Nothing behind this module sees the crate, so that it can be
//! replaced. Whatever text comes in, the result is a tree of bounded depth or an error with its place.
//!
//! Called by the facade (`inlay::Connection`) and by the binder, for the text of views.

pub mod ast;
mod body;
mod change;
mod colon;
mod constants;
mod convert;
mod define;
mod dialect;
mod elsewhere;
mod expr;
mod fields;
mod friendly;
mod function;
mod grouping;
mod guard;
mod lift;
mod like;
pub(crate) mod limits;
mod lists;
mod merge;
mod mistake;
pub(crate) mod nested;
mod object;
mod part;
mod piece;
mod plain_names;
mod postgres;
mod query;
mod rename;
mod rewrite;
mod role;
mod session;
mod spelling;
mod statement;
mod table_arguments;
mod tables;
#[cfg(test)]
mod tests;
mod trigger;
mod type_words;
pub(crate) mod types;
mod walk;
mod window;

pub use body::{end_of_body, expects_body};
pub use function::{create_function_text, function_text, parse_functions};
pub use part::{Part, called_names, check_part, parse_name, placeholders, without_qualifier};
pub use rename::{Renamed, rename_in_expression};
pub use tables::table_names;

use ast::{Pos, Statement};
use convert::{Context, pos_of};
use inlay_types::limits::Meter;
use inlay_types::{Error, LogicalType, Reservation, Result};
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Location, Token, TokenWithSpan};
use std::cell::{Cell, RefCell};
use std::sync::Arc;

/// `sqlparser`'s own limit; a level of ours takes several of its levels.
const PARSER_RECURSION_MAX: usize = 3000;
/// What a level of nesting, of which a token makes at most one, may need of the stack.
const STACK_PER_TOKEN: usize = 16 << 10;
/// Size of the stack that a statement is read on if the caller's may not suffice; pages not touched cost nothing.
const LARGE_STACK_BYTES: usize = 128 << 20;
/// What a statement takes in memory, at the least.
const STATEMENT_BYTES: usize = 5 << 10;
/// Before they are made, tokens are taken to be this long; they are copied a few times on their way.
const CHARACTERS_PER_TOKEN: usize = 4;
const TOKEN_COPIES: usize = 2;

/// Reads all statements of `sql`. Empty statements (`;;`) are skipped, so the result may be empty.
pub fn parse_statements(sql: &str) -> Result<Vec<Statement>> {
    parse_counted(sql).map(|(statements, _)| statements)
}

/// The same, and what they take in memory, asked of the budget of who reads them ([`inlay_types::limits`]) and held for as long as they live.
pub fn parse_counted(sql: &str) -> Result<(Vec<Statement>, Option<Reservation>)> {
    let masked = body::masked(sql)?;
    let mut meter = Meter::of_rows();
    // Tokens are most of what a text needs while it is read: one for every few characters.
    meter.add(sql.len() / CHARACTERS_PER_TOKEN * size_of::<TokenWithSpan>())?;
    let tokens = constants::tokens_of(masked.as_deref().unwrap_or(sql))?;
    meter.add((tokens.0.len() * size_of::<TokenWithSpan>()).saturating_mul(TOKEN_COPIES))?;
    let needed = tokens.0.len().saturating_mul(STACK_PER_TOKEN).clamp(128 << 10, LARGE_STACK_BYTES / 2);
    let mut kept = Meter::of_rows();
    let statements =
        stacker::maybe_grow(needed, LARGE_STACK_BYTES, || read_statements(sql, tokens, &mut kept))?;
    Ok((statements, kept.finish()))
}

/// Reads exactly one statement.
pub fn parse_statement(sql: &str) -> Result<Statement> {
    let mut statements = parse_statements(sql)?;
    match (statements.pop(), statements.is_empty()) {
        (Some(statement), true) => Ok(statement),
        (Some(_), false) => Err(Error::Syntax { message: "expected one statement, found several".into() }),
        (None, _) => Err(Error::Syntax { message: "expected a statement, found none".into() }),
    }
}

/// Reads what stands behind the name in CREATE MACRO.
pub fn parse_macro(text: &str) -> Result<Vec<ast::object::MacroOverload>> {
    stacker::maybe_grow(1 << 20, LARGE_STACK_BYTES, || {
        let mut reader = reader_of(text, constants::tokens_of(text)?)?;
        let overloads = reader.macro_overloads()?;
        if reader.at_end() { Ok(overloads) } else { reader.syntax("the end of the macro") }
    })
}

/// Reads a type.
pub fn parse_type(text: &str) -> Result<LogicalType> {
    let mut reader = reader_of(text, constants::tokens_of(text)?)?;
    let (ty, _) = reader.written_type()?;
    reader.expect_end("type").map(|()| ty)
}

/// Tokens, and the runs of literals that placeholders among them stand for.
type TextTokens = (Vec<TokenWithSpan>, Vec<Arc<ast::Constants>>);

fn reader_of(sql: &str, (tokens, constants): TextTokens) -> Result<Reader<'_>> {
    let tokens = plain_names::quoted(tokens);
    let ends = statement_ends(&tokens);
    let tokens = window::arrange(spelling::respell(tokens));
    let scan = guard::scan(&tokens, sql)?;
    let (tokens, lifted) = lift::lift(tokens, sql)?;
    let rewrite::Rewritten { tokens, pieces } = rewrite::rewrite(tokens, sql);
    let parser = Parser::new(&dialect::InlayDialect)
        .with_recursion_limit(PARSER_RECURSION_MAX)
        .with_tokens_with_locations(tokens);
    let line_starts = std::iter::once(0).chain(sql.match_indices('\n').map(|(index, _)| index + 1)).collect();
    Ok(Reader {
        parser,
        sql,
        shared_sql: sql.into(),
        marks: scan.marks.into(),
        semicolons: scan.semicolons.into(),
        ends: ends.into(),
        line_starts,
        pieces: pieces.into(),
        lifted: lifted.into(),
        constants: constants.into(),
        last_offset: Cell::default(),
        outer: None,
    })
}

/// Where each statement ends; see [`Reader::ends`].
fn statement_ends(tokens: &[TokenWithSpan]) -> Vec<(Option<Location>, Location)> {
    let (mut ends, mut last) = (Vec::new(), None);
    for token in tokens {
        match &token.token {
            Token::Whitespace(_) | Token::EOF => {}
            Token::SemiColon => ends.extend(last.take().map(|end| (Some(token.span.start), end))),
            _ => last = Some(token.span.end),
        }
    }
    ends.extend(last.map(|end| (None, end)));
    ends
}

fn read_statements(sql: &str, tokens: TextTokens, kept: &mut Meter) -> Result<Vec<Statement>> {
    let mut reader = reader_of(sql, tokens)?;
    let mut statements = Vec::new();
    loop {
        while reader.parser.consume_token(&Token::SemiColon) {}
        if reader.parser.peek_token_ref().token == Token::EOF {
            return Ok(statements);
        }
        kept.add(STATEMENT_BYTES)?;
        statements.push(reader.statement()?);
        let next = reader.parser.peek_token_ref();
        if !matches!(next.token, Token::SemiColon | Token::EOF) {
            let (message, advice) = mistake::at_end(&reader.parser);
            let error = syntax_at(&message, pos_of(next.span.start), sql);
            return Err(match advice {
                Some(advice) => error.with_hint(advice),
                None => error,
            });
        }
    }
}

/// The parser at work on one text.
struct Reader<'a> {
    parser: Parser<'a>,
    sql: &'a str,
    shared_sql: Arc<str>,
    /// Places of all `?`.
    marks: Arc<[Location]>,
    /// Where each semicolon ends.
    semicolons: Arc<[Location]>,
    /// Where each statement's last token ends, by where its semicolon begins, if it has one. Steps before the parser leave tokens out.
    ends: Arc<[(Option<Location>, Location)]>,
    /// Pieces of the text that are not among the parser's tokens.
    lifted: Arc<lift::Lifted>,
    /// Literals that are not among the parser's tokens, by the number in their place.
    constants: Arc<[Arc<ast::Constants>]>,
    /// The byte at which each line starts.
    line_starts: Arc<[usize]>,
    /// Tokens that [`rewrite`] kept aside.
    pieces: Arc<[Vec<TokenWithSpan>]>,
    /// The place asked for last and its byte, from where the next one is counted.
    last_offset: Cell<(Pos, usize)>,
    /// Of a piece: how many marks stand before its statement, and how deep it lies.
    outer: Option<(usize, usize)>,
}

impl<'a> Reader<'a> {
    fn context(&self, first_token: usize) -> Context<'_, 'a> {
        let start = self.parser.token_at(first_token).span.start;
        // Parameters count from the statement's first token, also for a part that is converted alone.
        let statement_start = self.statement_start(start);
        Context {
            sql: self.sql,
            parser: &self.parser,
            marks: &self.marks,
            pieces: &self.pieces,
            line_starts: &self.line_starts,
            lifted: &self.lifted,
            constants: &self.constants,
            first_token,
            marks_before: match self.outer {
                Some((before, _)) => before,
                None => self.marks.partition_point(|mark| *mark < statement_start),
            },
            depth: Cell::new(self.outer.map_or(0, |(_, depth)| depth)),
            windows: RefCell::default(),
        }
    }

    /// Start of the statement that `location` lies in: behind the last semicolon before it.
    fn statement_start(&self, location: Location) -> Location {
        if self.marks.is_empty() {
            return location;
        }
        let before = self.semicolons.partition_point(|end| *end <= location);
        before.checked_sub(1).map_or(Location { line: 0, column: 0 }, |last| self.semicolons[last])
    }

    /// Index of the next token that is not white space.
    pub(super) fn next_index(&self) -> usize {
        let mut index = self.parser.index();
        while matches!(self.parser.token_at(index).token, Token::Whitespace(_)) {
            index += 1;
        }
        index
    }

    /// Where the last token read ends; of a statement's last one as it is written.
    fn end_pos(&self) -> Pos {
        if let Some(end) = self.written_end() {
            return pos_of(end);
        }
        let mut index = self.parser.index();
        while index > 0 {
            index -= 1;
            let token = self.parser.token_at(index);
            if !matches!(token.token, Token::Whitespace(_) | Token::EOF) {
                return pos_of(token.span.end);
            }
        }
        Pos::default()
    }

    /// Where the statement ends in the text, if all its tokens were read.
    fn written_end(&self) -> Option<Location> {
        let next = self.parser.token_at(self.next_index());
        let semicolon = match &next.token {
            Token::SemiColon => Some(next.span.start),
            Token::EOF => None,
            _ => return None,
        };
        let place = self.ends.partition_point(|(at, _)| match (at, semicolon) {
            (Some(at), Some(semicolon)) => *at < semicolon,
            (Some(_), None) => true,
            (None, _) => false,
        });
        self.ends.get(place).filter(|(at, _)| *at == semicolon).map(|(_, end)| *end)
    }

    /// The byte at which `pos` lies.
    fn offset(&self, pos: Pos) -> usize {
        let Some(&start) = self.line_starts.get(pos.line.max(1) as usize - 1) else { return self.sql.len() };
        let (last, last_offset) = self.last_offset.get();
        let (start, column) = match last.line == pos.line && last.column <= pos.column && last.column > 0 {
            true => (last_offset, last.column),
            false => (start, 1),
        };
        let skipped = pos.column.max(1) - column;
        let rest = self.sql.get(start..).unwrap_or_default();
        let offset =
            rest.char_indices().nth(skipped as usize).map_or(self.sql.len(), |(index, _)| start + index);
        self.last_offset.set((pos, offset));
        offset
    }

    /// The text between two bytes, which becomes that of an object.
    fn written(&self, start: usize, end: usize) -> Result<String> {
        let text = self.sql.get(start..end.max(start));
        text.map(str::to_string)
            .ok_or_else(|| Error::internal(format!("no text from byte {start} to {end} of the statement")))
    }
}

fn syntax_at(message: &str, pos: Pos, sql: &str) -> Error {
    Error::Syntax { message: message.to_string() }.at(pos.line, pos.column, sql)
}

/// The crate's error as ours; the place is in its text.
fn parse_error(error: &ParserError, sql: &str) -> Error {
    let text = match error {
        ParserError::TokenizerError(text) | ParserError::ParserError(text) => text,
        ParserError::RecursionLimitExceeded => return convert::too_deep(),
    };
    let (message, place) = match text.rsplit_once(" at Line: ") {
        Some((message, place)) => (message, place.split_once(", Column: ")),
        None => (text.as_str(), None),
    };
    let number = |text: &str| text.trim().parse::<u32>().unwrap_or(0);
    let pos =
        place.map_or(Pos::default(), |(line, column)| Pos { line: number(line), column: number(column) });
    let mut message = message.to_string();
    if let Some(rest) = message.strip_prefix("Expected: ") {
        message = format!("expected {rest}");
    }
    let message = message.replace("found: EOF", "found the end").replace(", found: ", ", found ");
    let message = mistake::without_structs(&message);
    let pos = if pos.line == 0 && message.ends_with("the end") { end_of(sql) } else { pos };
    syntax_at(&message, pos, sql)
}

fn end_of(sql: &str) -> Pos {
    let trimmed = sql.trim_end();
    let line = trimmed.lines().count().max(1);
    let column = trimmed.lines().last().map_or(0, |text| text.chars().count()) + 1;
    Pos { line: line as u32, column: column as u32 }
}
