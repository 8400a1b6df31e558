//! `format` (the syntax of the fmt library, as in Python) and `printf` (as in C), with DuckDB's thousands separators.
//!
//! Both read a template into pieces, once for all rows that have it, and render one argument per piece by the same [`Spec`]. Numbers
//! and truth values come as they are, everything else as text.

use super::columns::{Column, TextColumn, write_text};
use super::strings::TEXT_SIZE_MAX;
use crate::registry::{Function, Overloads};
use inlay_kernels::function::kernel;
use inlay_kernels::resolve::{ArgType, ResolveOptions, Resolved};
use inlay_types::LogicalType::{Boolean, Double, HugeInt, UHugeInt, Varchar};
use inlay_types::digits::short_digits;
use inlay_types::limits;
use inlay_types::value::write_float;
use inlay_types::{Error, Result, Vector};
use std::iter::Peekable;
use std::str::Chars;

/// See the module documentation.
pub(super) static FUNCTIONS: &[Function] = &[
    Function::new(
        "format",
        Overloads::Typed {
            shown: &["format(VARCHAR, any, ...) -> VARCHAR"],
            resolve: |args, options| resolve(args, options, Syntax::Braces),
        },
        "a text with arguments in place of {}, as in Python",
        "format('{} is {:.1f}, {:,} or {:>4}', 'x', 1.25::DOUBLE, 1234567, 'y') = 'x is 1.2, 1,234,567 or    y'",
    )
    .fallible(),
    Function::new(
        "printf",
        Overloads::Typed {
            shown: &["printf(VARCHAR, any, ...) -> VARCHAR"],
            resolve: |args, options| resolve(args, options, Syntax::Percent),
        },
        "a text with arguments in place of %d, %s and so on, as in C",
        "printf('%s is %.1f or %05d', 'x', 1.25::DOUBLE, 42) = 'x is 1.2 or 00042'",
    )
    .fallible(),
];

#[derive(Clone, Copy, PartialEq)]
enum Syntax {
    Braces,
    Percent,
}

impl Syntax {
    fn name(self) -> &'static str {
        if self == Self::Braces { "format" } else { "printf" }
    }
}

fn resolve(args: &[ArgType], _: &ResolveOptions, syntax: Syntax) -> Option<Resolved> {
    let (template, values) = args.split_first()?;
    if template.ty != Varchar && template.ty != inlay_types::LogicalType::Null {
        return None;
    }
    let carrier = |arg: &ArgType| match &arg.ty {
        ty if *ty == Boolean => Boolean,
        UHugeInt => UHugeInt,
        ty if ty.is_integer() => HugeInt,
        ty if ty.is_numeric() => Double,
        _ => Varchar,
    };
    let types = std::iter::once(Varchar).chain(values.iter().map(carrier)).collect();
    Some(Resolved::fallible(types, Varchar, kernel(move |args, len, out| run(args, len, out, syntax))))
}

