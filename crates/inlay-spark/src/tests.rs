//! What SQL does not reach: literals that could end early, patterns, and the types that carry others.

use super::literal::{digits, double, text};
use super::pattern::{like, quoted, regex};
use super::{carrier, spark_type};
use inlay_types::{Field, LogicalType as T, Value};
use std::sync::Arc;

/// Reads a literal as Spark does, with escapes.
fn read(literal: &str) -> Option<String> {
    let inner = literal.strip_prefix('\'')?.strip_suffix('\'')?;
    let (mut out, mut rest) = (String::new(), inner.chars());
    while let Some(c) = rest.next() {
        match c {
            '\'' => return None,
            '\\' => match rest.next()? {
                'u' => {
                    let code: String = rest.by_ref().take(4).collect();
                    out.push(char::from_u32(u32::from_str_radix(&code, 16).ok()?)?);
                }
                c @ ('\'' | '\\') => out.push(c),
                _ => return None,
            },
            other => out.push(other),
        }
    }
    Some(out)
}

#[test]
fn texts_come_back_and_do_not_end_early() {
    let parts = ["'", "\\", "%", "\n", "\t", "é", "\0", "\"", "--", "a' OR 1=1 --", "\\'", "n", "u0041", "`"];
    for one in parts {
        for two in parts {
            for three in parts {
                let value = format!("{one}{two}{three}");
                assert_eq!(read(&text(&value)).as_deref(), Some(value.as_str()), "{value:?}");
            }
        }
    }
}

#[test]
fn numbers_have_all_their_digits() {
    assert_eq!(digits(-5, 2), "-0.05");
    assert_eq!(digits(1234, 2), "12.34");
    assert_eq!(digits(i128::MIN, 0), i128::MIN.to_string());
    assert_eq!(double(0.1), "CAST('1e-1' AS DOUBLE)");
    assert_eq!(double(f64::NEG_INFINITY), "double('-Infinity')");
    assert_eq!(double(-0.0), "CAST('-0e0' AS DOUBLE)");
}

#[test]
fn patterns_of_like_have_no_escape_but_the_one_written() {
    let of = |pattern: &str, escape: Option<&str>| {
        let escape = escape.map(|e| Value::Varchar(e.to_string()));
        like(Some(&Value::Varchar(pattern.to_string())), "x", "", escape.as_ref())
    };
    assert_eq!(of("a\\b%", None).as_deref(), Some("x LIKE 'a\\\\\\\\b%'"));
    assert_eq!(of("a!%b", Some("!")).as_deref(), Some("x LIKE 'a\\\\%b'"));
    assert_eq!(of("a!!b", Some("!")).as_deref(), Some("x LIKE 'a!b'"));
    // An escape before another letter is an error of ours: nothing is written.
    assert_eq!(of("a!b", Some("!")), None);
    assert_eq!(of("a!", Some("!")), None);
}

#[test]
fn regular_expressions_are_of_the_part_that_all_read_alike() {
    assert_eq!(regex("^a.b$").as_deref(), Ok("^a[^\\n]b\\z"));
    assert_eq!(regex("\\d{2,3}-[\\w.]+?").as_deref(), Ok("[0-9]{2,3}-[0-9A-Za-z_\\.]+?"));
    assert_eq!(regex("(?:a|b)*c").as_deref(), Ok("(?:a|b)*c"));
    for refused in ["\\bword", "(?i)a", "(?=a)", "a**", "[[:alpha:]]", "\\p{L}", "[a&&b]", "x{", "a\\"] {
        assert!(regex(refused).is_err(), "{refused}");
    }
    assert_eq!(quoted("a.b|^["), "a\\.b\\|\\^\\[");
}

#[test]
fn types_are_carried_or_refused_by_name() {
    assert_eq!(carrier(&T::UInteger), Ok(T::BigInt));
    assert_eq!(carrier(&T::HugeInt), Ok(T::Decimal { precision: 38, scale: 0 }));
    let fields: Arc<[Field]> = vec![Field::new("a b", T::List(Arc::new(T::UTinyInt)))].into();
    let carried = carrier(&T::Struct(fields)).unwrap();
    assert_eq!(spark_type(&carried).as_deref(), Ok("STRUCT<`a b`: ARRAY<SMALLINT>>"));
    assert!(carrier(&T::Interval).unwrap_err().contains("INTERVAL"));
    assert!(carrier(&T::List(Arc::new(T::Bit))).unwrap_err().contains("BIT"));
}
