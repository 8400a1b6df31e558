//! LIKE and regular expressions.
//!
//! Spark runs Java's expressions, Sail Rust's, Inlay its own. A pattern is translated into the part that all three read alike: classes
//! are spelled out (`\d` is `[0-9]`, `.` is all but a line feed, `$` is `\z`), and what has no such form is refused by its name.

use super::Writer;
use super::function::constant;
use super::literal::text;
use inlay_sql::plan::{Expr, Place};
use inlay_types::Value;

/// `x LIKE pattern`. Ours has no escape unless one is written, Spark's is the backslash.
pub(crate) fn like(
    pattern: Option<&Value>,
    x: &str,
    computed: &str,
    escape: Option<&Value>,
) -> Option<String> {
    let escape = match escape {
        None => None,
        Some(Value::Varchar(escape)) => match escape.chars().collect::<Vec<_>>().as_slice() {
            [] => None,
            [one] => Some(*one),
            _ => return None,
        },
        Some(_) => return None,
    };
    let Some(Value::Varchar(pattern)) = pattern else {
        if escape.is_some() {
            return None;
        }
        return Some(format!("{x} LIKE replace({computed}, '\\\\', '\\\\\\\\')"));
    };
    let mut written = String::with_capacity(pattern.len());
    let mut rest = pattern.chars();
    while let Some(c) = rest.next() {
        if Some(c) == escape {
            // An escape at the end, or before another letter, is an error of ours.
            let next = rest.next()?;
            if !matches!(next, '%' | '_') && Some(next) != escape {
                return None;
            }
            if matches!(next, '%' | '_' | '\\') {
                written.push('\\');
            }
            written.push(next);
        } else {
            if c == '\\' {
                written.push('\\');
            }
            written.push(c);
        }
    }
    Some(format!("{x} LIKE {}", text(&written)))
}

