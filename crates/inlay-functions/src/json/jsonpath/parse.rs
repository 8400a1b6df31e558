//! Paths as trees: `lax $.a[0 to last] ? (@.x > 3).y`.
//!
//! Conditions and values have one grammar; what stands where is checked while it is read. Size and nesting are bounded, for
//! evaluation goes down the tree.

use crate::regex::compile;
use inlay_kernels::json::value::Json;
use inlay_types::{Error, Result};
use regex::bytes::Regex;
use std::borrow::Cow;

/// A path that was read.
#[derive(Debug)]
pub(super) struct Path {
    /// Whether arrays are gone into and what is not there is passed over.
    pub is_lax: bool,
    pub root: Expr,
}

/// What leads to parts or makes values.
#[derive(Debug)]
pub(super) enum Expr {
    Path { base: Base, steps: Vec<Step> },
    Plus(Box<Expr>),
    Negate(Box<Expr>),
    Arithmetic(Arithmetic, Box<Expr>, Box<Expr>),
}

/// Where steps begin.
#[derive(Debug)]
pub(super) enum Base {
    Root,
    Current,
    Last,
    Value(Json<'static>),
    Variable(String),
    Condition(Box<Condition>),
    Expr(Box<Expr>),
}

#[derive(Debug)]
pub(super) enum Step {
    Key(String),
    AllMembers,
    AllItems,
    /// `[1, 3 to 5]`
    Items(Vec<(Expr, Option<Expr>)>),
    /// `**{2 to 4}`: levels; `last` is the largest number.
    Deep(u32, u32),
    Filter(Condition),
    Call(Method),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Method {
    Type,
    Size,
    Double,
    Abs,
    Floor,
    Ceiling,
    KeyValue,
}

#[derive(Debug)]
pub(super) enum Condition {
    And(Box<Condition>, Box<Condition>),
    Or(Box<Condition>, Box<Condition>),
    Not(Box<Condition>),
    IsUnknown(Box<Condition>),
    Exists(Expr),
    Compare(Comparison, Expr, Expr),
    StartsWith(Expr, Expr),
    Matches(Expr, Pattern),
}

/// A regular expression.
#[derive(Debug)]
pub(super) struct Pattern(pub Regex);

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Arithmetic {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

impl Arithmetic {
    pub(super) fn sign(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Remainder => "%",
        }
    }
}

const METHODS: [(&str, Method); 7] = [
    ("type", Method::Type),
    ("size", Method::Size),
    ("double", Method::Double),
    ("abs", Method::Abs),
    ("floor", Method::Floor),
    ("ceiling", Method::Ceiling),
    ("keyvalue", Method::KeyValue),
];

impl Method {
    pub(super) fn name(self) -> &'static str {
        METHODS.iter().find(|(_, method)| *method == self).map_or("", |(name, _)| name)
    }
}

/// Most parts that a path may have.
const PARTS_MAX: usize = 200;

/// Deepest nesting of parentheses.
const DEPTH_MAX: usize = 30;

impl Path {
    pub(super) fn parse(text: &str) -> Result<Self> {
        let mut reader = Reader { text, at: 0, parts: 0, depth: 0 };
        reader.path().map_err(|Wrong(message)| {
            let column = text.get(..reader.at).map_or(0, |before| before.chars().count()) + 1;
            Error::invalid_argument(format!(
                "JSON path '{}' is wrong at character {column}: {message}",
                super::shown(text)
            ))
        })
    }
}

/// Why a path cannot be read.
struct Wrong(String);

type Read<T> = std::result::Result<T, Wrong>;

fn wrong<T>(message: impl Into<String>) -> Read<T> {
    Err(Wrong(message.into()))
}

/// A value or a condition.
enum Node {
    Value(Expr),
    Condition(Condition),
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
    parts: usize,
    depth: usize,
}

impl Reader<'_> {
    fn path(&mut self) -> Read<Path> {
        let is_strict = self.word("strict");
        if !is_strict {
            self.word("lax");
        }
        let root = match self.any()? {
            Node::Value(root) => root,
            Node::Condition(condition) => {
                Expr::Path { base: Base::Condition(Box::new(condition)), steps: Vec::new() }
            }
        };
        self.space()?;
        if self.at < self.text.len() {
            return wrong("the path has ended");
        }
        Ok(Path { is_lax: !is_strict, root })
    }

    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn space(&mut self) -> Read<()> {
        loop {
            let rest = self.rest();
            let trimmed = rest.trim_start_matches([' ', '\t', '\n', '\r', '\u{c}']);
            self.at += rest.len() - trimmed.len();
            let Some(comment) = self.rest().strip_prefix("/*") else { return Ok(()) };
            let Some(end) = comment.find("*/") else { return wrong("the comment does not end") };
            self.at += end + 4;
        }
    }