/// One argument's column.
enum Values<'a> {
    Bool(Column<'a, u8>),
    Integer(Column<'a, i128>),
    Unsigned(Column<'a, u128>),
    Float(Column<'a, f64>),
    Text(TextColumn<'a>),
}

/// One argument.
#[derive(Clone, Copy)]
enum Arg<'a> {
    Bool(bool),
    Integer { is_negative: bool, magnitude: u128 },
    Float(f64),
    Text(&'a str),
}

impl<'a> Values<'a> {
    fn of(vector: &'a Vector) -> Self {
        match vector.logical_type() {
            Boolean => Self::Bool(Column::of(vector)),
            HugeInt => Self::Integer(Column::of(vector)),
            UHugeInt => Self::Unsigned(Column::of(vector)),
            Double => Self::Float(Column::of(vector)),
            _ => Self::Text(TextColumn::of(vector)),
        }
    }

    fn get(&self, row: usize) -> Arg<'_> {
        match self {
            Self::Bool(column) => Arg::Bool(column.get(row) != 0),
            Self::Integer(column) => Arg::integer(column.get(row)),
            Self::Unsigned(column) => Arg::Integer { is_negative: false, magnitude: column.get(row) },
            Self::Float(column) => Arg::Float(column.get(row)),
            Self::Text(column) => Arg::Text(column.text(row)),
        }
    }
}

impl Arg<'_> {
    fn integer(value: i128) -> Self {
        Self::Integer { is_negative: value < 0, magnitude: value.unsigned_abs() }
    }

    /// The width or precision that it says.
    fn size(self, syntax: Syntax) -> Result<usize> {
        match self {
            Self::Integer { is_negative: false, magnitude } if magnitude <= WIDTH_MAX as u128 => {
                Ok(magnitude as usize)
            }
            Self::Bool(_) | Self::Integer { .. } | Self::Float(_) | Self::Text(_) => {
                Err(wrong(format!("{}: a width is an integer from 0", syntax.name())))
            }
        }
    }

    fn kind(self) -> &'static str {
        match self {
            Self::Bool(_) => "a truth value",
            Self::Integer { .. } => "an integer",
            Self::Float(_) => "a number with a fraction",
            Self::Text(_) => "a text",
        }
    }
}

fn run(args: &[&Vector], len: usize, out: &mut Vector, syntax: Syntax) -> Result<()> {
    let template = TextColumn::of(args[0]);
    let values: Vec<Values> = args[1..].iter().map(|arg| Values::of(arg)).collect();
    let mut text = String::new();
    let mut known: Option<(&str, Vec<Piece>)> = None;
    write_text(args, len, out, |row, bytes| {
        let source = template.text(row);
        let pieces = match known.take().filter(|(before, _)| *before == source) {
            Some((_, pieces)) => pieces,
            None => pieces_of(source, values.len(), syntax)?,
        };
        text.clear();
        for piece in &pieces {
            match piece {
                Piece::Text(own) => text.push_str(own),
                Piece::Argument(place) => place.write(syntax, |index| values[index].get(row), &mut text)?,
            }
        }
        bytes.extend_from_slice(text.as_bytes());
        known = Some((source, pieces));
        Ok(())
    })
}

/// A part of a template.
#[derive(Debug)]
enum Piece {
    Text(String),
    Argument(Place),
}

/// Where an argument is shown.
#[derive(Debug)]
struct Place {
    index: usize,
    spec: Spec,
    /// The arguments that say the width and the precision.
    width: Option<usize>,
    precision: Option<usize>,
}

impl Place {
    fn write<'a>(&self, syntax: Syntax, arg: impl Fn(usize) -> Arg<'a>, out: &mut String) -> Result<()> {
        let mut spec = self.spec;
        if let Some(width) = self.width {
            spec.width = arg(width).size(syntax)?;
        }
        if let Some(precision) = self.precision {
            spec.precision = Some(arg(precision).size(syntax)?);
        }
        render(arg(self.index), &spec, syntax, out)
    }
}

/// The pieces of a template for so many arguments.
fn pieces_of(template: &str, args: usize, syntax: Syntax) -> Result<Vec<Piece>> {
    let mut reader = Reader {
        rest: template.chars().peekable(),
        args,
        next: 0,
        numbered: None,
        syntax,
        pieces: Vec::new(),
    };
    reader.template()?;
    Ok(reader.pieces)
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Align {
    Left,
    Right,
    Center,
    /// Zeros between sign and digits.
    Numeric,
}

/// How an argument is rendered.
#[derive(Clone, Copy, Debug, Default)]
struct Spec {
    fill: Option<char>,
    align: Option<Align>,
    /// Sign of numbers that are not negative.
    plus: Option<char>,
    alternate: bool,
    width: usize,
    precision: Option<usize>,
    separator: Option<char>,
    kind: Option<char>,
}

/// A width or precision in a template.
enum Size {
    Absent,
    Known(usize),
    Argument(usize),
}

struct Reader<'a> {
    rest: Peekable<Chars<'a>>,
    /// How many arguments there are.
    args: usize,
    /// The next argument if they are taken in order.
    next: usize,
    /// Whether arguments are named by number; unknown before the first.
    numbered: Option<bool>,
    syntax: Syntax,
    pieces: Vec<Piece>,
}

fn wrong(message: impl Into<String>) -> Error {
    Error::invalid_argument(message.into())
}

