//! Templates of numbers: `to_char(1234.5, '9G999D99')`, `to_number('1,234.5', '9G999D9')`.
//!
//! A template is read once and says how many digits stand before and behind the point; a number is rounded to these and
//! written digit by digit, or `#` where it has too many. The rules are those of PostgreSQL's `formatting.c`.

use inlay_types::{Error, Result};

/// Most digits on one side of the point.
const DIGITS_MAX: usize = 1000;

/// A piece of a template.
#[derive(Clone, Debug, PartialEq)]
enum Piece {
    /// `9`, `0`, the point.
    Nine,
    Zero,
    Point,
    /// `,` and `G`.
    Group,
    Currency,
    /// In lower case or not.
    Roman(bool),
    Ordinal(bool),
    Minus,
    Plus,
    Sign,
    Text(String),
}

/// Where the sign of `S` stands.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Anchor {
    #[default]
    None,
    Before,
    Behind,
}

/// A template of numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct Template {
    pieces: Vec<Piece>,
    /// Digits before and behind the point.
    pre: usize,
    post: usize,
    /// By how many digits the number is moved (`V`).
    moved: usize,
    /// The position of the first `0`, and of the last one.
    zero_start: Option<usize>,
    zero_end: usize,
    anchor: Anchor,
    has_point: bool,
    fills: bool,
    has_minus: bool,
    has_plus: bool,
    in_brackets: bool,
    is_roman: bool,
    is_scientific: bool,
    has_move: bool,
}

/// What the template knows, in both cases, the longest first.
const WORDS: [&str; 19] = [
    "EEEE", "FM", "MI", "PL", "PR", "RN", "SG", "SP", "TH", ",", ".", "0", "9", "B", "D", "G", "L", "S", "V",
];

impl Template {
    pub(super) fn parse(text: &str) -> Result<Self> {
        let mut template = Self::default();
        let mut rest = text;
        let mut before_anchor = 0;
        while let Some(first) = rest.chars().next() {
            if let Some((literal, behind)) = quoted(rest) {
                template.pieces.push(Piece::Text(literal));
                rest = behind;
                continue;
            }
            let word = WORDS.iter().find(|word| {
                let part = rest.get(..word.len()).unwrap_or_default();
                part == **word || part == word.to_ascii_lowercase()
            });
            let Some(word) = word else {
                template.pieces.push(Piece::Text(first.to_string()));
                rest = &rest[first.len_utf8()..];
                continue;
            };
            let is_lower = first.is_ascii_lowercase();
            rest = &rest[word.len()..];
            template.add(word, is_lower, &mut before_anchor).map_err(|what| {
                Error::invalid_argument(format!("the template '{text}' of a number {what}"))
            })?;
        }
        if template.pre + template.post + template.moved > DIGITS_MAX {
            let message = format!("a template of a number has at most {DIGITS_MAX} digits");
            return Err(Error::invalid_argument(message));
        }
        let is_free = !template.has_minus && !template.has_plus;
        if is_free && template.anchor == Anchor::Before && template.pre == before_anchor {
            template.anchor = Anchor::Behind;
        }
        Ok(template)
    }

