//! What PostgreSQL's own tools write and the engine's SQL has not, written otherwise in the same number of characters, so that places in errors
//! are those of what was sent.
//!
//! | Written | Read as |
//! | --- | --- |
//! | `OPERATOR(pg_catalog.~)` | `~` |
//! | `COLLATE pg_catalog.default` | nothing: it is the one that holds anyway |
//! | `c.oid::pg_catalog.regclass` | `regclass_name(c.oid)` |
//! | `t.typelem::pg_catalog.regtype` | `format_type(t.typelem,NULL)` |
//! | `'pg_catalog.pg_class'::pg_catalog.regclass` | `1259`, its number in PostgreSQL |
//! | `x::pg_catalog.text` | `x::text` |

use std::borrow::Cow;

/// The text as the engine reads it. What stands in quotes and comments stays.
pub fn respelled(text: &str) -> Cow<'_, str> {
    if !text.contains("pg_catalog.") {
        return Cow::Borrowed(text);
    }
    let mut out: Vec<char> = text.chars().collect();
    let mut at = 0;
    while at < out.len() {
        match out[at] {
            quote @ ('\'' | '"') => at = behind(&out, at + 1, &[quote]),
            '-' if out.get(at + 1) == Some(&'-') => at = behind(&out, at + 2, &['\n']),
            '/' if out.get(at + 1) == Some(&'*') => at = behind(&out, at + 2, &['*', '/']),
            _ if starts(&out, at, "operator(pg_catalog.") && !is_word(before(&out, at)) => {
                at = operator(&mut out, at)
            }
            _ if starts(&out, at, "collate pg_catalog.default") && !is_word(before(&out, at)) => {
                at = blank(&mut out, at, "collate pg_catalog.default".len());
            }
            // No name of a column has a dot, so that this is a type.
            _ if starts(&out, at, "as pg_catalog.") && !is_word(before(&out, at)) => {
                at = blank(&mut out, at + "as ".len(), "pg_catalog.".len());
            }
            _ if starts(&out, at, "::pg_catalog.") => at = cast(&mut out, at),
            _ => at += 1,
        }
    }
    Cow::Owned(out.into_iter().collect())
}

fn before(text: &[char], at: usize) -> char {
    at.checked_sub(1).map_or(' ', |before| text[before])
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Whether a text has this, in any case, from a place on.
fn starts(text: &[char], at: usize, what: &str) -> bool {
    let mut here = text[at..].iter();
    what.chars().all(|wanted| here.next().is_some_and(|c| c.eq_ignore_ascii_case(&wanted)))
}

/// The place behind the next of these.
fn behind(text: &[char], from: usize, end: &[char]) -> usize {
    let from = from.min(text.len());
    text[from..]
        .windows(end.len())
        .position(|window| window == end)
        .map_or(text.len(), |found| from + found + end.len())
}

/// Puts spaces in the place of so many characters; the place behind them.
fn blank(text: &mut [char], at: usize, len: usize) -> usize {
    text[at..at + len].fill(' ');
    at + len
}

/// `OPERATOR(pg_catalog.~)`: what is left is the sign.
fn operator(text: &mut [char], at: usize) -> usize {
    let head = "operator(pg_catalog.".len();
    let Some(end) = text[at..].iter().position(|c| *c == ')') else { return at + head };
    blank(text, at, head);
    text[at + end] = ' ';
    at + end + 1
}

/// `x::pg_catalog.type`: without the schema; of names of tables and types, the function that gives them.
fn cast(text: &mut [char], at: usize) -> usize {
    const HEAD: usize = "::pg_catalog.".len();
    const CALLS: &[(&str, &str, &str)] =
        &[("regclass", "regclass_name(", ")"), ("regtype", "format_type(", ",NULL)")];
    let word = text[at + HEAD..].iter().take_while(|c| is_word(**c)).count();
    let end = at + HEAD + word;
    // A column in front is what is named; the name and the cast have place for the call.
    let column = text[..at].iter().rev().take_while(|c| is_word(**c) || **c == '.').count();
    let start = at - column;
    let is_column = column > 0 && !text[start].is_ascii_digit() && text[start] != '.';
    let call = CALLS.iter().find(|(ty, ..)| word == ty.len() && starts(text, at + HEAD, ty));
    // The catalog's own table, of which others say what they are about by its number.
    const CLASSES: &str = "'pg_catalog.pg_class'";
    if word == "regclass".len() && at >= CLASSES.len() && starts(text, at - CLASSES.len(), CLASSES) {
        text[at - CLASSES.len()..end].fill(' ');
        let number = at - CLASSES.len();
        text[number..number + 4].copy_from_slice(&['1', '2', '5', '9']);
        return end;
    }
    match call.filter(|_| is_column) {
        Some((_, head, tail)) => {
            let call: Vec<char> =
                head.chars().chain(text[start..at].iter().copied()).chain(tail.chars()).collect();
            text[start..end].fill(' ');
            text[start..start + call.len()].copy_from_slice(&call);
        }
        // Of those that have no function, the number is what there is.
        None if ["regnamespace", "regproc", "regrole"]
            .iter()
            .any(|ty| word == ty.len() && starts(text, at + HEAD, ty)) =>
        {
            text[at + 2..end].fill(' ');
            text[at + 2..at + 6].copy_from_slice(&['t', 'e', 'x', 't']);
        }
        // Of a text, the engine knows it.
        None => text[at + 2..at + HEAD].fill(' '),
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_are_understood_at_their_own_places() {
        for (written, read) in [
            (
                "c.relname OPERATOR(pg_catalog.~) '^(t)$' COLLATE pg_catalog.default AND x",
                "c.relname ~ '^(t)$' AND x",
            ),
            (
                "SELECT conrelid::pg_catalog.regclass, a.b::pg_catalog.regclass",
                "SELECT regclass_name(conrelid) , regclass_name(a.b)",
            ),
            ("c.reloftype::pg_catalog.regtype::pg_catalog.text", "format_type(c.reloftype,NULL) :: text"),
            ("'t'::pg_catalog.regclass::pg_catalog.oid", "'t':: regclass:: oid"),
            (
                "SELECT 'x::pg_catalog.text é' -- pg_catalog. OPERATOR(pg_catalog.~)",
                "SELECT 'x::pg_catalog.text é' -- pg_catalog. OPERATOR(pg_catalog.~)",
            ),
            ("/* ::pg_catalog.text */ 1::pg_catalog.text", "/* ::pg_catalog.text */ 1:: text"),
            ("d.classid='pg_catalog.pg_class'::pg_catalog.regclass AND", "d.classid=1259 AND"),
            ("stxnamespace::pg_catalog.regnamespace::pg_catalog.text", "stxnamespace::text :: text"),
            ("CAST('a' AS pg_catalog.text)", "CAST('a' AS text)"),
            ("pg_catalog.version()", "pg_catalog.version()"),
            ("operator(pg_catalog.", "operator(pg_catalog."),
            ("'pg_catalog. is open", "'pg_catalog. is open"),
        ] {
            let respelled = respelled(written);
            assert_eq!(respelled.chars().count(), written.chars().count(), "{written}");
            let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert_eq!(words(&respelled), read);
        }
        assert!(matches!(respelled("SELECT 1"), Cow::Borrowed(_)));
    }
}