/// Widths and precisions above this are refused before any memory is asked for.
const WIDTH_MAX: usize = i32::MAX as usize;

impl Reader<'_> {
    fn template(&mut self) -> Result<()> {
        while let Some(c) = self.rest.next() {
            match (self.syntax, c) {
                (Syntax::Braces, '{' | '}') if self.rest.next_if_eq(&c).is_some() => self.push(c),
                (Syntax::Braces, '{') => self.braces()?,
                (Syntax::Braces, '}') => {
                    return Err(wrong("format: a } has no { before it; write }} for the sign"));
                }
                (Syntax::Percent, '%') if self.rest.next_if_eq(&'%').is_some() => self.push('%'),
                (Syntax::Percent, '%') => self.percent()?,
                (_, c) => self.push(c),
            }
        }
        Ok(())
    }

    fn push(&mut self, c: char) {
        match self.pieces.last_mut() {
            Some(Piece::Text(text)) => text.push(c),
            Some(Piece::Argument(_)) | None => self.pieces.push(Piece::Text(c.into())),
        }
    }

    fn push_argument(&mut self, index: usize, mut spec: Spec, width: Size, precision: Size) {
        let (mut width_from, mut precision_from) = (None, None);
        match width {
            Size::Absent => {}
            Size::Known(width) => spec.width = width,
            Size::Argument(index) => width_from = Some(index),
        }
        match precision {
            Size::Absent => {}
            Size::Known(precision) => spec.precision = Some(precision),
            Size::Argument(index) => precision_from = Some(index),
        }
        let place = Place { index, spec, width: width_from, precision: precision_from };
        self.pieces.push(Piece::Argument(place));
    }

    fn name(&self) -> &'static str {
        self.syntax.name()
    }

    /// The position of the next argument, or of that with a number.
    fn argument(&mut self, number: Option<usize>) -> Result<usize> {
        let by_number = number.is_some();
        if self.numbered.is_some_and(|numbered| numbered != by_number) {
            let name = self.name();
            return Err(wrong(format!("{name}: some arguments are named by number and some are not")));
        }
        self.numbered = Some(by_number);
        let index = number.unwrap_or(self.next);
        self.next += 1;
        if index < self.args {
            return Ok(index);
        }
        let (name, count) = (self.name(), self.args);
        Err(wrong(format!("{name}: the template wants argument {}, but there are {count}", index + 1)))
    }

    fn number(&mut self) -> Result<Option<usize>> {
        let mut number = None;
        while let Some(digit) = self.rest.peek().and_then(|c| c.to_digit(10)) {
            self.rest.next();
            let larger = number.unwrap_or(0usize) * 10 + digit as usize;
            if larger > WIDTH_MAX {
                return Err(wrong(format!("{}: a number in the template is too large", self.name())));
            }
            number = Some(larger);
        }
        Ok(number)
    }

    /// Behind `{`: `[number] [: [[fill] align] [sign] [#] [0] [width] [, | _ | t c] [.precision] [type]] }`.
    fn braces(&mut self) -> Result<()> {
        let number = self.number()?;
        if let Some(c) = self.rest.peek().filter(|c| **c != ':' && **c != '}') {
            return Err(wrong(format!("format: {{{c} is no argument; write {{:{c}...}} for how to show it")));
        }
        let index = self.argument(number)?;
        let (mut spec, mut width, mut precision) = (Spec::default(), Size::Absent, Size::Absent);
        if self.rest.next_if_eq(&':').is_some() {
            self.alignment(&mut spec);
            self.flags(&mut spec);
            width = self.size('{')?;
            spec.separator = self.separator();
            if self.rest.next_if_eq(&'.').is_some() {
                precision = self.size('{')?;
                if let Size::Absent = precision {
                    return Err(wrong("format: a number is missing behind ."));
                }
            }
            spec.separator = spec.separator.or_else(|| self.separator());
            spec.kind = self.rest.next_if(|c| *c != '}');
        }
        if self.rest.next() != Some('}') {
            return Err(wrong("format: a { has no } behind it; write {{ for the sign"));
        }
        self.push_argument(index, spec, width, precision);
        Ok(())
    }

    fn alignment(&mut self, spec: &mut Spec) {
        let align = |c: char| match c {
            '<' => Some(Align::Left),
            '>' => Some(Align::Right),
            '^' => Some(Align::Center),
            '=' => Some(Align::Numeric),
            _ => None,
        };
        let mut ahead = self.rest.clone();
        let (first, second) = (ahead.next(), ahead.next());
        if let (Some(fill), Some(found)) = (first, second.and_then(align)) {
            (spec.fill, spec.align) = (Some(fill), Some(found));
            self.rest.next();
            self.rest.next();
        } else if let Some(found) = first.and_then(align) {
            spec.align = Some(found);
            self.rest.next();
        }
    }

    fn flags(&mut self, spec: &mut Spec) {
        while let Some(c) = self.rest.next_if(|c| "+- #0".contains(*c)) {
            match c {
                '+' | ' ' => spec.plus = Some(c),
                '-' if self.syntax == Syntax::Percent => spec.align = Some(Align::Left),
                '#' => spec.alternate = true,
                '0' => {
                    spec.fill = Some('0');
                    spec.align =
                        spec.align.filter(|_| self.syntax == Syntax::Braces).or(Some(Align::Numeric));
                }
                _ => {}
            }
        }
    }

    /// A width or precision: digits, or the next argument behind `{}` or `*`.
    fn size(&mut self, from_argument: char) -> Result<Size> {
        if self.rest.next_if_eq(&from_argument).is_none() {
            return Ok(self.number()?.map_or(Size::Absent, Size::Known));
        }
        if from_argument == '{' && self.rest.next() != Some('}') {
            return Err(wrong("format: a width from an argument is written {}"));
        }
        self.argument(None).map(Size::Argument)
    }

    fn separator(&mut self) -> Option<char> {
        if self.rest.next_if_eq(&'t').is_some() {
            return self.rest.next();
        }
        let is_separator = |c: &char| ",_".contains(*c) || (*c == '\'' && self.syntax == Syntax::Percent);
        self.rest.next_if(is_separator)
    }

    /// Behind `%`: `[number$] [flags] [width] [, | _ | '] [.precision] [length] type`.
    fn percent(&mut self) -> Result<()> {
        let mut ahead = self.rest.clone();
        while ahead.next_if(char::is_ascii_digit).is_some() {}
        let mut number = None;
        if ahead.peek() == Some(&'$') {
            number = self.number()?.and_then(|n| n.checked_sub(1));
            self.rest.next();
        }
        let mut spec = Spec::default();
        self.flags(&mut spec);
        spec.separator = self.separator();
        let width = self.size('*')?;
        spec.separator = spec.separator.or_else(|| self.separator());
        let mut precision = Size::Absent;
        if self.rest.next_if_eq(&'.').is_some() {
            precision = match self.size('*')? {
                Size::Absent => Size::Known(0),
                given => given,
            };
        }
        while self.rest.next_if(|c| "hlLqjzt".contains(*c)).is_some() {}
        let Some(kind) = self.rest.next() else {
            return Err(wrong("printf: a % stands at the end of the template; write %% for the sign"));
        };
        spec.kind = Some(kind);
        let index = self.argument(number)?;
        self.push_argument(index, spec, width, precision);
        Ok(())
    }
}

