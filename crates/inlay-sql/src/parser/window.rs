//! Calls with OVER: `sqlparser`'s to ours.
//!
//! The crate knows neither EXCLUDE nor a null treatment behind ORDER BY inside a call. [`arrange`] moves these tokens
//! before the crate reads them: an EXCLUDE becomes part of the window's base name, where the crate keeps it for us.
//!
//! Named windows are put in their places here, so that nothing behind the parser knows them.

use super::ast::{
    ExprKind, FrameBound, FrameExclusion, FrameUnits, Pos, WindowCall, WindowFrame, WindowSpec,
};
use super::convert::{Context, pos_of};
use inlay_types::{Error, Result};
use sqlparser::ast;
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Whitespace, Word};

/// Windows of one WINDOW clause, in order.
pub(super) type NamedWindows = Vec<(String, WindowSpec)>;

/// In a base name: what is before it is an exclusion. No name holds it, because it ends every C string.
const EXCLUSION_MARK: char = '\0';

/// The null treatment behind an argument, which the crate takes for that of the call at the argument's end.
fn take_treatment(mut argument: &mut ast::Expr) -> Option<ast::NullTreatment> {
    loop {
        match argument {
            ast::Expr::Function(call) if call.over.is_none() => return call.null_treatment.take(),
            ast::Expr::BinaryOp { right, .. } => argument = right,
            ast::Expr::UnaryOp { expr, .. } => argument = expr,
            _ => return None,
        }
    }
}

impl Context<'_, '_> {
    /// Runs `inner` with the windows of a WINDOW clause.
    pub(super) fn with_windows<T>(
        &self,
        definitions: Vec<ast::NamedWindowDefinition>,
        inner: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        self.windows.borrow_mut().push(Vec::new());
        let result = self.define_windows(definitions).and_then(|()| inner());
        self.windows.borrow_mut().pop();
        result
    }

    fn define_windows(&self, definitions: Vec<ast::NamedWindowDefinition>) -> Result<()> {
        for ast::NamedWindowDefinition(name, definition) in definitions {
            let pos = pos_of(name.span.start);
            let spec = match definition {
                ast::NamedWindowExpr::NamedWindow(base) => self.named_window(&base)?,
                ast::NamedWindowExpr::WindowSpec(spec) => self.window_spec(spec)?,
            };
            if self.find_window(&name.value).is_some() {
                let message = format!("WINDOW defines \"{}\" twice", name.value);
                return Err(self.at(Error::bind(message), pos));
            }
            if let Some(windows) = self.windows.borrow_mut().last_mut() {
                windows.push((name.value, spec));
            }
        }
        Ok(())
    }

    fn find_window(&self, name: &str) -> Option<WindowSpec> {
        let windows = self.windows.borrow();
        let found = windows.last()?.iter().find(|(known, _)| known.to_lowercase() == name.to_lowercase());
        found.map(|(_, spec)| spec.clone())
    }

    fn named_window(&self, name: &ast::Ident) -> Result<WindowSpec> {
        self.find_window(&name.value).ok_or_else(|| {
            let known: Vec<String> = match self.windows.borrow().last() {
                Some(windows) => windows.iter().map(|(name, _)| name.clone()).collect(),
                None => Vec::new(),
            };
            let message = match known.as_slice() {
                [] => {
                    format!("window \"{0}\" does not exist: define it with WINDOW {0} AS (...)", name.value)
                }
                known => format!("window \"{}\" does not exist; there is {}", name.value, known.join(", ")),
            };
            self.at(Error::bind(message), pos_of(name.span.start))
        })
    }