/// A text as a pattern that matches itself.
pub(crate) fn quoted(literal: &str) -> String {
    let mut out = String::with_capacity(literal.len());
    for c in literal.chars() {
        if c.is_ascii_punctuation() {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// A pattern in the part that engines read alike; an error names what is not in it.
pub(crate) fn regex(pattern: &str) -> Result<String, String> {
    let mut out = String::with_capacity(pattern.len() + 8);
    let mut rest = pattern.chars().peekable();
    let mut can_repeat = false;
    while let Some(c) = rest.next() {
        let mut repeats_next = true;
        match c {
            '.' => out.push_str("[^\\n]"),
            '^' => {
                out.push('^');
                repeats_next = false;
            }
            '$' => {
                out.push_str("\\z");
                repeats_next = false;
            }
            '|' => {
                out.push('|');
                repeats_next = false;
            }
            '(' => {
                out.push('(');
                if rest.peek() == Some(&'?') {
                    rest.next();
                    if rest.next() != Some(':') {
                        return Err("a group with (?".into());
                    }
                    out.push_str("?:");
                }
                repeats_next = false;
            }
            ')' => out.push(')'),
            '*' | '+' | '?' => {
                if !can_repeat {
                    return Err(format!("the repetition {c} of nothing"));
                }
                out.push(c);
                if rest.peek() == Some(&'?') {
                    rest.next();
                    out.push('?');
                }
                repeats_next = false;
            }
            '{' => {
                let mut bounds = String::new();
                loop {
                    match rest.next() {
                        Some('}') => break,
                        Some(c) if c.is_ascii_digit() || c == ',' => bounds.push(c),
                        _ => return Err("a brace that is no repetition".into()),
                    }
                }
                if !can_repeat || bounds.is_empty() || bounds.starts_with(',') {
                    return Err("a brace that is no repetition".into());
                }
                out.push_str(&format!("{{{bounds}}}"));
                repeats_next = false;
            }
            '[' => class(&mut rest, &mut out)?,
            '\\' => escaped(rest.next(), &mut out)?,
            other => out.push(other),
        }
        can_repeat = repeats_next;
    }
    Ok(out)
}

/// What stands behind a backslash, outside of a class.
fn escaped(c: Option<char>, out: &mut String) -> Result<(), String> {
    match c {
        Some('d') => out.push_str("[0-9]"),
        Some('D') => out.push_str("[^0-9]"),
        Some('w') => out.push_str("[0-9A-Za-z_]"),
        Some('W') => out.push_str("[^0-9A-Za-z_]"),
        Some('s') => out.push_str("[\\t\\n\\f\\r ]"),
        Some('S') => out.push_str("[^\\t\\n\\f\\r ]"),
        Some(c @ ('n' | 't' | 'r')) => out.extend(['\\', c]),
        Some(c) if c.is_ascii_punctuation() => out.extend(['\\', c]),
        Some(c) => return Err(format!("\\{c}")),
        None => return Err("a backslash at the end".into()),
    }
    Ok(())
}

/// A class, whose opening bracket is read.
fn class(rest: &mut std::iter::Peekable<std::str::Chars<'_>>, out: &mut String) -> Result<(), String> {
    out.push('[');
    if rest.peek() == Some(&'^') {
        rest.next();
        out.push('^');
    }
    let mut count = 0;
    loop {
        match rest.next() {
            None => return Err("a class that does not end".into()),
            Some(']') if count > 0 => break,
            Some(c @ ('[' | ']' | '&' | '~')) => return Err(format!("{c} in a class")),
            Some('\\') => match rest.next() {
                Some('d') => out.push_str("0-9"),
                Some('w') => out.push_str("0-9A-Za-z_"),
                Some('s') => out.push_str("\\t\\n\\f\\r "),
                Some(c @ ('n' | 't' | 'r')) => out.extend(['\\', c]),
                Some(c) if c.is_ascii_punctuation() => out.extend(['\\', c]),
                Some(c) => return Err(format!("\\{c} in a class")),
                None => return Err("a class that does not end".into()),
            },
            Some('-') => out.push('-'),
            Some(c) if c.is_ascii_punctuation() => out.extend(['\\', c]),
            Some(c) => out.push(c),
        }
        count += 1;
    }
    out.push(']');
    Ok(())
}

impl Writer<'_> {
    /// A constant pattern in the shared part; `None`, and a refusal, for others.
    fn pattern(&mut self, pattern: &Expr, place: Place) -> Option<String> {
        let Some(Value::Varchar(written)) = constant(pattern) else {
            self.refuse("a regular expression that is computed", place);
            return None;
        };
        match regex(written) {
            Ok(regex) => Some(regex),
            Err(what) => {
                self.refuse(format!("the regular expression '{written}', for {what}"), place);
                None
            }
        }
    }

    pub(crate) fn matches(&mut self, name: &str, x: &str, pattern: &Expr, place: Place) -> Option<String> {
        let Some(regex) = self.pattern(pattern, place) else { return Some("NULL".into()) };
        let regex =
            if matches!(name, "regexp_full_match" | "~") { format!("^(?:{regex})\\z") } else { regex };
        Some(format!("{x} RLIKE {}", text(&regex)))
    }

    pub(crate) fn extracted(&mut self, x: &str, pattern: &Expr, group: i64, place: Place) -> Option<String> {
        let Some(regex) = self.pattern(pattern, place) else { return Some("NULL".into()) };
        Some(format!("regexp_extract({x}, {}, {group})", text(&regex)))
    }

    /// The first match replaced; the replacement is taken as it is written, without groups.
    pub(crate) fn replaced(&mut self, x: &str, pattern: &Expr, by: &Expr, place: Place) -> Option<String> {
        let Some(regex) = self.pattern(pattern, place) else { return Some("NULL".into()) };
        let (Some(Value::Varchar(by)), false) = (constant(by), regex.contains('(')) else {
            return Some(self.refuse("regexp_replace with groups, or by a text that is computed", place));
        };
        if by.contains(['\\', '$']) {
            return Some(self.refuse("regexp_replace by a text with \\ or $", place));
        }
        // Spark replaces all matches: what stands before the first is kept, and so is what stands behind it.
        let whole = text(&format!("^((?:[^\\n]|\\n)*?)(?:{regex})((?:[^\\n]|\\n)*)\\z"));
        let by = text(by);
        Some(format!(
            "CASE WHEN {x} RLIKE {} THEN regexp_extract({x}, {whole}, 1) || {by} || regexp_extract({x}, {whole}, 2) ELSE {x} END",
            text(&regex)
        ))
    }
}