    fn add(
        &mut self,
        word: &str,
        is_lower: bool,
        before_anchor: &mut usize,
    ) -> std::result::Result<(), &'static str> {
        if self.is_scientific {
            return Err("has something behind EEEE");
        }
        let piece = match word {
            "9" | "0" if self.in_brackets => return Err("has a digit behind PR"),
            "9" | "0" => {
                let is_zero = word == "0";
                if is_zero && self.zero_start.is_none() && !self.has_point {
                    self.zero_start = Some(self.pre);
                }
                match () {
                    () if self.has_move => self.moved += 1,
                    () if self.has_point => self.post += 1,
                    () => self.pre += 1,
                }
                if is_zero {
                    self.zero_end = self.pre + self.post;
                    Piece::Zero
                } else {
                    Piece::Nine
                }
            }
            "." | "D" => {
                if self.has_point || self.has_move {
                    return Err("has more than one point, or a point and V");
                }
                self.has_point = true;
                Piece::Point
            }
            "," | "G" => Piece::Group,
            "FM" => {
                self.fills = true;
                return Ok(());
            }
            "S" => {
                if self.anchor != Anchor::None || self.has_minus || self.has_plus || self.in_brackets {
                    return Err("has S and another sign");
                }
                *before_anchor = self.pre;
                self.anchor = if self.has_point { Anchor::Behind } else { Anchor::Before };
                return Ok(());
            }
            "MI" | "PL" | "SG" | "PR" if self.anchor != Anchor::None => {
                return Err("has S and another sign");
            }
            "MI" => {
                self.has_minus = true;
                Piece::Minus
            }
            "PL" => {
                self.has_plus = true;
                Piece::Plus
            }
            "SG" => {
                (self.has_minus, self.has_plus) = (true, true);
                Piece::Sign
            }
            "PR" => {
                if self.has_minus || self.has_plus {
                    return Err("has PR and another sign");
                }
                self.in_brackets = true;
                return Ok(());
            }
            "L" => Piece::Currency,
            "TH" => Piece::Ordinal(is_lower),
            "RN" => {
                self.is_roman = true;
                Piece::Roman(is_lower)
            }
            "V" => {
                if self.has_point || self.has_move {
                    return Err("has V and a point");
                }
                self.has_move = true;
                return Ok(());
            }
            "EEEE" => {
                self.is_scientific = true;
                return Ok(());
            }
            _ => return Ok(()),
        };
        self.pieces.push(piece);
        Ok(())
    }

    /// Digits behind the point of what it reads.
    pub(super) fn scale(&self) -> usize {
        self.post + self.moved
    }

    /// The number of digits that a number is rounded to, behind the point.
    fn rounded_to(&self) -> usize {
        self.post
    }

    pub(super) fn write(&self, number: &Number, out: &mut String) -> Result<()> {
        if self.is_roman {
            self.write_pieces("", &roman(number), out);
            return Ok(());
        }
        if self.is_scientific {
            out.push_str(&self.scientific(number));
            return Ok(());
        }
        let digits = number.digits(self.moved, self.rounded_to())?;
        let sign = if number.is_negative() { "-" } else { "+" };
        self.write_pieces(sign, &digits, out);
        Ok(())
    }

    fn scientific(&self, number: &Number) -> String {
        let text = match number {
            Number::Decimal { .. } | Number::Double(_) => format!("{:.*e}", self.post, number.as_f64()),
        };
        let Some((mantissa, exponent)) = text.split_once('e') else {
            return "#".repeat(self.pre + self.post + 6);
        };
        let (sign, exponent) = match exponent.strip_prefix('-') {
            Some(exponent) => ('-', exponent),
            None => ('+', exponent),
        };
        let space = if mantissa.starts_with('-') { "" } else { " " };
        format!("{space}{mantissa}e{sign}{exponent:0>2}")
    }

    fn write_pieces(&self, sign: &str, digits: &str, out: &mut String) {
        let whole = digits.find('.').unwrap_or(digits.len());
        let pre = self.pre + self.moved;
        let (digits, spaces) = if self.is_roman {
            (digits.to_string(), 0)
        } else if whole > pre {
            let mut overflow = "#".repeat(pre);
            if self.post > 0 {
                overflow.push('.');
                overflow.push_str(&"#".repeat(self.post));
            }
            (overflow, 0)
        } else {
            (digits.to_string(), pre - whole)
        };
        let mut writer = Writer {
            template: self,
            digits: digits.as_bytes(),
            at: 0,
            position: 0,
            spaces,
            is_negative: sign == "-",
            in_brackets: self.in_brackets && (sign == "-" || !self.fills),
            sign_written: false,
            in_number: false,
            last_relevant: None,
            count: 0,
        };
        writer.prepare();
        for piece in &self.pieces {
            writer.piece(piece, out);
        }
    }
}