    /// A call, with OVER or without.
    pub(super) fn call(&self, mut function: ast::Function) -> Result<ExprKind> {
        let Some(over) = function.over.take() else {
            let mut call = self.function(function)?;
            if call.name.value.eq_ignore_ascii_case("format")
                && let Some(pieces) = super::postgres::format_pieces(&call.arguments)
            {
                (call.name.value, call.arguments) = ("concat".to_string(), pieces);
            }
            return Ok(ExprKind::Function(call));
        };
        let mut treatment = function.null_treatment.take();
        if let ast::FunctionArguments::List(list) = &mut function.args {
            list.clauses.retain(|clause| match clause {
                ast::FunctionArgumentClause::IgnoreOrRespectNulls(written) => {
                    treatment = Some(*written);
                    false
                }
                _ => true,
            });
            if treatment.is_none()
                && let Some(ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(last))) =
                    list.args.last_mut()
            {
                treatment = take_treatment(last);
            }
        }
        let over = match over {
            ast::WindowType::NamedWindow(name) => self.named_window(&name)?,
            ast::WindowType::WindowSpec(spec) => self.window_spec(spec)?,
        };
        let ignore_nulls = treatment.map(|treatment| treatment == ast::NullTreatment::IgnoreNulls);
        let mut call = self.function(function)?;
        // The star that `arrange` wrote.
        call.star &= call.order_by.is_empty() || call.name.value.eq_ignore_ascii_case("count");
        Ok(ExprKind::Window(Box::new(WindowCall { call, ignore_nulls, over })))
    }

    fn window_spec(&self, spec: ast::WindowSpec) -> Result<WindowSpec> {
        let mut base = spec.window_name;
        let mut exclude = FrameExclusion::NoOthers;
        if let Some(name) = &mut base
            && let Some((code, rest)) = name.value.split_once(EXCLUSION_MARK)
        {
            exclude = match code {
                "ROW" => FrameExclusion::CurrentRow,
                "GROUP" => FrameExclusion::Group,
                "TIES" => FrameExclusion::Ties,
                _ => FrameExclusion::NoOthers,
            };
            name.value = rest.to_string();
        }
        let base = base.filter(|name| !name.value.is_empty());
        let partition_by = self.exprs(spec.partition_by)?;
        let order_by = self.order_items(spec.order_by)?;
        let frame = spec.window_frame.map(|frame| self.frame(frame, exclude)).transpose()?;
        let Some(base) = base else { return Ok(WindowSpec { partition_by, order_by, frame }) };
        let pos = pos_of(base.span.start);
        let inherited = self.named_window(&base)?;
        let refuse = |message: String| Err(self.at(Error::bind(message), pos));
        if inherited.frame.is_some() {
            return refuse(format!(
                "window \"{0}\" has a frame and cannot be extended: write OVER {0} without parentheses",
                base.value
            ));
        }
        if !inherited.partition_by.is_empty() && !partition_by.is_empty() {
            return refuse(format!("window \"{}\" has a PARTITION BY already", base.value));
        }
        if !inherited.order_by.is_empty() && !order_by.is_empty() {
            return refuse(format!("window \"{}\" has an ORDER BY already", base.value));
        }
        let partition_by = if partition_by.is_empty() { inherited.partition_by } else { partition_by };
        let order_by = if order_by.is_empty() { inherited.order_by } else { order_by };
        Ok(WindowSpec { partition_by, order_by, frame })
    }

    fn frame(&self, frame: ast::WindowFrame, exclude: FrameExclusion) -> Result<WindowFrame> {
        let units = match frame.units {
            ast::WindowFrameUnits::Rows => FrameUnits::Rows,
            ast::WindowFrameUnits::Range => FrameUnits::Range,
            ast::WindowFrameUnits::Groups => FrameUnits::Groups,
        };
        let start = self.bound(frame.start_bound)?;
        let end = match frame.end_bound {
            None => FrameBound::CurrentRow,
            Some(bound) => self.bound(bound)?,
        };
        let message = match (&start, &end) {
            (FrameBound::UnboundedFollowing, _) => "a frame cannot start at UNBOUNDED FOLLOWING",
            (_, FrameBound::UnboundedPreceding) => "a frame cannot end at UNBOUNDED PRECEDING",
            (FrameBound::CurrentRow, FrameBound::Preceding(_)) => {
                "a frame that starts at CURRENT ROW cannot end at PRECEDING"
            }
            (FrameBound::Following(_), FrameBound::Preceding(_)) => {
                "a frame that starts at FOLLOWING cannot end at PRECEDING"
            }
            (FrameBound::Following(_), FrameBound::CurrentRow) => {
                "a frame that starts at FOLLOWING cannot end at CURRENT ROW"
            }
            _ => return Ok(WindowFrame { units, start, end, exclude }),
        };
        let pos = [&start, &end].into_iter().find_map(|bound| match bound {
            FrameBound::Preceding(offset) | FrameBound::Following(offset) => Some(offset.pos),
            _ => None,
        });
        Err(self.at(Error::Syntax { message: message.into() }, pos.unwrap_or(Pos::default())))
    }

    fn bound(&self, bound: ast::WindowFrameBound) -> Result<FrameBound> {
        let offset = |expr: ast::Expr| self.expr(expr).map(Box::new);
        Ok(match bound {
            ast::WindowFrameBound::CurrentRow => FrameBound::CurrentRow,
            ast::WindowFrameBound::Preceding(None) => FrameBound::UnboundedPreceding,
            ast::WindowFrameBound::Following(None) => FrameBound::UnboundedFollowing,
            ast::WindowFrameBound::Preceding(Some(expr)) => FrameBound::Preceding(offset(*expr)?),
            ast::WindowFrameBound::Following(Some(expr)) => FrameBound::Following(offset(*expr)?),
        })
    }
}