fn render(arg: Arg<'_>, spec: &Spec, syntax: Syntax, out: &mut String) -> Result<()> {
    let large = spec.width.saturating_add(spec.precision.unwrap_or(0));
    if large > TEXT_SIZE_MAX {
        return Err(wrong(format!(
            "a text of {large} characters is wider than the limit of {TEXT_SIZE_MAX}"
        )));
    }
    if large > 1 << 12 {
        limits::Meter::new().add(large.saturating_mul(4))?;
    }
    let percent = syntax == Syntax::Percent;
    let refuse = |kind: char| {
        let (name, mark) = if percent { ("printf", "%") } else { ("format", ":") };
        Err(wrong(format!("{name}: {mark}{kind} does not show {}", arg.kind())))
    };
    match (arg, spec.kind) {
        (Arg::Bool(value), None) => pad(if value { "true" } else { "false" }, "", spec, Align::Left, out),
        (Arg::Bool(value), Some('s')) if percent => {
            pad(if value { "true" } else { "false" }, "", spec, Align::Left, out);
        }
        (Arg::Bool(value), Some(kind)) if is_integer_kind(kind) => {
            integer((false, u128::from(value)), kind, spec, syntax, out)
        }
        (Arg::Integer { is_negative, magnitude }, None) => {
            integer((is_negative, magnitude), 'd', spec, syntax, out);
        }
        (Arg::Integer { is_negative, magnitude }, Some('c')) if percent => {
            let code = u32::try_from(magnitude).ok().filter(|_| !is_negative);
            let sign = if is_negative { "-" } else { "" };
            let missing = || wrong(format!("printf: {sign}{magnitude} is no Unicode code point"));
            let c = code.and_then(char::from_u32).ok_or_else(missing)?;
            pad(c.encode_utf8(&mut [0; 4]), "", spec, Align::Right, out);
        }
        (Arg::Integer { is_negative, magnitude }, Some(kind)) if is_integer_kind(kind) => {
            integer((is_negative, magnitude), kind, spec, syntax, out);
        }
        (Arg::Float(value), kind) if kind.is_none_or(|kind| "fFeEgGn".contains(kind)) => {
            float(value, kind, spec, out);
        }
        (Arg::Text(text), None | Some('s')) => {
            let kept = match spec.precision {
                Some(count) => text.char_indices().nth(count).map_or(text, |(at, _)| &text[..at]),
                None => text,
            };
            pad(kept, "", spec, if percent { Align::Right } else { Align::Left }, out);
        }
        (_, Some(kind)) => return refuse(kind),
        (_, None) => {}
    }
    Ok(())
}