/// A text in quotes, or behind a backslash, at the start of `rest`, and what follows.
pub(super) fn quoted(rest: &str) -> Option<(String, &str)> {
    if let Some(behind) = rest.strip_prefix('\\')
        && let Some(escaped) = behind.chars().next().filter(|c| *c == '"')
    {
        return Some((escaped.to_string(), &behind[escaped.len_utf8()..]));
    }
    let inner = rest.strip_prefix('"')?;
    let (mut literal, mut chars) = (String::new(), inner.char_indices());
    while let Some((index, c)) = chars.next() {
        match c {
            '"' => return Some((literal, &inner[index + 1..])),
            '\\' => literal.extend(chars.next().map(|(_, c)| c)),
            c => literal.push(c),
        }
    }
    Some((literal, ""))
}

/// A number to be written.
pub(super) enum Number {
    /// `unscaled / 10^scale`
    Decimal {
        unscaled: i128,
        scale: usize,
    },
    Double(f64),
}

impl Number {
    fn is_negative(&self) -> bool {
        match self {
            Self::Decimal { unscaled, .. } => *unscaled < 0,
            Self::Double(value) => *value < 0.0,
        }
    }

    fn as_f64(&self) -> f64 {
        match self {
            Self::Decimal { unscaled, scale } => format!("{unscaled}e-{scale}").parse().unwrap_or(f64::NAN),
            Self::Double(value) => *value,
        }
    }

    /// The magnitude, multiplied by `10^moved` and rounded, half away from zero, to `post` digits behind the point.
    fn digits(&self, moved: usize, post: usize) -> Result<String> {
        match self {
            Self::Double(value) => {
                let value = value.abs() * 10f64.powi(moved as i32);
                if !value.is_finite() {
                    return Ok(if value.is_nan() { "NaN" } else { "Infinity" }.to_string());
                }
                // Digits that a DOUBLE does not have are left out, as in PostgreSQL.
                let whole = format!("{value:.0}").len();
                let post = post.min((f64::DIGITS as usize).saturating_sub(whole));
                Ok(format!("{value:.post$}"))
            }
            Self::Decimal { unscaled, scale } => {
                let mut digits = unscaled.unsigned_abs().to_string();
                digits.push_str(&"0".repeat((moved + post).saturating_sub(*scale)));
                let dropped = scale.saturating_sub(moved + post);
                if dropped > 0 {
                    let padded = format!("{digits:0>width$}", width = dropped + 1);
                    let (kept, rest) = padded.split_at(padded.len() - dropped);
                    let kept: u128 = kept.parse().map_err(|_| Error::out_of_range("a number is too long"))?;
                    digits = (kept + u128::from(rest.as_bytes()[0] >= b'5')).to_string();
                }
                let padded = format!("{digits:0>width$}", width = post + 1);
                let (whole, fraction) = padded.split_at(padded.len() - post);
                Ok(if post == 0 { whole.to_string() } else { format!("{whole}.{fraction}") })
            }
        }
    }
}

/// 1 to 3999 in Roman digits.
fn roman(number: &Number) -> String {
    const DIGITS: [(u32, &str); 13] = [
        (1000, "M"),
        (900, "CM"),
        (500, "D"),
        (400, "CD"),
        (100, "C"),
        (90, "XC"),
        (50, "L"),
        (40, "XL"),
        (10, "X"),
        (9, "IX"),
        (5, "V"),
        (4, "IV"),
        (1, "I"),
    ];
    let value = number.as_f64().round();
    if !(1.0..=3999.0).contains(&value) {
        return "#".repeat(15);
    }
    let (mut left, mut text) = (value as u32, String::new());
    for (size, digit) in DIGITS {
        while left >= size {
            left -= size;
            text.push_str(digit);
        }
    }
    text
}

/// `st`, `nd`, `rd` or `th`.
pub(super) fn ordinal(digits: &str, is_lower: bool) -> &'static str {
    let bytes = digits.as_bytes();
    let is_teen = bytes.len() > 1 && bytes[bytes.len() - 2] == b'1';
    match (bytes.last(), is_teen, is_lower) {
        (Some(b'1'), false, true) => "st",
        (Some(b'1'), false, false) => "ST",
        (Some(b'2'), false, true) => "nd",
        (Some(b'2'), false, false) => "ND",
        (Some(b'3'), false, true) => "rd",
        (Some(b'3'), false, false) => "RD",
        (_, _, true) => "th",
        (_, _, false) => "TH",
    }
}

