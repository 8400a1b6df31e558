//! What PostgreSQL's own tools write and the engine's SQL has not, written otherwise in the same number of characters, so that places in errors
//! are those of what was sent.
//!
//! | Written | Read as |
//! | --- | --- |
//! | `OPERATOR(pg_catalog.~)` | `~` |
//! | `COLLATE pg_catalog.default` | nothing: it is the one that holds anyway |
//! | `x::pg_catalog.text` | `x::text` |
//! | `i.indkey[n - 1]` | `i.indkey[n]`: PostgreSQL counts these from 0 |
//! | `generate_series(array_lower(x, 1), array_upper(x, 1))` | `generate_subscripts(x, 1)`: the other one is a list here |
//! | `typreceive != 0` | `typreceive!='0'`: what functions are called is a text here |

use std::borrow::Cow;

/// The text as the engine reads it. What stands in quotes and comments stays.
pub fn respelled(text: &str) -> Cow<'_, str> {
    if !text.contains("pg_catalog.") && !VECTORS.iter().any(|vector| text.contains(vector)) {
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
            _ if VECTORS.iter().any(|vector| starts(&out, at, vector)) => at = counted(&mut out, at),
            _ if starts(&out, at, SUBSCRIPTS) && !is_word(before(&out, at)) => at = subscripts(&mut out, at),
            _ if [TYPRECEIVE, TYPSEND].iter().any(|word| starts(&out, at, word)) => {
                at = behind(&out, at, &[' ']) - 1;
                out[at..at + UNLIKE.len()].copy_from_slice(&UNLIKE);
            }
            _ => at += 1,
        }
    }
    Cow::Owned(out.into_iter().collect())
}

/// How ODBC's driver asks for the places of an array.
const SUBSCRIPTS: &str = "generate_series(array_lower(";

/// Columns whose elements PostgreSQL counts from 0.
const VECTORS: [&str; 4] = ["indkey[", "indoption[", "indclass[", "indcollation["];

/// Which types can be read in binary, as ADBC's driver asks.
const TYPRECEIVE: &str = "typreceive != 0";
const TYPSEND: &str = "typsend != 0";
const UNLIKE: [char; 5] = ['!', '=', '\'', '0', '\''];

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

/// `generate_series(array_lower(x, 1), array_upper(x, 1))` of a column.
fn subscripts(text: &mut [char], at: usize) -> usize {
    let name = at + SUBSCRIPTS.len();
    let column: String = text[name..].iter().take_while(|c| is_word(**c) || **c == '.').collect();
    let tail = format!("{column}, 1), array_upper({column}, 1))");
    if column.is_empty() || !starts(text, name, &tail) {
        return name;
    }
    let end = name + tail.chars().count();
    let call: Vec<char> = format!("generate_subscripts({column}, 1)").chars().collect();
    text[at..end].fill(' ');
    text[at..at + call.len()].copy_from_slice(&call);
    end
}

/// `indkey[n - 1]`, where 1 is taken off a number that counts from 1: the number itself.
fn counted(text: &mut [char], at: usize) -> usize {
    let open = behind(text, at, &['[']);
    let Some(end) = text[open..].iter().position(|c| *c == ']').map(|len| open + len) else { return open };
    let mut solid = (open..end).rev().filter(|index| text[*index] != ' ');
    if let (Some(one), Some(minus)) = (solid.next(), solid.next())
        && (text[one], text[minus]) == ('1', '-')
    {
        text[minus..=one].fill(' ');
    }
    end
}

/// `OPERATOR(pg_catalog.~)`: what is left is the sign.
fn operator(text: &mut [char], at: usize) -> usize {
    let head = "operator(pg_catalog.".len();
    let Some(end) = text[at..].iter().position(|c| *c == ')') else { return at + head };
    blank(text, at, head);
    text[at + end] = ' ';
    at + end + 1
}

/// `x::pg_catalog.type`: without the schema.
fn cast(text: &mut [char], at: usize) -> usize {
    blank(text, at + "::".len(), "pg_catalog.".len())
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
                "SELECT conrelid:: regclass, a.b:: regclass",
            ),
            ("c.reloftype::pg_catalog.regtype::pg_catalog.text", "c.reloftype:: regtype:: text"),
            ("'t'::pg_catalog.regclass::pg_catalog.oid", "'t':: regclass:: oid"),
            (
                "SELECT 'x::pg_catalog.text é' -- pg_catalog. OPERATOR(pg_catalog.~)",
                "SELECT 'x::pg_catalog.text é' -- pg_catalog. OPERATOR(pg_catalog.~)",
            ),
            ("/* ::pg_catalog.text */ 1::pg_catalog.text", "/* ::pg_catalog.text */ 1:: text"),
            ("CAST('a' AS pg_catalog.text)", "CAST('a' AS text)"),
            (
                "FROM pg_catalog.x WHERE typreceive != 0 OR typsend != 0)",
                "FROM pg_catalog.x WHERE typreceive!='0' OR typsend!='0')",
            ),
            (
                "SELECT conkey, generate_series(array_lower(conkey, 1), array_upper(conkey, 1)) as i FROM pg_catalog.pg_constraint",
                "SELECT conkey, generate_subscripts(conkey, 1) as i FROM pg_catalog.pg_constraint",
            ),
            ("ta.attnum = i.indkey[ia.attnum-1]", "ta.attnum = i.indkey[ia.attnum ]"),
            ("i.indoption[(k.keys).n - 1] & 1", "i.indoption[(k.keys).n ] & 1"),
            ("i.indkey[11], i.indkey[", "i.indkey[11], i.indkey["),
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