fn is_integer_kind(kind: char) -> bool {
    matches!(kind, 'd' | 'i' | 'u' | 'x' | 'X' | 'o' | 'b' | 'B' | 'n')
}

fn integer(
    (is_negative, magnitude): (bool, u128),
    kind: char,
    spec: &Spec,
    syntax: Syntax,
    out: &mut String,
) {
    let is_decimal = matches!(kind, 'd' | 'i' | 'u' | 'n');
    if is_decimal
        && spec.precision.is_none()
        && spec.separator.is_none()
        && let Some((digits, len)) = u64::try_from(magnitude).ok().and_then(|value| short_digits(value, 1))
        && let Ok(digits) = str::from_utf8(&digits.to_le_bytes()[..len])
    {
        return pad(digits, sign(is_negative, spec), spec, Align::Right, out);
    }
    // C shows a negative number in another base as the 64 bits of its complement.
    let wraps = syntax == Syntax::Percent && !is_decimal && is_negative && magnitude <= 1 << 63;
    let magnitude = if wraps { u128::from((magnitude as u64).wrapping_neg()) } else { magnitude };
    let mut digits = match kind {
        'x' => format!("{magnitude:x}"),
        'X' => format!("{magnitude:X}"),
        'o' => format!("{magnitude:o}"),
        'b' | 'B' => format!("{magnitude:b}"),
        _ => magnitude.to_string(),
    };
    if let Some(precision) = spec.precision.filter(|p| *p > digits.len()) {
        digits.insert_str(0, &"0".repeat(precision - digits.len()));
    }
    if let Some(separator) = spec.separator {
        digits = separated(&digits, separator);
    }
    let mut prefix = sign(is_negative && !wraps, spec).to_string();
    if spec.alternate {
        prefix.push_str(match kind {
            'x' => "0x",
            'X' => "0X",
            'o' => "0",
            'b' => "0b",
            'B' => "0B",
            _ => "",
        });
    }
    pad(&digits, &prefix, spec, Align::Right, out);
}

fn sign(is_negative: bool, spec: &Spec) -> &'static str {
    match spec.plus {
        _ if is_negative => "-",
        Some('+') => "+",
        Some(_) => " ",
        None => "",
    }
}

fn separated(digits: &str, separator: char) -> String {
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(separator);
        }
        out.push(digit);
    }
    out
}