/// One number being written.
struct Writer<'a> {
    template: &'a Template,
    digits: &'a [u8],
    at: usize,
    position: usize,
    /// Positions in front of the number's first digit.
    spaces: usize,
    is_negative: bool,
    in_brackets: bool,
    sign_written: bool,
    in_number: bool,
    /// Where the zeros at the end begin that FM leaves out: the place of the last digit kept, or of the point.
    last_relevant: Option<usize>,
    count: usize,
}

impl Writer<'_> {
    fn prepare(&mut self) {
        let template = self.template;
        self.sign_written = if template.has_plus || template.has_minus {
            template.has_minus || !self.is_negative
        } else {
            !self.is_negative && template.fills && template.anchor == Anchor::None
        };
        self.count = (template.post + template.pre + template.moved).saturating_sub(1);
        if template.fills && template.has_point && !template.is_roman {
            self.last_relevant = self.digits.iter().position(|byte| *byte == b'.').map(|point| {
                let last = self.digits.iter().rposition(|byte| *byte != b'0').unwrap_or(point);
                last.max(point)
            });
            if let Some(last) = self.last_relevant.filter(|_| template.zero_end > self.spaces) {
                let zero = (self.digits.len() - 1).min(template.zero_end - self.spaces);
                self.last_relevant = Some(last.max(zero));
            }
        }
        if !self.sign_written && self.spaces == 0 {
            self.count += 1;
        }
    }

    fn has_zero(&self) -> bool {
        self.template.zero_start.is_some()
    }

    /// The zero in front of the point of a number below 1, where the template has no 0.
    fn at_hidden_zero(&self) -> bool {
        !self.has_zero() && self.at == 0 && self.digits.first() == Some(&b'0') && self.template.post != 0
    }

    fn ends_at_point(&self) -> bool {
        self.last_relevant.is_some_and(|last| self.digits.get(last) == Some(&b'.'))
    }

    fn write_sign(&mut self, out: &mut String) {
        let template = self.template;
        let begins = self.position >= self.spaces || template.zero_start == Some(self.position);
        if self.sign_written || !begins || self.at_hidden_zero() && !self.ends_at_point() {
            return;
        }
        let sign = if self.is_negative { '-' } else { '+' };
        match () {
            () if template.anchor == Anchor::Before => out.push(sign),
            () if template.anchor == Anchor::Behind => return,
            () if self.in_brackets => out.push(if self.is_negative { '<' } else { ' ' }),
            () if self.is_negative => out.push('-'),
            () if !template.fills => out.push(' '),
            () => {}
        }
        self.sign_written = true;
    }

    fn digit(&mut self, is_zero: bool, out: &mut String) {
        self.write_sign(out);
        let template = self.template;
        let zero_begins = template.zero_start.is_some_and(|start| start <= self.position);
        if self.position < self.spaces {
            if zero_begins {
                out.push('0');
                self.in_number = true;
            } else if !template.fills {
                out.push(' ');
            }
        } else if let Some(&byte) = self.digits.get(self.at) {
            if byte == b'.' {
                out.push('.');
            } else if self.last_relevant.is_some_and(|last| self.at > last) && !is_zero {
                // FM leaves out zeros at the end.
            } else if self.at_hidden_zero() {
                if !template.fills {
                    out.push(' ');
                } else if self.ends_at_point() {
                    out.push('0');
                }
            } else {
                out.push(char::from(byte));
                self.in_number = true;
            }
            self.at += 1;
        }
        let mut end = self.count + usize::from(self.spaces > 0) + usize::from(template.has_point);
        if self.last_relevant == Some(self.at) {
            end = self.position;
        }
        if self.position + 1 == end {
            if self.sign_written && self.in_brackets {
                out.push(if self.is_negative { '>' } else { ' ' });
            } else if template.anchor == Anchor::Behind {
                out.push(if self.is_negative { '-' } else { '+' });
            }
        }
        self.position += 1;
    }

    fn piece(&mut self, piece: &Piece, out: &mut String) {
        let fills = self.template.fills;
        let or_space = |out: &mut String, wanted: Option<char>| match wanted {
            Some(c) => out.push(c),
            None if !fills => out.push(' '),
            None => {}
        };
        match piece {
            Piece::Nine | Piece::Point if !self.template.is_roman => self.digit(false, out),
            Piece::Zero if !self.template.is_roman => self.digit(true, out),
            Piece::Nine | Piece::Zero | Piece::Point => {}
            Piece::Group => or_space(out, self.in_number.then_some(',')),
            Piece::Currency => out.push('$'),
            Piece::Minus => or_space(out, self.is_negative.then_some('-')),
            Piece::Plus => or_space(out, (!self.is_negative).then_some('+')),
            Piece::Sign => out.push(if self.is_negative { '-' } else { '+' }),
            Piece::Ordinal(is_lower) => {
                let digits = std::str::from_utf8(self.digits).unwrap_or_default();
                let counts = !self.template.is_roman && !self.template.has_point && !self.is_negative;
                if counts && !digits.starts_with('#') {
                    out.push_str(ordinal(digits, *is_lower));
                }
            }
            Piece::Roman(is_lower) => {
                let digits = std::str::from_utf8(self.digits).unwrap_or_default();
                let text = if *is_lower { digits.to_ascii_lowercase() } else { digits.to_string() };
                if fills {
                    out.push_str(&text);
                } else {
                    out.push_str(&format!("{text:>15}"));
                }
            }
            Piece::Text(text) => out.push_str(text),
        }
    }
}