    fn peek(&mut self) -> Option<char> {
        self.space().ok()?;
        self.rest().chars().next()
    }

    /// Takes a sign.
    fn sign(&mut self, sign: &str) -> bool {
        self.space().is_ok() && self.rest().starts_with(sign) && {
            self.at += sign.len();
            true
        }
    }

    fn expect(&mut self, sign: &str) -> Read<()> {
        if self.sign(sign) { Ok(()) } else { wrong(format!("{sign} is expected")) }
    }

    /// Takes a word, whatever the case of its letters.
    fn word(&mut self, word: &str) -> bool {
        if self.space().is_err() {
            return false;
        }
        let end = name_end(self.rest());
        let found = self.rest()[..end].eq_ignore_ascii_case(word);
        self.at += if found { end } else { 0 };
        found
    }

    fn count(&mut self) -> Read<()> {
        self.parts += 1;
        if self.parts > PARTS_MAX {
            return wrong(format!("a path has at most {PARTS_MAX} parts"));
        }
        Ok(())
    }

    fn any(&mut self) -> Read<Node> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return wrong(format!("it is nested more than {DEPTH_MAX} deep"));
        }
        let node = self.or();
        self.depth -= 1;
        node
    }

    fn value(&mut self) -> Read<Expr> {
        match self.any()? {
            Node::Value(expr) => Ok(expr),
            Node::Condition(_) => wrong("a value is expected, not a condition"),
        }
    }

    fn or(&mut self) -> Read<Node> {
        let mut left = self.and()?;
        while self.sign("||") {
            self.count()?;
            let right = condition(self.and()?)?;
            left = Node::Condition(Condition::Or(Box::new(condition(left)?), Box::new(right)));
        }
        Ok(left)
    }

    fn and(&mut self) -> Read<Node> {
        let mut left = self.not()?;
        while self.sign("&&") {
            self.count()?;
            let right = condition(self.not()?)?;
            left = Node::Condition(Condition::And(Box::new(condition(left)?), Box::new(right)));
        }
        Ok(left)
    }

    fn not(&mut self) -> Read<Node> {
        self.space()?;
        if self.rest().starts_with('!') && !self.rest().starts_with("!=") {
            self.at += 1;
            if self.peek() != Some('(') && !self.rest().to_ascii_lowercase().starts_with("exists") {
                return wrong("! stands before a condition in parentheses or exists");
            }
            let inner = condition(self.primary()?)?;
            return Ok(Node::Condition(Condition::Not(Box::new(inner))));
        }
        self.comparison()
    }

    fn comparison(&mut self) -> Read<Node> {
        const COMPARISONS: [(&str, Comparison); 7] = [
            ("==", Comparison::Equal),
            ("!=", Comparison::NotEqual),
            ("<>", Comparison::NotEqual),
            ("<=", Comparison::LessOrEqual),
            (">=", Comparison::GreaterOrEqual),
            ("<", Comparison::Less),
            (">", Comparison::Greater),
        ];
        let left = self.sum()?;
        for (sign, comparison) in COMPARISONS {
            if self.sign(sign) {
                self.count()?;
                let (left, right) = (operand(left)?, operand(self.sum()?)?);
                return Ok(Node::Condition(Condition::Compare(comparison, left, right)));
            }
        }
        if self.sign("=") {
            return wrong("equal is written ==");
        }
        if self.word("starts") {
            if !self.word("with") {
                return wrong("WITH is expected behind STARTS");
            }
            let start = match self.peek() {
                Some('"') => Base::Value(Json::Text(Cow::Owned(self.string()?))),
                Some('$') => match self.dollar()? {
                    variable @ Base::Variable(_) => variable,
                    _ => return wrong("a text or a variable is expected"),
                },
                _ => return wrong("a text or a variable is expected"),
            };
            let start = Expr::Path { base: start, steps: Vec::new() };
            return Ok(Node::Condition(Condition::StartsWith(operand(left)?, start)));
        }
        if self.word("like_regex") {
            let pattern = self.pattern()?;
            return Ok(Node::Condition(Condition::Matches(operand(left)?, pattern)));
        }
        Ok(left)
    }

    fn pattern(&mut self) -> Read<Pattern> {
        if self.peek() != Some('"') {
            return wrong("a text is expected");
        }
        let pattern = self.string()?;
        let flags = if self.word("flag") {
            if self.peek() != Some('"') {
                return wrong("a text is expected");
            }
            self.string()?
        } else {
            String::new()
        };
        let mut options = String::new();
        let mut prefix = "";
        for flag in flags.chars() {
            match flag {
                'i' => options.push('i'),
                's' => options.push('s'),
                'm' => prefix = "(?m)",
                'q' => options.push('l'),
                'x' => return wrong("the flag x of like_regex is not supported"),
                other => return wrong(format!("like_regex has no flag {other}; it has i, s, m and q")),
            }
        }
        if !options.contains('s') {
            options.push('n');
        }
        let written = if options.contains('l') { pattern } else { format!("{prefix}{pattern}") };
        match compile(&written, &options, false, false) {
            Ok(regex) => Ok(Pattern(regex)),
            Err(error) => wrong(error.to_string()),
        }
    }

    fn sum(&mut self) -> Read<Node> {
        let mut left = self.product()?;
        loop {
            let operator = match self.peek() {
                Some('+') => Arithmetic::Add,
                Some('-') => Arithmetic::Subtract,
                _ => return Ok(left),
            };
            self.at += 1;
            left = self.arithmetic(operator, left, Self::product)?;
        }
    }

    fn product(&mut self) -> Read<Node> {
        let mut left = self.unary()?;
        loop {
            let operator = match self.peek() {
                Some('*') => Arithmetic::Multiply,
                Some('/') => Arithmetic::Divide,
                Some('%') => Arithmetic::Remainder,
                _ => return Ok(left),
            };
            self.at += 1;
            left = self.arithmetic(operator, left, Self::unary)?;
        }
    }

    fn arithmetic(
        &mut self,
        operator: Arithmetic,
        left: Node,
        read: impl FnOnce(&mut Self) -> Read<Node>,
    ) -> Read<Node> {
        self.count()?;
        let (left, right) = (operand(left)?, operand(read(self)?)?);
        Ok(Node::Value(Expr::Arithmetic(operator, Box::new(left), Box::new(right))))
    }

    fn unary(&mut self) -> Read<Node> {
        let sign = self.peek();
        if !matches!(sign, Some('+' | '-')) {
            return self.primary();
        }
        self.at += 1;
        self.count()?;
        let inner = Box::new(operand(self.unary()?)?);
        Ok(Node::Value(if sign == Some('-') { Expr::Negate(inner) } else { Expr::Plus(inner) }))
    }

    fn primary(&mut self) -> Read<Node> {
        self.count()?;
        let base = match self.peek() {
            Some('(') => {
                self.at += 1;
                let inner = self.any()?;
                self.expect(")")?;
                let is_followed = matches!(self.peek(), Some('.' | '[' | '?'));
                match inner {
                    Node::Condition(inner) => {
                        if self.word("is") {
                            if !self.word("unknown") {
                                return wrong("UNKNOWN is expected behind IS");
                            }
                            return Ok(Node::Condition(Condition::IsUnknown(Box::new(inner))));
                        }
                        if !is_followed {
                            return Ok(Node::Condition(inner));
                        }
                        Base::Condition(Box::new(inner))
                    }
                    Node::Value(inner) if !is_followed => return Ok(Node::Value(inner)),
                    Node::Value(inner) => Base::Expr(Box::new(inner)),
                }
            }
            Some('$') => self.dollar()?,
            Some('@') => {
                self.at += 1;
                Base::Current
            }
            Some('"') => Base::Value(Json::Text(Cow::Owned(self.string()?))),
            Some('0'..='9' | '.') => Base::Value(self.number()?),
            Some(_) if self.word("exists") => {
                self.expect("(")?;
                let inner = self.value()?;
                self.expect(")")?;
                return Ok(Node::Condition(Condition::Exists(inner)));
            }
            Some(_) if self.word("null") => Base::Value(Json::Null),
            Some(_) if self.word("true") => Base::Value(Json::Bool(true)),
            Some(_) if self.word("false") => Base::Value(Json::Bool(false)),
            Some(_) if self.word("last") => Base::Last,
            _ => return wrong("$, @, a value or a parenthesis is expected"),
        };
        let mut steps = Vec::new();
        while let Some(step) = self.step()? {
            self.count()?;
            steps.push(step);
        }
        Ok(Node::Value(Expr::Path { base, steps }))
    }

    /// `$`, `$name` or `$"name"`.
    fn dollar(&mut self) -> Read<Base> {
        self.at += 1;
        if self.rest().starts_with('"') {
            return Ok(Base::Variable(self.string()?));
        }
        let end = name_end(self.rest());
        if end == 0 {
            return Ok(Base::Root);
        }
        let name = self.rest()[..end].to_string();
        self.at += end;
        Ok(Base::Variable(name))
    }

    fn step(&mut self) -> Read<Option<Step>> {
        match self.peek() {
            Some('.') => {
                self.at += 1;
                self.member().map(Some)
            }
            Some('[') => {
                self.at += 1;
                self.items().map(Some)
            }
            Some('?') => {
                self.at += 1;
                self.expect("(")?;
                let inner = condition(self.any()?)?;
                self.expect(")")?;
                Ok(Some(Step::Filter(inner)))
            }
            _ => Ok(None),
        }
    }

    fn member(&mut self) -> Read<Step> {
        if self.sign("**") {
            return self.levels();
        }
        if self.sign("*") {
            return Ok(Step::AllMembers);
        }
        if self.peek() == Some('"') {
            return Ok(Step::Key(self.string()?));
        }
        let end = name_end(self.rest());
        if end == 0 {
            return wrong("a key, * or ** is expected behind the point");
        }
        let name = self.rest()[..end].to_string();
        self.at += end;
        if !self.sign("(") {
            return Ok(Step::Key(name));
        }
        if name.eq_ignore_ascii_case("datetime") {
            return wrong(".datetime() is not supported; compare texts, or cast what jsonb_path_query gives");
        }
        let Some((_, method)) = METHODS.iter().find(|(known, _)| name.eq_ignore_ascii_case(known)) else {
            let known: Vec<&str> = METHODS.iter().map(|(name, _)| *name).collect();
            return wrong(format!("there is no method .{name}(); there are {}", known.join(", ")));
        };
        self.expect(")")?;
        Ok(Step::Call(*method))
    }

    fn levels(&mut self) -> Read<Step> {
        if !self.sign("{") {
            return Ok(Step::Deep(0, u32::MAX));
        }
        let first = self.level()?;
        let last = if self.word("to") { self.level()? } else { first };
        self.expect("}")?;
        Ok(Step::Deep(first, last))
    }

    fn level(&mut self) -> Read<u32> {
        if self.word("last") {
            return Ok(u32::MAX);
        }
        match self.number()? {
            Json::Unsigned(level) => u32::try_from(level).map_err(|_| Wrong("the level is too large".into())),
            _ => wrong("a level is a whole number or last"),
        }
    }

    fn items(&mut self) -> Read<Step> {
        if self.sign("*") {
            self.expect("]")?;
            return Ok(Step::AllItems);
        }
        let mut items = Vec::new();
        loop {
            let from = self.value()?;
            let to = if self.word("to") { Some(self.value()?) } else { None };
            items.push((from, to));
            if !self.sign(",") {
                self.expect("]")?;
                return Ok(Step::Items(items));
            }
        }
    }

    fn number(&mut self) -> Read<Json<'static>> {
        self.space()?;
        let rest = self.rest();
        let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
        let whole = digits(rest);
        let mut end = whole;
        if rest[end..].starts_with('.') {
            end += 1 + digits(&rest[end + 1..]);
        }
        if end == 0 || rest[..end].trim_start_matches('.').is_empty() {
            return wrong("a number is expected");
        }
        if rest[end..].starts_with(['e', 'E']) {
            let sign = usize::from(rest[end + 1..].starts_with(['+', '-']));
            let exponent = digits(&rest[end + 1 + sign..]);
            if exponent > 0 {
                end += 1 + sign + exponent;
            }
        }
        let text = rest[..end].to_string();
        if name_end(&rest[end..]) > 0 {
            return wrong("something follows the number; write (1).type() for a method of it");
        }
        if text.len() > 1 && text.starts_with('0') && whole > 1 {
            return wrong("a number does not begin with 0");
        }
        self.at += end;
        if whole == end
            && let Ok(value) = text.parse::<u64>()
        {
            return Ok(Json::Unsigned(value));
        }
        match text.parse::<f64>() {
            Ok(value) if value.is_finite() => Ok(Json::Real(value)),
            _ => wrong("the number is out of range"),
        }
    }

    /// A text in quotes.
    fn string(&mut self) -> Read<String> {
        let mut out = String::new();
        let mut chars = self.rest().char_indices().skip(1);
        let mut next = || chars.next().ok_or_else(|| Wrong("the text does not end".into()));
        let mut halves: Option<u32> = None;
        let end = loop {
            let (at, c) = next()?;
            if c == '"' {
                break at;
            }
            if c != '\\' {
                out.push(c);
                continue;
            }
            let (_, escaped) = next()?;
            let hex = |count: usize, next: &mut dyn FnMut() -> Read<(usize, char)>| {
                (0..count).try_fold(0u32, |value, _| {
                    let digit = next()?
                        .1
                        .to_digit(16)
                        .ok_or_else(|| Wrong("a hexadecimal digit is expected".into()))?;
                    Ok(value * 16 + digit)
                })
            };
            match escaped {
                'b' => out.push('\u{8}'),
                'f' => out.push('\u{c}'),
                'n' => out.push('\n'),
                'r' => out.push('\r'),
                't' => out.push('\t'),
                'v' => out.push('\u{b}'),
                'x' | 'u' => {
                    let code = hex(if escaped == 'x' { 2 } else { 4 }, &mut next)?;
                    let code = match (halves.take(), code) {
                        (Some(high), 0xDC00..=0xDFFF) => 0x10000 + ((high - 0xD800) << 10) + (code - 0xDC00),
                        (None, 0xD800..=0xDBFF) => {
                            halves = Some(code);
                            continue;
                        }
                        (_, code) => code,
                    };
                    out.push(char::from_u32(code).ok_or_else(|| Wrong("there is no such character".into()))?);
                }
                other => out.push(other),
            }
        };
        self.at += end + 1;
        Ok(out)
    }
}

/// Where a name at the beginning ends.
fn name_end(text: &str) -> usize {
    let ends = |c: char| c.is_whitespace() || "?%$.[]{}()|&!=<>@#,*:-+/\"\\".contains(c);
    text.find(ends).unwrap_or(text.len())
}

fn condition(node: Node) -> Read<Condition> {
    match node {
        Node::Condition(condition) => Ok(condition),
        Node::Value(_) => wrong("a condition is expected, as in (@.x > 3) or (exists(@.x))"),
    }
}

fn operand(node: Node) -> Read<Expr> {
    match node {
        Node::Value(expr) => Ok(expr),
        Node::Condition(_) => wrong("a value is expected, not a condition"),
    }
}