fn float(value: f64, kind: Option<char>, spec: &Spec, out: &mut String) {
    let magnitude = value.abs();
    let mut digits = String::new();
    if !value.is_finite() {
        digits.push_str(if value.is_nan() { "nan" } else { "inf" });
    } else {
        match (kind, spec.precision) {
            (Some('f' | 'F'), precision) => digits = format!("{magnitude:.*}", precision.unwrap_or(6)),
            (Some('e' | 'E'), precision) => digits = scientific(magnitude, precision.unwrap_or(6)),
            (Some('g' | 'G' | 'n'), precision) => {
                digits = general(magnitude, precision.unwrap_or(6), spec.alternate)
            }
            (_, Some(precision)) => digits = general(magnitude, precision, spec.alternate),
            (_, None) if magnitude >= 1e16 || (magnitude < 1e-4 && magnitude != 0.0) => {
                digits = with_exponent(&format!("{magnitude:e}"));
            }
            (_, None) => write_float(&mut digits, magnitude, || format!("{magnitude:e}")),
        }
        if let Some(separator) = spec.separator {
            let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
            let whole = separated(&digits[..end], separator);
            digits.replace_range(..end, &whole);
        }
    }
    if kind.is_some_and(char::is_uppercase) {
        digits = digits.to_uppercase();
    }
    pad(&digits, sign(value.is_sign_negative(), spec), spec, Align::Right, out);
}

/// `1e-7` as `1e-07`.
fn with_exponent(text: &str) -> String {
    let Some((mantissa, exponent)) = text.split_once('e') else { return text.to_string() };
    let (sign, digits) = exponent.strip_prefix('-').map_or(('+', exponent), |digits| ('-', digits));
    format!("{mantissa}e{sign}{digits:0>2}")
}

fn scientific(value: f64, precision: usize) -> String {
    with_exponent(&format!("{value:.precision$e}"))
}

/// C's `%g`: so many digits in all, scientific where the exponent is small or not below their number.
fn general(value: f64, precision: usize, keeps_zeros: bool) -> String {
    let precision = precision.max(1);
    let text = format!("{value:.*e}", precision - 1);
    let exponent = text.split_once('e').and_then(|(_, e)| e.parse::<i32>().ok()).unwrap_or(0);
    let trimmed = |text: &str| {
        if keeps_zeros || !text.contains('.') {
            return text.to_string();
        }
        text.trim_end_matches('0').trim_end_matches('.').to_string()
    };
    if exponent < -4 || exponent >= i32::try_from(precision).unwrap_or(i32::MAX) {
        let scientific = with_exponent(&text);
        return match scientific.split_once('e') {
            Some((mantissa, exponent)) => format!("{}e{exponent}", trimmed(mantissa)),
            None => scientific,
        };
    }
    let behind = (precision as i64 - 1 - i64::from(exponent)).max(0) as usize;
    trimmed(&format!("{value:.behind$}"))
}

/// Writes prefix and text, filled to the width in characters.
fn pad(text: &str, prefix: &str, spec: &Spec, default: Align, out: &mut String) {
    if spec.width == 0 {
        out.push_str(prefix);
        return out.push_str(text);
    }
    let missing = spec.width.saturating_sub(text.chars().count() + prefix.len());
    let fill = spec.fill.unwrap_or(' ');
    let (before, between, after) = match spec.align.unwrap_or(default) {
        Align::Left => (0, 0, missing),
        Align::Right => (missing, 0, 0),
        Align::Center => (missing / 2, 0, missing - missing / 2),
        Align::Numeric => (0, missing, 0),
    };
    let mut buffer = [0; 4];
    let fill: &str = fill.encode_utf8(&mut buffer);
    push_repeated(fill, before, out);
    out.push_str(prefix);
    push_repeated(fill, between, out);
    out.push_str(text);
    push_repeated(fill, after, out);
}

fn push_repeated(fill: &str, count: usize, out: &mut String) {
    const FEW: usize = 32;
    if count <= FEW {
        (0..count).for_each(|_| out.push_str(fill));
    } else {
        // Copied in doubling pieces, which for a wide one is many times faster than character by character.
        out.push_str(&fill.repeat(count));
    }
}