impl Template {
    /// Reads a number, as its digits behind the point are [`Self::scale`].
    pub(super) fn read(&self, text: &str) -> Result<i128> {
        let wrong = || {
            let text = inlay_types::error::shortened(text);
            Error::invalid_argument(format!("'{text}' is no number as the template says"))
        };
        if self.is_scientific || self.is_roman {
            return Err(Error::invalid_argument("to_number reads no numbers of EEEE or RN"));
        }
        let mut reading = Reading { rest: text, digits: String::new(), fraction: None, is_negative: false };
        for piece in &self.pieces {
            reading.piece(piece, self);
        }
        // A sign behind the number.
        reading.sign();
        if reading.digits.is_empty() {
            return Err(wrong());
        }
        let fraction = reading.fraction.unwrap_or(0);
        let mut digits = reading.digits;
        digits.push_str(&"0".repeat(self.post.saturating_sub(fraction)));
        digits.truncate(digits.len() - fraction.saturating_sub(self.post));
        let value: i128 = digits.parse().map_err(|_| wrong())?;
        Ok(if reading.is_negative { -value } else { value })
    }
}

struct Reading<'a> {
    rest: &'a str,
    digits: String,
    /// Digits behind the point so far.
    fraction: Option<usize>,
    is_negative: bool,
}

