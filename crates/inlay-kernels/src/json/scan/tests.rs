//! Parts found by scanning are those that trees have, whatever is damaged.

use super::*;
use crate::json::value::Json;

fn written(json: &Json<'_>) -> String {
    let mut out = String::new();
    json.write(&mut out);
    out
}

/// What trees say of the part: its text, or that there is none, or that the document is malformed.
fn by_tree(text: &str, path: &Path) -> Option<Option<String>> {
    let document = Json::parse(text).ok()?;
    Some(path.find(&document).first().map(|part| written(part)))
}

const PATHS: &[&str] = &[
    "$",
    "$.a",
    "$.b.c",
    "a",
    "$.l[1]",
    "$.l[0].x",
    "$[2]",
    "$.\"a b\"",
    "$.é",
    "$.a[-1]",
    "$.a[#-1]",
    // Keys with quotes, which are nowhere, though their bytes are.
    "$['a\": 1, \"b']",
    "$['a\" 1}']",
];

fn check(text: &str) {
    for path in PATHS {
        let path = Path::parse(path).unwrap();
        let expected = by_tree(text, &path);
        if part_at(text.as_bytes(), Some(&path)) != Scanned::Unknown {
            let checked = part_of_checked(text.as_bytes(), &path);
            assert_eq!(part_at(text.as_bytes(), Some(&path)), checked, "{text} {path:?}");
        }
        match part_at(text.as_bytes(), Some(&path)) {
            Scanned::Unknown => {}
            Scanned::Nothing => assert_eq!(expected, Some(None), "{text} {path:?}"),
            Scanned::Part(raw) => {
                let tree = Json::parse(raw.text).unwrap();
                assert_eq!(expected, Some(Some(written(&tree))), "{text} {path:?}");
                let mut out = Vec::new();
                if raw.write(&mut out) {
                    assert_eq!(String::from_utf8(out).unwrap(), written(&tree), "{text} {path:?}");
                }
                let items = if let Json::Array(items) = &tree { items.len() } else { 0 };
                assert!(raw.item_count().is_none_or(|count| count == items), "{text}");
                if let Some(plain) = raw.plain_text() {
                    assert_eq!(tree, Json::Text(plain.into()), "{text}");
                }
            }
        }
    }
    if let Some(is_document) = is_document(text.as_bytes()) {
        assert_eq!(is_document, Json::parse(text).is_ok(), "{text}");
    }
    for scalar in ["1", "2", "-5", "\"t1\"", "\"ü\"", "null", "true", "12345678901234567890", "0"] {
        let Some(plain) = plain_scalar(scalar.as_bytes()) else { continue };
        if let Some(found) = contains_scalar(text.as_bytes(), plain) {
            let contains =
                Json::parse(text).map(|json| json.contains(&Json::parse(scalar).unwrap(), &mut 1000));
            assert_eq!(Some(found), contains.ok(), "{text} {scalar}");
        }
    }
    if let Scanned::Part(raw) = part_at(text.as_bytes(), None) {
        let (mut pretty, mut expected) = (Vec::new(), String::new());
        Json::parse(text).unwrap().write_pretty(0, &mut expected);
        if raw.write_pretty(&mut pretty) {
            assert_eq!(String::from_utf8(pretty).unwrap(), expected, "{text}");
        }
    }
}

#[test]
fn parts_are_those_of_trees() {
    let documents = [
        r#"{"a": 1, "b": {"c": "t1"}, "l": [1, {"x": [2, 3]}]}"#,
        r#" { "a" : -0 , "a" : 2 , "b" : { "c" : "with \"quotes\" and \\ " } } "#,
        r#"{"a b": 1.50, "é": "ü", "l": [{"x": 1e5}, 12345678901234567890, null, true, false]}"#,
        r#"{"a": [1, 2, 3,], "l": []}"#,
        r#"{"a": "\u0041", "b": NaN}"#,
        r#"[1, "two", {"a": {}}, [[]], -5]"#,
        r#"{"a": 01}"#,
        r#"{"a": 1} x"#,
        r#"{"a" 1}"#,
        r#"{a: 1}"#,
        "{\"a\": \"tab\there\"}",
        r#""a text of more than eight bytes, with a quote \" in it""#,
        "",
        "tru",
        r#"{"a": 5, "b": "unended"#,
    ];
    for text in documents {
        check(text);
        // Every damage that one byte can do, and every cut.
        for at in 0..text.len() {
            if let Some(cut) = text.get(..at) {
                check(cut);
            }
            for byte in *b"\"\\{}[],:0 a\n-.e" {
                let mut damaged = text.as_bytes().to_vec();
                damaged[at] = byte;
                if let Ok(damaged) = String::from_utf8(damaged) {
                    check(&damaged);
                }
            }
        }
    }
    check(&"[".repeat(1000));
    check(&format!("{}{}", "[".repeat(300), "]".repeat(300)));
}

#[test]
fn most_documents_need_no_tree() {
    let text = r#"{"a": 1, "b": {"c": "t1"}, "l": [1, 2.5, null]}"#;
    let part = |path: &str| part_at(text.as_bytes(), Some(&Path::parse(path).unwrap()));
    assert_eq!(part("$.b.c"), Scanned::Part(Raw { text: "\"t1\"", is_plain: true }));
    assert_eq!(part("$.l"), Scanned::Part(Raw { text: "[1, 2.5, null]", is_plain: false }));
    assert_eq!(part("$.x"), Scanned::Nothing);
}

#[test]
fn names_are_compared_as_bytes_are() {
    let names = [
        "",
        "a",
        "b",
        "ab",
        "abcdefg",
        "abcdefgh",
        "abcdefgx",
        "abcdefghi",
        "xbcdefghi",
        "sixteen bytes ab",
        "sixteen bytes xb",
    ];
    let long = ["a name of more than sixteen bytes", "a name of more than sixteen bytez"];
    for one in names.iter().chain(&long) {
        for other in names.iter().chain(&long) {
            assert_eq!(is_name(one.as_bytes(), other.as_bytes()), one == other, "{one} {other}");
        }
    }
}

#[test]
fn few_keys_are_the_keys() {
    let documents = [
        "{}",
        " { } ",
        r#"{"a": 1}"#,
        r#"{"a": {"b": [1, {"c": 2}]}, "d": "x}", "e": -1.5e3 , "f" : null}"#,
        r#"{"a": 1,}"#,
        r#"{"a": 1"#,
        r#"{"a" 1}"#,
        r#"{"a": 1} x"#,
        "[]",
        "7",
        "",
        r#"{"a\n": 1}"#,
        r#"{"a": 1, "b": 2, "c": 3, "d": 4, "e": 5}"#,
        r#"{"a": tru}"#,
        r#"{"": 1}"#,
    ];
    let mut known = 0;
    for document in documents {
        let mut few = [&[][..]; 4];
        if let Some(count) = few_keys_of(document.as_bytes(), &mut few) {
            assert_eq!(Some(few[..count].to_vec()), keys_of(document.as_bytes()), "{document}");
            known += 1;
        }
    }
    assert_eq!(known, 5);
}