/// Moves tokens to where the crate understands them.
pub(super) fn arrange(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let interesting =
        |token: &TokenWithSpan| matches!(word(token), Some("EXCLUDE" | "IGNORE" | "RESPECT" | "OVER"));
    if !tokens.iter().any(interesting) {
        return tokens;
    }
    // Where in `out` the parentheses that are open begin, each with the ORDER BY found in it.
    let mut open: Vec<(usize, Option<usize>)> = Vec::new();
    let mut out: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len() + 4);
    let mut index = 0;
    while index < tokens.len() {
        let token = &tokens[index];
        match &token.token {
            Token::LParen => open.push((out.len(), None)),
            Token::RParen => {
                open.pop();
            }
            _ => {}
        }
        match word(token) {
            Some("ORDER") => {
                if opens_arguments(&out) {
                    out.push(TokenWithSpan { token: Token::Mul, span: token.span });
                    out.push(TokenWithSpan { token: Token::Whitespace(Whitespace::Space), span: token.span });
                }
                let at = out.len();
                if let Some((_, order)) = open.last_mut() {
                    order.get_or_insert(at);
                }
            }
            Some("EXCLUDE") if is_frame_end(&out) => {
                if let Some((code, next)) = exclusion(&tokens, index + 1)
                    && let Some(&(paren, _)) = open.last()
                {
                    mark(&mut out, paren, code);
                    index = next;
                    continue;
                }
            }
            Some("IGNORE" | "RESPECT") => {
                let (nulls, behind) = (next_solid(&tokens, index + 1), index + 2);
                let close = nulls.and_then(|nulls| next_solid(&tokens, nulls + 1));
                if let (Some(nulls), Some(close), Some(&(_, Some(order)))) = (nulls, close, open.last())
                    && word(&tokens[nulls]) == Some("NULLS")
                    && tokens[close].token == Token::RParen
                {
                    out.insert(order, tokens[nulls].clone());
                    out.insert(order, token.clone());
                    index = behind.max(nulls + 1);
                    continue;
                }
            }
            _ => {}
        }
        out.push(token.clone());
        index += 1;
    }
    out
}

/// Whether the last parenthesis in `out` is just open behind a function's name: in `rank(ORDER BY x)`, which the crate
/// reads with a star in front.
fn opens_arguments(out: &[TokenWithSpan]) -> bool {
    let mut solid = out.iter().rev().filter(|token| !matches!(token.token, Token::Whitespace(_)));
    if solid.next().is_none_or(|token| token.token != Token::LParen) {
        return false;
    }
    const RANKS: [&str; 6] = ["rank", "dense_rank", "percent_rank", "cume_dist", "row_number", "rank_dense"];
    solid.next().is_some_and(|token| match &token.token {
        Token::Word(word) => RANKS.iter().any(|name| word.value.eq_ignore_ascii_case(name)),
        _ => false,
    })
}

fn word(token: &TokenWithSpan) -> Option<&'static str> {
    const WORDS: [&str; 15] = [
        "EXCLUDE",
        "IGNORE",
        "RESPECT",
        "NULLS",
        "ORDER",
        "OVER",
        "CURRENT",
        "ROW",
        "GROUP",
        "TIES",
        "NO",
        "OTHERS",
        "PRECEDING",
        "FOLLOWING",
        "AS",
    ];
    match &token.token {
        Token::Word(Word { value, quote_style: None, .. }) => {
            WORDS.iter().find(|known| value.eq_ignore_ascii_case(known)).copied()
        }
        _ => None,
    }
}

/// The next token that is not white space, at or behind `index`.
fn next_solid(tokens: &[TokenWithSpan], index: usize) -> Option<usize> {
    (index..tokens.len()).find(|&index| !matches!(tokens[index].token, Token::Whitespace(_)))
}

fn is_frame_end(out: &[TokenWithSpan]) -> bool {
    let last = out.iter().rev().find(|token| !matches!(token.token, Token::Whitespace(_)));
    last.is_some_and(|token| matches!(word(token), Some("ROW" | "PRECEDING" | "FOLLOWING")))
}

/// What is excluded, and the index behind it; it must be followed by the window's end.
fn exclusion(tokens: &[TokenWithSpan], index: usize) -> Option<(&'static str, usize)> {
    let first = next_solid(tokens, index)?;
    let (code, last) = match word(&tokens[first])? {
        "GROUP" => ("GROUP", first),
        "TIES" => ("TIES", first),
        "CURRENT" => ("ROW", next_solid(tokens, first + 1).filter(|&i| word(&tokens[i]) == Some("ROW"))?),
        "NO" => ("NO", next_solid(tokens, first + 1).filter(|&i| word(&tokens[i]) == Some("OTHERS"))?),
        _ => return None,
    };
    let close = next_solid(tokens, last + 1)?;
    (tokens[close].token == Token::RParen).then_some((code, close))
}

/// Makes the exclusion part of the base name of the window whose parenthesis is at `paren`.
fn mark(out: &mut Vec<TokenWithSpan>, paren: usize, code: &str) {
    let base = next_solid(out, paren + 1);
    let named = |value: &str| {
        let value = format!("{code}{EXCLUSION_MARK}{value}");
        Token::Word(Word { value, quote_style: None, keyword: Keyword::NoKeyword })
    };
    if let Some(base) = base
        && let Token::Word(word) = &out[base].token
        && word.keyword == Keyword::NoKeyword
    {
        out[base].token = named(&word.value.clone());
        return;
    }
    let span = out[paren].span;
    out.insert(paren + 1, TokenWithSpan { token: named(""), span });
}