impl Reading<'_> {
    fn next_is(&self, wanted: impl Fn(char) -> bool) -> bool {
        self.rest.chars().next().is_some_and(wanted)
    }

    fn skip(&mut self) {
        let mut chars = self.rest.chars();
        chars.next();
        self.rest = chars.as_str();
    }

    fn sign(&mut self) {
        self.rest = self.rest.trim_start();
        if self.next_is(|c| matches!(c, '-' | '<')) {
            self.is_negative = true;
            self.skip();
        } else if self.next_is(|c| matches!(c, '+' | '>')) {
            self.skip();
        }
    }

    fn piece(&mut self, piece: &Piece, template: &Template) {
        match piece {
            Piece::Nine | Piece::Zero | Piece::Point => {
                if self.digits.is_empty() && self.fraction.is_none() {
                    self.sign();
                    self.rest = self.rest.trim_start();
                }
                if self.next_is(|c| c == '.') && template.has_point && self.fraction.is_none() {
                    self.fraction = Some(0);
                    self.skip();
                    if *piece == Piece::Point {
                        return;
                    }
                }
                if *piece != Piece::Point
                    && let Some(digit) = self.rest.chars().next().filter(char::is_ascii_digit)
                {
                    self.digits.push(digit);
                    self.fraction = self.fraction.map(|count| count + 1);
                    self.skip();
                }
            }
            Piece::Group if self.next_is(|c| c == ',') => self.skip(),
            Piece::Group => {}
            Piece::Minus | Piece::Plus | Piece::Sign => self.sign(),
            Piece::Currency | Piece::Text(_) => {
                self.rest = self.rest.trim_start();
                if self.next_is(|c| !c.is_ascii_digit() && !matches!(c, '.' | ',' | '-' | '+')) {
                    self.skip();
                }
            }
            Piece::Ordinal(_) => {
                for _ in 0..2 {
                    if self.next_is(char::is_alphabetic) {
                        self.skip();
                    }
                }
            }
            Piece::Roman(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(unscaled: i128, scale: usize, template: &str) -> String {
        let mut out = String::new();
        match Template::parse(template) {
            Ok(template) => {
                template.write(&Number::Decimal { unscaled, scale }, &mut out).unwrap();
                out
            }
            Err(error) => error.to_string(),
        }
    }

    /// The examples of PostgreSQL's manual.
    #[test]
    fn numbers_are_written_as_in_the_manual() {
        let cases = [
            (-1, 1, "99.99", "  -.10"),
            (-1, 1, "FM9.99", "-.1"),
            (-1, 1, "FM90.99", "-0.1"),
            (1, 1, "0.9", " 0.1"),
            (12, 0, "9990999.9", "    0012.0"),
            (12, 0, "FM9990999.9", "0012."),
            (485, 0, "999", " 485"),
            (-485, 0, "999", "-485"),
            (485, 0, "9 9 9", " 4 8 5"),
            (1485, 0, "9,999", " 1,485"),
            (1485, 0, "9G999", " 1,485"),
            (1485, 1, "999.999", " 148.500"),
            (1485, 1, "FM999.999", "148.5"),
            (1485, 1, "FM999.990", "148.500"),
            (1485, 1, "999D999", " 148.500"),
            (31485, 1, "9G999D999", " 3,148.500"),
            (-485, 0, "999S", "485-"),
            (-485, 0, "999MI", "485-"),
            (485, 0, "999MI", "485 "),
            (485, 0, "FM999MI", "485"),
            (485, 0, "PL999", "+485"),
            (485, 0, "SG999", "+485"),
            (-485, 0, "SG999", "-485"),
            (-485, 0, "9SG99", "4-85"),
            (-485, 0, "999PR", "<485>"),
            (485, 0, "L999", "$ 485"),
            (485, 0, "RN", "        CDLXXXV"),
            (485, 0, "FMRN", "CDLXXXV"),
            (52, 1, "FMRN", "V"),
            (482, 0, "999th", " 482nd"),
            (485, 0, "\"Good number:\"999", "Good number: 485"),
            (4858, 1, "\"Pre:\"999\" Post:\" .999", "Pre: 485 Post: .800"),
            (12, 0, "99V999", " 12000"),
            (124, 1, "99V999", " 12400"),
            (1245, 2, "99V9", " 125"),
            (4859, 1, "9.99EEEE", " 4.86e+02"),
            (1234, 0, "999", " ###"),
            (0, 0, "9.9", "  .0"),
            (0, 0, "FM9.9", "0."),
        ];
        for (unscaled, scale, template, expected) in cases {
            assert_eq!(written(unscaled, scale, template), expected, "{template}");
        }
    }

    #[test]
    fn numbers_are_read() {
        let read = |text: &str, template: &str| Template::parse(template).unwrap().read(text).ok();
        assert_eq!(read("12,454.8-", "99G999D9S"), Some(-124_548));
        assert_eq!(read("-34,338,492", "99G999G999"), Some(-34_338_492));
        assert_eq!(read("$1,234.50", "L9G999D99"), Some(123_450));
        assert_eq!(read("<12>", "99PR"), Some(-12));
        assert_eq!(read("x", "9"), None);
    }
}
